"""The functions `tie_bounds` and `ties`: areas over all orders of tied rows, and the tied rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from rocframe.areas.area import area_per_positive, areas_of_ties, step_sum, steps_at_prevalence
from rocframe.areas.pairs import Steps
from rocframe.curves.locate import log_growth, precision_recall_integral
from rocframe.curves.table import COMPLETE_CURVES, check_ends, plan_curves
from rocframe.frames import build_table
from rocframe.kernel.groups import groups_of_rows
from rocframe.kinds import parse_metrics
from rocframe.options import check_choice, public
from rocframe.schemas.curves import tie_columns
from rocframe.schemas.statistics import TIE_BOUNDS_COLUMNS
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.schemas.table_type import Schema

    Bounds: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]

DIRECT_TERMS = 64  # the first terms of a sum of reciprocals, which are added one by one


@public
def tie_bounds(
    curves: FrameT,
    /,
    *,
    metrics: str | Sequence[str] = ("auc", "ks", "eer", "average_precision", "pr_auc"),
    by: By = None,
) -> FrameT:
    """Return the range of areas, KS and EER of each curve over all orders of tied rows.

    Rows are tied if they have the same score, for example because `compress` rounded their scores.
    The value of a metric for the original scores is then between the columns `pessimistic` and
    `optimistic`.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    metrics : str or sequence of str
        Which of `"auc"`, `"ks"`, `"eer"`, `"average_precision"` and `"pr_auc"`; by default, all.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and metric, in the order of `metrics`: `*by, metric, estimate,
        pessimistic, optimistic`. `metric` is a String, all others are Float64 in [0, 1].

        `estimate` is the value for the curve, `pessimistic` and `optimistic` are the worst and the
        best value over all ways to separate tied rows. For `eer`, lower values are better. All are
        null if there are no positives; for `auc`, `ks`, `eer`, and at a given `prevalence=`, also
        if there are no negatives. `estimate` is null for a curve with several scores between two
        given thresholds (`thresholds=`), which are treated as tied.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a metric is unknown, or if a curve lacks its first or
        its last rows.

    See Also
    --------
    compress : Rounds scores, so that tables of predictions become small.
    ties : The tied scores of each curve, and how much they can change the AUC.
    auc : Also returns the bounds of the AUC and of partial areas.

    Notes
    -----
    The pessimistic `average_precision` is exact for ties of at most 64 positives; each tie with
    more makes it too low by less than 0.001 / P, where P is the number of positives. With weights,
    it is that of `pr_auc`.

    References
    ----------
    - T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874, figure 6.
      doi:10.1016/j.patrec.2005.10.010
    - J. Davis, M. Goadrich (2006), ICML, 233-240. doi:10.1145/1143844.1143874

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 0, 1, 0, 0], "score": [0.93, 0.81, 0.85, 0.62, 0.64, 0.3]}
    ... )
    >>> rounded = rf.compress(predictions, "label", "score", resolution=0.125)
    >>> rf.tie_bounds(rf.curve(rounded, "label", "score", count="count"))
    shape: (5, 4)
    ┌───────────────────┬──────────┬─────────────┬────────────┐
    │ metric            ┆ estimate ┆ pessimistic ┆ optimistic │
    │ ---               ┆ ---      ┆ ---         ┆ ---        │
    │ str               ┆ f64      ┆ f64         ┆ f64        │
    ╞═══════════════════╪══════════╪═════════════╪════════════╡
    │ auc               ┆ 0.722222 ┆ 0.666667    ┆ 0.777778   │
    │ ks                ┆ 0.333333 ┆ 0.333333    ┆ 0.666667   │
    │ eer               ┆ 0.333333 ┆ 0.333333    ┆ 0.333333   │
    │ average_precision ┆ 0.755556 ┆ 0.755556    ┆ 0.866667   │
    │ pr_auc            ┆ 0.776122 ┆ 0.716083    ┆ 0.851238   │
    └───────────────────┴──────────┴─────────────┴────────────┘
    """

    def parse(metric: object) -> tuple[str, str]:
        check_choice("metrics", metric, BOUNDS)
        return str(metric), str(metric)

    names = list(parse_metrics(metrics, parse, example="auc"))

    return plan_curves(
        curves, by, TIE_BOUNDS_COLUMNS, partial(_bounds_table, names=names), anchor="metric"
    )


def _bounds_table(curves: Curves, columns: Schema, *, names: Sequence[str]) -> pl.DataFrame:
    """Return the value and the two bounds of each metric of each curve."""
    check_ends(
        curves,
        "the bounds are unknown",
        "Compute the curve without thresholds=, and keep all its rows.",
        gaps=True,
    )
    length, n_names = len(curves.firsts), len(names)
    # The bounds of a group are neighbors: its metrics in the order of `names`.
    bounds = np.full((3, length, n_names), np.nan)
    if length:
        for i, name in enumerate(names):
            bounds[:, :, i] = BOUNDS[name](curves)
    bounds[0, curves.has_gaps] = np.nan  # only the bounds are known
    metric = pl.Series(names, dtype=pl.String).gather(np.arange(length * n_names) % n_names)
    values = dict(zip(columns, [metric, *bounds.reshape(3, -1)], strict=True))
    rows = np.repeat(np.arange(length), n_names)
    return build_table(curves.keys, values, columns, rows=rows)


def _ks_bounds(curves: Curves) -> Bounds:
    """Return the largest TPR - FPR of each curve, and its bounds; NaN if a class is absent."""
    tpr, fpr, fpr0 = Steps.from_curves(curves).rates("tp", "fp", "fp0")
    value, highest = (np.maximum.reduceat(tpr - rate, curves.firsts) for rate in (fpr, fpr0))
    # The first row of a curve with unscored negatives has FPR > 0, and a threshold of inf.
    value, highest = np.clip(value, 0, 1), np.clip(highest, 0, 1)
    return value, value, highest


def _eer_bounds(curves: Curves) -> Bounds:
    """Return the FPR of each curve at which FPR = 1 - TPR, its highest and its lowest value."""
    steps = Steps.from_curves(curves)
    crossing = steps.equal_errors()
    group = groups_of_rows(curves.starts, crossing.step)
    has_both = (steps.pos > 0) & (steps.neg > 0)
    # A curve that ends above the line, because positives are unscored, does not cross it.
    bounds = np.where(has_both, np.ones((3, len(has_both))), np.nan)
    bounds[0, group] = crossing.rate
    bounds[1, group] = np.minimum(crossing.fpr, 1 - crossing.tpr0)
    bounds[2, group] = np.maximum(crossing.fpr0, 1 - crossing.tpr)
    value, highest, lowest = bounds
    return value, highest, lowest


def _pr_auc_bounds(curves: Curves) -> Bounds:
    """Return the area under each precision-recall curve, and along its two step curves."""
    steps = steps_at_prevalence(curves)
    fp0, fp = steps.fp0, steps.fp
    value, lowest, highest = (
        area_per_positive(curves, precision_recall_integral(steps.tp, last_fp, steps.tp0, first_fp))
        for first_fp, last_fp in ((fp0, fp), (fp, fp), (fp0, fp0))
    )
    return value, lowest, highest


def _average_precision_bounds(curves: Curves) -> Bounds:
    """Return the average precision of each curve, its lowest and its highest value."""
    steps = steps_at_prevalence(curves)
    tp, fp, tp0 = steps.tp, steps.fp, steps.tp0
    if curves.columns["tp"].dtype.kind == "f":
        lowest = precision_recall_integral(tp, fp, tp0, fp)
    else:
        lowest = _lowest_precision_sum(tp, fp, tp0)
    sums = (step_sum(tp, fp, tp0), lowest, step_sum(tp, steps.fp0, tp0))
    value, lowest, highest = (area_per_positive(curves, steps) for steps in sums)
    return value, lowest, highest


def _lowest_precision_sum(
    tp: NDArray[np.float64], fp: NDArray[np.float64], tp0: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sum of the precisions of the positives of each row, if they have different scores.

    All negatives of the row have higher scores. The sum of (tp0 + j) / (tp0 + j + fp) for j = 1 to
    n is n - fp·(sum of 1 / (tp0 + fp + j)). After the first terms, the sum is replaced by an
    integral, an upper bound, because the reciprocal is convex.
    """
    n = tp - tp0
    reciprocals = np.zeros(len(tp))
    rows = np.flatnonzero((n > 0) & (fp > 0))
    for j in range(1, DIRECT_TERMS + 1):
        rows = rows[n[rows] >= j]
        reciprocals[rows] += 1 / (tp0[rows] + fp[rows] + j)
    start = tp0[rows] + fp[rows] + DIRECT_TERMS + 0.5
    reciprocals[rows] += log_growth(start, n[rows] - DIRECT_TERMS)
    return n - fp * reciprocals


BOUNDS: dict[str, Callable[[Curves], Bounds]] = {
    "auc": areas_of_ties,
    "ks": _ks_bounds,
    "eer": _eer_bounds,
    "average_precision": _average_precision_bounds,
    "pr_auc": _pr_auc_bounds,
}


@public
def ties(curves: FrameT, /, *, by: By = None) -> FrameT:
    """Return the tied scores of each curve, and how much the order of tied rows can change the AUC.

    A tie is a group of positives and negatives with the same score. Each tie is a diagonal segment
    of the ROC curve. The AUC counts half of the rectangle whose diagonal is this segment.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and score that occurs in both classes, sorted by falling score: `*by,
        threshold, auc_change, tied_pos, tied_neg`. Groups without ties have no rows.

        `auc_change` (Float64) is the largest change of the AUC, up or down, if the tied rows get
        different scores. `tied_pos` and `tied_neg` are the numbers of positives and negatives with
        this score, or the sums of their weights, with the dtype of `tp`.

    Raises
    ------
    RocframeError
        If the table is not a curve table or a curve lacks some of its rows.

    See Also
    --------
    auc : Also returns the lowest and highest AUC over all orders of tied rows.
    chart : The option `ties` draws the range of curves for other orders of tied scores.

    Notes
    -----
    The sum of `auc_change` over a curve is half of `auc_optimistic` - `auc_pessimistic` of `auc`.
    For curves with `thresholds=` or `max_error=`, all scores between two thresholds are one tie.

    References
    ----------
    T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874, figure 6.
    doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 0, 1, 0, 0, 1, 1], "score": [0.9, 0.9, 0.6, 0.4, 0.1, 0.1, 0.1]}
    ... )
    >>> rf.ties(rf.curve(predictions, "label", "score"))
    shape: (2, 4)
    ┌───────────┬────────────┬──────────┬──────────┐
    │ threshold ┆ auc_change ┆ tied_pos ┆ tied_neg │
    │ ---       ┆ ---        ┆ ---      ┆ ---      │
    │ f64       ┆ f64        ┆ i64      ┆ i64      │
    ╞═══════════╪════════════╪══════════╪══════════╡
    │ 0.9       ┆ 0.041667   ┆ 1        ┆ 1        │
    │ 0.1       ┆ 0.083333   ┆ 2        ┆ 1        │
    └───────────┴────────────┴──────────┴──────────┘
    """

    def columns(schema: pl.Schema) -> Schema:
        return tie_columns(schema.get("tp", pl.Int64()))

    return plan_curves(curves, by, columns, _tie_table, anchor=THRESHOLD)


def _tie_table(curves: Curves, columns: Schema) -> pl.DataFrame:
    """Return a row for each score that both a positive and a negative of a curve have."""
    check_ends(curves, "the ties of these scores are unknown", COMPLETE_CURVES, gaps=True)
    pos, neg = (np.diff(curves.columns[name], prepend=0) for name in ("tp", "fp"))
    pos[curves.firsts] = neg[curves.firsts] = 0  # the first row is above all scores
    rows = np.flatnonzero((pos > 0) & (neg > 0))
    group = groups_of_rows(curves.starts, rows)
    shares = [step[rows] / total[group] for step, total in ((pos, curves.pos), (neg, curves.neg))]
    values = {
        THRESHOLD: curves.columns.at(THRESHOLD, rows),
        "auc_change": shares[0] * shares[1] / 2,
        "tied_pos": pos[rows],
        "tied_neg": neg[rows],
    }
    return build_table(curves.keys, values, columns, rows=group)
