"""Rows kept of curves → what leaving out the others does to the area."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.counting.threads import spread
from rocframe.curves.hyperbola import hyperbola

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.kinds import Kind
    from rocframe.curves.walks import Walks

LARGEST = 2**62
BATCH = 1 << 17


def area_change(walks: Walks, rows: NDArray[np.int64], kind: Kind) -> NDArray[np.float64]:
    """Return the area of each curve through some rows, less that through all; NaN without one.

    The area is `pr_auc` for precision-recall, and `auc` for every other kind. The ends of all
    curves are among the rows.
    """
    pos, neg = walks.pos.astype(np.float64), walks.neg.astype(np.float64)
    firsts = walks.starts[:-1]
    change = np.zeros(len(firsts))
    if not len(firsts):
        return change
    line = np.searchsorted(walks.starts, rows, "right") - 1
    joined = np.flatnonzero(line[1:] == line[:-1])
    left, right = rows[joined], rows[joined + 1]
    thinned = right - left > 1
    left, right, line = left[thinned], right[thinned], line[joined][thinned]
    measure = _precision if kind.name == "precision_recall" else _triangles
    # Pieces of about one batch of rows together.
    cells = np.cumsum(right - left) // BATCH
    edges = np.append(np.flatnonzero(np.diff(cells, prepend=-1)), len(left))
    parts = [slice(a, b) for a, b in pairwise(edges)]
    for part, less in zip(
        parts, spread(lambda part: measure(walks, left[part], right[part]), parts), strict=True
    ):
        np.add.at(change, line[part], less)
    short = walks.fp[walks.starts[1:] - 1] < (1 - 1e-9) * neg
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind.name == "precision_recall":
            return np.where((pos > 0) & ~short, change / pos, np.nan)
        return np.where((pos > 0) & (neg > 0) & ~short, change / (2 * pos * neg), np.nan)


def _steps(
    counts: NDArray[Any], left: NDArray[np.int64], right: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Return the counts after and before each row of some pieces, and where the pieces start."""
    lengths = right - left
    ends = np.cumsum(lengths)
    rows = np.arange(ends[-1]) + np.repeat(left + 1 - (ends - lengths), lengths)
    return counts[rows], counts[rows - 1], ends - lengths


def _triangles(
    walks: Walks, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return twice the area between the straight line from left to right and the curve."""
    tp, tp0, firsts = _steps(walks.tp, left, right)
    fp, fp0, _ = _steps(walks.fp, left, right)
    high, wide = (part[right] - part[left] for part in (walks.tp, walks.fp))
    if tp.dtype.kind == "i" and int(high.max()) * int(wide.max()) > LARGEST // 2:
        tp, tp0, fp, fp0, high, wide = (
            part.astype(np.float64) for part in (tp, tp0, fp, fp0, high, wide)
        )
    # From the left end of each piece: small numbers lose nothing.
    base = np.repeat(2 * walks.tp[left].astype(tp.dtype), right - left)
    curve = np.add.reduceat((fp - fp0) * (tp + tp0 - base), firsts)
    change: NDArray[np.float64] = (high * wide - curve).astype(np.float64)
    return change


def _precision(
    walks: Walks, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the integral of precision between two rows, less that through all rows between."""
    tp, tp0, firsts = _steps(walks.tp.astype(np.float64), left, right)
    fp, fp0, _ = _steps(walks.fp.astype(np.float64), left, right)
    ends = (
        counts[at].astype(np.float64)
        for counts, at in ((walks.tp, right), (walks.fp, right), (walks.tp, left), (walks.fp, left))
    )
    area: NDArray[np.float64] = hyperbola(*ends)
    return area - np.add.reduceat(hyperbola(tp, fp, tp0, fp0), firsts)
