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


def covariances(areas: Areas) -> NDArray[np.float64]:
    """Return the covariance matrix of the models' areas in each group."""
    models = len(areas.area)
    matrix = np.empty((len(areas.n_pos), models, models))
    for model, variance in enumerate(spread(areas.variance, range(models))):
        matrix[:, model, model] = variance
    pairs = list(combinations(range(models), 2))
    for (a, b), apart in zip(pairs, spread(lambda pair: areas.variance(*pair), pairs), strict=True):
        covariance = (matrix[:, a, a] + matrix[:, b, b] - apart) / 2
        matrix[:, a, b] = matrix[:, b, a] = covariance
    return matrix


def correlations(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlations of covariance matrices; NaN where a variance is 0."""
    sd = np.sqrt(np.diagonal(matrix, axis1=1, axis2=2))
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = np.clip(matrix / (sd[:, :, None] * sd[:, None, :]), -1, 1)
    found[np.isinf(found)] = np.nan
    return found


def chi_squared(
    contrast: NDArray[np.float64], area: NDArray[np.float64], matrix: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the statistic of each group that all rows of a contrast are 0, and its degrees.

    NaN where a row is not 0 though it shows no variance.
    """
    contrast = contrast / np.abs(contrast).max(axis=1, keepdims=True)
    values = area @ contrast.T
    spread_of = _variances(contrast, matrix)
    statistic, df = np.full(len(values), np.nan), np.full(len(values), np.nan)
    for i in np.flatnonzero(np.isfinite(spread_of).all(axis=(1, 2))):
        size, axes = np.linalg.eigh(spread_of[i])
        along = axes.T @ values[i]
        some = size > ROUNDING * max(float(size.max()), 0.0)
        if (np.abs(along[~some]) > ROUNDING * np.abs(contrast).sum()).any():
            continue
        statistic[i], df[i] = (along[some] ** 2 / size[some]).sum(), some.sum()
    return statistic, df


def _variances(contrast: NDArray[np.float64], matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the covariance matrix of the rows of a contrast, from the variances of differences.

    Where a row adds up to 0, as most do, the areas' own variances play no part, and do not hide
    the much smaller ones of differences.
    """
    own = np.diagonal(matrix, axis1=1, axis2=2)
    apart = own[:, :, None] + own[:, None, :] - 2 * matrix
    level = contrast.sum(axis=1)
    level[np.abs(level) < ROUNDING] = 0
    lifted = (own @ contrast.T)[:, :, None] * level[None, None, :]
    found: NDArray[np.float64] = (
        lifted + lifted.transpose(0, 2, 1) - contrast @ apart @ contrast.T
    ) / 2
    return found
