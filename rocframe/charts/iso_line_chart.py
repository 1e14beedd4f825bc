"""Charts of lines of equal expected cost."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.charts.axes import chart_kind, choose_plane, zoom_plane
from rocframe.charts.curve_data import LAYER
from rocframe.charts.curve_layers import (
    CurvePlot,
    chance_layers,
    chance_text,
    line_layer,
    overlay,
)
from rocframe.charts.groups import GROUP_INDEX, read_groups
from rocframe.charts.labels import RATE_FORMAT, json_numbers, json_values, number_text, tooltip
from rocframe.charts.style import BACKGROUND
from rocframe.rates import CONFUSION
from rocframe.schemas.table_type import THRESHOLD
from rocframe.text import format_count, join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt
    from numpy.typing import NDArray

    from rocframe.charts.axes import Plane
    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import Table

RING = "row of lowest cost"  # the field LAYER of records of rows
CURVED_STEPS = 60  # segments of a line on axes on which it is not straight


def iso_line_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a line of equal expected cost for each curve, and a ring at its row of lowest cost."""
    kind = chart_kind(table.columns, options)
    shown = ("slope", "intercept", "expected_cost", THRESHOLD, *CONFUSION)
    taken = (kind.x, kind.y, *shown)
    groups = read_groups(table, layout.by, table.columns, options, taken)
    x, y = (
        table.get_column(name).cast(pl.Float64).fill_null(np.nan).to_numpy()
        for name in (kind.x, kind.y)
    )
    top = table.select(pl.col("tp") + pl.col("fn")).to_series() if kind.y == "tp" else None
    top_values = y if top is None else top.cast(pl.Float64).fill_null(np.nan).to_numpy()
    plane = choose_plane(kind, x, y, scale=options.scale, top=top_values)
    plane = zoom_plane(plane, options)
    values = {name: json_values(table.get_column(name)) for name in shown}
    slopes = table.get_column("slope").fill_null(np.nan).to_list()
    lines: list[dict[str, Any]] = []
    rings: list[dict[str, Any]] = []
    for i, (point, slope) in enumerate(zip(zip(x, y, strict=True), slopes, strict=True)):
        across, up = _line(plane, [float(value) for value in point], slope)
        row = {name: column[i] for name, column in values.items()}
        lines.append({GROUP_INDEX: i, kind.x: json_numbers(across), kind.y: json_numbers(up)})
        if plane.contains(*point):
            place = {kind.x: json_numbers([point[0]]), kind.y: json_numbers([point[1]])}
            rings.append({GROUP_INDEX: i, LAYER: RING} | row | place)
    fields = (kind.x, kind.y)
    groups.name([*lines, *rings])
    plot = CurvePlot(plane=plane, records=lines, groups=groups, overlays=rings, fields=fields)
    ring = overlay(RING).mark_point(size=50, strokeWidth=2, fill=BACKGROUND, opacity=1)
    rows = [*groups.tooltips(), *(tooltip(name, number=RATE_FORMAT) for name in shown[:3])]
    rows += [tooltip(THRESHOLD), *plot.axis_tooltips(counts=False), *map(tooltip, CONFUSION)]
    names = groups.names(table.height)
    costs = table.get_column("expected_cost").to_list()
    texts = [
        f"{name}: cost {number_text(cost)}, slope {number_text(slope)}"
        for name, cost, slope in zip(names, costs, slopes, strict=True)
        if cost is not None
    ]
    lines_text = format_count(table.height, "line")
    return plot.with_titles(
        plot.layered(
            [*chance_layers(plane), line_layer(plot, strokeWidth=1, opacity=0.7), ring], rows
        ),
        title=f"{kind.title}: lines of equal cost",
        subtitle="Rings: rows of lowest cost",
        description=[
            f"{plane.name}, {lines_text} of equal expected cost: {plane.axis_names}",
            chance_text(plane),
            join_first(texts, separator="; "),
        ],
    )


def _line(
    plane: Plane, point: Sequence[float], slope: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return points of the part of a line inside the axes; empty if there is none.

    The line passes through `point`. Its slope is not negative, and infinite for a vertical line.
    """
    none = np.zeros(0)
    if not np.isfinite(point).all() or np.isnan(slope):
        return none, none
    step = (0.0, 1.0) if slope == inf else (1.0, slope)
    enter, leave = -inf, inf
    for axis, value, change in zip((plane.x, plane.y), point, step, strict=True):
        if change > 0:
            enter = max(enter, (axis.low - value) / change)
            leave = min(leave, (axis.high - value) / change)
        elif not axis.low <= value <= axis.high:
            return none, none
    if leave <= enter:
        return none, none
    shares = np.array([0.0, 1.0])
    if plane.excludes_zero:  # dense near both ends
        small = np.geomspace(1e-6, 0.5, CURVED_STEPS // 2)
        shares = np.unique(np.concatenate([shares, small, 1 - small]))
    at = enter + shares * (leave - enter)
    x, y = (
        np.clip(np.round(value + at * change, 15), axis.low, axis.high)
        for axis, value, change in zip((plane.x, plane.y), point, step, strict=True)
    )
    return x, y
