"""Expressions for areas under the precision-recall curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.expressions.rows import FP, FP0, POS, TP, TP0, formula_expression, steps
from rocframe.options import public

if TYPE_CHECKING:
    from rocframe.expressions.rows import Rows
    from rocframe.inputs.roles import Column


@public
def average_precision(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the average precision of the group.

    Each distinct score is a threshold t, at which rows with `score >= t` are predicted positive.
    For each threshold, the precision is multiplied by the increase of recall from the next higher
    threshold. The average precision is the sum of these products. There is no interpolation between
    thresholds; `pr_auc` interpolates.

    Parameters
    ----------
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    positive : object, default None
        Value of `label` that is the positive class. Without it, other numbers than 0 and 1 give
        null.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, default None
        Number of equal rows that a row represents.

    Returns
    -------
    Expr
        Float64 in [0, 1], named like the score; null if there are no positives. Rows with a null or
        NaN label or score are left out.

    References
    ----------
    T. Saito, M. Rehmsmeier (2015), "The precision-recall plot is more informative than the ROC
    plot when evaluating binary classifiers on imbalanced datasets", PLoS ONE 10(3), e0118432.
    doi:10.1371/journal.pone.0118432

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.average_precision("label"))
    shape: (1, 1)
    ┌──────────┐
    │ score    │
    │ ---      │
    │ f64      │
    ╞══════════╡
    │ 0.833333 │
    └──────────┘
    """
    return formula_expression(
        _average_precision, score, label, positive=positive, weight=weight, count=count
    )


@public
def pr_auc(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the area under the interpolated precision-recall curve of the group.

    The area is the integral of precision over recall. Between two neighboring thresholds, the
    false positives are a linear function of the true positives, so precision is a hyperbola instead
    of a straight line. For the area without interpolation see `average_precision`.

    Parameters
    ----------
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    positive : object, default None
        Value of `label` that is the positive class. Without it, other numbers than 0 and 1 give
        null.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, default None
        Number of equal rows that a row represents.

    Returns
    -------
    Expr
        Float64 in [0, 1], named like the score; null if there are no positives. Rows with a null or
        NaN label or score are left out.

    References
    ----------
    J. Davis, M. Goadrich (2006), "The relationship between precision-recall and ROC curves",
    ICML, 233-240. doi:10.1145/1143844.1143874

    T. Saito, M. Rehmsmeier (2015), "The precision-recall plot is more informative than the ROC
    plot when evaluating binary classifiers on imbalanced datasets", PLoS ONE 10(3), e0118432.
    doi:10.1371/journal.pone.0118432

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.pr_auc("label"))
    shape: (1, 1)
    ┌──────────┐
    │ score    │
    │ ---      │
    │ f64      │
    ╞══════════╡
    │ 0.887327 │
    └──────────┘
    """
    return formula_expression(_pr_auc, score, label, positive=positive, weight=weight, count=count)


def _average_precision(rows: Rows) -> pl.Expr:
    return _area_of_steps(rows, (TP - TP0) * (TP / (TP + FP)))


def _pr_auc(rows: Rows) -> pl.Expr:
    new_tp = TP - TP0
    # Between two points, fp is a linear function of tp. If fp is b + (a - 1)·t at t true positives,
    # the precision is t / (a·t + b).
    a = 1 + (FP - FP0) / new_tp
    b = FP0 - (a - 1) * TP0
    alerts_before = TP0 + FP0
    growth = pl.when(alerts_before > 0).then((TP + FP - alerts_before) / alerts_before).otherwise(0)
    area = new_tp / a - b / a**2 * growth.log1p()
    return _area_of_steps(rows, pl.when(new_tp > 0).then(area).otherwise(0))


def _area_of_steps(rows: Rows, step: pl.Expr) -> pl.Expr:
    """Return the sum of `step` over all distinct scores, divided by the number of positives."""
    area = (step.sum() / POS).clip(0, 1)
    return steps(rows, by_class=False).list.agg(pl.when(POS > 0).then(area))
