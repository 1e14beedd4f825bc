"""Labels and scores of many classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
import polars.selectors as cs

from rocframe.errors import (
    ColumnTypeError,
    LabelError,
    OptionValueError,
    PairingError,
    RepeatedNameError,
)
from rocframe.frames import column
from rocframe.inputs.cases import as_floats
from rocframe.inputs.roles import Column, columns_made, resolved
from rocframe.text import counted, listed, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


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


def as_classes(
    argument: str, values: Sequence[Any], dtype: pl.DataType | None, label: str
) -> pl.Series:
    """Return the classes in the type of the labels, or in their own where they have no column."""
    plain = [value.item() if hasattr(value, "item") else value for value in values]
    for value in plain:
        if plain.count(value) > 1:
            raise RepeatedNameError.of(argument, value, plain)
    try:
        found = pl.Series("class", plain, strict=True)
        typed = found if dtype is None else found.cast(dtype)
        back = typed.cast(found.dtype)
        fits = dtype is None or (comparable(found.dtype, dtype) and back.eq(found).all())
        fits = fits and not typed.null_count()
    except (pl.exceptions.PolarsError, OverflowError, TypeError):
        fits = False
    if fits and _family(typed.dtype) in {"text", "number", "Boolean"}:
        return typed
    if dtype is None:
        wrong, todo = "classes are text, numbers or Booleans, all alike", "Name them alike."
        raise OptionValueError.of(argument, plain, wrong, todo)
    of = f": {listed(dtype.categories)}" if isinstance(dtype, pl.Enum) else ""
    raise OptionValueError.of(
        argument,
        plain,
        f"labels of {label!r} have type {dtype}{of}, and cannot be all of these classes",
        "Name each class by its label, say scores={0: 'p0', 1: 'p1'} where labels are 0 and 1.",
    )


def labels_by_class(label: Mapping[Any, Column], values: Sequence[Any]) -> list[Column]:
    """Return the label column of each class, in the order of the classes."""
    missing = [value for value in values if value not in label]
    more = [value for value in label if value not in values]
    if missing or more:
        raise OptionValueError.of(
            "label",
            list(label),
            f"labels and scores are of other classes: {listed(missing or more)} has "
            f"{'no label' if missing else 'no score'}",
            "Give a label column and a score for each class.",
        )
    return [label[value] for value in values]


def comparable(one: pl.DataType, other: pl.DataType) -> bool:
    """Say whether values of the two types can be equal."""
    return _family(one) == _family(other)


def _family(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "number"
    text = dtype == pl.String or isinstance(dtype, pl.Enum | pl.Categorical)
    return "text" if text else str(dtype)


def known_labels(
    label: pl.Expr,
    dtype: pl.DataType,
    classes: pl.Series,
    error: Callable[[list[object]], LabelError],
) -> pl.Expr:
    """Raise where a label is none of the classes; null is no label."""
    known = set(classes.to_list())

    def check(values: pl.Series) -> None:
        strange = [value for value in values.drop_nulls().unique().to_list() if value not in known]
        if strange:
            raise error(sorted(strange))

    plain = label.fill_nan(None) if dtype.is_float() else label
    return _passing(plain, check, dtype)


def labels_with_rows(label: pl.Expr, dtype: pl.DataType, name: str, of: pl.Expr) -> pl.Expr:
    """Raise where a label is a class that no row is a score of; null is no label."""
    plain = label.fill_nan(None) if dtype.is_float() else label

    def run(rows: pl.Series) -> pl.Series:
        labels, classes = rows.struct.unnest()
        known = set(classes.unique().to_list())
        strange = [value for value in labels.drop_nulls().unique().to_list() if value not in known]
        if strange:
            classes = classes.drop_nulls().unique().sort()
            raise LabelError.without_row(name, sorted(strange), classes.to_list())
        return labels

    both = pl.struct(plain.alias("label"), of.alias("of"))
    return both.map_batches(run, return_dtype=dtype)


def few_classes(of: pl.Expr, check: Callable[[int], None]) -> pl.Expr:
    """Return true for each row, once the number of classes has been looked at."""

    def run(values: pl.Series) -> pl.Series:
        check(values.drop_nulls().n_unique())
        return pl.Series([True]).new_from_index(0, len(values))

    return of.map_batches(run, return_dtype=pl.Boolean)


def exact_floats(score: pl.Expr, dtype: pl.DataType, name: str, kind: pl.DataType) -> pl.Expr:
    """Return scores as floats; raise where one would change."""
    if dtype.is_float() or dtype == pl.Boolean:
        return score.cast(kind)

    def run(values: pl.Series) -> pl.Series:
        return as_floats(values, name).cast(kind)

    return score.map_batches(run, return_dtype=kind, is_elementwise=True)


def binary_labels(label: pl.Expr, dtype: pl.DataType, name: str) -> pl.Expr:
    """Return the labels of one class as Booleans; raise where numbers are neither 0 nor 1."""
    if dtype == pl.Boolean:
        return label

    def check(values: pl.Series) -> None:
        strange = values.filter((values != 0) & (values != 1))
        if len(strange):
            raise LabelError.not_binary(name, strange[0])

    plain = label.fill_nan(None) if dtype.is_float() else label
    return _passing(plain, check, dtype) == 1


def whole_lists(
    lists: pl.Expr, dtype: pl.DataType, name: str, ids: Sequence[pl.Expr], size: int
) -> pl.Expr:
    """Raise where a row has no list, or one that is not as long as there are classes."""

    def run(rows: pl.Series) -> pl.Series:
        held = rows.struct.unnest().to_series(-1)
        wrong = (held.list.len() != size).fill_null(True)
        if wrong.any():
            row = rows.filter(wrong)[0]
            _, value = row.popitem()
            place = ", ".join(f"{key}={one!r}" for key, one in row.items())
            raise OptionValueError.of(
                "scores",
                name,
                # Other rows pass elsewhere at the same time: how many are wrong, nobody knows.
                f"there are {size} classes, and a row with another number of scores",
                f"That row{place and f', where {place},'} has {shown(value)}.\n"
                "Mend such rows, or leave them out with .filter().",
            )
        return held

    packed = pl.struct(*ids, lists)
    return packed.map_batches(run, return_dtype=dtype, is_elementwise=True)


def once(names: Sequence[pl.Expr], value: object) -> pl.Expr:
    """Return true for each row; raise where an instance has several rows of one class."""

    def check(several: pl.Series) -> None:
        if several.any():
            raise PairingError.of(
                "id",
                value,
                f"{counted(int(several.sum()))} have the same id and class as another",
                'Name all columns that tell instances apart, say id=["model", "id"].',
            )

    return ~_passing(pl.struct(*names).is_duplicated(), check, pl.Boolean(), each=False)


def _passing(
    expr: pl.Expr, check: Callable[[pl.Series], None], dtype: pl.DataType, *, each: bool = True
) -> pl.Expr:
    def run(values: pl.Series) -> pl.Series:
        check(values)
        return values

    return expr.map_batches(run, return_dtype=dtype, is_elementwise=each)
