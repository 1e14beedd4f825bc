"""Charts of combined decisions: the possible and the measured points, and chains of models."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.charts.axes import roc_plane
from rocframe.charts.curve_layers import CurvePlot, chance_layers, chance_text
from rocframe.charts.groups import free_name, read_groups
from rocframe.charts.interval_chart import model_texts
from rocframe.charts.labels import (
    RATE_FORMAT,
    json_numbers,
    number_text,
    tooltip,
)
from rocframe.charts.operating_point_chart import POINT_SIZE
from rocframe.charts.style import BACKGROUND, BAND_OPACITY, FOREGROUND, MUTED
from rocframe.frames import column
from rocframe.options import NOT_GIVEN
from rocframe.schemas.columns import MODEL
from rocframe.text import format_count, format_values, join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import Groups
    from rocframe.schemas.table_type import Table

ALONE, INDEPENDENT, MEASURED = "model alone", "expected if independent", "measured"
SHAPES = {ALONE: "circle", INDEPENDENT: "cross", MEASURED: "diamond"}
TYPE, NAME, STAGE, PATH = "mark", "name", "stage", "path"  # fields of points
ABOVE, BELOW = "above", "below"  # fields of the texts beside points
RANGE_ENDS = {"x": "fpr_min", "x2": "fpr_max", "y": "tpr_min", "y2": "tpr_max"}


def combination_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the combined decisions of each pair of models, in a panel per pair.

    For AND and for OR, a panel shows the rectangle of all possible points, the expected point and
    the measured point.
    """
    pair, models = free_name("models", table.columns), model_texts(table).texts
    both = zip(models[: table.height], models[table.height :], strict=True)
    table = table.with_columns(pl.Series(pair, [f"{a} and {b}" for a, b in both], pl.String))
    if options.color is NOT_GIVEN:
        options = replace(options, color="operator")
    if options.facet is None and table.get_column(pair).n_unique() > 1:
        options = replace(options, facet=pair)
    by = (*layout.by, pair, "operator")
    groups = read_groups(table, by, table.columns, options)
    plane = roc_plane(options)
    rows = _group_records(table, groups)
    ends = [
        dict(zip(RANGE_ENDS, values, strict=True))
        for values in _json_columns(table, *RANGE_ENDS.values())
    ]
    records = [{**row, **end} for row, end in zip(rows, ends, strict=True)]
    is_first = ~table.select(*map(column, by[:-1])).is_duplicated()
    is_first |= table.get_column("operator") == "and"
    for side, other in (("a", "b"), ("b", "a")):
        shown = table.with_columns(pl.when(is_first).then(pl.col(f"fpr_{side}", f"tpr_{side}")))
        names = format_values(table.get_column(f"model_{side}"))
        rates = _json_columns(table, f"tpr_{side}", f"tpr_{other}")
        # One name is above its point and the other name below, because the names of two models with
        # similar rates would overlap.
        is_above = [None not in both and (*both, other) > (*both[::-1], side) for both in rates]
        records += [
            {**point, ABOVE if above else BELOW: point[NAME]}
            for point, above in zip(
                _points(shown, rows, ALONE, f"_{side}", names), is_above, strict=True
            )
        ]
    for mark, suffix in ((INDEPENDENT, "_independent"), (MEASURED, "")):
        records += _points(table, rows, mark, suffix)
    records = [one for one in records if None not in one.values()]
    plot = CurvePlot(plane=plane, records=records, groups=groups)
    names = groups.names(table.height)
    texts = [
        f"{name}: {mark} ({number_text(x)}, {number_text(y)})"
        for mark, suffix in ((INDEPENDENT, "_independent"), (MEASURED, ""))
        for name, (x, y) in zip(
            names, _json_columns(table, f"fpr{suffix}", f"tpr{suffix}"), strict=True
        )
        if x is not None and y is not None
    ]
    undrawn = [name for name, end in zip(names, ends, strict=True) if None in end.values()]
    layers = [_range_layer(plot), *chance_layers(plane), *_point_layers(plot)]
    pairs = format_count(table.select(*map(column, by[:-1])).n_unique(), "pair")
    return plot.with_titles(
        plot.layered(layers, alt.Chart()),
        title="Combined decisions",
        subtitle="Shaded: all possible points" if len(undrawn) < table.height else "",
        undrawn=undrawn,
        description=[
            f"Chart of combined decisions, {pairs} of models: {plane.axis_names}",
            chance_text(plane),
            "Rectangles show all possible points",
            join_first(texts, separator="; "),
        ],
    )


def chain_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw each chain as a line through its stages, and a point for each single model."""
    operators = table.get_column("operator").n_unique()
    by = (*layout.by, "operator") if operators > 1 else layout.by
    table = table.sort(*map(column, by), "stage")
    groups = read_groups(table, by, table.columns, options)
    plane = roc_plane(options)
    rows = _group_records(table, groups)
    names = groups.names(table.height)
    for row, name, stage in zip(rows, names, table.get_column("stage").to_list(), strict=True):
        row |= {PATH: name, STAGE: stage}
    models = format_values(table.get_column(MODEL))
    labels = [f"{row[STAGE]} {model}" for row, model in zip(rows, models, strict=True)]
    stages = _points(table, rows, MEASURED, "", labels)
    stages = [{**one, ABOVE: str(one[STAGE])} for one in stages]
    records = [*stages, *_points(table, rows, ALONE, "_alone", models)]
    records = [one for one in records if None not in one.values()]
    plot = CurvePlot(plane=plane, records=records, groups=groups)
    x, y = plane.channels()
    path: alt.Chart = (
        alt.Chart()
        .transform_filter(f"datum.{TYPE} === '{MEASURED}'")
        .mark_line(strokeWidth=2)
        .encode(
            x=x,
            y=y,
            order=alt.Order(f"{STAGE}:Q"),
            detail=alt.Detail(f"{PATH}:N"),
            color=groups.line_color(),
        )
    )
    texts = [
        f"{label} ({number_text(x)}, {number_text(y)})"
        for label, (x, y) in zip(labels, _json_columns(table, "fpr", "tpr"), strict=True)
        if x is not None and y is not None
    ]
    undrawn = [
        f"{name}, {label}" if by else label
        for name, label, (x, y) in zip(
            names, labels, _json_columns(table, "fpr", "tpr"), strict=True
        )
        if x is None or y is None
    ]
    joined = " and ".join(
        operator.upper() for operator in table.get_column("operator").unique().sort().to_list()
    )
    chains = format_count(len(dict.fromkeys(names)), "chain")
    return plot.with_titles(
        plot.layered([path, *chance_layers(plane), *_point_layers(plot)], alt.Chart()),
        title=f"Chain of {joined}" if joined else "Chain",
        subtitle="",
        undrawn=undrawn,
        description=[
            f"Chart of {chains} of models: {plane.axis_names}",
            chance_text(plane),
            join_first(texts, separator="; "),
        ],
    )


def _json_columns(table: pl.DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """Return a tuple for each row of a table, with the JSON values of the columns `names`."""
    values = (json_numbers(table.get_column(name).to_list()) for name in names)
    return list(zip(*values, strict=True))


def _group_records(table: pl.DataFrame, groups: Groups) -> list[dict[str, Any]]:
    """Return a record per row with its group values."""
    texts = {name: group.texts for name, group in groups.columns.items()}
    return [{name: values[i] for name, values in texts.items()} for i in range(table.height)]


def _points(
    table: pl.DataFrame,
    rows: Sequence[dict[str, Any]],
    mark: str,
    suffix: str,
    names: Sequence[str] | None = None,
) -> list[dict[str, Any]]:
    """Return a record for each row with its point; the coordinates are null if it is undefined.

    The coordinates are in the columns `fpr` and `tpr` with `suffix`, such as `fpr_independent`.
    `mark` is the type of the points, such as "measured". `names` are their names in tooltips, by
    default the type.
    """
    positions = _json_columns(table, f"fpr{suffix}", f"tpr{suffix}")
    return [
        {**row, TYPE: mark, NAME: name, "x": x, "y": y}
        for row, (x, y), name in zip(rows, positions, names or [mark] * len(rows), strict=True)
    ]


def _range_layer(plot: CurvePlot) -> alt.Chart:
    """Draw the rectangle of all possible points."""
    x, y = plot.plane.channels()
    layer: alt.Chart = (
        alt.Chart()
        .transform_filter("isValid(datum.x2)")
        .mark_rect(opacity=BAND_OPACITY)
        .encode(
            x=x, y=y, x2="x2:Q", y2="y2:Q", color=plot.groups.color_channel(symbolType="square")
        )
    )
    return layer


def _point_layers(plot: CurvePlot) -> list[alt.Chart]:
    """Draw the points, with single models in a neutral color, and the texts beside them."""
    x, y = plot.plane.channels()
    drawn = [mark for mark in SHAPES if any(one.get(TYPE) == mark for one in plot.records)]
    scale = alt.Scale(domain=drawn, range=[SHAPES[mark] for mark in drawn])
    legend = alt.Legend(title=None, labelLimit=0)
    shape = alt.Shape(f"{TYPE}:N", scale=scale, legend=legend)
    rows = [
        *plot.groups.tooltips(),
        tooltip(NAME, "point"),
        tooltip("x", "fpr", RATE_FORMAT),
        tooltip("y", "tpr", RATE_FORMAT),
    ]
    layers: list[alt.Chart] = []
    # The symbols in the legend have the color of the first layer: the neutral color.
    for is_alone in (True, False):
        layer = alt.Chart().transform_filter(
            f"isValid(datum.{TYPE}) && datum.{TYPE} {'===' if is_alone else '!=='} '{ALONE}'"
        )
        style: dict[str, Any] = {"size": POINT_SIZE, "opacity": 1, "filled": True}
        points = layer.mark_point(**style, stroke=BACKGROUND, strokeWidth=1)
        color = alt.ColorValue(MUTED) if is_alone else plot.groups.color_channel()
        layers.append(points.encode(x=x, y=y, shape=shape, color=color, tooltip=rows))
    above = alt.Chart().mark_text(align="right", dx=-8, dy=-8, color=FOREGROUND)
    below = alt.Chart().mark_text(align="left", dx=8, dy=8, color=FOREGROUND)
    for name, text in ((ABOVE, above), (BELOW, below)):
        shown = text.transform_filter(f"isValid(datum.{name})")
        layers.append(shown.encode(x=x, y=y, text=f"{name}:N"))
    return layers
