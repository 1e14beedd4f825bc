"""Margins of a group → the sum of some of them, drawn without replacement, many times.

Three ways lead to the same distribution. Which is the quickest depends on how many rows and steps
there are and how many rows are drawn, so that it is the same for a table and for its counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.counting.walk import BLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Nanoseconds of each way, as measured once: only their ratios matter.
BY_STEP, BY_ROW, BY_DRAW, CALL = 90, 4, 60, 10_000
COIN = 1 << 16
SPARSE = 20  # rows per row drawn from which numpy draws them one by one


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dealing:
    """How `drawn` rows of a group are drawn: by step, by draw, or by row.

    `times` is how many sums fill a block.
    """

    way: str
    drawn: int
    times: int

    @classmethod
    def of(cls, *, rows: int, steps: int, drawn: int) -> Dealing:
        """Choose the quickest way."""
        costs = {"step": BY_STEP * steps, "row": BY_ROW * rows}
        if drawn * SPARSE <= rows:
            costs["draw"] = CALL + BY_DRAW * drawn
        way = min(costs, key=costs.__getitem__)
        width = {"step": steps, "row": rows, "draw": drawn}[way]
        # Rows are flags of one byte, everything else takes eight.
        block = 4 * BLOCK if way == "row" else BLOCK
        return cls(way=way, drawn=drawn, times=max(1, block // width))

    def sums(
        self,
        rng: np.random.Generator,
        rows: NDArray[np.int64],
        margin: NDArray[np.int64],
        times: int,
    ) -> NDArray[np.int64]:
        """Draw so many sums of margins; `rows` says how often each margin is there."""
        if self.way == "step":
            found = rng.multivariate_hypergeometric(rows, self.drawn, times, method="marginals")
            return _dot(found, margin)
        ends = np.cumsum(rows)
        total = int(ends[-1])
        if self.way == "draw":
            result = np.empty(times, np.int64)
            for i in range(times):
                places = rng.choice(total, self.drawn, replace=False, shuffle=False)
                result[i] = margin[np.searchsorted(ends, places, "right")].sum()
            return result
        return _dot(chosen(rng, times, total, self.drawn), np.repeat(margin, rows))


def _dot(drawn: NDArray[Any], margin: NDArray[np.int64]) -> NDArray[np.int64]:
    sums: NDArray[np.int64] = drawn @ margin
    return sums


def chosen(rng: np.random.Generator, times: int, rows: int, drawn: int) -> NDArray[np.bool_]:
    """Choose `drawn` of the rows, so many times: any set of them is as likely as any other."""
    # Each row by a coin of its own first. Then rows drawn at random are turned over where that
    # brings their number nearer: sets of one size stay equally likely. To add some is quicker
    # than to take some away, as more rows are out than in.
    few = max(0.0, drawn - math.sqrt(drawn * (1 - drawn / rows)))
    coins = rng.integers(0, COIN, (times, rows), np.uint16)
    found: NDArray[np.bool_] = coins < int(COIN * few / rows)
    flat = found.reshape(-1)
    lacking = drawn - np.count_nonzero(found, axis=1)
    while lacking.any():
        # No more than are lacking, so that there are never too many.
        replicates = np.repeat(np.arange(times), np.abs(lacking))
        places = replicates * rows + rng.integers(0, rows, len(replicates))
        places = np.sort(places[flat[places] != (lacking > 0)[replicates]])
        turned = places[np.diff(places, prepend=-1) > 0]
        flat[turned] ^= True
        lacking -= np.sign(lacking) * np.bincount(turned // rows, minlength=times)
    return found
