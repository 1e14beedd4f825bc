"""Find the points of curves at which a metric or the threshold has given values, by bisection."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rocframe.curves.table import TOTAL_ROUNDING
from rocframe.kernel.arrays import grouped_bisect, run_parallel
from rocframe.kernel.groups import concatenated_ranges, groups_of_rows
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.rates import CONFUSION, CountRatio
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from rocframe.curves.table import Curves
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.rates import Rate

Occurrence: TypeAlias = Literal["first", "last"]
LONG_CURVE = 1 << 12  # if curves have more rows than this on average, each is searched separately
SIGNIFICANT_DIGITS = 12  # digits to which inexact values of a metric are rounded


# A value is compared with a limit. The value is rounded first only if it differs from the limit by
# less than this fraction of the largest possible value. For other values, rounding cannot change
# the result of the comparison.
ROUNDING_MARGIN = 1e-10

# Time to compute and round a metric at a row, divided by the time of a bisection step.
EVALUATION_COST = 4


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointsAtValues:
    """Points of curves: arrays with one row per curve and one column per value.

    `exists` is True if the curve has a point at the value. `pos` and `neg` are the sizes of the
    classes. `top_score_tp` and `top_score_fp` are the counts in the second row of a curve, at its
    highest score.
    """

    tp: FloatArray
    fp: FloatArray
    threshold: FloatArray
    exists: BoolArray
    pos: FloatArray
    neg: FloatArray
    top_score_tp: FloatArray
    top_score_fp: FloatArray

    def evaluate(self, metric: Rate) -> FloatArray:
        """Return a metric at each point; NaN if it is undefined.

        Precision and lift without alerts have the value at the highest score, the expected value if
        a random part of the rows with this score is predicted positive.
        """
        tp, fp = self.tp, self.fp
        if metric.needs_alerts:
            none = tp + fp == 0
            tp, fp = np.where(none, self.top_score_tp, tp), np.where(none, self.top_score_fp, fp)
        values = metric.evaluate(confusion_counts(self.threshold, tp, fp, self.pos, self.neg))
        return np.where(self.exists, values, np.nan)


def interleave(points: Sequence[PointsAtValues]) -> PointsAtValues:
    """Return the points of all records in one record; points at one value are adjacent columns."""
    columns = {}
    for field in fields(PointsAtValues):
        parts = [getattr(part, field.name) for part in points]
        wide = field.name in {"tp", "fp", "threshold", "exists"}
        columns[field.name] = np.stack(parts, 2).reshape(len(parts[0]), -1) if wide else parts[0]
    return PointsAtValues(**columns)


class DefinedRanges(NamedTuple):
    """Ranges of rows `first[k]` to `last[k]` in which a metric is defined.

    The ranges of curve i are those from `starts[i]` to `starts[i + 1] - 1`.
    """

    first: IntArray
    last: IntArray
    starts: IntArray


class CumulativeExtremes(NamedTuple):
    """The ranges in which a metric is defined, and cumulative extremes of the metric in each row.

    They are taken over this and all later rows of the range if the last row with a value is
    searched, otherwise over this and all earlier rows.
    """

    ranges: DefinedRanges
    highest: FloatArray
    lowest: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveAxis:
    """The values of a metric in the rows of all curves, or the thresholds if `metric` is None.

    `exact` is True for thresholds and ratios of integer counts; other values are rounded before
    they are compared. `row_values` is None if the metric is computed only at the rows that a search
    compares. `extremes` is None for monotone metrics.
    """

    curves: Curves
    metric: Rate | None
    pos: FloatArray
    neg: FloatArray
    exact: bool
    row_values: FloatArray | None
    extremes: CumulativeExtremes | None

    @classmethod
    def from_curves(
        cls,
        curves: Curves,
        metric: Rate | None,
        *,
        n_values: int | None = None,
        rounded: bool = True,
    ) -> CurveAxis:
        """Return the `CurveAxis` of a metric.

        If the number `n_values` of searched values on each curve is small, the metric is computed
        only at the rows that a search compares, because this is faster. Values are `rounded` by
        default.
        """
        columns, (pos, neg) = curves.columns, curves.class_sizes
        weighted = any(columns.is_float(name) for name in CONFUSION)
        exact = not rounded or metric is None or (metric.count_ratio is not None and not weighted)
        row_values = extremes = None
        sizes = np.diff(curves.starts)
        steps = int(sizes.max(initial=0)).bit_length()
        evaluation = EVALUATION_COST * columns.height
        short_search = n_values is not None and n_values * steps * len(sizes) < evaluation
        few_rows = exact or short_search
        if metric is not None and not (metric.monotone and metric.count_ratio and few_rows):
            tp, fp = (columns[name].astype(np.float64) for name in ("tp", "fp"))
            totals = np.repeat(pos, sizes), np.repeat(neg, sizes)
            row_values = metric.evaluate(confusion_counts(columns[THRESHOLD], tp, fp, *totals))
            row_values = row_values if exact else round_values(row_values, metric.bounds)
            if not metric.monotone:
                extremes = find_extremes(row_values, curves.starts, metric.occurrence)
        return cls(
            curves=curves,
            metric=metric,
            pos=pos,
            neg=neg,
            exact=exact,
            row_values=row_values,
            extremes=extremes,
        )

    @property
    def complete(self) -> BoolArray:
        """Whether each curve has a row for its lowest score."""
        return ~self.curves.ends_early

    def total(self, names: Sequence[str]) -> FloatArray:
        """Return the sum of the counts `names`, such as tp + fn, in each curve; 1 without names."""
        if not names:
            return np.ones(len(self.pos))
        return self.pos * ("tp" in names) + self.neg * ("tn" in names)

    def values(
        self, row: IntArray, curve: IntArray, *, limit: FloatArray | None = None
    ) -> FloatArray:
        """Return the metric, or the threshold, at rows of curves; NaN if it is undefined.

        Only values close to `limit` are rounded, which is sufficient for comparisons with it.
        """
        if self.metric is None:
            return np.asarray(self.curves.columns.at(THRESHOLD, row), np.float64)
        if self.row_values is not None:
            return self.row_values[row]
        columns, ratio = self.curves.columns, self.metric.count_ratio
        assert ratio is not None
        if self.exact and any(columns.is_float(name) for name in CONFUSION):
            return ratio.evaluate({name: columns.at(name, row) for name in CONFUSION})
        if not self.exact and limit is None:
            counts = self._weighted_counts({*ratio.numerator, *ratio.denominator}, row, curve)
            return self.round_values(ratio.evaluate(counts))
        if self.exact:
            counts = {name: columns.at(name, row) for name in ratio.numerator}
        else:
            counts = self._weighted_counts(ratio.numerator, row, curve)
        with np.errstate(divide="ignore", invalid="ignore"):
            numerator = reduce(add, (counts[name] for name in ratio.numerator))
            result: FloatArray = numerator / self.total(ratio.denominator)[curve]
        if not self.exact and limit is not None:
            distance = np.asarray(result - limit)
            largest = 1.0 if ratio.denominator else (self.pos + self.neg).max(initial=1.0)
            close = np.abs(distance, out=distance) <= ROUNDING_MARGIN * largest
            if close.any():
                close &= distance != 0
                result[close] = self.values(row[close], np.broadcast_to(curve, row.shape)[close])
        return result

    def round_values(self, values: FloatArray) -> FloatArray:
        """Return the values, rounded in the same way as the metric in the rows of the curves."""
        if self.exact or self.metric is None:
            return values
        return round_values(values, self.metric.bounds)

    def _weighted_counts(
        self, names: Collection[str], row: IntArray, curve: IntArray
    ) -> dict[str, FloatArray]:
        """Return weighted counts at rows of curves; `fn` is pos - tp, and `tn` is neg - fp.

        The columns `fn` and `tn` of the table are not used: their rounding errors differ between
        rows, so tp + fn would not be the same in all rows.
        """
        counts = {}
        for name, rest, total in (("tp", "fn", self.pos), ("fp", "tn", self.neg)):
            if name in names or rest in names:
                counts[name] = np.asarray(self.curves.columns.at(name, row), np.float64)
            if rest in names:
                counts[rest] = np.maximum(total[curve] - counts[name], 0)
        return counts

    @property
    def occurrence(self) -> Occurrence:
        """Which of the rows that meet the condition is the operating point."""
        return "last" if self.metric is None else self.metric.occurrence

    def search(self, curve: IntArray, value: FloatArray, occurrence: Occurrence) -> IntArray:
        """Return the first or last row of each curve at each value of a monotone metric.

        For a rising metric, the first occurrence is the first row whose metric is at least the
        value, or else the last row + 1; the last occurrence is the last row whose metric is at most
        the value, or else the first row - 1. For a falling metric, "at least" and "at most" are
        exchanged.
        """
        first, last = (rows[curve][:, None] for rows in (self.curves.firsts, self.curves.lasts))
        curve = curve[:, None]
        sign = 1 if self.metric is not None and self.metric.rising else -1
        limit = sign * value

        def before(values: FloatArray) -> BoolArray:
            rising = values if sign > 0 else -values
            result: BoolArray = rising < limit if occurrence == "first" else rising <= limit
            return result

        if self._has_long_curves:
            end = self._search_counts(curve, sign, before, limit)
        else:
            first, last, _ = np.broadcast_arrays(first, last, value)
            end = grouped_bisect(
                lambda row: before(self.values(row, curve, limit=value)), first, last
            )
        return end if occurrence == "first" else end - 1

    @property
    def _has_long_curves(self) -> bool:
        """Whether counts are integers and each curve is long enough for a separate search."""
        columns = self.curves.columns
        if self.metric is None or self.row_values is not None:
            return False
        if any(columns.is_float(name) for name in CONFUSION):
            return False
        return columns.height > LONG_CURVE * len(self.curves.starts)

    def _search_counts(
        self,
        curve: IntArray,
        sign: int,
        before: Callable[[FloatArray], BoolArray],
        limit: FloatArray,
    ) -> IntArray:
        """Return the first row of each curve for which `before` is False, for each limit.

        `sign` is 1 for a rising and -1 for a falling metric, and `limit` is multiplied by it.
        """
        assert self.metric is not None
        assert self.metric.count_ratio is not None
        names, total = (
            self.metric.count_ratio.numerator,
            self.total(self.metric.count_ratio.denominator)[curve],
        )
        starts, columns = self.curves.starts, self.curves.columns
        with np.errstate(divide="ignore", invalid="ignore"):
            # `largest` is the largest count for which `before` is True. Rounding errors can change
            # `near` by at most 1, so the counts near + 1, near and near - 1 are checked.
            near = np.floor(np.nan_to_num(limit * total))
            above, here = (before(sign * count / total) for count in (near + 1, near))
        largest = np.where(above, near + 1, np.where(here, near, near - 1)).astype(np.int64)
        end = np.empty(largest.shape, np.int64)
        for i, index in enumerate(curve[:, 0]):
            first, stop = starts[index], starts[index + 1]
            counts = columns.between(names[0], first, stop)
            for name in names[1:]:
                counts = counts + columns.between(name, first, stop)
            counts = counts if sign > 0 else -counts
            end[i] = first + np.searchsorted(counts, largest[i], "right")
        return end

    def outer_rows(
        self, curve: IntArray, value: FloatArray, occurrence: Occurrence
    ) -> tuple[IntArray, BoolArray, BoolArray]:
        """Return the row at each value, whether the curve has it, and whether the row equals it.

        If the curve has the value and the row does not, the point is between this row and the next
        row (for the last occurrence), or the previous row (for the first occurrence).
        """
        if self.extremes is not None:
            return self._rows_in_ranges(self.extremes, curve, value)
        row = self.search(curve, value, occurrence)
        first, last = (rows[curve][:, None] for rows in (self.curves.firsts, self.curves.lasts))
        inside = np.clip(row, first, last)
        end = last if occurrence == "last" else first
        equal = self.values(inside, curve[:, None], limit=value) == value
        exists = (row == inside) & ~np.isnan(value)
        exists &= (inside != end) | equal
        return inside, exists, equal

    def _rows_in_ranges(
        self, extremes: CumulativeExtremes, curve: IntArray, value: FloatArray
    ) -> tuple[IntArray, BoolArray, BoolArray]:
        """Return the results of `outer_rows` for a metric that is not monotone, from all ranges."""
        assert self.metric is not None
        from_end = self.metric.occurrence == "last"
        assert self.row_values is not None
        values, (ranges, highest, lowest) = self.row_values, extremes
        sizes = ranges.starts[curve + 1] - ranges.starts[curve]
        owner = np.repeat(np.arange(len(curve)), sizes)
        index = concatenated_ranges(ranges.starts[curve], sizes)
        first, last, limit = np.broadcast_arrays(
            ranges.first[index][:, None], ranges.last[index][:, None], value[owner]
        )
        above = limit >= values[last if from_end else first]

        def is_before(row: IntArray) -> BoolArray:
            """Return whether the row of the value comes after `row` or, if `from_end`, is `row`."""
            result: BoolArray = np.where(above, highest[row] >= limit, lowest[row] <= limit)
            return result if from_end else ~result

        row = grouped_bisect(is_before, first, last) - from_end
        within = (row >= first) & (row <= last) & ~np.isnan(limit)
        none = -1 if from_end else len(values)
        outermost = np.full(value.shape, none, np.int64)
        (np.maximum if from_end else np.minimum).at(outermost, owner, np.where(within, row, none))
        exists = outermost != none
        outermost = np.where(exists, outermost, 0)
        return outermost, exists, values[outermost] == value

    def points(
        self,
        curve: IntArray,
        values: FloatArray,
        *,
        nearest: bool = False,
        occurrence: Occurrence | None = None,
    ) -> PointsAtValues:
        """Return the point of each curve at each value of the metric.

        Counts are interpolated between two rows, or are those of the `nearest` row. The threshold
        between two rows is that of the row whose metric is at least as good as the value.
        """
        assert self.metric is not None
        occurrence = occurrence or self.occurrence
        columns, better = self.curves.columns, self.metric.better
        targets = np.broadcast_to(values, (len(curve), values.shape[1]))
        value = self._clip_to_curve_range(curve, targets)
        row, exists, equal = self.outer_rows(curve, value, occurrence)
        # If a value is below the metric of the first row, the point has the counts of this row.
        left = exists & (value > targets)
        row = np.where(left, self.curves.firsts[curve][:, None], row)
        between = exists & ~equal & ~left
        above = np.where(between & (occurrence == "first"), row - 1, row)
        below = np.where(between & (occurrence == "last"), row + 1, row)
        rising = np.full(row.shape, self.metric.rising, bool)
        if self.metric.rising is None:
            rising = self.values(below, curve[:, None]) > self.values(above, curve[:, None])
        prefer_above = {"higher": ~rising, "lower": rising}.get(better, np.ones_like(rising))
        chosen = np.where(between & ~prefer_above, below, above)
        if nearest:
            chosen = self._nearest_row(curve, value, (above, below), chosen, occurrence)
            between = np.zeros(row.shape, bool)
        threshold = columns.at(THRESHOLD, chosen)
        tp, fp = (
            columns.at(name, chosen if nearest else above).astype(np.float64)
            for name in ("tp", "fp")
        )
        if between.any():
            # For a proportion of rows, computing all fractions is faster than selecting the points
            # between two rows.
            selected: Any = ... if self.metric.proportion_of else between
            fraction = np.zeros(row.shape)
            fraction[selected] = self.fraction_between(
                np.broadcast_to(curve[:, None], row.shape)[selected],
                *(part[selected] for part in (value, above, below)),
            )
            fraction[~between] = 0
            tp, fp = (
                interpolated_values(counts, columns.at(name, below), fraction)
                for name, counts in (("tp", tp), ("fp", fp))
            )
        return self._points(curve, tp, fp, threshold, exists)

    def fraction_between(
        self, curve: IntArray, value: FloatArray, above: IntArray, below: IntArray
    ) -> FloatArray:
        """Return the position of each value between two rows: 0 at `above`, 1 at `below`."""
        assert self.metric is not None
        ratio, columns = self.metric.count_ratio, self.curves.columns
        if ratio is not None and (self.metric.proportion_of or self.metric.is_number):
            start, end = (
                reduce(add, (columns.at(name, row) for name in ratio.numerator)).astype(np.float64)
                for row in (above, below)
            )
            total = self.total(ratio.denominator)[curve] if ratio.denominator else 1.0
            return segment_fraction(total * value - start, end - start)
        names = columns if ratio is None else {*ratio.numerator, *ratio.denominator}
        upper, lower = (
            {name: np.asarray(columns.at(name, row), np.float64) for name in names}
            for row in (above, below)
        )
        return segment_root(self.metric, value, upper, lower)

    def points_at_thresholds(
        self,
        curve: IntArray,
        thresholds: FloatArray,
        lacks_rows: BoolArray,
        *,
        nearest: bool = False,
    ) -> PointsAtValues:
        """Return the point of each curve at each threshold: the counts of `score >= threshold`.

        Curves in `lacks_rows` have points only at the thresholds of rows. With `nearest`, each
        point is the row with the nearest threshold.
        """
        columns = self.curves.columns
        given = np.broadcast_to(thresholds, (len(curve), thresholds.shape[1]))
        limit = self.curves.round_thresholds(given)
        last = self.curves.lasts[curve][:, None]
        row = self.search(curve, limit, "last")
        exists = self.complete[curve][:, None] | (columns.at(THRESHOLD, last) <= limit)
        if nearest:
            following = np.minimum(row + 1, last)
            scale = np.where(np.abs(limit) > 1, 0.5, 1.0)  # differences must not overflow
            with np.errstate(invalid="ignore"):  # infinite thresholds
                up, down = (
                    np.abs(scale * columns.at(THRESHOLD, rows) - scale * limit)
                    for rows in (row, following)
                )
            row = np.where((down < up) & ~equal_distances(up, down), following, row)
            given = columns.at(THRESHOLD, row)
        else:
            exists &= ~lacks_rows[curve][:, None] | (columns.at(THRESHOLD, row) == limit)
        tp, fp = (columns.at(name, row).astype(np.float64) for name in ("tp", "fp"))
        return self._points(curve, tp, fp, given, exists)

    def _points(
        self,
        curve: IntArray,
        tp: FloatArray,
        fp: FloatArray,
        threshold: FloatArray,
        exists: BoolArray,
    ) -> PointsAtValues:
        """Return the given points, with the class sizes and the second row of their curves."""
        columns = self.curves.columns
        second = np.minimum(self.curves.firsts[curve] + 1, self.curves.lasts[curve])[:, None]
        return PointsAtValues(
            tp=tp,
            fp=fp,
            threshold=threshold,
            exists=exists,
            pos=self.pos[curve][:, None],
            neg=self.neg[curve][:, None],
            top_score_tp=columns.at("tp", second).astype(np.float64),
            top_score_fp=columns.at("fp", second).astype(np.float64),
        )

    def _clip_to_curve_range(self, curve: IntArray, value: FloatArray) -> FloatArray:
        """Return the values, clipped to the range of each curve if `metric.extends` is true.

        The range can be smaller than [0, 1]: unscored negatives increase the FPR of the first row,
        and unscored positives are not predicted positive in the last row.
        """
        assert self.metric is not None
        if not self.metric.extends:
            return value
        first, last = (
            self.values(rows[curve], curve) for rows in (self.curves.firsts, self.curves.lasts)
        )
        end = np.where(self.complete[curve], last, np.inf)
        return np.clip(value, first[:, None], end[:, None])

    def _nearest_row(
        self,
        curve: IntArray,
        value: FloatArray,
        rows: tuple[IntArray, IntArray],
        preferred: IntArray,
        occurrence: Occurrence,
    ) -> IntArray:
        """Return the row of `rows` whose metric is nearer to the value.

        If both rows are equally near, the row `preferred` is returned. If neighboring rows have the
        same metric as this row, the first or last of them is returned, depending on `occurrence`.
        """
        above, below = rows
        with np.errstate(invalid="ignore"):  # infinite values
            up, down = (np.abs(self.values(row, curve[:, None]) - value) for row in rows)
        row = np.where(equal_distances(up, down), preferred, np.where(up < down, above, below))
        if self.extremes is None:
            return self.outer_rows(curve, self.values(row, curve[:, None]), occurrence)[0]
        assert self.row_values is not None
        values, ranges = self.row_values, self.extremes.ranges
        next_is_equal = np.append(values[1:] == values[:-1], False)
        next_is_equal[ranges.last] = False
        ends = np.flatnonzero(~next_is_equal)
        outermost: IntArray = np.searchsorted(ends, row)
        return ends[outermost] if occurrence == "last" else np.append(0, ends + 1)[outermost]


def round_values(values: FloatArray, bounds: tuple[float, float]) -> FloatArray:
    """Return values of a metric rounded to `SIGNIFICANT_DIGITS` digits, without rounding errors."""
    if ((values == 0) | (values == 1)).all():
        return values + 0.0
    rounded = pl.col("value").round_sig_figs(SIGNIFICANT_DIGITS)
    # A difference of two ratios near 0 can have a large relative error. Metrics with finite bounds
    # are therefore also rounded to a number of decimals.
    if np.isfinite(bounds).all():
        rounded = rounded.round(SIGNIFICANT_DIGITS)
    column = pl.DataFrame({"value": values.ravel()}).select(rounded).to_series()
    result = column.to_numpy().reshape(values.shape) + 0.0
    return np.where(np.isfinite(values), result, values)


def equal_distances(a: FloatArray, b: FloatArray) -> BoolArray:
    """Return which pairs of distances are equal except for rounding errors."""
    result: BoolArray = np.isclose(a, b, rtol=TOTAL_ROUNDING, atol=0, equal_nan=True)
    return result


def find_extremes(
    values: FloatArray, starts: IntArray, occurrence: Occurrence
) -> CumulativeExtremes:
    """Return the ranges of rows without NaN, and the cumulative extremes within each range."""
    defined = ~np.isnan(values)
    begins, ends = np.zeros(len(values), bool), np.zeros(len(values), bool)
    begins[starts[:-1]] = ends[starts[1:] - 1] = True
    begins[1:] |= ~defined[:-1]
    ends[:-1] |= ~defined[1:]
    first, last = np.flatnonzero(begins & defined), np.flatnonzero(ends & defined)
    index = np.cumsum((begins | ~defined).astype(np.int64))
    from_end = occurrence == "last"
    value = pl.col("value")
    extremes = pl.DataFrame({"index": index, "value": values}).select(
        highest=value.cum_max(reverse=from_end).over("index"),
        lowest=value.cum_min(reverse=from_end).over("index"),
    )
    highest, lowest = (column.to_numpy() for column in extremes)
    return CumulativeExtremes(
        DefinedRanges(first, last, np.searchsorted(first, starts)), highest, lowest
    )


def find_curves_lacking_rows(curves: Curves) -> BoolArray:
    """Return a mask of the curves that do not have one row per distinct score.

    Such a curve ends before its lowest score, has an error bound above 0, or, for unweighted
    counts, has neighboring rows with the same counts, as at given thresholds. Different sums of
    weights can be rounded to equal counts.
    """
    columns, result = curves.columns, curves.ends_early | curves.has_gaps
    if columns.is_float("tp") or columns.is_float("fp"):
        return result

    def unchanged_rows(start: int, end: int) -> IntArray:
        above = max(start - 1, 0)
        alerts = columns.between("tp", above, end) + columns.between("fp", above, end)
        return np.flatnonzero(alerts[1:] == alerts[:-1]) + above + 1

    rows = run_parallel(lambda block: unchanged_rows(*block), columns.blocks(BLOCK_ROWS))
    row = np.concatenate([np.zeros(0, np.int64), *rows])
    curve = groups_of_rows(curves.starts, row)
    result[curve[row > curves.starts[curve]]] = True
    return result


# Largest error of the metric at a root, as a fraction of its change between the two rows.
ROOT_TOLERANCE = 1e-11


def segment_fraction(distance: FloatArray, length: FloatArray, *, empty: float = 0.0) -> FloatArray:
    """Return distance / length, clipped to [0, 1]; `empty` if the length is 0."""
    fraction = np.full(np.shape(distance), empty)
    np.divide(distance, length, out=fraction, where=length != 0)
    return np.clip(fraction, 0, 1, out=fraction)


def interpolated_values(start: Array, end: Array, fraction: float | FloatArray) -> FloatArray:
    """Return linearly interpolated values: `start` at the fraction 0, and `end` at 1."""
    start = np.asarray(start, np.float64)
    values: FloatArray = start + fraction * (end - start)
    return values


def segment_root(
    metric: Rate, value: FloatArray, upper: Mapping[str, Array], lower: Mapping[str, Array]
) -> FloatArray:
    """Return the fraction in [0, 1] at which a metric has a value between two rows of a curve.

    Counts are interpolated linearly: the fraction is 0 at the row `upper` and 1 at the row `lower`.
    """
    if not len(value):
        return value
    ratio = metric.count_ratio
    if metric.at_given_prevalence and isinstance(metric.formula, CountRatio):
        ratio = metric.formula
        totals = upper["tp"] + upper["fn"], upper["fp"] + upper["tn"]
        upper, lower = (metric.reweight(row, *totals) for row in (upper, lower))
    step = {name: lower[name] - upper[name] for name in CONFUSION if name in upper}
    if ratio is not None:
        off, change = (
            sum(counts[name] for name in ratio.numerator)
            - value
            * (sum(counts[name] for name in ratio.denominator) if ratio.denominator else constant)
            for counts, constant in ((upper, 1), (step, 0))
        )
        return segment_fraction(off, -change)
    totals = upper["tp"] + upper["fn"], upper["fp"] + upper["tn"]
    row = upper[THRESHOLD], upper["tp"], upper["fp"], step["tp"], step["fp"], *totals
    arguments = (value, *row)

    def difference(fraction: Any, value: Any, *row: Any) -> FloatArray:
        """Return the metric at a point of the segment minus the value."""
        threshold, tp, fp, more_tp, more_fp, pos, neg = row
        counts = confusion_counts(
            threshold, tp + fraction * more_tp, fp + fraction * more_fp, pos, neg
        )
        result: FloatArray = metric.evaluate(counts) - value
        return result

    start, middle, end = (
        difference(np.full(len(value), fraction), *arguments) for fraction in (0, 0.5, 1)
    )
    # If the metric is a ratio of two linear functions of the fraction, its values at three points
    # determine the root. For other metrics, this root is wrong and `solved` is False.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # `weight` is the denominator at the end divided by the denominator at the start.
        weight = (start - middle) / (middle - end)
        root = np.asarray(np.clip(start / (start - weight * end), 0, 1))
        solved = np.abs(difference(root, *arguments)) <= ROOT_TOLERANCE * np.abs(end - start)
    solved &= np.isfinite(start) & np.isfinite(end)
    if not solved.all():
        rest = [argument[~solved] for argument in arguments]
        root[~solved] = bracketed_root(difference, rest, falling=start[~solved] > 0)
    return root


def bracketed_root(
    difference: Callable[..., FloatArray], arguments: Sequence[FloatArray], *, falling: BoolArray
) -> FloatArray:
    """Return the fraction in [0, 1] at which a function is 0, by Chandrupatla's (1997) method.

    `falling` is True for functions that are positive at 0. Undefined values have the sign of the
    function at 1. The result is 0 if both ends have the same sign.
    """
    from scipy.optimize.elementwise import find_root

    sign, large = np.where(falling, -1.0, 1.0), 1e150

    def rising(fraction: FloatArray, sign: Any, *arguments: Any) -> FloatArray:
        values = np.nan_to_num(sign * difference(fraction, *arguments), nan=large)
        result: FloatArray = np.clip(values, -large, large)
        return result

    ends = np.zeros(len(sign)), np.ones(len(sign))
    result = find_root(rising, ends, args=(sign, *arguments), tolerances={"xatol": 2.0**-54})
    return np.where(result.success, result.x, 0.0)


def confusion_counts(
    threshold: FloatArray, tp: FloatArray, fp: FloatArray, pos: FloatArray, neg: FloatArray
) -> dict[str, FloatArray]:
    """Return threshold and counts by name; `fn` is pos - tp and `tn` is neg - fp, at least 0."""
    fn, tn = np.maximum(pos - tp, 0), np.maximum(neg - fp, 0)
    return {THRESHOLD: threshold, "tp": tp, "fp": fp, "fn": fn, "tn": tn}


def precision_recall_integral(
    tp: FloatArray, fp: FloatArray, tp0: FloatArray, fp0: FloatArray
) -> FloatArray:
    """Return the integral of precision over tp, interpolated as Davis and Goadrich (2006) do."""
    gain, loss = tp - tp0, fp - fp0
    length, rises = gain + loss, gain > 0
    pos_share, neg_share = (
        np.divide(part, length, out=np.zeros_like(tp), where=rises) for part in (gain, loss)
    )
    # At the point with n more alerts than the first point, tp is tp0 + pos_share·n.
    distance = fp0 * pos_share - tp0 * neg_share
    area = pos_share * (gain - distance * log_growth(tp0 + fp0, length))
    return np.where(rises, area, 0.0)


def log_growth(start: FloatArray, growth: FloatArray) -> FloatArray:
    """Return log((start + growth) / start), or 0 if `start` is 0, without overflow."""
    positive = start > 0
    with np.errstate(over="ignore"):
        relative = np.divide(growth, start, out=np.zeros_like(start), where=positive)
    result: FloatArray = np.log1p(relative)
    large = np.isinf(relative)
    result[large] = np.log(growth[large]) - np.log(start[large])
    return result
