"""Resampled bands: compared with their definition, and their coverage."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

import rocframe as rf
from rocframe.bands.band import DistanceScale, RotatedCurves
from tests.bands import band_oracle
from tests.bands.binormal_samples import held, samples
from tests.strategies import ranked, tables

SMALL = pl.DataFrame(
    {"label": [True, True, False, True, False, False], "score": [6, 5, 4, 3, 2, 1]}
)


@cache
def every_resample() -> dict[tuple[band_oracle.Point, ...], Fraction]:
    """Return the curve of each stratified resample of the small table, and its probability."""
    pos, neg = (SMALL.filter(label=side)["score"].to_list() for side in (True, False))
    found: dict[tuple[band_oracle.Point, ...], Fraction] = {}
    for drawn_pos in combinations_with_replacement(pos, 3):
        for drawn_neg in combinations_with_replacement(neg, 3):
            labels = [True] * 3 + [False] * 3
            curve = tuple(band_oracle.points(labels, [*drawn_pos, *drawn_neg]))
            ways = math.prod(
                Fraction(6, math.prod(math.factorial(drawn.count(one)) for one in set(drawn)))
                for drawn in (drawn_pos, drawn_neg)
            )
            found[curve] = found.get(curve, Fraction(0)) + ways / 27**2
    assert sum(found.values()) == 1
    return found


def test_the_bootstrap_limits_are_quantiles_of_all_resamples():
    grid = [0, 0.2, 1 / 3, 0.5, 0.9]
    result = rf.band(
        SMALL, "label", "score", method="bootstrap", level=0.7, grid=grid, n_boot=8_000, seed=1
    )
    for row in result.iter_rows(named=True):
        x = Fraction(row["fpr"]).limit_denominator(100)
        chances: dict[Fraction, Fraction] = {}
        for curve, chance in every_resample().items():
            height = band_oracle.heights(curve, x)[1]
            chances[height] = chances.get(height, Fraction(0)) + chance
        for name, share in (("lower", 0.15), ("upper", 0.85)):
            below = sum(p for height, p in chances.items() if height < row[name] - 1e-9)
            upto = sum(p for height, p in chances.items() if height <= row[name] + 1e-9)
            error = 4 * math.sqrt(share * (1 - share) / 8_000)
            assert below - error <= share <= upto + error


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_a_fixed_width_band_contains_that_share_of_all_resamples(level):
    result = rf.band(
        SMALL, "label", "score", method="fixed_width", level=level, grid=[1], n_boot=8_000, seed=1
    )
    # At FPR 1 the lower limit is 1 less what the curve moves down, until it leaves the top.
    base = band_oracle.points(SMALL["label"].to_list(), SMALL["score"].to_list())
    for extra, held_share in ((1e-6, "enough"), (-1e-6, "too few")):
        move = 1 - result["lower"].item() + extra
        chance = float(
            sum(
                p
                for curve, p in every_resample().items()
                if band_oracle.inside(base, curve, move, move)
            )
        )
        error = 4 * math.sqrt(level * (1 - level) / 8_000)
        if held_share == "enough":
            assert chance >= level - error
        else:
            assert chance <= level + error


@given(table=tables(min_size=6, max_size=14), other=tables(min_size=6, max_size=14))
def test_the_distance_of_curves_is_the_shift_that_moves_one_past_the_other(table, other):
    rates = []
    for one in (table, other):
        labels = one["label"].to_list()
        if len(set(labels)) < 2:
            return
        rates.append(band_oracle.points(labels, ranked(one["score"]).to_list()))
    n_pos, n_neg = 4, 9
    rotated = [
        RotatedCurves.from_rates(
            *np.array([[float(x), float(y)] for x, y in curve]).T, n_pos=n_pos, n_neg=n_neg
        )
        for curve in rates
    ]
    several = RotatedCurves(
        x_max=3.0,
        y_max=2.0,
        position=rotated[1].position[None, :],
        height=rotated[1].height[None, :],
    )
    ones = DistanceScale.at_knots(np.array([0.0, 5.0]), np.ones(2), rotated[0])
    (apart,) = rotated[0].distances(several, ones) / 2
    move = [(apart + extra) / math.sqrt(n) for extra in (1e-9, -1e-9) for n in (n_neg, n_pos)]
    assert band_oracle.inside(*rates, *move[:2])
    assert apart < 1e-8 or not band_oracle.inside(*rates, *move[2:])


@pytest.mark.parametrize(("n_points", "n_knots"), [(1500, 30), (150, 300)])
def test_the_distance_of_long_curves_is_that_of_all_their_points(n_points, n_knots):
    rng = np.random.default_rng(6)
    rates = np.sort(rng.integers(0, 50, (2, 8, n_points)) / 50, axis=-1)
    curves = [RotatedCurves.from_rates(x, y, n_pos=9, n_neg=16) for x, y in rates.swapaxes(0, 1)]
    first, *others = curves
    several = RotatedCurves(
        x_max=4.0,
        y_max=3.0,
        position=np.array([other.position for other in others]),
        height=np.array([other.height for other in others]),
    )
    knots = np.linspace(0, 7, n_knots)
    scale = DistanceScale.at_knots(knots, rng.uniform(0.5, 1, n_knots), first)
    expected = []
    for other in others:
        at = np.concatenate([first.position, other.position, knots])
        expected.append(np.max(np.abs(first.height_at(at) - other.height_at(at)) / scale.at(at)))
    np.testing.assert_allclose(first.distances(several, scale), expected, rtol=1e-12)


@given(table=tables(min_size=6, max_size=14), moved=st.floats(0.01, 0.9))
def test_limits_with_one_distance_everywhere_are_those_of_the_shifted_curve(table, moved):
    labels = table["label"].to_list()
    if len(set(labels)) < 2:
        return
    curve = band_oracle.points(labels, ranked(table["score"]).to_list())
    fpr = np.arange(14) / 13 * 0.999 + 0.0005  # at no jump, moved or not
    rotated = RotatedCurves.from_rates(
        *np.array([[float(x), float(y)] for x, y in curve]).T, n_pos=4, n_neg=9
    )
    reach = np.full(len(rotated.position), 2 * moved)
    found = rotated.limits(rotated.position, reach, fpr)
    up, right = Fraction(moved / 2), Fraction(moved / 3)
    expected = [band_oracle.moved(curve, Fraction(x), right, up) for x in fpr]
    for place, limits in enumerate(zip(*found, strict=True)):
        # Rounding moves a jump by 1e-15, and the limits at it by its height.
        near = [
            band_oracle.moved(curve, Fraction(fpr[place] + e), right, up) for e in (-1e-9, 1e-9)
        ]
        for i in (0, 1):
            ends = [float(row[i]) for row in (*near, expected[place])]
            assert min(ends) - 1e-7 <= limits[i] <= max(ends) + 1e-7


def test_limits_at_a_vertical_edge_do_not_depend_on_rounding_errors():
    fpr, tpr = np.array([[0, 0, 0.5, 0.5, 1], [0, 0.5, 0.5, 1, 1]])
    curve = RotatedCurves.from_rates(fpr, tpr, n_pos=4, n_neg=4)
    # The curve is moved by 0.25 down and right. It is then vertical at the FPR 0.25 and 0.75.
    distance = np.full(len(curve.position), 1.0)
    for error in (-1e-12, 0, 1e-12):
        lower, _ = curve.limits(curve.position, distance, np.array([0.25, 0.75]) + error)
        np.testing.assert_allclose(lower, [0, 0.25], atol=1e-8)


def test_an_envelope_is_wider_where_resamples_vary_more():
    frame, _ = samples(300, 1, a=2.0, b=1.0)
    fixed, shaped = (
        rf.band(frame, "label", "score", method=method, n_boot=300, seed=2)
        for method in ("fixed_width", "envelope")
    )
    width = [result["upper"] - result["lower"] for result in (fixed, shaped)]
    assert width[1].sum() < width[0].sum()
    assert width[1][5] > width[1][80]


def test_long_curves_are_computed_in_blocks_with_the_same_result(monkeypatch):
    frame, _ = samples(30, 2, a=1.0, b=1.0)
    options = {"by": "sample", "method": "bootstrap", "grid": "curve", "n_boot": 50, "seed": 3}
    whole = rf.band(frame, "label", "score", **options)
    monkeypatch.setattr("rocframe.bands.band.MAX_VALUES", 200)
    assert rf.band(frame, "label", "score", **options).equals(whole)


@pytest.mark.parametrize(
    "method", ["fixed_width", pytest.param("envelope", marks=pytest.mark.slow)]
)
def test_the_whole_true_curve_is_inside_with_the_confidence_level(method):
    frame, true = samples(40, 300, a=1.2, b=0.8)
    result = rf.band(
        frame, "label", "score", by="sample", method=method, level=0.8, n_boot=200, seed=4
    )
    # At most four standard errors below the level, and not so wide that they always cover.
    assert 0.8 - 4 * math.sqrt(0.8 * 0.2 / 300) < held(result, true).mean() < 0.95


@pytest.mark.slow
def test_a_pointwise_band_is_valid_at_one_point_but_not_for_the_whole_curve():
    frame, true = samples(100, 300, a=0.8, b=1.0)
    options = {"by": "sample", "method": "bootstrap", "level": 0.8, "n_boot": 200, "seed": 5}
    result = rf.band(frame, "label", "score", **options)
    middle = result.filter(pl.col("fpr") == 0.3)
    assert held(middle, true).mean() == pytest.approx(0.8, abs=0.1)
    assert held(result, true).mean() < 0.3


def test_pointwise_limits_at_a_threshold_contain_both_rates():
    frame, _ = samples(100, 300, a=0.8, b=1.0)
    result = rf.band(
        frame, "label", "score", by="sample", method="threshold", level=0.8, grid=[0.3]
    )
    thresholds = rf.curve(frame, "label", "score", by="sample")
    at = result.join(thresholds, on=["sample", "fpr", "tpr"], how="left")
    t = at["threshold"].to_numpy()
    for rate, (lower, upper) in (
        (ndtr(0.8 - t), ("lower", "upper")),
        (ndtr(-t), ("fpr_lower", "fpr_upper")),
    ):
        inside = (at[lower].to_numpy() <= rate) & (rate <= at[upper].to_numpy())
        assert inside.mean() == pytest.approx(0.8, abs=0.1)
