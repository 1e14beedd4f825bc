"""Charts of calibration curves: event rates against scores, and the scores of both classes."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.axes import calibration_plane, zoom_plane
from rocframe.charts.curve_chart import curves_of
from rocframe.charts.curve_layers import (
    LAYER,
    NO_TOOLTIP,
    CurvePlot,
    chance_layers,
    hover_layer,
    limit_channels,
    match_rows,
)
from rocframe.charts.groups import GROUP_INDEX, read_groups
from rocframe.charts.line_chart import band_layers, bar_layer, interval_caption
from rocframe.charts.style import (
    BACKGROUND,
    BAND_OPACITY,
    COUNT_FORMAT,
    GRAY,
    RATE_FORMAT,
    finite,
    json_numbers,
    json_rows,
    json_values,
    tooltip,
    with_key,
)
from rocframe.curves.table import check_ends, curve_layout
from rocframe.curves.thinning import score_bins
from rocframe.errors import OptionValueError
from rocframe.frames import check_keys, column, number_keys
from rocframe.schemas import table_of
from rocframe.schemas.curves import CURVE
from rocframe.schemas.table_type import THRESHOLD
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from rocframe.charts.axes import Plane
    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.layer_chart import AnyChart, LayerChart
    from rocframe.kernel.arrays import IntArray
    from rocframe.schemas.table_type import Table

# The columns of the table in the data of the chart. Only tables that were computed with
# `consistency=True` have the last two columns.
EVENT_RATE_LIMITS, CONSISTENCY = ("lower", "upper"), ("consistency_lower", "consistency_upper")
SCORE_RANGE = ("score_min", "score_max")
EVENT_RATE_COLUMNS = ("score_mean", "event_rate", *EVENT_RATE_LIMITS, *SCORE_RANGE, "n")
CONSISTENCY_TEXT = "limits for calibrated scores"
# The values of the field LAYER of a record: a bin, a level of an isotonic regression, a point of a
# smooth curve, an end of a level, a bar of one score, and a bar of a range of scores.
BIN, LEVEL, SMOOTH, LEVEL_END = "bin", "level", "smooth", "level end"
THIN_BAR, WIDE_BAR = "thin bar", "wide bar"
POINT_PARTS = {"isotonic": LEVEL, "loess": SMOOTH, "kernel": SMOOTH}  # by method; else bins
# The strokes of the lines between bins, of steps and of smooth curves.
LINE_STROKES: dict[str, dict[str, Any]] = {
    BIN: {"strokeWidth": 1, "opacity": 0.6},
    LEVEL_END: {"strokeWidth": 2},
    SMOOTH: {"strokeWidth": 2},
}
LINE_SEGMENT = "_segment"  # the number of gaps before a point of a smooth curve
CLASS_FIELD, BASE, END = "_class", "_base", "_end"  # fields of bars
POSITIVE_SIDE, NEGATIVE_SIDE = "positives", "negatives"
BARS_TEXT = "Bars: scores of positives above, of negatives below"
SCORE_CURVES_HINT = (
    "Pass the curves of the same predictions, for example scores=rf.curve(predictions, label, "
    "score, by=…)."
)
BAR_MARGIN = 0.16  # height of the bars above and below the curves, as a share of the y axis
GAP = 0.12  # share of a lane of bars that is empty
MAX_LANES = 8  # bars in more lanes are too short to be read
MAX_THIN_BARS = 100  # the distribution of more distinct scores has wide bars
LIMIT_RATIO = 100  # of the smallest rate to the smallest limit that extends an axis without 0
POINT_AREA, THIN_WIDTH = 50, 1.5  # of marks, in square pixels and in pixels


def calibration_chart(table: pl.DataFrame, layout: Table, options: ChartOptions) -> AnyChart:
    """Draw event rates against scores, and the distribution of the scores of both classes."""
    table = table.sort(*map(column, layout.by), "bin", maintain_order=True)
    keys, number = number_keys(table, layout.by)
    taken = (*EVENT_RATE_COLUMNS, *CONSISTENCY)
    groups = read_groups(keys, layout.by, table.columns, options, taken)
    points = _known_event_rates(table, number)
    # Each curve has a lane for its bars: its position among the curves of its panel.
    panels = groups.columns[groups.panel].texts if groups.panel else [""] * keys.height
    lanes = pl.DataFrame({"panel": panels}).select(pl.int_range(pl.len()).over("panel")).to_series()
    n_lanes = max(lanes, default=-1) + 1
    if options.scores is None:
        bars = _bars_of_bins(points)
    else:
        bars = _bars_of_curves(options.scores, keys, layout.by)
    is_shown = n_lanes <= MAX_LANES and options.y_domain is None
    bars = bars.filter(pl.col("n") > 0) if is_shown else bars.clear()
    plane = zoom_plane(_full_plane(points, bars, options), options)
    bars = _placed_bars(_visible_bars(bars, plane), lanes, n_lanes)
    bars_text = BARS_TEXT if bars.height else ""
    if bars.height:
        plane = replace(plane, y=replace(plane.y, padding=BAR_MARGIN * groups.side))
    drawn = set(points.get_column(GROUP_INDEX))
    undrawn = [name for i, name in enumerate(groups.names(keys.height)) if i not in drawn]
    # On axes without 0, levels start and end at the ends of the x axis, if necessary.
    low, high = (plane.x.low, plane.x.high) if plane.excludes_zero else (-inf, inf)
    ends = [
        end | {"score_mean": min(max(end["score_mean"], low), high)}
        for end in level_ends(_records(points))
    ]
    is_thin = pl.col(LAYER) == THIN_BAR
    thin = bars.filter(is_thin).rename({"score_min": "score_mean"}).drop("score_max")
    shown = (points.filter(_has_position("score_mean", plane)), thin, bars.filter(~is_thin))
    records = [*ends, *(record for rows in shown for record in _records(rows))]
    groups.name(records)
    plot = CurvePlot(plane=plane, records=records, groups=groups)
    has_limits = points.get_column("lower").is_not_null().any()
    interval = interval_caption(table) if has_limits else ""
    return plot.with_titles(
        _layered_parts(plot, interval, n_lanes),
        title="Calibration",
        subtitle=bars_text,
        description=[
            f"Calibration chart, {format_count(keys.height, 'curve')}: {plane.axis_names}",
            interval,
            f"Dotted lines: {CONSISTENCY_TEXT}" if _has_consistency(plot) else "",
            bars_text,
        ],
        undrawn=[*undrawn, *_hidden_texts(points, plane)],
    )


def _known_event_rates(table: pl.DataFrame, curve: IntArray) -> pl.DataFrame:
    """Return the rows with an event rate; a smooth curve has a gap at the other points."""
    is_known = pl.col("event_rate").is_not_null() & pl.col("score_mean").is_not_null()
    rows = table.select(
        pl.Series(GROUP_INDEX, curve),
        *(name for name in (*EVENT_RATE_COLUMNS, *CONSISTENCY) if name in table.columns),
        pl.col("method").replace_strict(POINT_PARTS, default=BIN).alias(LAYER),
        (~is_known).cum_sum().alias(LINE_SEGMENT),
    ).filter(is_known)
    return rows if SMOOTH in rows.get_column(LAYER) else rows.drop(LINE_SEGMENT)


def _records(rows: pl.DataFrame) -> list[dict[str, Any]]:
    return json_rows({values.name: json_values(values) for values in rows})


def point_records(table: pl.DataFrame, curve: IntArray) -> list[dict[str, Any]]:
    """Return a record for each row with an event rate; `curve` are the numbers of the groups."""
    return _records(_known_event_rates(table, curve))


def level_ends(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a record for each end of a level of an isotonic regression: the points of its line."""
    return [
        {name: one[name] for name in (GROUP_INDEX, "event_rate")}
        | {LAYER: LEVEL_END, "score_mean": one[end]}
        for one in points
        if one[LAYER] == LEVEL
        for end in SCORE_RANGE
    ]


def _class_bars(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a bar for the positives and one for the negatives of each row."""
    is_thin = pl.col("score_min") == pl.col("score_max")
    part = pl.when(is_thin).then(pl.lit(THIN_BAR)).otherwise(pl.lit(WIDE_BAR)).alias(LAYER)
    sides, index = [POSITIVE_SIDE, NEGATIVE_SIDE], [GROUP_INDEX, *SCORE_RANGE, LAYER]
    rows = rows.with_columns(part)
    return rows.unpivot(sides, index=index, variable_name=CLASS_FIELD, value_name="n")


def _bars_of_bins(points: pl.DataFrame) -> pl.DataFrame:
    """Return the bars of each bin, at its mean score."""
    n, rate, score = map(pl.col, ("n", "event_rate", "score_mean"))
    classes = {POSITIVE_SIDE: n * rate, NEGATIVE_SIDE: n * (1 - rate)}
    bins = points.filter(pl.col(LAYER) != SMOOTH)
    return _class_bars(bins.select(GROUP_INDEX, score_min=score, score_max=score, **classes))


def _bars_of_curves(scores: object, keys: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Return the bars of the curve table `scores`: of each distinct score, or of 20 bins.

    Curves that are drawn together have the same kind of bars, so that their shapes are comparable.
    """
    layout = table_of(scores.columns) if isinstance(scores, pl.DataFrame) else None
    if not isinstance(scores, pl.DataFrame) or layout is None or layout.type is not CURVE:
        problem = "expected a curve table"
        raise OptionValueError.compose("scores", scores, problem, SCORE_CURVES_HINT)
    curves = curves_of(scores, curve_layout(scores.schema, None, ()).by)
    check_ends(curves, "these scores cannot be drawn", SCORE_CURVES_HINT)
    check_keys("scores", scores.schema, keys.schema, by, noun="calibration curves")
    row, curve = match_rows("scores", "curves", curves.keys, keys, by)
    if len(set(curve.tolist())) < len(curve):
        problem = "this table has several curves for a group of the calibration table"
        raise OptionValueError.compose("scores", scores, problem, SCORE_CURVES_HINT)
    source = np.repeat(np.arange(curves.keys.height), np.diff(curves.starts))
    threshold, tp, fp = (curves.columns[name] for name in (THRESHOLD, "tp", "fp"))
    counts = {"pos": np.diff(tp, prepend=0), "neg": np.diff(fp, prepend=0)}
    thin = pl.DataFrame({"curve": source, "left": threshold, "right": threshold, **counts})
    is_score = np.ones(len(source), bool)
    is_score[curves.starts[:-1]] = False  # the first row of a curve is above all scores
    has_few = bool((np.diff(curves.starts)[row] - 1 <= MAX_THIN_BARS).all())
    bars = thin.filter(is_score) if has_few else score_bins(curves).select(thin.columns)
    pairs = pl.DataFrame({"curve": row, GROUP_INDEX: curve})
    rows = bars.join(pairs, on="curve", maintain_order="left")
    names = {"left": "score_min", "right": "score_max", "pos": POSITIVE_SIDE, "neg": NEGATIVE_SIDE}
    return _class_bars(rows.drop("curve").rename(names))


def _full_plane(points: pl.DataFrame, bars: pl.DataFrame, options: ChartOptions) -> Plane:
    """Return the axes of all points, limits and bars, without `x_domain` and `y_domain`."""

    def numbers(rows: pl.DataFrame, *names: str) -> list[float]:
        columns = (rows.get_column(name) for name in names if name in rows.columns)
        return finite(number for values in columns for number in json_numbers(values))

    levels = points.filter(pl.col(LAYER) == LEVEL)
    values = numbers(points, "score_mean", "event_rate")
    values += [*numbers(levels, *SCORE_RANGE), *numbers(bars, *SCORE_RANGE)]
    limits = numbers(points, *EVENT_RATE_LIMITS, *CONSISTENCY)
    if options.scale in {"log", "logit"}:
        lowest = min((value for value in values if value > 0), default=0) / LIMIT_RATIO
        limits = [value for value in limits if value >= lowest]
    return calibration_plane([*values, *limits], options.scale)


def _has_position(rate: str, plane: Plane) -> pl.Expr:
    """Return whether a rate or a score has a position on the axes."""
    scale, value = plane.y.scale, pl.col(rate)
    inside = (value > 0) & ((value < 1) | pl.lit(scale == "log"))
    return inside | pl.lit(scale == "linear")


def _hidden_texts(points: pl.DataFrame, plane: Plane) -> list[str]:
    """Return texts about the event rates and scores that have no position on the axes."""
    values = "0 or 1" if plane.y.scale == "logit" else "0"
    hidden = {
        name: points.filter(~_has_position(rate, plane)).height
        for name, rate in (("event rate", "event_rate"), ("score", "score_mean"))
    }
    return [f"{format_count(n, name)} of {values}" for name, n in hidden.items() if n]


def _visible_bars(bars: pl.DataFrame, plane: Plane) -> pl.DataFrame:
    """Return the bars that have a position on the x axis; wide bars end at the ends of the axis."""
    if not plane.excludes_zero:
        return bars
    low, high = plane.x.low, plane.x.high
    is_wide, (first, last) = pl.col(LAYER) == WIDE_BAR, map(pl.col, SCORE_RANGE)
    visible = pl.when(is_wide).then(last > low).otherwise(_has_position("score_min", plane))
    clipped = (pl.when(is_wide).then(end.clip(low, high)).otherwise(end) for end in (first, last))
    return bars.filter(visible).with_columns(clipped)


def _placed_bars(bars: pl.DataFrame, lanes: pl.Series, n_lanes: int) -> pl.DataFrame:
    """Add the ends of bars: shares of a lane, which the longest bar of a class fills."""
    lane = pl.lit(lanes.gather(bars.get_column(GROUP_INDEX)))
    lane = pl.when(pl.col(CLASS_FIELD) == POSITIVE_SIDE).then(n_lanes - 1 - lane).otherwise(lane)
    length = pl.col("n") / pl.col("n").max().over(GROUP_INDEX, CLASS_FIELD)
    base = (lane + GAP / 2) / n_lanes
    return bars.with_columns(base.alias(BASE), (base + length * (1 - GAP) / n_lanes).alias(END))


def _layered_parts(plot: CurvePlot, interval: str, n_curves: int) -> LayerChart:
    """Return the chart of all records; `n_curves` is the largest number of curves in a panel."""
    parts = {record[LAYER] for record in plot.records}
    consistency = CONSISTENCY if _has_consistency(plot) else ()
    layers = [
        *(_consistency_layers(plot, n_curves) if consistency else []),
        *(_interval_layers(plot, parts, interval, n_curves) if interval else []),
        *chance_layers(plot.plane),
        *_event_rate_layers(plot, parts),
        *(_score_bar_layer(plot, part) for part in (WIDE_BAR, THIN_BAR) if part in parts),
    ]
    # The square of the curves has the same size with and without bars.
    side = plot.groups.side
    height = round(side * (1 + 2 * BAR_MARGIN)) if plot.plane.y.padding else side
    columns = EVENT_RATE_COLUMNS if parts & {BIN, LEVEL} else EVENT_RATE_COLUMNS[:4]
    segments = [*plot.groups.details(), alt.Detail(f"{LINE_SEGMENT}:N")]
    channels: dict[str, Any] = {"detail": segments} if SMOOTH in parts else {}
    return plot.layered(
        layers,
        [*plot.groups.tooltips(), *map(_number, (*columns, *consistency))],
        deviates=[*EVENT_RATE_LIMITS, *consistency, *(SCORE_RANGE if WIDE_BAR in parts else ())],
        height=height,
        **channels,
    )


def _number(name: str) -> alt.Tooltip:
    return tooltip(name, number=COUNT_FORMAT if name == "n" else RATE_FORMAT)


def _has_consistency(plot: CurvePlot) -> bool:
    """Return whether there are limits of event rates of calibrated scores."""
    return any(record.get(CONSISTENCY[0]) is not None for record in plot.records)


def _part(*parts: str) -> str:
    """Return the Vega expression of the records of some parts."""
    return " || ".join(f"datum.{LAYER} === '{part}'" for part in parts)


def _positioned(plot: CurvePlot, layer: alt.Chart, part: str) -> Any:
    """Return a layer with the records of a part whose event rates have a position on the axes."""
    condition = _part(part)
    if plot.plane.excludes_zero:
        below = " && datum.event_rate < 1" if plot.plane.y.scale == "logit" else ""
        condition += f" && datum.event_rate > 0{below}"
    return layer.transform_filter(condition)


def _limited(plot: CurvePlot, ends: Sequence[str], *parts: str) -> Any:
    """Return a layer of the records of `parts` with limits, which are cut at an axis without 0."""
    layer: Any = alt.Chart().transform_filter(_part(*parts)) if parts else alt.Chart()
    layer = layer.transform_filter(f"isValid(datum.{ends[0]})")
    axis = plot.plane.y
    if axis.excludes_zero:
        low, high = axis.coordinate(axis.low), axis.coordinate(axis.high)
        fields = [plot.plane.field(name) for name in ends]
        clamped = {name: f"clamp(datum.{name}, {low}, {high})" for name in fields}
        layer = layer.transform_calculate(**clamped)
    return layer


def _consistency_layers(plot: CurvePlot, n_curves: int) -> list[alt.Chart]:
    """Draw the limits of calibrated scores as dotted lines, in gray if each panel has one curve."""
    limited = _limited(plot, CONSISTENCY)
    line = with_key(limited.mark_line(strokeWidth=1, order=False), CONSISTENCY_TEXT, "tie")
    ends = (alt.Y(field=plot.plane.field(end), type="quantitative") for end in CONSISTENCY)
    lines = [line.encode(y=end, tooltip=NO_TOOLTIP) for end in ends]
    if n_curves > 1:
        return lines
    area = limited.mark_area(opacity=BAND_OPACITY)
    area = area.encode(**limit_channels(plot.plane, "y", CONSISTENCY))
    return [layer.encode(color=GRAY) for layer in (area, *lines)]


def _interval_layers(
    plot: CurvePlot, parts: AbstractSet[str], interval: str, n_curves: int
) -> list[alt.Chart]:
    """Draw the confidence limits: bars for bins, and bands for other points."""
    layers: list[alt.Chart] = []
    if parts & {SMOOTH, LEVEL}:
        limited = _limited(plot, EVENT_RATE_LIMITS, SMOOTH, LEVEL)
        layers += band_layers(limited, interval, n_curves)
    if BIN in parts:
        layers.append(bar_layer(_limited(plot, EVENT_RATE_LIMITS, BIN), interval))
    return [layer.encode(**limit_channels(plot.plane, "y", EVENT_RATE_LIMITS)) for layer in layers]


def _event_rate_layers(plot: CurvePlot, parts: AbstractSet[str]) -> list[alt.Chart]:
    """Draw smooth curves, steps, bins, and invisible points with tooltips on steps and curves."""
    layers = [
        _positioned(plot, alt.Chart(), part)
        .mark_line(order=False, **stroke)
        .encode(tooltip=NO_TOOLTIP)
        for part, stroke in LINE_STROKES.items()
        if part in parts or (part == BIN and not parts)
    ]
    if BIN in parts:
        style: Any = {"size": POINT_AREA, "stroke": BACKGROUND, "strokeWidth": 1, "opacity": 1}
        layers.append(_positioned(plot, alt.Chart(), BIN).mark_point(filled=True, **style))
    points = (part for part in (LEVEL, SMOOTH) if part in parts)
    return [*layers, *(_positioned(plot, hover_layer(plot), part) for part in points)]


def _score_bar_layer(plot: CurvePlot, part: str) -> alt.Chart:
    """Draw the bars of the scores of positives above, and of negatives below the curves."""
    layer: Any = alt.Chart().transform_filter(_part(part))
    if part == WIDE_BAR:
        layer = layer.mark_rect(stroke=BACKGROUND, strokeWidth=0.5)
        layer = layer.encode(**limit_channels(plot.plane, "x", SCORE_RANGE))
    else:
        layer = layer.mark_rule(strokeWidth=THIN_WIDTH)
    top = f"datum.{CLASS_FIELD} === '{POSITIVE_SIDE}'"
    offsets = (f"(1 - datum.{end}) * {plot.plane.y.padding:.7g}" for end in (BASE, END))
    y, y2 = (
        alt.value({"expr": f"{top} ? {offset} : item.mark.group.height - {offset}"})
        for offset in offsets
    )
    scores = SCORE_RANGE if part == WIDE_BAR else ("score_mean",)
    tooltips = [tooltip(CLASS_FIELD, "class"), *map(_number, (*scores, "n"))]
    bars: alt.Chart = layer.encode(y=y, y2=y2, tooltip=[*plot.groups.tooltips(), *tooltips])
    return bars
