"""How much each sorted row counts, and the running sums of that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.counting.sort import matrices, not_small
from rocframe.counting.threads import spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.counting.codec import Codes


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Masses:
    """Counts, weights and running sums of rows in sorted order.

    `mass` is count times weight; `tp` and `fp` are its running sums over the positives and the
    negatives of each group. Groups are summed apart, so that no group rounds another's sums.
    """

    count: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    mass: NDArray[Any]
    tp: NDArray[Any]
    fp: NDArray[Any]

    @classmethod
    def of(
        cls,
        codes: Codes,
        count: NDArray[np.int64] | None,
        weight: NDArray[np.float64] | None,
        order: NDArray[np.int64],
        starts: NDArray[np.int64],
    ) -> Masses:
        """Bring counts and weights into the order of the sorted codes, and add them up."""
        counts = np.ones(len(order), np.int64) if count is None else count[order]
        weights = None if weight is None else weight[order]
        mass = counts if weights is None else counts * weights
        negative = (codes & 1).astype(bool)
        tp, fp = spread(
            lambda side: _running(np.where(negative == side, mass, 0), starts), [False, True]
        )
        return cls(count=counts, weight=weights, mass=mass, tp=tp, fp=fp)


def _running(values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
    """Replace values by their running sums within each group."""
    for places in matrices(starts):
        values[places] = np.cumsum(values[places], axis=1)
    for i in not_small(starts):
        whole = slice(starts[i], starts[i + 1])
        np.cumsum(values[whole], out=values[whole])
    return values
