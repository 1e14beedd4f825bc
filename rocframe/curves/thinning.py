"""Select points of a long line, so that the line between them differs by at most a tolerance.

The points of all lines are concatenated in arrays. Line i has the points `starts[i]` to
`starts[i + 1] - 1`.

References
----------
D. H. Douglas, T. K. Peucker (1973), "Algorithms for the reduction of the number of points required
to represent a digitized line or its caricature", Cartographica 10(2), 112-122.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rocframe.curves.segment import interpolated_values
from rocframe.kernel.groups import group_starts, is_run_start
from rocframe.kernel.sort import concatenated_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Positions: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
    Deviation: TypeAlias = Callable[
        [NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        tuple[NDArray[np.float64], NDArray[np.float64]],
    ]


MIN_SEARCHED_ROWS = 2000  # for curves of fewer rows, using all rows is faster than a search


def rows_at_levels(
    rows: int, levels: Callable[[], Sequence[tuple[NDArray[Any], NDArray[np.float64]]]]
) -> NDArray[np.int64]:
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


def _first_rows_at(counts: NDArray[Any], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the first row at which a rising count is at least each level."""
    if counts.dtype.kind == "i":  # Integer levels avoid a copy of the counts as floats.
        levels = np.unique(np.ceil(levels).astype(counts.dtype))
    return np.searchsorted(counts, levels)


def column_extremes(
    x: NDArray[np.float64], y: NDArray[np.float64], starts: NDArray[np.int64], width: float
) -> NDArray[np.bool_]:
    """Return a mask of the first, last, lowest and highest point of each line in each column.

    A column is a vertical strip of the chart with this width. `x` must not decrease within a line.
    """
    is_first = is_run_start(np.floor(x / width))
    is_first[starts[:-1][starts[1:] > starts[:-1]]] = True
    first = np.flatnonzero(is_first)
    if not len(first):
        return is_first
    column = np.cumsum(is_first) - 1
    marked: NDArray[np.bool_] = np.logical_or(is_first, np.append(is_first[1:], True))
    for extreme in (np.minimum, np.maximum):
        rows = np.flatnonzero(y == extreme.reduceat(y, first)[column])
        marked[rows[is_run_start(column[rows])]] = True
    return marked


def corner_points(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    tolerance: float | NDArray[np.float64],
    *,
    required: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Return a mask of points of each line; straight lines between them approximate the line.

    No point of a line is farther from these straight lines than `tolerance`, which is one distance
    for all lines, or an array with a distance for each line. Points in the mask `required` are
    always marked.
    """

    def deviation(
        points: NDArray[np.int64],
        left: NDArray[np.int64],
        right: NDArray[np.int64],
        sizes: NDArray[np.int64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        rows = points, left.repeat(sizes), right.repeat(sizes)
        return segment_distance(*((x[part], y[part]) for part in rows)), np.ones(len(left))

    return douglas_peucker(starts, deviation, tolerance, required=required)[0]


def limit_corners(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    tolerance: float,
    *,
    most: int,
    factor: float,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Return a mask of at most `most` corner points of each line, and the tolerance of each line.

    The tolerance of a line with more than `most` corners is multiplied by `factor`, which is above
    1, until the line has at most `most` corners. `most` is at least 2, because the two ends of a
    line are always marked.
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
    starts: NDArray[np.int64],
    deviation: Deviation,
    tolerance: float | NDArray[np.float64],
    *,
    required: NDArray[np.bool_] | None = None,
    allowed: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
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


def segment_distance(point: Positions, start: Positions, end: Positions) -> NDArray[np.float64]:
    """Return the distance of each point from the straight segment between two other points."""
    width, height = end[0] - start[0], end[1] - start[1]
    dx, dy = point[0] - start[0], point[1] - start[1]
    square = width**2 + height**2
    share = np.divide(dx * width + dy * height, square, out=np.zeros_like(square), where=square > 0)
    share = np.clip(share, 0, 1)
    distance: NDArray[np.float64] = np.hypot(dx - share * width, dy - share * height)
    return distance


def evenly_spaced_points(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    most: NDArray[np.int64],
    *,
    corners: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Return a mask of about `most` points of each line at equal distances along the line.

    All points of lines with at most `most` points are marked. Distances are measured along the
    straight lines between the points in the mask `corners`, which include the ends of each line.
    Oscillations between two corners do not increase the distances.
    """
    sizes = np.diff(starts)
    line = np.repeat(np.arange(len(sizes)), sizes)
    first = starts[:-1][sizes > 0]

    def cumulative_length(rows: NDArray[np.int64]) -> NDArray[np.float64]:
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
    marked: NDArray[np.bool_] = is_run_start(cell) | (sizes <= most)[line]
    return marked


def evenly_ranked_rows(
    starts: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return at most `most` rows of each line, in equal steps, and the new start of each line.

    `most` is at least 2. The first and the last row of a line are always returned.
    """
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

    curve: NDArray[np.int64]
    row: NDArray[np.int64]
    tp: NDArray[np.float64]
    fp: NDArray[np.float64]
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    prevalence: float | None = None

    @property
    def starts(self) -> NDArray[np.int64]:
        """The index of the first point of each curve, followed by the number of points."""
        return group_starts(self.curve, len(self.pos))

    @property
    def counts(self) -> tuple[NDArray[np.float64], ...]:
        """The four counts of each point: tp, fp, fn, tn."""
        return self.tp, self.fp, self.pos[self.curve] - self.tp, self.neg[self.curve] - self.fp

    def select(self, points: NDArray[np.bool_] | NDArray[np.int64]) -> LinePoints:
        """Return the points at which `points` is True, or the points with these indices."""
        columns = {name: getattr(self, name)[points] for name in PER_POINT}
        return replace(self, **columns)

    def between(self, ends: LinePoints, fraction: float | NDArray[np.float64]) -> LinePoints:
        """Return points between each point and the same element of `ends`.

        Counts are interpolated linearly. `fraction` is 0 at the point and 1 at the element of
        `ends`.
        """
        tp = interpolated_values(self.tp, ends.tp, fraction)
        fp = interpolated_values(self.fp, ends.fp, fraction)
        return replace(self, row=np.full(len(tp), BETWEEN), tp=tp, fp=fp)


PER_POINT = ("curve", "row", "tp", "fp")  # the columns with one value per point


def insert_points(
    points: LinePoints,
    left: NDArray[np.int64],
    needs_point: Callable[[LinePoints, LinePoints], NDArray[np.bool_]],
) -> LinePoints:
    """Return all points, and new points in the middle of segments.

    Segment i goes from the point `left[i]` to the next point. Segments are divided until
    `needs_point` is False for all segments. The arguments of `needs_point` are the starts and the
    ends of segments. A segment is not divided if there is no Float64 number between the counts of
    its ends.
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
