"""Format result tables as text, and show progress on stderr."""

from __future__ import annotations

import sys
from threading import Lock, Timer
from time import monotonic
from typing import TYPE_CHECKING

from rocframe.rates import CONFUSION
from rocframe.reports.report_tables import group_columns
from rocframe.reports.text_tables import (
    NO_VALUE,
    TextColumn,
    count_column,
    interval_columns,
    name_columns,
    note_columns,
    number_column,
)
from rocframe.schemas import ROW_COUNTS, THRESHOLD
from rocframe.text import format_count, format_p_value, format_percent, format_threshold

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    import polars as pl
    from rich.progress import Progress as Bar


COLUMN_GAP = "  "
MIN_NAME_WIDTH = 8


def areas_table(areas: pl.DataFrame, *, width: int | None, max_rows: int = 60) -> str:
    """Return the table of areas as text: a line per group, with aligned numbers.

    Long group names are shortened until the lines fit into `width` characters, if possible.
    """
    top = areas.head(max_rows)
    names = name_columns(top, group_columns(areas))
    columns = [
        *names,
        number_column("AUC", top["auc"]),
        *interval_columns(top, areas),
        *(count_column(name, top[name]) for name in ROW_COUNTS),
        *note_columns(top, areas),
    ]
    n_others = areas.height - top.height
    return _aligned_text(columns, len(names), width, n_others, "more group")


def decisions_table(points: pl.DataFrame, *, width: int | None, max_rows: int = 60) -> str:
    """Return the table of operating points as text: a line per group and rule.

    Long group names are shortened as in `areas_table`. Thresholds have 6 significant digits.
    """
    top = points.head(max_rows)
    names = name_columns(top, group_columns(points, "rule"))
    columns = [
        *names,
        TextColumn(title="rule", cells=top["rule"].to_list(), kind="word"),
        number_column("value", top["value"]),
        number_column("threshold", top[THRESHOLD], format_threshold),
        *(
            number_column(name, top[name])
            if top.schema[name].is_float()
            else count_column(name, top[name])
            for name in CONFUSION
        ),
        *note_columns(top, points),
    ]
    return _aligned_text(columns, len(names), width, points.height - top.height, "more row")


def release_table(table: pl.DataFrame, *, width: int | None, max_rows: int = 60) -> str:
    """Return the table of a release gate as text: a line per group.

    Long group names are shortened as in `areas_table`.
    """
    top = table.head(max_rows)
    names = name_columns(top, group_columns(table, "model_old"))
    metric = table.columns[table.columns.index("se") + 1].removesuffix("_old")
    title = METRIC_TITLES.get(metric, metric)
    level = format_percent(table["ci_level"][0])
    columns = [
        *names,
        number_column(f"{title} old", top[f"{metric}_old"]),
        number_column(f"{title} new", top[f"{metric}_new"]),
        number_column("worse by", top["deterioration"]),
        number_column(f"{level} limit", top["limit"]),
        number_column("margin", top["margin"], lambda value: f"{value:g}"),
        number_column("adjusted p", top["p_adjusted"], format_p_value),
        TextColumn(title="result", cells=_gate_results(top), kind="word"),
    ]
    return _aligned_text(columns, len(names), width, table.height - top.height, "more group")


METRIC_TITLES = {"auc": "AUC", "average_precision": "AP", "brier": "Brier", "log_loss": "log loss"}
VERDICT_TEXTS = {
    "inferior": "worse by more than the margin",
    "undecided": "no decision",
    "not_shown": "not shown to be non-inferior",
    "non_inferior": "non-inferior",
    "ignored": "does not count",
}
GATE_NOTE_TEXTS = {"not_in_old": "no rows in OLD", "not_in_new": "no rows in NEW"}


def _gate_results(table: pl.DataFrame) -> list[str]:
    """Return the verdict and the note of each row in words."""
    results = []
    for verdict, note in zip(table["verdict"], table["note"], strict=True):
        text = VERDICT_TEXTS[verdict]
        if note is not None:
            text += f": {GATE_NOTE_TEXTS.get(note, note.replace('_', ' '))}"
        results.append(text)
    return results


def _aligned_text(
    columns: list[TextColumn], n_names: int, width: int | None, n_others: int, noun: str
) -> str:
    """Return the lines of a table; the first `n_names` columns may be shortened."""
    cells = [_terminal_cells(column) for column in columns]
    if width is not None:
        _shorten_names(cells, n_names, width)
    padded = [_padded(*pair) for pair in zip(cells, columns, strict=True)]
    lines = [COLUMN_GAP.join(row).rstrip() for row in zip(*padded, strict=True)]
    if n_others:
        lines.append(f"... and {format_count(n_others, noun)}")
    return "\n".join(lines)


def _terminal_cells(column: TextColumn) -> list[str]:
    """Return the title and the cells of a column, with "-" for missing numbers."""
    cells = list(column.cells)
    if column.kind == "number":
        cells = ["-" if cell == NO_VALUE else cell for cell in cells]
    return [column.title, *cells]


def _padded(cells: list[str], column: TextColumn) -> list[str]:
    """Return the cells with equal widths; numbers are aligned on the right."""
    from rich.cells import cell_len

    padding = [" " * (_text_width(cells) - cell_len(cell)) for cell in cells]
    pairs = zip(cells, padding, strict=True)
    if column.kind == "number":
        return [space + cell for cell, space in pairs]
    return [cell + space for cell, space in pairs]


def _text_width(cells: list[str]) -> int:
    from rich.cells import cell_len  # the width of a character is 0, 1 or 2 columns

    return max(map(cell_len, cells))


def _shorten_names(columns: list[list[str]], n_names: int, width: int) -> None:
    """Shorten the widest columns of group names in place until the lines fit into `width`.

    No column becomes narrower than `MIN_NAME_WIDTH`.
    """
    from rich.cells import cell_len, set_cell_size

    while sum(map(_text_width, columns)) + len(COLUMN_GAP) * (len(columns) - 1) > width:
        widest = max(range(n_names), key=lambda i: _text_width(columns[i]), default=None)
        if widest is None or _text_width(columns[widest]) <= MIN_NAME_WIDTH:
            return
        limit = _text_width(columns[widest]) - 1
        columns[widest] = [
            cell if cell_len(cell) <= limit else set_cell_size(cell, limit - 1).rstrip() + "…"
            for cell in columns[widest]
        ]


class Progress:
    """Show the current step on stderr after a delay.

    In a terminal, the current step has a progress bar, which is removed at the end. In other
    outputs, such as the log of a nightly job, each step is a line. Commands that end before the
    delay show nothing.
    """

    def __init__(self, *, quiet: bool = False, delay: float | None = None) -> None:
        self._terminal = sys.stderr.isatty()
        if delay is None:
            delay = 1.0 if self._terminal else 5.0
        self._start = monotonic()
        self._step = self._item = self._shown_step = ""
        self._n_started, self._n_expected, self._fraction = 0, 0, 0.0
        self._active = False
        self._bar: Bar | None = None
        self._lock = Lock()
        self._timer = None if quiet else Timer(delay, self._activate)

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
            if self._bar is not None:
                self._bar.stop()

    def expect(self, n_steps: int) -> None:
        """Set the number of steps that follow the current step.

        Without this number, the bar shows movement, but not the share of the work that is done.
        """
        with self._lock:
            self._n_expected = self._n_started + n_steps
            self._show()

    def step(self, text: str) -> None:
        """Start the next step."""
        self._set(text, "", 0.0)

    def count(self, text: str, n_done: int, n_total: int) -> None:
        """Start a step with several items, or set the number of its finished items."""
        self._set(text, f" {n_done + 1:,} of {n_total:,}", n_done / n_total)

    @property
    def share(self) -> float | None:
        """The share of the work that is done, if the steps have equal work; None if unknown."""
        if not self._n_expected:
            return None
        return min((self._n_started - 1 + self._fraction) / self._n_expected, 1.0)

    def _set(self, step: str, item: str, fraction: float) -> None:
        with self._lock:
            self._n_started += step != self._step
            self._step, self._item, self._fraction = step, item, fraction
            self._show()

    def _activate(self) -> None:
        with self._lock:
            self._active = True
            self._show()

    def _show(self) -> None:
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
        elif self._step != self._shown_step:
            self._shown_step = self._step
            seconds = monotonic() - self._start
            sys.stderr.write(f"rocframe: {seconds:6.1f} s  {self._step}\n")
            sys.stderr.flush()


def _start_bar(start: float) -> Bar:
    """Show a progress bar on stderr, and return it; `start` is the start of the elapsed time."""
    from rich.console import Console
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
