"""Curve tables → all that a chart shows: which points, and what they are called."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rocframe.charts.added import described, parts_of
from rocframe.charts.chance import merged
from rocframe.charts.channels import assigned
from rocframe.charts.groups import Group, areas_of, summed_up
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Curves on a plane: a record each, and their groups as text, by field.

    `color` and `panel` are fields of groups. `captions` are for the values of the color, or of
    the panels where there is but one color; `area` sums up all curves. `parts` are records of
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
        name = self.panel if self.color is None else self.color
        return None if name is None else self.groups[name]

    @property
    def crowded(self) -> bool:
        """Whether several curves of one panel share a color."""
        channels = [name for name in (self.color, self.panel) if name is not None]
        seen = Counter(tuple(record[name] for name in channels) for record in self.records)
        return max(seen.values(), default=0) > 1


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
    parts += [] if panel is None else _empty(records, panel, areas, shape)
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
        area=summed_up(areas, shape),
        parts=parts,
        marks=[name for name in named(asked.mark) if name is not None],
        said="",
    )
    told = picture.told
    said = described(curves, told, asked)
    captions = {} if told is None else told.captions(areas, shape)
    return replace(picture, captions=captions, said=said)


def _empty(
    records: Sequence[dict[str, Any]], panel: str, areas: Sequence[float] | None, kind: Kind
) -> list[dict[str, Any]]:
    """Return a note for each panel in which no curve is drawn."""
    there = {record[panel] for record in records if record["x"]}
    empty: dict[str, list[int]] = {}
    for record in records:
        if record[panel] not in there:
            empty.setdefault(record[panel], []).append(record["curve"])
    nothing: dict[str, Any] = {name: [None] for name in POINTS}
    return [
        nothing
        | {
            "part": EMPTY,
            panel: value,
            "note": summed_up(None if areas is None else [areas[i] for i in lost], kind)
            or "nothing to draw",
        }
        for value, lost in empty.items()
    ]


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
