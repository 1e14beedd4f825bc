"""Weighted means over curves, with standard deviation and confidence limits.

The corrected t interval is from Nadeau and Bengio (2003). The binomial limits are Wilson's.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rocframe.inference.bootstrap import (
    batched_replicates,
    nearly_equal,
    replicate_limits,
    rounding_scale,
)
from rocframe.inference.confidence import wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.averages.options import AverageOptions


RESAMPLES_PER_BATCH = 500
MIN_EXPONENT = -1000  # values are multiplied by at most 2**1000, which is a finite Float64 number


@dataclass(
    frozen=True, kw_only=True, eq=False
)  # without slots, because a class with slots cannot have cached properties
class CurveValues:
    """Values of curves at grid points: a matrix with one row per curve and one column per point.

    The first curve of group i is the row `starts[i]`. NaN means that a curve has no value at a
    point. `weight` is the weight of each curve in the mean.
    """

    values: NDArray[np.float64]
    weight: NDArray[np.float64]
    starts: NDArray[np.int64]

    @cached_property
    def defined(self) -> NDArray[np.bool_]:
        """Whether each curve has a value at each point."""
        return ~np.isnan(self.values)

    def group_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums over the curves of each group."""
        total: NDArray[np.float64] = np.add.reduceat(values, self.starts, axis=0)
        return total

    def repeat_groups(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of the group of each curve."""
        lengths = np.diff(np.append(self.starts, len(self.values)))
        return np.repeat(values, lengths, axis=0)

    @cached_property
    def count(self) -> NDArray[np.int64]:
        """Number of curves of each group that have a value."""
        counts: NDArray[np.int64] = np.add.reduceat(self.defined.astype(np.int64), self.starts)
        return counts

    @cached_property
    def total_weight(self) -> NDArray[np.float64]:
        """Total weight of the curves of each group that have a value."""
        return self.group_sums(self.weight[:, None] * self.defined)

    @cached_property
    def sum_squared_shares(self) -> NDArray[np.float64]:
        """Sum of the squares of weight / total weight in each group; 1 / n for n equal weights."""
        squares = self.group_sums(self.weight[:, None] ** 2 * self.defined)
        return _divide(squares, self.total_weight**2)

    @cached_property
    def exponent(self) -> NDArray[np.int64]:
        """Exponent of the power of 2 by which the values of each group are divided.

        The division is exact. The squares of the quotients do not overflow.
        """
        largest = np.fmax.reduceat(np.abs(self.values), self.starts, axis=0)
        power = np.frexp(np.nan_to_num(largest, posinf=1.0))[1].astype(np.int64)
        result: NDArray[np.int64] = np.maximum(power, MIN_EXPONENT)
        return result

    @cached_property
    def scaled(self) -> NDArray[np.float64]:
        """The values, divided by 2 to the power of the exponent of their group."""
        factor = np.ldexp(1.0, -self.exponent)
        result: NDArray[np.float64] = self.values * self.repeat_groups(factor)
        return result

    @cached_property
    def minimum(self) -> NDArray[np.float64]:
        """Smallest scaled value of each group."""
        result: NDArray[np.float64] = np.fmin.reduceat(self.scaled, self.starts, axis=0)
        return result

    @cached_property
    def scaled_mean(self) -> NDArray[np.float64]:
        """The weighted mean of the scaled values of each group."""
        # The mean of differences from the minimum is exact for equal values.
        above = np.where(self.defined, self.scaled - self.repeat_groups(self.minimum), 0)
        mean: NDArray[np.float64] = self.minimum + _divide(
            self.group_sums(self.weight[:, None] * above), self.total_weight
        )
        return mean

    @cached_property
    def scaled_sd(self) -> NDArray[np.float64]:
        """The standard deviation of the scaled values, with divisor n - 1; NaN for one curve."""
        deviation = np.where(self.defined, self.scaled - self.repeat_groups(self.scaled_mean), 0)
        variance = _divide(self.group_sums(self.weight[:, None] * deviation**2), self.total_weight)
        correction = np.where(self.count > 1, 1 - self.sum_squared_shares, 0)
        sd: NDArray[np.float64] = np.sqrt(_divide(variance, correction))
        return sd

    def unscaled(
        self, values: NDArray[np.float64], bounds: tuple[float, float] = (-np.inf, np.inf)
    ) -> NDArray[np.float64]:
        """Return a statistic of scaled values in the unit of the values, clipped to `bounds`.

        The result is NaN if it exceeds the range of Float64.
        """
        with np.errstate(over="ignore"):
            result = np.clip(np.ldexp(values, self.exponent), *bounds)
        return np.where(np.isfinite(result), result, np.nan)

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """The weighted mean of each group."""
        return self.unscaled(self.scaled_mean)

    @cached_property
    def sd(self) -> NDArray[np.float64]:
        """The standard deviation of each group, with divisor n - 1; NaN for one curve."""
        return self.unscaled(self.scaled_sd)

    def mean_and_sd(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the mean and the standard deviation of values that may be infinite."""
        ends = np.isinf(self.values)
        if not ends.any():
            return self.mean, self.sd
        finite = replace(self, values=np.where(ends, 0.0, self.values))
        high, low = (
            self.group_sums((self.values == end).astype(np.float64)) > 0
            for end in (np.inf, -np.inf)
        )
        mean = np.where(high, np.inf, np.where(low, -np.inf, finite.mean))
        return np.where(high & low, np.nan, mean), np.where(high | low, np.nan, finite.sd)

    def magnitude(self, bounds: tuple[float, float]) -> NDArray[np.float64]:
        """Return a number to which the rounding errors of the scaled values are proportional."""
        largest = np.fmax.reduceat(np.abs(self.scaled), self.starts, axis=0)
        unit = np.ldexp(1.0, -self.exponent)
        result: NDArray[np.float64] = rounding_scale(largest, bounds, unit)
        return result


def _divide(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the quotients; NaN where the denominator is not above 0."""
    result: NDArray[np.float64] = np.full(denominator.shape, np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


class MeanLimits(NamedTuple):
    """Standard error, lower and upper limit of each mean; NaN if undefined.

    `constant` is True if the limits are undefined because all curves have the same value.
    """

    se: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    constant: NDArray[np.bool_]


def mean_limits(
    values: CurveValues,
    options: AverageOptions,
    *,
    curves: NDArray[np.int64],
    rows: NDArray[np.float64],
    streams: list[tuple[int, ...]],
    bounds: tuple[float, float],
) -> MeanLimits:
    """Return the confidence limits of the means of finite values.

    `curves` is the number of curves of each group, including curves that are not usable. `rows` is
    the denominator of the metric in each curve. `streams` identify the random numbers of each
    group. Limits are clipped to `bounds`.
    """
    if options.interval is None:
        return _no_limits(values)
    if options.interval == "binomial":
        return _pooled_binomial_limits(values, rows, options.level)
    if options.interval == "bootstrap":
        return _bootstrap_mean_limits(values, options, streams, bounds)
    maximum = np.fmax.reduceat(values.scaled, values.starts, axis=0)
    constant = nearly_equal(values.minimum, maximum, scale=values.magnitude(bounds))
    constant &= values.count > 1
    factor = values.sum_squared_shares
    if options.interval == "corrected":
        factor = factor + _test_per_train(options, curves)[:, None]
    se = np.where(constant, np.nan, values.scaled_sd * np.sqrt(factor))
    margin = _critical_values(options, values.count) * se
    lower, upper = (
        values.unscaled(limit, bounds)
        for limit in (values.scaled_mean - margin, values.scaled_mean + margin)
    )
    return MeanLimits(values.unscaled(se), lower, upper, constant)


def _no_limits(values: CurveValues) -> MeanLimits:
    """Return limits that are NaN for all groups and points."""
    se, lower, upper = (np.full(values.count.shape, np.nan) for _ in range(3))
    return MeanLimits(se, lower, upper, np.zeros(values.count.shape, bool))


def _pooled_binomial_limits(
    values: CurveValues, rows: NDArray[np.float64], level: float
) -> MeanLimits:
    """Return Wilson's limits of the pooled rate; the limits include the mean of the rates."""
    defined, mean = values.defined, values.mean
    hits = values.group_sums(np.where(defined, rows[:, None] * values.values, 0.0))
    total = values.group_sums(rows[:, None] * defined)
    lower, upper = wilson(hits, total, level)
    variance = np.where(defined, _divide(values.weight**2, rows)[:, None], 0.0)
    factor = _divide(values.group_sums(variance), values.total_weight**2)
    se = np.sqrt(np.clip(mean * (1 - mean), 0, None) * factor)
    se = np.where(se > 0, se, np.nan)
    constant = np.zeros(mean.shape, bool)
    return MeanLimits(se, np.minimum(lower, mean), np.maximum(upper, mean), constant)


def _test_per_train(options: AverageOptions, curves: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the number of test rows per training row; 1 / (k - 1) for k folds."""
    if options.test_per_train is not None:
        return np.full(len(curves), options.test_per_train)
    return _divide(np.ones(len(curves)), (curves - 1).astype(np.float64))


def _critical_values(options: AverageOptions, count: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distance of the limits from the mean, divided by the standard error."""
    from scipy.special import ndtri, stdtrit

    probability = (1 + options.level) / 2
    if options.interval == "normal":
        return np.full(count.shape, ndtri(probability))
    quantiles = np.full(int(count.max(initial=1)) + 1, np.nan)
    quantiles[2:] = stdtrit(np.arange(1, len(quantiles) - 1, dtype=np.float64), probability)
    return quantiles[count]


def _bootstrap_mean_limits(
    values: CurveValues,
    options: AverageOptions,
    streams: list[tuple[int, ...]],
    bounds: tuple[float, float],
) -> MeanLimits:
    """Return the standard error and the percentile limits of each mean, from resampled curves.

    At each point, the curves that have a value are resampled. Points with the same number of such
    curves have the same random draws.
    """
    ends = np.append(values.starts[1:], len(values.values))
    se, lower, upper, constant = _no_limits(values)
    magnitude = values.magnitude(bounds)
    for group, (start, end) in enumerate(zip(values.starts, ends, strict=True)):
        counts = values.count[group]
        for n in np.unique(counts[counts > 1]):
            at = group, np.flatnonzero(counts == n)
            undefined = ~values.defined[start:end, at[1]]
            curves = start + np.argsort(undefined, axis=0, kind="stable")[:n]
            means = _replicate_means(
                values.scaled[curves, at[1]], values.weight[curves], options, streams[group]
            )
            constant[at] = nearly_equal(means.min(axis=0), means.max(axis=0), scale=magnitude[at])
            se[at] = means.std(axis=0, ddof=1)
            lower[at], upper[at] = replicate_limits(means, options.level)
    se, lower, upper = (
        np.where(constant, np.nan, values.unscaled(part)) for part in (se, lower, upper)
    )
    return MeanLimits(se, lower, upper, constant)


def _replicate_means(
    values: NDArray[np.float64],
    weight: NDArray[np.float64],
    options: AverageOptions,
    key: tuple[int, ...],
) -> NDArray[np.float64]:
    """Return the means over resampled curves at each point, with one row per resample.

    `values` and `weight` have one row per curve and one column per point. `key` identifies the
    random numbers of the group.
    """
    n, origin = len(values), values.min(axis=0)
    above = weight * (values - origin)

    def draw(stream: np.random.Generator, size: int) -> tuple[NDArray[np.float64], int]:
        times = stream.multinomial(n, np.full(n, 1 / n), size).astype(np.float64)
        return origin + _divide(times @ above, times @ weight), 0

    means, _ = batched_replicates(
        draw,
        n_boot=options.n_boot,
        batch_size=RESAMPLES_PER_BATCH,
        seed=options.seed,
        key=key,
        arrays_only=True,
    )
    return means
