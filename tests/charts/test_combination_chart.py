"""Charts of combined decisions show the rates of their tables."""

from __future__ import annotations

import json

import polars as pl
import pytest

import rocframe as rf

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


def records(chart) -> list[dict[str, object]]:
    return json.loads(chart.data.values)


def points(chart, mark: str) -> list[tuple[object, object]]:
    return [(one["x"], one["y"]) for one in records(chart) if one.get("mark") == mark]


def rounded(table: pl.DataFrame, *names: str) -> list[tuple[float, ...]]:
    return [pytest.approx(row) for row in table.select(names).rows()]


def test_rectangles_and_points_are_those_of_the_table():
    table = rf.combine(DECISIONS.filter(g="u"), "label", ["a", "b"])
    chart = table.roc.chart()
    drawn = [(r["x"], r["x2"], r["y"], r["y2"]) for r in records(chart) if "x2" in r]
    assert drawn == rounded(table, *RANGE)
    assert points(chart, "measured") == rounded(table, "fpr", "tpr")
    independent = rounded(table, "fpr_independent", "tpr_independent")
    assert points(chart, "expected if independent") == independent
    alone = rounded(table.head(1), "fpr_a", "tpr_a") + rounded(table.head(1), "fpr_b", "tpr_b")
    assert points(chart, "model alone") == alone
    assert {r["above"] for r in records(chart) if "above" in r} == {"a"}
    assert {r["below"] for r in records(chart) if "below" in r} == {"b"}
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
    assert len(points(chart, "measured")) == 6
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
    assert points(chart, "measured") == []
    assert points(chart, "expected if independent") == [(0.08, 0.42), (0.52, 0.88)]


def test_a_chain_is_a_line_through_its_stages():
    table = rf.chain(DECISIONS.filter(g="u"), "label", ["a", "b", "c"])
    chart = table.roc.chart()
    assert points(chart, "measured") == rounded(table, "fpr", "tpr")
    assert points(chart, "model alone") == rounded(table, "fpr_alone", "tpr_alone")
    assert [r["above"] for r in records(chart) if "above" in r] == ["1", "2", "3"]
    assert chart.title.text == "Chain of OR"
    assert "1 c (0.000, 0.667); 2 a (0.333, 1.000); 3 b (0.667, 1.000)" in chart.description
    both = pl.concat([table, rf.chain(DECISIONS, "label", ["a", "b"], operator="and")])
    assert both.roc.chart().title.text == "Chain of AND and OR"
