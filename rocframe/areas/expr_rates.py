"""Expressions of a score and a label → the rates at each row's score."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.areas.expr_rows import of_rows
from rocframe.areas.expr_steps import falling, field, place, record

if TYPE_CHECKING:
    from rocframe.areas.expr_rows import Rows
    from rocframe.predictions import Column


def tpr(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Give each row of the group the true positive rate at its score.

    The share of positives that predicting `score >= threshold` finds if the row's score is the
    threshold. Rows without a label, or of weight or count 0, have a rate but add to none.

    Parameters
    ----------
    label
        Column or expression with the truth: Boolean, 0/1 numbers, or anything with `positive`.
    positive
        The value of `label` that is the positive class; all others are negative. Needed unless
        labels are Boolean or 0/1.
    weight
        Column or expression with the importance of a row, finite and at least 0.
    count
        Column or expression saying how many identical rows a row stands for; everything is what
        that many rows would give.

    Returns
    -------
    Expr
        Float64 in [0, 1], a value per row, named like the score; null without score or positives.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.with_columns(tpr=pl.col("score").roc.tpr("label"))
    shape: (3, 3)
    ┌───────┬───────┬─────┐
    │ label ┆ score ┆ tpr │
    │ ---   ┆ ---   ┆ --- │
    │ i64   ┆ f64   ┆ f64 │
    ╞═══════╪═══════╪═════╡
    │ 1     ┆ 0.9   ┆ 0.5 │
    │ 0     ┆ 0.4   ┆ 1.0 │
    │ 1     ┆ 0.4   ┆ 1.0 │
    └───────┴───────┴─────┘
    """
    return of_rows(_tpr, score, label, positive=positive, weight=weight, count=count)


def fpr(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Give each row of the group the false positive rate at its score.

    The share of negatives that predicting `score >= threshold` calls positive if the row's score
    is the threshold. Rows without a label, or of weight or count 0, have a rate but add to none.

    Parameters
    ----------
    label
        Column or expression with the truth: Boolean, 0/1 numbers, or anything with `positive`.
    positive
        The value of `label` that is the positive class; all others are negative. Needed unless
        labels are Boolean or 0/1.
    weight
        Column or expression with the importance of a row, finite and at least 0.
    count
        Column or expression saying how many identical rows a row stands for; everything is what
        that many rows would give.

    Returns
    -------
    Expr
        Float64 in [0, 1], a value per row, named like the score; null without score or negatives.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.with_columns(fpr=pl.col("score").roc.fpr("label"))
    shape: (3, 3)
    ┌───────┬───────┬─────┐
    │ label ┆ score ┆ fpr │
    │ ---   ┆ ---   ┆ --- │
    │ i64   ┆ f64   ┆ f64 │
    ╞═══════╪═══════╪═════╡
    │ 1     ┆ 0.9   ┆ 0.0 │
    │ 0     ┆ 0.4   ┆ 1.0 │
    │ 1     ┆ 0.4   ┆ 1.0 │
    └───────┴───────┴─────┘
    """
    return of_rows(_fpr, score, label, positive=positive, weight=weight, count=count)


def _tpr(rows: Rows) -> pl.Expr:
    return _rate(rows, rows.positive)


def _fpr(rows: Rows) -> pl.Expr:
    return _rate(rows, ~rows.positive)


def _rate(rows: Rows, of: pl.Expr) -> pl.Expr:
    mass = falling("mass")
    rate = field("mass").gather(field("last")) / field("total")
    return (
        record(score=rows.score, mass=rows.mass_of(of))
        .implode()
        .list.eval(record(last=place("max"), mass=mass, total=mass.last()))
        .list.eval(pl.when(field("total") > 0).then(rate))
        .explode()
    )
