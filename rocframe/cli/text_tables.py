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
from rocframe.schemas import table_of
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
    from collections.abc import Mapping

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
        TextColumn(title="result", cells=_verdict_cells(top, VERDICT_TEXTS), kind="word"),
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
    """Return windows with their references as text: a line per group and window.

    The windows that fail precede others if not all are shown, and then the last windows.
    """
    keys = _window_keys(table)
    order = pl.arg_sort_by(
        pl.col("passed").eq(False).fill_null(False),
        table[keys[len(options.by or [])]],
        descending=True,
        nulls_last=True,
    )
    top = table[table.select(order.head(max_rows).sort()).to_series()]
    names = name_columns(top, keys)
    if options.label is not None:
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
            number_column("adjusted p", top["ks_p_adjusted"], format_p_value),
            count_column("n", top["n"]),
            count_column("n_missing", top["n_missing"]),
        ]
    results = _verdict_cells(top, DRIFT_VERDICTS)
    columns = [*names, *values, TextColumn(title="result", cells=results, kind="word")]
    return _aligned_text(columns, len(names), width, table.height - top.height, "more window")


def _window_keys(table: pl.DataFrame) -> list[str]:
    """Return the group columns of windows, without the ends of the windows."""
    return [name for name in table_of(table.columns).by if name != WINDOW_END]


def drift_summary(table: pl.DataFrame, options: MonitoringOptions) -> str:
    """Return which windows fail and why as a sentence, and the tests."""
    verbs, text = ("differs", "differ"), "from the reference"
    if options.margin is not None and options.label is not None:
        verbs, text = ("is", "are"), f"worse than the reference by more than {options.margin:g}"
    elif options.margin is not None:
        text += f", with a PSI or KS above {options.margin:g}"
    differs = tuple(f"{verb} {text}" for verb in verbs)
    more = "more missing scores than the reference"
    reasons = {
        "drift": differs,
        "missing_scores": (f"has {more}", f"have {more}"),
        "undecided": ("cannot be compared", "cannot be compared"),
    }
    counted = table.filter(pl.col("passed").is_not_null())
    windows, parts = format_count(counted.height, "window"), []
    for verdict, texts in reasons.items():
        failing = counted.filter(verdict=verdict)
        if failing.height:
            keys = zip(*(format_values(failing[name]) for name in _window_keys(table)), strict=True)
            names = join_first([" ".join(key) for key in keys])
            number = f"{failing.height:,} of {windows}"
            parts.append(f"{number} {texts[failing.height > 1]}: {names}")
    if parts:
        line = f"FAIL: {'; '.join(parts)}."
    elif counted.height:
        line = f"PASS: none of {windows} {differs[0]}."
    else:
        line = "PASS: no window is compared with a reference."
    if n_ignored := table.filter(verdict="ignored").height:
        verb = "does" if n_ignored == 1 else "do"
        line += f" {format_count(n_ignored, 'window')} {verb} not count (--min-rows)."
    test = "PSI and KS" if options.label is None else "".join(table["test"].head(1)) or "none"
    return f"{line}\nTest: {test}, level {options.level:g}, adjustment {options.adjust}."


DRIFT_VERDICTS = {
    "drift": "FAIL",
    "missing_scores": "FAIL: missing scores",
    "undecided": "FAIL",
    "no_drift": "",
    "reference": "reference",
    "no_test": "",
    "ignored": "does not count",
}


METRIC_TITLES = {"auc": "AUC", "average_precision": "AP", "brier": "Brier", "log_loss": "log loss"}


VERDICT_TEXTS = {
    "inferior": "worse by more than the margin",
    "undecided": "no decision",
    "not_shown": "not shown to be non-inferior",
    "non_inferior": "non-inferior",
    "ignored": "does not count",
}


VERDICT_NOTE_TEXTS = {
    "not_in_old": "no rows in OLD",
    "not_in_new": "no rows in NEW",
    "unmatched": "rows left out",
    "redrawn": "resamples drawn again",
}


def _verdict_cells(table: pl.DataFrame, texts: Mapping[str, str]) -> list[str]:
    """Return the verdict and the note of each row in words."""
    results = []
    for verdict, note in zip(table["verdict"], table["note"], strict=True):
        parts = [texts[verdict]]
        if note is not None:
            name, *numbers = note.split(":")
            parts += [VERDICT_NOTE_TEXTS.get(name, name.replace("_", " ")), *numbers]
        results.append(": ".join(filter(None, parts)))
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
