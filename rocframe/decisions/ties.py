"""The function `ties`: the tied scores of each curve, and how much they can change the AUC."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocframe.curves.table import COMPLETE_CURVES, check_ends, curve_layout, read_curves
from rocframe.frames import as_input_frame, build_table, lazy_plan, through_node
from rocframe.kernel.groups import groups_of_rows
from rocframe.options import public
from rocframe.schemas.columns import THRESHOLD, with_scores
from rocframe.schemas.decisions import TIE_NAMES, tie_columns

if TYPE_CHECKING:
    import polars as pl

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.schemas.table_type import Schema


@public
def ties(curves: FrameT, /, *, by: By = None) -> FrameT:
    """Return the tied scores of each curve, and how much the order of tied rows can change the AUC.

    A tie is a group of positives and negatives with the same score. Each tie is a diagonal segment
    of the ROC curve. The AUC counts half of the rectangle whose diagonal is this segment.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    by : str or sequence of str, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        For each group, one row per score that occurs in both classes, sorted by falling score:
        `*by, threshold, auc_change, tied_pos, tied_neg`. Groups without ties have no rows.

        - `threshold` is the tied score.
        - `auc_change` (Float64) is the largest change of the AUC if the tied rows get different
          scores. If all positives of the tie get higher scores than its negatives, the AUC
          increases by this number. If they get lower scores, the AUC decreases by this number.
        - `tied_pos` and `tied_neg` are the numbers of positives and negatives with this score. With
          weights, they are the sums of the weights. They have the dtype of `tp` and `fp`.

        Only group columns can be null.

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
    `auc_change` is tied_pos·tied_neg / (2·P·N), where P and N are the numbers of all positives and
    all negatives. This is the area of the triangle above or below the diagonal segment. For each
    curve, the sum of `auc_change` is half of the difference between `auc_optimistic` and
    `auc_pessimistic` of `auc`.

    The curve can also be computed with `thresholds=` or `max_error=`. All scores between two
    neighboring thresholds are then one tie.

    References
    ----------
    T. Fawcett (2006), "An introduction to ROC analysis", Pattern Recognition Letters 27(8),
    861-874, figure 6. doi:10.1016/j.patrec.2005.10.010

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

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        table = curve_layout(schema, by, TIE_NAMES)
        columns = with_scores(tie_columns(table.row["tp"]), table.scores)
        return through_node(
            plan.select(table.count_columns),
            lambda frame: _tie_table(read_curves(frame, table), columns),
            schema={**table.keys, **columns},
            by=table.by,
            anchor=THRESHOLD,
        )

    return as_input_frame(curves, lazy_plan("curves", curves).pipe_with_schema(resolve))


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
