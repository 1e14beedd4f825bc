"""Charts of metrics: a line for each metric, or a panel if the ranges differ."""

from __future__ import annotations

import polars as pl

import rocframe as rf
from tests.charts.specifications import TWO, encodings, records, spec, svg


def metrics(*names: str, **options: object) -> pl.DataFrame:
    return rf.intervals(TWO, "label", "score", metrics=names, ci=None, **options)


def test_metrics_of_one_range_share_an_axis():
    chart = metrics("tpr", "precision", fpr=[0.1, 0.2], by="model").roc.chart()
    assert encodings(chart, "y")[0]["scale"]["domain"] == [
        "tpr at fpr 0.1",
        "tpr at fpr 0.2",
        "precision at fpr 0.1",
        "precision at fpr 0.2",
    ]
    assert encodings(chart, "color")[0]["scale"]["domain"] == ["decision_tree", "linear_svm"]


def test_panels_of_metrics_are_grouped_by_the_panels_of_a_group():
    chart = metrics("tpr", "lift", fpr=0.1, by=["model", "age"]).roc.chart(facet="age")
    assert spec(chart)["facet"]["sort"][:3] == [
        "18-34 · tpr at fpr 0.1",
        "18-34 · lift at fpr 0.1",
        "35-54 · tpr at fpr 0.1",
    ]


def test_one_metric_names_the_axis_and_has_no_panels():
    chart = metrics("lift", fpr=0.1, by="model").roc.chart()
    assert encodings(chart, "x")[0]["title"] == "lift at fpr 0.1"
    assert "facet" not in spec(chart)


def test_an_infinite_metric_is_named_and_not_drawn():
    table = metrics("lr_pos", threshold=2.0, by="model").with_columns(
        estimate=pl.Series([float("inf"), 2.5])
    )
    chart = table.roc.chart()
    assert [record.get("_reason") for record in records(chart)] == ["inf", None]
    assert svg(chart).count('aria-roledescription="point"') == 1


def test_points_whose_thresholds_differ_in_the_fifth_digit_have_separate_lines():
    rows = pl.DataFrame({"label": [1, 0, 1], "score": [10001, 10002, 10003]})
    table = rf.intervals(
        rows, "label", "score", metrics="tpr", threshold=[10001, 10002, 10003], ci=None
    )
    assert encodings(table.roc.chart(), "y")[0]["scale"]["domain"] == [
        "tpr at threshold 10001",
        "tpr at threshold 10002",
        "tpr at threshold 10003",
    ]
