"""Curves and a grid → the points of each group at which its band is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.bands.curves import Curves


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
