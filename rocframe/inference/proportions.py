"""Counts out of counts → the limits of a proportion.

References
----------
E. B. Wilson (1927), "Probable inference, the law of succession, and statistical inference",
Journal of the American Statistical Association 22(158), 209-212.
doi:10.1080/01621459.1927.10502953
C. J. Clopper, E. S. Pearson (1934), "The use of confidence or fiducial limits illustrated in the
case of the binomial", Biometrika 26(4), 404-413. doi:10.1093/biomet/26.4.404
R. G. Newcombe (1998), "Two-sided confidence intervals for the single proportion: comparison of
seven methods", Statistics in Medicine 17(8), 857-872.
doi:10.1002/(SICI)1097-0258(19980430)17:8<857::AID-SIM777>3.0.CO;2-E
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.inference.intervals import quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

Limits = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


def wilson(part: NDArray[np.float64], whole: NDArray[Any], level: float) -> Limits:
    """Return the proportions that lie just z of their own standard errors from part / whole."""
    z2 = quantile(level) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        share, shrunk = part / whole, z2 / whole
        middle = share + shrunk / 2
        half = np.sqrt(shrunk * (share * (1 - share) + shrunk / 4))
        lower, upper = (middle - half) / (1 + shrunk), (middle + half) / (1 + shrunk)
    # Rounding must not part a limit from the end, nor from the share between them.
    lower = np.where(part == 0, 0.0, np.minimum(lower, share))
    upper = np.where(part == whole, 1.0, np.maximum(upper, share))
    return _defined(lower, upper, whole)


def clopper_pearson(part: NDArray[np.float64], whole: NDArray[np.float64], level: float) -> Limits:
    """Return the proportions of which each has (1 - level) / 2 of its samples this far off."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        lower = betaincinv(part, whole - part + 1, tail)
        upper = betaincinv(part + 1, whole - part, 1 - tail)
    lower[part == 0], upper[part == whole] = 0, 1
    return _defined(lower, upper, whole)


def _defined(lower: NDArray[np.float64], upper: NDArray[np.float64], whole: NDArray[Any]) -> Limits:
    return np.where(whole > 0, lower, np.nan), np.where(whole > 0, upper, np.nan)
