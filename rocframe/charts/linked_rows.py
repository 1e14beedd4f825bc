"""Whole curves → the rows that a dashboard has, and points between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocframe.charts.spaced import spaced
from rocframe.curves.thin import corners, landmarks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.table import Curves

ROWS = 2880  # of all curves together; curves that have no more than their part keep all
CORNERS = 80  # of each of two lines
TOLERANCE = 1 / 1000  # of an axis, as far as CORNERS are enough
BETWEEN = 60  # points of a curve that are no rows
# Of a class: rows between which no count passes one of them are looked at no closer.
SHARES = np.concatenate([np.geomspace(1e-5, 0.01, 500), np.linspace(0.01, 1, 1500)[1:]])
NEAR = 1 / 200  # rows that are this close need no points between them


def kept_rows(curves: Curves, curve: int, most: int) -> NDArray[np.int64]:
    """Return about so many rows of a curve, or all if there are no more.

    They are the corners of its ROC and precision-recall lines, and others evenly along the way.
    """
    start, end = curves.starts[curve], curves.starts[curve + 1]
    if end - start <= most:
        return np.arange(start, end)
    tp, fp = (curves.walk[name][start:end] for name in ("tp", "fp"))
    pos, neg = (float(curves.total(*names)[curve]) for names in (("tp", "fn"), ("fp", "tn")))
    rows = landmarks(len(tp), lambda: [(tp, pos * SHARES), (fp, neg * SHARES)])
    up, across = tp[rows] / pos, fp[rows] / neg
    called = np.maximum(tp[rows] + fp[rows], 1e-300)
    kept = _corners(across, up) | _corners(up, tp[rows] / called)
    ends = np.array([0, len(rows)])
    spare = np.array([max(most - int(kept.sum()), 0)])
    kept |= spaced(across, up, ends, spare, corners=kept)
    chosen: NDArray[np.int64] = start + rows[kept]
    return chosen


def _corners(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the corners of a line: the finest that are not too many."""
    tolerance, ends = TOLERANCE, np.array([0, len(x)])
    while True:
        kept = corners(x, y, ends, tolerance)
        if kept.sum() <= CORNERS:
            return kept
        tolerance *= 1.5


def walked(
    curves: Curves, curve: int, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return places along some rows of a curve, from 0: at each row, and at points between.

    Between two rows everything is linear in tp and fp, which is no straight line in
    precision-recall. The first result is the row that comes at or after each place.
    """
    pos, neg = (float(curves.total(*names)[curve]) for names in (("tp", "fn"), ("fp", "tn")))
    up = np.diff(curves.walk["tp"][rows]) / pos
    across = np.diff(curves.walk["fp"][rows]) / neg
    # Straight are also the lines of steps, and those from where nothing is called.
    bend = np.minimum(up, across)
    bend[(bend < NEAR) | (curves.walk["tp"][rows[:-1]] + curves.walk["fp"][rows[:-1]] == 0)] = 0
    added = np.floor(bend / max(bend.sum(), NEAR) * BETWEEN).astype(np.int64)
    first = np.repeat(np.arange(len(added)), added)
    number = np.arange(len(first)) - np.repeat(np.cumsum(added) - added, added) + 1
    # Closer together near the upper row, where precision bends most.
    share = (number / (added[first] + 1)) ** 2
    places = np.sort(np.concatenate([np.arange(len(rows)), first + share]))
    return rows[np.ceil(places).astype(np.int64)], places
