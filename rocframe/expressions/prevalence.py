"""Expressions that convert probabilities from one prevalence to another.

References
----------
M. Saerens, P. Latinne, C. Decaestecker (2002), "Adjusting the outputs of a classifier to new a
priori probabilities: a simple procedure", Neural Computation 14(1), 21-41.
doi:10.1162/089976602753284446
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.errors import ColumnTypeError, OptionValueError
from rocframe.expressions.rows import formula_expression
from rocframe.inputs.roles import column_expression
from rocframe.options import check_supported, parse_fraction, public

if TYPE_CHECKING:
    from rocframe.expressions.rows import Rows, TypedExpr
    from rocframe.inputs.roles import Column


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

    A probability that is calibrated in a sample is too high in a population with fewer positives.
    The odds of each probability are multiplied by the odds of the new prevalence, divided by the
    odds of the sample prevalence. The result is correct if only the share of positives differs, and
    not the distribution of the scores within each class. If both prevalences are constant within a
    group, the ranking of the rows by score does not change, so the ROC curve does not change
    either.

    Parameters
    ----------
    label : str or Expr, default None
        The true class: Boolean or 0/1, or any values with `positive`.
    prevalence : float, str or Expr
        Prevalence of the population for which the result is calibrated, above 0 and below 1: a
        number, or a numeric column or expression with a value per row or group.
    sample_prevalence : float, str, Expr or None, default None
        Prevalence for which the scores are calibrated, above 0 and below 1: usually the share of
        positives in the training data. None: the share of positives of the group, weighted if
        `weight` is given; None requires `label`.
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
        positive=positive,
        weight=weight,
        count=count,
        needs_positives=label is not None,
    )


def _parse_prevalence(argument: str, value: float | Column) -> pl.Expr:
    """Return a prevalence as an expression; raise an error for a number outside (0, 1).

    If a column is not numeric, polars raises an error when it resolves the plan.
    """
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
