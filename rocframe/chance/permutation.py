"""Margins → how often an area lies as far from 1/2 when labels are dealt out anew.

Where there are few ways to deal them out all are looked at; else some are drawn. Sums of margins
are whole numbers, so an area exactly as far out as the observed one counts as such.

References
----------
B. Phipson, G. K. Smyth (2010), "Permutation p-values should never be zero: calculating exact
p-values when permutations are randomly drawn", Statistical Applications in Genetics and Molecular
Biology 9(1), article 39. doi:10.2202/1544-6115.1585
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING

import numpy as np

from rocframe.chance.dealing import Dealing
from rocframe.counting.threads import spread
from rocframe.counting.walk import BLOCK
from rocframe.errors import OptionValueError
from rocframe.inference.p_values import as_extreme

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.pairs import Pairs
    from rocframe.chance.margins import Margins
    from rocframe.counting.draws import Seed
    from rocframe.inference.p_values import Alternative

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
            observed=(pairs.low[groups] + pairs.high[groups]).astype(np.int64) - m * n,
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
                size = max(1, BLOCK // max(places.size, rows))
                for some in np.split(alike, range(size, len(alike), size)):
                    margins = self.margins.of_rows(self.groups[some], rows)
                    sums = margins[:, places].sum(axis=2) * self.sign[some, None]
                    far = as_extreme(sums, self.observed[some, None], self.alternative)
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
            sums = dealing.sums(rng, *self.margins.of_group(self.groups[i]), times)
            far = as_extreme(sums * self.sign[i], self.observed[i], self.alternative)
            return int(np.count_nonzero(far))

        hits = np.zeros(len(self.rows), np.int64)
        found = np.array(spread(one, tasks), np.int64)
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
    size = max(1, BLOCK // drawn)
    while block := list(chain.from_iterable(islice(ways, size))):
        yield np.array(block, np.int64).reshape(-1, drawn)
