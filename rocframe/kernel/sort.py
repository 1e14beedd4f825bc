"""Sort the codes of each group on all threads, or compute the order that sorts them.

numpy's sort of 64-bit integers is several times faster on some processors than on others, and the
sort of polars varies much less. Therefore the faster one of the two is used. Sorted codes are the
same, because equal codes cannot be distinguished, and orders are unique, because they are stable.
"""

from __future__ import annotations

import time
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.kernel.bisection import grouped_bisect
from rocframe.kernel.threads import count_workers, run_parallel, split_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rocframe.kernel.codec import Codes


PARALLEL_SORT_ROWS = 1 << 18  # minimum size of groups that are divided among threads
MATRIX_SORT_ROWS = 64  # maximum size of groups that are sorted together with groups of equal size
NUMPY_SORT_ROWS = 1 << 11  # numpy sorts smaller groups, because a call of polars takes about 10 µs
PACKED_ROWS = 1 << 16  # number of rows that a thread packs at a time


def sort_groups(codes: Codes, starts: NDArray[np.int64]) -> None:
    """Sort the codes of each group in place; group i is `codes[starts[i] : starts[i + 1]]`.

    Small groups of equal size are sorted together. Each large group is sorted on all threads.
    """
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
    """Return the order that sorts the codes of each group, and the sorted codes.

    The order contains positions in `codes`. Equal codes of a group keep their order.
    """
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
    """Sort, in place, the codes of each group that have equal leading bits, and their positions.

    `codes` are already sorted by group and leading bits.
    """
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
    """Return an integer for each threshold; a lower threshold has a larger integer.

    The smallest Int64 does not occur in the result.
    """
    bits = (0.0 - thresholds).view(np.int64)
    ranks: NDArray[np.int64] = bits ^ ((bits >> 63) & np.iinfo(np.int64).max)
    return ranks


def equal_size_groups(starts: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Yield the positions of the rows of small groups, one matrix for each size of groups.

    The matrix has one row per group of this size.
    """
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
    """Return the integers of all ranges, concatenated.

    Range i has the integers `starts[i]` to `starts[i] + lengths[i] - 1`.
    """
    before = np.cumsum(lengths) - lengths
    result: NDArray[np.int64] = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
    return result
