"""Find the vertices of the convex hull of each curve, or of several curves together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocframe.kernel.arrays import run_parallel, scale_by_totals, split_groups, split_rows
from rocframe.kernel.groups import is_run_start, run_starts
from rocframe.kernel.scan import BLOCK_ROWS

if TYPE_CHECKING:
    from rocframe.kernel.arrays import Array, BoolArray, IntArray


# If curves have more than 32 rows on average, the hull of every 32nd row is computed first.
SAMPLED_EVERY = 32
MAX_EXACT_PRODUCT = 2**61  # sums and differences of two products up to this limit fit into Int64
HULL_ROUNDING = 1e-13  # larger than rounding errors of sums of weights whose total is about 1
RATE_ROUNDING = 4e-12  # larger than the effect of rates that are rounded to 12 digits


def hull_vertices(
    tp: Array, fp: Array, starts: IntArray, rounding: float = HULL_ROUNDING
) -> BoolArray:
    """Return a mask of the rows that are vertices of the upper convex hull of their curve.

    The points of a curve are (fp, tp). The rows of curve i are `starts[i]:starts[i + 1]`. Each
    curve has at least one row. The first and the last row of a curve are always marked. Points on
    an edge between two vertices are not marked. Integer counts are compared exactly. With weights,
    a point that is above an edge by less than the rounding error `rounding` is not marked.
    """
    if tp.dtype.kind == "f" or fp.dtype.kind == "f":
        lengths, lasts = np.diff(starts), starts[1:] - 1
        tp, fp = (part.astype(np.float64, copy=False) for part in (tp, fp))
        tp, fp = (scale_by_totals(part[lasts].repeat(lengths), part)[0] for part in (tp, fp))

    def find(curves: slice) -> BoolArray:
        edges = starts[curves.start : curves.stop + 1]
        rows = slice(edges[0], edges[-1])
        return _block_vertices(tp[rows], fp[rows], edges - edges[0], rounding)

    blocks = run_parallel(find, split_groups(starts, BLOCK_ROWS), arrays_only=True)
    return np.concatenate(blocks) if blocks else np.zeros(0, bool)


def common_vertices(
    tp: Array, fp: Array, group: IntArray, rounding: float = HULL_ROUNDING
) -> BoolArray:
    """Return a mask of the points that are vertices of the upper convex hull of their group.

    The points may be in any order; all points that coincide at a vertex are marked.
    """
    order = np.lexsort((tp, fp, group))
    x, y, key = fp[order], tp[order], group[order]
    is_new = is_run_start(key, x, y)
    starts = run_starts(key[is_new])
    starts = np.append(starts, np.count_nonzero(is_new))
    marked = hull_vertices(y[is_new], x[is_new], starts, rounding)
    is_vertex = np.zeros(len(tp), bool)
    is_vertex[order] = marked[np.cumsum(is_new) - 1]
    return is_vertex


def _block_vertices(tp: Array, fp: Array, starts: IntArray, rounding: float) -> BoolArray:
    """Return a mask of the hull vertices of a block; rows of long curves are excluded first."""
    if len(tp) <= SAMPLED_EVERY * len(starts):
        return _quickhull(tp, fp, starts, rounding)
    candidates = _hull_candidates(tp, fp, starts, rounding)
    is_vertex = np.zeros(len(tp), bool)
    is_vertex[candidates] = _quickhull(
        tp[candidates], fp[candidates], np.searchsorted(candidates, starts), rounding
    )
    return is_vertex


def _quickhull(tp: Array, fp: Array, starts: IntArray, rounding: float) -> BoolArray:
    """Return a mask of the hull vertices, by repeated division of curves at the farthest row."""
    is_vertex = np.zeros(len(tp), bool)
    if not len(tp):
        return is_vertex
    if tp.dtype.kind == "i" and int(tp.max()) * int(fp.max()) > MAX_EXACT_PRODUCT:
        tp, fp = tp.astype(object), fp.astype(object)
    is_exact = tp.dtype.kind != "f" and fp.dtype.kind != "f"
    left, right, sizes = starts[:-1], starts[1:] - 1, np.diff(starts)
    is_vertex[left] = is_vertex[right] = True
    rows = np.arange(len(tp))
    # `sizes` are the numbers of the rows of the segments from `left` to `right`. The row farthest
    # above the straight line between the ends of a segment is a vertex. Rows on or below the line
    # are not vertices. Each pass removes at least one row, so the loop ends.
    while len(rows):
        tp1, fp1 = tp[left], fp[left]
        height, width = tp[right] - tp1, fp[right] - fp1
        above, across = tp[rows], fp[rows]
        above -= tp1.repeat(sizes)
        above *= width.repeat(sizes)
        across -= fp1.repeat(sizes)
        across *= height.repeat(sizes)
        above -= across
        limit = (0 if is_exact else rounding) * (np.abs(height) + width)
        remaining = np.flatnonzero(above > (0 if is_exact else limit.repeat(sizes)))
        if not len(remaining):
            break
        rows, above = rows[remaining], above[remaining]
        ends = np.searchsorted(remaining, np.cumsum(sizes))
        sizes = np.diff(ends, prepend=0)
        is_split = sizes > 0
        left, right, sizes, ends = (part[is_split] for part in (left, right, sizes, ends))
        firsts = ends - sizes
        # The first of several farthest rows is a vertex, but the others may be on an edge.
        most = np.maximum.reduceat(above, firsts)
        farthest = np.flatnonzero(above >= (most - limit[is_split]).repeat(sizes))
        farthest = farthest[np.searchsorted(farthest, firsts)]
        middle = rows[farthest]
        is_vertex[middle] = True
        left = np.stack([left, middle], axis=1).ravel()
        right = np.stack([middle, right], axis=1).ravel()
        # The next pass removes the vertex itself: its distance from the new line is exactly 0, and
        # no limit is negative, also where the rates of a curve fall.
        sizes = np.stack([farthest - firsts, ends - farthest], axis=1).ravel()
    return is_vertex


def _hull_candidates(tp: Array, fp: Array, starts: IntArray, rounding: float) -> IntArray:
    """Return rows that include all vertices: the hull of sampled rows, and the rows above it."""
    is_sampled = np.zeros(len(tp), bool)
    is_sampled[::SAMPLED_EVERY] = is_sampled[starts[:-1]] = is_sampled[starts[1:] - 1] = True
    sampled = np.flatnonzero(is_sampled)
    firsts = np.searchsorted(sampled, starts)
    vertices = sampled[_quickhull(tp[sampled], fp[sampled], firsts, rounding)]
    tp1, fp1 = tp[vertices], fp[vertices]
    if tp.dtype.kind == "i" and int(tp1.max()) * int(fp1.max()) > MAX_EXACT_PRODUCT:
        tp1, fp1 = tp1.astype(object), fp1.astype(object)
    # No rows lie between the last row of a curve, which is a vertex, and the next curve. The
    # difference between these two rows therefore has no effect.
    height, width = (np.append(np.diff(part), part[:1]) for part in (tp1, fp1))
    is_candidate = np.zeros(len(tp), bool)

    def mark(rows: slice) -> None:
        first, last = np.searchsorted(vertices, [rows.start, rows.stop - 1], "right")
        edges = slice(first - 1, last)
        lengths = np.diff(np.append(vertices[edges], rows.stop).clip(rows.start))
        above = (tp[rows] - np.repeat(tp1[edges], lengths)) * np.repeat(width[edges], lengths)
        above -= (fp[rows] - np.repeat(fp1[edges], lengths)) * np.repeat(height[edges], lengths)
        is_candidate[rows] = above > 0

    run_parallel(mark, split_rows(len(tp), BLOCK_ROWS), arrays_only=True)
    is_candidate[vertices] = True
    return np.flatnonzero(is_candidate)
