"""`total=`: rows of several groups together, their order, and their charts."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.all_cases import all_cases
from tests.charts.specifications import encodings

ROWS = 48
PREDICTIONS = pl.DataFrame(
    {
        "model": ["a", "b"] * 24,
        "segment": ([10] * 2 + [9] * 2 + [None] * 2) * 8,
        "user": [i // 3 for i in range(ROWS)],
        "label": [i % 5 < 2 for i in range(ROWS)],
        "score": [(i * 7 % 23) / 23 for i in range(ROWS)],
        "other": [(i * 5 % 19) / 19 for i in range(ROWS)],
    }
)


def auc(frame=PREDICTIONS, score="score", **options):
    return rf.auc(frame, "label", score, **options)


def keys(table):
    return table.select(table.columns[: table.columns.index("total") + 1]).rows()


def test_totals_are_below_the_groups_that_they_combine():
    assert keys(auc(by="segment", total=True)) == [
        (None, False),
        (9, False),
        (10, False),
        (None, True),
    ]
    assert keys(auc(by=["model", "segment"], total="segment")) == [
        *(("a", None, False), ("a", 9, False), ("a", 10, False), ("a", None, True)),
        *(("b", None, False), ("b", 9, False), ("b", 10, False), ("b", None, True)),
    ]
    assert keys(auc(by=["segment", "model"], total=["segment"])) == [
        *((None, "a", False), (None, "b", False), (9, "a", False), (9, "b", False)),
        *((10, "a", False), (10, "b", False), (None, "a", True), (None, "b", True)),
    ]


def test_models_of_several_scores_are_not_combined():
    scores = {"z": "score", "y": "other"}
    table = auc(score=scores, by="segment", total=True)
    totals = table.filter("total").drop("total", "segment")
    assert_frame_equal(totals, auc(score=scores))
    assert keys(table)[-2:] == [(None, "y", True), (None, "z", True)]


@pytest.mark.parametrize(
    "key",
    [
        pl.col("segment").cast(pl.Float64),
        pl.col("segment").cast(pl.String).cast(pl.Enum(["9", "10"])),
        pl.date(2025, 1, "segment"),
        pl.struct("segment", "model"),
        (pl.col("segment") > 9),
        pl.lit(None),
    ],
    ids=["float", "enum", "date", "struct", "bool", "null"],
)
def test_group_columns_keep_their_dtypes(key):
    rows = PREDICTIONS.with_columns(key=key)
    table, groups = auc(rows, by="key", total=True), auc(rows, by="key")
    assert table.schema["key"] == rows.schema["key"]
    assert_frame_equal(table.filter(~pl.col("total")).drop("total"), groups)
    assert auc(rows, by=key.alias("k"), total="k").height == groups.height + 1


def test_totals_have_clusters_and_missing_scores_of_all_their_rows():
    rows = PREDICTIONS.with_columns(
        score=pl.when(pl.int_range(ROWS) % 11 == 0).then(None).otherwise("score")
    )
    calls = {
        "clusters": lambda **by: auc(cluster="user", **by),
        "bootstrap of clusters": lambda **by: auc(
            cluster="user", ci="bootstrap", n_boot=20, seed=1, **by
        ),
        "missing": lambda **by: auc(rows, missing="worst", **by),
        "intervals": lambda **by: rf.intervals(
            *(PREDICTIONS, "label", "score"), metrics=["auc", "brier"], n_boot=20, seed=1, **by
        ),
    }
    with all_cases() as case:
        for name, call in calls.items():
            with case(name):
                table = call(by=["model", "segment"], total="segment")
                totals = table.filter("total").drop("total", "segment")
                assert_frame_equal(totals, call(by="model"))
                groups = table.filter(~pl.col("total")).drop("total")
                assert_frame_equal(groups, call(by=["model", "segment"]))


def test_a_filter_of_a_lazy_table_does_not_change_its_totals():
    by = ["model", "segment"]
    table, lazy = (
        auc(frame, by=by, total="segment") for frame in (PREDICTIONS, PREDICTIONS.lazy())
    )
    filters = {
        "combined": pl.col("segment") == 9,
        "kept": pl.col("model") == "a",
        "total": pl.col("total"),
        "all": (pl.col("segment").is_null()) & (pl.col("model") == "a") & pl.col("total"),
        "either": (pl.col("segment") == 9) | pl.col("total"),
    }
    with all_cases() as case:
        for name, condition in filters.items():
            with case(name):
                assert_frame_equal(lazy.filter(condition).collect(), table.filter(condition))
    plan = lazy.filter(pl.col("model") == "a").explain()
    assert 'FILTER col("model") == "a"' in plan.split("OPAQUE_PYTHON")[1]


def test_a_table_without_rows_has_the_total_of_no_rows():
    table = auc(PREDICTIONS.clear(), by="segment", total=True)
    assert table.select("segment", "total", "note").rows() == [(None, True, "no_rows")]
    assert auc(PREDICTIONS.clear(), by=["model", "segment"], total="segment").is_empty()


def test_compressed_scores_of_different_resolutions_have_no_total():
    rows = [
        rf.compress(part, "label", "score", by=["segment", "model"], resolution=step)
        for part, step in zip(PREDICTIONS.partition_by("segment"), (0.25, 0.5, 0.5), strict=True)
    ]
    table = pl.concat(rows)
    auc(table, by=["segment", "model"], total="model", count="count")
    with pytest.raises(rf.ScoreError, match="different resolutions"):
        auc(table, by=["segment", "model"], total="segment", count="count")


def test_functions_of_curves_have_the_totals_of_the_curves():
    curves = rf.curve(PREDICTIONS, "label", "score", by=["model", "segment"], total="segment")
    totals = curves.filter("total").drop("segment", "total")
    assert_frame_equal(totals, rf.curve(PREDICTIONS, "label", "score", by="model"))
    areas = auc(by=["model", "segment"], total="segment").select("model", "segment", "total", "auc")
    order = ["model", "segment", "total"]
    assert_frame_equal(rf.area(curves).sort(order), areas.sort(order))


def test_the_total_is_the_last_line_of_a_chart_and_is_gray():
    def lines(frame):
        return encodings(auc(frame, by="segment", total=True).roc.chart(), "y")[0]["scale"][
            "domain"
        ]

    assert lines(PREDICTIONS) == ["null", "9", "10", "all"]
    names = PREDICTIONS.with_columns(pl.col("segment").cast(pl.String).fill_null("all"))
    best = auc(names, by="segment").sort("auc", descending=True)["segment"].to_list()
    assert lines(names) == [*best, "(all)"]
    curves = rf.curve(PREDICTIONS, "label", "score", by="segment", total=True).roc.chart().to_dict()
    scale = curves["encoding"]["color"]["scale"]
    assert scale["domain"] == ["null", "9", "10", "all"]
    assert scale["range"][-1] == "#80868b"


def test_a_boolean_group_column_of_the_same_name_is_not_a_column_of_totals():
    rows = PREDICTIONS.with_columns(total=pl.int_range(ROWS) % 3 == 0)
    for by in ("total", ["model", "total"], ["segment", "total"]):
        chart = rf.curve(rows, "label", "score", by=by).roc.chart(color="total")
        assert chart.to_dict()["encoding"]["color"]["scale"]["domain"] == ["false", "true"]


def test_a_time_axis_has_no_total_of_all_times():
    rows = PREDICTIONS.with_columns(
        day=dt.date(2025, 1, 1) + pl.duration(days=pl.int_range(ROWS) // 12)
    )
    over_time = auc(rows, by=["day", "model"], total="model").roc.chart().to_dict()
    assert over_time["title"]["text"] == "Area under the ROC curve over day"
    dots = auc(rows, by="day", total=True).roc.chart().to_dict()
    assert dots["title"]["text"] == "Area under the ROC curve"
