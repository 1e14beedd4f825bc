"""Charts of smooth ROC curves: fitted or theoretical."""

from __future__ import annotations

from dataclasses import replace
from math import nan
from typing import TYPE_CHECKING

from rocframe.charts.average_chart import chart_with_limits, plot_with_limits
from rocframe.charts.axes import roc_plane
from rocframe.charts.curve_layers import (
    chance_layers,
    chance_text,
    curve_stroke,
    hover_layer,
    line_layer,
)
from rocframe.charts.groups import area_captions, total_area
from rocframe.frames import column
from rocframe.text import format_count

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import Table


def smooth_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw smooth ROC curves as lines."""
    plane = roc_plane(options)
    keys = list(map(column, layout.by))
    ordered = table.sort(*keys, "fpr", "tpr")
    plot = plot_with_limits(ordered, layout.by, {"x": "fpr", "y": "tpr"}, options, plane=plane)
    firsts = ordered.unique(keys, keep="first", maintain_order=True) if keys else ordered.head(1)
    areas = [nan if area is None else float(area) for area in firsts.get_column("auc").to_list()]
    by_color = plot.groups.captioned_column
    groups = replace(plot.groups, captions=area_captions(by_color, areas, plane.kind))
    plot = replace(plot, groups=groups)
    area = "" if by_color else total_area(areas, plane.kind, groups)
    layers = [
        line_layer(plot, **curve_stroke(plot)),
        *chance_layers(plane),
        hover_layer(plot),
    ]
    curves = format_count(len(plot.records), "curve")
    return plot.with_titles(
        chart_with_limits(plot, layers, [*groups.tooltips(), *plot.axis_tooltips()]),
        title="Smooth ROC",
        subtitle=area,
        description=[
            f"Smooth ROC chart, {curves}: {plane.axis_names}",
            chance_text(plane),
            groups.captions_text() or area,
        ],
    )
