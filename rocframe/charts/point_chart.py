"""Charts of points: operating points, hulls, lines of equal cost, and combined decisions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from json import dumps
from math import inf
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.axes import chart_kind, choose_plane, given_titles, roc_plane, zoom_plane
from rocframe.charts.curve_chart import (
    repeat_for_metrics,
    threshold_axes,
    threshold_plane,
    threshold_title,
)
from rocframe.charts.curve_layers import (
    LAYER,
    NO_TOOLTIP,
    CurvePlot,
    chance_layers,
    curve_filter,
    limit_channels,
    overlay,
)
from rocframe.charts.dot_charts import MODEL_PAIR, paired_columns
from rocframe.charts.groups import (
    GROUP_INDEX,
    JOINT,
    GroupColumn,
    field_names,
    nominal,
    read_groups,
    row_records,
)
from rocframe.charts.style import (
    BACKGROUND,
    BAND_OPACITY,
    GRAY,
    RATE_FORMAT,
    SYMBOLS,
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
    with_key,
)
from rocframe.curves.table import hull_models, read_prevalence, shown_numbers
from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.frames import column, number_distinct_rows, select_keys
from rocframe.kinds import PREVALENCE, has_prevalence, scale_of
from rocframe.options import NOT_GIVEN, parse_names
from rocframe.rates import CONFUSION, COUNT_METRICS, NAMES, Settings
from rocframe.schemas.curves import (
    BEST_POINTS,
    CONFUSION_MATRICES,
    CONVEX_HULL,
    EQUAL_COST_LINES,
    METRIC_INTERVALS,
    RULE_COLUMNS,
)
from rocframe.schemas.table_type import MODEL, POINT_NAMES, THRESHOLD
from rocframe.text import format_count, format_interval, format_values, join_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.axes import Plane, PlotAxis
    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import Groups
    from rocframe.charts.layer_chart import AnyChart
    from rocframe.kernel.arrays import FloatArray
    from rocframe.kinds import Kind
    from rocframe.schemas.table_type import Table


FILLED: dict[str, Any] = {"filled": True, "stroke": BACKGROUND, "strokeWidth": 1}
POINT_SIZE, VERTEX_SIZE, RING_SIZE = 110, 40, 50  # in square pixels
# If marks coincide, this is the ratio of the areas of a mark and of the mark above it, up to three
# times. With a ratio below 2, a square would hide the circle below it. If there are more than eight
# groups, marks have the same size, because large marks would hide the marks of other groups.
SIZE_RATIO, MAX_SIZE_STEPS, MAX_SIZED_GROUPS = 2.2, 3, 8
SIZE = "_size"  # the field of the area of a mark, if points of a group coincide
CONDITION = "_condition"  # the field of the condition of a point, such as "fpr 0.1"
NO_MODEL = "trivial classifier"  # the vertices (0, 0) and (1, 1) of a hull across models
ISO_LINE = "line of equal cost"  # the value of the field LAYER in the points of lines
COST_KEY = "equal cost; ring: lowest cost"  # the text of the legend of these lines
CURVED_STEPS = 60  # segments of a line on axes on which it is not straight
LIMIT_WIDTH = 1.5
# Text beside a point: its distance in pixels, and the shares of the axes without text on the right
# and without text below.
TEXT_OFFSET, MAX_RIGHT, MIN_BELOW = 9, 0.92, 0.04


@dataclass(frozen=True, slots=True, kw_only=True)
class PointStyle:
    """The title of the chart of a type of table, and the marks of its points.

    The values of the columns `conditions` have shapes. `size` is the area of a mark. The
    description counts the `items`, and has the values of `described`, by default of the axes.
    """

    title: str = "operating points"
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
    are unknown. The first `n_keys` group columns name the groups without a point.
    """

    table: pl.DataFrame
    by: Sequence[str]
    x: FloatArray
    y: FloatArray
    plane: Plane
    title: str
    n_keys: int | None = None


def points_chart(table: pl.DataFrame, layout: Table, options: ChartOptions) -> AnyChart:
    """Draw a mark for each operating point, with a shape for each condition or rule."""
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
    inside = plane.contains(points.x[0], points.y[0])
    for name, (values, *_) in zip(axes, (points.x, points.y), strict=True):
        columns[name] = json_values(pl.Series(name, np.where(inside, values, np.nan)))
    columns |= {name: group.texts for name, group in groups.columns.items()} | limits
    columns |= _mark_sizes(points) if style.size == POINT_SIZE else {}
    records = json_rows(columns)
    lines = _cost_lines(points) if layout.type is EQUAL_COST_LINES else []
    groups.name(lines)
    plot = CurvePlot(plane=plane, records=records, groups=groups, overlays=lines)
    with_line = {line[GROUP_INDEX] for line in lines}
    drawn = [i in with_line or row[axes[0]] is not None for i, row in enumerate(records)]
    shown = [
        row | {axes[0]: 0 if known else None} for row, known in zip(records, drawn, strict=True)
    ]
    undrawn = replace(plot, records=shown).undrawn(points.n_keys)
    described = {name: fields[one] for name, one in style.described.items()}
    described = described or dict(zip((plane.kind.x, plane.kind.y), axes, strict=True))
    texts = [
        f"{name}: {', '.join(f'{key} {number_text(row[one])}' for key, one in described.items())}"
        for name, row, known in zip(groups.names(table.height), records, drawn, strict=True)
        if known
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
            tooltip(one, plane.title(name, short_name(name)), _number_format(table, name))
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
    deviates = [f"_{name}_{end}" for name in limited for end in ("lower", "upper")]
    noun, of_what = style.items
    return plot.with_titles(
        plot.layered(layers, rows, deviates=deviates, color=groups.color_channel()),
        title=f"{points.title}: {style.title}",
        subtitle="",
        description=[
            f"{plane.name}, {format_count(len(texts), noun)}{of_what}: {plane.axis_names}",
            join_first(texts, separator="; "),
            f"Bars are {level} confidence limits" if limited else "",
        ],
        undrawn=undrawn,
    )


def _number_format(table: pl.DataFrame, name: str) -> str | None:
    """Return the format of a column in tooltips: that of rates for columns of finite floats."""
    is_exact = name in POINT_NAMES or name.startswith(THRESHOLD)
    values = table.get_column(name)
    is_float = values.dtype.is_float() and values.is_finite().sum() == len(values)
    return RATE_FORMAT if is_float and not is_exact else None


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
        models = hull_models(table.schema)
        by = by if models is None else (*by, models)
    of_thresholds = threshold_axes(options)
    if of_thresholds is not None and THRESHOLD not in table.columns:
        axis = "x" if options.x == THRESHOLD else "y"
        raise MissingColumnError.compose(axis, THRESHOLD, table.columns)
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


def _row_values(table: pl.DataFrame, kind: Kind, name: str) -> FloatArray:
    """Return a threshold, a rate or a count of each row, and limits; NaN if they are undefined."""
    if name == THRESHOLD:
        values = _shown_thresholds(table)
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


def _shown_thresholds(table: pl.DataFrame) -> pl.Series:
    """Return the threshold of each row: the given one, or else that of the row of the curve."""
    values = shown_numbers(table.get_column(THRESHOLD))
    if POINT_NAMES[0] not in table.columns:
        return values
    is_given = table.get_column(POINT_NAMES[0]) == THRESHOLD
    return table.select(pl.when(is_given).then(POINT_NAMES[1]).otherwise(values)).to_series()


def _positives(table: pl.DataFrame) -> FloatArray:
    """Return the number of positives of each row, NaN if it is undefined."""
    positives = table.select(pl.col("tp") + pl.col("fn")).to_series()
    return positives.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _points_of_intervals(
    table: pl.DataFrame, by: Sequence[str], names: Sequence[str]
) -> tuple[pl.DataFrame, dict[str, FloatArray]]:
    """Return the points of a table of `intervals`, with the estimate and limits of the `names`."""
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
        measured[THRESHOLD][0] = _shown_thresholds(points).fill_null(np.nan)
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
        # of the user, or the score at a given threshold.
        if name == THRESHOLD:
            fields.pop(name, None)
        elif name in fields and np.allclose(points.table.get_column(name), values, equal_nan=True):
            fields[name] = name
    return fields


def _mark_sizes(points: PointData) -> dict[str, list[int]]:
    """Return sizes such that all marks of a group at the same point are visible.

    Later ones are smaller. It is empty if no points coincide, or for more than MAX_SIZED_GROUPS.
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
        rows = zip(*ends, strict=True)
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
    side = "x" if name == plane.x.name else "y"
    return bars.encode(**limit_channels(plane, side, (low, high)))


def _hull_layers(by: Sequence[str]) -> list[alt.Chart]:
    """Draw the lines between the vertices of each hull; `by` are the fields with its group."""
    layer: alt.Chart = alt.Chart().mark_line(strokeWidth=1, order=False)
    detail = [nominal(alt.Detail, name) for name in by]
    return [layer.encode(color=GRAY, detail=detail, tooltip=NO_TOOLTIP)]


def _text_layer(plane: Plane, name: str) -> alt.Chart:
    """Write a field beside the points: below curves that rise, and above others."""
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
    """Return groups in which (0, 0) and (1, 1) of `hull(across=)` have the model name NO_MODEL."""
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
    """Draw the points, those without a model in gray; values of the column `shape` have shapes."""
    mark = {"fill": BACKGROUND, "strokeWidth": 2} if style.is_ring else FILLED
    layer: alt.Chart = curve_filter(plot).mark_point(size=style.size, opacity=1, **mark)
    shapes = plot.groups.columns[shape].values if shape else ()
    if 0 < len(shapes) <= len(SYMBOLS):
        # All symbols are in the range, so that the conditions of two charts differ in their sum.
        layer = layer.encode(shape=_shape_channel(shape, shapes, SYMBOLS))
    if any(SIZE in record for record in plot.records):
        layer = layer.encode(size=alt.Size(f"{SIZE}:Q", scale=None, legend=None))
    color = plot.groups.color
    if color is None or all(record[color] != NO_MODEL for record in plot.records):
        return [layer]
    gray = layer.transform_filter(f"{datum(color)} === '{NO_MODEL}'")
    return [gray.encode(color=GRAY), layer.transform_filter(f"{datum(color)} !== '{NO_MODEL}'")]


def _shape_channel(name: str, values: Sequence[str], symbols: Sequence[str]) -> Any:
    """Return the channel of the shapes of a field, with a legend."""
    scale = alt.Scale(domain=[*values], range=[*symbols])
    return nominal(alt.Shape, name, scale=scale, legend=alt.Legend(title=None, labelLimit=0))


def _cost_line_layer() -> alt.Chart:
    """Draw the lines of equal expected cost, with a legend for them and for the rings."""
    layer: Any = overlay(ISO_LINE).mark_line(order=False, strokeWidth=1, strokeOpacity=0.7)
    return with_key(layer.encode(tooltip=NO_TOOLTIP), COST_KEY, "line", 1)


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


def _line(plane: Plane, point: FloatArray, slope: float) -> FloatArray:
    """Return x and y of the part of a line through `point` that is inside the axes."""
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


ALONE, INDEPENDENT, MEASURED = "model alone", "expected if independent", "measured"
SHAPES = {ALONE: "circle", INDEPENDENT: "cross", MEASURED: "diamond"}
FPR_RANGE, TPR_RANGE = ("fpr_min", "fpr_max"), ("tpr_min", "tpr_max")
TYPE = "_type"  # the field of the type of a point
MAX_LABEL = 150  # length of the name beside a point, in pixels
MIN_LEFT = 0.25  # names on the left of points with a lower rate would overlap the axis


def combination_chart(table: pl.DataFrame, layout: Table, options: ChartOptions) -> AnyChart:
    """Draw the possible (a rectangle), the expected and the measured points of AND and OR."""
    sides, pair = ("model_a", "model_b"), f"model_a{JOINT}model_b"
    models = zip(sides, paired_columns(table, MODEL_PAIR), strict=True)
    texts = (pl.Series(name, one.texts, pl.String) for name, one in models)
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
    types: dict[str, tuple[str, tuple[str, ...]]] = {
        "_a": (ALONE, ("model_a",)),
        "_b": (ALONE, ("model_b",)),
        "_independent": (INDEPENDENT, ()),
        "": (MEASURED, CONFUSION),
    }
    # One name is above its point and the other name below, because the names of two models with
    # similar rates would overlap.
    above = {"a": "datum.tpr_a >= datum.tpr_b", "b": "datum.tpr_b > datum.tpr_a"}
    layers = [
        rectangle.encode(**ends),
        *chance_layers(plot.plane),
        *_decision_layers(plot, types),
        *(
            _name_layer(f"_{side}", f"model_{side}", is_above, MIN_LEFT).encode(color=GRAY)
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
            "Rectangles show all possible points",
            join_first(points, separator="; "),
        ],
    )


def chain_chart(table: pl.DataFrame, layout: Table, options: ChartOptions) -> AnyChart:
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
            join_first(texts, separator="; "),
        ],
    )


def _read_decisions(table: pl.DataFrame, by: Sequence[str], options: ChartOptions) -> CurvePlot:
    """Return the data of a chart with a record for each row of the table."""
    groups = read_groups(table, by, table.columns, options)
    others = [name for name in table.columns if name not in by]
    fields = field_names(others, groups.columns)
    shown = table.select(column(name).alias(one) for name, one in fields.items())
    records = row_records(shown, groups, shown.columns)
    return CurvePlot(plane=roc_plane(options), records=records, groups=groups)


def _with_values(*fields: str) -> Any:
    """Return a layer with the rows that have values in all `fields`."""
    return alt.Chart().transform_filter(" && ".join(f"isValid(datum.{name})" for name in fields))


def _decision_layers(
    plot: CurvePlot, points: Mapping[str, tuple[str, tuple[str, ...]]]
) -> list[alt.Chart]:
    """Draw points for each suffix of rates, with their type and columns for tooltips."""
    drawn = {
        suffix: point
        for suffix, point in points.items()
        if any(record[f"fpr{suffix}"] is not None for record in plot.records)
    }
    types = dict.fromkeys(mark for mark, _ in drawn.values())
    shape = _shape_channel(TYPE, [*types], [SHAPES[mark] for mark in types])
    layers = []
    for suffix, (mark, names) in drawn.items():
        rates = f"fpr{suffix}", f"tpr{suffix}"
        layer = _with_values(*rates).transform_calculate(**{TYPE: dumps(mark)})
        tooltips = [*plot.groups.tooltips(), *map(tooltip, names)]
        tooltips += [tooltip(name, number=RATE_FORMAT) for name in rates]
        layer = layer.mark_point(size=POINT_SIZE, opacity=1, **FILLED)
        layer = layer.encode(**_position(*rates), shape=shape, tooltip=tooltips)
        layers.append(layer.encode(color=GRAY) if mark == ALONE else layer)
    return layers


def _position(x: str, y: str) -> dict[str, Any]:
    """Return the position channels of two columns, which other layers have on the same axes."""
    return {"x": alt.X(field=x, type="quantitative"), "y": alt.Y(field=y, type="quantitative")}


def _name_layer(suffix: str, text: str, above: str = "true", min_left: float = 0) -> Any:
    """Write a column above the points of a suffix if `above`, and left of them from `min_left`."""
    x, y = f"fpr{suffix}", f"tpr{suffix}"
    left = f"({above} && datum.{x} >= {min_left})"
    layer: Any = _with_values(x, y).mark_text(
        dx=alt.ExprRef(f"{left} ? -8 : 8"),
        dy=alt.ExprRef(f"({above}) ? -8 : 8"),
        align=alt.ExprRef(f"{left} ? 'right' : 'left'"),
        limit=MAX_LABEL,
    )
    return layer.encode(**_position(x, y), text=f"{text}:N", tooltip=NO_TOOLTIP)
