"""Planes → Altair's axes and scales."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.palette import GRID
from rocframe.charts.plane import NORMAL, POWERS

if TYPE_CHECKING:
    from rocframe.charts.plane import Plane, Side

# Where normal-deviate axes have ticks, and again as far from 1.
TICKS = (1e-5, 1e-4, 0.001, 0.01, 0.05, 0.2)
DECADES = (*reversed(POWERS), 0.1, 1.0)
# Three digits would call 99.99 % all.
PERCENT = "format(cumulativeNormal(datum.value), datum.value > 3.1 ? '.5~p' : '.3~p')"


def positions(plane: Plane) -> tuple[alt.X, alt.Y]:
    """Return the two channels that place the points of a curve."""
    x, y = fields(plane)
    return alt.X(x, **_shown(plane.x)), alt.Y(y, **_shown(plane.y))


def fields(plane: Plane) -> tuple[str, str]:
    """Return the fields that hold the places: the rates themselves, or their deviates."""
    return ("u", "v") if plane.x.deviate else ("x", "y")


def on_axis(side: Side, rate: float) -> float:
    """Return the value that stands for a rate on an axis."""
    return round(NORMAL.inv_cdf(rate), 6) if side.deviate else rate


def _shown(side: Side) -> dict[str, Any]:
    return {"type": "quantitative", "title": side.title, "scale": _scale(side), "axis": _axis(side)}


def _scale(side: Side) -> alt.Scale:
    domain = [on_axis(side, side.low), on_axis(side, side.high)]
    if side.scale == "log":
        return alt.Scale(type="log", domain=domain, nice=False)
    return alt.Scale(domain=domain, nice=side.nice)


def _axis(side: Side) -> alt.Axis:
    grid: dict[str, Any] = {"grid": True, "gridColor": GRID}
    if side.scale == "linear":
        return alt.Axis(tickCount=5, **grid)
    if side.scale == "log":
        return alt.Axis(values=[one for one in DECADES if one >= side.low], format="~g", **grid)
    rates = [*TICKS, 0.5, *(1 - tick for tick in reversed(TICKS))]
    ticks = [on_axis(side, rate) for rate in rates if side.low <= rate <= side.high]
    return alt.Axis(values=ticks, labelExpr=PERCENT, **grid)
