"""Charts of metrics of curves against the threshold, and of the threshold against a rate."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.charts.axes import (
    AXIS_METRICS,
    FREE,
    Plane,
    axis_title,
    axis_values,
    common_axis,
    free_axis,
    inside_sentence,
    prevalence_text,
    zoom_plane,
)
from rocframe.charts.curve_data import (
    point_fields,
    points_of_counts,
    records_of,
    thinned_lines,
)
from rocframe.charts.curve_layers import (
    CurvePlot,
    curve_stroke,
    line_layer,
    row_counts,
    row_layer,
    row_tooltips,
)
from rocframe.charts.groups import GROUP_INDEX, free_name, metric_channels, read_groups
from rocframe.curves.thinning import BETWEEN
from rocframe.errors import OptionValueError, RepeatedNameError
from rocframe.kinds import Kind
from rocframe.options import check_choice, check_supported, is_text
from rocframe.rates import CONFUSION, COUNT_METRICS, NAMES
from rocframe.schemas.columns import THRESHOLD
from rocframe.text import format_count, join_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt
    from numpy.typing import NDArray

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.curve_data import Lines
    from rocframe.charts.groups import Groups
    from rocframe.curves.table import Curves
    from rocframe.curves.thinning import LinePoints

MIN_SHARE = 0.5  # if a panel has a smaller share of the range of thresholds, axes are separate
METRIC_COLUMN, VALUE = "metric", "value"
# Options of curve charts that need two metrics as axes.
UNSUPPORTED = {"kind": None, "scale": None, "areas": None, "ties": False}


def threshold_axes(options: ChartOptions) -> tuple[Kind, list[str]] | None:
    """Return the kind of a chart with an axis of thresholds, and the metrics on the other axis.

    The y axis can show the threshold if the metric on the x axis only rises or only falls as the
    threshold is lowered. The result is None if no axis shows the threshold.
    """
    rate = (NAMES | COUNT_METRICS).get(str(options.x))
    is_y = is_text(options.y, THRESHOLD) and rate is not None and bool(rate.monotone)
    if not is_text(options.x, THRESHOLD) and not is_y:
        return None
    for name, default in UNSUPPORTED.items():
        axis = f"{'y' if is_y else 'x'}={THRESHOLD!r}"
        check_supported(name, getattr(options, name), axis, default=default)
    metrics = [str(options.x)] if is_y else _metric_names(options.y)
    x, y = (metrics[0], THRESHOLD) if is_y else (THRESHOLD, metrics[0])
    return Kind(name=FREE, title="", x=x, y=y), metrics


def threshold_chart(
    curves: Curves,
    columns: Sequence[str],
    options: ChartOptions,
    kind: Kind,
    metrics: Sequence[str],
) -> alt.LayerChart | alt.FacetChart:
    """Draw metrics against the threshold, with a line for each curve and metric.

    A line shows the metric of the rule `score >= threshold`. It is a step function, because the
    counts change only at scores. It extends from the lowest to the highest threshold at which the
    metric is defined. If the threshold is on the y axis, the line starts at the metric of the row
    with threshold `inf`.
    """
    is_y = kind.y == THRESHOLD
    points = points_of_counts(curves, np.ones(len(curves.firsts), bool))
    threshold = curves.columns[THRESHOLD][points.row].astype(np.float64)
    if is_y:
        points, threshold = _start_at_highest_score(points, threshold)
    values = {name: axis_values(points, kind, name) for name in metrics}
    values = {name: np.where(np.isfinite(threshold), y, np.nan) for name, y in values.items()}
    plane = zoom_plane(threshold_plane(kind, threshold, values), options)
    keys, by, options = repeat_for_metrics(
        curves.keys, curves.keys.columns, columns, options, metrics
    )
    taken = (*point_fields(plane), *CONFUSION)
    groups = read_groups(keys, by, [*by, *columns], options, taken)
    narrowest = None if plane.x.zoomed or is_y else _narrowest_range(groups, points, threshold)
    thinning = plane
    if narrowest is not None:
        # Lines are simplified for the panel with the smallest range, in which errors are largest.
        thinning = replace(plane, x=replace(plane.x, high=plane.x.low + narrowest))
        plane = replace(plane, x=replace(plane.x, per_panel=True))
    records: list[dict[str, Any]] = []
    for y in values.values():
        part = records_of(_step_lines(thinning, points, threshold, y), curves, plane)
        records += [record | {GROUP_INDEX: len(records) + i} for i, record in enumerate(part)]
    groups.name(records)
    plot = CurvePlot(plane=plane, records=records, groups=groups, fields=point_fields(plane))
    title = threshold_title(plane, metrics)
    prevalence = prevalence_text(curves.prevalence, metrics)
    chart = plot.with_titles(
        plot.layered(
            [line_layer(plot, **curve_stroke(plot)), row_layer(plot)],
            row_tooltips(plot),
            calculated=row_counts(plot),
        ),
        title=title,
        subtitle=prevalence,
        description=[
            f"Chart, {format_count(len(records), 'line')}: {inside_sentence(title)}",
            prevalence.capitalize(),
        ],
    )
    return chart if narrowest is None else chart.resolve_scale(x="independent")


def repeat_for_metrics(
    keys: pl.DataFrame,
    by: Sequence[str],
    columns: Sequence[str],
    options: ChartOptions,
    metrics: Sequence[str],
) -> tuple[pl.DataFrame, Sequence[str], ChartOptions]:
    """Return the rows of a table once for each of several metrics, with a column of their names.

    Also return the group columns and the options with a panel or a color for each metric. `columns`
    are all columns of the drawn table. One metric changes nothing.
    """
    if len(metrics) < 2:
        return keys, by, options
    name = free_name(METRIC_COLUMN, [*by, *columns])
    names = pl.DataFrame({name: metrics}, schema={name: pl.Enum(metrics)})
    by = (name, *by)
    repeated = names.join(keys, how="cross") if keys.width else names
    return repeated, by, metric_channels(options, by, len(metrics))


def threshold_title(plane: Plane, metrics: Sequence[str]) -> str:
    """Return the title of a chart of metrics against the threshold, or the other way round."""
    titles = [plane.title(name, axis_title(name)) for name in metrics]
    if plane.kind.y == THRESHOLD:
        return f"{plane.y.title} against {inside_sentence(titles[0])}"
    return f"{join_names([titles[0], *map(inside_sentence, titles[1:])])} against threshold"


def _start_at_highest_score(
    points: LinePoints, threshold: NDArray[np.float64]
) -> tuple[LinePoints, NDArray[np.float64]]:
    """Replace `inf` by the highest finite threshold in the row above this threshold.

    The resulting point is the start of a line. It is not a row of the table.
    """
    is_start = np.isposinf(threshold[:-1]) & np.isfinite(threshold[1:])
    is_start = np.append(is_start & (points.curve[:-1] == points.curve[1:]), False)
    points = replace(points, row=np.where(is_start, BETWEEN, points.row))
    return points, np.where(is_start, np.append(threshold[1:], np.nan), threshold)


def _narrowest_range(
    groups: Groups, points: LinePoints, threshold: NDArray[np.float64]
) -> float | None:
    """Return the smallest range of thresholds of all panels, if panels need separate axes.

    Panels need separate axes if the smallest range is less than half of the range of all
    thresholds, such as if one panel has probabilities and another has margins. Otherwise, the
    result is None. Panels with only one threshold are ignored.
    """
    if groups.panel is None:
        return None
    # Each curve has a code for each metric. The codes for the first metric come first.
    panel = np.array(groups.columns[groups.panel].codes)[points.curve]
    ranges = (
        pl.DataFrame({"panel": panel, THRESHOLD: threshold})
        .filter(pl.col(THRESHOLD).is_finite())
        .group_by("panel")
        .agg(low=pl.col(THRESHOLD).min(), high=pl.col(THRESHOLD).max())
    )
    widths = (ranges.get_column("high") - ranges.get_column("low")).to_numpy()
    narrowest = np.min(widths, where=widths > 0, initial=np.inf).item()
    total = ranges.select(pl.col("high").max() - pl.col("low").min())
    return narrowest if narrowest < MIN_SHARE * (total.item() or 0.0) else None


def _metric_names(y: str | Sequence[str] | None) -> list[str]:
    """Return the names of the metrics on the y axis."""
    metrics = [y] if isinstance(y, str) else y
    if not isinstance(metrics, list | tuple) or not metrics:
        hint = 'Use, for example, x="threshold", y=["precision", "recall"].'
        raise OptionValueError.compose("y", y, "expected a metric or several metrics", hint)
    for name in metrics:
        check_choice("y", name, AXIS_METRICS)
        if metrics.count(name) > 1:
            raise RepeatedNameError.compose("y", name, metrics)
    return list(metrics)


def threshold_plane(
    kind: Kind, threshold: NDArray[np.float64], values: Mapping[str, NDArray[np.float64]]
) -> Plane:
    """Return the axes: the range of thresholds at which a metric is defined, and of all metrics."""
    defined = np.isfinite(threshold) & np.any([np.isfinite(y) for y in values.values()], axis=0)
    ends = threshold[defined] if defined.any() else np.array([0.0, 1.0])
    x = free_axis(THRESHOLD, ends)
    y = common_axis(VALUE, [free_axis(name, y) for name, y in values.items()])
    x, y = (y, x) if kind.y == THRESHOLD else (x, y)
    return Plane(kind=kind, x=x, y=y, diagonal=False)


def _step_lines(
    plane: Plane,
    points: LinePoints,
    threshold: NDArray[np.float64],
    values: NDArray[np.float64],
) -> Lines:
    """Return the step lines of one metric: constant from each threshold down to the next one.

    The thresholds are on the axis that `plane.kind` states.
    """
    is_y = plane.kind.y == THRESHOLD
    is_cut = plane.x.zoomed and not is_y
    defined = np.isfinite(values)
    points, threshold, values = points.select(defined), threshold[defined], values[defined]
    end = np.append(threshold[1:], threshold[-1:])
    last = np.diff(points.curve, append=-1) != 0
    end[last] = threshold[last]
    if is_cut:
        inside = (threshold >= plane.x.low) & (end <= plane.x.high)
        points, threshold, end = points.select(inside), threshold[inside], end[inside]
        values, last = values[inside], last[inside]
    # Each row has a point at its threshold and, if there is a next row, at the next threshold.
    both = np.column_stack([np.ones(len(last), bool), ~last]).ravel()
    x = np.column_stack([threshold, end]).ravel()[both]
    corners = points.select(np.repeat(np.arange(len(values)), 2)[both])
    is_row = np.column_stack([np.ones(len(last), bool), np.zeros(len(last), bool)]).ravel()[both]
    if is_cut:
        is_row &= (x >= plane.x.low) & (x <= plane.x.high)
        x = np.clip(x, plane.x.low, plane.x.high)
    corners = replace(corners, row=np.where(is_row, corners.row, BETWEEN))
    y = np.repeat(values, 2)[both]
    return thinned_lines(plane, corners, *((y, x) if is_y else (x, y)))
