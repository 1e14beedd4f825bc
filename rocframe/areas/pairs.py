"""Counts of ordered pairs, placements, and DeLong's variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.kernel.codec import Tail
from rocframe.kernel.exact import LARGEST, product, quotient, sums

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.kernel.scan import Block, Walk, Walked


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pairs:
    """Pairs of each group: `low` of them won, `high` won or tied, of `pos` times `neg`."""

    low: NDArray[Any]
    high: NDArray[Any]
    pos: NDArray[Any]
    neg: NDArray[Any]

    @property
    def areas(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """AUC with ties counting half, nothing, and full; NaN where a class is absent."""
        twice = product(self.pos, self.neg, np.array([2]))
        low, high = (won.astype(twice.dtype) for won in (self.low, self.high))
        areas = tuple(quotient(part, twice) for part in (low + high, 2 * low, 2 * high))
        if twice.dtype.kind == "f":  # sums of weights may round across the ends
            areas = tuple(np.clip(area, 0, 1) for area in areas)
        return areas  # type: ignore[return-value]


def count_pairs(walk: Walked) -> Pairs:
    """Count the pairs of each group that are in order, and those that tie."""
    kind = _kind(walk, 1)
    low, high = (np.zeros(len(walk.totals.pos), kind) for _ in range(2))

    def one(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        starts = block.starts[:-1]
        return sums(block.neg, block.tp0, starts), sums(block.neg, block.tp, starts)

    for piece, (won, not_lost) in zip(walk.pieces, walk.each(one), strict=True):
        low[piece.groups] = low[piece.groups] + won
        high[piece.groups] = high[piece.groups] + not_lost
    return Pairs(low=low, high=high, pos=walk.totals.pos, neg=walk.totals.neg)


def delong_variance(walk: Walk, pairs: Pairs) -> NDArray[np.float64]:
    """Return DeLong's variance of each group's AUC; NaN with fewer than two rows of a class."""
    if walk.totals.pos.dtype.kind == "f":
        return _weighted_variance(walk, pairs)
    of_positives, of_negatives = delong_class_variances(walk, pairs)
    return of_positives + of_negatives


def delong_class_variances(
    walk: Walked, pairs: Pairs
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the variance that each class adds to each AUC, where rows are not weighted."""
    kind = _kind(walk, 2)
    scored_neg = pairs.neg - walk.totals.unscored_neg
    above, below = (np.zeros(len(pairs.pos), kind) for _ in range(2))

    def one(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        starts = block.starts[:-1]
        beaten = 2 * block.of_steps(scored_neg) - block.fp0 - block.fp
        return (
            sums(block.pos, beaten, starts, power=2),
            sums(block.neg, block.tp0 + block.tp, starts, power=2),
        )

    for piece, (squares, others) in zip(walk.pieces, walk.each(one), strict=True):
        above[piece.groups] = above[piece.groups] + squares
        below[piece.groups] = below[piece.groups] + others
    m, n = pairs.pos, pairs.neg
    total = pairs.low + pairs.high
    return placement_variance(m, n, above, total), placement_variance(n, m, below, total)


def placement_variance(
    own: NDArray[Any], other: NDArray[Any], squares: NDArray[Any], total: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the sample variance of one class's placements over its size.

    `squares` and `total` are sums of doubled placements, or of differences of such.
    """
    # Variance of u/(2·other) over `own` rows: (own·Σu² − (Σu)²) / (own²·(own−1)·(2·other)²).
    result = np.full(len(own), np.nan)
    enough = (own > 1) & (other > 0)
    # 4·own²·other² bounds the first, and no group's path depends on the others' sizes.
    small = enough & (own.astype(np.float64) * other < 1.5e9)
    a, b, s, t = (values[small].astype(np.int64) for values in (own, other, squares, total))
    result[small] = (a * s - t * t) / (4.0 * a * a * (a - 1) * b * b)
    for i in np.flatnonzero(enough & ~small):
        a_, b_, s_, t_ = int(own[i]), int(other[i]), int(squares[i]), int(total[i])
        result[i] = (a_ * s_ - t_ * t_) / (4 * a_ * a_ * (a_ - 1) * b_ * b_)
    return result


def _weighted_variance(walk: Walk, pairs: Pairs) -> NDArray[np.float64]:
    """Return the variance where rows are weighted: squared weights, row counts for degrees."""
    auc = pairs.areas[0]
    m, n = walk.totals.pos_rows, walk.totals.neg_rows
    scored_neg = pairs.neg - walk.totals.unscored_neg
    above = walk.rows.tails.pos_squares * auc**2
    below = walk.rows.tails.neg_squares * auc**2

    def one(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        assert block.pos_squares is not None
        assert block.neg_squares is not None
        starts, theta = block.starts[:-1], block.of_steps(auc)
        # The threads that blocks are worked on have error states of their own.
        with np.errstate(divide="ignore", invalid="ignore"):
            v10 = block.of_steps(scored_neg) - (block.fp0 + block.fp) / 2
            v10 = v10 / block.of_steps(pairs.neg) - theta
            v01 = (block.tp0 + block.tp) / (2 * block.of_steps(pairs.pos)) - theta
        return (
            np.add.reduceat(block.pos_squares * v10**2, starts),
            np.add.reduceat(block.neg_squares * v01**2, starts),
        )

    found = walk.each(one, squares=True)
    for piece, (squares, others) in zip(walk.pieces, found, strict=True):
        above[piece.groups] += squares
        below[piece.groups] += others
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = m / (m - 1) * above / pairs.pos**2 + n / (n - 1) * below / pairs.neg**2
    # Below the rounding of the placements themselves (1e-14, squared) there is no spread.
    variance = np.where(variance < 1e-28, 0.0, variance)
    return np.where((m > 1) & (n > 1), variance, np.nan)


def _kind(walk: Walked, power: int) -> Any:
    """Return the type that holds the sums over placements to this power."""
    pos, neg = walk.totals.pos, walk.totals.neg
    if pos.dtype.kind == "f":
        return np.float64
    m, n = (int(side.max()) if len(side) else 0 for side in (pos, neg))
    return np.int64 if 2**power * m * n * max(m, n) ** (power - 1) <= LARGEST else object


def doubled_placements(walk: Walk) -> NDArray[Any]:
    """Return twice the placement of each row of the frame, of 0 for rows without a score.

    The walk has to follow its rows.
    """
    scored_neg = walk.totals.neg - walk.totals.unscored_neg

    def place(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        return 2 * block.of_steps(scored_neg) - block.fp0 - block.fp, block.tp0 + block.tp

    nothing = np.zeros(len(scored_neg), scored_neg.dtype)
    return scatter_to_rows(walk, place, (nothing, nothing))


def doubled_ranks(walk: Walk) -> NDArray[Any]:
    """Return twice the middle rank of each row within its group, counted from the highest score.

    Unscored positives come after all others, unscored negatives before.
    """
    totals, tails = walk.totals, walk.rows.tails
    all_rows, first = totals.pos + totals.neg, tails.neg_mass

    def place(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        rank = block.tp0 + block.tp + block.fp0 + block.fp + 2 * block.of_steps(first)
        return rank, rank

    return scatter_to_rows(walk, place, (2 * all_rows - tails.pos_mass, first))


def scatter_to_rows(
    walk: Walk,
    place: Callable[[Block], tuple[NDArray[Any], NDArray[Any]]],
    unscored: tuple[NDArray[Any], NDArray[Any]],
) -> NDArray[Any]:
    """Bring what `place` finds for positives and for negatives of a step to the rows themselves.

    `unscored` is what the unscored ones of each group have; rows that are left out have 0.
    """
    rows = walk.rows
    row = rows.row
    assert row is not None
    found = np.zeros(len(row), unscored[0].dtype)

    def bring(block: Block) -> None:
        assert block.sizes is not None
        negative = (rows.codes[block.places] & 1).astype(bool)
        for_pos, for_neg = (np.repeat(values, block.sizes) for values in place(block))
        found[row[block.places]] = np.where(negative, for_neg, for_pos)

    walk.each(bring)
    if rows.tails.length.any():
        tail = np.flatnonzero(rows.codes >= rows.codec.first_tail)
        tail = tail[rows.codes[tail] >> 1 == rows.codec.tail(Tail.UNSCORED)]
        group = np.searchsorted(rows.starts, tail, "right") - 1
        negative = (rows.codes[tail] & 1).astype(bool)
        found[row[tail]] = np.where(negative, unscored[1][group], unscored[0][group])
    return found
