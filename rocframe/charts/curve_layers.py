"""Layers that several charts share: lines, points, chance lines and panels."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.axes import fields, on_axis, positions
from rocframe.charts.curve_data import POINTS
from rocframe.charts.labels import keys_told
from rocframe.charts.style import CHANCE as STROKE
from rocframe.charts.style import COLORS, color_scale, stroke
from rocframe.rates import CONFUSION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.average_chart import MeanPicture
    from rocframe.charts.axes import Plane, Side
    from rocframe.charts.curve_chart import Picture
    from rocframe.charts.groups import Group


THRESHOLD_TOOLTIP = "isValid(datum.threshold) ? toString(datum.threshold) : 'inf'"

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
        .transform_calculate(
            fn="datum.pos - datum.tp", tn="datum.neg - datum.fp", at=THRESHOLD_TOOLTIP
        )
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


ONE = "The dashed line is what chance gives."

COUNT_DEPENDENT = ("precision_recall", "lift_chart")  # whose line of chance depends on the counts

EACH = "Each dashed line is what chance gives at one prevalence."

CHANCE_SAID = {
    "roc": ONE,
    "precision_recall": EACH,
    "det": ONE,
    "gain": ONE,
    "lift": ONE,
    "lift_chart": EACH,
}

NEAR = 1 / 200  # of an axis: lines that are closer look like one that is thick

STEPS = 48  # of a line that the axes bend


def chance(plane: Plane) -> alt.Chart:
    """Return the line, or lines, of predictions that know nothing."""
    across, up = plane.x, plane.y
    if plane.kind.name == "precision_recall":
        return _at_each_prevalence()
    if plane.kind.name == "lift_chart":
        return _to_each_total(across)
    if plane.kind.name == "lift":
        return _straight(plane, (across.low, 1), (across.high, 1))
    falls = plane.kind.name == "det"
    if "log" in (across.scale, up.scale):
        return _bent(across, falls=falls)
    ends = (up.high, up.low) if falls else (up.low, up.high)
    return _straight(plane, (across.low, ends[0]), (across.high, ends[1]))


def merged(levels: Sequence[float | None], high: float) -> list[float | None]:
    """Give levels that no eye tells apart one level, in the middle of them."""
    known = sorted({level for level in levels if level is not None})
    middle: dict[float, float] = {}
    while known:
        near = [level for level in known if level - known[0] <= NEAR * high]
        middle |= dict.fromkeys(near, (near[0] + near[-1]) / 2)
        known = known[len(near) :]
    return [None if level is None else middle[level] for level in levels]


def _straight(plane: Plane, start: tuple[float, float], end: tuple[float, float]) -> alt.Chart:
    (x, y), (x2, y2) = (
        (on_axis(plane.x, across), on_axis(plane.y, up)) for across, up in (start, end)
    )
    ends = {"x": x, "y": y, "x2": x2, "y2": y2}
    # Data of its own: those of the curves would draw it once for each of their points.
    line: alt.Chart = (
        alt.Chart(alt.InlineData(values=[{}]))
        .mark_rule(**STROKE)
        .encode(**{channel: alt.datum(value) for channel, value in ends.items()})
    )
    return line


def _bent(side: Side, *, falls: bool) -> alt.Chart:
    """Return the line on which rates are equal, or add up to 1, as logarithmic axes bend it."""
    low = _log_spaced(side)
    rates = sorted({*low, *(1 - rate for rate in low if rate < 1)}) if falls else low
    points = [{"across": rate, "up": round(1 - rate, 7) if falls else rate} for rate in rates]
    line: alt.Chart = (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(**STROKE)
        .encode(x=alt.X("across:Q"), y=alt.Y("up:Q"))
    )
    return line


def _log_spaced(side: Side) -> list[float]:
    """Return rates that stand evenly along a logarithmic axis."""
    shares = (step / STEPS for step in range(STEPS + 1))
    return [float(f"{side.low * (side.high / side.low) ** share:.7g}") for share in shares]


def _at_each_prevalence() -> alt.Chart:
    said = (
        "format(datum.least, '.4~g') + "
        "(datum.most > datum.least ? ' to ' + format(datum.most, '.4~g') : '')"
    )
    line: alt.Chart = (
        _for_each_level(
            alt.AggregatedFieldDef(op="min", field="prevalence", **{"as": "least"}),
            alt.AggregatedFieldDef(op="max", field="prevalence", **{"as": "most"}),
        )
        .transform_calculate(said=said)
        .mark_rule(**STROKE)
        .encode(y=alt.Y("level:Q"), tooltip=alt.Tooltip("said:N", title="prevalence"))
    )
    return line


def _to_each_total(side: Side) -> alt.Chart:
    line: alt.Chart
    if side.scale == "log":
        points = f"[{','.join(map(str, _log_spaced(side)))}]"
        line = (
            _for_each_level()
            .transform_calculate(across=points)
            .transform_flatten(["across"])
            .transform_calculate(up="datum.across * datum.level")
            .mark_line(**STROKE)
            .encode(x=alt.X("across:Q"), y=alt.Y("up:Q"), detail="level:N")
        )
        return line
    line = (
        _for_each_level()
        .mark_rule(**STROKE)
        .encode(x=alt.datum(1), y=alt.Y("level:Q"), x2=alt.datum(0), y2=alt.datum(0))
    )
    return line


def _for_each_level(*aggregates: alt.AggregatedFieldDef) -> alt.Chart:
    """Return a row for each level of the curves that are drawn, in each panel its own."""
    return (
        alt.Chart()
        .transform_filter("isValid(datum.level)")
        .transform_aggregate(list(aggregates), groupby=["level"])
    )


SIDE, PANEL, ABREAST = 380, 240, 3  # pixels, and panels in a row


def held(records: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    """Return records as data that neither Altair's limit on rows nor a data transformer touches.

    Altair looks at every value of data but not into text; nor does it lay text out in lines.
    """
    values = dumps(records, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return alt.InlineData(values=values, format=alt.JsonDataFormat(type="json"))


def side_of(panel: str | None) -> int:
    """Return how wide the plane of a chart is, or of each of its panels."""
    return SIDE if panel is None else PANEL


def framed(
    chart: alt.LayerChart,
    *,
    title: str,
    subtitle: str,
    description: str,
    panel: str | None,
    groups: Mapping[str, Group],
    captions: Mapping[str, str],
) -> alt.LayerChart | alt.FacetChart:
    """Give a chart its title and what is said of it, and a panel for each value of a group.

    The data of the chart stand above its layers, so that .facet() finds them. `captions` are
    those of the panels.
    """
    below: Any = subtitle or alt.Undefined
    head = {"title": alt.Title(title, subtitle=below, anchor="start"), "description": description}
    if panel is None:
        # In place: .properties copies all layers.
        for name, value in head.items():
            setattr(chart, name, value)
        return chart
    panels = groups[panel]
    header = alt.Header(title=panels.title, labelLimit=0, labelExpr=captioned(captions))
    facet = alt.Facet(f"{panel}:N", sort=list(panels.values), header=header)
    return chart.facet(facet, columns=ABREAST).properties(**head)
