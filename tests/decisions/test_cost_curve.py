"""Cost curves are compared with published values, and with the costs of all thresholds."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.charts.specifications import records
from tests.test_published import FAWCETT_3

PREDICTIONS = pl.DataFrame({"label": [1, 0, 1, 0, 1, 0], "score": [0.9, 0.8, 0.7, 0.4, 0.4, 0.1]})
CURVES = rf.curve(PREDICTIONS, "label", "score")
GROUPS = st.lists(
    st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=12),
    min_size=1,
    max_size=4,
)
# Drummond and Holte (2006) define the costs; these are the exact values for the twenty instances of
# Fawcett's figure 3, at multiples of 1/20.
ENVELOPE = """
0 1/25 2/25 3/25 4/25 1/5 11/50 6/25 13/50 7/25 3/10 8/25 8/25 61/200 27/100 9/40 9/50 27/200 9/100
9/200 0
"""


def lowest(rows: list[tuple[bool, int]], value: Fraction) -> tuple[Fraction, float] | None:
    """Return the lowest normalized cost, and the highest threshold that attains it."""
    pos = sum(label for label, _ in rows)
    if pos in {0, len(rows)}:
        return None
    costs = []
    for threshold in [inf, *sorted({score for _, score in rows}, reverse=True)]:
        tp = sum(label and score >= threshold for label, score in rows)
        fp = sum(not label and score >= threshold for label, score in rows)
        cost = Fraction(fp, len(rows) - pos) * (1 - value) + Fraction(pos - tp, pos) * value
        costs.append((cost, threshold))
    return min(costs, key=lambda one: (one[0], -one[1]))


def test_the_envelope_of_fawcetts_figure_3_has_the_exact_values():
    costs = rf.curve(FAWCETT_3, "label", "score").roc.cost_curve(grid=21)
    assert costs.get_column("probability_cost").to_list() == [i / 20 for i in range(21)]
    expected = [float(Fraction(one)) for one in ENVELOPE.split()]
    assert costs.get_column("expected_cost").to_list() == pytest.approx(expected, abs=1e-15)
    # At 1/4, the lines of two thresholds cross.
    assert costs.filter(probability_cost=0.25).item(0, "threshold") == 0.8
    assert costs.filter(probability_cost=0.3).item(0, "threshold") == 0.54


@pytest.mark.hypothesis
@given(GROUPS)
def test_each_row_has_the_lowest_cost_of_all_thresholds(groups):
    rows = [(g, label, score) for g, group in enumerate(groups) for label, score in group]
    frame = pl.DataFrame(rows, schema=["g", "label", "score"], orient="row")
    curves = rf.curve(frame, "label", "score", by="g")
    for row in rf.cost_curve(curves, grid=13).iter_rows(named=True):
        value = Fraction(round(row["probability_cost"] * 12), 12)
        best = lowest(groups[row["g"]], value)
        if best is None:
            assert row["expected_cost"] is None
            assert row["threshold"] is None
            continue
        cost, threshold = best
        assert row["expected_cost"] == pytest.approx(float(cost), abs=1e-15)
        if 0 < value < 1:
            assert row["min_dcf"] == pytest.approx(float(cost / min(value, 1 - value)))
        else:
            assert row["min_dcf"] is None
        assert row["threshold"] == threshold
        line = row["fpr"] * (1 - row["probability_cost"]) + row["fnr"] * row["probability_cost"]
        assert row["expected_cost"] == pytest.approx(line, abs=1e-15)


@pytest.mark.hypothesis
@given(GROUPS)
def test_between_vertices_the_envelope_is_straight(groups):
    rows = [(g, label, score) for g, group in enumerate(groups) for label, score in group]
    frame = pl.DataFrame(rows, schema=["g", "label", "score"], orient="row")
    curves = rf.curve(frame, "label", "score", by="g")
    vertices = curves.roc.cost_curve(grid="vertices")
    for (g,), points in vertices.group_by("g"):
        values, costs = (points.get_column(name).to_list() for name in points.columns[1:3])
        assert (values[0], values[-1]) == (0, 1)
        assert values == sorted(set(values))
        if costs[0] is None:
            continue
        for i in range(len(values) - 1):
            middle = lowest(groups[g], Fraction(values[i]) / 2 + Fraction(values[i + 1]) / 2)
            mean = (costs[i] + costs[i + 1]) / 2
            assert mean == pytest.approx(float(middle[0]), abs=1e-12)


def test_the_highest_cost_is_the_equal_error_rate_of_the_hull():
    vertices = rf.curve(FAWCETT_3, "label", "score").roc.cost_curve(grid="vertices")
    # The line from (1/10, 1/2) to (1/2, 4/5) of the hull meets tpr = 1 - fpr at fpr = 23/70.
    assert vertices.get_column("expected_cost").max() == pytest.approx(23 / 70, abs=1e-15)
    # The curve passes through the point (2/5, 3/5), where both error rates are equal.
    assert rf.summary(FAWCETT_3, "label", "score").item(0, "eer") == pytest.approx(0.4)


def test_with_equal_costs_the_envelope_is_the_lowest_error_rate_at_a_prevalence():
    for prevalence in (0.1, 0.5, 0.8):
        cost = CURVES.roc.cost_curve(grid=[prevalence])
        best = CURVES.roc.operating_point("error_rate", prevalence=prevalence)
        assert cost.item(0, "expected_cost") == pytest.approx(best.item(0, "value"), abs=1e-15)
        expected = cost.item(0, "expected_cost") / min(prevalence, 1 - prevalence)
        assert cost.item(0, "min_dcf") == pytest.approx(expected, abs=1e-15)


def test_a_table_has_the_documented_columns_and_nulls_where_a_class_is_absent():
    costs = rf.cost_curve(rf.curve(PREDICTIONS[:1], "label", "score"), grid=2)
    expected = pl.DataFrame(
        {
            "probability_cost": [0.0, 1.0],
            **{
                name: pl.Series([None, None], dtype=pl.Float64)
                for name in ("expected_cost", "threshold", "fpr", "fnr", "trivial_cost", "min_dcf")
            },
            "note": ["no_negatives"] * 2,
        }
    )
    assert_frame_equal(costs, expected)


def test_the_envelope_across_models_names_the_best_and_the_cost_of_the_second():
    frame = pl.concat(
        [
            FAWCETT_3.with_columns(model=pl.lit("a")),
            FAWCETT_3.with_columns(pl.col("score").mul(23).mod(1), model=pl.lit("b")),
            FAWCETT_3.with_columns(-pl.col("score"), model=pl.lit("c")),
            FAWCETT_3.filter(label=1).with_columns(model=pl.lit("d")),
        ]
    )
    curves = pl.concat(
        rf.curve(frame, "label", "score", by="model").with_columns(day=pl.lit(day))
        for day in (2, 1)
    ).select("day", pl.exclude("day"))
    separate = rf.cost_curve(curves.filter(day=1), grid=41)
    common = rf.cost_curve(curves, grid=41, across="model")
    assert common.columns[0] == "day"
    assert common.columns[-4:] == ["second_cost", "cost_difference", "note", "model"]
    assert common.get_column("day").to_list() == [1] * 41 + [2] * 41
    ordered = separate.drop_nulls("expected_cost").sort(
        "probability_cost", pl.col("expected_cost").round(12), "model"
    )
    best = ordered.group_by("probability_cost", maintain_order=True).first()
    second = ordered.group_by("probability_cost", maintain_order=True).agg(
        pl.col("expected_cost").get(1).alias("second_cost")
    )
    names = [name for name in separate.columns if name not in {"day", "model"}]
    # At the probability costs 0 and 1, no model is better than a trivial classifier.
    is_inner = pl.col("probability_cost").is_between(0, 1, closed="none")
    found = common.filter(day=2).select(*names, "model")
    expected = best.select(*names, "model").filter(is_inner)
    assert_frame_equal(found.filter(is_inner), expected)
    ends = found.filter(~is_inner).select("probability_cost", "fpr", "fnr", "model")
    assert ends.rows() == [(0, 0, 1, None), (1, 1, 0, None)]
    assert_frame_equal(
        common.filter(day=1).select("second_cost"), second.select("second_cost"), abs_tol=1e-12
    )
    difference = common.select(cost_difference=pl.col("second_cost") - pl.col("expected_cost"))
    assert_frame_equal(common.select("cost_difference"), difference, abs_tol=1e-12)
    assert set(common.get_column("model").drop_nulls()) == {"a", "b"}


def test_costs_across_models_are_not_rounded():
    curves = rf.curve(rf.datasets.vote(), "label", "score", by="model")
    separate = rf.cost_curve(curves, grid=201).group_by("probability_cost", maintain_order=True)
    costs = separate.agg(pl.col("expected_cost").sort()).get_column("expected_cost").to_list()
    common = rf.cost_curve(curves, grid=201, across="model")
    for row, (lowest, second, *_) in zip(common.iter_rows(named=True), costs, strict=True):
        assert row["cost_difference"] == row["second_cost"] - row["expected_cost"]
        if second - lowest > 1e-12:
            assert (row["expected_cost"], row["second_cost"]) == (lowest, second)
        else:
            assert row["cost_difference"] == 0


def test_a_table_without_groups_has_no_rows():
    empty = PREDICTIONS.clear().with_columns(model=pl.lit("a"), day=1)
    for by, across in (
        ("model", None),
        ("model", "model"),
        (["model", "day"], "model"),
        (["model", "day"], "day"),
    ):
        curves = rf.curve(empty, "label", "score", by=by)
        full = rf.curve(PREDICTIONS.with_columns(model=pl.lit("a"), day=1), "label", "score", by=by)
        assert_frame_equal(
            rf.cost_curve(curves, across=across), rf.cost_curve(full, across=across).clear()
        )


def test_weights_do_not_change_ties_of_costs():
    frame = FAWCETT_3.with_columns(w=pl.lit(0.1))
    weighted = rf.curve(frame, "label", "score", weight="w").roc.cost_curve(grid=21)
    plain = rf.curve(FAWCETT_3, "label", "score").roc.cost_curve(grid=21)
    assert_frame_equal(weighted, plain, abs_tol=1e-12)


def test_rows_with_equal_counts_are_named_by_their_highest_threshold():
    given = [0.95, 0.9, 0.85, 0.8, 0.7, 0.4, 0.1, 0.05]
    curves = rf.curve(PREDICTIONS, "label", "score", thresholds=given)
    assert_frame_equal(rf.cost_curve(curves, grid=3), rf.cost_curve(CURVES, grid=3))


def test_the_chart_draws_the_line_of_each_threshold_on_request():
    costs = rf.curve(FAWCETT_3, "label", "score").roc.cost_curve(grid="vertices")
    drawn = [one for one in records(costs.roc.chart(lines=True)) if one.get("_layer") == "lines"]
    assert [tuple(one["y"]) for one in drawn] == costs.select("fpr", "fnr").unique(
        maintain_order=True
    ).rows()
    assert all(one["x"] == [0, 1] for one in drawn)
    assert not any("_layer" in one for one in records(costs.roc.chart()))


def test_the_chart_draws_one_line_per_curve_and_one_color_per_best_curve():
    frame = pl.concat(
        [
            FAWCETT_3.with_columns(model=pl.lit("a")),
            FAWCETT_3.with_columns(pl.col("score").mul(23).mod(1), model=pl.lit("b")),
        ]
    )
    curves = rf.curve(frame, "label", "score", by="model")
    chart = rf.cost_curve(curves).roc.chart()
    lines = records(chart)
    assert [record["model"] for record in lines] == ["a", "b"]
    common = rf.cost_curve(curves, across="model")
    sections = records(common.roc.chart())
    drawn = {point for one in sections for point in zip(one["x"], one["y"], strict=True)}
    table = dict(common.select("probability_cost", "expected_cost").iter_rows())
    assert all(table[x] == pytest.approx(y, abs=1e-6) for x, y in drawn)
    assert {one["model"] for one in sections} == set(common.get_column("model").drop_nulls())


def test_the_envelope_across_models_names_a_model_only_where_it_is_better_than_trivial_ones():
    rng = np.random.default_rng(7)
    n = 30
    label = rng.random(n) < 0.4
    scores = {"a": rng.integers(0, 5, n) + label, "b": rng.normal(size=n) + label, "0": 1.0}
    table = pl.DataFrame({"label": label, **scores})
    curves = rf.curve(table, "label", [*scores])
    for row in rf.cost_curve(curves, across="model", grid=41).rows(named=True):
        p = row["probability_cost"]
        costs = {
            name: min(
                p * (1 - one["tp"] / label.sum()) + (1 - p) * one["fp"] / (~label).sum()
                for one in curves.filter(model=name).rows(named=True)
            )
            for name in scores
        }
        lowest = min(costs.values())
        assert row["expected_cost"] == pytest.approx(lowest, abs=1e-12)
        if lowest > min(p, 1 - p) - 1e-12:
            rates = (0, 1) if p <= 0.5 else (1, 0)
            assert (row["model"], row["fpr"], row["fnr"]) == (None, *rates)
        else:
            best = min(name for name in costs if costs[name] < lowest + 1e-12)
            assert row["model"] == best != "0"
