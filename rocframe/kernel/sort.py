"""Sort the codes of each group on all threads, or compute the order that sorts them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from rocframe.kernel.threads import count_workers, run_parallel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rocframe.kernel.codec import Codes


PARALLEL_SORT_ROWS = 1 << 18  # minimum size of groups that are divided among threads
MATRIX_SORT_ROWS = 64  # maximum size of groups that are sorted together with groups of equal size


def sort_groups(codes: Codes, starts: NDArray[np.int64]) -> None:
    """Sort the codes of each group in place; group i is `codes[starts[i] : starts[i + 1]]`.

    Small groups of equal size are sorted together. Each large group is sorted on all threads.
    """
    sizes = np.diff(starts)
    for rows in equal_size_groups(starts):
        codes[rows] = np.sort(codes[rows], axis=1)
    rest = large_groups(starts)
    for i in rest[sizes[rest] >= PARALLEL_SORT_ROWS]:
        group = slice(starts[i], starts[i + 1])
        _sort_large(codes[group])

    def sort_groups_of_thread(groups: NDArray[np.int64]) -> None:
        for i in groups:
            codes[starts[i] : starts[i + 1]].sort()

    run_parallel(sort_groups_of_thread, split_evenly(rest[sizes[rest] < PARALLEL_SORT_ROWS]))


def sort_order(codes: Codes, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of all codes, in the order that sorts the codes of each group."""
    order = np.empty(len(codes), np.int64)
    sizes = np.diff(starts)
    for rows in equal_size_groups(starts):
        order[rows] = rows[:, :1] + np.argsort(codes[rows], axis=1)
    rest = large_groups(starts)
    for i in rest[sizes[rest] >= PARALLEL_SORT_ROWS]:
        group = slice(starts[i], starts[i + 1])
        _order_large(codes[group], order[group])
        order[group] += starts[i]

    def sort_groups_of_thread(groups: NDArray[np.int64]) -> None:
        for i in groups:
            group = slice(starts[i], starts[i + 1])
            order[group] = starts[i] + np.argsort(codes[group])

    run_parallel(sort_groups_of_thread, split_evenly(rest[sizes[rest] < PARALLEL_SORT_ROWS]))
    return order


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
    result = np.empty_like(codes)

    def sort_part(part: tuple[NDArray[np.bool_], slice]) -> None:
        selected = codes[part[0]]
        selected.sort()
        result[part[1]] = selected

    run_parallel(sort_part, _cut_by_value(codes))
    codes[:] = result


def _order_large(codes: Codes, order: NDArray[np.int64]) -> None:
    """Write the positions of the codes in sorted order to `order`, on all threads."""

    def sort_part(part: tuple[NDArray[np.bool_], slice]) -> None:
        rows = np.flatnonzero(part[0])
        order[part[1]] = rows[np.argsort(codes[rows])]

    run_parallel(sort_part, _cut_by_value(codes))


def _cut_by_value(codes: Codes) -> list[tuple[NDArray[np.bool_], slice]]:
    """Divide codes into ranges of values with about the same number of codes.

    For each range, return the mask of its codes and the slice of the sorted array that it fills.
    """
    sample = np.sort(codes[:: max(1, len(codes) // 4096)])
    edges = [sample[len(sample) * i // count_workers()] for i in range(1, count_workers())]
    if len(edges) == 1:
        low = codes < edges[0]
        masks = [low, ~low]
    else:
        part = np.searchsorted(np.array(edges, codes.dtype), codes, "right")
        masks = [part == i for i in range(count_workers())]
    ends = np.cumsum([0, *map(np.count_nonzero, masks)])
    return [(mask, slice(a, b)) for mask, (a, b) in zip(masks, pairwise(ends), strict=True)]


def concatenated_ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the integers of all ranges, concatenated.

    Range i has the integers `starts[i]` to `starts[i] + lengths[i] - 1`.
    """
    before = np.cumsum(lengths) - lengths
    result: NDArray[np.int64] = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
    return result
