"""The function `top_label`: whether the class with the highest score is the true class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.classes.inputs import check_single_label, nan_as_null
from rocframe.classes.layout import read_layout
from rocframe.frames import as_input_frame, column, lazy_plan, private_names
from rocframe.options import public

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.classes.inputs import Classes, ClassScores
    from rocframe.classes.layout import KeepColumns, Layout
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import Column


TOP_LABEL_COLUMNS = ("predicted", "label", "score")


@public
def top_label(
    predictions: FrameT,
    /,
    label: Column,
    scores: ClassScores,
    *,
    classes: Classes = None,
    id: str | Sequence[str] | None = None,  # noqa: A002 - name of the public option
    keep: KeepColumns = None,
) -> FrameT:
    """Reshape a table with many classes: the new label is whether the prediction is correct.

    The predicted class of a row is the class with the highest score. Each row gets the score of its
    predicted class and a label, which is true if the predicted class is the true class. Pass the
    result to `calibration`. Without `by`, `calibration` then returns the confidence calibration
    (Guo et al. 2017). With `by="predicted"`, `calibration` returns the top-label calibration (Gupta
    and Ramdas 2022).

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean, numbers, String, Categorical or Enum.
    scores : mapping, sequence of str, selector or str
        Score of each class; higher values indicate that class. Pass a mapping from classes to
        columns or expressions. If the columns are named like the classes, pass a list of columns or
        a selector. If the scores are lists or arrays in one column, pass this column, and set
        `classes`. If the table is long, with one row per instance and class, pass the column of
        scores, and set `classes` and `id`. Scores need not sum to 1.
    classes : sequence or str, default None
        For one column of lists: the classes, in the order of the elements of a list. For a long
        table: the name of the column with the class.
    id : str or sequence of str, default None
        Columns that identify instances. The result also has these columns. None: the rows are
        numbered in a new column `id`.
    keep : str, sequence of str or selector, default None
        Columns to keep in the result, such as groups, weights and counts. None: all columns that
        are neither labels nor scores.

    Returns
    -------
    DataFrame or LazyFrame
        The kept columns, the columns of `id`, then `predicted, label, score`; one row per input row
        and in the same order. For a long table, one row per instance: the row of the predicted
        class. Row numbers in `id` are UInt32. `predicted` has the type of the input labels. If
        several classes have the highest score, `predicted` is the first of these classes in the
        order of `scores` or `classes`. For a long table, it is the first of these classes in sorted
        order. `label` (Boolean) is null if the true class is missing. `score` has the common type
        of the scores. All three columns are null if any score of the row is missing.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid. This error is also raised if classes and
        labels have types that cannot be compared, if the class of a label has no score, if a list
        is null or does not have one score per class, or if a score changes when it is converted to
        a float. In a long table, all rows of an instance must have the same label, and no class may
        occur twice in an instance.

    See Also
    --------
    calibration : Event rates of bins of the scores, which must be probabilities.
    multiclass_losses : Brier score, logarithmic loss and accuracy of all classes.
    one_vs_rest : Binary predictions of each class, for class-wise calibration.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger (2017), "On calibration of modern neural networks",
    Proceedings of Machine Learning Research 70, 1321-1330. doi:10.48550/arXiv.1706.04599

    C. Gupta, A. Ramdas (2022), "Top-label calibration and multiclass-to-binary reductions",
    International Conference on Learning Representations. doi:10.48550/arXiv.2107.08353

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {
    ...         "truth": ["cat", "dog", "cat", "emu"],
    ...         "cat": [0.7, 0.2, 0.3, 0.1],
    ...         "dog": [0.2, 0.5, 0.6, 0.1],
    ...         "emu": [0.1, 0.3, 0.1, 0.8],
    ...     }
    ... )
    >>> top = rf.top_label(predictions, "truth", ["cat", "dog", "emu"])
    >>> top
    shape: (4, 4)
    ┌─────┬───────────┬───────┬───────┐
    │ id  ┆ predicted ┆ label ┆ score │
    │ --- ┆ ---       ┆ ---   ┆ ---   │
    │ u32 ┆ str       ┆ bool  ┆ f64   │
    ╞═════╪═══════════╪═══════╪═══════╡
    │ 0   ┆ cat       ┆ true  ┆ 0.7   │
    │ 1   ┆ dog       ┆ true  ┆ 0.5   │
    │ 2   ┆ dog       ┆ false ┆ 0.6   │
    │ 3   ┆ emu       ┆ true  ┆ 0.8   │
    └─────┴───────────┴───────┴───────┘

    The event rate of a bin is the accuracy of its rows:

    >>> confidence = rf.calibration(top, "label", "score", bins=2)
    >>> confidence.select("score_mean", "event_rate", "n")
    shape: (2, 3)
    ┌────────────┬────────────┬─────┐
    │ score_mean ┆ event_rate ┆ n   │
    │ ---        ┆ ---        ┆ --- │
    │ f64        ┆ f64        ┆ i64 │
    ╞════════════╪════════════╪═════╡
    │ 0.55       ┆ 0.5        ┆ 2   │
    │ 0.75       ┆ 1.0        ┆ 2   │
    └────────────┴────────────┴─────┘
    >>> by_class = rf.calibration(top, "label", "score", by="predicted", bins=1)
    >>> by_class.select("predicted", "score_mean", "event_rate", "n")
    shape: (3, 4)
    ┌───────────┬────────────┬────────────┬─────┐
    │ predicted ┆ score_mean ┆ event_rate ┆ n   │
    │ ---       ┆ ---        ┆ ---        ┆ --- │
    │ str       ┆ f64        ┆ f64        ┆ i64 │
    ╞═══════════╪════════════╪════════════╪═════╡
    │ cat       ┆ 0.7        ┆ 1.0        ┆ 1   │
    │ dog       ┆ 0.55       ┆ 0.5        ┆ 2   │
    │ emu       ┆ 0.8        ┆ 1.0        ┆ 1   │
    └───────────┴────────────┴────────────┴─────┘
    """

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        check_single_label(label)
        layout = read_layout(
            plan, schema, label, scores, classes=classes, id=id, keep=keep, table=TOP_LABEL_COLUMNS
        )
        return (_top_of_wide if layout.row_class is None else _top_of_long)(layout)

    return as_input_frame(
        predictions, lazy_plan("predictions", predictions).pipe_with_schema(resolve)
    )


def _top_of_wide(layout: Layout) -> pl.LazyFrame:
    """Return the predicted classes, for a table with a score column per class."""
    names = private_names(["complete", "score"], layout.plan.collect_schema().names())
    complete, highest = map(column, names.values())
    scores = _with_null_for_nan(layout)
    plan = layout.plan.with_columns(
        (~pl.any_horizontal(score.is_null() for score in scores)).alias(names["complete"]),
        pl.max_horizontal(scores).alias(names["score"]),
    )
    # A column of positions for each class needs less memory than a column of classes.
    positions = pl.Series(range(len(scores)), dtype=pl.UInt32)
    position = pl.coalesce(
        pl.when(score == highest).then(pl.lit(i, pl.UInt32)) for i, score in enumerate(scores)
    )
    predicted = position.replace_strict(
        positions, layout.classes, default=None, return_dtype=layout.classes.dtype
    )
    return _top_rows(layout, plan, predicted, highest, complete)


def _top_of_long(layout: Layout) -> pl.LazyFrame:
    """Return the predicted classes, for a table with a row per instance and class."""
    assert layout.row_class is not None
    plan, row_class = layout.plan, layout.row_class
    (score,) = _with_null_for_nan(layout)
    top = row_class.sort_by(score, row_class, descending=[True, False]).first()
    name = private_names(["complete"], plan.collect_schema().names())["complete"]
    plan = (
        plan.filter(layout.unique_rows())
        .with_columns((~score.is_null().any()).over(*layout.ids).alias(name))
        .filter(row_class.eq_missing(top.over(*layout.ids)))
    )
    return _top_rows(layout, plan, row_class, score, column(name))


def _top_rows(
    layout: Layout, plan: pl.LazyFrame, predicted: pl.Expr, score: pl.Expr, complete: pl.Expr
) -> pl.LazyFrame:
    """Return the columns of the result; they are null if a row is not complete."""
    plan = plan.select(
        *layout.kept_columns,
        pl.when(complete).then(predicted).alias("predicted"),
        pl.when(complete).then(layout.labels[0]).alias("label"),
        pl.when(complete).then(score).alias("score"),
    )
    return plan.with_columns(column("label") == column("predicted"))


def _with_null_for_nan(layout: Layout) -> list[pl.Expr]:
    """Return the scores, with null instead of NaN."""
    dtypes = layout.plan.select(layout.scores).collect_schema().dtypes()
    return [nan_as_null(*score) for score in zip(layout.scores, dtypes, strict=True)]
