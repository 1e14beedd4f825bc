"""Curves → the vertices of their convex hulls.

No threshold between two vertices is the best one at any cost of errors and any prevalence.

References
----------
F. Provost, T. Fawcett (2001), "Robust classification for imprecise environments", Machine Learning
42(3), 203-231. doi:10.1023/A:1007601015854
C. B. Barber, D. P. Dobkin, H. Huhdanpaa (1996), "The quickhull algorithm for convex hulls", ACM
Transactions on Mathematical Software 22(4), 469-483. doi:10.1145/235815.235821
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

LARGEST = 2**61  # products of whole numbers below it, and their differences, fit Int64


def vertices(tp: NDArray[Any], fp: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the vertices of the upper hull of each curve in the plane of `fp` and `tp`.

    Curve i has the rows `starts[i]` to `starts[i + 1]`, at least one; its ends are marked. What
    lies on a side of the hull is no vertex. Whole numbers are compared exactly.
    """
    kept = np.zeros(len(tp), bool)
    if not len(tp):
        return kept
    if tp.dtype.kind == "i" and int(tp.max()) * int(fp.max()) > LARGEST:
        tp, fp = tp.astype(object), fp.astype(object)
    left, right = starts[:-1], starts[1:] - 1
    kept[left] = kept[right] = True
    piece = np.repeat(np.arange(len(left)), np.diff(starts))
    rows = np.arange(len(tp))
    # Of each piece the row farthest above the straight line between its ends is a vertex; the
    # rows on or below that line are none.
    while len(rows):
        a, b = left[piece], right[piece]
        above = (tp[rows] - tp[a]) * (fp[b] - fp[a]) - (fp[rows] - fp[a]) * (tp[b] - tp[a])
        higher = np.asarray(above > 0, bool)
        if not higher.any():
            break
        rows, piece, above = rows[higher], piece[higher], above[higher]
        fresh = np.diff(piece, prepend=-1) != 0
        run = np.cumsum(fresh) - 1
        firsts = np.flatnonzero(fresh)
        farthest = np.flatnonzero(above == np.maximum.reduceat(above, firsts)[run])
        middle = rows[farthest[np.unique(run[farthest], return_index=True)[1]]]
        kept[middle] = True
        # Rows before the vertex stay in the first half of their piece, rows after it in the other.
        halves = np.stack([left[piece[firsts]], middle, right[piece[firsts]]])
        left, right = halves[:2].T.ravel(), halves[1:].T.ravel()
        piece = 2 * run + (rows > middle[run])
        inside = rows != middle[run]
        rows, piece = rows[inside], piece[inside]
    return kept
