"""The function `repaired_auc`: how the repair of concavities changes the AUC on other data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from rocframe.curves.table import COMPLETE_CURVES, check_ends
from rocframe.decisions.concavities import (
    Intervals,
    Which,
    doubled_pairs,
    doubled_wins,
    find_concavities,
    parse_concavities,
)
from rocframe.decisions.optimum import CurveRows
from rocframe.decisions.other_folds import pooled_other_curves
from rocframe.decisions.transfer import plan_transfer
from rocframe.frames import build_table, find_keys, number_keys, select_keys
from rocframe.inference.notes import class_notes
from rocframe.kernel.exact import exact_quotient
from rocframe.options import check_choice, check_supported, parse_integer, public
from rocframe.schemas.decisions import REPAIRED_AUC

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.schemas.table_type import Schema


@public
def repaired_auc(
    curves: FrameT,
    /,
    *,
    over: str = "fold",
    chosen: pl.DataFrame | None = None,
    which: Which = "largest",
    min_rows: int = 1,
    by: By = None,
) -> FrameT:
    """Measure the change of the AUC if concavities that were found on other data are repaired.

    For each fold, concavities are found on the pooled rows of all other folds. The order of the
    scores of this fold is then reversed within these concavities. With `chosen=`, the concavities
    of a given table are repaired instead, such as concavities that were found on validation data.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    over : str, default "fold"
        Group column with the parts of the data. For each curve, concavities are found on the pooled
        rows of the other curves that differ from it only in `over`, such as the other folds of the
        same model. Not used with `chosen`.
    chosen : DataFrame, default None
        A table of `concavities`, whose group columns must be group columns of `curves`.
    which : {"largest", "all"}, default "largest"
        The concavities of each group that are repaired: the one with the largest area, or all. If
        several concavities have the largest area, the concavity with the highest scores is
        repaired.
    min_rows : int, default 1
        Repair only concavities with at least this number of rows, or this sum of weights. With the
        default 1, no concavity is left out because of its size, even if its sum of weights is below
        1. Not used with `chosen`.
    by : str or sequence of str, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        `*by, gain_realised, gain_chosen, optimism, auc_repaired, auc, n_concavities, note`; one row
        per curve.

        - `auc` is the AUC of the curve, and `auc_repaired` its AUC after the repair.
        - `gain_realised` is `auc_repaired - auc`.
        - `gain_chosen` is twice the area of the repaired concavities: the increase of the AUC on
          the data in which they were found.
        - `optimism` is `gain_chosen - gain_realised`.
        - `n_concavities` (Int64) is the number of repaired concavities. If `n_concavities` is 0,
          each gain is 0, unless it is null for one of the reasons below.

        All other numbers are Float64.

        - `auc`, `auc_repaired`, `gain_realised` and `optimism` are null if the curve lacks a class.
        - `gain_chosen` and `optimism` are null if the pooled data of the other folds lack a class.
        - `note` (String) describes the rows of the curve or, if it has no note and the pooled data
          of the other folds lack a class, the pooled data. It is null or `no_rows`,
          `no_positives`, `no_negatives`, `one_positive` or `one_negative`.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a curve lacks some of its rows, if `over` is not a
        group column, if a concavity has infinite scores, or if an option is invalid or unused.

    See Also
    --------
    concavities : The concavities of curves.
    repair_scores : The repaired scores of predictions.

    Notes
    -----
    The scores of all folds are compared with the same thresholds. Therefore, all scores must be on
    the same scale, such as probabilities.

    If a concavity is due to chance, the scores are in the correct order in other data. The repair
    reverses this order, and `gain_realised` is negative. Repair scores only if the gain is positive
    in most folds.

    References
    ----------
    P. A. Flach, S. Wu (2005), "Repairing concavities in ROC curves", Proceedings of the 19th
    International Joint Conference on Artificial Intelligence, 702-707.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> votes = rf.datasets.vote()
    >>> curves = rf.curve(votes, "label", "score", by=["model", "fold"])
    >>> repaired = rf.repaired_auc(curves)
    >>> repaired.group_by("model", maintain_order=True).agg(
    ...     pl.col("gain_realised", "gain_chosen").mean(),
    ...     better=(pl.col("gain_realised") > 0).sum(),
    ... )
    shape: (6, 4)
    ┌─────────────────────┬───────────────┬─────────────┬────────┐
    │ model               ┆ gain_realised ┆ gain_chosen ┆ better │
    │ ---                 ┆ ---           ┆ ---         ┆ ---    │
    │ str                 ┆ f64           ┆ f64         ┆ u32    │
    ╞═════════════════════╪═══════════════╪═════════════╪════════╡
    │ decision_tree       ┆ -0.002937     ┆ 0.009576    ┆ 0      │
    │ linear_svm          ┆ -0.00263      ┆ 0.003617    ┆ 3      │
    │ logistic_regression ┆ -0.005698     ┆ 0.004144    ┆ 2      │
    │ naive_bayes         ┆ -0.007385     ┆ 0.004216    ┆ 3      │
    │ nearest_neighbours  ┆ 0.001158      ┆ 0.001465    ┆ 4      │
    │ random_forest       ┆ -0.003498     ┆ 0.000506    ┆ 1      │
    └─────────────────────┴───────────────┴─────────────┴────────┘
    """
    keys: dict[str, pl.DataType] = {}
    min_rows = parse_integer("min_rows", min_rows, example=10)
    check_choice("which", which, get_args(Which))
    if chosen is not None:
        check_supported("min_rows", min_rows, "chosen=", default=1)
        keys = {name: chosen.schema[name] for name in parse_concavities("chosen", chosen)}

    def compute(curves: Curves, columns: Schema) -> pl.DataFrame:
        if chosen is None:
            result = _repair_over_folds(curves, over, which, min_rows)
        else:
            result = _repair_chosen(curves, chosen, tuple(keys), which)
        return build_table(curves.keys, result, columns)

    return plan_transfer(
        curves,
        compute,
        over=over if chosen is None else None,
        keys=None if chosen is None else keys,
        columns=lambda _: REPAIRED_AUC.columns(),
        by=by,
        anchor="n_concavities",
    )


def _repair_over_folds(curves: Curves, over: str, which: Which, min_rows: int) -> dict[str, Any]:
    """Return the columns of the result of `repaired_auc` without `chosen=`.

    Each curve is repaired in the concavities of the pooled other curves of its group.
    """
    others, n_curves = pooled_other_curves(curves, over), len(curves.firsts)
    parts = find_concavities(others, min_rows)
    intervals = Intervals.from_other_folds(others, parts, curves.keys, which)
    result = _gain_columns(curves, intervals, np.arange(n_curves), n_curves)
    has_both = np.asarray(doubled_pairs(others, n_curves) > 0, bool)
    for name in ("gain_chosen", "optimism"):
        result[name] = np.where(has_both, result[name], np.nan)
    pos, neg = np.zeros((2, n_curves))
    pos[others.curve], neg[others.curve] = others.pos, others.neg
    of_others = class_notes(pos, neg)
    result["note"] = [
        own if own is not None or is_chosen else other
        for own, is_chosen, other in zip(result["note"], has_both, of_others, strict=True)
    ]
    return result


def _repair_chosen(
    curves: Curves, chosen: pl.DataFrame, keys: tuple[str, ...], which: Which
) -> dict[str, Any]:
    """Return the columns of the result of `repaired_auc` with `chosen=`.

    Each curve is repaired in the concavities of `chosen` with the same key.
    """
    check_ends(curves, "its area cannot be computed", COMPLETE_CURVES)
    distinct, group = number_keys(chosen, keys)
    intervals = Intervals.from_table("chosen", chosen, distinct, group, which, scores=curves.scores)
    key_of = find_keys(select_keys(curves.keys, keys), distinct).fill_null(-1).to_numpy()
    return _gain_columns(curves, intervals, key_of, distinct.height)


def _gain_columns(
    curves: Curves, intervals: Intervals, group: NDArray[np.int64], n_groups: int
) -> dict[str, Any]:
    """Return the gains, the optimism and the areas of each curve as columns.

    Each curve is repaired in the intervals of `group`, -1 for no group.
    """
    rows = CurveRows.from_curves(curves)
    auc, auc_repaired, gain = _repaired_areas(rows, intervals, group[rows.curve], len(group))
    # The last element, with the index -1, is for curves without a group.
    n_concavities = np.bincount(intervals.group, minlength=n_groups + 1)
    area = np.bincount(intervals.group, intervals.area, n_groups + 1).astype(np.float64)
    gain_chosen = 2 * area[group]
    return {
        "gain_realised": gain,
        "gain_chosen": gain_chosen,
        "optimism": gain_chosen - gain,
        "auc_repaired": auc_repaired,
        "auc": auc,
        "n_concavities": n_concavities[group],
        "note": class_notes(curves.pos, curves.neg).tolist(),
    }


def _repaired_areas(
    rows: CurveRows, intervals: Intervals, group: NDArray[np.int64], n_curves: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the areas of curves before and after the repair, and their differences.

    `group` has the group number in `intervals` of each row.
    """
    pairs = doubled_pairs(rows, n_curves)
    before = doubled_wins(rows, rows.threshold, n_curves)
    after = doubled_wins(rows, intervals.reverse(rows.threshold, group), n_curves)
    auc, auc_repaired, gain = (
        exact_quotient(wins, pairs) for wins in (before, after, after - before)
    )
    return auc, auc_repaired, gain
