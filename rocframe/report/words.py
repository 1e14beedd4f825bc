"""Values of a table → words that people read, on a page or a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence


def visible(text: str) -> str:
    """Return text that can be seen: quoted where it is blank or holds what does not print."""
    return text if text.isprintable() and text == text.strip() != "" else repr(text)


def words(values: pl.Series) -> list[str]:
    """Spell out group values of any type."""
    if values.dtype.is_float() or values.dtype.is_decimal():
        values = values.cast(pl.String)  # a Float32 0.1 is 0.10000000149 to Python
    return list(map(_word, values.to_list()))


def _word(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return "'null'" if value == "null" else visible(value)
        case _:
            return visible(str(value))


def number(value: float | None) -> str | None:
    """Spell out an area."""
    return None if value is None else f"{value:.4f}"


def interval(lower: float | None, upper: float | None) -> str | None:
    """Spell out an interval, or that there is none."""
    return None if lower is None or upper is None else f"{lower:.4f} to {upper:.4f}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Count things: `1 file`, `2 files`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def joined(names: Sequence[str]) -> str:
    """Join names as a sentence does: `a`, `a and b`, `a, b and c`."""
    *front, last = names
    return f"{', '.join(front)} and {last}" if front else last


def keys_of(areas: pl.DataFrame) -> list[str]:
    """Return the group columns of a table of areas."""
    return areas.columns[: areas.columns.index("n_pos")]


def level_of(areas: pl.DataFrame) -> str | None:
    """Name the intervals of a table of areas, if it has any."""
    level = areas.get_column("ci_level").drop_nulls()
    return f"{100 * level[0]:g} % interval" if len(level) else None
