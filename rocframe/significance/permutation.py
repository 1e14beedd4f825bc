"""Permutation test of an AUC against chance: the labels of a group are permuted.

For given scores, the AUC is determined by the sum of the ranks of the positives. Under the null
hypothesis, the positives are a random subset of the rows of a group, so the ranks of the positives
are a random sample without replacement.

References
----------
B. Phipson, G. K. Smyth (2010), "Permutation p-values should never be zero", Statistical
Applications in Genetics and Molecular Biology 9(1), article 39. doi:10.2202/1544-6115.1585
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import chain, combinations, islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rocframe.errors import OptionValueError
from rocframe.inference.p_values import is_as_extreme, permutation_p_value
from rocframe.kernel.exact import exact_sums
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.sort import concatenated_ranges
from rocframe.kernel.threads import batch_sizes, run_parallel

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.areas.pairs import Pairs
    from rocframe.inference.p_values import Alternative
    from rocframe.kernel.resample import Seed
    from rocframe.kernel.scan import Block, Scan


MAX_GROUP_ROWS = 10**9  # numpy draws without replacement only if there are fewer rows


def permutation_p_values(
    ranks: CenteredRanks,
    pairs: Pairs,
    groups: NDArray[np.int64],
    alternative: Alternative,
    *,
    n_perm: int,
    seed: Seed,
    keys: Sequence[tuple[int, ...]],
    best_of: int | None,
) -> PermutationTests:
    """Return the permutation tests of the given groups.

    Each of these groups must have both classes. `keys` identify the random streams of all groups.
    """
    m, n = pairs.pos[groups], pairs.neg[groups]
    n_rows = m + n
    if len(n_rows) and n_rows.max() >= MAX_GROUP_ROWS:
        raise OptionValueError.compose(
            "method",
            "permutation",
            f"a group has {n_rows.max()} rows, too many to permute their labels",
            'Use method="mann_whitney", which approximates this test for many rows.',
        )
    # The rows of the smaller class are drawn. The sum of the centered ranks of all rows is 0.
    # Therefore the sum over the negatives is the negative of the sum over the positives.
    draws = _Draws(
        ranks=ranks,
        groups=groups,
        n_rows=n_rows,
        n_drawn=np.minimum(m, n),
        sign=np.where(m > n, -1, 1),
        observed=(pairs.wins[groups] + pairs.wins_or_ties[groups]).astype(np.int64) - m * n,
        alternative=alternative,
    )
    n_subsets = np.array(
        [
            _count_subsets(rows, drawn, n_perm)
            for rows, drawn in zip(n_rows, draws.n_drawn, strict=True)
        ],
        np.int64,
    )
    exact = n_subsets <= n_perm
    n_extreme, best_auc = np.zeros(len(groups), np.int64), np.full(len(groups), np.nan)
    _count_enumerated(draws, np.flatnonzero(exact), n_extreme, best_of=best_of, best_auc=best_auc)
    _count_sampled(draws, np.flatnonzero(~exact), n_extreme, n_perm=n_perm, seed=seed, keys=keys)
    return PermutationTests(
        p_value=permutation_p_value(n_extreme, np.minimum(n_subsets, n_perm), exact),
        exact=exact,
        best_auc=best_auc,
    )


class PermutationTests(NamedTuple):
    """Permutation tests of some groups.

    `exact` is true for the groups whose permutations were all enumerated. `best_auc` is the
    expected value of the largest AUC of `best_of` random permutations; it is NaN for all other
    groups, and without `best_of`.
    """

    p_value: NDArray[np.float64]
    exact: NDArray[np.bool_]
    best_auc: NDArray[np.float64]


class _Draws(NamedTuple):
    """Groups from which random subsets of rows are drawn, and the result for their observed labels.

    Element `i` of each array belongs to `groups[i]`. A subset has `n_drawn` of `n_rows` rows, the
    number of rows of the smaller class. `sign` is -1 if this is the negative class, otherwise 1.
    `observed` is the sum of the centered ranks of the positives.
    """

    ranks: CenteredRanks
    groups: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    n_drawn: NDArray[np.int64]
    sign: NDArray[np.int64]
    observed: NDArray[np.int64]
    alternative: Alternative


def _count_subsets(n_rows: int, n_drawn: int, n_perm: int) -> int:
    """Return the number of subsets of `n_drawn` of `n_rows` rows, but at most `n_perm + 1`."""
    # At most half of the rows are drawn. The number of subsets is therefore at least 2^n_drawn.
    if n_drawn >= int(n_perm).bit_length():
        return n_perm + 1
    return min(math.comb(int(n_rows), int(n_drawn)), n_perm + 1)


def _count_enumerated(
    draws: _Draws,
    selected: NDArray[np.int64],
    n_extreme: NDArray[np.int64],
    *,
    best_of: int | None,
    best_auc: NDArray[np.float64],
) -> None:
    """Add the number of subsets that are at least as extreme as the data to `n_extreme`.

    All subsets of each group are enumerated. `selected` are the positions of the groups in `draws`.
    With `best_of`, the expected largest AUC of `best_of` random subsets is stored in `best_auc`.
    """
    shapes = np.stack([draws.n_rows[selected], draws.n_drawn[selected]], axis=1)
    for n_rows, n_drawn in np.unique(shapes, axis=0).tolist():
        same_shape = selected[(shapes == (n_rows, n_drawn)).all(axis=1)]
        n_pairs = n_drawn * (n_rows - n_drawn)  # a sum is between -n_pairs and n_pairs
        n_sums = np.zeros((0 if best_of is None else len(same_shape), 2 * n_pairs + 1), np.int64)
        for positions in _enumerate_subsets(n_rows, n_drawn):
            size = max(1, BLOCK_ROWS // max(positions.size, n_rows))
            for start in range(0, len(same_shape), size):
                part = same_shape[start : start + size]
                ranks = draws.ranks.of_rows(draws.groups[part], n_rows)
                sums = ranks[:, positions].sum(axis=2) * draws.sign[part, None]
                extreme = is_as_extreme(sums, draws.observed[part, None], draws.alternative)
                n_extreme[part] += np.count_nonzero(extreme, axis=1)
                if best_of is not None:
                    counted = n_sums[start : start + size]
                    cells = sums + (n_pairs + n_sums.shape[1] * np.arange(len(part))[:, None])
                    counted += np.bincount(cells.ravel(), minlength=counted.size).reshape(
                        counted.shape
                    )
        if best_of is not None:
            best_auc[same_shape] = _expected_maximum(n_sums, best_of)


def _expected_maximum(n_sums: NDArray[np.int64], best_of: int) -> NDArray[np.float64]:
    """Return the expected value of the largest AUC of `best_of` random subsets of each group.

    Column `i` of `n_sums` contains the number of subsets whose AUC is `i` divided by the number of
    the last column.
    """
    # The expected value of a number in [0, 1] is 1 minus the integral of its distribution function.
    share = np.cumsum(n_sums, axis=1) / n_sums.sum(axis=1, keepdims=True)
    result: NDArray[np.float64] = 1 - (share[:, :-1] ** best_of).mean(axis=1)
    return result


def _enumerate_subsets(n_rows: int, n_drawn: int) -> Iterator[NDArray[np.int64]]:
    """Yield blocks of all subsets; row i of a block has the positions of the rows of a subset."""
    subsets = combinations(range(n_rows), n_drawn)
    size = max(1, BLOCK_ROWS // n_drawn)
    while block := list(chain.from_iterable(islice(subsets, size))):
        yield np.array(block, np.int64).reshape(-1, n_drawn)


def _count_sampled(
    draws: _Draws,
    selected: NDArray[np.int64],
    n_extreme: NDArray[np.int64],
    *,
    n_perm: int,
    seed: Seed,
    keys: Sequence[tuple[int, ...]],
) -> None:
    """Add the number of subsets that are at least as extreme as the data to `n_extreme`.

    For each group, `n_perm` random subsets are drawn. `selected` are the positions of the groups in
    `draws`.
    """
    samplers = {}
    tasks = []
    for i in selected.tolist():
        n_scores = len(draws.ranks.of_group(draws.groups[i])[0])
        sampler = SubsetSampler.fastest(
            n_rows=int(draws.n_rows[i]), n_scores=n_scores, n_drawn=int(draws.n_drawn[i])
        )
        samplers[i] = sampler
        tasks += [(i, *batch) for batch in enumerate(batch_sizes(n_perm, sampler.batch_size))]

    def count_extreme(task: tuple[int, int, int]) -> int:
        i, batch, size = task
        stream = seed.stream(keys[draws.groups[i]], batch)
        sums = samplers[i].sums(stream, *draws.ranks.of_group(draws.groups[i]), size)
        extreme = is_as_extreme(sums * draws.sign[i], draws.observed[i], draws.alternative)
        return int(np.count_nonzero(extreme))

    counts = np.array(run_parallel(count_extreme, tasks, arrays_only=True), np.int64)
    np.add.at(n_extreme, np.array([task[0] for task in tasks], np.int64), counts)


# Measured times of the strategies of SubsetSampler in nanoseconds: for a distinct score, for a row,
# for a drawn row and for a call. Only the ratios matter.
SCORE_COST, ROW_COST, DRAW_COST, CALL_COST = 90, 4, 60, 10_000
MIN_ROWS_PER_DRAW = 20  # if n_rows / n_drawn is larger, numpy draws rows without permuting all rows
UINT16_VALUES = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SubsetSampler:
    """Draws subsets of `n_drawn` rows, and adds up their ranks.

    There are three strategies: `"scores"` draws the number of rows with each distinct score,
    `"draws"` draws the rows of a subset one after the other, and `"rows"` draws for each row
    whether it is in the subset. `batch_size` is the number of subsets that are drawn at once.
    """

    strategy: Literal["scores", "draws", "rows"]
    n_drawn: int
    batch_size: int

    @classmethod
    def fastest(cls, *, n_rows: int, n_scores: int, n_drawn: int) -> SubsetSampler:
        """Return the sampler with the fastest strategy."""
        costs = {"scores": SCORE_COST * n_scores, "rows": ROW_COST * n_rows}
        if n_drawn * MIN_ROWS_PER_DRAW <= n_rows:
            costs["draws"] = CALL_COST + DRAW_COST * n_drawn
        strategy: Any = min(costs, key=costs.__getitem__)
        width = {"scores": n_scores, "rows": n_rows, "draws": n_drawn}[strategy]
        # A row needs one byte of memory; a score or a draw needs eight bytes.
        block = 4 * BLOCK_ROWS if strategy == "rows" else BLOCK_ROWS
        return cls(strategy=strategy, n_drawn=n_drawn, batch_size=max(1, block // width))

    def sums(
        self,
        stream: np.random.Generator,
        n_rows: NDArray[np.int64],
        ranks: NDArray[np.int64],
        size: int,
    ) -> NDArray[np.int64]:
        """Return the sum of the ranks of each of `size` random subsets.

        `ranks` are the ranks of the distinct scores, and `n_rows` are the numbers of their rows.
        """
        result: NDArray[np.int64]
        if self.strategy == "scores":
            drawn = stream.multivariate_hypergeometric(
                n_rows, self.n_drawn, size, method="marginals"
            )
            result = drawn @ ranks
            return result
        ends = np.cumsum(n_rows)
        total = int(ends[-1])
        if self.strategy == "draws":
            result = np.empty(size, np.int64)
            for i in range(size):
                positions = stream.choice(total, self.n_drawn, replace=False, shuffle=False)
                result[i] = ranks[np.searchsorted(ends, positions, "right")].sum()
            return result
        subsets: NDArray[Any] = sample_subsets(stream, size, total, self.n_drawn)
        result = subsets @ np.repeat(ranks, n_rows)
        return result


def sample_subsets(
    stream: np.random.Generator, size: int, n_rows: int, n_drawn: int
) -> NDArray[np.bool_]:
    """Return `size` random subsets of `n_drawn` rows, all subsets with the same probability."""
    # First, each row is included with the same probability. Then random rows are added or removed
    # until there are `n_drawn` rows. All subsets of the same size remain equally likely. The first
    # step includes fewer rows than needed, because adding a row takes fewer attempts than removing
    # a row.
    expected = max(0.0, n_drawn - math.sqrt(n_drawn * (1 - n_drawn / n_rows)))
    uniform = stream.integers(0, UINT16_VALUES, (size, n_rows), np.uint16)
    subsets: NDArray[np.bool_] = uniform < int(UINT16_VALUES * expected / n_rows)
    flat = subsets.reshape(-1)
    lacking = n_drawn - np.count_nonzero(subsets, axis=1)
    # An attempt to add a row succeeds with a probability of at least 1 - n_drawn / n_rows. An
    # attempt to remove a row succeeds with a probability of at least n_drawn / n_rows. Therefore
    # the expected number of passes is limited.
    while lacking.any():
        # A pass changes at most `lacking` rows of a subset, so a pass never adds or removes too
        # many rows.
        subset = np.repeat(np.arange(size), np.abs(lacking))
        positions = subset * n_rows + stream.integers(0, n_rows, len(subset))
        positions = np.sort(positions[flat[positions] != (lacking > 0)[subset]])
        changed = positions[np.diff(positions, prepend=-1) > 0]
        flat[changed] ^= True
        lacking -= np.sign(lacking) * np.bincount(changed // n_rows, minlength=size)
    return subsets


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CenteredRanks:
    """Doubled ranks minus their mean, for the distinct scores of all groups.

    Group `i` has the scores `starts[i]` to `starts[i + 1] - 1`. `n_rows` is the number of rows with
    each score.
    """

    starts: NDArray[np.int64]
    n_rows: NDArray[np.int64]
    rank: NDArray[np.int64]

    @classmethod
    def from_scan(cls, scan: Scan) -> CenteredRanks:
        """Return the ranks of the rows of all groups; rows must not have weights."""
        total = scan.totals.pos_rows + scan.totals.neg_rows

        def rank_block(block: Block) -> tuple[NDArray[np.int64], ...]:
            above, at_least = block.tp0 + block.fp0, block.tp + block.fp
            rank = block.of_steps(total) - at_least - above
            return block.groups, np.diff(block.starts), at_least - above, rank

        starts = np.zeros(len(total) + 1, np.int64)
        n_rows, ranks = [starts[:0]], [starts[:0]]
        for groups, n_scores, rows, rank in scan.map(rank_block):
            starts[groups + 1] += n_scores
            n_rows.append(rows)
            ranks.append(rank)
        return cls(
            starts=np.cumsum(starts), n_rows=np.concatenate(n_rows), rank=np.concatenate(ranks)
        )

    def of_group(self, group: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the number of rows and the rank of each score of a group."""
        scores = slice(self.starts[group], self.starts[group + 1])
        return self.n_rows[scores], self.rank[scores]

    def of_rows(self, groups: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """Return the ranks of all rows of groups that have `length` rows each."""
        n_scores = self.starts[groups + 1] - self.starts[groups]
        positions = concatenated_ranges(self.starts[groups], n_scores)
        return np.repeat(self.rank[positions], self.n_rows[positions]).reshape(-1, length)

    def null_variance(
        self, n_pos: NDArray[np.int64], n_neg: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the exact variance of the AUC of each group over all permutations of the labels.

        The variance is NaN if a class is absent.
        """
        squares = np.zeros(len(n_pos))
        filled = np.flatnonzero(np.diff(self.starts))
        if len(filled):
            sums = exact_sums(self.n_rows, np.abs(self.rank), self.starts[filled], power=2)
            squares[filled] = sums.astype(np.float64)
        m, n = n_pos.astype(np.float64), n_neg.astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            variance: NDArray[Any] = squares / (4 * m * n * (m + n) * (m + n - 1))
        return np.where((n_pos > 0) & (n_neg > 0), variance, np.nan)
