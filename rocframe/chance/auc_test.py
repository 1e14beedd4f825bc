"""The verb `auc_test`: predictions → a test of each group's AUC against chance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.frames import like
from rocframe.predictions import Roles
from rocframe.tabulate import tabulated
from rocframe.vocabulary import auc_test_schema

if TYPE_CHECKING:
    import polars as pl

    from rocframe.cases import Cases
    from rocframe.chance.tested import Method
    from rocframe.frames import FrameT
    from rocframe.inference.adjust import Adjust
    from rocframe.inference.p_values import Alternative
    from rocframe.predictions import By, Column, Count, Missing, Scores


def auc_test(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    null: float = 0.5,
    method: Method = "delong",
    alternative: Alternative = "two-sided",
    adjust: Adjust | None = "holm",
    n_perm: int = 9_999,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
    missing: Missing = "raise",
) -> FrameT:
    """Test whether the AUC of each group is another than chance, or than any given area.

    The p-value says how likely an area at least as far from `null` is where the true area is
    `null`. It says nothing about how much better than chance a model is: for that see the
    interval of `auc`.

    Parameters
    ----------
    predictions
        One row per prediction. A LazyFrame stays lazy.
    label
        Column or expression with the truth: Boolean, 0/1 numbers, or anything with `positive`.
    score
        Column or expression; higher means more positive. Any real number, never transformed. A
        list, a selector or a mapping from names to columns compares several models side by side.
        It adds the key `model` (String) after `by`.
    by
        Group columns: one name or several. A null key is a group.
    null
        Area under the null hypothesis, between 0 and 1; 1/2 is chance.
    method
        `"delong"`, the difference over DeLong's standard error, for any `null`; or, for chance
        alone, `"permutation"`, dealing out the labels of a group anew, and `"mann_whitney"`, the
        normal limit of that. These two need rows that are exchangeable.
    alternative
        `"two-sided"`: the true area is another; `"greater"`: it is above; `"less"`: it is below.
    adjust
        How p-values are adjusted for how many there are in a family: `"holm"`, the chance of any
        false claim; `"bh"` (Benjamini and Hochberg), the share of false ones among the claims;
        None for not at all.
    n_perm
        How many permutations are drawn. A group with no more of them than that has an exact
        p-value, from all; in any other the smallest p-value there can be is 1 / (1 + n_perm).
    seed
        Whole number from 0 that fixes what is drawn; None draws anew each time. What a group draws
        depends on the seed and its key only.
    cluster
        Column or expression saying which rows belong together, such as those of one user: what
        varies is independent clusters, whose rows need not be.
    positive
        The value of `label` that is the positive class; all others are negative. Needed unless
        labels are Boolean or 0/1.
    weight
        Column or expression with the importance of a row, finite and at least 0.
    count
        Column or expression saying how many identical rows a row stands for; everything is what
        that many rows would give. A table with a column `count` needs a word: its name, or None.
    missing
        What becomes of rows whose label, score, weight or count is null or NaN: `"raise"` an
        error; `"drop"` them and count them; or `"worst"`, for scores only: an unscored positive
        is a false negative and an unscored negative a false positive at every threshold.

    Returns
    -------
    DataFrame or LazyFrame
        `*by`, (`model`,) `auc, p_value, p_adjusted, null, se, statistic, n_pos, n_neg, n_missing,
        test, note`; a row per group, sorted by group. `p_adjusted` is adjusted over the whole
        result. `statistic` is the difference of `auc` and `null` over `se`: DeLong's standard
        error, or that of an area by chance, ties allowed for. The three counts (Int64) are of rows,
        `count` included, also where rows are weighted; all else are Float64, but for the last two
        (String). `test` is `method`, or `permutation_exact`; it is never null. Without positives or
        without negatives `auc` and all that follows from it is null; under `"delong"` the p-value
        is null too where a class has one row or where the variance is 0, say at an AUC of 1. Where
        the variance is 0 and `auc` equals `null`, as for constant scores, the p-value is 1. `note`
        is null, or the first that applies of `no_rows, no_positives, no_negatives, one_positive,
        one_negative, zero_variance`.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if labels
        do not say which class is positive, values are missing under `"raise"`, or a weight is
        negative or not finite.
    OptionValueError
        If `null` is no area, or not 1/2 where labels are dealt out; if they are, and rows have
        weights or `missing` is `"worst"`; if `n_perm` or `seed` is no whole number.

    See Also
    --------
    auc : The areas, with intervals.
    compare : Test the difference of two models.
    power : Plan how likely such a test is to find what is there.

    Notes
    -----
    Two-sided permutation p-values compare distances from 1/2. Adjusted p-values depend on every
    group, so in a lazy plan no filter on groups is passed down to the predictions.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or
    more correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    H. B. Mann, D. R. Whitney (1947), "On a test of whether one of two random variables is
    stochastically larger than the other", Annals of Mathematical Statistics 18(1), 50-60.
    doi:10.1214/aoms/1177730491

    B. Phipson, G. K. Smyth (2010), "Permutation p-values should never be zero", Statistical
    Applications in Genetics and Molecular Biology 9(1), article 39. doi:10.2202/1544-6115.1585

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 1, 0, 0], "score": [0.9, 0.7, 0.7, 0.1]})
    >>> tests = rf.auc_test(predictions, "label", "score", method="permutation")
    >>> tests.select("auc", "p_value", "null", "test")
    shape: (1, 4)
    ┌───────┬──────────┬──────┬───────────────────┐
    │ auc   ┆ p_value  ┆ null ┆ test              │
    │ ---   ┆ ---      ┆ ---  ┆ ---               │
    │ f64   ┆ f64      ┆ f64  ┆ str               │
    ╞═══════╪══════════╪══════╪═══════════════════╡
    │ 0.875 ┆ 0.666667 ┆ 0.5  ┆ permutation_exact │
    └───────┴──────────┴──────┴───────────────────┘
    """
    # numpy loads with the first test, not with the package.
    from rocframe.chance.tested import Question, tested, with_adjusted
    from rocframe.counting.draws import Seed
    from rocframe.inference.adjust import check_adjust
    from rocframe.inference.p_values import check_alternative
    from rocframe.options import check_choice, share, whole

    check_choice("method", method, ("delong", "permutation", "mann_whitney"))
    check_alternative(alternative)
    check_adjust(adjust)
    question = Question(
        null=share("null", null, "an area is between 0 and 1", "Give, say, null=0.5."),
        method=method,
        alternative=alternative,
        n_perm=whole("n_perm", n_perm, most=10**9),
        seed=Seed.of(seed),
    )
    if method != "delong":
        _check_exchangeable(question.null, method, weight, cluster, missing)
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
        cluster=cluster,
    )

    def make(cases: Cases) -> pl.DataFrame:
        return tested(cases, question)

    table = tabulated(
        predictions,
        roles,
        make,
        columns=auc_test_schema(),
        anchor="n_pos",
        finish=lambda tests: with_adjusted(tests, adjust),
    )
    return like(predictions, table)


def _check_exchangeable(
    null: float, method: str, weight: Column | None, cluster: Column | None, missing: str
) -> None:
    """Check that labels can be dealt out anew among the rows."""
    from rocframe.errors import OptionValueError

    todo = f'Leave it out, or say method="delong" instead of {method!r}.'
    if null != 0.5:
        wrong = "dealing out labels anew is what a model by chance does, whose area is 0.5"
        raise OptionValueError.of("null", null, wrong, todo)
    if weight is not None:
        wrong = "labels cannot be dealt out anew among rows of different weight"
        raise OptionValueError.of("weight", weight, wrong, todo)
    if cluster is not None:
        wrong = "labels cannot be dealt out anew among rows that belong together"
        raise OptionValueError.of("cluster", cluster, wrong, todo)
    if missing == "worst":
        wrong = "what an unscored row counts for depends on its label, which is dealt out anew"
        raise OptionValueError.of("missing", missing, wrong, todo)
