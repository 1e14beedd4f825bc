"""Measures of calibration: errors of bins and of smooth curves, and tests of calibration.

Each function returns one value for every group of the scan. A value is NaN if the group has no rows
or if the measure is undefined; degrees of freedom are 0 then. Sums over rows are sums of row
weights, and all scores must be probabilities (`check_probabilities`).

References
----------
P. C. Austin, E. W. Steyerberg (2019), "The Integrated Calibration Index (ICI) and related metrics
for quantifying the calibration of logistic regression models", Statistics in Medicine 38(21),
4051-4065. doi:10.1002/sim.8281

D. W. Hosmer, S. Lemeshow (1980), "Goodness of fit tests for the multiple logistic regression
model", Communications in Statistics - Theory and Methods 9(10), 1043-1069.
doi:10.1080/03610928008827941

M. P. Naeini, G. F. Cooper, M. Hauskrecht (2015), "Obtaining well calibrated probabilities using
Bayesian binning", Proceedings of the AAAI Conference on Artificial Intelligence 29(1).
doi:10.1609/aaai.v29i1.9602

D. J. Spiegelhalter (1986), "Probabilistic prediction in patient management and clinical trials",
Statistics in Medicine 5(5), 421-433. doi:10.1002/sim.4780050506
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr

from rocframe.areas.pairs import group_sums
from rocframe.kernel.bisection import grouped_bisect
from rocframe.kernel.groups import cumulative_sums, group_starts
from rocframe.probabilities.kernel_smoothing import smooth_error
from rocframe.probabilities.local_regression import loess
from rocframe.probabilities.score_points import WEIGHT_SHARE_ROUNDING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.kernel.scan import Block, Scan, Scannable
    from rocframe.probabilities.bins import Bins
    from rocframe.probabilities.score_points import Points


CONSTANT_STATISTIC = 1e-12  # a variance that is only a rounding error, divided by the squared mean


class CurveErrors(NamedTuple):
    """Summary of |score - c(score)| over the rows of each group, where c is a calibration curve.

    `ici` is the mean, `e50` the median, `e90` the 90th percentile, and `e_max` the maximum.
    """

    ici: NDArray[np.float64]
    e50: NDArray[np.float64]
    e90: NDArray[np.float64]
    e_max: NDArray[np.float64]


class HosmerLemeshow(NamedTuple):
    """Statistic, degrees of freedom and p-value of the test of each group."""

    statistic: NDArray[np.float64]
    df: NDArray[np.int64]
    p_value: NDArray[np.float64]


def ece(scan: Scannable, bins: Bins) -> NDArray[np.float64]:
    """Return the expected calibration error: the mean of |event rate - mean score| over the rows.

    `bins` are the bins of the scan. The event rate and the mean score are those of the bin of the
    row.
    """
    n_groups = len(scan.totals.pos)
    difference = bins.group_sums(np.abs(bins.pos - bins.score_sum), n_groups)
    with np.errstate(invalid="ignore"):
        return difference / bins.group_sums(bins.total, n_groups)


def mce(scan: Scannable, bins: Bins) -> NDArray[np.float64]:
    """Return the maximum calibration error: the largest |event rate - mean score| of a bin."""
    largest = np.full(len(scan.totals.pos), np.nan)
    np.fmax.at(largest, bins.group, np.abs(bins.event_rate - bins.score_mean))
    return largest


def smooth_ece(points: Points) -> NDArray[np.float64]:
    """Return the smooth calibration error; see `smooth_error`."""
    return points.of_all_groups(smooth_error(points))


def curve_errors(points: Points) -> CurveErrors:
    """Return the summary of the differences between the scores and their local regression.

    The percentile for a share p is the smallest difference e for which the rows with a difference
    of at most e have at least the share p of the row weight. If they have exactly this share, the
    percentile is the mean of e and the next larger difference.
    """
    owner = points.owner
    error = np.abs(points.score - loess(points).at(owner, points.score))
    total = points.group_sums(points.weight)
    order = np.lexsort((error, owner))
    error, weight = error[order], points.weight[order]
    share = cumulative_sums(weight.copy(), points.starts) / total[owner]
    lasts = points.starts[1:] - 1

    def percentile(p: float) -> NDArray[np.float64]:
        at = grouped_bisect(
            lambda i: share[i] < p - WEIGHT_SHARE_ROUNDING, points.starts[:-1], lasts
        )
        at = np.minimum(at, lasts)
        following = np.where(share[at] <= p + WEIGHT_SHARE_ROUNDING, np.minimum(at + 1, lasts), at)
        middle: NDArray[np.float64] = (error[at] + error[following]) / 2
        return middle

    mean = points.group_sums(error * weight) / total
    values = (mean, percentile(0.5), percentile(0.9), error[lasts])
    return CurveErrors(*map(points.of_all_groups, values))


def spiegelhalter(scan: Scan) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Spiegelhalter's z and its two-sided p-value.

    z is the sum of (label - score)·(1 - 2·score), divided by the square root of its variance if the
    scores are the probabilities of positives: the sum of (1 - 2·score)²·score·(1 - score). The
    terms of the first sum are multiplied by the weight of the row, and those of the second sum by
    its square. z has a normal distribution if the scores are calibrated. It is infinite if the
    variance is 0 and the first sum is not.
    """

    def add(block: Block) -> list[NDArray[np.float64]]:
        pos, neg = block.pos, block.neg
        score = scan.codec.decode(block.codes)
        slope, variance = 1 - 2 * score, score * (1 - score)
        terms = (pos * (1 - score) - neg * score) * slope
        variances = _squares(block) * slope**2 * variance
        return [np.add.reduceat(values, block.starts[:-1]) for values in (terms, variances)]

    total, variance = group_sums(scan, scan.map(add, squares=True), 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = total / np.sqrt(variance)
    return z, 2 * ndtr(-np.abs(z))


def hosmer_lemeshow(scan: Scan, bins: Bins, *, n_fitted: int = 0) -> HosmerLemeshow:
    """Return the test of Hosmer and Lemeshow; `bins` are quantile or uniform bins of the scan.

    The statistic is the sum of (O - E)² / (n·m·(1 - m)) over the bins. O is the number of
    positives, n the number of rows, m the mean score, and E = n·m. With weights, O and E are sums
    of row weights, and the sum of the squared weights replaces n. A bin in which all scores are 0
    or all scores are 1 is left out if O = E, and otherwise makes the statistic infinite.

    The degrees of freedom are the number of bins that are not left out, minus `n_fitted`.
    `n_fitted` is 0 for scores of rows that were not used to fit the model, and 2 for scores of a
    logistic regression that was fitted to the same rows. In the second case, the statistic has
    about a chi-squared distribution if the scores are calibrated. If `n_fitted` is 0, the p-value
    is that of a multiple of a chi-squared distribution that has the mean and the variance of the
    statistic for calibrated scores. The p-value is NaN without degrees of freedom.
    """
    mean = bins.score_mean
    squares, exact, excess = _bin_moments(scan, bins)
    variance = squares * mean * (1 - mean)
    difference = np.where((mean == 0) & (bins.pos == 0) | (mean == 1) & (bins.neg == 0), 0.0, 1.0)
    difference *= bins.pos - bins.total * mean
    # The quotient overflows if an outcome contradicts scores that are nearly 0.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = difference**2 / variance
        # Of calibrated scores, a squared difference has the mean `exact` and this variance.
        moments = exact / variance, (2 * exact**2 + excess) / variance**2
    is_used = ~np.isnan(terms)
    n_groups = len(scan.totals.pos)
    statistic = bins.group_sums(np.where(is_used, terms, 0), n_groups)
    n_bins = bins.group_sums(is_used, n_groups).astype(np.int64)
    statistic[bins.group_sums(np.ones(len(terms)), n_groups) == 0] = np.nan
    df = np.maximum(n_bins - n_fitted, 0)
    if n_fitted:
        p_value = chdtrc(np.maximum(df, 1), statistic)
    else:
        finite = is_used & (variance > 0)
        total, spread = (bins.group_sums(np.where(finite, each, 0), n_groups) for each in moments)
        with np.errstate(divide="ignore", invalid="ignore"):
            p_value = chdtrc(2 * total**2 / spread, 2 * total / spread * statistic)
        # The statistic of bins of one row with the score 1/2 is constant.
        p_value[spread <= CONSTANT_STATISTIC * total**2] = 1
        p_value[np.isinf(statistic)] = 0
    p_value = np.where(df > 0, p_value, np.nan)
    return HosmerLemeshow(statistic=statistic, df=df, p_value=p_value)


def _squares(block: Block) -> NDArray[Any]:
    """Return the sum of count times squared weight at each score of a block."""
    pos, neg = block.pos_squares, block.neg_squares
    squares: NDArray[Any] = block.pos + block.neg if pos is None or neg is None else pos + neg
    return squares


def _bin_moments(scan: Scan, bins: Bins) -> NDArray[np.float64]:
    """Return three sums for each bin.

    The first is the sum of count times squared weight. The others are, if the scores are
    calibrated, the variance and the fourth cumulant of the weighted number of positives. For the
    fourth cumulant, rows with the same score are assumed to have the same weight.
    """
    result = np.zeros((3, len(bins.group)))
    if not len(bins.group):
        return result
    starts = group_starts(bins.group, len(scan.totals.pos))

    def add(block: Block) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        group = np.repeat(block.groups, np.diff(block.starts))
        score = scan.codec.decode(block.codes)
        first, last = starts[group], starts[group + 1] - 1
        position = grouped_bisect(lambda i: bins.score_max[i] < score, first, last)
        # A score above the last bin has the weight 0.
        squares, weight = _squares(block), block.pos + block.neg
        binomial = score * (1 - score)
        with np.errstate(divide="ignore", invalid="ignore"):
            fourth = np.where(weight > 0, squares * (squares / weight) ** 2, 0)
        values = squares, squares * binomial, fourth * binomial * (1 - 6 * binomial)
        return np.minimum(position, len(bins.group) - 1), np.array(values, np.float64)

    for position, values in scan.map(add, squares=True):
        result += [np.bincount(position, each, len(bins.group)) for each in values]
    return result
