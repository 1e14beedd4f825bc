"""Pictures of averaged curves → one Altair chart: a bold line, and its limits about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from rocframe.charts.axes import positions
from rocframe.charts.chance import CHANCE_SAID, COUNTED, chance
from rocframe.charts.frame import framed, held, side_of
from rocframe.charts.groups import by_group
from rocframe.charts.held_picture import HELD
from rocframe.charts.layers import RATE, THRESHOLD, colored
from rocframe.charts.mean_picture import ENDS, POINTS, mean_pictured
from rocframe.charts.tooltips import keys_told

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.charts.asked import Asked
    from rocframe.charts.mean_picture import MeanPicture
    from rocframe.tables import Table

BAND, BAR, BOLD = 0.2, 0.6, 3.5
COVER = 0.5  # the opacities of all bands of a panel together: they lie over the lines
CHANCELESS = (*COUNTED, HELD)  # whose line of chance depends on the counts


def mean_chart(table: pl.DataFrame, _found: Table, asked: Asked) -> alt.LayerChart | alt.FacetChart:
    """Draw the averaged curves of a table."""
    return _charted(mean_pictured(table, asked))


def _charted(picture: MeanPicture) -> alt.LayerChart | alt.FacetChart:
    """Draw lines, limits and points on top of each other, in panels if there are any."""
    layers = [lines(picture, BOLD), *limits(picture), _points(picture)]
    if picture.plane.kind.name not in CHANCELESS:
        layers.insert(1, chance(picture.plane))
    return framed(
        layered(picture, layers),
        title=picture.plane.kind.title,
        subtitle=picture.area,
        description=_described(picture),
        panel=picture.panel,
        groups=picture.groups,
        captions={} if picture.color else picture.captions,
    )


def layered(picture: MeanPicture, layers: Sequence[alt.Chart]) -> alt.LayerChart:
    """Lay layers over each other, and give every point of the records a row of its own."""
    side = side_of(picture.panel)
    steps = alt.Chart().transform_flatten(list(POINTS))
    steps = steps.transform_window(step="row_number()", groupby=["curve"])
    if picture.plane.x.deviate:
        places = {name: f"quantileNormal(datum.{name})" for name in ENDS}
        steps = steps.transform_calculate(u=places.pop("x"), v=places.pop("y"), **places)
    return alt.LayerChart(
        layer=list(layers),
        data=held(picture.records),
        transform=steps.transform,
        width=side,
        height=side,
    )


def lines(picture: MeanPicture, width: float) -> alt.Chart:
    """Draw a line for each record."""
    x, y = positions(picture.plane)
    layer: alt.Chart = (
        alt.Chart()
        .mark_line(strokeWidth=width)
        .encode(x=x, y=y, order="step:Q", detail="curve:N", color=colored(picture))
    )
    return layer


def limits(picture: MeanPicture) -> list[alt.Chart]:
    """Return a band along one axis, or bars along two."""
    x, y = positions(picture.plane)
    if len(picture.averaged) == 2:
        bars = alt.Chart().transform_filter("datum.bar == 1").mark_rule(opacity=BAR, strokeWidth=2)
        color = colored(picture)
        return [
            bars.encode(x=x, y="y_low:Q", y2="y_high:Q", color=color),
            bars.encode(x="x_low:Q", x2="x_high:Q", y=y, color=color),
        ]
    band = alt.Chart().mark_area(
        opacity=min(BAND, COVER / picture.most),
        orient="vertical" if picture.averaged == ("y",) else "horizontal",
    )
    ends = (
        {"x": x, "y": "y_low:Q", "y2": "y_high:Q"}
        if picture.averaged == ("y",)
        else {"x": "x_low:Q", "x2": "x_high:Q", "y": y}
    )
    # Areas are drawn along their fixed axis as it is: an order would cut them into pieces.
    return [band.encode(**ends, detail="curve:N", color=colored(picture))]


def _points(picture: MeanPicture) -> alt.Chart:
    """Lay points that cannot be seen on the lines: their tooltips are rows of the table."""
    plane = picture.plane
    x, y = positions(plane)
    shown = [
        *keys_told(picture.groups),
        alt.Tooltip("at:N", title="threshold_mean"),
        *(
            alt.Tooltip(f"{name}:Q", title=side.name, format=RATE)
            for name, side in (("x", plane.x), ("y", plane.y))
        ),
    ]
    layer: alt.Chart = (
        alt.Chart()
        .mark_point(filled=True, size=80, opacity=0)
        .transform_calculate(at=THRESHOLD)
        .encode(x=x, y=y, tooltip=shown)
    )
    if plane.endless:  # there are points between the rows
        layer = layer.transform_filter("datum.bar >= 0")
    return layer


def _described(picture: MeanPicture) -> str:
    plane, count = picture.plane, len(picture.records)
    curves = "1 averaged curve" if count == 1 else f"{count} averaged curves"
    axes = f"{plane.y.title.lower()} against {plane.x.title.lower()}"
    limited = any(
        record[f"{side}_low"] != record[side]
        for record in picture.records
        for side in picture.averaged
    )
    limits = " with pointwise limits" if limited else ""
    text = f"{plane.called}, {curves}{limits}: {axes}."
    text += "" if plane.kind.name in CHANCELESS else f" {CHANCE_SAID[plane.kind.name]}"
    told = picture.told
    if told is not None:
        return f"{text} {by_group(told, picture.captions)}"
    return f"{text} {picture.area}." if picture.area else text
