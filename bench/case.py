"""The record of one benchmark: name, table, goal and the function to run."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Case(NamedTuple):
    """A benchmark: its name, its table, its goal and the function to run.

    The goal is a multiple of the time of np.sort, or of the benchmark `base` of the same table.
    """

    name: str
    table: str
    goal: float | None
    run: Callable[[], object]
    base: str | None = None
