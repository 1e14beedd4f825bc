"""Options, columns and result tables of functions that compare several models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from rocframe.errors import (
    ColumnTypeError,
    MissingColumnError,
    OptionValueError,
    PairingError,
    suggest_value,
)
from rocframe.frames import (
    as_input_frame,
    build_table,
    column,
    lazy_plan,
    private_names,
    through_node,
)
from rocframe.inputs.roles import bind_roles, resolve_column
from rocframe.options import NOT_GIVEN, check_choice, check_group_columns
from rocframe.schemas.columns import MODEL, cast_scores, with_scores
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.roles import BoundRoles, Column, Roles


Unmatched = Literal["raise", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairingOptions:
    """Options of the pairing of rows.

    `min_models` is the minimum number of score columns. If `single_model` is true, a single score
    column without `id` can be one model. `unpaired` is a text for errors: the option to use for
    models that scored different rows, or None if there is no such option. If `probabilities` is
    true, scores outside [0, 1] raise an error.
    """

    between: str
    id: Column | Sequence[Column] | None
    unmatched: Unmatched
    paired: bool
    min_models: int
    single_model: bool
    unpaired: str | None
    probabilities: bool

    @classmethod
    def parse(
        cls,
        roles: Roles,
        *,
        between: object,
        id: Column | Sequence[Column] | None,  # noqa: A002 - name of the public option
        unmatched: Unmatched,
        paired: bool = True,
        min_models: int = 2,
        single_model: bool = False,
        unpaired: str | None = 'rf.compare(…, method="delong_t_unpaired")',
        probabilities: bool = False,
    ) -> PairingOptions:
        """Return the options; raise an error if one of them is invalid."""
        check_choice("unmatched", unmatched, get_args(Unmatched))
        if not isinstance(between, str):
            raise OptionValueError.compose(
                "between",
                between,
                "expected a column name",
                'Pass the column of models by name, such as between="model". Add computed columns '
                "with .with_columns() first.",
            )
        if id is not None and roles.count is not None and roles.count is not NOT_GIVEN:
            raise OptionValueError.compose(
                "count",
                roles.count,
                "id= requires one row per prediction, but a row with a count represents "
                "several predictions",
                "Pass several score columns without id=, or pass count=None if each row is one "
                "prediction.",
            )
        if id is not None and not isinstance(id, str | pl.Expr) and hasattr(id, "__iter__"):
            id = list(id)  # noqa: A001
        return cls(
            between=between,
            id=id,
            unmatched=unmatched,
            paired=paired,
            min_models=min_models,
            single_model=single_model,
            unpaired=unpaired,
            probabilities=probabilities,
        )

    @property
    def id_columns(self) -> list[Column]:
        """The columns in `id` as a list, which can be empty."""
        if self.id is None:
            return []
        return self.id if isinstance(self.id, list) else [self.id]  # type: ignore[list-item]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairingColumns:
    """The resolved columns of a comparison.

    `between` is None if each model has its own score column. `model` is the dtype of the models, or
    Null if there is one score column and no column of models.
    """

    bound: BoundRoles
    options: PairingOptions
    model: pl.DataType
    between: str | None
    ids: tuple[str, ...]
    inputs: tuple[pl.Expr, ...]


def plan_comparison(
    predictions: FrameT,
    roles: Roles,
    options: PairingOptions,
    build: Callable[[pl.DataFrame, PairingColumns], pl.DataFrame],
    *,
    schema: Callable[[pl.DataType], dict[str, pl.DataType]],
    anchor: str,
    independent_groups: bool,
) -> FrameT:
    """Return the table that `build` computes, as the same kind of frame as the predictions.

    `schema` returns the columns of the result for a dtype of the models. `anchor` is the name of a
    column that is never null. `independent_groups` is true if the result of a group does not depend
    on other groups.
    """

    def resolve(plan: pl.LazyFrame, columns: pl.Schema) -> pl.LazyFrame:
        pairing = bind_pairing(plan, columns, roles, options, tuple(schema(pl.String())))
        by = pairing.bound.by
        names = dict(zip(map(str, range(len(by))), by, strict=True))
        result = pairing.bound.keys | with_scores(schema(pairing.model), pairing.bound.scores)
        return through_node(
            plan.select(pairing.inputs),
            lambda frame: cast_scores(build(frame, pairing).rename(names), result),
            schema=result,
            by=by if independent_groups else (),
            anchor=anchor,
        )

    return as_input_frame(
        predictions, lazy_plan("predictions", predictions).pipe_with_schema(resolve)
    )


def bind_pairing(
    plan: pl.LazyFrame,
    schema: pl.Schema,
    roles: Roles,
    options: PairingOptions,
    table: Sequence[str],
) -> PairingColumns:
    """Return the resolved columns of a comparison after a check.

    `table` are the names of the columns of the result.
    """
    single_model = options.single_model
    names = tuple(name for name in table if name != MODEL) if single_model else table
    bound = bind_roles(plan, schema, roles, names, keyed=single_model)
    between = options.between
    if bound.models is not None:
        _check_side_by_side(options, bound.models)
    has_models = options.id_columns or (between in schema and between not in bound.by)
    if bound.models is not None or (single_model and not has_models):
        return PairingColumns(
            bound=bound,
            options=options,
            model=pl.Null() if bound.models is None else pl.String(),
            between=None,
            ids=(),
            inputs=bound.inputs,
        )
    check_group_columns(bound.by, schema, table)
    if between not in schema:
        hint = (
            "In a long table, between= names the column of models. For models side by side, pass "
            'their score columns, such as score=["a", "b"].'
        )
        raise MissingColumnError.compose("between", between, schema, hint=hint)
    if between in bound.by:
        raise OptionValueError.compose(
            "between",
            between,
            "models are compared within groups, so the column of models cannot be a group column",
            f"Remove {between!r} from by=.",
        )
    id_columns = options.id_columns
    if options.paired and not id_columns:
        other = f" If the models scored different rows, use {options.unpaired}."
        raise PairingError.compose(
            "id",
            options.id,
            "this method pairs the rows of the models, and no column identifies the instances",
            'Pass the column that identifies instances, such as id="id". If the rows of all models '
            "are in the same order, number them first: "
            f".with_columns(id=pl.int_range(pl.len()).over({between!r})). "
            f"Or pass one score column for each model.{other if options.unpaired else ''}",
        )
    private = private_names(["between", *(f"id {i}" for i in range(len(id_columns)))], bound.by)
    sources = [("between", between, column(between), schema[between])]
    sources += [("id", *resolve_column(plan, schema, "id", id_column)) for id_column in id_columns]
    for argument, name, _, dtype in sources:
        if dtype == pl.Object:
            hint = "Rows are sorted by this column: cast it to a dtype that can be sorted."
            raise ColumnTypeError.compose(argument, name, dtype, hint)
    aliased = (
        expr.alias(name) for (_, _, expr, _), name in zip(sources, private.values(), strict=True)
    )
    return PairingColumns(
        bound=bound,
        options=options,
        model=schema[between],
        between=private["between"],
        ids=tuple(private.values())[1:],
        inputs=(*bound.inputs, *aliased),
    )


def _check_side_by_side(options: PairingOptions, models: Sequence[str]) -> None:
    """Raise an error for options that do not apply if each model has a score column."""
    if options.between != MODEL:
        problem = "each column of score= is a model"
        raise OptionValueError.compose("between", options.between, problem, "Omit between=.")
    if options.id is not None:
        problem = "several score columns are already paired by row"
        raise OptionValueError.compose("id", options.id, problem, "Omit id=.")
    if len(models) < options.min_models:
        hint = 'Pass several score columns, such as score=["a", "b"].'
        raise OptionValueError.compose("score", models[0], "expected at least two models", hint)


def build_model_table(
    parts: Sequence[Mapping[str, NDArray[Any]]],
    schema: Mapping[str, pl.DataType],
    *,
    keys: pl.DataFrame,
    models: pl.Series,
    order: Sequence[str],
    constants: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Concatenate the columns of all parts to a table, sorted by group and the columns in `order`.

    The column `group` of a part contains row numbers of `keys`. Columns named `model`, `model_a` or
    `model_b` contain positions in `models`. `constants` are columns with one value for all rows.
    """
    if not parts:
        return build_table(keys[:0], {}, schema)
    columns: dict[str, Any] = {
        name: np.concatenate([part[name] for part in parts]) for name in parts[0]
    }
    rows = np.lexsort([columns[name] for name in ("group", *order)][::-1])
    for name, values in columns.items():
        columns[name] = values[rows].tolist() if values.dtype == object else values[rows]
        if name in (MODEL, "model_a", "model_b"):
            columns[name] = models[columns[name]]
    return build_table(keys, columns | dict(constants or {}), schema, rows=columns["group"])


def model_position(argument: str, model: object, models: Sequence[object]) -> int:
    """Return the position in `models` of the model that is passed as an argument."""
    hint = f"Models: {format_list(models)}."
    if isinstance(model, pl.Expr | pl.Series | pl.DataFrame | pl.LazyFrame) or getattr(
        model, "ndim", False
    ):
        raise OptionValueError.unexpected_type(argument, model, "the name of a model", hint)
    if model not in models:
        if argument == "baseline":
            hint += suggest_value(argument, model, models)
        raise OptionValueError.compose(argument, model, "unknown model", hint)
    return models.index(model)
