"""Options, columns and result tables of functions that compare several models.

An instance is a case that each model scores once: a row with several score columns, or the rows of
a long table with the same `id`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from rocframe.areas.pairs import Clusters, doubled_ranks
from rocframe.curves.table import PointTable
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
    check_keys,
    column,
    find_keys,
    lazy_plan,
    number_distinct_rows,
    private_names,
    select_keys,
    take_rows,
    through_node,
)
from rocframe.inputs.cases import Cases, RowState, check_probabilities, read_cases
from rocframe.inputs.roles import bind_roles, resolve_column
from rocframe.kernel.arrays import exact_sums, scale_by_groups
from rocframe.kernel.groups import RowGroups, round_thresholds, sort_grouped_rows
from rocframe.kernel.scan import Scan
from rocframe.options import check_choice, check_group_columns, to_float
from rocframe.schemas.table_type import MODEL, THRESHOLD, cast_scores, with_scores
from rocframe.text import format_count, format_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.roles import BoundRoles, Column, Roles

Unmatched = Literal["raise", "drop"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairingOptions:
    """The columns of the predictions, and the options of the pairing of their rows.

    If the models are readings, `readings` has the columns of the arguments `modality` and `reader`
    instead of `between`. With `single_model`, one score column without `id` can be one model.
    `unpaired` is the option for models that scored different rows, for errors. `probabilities`:
    scores must be in [0, 1]. `default_unpaired`: the call does not state that the rows differ.
    """

    roles: Roles
    between: str = MODEL
    readings: Mapping[str, str] | None = None
    id: Column | Sequence[Column] | None
    unmatched: Unmatched
    paired: bool = True
    min_models: int = 2
    single_model: bool = False
    unpaired: str | None = 'rf.compare(…, method="delong_t_unpaired")'
    probabilities: bool = False
    default_unpaired: bool = False

    def __post_init__(self) -> None:
        check_choice("unmatched", self.unmatched, get_args(Unmatched))
        for argument, name in self.model_columns.items():
            if type(name) is not str:
                problem = "expected a column name"
                example = argument if self.readings else MODEL
                hint = (
                    f'Pass the name of a column, such as {argument}="{example}". Add computed '
                    "columns with .with_columns() first."
                )
                raise OptionValueError.compose(argument, name, problem, hint)
        if self.id is not None and "count" in self.roles.optional_columns:
            raise OptionValueError.compose(
                "count",
                self.roles.count,
                "id= requires one row per prediction, but a row with a count represents "
                "several predictions",
                "Pass several score columns without id=, or pass count=None if each row is one "
                "prediction.",
            )

    @property
    def model_columns(self) -> Mapping[str, str]:
        """The columns that identify a model, by the name of the argument."""
        return self.readings or {"between": self.between}

    @property
    def id_columns(self) -> list[Column]:
        """The columns in `id` as a list, which can be empty."""
        is_single = isinstance(self.id, str | pl.Expr) or not hasattr(self.id, "__iter__")
        columns: Any = [self.id] if is_single else self.id
        return [] if self.id is None else list(columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PairingColumns:
    """The resolved columns of a comparison; `between` is None for one score column per model.

    `model` is the dtype of the models, or Null for one score column without a column of models.
    `pooled` is the input with the models whose rows would be combined, if groups are compared.
    """

    bound: BoundRoles
    options: PairingOptions
    model: pl.DataType
    between: str | None
    ids: tuple[str, ...]
    inputs: tuple[pl.Expr, ...]
    pooled: str | None = None


def plan_comparison(
    predictions: FrameT,
    options: PairingOptions,
    build: Callable[[pl.DataFrame, PairingColumns], pl.DataFrame],
    *,
    schema: Callable[[pl.DataType], dict[str, pl.DataType]],
    anchor: str,
    independent_groups: bool,
) -> FrameT:
    """Return the table that `build` computes, as the same kind of frame as the predictions.

    `schema` returns its columns for a dtype of the models. The column `anchor` is never null.
    """

    def resolve(plan: pl.LazyFrame, columns: pl.Schema) -> pl.LazyFrame:
        pairing = bind_pairing(plan, columns, options, tuple(schema(pl.String())))
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
    plan: pl.LazyFrame, schema: pl.Schema, options: PairingOptions, table: Sequence[str]
) -> PairingColumns:
    """Return the resolved columns of a comparison; `table` are the names of those of the result."""
    single_model = options.single_model
    names = tuple(name for name in table if name != MODEL) if single_model else table
    bound = bind_roles(plan, schema, options.roles, names, keyed=single_model)
    model_columns = options.model_columns
    if bound.models is not None:
        _check_side_by_side(options, bound.models)
    is_long = all(name in schema and name not in bound.by for name in model_columns.values())
    has_models = options.id_columns or is_long
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
    for argument, name in model_columns.items():
        _check_model_column(argument, name, schema, bound.by)
    id_columns = options.id_columns
    if options.paired and not id_columns:
        other = f" If the models scored different rows, use {options.unpaired}."
        problem = "this method pairs the rows of the models, and no column identifies the instances"
        hint = (
            'Pass the column that identifies instances, such as id="id". If the rows of all models '
            "are in the same order, number them first: "
            f".with_columns(id=pl.int_range(pl.len()).over({options.between!r})). "
            f"Or pass one score column for each model.{other if options.unpaired else ''}"
        )
        if options.readings:
            problem = "the readings of a case are paired, and no column identifies the cases"
            hint = 'Pass the column that identifies cases, such as id="case".'
        raise PairingError.compose("id", options.id, problem, hint)
    roles = ["between", *(f"id {i}" for i in range(len(id_columns))), MODEL]
    private = private_names(roles, bound.by)
    pooled = private.pop(MODEL)
    sources = [(*names, column(names[1]), schema[names[1]]) for names in model_columns.items()]
    sources += [("id", *resolve_column(plan, schema, "id", id_column)) for id_column in id_columns]
    for argument, name, _, source_dtype in sources:
        if source_dtype == pl.Object:
            hint = "Rows are sorted by this column: cast it to a dtype that can be sorted."
            raise ColumnTypeError.compose(argument, name, source_dtype, hint)
    if options.readings:
        model = pl.struct(column(name).alias(part) for part, name in model_columns.items())
        dtype: pl.DataType = pl.Struct({part: schema[name] for part, name in model_columns.items()})
    else:
        model, dtype = column(options.between), schema[options.between]
    exprs = [model, *(expr for _, _, expr, _ in sources[len(model_columns) :])]
    aliased = [expr.alias(name) for expr, name in zip(exprs, private.values(), strict=True)]
    if has_pooled := options.default_unpaired and MODEL in schema and MODEL not in bound.by:
        aliased.append(column(MODEL).alias(pooled))
    return PairingColumns(
        bound=bound,
        options=options,
        model=dtype,
        between=private["between"],
        ids=tuple(private.values())[1:],
        inputs=(*bound.inputs, *aliased),
        pooled=pooled if has_pooled else None,
    )


def _check_model_column(argument: str, name: str, schema: pl.Schema, by: Sequence[str]) -> None:
    """Raise an error if a column that identifies a model does not exist, or is a group column."""
    of_models = argument == "between"
    if name not in schema:
        hint = (
            "In a long table, between= names the column of models. For models side by side, pass "
            'their score columns, such as score=["a", "b"].'
            if of_models
            else f"A reader study has one row per reading. Pass the column {argument}=."
        )
        raise MissingColumnError.compose(argument, name, schema, hint=hint)
    if name in by:
        noun = "models" if of_models else "readings"
        problem = f"{noun} are compared within groups, so this column cannot be a group column"
        raise OptionValueError.compose(argument, name, problem, f"Remove {name!r} from by=.")


def model_names(*models: object) -> str:
    """Return the names of one or two models, or of the readings of a reader with a modality."""
    if isinstance(models[0], dict):
        return " and ".join(
            f"reader {each['reader']!r} with modality {each['modality']!r}"  # type: ignore[index]
            for each in models
        )
    names = " and ".join(map(repr, models))
    return f"model{'s' if len(models) > 1 else ''} {names}"


def _check_side_by_side(options: PairingOptions, models: Sequence[str]) -> None:
    """Raise an error for options that do not apply if each model has a score column."""
    if options.readings:
        problem = "a reader study has one score column, with one row per reading"
        hint = "Put the readings of all readers into one column with .unpivot() first."
        raise OptionValueError.compose("score", list(models), problem, hint)
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
    parts: Sequence[Mapping[str, Any]],
    schema: Mapping[str, pl.DataType],
    *,
    keys: pl.DataFrame,
    models: pl.Series | Mapping[str, pl.Series],
    order: Sequence[str],
    constants: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Concatenate the columns of all parts to a table, sorted by group and the columns in `order`.

    `group` of a part contains row numbers of `keys`, and the columns of models positions in
    `models`, or in the Series that it has for each of these columns; -1 is null.
    """
    if isinstance(models, pl.Series):
        models = dict.fromkeys((MODEL, "model_a", "model_b"), models)
    if not parts:
        return build_table(keys[:0], {}, schema)
    columns: dict[str, Any] = {
        name: np.concatenate([np.broadcast_to(part[name], part["group"].shape) for part in parts])
        for name in parts[0]
    }
    rows = np.lexsort([columns[name] for name in ("group", *order)][::-1])
    for name, values in columns.items():
        columns[name] = values[rows].tolist() if values.dtype == object else values[rows]
        if name in models:
            columns[name] = models[name].gather(pl.Series(columns[name]).replace(-1, None))
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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instances:
    """The predictions of several models; element `i` of each array belongs to instance `i`.

    `score`, `state` and `present` (whether there is a row) have an array for each sorted model.
    """

    models: pl.Series
    groups: RowGroups
    negative: NDArray[np.bool_]
    score: list[NDArray[Any]]
    state: NDArray[np.uint8]
    present: NDArray[np.bool_]
    count: NDArray[np.int64] | None
    weight: NDArray[np.float64] | None
    cluster: NDArray[np.uint32] | None

    @property
    def used(self) -> NDArray[np.bool_]:
        """Whether each model has a row for each instance, and the row was not left out."""
        return self.present & (self.state <= RowState.UNSCORED)

    @property
    def keys(self) -> pl.DataFrame:
        """The sorted keys of all groups."""
        return self.groups.keys

    @property
    def group(self) -> NDArray[np.int64]:
        """The number of the group of each instance."""
        return self.groups.number

    def decisions(self, given: NDArray[np.float64]) -> Instances:
        """Replace scores by decisions: 1 at or above the threshold of the model and group."""
        group = self.group
        score = [
            threshold_decisions(score, thresholds, group)
            for score, thresholds in zip(self.score, given, strict=True)
        ]
        return replace(self, score=score)


def threshold_decisions(
    score: NDArray[Any], thresholds: NDArray[np.float64], group: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return 1 for scores at or above the threshold of their group, and 0 for others."""
    limits = round_thresholds(thresholds, score.dtype)[group]
    decisions: NDArray[np.float64] = (score >= limits).astype(np.float64)
    return decisions


Thresholds: TypeAlias = "float | Mapping[Any, float] | pl.DataFrame | None"
ParsedThresholds: TypeAlias = "float | Mapping[Any, float] | PointTable | None"


def parse_model_thresholds(threshold: object, between: object) -> ParsedThresholds:
    """Return the option `threshold` after a check, with numbers as floats."""
    hint = 'Use, for example, threshold={"a": 0.5, "b": 0.3}, or a DataFrame of operating_point.'

    def parse(value: object) -> float:
        number = None if isinstance(value, bool) else to_float(value)
        if number is None or isnan(number):
            problem = "expected one number for each model"
            raise OptionValueError.compose(THRESHOLD, value, problem, hint)
        return number

    if isinstance(threshold, pl.DataFrame):
        return PointTable.parse(THRESHOLD, threshold, hint).of_models([str(between)])
    if isinstance(threshold, Mapping):
        return {model: parse(value) for model, value in threshold.items()}
    return None if threshold is None else parse(threshold)


def model_thresholds(
    threshold: ParsedThresholds, models: pl.Series, keys: pl.DataFrame, columns: PairingColumns
) -> NDArray[np.float64]:
    """Return the threshold of each model (rows) and group (columns), or NaN if there is none."""
    if isinstance(threshold, PointTable):
        return _table_thresholds(threshold, models, keys, columns)
    values = np.full((len(models), keys.height), np.nan)
    if not isinstance(threshold, Mapping):
        values[:] = threshold
        return values
    for i, model in enumerate(models):
        if model not in threshold:
            problem = f"model {model!r} has no threshold"
            hint = "Add a threshold, or remove the rows of this model with .filter()."
            raise OptionValueError.compose(THRESHOLD, dict(threshold), problem, hint)
        values[i] = threshold[model]
    return values


def _table_thresholds(
    points: PointTable, models: pl.Series, keys: pl.DataFrame, columns: PairingColumns
) -> NDArray[np.float64]:
    """Return the thresholds in a table with a row per model, per group, or per both."""
    between = columns.options.between
    names = {between: MODEL} if between in points.rows.columns else {}
    names |= {name: str(i) for i, name in enumerate(columns.bound.by) if name in points.by}
    dtypes = {**columns.bound.keys, between: columns.model}
    check_keys(THRESHOLD, points.rows.schema, dtypes, names)
    points.check_single([*names], ", or add other group columns of the table to by=")
    shape = keys.height, len(models)
    values = points.rows.get_column(THRESHOLD).cast(pl.Float64)
    if names:
        found = points.rows.select(column(name).alias(key) for name, key in names.items())
        group, model = (index.ravel() for index in np.indices(shape))
        rows = take_rows(keys, group).with_columns(models[model].alias(MODEL))
        values = values.gather(find_keys(rows.select(found.columns), found))
    else:
        values = values.extend_constant(None, 1 - len(values)).new_from_index(
            0, shape[0] * shape[1]
        )
    return values.fill_null(np.nan).to_numpy().reshape(shape).T.copy()


def read_instances(frame: pl.DataFrame, pairing: PairingColumns) -> Instances:
    """Read the models of a collected frame, and match their rows by instance."""
    models, cases = _read_checked_cases(frame, pairing)
    first = cases[0]
    if pairing.between is not None:
        return _read_long(frame, first, pairing)
    used = np.full(len(first.score), RowState.USED, np.uint8)
    return Instances(
        models=models,
        groups=RowGroups.from_keys(first.keys, len(used)),
        negative=first.negative,
        score=[model.score for model in cases],
        state=np.array([used if model.state is None else model.state for model in cases]),
        present=np.ones((len(models), len(used)), bool),
        count=first.count,
        weight=first.weight,
        cluster=first.cluster,
    )


def _read_checked_cases(
    frame: pl.DataFrame, pairing: PairingColumns
) -> tuple[pl.Series, list[Cases]]:
    """Return the sorted names of the score columns, and the checked rows of each column."""
    row_model = None if pairing.between is None else frame.get_column(pairing.between)
    columns = list(read_cases(frame, pairing.bound, row_model=row_model))
    if pairing.options.probabilities:
        for cases in columns:
            check_probabilities(cases, "Brier scores and logarithmic losses need probabilities.")
    columns.sort(key=lambda cases: str(cases.model))
    return pl.Series("model", [cases.model for cases in columns], pl.String), columns


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnpairedModels:
    """The rows (`cases`) of sorted models without pairing, and the sorted keys of all groups."""

    models: pl.Series
    cases: list[Cases]
    keys: pl.DataFrame

    def with_rest(self) -> UnpairedModels:
        """Append, for each model, the rows of all other models; the name of this model is null."""
        if len(self.cases) < 2:
            return replace(self, models=self.models[:0], cases=[])
        rest = [
            _concat_cases(self.cases[:model] + self.cases[model + 1 :])
            for model in range(len(self.cases))
        ]
        names = pl.Series([None] * len(rest), dtype=self.models.dtype)
        return replace(self, models=pl.concat([self.models, names]), cases=[*self.cases, *rest])

    def decisions(self, given: NDArray[np.float64]) -> UnpairedModels:
        """Replace scores by decisions: 1 at or above the threshold of the model and group."""
        cases = [
            replace(
                case,
                score=threshold_decisions(
                    case.score, thresholds, find_keys(case.keys, self.keys).to_numpy()
                ),
            )
            for case, thresholds in zip(self.cases, given, strict=True)
        ]
        return replace(self, cases=cases)


def _concat_cases(parts: Sequence[Cases]) -> Cases:
    """Return the rows of several samples as one sample."""
    names = ("negative", "score", "state", "count", "weight", "cluster")
    arrays = {name: [getattr(part, name) for part in parts] for name in names}
    joined: dict[str, Any] = {
        name: None if values[0] is None else np.concatenate(values)
        for name, values in arrays.items()
    }
    return replace(parts[0], keys=pl.concat([part.keys for part in parts]), **joined)


def read_models(frame: pl.DataFrame, pairing: PairingColumns) -> UnpairedModels:
    """Read the rows of each model of a collected frame without pairing."""
    models, cases = _read_checked_cases(frame, pairing)
    keys = cases[0].keys
    if pairing.between is not None:
        models, rows = _rows_of_models(frame.get_column(pairing.between))
        cases = [_take_cases(cases[0], model_rows) for model_rows in rows]
        _check_independent(cases, pairing)
    if pairing.pooled is not None and (n := frame.get_column(pairing.pooled).n_unique()) > 1:
        problem = f"the rows of {n} models (column 'model') would be combined"
        hint = 'Pass by="model", or select the rows of one model with .filter() first.'
        raise OptionValueError.compose("between", pairing.options.between, problem, hint)
    keys = keys.unique().sort(keys.columns) if keys.width else pl.DataFrame(height=1)
    return UnpairedModels(models=models, cases=cases, keys=keys)


MIN_REPEATED_ROWS = 8  # labels of fewer rows can be equal by chance


def _check_independent(cases: Sequence[Cases], pairing: PairingColumns) -> None:
    """Raise an error if samples have common clusters or, unless the test is named, equal labels."""
    options = pairing.options
    if cases and cases[0].cluster is not None:
        # Clusters are separate in each group.
        parts = [
            part.keys.with_columns(cluster=pl.Series(part.cluster), model=pl.lit(i))
            for i, part in enumerate(cases)
        ]
        names = [name for name in parts[0].columns if name != "model"]
        models_of = pl.concat(parts).group_by(names).agg(pl.col("model").n_unique())
        n_common = int((models_of.get_column("model") > 1).sum())
        if n_common:
            problem = (
                f"{format_count(n_common, 'cluster')} have rows of several values of "
                f"{options.between!r}, so the samples are not independent"
            )
            hint = "Use clusters within one value, or leave out cluster= if its effect is small."
            raise OptionValueError.compose("cluster", options.roles.cluster, problem, hint)
    labels = [part.negative for part in cases]
    if (
        options.default_unpaired
        and len(labels) > 1
        and len(labels[0]) >= MIN_REPEATED_ROWS
        and all(np.array_equal(labels[0], others) for others in labels[1:])
    ):
        problem = (
            f"all values of {options.between!r} have the same labels in the same order, so they "
            "seem to be models that scored the same rows"
        )
        hint = (
            'Pass the column that identifies the rows, such as id="id". If the rows differ, use '
            'method="bootstrap_unpaired", or the method of the metric for different rows.'
        )
        raise PairingError.compose("id", options.id, problem, hint)


def _take_cases(cases: Cases, rows: NDArray[np.int64]) -> Cases:
    names = ("negative", "score", "state", "count", "weight", "cluster")
    arrays: dict[str, Any] = {name: getattr(cases, name) for name in names}
    taken = {name: values[rows] for name, values in arrays.items() if values is not None}
    return replace(cases, keys=take_rows(cases.keys, rows), **taken)


def _read_long(frame: pl.DataFrame, cases: Cases, pairing: PairingColumns) -> Instances:
    """Read a table with one row per instance and model; group and `id` identify an instance."""
    assert pairing.between is not None
    models, rows = _rows_of_models(frame.get_column(pairing.between))
    n_keys = cases.keys.width
    ids = [frame.get_column(name).alias(str(n_keys + i)) for i, name in enumerate(pairing.ids)]
    _check_ids(ids, pairing.options)
    named = pl.DataFrame([*cases.keys, *ids])
    instances, row_of = _match_instances(named, models, rows, pairing.options)
    present, row_of = row_of >= 0, np.maximum(row_of, 0)
    used = np.full(len(cases.score), RowState.USED, np.uint8)
    state = (used if cases.state is None else cases.state)[row_of]
    scored = present & (state <= RowState.UNSCORED)
    weighted = present & (state != RowState.LEFT_OUT)  # also True for rows of weight 0

    def common(
        argument: str, values: NDArray[Any] | None, known: NDArray[np.bool_]
    ) -> NDArray[Any] | None:
        """Return the value of each instance; raise an error if models have different values."""
        if values is None or not len(models):
            return values
        first = known.argmax(axis=0)
        result: NDArray[Any] = values[row_of[first, np.arange(row_of.shape[1])]]
        for i, model in enumerate(models):
            different = np.flatnonzero(known[i] & (values[row_of[i]] != result))
            if len(different):
                raise PairingError.compose(
                    "id",
                    pairing.options.id,
                    f"{model_names(model, models[int(first[different[0]])])} have different "
                    f"values of {argument} in {format_count(len(different), 'row')} with the same "
                    "id",
                    f"An id identifies one instance with one {argument}. Use an id that is "
                    "different for different instances.",
                )
        return result

    negative = common("label", cases.negative, scored)
    assert negative is not None
    return Instances(
        models=models,
        groups=RowGroups.from_keys(select_keys(instances, cases.keys.columns), len(negative)),
        negative=negative,
        score=[cases.score[model_rows] for model_rows in row_of],
        state=state,
        present=present,
        count=None,
        weight=common("weight", cases.weight, weighted),
        cluster=common("cluster", cases.cluster, scored),
    )


def _rows_of_models(model: pl.Series) -> tuple[pl.Series, list[NDArray[np.int64]]]:
    """Return the sorted models, and the rows of each model."""
    # Usually, consecutive rows belong to the same model, so grouping ranges of rows is faster than
    # grouping single rows.
    changes = model.ne_missing(model.shift()).to_numpy()
    changes[:1] = True
    starts = np.flatnonzero(changes)
    ranges = (
        pl.DataFrame({"model": model[starts], "start": starts})
        .with_columns(end=np.append(starts, len(model))[1:])
        .group_by("model", maintain_order=True)
        .agg("start", "end")
        .sort("model")
    )
    rows = []
    for row_range in ranges.select("start", "end").iter_slices(1):
        start, end = (ends.explode(empty_as_null=False).to_numpy() for ends in row_range)
        before = np.append(0, np.cumsum(end - start)[:-1])
        rows.append(np.repeat(start - before, end - start) + np.arange((end - start).sum()))
    return ranges.get_column("model"), rows


def _check_ids(ids: Sequence[pl.Series], options: PairingOptions) -> None:
    for values, source in zip(ids, options.id_columns, strict=True):
        if values.null_count():
            problem = (
                f"the id is null in {format_count(values.null_count(), 'row')}, which cannot be "
                "paired"
            )
            hint = "Remove these rows with .filter() first."
            raise PairingError.compose("id", source, problem, hint)


def _match_instances(
    named: pl.DataFrame, models: pl.Series, rows: list[NDArray[np.int64]], options: PairingOptions
) -> tuple[pl.DataFrame, NDArray[np.int64]]:
    """Return the instances, and the row of each model for each instance; -1 if there is none."""
    n_ids = len(options.id_columns)
    parts = [named[model_rows] for model_rows in rows]
    # If all models have the same instances in the same order, no join is needed.
    aligned = all(part.equals(parts[0]) for part in parts[1:])
    for model, part in zip(models, parts[:1] if aligned else parts, strict=not aligned):
        repeated = part.is_duplicated()
        if repeated.any():
            key = part.filter(repeated).row(0)[-n_ids:]
            example = repr(key[0] if n_ids == 1 else key)
            raise PairingError.compose(
                "id",
                options.id,
                f"{model_names(model)} has {format_count(int(repeated.sum()), 'row')} whose id "
                f"occurs more than once in a group, such as the id {example}",
                "An id may occur only once per model and group. Add the column that distinguishes "
                "these rows to id= or by=.",
            )
    if aligned:
        return (parts[0], np.array(rows)) if parts else (named, np.zeros((0, 0), np.int64))
    instances, numbers = number_distinct_rows(named)
    instance = numbers.to_numpy()
    row_of = np.full((len(rows), instances.height), -1)
    for model_rows, model_row_of in zip(rows, row_of, strict=True):
        model_row_of[instance[model_rows]] = model_rows
    return instances, row_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ModelBatch:
    """Models that scored the same instances in some groups.

    The instances of group `i` are `rows[starts[i]:starts[i + 1]]`; the negatives start at
    `middle[i]`. `unmatched` counts the rows that are left out because another model has no such
    row.
    """

    instances: Instances
    models: tuple[int, ...]
    groups: NDArray[np.int64]
    rows: NDArray[np.int64]
    starts: NDArray[np.int64]
    middle: NDArray[np.int64]
    unmatched: NDArray[np.int64]

    @property
    def group(self) -> NDArray[np.int64]:
        """The position in `groups` of the group of each row."""
        return np.repeat(np.arange(len(self.groups)), np.diff(self.starts))

    @property
    def segment(self) -> NDArray[np.int64]:
        """The first row of the positives, and of the negatives, of each group."""
        return np.column_stack([self.starts[:-1], self.middle]).ravel()

    @property
    def negative(self) -> NDArray[np.bool_]:
        """Whether each row is negative."""
        return self.instances.negative[self.rows]

    @property
    def count(self) -> NDArray[np.int64]:
        """The number of identical rows that each row represents."""
        if self.instances.count is None:
            return np.ones(len(self.rows), np.int64)
        return self.instances.count[self.rows]

    @property
    def weight(self) -> NDArray[np.float64] | None:
        """The weights of the rows, scaled in each group; None if rows have no weights."""
        if self.instances.weight is None:
            return None
        return scale_by_groups(self.instances.weight[self.rows], self.starts)

    @property
    def weight_unit(self) -> NDArray[np.float64] | None:
        """The divisor of the weights of each group in `weight`; None if rows have no weights."""
        if self.instances.weight is None or self.weight is None:
            return None
        sums = [
            np.bincount(self.group, values, len(self.groups))
            for values in (self.instances.weight[self.rows], self.weight)
        ]
        return np.divide(sums[0], sums[1], out=np.ones(len(self.groups)), where=sums[1] > 0)

    @property
    def clusters(self) -> Clusters | None:
        """The clusters of the rows; None if rows have no clusters."""
        if self.instances.cluster is None:
            return None
        position, cluster = np.arange(len(self.rows)), self.instances.cluster[self.rows]
        return Clusters.from_rows(self.group, cluster, self.negative, position, len(self.groups))

    def class_sums(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the sums over the positives (row 0) and negatives (row 1) of each group."""
        ones = np.ones(len(values), np.int64)
        return segment_sums(values, ones, self.segment).reshape(-1, 2).T

    def scans(self) -> Iterator[Scan]:
        """Yield the scan of each model; each has the rows of the batch in the same order."""
        instances, rows = self.instances, self.rows
        keys = pl.DataFrame(height=len(self.groups))
        groups = RowGroups(keys=keys, starts=self.starts, order=rows)
        negative, weight = self.negative, self.weight
        count = None if instances.count is None else self.count
        for model in self.models:
            state = instances.state[model][rows]
            cases = Cases(
                model=None,
                keys=keys,
                negative=negative,
                score=instances.score[model][rows],
                state=state if (state != RowState.USED).any() else None,
                count=count,
                weight=weight,
            )
            yield Scan.from_rows(sort_grouped_rows(cases, groups))

    def decision_counts(
        self, a: NDArray[np.bool_], b: NDArray[np.bool_], values: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return sums of `values` by group, class and decisions: alerts by both, a, b, or none.

        The axes are the group, the class (positives first) and the four pairs of decisions.
        """
        cell = 4 * (2 * self.group + self.negative) + 2 * ~a + ~b
        sums = np.bincount(cell, values, 8 * len(self.groups))
        return sums.reshape(-1, 2, 4).astype(np.float64)

    def in_rank_order(self) -> ModelBatch:
        """Sort the rows of each class by rank, so that results do not depend on the input order."""
        table = self._distinct_columns()
        order = table.select(pl.arg_sort_by(table.columns, maintain_order=True)).to_series()
        return replace(self, rows=self.rows[order.cast(pl.Int64).to_numpy()])

    def merge_identical_rows(self) -> ModelBatch:
        """Merge identical rows without clusters into counted rows, and sort the rows by rank."""
        batch = self.in_rank_order()
        if self.instances.cluster is not None or not len(self.rows):
            return batch
        table = batch._distinct_columns().drop("count", strict=False)
        changes = table.select(pl.any_horizontal(pl.all().ne_missing(pl.all().shift()))).to_series()
        first = changes.to_numpy().copy()
        first[0] = True
        first_rows = np.flatnonzero(first)
        count = np.zeros(len(self.instances.negative), np.int64)
        count[batch.rows[first_rows]] = np.add.reduceat(batch.count, first_rows)
        before = np.append(0, np.cumsum(first))
        return replace(
            batch,
            instances=replace(self.instances, count=count),
            rows=batch.rows[first_rows],
            starts=before[self.starts],
            middle=before[self.middle],
        )

    def _distinct_columns(self) -> pl.DataFrame:
        """Return the columns that identical rows share: group, class, ranks, weight and count."""
        table: dict[str, NDArray[Any]] = {"group": self.group, "negative": self.negative}
        for i, scan in enumerate(self.scans()):
            table[str(i)] = doubled_ranks(scan)
        if self.instances.weight is not None:
            table["weight"] = self.instances.weight[self.rows]
        if self.instances.count is not None:
            table["count"] = self.count
        return pl.DataFrame(table)


def model_batches(
    instances: Instances, options: PairingOptions, *, all_models: bool = False
) -> Iterator[ModelBatch]:
    """Yield batches of models and groups: each pair of models of a group is in one batch.

    With `all_models`, a batch has all models of its groups, and the instances that all of them
    scored.
    """
    # From here on, instances are sorted by group, with the positives first.
    groups = instances.groups
    group = np.repeat(np.arange(len(groups.starts) - 1), np.diff(groups.starts))
    order = groups.order
    by_class = np.argsort(2 * group + instances.negative[order], kind="stable")
    group, order = group[by_class], order[by_class]
    present, used = instances.present[:, order], instances.used[:, order]
    in_group = _present_in_groups(present, groups.starts)
    if not len(order):  # a score column is a model, even if the table has no rows
        in_group[:] = True
    if options.unmatched == "raise":
        _check_unmatched(instances, in_group[:, group] & ~present, options)

    def batch(models: tuple[int, ...], selected: NDArray[np.bool_]) -> ModelBatch:
        numbers = np.flatnonzero(selected)
        in_selected = selected[group]
        matched = in_selected & used[list(models)].all(axis=0)
        position = (np.cumsum(selected) - 1)[group[matched]]
        rows = order[matched]
        starts = np.append(0, np.cumsum(np.bincount(position, minlength=len(numbers))))
        n_pos = np.bincount(position[~instances.negative[rows]], minlength=len(numbers))
        left_out = (used[list(models)] & in_selected & ~matched).sum(axis=0)
        return ModelBatch(
            instances=instances,
            models=models,
            groups=numbers,
            rows=rows,
            starts=starts,
            middle=starts[:-1] + n_pos,
            unmatched=np.bincount(group, left_out, len(selected)).astype(np.int64)[numbers],
        )

    # Groups in which an instance lacks the score of a model are compared pair by pair.
    incomplete = np.zeros(in_group.shape[1], bool)
    if not all_models:
        n_used = used.sum(axis=0)
        partly = (n_used > 0) & (n_used < in_group.sum(axis=0)[group])
        np.logical_or.at(incomplete, group, partly)
    for pattern in np.unique(in_group[:, ~incomplete], axis=1).T:
        models = tuple(np.flatnonzero(pattern).tolist())
        if models:
            yield batch(models, ~incomplete & (in_group == pattern[:, None]).all(axis=0))
    if incomplete.any():
        for pair in combinations(range(len(in_group)), 2):
            selected = incomplete & in_group[list(pair)].all(axis=0)
            if selected.any():
                yield batch(pair, selected)


def _present_in_groups(present: NDArray[np.bool_], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether each model has at least one row in each group."""
    cumulative = np.zeros((len(present), present.shape[1] + 1), np.int64)
    np.cumsum(present, axis=1, out=cumulative[:, 1:])
    return cumulative[:, starts[1:]] > cumulative[:, starts[:-1]]


def _check_unmatched(
    instances: Instances, absent: NDArray[np.bool_], options: PairingOptions
) -> None:
    """Raise an error if a model of a group has no row for an instance of the group."""
    n_absent = absent.sum(axis=1)
    if not n_absent.any():
        return
    model = int(n_absent.argmax())
    noun = "reader" if options.readings else "model"
    raise PairingError.compose(
        "id",
        options.id,
        f"{model_names(instances.models[model])} lacks "
        f"{format_count(int(n_absent[model]), 'row')} that other {noun}s have",
        f'Pass unmatched="drop" to leave out instances that a {noun} lacks; the result then states '
        "how many rows are left out. Or add the missing rows.",
    )


def segment_sums(
    weight: NDArray[Any], value: NDArray[Any], segment: NDArray[np.int64]
) -> NDArray[Any]:
    """Return the sums of `weight * value` over the rows of each segment; 0 for empty segments."""
    if value.dtype.kind != "f" and len(value) and value.min() < 0:
        positive = segment_sums(weight, np.maximum(value, 0), segment)
        positive -= segment_sums(weight, np.maximum(-value, 0), segment)
        return positive
    filled = np.diff(np.append(segment, len(value))) > 0
    if not filled.any():
        return np.zeros(len(segment), np.result_type(weight, value))
    totals = exact_sums(weight, value, segment[filled])
    result = np.zeros(len(segment), totals.dtype)
    result[filled] = totals
    return result
