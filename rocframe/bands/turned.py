"""ROC curves, turned so that how far they lie apart is a difference of heights.

The height of a curve varies with √positives rows, its place from left to right with √negatives:
in units of these a curve moves as much up as to the left. Turned by 45° it becomes a function of
the way along it, steps and all. To move a curve up and to the left by one unit each is to raise
its function by two.

References
----------
S. A. Macskassy, F. Provost (2004), "Confidence bands for ROC curves: methods and an empirical
study", Proceedings of the First Workshop on ROC Analysis in AI, 61-70 (the slope along which a
curve is moved).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Turned:
    """One curve, or several, a row each: at the way `along` it has the height `across`.

    `wide` and `high` are the unit square's sides.
    """

    wide: float
    high: float
    along: NDArray[np.float64]
    across: NDArray[np.float64]

    @classmethod
    def of(
        cls, fpr: NDArray[np.float64], tpr: NDArray[np.float64], *, n_pos: int, n_neg: int
    ) -> Turned:
        """Turn curves; all of them start in the one corner and end in the other."""
        wide, high = float(np.sqrt(n_neg)), float(np.sqrt(n_pos))
        corners = [(0, 0)] * (fpr.ndim - 1) + [(1, 1)]
        x, y = (
            size * np.pad(rate, corners, constant_values=(0.0, 1.0))
            for size, rate in ((wide, fpr), (high, tpr))
        )
        return cls(wide=wide, high=high, along=x + y, across=y - x)

    def at(self, along: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the heights of one curve at ways along it."""
        height: NDArray[np.float64] = np.interp(along, self.along, self.across)
        return height

    def all_at(self, along: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the heights of several curves, a row each, at the same ways along them."""
        # All curves in a row, end to end: one pass for all of them.
        shift = np.arange(len(self.along))[:, None] * (self.wide + self.high + 1)
        height: NDArray[np.float64] = np.interp(
            (along + shift).ravel(), (self.along + shift).ravel(), self.across.ravel()
        )
        return height.reshape(len(self.along), -1)

    def apart(
        self, others: Turned, ways: NDArray[np.float64], scale: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return how far each of several curves lies from this one, at most, in units of `scale`.

        `scale` is given at `ways`, and straight between them; they hold all points of this curve.
        Then the largest distance is at one of them or at a point of the other curve.
        """
        theirs = np.abs(others.across - self.at(others.along))
        theirs /= np.interp(others.along, ways, scale)
        ours = np.abs(others.all_at(ways) - self.at(ways)) / scale
        apart: NDArray[np.float64] = np.maximum(theirs.max(axis=1), ours.max(axis=1))
        return apart

    def limits(
        self, ways: NDArray[np.float64], reach: NDArray[np.float64], fpr: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the lowest and highest TPR at `fpr` of rising curves nowhere further than `reach`.

        `reach` is given at `ways`, and straight between them.
        """
        height = self.at(ways)
        upper = _ceiling(ways, height + reach, fpr * self.wide, self.high)
        # The lower limit is the upper one of the curve seen from its other end.
        turned = (self.wide + self.high - ways)[::-1], (self.high - self.wide - height)[::-1]
        down = _ceiling(turned[0], turned[1] + reach[::-1], (1 - fpr) * self.wide, self.high)
        return (self.high - down) / self.high, upper / self.high


def _ceiling(
    ways: NDArray[np.float64],
    height: NDArray[np.float64],
    x: NDArray[np.float64],
    most: float,
) -> NDArray[np.float64]:
    """Return how high a rising curve may be at `x` that nowhere passes `height`.

    Where the border is at (u, v), the curve is at most v high as far as u: its height at x is at
    most the least v of the border from x on.
    """
    u, v = (ways - height) / 2, (ways + height) / 2
    farthest = np.maximum.accumulate(u)
    after = np.searchsorted(farthest, x, "left")
    inside = after < len(u)
    right = np.minimum(after, len(u) - 1)
    left = np.maximum(right - 1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(u[right] > u[left], (x - u[left]) / (u[right] - u[left]), 1.0)
    crossing = v[left] + np.clip(share, 0, 1) * (v[right] - v[left])
    later = np.minimum.accumulate(v[::-1])[::-1]
    limit: NDArray[np.float64] = np.where(inside, np.minimum(crossing, later[right]), most)
    return np.clip(limit, 0.0, most)
