"""The verb `power`: areas and sizes → how likely a test is to find the difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from rocframe.inference.p_values import Alternative
    from rocframe.planning.given import Several, SeveralWhole
    from rocframe.planning.plan import SeAt
    from rocframe.planning.variance import Variance


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
    n_pos
        Positive rows.
    n_neg
        Negative rows.
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
    from rocframe.planning.given import combinations
    from rocframe.planning.plan import Plan
    from rocframe.planning.table import plans, row

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
