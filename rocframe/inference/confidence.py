"""Confidence intervals of areas and proportions."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rocframe.errors import OptionValueError
from rocframe.kernel.resample import Seed
from rocframe.options import as_number, check_choice, share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


Method = Literal[
    "logit_delong",
    "delong",
    "newcombe",
    "hanley_mcneil",
    "hanley_mcneil_exponential",
    "bootstrap",
    "bootstrap_basic",
    "bootstrap_bca",
]

# Whose methods are for whole areas only.
WHOLE_AREA_METHODS = {
    "newcombe": "Newcombe",
    "hanley_mcneil": "Hanley and McNeil",
    "hanley_mcneil_exponential": "Hanley and McNeil",
}

MAX_RESAMPLES = 10**8  # resamples: their numbers take a gigabyte

BISECTION_STEPS = 60  # of [0, 1]: more than Float64 resolves


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """Method and level of intervals, and what those that draw resamples go by."""

    ci: str | None
    level: float
    n_boot: int
    seed: Seed

    @classmethod
    def of(
        cls,
        ci: str | None,
        level: float,
        n_boot: int,
        seed: int | None,
        methods: Sequence[str] = get_args(Method),
    ) -> Confidence:
        """Check the options that every interval has."""
        check_choice("ci", ci, (*methods, None))
        level = parse_level(level)
        return cls(ci=ci, level=level, n_boot=parse_n_boot("n_boot", n_boot), seed=Seed.parse(seed))


def parse_level(level: float) -> float:
    """Read the share of intervals that cover."""
    wrong = "the share of intervals that cover is a number between 0 and 1"
    return share("level", level, wrong, "Give, say, level=0.95.")


def parse_n_boot(argument: str, given: object) -> int:
    """Read how many resamples are drawn."""
    number = as_number(given)
    if number is None or isinstance(given, bool) or not 2 <= number <= MAX_RESAMPLES or number % 1:
        wrong = f"the number of resamples is a whole number from 2 to {MAX_RESAMPLES}"
        raise OptionValueError.of(argument, given, wrong, f"Give, say, {argument}=2000.")
    return int(number)


def normal_quantile(level: float) -> float:
    """Return how many standard errors the limits of this level lie from the estimate."""
    return NormalDist().inv_cdf((1 + level) / 2)


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
        return (area - trial) ** 2 - z**2 * newcombe_variance(trial, n_pos, n_neg)

    limits = []
    for end in (0.0, 1.0):
        near, far = area.copy(), np.full(len(area), end)
        for _ in range(BISECTION_STEPS):
            middle = (near + far) / 2
            beyond = off(middle) > 0
            far = np.where(beyond, middle, far)
            near = np.where(beyond, near, middle)
        limits.append(np.where(area == end, end, (near + far) / 2))
    undefined = np.isnan(area)
    limits[0][undefined], limits[1][undefined] = np.nan, np.nan
    return limits[0], limits[1]


def newcombe_variance(
    area: NDArray[np.float64], n_pos: NDArray[np.int64], n_neg: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return Newcombe's (2006) variance of an AUC, his method 5 with (n_pos + n_neg) / 2."""
    pairs = n_pos.astype(np.float64) * n_neg
    extra = (n_pos + n_neg) / 2 - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = 1 + extra * (1 - area) / (2 - area) + extra * area / (1 + area)
        variance: NDArray[np.float64] = area * (1 - area) * spread / pairs
    return variance


def notes(
    n_pos: NDArray[np.int64],
    n_neg: NDArray[np.int64],
    variance: NDArray[np.float64] | None,
    lost: NDArray[np.int64] | None = None,
    unsolved: NDArray[np.bool_] | None = None,
) -> NDArray[np.object_]:
    """Say of each group the first thing that keeps it from having all its numbers.

    `lost` are the resamples that had to be drawn again, or were left out; `unsolved` says where
    the curve has no such point, or what is asked for is undefined there.
    """
    flat = np.zeros(len(n_pos), bool) if variance is None else variance == 0
    found = np.full(len(n_pos), None, object)
    for group in () if lost is None else np.flatnonzero(lost):
        found[group] = f"redrawn:{lost[group]}"  # type: ignore[index]
    # The last to be written is the first that applies.
    if unsolved is not None:
        found[unsolved] = "no_solution"
    found[flat] = "zero_variance"
    found[n_neg == 1] = "one_negative"
    found[n_pos == 1] = "one_positive"
    found[n_neg == 0] = "no_negatives"
    found[n_pos == 0] = "no_positives"
    found[(n_pos == 0) & (n_neg == 0)] = "no_rows"
    return found


Limits = tuple["NDArray[np.float64]", "NDArray[np.float64]"]


def wilson(part: NDArray[np.float64], whole: NDArray[Any], level: float) -> Limits:
    """Return the proportions that lie just z of their own standard errors from part / whole."""
    z2 = normal_quantile(level) ** 2
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
