"""Confidence limits in curve charts: of areas in legends, and of the rates of points."""

from __future__ import annotations

from math import inf
from statistics import NormalDist

import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import TWO, domain, encodings, marks, records, rules, spec, texts

OPTIONS = {"label": "label", "score": "score", "by": "model"}
CURVES = rf.curve(TWO, **OPTIONS)
RATES = rf.intervals(TWO, **OPTIONS, metrics=["fpr", "tpr"], threshold=[0.5, 0.6])


def entry(name: str, area: str, row: dict) -> str:
    return f"{name} ({area} [{row['lower']:.3f}, {row['upper']:.3f}])"


def test_the_legend_shows_the_areas_and_limits_of_the_table():
    areas = rf.auc(TWO, **OPTIONS, level=0.9)
    chart = CURVES.roc.chart(areas=areas)
    expected = [
        entry(row["model"], f"AUC {row['auc']:.3f}", row) for row in areas.iter_rows(named=True)
    ]
    assert set(expected) <= set(texts(chart))
    assert chart.title.subtitle == "brackets: 90 % confidence limits"
    assert ", ".join(expected) + ". Brackets: 90 % confidence limits." in chart.description


@pytest.mark.parametrize("name", ["*", "^m.*$", "area"])
def test_the_limits_do_not_depend_on_the_name_of_the_group_column(name):
    options = {"label": "label", "score": "score", "by": name}
    log = TWO.rename({"model": name})
    chart = rf.curve(log, **options).roc.chart(areas=rf.auc(log, **options))
    expected = CURVES.roc.chart(areas=rf.auc(TWO, **OPTIONS))
    assert chart.description == expected.description.replace("By model:", f"By {name}:")


def test_panels_and_single_curves_show_the_limits_too():
    areas = rf.auc(TWO, **OPTIONS)
    shown = texts(CURVES.roc.chart(areas=areas, facet="model", color=None))
    for row in areas.iter_rows(named=True):
        assert entry(row["model"], f"AUC {row['auc']:.3f}", row) in shown
    tree = TWO.filter(model="decision_tree")
    area = rf.auc(tree, "label", "score")
    chart = rf.curve(tree, "label", "score").roc.chart(areas=area)
    (row,) = area.iter_rows(named=True)
    limits = f"[{row['lower']:.3f}, {row['upper']:.3f}]"
    expected = f"AUC {row['auc']:.3f} {limits} · brackets: 95 % confidence limits"
    assert chart.title.subtitle == expected


def test_several_curves_of_a_color_have_the_limits_of_the_mean_of_their_areas():
    curves = rf.curve(TWO, "label", "score", by=["model", "fold"])
    areas = rf.fold_auc(TWO, **OPTIONS)
    shown = texts(curves.roc.chart(detail="fold", areas=areas))
    for row in areas.iter_rows(named=True):
        assert entry(row["model"], f"mean AUC {row['mean_auc']:.3f}", row) in shown


def test_precision_recall_charts_show_limits_of_average_precision():
    metrics = ["auc", "average_precision"]
    table = rf.intervals(TWO, **OPTIONS, metrics=metrics, n_boot=20, seed=1)
    for kind, metric, name in (("pr", metrics[1], "AP"), ("roc", metrics[0], "AUC")):
        shown = texts(CURVES.roc.chart(kind=kind, areas=table))
        for row in table.filter(metric=metric).iter_rows(named=True):
            assert entry(row["model"], f"{name} {row['estimate']:.3f}", row) in shown


def test_an_area_without_limits_has_no_brackets():
    chart = CURVES.roc.chart(areas=rf.auc(TWO, **OPTIONS, ci=None))
    assert "[" not in chart.description
    assert spec(chart)["title"] == spec(CURVES.roc.chart())["title"]
    same = TWO.with_columns(score=0.5)  # the variance is 0
    chart = rf.curve(same, **OPTIONS).roc.chart(areas=rf.auc(same, **OPTIONS))
    assert spec(chart)["title"] == {"anchor": "start", "text": "ROC"}
    assert "confidence" not in chart.description


def test_bars_end_at_the_limits_of_the_table():
    chart = RATES.roc.chart(x="fpr", y="tpr")
    points = records(chart)
    assert len(points) == RATES.height / 2
    for point in points:
        for name, side in (("fpr", "x"), ("tpr", "y")):
            row = RATES.row(
                by_predicate=(pl.col("metric") == name)
                & (pl.col("model") == point["model"])
                & (pl.col("at_value") == point["at_value"]),
                named=True,
            )
            shown = [point[field] for field in (side, f"_{name}_lower", f"_{name}_upper")]
            assert shown == pytest.approx([row[end] for end in ("estimate", "lower", "upper")])
            assert point[f"_{name}_limits"] == f"[{row['lower']:.3f}, {row['upper']:.3f}]"
    assert records(RATES.roc.chart(kind="roc")) == points
    both = CURVES.roc.chart() + chart
    assert rules(both) == 8
    assert "95 % confidence limits" in texts(both)
    assert both.description.endswith(" Bars are 95 % confidence limits.")
    titles = [line.get("title") for line in encodings(chart, "tooltip")[-1]]
    assert titles[-2:] == ["fpr limits", "tpr limits"]
    # Without axes, the table is a dot plot.
    assert RATES.roc.chart().title.text != chart.title.text


def test_limits_of_a_rule_are_drawn_in_panels_on_axes_without_0():
    rule = {"rule": "youden", "n_boot": 20, "seed": 1, "metrics": ["fpr", "recall"]}
    options = {"facet": "model", "scale": "normal_deviate"}
    best = rf.intervals(TWO, **OPTIONS, **rule).roc.chart(kind="roc", **options)
    half = RATES.roc.chart(kind="roc", **options)
    for chart in (best, half):
        low, high = (NormalDist().cdf(end) for end in domain(chart, "x"))
        for point in records(chart):
            ends = [
                point[f"_{name}_{end}"] for name in ("fpr", "tpr") for end in ("lower", "upper")
            ]
            assert all(low - 1e-6 <= rate <= high + 1e-6 for rate in ends)
    assert {point["_condition"] for point in records(best)} == {"rule"}
    shown = texts(CURVES.roc.chart(**options) + half + best)
    assert {"rule", "threshold 0.5", "threshold 0.6"} <= set(shown)


def test_an_axis_without_limits_has_no_bars():
    chart = RATES.with_columns(
        pl.when(pl.col("metric") == "tpr").then(name) for name in ("lower", "upper")
    ).roc.chart(kind="roc")
    assert rules(chart) == len(records(chart)) == 4
    none = RATES.with_columns(pl.lit(None, pl.Float64).alias(name) for name in ("lower", "upper"))
    chart = none.roc.chart(kind="roc")
    assert marks(chart) == ["line", "point"]
    assert "Bars" not in chart.description


@pytest.mark.parametrize("axes", [("threshold", "tpr"), ("tpr", "threshold")])
def test_bars_of_one_metric_are_drawn_against_the_threshold(axes):
    options = dict(zip("xy", axes, strict=True))
    chart = RATES.roc.chart(**options)
    rows = RATES.filter(metric="tpr").sort("model", "at_value")
    sides = dict(zip(axes, "xy", strict=True))
    expected = rows.select(pl.col("estimate", "lower", "upper").round_sig_figs(7), "at_value")
    for point, row in zip(records(chart), expected.iter_rows(named=True), strict=True):
        shown = [point[field] for field in (sides["tpr"], "_tpr_lower", "_tpr_upper")]
        assert shown == [row["estimate"], row["lower"], row["upper"]]
        assert point[sides["threshold"]] == row["at_value"]
    both = CURVES.roc.chart(**options) + chart
    assert rules(both) == 4
    above_all = rf.intervals(TWO, **OPTIONS, metrics="tpr", threshold=[inf, 0.5, 0.6])
    above = above_all.roc.chart(**options)
    assert [[p["x"], p["y"]] for p in records(above)] == [[p["x"], p["y"]] for p in records(chart)]
    assert above.title.subtitle.startswith("Not drawn: decision_tree · threshold inf")


def test_metrics_that_the_table_lacks_have_no_points():
    options = {"x": "threshold", "y": ["tpr", "precision"]}
    chart = RATES.roc.chart(**options)
    assert {point["metric"] for point in records(chart)} == {"tpr"}
    both = CURVES.roc.chart(**options) + chart
    assert rules(both) == 4
