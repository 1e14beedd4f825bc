"""Smooth calibration curves of all groups, and their values at scores and on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocframe.kernel.interpolate import interpolate_in_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothCurve:
    """Estimated event rates of all groups, by group and rising score; linear between the points.

    `groups` are the numbers of the groups with scores. The points of group `groups[i]` are
    `starts[i]` to `starts[i + 1] - 1`. The first and the last point are the lowest and the highest
    score of the group.
    """

    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    score: NDArray[np.float64]
    event_rate: NDArray[np.float64]

    @property
    def group(self) -> NDArray[np.int64]:
        """The number of the group of each point."""
        return np.repeat(self.groups, np.diff(self.starts))

    def at(self, owner: NDArray[np.int64], score: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the event rates at scores of the groups `groups[owner]`, by interpolation.

        Below the lowest and above the highest score of a group, the rate is that of this score.
        """
        first, last = self.starts[owner], self.starts[owner + 1] - 1
        return interpolate_in_groups(self.score, self.event_rate, first, last, score)


def even_grid(
    starts: NDArray[np.int64], score: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return `size` evenly spaced scores from the lowest to the highest score of each group.

    The first result is the position of the group of each score. A group with one distinct score
    has one point.
    """
    low, high = score[starts[:-1]], score[starts[1:] - 1]
    sizes = np.where(low < high, size, 1)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    share = step / max(size - 1, 1)
    return owner, (low[owner] * (1 - share) + high[owner] * share).clip(low[owner], high[owner])
