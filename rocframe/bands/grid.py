"""The grid of a band, and limits of shifted curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rocframe.curves.locate import interpolated_values, segment_fraction
from rocframe.kernel.arrays import grouped_bisect
from rocframe.options import grid_values, parse_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.curve import CurveArrays
    from rocframe.kernel.resample import ReplicateScan

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
    """Return the last curve point with at most each FPR in `grid`, or all points for None."""
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

    `notes` has the reason for missing limits of each group, or None.
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
    """Return limits of TPR: the curve shifted down and right, and the curve shifted up and left."""
    group, fpr, shift = grid.group, grid.fpr, fpr_shift[grid.group]
    lower = curves.tpr_at(group, fpr - shift - SHIFT_TOLERANCE, step_end="lower") - tpr_shift[group]
    upper = curves.tpr_at(group, fpr + shift + SHIFT_TOLERANCE) + tpr_shift[group]
    return BandLimits(
        tpr=curves.tpr_at(group, fpr),
        lower=np.clip(lower, 0.0, 1.0),
        upper=np.clip(upper, 0.0, 1.0),
        notes=notes,
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BandCurves:
    """The points of the ROC curves of all groups, in the order of falling thresholds.

    Group i has the points `starts[i]` to `starts[i + 1] - 1`, the first with the threshold `inf`.
    Rates of a class without rows are NaN. Rates that differ by at most `tolerance` are treated as
    equal.
    """

    starts: NDArray[np.int64]
    counts: dict[str, NDArray[Any]]
    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]
    n_pos: NDArray[np.int64]
    n_neg: NDArray[np.int64]
    tolerance: float = 0.0

    @classmethod
    def from_arrays(cls, curves: CurveArrays) -> BandCurves:
        """Return the points of full curves, with rates computed from the counts."""
        tp, fp, fn, tn = curves.counts.values()
        with np.errstate(invalid="ignore"):
            fpr, tpr = fp / (fp + tn), tp / (tp + fn)
        totals = curves.scan.totals
        return cls(
            starts=curves.starts,
            counts=curves.counts,
            fpr=fpr,
            tpr=tpr,
            n_pos=totals.pos_rows,
            n_neg=totals.neg_rows,
            tolerance=rate_tolerance(tp),
        )

    @classmethod
    def from_sample(cls, sample: ReplicateScan) -> BandCurves:
        """Return the curves of replicates; each replicate is a group of the result."""
        totals = sample.totals
        tp, fp = sample.curve_counts()
        size, points = tp.shape
        return cls(
            starts=np.arange(size + 1) * points,
            counts={},
            fpr=(fp / totals.neg[:, None]).ravel(),
            tpr=(tp / totals.pos[:, None]).ravel(),
            n_pos=totals.pos_rows,
            n_neg=totals.neg_rows,
            tolerance=rate_tolerance(totals.pos),
        )

    @property
    def has_both_classes(self) -> NDArray[np.bool_]:
        """Which groups have rows of both classes."""
        return (self.n_pos > 0) & (self.n_neg > 0)

    def first_beyond(
        self, group: NDArray[np.int64], fpr: NDArray[np.float64], side: Literal["left", "right"]
    ) -> NDArray[np.int64]:
        """Return the first point of a group with FPR >= `fpr`, or FPR > `fpr` for side "right".

        Without such a point, the result is the first point of the next group.
        """

        def before(point: NDArray[np.int64]) -> NDArray[np.bool_]:
            rate = self.fpr[point]
            result: NDArray[np.bool_] = (
                rate < fpr - self.tolerance if side == "left" else rate <= fpr + self.tolerance
            )
            return result

        return grouped_bisect(before, self.starts[group], self.starts[group + 1] - 1)

    def tpr_at(
        self,
        group: NDArray[np.int64],
        fpr: NDArray[np.float64],
        *,
        step_end: Literal["upper", "lower"] = "upper",
    ) -> NDArray[np.float64]:
        """Return the TPR of a group's curve at `fpr`, at a vertical segment the `step_end`.

        Curves are linear between points, 0 left of the first point, and constant right of the last
        point.
        """
        first, last = self.starts[group], self.starts[group + 1] - 1
        beyond = self.first_beyond(group, fpr, "right" if step_end == "upper" else "left")
        # At a vertical segment, `left` is the upper end for step_end="upper".
        left, right = np.maximum(beyond - 1, first), np.minimum(beyond, last)
        fraction = segment_fraction(fpr - self.fpr[left], self.fpr[right] - self.fpr[left])
        tpr = interpolated_values(self.tpr[left], self.tpr[right], fraction)
        if step_end == "lower":
            exact = (beyond <= last) & (self.fpr[right] <= fpr + self.tolerance)
            tpr = np.where(exact, self.tpr[right], tpr)
        tpr = np.where(beyond > last, self.tpr[last], tpr)
        tpr = np.where(fpr < self.fpr[first] - self.tolerance, 0.0, tpr)
        tpr[~self.has_both_classes[group]] = np.nan
        return tpr


def rate_tolerance(counts: NDArray[Any]) -> float:
    """Return the largest difference of two rates that rounding of weighted counts can cause."""
    return 1e-12 if counts.dtype.kind == "f" else 0.0
