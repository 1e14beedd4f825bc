"""Walks → how many pairs of a positive and a negative are in order, and DeLong's variance.

Of a pair the positive wins, ties, or loses. For each positive the number of negatives it
beats, ties counting half, is its placement; likewise for each negative the number of positives
that beat it. All sums are whole numbers (twice the placements), exact at every size, unless
rows are weighted.

References
----------
E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
correlated receiver operating characteristic curves: a nonparametric approach", Biometrics
44(3), 837-845. doi:10.2307/2531595
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.exact import LARGEST, product, quotient, sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.counting.walk import Block, Walk, Walked


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
    of_positives, of_negatives = class_variances(walk, pairs)
    return of_positives + of_negatives


def class_variances(walk: Walked, pairs: Pairs) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
    return sample_variance(m, n, above, total), sample_variance(n, m, below, total)


def sample_variance(
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
