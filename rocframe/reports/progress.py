"""Show the progress of a report or a command on stderr."""

from __future__ import annotations

import os
import sys
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING

from rocframe.text import escape_unprintable

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from rich.progress import Progress as Bar


LINE_INTERVAL = 10.0  # seconds between two lines of a long step
MIN_LINE_SECONDS = 1.0  # shorter steps have no line with their number of rows


class Progress:
    """Show the current step on stderr after a delay.

    In a terminal, it has a progress bar, which is removed at the end; elsewhere, each step is a
    line, and a long step has more lines. Nothing is shown if stderr is missing, closed or full.
    """

    def __init__(self, *, quiet: bool = False, delay: float | None = None) -> None:
        # In a process without a console, stderr is None.
        quiet = quiet or sys.stderr is None or sys.stderr.closed
        # A terminal with TERM=dumb cannot show a bar.
        self._terminal = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        if delay is None:
            delay = 1.0 if self._terminal else 5.0
        self._start = self._step_start = self._line_time = monotonic()
        self._step = self._item = self._shown_step = ""
        self._n_started, self._n_expected, self._fraction = 0, 0, 0.0
        self._active = not quiet and delay <= 0
        self._bar: Bar | None = None
        self._lock = Lock()
        self._timer = None if quiet or self._active else Timer(delay, self._activate)

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
            self._active = False
            self._step = ""  # the timer can end at the same time, and must not show a step
            if self._bar is not None:
                self._bar.stop()

    def expect(self, n_steps: int) -> None:
        """Set the number of steps that follow; without it, the bar shows only movement."""
        with self._lock:
            self._n_expected = self._n_started + n_steps
            self._show()

    def step(self, text: str) -> None:
        """Start the next step."""
        self._set(text, "", 0.0)

    def count(self, text: str, n_done: int, n_total: int) -> None:
        """Start a step with several items, or set the number of its finished items."""
        self._set(text, f" {n_done + 1:,} of {n_total:,}", n_done / n_total)

    def read_rows(self, text: str, n_done: int, n_total: int | None) -> None:
        """Start a step that reads rows, or set their number, to show the speed and the rest.

        `n_total` is None if the number of rows is unknown.
        """
        if text != self._step:
            self.step(text)
        seconds = monotonic() - self._step_start
        if not n_done or seconds <= 0:
            return
        rate = n_done / seconds
        item = f": {n_done:,}" + ("" if n_total is None else f" of {n_total:,}")
        item += f" rows in {seconds:.1f} s, {float(f'{rate:.3g}'):,.0f} rows per second"
        if n_total is not None and n_done < n_total:
            item += f", {(n_total - n_done) / rate:.0f} s left"
        is_last = n_done == n_total and seconds >= MIN_LINE_SECONDS
        self._set(text, item, n_done / n_total if n_total else 0.0, is_line=is_last)

    @property
    def share(self) -> float | None:
        """The share of the work that is done, if the steps have equal work; None if unknown."""
        if not self._n_expected:
            return None
        return min((self._n_started - 1 + self._fraction) / self._n_expected, 1.0)

    def _set(self, step: str, item: str, fraction: float, *, is_line: bool = False) -> None:
        """Show a step and its item; outside a terminal, items rarely have a line, or `is_line`."""
        step = escape_unprintable(step)
        with self._lock:
            if step != self._step:
                self._n_started += 1
                self._step_start = self._line_time = monotonic()
            self._step, self._item, self._fraction = step, item, fraction
            self._show(is_line=is_line or monotonic() - self._line_time > LINE_INTERVAL)

    def _activate(self) -> None:
        with self._lock:
            self._active = True
            self._show()

    def _show(self, *, is_line: bool = False) -> None:
        if not self._active or not self._step:
            return
        if self._terminal:
            if self._bar is None:
                self._bar = _start_bar(self._start)
            self._bar.update(
                self._bar.task_ids[0],
                description=self._step + self._item,
                total=None if self.share is None else 1,
                completed=self.share or 0,
            )
        elif is_line or self._step != self._shown_step:
            text = self._step + (self._item if is_line else "")
            self._shown_step, self._line_time = self._step, monotonic()
            seconds = self._line_time - self._start
            try:
                sys.stderr.write(f"rocframe: {seconds:6.1f} s  {text}\n")
                sys.stderr.flush()
            except (OSError, ValueError):  # a full disk or a closed stderr does not stop the work
                self._active = False


def _start_bar(start: float) -> Bar:
    """Show a progress bar on stderr, and return it; `start` is the start of the elapsed time."""
    from rich.console import Console  # cyclopts requires rich
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    bar = Progress(
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    bar.add_task("", total=None)
    bar.tasks[0].start_time = start
    bar.start()
    return bar
