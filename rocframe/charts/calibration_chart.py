"""Charts of calibration curves: event rates against scores, and the scores of both classes."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.average_chart import (
    BAR_OPACITY,
    BAR_WIDTH,
    LIGHT_OPACITY,
    PANEL_OPACITY,
    interval_caption,
)
from rocframe.charts.axes import calibration_plane, zoom_plane
from rocframe.charts.curve_chart import curves_of
from rocframe.charts.curve_data import LAYER
from rocframe.charts.curve_layers import NO_TOOLTIP, CurvePlot, chance_layers, chance_text
from rocframe.charts.groups import GROUP_INDEX, read_groups
from rocframe.charts.labels import COUNT_FORMAT, RATE_FORMAT, finite, json_numbers, tooltip
from rocframe.charts.match_rows import match_rows
from rocframe.charts.style import BACKGROUND, BAND_OPACITY, REFERENCE_COLOR, with_key
from rocframe.curves.table import check_ends, curve_layout
from rocframe.curves.thinning import score_bins
from rocframe.errors import OptionValueError
from rocframe.frames import check_keys, column, number_keys
from rocframe.schemas.curves import CURVE
from rocframe.schemas.recognition import table_of
from rocframe.schemas.table_type import THRESHOLD
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.charts.axes import Plane
    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.layer_chart import LayerChart
    from rocframe.schemas.table_type import Table

BIN_METHOD = "method"
# The columns of the table in the data of the chart. Only tables that were computed with
# `consistency=True` have the last two columns.
EVENT_RATE_LIMITS, CONSISTENCY = ("lower", "upper"), ("consistency_lower", "consistency_upper")
EVENT_RATE_COLUMNS = ("score_mean", "event_rate", *EVENT_RATE_LIMITS, "score_min", "score_max", "n")
CONSISTENCY_TEXT = "limits for calibrated scores"
# The values of the field LAYER of a record: a bin, a level of an isotonic regression, a point of a
# smooth curve, an end of a level, a bar of one score, and a bar of a range of scores.
BIN, LEVEL, SMOOTH, LEVEL_END = "bin", "level", "smooth", "level end"
THIN_BAR, WIDE_BAR = "thin bar", "wide bar"
POINT_PARTS = {"isotonic": LEVEL, "loess": SMOOTH, "kernel": SMOOTH}  # by method; else bins
LINE_SEGMENT = "_segment"  # the number of gaps before a point of a smooth curve
HIDDEN = "_hidden"  # marks the records with a rate that has no position on the axes
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
POINT_AREA, THIN_WIDTH, LINE_WIDTH = 50, 1.5, 2  # of marks, in square pixels and in pixels


def calibration_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw event rates against scores, and the distribution of the scores of both classes."""
    table = table.sort(*map(column, layout.by), "bin", maintain_order=True)
    keys, number = number_keys(table, layout.by)
    taken = (*EVENT_RATE_COLUMNS, *CONSISTENCY)
    groups = read_groups(keys, layout.by, table.columns, options, taken)
    curves: list[dict[str, Any]] = [{GROUP_INDEX: i} for i in range(keys.height)]
    groups.name(curves)
    points = point_records(table, number)
    bars = (
        _bars_of_bins(points)
        if options.scores is None
        else _bars_of_curves(options.scores, keys, layout.by)
    )
    n_lanes = groups.max_curves(curves, groups.panel)
    is_shown = 0 < n_lanes <= MAX_LANES and options.y_domain is None
    bars = [bar for bar in bars if bar["n"] > 0] if is_shown else []
    plane = zoom_plane(_full_plane(points, bars, options), options)
    bars = _visible_bars(bars, plane)
    if bars:
        plane = replace(plane, y=replace(plane.y, padding=BAR_MARGIN * groups.side))
        _place_bars(bars, _lanes(curves, groups.panel), n_lanes)
    records = [*points, *level_ends(points)]
    hidden = _hide(records, plane) if plane.excludes_zero else []
    records = [*(one for one in records if _is_inside(one["score_mean"], plane)), *bars]
    groups.name(records)
    plot = CurvePlot(plane=plane, records=records, groups=groups)
    has_consistency = any(point.get(CONSISTENCY[0]) is not None for point in points)
    has_limits = any(point["lower"] is not None for point in points)
    interval = interval_caption(table) if has_limits else ""
    is_drawn = {record[GROUP_INDEX] for record in points}
    undrawn = [name for i, name in enumerate(groups.names(len(curves))) if i not in is_drawn]
    undrawn += hidden
    return plot.with_titles(
        _calibration_layers(plot, interval, n_lanes),
        title="Calibration",
        subtitle=BARS_TEXT if bars else "",
        description=[
            f"Calibration chart, {format_count(len(curves), 'curve')}: {plane.axis_names}",
            chance_text(plane),
            interval,
            f"Dotted lines: {CONSISTENCY_TEXT}" if has_consistency else "",
            BARS_TEXT if bars else "",
        ],
        undrawn=undrawn,
    )


def _full_plane(
    points: Sequence[Mapping[str, Any]], bars: Sequence[Mapping[str, Any]], options: ChartOptions
) -> Plane:
    """Return the axes of all points, limits and bars, without `x_domain` and `y_domain`.

    On scales without 0, limits more than 100 times smaller than all rates do not extend the axes.
    """
    names = ("score_mean", "event_rate")
    ends = {WIDE_BAR: ("score_min", "score_max"), LEVEL: (*names, "score_min", "score_max")}
    ends[THIN_BAR] = names[:1]
    values = [one[name] for one in [*points, *bars] for name in ends.get(one[LAYER], names)]
    limits = [one.get(name) for one in points for name in (*EVENT_RATE_LIMITS, *CONSISTENCY)]
    if options.scale in {"log", "logit"}:
        lowest = min((value for value in values if value > 0), default=0) / LIMIT_RATIO
        limits = [value for value in finite(limits) if value >= lowest]
    return calibration_plane([*values, *limits], options.scale)


def _hide(records: Sequence[dict[str, Any]], plane: Plane) -> list[str]:
    """Mark the records whose event rate has no position on the axes; return texts about them.

    Their confidence limits are drawn. Levels start and end at the ends of the x axis, if necessary.
    """
    values = "0 or 1" if plane.y.scale == "logit" else "0"
    for record in records:
        if record[LAYER] == LEVEL_END:
            record["score_mean"] = min(max(record["score_mean"], plane.x.low), plane.x.high)
        if not _is_inside(record["event_rate"], plane):
            record[HIDDEN] = True
    points = [one for one in records if one[LAYER] != LEVEL_END]
    hidden = {
        "event rate": sum(HIDDEN in one for one in points),
        "score": sum(not _is_inside(one["score_mean"], plane) for one in points),
    }
    return [f"{format_count(n, name)} of {values}" for name, n in hidden.items() if n]


def _is_inside(rate: float, plane: Plane) -> bool:
    """Return whether a rate or a score has a position on the axes."""
    scale = plane.y.scale
    return scale == "linear" or (rate > 0 and (rate < 1 or scale == "log"))


def point_records(table: pl.DataFrame, curve: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return a record for each row with an event rate; `curve` are the numbers of the groups.

    A smooth curve has a gap at points without an event rate.
    """
    known = pl.col("event_rate").is_not_null() & pl.col("score_mean").is_not_null()
    has_method = BIN_METHOD in table.columns
    names = [name for name in (*EVENT_RATE_COLUMNS, *CONSISTENCY) if name in table.columns]
    rows = table.select(
        pl.Series(GROUP_INDEX, curve),
        (pl.col(BIN_METHOD) if has_method else pl.lit(None)).alias(BIN_METHOD),
        (~known).cum_sum().alias(LINE_SEGMENT),
        *names,
    ).filter(pl.col("event_rate").is_not_null() & pl.col("score_mean").is_not_null())
    records = []
    for row in rows.to_dicts():
        part = POINT_PARTS.get(row.pop(BIN_METHOD), BIN)
        if part != SMOOTH:
            row.pop(LINE_SEGMENT)
        records.append(dict(zip(row, json_numbers(row.values()), strict=True)) | {LAYER: part})
    return records


def level_ends(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a record for each end of a level of an isotonic regression: the points of its line."""
    return [
        {
            GROUP_INDEX: one[GROUP_INDEX],
            LAYER: LEVEL_END,
            "score_mean": one[end],
            "event_rate": one["event_rate"],
        }
        for one in points
        if one[LAYER] == LEVEL
        for end in ("score_min", "score_max")
    ]


def _bars_of_bins(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a bar for the positives and one for the negatives of each bin, at its mean score."""
    return [
        _bar(one[GROUP_INDEX], side, (one["score_mean"],) * 2, one["n"] * share)
        for one in points
        if one[LAYER] != SMOOTH
        for side, share in (
            (POSITIVE_SIDE, one["event_rate"]),
            (NEGATIVE_SIDE, 1 - one["event_rate"]),
        )
    ]


def _bars_of_curves(scores: object, keys: pl.DataFrame, by: Sequence[str]) -> list[dict[str, Any]]:
    """Return the bars of the positives and of the negatives in the curve table `scores`.

    `keys` has one row per calibration curve with the group columns `by`. There is a bar for each
    distinct score, or for each of 20 bins if a curve has more than MAX_THIN_BARS distinct scores.
    """
    layout = table_of(scores.columns) if isinstance(scores, pl.DataFrame) else None
    if not isinstance(scores, pl.DataFrame) or layout is None or layout.type is not CURVE:
        raise OptionValueError.compose(
            "scores", scores, "expected a curve table", SCORE_CURVES_HINT
        )
    curves = curves_of(scores, curve_layout(scores.schema, None, ()).by)
    check_ends(curves, "these scores cannot be drawn", SCORE_CURVES_HINT)
    check_keys("scores", scores.schema, keys.schema, by, noun="calibration curves")
    row, curve = match_rows("scores", "curves", curves.keys, keys, by)
    if len(set(curve.tolist())) < len(curve):
        problem = "this table has several curves for a group of the calibration table"
        raise OptionValueError.compose("scores", scores, problem, SCORE_CURVES_HINT)
    bins = score_bins(curves)
    bars = []
    for source, target in zip(row.tolist(), curve.tolist(), strict=True):
        start, end = curves.starts[source], curves.starts[source + 1]
        if end - start - 1 > MAX_THIN_BARS:
            own = bins.filter(curve=source)
            left, right, *counts = (own[name].to_list() for name in ("left", "right", "pos", "neg"))
        else:
            threshold, tp, fp = (curves.columns[n][start:end] for n in (THRESHOLD, "tp", "fp"))
            left = right = threshold[1:].tolist()
            counts = [np.diff(count).tolist() for count in (tp, fp)]
        bars += [
            _bar(target, side, ends, count)
            for side, values in zip((POSITIVE_SIDE, NEGATIVE_SIDE), counts, strict=True)
            for *ends, count in zip(left, right, values, strict=True)
        ]
    return bars


def _bar(curve: int, side: str, ends: Sequence[float], count: float) -> dict[str, Any]:
    """Return the record of a bar of `count` rows whose scores are between `ends`."""
    low, high, n = json_numbers([*ends, count])
    bar = {GROUP_INDEX: curve, CLASS_FIELD: side, "n": n}
    if low == high:
        return bar | {LAYER: THIN_BAR, "score_mean": low}
    return bar | {LAYER: WIDE_BAR, "score_min": low, "score_max": high}


def _visible_bars(bars: Sequence[dict[str, Any]], plane: Plane) -> list[dict[str, Any]]:
    """Return the bars that have a position on the x axis; wide bars start at its lower end."""
    if not plane.excludes_zero:
        return list(bars)
    low, high = plane.x.low, plane.x.high
    visible = []
    for bar in bars:
        if bar[LAYER] == WIDE_BAR and bar["score_max"] > low:
            ends = {
                "score_min": max(bar["score_min"], low),
                "score_max": min(bar["score_max"], high),
            }
            visible.append(bar | ends)
        elif bar[LAYER] == THIN_BAR and _is_inside(bar["score_mean"], plane):
            visible.append(bar)
    return visible


def _lanes(curves: Sequence[Mapping[str, Any]], panel: str | None) -> list[int]:
    """Return the position of each curve among the curves of its panel."""
    n_before: Counter[Any] = Counter()
    lanes = []
    for curve in curves:
        name = panel and curve[panel]
        lanes.append(n_before[name])
        n_before[name] += 1
    return lanes


def _place_bars(bars: Sequence[dict[str, Any]], lanes: Sequence[int], n_lanes: int) -> None:
    """Add the fields `_base` and `_end` to bars: shares of the space above or below the curves.

    Each curve has a lane in this space. The longest bar of each class fills it.
    """
    longest: dict[Any, float] = {}
    for bar in bars:
        key = bar[GROUP_INDEX], bar[CLASS_FIELD]
        longest[key] = max(longest.get(key, 0), bar["n"])
    for bar in bars:
        lane = lanes[bar[GROUP_INDEX]]
        lane = n_lanes - 1 - lane if bar[CLASS_FIELD] == POSITIVE_SIDE else lane
        base = (lane + GAP / 2) / n_lanes
        end = base + bar["n"] / longest[bar[GROUP_INDEX], bar[CLASS_FIELD]] * (1 - GAP) / n_lanes
        bar[BASE], bar[END] = json_numbers([base, end])


def _calibration_layers(plot: CurvePlot, interval: str, n_curves: int) -> LayerChart:
    """Return the chart of all records, without titles.

    `interval` is the text for the confidence limits, empty without limits. `n_curves` is the
    largest number of curves in a panel.
    """
    layers = [
        *_consistency_layers(plot, n_curves),
        *_event_rate_limit_layers(plot, interval, n_curves),
        *chance_layers(plot.plane),
        *_line_layers(plot),
        *_event_rate_layers(plot),
        *_bar_layers(plot),
    ]
    for layer in layers:
        if plot.plane.zoomed:
            layer.mark.clip = True
    fields = [*EVENT_RATE_LIMITS, *(CONSISTENCY if _has_consistency(plot) else ())]
    fields += ["score_min", "score_max"] if _has(plot, WIDE_BAR) else []
    # The square of the curves has the same size with and without bars.
    side = plot.groups.side
    height = round(side * (1 + 2 * BAR_MARGIN)) if plot.plane.y.padding else side
    tooltips = _tooltips(plot, EVENT_RATE_COLUMNS)
    return plot.layered(layers, tooltips, deviates=fields, height=height)


def _tooltips(plot: CurvePlot, names: Sequence[str]) -> list[alt.Tooltip]:
    """Return the tooltip lines of the groups, of columns and of the limits of consistency."""
    names = (*names, *(CONSISTENCY if _has_consistency(plot) else ()))
    numbers = (tooltip(name, number=COUNT_FORMAT if name == "n" else RATE_FORMAT) for name in names)
    return [*plot.groups.tooltips(), *numbers]


def _has_consistency(plot: CurvePlot) -> bool:
    """Return whether there are limits of event rates of calibrated scores."""
    return any(record.get(CONSISTENCY[0]) is not None for record in plot.records)


def _has(plot: CurvePlot, *parts: str) -> bool:
    """Return whether one of the records belongs to one of the `parts`."""
    return any(record[LAYER] in parts for record in plot.records)


def _part(*parts: str) -> alt.Chart:
    """Return a layer with the records of some parts."""
    condition = " || ".join(f"datum.{LAYER} === '{part}'" for part in parts)
    layer: alt.Chart = alt.Chart().transform_filter(condition)
    return layer


def _positioned(plot: CurvePlot, part: str) -> alt.Chart:
    """Return a layer with the records of a part whose event rates have a position on the axes."""
    layer = _part(part)
    if any(HIDDEN in record for record in plot.records):
        layer = layer.transform_filter(f"!datum.{HIDDEN}")
    return layer


def _limited(plot: CurvePlot, layer: alt.Chart, ends: Sequence[str]) -> alt.Chart:
    """Return a layer with the records that have limits, in the columns `ends`.

    Limits beyond the end of an axis without 0 are at this end.
    """
    result: Any = layer.transform_filter(f"isValid(datum.{ends[0]})")
    axis = plot.plane.y
    if axis.excludes_zero:
        low, high = axis.coordinate(axis.low), axis.coordinate(axis.high)
        fields = [plot.plane.field(name) for name in ends]
        clamped = {name: f"clamp(datum.{name}, {low}, {high})" for name in fields}
        result = result.transform_calculate(**clamped)
    return result  # type: ignore[no-any-return]


def _vertical(plot: CurvePlot, low: str, high: str | None = None) -> dict[str, Any]:
    """Return the y channels of limits in the columns `low` and `high`."""
    channels: dict[str, Any] = {"y": alt.Y(field=plot.plane.field(low), type="quantitative")}
    if high is not None:
        channels["y2"] = alt.Y2(field=plot.plane.field(high))
    return {**channels, "tooltip": NO_TOOLTIP}


def _details(plot: CurvePlot) -> dict[str, Any]:
    """Return the channel that separates lines: groups, and segments of smooth curves."""
    return {"detail": [*plot.groups.details(), alt.Detail(f"{LINE_SEGMENT}:N")]}


def _consistency_layers(plot: CurvePlot, n_curves: int) -> list[alt.Chart]:
    """Draw the limits of event rates of calibrated scores as dotted lines.

    If each panel has one curve, the lines and the area between them are gray.
    """
    if not _has_consistency(plot):
        return []
    limited = _limited(plot, alt.Chart(), CONSISTENCY)
    color = {"color": alt.value(REFERENCE_COLOR)} if n_curves == 1 else {}
    layers = [
        with_key(limited.mark_line(strokeWidth=1, order=False), CONSISTENCY_TEXT, "tie").encode(
            **_vertical(plot, end), **_details(plot), **color
        )
        for end in CONSISTENCY
    ]
    if n_curves == 1:
        area = limited.mark_area(opacity=BAND_OPACITY)
        layers.insert(0, area.encode(**_vertical(plot, *CONSISTENCY), **_details(plot), **color))
    return layers


def _event_rate_limit_layers(plot: CurvePlot, interval: str, n_curves: int) -> list[alt.Chart]:
    """Draw the confidence limits: bars for bins, and bands for other points."""
    layers: list[alt.Chart] = []
    if not interval:
        return layers
    several = n_curves > 1
    if _has(plot, SMOOTH, LEVEL):
        limited = _limited(plot, _part(SMOOTH, LEVEL), EVENT_RATE_LIMITS)
        opacity = min(LIGHT_OPACITY, PANEL_OPACITY / n_curves) if several else BAND_OPACITY
        band = limited.mark_area(opacity=opacity)
        layers.append(with_key(band, interval, "limits" if several else "band"))
        if several:  # The colors of overlapping areas mix, so lines show the limits of each band.
            layers.append(limited.mark_area(filled=False, strokeWidth=1, opacity=0.8))
        layers = [layer.encode(**_details(plot)) for layer in layers]
    if _has(plot, BIN):
        limited = _limited(plot, _part(BIN), EVENT_RATE_LIMITS)
        bars = limited.mark_rule(opacity=BAR_OPACITY, strokeWidth=BAR_WIDTH)
        layers.append(with_key(bars, interval, "bar", BAR_WIDTH))
    return [layer.encode(**_vertical(plot, *EVENT_RATE_LIMITS)) for layer in layers]


def _line_layers(plot: CurvePlot) -> list[alt.Chart]:
    """Draw smooth curves, the steps of isotonic regressions, and thin lines between bins."""
    strokes: list[tuple[str, dict[str, Any]]] = [
        (BIN, {"strokeWidth": 1, "opacity": 0.6}),
        (LEVEL_END, {"strokeWidth": LINE_WIDTH}),
        (SMOOTH, {"strokeWidth": LINE_WIDTH}),
    ]
    return [
        _positioned(plot, part)
        .mark_line(order=False, **stroke)
        .encode(tooltip=NO_TOOLTIP, **(_details(plot) if part == SMOOTH else {}))
        for part, stroke in strokes
        if _has(plot, part) or (part == BIN and not plot.records)
    ]


def _event_rate_layers(plot: CurvePlot) -> list[alt.Chart]:
    """Draw the points of bins, and invisible points with tooltips on other lines."""
    layers: list[alt.Chart] = []
    if _has(plot, BIN):
        style: dict[str, Any] = {"stroke": BACKGROUND, "strokeWidth": 1, "opacity": 1}
        layers.append(_positioned(plot, BIN).mark_point(filled=True, size=POINT_AREA, **style))
    for part in (LEVEL, SMOOTH):
        if _has(plot, part):
            points = _positioned(plot, part).mark_point(filled=True, size=80, opacity=0)
            points = points.encode(color=alt.value("transparent"))
            if part == SMOOTH:
                points = points.encode(tooltip=_tooltips(plot, EVENT_RATE_COLUMNS[:4]))
            layers.append(points)
    return layers


def _bar_position(plot: CurvePlot, field: str) -> Any:
    """Return the vertical position of an end of a bar; positives are above the curves."""
    offset = f"(1 - datum.{field}) * {plot.plane.y.padding:.7g}"
    top = f"datum.{CLASS_FIELD} === '{POSITIVE_SIDE}'"
    return alt.value({"expr": f"{top} ? {offset} : item.mark.group.height - {offset}"})


def _bar_layers(plot: CurvePlot) -> list[alt.Chart]:
    """Draw the bars of the scores of positives above, and of negatives below the curves."""
    groups, layers = [*plot.groups.tooltips(), tooltip(CLASS_FIELD, "class")], []
    count = tooltip("n", number=COUNT_FORMAT)
    for part, names in ((WIDE_BAR, ("score_min", "score_max")), (THIN_BAR, ("score_mean",))):
        if not _has(plot, part):
            continue
        if part == WIDE_BAR:
            low, high = map(plot.plane.field, names)
            bars = _part(part).mark_rect(stroke=BACKGROUND, strokeWidth=0.5)
            bars = bars.encode(x=alt.X(field=low, type="quantitative"), x2=alt.X2(field=high))
        else:
            bars = _part(part).mark_rule(strokeWidth=THIN_WIDTH)
        scores = [tooltip(name, number=RATE_FORMAT) for name in names]
        layers.append(
            bars.encode(
                y=_bar_position(plot, BASE),
                y2=_bar_position(plot, END),
                tooltip=[*groups, *scores, count],
            )
        )
    return layers
