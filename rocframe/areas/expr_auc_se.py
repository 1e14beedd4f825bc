"""Expressions of a score and a label → the standard error of the AUC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.areas.expr_rows import of_rows
from rocframe.areas.expr_steps import FP, FP0, NEG, POS, TP, TP0, both_classes, field, steps

if TYPE_CHECKING:
    from rocframe.areas.expr_rows import Rows
    from rocframe.predictions import Column


def auc_se(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Estimate the standard error of the group's AUC, by DeLong.

    The square root of s²(V10)/m + s²(V01)/n over the placements of m positives and n negatives.
    A weight is importance, not repetition; `count` is repetition.

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
        Float64, named like the score; null where a class has fewer than two rows, and where it
        would be 0: the classes are apart, or all scores equal.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or
    more correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})
    >>> predictions.select(pl.col("score").roc.auc_se("label"))
    shape: (1, 1)
    ┌──────────┐
    │ score    │
    │ ---      │
    │ f64      │
    ╞══════════╡
    │ 0.176777 │
    └──────────┘
    """
    return of_rows(_auc_se, score, label, positive=positive, weight=weight, count=count)


def _auc_se(rows: Rows) -> pl.Expr:
    theta = ((FP - FP0) / NEG * ((TP + TP0) / POS)).sum() / 2
    v10 = (NEG - FP + (NEG - FP0)) / (2 * NEG) - theta
    v01 = (TP + TP0) / (2 * POS) - theta
    if rows.weight is None:
        m, n = POS.cast(pl.Float64), NEG.cast(pl.Float64)
        squares, others = (TP - TP0) / m**2, (FP - FP0) / n**2
    else:
        m, n = field("m").last().cast(pl.Float64), field("n").last().cast(pl.Float64)
        squares, others = field("pp") / POS / POS, field("nn") / NEG / NEG
    variance = m / (m - 1) * (squares * v10**2).sum() + n / (n - 1) * (others * v01**2).sum()
    # Placements are constant in both classes only if these are apart, one way or the other, or all
    # scores are equal. Said with counts this is exact; the variance would only be near 0.
    below, above = ((FP > 0) & (TP0 < POS)).sum(), ((TP > 0) & (FP0 < NEG)).sum()
    spread = (below > 0) & (above > 0) & (TP.len() > 1)
    error = pl.when((m > 1) & (n > 1) & spread).then(variance.sqrt())
    return steps(rows, squares=True).list.agg(both_classes(error))
