"""The verb `auc_covariance`: predictions of several models → how their areas vary together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rocframe.predictions import Roles
from rocframe.vocabulary import MODEL, covariance_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.areas.part import Range
    from rocframe.comparisons.pairing import Unmatched
    from rocframe.frames import FrameT
    from rocframe.predictions import By, Column, Count, Missing, Scores


def auc_covariance(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - the word users have for it
    by: By = None,
    fpr: Range | None = None,
    tpr: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    unmatched: Unmatched = "raise",
    cluster: Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
    missing: Missing = "raise",
) -> FrameT:
    """Estimate the covariance matrix of the areas of all models in each group.

    It is DeLong's, from the placements of the rows that all models of the group scored. From it
    follows the variance of any sum or difference of areas.

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
    fpr
        Range of the false positive rate, say `(0, 0.1)`: the integral of TPR over it.
    tpr
        Range of the true positive rate, say `(0.9, 1)`: the integral of 1 - FPR over it.
    standardize
        `"mcclish"` puts a partial area on the scale where chance is 1/2 and the best is 1.
    unmatched
        What becomes of rows that only some of the models have: `"raise"` an error, or `"drop"`
        them and count them in `note`.
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
        `*by`, `model_a, model_b, covariance, correlation, auc_a, auc_b, n_pos, n_neg, note`; a row
        per group and ordered pair of its models, a model with itself among them, sorted by these:
        the covariance there is the variance of the area. Both covariance and correlation (in
        [-1, 1]) are null where a class has fewer than two rows, or clusters; the correlation also
        where a variance is 0. With `fpr` or `tpr` the areas are `partial_auc_a` and
        `partial_auc_b`.
        `n_pos` and `n_neg` (Int64) count the rows that all models scored. `note` (String) is null,
        or the first that applies of `no_rows, no_positives, no_negatives, one_positive,
        one_negative, zero_variance`, or the number of rows left out (`unmatched:3`).

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
    compare : Test every two models of a group.
    contrast : Test more than two areas at once.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or more
    correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    N. A. Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53(2),
    567-578. doi:10.2307/2533958

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 0, 0], "a": [0.9, 0.3, 0.3, 0.1], "b": [2, 3, 3, 0]}
    ... )
    >>> matrix = rf.auc_covariance(predictions, "label", ["a", "b"])
    >>> matrix.select("model_a", "model_b", "covariance", "auc_a", "auc_b")
    shape: (4, 5)
    ┌─────────┬─────────┬────────────┬───────┬───────┐
    │ model_a ┆ model_b ┆ covariance ┆ auc_a ┆ auc_b │
    │ ---     ┆ ---     ┆ ---        ┆ ---   ┆ ---   │
    │ str     ┆ str     ┆ f64        ┆ f64   ┆ f64   │
    ╞═════════╪═════════╪════════════╪═══════╪═══════╡
    │ a       ┆ a       ┆ 0.03125    ┆ 0.875 ┆ 0.875 │
    │ a       ┆ b       ┆ 0.03125    ┆ 0.875 ┆ 0.625 │
    │ b       ┆ a       ┆ 0.03125    ┆ 0.625 ┆ 0.875 │
    │ b       ┆ b       ┆ 0.15625    ┆ 0.625 ┆ 0.625 │
    └─────────┴─────────┴────────────┴───────┴───────┘
    """
    # numpy and scipy load with the first comparison, not with the package.
    from rocframe.areas.part import Part
    from rocframe.comparisons.measure import Measure
    from rocframe.comparisons.pairing import Pairing
    from rocframe.comparisons.plan import compared_by
    from rocframe.comparisons.together import covariance_table

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
    measure = Measure(part=Part.of(fpr, tpr, standardize))
    pairing = Pairing.of(roles, between=between, id=id, unmatched=unmatched, least=1)
    return compared_by(
        predictions,
        roles,
        pairing,
        lambda frame, pairs: covariance_table(frame, pairs, measure),
        schema=lambda model: covariance_schema(model, measure.name),
        anchor="n_pos",
        apart=True,
    )
