"""The functions `combine`, `combine_points` and `chain`: models joined by AND and OR."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rocframe.comparisons.pairing import (
    PairingOptions,
    build_model_table,
    model_batches,
    model_thresholds,
    parse_model_thresholds,
    plan_comparison,
    read_instances,
)
from rocframe.curves.locate import round_values
from rocframe.curves.table import check_threshold_column
from rocframe.errors import ColumnTypeError, MissingColumnError, OptionValueError, RepeatedNameError
from rocframe.frames import (
    as_input_frame,
    build_table,
    column,
    lazy_plan,
    number_distinct_rows,
    private_names,
    select_keys,
    through_node,
)
from rocframe.inference import class_notes, first_notes
from rocframe.inputs.cases import RowState, check_decisions
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import exact_quotient
from rocframe.kernel.groups import round_thresholds
from rocframe.options import (
    NOT_GIVEN,
    check_choice,
    check_column_name,
    check_group_columns,
    group_dtypes,
    parse_names,
    public,
)
from rocframe.rates import CONFUSION, TOTALS
from rocframe.schemas import OTHER, table_of
from rocframe.schemas.statistics import chain_columns, combination_columns
from rocframe.schemas.table_type import MODEL, THRESHOLD, score_floats, with_scores
from rocframe.text import format_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.pairing import (
        Instances,
        ModelBatch,
        PairingColumns,
        ParsedThresholds,
        Thresholds,
        Unmatched,
    )
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


@public
def combine(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
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
    """Combine the decisions of every two models by AND and by OR.

    AND predicts a row positive if both models predict it positive, OR if at least one model does.
    The result has the measured rates, the lowest and highest possible rates, and the expected rates
    of independent decisions.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives.
    threshold : float, mapping or DataFrame, default None
        Threshold of each model: one number for all, a mapping from models to numbers, or rows of
        `operating_point`, `at`, `hull` or `curve`. None: the scores are decisions, Boolean, 0 or 1.
    between : str, default "model"
        Column with the name of the model, for a long table with one row per instance and model.
    id : str or sequence of str, default None
        Columns that identify an instance, to match the rows of the models.
    by : str, Expr, selector or sequence, default None
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
        `*by`, `fpr, tpr, fpr_independent, tpr_independent, fpr_min, fpr_max, tpr_min, tpr_max, tp,
        fp, fn, tn, fpr_a, tpr_a, fpr_b, tpr_b, threshold_a, threshold_b, n_pos, n_neg, model_a,
        model_b, operator, note`; two rows per group and pair of models that both have rows in the
        group, sorted by group, `model_a`, `model_b` and `operator` (`"and"` or `"or"`).

        - `fpr`, `tpr` (Float64) and `tp, fp, fn, tn` (Int64, or Float64 if rows are weighted) are
          measured, `tpr_independent` (Float64) is the rate of decisions that are independent within
          each class, and `tpr_min` and `tpr_max` (Float64) are the lowest and highest possible
          rate.
        - `fpr_a`, `tpr_a`, `fpr_b` and `tpr_b` (Float64) are rates on the rows that both models
          scored; `threshold_a` and `threshold_b` are null for decisions.

        A rate is null if its class has no rows, or if there is no threshold. `note` (String) is
        null, or the first of these values that applies: `no_rows, no_positives, no_negatives,
        one_positive, one_negative`, `no_solution` without a threshold, or `unmatched:3`.

    Raises
    ------
    PairingError
        If `id` does not pair the rows of the models.
    RocframeError
        If a column, an option or a value is invalid, if a decision is not 0 or 1, or if a model has
        no threshold in a mapping, or several in a table.

    See Also
    --------
    combine_points : The possible and the expected rates, without the predictions.
    chain : Combine all models of a group, one after the other.
    mix : Choose randomly between two thresholds or models.

    Notes
    -----
    The rates of two models do not determine those of their combination, which needs decisions on
    the same rows. Its point can be above the convex hull of the points of both models.

    References
    ----------
    - T. Fawcett (2004), "ROC graphs: notes and practical considerations", HP Laboratories, Palo
      Alto, section 7.4.3.
    - M. Fréchet (1935), Fundamenta Mathematicae 25, 379-387. doi:10.4064/fm-25-1-379-387

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 1, 0, 0], "a": [9, 8, 2, 6, 4], "b": [6, 7, 9, 2, 8]}
    ... )
    >>> combined = rf.combine(predictions, "label", ["a", "b"], threshold=5)
    >>> combined.select("operator", "fpr", "tpr", "fpr_independent", "tpr_independent")
    shape: (2, 5)
    ┌──────────┬─────┬──────────┬─────────────────┬─────────────────┐
    │ operator ┆ fpr ┆ tpr      ┆ fpr_independent ┆ tpr_independent │
    │ ---      ┆ --- ┆ ---      ┆ ---             ┆ ---             │
    │ str      ┆ f64 ┆ f64      ┆ f64             ┆ f64             │
    ╞══════════╪═════╪══════════╪═════════════════╪═════════════════╡
    │ and      ┆ 0.0 ┆ 0.666667 ┆ 0.25            ┆ 0.666667        │
    │ or       ┆ 1.0 ┆ 1.0      ┆ 0.75            ┆ 1.0             │
    └──────────┴─────┴──────────┴─────────────────┴─────────────────┘
    """
    roles = Roles(label, score, by, positive, weight, count, missing)
    thresholds = parse_combined_thresholds(threshold, between)
    return plan_comparison(
        predictions,
        PairingOptions(roles=roles, between=between, id=id, unmatched=unmatched, unpaired=None),
        lambda frame, columns: combination_table(frame, columns, thresholds, roles.count_dtype),
        schema=lambda model: combination_columns(model, roles.count_dtype),
        anchor="operator",
        independent_groups=True,
    )


def combination_table(
    frame: pl.DataFrame, columns: PairingColumns, threshold: ParsedThresholds, count: pl.DataType
) -> pl.DataFrame:
    """Return two rows for each group and pair of models: AND and OR."""
    instances = read_instances(frame, columns)
    thresholds = combined_thresholds(threshold, instances, columns)
    parts: list[dict[str, Any]] = []
    for batch in model_batches(instances, columns.options):
        known = ~np.isnan(thresholds[:, batch.groups])
        decisions = dict(zip(batch.models, decide(batch, thresholds), strict=True))
        weight, rows = row_weights(batch), batch.class_sums(batch.count)
        for a, b in combinations(batch.models, 2):
            shared = {
                "group": batch.groups,
                "model_a": a,
                "model_b": b,
                "threshold_a": thresholds[a, batch.groups],
                "threshold_b": thresholds[b, batch.groups],
                "known": known[a] & known[b],
                "note": class_notes(
                    *rows, no_solution=~(known[a] & known[b]), unmatched=batch.unmatched
                ),
                "n_pos": rows[0],
                "n_neg": rows[1],
            }
            rates = _combined_columns(batch, weight, decisions[a], decisions[b])
            parts += [
                shared | {"operator": operator, **{name: of[i] for name, of in rates.items()}}
                for i, operator in enumerate(OPERATORS)
            ]
    table = build_model_table(
        parts,
        combination_columns(instances.models.dtype, count) | {"known": pl.Boolean()},
        keys=instances.keys,
        models=instances.models,
        order=["model_a", "model_b", "operator"],
        constants=dict.fromkeys(("threshold_a", "threshold_b")) if threshold is None else {},
    )
    return null_unless_known(table)


def _combined_columns(
    batch: ModelBatch, weight: NDArray[Any], a: NDArray[np.bool_], b: NDArray[np.bool_]
) -> dict[str, NDArray[Any]]:
    """Return the rates and counts of AND (row 0) and OR (row 1) of two decisions."""
    # All counts are sums of these four cells, so they have the same rounding errors of weights.
    both, only_a, only_b, neither = (
        batch.class_sums(weight * cell) for cell in (a & b, a & ~b, ~a & b, ~a & ~b)
    )
    either = both + only_a + only_b
    total, measured = either + neither, np.stack([both, either])
    rest = np.stack([only_a + only_b + neither, neither])
    counts = both + only_a, both + only_b
    # Rounding errors of weights can put a measured count outside the range, so it is extended.
    lowest, highest = possible_range(*counts, total)
    lowest, highest = np.minimum(lowest, measured), np.maximum(highest, measured)
    rates = [class_rates(count, total) for count in counts]
    parts = {
        "": class_rates(measured, total),
        "_independent": independent_rates(*rates),
        "_min": class_rates(lowest, total),
        "_max": class_rates(highest, total),
        "_a": np.stack([rates[0]] * 2),
        "_b": np.stack([rates[1]] * 2),
    }
    return rate_columns(parts) | count_columns(measured, rest)


@public
def combine_points(table: FrameT, /, *, across: str = MODEL, by: By = None) -> FrameT:
    """Return the possible and the expected rates of two models combined by AND and OR.

    In the result, the columns of the measured rates of the combinations are null, because these
    rates require the decisions of both models on the same rows.

    Parameters
    ----------
    table : DataFrame, LazyFrame or Arrow table
        One row per group and model, with the columns `fpr` and `tpr` or with the counts `tp, fp,
        fn, tn`: a table of `operating_point`, `at` or `confusion_matrix`, or a table of published
        rates.
    across : str, default "model"
        Column with the name of the model.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, those of a table that rocframe returned, except `across`.

    Returns
    -------
    DataFrame or LazyFrame
        The columns of `combine`, with two rows per group and pair of models. The columns `fpr`,
        `tpr`, `tp`, `fp`, `fn`, `tn`, `n_pos` and `n_neg` are null.

        If the true positive rate of a model is undefined, the results are null and `note` (String)
        is `no_positives`; likewise `no_negatives` for false positive rates, and `no_solution` for
        both.

    Raises
    ------
    RocframeError
        If a column is missing or has an unsuitable type, if `across` is one of the columns in `by`,
        if a rate is outside [0, 1], or if a group has several points of a model.

    See Also
    --------
    combine : The measured rates, from predictions.

    References
    ----------
    - T. Fawcett (2004), "ROC graphs: notes and practical considerations", HP Laboratories, Palo
      Alto, section 7.4.3.
    - M. Fréchet (1935), Fundamenta Mathematicae 25, 379-387. doi:10.4064/fm-25-1-379-387

    Examples
    --------
    The two classifiers of Fawcett's figure 12:

    >>> import polars as pl, rocframe as rf
    >>> points = pl.DataFrame({"model": ["c1", "c2"], "fpr": [0.2, 0.4], "tpr": [0.6, 0.7]})
    >>> combined = rf.combine_points(points)
    >>> combined.select("operator", "tpr_independent", "tpr_min", "tpr_max")
    shape: (2, 4)
    ┌──────────┬─────────────────┬─────────┬─────────┐
    │ operator ┆ tpr_independent ┆ tpr_min ┆ tpr_max │
    │ ---      ┆ ---             ┆ ---     ┆ ---     │
    │ str      ┆ f64             ┆ f64     ┆ f64     │
    ╞══════════╪═════════════════╪═════════╪═════════╡
    │ and      ┆ 0.42            ┆ 0.3     ┆ 0.6     │
    │ or       ┆ 0.88            ┆ 0.7     ┆ 1.0     │
    └──────────┴─────────────────┴─────────┴─────────┘
    """

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        check_column_name("across", across, example=MODEL)
        if across not in list(schema):
            raise MissingColumnError.compose("across", across, schema)
        recognized = table_of(list(schema))
        names = parse_names(by)
        if by is None and recognized.type is not OTHER:
            names = tuple(name for name in recognized.by if name != across)
        if across in names:
            raise RepeatedNameError.of_group("across", across, names)
        columns = combination_columns(schema[across], pl.Int64())
        check_group_columns(names, schema, tuple(columns))
        keys = group_dtypes(names, schema)
        rates = _rates_of_points(schema)
        threshold, scores = pl.lit(None), score_floats([])
        if THRESHOLD in schema:
            check_threshold_column("table", schema)
            threshold, scores = column(THRESHOLD), score_floats([schema[THRESHOLD]])
        columns = with_scores(columns, scores)
        inputs = {MODEL: column(across), **rates, THRESHOLD: threshold.cast(scores)}
        private = private_names(inputs, names)

        def compute(frame: pl.DataFrame) -> pl.DataFrame:
            keys = dict(zip(names, map(str, range(len(names))), strict=True))
            roles = {name: role for role, name in private.items()}
            points = frame.rename({**keys, **roles})
            _check_rates(points, (*names, across))
            combined = point_combinations(points, len(names), columns)
            return combined.rename({key: name for name, key in keys.items()})

        return through_node(
            plan.select(
                *map(column, names), *(expr.alias(private[name]) for name, expr in inputs.items())
            ),
            compute,
            schema={**keys, **columns},
            by=names,
            anchor="operator",
        )

    return as_input_frame(table, lazy_plan("table", table).pipe_with_schema(resolve))


def _rates_of_points(schema: pl.Schema) -> dict[str, pl.Expr]:
    """Return the rates of the points, computed from the counts if the table has counts."""
    has_counts = all(name in schema for name in CONFUSION)
    for name in CONFUSION if has_counts else RATE_NAMES:
        if name not in schema:
            raise MissingColumnError.of_table("table", name, schema)
        if not schema[name].is_numeric():
            hint = f"{'Counts' if has_counts else 'Rates'} must be numbers. Cast the column first."
            raise ColumnTypeError.of_table("table", name, schema[name], hint)
    floats = {name: column(name).cast(pl.Float64) for name in (*CONFUSION, *RATE_NAMES)}
    if has_counts:
        pairs = zip(RATE_NAMES, TOTALS[:2], strict=True)
        floats |= {
            rate: floats[part] / (floats[part] + floats[rest]) for rate, (part, rest) in pairs
        }
    return {rate: floats[rate].fill_nan(None) for rate in RATE_NAMES}


def point_combinations(
    frame: pl.DataFrame, n_keys: int, columns: dict[str, pl.DataType]
) -> pl.DataFrame:
    """Return two rows for each group and pair of models: AND and OR."""
    distinct, group = number_distinct_rows(select_keys(frame, frame.columns[:n_keys]))
    rows = frame.with_columns(group=group).sort(MODEL).with_row_index("rank")
    pairs = rows.join(rows, on="group", suffix="_b").filter(pl.col("rank") < pl.col("rank_b"))
    pairs = pairs.sort("group", "rank", "rank_b")
    a, b = (
        np.stack([pairs.get_column(f"{rate}{side}").fill_null(np.nan) for rate in RATE_NAMES])
        for side in ("", "_b")
    )
    undefined = np.isnan(a + b)
    lowest, highest = possible_range(a, b, 1.0)
    parts = {
        "_independent": independent_rates(a, b),
        "_min": lowest,
        "_max": highest,
        "_a": np.stack([a, a]),
        "_b": np.stack([b, b]),
    }
    result: dict[str, Any] = {
        name: values.T.ravel() for name, values in rate_columns(parts).items()
    }
    note = first_notes(
        {
            "no_positives": undefined[0] & ~undefined[1],
            "no_negatives": undefined[1] & ~undefined[0],
            "no_solution": undefined.all(axis=0),
        }
    )
    twice = np.repeat(np.arange(pairs.height), 2)
    result |= {
        "operator": [*OPERATORS] * pairs.height,
        "note": note[twice].tolist(),
        "model_a": pairs.get_column(MODEL)[twice],
        "model_b": pairs.get_column(f"{MODEL}_b")[twice],
        "threshold_a": pairs.get_column(THRESHOLD)[twice],
        "threshold_b": pairs.get_column(f"{THRESHOLD}_b")[twice],
    }
    return build_table(distinct, result, columns, rows=pairs.get_column("group")[twice].to_numpy())


def _check_rates(points: pl.DataFrame, names: Sequence[str]) -> None:
    """Raise an error for rates outside [0, 1] and repeated points; `names` are the key columns."""
    for rate in RATE_NAMES:
        outside = points.filter((pl.col(rate) < 0) | (pl.col(rate) > 1))
        if outside.height:
            value = f"the value {outside.item(0, rate):g} for {format_key(names, outside.row(0))}"
            problem = f"the column {rate!r} has {value}, which is not in [0, 1]"
            raise OptionValueError(f"table: {problem}.\nDivide percentages by 100.")
    repeated = points.filter(points.select(pl.nth(range(len(names)))).is_duplicated())
    if repeated.height:
        problem = f"the table has several points for {format_key(names, repeated.row(0))}"
        hint = (
            "Select one point with .filter(), or name in by= the columns that distinguish the rows."
        )
        raise OptionValueError(f"table: {problem}.\n{hint}")


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
    stage adds the model with the next higher rate; a row is predicted positive if at least one
    model of the chain does so. A chain of AND starts with the highest rate, and all models must
    predict positive.

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
    threshold, between, id, by, unmatched, positive, weight, count, missing
        As in `combine`.

    Returns
    -------
    DataFrame or LazyFrame
        `*by`, `fpr, tpr, fpr_independent, tpr_independent, tp, fp, fn, tn, fpr_alone, tpr_alone,
        threshold, n_pos, n_neg, operator, stage, model, note`; one row per group and stage, sorted
        by group and `stage`.

        - `model` is the model that the stage adds, and `stage` (Int64) the number of models up to
          it. Models with equal false positive rates are in the order of their true positive rates
          (lowest first for OR, highest first for AND), and then of their names.
        - The other columns are those of the chain up to this stage, as in `combine`; `fpr_alone`,
          `tpr_alone` (Float64) and `threshold` are those of the model alone.

        A rate is null if its class has no rows. Models without a threshold in the table are added
        last, with null rates and counts. `note` (String) is null, or the first of these values that
        applies: `no_rows, no_positives, no_negatives, one_positive, one_negative`, `no_solution`
        without a threshold, or `unmatched:3`.

    Raises
    ------
    PairingError
        If `id` does not pair the rows of the models.
    RocframeError
        If a column, an option or a value is invalid, as in `combine`.

    See Also
    --------
    combine : Combine every two models by AND and by OR, with the possible rates.
    hull : The models and thresholds that are optimal for some costs.

    Notes
    -----
    The order of the models is determined on the same rows as the rates; to estimate these on other
    data, apply the chain to these data.

    References
    ----------
    T. Fawcett (2004), "ROC graphs: notes and practical considerations", HP Laboratories, Palo Alto,
    section 7.4.4.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> decisions = pl.DataFrame({"label": [1, 1, 0, 0], "a": [1, 0, 0, 0], "b": [1, 1, 1, 0]})
    >>> stages = rf.chain(decisions, "label", ["a", "b"])
    >>> stages.select("stage", "model", "fpr", "tpr", "tpr_independent")
    shape: (2, 5)
    ┌───────┬───────┬─────┬─────┬─────────────────┐
    │ stage ┆ model ┆ fpr ┆ tpr ┆ tpr_independent │
    │ ---   ┆ ---   ┆ --- ┆ --- ┆ ---             │
    │ i64   ┆ str   ┆ f64 ┆ f64 ┆ f64             │
    ╞═══════╪═══════╪═════╪═════╪═════════════════╡
    │ 1     ┆ a     ┆ 0.0 ┆ 0.5 ┆ 0.5             │
    │ 2     ┆ b     ┆ 0.5 ┆ 1.0 ┆ 1.0             │
    └───────┴───────┴─────┴─────┴─────────────────┘
    """
    check_choice("operator", operator, ("or", "and"))
    roles = Roles(label, score, by, positive, weight, count, missing)
    thresholds = parse_combined_thresholds(threshold, between)
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
    threshold: ParsedThresholds,
    operator: Operator,
    count: pl.DataType,
) -> pl.DataFrame:
    """Return a row for each group and each stage of the chain of the group."""
    instances = read_instances(frame, columns)
    thresholds = combined_thresholds(threshold, instances, columns)
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


Operator = Literal["or", "and"]
OPERATORS = ("and", "or")  # in the order of rows
RATE_NAMES = ("tpr", "fpr")  # the rate of the positives, and the rate of the negatives


def parse_combined_thresholds(threshold: object, between: object) -> ParsedThresholds:
    """Return the option `threshold` after a check; a table must have a column of models."""
    if isinstance(threshold, pl.DataFrame) and between not in threshold.columns:
        raise MissingColumnError.of_table(THRESHOLD, str(between), threshold.columns)
    return parse_model_thresholds(threshold, between)


def combined_thresholds(
    threshold: ParsedThresholds, instances: Instances, columns: PairingColumns
) -> NDArray[np.float64]:
    """Return the threshold of each model (rows) in each group (columns), or NaN if there is none.

    They are rounded to the dtype of the scores. Without thresholds, the scores must be 0 or 1.
    """
    if threshold is None:
        hint = "Pass threshold=, such as threshold=0.5."
        for score, state, used in zip(
            instances.score, instances.state, instances.used, strict=True
        ):
            check_decisions(score, used & (state == RowState.USED), hint)
        return np.ones((len(instances.models), instances.keys.height))
    values = model_thresholds(threshold, instances.models, instances.keys, columns)
    for row, score in zip(values, instances.score, strict=True):
        row[:] = round_thresholds(row, score.dtype)
    return values


def decide(batch: ModelBatch, thresholds: NDArray[np.float64]) -> Iterator[NDArray[np.bool_]]:
    """Yield the decisions of each model of a batch; rows without a score are errors."""
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
    """Return the columns of rates by suffix, as `fpr_min`; the class is the second last axis."""
    return {
        f"{rate}{suffix}": values[..., i, :]
        for i, rate in enumerate(RATE_NAMES)
        for suffix, values in parts.items()
    }


def count_columns(measured: NDArray[Any], rest: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return the counts of positive and negative decisions; the class is the second last axis."""
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
