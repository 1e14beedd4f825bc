"""Text of the terminal: tables and progress."""

from __future__ import annotations

import sys
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING

from rocframe.reports.report_tables import counted, interval, keys_of, level_of, number
from rocframe.schemas import ROW_COUNTS
from rocframe.text import visible, words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    import polars as pl
    from rich.status import Status


NONE = "-"

SHORTEST = 8

GAP = "  "


def printed(areas: pl.DataFrame, *, width: int | None, most: int = 60) -> str:
    """Lay out the table of areas: a line per group, numbers below each other.

    Group names are cut where the lines would be wider than `width`; after `most` lines the rest
    is counted.
    """
    keys = keys_of(areas)
    top = areas.head(most)
    columns = [[visible(name), *words(top.get_column(name))] for name in keys]
    columns += [["AUC", *(number(area) or NONE for area in top.get_column("auc"))]]
    level = level_of(areas)
    if level is not None:
        limits = zip(top.get_column("lower"), top.get_column("upper"), strict=True)
        columns += [[level, *(interval(*pair) or NONE for pair in limits)]]
    columns += [[name, *(f"{n:,}" for n in top.get_column(name))] for name in ROW_COUNTS]
    if areas.get_column("note").null_count() < areas.height:
        columns += [["note", *(note or "" for note in top.get_column("note"))]]
    left = {*range(len(keys)), *([len(columns) - 1] if columns[-1][0] == "note" else [])}
    if width is not None:
        _fit(columns, len(keys), width)
    lines = _lines(columns, left)
    if areas.height > most:
        lines.append(f"... and {counted(areas.height - most, 'more group')}")
    return "\n".join(lines)


def _fit(columns: list[list[str]], keys: int, width: int) -> None:
    """Cut the widest group names until the lines fit, or are as short as is still of use."""
    while sum(map(_widest, columns)) + len(GAP) * (len(columns) - 1) > width:
        place = max(range(keys), key=lambda i: _widest(columns[i]), default=None)
        if place is None or _widest(columns[place]) <= SHORTEST:
            return
        limit = _widest(columns[place]) - 1
        columns[place] = [_cut(text, limit) for text in columns[place]]


def _cut(text: str, limit: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= limit else set_cell_size(text, limit - 1).rstrip() + "…"


def _widest(column: Sequence[str]) -> int:
    # Some letters are two columns wide on a terminal, and some are none.
    from rich.cells import cell_len

    return max(map(cell_len, column))


def _lines(columns: Sequence[Sequence[str]], left: set[int]) -> list[str]:
    from rich.cells import cell_len

    widths = [_widest(column) for column in columns]
    lines = []
    for cells in zip(*columns, strict=True):
        padded = [
            text + " " * (width - cell_len(text))
            if place in left
            else " " * (width - cell_len(text)) + text
            for place, (text, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append(GAP.join(padded).rstrip())
    return lines


class Progress:
    """Say on stderr which step is under way, once the work has taken a while.

    Quick work says nothing. A terminal has one line that changes and then goes away; anything
    else, such as the log of a nightly job, has a line per step.
    """

    def __init__(self, *, quiet: bool = False, patience: float | None = None) -> None:
        self._terminal = sys.stderr.isatty()
        if patience is None:
            patience = 1.0 if self._terminal else 5.0
        self._begun = monotonic()
        self._step = ""
        self._said = ""
        self._awake = False
        self._status: Status | None = None
        self._lock = Lock()
        self._timer = None if quiet else Timer(patience, self._wake)

    def __enter__(self) -> Self:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._awake = False
            if self._status is not None:
                self._status.stop()

    def step(self, text: str) -> None:
        """Begin a step of the work."""
        with self._lock:
            self._step = text
            self._show()

    def count(self, text: str, done: int, total: int) -> None:
        """Say how far a step of many parts has come; in a log only where it begins."""
        if self._terminal or done == 0:
            self.step(f"{text} {done + 1:,} of {total:,}" if self._terminal else text)

    def _wake(self) -> None:
        with self._lock:
            self._awake = True
            self._show()

    def _show(self) -> None:
        if not self._awake or not self._step or self._step == self._said:
            return
        self._said = self._step
        if not self._terminal:
            passed = monotonic() - self._begun
            sys.stderr.write(f"rocframe: {passed:6.1f} s  {self._step}\n")
            sys.stderr.flush()
        elif self._status is None:
            from rich.console import Console
            from rich.text import Text

            self._status = Console(stderr=True).status(Text(self._step))
            self._status.start()
        else:
            from rich.text import Text

            self._status.update(Text(self._step))
