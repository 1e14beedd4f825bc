"""Exact sums, interpolation and bisection of many groups at once, and work on several threads."""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from threading import _DummyThread, current_thread
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
from polars import thread_pool_size

from rocframe.options import MAX_INTEGER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[Any]
    FloatArray: TypeAlias = NDArray[np.float64]
    IntArray: TypeAlias = NDArray[np.int64]
    BoolArray: TypeAlias = NDArray[np.bool_]

MAX_INT64 = 2**63 - 1
MAX_WEIGHT = 2.0**32  # larger weights are scaled


def exact_sums(
    weight: NDArray[Any], value: NDArray[Any], starts: NDArray[np.int64], *, power: int = 1
) -> NDArray[Any]:
    """Return the sums of `weight * value ** power` over segments; those of integers are exact."""
    if weight.dtype.kind == "f":
        return np.add.reduceat(weight * value**power, starts)
    total, largest = int(weight.sum()), int(value.max())
    if total * largest**power <= MAX_INT64:
        return np.add.reduceat(weight * value**power, starts)
    # Each value is divided into parts of `bits` bits, which are its digits in base 2**bits. With so
    # few bits, sums of products of digits do not exceed Int64.
    bits = max(1, (62 - total.bit_length()) // power)
    if total << (bits * power) > MAX_INT64:
        return np.add.reduceat(weight.astype(object) * value.astype(object) ** power, starts)
    digits = [
        (value >> shift) & ((1 << bits) - 1) for shift in range(0, largest.bit_length(), bits)
    ]
    if power == 1:
        products = [(digit, i) for i, digit in enumerate(digits)]
    else:
        products = [(a * b, i + j) for i, a in enumerate(digits) for j, b in enumerate(digits)]
    result = np.zeros(len(starts), object)
    for product, i in products:
        result += np.add.reduceat(weight * product, starts).astype(object) * (1 << (bits * i))
    return result


def sums_at(index: Any, values: NDArray[Any], shape: int | tuple[int, ...]) -> NDArray[Any]:
    """Return an array with the sums of the values that have the same index."""
    result = np.zeros(shape, values.dtype)
    np.add.at(result, index, values)
    return result


def exact_quotient(numerator: NDArray[Any], denominator: NDArray[Any]) -> NDArray[np.float64]:
    """Return the quotients, correctly rounded for integers; NaN if the denominator is 0."""
    result = np.full(len(denominator), np.nan)
    defined = np.array(denominator > 0, bool)
    if denominator.dtype.kind == "f":
        np.divide(numerator, denominator, out=result, where=defined)
        return result
    as_floats = defined & np.array(
        (denominator < MAX_INTEGER) & (abs(numerator) < MAX_INTEGER), bool
    )
    result[as_floats] = numerator[as_floats].astype(np.float64) / denominator[as_floats].astype(
        np.float64
    )
    for i in np.flatnonzero(defined & ~as_floats):
        result[i] = int(numerator[i]) / int(denominator[i])
    return result


def exact_product(*factors: NDArray[Any]) -> NDArray[Any]:
    """Return the product of arrays, as Python integers if integers may exceed Int64."""
    if not any(factor.dtype.kind == "f" for factor in factors):
        bound = math.prod(int(abs(factor).max()) if len(factor) else 0 for factor in factors)
        if bound > MAX_INT64:
            factors = tuple(factor.astype(object) for factor in factors)
    result = factors[0]
    for factor in factors[1:]:
        result = result * factor
    return result


def scale_by_totals(total: NDArray[Any], *counts: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Multiply sums of weights by the power of two for which `total` is at least 1/2 and below 1.

    Their products do not underflow or overflow, and ratios do not change; integers are not scaled.
    """
    if not any(count.dtype.kind == "f" for count in counts):
        return counts
    power = -np.frexp(total)[1]
    return tuple(np.ldexp(count, power) for count in counts)


def scale_by_groups(weight: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[Any]:
    """Multiply the weights of each group by a power of two; see `scale_by_largest`.

    Group i has the weights `starts[i]` to `starts[i + 1] - 1`. Products of its sums do not
    underflow or overflow, whatever the weights of other groups are, and ratios do not change.
    """
    sizes = np.diff(starts)
    filled = sizes > 0
    largest = np.maximum.reduceat(weight, starts[:-1][filled])
    return scale_by_largest(np.repeat(largest, sizes[filled]), weight)


def scale_by_largest(largest: NDArray[Any], weight: NDArray[Any]) -> NDArray[Any]:
    """Multiply weights by a power of two, so that the largest is below `MAX_WEIGHT`.

    If it is at least 1, they do not change, so that numbers of rows remain whole numbers.
    """
    unscaled = (largest >= 1) & (largest < MAX_WEIGHT)
    return scale_by_totals(np.where(unscaled, 0.5, largest), weight)[0]


def interpolate_in_groups(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    at: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return y at `at`, interpolated between the points `first` to `last`, clipped outside."""
    after = grouped_bisect(lambda i: x[i] <= at, first, last)
    low, high = np.clip(after - 1, first, last), np.clip(after, first, last)
    return interpolate_segments((x[low], x[high]), (y[low], y[high]), at)


def interpolate_segments(
    x: tuple[NDArray[np.float64], NDArray[np.float64]],
    y: tuple[NDArray[np.float64], NDArray[np.float64]],
    at: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return y at the values `at` of x, each on the segment between two points.

    `x` and `y` have the points with the lower x and those with the higher x. Outside, the result is
    y of the nearest point; if both have the same x, of the first. Between an infinite and a finite
    x, it is y of the finite point; between two infinite x, the mean of both. At the finite x of a
    point, it is its y, even if the other is NaN.
    """
    (x0, x1), (y0, y1) = x, y
    # Halves of finite numbers do not overflow.
    with np.errstate(divide="ignore", invalid="ignore"):
        share = ((at / 2 - x0 / 2) / (x1 / 2 - x0 / 2)).clip(0, 1)
    share = np.where(np.isinf(x0), np.where(np.isinf(x1), 0.5, 1.0), share)
    share = np.where((x0 == x1) | (at == x0), 0.0, share)
    with np.errstate(invalid="ignore"):
        values = np.clip(y0 + share * (y1 - y0), np.minimum(y0, y1), np.maximum(y0, y1))
    result: NDArray[np.float64] = np.where(share == 0, y0, np.where(share == 1, y1, values))
    return result


def grouped_bisect(
    before: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the first row of each range for which `before` is False, by bisection, or `last + 1`.

    A range has the rows from `first` to `last`, including both. `before` must be True for its first
    rows and False for all later rows.
    """
    low, high = np.broadcast_arrays(first, last + 1)
    longest, end = int((high - low).max(initial=0)), last.max(initial=0)
    for _ in range(longest.bit_length()):
        middle = (low + high) >> 1
        further = before(np.minimum(middle, end)) & (middle < high)
        low, high = np.where(further, middle + 1, low), np.where(further, high, middle)
    return low


THREAD_NAME = "rocframe"
T = TypeVar("T")
R = TypeVar("R")


@cache
def count_workers() -> int:
    """Return the number of threads of polars, which is 1 on some threads that run queries."""
    with ThreadPoolExecutor(1) as reader:
        return max(1, reader.submit(thread_pool_size).result())


@cache
def _pool(process: int, arrays_only: bool) -> ThreadPoolExecutor:  # noqa: ARG001 - cache keys
    """Return the threads that run the tasks of a process; a fork does not have those of its parent.

    Tasks with `arrays_only` have their own, so that they do not wait for tasks that run queries.
    """
    return ThreadPoolExecutor(count_workers(), thread_name_prefix=THREAD_NAME)


def run_parallel(
    function: Callable[[T], R], tasks: Iterable[T], *, arrays_only: bool = False
) -> list[R]:
    """Call `function` on every task in parallel; return its results in the order of tasks.

    On a thread of polars, and within a task, tasks run one after the other: all threads could wait
    for tasks that run queries, or for inner tasks. With `arrays_only`, no task runs a query.
    """
    task_list = list(tasks)
    thread = current_thread()
    is_nested = thread.name.startswith(THREAD_NAME)
    # A thread that Python did not start. The module `threading` has no public test for this.
    is_of_polars = isinstance(thread, _DummyThread)
    one_by_one = is_nested or (is_of_polars and not arrays_only)
    if len(task_list) < 2 or count_workers() == 1 or one_by_one:
        return [function(task) for task in task_list]
    return list(_pool(os.getpid(), arrays_only).map(function, task_list))


def split_rows(length: int, most: int) -> list[slice]:
    """Divide `length` rows into slices of about equal size, with at most `most` rows each."""
    pieces = max(1, -(-length // most))
    edges = [length * i // pieces for i in range(pieces + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def split_groups(starts: NDArray[np.int64], most: int) -> list[slice]:
    """Divide groups, which begin at `starts`, into slices with about `most` rows."""
    levels = np.arange(0, starts[-1], most) if len(starts) > 1 else np.zeros(0)
    edges = np.unique(np.append(np.searchsorted(starts, levels), len(starts) - 1))
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def batch_sizes(length: int, most: int) -> list[int]:
    """Return the sizes of batches of `length` items; all but the last have `most` items."""
    return [min(most, length - first) for first in range(0, length, most)]
