"""Quantiles of the number of positives if each row is positive with its own probability.

This number has a Poisson binomial distribution.

References
----------
Y. Hong (2013), "On computing the distribution function for the Poisson binomial distribution",
Computational Statistics & Data Analysis 59, 41-51. doi:10.1016/j.csda.2012.10.006
"""

from __future__ import annotations

from math import ceil, sqrt
from typing import TYPE_CHECKING

import numpy as np

from rocframe.inference.confidence import STANDARD_NORMAL
from rocframe.kernel.threads import run_parallel

if TYPE_CHECKING:
    from numpy.typing import NDArray


# From this variance on, quantiles are computed from four moments of the distribution. They differ
# from the exact quantiles by less than 0.01 before they are rounded.
LARGE_VARIANCE = 400.0
SMALL_PROBABILITY = 0.05  # logarithms of characteristic functions are series up to this probability
SERIES_TERMS = 16
CDF_ROUNDING = 1e-11  # larger than the rounding errors of a distribution function


def positive_count_limits(
    probability: NDArray[np.float64],
    rows: NDArray[np.int64],
    starts: NDArray[np.int64],
    level: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return limits of the number of positives among the rows of each part of the data.

    Part i has `rows[j]` rows with the probability `probability[j]`, for each j from `starts[i]` to
    `starts[i + 1] - 1`, and it has at least one row. The number of positives is below the lower
    limit, or above the upper limit, each with a probability of at most (1 - level) / 2. The limits
    are the narrowest with this property.
    """
    tail = (1 - level) / 2
    complement = 1 - probability
    spread = rows * probability * complement
    mean, variance, third, fourth = (
        np.add.reduceat(values, starts[:-1]) if len(starts) > 1 else values[:0]
        for values in (
            rows * probability,
            spread,
            spread * (complement - probability),
            spread * (1 - 6 * probability * complement),
        )
    )
    lower, upper = _moment_limits(mean, variance, third, fourth, tail)
    small = np.flatnonzero(variance < LARGE_VARIANCE)

    def limits(part: int) -> tuple[int, int]:
        own = slice(starts[part], starts[part + 1])
        return _exact_limits(probability[own], rows[own], mean[part], variance[part], tail)

    if len(small):
        lower[small], upper[small] = np.array(
            run_parallel(limits, small.tolist(), arrays_only=True), float
        ).T
    return lower, upper


def _moment_limits(
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    third: NDArray[np.float64],
    fourth: NDArray[np.float64],
    tail: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the limits by the expansion of Cornish and Fisher, from the first four cumulants."""
    # The sum of the number of positives and a uniform number between -1/2 and 1/2 has a density.
    # Its distribution function at k + 1/2 is that of the number of positives at k.
    variance, fourth = variance + 1 / 12, fourth - 1 / 120
    sd = np.sqrt(variance)
    skewness, kurtosis = third / sd**3, fourth / variance**2

    def quantile(p: float) -> NDArray[np.float64]:
        z = STANDARD_NORMAL.inv_cdf(p)
        x = z + skewness * (z**2 - 1) / 6
        x += kurtosis * (z**3 - 3 * z) / 24 - skewness**2 * (2 * z**3 - 5 * z) / 36
        result: NDArray[np.float64] = mean + sd * x - 0.5
        return result

    return np.floor(quantile(tail)) + 1, np.ceil(quantile(1 - tail))


def _exact_limits(
    probability: NDArray[np.float64],
    rows: NDArray[np.int64],
    mean: float,
    variance: float,
    tail: float,
) -> tuple[int, int]:
    """Return the limits of one part, by the inverse Fourier transform of the distribution.

    Only the numbers of positives near the mean are computed. By Bernstein's inequality, the number
    is farther from the mean with a probability below 1e-13.
    """
    distance = ceil(11 + sqrt(121 + 66 * variance))
    first = max(0, int(mean) - distance)
    size = int(mean) + distance + 1 - first
    frequency = np.arange(size // 2 + 1)
    turn = np.exp(2j * np.pi * frequency / size)
    log_transform = -2j * np.pi * frequency * first / size
    is_low, is_high = probability <= SMALL_PROBABILITY, probability >= 1 - SMALL_PROBABILITY
    # The factor of a row is 1 + p·(turn - 1), which is turn·(1 + (1 - p)·(1/turn - 1)).
    log_transform += _log_series(probability[is_low], rows[is_low], turn - 1)
    log_transform += _log_series(1 - probability[is_high], rows[is_high], np.conj(turn) - 1)
    middle = ~(is_low | is_high)
    factors = 1 + probability[middle, None] * (turn - 1)
    with np.errstate(divide="ignore"):
        log_transform += (rows[middle, None] * np.log(factors)).sum(axis=0)
    shift = int(rows[is_high].sum()) % size
    transform = np.exp(log_transform) * np.exp(2j * np.pi * (frequency * shift % size) / size)
    # `irfft` has the opposite sign of the exponent.
    cdf = np.cumsum(np.fft.irfft(np.conj(transform), size))
    lower = int(np.searchsorted(cdf, tail + CDF_ROUNDING, "right"))
    upper = int(np.searchsorted(cdf, 1 - tail - CDF_ROUNDING, "left"))
    return first + lower, first + upper


def _log_series(
    probability: NDArray[np.float64], rows: NDArray[np.int64], z: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """Return the sum over rows of log(1 + p·z), for small p, from the sums of powers of p."""
    total = np.zeros(len(z), complex)
    power, powers = rows * probability, z.copy()
    for k in range(1, SERIES_TERMS + 1):
        total -= power.sum() * powers / k * (-1) ** k
        power, powers = power * probability, powers * z
    return total
