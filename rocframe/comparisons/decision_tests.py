"""Tests of proportions of decisions at given thresholds, of paired and of different rows.

McNemar's tests and Tango's limits (Fagerland, Lydersen and Laake 2013, Tango 1998), Kosinski's
(2013) test of predictive values, Miettinen and Nurminen's (1985) limits of two samples.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.comparisons.hypothesis import difference_columns
from rocframe.inference import BISECTION_STEPS, normal_p_value, normal_quantile
from rocframe.kernel.arrays import run_parallel

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.comparisons.hypothesis import Hypothesis, PairedComparison, UnpairedEstimates
    from rocframe.inference import Alternative, Limits

    FloatArray = NDArray[np.float64]


class PairedShare(NamedTuple):
    """Numbers of rows of a paired proportion: in the numerator of both models, of one, and all."""

    both: FloatArray
    only_a: FloatArray
    only_b: FloatArray
    total: FloatArray

    @property
    def values(self) -> tuple[FloatArray, FloatArray]:
        """The proportions of both models; NaN if there are no rows."""
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = ((self.both + only) / self.total for only in (self.only_a, self.only_b))
        return a, b

    @property
    def variances(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The variances of both proportions and of their difference."""
        a, b = self.values
        discordant = self.only_a + self.only_b
        with np.errstate(divide="ignore", invalid="ignore"):
            of_difference = (discordant / self.total - (a - b) ** 2) / self.total
            return a * (1 - a) / self.total, b * (1 - b) / self.total, of_difference


def mcnemar_test(comparison: PairedComparison, *, mid: bool = True) -> list[dict[str, Any]]:
    """Return the columns of McNemar's test (mid-p or exact) and Tango's limits of each pair.

    For a difference other than 0 under the null hypothesis, the p-value is that of Tango's test.
    """
    hypothesis, batch = comparison.hypothesis, comparison.batch
    decisions, units = comparison.decisions(), tuple(batch.class_sums(batch.count))

    def compare_pair(pair: tuple[int, int]) -> dict[str, Any]:
        share = _paired_share(comparison, *(decisions[model] for model in pair))
        variances = share.variances
        columns = difference_columns(
            hypothesis, share.values, variances[2], variances=variances[:2]
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = tango_statistic(share, np.full(len(share.total), hypothesis.null))
        is_empty = share.total == 0
        if hypothesis.null:
            p_value = normal_p_value(statistic, hypothesis.alternative)
        else:
            p_value = mcnemar_p_value(share, hypothesis.alternative, mid=mid)
        p_value[is_empty] = statistic[is_empty] = np.nan
        lower, upper = score_limits(
            lambda delta: tango_statistic(share, delta), hypothesis.level, share.total > 0
        )
        columns |= {"statistic": statistic, "p_value": p_value, "lower": lower, "upper": upper}
        return comparison.record(pair, columns, rows=units, units=units)

    return run_parallel(compare_pair, comparison.pairs)


def _paired_share(
    comparison: PairedComparison, a: NDArray[np.bool_], b: NDArray[np.bool_]
) -> PairedShare:
    """Return the rows of the proportion that is compared, from the decisions of both models."""
    batch, share = comparison.batch, comparison.hypothesis.quantity.share
    assert share is not None
    counts = batch.decision_counts(a, b, batch.count)
    pairs = np.zeros((len(counts), 4))  # in the numerator: of both models, of a, of b, of none
    for number, (alert, other) in enumerate((("tp", "fn"), ("fp", "tn"))):
        if alert not in share.denominator:
            continue
        of_alerts, of_others = alert in share.numerator, other in share.numerator
        if of_alerts == of_others:  # all rows of the class, or none
            pairs[:, 0 if of_alerts else 3] += counts[:, number].sum(axis=1)
        else:
            pairs += counts[:, number, :: 1 if of_alerts else -1]
    both, only_a, only_b, _ = pairs.T
    return PairedShare(both, only_a, only_b, pairs.sum(axis=1))


def mcnemar_p_value(share: PairedShare, alternative: Alternative, *, mid: bool) -> FloatArray:
    """Return the p-value of the binomial test of the discordant rows, mid-p or exact."""
    from scipy.special import bdtr

    discordant = (share.only_a + share.only_b).astype(np.int64)

    def lower_tail(count: FloatArray) -> FloatArray:
        """Return P(X <= count), of the probability of `count` only a half if `mid`."""
        below = np.where(count > 0, bdtr(np.maximum(count - 1, 0), discordant, 0.5), 0.0)
        result = bdtr(count, discordant, 0.5)
        return np.asarray((below + result) / 2 if mid else result, np.float64)

    if alternative == "two-sided":
        return np.minimum(2 * lower_tail(np.minimum(share.only_a, share.only_b)), 1.0)
    return lower_tail(share.only_b if alternative == "greater" else share.only_a)


def tango_statistic(share: PairedShare, delta: FloatArray) -> FloatArray:
    """Return Tango's (1998) score statistic of the difference `delta` of paired proportions."""
    n, b, c = share.total, share.only_a, share.only_b
    linear = (2 * n - b + c) * delta - b - c
    root = np.sqrt(np.maximum(linear**2 + 8 * n * c * delta * (1 - delta), 0))
    only_b = np.maximum(root - linear, 0) / (4 * n)
    variance = n * (2 * only_b + delta * (1 - delta))
    offset = b - c - n * delta
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = offset / np.sqrt(np.maximum(variance, 0))
    return np.where(offset == 0, 0.0, statistic)


def score_limits(
    statistic: Callable[[FloatArray], FloatArray],
    level: float,
    defined: NDArray[np.bool_],
    ends: tuple[float, float] = (-1.0, 1.0),
) -> Limits:
    """Return the values at which a falling score statistic is z and -z, by bisection."""
    z = normal_quantile(level)
    limits = []
    for bound in (z, -z):
        low, high = (np.full(len(defined), end) for end in ends)
        for _ in range(BISECTION_STEPS):
            middle = (low + high) / 2
            with np.errstate(divide="ignore", invalid="ignore"):
                is_above = statistic(middle) > bound
            low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
        limits.append(np.where(defined, (low + high) / 2, np.nan))
    return limits[0], limits[1]


def kosinski_test(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of Kosinski's (2013) test of the predictive values of each pair.

    It is a weighted generalized score test. The limits are Wald's, with the delta method.
    """
    hypothesis, batch = comparison.hypothesis, comparison.batch
    share, decisions = hypothesis.quantity.share, comparison.decisions()
    assert share is not None
    of_alerts = "tp" in share.denominator
    success = 0 if share.numerator[0] in {"tp", "fn"} else 1  # the class of the numerator
    units = tuple(batch.class_sums(batch.count))

    def compare_pair(pair: tuple[int, int]) -> dict[str, Any]:
        a, b = (decisions[model] for model in pair)
        counts = batch.decision_counts(a, b, batch.count)
        both, only_a, only_b, _ = np.moveaxis(counts if of_alerts else counts[:, :, ::-1], 2, 0)
        of_a, of_b, of_both = (part[:, success] for part in (both + only_a, both + only_b, both))
        n_a, n_b, n_both = (part.sum(axis=1) for part in (both + only_a, both + only_b, both))
        with np.errstate(divide="ignore", invalid="ignore"):
            p_a, p_b, pooled = of_a / n_a, of_b / n_b, (of_a + of_b) / (n_a + n_b)
            common = of_both * (1 - pooled) ** 2 + (n_both - of_both) * pooled**2
            score = pooled * (1 - pooled) - 2 * common / (n_a + n_b)
            score_variance = np.maximum(score, 0) * (1 / n_a + 1 / n_b)
            variances = p_a * (1 - p_a) / n_a, p_b * (1 - p_b) / n_b
            products = of_both * (1 - p_a) * (1 - p_b) + (n_both - of_both) * p_a * p_b
            variance = np.maximum(sum(variances) - 2 * products / (n_a * n_b), 0)
        variance[variance < VARIANCE_ROUNDING] = 0
        columns = difference_columns(hypothesis, (p_a, p_b), variance, variances=variances)
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = (p_a - p_b) / np.sqrt(score_variance)
        statistic[(p_a == p_b) & (score_variance < VARIANCE_ROUNDING)] = 0.0
        columns |= {
            "statistic": statistic,
            "p_value": normal_p_value(statistic, hypothesis.alternative),
        }
        return comparison.record(pair, columns, rows=units, units=units, variance=variance)

    return run_parallel(compare_pair, comparison.pairs)


VARIANCE_ROUNDING = 1e-15  # rounding error of a difference of variances of proportions


def miettinen_nurminen_test(
    a: UnpairedEstimates, b: UnpairedEstimates, hypothesis: Hypothesis
) -> dict[str, FloatArray]:
    """Return the columns of Miettinen and Nurminen's (1985) score test of two proportions."""
    n_a, n_b = a.total, b.total
    assert n_a is not None
    assert n_b is not None
    columns = difference_columns(
        hypothesis, (a.value, b.value), a.variance + b.variance, variances=(a.variance, b.variance)
    )
    defined = ~np.isnan(a.value + b.value)

    def statistic(delta: FloatArray) -> FloatArray:
        return difference_score(a.value, b.value, n_a, n_b, delta)

    score = statistic(np.full(len(n_a), hypothesis.null))
    score[~defined] = np.nan
    lower, upper = score_limits(statistic, hypothesis.level, defined)
    columns |= {
        "statistic": score,
        "p_value": normal_p_value(score, hypothesis.alternative),
        "lower": lower,
        "upper": upper,
    }
    if "ratio_lower" in columns:
        low, high = score_limits(
            lambda x: ratio_score(a.value, b.value, n_a, n_b, np.exp(x)),
            hypothesis.level,
            defined & (a.value + b.value > 0),
            ends=LOG_RATIO_ENDS,
        )
        columns["ratio_lower"] = np.where(
            a.value == 0, np.where(np.isnan(low), low, 0), np.exp(low)
        )
        columns["ratio_upper"] = np.where(
            b.value == 0, np.where(np.isnan(high), high, np.inf), np.exp(high)
        )
    return columns


LOG_RATIO_ENDS = (-40.0, 40.0)  # logarithms of ratios beyond those of all counts below 10^17


def difference_score(
    p_a: FloatArray, p_b: FloatArray, n_a: FloatArray, n_b: FloatArray, delta: FloatArray
) -> FloatArray:
    """Return the score statistic of p_a - p_b = `delta`.

    The proportions under this hypothesis are the solution of a cubic equation (Farrington and
    Manning 1990).
    """
    theta = n_b / np.maximum(n_a, 1)
    cubic = 1 + theta
    square = -(1 + theta + p_a + theta * p_b + delta * (theta + 2))
    linear = delta**2 + delta * (2 * p_a + theta + 1) + p_a + theta * p_b
    constant = -p_a * delta * (1 + delta)
    with np.errstate(divide="ignore", invalid="ignore"):
        v = square**3 / (27 * cubic**3) - square * linear / (6 * cubic**2) + constant / (2 * cubic)
        sign = np.where(v < 0, -1.0, 1.0)
        u = sign * np.sqrt(np.maximum(square**2 / (9 * cubic**2) - linear / (3 * cubic), 0))
        angle = np.where(u == 0, 0.0, np.clip(v / u**3, -1, 1))
        of_a = 2 * u * np.cos((np.pi + np.arccos(angle)) / 3) - square / (3 * cubic)
        of_a = np.clip(of_a, np.maximum(delta, 0), np.minimum(1 + delta, 1))
        of_b = np.clip(of_a - delta, 0, 1)
        variance = of_a * (1 - of_a) / n_a + of_b * (1 - of_b) / n_b
        offset = p_a - p_b - delta
        statistic = offset / np.sqrt(np.maximum(variance * small_sample(n_a, n_b), 0))
    return np.where(offset == 0, 0.0, statistic)


def ratio_score(
    p_a: FloatArray, p_b: FloatArray, n_a: FloatArray, n_b: FloatArray, ratio: FloatArray
) -> FloatArray:
    """Return the score statistic of p_a / p_b = `ratio` (Miettinen and Nurminen 1985)."""
    n = n_a + n_b
    x_a, x_b = p_a * n_a, p_b * n_b
    linear = n_a * ratio + x_a + n_b + x_b * ratio
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(linear**2 - 4 * n * ratio * (x_a + x_b), 0))
        # The smaller solution of the quadratic equation, without a difference of similar numbers.
        of_b = np.clip(2 * (x_a + x_b) / (linear + root), 0, 1)
        of_a = np.clip(ratio * of_b, 0, 1)
        variance = of_a * (1 - of_a) / n_a + ratio**2 * of_b * (1 - of_b) / n_b
        offset = p_a - ratio * p_b
        statistic = offset / np.sqrt(np.maximum(variance * small_sample(n_a, n_b), 0))
    return np.where(offset == 0, 0.0, statistic)


def small_sample(n_a: FloatArray, n_b: FloatArray) -> FloatArray:
    """Return n / (n - 1), Miettinen and Nurminen's factor of the variance, for n rows."""
    n = n_a + n_b
    return n / np.maximum(n - 1, 1)
