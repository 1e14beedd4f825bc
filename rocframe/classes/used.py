"""Cases of all classes → which rows count, for all classes at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocframe.cases import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.cases import Cases


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Used:
    """What becomes of each row: it is used, left out, or absent; `unscored` ones lack a score."""

    used: NDArray[np.bool_]
    left_out: NDArray[np.bool_]
    unscored: NDArray[np.bool_]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, every: Sequence[Cases]) -> Used:
        """Look at the cases of each class: a row is left out for all classes."""
        size = len(every[0].negative)
        left_out, absent, unscored = (np.zeros(size, bool) for _ in range(3))
        for cases in every:
            if cases.state is not None:
                left_out |= cases.state == State.LEFT_OUT
                absent |= cases.state == State.ABSENT
                unscored |= cases.state == State.UNSCORED
        used = ~left_out & ~absent
        count = every[0].count
        return cls(
            used=used,
            left_out=left_out & ~absent,
            unscored=unscored & used,
            count=np.ones(size, np.int64) if count is None else count,
        )

    def n_missing(self, group: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
        """Count the rows of each group that lack a label or a score."""
        found = np.zeros(groups, np.int64)
        lost = self.left_out | self.unscored
        np.add.at(found, group[lost], self.count[lost])
        return found


def numbered_groups(starts: NDArray[np.int64], order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of the group of each row."""
    group = np.empty(len(order), np.int64)
    group[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return group
