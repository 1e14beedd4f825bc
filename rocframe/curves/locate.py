"""Points of curves where a metric or the threshold has given values, found by bisection.

The counts are interpolated linearly between neighbouring rows.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rocframe.errors import OptionValueError
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.threads import run_parallel
from rocframe.options import check_choice, parse_integer, parse_numbers, to_float, to_floats
from rocframe.rates import CONFUSION
from rocframe.schemas import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.rates import Rate


Occurrence: TypeAlias = Literal["first", "last"]
MAX_GRID_POINTS = 10**7
LONG_CURVE = 1 << 12  # rows
TOTAL_TOLERANCE = 1e-9  # relative rounding error of a weighted total
SIGNIFICANT_DIGITS = 12  # of a metric whose formula may be evaluated in several orders

ROUNDING_MARGIN = 1e-10  # relative to the largest value; larger than the change by rounding

EVALUATION_COST = 4  # of a metric at one row that needs rounding, per row of a search


def parse_grid(
    grid: object, *, keyword: str, bounds: tuple[float, float] | None = (0, 1)
) -> int | str | list[float]:
    """Return a number of grid points, the grid values in rising order, or the keyword."""
    if isinstance(grid, str):
        check_choice("grid", grid, (keyword,))
        return grid
    points = to_float(grid)
    if points is not None and not isinstance(grid, bool | float) and points % 1 == 0:
        return parse_integer("grid", grid, low=2, high=MAX_GRID_POINTS, example=101)
    if points is not None or not to_floats(grid):
        problem = f'expected a number of points, a list of values or "{keyword}"'
        hint = "Use, for example, grid=101 or grid=[0.01, 0.1]."
        raise OptionValueError.compose("grid", grid, problem, hint)
    values = parse_numbers("grid", grid, bounds=bounds, example="[0.01, 0.1]")
    return sorted({value + 0.0 for value in values})


def grouped_bisect(
    before: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return, in each range of rows, the first row for which `before` is False.

    A range goes from `first` to `last`, both included. `before` must be True for some number of
    rows at the start of a range and False for all others. The result is `last + 1` where it is
    True for all rows.
    """
    low, high = np.broadcast_arrays(first, last + 1)
    longest, end = int((high - low).max(initial=0)), last.max(initial=0)
    for _ in range(longest.bit_length()):
        middle = (low + high) >> 1
        further = before(np.minimum(middle, end)) & (middle < high)
        low, high = np.where(further, middle + 1, low), np.where(further, high, middle)
    return low


def confusion_counts(
    threshold: NDArray[np.float64],
    tp: NDArray[np.float64],
    fp: NDArray[np.float64],
    pos: NDArray[np.float64],
    neg: NDArray[np.float64],
) -> dict[str, NDArray[np.float64]]:
    """Return threshold and counts; a sum of weights that exceeds its total by rounding is cut."""
    fn, tn = np.maximum(pos - tp, 0), np.maximum(neg - fp, 0)
    return {THRESHOLD: threshold, "tp": tp, "fp": fp, "fn": fn, "tn": tn}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """A point of each curve (down) at each value (across).

    `exists` says whether the curve has such a point. `pos` and `neg` are the sizes of the classes,
    `first_tp` and `first_fp` the counts of the second row, which is at the highest score.
    """

    tp: NDArray[np.float64]
    fp: NDArray[np.float64]
    threshold: NDArray[np.float64]
    exists: NDArray[np.bool_]
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    first_tp: NDArray[np.float64]
    first_fp: NDArray[np.float64]

    def evaluate(self, metric: Rate) -> NDArray[np.float64]:
        """Return a metric at each point; NaN where it is undefined.

        A metric that is undefined while no row is called positive has the value of the second row
        there: a random part of the rows with the highest score has their precision.
        """
        tp, fp = self.tp, self.fp
        if metric.needs_alerts:
            none = tp + fp == 0
            tp, fp = np.where(none, self.first_tp, tp), np.where(none, self.first_fp, fp)
        values = metric.evaluate(confusion_counts(self.threshold, tp, fp, self.pos, self.neg))
        return np.where(self.exists, values, np.nan)


def interleave(places: Sequence[Places]) -> Places:
    """Return one table of points, in which those at the same value stand side by side."""
    columns = {}
    for field in fields(Places):
        parts = [getattr(one, field.name) for one in places]
        wide = field.name in {"tp", "fp", "threshold", "exists"}
        columns[field.name] = np.stack(parts, 2).reshape(len(parts[0]), -1) if wide else parts[0]
    return Places(**columns)


class Runs(NamedTuple):
    """Runs of neighbouring rows of a curve in which a metric is defined: `first` to `last`.

    Curve i has the runs `starts[i]` to `starts[i + 1] - 1`.
    """

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    starts: NDArray[np.int64]


class Profile(NamedTuple):
    """The runs of all curves, and the extremes of a metric in the rows not yet searched.

    For metrics whose last occurrence counts, these are the extremes of the run's rows from this
    row down, otherwise those from this row up.
    """

    runs: Runs
    highest: NDArray[np.float64]
    lowest: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveAxis:
    """A metric along all curves; the threshold if `metric` is None.

    `pos` and `neg` are the sizes of the classes of each curve. Counts and ratios of whole counts
    are `exact`. Weights and longer formulas are not: their values are rounded before they are
    compared. `row_values` are the metric at all rows, or None if it is only computed at the rows
    that are searched. `profile` is None for thresholds and for metrics that rise or fall along the
    whole curve.
    """

    curves: Curves
    metric: Rate | None
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    exact: bool
    row_values: NDArray[np.float64] | None
    profile: Profile | None

    @classmethod
    def of(
        cls,
        curves: Curves,
        metric: Rate | None,
        *,
        n_values: int | None = None,
        rounded: bool = True,
    ) -> CurveAxis:
        """Evaluate the metric at all rows if the search needs them.

        `n_values` is the number of values that each curve is searched for, if it is known. A few
        values are searched faster when the metric is evaluated only at the rows that are compared.
        `rounded=False` never rounds.
        """
        walk, last = curves.columns, curves.lasts
        # At the last row a weighted share of the total is exactly 1.
        pos, neg = (
            (walk.at(called, last) + walk.at(rest, last)).astype(np.float64)
            for called, rest in (("tp", "fn"), ("fp", "tn"))
        )
        weighted = any(walk.is_float(name) for name in CONFUSION)
        exact = not rounded or metric is None or (metric.count_ratio is not None and not weighted)
        row_values = profile = None
        sizes = np.diff(curves.starts)
        steps = int(sizes.max(initial=0)).bit_length()
        evaluation = EVALUATION_COST * walk.height
        short_search = n_values is not None and n_values * steps * len(sizes) < evaluation
        if metric is not None and not (metric.monotone and (exact or short_search)):
            tp, fp = (walk[name].astype(np.float64) for name in ("tp", "fp"))
            totals = np.repeat(pos, sizes), np.repeat(neg, sizes)
            row_values = metric.evaluate(confusion_counts(walk[THRESHOLD], tp, fp, *totals))
            row_values = row_values if exact else round_values(row_values, metric.bounds)
            if not metric.monotone:
                profile = find_runs(row_values, curves.starts, metric.occurrence)
        return cls(
            curves=curves,
            metric=metric,
            pos=pos,
            neg=neg,
            exact=exact,
            row_values=row_values,
            profile=profile,
        )

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Whether each curve reaches its lowest score."""
        return ~self.curves.ends_early

    def total(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Return the sum of some counts in each curve: of a class, of all rows, or 1 of none."""
        if not names:
            return np.ones(len(self.pos))
        return self.pos * ("tp" in names) + self.neg * ("tn" in names)

    def values(
        self,
        row: NDArray[np.int64],
        curve: NDArray[np.int64],
        *,
        limit: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:
        """Return the metric, or the threshold, at rows of curves; NaN where it is undefined.

        If the values are only compared with a rounded `limit`, only those close to it are rounded.
        """
        if self.metric is None:
            return np.asarray(self.curves.columns.at(THRESHOLD, row), np.float64)
        if self.row_values is not None:
            return self.row_values[row]
        walk, ratio = self.curves.columns, self.metric.count_ratio
        assert ratio is not None
        if self.exact and any(walk.is_float(name) for name in CONFUSION):
            return ratio.evaluate({name: walk.at(name, row) for name in CONFUSION})
        if not self.exact and limit is None:
            counts = self._weighted_counts({*ratio.part, *ratio.whole}, row, curve)
            return self.round_values(ratio.evaluate(counts))
        if self.exact:
            counts = {name: walk.at(name, row) for name in ratio.part}
        else:
            counts = self._weighted_counts(ratio.part, row, curve)
        with np.errstate(divide="ignore", invalid="ignore"):
            part = reduce(add, (counts[name] for name in ratio.part))
            result: NDArray[np.float64] = part / self.total(ratio.whole)[curve]
        if not self.exact and limit is not None:
            distance = np.asarray(result - limit)
            largest = 1.0 if ratio.whole else (self.pos + self.neg).max(initial=1.0)
            close = np.abs(distance, out=distance) <= ROUNDING_MARGIN * largest
            if close.any():
                close &= distance != 0
                result[close] = self.values(row[close], np.broadcast_to(curve, row.shape)[close])
        return result

    def round_values(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Round values of the metric as `values` rounds them, so that they can be compared."""
        if self.exact or self.metric is None:
            return values
        return round_values(values, self.metric.bounds)

    def _weighted_counts(
        self, names: Collection[str], row: NDArray[np.int64], curve: NDArray[np.int64]
    ) -> dict[str, NDArray[np.float64]]:
        """Return sums of weights at rows of curves, of which `fn` and `tn` are those of `tp, fp`.

        Unlike the columns of the table, they add up to the totals without rounding errors.
        """
        counts = {}
        for called, rest, total in (("tp", "fn", self.pos), ("fp", "tn", self.neg)):
            if called in names or rest in names:
                counts[called] = np.asarray(self.curves.columns.at(called, row), np.float64)
            if rest in names:
                counts[rest] = np.maximum(total[curve] - counts[called], 0)
        return counts

    def search(
        self, curve: NDArray[np.int64], value: NDArray[np.float64], occurrence: Occurrence
    ) -> NDArray[np.int64]:
        """Return the outermost row of each curve (down) for each value (across).

        The first occurrence is the first row that has the value or lies beyond it, counted from
        the highest threshold down, or one row below the curve. The last occurrence is the last
        row that has the value or lies before it, or one row above the curve.
        """
        first, last = (rows[curve][:, None] for rows in (self.curves.firsts, self.curves.lasts))
        curve = curve[:, None]
        sign = 1 if self.metric is not None and self.metric.rising else -1
        limit = sign * value

        def before(values: NDArray[np.float64]) -> NDArray[np.bool_]:
            along = values if sign > 0 else -values
            result: NDArray[np.bool_] = along < limit if occurrence == "first" else along <= limit
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
        """Whether the curves have so many whole counts that each is better searched alone."""
        walk = self.curves.columns
        if self.metric is None or any(walk.is_float(name) for name in CONFUSION):
            return False
        return walk.height > LONG_CURVE * len(self.curves.starts)

    def _search_counts(
        self,
        curve: NDArray[np.int64],
        sign: int,
        before: Callable[[NDArray[np.float64]], NDArray[np.bool_]],
        limit: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        """Bisect the whole counts of one curve after the other."""
        assert self.metric is not None
        assert self.metric.count_ratio is not None
        part, total = self.metric.count_ratio.part, self.total(self.metric.count_ratio.whole)[curve]
        starts, walk = self.curves.starts, self.curves.columns
        with np.errstate(divide="ignore", invalid="ignore"):
            # The largest count before the limit: rounding moves it by one at most.
            near = np.floor(np.nan_to_num(limit * total))
            above, here = (before(sign * count / total) for count in (near + 1, near))
        largest = np.where(above, near + 1, np.where(here, near, near - 1)).astype(np.int64)
        end = np.empty(largest.shape, np.int64)
        for i, one in enumerate(curve[:, 0]):
            first, stop = starts[one], starts[one + 1]
            counts = walk.between(part[0], first, stop)
            for name in part[1:]:
                counts = counts + walk.between(name, first, stop)
            counts = counts if sign > 0 else -counts
            end[i] = first + np.searchsorted(counts, largest[i], "right")
        return end

    def outer_rows(
        self,
        curve: NDArray[np.int64],
        value: NDArray[np.float64],
        occurrence: Occurrence,
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Return the outermost rows within the curves, and whether a point and this row have it.

        The point lies between this row and a neighbouring row if only the point has the value.
        """
        if self.profile is not None:
            return self._rows_of_profile(self.profile, curve, value)
        row = self.search(curve, value, occurrence)
        first, last = (rows[curve][:, None] for rows in (self.curves.firsts, self.curves.lasts))
        inside = np.clip(row, first, last)
        end = last if occurrence == "last" else first
        equal = self.values(inside, curve[:, None], limit=value) == value
        exists = (row == inside) & ~np.isnan(value)
        exists &= (inside != end) | equal
        return inside, exists, equal

    def _rows_of_profile(
        self, profile: Profile, curve: NDArray[np.int64], value: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.bool_]]:
        """Search each run of rows, and return the outermost row of all runs of a curve."""
        assert self.metric is not None
        from_end = self.metric.occurrence == "last"
        assert self.row_values is not None
        values, (runs, highest, lowest) = self.row_values, profile
        sizes = runs.starts[curve + 1] - runs.starts[curve]
        owner = np.repeat(np.arange(len(curve)), sizes)
        run = ranges(runs.starts[curve], sizes)
        first, last, limit = np.broadcast_arrays(
            runs.first[run][:, None], runs.last[run][:, None], value[owner]
        )
        above = limit >= values[last if from_end else first]

        def passed(row: NDArray[np.int64]) -> NDArray[np.bool_]:
            """Say whether the value lies beyond this row, seen from where the search starts."""
            result: NDArray[np.bool_] = np.where(above, highest[row] >= limit, lowest[row] <= limit)
            return result if from_end else ~result

        row = grouped_bisect(passed, first, last) - from_end
        within = (row >= first) & (row <= last) & ~np.isnan(limit)
        none = -1 if from_end else len(values)
        outermost = np.full(value.shape, none, np.int64)
        (np.maximum if from_end else np.minimum).at(outermost, owner, np.where(within, row, none))
        exists = outermost != none
        outermost = np.where(exists, outermost, 0)
        return outermost, exists, values[outermost] == value

    def places(
        self,
        curve: NDArray[np.int64],
        values: NDArray[np.float64],
        *,
        nearest: bool = False,
        occurrence: Occurrence | None = None,
    ) -> Places:
        """Return the point of each curve (down) that has each value (across).

        `values` has one row for all curves, or one for each, and is rounded by `round_values`. The
        point lies between two rows, or is the nearest row. Its threshold is the threshold of the
        row that is at least as good as the value.
        """
        assert self.metric is not None
        occurrence = occurrence or self.metric.occurrence
        walk, better = self.curves.columns, self.metric.better
        wanted = np.broadcast_to(values, (len(curve), values.shape[1]))
        value = self._extended(curve, wanted)
        row, exists, equal = self.outer_rows(curve, value, occurrence)
        # Left of its first point the curve has the counts of this point.
        left = exists & (value > wanted)
        row = np.where(left, self.curves.firsts[curve][:, None], row)
        between = exists & ~equal & ~left
        above = np.where(between & (occurrence == "first"), row - 1, row)
        below = np.where(between & (occurrence == "last"), row + 1, row)
        rising = np.full(row.shape, self.metric.rising, bool)
        if self.metric.rising is None:
            rising = self.values(below, curve[:, None]) > self.values(above, curve[:, None])
        good = {"higher": ~rising, "lower": rising}.get(better, np.ones_like(rising))
        chosen = np.where(between & ~good, below, above)
        if nearest:
            chosen = self._nearest_row(curve, value, (above, below), chosen, occurrence)
            between = np.zeros(row.shape, bool)
        threshold = walk.at(THRESHOLD, chosen)
        tp, fp = (
            walk.at(name, chosen if nearest else above).astype(np.float64) for name in ("tp", "fp")
        )
        if between.any() and self.metric.proportion_of:
            mix = self._proportion_root(curve, value, above, below)
            mix = np.where(between, mix, 0.0)
            tp += mix * (walk.at("tp", below) - tp)
            fp += mix * (walk.at("fp", below) - fp)
        elif between.any():
            ratio = self.metric.count_ratio
            names = {"tp", "fp", *(walk if ratio is None else (*ratio.part, *ratio.whole))}
            upper = {"tp": tp[between], "fp": fp[between]}
            for name in names - upper.keys():
                upper[name] = np.asarray(walk.at(name, above[between]), np.float64)
            lower = {name: np.asarray(walk.at(name, below[between]), np.float64) for name in names}
            mix = segment_root(self.metric, value[between], upper, lower)
            tp[between], fp[between] = (
                upper[name] + mix * (lower[name] - upper[name]) for name in ("tp", "fp")
            )
        return self._places(curve, tp, fp, threshold, exists)

    def _proportion_root(
        self,
        curve: NDArray[np.int64],
        value: NDArray[np.float64],
        above: NDArray[np.int64],
        below: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return `segment_root` between two rows, for a proportion of the same rows everywhere."""
        assert self.metric is not None
        assert self.metric.count_ratio is not None
        names, walk = self.metric.count_ratio.part, self.curves.columns
        start, end = (
            reduce(add, (walk.at(name, row) for name in names)).astype(np.float64)
            for row in (above, below)
        )
        root = self.total(self.metric.proportion_of)[curve][:, None] * value - start
        with np.errstate(divide="ignore", invalid="ignore"):
            root /= end - start
        return np.clip(root, 0, 1, out=root)

    def places_at_thresholds(
        self,
        curve: NDArray[np.int64],
        thresholds: NDArray[np.float64],
        lacks_rows: NDArray[np.bool_],
        *,
        nearest: bool = False,
    ) -> Places:
        """Return the counts of `score >= threshold` for each curve (down) and threshold (across).

        `lacks_rows` is True for curves without a row for each of their scores: their counts are
        known at their own thresholds only. `nearest` uses the row with the nearest threshold.
        """
        walk = self.curves.columns
        limit = np.broadcast_to(thresholds, (len(curve), thresholds.shape[1]))
        last = self.curves.lasts[curve][:, None]
        row = self.search(curve, limit, "last")
        if nearest:
            following = np.minimum(row + 1, last)
            with np.errstate(invalid="ignore"):  # infinite thresholds
                up, down = (np.abs(walk.at(THRESHOLD, rows) - limit) for rows in (row, following))
            row = np.where((down < up) & ~nearly_equal(up, down), following, row)
            exists, limit = np.ones(row.shape, bool), walk.at(THRESHOLD, row)
        else:
            exists = self.complete[curve][:, None] | (walk.at(THRESHOLD, last) <= limit)
            exists &= ~lacks_rows[curve][:, None] | (walk.at(THRESHOLD, row) == limit)
        tp, fp = (walk.at(name, row).astype(np.float64) for name in ("tp", "fp"))
        return self._places(curve, tp, fp, limit, exists)

    def _places(
        self,
        curve: NDArray[np.int64],
        tp: NDArray[np.float64],
        fp: NDArray[np.float64],
        threshold: NDArray[np.float64],
        exists: NDArray[np.bool_],
    ) -> Places:
        walk = self.curves.columns
        second = np.minimum(self.curves.firsts[curve] + 1, self.curves.lasts[curve])[:, None]
        return Places(
            tp=tp,
            fp=fp,
            threshold=threshold,
            exists=exists,
            pos=self.pos[curve][:, None],
            neg=self.neg[curve][:, None],
            first_tp=walk.at("tp", second).astype(np.float64),
            first_fp=walk.at("fp", second).astype(np.float64),
        )

    def _extended(
        self, curve: NDArray[np.int64], value: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Clip values to those of the curve, for metrics that a curve also has beyond its ends.

        The first row of a curve with unscored negatives is right of FPR 0, and all scored rows
        are called positive at its last row.
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
        curve: NDArray[np.int64],
        value: NDArray[np.float64],
        rows: tuple[NDArray[np.int64], NDArray[np.int64]],
        good: NDArray[np.int64],
        occurrence: Occurrence,
    ) -> NDArray[np.int64]:
        """Return the nearer one of two rows, and the good one of equally near rows.

        Of several neighbouring rows with the same metric this is the outermost one.
        """
        above, below = rows
        with np.errstate(invalid="ignore"):  # an infinite value has rows of its own
            up, down = (np.abs(self.values(row, curve[:, None]) - value) for row in rows)
        row = np.where(nearly_equal(up, down), good, np.where(up < down, above, below))
        if self.profile is None:
            return self.outer_rows(curve, self.values(row, curve[:, None]), occurrence)[0]
        assert self.row_values is not None
        values, runs = self.row_values, self.profile.runs
        same = np.append(values[1:] == values[:-1], False)
        same[runs.last] = False
        ends = np.flatnonzero(~same)
        outermost: NDArray[np.int64] = np.searchsorted(ends, row)
        return ends[outermost] if occurrence == "last" else np.append(0, ends + 1)[outermost]


def segment_root(
    metric: Rate,
    value: NDArray[np.float64],
    upper: Mapping[str, NDArray[Any]],
    lower: Mapping[str, NDArray[Any]],
) -> NDArray[np.float64]:
    """Return how far from an upper to a lower row a metric has a value, from 0 to 1.

    `upper` and `lower` are the thresholds and counts of neighbouring rows of curves.
    """
    if not len(value):
        return value
    step = {name: lower[name] - upper[name] for name in CONFUSION if name in upper}
    ratio = metric.count_ratio
    if ratio is not None:
        off, change = (
            sum(counts[name] for name in ratio.part)
            - value * (sum(counts[name] for name in ratio.whole) if ratio.whole else constant)
            for counts, constant in ((upper, 1), (step, 0))
        )
        root = np.zeros(len(value))
        np.divide(off, -change, out=root, where=change != 0)
        return np.clip(root, 0, 1, out=root)
    totals = upper["tp"] + upper["fn"], upper["fp"] + upper["tn"]
    row = upper[THRESHOLD], upper["tp"], upper["fp"], step["tp"], step["fp"], *totals
    arguments = (value, *row)

    def difference(mix: Any, value: Any, *row: Any) -> NDArray[np.float64]:
        """Return the metric at a point of the segment, less the value."""
        threshold, tp, fp, more_tp, more_fp, pos, neg = row
        counts = confusion_counts(threshold, tp + mix * more_tp, fp + mix * more_fp, pos, neg)
        result: NDArray[np.float64] = metric.evaluate(counts) - value
        return result

    start, middle, end = (difference(np.full(len(value), mix), *arguments) for mix in (0, 0.5, 1))
    # The values at three points determine a ratio of two functions that are linear in the counts.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        weight = (start - middle) / (middle - end)  # of the last denominator, the first one is 1
        root = np.asarray(np.clip(start / (start - weight * end), 0, 1))
        solved = np.abs(difference(root, *arguments)) <= ROOT_TOLERANCE * np.abs(end - start)
    solved &= np.isfinite(start) & np.isfinite(end)
    if not solved.all():
        rest = [argument[~solved] for argument in arguments]
        root[~solved] = bracketed_root(difference, rest, falling=start[~solved] > 0)
    return root


ROOT_TOLERANCE = 1e-11  # of the change of the metric along the segment


def bracketed_root(
    difference: Callable[..., NDArray[np.float64]],
    arguments: Sequence[NDArray[np.float64]],
    *,
    falling: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return where in [0, 1] a function changes its sign, by Chandrupatla's (1997) method.

    An infinite value counts as a large one, an undefined one as one beyond the root. The result
    is 0 if the sign is the same at both ends.
    """
    from scipy.optimize.elementwise import find_root

    sign, large = np.where(falling, -1.0, 1.0), 1e150

    def rising(mix: NDArray[np.float64], sign: Any, *arguments: Any) -> NDArray[np.float64]:
        values = np.nan_to_num(sign * difference(mix, *arguments), nan=large)
        result: NDArray[np.float64] = np.clip(values, -large, large)
        return result

    ends = np.zeros(len(sign)), np.ones(len(sign))
    result = find_root(rising, ends, args=(sign, *arguments), tolerances={"xatol": 2.0**-54})
    return np.where(result.success, result.x, 0.0)


def round_values(values: NDArray[np.float64], bounds: tuple[float, float]) -> NDArray[np.float64]:
    """Round away the digits in which equal values of a formula may differ."""
    if ((values == 0) | (values == 1)).all():
        return values + 0.0
    rounded = pl.col("value").round_sig_figs(SIGNIFICANT_DIGITS)
    if np.isfinite(bounds).all():  # a difference of ratios may be close to 0
        rounded = rounded.round(SIGNIFICANT_DIGITS)
    column = pl.DataFrame({"value": values.ravel()}).select(rounded).to_series()
    result = column.to_numpy().reshape(values.shape) + 0.0
    return np.where(np.isfinite(values), result, values)


def nearly_equal(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return where two distances differ by rounding only."""
    result: NDArray[np.bool_] = np.isclose(a, b, rtol=TOTAL_TOLERANCE, atol=0, equal_nan=True)
    return result


def find_runs(
    values: NDArray[np.float64], starts: NDArray[np.int64], occurrence: Occurrence
) -> Profile:
    """Find the runs of rows that have a value, and the extremes of the rows not yet searched."""
    defined = ~np.isnan(values)
    begins, ends = np.zeros(len(values), bool), np.zeros(len(values), bool)
    begins[starts[:-1]] = ends[starts[1:] - 1] = True
    begins[1:] |= ~defined[:-1]
    ends[:-1] |= ~defined[1:]
    first, last = np.flatnonzero(begins & defined), np.flatnonzero(ends & defined)
    run = np.cumsum((begins | ~defined).astype(np.int64))
    from_end = occurrence == "last"
    value = pl.col("value")
    extremes = pl.DataFrame({"run": run, "value": values}).select(
        highest=value.cum_max(reverse=from_end).over("run"),
        lowest=value.cum_min(reverse=from_end).over("run"),
    )
    highest, lowest = (column.to_numpy() for column in extremes)
    return Profile(Runs(first, last, np.searchsorted(first, starts)), highest, lowest)


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return consecutive whole numbers from each start, one range after the other."""
    before = np.cumsum(lengths) - lengths
    result: NDArray[np.int64] = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
    return result


def find_curves_lacking_rows(curves: Curves) -> NDArray[np.bool_]:
    """Return which curves show that their thresholds are not just their scores.

    They end before their lowest score, or have a row that calls no more rows positive than the row
    above it. Weighted curves may have such rows in any case, since a small weight may vanish in a
    sum.
    """
    walk, result = curves.columns, curves.ends_early
    if walk.is_float("tp") or walk.is_float("fp"):
        return result

    def idle_rows(start: int, end: int) -> NDArray[np.int64]:
        above = max(start - 1, 0)
        called = walk.between("tp", above, end) + walk.between("fp", above, end)
        return np.flatnonzero(called[1:] == called[:-1]) + above + 1

    rows = run_parallel(lambda block: idle_rows(*block), walk.blocks(BLOCK_ROWS))
    row = np.concatenate([np.zeros(0, np.int64), *rows])
    curve = np.searchsorted(curves.starts, row, "right") - 1
    result[curve[row > curves.starts[curve]]] = True
    return result
