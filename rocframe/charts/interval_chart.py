"""Charts of numbers with intervals: areas, tests, differences and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.charts.dot_plot import (
    HIGH,
    LOW,
    REASON,
    RIGHT_TEXT,
    DotPlot,
    add_limits,
    add_reason,
    documented_columns,
    dot_layers,
    interval_text,
    is_near,
    mark_name,
    read_rows,
    row_records,
)
from rocframe.charts.groups import GroupColumn
from rocframe.charts.labels import (
    chart_text,
    distinct_number_texts,
    finite,
    json_values,
    note_text,
    number_text,
    sentences,
)
from rocframe.charts.time_chart import date_column, time_chart
from rocframe.options import NOT_GIVEN
from rocframe.schemas.columns import POINT_NAMES
from rocframe.schemas.table_type import DotStyle
from rocframe.text import format_count, format_p_value, join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import Groups
    from rocframe.schemas.table_type import Table


def interval_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot and an interval for each row of a table of areas or tests."""
    style = layout.type.dots
    assert style is not None
    time = date_column(table, layout.by, options)
    if time is not None and len(style.marks) == 1 and not (style.part or style.has_p_values):
        return time_chart(table, layout.by, time, options, style)
    parts = {style.part: table.get_column(style.part).to_list()} if style.part else {}
    rows = read_rows(table, layout.by, color=options.color, facet=options.facet, parts=parts)
    shown = [name for name in documented_columns(table, layout.by) if name != style.part]
    return _draw(table, rows, style, shown)


MAX_DRAWN_PAIRS = 40  # the names of more lines would overlap


def _smallest_p_values(table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return the rows with the smallest p-values, and a text if other rows are omitted."""
    if table.height <= MAX_DRAWN_PAIRS:
        return table, ""
    rows = (
        table.select(
            pl.int_range(pl.len()).alias("row"),
            pl.col("p_value").alias("p"),
            pl.col("difference").abs().alias("size"),
        )
        .sort("p", "size", "row", descending=[False, True, False], nulls_last=True)
        .head(MAX_DRAWN_PAIRS)
        .get_column("row")
        .sort()
    )
    return table[rows], f"Rows with the {MAX_DRAWN_PAIRS} smallest of {table.height:,} p-values"


def comparison_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the difference of each pair of models, its interval and its p-value."""
    table, rule = _smallest_p_values(table)
    columns = documented_columns(table, layout.by)
    statistic = next((name for name in columns[2:] if name.endswith("_a")), "area")
    name = mark_name(statistic.removesuffix("_a"))
    models = model_texts(table).texts
    pairs = zip(models[: table.height], models[table.height :], strict=True)
    rows = read_rows(
        table,
        layout.by,
        color=None if options.color is NOT_GIVEN else options.color,
        facet=options.facet,
        parts={"models": [f"{a} − {b}" for a, b in pairs]},
    )
    style = DotStyle(
        title=f"Differences of {name}",
        axis=f"Difference of {name}",
        marks=("difference",),
        references=(0.0,),
        has_p_values=True,
    )
    return _draw(table, rows, style, columns[2:], rule=rule)


def model_texts(table: pl.DataFrame) -> GroupColumn:
    """Return `model_a` of all rows, followed by `model_b` of all rows, as one column."""
    names = (table.get_column(name).alias("model") for name in ("model_a", "model_b"))
    return GroupColumn.from_keys(pl.concat(names))


def metric_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot and an interval for each metric, in panels if a value is outside [0, 1]."""
    names = _point_names(table)
    values = [json_values(table.get_column(name)) for name in ("estimate", "lower", "upper")]
    outside = any(not 0 <= value <= 1 for part in values for value in finite(part))
    in_panels = len(set(names)) > 1 and outside
    rows = read_rows(
        table,
        layout.by,
        color=options.color,
        facet=options.facet,
        parts={"metric": names},
        in_panels=in_panels,
    )
    axis = chart_text(names[0]) if len(set(names)) == 1 else "Estimate"
    style = DotStyle(title="Metrics", axis=axis, marks=("estimate",))
    shown = [name for name in documented_columns(table, layout.by) if name != "metric"]
    return _draw(table, rows, style, shown, free_axes=in_panels)


def _draw(
    table: pl.DataFrame,
    rows: tuple[Groups, bool],
    style: DotStyle,
    shown: Sequence[str],
    *,
    free_axes: bool = False,
    rule: str = "",
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot plot of a table.

    `rows` is the result of `read_rows`, and `shown` are the columns in tooltips. If only some rows
    of a long table are drawn, `rule` states which rows.
    """
    groups, dodged = rows
    records = row_records(table, groups, shown)
    for record in records:
        add_limits(record)
        value = record[style.marks[0]]
        reason = None if finite([value]) else note_text(value or record.get("note"))
        add_reason(record, reason, groups, dodged=dodged)
        if style.has_p_values:
            record[RIGHT_TEXT] = format_p_value(record["p_adjusted"], 3) or ""
    inner = style.box
    if inner and not any(record[inner[0]] != record[inner[1]] for record in records):
        inner = None
    references = style.references
    if style.chance is not None and is_near(style.chance, records, (*style.marks, *(inner or ()))):
        references += (style.chance,)
    plot = DotPlot(
        groups=groups,
        dodged=dodged,
        records=records,
        axis=style.axis,
        marks=style.marks,
        inner=inner,
        references=references,
        reference=style.reference_column,
        right_title="adjusted p" if style.has_p_values else None,
        shown=tuple(shown),
        free_axes=free_axes,
    )
    names = groups.names(len(records))
    texts = [
        f"{name}: {_row_text(record, style)}" for name, record in zip(names, records, strict=True)
    ]
    dashed = [f"at {value:.4g}" for value in references]
    dashed += ["at the null hypothesis"] if style.reference_column else []
    return plot.layered(
        dot_layers(plot),
        title=style.title,
        subtitle=sentences(interval_text(table), rule, end=""),
        description=sentences(
            f"{style.title}, {format_count(len(records), 'row')}",
            rule,
            f"The dashed line is {' and '.join(dashed)}" if dashed else "",
            join_first(texts, separator="; "),
        ),
    )


def _row_text(record: dict[str, Any], style: DotStyle) -> str:
    """Describe one row: its numbers, or the reason why they are undefined."""
    if record[REASON] is not None:
        return str(record[REASON])
    text = number_text(record[style.marks[0]])
    if record[LOW] is not None and record[HIGH] is not None:
        text += f" ({number_text(record[LOW])} to {number_text(record[HIGH])})"
    for mark in style.marks[1:]:
        text += f", {mark_name(mark)} {number_text(record[mark])}"
    p_value = record.get(RIGHT_TEXT)
    if p_value:
        text += f", adjusted p {p_value}" if p_value[0] == "<" else f", adjusted p = {p_value}"
    return text


def _point_names(table: pl.DataFrame) -> list[str]:
    """Return the metric of each row with its operating point, such as "tpr at fpr 0.1"."""
    metrics, at, values = (table.get_column(name) for name in ("metric", *POINT_NAMES))
    points = zip(at, values, distinct_number_texts(values), strict=True)
    suffixes = [
        "" if axis is None else " by a rule" if value is None else f" at {axis} {text}"
        for axis, value, text in points
    ]
    return [f"{metric}{suffix}" for metric, suffix in zip(metrics, suffixes, strict=True)]
