"""Rows of a many-class table: their classes, their scores of all classes, how much they count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.classes.kinds import Group

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


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
