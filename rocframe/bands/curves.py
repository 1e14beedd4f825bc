"""Traced curves → their heights at given false positive rates, of all groups at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.trace import Trace


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
    def of(cls, trace: Trace) -> Curves:
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
        low, high = self.starts[group], self.starts[group + 1]
        longest = int(np.diff(self.starts).max(initial=0))
        for _ in range(longest.bit_length()):
            open_ = low < high
            middle = np.minimum((low + high) // 2, len(self.fpr) - 1)
            rate = self.fpr[middle]
            before = open_ & (
                (rate < x - self.slack) if side == "left" else (rate <= x + self.slack)
            )
            low = np.where(before, middle + 1, low)
            high = np.where(before | ~open_, high, middle)
        return low

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
