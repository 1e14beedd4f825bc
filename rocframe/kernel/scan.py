"""Count the rows of each class at every score, in the data and in resamples of the rows.

A scan is one pass over the sorted rows of all groups, which computes all counts.

Each group has a separate random stream. A step is a distinct score of the group. Rows of a class
with the same score, weight and cluster are one kind of row. A replicate is stored as the number of
rows of each kind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

import numpy as np

from rocframe.errors import OptionValueError
from rocframe.kernel.arrays import batch_sizes, count_workers, run_parallel
from rocframe.kernel.groups import ReservedCode, is_run_start, run_starts, sort_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.inputs.cases import Cases
    from rocframe.kernel.groups import Codec, SortedRows

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
    is_untied = len(steps) == len(codes)
    starts = np.append(0, np.searchsorted(steps, ends - 1) + 1)

    if rows.weights is None:
        # The sum of integers of the type of the result is ten times faster than with a conversion.
        n_negative = np.cumsum((codes & 1).astype(np.int64))
        fp_before = np.append(0, n_negative[ends[:-1] - 1])
        fp = n_negative if is_untied else n_negative[steps]
        tp = steps + 1 - fp
        if len(ends) > 1:
            lengths, before = np.diff(starts), np.append(0, ends[:-1])
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
        codes=scores if is_untied else scores[steps],
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


# If the mean number of rows per kind is larger than this, multinomial draws of the numbers of rows
# of all kinds are faster than draws of single rows.
MULTINOMIAL_RATIO = 32
# If there are at least so many kinds with at most so many rows, draws of single rows of these kinds
# are faster than multinomial draws.
MIN_FEW_KINDS = 64
FEW_ROWS = 8
REUSED_BYTES = 1 << 24  # freed memory up to this size is reused for the next batch
# Maximum number of values of all replicates that a chunk of groups keeps in memory.
MAX_STORED_NUMBERS = 1 << 19
RowCounts: TypeAlias = "NDArray[np.int64]"  # one row per replicate, one column per kind of row


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplicateScan:
    """A scan of the replicates of one group: each replicate is treated as a separate group."""

    population: GroupRows
    totals: GroupTotals
    ranges: Sequence[BlockRange]
    block: Block

    @property
    def codec(self) -> Codec:
        """The codec of the scores."""
        return self.population.codec

    def map(self, function: Callable[[Block], Result], /) -> list[Result]:
        """Call `function` on the only block; return a list, empty if the group has no scores."""
        return [function(self.block)] if self.ranges else []

    def curve_counts(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the counts of each replicate (rows) at `inf` and at each step (columns)."""
        size = len(self.totals.pos)
        tp, fp = (
            np.concatenate([np.zeros((size, 1), counts.dtype), counts.reshape(size, -1)], axis=1)
            for counts in (self.block.tp, self.block.fp)
        )
        return tp, fp + np.asarray(self.totals.unscored_neg)[:, None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplicateCounts:
    """The rows of each kind in each replicate; `n_redrawn` replicates were drawn again."""

    population: GroupRows
    pos: RowCounts
    neg: RowCounts
    n_redrawn: int = 0

    @classmethod
    def observed(cls, population: GroupRows) -> ReplicateCounts:
        """Return the observed data as the only replicate."""
        return cls(
            population=population,
            pos=population.pos.rows[None, :],
            neg=population.neg.rows[None, :],
        )

    def scan(self, *, corners: bool) -> ReplicateScan:
        """Return the scan of the replicates; with `corners`, only of the scores at corners."""
        population = self.population
        steps = population.corner_steps if corners else population.steps
        tp0, tp, pos = _cumulative_counts(population.pos, self.pos, steps.pos)
        fp0, fp, neg = _cumulative_counts(population.neg, self.neg, steps.neg)
        size, length = tp.shape
        groups = np.arange(size)
        block = Block(
            groups=groups,
            starts=np.arange(size + 1) * length,
            codes=steps.codes if size == 1 else np.tile(steps.codes, size),
            tp0=tp0.ravel(),
            fp0=fp0.ravel(),
            tp=tp.ravel(),
            fp=fp.ravel(),
        )
        totals = GroupTotals(
            pos_rows=pos if population.pos.weight is None else self.pos.sum(axis=1),
            neg_rows=neg if population.neg.weight is None else self.neg.sum(axis=1),
            pos=pos,
            neg=neg,
            unscored_pos=pos - tp[:, -1] if length else pos,
            unscored_neg=neg - fp[:, -1] if length else neg,
        )
        ranges = [BlockRange(groups=groups, start=0, stop=0)] if length else []
        return ReplicateScan(population=population, totals=totals, ranges=ranges, block=block)


def _cumulative_counts(
    side: ClassRows, counts: RowCounts, edges: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return the weight of a class above each score, at or above each score, and in total.

    The first two arrays have one row per replicate and one column per score. `edges` has the
    numbers of kinds that `StepEdges` has for this class. The totals have one value per replicate.
    """
    weights = counts if side.weight is None else counts * side.weight
    sums = np.empty((len(weights), weights.shape[1] + 1), weights.dtype)
    sums[:, 0] = 0
    np.cumsum(weights, axis=1, out=sums[:, 1:])
    sampled = np.take(sums, edges, axis=1)
    return sampled[:, :-1], sampled[:, 1:], sums[:, -1]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowSampler:
    """Draws rows of a class with replacement: `total` rows, of which `rows` are of each kind.

    Single rows are drawn if `probabilities` is None; `kind` is then the kind of each row, or None
    if all differ. Otherwise `probabilities` are those of the kinds in multinomial draws. If there
    are many kinds with `few` rows, the last probability is that of all of them together, and single
    rows of these kinds are drawn.
    """

    rows: NDArray[np.int64]
    total: int
    kind: NDArray[np.int64] | None
    probabilities: NDArray[np.float64] | None
    few: RowSampler | None = None
    is_few: NDArray[np.bool_] | None = None

    @classmethod
    def from_counts(cls, rows: NDArray[np.int64]) -> RowSampler:
        """Return a sampler that draws single rows or multinomial numbers, whichever is faster."""
        total, kinds = int(rows.sum()), len(rows)
        if total > MULTINOMIAL_RATIO * kinds:
            is_few = rows <= FEW_ROWS
            few = cls.of_single_rows(rows[is_few])
            if len(few.rows) < MIN_FEW_KINDS:
                return cls(rows=rows, total=total, kind=None, probabilities=rows / total)
            shares = np.append(rows[~is_few], few.total) / total
            return cls(
                rows=rows, total=total, kind=None, probabilities=shares, few=few, is_few=is_few
            )
        return cls.of_single_rows(rows)

    @classmethod
    def of_single_rows(cls, rows: NDArray[np.int64]) -> RowSampler:
        """Return a sampler that draws single rows."""
        total, kinds = int(rows.sum()), len(rows)
        kind = None if total == kinds else np.repeat(np.arange(kinds), rows)
        return cls(rows=rows, total=total, kind=kind, probabilities=None)

    @property
    def size(self) -> int:
        """The number of random values that one replicate needs."""
        return len(self.rows) if self.probabilities is not None else self.total

    def draw(self, stream: np.random.Generator, sizes: NDArray[np.int64]) -> RowCounts:
        """Draw `sizes[i]` rows for each replicate i; return the number of rows of each kind."""
        if self.probabilities is not None:
            drawn = stream.multinomial(sizes, self.probabilities)
            if self.few is None or self.is_few is None:
                return drawn
            counts = np.empty((len(sizes), len(self.rows)), np.int64)
            counts[:, ~self.is_few] = drawn[:, :-1]
            counts[:, self.is_few] = self.few.draw(stream, drawn[:, -1])
            return counts
        kinds, length = len(self.rows), int(sizes.sum())
        if length <= 2 * BLOCK_ROWS:
            return self._draw_rows(stream, length, sizes).reshape(-1, kinds)
        counts = np.zeros((len(sizes), kinds), np.int64)
        for i, size in enumerate(sizes.tolist()):
            for first in range(0, size, BLOCK_ROWS):
                counts[i] += self._draw_rows(stream, min(BLOCK_ROWS, size - first))
        return counts

    def _draw_rows(
        self, stream: np.random.Generator, length: int, sizes: NDArray[np.int64] | None = None
    ) -> NDArray[np.int64]:
        """Draw `length` single rows (of replicates with `sizes`); return the rows of each kind."""
        kind = stream.integers(0, self.total, length)
        if self.kind is not None:
            kind = self.kind[kind]
        kinds, replicates = len(self.rows), 1 if sizes is None else len(sizes)
        if sizes is not None and replicates > 1:
            kind += np.repeat(np.arange(replicates) * kinds, sizes)
        return np.bincount(kind, minlength=replicates * kinds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupSampler:
    """Draws replicates of one group."""

    population: GroupRows
    pos: RowSampler
    neg: RowSampler

    @classmethod
    def from_group(cls, population: GroupRows) -> GroupSampler:
        """Return a sampler of the rows of both classes of a group."""
        pos, neg = (RowSampler.from_counts(side.rows) for side in (population.pos, population.neg))
        return cls(population=population, pos=pos, neg=neg)

    @property
    def batch_size(self) -> int:
        """The number of replicates in a batch, which needs at most about `BLOCK_ROWS` numbers."""
        population = self.population
        size = max(self.pos.size + self.neg.size, len(population.codes))
        if population.clusters is not None:
            size = max(len(population.pos.rows) + len(population.neg.rows), population.clusters)
        return max(1, BLOCK_ROWS // size)

    def draw(self, stream: np.random.Generator, size: int, *, stratified: bool) -> ReplicateCounts:
        """Draw a batch of replicates; one without rows of a class is drawn again.

        If `stratified`, each class is drawn separately, with as many rows as in the data, otherwise
        both together. If the rows have clusters, complete clusters are drawn in both cases.
        """
        sides = self.population.pos, self.population.neg
        clusters = [side.cluster for side in sides if side.cluster is not None]
        (pos, neg), n_redrawn = draw_classes(
            stream, size, (self.pos, self.neg), clusters, stratified=stratified
        )
        return ReplicateCounts(population=self.population, pos=pos, neg=neg, n_redrawn=n_redrawn)


def draw_classes(
    stream: np.random.Generator,
    size: int,
    sides: Sequence[RowSampler],
    clusters: Sequence[NDArray[np.int64]],
    *,
    stratified: bool,
) -> tuple[list[RowCounts], int]:
    """Draw replicates of two classes, or of their `clusters`, and count those drawn again."""
    if clusters:
        # A draw is valid if it has rows of both classes. The probability of a valid draw is lowest
        # if only one cluster has positives, only one other cluster has negatives, and there are
        # many clusters. Its limit is then 1 - 2/e + 1/e² = 0.40.
        sampler = RowSampler.from_counts(np.ones(np.concatenate(clusters).max() + 1, np.int64))
        times, n_redrawn = draw_together(stream, size, sampler, clusters)
        members = zip(clusters, sides, strict=True)
        return [times[:, cluster] * side.rows for cluster, side in members], n_redrawn
    n_pos, n_neg = (side.total for side in sides)
    pos_sizes, n_redrawn = np.full(size, n_pos), 0
    if not stratified:
        pos_sizes, n_redrawn = draw_class_sizes(stream, n_pos, n_pos + n_neg, size)
    sizes = pos_sizes, n_pos + n_neg - pos_sizes
    return [side.draw(stream, n) for side, n in zip(sides, sizes, strict=True)], n_redrawn


def draw_together(
    stream: np.random.Generator,
    size: int,
    sampler: RowSampler,
    classes: Sequence[NDArray[np.int64]],
) -> tuple[RowCounts, int]:
    """Draw rows or clusters of all classes together, as many as in the data.

    `classes` has, for each class, its kinds of rows or clusters. The result is how often each was
    drawn, and how many replicates, with only one class, were drawn again.
    """
    return draw_valid(
        lambda size: sampler.draw(stream, np.full(size, sampler.total)),
        lambda times: np.sum([times[:, own].any(axis=1) for own in classes], axis=0) > 1,
        size,
    )


def draw_class_sizes(
    stream: np.random.Generator, n_pos: int, n: int, size: int
) -> tuple[NDArray[np.int64], int]:
    """Draw the number of positives of each replicate, at least 1 and at most n - 1, and redraws."""
    # The share of the larger class may be rounded to 1, so the size of the smaller class is drawn.
    # The expected size is at least 1, so a draw is valid with a probability of at least 1/2.
    smaller = min(n_pos, n - n_pos)
    sizes, n_redrawn = draw_valid(
        lambda size: stream.binomial(n, smaller / n, size),
        lambda n_drawn: (n_drawn > 0) & (n_drawn < n),
        size,
    )
    return sizes if smaller == n_pos else n - sizes, n_redrawn


def draw_valid(
    draw: Callable[[int], NDArray[np.int64]],
    valid: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
    size: int,
) -> tuple[NDArray[np.int64], int]:
    """Return `size` valid replicates, and how many replicates were drawn again."""
    replicates = draw(size)
    invalid, n_redrawn = np.flatnonzero(~valid(replicates)), 0
    while len(invalid):
        n_redrawn += len(invalid)
        replicates[invalid] = draw(len(invalid))
        invalid = invalid[~valid(replicates[invalid])]
    return replicates, n_redrawn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReplicateStatistic:
    """A statistic with `width` values per group; `corners` of ROC curves are sufficient or not."""

    function: Callable[[Any], NDArray[Any]]
    depends_on_prevalence: bool = False
    corners: bool = True
    width: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RandomDraws:
    """Number of resamples or permutations, streams of groups (`keys`), and clusters of rows.

    If `are_kept`, the replicates are results, not only their variance.
    """

    n_draws: int
    seed: Seed
    keys: list[tuple[int, ...]]
    cluster: NDArray[Any] | None = None
    are_kept: bool = False

    @classmethod
    def of_cases(cls, cases: Cases, keys: pl.DataFrame, n_draws: int, seed: Seed) -> RandomDraws:
        """Return the draws of the groups `keys` of the cases of one model."""
        streams = stream_keys(keys, cases.model)
        return cls(n_draws=n_draws, seed=seed, keys=streams, cluster=cases.cluster)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupReplicates:
    """Statistics of the replicates (rows) of one group, and how many were drawn again for each."""

    population: GroupRows
    values: list[NDArray[Any]]
    n_redrawn: list[int]


def resample_groups(
    scan: Scan,
    statistics: Sequence[ReplicateStatistic],
    draws: RandomDraws,
    selected: NDArray[np.bool_] | None = None,
    *,
    arrays_only: bool = False,
) -> Iterator[GroupReplicates]:
    """Yield the statistics of the replicates of each selected group that has both classes.

    `selected` is None for all groups. With `arrays_only`, no statistic runs a query of polars.
    """
    # After a large memory block is freed, the C library of Linux reuses freed memory instead of
    # returning it to the system. The reuse saves a quarter of the time, so a block is allocated and
    # freed at once.
    np.empty(REUSED_BYTES, np.uint8)
    both = (scan.totals.pos_rows > 0) & (scan.totals.neg_rows > 0)
    groups = np.flatnonzero(both if selected is None else both & selected)
    n_values = draws.n_draws * sum(statistic.width for statistic in statistics)
    for chunk in _replicate_chunks(scan, groups, n_values):
        # Each chunk has its own function call, so that its arrays are freed before the next chunk.
        yield from _resample_chunk(scan, statistics, draws, chunk, arrays_only)


def _resample_chunk(
    scan: Scan,
    statistics: Sequence[ReplicateStatistic],
    draws: RandomDraws,
    groups: NDArray[np.int64],
    arrays_only: bool,
) -> Iterator[GroupReplicates]:
    """Yield the statistics of the groups of one chunk."""
    samplers = run_parallel(
        lambda group: GroupSampler.from_group(GroupRows.from_scan(scan, group, draws.cluster)),
        groups.tolist(),
        arrays_only=True,
    )
    tasks = [
        (sampler, *batch)
        for sampler in samplers
        for batch in enumerate(batch_sizes(draws.n_draws, sampler.batch_size))
    ]
    values = run_parallel(
        lambda task: _resample_batch(statistics, draws, *task), tasks, arrays_only=arrays_only
    )
    results = iter(values)
    for sampler in samplers:
        parts = [next(results) for _ in batch_sizes(draws.n_draws, sampler.batch_size)]
        yield GroupReplicates(
            population=sampler.population,
            values=[np.concatenate([part[0][i] for part in parts]) for i in range(len(statistics))],
            n_redrawn=[sum(part[1][i] for part in parts) for i in range(len(statistics))],
        )


def _replicate_chunks(
    scan: Scan, groups: NDArray[np.int64], n_values: int
) -> Iterator[NDArray[np.int64]]:
    """Yield chunks of groups computed in parallel; a group has `n_values` values."""
    # This limit is at least one group for each thread.
    most = max(count_workers(), MAX_STORED_NUMBERS // max(n_values, 1))
    rows = np.cumsum(np.diff(scan.rows.starts)[groups]) // (4 * BLOCK_ROWS)
    starts = run_starts(rows)
    for part in np.split(groups, starts[1:]):
        for first in range(0, len(part), most):
            yield part[first : first + most]


def _resample_batch(
    statistics: Sequence[ReplicateStatistic],
    draws: RandomDraws,
    sampler: GroupSampler,
    batch: int,
    size: int,
) -> tuple[list[NDArray[Any]], list[int]]:
    """Return the values of each statistic, and the numbers of replicates drawn again."""
    key = draws.keys[sampler.population.group]
    samples: dict[bool, ReplicateCounts] = {}
    scans: dict[tuple[bool, bool], ReplicateScan] = {}
    computed: dict[ReplicateStatistic, NDArray[Any]] = {}  # statistics may occur more than once
    values, n_redrawn = [], []
    for statistic in statistics:
        stratified = draws.cluster is None and not statistic.depends_on_prevalence
        if stratified not in samples:
            stream = draws.seed.stream(key, batch)
            samples[stratified] = sampler.draw(stream, size, stratified=stratified)
        if (stratified, statistic.corners) not in scans:
            sample_scan = samples[stratified].scan(corners=statistic.corners)
            scans[stratified, statistic.corners] = sample_scan
        if statistic not in computed:
            computed[statistic] = statistic.function(scans[stratified, statistic.corners])
        values.append(computed[statistic])
        n_redrawn.append(samples[stratified].n_redrawn)
    return values, n_redrawn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassRows:
    """The kinds of rows of one class, in the order of falling scores; unscored rows are last.

    Rows with the same score, weight and cluster are one kind: `rows` is their number, `weight` that
    of a row, and `cluster` their cluster, or None. `n_at_or_above` is the number of kinds at or
    above each distinct score of the group.
    """

    rows: NDArray[np.int64]
    n_at_or_above: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    cluster: NDArray[np.int64] | None

    @property
    def total(self) -> int:
        """The number of rows of the class."""
        return int(self.rows.sum())

    @property
    def step(self) -> NDArray[np.int64]:
        """The position of the score of each kind among the distinct scores; last if unscored."""
        return np.searchsorted(self.n_at_or_above, np.arange(len(self.rows)), "right")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepEdges:
    """Some scores, and the numbers of kinds at or above each; the first number is 0."""

    codes: Any
    pos: NDArray[np.int64]
    neg: NDArray[np.int64]

    @classmethod
    def at_scores(
        cls,
        codes: Any,
        pos: ClassRows,
        neg: ClassRows,
        scores: slice | NDArray[np.int64] = slice(None),
    ) -> StepEdges:
        """Return the edges at the scores with the positions `scores` in `codes`."""
        pos_edges, neg_edges = (np.append(0, side.n_at_or_above[scores]) for side in (pos, neg))
        return cls(codes=codes[scores], pos=pos_edges, neg=neg_edges)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupRows:
    """The rows of one group: its distinct scores, encoded as `codes`, and the rows of both classes.

    `steps` has the edges of all scores, and `corner_steps` those at which the ROC curve can have a
    corner: not between two neighboring scores whose rows all belong to the same class. `clusters`
    is the number of clusters, or None.
    """

    group: int
    codec: Codec
    codes: Any
    pos: ClassRows
    neg: ClassRows
    steps: StepEdges
    corner_steps: StepEdges
    clusters: int | None

    @classmethod
    def from_scan(cls, scan: Scan, group: int, cluster: NDArray[Any] | None = None) -> GroupRows:
        """Return the rows of one group; `cluster` is the cluster of each row of the frame."""
        rows = scan.rows
        start, end, stop = (
            int(i) for i in (rows.starts[group], rows.ends[group], rows.starts[group + 1])
        )
        unscored = rows.codes[end:stop] >> 1 == rows.codec.reserved(ReservedCode.UNSCORED)
        positions = np.append(np.arange(start, end), end + np.flatnonzero(unscored))
        negative = (rows.codes[positions] & 1).astype(bool)
        scores = rows.codes[start:end] >> 1
        is_first = is_run_start(scores)
        codes = scores[is_first]
        step = np.full(len(positions), len(codes))
        step[: end - start] = np.cumsum(is_first) - 1

        clusters = members = None
        if cluster is not None:
            assert rows.row is not None
            names, members = np.unique(cluster[rows.row[positions]], return_inverse=True)
            clusters = len(names)
        weights = rows.weights
        count = np.ones(len(positions), np.int64) if weights is None else weights.count[positions]
        weight = None if weights is None or weights.weight is None else weights.weight[positions]

        def side(in_class: NDArray[np.bool_]) -> ClassRows:
            return _merge_rows(
                step[in_class],
                count[in_class],
                None if weight is None else weight[in_class],
                None if members is None else members[in_class],
                steps=len(codes),
            )

        pos, neg = side(~negative), side(negative)
        return cls(
            group=group,
            codec=rows.codec,
            codes=codes,
            pos=pos,
            neg=neg,
            steps=StepEdges.at_scores(codes, pos, neg),
            corner_steps=StepEdges.at_scores(codes, pos, neg, _corner_steps(pos, neg)),
            clusters=clusters,
        )

    def values_of_rows(
        self, scan: Scan, values: tuple[NDArray[Any], NDArray[Any]]
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return the rows of the group in the frame, and the value of each row.

        `values` are those of positives and of negatives: at each score and, last, without a score.
        """
        rows = scan.rows
        assert rows.row is not None
        own = slice(int(rows.starts[self.group]), int(rows.starts[self.group + 1]))
        step = np.searchsorted(self.codes, rows.codes[own] >> 1)
        negative = (rows.codes[own] & 1).astype(bool)
        return rows.row[own], np.where(negative, values[1][step], values[0][step])

    def without_labels(self) -> GroupRows:
        """Return a population in which each class has the rows of both classes, without clusters.

        Labels can be drawn for its rows, so the curve can have a corner at each score.
        """
        sides = (self.pos, self.neg)
        step = np.concatenate([side.step for side in sides])
        weights = [side.weight for side in sides if side.weight is not None]
        order = np.argsort(step, kind="stable")
        rows = _merge_rows(
            step[order],
            np.concatenate([side.rows for side in sides])[order],
            np.concatenate(weights)[order] if weights else None,
            None,
            steps=len(self.codes),
        )
        steps = StepEdges.at_scores(self.codes, rows, rows)
        return replace(self, pos=rows, neg=rows, steps=steps, corner_steps=steps, clusters=None)


def _merge_rows(
    step: NDArray[np.int64],
    count: NDArray[np.int64],
    weight: NDArray[np.float64] | None,
    cluster: NDArray[np.int64] | None,
    *,
    steps: int,
) -> ClassRows:
    """Return the kinds of rows of one class; `step` is the position of the score of each row."""
    more_columns: list[NDArray[Any]] = [
        values for values in (weight, cluster) if values is not None
    ]
    order = np.lexsort([*more_columns, step]) if more_columns else np.arange(len(step))
    starts = run_starts(*(values[order] for values in (step, *more_columns)))
    first = order[starts]
    return ClassRows(
        rows=np.add.reduceat(count[order], starts) if len(starts) else count,
        n_at_or_above=np.searchsorted(step[first], np.arange(steps), "right"),
        weight=None if weight is None else weight[first],
        cluster=None if cluster is None else cluster[first],
    )


def _corner_steps(pos: ClassRows, neg: ClassRows) -> NDArray[np.int64]:
    """Return the positions of the scores at which the ROC curve can have a corner."""
    has_pos, has_neg = (np.diff(side.n_at_or_above, prepend=0) > 0 for side in (pos, neg))
    has_both = has_pos & has_neg
    is_corner = has_both.copy()
    is_corner[:-1] |= has_both[1:] | (has_pos[1:] != has_pos[:-1])
    is_corner[-1:] = True
    return np.flatnonzero(is_corner)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seed:
    """The seed of all random streams of one call."""

    entropy: int

    @classmethod
    def parse(cls, seed: object) -> Seed:
        """Check the option `seed`; for None, choose a new seed."""
        if seed is None:
            return cls(entropy=int(np.random.SeedSequence().entropy))  # type: ignore[arg-type]
        if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
            raise OptionValueError.compose(
                "seed",
                seed,
                "expected an integer of at least 0, or None",
                "Use, for example, seed=1.",
            )
        return cls(entropy=int(seed))

    def stream(self, key: tuple[int, ...], batch: int) -> np.random.Generator:
        """Return the random generator of one batch of replicates of a group."""
        sequence = np.random.SeedSequence(self.entropy, spawn_key=(*key, batch))
        return np.random.Generator(np.random.PCG64DXSM(sequence))


def stream_keys(keys: pl.DataFrame, model: str | None = None) -> list[tuple[int, ...]]:
    """Return the integers that identify the random stream of each group, from its keys."""
    columns = [column.to_list() for column in keys]
    if model is not None:
        columns.append([model] * keys.height)
    return [_key_words(key) for key in zip(*columns, strict=True)] if columns else [_key_words(())]


def _key_words(key: tuple[object, ...]) -> tuple[int, ...]:
    """Return a digest of the values of group columns as four 32-bit integers."""
    # A digest is used, because Python's `hash` of a string differs between processes.
    digest = blake2b(repr(key).encode(), digest_size=16).digest()
    return tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
