"""Areas and their variances → confidence limits and notes.

References
----------
E. R. DeLong et al. (1988), Biometrics 44(3), 837-845. doi:10.2307/2531595
R. G. Newcombe (2006), "Confidence intervals for an effect size measure based on the Mann-Whitney
statistic. Part 2: asymptotic methods and evaluation", Statistics in Medicine 25(4), 559-573.
doi:10.1002/sim.2324
M. S. Pepe (2003), The Statistical Evaluation of Medical Tests for Classification and Prediction,
Oxford University Press, section 5.2 (the logit scale).
"""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np

from rocframe.options import check_choice, share

if TYPE_CHECKING:
    from numpy.typing import NDArray

Method = Literal["logit_delong", "delong", "newcombe"]

HALVINGS = 60  # of [0, 1]: more than Float64 resolves


class Interval(NamedTuple):
    """Standard error, limits and method of each group; NaN and None where there are none."""

    se: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    method: NDArray[np.object_]


def check_interval(ci: str | None, level: float) -> None:
    """Check the two options that every interval has."""
    check_choice("ci", ci, (*get_args(Method), None))
    check_level(level)


def check_level(level: float) -> None:
    """Check the share of intervals that cover."""
    wrong = "the share of intervals that cover is a number between 0 and 1"
    share("level", level, wrong, "Give, say, level=0.95.")


def quantile(level: float) -> float:
    """Return how many standard errors the limits of this level lie from the estimate."""
    return NormalDist().inv_cdf((1 + level) / 2)


def area_interval(
    ci: Method,
    level: float,
    area: NDArray[np.float64],
    *,
    variance: NDArray[np.float64],
    n_pos: NDArray[np.int64],
    n_neg: NDArray[np.int64],
    largest: float = 1.0,
    whole: bool = True,
) -> Interval:
    """Return the limits of areas between 0 and `largest`.

    At a whole area of 0 or 1, where the sample shows no spread, the limits are Newcombe's.
    """
    z = quantile(level)
    some = variance > 0
    se = np.sqrt(np.where(some, variance, np.nan))
    if ci == "newcombe":
        se = np.sqrt(_newcombe_variance(area, n_pos, n_neg))
        se[~(se > 0)] = np.nan
        lower, upper = newcombe(area, n_pos, n_neg, z)
    elif ci == "delong":
        lower, upper = wald(area, se, z, largest)
    else:
        lower, upper = logit(area, se, z, largest)
    # Without any spread in the sample, at an area in between, all scores are the same.
    for part in (se, lower, upper):
        part[variance == 0] = np.nan
    method = np.full(len(area), ci, object)
    method[np.isnan(lower)] = None
    edge = whole & ~(variance > 0) & (np.abs(area - 0.5) > 0.5 - 1e-12)
    if edge.any():
        at = np.round(area[edge])
        lower[edge], upper[edge] = newcombe(at, n_pos[edge], n_neg[edge], z)
        method[edge] = "newcombe"
    return Interval(se, lower, upper, method)


def wald(
    area: NDArray[np.float64], se: NDArray[np.float64], z: float, largest: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return estimate plus and minus `z` standard errors, clipped to what areas can be."""
    return np.clip(area - z * se, 0, largest), np.clip(area + z * se, 0, largest)


def logit(
    area: NDArray[np.float64], se: NDArray[np.float64], z: float, largest: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the Wald limits of the area's log odds, brought back to areas."""
    share = area / largest
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle = np.log(share / (1 - share))
        half = z * (se / largest) / (share * (1 - share))
        lower = largest / (1 + np.exp(half - middle))
        upper = largest / (1 + np.exp(-half - middle))
    outside = ~((share > 0) & (share < 1))
    lower[outside], upper[outside] = np.nan, np.nan
    return lower, upper


def newcombe(
    area: NDArray[np.float64], n_pos: NDArray[np.int64], n_neg: NDArray[np.int64], z: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the areas that lie just `z` of their own standard errors from the estimate."""

    def off(trial: NDArray[np.float64]) -> NDArray[np.float64]:
        return (area - trial) ** 2 - z**2 * _newcombe_variance(trial, n_pos, n_neg)

    limits = []
    for end in (0.0, 1.0):
        near, far = area.copy(), np.full(len(area), end)
        for _ in range(HALVINGS):
            middle = (near + far) / 2
            beyond = off(middle) > 0
            far = np.where(beyond, middle, far)
            near = np.where(beyond, near, middle)
        limits.append(np.where(area == end, end, (near + far) / 2))
    undefined = np.isnan(area)
    limits[0][undefined], limits[1][undefined] = np.nan, np.nan
    return limits[0], limits[1]


def _newcombe_variance(
    area: NDArray[np.float64], n_pos: NDArray[np.int64], n_neg: NDArray[np.int64]
) -> NDArray[np.float64]:
    pairs = n_pos.astype(np.float64) * n_neg
    extra = (n_pos + n_neg) / 2 - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = 1 + extra * (1 - area) / (2 - area) + extra * area / (1 + area)
        variance: NDArray[np.float64] = area * (1 - area) * spread / pairs
    return variance


def notes(
    n_pos: NDArray[np.int64], n_neg: NDArray[np.int64], variance: NDArray[np.float64] | None
) -> NDArray[np.object_]:
    """Say of each group the first thing that keeps it from having all its numbers."""
    flat = np.zeros(len(n_pos), bool) if variance is None else variance == 0
    found = np.full(len(n_pos), None, object)
    # The last to be written is the first that applies.
    found[flat] = "zero_variance"
    found[n_neg == 1] = "one_negative"
    found[n_pos == 1] = "one_positive"
    found[n_neg == 0] = "no_negatives"
    found[n_pos == 0] = "no_positives"
    found[(n_pos == 0) & (n_neg == 0)] = "no_rows"
    return found
