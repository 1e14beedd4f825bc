"""Local regression and kernel estimates against definitions that loop over rows."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.optimize import brentq
from scipy.stats import norm

import rocframe as rf
from rocframe.probabilities import losses as score_points
from rocframe.probabilities import regression as kernel_smoothing
from rocframe.probabilities import regression as local_regression
from tests.probabilities.scans import scan_of

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "loess.json").read_text(encoding="utf-8")
)
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 16).map(lambda i: i / 16), st.booleans()),
    min_size=1,
    max_size=40,
)


def points_of(*columns) -> score_points.Points:
    return score_points.find_points(scan_of(*columns))


def simulated(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    score = rng.beta(1, 3, n)
    return np.zeros(n, int), score, rng.random(n) < score**1.3


def local_fit(rows: tuple[np.ndarray, ...], at: float, span: float, degree: int) -> float:
    """Fit by least squares the rows in the narrowest interval around `at`, one row at a time."""
    score, label, weight = rows
    if (weight % 1 == 0).all():  # the interval has a whole number of rows, rounded down as in R
        span = min(max(np.floor(span * weight.sum() + 1e-7), 2) / weight.sum(), 1)
    distance = np.abs(score - at)
    order = np.argsort(distance, kind="stable")
    share = np.cumsum(weight[order]) / weight.sum()
    h = distance[order][np.flatnonzero(share >= span - 1e-9)[0]]
    near = (distance < h) | (distance == 0)
    kernel = weight[near] * (1 - (distance[near] / (h or 1)) ** 3) ** 3
    terms = min(degree + 1, len(set(score[near])))
    design = (score[near, None] - at) ** np.arange(terms)
    root = np.sqrt(kernel)
    coefficients = np.linalg.lstsq(design * root[:, None], label[near] * root, rcond=None)[0]
    return float(np.clip(coefficients[0], 0, 1))


@given(rows=ROWS, weights=st.lists(st.integers(1, 3), min_size=40, max_size=40))
@pytest.mark.parametrize("degree", [1, 2])
def test_local_regression_is_the_weighted_least_squares_fit_at_each_score(degree, rows, weights):
    group, score, label = (np.array(column) for column in zip(*rows, strict=True))
    weight = np.array(weights[: len(rows)], float)
    curve = local_regression.loess(points_of(group, score, label, weight), span=0.7, degree=degree)
    for number, at, rate in zip(curve.group, curve.score, curve.event_rate, strict=True):
        inside = group == np.unique(group)[number]
        expected = local_fit((score[inside], label[inside], weight[inside]), at, 0.7, degree)
        assert rate == pytest.approx(expected, abs=1e-6)
    assert curve.score.tolist() == [
        s for g in np.unique(group) for s in np.unique(score[group == g])
    ]


def test_a_span_of_1_uses_all_rows():
    _, score, label = simulated(40, 8)
    frame = pl.DataFrame({"label": label, "score": score})
    curve = rf.calibration(frame, "label", "score", method="loess", span=1, grid=2001)
    rows, scores = (score, label, np.ones(40)), np.sort(score)
    fits = [local_fit(rows, at, 1, 1) for at in scores]
    expected = np.interp(curve["score_mean"], scores, fits)
    assert curve["event_rate"].to_numpy() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [36, 35])  # of 35 rows, the spans are no whole numbers of rows
@pytest.mark.parametrize(
    ("name", "options"), [("lowess", {}), ("loess", {"span": 0.75, "degree": 2})]
)
def test_local_regression_agrees_with_statsmodels_and_scikit_misc(name, options, n):
    frame = pl.DataFrame({"score": REFERENCE["score"], "label": REFERENCE["label"]}).head(n)
    curve = rf.calibration(frame, "label", "score", method="loess", **options)
    at_scores = np.clip(REFERENCE[name if n == 36 else f"{name}_of_{n}"], 0, 1)
    expected = np.interp(curve["score_mean"], frame["score"], at_scores)
    assert np.allclose(curve["event_rate"], expected, atol=1e-7, rtol=0)


def test_the_smooth_error_agrees_with_relplot():
    score, label = (np.array(REFERENCE[name]) for name in ("score", "label"))
    (error,) = kernel_smoothing.smooth_error(points_of(np.zeros(len(score), int), score, label))
    assert error == pytest.approx(REFERENCE["smooth_error"], abs=5e-4)  # relplot's grid is coarser


def test_reduced_points_and_fewer_fits_change_local_regression_by_less_than_0_0005(monkeypatch):
    group, score, label = simulated(6000, 3)
    reduced = local_regression.loess(points_of(group, score, label))
    assert len(reduced.score) <= local_regression.MAX_FITS + 2
    monkeypatch.setattr(score_points, "MAX_SCORES", 10_000)
    monkeypatch.setattr(local_regression, "MAX_FITS", 10_000)
    complete = local_regression.loess(points_of(group, score, label))
    assert len(complete.score) == 6000
    assert np.allclose(reduced.at(group, np.sort(score)), complete.event_rate, atol=5e-4, rtol=0)


def test_a_group_with_many_scores_has_a_limited_number_of_points():
    group, score, label = simulated(50_000, 4)
    points = points_of(group, score, label)
    assert len(points.score) <= score_points.MAX_SCORES + 4
    assert points.score[[0, -1]].tolist() == [score.min(), score.max()]
    assert points.weight.sum() == 50_000
    assert points.pos.sum() == label.sum()
    assert np.sum(points.weight * points.score) == pytest.approx(score.sum(), rel=1e-12)


def reflected_kernel(t: np.ndarray, score: np.ndarray, sigma: float) -> np.ndarray:
    most = 1 if sigma < 0.1 else 4
    images = [sign * score + 2 * k for k in range(-most, most + 1) for sign in (-1, 1)]
    return sum(norm.pdf(t[:, None] - image[None, :], scale=sigma) for image in images)


def direct_error(score: np.ndarray, label: np.ndarray, sigma: float) -> float:
    t = np.linspace(0, 1, 1001)
    residual = reflected_kernel(t, score, sigma) @ (label - score) / len(score)
    return float(np.trapezoid(np.abs(residual), t))


@pytest.mark.parametrize(("n", "seed"), [(3, 0), (40, 1), (200, 2)])
def test_the_smooth_error_equals_the_bandwidth_of_its_kernel(n, seed):
    group, score, label = simulated(n, seed)
    (error,) = kernel_smoothing.smooth_error(points_of(group, score, label))
    expected = brentq(lambda s: direct_error(score, label, s) - s, 1e-3, 1)
    assert error == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_the_smooth_error_of_many_rows_with_a_small_bandwidth_is_exact_to_4_digits():
    # The event rate is above the score in every second interval of 1/50, and else below it.
    score = (np.arange(3000) + 0.5) / 3000
    rate = score + np.where(np.floor(score * 50) % 2 == 1, 0.1, -0.1)
    label = np.diff(np.floor(np.cumsum(rate)), prepend=0) > 0
    group = np.zeros(len(score), int)
    (error,) = kernel_smoothing.smooth_error(points_of(group, score, label))
    assert abs(direct_error(score, label, error) - error) < 1e-4
    assert error < 0.02


def test_the_smooth_error_is_0_if_the_scores_are_the_event_rates_and_1_if_all_are_wrong():
    exact = points_of([0] * 8, [0.25] * 4 + [0.5] * 4, [1, 0, 0, 0, 1, 1, 0, 0])
    assert kernel_smoothing.smooth_error(exact).tolist() == [0]
    wrong = points_of([0] * 2, [0.0, 1.0], [True, False])
    assert kernel_smoothing.smooth_error(wrong) == pytest.approx([brentq(
        lambda s: direct_error(np.array([0.0, 1.0]), np.array([1, 0]), s) - s, 0.1, 1
    )], abs=1e-5)  # fmt: skip
    assert kernel_smoothing.smooth_error(points_of([0], [0.0], [True])).tolist() == [1]


def kernel_on_grid(points: score_points.Points, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernel estimate of each group at scores of an even grid, and its bandwidth."""
    owner, score = points.even_grid(size)
    bandwidth = kernel_smoothing.automatic_bandwidth(points)
    return kernel_smoothing.kernel(points, owner, score, bandwidth), bandwidth


def test_the_kernel_estimate_is_the_weighted_mean_label():
    group, score, label = simulated(300, 5)
    rate, bandwidth = kernel_on_grid(points_of(group, score, label), 21)
    at = np.linspace(score.min(), score.max(), 21)
    weight = reflected_kernel(at, score, float(bandwidth[0]))
    assert np.allclose(rate, weight @ label / weight.sum(axis=1), atol=1e-4, rtol=0)


def test_the_kernel_estimate_is_undefined_where_there_are_no_scores():
    points = points_of([0] * 4, [0.1, 0.1, 0.9, 0.9], [0, 1, 1, 1])
    score = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
    rate = kernel_smoothing.kernel(points, np.zeros(5, int), score, np.array([0.02]))
    assert rate == pytest.approx([0.5, np.nan, np.nan, np.nan, 1], nan_ok=True)


def test_no_rows_give_empty_curves():
    points = points_of([], [], [])
    assert len(local_regression.loess(points).score) == len(kernel_on_grid(points, 101)[0]) == 0
    assert len(kernel_smoothing.smooth_error(points)) == 0


def test_scores_at_the_limits_of_floats_have_a_local_regression():
    curve = local_regression.loess(points_of([0] * 3, [5e-324, 1e-300, 1.0], [0, 1, 1]))
    assert np.allclose(curve.event_rate, [0, 1, 1], atol=1e-12, rtol=0)


@pytest.mark.parametrize("factor", [1.0, 2.0**40, 2.0**-200, 2.0**300])
def test_numbers_of_rows_are_whole_beside_groups_with_other_weights(factor):
    rows = pl.DataFrame({"score": REFERENCE["score"], "label": REFERENCE["label"]}).head(35)
    plain = rf.calibration(rows, "label", "score", method="loess")
    both = pl.concat(
        rows.with_columns(g=pl.lit(g), w=pl.lit(weight)) for g, weight in ((0, 1.0), (1, factor))
    )
    weighted = rf.calibration(both, "label", "score", method="loess", by="g", weight="w")
    found = weighted.filter(g=0).select("score_mean", "event_rate")
    assert_frame_equal(found, plain.select("score_mean", "event_rate"), rel_tol=1e-12)
