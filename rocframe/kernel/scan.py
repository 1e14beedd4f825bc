"""Count the positives and negatives at or above each distinct score, and those without a score.

A scan is one pass over the sorted rows of all groups, which computes all counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from rocframe.kernel.arrays import run_parallel
from rocframe.kernel.groups import is_run_start, sort_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.inputs.cases import Cases
    from rocframe.kernel.codec import Codec
    from rocframe.kernel.groups import SortedRows

BLOCK_ROWS = 1 << 17  # the arrays of a block of this size fit into the cache of a processor
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """Counts at the distinct scores of some groups; each score of a group is one step.

    Group `groups[i]` has the steps `starts[i]` to `starts[i + 1] - 1`, with the scores `codes`,
    without the label bit. `tp` and `fp` are the numbers (with weights, sums of row weights) of
    positives and negatives at or above the score, `tp0` and `fp0` those above it.

    If requested, `pos_squares` and `neg_squares` are the sums of count times squared weight of each
    class. `row_counts` are, with weights, the numbers of rows at each step, except for replicates.
    `first_row` is the position of the first row of the block among the sorted rows. If positions
    are requested, `positions` are those of all rows, and `sizes` the numbers of rows of each step.
    """

    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    codes: Any
    tp0: NDArray[Any]
    fp0: NDArray[Any]
    tp: NDArray[Any]
    fp: NDArray[Any]
    pos_squares: NDArray[np.float64] | None = None
    neg_squares: NDArray[np.float64] | None = None
    row_counts: NDArray[np.int64] | None = None
    positions: Any = None
    sizes: NDArray[np.int64] | None = None
    first_row: int = 0

    @property
    def pos(self) -> NDArray[Any]:
        """The number of positives at the score of each step."""
        pos: NDArray[Any] = self.tp - self.tp0
        return pos

    @property
    def neg(self) -> NDArray[Any]:
        """The number of negatives at the score of each step."""
        neg: NDArray[Any] = self.fp - self.fp0
        return neg

    def of_steps(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return, for each step, the value of its group; `values` has one value per group."""
        return np.repeat(values[self.groups], np.diff(self.starts))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockRange:
    """The sorted rows `start` to `stop - 1` of a block: complete groups, or a part of one group.

    For a part, `tp` and `fp` are the numbers of positives and negatives of the group before it.
    """

    groups: NDArray[np.int64]
    start: int
    stop: int
    tp: Any = 0
    fp: Any = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupTotals:
    """Totals of each group: numbers of rows, sums of row weights, and those of unscored rows."""

    pos_rows: NDArray[np.int64]
    neg_rows: NDArray[np.int64]
    pos: NDArray[Any]
    neg: NDArray[Any]
    unscored_pos: NDArray[Any]
    unscored_neg: NDArray[Any]

    @property
    def scored_neg(self) -> NDArray[Any]:
        """The sum of the row weights of the negatives with a score."""
        scored: NDArray[Any] = self.neg - self.unscored_neg
        return scored


class Scannable(Protocol):
    """The input of the functions of statistics: a scan of the data, or of replicates of a group."""

    @property
    def ranges(self) -> Sequence[BlockRange]:
        """The blocks, each with the numbers of its groups."""

    @property
    def totals(self) -> GroupTotals:
        """The totals of each group."""

    @property
    def codec(self) -> Codec:
        """The codec of the scores in `Block.codes`."""

    def map(self, function: Callable[[Block], Result], /) -> list[Result]:
        """Call `function` on every block; return its results in the order of `ranges`."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scan:
    """A scan of all groups: the sorted rows, their division into blocks, and their totals."""

    rows: SortedRows
    ranges: list[BlockRange]
    totals: GroupTotals

    @property
    def codec(self) -> Codec:
        """The codec of the scores."""
        return self.rows.codec

    @property
    def size_columns(self) -> dict[str, NDArray[np.int64]]:
        """The columns `n_pos`, `n_neg` and `n_missing` of result tables."""
        sizes = self.totals.pos_rows, self.totals.neg_rows, self.rows.unscored.n_missing
        return dict(zip(("n_pos", "n_neg", "n_missing"), sizes, strict=True))

    @classmethod
    def from_cases(cls, cases: Cases) -> Scan:
        """Return a scan of cases; with the positions of rows in the frame if there are clusters."""
        return cls.from_rows(sort_rows(cases, with_positions=cases.cluster is not None))

    @classmethod
    def from_rows(cls, rows: SortedRows) -> Scan:
        """Return a scan of sorted rows: divide them into blocks, and compute the class totals."""
        row_ranges = _block_ranges(rows)
        class_counts = run_parallel(
            lambda part: _count_range(rows, part), row_ranges, arrays_only=True
        )
        pos_rows, neg_rows = rows.unscored.pos_rows.copy(), rows.unscored.neg_rows.copy()
        ranges = []
        group, tp, fp = -1, 0, 0
        for part, (n_pos, n_neg) in zip(row_ranges, class_counts, strict=True):
            if part.groups[0] != group:
                group, tp, fp = part.groups[0], 0, 0
            ranges.append(
                BlockRange(groups=part.groups, start=part.start, stop=part.stop, tp=tp, fp=fp)
            )
            pos_rows[part.groups] += n_pos
            neg_rows[part.groups] += n_neg
            tp, fp = tp + int(n_pos[0]), fp + int(n_neg[0])
        pos, neg = pos_rows, neg_rows
        if rows.weights is not None:
            dtype = rows.weights.row_weight.dtype
            pos = rows.unscored.pos_weight.astype(dtype)
            neg = rows.unscored.neg_weight.astype(dtype)
            scored = rows.ends > rows.starts[:-1]
            pos[scored] += rows.weights.tp[rows.ends[scored] - 1]
            neg[scored] += rows.weights.fp[rows.ends[scored] - 1]
        totals = GroupTotals(
            pos_rows=pos_rows,
            neg_rows=neg_rows,
            pos=pos,
            neg=neg,
            unscored_pos=rows.unscored.pos_weight,
            unscored_neg=rows.unscored.neg_weight,
        )
        return cls(rows=rows, ranges=ranges, totals=totals)

    def map(self, function: Callable[[Block], Result], /, *, squares: bool = False) -> list[Result]:
        """Call `function` on every block; return its results in the order of `ranges`.

        With `squares`, weighted blocks contain the sums of count times squared weight.
        """
        return run_parallel(
            lambda part: function(_scan_range(self.rows, part, squares)),
            self.ranges,
            arrays_only=True,
        )


def _block_ranges(rows: SortedRows) -> list[BlockRange]:
    """Divide the rows into blocks of about equal size; tied rows are in the same block."""
    ranges: list[BlockRange] = []
    sizes = rows.ends - rows.starts[:-1]
    large = sizes > 2 * BLOCK_ROWS
    # Small groups share a block; a large group is divided into several blocks.
    is_first = is_run_start(rows.starts[:-1] // BLOCK_ROWS)
    is_first |= large
    is_first[1:] |= large[:-1]
    for first, last in pairwise(np.append(np.flatnonzero(is_first), len(sizes))):
        if large[first]:
            ranges += _split_group(rows, int(first))
            continue
        groups = first + np.flatnonzero(sizes[first:last])
        if len(groups):
            start, stop = rows.starts[groups[0]], rows.ends[groups[-1]]
            ranges.append(BlockRange(groups=groups, start=int(start), stop=int(stop)))
    return ranges


def _split_group(rows: SortedRows, group: int) -> list[BlockRange]:
    """Divide the scored rows of a large group into blocks of about `BLOCK_ROWS` rows."""
    start, end = int(rows.starts[group]), int(rows.ends[group])
    codes = rows.codes[:end]
    ranges = []
    while start < end:
        stop = min(start + BLOCK_ROWS, end)
        # The codes of tied rows differ in the label bit only. All of them belong to this block.
        if stop < end:
            stop += int(np.searchsorted(codes[stop:], codes[stop - 1] | 1, "right"))
        ranges.append(BlockRange(groups=np.array([group]), start=start, stop=stop))
        start = stop
    return ranges


def _range_rows(rows: SortedRows, part: BlockRange) -> tuple[Any, NDArray[np.int64]]:
    """Return the positions of the scored rows in a range, and their cumulative number per group."""
    if len(part.groups) == 1:
        return slice(part.start, part.stop), np.array([part.stop - part.start])
    ends = np.cumsum(rows.ends[part.groups] - rows.starts[part.groups])
    if ends[-1] == part.stop - part.start:
        return slice(part.start, part.stop), ends
    scored = rows.codes[part.start : part.stop] < rows.codec.first_reserved
    return part.start + np.flatnonzero(scored), ends


def _count_range(rows: SortedRows, part: BlockRange) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the numbers of positive and of negative rows of each group in a range."""
    positions, ends = _range_rows(rows, part)
    negative = (rows.codes[positions] & 1).astype(np.int64)
    starts = np.append(0, ends[:-1])
    if rows.weights is None:
        neg = np.add.reduceat(negative, starts)
        return ends - starts - neg, neg
    count = rows.weights.count[positions]
    neg = np.add.reduceat(count * negative, starts)
    return np.add.reduceat(count, starts) - neg, neg


def _scan_range(rows: SortedRows, part: BlockRange, squares: bool) -> Block:
    """Return the block of a range: the counts at each distinct score of its groups."""
    positions, ends = _range_rows(rows, part)
    codes = rows.codes[positions]
    scores = codes >> 1
    last = np.empty(len(codes), bool)
    np.not_equal(scores[1:], scores[:-1], out=last[:-1])
    last[ends - 1] = True
    steps = np.flatnonzero(last)
    starts = np.append(0, np.searchsorted(steps, ends - 1) + 1)

    if rows.weights is None:
        n_negative = np.cumsum(codes & 1, dtype=np.int64)
        fp = n_negative[steps]
        tp = steps + 1 - fp
        if len(ends) > 1:
            lengths, before = np.diff(starts), np.append(0, ends[:-1])
            fp_before = np.append(0, n_negative[ends[:-1] - 1])
            fp -= np.repeat(fp_before, lengths)
            tp -= np.repeat(before - fp_before, lengths)
        tp += part.tp
        fp += part.fp
        first_tp, first_fp = part.tp, part.fp
    else:
        tp, fp = rows.weights.tp[positions][steps], rows.weights.fp[positions][steps]
        first_tp = first_fp = 0
        if part.start > rows.starts[part.groups[0]]:
            first_tp, first_fp = rows.weights.tp[part.start - 1], rows.weights.fp[part.start - 1]
    pos_squares = neg_squares = row_counts = None
    if rows.weights is not None and rows.weights.weight is not None:
        step_starts = np.append(0, steps[:-1] + 1)
        row_counts = np.add.reduceat(rows.weights.count[positions], step_starts)
        if squares:
            squared_weight = rows.weights.row_weight[positions] * rows.weights.weight[positions]
            negative = (codes & 1).astype(bool)
            pos_squares = np.add.reduceat(np.where(negative, 0, squared_weight), step_starts)
            neg_squares = np.add.reduceat(np.where(negative, squared_weight, 0), step_starts)
    return Block(
        groups=part.groups,
        starts=starts,
        first_row=part.start,
        codes=scores[steps],
        tp0=_previous(tp, starts, first_tp),
        fp0=_previous(fp, starts, first_fp),
        tp=tp,
        fp=fp,
        pos_squares=pos_squares,
        neg_squares=neg_squares,
        row_counts=row_counts,
        positions=None if rows.row is None else positions,
        sizes=None if rows.row is None else np.diff(steps, prepend=-1),
    )


def _previous(values: NDArray[Any], starts: NDArray[np.int64], first: Any) -> NDArray[Any]:
    """Return the value of the previous step of the same group; `first` for the first step."""
    before = np.empty_like(values)
    before[1:] = values[:-1]
    before[starts[:-1]] = first
    return before
