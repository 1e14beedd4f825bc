"""The grid of a band, and limits of shifted curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from rocframe.options import grid_values, parse_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.bands.band_curves import BandCurves


BandGrid: TypeAlias = int | Sequence[float] | pl.Series | Literal["curve"]


def parse_band_grid(grid: object) -> list[float] | None:
    """Return the false positive rates of the grid in increasing order; None for `grid="curve"`."""
    points = parse_grid(grid, keyword="curve")
    return None if isinstance(points, str) else grid_values(points)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridPoints:
    """Points at which the limits of a band are computed, sorted by group and FPR.

    `point` is the index in `BandCurves` of the curve point at this position, or -1 without one.
    """

    group: NDArray[np.int64]
    fpr: NDArray[np.float64]
    point: NDArray[np.int64]


def points_at_rates(curves: BandCurves, grid: Sequence[float] | None) -> GridPoints:
    """Return a point of each curve at each FPR in `grid`; None means all FPRs of the curve."""
    if grid is None:
        is_last = np.ones(len(curves.fpr), bool)
        is_last[:-1] = ~(np.diff(curves.fpr) <= curves.tolerance)
        is_last[curves.starts[1:] - 1] = True
        return _curve_points(curves, np.flatnonzero(is_last))
    group, fpr = _repeat_grid(curves, grid)
    return GridPoints(group=group, fpr=fpr, point=np.full(len(group), -1))


def points_at_thresholds(curves: BandCurves, grid: Sequence[float] | None) -> GridPoints:
    """Return, for each curve and each FPR in `grid`, the last curve point with at most this FPR.

    If `grid` is None, return all points of the curves.
    """
    if grid is None:
        return _curve_points(curves, np.arange(len(curves.fpr)))
    group, fpr = _repeat_grid(curves, grid)
    point = curves.first_beyond(group, fpr, "right") - 1
    return _curve_points(curves, np.unique(point[point >= curves.starts[group]]))


def _repeat_grid(
    curves: BandCurves, grid: Sequence[float]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the group and the FPR of each grid point; all groups have the same grid."""
    groups = len(curves.n_pos)
    return np.repeat(np.arange(groups), len(grid)), np.tile(np.asarray(grid, np.float64), groups)


def _curve_points(curves: BandCurves, points: NDArray[np.int64]) -> GridPoints:
    """Return points of the curves, and a point with FPR NaN for each group that lacks a class."""
    groups = np.arange(len(curves.n_pos))
    group_of = np.repeat(groups, np.diff(curves.starts))
    points = points[curves.has_both_classes[group_of[points]]]
    without = np.setdiff1d(groups, group_of[points])
    group = np.append(group_of[points], without)
    order = np.argsort(group, kind="stable")
    point = np.append(points, np.full(len(without), -1))[order]
    fpr = np.where(point < 0, np.nan, curves.fpr[point]) if len(curves.fpr) else np.zeros(0)
    return GridPoints(group=group[order], fpr=fpr, point=point)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BandLimits:
    """The TPR of the curve and the limits at each grid point; NaN if undefined.

    `fpr_lower` and `fpr_upper` are None if the band has no limits of FPR. `notes` contains the
    reason for missing limits of each group, or None.
    """

    tpr: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    fpr_lower: NDArray[np.float64] | None = None
    fpr_upper: NDArray[np.float64] | None = None
    notes: NDArray[np.object_] | None = None


# Added to shifts, so that rounding errors have no effect at vertical segments.
SHIFT_TOLERANCE = 1e-9


def shifted_limits(
    curves: BandCurves,
    grid: GridPoints,
    fpr_shift: NDArray[np.float64],
    tpr_shift: NDArray[np.float64],
    notes: NDArray[np.object_] | None = None,
) -> BandLimits:
    """Return limits of TPR: the curve shifted down and right, and the curve shifted up and left.

    `fpr_shift` and `tpr_shift` are the shifts of each group.
    """
    group, fpr, shift = grid.group, grid.fpr, fpr_shift[grid.group]
    lower = curves.tpr_at(group, fpr - shift - SHIFT_TOLERANCE, step_end="lower") - tpr_shift[group]
    upper = curves.tpr_at(group, fpr + shift + SHIFT_TOLERANCE) + tpr_shift[group]
    return BandLimits(
        tpr=curves.tpr_at(group, fpr),
        lower=np.clip(lower, 0.0, 1.0),
        upper=np.clip(upper, 0.0, 1.0),
        notes=notes,
    )
