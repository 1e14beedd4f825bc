"""Curve tables → the rows that matter to a drawing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rocframe.charts.plane import rates
from rocframe.counting.threads import spread
from rocframe.curves.display import Display
from rocframe.curves.thin import landmarks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.curves.kinds import Kind
    from rocframe.curves.scales import Scale
    from rocframe.curves.table import Curves

STEP = 1 / 4000  # of an axis, that rows are left unseen for
LOW = 1e-6  # the least rate that axes without 0 tell apart
# The scales that a kind may be drawn on; those of precision and lift need the same rows.
SCALES: dict[str, tuple[Scale, ...]] = {
    "det": ("normal_deviate",),
    "precision_recall": ("linear",),
    "lift": ("linear",),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Path:
    """Points of all lines, line after line: rows of the table, and points between two rows.

    `row` is the row of the table, or -1 between rows. `pos` and `neg` are totals of each curve.
    """

    curve: NDArray[np.int64]
    row: NDArray[np.int64]
    tp: NDArray[np.float64]
    fp: NDArray[np.float64]
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each curve starts, and where the last one ends."""
        starts: NDArray[np.int64] = np.searchsorted(self.curve, np.arange(len(self.pos) + 1))
        return starts

    @property
    def counts(self) -> tuple[NDArray[np.float64], ...]:
        """The four counts of each point: tp, fp, fn, tn."""
        return self.tp, self.fp, self.pos[self.curve] - self.tp, self.neg[self.curve] - self.fp

    def only(self, chosen: NDArray[np.bool_]) -> Path:
        """Return some of the points."""
        return replace(
            self,
            curve=self.curve[chosen],
            row=self.row[chosen],
            tp=self.tp[chosen],
            fp=self.fp[chosen],
        )


def path_of(curves: Curves, kind: Kind, areas: Sequence[float] | None) -> Path:
    """Return the rows that matter, of the curves that can be drawn."""
    whole = _at(curves, [np.array([end - 1]) for end in curves.starts[1:]])
    x, y = rates(kind, whole)
    drawn = np.isfinite(x) & np.isfinite(y)
    if areas is not None:
        drawn &= np.isfinite(areas)
    tp, fp = curves.walk["tp"], curves.walk["fp"]
    low = np.full(len(drawn), LOW)
    shown = [
        Display(
            kind=kind, scale=scale, pos=whole.pos, neg=whole.neg, low=low, top=np.ones(len(low))
        )
        for scale in SCALES.get(kind.name, ("linear", "log"))
    ]

    def rows(curve: int) -> NDArray[np.int64]:
        start, end = curves.starts[curve : curve + 2]
        if not drawn[curve]:
            return np.zeros(0, np.int64)
        here = tp[start:end], fp[start:end]
        found = landmarks(
            int(end - start),
            lambda: [one for way in shown for one in way.levels(curve, *here, STEP)],
        )
        return np.asarray(start + found, np.int64)

    return _at(curves, spread(rows, range(len(drawn))))


def _at(curves: Curves, rows: list[NDArray[np.int64]]) -> Path:
    """Return some rows of each curve."""
    row = np.concatenate([np.zeros(0, np.int64), *rows])
    return Path(
        curve=np.repeat(np.arange(len(rows)), [len(part) for part in rows]),
        row=row,
        tp=curves.walk["tp"][row].astype(np.float64),
        fp=curves.walk["fp"][row].astype(np.float64),
        pos=curves.total("tp", "fn").astype(np.float64),
        neg=curves.total("fp", "tn").astype(np.float64),
    )
