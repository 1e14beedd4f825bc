"""What thinning asks of curves: their counts, and which rows have to stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Walks:
    """The counts of whole curves, from the highest threshold down.

    Curve i has the rows `starts[i]` to `starts[i + 1]`. `wanted` rows are kept in any case.
    """

    tp: NDArray[Any]
    fp: NDArray[Any]
    starts: NDArray[np.int64]
    pos: NDArray[Any]
    neg: NDArray[Any]
    wanted: NDArray[np.bool_] | None = None

    def some(self, first: int, last: int) -> Walks:
        """Return some of the curves."""
        a, b = self.starts[first], self.starts[last]
        return Walks(
            tp=self.tp[a:b],
            fp=self.fp[a:b],
            starts=self.starts[first : last + 1] - a,
            pos=self.pos[first:last],
            neg=self.neg[first:last],
            wanted=None if self.wanted is None else self.wanted[a:b],
        )
