"""Pool the curves of all other folds of a group, for each fold."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.decisions.optimum import CurveRows
from rocframe.errors import BrokenCurveError
from rocframe.frames import number_distinct_rows
from rocframe.kernel.groups import cumulative_sums
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.sort import concatenated_ranges, sort_order
from rocframe.kernel.threads import split_groups
from rocframe.schemas import THRESHOLD

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
    """The steps of curves from row to row, and the pooled steps of all curves of each group.

    Curves of a group have the same values of all group columns except for that of the folds. The
    curves are sorted by group; curve i is the curve `order[i]` of the table. It belongs to the
    group `group[i]` and has the steps `starts[i]` to `starts[i + 1]`, of which the first one is its
    first row. `tp` and `fp` are the changes of the counts, and `pooled` is the position of the
    pooled step with the same threshold. All other curves of the group together have `pos[i]`
    positives and `neg[i]` negatives.

    Group i has the pooled steps `pooled_starts[i]` to `pooled_starts[i + 1]`. `pooled_tp` and
    `pooled_fp` are sums of changes, and `n_curves` is the number of curves that have the step.
    """

    order: NDArray[np.int64]
    group: NDArray[np.int64]
    starts: NDArray[np.int64]
    tp: NDArray[Any]
    fp: NDArray[Any]
    pooled: NDArray[np.int64]
    pos: NDArray[Any]
    neg: NDArray[Any]
    pooled_starts: NDArray[np.int64]
    threshold: NDArray[np.float64]
    pooled_tp: NDArray[Any]
    pooled_fp: NDArray[Any]
    n_curves: NDArray[np.int64]

    @classmethod
    def from_curves(cls, curves: Curves, over: str) -> OtherFolds:
        """Return the steps of a curve table; `over` is the column of the folds."""
        for i in np.flatnonzero(curves.ends_early)[:1].tolist():
            problem = f"curves: {curves.name_group(i)} ends before its lowest score"
            hint = "Compute the curve without thresholds=, and do not filter its rows."
            raise BrokenCurveError.compose(problem, hint)
        rest, group = curves.keys.drop(over), np.zeros(len(curves.firsts), np.int64)
        if rest.width:
            group = number_distinct_rows(rest)[1].to_numpy().astype(np.int64)
        order = np.argsort(group, kind="stable")
        group = group[order]
        n_groups = int(group.max(initial=-1)) + 1
        totals = []
        for parts in (("tp", "fn"), ("fp", "tn")):
            own = curves.total(*parts)[order]
            sums = np.zeros(n_groups, own.dtype)
            np.add.at(sums, group, own)
            totals.append(sums[group] - own)
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
        rank = _falling_ranks(threshold)
        rank[first] = np.iinfo(np.int64).min
        group_starts = starts[np.searchsorted(group, np.arange(n_groups + 1))]
        by_rank = sort_order(rank, group_starts)
        is_new = np.diff(rank[by_rank], prepend=0) != 0
        is_new[group_starts[:-1]] = True
        new = np.flatnonzero(is_new)
        pooled = np.empty(len(rows), np.int64)
        pooled[by_rank] = np.cumsum(is_new) - 1
        pooled_tp, pooled_fp = (
            np.add.reduceat(part[by_rank], new) if len(new) else part for part in changes
        )
        return cls(
            order=order,
            group=group,
            starts=starts,
            tp=changes[0],
            fp=changes[1],
            pooled=pooled,
            pos=totals[0],
            neg=totals[1],
            pooled_starts=np.searchsorted(new, group_starts),
            threshold=threshold[by_rank[new]],
            pooled_tp=pooled_tp,
            pooled_fp=pooled_fp,
            n_curves=np.diff(new, append=len(rows)),
        )

    def parts(self) -> list[slice]:
        """Divide the curves into parts whose pooled curves fit into the cache."""
        ends = np.cumsum(np.diff(self.pooled_starts)[self.group])
        return split_groups(np.append(0, ends), BLOCK_ROWS)

    def pooled_rows(self, part: slice) -> CurveRows:
        """Return, for neighbouring curves, the pooled curves of all other curves of their groups.

        The curves of the result are numbered from 0.
        """
        group, edges = self.group[part], self.starts[part.start : part.stop + 1]
        first = self.pooled_starts[group]
        lengths = self.pooled_starts[group + 1] - first
        starts = np.append(0, np.cumsum(lengths))
        # Steps that only the own curve has are removed. Other own steps are subtracted.
        own = slice(edges[0], edges[-1])
        index = self.pooled[own] + np.repeat(starts[:-1] - first, np.diff(edges))
        is_removed = self.n_curves[self.pooled[own]] == 1
        removed, index = index[is_removed], index[~is_removed]
        step = np.delete(concatenated_ranges(first, lengths), removed)
        index -= np.searchsorted(removed, index)
        starts -= np.searchsorted(removed, starts)
        counts = []
        for pooled, changes in ((self.pooled_tp, self.tp), (self.pooled_fp, self.fp)):
            change = pooled[step]
            change[index] -= changes[own][~is_removed]
            counts.append(cumulative_sums(change, starts))
        lengths = np.diff(starts)
        return CurveRows(
            curve=np.repeat(np.arange(len(group)), lengths),
            threshold=self.threshold[step],
            tp=counts[0],
            fp=counts[1],
            pos=np.repeat(self.pos[part], lengths),
            neg=np.repeat(self.neg[part], lengths),
        )


def _falling_ranks(thresholds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return integers that rise as thresholds fall; the smallest Int64 is not among them."""
    bits = (0.0 - thresholds).view(np.int64)
    ranks: NDArray[np.int64] = bits ^ ((bits >> 63) & np.iinfo(np.int64).max)
    return ranks
