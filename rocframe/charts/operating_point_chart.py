"""Tables of operating points → one Altair chart: a mark for each, on the plane of its kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.axes import Plane, positions, spanned
from rocframe.charts.curve_layers import CHANCE_SAID, COUNT_DEPENDENT, chance, framed, held, side_of
from rocframe.charts.dot_plot import JOINT
from rocframe.charts.groups import Group, assigned
from rocframe.charts.labels import field, keys_told, legible, not_drawn, plain, said, told
from rocframe.charts.style import COLORS, PAPER, color_scale
from rocframe.errors import MissingColumnError
from rocframe.frames import column
from rocframe.kinds import kind_of
from rocframe.options import parse_names
from rocframe.rates import CONFUSION
from rocframe.schemas import POINT_NAMES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.charts.chart import Asked
    from rocframe.kinds import Kind
    from rocframe.schemas import Table


SHAPES = (
    "circle",
    "diamond",
    "square",
    "triangle-up",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)

SIZE = 110  # square pixels

FEW, MOST = 3, 10  # points that a subtitle and a description list

PLACE = "place"  # the field that says which point was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Points:
    """Points on a plane: a record each, and their groups as text, by field.

    `places` are what was asked for; `missing` are the points that have no place on the plane.
    """

    plane: Plane
    records: list[dict[str, Any]]
    groups: dict[str, Group]
    color: str | None
    panel: str | None
    places: tuple[str, ...]
    titles: dict[str, str]
    named: list[str]

    @property
    def missing(self) -> list[str]:
        """What the points are called that are not drawn."""
        return [
            name
            for name, record in zip(self.named, self.records, strict=True)
            if record["x"] is None
        ]


def points_chart(
    table: pl.DataFrame, found: Table, asked: Asked
) -> alt.LayerChart | alt.FacetChart:
    """Draw the operating points of a table."""
    points = _pictured(table, found, asked)
    side = side_of(points.panel)
    layers = [_marks(points)]
    if points.plane.kind.name not in COUNT_DEPENDENT:
        layers.append(chance(points.plane))
    chart = alt.LayerChart(layer=layers, data=held(points.records), width=side, height=side)
    if points.plane.x.deviate:
        chart = chart.transform_calculate(u="quantileNormal(datum.x)", v="quantileNormal(datum.y)")
    return framed(
        chart,
        title=f"{points.plane.kind.title}: operating points",
        subtitle=not_drawn(points.missing, FEW),
        description=_described(points),
        panel=points.panel,
        groups=points.groups,
        captions={},
    )


def _pictured(table: pl.DataFrame, found: Table, asked: Asked) -> Points:
    """Read a table of operating points, and choose where each of them is drawn."""
    by = found.by if asked.by is None else parse_names(asked.by)
    for name in by:
        if name not in table.columns:
            raise MissingColumnError.of("by", name, table.columns)
    channels = assigned(
        by, table.columns, color=asked.color, facet=asked.facet, detail=asked.detail
    )
    kind = kind_of(table.columns, asked.kind)
    x, y = (_measured(table, kind, name) for name in (kind.x, kind.y))
    plane = spanned(kind, x, y, scale=asked.scale, top=np.where(np.isfinite(y), y, np.nan))
    # On some axes 0 and 1 are infinitely far.
    places = zip(x.tolist(), y.tolist(), strict=True)
    known = np.array([plane.shows(*place) for place in places], bool)
    right = [name for name in table.columns if name not in (*by, *POINT_NAMES)]
    # Metrics may have any name.
    titles = {f"c{i}": legible(name) for i, name in enumerate(right)}
    values = {
        place: plain(table.get_column(name)) for place, name in zip(titles, right, strict=True)
    }
    values |= {
        "x": plain(pl.Series(np.where(known, x, np.nan))),
        "y": plain(pl.Series(np.where(known, y, np.nan))),
        PLACE: [
            f"{at} {value:.4g}"
            for at, value in zip(
                *(table.get_column(name).to_list() for name in POINT_NAMES), strict=True
            )
        ],
    }
    fields = {name: field(place) for place, name in enumerate(by) if table.height}
    groups = {place: Group.of(table.get_column(name)) for name, place in fields.items()}
    values |= {name: group.texts for name, group in groups.items()}
    parts = [*(group.texts for group in groups.values()), values[PLACE]]
    return Points(
        plane=plane,
        records=[dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)],
        groups=groups,
        color=None if channels.color is None else fields.get(channels.color),
        panel=None if channels.facet is None else fields.get(channels.facet),
        places=tuple(dict.fromkeys(values[PLACE])),
        titles=titles,
        named=[JOINT.join(part) for part in zip(*parts, strict=True)],
    )


def _measured(table: pl.DataFrame, kind: Kind, name: str) -> NDArray[np.float64]:
    """Return a rate, or a count, of each row; NaN where there is none."""
    counts = table.select(map(column, CONFUSION))
    shown = counts.select(pl.col(name) if name in CONFUSION else kind.axis(name).expr())
    return shown.to_series().cast(pl.Float64).fill_null(np.nan).to_numpy(writable=True)


def _marks(points: Points) -> alt.Chart:
    """Return a mark for each point; points that are not there have none."""
    x, y = positions(points.plane)
    shown = [
        *keys_told(points.groups),
        told(PLACE, "at"),
        *(told(name, title) for name, title in points.titles.items()),
    ]
    color: Any = alt.value(COLORS[0])
    if points.color is not None:
        group = points.groups[points.color]
        legend = alt.Legend(title=group.title, labelLimit=0, symbolOpacity=1)
        color = alt.Color(
            f"{points.color}:N",
            scale=color_scale(group.values, ordered=group.ordered),
            legend=legend,
        )
    shape: Any = alt.value(SHAPES[0])
    if 1 < len(points.places) <= len(SHAPES):
        scale = alt.Scale(domain=list(points.places), range=list(SHAPES[: len(points.places)]))
        shape = alt.Shape(f"{PLACE}:N", scale=scale, legend=alt.Legend(title="at", labelLimit=0))
    layer: alt.Chart = (
        alt.Chart()
        .mark_point(filled=True, size=SIZE, opacity=1, stroke=PAPER, strokeWidth=1)
        .transform_filter("isValid(datum.x) && isValid(datum.y)")
        .encode(x=x, y=y, color=color, shape=shape, tooltip=shown)
    )
    return layer


def _described(points: Points) -> str:
    """Say what a chart shows, for those who cannot see it."""
    plane = points.plane
    drawn = [
        (name, record)
        for name, record in zip(points.named, points.records, strict=True)
        if record["x"] is not None
    ]
    count = "1 point" if len(drawn) == 1 else f"{len(drawn)} points"
    axes = f"{plane.y.title.lower()} against {plane.x.title.lower()}"
    text = f"{plane.called}, {count}: {axes}."
    text += "" if plane.kind.name in COUNT_DEPENDENT else f" {CHANCE_SAID[plane.kind.name]}"
    said_of = [
        f"{name}: {plane.x.name} {said(record['x'])}, {plane.y.name} {said(record['y'])}"
        for name, record in drawn[:MOST]
    ]
    more = f" And {len(drawn) - MOST} more." if len(drawn) > MOST else ""
    text += f" {'; '.join(said_of)}.{more}" if said_of else ""
    missing = not_drawn(points.missing, MOST)
    return f"{text} {missing[0].upper()}{missing[1:]}." if missing else text
