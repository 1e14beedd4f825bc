"""Power, sample size and detectable difference of tests of an AUC."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil, exp, floor, inf, sqrt
from sys import float_info
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import polars as pl

from rocframe.areas.pairs import exponential_variance
from rocframe.errors import OptionValueError
from rocframe.inference import STANDARD_NORMAL, check_alternative
from rocframe.options import check_choice, parse_integer, parse_number, public, to_list
from rocframe.schemas.statistics import PLAN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rocframe.inference import Alternative, Note


@public
def power(
    *,
    auc: Numbers,
    null: Numbers = 0.5,
    auc_b: Numbers | None = None,
    correlation: Numbers | None = None,
    n_pos: Integers,
    n_neg: Integers,
    alpha: Numbers = 0.05,
    alternative: Alternative = "two-sided",
    variance: VarianceFormula = "hanley_mcneil_exponential",
    se_at: SeAt = "estimate",
) -> pl.DataFrame:
    """Compute the power of a test that compares two AUCs, or one AUC with a given area.

    The power is the probability that the test rejects the null hypothesis if the areas are as
    assumed. Each argument takes one value or several. Rows are assumed to be independent, and the
    estimated area normal, which is poor near 1 and for fewer than 10 rows of a class.

    Parameters
    ----------
    auc : float or sequence of float
        Assumed area of the model, between 0 and 1.
    null : float or sequence of float, default 0.5
        Area under the null hypothesis, between 0 and 1, for tests of one model.
    auc_b : float or sequence of float, default None
        Assumed area of a second model, and the area of both models under the null hypothesis.
    correlation : float or sequence of float, default None
        Correlation of the two estimated areas: 0 for different rows, usually above 0 for the same.
    n_pos : int or sequence of int
        Number of positive rows.
    n_neg : int or sequence of int
        Number of negative rows.
    alpha : float or sequence of float, default 0.05
        Significance level of the test.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        The true area differs from the null (`"two-sided"`), is larger or is smaller.
    variance : str, optional
        `"hanley_mcneil_exponential"` (default), or `"obuchowski"` for ratings, such as 1 to 5.
    se_at : {"estimate", "null"}, default "estimate"
        The standard error is that for the assumed area, as in DeLong's tests, or for the null area.

    Returns
    -------
    DataFrame
        One row per combination of values, in their order: `difference, n_pos, n_neg, power, auc,
        null, auc_b, correlation, se, se_null, ratio, target, alpha, alternative, variance, se_at,
        note`. `power` (Float64) is the probability of a p-value of at most `alpha`. `se` and
        `se_null` are the standard errors of `difference` if the areas are as assumed, and under the
        null hypothesis.

    Raises
    ------
    OptionValueError
        If a value or a combination is invalid.

    References
    ----------
    - J. A. Hanley, B. J. McNeil (1982), Radiology 143(1), 29-36.
      doi:10.1148/radiology.143.1.7063747
    - J. A. Hanley, B. J. McNeil (1983), Radiology 148(3), 839-843.
      doi:10.1148/radiology.148.3.6878708
    - N. A. Obuchowski, D. K. McClish (1997), Statistics in Medicine 16(13), 1529-1542.
      doi:10.1002/(SICI)1097-0258(19970715)16:13<1529::AID-SIM565>3.0.CO;2-H

    Examples
    --------
    >>> import rocframe as rf
    >>> rf.power(auc=0.7, n_pos=[20, 40], n_neg=80)["power"].round(3).to_list()
    [0.809, 0.966]
    """
    return _plan(
        PlannedTest,
        auc=auc,
        null=null,
        auc_b=auc_b,
        correlation=correlation,
        n_pos=n_pos,
        n_neg=n_neg,
        alpha=alpha,
        alternative=alternative,
        variance=variance,
        se_at=se_at,
    )


@public
def sample_size(
    *,
    auc: Numbers,
    null: Numbers = 0.5,
    auc_b: Numbers | None = None,
    correlation: Numbers | None = None,
    ratio: Numbers = 1.0,
    power: Numbers = 0.8,
    alpha: Numbers = 0.05,
    alternative: Alternative = "two-sided",
    variance: VarianceFormula = "hanley_mcneil_exponential",
    se_at: SeAt = "estimate",
) -> pl.DataFrame:
    """Compute the number of rows that a test of one or two AUCs needs for the required power.

    Parameters
    ----------
    auc : float or sequence of float
        Assumed area of the model, between 0 and 1.
    null : float or sequence of float, default 0.5
        Area under the null hypothesis, between 0 and 1, for tests of one model.
    auc_b : float or sequence of float, default None
        Assumed area of a second model, and the area of both models under the null hypothesis.
    correlation : float or sequence of float, default None
        Correlation of the two estimated areas: 0 for different rows, usually above 0 for the same.
    ratio : float or sequence of float, default 1.0
        Number of negatives per positive.
    power : float or sequence of float, default 0.8
        Required power of the test, larger than `alpha`.
    alpha : float or sequence of float, default 0.05
        Significance level of the test.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        The true area differs from the null (`"two-sided"`), is larger or is smaller.
    variance : str, optional
        `"hanley_mcneil_exponential"` (default), or `"obuchowski"` for ratings, such as 1 to 5.
    se_at : {"estimate", "null"}, default "estimate"
        The standard error is that for the assumed area, as in DeLong's tests, or for the null area.

    Returns
    -------
    DataFrame
        One row per combination of values, in their order: `difference, n_pos, n_neg, power, auc,
        null, auc_b, correlation, se, se_null, ratio, target, alpha, alternative, variance, se_at,
        note`. `n_pos` (Int64) is the smallest number of positives with the required power
        (`target`) and at least 10 rows of each class, and `n_neg` is `ratio * n_pos`, rounded up.
        If the assumed difference is 0 or has the wrong sign, they are null and `note` is
        `no_solution`.

    Raises
    ------
    OptionValueError
        If a value or a combination is invalid.

    References
    ----------
    J. A. Hanley, B. J. McNeil (1982), Radiology 143(1), 29-36. doi:10.1148/radiology.143.1.7063747

    Examples
    --------
    >>> import rocframe as rf
    >>> rf.sample_size(auc=[0.7, 0.8], ratio=4).select("n_pos", "n_neg").rows()
    [(20, 80), (10, 40)]
    """
    return _plan(
        _smallest_sample,
        auc=auc,
        null=null,
        auc_b=auc_b,
        correlation=correlation,
        ratio=ratio,
        power=power,
        alpha=alpha,
        alternative=alternative,
        variance=variance,
        se_at=se_at,
    )


@public
def detectable_difference(
    *,
    null: Numbers = 0.5,
    auc_b: Numbers | None = None,
    correlation: Numbers | None = None,
    n_pos: Integers,
    n_neg: Integers,
    power: Numbers = 0.8,
    alpha: Numbers = 0.05,
    alternative: Alternative = "two-sided",
    variance: VarianceFormula = "hanley_mcneil_exponential",
    se_at: SeAt = "estimate",
) -> pl.DataFrame:
    """Compute the smallest difference of areas that a test detects with the required power.

    Parameters
    ----------
    null : float or sequence of float, default 0.5
        Area under the null hypothesis, between 0 and 1, for tests of one model.
    auc_b : float or sequence of float, default None
        Assumed area of a second model, and the area of both models under the null hypothesis.
    correlation : float or sequence of float, default None
        Correlation of the two estimated areas: 0 for different rows, usually above 0 for the same.
    n_pos : int or sequence of int
        Number of positive rows.
    n_neg : int or sequence of int
        Number of negative rows.
    power : float or sequence of float, default 0.8
        Required power of the test, larger than `alpha`.
    alpha : float or sequence of float, default 0.05
        Significance level of the test.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        The true area differs from the null (`"two-sided"`), is larger or is smaller.
    variance : str, optional
        `"hanley_mcneil_exponential"` (default), or `"obuchowski"` for ratings, such as 1 to 5.
    se_at : {"estimate", "null"}, default "estimate"
        The standard error is that for the assumed area, as in DeLong's tests, or for the null area.

    Returns
    -------
    DataFrame
        One row per combination of values, in their order: `difference, n_pos, n_neg, power, auc,
        null, auc_b, correlation, se, se_null, ratio, target, alpha, alternative, variance, se_at,
        note`. `auc` (Float64) is the area nearest to `null` (or `auc_b`) for which the test has the
        required power: below it if `alternative` is `"less"`, otherwise above. With too few rows,
        it is null and `note` is `no_solution`.

    Raises
    ------
    OptionValueError
        If a value or a combination is invalid.

    References
    ----------
    J. A. Hanley, B. J. McNeil (1982), Radiology 143(1), 29-36. doi:10.1148/radiology.143.1.7063747

    Examples
    --------
    >>> import rocframe as rf
    >>> plans = rf.detectable_difference(n_pos=[10, 30, 300], n_neg=300)
    >>> plans["difference"].round(3).to_list()
    [0.253, 0.158, 0.065]
    """
    return _plan(
        _nearest_area,
        null=null,
        auc_b=auc_b,
        correlation=correlation,
        n_pos=n_pos,
        n_neg=n_neg,
        power=power,
        alpha=alpha,
        alternative=alternative,
        variance=variance,
        se_at=se_at,
    )


def _plan(solve: Callable[..., PlannedTest | None], **options: Any) -> pl.DataFrame:
    """Return a row for each combination of options: the test that `solve` returns, if any."""
    rows = []
    for combination in parse_planning_options(**options):
        test = solve(**combination)
        note: Note | None = "no_solution" if test is None else None
        # The required power is the column `target`; the column `power` is that of the test.
        row = {"target" if name == "power" else name: value for name, value in combination.items()}
        if test is not None:
            properties = (*PlannedTest.__slots__, "difference", "se_null", "se", "power")
            row |= {name: getattr(test, name) for name in properties}
        rows.append({**row, "note": note})
    table = pl.DataFrame(rows, schema=PLAN.columns())
    return table.with_columns(ratio=pl.col("ratio").fill_null(pl.col("n_neg") / pl.col("n_pos")))


MAX_CLASS_ROWS = 10**12  # if a class needs more rows, the plan has no solution
MIN_CLASS_ROWS = 10  # the normal approximation is poor for fewer rows
RATIO_ROUNDING = 1e-12  # relative rounding error of `ratio * n_pos`


def _smallest_sample(*, ratio: float, power: float, **options: Any) -> PlannedTest | None:
    """Return the test with the smallest number of positives and at least the power, or None."""

    def with_n_pos(n_pos: int) -> PlannedTest:
        # Rounding errors can move the product slightly above an integer.
        n_neg = ceil(ratio * n_pos * (1 - RATIO_ROUNDING))
        return PlannedTest(n_pos=n_pos, n_neg=n_neg, **options)

    if not 1 / MAX_CLASS_ROWS <= ratio <= MAX_CLASS_ROWS:
        return None
    n_for_min_neg = floor((MIN_CLASS_ROWS - 1) / ratio * (1 + RATIO_ROUNDING)) + 1
    first = max(MIN_CLASS_ROWS, n_for_min_neg)
    difference = with_n_pos(first).difference
    wrong = {"two-sided": difference == 0, "greater": difference <= 0, "less": difference >= 0}
    if wrong[options["alternative"]]:
        return None

    def doubled_sizes() -> Iterator[int]:
        n_pos = first
        while True:
            yield n_pos
            if max(n_pos, with_n_pos(n_pos).n_neg) > MAX_CLASS_ROWS:
                return
            n_pos *= 2

    return _first_test(
        with_n_pos, power, first - 1, doubled_sizes(), lambda low, high: (low + high) // 2
    )


# Candidate differences, as fractions of the distance from the area under the null hypothesis to 0
# or 1.
AREA_GRID = (*(i / 256 for i in range(1, 256)), *(1 - 0.5**i for i in range(9, 30)))


def _nearest_area(*, power: float, **options: Any) -> PlannedTest | None:
    """Return the test with the smallest difference that has at least the power, or None."""
    start = options["null"] if options["auc_b"] is None else options["auc_b"]
    end = 0.0 if options["alternative"] == "less" else 1.0

    def with_fraction(fraction: float) -> PlannedTest:
        return PlannedTest(auc=start + fraction * (end - start), **options)

    return _first_test(with_fraction, power, 0.0, AREA_GRID, lambda low, high: (low + high) / 2)


def _first_test(
    test_at: Callable[[Any], PlannedTest],
    power: float,
    below: float,
    candidates: Iterable[float],
    halfway: Callable[[Any, Any], float],
) -> PlannedTest | None:
    """Return the test at the smallest value with the power, found by bisection; None if none has.

    The power need not increase with the value: bisection starts below the first of the rising
    `candidates` with the power.
    """
    for above in candidates:
        if test_at(above).power >= power:
            break
        below = above
    else:
        return None
    while below < (middle := halfway(below, above)) < above:
        if test_at(middle).power < power:
            below = middle
        else:
            above = middle
    return test_at(above)


VarianceFormula = Literal["hanley_mcneil_exponential", "obuchowski"]
SeAt = Literal["estimate", "null"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTest:
    """A test of one area against `null`, or of the areas of two models against each other."""

    auc: float
    null: float | None
    auc_b: float | None
    correlation: float | None
    n_pos: int
    n_neg: int
    alpha: float
    alternative: Alternative
    variance: VarianceFormula
    se_at: SeAt

    @property
    def null_area(self) -> float:
        """The area under the null hypothesis."""
        area = self.null if self.auc_b is None else self.auc_b
        assert area is not None
        return area

    @property
    def difference(self) -> float:
        """Assumed area minus the area under the null hypothesis."""
        return self.auc - self.null_area

    @property
    def se_null(self) -> float:
        """Standard error of the estimated difference under the null hypothesis."""
        variance = self._area_variance(self.null_area)
        return _root(
            variance if self.correlation is None else 2 * variance * (1 - self.correlation)
        )

    @property
    def se(self) -> float:
        """Standard error of the estimated difference if the areas are as assumed."""
        variance = self._area_variance(self.auc)
        if self.auc_b is None or self.correlation is None:
            return _root(variance)
        variance_b = self._area_variance(self.auc_b)
        return _root(variance + variance_b - 2 * self.correlation * _root(variance * variance_b))

    @property
    def power(self) -> float:
        """Probability that the test rejects the null hypothesis."""
        sides = 2 if self.alternative == "two-sided" else 1
        se = self.se
        test_se = se if self.se_at == "estimate" else self.se_null
        critical = -STANDARD_NORMAL.inv_cdf(self.alpha / sides) * test_se
        above = STANDARD_NORMAL.cdf((self.difference - critical) / se)
        below = STANDARD_NORMAL.cdf((-self.difference - critical) / se)
        return {"two-sided": above + below, "greater": above, "less": below}[self.alternative]

    def _area_variance(self, area: float) -> float:
        return float(AREA_VARIANCES[self.variance](area, self.n_pos, self.n_neg))


def _root(variance: float) -> float:
    """Return the square root of a variance, which can be 0 in Float64 for areas near 0."""
    return sqrt(max(variance, float_info.min))


def planned_binormal_variance(area: float, n_pos: int, n_neg: int) -> float:
    """Return Obuchowski's variance of an estimated area, for normal scores with equal variances."""
    # The formula omits the covariance of the two parameters of the binormal curve. The variance is
    # therefore larger than that of the nonparametric area, except for areas near 1/2 and near 1.
    # The rounded constants, 0.0099 for 1/(32π) and 1.414 for √2, are those of the paper and of
    # other programs.
    a = 1.414 * STANDARD_NORMAL.inv_cdf(area)
    factor = (5 * a**2 + 8) / n_pos + (a**2 + 8) / n_neg
    return 0.0099 * exp(-(a**2) / 2) * factor


AREA_VARIANCES: dict[VarianceFormula, Callable[[float, int, int], Any]] = {
    "hanley_mcneil_exponential": exponential_variance,
    "obuchowski": planned_binormal_variance,
}

Numbers: TypeAlias = "float | Sequence[float]"
Integers: TypeAlias = "int | Sequence[int]"

# For each argument: lower limit and upper limit, both exclusive, and an example.
OPEN_RANGES: dict[str, tuple[float, float, float]] = {
    "auc": (0, 1, 0.8),
    "null": (0, 1, 0.5),
    "auc_b": (0, 1, 0.8),
    "correlation": (-1, 1, 0.5),
    "ratio": (0, inf, 2),
    "power": (0, 1, 0.8),
    "alpha": (0, 1, 0.05),
}


def parse_planning_options(
    *, alternative: str, variance: str, se_at: str, null: object, **numbers: object
) -> Iterator[dict[str, Any]]:
    """Check all options, and yield each combination of their values; the last varies fastest."""
    check_alternative(alternative)
    check_choice("variance", variance, get_args(VarianceFormula))
    check_choice("se_at", se_at, get_args(SeAt))
    auc_b, correlation = numbers["auc_b"], numbers["correlation"]
    if auc_b is None and correlation is not None:
        problem = "a correlation requires the area of a second model"
        hint = "Pass auc_b= as well, or omit correlation=."
        raise OptionValueError.compose("correlation", correlation, problem, hint)
    if auc_b is not None and correlation is None:
        problem = "a second model requires the correlation of the two estimated areas"
        hint = (
            "Use, for example, correlation=0.5. Use correlation=0 for models with different rows."
        )
        raise OptionValueError.compose("auc_b", auc_b, problem, hint)
    nulls = _parse_planning_numbers("null", null)
    if auc_b is not None and nulls != [0.5]:
        problem = "the null hypothesis for two models is that their areas are equal"
        raise OptionValueError.compose("null", null, problem, "Omit null= or auc_b=.")
    values: dict[str, list[Any]] = {
        "alternative": [alternative],
        "variance": [variance],
        "se_at": [se_at],
        "null": nulls if auc_b is None else [None],
    }
    for name, value in numbers.items():
        optional = value is None and name in ("auc_b", "correlation")
        values[name] = [None] if optional else _parse_planning_numbers(name, value)
    for combination in product(*values.values()):
        options = dict(zip(values, combination, strict=True))
        if "power" in options and not options["power"] > options["alpha"]:
            problem = f"expected a power above alpha={options['alpha']:g}"
            hint = "Use, for example, power=0.8."
            raise OptionValueError.compose("power", options["power"], problem, hint)
        yield options


def _parse_planning_numbers(argument: str, value: object) -> list[float]:
    """Return the value or values of an argument as a list of numbers."""
    values = to_list(value)
    if not values:
        hint = "Pass one value or several."
        raise OptionValueError.compose(argument, value, "the list is empty", hint)
    if argument in ("n_pos", "n_neg"):
        return [parse_integer(argument, number) for number in values]
    low, high, example = OPEN_RANGES[argument]
    return [
        parse_number(argument, number, low=low, high=high, example=example) for number in values
    ]
