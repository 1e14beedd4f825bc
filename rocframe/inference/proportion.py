"""Shares of independent rows → their limits.

References
----------
E. B. Wilson (1927), "Probable inference, the law of succession, and statistical inference",
Journal of the American Statistical Association 22(158), 209-212.
doi:10.1080/01621459.1927.10502953
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocframe.inference.intervals import quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray


def wilson(
    share: NDArray[np.float64], n: NDArray[np.int64], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the shares that lie just `quantile(level)` of their own standard errors away."""
    z2 = quantile(level) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        shrunk = z2 / n
        middle = share + shrunk / 2
        half = np.sqrt(shrunk * (share * (1 - share) + shrunk / 4))
        lower, upper = (middle - half) / (1 + shrunk), (middle + half) / (1 + shrunk)
    # Rounding must not part a limit from the end, nor from the share between them.
    lower = np.where(share == 0, 0.0, np.minimum(lower, share))
    upper = np.where(share == 1, 1.0, np.maximum(upper, share))
    return lower, upper
