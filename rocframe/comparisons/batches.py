"""Instances → batches: models and groups that can be compared in one go.

Where all models of a group scored the same instances, they are compared all at once; where they
did not, each pair of them is a batch of its own, with the instances that both scored.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rocframe.errors import PairingError
from rocframe.quoting import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rocframe.comparisons.instances import Instances
    from rocframe.comparisons.pairing import Pairing
    from rocframe.counting.arrange import Groups


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Batch:
    """Models (by place) that scored the same instances in some groups (by place).

    The instances of the i-th group are `rows[starts[i]:starts[i + 1]]`, positives first, from
    `middle[i]` the negatives. `unmatched` counts the rows of the models that are left out.
    """

    models: tuple[int, ...]
    groups: NDArray[np.int64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    middle: NDArray[np.int64]
    unmatched: NDArray[np.int64]

    @property
    def group(self) -> NDArray[np.int64]:
        """The group of each row, among those of the batch."""
        return np.repeat(np.arange(len(self.groups)), np.diff(self.starts))

    @property
    def segment(self) -> NDArray[np.int64]:
        """Where the positives, and then the negatives, of each group start."""
        return np.column_stack([self.starts[:-1], self.middle]).ravel()


def batches(
    instances: Instances, groups: Groups, pairing: Pairing, *, together: bool = False
) -> Iterator[Batch]:
    """Cut instances into batches; each pair of models in each group is in exactly one.

    `together` keeps all models of a group in one batch, with the instances that all scored.
    """
    # From here on, instances stand group by group, positives first.
    group = np.repeat(np.arange(len(groups.starts) - 1), np.diff(groups.starts))
    order = groups.order
    by_class = np.argsort(2 * group + instances.negative[order], kind="stable")
    group, order = group[by_class], order[by_class]

    there, usable = instances.there[:, order], instances.usable[:, order]
    present = _any(there, groups.starts)
    if not len(order):  # models that have a column each are there without rows, too
        present[:] = True
    if pairing.unmatched == "raise":
        _check_matched(instances, there, present[:, group], pairing)
    models = present.sum(axis=0)
    scored = usable.sum(axis=0)
    uneven = np.zeros(len(models), bool)
    if not together:
        np.logical_or.at(uneven, group, (scored > 0) & (scored < models[group]))

    def batch(some: tuple[int, ...], where: NDArray[np.bool_]) -> Batch:
        chosen = np.flatnonzero(where)
        own = where[group]
        kept = own & usable[list(some)].all(axis=0)
        renumbered = np.cumsum(where) - 1
        place = renumbered[group[kept]]
        rows = order[kept]
        starts = np.append(0, np.cumsum(np.bincount(place, minlength=len(chosen))))
        positive = np.bincount(place[~instances.negative[rows]], minlength=len(chosen))
        left = (usable[list(some)] & own & ~kept).sum(axis=0)
        return Batch(
            models=some,
            groups=chosen,
            rows=rows,
            starts=starts,
            middle=starts[:-1] + positive,
            unmatched=np.bincount(group, left, len(where)).astype(np.int64)[chosen],
        )

    for pattern in np.unique(present[:, ~uneven], axis=1).T:
        some = tuple(np.flatnonzero(pattern).tolist())
        if some:
            yield batch(some, ~uneven & (present == pattern[:, None]).all(axis=0))
    if uneven.any():
        for pair in combinations(range(len(present)), 2):
            where = uneven & present[list(pair)].all(axis=0)
            if where.any():
                yield batch(pair, where)


def _any(values: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say for each model and group whether any instance has it."""
    running = np.zeros((len(values), values.shape[1] + 1), np.int64)
    np.cumsum(values, axis=1, out=running[:, 1:])
    return running[:, starts[1:]] > running[:, starts[:-1]]


def _check_matched(
    instances: Instances,
    there: NDArray[np.bool_],
    wanted: NDArray[np.bool_],
    pairing: Pairing,
) -> None:
    """Check that every model of a group has all rows that the others have there."""
    lacking = (wanted & ~there).sum(axis=1)
    if not lacking.any():
        return
    worst = int(lacking.argmax())
    raise PairingError.of(
        "id",
        pairing.id,
        f"model {instances.models[worst]!r} lacks {counted(int(lacking[worst]))} that other models "
        "have in the same groups",
        'Say unmatched="drop" to leave such rows out and count them, or find out why they are '
        "missing.",
    )
