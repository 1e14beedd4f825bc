"""The function `combine`: the decisions of two models joined by AND and OR."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.comparisons.instances import model_batches, read_instances
from rocframe.comparisons.paired_decisions import (
    OPERATORS,
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
from rocframe.comparisons.pairing import PairingOptions, build_model_table, plan_comparison
from rocframe.inference.notes import class_notes
from rocframe.inputs.roles import Roles
from rocframe.options import NOT_GIVEN, public
from rocframe.schemas.columns import MODEL
from rocframe.schemas.comparisons import combination_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.comparisons.instances import ModelBatch
    from rocframe.comparisons.paired_decisions import Thresholds
    from rocframe.comparisons.pairing import PairingColumns, Unmatched
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

    AND predicts a row positive if both models predict it positive. OR predicts a row positive if at
    least one model predicts it positive. The result has the measured rates, the lowest and highest
    possible rates, and the expected rates of independent decisions.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives.
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
        `*by`, `fpr, tpr, fpr_independent, tpr_independent, fpr_min, fpr_max, tpr_min, tpr_max, tp,
        fp, fn, tn, fpr_a, tpr_a, fpr_b, tpr_b, threshold_a, threshold_b, n_pos, n_neg, model_a,
        model_b, operator, note`; two rows per group and pair of models that both have rows in the
        group, sorted by group, `model_a`, `model_b` and `operator`.

        - `operator` (String) is `"and"` or `"or"`.
        - `fpr` and `tpr` (Float64) are the measured rates of AND or OR.
        - `tp, fp, fn, tn` are the counts, Int64, or Float64 if rows are weighted.

        - `fpr_independent` and `tpr_independent` (Float64) are the expected rates if the decisions
          of both models are independent within each class. `tpr_independent` is `tpr_a * tpr_b` for
          AND, and `tpr_a + tpr_b - tpr_a * tpr_b` for OR.
        - `fpr_min`, `fpr_max`, `tpr_min` and `tpr_max` (Float64) are the lowest and the highest
          possible rates. `tpr_min` is `max(0, tpr_a + tpr_b - 1)` for AND and `max(tpr_a, tpr_b)`
          for OR. `tpr_max` is `min(tpr_a, tpr_b)` for AND and `min(1, tpr_a + tpr_b)` for OR.

        - `fpr_a`, `tpr_a`, `fpr_b` and `tpr_b` (Float64) are the rates of both models on the rows
          that both scored.
        - `threshold_a` and `threshold_b` (floats) are the thresholds of the two models. They are
          null if the models have decisions instead of scores.
        - `n_pos` and `n_neg` (Int64) are the numbers of positives and negatives. A row counts
          `count` times; `weight` has no effect on these numbers.

        A rate is null if its class has no rows. If the table given as `threshold=` has no threshold
        for a model in the group, all rates and counts of pairs with this model are null. `note`
        (String) is null, or the first of these values that applies: `no_rows, no_positives,
        no_negatives, one_positive, one_negative`, `no_solution` if a threshold is missing, or
        `unmatched:3` if 3 rows without a matching row of another model were left out.

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
    combine_points : The possible and the expected rates, without the predictions.
    chain : Combine all models of a group, one after the other.
    mix : Choose randomly between two thresholds or models.

    Notes
    -----
    The rates of two models do not determine the rates of their combination. To measure the rates of
    the combination, the decisions of both models on the same rows are needed. The point of a
    combination can be above the convex hull of the points of both models.

    References
    ----------
    T. Fawcett (2004), "ROC graphs: notes and practical considerations for researchers", HP
    Laboratories, Palo Alto, section 7.4.3.

    M. Fréchet (1935), "Généralisation du théorème des probabilités totales", Fundamenta
    Mathematicae 25, 379-387. doi:10.4064/fm-25-1-379-387

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
                "model_a": np.full(len(batch.groups), a),
                "model_b": np.full(len(batch.groups), b),
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
                {"operator": np.full(len(batch.groups), operator), **shared}
                | {name: values[i] for name, values in rates.items()}
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
