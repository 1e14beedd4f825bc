"""Charts of combined decisions show the rates of their tables."""

from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import records, svg
from tests.charts.test_chart import texts

DECISIONS = pl.DataFrame(
    {
        "g": ["u"] * 6 + ["v"] * 2,
        "label": [1, 1, 1, 0, 0, 0, 1, 1],
        "a": [1, 1, 0, 1, 0, 0, 1, 0],
        "b": [1, 0, 1, 0, 1, 0, 1, 1],
        "c": [0, 1, 1, 0, 0, 0, 1, 1],
    }
)
RANGE = ["fpr_min", "fpr_max", "tpr_min", "tpr_max"]


def points(chart, *suffixes: str) -> list[tuple[object, object]]:
    """Return the points in the columns `fpr` and `tpr` with these suffixes."""
    return [
        (one[f"fpr{suffix}"], one[f"tpr{suffix}"])
        for suffix in suffixes
        for one in records(chart)
        if one[f"fpr{suffix}"] is not None
    ]


def symbols(chart) -> int:
    """Return the number of points in the picture, without the symbols of legends."""
    return svg(chart).count('aria-roledescription="point"')


def rounded(table: pl.DataFrame, *names: str) -> list[tuple[float, ...]]:
    return [pytest.approx(row) for row in table.select(names).rows()]


def test_rectangles_and_points_are_those_of_the_table():
    table = rf.combine(DECISIONS.filter(g="u"), "label", ["a", "b"])
    chart = table.roc.chart()
    assert [tuple(one[end] for end in RANGE) for one in records(chart)] == rounded(table, *RANGE)
    assert points(chart, "") == rounded(table, "fpr", "tpr")
    assert points(chart, "_independent") == rounded(table, "fpr_independent", "tpr_independent")
    # The single models are drawn once per pair, with a name above and a name below the point.
    alone = rounded(table.head(1), "fpr_a", "tpr_a") + rounded(table.head(1), "fpr_b", "tpr_b")
    assert points(chart, "_a", "_b") == alone
    assert symbols(chart) == 6
    assert svg(chart).count('aria-roledescription="rect mark"') == 2
    assert {"a", "b", "model alone", "expected if independent", "measured"} <= set(texts(chart))
    assert chart.description == (
        "Chart of combined decisions, 1 pair of models: true positive rate against false positive "
        "rate. The dashed line shows chance. Rectangles show all possible points. a and b · and: "
        "expected if independent (0.111, 0.444); a and b · or: expected if independent (0.556, "
        "0.889); a and b · and: measured (0.000, 0.333); a and b · or: measured (0.667, 1.000)."
    )


def test_several_pairs_have_panels_and_undefined_pairs_are_listed():
    table = rf.combine(DECISIONS, "label", ["a", "b", "c"], by="g")
    chart = table.roc.chart()
    assert chart.to_dict()["facet"]["sort"] == ["a and b", "a and c", "b and c"]
    assert chart.title.subtitle.startswith(
        "Shaded: all possible points. Not drawn: v · a and b · and, v · a and b · or"
    )
    assert len(points(chart, "")) == 6
    assert table.filter(g="u", model_b="c").roc.chart(facet="g").to_dict()["facet"]["sort"] == ["u"]


def test_pairs_with_a_null_model_have_panels_of_their_own():
    wide = DECISIONS.filter(g="u").with_row_index("id")
    long = wide.unpivot(list("abc"), index=["id", "label"], variable_name="model")
    log = long.with_columns(model=pl.when(pl.col("model") != "a").then("model"))
    table = rf.combine(log, "label", "value", id="id", threshold=0.5)
    facet = table.roc.chart().to_dict()["facet"]
    assert facet["sort"] == ["b and c", "null and b", "null and c"]


def test_points_without_predictions_have_no_measured_point():
    known = pl.DataFrame({"model": ["c1", "c2"], "fpr": [0.2, 0.4], "tpr": [0.6, 0.7]})
    chart = rf.combine_points(known).roc.chart()
    assert points(chart, "") == []
    assert points(chart, "_independent") == [(0.08, 0.42), (0.52, 0.88)]


def test_a_chain_is_a_line_through_its_stages():
    table = rf.chain(DECISIONS.filter(g="u"), "label", ["a", "b", "c"])
    chart = table.roc.chart()
    assert points(chart, "") == rounded(table, "fpr", "tpr")
    assert points(chart, "_alone") == rounded(table, "fpr_alone", "tpr_alone")
    assert symbols(chart) == 6
    assert {"1", "2", "3"} <= set(texts(chart))
    assert chart.title.text == "Chain of OR"
    assert "1 c (0.000, 0.667); 2 a (0.333, 1.000); 3 b (0.667, 1.000)" in chart.description
    both = pl.concat([table, rf.chain(DECISIONS, "label", ["a", "b"], operator="and")])
    assert both.roc.chart().title.text == "Chain of AND and OR"
