"""Bootstrap replicates of a statistic: standard error, percentile, basic and BCa limits.

The p-quantile of n replicates in increasing order is the replicate at position p·(n + 1), limited
to 1 to n and interpolated linearly.

- A. C. Davison, D. V. Hinkley (1997), Bootstrap Methods and their Application, sections 2.7
  (empirical influence values), 5.2 and 5.3. doi:10.1017/CBO9780511802843
- B. Efron (1987), Journal of the American Statistical Association 82(397), 171-185.
  doi:10.1080/01621459.1987.10478410
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import frexp, inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rocframe.frames import build_table
from rocframe.inference import STANDARD_NORMAL
from rocframe.kernel.arrays import batch_sizes, run_parallel
from rocframe.kernel.scan import BLOCK_ROWS, ReplicateCounts
from rocframe.schemas.table_type import floats, integers

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.kernel.scan import (
        ClassRows,
        GroupRows,
        ReplicateScan,
        ReplicateStatistic,
        Scannable,
        Seed,
    )

# Largest relative difference of two floats that are equal up to rounding errors.
ROUNDING_ERROR = 1e-12
Influences = tuple["NDArray[np.float64]", "NDArray[np.float64]"]
RowLosses = Callable[["NDArray[np.float64]"], tuple["NDArray[Any]", "NDArray[Any]"]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Statistic:
    """A statistic that can be bootstrapped, and the range of its values.

    `replicate` computes the statistic, the value in `column` if it returns several. `influence`
    (None: no BCa limits) returns the empirical influence values of positives and of negatives:
    derivatives with respect to the weight of the rows with each distinct score, and last of the
    unscored rows. `better` states which values are better. `row_losses` (None: no mean of losses)
    returns the losses of probabilities of positive, and of negative rows. With `has_t_reference`,
    bootstrap tests are t tests, because the variance is itself uncertain with few positives.
    `has_influence_variance`: the sum of squares of influence values estimates the variance;
    `has_reliable_influence`: also in small samples.
    `is_roc_area`: it is the area under the ROC curve or a part of it.
    """

    replicate: ReplicateStatistic
    column: int = 0
    influence: Callable[[ReplicateScan], Influences] | None
    bounds: tuple[float, float] = (0.0, 1.0)
    better: Literal["higher", "lower", "neither"] = "higher"
    row_losses: RowLosses | None = None
    has_t_reference: bool = False
    has_influence_variance: bool = True
    has_reliable_influence: bool = True
    is_roc_area: bool = False
    supremum: ReplicateStatistic | None = None
    of_probabilities: bool = False

    def values(self, scan: Scannable) -> NDArray[np.float64]:
        """Return the statistic of each group of a scan."""
        return self.column_of(self.replicate.function(scan))

    def column_of(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values of this statistic among those that `replicate` returns."""
        return values[:, self.column] if self.replicate.width > 1 else values

    def replicates_for(self, ci: str | None) -> ReplicateStatistic:
        """Return the function of the replicates that an interval method requires."""
        of_supremum = ci is not None and BOOTSTRAPS[ci].of_supremum
        return self.supremum if of_supremum and self.supremum is not None else self.replicate


@dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapLimits:
    """How limits are computed from replicates: as quantiles, unless one of the fields is True.

    Quantiles are reflected at the estimate, or corrected for bias and skewness (BCa).
    """

    is_reflected: bool = False
    is_corrected: bool = False
    of_supremum: bool = False


BOOTSTRAPS = {
    "bootstrap": BootstrapLimits(),
    "bootstrap_basic": BootstrapLimits(is_reflected=True),
    "bootstrap_bca": BootstrapLimits(is_corrected=True),
    "bootstrap_supremum": BootstrapLimits(of_supremum=True),
}


class BootstrapInterval(NamedTuple):
    """Standard error and limits; `constant` if all replicates are equal; number of NaNs."""

    se: float
    lower: float
    upper: float
    constant: bool
    n_undefined: int


class IntervalColumns:
    """Intervals as columns, which are arrays of any shape; NaN or None if undefined.

    `constant`: all replicates are equal. `n_redrawn`: resamples that were drawn again or omitted.
    """

    def __init__(self, *shape: int) -> None:
        self.se, self.lower, self.upper = np.full((3, *shape), nan)
        self.method = np.full(shape, None, object)
        self.constant = np.zeros(shape, bool)
        self.n_redrawn = np.zeros(shape, np.int64)

    @property
    def variance(self) -> NDArray[np.float64]:
        """The squared standard errors; 0 if all replicates are equal."""
        return np.where(self.constant, 0.0, self.se**2)

    def add(
        self,
        at: Any,
        replicates: NDArray[np.float64],
        estimate: float,
        ci: str | None,
        level: float,
        *,
        bounds: tuple[float, float] = (0.0, 1.0),
        acceleration: Callable[[], float] = lambda: 0.0,
        n_redrawn: int = 0,
    ) -> None:
        """Write the interval of one statistic to position `at` of each column."""
        interval = bootstrap_interval(
            replicates, estimate, ci, level, bounds=bounds, acceleration=acceleration
        )
        self.se[at], self.lower[at], self.upper[at], self.constant[at], n_undefined = interval
        self.n_redrawn[at] = n_redrawn + n_undefined
        self.method[at] = None if isnan(interval.lower) else ci


def batched_replicates(
    draw: Callable[[np.random.Generator, int], tuple[NDArray[Any], int]],
    *,
    n_boot: int,
    batch_size: int,
    seed: Seed,
    key: tuple[int, ...],
    arrays_only: bool = False,
) -> tuple[NDArray[Any], int]:
    """Return all replicates, one row each, and the number of resamples that were drawn again.

    Each batch of `draw` has its own random stream: results do not depend on the number of threads.
    """
    parts = run_parallel(
        lambda batch: draw(seed.stream(key, batch[0]), batch[1]),
        enumerate(batch_sizes(n_boot, batch_size)),
        arrays_only=arrays_only,
    )
    return np.concatenate([values for values, _ in parts]), sum(redrawn for _, redrawn in parts)


def bootstrap_interval(
    replicates: NDArray[np.float64],
    estimate: float,
    ci: str | None,
    level: float,
    *,
    bounds: tuple[float, float],
    acceleration: Callable[[], float] = lambda: 0.0,
) -> BootstrapInterval:
    """Return the standard error and, with `ci`, the limits; NaN replicates are left out."""
    method = None if ci is None else BOOTSTRAPS[ci]
    of_supremum = method is not None and method.of_supremum
    values = replicates[:, 0] if of_supremum else replicates
    values = np.sort(values[~np.isnan(values)])
    n_undefined = len(replicates) - len(values)
    if isnan(estimate) or len(values) < 2:
        return BootstrapInterval(nan, nan, nan, False, n_undefined)
    scale = rounding_scale(float(abs(values[np.isfinite(values)]).max(initial=0.0)), bounds)
    if nearly_equal(values[0], values[-1], scale=scale):
        return BootstrapInterval(nan, nan, nan, True, n_undefined)
    se = nan
    if isfinite(values[0]) and isfinite(values[-1]):
        # Values are divided by a power of 2, which is exact, so that squares do not overflow.
        power = frexp(max(abs(values[0]), abs(values[-1])))[1]
        with np.errstate(over="ignore"):
            deviation = float(np.ldexp(np.ldexp(values, -power).std(ddof=1), power))
        se = deviation if isfinite(deviation) else nan
    if method is None:
        return BootstrapInterval(se, nan, nan, False, n_undefined)
    if of_supremum:
        limits = supremum_limits(replicates, estimate, level)
    else:
        a = acceleration() if method.is_corrected else 0.0
        limits = bootstrap_limits(method, level, estimate, values, a, scale=scale)
    low, high = bounds
    if estimate < low - ROUNDING_ERROR:  # an H measure, with rows without a score
        low = -inf
    lower, upper = np.clip(limits, low, high)
    return BootstrapInterval(se, float(lower), float(upper), False, n_undefined)


def rounding_scale(largest: Any, bounds: tuple[float, float], unit: Any = 1.0) -> Any:
    """Return the size of the numbers that determine the rounding errors of a statistic.

    A difference of two rates has those of `unit`, a rate of 1, even if it is nearly 0.
    """
    return unit if -inf < bounds[0] < 0 else largest


def nearly_equal(a: Any, b: Any, *, scale: Any = 1.0) -> Any:
    """Return whether two numbers are equal up to the rounding errors of numbers near `scale`."""
    with np.errstate(invalid="ignore", over="ignore"):
        near = abs(a - b) <= ROUNDING_ERROR * np.fmax(scale, abs(b))
    return (a == b) | (near & np.isfinite(a) & np.isfinite(b))


def bootstrap_limits(
    method: BootstrapLimits,
    level: float,
    estimate: float,
    values: NDArray[np.float64],
    a: float = 0.0,
    *,
    scale: float = 1.0,
) -> tuple[float, float]:
    """Return the limits from the sorted replicates `values`, with the acceleration `a`, or NaN."""
    p_lower, p_upper = (1 - level) / 2, (1 + level) / 2
    if method.is_corrected:
        tied = nearly_equal(values, estimate, scale=scale)
        ties, below = np.count_nonzero(tied), np.count_nonzero((values < estimate) & ~tied)
        share = (below + ties / 2) / len(values)
        if not 0 < share < 1:
            return nan, nan
        bias = STANDARD_NORMAL.inv_cdf(share)
        p_lower, p_upper = (_bca_probability(p, bias, a) for p in (p_lower, p_upper))
    lower, upper = replicate_quantile(values, p_lower), replicate_quantile(values, p_upper)
    if method.is_reflected:
        lower, upper = 2 * estimate - upper, 2 * estimate - lower
        return (nan, nan) if isnan(lower) or isnan(upper) else (lower, upper)
    return lower, upper


def supremum_limits(
    replicates: NDArray[np.float64], estimate: float, level: float
) -> tuple[float, float]:
    """Return confidence limits of the largest value of a function D of the threshold, at least 0.

    The columns of `replicates` are sup D*, sup (D* - D) and sup (2·D - D*) for D* of a resample.
    `estimate` is sup D. With p = (1 + level) / 2, the lower limit is sup D minus the p-quantile of
    the second column, and the upper limit is the p-quantile of the third.
    """
    _, excess, reflected = replicates[~np.isnan(replicates[:, 0])].T
    margin, upper = (
        replicate_quantile(np.sort(values), (1 + level) / 2) for values in (excess, reflected)
    )
    # If the exact lower limit is 0, rounding errors must not change it.
    lower = 0.0 if nearly_equal(estimate, margin) else max(estimate - margin, 0.0)
    return lower, min(upper, 1.0)


def replicate_quantile(values: NDArray[np.float64], p: float) -> float:
    """Return the p-quantile of n sorted values: the value at position p·(n + 1), interpolated."""
    position = min(max(p * (len(values) + 1), 1.0), float(len(values))) - 1
    # Rounding errors can make a position slightly smaller than an integer.
    nearest = round(position)
    at_value = abs(position - nearest) < 1e-9
    index, fraction = (nearest, 0.0) if at_value else divmod(position, 1.0)
    value = float(values[int(index)])
    if fraction and isfinite(value):
        value += fraction * (float(values[int(index) + 1]) - value)
    return value


def replicate_rows(
    lines: pl.DataFrame, columns: Mapping[str, NDArray[np.float64]], n_boot: int
) -> pl.DataFrame:
    """Return a table with a row for each row of `lines` and each replicate, with its number."""
    draws = {"draw": np.tile(np.arange(1, n_boot + 1), lines.height), **columns}
    schema = integers("draw") | floats(*columns)
    return build_table(lines, draws, schema, rows=np.repeat(np.arange(lines.height), n_boot))


def replicate_limits(values: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Return the percentile limits of each column of replicates, which must be finite."""
    probabilities = [(1 - level) / 2, (1 + level) / 2]
    # numpy's method "weibull" interpolates at position p·(n + 1), as `replicate_quantile` does.
    limits: NDArray[np.float64] = np.quantile(values, probabilities, axis=0, method="weibull")
    return limits


class ColumnLimits(NamedTuple):
    """The limits of each column of replicates; NaN if undefined; see `BootstrapInterval`."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    constant: NDArray[np.bool_]
    n_undefined: NDArray[np.int64]


def column_limits(values: NDArray[np.float64], level: float) -> ColumnLimits:
    """Return the percentile limits of each column without NaN; NaN for < 2 or only equal values."""
    limits = np.full((2, values.shape[1]), np.nan)
    n_undefined = np.isnan(values).sum(axis=0)
    is_complete, is_defined = n_undefined == 0, n_undefined < len(values) - 1
    if is_complete.any():
        limits[:, is_complete] = replicate_limits(values[:, is_complete], level)
    for column in np.flatnonzero(is_defined & ~is_complete):
        present = values[~np.isnan(values[:, column]), column]
        limits[:, column] = replicate_limits(present[:, None], level)[:, 0]
    constant = is_defined & nearly_equal(np.fmin.reduce(values), np.fmax.reduce(values))
    limits[:, constant] = np.nan
    return ColumnLimits(limits[0], limits[1], constant, n_undefined)


def _bca_probability(p: float, bias: float, a: float) -> float:
    """Return the probability of the quantile that is the BCa limit for the tail probability p."""
    z = bias + STANDARD_NORMAL.inv_cdf(p)
    denominator = 1 - a * z
    return STANDARD_NORMAL.cdf(bias + z / denominator if denominator > 0 else z * inf)


def acceleration(
    influence: NDArray[np.float64], rows: NDArray[np.int64], cluster: NDArray[Any] | None = None
) -> float:
    """Return BCa's acceleration, ΣL³ / (6·(ΣL²)^(3/2)) over rows or clusters.

    `influence` has the value L of each of `rows` identical rows.
    """
    if cluster is not None:
        influence = np.bincount(cluster, rows * influence).astype(np.float64)
        rows = np.ones(len(influence), np.int64)
    largest = abs(influence).max()
    if not largest > 0:
        return 0.0
    shares = influence / largest
    return float((rows * shares**3).sum() / (6 * (rows * shares**2).sum() ** 1.5))


def sample_acceleration(
    population: GroupRows, influence: Callable[[ReplicateScan], Influences] | None
) -> float:
    """Return BCa's acceleration of a statistic from the rows of one group."""
    assert influence is not None
    sides = (population.pos, population.neg)
    influences = influence(ReplicateCounts.observed(population).scan(corners=False))
    clusters = [side.cluster for side in sides if side.cluster is not None]
    return acceleration(
        np.concatenate(
            [_row_influence(side, values) for side, values in zip(sides, influences, strict=True)]
        ),
        np.concatenate([side.rows for side in sides]),
        np.concatenate(clusters) if clusters else None,
    )


def jackknife_influences(
    population: GroupRows,
    function: Callable[[ReplicateScan], NDArray[np.float64]],
    *,
    corners: bool,
) -> Influences:
    """Return the changes of a statistic if one row is left out, in the form of `influence`.

    The variance of the statistic is n/(n - 1) times the sum of their squares over the n rows.
    """
    sides, values = (population.pos, population.neg), []
    n = sum(side.total for side in sides)
    batch = max(1, BLOCK_ROWS // max(1, len(population.codes)))
    for own in range(2):
        kinds = np.arange(len(sides[own].rows))
        for first in range(0, len(kinds), batch):
            left_out = kinds[first : first + batch]
            counts = [np.repeat(side.rows[None, :], len(left_out), axis=0) for side in sides]
            counts[own][np.arange(len(left_out)), left_out] -= 1
            replicates = ReplicateCounts(population=population, pos=counts[0], neg=counts[1])
            values.append(function(replicates.scan(corners=corners)))
    rows = np.concatenate([side.rows for side in sides])
    without = np.concatenate(values)
    changes = (n - 1) / n * ((rows * without).sum() / n - without)
    result = np.zeros((2, len(population.codes) + 1))
    for side, own_result, own_changes in zip(
        sides, result, np.split(changes, [len(sides[0].rows)]), strict=True
    ):
        own_result[side.step] = own_changes
    return result[0], result[1]


def _row_influence(side: ClassRows, influence: NDArray[Any]) -> NDArray[np.float64]:
    """Return the influence of each kind of row, which is proportional to its weight."""
    values: NDArray[np.float64] = influence[side.step]
    return values if side.weight is None else values * side.weight
