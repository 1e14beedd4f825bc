"""Columns → the rows of a group that an expression reads.

What `cases.py` is to a table, this is to an expression, which cannot raise on data: a row whose
label, score, weight or count is null or NaN is left out, a row of weight or count 0 is absent,
and where `cases.py` would raise (labels that are not 0 or 1, negative or infinite weights) the
result is null.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rocframe.cases import LARGEST, LARGEST_COUNT
from rocframe.errors import OptionValueError
from rocframe.frames import column
from rocframe.predictions import TYPE_CHECKS as CHECKS
from rocframe.predictions import as_positive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rocframe.predictions import Column

    Typed = tuple[pl.Expr, pl.DataType]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rows:
    """The rows of whatever group the expression is used in.

    `score` and `positive` are null where they are missing, `count` and `weight` None where they
    were not given. `wrong` are values of a group, any of which true makes its result null.
    """

    score: pl.Expr
    positive: pl.Expr
    count: pl.Expr | None
    weight: pl.Expr | None
    wrong: tuple[pl.Expr, ...]

    @property
    def mass(self) -> pl.Expr | None:
        """Count times weight; None where each row is one."""
        if self.weight is None or self.count is None:
            return self.count if self.weight is None else self.weight
        return self.count * self.weight

    @property
    def exact(self) -> type[pl.DataType]:
        """Type that holds products of two sums of masses: without rounding, unless weighted."""
        if self.weight is not None:
            return pl.Float64
        return pl.Int64 if self.count is None else pl.Int128

    @property
    def used(self) -> pl.Expr:
        """Whether a row counts; null is no."""
        known = self.positive.is_not_null() & self.score.is_not_null()
        return known if self.mass is None else known & (self.mass > 0)

    def mass_of(self, of: pl.Expr) -> pl.Expr:
        """Return what each row adds to one class: nothing if it does not count."""
        one = pl.lit(1, pl.Int64) if self.mass is None else self.mass
        return pl.when(self.used & of).then(one).otherwise(0)


def of_rows(
    formula: Callable[[Rows], pl.Expr],
    score: pl.Expr,
    label: Column,
    *,
    positive: object,
    weight: Column | None,
    count: Column | None,
) -> pl.Expr:
    """Return the expression of a formula, named like the score, once types are known."""
    given = {"score": score, "label": _column("label", label)}
    given |= {} if weight is None else {"weight": _column("weight", weight)}
    given |= {} if count is None else {"count": _column("count", count)}

    # polars calls this when it resolves the plan, once for each score column.
    def resolve(typed: list[Typed]) -> pl.Expr:
        roles = dict(zip(given, typed, strict=True))
        rows = _rows(roles, positive)
        result = formula(rows)
        if rows.wrong:
            result = pl.when(~pl.any_horizontal(rows.wrong)).then(result)
        return result.alias(roles["score"][0].meta.output_name())

    return pl.pipe_with_dtype(list(given.values()), resolve)


def _column(argument: str, source: Column) -> pl.Expr:
    if isinstance(source, str):
        return column(source)
    if isinstance(source, pl.Expr):
        return source
    raise OptionValueError.of(
        argument, source, "it is neither a column name nor an expression", "Give one of these."
    )


def _rows(roles: Mapping[str, Typed], positive: object) -> Rows:
    for role, (expr, dtype) in roles.items():
        # A column of nothing but nulls may have no type; labels are looked at below.
        if role != "label" and dtype != pl.Null:
            CHECKS[role](expr.meta.output_name(), dtype)
    score, dtype = roles["score"]
    is_positive, wrong = _positive(*roles["label"], positive)
    count, weight = None, None
    if "count" in roles:
        count = roles["count"][0].cast(pl.Int64, strict=False)
        total = roles["count"][0].cast(pl.Float64).sum()
        wrong = (*wrong, (count < 0).any(), total >= LARGEST_COUNT)
    if "weight" in roles:
        weight = roles["weight"][0].cast(pl.Float64).fill_nan(None)
        total = weight.sum() if count is None else (count * weight).sum()
        wrong = (*wrong, ((weight < 0) | weight.is_infinite()).any(), total > LARGEST)
    return Rows(
        score=score.fill_nan(None) if dtype.is_float() else score,
        positive=is_positive,
        count=count,
        weight=weight,
        wrong=wrong,
    )


def _positive(
    label: pl.Expr, dtype: pl.DataType, positive: object
) -> tuple[pl.Expr, tuple[pl.Expr, ...]]:
    """Say of each label whether it is the positive class, and of a group what is wrong with it."""
    if dtype == pl.Null:
        return label.cast(pl.Boolean), ()
    if dtype.is_float():
        label = label.fill_nan(None)
    if positive is not None:
        name = label.meta.output_name()
        CHECKS["label"](name, dtype)
        positive = as_positive(positive, name, dtype)
        if dtype == pl.Boolean:
            return label if positive else ~label, ()
        return label == pl.lit(positive), ()
    if dtype == pl.Boolean:
        return label, ()
    if dtype.is_numeric():
        return label == 1, (((label != 0) & (label != 1)).any(),)
    # Labels that do not say which class is positive are all missing.
    return pl.when(False).then(label.is_null()), ()
