"""Numbers and columns of a table → words that people read, on a page or a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl


def number(value: float | None) -> str | None:
    """Spell out an area."""
    return None if value is None else f"{value:.4f}".replace("-", "−")


def interval(lower: float | None, upper: float | None) -> str | None:
    """Spell out an interval, or that there is none."""
    if lower is None or upper is None:
        return None
    return f"{number(lower)} to {number(upper)}"


def probability(value: float | None) -> str | None:
    """Spell out a p-value."""
    return None if value is None else "< 0.0001" if value < 0.0001 else f"{value:.4f}"


def counted(number: int, one: str, many: str | None = None) -> str:
    """Count things: `1 file`, `2 files`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def joined(names: Sequence[str]) -> str:
    """Join names as a sentence does: `a`, `a and b`, `a, b and c`."""
    *front, last = names
    return f"{', '.join(front)} and {last}" if front else last


def keys_of(areas: pl.DataFrame, first: str = "auc") -> list[str]:
    """Return the group columns of a table of areas, which are left of its `first` column."""
    return areas.columns[: areas.columns.index(first)]


def level_of(areas: pl.DataFrame) -> str | None:
    """Name the intervals of a table of areas, if it has any."""
    level = areas.get_column("ci_level").drop_nulls()
    return f"{100 * level[0]:g} % interval" if len(level) else None
