"""Charts of the gap between the mean AUC of folds and the AUC of all rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import altair as alt

from rocframe.charts.dot_plot import (
    REASON,
    DotPlot,
    add_reason,
    documented_columns,
    mark_layer,
    read_rows,
    row_records,
    span,
    title_with_counts,
)
from rocframe.charts.labels import json_values, note_text, number_text, sentences
from rocframe.charts.style import REFERENCE_COLOR
from rocframe.text import format_count, join_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import Table

# Start, end and width of both parts of the gap. The parts can overlap, so one part is wide.
GAP_PARTS = {
    "within folds": ("mean_auc", "within_auc", 8),
    "between folds": ("within_auc", "pooled_auc", 2.5),
}
PART = "_gap"
ENDS = ("mean_auc", "pooled_auc")


def pooling_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the gap of each row as two lines between the mean and the pooled AUC."""
    shown = documented_columns(table, layout.by)
    rows = read_rows(
        table,
        layout.by,
        replace(options, color=None),
        taken=shown,
        ranking=json_values(table.get_column("mean_auc")),
    )
    records = row_records(table, rows.groups, shown)
    for record in records:
        add_reason(record, note_text(record["note"]) if record["mean_auc"] is None else None, rows)
    plot = DotPlot(
        rows=rows,
        records=records,
        axis="AUC",
        marks=(*ENDS, "within_auc"),
        limits=None,
        signs="●◆",
        shown=tuple(shown),
    )
    names = rows.groups.names(len(records))
    texts = [f"{name}: {_gap_text(record)}" for name, record in zip(names, records, strict=True)]
    scale = alt.Scale(domain=list(GAP_PARTS))
    legend = alt.Legend(title="gap", symbolType="stroke", symbolStrokeWidth=4, labelLimit=0)
    ends = (mark_layer(plot, name, filled=True, size=plot.dot_size) for name in ENDS)
    return plot.layered(
        [
            *(_gap_part(plot, name) for name in GAP_PARTS),
            *(
                end.encode(color=alt.value(REFERENCE_COLOR), strokeDash=alt.value([1, 0]))
                for end in ends
            ),
        ],
        title=title_with_counts("Pooling gap", table),
        subtitle="AUC of all rows minus mean AUC of the folds",
        description=sentences(
            f"Pooling gap, {format_count(len(records), 'row')}", join_first(texts, separator="; ")
        ),
        color=alt.Color(f"{PART}:N", scale=scale, legend=legend),
    )


def _gap_part(plot: DotPlot, name: str) -> alt.Chart:
    """Draw the part `name` of the gap of each row as a line."""
    start, end, width = GAP_PARTS[name]
    layer: alt.Chart = alt.Chart().mark_rule(strokeWidth=min(width, plot.slot_height))
    return layer.transform_calculate(**{PART: f"'{name}'"}).encode(**span(start, end))


def _gap_text(record: Mapping[str, float | str | None]) -> str:
    """Describe one row: its numbers, or the reason why they are undefined."""
    if record.get(REASON) is not None:
        return str(record[REASON])
    mean, pooled, gap, between, within = (
        number_text(record[name])
        for name in ("mean_auc", "pooled_auc", "gap", "gap_between", "gap_within")
    )
    return (
        f"mean AUC {mean}, pooled AUC {pooled}, gap {gap} "
        f"({between} between folds, {within} within folds)"
    )
