"""The function `pooling_gap`: why the pooled AUC differs from the mean AUC of the folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.areas.pairs import count_pairs
from rocframe.averages.fold_auc import Folds, fold_table
from rocframe.inference.bootstrap import nearly_equal
from rocframe.inputs.roles import Roles
from rocframe.kernel.codec import ReservedCode
from rocframe.kernel.groups import RowGroups, run_starts, sort_rows
from rocframe.kernel.scan import BLOCK_ROWS, Scan
from rocframe.kernel.threads import run_parallel
from rocframe.options import NOT_GIVEN, public
from rocframe.schemas.averages import POOLING_GAP

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kernel.groups import SortedRows


@public
def pooling_gap(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    over: str | Sequence[str] = "fold",
    by: By = None,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Decompose the difference between the pooled AUC and the mean AUC of the folds of each group.

    Each positive row forms a pair with each negative row. A pair is correct if the positive has the
    higher score. The pooled AUC is the share of correct pairs. Each fold has scores of its own
    model. In a pair within a fold, both scores are therefore from the same model. In a pair between
    folds, the scores are from different models. Therefore, if a constant is added to all scores of
    one fold, the pooled AUC can change, but the mean AUC does not change.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    over : str or sequence of str, default "fold"
        Columns that identify the fold in which a row was tested.
    by : str or sequence of str, default None
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
        `*by`, (`model`,) `gap, pooled_auc, mean_auc, gap_between, gap_within, between_share,
        between_auc, within_auc, worst_positives, worst_negatives, worst_auc, worst_gap, n_curves,
        n_pos, n_neg, n_missing, note`; one row per group, sorted by group. Columns are Float64
        unless stated otherwise.

        - `gap` is `pooled_auc` minus `mean_auc`, and the sum of `gap_between` and `gap_within`.
        - `gap_between` is `pooled_auc` minus `within_auc`: the effect of pairs between folds.
        - `gap_within` is `within_auc` minus `mean_auc`: the effect of unequal fold sizes. A large
          fold has more pairs, but all folds have the same weight in the mean.
        - `between_share` is the proportion of pairs that are between folds.
        - `between_auc` and `within_auc` are the AUCs of the pairs between folds and within folds.
        - `worst_positives` and `worst_negatives` (String) are the two folds whose pairs have the
          largest effect on `gap_between`. Each of these pairs is a positive of the fold
          `worst_positives` and a negative of the fold `worst_negatives`. If several combinations of
          two folds have the same largest effect, the first combination in the order of the folds is
          used.
        - `worst_auc` is the AUC of these pairs, and `worst_gap` is their contribution to
          `gap_between`.
        - `n_curves` (Int64) is the number of folds with both classes.
        - `n_pos`, `n_neg` and `n_missing` (Int64) are the numbers of positives, of negatives, and
          of rows with a missing value, in all folds together.
        - `note` (String) is as in `fold_auc`.

        An AUC is null if there are no pairs of its type.

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.
    MissingColumnError
        If `over` is not a column.
    OptionValueError
        If `over` is not one or more names.

    See Also
    --------
    fold_auc : The mean of the areas of folds, and its interval.

    Notes
    -----
    Time and memory grow with the square of the number of folds. For 2,000 folds, the computation
    takes seconds; 10,000 folds need several gigabytes.

    References
    ----------
    G. Forman, M. Scholz (2010), "Apples-to-apples in cross-validation studies: pitfalls in
    classifier performance measurement", ACM SIGKDD Explorations 12(1), 49-57.
    doi:10.1145/1882471.1882479

    Examples
    --------
    The AUC of each fold is 1, but the scores of the second fold are lower:

    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"fold": [1, 1, 2, 2], "label": [1, 0, 1, 0], "score": [0.9, 0.8, 0.3, 0.2]}
    ... )
    >>> gap = rf.pooling_gap(predictions, "label", "score", over="fold")
    >>> gap.select("pooled_auc", "mean_auc", "gap_between", "worst_positives", "worst_negatives")
    shape: (1, 5)
    ┌────────────┬──────────┬─────────────┬─────────────────┬─────────────────┐
    │ pooled_auc ┆ mean_auc ┆ gap_between ┆ worst_positives ┆ worst_negatives │
    │ ---        ┆ ---      ┆ ---         ┆ ---             ┆ ---             │
    │ f64        ┆ f64      ┆ f64         ┆ str             ┆ str             │
    ╞════════════╪══════════╪═════════════╪═════════════════╪═════════════════╡
    │ 0.75       ┆ 1.0      ┆ -0.25       ┆ 2               ┆ 1               │
    └────────────┴──────────┴─────────────┴─────────────────┴─────────────────┘
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
    return fold_table(predictions, roles, over, _pooling_gap_columns, POOLING_GAP.columns())


class FoldPairs(NamedTuple):
    """Numbers of pairs of a positive and a negative, as matrices.

    Rows are the folds of the positives, and columns the folds of the negatives. `wins` is the
    number of pairs in which the positive has the higher score; ties count one half. `pairs` is the
    number of all pairs.
    """

    wins: NDArray[np.float64]
    pairs: NDArray[np.float64]


def _pooling_gap_columns(folds: Folds) -> dict[str, Any]:
    """Return the columns of the result that only `pooling_gap` computes."""
    cases = folds.cases
    rows = sort_rows(folds.pooled_cases, with_positions=True)
    fold = RowGroups.from_keys(cases.keys, len(cases.negative)).number
    sizes = np.diff(folds.starts)
    # `position` is the number of a fold within its group.
    position = np.arange(len(folds.area)) - np.repeat(folds.starts[:-1], sizes)
    assert rows.row is not None
    fold_position = position[fold[rows.row]]
    groups = range(len(folds.starts) - 1)
    fold_pairs = run_parallel(
        lambda group: _count_fold_pairs(rows, fold_position, group, int(sizes[group])), groups
    )
    pooled = count_pairs(Scan.from_rows(rows)).areas[0]
    mean = folds.areas.mean[:, 0]
    parts = [
        _decompose_gap(pairs, folds.names[folds.starts[group] : folds.starts[group + 1]])
        for group, pairs in enumerate(fold_pairs)
    ]
    columns: dict[str, Any] = {
        "pooled_auc": pooled,
        "gap": pooled - mean,
        **{name: [part[name] for part in parts] for name in parts[0]},
    }
    within = np.array(columns["within_auc"], np.float64)
    return {**columns, "gap_between": pooled - within, "gap_within": within - mean}


def _count_fold_pairs(
    rows: SortedRows, fold_position: NDArray[np.int64], group: int, size: int
) -> FoldPairs:
    """Return the numbers of pairs of a group, for each fold of the positive and of the negative.

    `fold_position` is the number of the fold of each row within its group, and `size` is the number
    of folds of the group.
    """
    start, end = rows.starts[group], rows.ends[group]
    group_rows = slice(start, rows.starts[group + 1])
    row_weight = (
        np.ones(group_rows.stop - start)
        if rows.weights is None
        else rows.weights.row_weight[group_rows]
    )
    negative = (rows.codes[group_rows] & 1).astype(bool)
    code = rows.codes[group_rows] >> 1
    counted = np.arange(len(code)) < end - start
    counted |= code == rows.codec.reserved(ReservedCode.UNSCORED)

    def by_fold(selected: NDArray[np.bool_]) -> NDArray[np.float64]:
        sums = np.bincount(
            fold_position[group_rows][selected], row_weight[selected], minlength=size
        )
        return sums.astype(np.float64)

    scored = int(end - start)
    step = np.cumsum(np.diff(code[:scored], prepend=code[:1]) != 0)
    below = by_fold(negative & (np.arange(len(code)) < scored))
    wins = np.zeros((size, size))
    # Distinct scores are processed in blocks, from the highest to the lowest score. `below` is the
    # number of scored negatives of each fold that are in this block or a later block.
    first, last = 0, int(step[-1]) + 1 if scored else 0
    block = max(1, 2 * BLOCK_ROWS // size)
    while first < last:
        stop = min(first + block, last)
        a, b = np.searchsorted(step, [first, stop])
        block_rows = slice(start + a, start + b)
        index = (step[a:b] - first) * size + fold_position[block_rows]
        pos, neg = (
            np.bincount(
                index, np.where(side, row_weight[a:b], 0), minlength=(stop - first) * size
            ).reshape(-1, size)
            for side in (~negative[a:b], negative[a:b])
        )
        cumulative = np.cumsum(neg, axis=0)
        _add_pairs(wins, pos, below - cumulative + neg / 2)
        below = below - cumulative[-1]
        first = stop
    return FoldPairs(wins, np.outer(by_fold(~negative & counted), by_fold(negative & counted)))


def _add_pairs(wins: NDArray[np.float64], pos: NDArray[Any], lower: NDArray[np.float64]) -> None:
    """Add the correctly ranked pairs of several scores to the matrix `wins`.

    `pos` has the number of positives with each score (row) in each fold (column), and `lower` the
    number of negatives with a lower score. Without ties, each score has positives of one fold only.
    A matrix product would mostly add zeros, so the pairs are then added fold by fold.
    """
    if 4 * np.count_nonzero(pos) > pos.size:
        wins += pos.T @ lower
        return
    fold, step = np.nonzero(pos.T)
    block = max(1, 2 * BLOCK_ROWS // len(wins))
    for start in range(0, len(fold), block):
        folds, steps = fold[start : start + block], step[start : start + block]
        starts = run_starts(folds)
        pairs = pos[steps, folds][:, None] * lower[steps]
        wins[folds[starts]] += np.add.reduceat(pairs, starts, axis=0)


def _decompose_gap(table: FoldPairs, names: NDArray[np.object_]) -> dict[str, Any]:
    """Return the columns of the result that are computed from the pairs of one group.

    `names` are the keys of the folds as text.
    """
    total, is_between = table.pairs.sum(), ~np.eye(len(names), dtype=bool)
    result: dict[str, Any] = dict.fromkeys(
        ("between_share", "between_auc", "within_auc", "worst_auc", "worst_gap"), np.nan
    )
    result |= dict.fromkeys(("worst_positives", "worst_negatives"))
    wins, pairs = (matrix * is_between for matrix in table)
    between, within = pairs.sum(), np.trace(table.pairs)
    if total > 0:
        result["between_share"] = between / total
    if between > 0:
        result["between_auc"] = wins.sum() / between
    if within > 0:
        result["within_auc"] = np.trace(table.wins) / within
    if between > 0 and within > 0:
        expected = result["within_auc"] * pairs
        effect = np.where(nearly_equal(wins, expected, scale=pairs), 0, wins - expected) / total
        size = np.abs(effect)
        is_largest = nearly_equal(size, size.max(), scale=0)
        i, j = np.unravel_index(np.argmax(is_largest), effect.shape)
        if effect[i, j]:
            result |= {"worst_positives": names[i], "worst_negatives": names[j]}
            result["worst_auc"] = table.wins[i, j] / table.pairs[i, j]
            result["worst_gap"] = effect[i, j]
    return result
