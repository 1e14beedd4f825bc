"""Run numpy functions on a pool of threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from threading import current_thread
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from polars import thread_pool_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray


THREAD_NAME = "rocframe"
T = TypeVar("T")
R = TypeVar("R")


@cache
def count_workers() -> int:
    """Return the number of threads of polars, which rocframe uses as well.

    On a thread on which polars runs a query, `thread_pool_size` can return 1. Therefore it is
    called on a new thread.
    """
    with ThreadPoolExecutor(1) as reader:
        return max(1, reader.submit(thread_pool_size).result())


@cache
def _pool(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - the key of the cache
    """Return the threads of a process; a forked process does not have the threads of its parent."""
    return ThreadPoolExecutor(count_workers(), thread_name_prefix=THREAD_NAME)


def run_parallel(function: Callable[[T], R], tasks: Iterable[T]) -> list[R]:
    """Call `function` on every task in parallel; return its results in the order of tasks.

    If a task calls `run_parallel`, the inner tasks run one after the other. Otherwise all threads
    could wait for inner tasks that no thread is free to start. For the same reason, a task must not
    run a query of polars: all threads of polars could wait for tasks.
    """
    task_list = list(tasks)
    is_nested = current_thread().name.startswith(THREAD_NAME)
    if len(task_list) < 2 or count_workers() == 1 or is_nested:
        return [function(task) for task in task_list]
    return list(_pool(os.getpid()).map(function, task_list))


def split_rows(length: int, most: int) -> list[slice]:
    """Divide `length` rows into slices of about equal size, with at most `most` rows each."""
    pieces = max(1, -(-length // most))
    edges = [length * i // pieces for i in range(pieces + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def split_groups(starts: NDArray[np.int64], most: int) -> list[slice]:
    """Divide groups into slices of neighboring groups with about `most` rows each.

    Group i has the rows `starts[i]` to `starts[i + 1] - 1`. A slice has at least one group.
    """
    levels = np.arange(0, starts[-1], most) if len(starts) > 1 else np.zeros(0)
    edges = np.unique(np.append(np.searchsorted(starts, levels), len(starts) - 1))
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def batch_sizes(length: int, most: int) -> list[int]:
    """Divide `length` items into batches of `most` items, and return the sizes of the batches.

    The last batch can be smaller.
    """
    return [min(most, length - first) for first in range(0, length, most)]
