"""The pool of threads: forked processes, and calls within calls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from threading import Thread

import pytest

from rocframe.kernel import arrays as threads


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked")
def test_a_forked_process_starts_its_own_threads(monkeypatch):
    monkeypatch.setattr(threads, "count_workers", lambda: 2)
    assert threads.run_parallel(abs, [-1, -2, -3]) == [1, 2, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of forks of processes with threads
        child = os.fork()
    if child == 0:
        result = threads.run_parallel(abs, [-1, -2, -3])
        os._exit(0 if result == [1, 2, 3] else 1)
    deadline = time.monotonic() + 20
    ended, status = os.waitpid(child, os.WNOHANG)
    while not ended and time.monotonic() < deadline:
        time.sleep(0.005)
        ended, status = os.waitpid(child, os.WNOHANG)
    if not ended:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    assert (ended, status) == (child, 0)


def test_parallel_calls_within_parallel_calls_end(monkeypatch):
    monkeypatch.setattr(threads, "count_workers", lambda: 2)
    threads._pool.cache_clear()

    def products(row: int) -> list[int]:
        return threads.run_parallel(lambda column: row * column, range(3))

    # A thread of its own, because a deadlock would otherwise stop the test run.
    results: list[list[list[int]]] = []
    call = Thread(target=lambda: results.append(threads.run_parallel(products, range(4))))
    call.daemon = True
    call.start()
    call.join(timeout=30)
    assert results == [[[row * column for column in range(3)] for row in range(4)]]


QUERIES = """
import polars as pl

import rocframe as rf
from rocframe.curves import table
from rocframe.decisions import operating_point
from rocframe.decisions import transfer as other_folds

# Each computation is divided into several tasks.
table.BLOCK_ROWS = operating_point.BLOCK_ROWS = other_folds.BLOCK_ROWS = 20
row = pl.int_range(240)
predictions = pl.select(
    group=(row % 8).replace(0, None), label=row * 7 % 3 == 0, score=row * 31 % 97
).lazy()
curves = rf.curve(predictions, "label", "score", by="group")
plans = [
    rf.operating_point(curves),
    rf.operating_point(curves, "f1"),
    rf.transfer(curves, "f1", over="group"),
    rf.intervals(
        predictions, "label", "score", metrics="tpr", rule="f1", by="group", n_boot=5, seed=1
    ),
]
for plan in plans:
    expected = pl.concat([plan.collect()] * 4)
    for engine in ("streaming", "in-memory"):
        assert pl.concat([plan] * 4).collect(engine=engine).equals(expected)
"""


def test_queries_with_several_results_finish_on_either_engine():
    # In a process of its own, because a deadlock would otherwise stop the test run.
    subprocess.run(
        [sys.executable, "-c", QUERIES],
        env={**os.environ, "POLARS_MAX_THREADS": "2"},
        check=True,
        timeout=100,
    )
