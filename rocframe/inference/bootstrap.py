"""Replicates of a statistic → its standard error and limits.

Limits are quantiles of the replicates: of `n_boot` replicates the quantile p is number
p·(n_boot + 1) in rising order, in proportion between two neighbours, and the first or the last
where the number lies beyond them.

References
----------
A. C. Davison, D. V. Hinkley (1997), Bootstrap Methods and their Application, Cambridge University
Press, sections 2.7 (the empirical influence values), 5.2 and 5.3. doi:10.1017/CBO9780511802843
B. Efron (1987), "Better bootstrap confidence intervals", Journal of the American Statistical
Association 82(397), 171-185. doi:10.1080/01621459.1987.10478410
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import frexp, inf, isfinite, isnan, nan
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.kernel.resample import Batch, resampled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.kernel.resample import Asked, Draws, Population, Sample, Side
    from rocframe.kernel.scan import Walk


BOOTSTRAPS = ("bootstrap", "bootstrap_basic", "bootstrap_bca")

ROUNDING_ERROR = 1e-12  # what two ways of adding up the same numbers may differ by

NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statistic:
    """What is bootstrapped: how to work it out, and the range it lies in.

    `influence` says how much a unit of mass more changes the statistic of the data: for positives
    and for negatives, at each step, and last for the unscored.
    """

    asked: Asked
    influence: Callable[[Sample], tuple[NDArray[Any], NDArray[Any]]]
    bounds: tuple[float, float] = (0.0, 1.0)


class BootstrapIntervals(NamedTuple):
    """Standard error and limits of each group; NaN where there are none.

    `flat` says where all replicates are the same, `lost` how many replicates were drawn again, or
    left out because the statistic was undefined.
    """

    se: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    flat: NDArray[np.bool_]
    lost: NDArray[np.int64]


def bootstrap_intervals(
    walk: Walk,
    statistics: Sequence[Statistic],
    estimates: Sequence[NDArray[np.float64]],
    draws: Draws,
    *,
    ci: str,
    level: float,
    groups: NDArray[np.bool_] | None = None,
) -> list[BootstrapIntervals]:
    """Return the spread of each statistic; `groups` says of each group whether it is wanted."""
    size = len(walk.totals.pos)
    made = [
        BootstrapIntervals(
            se=np.full(size, nan),
            lower=np.full(size, nan),
            upper=np.full(size, nan),
            flat=np.zeros(size, bool),
            lost=np.zeros(size, np.int64),
        )
        for _ in statistics
    ]
    for one in resampled(walk, [statistic.asked for statistic in statistics], draws, groups):
        group = one.population.group
        for i, statistic in enumerate(statistics):
            one_spread = bootstrap_interval(
                one.values[i],
                float(estimates[i][group]),
                ci,
                level,
                bounds=statistic.bounds,
                skewness=partial(sample_acceleration, one.population, statistic.influence),
            )
            for held, found in zip(made[i], one_spread, strict=True):
                held[group] = found
            made[i].lost[group] += one.redrawn[i]
    return made


class BootstrapInterval(NamedTuple):
    """The same of one group."""

    se: float
    lower: float
    upper: float
    flat: bool
    lost: int


def bootstrap_interval(
    replicates: NDArray[np.float64],
    estimate: float,
    ci: str,
    level: float,
    *,
    bounds: tuple[float, float],
    skewness: Callable[[], float],
) -> BootstrapInterval:
    """Return standard error and limits from one statistic's replicates; NaN is left out."""
    values = np.sort(replicates[~np.isnan(replicates)])
    lost = len(replicates) - len(values)
    if isnan(estimate) or len(values) < 2:
        return BootstrapInterval(nan, nan, nan, False, lost)
    scale = _scale(values, bounds)
    if nearly_equal(values[0], values[-1], scale=scale):
        return BootstrapInterval(nan, nan, nan, True, lost)
    finite = isfinite(values[0]) and isfinite(values[-1])
    se = nan
    if finite:  # a power of 2 changes no digit, and keeps squares within range
        power = frexp(max(abs(values[0]), abs(values[-1])))[1]
        se = float(np.ldexp(np.ldexp(values, -power).std(ddof=1), power))
    a = skewness() if ci == "bootstrap_bca" else 0.0
    lower, upper = np.clip(bootstrap_limits(ci, level, estimate, values, a, scale=scale), *bounds)
    return BootstrapInterval(se, float(lower), float(upper), False, lost)


def _scale(values: NDArray[np.float64], bounds: tuple[float, float]) -> float:
    """Return the size of the numbers that replicates come from.

    It is their own, but for differences of shares, which rounding may leave at nearly 0.
    """
    if -inf < bounds[0] < 0:
        return 1.0
    return float(abs(values[np.isfinite(values)]).max(initial=0.0))


def nearly_equal(a: Any, b: Any, *, scale: float = 1.0) -> Any:
    """Say whether two numbers that come from numbers of some size differ by rounding at most."""
    with np.errstate(invalid="ignore"):
        near = abs(a - b) <= ROUNDING_ERROR * np.fmax(scale, abs(b))
    return (a == b) | (near & np.isfinite(a) & np.isfinite(b))


def bootstrap_limits(
    ci: str,
    level: float,
    estimate: float,
    values: NDArray[np.float64],
    a: float = 0.0,
    *,
    scale: float = 1.0,
) -> tuple[float, float]:
    """Return the limits that rising replicates give; NaN where there are none."""
    low, high = (1 - level) / 2, (1 + level) / 2
    if ci == "bootstrap_bca":
        tied = nearly_equal(values, estimate, scale=scale)
        ties, below = np.count_nonzero(tied), np.count_nonzero((values < estimate) & ~tied)
        share = (below + ties / 2) / len(values)
        if not 0 < share < 1:
            return nan, nan
        low, high = (_shifted(p, NORMAL.inv_cdf(share), a) for p in (low, high))
    ends = replicate_quantile(values, low), replicate_quantile(values, high)
    if ci == "bootstrap_basic":
        return 2 * estimate - ends[1], 2 * estimate - ends[0]
    return ends


def replicate_quantile(rising: NDArray[np.float64], p: float) -> float:
    """Return number p·(n + 1) of n rising values, in proportion between two of them."""
    place = min(max(p * (len(rising) + 1), 1.0), float(len(rising))) - 1
    # What should be a whole number may have come out a little less.
    near = round(place)
    first, more = (near, 0.0) if abs(place - near) < 1e-9 else divmod(place, 1.0)
    value = float(rising[int(first)])
    if more:
        value += more * (float(rising[int(first) + 1]) - value) if isfinite(value) else 0.0
    return value


def _shifted(p: float, bias: float, a: float) -> float:
    """Return the share of replicates that lies below the corrected and accelerated limit."""
    z = bias + NORMAL.inv_cdf(p)
    left = 1 - a * z
    return NORMAL.cdf(bias + z / left if left > 0 else z * inf)


def sample_acceleration(
    population: Population, influence: Callable[[Sample], tuple[NDArray[Any], NDArray[Any]]]
) -> float:
    """Return how skewed the influence of single rows, or clusters, is: ΣL³ / (6·(ΣL²)^(3/2))."""
    shares = influence(Batch.data(population).walk(corners=False))
    sides = (population.pos, population.neg)
    values = [_rows(side, share) for side, share in zip(sides, shares, strict=True)]
    rows = [side.rows for side in sides]
    if population.clusters is not None:
        together = np.zeros(population.clusters)
        for side, value in zip(sides, values, strict=True):
            assert side.cluster is not None
            together += np.bincount(side.cluster, side.rows * value, population.clusters)
        values, rows = [together], [np.ones(population.clusters, np.int64)]
    every, times = np.concatenate(values), np.concatenate(rows)
    largest = abs(every).max()
    if not largest > 0:
        return 0.0
    every = every / largest
    return float((times * every**3).sum() / (6 * (times * every**2).sum() ** 1.5))


def _rows(side: Side, share: NDArray[Any]) -> NDArray[np.float64]:
    """Return what a row of each kind adds: the share of a unit of mass, times the row's."""
    steps = np.searchsorted(side.upto, np.arange(len(side.rows)), "right")
    values: NDArray[np.float64] = share[steps]
    return values if side.weight is None else values * side.weight
