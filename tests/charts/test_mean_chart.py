"""Charts of averaged curves: a bold line, and a band or bars for its limits."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rocframe as rf
from rocframe.kinds import KINDS
from tests.charts.specifications import (
    domain,
    layers,
    marks,
    records,
    reference_lines,
    shared,
    spec,
    svg,
    texts,
)

every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture(scope="module")
def curves() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    rows = 400
    table = pl.DataFrame(
        {
            "model": rng.choice(["a", "b"], rows),
            "fold": rng.integers(0, 4, rows),
            "label": rng.random(rows) < 0.4,
            "score": rng.normal(size=rows).round(1),
        }
    )
    return rf.curve(table, "label", "score", by=["model", "fold"])


@every_kind
@pytest.mark.render
def test_every_kind_can_be_rendered_alone_and_over_its_curves(curves, kind):
    mean = curves.roc.average(kind=kind, grid=11).roc.chart()
    both = curves.roc.chart(kind=kind, detail="fold") + mean
    for chart in (mean, both):
        assert "mark-area" in svg(chart)


@pytest.mark.render
@every_kind
def test_layered_charts_draw_the_lines_of_chance_once(curves, kind):
    mean = curves.roc.average(kind=kind, grid=11).roc.chart()
    points = curves.roc.at(fpr=0.2).roc.chart(kind=kind, by=["model", "fold"])
    alone = curves.roc.chart(kind=kind, detail="fold")
    expected = reference_lines(alone)
    assert expected
    for chart in (alone + mean, alone + mean + points, alone.add_layers(mean, points)):
        assert reference_lines(chart) == expected
    assert reference_lines(mean | mean) == 2 * reference_lines(mean)


@pytest.mark.parametrize("method", ["vertical", "horizontal", "threshold"])
@pytest.mark.render
def test_a_legend_has_the_level_of_the_limits_alone_and_over_curves(curves, method):
    mean = curves.roc.average(method=method, grid=11, level=0.9).roc.chart()
    for chart in (mean, curves.roc.chart(detail="fold") + mean, mean | mean):
        assert svg(chart).count(">90 % pointwise intervals<") == 1
    without = curves.roc.average(method=method, grid=11, ci=None).roc.chart()
    assert "pointwise intervals" not in svg(without)


def test_the_line_and_its_limits_are_those_of_the_table(curves):
    mean = curves.roc.average(grid=[0.25, 0.75])
    first, second = records(mean.roc.chart())
    assert (first["model"], second["model"]) == ("a", "b")
    rows = mean.filter(model="a")
    for name in ("fpr", "tpr", "tpr_lower", "tpr_upper", "threshold_mean"):
        assert first[name] == pytest.approx(rows[name].to_list(), rel=1e-6)
    assert first["x"] == [0.25, 0.75]


def test_limits_lie_along_the_axes_that_were_averaged(curves):
    assert marks(curves.roc.average().roc.chart()) == ["area", "area", "line", "line", "point"]
    across = curves.roc.average(method="horizontal").roc.chart()
    areas = [layer for layer in layers(across) if layer["mark"]["type"] == "area"]
    for area in areas:
        ends = [area["encoding"][name]["field"] for name in ("x", "x2", "y")]
        assert ends == ["fpr_lower", "fpr_upper", "tpr"]
    assert [area["mark"]["orient"] for area in areas] == ["horizontal"] * 2
    bars = curves.roc.average(method="threshold").roc.chart()
    assert marks(bars) == ["rule", "rule", "line", "line", "point"]
    assert [sum(record["_bar"]) for record in records(bars)] == [20, 20]


def test_tooltips_have_the_means_and_their_limits(curves):
    limits = {"vertical": ["tpr"], "horizontal": ["fpr"], "threshold": ["tpr", "fpr"]}
    for method, names in limits.items():
        chart = curves.roc.average(method=method, grid=11).roc.chart()
        fields = [line["field"] for line in spec(chart)["encoding"]["tooltip"]]
        ends = [f"{name}_{end}" for name in names for end in ("lower", "upper")]
        assert fields == ["model", "threshold_mean", "fpr", "tpr", *ends]


def test_without_limits_the_band_is_as_thin_as_the_line(curves):
    one = curves.filter(model="a", fold=0).roc.average(ci="t", grid=5)
    (record,) = records(one.roc.chart())
    assert record["tpr_lower"] == record["tpr_upper"] == record["y"]
    assert not any("pointwise" in text for text in texts(one.roc.chart()))


def test_the_legend_has_the_area_under_each_mean(curves):
    mean = curves.roc.average(grid="union")
    areas = rf.area(mean)["auc_of_mean"].to_list()
    entries = {f"{name} (AUC {area:.3f})" for name, area in zip("ab", areas, strict=True)}
    assert entries <= set(texts(mean.roc.chart()))
    alone = mean.filter(model="a").drop("model").roc.chart()
    assert alone.title.subtitle == f"AUC {areas[0]:.3f}"
    assert "subtitle" not in spec(curves.roc.average(kind="gain").roc.chart())["title"]


def test_panels_and_colors_are_chosen_as_for_curves(curves):
    mean = curves.roc.average()
    panels = spec(mean.roc.chart(facet="model", color=None))
    assert panels["facet"]["field"] == "model"


def test_long_means_are_drawn_from_few_points():
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {"fold": rng.integers(0, 3, 30_000), "label": rng.random(30_000) < 0.4}
    ).with_columns(score=pl.Series(rng.normal(size=30_000)) + pl.col("label"))
    mean = rf.curve(table, "label", "score", by="fold").roc.average(grid="union")
    assert mean.height > 30_000
    (record,) = records(mean.roc.chart())
    assert len(record["x"]) < 1000


def test_a_group_without_a_mean_is_named_and_not_drawn():
    table = pl.DataFrame(
        {"g": ["a", "a", "b"], "fold": [1, 1, 1], "label": [1, 0, 1], "score": [3, 2, 1]}
    )
    mean = rf.curve(table, "label", "score", by=["g", "fold"]).roc.average(grid=3)
    first, second = records(mean.roc.chart())
    assert (first["g"], second["g"], second["x"]) == ("a", "b", [])
    spec(mean.clear().roc.chart())
    spec(mean.clear().drop("g").roc.chart())


def test_metrics_at_fixed_values_are_lines_of_their_own(curves):
    table = curves.roc.average(fixed="accuracy", metrics=["precision", "npv"], grid=11)
    chart = table.roc.chart(color="metric")
    # There is no line of chance, because these axes do not belong to a kind of curve.
    assert marks(chart) == ["area", "area", "line", "point"]
    metrics = [record["metric"] for record in records(chart)]
    assert metrics == ["npv", "npv", "precision", "precision"]
    assert [record["model"] for record in records(chart)] == ["a", "b", "a", "b"]
    assert (shared(chart, "x")["title"], shared(chart, "y")["title"]) == ("Accuracy", "Mean")
    assert domain(chart, "x") == domain(chart, "y") == [0, 1]
    assert shared(chart, "color")["field"] == "metric"
    assert chart.description.startswith(
        "Means chart, 4 averaged curves with 95 % pointwise intervals: mean against accuracy."
    )
    first = records(chart)[2]
    own = table.filter(model="a").drop_nulls("precision")
    assert first["x"][0] == pytest.approx(own["accuracy"][0])
    assert first["y"][0] == pytest.approx(own["precision"][0], rel=1e-6)
    panels = spec(table.roc.chart(facet="model"))
    assert panels["facet"]["field"] == "model"


def test_groups_keep_their_colors_where_several_metrics_have_panels(curves):
    table = curves.roc.average(fixed="accuracy", metrics=["precision", "npv"], grid=11)
    chart = table.roc.chart()
    assert spec(chart)["facet"]["field"] == "metric"
    assert shared(chart, "color")["field"] == "model"
    alone = table.filter(model="a").drop("model").roc.chart()
    assert shared(alone, "color")["field"] == "metric"


def test_one_metric_is_named_on_its_axis_and_groups_have_the_colors(curves):
    net = (pl.col("tp") - pl.col("fp")).alias("net")
    table = curves.roc.average(fixed="threshold", metrics=net, grid=20)
    chart = table.roc.chart()
    assert (shared(chart, "x")["title"], shared(chart, "y")["title"]) == ("Threshold", "net")
    low, high = domain(chart, "y")
    ends = table.filter(pl.col("threshold").is_finite())
    assert low == pytest.approx(ends["net_lower"].min(), rel=1e-6)
    assert high == pytest.approx(ends["net_upper"].max(), rel=1e-6)
    assert [record["model"] for record in records(chart)] == ["a", "b"]


def test_axes_of_averaged_metrics_are_those_of_curves(curves):
    for name in ("ppv", "mcc", "tp", "sensitivity"):
        mean = curves.roc.average(fixed="fpr", metrics=name, grid=11).roc.chart()
        curve = curves.roc.chart(x="fpr", y=name, detail="fold")
        mean_y, curve_y = (shared(chart, "y") for chart in (mean, curve))
        assert mean_y["title"] == curve_y["title"]
        assert mean_y["scale"]["nice"] == curve_y["scale"]["nice"]
        if name != "tp":
            assert mean_y["scale"]["domain"][1] == curve_y["scale"]["domain"][1] == 1
        assert mean_y["scale"]["domain"][0] <= 0


def test_infinite_means_are_not_drawn(curves):
    odds = (1 / pl.col("fp")).alias("odds")
    table = curves.roc.average(metrics=[odds, "tpr"], grid=5)
    assert np.isinf(table["odds"][0])
    for record in records(table.roc.chart()):
        assert None not in record["y"]


def test_means_are_described_in_words(curves):
    mean = curves.roc.average(grid=11)
    areas = mean.roc.area()["auc_of_mean"].to_list()
    assert mean.roc.chart().description == (
        "ROC chart, 2 averaged curves with 95 % pointwise intervals: true positive rate against "
        "false positive rate. The dashed line shows chance. "
        f"By model: a (AUC {areas[0]:.3f}), b (AUC {areas[1]:.3f})."
    )
    assert curves.roc.average(grid=11, kind="pr").roc.chart().description == (
        "Precision-recall chart, 2 averaged curves with 95 % pointwise intervals: precision "
        "against recall. By model: a, b."
    )


def test_overlapping_bands_are_light_areas_with_lines_at_their_limits(curves):
    means = curves.roc.average(over="fold", grid=11)
    areas = [
        [layer["mark"] for layer in layers(table.roc.chart())[:2]]
        for table in (means, curves.roc.average(over="model", grid=11))
    ]
    for fill, outline in areas:
        assert (fill["type"], fill["opacity"]) == ("area", 0.04)
        assert (outline["type"], outline["filled"], outline["strokeWidth"]) == ("area", False, 1)
    (alone,) = (
        layer["mark"]
        for layer in layers(means.filter(model="a").roc.chart())
        if layer["mark"]["type"] == "area"
    )
    assert alone["opacity"] == 0.2
