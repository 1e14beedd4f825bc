"""Charts with a line for each row: areas, tests, differences, metrics and ranges of costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.axes import axis_title
from rocframe.charts.dot_plot import (
    better,
    documented_columns,
    draw_dots,
    mark_name,
    title_with_counts,
    with_panels,
)
from rocframe.charts.groups import JOINT, GroupColumn, Groups, free_name, read_groups, row_records
from rocframe.charts.layer_chart import layered
from rocframe.charts.style import (
    BACKGROUND,
    GRAY,
    MAX_NAME_LENGTH,
    REFERENCE_COLOR,
    chart_text,
    distinct_number_texts,
    finite,
    inline_data,
    json_values,
    level_text,
    number_text,
    tooltip,
)
from rocframe.charts.time_chart import date_column, time_chart
from rocframe.frames import number_distinct_rows, select_keys
from rocframe.inference import simultaneous_limits
from rocframe.schemas.table_type import POINT_NAMES, Span
from rocframe.text import join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import DotStyle, Table

MAX_DRAWN_PAIRS = 40  # the names of more lines would overlap
PAIR_NAME_LENGTH = 28  # of each of the two names
# Columns of simultaneous limits, and of the names and values of statistics in panels.
SIMULTANEOUS, STATISTIC = ("_lower", "_upper"), ("_statistic", "_value")
SIMULTANEOUS_WIDTH, UNADJUSTED_WIDTH = 1, 4
SHARED_OPACITY = 0.35
# Titles of the values of rules that are not metrics.
RULE_TITLES = {
    "closest_top_left": "Distance to (0, 1)",
    "equal_error": "Mean of FPR and FNR",
    "profit": "Profit per row",
}
CELL_SIDE, MIN_CELL_SIDE, MAX_MATRIX_SIDE = 52, 12, 560  # pixels
MIN_SIDE_WITH_TEXT = 26  # smaller cells have no room for numbers
MIN_DARK = 0.85  # cells with a larger absolute correlation are dark and have light text
UNDEFINED_TEXT = "null"
# Colors of the correlations -1 to 1, distinct also for readers with red-green color blindness.
SCALE_COLORS = ("#B35806", "#FDB863", "#F7F7F7", "#92C5DE", "#0072B2")
MAX_DESCRIBED_PAIRS = 6


def dot_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the columns of a table as dots, or over time if there is one number for each date."""
    style = layout.dots
    time = date_column(table, layout.by, options)
    if time is not None and len(style.marks) == 1 and not (style.part or style.p_values):
        return time_chart(table, layout.by, time, options, style)
    if style.in_panels:
        table, style = _statistics(table, style)
    return draw_dots(table, layout.by, options, style)


def _statistics(table: pl.DataFrame, style: DotStyle) -> tuple[pl.DataFrame, DotStyle]:
    """Return a table with a row for each mark of each row, and its style."""
    names = [free_name(name, table.columns) for name in STATISTIC]
    arrows = {"higher": " (better →)", "lower": " (← better)", "": ""}
    parts = [
        table.with_columns(
            pl.lit(f"{mark_name(name)}{arrows[better(name)]}").alias(names[0]),
            pl.col(name).cast(pl.Float64).alias(names[1]),
        )
        for name in style.marks
    ]
    order = np.arange(len(parts) * table.height).reshape(len(parts), -1).T.ravel()
    first = style.marks[0]
    style = replace(style, part=names[0], marks=(names[1],), statistic=first, axis="")
    return pl.concat(parts)[order], style


def comparison_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the difference of each pair of models, its intervals and its p-values."""
    style = layout.dots
    names = documented_columns(table, layout.by)
    statistic = next((name for name in names[2:] if name.endswith("_a")), "area")
    name = mark_name(statistic.removesuffix("_a"))
    low, high, pair = (free_name(name, table.columns) for name in (*SIMULTANEOUS, str(style.part)))
    levels = table.get_column("ci_level").drop_nulls().unique().to_list()
    if len(levels) == 1:
        style = replace(style, alpha=round(1 - levels[0], 10))
        groups = number_distinct_rows(select_keys(table, layout.by))[1].to_numpy()
        limits = simultaneous_limits(table, groups, levels[0])
        if limits is not None:
            table = table.with_columns(
                pl.Series(name, part, nan_to_null=True)
                for name, part in zip((low, high), limits, strict=True)
            )
            text = f"{level_text(table.get_column('ci_level'))} intervals"
            style = replace(
                style,
                spans=(
                    Span(
                        start=low,
                        end=high,
                        width=SIMULTANEOUS_WIDTH,
                        name=f"simultaneous {text} (Bonferroni)",
                    ),
                    Span(start="lower", end="upper", width=UNADJUSTED_WIDTH, name=text),
                ),
            )
    table, rule = _smallest_p_values(table)
    pairs = zip(*(models.texts for models in model_columns(table, PAIR_NAME_LENGTH)), strict=True)
    part = pl.Series(pair, [f"{a} − {b}" for a, b in pairs], pl.String)
    style = replace(
        style,
        title=f"{style.title} of {name}",
        axis=f"{style.axis} of {name}",
        part=pair,
        subtitle=rule,
    )
    return draw_dots(table.with_columns(part), layout.by, options, style)


def _smallest_p_values(table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return the rows with the smallest p-values, and a text if other rows are omitted."""
    if table.height <= MAX_DRAWN_PAIRS:
        return table, ""
    size = pl.col("difference").abs()
    order = pl.arg_sort_by(
        "p_value", size, descending=[False, True], nulls_last=True, maintain_order=True
    )
    rows = table.select(order.head(MAX_DRAWN_PAIRS).sort()).to_series()
    return table[rows], f"Rows with the {MAX_DRAWN_PAIRS} smallest of {table.height:,} p-values"


def model_columns(table: pl.DataFrame, length: int = MAX_NAME_LENGTH) -> list[GroupColumn]:
    """Return the columns `model_a` and `model_b`, both with the values of both."""
    names = (table.get_column(name).alias("model") for name in ("model_a", "model_b"))
    both = GroupColumn.from_keys(pl.concat(names), length)
    return [
        replace(both, codes=codes)
        for codes in (both.codes[: table.height], both.codes[table.height :])
    ]


def metric_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot and an interval for each metric, in panels if a value is outside [0, 1]."""
    style = replace(layout.dots, statistic=next(iter(table.get_column("metric")), ""))
    names = _point_names(table)
    if len(set(names)) > 1:
        drawn = (json_values(table.get_column(name)) for name in ("estimate", "lower", "upper"))
        outside = any(not 0 <= value <= 1 for values in drawn for value in finite(values))
        style = replace(style, in_panels=outside, ranked=outside)
    elif names:
        title = chart_text(names[0])
        style = replace(style, part=None, title=title, axis=title)
    table = table.with_columns(pl.Series("metric", names, pl.String))
    return draw_dots(table, layout.by, options, style)


def _point_names(table: pl.DataFrame) -> list[str]:
    """Return the metric of each row with its operating point, such as "tpr at fpr 0.1"."""
    metrics, at, values = (table.get_column(name) for name in ("metric", *POINT_NAMES))
    points = zip(at, values, distinct_number_texts(values), strict=True)
    suffixes = [
        "" if axis is None else " by a rule" if value is None else f" at {axis} {text}"
        for axis, value, text in points
    ]
    return [f"{metric}{suffix}" for metric, suffix in zip(metrics, suffixes, strict=True)]


def transfer_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw `value_chosen` and `value_realised` of each row, with a panel for each rule."""
    style = layout.dots
    rules = table.get_column("rule").unique()
    if len(rules) < 2:
        style = replace(style, part=None, in_panels=False)
    for rule in rules if len(rules) == 1 else []:
        style = replace(style, axis=RULE_TITLES.get(rule) or axis_title(rule))
    return draw_dots(table, layout.by, options, style)


def superiority_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a bar for each range of costs in which a model has the lowest cost."""
    opacity = alt.Opacity(
        "n_best:Q",
        title="lowest cost",
        scale=alt.Scale(type="threshold", domain=[2], range=[1, SHARED_OPACITY]),
        legend=alt.Legend(
            labelExpr="datum.index ? 'several models' : 'one model'",
            symbolFillColor=REFERENCE_COLOR,
            symbolStrokeColor="transparent",
        ),
    )
    has_shared = table.select((pl.col("n_best") > 1).any()).item()
    channels = {"opacity": opacity} if has_shared else {}
    return draw_dots(table, layout.by, options, layout.dots, **channels)


def covariance_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the correlations of the areas of each group as a matrix."""
    models = model_columns(table)
    shown = documented_columns(table, layout.by)
    groups = read_groups(table, layout.by, table.columns, replace(options, color=None), shown)
    groups = with_panels(groups, groups.columns, table.height, shown)
    records = row_records(table, groups, shown)
    for record, a, b in zip(records, models[0].texts, models[1].texts, strict=True):
        record |= {"model_a": a, "model_b": b}
    values = models[0].values
    n_models = len(values)
    cell = max(MIN_CELL_SIDE, min(CELL_SIDE, MAX_MATRIX_SIDE // max(1, n_models)))
    side = cell * max(1, n_models)
    scale = alt.Scale(domain=list(values), type="band")
    axes: dict[str, Any] = {"labelLimit": 0, "labelOverlap": False, "ticks": False, "domain": False}
    colors = alt.Scale(domain=[-1, -0.5, 0, 0.5, 1], range=list(SCALE_COLORS))
    chart = layered(
        _cell_layers(with_numbers=cell >= MIN_SIDE_WITH_TEXT),
        data=inline_data(records),
        encoding={
            "color": alt.Color("correlation:Q", scale=colors),
            "x": alt.X("model_b:N", scale=scale, axis=alt.Axis(labelAngle=-45, **axes)),
            "y": alt.Y("model_a:N", scale=scale, axis=alt.Axis(**axes)),
            "tooltip": [*groups.tooltips(), *map(tooltip, shown)],
        },
        width=side,
        height=side,
    )
    n_groups = f", {len(groups.columns[groups.panel].values)} groups" if groups.panel else ""
    return groups.with_titles(
        chart,
        title=title_with_counts("Correlation of areas", table),
        subtitle="Each pair of models, estimated from the same rows",
        description=[
            f"Correlation of areas, {n_models} models{n_groups}",
            _pairs_text(groups, records, models),
        ],
    )


def _cell_layers(*, with_numbers: bool) -> list[Any]:
    """Draw the cells of a matrix, and the correlations in a color that contrasts with the cell."""
    cells: Any = alt.Chart().mark_rect(stroke=BACKGROUND)
    gray: Any = alt.Chart().transform_filter("!isValid(datum.correlation)")
    gray = gray.mark_rect(stroke=BACKGROUND, opacity=0.3).encode(color=GRAY)
    if not with_numbers:
        return [cells, gray]
    numbers: Any = alt.Chart().mark_text(fontSize=11)
    undefined = numbers.transform_filter("!isValid(datum.correlation)")
    dark = {"test": f"abs(datum.correlation) > {MIN_DARK}", "value": "#f7f7f7"}
    return [
        cells,
        gray,
        numbers.transform_filter("isValid(datum.correlation)").encode(
            text=alt.Text("correlation:Q", format=".2f"),
            color=alt.ColorValue("black", condition=[dark]),
        ),
        undefined.encode(text=alt.TextValue(UNDEFINED_TEXT), color=alt.ColorValue("black")),
    ]


def _pairs_text(
    groups: Groups, records: Sequence[dict[str, Any]], models: Sequence[GroupColumn]
) -> str:
    """Describe the correlations of the pairs of models in each group."""
    names = groups.names(len(records)) if groups.table_columns else [""] * len(records)
    codes = zip(models[0].codes, models[1].codes, strict=True)
    pairs = [
        f"{f'{name}{JOINT}' if name else ''}{record['model_a']} and {record['model_b']}: "
        f"{number_text(record['correlation'])}"
        for name, record, (a, b) in zip(names, records, codes, strict=True)
        if a < b
    ]
    return join_first(pairs, MAX_DESCRIBED_PAIRS, "; ")
