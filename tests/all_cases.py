"""Many cases in one test: all failures are collected and reported together."""

from __future__ import annotations

import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


@contextmanager
def all_cases() -> Iterator[Callable[..., AbstractContextManager[None]]]:
    """Collect what fails in each `with case(name):` block, and fail with all of it at the end.

    A parametrised test has a set-up, a name and a report for every case. Where there are hundreds
    of cases that take a millisecond each, a loop in one test is many times faster.
    """
    failures: list[str] = []

    @contextmanager
    def case(*name: object) -> Iterator[None]:
        try:
            yield
        except (Exception, pytest.fail.Exception):  # noqa: BLE001
            what = ", ".join(map(ascii, name))
            failures.append(f"{what}\n{traceback.format_exc(limit=-4)}")

    yield case
    assert not failures, f"{len(failures)} cases fail:\n\n" + "\n".join(failures)
