"""Names and group values → text that can be seen in a chart.

Vega-Lite reads `a.b`, `a[0]` and `a:Q` as paths and types: in a chart, group columns are fields
`f0`, `f1`, …, and their names are titles.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LONGEST = 48


def field(place: int) -> str:
    """Return the field that the group column at this place has."""
    return f"f{place}"


def legible(name: str) -> str:
    """Return a name as text that can be seen: quoted where it is blank or does not print."""
    seen = name if name.isprintable() and name == name.strip() != "" else repr(name)
    return seen if len(seen) <= LONGEST else f"{seen[: LONGEST - 16]}…{seen[-15:]}"


def spelled(values: pl.Series) -> list[str]:
    """Spell out distinct values of any type, each differently."""
    if values.dtype.is_float() or values.dtype.is_decimal():
        values = values.cast(pl.String)  # a Float32 0.1 is 0.10000000149 to Python
    return _told_apart([legible(_text(value)) for value in values.to_list()])


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


def _told_apart(texts: Sequence[str]) -> list[str]:
    """Add numbers to texts that are the same, such as times that differ by nanoseconds."""
    often, met = Counter(texts), Counter[str]()
    told = []
    for text in texts:
        met[text] += 1
        told.append(text if often[text] == 1 else f"{text} ({met[text]})")
    return told
