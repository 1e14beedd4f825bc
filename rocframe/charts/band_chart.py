"""Charts of confidence bands of ROC curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.charts.average_chart import (
    chart_with_limits,
    limit_columns,
    limit_layers,
    plot_with_limits,
)
from rocframe.charts.axes import roc_plane
from rocframe.charts.curve_layers import chance_layers, chance_text, hover_layer, line_layer
from rocframe.charts.labels import RATE_FORMAT, tooltip
from rocframe.charts.layer_chart import ESTIMATE
from rocframe.text import format_count, format_percent

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import Table

CURVE_WIDTH = 1.5
# For each field of a drawn point, the column of the table of `band`.
POINT_COLUMNS = {
    "x": "fpr",
    "y": "tpr",
    "x_low": "fpr_lower",
    "x_high": "fpr_upper",
    "y_low": "lower",
    "y_high": "upper",
}


def band_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw each curve with its band.

    If both axes have limits, crosses show them instead of a band. There is no line then, because a
    line through few thresholds is not the curve.
    """
    plane = roc_plane(options)
    both = table.get_column("fpr_lower").null_count() < table.height
    averaged = ("x", "y") if both else ("y",)
    fields = {name: one for name, one in POINT_COLUMNS.items() if both or one[:4] != "fpr_"}
    plot = plot_with_limits(
        table.sort("fpr", "tpr"), layout.by, fields, options, plane=plane, averaged=averaged
    )
    rows = [tooltip(name, number=RATE_FORMAT) for name in fields.values()]
    layers = [
        *limit_layers(plot, _band_text(table, "ci_level", "scope"), limit_columns(fields)),
        *chance_layers(plane),
        *([] if both else [line_layer(plot, strokeWidth=CURVE_WIDTH, style=ESTIMATE)]),
        hover_layer(plot),
    ]
    bands = _band_text(table, "ci_level", "scope", "band")
    return plot.with_titles(
        chart_with_limits(plot, layers, [*plot.groups.tooltips(), *rows]),
        title="ROC band",
        subtitle=bands,
        description=[
            f"ROC band chart, {format_count(len(plot.records), 'band')}: {plane.axis_names}",
            chance_text(plane),
            bands,
        ],
    )


def _band_text(table: pl.DataFrame, *names: str) -> str:
    """Return a text such as "95 % simultaneous band (working_hotelling)".

    `names` are the columns with the level, the scope and, optionally, the method.
    """
    bands = table.select(names).unique(maintain_order=True)
    return ", ".join(
        " ".join([f"{format_percent(level)} {scope} band", *(f"({name})" for name in method)])
        for level, scope, *method in zip(*(values.to_list() for values in bands), strict=True)
    )
