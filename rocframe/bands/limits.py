"""What every method makes: the limits of a band at the points asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Limits:
    """The curve that a band surrounds, and the limits of its height; NaN where there are none.

    `fpr_lower` and `fpr_upper` are there where a band has limits to the left and right too.
    `notes` says of a group what keeps it from its limits, or None.
    """

    tpr: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    fpr_lower: NDArray[np.float64] | None = None
    fpr_upper: NDArray[np.float64] | None = None
    notes: NDArray[np.object_] | None = None


def within(limit: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cut limits to what rates can be."""
    cut: NDArray[np.float64] = np.clip(limit, 0.0, 1.0)
    return cut
