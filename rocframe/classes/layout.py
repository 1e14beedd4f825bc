"""Columns of a many-class table, checked and renamed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl
import polars.selectors as cs

from rocframe.classes.inputs import (
    as_classes,
    binary_labels,
    comparable,
    exact_floats,
    known_labels,
    labels_by_class,
    labels_with_rows,
    read_scores,
    roots_of,
)
from rocframe.errors import (
    ColumnTypeError,
    LabelError,
    MissingColumnError,
    OptionValueError,
    RepeatedNameError,
)
from rocframe.frames import column, private_names
from rocframe.inputs.roles import TYPE_CHECKS, Column, columns_made, resolved
from rocframe.options import whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rocframe.classes.inputs import Classes, ClassScores, Scores


ClassLabels: TypeAlias = Column | Mapping[Any, Column]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Given:
    """What the caller said the columns are."""

    label: ClassLabels
    scores: ClassScores
    classes: Classes
    id: str | Sequence[str] | None
    keep: Keep


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """A plan with the riders under their own names, and labels and scores under private ones.

    `truth` is the class of each row. Where a row may be of `several` there is one for each class,
    and says whether the row is of that. `scores` has one for each of `classes`. Where a row is an
    instance and a class it has one, and `of` is the class. `names` are those of the columns of
    scores.
    """

    plan: pl.LazyFrame
    riders: tuple[pl.Expr, ...]
    id_names: list[str]
    truth: tuple[pl.Expr, ...]
    scores: tuple[pl.Expr, ...]
    names: tuple[str, ...]
    classes: pl.Series
    of: pl.Expr | None
    several: bool

    def named(self, place: int) -> pl.Expr:
        """Return one of the classes as an expression."""
        return pl.lit(self.classes[place], dtype=self.classes.dtype)

    @property
    def ids(self) -> tuple[pl.Expr, ...]:
        """The columns that tell instances apart."""
        return tuple(map(column, self.id_names))

    def plain(self) -> tuple[pl.Expr, ...]:
        """Return the scores as floats that can be subtracted, NaN as null."""
        dtypes = self.plan.select(self.scores).collect_schema().dtypes()
        kind = pl.Float32() if set(dtypes) == {pl.Float32} else pl.Float64()
        return tuple(
            exact_floats(score, dtype, name, kind).fill_nan(None)
            for score, dtype, name in zip(self.scores, dtypes, self.names, strict=True)
        )

    def true(self, place: int) -> pl.Expr:
        """Say whether a row is of one of the classes."""
        return self.truth[place] if self.several else self.truth[0] == self.named(place)


def lay_out(plan: pl.LazyFrame, schema: pl.Schema, given: Given, *, table: Sequence[str]) -> Layout:
    """Find all columns in a plan; `table` names those that will be made."""
    scores = read_scores(plan, schema, given.scores, given.classes)
    labels = _labels(plan, schema, given, scores)
    used = scores.roots | roots_of(
        given.label.values() if isinstance(given.label, Mapping) else [given.label]
    )
    if scores.of is not None:
        used |= {scores.of}
    if scores.of is not None and given.id is None:
        raise OptionValueError.of(
            "id",
            None,
            "a row is an instance and a class, and nothing says which rows are of one instance",
            'Name the columns that do, say id="id".',
        )
    kept, ids = read_riders(plan, schema, keep=given.keep, id=given.id, used=used, table=table)

    roles = [f"truth {i}" for i in range(len(labels))]
    roles += [f"score {i}" for i in range(len(scores.values or "1"))]
    names = private_names([*roles, "of", "row", "lists"], (*schema, ID))
    row = column(names["row"]).alias(ID)
    riders = [column(name) for name in kept]
    named = [row] if ids is None else [column(name) for name in ids]
    if ids is None:
        plan = plan.with_row_index(names["row"])
    of: pl.Expr | None = None
    classes = pl.Series("class", [])
    if scores.values is None:
        _, expr, kind = resolved(plan, schema, "classes", scores.of or "")
        of, classes = expr, pl.Series("class", [], kind)
    else:
        dtype = None if isinstance(given.label, Mapping) else labels[0][2]
        name = "" if isinstance(given.label, Mapping) else labels[0][0]
        classes = as_classes(scores.argument, scores.values, dtype, name)
    plan, exprs = scores.apart(plan, named, names["lists"])
    exprs = _of_one_type(plan, exprs, scores.names)
    made = plan.select(
        *riders,
        *named,
        *(() if of is None else [of.alias(names["of"])]),
        *(
            expr.alias(names[f"truth {i}"])
            for i, expr in enumerate(_checked(labels, given, scores, classes, of))
        ),
        *(expr.alias(names[f"score {i}"]) for i, expr in enumerate(exprs)),
    )
    return Layout(
        # Each class reads its columns from here, so that a file is read once.
        plan=made.cache(),
        riders=(*riders, *(column(name) for name in (ids or [ID]))),
        id_names=ids or [ID],
        truth=tuple(column(names[f"truth {i}"]) for i in range(len(labels))),
        scores=tuple(column(names[f"score {i}"]) for i in range(len(exprs))),
        names=tuple(scores.names),
        classes=classes,
        of=None if of is None else column(names["of"]),
        several=isinstance(given.label, Mapping),
    )


def _of_one_type(
    plan: pl.LazyFrame, exprs: Sequence[pl.Expr], names: Sequence[str]
) -> list[pl.Expr]:
    """Make floats of the scores of all classes where those of some are."""
    own = [expr.alias(str(i)) for i, expr in enumerate(exprs)]
    dtypes = plan.select(own).collect_schema().dtypes()
    if len(set(dtypes)) == 1:
        return list(exprs)
    empty = [pl.Series("score", [], dtype).to_frame() for dtype in dtypes]
    kind = pl.concat(empty, how="vertical_relaxed").schema["score"]
    if not kind.is_float():
        return list(exprs)
    return [
        exact_floats(expr, dtype, name, kind)
        for expr, dtype, name in zip(exprs, dtypes, names, strict=True)
    ]


Resolved: TypeAlias = tuple[str, pl.Expr, pl.DataType]


def _labels(plan: pl.LazyFrame, schema: pl.Schema, given: Given, scores: Scores) -> list[Resolved]:
    """Find the label column, or those of each class."""
    if not isinstance(given.label, Mapping):
        found = resolved(plan, schema, "label", given.label)
        TYPE_CHECKS["label"](found[0], found[2])
        if scores.of is not None:
            _, _, kind = resolved(plan, schema, "classes", scores.of)
            TYPE_CHECKS["label"](scores.of, kind)
            if not comparable(kind, found[2]):
                todo = f"It is compared with label {found[0]!r} of type {found[2]}: cast one first."
                raise ColumnTypeError.of("classes", scores.of, kind, todo)
        return [found]
    if scores.values is None:
        raise OptionValueError.of(
            "label",
            list(given.label),
            "a row is an instance and a class, so it has one label",
            "Give the column with the true class of the instance.",
        )
    every = []
    for one in labels_by_class(given.label, scores.values):
        name, expr, dtype = resolved(plan, schema, "label", one)
        if not (dtype == pl.Boolean or dtype.is_numeric()):
            todo = "The label of one class is Boolean, or 0 and 1: derive it first."
            raise ColumnTypeError.of("label", name, dtype, todo)
        every.append((name, expr, dtype))
    return every


def _checked(
    labels: list[Resolved],
    given: Given,
    scores: Scores,
    classes: pl.Series,
    of: pl.Expr | None,
) -> list[pl.Expr]:
    """Return expressions of the labels that raise where a label is of no class."""
    if isinstance(given.label, Mapping):
        return [binary_labels(expr, dtype, name) for name, expr, dtype in labels]
    ((name, expr, dtype),) = labels
    if of is None:
        argument = scores.argument

        def wrong(strange: list[object]) -> LabelError:
            return LabelError.without_score(name, strange, classes.to_list(), argument)

        return [known_labels(expr, dtype, classes, wrong)]
    checked = labels_with_rows(expr, dtype, name, of)
    if dtype == classes.dtype or dtype.is_numeric():
        return [checked]
    return [checked.cast(pl.String).cast(classes.dtype, strict=False)]


ID = "id"

Keep: TypeAlias = str | Sequence[str] | pl.Expr | None


def read_riders(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    *,
    keep: Keep,
    id: str | Sequence[str] | None,  # noqa: A002 - it is called so in the table
    used: Iterable[str],
    table: Sequence[str],
) -> tuple[list[str], list[str] | None]:
    """Return the names of the columns kept, and of those that name instances, if given.

    `used` are the columns that labels and scores are made of, `table` those that will be made.
    """
    ids = None if id is None else _names(plan, schema, "id", id)
    taken = {*used, *(ids or ())}
    if keep is None:
        kept = [name for name in schema if name not in taken]
    else:
        kept = [name for name in _names(plan, schema, "keep", keep) if name not in (ids or ())]
    if ids is None and ID in kept:
        raise OptionValueError.of(
            "id",
            None,
            "the table gets a column 'id' that tells instances apart, and has one already",
            'Say id="id" if that column tells them apart, or keep=[…] without it if not.',
        )
    for argument, names in (("id", ids or []), ("keep", kept)):
        for name in names:
            if name in table:
                raise RepeatedNameError.rides(argument, name, table)
    return kept, ids


def _names(
    plan: pl.LazyFrame, schema: pl.Schema, argument: str, given: str | Sequence[str] | pl.Expr
) -> list[str]:
    if isinstance(given, pl.Expr):
        if not cs.is_selector(given):
            wrong = "columns ride along as they are"
            raise OptionValueError.of(argument, given, wrong, "Give names, or a selector.")
        return columns_made(plan, schema, argument, given).names()
    single = isinstance(given, str) or not hasattr(given, "__iter__")
    names: list[Any] = [given] if single else list(given)
    for name in names:
        if not isinstance(name, str):
            wrong = "columns are given by name"
            raise OptionValueError.of(argument, name, wrong, f'Say {argument}=["model", "fold"].')
        if name not in schema:
            raise MissingColumnError.of(argument, name, schema)
        if names.count(name) > 1:
            raise RepeatedNameError.of(argument, name, names)
    return names


Relative = Literal["difference", "ratio"]


def as_rank(margin: bool | int, classes: int | None) -> int:
    """Read `margin`: which of the best other scores is subtracted; 0 for none."""
    rank = int(margin) if isinstance(margin, bool) else whole("margin", margin, say=3)
    if rank and classes == 1:
        wrong = "there is one class, and no score of another to take away"
        raise OptionValueError.of("margin", margin, wrong, "Leave it out.")
    if classes is not None and rank >= classes:
        raise OptionValueError.of(
            "margin",
            margin,
            f"with {classes} classes each has {classes - 1} others",
            "Give True for the best of the others, or a smaller number.",
        )
    return rank


def best_scores(scores: Sequence[pl.Expr], rank: int) -> tuple[pl.Expr, pl.Expr]:
    """Return the scores of a row at this rank and the next; null if any score is missing."""
    # Of many columns polars makes arrays a dozen times as fast as lists.
    order = pl.concat_arr(*scores).arr.sort(descending=True)
    some = ~pl.any_horizontal(score.is_null() for score in scores)
    at, after = (order.arr.get(place) for place in (rank - 1, rank))
    return pl.when(some).then(at), pl.when(some).then(after)


def best_scores_over(score: pl.Expr, ids: Sequence[pl.Expr], rank: int) -> tuple[pl.Expr, pl.Expr]:
    """Return the same where an instance has a row for each class."""
    order = score.sort(descending=True)
    some = ~score.is_null().any()
    at, after = (order.get(place, null_on_oob=True) for place in (rank - 1, rank))
    return pl.when(some.over(*ids)).then(at.over(*ids)), pl.when(some.over(*ids)).then(
        after.over(*ids)
    )


def above(score: pl.Expr, at: pl.Expr, after: pl.Expr) -> pl.Expr:
    """Return how far a score lies above the others: above that at the rank among them.

    Without a score that is one of the best, what was next to them is.
    """
    return difference(score, pl.when(score >= at).then(after).otherwise(at))


def difference(one: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Subtract scores; equal ones differ by 0, infinite ones too."""
    return pl.when(one == other).then(pl.lit(0).cast(pl.Float32)).otherwise(one - other)


def relative_to(one: pl.Expr, other: pl.Expr, relative: Relative | None) -> pl.Expr:
    """Set the score of one class against that of another."""
    if relative is None:
        return one
    if relative == "difference":
        return difference(one, other)
    ratio = one / other
    return pl.when(~ratio.is_nan()).then(ratio)
