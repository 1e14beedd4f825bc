"""Charts of metrics against the threshold: lines are steps through the rows of the table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import (
    TWO,
    domain,
    marks,
    point_marks,
    records,
    shared,
    spec,
    svg,
    texts,
)

CURVES = rf.curve(TWO, "label", "score", by="model")
LARGE = pl.DataFrame({"score": np.random.default_rng(1).normal(size=20_000)}).with_columns(
    label=pl.col("score") + np.random.default_rng(2).normal(size=20_000) > 1
)


def value_at(record, threshold: float) -> float:
    """Return the y value of a line right at a threshold: the last point at or above it."""
    points = [y for x, y in zip(record["x"], record["y"], strict=True) if x >= threshold]
    return points[-1]


def test_the_line_has_the_metric_of_at_for_all_thresholds():
    (record, _) = records(CURVES.roc.chart(x="threshold", y="f1"))
    tree = rf.curve(TWO.filter(model="decision_tree"), "label", "score", metrics="f1")
    thresholds = np.linspace(min(record["x"]) + 1e-4, max(record["x"]) - 1e-4, 200).tolist()
    for threshold, value in zip(thresholds, tree.roc.at(threshold=thresholds)["f1"], strict=True):
        assert value_at(record, threshold) == pytest.approx(value, abs=1e-6)
    rows = {(row["tp"], row["fp"]): row for row in tree.to_dicts()}
    for x, y, tp, fp in zip(*(record[name] for name in ("x", "y", "tp", "fp")), strict=True):
        if tp is not None:
            row = rows[tp, fp]
            assert (x, y) == pytest.approx((row["threshold"], row["f1"]), abs=1e-6)


def test_thresholds_have_all_their_digits_on_the_axis_and_in_tooltips():
    rows = pl.DataFrame(
        {"fold": [0] * 4, "label": [1, 0, 1, 0], "score": [1e6 + i / 1e8 for i in range(4)]}
    )
    curves = rf.curve(rows, "label", "score", by="fold")
    thresholds = curves["threshold"].to_list()[1:]
    assert len(set(thresholds)) == 4
    for chart in (
        curves.roc.chart(x="threshold", y="tpr"),
        curves.roc.average(fixed="threshold", metrics="tpr", grid="union").roc.chart(),
    ):
        assert set(records(chart)[0]["x"]) == set(thresholds)
    (line,) = records(curves.roc.chart())
    assert line["threshold"] == ["inf", *thresholds]
    (line,) = records(curves.roc.chart(x="tpr", y="threshold"))
    assert set(line["y"]) == {thresholds[0], thresholds[1], thresholds[3]}
    point = curves.roc.at(threshold=thresholds[2])
    assert records(point.roc.chart(x="tpr", y="threshold"))[0]["y"] == thresholds[2]
    assert thresholds[2] in records(point.roc.chart())[0].values()


@pytest.mark.parametrize("metric", ["precision", "recall", "lift", "mcc"])
def test_the_line_of_a_large_curve_is_close_to_all_rows(metric):
    table = rf.curve(LARGE, "label", "score", metrics=metric).drop_nulls(metric)
    (record,) = records(rf.curve(LARGE, "label", "score").roc.chart(x="threshold", y=metric))
    assert len(record["x"]) <= 520
    table = table.filter(pl.col("threshold").is_finite())
    # Between its points the line has a width of 1/500 of an axis in each direction.
    x, y = (np.array(record[name])[::-1] for name in "xy")
    width, height = np.ptp(x), np.ptp(y)
    for threshold, value in table.select("threshold", metric).sample(300, seed=1).rows():
        near = np.abs(x - threshold) <= width / 400
        start, end = np.searchsorted(x, [threshold - width / 400, threshold + width / 400])
        nearby = np.append(y[near], np.interp(threshold, x, y))
        nearby = np.append(nearby, y[max(start - 1, 0) : end + 1])
        assert nearby.min() - height / 400 <= value <= nearby.max() + height / 400


def test_several_metrics_have_colors_or_panels():
    one = rf.curve(TWO.filter(model="decision_tree"), "label", "score")
    chart = one.roc.chart(x="threshold", y=["precision", "recall"])
    assert chart.title.text == "Precision and recall against threshold"
    assert {"metric", "precision", "recall"} <= set(texts(chart))
    assert [shared(chart, side)["title"] for side in "xy"] == ["Threshold", "Value"]
    panels = CURVES.roc.chart(x="threshold", y=["precision", "f1"])
    assert panels.description == "Chart, 4 lines: precision and F1 against threshold."
    shown = texts(panels)
    assert {"metric", "model", "precision", "f1", "decision_tree", "linear_svm"} <= set(shown)
    swapped = CURVES.roc.chart(x="threshold", y=["precision", "f1"], facet="model", color="metric")
    found = {(r["metric"], r["model"], *r["y"][:3]) for r in records(swapped)}
    assert found == {(r["metric"], r["model"], *r["y"][:3]) for r in records(panels)}
    assert len(found) == 4


def test_a_zoomed_axis_clips_the_steps():
    chart = CURVES.roc.chart(x="threshold", y="recall", x_domain=(0.3, 0.5))
    ends = CURVES.roc.at(threshold=[0.5, 0.3])
    for record in records(chart):
        assert (record["x"][0], record["x"][-1]) == (0.5, 0.3)
        expected = ends.filter(model=record["model"])["tpr"].to_list()
        assert [record["y"][0], record["y"][-1]] == pytest.approx(expected, rel=1e-6)
    assert domain(chart, "x") == [0.3, 0.5]
    assert "Shown: threshold from 0.3 to 0.5." in chart.description


def test_infinite_thresholds_and_undefined_metrics_are_not_drawn():
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [float("inf"), 2.0, 1.0, -float("inf")]})
    (record,) = records(rf.curve(rows, "label", "score").roc.chart(x="threshold", y="precision"))
    assert record["x"] == [2, 1, 1]
    assert record["y"] == [0.5, 0.5, pytest.approx(2 / 3)]
    assert record["tp"] == [1, None, 2]
    empty = rf.curve(rows.with_columns(label=0), "label", "score")
    chart = empty.roc.chart(x="threshold", y="recall")
    assert chart.description.endswith("Not drawn: all rows.")
    assert chart.title.subtitle == "Not drawn: all rows"
    assert "role-axis" in svg(chart)


def test_rates_are_those_at_the_prevalence_of_the_table():
    table = rf.curve(TWO, "label", "score", by="model", prevalence=0.1, metrics="precision")
    chart = table.roc.chart(x="threshold", y="precision")
    assert chart.title.subtitle == "prevalence 0.1"
    assert "Prevalence" not in table.roc.chart(x="threshold", y="tpr").description
    for record in records(chart):
        rows = table.filter(model=record["model"])
        expected = {
            (tp, fp): value for tp, fp, value in rows.select("tp", "fp", "precision").rows()
        }
        for tp, fp, value in zip(*(record[name] for name in ("tp", "fp", "y")), strict=True):
            assert tp is None or value == pytest.approx(expected[tp, fp], rel=1e-6)
        assert record["y"][-1] == pytest.approx(0.1)


def test_operating_points_are_on_the_line_of_each_metric():
    best = rf.operating_point(CURVES, "f1")
    options = {"x": "threshold", "y": ["f1", "precision"]}
    both = CURVES.roc.chart(**options)
    for points in (best, CURVES.roc.at(threshold=0.5)):
        chart = points.roc.chart(**options)
        both += chart
        rates = {"f1": 2 * pl.col("tp") / (2 * pl.col("tp") + pl.col("fp") + pl.col("fn"))}
        rates["precision"] = pl.col("tp") / (pl.col("tp") + pl.col("fp"))
        for row in points.with_columns(**rates).to_dicts():
            for metric in options["y"]:
                (record,) = [
                    record
                    for record in records(chart)
                    if (record["metric"], record["model"]) == (metric, row["model"])
                ]
                expected = (
                    row.get("at_value", row["threshold"]),
                    row[metric],
                    row["tp"],
                    row["fp"],
                )
                found = [record[field] for field in ("x", "y", "tp", "fp")]
                assert found == pytest.approx(expected, rel=1e-6)
        names = [line.get("title", line["field"]) for line in shared(chart, "tooltip")]
        assert names.count("threshold") == 1
        assert "value" in names
    shown = texts(both)
    assert {"f1", "threshold 0.5"} <= set(shown)
    assert shown.count("model") == 1
    assert len(point_marks(both)) == 8
    zoomed = best.roc.chart(x="threshold", y="f1", x_domain=(0.7, 0.8))
    assert not records(zoomed)
    assert zoomed.title.subtitle == "Not drawn: decision_tree · f1, linear_svm · f1"


@pytest.mark.parametrize("options", [{"x": "threshold", "y": "f1"}, {"x": "fpr", "y": "threshold"}])
def test_one_threshold_does_not_extend_the_axis_of_the_curves(options):
    curves = CURVES.filter(model="decision_tree")
    side = "x" if options["x"] == "threshold" else "y"
    lines, points = curves.roc.chart(**options), curves.roc.at(threshold=0.5).roc.chart(**options)
    assert domain(lines + points, side) == domain(lines, side)
    assert len(point_marks(points)) == 1


def test_groups_named_metric_keep_their_name():
    curves = CURVES.rename({"model": "metric"})
    chart = curves.roc.chart(x="threshold", y=["precision", "recall"])
    assert {"metric", "(metric)"} <= set(texts(chart))
    assert marks(chart) == ["line", "point"]


def test_the_threshold_against_rnp_is_the_quantile_function_of_the_score():
    predictions = pl.DataFrame(
        {"label": [1, 0, 1, 1, 0, 0, 0, 0], "score": [0.9, 0.8, 0.6, 0.4, 0.4, 0.4, 0.2, 0.1]}
    )
    curve = rf.curve(predictions, "label", "score")
    (line,) = records(curve.roc.chart(x="rnp", y="threshold"))
    (mark,) = records(curve.roc.at(threshold=0.5).roc.chart(x="rnp", y="threshold"))
    x, y = (np.array(line[name])[::-1] for name in "xy")
    shares = np.arange(0.01, 1, 0.02)
    quantiles = np.quantile(predictions["score"], shares, method="inverted_cdf")
    assert np.interp(shares, x, y) == pytest.approx(quantiles)
    assert (x.min(), x.max(), mark["x"], mark["y"]) == (0, 1, 5 / 8, 0.5)
    rows = zip(line["tp"], line["x"], line["y"], strict=True)
    assert [row for row in rows if row[0] is not None] == [
        (1, 7 / 8, 0.9),
        (1, 6 / 8, 0.8),
        (2, 5 / 8, 0.6),
        (3, 2 / 8, 0.4),
        (3, 1 / 8, 0.2),
        (3, 0, 0.1),
    ]


@pytest.mark.parametrize("x", ["rnp", "alert_rate", "fpr", "tp"])
def test_the_threshold_against_a_rate_has_the_rows_of_the_table(x):
    table = rf.curve(TWO.filter(model="decision_tree"), "label", "score", metrics="rnp")
    table = table.with_columns(alert_rate=1 - pl.col("rnp"))
    chart = table.roc.chart(x=x, y="threshold")
    (line,) = records(chart)
    expected = {(row["tp"], row["fp"]): (row[x], row["threshold"]) for row in table.to_dicts()}
    points = zip(*(line[name] for name in ("tp", "fp", "x", "y")), strict=True)
    rows = [point for point in points if None not in point]
    assert len(rows) > 20
    for tp, fp, *values in rows:
        assert values == pytest.approx(expected[tp, fp], abs=1e-6)
    assert chart.title.text.startswith("Threshold against ")
    zoomed = table.roc.chart(x=x, y="threshold", y_domain=(0.4, 0.6))
    assert domain(zoomed, "y") == [0.4, 0.6]


def test_panels_with_different_thresholds_have_separate_axes():
    rows = pl.select(label=pl.int_range(400) % 3 == 0, score=pl.int_range(400).hash(1) % 997 / 997)
    both = pl.concat(
        rows.with_columns(model=pl.lit(name), score=pl.col("score") * factor + start)
        for name, factor, start in (("margin", 9, -4), ("probability", 1, 0))
    )
    curves = rf.curve(both, "label", "score", by="model")
    options = {"x": "threshold", "y": "precision", "facet": "model"}
    points = curves.roc.at(threshold=0.5).roc.chart(**options)
    panels = (curves.roc.chart(**options) + points).to_dict()
    assert points.to_dict()["spec"]["encoding"]["x"]["scale"] == {"nice": True, "zero": False}
    assert panels["resolve"] == {"scale": {"x": "independent"}}
    assert panels["spec"]["encoding"]["x"]["scale"] == {"nice": True, "zero": False}
    # All panels have the same axis if their thresholds are similar or if a domain is given.
    similar = both.with_columns(score=pl.concat([rows["score"], rows["score"] * 0.6]))
    same = rf.curve(similar, "label", "score", by="model")
    for chart in (
        same.roc.chart(x="threshold", y="precision", facet="model"),
        curves.roc.chart(x="threshold", y="precision", facet="model", x_domain=(0, 1)),
        curves.roc.chart(x="threshold", y="precision"),
        curves.roc.chart(x="threshold", y=["precision", "recall"]),
    ):
        assert "resolve" not in spec(chart)
        assert len(domain(chart, "x")) == 2
    # The line of the probabilities has as many points as in a chart of its own.
    alone = curves.filter(model="probability").roc.chart(x="threshold", y="precision")
    points = records(alone)[0]["x"]
    _, probability = records(curves.roc.chart(x="threshold", y="precision", facet="model"))
    assert abs(len(probability["x"]) - len(points)) <= 0.1 * len(points)
