"""Encode scores and labels as sortable integers, find the groups, and sort the rows of each group.

The code of a row is an unsigned integer. The lowest bit of the code is the label: 1 for negatives.
The other bits encode the score: a higher score has a smaller code. If the codes are sorted, the
rows are sorted by falling score, with the positives of a tie first. Two rows are tied if their
codes are equal except for the lowest bit.

Scores are not rounded. Nonnegative IEEE floats have the same order as their bit patterns. The label
needs one bit of the code. If there are scores of both signs, all bits of a float are in use.
Therefore the bit patterns between zero and the smallest magnitude of the scores are left out.

numpy's sort of 64-bit integers is several times faster on some processors than on others, and the
sort of polars varies much less. Therefore the faster one of the two is used. Sorted codes are the
same, because equal codes cannot be distinguished, and orders are unique, because they are stable.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np
import polars as pl

from rocframe.frames import fill_nulls, key_starts, take_rows
from rocframe.inputs.cases import RowState
from rocframe.kernel.arrays import (
    MAX_WEIGHT,
    count_workers,
    grouped_bisect,
    run_parallel,
    scale_by_groups,
    scale_by_largest,
    split_rows,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from rocframe.inputs.cases import Cases

Floats: TypeAlias = Any  # NDArray of float64 or float32
Codes: TypeAlias = Any  # NDArray of uint64 or uint32
FLOAT64 = np.dtype(np.float64)
ENCODED_ROWS = 1 << 16  # number of rows that a thread encodes at a time


class ReservedCode(IntEnum):
    """Codes of rows that are unscored or not used, as distances from the largest code."""

    LEFT_OUT = 0
    ABSENT = 1
    UNSCORED = 2


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codec:
    """Encoding of a column of scores as `top - rank`, where `top` is the rank of the highest score.

    The rank is an integer that increases with the score, encoded in the dtype `floats`:

    - Without negative scores, the rank is the bit pattern of the score.
    - With negative scores (`signed`), the rank has the sign of the score. The smallest magnitude,
      whose bit pattern is `least`, has the rank 1, and infinity has the rank `infinity`.
    - If `table` is not None, it has the sorted distinct scores, and the rank is the position there.
    """

    floats: np.dtype[Any]
    signed: bool
    top: int
    least: int
    infinity: int
    table: Floats | None = None
    scores: np.dtype[Any] = FLOAT64

    @property
    def integers(self) -> np.dtype[Any]:
        """The signed integer type with the size of a score."""
        return np.dtype(f"i{self.floats.itemsize}")

    @property
    def codes(self) -> np.dtype[Any]:
        """The unsigned integer type with the size of a score."""
        return np.dtype(f"u{self.floats.itemsize}")

    def reserved(self, kind: ReservedCode) -> int:
        """Return the reserved code of a kind of row, without the label bit."""
        return int(np.iinfo(self.codes).max >> 1) - int(kind)

    @property
    def first_reserved(self) -> Any:
        """The smallest reserved code; scored rows have smaller codes."""
        return self.codes.type(self.reserved(max(ReservedCode)) << 1)

    def encode(self, scores: Floats, negative: NDArray[np.bool_]) -> Codes:
        """Return the codes of rows with these scores and labels."""
        if self.table is not None:
            rank = np.searchsorted(self.table, scores).astype(self.integers)
        elif self.signed:
            rank = self._signed_rank(scores)
        else:
            rank = (scores + 0).view(self.integers)  # + 0 turns -0.0 into 0.0
        np.subtract(self.top, rank, out=rank)
        codes: Codes = rank.view(self.codes)
        codes <<= 1
        codes |= negative
        return codes

    def decode(self, codes: Codes) -> NDArray[np.float64]:
        """Return the scores as Float64; `codes` are codes without the label bit."""
        rank = self.top - codes.view(self.integers)
        if self.table is not None:
            scores = self.table[rank]
        elif not self.signed:
            scores = rank.view(self.floats)
        else:
            below = rank >> (8 * self.floats.itemsize - 1)
            size = (rank ^ below) - below
            bits = size + (self.least - 1)
            bits[size == 0] = 0
            bits[size == self.infinity] = _float_bits(np.inf, self.floats)
            scores = np.copysign(bits.view(self.floats), rank)
        as_float64: NDArray[np.float64] = scores.astype(np.float64, copy=False)
        return as_float64

    def _signed_rank(self, scores: Floats) -> Any:
        """Return the ranks of scores of both signs, as integers of the same size."""
        bits = scores.view(self.integers)
        below = bits >> (8 * self.floats.itemsize - 1)
        size = bits & np.iinfo(self.integers).max
        size -= self.least - 1
        np.clip(size, 0, self.infinity, out=size)
        size ^= below
        size -= below
        return size


def round_thresholds(thresholds: ArrayLike, floats: np.dtype[Any]) -> NDArray[np.float64]:
    """Return thresholds as Float64, rounded to the float dtype of the scores, as in polars."""
    with np.errstate(over="ignore"):  # large numbers are infinite in Float32
        rounded: NDArray[np.float64] = np.asarray(thresholds, np.float64).astype(floats)
    return rounded.astype(np.float64)


def fit_codec(scores: Floats) -> Codec:
    """Return a codec that can encode these scores, which must not contain NaN."""
    floats = scores.dtype
    room = int(np.iinfo(f"i{floats.itemsize}").max) - len(ReservedCode)
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 0.0)
    if low >= 0:
        top = _float_bits(high + 0, floats)
        return Codec(floats=floats, signed=False, top=top, least=0, infinity=0)
    parts = run_parallel(
        lambda part: _magnitude_range(scores[part]),
        split_rows(len(scores), ENCODED_ROWS),
        arrays_only=True,
    )
    least = min((small for small, _ in parts if small), default=1)
    infinity = max(max(large for _, large in parts) - least + 2, 1)
    if 2 * infinity < room:
        codec = Codec(floats=floats, signed=True, top=0, least=least, infinity=infinity)
        top = int(codec._signed_rank(np.array([high], floats))[0])
        return Codec(floats=floats, signed=True, top=top, least=least, infinity=infinity)
    if floats == np.float32:
        return fit_codec(scores.astype(np.float64))
    # The largest magnitude is more than 2**1024 times the smallest nonzero one, so differences of
    # bit patterns do not fit into the integer type. Codes are positions in a table of scores.
    table = np.unique(scores + 0)
    return Codec(floats=floats, signed=False, top=len(table) - 1, least=0, infinity=0, table=table)


def encode_rows(cases: Cases) -> tuple[Codec, Codes]:
    """Return the codec and the codes of all cases, which are the largest for unscored rows."""
    codec = replace(fit_codec(cases.score), scores=cases.score.dtype)
    scores = cases.score.astype(codec.floats, copy=False)
    codes = np.empty(len(scores), codec.codes)

    def fill(part: slice) -> None:
        codes[part] = codec.encode(scores[part], cases.negative[part])
        if cases.state is not None:
            for state in (RowState.UNSCORED, RowState.ABSENT, RowState.LEFT_OUT):
                rows = cases.state[part] == state
                code = codec.codes.type(codec.reserved(ReservedCode[state.name]) << 1)
                codes[part][rows] = code | cases.negative[part][rows]

    run_parallel(fill, split_rows(len(scores), ENCODED_ROWS), arrays_only=True)
    return codec, codes


def _float_bits(value: Any, floats: np.dtype[Any]) -> int:
    """Return the bit pattern of a float of dtype `floats`, as an integer."""
    return int(np.array([value], floats).view(f"i{floats.itemsize}")[0])


def _magnitude_range(scores: Floats) -> tuple[int, int]:
    """Return the bit patterns of the smallest nonzero and the largest finite magnitude."""
    bits = np.abs(scores).view(f"i{scores.dtype.itemsize}")
    small = int(bits.min())
    large = int(bits.max())
    if small == 0:
        nonzero = bits[bits > 0]
        small = int(nonzero.min()) if len(nonzero) else 0
    if large >= _float_bits(np.inf, scores.dtype):
        finite = bits[bits < large]
        large = int(finite.max()) if len(finite) else 0
    return small, large


PARALLEL_SORT_ROWS = 1 << 18  # minimum size of groups that are divided among threads
MATRIX_SORT_ROWS = 64  # maximum size of groups that are sorted together with groups of equal size
NUMPY_SORT_ROWS = 1 << 11  # numpy sorts smaller groups, because a call of polars takes about 10 µs
PACKED_ROWS = 1 << 16  # number of rows that a thread packs at a time


def sort_groups(codes: Codes, starts: NDArray[np.int64]) -> None:
    """Sort the codes of each group in place: small groups together, large ones on all threads."""
    sizes = np.diff(starts)
    for rows in equal_size_groups(starts):
        codes[rows] = np.sort(codes[rows], axis=1)
    rest = large_groups(starts)
    for i in rest[sizes[rest] >= PARALLEL_SORT_ROWS]:
        _sort_large(codes[starts[i] : starts[i + 1]])

    def sort_groups_of_thread(groups: NDArray[np.int64]) -> None:
        for i in groups:
            _sort(codes[starts[i] : starts[i + 1]])

    run_parallel(
        sort_groups_of_thread,
        split_evenly(rest[sizes[rest] < PARALLEL_SORT_ROWS]),
        arrays_only=True,
    )


def sort_order(codes: Codes, starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], Codes]:
    """Return the order that stably sorts the codes of each group, and the sorted codes."""
    if not len(codes):
        return np.zeros(0, np.int64), codes
    # Both numpy and polars take less time to sort integers than to compute an order. Therefore the
    # leading bits of each code and its position are packed into one integer.
    lowest = int(codes.min())
    low = np.uint64(lowest % 2**64)
    position_bits = np.uint64((len(codes) - 1).bit_length())
    n_bits = (int(codes.max()) - lowest).bit_length() + int(position_bits)
    lost_bits = np.uint64(max(0, n_bits - 64))
    packed, result = np.empty(len(codes), np.uint64), np.empty_like(codes)
    parts = split_rows(len(codes), PACKED_ROWS)

    def leading_bits(part: Any) -> NDArray[np.uint64]:
        bits: NDArray[np.uint64] = (part.astype(np.uint64) - low) >> lost_bits
        return bits

    def pack(part: slice) -> None:
        position = np.arange(part.start, part.stop, dtype=np.uint64)
        packed[part] = leading_bits(codes[part]) << position_bits | position

    def unpack(part: slice) -> None:
        packed[part] &= (np.uint64(1) << position_bits) - np.uint64(1)
        result[part] = codes[packed[part]]

    run_parallel(pack, parts, arrays_only=True)
    sort_groups(packed, starts)
    run_parallel(unpack, parts, arrays_only=True)
    order = packed.view(np.int64)
    if lost_bits:
        _sort_equal_leading_bits(order, result, starts, leading_bits)
    return order, result


def _sort_equal_leading_bits(
    order: NDArray[np.int64],
    codes: Codes,
    starts: NDArray[np.int64],
    leading_bits: Callable[[Codes], NDArray[np.uint64]],
) -> None:
    """Sort, in place, the codes of each group that have equal leading bits, and positions."""
    wrong = codes[1:] < codes[:-1]
    inner = starts[(starts > 0) & (starts < len(codes))]
    wrong[inner - 1] = False
    later = 1 + np.flatnonzero(wrong)
    group = np.searchsorted(starts, later, "right") - 1
    bits = leading_bits(codes[later])
    first_row, last_row = starts[group], starts[group + 1] - 1
    first = grouped_bisect(lambda row: leading_bits(codes[row]) < bits, first_row, last_row)
    stop = grouped_bisect(lambda row: leading_bits(codes[row]) <= bits, first_row, last_row)
    first, index = np.unique(first, return_index=True)
    lengths = stop[index] - first
    rows = concatenated_ranges(first, lengths)
    run = np.repeat(np.arange(len(first)), lengths)
    by_code = rows[np.lexsort((codes[rows], run))]
    order[rows], codes[rows] = order[by_code], codes[by_code]


def falling_ranks(thresholds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return an integer for each threshold, larger for lower ones; never the smallest Int64."""
    bits = (0.0 - thresholds).view(np.int64)
    ranks: NDArray[np.int64] = bits ^ ((bits >> 63) & np.iinfo(np.int64).max)
    return ranks


def equal_size_groups(starts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the positions of the rows of small groups: a matrix for each size, a row per group."""
    sizes = np.diff(starts)
    for size in np.unique(sizes[(sizes > 0) & (sizes <= MATRIX_SORT_ROWS)]):
        yield starts[:-1][sizes == size, None] + np.arange(size)


def large_groups(starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the groups with more than `MATRIX_SORT_ROWS` rows."""
    return np.flatnonzero(np.diff(starts) > MATRIX_SORT_ROWS)


def split_evenly(groups: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Divide groups into at most four parts per thread."""
    return np.array_split(groups, max(1, min(len(groups), 4 * count_workers())))


def _sort_large(codes: Codes) -> None:
    """Sort one large group in place, on all threads."""
    if count_workers() == 1:
        _sort(codes)
        return
    column = pl.Series(codes)
    sample = np.sort(codes[:: max(1, len(codes) // 4096)])
    edges = [sample[len(sample) * i // count_workers()] for i in range(1, count_workers())]

    def select(bounds: tuple[Any, Any]) -> Codes:
        """Return the codes from the first bound to below the second; None is no bound."""
        low, high = bounds
        mask = np.ones(len(codes), bool) if low is None else codes >= low
        if high is not None:
            mask &= codes < high
        # A filter of polars is several times faster than a Boolean index of numpy.
        part = column.filter(pl.Series(mask)).to_numpy()
        # If the codes of a part are adjacent, polars returns them without a copy.
        return part.copy() if np.may_share_memory(part, codes) else part

    parts = run_parallel(select, pairwise([None, *edges, None]), arrays_only=True)
    stops = np.cumsum([len(part) for part in parts])

    def sort_part(i: int) -> None:
        part = codes[stops[i] - len(parts[i]) : stops[i]]
        part[:] = parts[i]
        parts[i] = part  # frees the memory of the copy before the sort allocates memory
        _sort(part)

    run_parallel(sort_part, range(len(parts)), arrays_only=True)


def _sort(codes: Codes) -> None:
    """Sort codes in place with the faster one of the sorts of numpy and polars."""
    if len(codes) < NUMPY_SORT_ROWS or has_fast_numpy_sort():
        codes.sort()
    else:
        codes[:] = pl.Series(codes).sort(multithreaded=False).to_numpy()


@cache
def has_fast_numpy_sort() -> bool:
    """Return whether numpy sorts unordered codes faster than polars, by a measurement of 3 ms."""
    codes = np.sin(1e5 * np.arange(1 << 14)).view(np.uint64)
    column = pl.Series(codes)
    seconds = []
    for sort in (lambda: np.sort(codes), lambda: column.sort(multithreaded=False)):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            sort()
            times.append(time.perf_counter() - start)
        seconds.append(min(times))
    return seconds[0] < seconds[1]


def concatenated_ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the integers of all ranges, concatenated; range i begins at `starts[i]`."""
    before = np.cumsum(lengths) - lengths
    result: NDArray[np.int64] = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
    return result


MAX_KEY_CELLS = 1 << 22  # the tables of cells need at most 12 bytes per cell, or 50 MB
MAX_DIGIT_BITS = 14  # a block has counts of at most 2**14 digits
ORDERED_SAMPLE = 1 << 12  # number of rows that show whether the rows may already be sorted by group
PARTITIONED_ROWS = 1 << 16  # number of rows that a thread sorts by group at a time
# If the ratio of two weights of a table is below this number, the weights of all groups have the
# same factor. Products of sums of these weights do not underflow.
MAX_WEIGHT_RATIO = 2.0**100


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SortedRows:
    """The sorted cases of all groups, one group after the other.

    Group i has the scored rows `starts[i]` to `ends[i] - 1`, then until `starts[i + 1] - 1` those
    that are unscored, left out or absent (`unscored` has totals). `codes` encode score and label.
    `row` is the position in the frame, if it was requested.
    """

    codec: Codec
    keys: pl.DataFrame
    codes: Codes
    weights: RowWeights | None
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    unscored: UnscoredTotals
    row: NDArray[np.int64] | None = None

    def of_groups(self, groups: slice) -> SortedRows:
        """Return the rows of neighboring groups, without a copy."""
        starts = self.starts[groups.start : groups.stop + 1]
        rows = slice(starts[0], starts[-1])
        return SortedRows(
            codec=self.codec,
            keys=self.keys[groups],
            codes=self.codes[rows],
            weights=None if self.weights is None else self.weights.of_rows(rows),
            starts=starts - starts[0],
            ends=self.ends[groups] - starts[0],
            unscored=self.unscored.of_groups(groups),
            row=None if self.row is None else self.row[rows],
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowGroups:
    """The groups of a frame: group i has the rows `order[starts[i] : starts[i + 1]]`."""

    keys: pl.DataFrame
    starts: NDArray[np.int64]
    order: NDArray[np.int64]

    @classmethod
    def from_keys(cls, keys: pl.DataFrame, length: int) -> RowGroups:
        """Return the groups of `length` rows with these keys."""
        distinct, starts, columns = _group_rows(keys, {"codes": np.arange(length)})
        return cls(keys=distinct, starts=starts, order=columns["codes"])

    @property
    def number(self) -> NDArray[np.int64]:
        """The number of the group of each row."""
        number = np.empty(len(self.order), np.int64)
        number[self.order] = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        return number


def scale_weights(cases: Cases, *, by_class: bool = False) -> Cases:
    """Multiply the weights of each group by a power of two; see `scale_by_largest`.

    Products of two sums of weights then do not overflow or underflow, whatever the weights of other
    groups are. With `by_class`, each class has its own factor, which does not change ROC areas.
    """
    if cases.weight is None:
        return cases
    weight = cases.weight
    if cases.state is not None:  # rows that are left out have no effect on the factors
        weight = np.where(cases.state < RowState.ABSENT, weight, 0.0)
    largest = weight.max(initial=0.0)
    smallest = np.min(weight, where=weight > 0, initial=np.inf)
    if largest < min(MAX_WEIGHT, MAX_WEIGHT_RATIO * smallest):
        return replace(cases, weight=scale_by_largest(largest, weight))
    groups = RowGroups.from_keys(cases.keys, len(weight))
    scaled = np.zeros_like(weight)
    for rows in (cases.negative, ~cases.negative) if by_class else (np.True_,):
        of_class = np.where(rows, weight, 0.0)[groups.order]
        scaled[groups.order] += scale_by_groups(of_class, groups.starts)
    return replace(cases, weight=scaled)


def weight_units(cases: Cases, scaled: Cases) -> NDArray[np.float64]:
    """Return the divisor of the weights of each group in `scale_weights`; 1 if all are 0."""
    assert cases.weight is not None
    assert scaled.weight is not None
    groups = RowGroups.from_keys(cases.keys, len(cases.weight))
    largest, scaled_largest = (
        np.maximum.reduceat(np.append(values[groups.order], 0.0), groups.starts[:-1])
        for values in (np.where(scaled.weight > 0, cases.weight, 0.0), scaled.weight)
    )
    return np.divide(largest, scaled_largest, out=np.ones(len(largest)), where=scaled_largest > 0)


def sort_rows(cases: Cases, *, with_positions: bool = False) -> SortedRows:
    """Return the rows sorted by group and falling score, optionally with their positions."""
    columns: dict[str, NDArray[Any]] = {}
    codec, columns["codes"] = encode_rows(cases)  # no other name keeps the codes in memory
    columns |= {} if cases.count is None else {"count": cases.count}
    columns |= {} if cases.weight is None else {"weight": cases.weight}
    columns |= {"row": np.arange(len(cases.score))} if with_positions else {}
    keys, starts, columns = _group_rows(cases.keys, columns)
    return _sort_within_groups(cases, codec, keys, starts, columns)


def sort_grouped_rows(cases: Cases, groups: RowGroups) -> SortedRows:
    """Return `cases`, already by group, by falling score, with the position of each row."""
    codec, codes = encode_rows(cases)
    columns: dict[str, NDArray[Any] | None] = {
        "codes": codes,
        "count": cases.count,
        "weight": cases.weight,
        "row": np.arange(len(codes)),
    }
    return _sort_within_groups(cases, codec, groups.keys, groups.starts, columns)


def _sort_within_groups(
    cases: Cases,
    codec: Codec,
    keys: pl.DataFrame,
    starts: NDArray[np.int64],
    columns: Mapping[str, NDArray[Any] | None],
) -> SortedRows:
    """Return the rows sorted by falling score; `columns` are already sorted by group."""
    codes, count, weight, row = map(columns.get, ("codes", "count", "weight", "row"))
    assert codes is not None
    weights = None
    if count is None and weight is None and row is None:
        sort_groups(codes, starts)
    else:
        order, codes = sort_order(codes, starts)
        row = None if row is None else row[order]
        if count is not None or weight is not None:
            weights = RowWeights.from_rows(codes, count, weight, order, starts)
    unscored = UnscoredTotals.none(len(starts) - 1)
    if cases.state is not None:
        unscored = UnscoredTotals.find(codec, codes, weights, starts)
    return SortedRows(
        codec=codec,
        keys=keys,
        codes=codes,
        weights=weights,
        starts=starts,
        ends=starts[1:] - unscored.length,
        unscored=unscored,
        row=row,
    )


def _group_rows(
    keys: pl.DataFrame, columns: dict[str, NDArray[Any]]
) -> tuple[pl.DataFrame, NDArray[np.int64], dict[str, NDArray[Any]]]:
    """Return the sorted distinct keys, the start of each group, and `columns` sorted by group."""
    if not keys.width:
        length = len(columns["codes"])
        return pl.DataFrame(height=1), np.array([0, length]), columns
    in_order = _ordered_groups(keys)
    if in_order is not None:
        return *in_order, columns
    numbers = GroupNumbers.from_keys(keys)
    if numbers is not None:
        return numbers.keys, *numbers.sort_columns(columns)
    grouped = (
        keys.hstack([pl.Series(name, values) for name, values in columns.items()])
        .group_by(keys.columns)
        .agg(*columns)
        .sort(keys.columns)
    )
    starts = np.zeros(grouped.height + 1, np.int64)
    np.cumsum(grouped["codes"].list.len().to_numpy(), out=starts[1:])
    flat = {
        name: grouped[name].explode(empty_as_null=False).to_numpy(writable=True) for name in columns
    }
    return grouped.select(keys.columns), starts, flat


def _ordered_groups(keys: pl.DataFrame) -> tuple[pl.DataFrame, NDArray[np.int64]] | None:
    """Return the distinct keys and starts of groups if the rows are already sorted by group."""
    # Equal floats, such as 0.0 and -0.0, and nested values can have several representations.
    if any(dtype.is_float() or dtype.is_nested() for dtype in keys.dtypes):
        return None
    # Only if the first rows have few changes of the key, all rows are compared.
    n_first = len(key_starts(keys.head(ORDERED_SAMPLE), ORDERED_SAMPLE))
    if n_first > ORDERED_SAMPLE // 64:
        return None
    if n_first == 1 and all(_is_constant(key) for key in keys):
        return keys.head(1), np.array([0, keys.height])
    starts = key_starts(keys, keys.height).to_numpy()
    if len(starts) > keys.height // 64 + 1:
        return None
    distinct = take_rows(keys, starts)
    if not distinct.equals(distinct.unique().sort(keys.columns)):
        return None
    return distinct, np.append(starts, keys.height).astype(np.int64)


def _is_constant(key: pl.Series) -> bool:
    """Return whether integers, or keys stored as integers, are equal; False for other types."""
    values = key.to_physical()
    if not values.dtype.is_integer() or values.null_count():
        return False
    return bool(values.min() == values.max())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupNumbers:
    """The number of the group of each row; `keys` are the sorted distinct keys."""

    keys: pl.DataFrame
    number: NDArray[np.uint32]

    @classmethod
    def from_keys(cls, keys: pl.DataFrame) -> GroupNumbers | None:
        """Return the groups of the rows, or None if the keys are not integers of a small range.

        Dates, times, Booleans, enums and categories are integers too. Those of all key columns of a
        row are combined to one integer, the cell of the row.
        """
        columns = [IntegerKey.from_series(key) for key in keys]
        integers = [column for column in columns if column is not None]
        n_cells = math.prod(column.size for column in integers)
        if len(integers) < keys.width or n_cells > min(MAX_KEY_CELLS, 1024 + keys.height):
            return None
        number, row_of_cell = np.empty(keys.height, np.uint32), np.full(n_cells, -1)

        def find_cells(part: slice) -> None:
            cells = integers[0].cells(part)
            for column in integers[1:]:
                cells = cells * np.uint32(column.size) + column.cells(part)
            number[part] = cells
            # Several threads can write the same cell. All rows of a cell have the same keys.
            row_of_cell[cells] = np.arange(part.start, part.stop)

        parts = split_rows(keys.height, PARTITIONED_ROWS)
        run_parallel(find_cells, parts, arrays_only=True)
        used = np.flatnonzero(row_of_cell >= 0)
        distinct = take_rows(keys, row_of_cell[used])
        order = distinct.select(pl.arg_sort_by(keys.columns)).to_series().to_numpy()
        number_of_cell = np.empty(n_cells, np.uint32)
        number_of_cell[used[order]] = np.arange(len(used))

        def replace_cells(part: slice) -> None:
            number[part] = number_of_cell.take(number[part])

        if not np.array_equal(used[order], np.arange(n_cells)):
            run_parallel(replace_cells, parts, arrays_only=True)
        return cls(keys=take_rows(distinct, order), number=number)

    def sort_columns(
        self, columns: Mapping[str, NDArray[Any]]
    ) -> tuple[NDArray[np.int64], dict[str, NDArray[Any]]]:
        """Return the start of each group, and the columns, sorted by group and then by row."""
        n_groups, number = self.keys.height, self.number
        # Numbers with many bits are sorted by their last bits first, and then by their first bits.
        n_bits = max(1, (n_groups - 1).bit_length())
        n_passes = -(-n_bits // MAX_DIGIT_BITS)
        digit_bits = -(-n_bits // n_passes)
        names, arrays = [*columns], [*columns.values()]
        for i in range(n_passes):
            is_last = i == n_passes - 1
            arrays += [] if is_last else [number]
            arrays, sizes = _sort_by_digit(number, i * digit_bits, digit_bits, arrays)
            number = number if is_last else arrays.pop()
        if n_passes > 1:
            sizes = np.bincount(number, minlength=n_groups)
        starts = np.append(0, np.cumsum(sizes[:n_groups]))
        return starts, dict(zip(names, arrays, strict=True))


def _sort_by_digit(
    number: NDArray[np.uint32], first_bit: int, n_bits: int, arrays: Sequence[NDArray[Any]]
) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
    """Return the arrays in the order that stably sorts a digit of `number`: `n_bits` of its bits.

    The second result is the number of rows of each digit. All threads sort blocks of rows that fit
    into the cache, and copy the rows of each digit of a block to their final positions.
    """
    parts, n_digits = split_rows(len(number), PARTITIONED_ROWS), 1 << n_bits

    def digits(part: slice) -> NDArray[np.uint16]:
        result = number[part] >> first_bit if first_bit else number[part]
        return (result & np.uint32(n_digits - 1)).astype(np.uint16)

    counts = np.array(
        run_parallel(
            lambda part: np.bincount(digits(part), minlength=n_digits), parts, arrays_only=True
        )
    )
    total = counts.sum(axis=0)
    # The final position of the first row of each digit of each block, minus its position in the
    # sorted block.
    shifts = np.cumsum(counts, axis=0) - np.cumsum(counts, axis=1) + (np.cumsum(total) - total)
    results = [np.empty_like(values) for values in arrays]

    def move(i: int) -> None:
        order = np.argsort(digits(parts[i]), kind="stable")  # radix sort, because of the 16 bits
        position = np.arange(len(order)) + np.repeat(shifts[i], counts[i])
        for values, result in zip(arrays, results, strict=True):
            result[position] = values[parts[i]].take(order)

    run_parallel(move, range(len(parts)), arrays_only=True)
    return results, total


class IntegerKey(NamedTuple):
    """A column of keys as integers; `size` is that of their range, including nulls."""

    values: NDArray[Any]
    low: int
    size: int
    is_null: NDArray[np.bool_] | None

    @classmethod
    def from_series(cls, key: pl.Series) -> IntegerKey | None:
        """Return the integers of keys; None for other types, a large range, or only nulls."""
        physical = key.cast(pl.UInt8) if key.dtype == pl.Boolean else key.to_physical()
        if not physical.dtype.is_integer() or physical.dtype in {pl.Int128, pl.UInt128}:
            return None
        low, high = cast("int | None", physical.min()), cast("int | None", physical.max())
        if low is None or high is None or high - low >= MAX_KEY_CELLS:
            return None
        size, values = high - low + 1, fill_nulls(physical, low).to_numpy()
        if not key.null_count():
            return cls(values, low, size, None)
        return cls(values, low, size + 1, key.is_null().to_numpy())

    def cells(self, rows: slice) -> NDArray[np.uint32]:
        """Return the integers of some rows, counted from 0; nulls are `size - 1`."""
        # The difference of the lowest 32 bits is exact, because it is less than `MAX_KEY_CELLS`.
        result: NDArray[np.uint32] = self.values[rows].astype(np.uint32)
        result -= np.uint32(self.low % 2**32)
        if self.is_null is not None:
            result[self.is_null[rows]] = self.size - 1
        return result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnscoredTotals:
    """Totals of the rows of each group that are unscored, left out, or absent (`RowState`).

    `length` is their number without `count`, and `n_missing` that of left out or unscored rows with
    `count`. The others are of unscored rows: number, row weights, and count times squared weight.
    """

    length: NDArray[np.int64]
    n_missing: NDArray[np.int64]
    pos_rows: NDArray[np.int64]
    neg_rows: NDArray[np.int64]
    pos_weight: NDArray[Any]
    neg_weight: NDArray[Any]
    pos_squares: NDArray[Any]
    neg_squares: NDArray[Any]

    @classmethod
    def none(cls, groups: int) -> UnscoredTotals:
        """Return totals of 0, for groups in which all rows have a score."""
        zeros = np.zeros(groups, np.int64)
        return cls(**dict.fromkeys((field.name for field in fields(cls)), zeros))

    def of_groups(self, groups: slice) -> UnscoredTotals:
        """Return the totals of neighboring groups."""
        names = [field.name for field in fields(self)]
        return UnscoredTotals(**{name: getattr(self, name)[groups] for name in names})

    @classmethod
    def find(
        cls, codec: Codec, codes: Codes, weights: RowWeights | None, starts: NDArray[np.int64]
    ) -> UnscoredTotals:
        """Return the totals, which are computed from the sorted codes of all groups."""
        unused = np.flatnonzero(codes >= codec.first_reserved)
        group = groups_of_rows(starts, unused)
        kind, negative = codes[unused] >> 1, (codes[unused] & 1).astype(bool)
        rows = np.ones(len(unused), np.int64) if weights is None else weights.count[unused]
        row_weight = rows if weights is None else weights.row_weight[unused]
        squares = row_weight
        if weights is not None and weights.weight is not None:
            squares = row_weight * weights.weight[unused]

        def total(values: NDArray[Any], where: NDArray[np.bool_]) -> NDArray[Any]:
            sums = np.zeros(len(starts) - 1, values.dtype)
            np.add.at(sums, group[where], values[where])
            return sums

        unscored = kind == codec.reserved(ReservedCode.UNSCORED)
        left_out = kind == codec.reserved(ReservedCode.LEFT_OUT)
        return cls(
            length=total(np.ones(len(unused), np.int64), np.ones(len(unused), bool)),
            n_missing=total(rows, unscored | left_out),
            pos_rows=total(rows, unscored & ~negative),
            neg_rows=total(rows, unscored & negative),
            pos_weight=total(row_weight, unscored & ~negative),
            neg_weight=total(row_weight, unscored & negative),
            pos_squares=total(squares, unscored & ~negative),
            neg_squares=total(squares, unscored & negative),
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RowWeights:
    """Counts, weights and cumulative sums of the sorted rows.

    `row_weight` is count times weight; `tp` and `fp` are its cumulative sums over positives and
    negatives, which are separate in each group, so that rounding errors do not spread.
    """

    count: NDArray[np.int64]
    weight: NDArray[np.float64] | None
    row_weight: NDArray[Any]
    tp: NDArray[Any]
    fp: NDArray[Any]

    @classmethod
    def from_rows(
        cls,
        codes: Codes,
        count: NDArray[np.int64] | None,
        weight: NDArray[np.float64] | None,
        order: NDArray[np.int64],
        starts: NDArray[np.int64],
    ) -> RowWeights:
        """Return the values at the positions `order` of the sorted codes, and cumulative sums."""
        counts = np.ones(len(order), np.int64) if count is None else count[order]
        weights = None if weight is None else weight[order]
        row_weight = counts if weights is None else counts * weights
        negative = (codes & 1).astype(bool)
        tp, fp = run_parallel(
            lambda side: cumulative_sums(np.where(negative == side, row_weight, 0), starts),
            [False, True],
            arrays_only=True,
        )
        return cls(count=counts, weight=weights, row_weight=row_weight, tp=tp, fp=fp)

    def of_rows(self, rows: slice) -> RowWeights:
        """Return the values of the rows of complete groups."""
        return RowWeights(
            count=self.count[rows],
            weight=None if self.weight is None else self.weight[rows],
            row_weight=self.row_weight[rows],
            tp=self.tp[rows],
            fp=self.fp[rows],
        )


def group_starts(group: NDArray[Any], n_groups: int) -> NDArray[np.int64]:
    """Return the first row of each group, and the number of rows; `group` does not fall."""
    return np.searchsorted(group, np.arange(n_groups + 1))


def groups_of_rows(starts: NDArray[np.int64], rows: Any) -> NDArray[np.int64]:
    """Return the group of each of the rows; group i begins at row `starts[i]`."""
    groups: NDArray[np.int64] = np.searchsorted(starts, rows, "right") - 1
    return groups


def is_run_start(*columns: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of the first row, and of rows that differ from the row before in a column."""
    mask = np.ones(len(columns[0]), bool)
    mask[1:] = np.any([values[1:] != values[:-1] for values in columns], axis=0)
    return mask


def run_starts(*columns: NDArray[Any]) -> NDArray[np.int64]:
    """Return the first row of each run of rows with equal values in all columns."""
    return np.flatnonzero(is_run_start(*columns))


def cumulative_sums(values: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
    """Replace `values` by their cumulative sums within each group, with separate rounding."""
    if values.dtype.kind == "i" and len(values):  # integer sums are exact
        np.cumsum(values, out=values)
        first = starts[:-1]
        before = np.where(first > 0, values[first - 1], 0)
        values -= np.repeat(before, np.diff(starts))
        return values
    for rows in equal_size_groups(starts):
        values[rows] = np.cumsum(values[rows], axis=1)
    for i in large_groups(starts):
        group = slice(starts[i], starts[i + 1])
        np.cumsum(values[group], out=values[group])
    return values
