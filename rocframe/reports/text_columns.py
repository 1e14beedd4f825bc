"""The columns of tables as text, for pages and the command line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import floor, inf, log10
from typing import TYPE_CHECKING, Any

from rocframe.inference import SEPARATOR, Note
from rocframe.schemas.table_type import MODEL
from rocframe.text import (
    format_count,
    format_interval,
    format_name,
    format_number,
    format_p_value,
    format_percent,
    format_values,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl

DECIMALS = 3  # of rates and areas in pages
NO_VALUE = "–"
SHORT_LENGTHS = {"name": 20, "word": 30}  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """A column as text: a title and a cell per row; `kind` determines its alignment.

    `bars` are drawings of intervals beside the cells, and `colors` numbers of colors of the names.
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


def group_columns(table: pl.DataFrame, first: str = "auc") -> list[str]:
    """Return the group columns of a table: those to the left of the column `first`."""
    return table.columns[: table.columns.index(first)]


def omitted_text(number: int, noun: str, file: str | None = None) -> str:
    """Return a sentence about what is not shown, and the file with all; empty for 0."""
    if not number:
        return ""
    return f"Not shown here: {format_count(number, noun)}{f', see {file}' if file else ''}."


def name_columns(
    top: pl.DataFrame, names: Sequence[str], colors: Mapping[str, int] | None = None
) -> list[TextColumn]:
    """Return the columns in `names` as text; `colors` are those of the values of `model`."""
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
    """Return the column `value` and the intervals, as text and, if there are several, drawn."""
    numbers = number_column(title, top[value], decimals=decimals)
    limits = list(zip(top["lower"], top["upper"], strict=True))
    bars = _interval_bars(limits, top[value].to_list(), zero=zero)
    return [replace(numbers, bars=bars), *interval_columns(top, table, of, decimals=decimals)]


def interval_columns(
    top: pl.DataFrame, table: pl.DataFrame, of: str = "", *, decimals: int = 4
) -> list[TextColumn]:
    """Return a list with the intervals as text, with the title … `of`; empty without."""
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
    rows: list[Any] = [(*pair, at) for pair, at in zip(limits, values, strict=True)]
    drawn = [row for row in rows if None not in row]
    if len(drawn) < 2:
        return []
    numbers = [number for one in drawn for number in one] + [0.0] * zero
    least, width = min(numbers), (max(numbers) - min(numbers)) or 1.0

    def bar(*numbers: float) -> IntervalBar:
        low, high, at = (100 * (number - least) / width for number in numbers)
        return IntervalBar(low=low, high=high, at=at, zero=-100 * least / width if zero else None)

    return [None if None in row else bar(*row) for row in rows]


def column_decimals(values: Iterable[float | None]) -> int:
    """Return the number of decimals of a column: at least three digits of its largest number."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    if not 0 < largest < inf:
        return DECIMALS
    exponent = floor(log10(largest))
    return max(DECIMALS - exponent, 0) if exponent >= 0 else min(2 - exponent, 12)


def interval_title(table: pl.DataFrame) -> str | None:
    """Return the title of the intervals, such as "95 % interval"; None without `ci_level`."""
    level = table["ci_level"].drop_nulls()
    return f"{format_percent(level[0])} interval" if len(level) else None


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
    "fewer_alerts": "fewer alerts than given, because scores are tied or rows are few: {}",
}


def note_columns(
    top: pl.DataFrame, table: pl.DataFrame, format_note: Callable[[str], str] = str
) -> list[TextColumn]:
    """Return a list with the notes of the shown rows `top` as text; empty without notes."""
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
