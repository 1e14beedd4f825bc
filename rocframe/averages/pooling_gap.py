"""The verb `pooling_gap`: predictions of folds → why the area of all rows is not the mean's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.averages.over import as_over, having
from rocframe.frames import like
from rocframe.predictions import Roles
from rocframe.tabulate import tabulated
from rocframe.vocabulary import as_names, pooling_gap_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.cases import Cases
    from rocframe.frames import FrameT
    from rocframe.predictions import By, Column, Count, Missing, Scores


def pooling_gap(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    over: str | Sequence[str] = "fold",
    by: By = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
    missing: Missing = "raise",
) -> FrameT:
    """Split what pooling the folds of each group does to the area under the curve.

    The area of all rows together is the share of pairs of a positive and a negative that are in
    order. Within a fold both have the same model's score; between folds they have not, and where
    one fold's scores lie higher than another's, such pairs say little about any model.

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
    over
        Column that says which fold a row was tested in, or several.
    by
        Group columns: one name or several. A null key is a group.
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
        `*by`, (`model`,) `gap, pooled_auc, mean_auc, gap_between, gap_within, between_share,
        between_auc, within_auc, worst_positives, worst_negatives, worst_auc, worst_gap, n_curves,
        n_pos, n_neg, n_missing, note`; a row per group, sorted by group. `gap` (Float64, as all
        the others but the three of text and the four counts) is `pooled_auc` less `mean_auc`.
        `gap_between` is what pairs between folds do to it: `between_share` of all pairs, whose
        area is `between_auc`, where that of pairs within folds is `within_auc`. `gap_within` is the
        rest: large folds have more pairs, but in the mean each fold counts the same. The positives
        of the fold `worst_positives` and the negatives of `worst_negatives` (String) are the pair
        of folds that moves the area most: theirs is `worst_auc`, and it moves it by `worst_gap`.
        `n_curves` (Int64) counts the folds that have both classes, and the next three (Int64) count
        all rows. What has no pairs is null. `note` is as in `fold_auc`.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if labels
        do not say which class is positive, values are missing under `"raise"`, or a weight is
        negative or not finite.
    OptionValueError
        If `over` names no column.

    See Also
    --------
    fold_auc : The mean of the areas of folds, and its interval.

    Notes
    -----
    A table of all pairs of folds is held in memory: time and memory grow with the square of the
    number of folds. 2,000 folds take seconds, and 10,000 some gigabytes.

    References
    ----------
    G. Forman, M. Scholz (2010), "Apples-to-apples in cross-validation studies: pitfalls in
    classifier performance measurement", ACM SIGKDD Explorations 12(1), 49-57.
    doi:10.1145/1882471.1882479

    Examples
    --------
    The model of each fold is perfect, but their scores do not mean the same:

    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"fold": [1, 1, 2, 2], "label": [1, 0, 1, 0], "score": [0.9, 0.8, 0.3, 0.2]}
    ... )
    >>> gap = rf.pooling_gap(predictions, "label", "score", over="fold")
    >>> gap.select("pooled_auc", "mean_auc", "gap_between", "worst_positives", "worst_negatives")
    shape: (1, 5)
    ┌────────────┬──────────┬─────────────┬─────────────────┬─────────────────┐
    │ pooled_auc ┆ mean_auc ┆ gap_between ┆ worst_positives ┆ worst_negatives │
    │ ---        ┆ ---      ┆ ---         ┆ ---             ┆ ---             │
    │ f64        ┆ f64      ┆ f64         ┆ str             ┆ str             │
    ╞════════════╪══════════╪═════════════╪═════════════════╪═════════════════╡
    │ 0.75       ┆ 1.0      ┆ -0.25       ┆ 2               ┆ 1               │
    └────────────┴──────────┴─────────────┴─────────────────┴─────────────────┘
    """
    # numpy loads with the first gap, not with the package.
    from rocframe.averages.gap import gaps

    names = as_over(over)
    roles = Roles(
        label=label,
        score=score,
        by=(*as_names(by), *names),
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
    )

    def make(cases: Cases) -> pl.DataFrame:
        return gaps(cases, len(names))

    table = tabulated(
        having(predictions, names),
        roles,
        make,
        columns=pooling_gap_schema(),
        anchor="n_pos",
        over=len(names),
    )
    return like(predictions, table)
