"""The dashed lines that a chart is read against: what chance would draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from rocframe.charts.axes import on_axis
from rocframe.charts.palette import CHANCE as STROKE

if TYPE_CHECKING:
    from rocframe.charts.plane import Plane

ONE = "The dashed line is what chance gives."
COUNTED = ("precision_recall", "lift_chart")  # whose line of chance depends on the counts
EACH = "Each dashed line is what chance gives at one prevalence."
CHANCE_SAID = {
    "roc": ONE,
    "precision_recall": EACH,
    "det": ONE,
    "gain": ONE,
    "lift": ONE,
    "lift_chart": EACH,
}


def chance(plane: Plane) -> alt.Chart:
    """Return the line, or lines, of predictions that know nothing."""
    low, high = plane.x.low, plane.x.high
    match plane.kind.name:
        case "precision_recall":
            return _at_each_prevalence()
        case "lift_chart":
            return _to_each_total()
        case "lift":
            return _straight(plane, (0, 1), (1, 1))
        case "det":
            return _straight(plane, (low, high), (high, low))
        case _:
            return _straight(plane, (0, 0), (1, 1))


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


def _at_each_prevalence() -> alt.Chart:
    line: alt.Chart = _for_each("prevalence").encode(
        y=alt.Y("prevalence:Q"), tooltip=alt.Tooltip("prevalence:Q", format=".4~g")
    )
    return line


def _to_each_total() -> alt.Chart:
    line: alt.Chart = _for_each("pos").encode(
        x=alt.datum(1), y=alt.Y("pos:Q"), x2=alt.datum(0), y2=alt.datum(0)
    )
    return line


def _for_each(total: str) -> alt.Chart:
    """Return a line for each distinct total of the curves that are drawn, in each panel its own."""
    line: alt.Chart = alt.Chart().mark_rule(**STROKE).transform_aggregate(groupby=[total])
    return line
