"""The functions `one_vs_rest`, `one_vs_one` and `top_label`: many classes as two classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import polars as pl

from rocframe.classes.inputs import nan_as_null, reshape_classes, score_difference
from rocframe.errors import OptionValueError
from rocframe.frames import column, private_names
from rocframe.options import check_choice, parse_integer, public

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rocframe.classes.inputs import Classes, ClassLabels, ClassScores, KeepColumns, Layout
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import Column

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
        several classes, pass a mapping from each class to a column that is Boolean or 0/1, or a
        column of lists of classes; a null in a list is a missing label.
    scores : mapping, sequence of str, selector or str
        Score of each class, higher for this class: a mapping from classes to columns, columns named
        like their classes, or one column of lists. For a long table, with one row per instance and
        class: the column of scores, which also needs `classes` and `id`.
    classes : sequence or str, default None
        Classes in the order of the lists. For a long table: the column with the class.
    id : str or sequence of str, default None
        Columns that identify instances, also in the result. None: row numbers in a column `id`.
    keep : str, sequence of str or selector, default None
        Columns to keep, such as groups and weights. None: all that are neither label nor score.
    margin : bool or int, default False
        A whole number k: from the score of each class, subtract the k-th highest score of the other
        classes, so that only the k highest scores are >= 0. True: k = 1.

    Returns
    -------
    DataFrame or LazyFrame
        The kept columns, the columns of `id`, then `class, label, score`; one row per input row and
        class, ordered by class (for a long table, as in the table).

        - `class` has the type of the labels; row numbers in `id` are UInt32.
        - `label` (Boolean) is true if the row belongs to `class`, and null if this is unknown.
        - `score` has the common type of the scores; a margin is a float, and null if any score of
          the row is missing.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, if the class of a label has no score, or if a
        score is not exact as a float. In a long table, if an instance has several labels or a class
        twice.

    See Also
    --------
    one_vs_one : Each class against each other class.

    References
    ----------
    T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874, section 9.
    doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"truth": ["cat", "dog"], "cat": [0.7, 0.2], "dog": [0.3, 0.8]})
    >>> rf.one_vs_rest(predictions, "truth", ["cat", "dog"]).rows()
    [(0, 'cat', True, 0.7), (1, 'cat', False, 0.2), (0, 'dog', False, 0.3), (1, 'dog', True, 0.8)]
    """
    _parse_margin(margin, None)
    return reshape_classes(
        predictions,
        label,
        scores,
        lambda layout: _rows_from_wide(layout, margin),
        lambda layout: _rows_from_long(layout, margin),
        classes=classes,
        id=id,
        keep=keep,
        table=ONE_VS_REST_COLUMNS,
        multilabel=True,
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
    scores, classes, id, keep
        As in `one_vs_rest`.
    relative : {"difference", "ratio"}, default None
        The difference or the quotient of the scores of `class_a` and `class_b`, so that the AUC of
        a pair does not depend on the order of its classes. None: the score of `class_a`.
    max_pairs : int or None, default 10000
        Largest number of ordered pairs; None for no limit. Of c classes, a row becomes 2·(c - 1)
        rows.

    Returns
    -------
    DataFrame or LazyFrame
        The kept columns, the columns of `id`, then `class_a, class_b, label, score`; one row for
        each instance and pair that contains its true class.

        - `class_a` and `class_b` have the type of the labels; row numbers in `id` are UInt32.
        - `label` (Boolean) is true for `class_a` and false for `class_b`. A row without a label is
          in every pair, with a null label.
        - `score` has the common type of the scores. A difference or a ratio is a float, null if the
          label or a score is missing, or for the ratio of two zeros or of two infinite scores.

    Raises
    ------
    RocframeError
        As `one_vs_rest`, and if there are more pairs than `max_pairs`.

    See Also
    --------
    one_vs_rest : Each class against all others.

    Notes
    -----
    Hand and Till's M is the mean of the AUCs of all ordered pairs.

    References
    ----------
    D. J. Hand, R. J. Till (2001), Machine Learning 45, 171-186. doi:10.1023/A:1010920819831

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"truth": ["cat", "dog"], "cat": [0.7, 0.2], "dog": [0.3, 0.8]})
    >>> pairs = rf.one_vs_one(predictions, "truth", ["cat", "dog"])
    >>> pairs.columns
    ['id', 'class_a', 'class_b', 'label', 'score']
    >>> pairs.sort("id", "label").rows()[:2]
    [(0, 'dog', 'cat', False, 0.3), (0, 'cat', 'dog', True, 0.7)]
    """
    check_choice("relative", relative, (*get_args(Relative), None))
    limit = None if max_pairs is None else parse_integer("max_pairs", max_pairs)
    return reshape_classes(
        predictions,
        label,
        scores,
        lambda layout: _pairs_from_wide(layout, relative, limit),
        lambda layout: _pairs_from_long(layout, relative, limit),
        classes=classes,
        id=id,
        keep=keep,
        table=ONE_VS_ONE_COLUMNS,
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


def _pairs_from_wide(layout: Layout, relative: Relative | None, limit: int | None) -> pl.LazyFrame:
    """Return the rows of each pair of classes, for a table with a score column per class."""
    _check_pairs(len(layout.scores), limit, "row")
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
    return pl.concat(parts, how="vertical_relaxed")


def _pairs_from_long(layout: Layout, relative: Relative | None, limit: int | None) -> pl.LazyFrame:
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
    parts.append(_unlabeled(layout, pairs, (row_class, other), score, relative))
    return pl.concat(parts, how="vertical_relaxed")


def _labeled(
    layout: Layout,
    plan: pl.LazyFrame,
    other: pl.Expr,
    scores: tuple[pl.Expr, pl.Expr],
    relative: Relative | None,
) -> list[pl.LazyFrame]:
    """Return rows as positives of their true class, and as negatives of `other`."""
    truth, (true_score, other_score) = layout.labels[0], scores
    rows = plan.filter(truth != other)
    return [
        rows.select(
            *layout.kept_columns,
            class_a.alias("class_a"),
            class_b.alias("class_b"),
            pl.lit(label).alias("label"),
            RELATIVE_SCORES[relative](score_a, score_b).alias("score"),
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


RELATIVE_SCORES: dict[Relative | None, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    None: lambda a, _: a,
    "difference": score_difference,
    "ratio": lambda a, b: pl.when(~(a / b).is_nan()).then(a / b),
}


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
    predicted class and a label, which is true if the predicted class is the true class. For the
    result, `calibration` returns the confidence calibration (Guo et al. 2017), and with
    `by="predicted"` the top-label calibration (Gupta and Ramdas 2022).

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean, numbers, String, Categorical or Enum.
    scores, classes, id, keep
        As in `one_vs_rest`.

    Returns
    -------
    DataFrame or LazyFrame
        The kept columns, the columns of `id`, then `predicted, label, score`; one row per instance,
        in the order of the table. All three columns are null if any score of the row is missing.

        - `predicted` has the type of the labels. Of several classes with the highest score, it is
          the first in the order of `scores` or `classes`; for a long table, in sorted order.
        - `label` (Boolean) is also null if the true class is missing.
        - `score` has the common type of the scores.

    Raises
    ------
    RocframeError
        As `one_vs_rest`.

    See Also
    --------
    calibration : Event rates of bins of the scores, which must be probabilities.
    one_vs_rest : Binary predictions of each class, for class-wise calibration.

    References
    ----------
    - C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger (2017), Proceedings of Machine Learning Research
      70, 1321-1330. doi:10.48550/arXiv.1706.04599
    - C. Gupta, A. Ramdas (2022), International Conference on Learning Representations.
      doi:10.48550/arXiv.2107.08353

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"truth": ["cat", "cat"], "cat": [0.7, 0.2], "dog": [0.3, 0.8]})
    >>> rf.top_label(predictions, "truth", ["cat", "dog"]).rows()
    [(0, 'cat', True, 0.7), (1, 'dog', False, 0.8)]
    """
    return reshape_classes(
        predictions,
        label,
        scores,
        _top_of_wide,
        _top_of_long,
        classes=classes,
        id=id,
        keep=keep,
        table=TOP_LABEL_COLUMNS,
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
