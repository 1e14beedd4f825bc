"""Names and group values → text that can be seen in a chart.

Vega-Lite reads `a.b`, `a[0]` and `a:Q` as paths and types: in a chart, group columns are fields
`f0`, `f1`, …, and their names are titles.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rocframe.spelling import visible, words

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

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
