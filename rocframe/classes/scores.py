"""The argument `scores` → the score of each class.

A table has a column for each class, or one column of lists, or one column of numbers and a row for
each instance and class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
import polars.selectors as cs

from rocframe.classes.checks import whole_lists
from rocframe.errors import ColumnTypeError, OptionValueError, RepeatedNameError
from rocframe.frames import column
from rocframe.predictions import Column, columns_made, resolved

if TYPE_CHECKING:
    from collections.abc import Iterable

ClassScores: TypeAlias = Column | Sequence[Column] | Mapping[Any, Column]
Classes: TypeAlias = str | Sequence[Any] | None

GIVE = "Give {class: column}, several columns named like their classes, or a column of lists."


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scores:
    """A score for each of `values`, which are the classes.

    `names` are those of the columns. `lists` is name, expression and type of a column of lists,
    and there are no `exprs` then. Where
    a row is an instance and a class there is one score and no `values`, but `of`, the name of the
    column with the class. `argument` is the one that names the classes.
    """

    values: list[Any] | None
    exprs: list[pl.Expr]
    names: list[str]
    roots: set[str]
    argument: str = "scores"
    lists: tuple[str, pl.Expr, pl.DataType] | None = None
    of: str | None = None

    def apart(
        self, plan: pl.LazyFrame, ids: Sequence[pl.Expr], own: str
    ) -> tuple[pl.LazyFrame, list[pl.Expr]]:
        """Return the score of each class, of lists that are checked and get a column of their own.

        `ids` say in errors which row it is.
        """
        if self.lists is None:
            return plan, self.exprs
        name, lists, dtype = self.lists
        checked = whole_lists(lists.alias(own), dtype, name, ids, len(self.names))
        return plan.with_columns(checked.alias(own)), [
            column(own).list.get(i, null_on_oob=True) for i in range(len(self.names))
        ]


def read_scores(
    plan: pl.LazyFrame, schema: pl.Schema, scores: ClassScores, classes: Classes
) -> Scores:
    """Find the score of each class in a plan."""
    if not isinstance(scores, str) and not (isinstance(scores, pl.Expr) and not _several(scores)):
        return _side_by_side(plan, schema, scores, classes)
    name, expr, dtype = resolved(plan, schema, "scores", scores)
    roots = roots_of([scores])
    if isinstance(dtype, pl.List | pl.Array):
        _check(name, inner_type(dtype))
        return _in_lists(name, expr, dtype, roots, classes)
    _check(name, dtype)
    if not isinstance(classes, str):
        raise OptionValueError.of(
            "scores",
            name,
            f"it is one column of type {dtype}, and there is a score for each class",
            f"{GIVE}\nWhere a row is an instance and a class, name the column of its class: "
            'classes="class".',
        )
    return Scores(values=None, exprs=[expr], names=[name], roots=roots, of=classes)


def read_ordered(
    plan: pl.LazyFrame, schema: pl.Schema, score: ClassScores, classes: Classes
) -> Scores | None:
    """Find the one score of classes that have an order; None if there is a score of each class."""
    if not isinstance(score, str | pl.Expr) or (isinstance(score, pl.Expr) and _several(score)):
        return None
    name, expr, dtype = resolved(plan, schema, "scores", score)
    if isinstance(dtype, pl.List | pl.Array):
        return None
    _check(name, dtype)
    if classes is None or isinstance(classes, str):
        raise OptionValueError.of(
            "classes",
            classes,
            f"{name!r} is one score of all classes, and nothing says how they are ordered",
            'Give the classes from lowest to highest, say classes=["low", "middle", "high"].',
        )
    return Scores(
        values=list(classes),
        exprs=[expr],
        names=[name],
        roots=roots_of([score]),
        argument="classes",
    )


def _side_by_side(
    plan: pl.LazyFrame, schema: pl.Schema, scores: ClassScores, classes: Classes
) -> Scores:
    if classes is not None:
        wrong = "the columns of scores say which class each is of"
        raise OptionValueError.of("classes", classes, wrong, "Leave it out.")
    values: list[Any] = []
    columns: list[Column] = []
    if isinstance(scores, Mapping):
        values, columns = list(scores), list(scores.values())
    else:
        every: list[Any] = [scores]
        if not isinstance(scores, str | pl.Expr):
            several = hasattr(scores, "__iter__") and not isinstance(scores, pl.Series)
            every = list(scores) if several else []
        for one in every:
            names, found = _expanded(plan, schema, one)
            values += names
            columns += found
        for name in values:
            if values.count(name) > 1:
                raise RepeatedNameError.of("scores", name, values)
    if not columns:
        raise OptionValueError.of("scores", scores, "it names no column", GIVE)
    exprs: list[pl.Expr] = []
    given: list[str] = []
    for one in columns:
        name, expr, dtype = resolved(plan, schema, "scores", one)
        _check(name, dtype)
        exprs.append(expr)
        given.append(name)
    return Scores(values=values, exprs=exprs, names=given, roots=roots_of(columns))


def _expanded(plan: pl.LazyFrame, schema: pl.Schema, one: Any) -> tuple[list[str], list[Column]]:
    if not isinstance(one, pl.Expr) or not _several(one):
        return [resolved(plan, schema, "scores", one)[0]], [one]
    if not cs.is_selector(one):
        wrong = "it makes several columns"
        raise OptionValueError.of("scores", one, wrong, "Give a selector, or one column for each.")
    names = columns_made(plan, schema, "scores", one).names()
    return names, list(names)


def _in_lists(
    name: str, expr: pl.Expr, dtype: pl.List | pl.Array, roots: set[str], classes: Classes
) -> Scores:
    if classes is None or isinstance(classes, str):
        raise OptionValueError.of(
            "classes",
            classes,
            f"column {name!r} holds lists of scores, and nothing says which class each is of",
            'Give the classes in the order of the lists, say classes=["a", "b", "c"].',
        )
    values = list(classes)
    size = dtype.size if isinstance(dtype, pl.Array) else len(values)
    if not values or size != len(values):
        raise OptionValueError.of(
            "classes",
            values,
            f"column {name!r} has {size} scores in a row" if size else "it names no class",
            "Give a class for each score.",
        )
    lists = expr.arr.to_list() if isinstance(dtype, pl.Array) else expr
    kind = pl.List(inner_type(dtype))
    return Scores(
        values=values,
        exprs=[],
        names=[name] * size,
        roots=roots,
        argument="classes",
        lists=(name, lists, kind),
    )


def inner_type(dtype: pl.List | pl.Array) -> pl.DataType:
    """Return the type of what lists hold."""
    return dtype.inner() if isinstance(dtype.inner, type) else dtype.inner


def roots_of(columns: Iterable[Column]) -> set[str]:
    """Return the names of the columns that columns and expressions are made of."""
    found: set[str] = set()
    for one in columns:
        found |= {one} if isinstance(one, str) else set(one.meta.root_names())
    return found


def _several(expr: pl.Expr) -> bool:
    return cs.is_selector(expr) or expr.meta.has_multiple_outputs()


def _check(name: str, dtype: pl.DataType) -> None:
    if not (dtype.is_numeric() or dtype == pl.Boolean):
        raise ColumnTypeError.of("scores", name, dtype, "Scores are numbers: cast them first.")
