"""A dashboard's ROC, precision-recall and gain panels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.layers import captioned
from rocframe.charts.linked_controls import ANGLE, faint_unless_shown, shown_only
from rocframe.charts.linked_measures import HERE, REAL
from rocframe.charts.palette import CHANCE, COLORS, GRID, PAPER, QUIET, color_scale

if TYPE_CHECKING:
    from rocframe.charts.linked_data import Linked

SIDE = 250
ROOM = 1000  # pixels for the legend
LETTER = 6.6  # pixels
SAID = "description"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Two rates, by field."""

    name: str
    title: str
    below: str
    x: tuple[str, str]
    y: tuple[str, str]


PANELS = (
    Panel(
        name="roc",
        title="ROC",
        below="solid line: equal expected cost",
        x=("fpr", "False positive rate"),
        y=("tpr", "True positive rate"),
    ),
    Panel(
        name="precision_recall",
        title="Precision-recall",
        below="dashed line: share of positives",
        x=("tpr", "Recall"),
        y=("line_precision", "Precision"),
    ),
    Panel(
        name="gain",
        title="Gain",
        below="dashed line: chance",
        x=("alert_rate", "Alert rate"),
        y=("tpr", "True positive rate"),
    ),
)


def curve_panel(linked: Linked, panel: Panel) -> alt.LayerChart:
    """Draw two rates of all curves, with a point where each of them is."""
    x = alt.X(f"{panel.x[0]}:Q", title=panel.x[1], **unit())
    y = alt.Y(f"{panel.y[0]}:Q", title=panel.y[1], **unit())
    color = colored(linked)
    line = (
        alt.Chart(name=f"{panel.name}_lines")
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=y,
            order="step:Q",
            detail="curve:N",
            color=color,
            opacity=faint_unless_shown(linked, 0.1),
        )
    )
    near = shown_only(
        alt.Chart(name=f"{panel.name}_points")
        .mark_point(filled=True, size=30, opacity=0)
        .transform_filter(REAL)
        .encode(x=x, y=y, angle=alt.Angle(f"{ANGLE}:Q", scale=None), **pointed()),
        linked,
    )
    here = shown_only(
        alt.Chart()
        .mark_point(filled=True, size=110, opacity=1, stroke=PAPER, strokeWidth=1.5)
        .transform_filter(HERE)
        .encode(x=x, y=y, color=color),
        linked,
    )
    # The first layer has the axes.
    layers = [line, _chance(panel.name), here, near]
    if panel.name == "roc":
        layers.insert(2, _iso(linked))
    return alt.LayerChart(
        layer=layers, width=SIDE, height=SIDE, title=titled(panel.title, panel.below)
    )


def titled(title: str, below: str) -> alt.Title:
    """Return the title of a panel."""
    return alt.Title(
        title, subtitle=below, anchor="start", fontSize=13, subtitleFontSize=11, subtitleColor=QUIET
    )


def unit() -> dict[str, Any]:
    """Return the scale and axis of a rate."""
    return {"scale": alt.Scale(domain=[0, 1]), "axis": alt.Axis(tickCount=5, gridColor=GRID)}


def pointed() -> dict[str, Any]:
    """Return what is said of the row that the pointer chooses; its numbers stand below.

    A cell around a point looks the field up in the point's mark, which is no row: hence the text
    is one that a mark has too, under the same name.
    """
    return {"description": f"{SAID}:N", "tooltip": f"{SAID}:N"}


def colored(linked: Linked) -> Any:
    """Return the color of a curve, and the legend that chooses some."""
    if linked.color is None:
        return alt.value(COLORS[0])
    group = linked.groups[linked.color]
    longest = max(len(linked.captions.get(value, value)) for value in group.values)
    legend = alt.Legend(
        title=f"{group.title} (click for one, shift-click for more)",
        titleLimit=0,
        labelExpr=captioned(linked.captions),
        labelLimit=0,
        orient="top",
        columns=max(1, min(len(group.values), int(ROOM / (LETTER * longest + 40)))),
        symbolType="stroke",
        symbolSize=200,
        symbolStrokeWidth=3,
    )
    return alt.Color(f"{linked.color}:N", scale=color_scale(group.values), legend=legend)


def _chance(name: str) -> alt.Chart:
    if name == "precision_recall":
        # The share of positives, as it is or as it is set.
        level: alt.Chart = (
            alt.Chart()
            .mark_rule(**CHANCE)
            .transform_aggregate(groupby=["pi"])
            .encode(y=alt.Y("pi:Q"))
        )
        return level
    ends = {"x": 0, "y": 0, "x2": 1, "y2": 1}
    line: alt.Chart = (
        alt.Chart(alt.InlineData(values=[{}]))
        .mark_rule(**CHANCE)
        .encode(**{channel: alt.datum(value) for channel, value in ends.items()})
    )
    return line


def _iso(linked: Linked) -> alt.Chart:
    """Draw the line through the point of one curve on which all points cost the same."""
    line: alt.Chart = (
        focused(alt.Chart().transform_filter(HERE), linked)
        .transform_calculate(
            left="0",
            right="1",
            at_left="datum.tpr - datum.slope * datum.fpr",
            at_right="datum.tpr + datum.slope * (1 - datum.fpr)",
        )
        .mark_rule(color=QUIET, strokeWidth=1.2, clip=True)
        .encode(x="left:Q", x2="right:Q", y="at_left:Q", y2="at_right:Q")
    )
    return line


def focused(chart: Any, linked: Linked) -> Any:
    """Leave only the first of the curves that the legend chooses."""
    return (
        shown_only(chart, linked)
        .transform_window(place="dense_rank()", sort=[alt.SortField("curve")], ignorePeers=False)
        .transform_filter("datum.place == 1")
    )
