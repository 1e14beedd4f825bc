"""Expressions of a score and a label → the area under the ROC curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.areas.expr_partial import partial_auc
from rocframe.areas.expr_rows import of_rows
from rocframe.areas.expr_steps import (
    FP,
    FP0,
    NEG,
    POS,
    TP,
    TP0,
    both_classes,
    field,
    packed,
    quotient,
    steps,
)
from rocframe.areas.part import Part

if TYPE_CHECKING:
    from rocframe.areas.expr_rows import Rows
    from rocframe.areas.part import Range
    from rocframe.predictions import Column


def auc(
    score: pl.Expr,
    label: Column,
    *,
    fpr: Range | None = None,
    tpr: Range | None = None,
    standardize: Literal["mcclish"] | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Measure the area under the ROC curve of the group.

    The chance that a positive has a higher score than a negative, a tie counting half:
    (2·wins + ties) / (2·positives·negatives), in whole numbers unless rows are weighted. It is the
    `auc`, or with `fpr` or `tpr` the `partial_auc`, of `rocframe.auc`.

    Parameters
    ----------
    label
        Column or expression with the truth: Boolean, 0/1 numbers, or anything with `positive`.
    fpr
        Range of the false positive rate, say `(0, 0.1)`: the integral of TPR over it.
    tpr
        Range of the true positive rate, say `(0.9, 1)`: the integral of 1 - FPR over it.
    standardize
        `"mcclish"` puts a partial area on the scale where chance is 1/2 and the best is 1.
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
        Float64, named like the score; null without positives or without negatives.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or
    more correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    D. K. McClish (1989), "Analyzing a portion of the ROC curve", Medical Decision Making 9(3),
    190-195. doi:10.1177/0272989X8900900307

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.auc("label"))
    shape: (1, 1)
    ┌───────┐
    │ score │
    │ ---   │
    │ f64   │
    ╞═══════╡
    │ 0.75  │
    └───────┘
    """
    part = Part.of(fpr, tpr, standardize)

    def area(rows: Rows) -> pl.Expr:
        return _area(rows) if part is None else partial_auc(rows, part)

    return of_rows(area, score, label, positive=positive, weight=weight, count=count)


def gini(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Scale the AUC of the group so that chance is 0: 2·AUC - 1.

    Also known as Somers' D of the score given the label, or the accuracy ratio.

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
        Float64 in [-1, 1], named like the score; null without positives or without negatives.

    References
    ----------
    D. J. Hand, R. J. Till (2001), "A simple generalisation of the area under the ROC curve for
    multiple class classification problems", Machine Learning 45, 171-186.
    doi:10.1023/A:1010920819831

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.gini("label"))
    shape: (1, 1)
    ┌───────┐
    │ score │
    │ ---   │
    │ f64   │
    ╞═══════╡
    │ 0.5   │
    └───────┘
    """
    return of_rows(_gini, score, label, positive=positive, weight=weight, count=count)


def _area(rows: Rows) -> pl.Expr:
    if rows.mass is None:
        return _area_of_ranks(rows)
    if rows.weight is not None:
        area = ((FP - FP0) / NEG * ((TP + TP0) / POS)).sum() / 2
        return steps(rows).list.agg(both_classes(area.clip(0, 1)))  # sums of weights are rounded
    # Where rows stand for many, products of counts may be beyond Int64.
    tp, tp0, fp, fp0 = (part.cast(pl.Int128) for part in (TP, TP0, FP, FP0))
    area = quotient(((fp - fp0) * (tp + tp0)).sum(), 2 * tp.last() * fp.last())
    return steps(rows).list.agg(both_classes(area))


def _area_of_ranks(rows: Rows) -> pl.Expr:
    """Return the area from ranks, which takes half the time that steps take."""
    positive = field("positive")
    # Twice the sum of the positives' mid-ranks is 2·wins + ties + P·(P + 1). Were both to wrap
    # beyond Int64, their difference, at most 2·P·N, would not.
    doubled = (field("score").rank("average") * 2).cast(pl.Int64).filter(positive).sum()
    pos, neg = positive.cast(pl.Int64).sum(), (~positive).cast(pl.Int64).sum()
    area = quotient(doubled - pos * (pos + 1), 2 * pos * neg)
    return packed(rows).list.agg(pl.when((pos > 0) & (neg > 0)).then(area))


def _gini(rows: Rows) -> pl.Expr:
    return 2 * _area(rows) - 1
