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

LARGEST = 2**61
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
    measure = _precision if kind.name == "precision_recall" else _triangles
    # Pieces of about one batch of rows together.
    batch = rows[:-1] // BATCH
    edges = np.append(np.flatnonzero(np.diff(batch, prepend=-1)), len(rows) - 1)
    parts = [slice(a, b + 1) for a, b in pairwise(edges.tolist())]
    less = np.concatenate([np.zeros(0), *spread(lambda part: measure(walks, rows[part]), parts)])
    within = line[1:] == line[:-1]
    np.add.at(change, line[1:][within], less[within])
    short = walks.fp[walks.starts[1:] - 1] < (1 - 1e-9) * neg
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind.name == "precision_recall":
            return np.where((pos > 0) & ~short, change / pos, np.nan)
        return np.where((pos > 0) & (neg > 0) & ~short, change / (2 * pos * neg), np.nan)


def _steps(
    counts: NDArray[Any], rows: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the counts after and before each row, and at both ends of each piece."""
    first, last = rows[0], rows[-1]
    ends = counts[rows]
    return counts[first + 1 : last + 1], counts[first:last], ends[1:], ends[:-1]


def _triangles(walks: Walks, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return twice the area between the straight line from row to row and the curve."""
    (tp, tp0, tp2, tp1), (fp, fp0, fp2, fp1) = (_steps(part, rows) for part in (walks.tp, walks.fp))
    high, wide = tp2 - tp1, fp2 - fp1
    if tp.dtype.kind == "i" and int(abs(high).max()) * int(abs(wide).max()) > LARGEST:
        tp, tp0, fp, fp0, high, wide, tp1 = (
            part.astype(np.float64) for part in (tp, tp0, fp, fp0, high, wide, tp1)
        )
    # From the left end of each piece: small numbers lose nothing.
    heights = tp + tp0 - np.repeat(2 * tp1, np.diff(rows))
    curve = np.add.reduceat((fp - fp0) * heights, rows[:-1] - rows[0])
    change: NDArray[np.float64] = (high * wide - curve).astype(np.float64)
    return change


def _precision(walks: Walks, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the integral of precision from row to row, less that through all rows between."""
    (tp, tp0, tp2, tp1), (fp, fp0, fp2, fp1) = (
        _steps(part.astype(np.float64), rows) for part in (walks.tp, walks.fp)
    )
    steps = np.add.reduceat(_risen(tp, fp, tp0, fp0), rows[:-1] - rows[0])
    change: NDArray[np.float64] = _risen(tp2, fp2, tp1, fp1) - steps
    return np.where(np.diff(rows) > 1, change, 0.0)


def _risen(*counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the integral of each step, nothing for those from one curve to the next."""
    tp, fp, tp0, fp0 = counts
    back = (tp < tp0) | (fp < fp0)
    return hyperbola(np.where(back, tp0, tp), np.where(back, fp0, fp), tp0, fp0)
