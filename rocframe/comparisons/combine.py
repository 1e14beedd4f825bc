"""The functions `combine` and `combine_points`: two models combined by AND, OR and other rules."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.comparisons.chain import (
    OPERATORS,
    RATE_NAMES,
    check_threshold_column,
    class_rates,
    count_columns,
    decide,
    independent_rates,
    model_thresholds,
    null_unless_known,
    parse_model_thresholds,
    possible_range,
    rate_columns,
    row_weights,
)
from rocframe.comparisons.pairing import (
    PairingOptions,
    build_model_table,
    model_batches,
    plan_comparison,
    read_instances,
)
from rocframe.errors import (
    ColumnTypeError,
    MissingColumnError,
    OptionValueError,
    RepeatedNameError,
)
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
from rocframe.inputs.roles import Roles
from rocframe.options import (
    NOT_GIVEN,
    check_column_name,
    check_group_columns,
    group_dtypes,
    parse_names,
    public,
)
from rocframe.rates import CONFUSION, TOTALS
from rocframe.schemas.recognition import OTHER, table_of
from rocframe.schemas.statistics import combination_columns
from rocframe.schemas.table_type import MODEL, THRESHOLD, score_floats, with_scores
from rocframe.text import format_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.chain import Thresholds
    from rocframe.comparisons.pairing import ModelBatch, PairingColumns, Unmatched
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
        `*by`, `fpr, tpr, fpr_independent, tpr_independent, fpr_min, fpr_max, tpr_min, tpr_max, tp,
        fp, fn, tn, fpr_a, tpr_a, fpr_b, tpr_b, threshold_a, threshold_b, n_pos, n_neg, model_a,
        model_b, operator, note`; two rows per group and pair of models that both have rows in the
        group, sorted by group, `model_a`, `model_b` and `operator`.

        - `fpr`, `tpr` (Float64) and `tp, fp, fn, tn` (Int64, or Float64 if rows are weighted) are
          those of the `operator` (String), `"and"` or `"or"`.
        - `tpr_independent` (Float64) is the expected rate if both models decide independently
          within each class: `tpr_a * tpr_b` for AND, and `tpr_a + tpr_b - tpr_a * tpr_b` for OR.
        - `tpr_min` and `tpr_max` (Float64) are the lowest and the highest possible rate: `max(0,
          tpr_a + tpr_b - 1)` and `min(tpr_a, tpr_b)` for AND, `max(tpr_a, tpr_b)` and `min(1, tpr_a
          + tpr_b)` for OR. The same holds for `fpr`.
        - `fpr_a`, `tpr_a`, `fpr_b` and `tpr_b` (Float64) are the rates of both models on the rows
          that both scored, and `threshold_a` and `threshold_b` their thresholds; null for
          decisions.
        - `n_pos` and `n_neg` (Int64) are the numbers of positives and negatives, without weights.

        A rate is null if its class has no rows. All rates and counts are null if the table of
        thresholds has none for a model in the group. `note` (String) is null, or the first of these
        values that applies: `no_rows, no_positives, no_negatives, one_positive, one_negative`,
        `no_solution` if a threshold is missing, or `unmatched:3` if 3 rows that another model lacks
        were left out.

    Raises
    ------
    PairingError
        If `id` does not pair the rows of the models.
    RocframeError
        If a column, an option or a value is invalid, if a decision is not 0 or 1, if a mapping of
        thresholds lacks a model, or if a table has several thresholds for the same model.

    See Also
    --------
    combine_points : The possible and the expected rates, without the predictions.
    chain : Combine all models of a group, one after the other.
    mix : Choose randomly between two thresholds or models.

    Notes
    -----
    The rates of two models do not determine the rates of their combination: to measure these, the
    decisions of both models on the same rows are needed. The point of a combination can be above
    the convex hull of the points of both models.

    References
    ----------
    - T. Fawcett (2004), "ROC graphs: notes and practical considerations for researchers", HP
      Laboratories, Palo Alto, section 7.4.3.
    - M. Fréchet (1935), Fundamenta Mathematicae 25, 379-387. doi:10.4064/fm-25-1-379-387

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {
    ...         "label": [1, 1, 1, 1, 0, 0, 0, 0],
    ...         "a": [0.9, 0.8, 0.7, 0.2, 0.6, 0.4, 0.3, 0.1],
    ...         "b": [0.6, 0.7, 0.3, 0.9, 0.2, 0.8, 0.1, 0.3],
    ...     }
    ... )
    >>> combined = rf.combine(predictions, "label", ["a", "b"], threshold=0.5)
    >>> combined.select("operator", "fpr", "tpr", "fpr_independent", "tpr_independent")
    shape: (2, 5)
    ┌──────────┬─────┬─────┬─────────────────┬─────────────────┐
    │ operator ┆ fpr ┆ tpr ┆ fpr_independent ┆ tpr_independent │
    │ ---      ┆ --- ┆ --- ┆ ---             ┆ ---             │
    │ str      ┆ f64 ┆ f64 ┆ f64             ┆ f64             │
    ╞══════════╪═════╪═════╪═════════════════╪═════════════════╡
    │ and      ┆ 0.0 ┆ 0.5 ┆ 0.0625          ┆ 0.5625          │
    │ or       ┆ 0.5 ┆ 1.0 ┆ 0.4375          ┆ 0.9375          │
    └──────────┴─────┴─────┴─────────────────┴─────────────────┘
    """
    roles = Roles(label, score, by, positive, weight, count, missing)
    thresholds = parse_model_thresholds(threshold, between)
    return plan_comparison(
        predictions,
        PairingOptions(roles=roles, between=between, id=id, unmatched=unmatched, unpaired=None),
        lambda frame, columns: combination_table(frame, columns, thresholds, roles.count_dtype),
        schema=lambda model: combination_columns(model, roles.count_dtype),
        anchor="operator",
        independent_groups=True,
    )


def combination_table(
    frame: pl.DataFrame, columns: PairingColumns, threshold: Thresholds, count: pl.DataType
) -> pl.DataFrame:
    """Return two rows for each group and pair of models: AND and OR."""
    instances = read_instances(frame, columns)
    thresholds = model_thresholds(threshold, instances, columns)
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
    """Return the rates and counts of AND (row 0) and OR (row 1) of two models.

    `a` and `b` are the decisions of the models.
    """
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
    by : str or sequence of str, default None
        Group columns. If a rocframe function returned the table, the default is all its group
        columns except `across`. For other tables, the default is no columns.

    Returns
    -------
    DataFrame or LazyFrame
        The columns of `combine`, with two rows per group and pair of models. The columns `fpr`,
        `tpr`, `tp`, `fp`, `fn`, `tn`, `n_pos` and `n_neg` are null.

        The possible and expected true positive rates are null if that of one of the models is
        undefined; `note` (String) is then `no_positives`. The same holds for the false positive
        rates and `no_negatives`. If both rates are undefined, `note` is `no_solution`.

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
    - T. Fawcett (2004), "ROC graphs: notes and practical considerations for researchers", HP
      Laboratories, Palo Alto, section 7.4.3.
    - M. Fréchet (1935), Fundamenta Mathematicae 25, 379-387. doi:10.4064/fm-25-1-379-387

    Examples
    --------
    The two classifiers of Fawcett's figure 12:

    >>> import polars as pl, rocframe as rf
    >>> points = pl.DataFrame({"model": ["c1", "c2"], "fpr": [0.2, 0.4], "tpr": [0.6, 0.7]})
    >>> combined = rf.combine_points(points)
    >>> combined.select("operator", "fpr_independent", "tpr_independent", "tpr_min", "tpr_max")
    shape: (2, 5)
    ┌──────────┬─────────────────┬─────────────────┬─────────┬─────────┐
    │ operator ┆ fpr_independent ┆ tpr_independent ┆ tpr_min ┆ tpr_max │
    │ ---      ┆ ---             ┆ ---             ┆ ---     ┆ ---     │
    │ str      ┆ f64             ┆ f64             ┆ f64     ┆ f64     │
    ╞══════════╪═════════════════╪═════════════════╪═════════╪═════════╡
    │ and      ┆ 0.08            ┆ 0.42            ┆ 0.3     ┆ 0.6     │
    │ or       ┆ 0.52            ┆ 0.88            ┆ 0.7     ┆ 1.0     │
    └──────────┴─────────────────┴─────────────────┴─────────┴─────────┘
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
    """Raise an error for rates outside [0, 1], and for several points of a model in a group.

    `names` are the names of the first columns of `points`: group columns and the column of models.
    """
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
