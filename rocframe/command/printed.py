"""The AUC table → text that fits the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.report.words import counted, interval, keys_of, level_of, number
from rocframe.spelling import visible, words
from rocframe.vocabulary import ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

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
    columns += [[name, *(f"{n:,}" for n in top.get_column(name))] for name in ROWS]
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
