"""Confidence limits of areas and proportions, adjusted p-values, and the column `note`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast, get_args

import numpy as np
import polars as pl

from rocframe.errors import OptionValueError
from rocframe.kernel.groups import groups_of_rows, run_starts
from rocframe.kernel.scan import Seed
from rocframe.options import check_choice, is_text, parse_fraction, parse_integer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    "bootstrap_unpaired": "unpaired bootstrap",
    "clopper_pearson": "Clopper-Pearson",
    "corrected": "corrected t distribution",
    "delong": "DeLong",
    "delong_f": "DeLong, F distribution",
    "delong_t": "DeLong, t distribution",
    "delong_t_unpaired": "unpaired DeLong, t distribution",
    "delong_unpaired": "unpaired DeLong",
    "delta": "delta method, t distribution",
    "delta_unpaired": "unpaired delta method, t distribution",
    "hanley_mcneil": "Hanley-McNeil",
    "hanley_mcneil_exponential": "Hanley-McNeil, exponential scores",
    "kosinski": "Kosinski",
    "ledell": "LeDell",
    "logit": "logit scale",
    "logit_delong": "DeLong, logit scale",
    "logit_delong_newcombe": "DeLong, logit scale, or Newcombe if wider",
    "logit_delong_t": "DeLong, logit scale, t distribution",
    "mann_whitney": "Mann-Whitney",
    "mcnemar": "McNemar, mid-p",
    "mcnemar_exact": "exact McNemar",
    "miettinen_nurminen": "Miettinen-Nurminen",
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
            hint = f'For proportions: rf.intervals(…, ci={ci!r}). Here, use ci="{methods[0]}".'
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
    """Return the Wald limits of logit(area / maximum) as areas; NaN at 0 and `maximum`."""
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
    """Return Newcombe's (2006) limits θ of an AUC: |area - θ| = z·se(θ)."""
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

    It is Hanley and McNeil's for exponential scores, with the mean class size in the numerator.
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
    """Return the distance of a limit from a difference, from those of its two terms, by MOVER."""
    return np.sqrt(np.maximum((a - b) ** 2 + 2 * (1 - correlation) * a * b, 0))


def paired_difference(
    both: NDArray[np.float64],
    only_a: NDArray[np.float64],
    only_b: NDArray[np.float64],
    total: Any,
    level: float,
) -> Estimate:
    """Return the difference of paired proportions, with limits by method 10 of Newcombe (1998)."""
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


# Limits of proportions of independent rows, by the value of `ci`.
PROPORTION_LIMITS = {"wilson": wilson, "clopper_pearson": clopper_pearson}


def _defined(lower: NDArray[np.float64], upper: NDArray[np.float64], total: NDArray[Any]) -> Limits:
    """Return the limits, or NaN if the total is 0."""
    return np.where(total > 0, lower, np.nan), np.where(total > 0, upper, np.nan)


Alternative = Literal["two-sided", "greater", "less"]


def check_alternative(alternative: str) -> None:
    """Raise an error if `alternative` is not one of the three alternatives."""
    check_choice("alternative", alternative, get_args(Alternative))


def normal_p_value(
    statistic: NDArray[np.float64], alternative: Alternative, df: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return p-values of standard normal statistics, or of t with `df` degrees of freedom."""
    from scipy.special import ndtr, stdtr

    def lower_tail(value: NDArray[np.float64]) -> NDArray[np.float64]:
        probability: NDArray[np.float64] = ndtr(value) if df is None else stdtr(df, value)
        # If a difference and its variance are 0, the statistic is 0 and `df` is NaN. The tail
        # probability of the statistic 0 is 1/2 for all `df`.
        return np.where(value == 0, 0.5, probability)

    if alternative == "two-sided":
        return 2 * lower_tail(-np.abs(statistic))
    return lower_tail(-statistic if alternative == "greater" else statistic)


def is_as_extreme(
    drawn: NDArray[Any], observed: NDArray[Any] | int, alternative: Alternative
) -> NDArray[np.bool_]:
    """Return whether each permuted statistic, with mean 0, is as extreme as the observed one."""
    if alternative == "two-sided":
        extreme: NDArray[np.bool_] = np.abs(drawn) >= np.abs(observed)
    else:
        extreme = drawn >= observed if alternative == "greater" else drawn <= observed
    return extreme


def permutation_p_value(
    n_extreme: NDArray[np.int64], n_permutations: NDArray[np.int64], exact: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the share of permutations whose statistic is at least as extreme as that of the data.

    Unless `exact`, the data count as one more: no p-value is 0 (Phipson and Smyth 2010).
    """
    data = np.where(exact, 0, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value: NDArray[np.float64] = (n_extreme + data) / (n_permutations + data)
    return p_value


Adjust = Literal["holm", "bh"]


def check_adjust(adjust: str | None) -> None:
    """Raise an error if `adjust` is not the name of an adjustment method or None."""
    check_choice("adjust", adjust, (*get_args(Adjust), None))


def adjust_p_values(
    p_values: NDArray[np.float64], families: NDArray[Any], adjust: Adjust | None
) -> NDArray[np.float64]:
    """Adjust p-values within `families` by Holm or Benjamini and Hochberg; NaN is no test."""
    p, size = pl.col("p"), pl.col("p").count()
    adjusted = {
        "holm": (p * (size - p.rank("min") + 1)).cum_max(),
        "bh": (p * size / p.rank("max")).cum_min(reverse=True),
    }
    if adjust is not None:
        p = adjusted[adjust].over("family", order_by="p").clip(upper_bound=1)
    tests = pl.DataFrame({"p": p_values, "family": families}).fill_nan(None)
    return tests.select(p.fill_null(np.nan)).to_series().to_numpy()


def adjust_table(
    table: pl.DataFrame, adjust: Adjust | None, name: str = "p_value", adjusted: str = "p_adjusted"
) -> pl.DataFrame:
    """Return the table with the p-values of a column, adjusted over all groups and models."""
    p_value = table[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
    p_adjusted = adjust_p_values(p_value, np.zeros(len(p_value)), adjust)
    return table.with_columns(pl.Series(adjusted, p_adjusted, nan_to_null=True))


def simultaneous_limits(
    table: pl.DataFrame, groups: NDArray[Any], level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return Bonferroni's simultaneous limits of the differences in a table of tests, or None.

    A family has the p-values of which Holm's adjustment is `p_adjusted`: those of a group, or all.
    Limits other than estimate ± quantile · se are NaN.
    """
    from scipy.special import ndtri, stdtrit

    def column(name: str) -> NDArray[np.float64]:
        values = table.get_column(name).cast(pl.Float64).fill_null(np.nan)
        return values.to_numpy()

    p_value, estimate, se, df = map(column, ("p_value", "difference", "se", "df"))
    families = next(
        (
            numbers
            for numbers in (groups, np.zeros_like(groups))
            if np.allclose(
                adjust_p_values(p_value, numbers, "holm"),
                column("p_adjusted"),
                rtol=1e-9,
                atol=0,
                equal_nan=True,
            )
        ),
        None,
    )
    sizes = None if families is None else np.bincount(families, ~np.isnan(p_value))[families]
    if sizes is None or sizes.max(initial=0) < 2:
        return None

    def half_width(alpha: Any) -> NDArray[np.float64]:
        probability = 1 - alpha / 2
        quantile = np.where(np.isnan(df), ndtri(probability), stdtrit(df, probability))
        return np.asarray(quantile * se, np.float64)

    half = half_width(1 - level)
    ends = np.stack([column("lower"), column("upper")])
    is_wald = np.isclose(ends, [estimate - half, estimate + half], rtol=0, atol=1e-9).all(axis=0)
    half = np.where(is_wald & (sizes > 0), half_width((1 - level) / np.maximum(sizes, 1)), np.nan)
    return estimate - half, estimate + half


# If several notes apply to a row, the column contains the first of these notes in this order.
Note = Literal[
    "not_in_old",
    "not_in_new",
    "below_min_rows",
    "no_rows",
    "no_positives",
    "no_negatives",
    "one_class",
    "absent_class",
    "not_probabilities",
    "separated",
    "one_positive",
    "one_negative",
    "one_positive_cluster",
    "one_negative_cluster",
    "one_reader",
    "single_row",
    "fewer_alerts",
    "identical_scores",
    "zero_variance",
    "one_curve",
    "one_imputation",
    "no_solution",
    "no_limits",
    "negative_slope",
    "shared_rows",
    "few_rows",
    "negative_covariance",
    "reference",
    "redrawn",
    "merged",
    "unmatched",
    "left_out",
    "lacks_rows",
    "undefined",
    "fewer",
]
WARNINGS = ("few_rows", "negative_covariance")  # about results that exist: no reason of nulls
SEPARATOR = "; "  # between two notes of the same row
# Tests reject a true null hypothesis too often if a class has fewer rows or clusters than this:
# tests of a difference of two areas, of k independent differences (k - 1 more), and of one area.
# See docs/coverage.md.
MIN_DIFFERENCE_UNITS = 4
MIN_AREA_UNITS = 10
MAX_NAMES_IN_NOTE = 10  # for further curves, a note contains only their number


def first_notes(applies: Mapping[Note, NDArray[np.bool_ | np.int64]]) -> NDArray[np.object_]:
    """Return the first note that applies to each group, or None.

    `applies` has a Boolean or a count for each group and note. A count above 0 is appended, as in
    `redrawn:12`. A note of `WARNINGS` is joined with a later note instead of replacing it.
    """
    result = np.full(len(next(iter(applies.values()))), None, object)
    for note in reversed(get_args(Note)):  # an earlier note replaces later notes
        values = applies.get(note, np.zeros(0, bool))
        groups = np.flatnonzero(values)
        notes: NDArray[np.object_] = np.full(len(groups), note, object)
        if values.dtype != bool:
            counts, positions = np.unique(values[groups], return_inverse=True)
            texts = np.array([counted_note(note, count) for count in counts], object)
            notes = texts[positions]
        if note in WARNINGS:
            for i in np.flatnonzero(result[groups] != np.array(None)):
                notes[i] = join_notes(notes[i], result[groups[i]])
        result[groups] = notes
    return result


def absent_classes(
    n_pos: NDArray[Any], n_neg: NDArray[Any]
) -> dict[Note, NDArray[np.bool_ | np.int64]]:
    """Return the notes about absent classes with their groups, as the input of `first_notes`."""
    return {
        "no_rows": (n_pos == 0) & (n_neg == 0),
        "no_positives": n_pos == 0,
        "no_negatives": n_neg == 0,
    }


def class_notes(
    n_pos: NDArray[Any],
    n_neg: NDArray[Any],
    *,
    clustered: bool = False,
    **others: NDArray[np.bool_ | np.int64] | None,
) -> NDArray[np.object_]:
    """Return the first note that applies to each group, or None; see `first_notes`.

    Class sizes are numbers of clusters if `clustered`. Sums of weights have no notes on single
    rows.
    """
    one_positive: Note = "one_positive_cluster" if clustered else "one_positive"
    one_negative: Note = "one_negative_cluster" if clustered else "one_negative"
    applies: dict[Note, NDArray[np.bool_ | np.int64] | None] = {
        **absent_classes(n_pos, n_neg),
        one_positive: n_pos == 1 if n_pos.dtype.kind != "f" else None,
        one_negative: n_neg == 1 if n_neg.dtype.kind != "f" else None,
        **cast("Mapping[Note, NDArray[np.bool_ | np.int64] | None]", others),
    }
    return first_notes({note: values for note, values in applies.items() if values is not None})


def few_rows(
    n_pos: NDArray[np.int64], n_neg: NDArray[np.int64], minimum: Any = MIN_DIFFERENCE_UNITS
) -> NDArray[np.int64]:
    """Return the number of rows or clusters of the smaller class if below the minimum, else 0."""
    smaller = np.minimum(n_pos, n_neg)
    return np.where(smaller < minimum, smaller, 0)


def counted_note(note: Note, count: object) -> str:
    """Return a note with a count, such as `redrawn:12`."""
    return f"{note}:{count}"


def join_notes(*notes: str | None) -> str | None:
    """Return the notes that are not None as one text; None if there are none."""
    return SEPARATOR.join(filter(None, notes)) or None


def exclusion_notes(
    names: NDArray[np.object_],
    usable: NDArray[np.bool_],
    starts: NDArray[np.int64],
    note: Note = "left_out",
) -> list[str | None]:
    """Return, for each group, the note with the number and names of excluded curves, or None."""
    notes: list[str | None] = [None] * (len(starts) - 1)
    excluded = np.flatnonzero(~usable)
    group = groups_of_rows(starts, excluded)
    for first, end in pairwise([*run_starts(group).tolist(), len(group)]):
        notes[group[first]] = note_with_keys(note, names[excluded[first:end]].tolist())
    return notes


def note_with_keys(note: Note, keys: Sequence[str]) -> str:
    """Return a note with the number and the keys of curves, such as `left_out:1 (7)`."""
    rest = len(keys) - MAX_NAMES_IN_NOTE
    more = f" and {rest} more" if rest > 0 else ""
    names = ", ".join(keys[:MAX_NAMES_IN_NOTE])
    return counted_note(note, f"{len(keys)} ({names}{more})" if names else f"{len(keys)}")
