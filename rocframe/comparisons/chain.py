"""The function `chain`: the decisions of several models joined one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isnan
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from rocframe.comparisons.pairing import (
    PairingOptions,
    build_model_table,
    model_batches,
    plan_comparison,
    read_instances,
)
from rocframe.curves.locate import round_values
from rocframe.decisions.confusion_matrix import check_decisions
from rocframe.errors import ColumnTypeError, MissingColumnError, OptionValueError
from rocframe.frames import check_keys, column, find_keys, take_rows
from rocframe.inference import class_notes
from rocframe.inputs.cases import RowState
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import exact_quotient
from rocframe.kernel.codec import round_thresholds
from rocframe.options import NOT_GIVEN, check_choice, public, to_float
from rocframe.rates import CONFUSION, TOTALS
from rocframe.schemas.statistics import chain_columns
from rocframe.schemas.table_type import MODEL, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.pairing import Instances, ModelBatch, PairingColumns, Unmatched
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores

Operator = Literal["or", "and"]


@public
def chain(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    operator: Operator = "or",
    threshold: Thresholds = None,
    between: str = MODEL,
    id: Column | Sequence[Column] | None = None,  # noqa: A002 - name of the public option
    by: By = None,
    unmatched: Unmatched = "raise",
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Combine the decisions of all models of a group, one after the other.

    A chain of OR starts with the model that has the lowest false positive rate, and each later
    stage adds the model with the next higher rate: a row is predicted positive if at least one
    model of the chain predicts it positive. A chain of AND starts with the highest rate and adds
    the next lower one: a row is predicted positive if all models of the chain predict it positive.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives.
    operator : {"or", "and"}, default "or"
        How the decisions of the models are joined.
    threshold : float, mapping or DataFrame, default None
        Threshold of each model: one number for all, a mapping from models to numbers, or a table of
        `operating_point` or `at` with the columns `threshold` and `between`, and optionally group
        columns. Without thresholds, the scores must be decisions: Boolean, 0 or 1.
    between : str, default "model"
        Column with the name of the model, for a long table with one row per instance and model.
    id : str or sequence of str, default None
        Columns that identify an instance, to match the rows of the models.
    by : str or sequence of str, default None
        Group columns; null is a group.
    unmatched : {"raise", "drop"}, default "raise"
        Instances that lack a model: an error, or left out and counted in `note`.
    positive : object, default None
        Value of `label` that is the positive class.
    weight : str or Expr, default None
        Importance of a row, finite and >= 0.
    count : str, Expr or None, optional
        Number of equal rows that a row represents. Required if there is a column `count`.
    missing : {"raise", "drop", "worst"}, default "raise"
        Missing values: an error, rows left out, or missing scores count as errors.

    Returns
    -------
    DataFrame or LazyFrame
        `*by`, `fpr, tpr, fpr_independent, tpr_independent, tp, fp, fn, tn, fpr_alone, tpr_alone,
        threshold, n_pos, n_neg, operator, stage, model, note`; one row per group and stage, sorted
        by group and `stage`.

        - `model` is the model that the stage adds, and `stage` (Int64) the number of models up to
          it. Models with equal false positive rates are in the order of their true positive rates
          (lowest first for OR, highest first for AND), and then of their names.
        - `fpr`, `tpr` (Float64) and `tp, fp, fn, tn` (Int64, or Float64 if rows are weighted) are
          those of the chain up to this stage; `fpr_independent` and `tpr_independent` (Float64) are
          the expected rates if all models decide independently within each class.
        - `fpr_alone` and `tpr_alone` (Float64) are the rates of the model alone, and `threshold` is
          its threshold; null for decisions.
        - `n_pos` and `n_neg` (Int64) are the numbers of positives and negatives, without weights.

        A rate is null if its class has no rows. Models without a threshold in the table are added
        last, with null rates and counts. `note` (String) is null, or the first of these values that
        applies: `no_rows, no_positives, no_negatives, one_positive, one_negative`, `no_solution` if
        a threshold is missing, or `unmatched:3` if 3 rows that another model lacks were left out.

    Raises
    ------
    PairingError
        If `id` does not pair the rows of the models.
    RocframeError
        If a column, an option or a value is invalid, if a decision is not 0 or 1, if a mapping of
        thresholds lacks a model, or if a table has several thresholds for the same model.

    See Also
    --------
    combine : Combine every two models by AND and by OR, with the possible rates.
    hull : The models and thresholds that are optimal for some costs.

    Notes
    -----
    The rates of a chain are measured on the same rows that determine the order of the models. To
    estimate the rates on other data, apply the chain to these data.

    References
    ----------
    - T. Fawcett (2004), "ROC graphs: notes and practical considerations for researchers", HP
      Laboratories, Palo Alto, section 7.4.4.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> decisions = pl.DataFrame(
    ...     {
    ...         "label": [1, 1, 1, 1, 0, 0, 0, 0],
    ...         "a": [1, 1, 0, 0, 0, 0, 0, 0],
    ...         "b": [1, 1, 1, 0, 1, 0, 0, 0],
    ...         "c": [0, 1, 1, 1, 1, 1, 0, 0],
    ...     }
    ... )
    >>> stages = rf.chain(decisions, "label", ["a", "b", "c"])
    >>> stages.select("stage", "model", "fpr", "tpr", "fpr_independent", "tpr_independent")
    shape: (3, 6)
    ┌───────┬───────┬──────┬──────┬─────────────────┬─────────────────┐
    │ stage ┆ model ┆ fpr  ┆ tpr  ┆ fpr_independent ┆ tpr_independent │
    │ ---   ┆ ---   ┆ ---  ┆ ---  ┆ ---             ┆ ---             │
    │ i64   ┆ str   ┆ f64  ┆ f64  ┆ f64             ┆ f64             │
    ╞═══════╪═══════╪══════╪══════╪═════════════════╪═════════════════╡
    │ 1     ┆ a     ┆ 0.0  ┆ 0.5  ┆ 0.0             ┆ 0.5             │
    │ 2     ┆ b     ┆ 0.25 ┆ 0.75 ┆ 0.25            ┆ 0.875           │
    │ 3     ┆ c     ┆ 0.5  ┆ 1.0  ┆ 0.625           ┆ 0.96875         │
    └───────┴───────┴──────┴──────┴─────────────────┴─────────────────┘
    """
    check_choice("operator", operator, get_args(Operator))
    roles = Roles(label, score, by, positive, weight, count, missing)
    thresholds = parse_model_thresholds(threshold, between)
    return plan_comparison(
        predictions,
        PairingOptions(roles=roles, between=between, id=id, unmatched=unmatched, unpaired=None),
        lambda frame, columns: chain_table(frame, columns, thresholds, operator, roles.count_dtype),
        schema=lambda model: chain_columns(model, roles.count_dtype),
        anchor="operator",
        independent_groups=True,
    )


def chain_table(
    frame: pl.DataFrame,
    columns: PairingColumns,
    threshold: Thresholds,
    operator: Operator,
    count: pl.DataType,
) -> pl.DataFrame:
    """Return a row for each group and each stage of the chain of the group."""
    instances = read_instances(frame, columns)
    thresholds = model_thresholds(threshold, instances, columns)
    batches = model_batches(instances, columns.options, all_models=True)
    parts = [part for batch in batches for part in _stages(batch, thresholds, operator)]
    table = build_model_table(
        parts,
        chain_columns(instances.models.dtype, count) | {"known": pl.Boolean()},
        keys=instances.keys,
        models=instances.models,
        order=["stage"],
        constants={"operator": operator} | ({THRESHOLD: None} if threshold is None else {}),
    )
    return null_unless_known(table)


def _stages(
    batch: ModelBatch, thresholds: NDArray[np.float64], operator: Operator
) -> list[dict[str, NDArray[Any]]]:
    """Return the columns of each stage of the chains of a batch, with an element per group."""
    weight = row_weights(batch)
    n_pos, n_neg = batch.class_sums(batch.count)
    total = batch.class_sums(weight)
    threshold = thresholds[np.array(batch.models)][:, batch.groups]
    has_threshold, is_or = ~np.isnan(threshold), operator == "or"
    decisions = np.stack(list(decide(batch, thresholds)))
    alone = np.stack([batch.class_sums(weight * decision) for decision in decisions])
    rates_alone = class_rates(alone, total)
    # Rates are rounded, so that models with equal sums of weights have equal rates. The sort is
    # stable, so that models with equal rates are in the order of their names.
    tpr, fpr = (1 if is_or else -1) * round_values(rates_alone, (0, 1)).swapaxes(0, 1)
    order = np.lexsort((tpr, fpr, ~has_threshold), axis=0)
    group, row = np.arange(len(batch.groups)), np.arange(len(batch.rows))
    combined = np.full(len(batch.rows), not is_or)
    expected = np.full(total.shape, 0.0 if is_or else 1.0)
    stages = []
    for stage, model in enumerate(order, start=1):
        decision = decisions[model[batch.group], row]
        combined = combined | decision if is_or else combined & decision
        measured, rest = (batch.class_sums(weight * part) for part in (combined, ~combined))
        rates = rates_alone[model, :, group].T
        expected = independent_rates(expected, rates)[int(is_or)]
        parts = {
            "": class_rates(measured, measured + rest),
            "_independent": expected,
            "_alone": rates,
        }
        is_known = has_threshold[model, group]
        stages.append(
            {
                **rate_columns(parts),
                **count_columns(measured, rest),
                "group": batch.groups,
                "stage": stage,
                MODEL: np.array(batch.models)[model],
                THRESHOLD: threshold[model, group],
                "n_pos": n_pos,
                "n_neg": n_neg,
                "known": is_known,
                "note": class_notes(n_pos, n_neg, no_solution=~is_known, unmatched=batch.unmatched),
            }
        )
    return stages


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
