"""Row-wise expressions for rates and placement values, and the Kolmogorov-Smirnov statistic."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.expressions.rows import (
    FP,
    NEG,
    POS,
    TP,
    both_classes,
    field,
    formula_expression,
    quotient,
    record,
    steps,
)
from rocframe.options import public

if TYPE_CHECKING:
    from rocframe.expressions.rows import Rows
    from rocframe.inputs.roles import Column


@public
def tpr(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the true positive rate at the score of each row.

    The rate of a row is the share of the positives of the group whose score is greater than or
    equal to the score of the row. Rows without a label, or with weight or count 0, get a rate too,
    but they are not counted in any rate.

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
        Float64 in [0, 1], a value per row, named like the score; null if the score is missing or
        the group has no positives.

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
    return formula_expression(_tpr, score, label, positive=positive, weight=weight, count=count)


@public
def fpr(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the false positive rate at the score of each row.

    The rate of a row is the share of the negatives of the group whose score is greater than or
    equal to the score of the row. Rows without a label, or with weight or count 0, get a rate too,
    but they are not counted in any rate.

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
        Float64 in [0, 1], a value per row, named like the score; null if the score is missing or
        the group has no negatives.

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
    return formula_expression(
        _fpr,
        score,
        label,
        positive=positive,
        weight=weight,
        count=count,
        needs_positives=False,
    )


def _tpr(rows: Rows) -> pl.Expr:
    return _rate(rows, rows.positive)


def _fpr(rows: Rows) -> pl.Expr:
    return _rate(rows, ~rows.positive)


def _rate(rows: Rows, in_class: pl.Expr) -> pl.Expr:
    """Return, for each row, the share of the rows of a class with at least the same score."""
    sums = _cumulated_by_score("weight")
    rate = field("sum").gather(field("last")) / field("total")
    return (
        record(score=rows.score, weight=rows.class_weight(in_class))
        .implode()
        .list.eval(record(last=_tie_position("max"), sum=sums, total=sums.last()))
        .list.eval(pl.when(field("total") > 0).then(rate))
        .explode()
    )


def _tie_position(of_ties: Literal["min", "max"]) -> pl.Expr:
    """Return, for each row, the position of the first ("min") or last ("max") row with its score.

    The positions are those in the order of falling scores.
    """
    return field("score").rank(of_ties, descending=True) - 1


def _cumulated_by_score(name: str) -> pl.Expr:
    """Return cumulative sums of a field in the order of falling scores; unscored rows are last."""
    return field(name).sort_by(field("score"), descending=True, nulls_last=True).cum_sum()


@public
def placement(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the placement value of each row among the scores of the other class.

    The placement value of a positive is the share of negatives with a lower score. The placement
    value of a negative is the share of positives with a higher score. A tie counts 1/2. The mean of
    the placement values of the positives is the AUC. The mean of the placement values of the
    negatives is the AUC as well.

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
        Float64 in [0, 1], a value per row, named like the score; null if the label or the score is
        missing, or if the other class has no rows.

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
    return formula_expression(
        _placement,
        score,
        label,
        positive=positive,
        weight=weight,
        count=count,
        needs_positives=False,
    )


def _placement(rows: Rows) -> pl.Expr:
    tp, fp = _cumulated_by_score("tp"), _cumulated_by_score("fp")
    pos, neg = field("pos"), field("neg")
    share_below = (neg - _doubled_sum_above("fp") + neg) / (2 * neg)
    share_above = _doubled_sum_above("tp") / (2 * pos)
    return (
        record(
            score=rows.score,
            positive=rows.positive,
            tp=rows.class_weight(rows.positive),
            fp=rows.class_weight(~rows.positive),
        )
        .implode()
        .list.eval(
            record(
                positive=field("positive"),
                first=_tie_position("min"),
                last=_tie_position("max"),
                tp=tp,
                fp=fp,
                pos=tp.last(),
                neg=fp.last(),
            )
        )
        .list.eval(
            pl.when(field("positive") & (neg > 0))
            .then(share_below)
            .when(~field("positive") & (pos > 0))
            .then(share_above)
        )
        .explode()
    )


def _doubled_sum_above(name: str) -> pl.Expr:
    """Return, for each row, twice the sum of a field over the rows with higher scores.

    Rows with the same score count one half in this sum.
    """
    above = field(name).shift(1, fill_value=0).gather(field("first"))
    return above + field(name).gather(field("last"))


@public
def ks(
    score: pl.Expr,
    label: Column,
    *,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the Kolmogorov-Smirnov statistic of the group: the maximum of TPR - FPR.

    The maximum is over all thresholds, where rows with `score >= threshold` are predicted positive.
    One threshold is above all scores, so the maximum is at least 0.

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
        Float64 in [0, 1], named like the score; null if there are no positives or no negatives.
        Rows with a null or NaN label or score are left out.

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
    return formula_expression(_ks, score, label, positive=positive, weight=weight, count=count)


def _ks(rows: Rows) -> pl.Expr:
    if rows.weight is not None:
        return steps(rows).list.agg(both_classes((TP / POS - FP / NEG).max().clip(0, 1)))
    tp, fp = (count.cast(rows.product_dtype) for count in (TP, FP))
    numerator = (tp * fp.last() - fp * tp.last()).max()
    return steps(rows).list.agg(both_classes(quotient(numerator, tp.last() * fp.last())))
