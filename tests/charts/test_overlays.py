"""Layers over curves: hulls, lines of equal cost, marked points, ties, empty panels."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocframe as rf
from tests.charts.specifications import (
    domain,
    layers,
    lines,
    parts,
    records,
    reference_lines,
    spec,
    svg,
    texts,
)

COSTS = {"fp": 1, "fn": 3}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    label = rng.random(300) < 0.4
    score = (rng.normal(size=300) + label).round()
    rows = pl.DataFrame({"model": np.arange(300) % 2, "label": label, "score": score})
    rows = rows.with_columns(model=pl.col("model").replace_strict({0: "a", 1: "b"}))
    return rf.curve(rows, "label", "score", by="model")


def one(*rows):
    label, score = zip(*rows, strict=True)
    return rf.curve(pl.DataFrame({"label": label, "score": score}), "label", "score")


RING = "row of lowest cost"


def test_the_subtitle_names_the_lines_and_rings_that_are_drawn(table):
    assert table.roc.iso_lines(costs=COSTS).roc.chart().title.subtitle == (
        "Rings: rows of lowest cost"
    )
    lift = rf.chart(table, kind="lift_chart")
    assert lift.title.subtitle == "dashed: chance, dotted: perfect scores"
    no_lines = rf.chart(table, kind="lift_chart", diagonal=False)
    assert "subtitle" not in no_lines.to_dict()["title"]


@pytest.mark.parametrize(
    ("option", "call"),
    [
        ({"hull": True}, "Add the chart of the hull: curves.roc.chart() + curves.roc.hull().roc."),
        ({"costs": COSTS}, "Add the chart of the lines: curves.roc.chart() + curves.roc.iso_lines"),
        ({"prevalence": 0.1}, "curves.roc.iso_lines(costs=…, prevalence=…).roc.chart()."),
    ],
    ids=["hull", "costs", "prevalence"],
)
def test_the_error_for_a_layer_as_an_option_shows_the_call(table, option, call):
    with pytest.raises(rf.ArgumentError) as caught:
        rf.chart(table, **option)
    (name,) = option
    assert str(caught.value).startswith(f"chart: unexpected keyword argument {name!r}.")
    assert call in str(caught.value)


def test_the_subtitle_states_that_no_points_are_marked(table):
    none = rf.operating_point(table, "recall", subject_to={"precision": (0.99, 1)})
    assert none["note"].to_list() == ["no_solution"] * 2
    text = "no points are marked (no solution)"
    for axes in ({"kind": "roc"}, {"x": "threshold", "y": "precision"}):
        chart = rf.chart(table, mark=none, **axes)
        assert chart.title.subtitle == text
        assert chart.description.endswith(f" N{text[1:]}.")
        assert "Points are marked" not in chart.description
    chart = rf.chart(table, mark={"Half": 0.5, "Sure": none})
    assert chart.title.subtitle == "no points are marked for Sure (no solution)"
    assert chart.description.endswith(
        "Points are marked: Half. No points are marked for Sure (no solution)."
    )
    outside = rf.chart(table, mark=math.inf, x_domain=(0.5, 1))
    assert outside.title.subtitle == "no points are marked (not on the drawn lines)"
    assert "subtitle" not in rf.chart(table, mark=0.5).to_dict()["title"]


def test_nearly_equal_lines_of_a_lift_chart_are_drawn_once():
    # 355 and 357 positives: the two lines are 2 pixels apart.
    rows = pl.concat(
        pl.select(label=pl.int_range(1000) < n, score=pl.int_range(1000).hash() % 100).with_columns(
            model=pl.lit(name)
        )
        for name, n in (("a", 355), ("b", 357))
    )
    chart = rf.curve(rows, "label", "score", by="model").roc.chart(kind="lift_chart")
    data = [spec(chart)["datasets"][one["data"]["name"]] for one in layers(chart) if "data" in one]
    chance, perfect = ([(row["alert_rate"], row["tp"]) for row in rows] for rows in data)
    assert chance == [(0, 0), (1, 356)]
    assert perfect == [(0, 0), (0.356, 356), (1, 356)]


def test_the_specification_of_a_chart_with_all_options_is_unchanged(table, assert_golden):
    points = table.roc.at(fpr=0.1)
    chart = rf.chart(table, ties=True, mark={"half": 0.5, "low": points}, scale="log")
    assert_golden(chart, "roc_with_all_options")


@pytest.mark.render
def test_every_part_can_be_drawn_alone_and_together_and_in_panels(table):
    hull, costs = table.roc.hull().roc.chart(), table.roc.iso_lines(costs=COSTS).roc.chart()
    curves = rf.chart(table)
    assert (lines(curves), reference_lines(curves)) == (2, 1)
    assert (lines(curves + hull), reference_lines(curves + hull)) == (2, 3)
    assert (lines(curves + costs), reference_lines(curves + costs)) == (4, 1)
    marked = rf.chart(table, mark=[0.5, 1.0])
    assert svg(marked).count('fill="#07469b" stroke="white"') == 2
    everything = {"ties": True, "mark": {"x": 0.5}}
    together = rf.chart(table, **everything) + rf.chart(table.roc.average(over="model", grid=5))
    assert "mark-area" in svg(together + hull + costs)
    panels = rf.chart(table, facet="model", color=None, **everything)
    assert lines(panels & rf.chart(table.clear(), **everything) | marked) == 2 + lines(panels)


def test_charts_side_by_side_can_have_separate_legends(table):
    both = rf.chart(table) | rf.chart(table, kind="pr")
    auc, ap = rf.area(table)["auc"][0], rf.area(table, kind="pr")["average_precision"][0]
    shown = texts(both.resolve_scale(color="independent"))
    assert {f"a (AUC {auc:.3f})", f"a (AP {ap:.3f})"} <= set(shown)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["roc", "gain", "lift_chart"])
@given(rows=st.lists(st.tuples(st.booleans(), st.integers(0, 9)), min_size=1, max_size=30))
def test_a_hull_has_the_rows_above_all_lines_between_two_other_rows(kind, rows):
    table = one((True, 5), (False, 5), *rows)
    hull = records(rf.hull(table).roc.chart(kind=kind))
    points = list(zip(table["fp"], table["tp"], strict=True))

    def is_below_a_line(at):
        x, y = points[at]
        return any(
            (d - b) * (x - a) >= (y - b) * (c - a)
            for i, (a, b) in enumerate(points[:at])
            for c, d in points[at + 1 :]
            if (a, b) != (c, d)
        )

    expected = [points[i] for i in range(len(points)) if not is_below_a_line(i)]
    assert [(vertex["fp"], vertex["tp"]) for vertex in hull] == expected


@pytest.mark.parametrize("prevalence", [None, 0.05, 0.9])
def test_the_ring_is_at_the_row_of_least_cost_and_no_row_is_above_its_line(table, prevalence):
    chart = rf.iso_lines(table, costs=COSTS, prevalence=prevalence).roc.chart()
    for name, ring, line in zip("ab", parts(chart, RING), parts(chart), strict=True):
        rows = table.filter(model=name)
        share = prevalence or float(
            (rows["tp"] + rows["fn"])[0] / (rows.row(0)[4] + rows.row(0)[5])
        )
        cost = (1 - share) * COSTS["fp"] * rows["fpr"] + share * COSTS["fn"] * (1 - rows["tpr"])
        best = int(cost.arg_min())
        assert (ring["tp"], ring["fp"]) == (rows["tp"][best], rows["fp"][best])
        assert ring["expected_cost"] == pytest.approx(cost[best], rel=1e-6)
        assert ring["model"] == line["model"] == name
        (x, x2), (y, y2) = line["x"], line["y"]
        slope = (1 - share) * COSTS["fp"] / (share * COSTS["fn"])
        assert (y2 - y) / (x2 - x) == pytest.approx(slope, rel=1e-5)
        assert ((rows["tpr"] - y) - slope * (rows["fpr"] - x)).max() < 1e-6
        assert {0.0, 1.0} & {x, y}
        assert {0.0, 1.0} & {x2, y2}


@pytest.mark.parametrize("kind", ["gain", "lift_chart"])
@pytest.mark.parametrize("prevalence", [None, 0.2])
def test_lines_of_gain_and_lift_charts_are_those_of_the_table_of_lines(table, kind, prevalence):
    lines = rf.iso_lines(table, kind=kind, costs=COSTS, prevalence=prevalence)
    chart = lines.roc.chart()
    rings, drawn = parts(chart, RING), parts(chart)
    for line, ring, part in zip(lines.iter_rows(named=True), rings, drawn, strict=True):
        assert part["model"] == ring["model"] == line["model"]
        tp = [line["tp"]] if kind == "lift_chart" else line["tp"]  # the y axis
        assert (ring["tp"], ring["fp"]) == (tp, line["fp"])
        for x, y in (*zip(part["x"], part["y"], strict=True), (ring["x"][0], ring["y"][0])):
            assert y == pytest.approx(line["intercept"] + line["slope"] * x, rel=1e-5, abs=1e-5)
        assert min(part["x"][0], part["y"][0]) == pytest.approx(0, abs=1e-9)


def test_a_line_that_only_touches_a_corner_is_a_ring():
    chart = one((True, 2), (False, 1)).roc.iso_lines(costs={"fp": 1, "fn": 1}).roc.chart()
    assert [line["x"] for line in parts(chart)] == [[]]
    (ring,) = parts(chart, RING)
    assert (ring["x"], ring["y"], ring["threshold"], ring["expected_cost"]) == ([0], [1], 2, 0)


@pytest.mark.parametrize(("costs", "ends"), [({"fp": 1}, "x"), ({"fn": 1}, "y")], ids=["fp", "fn"])
def test_if_one_error_costs_nothing_the_line_is_horizontal_or_vertical(costs, ends):
    table = one((True, 3), (False, 2), (True, 1), (False, 0))
    (line,) = parts(rf.iso_lines(table, costs=costs).roc.chart())
    assert len(set(line[ends])) == 1


@pytest.mark.parametrize("kind", ["roc", "det", "gain", "lift_chart"])
def test_marked_thresholds_are_rows_of_at(table, kind):
    thresholds = [-9.0, -1.0, 0.0, 0.4, 1.0, 1.0, 2.0, 9.0]
    scale = {"scale": "linear"} if kind == "det" else {}
    chart = rf.chart(table, kind=kind, mark=thresholds, **scale)
    rows = rf.at(table, threshold=thresholds)
    for name, record in zip("ab", parts(chart, "mark"), strict=True):
        expected = rows.filter(model=name)
        assert record["tp"] == expected["tp"].to_list()
        assert record["fp"] == expected["fp"].to_list()
        above = ["inf" if one == math.inf else one for one in expected["threshold"]]
        assert record["threshold"] == above
    tables = rf.chart(table, kind=kind, mark=rows, **scale)
    assert parts(tables, "mark") == parts(chart, "mark")


def test_points_lie_on_the_curves_of_their_groups(table):
    points = table.filter(model="b").roc.at(tpr=0.5, interpolate=True)
    (record,) = parts(rf.chart(table, mark={"half": points}), "mark")
    assert (record["model"], record["mark"], record["y"]) == ("b", "half", [0.5])
    assert record["threshold"] == ["between two rows"]
    assert "threshold: between two" in svg(rf.chart(table, mark={"half": points}))
    assert parts(rf.chart(table, mark=table.roc.at(fpr=[])), "mark") == []


def test_undefined_points_are_not_marked(table):
    alone = rf.curve(pl.DataFrame({"label": [1], "score": [1]}), "label", "score")
    assert alone.roc.at(fpr=0.1)["tp"].to_list() == [None]
    assert parts(rf.chart(alone, mark=alone.roc.at(fpr=0.1)), "mark") == []
    above = parts(rf.chart(table, mark=99.0), "mark")
    assert [record["x"] for record in above] == [[0], [0]]
    assert parts(rf.chart(table, mark=99.0, kind="pr"), "mark") == []
    assert parts(rf.chart(table, mark=99.0, scale="log"), "mark") == []


def test_names_of_marks_have_shapes_in_a_legend(table):
    chart = rf.chart(table, mark={"model's own": 0.5, "chosen": [1.0]})
    shape = layers(chart)[-1]["encoding"]["shape"]
    assert shape["scale"] == {
        "domain": ["model's own", "chosen"],
        "range": ["circle", "square"],
    }
    assert {"model's own", "chosen", "a (AUC"} & set(texts(chart)) == {"model's own", "chosen"}


def test_marks_with_several_names_at_the_same_point_are_nested(table):
    best = rf.operating_point(table, "youden")
    chart = rf.chart(table, mark={"first": best, "second": best, "third": best})
    # The circle of the first name is below a square and a diamond. Each area is 2.2 times the next.
    (radius,) = set(re.findall(r'mark: first;[^>]*? d="M([\d.]+),0A', svg(chart)))
    assert float(radius) == pytest.approx((90 * 2.2**2) ** 0.5 / 2, abs=0.001)
    assert "size" in layers(chart)[-1]["encoding"]
    single = rf.chart(table, mark={"first": best})
    assert "size" not in layers(single)[-1]["encoding"]


@pytest.mark.parametrize("kind", ["roc", "gain", "lift_chart"])
def test_ties_fill_the_area_between_both_orders(table, kind):
    chart = rf.chart(table, kind=kind, ties=True)
    for name, record in zip("ab", parts(chart, "tie"), strict=True):
        rows = table.filter(model=name)
        filled = 0
        for box in set(record["_box"]):
            at = [i for i, other in enumerate(record["_box"]) if other == box]
            x, y = np.array(record["x"])[at], np.array(record["y"])[at]
            filled += abs(sum(a * d - c * b for (a, b), (c, d) in pairwise(zip(x, y, strict=True))))
        tp, fp = rows["tp"].diff().drop_nulls(), rows["fp"].diff().drop_nulls()
        pos, neg = rows["tp"][-1], rows["fp"][-1]
        high = 1 if kind == "lift_chart" else pos
        area = (tp * fp).sum() / (high * (neg if kind == "roc" else pos + neg))
        assert filled / 2 == pytest.approx(area, rel=1e-5)
        assert len(set(record["_box"])) == (tp * fp > 0).sum()


def test_ties_differ_from_bands_by_a_dotted_outline_and_by_their_legend():
    rows = rf.datasets.vote().filter(model="random_forest")
    curve = rf.curve(rows, "label", "score").roc.chart(ties=True)
    band = rf.band(rows, "label", "score", grid=5).roc.chart()
    assert 'stroke-dasharray="2,2"' in svg(curve)
    assert 'stroke-dasharray="2,2"' not in svg(band)
    shown = texts(curve + band)
    assert shown.count("worst to best order of ties") == 1
    assert shown.count("95 % simultaneous band") == 1


def test_the_description_has_the_areas_of_both_orders():
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [2, 1, 1, 0], "m": ["x"] * 4})
    area = rf.auc(rows, "label", "score", by="m", ci=None)
    low, high = area["auc_pessimistic"][0], area["auc_optimistic"][0]
    assert rf.chart(rf.curve(rows, "label", "score", by="m"), ties=True).description.endswith(
        f" ROC areas over all orders of tied rows: x {low:.3f} to {high:.3f}."
    )


def test_ties_that_the_line_would_hide_are_not_drawn():
    table = one(*[(i % 2 == 0, i // 2) for i in range(2000)], (True, 9999), (False, 9999))
    (record,) = parts(rf.chart(table, ties=True), "tie") or [{"_box": []}]
    assert len(record["_box"]) == 0
    assert parts(rf.chart(one((True, 1), (False, 0)), ties=True), "tie") == []


@pytest.mark.parametrize("scale", ["log", "normal_deviate"])
def test_overlays_are_inside_axes_without_0(table, scale):
    chart = rf.chart(table, scale=scale, ties=True, mark=[0.0, 99.0])
    low, high = domain(chart, "x")
    if scale == "normal_deviate":
        low, high = (NormalDist().cdf(end) for end in (low, high))
    drawn = [record for part in ("tie", "mark") for record in parts(chart, part)]
    drawn += records(rf.iso_lines(table, costs=COSTS).roc.chart(scale=scale))
    drawn += parts(rf.hull(table).roc.chart(scale=scale), "hull")
    for record in drawn:
        assert all(low - 1e-6 <= x <= high + 1e-6 for x in record["x"])


def test_a_panel_without_a_curve_shows_that_the_auc_is_undefined():
    rows = pl.DataFrame(
        {"model": ["good"] * 2 + ["bad"] * 2, "label": [1, 0, 0, 0], "score": [2, 1, 2, 1]}
    )
    curves = rf.curve(rows, "label", "score", by="model")
    for color in (None, "model"):
        shown = texts(rf.chart(curves, facet="model", color=color))
        assert "AUC undefined" in shown
        assert sum(text.startswith("bad") for text in shown) == (1 if color is None else 2)
    assert lines(rf.chart(curves, facet="model")) == 1
    assert "AUC undefined" not in texts(rf.chart(curves.filter(model="good"), facet="model"))


@pytest.mark.parametrize(
    ("option", "value", "kind", "having"),
    [
        ("ties", True, "det", "'roc', 'gain', 'lift_chart'"),
        ("ties", True, "pr", "'roc', 'gain', 'lift_chart'"),
    ],
)
def test_the_error_for_an_unsupported_option_names_the_kinds_that_support_it(
    table, option, value, kind, having
):
    with pytest.raises(rf.OptionValueError) as caught:
        rf.chart(table, kind=kind, **{option: value})
    name = {"det": "det", "pr": "precision_recall"}[kind]
    assert str(caught.value) == (
        f"{option}={value!r}: this option cannot be used with kind={name!r}.\n"
        f"Use kind={having.replace(', ', ' or ')}, or leave the option out."
    )


def test_averaged_curves_have_no_overlays(table):
    mean = table.roc.average(over="model")
    for option in ({"ties": True}, {"mark": 0.5}):
        with pytest.raises(rf.OptionValueError) as caught:
            mean.roc.chart(**option)
        assert "cannot be used with a chart of a table of the type 'average'.\n" in str(
            caught.value
        )


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ("high", "mark='high': expected thresholds or a DataFrame of points.\nPass"),
        (float("nan"), "mark=nan: expected thresholds or a DataFrame of points."),
        ({}, "mark=[]: expected 1 to 6 names, got 0."),
        ({f"m{i}": i for i in range(7)}, "mark=['m0', 'm1', 'm2', 'm3', 'm4', 'm5', 'm6']: expec"),
        (
            {1: 0.5},
            (
                "mark=1: this key of the mapping is not a string, or is empty.\n"
                'Use, for example, mark={"high": 0.9}.'
            ),
        ),
    ],
    ids=["text", "nan", "empty", "seven", "number"],
)
def test_an_invalid_mark_raises_an_error(table, mark, message):
    with pytest.raises(rf.OptionValueError) as caught:
        rf.chart(table, mark=mark)
    assert str(caught.value).startswith(message)


def test_points_of_other_cases_raise_an_error(table):
    points = table.roc.at(fpr=0.1)
    with pytest.raises(rf.MissingColumnError) as caught:
        rf.chart(table, mark=points.drop("model"))
    assert str(caught.value) == (
        "mark: the table has no column 'model'.\n"
        "The table has: 'at', 'at_value', 'threshold', 'tp', 'fp', 'fn', 'tn', 'fpr', 'tpr'."
    )
    with pytest.raises(rf.ColumnTypeError) as caught:
        rf.chart(table, mark=points.with_columns(pl.col("model").cast(pl.Categorical)))
    assert str(caught.value) == (
        "mark: column 'model' of the table has type Categorical.\n"
        "In the curves, it has type String. Cast one of the two columns."
    )
    with pytest.raises(rf.OptionValueError) as caught:
        rf.chart(table, mark=points.with_columns(model=pl.lit("c")))
    assert "no group of these points has a curve in the chart" in str(caught.value)
    with pytest.raises(rf.OptionValueError) as caught:
        rf.chart(table, mark=points.with_columns(pl.col("fn") + 1))
    assert "a point has tp + fn = " in str(caught.value)


def test_ties_must_be_true_or_false(table):
    with pytest.raises(rf.OptionValueError) as caught:
        rf.chart(table, ties="yes")
    assert str(caught.value) == (
        "ties='yes': expected True or False.\nUse ties=True, or leave out ties=."
    )
