"""Losses of probabilities and their parts against definitions that loop over rows."""

from fractions import Fraction
from math import log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from rocframe.probabilities.bins import Binning, probability_bins
from rocframe.probabilities.losses import (
    binned_decomposition,
    brier_skill,
    corp_decomposition,
    isotonic_losses,
    probability_losses,
    uncertainty,
)
from tests.probabilities.scans import by_group, scan_of_rows

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([0, 0.1, 0.25, 0.3, 0.5, 0.7, 1]), st.booleans()),
    min_size=1,
    max_size=40,
)


def cllr(pairs: list[tuple[float, bool]]) -> float:
    """Return Cllr of pairs of the probability at equal priors and the outcome."""
    sides = [[p for p, y in pairs if y], [1 - p for p, y in pairs if not y]]
    if not all(sides):
        return np.nan
    return sum(sum(-log2(p) for p in side if p) / len(side) for side in sides) / 2


def isotonic(pairs: list[tuple[float, bool]]) -> list[Fraction]:
    """Return the isotonic regression of the outcomes on the scores, by its max-min formula."""
    scores = sorted({p for p, _ in pairs})

    def rate(low: float, high: float) -> Fraction:
        inside = [y for p, y in pairs if low <= p <= high]
        return Fraction(sum(inside), len(inside))

    return [
        max(min(rate(low, high) for high in scores if high >= p) for low in scores if low <= p)
        for p, _ in pairs
    ]


def brier(probabilities: list[Fraction], outcomes: list[bool]) -> Fraction:
    total = sum((p - y) ** 2 for p, y in zip(probabilities, outcomes, strict=True))
    return Fraction(total, len(outcomes))


@given(ROWS)
def test_the_corp_parts_are_those_of_isotonic_regression_in_fractions(rows):
    scan = scan_of_rows(rows)
    losses, best = probability_losses(scan), isotonic_losses(scan)
    parts = corp_decomposition(scan, losses.brier, best.brier)
    for i, pairs in enumerate(by_group(rows)):
        outcomes = [y for _, y in pairs]
        score = brier([Fraction(p) for p, _ in pairs], outcomes)
        recalibrated = brier(isotonic(pairs), outcomes)
        constant = brier([Fraction(sum(outcomes), len(outcomes))] * len(outcomes), outcomes)
        expected = [score - recalibrated, constant - recalibrated, constant]
        np.testing.assert_allclose(
            [part[i] for part in parts], np.array(expected, float), atol=1e-15
        )
        assert losses.brier[i] == pytest.approx(float(score), abs=1e-15)
        total = parts.miscalibration[i] - parts.discrimination[i] + parts.uncertainty[i]
        assert total == pytest.approx(losses.brier[i], abs=1e-15)


@given(ROWS)
def test_cllr_is_the_mean_of_the_losses_of_both_classes_in_bits(rows):
    scan = scan_of_rows(rows)
    losses, best = probability_losses(scan), isotonic_losses(scan)
    for i, pairs in enumerate(by_group(rows)):
        clipped = [(min(max(p, 2.0**-52), 1 - 2.0**-52), y) for p, y in pairs]
        np.testing.assert_allclose(losses.cllr[i], cllr(clipped), rtol=1e-12)
        n_pos, n_neg = sum(y for _, y in pairs), sum(not y for _, y in pairs)
        rates = isotonic(pairs)
        if n_pos and n_neg:  # the likelihood ratio is the posterior odds over the prior odds
            odds = [
                (float(rate / n_pos / (rate / n_pos + (1 - rate) / n_neg)), y)
                for rate, (_, y) in zip(rates, pairs, strict=True)
            ]
            np.testing.assert_allclose(best.cllr[i], cllr(odds), rtol=1e-12, atol=1e-15)
            assert best.cllr[i] <= losses.cllr[i] + 1e-15
        else:
            assert np.isnan(best.cllr[i])


def test_cllr_of_constant_scores_and_of_one_likelihood_ratio():
    # A likelihood ratio of 1 has the Cllr 1. For ratios of 3 and 1/3, Cllr is log2(1 + 1/3).
    assert probability_losses(scan_of_rows([(0, 0.5, True), (0, 0.5, False)])).cllr == [1]
    ratios = probability_losses(scan_of_rows([(0, 0.75, True), (0, 0.25, False)]))
    assert ratios.cllr == pytest.approx([log2(4 / 3)], rel=1e-15)
    assert ratios.log_loss == pytest.approx([log(4 / 3)], rel=1e-15)


def test_minimum_cllr_does_not_depend_on_the_prevalence():
    rng = np.random.default_rng(4)
    pos, neg = rng.beta(3, 2, 40).round(2), rng.beta(2, 3, 60).round(2)
    once = [(0, p, True) for p in pos] + [(0, p, False) for p in neg]
    more = once + [(0, p, False) for p in neg] * 4
    for losses in (probability_losses, isotonic_losses):
        np.testing.assert_allclose(
            losses(scan_of_rows(once)).cllr, losses(scan_of_rows(more)).cllr, rtol=1e-12
        )


@pytest.mark.slow
@pytest.mark.parametrize("method", ["quantile", "uniform"])
@pytest.mark.parametrize("n_bins", [1, 3, 10])
@given(rows=ROWS)
def test_the_five_parts_are_those_of_the_definitions(rows, method, n_bins):
    scan = scan_of_rows(rows)
    bins = probability_bins(scan, Binning.parse(method, n_bins))
    parts = binned_decomposition(scan, bins)
    for i, pairs in enumerate(by_group(rows)):
        n, prevalence = len(pairs), Fraction(sum(y for _, y in pairs), len(pairs))
        own = bins.group == i
        ranges = list(zip(bins.score_min[own], bins.score_max[own], strict=True))
        members = [[(Fraction(p), y) for p, y in pairs if low <= p <= high] for low, high in ranges]
        assert sum(len(part) for part in members) == n
        sums = [Fraction(0)] * 4
        for part in members:
            score = sum(p for p, _ in part) / len(part)
            rate = Fraction(sum(y for _, y in part), len(part))
            sums[0] += len(part) * (score - rate) ** 2
            sums[1] += len(part) * (rate - prevalence) ** 2
            sums[2] += sum((p - score) ** 2 for p, _ in part)
            sums[3] += 2 * sum((p - score) * (y - rate) for p, y in part)
        expected = [sums[0], sums[1], n * prevalence * (1 - prevalence), sums[2], sums[3]]
        actual = [part[i] for part in parts]
        np.testing.assert_allclose(actual, [float(part / n) for part in expected], atol=1e-15)
        reliability, resolution, variance, within_variance, within_covariance = actual
        total = reliability - resolution + variance + within_variance - within_covariance
        assert total == pytest.approx(probability_losses(scan).brier[i], abs=1e-15)


def test_losses_after_isotonic_recalibration_are_those_of_scikit_learn():
    rng = np.random.default_rng(5)
    score, positive, weight = rng.random(300).round(2), rng.random(300) < 0.3, rng.random(300)
    best = isotonic_losses(
        scan_of_rows([(0, p, y) for p, y in zip(score, positive, strict=True)], weight)
    )
    fitted = IsotonicRegression().fit_transform(score, positive, sample_weight=weight)
    expected = np.average((fitted - positive) ** 2, weights=weight)
    np.testing.assert_allclose(best.brier, [expected], rtol=1e-12)
    surprise = -np.log(np.where(positive, fitted, 1 - fitted))
    np.testing.assert_allclose(best.log_loss, [np.average(surprise, weights=weight)], rtol=1e-12)


def test_groups_with_one_class_have_no_cllr_and_no_skill():
    scan = scan_of_rows([(0, 0.2, False), (0, 0.4, False), (1, 0.2, False), (1, 0.4, True)])
    losses, best = probability_losses(scan), isotonic_losses(scan)
    np.testing.assert_array_equal(np.isnan(losses.cllr), [True, False])
    np.testing.assert_array_equal(np.isnan(best.cllr), [True, False])
    np.testing.assert_array_equal(best.brier, [0, 0])
    np.testing.assert_array_equal(uncertainty(scan), [0, 0.25])
    np.testing.assert_allclose(losses.brier, [0.1, 0.2])
    np.testing.assert_allclose(brier_skill(scan, losses.brier), [np.nan, 0.2])
