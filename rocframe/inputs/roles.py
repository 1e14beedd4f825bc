"""The columns of a predictions table and their roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isnan
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import polars as pl
import polars.selectors as cs

from rocframe.errors import (
    AmbiguousCountError,
    ColumnTypeError,
    LabelError,
    MissingColumnError,
    OptionValueError,
    RepeatedNameError,
    UnknownOptionError,
)
from rocframe.frames import column, private_names
from rocframe.options import NOT_GIVEN, NotGiven, check_group_columns, group_dtypes, parse_names
from rocframe.schemas import MODEL
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Iterable


SCORE_HINT = "Pass a column name, an expression, or several: a list, a selector, {name: column}."

COUNT_HINT = "Use count=None, with a table that has one row for each prediction."

Missing = Literal["raise", "drop", "worst"]

Column: TypeAlias = str | pl.Expr

Scores: TypeAlias = Column | Sequence[Column] | Mapping[str, Column]

By: TypeAlias = str | Sequence[str] | None

Count: TypeAlias = Column | NotGiven | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Roles:
    """What the caller said the columns are."""

    label: Column
    score: Scores
    by: By = None
    positive: object = None
    weight: Column | None = None
    count: Count = NOT_GIVEN
    missing: Missing = "raise"
    cluster: Column | None = None

    def __post_init__(self) -> None:
        if self.missing not in get_args(Missing):
            raise UnknownOptionError.of("missing", self.missing, get_args(Missing))
        if self.cluster is not None and self.count is not None and self.count is not NOT_GIVEN:
            raise OptionValueError.of(
                "count",
                self.count,
                "with cluster=, each row must be one prediction",
                COUNT_HINT,
            )

    @property
    def mass(self) -> pl.DataType:
        """Type of the counts of a curve: whole numbers, unless rows are weighted."""
        return pl.Int64() if self.weight is None else pl.Float64()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BoundRoles:
    """The same, once the columns are known: what the node reads under which name."""

    roles: Roles
    by: tuple[str, ...]
    keys: dict[str, pl.DataType]
    models: tuple[str, ...] | None
    inputs: tuple[pl.Expr, ...]
    private: dict[str, str]
    names: dict[str, str]
    positive: object

    @property
    def keys_made(self) -> dict[str, pl.DataType]:
        """Types of the key columns of the table being made."""
        return self.keys if self.models is None else {**self.keys, MODEL: pl.String()}


def bind(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    roles: Roles,
    table: Sequence[str],
    *,
    keyed: bool = True,
    over: int = 0,
) -> BoundRoles:
    """Find each role's column in a plan, and check names and types.

    `table` names the columns that the verb will make: no group may be called so. `keyed` says
    whether several scores make a key. The last `over` group columns were given as `over`.
    """
    by = parse_names(roles.by)
    scores, models = _scores(plan, roles, roles.score, schema)
    if models is not None and MODEL in table:
        rest = [name for name in table if name != MODEL]
        raise RepeatedNameError.in_result("metrics", MODEL, (MODEL, *rest))
    key = (MODEL,) if models is not None and keyed else ()
    kept, gone = by[: len(by) - over], by[len(by) - over :]
    check_group_columns(kept, schema, (*table, *key))
    for name in gone:
        if name in kept:
            raise RepeatedNameError.of("over", name, by)
    check_group_columns(gone, schema, (*table, *key), "over")
    count = roles.count
    if count is NOT_GIVEN:
        if "count" in schema:
            raise AmbiguousCountError.of()
        count = None

    given: dict[str, tuple[str, Column]] = {"label": ("label", roles.label)}
    given |= {f"score {i}": ("score", score) for i, score in enumerate(scores)}
    given |= {} if roles.weight is None else {"weight": ("weight", roles.weight)}
    given |= {} if count is None else {"count": ("count", count)}
    given |= {} if roles.cluster is None else {"cluster": ("cluster", roles.cluster)}

    private = private_names(given, by)
    inputs, names, positive = [column(name) for name in by], {}, None
    for role, (argument, source) in given.items():
        names[role], expr, dtype = resolve_column(plan, schema, argument, source)
        TYPE_CHECKS[argument](names[role], dtype)
        inputs.append(expr.alias(private[role]))
        if argument == "label":
            positive = as_positive(roles.positive, names[role], dtype)
    return BoundRoles(
        roles=roles,
        by=by,
        keys=group_dtypes(by, schema),
        models=models,
        inputs=tuple(inputs),
        private=private,
        names=names,
        positive=positive,
    )


def _scores(
    plan: pl.LazyFrame, roles: Roles, score: Scores, schema: pl.Schema
) -> tuple[list[Column], tuple[str, ...] | None]:
    """Return the score columns, and the models' names if several are compared."""
    if isinstance(score, Mapping):
        _check_models(score)
        return list(score.values()), _distinct(score)
    if isinstance(score, str) or (isinstance(score, pl.Expr) and not _is_several(score)):
        return [score], None
    if isinstance(score, pl.Expr):
        return _expanded(plan, roles, score, schema)
    several = hasattr(score, "__iter__") and not isinstance(score, pl.Series)
    given: list[Column] = list(score) if several else []
    if not given:
        raise OptionValueError.of("score", score, "it names no column", SCORE_HINT)
    every: list[Column] = []
    names: list[str] = []
    for one in given:
        part, models = _scores(plan, roles, one, schema)
        every += part
        names += models or [resolve_column(plan, schema, "score", one)[0]]
    return every, _distinct(names)


def _expanded(
    plan: pl.LazyFrame, roles: Roles, score: pl.Expr, schema: pl.Schema
) -> tuple[list[Column], tuple[str, ...]]:
    """Return one expression for each column that a selector or an expression makes."""
    names = output_columns(plan, schema, "score", score).names()
    if not names:
        raise OptionValueError.of(
            "score",
            score,
            "it selects no column",
            f"The frame has: {format_list(schema, most=30)}.",
        )
    others = (roles.label, roles.weight, roles.count)
    taken = {*parse_names(roles.by), *(name for name in others if isinstance(name, str))}
    for name in names:
        if name in taken:
            raise OptionValueError.of(
                "score",
                score,
                f"it selects {name!r} too, which has another role",
                f"Exclude it, for example with … - cs.by_name({name!r}).",
            )
    if cs.is_selector(score):
        return [column(name) for name in names], _distinct(names)
    # Fields are looked up by pattern, like columns, so they get names that are none.
    fields = [str(i) for i in range(len(names))]
    whole = pl.struct(score).struct.rename_fields(fields)
    return [whole.struct.field(field) for field in fields], _distinct(names)


def _check_models(scores: Mapping[str, Column]) -> None:
    """Check that a mapping has something in it, under the names of models."""
    if not scores:
        raise OptionValueError.of("score", scores, "it names no column", SCORE_HINT)
    for name in scores:
        if not isinstance(name, str):
            raise OptionValueError.of(
                "score",
                name,
                "expected a string as the name of a model",
                'Use, for example, {"name": "column"}.',
            )


def _is_several(expr: pl.Expr) -> bool:
    return cs.is_selector(expr) or expr.meta.has_multiple_outputs()


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    models = tuple(names)
    for name in models:
        if models.count(name) > 1:
            raise RepeatedNameError.of("score", name, models)
    return models


def resolve_column(
    plan: pl.LazyFrame, schema: pl.Schema, argument: str, source: Column
) -> tuple[str, pl.Expr, pl.DataType]:
    """Return name, expression and type of a column given by name or as an expression."""
    if isinstance(source, str):
        if source not in schema:
            raise MissingColumnError.of(argument, source, schema)
        return source, column(source), schema[source]
    if not isinstance(source, pl.Expr):
        raise OptionValueError.of(
            argument, source, "expected a column name or an expression", "Pass one of these."
        )
    found = output_columns(plan, schema, argument, source)
    if len(found) != 1:
        raise OptionValueError.of(
            argument,
            source,
            f"the expression returns {len(found)} columns",
            "Pass an expression that returns one column.",
        )
    ((name, dtype),) = found.items()
    return name, source, dtype


def output_columns(
    plan: pl.LazyFrame, schema: pl.Schema, argument: str, source: pl.Expr
) -> pl.Schema:
    """Return names and types of the columns that an expression makes."""
    try:
        return plan.select(source).collect_schema()
    except pl.exceptions.ColumnNotFoundError as error:
        # polars names the column in its message, if not in the expression, as one of several.
        roots = [name for name in source.meta.root_names() if name not in schema]
        name = (roots or [*str(error).split('"')[1:2], str(source)])[0]
        raise MissingColumnError.of(argument, name, schema) from None
    except pl.exceptions.DuplicateError:
        raise OptionValueError.of(
            argument,
            source,
            "the expression returns two columns with the same name",
            "Rename one, for example with .name.suffix(), or pass {name: column}.",
        ) from None


def _check_label(name: str, dtype: pl.DataType) -> None:
    if (
        dtype == pl.Null
        or dtype.is_nested()
        or dtype.is_temporal()
        or dtype in {pl.Binary, pl.Object}
    ):
        todo = (
            "Labels are Boolean, numbers, String, Categorical or Enum: cast or derive them first."
        )
        raise ColumnTypeError.of("label", name, dtype, todo)


def _check_score(name: str, dtype: pl.DataType) -> None:
    if not (dtype.is_numeric() or dtype == pl.Boolean):
        hint = f", for example with pl.col({name!r}).cast(pl.Float64)" if dtype == pl.String else ""
        raise ColumnTypeError.of(
            "score", name, dtype, f"Scores are numbers: cast them first{hint}."
        )


def _check_weight(name: str, dtype: pl.DataType) -> None:
    if not (dtype.is_numeric() or dtype == pl.Boolean):
        raise ColumnTypeError.of("weight", name, dtype, "Weights are numbers: cast them first.")


def _check_count(name: str, dtype: pl.DataType) -> None:
    if not dtype.is_integer():
        todo = "Counts are integers: cast them first, or pass fractions as weight=."
        raise ColumnTypeError.of("count", name, dtype, todo)


def _check_cluster(name: str, dtype: pl.DataType) -> None:
    if dtype == pl.Object:
        raise ColumnTypeError.of("cluster", name, dtype, "Clusters are sorted: cast them first.")


TYPE_CHECKS = {
    "label": _check_label,
    "score": _check_score,
    "weight": _check_weight,
    "count": _check_count,
    "cluster": _check_cluster,
}


def as_positive(positive: object, name: str, dtype: pl.DataType) -> object:
    """Return the positive value as a plain one, if it could be one of the labels."""
    if positive is None:
        return None
    if getattr(positive, "ndim", None) == 0:  # a scalar of numpy
        positive = positive.item()  # type: ignore[attr-defined]
    number = isinstance(positive, int) or (
        isinstance(positive, float | Decimal) and not isnan(positive)
    )
    if dtype == pl.Boolean:
        fits = number and positive in {0, 1}
    elif dtype.is_numeric():
        fits = number
    else:
        fits = isinstance(positive, str)
    if not fits:
        raise LabelError.positive_type(positive, name, dtype)
    if isinstance(dtype, pl.Enum) and positive not in dtype.categories:
        raise LabelError.no_positive(positive, name, dtype.categories)
    return positive
