"""Distinct scores of each group, merged to a few thousand points if there are more.

Each point is the mean of the scores in a narrow interval. The time of smooth estimates therefore
does not depend on the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.kernel.groups import is_run_start, run_starts
from rocframe.probabilities.bins import block_steps, concatenate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.kernel.scan import Block, Scannable
    from rocframe.probabilities.bins import ScoreSteps

# If a group has more distinct scores, neighboring scores are merged to one point. The merged scores
# differ by at most 1/1024, and have about 1/1024 of the weight of the group or less.
MAX_SCORES = 2048
WEIGHT_SHARE_ROUNDING = 1e-9  # smaller differences of shares of the row weight are rounding errors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """The scores of all groups, by group and rising score; groups without scores are absent.

    `groups` are the numbers of the groups with scores, and `n_groups` is the number of all groups.
    The points of group `groups[i]` are `starts[i]` to `starts[i + 1] - 1`. `score` is the weighted
    mean score of a point. `weight` and `pos` are the sums of the row weights of all rows and of
    positives. `share` is the share of the row weight of the group that has this score or a lower
    one.
    """

    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    score: NDArray[np.float64]
    weight: NDArray[np.float64]
    pos: NDArray[np.float64]
    share: NDArray[np.float64]
    n_groups: int

    @property
    def owner(self) -> NDArray[np.int64]:
        """The position in `groups` of the group of each point."""
        return np.repeat(np.arange(len(self.groups)), np.diff(self.starts))

    def group_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of `values` over the points of each group."""
        sums: NDArray[np.float64] = np.add.reduceat(values, self.starts[:-1])
        return sums if len(self.groups) else values[:0]

    def even_grid(self, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return `size` evenly spaced scores from the lowest to the highest score of each group.

        The first result is the position in `groups` of the group of each score. A group with one
        distinct score has one point.
        """
        low, high = self.score[self.starts[:-1]], self.score[self.starts[1:] - 1]
        sizes = np.where(low < high, size, 1)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        low, high = low[owner], high[owner]
        step = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        share = step / max(size - 1, 1)
        return owner, (low * (1 - share) + high * share).clip(low, high)

    def of_all_groups(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one value for every group: NaN for groups without scores, and else `values`."""
        result = np.full(self.n_groups, np.nan)
        result[self.groups] = values
        return result


def find_points(scan: Scannable) -> Points:
    """Return the distinct scores of each group; more than 2048 are merged to about 2050 points."""
    weight = scan.totals.pos + scan.totals.neg

    def block_points(block: Block) -> _Sums:
        return _reduce(_Sums.from_steps(block_steps(scan, block)), weight)

    sums = _reduce(concatenate(_Sums, scan.map(block_points)), weight)
    starts = np.append(run_starts(sums.group), len(sums.group))
    groups = sums.group[starts[:-1]]
    # The order of the scores of each group changes from falling to rising.
    order = np.repeat(starts[:-1] + starts[1:] - 1, np.diff(starts)) - np.arange(len(sums.group))
    total = np.repeat(weight[groups].astype(float), np.diff(starts))
    return Points(
        groups=groups,
        starts=starts,
        score=(sums.score_sum / sums.weight)[order].clip(0, 1),
        weight=sums.weight[order].astype(float),
        pos=sums.pos[order].astype(float),
        share=(1 - sums.above[order] / total).clip(0, 1),
        n_groups=len(weight),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sums:
    """Sums over the rows of points, by group and falling score.

    `above` is the sum of the row weights at higher scores of the group.
    """

    group: NDArray[np.int64]
    weight: NDArray[Any]
    pos: NDArray[Any]
    score_sum: NDArray[np.float64]
    above: NDArray[Any]

    @classmethod
    def from_steps(cls, steps: ScoreSteps) -> _Sums:
        weight = steps.pos + steps.neg
        return cls(
            group=steps.group,
            weight=weight,
            pos=steps.pos,
            score_sum=steps.probability * weight,
            above=steps.tp + steps.fp - weight,
        )


def _reduce(sums: _Sums, weight: NDArray[Any]) -> _Sums:
    """Merge neighboring points of each group with more than `MAX_SCORES` points.

    `weight` is the sum of the row weights of each group.
    """
    starts = np.append(run_starts(sums.group), len(sums.group))
    is_large = np.diff(starts) > MAX_SCORES
    if not is_large.any():
        return sums
    rank = -sums.above / weight[sums.group]  # as the score, this number falls with the position
    is_first = is_cell_start(sums.score_sum / sums.weight, rank, starts, MAX_SCORES)
    # The highest score of a group remains a separate point.
    is_first[(starts[:-1] + 1)[is_large]] = True
    firsts = np.flatnonzero(is_first)
    return _Sums(
        group=sums.group[firsts],
        weight=np.add.reduceat(sums.weight, firsts),
        pos=np.add.reduceat(sums.pos, firsts),
        score_sum=np.add.reduceat(sums.score_sum, firsts),
        above=sums.above[firsts],
    )


def is_cell_start(
    score: NDArray[np.float64], rank: NDArray[np.float64], starts: NDArray[np.int64], most: int
) -> NDArray[np.bool_]:
    """Return a mask of about `most` points of each group: the first points of cells.

    Half of the cells divide the scores evenly, and the other half divide the ranks. Both numbers
    have a range of at most 1, and both rise or both fall with the position in the group. The mask
    includes the first and the last point of a group, and all points of a group with at most `most`
    points.
    """
    # Both numbers change in the same direction, so their sum changes where one of them changes.
    cells, sizes = most // 2, np.diff(starts)
    is_start = is_run_start((score * cells).astype(np.int64) + (rank * cells).astype(np.int64))
    is_start |= np.repeat(sizes <= most, sizes)
    is_start[starts[:-1]] = is_start[starts[1:] - 1] = True
    return is_start
