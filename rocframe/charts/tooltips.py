"""Groups and columns → the lines of a tooltip."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rocframe.charts.groups import Group


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
