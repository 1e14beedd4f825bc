"""Averages of one-vs-one and one-vs-rest AUCs (Hand and Till 2001; Provost and Domingos 2003)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rocframe.inference.bootstrap import acceleration

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.classes.inputs import MulticlassRows


Average = Literal["hand_till", "macro", "weighted", "micro"]
MAX_EXACT_WINS = 2**62  # above, doubled wins are counted in floats instead of Int64


class Placements(NamedTuple):
    """Numbers of positives with a higher score than each row, and with at least its score."""

    higher: NDArray[np.int32]
    at_least: NDArray[np.int32]

    @classmethod
    def compare(
        cls,
        negated: NDArray[Any],
        score: NDArray[Any],
        scored: NDArray[np.bool_] | None,
    ) -> Placements:
        """Compare scores with those of the positives, which are `negated` and sorted.

        A row without a score ranks above all positives.
        """
        higher, at_least = (
            np.searchsorted(negated, -score, side).astype(np.int32) for side in ("left", "right")
        )
        if scored is not None:
            higher[~scored] = at_least[~scored] = 0
        return cls(higher, at_least)

    def doubled_wins(self, cumulated: NDArray[Any]) -> NDArray[Any]:
        """Return twice the mass of positives that win against each row; a tie counts half."""
        wins: NDArray[Any] = cumulated[:, self.higher] + cumulated[:, self.at_least]
        return wins


class ClassPlacements(NamedTuple):
    """Placements of the rows of a group by their score of one class.

    `code` is the number of the class, and `place` its position among the classes of the group, or
    None if the class has no rows there. `order` has its rows by falling score. `of_class` compares
    rows with the positives of the class. `of_all` compares them with the rows of all classes, each
    by the score of its own class; `own_order` has these rows by falling score.
    """

    code: int
    place: int | None
    order: NDArray[np.int64]
    of_class: Placements | None
    own_order: NDArray[np.int64]
    of_all: Placements | None


def class_starts(code: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the first row of each class, for rows that are sorted by class."""
    return np.flatnonzero(np.diff(code, prepend=-1))


def own_scores(rows: MulticlassRows) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the score of each row for its own class, and which rows have it."""
    own_score, present = np.zeros(len(rows.code)), np.ones(len(rows.code), bool)
    for i, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
        positive = rows.code == i
        own_score[positive] = score[positive]
        if scored is not None:
            present[positive] = scored[positive]
    return own_score, present


def class_placements(
    rows: MulticlassRows, averages: Sequence[Average]
) -> Iterator[ClassPlacements]:
    """Yield the placements for each class; the rows of one group are sorted by class."""
    starts = class_starts(rows.code)
    ends = np.append(starts[1:], len(rows.code))
    places = {int(code): i for i, code in enumerate(rows.code[starts])}
    own_order, negated = np.zeros(0, np.int64), np.zeros(0)
    if "micro" in averages:
        own_score, present = own_scores(rows)
        own_order = np.flatnonzero(present)
        own_order = own_order[np.argsort(-own_score[own_order], kind="stable")]
        negated = -own_score[own_order]
    for code, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
        of_class, order, place = None, np.zeros(0, np.int64), places.get(code)
        if place is not None and set(averages) != {"micro"}:
            order = np.arange(starts[place], ends[place])
            order = order if scored is None else order[scored[order]]
            order = order[np.argsort(-score[order], kind="stable")]
            of_class = Placements.compare(-score[order], score, scored)
        of_all = Placements.compare(negated, score, scored) if "micro" in averages else None
        if of_class is not None or of_all is not None:
            yield ClassPlacements(code, place, order, of_class, own_order, of_all)


def replicate_averages(
    rows: MulticlassRows,
    mass: NDArray[Any],
    averages: Sequence[Average],
    classes: Iterable[ClassPlacements],
) -> dict[Average, NDArray[np.float64]]:
    """Return the averages of replicates of one group, each with a row of `mass`.

    Rows are sorted by class. A replicate with fewer than 2 classes has NaN.
    """
    starts, n_classes = class_starts(rows.code), len(rows.scores)
    largest = int(mass.sum(axis=1).max())
    if mass.dtype.kind != "f" and largest * largest * n_classes > MAX_EXACT_WINS:
        mass = mass.astype(np.float64)
    class_mass = np.add.reduceat(mass, starts, axis=1)
    total = class_mass.sum(axis=1)
    pairs, macro, weighted = (np.zeros(len(mass)) for _ in range(3))
    all_wins = np.zeros(len(mass), mass.dtype)
    all_cumulated = None
    with np.errstate(divide="ignore", invalid="ignore"):
        for placements in classes:
            if placements.of_class is not None and placements.place is not None:
                wins = mass * placements.of_class.doubled_wins(_cumulated(mass, placements.order))
                won = np.add.reduceat(wins, starts, axis=1)
                won[:, placements.place] = 0
                class_total = class_mass[:, placements.place]
                pair_areas = won / (2 * class_total[:, None] * class_mass)
                # Added in the order of `grouped_averages`, so that both round alike.
                pairs += np.cumsum(np.nan_to_num(pair_areas), axis=1)[:, -1]
                area = np.nan_to_num(won.sum(axis=1) / (2 * class_total * (total - class_total)))
                macro += area
                weighted += area * (class_total / total)
            if placements.of_all is not None:
                if all_cumulated is None:
                    all_cumulated = _cumulated(mass, placements.own_order)
                wins = mass * placements.of_all.doubled_wins(all_cumulated)
                wins[:, rows.code == placements.code] = 0
                all_wins = all_wins + wins.sum(axis=1)
    used = (class_mass > 0).sum(axis=1)
    sums: dict[Average, NDArray[Any]] = {
        "hand_till": pairs,
        "macro": macro,
        "weighted": weighted,
        "micro": all_wins,
    }
    return _divide_sums(averages, sums, used, total, n_classes)


def _cumulated(mass: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    """Return, for each replicate, the mass before each row in this order, and the total."""
    sums = np.zeros((len(mass), len(order) + 1), mass.dtype)
    np.cumsum(mass[:, order], axis=1, out=sums[:, 1:])
    return sums


def grouped_averages(
    rows: MulticlassRows, group: NDArray[np.int64], n_groups: int, averages: Sequence[Average]
) -> dict[Average, NDArray[np.float64]]:
    """Return the averages of all groups; rows are sorted by group and class, without weights."""
    mass, n_classes = rows.count, len(rows.scores)
    # A cell is one class of one group.
    starts = np.flatnonzero(np.diff(group * n_classes + rows.code, prepend=-1))
    cell_group, cell_code = group[starts], rows.code[starts]
    class_mass = np.add.reduceat(mass, starts) if len(starts) else mass
    total = np.zeros(n_groups, np.int64)
    np.add.at(total, cell_group, class_mass)
    pairs, macro, weighted = (np.zeros(n_groups) for _ in range(3))
    all_wins = np.zeros(n_groups, np.int64)
    own_score = own_scores(rows) if "micro" in averages else None
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
            is_cell, positive = cell_code == i, rows.code == i
            if is_cell.any() and set(averages) != {"micro"}:
                class_total = np.zeros(n_groups, np.int64)
                class_total[cell_group[is_cell]] = class_mass[is_cell]
                positive_mass = mass * (positive if scored is None else positive & scored)
                wins = mass * _grouped_doubled_wins(group, score, score, positive_mass, scored)
                won = np.add.reduceat(wins, starts)
                won[is_cell] = 0
                pair_areas = won / (2 * class_total[cell_group] * class_mass)
                pairs += np.bincount(cell_group, np.nan_to_num(pair_areas, posinf=0.0), n_groups)
                group_won = np.zeros(n_groups, np.int64)
                np.add.at(group_won, cell_group, won)
                area = np.nan_to_num(group_won / (2 * class_total * (total - class_total)))
                macro += area
                weighted += area * (class_total / total)
            if own_score is not None:
                own_mass = mass * own_score[1]
                wins = mass * _grouped_doubled_wins(group, own_score[0], score, own_mass, scored)
                wins[positive] = 0
                np.add.at(all_wins, group, wins)
    used = np.bincount(cell_group, minlength=n_groups)
    sums: dict[Average, NDArray[Any]] = {
        "hand_till": pairs,
        "macro": macro,
        "weighted": weighted,
        "micro": all_wins,
    }
    return _divide_sums(averages, sums, used, total, n_classes)


def _grouped_doubled_wins(
    group: NDArray[np.int64],
    positive: NDArray[Any],
    score: NDArray[Any],
    mass: NDArray[np.int64],
    scored: NDArray[np.bool_] | None,
) -> NDArray[np.int64]:
    """Return twice the mass of positives of the same group that win against each score."""
    size = len(score)
    if positive is score:
        order = np.lexsort((-score, group))
        place, values = order, score[order]
    else:
        values, groups = np.concatenate([score, positive]), np.concatenate([group, group])
        order = np.lexsort((-values, groups))
        mass = np.concatenate([np.zeros(size, np.int64), mass])
        place, values = order % size, values[order]
    is_first = np.diff(group[place], prepend=-1) != 0
    cumulated = np.append(0, np.cumsum(mass[order]))
    # Tied scores of a group make a step.
    steps = np.flatnonzero(is_first | np.append(True, values[1:] != values[:-1]))
    ends = np.append(steps[1:], len(order))
    doubled = np.repeat(cumulated[steps] + cumulated[ends], ends - steps)
    first = np.flatnonzero(is_first)
    doubled -= np.repeat(2 * cumulated[first], np.diff(np.append(first, len(order))))
    wins = np.empty(len(order), np.int64)
    wins[order] = doubled
    wins = wins[:size]
    return wins if scored is None else np.where(scored, wins, 0)


def _divide_sums(
    averages: Sequence[Average],
    sums: dict[Average, NDArray[Any]],
    used: NDArray[np.int64],
    total: NDArray[Any],
    n_classes: int,
) -> dict[Average, NDArray[np.float64]]:
    """Return averages from their sums over classes; NaN with fewer than 2 `used` classes."""
    divisors: dict[Average, Any] = {
        "hand_till": used * (used - 1),
        "macro": used,
        "weighted": 1,
        "micro": 2 * total * (total * (n_classes - 1)),
    }
    with np.errstate(divide="ignore", invalid="ignore"):
        results = {name: np.clip(sums[name] / divisors[name], 0, 1) for name in averages}
    return {name: np.where(used > 1, area, np.nan) for name, area in results.items()}


def influences(
    rows: MulticlassRows, averages: Sequence[Average]
) -> dict[Average, NDArray[np.float64]]:
    """Return the derivative of each average by the mass of each row; rows are sorted by class."""
    mass = rows.mass.astype(np.float64)
    class_mass = np.bincount(rows.code, mass, len(rows.scores))
    own_class_mass, total = class_mass[rows.code], mass.sum()
    pairs, macro, weighted, won = (np.zeros(len(mass)) for _ in range(4))
    own_score, has_own = own_scores(rows)
    for placements in class_placements(rows, averages):
        score, scored = rows.scores[placements.code], rows.scored[placements.code]
        positive = rows.code == placements.code
        negative = ~positive if scored is None else ~positive & scored
        if placements.of_class is not None:
            size, rest = class_mass[placements.code], total - class_mass[placements.code]
            ranked = positive if scored is None else positive & scored
            cumulated = _cumulated(mass[None, :], placements.order)
            lost = np.where(positive, 0, placements.of_class.doubled_wins(cumulated)[0] / 2)
            gained, shares = np.zeros(len(mass)), np.zeros(len(mass))
            gained[ranked] = _mass_below(score[negative], mass[negative], score[ranked])
            shares[ranked] = _mass_below(
                score[negative], (mass / own_class_mass)[negative], score[ranked]
            )
            pair_areas = np.bincount(rows.code, mass * lost, len(class_mass)) / size
            pair_areas = pair_areas / np.where(class_mass > 0, class_mass, 1)
            pairs += np.where(
                positive,
                (shares - pair_areas.sum()) / size,
                (lost / size - pair_areas[rows.code]) / own_class_mass,
            )
            area = (mass * lost).sum() / (size * rest)
            change = np.where(positive, gained, lost)
            macro += np.where(positive, (gained / rest - area) / size, (lost / size - area) / rest)
            weighted += change / (total * rest) - area * size / total * np.where(
                positive, 1 / total, 1 / total + 1 / rest
            )
        if placements.of_all is not None:
            wins = (
                placements.of_all.doubled_wins(_cumulated(mass[None, :], placements.own_order))[0]
                / 2
            )
            won += np.where(positive, 0, wins)
            won[has_own] += _mass_below(score[negative], mass[negative], own_score[has_own])
    used = np.count_nonzero(class_mass)
    n_pairs = total**2 * (len(rows.scores) - 1)
    results: dict[Average, NDArray[np.float64]] = {
        "hand_till": pairs / (used * (used - 1)),
        "macro": macro / used,
        "weighted": weighted,
        # Each pair is counted at its positive and at its negative.
        "micro": won / n_pairs - (mass * won).sum() / n_pairs / total,
    }
    return {name: results[name] for name in averages}


def row_acceleration(rows: MulticlassRows, influence: NDArray[np.float64]) -> float:
    """Return BCa's acceleration from the influence of a unit of mass of each row."""
    weighted = influence if rows.weight is None else influence * rows.weight
    return acceleration(weighted, rows.count, rows.cluster)


def _mass_below(
    scores: NDArray[Any], mass: NDArray[np.float64], at: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the mass of the scores below each value of `at`; a tie counts half."""
    order = np.argsort(scores)
    rising = scores[order]
    cumulated = np.append(0, np.cumsum(mass[order]))
    below, at_most = (cumulated[np.searchsorted(rising, at, side)] for side in ("left", "right"))
    result: NDArray[np.float64] = (below + at_most) / 2
    return result
