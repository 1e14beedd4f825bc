"""Permutation tests of two models, of their areas or of their curves (Venkatraman and Begg 1996).

The ranks of both models are exchanged at random within rows.

References
----------
A. I. Bandos, H. E. Rockette, D. Gur (2005), "A permutation test sensitive to differences in
areas for comparing ROC curves from a paired design", Statistics in Medicine 24(18), 2873-2893.
doi:10.1002/sim.2149
E. S. Venkatraman, C. B. Begg (1996), "A distribution-free procedure for comparing receiver
operating characteristic curves from a paired experiment", Biometrika 83(4), 835-848.
doi:10.1093/biomet/83.4.835
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from rocframe.areas.pairs import doubled_ranks
from rocframe.inference.p_values import is_as_extreme, permutation_p_value
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.threads import batch_sizes, run_parallel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.hypothesis import PairedComparison
    from rocframe.kernel.resample import RandomDraws


DoubledRanks: TypeAlias = (
    "NDArray[np.int64]"  # doubled ranks with the positives first; one row per permutation
)


def permutation_test(comparison: PairedComparison) -> Iterator[dict[str, Any]]:
    """Yield the columns of a permutation test of the areas of each pair of models.

    The test is that of Bandos, Rockette and Gur (2005).
    """
    alternative = comparison.hypothesis.alternative

    def difference(a: DoubledRanks, b: DoubledRanks, n_pos: int) -> NDArray[np.int64]:
        return doubled_wins_of_ranks(a, n_pos) - doubled_wins_of_ranks(b, n_pos)

    def extreme(values: NDArray[np.int64], observed: int) -> NDArray[np.bool_]:
        return is_as_extreme(values, observed, alternative)

    for columns in exchange_test(
        comparison, name="permutation", statistic=difference, extreme=extreme
    ):
        yield {**columns, "statistic": columns["difference"]}


def exchange_test(
    comparison: PairedComparison,
    *,
    name: str,
    statistic: Callable[[DoubledRanks, DoubledRanks, int], NDArray[Any]],
    extreme: Callable[[NDArray[Any], Any], NDArray[np.bool_]],
) -> Iterator[dict[str, Any]]:
    """Yield the columns of a permutation test of each pair of models.

    Each row has a rank by the scores of each model. The test exchanges the two ranks of random
    rows, or of all rows of random clusters. `statistic` is a function of the ranks of both models
    and the number of positives. `extreme` returns which values of the statistic are at least as
    extreme as the observed value. If there are at most `draws.n_draws` exchanges, all of them are
    enumerated.
    """
    batch, draws = comparison.batch, comparison.draws
    ranks = dict(zip(batch.models, map(doubled_ranks, batch.scans()), strict=True))
    negative, cluster = batch.negative, batch.instances.cluster
    cluster = None if cluster is None else cluster[batch.rows]
    n_pos, n_neg = batch.middle - batch.starts[:-1], batch.starts[1:] - batch.middle
    for a, b in comparison.pairs:
        # Rows are sorted, so that the random exchanges depend neither on the order of rows in the
        # frame nor on the order of the two models.
        order = np.lexsort((ranks[max(a, b)], ranks[min(a, b)], negative, batch.group))
        groups = []
        for start, end, positives in zip(batch.starts, batch.starts[1:], n_pos, strict=False):
            rows = order[start:end]
            unit = np.arange(len(rows))
            if cluster is not None:
                unit = np.unique(cluster[rows], return_inverse=True)[1]
            groups.append(_RankedGroup(ranks[a][rows], ranks[b][rows], int(positives), unit))
        keys = [draws.keys[group] for group in batch.groups]
        observed, p_value, exact = _exchange_p_values(groups, keys, draws, statistic, extreme)
        area_a, area_b = (
            np.array([group.area(getattr(group, side)) for group in groups], float)
            for side in ("a", "b")
        )
        columns = {
            "auc_a": area_a,
            "auc_b": area_b,
            "difference": area_a - area_b,
            "statistic": observed,
            "p_value": p_value,
            "test": np.array([f"{name}_exact" if is_exact else name for is_exact in exact], object),
        }
        yield comparison.record((a, b), columns, rows=(n_pos, n_neg), units=(n_pos, n_neg))


class _RankedGroup(NamedTuple):
    """The doubled ranks of the rows of one group by both models, with the positives first.

    A unit is a row or a cluster whose ranks are exchanged together. `unit` is the number of the
    unit of each row.
    """

    a: DoubledRanks
    b: DoubledRanks
    n_pos: int
    unit: NDArray[np.int64]

    @property
    def n_units(self) -> int:
        """Number of rows or clusters whose ranks are exchanged."""
        return int(self.unit.max(initial=-1)) + 1

    @property
    def n_pairs(self) -> int:
        """Number of pairs of a positive and a negative."""
        return self.n_pos * (len(self.a) - self.n_pos)

    def area(self, ranks: DoubledRanks) -> float:
        """Return the area of a model; NaN if a class is absent."""
        if not self.n_pairs:
            return np.nan
        return int(doubled_wins_of_ranks(ranks[None], self.n_pos)[0]) / (2 * self.n_pairs)

    def exchange(self, exchanged: NDArray[np.bool_]) -> tuple[DoubledRanks, DoubledRanks]:
        """Return the ranks by both models after an exchange of the units in `exchanged`."""
        rows = exchanged[:, self.unit]
        return np.where(rows, self.b, self.a), np.where(rows, self.a, self.b)


def _exchange_p_values(
    groups: Sequence[_RankedGroup],
    keys: Sequence[tuple[int, ...]],
    draws: RandomDraws,
    statistic: Callable[[DoubledRanks, DoubledRanks, int], NDArray[Any]],
    extreme: Callable[[NDArray[Any], Any], NDArray[np.bool_]],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Return the statistic and p-value of each group, and whether all exchanges were enumerated.

    Statistic and p-value are NaN if a class is absent.
    """
    defined = np.array([group.n_pairs > 0 for group in groups], bool)
    # n units have 2^n exchanges. The number is limited to 2^31, which is larger than the largest
    # number of draws.
    exchanges = np.array([1 << min(group.n_units, 31) for group in groups], np.int64)
    exact = defined & (exchanges <= draws.n_draws)
    n_permutations = np.where(exact, exchanges, np.where(defined, draws.n_draws, 0))
    observed = [statistic(group.a[None], group.b[None], group.n_pos)[0] for group in groups]

    def count_extreme(task: tuple[int, int, int, int]) -> int:
        i, number, first, size = task
        group = groups[i]
        if exact[i]:
            exchange = np.arange(first, first + size)
            exchanged = (exchange[:, None] >> np.arange(group.n_units)) & 1 == 1
        else:
            stream = draws.seed.stream(keys[i], number)
            exchanged = stream.integers(0, 2, (size, group.n_units)) == 1
        values = statistic(*group.exchange(exchanged), group.n_pos)
        return int(np.count_nonzero(extreme(values, observed[i])))

    tasks = []
    for i, group in enumerate(groups):
        batch_size = max(1, BLOCK_ROWS // max(1, len(group.a)))
        for number, size in enumerate(batch_sizes(int(n_permutations[i]), batch_size)):
            tasks.append((i, number, number * batch_size, size))
    n_extreme = np.zeros(len(groups), np.int64)
    counts = np.array(run_parallel(count_extreme, tasks, arrays_only=True), np.int64)
    np.add.at(n_extreme, np.array([task[0] for task in tasks], np.int64), counts)
    p_value = permutation_p_value(n_extreme, n_permutations, exact)
    undefined = np.where(defined, 0.0, np.nan)
    return np.array(observed, float) + undefined, p_value + undefined, exact


def rank_counts(ranks: DoubledRanks, n_pos: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of positives and of rows at each doubled rank, one row per permutation."""
    n_permutations, n_rows = ranks.shape
    width = 2 * n_rows + 1
    size = n_permutations * width
    row_numbers = ranks + np.arange(n_permutations)[:, None] * width
    total = np.bincount(row_numbers.ravel(), minlength=size)
    pos = np.bincount(row_numbers[:, :n_pos].ravel(), minlength=size)
    return pos.reshape(n_permutations, width), total.reshape(n_permutations, width)


def doubled_wins_of_ranks(ranks: DoubledRanks, n_pos: int) -> NDArray[np.int64]:
    """Return, for each permutation, twice the number of concordant pairs; a tied pair counts 1.

    In a concordant pair, the rank of the positive is before that of the negative.
    """
    pos, total = rank_counts(ranks, n_pos)
    cumulative = np.cumsum(pos, axis=1)
    wins: NDArray[np.int64] = ((total - pos) * (2 * cumulative - pos)).sum(axis=1)
    return wins


STATISTIC_ROUNDING = 1e-9  # largest relative rounding error of the statistic


def venkatraman_test(comparison: PairedComparison) -> Iterator[dict[str, Any]]:
    """Yield the columns of Venkatraman and Begg's (1996) test of each pair of models.

    The test compares the numbers of errors of both models at each rank.
    """
    return exchange_test(
        comparison,
        name="venkatraman",
        statistic=error_difference,
        extreme=lambda values, observed: values >= observed * (1 - STATISTIC_ROUNDING),
    )


def error_difference(a: DoubledRanks, b: DoubledRanks, n_pos: int) -> NDArray[np.float64]:
    """Return the statistic of Venkatraman and Begg for each permutation.

    The statistic is the absolute difference of the numbers of errors of both models, summed over
    all ranks.
    """
    # At a rank, the errors are the positives with later ranks and the negatives up to this rank.
    # Therefore the numbers of errors of two models differ by twice the difference of their numbers
    # of true positives.
    difference = _true_positives(a, n_pos) - _true_positives(b, n_pos)
    result: NDArray[np.float64] = 2 * np.abs(difference).sum(axis=1)
    return result


def _true_positives(ranks: DoubledRanks, n_pos: int) -> NDArray[np.float64]:
    """Return the number of positives among the first 1, 2, 3, ... rows of each permutation.

    The positives of tied rows are distributed evenly over these rows.
    """
    pos, total = rank_counts(ranks, n_pos)
    occupied = total > 0
    share = np.repeat(pos[occupied] / total[occupied], total[occupied]).reshape(len(ranks), -1)
    return np.cumsum(share, axis=1)
