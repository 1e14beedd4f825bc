"""The verb `one_vs_rest`: a many-class table → binary predictions, for each class against all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.classes.inputs import once
from rocframe.classes.layout import Given, above, as_rank, best_scores, best_scores_over, lay_out
from rocframe.frames import column, like, planned, private_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.classes.inputs import Classes, ClassScores
    from rocframe.classes.layout import ClassLabels, Keep, Layout
    from rocframe.frames import FrameT


TABLE = ("class", "label", "score")


def one_vs_rest(
    predictions: FrameT,
    /,
    label: ClassLabels,
    scores: ClassScores,
    *,
    classes: Classes = None,
    id: str | Sequence[str] | None = None,  # noqa: A002 - as the column
    keep: Keep = None,
    margin: bool | int = False,
) -> FrameT:
    """Make binary predictions of a many-class table, each class against all others.

    Each row becomes one row per class, which says whether it is that class, and how it scores. The
    result is for every verb on predictions, with `by=[…, "class"]`.

    Parameters
    ----------
    predictions : DataFrame or LazyFrame
        One row per prediction. A LazyFrame returns a LazyFrame.
    label : str, Expr or mapping
        Column or expression with the true class of each row. If a row can belong to several classes
        at once: a mapping from each class to a column that is Boolean or 0/1.
    scores : mapping, sequence of str, selector or str
        Score of each class; higher values indicate that class. A mapping from classes to columns or
        expressions; a list of columns or a selector if the columns are named like the classes; or
        one column of lists or arrays together with `classes`. If each row is an instance and a
        class, the column of scores, together with `classes` and `id`. Scores need not sum to 1.
    classes : sequence or str, default None
        For lists: the classes, in the order of the lists. If each row is an instance and a class:
        the name of the column with the class.
    id : str or sequence of str, default None
        Columns that identify instances; the result has them too. None: the rows are numbered in a
        new column `id`.
    keep : str, sequence of str or selector, default None
        Columns to keep in the result, such as groups, weights and counts. None: all columns that
        are neither labels nor scores.
    margin : bool or int, default False
        True subtracts from each score the best score of the other classes, so that scores of at
        least 0 are those of the best class. A whole number k subtracts the k-th best of the other
        classes: at least 0 are the best k.

    Returns
    -------
    DataFrame or LazyFrame
        The kept columns, the columns of `id`, then `class, label, score`; one class below the
        other, in the order of `scores`. `class` has the type of the label; `label` (Boolean) says
        whether the row is of the class, and is null where the class of the row is not known;
        `score` is null or NaN where it was, and a margin null where any score of the row was.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is taken or given twice,
        classes and labels cannot be equal, or an option is not one of its set (from `collect` when
        the frame is lazy); if a label is of a class that has no score, a list is null or not as
        long as there are classes, an instance has several rows of one class, or a score changes
        when it has to become a float.

    See Also
    --------
    one_vs_one : each class against each other class.

    Notes
    -----
    A class that no label has makes a group without positives. A lazy plan streams class by class,
    and holds the table itself; verbs that follow hold the rows they are given, which a filter on
    `class` limits to some classes at a time.

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
    given = Given(label=label, scores=scores, classes=classes, id=id, keep=keep)
    as_rank(margin, None)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        layout = lay_out(plan, schema, given, table=TABLE)
        return _long(layout, margin) if layout.of is not None else _wide(layout, margin)

    return like(predictions, planned("predictions", predictions).pipe_with_schema(resolve))


def _wide(layout: Layout, margin: bool | int) -> pl.LazyFrame:
    """Put one class below the other."""
    plan, scores = layout.plan, layout.scores
    rank = as_rank(margin, len(scores))
    if rank:
        plan, scores = _margins(layout, rank)
    parts = [
        plan.select(
            *layout.riders,
            layout.named(i).alias("class"),
            layout.true(i).alias("label"),
            score.alias("score"),
        )
        for i, score in enumerate(scores)
    ]
    return pl.concat(parts, how="vertical_relaxed")


def _margins(layout: Layout, rank: int) -> tuple[pl.LazyFrame, tuple[pl.Expr, ...]]:
    plain = layout.plain()
    names = private_names(["at", "after"], layout.plan.collect_schema().names())
    best = best_scores(plain, rank)
    at, after = (column(name) for name in names.values())
    named = [expr.alias(name) for expr, name in zip(best, names.values(), strict=True)]
    return layout.plan.with_columns(named).cache(), tuple(above(one, at, after) for one in plain)


def _long(layout: Layout, margin: bool | int) -> pl.LazyFrame:
    """Compare the class of each row with that of its instance."""
    assert layout.of is not None
    rank, score = as_rank(margin, None), layout.scores[0]
    plan = layout.plan
    if layout.ids:
        plan = plan.filter(once([*layout.ids, layout.of], layout.id_names))
    if rank:
        (plain,) = layout.plain()
        score = above(plain, *best_scores_over(plain, layout.ids, rank))
    return plan.select(
        *layout.riders,
        layout.of.alias("class"),
        (layout.truth[0] == layout.of).alias("label"),
        score.alias("score"),
    )
