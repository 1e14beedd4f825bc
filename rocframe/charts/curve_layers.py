"""Data and layers of charts of curves: points, lines, lines of chance, and tooltips."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.axes import axis_rates, axis_values
from rocframe.charts.groups import GROUP_INDEX, span
from rocframe.charts.layer_chart import layered
from rocframe.charts.style import (
    CHANCE_DASH,
    COUNT_FORMAT,
    GRAY,
    PERFECT_DASH,
    RATE_FORMAT,
    digits_of,
    escape_field,
    inline_data,
    json_numbers,
    tooltip,
)
from rocframe.curves.thinning import (
    BETWEEN,
    CurveCounts,
    DisplayAxes,
    LinePoints,
    column_extremes,
    corner_points,
    evenly_spaced_points,
    insert_points,
    limit_corners,
    rows_at_levels,
    segment_distance,
)
from rocframe.errors import OptionValueError
from rocframe.frames import check_keys, column
from rocframe.kernel.arrays import run_parallel
from rocframe.kinds import PREVALENCE
from rocframe.rates import CONFUSION, COUNT_METRICS, NAMES
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from rocframe.charts.axes import Plane, PlotAxis
    from rocframe.charts.groups import Groups
    from rocframe.charts.layer_chart import AnyChart, LayerChart
    from rocframe.curves.table import Curves
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.kinds import Kind

    # Counts, and the values at which rows are selected; see `rows_at_levels`.
    Levels: TypeAlias = list[tuple[Array, FloatArray]]

# No group column has these names, because group columns are renamed to k0, k1, ...
ROW_INDEX, CURVE_INDEX = "(row)", "(curve)"


def match_rows(
    argument: str, noun: str, table: pl.DataFrame, keys: pl.DataFrame, by: Sequence[str]
) -> tuple[IntArray, IntArray]:
    """Return the indices of pairs of rows of `table` and of `keys` with equal values in `by`."""
    check_keys(argument, table.schema, keys.schema, by, noun="curves")
    # Without group columns, each row matches all curves.
    names = [f"k{i}" for i in range(len(by) + 1)]
    rows, curves = (
        part.select(
            *(column(name).alias(key) for name, key in zip(by, names, strict=False)),
            pl.lit(True).alias(names[-1]),
            pl.int_range(pl.len()).alias(number),
        )
        for part, number in ((table, ROW_INDEX), (keys, CURVE_INDEX))
    )
    pairs = rows.join(curves, on=names, nulls_equal=True, maintain_order="left_right")
    row, curve = (pairs.get_column(name).to_numpy() for name in (ROW_INDEX, CURVE_INDEX))
    if table.height and not len(row):
        problem = f"no group of these {noun} has a curve in the chart"
        hint = f"Pass {noun} that were computed from these curves."
        raise OptionValueError.compose(argument, table, problem, hint)
    return row, curve


LEVEL_STEP = 1 / 4000  # length of a step in `drawn_points`, as a share of an axis
MIN_RATE = 1e-6  # the smallest rate on axes that cannot show 0


def drawn_points(
    curves: Curves, kind: Kind, areas: Sequence[float], *, step: float = LEVEL_STEP
) -> LinePoints:
    """Return a selection of rows of each curve that is sufficient to draw its line on all scales.

    Of the rows within one `step` of both axes, only the first and the last are kept.
    """
    drawn = np.isfinite(areas)
    if kind.free:
        points = points_of_counts(curves, drawn, step=step)
        x, y = axis_rates(kind, points)
        return points.select(np.isfinite(x) & np.isfinite(y))
    last_points = _points_at(curves, [np.array([end - 1]) for end in curves.starts[1:]])
    x, y = axis_rates(kind, last_points)
    drawn &= np.isfinite(x) & np.isfinite(y)
    counts = CurveCounts(
        tp=curves.columns["tp"],
        fp=curves.columns["fp"],
        starts=curves.starts,
        pos=last_points.pos,
        neg=last_points.neg,
        prevalence=curves.prevalence,
    ).on_axes(kind)
    ends = {"low": np.full(len(drawn), MIN_RATE), "top": np.ones(len(drawn))}
    axes_of_scales = [
        DisplayAxes(kind=kind, scale=scale, pos=counts.pos, neg=counts.neg, **ends)
        for scale in kind.simplified
    ]

    def levels(curve: int, rows: slice) -> Levels:
        tp, fp = counts.tp[rows], counts.fp[rows]
        return [part for axes in axes_of_scales for part in axes.levels(curve, tp, fp, step)]

    return _points_at_levels(curves, drawn, levels)


def points_of_counts(curves: Curves, drawn: BoolArray, *, step: float = LEVEL_STEP) -> LinePoints:
    """Return rows of each curve; from one to the next, a count changes by at most `step`."""

    def levels(_curve: int, rows: slice) -> Levels:
        pairs = []
        for name in ("tp", "fp"):
            counts = curves.columns[name][rows]
            total = float(counts[-1])
            shares = np.exp(-np.arange(0, np.log(max(total, 2)), np.log1p(step)))
            both_ends = np.unique(np.concatenate([total * shares, total * (1 - shares)]))
            pairs.append((counts, both_ends))
        return pairs

    return _points_at_levels(curves, drawn, levels)


def _points_at_levels(
    curves: Curves, drawn: BoolArray, levels: Callable[[int, slice], Levels]
) -> LinePoints:
    """Return the rows of the curves at the `levels` of the slice of each; see `rows_at_levels`."""

    def rows(curve: int) -> IntArray:
        start, end = curves.starts[curve : curve + 2]
        if not drawn[curve]:
            return np.zeros(0, np.int64)
        selected = rows_at_levels(int(end - start), lambda: levels(curve, slice(start, end)))
        return np.asarray(start + selected, np.int64)

    return _points_at(curves, run_parallel(rows, range(len(drawn))))


def _points_at(curves: Curves, rows: list[IntArray]) -> LinePoints:
    """Return the points at the given rows; `rows` contains the row indices of each curve."""
    row = np.concatenate([np.zeros(0, np.int64), *rows])
    return LinePoints(
        curve=np.repeat(np.arange(len(rows)), [len(part) for part in rows]),
        row=row,
        tp=curves.columns["tp"][row].astype(np.float64),
        fp=curves.columns["fp"][row].astype(np.float64),
        pos=curves.pos.astype(np.float64),
        neg=curves.neg.astype(np.float64),
        prevalence=curves.prevalence,
    )


# The fields of a record with the numbers of rows of each class, and with the layer that draws it.
POSITIVES, NEGATIVES, LAYER = "_positives", "_negatives", "_layer"


def point_fields(plane: Plane) -> tuple[str, ...]:
    """Return the fields with a value for each point: the axes, the threshold and the counts."""
    return tuple(dict.fromkeys((plane.x.name, plane.y.name, THRESHOLD, "tp", "fp")))


def records_of(lines: Lines, curves: Curves, plane: Plane) -> list[dict[str, Any]]:
    """Return a record for each curve: its totals and points; interpolated points have no counts."""
    points = lines.points
    at_rows: dict[str, Array] = {
        THRESHOLD: curves.shown_thresholds(points.row),
        "tp": curves.columns["tp"][points.row],
        "fp": curves.columns["fp"][points.row],
    }
    columns = {
        name: [
            None if row == BETWEEN else value
            for value, row in zip(
                json_numbers(values.tolist(), digits=digits_of(name)),
                points.row.tolist(),
                strict=True,
            )
        ]
        for name, values in at_rows.items()
    }
    for name, values in ((plane.x.name, lines.x), (plane.y.name, lines.y)):
        columns[name] = json_numbers(values.tolist(), digits=digits_of(name))
    pos, neg = (json_numbers(size.tolist()) for size in (curves.pos, curves.neg))
    return [
        {GROUP_INDEX: curve, POSITIVES: pos[curve], NEGATIVES: neg[curve]}
        | {name: columns[name][start:end] for name in point_fields(plane)}
        for curve, (start, end) in enumerate(pairwise(points.starts))
    ]


def clip_to_axes(plane: Plane, points: LinePoints) -> LinePoints:
    """Return the part of each curve inside the axes, with interpolated counts at its ends."""
    # The shares of each segment between two points at which it enters and leaves the axes.
    enter = np.where(np.diff(points.curve) == 0, 0.0, np.inf)
    leave = np.ones(len(enter))
    for axis in (plane.x, plane.y):
        rises = (NAMES | COUNT_METRICS)[axis.name].rising if axis.limited else None
        if rises is None:
            continue
        sign = 1 if rises else -1
        rate = sign * axis_values(points, plane.kind, axis.name)
        low, high = sorted((sign * axis.low, sign * axis.high))
        change = np.diff(rate)
        with np.errstate(divide="ignore", invalid="ignore"):  # NaN if a rate stays at the border
            enter = np.fmax(enter, (low - rate[:-1]) / change)
            leave = np.fmin(leave, (high - rate[:-1]) / change)
    visible = np.flatnonzero(enter < leave)
    indices = np.unique(np.concatenate([visible + enter[visible], visible + leave[visible]]))
    nearest = indices.astype(np.int64)
    share = np.asarray(indices - nearest, np.float64)
    start = points.select(nearest)
    end = points.select(np.minimum(nearest + 1, len(points.row) - 1))
    return replace(start.between(end, share), row=np.where(share == 0, start.row, BETWEEN))


# Maximum errors of lines, as shares of an axis. The sum of LEVEL_STEP and the next three numbers is
# less than the documented maximum of 1/500.
BEND_TOLERANCE = 1 / 5000
COLUMN_WIDTH = 1 / 3000
CORNER_TOLERANCE = 1 / 1000
# If a line has more than MAX_LINE_POINTS corners, its tolerance is multiplied by this factor until
# it has fewer.
TOLERANCE_FACTOR = 9 / 8
MAX_POINTS = 4800  # of all lines, unless MIN_EXTRA_POINTS for each line result in more points
MIN_EXTRA_POINTS = 20  # of a line, in addition to its corners
MAX_LINE_POINTS = 480


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lines:
    """The points of simplified lines, and their x and y values."""

    points: LinePoints
    x: FloatArray
    y: FloatArray


def simplified_lines(plane: Plane, points: LinePoints) -> Lines:
    """Select points such that straight lines between them are within 1/500 of an axis."""
    if plane.limited:
        points = clip_to_axes(plane, points)
    if plane.bends:
        points = add_bend_points(plane, points)
    x, y = axis_rates(plane.kind, points)
    # A point with an undefined rate is drawn at the position of the next point. It is marked as an
    # interpolated point, so that its tooltip does not show the row.
    values = [axis_values(points, plane.kind, name) for name in (plane.kind.x, plane.kind.y)]
    points = replace(points, row=np.where(np.isfinite(values).all(axis=0), points.row, BETWEEN))
    return thinned_lines(plane, points, x, y)


def thinned_lines(plane: Plane, points: LinePoints, x: FloatArray, y: FloatArray) -> Lines:
    """Select points such that straight lines between them are within 1/500 of an axis.

    In each line, `x` must not change its direction.
    """
    selected = column_extremes(
        plane.x.position(x), plane.y.position(y), points.starts, COLUMN_WIDTH
    )
    points, x, y = points.select(selected), x[selected], y[selected]
    across, up = plane.x.position(x), plane.y.position(y)
    needed, tolerance = limit_corners(
        across, up, points.starts, CORNER_TOLERANCE, most=MAX_LINE_POINTS, factor=TOLERANCE_FACTOR
    )
    rows = points.row != BETWEEN
    count = _count(needed, points)
    spare = np.minimum(MAX_LINE_POINTS - count, (MAX_POINTS - count.sum()) // max(len(count), 1))
    selected = needed | rows & evenly_spaced_points(
        across, up, points.starts, np.maximum(spare, MIN_EXTRA_POINTS), corners=needed
    )
    # A line through an additional point can exceed the tolerance at other points, so the corners
    # are determined again.
    selected = corner_points(across, up, points.starts, tolerance, required=selected)
    selected = np.where(
        (_count(selected, points) > MAX_LINE_POINTS + MIN_EXTRA_POINTS)[points.curve],
        needed,
        selected,
    )
    return Lines(points=points.select(selected), x=x[selected], y=y[selected])


def _count(marked: BoolArray, points: LinePoints) -> IntArray:
    """Return the number of points of each curve at which the mask `marked` is true."""
    return np.bincount(points.curve[marked], minlength=len(points.pos))


def add_bend_points(plane: Plane, points: LinePoints) -> LinePoints:
    """Add points between rows until straight lines between all points are close to the curves.

    Rates and their positions can be nonlinear functions of the counts, which are interpolated.
    """
    left = np.flatnonzero(points.curve[1:] == points.curve[:-1])
    return insert_points(points, left, lambda start, end: _is_bent(plane, start, end))


def _is_bent(plane: Plane, start: LinePoints, end: LinePoints) -> BoolArray:
    """Return a mask of the segments, from `start[i]` to `end[i]`, that are not nearly straight."""
    (x, y), (next_x, next_y) = plane.position(start), plane.position(end)
    bent = (np.abs(next_x - x) > BEND_TOLERANCE) & (np.abs(next_y - y) > BEND_TOLERANCE)
    start, end = start.select(bent), end.select(bent)
    ends = (x[bent], y[bent]), (next_x[bent], next_y[bent])
    distances = [
        segment_distance(plane.position(start.between(end, fraction)), *ends)
        for fraction in (0.25, 0.5, 0.75)
    ]
    bent[bent] = np.maximum.reduce(distances) > BEND_TOLERANCE
    return bent


MANY_CURVES = 20  # a panel with more curves has thin lines
NEAR_LEVELS = 1 / 100  # share of an axis; closer lines of chance are merged
LOG_STEPS = 48  # segments of a line of chance on logarithmic axes
# The values of the field LAYER in the records of lines of chance and of perfect scores.
CHANCE, PERFECT_SCORES = "chance", "perfect scores"
NO_TOOLTIP = alt.TooltipValue(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePlot:
    """Data of a curve chart: its axes, a record for each curve or point, and the groups.

    `overlays` are records of other layers, such as marked points; `fields` have a value per point.
    """

    plane: Plane
    records: list[dict[str, Any]]
    groups: Groups
    overlays: list[dict[str, Any]] = field(default_factory=list)
    fields: tuple[str, ...] = ()

    def layered(
        self,
        layers: Sequence[alt.Chart],
        tooltips: Sequence[alt.Tooltip],
        *,
        deviates: Sequence[str] = (),
        calculated: Mapping[str, str] | None = None,
        height: float | None = None,
        **channels: Any,
    ) -> LayerChart:
        """Return a chart of layers; `deviates` are further rates, `channels` replace shared."""
        if self.plane.clipped:
            for layer in layers:
                layer.mark.clip = True
        # Later lines are above earlier lines.
        data = [*sorted(self.records, key=self.groups.is_highlighted), *self.overlays]
        for record in data:
            for name in self.fields:
                record.setdefault(name, [])
        steps = alt.Chart()
        if self.fields:
            steps = steps.transform_flatten([*map(escape_field, self.fields)])
        expressions = {**(calculated or {})} | self.plane.deviates(*deviates)
        if expressions:
            steps = steps.transform_calculate(**expressions)
        shared = {**self.plane.channels(), **self.groups.channels(), "tooltip": [*tooltips]}
        return layered(
            layers,
            data=inline_data(data),
            encoding=shared | channels,
            transform=steps.transform,
            width=self.groups.side,
            height=height or self.groups.side,
        )

    def undrawn(self, n_columns: int | None = None) -> list[str]:
        """Return the names of the groups (of `n_columns` columns or all) without a drawn point."""
        columns = dict(list(self.groups.columns.items())[:n_columns])
        names = replace(self.groups, columns=columns).names(len(self.records))
        is_drawn = [record[self.plane.x.name] not in (None, []) for record in self.records]
        drawn = {name for name, known in zip(names, is_drawn, strict=True) if known}
        return [name for name in dict.fromkeys(names) if name not in drawn]

    def with_titles(
        self,
        chart: alt.LayerChart,
        *,
        description: Sequence[str],
        undrawn: Sequence[str] | None = None,
        **titles: Any,
    ) -> AnyChart:
        """Add titles to a chart of this data, and the `undrawn` groups; split it into panels."""
        undrawn = self.undrawn() if undrawn is None else undrawn
        name, *texts = description
        description = [name, chance_text(self.plane), *texts, self.plane.zoom_text]
        return self.groups.with_titles(chart, description=description, undrawn=undrawn, **titles)

    def axis_tooltips(self, *, counts: bool = True) -> list[alt.Tooltip]:
        """Return a tooltip line for each axis; without `counts`, only for axes that show rates."""
        return [
            tooltip(axis.name, self.plane.title(axis.name, axis.name), RATE_FORMAT)
            for axis in (self.plane.x, self.plane.y)
            if counts or axis.name not in (THRESHOLD, *CONFUSION)
        ]


def limit_channels(plane: Plane, side: str, ends: Sequence[str]) -> dict[str, Any]:
    """Return the channels of marks between the limits in two columns, along the axis `side`."""
    return span(side, *map(plane.field, ends)) | {"tooltip": NO_TOOLTIP}


def overlay(part: str | None) -> alt.Chart:
    """Return a layer with the records of the overlay `part`; with None, those of the curves."""
    condition = f"!isValid(datum.{LAYER})" if part is None else f"datum.{LAYER} === '{part}'"
    layer: alt.Chart = alt.Chart().transform_filter(condition)
    return layer


def curve_filter(plot: CurvePlot) -> alt.Chart:
    """Return a layer with the records of the curves, without overlays."""
    return overlay(None) if plot.overlays else alt.Chart()


def line_layer(plot: CurvePlot, **stroke: Any) -> alt.Chart:
    """Draw lines through the points in the order of the records; Vega-Lite would sort them by x."""
    layer: alt.Chart = curve_filter(plot).mark_line(order=False, **stroke)
    return layer.encode(tooltip=NO_TOOLTIP)


def curve_stroke(plot: CurvePlot) -> dict[str, Any]:
    """Return the stroke of lines: thin if they have the same color or a panel has many curves."""
    groups, records = plot.groups, plot.records
    if groups.highlighted:
        return {"strokeWidth": 1.5}
    shared = groups.max_curves(records, groups.color, groups.panel) > 1
    if shared or groups.max_curves(records, groups.panel) > MANY_CURVES:
        return {"strokeWidth": 1, "opacity": 0.5}
    return {"strokeWidth": 2}


def hover_layer(plot: CurvePlot) -> alt.Chart:
    """Draw invisible points on the lines, with the tooltips of the chart."""
    layer: alt.Chart = curve_filter(plot).mark_point(filled=True, size=80, opacity=0)
    # The channels are constant, so that legends show the symbols of the lines.
    return layer.encode(color=alt.ColorValue("transparent"), strokeDash=alt.StrokeDashValue([1, 0]))


def row_layer(plot: CurvePlot) -> alt.Chart:
    """Draw invisible points with tooltips at the rows of a curve table on the lines."""
    axes = plot.plane.x.name, plot.plane.y.name
    field = next(name for name in (THRESHOLD, "tp", "fp") if name not in axes)  # null between rows
    layer: alt.Chart = hover_layer(plot).transform_filter(f"isValid(datum.{field})")
    return layer


def layered_rows(
    plot: CurvePlot, layers: Sequence[alt.Chart], tooltips: Sequence[alt.Tooltip] = ()
) -> LayerChart:
    """Return a chart of layers whose tooltips show rows of a curve table, and `tooltips`."""
    counts = {"fn": f"datum.{POSITIVES} - datum.tp", "tn": f"datum.{NEGATIVES} - datum.fp"}
    lines = [
        *plot.groups.tooltips(),
        tooltip(THRESHOLD),
        *plot.axis_tooltips(counts=False),
        *(tooltip(name, plot.plane.title(name, name), COUNT_FORMAT) for name in CONFUSION),
        *tooltips,
    ]
    missing = {name: text for name, text in counts.items() if name not in plot.fields}
    return plot.layered(layers, lines, calculated=missing)


def chance_text(plane: Plane, *, of_curves: bool = False) -> str:
    """Return a sentence about the lines of chance; empty if the chart has none."""
    chance = plane.chance
    return "" if chance is None or (chance.of_curves and not of_curves) else chance.text


def reference_line(points: Mapping[str, Sequence[Any]], dash: Sequence[int]) -> alt.Chart:
    """Draw a line of constant points; filters do not remove it, because it has its own data."""
    rows = [dict(zip(points, row, strict=True)) for row in zip(*points.values(), strict=True)]
    return _reference(alt.Chart(alt.InlineData(values=rows)), dash)  # type: ignore[no-any-return]


def _reference(layer: Any, dash: Sequence[int]) -> Any:
    return layer.mark_line(order=False, strokeWidth=1).encode(**gray_dashes(dash))


def gray_dashes(dash: Sequence[int] = CHANCE_DASH) -> dict[str, Any]:
    """Return the channels of a reference line: gray, with dashes, and without a tooltip."""
    return {"color": GRAY, "strokeDash": alt.StrokeDashValue([*dash]), "tooltip": NO_TOOLTIP}


def chance_records(
    plane: Plane, records: Sequence[Mapping[str, Any]], panel: str | None, prevalence: float | None
) -> list[dict[str, Any]]:
    """Return records of the lines of chance that depend on the curves, and of perfect scores."""
    chance = plane.chance
    if chance is None or not chance.of_curves:
        return []
    x, y = plane.x.name, plane.y.name
    drawn = [record for record in records if record[x]]
    totals: list[Any] = [record[POSITIVES] for record in drawn]
    sizes = (record[POSITIVES] + record[NEGATIVES] for record in drawn)
    shares: list[Any] = json_numbers(
        total / size if prevalence is None else prevalence
        for total, size in zip(totals, sizes, strict=True)
    )
    totals = totals if chance.perfect else shares
    groups = [panel and record[panel] for record in drawn]
    known: dict[Any, list[Any]] = {}
    rows = (groups, merge_levels(totals, plane.y.high), totals, merge_levels(shares, 1))
    for group, level, total, share in zip(*rows, strict=True):
        known.setdefault((group, level), []).append((total, share))
    across = _log_spaced(plane.x) if plane.x.scale == "log" else [plane.x.low, plane.x.high]
    lines: list[dict[str, Any]] = []
    for (name, level), values in known.items():
        group = {} if panel is None else {panel: name}
        if not chance.perfect:
            ends = [f"{end:.4g}" for end in (min(values)[0], max(values)[0])]
            text = " to ".join(dict.fromkeys(ends))
            lines.append(
                {x: across, y: [level] * len(across), PREVALENCE: text, LAYER: CHANCE} | group
            )
            continue
        lines.append({x: across, y: [level * at for at in across], LAYER: CHANCE} | group)
        for share in dict.fromkeys(share for _, share in values):
            corner = min(max(share, plane.x.low), plane.x.high)
            at = sorted({*across, corner})
            up = [level * min(1, one / share) for one in at]
            lines.append({x: at, y: up, LAYER: PERFECT_SCORES} | group)
    return [line | {GROUP_INDEX: None, "_line": i} for i, line in enumerate(lines)]


def chance_layers(
    plane: Plane, overlays: Sequence[Mapping[str, Any]] = (), panel: str | None = None
) -> list[alt.Chart]:
    """Draw lines of chance: the expected curves of random scores.

    In charts of precision and in lift charts, they depend on the counts of positives and negatives;
    `overlays` are then the `chance_records`. Without `panel`, the layers have their own data.
    """
    layers = []
    for part, dash in ((CHANCE, CHANCE_DASH), (PERFECT_SCORES, PERFECT_DASH)):
        lines = [record for record in overlays if record.get(LAYER) == part]
        if lines:
            layer = overlay(part) if panel else _own_points(plane, lines)
            line = _reference(layer, dash).encode(detail=alt.Detail("_line:N"))
            if PREVALENCE in lines[0]:
                line = line.encode(tooltip=[tooltip(PREVALENCE)])
            layers.append(line)
    chance = plane.chance
    if chance is None or chance.of_curves:
        return layers
    x, y = plane.x, plane.y
    height, falls = chance.height, chance.falls
    is_curved = height is None and "log" in (x.scale, y.scale)
    rates = _log_spaced(x) if is_curved else [x.low, x.high]
    if falls and is_curved:
        rates = sorted({*rates, *(1 - rate for rate in rates if rate < 1)})
    up = [height if height is not None else round(1 - rate, 7) if falls else rate for rate in rates]
    points = {
        axis.field: [axis.coordinate(value) for value in values]
        for axis, values in ((x, rates), (y, up))
    }
    return [reference_line(points, CHANCE_DASH)]


def _own_points(plane: Plane, lines: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """Return a layer with a row for each point of the records of lines."""
    x, y = plane.x.name, plane.y.name
    rows = [
        {name: line[name] for name in (PREVALENCE, "_line") if name in line} | {x: across, y: up}
        for line in lines
        for across, up in zip(line[x], line[y], strict=True)
    ]
    return alt.Chart(alt.InlineData(values=rows))


def merge_levels(levels: Sequence[float | None], high: float) -> list[float | None]:
    """Replace levels that differ by up to NEAR_LEVELS times `high` by the middle of their range."""
    known = sorted({level for level in levels if level is not None})
    middle: dict[float, float] = {}
    while known:
        near = [level for level in known if level - known[0] <= NEAR_LEVELS * high]
        middle |= dict.fromkeys(near, (near[0] + near[-1]) / 2)
        known = known[len(near) :]
    return [None if level is None else middle[level] for level in levels]


def _log_spaced(axis: PlotAxis) -> list[float]:
    """Return evenly spaced rates on a logarithmic axis."""
    shares = (step / LOG_STEPS for step in range(LOG_STEPS + 1))
    return [float(f"{axis.low * (axis.high / axis.low) ** share:.7g}") for share in shares]
