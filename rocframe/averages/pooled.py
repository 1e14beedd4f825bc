"""Pool the curves of each group into one curve of all their rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.areas.area import auc_of
from rocframe.averages.curve_groups import group_curves
from rocframe.averages.means import CurveValues
from rocframe.curves.locate import find_curves_lacking_rows
from rocframe.curves.table import CurveColumns, check_ends, check_gaps
from rocframe.errors import BrokenCurveError
from rocframe.frames import take_rows
from rocframe.inference.notes import join_notes, note_with_keys
from rocframe.kernel.groups import cumulative_sums, group_starts, groups_of_rows, run_starts
from rocframe.kernel.sort import concatenated_ranges
from rocframe.kinds import PREVALENCE
from rocframe.rates import CONFUSION, Settings
from rocframe.schemas.columns import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.averages.curve_groups import CurveGroups
    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind


def pooled_curves(
    curves: Curves, kind: Kind, over: Sequence[str], *, ranked: bool = False
) -> pl.DataFrame:
    """Return a table with one pooled curve per group, from the rows of all curves of the group.

    If `ranked` is true, each score is first replaced by its rank in its curve.
    """
    curve_groups = group_curves(curves, over, "equal")
    merged = merge_curves(curves, curve_groups, ranked=ranked)
    check_gaps(curves, "the area of the pooled curve is unknown")
    early = curves.ends_early[curve_groups.curve]
    areas = auc_of(curves)[curve_groups.curve]
    areas[~curve_groups.usable] = np.nan
    curve_areas = CurveValues(
        values=areas[:, None], weight=curve_groups.weight, starts=curve_groups.starts[:-1]
    )
    groups = len(curve_groups.notes)
    mean = curve_areas.mean.ravel() if groups else np.zeros(0)
    count = curve_areas.count.ravel() if groups else np.zeros(0, np.int64)
    pooled, notes = auc_of(merged), list(curve_groups.notes)
    for i in np.unique(groups_of_rows(curve_groups.starts, np.flatnonzero(early))):
        start, end = curve_groups.starts[i : i + 2]
        keys = [
            curve_groups.note_keys[curve][0] for curve in start + np.flatnonzero(early[start:end])
        ]
        notes[i] = join_notes(notes[i], note_with_keys("lacks_rows", keys))
        mean[i] = pooled[i] = np.nan
    per_group = {
        "pooled_auc": pl.Series(pooled, nan_to_null=True),
        "mean_auc": pl.Series(mean, nan_to_null=True),
        "n_curves": pl.Series(count),
        "note": pl.Series(notes, dtype=pl.String),
    }
    group = pl.Series(np.repeat(np.arange(groups, dtype=np.uint32), np.diff(merged.starts)))
    table = take_rows(curve_groups.keys, group).with_columns(
        pl.Series(name, values) for name, values in merged.columns.items()
    )
    if not ranked:
        table = table.with_columns(pl.col(THRESHOLD).cast(curves.layout.scores))
    if curves.layout.has_prevalence:
        table = table.with_columns(pl.lit(curves.prevalence, pl.Float64()).alias(PREVALENCE))
    rates = kind.exprs(Settings(prevalence=curves.prevalence))
    return table.with_columns(rates).with_columns(
        values.gather(group).alias(name) for name, values in per_group.items()
    )


def merge_curves(curves: Curves, curve_groups: CurveGroups, *, ranked: bool) -> Curves:
    """Return one curve per group: the sums of the counts of its curves at each threshold.

    If `ranked` is true, each score is first replaced by its rank in its curve.
    """
    if ranked:
        curves = _rank_scores(curves)
    lengths = np.diff(curves.starts)[curve_groups.curve]
    rows = concatenated_ranges(curves.firsts[curve_groups.curve], lengths)
    group = np.repeat(np.arange(len(curve_groups.notes)), np.diff(curve_groups.starts))
    first = np.zeros(len(curves.columns["tp"]), bool)
    first[curves.firsts] = True
    columns = {name: values[rows] for name, values in curves.columns.items()}
    ends = np.cumsum(lengths)
    edges = np.append(0, ends)[curve_groups.starts]
    order = np.concatenate(
        [
            np.zeros(0, np.int64),
            *(
                start + _merge_order(columns[THRESHOLD][start:end], first[rows[start:end]])
                for start, end in pairwise(edges)
            ),
        ]
    )
    group_of_row, is_first = np.repeat(group, lengths)[order], first[rows][order]
    threshold = columns[THRESHOLD][order]
    first_rows = run_starts(group_of_row, is_first, threshold)
    starts = group_starts(group_of_row[first_rows], len(curve_groups.notes))
    _check_same_thresholds(curves, curve_groups, lengths, np.diff(starts)[group])
    counts: dict[str, NDArray[Any]] = {}
    for rising, falling in (("tp", "fn"), ("fp", "tn")):
        # The increase of a count of the pooled curve at a threshold is the sum of its increases in
        # all curves of the group.
        steps = np.diff(columns[rising], prepend=columns[rising][:1] * 0)
        steps[first[rows]] = columns[rising][first[rows]]
        sums = np.add.reduceat(steps[order], first_rows) if len(first_rows) else steps[:0]
        counts[rising] = cumulative_sums(sums, starts)
        total = np.add.reduceat(
            columns[rising][ends - 1] + columns[falling][ends - 1], curve_groups.starts[:-1]
        )
        counts[falling] = np.repeat(total, np.diff(starts)) - counts[rising]
        if counts[falling].dtype.kind == "f":
            counts[falling] = np.maximum(counts[falling], 0)
    dtype = np.result_type(*counts.values())
    named = {name: counts[name].astype(dtype, copy=False) for name in CONFUSION}
    merged = CurveColumns.from_arrays({THRESHOLD: threshold[first_rows], **named})
    return replace(
        curves,
        keys=curve_groups.keys,
        columns=merged,
        starts=starts,
        has_gaps=np.zeros(len(starts) - 1, bool),
    )


def _merge_order(threshold: NDArray[np.float64], is_first: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the order of rows by falling threshold; first rows of curves precede the score inf."""
    scored = np.flatnonzero(~is_first)
    # A stable sort is fast here, because each curve is already sorted.
    order: NDArray[np.int64] = scored[np.argsort(-threshold[scored], kind="stable")]
    return np.concatenate([np.flatnonzero(is_first), order])


def _check_same_thresholds(
    curves: Curves, curve_groups: CurveGroups, lengths: NDArray[np.int64], merged: NDArray[np.int64]
) -> None:
    """Raise an error if curves of a group were computed at different given thresholds.

    For each curve, `lengths` has its number of rows, and `merged` that of its pooled curve.
    """
    different = find_curves_lacking_rows(curves)[curve_groups.curve] & (lengths != merged)
    if different.any():
        raise BrokenCurveError.compose(
            "curves: curves with different thresholds= cannot be pooled",
            "Compute curves without thresholds=, or with the same thresholds, and keep all rows.",
        )


def _rank_scores(curves: Curves) -> Curves:
    """Return curves in which each score is its rank: the proportion of lower scores in the curve.

    Equal scores, including the score itself, count one half.
    """
    check_ends(curves, "the ranks of its scores are unknown", "Use curves without thresholds=.")
    tp, fp = curves.columns["tp"], curves.columns["fp"]
    positions = tp + fp
    before = np.append(positions[:1] * 0, positions[:-1])
    sizes = np.diff(curves.starts)
    total = np.repeat(curves.pos + curves.neg, sizes)
    doubled = 2 * total - positions - before
    rank = np.divide(doubled, 2 * total, out=np.zeros(len(tp)), where=total > 0)
    rank[curves.firsts] = np.inf
    columns = CurveColumns.from_arrays({**curves.columns, THRESHOLD: rank})
    return replace(curves, columns=columns)
