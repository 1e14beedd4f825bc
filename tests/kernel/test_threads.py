"""The pool of threads in processes that are forked."""

from __future__ import annotations

import os
import signal
import time
import warnings

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
