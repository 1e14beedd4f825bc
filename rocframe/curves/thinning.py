"""Thin long lines: select points whose straight connections stay within a tolerance of the line.

The points of all lines are concatenated in arrays. Line i has the points `starts[i]` to
`starts[i + 1]`.

References
----------
D. H. Douglas, T. K. Peucker (1973), "Algorithms for the reduction of the number of points required
to represent a digitized line or its caricature", Cartographica 10(2), 112-122.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rocframe.kernel.sort import concatenated_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Positions: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
    Deviation: TypeAlias = Callable[
        [NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]
    ]


MIN_SEARCHED_ROWS = 2000  # all rows of shorter curves are used, which is faster than a search


def rows_at_levels(
    rows: int, levels: Callable[[], Sequence[tuple[NDArray[Any], NDArray[np.float64]]]]
) -> NDArray[np.int64]:
    """Return rows of one curve such that no level of a count lies between two of them.

    `levels` returns pairs: a rising count of each row, and rising values of this count. A row
    that is not returned lies between the same two levels as the rows beside it.
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
    """Return the first row at which a rising count reaches each level."""
    if counts.dtype.kind == "i":  # Integer levels avoid a copy of the counts as floats.
        levels = np.unique(np.ceil(levels).astype(counts.dtype))
    return np.searchsorted(counts, levels)


def column_extremes(
    x: NDArray[np.float64], y: NDArray[np.float64], starts: NDArray[np.int64], width: float
) -> NDArray[np.bool_]:
    """Mark the first, last, lowest and highest point of each line in each column of pixels.

    Columns have the width `width`. `x` must not decrease along a line. Within a column, the marked
    points cover the same range of y as all points.
    """
    is_first: NDArray[np.bool_] = np.diff(np.floor(x / width), prepend=-1).astype(bool)
    is_first[starts[:-1][starts[1:] > starts[:-1]]] = True
    first = np.flatnonzero(is_first)
    if not len(first):
        return is_first
    run = np.cumsum(is_first) - 1
    marked: NDArray[np.bool_] = np.logical_or(is_first, np.append(is_first[1:], True))
    for extreme in (np.minimum, np.maximum):
        rows = np.flatnonzero(y == extreme.reduceat(y, first)[run])
        marked[rows[np.diff(run[rows], prepend=-1) != 0]] = True
    return marked


def corner_points(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    tolerance: float | NDArray[np.float64],
    *,
    required: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Mark points whose straight connections are within the tolerance of the lines.

    `tolerance` is one distance, or one for each line. Points that are `required` are always marked.
    """

    def deviation(*points: NDArray[np.int64]) -> NDArray[np.float64]:
        return segment_distance(*((x[rows], y[rows]) for rows in points))

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
    """Mark at most `most` corner points of each line, and return the tolerance of each line.

    The tolerance of a line with more corners is multiplied by `factor` until it has at most `most`.
    `factor` is greater than 1 and `most` at least 2: with a tolerance above the length of the axes,
    only the two ends of a line remain.
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
    """Mark the points that each line needs, and return the largest deviation of each line.

    `deviation(points, left, right)` returns the distances of points from the segments between two
    other points. Points that are `required` are always marked. Other points are marked only if they
    are `allowed`; the deviation of a segment without an allowed point is not measured. Each segment
    is split at its farthest point, in all lines at once (Douglas and Peucker, 1973).
    """
    selected = np.zeros(starts[-1], bool) if required is None else required.copy()
    lines = len(starts) - 1
    limit = np.broadcast_to(np.asarray(tolerance, np.float64), lines)
    largest = np.zeros(lines)
    nonempty = starts[1:] > starts[:-1]
    selected[starts[:-1][nonempty]] = selected[starts[1:][nonempty] - 1] = True
    ends = np.flatnonzero(selected)
    line = np.repeat(np.arange(lines), np.diff(starts))[ends]
    same = line[1:] == line[:-1]  # No segment leads from one line to the next.
    left, right, line = ends[:-1][same], ends[1:][same], line[1:][same]
    n_allowed = None if allowed is None else np.append(0, np.cumsum(allowed))
    # Each pass selects a point inside each segment that it splits, so there are at most as many
    # passes as points.
    while True:
        long = right - left > 1
        if n_allowed is not None:
            long &= n_allowed[right] > n_allowed[left + 1]
        left, right, line = left[long], right[long], line[long]
        if not len(left):
            return selected, largest
        inner = right - left - 1
        firsts = np.cumsum(inner) - inner
        segment = np.repeat(np.arange(len(left)), inner)
        points = concatenated_ranges(left + 1, inner)
        distance = deviation(points, left[segment], right[segment])
        worst = np.maximum.reduceat(distance, firsts)
        is_split = worst > limit[line]
        np.maximum.at(largest, line[~is_split], worst[~is_split])
        if allowed is not None:
            distance = np.where(allowed[points], distance, -1.0)
            worst = np.maximum.reduceat(distance, firsts)
        farthest = np.flatnonzero(distance == worst[segment])
        farthest = farthest[np.unique(segment[farthest], return_index=True)[1]]
        middle = points[farthest[is_split]]
        selected[middle] = True
        left, right = np.append(left[is_split], middle), np.append(middle, right[is_split])
        line = np.append(line[is_split], line[is_split])


def segment_distance(point: Positions, start: Positions, end: Positions) -> NDArray[np.float64]:
    """Return the distance of each point from the straight segment between two others."""
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
    """Mark about `most` points of each line at even distances along it; all if it has no more.

    Lengths are measured along the straight connections of the corners, which include the ends of
    the line. Oscillations below the tolerance of the corners do not add to the length.
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
    marked: NDArray[np.bool_] = (np.diff(cell, prepend=-1) != 0) | (sizes <= most)[line]
    return marked


def evenly_ranked_rows(
    starts: NDArray[np.int64], most: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return at most `most` rows of each line, evenly by rank, and the new start of each line.

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


def bisect_segments(
    points: dict[str, NDArray[Any]],
    left: NDArray[np.int64],
    needs_point: Callable[[dict[str, NDArray[Any]], NDArray[np.int64]], NDArray[np.bool_]],
    midpoints: Callable[[dict[str, NDArray[Any]], NDArray[np.int64]], dict[str, NDArray[Any]]],
) -> dict[str, NDArray[Any]]:
    """Insert points in the middle of segments until `needs_point` is False for all of them.

    `points` are columns. Segment i goes from the point `left[i]` to the next one. Both functions
    are called with the columns and the left ends of segments. `needs_point` must be False if there
    is no number between both ends: a segment of Float64 numbers is then halved at most 2,100 times.
    """
    while len(left):
        left = left[needs_point(points, left)]
        middle = midpoints(points, left)
        points = {
            name: np.insert(values, left + 1, middle[name]) for name, values in points.items()
        }
        left = left + np.arange(len(left))
        left = np.sort(np.append(left, left + 1))
    return points
