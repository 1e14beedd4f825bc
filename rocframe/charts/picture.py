"""Curve tables → all that a chart shows: which points, and what they are called."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rocframe.charts.channels import assigned
from rocframe.charts.groups import Group, areas_of, summed_up
from rocframe.charts.lines import drawn_on
from rocframe.charts.names import field
from rocframe.charts.path import path_of
from rocframe.charts.plane import plane_of
from rocframe.charts.records import records_of
from rocframe.curves.kinds import kind_of
from rocframe.curves.table import layout, opened
from rocframe.frames import column
from rocframe.vocabulary import WALK

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import EllipsisType

    import polars as pl

    from rocframe.charts.plane import Plane
    from rocframe.curves.kinds import KindName
    from rocframe.curves.table import Curves
    from rocframe.predictions import By


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """Curves on a plane: a record each, and their groups as text, by field.

    `color` and `panel` are fields of groups. `captions` are for the values of the color, or of
    the panels where there is but one color; `area` sums up all curves.
    """

    plane: Plane
    records: list[dict[str, Any]]
    groups: dict[str, Group]
    color: str | None
    panel: str | None
    captions: dict[str, str]
    area: str

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


def pictured(
    table: pl.DataFrame,
    *,
    by: By,
    kind: KindName | None,
    color: str | EllipsisType | None,
    facet: str | None,
    detail: str | Sequence[str],
) -> Picture:
    """Read a curve table, and choose what of it is drawn, and where."""
    names = layout(table.schema, by, ()).by
    shape = kind_of(table.columns, kind)
    channels = assigned(names, table.columns, color=color, facet=facet, detail=detail)
    curves = read(table, names)
    areas = areas_of(curves, shape)
    path = path_of(curves, shape, areas)
    plane = plane_of(shape, path)
    records = records_of(drawn_on(plane, path), curves, shape)

    # An empty table has neither colors nor panels.
    fields = {name: field(place) for place, name in enumerate(names) if records}
    groups = {field: Group.of(curves.keys.get_column(name)) for name, field in fields.items()}
    for name, group in groups.items():
        for record, text in zip(records, group.texts, strict=True):
            record[name] = text
    picture = Picture(
        plane=plane,
        records=records,
        groups=groups,
        color=None if channels.color is None else fields.get(channels.color),
        panel=None if channels.facet is None else fields.get(channels.facet),
        captions={},
        area=summed_up(areas, shape),
    )
    if picture.told is None:
        return picture
    return replace(picture, captions=picture.told.captions(areas, shape))


def read(table: pl.DataFrame, by: Sequence[str]) -> Curves:
    """Read the columns that make a curve, and no other."""
    narrow = table.select(column(name) for name in (*by, *WALK))
    columns = layout(narrow.schema, by, ())
    return opened(narrow.select(columns.inputs), columns)
