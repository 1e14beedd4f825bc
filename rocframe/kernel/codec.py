"""Encode scores and labels as sortable integers, and sort the codes of each group.

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

import time
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rocframe.inputs.cases import RowState
from rocframe.kernel.arrays import count_workers, grouped_bisect, run_parallel, split_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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
