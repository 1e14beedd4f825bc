"""The chart of curves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.axes import plane_of, positions
from rocframe.charts.curve_data import POINTS, drawn_on, path_of, records_of
from rocframe.charts.curve_layers import (
    CHANCE_SAID,
    RATE,
    THRESHOLD_TOOLTIP,
    chance,
    colored,
    framed,
    held,
    lines,
    merged,
    only,
    points,
    side_of,
    told,
    unfolded,
)
from rocframe.charts.groups import (
    Group,
    areas_of,
    assigned,
    by_group,
    mean_area,
    summed_up,
    telling,
)
from rocframe.charts.labels import field
from rocframe.charts.overlays import (
    EMPTY,
    EQUAL_COST,
    HULL,
    MARK,
    TIE,
    TOUCHED,
    Scene,
    describe_overlays,
    named,
    parts_of,
)
from rocframe.charts.style import NOTE, PAPER, QUIET
from rocframe.curves.table import curve_layout, read_curves
from rocframe.frames import column
from rocframe.kinds import kind_of
from rocframe.schemas import CURVE_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.charts.axes import Plane
    from rocframe.charts.chart import Asked
    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind
    from rocframe.schemas import Table


MORE = ("box",)  # lists that only some charts have


def curve_chart(
    table: pl.DataFrame, _found: Table, asked: Asked
) -> alt.LayerChart | alt.FacetChart:
    """Draw the curves of a table."""
    return _charted(pictured(table, asked))


def _charted(picture: Picture) -> alt.LayerChart | alt.FacetChart:
    """Draw chance, lines and points on top of each other, in panels if there are any."""
    first = next(iter(picture.records), {})
    # The first layer is the one that .interactive() moves: it has to have both axes.
    layers = [lines(picture), chance(picture.plane), points(picture), *beside(picture)]
    chart = alt.LayerChart(
        layer=layers,
        data=held([*picture.records, *picture.parts]),
        width=side_of(picture.panel),
        height=side_of(picture.panel),
    )
    return framed(
        unfolded(chart, picture.plane, more=[name for name in MORE if name in first]),
        title=picture.plane.kind.title,
        # The area stands below the title where no legend has it.
        subtitle=picture.area if picture.told is None else "",
        description=described(picture),
        panel=picture.panel,
        groups=picture.groups,
        captions=picture.header,
    )


def described(picture: Picture) -> str:
    """Say what a chart shows, for those who cannot see it."""
    plane, told = picture.plane, picture.told
    count = "1 curve" if len(picture.records) == 1 else f"{len(picture.records)} curves"
    axes = f"{plane.y.title.lower()} against {plane.x.title.lower()}"
    text = f"{plane.called}, {count}: {axes}. {CHANCE_SAID[plane.kind.name]}"
    if told is None:
        return f"{text} {picture.area}.{picture.said}" if picture.area else text + picture.said
    return f"{text} {by_group(told, picture.captions)}{picture.said}"


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
    names = curve_layout(table.schema, asked.by, ()).by
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
    said = describe_overlays(curves, told, asked)
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
    narrow = table.select(column(name) for name in (*by, *CURVE_COLUMNS))
    columns = curve_layout(narrow.schema, by, ())
    return read_curves(narrow.select(columns.inputs), columns)


SHAPES = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")


def beside(picture: Picture) -> list[alt.Chart]:
    """Return the layers of the parts there are, those that cover the most first."""
    drawn = {TIE: _ties, HULL: _hulls, EQUAL_COST: _lines, TOUCHED: _touched, MARK: _marks}
    there = {part["part"] for part in picture.parts}
    layers = [draw(picture) for part, draw in drawn.items() if part in there]
    return [*layers, *([_note(picture)] if EMPTY in there else [])]


def _ties(picture: Picture) -> alt.Chart:
    x, y = positions(picture.plane)
    layer: alt.Chart = (
        only(TIE)
        .mark_line(filled=True, interpolate="linear-closed", fillOpacity=0.2, strokeWidth=0)
        .encode(x=x, y=y, order="step:Q", detail=["curve:N", "box:N"], color=colored(picture))
    )
    return layer


def _hulls(picture: Picture) -> alt.Chart:
    return _thin(picture, HULL, strokeDash=[3, 2])


def _lines(picture: Picture) -> alt.Chart:
    return _thin(picture, EQUAL_COST, opacity=0.7)


def _thin(picture: Picture, part: str, **stroke: Any) -> alt.Chart:
    x, y = positions(picture.plane)
    layer: alt.Chart = (
        only(part)
        .mark_line(strokeWidth=1, **stroke)
        .encode(x=x, y=y, order="step:Q", detail="curve:N", color=colored(picture))
    )
    return layer


def _touched(picture: Picture) -> alt.Chart:
    cost = alt.Tooltip("cost:Q", title="expected cost", format=RATE)
    ring: dict[str, Any] = {
        "filled": False,
        "fill": PAPER,
        "stroke": alt.Undefined,
        "strokeWidth": 2,
    }
    return _dots(picture, TOUCHED, [*told(picture), cost], size=50, **ring)


def _marks(picture: Picture) -> alt.Chart:
    names = list(dict.fromkeys(part[MARK] for part in picture.parts if part["part"] == MARK))
    if names == [None]:
        return _dots(picture, MARK, told(picture), size=90)
    shapes = alt.Scale(domain=picture.marks, range=list(SHAPES[: len(picture.marks)]))
    legend = alt.Legend(title=None, labelLimit=0, symbolSize=90, symbolFillColor=QUIET)
    layer: alt.Chart = _dots(
        picture, MARK, [alt.Tooltip("mark:N"), *told(picture)], size=90
    ).encode(shape=alt.Shape("mark:N", scale=shapes, legend=legend))
    return layer


def _dots(
    picture: Picture, part: str, tooltip: list[alt.Tooltip], *, size: int, **style: Any
) -> alt.Chart:
    x, y = positions(picture.plane)
    look: dict[str, Any] = {"filled": True, "stroke": PAPER, "strokeWidth": 1.5, **style}
    layer: alt.Chart = (
        only(part)
        .mark_point(size=size, opacity=1, **look)
        .transform_calculate(
            fn="datum.pos - datum.tp", tn="datum.neg - datum.fp", at=THRESHOLD_TOOLTIP
        )
        .encode(x=x, y=y, color=colored(picture), tooltip=tooltip)
    )
    return layer


def _note(picture: Picture) -> alt.Chart:
    """Say in the middle of a panel why it is empty."""
    side = side_of(picture.panel)
    across, down = alt.value(side / 2), alt.value(side * 0.85)  # off the diagonals
    layer: alt.Chart = only(EMPTY).mark_text(**NOTE).encode(x=across, y=down, text="note:N")
    return layer
