"""Curve tables → all that a chart shows: which points, and what they are called."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any

from rocframe.charts.added import described, parts_of
from rocframe.charts.chance import merged
from rocframe.charts.channels import assigned
from rocframe.charts.groups import Group, areas_of, mean_area, summed_up, telling
from rocframe.charts.lines import drawn_on
from rocframe.charts.marks import named
from rocframe.charts.names import field
from rocframe.charts.parts import EMPTY, Scene
from rocframe.charts.path import path_of
from rocframe.charts.plane import plane_of
from rocframe.charts.records import POINTS, records_of
from rocframe.charts.tied import TIE
from rocframe.curves.kinds import kind_of
from rocframe.curves.table import layout, opened
from rocframe.frames import column
from rocframe.vocabulary import WALK

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.charts.asked import Asked
    from rocframe.charts.plane import Plane
    from rocframe.curves.kinds import Kind
    from rocframe.curves.table import Curves

OUTSIDE = "outside these axes"
MANY = 20  # curves of one panel whose lines are thin


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Curves on a plane: a record each, and their groups as text, by field.

    `color` and `panel` are fields of groups. `captions` are for the values of the colors or of the
    panels; `area` sums up all curves. `parts` are records of
    what is drawn beside curves, `marks` the names of marked points, and `said` describes it.
    """

    plane: Plane
    records: list[dict[str, Any]]
    groups: dict[str, Group]
    color: str | None
    panel: str | None
    captions: dict[str, str]
    area: str
    parts: list[dict[str, Any]]
    marks: list[str]
    said: str

    @property
    def told(self) -> Group | None:
        """The group whose values have captions."""
        name = telling(self.color, self.panel, self.groups)
        return None if name is None else self.groups[name]

    @property
    def legend(self) -> dict[str, str]:
        """The captions of the colors, if they have them."""
        return self.captions if telling(self.color, self.panel, self.groups) == self.color else {}

    @property
    def header(self) -> dict[str, str]:
        """The captions of the panels, if they have them."""
        return {} if self.legend else self.captions

    @property
    def crowded(self) -> bool:
        """Whether several curves of one panel share a color, or are too many for wide lines."""
        return self._most(self.color, self.panel) > 1 or self._most(self.panel) > MANY

    def _most(self, *channels: str | None) -> int:
        """Return the most curves that have the same values of some groups."""
        told = [name for name in channels if name is not None]
        seen = Counter(tuple(record[name] for name in told) for record in self.records)
        return max(seen.values(), default=0)


def pictured(table: pl.DataFrame, asked: Asked) -> Picture:
    """Read a curve table, and choose what of it is drawn, and where."""
    names = layout(table.schema, asked.by, ()).by
    shape = kind_of(table.columns, asked.kind)
    channels = assigned(
        names, table.columns, color=asked.color, facet=asked.facet, detail=asked.detail
    )
    curves = read(table, names)
    areas = areas_of(curves, shape)
    path = path_of(curves, shape, areas)
    plane = plane_of(shape, path, asked.scale)
    records = records_of(drawn_on(plane, path), curves, shape)
    _level(records, plane)

    scene = Scene(plane=plane, curves=curves, path=path)
    parts = parts_of(scene, asked)

    # An empty table has neither colors nor panels.
    fields = {name: field(place) for place, name in enumerate(names) if records}
    groups = {field: Group.of(curves.keys.get_column(name)) for name, field in fields.items()}
    for name, group in groups.items():
        for record in (*records, *parts):
            record[name] = group.texts[record["curve"]]
    panel = None if channels.facet is None else fields.get(channels.facet)
    parts += _empty(records, panel, areas, shape)
    if any(part["part"] == TIE for part in parts):
        for record in (*records, *parts):
            record.setdefault("box", [])
    picture = Picture(
        plane=plane,
        records=records,
        groups=groups,
        color=None if channels.color is None else fields.get(channels.color),
        panel=panel,
        captions={},
        area=mean_area(areas, shape, groups),
        parts=parts,
        marks=[name for name in named(asked.mark) if name is not None],
        said="",
    )
    told = picture.told
    said = described(curves, told, asked)
    if panel is None and any(part["part"] == EMPTY for part in parts):
        said += f" Nothing is drawn: {OUTSIDE}."
    captions = {} if told is None else told.captions(areas, shape)
    return replace(picture, captions=captions, said=said)


def _empty(
    records: Sequence[dict[str, Any]],
    panel: str | None,
    areas: Sequence[float] | None,
    kind: Kind,
) -> list[dict[str, Any]]:
    """Return a note for each panel in which no curve is drawn.

    Without panels what is undefined is named elsewhere.
    """
    lost: dict[Any, list[dict[str, Any]]] = {}
    for record in records:
        lost.setdefault(panel and record[panel], []).append(record)
    notes = []
    for some in lost.values():
        if any(record["x"] for record in some):
            continue
        known = None if areas is None else [areas[record["curve"]] for record in some]
        note = _why(known, kind)
        if panel is not None or note == OUTSIDE:
            nothing: dict[str, Any] = {name: [None] for name in POINTS}
            notes.append(some[0] | nothing | {"part": EMPTY, "note": note})
    return notes


def _why(areas: Sequence[float] | None, kind: Kind) -> str:
    """Say why none of some curves is drawn."""
    if areas is None:
        return "nothing to draw"
    return summed_up(areas, kind) if all(map(isnan, areas)) else OUTSIDE


def _level(records: list[dict[str, Any]], plane: Plane) -> None:
    """Say for each curve where its line of chance ends, which near ones share."""
    total = {"precision_recall": "prevalence", "lift_chart": "pos"}.get(plane.kind.name)
    if total is None:
        return
    ends = [record[total] if record["x"] else None for record in records]
    for record, level in zip(records, merged(ends, plane.y.high), strict=True):
        record["level"] = level


def read(table: pl.DataFrame, by: Sequence[str]) -> Curves:
    """Read the columns that make a curve, and no other."""
    narrow = table.select(column(name) for name in (*by, *WALK))
    columns = layout(narrow.schema, by, ())
    return opened(narrow.select(columns.inputs), columns)
