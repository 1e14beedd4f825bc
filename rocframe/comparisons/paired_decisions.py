"""The decisions of several models on the same rows, and the rates of their combinations.

References
----------
M. Fréchet (1935), "Généralisation du théorème des probabilités totales", Fundamenta Mathematicae
25, 379-387. doi:10.4064/fm-25-1-379-387
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rocframe.decisions.confusion_matrix import check_decisions
from rocframe.errors import ColumnTypeError, MissingColumnError, OptionValueError
from rocframe.frames import check_keys, column, find_keys, take_rows
from rocframe.inputs.cases import RowState
from rocframe.kernel.codec import round_thresholds
from rocframe.kernel.exact import exact_quotient
from rocframe.options import to_float
from rocframe.rates import CONFUSION, TOTALS
from rocframe.schemas.columns import MODEL, THRESHOLD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.comparisons.instances import Instances, ModelBatch
    from rocframe.comparisons.pairing import PairingColumns

Thresholds: TypeAlias = "float | Mapping[Any, float] | pl.DataFrame | None"


OPERATORS = ("and", "or")
RATE_NAMES = ("tpr", "fpr")  # the rate of the positives, and the rate of the negatives


def parse_model_thresholds(threshold: object, between: object) -> Thresholds:
    """Return the option `threshold` after a check, with numbers as floats."""
    hint = 'Use, for example, threshold={"a": 0.5, "b": 0.3}, or a DataFrame of operating_point.'

    def parse(value: object) -> float:
        number = None if isinstance(value, bool) else to_float(value)
        if number is None or isnan(number):
            problem = "expected one number for each model"
            raise OptionValueError.compose(THRESHOLD, value, problem, hint)
        return number

    if isinstance(threshold, pl.DataFrame):
        for name in (between, THRESHOLD):
            if name not in threshold.columns:
                raise MissingColumnError.of_table(THRESHOLD, str(name), threshold.columns)
        check_threshold_column(THRESHOLD, threshold.schema)
        return threshold
    if isinstance(threshold, Mapping):
        return {model: parse(value) for model, value in threshold.items()}
    return None if threshold is None else parse(threshold)


def check_threshold_column(argument: str, schema: Mapping[str, pl.DataType]) -> None:
    """Raise an error if the thresholds in a table are not numbers; `schema` has its dtypes."""
    dtype = schema[THRESHOLD]
    if not dtype.is_numeric() and dtype != pl.Null:
        hint = "Thresholds must be numbers. Cast the column first."
        raise ColumnTypeError.of_table(argument, THRESHOLD, dtype, hint)


def model_thresholds(
    threshold: Thresholds, instances: Instances, columns: PairingColumns
) -> NDArray[np.float64]:
    """Return the threshold of each model (rows) in each group (columns), or NaN.

    Thresholds are rounded to the dtype of the scores of the model. A threshold is NaN if the table
    `threshold` has none for this model and group. If `threshold` is
    None, the scores must be 0 or 1, and the thresholds are 1.
    """
    keys = instances.keys
    shape = len(instances.models), keys.height
    if threshold is None:
        hint = "Pass threshold=, such as threshold=0.5."
        for score, state, used in zip(
            instances.score, instances.state, instances.used, strict=True
        ):
            check_decisions(score, used & (state == RowState.USED), hint)
        return np.ones(shape)
    values = _unrounded_thresholds(threshold, instances, columns)
    return np.array(
        [
            round_thresholds(row, score.dtype)
            for row, score in zip(values, instances.score, strict=True)
        ]
    ).reshape(shape)


def _unrounded_thresholds(
    threshold: float | Mapping[Any, float] | pl.DataFrame,
    instances: Instances,
    columns: PairingColumns,
) -> NDArray[np.float64]:
    """Return the given threshold of each model (rows) in each group (columns), or NaN."""
    keys = instances.keys
    shape = len(instances.models), keys.height
    if isinstance(threshold, pl.DataFrame):
        return _table_thresholds(threshold, instances.models, keys, columns)
    if not isinstance(threshold, Mapping):
        return np.full(shape, threshold)
    models = instances.models.to_list()
    for model in models:
        if model not in threshold:
            problem = f"model {model!r} has no threshold"
            hint = "Add a threshold, or remove the rows of this model with .filter()."
            raise OptionValueError.compose(THRESHOLD, dict(threshold), problem, hint)
    values = np.array([threshold[model] for model in models], np.float64)
    return np.broadcast_to(values[:, None], shape)


def _table_thresholds(
    table: pl.DataFrame, models: pl.Series, keys: pl.DataFrame, columns: PairingColumns
) -> NDArray[np.float64]:
    """Return the thresholds in a table with a row per model, or per group and model."""
    left = table.columns[: table.columns.index(THRESHOLD)]
    names = {columns.options.between: MODEL}
    names |= {name: str(i) for i, name in enumerate(columns.bound.by) if name in left}
    dtypes = {**columns.bound.keys, columns.options.between: columns.model}
    check_keys(THRESHOLD, table.schema, dtypes, names)
    thresholds = table.select(
        *(column(name).alias(key) for name, key in names.items()),
        column(THRESHOLD).cast(pl.Float64),
    )
    on = list(names.values())
    if thresholds.select(on).is_duplicated().any():
        problem = "the table has several thresholds for a model"
        hint = (
            "Filter the table, or add its group columns to by=. The thresholds are matched by: "
            f"{[*names]}."
        )
        raise OptionValueError.compose(THRESHOLD, table, problem, hint)
    shape = keys.height, len(models)
    group, model = (index.ravel() for index in np.indices(shape))
    rows = take_rows(keys, group).with_columns(models[model].alias(MODEL))
    position = find_keys(rows.select(on), thresholds.select(on))
    values = thresholds.get_column(THRESHOLD).gather(position).fill_null(np.nan)
    return values.to_numpy().reshape(shape).T


def decide(batch: ModelBatch, thresholds: NDArray[np.float64]) -> Iterator[NDArray[np.bool_]]:
    """Yield the decisions of each model of a batch on the rows of the batch.

    With `missing="worst"`, a positive without a score is predicted negative, and a negative without
    a score is predicted positive.
    """
    instances, rows, group = batch.instances, batch.rows, batch.groups[batch.group]
    for model in batch.models:
        unscored = instances.state[model][rows] == RowState.UNSCORED
        decision = instances.score[model][rows] >= thresholds[model, group]
        yield np.where(unscored, instances.negative[rows], decision)


def row_weights(batch: ModelBatch) -> NDArray[Any]:
    """Return the count of each row of a batch, multiplied by its weight."""
    weight = batch.instances.weight
    return batch.count if weight is None else batch.count * weight[batch.rows]


def class_rates(counts: NDArray[Any], totals: NDArray[Any]) -> NDArray[np.float64]:
    """Return counts as shares of the totals of their class; NaN for empty classes."""
    totals = np.broadcast_to(totals, counts.shape)
    return exact_quotient(counts.ravel(), totals.ravel()).reshape(counts.shape)


def possible_range(a: Any, b: Any, total: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return Fréchet's lowest and highest values for AND (row 0) and OR (row 1).

    `a` and `b` are the counts of both models out of `total`, or their rates with a total of 1.
    """
    lowest = np.stack([np.maximum(0, a + b - total), np.maximum(a, b)])
    return lowest, np.stack([np.minimum(a, b), np.minimum(total, a + b)])


def independent_rates(a: Any, b: Any) -> NDArray[np.float64]:
    """Return the rates of AND (row 0) and OR (row 1) if the two models decide independently."""
    return np.stack([a * b, a + b - a * b])


def rate_columns(parts: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the columns of both rates, such as `fpr_min`; the keys of `parts` are the suffixes.

    The second last axis of each array has the class: positives, negatives.
    """
    return {
        f"{rate}{suffix}": values[..., i, :]
        for i, rate in enumerate(RATE_NAMES)
        for suffix, values in parts.items()
    }


def count_columns(measured: NDArray[Any], rest: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the columns of the counts of positive (`measured`) and negative (`rest`) decisions.

    The second last axis of both arrays has the class: positives, negatives.
    """
    return {
        name: counts[..., i, :]
        for i, names in enumerate(TOTALS[:2])
        for name, counts in zip(names, (measured, rest), strict=True)
    }


def null_unless_known(table: pl.DataFrame) -> pl.DataFrame:
    """Set rates and counts to null where the column `known` is false, and drop this column."""
    names = [
        name for name in table.columns if name in CONFUSION or name.partition("_")[0] in RATE_NAMES
    ]
    return table.with_columns(pl.when("known").then(pl.col(names))).drop("known")
