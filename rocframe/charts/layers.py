"""Records of curves → the layers of a chart: their lines, and points with tooltips."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.axes import fields, positions
from rocframe.charts.palette import COLORS, color_scale, stroke
from rocframe.charts.records import POINTS
from rocframe.charts.tooltips import keys_told
from rocframe.vocabulary import CONFUSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.groups import Group
    from rocframe.charts.mean_picture import MeanPicture
    from rocframe.charts.picture import Picture
    from rocframe.charts.plane import Plane

THRESHOLD = "isValid(datum.threshold) ? toString(datum.threshold) : 'inf'"
COUNT, RATE = ",.2~f", ".4~g"
MANY, NAMED = 30, 11  # values in an order from which on a legend names some, and how many


def only(part: str | None) -> alt.Chart:
    """Start a layer of one part of the records, or of the curves themselves."""
    wanted = "!isValid(datum.part)" if part is None else f"datum.part === '{part}'"
    layer: alt.Chart = alt.Chart().transform_filter(wanted)
    return layer


def of_curves(picture: Picture) -> alt.Chart:
    """Start a layer of the curves, whatever there is beside them."""
    return only(None) if picture.parts else alt.Chart()


def lines(picture: Picture) -> alt.Chart:
    """Draw the lines, in the order of their points: Vega-Lite would sort these along x."""
    x, y = positions(picture.plane)
    layer: alt.Chart = (
        of_curves(picture)
        .mark_line(**stroke(crowded=picture.crowded))
        .encode(x=x, y=y, order="step:Q", detail="curve:N", color=colored(picture))
    )
    return layer


def colored(picture: Picture | MeanPicture) -> Any:
    """Return the color of a layer, and the legend that says what the colors are."""
    if picture.color is None:
        return alt.value(COLORS[0])
    group = picture.groups[picture.color]
    shown = _spread(group)
    legend = alt.Legend(
        title=f"{group.title} ({len(shown)} of {len(group.values)})" if shown else group.title,
        values=shown or alt.Undefined,
        labelExpr=captioned(picture.legend),
        labelLimit=0,
        symbolType="stroke",
        symbolSize=200,
        symbolStrokeWidth=3,
        symbolOpacity=1,
    )
    scale = color_scale(group.values, ordered=group.ordered)
    return alt.Color(f"{picture.color}:N", scale=scale, legend=legend)


def _spread(group: Group) -> list[str]:
    """Return some values evenly among many that have an order; nothing where all are named."""
    last = len(group.values) - 1
    if not group.ordered or last < MANY:
        return []
    return [group.values[round(place * last / (NAMED - 1))] for place in range(NAMED)]


def captioned(captions: Mapping[str, str]) -> Any:
    """Return the expression that looks up the captions of a legend or of panels.

    The values stay as they are: layers that others add share the colors of the same values.
    """
    # Vega-Lite puts a condition in the place of datum.label: hence the parentheses.
    return f"{dumps(captions)}[(datum.label)] || (datum.label)" if captions else alt.Undefined


def points(picture: Picture) -> alt.Chart:
    """Lay points that cannot be seen on the lines: their tooltips are rows of the table."""
    x, y = positions(picture.plane)
    layer: alt.Chart = (
        of_curves(picture)
        .mark_point(filled=True, size=80, opacity=0)
        .transform_filter("isValid(datum.tp)")
        .transform_calculate(fn="datum.pos - datum.tp", tn="datum.neg - datum.fp", at=THRESHOLD)
        .encode(x=x, y=y, tooltip=told(picture))
    )
    return layer


def told(picture: Picture) -> list[alt.Tooltip]:
    """Return what the tooltip of a row says."""
    plane = picture.plane
    return [
        *keys_told(picture.groups),
        alt.Tooltip("at:N", title="threshold"),
        *(
            alt.Tooltip(f"{name}:Q", title=side.name, format=RATE)
            for name, side in (("x", plane.x), ("y", plane.y))
            if side.name not in CONFUSION
        ),
        *(alt.Tooltip(f"{name}:Q", title=name, format=COUNT) for name in CONFUSION),
    ]


def unfolded(chart: alt.LayerChart, plane: Plane, *, more: Sequence[str] = ()) -> alt.LayerChart:
    """Give every point of the records a row of its own, and its place on the axes."""
    # Altair copies a chart for each transform that is added to it, so not with all its layers.
    steps = alt.Chart().transform_flatten([*POINTS, *more])
    steps = steps.transform_window(step="row_number()", groupby=["curve"])
    if plane.x.deviate:
        places = {
            place: f"quantileNormal(datum.{rate})"
            for place, rate in zip(fields(plane), ("x", "y"), strict=True)
        }
        steps = steps.transform_calculate(**places)
    chart.transform = steps.transform
    return chart
