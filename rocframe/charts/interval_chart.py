"""Charts of numbers with intervals: areas, tests, differences and metrics."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.charts.dot_plot import (
    ESTIMATE_TEXT,
    INTERVAL_ENDS,
    REASON,
    DotPlot,
    RightText,
    add_numbers,
    add_reason,
    documented_columns,
    dot_layers,
    interval_text,
    is_near,
    mark_name,
    read_rows,
    row_records,
    title_with_counts,
)
from rocframe.charts.groups import GroupColumn
from rocframe.charts.labels import (
    MAX_NAME_LENGTH,
    chart_text,
    distinct_number_texts,
    finite,
    json_values,
    level_text,
    note_text,
    number_text,
    sentences,
)
from rocframe.charts.time_chart import date_column, time_chart
from rocframe.frames import column, number_distinct_rows
from rocframe.inference import simultaneous_limits
from rocframe.options import NOT_GIVEN
from rocframe.rates import NAMES
from rocframe.schemas.table_type import POINT_NAMES, DotStyle
from rocframe.text import format_count, format_p_value, join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.dot_plot import DotRows
    from rocframe.schemas.table_type import Table

MAX_DRAWN_PAIRS = 40  # the names of more lines would overlap
PAIR_NAME_LENGTH = 28  # of each of the two names
MAX_TITLE_LENGTH = 28  # of the title of the numbers
SIMULTANEOUS = ("_lower", "_upper")  # the fields of simultaneous limits
STATISTIC, STATISTIC_VALUE = (
    "_statistic",
    "_value",
)  # the fields of charts with a panel for each statistic
# Statistics that are better if they are lower. The other direction is that of `NAMES`, or higher.
LOWER_IS_BETTER = {
    *("brier", "log_loss", "eer", "ece", "mce", "ici", "e50", "e90", "e_max", "miscalibration"),
    *("cllr", "cllr_min", "expected_loss", "uncertainty"),
}


def interval_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot and an interval for each row of a table of areas or tests."""
    style = layout.type.dots
    assert style is not None
    single = len(style.marks) == 1 and not (style.part or style.p_values)
    time = date_column(table, layout.by, options)
    if time is not None and single:
        return time_chart(table, layout.by, time, options, style)
    title = title_with_counts(style.title, table)
    if style.in_panels:
        return _statistics_chart(table, layout, options, replace(style, title=title))
    parts = {style.part: table.get_column(style.part).to_list()} if style.part else {}
    shown = [name for name in documented_columns(table, layout.by) if name != style.part]
    rows = read_rows(
        table,
        layout.by,
        options,
        taken=shown,
        parts=parts,
        ranking=None if style.part else _better_first(table, style.marks[0]),
    )
    return _draw(table, rows, replace(style, title=title), shown)


def _better_first(table: pl.DataFrame, name: str) -> list[float | None]:
    """Return the values of a column as numbers that are larger for better values."""
    values = json_values(table.get_column(name))
    sign = -1 if _better(name) == "lower" else 1
    return [sign * value if finite([value]) else None for value in values]


def _better(name: str) -> str:
    """Return whether "higher" or "lower" values of a statistic are better; empty if neither is."""
    if name in LOWER_IS_BETTER:
        return "lower"
    better = NAMES[name].better if name in NAMES else "higher"
    return "" if better == "neither" else better


def _statistics_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions, style: DotStyle
) -> alt.LayerChart | alt.FacetChart:
    """Draw statistics of different scales in panels with separate axes."""
    shown = documented_columns(table, layout.by)
    n_parts, ranking = len(style.marks), _better_first(table, style.marks[0])
    cells = [(row, part) for row in range(table.height) for part in range(n_parts)]
    values = pl.concat([table.get_column(name).cast(pl.Float64) for name in style.marks])
    better = {"higher": " (better →)", "lower": " (← better)", "": ""}
    titles = [f"{mark_name(name)}{better[_better(name)]}" for name in style.marks]
    long = table[[row for row, _ in cells]]
    rows = read_rows(
        long,
        layout.by,
        options,
        taken=[*shown, STATISTIC_VALUE],
        parts={STATISTIC: [titles[part] for _, part in cells]},
        in_panels=True,
        ranking=[None if part else ranking[row] for row, part in cells],
    )
    drawn = values[[part * table.height + row for row, part in cells]].alias(STATISTIC_VALUE)
    style = replace(style, marks=(STATISTIC_VALUE,), axis="")
    return _draw(long.with_columns(drawn), rows, style, shown, free_axes=True)


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
    """Draw the difference of each pair of models, its intervals and its p-values."""
    columns = documented_columns(table, layout.by)
    table, rule = _smallest_p_values(_with_simultaneous_limits(table, layout.by))
    statistic = next((name for name in columns[2:] if name.endswith("_a")), "area")
    name = mark_name(statistic.removesuffix("_a"))
    models = model_texts(table, PAIR_NAME_LENGTH).texts
    pairs = zip(models[: table.height], models[table.height :], strict=True)
    rows = read_rows(
        table,
        layout.by,
        replace(options, color=None) if options.color is NOT_GIVEN else options,
        taken=columns,
        parts={"model_a − model_b": [f"{a} − {b}" for a, b in pairs]},
        ranking=_better_first(table, "difference"),
    )
    style = DotStyle(
        title=title_with_counts(f"Differences of {name}", table),
        axis=f"Difference of {name}",
        marks=("difference",),
        references=(0.0,),
        p_values=("p_value", "p_adjusted"),
    )
    return _draw(table, rows, style, columns, rule=rule)


def _with_simultaneous_limits(table: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return a table of differences with simultaneous limits, if they can be computed."""
    levels = table.get_column("ci_level").drop_nulls().unique().to_list()
    if len(levels) != 1:
        return table
    keys = table.select(map(column, by))
    groups = number_distinct_rows(keys)[1].to_numpy() if by else np.zeros(table.height, np.int64)
    limits = simultaneous_limits(table, groups, levels[0])
    if limits is None:
        return table
    return table.with_columns(
        pl.Series(name, part, nan_to_null=True)
        for name, part in zip(SIMULTANEOUS, limits, strict=True)
    )


def model_texts(table: pl.DataFrame, length: int = MAX_NAME_LENGTH) -> GroupColumn:
    """Return `model_a` of all rows, followed by `model_b` of all rows, as one column.

    Each name has at most about `length` characters.
    """
    names = (table.get_column(name).alias("model") for name in ("model_a", "model_b"))
    return GroupColumn.from_keys(pl.concat(names), length)


def metric_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot and an interval for each metric, in panels if a value is outside [0, 1]."""
    names = _point_names(table)
    values = [json_values(table.get_column(name)) for name in ("estimate", "lower", "upper")]
    outside = any(not 0 <= value <= 1 for part in values for value in finite(part))
    several = len(set(names)) > 1
    in_panels = several and outside
    metrics, estimates = table.get_column("metric").to_list(), values[0]
    ranking = [
        (-1 if _better(metric) == "lower" else 1) * value
        if finite([value]) and name == names[0]
        else None
        for metric, name, value in zip(metrics, names, estimates, strict=True)
    ]
    shown = [name for name in documented_columns(table, layout.by) if name != "metric"]
    rows = read_rows(
        table,
        layout.by,
        options,
        taken=shown,
        parts={"metric": names} if several else {},
        in_panels=in_panels,
        ranking=ranking if in_panels or not several else None,
    )
    axis = "Estimate" if several or not names else chart_text(names[0])
    title = "Metrics" if several or not names else axis
    style = DotStyle(title=title_with_counts(title, table), axis=axis, marks=("estimate",))
    return _draw(table, rows, style, shown, free_axes=in_panels)


def _draw(
    table: pl.DataFrame,
    rows: DotRows,
    style: DotStyle,
    shown: Sequence[str],
    *,
    free_axes: bool = False,
    rule: str = "",
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot plot of a table.

    `shown` are the columns in tooltips. If only some rows of a long table are drawn, `rule` states
    which rows.
    """
    groups, mark = rows.groups, style.marks[0]
    private = [name for name in (*SIMULTANEOUS, STATISTIC_VALUE) if name in table.columns]
    records = row_records(table, groups, [*shown, *private])
    limits = (
        INTERVAL_ENDS
        if set(INTERVAL_ENDS) <= set(shown) and STATISTIC_VALUE not in private
        else None
    )
    for record in records:
        value = record[mark]
        reason = None if finite([value]) else note_text(value or record.get("note"))
        add_reason(record, reason, rows)
    add_numbers(records, mark, limits or (), groups.panel if free_axes else None)
    levels = level_text(table.get_column("ci_level")) if "ci_level" in shown else ""
    has_limits = any(finite(record.get("lower") for record in records))
    estimate = style.axis or "Value"
    estimate = estimate if len(estimate) <= MAX_TITLE_LENGTH else mark_name(mark)
    title = f"{estimate} ({levels} interval)" if limits and has_limits and levels else estimate
    right = [RightText(field=ESTIMATE_TEXT, title=title), *_p_values(records, style)]
    alpha = _alpha(table, style)
    significant = f"isValid(datum.p_adjusted) && datum.p_adjusted < {alpha}"
    inner = style.box
    if inner and not any(record[inner[0]] != record[inner[1]] for record in records):
        inner = None
    references = style.references
    drawn = (*style.marks, *(inner or ()))
    # The interval of a single row would otherwise be as wide as the chart.
    if style.chance is not None and (len(records) == 1 or is_near(style.chance, records, drawn)):
        references += (style.chance,)
    simultaneous = SIMULTANEOUS if SIMULTANEOUS[0] in private else None
    plot = DotPlot(
        rows=rows,
        records=records,
        axis=style.axis,
        marks=style.marks,
        limits=limits,
        simultaneous=simultaneous,
        keys=(f"simultaneous {levels} intervals (Bonferroni)", f"{levels} intervals"),
        inner=inner,
        references=references,
        reference=style.reference_column,
        right=tuple(right),
        gray=f"!({significant})" if alpha is not None else None,
        shown=tuple(shown),
        free_axes=free_axes,
    )
    names = groups.names(len(records))
    texts = [
        f"{name}: {_row_text(record, style, limits)}"
        for name, record in zip(names, records, strict=True)
    ]
    dashed = [f"at {value:.4g}" for value in references]
    dashed += ["at the null hypothesis"] if style.reference_column else []
    gray = "" if alpha is None else f"Gray: adjusted p ≥ {alpha:.4g}"
    return plot.layered(
        dot_layers(plot),
        title=style.title,
        subtitle=sentences(interval_text(table), gray, rule, end=""),
        description=sentences(
            f"{style.title}, {format_count(len(records), 'row')}",
            rule,
            f"The dashed line is {' and '.join(dashed)}" if dashed else "",
            join_first(texts, separator="; "),
        ),
    )


def _alpha(table: pl.DataFrame, style: DotStyle) -> float | None:
    """Return the significance level of the adjusted p-values of a table with limits, or None."""
    if not style.p_values or style.p_values[1] != "p_adjusted" or "ci_level" not in table.columns:
        return None
    levels = table.get_column("ci_level").drop_nulls().unique().to_list()
    return round(1 - levels[0], 10) if len(levels) == 1 else None


def _p_values(records: Sequence[dict[str, Any]], style: DotStyle) -> list[RightText]:
    """Add the p-values to the records as text, and return the columns of the texts.

    There is no column of unadjusted p-values if they are equal to the adjusted ones.
    """
    titles = ("p", "adjusted p")
    for name in style.p_values:
        for record in records:
            record[f"_{name}"] = format_p_value(record[name], 3) or ""
    columns = [
        RightText(field=f"_{name}", title=title)
        for name, title in zip(style.p_values, titles, strict=False)
    ]
    equal = all(len({record[name] for name in style.p_values}) < 2 for record in records)
    return columns[-1:] if equal else columns


def _row_text(record: dict[str, Any], style: DotStyle, limits: Sequence[str] | None) -> str:
    """Describe one row: its numbers, or the reason why they are undefined."""
    if record.get(REASON) is not None:
        return str(record[REASON])
    text = number_text(record[style.marks[0]])
    ends = finite(record[name] for name in limits or ())
    if len(ends) == 2:
        text += f" ({number_text(ends[0])} to {number_text(ends[1])})"
    for mark in style.marks[1:]:
        text += f", {mark_name(mark)} {number_text(record[mark])}"
    for name, title in zip(style.p_values, ("p", "adjusted p"), strict=False):
        p_value = record[f"_{name}"]
        if p_value:
            text += f", {title} {p_value}" if p_value[0] == "<" else f", {title} = {p_value}"
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
