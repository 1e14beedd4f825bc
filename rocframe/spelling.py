"""Names and values of any type → text that people can see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable


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
