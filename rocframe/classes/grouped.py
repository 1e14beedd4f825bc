"""Rows of many groups → areas over all classes of each, worked out for all groups at once.

The same numbers as `kinds` has for one group, to the last bit: wins are whole numbers, which add up
exactly whatever stands beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.classes.kinds import Average
    from rocframe.classes.rows import Rows


def grouped_areas(
    rows: Rows, group: NDArray[np.int64], groups: int, averages: Sequence[Average]
) -> dict[Average, NDArray[np.float64]]:
    """Return averages of each group; rows stand by group and class, and have no weights."""
    mass, size = rows.count, len(rows.scores)
    starts = np.flatnonzero(np.diff(group * size + rows.code, prepend=-1))
    cell_group, cell_code = group[starts], rows.code[starts]
    of_class = np.add.reduceat(mass, starts) if len(starts) else mass
    total = np.zeros(groups, np.int64)
    np.add.at(total, cell_group, of_class)
    used = np.bincount(cell_group, minlength=groups)
    pairs, macro, weighted = (np.zeros(groups) for _ in range(3))
    wins_of_all = np.zeros(groups, np.int64)
    own_score = rows.own if "micro" in averages else None
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
            of = cell_code == i
            positive = rows.code == i
            if of.any() and set(averages) != {"micro"}:
                own = np.zeros(groups, np.int64)
                own[cell_group[of]] = of_class[of]
                some = mass * (positive if scored is None else positive & scored)
                wins = mass * _wins(group, score, score, some, scored)
                won = np.add.reduceat(wins, starts)
                won[of] = 0
                of_pairs = won / (2 * own[cell_group] * of_class)
                pairs += np.bincount(cell_group, np.nan_to_num(of_pairs, posinf=0.0), groups)
                won_of_all = np.zeros(groups, np.int64)
                np.add.at(won_of_all, cell_group, won)
                area = np.nan_to_num(won_of_all / (2 * own * (total - own)))
                macro += area
                weighted += area * (own / total)
            if own_score is not None:
                some = mass * own_score[1]
                wins = mass * _wins(group, own_score[0], score, some, scored)
                wins[positive] = 0
                np.add.at(wins_of_all, group, wins)
        micro = wins_of_all / (2 * total * (total * (size - 1)))
        found: dict[Average, NDArray[np.float64]] = {
            "hand_till": pairs / (used * (used - 1)),
            "macro": macro / used,
            "weighted": weighted,
            "micro": micro,
        }
    return {name: np.where(used > 1, np.clip(found[name], 0, 1), np.nan) for name in averages}


def _wins(
    group: NDArray[np.int64],
    positive: NDArray[Any],
    score: NDArray[Any],
    mass: NDArray[np.int64],
    scored: NDArray[np.bool_] | None,
) -> NDArray[np.int64]:
    """Return twice the mass of positives of its group that win against each score."""
    size = len(score)
    if positive is score:
        order = np.lexsort((-score, group))
        place, values = order, score[order]
    else:
        values, groups = np.concatenate([score, positive]), np.concatenate([group, group])
        order = np.lexsort((-values, groups))
        mass = np.concatenate([np.zeros(size, np.int64), mass])
        place, values = order % size, values[order]
    among = group[place]
    fresh = np.diff(among, prepend=-1) != 0
    upto = np.append(0, np.cumsum(mass[order]))
    steps = np.flatnonzero(fresh | np.append(True, values[1:] != values[:-1]))
    ends = np.append(steps[1:], len(order))
    before = np.repeat(upto[steps] + upto[ends], ends - steps)
    first = np.flatnonzero(fresh)
    before -= np.repeat(2 * upto[first], np.diff(np.append(first, len(order))))
    wins = np.empty(len(order), np.int64)
    wins[order] = before
    wins = wins[:size]
    return wins if scored is None else np.where(scored, wins, 0)
