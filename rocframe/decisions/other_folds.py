"""Pool the curves of all other folds of a group, for each fold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.curves.table import COMPLETE_CURVES, check_ends
from rocframe.decisions.optimum import CurveRows
from rocframe.frames import number_keys
from rocframe.kernel.groups import cumulative_sums, group_starts, is_run_start
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.sort import concatenated_ranges, falling_ranks, sort_order
from rocframe.kernel.threads import split_groups
from rocframe.schemas.columns import THRESHOLD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.table import Curves


def pooled_other_curves(curves: Curves, over: str) -> CurveRows:
    """Return for each curve the pooled curve of all other curves of its group.

    Curves of a group have the same values of all group columns except for `over`.
    """
    folds = OtherFolds.from_curves(curves, over)
    rows = folds.pooled_rows(slice(0, len(folds.order)))
    curve = folds.order[rows.curve]
    order = np.argsort(curve, kind="stable")
    return replace(rows.take(order), curve=curve[order])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OtherFolds:
    """Steps of curves, and of the pooled curves of groups.

    A step is the change of `tp` and `fp` at a threshold. The first step of a curve is the change
    from 0 to the counts of its first row. Curves of a group have the same values of all group
    columns except for that of the folds.

    The curves are sorted by group. Curve i is the curve `order[i]` of the table, belongs to the
    group `group[i]` and has the steps `starts[i]` to `starts[i + 1] - 1`. For each of these steps,
    `pooled` is the index of the pooled step with the same threshold, and `other_tp` and `other_fp`
    are the changes of the counts of all other curves of the group at this threshold. All other
    curves of the group together have `pos[i]` positives and `neg[i]` negatives.

    Group i has the pooled steps `pooled_starts[i]` to `pooled_starts[i + 1] - 1`. For each of them,
    `pooled_tp` and `pooled_fp` are the changes of the counts of all curves of the group, and
    `n_curves` is the number of curves with a row at the threshold.
    """

    order: NDArray[np.int64]
    group: NDArray[np.int64]
    starts: NDArray[np.int64]
    pooled: NDArray[np.int64]
    other_tp: NDArray[Any]
    other_fp: NDArray[Any]
    pos: NDArray[Any]
    neg: NDArray[Any]
    pooled_starts: NDArray[np.int64]
    threshold: NDArray[np.float64]
    pooled_tp: NDArray[Any]
    pooled_fp: NDArray[Any]
    n_curves: NDArray[np.int64]
    scores: np.dtype[Any]

    @classmethod
    def from_curves(cls, curves: Curves, over: str) -> OtherFolds:
        """Return the steps of a curve table; `over` is the column of the folds."""
        check_ends(curves, "it cannot be pooled with other curves", COMPLETE_CURVES)
        _, group = number_keys(curves.keys, [name for name in curves.layout.by if name != over])
        order = np.argsort(group, kind="stable")
        group = group[order]
        n_groups = int(group.max(initial=-1)) + 1
        curve_edges = group_starts(group, n_groups)
        pos, neg = (sums_of_others(total[order], curve_edges) for total in (curves.pos, curves.neg))
        sizes = np.diff(curves.starts)[order]
        starts = np.append(0, np.cumsum(sizes))
        rows, first = concatenated_ranges(curves.starts[:-1][order], sizes), starts[:-1]
        changes = []
        for name in ("tp", "fp"):
            counts = curves.columns[name][rows]
            change = np.diff(counts, prepend=counts[:1])
            change[first] = counts[first]
            changes.append(change)
        threshold = curves.columns[THRESHOLD][rows]
        rank = falling_ranks(threshold)
        rank[first] = np.iinfo(np.int64).min
        row_starts = starts[curve_edges]
        by_rank, sorted_rank = sort_order(rank, row_starts)
        is_new = is_run_start(sorted_rank)
        is_new[row_starts[:-1]] = True
        new = np.flatnonzero(is_new)
        pooled = np.empty(len(rows), np.int64)
        pooled[by_rank] = np.cumsum(is_new) - 1
        pooled_changes, other_changes = [], []
        for change in changes:
            pooled_changes.append(np.add.reduceat(change[by_rank], new) if len(new) else change)
            others = np.empty_like(change)
            others[by_rank] = sums_of_others(change[by_rank], np.append(new, len(rows)))
            other_changes.append(others)
        return cls(
            order=order,
            group=group,
            starts=starts,
            pooled=pooled,
            other_tp=other_changes[0],
            other_fp=other_changes[1],
            pos=pos,
            neg=neg,
            pooled_starts=np.searchsorted(new, row_starts),
            threshold=threshold[by_rank[new]],
            pooled_tp=pooled_changes[0],
            pooled_fp=pooled_changes[1],
            n_curves=np.diff(new, append=len(rows)),
            scores=curves.scores,
        )

    def parts(self) -> list[slice]:
        """Return slices of curves; the pooled curves of each slice fit into the cache."""
        ends = np.cumsum(np.diff(self.pooled_starts)[self.group])
        return split_groups(np.append(0, ends), BLOCK_ROWS)

    def pooled_rows(self, part: slice) -> CurveRows:
        """Return, for each curve of a slice, the pooled curve of all other curves of its group.

        The curves of the result are numbered from 0.
        """
        group, edges = self.group[part], self.starts[part.start : part.stop + 1]
        first = self.pooled_starts[group]
        lengths = self.pooled_starts[group + 1] - first
        starts = np.append(0, np.cumsum(lengths))
        # Steps that occur only in the omitted curve are removed. At each remaining step, the change
        # of tp and fp is the sum of the changes of all curves except the omitted one.
        omitted = slice(edges[0], edges[-1])
        index = self.pooled[omitted] + np.repeat(starts[:-1] - first, np.diff(edges))
        is_removed = self.n_curves[self.pooled[omitted]] == 1
        removed, index = index[is_removed], index[~is_removed]
        step = np.delete(concatenated_ranges(first, lengths), removed)
        index -= np.searchsorted(removed, index)
        starts -= np.searchsorted(removed, starts)
        counts = []
        for pooled, others in ((self.pooled_tp, self.other_tp), (self.pooled_fp, self.other_fp)):
            change = pooled[step]
            change[index] = others[omitted][~is_removed]
            counts.append(cumulative_sums(change, starts))
        lengths = np.diff(starts)
        return CurveRows(
            curve=np.repeat(np.arange(len(group)), lengths),
            threshold=self.threshold[step],
            tp=counts[0],
            fp=counts[1],
            pos=np.repeat(self.pos[part], lengths),
            neg=np.repeat(self.neg[part], lengths),
            scores=self.scores,
        )


def sums_of_others(values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
    """Return, for each value, the sum of all other values of its segment.

    `starts` are the positions of the first values of the segments, and the number of values. The
    sum is not computed by a subtraction from the sum of the segment: the difference of two large
    sums of weights can have a large rounding error.
    """
    if not len(values):
        return values
    first = np.zeros(len(values), bool)
    first[starts[:-1]] = True
    before = np.roll(cumulative_sums(values.copy(), starts), 1)
    reversed_starts = len(values) - starts[::-1]
    after = np.roll(cumulative_sums(values[::-1].copy(), reversed_starts)[::-1], -1)
    last = np.roll(first, -1)
    result: NDArray[Any] = np.where(first, 0, before) + np.where(last, 0, after)
    return result
