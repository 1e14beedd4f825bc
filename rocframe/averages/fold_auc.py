"""The verb `fold_auc`: predictions of folds → the mean of their areas, and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from rocframe.averages.over import as_over, having
from rocframe.errors import OptionValueError
from rocframe.frames import like
from rocframe.options import check_choice
from rocframe.predictions import Roles
from rocframe.tabulate import tabulated
from rocframe.vocabulary import as_names, fold_auc_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.averages.fold_areas import Interval
    from rocframe.cases import Cases
    from rocframe.frames import FrameT
    from rocframe.predictions import By, Column, Count, Missing, Scores


def fold_auc(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    over: str | Sequence[str] = "fold",
    by: By = None,
    ci: Interval | None = "logit_delong",
    level: float = 0.95,
    positive: object = None,
    weight: Column | None = None,
    count: Count = ...,
    missing: Missing = "raise",
) -> FrameT:
    """Average the areas of the folds of each group, with an interval for the mean.

    Beside the mean of the areas stand two other numbers that are called the area of all folds: the
    area under their averaged curve, and the area of all rows together, which also compares rows of
    different folds. Folds without positives or without negatives are left out of the first two.

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
    ci
        Method of the interval: `"logit_delong"`, from DeLong's variance in each fold, on the logit
        scale; `"delong"`, the same as a Wald interval, clipped to [0, 1]; `"ledell"`, a Wald
        interval from the influence curve, with the classes of all folds taken together (LeDell,
        Petersen, van der Laan); None for no interval.
    level
        Share of intervals that cover, between 0 and 1.
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
        `*by`, (`model`,) `mean_auc, lower, upper, sd, se, auc_of_mean, pooled_auc, n_curves, n_pos,
        n_neg, n_missing, ci_level, ci_method, note`; a row per group, sorted by group. `sd` is that
        of the areas, with n - 1, null for one fold. `se` is null where the variance is 0, or, by
        DeLong, where a fold has one row of a class; the limits are null with it. `auc_of_mean` is
        the area under the vertical average at 101 points. `n_curves` (Int64) counts the folds that
        have both classes, and the next three (Int64) count all rows; all else are Float64, but for
        the last two (String). `note` is null, or the first that applies of `no_rows, no_positives,
        no_negatives, one_positive, one_negative`, and then which folds are left out.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is reserved or given
        twice, an option is not one of its set (from `collect` when the frame is lazy); if labels
        do not say which class is positive, values are missing under `"raise"`, or a weight is
        negative or not finite.
    OptionValueError
        If `over` names no column, or if rows have weights and `ci` is `"ledell"`.

    See Also
    --------
    average : The averaged curve of the folds.
    pooling_gap : Why the area of all rows together is another.

    Notes
    -----
    The intervals are about the models that were fitted, on other test rows: they do not know how
    models fitted on other rows would differ. The spread between folds tells some of that. They
    take folds to share no row. Where an instance is in several, as in repeated cross-validation or
    once for each class, limits are too narrow: say `ci=None` there; for classes `multiclass_auc`
    has intervals.

    References
    ----------
    E. LeDell, M. Petersen, M. van der Laan (2015), "Computationally efficient confidence intervals
    for cross-validated area under the ROC curve estimates", Electronic Journal of Statistics 9(1),
    1583-1607. doi:10.1214/15-EJS1035

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {
    ...         "fold": [1, 1, 1, 1, 2, 2, 2, 2],
    ...         "label": [1, 0, 1, 0, 1, 0, 1, 0],
    ...         "score": [0.9, 0.4, 0.4, 0.1, 0.3, 0.2, 0.1, 0.2],
    ...     }
    ... )
    >>> areas = rf.fold_auc(predictions, "label", "score", over="fold")
    >>> areas.select("mean_auc", "sd", "se", "pooled_auc", "n_curves")
    shape: (1, 5)
    ┌──────────┬──────────┬──────────┬────────────┬──────────┐
    │ mean_auc ┆ sd       ┆ se       ┆ pooled_auc ┆ n_curves │
    │ ---      ┆ ---      ┆ ---      ┆ ---        ┆ ---      │
    │ f64      ┆ f64      ┆ f64      ┆ f64        ┆ i64      │
    ╞══════════╪══════════╪══════════╪════════════╪══════════╡
    │ 0.6875   ┆ 0.265165 ┆ 0.265165 ┆ 0.6875     ┆ 2        │
    └──────────┴──────────┴──────────┴────────────┴──────────┘
    """
    # numpy loads with the first mean, not with the package.
    from rocframe.averages.fold_areas import Interval as Intervals
    from rocframe.averages.fold_areas import fold_areas
    from rocframe.inference.intervals import as_level

    check_choice("ci", ci, (*get_args(Intervals), None))
    as_level(level)
    names = as_over(over)
    if weight is not None and ci == "ledell":
        wrong = "the influence curve is that of rows without weights"
        raise OptionValueError.of("weight", weight, wrong, 'Say ci="delong" with it.')
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
        return fold_areas(cases, len(names), ci, level)

    table = tabulated(
        having(predictions, names),
        roles,
        make,
        columns=fold_auc_schema(),
        anchor="n_pos",
        over=len(names),
    )
    return like(predictions, table)
