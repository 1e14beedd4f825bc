"""Run numpy functions on a pool of threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from threading import _DummyThread, current_thread
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
def _pool(process: int, arrays_only: bool) -> ThreadPoolExecutor:  # noqa: ARG001 - cache keys
    """Return the threads that run the tasks of a process.

    A forked process does not have the threads of its parent. Tasks with `arrays_only` have separate
    threads, so that they do not wait for tasks that run queries.
    """
    return ThreadPoolExecutor(count_workers(), thread_name_prefix=THREAD_NAME)


def run_parallel(
    function: Callable[[T], R], tasks: Iterable[T], *, arrays_only: bool = False
) -> list[R]:
    """Call `function` on every task in parallel; return its results in the order of tasks.

    On a thread of polars, tasks run one after the other. If a task runs a query of polars, the
    query needs a thread of polars, and all threads of polars could wait for tasks. With
    `arrays_only`, no task runs a query, so the tasks run in parallel on all threads.

    If a task calls `run_parallel`, the inner tasks run one after the other. Otherwise all threads
    could wait for inner tasks that no thread is free to start.
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
    """Divide groups into slices of neighboring groups with about `most` rows each.

    Group i has the rows `starts[i]` to `starts[i + 1] - 1`. A slice has at least one group.
    """
    levels = np.arange(0, starts[-1], most) if len(starts) > 1 else np.zeros(0)
    edges = np.unique(np.append(np.searchsorted(starts, levels), len(starts) - 1))
    return [slice(int(a), int(b)) for a, b in pairwise(edges)]


def batch_sizes(length: int, most: int) -> list[int]:
    """Return the sizes of batches of `length` items; all but the last have `most` items."""
    return [min(most, length - first) for first in range(0, length, most)]
