"""Columns of an expression, and cumulative counts at each distinct score of a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rocframe.errors import LabelError
from rocframe.inputs.cases import MAX_TOTAL_COUNT, MAX_TOTAL_WEIGHT
from rocframe.inputs.roles import (
    check_column_type,
    check_positive,
    column_expression,
    positive_literal,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rocframe.inputs.roles import Column

    TypedExpr = tuple[pl.Expr, pl.DataType]

# The largest weight is scaled to about 2**900. The sum of count times weight is then finite in
# Float64, because the sum of the counts is less than 2**62.
LARGEST_EXPONENT = 900


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The columns of a group, as expressions.

    `score` is null in rows without a score, and `positive` in rows without a label. If one of the
    conditions in `invalid` is true for a group, its result is null.
    """

    score: pl.Expr
    positive: pl.Expr
    count: pl.Expr | None
    weight: pl.Expr | None
    invalid: tuple[pl.Expr, ...]

    @property
    def row_weight(self) -> pl.Expr | None:
        """Count times weight of each row; None if neither count nor weight is given."""
        if self.weight is None or self.count is None:
            return self.count if self.weight is None else self.weight
        return self.count * self.weight

    @property
    def product_dtype(self) -> type[pl.DataType]:
        """Dtype for the product of two sums of row weights; integer products do not overflow."""
        if self.weight is not None:
            return pl.Float64
        return pl.Int64 if self.count is None else pl.Int128

    @property
    def used(self) -> pl.Expr:
        """Whether a row has a label, a score, and a row weight above 0."""
        known = self.positive.is_not_null() & self.score.is_not_null()
        return known if self.row_weight is None else known & (self.row_weight > 0)

    def class_weight(self, in_class: pl.Expr) -> pl.Expr:
        """Return the row weight of the used rows of a class, and 0 for all other rows."""
        row_weight = pl.lit(1, pl.Int64) if self.row_weight is None else self.row_weight
        return pl.when(self.used & in_class).then(row_weight).otherwise(0)

    @property
    def class_totals(self) -> tuple[pl.Expr, pl.Expr]:
        """The sums of the row weights of used positives and of used negatives, as floats."""
        pos, neg = (
            self.class_weight(in_class).sum().cast(pl.Float64)
            for in_class in (self.positive, ~self.positive)
        )
        return pos, neg


def formula_expression(  # noqa: PLR0917 - the order of the arguments of all expressions
    formula: Callable[[Rows], pl.Expr],
    score: pl.Expr,
    label: Column,
    positive: object,
    weight: Column | None,
    count: Column | None,
    *,
    needs_positives: bool = True,
) -> pl.Expr:
    """Return the value of `formula` as an expression with the name of the score column.

    With `needs_positives`, the result is null for groups without positives: `positive` may be
    wrong, and an expression cannot raise an error that depends on data.
    """
    columns = {"score": score, "label": column_expression("label", label)}
    columns |= {} if weight is None else {"weight": column_expression("weight", weight)}
    columns |= {} if count is None else {"count": column_expression("count", count)}

    # polars calls this function when it resolves the plan, once for each score column.
    def resolve(typed: list[TypedExpr]) -> pl.Expr:
        roles = dict(zip(columns, typed, strict=True))
        rows = _rows(roles, positive)
        result, invalid = formula(rows), rows.invalid
        if needs_positives:
            invalid = (*invalid, ~(rows.used & rows.positive).any())
        if invalid:
            result = pl.when(~pl.any_horizontal(invalid)).then(result)
        return result.alias(roles["score"][0].meta.output_name())

    return pl.pipe_with_dtype(list(columns.values()), resolve)


def _rows(roles: Mapping[str, TypedExpr], positive: object) -> Rows:
    """Return the columns of the roles as `Rows`; raise an error for an unsuitable dtype."""
    for role, (expr, dtype) in roles.items():
        # A column that contains only nulls may have dtype Null. Labels are checked in `_positive`.
        if role != "label" and dtype != pl.Null:
            check_column_type(role, expr.meta.output_name(), dtype)
    score, dtype = roles["score"]
    is_positive, invalid = _positive(*roles["label"], positive)
    count, weight = None, None
    if "count" in roles:
        count = roles["count"][0].cast(pl.Int64, strict=False)
        total = roles["count"][0].cast(pl.Float64).sum()
        invalid = (*invalid, (count < 0).any(), total >= MAX_TOTAL_COUNT)
    if "weight" in roles:
        weight = roles["weight"][0].cast(pl.Float64).fill_nan(None)
        total = weight.sum() if count is None else (count * weight).sum()
        invalid = (*invalid, ((weight < 0) | weight.is_infinite()).any(), total > MAX_TOTAL_WEIGHT)
    return Rows(
        score=score.fill_nan(None) if dtype.is_float() else score,
        positive=is_positive,
        count=count,
        weight=weight,
        invalid=invalid,
    )


def _positive(
    label: pl.Expr, dtype: pl.DataType, positive: object
) -> tuple[pl.Expr, tuple[pl.Expr, ...]]:
    """Return whether each label is positive, and conditions for groups with invalid labels."""
    if dtype == pl.Null:
        return label.cast(pl.Boolean), ()
    name = label.meta.output_name()
    check_column_type("label", name, dtype)
    if dtype.is_float():
        label = label.fill_nan(None)
    if positive is not None:
        positive = check_positive(positive, name, dtype)
        if dtype == pl.Boolean:
            return label if positive else ~label, ()
        return label == positive_literal(positive, dtype), ()
    if dtype == pl.Boolean:
        return label, ()
    if dtype.is_numeric():
        return label == 1, (((label != 0) & (label != 1)).any(),)
    raise LabelError.unknown_positive(name, dtype)


def field(name: str) -> pl.Expr:
    """Return a field of the structs in a list, for use in `list.eval` and `list.agg`."""
    return pl.element().struct.field(name)


def record(**columns: pl.Expr) -> pl.Expr:
    """Return a struct of columns, in which a single value is repeated for each row.

    polars computes `column / value` as `column * (1 / value)`, which may differ from the correctly
    rounded quotient in the last digit. The quotient of two fields of a struct is rounded correctly.
    """
    return pl.struct([expr.alias(name) for name, expr in columns.items()])


# The fields of `steps`. The last cumulative counts are the totals of both classes.
TP, FP, TP0, FP0 = (field(name) for name in ("tp", "fp", "tp0", "fp0"))
POS, NEG = TP.last(), FP.last()


def both_classes(value: pl.Expr) -> pl.Expr:
    """Return a value that was computed from `steps`, or null if a class has no rows."""
    return pl.when((POS > 0) & (NEG > 0)).then(value)


def quotient(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Divide integers as floats. The quotient of integers up to 2^53 is correctly rounded."""
    return numerator.cast(pl.Float64) / denominator.cast(pl.Float64)


def pack_rows(rows: Rows) -> pl.Expr:
    """Collect the used rows of each group into one list of structs."""
    columns = {"score": rows.score, "positive": rows.positive}
    if rows.weight is not None:
        columns["count"] = pl.lit(1, pl.Int64) if rows.count is None else rows.count
        columns["weight"] = rows.weight
    elif rows.count is not None:
        columns["row_weight"] = rows.count
    return record(**columns).filter(rows.used).implode()


def _add_row_weights(packed: pl.Expr, *, by_class: bool) -> pl.Expr:
    """Replace the weights of packed rows by count times weight and count times squared weight.

    First, weights are multiplied by a power of two, which does not change rates. With `by_class`,
    the largest weight of each class becomes about 1, so that squares do not underflow. Otherwise
    both classes have the same factor, up to `LARGEST_EXPONENT`. This avoids subnormal numbers:
    polars divides by multiplying with the reciprocal, which is infinite for some of them.
    """
    rows = {name: field(name) for name in ("score", "positive", "count")}
    weight, positive = field("weight"), field("positive")

    def factors(in_class: pl.Expr, exponent: int) -> tuple[pl.Expr, pl.Expr]:
        # The power of two may be too large for Float64, so the weights are multiplied by two
        # factors.
        power = exponent - weight.filter(in_class).max().log(2).floor()
        first = (power / 2).floor()
        return pl.lit(2.0).pow(first), pl.lit(2.0).pow(power - first)

    if by_class:
        pos, neg = factors(positive, 0), factors(~positive, 0)
        first, second = (
            pl.when(positive).then(of_pos).otherwise(of_neg)
            for of_pos, of_neg in zip(pos, neg, strict=True)
        )
    else:
        first, second = factors(positive.is_not_null(), LARGEST_EXPONENT)
    row_weight = field("count") * weight
    return packed.list.eval(record(**rows, weight=weight * first * second)).list.eval(
        record(**rows, row_weight=row_weight, square=row_weight * weight)
    )


def steps(rows: Rows, *, squares: bool = False, by_class: bool = True) -> pl.Expr:
    """Return the cumulative counts of a group as a list of structs, one for each distinct score.

    The highest score is first. `tp` and `fp` are the sums of the row weights of positives and
    negatives with at least this score, and `tp0` and `fp0` those above it, integers unless rows are
    weighted. For weighted rows, `squares` adds `pos_rows` and `neg_rows`, the numbers of rows with
    at least this score, and `pos_squares` and `neg_squares`, the sums of count times squared weight
    at this score.

    Weights are scaled, with a separate factor for each class if `by_class` is true. A ratio of `tp`
    to `fp`, such as the precision, is correct only with `by_class=False`.
    """
    positive, score = field("positive"), field("score")
    if rows.row_weight is None:
        sums = {"tp": positive.cast(pl.Int64).cum_sum(), "fp": (~positive).cast(pl.Int64).cum_sum()}
    else:
        sums = _cumulative_class_sums("tp", "fp", "row_weight")
    packed = pack_rows(rows)
    if rows.weight is not None:
        packed = _add_row_weights(packed, by_class=by_class)
        if squares:
            sums |= {
                **_cumulative_class_sums("pos_rows", "neg_rows", "count"),
                **_cumulative_class_sums("pos_squares", "neg_squares", "square"),
            }
    fields = {name: field(name) for name in sums}
    fields |= {f"{name}0": field(name).shift(1, fill_value=0) for name in ("tp", "fp")}
    for name in ("pos_squares", "neg_squares"):
        if name in sums:
            fields[name] = field(name) - field(name).shift(1, fill_value=0)
    last = score.ne_missing(
        score.shift(-1)
    )  # -0.0 and 0.0 are equal scores, and they are adjacent when sorted
    return (
        packed.list.eval(pl.element().sort_by(score, descending=True))
        .list.eval(record(last=last, **sums))
        .list.eval(pl.element().filter(field("last")))
        .list.eval(record(**fields))
    )


def _cumulative_class_sums(positives: str, negatives: str, name: str) -> dict[str, pl.Expr]:
    """Return the cumulative sums of a field over positives and negatives, with these names."""
    positive, value = field("positive"), field(name)
    return {
        positives: pl.when(positive).then(value).otherwise(0).cum_sum(),
        negatives: pl.when(positive).then(0).otherwise(value).cum_sum(),
    }
