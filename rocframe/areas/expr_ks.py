"""Expressions of a score and a label → the Kolmogorov-Smirnov distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.areas.expr_rows import of_rows
from rocframe.areas.expr_steps import FP, NEG, POS, TP, both_classes, quotient, steps

if TYPE_CHECKING:
    import polars as pl

    from rocframe.areas.expr_rows import Rows
    from rocframe.predictions import Column


def ks(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Find the largest TPR - FPR of the group, its Kolmogorov-Smirnov distance.

    The largest over all thresholds of predicting `score >= threshold`, the one above all scores
    included, so it is at least 0.

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
        Float64 in [0, 1], named like the score; null without positives or without negatives.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874. doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.select(pl.col("score").roc.ks("label"))
    shape: (1, 1)
    ┌───────┐
    │ score │
    │ ---   │
    │ f64   │
    ╞═══════╡
    │ 0.5   │
    └───────┘
    """
    return of_rows(_ks, score, label, positive=positive, weight=weight, count=count)


def _ks(rows: Rows) -> pl.Expr:
    if rows.weight is not None:
        return steps(rows).list.agg(both_classes((TP / POS - FP / NEG).max().clip(0, 1)))
    tp, fp = TP.cast(rows.exact), FP.cast(rows.exact)
    above = (tp * fp.last() - fp * tp.last()).max()
    return steps(rows).list.agg(both_classes(quotient(above, tp.last() * fp.last())))
