"""Batches → DeLong's covariance matrix of the areas of all models of a group, and contrasts.

References
----------
E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
correlated receiver operating characteristic curves: a nonparametric approach", Biometrics
44(3), 837-845. doi:10.2307/2531595
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rocframe.counting.threads import spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.comparisons.areas import Areas

ROUNDING = 1e-10  # of a covariance matrix, relative to its largest eigenvalue


def spreads(areas: Areas) -> NDArray[np.float64]:
    """Return the variances of the differences of every two models' areas in each group.

    On the diagonal stand the variances of the areas themselves.
    """
    models = len(areas.area)
    found = np.empty((len(areas.n_pos), models, models))
    for model, variance in enumerate(spread(areas.variance, range(models))):
        found[:, model, model] = variance
    pairs = list(combinations(range(models), 2))
    for (a, b), apart in zip(pairs, spread(lambda pair: areas.variance(*pair), pairs), strict=True):
        found[:, a, b] = found[:, b, a] = apart
    return found


def covariances(found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance matrices that these variances are of."""
    own = np.diagonal(found, axis1=1, axis2=2)
    matrix: NDArray[np.float64] = (own[:, :, None] + own[:, None, :] - found) / 2
    places = np.arange(found.shape[1])
    matrix[:, places, places] = own
    return matrix


def correlations(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations of covariance matrices; NaN where a variance is 0."""
    sd = np.sqrt(np.diagonal(matrix, axis1=1, axis2=2))
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = np.clip(matrix / (sd[:, :, None] * sd[:, None, :]), -1, 1)
    found[np.isinf(found)] = np.nan
    return found


def chi_squared(
    contrast: NDArray[np.float64], area: NDArray[np.float64], found: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the statistic of each group that all rows of a contrast are 0, and its degrees.

    NaN where a row is not 0 though it shows no variance.
    """
    contrast = contrast / np.abs(contrast).max(axis=1, keepdims=True)
    values = area @ contrast.T
    spread_of = _variances(contrast, found)
    statistic, df = np.full(len(values), np.nan), np.full(len(values), np.nan)
    for i in np.flatnonzero(np.isfinite(spread_of).all(axis=(1, 2))):
        size, axes = np.linalg.eigh(spread_of[i])
        along = axes.T @ values[i]
        some = size > ROUNDING * max(float(size.max()), 0.0)
        if (np.abs(along[~some]) > ROUNDING * np.abs(contrast).sum()).any():
            continue
        statistic[i], df[i] = (along[some] ** 2 / size[some]).sum(), some.sum()
    return statistic, df


def _variances(contrast: NDArray[np.float64], found: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance matrix of the rows of a contrast, from the variances of differences.

    Rows add up to 0, so the areas' own variances play no part, and do not hide the much smaller
    ones of differences.
    """
    places = np.arange(found.shape[1])
    apart = found.copy()
    apart[:, places, places] = 0
    result: NDArray[np.float64] = contrast @ apart @ contrast.T / -2
    return result
