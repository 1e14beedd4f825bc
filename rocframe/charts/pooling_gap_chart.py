"""Tables of what pooling changes → one Altair chart: from each mean to its pooled area."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.dot_plot import (
    WHY,
    Dots,
    framed_dots,
    line_of,
    own_columns,
    place_on,
    rows_of,
    tooltip_of,
    undefined,
)
from rocframe.charts.labels import plain, said, why
from rocframe.charts.style import COLORS, INK

if TYPE_CHECKING:
    import polars as pl

    from rocframe.charts.chart import Asked
    from rocframe.schemas import Table


MOST = 10  # rows that a description lists

# The two ways from a mean to its pooled area, from where to where, and how they are drawn: one
# wide and light, the other thin and dark, for they may lie over each other.
STEPS = {
    "within folds": ("mean_auc", "within_auc", COLORS[5], 8),
    "between folds": ("within_auc", "pooled_auc", COLORS[1], 2.5),
}

ENDS = {"mean_auc": "circle", "pooled_auc": "diamond"}


def pooling_chart(
    table: pl.DataFrame, found: Table, asked: Asked
) -> alt.LayerChart | alt.FacetChart:
    """Draw the way from the mean of the areas of folds to that of all rows."""
    rows = rows_of(table, found.by, color=None, facet=asked.facet)
    told = own_columns(table, found.by)
    values = {name: plain(table.get_column(name)) for name in told}
    records: list[dict[str, Any]] = [
        {**names, **dict(zip(values, row, strict=True))}
        for names, row in zip(rows.records(), zip(*values.values(), strict=True), strict=True)
    ]
    for record in records:
        record[WHY] = why(record["note"]) if record["mean_auc"] is None else None
    dots = Dots(
        rows=rows,
        records=records,
        axis="AUC",
        marks=("mean_auc", "pooled_auc", "within_auc"),
        tooltip=tuple(told),
    )
    layers = [*(_step(dots, name) for name in STEPS), *(_end(dots, name) for name in ENDS)]
    return framed_dots(
        dots,
        [*layers, undefined(dots)],
        title="What pooling changes",
        subtitle="from the mean of the areas of folds to the area of all rows",
        description=_described(dots),
    )


def _step(dots: Dots, name: str) -> alt.Chart:
    """Return one part of the way."""
    start, end, _, width = STEPS[name]
    scale = alt.Scale(domain=list(STEPS), range=[color for *_, color, _ in STEPS.values()])
    legend = alt.Legend(title="gap", symbolType="stroke", symbolStrokeWidth=4, labelLimit=0)
    layer: alt.Chart = (
        alt.Chart()
        .mark_rule(strokeWidth=min(width, dots.place))
        .transform_calculate(step=f"'{name}'")
        .encode(
            x=place_on(dots, start),
            x2=f"{end}:Q",
            color=alt.Color("step:N", scale=scale, legend=legend),
            tooltip=tooltip_of(dots),
            **line_of(dots),
        )
    )
    return layer


def _end(dots: Dots, name: str) -> alt.Chart:
    """Return the marks at one end of the ways."""
    scale = alt.Scale(domain=list(ENDS), range=list(ENDS.values()))
    layer: alt.Chart = (
        alt.Chart()
        .mark_point(size=dots.size, filled=True, opacity=1, color=INK)
        .transform_calculate(mark=f"'{name}'")
        .encode(
            x=place_on(dots, name),
            shape=alt.Shape("mark:N", scale=scale, legend=alt.Legend(title=None, labelLimit=0)),
            tooltip=tooltip_of(dots),
            **line_of(dots),
        )
    )
    return layer


def _described(dots: Dots) -> str:
    """Say what a chart shows, for those who cannot see it."""
    count = len(dots.records)
    text = f"What pooling changes, {count} {'row' if count == 1 else 'rows'}."
    told = [
        f"{name}: {record[WHY]}"
        if record[WHY] is not None
        else f"{name}: mean AUC {said(record['mean_auc'])}, pooled AUC "
        f"{said(record['pooled_auc'])}, gap {said(record['gap'])} "
        f"({said(record['gap_between'])} between folds, {said(record['gap_within'])} within)"
        for name, record in zip(dots.rows.named[:MOST], dots.records[:MOST], strict=True)
    ]
    more = f" And {count - MOST} more." if count > MOST else ""
    return f"{text} {'; '.join(told)}.{more}" if told else text
