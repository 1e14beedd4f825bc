"""Charts of numbers with intervals: areas, tests, differences and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.charts.dot_plot import (
    HIGH,
    LOW,
    REASON,
    RIGHT_TEXT,
    DotPlot,
    documented_columns,
    dot_layers,
    mark_name,
    read_rows,
    row_records,
)
from rocframe.charts.groups import PANEL_SIDE, GroupColumn, read_groups
from rocframe.charts.labels import (
    chart_text,
    domain_of,
    finite,
    inline_data,
    json_values,
    level_text,
    note_text,
    number_text,
    one_row,
    sentences,
    short_name,
    tooltip,
)
from rocframe.charts.layer_chart import LayerChart
from rocframe.charts.style import CHANCE_STROKE
from rocframe.frames import column
from rocframe.options import NOT_GIVEN
from rocframe.table_types import DotStyle
from rocframe.text import format_count, format_p_value, format_values, join_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import Groups
    from rocframe.table_types import Table

SHORT_NAMES = {
    "auc": "AUC",
    "partial_auc": "partial AUC",
    "tpr": "TPR",
    "fpr": "FPR",
    "average_precision": "average precision",
    "brier": "Brier score",
    "log_loss": "logarithmic loss",
}


def interval_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot and an interval for each row of a table of areas or tests."""
    style = layout.type.dots
    assert style is not None
    time = _time_axis(table, layout.by, options)
    if time is not None and len(style.marks) == 1 and not (style.part or style.tests):
        return _time_chart(table, layout.by, time, options, style)
    parts = {style.part: table.get_column(style.part).to_list()} if style.part else {}
    rows = read_rows(table, layout.by, color=options.color, facet=options.facet, parts=parts)
    shown = [name for name in documented_columns(table, layout.by) if name != style.part]
    return _draw(table, rows, style, shown)


MIN_TIMES = 3  # minimum number of times of a time axis; fewer times are lines of a dot plot
TIME, TIME_WIDTH, TIME_HEIGHT = "time", 560, 260


def _time_axis(table: pl.DataFrame, by: Sequence[str], options: ChartOptions) -> str | None:
    """Return the group column of dates or times for the x axis, or None for a dot plot."""
    times = [
        name
        for name in by
        if table.schema[name].base_type() in {pl.Date, pl.Datetime}
        and name not in {options.color, options.facet}
        and table.get_column(name).n_unique() >= MIN_TIMES
    ]
    return times[0] if len(times) == 1 else None


def _time_chart(
    table: pl.DataFrame, by: Sequence[str], time: str, options: ChartOptions, style: DotStyle
) -> alt.LayerChart | alt.FacetChart:
    """Draw areas over time: for each group, a line through dots with intervals."""
    others = [name for name in by if name != time]
    table = table.filter(column(time).is_not_null()).sort(column(time), maintain_order=True)
    keys = table.select(map(column, others))
    groups = read_groups(keys, others, table.columns, options)
    shown = documented_columns(table, by)
    records = row_records(table, groups, shown)
    times = table.get_column(time)
    # Vega interprets times without a time zone as times in the time zone of the reader. To draw the
    # same times as in the table, times are written and drawn as UTC.
    days = times.cast(pl.Datetime("ms")) if times.dtype == pl.Date else times
    for record, day, text in zip(
        records,
        days.dt.replace_time_zone(None).dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ"),
        format_values(times),
        strict=True,
    ):
        _add_limits(record)
        record |= {TIME: day, "date": text}
    fields = (style.marks[0], LOW, HIGH)
    values = [*finite(record[name] for record in records for name in fields)]
    chance = style.chance is not None and _is_near(style.chance, records, style.marks[:1])
    domain = domain_of([*values, *([style.chance] if chance else [])])
    x = alt.X(f"{TIME}:T", title=short_name(time), scale=alt.Scale(type="utc"))
    y = alt.Y(
        f"{style.marks[0]}:Q",
        title=style.axis,
        scale=alt.Scale(domain=domain, zero=False, nice=True),
    )
    color = groups.line_color()
    detail = [alt.Detail(f"{name}:N") for name in groups.table_columns]
    lines: Any = alt.Chart().mark_line(strokeWidth=1.5)
    points: Any = alt.Chart().mark_point(filled=True, size=36, opacity=1)
    bars: Any = alt.Chart().mark_rule(opacity=0.4)
    layers = [
        lines.encode(x=x, y=y, color=color, detail=detail),
        bars.encode(x=x, y=alt.Y(f"{LOW}:Q"), y2=alt.Y2(f"{HIGH}:Q"), color=color),
        points.encode(
            x=x,
            y=y,
            color=color,
            tooltip=[tooltip("date", short_name(time)), *groups.tooltips(), *map(tooltip, shown)],
        ),
    ]
    if chance:
        line = one_row().mark_rule(**CHANCE_STROKE).encode(y=alt.YDatum(style.chance))
        layers.append(line)
    title = f"{style.title} over {short_name(time)}"
    chart = LayerChart(
        layer=layers,
        data=inline_data(records),
        width=TIME_WIDTH if groups.panel is None else PANEL_SIDE,
        height=TIME_HEIGHT if groups.panel is None else PANEL_SIDE,
    )
    texts = format_values(times)
    return groups.with_titles(
        chart,
        title=title,
        subtitle=_interval_text(table),
        description=sentences(
            f"{title}, {format_count(len(records), 'row')}",
            f"From {texts[0]} to {texts[-1]}" if texts else "",
            groups.captions_text(),
            f"The dashed line is at {style.chance:.4g}" if chance else "",
        ),
    )


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
    name = SHORT_NAMES.get(statistic.removesuffix("_a"), statistic.removesuffix("_a"))
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
        tests=True,
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
    parts = (table.get_column(name).to_list() for name in ("metric", "at", "value"))
    names = [_point_name(metric, at, value) for metric, at, value in zip(*parts, strict=True)]
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
        _add_limits(record)
        value = record[style.marks[0]]
        reason = None if finite([value]) else note_text(value or record.get("note"))
        # All reasons have the same color. If a line has slots for several groups, the text starts
        # with the name of the group.
        record[REASON] = f"{record[str(groups.color)]}: {reason}" if reason and dodged else reason
        if style.tests:
            record[RIGHT_TEXT] = format_p_value(record["p_adjusted"], 3) or ""
    inner = style.inner
    if inner and not any(record[inner[0]] != record[inner[1]] for record in records):
        inner = None
    references = style.references
    if style.chance is not None and _is_near(style.chance, records, (*style.marks, *(inner or ()))):
        references += (style.chance,)
    plot = DotPlot(
        groups=groups,
        dodged=dodged,
        records=records,
        axis=style.axis,
        marks=style.marks,
        inner=inner,
        references=references,
        reference=style.reference,
        right_title="adjusted p" if style.tests else None,
        shown=tuple(shown),
        free_axes=free_axes,
    )
    names = groups.names(len(records))
    texts = [
        f"{name}: {_row_text(record, style)}" for name, record in zip(names, records, strict=True)
    ]
    dashed = [f"at {value:.4g}" for value in references]
    dashed += ["at the null hypothesis"] if style.reference else []
    return plot.layered(
        dot_layers(plot),
        title=style.title,
        subtitle=sentences(_interval_text(table), rule, end=""),
        description=sentences(
            f"{style.title}, {format_count(len(records), 'row')}",
            rule,
            f"The dashed line is {' and '.join(dashed)}" if dashed else "",
            join_first(texts, separator="; "),
        ),
    )


def _add_limits(record: dict[str, Any]) -> None:
    """Add the drawn limits of a row to its record; both are None if one limit is infinite."""
    low, high = record.get("lower"), record.get("upper")
    record[LOW], record[HIGH] = (low, high) if len(finite([low, high])) == 2 else (None, None)


def _is_near(value: float, records: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> bool:
    """Return whether the distance from a value to the drawn numbers is at most their range.

    `fields` are the fields of the numbers that are drawn in addition to the limits.
    """
    known = finite(record[name] for record in records for name in (*fields, LOW, HIGH))
    if not known:
        return True
    low, high = min(known), max(known)
    return 2 * low - high <= value <= 2 * high - low


def _interval_text(table: pl.DataFrame) -> str:
    """Return a text such as "95 % intervals (logit_delong)", with the test if there is one."""

    def values(name: str) -> list[Any]:
        if name not in table.columns:
            return []
        return table.get_column(name).drop_nulls().unique(maintain_order=True).to_list()

    levels, methods, tests = (values(name) for name in ("ci_level", "ci_method", "test"))
    intervals = f"{level_text(table.get_column('ci_level'))} intervals" if levels else ""
    if tests:
        return f"{f'{intervals} (not adjusted), ' if intervals else ''}test: {', '.join(tests)}"
    return f"{intervals} ({', '.join(methods)})" if intervals and methods else ""


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


def _point_name(metric: str, at: str | None, value: float | None) -> str:
    """Return the name of a metric with its operating point, such as "tpr at fpr 0.1"."""
    if at is None:
        return metric
    return f"{metric} by a rule" if value is None else f"{metric} at {at} {value:.4g}"
