"""Layers over curves: hulls, lines of equal cost, ties, empty panels."""

from __future__ import annotations

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
    point_marks,
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


def rings_and_lines(chart):
    """Return the row of each ring, and the coordinates of each line of equal cost by model."""
    drawn = {}
    for row in parts(chart, "line of equal cost"):
        drawn.setdefault(row.get("model"), []).append((row["x"], row["y"]))
    return parts(chart), drawn


def test_the_lines_and_rings_that_are_drawn_are_explained(table):
    assert "equal cost; ring: lowest cost" in texts(table.roc.iso_lines(costs=COSTS).roc.chart())
    lift = rf.chart(table, kind="lift_chart")
    assert lift.title.subtitle == "dashed: chance, dotted: perfect scores"
    no_lines = rf.chart(table, kind="lift_chart", diagonal=False)
    assert "subtitle" not in no_lines.to_dict()["title"]


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
    points = table.roc.at(threshold=0.5).roc.chart(scale="log", text="threshold")
    assert_golden(rf.chart(table, ties=True, scale="log") + points, "roc_with_all_options")


@pytest.mark.render
def test_every_part_can_be_drawn_alone_and_together_and_in_panels(table):
    hull, costs = table.roc.hull().roc.chart(), table.roc.iso_lines(costs=COSTS).roc.chart()
    curves = rf.chart(table)
    assert (lines(curves), reference_lines(curves)) == (2, 1)
    assert (lines(curves + hull), reference_lines(curves + hull)) == (2, 3)
    assert (lines(curves + costs), reference_lines(curves + costs)) == (4, 1)
    points = table.roc.at(threshold=[0.5, 1.0])
    marked = curves + rf.chart(points)
    assert svg(marked).count('fill="#07469b" stroke="white"') == 2
    together = rf.chart(table, ties=True) + rf.chart(table.roc.average(over="model", grid=5))
    assert "mark-area" in svg(together + hull + costs)
    panels = rf.chart(table, facet="model", color=None, ties=True)
    panels += rf.chart(points, facet="model", color=None)
    assert len(point_marks(panels)) == 4
    assert lines(panels & rf.chart(table.clear(), ties=True) | marked) == 2 + lines(panels)


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
    rings, drawn = rings_and_lines(chart)
    for ring, (name, ((x, y), (x2, y2))) in zip(rings, drawn.items(), strict=True):
        rows = table.filter(model=name)
        share = prevalence or float(
            (rows["tp"] + rows["fn"])[0] / (rows.row(0)[4] + rows.row(0)[5])
        )
        cost = (1 - share) * COSTS["fp"] * rows["fpr"] + share * COSTS["fn"] * (1 - rows["tpr"])
        best = int(cost.arg_min())
        assert (ring["tp"], ring["fp"]) == (rows["tp"][best], rows["fp"][best])
        assert ring["expected_cost"] == pytest.approx(cost[best], rel=1e-6)
        assert ring["model"] == name
        slope = (1 - share) * COSTS["fp"] / (share * COSTS["fn"])
        assert (y2 - y) / (x2 - x) == pytest.approx(slope, rel=1e-5)
        assert ((rows["tpr"] - y) - slope * (rows["fpr"] - x)).max() < 1e-6
        assert {0.0, 1.0} & {x, y}
        assert {0.0, 1.0} & {x2, y2}


@pytest.mark.parametrize("kind", ["gain", "lift_chart"])
@pytest.mark.parametrize("prevalence", [None, 0.2])
def test_lines_of_gain_and_lift_charts_are_those_of_the_table_of_lines(table, kind, prevalence):
    lines = rf.iso_lines(table, kind=kind, costs=COSTS, prevalence=prevalence)
    rings, drawn = rings_and_lines(lines.roc.chart())
    for line, ring, (model, points) in zip(
        lines.iter_rows(named=True), rings, drawn.items(), strict=True
    ):
        assert model == ring["model"] == line["model"]
        assert (ring["tp"], ring["fp"]) == (line["tp"], line["fp"])
        for x, y in (*points, (ring["x"], ring["y"])):
            assert y == pytest.approx(line["intercept"] + line["slope"] * x, rel=1e-5, abs=1e-5)
        assert min(points[0]) == pytest.approx(0, abs=1e-9)


def test_a_line_that_only_touches_a_corner_is_a_ring():
    chart = one((True, 2), (False, 1)).roc.iso_lines(costs={"fp": 1, "fn": 1}).roc.chart()
    (ring,), drawn = rings_and_lines(chart)
    assert not drawn
    assert (ring["x"], ring["y"], ring["threshold"], ring["expected_cost"]) == (0, 1, 2, 0)


@pytest.mark.parametrize(("costs", "ends"), [({"fp": 1}, "x"), ({"fn": 1}, "y")], ids=["fp", "fn"])
def test_if_one_error_costs_nothing_the_line_is_horizontal_or_vertical(costs, ends):
    table = one((True, 3), (False, 2), (True, 1), (False, 0))
    _, drawn = rings_and_lines(rf.iso_lines(table, costs=costs).roc.chart())
    (points,) = drawn.values()
    assert len({point["xy".index(ends)] for point in points}) == 1


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
    chart = rf.chart(table, scale=scale, ties=True)
    low, high = domain(chart, "x")
    if scale == "normal_deviate":
        low, high = (NormalDist().cdf(end) for end in (low, high))
    drawn = [x for record in parts(chart, "tie") for x in record["x"]]
    tables = (rf.iso_lines(table, costs=COSTS), rf.hull(table), rf.at(table, threshold=[0, 99]))
    drawn += [record["x"] for one in tables for record in records(one.roc.chart(scale=scale))]
    assert all(low - 1e-6 <= x <= high + 1e-6 for x in drawn)


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
