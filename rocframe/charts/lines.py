"""Paths → the few points whose straight lines draw them on a plane."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rocframe.charts.clip import BETWEEN, inside
from rocframe.charts.plane import measured, rates
from rocframe.charts.spaced import spaced
from rocframe.curves.thin import corners, distance, outlines

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.charts.path import Path
    from rocframe.charts.plane import Plane

# As shares of an axis. With what `landmarks` leaves out, 1/4000, they make less than 1/500.
BEND = 1 / 5000
COLUMN = 1 / 3000
CORNER = 1 / 1000
COARSER = 9 / 8  # where a line would have too many corners

ROWS = 4800  # of all lines together, as far as each may have LEAST beside its corners
LEAST, MOST = 20, 480  # of one line: beside its corners, and in all


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lines:
    """The few points whose straight lines draw a path, and their rates."""

    path: Path
    x: NDArray[np.float64]
    y: NDArray[np.float64]


def drawn_on(plane: Plane, path: Path) -> Lines:
    """Choose the few points whose straight lines draw a path on a plane."""
    if plane.endless:
        path = inside(plane, path)
    if plane.bends:
        path = bent(plane, path)
    x, y = rates(plane.kind, path)
    kept = outlines(plane.x.place(x), plane.y.place(y), path.starts, COLUMN)
    path, x, y = path.only(kept), x[kept], y[kept]
    across, up = plane.x.place(x), plane.y.place(y)
    tolerance = _tolerance(across, up, path)
    needed = corners(across, up, path.starts, tolerance)
    # Where a rate has no value, the line starts at that of the next point: it shows no row.
    rows = (path.row != BETWEEN) & np.isfinite(measured(path, plane.kind, plane.kind.y))
    count = _count(needed, path)
    spare = np.minimum(MOST - count, (ROWS - count.sum()) // max(len(count), 1))
    kept = needed | rows & spaced(across, up, path.starts, np.maximum(spare, LEAST), corners=needed)
    # A line through one more point may pass another one at a greater distance.
    kept = corners(across, up, path.starts, tolerance, wanted=kept)
    kept = np.where((_count(kept, path) > MOST + LEAST)[path.curve], needed, kept)
    path = replace(path, row=np.where(rows, path.row, BETWEEN))
    return Lines(path=path.only(kept), x=x[kept], y=y[kept])


def _count(marked: NDArray[np.bool_], path: Path) -> NDArray[np.int64]:
    """Count the marked points of each curve."""
    return np.bincount(path.curve[marked], minlength=len(path.pos))


def _tolerance(
    across: NDArray[np.float64], up: NDArray[np.float64], path: Path
) -> NDArray[np.float64]:
    """Return how near each line comes to its curve, more where it would have too many corners."""
    tolerance = np.full(len(path.pos), CORNER)
    while True:
        many = _count(corners(across, up, path.starts, tolerance), path) > MOST
        if not many.any():
            return tolerance
        tolerance[many] *= COARSER


def bent(plane: Plane, path: Path) -> Path:
    """Add points between rows until straight lines follow the curve.

    Between two rows everything is linear in tp and fp, which rates may not be.
    """
    left = np.flatnonzero(path.curve[1:] == path.curve[:-1])
    while len(left):
        left = left[_bend(plane, path, left)]
        middle = _between(path, left, 0.5)
        added = {
            name: np.insert(getattr(path, name), left + 1, getattr(middle, name))
            for name in ("curve", "row", "tp", "fp")
        }
        path = replace(path, **added)
        left = left + np.arange(len(left))
        left = np.sort(np.append(left, left + 1))
    return path


def _bend(plane: Plane, path: Path, left: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which lines to the next point leave the straight one."""
    x, y = plane.place(path)
    bend = (np.abs(x[left + 1] - x[left]) > BEND) & (np.abs(y[left + 1] - y[left]) > BEND)
    long = left[bend]
    off = np.zeros(len(long))
    ends = (x[long], y[long]), (x[long + 1], y[long + 1])
    for share in (0.25, 0.5, 0.75):
        off = np.maximum(off, distance(plane.place(_between(path, long, share)), *ends))
    bend[bend] = off > BEND
    return bend


def _between(path: Path, left: NDArray[np.int64], share: float) -> Path:
    """Return the points that share the way to the next point."""
    tp, fp = (
        counts[left] + share * (counts[left + 1] - counts[left]) for counts in (path.tp, path.fp)
    )
    row = np.full(len(left), BETWEEN)
    return replace(path, curve=path.curve[left], row=row, tp=tp, fp=fp)
