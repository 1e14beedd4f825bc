"""Thin long lines: keep few points of each so that all others are within a tolerance.

The points of all lines stand end to end in arrays; line i has the points `starts[i]` to
`starts[i + 1]`.

References
----------
D. H. Douglas, T. K. Peucker (1973), "Algorithms for the reduction of the number of points required
to represent a digitized line or its caricature", Cartographica 10(2), 112-122.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Places: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
    Deviation: TypeAlias = Callable[
        [NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]
    ]


MIN_SEARCHED_ROWS = 2000  # Shorter curves are used in full: a search would take longer.


def rows_at_levels(
    rows: int, levels: Callable[[], Sequence[tuple[NDArray[Any], NDArray[np.float64]]]]
) -> NDArray[np.int64]:
    """Return rows of one curve such that no count passes a level between two of them.

    `levels` returns pairs: a rising count of each row, and rising values of this count. A row
    that is left out lies between the same two levels as its neighbours.
    """
    if rows <= MIN_SEARCHED_ROWS:
        return np.arange(rows)
    pairs = levels()
    if rows <= 2 * sum(len(values) for _, values in pairs):
        return np.arange(rows)
    first = [_first_rows_at(counts, values) for counts, values in pairs]
    kept = np.concatenate([*first, *(part - 1 for part in first), [0, rows - 1]])
    return np.unique(np.clip(kept, 0, rows - 1))


def _first_rows_at(counts: NDArray[Any], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the first row at which a rising count reaches each level."""
    if counts.dtype.kind == "i":  # Integer levels avoid a copy of the counts as floats.
        levels = np.unique(np.ceil(levels).astype(counts.dtype))
    return np.searchsorted(counts, levels)


def column_extremes(
    x: NDArray[np.float64], y: NDArray[np.float64], starts: NDArray[np.int64], width: float
) -> NDArray[np.bool_]:
    """Mark the first, last, lowest and highest point of each line in each column of a width.

    `x` must not decrease along a line. Within a narrow column, the marked points cover the same
    range of y as all points.
    """
    fresh: NDArray[np.bool_] = np.diff(np.floor(x / width), prepend=-1).astype(bool)
    fresh[starts[:-1][starts[1:] > starts[:-1]]] = True
    first = np.flatnonzero(fresh)
    if not len(first):
        return fresh
    run = np.cumsum(fresh) - 1
    marked: NDArray[np.bool_] = np.logical_or(fresh, np.append(fresh[1:], True))
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
    """Mark points whose straight lines are within the tolerance of the full lines.

    `tolerance` is one distance, or one for each line. Points that are `required` are marked in any
    case.
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
    """Mark at most so many corner points of each line, and return the tolerance of each line.

    The tolerance of a line with more corners is multiplied by `factor` until they are few enough.
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

    `deviation(points, left, right)` measures how far points are from the segments between two
    others. Points that are `required` are marked in any case, and of the others only those that are
    `allowed`; a segment without an allowed point inside has no deviation. The farthest point of a
    segment splits it, in all segments of all lines at once (Douglas and Peucker, 1973).
    """
    kept = np.zeros(starts[-1], bool) if required is None else required.copy()
    lines = len(starts) - 1
    limit = np.broadcast_to(np.asarray(tolerance, np.float64), lines)
    largest = np.zeros(lines)
    filled = starts[1:] > starts[:-1]
    kept[starts[:-1][filled]] = kept[starts[1:][filled] - 1] = True
    ends = np.flatnonzero(kept)
    line = np.repeat(np.arange(lines), np.diff(starts))[ends]
    same = line[1:] == line[:-1]  # No segment leads from one line to the next.
    left, right, line = ends[:-1][same], ends[1:][same], line[1:][same]
    n_allowed = None if allowed is None else np.append(0, np.cumsum(allowed))
    while True:
        long = right - left > 1
        if n_allowed is not None:
            long &= n_allowed[right] > n_allowed[left + 1]
        left, right, line = left[long], right[long], line[long]
        if not len(left):
            return kept, largest
        inner = right - left - 1
        firsts = np.cumsum(inner) - inner
        segment = np.repeat(np.arange(len(left)), inner)
        points = np.arange(len(segment)) + (left + 1 - firsts)[segment]
        distance = deviation(points, left[segment], right[segment])
        worst = np.maximum.reduceat(distance, firsts)
        cut = worst > limit[line]
        np.maximum.at(largest, line[~cut], worst[~cut])
        if allowed is not None:
            distance = np.where(allowed[points], distance, -1.0)
            worst = np.maximum.reduceat(distance, firsts)
        farthest = np.flatnonzero(distance == worst[segment])
        farthest = farthest[np.unique(segment[farthest], return_index=True)[1]]
        middle = points[farthest[cut]]
        kept[middle] = True
        left, right = np.append(left[cut], middle), np.append(middle, right[cut])
        line = np.append(line[cut], line[cut])


def segment_distance(point: Places, start: Places, end: Places) -> NDArray[np.float64]:
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
    """Mark about so many points of each line, evenly along it; all of a line that has no more.

    Lengths are measured along the line through its corners, which include its ends, so that
    oscillations below the tolerance of the corners have no length.
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
    """Return at most so many rows of each line, evenly by rank, and where each line starts then.

    `most` is at least 2. The first and the last row of a line are kept.
    """
    sizes = np.diff(starts)
    kept = np.minimum(sizes, most)
    step = np.where(sizes > most, (sizes - 1) / (most - 1), 1.0)
    new_starts = np.append(0, np.cumsum(kept))
    rank = np.arange(new_starts[-1]) - np.repeat(new_starts[:-1], kept)
    rows = np.repeat(starts[:-1], kept) + np.rint(rank * np.repeat(step, kept)).astype(np.int64)
    return rows, new_starts


def bisect_segments(
    points: dict[str, NDArray[Any]],
    left: NDArray[np.int64],
    needs_point: Callable[[dict[str, NDArray[Any]], NDArray[np.int64]], NDArray[np.bool_]],
    midpoints: Callable[[dict[str, NDArray[Any]], NDArray[np.int64]], dict[str, NDArray[Any]]],
) -> dict[str, NDArray[Any]]:
    """Insert points in the middle of segments until none needs another one.

    `points` are columns; a segment leads from the point `left[i]` to the next one. Both functions
    are called with the columns and the left ends of segments.
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
