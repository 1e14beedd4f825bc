"""Which table is drawn by what: a line for each table that has a chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocframe.charts.curve_chart import curve_chart
from rocframe.charts.mean_chart import mean_chart

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair as alt
    import polars as pl

    from rocframe.charts.asked import Asked
    from rocframe.tables import Table

CHANNELS = ("color", "facet", "detail")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How a table is drawn, and the options that the drawing reads."""

    draw: Callable[[pl.DataFrame, Table, Asked], alt.LayerChart | alt.FacetChart]
    reads: tuple[str, ...] = CHANNELS


DRAWINGS: dict[str, Drawing] = {
    "curve": Drawing(
        draw=curve_chart,
        reads=("by", "kind", *CHANNELS, "scale", "hull", "costs", "prevalence", "mark", "ties"),
    ),
    "average": Drawing(draw=mean_chart, reads=(*CHANNELS, "scale")),
}
