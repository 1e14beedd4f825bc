"""Weighted means over curves, with standard deviation and confidence limits.

The corrected t interval is from Nadeau and Bengio (2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from rocframe.inference.bootstrap import batched_replicates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.averages.options import AverageOptions


RESAMPLES_PER_BATCH = 500


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: they exclude cached properties
class CurveValues:
    """Values of curves (rows) at grid points (columns).

    The curves of group i start at `starts[i]`. NaN means that a curve has no value at a point.
    `weight` is the weight of each curve in the mean.
    """

    values: NDArray[np.float64]
    weight: NDArray[np.float64]
    starts: NDArray[np.int64]

    @cached_property
    def defined(self) -> NDArray[np.bool_]:
        """True where a curve has a value."""
        return ~np.isnan(self.values)

    def group_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sums over the curves of each group."""
        total: NDArray[np.float64] = np.add.reduceat(values, self.starts, axis=0)
        return total

    def repeat_groups(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Repeat the values of each group for each of its curves."""
        lengths = np.diff(np.append(self.starts, len(self.values)))
        return np.repeat(values, lengths, axis=0)

    @cached_property
    def count(self) -> NDArray[np.int64]:
        """Number of curves of each group that have a value."""
        counts: NDArray[np.int64] = np.add.reduceat(self.defined.astype(np.int64), self.starts)
        return counts

    @cached_property
    def total_weight(self) -> NDArray[np.float64]:
        """Total weight of these curves."""
        return self.group_sums(self.weight[:, None] * self.defined)

    @cached_property
    def sum_squared_shares(self) -> NDArray[np.float64]:
        """Sum of the squared shares of the total weight; 1 / n for n equal weights."""
        squares = self.group_sums(self.weight[:, None] ** 2 * self.defined)
        return _divide(squares, self.total_weight**2)

    @cached_property
    def minimum(self) -> NDArray[np.float64]:
        """Smallest value of each group; means of differences from it are exact for equal values."""
        result: NDArray[np.float64] = np.fmin.reduceat(self.values, self.starts, axis=0)
        return result

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        """The weighted mean of each group."""
        origin = self.minimum
        above = np.where(self.defined, self.values - self.repeat_groups(origin), 0)
        mean: NDArray[np.float64] = origin + _divide(
            self.group_sums(self.weight[:, None] * above), self.total_weight
        )
        return mean

    def sd(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard deviation of each group, with n - 1; NaN for one curve."""
        deviation = np.where(self.defined, self.values - self.repeat_groups(mean), 0)
        variance = _divide(self.group_sums(self.weight[:, None] * deviation**2), self.total_weight)
        correction = np.where(self.count > 1, 1 - self.sum_squared_shares, 0)
        sd: NDArray[np.float64] = np.sqrt(_divide(variance, correction))
        return sd

    def mean_and_sd(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation; values may be infinite."""
        ends = np.isinf(self.values)
        if not ends.any():
            return self.mean, self.sd(self.mean)
        finite = CurveValues(
            values=np.where(ends, 0.0, self.values), weight=self.weight, starts=self.starts
        )
        mean = finite.mean
        sd = finite.sd(mean)
        high, low = (
            self.group_sums((self.values == end).astype(np.float64)) > 0
            for end in (np.inf, -np.inf)
        )
        mean = np.where(high, np.inf, np.where(low, -np.inf, mean))
        return np.where(high & low, np.nan, mean), np.where(high | low, np.nan, sd)


def _divide(
    numerator: NDArray[np.float64], denominator: NDArray[np.float64]
) -> NDArray[np.float64]:
    result: NDArray[np.float64] = np.full(denominator.shape, np.nan)
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


def mean_limits(
    values: CurveValues,
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
    options: AverageOptions,
    *,
    curves: NDArray[np.int64],
    rows: NDArray[np.float64],
    streams: list[tuple[int, ...]],
    bounds: tuple[float, float],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return standard error, lower and upper limit of each mean; NaN where they are undefined.

    `curves` is the number of curves of each group, including those that lack a class; `rows` is
    the denominator of the metric in each curve.
    """
    if options.interval is None:
        return (np.full(mean.shape, np.nan),) * 3
    if options.interval == "bootstrap":
        return _bootstrap_limits(values, options, streams)
    if options.interval == "binomial":
        variance = _divide(values.weight**2, rows)
        terms = np.where(values.defined, variance[:, None], 0.0)
        se = np.sqrt(mean * (1 - mean) * _divide(values.group_sums(terms), values.total_weight**2))
    else:
        factor = values.sum_squared_shares
        if options.interval == "corrected":
            factor = factor + _test_per_train(options, curves)[:, None]
        se = sd * np.sqrt(factor)
    margin = _critical_values(options, values.count) * se
    return se, np.clip(mean - margin, *bounds), np.clip(mean + margin, *bounds)


def _test_per_train(options: AverageOptions, curves: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the number of test rows per training row; 1 / (k - 1) for k folds."""
    if options.test_per_train is not None:
        return np.full(len(curves), options.test_per_train)
    return _divide(np.ones(len(curves)), (curves - 1).astype(np.float64))


def _critical_values(options: AverageOptions, count: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the distance of the limits from the mean, in standard errors."""
    from scipy.special import ndtri, stdtrit

    probability = (1 + options.level) / 2
    if options.interval in {"normal", "binomial"}:
        return np.full(count.shape, ndtri(probability))
    quantiles = np.full(int(count.max(initial=1)) + 1, np.nan)
    quantiles[2:] = stdtrit(np.arange(1, len(quantiles) - 1, dtype=np.float64), probability)
    return quantiles[count]


def _bootstrap_limits(
    values: CurveValues, options: AverageOptions, streams: list[tuple[int, ...]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return standard error and percentile limits of the mean over resampled curves."""
    ends = np.append(values.starts[1:], len(values.values))
    se, lower, upper = (np.full(values.count.shape, np.nan) for _ in range(3))
    probabilities = [(1 - options.level) / 2, (1 + options.level) / 2]
    for group, (start, end) in enumerate(zip(values.starts, ends, strict=True)):
        used = start + np.flatnonzero(values.defined[start:end].any(axis=1))
        if len(used) < 2:
            continue
        means = _replicate_means(values.values[used], values.weight[used], options, streams[group])
        single = values.defined[used].sum(axis=0) < 2
        means[:, single] = np.nan
        complete = ~np.isnan(means).any(axis=0)
        se[group, complete] = means[:, complete].std(axis=0, ddof=1)
        lower[group, complete], upper[group, complete] = np.quantile(
            means[:, complete], probabilities, axis=0
        )
        # In some resamples no curve has a value at these grid points.
        for point in np.flatnonzero(~complete & ~single):
            defined = means[~np.isnan(means[:, point]), point]
            se[group, point] = defined.std(ddof=1)
            lower[group, point], upper[group, point] = np.quantile(defined, probabilities)
    return se, lower, upper


def _replicate_means(
    values: NDArray[np.float64],
    weight: NDArray[np.float64],
    options: AverageOptions,
    key: tuple[int, ...],
) -> NDArray[np.float64]:
    """Return the means over resampled curves, a row per resample."""
    defined, curves = ~np.isnan(values), len(weight)
    origin = np.nanmin(values, axis=0, where=defined, initial=np.inf)
    above = np.where(defined, values - origin, 0)

    def draw(stream: np.random.Generator, size: int) -> tuple[NDArray[np.float64], int]:
        weights = stream.multinomial(curves, np.full(curves, 1 / curves), size) * weight
        return origin + _divide(weights @ above, weights @ defined.astype(np.float64)), 0

    means, _ = batched_replicates(
        draw, n_boot=options.n_boot, batch_size=RESAMPLES_PER_BATCH, seed=options.seed, key=key
    )
    return means
