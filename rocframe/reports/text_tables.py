"""Format the tables of a report as text: columns of names, numbers, counts, intervals and notes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import floor, inf, log10
from typing import TYPE_CHECKING

import polars as pl

from rocframe.frames import column
from rocframe.inference.notes import SEPARATOR
from rocframe.reports.report_tables import CURVE_METRICS, group_columns
from rocframe.schemas.columns import MODEL
from rocframe.text import (
    format_count,
    format_interval,
    format_name,
    format_number,
    format_p_value,
    format_percent,
    format_values,
    join_first,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rocframe.inference.notes import Note
    from rocframe.reports.report_tables import ReportTables


MAX_TABLE_ROWS = 500
DECIMALS = 3  # of rates and areas in pages
NO_VALUE = "–"
SHORT_LENGTHS = {"name": 20, "word": 30}  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """A column as text: a title and a cell per row.

    `kind` determines the alignment of the column: "name", "number" or "word". `bars` are small
    drawings of intervals beside the cells, and `colors` numbers of colors that mark the names.
    """

    title: str
    cells: Sequence[str]
    kind: str = "number"
    bars: Sequence[IntervalBar | None] = ()
    colors: Sequence[int | None] = ()

    @property
    def is_short(self) -> bool:
        """Whether all cells are texts, not numbers, that are short enough for one line."""
        return max(map(len, self.cells), default=0) <= SHORT_LENGTHS.get(self.kind, -1)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntervalBar:
    """An interval on the common scale of a column, from 0 to 100; `zero` is 0 on this scale."""

    low: float
    high: float
    at: float
    zero: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table as text; `omitted` is a sentence about rows that are left out, or empty."""

    caption: str
    columns: list[TextColumn]
    omitted: str = ""

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells of each row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))

    @property
    def sentence(self) -> str:
        """The titles and cells of a table with one row, as a sentence."""
        cells = [(column.title, column.cells[0]) for column in self.columns if column.cells[0]]
        text = ", ".join(f"{title} {cell}" for title, cell in cells if cell != NO_VALUE)
        return f"{text}."


def metrics_text(tables: ReportTables, file: str | None) -> TextTable:
    """Return the AUC of each group with its interval, and other metrics, as text.

    `file` is the name of a file with all rows of the table, or None.
    """
    areas, top = tables.areas, tables.areas.head(MAX_TABLE_ROWS)
    metrics = tables.metrics.head(MAX_TABLE_ROWS)
    columns = [
        *name_columns(top, group_columns(areas)),
        *estimate_columns("AUC", "auc", top, areas, decimals=DECIMALS),
        *(
            number_column(title, metrics[name], decimals=DECIMALS)
            for name, title in CURVE_METRICS.items()
            if metrics[name].null_count() < top.height
        ),
        number_column("prevalence", metrics["prevalence"], decimals=DECIMALS),
        *size_columns(top, areas),
    ]
    return TextTable(
        caption="AUC and other metrics of each group",
        columns=columns,
        omitted=omitted_text(areas.height - top.height, "row", file),
    )


def size_columns(top: pl.DataFrame, areas: pl.DataFrame) -> list[TextColumn]:
    """Return the row counts and notes of areas; `top` are the shown rows of `areas`."""
    return [
        count_column("positives", top["n_pos"]),
        count_column("negatives", top["n_neg"]),
        *([count_column("missing", top["n_missing"])] if areas["n_missing"].sum() else []),
        *note_columns(top, areas, note_in_words),
    ]


def mean_area_columns(top: pl.DataFrame, areas: pl.DataFrame, over: str) -> list[TextColumn]:
    """Return what explains the mean areas over the values of the group column `over`.

    `top` are rows of the table of `fold_auc`. Notes state which values of `over` have an undefined
    area.
    """
    notes = []
    for group in top.iter_slices(1):
        note = group["note"][0]
        # `left_out` is always the last note, so the text after it is only its count and keys.
        first, left_out, _ = (note or "").partition("left_out:")
        notes.append(first + _left_out_text(areas, group, over) if left_out else note)
    top = top.with_columns(pl.Series("note", notes, pl.String))
    return [
        number_column("sd", top["sd"], decimals=DECIMALS),
        number_column("AUC of mean curve", top["auc_of_mean"], decimals=DECIMALS),
        count_column("curves", top["n_curves"]),
        *note_columns(top, top, note_in_words),
    ]


def _left_out_text(areas: pl.DataFrame, group: pl.DataFrame, over: str) -> str:
    """Return the values of `over` without an AUC, such as "fold 3 left out: no positives".

    `group` is a row of the table of mean areas. Only its areas are considered.
    """
    on = [column(key) for key in group_columns(group, "mean_auc")]
    undefined = areas.filter(pl.col("note").is_in(UNDEFINED_AUC))
    if on:
        undefined = undefined.join(group.select(on), on=on, how="semi", nulls_equal=True)
    texts = []
    for note in UNDEFINED_AUC:
        values = format_values(undefined.filter(note=note).get_column(over))
        if values:
            names = join_first(values, MAX_LEFT_OUT)
            texts.append(f"{format_name(over)} {names} left out: {NOTE_TEXTS[note]}")
    return SEPARATOR.join(texts)


def comparison_text(comparison: pl.DataFrame) -> TextTable:
    """Return the differences between models as text."""
    top = comparison.head(MAX_TABLE_ROWS)
    models = top.select(pl.col("model_a").alias("model a"), pl.col("model_b").alias("model b"))
    columns = [
        *name_columns(top, group_columns(comparison, "model_a")),
        *name_columns(models, models.columns),
        *estimate_columns(
            "difference", "difference", top, comparison, decimals=DECIMALS, zero=True
        ),
        p_value_column("p-value", top["p_value"]),
        p_value_column("adjusted p-value", top["p_adjusted"]),
        number_column("AUC a", top["auc_a"], decimals=DECIMALS),
        number_column("AUC b", top["auc_b"], decimals=DECIMALS),
        count_column("rows", top["n_paired"]),
        *note_columns(top, comparison, note_in_words),
    ]
    return TextTable(
        caption="Differences of the AUC of each pair of models",
        columns=columns,
        omitted=omitted_text(comparison.height - top.height, "row"),
    )


def omitted_text(number: int, noun: str, file: str | None = None) -> str:
    """Return a sentence about rows or groups that are not shown; empty if `number` is 0.

    `file` is the name of a file that contains them, or None.
    """
    if not number:
        return ""
    return f"Not shown here: {format_count(number, noun)}{f', see {file}' if file else ''}."


def name_columns(
    top: pl.DataFrame, names: Sequence[str], colors: Mapping[str, int] | None = None
) -> list[TextColumn]:
    """Return a column of text for each column in `names`, such as the group columns.

    `colors` are the numbers of the colors of the values of the column `model`.
    """
    texts = {name: format_values(top.get_column(name)) for name in names}
    return [
        TextColumn(
            title=format_name(name),
            cells=cells,
            kind="name",
            colors=[colors.get(cell) for cell in cells] if colors and name == MODEL else (),
        )
        for name, cells in texts.items()
    ]


def number_column(
    title: str,
    values: pl.Series,
    format_value: Callable[[float | None], str | None] | None = None,
    *,
    decimals: int = 4,
) -> TextColumn:
    """Return a column of numbers as text; a missing number is a dash."""
    to_text = format_value or partial(format_number, decimals=decimals)
    return TextColumn(title=title, cells=[to_text(value) or NO_VALUE for value in values])


def p_value_column(title: str, values: pl.Series) -> TextColumn:
    """Return a column of p-values as text."""
    return number_column(title, values, partial(format_p_value, decimals=DECIMALS))


def count_column(title: str, values: pl.Series) -> TextColumn:
    """Return a column of counts as text; a missing count is a dash."""
    return TextColumn(title=title, cells=[NO_VALUE if n is None else f"{n:,}" for n in values])


def estimate_columns(
    title: str,
    value: str,
    top: pl.DataFrame,
    table: pl.DataFrame,
    of: str = "",
    *,
    decimals: int,
    zero: bool = False,
) -> list[TextColumn]:
    """Return the column `value` with drawn intervals, and the intervals as text.

    The intervals are drawn if there are several, with a line at 0 if `zero`. The title of the
    intervals ends with `of`.
    """
    numbers = number_column(title, top[value], decimals=decimals)
    limits = list(zip(top["lower"], top["upper"], strict=True))
    bars = _interval_bars(limits, top[value].to_list(), zero=zero)
    return [replace(numbers, bars=bars), *interval_columns(top, table, of, decimals=decimals)]


def interval_columns(
    top: pl.DataFrame, table: pl.DataFrame, of: str = "", *, decimals: int = 4
) -> list[TextColumn]:
    """Return a list with a column of intervals as text; an empty list if the table has none.

    `top` are the rows that are shown of `table`. The title ends with `of`.
    """
    title = interval_title(table)
    if title is None:
        return []
    limits = zip(top["lower"], top["upper"], strict=True)
    cells = [format_interval(*pair, decimals=decimals) or NO_VALUE for pair in limits]
    return [TextColumn(title=title + of, cells=cells)]


def _interval_bars(
    limits: Sequence[tuple[float | None, float | None]],
    values: Sequence[float | None],
    *,
    zero: bool,
) -> list[IntervalBar | None]:
    """Return the intervals on a common scale; an empty list if only one row has an interval."""
    drawn = [
        (low, high, at)
        for (low, high), at in zip(limits, values, strict=True)
        if low is not None and high is not None and at is not None
    ]
    if len(drawn) < 2:
        return []
    numbers = [number for one in drawn for number in one] + [0.0] * zero
    least, width = min(numbers), (max(numbers) - min(numbers)) or 1.0

    def bar(*numbers: float) -> IntervalBar:
        low, high, at = (100 * (number - least) / width for number in numbers)
        return IntervalBar(low=low, high=high, at=at, zero=-100 * least / width if zero else None)

    bars = iter([bar(*one) for one in drawn])
    is_drawn = [None not in (*pair, at) for pair, at in zip(limits, values, strict=True)]
    return [next(bars) if one else None for one in is_drawn]


def column_decimals(values: Iterable[float | None]) -> int:
    """Return the number of decimals of a column: at least three digits of its largest number."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    if not 0 < largest < inf:
        return DECIMALS
    exponent = floor(log10(largest))
    return max(DECIMALS - exponent, 0) if exponent >= 0 else min(2 - exponent, 12)


def interval_title(table: pl.DataFrame) -> str | None:
    """Return the title of the interval column, such as "95 % interval".

    The result is None if the table has no intervals: `ci_level` is null in all rows.
    """
    level = table["ci_level"].drop_nulls()
    return f"{format_percent(level[0])} interval" if len(level) else None


# Notes of groups whose AUC is undefined.
UNDEFINED_AUC: tuple[Note, ...] = ("no_rows", "no_positives", "no_negatives")
MAX_LEFT_OUT = 5  # maximum number of values in a note
# The text of each note in a report. "{}" is the number in the note.
NOTE_TEXTS: dict[Note, str] = {
    "no_rows": "no rows",
    "no_positives": "no positives",
    "no_negatives": "no negatives",
    "one_positive": "no interval: only one positive",
    "one_positive_cluster": "no interval: only one cluster with positives",
    "one_negative_cluster": "no interval: only one cluster with negatives",
    "one_negative": "no interval: only one negative",
    "zero_variance": "no interval: the estimated variance is 0",
    "no_solution": "undefined",
    "few_rows": "too few rows of a class for a reliable test: {}",
    "redrawn": "resamples drawn again because they lacked a class: {}",
    "unmatched": "rows left out because one of the two models lacks them: {}",
    "left_out": "curves left out because they lack a class: {}",
    "lacks_rows": "curves without a value because rows are missing: {}",
    "fewer": "groups with fewer curves: {}",
}


def note_columns(
    top: pl.DataFrame,
    table: pl.DataFrame,
    format_note: Callable[[str], str] = str,
) -> list[TextColumn]:
    """Return a list with a column of notes as text; an empty list if the table has no notes.

    `top` are the rows that are shown of `table`.
    """
    if table["note"].null_count() == table.height:
        return []
    cells = [format_note(note) if note else "" for note in top["note"]]
    return [TextColumn(title="note", cells=cells, kind="word")]


def note_in_words(note: str) -> str:
    """Return all notes of a row in words, such as "no positives" for "no_positives"."""
    return SEPARATOR.join(map(_one_note_in_words, note.split(SEPARATOR)))


def _one_note_in_words(note: str) -> str:
    name, _, rest = note.partition(":")
    if name not in NOTE_TEXTS:
        return note
    number, _, names = rest.partition(" ")
    words = NOTE_TEXTS[name].format(f"{int(number):,}" if number.isdecimal() else number)
    return f"{words} {names}".strip()
