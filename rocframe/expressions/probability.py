"""Expressions for scoring rules of probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.calibration.losses import EPSILON
from rocframe.expressions.rows import formula_expression
from rocframe.options import public

if TYPE_CHECKING:
    from rocframe.expressions.rows import Rows
    from rocframe.inputs.roles import Column


@public
def brier(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the Brier score of the group: the mean of (probability - outcome)².

    The outcome is 1 for a positive and 0 for a negative. Lower values are better.

    Parameters
    ----------
    label : str or Expr
        Column or expression with the true class: Boolean, 0/1 numbers, or, together with
        `positive`, values of any type except List, Array, Struct and Object.
    positive : object, default None
        Value of `label` that is the positive class; all other values are negative. Required unless
        labels are Boolean or 0/1. Without `positive`, the result is null if a label is not
        Boolean, 0 or 1.
    weight : str or Expr, default None
        Column or expression with the importance of a row, finite and >= 0.
    count : str, Expr or None, default None
        Column or expression with the number of identical rows that a row represents. The results
        are the same as if the row were repeated that many times.

    Returns
    -------
    Expr
        Float64 in [0, 1], named like the score; null without rows, or if a score is outside [0, 1].

    References
    ----------
    G. W. Brier (1950), "Verification of forecasts expressed in terms of probability", Monthly
    Weather Review 78(1), 1-3. doi:10.1175/1520-0493(1950)078<0001:VOFEIT>2.0.CO;2

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.brier("label"))
    shape: (1, 1)
    ┌──────────┐
    │ score    │
    │ ---      │
    │ f64      │
    ╞══════════╡
    │ 0.176667 │
    └──────────┘
    """
    return formula_expression(_brier, score, label, positive=positive, weight=weight, count=count)


@public
def log_loss(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the logarithmic loss of the group: the mean of -log(probability of the outcome).

    The logarithm is natural. Lower values are better. Scores are clipped to [ε, 1 - ε] with ε =
    2⁻⁵², as in scikit-learn, because a probability of 0 for an outcome would make the loss
    infinite.

    Parameters
    ----------
    label : str or Expr
        Column or expression with the true class: Boolean, 0/1 numbers, or, together with
        `positive`, values of any type except List, Array, Struct and Object.
    positive : object, default None
        Value of `label` that is the positive class; all other values are negative. Required unless
        labels are Boolean or 0/1. Without `positive`, the result is null if a label is not
        Boolean, 0 or 1.
    weight : str or Expr, default None
        Column or expression with the importance of a row, finite and >= 0.
    count : str, Expr or None, default None
        Column or expression with the number of identical rows that a row represents. The results
        are the same as if the row were repeated that many times.

    Returns
    -------
    Expr
        Float64, named like the score; null without rows, or if a score is outside [0, 1].

    References
    ----------
    I. J. Good (1952), "Rational decisions", Journal of the Royal Statistical Society B 14(1),
    107-114. doi:10.1111/j.2517-6161.1952.tb00104.x

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.log_loss("label"))
    shape: (1, 1)
    ┌──────────┐
    │ score    │
    │ ---      │
    │ f64      │
    ╞══════════╡
    │ 0.510826 │
    └──────────┘
    """
    return formula_expression(
        _log_loss, score, label, positive=positive, weight=weight, count=count
    )


def _brier(rows: Rows) -> pl.Expr:
    return _mean_loss(rows, (_probability(rows) - rows.positive.cast(pl.Float64)) ** 2)


def _log_loss(rows: Rows) -> pl.Expr:
    probability = _probability(rows).clip(EPSILON, 1 - EPSILON)
    outcome = pl.when(rows.positive).then(probability).otherwise(1 - probability)
    return _mean_loss(rows, -outcome.log())


def _probability(rows: Rows) -> pl.Expr:
    return rows.score.cast(pl.Float64)


def _mean_loss(rows: Rows, loss: pl.Expr) -> pl.Expr:
    """Return the mean loss of the rows; null if there are no rows or a score is outside [0, 1]."""
    is_probability = _probability(rows).is_between(0, 1).filter(rows.used).all()
    loss = loss.filter(rows.used)
    if rows.row_weight is None:
        return pl.when(is_probability).then(loss.mean())
    weight = rows.row_weight.filter(rows.used).cast(pl.Float64)
    total = weight.sum()
    return pl.when(is_probability & (total > 0)).then((weight * loss).sum() / total)
