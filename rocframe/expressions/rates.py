"""Expressions of rates at thresholds, and at another prevalence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.errors import ColumnTypeError, OptionValueError
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
from rocframe.inputs.roles import column_expression
from rocframe.options import check_supported, parse_fraction, public

if TYPE_CHECKING:
    from rocframe.expressions.rows import Rows, TypedExpr
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

    The rate of a row is the share of the positives of the group with at least the score of the row.
    Rows without a label, or with weight or count 0, get a rate but are not counted.

    Parameters
    ----------
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    positive : object, default None
        Value of `label` that is the positive class.
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
    return formula_expression(_tpr, score, label, positive, weight, count)


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

    The rate of a row is the share of the negatives of the group with at least the score of the row.
    Rows without a label, or with weight or count 0, get a rate but are not counted.

    Parameters
    ----------
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    positive : object, default None
        Value of `label` that is the positive class.
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
    return formula_expression(_fpr, score, label, positive, weight, count, needs_positives=False)


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
    """Return the first or last position of the ties of each row, in the order of falling scores."""
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

    For a positive, it is the share of negatives with a lower score; for a negative, the share of
    positives with a higher score. A tie counts 1/2. The mean over each class is the AUC.

    Parameters
    ----------
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    positive : object, default None
        Value of `label` that is the positive class.
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
        _placement, score, label, positive, weight, count, needs_positives=False
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
    """Return, for each row, twice the sum of a field over higher scores; ties count one half."""
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

    Rows with `score >= threshold` are predicted positive. One threshold is above all scores, so the
    maximum is at least 0.

    Parameters
    ----------
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    positive : object, default None
        Value of `label` that is the positive class.
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
    return formula_expression(_ks, score, label, positive, weight, count)


def _ks(rows: Rows) -> pl.Expr:
    if rows.weight is not None:
        return steps(rows).list.agg(both_classes((TP / POS - FP / NEG).max().clip(0, 1)))
    tp, fp = (count.cast(rows.product_dtype) for count in (TP, FP))
    numerator = (tp * fp.last() - fp * tp.last()).max()
    return steps(rows).list.agg(both_classes(quotient(numerator, tp.last() * fp.last())))


@public
def at_prevalence(
    score: pl.Expr,
    label: Column | None = None,
    *,
    prevalence: float | Column,
    sample_prevalence: float | Column | None = None,
    positive: object = None,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Convert probabilities to probabilities for a population with another prevalence.

    The odds of each probability are multiplied by the odds of the new prevalence, divided by the
    odds of the sample prevalence. The result is correct if only the share of positives differs, and
    not the distribution of the scores within each class. If both prevalences are constant within a
    group, the ROC curve does not change.

    Parameters
    ----------
    label : str or Expr, default None
        The true class: Boolean or 0/1, or any values with `positive`.
    prevalence : float, str or Expr
        Prevalence of the population, above 0 and below 1: a number, or a numeric column or
        expression with a value per row or group.
    sample_prevalence : float, str, Expr or None, default None
        Prevalence for which the scores are calibrated, above 0 and below 1, such as that of the
        training data. None: the (weighted) share of positives of the group, from `label`.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, default None
        Number of equal rows that a row represents.

    Returns
    -------
    Expr
        Float64 in [0, 1], a value per row, named like the score. Scores of 0 and 1 do not change.
        The result is null if the score is missing or outside [0, 1], or if one of the two
        prevalences is null, 0 or less, or 1 or more.

    Notes
    -----
    The result is p·(π'/π) / (p·(π'/π) + (1 - p)·(1 - π')/(1 - π)), where p is the score, π is the
    prevalence of the sample, and π' is the prevalence of the population.

    References
    ----------
    M. Saerens, P. Latinne, C. Decaestecker (2002), "Adjusting the outputs of a classifier to new a
    priori probabilities: a simple procedure", Neural Computation 14(1), 21-41.
    doi:10.1162/089976602753284446

    C. Elkan (2001), "The foundations of cost-sensitive learning", Proceedings of the 17th
    International Joint Conference on Artificial Intelligence, 973-978.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> balanced_sample = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.5, 0.5, 0.1]})
    >>> balanced_sample.with_columns(
    ...     rare=pl.col("score").roc.at_prevalence(prevalence=0.1, sample_prevalence=0.5),
    ...     by_labels=pl.col("score").roc.at_prevalence("label", prevalence=0.1),
    ... )
    shape: (4, 4)
    ┌───────┬───────┬──────────┬───────────┐
    │ label ┆ score ┆ rare     ┆ by_labels │
    │ ---   ┆ ---   ┆ ---      ┆ ---       │
    │ i64   ┆ f64   ┆ f64      ┆ f64       │
    ╞═══════╪═══════╪══════════╪═══════════╡
    │ 1     ┆ 0.9   ┆ 0.5      ┆ 0.5       │
    │ 0     ┆ 0.5   ┆ 0.1      ┆ 0.1       │
    │ 1     ┆ 0.5   ┆ 0.1      ┆ 0.1       │
    │ 0     ┆ 0.1   ┆ 0.012195 ┆ 0.012195  │
    └───────┴───────┴──────────┴───────────┘
    """
    if (label is None) == (sample_prevalence is None):
        given = "neither is given" if label is None else "both are given"
        raise OptionValueError.compose(
            "sample_prevalence",
            sample_prevalence,
            f"expected either sample_prevalence= or the labels of the sample, but {given}",
            "Use, for example, at_prevalence(prevalence=0.01, sample_prevalence=0.5) or "
            'at_prevalence("label", prevalence=0.01).',
        )
    if label is None:
        for name, value in {"positive": positive, "weight": weight, "count": count}.items():
            check_supported(name, value, "sample_prevalence=")
    population_odds = _prevalence_odds(_parse_prevalence("prevalence", prevalence))
    sample_odds = None
    if sample_prevalence is not None:
        sample_odds = _prevalence_odds(_parse_prevalence("sample_prevalence", sample_prevalence))

    def convert(rows: Rows) -> pl.Expr:
        ratio = (_label_odds(rows) if sample_odds is None else sample_odds) / population_odds
        p = rows.score.cast(pl.Float64)
        # In this form, rounding cannot change the order of two scores: every operation is monotone.
        converted = 1 / (1 + (1 - p) / p * ratio)
        is_end = (p == 0) | (p == 1)
        result = pl.when(is_end).then(p).when(p.is_between(0, 1)).then(converted)
        return pl.when(ratio.is_not_null()).then(result)

    return formula_expression(
        convert,
        score,
        pl.lit(None) if label is None else label,
        positive,
        weight,
        count,
        needs_positives=label is not None,
    )


def _parse_prevalence(argument: str, value: float | Column) -> pl.Expr:
    """Return a prevalence as an expression; check that it is numeric, a number in (0, 1)."""
    if not isinstance(value, str | pl.Expr):
        return pl.lit(parse_fraction(argument, value, example=0.1))

    def resolve(typed: list[TypedExpr]) -> pl.Expr:
        ((expr, dtype),) = typed
        # A column that contains only nulls may have dtype Null.
        if not (dtype.is_numeric() or dtype == pl.Null):
            hint = "Prevalences must be numbers. Cast the column first."
            raise ColumnTypeError.compose(argument, expr.meta.output_name(), dtype, hint)
        return expr.cast(pl.Float64)

    return pl.pipe_with_dtype([column_expression(argument, value)], resolve)


def _prevalence_odds(prevalence: pl.Expr) -> pl.Expr:
    """Return the odds of a prevalence; null if the prevalence is not above 0 and below 1."""
    return pl.when((prevalence > 0) & (prevalence < 1)).then(prevalence / (1 - prevalence))


def _label_odds(rows: Rows) -> pl.Expr:
    """Return the number of positives divided by the number of negatives; null if either is 0."""
    pos, neg = rows.class_totals
    return pl.when((pos > 0) & (neg > 0)).then(pos / neg)
