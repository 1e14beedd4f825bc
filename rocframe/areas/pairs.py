"""AUC from counts of pairs, where a tie counts 1/2, and placement values (DeLong et al. 1988)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.inference.bootstrap import Statistic
from rocframe.kernel.codec import ReservedCode
from rocframe.kernel.exact import MAX_INT64, exact_product, exact_quotient, exact_sums
from rocframe.kernel.groups import groups_of_rows
from rocframe.kernel.resample import ReplicateStatistic

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.inference.bootstrap import Influences
    from rocframe.kernel.resample import ReplicateScan
    from rocframe.kernel.scan import Block, Scan, Scannable


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Numbers of pairs of a positive and a negative in each group.

    There are `pos` times `neg` pairs. `wins` is the number of pairs in which the positive has the
    higher score. `wins_or_ties` is the number of pairs in which the positive has a higher or an
    equal score. `squares` are the results of `squared_placements`, or None if not requested.
    """

    wins: NDArray[Any]
    wins_or_ties: NDArray[Any]
    pos: NDArray[Any]
    neg: NDArray[Any]
    squares: tuple[NDArray[Any], NDArray[Any]] | None = None

    @property
    def areas(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """AUC with ties counted as 1/2, 0 and 1; NaN without positives or without negatives."""
        areas = self.shares
        if self.pos.dtype.kind == "f":  # rounded sums of weights may lie outside [0, 1]
            areas = np.clip(areas, 0, 1)
        return areas[0], areas[1], areas[2]

    @property
    def shares(self) -> NDArray[np.float64]:
        """Shares of the pairs that are won, with ties counted as 1/2, 0 and 1, in three rows."""
        twice = exact_product(self.pos, self.neg, np.array([2]))
        wins, wins_or_ties = (n.astype(twice.dtype) for n in (self.wins, self.wins_or_ties))
        doubled = (wins + wins_or_ties, 2 * wins, 2 * wins_or_ties)
        return np.stack([exact_quotient(part, twice) for part in doubled])


def count_pairs(scan: Scannable, *, squares: bool = False) -> Pairs:
    """Return the numbers of pairs of each group; see `Pairs`.

    If `squares` is true, the squares are computed in the same scan, which takes less time than two
    scans.
    """
    scored_neg = scan.totals.scored_neg

    def count(block: Block) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        starts = block.starts[:-1]
        neg = block.neg
        pairs = exact_sums(neg, block.tp0, starts), exact_sums(neg, block.tp, starts)
        return [pairs, _squared_placement_sums(block, scored_neg)] if squares else [pairs]

    parts = scan.map(count)
    wins, wins_or_ties = group_sums(scan, [part[0] for part in parts], 2, pair_dtype(scan, 1))
    sums = None
    if squares:
        of_pos, of_neg = group_sums(scan, [part[1] for part in parts], 2, pair_dtype(scan, 2))
        sums = of_pos, of_neg
    return Pairs(
        wins=wins,
        wins_or_ties=wins_or_ties,
        pos=scan.totals.pos,
        neg=scan.totals.neg,
        squares=sums,
    )


def squared_placements(scan: Scannable) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return two sums of squares for each group: of the doubled placement values of each class.

    The first sum is that of positives, the second that of negatives. `doubled_placements` defines
    placement values. They are multiplied by 2 because twice the value is always an integer.
    """
    scored_neg = scan.totals.scored_neg
    parts = scan.map(lambda block: _squared_placement_sums(block, scored_neg))
    of_pos, of_neg = group_sums(scan, parts, 2, pair_dtype(scan, 2))
    return of_pos, of_neg


def _squared_placement_sums(
    block: Block, scored_neg: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return, for each group of a block, the sums of squared doubled placements of each class."""
    starts = block.starts[:-1]
    of_pos, of_neg = placements_of_scores(block, scored_neg)
    return exact_sums(block.pos, of_pos, starts, power=2), exact_sums(
        block.neg, of_neg, starts, power=2
    )


def group_sums(scan: Scannable, parts: list[Any], columns: int, dtype: Any = float) -> NDArray[Any]:
    """Return sums over all blocks, with `columns` rows and one column per group.

    `parts` has the result of each block: `columns` arrays with one value per group of the block.
    """
    total = np.zeros((columns, len(scan.totals.pos)), dtype)
    for piece, part in zip(scan.ranges, parts, strict=True):
        for column, values in zip(total, part, strict=True):
            column[piece.groups] = column[piece.groups] + values
    return total


def pair_dtype(scan: Scannable, power: int) -> Any:
    """Return the dtype for sums of doubled placement values, each raised to `power`.

    The dtype is float for weights, Int64 if the sums fit, and otherwise object for Python integers.
    """
    pos, neg = scan.totals.pos, scan.totals.neg
    if pos.dtype.kind == "f":
        return np.float64
    m, n = (int(side.max()) if len(side) else 0 for side in (pos, neg))
    return np.int64 if 2**power * m * n * max(m, n) ** (power - 1) <= MAX_INT64 else object


def doubled_placements(scan: Scan) -> NDArray[Any]:
    """Return twice the placement value of each row of the frame; 0 for rows without a score.

    The placement value of a positive is the number of negatives with a lower score. The placement
    value of a negative is the number of positives with a higher score. A tie counts 1/2. The scan
    must have the positions of rows in the frame.
    """
    scored_neg = scan.totals.scored_neg
    zeros = np.zeros(len(scored_neg), scored_neg.dtype)
    return scatter_to_rows(
        scan, lambda block: placements_of_scores(block, scored_neg), (zeros, zeros)
    )


def placements_of_scores(
    block: Block, scored_neg: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the doubled placement values of positives and of negatives at each distinct score."""
    return 2 * block.of_steps(scored_neg) - block.fp0 - block.fp, block.tp0 + block.tp


def doubled_ranks(scan: Scan) -> NDArray[Any]:
    """Return twice the midrank of each row within its group, counted from the highest score.

    Unscored positives have the last ranks, and unscored negatives the first ranks.
    """
    totals, unscored = scan.totals, scan.rows.unscored
    all_rows, first = totals.pos + totals.neg, unscored.neg_weight

    def ranks(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        rank = block.tp0 + block.tp + block.fp0 + block.fp + 2 * block.of_steps(first)
        return rank, rank

    return scatter_to_rows(scan, ranks, (2 * all_rows - unscored.pos_weight, first))


def scatter_to_rows(
    scan: Scan,
    values_of: Callable[[Block], tuple[NDArray[Any], NDArray[Any]]],
    unscored: tuple[NDArray[Any], NDArray[Any]],
) -> NDArray[Any]:
    """Return a value for each row of the frame, from values for each distinct score and class.

    `values_of` returns the values of positives and of negatives at each score of a block.
    `unscored` are the values of unscored positives and negatives of each group. Rows that are left
    out have the value 0.
    """
    rows = scan.rows
    row = rows.row
    assert row is not None
    result = np.zeros(len(row), unscored[0].dtype)

    def scatter(block: Block) -> None:
        assert block.sizes is not None
        negative = (rows.codes[block.positions] & 1).astype(bool)
        of_pos, of_neg = (np.repeat(values, block.sizes) for values in values_of(block))
        result[row[block.positions]] = np.where(negative, of_neg, of_pos)

    scan.map(scatter)
    if rows.unscored.length.any():
        tail = np.flatnonzero(rows.codes >= rows.codec.first_reserved)
        tail = tail[rows.codes[tail] >> 1 == rows.codec.reserved(ReservedCode.UNSCORED)]
        group = groups_of_rows(rows.starts, tail)
        negative = (rows.codes[tail] & 1).astype(bool)
        result[row[tail]] = np.where(negative, unscored[1][group], unscored[0][group])
    return result


def auc_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the AUC at each distinct score: of positives, of negatives.

    An influence value is the centered placement value, divided by the total weight of the class.
    The last value of each array is for unscored rows.
    """
    block, totals = sample.block, sample.totals
    auc, pos, neg = count_pairs(sample).areas[0][0], totals.pos[0], totals.neg[0]
    of_pos, of_neg = placements_of_scores(block, totals.scored_neg)
    v10, v01 = np.append(of_pos, 0) / (2 * neg), np.append(of_neg, 0) / (2 * pos)
    return (v10 - auc) / pos, (v01 - auc) / neg


AUC_STATISTIC = Statistic(
    replicate=ReplicateStatistic(function=lambda sample: count_pairs(sample).areas[0]),
    influence=auc_influence,
)
