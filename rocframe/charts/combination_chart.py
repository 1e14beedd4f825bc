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
from rocframe.charts.line_chart import limit_channels
from rocframe.charts.operating_point_chart import POINT_SIZE
from rocframe.charts.style import BACKGROUND, BAND_OPACITY, REFERENCE_COLOR
from rocframe.frames import column
from rocframe.options import NOT_GIVEN
from rocframe.rates import CONFUSION
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_count, format_values, join_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import Table

ALONE, INDEPENDENT, MEASURED = "model alone", "expected if independent", "measured"
SHAPES = {ALONE: "circle", INDEPENDENT: "cross", MEASURED: "diamond"}
FPR_RANGE, TPR_RANGE = ("fpr_min", "fpr_max"), ("tpr_min", "tpr_max")
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
    sides, pair, models = ("model_a", "model_b"), f"model_a{JOINT}model_b", model_texts(table).texts
    parts = (models[: table.height], models[table.height :])
    texts = (pl.Series(name, part, pl.String) for name, part in zip(sides, parts, strict=True))
    table = table.with_columns(texts).with_columns(pl.format("{} and {}", *sides).alias(pair))
    if options.color is NOT_GIVEN:
        options = replace(options, color="operator")
    if options.facet is None and table.get_column(pair).n_unique() > 1:
        options = replace(options, facet=pair)
    by = (*layout.by, pair, "operator")
    # The points of single models are drawn once per pair.
    pairs = pl.struct(map(column, by[:-1]))
    once = pl.when(pairs.is_first_distinct())
    single = ("fpr_a", "tpr_a", "fpr_b", "tpr_b")
    plot = _read_decisions(
        table.with_columns(once.then(name).alias(name) for name in single), by, options
    )
    names = plot.groups.names(table.height)
    points = [
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
        if any(record[end] is None for end in (*FPR_RANGE, *TPR_RANGE))
    ]
    rectangle = _with_values(*FPR_RANGE, *TPR_RANGE).mark_rect(opacity=BAND_OPACITY)
    ends = limit_channels(plot.plane, "x", FPR_RANGE) | limit_channels(plot.plane, "y", TPR_RANGE)
    # One name is above its point and the other name below, because the names of two models with
    # similar rates would overlap.
    above = {"a": "datum.tpr_a >= datum.tpr_b", "b": "datum.tpr_b > datum.tpr_a"}
    layers = [
        rectangle.encode(**ends),
        *chance_layers(plot.plane),
        *_decision_layers(
            plot,
            {
                "_a": (ALONE, ("model_a",)),
                "_b": (ALONE, ("model_b",)),
                "_independent": (INDEPENDENT, ()),
                "": (MEASURED, CONFUSION),
            },
        ),
        *(
            _name_layer(f"_{side}", f"model_{side}", is_above, MIN_LEFT).encode(
                color=alt.ColorValue(REFERENCE_COLOR)
            )
            for side, is_above in above.items()
        ),
    ]
    n_pairs = format_count(table.select(pairs.n_unique()).item(), "pair")
    return plot.with_titles(
        plot.layered(layers, [], color=plot.groups.color_channel(symbolType="square")),
        title="Combined decisions",
        subtitle="Shaded: all possible points" if len(undrawn) < table.height else "",
        undrawn=undrawn,
        description=[
            f"Chart of combined decisions, {n_pairs} of models: {plot.plane.axis_names}",
            chance_text(plot.plane),
            "Rectangles show all possible points",
            join_first(points, separator="; "),
        ],
    )


def chain_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw each chain as a line through its stages, and a point for each single model."""
    operators = table.get_column("operator").unique().sort().to_list()
    by = (*layout.by, "operator") if len(operators) > 1 else layout.by
    table = table.sort(*map(column, by), "stage")
    models = pl.Series(MODEL, format_values(table.get_column(MODEL)), pl.String)
    plot = _read_decisions(table.with_columns(models), by, options)
    names = plot.groups.names(table.height)
    texts, undrawn = [], []
    for record, name in zip(plot.records, names, strict=True):
        label = f"{record['stage']} {record[MODEL]}"
        if record["fpr"] is None or record["tpr"] is None:
            undrawn.append(f"{name}, {label}" if by else label)
        else:
            texts.append(f"{label} ({number_text(record['fpr'])}, {number_text(record['tpr'])})")
    points = {"_alone": (ALONE, (MODEL,)), "": (MEASURED, ("stage", MODEL, *CONFUSION))}
    layers = [
        _with_values("fpr", "tpr").mark_line(strokeWidth=2, order=False).encode(tooltip=NO_TOOLTIP),
        *chance_layers(plot.plane),
        *_decision_layers(plot, points),
        _name_layer("", "stage"),
    ]
    chains = format_count(len(dict.fromkeys(names)), "chain")
    return plot.with_titles(
        plot.layered(layers, []),
        title=" of ".join(filter(None, ["Chain", " and ".join(map(str.upper, operators))])),
        subtitle="",
        undrawn=undrawn,
        description=[
            f"Chart of {chains} of models: {plot.plane.axis_names}",
            chance_text(plot.plane),
            join_first(texts, separator="; "),
        ],
    )


def _read_decisions(table: pl.DataFrame, by: Sequence[str], options: ChartOptions) -> CurvePlot:
    """Return the data of a chart with a record for each row of the table."""
    groups = read_groups(table, by, table.columns, options)
    others = [name for name in table.columns if name not in by]
    columns: dict[str, Any] = {name: group.texts for name, group in groups.columns.items()}
    for name, field in field_names(others, columns).items():
        columns[field] = json_values(table.get_column(name))
    return CurvePlot(plane=roc_plane(options), records=json_rows(columns), groups=groups)


def _with_values(*fields: str) -> Any:
    """Return a layer with the rows that have values in all `fields`."""
    return alt.Chart().transform_filter(" && ".join(f"isValid(datum.{name})" for name in fields))


def _decision_layers(
    plot: CurvePlot, points: Mapping[str, tuple[str, tuple[str, ...]]]
) -> list[alt.Chart]:
    """Draw points: for each suffix of rates, their type and more columns for tooltips.

    The rates are in the columns `fpr` and `tpr` with the suffix, such as `fpr_independent`. Single
    models have a neutral color.
    """
    drawn = {
        suffix: point
        for suffix, point in points.items()
        if any(record[f"fpr{suffix}"] is not None for record in plot.records)
    }
    types = dict.fromkeys(mark for mark, _ in drawn.values())
    scale = alt.Scale(domain=[*types], range=[SHAPES[mark] for mark in types])
    legend = alt.Legend(title=None, labelLimit=0)
    layers = []
    for suffix, (mark, names) in drawn.items():
        rates = f"fpr{suffix}", f"tpr{suffix}"
        layer = _with_values(*rates).transform_calculate(**{TYPE: dumps(mark)})
        layer = layer.mark_point(
            size=POINT_SIZE, opacity=1, filled=True, stroke=BACKGROUND, strokeWidth=1
        ).encode(
            **_position(*rates),
            shape=alt.Shape(f"{TYPE}:N", scale=scale, legend=legend),
            tooltip=[
                *plot.groups.tooltips(),
                *map(tooltip, names),
                *(tooltip(name, number=RATE_FORMAT) for name in rates),
            ],
        )
        layers.append(
            layer.encode(color=alt.ColorValue(REFERENCE_COLOR)) if mark == ALONE else layer
        )
    return layers


def _position(x: str, y: str) -> dict[str, Any]:
    """Return the position channels of two columns, which other layers have on the same axes."""
    return {"x": alt.X(field=x, type="quantitative"), "y": alt.Y(field=y, type="quantitative")}


def _name_layer(suffix: str, text: str, above: str = "true", min_left: float = 0) -> Any:
    """Write a column beside the points whose rates have a suffix.

    The text is above points for which the Vega expression `above` is true. It is on their left if
    their false positive rate is at least `min_left`.
    """
    x, y = f"fpr{suffix}", f"tpr{suffix}"
    left = f"({above} && datum.{x} >= {min_left})"
    layer: Any = _with_values(x, y).mark_text(
        dx=alt.ExprRef(f"{left} ? -8 : 8"),
        dy=alt.ExprRef(f"({above}) ? -8 : 8"),
        align=alt.ExprRef(f"{left} ? 'right' : 'left'"),
        limit=MAX_LABEL,
    )
    return layer.encode(**_position(x, y), text=f"{text}:N", tooltip=NO_TOOLTIP)
