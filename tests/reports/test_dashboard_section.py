from __future__ import annotations

import json
import re

import polars as pl
import pytest

import rocframe as rf
from rocframe.reports.export import with_page_colors
from rocframe.reports.figures import (
    EMPTY_DASHBOARD,
    GroupedCurves,
    dashboard_section,
    select_curves,
)

ROWS = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})


def section(predictions, by=None, **options):
    curves = rf.curve(predictions, "label", "score", by=by, **options)
    areas = rf.auc(predictions, "label", "score", by=by, **options)
    return dashboard_section(GroupedCurves.from_table(curves), select_curves(areas, None))


def groups(**keys):
    return ROWS.join(pl.DataFrame(keys), how="cross")


def names(result):
    """Return the curves that are shown."""
    first, _, _ = result.figure.alternative.partition(". ROC")
    return first.partition(": ")[2].split(", ")


def test_a_small_number_of_curves_is_shown_completely():
    result = section(groups(model=["a", "b"]), "model")
    assert result.text == ""
    assert names(result) == ["a", "b"]
    assert "Dashboard of 2 curves: a, b" in result.figure.alternative


def test_the_dashboard_shows_the_curves_of_the_charts_and_counts_them():
    worse = groups(model=list(range(13))).with_columns(score=1 - pl.col("score"))
    result = section(pl.concat([worse, groups(model=[13, 14])]), "model")
    assert result.text == "The dashboard shows 12 of 15 curves: those of the charts above."
    assert names(result) == [*map(str, range(10)), "13", "14"]


def test_with_two_group_columns_the_dashboard_shows_complete_panels():
    result = section(
        groups(model=["a", "b", "c"]).join(pl.DataFrame({"day": range(6)}), how="cross"),
        ["model", "day"],
    )
    those = "those of day = 0, day = 1, day = 2 and day = 3"
    assert result.text == f"The dashboard shows 12 of 18 curves: {those}."
    assert result.figure.alternative.startswith(
        "Dashboard of 12 curves: a · 0, a · 1, a · 2, a · 3, b · 0"
    )


def test_groups_with_undefined_auc_are_not_shown_but_counted():
    rows = pl.concat([groups(model=["a"]), groups(model=["b"]).filter(label=1)])
    result = section(rows, "model")
    assert names(result) == ["a"]
    assert result.text == "The dashboard shows 1 of 2 curves: those with an AUC."


@pytest.mark.parametrize("rows", [ROWS.clear(), ROWS.filter(label=1)])
def test_a_sentence_replaces_the_dashboard_if_no_auc_is_defined(rows):
    result = section(rows)
    assert (result.figure, result.text) == (None, EMPTY_DASHBOARD)


def test_missing_scores_count_as_errors_in_the_dashboard():
    rows = ROWS.with_columns(score=pl.when(pl.int_range(pl.len()) > 0).then("score"))
    result = section(rows, missing="worst")
    spec = result.figure.spec
    (one,) = json.loads(spec["datasets"][spec["data"]["name"]])
    assert (one["pos"], one["neg"]) == (2, 2)


def test_the_dashboard_of_a_report_has_the_costs_and_the_prevalence_of_the_report():
    curves = rf.curve(ROWS, "label", "score")
    areas = rf.auc(ROWS, "label", "score")
    arguments = GroupedCurves.from_table(curves), select_curves(areas, None)
    costs = {"tp": 1, "fp": 1, "fn": 6}
    result = dashboard_section(*arguments, costs=costs, prevalence=0.25)
    same = rf.dashboard(curves, color=None, costs={"fp": 1, "fn": 5}, prevalence=0.25)
    same = same.to_dict(validate=False)
    assert result.figure.spec["params"] == with_page_colors(same)["params"]
    assert result.figure.spec["params"] != dashboard_section(*arguments).figure.spec["params"]
    # The dashboard has no costs of 0.
    assert dashboard_section(*arguments, costs={"fp": 1}).figure is not None


@pytest.mark.parametrize(
    ("costs", "shown"),
    [({"fp": 1, "fn": 5}, "1 : 5"), ({"fp": 3, "tn": 1, "fn": 5}, "2 : 5"), ({"fn": 5}, "1 : 1")],
)
def test_the_dashboard_of_a_report_starts_at_the_recommended_threshold(tmp_path, costs, shown):
    votes = rf.datasets.vote().filter(pl.col("model").is_in(["decision_tree", "naive_bayes"]))
    path, options = tmp_path / "page.html", {"costs": costs, "prevalence": 0.2}
    rf.report(votes, "label", "score", path=path, by="model", kind="roc", **options)
    texts = re.findall(r'<script type="application/json">(.*?)</script>', path.read_text())
    spec = next(json.loads(text) for text in texts if "rf_threshold" in text)
    start = {one["name"]: one.get("value") for one in spec["params"]}
    assert (start["rf_costs"], start["rf_prevalence"]) == (shown, 0.2)
    if len(costs) == 1:
        return  # without a cost of a false positive, every threshold below all scores is optimal
    curves = rf.curve(votes, "label", "score", by="model")
    points = rf.operating_point(curves, "expected_cost", **options)
    (threshold,) = (one["angle"] for one in start["rf_threshold"])
    found = rf.at(curves, threshold=threshold)
    counts = [pl.col(name) for name in ("tp", "fp")]
    same = found.join(points.select("model", *counts), on=["model", "tp", "fp"], how="semi")
    first, *_ = json.loads(spec["datasets"][spec["data"]["name"]])
    assert first["name"] in same["model"]


def test_titles_get_page_colors_but_their_text_stays():
    spec = {"title": {"text": "#59636e", "subtitle": ["#07469b"], "subtitleColor": "#59636e"}}
    assert with_page_colors({"layer": [spec], "title": "#59636e"}) == {
        "layer": [{"title": {**spec["title"], "subtitleColor": "var(--quiet, #59636e)"}}],
        "title": "#59636e",
    }
