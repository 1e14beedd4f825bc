"""Confidence limits in curve charts: of areas in legends, and of rates at marked points."""

from __future__ import annotations

from math import inf
from statistics import NormalDist

import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import domain, encodings, parts, spec, svg, texts

VOTE = rf.datasets.vote().filter(pl.col("model").str.contains("tree|svm"))
OPTIONS = {"label": "label", "score": "score", "by": "model"}
CURVES = rf.curve(VOTE, **OPTIONS)
RATES = rf.intervals(VOTE, **OPTIONS, metrics=["fpr", "tpr"], threshold=[0.5, 0.6])


def entry(name: str, area: str, row: dict) -> str:
    return f"{name} ({area} [{row['lower']:.3f}, {row['upper']:.3f}])"


def test_the_legend_shows_the_areas_and_limits_of_the_table():
    areas = rf.auc(VOTE, **OPTIONS, level=0.9)
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
    log = VOTE.rename({"model": name})
    chart = rf.curve(log, **options).roc.chart(areas=rf.auc(log, **options))
    expected = CURVES.roc.chart(areas=rf.auc(VOTE, **OPTIONS))
    assert chart.description == expected.description.replace("By model:", f"By {name}:")


def test_panels_and_single_curves_show_the_limits_too():
    areas = rf.auc(VOTE, **OPTIONS)
    shown = texts(CURVES.roc.chart(areas=areas, facet="model", color=None))
    for row in areas.iter_rows(named=True):
        assert entry(row["model"], f"AUC {row['auc']:.3f}", row) in shown
    tree = VOTE.filter(model="decision_tree")
    area = rf.auc(tree, "label", "score")
    chart = rf.curve(tree, "label", "score").roc.chart(areas=area)
    (row,) = area.iter_rows(named=True)
    limits = f"[{row['lower']:.3f}, {row['upper']:.3f}]"
    expected = f"AUC {row['auc']:.3f} {limits} · brackets: 95 % confidence limits"
    assert chart.title.subtitle == expected


def test_several_curves_of_a_color_have_the_limits_of_the_mean_of_their_areas():
    curves = rf.curve(VOTE, "label", "score", by=["model", "fold"])
    areas = rf.fold_auc(VOTE, **OPTIONS)
    shown = texts(curves.roc.chart(detail="fold", areas=areas))
    for row in areas.iter_rows(named=True):
        assert entry(row["model"], f"mean AUC {row['mean_auc']:.3f}", row) in shown
    with pytest.raises(rf.OptionValueError, match="Use fold_auc for the mean of the areas"):
        curves.roc.chart(detail="fold", areas=rf.auc(VOTE, **OPTIONS))


def test_precision_recall_charts_show_limits_of_average_precision():
    metrics = ["auc", "average_precision"]
    table = rf.intervals(VOTE, **OPTIONS, metrics=metrics, n_boot=20, seed=1)
    for kind, metric, name in (("pr", metrics[1], "AP"), ("roc", metrics[0], "AUC")):
        shown = texts(CURVES.roc.chart(kind=kind, areas=table))
        for row in table.filter(metric=metric).iter_rows(named=True):
            assert entry(row["model"], f"{name} {row['estimate']:.3f}", row) in shown
    with pytest.raises(rf.OptionValueError, match="but the table has areas of ROC curves"):
        CURVES.roc.chart(kind="pr", areas=rf.auc(VOTE, **OPTIONS))


def test_an_area_without_limits_has_no_brackets():
    chart = CURVES.roc.chart(areas=rf.auc(VOTE, **OPTIONS, ci=None))
    assert "[" not in chart.description
    assert spec(chart)["title"] == spec(CURVES.roc.chart())["title"]
    same = VOTE.with_columns(score=0.5)  # the variance is 0
    chart = rf.curve(same, **OPTIONS).roc.chart(areas=rf.auc(same, **OPTIONS))
    assert spec(chart)["title"] == {"anchor": "start", "text": "ROC"}
    assert "confidence" not in chart.description


@pytest.mark.parametrize(
    ("areas", "message"),
    [
        (0.5, "areas=0.5: expected a table of areas with confidence limits."),
        (CURVES, "expected a table of areas with confidence limits."),
        (rf.auc(VOTE, "label", "score", by=["model", "fold"]), "has more than one row"),
        (rf.auc(VOTE, "label", -pl.col("score"), by="model"), "but the table has the area"),
        (
            rf.auc(VOTE.with_columns(model=pl.lit("other")), **OPTIONS),
            "no group of these areas has a curve in the chart",
        ),
        (RATES, "the table has no rows"),
    ],
    ids=["number", "curves", "folds", "reversed", "other", "rates"],
)
def test_areas_of_other_predictions_raise_an_error(areas, message):
    with pytest.raises(rf.OptionValueError) as caught:
        CURVES.roc.chart(areas=areas)
    assert message in str(caught.value)


def test_bars_end_at_the_limits_of_the_table():
    chart = CURVES.roc.chart(mark=RATES)
    bars, points = parts(chart, "limits"), parts(chart, "mark")
    ends = {(bar["model"], *bar["x"], *bar["y"]) for bar in bars}
    expected = []
    for (model, _), rows in RATES.group_by("model", "at_value"):
        fpr, tpr = (
            rows.row(by_predicate=pl.col("metric") == name, named=True) for name in ("fpr", "tpr")
        )
        x, y = fpr["estimate"], tpr["estimate"]
        expected.append((model, fpr["lower"], fpr["upper"], y, y))
        expected.append((model, x, x, tpr["lower"], tpr["upper"]))
        (point,) = [p for p in points if p["model"] == model and p["x"] == [pytest.approx(x)]]
        assert point["y"] == [pytest.approx(y)]
        assert point["_fpr_limits"] == f"[{fpr['lower']:.3f}, {fpr['upper']:.3f}]"
        assert point["_tpr_limits"] == f"[{tpr['lower']:.3f}, {tpr['upper']:.3f}]"
    assert len(ends) == len(expected) == 8
    for name, *numbers in expected:
        assert any(end[0] == name and list(end[1:]) == pytest.approx(numbers) for end in ends)
    assert "95 % confidence limits" in texts(chart)
    assert "Points are marked. Bars are 95 % confidence limits." in chart.description
    titles = [line.get("title") for line in encodings(chart, "tooltip")[-1]]
    assert titles[-2:] == ["fpr limits", "tpr limits"]


def test_limits_of_a_rule_are_drawn_in_panels_on_axes_without_0():
    rule = {"rule": "youden", "n_boot": 20, "seed": 1, "metrics": ["fpr", "recall"]}
    chart = CURVES.roc.chart(
        mark={"best": rf.intervals(VOTE, **OPTIONS, **rule), "half": RATES},
        facet="model",
        scale="normal_deviate",
    )
    low, high = domain(chart, "x")
    low, high = NormalDist().cdf(low), NormalDist().cdf(high)
    bars = parts(chart, "limits")
    assert {bar["mark"] for bar in bars} == {"best", "half"}
    for bar in bars:
        assert all(low - 1e-6 <= rate <= high + 1e-6 for rate in (*bar["x"], *bar["y"]))
    assert "role-legend" in svg(chart)


def test_one_axis_with_limits_has_one_bar():
    chart = CURVES.roc.chart(mark=RATES.filter(metric="tpr"))
    assert len(parts(chart, "limits")) == len(parts(chart, "mark")) == 4
    assert all(bar["x"][0] == bar["x"][1] for bar in parts(chart, "limits"))


@pytest.mark.parametrize("axes", [("threshold", "tpr"), ("tpr", "threshold")])
def test_bars_of_one_metric_are_drawn_against_the_threshold(axes):
    chart = CURVES.roc.chart(x=axes[0], y=axes[1], mark=RATES)
    rows = RATES.filter(metric="tpr").sort("model")
    sides = dict(zip(axes, "xy", strict=True))
    points, bars = parts(chart, "mark"), parts(chart, "limits")
    expected = rows.select(pl.col("estimate", "lower", "upper").round_sig_figs(7), "threshold")
    for point, bar, row in zip(points, bars, expected.iter_rows(named=True), strict=True):
        assert point[sides["tpr"]] == [row["estimate"]]
        assert bar[sides["tpr"]] == [row["lower"], row["upper"]]
        assert point[sides["threshold"]] == [row["threshold"]]
        assert bar[sides["threshold"]] == [row["threshold"]] * 2
    assert "Bars are 95 % confidence limits." in chart.description
    above_all = rf.intervals(VOTE, **OPTIONS, metrics="tpr", threshold=[inf, 0.5, 0.6])
    expected = [point[side] for point in points for side in "xy"]
    chart = CURVES.roc.chart(x=axes[0], y=axes[1], mark=above_all)
    assert [point[side] for point in parts(chart, "mark") for side in "xy"] == expected


def test_metrics_without_limits_in_the_table_have_points_without_bars():
    metrics = ["tpr", "precision"]
    chart = CURVES.roc.chart(x="threshold", y=metrics, mark=RATES)
    assert [bar["metric"] for bar in parts(chart, "limits")] == ["tpr"] * 4
    assert [point["metric"] for point in parts(chart, "mark")] == ["tpr"] * 4 + ["precision"] * 4
    none = CURVES.roc.chart(x="threshold", y="precision", mark=RATES)
    assert none.description.endswith(" Points are marked.")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            rf.intervals(VOTE, **OPTIONS, metrics=["precision"], threshold=0.5),
            "the table has no points with the metrics of the axes, 'fpr' and 'tpr'.\nUse rf.interv",
        ),
        (
            rf.intervals(
                VOTE, "label", pl.col("score") / 2, by="model", metrics="tpr", threshold=0.5
            ),
            "Pass points that were computed from these curves.",
        ),
        (RATES.with_columns(model=pl.lit("c")), "no group of these points has a curve"),
    ],
    ids=["metric", "scores", "group"],
)
def test_limits_of_other_points_raise_an_error(table, message):
    with pytest.raises(rf.OptionValueError) as caught:
        CURVES.roc.chart(mark=table)
    assert message in str(caught.value)
    assert str(caught.value).startswith(
        "mark=<table with the columns 'model', 'metric', 'estimate', "
    )
