"""Expressions that compare the scores of two samples: `psi` and `ks_2samp`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.errors import ColumnTypeError
from rocframe.expressions.rates import (
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
from rocframe.options import parse_bins, public
from rocframe.probabilities.bins import BIN_ROUNDING

if TYPE_CHECKING:
    from rocframe.expressions.rates import Rows, TypedExpr
    from rocframe.inputs.roles import Column


@public
def psi(
    score: pl.Expr,
    reference: Column,
    *,
    bins: int | list[float] = 10,
    weight: Column | None = None,
    count: Column | None = None,
) -> pl.Expr:
    """Compute the population stability index (PSI) of the group, without labels.

    It is the sum of (p - q) ln(p / q) over bins, with the shares p of the other rows and q of the
    rows of the reference. A bin without rows of one sample has half a row.

    Parameters
    ----------
    reference : str or Expr
        Boolean column that is true in the rows of the reference.
    bins : int or list of float, default 10
        Number of quantile bins of the reference, or at least three rising edges of the score.
        A quantile bin ends at a score of the reference and includes it. With edges, bin i is
        [`bins[i]`, `bins[i + 1]`); the first and the last bin also contain all scores beyond them.
    weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 of at least 0, named like the score; null if there are no rows of the reference or
        no others, or if all scores of the reference are in the same quantile bin.

    References
    ----------
    B. Yurdakul, J. Naranjo (2020), Journal of Risk Model Validation 14(4), 89-100.
    doi:10.21314/JRMV.2020.227

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.1, 0.2, 0.3, 0.4, 0.2, 0.4, 0.4, 0.4]
    >>> predictions = pl.DataFrame({"score": scores, "is_old": [True] * 4 + [False] * 4})
    >>> round(predictions.select(pl.col("score").roc.psi("is_old", bins=2)).item(), 6)
    0.274653
    """
    parsed = parse_bins(bins, example="[0, 0.01, 0.05, 0.2, 1]", unit=False)

    def formula(rows: Rows) -> pl.Expr:
        return _psi(rows, parsed)

    return formula_expression(formula, score, _flag(reference), None, weight, count)


@public
def ks_2samp(
    score: pl.Expr, reference: Column, *, weight: Column | None = None, count: Column | None = None
) -> pl.Expr:
    """Compute the two-sample Kolmogorov-Smirnov statistic of the group, without labels.

    It is the largest absolute difference between the share of the rows of the reference with at
    least a score, and the same share of the other rows.

    Parameters
    ----------
    reference : str or Expr
        Boolean column that is true in the rows of the reference.
    weight, count
        As in `auc`.

    Returns
    -------
    Expr
        Float64 in [0, 1], named like the score; null if there are no rows of the reference or no
        others.

    References
    ----------
    J. L. Hodges (1958), Arkiv för Matematik 3(43), 469-486. doi:10.1007/BF02589501

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.1, 0.2, 0.3, 0.4, 0.2, 0.4, 0.4, 0.4]
    >>> predictions = pl.DataFrame({"score": scores, "is_old": [True] * 4 + [False] * 4})
    >>> predictions.select(pl.col("score").roc.ks_2samp("is_old")).item()
    0.5
    """
    return formula_expression(_ks_2samp, score, _flag(reference), None, weight, count)


def _flag(reference: Column) -> pl.Expr:
    """Return the column `reference`; raise an error if it is not Boolean."""

    def resolve(typed: list[TypedExpr]) -> pl.Expr:
        ((expr, dtype),) = typed
        if dtype not in {pl.Boolean, pl.Null}:
            hint = "Pass a Boolean column or condition that is true in the rows of the reference."
            raise ColumnTypeError.compose("reference", expr.meta.output_name(), dtype, hint)
        return expr

    return pl.pipe_with_dtype([column_expression("reference", reference)], resolve)


def _ks_2samp(rows: Rows) -> pl.Expr:
    if rows.weight is not None:
        return steps(rows).list.agg(both_classes((TP / POS - FP / NEG).abs().max().clip(0, 1)))
    tp, fp = (count.cast(rows.product_dtype) for count in (TP, FP))
    numerator = (tp * fp.last() - fp * tp.last()).abs().max()
    return steps(rows).list.agg(both_classes(quotient(numerator, tp.last() * fp.last())))


def _psi(rows: Rows, bins: int | list[float]) -> pl.Expr:
    is_weighted = rows.weight is not None
    if isinstance(bins, int):
        if is_weighted:
            number = (bins * ((POS - TP) / POS) + BIN_ROUNDING).floor()
        else:
            tp = TP.cast(rows.product_dtype)
            number = (bins * (tp.last() - tp)) // tp.last()
        # Scores above the reference are in its last bin, which can have any number.
        number = pl.min_horizontal(number, number.filter(TP > 0).first())
    else:
        edges = pl.Series(bins[1:-1], dtype=pl.Float64).cast(rows.scores).cast(pl.Float64)
        score = field("score").cast(pl.Float64)
        number = pl.lit(edges).search_sorted(score, side="right").cast(pl.Int64)
    # The last values of the cumulative counts of each bin, and the numbers of rows.
    n_pos, n_neg = (field("pos_rows"), field("neg_rows")) if is_weighted else (TP, FP)
    sums = {"tp": TP, "fp": FP, "n_pos": n_pos.last(), "n_neg": n_neg.last()}
    last = field("number").ne_missing(field("number").shift(-1))
    q, p = _share("tp", "n_pos"), _share("fp", "n_neg")
    index = ((p - q) * (p / q).log()).sum()
    if isinstance(bins, int):
        index = pl.when(pl.element().len() > 1).then(index)
    return (
        steps(rows, squares=is_weighted, scores=True)
        .list.eval(record(number=number, **sums))
        .list.eval(pl.element().filter(last))
        .list.agg(both_classes(index))
    )


def _share(cumulative: str, rows: str) -> pl.Expr:
    """Return the share of a sample in each bin; half a row in a bin without rows."""
    count = field(cumulative) - field(cumulative).shift(1, fill_value=0)
    share = count.cast(pl.Float64) / field(cumulative).last()
    return pl.when(count > 0).then(share).otherwise(0.5 / field(rows))
