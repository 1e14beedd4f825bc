"""Names and numbers as text in charts."""

from __future__ import annotations

from collections import Counter
from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.text import visible, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rocframe.charts.groups import Group


LONGEST = 48


def field(place: int) -> str:
    """Return the field that the group column at this place has."""
    return f"f{place}"


def legible(name: str) -> str:
    """Return a name as text that can be seen and is not too long."""
    return _short(visible(name))


def spelled(values: pl.Series) -> list[str]:
    """Spell out distinct values of any type, each differently."""
    return told_apart(list(map(_short, words(values))))


def not_drawn(names: Sequence[str], most: int) -> str:
    """Say what has no place in a chart; nothing where all has."""
    if not names:
        return ""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"not drawn: {', '.join(names[:most])}{more}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 16]}…{text[-15:]}"


def told_apart(texts: Sequence[str]) -> list[str]:
    """Add numbers to texts that are the same, such as times that differ by nanoseconds."""
    often, met = Counter(texts), Counter[str]()
    told = []
    for text in texts:
        met[text] += 1
        told.append(text if often[text] == 1 else f"{text} ({met[text]})")
    return told


LEAST_P = 0.001


def plain(values: pl.Series) -> list[Any]:
    """Return values as JSON has them: rounded, and what is no finite number as text or null."""
    if not values.dtype.is_numeric():
        return [None if value is None else str(value) for value in values.to_list()]
    if values.dtype.is_integer():
        return values.to_list()
    return [_rounded(value) for value in values.cast(pl.Float64).to_list()]


def _rounded(value: float | None) -> float | str | None:
    if value is None or isnan(value):
        return None
    return float(f"{value:.7g}") if isfinite(value) else str(value)


def finite(values: Iterable[Any]) -> list[float]:
    """Return what can be placed on an axis."""
    return [value for value in values if isinstance(value, int | float)]


def said(value: Any) -> str:
    """Say a number in as many digits as one reads."""
    if not isinstance(value, int | float):
        return "undefined" if value is None else str(value)
    text = f"{value:.3f}" if abs(value) < 10 else f"{value:,.4g}"
    return "0.000" if text == "-0.000" else text


def said_p(value: float | None) -> str:
    """Say a p-value."""
    if value is None:
        return ""
    return f"< {LEAST_P}" if value < LEAST_P else f"{value:.3f}"


def why(note: str | None) -> str:
    """Say a note in words; it says why something is undefined."""
    return note.partition("; ")[0].replace("_", " ") if note else "undefined"


def domain_of(values: Iterable[Any], empty: Sequence[float] = (0.0, 1.0)) -> list[float]:
    """Return from where to where values lie, with some room about a single one."""
    known = finite(values)
    if not known:
        return list(empty)
    low, high = min(known), max(known)
    if low == high == 0:
        return list(empty)
    room = 0.05 * (abs(low) or 1) if low == high else 0
    return [float(f"{low - room:.4g}"), float(f"{high + room:.4g}")]


def keys_told(groups: Mapping[str, Group]) -> list[alt.Tooltip]:
    """Return a line for each group column."""
    return [told(name, group.title) for name, group in groups.items()]


def columns_told(names: Iterable[str]) -> list[alt.Tooltip]:
    """Return a line for each of our own columns, whose fields have their names."""
    return [told(name, name) for name in names]


def told(name: str, title: str) -> alt.Tooltip:
    """Return the line of one field."""
    # Vega-Lite puts the title into an expression, where a backslash has a meaning.
    return alt.Tooltip(f"{name}:N", title=title.replace("\\", "\\\\"))
