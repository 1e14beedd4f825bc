"""Confidence limits of areas (Wald, logit, Newcombe) and proportions (Wilson, Clopper-Pearson)."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np

from rocframe.errors import OptionValueError
from rocframe.kernel.resample import Seed
from rocframe.options import check_choice, is_text, parse_fraction, parse_integer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


Limits = tuple["NDArray[np.float64]", "NDArray[np.float64]"]

AUCIntervalMethod = Literal[
    "logit_delong",
    "delong",
    "newcombe",
    "hanley_mcneil",
    "hanley_mcneil_exponential",
    "bootstrap",
    "bootstrap_basic",
    "bootstrap_bca",
]

# The methods of the columns `ci_method` and `test` in words.
METHOD_TEXTS = {
    "binomial": "binomial",
    "bootstrap": "bootstrap",
    "bootstrap_basic": "basic bootstrap",
    "bootstrap_bca": "BCa bootstrap",
    "bootstrap_supremum": "bootstrap of the supremum",
    "clopper_pearson": "Clopper-Pearson",
    "corrected": "corrected t distribution",
    "delong": "DeLong",
    "delong_f": "DeLong, F distribution",
    "delong_t": "DeLong, t distribution",
    "delong_t_unpaired": "unpaired DeLong, t distribution",
    "delong_unpaired": "unpaired DeLong",
    "hanley_mcneil": "Hanley-McNeil",
    "hanley_mcneil_exponential": "Hanley-McNeil, exponential scores",
    "ledell": "LeDell",
    "logit": "logit scale",
    "logit_delong": "DeLong, logit scale",
    "logit_delong_newcombe": "DeLong, logit scale, or Newcombe if wider",
    "logit_delong_t": "DeLong, logit scale, t distribution",
    "mann_whitney": "Mann-Whitney",
    "mover": "MOVER",
    "newcombe": "Newcombe",
    "newcombe_unpaired": "unpaired Newcombe",
    "normal": "normal distribution",
    "permutation": "permutation",
    "permutation_exact": "exact permutation",
    "t": "t distribution",
    "t_test": "t test",
    "t_test_unpaired": "unpaired t test",
    "venkatraman": "Venkatraman",
    "venkatraman_exact": "exact Venkatraman",
    "wald": "Wald",
    "wilson": "Wilson",
}


def method_text(name: str) -> str:
    """Return the name of a method in words, such as "DeLong, logit scale"."""
    return METHOD_TEXTS.get(name, name.replace("_", " "))


# Methods that are valid only for full areas of independent rows with equal weights.
FULL_AREA_METHODS = ("newcombe", "hanley_mcneil", "hanley_mcneil_exponential")

STANDARD_NORMAL = NormalDist()
MAX_RESAMPLES = 10**8  # this many replicates of one statistic need 0.8 GB
# The default interval of an AUC is wider if a class has fewer rows or clusters; see
# docs/coverage.md.
SMALL_CLASS = 50
AREA_ROUNDING = 1e-12  # largest rounding error of the area of weighted rows
LIMIT_ROUNDING = 4e-16  # largest step of Newton's method that is only a rounding error
# After this many halvings, the interval [0, 1] is shorter than the precision of Float64.
BISECTION_STEPS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """The parsed options of a confidence interval."""

    ci: str | None
    level: float
    n_boot: int
    seed: Seed

    @classmethod
    def parse(
        cls,
        ci: str | None,
        level: float,
        n_boot: int = 2000,
        seed: int | None = None,
        methods: Sequence[str] = get_args(AUCIntervalMethod),
    ) -> Confidence:
        """Check and convert the options; the allowed values of `ci` are `methods` and None."""
        if is_text(ci, "wilson", "clopper_pearson") and ci not in methods:
            problem = "this method is for proportions of rows, such as the TPR at a threshold"
            hint = f'For proportions: rf.intervals(…, ci={ci!r}). For areas: ci="{methods[0]}".'
            raise OptionValueError.compose("ci", ci, problem, hint)
        check_choice("ci", ci, (*methods, None))
        level = parse_level(level)
        return cls(ci=ci, level=level, n_boot=parse_n_boot("n_boot", n_boot), seed=Seed.parse(seed))


def parse_level(level: float) -> float:
    """Check the confidence level, and return it as a number."""
    number = parse_fraction("level", level, example=0.95)
    if (1 + number) / 2 == 1:
        problem = "the limits are infinite, because (1 + level) / 2 is rounded to 1"
        raise OptionValueError.compose("level", level, problem, "Use, for example, level=0.95.")
    return number


def parse_n_boot(argument: str, value: object) -> int:
    """Check a number of resamples, and return it as an integer."""
    return parse_integer(argument, value, low=2, high=MAX_RESAMPLES, example=2000)


def normal_quantile(level: float) -> float:
    """Return z, the (1 + level) / 2 quantile of the standard normal distribution."""
    return STANDARD_NORMAL.inv_cdf((1 + level) / 2)


def wald(area: NDArray[np.float64], se: NDArray[np.float64], z: float, maximum: float) -> Limits:
    """Return the Wald limits area ± z * se, clipped to [0, maximum]."""
    return np.clip(area - z * se, 0, maximum), np.clip(area + z * se, 0, maximum)


def logit(
    area: NDArray[np.float64],
    se: NDArray[np.float64],
    z: float | NDArray[np.float64],
    maximum: float,
) -> Limits:
    """Return the Wald limits of logit(area / maximum), transformed back to the scale of the area.

    The limits are NaN if the area is 0 or `maximum`, because the logit is then infinite.
    """
    share = area / maximum
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        middle = np.log(share / (1 - share))
        half = z * (se / maximum) / (share * (1 - share))
        lower = maximum / (1 + np.exp(half - middle))
        upper = maximum / (1 + np.exp(-half - middle))
    outside = ~((share > 0) & (share < 1))
    lower[outside], upper[outside] = np.nan, np.nan
    return lower, upper


def newcombe(
    area: NDArray[np.float64],
    n_pos: NDArray[np.int64],
    n_neg: NDArray[np.int64],
    z: float | NDArray[np.float64],
) -> Limits:
    """Return Newcombe's (2006) limits of an AUC, by Newton's method and bisection.

    A limit θ satisfies |area - θ| = z·se(θ), where se(θ) is the standard error if the true area is
    θ.
    """
    if not len(area):
        return area, area
    ends = np.array([[0.0], [1.0]])  # a row for the lower limits and a row for the upper limits
    near, far = np.array([area, area]), np.repeat(ends, len(area), axis=1)
    limits = (near + far) / 2
    for _ in range(BISECTION_STEPS):
        variance, slope = _newcombe_variance_and_slope(limits, n_pos, n_neg)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            excess = (area - limits) ** 2 - z**2 * variance
            step = excess / (2 * (area - limits) + z**2 * slope)
        following, moves = limits + step, np.abs(step) > LIMIT_ROUNDING
        if not moves.any():
            break
        far, near = np.where(excess > 0, limits, far), np.where(excess > 0, near, limits)
        # A step of Newton's method that leaves the interval is replaced by a bisection.
        inside = (following > np.minimum(near, far)) & (following < np.maximum(near, far))
        # A limit that has been found is not changed, so that it does not depend on other groups.
        limits = np.where(moves, np.where(inside, following, (near + far) / 2), limits)
    limits = np.where(area == ends, ends, limits)
    limits[:, np.isnan(area)] = np.nan
    return limits[0], limits[1]


def newcombe_variance(
    area: NDArray[np.float64], n_pos: NDArray[np.int64], n_neg: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the variance of an AUC by method 5 of Newcombe (2006).

    This is Hanley and McNeil's formula for exponential scores, in which both class sizes in the
    numerator are replaced by their mean, (n_pos + n_neg) / 2.
    """
    return _newcombe_variance_and_slope(area, n_pos, n_neg)[0]


def _newcombe_variance_and_slope(
    area: NDArray[np.float64], n_pos: NDArray[np.int64], n_neg: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `newcombe_variance` and its derivative with respect to the area."""
    pairs = n_pos.astype(np.float64) * n_neg
    extra = (n_pos + n_neg) / 2 - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = 1 + extra * (1 - area) / (2 - area) + extra * area / (1 + area)
        binomial = area * (1 - area)
        slope = extra * (1 / (1 + area) ** 2 - 1 / (2 - area) ** 2)
        return binomial * factor / pairs, ((1 - 2 * area) * factor + binomial * slope) / pairs


def is_perfect(area: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return whether each area is 0 or 1, up to rounding errors."""
    return np.asarray(np.abs(area - 0.5) > 0.5 - AREA_ROUNDING)


def perfect_area_limits(
    area: NDArray[np.float64], n_pos: NDArray[np.int64], n_neg: NDArray[np.int64], level: float
) -> Limits:
    """Return Newcombe's limits of areas that are 0 or 1."""
    return newcombe(np.round(area), n_pos, n_neg, normal_quantile(level))


def wilson(count: NDArray[np.float64], total: NDArray[Any], level: float) -> Limits:
    """Return Wilson's limits of the proportion count / total; NaN if the total is 0."""
    z2 = normal_quantile(level) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        share, shrunk = count / total, z2 / total
        middle = share + shrunk / 2
        half = np.sqrt(shrunk * (share * (1 - share) + shrunk / 4))
        lower, upper = (middle - half) / (1 + shrunk), (middle + half) / (1 + shrunk)
    # Without these corrections, rounding errors could make a limit of 0 or 1 inexact, or an upper
    # limit smaller than the estimate.
    lower = np.where(count == 0, 0.0, np.minimum(lower, share))
    upper = np.where(count == total, 1.0, np.maximum(upper, share))
    return _defined(lower, upper, total)


class Estimate(NamedTuple):
    """A value with its confidence limits."""

    value: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @classmethod
    def of_proportion(cls, count: NDArray[np.float64], total: Any, level: float) -> Estimate:
        """Return the proportion count / total with Wilson's limits; NaN if the total is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return cls(count / total, *wilson(count, np.broadcast_to(total, count.shape), level))

    def scaled(self, factor: Any) -> Estimate:
        """Return the estimate and its limits, multiplied by a factor >= 0."""
        return Estimate(self.value * factor, self.lower * factor, self.upper * factor)

    def minus(self, other: Estimate, correlation: Any = 0.0) -> Estimate:
        """Return the difference to another estimate, with limits by MOVER (Zou and Donner 2008)."""
        value = self.value - other.value
        below, above = self.value - self.lower, self.upper - self.value
        other_below, other_above = other.value - other.lower, other.upper - other.value
        return Estimate(
            value,
            value - combined_distance(below, other_above, correlation),
            value + combined_distance(above, other_below, correlation),
        )


def combined_distance(a: Any, b: Any, correlation: Any = 0.0) -> Any:
    """Return the distance of a limit from a difference, from the distances of its two terms.

    This is MOVER, the "method of variance estimates recovery" of Zou and Donner (2008).
    """
    return np.sqrt(np.maximum((a - b) ** 2 + 2 * (1 - correlation) * a * b, 0))


def paired_difference(
    both: NDArray[np.float64],
    only_a: NDArray[np.float64],
    only_b: NDArray[np.float64],
    total: Any,
    level: float,
) -> Estimate:
    """Return the difference of two proportions of the same rows, with Newcombe's (1998) limits.

    `both`, `only_a` and `only_b` are the numbers of rows that both, only the first, and only the
    second proportion count. This is method 10: Wilson's limits, and the correlation phi with
    a continuity correction.
    """
    of_a, of_b = both + only_a, both + only_b
    neither = total - of_a - only_b
    product = both * neither - only_a * only_b
    corrected = np.where(product > 0, np.maximum(product - total / 2, 0), product)
    variances = of_a * (total - of_a) * of_b * (total - of_b)
    phi = np.where(variances > 0, corrected / np.sqrt(np.where(variances > 0, variances, 1)), 0)
    a, b = (Estimate.of_proportion(count, total, level) for count in (of_a, of_b))
    return a.minus(b, phi)


def clopper_pearson(count: NDArray[np.float64], total: NDArray[np.float64], level: float) -> Limits:
    """Return Clopper and Pearson's limits of the share count / total; NaN if the total is 0."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    with np.errstate(invalid="ignore"):
        lower = betaincinv(count, total - count + 1, tail)
        upper = betaincinv(count + 1, total - count, 1 - tail)
    lower[count == 0], upper[count == total] = 0, 1
    return _defined(lower, upper, total)


def _defined(lower: NDArray[np.float64], upper: NDArray[np.float64], total: NDArray[Any]) -> Limits:
    """Return the limits, or NaN if the total is 0."""
    return np.where(total > 0, lower, np.nan), np.where(total > 0, upper, np.nan)
