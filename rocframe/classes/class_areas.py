"""Areas over all classes of each group and resample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray


Average = Literal["hand_till", "macro", "weighted", "micro"]

LARGEST = 2**62  # what wins may add up to, doubled, before they are counted in floats


class Placed(NamedTuple):
    """How many positives lie above each row, and how many do not lie below it."""

    above: NDArray[np.int32]
    not_below: NDArray[np.int32]

    @classmethod
    def of(cls, rising: NDArray[Any], score: NDArray[Any], scored: Any) -> Placed:
        """Look each score up among those of the positives, which are negated; unscored win."""
        above, not_below = (
            np.searchsorted(rising, -score, side).astype(np.int32) for side in ("left", "right")
        )
        if scored is not None:
            above[~scored] = not_below[~scored] = 0
        return cls(above, not_below)

    def wins(self, cumulated: NDArray[Any]) -> NDArray[Any]:
        """Return twice the mass of positives that win against each row."""
        found: NDArray[Any] = cumulated[:, self.above] + cumulated[:, self.not_below]
        return found


class One(NamedTuple):
    """What is known of one class: where rows stand among its own, by their score of it.

    `of` is its number, `place` the same among classes that have rows, and `order` its rows by
    falling score. `pooled` is where rows stand among the positives of all classes.
    """

    of: int
    place: int | None
    order: NDArray[np.int64]
    placed: Placed | None
    pooled: Placed | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Group:
    """The rows of one group, class by class, and their scores of all classes.

    `code` is the class of each row; `starts` is where each class begins that has rows. `scored`
    says for each score which rows have it, or is None where all do.
    """

    code: NDArray[np.int32]
    starts: NDArray[np.int64]
    scores: Sequence[NDArray[Any]]
    scored: Sequence[NDArray[np.bool_] | None]

    @classmethod
    def of(
        cls,
        code: NDArray[np.int32],
        scores: Sequence[NDArray[Any]],
        scored: Sequence[NDArray[np.bool_] | None],
    ) -> Group:
        """Find the classes of rows that are sorted by class."""
        starts = np.flatnonzero(np.diff(code, prepend=-1))
        return cls(code=code, starts=starts, scores=scores, scored=scored)

    def classes(self, averages: Sequence[Average]) -> Iterator[One]:
        """Yield what each average needs to know of each class."""
        present = {int(code): i for i, code in enumerate(self.code[self.starts])}
        ends = np.append(self.starts[1:], len(self.code))
        pooled = self._pooled() if "micro" in averages else None
        for of, (score, scored) in enumerate(zip(self.scores, self.scored, strict=True)):
            placed, order, place = None, np.zeros(0, np.int64), present.get(of)
            if place is not None and set(averages) != {"micro"}:
                rows = np.arange(self.starts[place], ends[place])
                rows = rows if scored is None else rows[scored[rows]]
                order = rows[np.argsort(-score[rows], kind="stable")]
                placed = Placed.of(-score[order], score, scored)
            among = None if pooled is None else Placed.of(pooled[1], score, scored)
            if placed is not None or among is not None:
                yield One(of, place, order, placed, among)

    def pooled_order(self) -> NDArray[np.int64]:
        """Return the scored rows by falling score of their own class."""
        return self._pooled()[0]

    def _pooled(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        own = np.zeros(len(self.code), np.float64)
        some = np.ones(len(self.code), bool)
        ends = np.append(self.starts[1:], len(self.code))
        for a, b in zip(self.starts, ends, strict=True):
            of = self.code[a]
            own[a:b] = self.scores[of][a:b]
            scored = self.scored[of]
            if scored is not None:
                some[a:b] = scored[a:b]
        rows = np.flatnonzero(some)
        order = rows[np.argsort(-own[rows], kind="stable")]
        return order, -own[order]

    def areas(
        self, mass: NDArray[Any], averages: Sequence[Average], classes: Iterable[One]
    ) -> dict[Average, NDArray[np.float64]]:
        """Return averages of replicates, each a row of `mass`; NaN with fewer than 2 classes."""
        most = int(mass.sum(axis=1).max())
        if mass.dtype.kind != "f" and most * most * len(self.scores) > LARGEST:
            mass = mass.astype(np.float64)
        of_class = np.add.reduceat(mass, self.starts, axis=1)
        total = of_class.sum(axis=1)
        used = (of_class > 0).sum(axis=1)
        pairs, macro, weighted = (np.zeros(len(mass)) for _ in range(3))
        wins_of_all = np.zeros(len(mass), mass.dtype)
        pooled = _cumulated(mass, self.pooled_order()) if "micro" in averages else None
        with np.errstate(divide="ignore", invalid="ignore"):
            for one in classes:
                if one.placed is not None and one.place is not None:
                    wins = mass * one.placed.wins(_cumulated(mass, one.order))
                    won = np.add.reduceat(wins, self.starts, axis=1)
                    won[:, one.place] = 0
                    own = of_class[:, one.place]
                    of_pairs = won / (2 * own[:, None] * of_class)
                    # One after the other, as where all groups are added up at once.
                    pairs += np.cumsum(np.nan_to_num(of_pairs), axis=1)[:, -1]
                    area = np.nan_to_num(won.sum(axis=1) / (2 * own * (total - own)))
                    macro += area
                    weighted += area * (own / total)
                if one.pooled is not None and pooled is not None:
                    wins = mass * one.pooled.wins(pooled)
                    wins[:, self.code == one.of] = 0
                    wins_of_all = wins_of_all + wins.sum(axis=1)
            micro = wins_of_all / (2 * total * (total * (len(self.scores) - 1)))
            found: dict[Average, NDArray[np.float64]] = {
                "hand_till": pairs / (used * (used - 1)),
                "macro": macro / used,
                "weighted": weighted,
                "micro": micro,
            }
        return {name: np.where(used > 1, np.clip(found[name], 0, 1), np.nan) for name in averages}

    def present(self, mass: NDArray[Any]) -> NDArray[np.int64]:
        """Count the classes of each replicate."""
        found: NDArray[np.int64] = (np.add.reduceat(mass, self.starts, axis=1) > 0).sum(axis=1)
        return found


def _cumulated(mass: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    sums = np.zeros((len(mass), len(order) + 1), mass.dtype)
    np.cumsum(mass[:, order], axis=1, out=sums[:, 1:])
    return sums


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """Rows that count. `scored` says of each class which rows have a score, unless all have."""

    code: NDArray[np.int32]
    scores: Sequence[NDArray[Any]]
    scored: Sequence[NDArray[np.bool_] | None]
    count: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    cluster: NDArray[np.uint32] | None = None

    def take(self, rows: NDArray[np.int64] | slice) -> Rows:
        """Return some of the rows, in that order."""
        return Rows(
            code=self.code[rows],
            scores=[score[rows] for score in self.scores],
            scored=[None if some is None else some[rows] for some in self.scored],
            count=self.count[rows],
            weight=None if self.weight is None else self.weight[rows],
            cluster=None if self.cluster is None else self.cluster[rows],
        )

    def merged(self) -> Rows:
        """Make one row of those that are alike, in an order that depends on nothing else."""
        told: list[NDArray[Any]] = [self.code]
        for score, some in zip(self.scores, self.scored, strict=True):
            told.append(np.unique(score, return_inverse=True)[1].astype(np.int32))
            if some is not None:
                told[-1][~some] = -1
        more = [one for one in (self.weight, self.cluster) if one is not None]
        told += [np.unique(one, return_inverse=True)[1].astype(np.int32) for one in more]
        _, first, place = np.unique(
            np.stack(told, axis=1), axis=0, return_index=True, return_inverse=True
        )
        merged = self.take(first)
        np.copyto(merged.count, 0)
        np.add.at(merged.count, place.ravel(), self.count)
        return merged

    @property
    def own(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The score of each row for its own class, and whether it has one."""
        own, some = np.zeros(len(self.code)), np.ones(len(self.code), bool)
        for i, (score, scored) in enumerate(zip(self.scores, self.scored, strict=True)):
            where = self.code == i
            own[where] = score[where]
            if scored is not None:
                some[where] = scored[where]
        return own, some

    @property
    def group(self) -> Group:
        """The rows as a group, if they stand class by class."""
        return Group.of(self.code, self.scores, self.scored)

    @property
    def mass(self) -> NDArray[Any]:
        """How much each row counts."""
        return self.count if self.weight is None else self.count * self.weight
