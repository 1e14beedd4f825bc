"""Rows of one group → how much a unit of mass more of each would change averages over classes.

These are derivatives by the mass of a row, which BCa limits take the skewness from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.classes.kinds import Average
    from rocframe.classes.rows import Rows


def influences(rows: Rows, averages: Sequence[Average]) -> dict[Average, NDArray[np.float64]]:
    """Return the derivative of each average by the mass of each row; rows stand class by class."""
    mass, group = rows.mass.astype(np.float64), rows.group
    of_class = np.bincount(rows.code, mass, len(rows.scores))
    own, total = of_class[rows.code], mass.sum()
    pairs, macro, weighted, won = (np.zeros(len(mass)) for _ in range(4))
    own_score, some = rows.own
    for one in group.classes(averages):
        score, scored = rows.scores[one.of], rows.scored[one.of]
        positive = rows.code == one.of
        beaten = ~positive if scored is None else ~positive & scored
        if one.placed is not None:
            size, rest = of_class[one.of], total - of_class[one.of]
            mine = positive if scored is None else positive & scored
            lost = np.where(positive, 0, one.placed.wins(_upto(mass, one.order))[0] / 2)
            gained = np.zeros(len(mass))
            gained[mine] = _below(score[beaten], mass[beaten], score[mine])
            shares = np.zeros(len(mass))
            shares[mine] = _below(score[beaten], (mass / own)[beaten], score[mine])
            of_pairs = np.bincount(rows.code, mass * lost, len(of_class)) / size
            of_pairs = of_pairs / np.where(of_class > 0, of_class, 1)
            pairs += np.where(
                positive,
                (shares - of_pairs.sum()) / size,
                (lost / size - of_pairs[rows.code]) / own,
            )
            wins = (mass * lost).sum()
            area, change = wins / (size * rest), np.where(positive, gained, lost)
            macro += np.where(positive, (gained / rest - area) / size, (lost / size - area) / rest)
            weighted += change / (total * rest) - area * size / total * np.where(
                positive, 1 / total, 1 / total + 1 / rest
            )
        if one.pooled is not None:
            wins_of_all = one.pooled.wins(_upto(mass, group.pooled_order()))[0] / 2
            won += np.where(positive, 0, wins_of_all)
            won[some] += _below(score[beaten], mass[beaten], own_score[some])
    used = np.count_nonzero(of_class)
    whole = total**2 * (len(rows.scores) - 1)
    found: dict[Average, NDArray[np.float64]] = {
        "hand_till": pairs / (used * (used - 1)),
        "macro": macro / used,
        "weighted": weighted,
        # Each pair is counted at its positive and at its negative.
        "micro": won / whole - (mass * won).sum() / whole / total,
    }
    return {name: found[name] for name in averages}


def skewness(rows: Rows, influence: NDArray[np.float64]) -> float:
    """Return how skewed the influence of single rows, or clusters, is: ΣL³ / (6·(ΣL²)^(3/2))."""
    times: NDArray[np.float64] = rows.count.astype(np.float64)
    values: NDArray[np.float64] = influence if rows.weight is None else influence * rows.weight
    if rows.cluster is not None:
        values = np.bincount(rows.cluster, times * values).astype(np.float64)
        times = np.ones(len(values))
    largest = abs(values).max()
    if not largest > 0:
        return 0.0
    values = values / largest
    return float((times * values**3).sum() / (6 * (times * values**2).sum() ** 1.5))


def _upto(mass: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.append(0, np.cumsum(mass[order]))[None, :]


def _below(
    scores: NDArray[Any], mass: NDArray[np.float64], at: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the mass of scores that lie below others, a tie counting half."""
    order = np.argsort(scores)
    rising = scores[order]
    upto = np.append(0, np.cumsum(mass[order]))
    ends = (np.searchsorted(rising, at, side) for side in ("left", "right"))
    below, not_above = (upto[end] for end in ends)
    found: NDArray[np.float64] = (below + not_above) / 2
    return found
