"""Expressions of a score and a label → the place of each row in the other class."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.areas.expr_rows import of_rows
from rocframe.areas.expr_steps import falling, field, place, record

if TYPE_CHECKING:
    from rocframe.areas.expr_rows import Rows
    from rocframe.predictions import Column


def placement(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Give each row its place among the scores of the other class.

    For a positive the share of negatives that it beats, for a negative the share of positives
    that beat it, a tie counting half. The mean over either class is the AUC.

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
        Float64 in [0, 1], a value per row, named like the score; null without label, without score,
        or without rows of the other class.

    References
    ----------
    E. R. DeLong, D. M. DeLong, D. L. Clarke-Pearson (1988), "Comparing the areas under two or
    more correlated receiver operating characteristic curves", Biometrics 44(3), 837-845.
    doi:10.2307/2531595

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> predictions.with_columns(placement=pl.col("score").roc.placement("label"))
    shape: (3, 3)
    ┌───────┬───────┬───────────┐
    │ label ┆ score ┆ placement │
    │ ---   ┆ ---   ┆ ---       │
    │ i64   ┆ f64   ┆ f64       │
    ╞═══════╪═══════╪═══════════╡
    │ 1     ┆ 0.9   ┆ 1.0       │
    │ 0     ┆ 0.4   ┆ 0.75      │
    │ 1     ┆ 0.4   ┆ 0.5       │
    └───────┴───────┴───────────┘
    """
    return of_rows(_placement, score, label, positive=positive, weight=weight, count=count)


def _placement(rows: Rows) -> pl.Expr:
    tp, fp = falling("tp"), falling("fp")
    pos, neg = field("pos"), field("neg")
    beats = (neg - _twice_above("fp") + neg) / (2 * neg)
    beaten = _twice_above("tp") / (2 * pos)
    return (
        record(
            score=rows.score,
            positive=rows.positive,
            tp=rows.mass_of(rows.positive),
            fp=rows.mass_of(~rows.positive),
        )
        .implode()
        .list.eval(
            record(
                positive=field("positive"),
                first=place("min"),
                last=place("max"),
                tp=tp,
                fp=fp,
                pos=tp.last(),
                neg=fp.last(),
            )
        )
        .list.eval(
            pl.when(field("positive") & (neg > 0))
            .then(beats)
            .when(~field("positive") & (pos > 0))
            .then(beaten)
        )
        .explode()
    )


def _twice_above(name: str) -> pl.Expr:
    """Return twice what is above each row, ties one half."""
    above = field(name).shift(1, fill_value=0).gather(field("first"))
    return above + field(name).gather(field("last"))
