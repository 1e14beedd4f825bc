"""Pictures of curves → one Altair chart."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.chance import CHANCE_SAID, chance
from rocframe.charts.layers import captioned, lines, points, unfolded
from rocframe.charts.picture import pictured

if TYPE_CHECKING:
    import polars as pl

    from rocframe.charts.asked import Asked
    from rocframe.charts.picture import Picture
    from rocframe.tables import Table

SIDE, PANEL, ABREAST = 380, 240, 3  # pixels, and panels in a row
MOST = 10  # values that a description lists


def curve_chart(
    table: pl.DataFrame, _found: Table, asked: Asked
) -> alt.LayerChart | alt.FacetChart:
    """Draw the curves of a table."""
    return _charted(
        pictured(
            table,
            by=asked.by,
            kind=asked.kind,
            color=asked.color,
            facet=asked.facet,
            detail=asked.detail,
        )
    )


def _charted(picture: Picture) -> alt.LayerChart | alt.FacetChart:
    """Draw chance, lines and points on top of each other, in panels if there are any."""
    # The first layer is the one that .interactive() moves: it has to have both axes.
    layers = [lines(picture), chance(picture.plane), points(picture)]
    # The data stand above the layers, so that .facet() finds them; as plain values, so that
    # Altair's limit on rows and other people's data transformers leave them alone.
    # Altair looks at every value of data but not into text; nor does it lay text out in lines.
    values = dumps(picture.records, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    data = alt.InlineData(values=values, format=alt.JsonDataFormat(type="json"))
    side = SIDE if picture.panel is None else PANEL
    chart = unfolded(
        alt.LayerChart(layer=layers, data=data, width=side, height=side), picture.plane
    )
    head = {"title": _title(picture), "description": described(picture)}
    if picture.panel is None:
        return chart.properties(**head)
    panels = picture.groups[picture.panel]
    named = alt.Undefined if picture.color else captioned(picture.captions)
    header = alt.Header(title=panels.title, labelLimit=0, labelExpr=named)
    facet = alt.Facet(f"{picture.panel}:N", sort=list(panels.values), header=header)
    return chart.facet(facet, columns=ABREAST).properties(**head)


def _title(picture: Picture) -> alt.Title:
    """Return the name of the kind; the area stands below it where no legend has it."""
    below = picture.area if picture.told is None else ""
    subtitle: Any = below or alt.Undefined
    return alt.Title(picture.plane.kind.title, subtitle=subtitle, anchor="start")


def described(picture: Picture) -> str:
    """Say what a chart shows, for those who cannot see it."""
    plane, told = picture.plane, picture.told
    count = "1 curve" if len(picture.records) == 1 else f"{len(picture.records)} curves"
    axes = f"{plane.y.title.lower()} against {plane.x.title.lower()}"
    text = f"{plane.kind.title} chart, {count}: {axes}. {CHANCE_SAID[plane.kind.name]}"
    if told is None:
        return f"{text} {picture.area}." if picture.area else text
    listed = [picture.captions.get(value, value) for value in told.values]
    more = f" and {len(listed) - MOST} more" if len(listed) > MOST else ""
    return f"{text} By {told.title}: {', '.join(listed[:MOST])}{more}."
