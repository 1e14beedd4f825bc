"""Columns of an expression, and cumulative counts at each distinct score of a group."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.inputs.cases import MAX_TOTAL_COUNT, MAX_TOTAL_WEIGHT
from rocframe.inputs.roles import (
    TYPE_CHECKS,
    check_positive,
    column_expression,
    positive_literal,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rocframe.inputs.roles import Column

    TypedExpr = tuple[pl.Expr, pl.DataType]

# Sums of weights of about 2**900 with counts up to 2**62 are finite. After such a scaling, also the
# smallest positive Float64 is a normal number.
LARGEST_EXPONENT = 900


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The columns of a group, as expressions.

    `score` and `positive` are null where missing; `count` and `weight` are None if not given.
    `invalid` contains conditions of a group. If one is true, the result of the group is null.
    """

    score: pl.Expr
    positive: pl.Expr
    count: pl.Expr | None
    weight: pl.Expr | None
    invalid: tuple[pl.Expr, ...]

    @property
    def mass(self) -> pl.Expr | None:
        """Count times weight; None if neither is given."""
        if self.weight is None or self.count is None:
            return self.count if self.weight is None else self.weight
        return self.count * self.weight

    @property
    def exact(self) -> type[pl.DataType]:
        """Type of products of two sums of masses, exact unless rows are weighted."""
        if self.weight is not None:
            return pl.Float64
        return pl.Int64 if self.count is None else pl.Int128

    @property
    def used(self) -> pl.Expr:
        """Whether a row is used; null counts as False."""
        known = self.positive.is_not_null() & self.score.is_not_null()
        return known if self.mass is None else known & (self.mass > 0)

    def mass_of(self, in_class: pl.Expr) -> pl.Expr:
        """Return the mass that each row adds to a class; 0 for rows that are not used."""
        unit = pl.lit(1, pl.Int64) if self.mass is None else self.mass
        return pl.when(self.used & in_class).then(unit).otherwise(0)


def formula_expression(
    formula: Callable[[Rows], pl.Expr],
    score: pl.Expr,
    label: Column,
    *,
    positive: object,
    weight: Column | None,
    count: Column | None,
) -> pl.Expr:
    """Return the expression of a formula, named like the score; dtypes are resolved later."""
    columns = {"score": score, "label": column_expression("label", label)}
    columns |= {} if weight is None else {"weight": column_expression("weight", weight)}
    columns |= {} if count is None else {"count": column_expression("count", count)}

    # polars calls this when it resolves the plan, once for each score column.
    def resolve(typed: list[TypedExpr]) -> pl.Expr:
        roles = dict(zip(columns, typed, strict=True))
        rows = _rows(roles, positive)
        result = formula(rows)
        if rows.invalid:
            result = pl.when(~pl.any_horizontal(rows.invalid)).then(result)
        return result.alias(roles["score"][0].meta.output_name())

    return pl.pipe_with_dtype(list(columns.values()), resolve)


def _rows(roles: Mapping[str, TypedExpr], positive: object) -> Rows:
    for role, (expr, dtype) in roles.items():
        # A column that contains only nulls may have dtype Null. Labels are checked in `_positive`.
        if role != "label" and dtype != pl.Null:
            TYPE_CHECKS[role](expr.meta.output_name(), dtype)
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
    """Return whether each label is positive, and the conditions that make a group invalid."""
    if dtype == pl.Null:
        return label.cast(pl.Boolean), ()
    if dtype.is_float():
        label = label.fill_nan(None)
    if positive is not None:
        name = label.meta.output_name()
        TYPE_CHECKS["label"](name, dtype)
        positive = check_positive(positive, name, dtype)
        if dtype == pl.Boolean:
            return label if positive else ~label, ()
        return label == positive_literal(positive, dtype), ()
    if dtype == pl.Boolean:
        return label, ()
    if dtype.is_numeric():
        return label == 1, (((label != 0) & (label != 1)).any(),)
    # Other labels without `positive=` do not determine the positive class: all are missing.
    return pl.when(False).then(label.is_null()), ()


def field(name: str) -> pl.Expr:
    """Return a field of the elements of the list that is being evaluated."""
    return pl.element().struct.field(name)


def record(**columns: pl.Expr) -> pl.Expr:
    """Return a struct of expressions, in which single values are repeated for each row.

    polars divides a column by a single value through its reciprocal, which may differ in the last
    digit from the correctly rounded quotient of two columns.
    """
    return pl.struct([expr.alias(name) for name, expr in columns.items()])


# The fields of `steps`, and the total positives and negatives.
TP, FP, TP0, FP0 = (field(name) for name in ("tp", "fp", "tp0", "fp0"))
POS, NEG = TP.last(), FP.last()


def both_classes(value: pl.Expr) -> pl.Expr:
    """Return a value computed from `steps`; null if a class is absent."""
    return pl.when((POS > 0) & (NEG > 0)).then(value)


def quotient(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Divide integers as floats, correctly rounded below 2^53."""
    return numerator.cast(pl.Float64) / denominator.cast(pl.Float64)


def pack_rows(rows: Rows) -> pl.Expr:
    """Collect the used rows of each group into one list."""
    columns = {"score": rows.score, "positive": rows.positive}
    if rows.mass is not None:
        columns["mass"] = rows.mass
    if rows.mass is not None and rows.weight is not None:
        columns["rows"] = pl.lit(1, pl.Int64) if rows.count is None else rows.count
        columns["weight"] = rows.weight
    return record(**columns).filter(rows.used).implode()


def _scale_weights(*, by_class: bool) -> pl.Expr:
    """Scale the weights of packed rows by powers of two, in each class or in both together.

    With `by_class`, the largest weight of each class becomes about 1, so that squares do not
    underflow. Otherwise the largest weight becomes about `2 ** LARGEST_EXPONENT`, so that no weight
    is subnormal. polars divides by a single value through its reciprocal, which is infinite for
    some subnormal numbers.
    """
    names, weight, positive = ("score", "positive", "rows"), field("weight"), field("positive")

    def factors(in_class: pl.Expr, exponent: int) -> tuple[pl.Expr, pl.Expr]:
        # The power of two itself may exceed Float64, so it is divided into two factors.
        power = exponent - weight.filter(in_class).max().log(2).floor()
        first = (power / 2).floor()
        return pl.lit(2.0).pow(first), pl.lit(2.0).pow(power - first)

    if by_class:
        pos, neg = factors(positive, 0), factors(~positive, 0)
        first, second = (
            pl.when(positive).then(one).otherwise(other)
            for one, other in zip(pos, neg, strict=True)
        )
    else:
        first, second = factors(positive.is_not_null(), LARGEST_EXPONENT)
    columns = {name: field(name) for name in names}
    return record(**columns, weight=weight * first * second)


def _add_mass() -> pl.Expr:
    """Replace the weight of packed rows by count times weight, and by that times the weight."""
    names, weight = ("score", "positive", "rows"), field("weight")
    mass = field("rows") * weight
    return record(**{name: field(name) for name in names}, mass=mass, square=mass * weight)


def steps(rows: Rows, *, squares: bool = False, by_class: bool = True) -> pl.Expr:
    """Accumulate true and false positives from the highest score: a row per distinct score.

    `tp, fp` are the counts after the step and `tp0, fp0` before it, integers unless weighted. With
    `squares`, weighted rows add `m, n`, the accumulated rows of each class, and `pp, nn`, the sums
    of squared weights within the step. Weights are scaled by a power of two: by one for each class,
    or with `by_class=False` by the same for both classes.
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
    last = score.ne_missing(score.shift(-1))  # -0.0 equals 0.0, and both are adjacent when sorted
    packed = pack_rows(rows)
    if rows.weight is not None:
        packed = packed.list.eval(_scale_weights(by_class=by_class)).list.eval(_add_mass())
    return (
        packed.list.eval(pl.element().sort_by(score, descending=True))
        .list.eval(record(last=last, **sums))
        .list.eval(pl.element().filter(field("last")))
        .list.eval(record(**fields))
    )


def tie_position(of_ties: Literal["min", "max"]) -> pl.Expr:
    """Return the position, by falling score, of the first (min) or last (max) tied row."""
    return field("score").rank(of_ties, descending=True) - 1


def cumulated_by_score(name: str) -> pl.Expr:
    """Accumulate a field from the highest score; rows without score come last."""
    return field(name).sort_by(field("score"), descending=True, nulls_last=True).cum_sum()


def _by_class(positives: str, negatives: str, name: str) -> dict[str, pl.Expr]:
    """Accumulate a field over each class."""
    positive, value = field("positive"), field(name)
    return {
        positives: pl.when(positive).then(value).otherwise(0).cum_sum(),
        negatives: pl.when(positive).then(0).otherwise(value).cum_sum(),
    }
