"""Charts of averaged curves and of averaged metrics."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import isfinite, nan
from typing import TYPE_CHECKING, Any, Literal, cast

import altair as alt
import numpy as np
import polars as pl

from rocframe.areas.area import ROC_AREAS, area_of_mean
from rocframe.charts.axes import (
    CALIBRATION_PLANE,
    Plane,
    calibration_plane,
    choose_plane,
    common_axis,
    free_axis,
    zoom_plane,
)
from rocframe.charts.curve_layers import (
    NO_TOOLTIP,
    WITHOUT_CHANCE,
    CurvePlot,
    chance_layers,
    chance_text,
    curve_filter,
    hover_layer,
    line_layer,
)
from rocframe.charts.groups import (
    GROUP_INDEX,
    area_captions,
    free_name,
    metric_channels,
    read_groups,
    total_area,
)
from rocframe.charts.labels import (
    digits_of,
    json_numbers,
    level_text,
    tooltip,
)
from rocframe.charts.layer_chart import MEAN_LINE
from rocframe.charts.style import BAND_OPACITY, with_key
from rocframe.curves.thinning import corner_points
from rocframe.frames import collect_frame, column, number_keys
from rocframe.kernel.groups import group_starts, groups_of_rows
from rocframe.kinds import Kind, scale_of
from rocframe.schemas.statistics import CurveAverage, curve_average_of, metric_average_of
from rocframe.schemas.table_type import THRESHOLD
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.layer_chart import LayerChart
    from rocframe.schemas.statistics import MetricAverage
    from rocframe.schemas.table_type import Table

BAR_OPACITY, BAR_WIDTH = 0.6, 2
LIGHT_OPACITY = 0.04  # opacity of each band, if a panel has several bands
PANEL_OPACITY = 0.5  # maximum sum of the opacities of all bands in a panel
MEAN_WIDTH = 3.5
TOLERANCE = 1 / 500  # maximum error of a drawn line, as a share of an axis
AXIS_STEPS = 400  # number of interpolated points along a logarithmic or normal-deviate axis
BARS = 20  # number of bars of a curve with limits along both axes
METRIC, MEAN = "metric", "mean"
LIMIT_FIELDS = ("x_low", "x_high", "y_low", "y_high")
BAR, INTERPOLATED = "_bar", "between"
REFERENCE_FIELD = "reference"  # the field of a dashed line of each curve, such as treating all


def mean_chart(
    table: pl.DataFrame, _layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw averaged curves as bold lines, with bands or bars between their confidence limits."""
    intervals = interval_caption(table)
    mean = curve_average_of(table.columns)
    plane = None
    if mean is None:
        average = cast("MetricAverage", metric_average_of(table.columns))
        long, mean = _one_mean_column(table, average)
        plane = _metric_plane(table, average, mean.kind, options)
        options = metric_channels(options, mean.by, len(average.averaged))
        table = long
    averaged = tuple(side for side in ("x", "y") if getattr(mean.kind, side) in mean.averaged)
    fields = _point_columns(mean)
    order = "threshold_mean" if mean.fixed is None else fields[mean.fixed]
    sides = ["side"] if mean.sides else []
    ordered = table.sort(order, *sides, descending=[mean.fixed is None, *(False for _ in sides)])
    plane = plane or _mean_plane(ordered, mean.kind, fields, options)
    plot = plot_with_limits(
        ordered, mean.by, fields, options, plane=zoom_plane(plane, options), averaged=averaged
    )
    areas = _areas(table, mean)
    column_with_areas = plot.groups.captioned_column
    captions = area_captions(column_with_areas, areas, mean.kind)
    groups = replace(plot.groups, captions=captions)
    plot = replace(plot, groups=groups)
    area = "" if column_with_areas else total_area(areas, mean.kind, groups)
    plane = plot.plane

    rows = [*groups.tooltips(), tooltip("threshold_mean"), *plot.axis_tooltips()]
    points = hover_layer(plot)
    if plane.excludes_zero:  # interpolated points, for which BAR < 0, have no tooltip
        points = points.transform_filter(f"datum.{BAR} >= 0")
    limited = any(
        record[fields[f"{side}_low"]] != record[fields[side]]
        for record in plot.records
        for side in averaged
    )
    layers = [
        *limit_layers(plot, intervals if limited else "", limit_columns(fields)),
        *chance_layers(plane),
        _mean_line(plot, area),
        points,
    ]
    with_intervals = f" with {intervals}" if limited else ""
    curves = format_count(len(plot.records), "averaged curve")
    return plot.with_titles(
        chart_with_limits(plot, layers, rows),
        title=plane.kind.title,
        subtitle=area,
        description=[
            f"{plane.name}, {curves}{with_intervals}: {plane.axis_names}",
            chance_text(plane),
            groups.captions_text() or area,
        ],
    )


def _mean_line(plot: CurvePlot, area: str) -> Any:
    """Draw the averaged curves; without colors of groups, the mean has a legend."""
    line = line_layer(plot, strokeWidth=MEAN_WIDTH, style=MEAN_LINE)
    if plot.groups.color is not None:
        return line
    return with_key(line, f"mean ({area})" if area else "mean", "line", MEAN_WIDTH)


def plot_with_limits(
    ordered: pl.DataFrame,
    by: Sequence[str],
    fields: Mapping[str, str],
    options: ChartOptions,
    *,
    plane: Plane,
    averaged: tuple[str, ...] = (),
) -> CurvePlot:
    """Return the chart data of curves with confidence limits: one record per group.

    `ordered` is a table in which the rows of each group are in the order of the line. `fields` maps
    the names of coordinates, limits, thresholds and references to columns of this table. `averaged`
    are the axes with limits: "x", "y" or both. Rows without coordinates are not drawn.
    """
    groups, number = number_keys(ordered, by)
    if averaged:  # The limits of an axis without limits are the coordinates.
        ends = {f"{side}_{end}": fields[side] for side in "xy" for end in ("low", "high")}
        fields = {"x": fields["x"], "y": fields["y"], **ends, **fields}
    rows = ordered.select(
        pl.Series("group", number),
        *(column(name).cast(pl.Float64).fill_null(nan).alias(f) for f, name in fields.items()),
    )
    rows = rows.filter(pl.col("x").is_not_nan() & pl.col("y").is_not_nan())
    rows = rows.sort("group", maintain_order=True)
    points = {name: rows.get_column(name).to_numpy(writable=True) for name in fields}
    for name in LIMIT_FIELDS if averaged else ():
        # The coordinate of a point replaces a missing limit.
        points[name] = np.where(np.isnan(points[name]), points[name[0]], points[name])
    starts = group_starts(rows.get_column("group").to_numpy(), groups.height)
    if plane.excludes_zero:
        points, starts = _interpolate_lines(plane, points, starts)
    needed = needed_points(plane, points, starts, both=len(averaged) == 2)
    drawn = {fields.get(name, name): values for name, values in points.items()}
    records: list[dict[str, Any]] = [
        {GROUP_INDEX: i}
        | {
            name: json_numbers(
                values[start:end][needed[start:end]].tolist(), digits=digits_of(name)
            )
            for name, values in drawn.items()
        }
        for i, (start, end) in enumerate(pairwise(starts))
    ]
    shown = read_groups(groups, by, ordered.columns, options, [*drawn])
    shown.name(records)
    return CurvePlot(
        plane=plane, records=records, groups=shown, averaged=averaged, fields=tuple(drawn)
    )


def interval_caption(table: pl.DataFrame) -> str:
    """Return a text such as "95 % pointwise intervals"; empty if the table has no level."""
    names = level_text(table.get_column("ci_level"))
    return names and f"{names} pointwise intervals"


def limit_layers(plot: CurvePlot, key: str, ends: Mapping[str, tuple[str, str]]) -> list[alt.Chart]:
    """Draw a band if one axis has confidence limits, or bars if both axes have limits.

    `key` is the text in the legend; without a text, there is no legend. `ends` are the columns of
    both limits for each axis that has limits.
    """
    plane = plot.plane
    limits: dict[str, dict[str, Any]] = {
        side: {
            side: channel(field=plane.field(ends[side][0]), type="quantitative"),
            f"{side}2": second(field=plane.field(ends[side][1])),
        }
        for side, channel, second in (("x", alt.X, alt.X2), ("y", alt.Y, alt.Y2))
        if side in ends
    }
    if len(ends) == 2:
        bars = curve_filter(plot).transform_filter(f"datum.{BAR} == 1")
        bars = bars.mark_rule(opacity=BAR_OPACITY, strokeWidth=BAR_WIDTH)
        bars = with_key(bars, key, "bar", BAR_WIDTH) if key else bars
        return [bars.encode(**limits[side], tooltip=NO_TOOLTIP) for side in "yx"]
    n_bands = max(1, plot.groups.max_curves(plot.records, plot.groups.panel))
    orient: Literal["vertical", "horizontal"] = "vertical" if "y" in ends else "horizontal"
    several = n_bands > 1
    opacity = min(LIGHT_OPACITY, PANEL_OPACITY / n_bands) if several else BAND_OPACITY
    band = curve_filter(plot).mark_area(opacity=opacity, orient=orient)
    layers = [with_key(band, key, "limits" if several else "band") if key else band]
    if several:  # The colors of overlapping areas mix, so lines show the limits of each band.
        outline = curve_filter(plot).mark_area(
            filled=False, strokeWidth=1, opacity=0.8, orient=orient
        )
        layers.append(outline)
    return [layer.encode(**limits[next(iter(ends))], tooltip=NO_TOOLTIP) for layer in layers]


def chart_with_limits(
    plot: CurvePlot, layers: Sequence[alt.Chart], tooltips: Sequence[alt.Tooltip]
) -> LayerChart:
    """Combine the layers of curves with confidence limits in one chart."""
    drawn = (BAR, THRESHOLD, "threshold_mean", plot.plane.x.name, plot.plane.y.name)
    limits = [name for name in plot.fields if name not in drawn]
    return plot.layered(layers, tooltips, deviates=limits)


def limit_columns(fields: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the columns of both limits for each axis that has limits; see `plot_with_limits`."""
    ends = {side: (f"{side}_low", f"{side}_high") for side in "xy"}
    return {
        side: (fields[low], fields[high]) for side, (low, high) in ends.items() if low in fields
    }


def _point_columns(mean: CurveAverage) -> dict[str, str]:
    """Map coordinates, limits and thresholds to columns of the table."""
    fields = {"x": mean.kind.x, "y": mean.kind.y, THRESHOLD: "threshold_mean"}
    for side in ("x", "y"):
        if fields[side] in mean.averaged:
            fields[f"{side}_low"] = f"{fields[side]}_lower"
            fields[f"{side}_high"] = f"{fields[side]}_upper"
    return fields


def _mean_plane(
    table: pl.DataFrame, kind: Kind, fields: Mapping[str, str], options: ChartOptions
) -> Plane:
    """Return the axes of averaged curves, which contain the confidence limits."""
    rows = table.drop_nulls([kind.x, kind.y])
    x, y = (rows.get_column(name).cast(pl.Float64).to_numpy() for name in (kind.x, kind.y))
    low, top = (
        rows.get_column(fields.get(end, kind.y)).fill_null(rows.get_column(kind.y)).to_numpy()
        for end in ("y_low", "y_high")
    )
    y = np.append(y, low) if kind.y == "skill" else y
    return choose_plane(kind, x, y, scale=options.scale, top=top)


def _interpolate_lines(
    plane: Plane, points: Mapping[str, NDArray[np.float64]], starts: NDArray[np.int64]
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.int64]]:
    """Add interpolated points to curves on nonlinear axes, and remove points outside the axes.

    Return the new `points`, and the new `starts`: the index of the first point of each curve.
    """
    rows = np.arange(len(points["x"]))
    if not len(rows):
        return dict(points), starts
    curve = groups_of_rows(starts, rows)
    positions = plane.x.position(points["x"]), plane.y.position(points["y"])
    distance = np.maximum(*(np.abs(np.diff(values, append=values[-1:])) for values in positions))
    distance[np.append(curve[1:] != curve[:-1], True)] = 0
    n_points = np.maximum(np.ceil(distance * AXIS_STEPS), 1).astype(np.int64)
    first = np.cumsum(n_points) - n_points
    step = np.arange(n_points.sum()) - np.repeat(first, n_points)
    at = np.repeat(rows, n_points) + step / np.repeat(n_points, n_points)
    dense = {name: np.interp(at, rows, values) for name, values in points.items()}
    between = at % 1 > 0
    dense[INTERPOLATED] = between.astype(np.float64)
    if THRESHOLD in points:
        dense[THRESHOLD] = np.where(between, nan, points[THRESHOLD][at.astype(np.int64)])
    inside = np.ones(len(at), bool)
    for side, axis in (("x", plane.x), ("y", plane.y)):
        if not axis.excludes_zero:
            continue
        inside &= (dense[side] >= axis.low) & (dense[side] <= axis.high)
        for end in {f"{side}_low", f"{side}_high"} & dense.keys():
            dense[end] = np.clip(dense[end], axis.low, axis.high)
    counts = np.append(0, np.cumsum(inside))
    return (
        {name: values[inside] for name, values in dense.items()},
        counts[np.append(first, len(at))[starts]],
    )


def needed_points(
    plane: Plane,
    points: dict[str, NDArray[np.float64]],
    starts: NDArray[np.int64],
    *,
    both: bool,
) -> NDArray[np.bool_]:
    """Return a mask of the points to draw, and add the field BAR to `points`.

    The distance from a point that is not drawn to the drawn line is less than TOLERANCE. If `both`
    axes have limits, about BARS rows of each curve have bars. BAR is 1 for these rows, 0 for
    other rows of the table, and negative for interpolated points.
    """
    needed = np.zeros(len(points["x"]), bool)
    lines = (("x", "y"), ("x_low", "y_low"), ("x_high", "y_high"), ("x", REFERENCE_FIELD))
    for across, up in lines:
        if up not in points:
            continue
        positions = plane.x.position(points[across]), plane.y.position(points[up])
        needed |= corner_points(*positions, starts, TOLERANCE)
    between = points.pop(INTERPOLATED, None)
    bars = np.zeros(len(needed)) if between is None else 0 - between
    for start, end in pairwise(starts):
        rows = start + np.flatnonzero(bars[start:end] == 0)
        if both and len(rows):
            bars[rows[np.linspace(0, len(rows) - 1, min(BARS, len(rows))).astype(np.int64)]] = 1
    if both or between is not None:
        points[BAR] = bars
    return needed | (bars > 0)


def _areas(table: pl.DataFrame, mean: CurveAverage) -> list[float] | None:
    """Return the area under each mean ROC curve, NaN if undefined; None if all are undefined."""
    if mean.kind.name not in ROC_AREAS:
        return None
    areas = collect_frame(area_of_mean(table.lazy(), table.schema, mean)).to_series(-1)
    result = [nan if area is None else float(area) for area in areas.to_list()]
    return result if any(map(isfinite, result)) else None


def _one_mean_column(
    table: pl.DataFrame, metric_average: MetricAverage
) -> tuple[pl.DataFrame, CurveAverage]:
    """Return a table with the averaged metrics in one column, and the layout of this table.

    If there are several metrics, the first group column contains their names. Infinite values
    become null.
    """
    several = len(metric_average.averaged) > 1
    y = free_name(MEAN, metric_average.by) if several else metric_average.averaged[0]
    by = (*([free_name(METRIC, metric_average.by)] if several else []), *metric_average.by)
    parts = [
        table.select(
            *([pl.lit(name).alias(by[0])] if several else []),
            *map(column, metric_average.by),
            column(metric_average.fixed).alias(metric_average.fixed),
            column(name).alias(y),
            *(column(f"{name}_{end}").alias(f"{y}_{end}") for end in ("lower", "upper")),
            "threshold_mean",
        )
        for name in metric_average.averaged
    ]
    long = pl.concat(parts).with_columns(
        pl.when(column(name).is_finite()).then(column(name)).alias(name)
        for name in (metric_average.fixed, y)
    )
    kind = Kind(name=WITHOUT_CHANCE, title="Means", x=metric_average.fixed, y=y)
    return long, CurveAverage(by=by, kind=kind, averaged=(y,), sides=False)


def _metric_plane(
    table: pl.DataFrame, average: MetricAverage, kind: Kind, options: ChartOptions
) -> Plane:
    """Return the axes of averaged metrics: from 0 to 1 for rates, else the range of the values."""

    def values(name: str, *ends: str) -> NDArray[np.float64]:
        columns = [table.get_column(one).fill_null(nan).to_numpy() for one in (name, *ends)]
        return np.concatenate(columns)

    limits = [(name, f"{name}_lower", f"{name}_upper") for name in average.averaged]
    if (kind.x, kind.y) == (CALIBRATION_PLANE.x.name, CALIBRATION_PLANE.y.name):
        table = table.drop_nulls(kind.y)
        all_values = np.concatenate([values(kind.x), values(*limits[0])])
        return calibration_plane(all_values.round(7).tolist(), options.scale)
    scale_of(kind, options.scale)
    axes = [free_axis(name, values(name, *ends)) for name, *ends in limits]
    y = replace(common_axis(MEAN, axes), name=kind.y)
    return Plane(kind=kind, x=free_axis(average.fixed, values(average.fixed)), y=y)
