"""The verb `one_vs_one`: a many-class table → binary predictions, for each pair of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import polars as pl

from rocframe.classes.inputs import few_classes, once
from rocframe.classes.layout import Given, Relative, lay_out, relative_to
from rocframe.errors import OptionValueError
from rocframe.frames import column, like, planned, private_names
from rocframe.options import check_choice, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.classes.inputs import Classes, ClassScores
    from rocframe.classes.layout import ClassLabels, Keep, Layout
    from rocframe.frames import FrameT


TABLE = ("class_a", "class_b", "label", "score")


def one_vs_one(
    predictions: FrameT,
    /,
    label: ClassLabels,
    scores: ClassScores,
    *,
    classes: Classes = None,
    id: str | Sequence[str] | None = None,  # noqa: A002 - as the column
    keep: Keep = None,
    relative: Relative | None = None,
    max_pairs: int | None = 10_000,
) -> FrameT:
    """Make binary predictions of a many-class table, one class against each other.

    Each ordered pair has the rows of its two classes and no others: those of `class_a` are the
    positives, those of `class_b` the negatives, and the score is that of `class_a`. The result is
    for every verb on predictions, with `by=[…, "class_a", "class_b"]`.

    Parameters
    ----------
    predictions : DataFrame or LazyFrame
        One row per prediction. A LazyFrame returns a LazyFrame.
    label : str or Expr
        Column or expression with the true class of each row.
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
    relative : {"difference", "ratio"}, default None
        `"difference"` takes the score of `class_b` away from that of `class_a`, `"ratio"` divides
        by it, which is for scores that are not negative. Pairs then say the same both ways round.
    max_pairs : int or None, default 10000
        Most ordered pairs of classes to go ahead with, c·(c - 1) of c classes; None for no limit. A
        row with a label becomes 2·(c - 1) rows. Classes are counted before anything is made; where
        each row is an instance and a class, when the rows are there.

    Returns
    -------
    DataFrame or LazyFrame
        The kept columns, the columns of `id`, then `class_a, class_b, label, score`. Both classes
        have the type of the label; `label` (Boolean) says whether the row is of `class_a`; `score`
        is null or NaN where it was, and null for a ratio of 0 to 0. A row whose class is not known
        is in every pair, its label null.

    Raises
    ------
    RocframeError
        If a column is not there or of a type its role cannot take, a name is taken or given twice,
        classes and labels cannot be equal, or an option is not one of its set (from `collect` when
        the frame is lazy); if there are more pairs than `max_pairs`; if a label is of a class
        that has no score, a list is null or not as long as there are classes, an instance has
        several rows of one class, or a score changes when it has to become a float.

    See Also
    --------
    one_vs_rest : each class against all others.

    Notes
    -----
    The areas of all ordered pairs are the table behind Hand and Till's M, which is their mean.

    References
    ----------
    D. J. Hand, R. J. Till (2001), "A simple generalisation of the area under the ROC curve for
    multiple class classification problems", Machine Learning 45, 171-186.
    doi:10.1023/A:1010920819831

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"truth": ["cat", "dog"], "cat": [0.7, 0.2], "dog": [0.3, 0.8]})
    >>> rf.one_vs_one(predictions, "truth", ["cat", "dog"])
    shape: (4, 5)
    ┌─────┬─────────┬─────────┬───────┬───────┐
    │ id  ┆ class_a ┆ class_b ┆ label ┆ score │
    │ --- ┆ ---     ┆ ---     ┆ ---   ┆ ---   │
    │ u32 ┆ str     ┆ str     ┆ bool  ┆ f64   │
    ╞═════╪═════════╪═════════╪═══════╪═══════╡
    │ 1   ┆ dog     ┆ cat     ┆ true  ┆ 0.8   │
    │ 1   ┆ cat     ┆ dog     ┆ false ┆ 0.2   │
    │ 0   ┆ cat     ┆ dog     ┆ true  ┆ 0.7   │
    │ 0   ┆ dog     ┆ cat     ┆ false ┆ 0.3   │
    └─────┴─────────┴─────────┴───────┴───────┘
    """
    check_choice("relative", relative, (*get_args(Relative), None))
    most = None if max_pairs is None else whole("max_pairs", max_pairs)
    given = Given(label=label, scores=scores, classes=classes, id=id, keep=keep)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        if not isinstance(label, str | pl.Expr):
            wrong = "pairs are of rows that are of one class each"
            raise OptionValueError.of("label", label, wrong, "Give one column, or say one_vs_rest.")
        layout = lay_out(plan, schema, given, table=TABLE)
        if layout.of is not None:
            parts = _long(layout, relative, most)
        else:
            _check_size(len(layout.scores), most)
            parts = _wide(layout, relative)
        return pl.concat(parts, how="vertical_relaxed")

    return like(predictions, planned("predictions", predictions).pipe_with_schema(resolve))


def _check_size(classes: int, most: int | None, one: str = "each row") -> None:
    pairs = classes * (classes - 1)
    if most is not None and pairs > most:
        raise OptionValueError.of(
            "max_pairs",
            most,
            f"{classes} classes make {pairs} ordered pairs, and {one} becomes "
            f"{2 * (classes - 1)} rows",
            "Say max_pairs=None to go ahead, or take fewer classes.",
        )


def _wide(layout: Layout, relative: Relative | None) -> list[pl.LazyFrame]:
    """Set the class of each row against each other class."""
    scores = layout.scores if relative is None else layout.plain()
    own = private_names(["own"], layout.plan.collect_schema().names())["own"]
    of_row = pl.coalesce(pl.when(layout.true(i)).then(score) for i, score in enumerate(scores))
    plan = layout.plan.with_columns(of_row.alias(own)).cache()
    parts = []
    for i, score in enumerate(scores):
        other = layout.named(i)
        parts += _both_ways(layout, plan, other, (column(own), score), relative)
        rest = layout.classes.gather([place for place in range(len(scores)) if place != i])
        unknown = plan.filter(layout.truth[0].is_null())
        pair = other, pl.lit(rest.implode())
        parts.append(_unknown(layout, unknown, pair, score, relative).explode("class_b"))
    return parts


def _long(layout: Layout, relative: Relative | None, most: int | None) -> list[pl.LazyFrame]:
    """Set the class of each instance against the class of each of its rows."""
    assert layout.of is not None
    (score,) = layout.scores if relative is None else layout.plain()
    names = private_names(["own", "other"], layout.plan.collect_schema().names())
    few = few_classes(layout.of, lambda classes: _check_size(classes, most, "each instance"))
    plan = layout.plan.filter(few, once([*layout.ids, layout.of], layout.id_names))
    found = score.filter(layout.of == layout.truth[0]).first().over(*layout.ids)
    both = plan.with_columns(found.alias(names["own"]))
    parts = _both_ways(layout, both, layout.of, (column(names["own"]), score), relative)
    unknown = plan.filter(layout.truth[0].is_null())
    others = unknown.select(*layout.ids, layout.of.alias(names["other"]))
    pairs = unknown.join(others, on=list(layout.ids), nulls_equal=True)
    other = column(names["other"])
    of_pairs = pairs.filter(layout.of != other)
    return [*parts, _unknown(layout, of_pairs, (layout.of, other), score, relative)]


def _both_ways(
    layout: Layout,
    plan: pl.LazyFrame,
    other: pl.Expr,
    scores: tuple[pl.Expr, pl.Expr],
    relative: Relative | None,
) -> list[pl.LazyFrame]:
    """Make each row a positive of its own class, and a negative of the other one."""
    truth, (own, score) = layout.truth[0], scores
    rows = plan.filter(truth != other)
    return [
        rows.select(
            *layout.riders,
            a.alias("class_a"),
            b.alias("class_b"),
            pl.lit(label).alias("label"),
            relative_to(one, two, relative).alias("score"),
        )
        for a, b, label, one, two in (
            (truth, other, True, own, score),
            (other, truth, False, score, own),
        )
    ]


def _unknown(
    layout: Layout,
    plan: pl.LazyFrame,
    pair: tuple[pl.Expr, pl.Expr],
    score: pl.Expr,
    relative: Relative | None,
) -> pl.LazyFrame:
    """Put a row whose class is not known into a pair, where it is neither."""
    return plan.select(
        *layout.riders,
        pair[0].alias("class_a"),
        pair[1].alias("class_b"),
        pl.lit(None, pl.Boolean).alias("label"),
        (score if relative is None else pl.when(pl.lit(False)).then(score)).alias("score"),
    )
