"""Walks → Hanley and McNeil's variance of the area under each curve.

Q1 is the chance that two positives both outrank one negative, Q2 that one positive outranks two
negatives. Of the three orders of a triple in which all tie, one counts.

References
----------
J. A. Hanley, B. J. McNeil (1982), "The meaning and use of the area under a receiver operating
characteristic (ROC) curve", Radiology 143(1), 29-36. doi:10.1148/radiology.143.1.7063747
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.exact import product, quotient, sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.areas.pairs import Pairs
    from rocframe.counting.walk import Block, Walk


def hanley_mcneil_variance(walk: Walk, pairs: Pairs) -> NDArray[np.float64]:
    """Return the variance with Q1 and Q2 as they are in the data."""
    scored_neg = pairs.neg - walk.totals.unscored_neg
    outranked, outranking = (np.zeros(len(pairs.pos), object) for _ in range(2))

    def one(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        neg = block.of_steps(scored_neg)
        return (
            _triples(block.neg, block.tp0, block.tp, block.starts[:-1]),
            _triples(block.pos, neg - block.fp, neg - block.fp0, block.starts[:-1]),
        )

    for piece, (below, above) in zip(walk.pieces, walk.each(one), strict=True):
        outranked[piece.groups] = outranked[piece.groups] + below
        outranking[piece.groups] = outranking[piece.groups] + above
    pos, neg, six = pairs.pos, pairs.neg, np.array([6])
    q1 = quotient(outranked, product(six, neg, pos, pos))
    q2 = quotient(outranking, product(six, pos, neg, neg))
    return _variance(pairs, q1, q2)


def exponential_variance(pairs: Pairs) -> NDArray[np.float64]:
    """Return the variance with the Q1 and Q2 that exponential scores of that area have."""
    area = pairs.areas[0]
    return _variance(pairs, area / (2 - area), 2 * area**2 / (1 + area))


def _triples(
    times: NDArray[Any], fewer: NDArray[Any], more: NDArray[Any], starts: NDArray[np.int64]
) -> NDArray[Any]:
    """Add up six times A² + A·E + E²/3, where `fewer` is A and `more` is A + E."""
    squares = [sums(times, value, starts, power=2) for value in (fewer, more, fewer + more)]
    total: NDArray[Any] = np.sum([square.astype(object) for square in squares], axis=0)
    return total


def _variance(
    pairs: Pairs, q1: NDArray[np.float64], q2: NDArray[np.float64]
) -> NDArray[np.float64]:
    area, pos, neg = pairs.areas[0], pairs.pos.astype(float), pairs.neg.astype(float)
    square = area**2
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = area * (1 - area) + (pos - 1) * (q1 - square) + (neg - 1) * (q2 - square)
        variance: NDArray[np.float64] = spread / (pos * neg)
    return variance
