"""Walks → the margin of each step: how many rows it beats, less how many beat it.

A margin is a mid-rank, doubled and centred. The margins of the positives add up to the pairs
they win less the pairs they lose, for among themselves they cancel; those of all rows add up
to 0. So to deal out the labels anew is to draw some of the margins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.exact import sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.counting.walk import Block, Walk


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Margins:
    """Steps of all groups: group i has those from `starts[i]` to `starts[i + 1]`.

    A step has `rows` rows of one score, each with the same `margin`.
    """

    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    margin: NDArray[np.int64]

    @classmethod
    def of(cls, walk: Walk) -> Margins:
        """Find the margins, where rows have no weights."""
        total = walk.totals.pos_rows + walk.totals.neg_rows

        def one(block: Block) -> tuple[NDArray[np.int64], ...]:
            above, reached = block.tp0 + block.fp0, block.tp + block.fp
            margin = block.of_steps(total) - reached - above
            return block.groups, np.diff(block.starts), reached - above, margin

        starts = np.zeros(len(total) + 1, np.int64)
        rows, margins = [starts[:0]], [starts[:0]]
        for groups, steps, row, margin in walk.each(one):
            starts[groups + 1] += steps
            rows.append(row)
            margins.append(margin)
        return cls(
            starts=np.cumsum(starts), rows=np.concatenate(rows), margin=np.concatenate(margins)
        )

    def of_group(self, group: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return rows and margins of the steps of a group."""
        steps = slice(self.starts[group], self.starts[group + 1])
        return self.rows[steps], self.margin[steps]

    def of_rows(self, groups: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """Return the margins of every row of groups that have `length` rows each."""
        steps = self.starts[groups + 1] - self.starts[groups]
        ends = np.cumsum(steps)
        places = np.arange(ends[-1]) + np.repeat(self.starts[groups] - ends + steps, steps)
        return np.repeat(self.margin[places], self.rows[places]).reshape(-1, length)

    def null_variance(
        self, n_pos: NDArray[np.int64], n_neg: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the variance of each group's AUC over all ways to deal out its labels.

        It is exact, ties or not; NaN where a class is absent.
        """
        squares = np.zeros(len(n_pos))
        some = np.flatnonzero(np.diff(self.starts))
        if len(some):
            found = sums(self.rows, np.abs(self.margin), self.starts[some], power=2)
            squares[some] = found.astype(np.float64)
        m, n = n_pos.astype(np.float64), n_neg.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance: NDArray[Any] = squares / (4 * m * n * (m + n) * (m + n - 1))
        return np.where((n_pos > 0) & (n_neg > 0), variance, np.nan)
