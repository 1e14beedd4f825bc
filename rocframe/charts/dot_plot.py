"""Dots with intervals, one line per row of a table."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.curve_layers import framed, held, side_of
from rocframe.charts.groups import Group, assigned
from rocframe.charts.labels import columns_told, domain_of, field, finite, keys_told, told_apart
from rocframe.charts.style import CHANCE, COLORS, GRID, QUIET, TOLD_APART, color_scale
from rocframe.options import NOT_GIVEN, NotGiven
from rocframe.schemas import MODEL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl


# Pixels: of a line with one place and of a place beside others, and how far they may shrink.
LINE, PLACE, LEAST, GAP = 22, 12, 4, 10

TALLEST = 1000  # the height from which places shrink

HOLLOW = 1.8  # times as large as a dot

FONT = 10

COLUMN = 70  # for numbers to the right of the dots

SHAPES = ("circle", "diamond", "square", "triangle-up")

ESTIMATE, LOW, HIGH, WHY, TOLD = "estimate", "low", "high", "why", "told"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dots:
    """Dots in lines: a record per row of a table, and which of its fields are drawn how.

    `marks` are fields with a mark each, the first one filled; `inner` are the fields of a faint
    bar behind the interval; `column` is the title of the text to the right. `references` are where
    dashed lines stand, and `reference` is a field that has one more for each of its values.
    """

    rows: Rows
    records: list[dict[str, Any]]
    axis: str
    marks: tuple[str, ...] = (ESTIMATE,)
    inner: tuple[str, str] | None = None
    references: tuple[float, ...] = ()
    reference: str | None = None
    column: str | None = None
    tooltip: tuple[str, ...] = ()
    free: bool = False

    @property
    def place(self) -> float:
        """How high one place is."""
        rows = self.rows
        places = max(1, len(rows.line.values) * rows.abreast)
        return max(LEAST, min(PLACE if rows.dodges else LINE, TALLEST / places))

    @property
    def height(self) -> float:
        """How high a panel is."""
        rows, place = self.rows, self.place
        return round(max(1, len(rows.line.values)) * (place * rows.abreast + self.gap), 1)

    @property
    def gap(self) -> float:
        """How far lines of several places are apart."""
        return min(GAP, self.place) if self.rows.dodges else 0

    @property
    def size(self) -> float:
        """How large a dot is, in square pixels."""
        return round(min(60.0, 0.4 * self.place**2), 1)


def drawn(
    dots: Dots, *, title: str, subtitle: str, description: str
) -> alt.LayerChart | alt.FacetChart:
    """Draw the layers on top of each other, in panels if there are any."""
    bars, marks = _bars(dots), [_mark(dots, name) for name in reversed(dots.marks)]
    # The first layer is the one that .interactive() moves: it has to have both axes.
    layers = [*bars, *_references(dots), *marks] if bars else [*marks, *_references(dots)]
    layers += [undefined(dots), *_column(dots)]
    return framed_dots(dots, layers, title=title, subtitle=subtitle, description=description)


def framed_dots(
    dots: Dots, layers: Sequence[alt.Chart], *, title: str, subtitle: str, description: str
) -> alt.LayerChart | alt.FacetChart:
    """Put layers over each other on the lines of some dots, in panels if there are any."""
    chart = alt.LayerChart(
        layer=list(layers),
        data=held(dots.records),
        width=side_of(dots.rows.panel),
        height=dots.height,
    )
    whole = framed(
        chart,
        title=title,
        subtitle=subtitle,
        description=description,
        panel=dots.rows.panel,
        groups=dots.rows.framing,
        captions={},
    )
    # Only panels have axes of their own.
    return whole.resolve_scale(x="independent") if dots.free else whole


def line_of(dots: Dots) -> dict[str, Any]:
    """Return the channels that place a mark from top to bottom."""
    rows = dots.rows
    step = dots.place * rows.abreast + dots.gap
    scale = alt.Scale(
        domain=list(rows.line.values),
        type="band",
        paddingInner=round(dots.gap / step, 4),
        paddingOuter=round(dots.gap / step / 2, 4),
    )
    axis = alt.Axis(
        labelLimit=0,
        labelOverlap=True,
        labelFontSize=max(8, min(FONT, dots.height / max(1, len(rows.line.values)))),
        grid=True,
        gridColor=GRID,
        ticks=False,
        domain=False,
        tickBand="extent" if rows.dodges else "center",
        titleAngle=0,
        titleAlign="right",
        titleX=-4,
        titleY=-10,
    )
    y = alt.Y(f"{ROW}:N", title=rows.line.title or None, scale=scale, axis=axis)
    if not rows.dodges:
        return {"y": y}
    group = rows.groups[str(rows.color)]
    offset = alt.YOffset(f"{rows.color}:N", scale=alt.Scale(domain=list(group.values)))
    return {"y": y, "yOffset": offset}


def place_on(dots: Dots, name: str) -> alt.X:
    """Return the channel that places a field from left to right."""
    fields = (*dots.marks, LOW, HIGH, *(dots.inner or ()), dots.reference)
    values = [record.get(name) for record in dots.records for name in fields if name]
    known = finite(values)
    empty = (-1.0, 1.0) if 0 in dots.references else (0.0, 1.0)
    domain: Any = domain_of([*known, *dots.references]) if known else list(empty)
    scale = alt.Scale(domain=alt.Undefined if dots.free else domain, nice=True, zero=False)
    axis = alt.Axis(grid=True, gridColor=GRID, tickCount=5)
    return alt.X(f"{name}:Q", title=dots.axis, scale=scale, axis=axis)


def _color(dots: Dots) -> Any:
    rows = dots.rows
    if rows.color is None:
        return alt.value(COLORS[0])
    group = rows.groups[rows.color]
    legend = alt.Legend(
        title=group.title,
        labelLimit=0,
        symbolType="circle",
        symbolOpacity=1,
        offset=COLUMN + 20 if dots.column and rows.panel is None else alt.Undefined,
    )
    # Where colors have no places of their own, lines or panels have their names.
    shown = legend if rows.dodges else None
    return alt.Color(
        f"{rows.color}:N", scale=color_scale(group.values, ordered=group.ordered), legend=shown
    )


def _bars(dots: Dots) -> list[alt.Chart]:
    """Return the interval of each row, and a faint bar behind it."""
    color, y = _color(dots), line_of(dots)
    bars = []
    if dots.inner is not None:
        start, end = dots.inner
        wide = alt.Chart().mark_rule(strokeWidth=0.6 * dots.place, opacity=0.22)
        bars.append(wide.encode(x=place_on(dots, start), x2=f"{end}:Q", color=color, **y))
    if any(finite(record.get(LOW) for record in dots.records)):
        thin = alt.Chart().mark_rule(strokeWidth=min(2, dots.place / 4))
        bars.append(thin.encode(x=place_on(dots, LOW), x2=f"{HIGH}:Q", color=color, **y))
    return bars


def _mark(dots: Dots, name: str) -> alt.Chart:
    """Return a mark in each row; other marks than the first are hollow."""
    first = name == dots.marks[0]
    mark = alt.Chart().mark_point(
        filled=first, size=dots.size if first else HOLLOW * dots.size, opacity=1, strokeWidth=1.5
    )
    shape: Any = alt.Undefined
    if len(dots.marks) > 1:
        scale = alt.Scale(domain=list(dots.marks), range=list(SHAPES[: len(dots.marks)]))
        legend = alt.Legend(title=None, labelLimit=0)
        shape = alt.Shape("mark:N", scale=scale, legend=legend)
        mark = mark.transform_calculate(mark=f"'{name}'")
    layer: alt.Chart = mark.encode(
        x=place_on(dots, name),
        color=_color(dots),
        shape=shape,
        tooltip=tooltip_of(dots),
        **line_of(dots),
    )
    return layer


def tooltip_of(dots: Dots) -> list[alt.Tooltip]:
    """Return the row of the table."""
    return [*keys_told(dots.rows.groups), *columns_told(dots.tooltip)]


def _references(dots: Dots) -> list[alt.Chart]:
    """Return the lines that dots are read against."""
    # Data of their own: those of the rows would draw them once for each.
    lines = [
        alt.Chart(alt.InlineData(values=[{}])).mark_rule(**CHANCE).encode(x=alt.datum(place))
        for place in dots.references
    ]
    if dots.reference is not None:
        each = alt.Chart().mark_rule(**CHANCE).transform_aggregate(groupby=[dots.reference])
        lines.append(each.encode(x=place_on(dots, dots.reference)))
    return lines


def undefined(dots: Dots) -> alt.Chart:
    """Say in the place of a dot why there is none."""
    layer: alt.Chart = (
        alt.Chart()
        .mark_text(align="left", fontStyle="italic", fontSize=_font(dots), color=QUIET)
        .transform_filter(f"isValid(datum.{WHY})")
        .encode(x=alt.value(6), text=f"{WHY}:N", tooltip=tooltip_of(dots), **line_of(dots))
    )
    return layer


def _column(dots: Dots) -> list[alt.Chart]:
    """Return the text to the right of the dots, and what it is above it."""
    if dots.column is None:
        return []
    style: dict[str, Any] = {"align": "left", "dx": 12, "fontSize": _font(dots)}
    right = alt.value("width")
    head = alt.Chart(alt.InlineData(values=[{}])).mark_text(
        **{**style, "fontSize": FONT, "fontWeight": "bold"}
    )
    return [
        alt.Chart().mark_text(**style).encode(x=right, text=f"{TOLD}:N", **line_of(dots)),
        head.encode(x=right, y=alt.value(-8), text=alt.value(dots.column)),
    ]


def _font(dots: Dots) -> float:
    return max(LEAST, min(FONT, dots.place))


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
    color: str | NotGiven | None,
    facet: str | None,
    parts: Mapping[str, Sequence[str]] | None = None,
    apart: bool = False,
) -> Rows:
    """Choose the line, the color and the panel of each row of a table.

    `parts` are names that tell rows apart beside the group columns; with `apart` they have panels
    of their own instead of lines. Lines stand in the order of the table; where it is sorted by
    its groups, as it is made, so are the lines of all colors together.
    """
    asked = None if color is NOT_GIVEN else color
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
    if color is NOT_GIVEN:
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
