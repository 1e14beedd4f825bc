"""Long lines → few points that draw the same line.

A line of a million points goes through three steps. `landmarks` searches the counts for the rows
that matter to any rate; it looks at thousands of rows, not at all of them. `outlines` and then
`corners` keep what a drawing of given precision needs. `spaced` adds rows between, for tooltips.

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
    from numpy.typing import NDArray

    Places: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]

RATIO = 1 / 800
FEWEST = 2000
SMALLEST = 1e-9  # of a total, below which weights are not told apart


def landmarks(tp: NDArray[Any], fp: NDArray[Any], pos: float, neg: float) -> NDArray[np.int64]:
    """Return rows such that each row between two of them has nearly their counts.

    Each of tp, fp, fn, tn of a row that is left out differs by a factor of less than 1 + 1/800
    between the two rows around it. So every rate differs by less than 1/1000, and rates near 0
    and 1, which normal-deviate axes stretch, differ by as little there.
    """
    rows = len(tp)
    if rows <= FEWEST:
        return np.arange(rows)
    found = [_crossings(tp, pos), _crossings(fp, neg)]
    kept = np.concatenate([*found, *(part - 1 for part in found), [0, rows - 1]])
    return np.unique(np.clip(kept, 0, rows - 1))


def _crossings(counts: NDArray[Any], total: float) -> NDArray[np.int64]:
    """Return where rising counts first reach levels that are close together near 0 and total."""
    levels = total * np.exp(-RATIO * np.arange(np.log(1 / SMALLEST) / RATIO))
    edges = np.concatenate([[0], total - levels, levels[::-1], [total]])
    if counts.dtype.kind == "i":  # whole numbers are compared with whole numbers, uncopied
        edges = np.unique(np.ceil(edges).astype(counts.dtype))
    return np.searchsorted(counts, edges)


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
    tolerance: float,
    *,
    wanted: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Mark the points that keep each line within the tolerance of what it was.

    Line i has the points `starts[i]` to `starts[i + 1]`. Points that are `wanted` are kept in any
    case. Douglas and Peucker's method, all pieces of all lines at a time: of each piece the
    farthest point is kept and splits it.
    """
    kept = np.zeros(len(x), bool) if wanted is None else wanted.copy()
    some = starts[1:] > starts[:-1]
    first, last = starts[:-1][some], starts[1:][some] - 1
    kept[first] = kept[last] = True
    ends = np.flatnonzero(kept)
    inside = ~np.isin(ends[1:], first)  # no piece goes from one line to the next
    left, right = ends[:-1][inside], ends[1:][inside]
    while True:
        long = right - left > 1
        left, right = left[long], right[long]
        if not len(left):
            return kept
        inner = right - left - 1
        firsts = np.cumsum(inner) - inner
        piece = np.repeat(np.arange(len(left)), inner)
        points = np.arange(len(piece)) + (left + 1 - firsts)[piece]
        off = distance(*((x[at], y[at]) for at in (points, left[piece], right[piece])))
        worst = np.maximum.reduceat(off, firsts)
        farthest = np.flatnonzero(off == worst[piece])
        farthest = farthest[np.unique(piece[farthest], return_index=True)[1]]
        split = worst > tolerance
        middle = points[farthest[split]]
        kept[middle] = True
        left, right = np.append(left[split], middle), np.append(middle, right[split])


def distance(point: Places, start: Places, end: Places) -> NDArray[np.float64]:
    """Return how far points are from the straight pieces between two others."""
    across, up = end[0] - start[0], end[1] - start[1]
    dx, dy = point[0] - start[0], point[1] - start[1]
    length = across**2 + up**2
    along = np.divide(dx * across + dy * up, length, out=np.zeros_like(length), where=length > 0)
    along = np.clip(along, 0, 1)
    far: NDArray[np.float64] = np.hypot(dx - along * across, dy - along * up)
    return far


def spaced(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    most: NDArray[np.int64],
    *,
    corners: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Mark about so many points of each line, evenly along it; all of a line that has no more.

    Lengths are those of the line through its corners: what goes to and fro within a pixel has
    none. The first and the last point of a line are corners.
    """
    lengths = np.diff(starts)
    line = np.repeat(np.arange(len(lengths)), lengths)
    first = starts[:-1][lengths > 0]

    def come(at: NDArray[np.int64]) -> NDArray[np.float64]:
        step = np.abs(np.diff(x[at], prepend=0)) + np.abs(np.diff(y[at], prepend=0))
        step[np.searchsorted(at, first)] = 0
        return np.cumsum(step)

    if not len(line):
        return np.zeros(0, bool)
    way, kept = come(np.arange(len(line))), np.flatnonzero(corners)
    way = np.interp(way, way[kept], come(kept))
    way -= way[starts[:-1][line]]
    whole = way[starts[1:][line] - 1]
    share = np.divide(way, whole, out=np.zeros_like(way), where=whole > 0)
    cell = np.floor(share * most[line])
    marked: NDArray[np.bool_] = (np.diff(cell, prepend=-1) != 0) | (lengths <= most)[line]
    return marked
