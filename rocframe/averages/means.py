"""Means of values of curves, their spread and limits.

The corrected t interval is that of Nadeau and Bengio (2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocframe.inference.bootstrap import batched_replicates

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.averages.options import AverageOptions


RESAMPLES_PER_BATCH = 500


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveValues:
    """Values of some curves (down) at some places (across): curves of group i from `starts[i]`.

    NaN is where a curve has no value; `weight` is how much each curve counts.
    """

    values: NDArray[np.float64]
    weight: NDArray[np.float64]
    starts: NDArray[np.int64]

    @property
    def there(self) -> NDArray[np.bool_]:
        """Where curves have a value."""
        return ~np.isnan(self.values)

    def add(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Add up over the curves of each group."""
        total: NDArray[np.float64] = np.add.reduceat(values, self.starts, axis=0)
        return total

    def spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Repeat what groups have for each of their curves."""
        lengths = np.diff(np.append(self.starts, len(self.values)))
        return np.repeat(values, lengths, axis=0)

    @property
    def count(self) -> NDArray[np.int64]:
        """How many curves of each group have a value."""
        counts: NDArray[np.int64] = np.add.reduceat(self.there.astype(np.int64), self.starts)
        return counts

    @property
    def mass(self) -> NDArray[np.float64]:
        """The sum of their weights."""
        return self.add(self.weight[:, None] * self.there)

    @property
    def unevenness(self) -> NDArray[np.float64]:
        """The sum of squared shares of the weight: one over their number if all weigh the same."""
        squares = self.add(self.weight[:, None] ** 2 * self.there)
        return _divide(squares, self.mass**2)

    @property
    def base(self) -> NDArray[np.float64]:
        """The smallest value of each group: sums of differences to it keep equal values equal."""
        base: NDArray[np.float64] = np.fmin.reduceat(self.values, self.starts, axis=0)
        return base

    @property
    def mean(self) -> NDArray[np.float64]:
        """The weighted mean of each group."""
        base = self.base
        above = np.where(self.there, self.values - self.spread(base), 0)
        mean: NDArray[np.float64] = base + _divide(
            self.add(self.weight[:, None] * above), self.mass
        )
        return mean

    def sd(self, mean: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the standard deviation of each group, with n - 1; NaN for one curve."""
        off = np.where(self.there, self.values - self.spread(mean), 0)
        squares = _divide(self.add(self.weight[:, None] * off**2), self.mass)
        left = np.where(self.count > 1, 1 - self.unevenness, 0)
        sd: NDArray[np.float64] = np.sqrt(_divide(squares, left))
        return sd

    def with_infinite(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and spread of thresholds or rates, some of which may be infinite."""
        ends = np.isinf(self.values)
        finite = CurveValues(
            values=np.where(ends, 0.0, self.values), weight=self.weight, starts=self.starts
        )
        mean = finite.mean
        sd = finite.sd(mean)
        high, low = (
            self.add((self.values == end).astype(np.float64)) > 0 for end in (np.inf, -np.inf)
        )
        mean = np.where(high, np.inf, np.where(low, -np.inf, mean))
        return np.where(high & low, np.nan, mean), np.where(high | low, np.nan, sd)


def _divide(part: NDArray[np.float64], whole: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=found, where=whole > 0)
    return found


def mean_limits(
    cell: CurveValues,
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
    options: AverageOptions,
    *,
    curves: NDArray[np.int64],
    rows: NDArray[np.float64],
    streams: list[tuple[int, ...]],
    bounds: tuple[float, float],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return standard error and limits of each mean; NaN where there are none.

    `curves` are those of each group, with the ones that lack a class; `rows` those that the rate
    of each curve is a share of.
    """
    if options.interval is None:
        return (np.full(mean.shape, np.nan),) * 3
    if options.interval == "bootstrap":
        se, lower, upper = _bootstrap_limits(cell, options, streams)
        return se, lower, upper
    if options.interval == "binomial":
        own = _divide(cell.weight**2, rows)
        shares = np.where(cell.there, own[:, None], 0.0)
        se = np.sqrt(mean * (1 - mean) * _divide(cell.add(shares), cell.mass**2))
    else:
        share = cell.unevenness
        if options.interval == "corrected":
            share = share + _test_per_train(options, curves)[:, None]
        se = sd * np.sqrt(share)
    reach = _critical_values(options, cell.count) * se
    return se, np.clip(mean - reach, *bounds), np.clip(mean + reach, *bounds)


def _test_per_train(options: AverageOptions, curves: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many test rows each group has per training row: k folds have 1 to k - 1."""
    if options.test_per_train is not None:
        return np.full(len(curves), options.test_per_train)
    return _divide(np.ones(len(curves)), (curves - 1).astype(np.float64))


def _critical_values(options: AverageOptions, count: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how many standard errors the limits are from the mean."""
    from scipy.special import ndtri, stdtrit

    share = (1 + options.level) / 2
    if options.interval in {"normal", "binomial"}:
        return np.full(count.shape, ndtri(share))
    found = np.full(int(count.max(initial=1)) + 1, np.nan)
    found[2:] = stdtrit(np.arange(1, len(found) - 1, dtype=np.float64), share)
    return found[count]


def _bootstrap_limits(
    cell: CurveValues, options: AverageOptions, streams: list[tuple[int, ...]]
) -> tuple[NDArray[np.float64], ...]:
    """Return standard error and percentile limits of the mean over resampled curves."""
    ends = np.append(cell.starts[1:], len(cell.values))
    found = [np.full(cell.count.shape, np.nan) for _ in range(3)]
    tails = [(1 - options.level) / 2, (1 + options.level) / 2]
    for group, (start, end) in enumerate(zip(cell.starts, ends, strict=True)):
        some = cell.there[start:end].any(axis=1)
        if some.sum() < 2:
            continue
        values, weight = cell.values[start:end][some], cell.weight[start:end][some]
        single = (~np.isnan(values)).sum(axis=0) < 2
        every = _replicate_means(values, weight, options, streams[group])
        every[:, single] = np.nan
        whole = ~np.isnan(every).any(axis=0)
        found[0][group, whole] = every[:, whole].std(axis=0, ddof=1)
        found[1][group, whole], found[2][group, whole] = np.quantile(every[:, whole], tails, axis=0)
        for at in np.flatnonzero(~whole & ~single):  # drawn without any curve that has a value
            drawn_means = every[~np.isnan(every[:, at]), at]
            found[0][group, at] = drawn_means.std(ddof=1)
            found[1][group, at], found[2][group, at] = np.quantile(drawn_means, tails)
    return tuple(found)


def _replicate_means(
    values: NDArray[np.float64],
    weight: NDArray[np.float64],
    options: AverageOptions,
    key: tuple[int, ...],
) -> NDArray[np.float64]:
    """Return the means over resampled curves, a row per resample."""
    there, curves = ~np.isnan(values), len(weight)
    base = np.nanmin(values, axis=0, where=there, initial=np.inf)
    above = np.where(there, values - base, 0)

    def draw(stream: np.random.Generator, size: int) -> tuple[NDArray[np.float64], int]:
        mass = stream.multinomial(curves, np.full(curves, 1 / curves), size) * weight
        return base + _divide(mass @ above, mass @ there.astype(np.float64)), 0

    means, _ = batched_replicates(
        draw, n_boot=options.n_boot, batch_size=RESAMPLES_PER_BATCH, seed=options.seed, key=key
    )
    return means
