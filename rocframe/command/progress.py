"""Steps of long work → a line that moves on a terminal, and plain lines in a log."""

from __future__ import annotations

import sys
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from rich.status import Status


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
