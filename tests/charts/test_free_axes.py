"""Charts of any two metrics: the points of lines are those of the table, and errors are clear."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import (
    TWO,
    parts,
    point_marks,
    records,
    reference_lines,
    shared,
    spec,
    svg,
)

CURVES = rf.curve(TWO, "label", "score", by="model")


def titles(chart) -> list[str]:
    return [shared(chart, side)["title"] for side in "xy"]


@pytest.mark.parametrize(
    ("x", "y"),
    [("alert_rate", "precision"), ("precision", "f1"), ("recall", "npv"), ("mcc", "lr_pos")],
)
@pytest.mark.parametrize("prevalence", [None, 0.1])
def test_points_of_lines_are_rows_of_the_table_with_these_metrics(x, y, prevalence):
    table = rf.curve(TWO, "label", "score", by="model", prevalence=prevalence, metrics=[x, y])
    for record in records(table.roc.chart(x=x, y=y)):
        rows = table.filter(model=record["model"]).select("tp", "fp", x, y)
        expected = {(tp, fp): values for tp, fp, *values in rows.iter_rows()}
        points = list(zip(*(record[name] for name in ("tp", "fp", "x", "y")), strict=True))
        known = [point for point in points if point[0] is not None]
        assert len(known) > 10
        for tp, fp, *values in known:
            assert values == pytest.approx(expected[tp, fp], rel=1e-6)


def test_the_line_is_close_to_all_rows_and_to_points_between_rows():
    table = rf.curve(TWO, "label", "score", by="model", metrics=["alert_rate", "precision"])
    table = table.filter(model="decision_tree")
    (record,) = records(table.roc.chart(x="alert_rate", y="precision"))
    tp, fp = (
        np.interp(np.arange(0.25, len(table) - 1, 0.25), range(len(table)), table[name])
        for name in ("tp", "fp")
    )
    n = table["tp"][-1] + table["fp"][-1]
    drawn = np.interp((tp + fp) / n, record["x"], record["y"])
    assert np.abs(drawn - tp / (tp + fp)).max() < 1 / 400


def test_axes_of_a_kind_draw_this_kind_with_the_given_names():
    chart = CURVES.roc.chart(x="fall_out", y="sensitivity", ties=True)
    assert titles(chart) == ["Fall out", "Sensitivity"]
    kind = CURVES.roc.chart(kind="roc", ties=True)
    names = {"fpr": "fall_out", "tpr": "sensitivity"}
    renamed = [{names.get(k, k): value for k, value in one.items()} for one in records(kind)]
    assert records(chart) == renamed
    assert chart.title.text == kind.title.text == "ROC"


def test_titles_and_description_name_both_metrics():
    chart = CURVES.roc.chart(x="alert_rate", y="precision")
    assert titles(chart) == ["Alert rate", "Precision"]
    assert chart.title.text == "Precision against alert rate"
    assert chart.description.startswith("Chart, 2 curves: precision against alert rate. By model:")
    names = CURVES.roc.chart(x="kappa", y="f1")
    assert names.title.text == "F1 against Cohen's kappa"
    assert names.description.startswith("Chart, 2 curves: F1 against Cohen's kappa.")
    assert CURVES.roc.chart(x="kappa", y="tnr").title.text.endswith(" against Cohen's kappa")


def test_a_zoomed_axis_clips_the_lines():
    chart = CURVES.roc.chart(x="alert_rate", y="precision", x_domain=(0.2, 0.5))
    for record in records(chart):
        assert (record["x"][0], record["x"][-1]) == pytest.approx((0.2, 0.5))
    falling = CURVES.roc.chart(x="tnr", y="npv", x_domain=(0.2, 0.5))
    for record in records(falling):
        assert (record["x"][0], record["x"][-1]) == pytest.approx((0.5, 0.2))


def test_operating_points_have_the_same_axes():
    best = rf.operating_point(CURVES, "mcc")
    points = best.roc.chart(x="alert_rate", y="mcc")
    assert titles(points) == ["Alert rate", "Matthews correlation"]
    rows = best.select(pl.col("value")).to_series().to_list()
    assert [record["y"] for record in records(points)] == pytest.approx(rows, rel=1e-6)
    both = CURVES.roc.chart(x="alert_rate", y="mcc") + points
    assert len(point_marks(both)) == len(rows)


@pytest.mark.parametrize("kind", ["roc", "pr", "det", "lift_chart", "skill"])
def test_diagonal_false_hides_the_lines_of_chance(kind):
    chart = CURVES.roc.chart(kind=kind)
    assert reference_lines(chart)
    hidden = CURVES.roc.chart(kind=kind, diagonal=False)
    assert not reference_lines(hidden)
    assert "dashed" not in hidden.description
    assert parts(hidden) == parts(chart)


@pytest.mark.parametrize("options", [{}, {"facet": "model"}, {"ties": True}])
def test_legend_false_hides_all_legends(options):
    chart = CURVES.roc.chart(legend=False, **options)
    assert "role-legend" in svg(CURVES.roc.chart(**options | {"facet": None, "color": "model"}))
    assert "role-legend" not in svg(chart)
    assert "AUC" in spec(chart)["description"]
    points = CURVES.roc.at(fpr=[0.1, 0.2])
    points = points.roc.chart(legend=False, facet=options.get("facet"))
    assert "role-legend" not in svg(chart + points)
