"""Rows of one group → areas over all of its classes, of the data or of many resamples at once.

Of two rows of different classes i and j, that of i wins if it has the higher score of i; ties count
half. Wins are counted in doubled whole numbers, exactly up to 2**63, unless rows are weighted.

References
----------
D. J. Hand, R. J. Till (2001), "A simple generalisation of the area under the ROC curve for multiple
class classification problems", Machine Learning 45, 171-186. doi:10.1023/A:1010920819831
F. Provost, P. Domingos (2003), "Tree induction for probability-based ranking", Machine Learning 52,
199-215. doi:10.1023/A:1024099825458
"""

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
