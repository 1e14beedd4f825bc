"""Grid points of a band, and the heights of curves there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rocframe.curves.locate import grouped_bisect, parse_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.curve import CurveArrays


Grid: TypeAlias = int | Sequence[float] | pl.Series | Literal["curve"]


def parse_band_grid(grid: object) -> tuple[float, ...] | None:
    """Return the false positive rates of the grid in rising order; None for those of each curve."""
    points = parse_grid(grid, keyword="curve")
    if isinstance(points, int):
        return tuple(i / (points - 1) for i in range(points))
    return None if isinstance(points, str) else tuple(points)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """Groups and false positive rates: group after group, each from left to right.

    `row` is the point of the group's own curve that is meant; -1 where none is.
    """

    group: NDArray[np.int64]
    fpr: NDArray[np.float64]
    row: NDArray[np.int64]


def at_rates(curves: Curves, grid: Sequence[float] | None) -> Asked:
    """Ask for the same rates of every group; or for those that its curve has, each once."""
    if grid is None:
        last = np.ones(len(curves.fpr), bool)
        last[:-1] = ~(np.diff(curves.fpr) <= curves.slack)
        last[curves.starts[1:] - 1] = True
        return _own(curves, np.flatnonzero(last))
    group, fpr = _everywhere(curves, grid)
    return Asked(group=group, fpr=fpr, row=np.full(len(group), -1))


def at_steps(curves: Curves, grid: Sequence[float] | None) -> Asked:
    """Ask for the thresholds that keep to these rates, each once; or for all of the curve."""
    if grid is None:
        return _own(curves, np.arange(len(curves.fpr)))
    group, fpr = _everywhere(curves, grid)
    row = curves.reach(group, fpr, "right") - 1
    return _own(curves, np.unique(row[row >= curves.starts[group]]))


def _everywhere(
    curves: Curves, grid: Sequence[float]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    groups = len(curves.n_pos)
    return np.repeat(np.arange(groups), len(grid)), np.tile(np.asarray(grid, np.float64), groups)


def _own(curves: Curves, rows: NDArray[np.int64]) -> Asked:
    """Ask for these points of the curves; a group that has none keeps one row, of nothing."""
    groups = len(curves.n_pos)
    of_point = np.repeat(np.arange(groups), np.diff(curves.starts))
    rows = rows[curves.whole[of_point[rows]]]
    nothing = np.setdiff1d(np.arange(groups), of_point[rows])
    group = np.append(of_point[rows], nothing)
    order = np.argsort(group, kind="stable")
    row = np.append(rows, np.full(len(nothing), -1))[order]
    fpr = np.where(row < 0, np.nan, curves.fpr[row]) if len(curves.fpr) else np.zeros(0)
    return Asked(group=group[order], fpr=fpr, row=row)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Curves:
    """The ROC curves of all groups, each from the point above all scores to the last.

    Group i has the points `starts[i]` to `starts[i + 1]`. Rates of a class that is absent are NaN.
    Rates that lie no further than `slack` apart are the same: those of weighted rows are rounded.
    """

    starts: NDArray[np.int64]
    counts: dict[str, NDArray[Any]]
    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]
    n_pos: NDArray[np.int64]
    n_neg: NDArray[np.int64]
    slack: float = 0.0

    @classmethod
    def of(cls, trace: CurveArrays) -> Curves:
        """Work out the rates."""
        tp, fp, fn, tn = trace.counts.values()
        with np.errstate(invalid="ignore"):
            fpr, tpr = fp / (fp + tn), tp / (tp + fn)
        totals = trace.walk.totals
        return cls(
            starts=trace.starts,
            counts=trace.counts,
            fpr=fpr,
            tpr=tpr,
            n_pos=totals.pos_rows,
            n_neg=totals.neg_rows,
            slack=slack_of(tp),
        )

    @property
    def whole(self) -> NDArray[np.bool_]:
        """Say which groups have both classes."""
        return (self.n_pos > 0) & (self.n_neg > 0)

    def reach(
        self, group: NDArray[np.int64], x: NDArray[np.float64], side: Literal["left", "right"]
    ) -> NDArray[np.int64]:
        """Return the point before which the rates of a group are below `x` (right: or at `x`)."""

        def before(point: NDArray[np.int64]) -> NDArray[np.bool_]:
            rate = self.fpr[point]
            result: NDArray[np.bool_] = (
                rate < x - self.slack if side == "left" else rate <= x + self.slack
            )
            return result

        return grouped_bisect(before, self.starts[group], self.starts[group + 1] - 1)

    def heights(
        self,
        group: NDArray[np.int64],
        x: NDArray[np.float64],
        *,
        jump: Literal["better", "worse"] = "better",
    ) -> NDArray[np.float64]:
        """Return the height of a group's curve at `x`; at a jump its upper or its lower end.

        Points are joined by straight lines. Left of its first point a curve has height 0, right of
        its last it stays level.
        """
        first, last = self.starts[group], self.starts[group + 1] - 1
        at = self.reach(group, x, "right" if jump == "better" else "left")
        # The points left and right of x; the better end of a jump is a left one.
        left, right = np.maximum(at - 1, first), np.minimum(at, last)
        rise, run = self.tpr[right] - self.tpr[left], self.fpr[right] - self.fpr[left]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(run > 0, (x - self.fpr[left]) / run, 0.0)
            height = self.tpr[left] + np.clip(share, 0, 1) * rise
        if jump == "worse":
            exact = (at <= last) & (self.fpr[right] <= x + self.slack)
            height = np.where(exact, self.tpr[right], height)
        height = np.where(at > last, self.tpr[last], height)
        height = np.where(x < self.fpr[first] - self.slack, 0.0, height)
        height[~self.whole[group]] = np.nan
        return height


def slack_of(counts: NDArray[Any]) -> float:
    """Return how far apart equal rates may be: sums of weights depend on the order of rows."""
    return 1e-12 if counts.dtype.kind == "f" else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limits:
    """The curve that a band surrounds, and the limits of its height; NaN where there are none.

    `fpr_lower` and `fpr_upper` are there where a band has limits to the left and right too.
    `notes` says of a group what keeps it from its limits, or None.
    """

    tpr: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    fpr_lower: NDArray[np.float64] | None = None
    fpr_upper: NDArray[np.float64] | None = None
    notes: NDArray[np.object_] | None = None


def within(limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut limits to what rates can be."""
    cut: NDArray[np.float64] = np.clip(limit, 0.0, 1.0)
    return cut
