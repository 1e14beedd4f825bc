"""A pool of threads for numpy sorts and passes."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

from polars import thread_pool_size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


T = TypeVar("T")

R = TypeVar("R")


@cache
def count_workers() -> int:
    """Return how many threads polars uses, which is how many we use.

    On a thread that runs a plan polars says 1, so another one asks.
    """
    with ThreadPoolExecutor(1) as asking:
        return max(1, asking.submit(thread_pool_size).result())


@cache
def _pool(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - a fork leaves the threads behind
    return ThreadPoolExecutor(count_workers(), thread_name_prefix="rocframe")


def run_parallel(function: Callable[[T], R], tasks: Iterable[T]) -> list[R]:
    """Run `function` on every task, several at a time; results in the order of the tasks."""
    every = list(tasks)
    if len(every) < 2 or count_workers() == 1:
        return [function(task) for task in every]
    return list(_pool(os.getpid()).map(function, every))


def split_rows(length: int, most: int) -> list[slice]:
    """Cut `length` rows into even pieces of at most `most`, one per thread at least if long."""
    pieces = max(1, -(-length // most))
    edges = [length * i // pieces for i in range(pieces + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def batch_sizes(length: int, most: int) -> list[int]:
    """Return the sizes of the batches that `length` items are cut into: `most`, and the rest."""
    return [min(most, length - first) for first in range(0, length, most)]
