"""Charts of lines: averages, bands, smooth curves, cost curves, decision curves, Murphy curves."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import ceil, nan
from typing import TYPE_CHECKING, Any, cast

import altair as alt
import numpy as np
import polars as pl

from rocframe.areas.area import area_of_mean
from rocframe.charts.axes import (
    EMPTY_HEIGHT,
    Plane,
    PlotAxis,
    calibration_plane,
    choose_plane,
    common_axis,
    free_axis,
    roc_plane,
    zoom_plane,
)
from rocframe.charts.curve_layers import (
    LAYER,
    NO_TOOLTIP,
    CurvePlot,
    chance_layers,
    curve_filter,
    curve_stroke,
    gray_dashes,
    hover_layer,
    limit_channels,
    line_layer,
    overlay,
    reference_line,
)
from rocframe.charts.groups import (
    GROUP_INDEX,
    GroupColumn,
    free_name,
    metric_channels,
    nominal,
    read_groups,
    with_areas,
)
from rocframe.charts.layer_chart import ESTIMATE, MEAN_LINE
from rocframe.charts.style import (
    BAND_OPACITY,
    CHANCE_DASH,
    RATE_FORMAT,
    digits_of,
    distinct_labels,
    json_numbers,
    level_text,
    sentences,
    tooltip,
    with_key,
)
from rocframe.curves.thinning import corner_points, evenly_ranked_rows
from rocframe.errors import OptionValueError
from rocframe.frames import collect_frame, column, number_keys
from rocframe.kernel.groups import group_starts
from rocframe.kinds import CALIBRATION_KIND, Kind, scale_of
from rocframe.options import NOT_GIVEN, check_choice
from rocframe.schemas.statistics import CurveAverage, curve_average_of, metric_average_of
from rocframe.schemas.table_type import MODEL, SIDE, LineStyle
from rocframe.text import format_count, format_percent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import Groups
    from rocframe.charts.layer_chart import AnyChart
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.schemas.statistics import MetricAverage
    from rocframe.schemas.table_type import Table

BAR_OPACITY, BAR_WIDTH = 0.6, 2
LIGHT_OPACITY = 0.04  # opacity of each band, if a panel has several bands
PANEL_OPACITY = 0.5  # maximum sum of the opacities of all bands in a panel
SECTION, MEAN_WIDTH = "section", 3.5
# The strokes of lines, by the field `line` of a style; the default depends on the number of lines.
STROKES: dict[str, dict[str, Any]] = {
    ESTIMATE: {"strokeWidth": 1.5, "style": ESTIMATE},
    MEAN_LINE: {"strokeWidth": MEAN_WIDTH, "style": MEAN_LINE},
    SECTION: {"strokeWidth": 3},
}
TOLERANCE = 1 / 500  # maximum error of a drawn line, as a share of an axis
AXIS_STEPS = 400  # number of interpolated points along a logarithmic or normal-deviate axis
BARS = 20  # number of bars of a curve with limits along both axes
BAR = "_bar"  # the field of rows with bars: 1, 0 for other rows, -1 for interpolated points
END_MARGIN, MAX_SHARE = 1.1, 0.8  # of the axis of thresholds of net benefits
MARGIN = 0.1  # the axis of net benefit extends below 0 by this share of its upper end
LINES = "lines"  # the field LAYER of the records of single thresholds
METRIC, MEAN = "metric", "mean"


def line_chart(table: pl.DataFrame, layout: Table, options: ChartOptions) -> AnyChart:
    """Draw the lines of a table; the option `y` chooses one of the styles of the table."""
    styles, by = {style.y: style for style in layout.type.lines}, layout.by
    check_choice("y", options.y, (None, *styles))
    style = styles[str(options.y)] if options.y else layout.type.lines[0]
    rows, style = _differences(table, style) if style.compared else (table, style)
    if style.x_limits and table.get_column(style.x_limits[0]).null_count() == table.height:
        style = replace(style, x_limits=())
    rows = rows.sort(style.x, SIDE if SIDE in table.columns[len(by) :] else style.y)
    plane, omitted = _plane(rows, style, options)
    plot = _read_lines(rows, by, style, plane, options)
    if style.compared:
        plot = replace(plot, groups=_colors_of_all_rows(plot.groups, table, by))
    areas = None
    if style.area:
        _, firsts = np.unique(number_keys(rows, by)[1], return_index=True)
        areas = rows.get_column(style.area).fill_null(nan)[firsts].to_list()
    key = interval_caption(table, style.band[:1]) if style.limits else ""
    band = interval_caption(table, style.band) if style.band else ""
    subtitle = sentences(style.meaning, band, omitted, end="")
    return _draw_lines(plot, style, key=key, areas=areas, subtitle=subtitle)


def _read_lines(
    table: pl.DataFrame, by: Sequence[str], style: LineStyle, plane: Plane, options: ChartOptions
) -> CurvePlot:
    """Return the data of a chart of lines: a record per group, of the points with coordinates."""
    groups, number = number_keys(table, by)
    names = [name for name in (style.x, style.y, style.threshold, style.reference) if name]
    numbers = {
        name: column(name).cast(pl.Float64).fill_nan(None) for name in [*names, *style.limited]
    }
    numbers |= {end: numbers[end].fill_null(numbers[name]) for end, name in style.limited.items()}
    rows = table.select(pl.Series(GROUP_INDEX, number), *numbers.values())
    rows = rows.drop_nulls([style.x, style.y]).sort(GROUP_INDEX, maintain_order=True)
    points = {name: rows.get_column(name).fill_null(nan).to_numpy() for name in rows.columns}
    if plane.excludes_zero:
        points = _interpolate_lines(plane, points, style)
    starts = group_starts(points.pop(GROUP_INDEX), groups.height)
    needed = _needed_points(plane, points, starts, style)
    records: list[dict[str, Any]] = [
        {GROUP_INDEX: i}
        | {
            name: json_numbers(
                values[start:end][needed[start:end]].tolist(), digits=digits_of(name)
            )
            for name, values in points.items()
        }
        for i, (start, end) in enumerate(pairwise(starts))
    ]
    shown = read_groups(groups, by, table.columns, options, [*points])
    shown.name(records)
    return CurvePlot(plane=plane, records=records, groups=shown, fields=tuple(points))


def _interpolate_lines(
    plane: Plane, points: Mapping[str, Array], style: LineStyle
) -> dict[str, Array]:
    """Add interpolated points to lines on nonlinear axes, and remove points outside the axes."""
    rows = np.arange(len(points[style.x]))
    if not len(rows):
        return {**points}
    axes = {style.x: plane.x, style.y: plane.y}
    moves = [np.diff(axis.position(points[name]), append=0) for name, axis in axes.items()]
    is_inside = np.diff(points[GROUP_INDEX], append=-1) == 0
    distance = np.where(is_inside, np.abs(moves).max(axis=0), 0)
    n_points = np.maximum(np.ceil(distance * AXIS_STEPS), 1).astype(np.int64)
    at = np.interp(np.arange(n_points.sum()), np.cumsum(n_points) - n_points, rows)
    is_between = at % 1 > 0
    dense = {name: np.interp(at, rows, values) for name, values in points.items()}
    if style.threshold:  # thresholds can be infinite
        thresholds = points[style.threshold][at.astype(np.int64)]
        dense[style.threshold] = np.where(is_between, nan, thresholds)
    dense[BAR] = 0.0 - is_between
    visible = np.ones(len(at), bool)
    for name, axis in axes.items():
        if axis.excludes_zero:
            visible &= (dense[name] >= axis.low) & (dense[name] <= axis.high)
            for end in [end for end, coordinate in style.limited.items() if coordinate == name]:
                dense[end] = np.clip(dense[end], axis.low, axis.high)
    return {name: values[visible] for name, values in dense.items()}


def _needed_points(
    plane: Plane, points: dict[str, Array], starts: IntArray, style: LineStyle
) -> BoolArray:
    """Return a mask of the points to draw, and mark about BARS rows of each line with bars."""
    x, y = style.x, style.y
    lines = [(x, y), *zip(style.x_limits or (x, x), style.limits or (y, y), strict=True)]
    lines += [(x, style.reference)] if style.reference else []
    needed = np.zeros(len(points[x]), bool)
    for across, up in lines:
        positions = plane.x.position(points[across]), plane.y.position(points[up])
        needed |= corner_points(*positions, starts, TOLERANCE)
    if style.x_limits and style.limits:
        bars = points.setdefault(BAR, np.zeros(len(needed)))
        rows = np.flatnonzero(bars == 0)
        bars[rows[evenly_ranked_rows(np.searchsorted(rows, starts), BARS)[0]]] = 1
        needed |= bars > 0
    return needed


def _draw_lines(
    plot: CurvePlot,
    style: LineStyle,
    *,
    subtitle: str = "",
    key: str = "",
    areas: Sequence[float] | None = None,
    undrawn: Sequence[str] | None = None,
) -> AnyChart:
    """Return the chart of lines with their limits, dashed lines, tooltips and titles."""
    plane = plot.plane
    groups, area = with_areas(plot.groups, areas, plane.kind)
    plot = replace(plot, groups=groups)
    has_limits = any(
        record[end] != record[name]
        for record in plot.records
        for end, name in style.limited.items()
    )
    key = key if has_limits else ""
    line = line_layer(plot, **(STROKES.get(style.line) or curve_stroke(plot)))
    if style.line == MEAN_LINE and groups.color is None:
        line = with_key(line, f"mean ({area})" if area else "mean", "line", MEAN_WIDTH)
    points = hover_layer(plot)
    if plane.excludes_zero:  # interpolated points have no tooltip
        points = points.transform_filter(f"datum.{BAR} >= 0")
    layers = [
        *([_thin_lines(plot)] if plot.overlays else []),
        *(_limit_layers(plot, style, key) if key else []),
        *chance_layers(plane),
        # A line through a few points with limits along both axes is not the curve.
        *([] if style.line == ESTIMATE and style.x_limits else [line]),
        *_dashed_layers(plot, style),
        points,
    ]
    tooltips = [
        *groups.tooltips(),
        *map(tooltip, filter(None, [style.threshold])),
        *plot.axis_tooltips(),
        *(tooltip(name, number=RATE_FORMAT) for name in (*style.limited, style.reference) if name),
    ]
    is_mean = style.line == MEAN_LINE
    lines = format_count(len(plot.records), "averaged curve" if is_mean else "curve")
    lines += f" with {key}" if key not in subtitle else ""
    return plot.with_titles(
        plot.layered(layers, tooltips, deviates=[*style.limited]),
        title=style.title,
        subtitle=subtitle or area,
        description=[
            f"{plane.name if is_mean else style.title}, {lines}: {plane.axis_names}",
            subtitle,
            groups.captions_text() or area,
        ],
        undrawn=undrawn,
    )


def _limit_layers(plot: CurvePlot, style: LineStyle, key: str) -> list[alt.Chart]:
    """Draw a band if one axis has confidence limits, or bars if both axes have limits."""
    layer, limits = curve_filter(plot), {"y": style.limits, "x": style.x_limits}
    channels = {
        side: limit_channels(plot.plane, side, ends) for side, ends in limits.items() if ends
    }
    if len(channels) == 2:
        bars = bar_layer(layer.transform_filter(f"datum.{BAR} == 1"), key)
        return [bars.encode(**channel) for channel in channels.values()]
    n_bands = plot.groups.max_curves(plot.records, plot.groups.panel)
    orient = "vertical" if "y" in channels else "horizontal"
    bands = band_layers(layer, key, n_bands, orient=orient)
    return [band.encode(**channel) for band in bands for channel in channels.values()]


def bar_layer(layer: alt.Chart, key: str) -> alt.Chart:
    """Draw bars, with the text `key` in a legend."""
    bars = layer.mark_rule(opacity=BAR_OPACITY, strokeWidth=BAR_WIDTH)
    return with_key(bars, key, "bar", BAR_WIDTH)


def band_layers(layer: alt.Chart, key: str, n_bands: int, **mark: Any) -> list[alt.Chart]:
    """Draw bands, with the text `key` in a legend; a panel has at most `n_bands` bands."""
    if n_bands < 2:
        return [with_key(layer.mark_area(opacity=BAND_OPACITY, **mark), key, "band")]
    opacity = min(LIGHT_OPACITY, PANEL_OPACITY / n_bands)
    # The colors of overlapping areas mix, so lines show the limits of each band.
    outline = layer.mark_area(filled=False, strokeWidth=1, opacity=0.8, **mark)
    return [with_key(layer.mark_area(opacity=opacity, **mark), key, "limits"), outline]


def _dashed_layers(plot: CurvePlot, style: LineStyle) -> list[alt.Chart]:
    """Draw the dashed line of all groups, and the one of each group."""
    layers = []
    if style.constant:
        points = zip((style.x, style.y), zip(*style.constant, strict=True), strict=True)
        layers.append(reference_line(dict(points), CHANCE_DASH))
    if style.reference:
        details = [nominal(alt.Detail, name) for name in plot.groups.table_columns]
        y = alt.Y(field=style.reference, type="quantitative")
        line = line_layer(plot, strokeWidth=1)
        layers.append(line.encode(y=y, detail=details, **gray_dashes()))
    return layers


def interval_caption(table: pl.DataFrame, band: Sequence[str] = ()) -> str:
    """Return a text such as "95 % pointwise intervals"; empty if the table has no level."""
    if not band:
        levels = level_text(table.get_column("ci_level"))
        return levels and f"{levels} pointwise intervals"
    bands = table.select("ci_level", *band).unique(maintain_order=True)
    return ", ".join(
        " ".join([f"{format_percent(level)} {scope} band", *(f"({name})" for name in method)])
        for level, scope, *method in zip(*bands, strict=True)
    )


def _plane(table: pl.DataFrame, style: LineStyle, options: ChartOptions) -> tuple[Plane, str]:
    """Return the axes of a style, and a text if the x axis ends before the highest threshold.

    Net benefit has no minimum: its axis shows a small range below 0, and the axis of thresholds
    ends a little above the last threshold with a positive net benefit.
    """
    if not style.axes:
        return roc_plane(options), ""
    names, omitted = [style.y, *style.limits, *filter(None, [style.reference])], ""
    low, high = _range(table, names)
    high = max([high, *(up for _, up in style.constant)])
    x_title, y_title = style.axes
    x = PlotAxis(name=style.x, title=x_title)
    if style.benefits:
        used = table.filter(pl.max_horizontal(pl.col(style.benefits)) > 0)
        last, highest = (_range(rows, [x.name])[1] for rows in (used, table))
        end = ceil(END_MARGIN * last * 20) / 20
        if 0 < end < MAX_SHARE * highest:
            x, omitted = replace(x, high=end), f"No net benefit is positive above {last:.3g}"
        largest = _range(table, style.benefits)[1]
        if style.compared:  # can be arbitrarily large at thresholds close to 1
            low, high = max(low, -largest / 2), min(high, largest / 2)
        else:
            high = high or EMPTY_HEIGHT
            low = -MARGIN * high
    high = high if high > low else low + EMPTY_HEIGHT
    clipped = bool(style.benefits)
    y = PlotAxis(name=style.y, title=y_title, low=low, high=high, nice=style.nice, clipped=clipped)
    kind = Kind(name="", title=style.title, x=x.name, y=y.name, chance=None)
    plane = zoom_plane(Plane(kind=kind, x=x, y=y), options)
    plane = replace(plane, y=replace(plane.y, nice=plane.y.nice and not clipped))
    return plane, "" if plane.x.zoomed else omitted


def _range(table: pl.DataFrame, names: Sequence[str]) -> tuple[float, float]:
    """Return the lowest and the highest number in the columns `names` and 0."""
    numbers = pl.col(names)
    low, high = table.select(
        low=pl.min_horizontal(numbers.min(), 0.0), high=pl.max_horizontal(numbers.max(), 0.0)
    ).row(0)
    return low, high


def _differences(table: pl.DataFrame, style: LineStyle) -> tuple[pl.DataFrame, LineStyle]:
    """Return the rows with a difference to the baseline, and the style with its name."""
    rows = table.filter(pl.col(style.y).is_not_null())
    if not rows.height:
        problem = "the table has no differences"
        hint = "Compute the table with baseline=."
        raise OptionValueError.compose("y", style.y, problem, hint)
    is_baseline = pl.col(style.y).is_null() & pl.col(str(style.compared)).is_not_null()
    baselines = table.filter(is_baseline).get_column(MODEL)
    name = distinct_labels(baselines[:1])[0] if baselines.n_unique() == 1 else "the baseline"
    x_title, y_title = style.axes
    return rows, replace(
        style, axes=(x_title, f"{y_title} {name}"), meaning=f"{style.meaning} {name}"
    )


def _colors_of_all_rows(groups: Groups, table: pl.DataFrame, by: Sequence[str]) -> Groups:
    """Return groups with the same colors as in a chart of all rows, including the baseline."""
    if groups.color is None:
        return groups
    values = GroupColumn.from_keys(table.get_column(by[[*groups.columns].index(groups.color)]))
    colored = groups.columns[groups.color].with_colors_of(values)
    return replace(groups, columns={**groups.columns, groups.color: colored})


def cost_curve_chart(table: pl.DataFrame, layout: Table, options: ChartOptions) -> AnyChart:
    """Draw cost curves; the sections of an envelope have the color of the best curve."""
    (style,), by = layout.type.lines, layout.by
    ordered = table.sort(*map(column, by), style.x)
    best = table.columns[table.columns.index("note") + 1] if "second_cost" in table.columns else ""
    sections: tuple[str, ...] = ()
    if best and not table.get_column(best).is_null().all():
        ordered, section = _best_curve_sections(ordered, by, best)
        sections, style = (best, section), replace(style, line=SECTION)
        options = replace(options, color=best) if options.color is NOT_GIVEN else options
    plane, _ = _plane(table, style, options)
    plot = _read_lines(ordered, (*by, *sections), style, plane, options)
    if options.lines:
        plot = replace(plot, overlays=_threshold_records(ordered, by, sections, plot))
    if sections:  # the last column of the groups is the number of the section
        columns = dict([*plot.groups.columns.items()][:-1])
        plot = replace(plot, groups=replace(plot.groups, columns=columns))
    subtitle = ("Thin: single thresholds. " if options.lines else "") + style.meaning
    return _draw_lines(plot, style, subtitle=subtitle, undrawn=plot.undrawn(len(by)))


def _best_curve_sections(
    ordered: pl.DataFrame, by: Sequence[str], best: str
) -> tuple[pl.DataFrame, str]:
    """Return the sections of each envelope with the same best curve, and the name of their column.

    The first point of each section is also the last of the one before, so that there are no gaps.
    """
    name = free_name("section", ordered.columns)
    keys = list(map(column, by))

    def within(values: pl.Expr) -> pl.Expr:
        return values.over(keys) if keys else values

    # Where no curve is better than the trivial classifiers, only their lines are drawn.
    filled = column(best)
    for strategy in ("backward", "forward"):
        filled = filled.fill_null(strategy=strategy, limit=1)
    ordered = ordered.with_columns(within(filled)).filter(column(best).is_not_null())
    numbered = ordered.with_columns(pl.struct(*keys, column(best)).rle_id().alias(name))
    ends = numbered.with_columns(within(column(one).shift()) for one in (best, name))
    ends = ends.filter(column(name) != numbered.get_column(name))
    return pl.concat([numbered, ends]).sort(*keys, column(name), "probability_cost"), name


def _threshold_records(
    ordered: pl.DataFrame, by: Sequence[str], sections: Sequence[str], plot: CurvePlot
) -> list[dict[str, Any]]:
    """Return a record for the line of each threshold, from (0, fpr) to (1, fnr)."""
    line, group = (
        pl.Series(name, number_keys(ordered, names)[1])
        for name, names in ((GROUP_INDEX, (*by, *sections)), ("group", by))
    )
    rates = ordered.select(line, group, "fpr", "fnr").drop_nulls()
    # Two sections of an envelope have one point in common, so duplicates are removed.
    rates = rates.unique(["group", "fpr", "fnr"], keep="last", maintain_order=True)
    x, y = plot.plane.x.name, plot.plane.y.name
    columns = (json_numbers(rates.get_column(name)) for name in (GROUP_INDEX, "fpr", "fnr"))
    records: list[dict[str, Any]] = [
        {GROUP_INDEX: line, LAYER: LINES, "_line": i, x: [0, 1], y: ends}
        for i, (line, *ends) in enumerate(zip(*columns, strict=True))
    ]
    plot.groups.name(records)
    return records


def _thin_lines(plot: CurvePlot) -> alt.Chart:
    """Draw the lines of single thresholds, clipped to the axes."""
    layer: alt.Chart = overlay(LINES).mark_line(
        order=False, clip=True, strokeWidth=0.7, opacity=0.4
    )
    details = [*plot.groups.details(), alt.Detail("_line:N")]
    return layer.encode(detail=details, tooltip=NO_TOOLTIP)


def mean_chart(table: pl.DataFrame, _layout: Table, options: ChartOptions) -> AnyChart:
    """Draw averaged curves as bold lines, with bands or bars between their confidence limits."""
    key, plane = interval_caption(table), None
    mean = curve_average_of(table.columns)
    if mean is None:
        average = cast("MetricAverage", metric_average_of(table.columns))
        long, mean = _one_mean_column(table, average)
        plane = _metric_plane(table, average, mean.kind, options)
        options, table = metric_channels(options, mean.by, len(average.averaged)), long
    kind, sides = mean.kind, [SIDE] if mean.sides else []
    x_limits, limits = (
        (f"{name}_lower", f"{name}_upper") if name in mean.averaged else ()
        for name in (kind.x, kind.y)
    )
    first = "threshold_mean" if mean.fixed is None else getattr(kind, mean.fixed)
    ordered = table.sort(first, *sides, descending=[mean.fixed is None, *(False for _ in sides)])
    plane = zoom_plane(plane or _mean_plane(ordered, kind, limits, options), options)
    style = LineStyle(title=plane.kind.title, x=kind.x, y=kind.y, line=MEAN_LINE)
    style = replace(style, limits=limits, x_limits=x_limits, threshold="threshold_mean")
    plot = _read_lines(ordered, mean.by, style, plane, options)
    areas = _areas(table, mean) if kind.roc_area else None
    return _draw_lines(plot, style, key=key, areas=areas)


def _mean_plane(
    table: pl.DataFrame, kind: Kind, limits: Sequence[str], options: ChartOptions
) -> Plane:
    """Return the axes of averaged curves, which contain the confidence limits."""
    rows = table.drop_nulls([kind.x, kind.y])
    x, y = (rows.get_column(name).cast(pl.Float64).to_numpy() for name in (kind.x, kind.y))
    low, top = (
        rows.get_column(end).fill_null(rows.get_column(kind.y)).to_numpy()
        for end in limits or (kind.y, kind.y)
    )
    y = np.append(y, low) if kind.y == "skill" else y
    return choose_plane(kind, x, y, scale=options.scale, top=top)


def _areas(table: pl.DataFrame, mean: CurveAverage) -> list[float] | None:
    """Return the area under each mean ROC curve, NaN if undefined; None if all are undefined."""
    areas = collect_frame(area_of_mean(table.lazy(), table.schema, mean)).to_series(-1)
    return None if areas.is_null().all() else areas.fill_null(nan).to_list()


def _one_mean_column(
    table: pl.DataFrame, average: MetricAverage
) -> tuple[pl.DataFrame, CurveAverage]:
    """Return the averaged metrics in one column, without infinite values, and the new layout."""
    several = len(average.averaged) > 1
    metric = [free_name(METRIC, average.by)] if several else []
    y = free_name(MEAN, average.by) if several else average.averaged[0]
    parts = [
        table.select(
            *(pl.lit(name).alias(one) for one in metric),
            *map(column, (*average.by, average.fixed)),
            *(column(f"{name}{end}").alias(f"{y}{end}") for end in ("", "_lower", "_upper")),
            "threshold_mean",
        )
        for name in average.averaged
    ]
    long = pl.concat(parts).with_columns(
        pl.when(column(name).is_finite()).then(column(name)) for name in (average.fixed, y)
    )
    kind = Kind(name="", title="Means", x=average.fixed, y=y, chance=None)
    by = (*metric, *average.by)
    return long, CurveAverage(by=by, kind=kind, averaged=(y,), sides=False)


def _metric_plane(
    table: pl.DataFrame, average: MetricAverage, kind: Kind, options: ChartOptions
) -> Plane:
    """Return the axes of averaged metrics: from 0 to 1 for rates, else the range of the values."""

    def values(table: pl.DataFrame, name: str, *ends: str) -> FloatArray:
        columns = [table.get_column(f"{name}{end}") for end in ("", *ends)]
        return pl.concat([one.alias(name) for one in columns]).fill_null(nan).to_numpy()

    ends = ("_lower", "_upper")
    if (kind.x, kind.y) == (CALIBRATION_KIND.x, CALIBRATION_KIND.y):
        rows = table.drop_nulls(kind.y)
        numbers = np.concatenate([values(rows, kind.x), values(rows, kind.y, *ends)])
        return calibration_plane(numbers.round(7).tolist(), options.scale)
    scale_of(kind, options.scale)
    axes = [free_axis(name, values(table, name, *ends)) for name in average.averaged]
    y = replace(common_axis(MEAN, axes), name=kind.y)
    return Plane(kind=kind, x=free_axis(average.fixed, values(table, average.fixed)), y=y)
