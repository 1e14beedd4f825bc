"""The function `chain`: the decisions of several models joined one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
import polars as pl

from rocframe.comparisons.instances import model_batches, read_instances
from rocframe.comparisons.paired_decisions import (
    class_rates,
    count_columns,
    decide,
    independent_rates,
    model_thresholds,
    null_unless_known,
    parse_model_thresholds,
    rate_columns,
    row_weights,
)
from rocframe.comparisons.pairing import PairingOptions, build_model_table, plan_comparison
from rocframe.curves.locate import round_values
from rocframe.inference.notes import class_notes
from rocframe.inputs.roles import Roles
from rocframe.options import NOT_GIVEN, check_choice, public
from rocframe.schemas.columns import MODEL, THRESHOLD
from rocframe.schemas.comparisons import chain_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.instances import ModelBatch
    from rocframe.comparisons.paired_decisions import Thresholds
    from rocframe.comparisons.pairing import PairingColumns, Unmatched
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

    A chain of OR starts with the model that has the lowest false positive rate. Each later stage
    adds the model with the next higher rate. A row is predicted positive if at least one model of
    the chain predicts it positive.

    A chain of AND starts with the model that has the highest false positive rate. Each later stage
    adds the model with the next lower rate. A row is predicted positive if all models of the chain
    predict it positive.

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
        Threshold of each model: one number for all models, a mapping from models to numbers, or a
        table of `operating_point` or `at`. The table has the column `threshold` and the column of
        the models, by default `model`. If the table also has group columns, each group has its own
        thresholds. Without thresholds, the scores must be decisions: Boolean, or 1 for a positive
        and 0 for a negative prediction.
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

        - `stage` (Int64) is the number of models in the chain up to and including this stage: 1, 2
          and so on.
        - `model` is the model that the stage adds. Models with the same false positive rate are in
          the order of their true positive rates, lowest first for OR and highest first for AND.
          Models with the same two rates are in the order of their names.
        - `fpr` and `tpr` (Float64) are the measured rates of the chain up to this stage.
        - `tp, fp, fn, tn` are the counts of this chain, Int64, or Float64 if rows are weighted.
        - `fpr_independent` and `tpr_independent` (Float64) are the expected rates if the decisions
          of all models of the chain are independent within each class.

        `fpr_alone` and `tpr_alone` (Float64) are the rates of the model alone, and `threshold`
        (a float) is the threshold of the model. For decisions, `threshold` is null. `n_pos` and
        `n_neg` (Int64) are the numbers of positives and negatives. A row counts `count` times;
        `weight` has no effect on these numbers.

        A rate is null if its class has no rows. If the table given as `threshold=` lacks the
        thresholds of some models of a group, these models are added last. All rates and counts of
        their stages are null. `note` (String) is null, or the first of these values that applies:
        `no_rows, no_positives, no_negatives, one_positive, one_negative`, `no_solution` if a
        threshold is missing, or `unmatched:3` if 3 rows without a matching row of another model
        were left out.

    Raises
    ------
    PairingError
        If `id` does not pair the rows of the models.
    RocframeError
        If a column, an option or a value is invalid, or if a decision is not 0 or 1. It is also
        raised if thresholds are given as a mapping that lacks a model, or as a table with several
        thresholds for the same model.

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
    T. Fawcett (2004), "ROC graphs: notes and practical considerations for researchers", HP
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
    roles = Roles(
        label=label,
        score=score,
        by=by,
        positive=positive,
        weight=weight,
        count=count,
        missing=missing,
    )
    thresholds = parse_model_thresholds(threshold, between)
    pairing = PairingOptions.parse(
        roles, between=between, id=id, unmatched=unmatched, unpaired=None
    )
    return plan_comparison(
        predictions,
        roles,
        pairing,
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
                "stage": np.full(len(group), stage),
                MODEL: np.array(batch.models)[model],
                THRESHOLD: threshold[model, group],
                "n_pos": n_pos,
                "n_neg": n_neg,
                "known": is_known,
                "note": class_notes(n_pos, n_neg, no_solution=~is_known, unmatched=batch.unmatched),
            }
        )
    return stages
