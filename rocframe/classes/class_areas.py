"""Averages of one-vs-one and one-vs-rest AUCs (Hand and Till 2001; Provost and Domingos 2003)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rocframe.inference.bootstrap import acceleration
from rocframe.kernel.groups import run_starts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.classes.inputs import MulticlassRows


Average = Literal["hand_till", "macro", "weighted", "micro"]


def wins_fit_int64(total: int, n_classes: int) -> bool:
    """Return whether Int64 can hold twice the number of won pairs of rows with this total count.

    For the average `"micro"`, a pair is one of `total` positives and one of the scores of all rows.
    """
    return 2 * total * (total * n_classes) <= np.iinfo(np.int64).max


class Placements(NamedTuple):
    """For each row, the numbers of positives with a higher score, and with at least its score."""

    higher: NDArray[np.int32]
    at_least: NDArray[np.int32]

    @classmethod
    def from_scores(
        cls,
        negated: NDArray[Any],
        score: NDArray[Any],
        scored: NDArray[np.bool_] | None,
    ) -> Placements:
        """Return the placements of rows with these scores; both numbers are 0 for unscored rows.

        `negated` are the scores of the positives with the opposite sign, in rising order.
        """
        higher, at_least = (
            np.searchsorted(negated, -score, side).astype(np.int32) for side in ("left", "right")
        )
        if scored is not None:
            higher[~scored] = at_least[~scored] = 0
        return cls(higher, at_least)

    def doubled_wins(self, cumulated: NDArray[Any]) -> NDArray[Any]:
        """Return twice the weight of the positives above each row, for each replicate.

        A positive above a row has a higher score than this row. A tie counts half. `cumulated` is
        the cumulative weight of the positives in the order of falling scores.
        """
        wins: NDArray[Any] = cumulated[:, self.higher] + cumulated[:, self.at_least]
        return wins


class ClassPlacements(NamedTuple):
    """Placements of the rows of a group by their scores of one class.

    `code` is the number of the class. `position` is the position of the class among the classes
    that have rows in the group, or None for a class without rows. `order` are the rows of the class
    in the order of falling scores, and `of_class` are the placements of all rows among these rows.

    For the average `"micro"`, the score of each row for its true class is a positive.
    `true_score_order` are the rows in the order of falling positives, and `of_all` are the
    placements of the scores of the class among all positives.
    """

    code: int
    position: int | None
    order: NDArray[np.int64]
    of_class: Placements | None
    true_score_order: NDArray[np.int64]
    of_all: Placements | None


def true_class_scores(rows: MulticlassRows) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the score of each row for its true class, and True for rows that have this score."""
    true_score, present = np.zeros(len(rows.code)), np.ones(len(rows.code), bool)
    for i, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
        positive = rows.code == i
        true_score[positive] = score[positive]
        if scored is not None:
            present[positive] = scored[positive]
    return true_score, present


def class_placements(
    rows: MulticlassRows, averages: Sequence[Average]
) -> Iterator[ClassPlacements]:
    """Yield the placements for each class; `rows` are the rows of one group, sorted by class."""
    starts = run_starts(rows.code)
    ends = np.append(starts[1:], len(rows.code))
    positions = {int(code): i for i, code in enumerate(rows.code[starts])}
    true_score_order, negated = np.zeros(0, np.int64), np.zeros(0)
    if "micro" in averages:
        true_score, present = true_class_scores(rows)
        true_score_order = np.flatnonzero(present)
        true_score_order = true_score_order[
            np.argsort(-true_score[true_score_order], kind="stable")
        ]
        negated = -true_score[true_score_order]
    for code, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
        of_class, order, position = None, np.zeros(0, np.int64), positions.get(code)
        if position is not None and set(averages) != {"micro"}:
            order = np.arange(starts[position], ends[position])
            order = order if scored is None else order[scored[order]]
            order = order[np.argsort(-score[order], kind="stable")]
            of_class = Placements.from_scores(-score[order], score, scored)
        of_all = Placements.from_scores(negated, score, scored) if "micro" in averages else None
        if of_class is not None or of_all is not None:
            yield ClassPlacements(code, position, order, of_class, true_score_order, of_all)


def replicate_averages(
    rows: MulticlassRows,
    row_weight: NDArray[Any],
    averages: Sequence[Average],
    classes: Iterable[ClassPlacements],
) -> dict[Average, NDArray[np.float64]]:
    """Return the average AUCs of the replicates of one group; NaN for fewer than 2 classes.

    `rows` are sorted by class. `row_weight` has the weight of each row in each replicate.
    """
    starts, n_classes = run_starts(rows.code), len(rows.scores)
    if not wins_fit_int64(int(row_weight.sum(axis=1).max()), n_classes):
        row_weight = row_weight.astype(np.float64, copy=False)
    class_weight = np.add.reduceat(row_weight, starts, axis=1)
    total = class_weight.sum(axis=1)
    pairs, macro, weighted = (np.zeros(len(row_weight)) for _ in range(3))
    all_wins = np.zeros(len(row_weight), row_weight.dtype)
    all_cumulated = None
    with np.errstate(divide="ignore", invalid="ignore"):
        for placements in classes:
            if placements.of_class is not None and placements.position is not None:
                wins = row_weight * placements.of_class.doubled_wins(
                    _cumulated(row_weight, placements.order)
                )
                won = np.add.reduceat(wins, starts, axis=1)
                won[:, placements.position] = 0
                class_total = class_weight[:, placements.position]
                pair_areas = won / (2 * class_total[:, None] * class_weight)
                # `grouped_averages` adds up in the same order, so that both functions have the same
                # rounding errors.
                pairs += np.cumsum(np.nan_to_num(pair_areas), axis=1)[:, -1]
                area = np.nan_to_num(won.sum(axis=1) / (2 * class_total * (total - class_total)))
                macro += area
                weighted += area * (class_total / total)
            if placements.of_all is not None:
                if all_cumulated is None:
                    all_cumulated = _cumulated(row_weight, placements.true_score_order)
                wins = row_weight * placements.of_all.doubled_wins(all_cumulated)
                wins[:, rows.code == placements.code] = 0
                all_wins = all_wins + wins.sum(axis=1)
    used = (class_weight > 0).sum(axis=1)
    sums: dict[Average, NDArray[Any]] = {
        "hand_till": pairs,
        "macro": macro,
        "weighted": weighted,
        "micro": all_wins,
    }
    return _divide_sums(averages, sums, used, total, n_classes)


def _cumulated(row_weight: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    """Return, for each replicate, 0 and the cumulative weights of the rows in `order`."""
    sums = np.zeros((len(row_weight), len(order) + 1), row_weight.dtype)
    np.cumsum(row_weight[:, order], axis=1, out=sums[:, 1:])
    return sums


def grouped_averages(
    rows: MulticlassRows, group: NDArray[np.int64], n_groups: int, averages: Sequence[Average]
) -> dict[Average, NDArray[np.float64]]:
    """Return the average AUCs of all groups; `rows` are unweighted, sorted by group and class."""
    row_weight, n_classes = rows.count, len(rows.scores)
    # A cell is one class of one group.
    starts = run_starts(group, rows.code)
    cell_group, cell_code = group[starts], rows.code[starts]
    class_weight = np.add.reduceat(row_weight, starts) if len(starts) else row_weight
    total = np.zeros(n_groups, np.int64)
    np.add.at(total, cell_group, class_weight)
    pairs, macro, weighted = (np.zeros(n_groups) for _ in range(3))
    all_wins = np.zeros(n_groups, np.int64)
    true_score = true_class_scores(rows) if "micro" in averages else None
    with np.errstate(divide="ignore", invalid="ignore"):
        for i, (score, scored) in enumerate(zip(rows.scores, rows.scored, strict=True)):
            is_cell, positive = cell_code == i, rows.code == i
            if is_cell.any() and set(averages) != {"micro"}:
                class_total = np.zeros(n_groups, np.int64)
                class_total[cell_group[is_cell]] = class_weight[is_cell]
                positive_weight = row_weight * (positive if scored is None else positive & scored)
                wins = row_weight * _grouped_doubled_wins(
                    group, score, score, positive_weight, scored
                )
                won = np.add.reduceat(wins, starts)
                won[is_cell] = 0
                pair_areas = won / (2 * class_total[cell_group] * class_weight)
                pairs += np.bincount(cell_group, np.nan_to_num(pair_areas, posinf=0.0), n_groups)
                group_won = np.zeros(n_groups, np.int64)
                np.add.at(group_won, cell_group, won)
                area = np.nan_to_num(group_won / (2 * class_total * (total - class_total)))
                macro += area
                weighted += area * (class_total / total)
            if true_score is not None:
                scored_weight = row_weight * true_score[1]
                wins = row_weight * _grouped_doubled_wins(
                    group, true_score[0], score, scored_weight, scored
                )
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
    row_weight: NDArray[np.int64],
    scored: NDArray[np.bool_] | None,
) -> NDArray[np.int64]:
    """Return, for each row, twice the weight of the positives of its group with a higher score.

    A tie counts half. Each row is a positive with a score in `positive` and a weight in
    `row_weight`; the weight of negatives is 0.
    """
    size = len(score)
    if positive is score:
        order = np.lexsort((-score, group))
        row, values = order, score[order]
    else:
        values, groups = np.concatenate([score, positive]), np.concatenate([group, group])
        order = np.lexsort((-values, groups))
        row_weight = np.concatenate([np.zeros(size, np.int64), row_weight])
        row, values = order % size, values[order]
    cumulated = np.append(0, np.cumsum(row_weight[order]))
    # A step is a set of tied rows of a group.
    steps = run_starts(group[row], values)
    ends = np.append(steps[1:], len(order))
    doubled = np.repeat(cumulated[steps] + cumulated[ends], ends - steps)
    first = run_starts(group[row])
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
    """Return the average AUCs, which are the sums over classes divided by their total weight.

    `used` is the number of classes with rows. Results are NaN if it is below 2.
    """
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
    """Return the derivatives of each average AUC with respect to the weights of rows.

    `rows` are sorted by class.
    """
    row_weight = rows.row_weight.astype(np.float64)
    class_weight = np.bincount(rows.code, row_weight, len(rows.scores))
    true_class_weight, total = class_weight[rows.code], row_weight.sum()
    pairs, macro, weighted, won = (np.zeros(len(row_weight)) for _ in range(4))
    true_score, has_true_score = true_class_scores(rows)
    for placements in class_placements(rows, averages):
        score, scored = rows.scores[placements.code], rows.scored[placements.code]
        positive = rows.code == placements.code
        negative = ~positive if scored is None else ~positive & scored
        if placements.of_class is not None:
            size, rest = class_weight[placements.code], total - class_weight[placements.code]
            ranked = positive if scored is None else positive & scored
            cumulated = _cumulated(row_weight[None, :], placements.order)
            lost = np.where(positive, 0, placements.of_class.doubled_wins(cumulated)[0] / 2)
            gained, shares = np.zeros(len(row_weight)), np.zeros(len(row_weight))
            gained[ranked] = _weight_below(score[negative], row_weight[negative], score[ranked])
            shares[ranked] = _weight_below(
                score[negative], (row_weight / true_class_weight)[negative], score[ranked]
            )
            pair_areas = np.bincount(rows.code, row_weight * lost, len(class_weight)) / size
            pair_areas = pair_areas / np.where(class_weight > 0, class_weight, 1)
            pairs += np.where(
                positive,
                (shares - pair_areas.sum()) / size,
                (lost / size - pair_areas[rows.code]) / true_class_weight,
            )
            area = (row_weight * lost).sum() / (size * rest)
            change = np.where(positive, gained, lost)
            macro += np.where(positive, (gained / rest - area) / size, (lost / size - area) / rest)
            weighted += change / (total * rest) - area * size / total * np.where(
                positive, 1 / total, 1 / total + 1 / rest
            )
        if placements.of_all is not None:
            wins = (
                placements.of_all.doubled_wins(
                    _cumulated(row_weight[None, :], placements.true_score_order)
                )[0]
                / 2
            )
            won += np.where(positive, 0, wins)
            won[has_true_score] += _weight_below(
                score[negative], row_weight[negative], true_score[has_true_score]
            )
    used = np.count_nonzero(class_weight)
    n_pairs = total**2 * (len(rows.scores) - 1)
    results: dict[Average, NDArray[np.float64]] = {
        "hand_till": pairs / (used * (used - 1)),
        "macro": macro / used,
        "weighted": weighted,
        # Each pair adds to `won` of its positive row and of its negative row, so the weighted sum
        # of `won` is twice the number of won pairs.
        "micro": won / n_pairs - (row_weight * won).sum() / n_pairs / total,
    }
    return {name: results[name] for name in averages}


def row_acceleration(rows: MulticlassRows, influence: NDArray[np.float64]) -> float:
    """Return the acceleration constant of the BCa method for an average AUC.

    `influence` has the derivative of the average with respect to the weight of each row.
    """
    weighted = influence if rows.weight is None else influence * rows.weight
    return acceleration(weighted, rows.count, rows.cluster)


def _weight_below(
    scores: NDArray[Any], row_weight: NDArray[np.float64], values: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the total weight of the scores below each of `values`; a tie counts half."""
    order = np.argsort(scores)
    rising = scores[order]
    cumulated = np.append(0, np.cumsum(row_weight[order]))
    below, at_most = (
        cumulated[np.searchsorted(rising, values, side)] for side in ("left", "right")
    )
    result: NDArray[np.float64] = (below + at_most) / 2
    return result
