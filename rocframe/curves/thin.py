"""Long lines → the few of their points that lie close to all others.

`landmarks` finds the rows that matter to a display of given precision: it looks at thousands of
rows, not at all of them. `outlines` keeps what a line shows in narrow columns, and `split` what
its pieces need to stay within a tolerance, however that is measured.

References
----------
D. H. Douglas, T. K. Peucker (1973), "Algorithms for the reduction of the number of points required
to represent a digitized line or its caricature", Cartographica 10(2), 112-122.
doi:10.3138/FM57-6770-U75U-7727
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Places: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
    # How far points are from the pieces between two others: of places in the arrays.
    Off: TypeAlias = Callable[
        [NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]
    ]

FEWEST = 2000  # rows that are not worth a search


def landmarks(
    rows: int, levels: Callable[[], Sequence[tuple[NDArray[Any], NDArray[np.float64]]]]
) -> NDArray[np.int64]:
    """Return rows such that no counts between two of them pass a level.

    `levels` returns rising counts, one per row, and some of their values, rising; several times.
    A row that is left out lies between the same two levels as its neighbours.
    """
    if rows <= FEWEST:
        return np.arange(rows)
    asked = levels()
    if rows <= 2 * sum(len(values) for _, values in asked):
        return np.arange(rows)
    found = [_crossings(counts, values) for counts, values in asked]
    kept = np.concatenate([*found, *(part - 1 for part in found), [0, rows - 1]])
    return np.unique(np.clip(kept, 0, rows - 1))


def _crossings(counts: NDArray[Any], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return where rising counts first reach some levels."""
    if counts.dtype.kind == "i":  # whole numbers are compared with whole numbers, uncopied
        levels = np.unique(np.ceil(levels).astype(counts.dtype))
    return np.searchsorted(counts, levels)


def outlines(
    x: NDArray[np.float64], y: NDArray[np.float64], starts: NDArray[np.int64], width: float
) -> NDArray[np.bool_]:
    """Mark the first, last, lowest and highest point that each line has in each narrow column.

    For lines that never go left. What goes up and down within a column looks no different.
    """
    fresh: NDArray[np.bool_] = np.diff(np.floor(x / width), prepend=-1).astype(bool)
    fresh[starts[:-1][starts[1:] > starts[:-1]]] = True
    first = np.flatnonzero(fresh)
    if not len(first):
        return fresh
    run = np.cumsum(fresh) - 1
    marked: NDArray[np.bool_] = np.logical_or(fresh, np.append(fresh[1:], True))
    for extreme in (np.minimum, np.maximum):
        there = np.flatnonzero(y == extreme.reduceat(y, first)[run])
        marked[there[np.diff(run[there], prepend=-1) != 0]] = True
    return marked


def corners(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    tolerance: float | NDArray[np.float64],
    *,
    wanted: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Mark the points that keep each straight line within the tolerance of what it was.

    Line i has the points `starts[i]` to `starts[i + 1]`. Points that are `wanted` are kept in any
    case.
    """

    def off(*points: NDArray[np.int64]) -> NDArray[np.float64]:
        return distance(*((x[at], y[at]) for at in points))

    return split(starts, off, tolerance, wanted=wanted)[0]


def split(
    starts: NDArray[np.int64],
    off: Off,
    tolerance: float | NDArray[np.float64],
    *,
    wanted: NDArray[np.bool_] | None = None,
    able: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Mark the points that lines need, and say how far off each line is without the others.

    `off` says how far points are from the pieces between two others. Only points that are `able`
    are kept; a piece without any of them inside is as it was. Douglas and Peucker's method, all
    pieces of all lines at a time: of each piece the farthest point is kept and splits it.
    """
    kept = np.zeros(starts[-1], bool) if wanted is None else wanted.copy()
    lines = len(starts) - 1
    limit = np.broadcast_to(np.asarray(tolerance, np.float64), lines)
    worst_of = np.zeros(lines)
    some = starts[1:] > starts[:-1]
    first, last = starts[:-1][some], starts[1:][some] - 1
    kept[first] = kept[last] = True
    ends = np.flatnonzero(kept)
    line = np.repeat(np.arange(lines), np.diff(starts))[ends]
    inside = line[1:] == line[:-1]  # no piece goes from one line to the next
    left, right, line = ends[:-1][inside], ends[1:][inside], line[1:][inside]
    passed = None if able is None else np.append(0, np.cumsum(able))
    while True:
        long = right - left > 1
        if passed is not None:
            long &= passed[right] > passed[left + 1]
        left, right, line = left[long], right[long], line[long]
        if not len(left):
            return kept, worst_of
        inner = right - left - 1
        firsts = np.cumsum(inner) - inner
        piece = np.repeat(np.arange(len(left)), inner)
        points = np.arange(len(piece)) + (left + 1 - firsts)[piece]
        far = off(points, left[piece], right[piece])
        worst = np.maximum.reduceat(far, firsts)
        cut = worst > limit[line]
        np.maximum.at(worst_of, line[~cut], worst[~cut])
        if able is not None:
            far = np.where(able[points], far, -1.0)
            worst = np.maximum.reduceat(far, firsts)
        farthest = np.flatnonzero(far == worst[piece])
        farthest = farthest[np.unique(piece[farthest], return_index=True)[1]]
        middle = points[farthest[cut]]
        kept[middle] = True
        left, right = np.append(left[cut], middle), np.append(middle, right[cut])
        line = np.append(line[cut], line[cut])


def distance(point: Places, start: Places, end: Places) -> NDArray[np.float64]:
    """Return how far points are from the straight pieces between two others."""
    across, up = end[0] - start[0], end[1] - start[1]
    dx, dy = point[0] - start[0], point[1] - start[1]
    length = across**2 + up**2
    along = np.divide(dx * across + dy * up, length, out=np.zeros_like(length), where=length > 0)
    along = np.clip(along, 0, 1)
    far: NDArray[np.float64] = np.hypot(dx - along * across, dy - along * up)
    return far
