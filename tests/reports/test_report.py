"""The function `report`: which columns it reads, and its errors."""

from __future__ import annotations

import polars as pl
import polars.selectors as cs
import pytest

import rocframe as rf

pytest.importorskip("vl_convert")

from rocframe.reports.evaluation import ReportOptions
from rocframe.reports.grouped_curves import areas_and_curves
from rocframe.reports.tables import report_tables
from tests.all_cases import all_cases
from tests.reports.pages import Reader, without_dashboard

LOG = pl.DataFrame(
    {
        "id": [0, 1, 2, 3] * 2,
        "model": ["a"] * 4 + ["b"] * 4,
        "label": [1, 0, 1, 0] * 2,
        "score": [0.9, 0.4, 0.3, 0.2, 0.8, 0.6, 0.7, 0.1],
    }
)
WIDE = LOG.pivot("model", index=["id", "label"], values="score")


def page(path, rows, *args, **options):
    """Write a page without a dashboard, and return its content."""
    with without_dashboard():
        file = rf.report(rows, *args, path=path / "page.html", **options)
    return Reader(file.read_text("utf-8"))


def test_all_ways_to_pass_several_scores_give_the_same_page(tmp_path):
    ways = [
        ["a", "b"],
        [pl.col("a"), cs.by_name("b")],
        {"a": "a", "b": pl.col("b")},
        cs.by_name("a", "b"),
        pl.col("a", "b"),
    ]
    with without_dashboard():
        pages = [
            rf.report(WIDE, "label", scores, path=tmp_path / f"{i}.html", kind="roc").read_bytes()
            for i, scores in enumerate(ways)
        ]
    assert pages == pages[:1] * len(pages)
    assert "Scores: a and b." in pages[0].decode()


def test_a_group_column_by_expression_is_a_computed_column(tmp_path):
    key = pl.col("id") % 2
    pages = [
        page(tmp_path, rows, "label", "a", by=by).text
        for rows, by in ((WIDE, key.alias("half")), (WIDE.with_columns(half=key), "half"))
    ]
    assert pages[0] == pages[1]


def test_the_name_of_a_model_may_be_empty(tmp_path):
    read = page(tmp_path, WIDE, "label", {"": "a", "x": "b"}, kind="roc")
    assert "Scores: '' and x." in read.text[2]
    assert "Calibration chart, 2 curves" in read.calibration()[0]["description"]


@pytest.mark.parametrize(
    "scores", ["a", ["a"], ["a", "b"], cs.by_name("a", "b"), {"a": "a"}, {"a": "a", "b": "b"}]
)
def test_the_number_of_announced_steps_is_that_of_the_report(scores):
    options = ReportOptions(label="label", score=scores).with_models(WIDE.lazy())
    steps = []
    report_tables(WIDE, options, *areas_and_curves(WIDE, options, steps.append), steps.append)
    drawing = [*options.kinds, "calibration", "dashboard"]
    assert options.n_steps == len(steps) + len(drawing)


def test_names_may_differ_by_parentheses_only(tmp_path):
    names = {"b": "(a)"}
    read = page(tmp_path, WIDE.rename(names), "label", ["a", "(a)"], kind="roc")
    assert "Calibration chart, 2 curves" in read.calibration()[0]["description"]
    rows = LOG.with_columns(pl.lit("x").alias("a"), pl.lit("y").alias("(a)"))
    read = page(tmp_path, rows, "label", "score", by=["a", "(a)", "model"], kind="roc")
    first, *_ = read.tables()["Area under the ROC curve"]
    assert [first[name] for name in ("a", "(a)", "model")] == ["x", "y", "b"]


def test_a_row_with_a_count_is_counted_as_that_number_of_predictions(tmp_path):
    counts = pl.DataFrame(
        {
            "label": [1, 0, 1, 0, None],
            "score": [0.9, 0.4, 0.3, 0.2, 0.5],
            "n": [100, 200, 50, 500, 7],
        }
    ).with_columns(pl.col("n").cast(pl.UInt16))
    read = page(tmp_path, counts, "label", "score", count="n", missing="drop", kind="roc")
    assert "857 predictions. Score: score. Positive class: label = 1." in read.text
    assert "7 predictions with a missing label, score or weight were left out." in read.text
    assert read.after("Rows", 1) == ["857"]
    more = counts.with_columns(pl.col("n") * 2)
    read = page(tmp_path, more, "label", "score", count=pl.col("n"), missing="drop", kind="roc")
    assert read.after("Rows", 1) == ["1,714"]


def test_the_prevalence_is_that_of_the_weighted_rows(tmp_path):
    rows = LOG.with_columns(w=pl.col("label") * 4 + 1)
    read = page(tmp_path, rows, "label", "score", by="model", weight="w", kind="roc")
    expected = rf.summary(rows, "label", "score", by="model", weight="w")["prevalence"]
    assert expected.to_list() == [10 / 12, 10 / 12]
    metrics = read.tables()["AUC and other metrics of each group"]
    assert [row["prevalence"] for row in metrics] == ["0.833", "0.833"]


def test_an_infinite_score_of_a_model_does_not_affect_the_calibration_of_other_models(tmp_path):
    infinite = pl.when(pl.col("score") == 0.9).then(float("inf")).otherwise("score")
    rows = LOG.with_columns(score=infinite, segment=pl.col("id") // 2)
    for by in ("model", ["model", "segment"]):
        (chart, *_) = page(tmp_path, rows, "label", "score", by=by, kind="roc").calibration()
        assert "Calibration chart, 1 curve" in chart["description"]


def test_a_group_column_may_have_any_name(tmp_path):
    rows = LOG.with_columns(segment=pl.col("id") // 2)
    with all_cases() as case:
        for by, names in ((["segment"], ("^s.*$", "")), (["model", "segment"], ("*", "position"))):
            expected = page(tmp_path, rows, "label", "score", by=by, kind="roc")
            for name in names:
                keys = [name if key == "segment" else key for key in by]
                renamed = rows.rename({"segment": name})
                with case(by, name):
                    read = page(tmp_path, renamed, "label", "score", by=keys, kind="roc")
                    assert len(read.curves()) == len(expected.curves())
                    panels = [text for text in read.text if text.endswith((" = 0", " = 1"))]
                    assert len(panels) == 4 * (len(by) - 1)  # ROC curves and calibration


@pytest.mark.parametrize("name", ["^s.*$", "*", ""])
def test_the_chance_line_of_means_is_the_share_of_positives_for_any_name(tmp_path, name):
    rows = LOG.with_columns(segment=pl.col("id") // 2)
    more = rows.filter(pl.col("id") < 2, label=1).with_columns(score=0.5)
    rows = pl.concat([rows, more]).rename({"segment": name})
    options = {"by": ["model", name], "over": name, "kind": "precision_recall"}
    means = page(tmp_path, rows, "label", "score", **options).curves()[0]
    data = [means["datasets"][layer["data"]["name"]] for layer in means["layer"] if "data" in layer]
    assert [row["precision"] for part in data for row in part] == [0.6, 0.6]
