"""Charts of operating points."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.axes import choose_plane, zoom_plane
from rocframe.charts.curve_layers import CurvePlot, chance_layers, chance_text
from rocframe.charts.groups import GroupColumn, read_groups
from rocframe.charts.labels import (
    MAX_IN_SUBTITLE,
    json_rows,
    json_values,
    not_drawn,
    number_text,
    sentences,
    short_name,
    tooltip,
)
from rocframe.charts.style import BACKGROUND, SYMBOLS
from rocframe.curves.table import read_prevalence
from rocframe.errors import MissingColumnError
from rocframe.frames import column
from rocframe.kinds import PREVALENCE, has_prevalence, kind_of
from rocframe.options import parse_names
from rocframe.rates import CONFUSION, Settings
from rocframe.schemas import BEST_POINTS, POINT_NAMES, RULE
from rocframe.text import format_count, join_first

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.charts.chart import ChartOptions
    from rocframe.kinds import Kind
    from rocframe.schemas import Table

POINT_SIZE = 110  # square pixels
CONDITION = "condition"  # the field of the condition of a point, such as "fpr 0.1"


def points_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a mark for each operating point, with a shape for each condition or rule."""
    by = layout.by if options.by is None else parse_names(options.by)
    for name in by:
        if name not in table.columns:
            raise MissingColumnError.compose("by", name, table.columns)
    groups = read_groups(table, by, table.columns, options)
    left = tuple(RULE) if layout.type is BEST_POINTS else POINT_NAMES
    conditions = list(zip(*(table.get_column(name).to_list() for name in left), strict=True))
    texts = [f"{name} {value:.4g}" for name, value in conditions]
    if layout.type is BEST_POINTS:
        texts = [rule for rule, _ in conditions]
    condition = GroupColumn.in_given_order(texts, left[0])
    groups = replace(groups, columns={**groups.columns, CONDITION: condition})

    kind = kind_of(table.columns, options.kind)
    x, y = (_axis_values(table, kind, name) for name in (kind.x, kind.y))
    top = np.where(np.isfinite(y), y, np.nan)
    plane = zoom_plane(choose_plane(kind, x, y, scale=options.scale, top=top), options)
    points = zip(x.tolist(), y.tolist(), strict=True)
    inside = np.array([plane.contains(*point) for point in points], bool)
    # The fields have numbers, because a metric can have the name of another field.
    metrics = [name for name in table.columns if name not in (*by, *left)]
    titles = {f"c{i}": name for i, name in enumerate(metrics)}
    values = {field: json_values(table.get_column(name)) for field, name in titles.items()}
    for name, rate in (("x", x), ("y", y)):
        values[name] = json_values(pl.Series(np.where(inside, rate, np.nan)))
    values |= {name: group.texts for name, group in groups.columns.items()}
    plot = CurvePlot(plane=plane, records=json_rows(values), groups=groups)

    rows = [*groups.tooltips(), *(tooltip(name, short_name(titles[name])) for name in titles)]
    transform, deviates = alt.Chart(), plane.deviates()
    if deviates:
        transform = transform.transform_calculate(**deviates)
    named = list(zip(groups.names(table.height), plot.records, strict=True))
    missing = [name for name, record in named if record["x"] is None]
    texts = [
        f"{name}: {kind.x} {number_text(record['x'])}, {kind.y} {number_text(record['y'])}"
        for name, record in named
        if record["x"] is not None
    ]
    return groups.with_titles(
        plot.layered(
            [_point_layer(plot, condition, rows, left[0]), *chance_layers(plane)], transform
        ),
        title=f"{kind.title}: operating points",
        subtitle=not_drawn(missing, MAX_IN_SUBTITLE),
        description=sentences(
            f"{plane.name}, {format_count(len(texts), 'point')}: {plane.axis_names}",
            chance_text(plane),
            join_first(texts, separator="; "),
            not_drawn(missing),
        ),
    )


def _axis_values(table: pl.DataFrame, kind: Kind, name: str) -> NDArray[np.float64]:
    """Return a rate or a count of each row; NaN if it is undefined."""
    counts, prevalence = table.select(map(column, CONFUSION)), None
    if has_prevalence(table.columns):  # null in rows without a point
        prevalence = read_prevalence(table.drop_nulls("tp").get_column(PREVALENCE))
    settings = Settings(prevalence=prevalence)
    values = counts.select(pl.col(name) if name in CONFUSION else kind.axis(name).expr(settings))
    return values.to_series().cast(pl.Float64).fill_null(np.nan).to_numpy(writable=True)


def _point_layer(
    plot: CurvePlot, condition: GroupColumn, rows: list[alt.Tooltip], title: str
) -> alt.Chart:
    """Draw the points that are on the axes."""
    x, y = plot.plane.channels()
    shape: Any = alt.ShapeValue(SYMBOLS[0])
    n_shapes = len(condition.values)
    if 1 < n_shapes <= len(SYMBOLS):
        scale = alt.Scale(domain=list(condition.values), range=list(SYMBOLS[:n_shapes]))
        shape = alt.Shape(
            f"{CONDITION}:N", scale=scale, legend=alt.Legend(title=title, labelLimit=0)
        )
    layer: alt.Chart = (
        alt.Chart()
        .mark_point(filled=True, size=POINT_SIZE, opacity=1, stroke=BACKGROUND, strokeWidth=1)
        .transform_filter("isValid(datum.x) && isValid(datum.y)")
        .encode(x=x, y=y, color=plot.groups.color_channel(), shape=shape, tooltip=rows)
    )
    return layer
