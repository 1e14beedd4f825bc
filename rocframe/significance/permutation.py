"""Permutation test of an AUC."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.errors import OptionValueError
from rocframe.inference.p_values import is_as_extreme
from rocframe.kernel.exact import exact_sums
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.threads import run_parallel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.pairs import Pairs
    from rocframe.inference.p_values import Alternative
    from rocframe.kernel.resample import Seed
    from rocframe.kernel.scan import Block, Scan


LARGEST = 10**9  # numpy draws from fewer rows than this


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Permutation:
    """Groups that have both classes, and what their labels are dealt out with.

    The class with fewer rows is drawn, `drawn` of `rows` rows; `sign` is -1 where these are the
    negatives, whose margins add up to the opposite. `observed` is the sum of the positives'.
    """

    margins: Margins
    groups: NDArray[np.int64]
    rows: NDArray[np.int64]
    drawn: NDArray[np.int64]
    sign: NDArray[np.int64]
    observed: NDArray[np.int64]
    alternative: Alternative

    @classmethod
    def of(
        cls,
        margins: Margins,
        pairs: Pairs,
        groups: NDArray[np.int64],
        alternative: Alternative,
    ) -> Permutation:
        """Read what the labels of some groups are dealt out with."""
        m, n = pairs.pos[groups], pairs.neg[groups]
        rows = m + n
        if len(rows) and rows.max() >= LARGEST:
            raise OptionValueError.of(
                "method",
                "permutation",
                f"a group has {rows.max()} rows, too many to deal out their labels",
                'Say method="mann_whitney", the limit of the same test for many rows.',
            )
        return cls(
            margins=margins,
            groups=groups,
            rows=rows,
            drawn=np.minimum(m, n),
            sign=np.where(m > n, -1, 1),
            observed=(pairs.wins[groups] + pairs.wins_or_ties[groups]).astype(np.int64) - m * n,
            alternative=alternative,
        )

    def p_values(
        self, n_perm: int, seed: Seed, keys: Sequence[tuple[int, ...]]
    ) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Return p-values, and where they are exact: with no more than `n_perm` ways."""
        ways = np.array(
            [_ways(n, k, n_perm) for n, k in zip(self.rows, self.drawn, strict=True)], np.int64
        )
        exact = ways <= n_perm
        p = np.empty(len(self.rows))
        p[exact] = self._all_ways(np.flatnonzero(exact)) / ways[exact]
        p[~exact] = (1 + self._some_ways(np.flatnonzero(~exact), n_perm, seed, keys)) / (1 + n_perm)
        return p, exact

    def _all_ways(self, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the ways that lie as far out as the labels that are there."""
        hits = np.zeros(len(self.rows), np.int64)
        shapes = np.stack([self.rows[which], self.drawn[which]], axis=1)
        for rows, drawn in np.unique(shapes, axis=0).tolist():
            alike = which[(shapes == (rows, drawn)).all(axis=1)]
            for places in _arrangements(rows, drawn):
                size = max(1, BLOCK_ROWS // max(places.size, rows))
                for some in np.split(alike, range(size, len(alike), size)):
                    margins = self.margins.of_rows(self.groups[some], rows)
                    exact_sums = margins[:, places].sum(axis=2) * self.sign[some, None]
                    far = is_as_extreme(exact_sums, self.observed[some, None], self.alternative)
                    hits[some] += np.count_nonzero(far, axis=1)
        return hits[which]

    def _some_ways(
        self, which: NDArray[np.int64], n_perm: int, seed: Seed, keys: Sequence[tuple[int, ...]]
    ) -> NDArray[np.int64]:
        """Count those that lie as far out among `n_perm` that are drawn."""
        dealings = {}
        tasks = []
        for i in which.tolist():
            steps = len(self.margins.of_group(self.groups[i])[0])
            dealing = Dealing.of(rows=int(self.rows[i]), steps=steps, drawn=int(self.drawn[i]))
            dealings[i] = dealing
            starts = range(0, n_perm, dealing.times)
            tasks += [(i, batch, start) for batch, start in enumerate(starts)]

        def one(task: tuple[int, int, int]) -> int:
            i, batch, start = task
            dealing, rng = dealings[i], seed.stream(keys[self.groups[i]], batch)
            times = min(dealing.times, n_perm - start)
            exact_sums = dealing.sums(rng, *self.margins.of_group(self.groups[i]), times)
            far = is_as_extreme(exact_sums * self.sign[i], self.observed[i], self.alternative)
            return int(np.count_nonzero(far))

        hits = np.zeros(len(self.rows), np.int64)
        found = np.array(run_parallel(one, tasks), np.int64)
        np.add.at(hits, np.array([task[0] for task in tasks], np.int64), found)
        return hits[which]


def _ways(rows: int, drawn: int, most: int) -> int:
    """Return in how many ways so many of the rows can be drawn, or just more than `most`."""
    # With at least two rows per row drawn there are at least 2^drawn ways.
    few = drawn < int(most).bit_length()
    return min(math.comb(int(rows), int(drawn)), most + 1) if few else most + 1


def _arrangements(rows: int, drawn: int) -> Iterator[NDArray[np.int64]]:
    """Yield, in blocks, the places that are drawn in each way."""
    ways = combinations(range(rows), drawn)
    size = max(1, BLOCK_ROWS // drawn)
    while block := list(chain.from_iterable(islice(ways, size))):
        yield np.array(block, np.int64).reshape(-1, drawn)


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
        block = 4 * BLOCK_ROWS if way == "row" else BLOCK_ROWS
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
    exact_sums: NDArray[np.int64] = drawn @ margin
    return exact_sums


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Margins:
    """Steps of all groups: group i has those from `starts[i]` to `starts[i + 1]`.

    A step has `rows` rows of one score, each with the same `margin`.
    """

    starts: NDArray[np.int64]
    rows: NDArray[np.int64]
    margin: NDArray[np.int64]

    @classmethod
    def of(cls, walk: Scan) -> Margins:
        """Find the margins, where rows have no weights."""
        total = walk.totals.pos_rows + walk.totals.neg_rows

        def one(block: Block) -> tuple[NDArray[np.int64], ...]:
            above, reached = block.tp0 + block.fp0, block.tp + block.fp
            margin = block.of_steps(total) - reached - above
            return block.groups, np.diff(block.starts), reached - above, margin

        starts = np.zeros(len(total) + 1, np.int64)
        rows, margins = [starts[:0]], [starts[:0]]
        for groups, steps, row, margin in walk.map(one):
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
            found = exact_sums(self.rows, np.abs(self.margin), self.starts[some], power=2)
            squares[some] = found.astype(np.float64)
        m, n = n_pos.astype(np.float64), n_neg.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance: NDArray[Any] = squares / (4 * m * n * (m + n) * (m + n - 1))
        return np.where((n_pos > 0) & (n_neg > 0), variance, np.nan)
