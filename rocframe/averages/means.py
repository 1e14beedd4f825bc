"""Weighted means over curves, with standard deviation and confidence limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rocframe.areas.area import auc_of
from rocframe.curves.locate import find_curves_lacking_rows
from rocframe.curves.table import CurveColumns, check_ends, check_gaps
from rocframe.curves.thinning import evenly_ranked_rows
from rocframe.errors import BrokenCurveError, OptionValueError
from rocframe.frames import build_table, select_keys, take_rows
from rocframe.inference import exclusion_notes, join_notes, note_with_keys, wilson
from rocframe.kernel.arrays import scale_by_groups, split_groups
from rocframe.kernel.groups import (
    RowGroups,
    concatenated_ranges,
    cumulative_sums,
    group_starts,
    groups_of_rows,
    is_run_start,
    run_starts,
)
from rocframe.kinds import PREVALENCE
from rocframe.options import to_float
from rocframe.rates import CONFUSION, Settings
from rocframe.resampling import batched_replicates, nearly_equal, replicate_limits, rounding_scale
from rocframe.schemas.table_type import THRESHOLD
from rocframe.text import format_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.averages.options import AverageInterval, AverageOptions, AveragePlan
    from rocframe.curves.locate import CurveAxis
    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind

RESAMPLES_PER_BATCH = 500
MIN_EXPONENT = -1000  # values are multiplied by at most 2**1000, which is a finite Float64 number


@dataclass(
    frozen=True, kw_only=True, eq=False
)  # without slots, because a class with slots cannot have cached properties
class CurveValues:
    """Values of curves (rows) at grid points (columns); NaN if a curve has no value.

    The first curve of group i is the row `starts[i]`. `weight` is that of each curve in the mean.
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
        """Exponent of the power of 2 that divides the values, so that squares do not overflow."""
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
        """Return a statistic of scaled values in the unit of the values; NaN if it overflows."""
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
    """Standard error and limits of each mean; NaN if undefined, as for `constant` values."""

    se: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    constant: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MeanSample:
    """Finite values of curves, and what the limits of their means are computed from.

    `curves` is the number of curves of each group, usable or not, `rows` the denominator of the
    metric in each curve, and `streams` identify the random numbers of each group.
    """

    values: CurveValues
    options: AverageOptions
    curves: NDArray[np.int64]
    rows: NDArray[np.float64]
    streams: list[tuple[int, ...]]
    bounds: tuple[float, float]

    def limits(self) -> MeanLimits:
        """Return the confidence limits of the means; NaN without a method of limits."""
        interval = self.options.limits
        return self.undefined_limits() if interval is None else interval.limits(self)

    def undefined_limits(self) -> MeanLimits:
        """Return limits that are NaN for all groups and points."""
        shape = self.values.count.shape
        se, lower, upper = np.full((3, *shape), np.nan)
        return MeanLimits(se, lower, upper, np.zeros(shape, bool))


def _binomial_mean_limits(sample: MeanSample) -> MeanLimits:
    """Return Wilson's limits of the pooled rate; the limits include the mean of the rates."""
    values, rows = sample.values, sample.rows
    defined, mean = values.defined, values.mean
    hits = values.group_sums(np.where(defined, rows[:, None] * values.values, 0.0))
    total = values.group_sums(rows[:, None] * defined)
    lower, upper = wilson(hits, total, sample.options.level)
    variance = np.where(defined, _divide(values.weight**2, rows)[:, None], 0.0)
    factor = _divide(values.group_sums(variance), values.total_weight**2)
    se = np.sqrt(np.clip(mean * (1 - mean), 0, None) * factor)
    se = np.where(se > 0, se, np.nan)
    constant = np.zeros(mean.shape, bool)
    return MeanLimits(se, np.minimum(lower, mean), np.maximum(upper, mean), constant)


def _t_mean_limits(
    sample: MeanSample, *, is_normal: bool = False, overlap: bool = False
) -> MeanLimits:
    """Return limits by quantiles of t or normal distributions; `overlap` corrects the variance."""
    from scipy.special import ndtri, stdtrit

    values, options, bounds = sample.values, sample.options, sample.bounds
    count, probability = values.count, (1 + options.level) / 2
    maximum = np.fmax.reduceat(values.scaled, values.starts, axis=0)
    constant = nearly_equal(values.minimum, maximum, scale=values.magnitude(bounds))
    constant &= count > 1
    factor = values.sum_squared_shares
    if overlap:
        # The number of test rows per training row is 1 / (k - 1) for k folds.
        ratio = _divide(np.ones(len(sample.curves)), (sample.curves - 1).astype(np.float64))
        if options.test_per_train is not None:
            ratio = np.full(len(sample.curves), options.test_per_train)
        factor = factor + ratio[:, None]
    se = np.where(constant, np.nan, values.scaled_sd * np.sqrt(factor))
    quantiles = np.full(int(count.max(initial=1)) + 1, np.nan)
    quantiles[2:] = stdtrit(np.arange(1.0, len(quantiles) - 1), probability)
    margin = (ndtri(probability) if is_normal else quantiles[count]) * se
    lower, upper = (
        values.unscaled(limit, bounds)
        for limit in (values.scaled_mean - margin, values.scaled_mean + margin)
    )
    return MeanLimits(values.unscaled(se), lower, upper, constant)


def _bootstrap_mean_limits(sample: MeanSample) -> MeanLimits:
    """Return percentile limits from resampled curves; equally many curves have the same draws."""
    values, options = sample.values, sample.options
    ends = np.append(values.starts[1:], len(values.values))
    se, lower, upper, constant = sample.undefined_limits()
    magnitude = values.magnitude(sample.bounds)
    for group, (start, end) in enumerate(zip(values.starts, ends, strict=True)):
        counts = values.count[group]
        for n in np.unique(counts[counts > 1]):
            at = group, np.flatnonzero(counts == n)
            undefined = ~values.defined[start:end, at[1]]
            curves = start + np.argsort(undefined, axis=0, kind="stable")[:n]
            means = _replicate_means(
                values.scaled[curves, at[1]], values.weight[curves], options, sample.streams[group]
            )
            constant[at] = nearly_equal(means.min(axis=0), means.max(axis=0), scale=magnitude[at])
            se[at] = means.std(axis=0, ddof=1)
            lower[at], upper[at] = replicate_limits(means, options.level)
    se, lower, upper = (
        np.where(constant, np.nan, values.unscaled(part)) for part in (se, lower, upper)
    )
    return MeanLimits(se, lower, upper, constant)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanInterval:
    """A method of the limits of means (or only `of_proportions`), and the options that it uses."""

    limits: Callable[[MeanSample], MeanLimits]
    uses: frozenset[str] = frozenset({"level"})
    of_proportions: bool = False


INTERVALS: dict[AverageInterval, MeanInterval] = {
    "corrected": MeanInterval(
        limits=partial(_t_mean_limits, overlap=True), uses=frozenset({"level", "test_per_train"})
    ),
    "t": MeanInterval(limits=_t_mean_limits),
    "normal": MeanInterval(limits=partial(_t_mean_limits, is_normal=True)),
    "binomial": MeanInterval(limits=_binomial_mean_limits, of_proportions=True),
    "bootstrap": MeanInterval(
        limits=_bootstrap_mean_limits, uses=frozenset({"level", "n_boot", "seed"})
    ),
}


def _replicate_means(
    values: NDArray[np.float64],
    weight: NDArray[np.float64],
    options: AverageOptions,
    key: tuple[int, ...],
) -> NDArray[np.float64]:
    """Return the means over resampled curves (rows) at each point, with one row per resample."""
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveGroups:
    """The curves of all groups: `curve[starts[i]]` to `curve[starts[i + 1] - 1]` for group i.

    `usable` curves have both classes. `weight` is scaled to at most 1. `note_keys` has the keys
    that the note `lacks_rows` lists for each curve, those of its original curves if it is pooled.
    """

    keys: pl.DataFrame
    curves: Curves
    curve: NDArray[np.int64]
    starts: NDArray[np.int64]
    usable: NDArray[np.bool_]
    weight: NDArray[np.float64]
    note_keys: Sequence[Sequence[str]]
    notes: list[str | None]

    @classmethod
    def from_keys(
        cls,
        keys: pl.DataFrame,
        curves: Any,
        over: Sequence[str],
        *,
        usable: NDArray[np.bool_],
        weight: NDArray[np.float64],
    ) -> CurveGroups:
        """Return the groups of curves with these keys, by all keys except `over`."""
        groups, names = group_keys(keys, over), format_keys(keys, over)
        order, starts = groups.order, groups.starts
        return cls(
            keys=groups.keys,
            curves=curves,
            curve=order,
            starts=starts,
            usable=usable[order],
            weight=scale_by_groups(weight[order], starts),
            note_keys=[[name] for name in names[order]],
            notes=exclusion_notes(names[order], usable[order], starts),
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of curves of each group, including curves that are not usable."""
        return np.diff(self.starts)


def group_curves(
    curves: Curves,
    over: Sequence[str],
    weights: str | Mapping[Any, float],
    argument: str = "weights",
) -> CurveGroups:
    """Return the curves by all keys except `over`; `argument` has the weights, for errors."""
    pos, neg = curves.class_sizes
    weight = curve_weights(curves.keys, over, weights, argument, rows=pos + neg, positives=pos)
    return CurveGroups.from_keys(
        curves.keys, curves, over, usable=(pos > 0) & (neg > 0), weight=weight
    )


def group_keys(keys: pl.DataFrame, over: Sequence[str]) -> RowGroups:
    """Return the groups of rows with equal values of all columns except `over`; none if empty."""
    rest = select_keys(keys, [name for name in keys.columns if name not in over])
    if not keys.height:
        return RowGroups(keys=rest, starts=np.zeros(1, np.int64), order=np.zeros(0, np.int64))
    names = rest.columns
    rest.columns = [str(i) for i in range(rest.width)]
    groups = RowGroups.from_keys(rest, keys.height)
    groups.keys.columns = names
    return groups


def format_keys(keys: pl.DataFrame, over: Sequence[str]) -> NDArray[np.object_]:
    """Return the key of each curve as text: the values of `over`, or of all keys if it is empty."""
    columns = [format_values(keys.get_column(name)) for name in over or keys.columns]
    if not columns:
        return np.full(keys.height, "", object)
    result = np.empty(keys.height, object)
    result[:] = [" ".join(key) for key in zip(*columns, strict=True)]
    return result


def curve_weights(
    keys: pl.DataFrame,
    over: Sequence[str],
    weights: str | Mapping[Any, float],
    argument: str,
    **totals: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the weights: from a mapping, the total of this name, or 1 for `"equal"`."""
    if isinstance(weights, str):
        return totals.get(weights, np.ones(keys.height))
    columns = [keys.get_column(name).to_list() for name in over]
    values = columns[0] if len(over) == 1 else list(zip(*columns, strict=True))
    result = np.ones(keys.height)
    for i, key in enumerate(values):
        if key not in weights:
            raise OptionValueError.compose(
                argument,
                weights,
                f"there is no number for {key!r}",
                f"Pass a number for each value of {' and '.join(map(repr, over))}.",
            )
        result[i] = to_float(weights[key])
    return result


MAX_CELLS = 1 << 17  # a block has at most twice this number of values of all curves
MAX_ROWS = 1 << 20  # the values of about this number of rows are sorted at once


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridBlock:
    """Groups and their `values` (one row for all, or one each, of which `lengths` are used)."""

    groups: NDArray[np.int64]
    values: NDArray[np.float64]
    lengths: NDArray[np.int64]

    @property
    def used(self) -> NDArray[np.bool_]:
        """A mask of the elements of `values` that are used, with one row per group."""
        return np.arange(self.values.shape[1]) < self.lengths[:, None]


def grid_blocks(
    curve_groups: CurveGroups, axis: CurveAxis, plan: AveragePlan
) -> Iterator[GridBlock]:
    """Yield blocks of groups and values; each block has a limited size."""
    groups = np.arange(len(curve_groups.notes))
    common = plan.common_values
    if common is not None:
        for part in split_groups(curve_groups.starts, max(1, MAX_CELLS // len(common))):
            lengths = np.full(part.stop - part.start, len(common))
            yield from _split_values(
                curve_groups,
                GridBlock(groups=groups[part], values=common[None, :], lengths=lengths),
            )
        return
    rows = np.append(0, np.cumsum(np.diff(curve_groups.curves.starts)[curve_groups.curve]))[
        curve_groups.starts
    ]
    for part in split_groups(rows, MAX_ROWS):
        values, starts = _observed_values(curve_groups, axis, plan, groups[part])
        yield from _similar_blocks(curve_groups, groups[part], values, starts)


def _split_values(curve_groups: CurveGroups, block: GridBlock) -> Iterator[GridBlock]:
    """Yield blocks of limited size; a block with a large group is split."""
    width = block.values.shape[1]
    step = max(1, 2 * MAX_CELLS // int(curve_groups.sizes[block.groups].sum()))
    for start in range(0, width, step):
        values = block.values[:, start : start + step]
        lengths = np.clip(block.lengths - start, 0, values.shape[1])
        yield GridBlock(groups=block.groups, values=values, lengths=lengths)


def _similar_blocks(
    curve_groups: CurveGroups,
    groups: NDArray[np.int64],
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
) -> Iterator[GridBlock]:
    """Yield blocks of groups with similar numbers of values, so that few cells are unused."""
    lengths = np.diff(starts)
    order = np.argsort(lengths, kind="stable")
    curves = np.cumsum(curve_groups.sizes[groups[order]])
    first = 0
    while first < len(order):
        before = curves[first] - curve_groups.sizes[groups[order[first]]]
        longest = np.maximum(lengths[order[first:]], 1)
        fits = ((curves[first:] - before) * longest <= MAX_CELLS) & (longest <= 2 * longest[0])
        last = first + max(1, int(np.argmin(fits)) if not fits.all() else len(fits))
        part = order[first:last]
        table = np.full((len(part), int(lengths[part].max())), np.nan)
        table[np.arange(table.shape[1]) < lengths[part][:, None]] = values[
            concatenated_ranges(starts[part], lengths[part])
        ]
        yield from _split_values(
            curve_groups, GridBlock(groups=groups[part], values=table, lengths=lengths[part])
        )
        first = last


def _observed_values(
    curve_groups: CurveGroups, axis: CurveAxis, plan: AveragePlan, groups: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the sorted, distinct fixed values of each group, or evenly ranked ones of them."""
    curves = curve_groups.curves
    member = concatenated_ranges(curve_groups.starts[groups], curve_groups.sizes[groups])
    member, owner = (
        part[curve_groups.usable[member]]
        for part in (member, np.repeat(np.arange(len(groups)), curve_groups.sizes[groups]))
    )
    curve = curve_groups.curve[member]
    lengths = curves.starts[curve + 1] - curves.starts[curve]
    rows = concatenated_ranges(curves.starts[curve], lengths)
    values, group = axis.values(rows, np.repeat(curve, lengths)) + 0.0, np.repeat(owner, lengths)
    values, group = values[~np.isnan(values)], group[~np.isnan(values)]
    sign = -1 if plan.fixed is None else 1  # thresholds are sorted in falling order
    ends: list[float] = [0.0, 1.0] if plan.is_curve else []
    if plan.fixed is None:
        ends = [np.inf]
    else:
        # A group without values has one row, which contains its note.
        empty = np.setdiff1d(np.arange(len(groups)), group) if not ends else np.zeros(0, np.int64)
        values, group = np.append(values, np.full(len(empty), np.nan)), np.append(group, empty)
    values = np.concatenate([values, np.tile(ends, len(groups))])
    group = np.concatenate([group, np.repeat(np.arange(len(groups)), len(ends))])
    order = np.lexsort((sign * values, group))
    values, group = values[order], group[order]
    is_new = is_run_start(values, group)
    values, group = values[is_new], group[is_new]
    starts = group_starts(group, len(groups))
    if not isinstance(plan.grid, int):
        return values, starts
    rows, starts = evenly_ranked_rows(starts, plan.grid)
    return values[rows], starts


def collect_blocks(
    curve_groups: CurveGroups,
    schema: dict[str, pl.DataType],
    blocks: Iterable[tuple[GridBlock, Mapping[str, Any]]],
) -> pl.DataFrame:
    """Return one table from the columns of all blocks, in the order of the groups."""
    owners, parts = [np.zeros(0, np.int64)], []
    for block, columns in blocks:
        shape = columns["n_curves"].shape
        used = np.repeat(block.used, shape[1] // block.values.shape[1], axis=1)
        owners.append(np.repeat(block.groups, used.sum(axis=1)))
        parts.append({name: np.broadcast_to(columns[name], shape)[used] for name in schema})
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")

    def column_of(name: str) -> Any:
        if not parts:
            return []
        values = np.concatenate([part[name] for part in parts])[order]
        return values.tolist() if values.dtype == object else values

    columns = {name: column_of(name) for name in schema}
    return build_table(curve_groups.keys, columns, schema, rows=owner[order])


def pooled_curves(
    curves: Curves, kind: Kind, over: Sequence[str], *, ranked: bool = False
) -> pl.DataFrame:
    """Return a table with one pooled curve per group; `ranked` as in `merge_curves`."""
    curve_groups = group_curves(curves, over, "equal")
    merged = merge_curves(curves, curve_groups, ranked=ranked)
    check_gaps(curves, "the area of the pooled curve is unknown")
    early = curves.ends_early[curve_groups.curve]
    areas = auc_of(curves)[curve_groups.curve]
    areas[~curve_groups.usable] = np.nan
    curve_areas = CurveValues(
        values=areas[:, None], weight=curve_groups.weight, starts=curve_groups.starts[:-1]
    )
    groups = len(curve_groups.notes)
    mean = curve_areas.mean.ravel() if groups else np.zeros(0)
    count = curve_areas.count.ravel() if groups else np.zeros(0, np.int64)
    pooled, notes = auc_of(merged), list(curve_groups.notes)
    for i in np.unique(groups_of_rows(curve_groups.starts, np.flatnonzero(early))):
        start, end = curve_groups.starts[i : i + 2]
        keys = [
            curve_groups.note_keys[curve][0] for curve in start + np.flatnonzero(early[start:end])
        ]
        notes[i] = join_notes(notes[i], note_with_keys("lacks_rows", keys))
        mean[i] = pooled[i] = np.nan
    per_group = {
        "pooled_auc": pl.Series(pooled, nan_to_null=True),
        "mean_auc": pl.Series(mean, nan_to_null=True),
        "n_curves": pl.Series(count),
        "note": pl.Series(notes, dtype=pl.String),
    }
    group = pl.Series(np.repeat(np.arange(groups, dtype=np.uint32), np.diff(merged.starts)))
    table = take_rows(curve_groups.keys, group).with_columns(
        pl.Series(name, values) for name, values in merged.columns.items()
    )
    if not ranked:
        table = table.with_columns(pl.col(THRESHOLD).cast(curves.layout.scores))
    if curves.layout.has_prevalence:
        table = table.with_columns(pl.lit(curves.prevalence, pl.Float64()).alias(PREVALENCE))
    rates = kind.exprs(Settings(prevalence=curves.prevalence))
    return table.with_columns(rates).with_columns(
        values.gather(group).alias(name) for name, values in per_group.items()
    )


def merge_curves(curves: Curves, curve_groups: CurveGroups, *, ranked: bool) -> Curves:
    """Return one curve per group: the sums of the counts of its curves at each threshold."""
    if ranked:
        curves = _rank_scores(curves)
    lengths = np.diff(curves.starts)[curve_groups.curve]
    rows = concatenated_ranges(curves.firsts[curve_groups.curve], lengths)
    group = np.repeat(np.arange(len(curve_groups.notes)), np.diff(curve_groups.starts))
    first = np.zeros(len(curves.columns["tp"]), bool)
    first[curves.firsts] = True
    columns = {name: values[rows] for name, values in curves.columns.items()}
    ends = np.cumsum(lengths)
    edges = np.append(0, ends)[curve_groups.starts]
    order = np.concatenate(
        [
            np.zeros(0, np.int64),
            *(
                start + _merge_order(columns[THRESHOLD][start:end], first[rows[start:end]])
                for start, end in pairwise(edges)
            ),
        ]
    )
    group_of_row, is_first = np.repeat(group, lengths)[order], first[rows][order]
    threshold = columns[THRESHOLD][order]
    first_rows = run_starts(group_of_row, is_first, threshold)
    starts = group_starts(group_of_row[first_rows], len(curve_groups.notes))
    _check_same_thresholds(curves, curve_groups, lengths, np.diff(starts)[group])
    counts: dict[str, NDArray[Any]] = {}
    for rising, falling in (("tp", "fn"), ("fp", "tn")):
        # The increase of a count of the pooled curve at a threshold is the sum of its increases in
        # all curves of the group.
        steps = np.diff(columns[rising], prepend=columns[rising][:1] * 0)
        steps[first[rows]] = columns[rising][first[rows]]
        sums = np.add.reduceat(steps[order], first_rows) if len(first_rows) else steps[:0]
        counts[rising] = cumulative_sums(sums, starts)
        total = np.add.reduceat(
            columns[rising][ends - 1] + columns[falling][ends - 1], curve_groups.starts[:-1]
        )
        counts[falling] = np.repeat(total, np.diff(starts)) - counts[rising]
        if counts[falling].dtype.kind == "f":
            counts[falling] = np.maximum(counts[falling], 0)
    dtype = np.result_type(*counts.values())
    named = {name: counts[name].astype(dtype, copy=False) for name in CONFUSION}
    merged = CurveColumns.from_arrays({THRESHOLD: threshold[first_rows], **named})
    return replace(
        curves,
        keys=curve_groups.keys,
        columns=merged,
        starts=starts,
        has_gaps=np.zeros(len(starts) - 1, bool),
    )


def _merge_order(threshold: NDArray[np.float64], is_first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the order of rows by falling threshold; first rows of curves precede the score inf."""
    scored = np.flatnonzero(~is_first)
    # A stable sort is fast here, because each curve is already sorted.
    order: NDArray[np.int64] = scored[np.argsort(-threshold[scored], kind="stable")]
    return np.concatenate([np.flatnonzero(is_first), order])


def _check_same_thresholds(
    curves: Curves, curve_groups: CurveGroups, lengths: NDArray[np.int64], merged: NDArray[np.int64]
) -> None:
    """Raise an error if curves of a group were computed at different given thresholds."""
    different = find_curves_lacking_rows(curves)[curve_groups.curve] & (lengths != merged)
    if different.any():
        raise BrokenCurveError.compose(
            "curves: curves with different thresholds= cannot be pooled",
            "Compute curves without thresholds=, or with the same thresholds, and keep all rows.",
        )


def _rank_scores(curves: Curves) -> Curves:
    """Return curves whose scores are shares of lower scores; equal ones count one half."""
    check_ends(curves, "the ranks of its scores are unknown", "Use curves without thresholds=.")
    tp, fp = curves.columns["tp"], curves.columns["fp"]
    positions = tp + fp
    before = np.append(positions[:1] * 0, positions[:-1])
    sizes = np.diff(curves.starts)
    total = np.repeat(curves.pos + curves.neg, sizes)
    doubled = 2 * total - positions - before
    rank = np.divide(doubled, 2 * total, out=np.zeros(len(tp)), where=total > 0)
    rank[curves.firsts] = np.inf
    columns = CurveColumns.from_arrays({**curves.columns, THRESHOLD: rank})
    return replace(curves, columns=columns)
