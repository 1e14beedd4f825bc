"""`area`: areas computed from curve tables."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests import oracles
from tests.strategies import ANY_WEIGHTS, COUNTS, TIED, both_classes, tables

PREDICTIONS = {"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.6]}
AREAS = ["average_precision", "pr_auc"]


def grouped(table: pl.DataFrame, **more: object) -> pl.DataFrame:
    return rf.curve(table, "label", "score", by="group", **more)


def test_the_area_of_a_curve_is_its_auc(frame):
    curves = rf.curve(frame(PREDICTIONS), "label", "score")
    assert_frame_equal(rf.area(curves), frame({"auc": [0.625]}), check_exact=True)
    assert_frame_equal(curves.roc.area(), frame({"auc": [0.625]}), check_exact=True)


def test_a_precision_recall_curve_has_two_areas_named_after_their_estimators(frame):
    curves = rf.curve(frame(PREDICTIONS), "label", "score", kind="precision_recall")
    # Precision 1 up to recall 1/2; then t true positives come with t false ones, from (1, 1) to
    # (2, 2): the integral of t/(2t) over the other half.
    expected = frame({"average_precision": [0.5 + 0.5 * 0.5], "pr_auc": [0.5 + 0.5 * 0.5]})
    assert_frame_equal(rf.area(curves), expected, rel_tol=0, abs_tol=1e-15)


def test_kind_overrides_the_axes_in_the_table():
    curves = rf.curve(pl.DataFrame(PREDICTIONS), "label", "score")
    assert rf.area(curves, kind="pr").columns == AREAS
    other = rf.curve(pl.DataFrame(PREDICTIONS), "label", "score", kind="pr")
    assert rf.area(other, kind="roc").rows() == [(0.625,)]


def test_groups_without_a_class_have_no_area():
    table = pl.DataFrame(
        {"group": [None, "a", "b", "b"], "label": [1, 0, 1, 0], "score": [0.1, 0.2, 0.4, 0.3]}
    )
    expected = pl.DataFrame({"group": [None, "a", "b"], "auc": [None, None, 1.0]})
    assert_frame_equal(rf.area(grouped(table)), expected)
    expected = pl.DataFrame(
        {
            "group": [None, "a", "b"],
            "average_precision": [1.0, None, 1.0],
            "pr_auc": [1.0, None, 1.0],
        }
    )
    assert_frame_equal(rf.area(grouped(table, kind="pr")), expected)


def test_columns_left_of_threshold_are_keys_unless_by_is_given():
    table = pl.DataFrame({**PREDICTIONS, "group": ["a"] * 4})
    curves = grouped(table).with_columns(extra=pl.lit(1)).select("extra", pl.exclude("extra"))
    assert rf.area(curves).columns == ["extra", "group", "auc"]
    assert rf.area(curves, by="group").columns == ["group", "auc"]


@pytest.mark.slow
@given(table=tables(missing=True, mass={"count": COUNTS}))
def test_area_of_the_curve_equals_auc_of_the_predictions_exactly(table):
    for missing in ("worst", "drop"):
        areas = rf.area(grouped(table, count="count", missing=missing))
        direct = rf.auc(
            table, "label", "score", by="group", count="count", missing=missing, ci=None
        )
        assert_frame_equal(areas, direct.select("group", "auc"), check_exact=True)


@given(table=tables(missing=True, mass={"weight": ANY_WEIGHTS}))
def test_area_of_a_weighted_curve_equals_its_auc_up_to_rounding(table):
    areas = rf.area(grouped(table, weight="weight", missing="worst"))
    direct = rf.auc(table, "label", "score", by="group", weight="weight", missing="worst", ci=None)
    expected = direct.select("group", "auc")
    assert_frame_equal(areas, expected, rel_tol=0, abs_tol=1e-12)


@pytest.mark.parametrize("power", [-1000, -400, 400])
def test_the_scale_of_the_weights_does_not_matter(power):
    table = pl.DataFrame({**PREDICTIONS, "w": [2.0**power] * 4})
    curves = rf.curve(table, "label", "score", weight="w")
    assert rf.area(curves).rows() == [(0.625,)]
    assert rf.area(curves, kind="pr").rows() == [pytest.approx((0.75, 0.75), abs=1e-15)]


@given(table=tables(missing=True, mass={"count": COUNTS}))
def test_average_precision_is_the_step_sum(table):
    areas = rf.area(grouped(table, count="count", kind="pr", missing="worst"))
    for found, every in zip(
        areas["average_precision"], oracles.by_group(table).values(), strict=True
    ):
        pos, _ = oracles.sides(every)
        if not pos:
            assert found is None
            continue
        exact = oracles.average_precision(oracles.curve(every))
        assert found == pytest.approx(float(exact), abs=1e-14)  # at most 24 terms of at most 1


@given(table=tables(missing=True, mass={"weight": ANY_WEIGHTS}, shape=TIED))
def test_pr_auc_is_the_integral_of_precision_with_counts_mixed_linearly(table):
    areas = rf.area(grouped(table, weight="weight", kind="pr", missing="worst"))
    for found, every in zip(areas["pr_auc"], oracles.by_group(table).values(), strict=True):
        pos, _ = oracles.sides(every)
        if not pos:
            assert found is None
            continue
        # 64 Gauss nodes on each of 31 pieces: the integrand is smooth on each.
        assert found == pytest.approx(oracles.pr_auc(oracles.curve(every)), abs=1e-9)


def test_a_step_of_a_million_false_positives_loses_no_precision():
    # One positive comes with them: the integral of t / (10^6·t + t) is 1/(10^6 + 1) all along.
    table = pl.DataFrame(
        {"label": [1, 0], "score": [0.5, 0.5], "n": [1, 10**6]}, schema_overrides={"n": pl.Int64}
    )
    areas = rf.area(rf.curve(table, "label", "score", count="n", kind="pr"))
    assert areas.row(0) == pytest.approx((1 / (10**6 + 1),) * 2, rel=1e-9)


@pytest.mark.parametrize("more", [1, 10**3, 10**6, 10**9])
def test_a_distant_step_of_the_hyperbola_loses_no_precision(more):
    # From (1, 10^9) to (2, 10^9 + more): the integral of t / (t + 10^9 + (t - 1)·more) from 1 to 2,
    # by Simpson's rule, the integrand being all but straight.
    rows = [(0, 2, 10**9), (1, 1, 1), (0, 0, more), (1, 0, 1)]
    table = pl.DataFrame(rows, schema=["label", "score", "n"], orient="row")
    found = rf.area(rf.curve(table, "label", "score", count="n", kind="pr"))["pr_auc"][0]

    def precision(t: Fraction) -> Fraction:
        return t / (t + 10**9 + (t - 1) * more)

    pieces = 200
    nodes = [1 + Fraction(i, 2 * pieces) for i in range(2 * pieces + 1)]
    weights = [1, *[4, 2] * (pieces - 1), 4, 1]
    second = sum(w * precision(t) for w, t in zip(weights, nodes, strict=True)) / (6 * pieces)
    # The first positive: the integral of t / (t + 10^9) from 0 to 1, all but 1/2 of 10^-9.
    first = Fraction(1, 2 * 10**9)
    assert found == pytest.approx(float(first + second) / 2, rel=1e-6)


@given(table=tables(min_size=1, mass={"weight": ANY_WEIGHTS}))
def test_both_areas_of_constant_scores_are_the_prevalence(table):
    constant = table.with_columns(score=pl.lit(0.5))
    curves = grouped(constant, weight="weight", kind="pr", metrics="prevalence")
    # Without positives both areas are null.
    prevalence = pl.when(pl.col("prevalence") > 0).then("prevalence")
    expected = curves.group_by("group", maintain_order=True).agg(
        average_precision=prevalence.first(), pr_auc=prevalence.first()
    )
    assert_frame_equal(rf.area(curves), expected, rel_tol=1e-12, abs_tol=0)


@given(table=tables(min_size=2, mass={"count": COUNTS}))
def test_the_area_under_a_gain_chart_follows_from_the_auc(table):
    # Vuk & Curk (2006): π/2 + (1 - π)·AUC. The polyline is joined by straight lines.
    curve = rf.curve(
        table, "label", "score", count="count", kind="gain", metrics=["prevalence", "fpr"]
    )
    assume(both_classes(table.filter(pl.col("count") > 0)))
    gain = (curve["alert_rate"].diff()[1:] * (curve["tpr"] + curve["tpr"].shift())[1:] / 2).sum()
    share, auc = curve["prevalence"][0], rf.area(curve)["auc"][0]
    assert gain == pytest.approx(share / 2 + (1 - share) * auc, abs=1e-13)


def lift_areas(rows: list[tuple[bool, float | None, Fraction]]) -> tuple[Fraction, Fraction]:
    """Return the mean number of positives above a row, with ties as 1/2 and as 0.

    Rows are label, score and weight. Unscored positives are below all scores and never above a row.
    Unscored negatives are above all scores.
    """
    above = tied = Fraction(0)
    for label, score, weight in rows:
        for positive, other, other_weight in rows:
            if not positive or other is None:
                continue
            if score is None:
                above += weight * other_weight * label
            else:
                above += weight * other_weight * (other > score)
                tied += weight * other_weight * (other == score)
    total = sum((weight for _, _, weight in rows), Fraction(0))
    return (above + tied / 2) / total, above / total


@given(
    table=tables(missing=True, mass={"n": COUNTS, "weight": ANY_WEIGHTS}),
    mass=st.sampled_from([("count", "n"), ("weight", "weight")]),
)
def test_lift_areas_are_mean_numbers_of_positives_above_a_row(table, mass):
    argument, mass = mass
    table = table.with_columns(
        pl.col("score").cast(pl.Float64).fill_nan(None), pl.col("n").cast(pl.Int64)
    )
    areas = rf.area(grouped(table, kind="lift_chart", missing="worst", **{argument: mass}))
    for group, _, found, found_step in areas.rows():
        rows = table.filter(pl.col("group").eq_missing(pl.lit(group, pl.String)))
        every = [
            (label, score, Fraction(number))
            for label, score, number in rows.select("label", "score", mass).iter_rows()
        ]
        if not sum(number for *_, number in every):
            assert (found, found_step) == (None, None)
            continue
        area, step = lift_areas(every)
        assert found == pytest.approx(float(area), rel=1e-12, abs=1e-12)
        assert found_step == pytest.approx(float(step), rel=1e-12, abs=1e-12)


def test_lift_areas_at_a_prevalence_are_those_of_weighted_rows():
    table = pl.DataFrame({"label": [1, 1, 0, 0, 0, 1], "score": [0.9, 0.4, 0.4, 0.2, 0.9, 0.1]})
    curves = rf.curve(table, "label", "score", kind="lift_chart", prevalence=0.2)
    auc, area, step = rf.area(curves).row(0)
    assert area == pytest.approx(3 * (0.2 / 2 + 0.8 * auc), abs=1e-15)
    # Each positive is 1/15 and each negative 4/15 of the rows.
    above = {0.9: 0, 0.4: 1, 0.2: 2, 0.1: 2}
    shares = [(1 if label else 4) / 15 for label in table["label"]]
    expected = sum(
        above[score] * share for score, share in zip(table["score"], shares, strict=True)
    )
    assert step == pytest.approx(expected, abs=1e-15)


def test_lift_areas_without_a_class():
    for label, areas in [(1, (None, 1.0, 0.5)), (0, (None, 0.0, 0.0))]:
        table = pl.DataFrame({"label": [label] * 2, "score": [0.1, 0.2]})
        curves = rf.curve(table, "label", "score", kind="lift_chart")
        assert rf.area(curves).row(0) == areas
        at_prevalence = rf.curve(table, "label", "score", kind="lift_chart", prevalence=0.5)
        assert rf.area(at_prevalence).row(0) == (None, None, None)


def test_lift_areas_of_large_counts_are_exact():
    rows = [(1, 3, 10**9 + 7), (0, 2, 10**9 + 9), (1, 1, 1), (0, 1, 10**9)]
    table = pl.DataFrame(rows, schema=["label", "score", "n"], orient="row")
    curves = rf.curve(table, "label", "score", count="n", kind="lift_chart")
    pos, n = rows[0][2], sum(count for *_, count in rows)
    step = Fraction(pos * (n - pos), n)
    area = step + Fraction(pos * pos + (1 + 10**9), 2 * n)
    assert rf.area(curves).row(0)[1:] == pytest.approx((float(area), float(step)), rel=1e-15)


def test_lift_areas_follow_from_the_envelope_of_the_auc():
    table = pl.DataFrame(
        {"label": [1, 1, 0, 1, 0, 0, 1, 1], "score": [0.9, 0.9, 0.9, 0.5, 0.5, 0.4, 0.3, 0.1]}
    )
    auc = rf.auc(table, "label", "score", ci=None).row(0, named=True)
    found = rf.area(rf.curve(table, "label", "score", kind="lift_chart")).row(0, named=True)
    assert found["lift_area"] == pytest.approx(5 * (5 / 16 + 3 / 8 * auc["auc"]), abs=1e-15)
    tied_pairs = 1
    step = (5 * 4 / 2 - tied_pairs + 15 * auc["auc_pessimistic"]) / 8
    assert found["lift_area_step"] == pytest.approx(step, abs=1e-15)
