"""One sorted group → what resamples of it are drawn from.

Rows of one class and score are alike, unless they have different weights or clusters. Rows that
are alike are one kind here, with how many rows it has. What is drawn then depends neither on the
order of rows nor on whether equal rows were compressed into one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.counting.codec import Tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.counting.walk import Walk


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Side:
    """The kinds of rows of one class, by falling score; unscored ones stand last.

    `rows` says how many rows a kind has, `weight` what each weighs unless that is 1, `cluster`
    which cluster they are in. `upto` counts, for each step, the kinds at or above it.
    """

    rows: NDArray[np.int64]
    upto: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    cluster: NDArray[np.int64] | None

    @property
    def total(self) -> int:
        """Rows of the class."""
        return int(self.rows.sum())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Population:
    """The rows of one group: its distinct scores (`codes`), and both classes.

    `corners` are the steps at which the ROC curve can turn: a step is none if it and the next are
    of the same one class. `clusters` counts the clusters, where rows are in some.
    """

    group: int
    codes: Any
    pos: Side
    neg: Side
    corners: NDArray[np.int64]
    clusters: int | None

    @classmethod
    def of(cls, walk: Walk, group: int, cluster: NDArray[Any] | None = None) -> Population:
        """Read one group of a walk; `cluster` numbers the clusters for the rows of the frame."""
        rows = walk.rows
        a, end, b = (int(i) for i in (rows.starts[group], rows.ends[group], rows.starts[group + 1]))
        unscored = rows.codes[end:b] >> 1 == rows.codec.tail(Tail.UNSCORED)
        places = np.append(np.arange(a, end), end + np.flatnonzero(unscored))
        negative = (rows.codes[places] & 1).astype(bool)
        scores = rows.codes[a:end] >> 1
        fresh = np.ones(len(scores), bool)
        np.not_equal(scores[1:], scores[:-1], out=fresh[1:])
        codes = scores[fresh]
        step = np.full(len(places), len(codes))
        step[: end - a] = np.cumsum(fresh) - 1

        clusters = members = None
        if cluster is not None:
            assert rows.row is not None
            names, members = np.unique(cluster[rows.row[places]], return_inverse=True)
            clusters = len(names)
        masses = rows.masses
        count = np.ones(len(places), np.int64) if masses is None else masses.count[places]
        weight = None if masses is None or masses.weight is None else masses.weight[places]

        def side(own: NDArray[np.bool_]) -> Side:
            return _side(
                step[own],
                count[own],
                None if weight is None else weight[own],
                None if members is None else members[own],
                steps=len(codes),
            )

        pos, neg = side(~negative), side(negative)
        return cls(
            group=group,
            codes=codes,
            pos=pos,
            neg=neg,
            corners=_corners(pos, neg),
            clusters=clusters,
        )


def _side(
    step: NDArray[np.int64],
    count: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    cluster: NDArray[np.int64] | None,
    *,
    steps: int,
) -> Side:
    """Put rows of a class that are alike together."""
    told: list[NDArray[Any]] = [values for values in (weight, cluster) if values is not None]
    order = np.lexsort([*told, step]) if told else np.arange(len(step))
    fresh = np.zeros(len(order), bool)
    fresh[:1] = True
    for values in (step, *told):
        fresh[1:] |= np.diff(values[order]) != 0
    starts = np.flatnonzero(fresh)
    first = order[starts]
    return Side(
        rows=np.add.reduceat(count[order], starts) if len(starts) else count,
        upto=np.searchsorted(step[first], np.arange(steps), "right"),
        weight=None if weight is None else weight[first],
        cluster=None if cluster is None else cluster[first],
    )


def _corners(pos: Side, neg: Side) -> NDArray[np.int64]:
    some_pos, some_neg = (np.diff(side.upto, prepend=0) > 0 for side in (pos, neg))
    mixed = some_pos & some_neg
    turns = mixed.copy()
    turns[:-1] |= mixed[1:] | (some_pos[1:] != some_pos[:-1])
    turns[-1:] = True
    return np.flatnonzero(turns)
