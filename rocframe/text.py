"""Values and names as text, for errors and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable


LONGEST = 100  # characters of a value that a message repeats


def listed(names: Iterable[object], *, most: int = 10) -> str:
    """Spell out what there is, the first ten of it."""
    every = [repr(name) for name in names]
    rest = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + rest


def shown(value: object) -> str:
    """Spell out a value in one line: expressions as they are written, long ones cut short."""
    plain = str(value) if isinstance(value, pl.Expr) else repr(value)
    line = " ".join(plain.split()) if "\n" in plain else plain
    return line if len(line) <= LONGEST else f"{line[:LONGEST]}…"


def counted(rows: int) -> str:
    """Spell out how many rows."""
    return "1 row" if rows == 1 else f"{rows} rows"


def visible(text: str) -> str:
    """Return text that can be seen: quoted where it is blank or holds what does not print."""
    return text if text.isprintable() and text == text.strip() != "" else repr(text)


def words(values: pl.Series) -> list[str]:
    """Spell out values of any type."""
    if values.dtype.is_float() or values.dtype.is_decimal():
        values = values.cast(pl.String)  # a Float32 0.1 is 0.10000000149 to Python
    return [visible(_text(value)) for value in values.to_list()]


def _text(value: object) -> str:
    if isinstance(value, dict):
        return _braced("{}", (f"{key}: {_text(part)}" for key, part in value.items()))
    if isinstance(value, list):
        return _braced("[]", map(_text, value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return "'null'" if value == "null" else str(value)


def _braced(braces: str, parts: Iterable[str]) -> str:
    return f"{braces[0]}{', '.join(parts)}{braces[1]}"
