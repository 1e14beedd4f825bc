"""Tables with one row per group → which line, color and panel each row has in a chart."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from rocframe.charts.channels import assigned
from rocframe.charts.groups import Group
from rocframe.charts.names import field, told_apart
from rocframe.charts.palette import TOLD_APART
from rocframe.vocabulary import MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import EllipsisType
    from typing import Any

    import polars as pl

JOINT = " · "  # between the parts of a name
ROW, PANEL = "row", "panel"
ONLY = "all rows"  # the name of the row of a table that has no groups


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What the rows of a table are called, and which line, color and panel they have.

    `groups` are what tells rows apart, by field. `line` has the lines from top to bottom; a color
    that `dodges` has a place of its own within each of them.
    """

    groups: dict[str, Group]
    line: Group
    color: str | None
    dodges: bool
    panel: str | None
    panels: Group | None

    @property
    def abreast(self) -> int:
        """How many places each line has."""
        return len(self.groups[self.color].values) if self.dodges and self.color else 1

    @property
    def named(self) -> list[str]:
        """What each row of the table is called, in full."""
        parts = [group.texts for group in self.groups.values()]
        return [JOINT.join(part) for part in zip(*parts, strict=True)] if parts else self.line.texts

    @property
    def framing(self) -> dict[str, Group]:
        """The groups, and the panels too where they are of several."""
        own = {} if self.panels is None else {PANEL: self.panels}
        return {**self.groups, **own}

    def records(self) -> list[dict[str, Any]]:
        """Return a record per row of the table, with its names."""
        told = {name: group.texts for name, group in self.framing.items()}
        told[ROW] = self.line.texts
        return [dict(zip(told, values, strict=True)) for values in zip(*told.values(), strict=True)]


def rows_of(
    table: pl.DataFrame,
    by: Sequence[str],
    *,
    color: str | EllipsisType | None,
    facet: str | None,
    parts: Mapping[str, Sequence[str]] | None = None,
    apart: bool = False,
) -> Rows:
    """Choose the line, the color and the panel of each row of a table.

    `parts` are names that tell rows apart beside the group columns; with `apart` they have panels
    of their own instead of lines. Lines stand in the order of the table; where it is sorted by
    its groups, as it is made, so are the lines of all colors together.
    """
    asked = None if color is ... else color
    channels = assigned(by, table.columns, color=asked, facet=facet, detail=())
    fields = {name: field(place) for place, name in enumerate(by) if table.height}
    groups = {place: Group.of(table.get_column(name)) for name, place in fields.items()}
    beside = None if channels.facet is None else fields.get(channels.facet)
    extra = [field(len(by) + place) for place in range(len(parts or {}))] if table.height else []
    for name, (title, texts) in zip(extra, (parts or {}).items(), strict=False):
        groups[name] = _as_met(texts, title)

    framing = [*([beside] if beside else []), *(extra if apart else [])]
    left = [name for name in groups if name not in framing]
    shown = None if channels.color is None else fields.get(channels.color)
    if color is ...:
        shown = _best_color(left, groups, fields)
    lines = [name for name in left if name != shown]
    order = _sorted([group.places for group in groups.values()])
    return Rows(
        groups=groups,
        line=_joined([groups[name] for name in lines or left], table.height, ordered=order),
        color=shown,
        dodges=shown is not None and shown in left and bool(lines),
        panel=None if not framing else framing[0] if len(framing) == 1 else PANEL,
        panels=_joined([groups[name] for name in framing], table.height, ordered=True)
        if len(framing) > 1
        else None,
    )


def own_columns(table: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """Return the columns that are ours: not the groups, nor what others put behind the note."""
    right = table.columns[len(by) :]
    return right[: right.index("note") + 1] if "note" in right else right


def _best_color(
    left: Sequence[str], groups: Mapping[str, Group], fields: Mapping[str, str]
) -> str | None:
    """Return the group that colors tell apart; none where names on lines do it better."""
    keys = [name for name in left if name in fields.values()]
    chosen = fields[MODEL] if fields.get(MODEL) in keys else next(iter(keys), None)
    few = chosen is not None and 1 < len(groups[chosen].values) <= TOLD_APART
    return chosen if few and len(left) > 1 else None


def _as_met(texts: Sequence[str], title: str) -> Group:
    """Read texts whose values stay in the order in which they are met."""
    place = {text: i for i, text in enumerate(dict.fromkeys(texts))}
    return Group(
        title=title,
        values=tuple(place),
        places=tuple(place[text] for text in texts),
        ordered=False,
    )


def _sorted(places: Sequence[Sequence[int]]) -> bool:
    """Say whether the rows of a table are sorted by their groups."""
    return all(before <= after for before, after in pairwise(zip(*places, strict=True)))


def _joined(groups: Sequence[Group], height: int, *, ordered: bool) -> Group:
    """Join some groups into one, which has a value for each combination that is met."""
    if not groups:
        return Group(
            title="", values=(ONLY,) if height else (), places=(0,) * height, ordered=False
        )
    combined = list(zip(*(group.places for group in groups), strict=True))
    met = sorted(set(combined)) if ordered else list(dict.fromkeys(combined))
    texts = [
        JOINT.join(group.values[place] for group, place in zip(groups, places, strict=True))
        for places in met
    ]
    place = {places: i for i, places in enumerate(met)}
    return Group(
        title=JOINT.join(group.title for group in groups),
        values=tuple(told_apart(texts)),
        places=tuple(place[places] for places in combined),
        ordered=False,
    )
