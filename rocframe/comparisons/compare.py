"""The verb `compare`: predictions of several models → how their areas differ, pair by pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rocframe.predictions import Roles
from rocframe.vocabulary import MODEL, comparison_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.comparisons.compared import Method
    from rocframe.comparisons.measure import Place
    from rocframe.comparisons.pairing import Unmatched
    from rocframe.comparisons.table import Whole
    from rocframe.frames import FrameT
    from rocframe.inference.adjust import Adjust
    from rocframe.inference.p_values import Alternative
    from rocframe.predictions import By, Column, Count, Missing, Scores


def compare(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - the word users have for it
    by: By = None,
    baseline: object = None,
    method: Method = "delong",
    fpr: Place | None = None,
    tpr: Place | None = None,
    standardize: Literal["mcclish"] | None = None,
    margin: float | None = None,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    adjust: Adjust | None = "holm",
    family: Whole = "group",
    unmatched: Unmatched = "raise",
    n_boot: int = 2000,
    n_perm: int = 2000,
    seed: int | None = None,
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
    missing: Missing = "raise",
) -> FrameT:
    """Compare the areas under the ROC curves of every two models in each group.

    Two models that scored the same rows are compared row by row, which is far sharper than
    comparing their intervals. `id` says which rows of the two are the same; scores that stand
    side by side need none.

    Parameters
    ----------
    predictions
        One row per prediction. A LazyFrame stays lazy.
    label
        Column or expression with the truth: Boolean, 0/1 numbers, or anything with `positive`.
    score
        Column or expression; higher means more positive. Any real number, never transformed. A
        list, a selector or a mapping from names to columns compares several models side by side.
    between
        Column that says whose prediction a row is, where models stand one below the other.
    id
        Column, or several, naming the instance that a row is about: what rows of different models
        share. It is there once for each model and group, in any order of rows.
    by
        Group columns: one name or several. A null key is a group.
    baseline
        The model that all others are compared with; without it every two are.
    method
        `"delong"`, from the variance of the difference on the same rows; `"delong_unpaired"`, for
        models that scored rows of their own: a t with Welch's degrees of freedom;
        `"bootstrap"`, of the same rows for both models, classes apart; `"permutation"`, which
        exchanges the ranks that the two gave; `"venkatraman"`, the same for whole curves: they may
        differ though their areas do not.
    fpr
        Range of the false positive rate, say `(0, 0.1)`, to compare partial areas over; or one
        false positive rate at which to compare true positive rates, by bootstrap.
    tpr
        Range of the true positive rate, or one at which to compare false positive rates.
    standardize
        `"mcclish"` puts a partial area on the scale where chance is 1/2 and the best is 1.
    margin
        Tests non-inferiority, one-sided: whether `b` is worse than `a`, which `baseline` has to
        name, by less than this. A p-value below 0.05 goes with limits of `level=0.9`.
    alternative
        `"two-sided"`, or `"greater"` or `"less"`: that `a` has the larger, or smaller, number.
    level
        Share of intervals that cover, between 0 and 1.
    adjust
        How p-values are adjusted for how many there are in a family: `"holm"`, the chance of any
        false claim; `"bh"` (Benjamini and Hochberg), the share of false ones among the claims;
        None for not at all.
    family
        What one family of tests is: the pairs of a `"group"`, or `"all"` rows of the result.
    unmatched
        What becomes of rows that only one of two models has: `"raise"` an error, or `"drop"` them
        and count them in `note`.
    n_boot
        How many resamples the bootstrap draws.
    n_perm
        How many exchanges of ranks are drawn. A group with no more of them than that has an exact
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
        `*by`, `model_a, model_b, difference, lower, upper, p_value, p_adjusted, se, statistic, df,
        auc_a, auc_b, n_paired, ci_level, test, note`; a row per group and pair of models that both
        have rows there, sorted by these. `difference` is `auc_a - auc_b`. Limits are those of the
        difference; they and `se` are null for tests that have none, and where the difference shows
        no variance: then p is 1 if the difference is 0 (1/2 one-sided, 0 with `margin`), and null
        otherwise. `statistic` is the distance from the null hypothesis in standard errors; of
        exchanged ranks it is the difference itself, and for `"venkatraman"` the errors by which the
        curves differ, added up over all ranks. `df` is null unless the statistic is a t. With a
        range the areas are `partial_auc_a` and `partial_auc_b`, with one rate `tpr_a` and `tpr_b`,
        or `fpr_a` and `fpr_b`. `n_paired` (Int64) counts the rows that both scored, null where rows
        are not paired. `ci_level` is `level`, and null for tests without limits. `test` names the
        method, with `_exact` where all exchanges were looked at. `note` (String) is null, or the
        first that applies of `no_rows, no_positives, no_negatives, one_positive, one_negative,
        zero_variance`, the number of replicates that were drawn again (`redrawn:3`), or of rows
        left out (`unmatched:3`).

    Raises
    ------
    PairingError
        If rows do not pair up: without `id`, with an id that is null or there twice, with rows that
        only one model has, or with two labels of one id.
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if labels
        do not say which class is positive, values are missing under `"raise"`, or a weight is
        negative or not finite.

    See Also
    --------
    contrast : Test more than two areas at once.
    auc_covariance : The matrix that all these variances come from.
    auc_test : Test one area against chance.

    Notes
    -----
    The test presumes rows that are independent of each other, or clusters that are, and models
    that were fitted on other rows. It says nothing of how a model would do if it were fitted anew.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
    correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    B. L. Welch (1947), "The generalization of 'Student's' problem when several different population
    variances are involved", Biometrika 34(1-2), 28-35. doi:10.1093/biomet/34.1-2.28

    N. A. Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53(2),
    567-578. doi:10.2307/2533958

    E. S. Venkatraman, C. B. Begg (1996), "A distribution-free procedure for comparing receiver
    operating characteristic curves from a paired experiment", Biometrika 83(4), 835-848.
    doi:10.1093/biomet/83.4.835

    A. I. Bandos, H. E. Rockette, D. Gur (2005), "A permutation test sensitive to differences in
    areas for comparing ROC curves from a paired design", Statistics in Medicine 24(18), 2873-2893.
    doi:10.1002/sim.2149

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 1, 0, 0], "a": [0.9, 0.8, 0.3, 0.3, 0.1], "b": [3, 1, 2, 3, 0]}
    ... )
    >>> pairs = rf.compare(predictions, "label", ["a", "b"])
    >>> pairs.select("model_a", "model_b", "p_value", "se", "auc_a", "auc_b", "n_paired")
    shape: (1, 7)
    ┌─────────┬─────────┬──────────┬──────────┬──────────┬──────────┬──────────┐
    │ model_a ┆ model_b ┆ p_value  ┆ se       ┆ auc_a    ┆ auc_b    ┆ n_paired │
    │ ---     ┆ ---     ┆ ---      ┆ ---      ┆ ---      ┆ ---      ┆ ---      │
    │ str     ┆ str     ┆ f64      ┆ f64      ┆ f64      ┆ f64      ┆ i64      │
    ╞═════════╪═════════╪══════════╪══════════╪══════════╪══════════╪══════════╡
    │ a       ┆ b       ┆ 0.331975 ┆ 0.343592 ┆ 0.916667 ┆ 0.583333 ┆ 5        │
    └─────────┴─────────┴──────────┴──────────┴──────────┴──────────┴──────────┘
    """
    # numpy and scipy load with the first comparison, not with the package.
    from rocframe.comparisons.compared import Plan, compared
    from rocframe.comparisons.pairing import Pairing
    from rocframe.comparisons.plan import compared_by

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
    plan = Plan.of(
        method,
        fpr=fpr,
        tpr=tpr,
        standardize=standardize,
        margin=margin,
        alternative=alternative,
        level=level,
        baseline=baseline,
        adjust=adjust,
        family=family,
        n_boot=n_boot,
        n_perm=n_perm,
        seed=seed,
    )
    plan.check(roles)
    pairing = Pairing.of(
        roles, between=between, id=id, unmatched=unmatched, paired=method != "delong_unpaired"
    )
    return compared_by(
        predictions,
        roles,
        pairing,
        lambda frame, pairs: compared(frame, pairs, plan),
        schema=lambda model: comparison_schema(model, plan.measure.name),
        anchor="test",
        # A baseline is looked for among all models, whichever groups they are in.
        apart=family == "group" and baseline is None,
    )
