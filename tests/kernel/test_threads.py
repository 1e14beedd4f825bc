"""The pool of threads: forked processes, and calls within calls."""

from __future__ import annotations

import os
import signal
import time
import warnings
from threading import Thread

import pytest

from rocframe.kernel import threads


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
