"""Paths → the parts of them that lie inside a plane without 0."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from rocframe.charts.plane import measured

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.charts.path import Path
    from rocframe.charts.plane import Plane

BETWEEN = -1  # no row of the table


def inside(plane: Plane, path: Path) -> Path:
    """Return the part of each curve where the rates are on the axes of a plane.

    A line enters and leaves where its counts, which are linear between two rows, reach the ends.
    """
    limited = []
    for side in (plane.x, plane.y):
        if side.endless:
            rate = measured(path, plane.kind, side.name)
            falls = side.name == "fnr"
            limited.append((-rate, -side.high, -side.low) if falls else (rate, side.low, side.high))
    parts = []
    for curve, (start, end) in enumerate(zip(path.starts[:-1], path.starts[1:], strict=True)):
        if start == end:
            continue
        enter = max(_passes(rate[start:end], low, "left") for rate, low, _ in limited)
        leave = min(_passes(rate[start:end], high, "right") for rate, _, high in limited)
        if enter >= leave:
            continue
        at = np.arange(end - start)
        places = np.unique(np.concatenate([[enter], at[(at > enter) & (at < leave)], [leave]]))
        rows = np.where(places % 1 == 0, path.row[start + places.astype(np.int64)], BETWEEN)
        tp, fp = (np.interp(places, at, counts[start:end]) for counts in (path.tp, path.fp))
        parts.append((np.full(len(places), curve), rows, tp, fp))
    nothing = (path.curve[:0], path.row[:0], path.tp[:0], path.fp[:0])
    curves, row, tp, fp = (np.concatenate(part) for part in zip(nothing, *parts, strict=True))
    return replace(path, curve=curves, row=row, tp=tp, fp=fp)


def _passes(rate: NDArray[np.float64], level: float, side: Literal["left", "right"]) -> float:
    """Return between which two points a rising rate reaches a level first, or leaves it."""
    after = int(np.searchsorted(rate, level, side))
    if after == 0:
        return 0.0
    if after == len(rate):
        return float(after if side == "left" else after - 1)
    before, behind = rate[after - 1], rate[after]
    return float(after - 1 + (level - before) / (behind - before))
