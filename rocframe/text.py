"""Format values, names and numbers as text for messages and tables."""

from __future__ import annotations

import re
from datetime import date, time, timedelta
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


MAX_VALUE_CHARACTERS = 100  # longer values are truncated in messages

# Matches the character U+200D between two pictographs, which joins them into one emoji. Python's
# `isprintable` is false for U+200D.
_SYMBOL = "[\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]"
EMOJI_JOINER = re.compile(f"(?<={_SYMBOL})\u200d(?={_SYMBOL})")
EMOJI_SEQUENCES = re.compile(f"{_SYMBOL}(?:\u200d{_SYMBOL})+|.", re.DOTALL)


def format_list(names: Iterable[object], *, most: int = 10) -> str:
    """Return at most `most` values as text, and the number of the remaining values."""
    return join_first([repr(name) for name in names], most)


def join_first(items: Sequence[str], most: int = 10, separator: str = ", ") -> str:
    """Join at most `most` items, and add the number of the remaining items: "a, b and 5 more"."""
    rest = f" and {len(items) - most} more" if len(items) > most else ""
    return separator.join(items[:most]) + rest


def format_value(value: object) -> str:
    """Return a value or an expression as one line of at most `MAX_VALUE_CHARACTERS`.

    A table is shown by its columns.
    """
    if isinstance(value, pl.DataFrame):
        return f"<table with the columns {format_list(value.columns)}>"
    try:
        plain = str(value) if isinstance(value, pl.Expr) else repr(value)
    except (MemoryError, RecursionError, ValueError):  # too long, too deep, or too many digits
        plain = f"<{type(value).__name__}>"
    line = " ".join(plain.split()) if "\n" in plain else plain
    return line if len(line) <= MAX_VALUE_CHARACTERS else f"{line[:MAX_VALUE_CHARACTERS]}…"


def format_type(value: object) -> str:
    """Return the name of the type of a value, with the package if several packages have it."""
    name = type(value).__name__
    ambiguous = name in {"DataFrame", "LazyFrame", "Table"}
    return f"{type(value).__module__.split('.')[0]} {name}" if ambiguous else name


def format_name(text: str) -> str:
    """Return a name, in quotes if it is blank, begins or ends with a space, or is unprintable."""
    printable = EMOJI_JOINER.sub("", text).isprintable()
    return text if printable and text == text.strip() != "" else repr(text)


def escape_unprintable(text: str) -> str:
    """Return a text with escape sequences for unprintable characters, except line breaks."""
    return "".join(
        part
        if part == "\n" or EMOJI_JOINER.sub("", part).isprintable()
        else part.encode("unicode_escape", "surrogatepass").decode()
        for part in EMOJI_SEQUENCES.findall(text)
    )


def format_values(values: pl.Series) -> list[str]:
    """Return values of any dtype as text."""
    if values.dtype.is_float() or values.dtype.is_decimal():
        values = values.cast(pl.String)  # 0.1 in Float32 is 0.10000000149 as a Python float
    return [format_name(_format_cell(value)) for value in values.to_list()]


def _format_cell(value: object) -> str:
    if isinstance(value, dict):
        return _enclose("{}", (f"{key}: {_format_cell(part)}" for key, part in value.items()))
    if isinstance(value, list):
        return _enclose("[]", map(_format_cell, value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return "'null'" if value == "null" else str(value)


def _enclose(braces: str, parts: Iterable[str]) -> str:
    return f"{braces[0]}{', '.join(parts)}{braces[1]}"


def format_key(names: Iterable[str], values: Iterable[object]) -> str:
    """Return the key of a group, such as "model='a', fold=1"; surplus values are left out."""
    return ", ".join(
        f"{name}={value if isinstance(value, date | time | timedelta) else repr(value)}"
        for name, value in zip(names, values, strict=False)
    )


def format_number(value: float | None, decimals: int = 4) -> str | None:
    """Return a number with this number of decimals; None for None."""
    return None if value is None else f"{value:z.{decimals}f}".replace("-", "−")


def format_percent(share: float) -> str:
    """Return a share as a percentage with at most 4 significant digits, such as "95 %"."""
    return f"{100 * share:.4g} %"


def format_threshold(value: float | None) -> str | None:
    """Return a threshold with at most 6 significant digits; None for None."""
    return None if value is None else f"{value:z.6g}".replace("-", "−").replace("inf", "∞")


def format_interval(
    lower: float | None, upper: float | None, decimals: int = 4, *, brackets: bool = False
) -> str | None:
    """Return an interval such as "0.7300 to 0.9100"; None if a limit is None.

    With `brackets`, the text is "[0.7300, 0.9100]", for intervals next to another number.
    """
    low, high = (format_number(limit, decimals) for limit in (lower, upper))
    if low is None or high is None:
        return None
    return f"[{low}, {high}]" if brackets else f"{low} to {high}"


def format_p_value(value: float | None, decimals: int = 4) -> str | None:
    """Return a p-value with this number of decimals, or for example "< 0.0001"; None for None."""
    if value is None:
        return None
    least = 10**-decimals
    return f"< {least:.{decimals}f}" if value < least else f"{value:.{decimals}f}"


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun in the singular or plural: "1 file", "2,000 files"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def join_names(names: Sequence[str], conjunction: str = "and") -> str:
    """Join names as in a sentence: "a", "a and b", "a, b and c"."""
    *front, last = names
    return f"{', '.join(front)} {conjunction} {last}" if front else last
