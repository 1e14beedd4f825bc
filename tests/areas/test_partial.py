"""Partial areas: exact clipping of the polyline, McClish's scale, tie bounds and variance."""

from __future__ import annotations

import math
from fractions import Fraction

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests import oracles
from tests.strategies import ANY_WEIGHTS, COUNTS, TIED, ranked, tables

AREAS = ["partial_auc", "partial_auc_pessimistic", "partial_auc_optimistic"]

# Every area is a sum of at most 25 products of rates, of which each is rounded twice.
CLOSE = {"rel_tol": 0.0, "abs_tol": 1e-12}

# The curve (0, 0) (0, 1/2) (1/2, 1) (1, 1): a tie across the classes at 0.4.
PREDICTIONS = {"label": [True, False, True, False], "score": [0.9, 0.4, 0.4, 0.1]}

any_rate = st.sampled_from(["fpr", "tpr"])
ends = st.sampled_from([0.0, 0.1, 1 / 4, 1 / 3, 1 / 2, 2 / 3, 0.9, 1.0]) | st.floats(0, 1)
ranges = st.tuples(ends, ends).map(sorted).filter(lambda ends: ends[1] - ends[0] > 1e-9).map(tuple)


def grouped(table: pl.DataFrame, **more: object) -> pl.DataFrame:
    return rf.auc(table, "label", "score", by="group", **more)


def areas_of(**more: object) -> list[float]:
    result = rf.auc(pl.DataFrame(PREDICTIONS), "label", "score", ci=None, **more)
    return [result[name][0] for name in AREAS]


def test_a_partial_area_table_has_partial_area_columns(frame):
    actual = rf.auc(frame(PREDICTIONS), "label", "score", fpr=(0, 0.5), ci="delong")
    # φ₁ = 1/2, 1/4 over the positives and φ₀ = 3/4, 1 over the negatives: (1/32)/2 + (1/32)/2.
    se = math.sqrt(1 / 32)
    columns = {
        "partial_auc": [0.375],
        "lower": [0.375 - 1.959963984540054 * se],
        "upper": [0.5],
        "se": [se],
        "partial_auc_pessimistic": [0.25],
        "partial_auc_optimistic": [0.5],
        "n_pos": [2],
        "n_neg": [2],
        "n_missing": [0],
        "ci_level": [0.95],
        "ci_method": ["delong"],
        "note": pl.Series([None], dtype=pl.String),
    }
    # A square root and a difference.
    assert_frame_equal(actual, frame(columns), rel_tol=1e-14, abs_tol=0)


def test_partial_areas_of_a_small_curve_equal_hand_computed_values():
    assert areas_of(fpr=(0, 1)) == [0.875, 0.75, 1.0]
    assert areas_of(fpr=(0.25, 0.5)) == [7 / 32, 1 / 8, 1 / 4]
    assert areas_of(fpr=(0.5, 1)) == [0.5, 0.5, 0.5]
    assert areas_of(tpr=(0, 0.5)) == [0.5, 0.5, 0.5]
    assert areas_of(tpr=(0.5, 1)) == [0.375, 0.25, 0.5]
    assert areas_of(tpr=(0, 1)) == [0.875, 0.75, 1.0]


def test_mcclish_standardization_maps_chance_to_one_half():
    # Chance is 3/32 of at most 1/4 over fpr 1/4 to 1/2, and 1/8 of at most 1/2 over tpr 1/2 to 1.
    for options, low, high in (
        ({"fpr": (0.25, 0.5)}, 3 / 32, 1 / 4),
        ({"tpr": (0.5, 1)}, 1 / 8, 1 / 2),
    ):
        expected = [(1 + (raw - low) / (high - low)) / 2 for raw in areas_of(**options)]
        shown = areas_of(**options, standardize="mcclish")
        assert shown == pytest.approx(expected, abs=1e-15)


def test_areas_below_chance_have_standardized_values():
    # The curve stays on the x axis up to fpr 1/2: (1 + (0 - 1/8) / (1/2 - 1/8)) / 2.
    table = pl.DataFrame({"label": [0, 0, 1, 1], "score": [4, 3, 2, 1]})
    result = rf.auc(table, "label", "score", fpr=(0, 0.5), standardize="mcclish")
    assert result["partial_auc"][0] == pytest.approx(1 / 3, abs=1e-15)


def test_undefined_groups_are_null():
    table = pl.DataFrame({"group": ["a", "b", "b"], "label": [1, 1, 0], "score": [0.1, 0.3, 0.2]})
    actual = grouped(table, tpr=(0.8, 1))
    assert actual.select("group", *AREAS, "note").rows() == [
        ("a", None, None, None, "no_negatives"),
        ("b", 0.19999999999999996, 0.19999999999999996, 0.19999999999999996, "one_positive"),
    ]


def check_areas(table: pl.DataFrame, rate: str, a: float, b: float, **more: object) -> None:
    result = grouped(table, **{rate: (a, b)}, ci=None, missing="worst", **more)
    low, high = sorted((a, b))
    for row, every in zip(
        result.iter_rows(named=True), oracles.by_group(table).values(), strict=True
    ):
        exact = oracles.partial_areas(every, rate, low, high)
        expected = [None] * 3 if exact is None else [float(area) for area in exact]
        assert [row[name] for name in AREAS] == pytest.approx(expected, abs=1e-12)


@given(rate=any_rate, table=tables(missing=True, mass={"count": COUNTS}), ends=ranges)
def test_a_partial_area_equals_the_exact_integral_of_the_polyline(rate, table, ends):
    check_areas(table, rate, *ends, count="count")


@given(rate=any_rate, table=tables(missing=True, mass={"weight": ANY_WEIGHTS}), ends=ranges)
def test_a_weighted_partial_area_equals_the_exact_integral_of_the_polyline(rate, table, ends):
    check_areas(table, rate, *ends, weight="weight")


def jumps_near_an_end(every: list[oracles.Case], rate: str, ends: tuple[float, float]) -> bool:
    """Whether a rate of the curve is close to an end of the range, but not equal to it.

    Where the curve jumps at an end, it matters on which side of the end a rate is, and rounding can
    put it on either side.
    """
    line = oracles.axes(oracles.curve(every))
    cut = [Fraction(end) for end in ends]
    if rate == "tpr":
        line, cut = oracles.mirrored(line), [1 - end for end in cut]
    return any(0 < abs(x - end) < 1e-9 for x, _ in line for end in cut)


def check_errors(table: pl.DataFrame, rate: str, ends: tuple[float, float], **more: object) -> None:
    result = grouped(table, **{rate: ends}, ci="delong", missing="worst", **more)
    low, high = sorted(ends)
    for se, every in zip(result["se"], oracles.by_group(table).values(), strict=True):
        if not all(oracles.sides(every)):
            assert se is None
            continue
        if jumps_near_an_end(every, rate, (low, high)):
            continue
        variance = oracles.partial_variance(every, rate, low, high)
        # Each φ is rounded to 1e-16 or so, and so is its distance from the mean.
        expected = pytest.approx(math.sqrt(variance), rel=1e-9, abs=1e-14) if variance else None
        assert se == expected


@given(rate=any_rate, table=tables(missing=True, mass={"count": COUNTS}, min_size=4), ends=ranges)
def test_the_variance_is_that_of_the_clipped_placement_values(rate, table, ends):
    check_errors(table, rate, ends, count="count")


@given(
    rate=any_rate,
    table=tables(missing=True, shape=TIED, mass={"weight": ANY_WEIGHTS}, min_size=4),
    ends=ranges,
)
def test_the_weighted_variance_is_that_of_the_clipped_placement_values(rate, table, ends):
    check_errors(table, rate, ends, weight="weight")


def test_a_range_that_ends_inside_a_tie_has_the_standard_error_of_the_bootstrap():
    label = [1] * 100 + [0] * 100
    table = pl.DataFrame({"label": label, "score": [1] * 80 + [0] * 20 + [1] * 40 + [0] * 60})
    for fpr in ((0, 0.21), (0, 0.1)):
        options = {"fpr": fpr, "standardize": None}
        result = rf.auc(table, "label", "score", ci="delong", **options)
        resampled = rf.auc(table, "label", "score", ci="bootstrap", seed=1, **options)
        # 2,000 resamples estimate a standard deviation to about 2 percent.
        assert result["se"][0] == pytest.approx(resampled["se"][0], rel=0.06)
        assert result["note"][0] is None
    # TPR is 2·x for x up to 0.4, so the area is p·0.21² / (2·q) with p = 0.8 and q = 0.4.
    relative = math.sqrt(0.2 / 0.8 / 99 + 0.6 / 0.4 / 99)
    first = rf.auc(table, "label", "score", fpr=(0, 0.21), ci="delong")
    assert first["se"][0] == pytest.approx(0.0441 * relative, rel=1e-12)


@given(rate=any_rate, table=tables(missing=True, mass={"count": COUNTS}))
def test_the_full_range_is_the_whole_area_and_so_is_mcclishs(rate, table):
    options = {"count": "count", "missing": "worst"}
    whole = grouped(table, **options).rename(lambda name: name.replace("auc", "partial_auc"))
    for standardize in (None, "mcclish"):
        part = grouped(table, **{rate: (0, 1)}, standardize=standardize, **options)
        remaining = ["group", "n_pos", "n_neg", "n_missing"]
        assert_frame_equal(part.select(remaining), whole.select(remaining))
        assert_frame_equal(part.select(AREAS), whole.select(AREAS), **CLOSE)
        # φ over the full range are DeLong's placements; a variance of 1e-16 has an se of 1e-8.
        assert_frame_equal(
            part.select(pl.col("se").fill_null(0)),
            whole.select(pl.col("se").fill_null(0)),
            rel_tol=1e-7,
            abs_tol=1e-7,
        )


@given(table=tables(min_size=2), ends=ranges)
def test_a_tpr_range_is_the_fpr_range_of_swapped_classes_and_negated_scores(table, ends):
    turned = table.with_columns(~pl.col("label"), -ranked(table["score"]))
    mirror = tuple(1 - end for end in reversed(ends))
    assume(mirror[0] != mirror[1])
    left = grouped(table, tpr=ends, ci=None).select(AREAS)
    assert_frame_equal(left, grouped(turned, fpr=mirror, ci=None).select(AREAS), **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("standardize", [None, "mcclish"])
@pytest.mark.parametrize("ci", ["logit_delong", "delong"])
@given(rate=any_rate, table=tables(mass={"count": COUNTS}, min_size=6), ends=ranges)
def test_the_limits_include_the_estimate_and_stay_in_its_range(rate, standardize, ci, table, ends):
    result = grouped(table, count="count", ci=ci, standardize=standardize, **{rate: ends})
    result = result.drop_nulls("lower")
    # The estimate at the end of its scale is worked out by another way than the limit is.
    assert (result["lower"] <= result["partial_auc"] + 1e-12).all()
    assert (result["partial_auc"] <= result["upper"] + 1e-12).all()
    highest = 1.0 if standardize else abs(ends[1] - ends[0])
    assert (result["upper"] <= highest + 1e-12).all()
    if standardize is None:
        assert (result["lower"] >= 0).all()


def test_mcclish_scales_the_standard_error_with_the_area():
    table = rf.datasets.vote().filter(pl.col("model") == "random_forest")
    for options, low, high in (({"fpr": (0.1, 0.3)}, 0.04, 0.2), ({"tpr": (0.9, 1)}, 0.005, 0.1)):
        raw = rf.auc(table, "label", "score", **options)
        scaled = rf.auc(table, "label", "score", standardize="mcclish", **options)
        for name in ("partial_auc", "lower", "upper"):
            expected = (1 + (raw[name][0] - low) / (high - low)) / 2
            assert scaled[name][0] == pytest.approx(expected, rel=1e-12)
        assert scaled["se"][0] == pytest.approx(raw["se"][0] / (2 * (high - low)), rel=1e-12)
