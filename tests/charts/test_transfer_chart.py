"""Charts of transferred thresholds: a line from the value realised to the value chosen."""

from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import layers, records, spec, svg

VOTE = rf.datasets.vote().filter(pl.col("model").str.contains("tree|bayes"), pl.col("fold") <= 3)
CURVES = rf.curve(VOTE, "label", "score", by=["model", "fold"])


@pytest.fixture(scope="module")
def table():
    return CURVES.roc.transfer("accuracy")


def encodings(chart):
    """Return the encoding of each layer, by the type of its mark."""
    return [(layer["mark"]["type"], layer["encoding"]) for layer in layers(chart)]


def test_a_line_connects_the_value_realised_and_the_value_chosen_of_each_row(table):
    chart = table.roc.chart()
    drawn = pl.DataFrame(records(chart))
    for name in ("value_realised", "value_chosen"):
        assert drawn[name].to_list() == table[name].round_sig_figs(7).to_list()
    assert drawn["model"].to_list() == table["model"].to_list()
    assert drawn["fold"].to_list() == table["fold"].cast(pl.String).to_list()
    (line,) = (layer for mark, layer in encodings(chart) if mark == "rule")
    assert (line["x"]["field"], line["x2"]["field"]) == ("value_realised", "value_chosen")
    dots = {layer["x"]["field"] for mark, layer in encodings(chart) if mark == "point"}
    assert dots == {"value_realised", "value_chosen"}
    row = table.row(0, named=True)
    text = f"{row['value_realised']:.3f}, where it was chosen {row['value_chosen']:.3f}"
    assert f"decision_tree · 1: {text}; " in chart.description


def test_the_axis_has_the_name_of_the_metric():
    costs = {"fp": 1, "fn": 5}
    titles = {
        "accuracy": "Accuracy",
        "recall": "Recall",
        "youden": "Youden's J",
        "expected_cost": "Expected cost per row",
        "closest_top_left": "Distance to (0, 1)",
        "equal_error": "Mean of FPR and FNR",
    }
    table = CURVES.filter(model="naive_bayes").roc.transfer([*titles], costs=costs)
    for rule, title in titles.items():
        (shown,) = {
            layer["x"]["title"]
            for mark, layer in encodings(table.filter(rule=rule).roc.chart())
            if mark == "point"
        }
        assert shown == title
    panels = spec(table.roc.chart())
    assert panels["facet"]["sort"] == [*titles]
    assert panels["resolve"]["scale"]["x"] == "independent"


def test_an_undefined_value_has_a_line_with_the_reason():
    table = CURVES.filter(fold=1).roc.transfer()
    shown = svg(table.roc.chart())
    assert table["note"].to_list() == ["no_rows", "no_rows"]
    assert ">decision_tree: no rows<" in shown
    assert ">naive_bayes: no rows<" in shown
    # Scores that are below all thresholds of the other folds: the precision is undefined.
    low = pl.when(pl.col("fold") == 1).then(pl.col("score") - 9).otherwise("score")
    curves = rf.curve(VOTE.with_columns(low), "label", "score", by=["model", "fold"])
    table = curves.roc.transfer("precision").filter(fold=1)
    assert table["value_realised"].null_count() == 2
    chart = table.roc.chart()
    assert [record["value_realised"] for record in records(chart)] == [None, None]
    assert None not in [record["value_chosen"] for record in records(chart)]
    assert svg(chart).count(": undefined<") == 2


def test_panels_have_one_key_of_the_marks():
    chart = CURVES.roc.transfer(["accuracy", "youden"]).roc.chart()
    assert chart.title.subtitle.endswith(". ● value realised, ◇ value chosen")
    assert svg(chart).count("value chosen") == svg(chart).count("◇ value chosen")
