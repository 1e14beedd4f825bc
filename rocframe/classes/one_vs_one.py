"""The function `one_vs_one`: binary predictions of each pair of classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from rocframe.classes.inputs import check_single_label
from rocframe.classes.layout import read_layout, score_difference
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, column, lazy_plan, private_names
from rocframe.options import check_choice, parse_integer, public

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.classes.inputs import Classes, ClassScores
    from rocframe.classes.layout import ClassLabels, KeepColumns, Layout
    from rocframe.frames import FrameT


Relative = Literal["difference", "ratio"]
ONE_VS_ONE_COLUMNS = ("class_a", "class_b", "label", "score")


@public
def one_vs_one(
    predictions: FrameT,
    /,
    label: ClassLabels,
    scores: ClassScores,
    *,
    classes: Classes = None,
    id: str | Sequence[str] | None = None,  # noqa: A002 - name of the public option
    keep: KeepColumns = None,
    relative: Relative | None = None,
    max_pairs: int | None = 10_000,
) -> FrameT:
    """Reshape a table with many classes into binary predictions of each ordered pair of classes.

    An ordered pair contains the rows of its two classes: rows of `class_a` are positive, rows of
    `class_b` are negative, and the score is the score of `class_a`. Pass the result to any function
    on predictions with `by=[…, "class_a", "class_b"]`.

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
    relative : {"difference", "ratio"}, default None
        `"difference"`: the score of `class_a` minus the score of `class_b`. `"ratio"`: the score of
        `class_a` divided by the score of `class_b`, which requires scores >= 0. With a difference
        or a ratio, the AUC of a pair does not depend on the order of its classes. None: the score
        of `class_a`.
    max_pairs : int or None, default 10000
        Largest allowed number of ordered pairs; None for no limit. For c classes, there are
        c·(c - 1) ordered pairs, and a row with a label becomes 2·(c - 1) rows.

    Returns
    -------
    DataFrame or LazyFrame
        The kept columns, the columns of `id`, then `class_a, class_b, label, score`. Each instance
        with a label has one row for each pair that contains its true class. Row numbers in `id` are
        UInt32. The columns `class_a` and `class_b` have the type of the input labels, and are never
        null. `label` (Boolean) is true if the row is of `class_a` and false if the row is of
        `class_b`. A row without a label is in every pair, with a null label. `score` has the common
        type of the scores; a difference or a ratio is a float. Missing scores are null or NaN, as
        in the table. A difference or a ratio is null if the row has no label, or if one of its two
        scores is missing. A ratio is also null if both scores are 0 or both are infinite.

    Raises
    ------
    RocframeError
        If a column is missing or has an unsupported dtype, if a name is reserved or repeated, if an
        option is invalid, or if there are more pairs than `max_pairs`. This error is also raised if
        classes and labels have types that cannot be compared, if the class of a label has no score,
        if a list is null or does not have one score per class, or if a score changes when it is
        converted to a float. In a long table, all rows of an instance must have the same label, and
        no class may occur twice in an instance.

    See Also
    --------
    one_vs_rest : Each class against all others.

    Notes
    -----
    Hand and Till's M is the mean of the AUCs of all ordered pairs.

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
    limit = None if max_pairs is None else parse_integer("max_pairs", max_pairs)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        check_single_label(label)
        layout = read_layout(
            plan, schema, label, scores, classes=classes, id=id, keep=keep, table=ONE_VS_ONE_COLUMNS
        )
        if layout.row_class is None:
            _check_pairs(len(layout.scores), limit, "row")
            parts = _pairs_from_wide(layout, relative)
        else:
            parts = _pairs_from_long(layout, relative, limit)
        return pl.concat(parts, how="vertical_relaxed")

    return as_input_frame(
        predictions, lazy_plan("predictions", predictions).pipe_with_schema(resolve)
    )


def _check_pairs(n_classes: int, limit: int | None, unit: str) -> None:
    pairs = n_classes * (n_classes - 1)
    if limit is not None and pairs > limit:
        raise OptionValueError.compose(
            "max_pairs",
            limit,
            f"{n_classes} classes have {pairs} ordered pairs, and each {unit} would become "
            f"{2 * (n_classes - 1)} rows, one for each pair that contains its class",
            "Pass max_pairs=None to proceed, or use fewer classes.",
        )


def _pairs_from_wide(layout: Layout, relative: Relative | None) -> list[pl.LazyFrame]:
    """Return the rows of each pair of classes, for a table with a score column per class."""
    scores = layout.scores if relative is None else layout.float_scores()
    name = private_names(["own"], layout.plan.collect_schema().names())["own"]
    true_score = pl.coalesce(
        pl.when(layout.is_of_class(i)).then(score) for i, score in enumerate(scores)
    )
    plan = layout.plan.with_columns(true_score.alias(name)).cache()
    unlabeled = plan.filter(layout.labels[0].is_null())
    parts = []
    for i, score in enumerate(scores):
        class_i = layout.class_literal(i)
        parts += _labeled(layout, plan, class_i, (column(name), score), relative)
        others = pl.lit(layout.classes.filter(pl.arange(len(scores), eager=True) != i).implode())
        parts.append(
            _unlabeled(layout, unlabeled, (class_i, others), score, relative).explode("class_b")
        )
    return parts


def _pairs_from_long(
    layout: Layout, relative: Relative | None, limit: int | None
) -> list[pl.LazyFrame]:
    """Return the rows of each pair of classes, for a table with a row per instance and class."""
    assert layout.row_class is not None
    row_class, ids = layout.row_class, layout.ids
    (score,) = layout.scores if relative is None else layout.float_scores()
    names = private_names(["own", "other"], layout.plan.collect_schema().names())

    def within_limit(classes: pl.Series) -> pl.Series:
        _check_pairs(classes.drop_nulls().n_unique(), limit, "instance")
        return pl.Series([True]).new_from_index(0, len(classes))

    checked = row_class.map_batches(within_limit, return_dtype=pl.Boolean)
    plan = layout.plan.filter(checked, layout.unique_rows())
    true_score = score.filter(row_class == layout.labels[0]).first().over(*ids)
    with_own = plan.with_columns(true_score.alias(names["own"]))
    parts = _labeled(layout, with_own, row_class, (column(names["own"]), score), relative)
    unlabeled = plan.filter(layout.labels[0].is_null())
    other = column(names["other"])
    pairs = unlabeled.join(
        unlabeled.select(*ids, row_class.alias(names["other"])), on=list(ids), nulls_equal=True
    ).filter(row_class != other)
    return [*parts, _unlabeled(layout, pairs, (row_class, other), score, relative)]


def _labeled(
    layout: Layout,
    plan: pl.LazyFrame,
    other: pl.Expr,
    scores: tuple[pl.Expr, pl.Expr],
    relative: Relative | None,
) -> list[pl.LazyFrame]:
    """Return two plans: rows as positives of their true class, and as negatives of `other`.

    `scores` are the scores of the true class of the row and of the other class.
    """
    truth, (true_score, other_score) = layout.labels[0], scores
    rows = plan.filter(truth != other)
    return [
        rows.select(
            *layout.kept_columns,
            class_a.alias("class_a"),
            class_b.alias("class_b"),
            pl.lit(label).alias("label"),
            _relative_score(score_a, score_b, relative).alias("score"),
        )
        for class_a, class_b, label, score_a, score_b in (
            (truth, other, True, true_score, other_score),
            (other, truth, False, other_score, true_score),
        )
    ]


def _unlabeled(
    layout: Layout,
    plan: pl.LazyFrame,
    pair: tuple[pl.Expr, pl.Expr],
    score: pl.Expr,
    relative: Relative | None,
) -> pl.LazyFrame:
    """Return rows without a known class as rows of a pair of classes, with a null label."""
    return plan.select(
        *layout.kept_columns,
        pair[0].alias("class_a"),
        pair[1].alias("class_b"),
        pl.lit(None, pl.Boolean).alias("label"),
        (score if relative is None else pl.when(pl.lit(False)).then(score)).alias("score"),
    )


def _relative_score(score_a: pl.Expr, score_b: pl.Expr, relative: Relative | None) -> pl.Expr:
    if relative is None:
        return score_a
    if relative == "difference":
        return score_difference(score_a, score_b)
    ratio = score_a / score_b
    return pl.when(~ratio.is_nan()).then(ratio)
