"""The functions `confusion_matrix` and `expand_counts`: classifiers that return decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.curves.curve import trace_curves
from rocframe.decisions.concavities import doubled_pairs, doubled_wins
from rocframe.decisions.costs import CurveRows
from rocframe.errors import ColumnTypeError, MassError, MissingColumnError, OptionValueError
from rocframe.frames import as_input_frame, build_table, column, lazy_plan
from rocframe.inference import class_notes
from rocframe.inputs.cases import RowState, plan_table
from rocframe.inputs.roles import Roles
from rocframe.kernel.arrays import exact_quotient
from rocframe.kernel.groups import groups_of_rows
from rocframe.kernel.scan import Scan
from rocframe.options import NOT_GIVEN, check_group_columns, parse_names, public
from rocframe.rates import CONFUSION, RATES
from rocframe.schemas.curves import confusion_matrix_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.curve import CurveArrays
    from rocframe.frames import FrameT
    from rocframe.inputs.cases import Cases
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores


@public
def confusion_matrix(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Return the ROC point and the confusion matrix of each discrete classifier.

    A discrete classifier returns decisions instead of scores: Boolean, or 1 for a positive and 0
    for a negative prediction. The ROC curve has one point besides (0, 0) and (1, 1).

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The decision: Boolean, or 1 for a positive and 0 for a negative prediction. Several columns,
        a selector or a mapping from models to columns add the group column `model` (String).
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
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
        One row per group, sorted by group: `*by`, (`model`,) `fpr, tpr, auc, below_chance, tp, fp,
        fn, tn, negated_fpr, negated_tpr, n_pos, n_neg, n_missing, note`.

        - `auc` (Float64) is the area under the lines from (0, 0) over the point to (1, 1): (1 + tpr
          - fpr) / 2, or with `missing="worst"`, the AUC of the function `auc`.
        - `below_chance` (Boolean) is true if `tpr` is less than `fpr`. The negated classifier,
          which reverses all decisions, is then better than chance, unless scores are missing.
        - `negated_fpr` and `negated_tpr` (Float64) are its rates, 1 - `fpr` and 1 - `tpr`; with
          `missing="worst"`, rows without a score are errors of both classifiers.
        - `tp, fp, fn, tn` are Int64, or Float64 if rows are weighted. `n_pos`, `n_neg` and
          `n_missing` (Int64) are the numbers of positives, of negatives, and of rows with a missing
          value, without weights.

        A rate is null if its class has no rows; `auc` and `below_chance` are then null too. `note`
        (String) is null or `no_rows`, `no_positives`, `no_negatives`, `one_positive` or
        `one_negative`.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid, or if a decision is not 0 or 1.

    See Also
    --------
    curve : The curve of decisions, with three rows.
    expand_counts : Predictions from given confusion matrices.
    at : The confusion matrix of scores at a threshold.

    References
    ----------
    - T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874, section 3.
      doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 1, 0, 0, 0], "decision": [True, False, False, True, True, False]}
    ... )
    >>> matrix = rf.confusion_matrix(predictions, "label", "decision")
    >>> matrix.select("fpr", "tpr", "auc", "below_chance", "negated_fpr", "negated_tpr")
    shape: (1, 6)
    ┌──────────┬──────────┬──────────┬──────────────┬─────────────┬─────────────┐
    │ fpr      ┆ tpr      ┆ auc      ┆ below_chance ┆ negated_fpr ┆ negated_tpr │
    │ ---      ┆ ---      ┆ ---      ┆ ---          ┆ ---         ┆ ---         │
    │ f64      ┆ f64      ┆ f64      ┆ bool         ┆ f64         ┆ f64         │
    ╞══════════╪══════════╪══════════╪══════════════╪═════════════╪═════════════╡
    │ 0.666667 ┆ 0.333333 ┆ 0.333333 ┆ true         ┆ 0.333333    ┆ 0.666667    │
    └──────────┴──────────┴──────────┴──────────────┴─────────────┴─────────────┘
    """
    roles = Roles(label, score, by, positive, weight, count, missing)
    schema = confusion_matrix_columns(roles.count_dtype)

    def compute(cases: Cases) -> pl.DataFrame:
        used = True if cases.state is None else cases.state == RowState.USED
        hint = 'Use decisions, for example pl.col("score") >= 0.5, or the function at(threshold=).'
        check_decisions(cases.score, np.asarray(used), hint)
        return build_table(*_confusion_columns(trace_curves(Scan.from_cases(cases))), schema)

    return as_input_frame(
        predictions, plan_table(predictions, roles, compute, columns=schema, anchor="n_pos")
    )


def _confusion_columns(curves: CurveArrays) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the keys of the groups, and the columns of the result, from curves of decisions."""
    totals, rows = curves.scan.totals, curves.scan.rows
    first, last = curves.starts[:-1], curves.starts[1:] - 1
    row = first + np.add.reduceat(curves.threshold == 1, first)
    counts = {name: values[row] for name, values in curves.counts.items()}
    # If the decisions are reversed, rows without a decision are still errors.
    unscored_fn, unscored_fp = curves.counts["fn"][last], curves.counts["fp"][first]
    negated = {
        "tp": counts["fn"] - unscored_fn,
        "fp": counts["tn"] + unscored_fp,
        "fn": counts["tp"] + unscored_fn,
        "tn": counts["fp"] - unscored_fp,
    }
    (fpr, tpr), (negated_fpr, negated_tpr) = (
        [RATES[name].evaluate(matrix) for name in ("fpr", "tpr")] for matrix in (counts, negated)
    )
    curve = groups_of_rows(curves.starts, np.arange(len(curves.threshold)))
    tp, fp, scores = curves.counts["tp"], curves.counts["fp"], curves.scan.codec.scores
    sizes: dict[str, Any] = {"pos": totals.pos[curve], "neg": totals.neg[curve], "scores": scores}
    all_rows = CurveRows(curve=curve, threshold=curves.threshold, tp=tp, fp=fp, **sizes)
    wins = doubled_wins(all_rows, all_rows.threshold, len(row))
    return rows.keys, {
        **counts,
        "fpr": fpr,
        "tpr": tpr,
        "auc": exact_quotient(wins, doubled_pairs(all_rows, len(row))),
        "below_chance": pl.Series(tpr < fpr).set(pl.Series(np.isnan(tpr - fpr)), None),
        "negated_fpr": negated_fpr,
        "negated_tpr": negated_tpr,
        "n_pos": totals.pos_rows,
        "n_neg": totals.neg_rows,
        "n_missing": rows.unscored.n_missing,
        "note": class_notes(totals.pos_rows, totals.neg_rows).tolist(),
    }


def check_decisions(score: NDArray[Any], used: NDArray[np.bool_], hint: str) -> None:
    """Raise an error if a score is not 0 or 1; `used` selects the rows that are checked."""
    other = used & (score != 0) & (score != 1)
    if other.any():
        value = float(score[int(np.argmax(other))])
        problem = "the scores must be decisions: 0 or 1, or Boolean values"
        raise OptionValueError.compose("score", value, problem, hint)


def _checked_counts(values: pl.Series) -> pl.Series:
    """Return counts as Int64; raise an error if they are negative or too large."""
    counts = values.cast(pl.Int64, strict=False)
    if ((counts < 0) | (counts.is_null() & values.is_not_null())).any():
        # `values` can be a part of the column, so the number of invalid rows is unknown.
        raise MassError(
            f"table: column {values.name!r} has values that are negative or above the maximum of "
            "Int64.\nCorrect these rows, or remove them with .filter()."
        )
    return counts


EXPANDED = {"label": pl.Boolean(), "decision": pl.Boolean(), "count": pl.Int64()}


@public
def expand_counts(table: FrameT, /, *, by: By = None) -> FrameT:
    """Convert confusion matrices to predictions that have these confusion matrices.

    Pass the result, with `count="count"`, to any function of predictions that has this argument.
    Its curves have three points: all predictions negative, the confusion matrix, and all positive.

    Parameters
    ----------
    table : DataFrame, LazyFrame or Arrow table
        One confusion matrix per row, with the integer columns `tp, fp, fn, tn`.
    by : str, Expr, selector or sequence, default None
        Group columns. The result has the same group columns.

    Returns
    -------
    DataFrame or LazyFrame
        Four rows per confusion matrix: `*by, label, decision` (Boolean) and `count` (Int64), the
        number of predictions with this label and decision. `label` and `decision` are never null.
        `count` is null if the corresponding count of the table is null.

    Raises
    ------
    RocframeError
        If a column is missing or not an integer column, if a count is negative or above the maximum
        of Int64 (raised by `collect` for a LazyFrame), or if a group column is named `label`,
        `decision` or `count`.

    See Also
    --------
    confusion_matrix : The confusion matrix of predictions.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> matrices = pl.DataFrame(
    ...     {"model": ["a", "b"], "tp": [6, 8], "fp": [1, 3], "fn": [4, 2], "tn": [9, 7]}
    ... )
    >>> predictions = rf.expand_counts(matrices, by="model")
    >>> rf.curve(predictions, "label", "decision", by="model", count="count")
    shape: (6, 8)
    ┌───────┬───────────┬─────┬─────┬─────┬─────┬─────┬─────┐
    │ model ┆ threshold ┆ tp  ┆ fp  ┆ fn  ┆ tn  ┆ fpr ┆ tpr │
    │ ---   ┆ ---       ┆ --- ┆ --- ┆ --- ┆ --- ┆ --- ┆ --- │
    │ str   ┆ f64       ┆ i64 ┆ i64 ┆ i64 ┆ i64 ┆ f64 ┆ f64 │
    ╞═══════╪═══════════╪═════╪═════╪═════╪═════╪═════╪═════╡
    │ a     ┆ inf       ┆ 0   ┆ 0   ┆ 10  ┆ 10  ┆ 0.0 ┆ 0.0 │
    │ a     ┆ 1.0       ┆ 6   ┆ 1   ┆ 4   ┆ 9   ┆ 0.1 ┆ 0.6 │
    │ a     ┆ 0.0       ┆ 10  ┆ 10  ┆ 0   ┆ 0   ┆ 1.0 ┆ 1.0 │
    │ b     ┆ inf       ┆ 0   ┆ 0   ┆ 10  ┆ 10  ┆ 0.0 ┆ 0.0 │
    │ b     ┆ 1.0       ┆ 8   ┆ 3   ┆ 2   ┆ 7   ┆ 0.3 ┆ 0.8 │
    │ b     ┆ 0.0       ┆ 10  ┆ 10  ┆ 0   ┆ 0   ┆ 1.0 ┆ 1.0 │
    └───────┴───────────┴─────┴─────┴─────┴─────┴─────┴─────┘
    """
    keys = parse_names(by)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        check_group_columns(keys, schema, tuple(EXPANDED))
        for name in CONFUSION:
            if name not in schema:
                raise MissingColumnError.of_table("table", name, schema)
            if not schema[name].is_integer():
                hint = "Counts must be integers. Cast the column first."
                raise ColumnTypeError.of_table("table", name, schema[name], hint)
        values = {"label": [True, False, True, False], "decision": [True, True, False, False]}
        lists = [pl.lit(pl.Series([cells])).first().alias(name) for name, cells in values.items()]
        counts = pl.concat_list(
            column(name).map_batches(_checked_counts, return_dtype=pl.Int64, is_elementwise=True)
            for name in CONFUSION
        )
        return plan.select(*(column(name) for name in keys), *lists, counts.alias("count")).explode(
            *EXPANDED
        )

    return as_input_frame(table, lazy_plan("table", table).pipe_with_schema(resolve))
