"""Convert collected predictions to arrays, check their values, and mark rows without a score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl

from rocframe.errors import LabelError, MassError, MissingValuesError, OptionValueError, ScoreError
from rocframe.frames import (
    collect_unsplit,
    fill_nulls,
    lazy_plan,
    number_distinct_rows,
    select_keys,
    through_node,
)
from rocframe.inputs.roles import bind_roles, check_cells, positive_literal
from rocframe.options import MAX_INTEGER
from rocframe.schemas.table_type import MODEL, TOTAL, cast_scores, with_scores
from rocframe.text import format_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.inputs.roles import BoundRoles, Roles

MAX_TOTAL_WEIGHT = 1e150  # the square of this sum of weights is finite in Float64
MAX_TOTAL_COUNT = 2.0**62  # twice this sum of counts does not exceed Int64


class RowState(IntEnum):
    """The possible values of `Cases.state`: how a row is used."""

    USED = 0
    UNSCORED = 1  # the row has no score, and `missing="worst"`
    ABSENT = 2  # the weight or count of the row is 0
    LEFT_OUT = 3  # the row has missing values


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cases:
    """The predictions of one model: arrays with one element per row, in the order of the frame.

    `state` has values of `RowState`, or is None if all rows are used. `model` is the name of the
    model if several scores are given, `score_name` that of its column. `by` are the names of the
    columns of `keys` in the frame. `cluster` has the number of the cluster of each row, in sorted
    order.
    """

    model: str | None
    keys: pl.DataFrame
    negative: NDArray[np.bool_]
    score: NDArray[np.float64] | NDArray[np.float32]
    state: NDArray[np.uint8] | None
    count: NDArray[np.int64] | None
    weight: NDArray[np.float64] | None
    cluster: NDArray[np.uint32] | None = None
    score_name: str = "score"
    by: tuple[str, ...] = ()

    def without_keys(self, keys: Sequence[str]) -> Cases:
        """Return the cases with fewer key columns, so that groups are combined."""
        kept = {
            key: by for key, by in zip(self.keys.columns, self.by, strict=True) if key not in keys
        }
        return replace(self, keys=select_keys(self.keys, [*kept]), by=tuple(kept.values()))


def read_cases(
    frame: pl.DataFrame, bound: BoundRoles, *, compared: int = 0, row_model: pl.Series | None = None
) -> Iterator[Cases]:
    """Check the values of a collected frame, and yield the `Cases` of each model.

    Groups that differ only in the last `compared` group columns must have scores of the same
    resolution. `row_model` is the model of each row of a long table of compared models, or None.
    """
    columns = {role: frame.get_column(name) for role, name in bound.private.items()}
    keys = select_keys(frame, bound.by)
    keys.columns = [str(i) for i in range(keys.width)]
    positive = _positive_rows(columns, bound, frame.height)
    count = _weights(columns, "count", bound)
    weight = _weights(columns, "weight", bound)
    benefit = _weights_of_class(columns, "benefit", positive, bound)
    cost = _weights_of_class(columns, "cost", ~positive, bound)
    for class_weight in (benefit, cost):
        if class_weight is not None:
            weight = class_weight if weight is None else weight * class_weight
    if weight is not None and count is not None and not (weight * count).sum() <= MAX_TOTAL_WEIGHT:
        argument = next(name for name in ("weight", "benefit", "cost") if name in columns)
        raise MassError.overflow(
            argument, bound.names[argument], f"{MAX_TOTAL_WEIGHT:g}", counted=True
        )
    worst = bound.roles.missing == "worst"

    cluster = columns.get("cluster")
    if cluster is not None and cluster.dtype.is_float():
        cluster = cluster.fill_nan(None)
    required = {
        "label": positive,
        "benefit": benefit,
        "cost": cost,
        "weight": weight,
        "count": count,
        "cluster": cluster,
    }
    incomplete = _incomplete_rows(required, frame, bound)
    absent = pl.Series([False]).new_from_index(0, frame.height)
    for weights in (weight, count):
        if weights is not None:
            absent |= (weights == 0).fill_null(False)
    negative = ~fill_nulls(positive, False).to_numpy()

    scores = [role for role in columns if role.startswith("score ")]
    together = {*bound.by[len(bound.by) - compared :], *bound.roles.total_over}
    separate = [i for i, name in enumerate(bound.by) if name not in together]
    check_cells(
        keys[:, separate],
        [columns[role] for role in scores],
        columns.get("width"),
        [bound.by[i] for i in separate],
        compared=len(together) > 0 or row_model is not None,
        model=row_model,
    )
    for model, role in zip(bound.models or [None], scores, strict=True):
        score = scores_as_floats(columns[role], bound.names[role])
        state = None
        if score.null_count() and bound.roles.missing == "raise":
            raise _missing("score", role, score.is_null(), frame, bound)
        if score.null_count() or incomplete.any() or absent.any():
            state = (
                pl.select(
                    pl.when(absent)
                    .then(RowState.ABSENT.value)
                    .when(incomplete)
                    .then(RowState.LEFT_OUT.value)
                    .when(score.is_null())
                    .then(RowState.UNSCORED.value if worst else RowState.LEFT_OUT.value)
                    .otherwise(RowState.USED.value)
                    .cast(pl.UInt8)
                )
                .to_series()
                .to_numpy()
            )
        yield Cases(
            model=model,
            score_name=bound.names[role],
            by=tuple(bound.by),
            keys=keys,
            negative=negative,
            score=fill_nulls(score, 0).to_numpy(),
            state=state,
            # A row with a missing count is left out, and is counted as one missing row.
            count=None if count is None else fill_nulls(count, 1).to_numpy(),
            weight=None if weight is None else fill_nulls(weight, 0).to_numpy(),
            cluster=None
            if cluster is None
            else number_distinct_rows(cluster.to_frame())[1].to_numpy(),
        )


def _positive_rows(columns: Mapping[str, pl.Series], bound: BoundRoles, height: int) -> pl.Series:
    """Return whether each row is positive; null without a label, and True if no label is read."""
    if "label" not in columns:
        return pl.Series([True]).new_from_index(0, height)
    return is_positive(
        columns["label"], bound.positive, bound.names["label"], bound.roles.several_classes
    )


def _incomplete_rows(
    required: Mapping[str, pl.Series | None], frame: pl.DataFrame, bound: BoundRoles
) -> pl.Series:
    """Return whether each row lacks a required value; raise an error unless `missing` is "drop"."""
    incomplete = pl.Series([False]).new_from_index(0, frame.height)
    for role, values in required.items():
        if values is not None and values.null_count():
            if bound.roles.missing != "drop":
                raise _missing(role, role, values.is_null(), frame, bound)
            incomplete |= values.is_null()
    return incomplete


def is_positive(
    label: pl.Series, positive: object, name: str, several_classes: str = ""
) -> pl.Series:
    """Return whether each label is the positive class; null for missing labels."""
    if label.dtype.is_float():
        label = label.fill_nan(None)
    if label.dtype == pl.Boolean:
        return label if positive is None or positive else ~label
    binary = label.dtype.is_numeric() and bool(((label == 0) | (label == 1)).all())
    if positive is None:
        if not binary:
            raise LabelError.unknown_positive(
                name,
                label.dtype,
                _unique_labels(label),
                _example_of_positive(label),
                several_classes,
            )
        return label == 1
    try:
        # polars compares a Categorical with a string in expressions, but not in Series.
        is_equal = pl.nth(0) == positive_literal(positive, label.dtype)
        result = label.to_frame().select(is_equal).to_series()
    except (
        OverflowError,
        pl.exceptions.InvalidOperationError,
    ):  # `positive` is outside the range of the dtype of the labels
        result = pl.select(pl.when(label.is_not_null()).then(False)).to_series()
    if not result.any() and label.null_count() < len(label):
        declared = (binary and positive in {0, 1}) or (
            isinstance(label.dtype, pl.Enum | pl.Categorical) and positive in label.dtype.categories
        )
        if not declared:
            raise LabelError.no_positive(positive, name, _unique_labels(label))
    return result


def _unique_labels(label: pl.Series) -> list[object]:
    return label.drop_nulls().unique().sort().to_list()


def _example_of_positive(label: pl.Series) -> object:
    """Return the largest number, such as 1 of -1 and 1, or else the rarest label.

    Of equally rare labels, it is the largest.
    """
    counts = label.drop_nulls().rename("label").value_counts(name="rows")
    if counts.is_empty():
        return "yes"
    if label.dtype.is_numeric():
        return label.max()
    return counts.sort("rows", "label", descending=[False, True]).item(0, "label")


def scores_as_floats(score: pl.Series, name: str) -> pl.Series:
    """Return the scores as floats, with null for NaN; raise an error if a score would change."""
    dtype = score.dtype
    if dtype in {pl.Float32, pl.Float64}:
        as_float = score
    elif dtype == pl.Float16:
        as_float = score.cast(pl.Float32)
    else:
        as_float = score.cast(pl.Float64)
        is_exact = dtype == pl.Boolean or (dtype.is_integer() and _is_exact_in_float64(score))
        if not is_exact:
            back = as_float.cast(dtype, strict=False)
            changed = (back.is_null() & score.is_not_null()) | (back != score).fill_null(False)
            if changed.any():
                raise ScoreError.inexact(name, dtype, score.filter(changed)[0])
    # numpy's minimum is NaN if any value is NaN, and is faster than `is_nan().any()`.
    if len(as_float) and np.isnan(fill_nulls(as_float, 0).to_numpy().min()):
        return as_float.fill_nan(None)
    return as_float


def _is_exact_in_float64(score: pl.Series) -> bool:
    """Return whether all integers of a column are small enough for an exact Float64."""
    ends = (cast("int | None", score.min()), cast("int | None", score.max()))
    return all(end is None or abs(int(end)) <= MAX_INTEGER for end in ends)


def _weights(columns: dict[str, pl.Series], role: str, bound: BoundRoles) -> pl.Series | None:
    """Return the column of a role as Float64, or as Int64 for counts; missing values are null."""
    if role not in columns:
        return None
    name = bound.names[role]
    column = columns[role]
    values = column.cast(pl.Int64 if role == "count" else pl.Float64, strict=False)
    if values.dtype == pl.Float64:
        values = values.fill_nan(None)
        n_infinite = int(values.is_infinite().sum())
        if n_infinite:
            raise MassError.compose(role, name, "infinite", n_infinite)
    if values.null_count() > column.null_count() and role == "count":
        raise MassError.overflow(role, name, "the maximum of Int64")
    n_negative = int((values < 0).sum())
    if n_negative and role in {"benefit", "cost"}:
        raise MassError.not_monotone(role, name, n_negative)
    if n_negative:
        raise MassError.compose(role, name, "negative", n_negative)
    total = values.cast(pl.Float64).sum()
    if role != "count" and not total <= MAX_TOTAL_WEIGHT:
        raise MassError.overflow(role, name, f"{MAX_TOTAL_WEIGHT:g}")
    if role == "count" and not total < MAX_TOTAL_COUNT:
        raise MassError.overflow(role, name, "half of the maximum of Int64")
    return values


def _weights_of_class(
    columns: dict[str, pl.Series], role: str, in_class: pl.Series, bound: BoundRoles
) -> pl.Series | None:
    """Return the benefits or costs of one class, and 1 for other rows, which have no effect."""
    if role not in columns:
        return None
    floats = columns[role].cast(pl.Float64, strict=False)
    values = pl.select(pl.when(in_class).then(floats).otherwise(1.0)).to_series()
    return _weights({role: values}, role, bound)


def _missing(
    argument: str, role: str, rows: pl.Series, frame: pl.DataFrame, bound: BoundRoles
) -> MissingValuesError:
    """Return the error for missing values in a column, which names the first affected group."""
    first = rows.arg_max()
    where = ""
    if bound.by and first is not None:
        by, places = bound.by, []
        if bound.reference_by is not None:
            by, is_reference = bound.by[:-1], bound.by[-1]
            if frame.get_column(is_reference)[first]:
                by, places = bound.reference_by, ["the reference"]
        if by:
            key = format_key(by, (frame.get_column(name)[first] for name in by))
            places.insert(0, f"group {key}")
        where = f", the first one in {' of '.join(places)}"
    return MissingValuesError.compose(
        argument,
        bound.names[role],
        int(rows.sum()),
        where,
        worst=bound.roles.missing == "worst",
        offers_worst=not bound.roles.needs_scores,
    )


def plan_table(
    predictions: pl.DataFrame | pl.LazyFrame,
    roles: Roles,
    compute: Callable[[Cases], pl.DataFrame],
    *,
    columns: Mapping[str, pl.DataType],
    more: Sequence[str] = (),
    over: int = 0,
    thresholds: pl.DataType | None = None,
    **options: Any,
) -> pl.LazyFrame:
    """Return the query plan that computes a table from predictions; see `plan_bound_table`.

    `more` are names of columns that the caller adds later, which group columns must not have.
    `thresholds` is the dtype of thresholds that are not scores.
    """

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        bound = bind_roles(plan, schema, roles, (*columns, *more), over=over)
        if thresholds is not None:
            bound = replace(bound, scores=thresholds)
        rows = plan.select(bound.inputs)
        return plan_bound_table(
            rows, bound, compute, columns=columns, over=over, is_eager=is_eager, **options
        )

    plan, is_eager = lazy_plan("predictions", predictions), isinstance(predictions, pl.DataFrame)
    if is_eager:
        return resolve(plan, predictions.schema)
    return plan.pipe_with_schema(resolve)


def plan_bound_table(
    rows: pl.LazyFrame,
    bound: BoundRoles,
    compute: Callable[[Cases], pl.DataFrame],
    *,
    columns: Mapping[str, pl.DataType],
    anchor: str,
    finish: Callable[[pl.DataFrame], pl.DataFrame] | None = None,
    over: int = 0,
    keep_over: int = 0,
    compare_over: bool = False,
    is_eager: bool = False,
) -> pl.LazyFrame:
    """Return the query plan that computes a table from rows with the columns of `bound.inputs`.

    `compute` returns the table of one model from its cases: the group columns, then `columns`.
    Columns of scores are then cast to the float dtype of the scores; the tables of all models are
    sorted by group. `anchor` is a column that is never null. `compute` combines groups that differ
    only in the last `over` group columns, of which the first `keep_over` are in the result; with
    `compare_over`, these groups must have scores of the same resolution. `finish` may combine
    values of several groups of the table of all models, so that polars must not filter groups
    before. With `is_eager`, for rows of a DataFrame, the table is computed by this call.
    """
    by, last = bound.by[: len(bound.by) - over], bound.by[len(bound.by) - over :]
    over_in_result, over_left_out = last[:keep_over], last[keep_over:]
    keys = {name: dtype for name, dtype in bound.result_keys.items() if name not in over_left_out}
    schema = keys | with_scores(dict(columns), bound.scores)

    def complete_table(frame: pl.DataFrame) -> pl.DataFrame:
        compared = over if compare_over else 0
        table = _compute_table(frame, bound, compute, len(over_left_out), compared)
        return cast_scores(table if finish is None else finish(table), schema)

    if is_eager:
        return complete_table(collect_unsplit(rows)).lazy()
    # A total has the rows of all its groups, so no filter may remove one of them before.
    total_over = bound.roles.total_over
    return through_node(
        rows,
        complete_table,
        schema=schema,
        by=[name for name in by if name not in total_over] if finish is None else (),
        anchor=anchor,
        compared=(*over_in_result, *total_over),
    )


def _compute_table(
    frame: pl.DataFrame,
    bound: BoundRoles,
    compute: Callable[[Cases], pl.DataFrame],
    n_left_out: int,
    compared: int,
) -> pl.DataFrame:
    """Return the table of all models, sorted, without the last `n_left_out` group columns."""
    names = {str(i): name for i, name in enumerate(bound.by[: len(bound.by) - n_left_out])}
    summed = [key for key, name in names.items() if name in bound.roles.total_over]

    def complete(cases: Cases) -> pl.DataFrame:
        table = compute(cases)
        if not summed:
            return table
        is_total, dtypes = pl.lit(False).alias(TOTAL), table.schema
        totals = compute(cases.without_keys(summed)).with_columns(
            ~is_total, *(pl.lit(None, dtypes[key]).alias(key) for key in summed)
        )
        table.insert_column(len(names), is_total)
        return pl.concat([table, totals.select(table.columns)])

    models = map(complete, read_cases(frame, bound, compared=compared))
    if bound.models is None:
        (result,) = models
    else:
        tables = sorted(zip(bound.models, models, strict=True))
        result = pl.concat(
            table.insert_column(len(names), pl.lit(model).alias(MODEL)) for model, table in tables
        )
    order = list(names)
    if summed:  # totals are below the groups that they contain
        order.insert(order.index(summed[0]), TOTAL)
    if order and (summed or bound.models is not None):
        # The tables are concatenated in the order of models, which a stable sort preserves.
        result = result.sort(order, maintain_order=True)
    return result.rename(names) if names else result


CONVERT_SCORES = (
    "fit_calibration converts scores to probabilities. ROC functions such as curve and auc accept "
    "any real score."
)


def check_probabilities(
    cases: Cases, reason: str = "Calibration needs probabilities.", remedy: str = CONVERT_SCORES
) -> None:
    """Raise an error if a score is outside [0, 1]; `reason` and `remedy` are the hint."""
    used = None if cases.state is None else np.flatnonzero(cases.state == RowState.USED)

    def group(row: int) -> str:
        key = cases.keys.row(row if used is None else int(used[row]))
        return f"group {format_key(cases.by, key)}"

    score = cases.score if used is None else cases.score[used]
    check_range(score, cases.score_name, f"{reason} {remedy}", group if cases.by else None)


def check_range(
    score: NDArray[Any], name: str, hint: str, group: Callable[[int], str] | None = None
) -> None:
    """Raise an error if a score is outside [0, 1]; `group` returns the group of a row as text."""
    problem = outside_unit_problem(score, group)
    if problem is not None:
        raise ScoreError.no_probability(f"score={name!r}", problem, hint)


def outside_unit_problem(
    score: NDArray[Any], group: Callable[[int], str] | None = None
) -> str | None:
    """Return how many scores are outside [0, 1], and their range; None if all are in [0, 1].

    `group` returns the group of a score as text, from the position of the score.
    """
    outside = np.flatnonzero((score < 0) | (score > 1))
    if not len(outside):
        return None
    low, high = np.fmin.reduce(score), np.fmax.reduce(score)
    where = f", the first one in {group(int(outside[0]))}" if group else ""
    verb = "is" if len(outside) == 1 else "are"
    return (
        f"{len(outside):,} of {len(score):,} scores {verb} outside [0, 1]{where}; the scores range "
        f"from {low:g} to {high:g}"
    )


def check_decisions(score: NDArray[Any], used: NDArray[np.bool_], hint: str) -> None:
    """Raise an error if a score is not 0 or 1; `used` selects the rows that are checked."""
    other = used & (score != 0) & (score != 1)
    if other.any():
        value = float(score[int(np.argmax(other))])
        problem = "the scores must be decisions: 0 or 1, or Boolean values"
        raise OptionValueError.compose("score", value, problem, hint)
