"""ROC curves of groups as arrays of rates, and their TPR at given false positive rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rocframe.curves.segment import interpolated_values, segment_fraction
from rocframe.kernel.bisection import grouped_bisect

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.curve import CurveArrays
    from rocframe.kernel.resample import ReplicateScan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BandCurves:
    """The points of the ROC curves of all groups, in the order of falling thresholds.

    Group i has the points `starts[i]` to `starts[i + 1] - 1`. The first point of a group has the
    threshold `inf`. Rates of a class without rows are NaN. Rates that differ by at most `tolerance`
    are treated as equal.
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

        If the curve has no such point, the result is the first point of the next group.
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
        """Return the TPR of a group's curve at `fpr`.

        At a vertical segment of the curve, the result is the upper end for `step_end="upper"`, or
        the lower end for `"lower"`. Curves are linear between points, 0 to the left of the first
        point, and constant to the right of the last point.
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
