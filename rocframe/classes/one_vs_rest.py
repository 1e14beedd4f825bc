"""The function `one_vs_rest`: binary predictions of each class against all other classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.classes.layout import read_layout, score_difference
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, column, lazy_plan, private_names
from rocframe.options import parse_integer, public

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.classes.inputs import Classes, ClassScores
    from rocframe.classes.layout import ClassLabels, KeepColumns, Layout
    from rocframe.frames import FrameT


ONE_VS_REST_COLUMNS = ("class", "label", "score")


@public
def one_vs_rest(
    predictions: FrameT,
    /,
    label: ClassLabels,
    scores: ClassScores,
    *,
    classes: Classes = None,
    id: str | Sequence[str] | None = None,  # noqa: A002 - name of the public option
    keep: KeepColumns = None,
    margin: bool | int = False,
) -> FrameT:
    """Reshape a table with many classes into binary predictions of each class against all others.

    Each row becomes one row per class, with the score of the class and a label, which is true if
    the row belongs to the class. Pass the result to any function on predictions with `by=[…,
    "class"]`.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str, Expr or mapping
        The true class: Boolean, numbers, String, Categorical or Enum. If a row can belong to
        several classes, pass a mapping from each class to a column that is Boolean or 0/1.
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
    margin : bool or int, default False
        True: from the score of each class, subtract the highest score of the other classes. Only
        the class with the highest original score has a difference >= 0. A whole number k: subtract
        the k-th highest score of the other classes. Only the k classes with the highest original
        scores have a difference >= 0.

    Returns
    -------
    DataFrame or LazyFrame
        The kept columns, the columns of `id`, then `class, label, score`; one row per input row and
        class. All rows of the first class in `scores` come first, then all rows of the second
        class, and so on. For a long table, the rows are in the order of the table. Row numbers in
        `id` are UInt32. `class` has the type of the input labels. `class` can be null only for a
        long table whose column of classes has nulls. `label` (Boolean) is true if the input row
        belongs to `class`. It is null if the true class of the row is missing, or if `class` is
        null. If the argument `label` is a mapping, each class has its own label column. The output
        column `label` then contains the value of the input row in the label column of `class`.
        `score` has the common type of the scores; a margin is a float. Missing scores are null or
        NaN, as in the table; a margin is null if any score of the row is missing.

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
    one_vs_one : Each class against each other class.

    Notes
    -----
    A class to which no input row belongs becomes a group without positives. A LazyFrame needs
    memory for the input table, but not for the longer result, because classes are streamed one by
    one. To use less memory in the next function, filter the result by `class`.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874, section 9. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"truth": ["cat", "dog"], "cat": [0.7, 0.2], "dog": [0.3, 0.8]})
    >>> rf.one_vs_rest(predictions, "truth", ["cat", "dog"])
    shape: (4, 4)
    ┌─────┬───────┬───────┬───────┐
    │ id  ┆ class ┆ label ┆ score │
    │ --- ┆ ---   ┆ ---   ┆ ---   │
    │ u32 ┆ str   ┆ bool  ┆ f64   │
    ╞═════╪═══════╪═══════╪═══════╡
    │ 0   ┆ cat   ┆ true  ┆ 0.7   │
    │ 1   ┆ cat   ┆ false ┆ 0.2   │
    │ 0   ┆ dog   ┆ false ┆ 0.3   │
    │ 1   ┆ dog   ┆ true  ┆ 0.8   │
    └─────┴───────┴───────┴───────┘
    """
    _parse_margin(margin, None)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        layout = read_layout(
            plan,
            schema,
            label,
            scores,
            classes=classes,
            id=id,
            keep=keep,
            table=ONE_VS_REST_COLUMNS,
        )
        return (_rows_from_wide if layout.row_class is None else _rows_from_long)(layout, margin)

    return as_input_frame(
        predictions, lazy_plan("predictions", predictions).pipe_with_schema(resolve)
    )


def _parse_margin(margin: bool | int, n_classes: int | None) -> int:
    """Return k if the k-th highest score of the other classes is subtracted; 0 for no margin."""
    rank = int(margin) if isinstance(margin, bool) else parse_integer("margin", margin, example=3)
    if rank and n_classes == 1:
        problem = "there is only one class, so there is no other score to subtract"
        raise OptionValueError.compose("margin", margin, problem, "Leave out margin=.")
    if n_classes is not None and rank >= n_classes:
        raise OptionValueError.compose(
            "margin",
            margin,
            f"expected at most {n_classes - 1}, because there are {n_classes} classes",
            "Use a smaller number, or margin=True for the highest score of the other classes.",
        )
    return rank


def _rows_from_wide(layout: Layout, margin: bool | int) -> pl.LazyFrame:
    """Return the rows of each class, for a table with a score column per class."""
    plan, scores = layout.plan, layout.scores
    rank = _parse_margin(margin, len(scores))
    if rank:
        scores = layout.float_scores()
        # polars sorts arrays about twelve times as fast as lists.
        ranked = pl.concat_arr(*scores).arr.sort(descending=True)
        complete = ~pl.any_horizontal(score.is_null() for score in scores)
        names = private_names(["at rank", "next"], plan.collect_schema().names()).values()
        plan = plan.with_columns(
            pl.when(complete).then(ranked.arr.get(index)).alias(name)
            for index, name in enumerate(names, rank - 1)
        ).cache()
        at_rank, following = map(column, names)
        scores = tuple(_margin(score, at_rank, following) for score in scores)
    parts = [
        plan.select(
            *layout.kept_columns,
            layout.class_literal(i).alias("class"),
            layout.is_of_class(i).alias("label"),
            score.alias("score"),
        )
        for i, score in enumerate(scores)
    ]
    return pl.concat(parts, how="vertical_relaxed")


def _rows_from_long(layout: Layout, margin: bool | int) -> pl.LazyFrame:
    """Return the rows of each class, for a table with a row per instance and class."""
    assert layout.row_class is not None
    plan, (score,) = layout.plan.filter(layout.unique_rows()), layout.scores
    rank = _parse_margin(margin, None)
    if rank:
        (score,) = layout.float_scores()
        ranked = score.sort(descending=True)
        complete = (~score.is_null().any()).over(*layout.ids)
        at_rank, following = (
            pl.when(complete).then(ranked.get(index, null_on_oob=True).over(*layout.ids))
            for index in (rank - 1, rank)
        )
        score = _margin(score, at_rank, following)
    return plan.select(
        *layout.kept_columns,
        layout.row_class.alias("class"),
        (layout.labels[0] == layout.row_class).alias("label"),
        score.alias("score"),
    )


def _margin(score: pl.Expr, at_rank: pl.Expr, following: pl.Expr) -> pl.Expr:
    """Return a score minus the score at rank k among the other classes.

    `at_rank` and `following` are the scores at ranks k and k + 1 among all classes. If the class
    itself is among the first k, the score at rank k among the other classes is `following`.
    """
    return score_difference(score, pl.when(score >= at_rank).then(following).otherwise(at_rank))
