"""Steps of counts → the area under precision between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def hyperbola(
    tp: NDArray[np.float64],
    fp: NDArray[np.float64],
    tp0: NDArray[np.float64],
    fp0: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return each step's integral of precision over its positives, false ones coming evenly."""
    more = tp - tp0
    rises = more > 0
    # t true positives come with b + (a - 1)·t false ones: the integrand is t / (a·t + b).
    a = 1 + np.divide(fp - fp0, more, out=np.zeros_like(tp), where=rises)
    b = fp0 - (a - 1) * tp0
    before = tp0 + fp0
    growth = np.divide(tp + fp - before, before, out=np.zeros_like(tp), where=before > 0)
    area: NDArray[np.float64] = more / a - b / a**2 * np.log1p(growth)
    return np.where(rises, area, 0.0)
