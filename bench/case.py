"""What a measurement is: what is done, on which table, and how fast it should be."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Case(NamedTuple):
    """One measurement: what, on which table, the goal as a multiple of np.sort, and the work."""

    what: str
    table: str
    goal: float | None
    work: Callable[[], object]
