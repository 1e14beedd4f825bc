"""Values → how the text of an error shows them."""

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
