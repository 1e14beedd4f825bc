"""The verb `sample_size`: areas and a power → how many rows it takes."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from rocframe.inference.p_values import Alternative
    from rocframe.planning.given import Several
    from rocframe.planning.plan import Plan, SeAt
    from rocframe.planning.variance import Variance

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
    auc
        Area of the model, between 0 and 1: what it is hoped, or feared, to be.
    null
        Area under the null hypothesis, between 0 and 1; 1/2 is chance. For one model.
    auc_b
        Area of a second model, which the first is compared with on rows of the same sizes. The
        null hypothesis is then that both have this area.
    correlation
        Correlation of the two estimated areas, between -1 and 1: a little below that of the
        scores within a class where both models see the same rows, 0 where each sees its own.
    ratio
        Negatives per positive.
    power
        Chance to find the difference that is to be reached, above `alpha`.
    alpha
        Chance of a false alarm: p-values up to this are called a difference.
    alternative
        `"two-sided"`: the true area is another; `"greater"`: it is above; `"less"`: it is below.
    variance
        Formula for the variance of an estimated area: `"hanley_mcneil_exponential"`, exact for
        exponential scores and near for many others; or `"obuchowski"`, made for ratings of normal
        scores, which is larger, and asks for more rows, at areas from about 0.7 to 0.95, and
        smaller near 1/2 and near 1.
    se_at
        Where the test takes its standard error: `"estimate"`, as DeLong's tests do in `auc_test`
        and `compare`; or `"null"`, under the null hypothesis, as published formulas do, and, for
        one model against chance, the permutation and Mann-Whitney tests.

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
    from rocframe.planning.given import combinations
    from rocframe.planning.table import check_target, plans, row

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
    from rocframe.planning.plan import Plan

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
