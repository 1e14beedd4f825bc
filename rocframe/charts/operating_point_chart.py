"""Charts of operating points and of the vertices of convex hulls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.axes import chart_kind, choose_plane, given_titles, zoom_plane
from rocframe.charts.curve_layers import CurvePlot, chance_layers, chance_text
from rocframe.charts.groups import GroupColumn, read_groups
from rocframe.charts.labels import (
    distinct_number_texts,
    json_rows,
    json_values,
    number_text,
    short_name,
    tooltip,
)
from rocframe.charts.style import (
    BACKGROUND,
    MAX_SIZE_STEPS,
    MAX_SIZED_GROUPS,
    MUTED,
    SIZE_RATIO,
    SYMBOLS,
)
from rocframe.curves.table import read_prevalence
from rocframe.errors import MissingColumnError
from rocframe.frames import column, number_distinct_rows, number_keys, select_keys
from rocframe.kinds import PREVALENCE, has_prevalence
from rocframe.options import parse_names
from rocframe.rates import CONFUSION, Settings
from rocframe.schemas.columns import POINT_NAMES
from rocframe.schemas.decisions import BEST_POINTS, CONFUSION_MATRICES, CONVEX_HULL, RULE_COLUMNS
from rocframe.text import format_count, join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.charts.chart import ChartOptions
    from rocframe.kinds import Kind
    from rocframe.schemas.table_type import Table

POINT_SIZE = 110  # square pixels
HULL_INDEX, ORDER = "hull", "order"  # fields of vertices: their hull, and their position in it
TRIVIAL_VERTEX = "trivial"  # the field of vertices without a mark
SIZE = "size"  # the field of the area of a mark, if points of a group coincide
CONDITION = "condition"  # the field of the condition of a point, such as "fpr 0.1"


def points_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a mark for each operating point, with a shape for each condition or rule.

    Vertices of hulls are connected by lines.
    """
    by = layout.by if options.by is None else parse_names(options.by)
    for name in by:
        if name not in table.columns:
            raise MissingColumnError.compose("by", name, table.columns)
    is_hull, n_keys = layout.type is CONVEX_HULL, None
    trivial: list[bool] = []
    if is_hull:
        table = table.sort(*map(column, by), "fp", "tp")
        hull = number_keys(table, by)[1]
        n_keys = len(by)
        table, by, trivial = _named_vertices(table, by)
    groups = read_groups(table, by, table.columns, options)
    left = {BEST_POINTS: tuple(RULE_COLUMNS), CONVEX_HULL: (), CONFUSION_MATRICES: ()}.get(
        layout.type, POINT_NAMES
    )
    condition = GroupColumn.in_given_order(_conditions(table, left), left[0] if left else "")
    if left:
        groups = replace(groups, columns={**groups.columns, CONDITION: condition})

    kind = chart_kind(table.columns, options, layout.kind)
    x, y = (_row_values(table, kind, name) for name in (kind.x, kind.y))
    top = np.where(np.isfinite(y), y, np.nan)
    plane = choose_plane(kind, x, y, scale=options.scale, top=top)
    plane = zoom_plane(given_titles(plane, options), options)
    points = zip(x.tolist(), y.tolist(), strict=True)
    inside = np.array([plane.contains(*point) for point in points], bool)
    # Fields of metrics are named c0, c1, ..., because a metric can have the name of another field.
    metrics = [name for name in table.columns if name not in (*by, *left)]
    titles = {f"c{i}": name for i, name in enumerate(metrics)}
    values = {field: json_values(table.get_column(name)) for field, name in titles.items()}
    for name, rate in (("x", x), ("y", y)):
        values[name] = json_values(pl.Series(np.where(inside, rate, np.nan)))
    values |= {name: group.texts for name, group in groups.columns.items()}
    if is_hull:
        values[HULL_INDEX] = (hull + 1).tolist()
        values[ORDER] = list(range(table.height))
        if any(trivial):
            values[TRIVIAL_VERTEX] = trivial
    else:
        values |= _mark_sizes(table, by, x, y)
    plot = CurvePlot(plane=plane, records=json_rows(values), groups=groups)

    rows = [*groups.tooltips(), *(tooltip(name, short_name(titles[name])) for name in titles)]
    transform, deviates = alt.Chart(), plane.deviates()
    if deviates:
        transform = transform.transform_calculate(**deviates)
    named = zip(groups.names(table.height), plot.records, strict=True)
    texts = [
        f"{name}: {kind.x} {number_text(record['x'])}, {kind.y} {number_text(record['y'])}"
        for name, record in named
        if record["x"] is not None and not record.get(TRIVIAL_VERTEX)
    ]
    layers = [_point_layer(plot, condition, rows), *chance_layers(plane)]
    if is_hull and not plane.bends:
        layers.insert(0, _hull_layer(plot))
    return plot.with_titles(
        plot.layered(layers, transform),
        title=f"{kind.title}: {'convex hulls' if is_hull else 'operating points'}",
        subtitle="",
        description=[
            f"{plane.name}, {format_count(len(texts), 'point')}: {plane.axis_names}",
            chance_text(plane),
            join_first(texts, separator="; "),
        ],
        undrawn=plot.undrawn(n_keys),
    )


def _named_vertices(
    table: pl.DataFrame, by: tuple[str, ...]
) -> tuple[pl.DataFrame, tuple[str, ...], list[bool]]:
    """Return the vertices of hulls, their keys, and which of them are trivial classifiers.

    The key of `hull(across=)` is the last column. Trivial classifiers have no key. They are drawn
    as ends of the line, without a mark, and get the key of the next vertex.
    """
    across = table.columns[table.columns.index("note") + 1 :]
    if not across or table.get_column(*across).is_null().all():
        return table, by, []
    filled = column(*across).fill_null(strategy="backward").fill_null(strategy="forward")
    trivial = table.get_column(*across).is_null().to_list()
    table = table.with_columns(filled.over(*map(column, by)) if by else filled)
    return table, (*by, *across), trivial


def _row_values(table: pl.DataFrame, kind: Kind, name: str) -> NDArray[np.float64]:
    """Return a rate or a count of each row; NaN if it is undefined."""
    counts, prevalence = table.select(map(column, CONFUSION)), None
    if has_prevalence(table.columns):  # the prevalence is null in rows without a point
        prevalence = read_prevalence(table.drop_nulls("tp").get_column(PREVALENCE))
    settings = Settings(prevalence=prevalence)
    values = counts.select(pl.col(name) if name in CONFUSION else kind.axis(name).expr(settings))
    return values.to_series().cast(pl.Float64).fill_null(np.nan).to_numpy(writable=True)


def _conditions(table: pl.DataFrame, left: tuple[str, ...]) -> list[str]:
    """Return the condition, such as "fpr 0.1", or the rule of each point as text."""
    if not left:
        return [""] * table.height
    if left == POINT_NAMES:
        names, values = (table.get_column(name) for name in left)
        return [
            f"{name} {text}"
            for name, text in zip(names, distinct_number_texts(values), strict=True)
        ]
    return table.get_column(left[0]).to_list()


def _mark_sizes(
    table: pl.DataFrame, by: Sequence[str], x: NDArray[np.float64], y: NDArray[np.float64]
) -> dict[str, list[int]]:
    """Return the sizes of marks such that all marks of a group at the same point are visible.

    The mark of an earlier row is larger than the marks of later rows at the same point. The result
    is empty if no points of a group coincide, or if there are more than MAX_SIZED_GROUPS groups.
    """
    groups, group = number_distinct_rows(select_keys(table, by))
    if groups.height > MAX_SIZED_GROUPS:
        return {}
    places = pl.DataFrame({"x": x, "y": y, "group": group})
    n_later = pl.int_range(pl.len(), 0, -1).over("group", "x", "y") - 1
    steps = places.select(n_later.clip(0, MAX_SIZE_STEPS)).to_series().to_list()
    sizes = [round(POINT_SIZE * SIZE_RATIO**step) for step in steps]
    return {SIZE: sizes} if any(steps) else {}


def _hull_layer(plot: CurvePlot) -> alt.Chart:
    """Draw the lines between the vertices of each hull."""
    x, y = plot.plane.channels()
    layer: alt.Chart = (
        alt.Chart()
        .mark_line(color=MUTED, strokeWidth=1)
        .transform_filter("isValid(datum.x) && isValid(datum.y)")
        .encode(x=x, y=y, detail=f"{HULL_INDEX}:N", order=f"{ORDER}:Q")
    )
    return layer


def _point_layer(plot: CurvePlot, condition: GroupColumn, rows: list[alt.Tooltip]) -> alt.Chart:
    """Draw the points that are on the axes."""
    x, y = plot.plane.channels()
    shape: Any = alt.ShapeValue(SYMBOLS[0])
    n_shapes = len(condition.values)
    if 1 < n_shapes <= len(SYMBOLS):
        scale = alt.Scale(domain=list(condition.values), range=list(SYMBOLS[:n_shapes]))
        shape = alt.Shape(
            f"{CONDITION}:N", scale=scale, legend=alt.Legend(title=condition.title, labelLimit=0)
        )
    size: Any = alt.Undefined
    if any(SIZE in record for record in plot.records):
        size = alt.Size(f"{SIZE}:Q", scale=None, legend=None)
    drawn = "isValid(datum.x) && isValid(datum.y)"
    if any(TRIVIAL_VERTEX in record for record in plot.records):
        drawn += f" && !datum.{TRIVIAL_VERTEX}"
    layer: alt.Chart = (
        alt.Chart()
        .mark_point(filled=True, size=POINT_SIZE, opacity=1, stroke=BACKGROUND, strokeWidth=1)
        .transform_filter(drawn)
        .encode(x=x, y=y, color=plot.groups.color_channel(), shape=shape, size=size, tooltip=rows)
    )
    return layer
