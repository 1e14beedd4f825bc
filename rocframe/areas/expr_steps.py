"""Rows → the steps of their curve, one per distinct score, as a list.

polars has no name for an intermediate result inside `group_by().agg()` or `over()`: what is used
twice is computed twice, sort included. A list has one: `list.eval` and `list.agg` compute their
input once, and evaluate on the values of all groups at a time. So each step below is one stage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import polars as pl

if TYPE_CHECKING:
    from rocframe.areas.expr_rows import Rows


def field(name: str) -> pl.Expr:
    """Return a field of the elements of the list that is being evaluated."""
    return pl.element().struct.field(name)


def record(**columns: pl.Expr) -> pl.Expr:
    """Put expressions side by side as the fields of one struct; a single value becomes a column.

    polars divides a column by a single value as it multiplies by the reciprocal, which may be off
    by one place; columns divide exactly.
    """
    return pl.struct([expr.alias(name) for name, expr in columns.items()])


# The fields of `steps`, and the totals of a list of them.
TP, FP, TP0, FP0 = (field(name) for name in ("tp", "fp", "tp0", "fp0"))
POS, NEG = TP.last(), FP.last()


def both_classes(value: pl.Expr) -> pl.Expr:
    """Return a value of steps, null where one class is absent."""
    return pl.when((POS > 0) & (NEG > 0)).then(value)


def quotient(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Divide whole numbers as floats; correctly rounded below 2^53."""
    return part.cast(pl.Float64) / whole.cast(pl.Float64)


def packed(rows: Rows) -> pl.Expr:
    """Put the rows that count into one list per group."""
    columns = {"score": rows.score, "positive": rows.positive}
    if rows.mass is not None:
        columns["mass"] = rows.mass
    if rows.mass is not None and rows.weight is not None:
        columns["rows"] = pl.lit(1, pl.Int64) if rows.count is None else rows.count
        columns["square"] = rows.mass * rows.weight
    return record(**columns).filter(rows.used).implode()


def steps(rows: Rows, *, squares: bool = False) -> pl.Expr:
    """Cumulate true and false positives from the highest score down: a row per distinct score.

    `tp, fp` are after the step and `tp0, fp0` before it, whole numbers unless weighted. With
    `squares`, weighted rows bring `m, n`, the rows of each class so far, and `pp, nn`, their
    squared weights within the step.
    """
    positive, score = field("positive"), field("score")
    if rows.mass is None:
        sums = {"tp": positive.cast(pl.Int64).cum_sum(), "fp": (~positive).cast(pl.Int64).cum_sum()}
    else:
        sums = _by_class("tp", "fp", "mass")
    if squares and rows.weight is not None:
        sums |= {**_by_class("m", "n", "rows"), **_by_class("pp", "nn", "square")}
    fields = {name: field(name) for name in sums}
    fields |= {f"{name}0": field(name).shift(1, fill_value=0) for name in ("tp", "fp")}
    for name in ("pp", "nn"):
        if name in sums:
            fields[name] = field(name) - field(name).shift(1, fill_value=0)
    last = score.ne_missing(score.shift(-1))  # -0.0 equals 0.0 here, and sorts beside it
    return (
        packed(rows)
        .list.eval(pl.element().sort_by(score, descending=True))
        .list.eval(record(last=last, **sums))
        .list.eval(pl.element().filter(field("last")))
        .list.eval(record(**fields))
    )


def place(of_ties: Literal["min", "max"]) -> pl.Expr:
    """Return where in falling order the first (min) or last (max) row of a row's score is."""
    return field("score").rank(of_ties, descending=True) - 1


def falling(name: str) -> pl.Expr:
    """Cumulate a field from the highest score down; rows without score come last."""
    return field(name).sort_by(field("score"), descending=True, nulls_last=True).cum_sum()


def _by_class(positives: str, negatives: str, name: str) -> dict[str, pl.Expr]:
    """Cumulate a field over each class."""
    positive, value = field("positive"), field(name)
    return {
        positives: pl.when(positive).then(value).otherwise(0).cum_sum(),
        negatives: pl.when(positive).then(0).otherwise(value).cum_sum(),
    }
