"""Curves → which of them lack rows, so that nothing is known between two of their thresholds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocframe.averages.places import ROUNDING
from rocframe.counting.threads import spread
from rocframe.counting.walk import BLOCK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.table import Curves


def short(curves: Curves) -> NDArray[np.bool_]:
    """Say which curves end before their lowest score."""
    last = curves.walk.at("tn", curves.lasts)
    found: NDArray[np.bool_] = last > ROUNDING * curves.total("fp", "tn")
    return found


def coarse(curves: Curves) -> NDArray[np.bool_]:
    """Say which curves show that they have not just their scores as thresholds.

    These end before their lowest score, or call no more rows at a threshold than at the one above.
    """
    walk, found = curves.walk, short(curves)
    if walk.is_float("tp") or walk.is_float("fp"):  # a small weight may vanish in a sum
        return found

    def idle(start: int, end: int) -> NDArray[np.int64]:
        """Return the rows that call no more than those above them, if these are of their curve."""
        above = max(start - 1, 0)
        called = walk.between("tp", above, end) + walk.between("fp", above, end)
        return np.flatnonzero(called[1:] == called[:-1]) + above + 1

    rows = spread(lambda block: idle(*block), walk.blocks(BLOCK))
    row = np.concatenate([np.zeros(0, np.int64), *rows])
    curve = np.searchsorted(curves.starts, row, "right") - 1
    found[curve[row > curves.starts[curve]]] = True
    return found
