"""Charts of combined decisions: the possible and the measured points, and chains of models."""

from __future__ import annotations

from dataclasses import replace
from json import dumps
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.charts.axes import roc_plane
from rocframe.charts.curve_layers import NO_TOOLTIP, CurvePlot, chance_layers, chance_text
from rocframe.charts.dot_charts import model_texts
from rocframe.charts.groups import JOINT, field_names, read_groups
from rocframe.charts.labels import (
    RATE_FORMAT,
    json_rows,
    json_values,
    number_text,
    tooltip,
)
from rocframe.charts.operating_point_chart import POINT_SIZE
from rocframe.charts.style import BACKGROUND, BAND_OPACITY, REFERENCE_COLOR
from rocframe.frames import column
from rocframe.options import NOT_GIVEN
from rocframe.rates import CONFUSION
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_count, format_values, join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import Table

ALONE, INDEPENDENT, MEASURED = "model alone", "expected if independent", "measured"
SHAPES = {ALONE: "circle", INDEPENDENT: "cross", MEASURED: "diamond"}
TYPE = "_type"  # the field of the type of a point
MAX_LABEL = 150  # length of the name beside a point, in pixels
MIN_LEFT = 0.25  # names on the left of points with a lower rate would overlap the axis


def combination_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the combined decisions of each pair of models, in a panel per pair.

    For AND and for OR, a panel shows the rectangle of all possible points, the expected point and
    the measured point.
    """
    pair, models = f"model_a{JOINT}model_b", model_texts(table).texts
    models_a, models_b = models[: table.height], models[table.height :]
    pairs = [f"{a} and {b}" for a, b in zip(models_a, models_b, strict=True)]
    table = table.with_columns(
        pl.Series(pair, pairs, pl.String),
        pl.Series("model_a", models_a, pl.String),
        pl.Series("model_b", models_b, pl.String),
    )
    if options.color is NOT_GIVEN:
        options = replace(options, color="operator")
    if options.facet is None and table.get_column(pair).n_unique() > 1:
        options = replace(options, facet=pair)
    by = (*layout.by, pair, "operator")
    # The points of single models are drawn once per pair.
    is_first = ~table.select(*map(column, by[:-1])).is_duplicated()
    is_first |= table.get_column("operator") == "and"
    single = [f"{name}_{side}" for side in "ab" for name in ("fpr", "tpr")]
    table = table.with_columns(pl.when(is_first).then(column(name)).alias(name) for name in single)
    plot = _plot(table, by, options)
    names = plot.groups.names(table.height)
    texts = [
        f"{name}: {mark} ({number_text(record[x])}, {number_text(record[y])})"
        for mark, x, y in (
            (INDEPENDENT, "fpr_independent", "tpr_independent"),
            (MEASURED, "fpr", "tpr"),
        )
        for name, record in zip(names, plot.records, strict=True)
        if record[x] is not None and record[y] is not None
    ]
    undrawn = [
        name
        for name, record in zip(names, plot.records, strict=True)
        if any(record[end] is None for end in ("fpr_min", "fpr_max", "tpr_min", "tpr_max"))
    ]
    points: list[tuple[str, str, tuple[str, ...]]] = [
        (ALONE, f"_{side}", (f"model_{side}",)) for side in "ab"
    ]
    points += [(INDEPENDENT, "_independent", ()), (MEASURED, "", CONFUSION)]
    # One name is above its point and the other name below, because the names of two models with
    # similar rates would overlap.
    is_above = {"a": "datum.tpr_a >= datum.tpr_b", "b": "datum.tpr_b > datum.tpr_a"}
    texts_beside = [
        _name_layer(
            *(f"{name}_{side}" for name in ("fpr", "tpr", "model")),
            above=f"({above})",
            left=f"({above} && datum.fpr_{side} > {MIN_LEFT})",
            color=alt.value(REFERENCE_COLOR),
        )
        for side, above in is_above.items()
    ]
    layers = [
        _range_layer(),
        *chance_layers(plot.plane),
        *_decision_layers(plot, points),
        *texts_beside,
    ]
    pairs_text = format_count(table.select(*map(column, by[:-1])).n_unique(), "pair")
    return plot.with_titles(
        plot.layered(layers, [], color=plot.groups.color_channel(symbolType="square")),
        title="Combined decisions",
        subtitle="Shaded: all possible points" if len(undrawn) < table.height else "",
        undrawn=undrawn,
        description=[
            f"Chart of combined decisions, {pairs_text} of models: {plot.plane.axis_names}",
            chance_text(plot.plane),
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
    models = format_values(table.get_column(MODEL))
    plot = _plot(table.with_columns(pl.Series(MODEL, models, pl.String)), by, options)
    names = plot.groups.names(table.height)
    texts, undrawn = [], []
    for record, name in zip(plot.records, names, strict=True):
        label = f"{record['stage']} {record[MODEL]}"
        if record["fpr"] is None or record["tpr"] is None:
            undrawn.append(f"{name}, {label}" if by else label)
        else:
            texts.append(f"{label} ({number_text(record['fpr'])}, {number_text(record['tpr'])})")
    path = _with_values("fpr", "tpr").mark_line(strokeWidth=2, order=False)
    points = [(ALONE, "_alone", (MODEL,)), (MEASURED, "", ("stage", MODEL, *CONFUSION))]
    layers = [
        path.encode(tooltip=NO_TOOLTIP),
        *chance_layers(plot.plane),
        *_decision_layers(plot, points),
        _name_layer("fpr", "tpr", "stage"),
    ]
    joined = " and ".join(
        operator.upper() for operator in table.get_column("operator").unique().sort().to_list()
    )
    chains = format_count(len(dict.fromkeys(names)), "chain")
    return plot.with_titles(
        plot.layered(layers, []),
        title=f"Chain of {joined}" if joined else "Chain",
        subtitle="",
        undrawn=undrawn,
        description=[
            f"Chart of {chains} of models: {plot.plane.axis_names}",
            chance_text(plot.plane),
            join_first(texts, separator="; "),
        ],
    )


def _plot(table: pl.DataFrame, by: Sequence[str], options: ChartOptions) -> CurvePlot:
    """Return the data of a chart with a record for each row of the table."""
    groups = read_groups(table, by, table.columns, options)
    others = [name for name in table.columns if name not in by]
    columns: dict[str, Any] = {name: group.texts for name, group in groups.columns.items()}
    for name, field in field_names(others, columns).items():
        columns[field] = json_values(table.get_column(name))
    return CurvePlot(plane=roc_plane(options), records=json_rows(columns), groups=groups)


def _with_values(*fields: str) -> alt.Chart:
    """Return a layer with the rows that have values in all `fields`."""
    condition = " && ".join(f"isValid(datum.{name})" for name in fields)
    layer: alt.Chart = alt.Chart().transform_filter(condition)
    return layer


def _range_layer() -> alt.Chart:
    """Draw the rectangle of all possible points."""
    layer: alt.Chart = (
        _with_values("fpr_min", "fpr_max", "tpr_min", "tpr_max")
        .mark_rect(opacity=BAND_OPACITY)
        .encode(
            **_position("fpr_min", "tpr_min"),
            x2=alt.X2("fpr_max"),
            y2=alt.Y2("tpr_max"),
            tooltip=NO_TOOLTIP,
        )
    )
    return layer


def _decision_layers(
    plot: CurvePlot, points: Sequence[tuple[str, str, tuple[str, ...]]]
) -> list[alt.Chart]:
    """Draw points; each has its type, the suffix of its rates, and more columns for tooltips.

    The rates are in the columns `fpr` and `tpr` with the suffix, such as `fpr_independent`. Single
    models have a neutral color.
    """
    points = [
        one for one in points if any(record[f"fpr{one[1]}"] is not None for record in plot.records)
    ]
    drawn = [mark for mark in SHAPES if any(one[0] == mark for one in points)]
    scale = alt.Scale(domain=drawn, range=[SHAPES[mark] for mark in drawn])
    legend = alt.Legend(title=None, labelLimit=0)
    layers = []
    for mark, suffix, names in points:
        x, y = f"fpr{suffix}", f"tpr{suffix}"
        layer = _with_values(x, y).transform_calculate(**{TYPE: dumps(mark)})
        layer = layer.mark_point(
            size=POINT_SIZE, opacity=1, filled=True, stroke=BACKGROUND, strokeWidth=1
        )
        layer = layer.encode(
            **_position(x, y),
            shape=alt.Shape(f"{TYPE}:N", scale=scale, legend=legend),
            tooltip=[
                *plot.groups.tooltips(),
                *map(tooltip, names),
                *(tooltip(name, number=RATE_FORMAT) for name in (x, y)),
            ],
        )
        layers.append(layer.encode(color=alt.value(REFERENCE_COLOR)) if mark == ALONE else layer)
    return layers


def _position(x: str, y: str) -> dict[str, Any]:
    """Return the position channels of two columns, which other layers have on the same axes."""
    return {
        "x": alt.X(field=x, type="quantitative"),
        "y": alt.Y(field=y, type="quantitative"),
    }


def _name_layer(
    x: str, y: str, text: str, *, above: str = "true", left: str = "true", **channels: Any
) -> alt.Chart:
    """Write a column beside points; `above` and `left` are Vega expressions of the side."""
    style: Any = {
        "dx": alt.ExprRef(f"{left} ? -8 : 8"),
        "dy": alt.ExprRef(f"{above} ? -8 : 8"),
        "align": alt.ExprRef(f"{left} ? 'right' : 'left'"),
    }
    layer: alt.Chart = _with_values(x, y).mark_text(**style, limit=MAX_LABEL)
    return layer.encode(**_position(x, y), text=f"{text}:N", **channels, tooltip=NO_TOOLTIP)
