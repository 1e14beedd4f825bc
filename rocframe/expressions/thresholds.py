"""Expressions of confusion counts and metrics at a threshold."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

import polars as pl

from rocframe.errors import OptionValueError
from rocframe.expressions.rates import formula_expression
from rocframe.options import public, to_float
from rocframe.rates import NAMES, Counts, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from rocframe.expressions.rates import Rows
    from rocframe.inputs.roles import Column


@public
def confusion(
    score: pl.Expr,
    label: Column,
    *,
    threshold: float | pl.Expr,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Count the rows of each cell of the confusion matrix at a threshold.

    Rows with `score >= threshold` are predicted positive.

    Parameters
    ----------
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    threshold : float or Expr
        The threshold: a number, or an expression with a value per group or per row.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, default None
        Number of equal rows that a row represents.

    Returns
    -------
    Expr
        Struct of `tp`, `fp`, `fn` and `tn`, named like the score: Int64, or Float64 with `weight`.
        Null if the group has no positives, or if a threshold is null or NaN.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"model": ["a", "a", "a", "b", "b"], "label": [1, 0, 1, 1, 0], "score": [8, 6, 3, 9, 2]}
    ... )
    >>> counts = pl.col("score").roc.confusion("label", threshold=5)
    >>> predictions.group_by("model", maintain_order=True).agg(counts).unnest("score")
    shape: (2, 5)
    ┌───────┬─────┬─────┬─────┬─────┐
    │ model ┆ tp  ┆ fp  ┆ fn  ┆ tn  │
    │ ---   ┆ --- ┆ --- ┆ --- ┆ --- │
    │ str   ┆ i64 ┆ i64 ┆ i64 ┆ i64 │
    ╞═══════╪═════╪═════╪═════╪═════╡
    │ a     ┆ 1   ┆ 1   ┆ 1   ┆ 0   │
    │ b     ┆ 1   ┆ 0   ┆ 0   ┆ 1   │
    └───────┴─────┴─────┴─────┴─────┘
    """
    return _at_threshold(
        lambda counts: pl.struct(**counts._asdict()),
        score,
        label,
        threshold,
        positive=positive,
        weight=weight,
        count=count,
    )


@public
def accuracy(
    score: pl.Expr,
    label: Column,
    *,
    threshold: float | pl.Expr,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the share of the rows that are predicted correctly.

    Rows with `score >= threshold` are predicted positive.

    Parameters
    ----------
    label, threshold, positive, weight, count
        As in `confusion`.

    Returns
    -------
    Expr
        Float64 in [0, 1], one value per group, named like the score. Null if the group has no
        positives, or if a threshold is null or NaN.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.6, 0.6, 0.2]})
    >>> predictions.select(pl.col("score").roc.accuracy("label", threshold=0.6)).item()
    0.75
    """
    return _metric(
        "accuracy", score, label, threshold, positive=positive, weight=weight, count=count
    )


@public
def balanced_accuracy(
    score: pl.Expr,
    label: Column,
    *,
    threshold: float | pl.Expr,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the mean of the true positive rate and the true negative rate.

    Rows with `score >= threshold` are predicted positive.

    Parameters
    ----------
    label, threshold, positive, weight, count
        As in `confusion`.

    Returns
    -------
    Expr
        Float64 in [0, 1], one value per group, named like the score. Null if the group has no
        positives or no negatives, or if a threshold is null or NaN.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.6, 0.6, 0.2]})
    >>> predictions.select(pl.col("score").roc.balanced_accuracy("label", threshold=0.6)).item()
    0.75
    """
    return _metric(
        "balanced_accuracy", score, label, threshold, positive=positive, weight=weight, count=count
    )


@public
def precision(
    score: pl.Expr,
    label: Column,
    *,
    threshold: float | pl.Expr,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the share of positives among the rows that are predicted positive.

    Rows with `score >= threshold` are predicted positive.

    Parameters
    ----------
    label, threshold, positive, weight, count
        As in `confusion`.

    Returns
    -------
    Expr
        Float64 in [0, 1], one value per group, named like the score. Null if the group has no
        positives, if no row is predicted positive, or if a threshold is null or NaN.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.6, 0.6, 0.2]})
    >>> predictions.select(pl.col("score").roc.precision("label", threshold=0.6)).item()
    0.6666666666666666
    """
    return _metric(
        "precision", score, label, threshold, positive=positive, weight=weight, count=count
    )


@public
def recall(
    score: pl.Expr,
    label: Column,
    *,
    threshold: float | pl.Expr,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the share of the positives that are predicted positive.

    Rows with `score >= threshold` are predicted positive.

    Parameters
    ----------
    label, threshold, positive, weight, count
        As in `confusion`.

    Returns
    -------
    Expr
        Float64 in [0, 1], one value per group, named like the score. Null if the group has no
        positives, or if a threshold is null or NaN.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.6, 0.6, 0.2]})
    >>> predictions.select(pl.col("score").roc.recall("label", threshold=0.6)).item()
    1.0
    """
    return _metric("recall", score, label, threshold, positive=positive, weight=weight, count=count)


@public
def specificity(
    score: pl.Expr,
    label: Column,
    *,
    threshold: float | pl.Expr,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the share of the negatives that are predicted negative.

    Rows with `score >= threshold` are predicted positive.

    Parameters
    ----------
    label, threshold, positive, weight, count
        As in `confusion`.

    Returns
    -------
    Expr
        Float64 in [0, 1], one value per group, named like the score. Null if the group has no
        positives or no negatives, or if a threshold is null or NaN.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.6, 0.6, 0.2]})
    >>> predictions.select(pl.col("score").roc.specificity("label", threshold=0.6)).item()
    0.5
    """
    return _metric(
        "specificity", score, label, threshold, positive=positive, weight=weight, count=count
    )


@public
def f1(
    score: pl.Expr,
    label: Column,
    *,
    threshold: float | pl.Expr,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the harmonic mean of precision and recall.

    Rows with `score >= threshold` are predicted positive.

    Parameters
    ----------
    label, threshold, positive, weight, count
        As in `confusion`.

    Returns
    -------
    Expr
        Float64 in [0, 1], one value per group, named like the score. Null if the group has no
        positives, or if a threshold is null or NaN.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.6, 0.6, 0.2]})
    >>> predictions.select(pl.col("score").roc.f1("label", threshold=0.6)).item()
    0.8
    """
    return _metric("f1", score, label, threshold, positive=positive, weight=weight, count=count)


@public
def f_beta(
    score: pl.Expr,
    label: Column,
    *,
    threshold: float | pl.Expr,
    beta: float = 1.0,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the weighted harmonic mean of precision and recall.

    Rows with `score >= threshold` are predicted positive.

    Parameters
    ----------
    label, threshold
        As in `confusion`.
    beta : float, default 1
        Recall counts beta² times as much as precision; >= 0.
    positive, weight, count
        As in `confusion`.

    Returns
    -------
    Expr
        Float64 in [0, 1], one value per group, named like the score. Null if the group has no
        positives, or if a threshold is null or NaN.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.6, 0.6, 0.2]})
    >>> predictions.select(pl.col("score").roc.f_beta("label", threshold=0.6, beta=2)).item()
    0.9090909090909091
    """
    return _metric(
        "f_beta",
        score,
        label,
        threshold,
        positive=positive,
        weight=weight,
        count=count,
        settings=Settings(beta=beta),
    )


@public
def jaccard(
    score: pl.Expr,
    label: Column,
    *,
    threshold: float | pl.Expr,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the Jaccard index: true positives among positives and predicted positives.

    Rows with `score >= threshold` are predicted positive.

    Parameters
    ----------
    label, threshold, positive, weight, count
        As in `confusion`.

    Returns
    -------
    Expr
        Float64 in [0, 1], one value per group, named like the score. Null if the group has no
        positives, or if a threshold is null or NaN.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.6, 0.6, 0.2]})
    >>> predictions.select(pl.col("score").roc.jaccard("label", threshold=0.6)).item()
    0.6666666666666666
    """
    return _metric(
        "jaccard", score, label, threshold, positive=positive, weight=weight, count=count
    )


@public
def mcc(
    score: pl.Expr,
    label: Column,
    *,
    threshold: float | pl.Expr,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute Matthews' correlation coefficient of label and predicted class.

    Rows with `score >= threshold` are predicted positive.

    Parameters
    ----------
    label, threshold, positive, weight, count
        As in `confusion`.

    Returns
    -------
    Expr
        Float64 in [-1, 1], one value per group, named like the score. Null if the group has no
        positives, if all rows are predicted to be in one class, or if a threshold is null or NaN.

    References
    ----------
    B. W. Matthews (1975), "Comparison of the predicted and observed secondary structure of T4
    phage lysozyme", Biochimica et Biophysica Acta 405(2), 442-451.
    doi:10.1016/0005-2795(75)90109-9

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.6, 0.6, 0.2]})
    >>> predictions.select(pl.col("score").roc.mcc("label", threshold=0.6)).item()
    0.5773502691896258
    """
    return _metric("mcc", score, label, threshold, positive=positive, weight=weight, count=count)


@public
def kappa(
    score: pl.Expr,
    label: Column,
    *,
    threshold: float | pl.Expr,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute Cohen's kappa of label and predicted class.

    Rows with `score >= threshold` are predicted positive.

    Parameters
    ----------
    label, threshold, positive, weight, count
        As in `confusion`.

    Returns
    -------
    Expr
        Float64 in [-1, 1], one value per group, named like the score. Null if the group has no
        positives, if all rows have and get one class, or if a threshold is null or NaN.

    References
    ----------
    J. Cohen (1960), "A coefficient of agreement for nominal scales", Educational and Psychological
    Measurement 20(1), 37-46. doi:10.1177/001316446002000104

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.6, 0.6, 0.2]})
    >>> predictions.select(pl.col("score").roc.kappa("label", threshold=0.6)).item()
    0.5
    """
    return _metric("kappa", score, label, threshold, positive=positive, weight=weight, count=count)


def _metric(
    name: str,
    score: pl.Expr,
    label: Column,
    threshold: float | pl.Expr,
    *,
    positive: object,
    weight: Column | None,
    count: Column | None,
    settings: Settings | None = None,
) -> pl.Expr:
    """Return a metric of the package at a threshold."""
    formula, settings = NAMES[name].formula, settings or Settings()
    return _at_threshold(
        lambda counts: formula(counts, settings).cast(pl.Float64),
        score,
        label,
        threshold,
        positive=positive,
        weight=weight,
        count=count,
    )


def _at_threshold(
    formula: Callable[[Counts], pl.Expr],
    score: pl.Expr,
    label: Column,
    threshold: float | pl.Expr,
    *,
    positive: object,
    weight: Column | None,
    count: Column | None,
) -> pl.Expr:
    """Return a formula of the counts at a threshold; null if a threshold is missing."""
    if not isinstance(threshold, pl.Expr):
        number = None if isinstance(threshold, bool) else to_float(threshold)
        if number is None or isnan(number):
            problem, hint = "expected a number or an expression", "Use, for example, threshold=0.5."
            raise OptionValueError.compose("threshold", threshold, problem, hint)
        threshold = pl.lit(number)

    def value(rows: Rows) -> pl.Expr:
        assert rows.threshold is not None
        alert = rows.score >= rows.threshold
        cells = (
            (rows.positive, alert),
            (~rows.positive, alert),
            (rows.positive, ~alert),
            (~rows.positive, ~alert),
        )
        counts = Counts(*(rows.class_weight(label & cell).sum() for label, cell in cells))
        return pl.when(rows.threshold.is_not_null().all()).then(formula(counts))

    return formula_expression(
        value,
        score,
        label,
        positive=positive,
        weight=weight,
        count=count,
        threshold=threshold,
    )
