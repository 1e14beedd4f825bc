"""Charts of curves with benefits and costs: units name axes, tooltips and descriptions."""

from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import encodings, records, shared, spec

PAYMENTS = pl.DataFrame(
    {
        "legitimate": [1, 1, 0, 1, 0],
        "amount": [100, 50, 30, 400, 1000],
        "score": [0.9, 0.8, 0.8, 0.5, 0.2],
        "fold": [1, 2, 1, 2, 2],
    }
)
AMOUNT = pl.col("amount")
ROLES = {"benefit": 0.02 * AMOUNT + 20, "cost": AMOUNT + 20}
CURVES = rf.curve(PAYMENTS, "legitimate", "score", **ROLES)
UNITS = {"benefit": "dollars", "cost": "euros"}


def titles(chart) -> list[str]:
    return [encodings(chart, side)[0]["title"] for side in "xy"]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("roc", ["Share of cost (euros)", "Share of benefit (dollars)"]),
        ("det", ["Share of cost (euros)", "Share of missed benefit (dollars)"]),
        ("lift_chart", ["Alert rate", "Benefit (dollars)"]),
        ("pr", ["Share of benefit (dollars)", "Precision"]),
    ],
)
def test_axes_are_named_for_benefits_and_costs(kind, expected):
    chart = CURVES.roc.chart(kind=kind, **UNITS)
    assert titles(chart) == expected
    assert f"{expected[1].lower()} against {expected[0].lower()}" in chart.description
    assert records(chart) == records(CURVES.roc.chart(kind=kind))


def test_tooltips_are_named_for_benefits_and_costs():
    chart = CURVES.roc.chart(**UNITS)
    for lines in (shown for shown in encodings(chart, "tooltip") if shown != {"value": None}):
        # The tooltips of curves have the area as their last line.
        assert [line.get("title", line["field"]) for line in lines if line["field"] != "auc"] == [
            *("threshold", "Share of cost (euros)", "Share of benefit (dollars)"),
            *("Benefit (dollars)", "Cost (euros)"),
            *("Missed benefit (dollars)", "Avoided cost (euros)"),
        ]
    points = CURVES.roc.at(threshold=0.8).roc.chart(**UNITS)
    titles = {line.get("title", line["field"]) for line in shared(points, "tooltip")}
    assert {"threshold", "Share of cost (euros)", "Benefit (dollars)"} <= titles


def test_one_unit_names_one_axis():
    chart = CURVES.roc.chart(cost="euros")
    assert titles(chart) == ["Share of cost (euros)", "True positive rate"]


def test_units_have_the_same_case_in_sentences():
    chart = CURVES.roc.chart(cost="EUR", x_domain=(0, 0.5))
    assert "true positive rate against share of cost (EUR). " in chart.description
    assert "Shown: share of cost (EUR) from 0 to 0.5." in chart.description


def test_layers_of_points_and_means_have_the_same_titles():
    by_fold = rf.curve(PAYMENTS, "legitimate", "score", by="fold", **ROLES)
    tables = (by_fold.roc.average(), by_fold.roc.operating_point("youden"), by_fold)
    for table in tables:
        assert titles(table.roc.chart(**UNITS)) == titles(CURVES.roc.chart(**UNITS))


def test_titles_of_free_axes_contain_the_units():
    chart = CURVES.roc.chart(x="tnr", y="precision", **UNITS)
    assert titles(chart) == ["Share of avoided cost (euros)", "Precision"]
    assert chart.title.text == "Precision against share of avoided cost (euros)"


def test_dashboards_name_the_axes_of_rates():
    board = spec(rf.dashboard(CURVES, **UNITS))
    roc, _, gain = board["vconcat"][0]["concat"][:3]
    for panel, x in ((roc, "Share of cost (euros)"), (gain, "Alert rate")):
        encoding = panel["encoding"]
        assert encoding["x"]["title"] == x
        assert encoding["y"]["title"] == "Share of benefit (dollars)"
