"""Parts of a picture → the layers that are drawn beside its curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.axes import positions
from rocframe.charts.equal_cost import EQUAL_COST, TOUCHED
from rocframe.charts.frame import side_of
from rocframe.charts.layers import RATE, THRESHOLD, colored, only, told
from rocframe.charts.marks import MARK
from rocframe.charts.palette import NOTE, PAPER, QUIET
from rocframe.charts.parts import EMPTY, HULL
from rocframe.charts.tied import TIE

if TYPE_CHECKING:
    from rocframe.charts.picture import Picture

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
        .transform_calculate(fn="datum.pos - datum.tp", tn="datum.neg - datum.fp", at=THRESHOLD)
        .encode(x=x, y=y, color=colored(picture), tooltip=tooltip)
    )
    return layer


def _note(picture: Picture) -> alt.Chart:
    """Say in the middle of a panel why it is empty."""
    side = side_of(picture.panel)
    across, down = alt.value(side / 2), alt.value(side * 0.85)  # off the diagonals
    layer: alt.Chart = only(EMPTY).mark_text(**NOTE).encode(x=across, y=down, text="note:N")
    return layer
