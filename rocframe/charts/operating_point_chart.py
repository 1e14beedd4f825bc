"""Charts of operating points and of the vertices of convex hulls."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.axes import chart_kind, choose_plane, given_titles, zoom_plane
from rocframe.charts.curve_layers import (
    NO_TOOLTIP,
    CurvePlot,
    chance_layers,
    chance_text,
    text_layer,
)
from rocframe.charts.groups import GroupColumn, field_names, nominal, read_groups
from rocframe.charts.labels import (
    RATE_FORMAT,
    datum,
    distinct_number_texts,
    field_name,
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
    REFERENCE_COLOR,
    SIZE_RATIO,
    SYMBOLS,
)
from rocframe.curves.table import read_prevalence
from rocframe.errors import MissingColumnError
from rocframe.frames import column, number_distinct_rows, select_keys
from rocframe.kinds import PREVALENCE, has_prevalence
from rocframe.options import parse_names
from rocframe.rates import CONFUSION, Settings
from rocframe.schemas.curves import BEST_POINTS, CONFUSION_MATRICES, CONVEX_HULL, RULE_COLUMNS
from rocframe.schemas.table_type import POINT_NAMES
from rocframe.text import format_count, join_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import Groups
    from rocframe.kinds import Kind
    from rocframe.schemas.table_type import Table

POINT_SIZE, VERTEX_SIZE = 110, 40  # of points and of vertices of hulls, in square pixels
SIZE = "_size"  # the field of the area of a mark, if points of a group coincide
CONDITION = "_condition"  # the field of the condition of a point, such as "fpr 0.1"
NO_MODEL = "trivial classifier"  # the vertices (0, 0) and (1, 1) of a hull across models


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
    if is_hull:
        table = table.sort(*map(column, by), "fp", "tp")
        n_keys = len(by)
        # The key of `hull(across=)` is the last column.
        by = (*by, *table.columns[table.columns.index("note") + 1 :])
    kind = chart_kind(table.columns, options, layout.kind)
    x, y = (_row_values(table, kind, name) for name in (kind.x, kind.y))
    top = np.where(np.isfinite(y), y, np.nan)
    plane = choose_plane(kind, x, y, scale=options.scale, top=top)
    plane = zoom_plane(given_titles(plane, options), options)
    axes = plane.x.name, plane.y.name
    groups = read_groups(table, by, table.columns, options, axes)
    across = list(groups.columns)[n_keys:] if n_keys is not None else []
    if across:
        groups = _name_trivial_vertices(table, groups, across)
    left = {BEST_POINTS: tuple(RULE_COLUMNS), CONVEX_HULL: (), CONFUSION_MATRICES: ()}.get(
        layout.type, POINT_NAMES
    )
    condition = GroupColumn.in_given_order(_conditions(table, left), left[0] if left else "")
    shape = left[0] if left == tuple(RULE_COLUMNS) else CONDITION
    if left:
        groups = replace(groups, columns={**groups.columns, shape: condition})

    others = [name for name in table.columns if name not in (*by, shape)]
    fields = field_names(others, {*groups.columns, *axes})
    for name, values in zip(axes, (x, y), strict=True):
        # A column of the table with the name of an axis has the same values, unless it is a metric
        # of the user.
        if name in fields and np.allclose(table.get_column(name), values, equal_nan=True):
            fields[name] = name
    columns = {field: json_values(table.get_column(name)) for name, field in fields.items()}
    points = zip(x.tolist(), y.tolist(), strict=True)
    inside = np.array([plane.contains(*point) for point in points], bool)
    for name, values in zip(axes, (x, y), strict=True):
        columns[name] = json_values(pl.Series(np.where(inside, values, np.nan)))
    columns |= {name: group.texts for name, group in groups.columns.items()}
    columns |= {} if is_hull else _mark_sizes(table, by, x, y)
    plot = CurvePlot(plane=plane, records=json_rows(columns), groups=groups)

    rows = [
        *groups.tooltips(),
        *(tooltip(name, number=RATE_FORMAT) for name in axes if name not in fields.values()),
        *(
            tooltip(field, short_name(name))
            for name, field in fields.items()
            if not (name in left and left == POINT_NAMES)
        ),
    ]
    texts = [
        f"{name}: {kind.x} {number_text(record[axes[0]])}, {kind.y} {number_text(record[axes[1]])}"
        for name, record in zip(groups.names(table.height), plot.records, strict=True)
        if record[axes[0]] is not None
    ]
    undrawn = plot.undrawn(n_keys)
    plot = replace(plot, records=[one for one in plot.records if one[axes[0]] is not None])
    layers = [
        *(_hull_layers(list(groups.columns)[:n_keys]) if is_hull and not plane.bends else []),
        *chance_layers(plane),
        *_point_layers(plot, shape, condition, VERTEX_SIZE if is_hull else POINT_SIZE),
        *_column_texts(plot, options.text, fields, table.columns),
    ]
    return plot.with_titles(
        plot.layered(layers, rows, color=groups.color_channel()),
        title=f"{kind.title}: {'convex hulls' if is_hull else 'operating points'}",
        subtitle="",
        description=[
            f"{plane.name}, {format_count(len(texts), 'point')}: {plane.axis_names}",
            chance_text(plane),
            join_first(texts, separator="; "),
        ],
        undrawn=undrawn,
    )


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


def _hull_layers(by: Sequence[str]) -> list[alt.Chart]:
    """Draw the lines between the vertices of each hull; `by` are the fields with its group."""
    layer: alt.Chart = alt.Chart().mark_line(strokeWidth=1, order=False)
    color, detail = alt.value(REFERENCE_COLOR), [nominal(alt.Detail, name) for name in by]
    return [layer.encode(color=color, detail=detail, tooltip=NO_TOOLTIP)]


def _column_texts(
    plot: CurvePlot, text: str | None, fields: Mapping[str, str], columns: Sequence[str]
) -> list[alt.Chart]:
    """Write the column `text` beside the points; `fields` maps columns to fields."""
    if text is None:
        return []
    if text not in columns:
        raise MissingColumnError.compose("text", text, columns)
    return [text_layer(alt.Chart(), plot.plane, fields.get(text, field_name(text)))]


def _name_trivial_vertices(table: pl.DataFrame, groups: Groups, fields: Sequence[str]) -> Groups:
    """Return groups in which the vertices (0, 0) and (1, 1) without a model have the name NO_MODEL.

    `fields` are those of the model column of `hull(across=)`. The name is not in the legend.
    """
    trivial = table.select(
        (pl.col("tp") + pl.col("fp") == 0) | (pl.col("fn") + pl.col("tn") == 0)
    ).to_series()
    columns = dict(groups.columns)
    for field, key in zip(fields, table.columns[-len(fields) :], strict=True):
        keys = table.get_column(key)
        is_unnamed = (trivial & keys.is_null()).fill_null(False)
        if not is_unnamed.any():
            continue
        named = [
            NO_MODEL if unnamed else text
            for unnamed, text in zip(is_unnamed, columns[field].texts, strict=True)
        ]
        values = [value for value in columns[field].values if value in named]
        codes = {value: code for code, value in enumerate([*values, NO_MODEL])}
        columns[field] = replace(
            columns[field],
            values=tuple(codes),
            codes=tuple(codes[text] for text in named),
            domain=tuple(values),
        )
    return replace(groups, columns=columns)


def _point_layers(
    plot: CurvePlot, field: str, condition: GroupColumn, size: int
) -> list[alt.Chart]:
    """Draw the points; the values of `condition` in `field` have shapes.

    Vertices without a model are gray.
    """
    layer: alt.Chart = alt.Chart().mark_point(
        filled=True, size=size, opacity=1, stroke=BACKGROUND, strokeWidth=1
    )
    n_shapes = len(condition.values)
    if 1 < n_shapes <= len(SYMBOLS):
        scale = alt.Scale(domain=list(condition.values), range=list(SYMBOLS[:n_shapes]))
        legend = alt.Legend(labelLimit=0)
        shape = nominal(alt.Shape, field, title=condition.title, scale=scale, legend=legend)
        layer = layer.encode(shape=shape)
    if any(SIZE in record for record in plot.records):
        layer = layer.encode(size=alt.Size(f"{SIZE}:Q", scale=None, legend=None))
    color = plot.groups.color
    if color is None or all(record[color] != NO_MODEL for record in plot.records):
        return [layer]
    gray = layer.transform_filter(f"{datum(color)} === '{NO_MODEL}'")
    return [
        gray.encode(color=alt.value(REFERENCE_COLOR)),
        layer.transform_filter(f"{datum(color)} !== '{NO_MODEL}'"),
    ]
