"""The function `gains`: the gains table, with a row for each bin of alert rate of each curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.curves.curve import complete_curves
from rocframe.curves.locate import CurveAxis, interpolated_values
from rocframe.frames import as_input_frame, build_table
from rocframe.inference import class_notes
from rocframe.inputs.cases import plan_table
from rocframe.inputs.roles import Roles
from rocframe.options import NOT_GIVEN, check_flag, parse_bins, public, unit_edges
from rocframe.rates import RATES
from rocframe.schemas.curves import gains_columns
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By, Column, Count, Missing, Scores
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.schemas.table_type import Schema


@public
def gains(
    predictions: FrameT,
    /,
    label: Column,
    score: Scores,
    *,
    by: By = None,
    bins: int | Sequence[float] = 10,
    interpolate: bool = True,
    positive: object = None,
    weight: Column | None = None,
    count: Count = NOT_GIVEN,
    missing: Missing = "raise",
) -> FrameT:
    """Compute the gains table of each group: event rate, lift and capture rate of bins of rows.

    The rows are divided into bins from the highest score to the lowest, such as ten bins with a
    tenth of the rows each. A bin has the rows between two alert rates, which are shares of all rows
    of the group: those of the bin from 0.1 to 0.2 follow the tenth of the rows with the highest
    scores. The event rate is the share of positives.

    Parameters
    ----------
    predictions : DataFrame, LazyFrame or Arrow table
        One row per prediction.
    label : str or Expr
        The true class: Boolean or 0/1, or any values with `positive`.
    score : str, Expr, selector, sequence or mapping
        The score, higher for positives. Several columns add the group column `model`.
    by : str, Expr, selector or sequence, default None
        Group columns; null is a group.
    bins : int or sequence of float, default 10
        Number of bins of equal size, or alert rates that rise from 0 to 1, such as
        `[0, 0.01, 0.05, 0.1, 1]`. Bin i is above `bins[i]` and at most `bins[i + 1]`.
    interpolate : bool, default True
        Whether rows at an edge are divided, so that bins have exactly the given alert rates: both
        bins have the expected counts, which can be fractions, if tied rows are in random order.
        False: a bin ends at the row of the curve that `at` returns for the alert rate; rows with
        equal scores are in one bin, the lower one if they are on both sides of an edge.
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
        One row per group and bin, from the highest scores to the lowest: `*by`, (`model`,) `bin,
        event_rate, lift, capture_rate, alert_rate_low, alert_rate_high, n, n_pos, score_min,
        score_max, score_mean, cumulative_n, cumulative_n_pos, cumulative_event_rate,
        cumulative_lift, cumulative_capture_rate, ks, note`. `bin` (from 0) is Int64, `note` String.
        The counts are Float64, or Int64 with `interpolate=False` and without weights. All others
        are Float64.

        - `lift`: `event_rate` of the bin divided by that of the group.
        - `capture_rate`: share of the positives of the group that are in the bin.
        - `n, n_pos`: rows and positives in the bin, with weights the sums of their weights.
        - `score_min, score_max, score_mean`: of the scores in the bin.
        - `cumulative_…`: the same for this bin and all bins above it together.
        - `ks`: TPR - FPR at the end of the bin.

        Event rates and lifts are null without rows. Lifts, capture rates and `ks` are null in
        groups without positives, and `ks` without negatives. Scores are null in a bin without rows
        with a score. `note` (String) is null or `no_rows` (in the bin), `no_positives`,
        `no_negatives`, `one_positive` or `one_negative` (in the group).

    Raises
    ------
    RocframeError
        If a column, an option or a value is invalid.

    See Also
    --------
    at : Operating points at given alert rates.
    calibration : Event rates of bins of probabilities.

    Notes
    -----
    `cumulative_capture_rate` is the TPR of the gain curve at `alert_rate_high`, and
    `cumulative_lift` is the lift of the lift curve.

    With `missing="worst"`, negatives without a score are above all scores, and positives without a
    score are below all scores.

    References
    ----------
    - M. Vuk, T. Curk (2006), Metodološki zvezki 3(1), 89-108.
    - N. Siddiqi (2006), Credit Risk Scorecards, Wiley. doi:10.1002/9781119201731

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 1, 0, 1, 0, 0, 0, 0], "score": [0.9, 0.8, 0.7, 0.4, 0.4, 0.3, 0.2, 0.1]}
    ... )
    >>> table = rf.gains(predictions, "label", "score", bins=4)
    >>> table.select("alert_rate_high", "event_rate", "lift", "cumulative_capture_rate", "ks")
    shape: (4, 5)
    ┌─────────────────┬────────────┬──────────┬─────────────────────────┬──────────┐
    │ alert_rate_high ┆ event_rate ┆ lift     ┆ cumulative_capture_rate ┆ ks       │
    │ ---             ┆ ---        ┆ ---      ┆ ---                     ┆ ---      │
    │ f64             ┆ f64        ┆ f64      ┆ f64                     ┆ f64      │
    ╞═════════════════╪════════════╪══════════╪═════════════════════════╪══════════╡
    │ 0.25            ┆ 1.0        ┆ 2.666667 ┆ 0.666667                ┆ 0.666667 │
    │ 0.5             ┆ 0.25       ┆ 0.666667 ┆ 0.833333                ┆ 0.533333 │
    │ 0.75            ┆ 0.25       ┆ 0.666667 ┆ 1.0                     ┆ 0.4      │
    │ 1.0             ┆ 0.0        ┆ 0.0      ┆ 1.0                     ┆ 0.0      │
    └─────────────────┴────────────┴──────────┴─────────────────────────┴──────────┘
    """
    edges = unit_edges(parse_bins(bins, example="[0, 0.01, 0.05, 0.1, 1]"))
    check_flag("interpolate", interpolate)
    roles = Roles(label, score, by, positive, weight, count, missing)
    columns = gains_columns(pl.Float64() if interpolate else roles.count_dtype)
    table = plan_table(
        predictions,
        roles,
        lambda cases: _gains_of_curves(
            complete_curves(cases), np.array(edges), columns, interpolate=interpolate
        ),
        columns=columns,
        anchor="bin",
    )
    return as_input_frame(predictions, table)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Edges:
    """The alert rates `values` at which bins end (columns), on all curves (rows).

    `row` is the last row of the curve up to the alert rate, and `below` the next row, of whose rows
    the share `fraction` is above the edge. `is_above` is True for edges above the first row.
    """

    values: FloatArray
    row: IntArray
    below: IntArray
    fraction: FloatArray
    is_above: BoolArray

    @classmethod
    def find(cls, curves: Curves, edges: FloatArray, *, interpolate: bool) -> Edges:
        """Return the edges on all curves; only with `interpolate` they divide ties."""
        axis = CurveAxis.from_curves(curves, RATES["alert_rate"], n_values=len(edges))
        curve = np.arange(len(curves.firsts))
        # Edges are rounded only for the comparison with the rates of rows, which are rounded too.
        rounded = np.broadcast_to(axis.round_values(edges), (len(curve), len(edges)))
        values = np.broadcast_to(edges, rounded.shape)
        row, _, is_equal = axis.outer_rows(curve, rounded, "last")
        below = np.minimum(row + 1, curves.lasts[:, None])
        fraction = np.zeros(row.shape)
        if interpolate:
            curve = np.broadcast_to(curve[:, None], row.shape)
            fraction = np.where(is_equal, 0, axis.fraction_between(curve, values, row, below))
        is_above = rounded < axis.values(curves.firsts, np.arange(len(curves.firsts)))[:, None]
        return cls(values=values, row=row, below=below, fraction=fraction, is_above=is_above)

    def interpolate(self, counts: Array) -> FloatArray:
        """Return cumulative counts at the edges from those in the rows of the curves."""
        return interpolated_values(counts[self.row], counts[self.below], self.fraction)

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of the values of the rows in each bin; those of divided rows in part."""
        # The index of the row after the last row is valid.
        starts, values = self.row.ravel() + 1, np.append(values, 0.0)
        whole = np.add.reduceat(values, starts).reshape(self.row.shape)[:, :-1]
        whole = np.where(self.row[:, 1:] > self.row[:, :-1], whole, 0)
        parts = np.where(self.fraction > 0, self.fraction * values[self.below], 0)
        return whole + parts[:, 1:] - parts[:, :-1]


def _gains_of_curves(
    curves: Curves, edges: FloatArray, schema: Schema, *, interpolate: bool
) -> pl.DataFrame:
    """Return the gains table of all curves, with a row for each curve and bin."""
    n_curves, n_bins = len(curves.firsts), len(edges) - 1
    totals = np.stack([curves.pos, curves.neg])[..., None]
    points = Edges.find(curves, edges, interpolate=interpolate)
    pos, neg = (total[:, None] for total in curves.class_sizes)
    tp, alerts = _counts_above(curves, points, pos + neg, interpolate=interpolate)
    n, n_pos = (np.diff(counts, axis=1) for counts in (alerts, tp))
    alerts, tp = alerts[:, 1:], tp[:, 1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        # The difference of two sums of weights has a rounding error.
        event_rate, cumulative_rate = np.minimum(n_pos / n, 1), tp / alerts
        prevalence = pos / (pos + neg)
        values = {
            "event_rate": event_rate,
            "lift": event_rate / prevalence,
            "capture_rate": n_pos / pos,
            "n": n,
            "n_pos": n_pos,
            **_scores_of_bins(curves, points),
            "cumulative_n": alerts,
            "cumulative_n_pos": tp,
            "cumulative_event_rate": cumulative_rate,
            "cumulative_lift": cumulative_rate / prevalence,
            "cumulative_capture_rate": tp / pos,
            "ks": tp / pos - (alerts - tp) / neg,
        }
    return build_table(
        curves.keys,
        {
            "bin": np.tile(np.arange(n_bins), n_curves),
            "alert_rate_low": np.tile(edges[:-1], n_curves),
            "alert_rate_high": np.tile(edges[1:], n_curves),
            **{name: column.ravel() for name, column in values.items()},
            "note": class_notes(*np.where(n > 0, totals, 0).reshape(2, -1)).tolist(),
        },
        schema,
        rows=np.repeat(np.arange(n_curves), n_bins),
    )


def _counts_above(
    curves: Curves, edges: Edges, total: FloatArray, *, interpolate: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the positives and all rows above each edge; `total` are the rows of each curve."""
    tp, fp = curves.columns["tp"], curves.columns["fp"]
    above, alerts = edges.interpolate(tp), edges.interpolate(tp + fp)
    # Unscored negatives are above the first row of a curve, unscored positives below the last row.
    lowest = (tp + fp)[curves.lasts][:, None]
    limit = edges.values * total
    before, after = limit, limit
    if not interpolate:
        before, after = np.zeros_like(limit), np.where(edges.values == 1, total, lowest)
    alerts = np.where(edges.is_above, before, np.where(limit > lowest, after, alerts))
    return above + np.maximum(alerts - lowest, 0), alerts


def _scores_of_bins(curves: Curves, edges: Edges) -> dict[str, FloatArray]:
    """Return the range and the mean of the scores in each bin; NaN without scores."""
    threshold = np.asarray(curves.columns[THRESHOLD], np.float64)
    alerts = curves.columns["tp"] + curves.columns["fp"]
    weight = np.diff(alerts, prepend=0)
    weight[curves.firsts] = 0
    top = edges.row[:, :-1] + 1
    bottom = edges.row[:, 1:] + (edges.fraction[:, 1:] > 0)
    has_scores = top <= bottom
    lowest, highest = (
        np.where(has_scores, threshold[np.minimum(rows, len(threshold) - 1)], np.nan)
        for rows in (bottom, top)
    )
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = edges.sums(np.where(weight > 0, threshold * weight, 0)) / edges.sums(weight)
        mean = np.where(np.isfinite(mean), mean.clip(lowest, highest), np.nan)
    return {"score_min": lowest, "score_max": highest, "score_mean": mean}
