"""The curves of a band, the points at which it has limits, and the limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import polars as pl

from rocframe.curves.locate import grouped_bisect
from rocframe.curves.segment import interpolated_values, segment_fraction
from rocframe.options import parse_grid

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.curve import CurveArrays


BandGrid: TypeAlias = int | Sequence[float] | pl.Series | Literal["curve"]


def parse_band_grid(grid: object) -> tuple[float, ...] | None:
    """Return the false positive rates of the grid in rising order; None for those of each curve."""
    points = parse_grid(grid, keyword="curve")
    if isinstance(points, int):
        return tuple(i / (points - 1) for i in range(points))
    return None if isinstance(points, str) else tuple(points)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GridPoints:
    """Points at which a band has limits, sorted by group and false positive rate.

    `point` is the point of the group's curve, or -1 if the rate is not one of the curve's own.
    """

    group: NDArray[np.int64]
    fpr: NDArray[np.float64]
    point: NDArray[np.int64]


def points_at_rates(curves: BandCurves, grid: Sequence[float] | None) -> GridPoints:
    """Return the rates of the grid for every group; if `grid` is None, those of each curve."""
    if grid is None:
        is_last = np.ones(len(curves.fpr), bool)
        is_last[:-1] = ~(np.diff(curves.fpr) <= curves.tolerance)
        is_last[curves.starts[1:] - 1] = True
        return _curve_points(curves, np.flatnonzero(is_last))
    group, fpr = _repeat_grid(curves, grid)
    return GridPoints(group=group, fpr=fpr, point=np.full(len(group), -1))


def points_at_thresholds(curves: BandCurves, grid: Sequence[float] | None) -> GridPoints:
    """Return the last point of each curve up to each rate; if `grid` is None, all points."""
    if grid is None:
        return _curve_points(curves, np.arange(len(curves.fpr)))
    group, fpr = _repeat_grid(curves, grid)
    point = curves.first_beyond(group, fpr, "right") - 1
    return _curve_points(curves, np.unique(point[point >= curves.starts[group]]))


def _repeat_grid(
    curves: BandCurves, grid: Sequence[float]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    groups = len(curves.n_pos)
    return np.repeat(np.arange(groups), len(grid)), np.tile(np.asarray(grid, np.float64), groups)


def _curve_points(curves: BandCurves, points: NDArray[np.int64]) -> GridPoints:
    """Return these points of the curves, and one point with FPR NaN for groups without a curve."""
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
class BandCurves:
    """The points of the ROC curves of all groups, by falling threshold from `inf`.

    Group i has the points `starts[i]` to `starts[i + 1]`. Rates of a class without rows are NaN.
    Rates that differ by at most `tolerance` are treated as equal.
    """

    starts: NDArray[np.int64]
    counts: dict[str, NDArray[Any]]
    fpr: NDArray[np.float64]
    tpr: NDArray[np.float64]
    n_pos: NDArray[np.int64]
    n_neg: NDArray[np.int64]
    tolerance: float = 0.0

    @classmethod
    def from_trace(cls, curves: CurveArrays) -> BandCurves:
        """Return the rates of full curves."""
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

    @property
    def has_both_classes(self) -> NDArray[np.bool_]:
        """Which groups have rows of both classes."""
        return (self.n_pos > 0) & (self.n_neg > 0)

    def first_beyond(
        self, group: NDArray[np.int64], x: NDArray[np.float64], side: Literal["left", "right"]
    ) -> NDArray[np.int64]:
        """Return the first point of a group with a rate >= `x`, or for side "right" > `x`."""

        def before(point: NDArray[np.int64]) -> NDArray[np.bool_]:
            rate = self.fpr[point]
            result: NDArray[np.bool_] = (
                rate < x - self.tolerance if side == "left" else rate <= x + self.tolerance
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
        """Return the TPR of a group's curve at `x`; at a vertical step its upper or lower end.

        Curves are linear between points, 0 to the left of the first point, and constant to the
        right of the last one.
        """
        first, last = self.starts[group], self.starts[group + 1] - 1
        at = self.first_beyond(group, x, "right" if jump == "better" else "left")
        # The points to the left and right of x. The better end of a step is a point to the left.
        left, right = np.maximum(at - 1, first), np.minimum(at, last)
        fraction = segment_fraction(x - self.fpr[left], self.fpr[right] - self.fpr[left])
        height = interpolated_values(self.tpr[left], self.tpr[right], fraction)
        if jump == "worse":
            exact = (at <= last) & (self.fpr[right] <= x + self.tolerance)
            height = np.where(exact, self.tpr[right], height)
        height = np.where(at > last, self.tpr[last], height)
        height = np.where(x < self.fpr[first] - self.tolerance, 0.0, height)
        height[~self.has_both_classes[group]] = np.nan
        return height


def rate_tolerance(counts: NDArray[Any]) -> float:
    """Return the tolerance for equal rates: sums of weights have rounding errors."""
    return 1e-12 if counts.dtype.kind == "f" else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BandLimits:
    """The curve and the limits at each grid point; NaN where undefined.

    `fpr_lower` and `fpr_upper` are None if the band has no limits of FPR. `notes` has, for each
    group, the reason for missing limits, or None.
    """

    tpr: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    fpr_lower: NDArray[np.float64] | None = None
    fpr_upper: NDArray[np.float64] | None = None
    notes: NDArray[np.object_] | None = None


SHIFT_TOLERANCE = 1e-9  # makes limits at a jump independent of rounding


def shifted_limits(
    curves: BandCurves,
    grid: GridPoints,
    fpr_shift: NDArray[np.float64],
    tpr_shift: NDArray[np.float64],
    notes: NDArray[np.object_] | None = None,
) -> BandLimits:
    """Return the curve shifted down and right as lower limit, and up and left as upper limit.

    Each group has its own shifts.
    """
    group, fpr, shift = grid.group, grid.fpr, fpr_shift[grid.group]
    lower = curves.heights(group, fpr - shift - SHIFT_TOLERANCE, jump="worse") - tpr_shift[group]
    upper = curves.heights(group, fpr + shift + SHIFT_TOLERANCE) + tpr_shift[group]
    return BandLimits(
        tpr=curves.heights(group, fpr),
        lower=np.clip(lower, 0.0, 1.0),
        upper=np.clip(upper, 0.0, 1.0),
        notes=notes,
    )
