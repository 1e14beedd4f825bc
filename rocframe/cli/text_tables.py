"""The tables that the commands print, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.cli.options import NEW
from rocframe.rates import CONFUSION
from rocframe.reports.text_columns import (
    NO_VALUE,
    TextColumn,
    count_column,
    group_columns,
    interval_columns,
    name_columns,
    note_columns,
    number_column,
)
from rocframe.schemas.table_type import ROW_COUNTS, THRESHOLD, WINDOW_END
from rocframe.text import (
    format_count,
    format_p_value,
    format_percent,
    format_threshold,
    format_values,
    join_first,
)

if TYPE_CHECKING:
    from rocframe.cli.options import MonitoringOptions

COLUMN_GAP = "  "
MIN_NAME_WIDTH = 8


def areas_table(areas: pl.DataFrame, *, width: int | None, max_rows: int = 60) -> str:
    """Return the table of areas as text, a line per group, within `width` if possible."""
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
    """Return operating points as text: a line per group and rule; see `areas_table`."""
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
    """Return the table of a release gate as text: a line per group; see `areas_table`."""
    top = table.head(max_rows)
    names = name_columns(top, group_columns(table, "passed"))
    metric = table.columns[table.columns.index("se") + 1].removesuffix("_old")
    title = METRIC_TITLES.get(metric, metric)
    level = format_percent(table["ci_level"][0])
    # The names of new models, unless the models are OLD and NEW.
    models = [] if set(table["model_new"]) == {NEW} else name_columns(top, ["model_new"])
    columns = [
        *names,
        *models,
        number_column(f"{title} old", top[f"{metric}_old"]),
        number_column(f"{title} new", top[f"{metric}_new"]),
        number_column("worse by", top["deterioration"]),
        number_column(f"{level} limit", top["limit"]),
        number_column("margin", top["margin"], lambda value: f"{value:g}"),
        number_column("adjusted p", top["p_adjusted"], format_p_value),
        TextColumn(title="result", cells=_gate_results(top), kind="word"),
    ]
    return _aligned_text(
        columns, len(names) + len(models), width, table.height - top.height, "more group"
    )


def models_table(table: pl.DataFrame, *, width: int | None, max_rows: int = 60) -> str:
    """Return comparisons of models as text: a line per group, pair and metric."""
    top = table.head(max_rows)
    keys = [*group_columns(table, "model_b"), "model_b"]
    names = name_columns(top, [*keys, "metric"] if "metric" in table.columns else keys)
    metric = table.columns[table.columns.index("df") + 1].removesuffix("_a")
    title = METRIC_TITLES.get(metric, metric)
    columns = [
        *names,
        *(number_column(f"{title} {side}", top[f"{metric}_{side}"]) for side in "ab"),
        number_column("difference", top["difference"]),
        *interval_columns(top, table),
        number_column("p", top["p_value"], format_p_value),
        number_column("adjusted p", top["p_adjusted"], format_p_value),
        *note_columns(top, table),
    ]
    return _aligned_text(columns, len(names), width, table.height - top.height, "more row")


def probabilities_table(table: pl.DataFrame, *, width: int | None, max_rows: int = 60) -> str:
    """Return measures of calibration as text: a line per group."""
    top = table.head(max_rows)
    names = name_columns(top, group_columns(table, "brier"))
    columns = [
        *names,
        *(number_column(title, top[name]) for title, name in CALIBRATION_TITLES.items()),
        number_column("Spiegelhalter p", top["spiegelhalter_p"], format_p_value),
        *(count_column(name, top[name]) for name in ROW_COUNTS),
        *note_columns(top, table),
    ]
    return _aligned_text(columns, len(names), width, table.height - top.height, "more group")


CALIBRATION_TITLES = {
    "Brier": "brier",
    "Brier skill": "brier_skill",
    "ECE": "ece",
    "ICI": "ici",
    "intercept": "calibration_intercept",
    "slope": "calibration_slope",
}


def windows_table(
    table: pl.DataFrame, options: MonitoringOptions, *, width: int | None, max_rows: int = 60
) -> str:
    """Return windows with their references as text: a line per group and window."""
    top = table.head(max_rows)
    names = name_columns(top, _window_keys(table))
    if "auc" in table.columns:
        values = [
            number_column("AUC", top["auc"]),
            *interval_columns(top, table),
            number_column("reference", top["reference_auc"]),
            number_column("difference", top["difference"]),
            number_column("adjusted p", top["p_adjusted"], format_p_value),
            *(count_column(name, top[name]) for name in ROW_COUNTS),
        ]
    else:
        values = [
            number_column("PSI", top["psi"]),
            number_column("critical", top["psi_critical"]),
            number_column("adjusted p", top["psi_p_adjusted"], format_p_value),
            number_column("KS", top["ks"]),
            count_column("n", top["n"]),
            count_column("n_missing", top["n_missing"]),
        ]
    fails, own = top.select(fails=options.fails(), own=_is_reference(table, options)).get_columns()
    results = [
        "FAIL" if failed else "reference" if is_own else (note or "").replace("_", " ")
        for failed, is_own, note in zip(fails, own, top["note"], strict=True)
    ]
    columns = [*names, *values, TextColumn(title="result", cells=results, kind="word")]
    return _aligned_text(columns, len(names), width, table.height - top.height, "more window")


def _window_keys(table: pl.DataFrame) -> list[str]:
    """Return the group columns of windows, without the ends of the windows."""
    keys = group_columns(table, "auc" if "auc" in table.columns else "psi")
    return [name for name in keys if name != WINDOW_END]


def _is_reference(table: pl.DataFrame, options: MonitoringOptions) -> pl.Expr:
    """Return whether each window is its own reference; windows are right of the groups."""
    window = table.columns[len(options.by or [])]
    return (pl.col("reference") == pl.col(window)).fill_null(value=False)


def drift_summary(table: pl.DataFrame, options: MonitoringOptions) -> str:
    """Return which windows fail as a sentence, and the test."""
    p_value = "p_adjusted" if "auc" in table.columns else "psi_p_adjusted"
    compared = table.filter(pl.col(p_value).is_not_null())
    failing = compared.filter(options.fails())
    is_many = failing.height > 1
    text = f"{'differ' if is_many else 'differs'} from the reference"
    if options.margin is not None and options.label is not None:
        verb = "are" if is_many else "is"
        text = f"{verb} worse than the reference by more than {options.margin:g}"
    elif options.margin is not None:
        text += f", with a PSI above {options.margin:g}"
    windows = format_count(compared.height, "window")
    if not compared.height:
        lines = ["PASS: no window is compared with a reference."]
    elif not failing.height:
        lines = [f"PASS: none of {windows} {text}."]
    else:
        keys = zip(*(format_values(failing[name]) for name in _window_keys(table)), strict=True)
        names = join_first([" ".join(key) for key in keys])
        lines = [f"FAIL: {failing.height:,} of {windows} {text}: {names}."]
    unknown = pl.col(p_value).is_null() & ~_is_reference(table, options)
    if options.reference == "previous":  # the first window has no reference and no note
        unknown &= pl.col("note").is_not_null()
    if n_unknown := table.filter(unknown).height:
        lines[0] += f" {format_count(n_unknown, 'window')} cannot be compared."
    test = f"{table['test'][0]}" if "test" in table.columns and table.height else "PSI"
    lines.append(f"Test: {test}, level {options.level:g}, adjustment {options.adjust}.")
    return "\n".join(lines)


METRIC_TITLES = {"auc": "AUC", "average_precision": "AP", "brier": "Brier", "log_loss": "log loss"}


VERDICT_TEXTS = {
    "inferior": "worse by more than the margin",
    "undecided": "no decision",
    "not_shown": "not shown to be non-inferior",
    "non_inferior": "non-inferior",
    "ignored": "does not count",
}


GATE_NOTE_TEXTS = {
    "not_in_old": "no rows in OLD",
    "not_in_new": "no rows in NEW",
    "unmatched": "rows left out",
    "redrawn": "resamples drawn again",
}


def _gate_results(table: pl.DataFrame) -> list[str]:
    """Return the verdict and the note of each row in words."""
    results = []
    for verdict, note in zip(table["verdict"], table["note"], strict=True):
        text = VERDICT_TEXTS[verdict]
        if note is not None:
            name, _, number = note.partition(":")
            words = GATE_NOTE_TEXTS.get(name, name.replace("_", " "))
            text += f": {words}{f': {number}' if number else ''}"
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
    """Shorten group names in place until lines fit into `width`, not below `MIN_NAME_WIDTH`."""
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
