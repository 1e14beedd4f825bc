"""Format the tables of a report as text: columns of names, numbers, counts, intervals and notes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rocframe.frames import column
from rocframe.inference.notes import SEPARATOR
from rocframe.reports.report_tables import CURVE_METRICS, group_columns
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
    from collections.abc import Callable, Sequence

    from rocframe.inference.notes import Note
    from rocframe.reports.report_tables import ReportTables


MAX_TABLE_ROWS = 500
NO_VALUE = "–"
SHORT_NAME = 20  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class TextColumn:
    """A column as text: a title and a cell per row.

    `kind` determines the alignment of the column: "name", "number" or "word".
    """

    title: str
    cells: Sequence[str]
    kind: str = "number"

    @property
    def is_short(self) -> bool:
        """Whether all cells are texts, not numbers, that are short enough for one line."""
        return self.kind != "number" and max(map(len, self.cells), default=0) <= SHORT_NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class TextTable:
    """A table as text; `omitted` is a sentence about rows that are left out, or empty."""

    columns: list[TextColumn]
    omitted: str

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The cells of each row."""
        return list(zip(*(column.cells for column in self.columns), strict=True))


def areas_text(tables: ReportTables, file: str | None) -> TextTable:
    """Return the AUC and other metrics of each group as text.

    `file` is the name of a file with all rows of the table, or None.
    """
    areas, top = tables.areas, tables.areas.head(MAX_TABLE_ROWS)
    metrics = tables.metrics.head(MAX_TABLE_ROWS)
    columns = [
        *name_columns(top, group_columns(areas)),
        number_column("AUC", top["auc"]),
        *interval_columns(top, areas),
        *(
            number_column(title, metrics[name])
            for name, title in CURVE_METRICS.items()
            if metrics[name].null_count() < top.height
        ),
        number_column("prevalence", metrics["prevalence"]),
        count_column("positives", top["n_pos"]),
        count_column("negatives", top["n_neg"]),
        *([count_column("missing", top["n_missing"])] if areas["n_missing"].sum() else []),
    ]
    return _text_table(columns, top, areas, file)


def mean_areas_text(areas: pl.DataFrame, mean_areas: pl.DataFrame, over: str) -> TextTable:
    """Return the mean areas over the values of the group column `over` as text.

    Notes state which values of `over` have an undefined area.
    """
    top = mean_areas.head(MAX_TABLE_ROWS)
    notes = []
    for group in top.iter_slices(1):
        note = group["note"][0]
        # `left_out` is always the last note, so the text after it is only its count and keys.
        first, left_out, _ = (note or "").partition("left_out:")
        notes.append(first + _left_out_text(areas, group, over) if left_out else note)
    top = top.with_columns(pl.Series("note", notes, pl.String))
    columns = [
        *name_columns(top, group_columns(mean_areas, "mean_auc")),
        number_column("mean AUC", top["mean_auc"]),
        *interval_columns(top, mean_areas),
        number_column("sd", top["sd"]),
        number_column("AUC of mean curve", top["auc_of_mean"]),
        number_column("pooled AUC", top["pooled_auc"]),
        count_column("curves", top["n_curves"]),
    ]
    return _text_table(columns, top, mean_areas)


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
        number_column("difference", top["difference"]),
        *interval_columns(top, comparison),
        number_column("p-value", top["p_value"], format_p_value),
        number_column("adjusted p-value", top["p_adjusted"], format_p_value),
        number_column("AUC a", top["auc_a"]),
        number_column("AUC b", top["auc_b"]),
        count_column("rows", top["n_paired"]),
    ]
    return _text_table(columns, top, comparison)


def _text_table(
    columns: list[TextColumn], top: pl.DataFrame, table: pl.DataFrame, file: str | None = None
) -> TextTable:
    return TextTable(
        columns=[*columns, *note_columns(top, table, note_in_words)],
        omitted=omitted_text(table.height - top.height, "row", file),
    )


def omitted_text(number: int, noun: str, file: str | None = None) -> str:
    """Return a sentence about rows or groups that are not shown; empty if `number` is 0.

    `file` is the name of a file that contains them, or None.
    """
    if not number:
        return ""
    return f"Not shown here: {format_count(number, noun)}{f', see {file}' if file else ''}."


def name_columns(top: pl.DataFrame, names: Sequence[str]) -> list[TextColumn]:
    """Return a column of text for each column in `names`, such as the group columns."""
    return [
        TextColumn(title=format_name(name), cells=format_values(top.get_column(name)), kind="name")
        for name in names
    ]


def number_column(
    title: str,
    values: pl.Series,
    format_value: Callable[[float | None], str | None] = format_number,
) -> TextColumn:
    """Return a column of numbers as text; a missing number is a dash."""
    return TextColumn(title=title, cells=[format_value(value) or NO_VALUE for value in values])


def count_column(title: str, values: pl.Series) -> TextColumn:
    """Return a column of counts as text; a missing count is a dash."""
    return TextColumn(title=title, cells=[NO_VALUE if n is None else f"{n:,}" for n in values])


def interval_columns(top: pl.DataFrame, table: pl.DataFrame, of: str = "") -> list[TextColumn]:
    """Return a list with a column of intervals as text; an empty list if the table has none.

    `top` are the rows that are shown of `table`. The title ends with `of`.
    """
    title = interval_title(table)
    if title is None:
        return []
    limits = zip(top["lower"], top["upper"], strict=True)
    cells = [format_interval(*pair) or NO_VALUE for pair in limits]
    return [TextColumn(title=title + of, cells=cells)]


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
