"""Select points of a long line within a tolerance, on any axes, and count scores in bins.

The points of all lines are concatenated in arrays. Line i has the points `starts[i]` to
`starts[i + 1] - 1`.

References
----------
D. H. Douglas, T. K. Peucker (1973), "Algorithms for the reduction of the number of points required
to represent a digitized line or its caricature", Cartographica 10(2), 112-122.
J. W. Tukey (1977), "Exploratory Data Analysis", Addison-Wesley.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from math import ceil, floor, inf, isfinite, log10, nextafter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rocframe.curves.locate import CurveAxis, interpolated_values
from rocframe.kernel.groups import concatenated_ranges, group_starts, is_run_start
from rocframe.rates import prevalence_weights

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocframe.curves.table import Curves
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.kinds import Kind, Scale

    Positions: TypeAlias = tuple[FloatArray, FloatArray]
    Deviation: TypeAlias = Callable[
        [IntArray, IntArray, IntArray, IntArray], tuple[FloatArray, FloatArray]
    ]

MIN_SEARCHED_ROWS = 2000  # for curves of fewer rows, using all rows is faster than a search


def rows_at_levels(rows: int, levels: Callable[[], Sequence[tuple[Array, FloatArray]]]) -> IntArray:
    """Return the rows of one curve before and after each point at which a count crosses a level.

    `rows` is the number of rows. `levels` returns pairs: a rising count of each row, and rising
    levels of this count. Between two returned rows that are not adjacent, each count stays between
    two neighboring levels. All rows of short curves are returned.
    """
    if rows <= MIN_SEARCHED_ROWS:
        return np.arange(rows)
    pairs = levels()
    if rows <= 2 * sum(len(values) for _, values in pairs):
        return np.arange(rows)
    first = [_first_rows_at(counts, values) for counts, values in pairs]
    selected = np.concatenate([*first, *(part - 1 for part in first), [0, rows - 1]])
    return np.unique(np.clip(selected, 0, rows - 1))


def _first_rows_at(counts: Array, levels: FloatArray) -> IntArray:
    """Return the first row at which a rising count is at least each level."""
    if counts.dtype.kind == "i":  # Integer levels avoid a copy of the counts as floats.
        levels = np.unique(np.ceil(levels).astype(counts.dtype))
    return np.searchsorted(counts, levels)


def column_extremes(x: FloatArray, y: FloatArray, starts: IntArray, width: float) -> BoolArray:
    """Return a mask of the first, last, lowest and highest point of each line in each column.

    A column is a vertical strip of the chart with this width. `x` must not decrease within a line.
    """
    is_first = is_run_start(np.floor(x / width))
    is_first[starts[:-1][starts[1:] > starts[:-1]]] = True
    first = np.flatnonzero(is_first)
    if not len(first):
        return is_first
    column = np.cumsum(is_first) - 1
    marked: BoolArray = np.logical_or(is_first, np.append(is_first[1:], True))
    for extreme in (np.minimum, np.maximum):
        rows = np.flatnonzero(y == extreme.reduceat(y, first)[column])
        marked[rows[is_run_start(column[rows])]] = True
    return marked


def corner_points(
    x: FloatArray,
    y: FloatArray,
    starts: IntArray,
    tolerance: float | FloatArray,
    *,
    required: BoolArray | None = None,
) -> BoolArray:
    """Return a mask of points of each line, and all `required` points.

    No point of a line is farther from the straight lines between them than `tolerance`, which is
    one distance, or an array with a distance for each line.
    """

    def deviation(
        points: IntArray, left: IntArray, right: IntArray, sizes: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        rows = points, left.repeat(sizes), right.repeat(sizes)
        return segment_distance(*((x[part], y[part]) for part in rows)), np.ones(len(left))

    return douglas_peucker(starts, deviation, tolerance, required=required)[0]


def limit_corners(
    x: FloatArray, y: FloatArray, starts: IntArray, tolerance: float, *, most: int, factor: float
) -> tuple[BoolArray, FloatArray]:
    """Return a mask of at most `most` >= 2 corner points of each line, and its tolerance.

    The tolerance of a line with more corners is multiplied by `factor`, which is above 1.
    """
    limit = np.full(len(starts) - 1, tolerance)
    while True:
        marked = corner_points(x, y, starts, limit)
        cumulative = np.append(0, np.cumsum(marked))
        too_many = np.diff(cumulative[starts]) > most
        if not too_many.any():
            return marked, limit
        limit[too_many] *= factor


def douglas_peucker(
    starts: IntArray,
    deviation: Deviation,
    tolerance: float | FloatArray,
    *,
    required: BoolArray | None = None,
    allowed: BoolArray | None = None,
) -> tuple[BoolArray, FloatArray]:
    """Return a mask of selected points of each line, and the largest deviation of each line.

    Segments are straight lines between neighboring selected points. `deviation(points, left, right,
    sizes)` returns a distance for each point and a factor for each segment. The distance of a point
    from its segment is the product of the two. Segment i is the line between the points `left[i]`
    and `right[i]`. The first `sizes[0]` points belong to the first segment, the following
    `sizes[1]` points to the second segment, and so on. Each segment with a deviation above the
    tolerance is split at its farthest point (Douglas and Peucker, 1973).
    Points in the mask `required` are always selected. Other points are selected only if they are in
    the mask `allowed`. Segments without an allowed point are not evaluated.
    """
    selected = np.zeros(starts[-1], bool) if required is None else required.copy()
    lines = len(starts) - 1
    limit = np.broadcast_to(np.asarray(tolerance, np.float64), lines)
    largest = np.zeros(lines)
    nonempty = starts[1:] > starts[:-1]
    selected[starts[:-1][nonempty]] = selected[starts[1:][nonempty] - 1] = True
    ends = np.flatnonzero(selected)
    line = np.repeat(np.arange(lines), np.diff(starts))[ends]
    is_within = line[1:] == line[:-1]
    left, right, line = ends[:-1][is_within], ends[1:][is_within], line[1:][is_within]
    n_allowed = None if allowed is None else np.append(0, np.cumsum(allowed))
    # The loop ends, because each pass that splits a segment selects a new point.
    while True:
        long = right - left > 1
        if n_allowed is not None:
            long &= n_allowed[right] > n_allowed[left + 1]
        left, right, line = left[long], right[long], line[long]
        if not len(left):
            return selected, largest
        inner = right - left - 1
        firsts = np.cumsum(inner) - inner
        points = concatenated_ranges(left + 1, inner)
        distance, factor = deviation(points, left, right, inner)
        worst = np.maximum.reduceat(distance, firsts)
        largest_distance = worst * factor
        is_split = largest_distance > limit[line]
        np.maximum.at(largest, line[~is_split], largest_distance[~is_split])
        if allowed is not None:
            distance = np.where(allowed[points], distance, -1.0)
            worst = np.maximum.reduceat(distance, firsts)
        # The first of the farthest points of each segment.
        farthest = np.flatnonzero(distance == worst.repeat(inner))
        farthest = farthest[np.searchsorted(farthest, firsts[is_split])]
        middle = points[farthest]
        selected[middle] = True
        # Neighboring segments stay next to each other, so that their points are read in order.
        left = np.stack([left[is_split], middle], axis=1).ravel()
        right = np.stack([middle, right[is_split]], axis=1).ravel()
        line = line[is_split].repeat(2)


def segment_distance(point: Positions, start: Positions, end: Positions) -> FloatArray:
    """Return the distance of each point from the straight segment between two other points."""
    width, height = end[0] - start[0], end[1] - start[1]
    dx, dy = point[0] - start[0], point[1] - start[1]
    square = width**2 + height**2
    share = np.divide(dx * width + dy * height, square, out=np.zeros_like(square), where=square > 0)
    share = np.clip(share, 0, 1)
    distance: FloatArray = np.hypot(dx - share * width, dy - share * height)
    return distance


def evenly_spaced_points(
    x: FloatArray, y: FloatArray, starts: IntArray, most: IntArray, *, corners: BoolArray
) -> BoolArray:
    """Return a mask of about `most` points of each line at equal distances along the line.

    All points of shorter lines are marked. Distances are measured along the straight lines between
    the `corners`, which include the ends, so that oscillations do not increase them.
    """
    sizes = np.diff(starts)
    line = np.repeat(np.arange(len(sizes)), sizes)
    first = starts[:-1][sizes > 0]

    def cumulative_length(rows: IntArray) -> FloatArray:
        step = np.abs(np.diff(x[rows], prepend=0)) + np.abs(np.diff(y[rows], prepend=0))
        step[np.searchsorted(rows, first)] = 0
        return np.cumsum(step)

    if not len(line):
        return np.zeros(0, bool)
    length, rows = cumulative_length(np.arange(len(line))), np.flatnonzero(corners)
    length = np.interp(length, length[rows], cumulative_length(rows))
    length -= length[starts[:-1][line]]
    total = length[starts[1:][line] - 1]
    share = np.divide(length, total, out=np.zeros_like(length), where=total > 0)
    cell = np.floor(share * most[line])
    marked: BoolArray = is_run_start(cell) | (sizes <= most)[line]
    return marked


def evenly_ranked_rows(starts: IntArray, most: int) -> tuple[IntArray, IntArray]:
    """Return at most `most` >= 2 rows of each line, in equal steps with both ends, and starts."""
    sizes = np.diff(starts)
    new_sizes = np.minimum(sizes, most)
    step = np.where(sizes > most, (sizes - 1) / (most - 1), 1.0)
    new_starts = np.append(0, np.cumsum(new_sizes))
    rank = np.arange(new_starts[-1]) - np.repeat(new_starts[:-1], new_sizes)
    offset = np.rint(rank * np.repeat(step, new_sizes)).astype(np.int64)
    rows = np.repeat(starts[:-1], new_sizes) + offset
    return rows, new_starts


BETWEEN = -1  # the value of `row` for points between two rows of the table


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinePoints:
    """The points of the lines of curves: rows of the table, and points between two rows.

    The points are sorted by curve. `row` is `BETWEEN` for points between two rows. `pos` and `neg`
    are the totals of each curve. `prevalence` is the prevalence of the rates in the table; None for
    the prevalence of each curve.
    """

    curve: IntArray
    row: IntArray
    tp: FloatArray
    fp: FloatArray
    pos: FloatArray
    neg: FloatArray
    prevalence: float | None = None

    @property
    def starts(self) -> IntArray:
        """The index of the first point of each curve, followed by the number of points."""
        return group_starts(self.curve, len(self.pos))

    @property
    def counts(self) -> tuple[FloatArray, ...]:
        """The four counts of each point: tp, fp, fn, tn."""
        return self.tp, self.fp, self.pos[self.curve] - self.tp, self.neg[self.curve] - self.fp

    def select(self, points: BoolArray | IntArray) -> LinePoints:
        """Return the points at which `points` is True, or the points with these indices."""
        columns = {name: getattr(self, name)[points] for name in PER_POINT}
        return replace(self, **columns)

    def between(self, ends: LinePoints, fraction: float | FloatArray) -> LinePoints:
        """Return points between each point (`fraction` 0) and that of `ends` (`fraction` 1)."""
        tp = interpolated_values(self.tp, ends.tp, fraction)
        fp = interpolated_values(self.fp, ends.fp, fraction)
        return replace(self, row=np.full(len(tp), BETWEEN), tp=tp, fp=fp)


PER_POINT = ("curve", "row", "tp", "fp")  # the columns with one value per point


def insert_points(
    points: LinePoints, left: IntArray, needs_point: Callable[[LinePoints, LinePoints], BoolArray]
) -> LinePoints:
    """Return all points, and new points in the middle of segments.

    Segment i goes from the point `left[i]` to the next point. Segments are divided until
    `needs_point` is False for their starts and ends, or until no Float64 number is between their
    counts.
    """
    low, high = np.zeros(len(left)), np.ones(len(left))
    lefts, fractions = [left[:0]], [low[:0]]
    while len(left):
        line_start, line_end = points.select(left), points.select(left + 1)
        fraction = (low + high) / 2
        start, middle, end = (line_start.between(line_end, part) for part in (low, fraction, high))
        is_divisible = (middle.tp != start.tp) & (middle.tp != end.tp)
        is_divisible |= (middle.fp != start.fp) & (middle.fp != end.fp)
        selected = needs_point(start, end) & is_divisible
        left, low, fraction, high = (part[selected] for part in (left, low, fraction, high))
        lefts.append(left)
        fractions.append(fraction)
        left, low, high = np.tile(left, 2), np.append(low, fraction), np.append(fraction, high)
    left, fraction = np.concatenate(lefts), np.concatenate(fractions)
    order = np.lexsort((fraction, left))
    left = left[order]
    inserted = points.select(left).between(points.select(left + 1), fraction[order])
    columns: dict[str, Any] = {
        name: np.insert(getattr(points, name), left + 1, getattr(inserted, name))
        for name in PER_POINT
    }
    return replace(points, **columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveCounts:
    """The counts of complete curves, in the order of falling thresholds.

    Curve i has the rows `starts[i]` to `starts[i + 1] - 1`, `pos[i]` positives and `neg[i]`
    negatives. The rows in the mask `required` must not be removed from a simplified curve.
    `prevalence` is the prevalence at which rates are computed; None for the prevalence of each
    curve.
    """

    tp: Array
    fp: Array
    starts: IntArray
    pos: Array
    neg: Array
    required: BoolArray | None = None
    prevalence: float | None = None

    def on_axes(self, kind: Kind) -> CurveCounts:
        """Return the counts for the axes of a kind.

        If an axis depends on the prevalence and `prevalence` is set, counts are weighted to have
        it; if a curve lacks a class, its weights are 0.
        """
        if self.prevalence is None or not any(
            kind.axis(name).depends_on_prevalence for name in kind.rates
        ):
            return self
        pos_weight, neg_weight = prevalence_weights(self.pos, self.neg, self.prevalence)
        sizes = np.diff(self.starts)
        return replace(
            self,
            tp=self.tp * np.repeat(pos_weight, sizes),
            fp=self.fp * np.repeat(neg_weight, sizes),
            pos=self.pos * pos_weight,
            neg=self.neg * neg_weight,
            prevalence=None,
        )

    def slice(self, first: int, last: int) -> CurveCounts:
        """Return the curves `first` to `last - 1`."""
        starts = self.starts[first : last + 1]
        rows = slice(starts[0], starts[-1])
        return self._take(slice(first, last), rows, starts - starts[0])

    def select(self, curves: BoolArray) -> tuple[CurveCounts, IntArray]:
        """Return the curves that the mask `curves` selects, and the positions of their rows."""
        sizes = np.diff(self.starts)
        rows = np.flatnonzero(np.repeat(curves, sizes))
        return self._take(curves, rows, np.append(0, np.cumsum(sizes[curves]))), rows

    def _take(self, curves: Any, rows: Any, starts: IntArray) -> CurveCounts:
        """Return the given curves, with these rows."""
        return replace(
            self,
            tp=self.tp[rows],
            fp=self.fp[rows],
            starts=starts,
            pos=self.pos[curves],
            neg=self.neg[curves],
            required=None if self.required is None else self.required[rows],
        )


def scale_values(rates: FloatArray, scale: Scale) -> FloatArray:
    """Return the rates, their logarithms, logits or normal deviates, depending on the scale."""
    if scale == "linear":
        return rates
    with np.errstate(divide="ignore"):
        if scale == "log":
            return np.log(rates)
        if scale == "logit":
            return np.log(rates) - np.log1p(-rates)
        from scipy.special import ndtri

        deviates: FloatArray = ndtri(rates)
        return deviates


def axis_positions(
    rates: FloatArray, low: FloatArray, high: FloatArray, scale: Scale
) -> FloatArray:
    """Return the positions of rates on axes, as fractions of the lengths of the axes.

    `low` and `high` are the ends of the axes on the scale, as `scale_values` returns them. On
    scales other than linear, rates beyond an end of the axis have the position of this end.
    """
    values = scale_values(rates, scale)
    if scale != "linear":
        values = np.clip(values, low, high)
    length = np.broadcast_to(high - low, values.shape)
    positions: FloatArray = np.divide(
        values - low, length, out=np.zeros_like(values), where=length > 0
    )
    return positions


MIN_WEIGHT_SHARE = 1e-9  # lowest level of a weighted count, as a share of the total weight


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DisplayAxes:
    """The axes on which curves are displayed; `pos`, `neg`, `low` and `top` have a value per curve.

    Two counts determine a point: `x_count` is the numerator of the rate on the x axis, and
    `other_count` is the second count that is needed for y. `low` is the start of a logarithmic
    axis: the lowest rate above 0. For normal deviates, `low` is the smallest distance of a rate
    from 0 or 1, among the rates that are neither 0 nor 1. `top` is the upper end of the y axis.
    """

    kind: Kind
    scale: Scale
    pos: FloatArray
    neg: FloatArray
    low: FloatArray
    top: FloatArray

    @property
    def monotone(self) -> bool:
        """Whether y always rises or always falls as the threshold is lowered."""
        return self.kind.segments == "straight" and self.kind.y != "skill"

    @property
    def curved(self) -> bool:
        """Whether the line between two neighboring points can be curved on these axes."""
        return self.scale == "normal_deviate" or self.kind.y == "precision"

    @property
    def x_total(self) -> FloatArray:
        """The denominator of the rate on the x axis, for each curve."""
        match self.kind.x:
            case "fpr":
                return self.neg
            case "recall":
                return self.pos
            case _:
                return self.pos + self.neg

    def axis_counts(self, tp: Array, fp: Array) -> tuple[Array, Array]:
        """Return `x_count` and `other_count` of points with these numbers of tp and fp."""
        match self.kind.x:
            case "fpr":
                return fp, tp
            case "recall":
                return tp, fp
            case _:
                return tp + fp, tp

    def x(self, x_count: FloatArray, line: IntArray) -> FloatArray:
        """Return the positions of points on the x axis; `line` is the curve of each point."""
        return self._position(x_count / self.x_total[line], line, scaled=self.scale != "linear")

    def y(self, x_count: FloatArray, other_count: FloatArray, line: IntArray) -> FloatArray:
        """Return the positions of points on the y axis; NaN if precision or lift is undefined.

        An axis of skill extends from the worse constant prediction to perfect predictions.
        """
        if self.monotone:
            scaled = self.scale == "normal_deviate"
            return self._position(other_count / self.pos[line], line, scaled=scaled)
        if self.kind.y == "skill":
            pos, neg = self.pos[line], self.neg[line]
            errors: FloatArray = x_count - 2 * other_count + pos
            return 1 - errors / np.maximum(pos, neg)
        total = x_count + other_count if self.kind.y == "precision" else x_count
        part = x_count if self.kind.y == "precision" else other_count
        share = np.divide(part, total, out=np.full(len(total), np.nan), where=total > 0)
        position: FloatArray = share / self.top[line]
        return position

    def _position(self, share: FloatArray, line: IntArray, *, scaled: bool) -> FloatArray:
        """Return the positions of rates on an axis, which is linear if `scaled` is false."""
        if not scaled:
            return share
        low = scale_values(self.low, self.scale)[line]
        # The upper end of normal deviates is not computed from 1 - low, which may be rounded to 1.
        high = np.zeros(1) if self.scale == "log" else -low
        return axis_positions(share, low, high, self.scale)

    def levels(
        self, curve: int, tp: Array, fp: Array, step: float
    ) -> list[tuple[Array, FloatArray]]:
        """Return two counts of one curve, each with its levels, for the function `rows_at_levels`.

        Levels are rising values of a count. While both counts stay between neighboring levels, the
        curve moves by at most `step` on both axes. For precision and lift, this applies to the y
        axis only. It does not apply below the lowest level of a weighted count.
        """
        pos, neg = self.pos[curve], self.neg[curve]
        if self.kind.y == "skill":  # each error has the same effect on the skill
            even = np.arange(step, 1, step)
            return [(tp, even * max(pos, neg)), (fp, even * max(pos, neg))]
        if not self.monotone:
            # The change of precision is at most half the relative change of tp / fp. The change of
            # lift is at most the sum of the relative changes of tp and tp + fp.
            ratio = 2 * step if self.kind.y == "precision" else step / 2
            return [
                (
                    counts,
                    total
                    * _geometric_shares(
                        1 / total if counts.dtype.kind == "i" else MIN_WEIGHT_SHARE, ratio
                    ),
                )
                for counts, total in ((tp, pos), (fp, neg))
                if total > 0
            ]
        x_count, other_count = self.axis_counts(tp, fp)
        even = np.arange(step, 1, step)
        x_levels = y_levels = even
        if self.scale == "log":
            x_levels = self.low[curve] ** (1 - np.append(0, even))
        if self.scale == "normal_deviate":
            from scipy.special import ndtr

            low = scale_values(self.low[curve], self.scale)
            x_levels = y_levels = ndtr(low * (1 - 2 * np.append(0, even)))
        return [(x_count, x_levels * self.x_total[curve]), (other_count, y_levels * pos)]


def _geometric_shares(low: float, ratio: float) -> FloatArray:
    """Return shares from `low` to about 1; each is 1 + ratio times the previous share."""
    shares: FloatArray = np.exp(np.arange(np.log(min(low, 1.0)), ratio, np.log1p(ratio)))
    return shares


def display_axes(kind: Kind, scale: Scale, counts: CurveCounts) -> DisplayAxes:
    """Return the axes on which curves of this kind are displayed, with their ends."""
    pos, neg = counts.pos.astype(np.float64), counts.neg.astype(np.float64)
    ones = np.ones(len(pos))
    axes = DisplayAxes(kind=kind, scale=scale, pos=pos, neg=neg, low=ones, top=ones)
    low, top = ones, ones
    x_count, other_count = axes.axis_counts(counts.tp, counts.fp)
    firsts, lengths = counts.starts[:-1], np.diff(counts.starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind.y == "lift" and len(firsts):
            lift = np.divide(other_count, x_count, out=np.zeros(len(x_count)), where=x_count > 0)
            top = np.maximum.reduceat(lift, firsts)
            top = np.where(top > 0, top, 1.0)
        if scale != "linear" and len(firsts):
            shares = [x_count / np.repeat(axes.x_total, lengths)]
            if scale == "normal_deviate":
                shares.append(other_count / np.repeat(pos, lengths))
                shares += [1 - share for share in shares]
            for share in shares:
                least = np.minimum.reduceat(np.where(share > 0, share, 1.0), firsts)
                low = np.minimum(low, least)
            low = np.minimum(low, 0.5) if scale == "normal_deviate" else low
    return DisplayAxes(kind=kind, scale=scale, pos=pos, neg=neg, low=low, top=top)


TARGET_BINS = 20  # approximate number of bins
NICE_STEPS = (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(5))

BIN_COLUMNS = {
    "curve": pl.Int64,
    "bin": pl.Int64,
    "left": pl.Float64,
    "right": pl.Float64,
    "below": pl.Boolean,
    "above": pl.Boolean,
}


def score_bins(curves: Curves) -> pl.DataFrame:
    """Return the numbers of positives and negatives in bins of the score of each curve.

    A bin contains the scores with `left <= score < right`. The first bin also contains all lower
    scores, and the last bin all higher scores, including infinite scores; `below` and `above` are
    True if there are any. A curve without finite scores has one bin, from 0 to 1.
    """
    threshold, tp, fp = (curves.columns[name] for name in ("threshold", "tp", "fp"))
    axis, parts = CurveAxis.from_curves(curves, None), []
    for curve, (start, end) in enumerate(pairwise(curves.starts)):
        falling = threshold[start:end]
        edges = bin_edges(falling, tp[start:end], fp[start:end])
        # Scores beyond the outer edges are counted in the outer bins. In all rows of a curve, fp
        # includes the unscored negatives, so differences of fp between rows do not include them.
        rows = axis.search(np.array([curve]), curves.round_thresholds(edges)[None, :], "last")[0]
        rows[0], rows[-1] = end - 1, start
        scored = falling[1:]
        last = np.arange(len(edges) - 1) == len(edges) - 2
        first = np.arange(len(edges) - 1) == 0
        columns = {
            "curve": np.full(len(edges) - 1, curve),
            "bin": np.arange(len(edges) - 1),
            "left": edges[:-1],
            "right": edges[1:],
            "below": first & bool(np.any(scored < edges[0])),
            # A score equal to the last edge is in the last bin, but not above the edge.
            "above": last & bool(np.any(scored > edges[-1])),
            "pos": -np.diff(tp[rows]),
            "neg": -np.diff(fp[rows]),
        }
        parts.append(pl.DataFrame(columns))
    kinds = {
        name: pl.Float64 if counts.dtype.kind == "f" else pl.Int64
        for name, counts in (("pos", tp), ("neg", fp))
    }
    schema = BIN_COLUMNS | kinds
    return pl.concat(
        [pl.DataFrame(schema=schema)]
        + [part.select(pl.col(name).cast(kind) for name, kind in schema.items()) for part in parts]
    )


def bin_edges(threshold: FloatArray, tp: FloatArray, fp: FloatArray) -> FloatArray:
    """Return the edges of about 20 bins; the edges are round numbers.

    If all scores are in [0, 1], the bins extend from 0 to 1, otherwise from the lowest to the
    highest score without outliers of both classes, which are beyond Tukey's outer fences: more than
    three interquartile ranges below the lower or above the upper quartile.
    """
    finite = np.isfinite(threshold)
    scores = threshold[finite]
    if not len(scores) or (scores[-1] >= 0 and scores[0] <= 1):
        bins = TARGET_BINS if len(scores) else 1
        return np.arange(bins + 1) / bins
    low, high = float(scores[-1]), float(scores[0])
    before = int(np.argmax(finite)) - 1
    fences = [_outer_fences(scores, counts[finite] - counts[before]) for counts in (tp, fp)]
    defined = [fence for fence in fences if fence is not None]
    if defined:
        lows, highs = zip(*defined, strict=True)
        low, high = max(low, min(lows)), min(high, max(highs))
    return _round_edges(low, high)


def _outer_fences(scores: FloatArray, counts: FloatArray) -> tuple[float, float] | None:
    """Return Tukey's lower and upper outer fence of a class; None for a class without rows.

    `scores` are in falling order. `counts` are the numbers of rows of the class at or above each
    score. If the two quartiles are equal, the result is the lowest and the highest score.
    """
    if not counts[-1] > 0:
        return None
    upper, lower = (float(scores[np.searchsorted(counts, counts[-1] * q)]) for q in (0.25, 0.75))
    if upper == lower:
        return float(scores[-1]), float(scores[0])
    distance = 3 * (upper - lower)
    return lower - distance, upper + distance


def _round_edges(low: float, high: float) -> FloatArray:
    """Return bin edges that are multiples of a round number and cover `low` to `high`."""
    width = high / TARGET_BINS - low / TARGET_BINS
    if not width > 0:
        width = max(abs(low), 1.0) / 10
    step = nice_step(width)
    first, last = (Decimal(repr(end)) / step for end in (low, high))
    start = floor(first)
    stop = max(ceil(last), start + 1)
    # Decimal multiples are exact: 3 * 0.1 is 0.3.
    multiples = [float(factor * step) for factor in range(start, stop + 1)]
    even = np.array(multiples) if all(map(isfinite, multiples)) else np.array([low, high])
    # If the scores differ only in their last digits, two multiples can be the same float.
    distinct = np.unique(even)
    if len(distinct) < len(even):
        distinct = np.unique(np.linspace(low, high, 3))
    if len(distinct) > 1:
        return distinct
    # All scores are equal. The second edge is the next float in the direction of 0.
    neighbor = nextafter(low, -inf if low > 0 else inf)
    return np.array(sorted([low, neighbor]))


def nice_step(width: float) -> Decimal:
    """Return the smallest number >= `width` that is 1, 2, 2.5 or 5 times a power of ten."""
    power = Decimal(10) ** floor(log10(width))
    return next(
        (factor * power for factor in NICE_STEPS if factor * power >= Decimal(repr(width))),
        10 * power,
    )
