"""Charts of operating points, vertices of convex hulls, and lines of equal expected cost."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.axes import chart_kind, choose_plane, given_titles, zoom_plane
from rocframe.charts.curve_chart import (
    repeat_for_metrics,
    threshold_axes,
    threshold_plane,
    threshold_title,
)
from rocframe.charts.curve_data import LAYER
from rocframe.charts.curve_layers import (
    NO_TOOLTIP,
    CurvePlot,
    chance_layers,
    chance_text,
    curve_filter,
    overlay,
)
from rocframe.charts.groups import GROUP_INDEX, GroupColumn, field_names, nominal, read_groups
from rocframe.charts.labels import (
    RATE_FORMAT,
    datum,
    distinct_number_texts,
    field_name,
    json_numbers,
    json_rows,
    json_values,
    level_text,
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
    with_key,
)
from rocframe.curves.table import read_prevalence, shown_numbers
from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.frames import column, number_distinct_rows, select_keys
from rocframe.kinds import PREVALENCE, has_prevalence, scale_of
from rocframe.options import parse_names
from rocframe.rates import CONFUSION, COUNT_METRICS, NAMES, Settings
from rocframe.schemas.curves import (
    BEST_POINTS,
    CONFUSION_MATRICES,
    CONVEX_HULL,
    EQUAL_COST_LINES,
    METRIC_INTERVALS,
    RULE_COLUMNS,
)
from rocframe.schemas.table_type import POINT_NAMES, THRESHOLD
from rocframe.text import format_count, format_interval, join_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.charts.axes import Plane, PlotAxis
    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import Groups
    from rocframe.kinds import Kind
    from rocframe.schemas.table_type import Table

POINT_SIZE, VERTEX_SIZE, RING_SIZE = 110, 40, 50  # in square pixels
SIZE = "_size"  # the field of the area of a mark, if points of a group coincide
CONDITION = "_condition"  # the field of the condition of a point, such as "fpr 0.1"
NO_MODEL = "trivial classifier"  # the vertices (0, 0) and (1, 1) of a hull across models
ISO_LINE = "line of equal cost"  # the value of the field LAYER in the points of lines
CURVED_STEPS = 60  # segments of a line on axes on which it is not straight
LIMIT_WIDTH = 1.5
# Text beside a point: its distance in pixels, and the shares of the axes without text on the right
# and without text below.
TEXT_OFFSET, MAX_RIGHT, MIN_BELOW = 9, 0.92, 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class PointStyle:
    """How a type of table is drawn: the title of its chart, and the marks of its points.

    The values of the columns `conditions` have shapes. `size` is the area of a mark. The
    description contains the number of `items`, and the values of the columns `described`, which are
    those of the axes by default.
    """

    title: str = "operating points"
    subtitle: str = ""
    items: tuple[str, str] = ("point", "")
    described: Mapping[str, str] = field(default_factory=dict)
    conditions: tuple[str, ...] = POINT_NAMES
    size: int = POINT_SIZE
    is_ring: bool = False

    @property
    def shape(self) -> str:
        """The field whose values have shapes; empty if all points have the same shape."""
        if self.conditions == POINT_NAMES:
            return CONDITION
        return self.conditions[0] if self.conditions else ""


STYLES = {
    BEST_POINTS: PointStyle(conditions=tuple(RULE_COLUMNS)),
    CONFUSION_MATRICES: PointStyle(conditions=()),
    CONVEX_HULL: PointStyle(title="convex hulls", conditions=(), size=VERTEX_SIZE),
    EQUAL_COST_LINES: PointStyle(
        title="lines of equal cost",
        subtitle="Rings: rows of lowest cost",
        items=("line", " of equal expected cost"),
        described={"cost": "expected_cost", "slope": "slope"},
        conditions=(),
        size=RING_SIZE,
        is_ring=True,
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointData:
    """The points of a table: its rows, its group columns, and their places on the axes.

    `x` and `y` have three rows: the values, and their lower and upper limits, which are NaN if they
    are unknown. The first `n_keys` group columns name the groups without a point; by default, all.
    """

    table: pl.DataFrame
    by: Sequence[str]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    plane: Plane
    title: str
    n_keys: int | None = None

    @property
    def inside(self) -> NDArray[np.bool_]:
        """A mask of the points inside the axes."""
        points = zip(self.x[0].tolist(), self.y[0].tolist(), strict=True)
        return np.array([self.plane.contains(*point) for point in points], bool)


def points_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a mark for each operating point, with a shape for each condition or rule.

    Vertices of hulls are connected by lines, and rows of lowest cost are on lines of equal cost.
    Points of a table of `intervals` have bars between their confidence limits.
    """
    style = STYLES.get(layout.type, PointStyle())
    points, options = _read_points(table, layout, options)
    table, plane, text = points.table, points.plane, options.text
    if text is not None and text not in table.columns:
        raise MissingColumnError.compose("text", text, table.columns)
    axes = plane.x.name, plane.y.name
    groups = read_groups(table, points.by, table.columns, options, axes)
    hull_fields = list(groups.columns)[: points.n_keys]
    groups = _name_trivial_vertices(table, groups, list(groups.columns)[len(hull_fields) :])
    if plane.x.name == THRESHOLD and groups.panel is not None and not plane.x.zoomed:
        # In a sum, the chart of the curves determines whether panels have separate thresholds.
        plane = replace(plane, x=replace(plane.x, per_panel=True))
    shape = style.shape
    if shape:
        texts = _conditions(table, style.conditions)
        condition = GroupColumn.in_given_order(texts, style.conditions[0])
        groups = replace(groups, columns={**groups.columns, shape: condition})

    fields = _fields_of_columns(points, {*points.by, shape}, groups)
    limits = _limit_fields(points)
    columns = {
        one: json_values(shown_numbers(table.get_column(name))) for name, one in fields.items()
    }
    for name, (values, *_) in zip(axes, (points.x, points.y), strict=True):
        columns[name] = json_values(pl.Series(name, np.where(points.inside, values, np.nan)))
    columns |= {name: group.texts for name, group in groups.columns.items()} | limits
    columns |= _mark_sizes(points) if style.size == POINT_SIZE else {}
    records = json_rows(columns)
    lines = _cost_lines(points) if layout.type is EQUAL_COST_LINES else []
    groups.name(lines)
    plot = CurvePlot(plane=plane, records=records, groups=groups, overlays=lines)
    undrawn = plot.undrawn(points.n_keys)
    described = {name: fields[one] for name, one in style.described.items()}
    described = described or dict(zip((plane.kind.x, plane.kind.y), axes, strict=True))
    texts = [
        f"{name}: {', '.join(f'{key} {number_text(row[one])}' for key, one in described.items())}"
        for name, row in zip(groups.names(table.height), records, strict=True)
        if row[axes[0]] is not None
    ]
    plot = replace(plot, records=[row for row in records if row[axes[0]] is not None])

    limited = [name for name in axes if f"_{name}_limits" in limits]
    level = level_text(table.get_column("ci_level")) if limited else ""
    in_group = POINT_NAMES if shape == CONDITION else ()  # the condition shows these columns
    rows = [
        *groups.tooltips(),
        *(
            tooltip(name, plane.title(name, name), RATE_FORMAT)
            for name in axes
            if name not in fields.values()
        ),
        *(
            tooltip(one, plane.title(name, short_name(name)))
            for name, one in fields.items()
            if name not in in_group
        ),
        *(tooltip(f"_{name}_limits", f"{name} limits") for name in limited),
    ]
    layers = [
        *(_hull_layers(hull_fields) if layout.type is CONVEX_HULL and not plane.bends else []),
        *chance_layers(plane),
        *([_cost_line_layer()] if lines else []),
        *(_limit_layer(plane, name, level) for name in limited),
        *_point_layers(plot, shape, style),
        *([_text_layer(plane, fields.get(text, field_name(text)))] if text is not None else []),
    ]
    noun, of_what = style.items
    return plot.with_titles(
        plot.layered(
            layers,
            rows,
            deviates=[f"_{name}_{end}" for name in limited for end in ("lower", "upper")],
            color=groups.color_channel(),
        ),
        title=f"{points.title}: {style.title}",
        subtitle=style.subtitle,
        description=[
            f"{plane.name}, {format_count(len(texts), noun)}{of_what}: {plane.axis_names}",
            chance_text(plane),
            join_first(texts, separator="; "),
            f"Bars are {level} confidence limits" if limited else "",
        ],
        undrawn=undrawn,
    )


def _read_points(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> tuple[PointData, ChartOptions]:
    """Return the points of a table, and the options with a panel or a color for each metric."""
    by: Sequence[str] = layout.by if options.by is None else parse_names(options.by)
    n_keys = None
    for name in by:
        if name not in table.columns:
            raise MissingColumnError.compose("by", name, table.columns)
    if layout.type is CONVEX_HULL:
        table = table.sort(*map(column, by), "fp", "tp")
        n_keys = len(by)
        # The key of `hull(across=)` is the last column.
        by = (*by, *table.columns[table.columns.index("note") + 1 :])
    of_thresholds = threshold_axes(options)
    kind, metrics = of_thresholds or (chart_kind(table.columns, options, layout.kind), [])
    x_names, y_names = ([kind.x] * len(metrics), metrics) if metrics[1:] else ([kind.x], [kind.y])
    if layout.type is METRIC_INTERVALS:
        table, measured = _points_of_intervals(table, by, [*x_names, *y_names])
    else:
        measured = {name: _row_values(table, kind, name) for name in (*x_names, *y_names)}
    if of_thresholds is not None:
        values = {name: measured[name].ravel() for name in metrics}
        plane = threshold_plane(kind, measured[THRESHOLD].ravel(), values)
        side = "x" if kind.x == THRESHOLD else "y"
        axis = getattr(plane, side)
        finite = measured[THRESHOLD][np.isfinite(measured[THRESHOLD])]
        if np.max(finite, initial=-inf) == axis.low:
            # One threshold has no range, so that a sum has the axis of the curves.
            plane = replace(plane, **{side: replace(axis, high=axis.low)})
    else:
        # Only linear axes extend to the limits, because those of rates near 0 can be far away.
        rows = slice(None) if scale_of(kind, options.scale) == "linear" else slice(1)
        x, y = (measured[name][rows].ravel() for name in (kind.x, kind.y))
        top = _positives(table) if kind.y == "tp" and len(table) else y
        plane = given_titles(choose_plane(kind, x, y, scale=options.scale, top=top), options)
    plane = zoom_plane(plane, options)
    title = threshold_title(plane, metrics) if metrics else kind.title
    table, by, options = repeat_for_metrics(table, by, table.columns, options, metrics)
    x, y = (np.hstack([measured[name] for name in names]) for names in (x_names, y_names))
    return PointData(table=table, by=by, x=x, y=y, plane=plane, title=title, n_keys=n_keys), options


def _row_values(table: pl.DataFrame, kind: Kind, name: str) -> NDArray[np.float64]:
    """Return a threshold, a rate or a count of each row, and limits; NaN if they are undefined."""
    if name == THRESHOLD:
        values = shown_numbers(table.get_column(name))
    elif name in CONFUSION:
        values = table.get_column(name)
    else:
        counts, prevalence = table.select(map(column, CONFUSION)), None
        if has_prevalence(table.columns):  # the prevalence is null in rows without a point
            prevalence = read_prevalence(table.drop_nulls("tp").get_column(PREVALENCE))
        settings = Settings(prevalence=prevalence)
        values = counts.select(kind.axis(name).expr(settings)).to_series()
    estimate = values.cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.stack([estimate, *[np.full(len(estimate), np.nan)] * 2])


def _positives(table: pl.DataFrame) -> NDArray[np.float64]:
    """Return the number of positives of each row, NaN if it is undefined."""
    positives = table.select(pl.col("tp") + pl.col("fn")).to_series()
    return positives.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _points_of_intervals(
    table: pl.DataFrame, by: Sequence[str], names: Sequence[str]
) -> tuple[pl.DataFrame, dict[str, NDArray[np.float64]]]:
    """Return a row for each point of a table of `intervals`, and the metrics `names` of each point.

    A metric has its estimate and both limits, which are NaN if the table has no such metric.
    """
    table = table.filter(pl.col("at").is_not_null())
    points, number = number_distinct_rows(
        table.select(*map(column, by), *POINT_NAMES, THRESHOLD, "ci_level")
    )
    measured = {}
    for name in dict.fromkeys(names):
        same = [other for other, rate in NAMES.items() if rate is NAMES.get(name)]
        rows = table.get_column("metric").is_in(same).to_numpy()
        values = np.full((3, points.height), np.nan)
        for i, limit in enumerate(("estimate", "lower", "upper")):
            values[i, number.to_numpy()[rows]] = (
                table.get_column(limit).fill_null(np.nan).to_numpy()[rows]
            )
        measured[name] = values
    if THRESHOLD in measured:
        measured[THRESHOLD][0] = shown_numbers(points.get_column(THRESHOLD)).fill_null(np.nan)
    missing = [name for name, values in measured.items() if np.isnan(values[0]).all()]
    is_found = len(missing) < len(measured) - 1 if THRESHOLD in measured else not missing
    if table.height and not is_found:
        problem = f"the table has no points with the metric {missing[-1]!r}"
        metrics = [name for name in measured if name != THRESHOLD]
        hint = f"Use rf.intervals(…, metrics={metrics}) with a point such as threshold=0.5."
        raise OptionValueError.compose("table", table, problem, hint)
    return points, measured


def _conditions(table: pl.DataFrame, names: tuple[str, ...]) -> list[str]:
    """Return the condition, such as "fpr 0.1", or the rule of each point as text."""
    if names != POINT_NAMES:
        return table.get_column(names[0]).to_list()
    at, values = (table.get_column(name) for name in names)
    return [
        f"{name} {text}" if is_known else name  # a table of `intervals` has no values of rules
        for name, text, is_known in zip(
            at, distinct_number_texts(values), values.is_not_null(), strict=True
        )
    ]


def _fields_of_columns(points: PointData, shown: set[str], groups: Groups) -> dict[str, str]:
    """Return the fields of the columns that are not `shown` as groups or conditions."""
    plane = points.plane
    others = [name for name in points.table.columns if name not in shown]
    fields = field_names(others, {*groups.columns, plane.x.name, plane.y.name})
    for name, (values, *_) in ((plane.x.name, points.x), (plane.y.name, points.y)):
        # A column of the table with the name of an axis has the same values, unless it is a metric
        # of the user.
        if name in fields and np.allclose(points.table.get_column(name), values, equal_nan=True):
            fields[name] = name
    return fields


def _mark_sizes(points: PointData) -> dict[str, list[int]]:
    """Return the sizes of marks such that all marks of a group at the same point are visible.

    The mark of an earlier row is larger than the marks of later rows at the same point. The result
    is empty if no points of a group coincide, or if there are more than MAX_SIZED_GROUPS groups.
    """
    groups, group = number_distinct_rows(select_keys(points.table, points.by))
    if groups.height > MAX_SIZED_GROUPS:
        return {}
    places = pl.DataFrame({"x": points.x[0], "y": points.y[0], "group": group})
    n_later = pl.int_range(pl.len(), 0, -1).over("group", "x", "y") - 1
    steps = places.select(n_later.clip(0, MAX_SIZE_STEPS)).to_series().to_list()
    sizes = [round(POINT_SIZE * SIZE_RATIO**step) for step in steps]
    return {SIZE: sizes} if any(steps) else {}


def _limit_fields(points: PointData) -> dict[str, list[Any]]:
    """Return the fields of the ends of bars, which are inside the axes, and of their text."""
    columns: dict[str, list[Any]] = {}
    for axis, values in ((points.plane.x, points.x), (points.plane.y, points.y)):
        ends = pl.DataFrame(list(values[1:]), schema=["lower", "upper"]).fill_nan(None)
        rows = zip(*(ends.get_column(name).to_list() for name in ends.columns), strict=True)
        texts = [format_interval(low, high, 3, brackets=True) for low, high in rows]
        if any(texts):
            columns[f"_{axis.name}_limits"] = texts
            inside = pl.all().clip(axis.low, axis.high) if axis.limited else pl.all()
            for end in ends.select(inside):
                columns[f"_{axis.name}_{end.name}"] = json_values(end)
    return columns


def _limit_layer(plane: Plane, name: str, level: str) -> alt.Chart:
    """Draw bars between the confidence limits of the metric `name` on one of the axes."""
    low, high = (f"_{name}_{end}" for end in ("lower", "upper"))
    bars = alt.Chart().mark_rule(strokeWidth=LIMIT_WIDTH)
    bars = bars.transform_filter(f"isValid({datum(low)})")
    bars = with_key(bars, f"{level} confidence limits", "bar", LIMIT_WIDTH)
    channels = (alt.X, alt.X2) if name == plane.x.name else (alt.Y, alt.Y2)
    first, second = (
        channel(field=plane.field(end)) for channel, end in zip(channels, (low, high), strict=True)
    )
    layer: alt.Chart = bars.encode(first, second, tooltip=NO_TOOLTIP)
    return layer


def _hull_layers(by: Sequence[str]) -> list[alt.Chart]:
    """Draw the lines between the vertices of each hull; `by` are the fields with its group."""
    layer: alt.Chart = alt.Chart().mark_line(strokeWidth=1, order=False)
    color, detail = alt.ColorValue(REFERENCE_COLOR), [nominal(alt.Detail, name) for name in by]
    return [layer.encode(color=color, detail=detail, tooltip=NO_TOOLTIP)]


def _text_layer(plane: Plane, name: str) -> alt.Chart:
    """Write a field beside the points, where curves of this kind do not pass.

    This is below curves that rise, and above other curves. Numbers have three digits.
    """
    rates = [(COUNT_METRICS | NAMES).get(axis.name) for axis in (plane.x, plane.y)]
    x, y = (None if rate is None else rate.rising for rate in rates)
    below = x is not None and x == y
    value = datum(name)
    number = f"format({value}, abs({value}) >= 1000 ? ',.0f' : {value} % 1 ? '.3~g' : 'd')"
    text = f"isNumber({value}) ? {number} : isValid({value}) ? {value} : ''"
    # Near the right end of the x axis, the text is on the left of the point, below the text of a
    # neighbor. Near the lower end of the y axis, it is not below the point.
    left = f"{datum(plane.x.field)} > {_at_share(plane.x, MAX_RIGHT):.7g}"
    low = f"{datum(plane.y.field)} < {_at_share(plane.y, MIN_BELOW):.7g}"
    down = f"{low} ? -{TEXT_OFFSET} : {left} ? {2.4 * TEXT_OFFSET:g} : {TEXT_OFFSET}"
    style: Any = {
        "dx": alt.ExprRef(f"{left} ? -{TEXT_OFFSET} : {TEXT_OFFSET}"),
        "dy": alt.ExprRef(down) if below else -TEXT_OFFSET,
        "align": alt.ExprRef(f"{left} ? 'right' : 'left'"),
    }
    result: alt.Chart = alt.Chart().transform_calculate(_text=text).mark_text(**style)
    return result.encode(text="_text:N", tooltip=NO_TOOLTIP)


def _at_share(axis: PlotAxis, share: float) -> float:
    """Return the coordinate at a share of the length of an axis."""
    low, high = axis.coordinate(axis.low), axis.coordinate(axis.high)
    if axis.scale == "log":
        return float(low * (high / low) ** share)
    return low + share * (high - low)


def _name_trivial_vertices(table: pl.DataFrame, groups: Groups, fields: Sequence[str]) -> Groups:
    """Return groups in which the vertices (0, 0) and (1, 1) without a model have the name NO_MODEL.

    `fields` are those of the model column of `hull(across=)`. The name is not in the legend.
    """
    if not fields:
        return groups
    trivial = table.select(
        (pl.col("tp") + pl.col("fp") == 0) | (pl.col("fn") + pl.col("tn") == 0)
    ).to_series()
    columns = dict(groups.columns)
    for name, key in zip(fields, table.columns[-len(fields) :], strict=True):
        keys = table.get_column(key)
        is_unnamed = (trivial & keys.is_null()).fill_null(False)
        if not is_unnamed.any():
            continue
        named = [
            NO_MODEL if unnamed else text
            for unnamed, text in zip(is_unnamed, columns[name].texts, strict=True)
        ]
        values = tuple(value for value in columns[name].values if value in named)
        order = (*values, NO_MODEL)
        codes = tuple(map(order.index, named))
        columns[name] = replace(columns[name], values=order, codes=codes, domain=values)
    return replace(groups, columns=columns)


def _point_layers(plot: CurvePlot, shape: str, style: PointStyle) -> list[alt.Chart]:
    """Draw the points; the values of the column `shape` have shapes.

    Vertices without a model are gray.
    """
    mark: dict[str, Any] = {"filled": True, "stroke": BACKGROUND, "strokeWidth": 1}
    if style.is_ring:
        mark = {"fill": BACKGROUND, "strokeWidth": 2}
    layer: alt.Chart = curve_filter(plot).mark_point(size=style.size, opacity=1, **mark)
    shapes = plot.groups.columns[shape].values if shape else ()
    if 0 < len(shapes) <= len(SYMBOLS):
        # All symbols are in the range, so that the conditions of two charts differ in their sum.
        scale = alt.Scale(domain=list(shapes), range=list(SYMBOLS))
        legend = alt.Legend(title=None, labelLimit=0)
        layer = layer.encode(shape=nominal(alt.Shape, shape, scale=scale, legend=legend))
    if any(SIZE in record for record in plot.records):
        layer = layer.encode(size=alt.Size(f"{SIZE}:Q", scale=None, legend=None))
    color = plot.groups.color
    if color is None or all(record[color] != NO_MODEL for record in plot.records):
        return [layer]
    gray = layer.transform_filter(f"{datum(color)} === '{NO_MODEL}'")
    return [
        gray.encode(color=alt.ColorValue(REFERENCE_COLOR)),
        layer.transform_filter(f"{datum(color)} !== '{NO_MODEL}'"),
    ]


def _cost_line_layer() -> alt.Chart:
    """Draw the lines of equal expected cost."""
    layer: alt.Chart = overlay(ISO_LINE).mark_line(order=False, strokeWidth=1, opacity=0.7)
    return layer.encode(tooltip=NO_TOOLTIP)


def _cost_lines(points: PointData) -> list[dict[str, Any]]:
    """Return the points of the line of equal expected cost of each row."""
    plane, lines = points.plane, []
    slopes = points.table.get_column("slope").fill_null(np.nan)
    for i, (point, slope) in enumerate(
        zip(np.stack([points.x[0], points.y[0]], 1), slopes, strict=True)
    ):
        across, up = (json_numbers(values.tolist()) for values in _line(plane, point, slope))
        lines += [
            {GROUP_INDEX: i, LAYER: ISO_LINE, plane.x.name: x, plane.y.name: y}
            for x, y in zip(across, up, strict=True)
        ]
    return lines


def _line(plane: Plane, point: NDArray[np.float64], slope: float) -> NDArray[np.float64]:
    """Return the x and y of points of the part of a line inside the axes; empty if there is none.

    The line passes through `point`. Its slope is not negative, and infinite for a vertical line.
    """
    low, high = np.array([(axis.low, axis.high) for axis in (plane.x, plane.y)]).T
    step = np.array([0.0, 1.0] if slope == inf else [1.0, slope])
    with np.errstate(divide="ignore", invalid="ignore"):  # NaN for a line on the border of an axis
        enter = np.fmax.reduce((low - point) / step)
        leave = np.fmin.reduce((high - point) / step)
    if not (np.isfinite(point).all() and leave > enter) or np.isnan(slope):
        return np.zeros((2, 0))
    shares = np.array([0.0, 1.0])
    if plane.excludes_zero:  # dense near both ends
        small = np.geomspace(1e-6, 0.5, CURVED_STEPS // 2)
        shares = np.unique(np.concatenate([shares, small, 1 - small]))
    places = point + np.outer(enter + shares * (leave - enter), step)
    return np.clip(places.round(15), low, high).T
