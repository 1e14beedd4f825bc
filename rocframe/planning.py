"""Power, sample size and detectable difference of tests of an AUC."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil, exp, floor, inf, sqrt
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import polars as pl

from rocframe.errors import OptionValueError
from rocframe.inference.p_values import check_alternative
from rocframe.options import as_number, check_choice, share, whole
from rocframe.schemas import PLAN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rocframe.inference.p_values import Alternative


def power(
    *,
    auc: Several,
    null: Several = 0.5,
    auc_b: Several | None = None,
    correlation: Several | None = None,
    n_pos: SeveralWhole,
    n_neg: SeveralWhole,
    alpha: Several = 0.05,
    alternative: Alternative = "two-sided",
    variance: Variance = "hanley_mcneil_exponential",
    se_at: SeAt = "estimate",
) -> pl.DataFrame:
    """Plan the power of tests of an AUC: how likely they are to find the difference that is there.

    Of one model against a given area, or of two models against each other. Each argument takes
    one value or several, and there is a row for each combination of them.

    Parameters
    ----------
    auc : float or sequence of float
        Assumed area of the model, between 0 and 1.
    null : float or sequence of float, default 0.5
        Area under the null hypothesis, between 0 and 1. 0.5 is chance. For one model only.
    auc_b : float or sequence of float, default None
        Assumed area of a second model, on as many rows of each class. The test is then that of a
        difference of 0, and the null hypothesis is that both areas equal `auc_b`.
    correlation : float or sequence of float, default None
        Correlation of the two estimated areas, between -1 and 1. For models that score the same
        rows it is slightly below the correlation of their scores within a class. For separate rows
        it is 0.
    n_pos : int or sequence of int
        Number of positive rows.
    n_neg : int or sequence of int
        Number of negative rows.
    alpha : float or sequence of float, default 0.05
        Significance level of the test: the probability of a false rejection.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        Alternative hypothesis: the true area differs from the null (`"two-sided"`), is larger
        (`"greater"`) or is smaller (`"less"`).
    variance : str, optional
        Formula for the variance of an estimated area. `"hanley_mcneil_exponential"` is exact for
        exponential scores and close for many others. `"obuchowski"` is for ratings of normal
        scores; it is larger, and requires more rows, at areas from about 0.7 to 0.95, and smaller
        near 0.5 and near 1.
    se_at : {"estimate", "null"}, default "estimate"
        Area at which the standard error of the test is computed: `"estimate"` for DeLong's tests
        (`auc_test`, `compare`); `"null"`, under the null hypothesis, for published formulas and for
        the permutation and Mann-Whitney tests against chance.

    Returns
    -------
    DataFrame
        `difference, n_pos, n_neg, power, auc, null, auc_b, correlation, se, se_null, ratio,
        target, alpha, alternative, variance, se_at, note`; a row per combination, in the order of
        the values given. `power` is the chance of a p-value of at most `alpha`. `null` is null for
        two models, and `auc_b` and `correlation` for one; `target` and `note` always are. `se_null`
        and `se` are standard errors of the estimated difference, under the null hypothesis and as
        planned.

    Raises
    ------
    OptionValueError
        If a value is outside its range, a list has none in it, `auc_b` and `correlation` do not
        come together, or `null` is given for two models.
    UnknownOptionError
        If `alternative`, `variance` or `se_at` is not one of its set.

    Notes
    -----
    The estimated area is taken to be normal. That is rough for few rows and areas near 1: with
    fewer than 10 rows of a class the numbers say little, and where all pairs are in order DeLong's
    test has no p-value. Two models may change places, unless the standard error is that under the
    null hypothesis, where both have the second one's area. Rows are independent: many rows of one
    person count for less.

    References
    ----------
    J. A. Hanley, B. J. McNeil (1982), "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve", Radiology 143(1), 29-36. doi:10.1148/radiology.143.1.7063747

    J. A. Hanley, B. J. McNeil (1983), "A method of comparing the areas under receiver operating
    characteristic curves derived from the same cases", Radiology 148(3), 839-843.
    doi:10.1148/radiology.148.3.6878708

    N. A. Obuchowski, D. K. McClish (1997), "Sample size determination for diagnostic accuracy
    studies involving binormal ROC curve indices", Statistics in Medicine 16(13), 1529-1542.
    doi:10.1002/(SICI)1097-0258(19970715)16:13<1529::AID-SIM565>3.0.CO;2-H

    Examples
    --------
    >>> import rocframe as rf
    >>> plans = rf.power(auc=0.7, n_pos=[20, 40], n_neg=80)
    >>> plans.select("n_pos", "n_neg", "power", "auc", "null")
    shape: (2, 5)
    ┌───────┬───────┬──────────┬─────┬──────┐
    │ n_pos ┆ n_neg ┆ power    ┆ auc ┆ null │
    │ ---   ┆ ---   ┆ ---      ┆ --- ┆ ---  │
    │ i64   ┆ i64   ┆ f64      ┆ f64 ┆ f64  │
    ╞═══════╪═══════╪══════════╪═════╪══════╡
    │ 20    ┆ 80    ┆ 0.809272 ┆ 0.7 ┆ 0.5  │
    │ 40    ┆ 80    ┆ 0.966058 ┆ 0.7 ┆ 0.5  │
    └───────┴───────┴──────────┴─────┴──────┘
    """
    asked = combinations(
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
    return plans(row({}, Plan(**one)) for one in asked)


LARGEST = 10**12  # rows: more than anybody has

FEWEST = 10  # rows of a class: below, the normal approximation does not hold

ROUNDING = 1e-12


def sample_size(
    *,
    auc: Several,
    null: Several = 0.5,
    auc_b: Several | None = None,
    correlation: Several | None = None,
    ratio: Several = 1.0,
    power: Several = 0.8,
    alpha: Several = 0.05,
    alternative: Alternative = "two-sided",
    variance: Variance = "hanley_mcneil_exponential",
    se_at: SeAt = "estimate",
) -> pl.DataFrame:
    """Plan how many rows it takes to find a difference of areas with the power that is wanted.

    Of one model against a given area, or of two models against each other. Each argument takes
    one value or several, and there is a row for each combination of them.

    Parameters
    ----------
    auc : float or sequence of float
        Assumed area of the model, between 0 and 1.
    null : float or sequence of float, default 0.5
        Area under the null hypothesis, between 0 and 1. 0.5 is chance. For one model only.
    auc_b : float or sequence of float, default None
        Assumed area of a second model, on as many rows of each class. The test is then that of a
        difference of 0, and the null hypothesis is that both areas equal `auc_b`.
    correlation : float or sequence of float, default None
        Correlation of the two estimated areas, between -1 and 1. For models that score the same
        rows it is slightly below the correlation of their scores within a class. For separate rows
        it is 0.
    ratio : float or sequence of float, default 1.0
        Negatives per positive.
    power : float or sequence of float, default 0.8
        Required power of the test, above `alpha`.
    alpha : float or sequence of float, default 0.05
        Significance level of the test: the probability of a false rejection.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        Alternative hypothesis: the true area differs from the null (`"two-sided"`), is larger
        (`"greater"`) or is smaller (`"less"`).
    variance : str, optional
        Formula for the variance of an estimated area. `"hanley_mcneil_exponential"` is exact for
        exponential scores and close for many others. `"obuchowski"` is for ratings of normal
        scores; it is larger, and requires more rows, at areas from about 0.7 to 0.95, and smaller
        near 0.5 and near 1.
    se_at : {"estimate", "null"}, default "estimate"
        Area at which the standard error of the test is computed: `"estimate"` for DeLong's tests
        (`auc_test`, `compare`); `"null"`, under the null hypothesis, for published formulas and for
        the permutation and Mann-Whitney tests against chance.

    Returns
    -------
    DataFrame
        `difference, n_pos, n_neg, power, auc, null, auc_b, correlation, se, se_null, ratio,
        target, alpha, alternative, variance, se_at, note`; a row per combination, in the order of
        the values given. `n_pos` is the smallest number of positives that, with `ratio` times as
        many negatives, rounded up to `n_neg`, reaches the power wanted, which is in `target`, with
        at least 10 rows of each class; `power` is the one that is reached. Where no number of rows
        does, say because there is no difference or it lies on the other side, these are null, the
        standard errors too, and `note` is `no_solution`. `se_null` and `se` are standard errors of
        the estimated difference, under the null hypothesis and as planned.

    Raises
    ------
    OptionValueError
        If a value is outside its range, a list has none in it, `auc_b` and `correlation` do not
        come together, or `null` is given for two models.
    UnknownOptionError
        If `alternative`, `variance` or `se_at` is not one of its set.

    Notes
    -----
    The estimated area is taken to be normal. That is rough for few rows and areas near 1, so there
    are at least 10 rows of each class: below, the normal approximation behind these tests does not
    hold. Where all pairs are in order DeLong's test has no p-value. Two models may change places,
    unless the standard error is that under the null hypothesis, where both have the second one's
    area. Rows are independent: many rows of one person count for less.

    References
    ----------
    J. A. Hanley, B. J. McNeil (1982), "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve", Radiology 143(1), 29-36. doi:10.1148/radiology.143.1.7063747

    J. A. Hanley, B. J. McNeil (1983), "A method of comparing the areas under receiver operating
    characteristic curves derived from the same cases", Radiology 148(3), 839-843.
    doi:10.1148/radiology.148.3.6878708

    N. A. Obuchowski, D. K. McClish (1997), "Sample size determination for diagnostic accuracy
    studies involving binormal ROC curve indices", Statistics in Medicine 16(13), 1529-1542.
    doi:10.1002/(SICI)1097-0258(19970715)16:13<1529::AID-SIM565>3.0.CO;2-H

    Examples
    --------
    >>> import rocframe as rf
    >>> plans = rf.sample_size(auc=[0.7, 0.8], ratio=4)
    >>> plans.select("n_pos", "n_neg", "power", "auc", "null", "target")
    shape: (2, 6)
    ┌───────┬───────┬──────────┬─────┬──────┬────────┐
    │ n_pos ┆ n_neg ┆ power    ┆ auc ┆ null ┆ target │
    │ ---   ┆ ---   ┆ ---      ┆ --- ┆ ---  ┆ ---    │
    │ i64   ┆ i64   ┆ f64      ┆ f64 ┆ f64  ┆ f64    │
    ╞═══════╪═══════╪══════════╪═════╪══════╪════════╡
    │ 20    ┆ 80    ┆ 0.809272 ┆ 0.7 ┆ 0.5  ┆ 0.8    │
    │ 10    ┆ 40    ┆ 0.920464 ┆ 0.8 ┆ 0.5  ┆ 0.8    │
    └───────┴───────┴──────────┴─────┴──────┴────────┘
    """
    asked = combinations(
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
    found = []
    for one in asked:
        check_target(one)
        found.append(row(one, _smallest(**one)))
    return plans(found)


def _smallest(*, ratio: float, power: float, **given: Any) -> Plan | None:
    """Return the plan with the fewest positives that reaches a power."""

    def with_rows(n_pos: int) -> Plan:
        # A whole number of negatives that rounding puts just above itself stays.
        n_neg = ceil(ratio * n_pos * (1 - ROUNDING))
        return Plan(n_pos=n_pos, n_neg=n_neg, **given)

    if not 1 / LARGEST <= ratio <= LARGEST:
        return None
    few = max(FEWEST, floor((FEWEST - 1) / ratio * (1 + ROUNDING)) + 1) - 1
    enough = few + 1
    while (plan := with_rows(enough)).power < power:
        if max(plan.n_pos, plan.n_neg) > LARGEST:
            return None
        few, enough = enough, 2 * enough
    while enough - few > 1:
        middle = (few + enough) // 2
        if with_rows(middle).power < power:
            few = middle
        else:
            enough = middle
    return with_rows(enough)


# Parts of the way to an area of 0 or 1, up to as near as the formulas go.
STRETCHES = (*(i / 256 for i in range(1, 256)), *(1 - 0.5**i for i in range(9, 30)))

HALVINGS = 60  # of a stretch: more than Float64 resolves


def detectable_difference(
    *,
    null: Several = 0.5,
    auc_b: Several | None = None,
    correlation: Several | None = None,
    n_pos: SeveralWhole,
    n_neg: SeveralWhole,
    power: Several = 0.8,
    alpha: Several = 0.05,
    alternative: Alternative = "two-sided",
    variance: Variance = "hanley_mcneil_exponential",
    se_at: SeAt = "estimate",
) -> pl.DataFrame:
    """Plan the smallest difference of areas that so many rows find with the power that is wanted.

    Of one model from a given area, or of two models from each other. Each argument takes one
    value or several, and there is a row for each combination of them.

    Parameters
    ----------
    null : float or sequence of float, default 0.5
        Area under the null hypothesis, between 0 and 1. 0.5 is chance. For one model only.
    auc_b : float or sequence of float, default None
        Assumed area of a second model, on as many rows of each class. The test is then that of a
        difference of 0, and the null hypothesis is that both areas equal `auc_b`.
    correlation : float or sequence of float, default None
        Correlation of the two estimated areas, between -1 and 1. For models that score the same
        rows it is slightly below the correlation of their scores within a class. For separate rows
        it is 0.
    n_pos : int or sequence of int
        Number of positive rows.
    n_neg : int or sequence of int
        Number of negative rows.
    power : float or sequence of float, default 0.8
        Required power of the test, above `alpha`.
    alpha : float or sequence of float, default 0.05
        Significance level of the test: the probability of a false rejection.
    alternative : {"two-sided", "greater", "less"}, default "two-sided"
        Alternative hypothesis: the true area differs from the null (`"two-sided"`), is larger
        (`"greater"`) or is smaller (`"less"`).
    variance : str, optional
        Formula for the variance of an estimated area. `"hanley_mcneil_exponential"` is exact for
        exponential scores and close for many others. `"obuchowski"` is for ratings of normal
        scores; it is larger, and requires more rows, at areas from about 0.7 to 0.95, and smaller
        near 0.5 and near 1.
    se_at : {"estimate", "null"}, default "estimate"
        Area at which the standard error of the test is computed: `"estimate"` for DeLong's tests
        (`auc_test`, `compare`); `"null"`, under the null hypothesis, for published formulas and for
        the permutation and Mann-Whitney tests against chance.

    Returns
    -------
    DataFrame
        `difference, n_pos, n_neg, power, auc, null, auc_b, correlation, se, se_null, ratio,
        target, alpha, alternative, variance, se_at, note`; a row per combination, in the order of
        the values given. `auc` is the area nearest to `null`, or to `auc_b`, that reaches the power
        wanted, which is in `target`; it lies above, or below if `alternative` is `"less"`.
        `difference` is how far it is from there, and `power` what is reached. Where no area does,
        for there are too few rows, these are null, the standard errors too, and `note` is
        `no_solution`. `se_null` and `se` are standard errors of the estimated difference, under the
        null hypothesis and as planned.

    Raises
    ------
    OptionValueError
        If a value is outside its range, a list has none in it, `auc_b` and `correlation` do not
        come together, or `null` is given for two models.
    UnknownOptionError
        If `alternative`, `variance` or `se_at` is not one of its set.

    Notes
    -----
    The estimated area is taken to be normal. That is rough for few rows and areas near 1: with
    fewer than 10 rows of a class the numbers say little, and where all pairs are in order DeLong's
    test has no p-value. Under the null hypothesis both of two models have the area `auc_b`. Rows
    are independent: many rows of one person count for less.

    References
    ----------
    J. A. Hanley, B. J. McNeil (1982), "The meaning and use of the area under a receiver operating
    characteristic (ROC) curve", Radiology 143(1), 29-36. doi:10.1148/radiology.143.1.7063747

    J. A. Hanley, B. J. McNeil (1983), "A method of comparing the areas under receiver operating
    characteristic curves derived from the same cases", Radiology 148(3), 839-843.
    doi:10.1148/radiology.148.3.6878708

    N. A. Obuchowski, D. K. McClish (1997), "Sample size determination for diagnostic accuracy
    studies involving binormal ROC curve indices", Statistics in Medicine 16(13), 1529-1542.
    doi:10.1002/(SICI)1097-0258(19970715)16:13<1529::AID-SIM565>3.0.CO;2-H

    Examples
    --------
    >>> import rocframe as rf
    >>> plans = rf.detectable_difference(n_pos=[10, 30, 300], n_neg=300)
    >>> plans.select("difference", "n_pos", "n_neg", "auc", "null", "note")
    shape: (3, 6)
    ┌────────────┬───────┬───────┬──────────┬──────┬──────┐
    │ difference ┆ n_pos ┆ n_neg ┆ auc      ┆ null ┆ note │
    │ ---        ┆ ---   ┆ ---   ┆ ---      ┆ ---  ┆ ---  │
    │ f64        ┆ i64   ┆ i64   ┆ f64      ┆ f64  ┆ str  │
    ╞════════════╪═══════╪═══════╪══════════╪══════╪══════╡
    │ 0.252752   ┆ 10    ┆ 300   ┆ 0.752752 ┆ 0.5  ┆ null │
    │ 0.157911   ┆ 30    ┆ 300   ┆ 0.657911 ┆ 0.5  ┆ null │
    │ 0.065397   ┆ 300   ┆ 300   ┆ 0.565397 ┆ 0.5  ┆ null │
    └────────────┴───────┴───────┴──────────┴──────┴──────┘
    """
    asked = combinations(
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
    found = []
    for one in asked:
        check_target(one)
        found.append(row(one, _nearest(**one)))
    return plans(found)


def _nearest(*, power: float, **given: Any) -> Plan | None:
    """Return the plan with the smallest difference that reaches a power."""
    start = given["null"] if given["auc_b"] is None else given["auc_b"]
    end = 0.0 if given["alternative"] == "less" else 1.0

    def away(part: float) -> Plan:
        return Plan(auc=start + part * (end - start), **given)

    # Power need not rise all the way: look for the first stretch at whose end it is reached.
    near = 0.0
    for far in STRETCHES:
        if away(far).power >= power:
            break
        near = far
    else:
        return None
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        if away(middle).power < power:
            near = middle
        else:
            far = middle
    return away(far)


SeAt = Literal["estimate", "null"]

NORMAL = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One area against a given one, or against that of another model on rows of the same sizes.

    The null hypothesis is that the area is `null`, or that both are `auc_b`. `se_at` says whether
    the test divides by the standard error where the areas are, or under the null hypothesis.
    """

    auc: float
    null: float | None
    auc_b: float | None
    correlation: float | None
    n_pos: int
    n_neg: int
    alpha: float
    alternative: Alternative
    variance: Variance
    se_at: SeAt

    @property
    def reference(self) -> float:
        """The area that `auc` is compared with."""
        area = self.null if self.auc_b is None else self.auc_b
        assert area is not None
        return area

    @property
    def difference(self) -> float:
        """How far the area is from it."""
        return self.auc - self.reference

    @property
    def se_null(self) -> float:
        """Standard error of the difference under the null hypothesis."""
        own = self._variance(self.reference)
        return sqrt(own if self.correlation is None else 2 * own * (1 - self.correlation))

    @property
    def se(self) -> float:
        """Standard error of the difference that is there."""
        own = self._variance(self.auc)
        if self.auc_b is None or self.correlation is None:
            return sqrt(own)
        other = self._variance(self.auc_b)
        return sqrt(own + other - 2 * self.correlation * sqrt(own * other))

    @property
    def power(self) -> float:
        """How likely the test is to find the difference."""
        sides = 2 if self.alternative == "two-sided" else 1
        se = self.se
        boundary = se if self.se_at == "estimate" else self.se_null
        least = NORMAL.inv_cdf(1 - self.alpha / sides) * boundary
        above = NORMAL.cdf((self.difference - least) / se)
        below = NORMAL.cdf((-self.difference - least) / se)
        return {"two-sided": above + below, "greater": above, "less": below}[self.alternative]

    def _variance(self, area: float) -> float:
        return variance_of(self.variance, area, self.n_pos, self.n_neg)


Several: TypeAlias = "float | Sequence[float]"

SeveralWhole: TypeAlias = "int | Sequence[int]"


def check_area(argument: str, value: object) -> float:
    """Check an area; at 0 and 1 the variance has no formula."""
    return share(argument, value, "an area is between 0 and 1", f"Give, say, {argument}=0.8.")


def check_alpha(argument: str, value: object) -> float:
    """Check a level of significance."""
    wrong = "the chance of a false alarm is a number between 0 and 1"
    return share(argument, value, wrong, "Give, say, alpha=0.05.")


def check_power(argument: str, value: object) -> float:
    """Check a power that is wanted."""
    wrong = "the chance to find a difference is a number between 0 and 1"
    return share(argument, value, wrong, "Give, say, power=0.8.")


def check_ratio(argument: str, value: object) -> float:
    """Check how many negatives there are per positive."""
    number = as_number(value)
    if number is None or not 0 < number < inf:
        wrong = "there are more than 0 negatives per positive"
        raise OptionValueError.of(argument, value, wrong, "Give, say, ratio=2.")
    return number


def check_correlation(argument: str, value: object) -> float:
    """Check how far two estimated areas go together."""
    number = as_number(value)
    if number is None or not -1 < number < 1:
        wrong = "a correlation is between -1 and 1"
        raise OptionValueError.of(argument, value, wrong, "Give, say, correlation=0.5.")
    return number


def check_rows(argument: str, value: object) -> int:
    """Check the rows of a class."""
    return whole(argument, value)


CHECKS: dict[str, Callable[[str, object], float]] = {
    "auc": check_area,
    "null": check_area,
    "auc_b": check_area,
    "correlation": check_correlation,
    "n_pos": check_rows,
    "n_neg": check_rows,
    "ratio": check_ratio,
    "power": check_power,
    "alpha": check_alpha,
}


def combinations(
    *, alternative: str, variance: str, se_at: str, null: object, **given: object
) -> Iterator[dict[str, Any]]:
    """Check everything, and yield each combination of the values given, the last the quickest."""
    check_alternative(alternative)
    check_choice("variance", variance, get_args(Variance))
    check_choice("se_at", se_at, get_args(SeAt))
    _check_models(null, given["auc_b"], given["correlation"])
    chosen = {"alternative": alternative, "variance": variance, "se_at": se_at}
    values: dict[str, list[Any]] = {name: [choice] for name, choice in chosen.items()}
    given = {"null": None if given["auc_b"] is not None else null, **given}
    values |= {name: _each(name, value) for name, value in given.items()}
    for combination in product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def _each(argument: str, given: object) -> list[Any]:
    """Check one value or several; nothing is one value."""
    if given is None and argument in {"null", "auc_b", "correlation"}:
        return [None]
    several = not isinstance(given, str | bytes) and hasattr(given, "__iter__")
    values: list[object] = list(given) if several else [given]  # type: ignore[call-overload]
    if not values:
        raise OptionValueError.of(
            argument, given, "there is no value in it", "Give one value or several."
        )
    return [CHECKS[argument](argument, value) for value in values]


def _check_models(null: object, auc_b: object, correlated: object) -> None:
    """Check that it is one model against a given area, or two against each other."""
    if auc_b is None and correlated is not None:
        wrong = "there is no second area to be correlated with"
        raise OptionValueError.of(
            "correlation", correlated, wrong, "Give auc_b too, or leave it out."
        )
    if auc_b is not None and correlated is None:
        raise OptionValueError.of(
            "auc_b",
            auc_b,
            "nobody says how far the two estimated areas are correlated",
            "Say, for instance, correlation=0.5; it is 0 for two models on different rows.",
        )
    if auc_b is not None and null != 0.5:
        wrong = "of two models the null hypothesis is that they have the same area"
        raise OptionValueError.of("null", null, wrong, "Leave it out, or leave auc_b out.")


FOUND = ("difference", "se_null", "se", "power")


def row(asked: dict[str, Any], plan: Plan | None) -> dict[str, Any]:
    """Return the row of a plan: what was asked, then what was found; nothing, if there is none."""
    asked = {"target" if name == "power" else name: value for name, value in asked.items()}
    if plan is None:
        return {**asked, "note": "no_solution"}
    return {**asked, **{name: getattr(plan, name) for name in (*Plan.__slots__, *FOUND)}}


def plans(rows: Iterable[dict[str, Any]]) -> pl.DataFrame:
    """Return the table of all rows."""
    counts = pl.col("n_neg") / pl.col("n_pos")
    table = pl.DataFrame(list(rows), schema=PLAN.columns())
    return table.with_columns(ratio=pl.col("ratio").fill_null(counts))


def check_target(asked: dict[str, Any]) -> None:
    """Check that a power is one that takes a difference to reach."""
    if not asked["power"] > asked["alpha"]:
        raise OptionValueError.of(
            "power",
            asked["power"],
            f"a test at alpha={asked['alpha']:g} has that power without any difference",
            "Give, say, power=0.8.",
        )


Variance = Literal["hanley_mcneil_exponential", "obuchowski"]


def variance_of(variance: Variance, area: float, n_pos: int, n_neg: int) -> float:
    """Return the variance of an estimated area."""
    formula = exponential if variance == "hanley_mcneil_exponential" else binormal
    return formula(area, n_pos, n_neg)


def exponential(area: float, n_pos: int, n_neg: int) -> float:
    """Return the variance for scores that are exponential in both classes."""
    # The chances that a positive beats two negatives, and that two positives beat a negative.
    beats_two = 2 * area**2 / (1 + area)
    two_beat = area / (2 - area)
    own = (n_pos - 1) * (two_beat - area**2) + (n_neg - 1) * (beats_two - area**2)
    return (area * (1 - area) + own) / (n_pos * n_neg)


def binormal(area: float, n_pos: int, n_neg: int) -> float:
    """Return the variance for ratings of scores that are normal, equally spread in both classes."""
    # The covariance of the curve's two parameters is not in it, which makes it larger than the
    # variance of the area over all pairs, but for areas near 1/2 and near 1. 0.0099 for 1/(32π) and
    # 1.414 for √2 as published: other programs have them too.
    apart = 1.414 * NormalDist().inv_cdf(area)
    both = (5 * apart**2 + 8) / n_pos + (apart**2 + 8) / n_neg
    return 0.0099 * exp(-(apart**2) / 2) * both
