"""Walks → the placement of each row: how much of the other class it is in order with.

A positive is in order with the negatives below it, a negative with the positives above it; ties
count half. Placements are doubled here, so that they stay whole numbers unless rows are weighted.

References
----------
E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
correlated receiver operating characteristic curves: a nonparametric approach", Biometrics
44(3), 837-845. doi:10.2307/2531595
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.counting.codec import Tail

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.counting.walk import Block, Walk


def doubled_placements(walk: Walk) -> NDArray[Any]:
    """Return twice the placement of each row of the frame, of 0 for rows without a score.

    The walk has to follow its rows.
    """
    scored_neg = walk.totals.neg - walk.totals.unscored_neg

    def place(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        return 2 * block.of_steps(scored_neg) - block.fp0 - block.fp, block.tp0 + block.tp

    nothing = np.zeros(len(scored_neg), scored_neg.dtype)
    return scattered(walk, place, (nothing, nothing))


def doubled_ranks(walk: Walk) -> NDArray[Any]:
    """Return twice the middle rank of each row within its group, counted from the highest score.

    Unscored positives come after all others, unscored negatives before.
    """
    totals, tails = walk.totals, walk.rows.tails
    all_rows, first = totals.pos + totals.neg, tails.neg_mass

    def place(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        rank = block.tp0 + block.tp + block.fp0 + block.fp + 2 * block.of_steps(first)
        return rank, rank

    return scattered(walk, place, (2 * all_rows - tails.pos_mass, first))


def scattered(
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
