"""Charts of the gap between the mean AUC of folds and the AUC of all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from rocframe.charts.dot_plot import (
    REASON,
    DotPlot,
    documented_columns,
    mark_legend,
    read_rows,
    row_records,
)
from rocframe.charts.labels import note_text, number_text, sentences
from rocframe.charts.style import COLORS, FOREGROUND
from rocframe.text import format_count, join_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import Table

# Start, end, color and width of both parts of the gap. The parts can overlap, so one part is wide
# and light, and the other is thin and dark.
GAP_PARTS = {
    "within folds": ("mean_auc", "within_auc", COLORS[5], 8),
    "between folds": ("within_auc", "pooled_auc", COLORS[1], 2.5),
}
END_SYMBOLS = {"mean_auc": "circle", "pooled_auc": "diamond"}


def pooling_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the gap of each row as two lines between the mean and the pooled AUC."""
    groups, dodged = read_rows(table, layout.by, color=None, facet=options.facet)
    shown = documented_columns(table, layout.by)
    records = row_records(table, groups, shown)
    for record in records:
        record[REASON] = note_text(record["note"]) if record["mean_auc"] is None else None
    plot = DotPlot(
        groups=groups,
        dodged=dodged,
        records=records,
        axis="AUC",
        marks=("mean_auc", "pooled_auc", "within_auc"),
        shown=tuple(shown),
    )
    names = groups.names(len(records))
    texts = [f"{name}: {_gap_text(record)}" for name, record in zip(names, records, strict=True)]
    return plot.layered(
        [*(_gap_part(plot, name) for name in GAP_PARTS), *(_end(plot, n) for n in END_SYMBOLS)],
        title="Pooling gap",
        subtitle="AUC of all rows minus mean AUC of the folds",
        description=sentences(
            f"Pooling gap, {format_count(len(records), 'row')}", join_first(texts, separator="; ")
        ),
    )


def _gap_part(plot: DotPlot, name: str) -> alt.Chart:
    """Draw the part `name` of the gap of each row as a line."""
    start, end, _, width = GAP_PARTS[name]
    scale = alt.Scale(domain=list(GAP_PARTS), range=[color for *_, color, _ in GAP_PARTS.values()])
    legend = alt.Legend(title="gap", symbolType="stroke", symbolStrokeWidth=4, labelLimit=0)
    layer: alt.Chart = (
        alt.Chart()
        .mark_rule(strokeWidth=min(width, plot.slot_height))
        .transform_calculate(step=f"'{name}'")
        .encode(
            x=plot.x_channel(start),
            x2=alt.X2(f"{end}:Q"),
            color=alt.Color("step:N", scale=scale, legend=legend),
            tooltip=plot.tooltips(),
            **plot.line_channels(),
        )
    )
    return layer


def _end(plot: DotPlot, name: str) -> alt.Chart:
    """Draw a mark at one end of the gap of each row; `name` is the column of this end."""
    scale = alt.Scale(domain=list(END_SYMBOLS), range=list(END_SYMBOLS.values()))
    layer: alt.Chart = (
        alt.Chart()
        .mark_point(size=plot.dot_size, filled=True, opacity=1, color=FOREGROUND)
        .transform_calculate(mark=f"'{name}'")
        .encode(
            x=plot.x_channel(name),
            shape=alt.Shape("mark:N", scale=scale, legend=mark_legend(END_SYMBOLS)),
            tooltip=plot.tooltips(),
            **plot.line_channels(),
        )
    )
    return layer


def _gap_text(record: Mapping[str, float | str | None]) -> str:
    """Describe one row: its numbers, or the reason why they are undefined."""
    if record[REASON] is not None:
        return str(record[REASON])
    mean, pooled, gap, between, within = (
        number_text(record[name])
        for name in ("mean_auc", "pooled_auc", "gap", "gap_between", "gap_within")
    )
    return (
        f"mean AUC {mean}, pooled AUC {pooled}, gap {gap} "
        f"({between} between folds, {within} within folds)"
    )
