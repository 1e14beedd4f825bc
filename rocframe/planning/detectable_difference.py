"""The verb `detectable_difference`: sizes and a power → the smallest difference that is found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

    from rocframe.inference.p_values import Alternative
    from rocframe.planning.given import Several, SeveralWhole
    from rocframe.planning.plan import Plan, SeAt
    from rocframe.planning.variance import Variance

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
    from rocframe.planning.given import combinations
    from rocframe.planning.table import check_target, plans, row

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
    from rocframe.planning.plan import Plan

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
