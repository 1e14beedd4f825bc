"""Charts of calibration curves: event rates against scores, and the scores of both classes."""

from __future__ import annotations

from collections import Counter
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
from rocframe.charts.axes import CALIBRATION_PLANE, zoom_plane
from rocframe.charts.curve_chart import curves_of
from rocframe.charts.curve_layers import CurvePlot, chance_layers, chance_text
from rocframe.charts.groups import read_groups
from rocframe.charts.labels import (
    COUNT_FORMAT,
    RATE_FORMAT,
    inline_data,
    json_numbers,
    tooltip,
)
from rocframe.charts.layer_chart import LayerChart
from rocframe.charts.match_rows import match_rows
from rocframe.charts.style import BACKGROUND, BAND_OPACITY, MUTED, with_key
from rocframe.curves.bins import score_bins
from rocframe.curves.table import check_ends, curve_layout
from rocframe.errors import OptionValueError
from rocframe.frames import check_keys, column, number_keys
from rocframe.schemas.columns import THRESHOLD
from rocframe.schemas.curves import CURVE
from rocframe.schemas.recognition import table_of
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import Table

BIN_METHOD = "method"
# For each field of a point, its column in a table of `calibration`.
CALIBRATION_POINTS = {
    "x": "score_mean",
    "y": "event_rate",
    "y_low": "lower",
    "y_high": "upper",
    "left": "score_min",
    "right": "score_max",
    "n": "n",
}
# Tables that were computed with `consistency=True` also have these columns.
CONSISTENCY_POINTS = {
    "consistency_low": "consistency_lower",
    "consistency_high": "consistency_upper",
}
CONSISTENCY_TEXT = "limits for calibrated scores"
# The values of the field `part` of a record: a bin, a level of an isotonic regression, a point of a
# smooth curve, an end of a level, a bar of one score, and a bar of a range of scores.
BIN, LEVEL, SMOOTH, LEVEL_END = "bin", "level", "smooth", "level end"
THIN_BAR, WIDE_BAR = "thin bar", "wide bar"
POINT_PARTS = {"isotonic": LEVEL, "loess": SMOOTH, "kernel": SMOOTH}  # by method; else bins
POSITIVES, NEGATIVES = "positives", "negatives"
BARS_TEXT = "Bars: scores of positives above, of negatives below"
SCORE_CURVES_HINT = (
    "Pass the curves of the same predictions, for example scores=rf.curve(predictions, label, "
    "score, by=…)."
)
BAR_MARGIN = 0.16  # height of the bars above and below the curves, as a share of the y axis
GAP = 0.12  # share of a lane of bars that is empty
MAX_LANES = 8  # bars in more lanes are too short to be read
MAX_THIN_BARS = 100  # the distribution of more distinct scores has wide bars
POINT_AREA, THIN_WIDTH, LINE_WIDTH = 50, 1.5, 2  # of marks, in square pixels and in pixels


def calibration_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw event rates against scores, and the distribution of the scores of both classes."""
    table = table.sort(*map(column, layout.by), "bin", maintain_order=True)
    keys, number = number_keys(table, layout.by)
    groups = read_groups(keys, layout.by, table.columns, options)
    curves: list[dict[str, Any]] = [{"curve": i} for i in range(keys.height)]
    groups.name(curves)
    plane = zoom_plane(CALIBRATION_PLANE, options)
    points = point_records(table, number)
    bars = (
        _bars_of_bins(points)
        if options.scores is None
        else _bars_of_curves(options.scores, keys, layout.by)
    )
    n_lanes = groups.max_curves(curves, groups.panel)
    is_shown = 0 < n_lanes <= MAX_LANES and options.y_domain is None
    bars = _place_bars(bars, _lanes(curves, groups.panel), n_lanes) if is_shown else []
    records = [*points, *level_ends(points), *bars]
    groups.name(records)
    plot = CurvePlot(plane=plane, records=records, groups=groups)
    has_consistency = any(point.get("consistency_low") is not None for point in points)
    has_limits = any(point["y_low"] is not None for point in points)
    interval = interval_caption(table) if has_limits else ""
    is_drawn = {record["curve"] for record in points}
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
        undrawn=[name for i, name in enumerate(groups.names(len(curves))) if i not in is_drawn],
    )


def point_records(table: pl.DataFrame, curve: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return a record for each row with an event rate; `curve` are the numbers of the groups.

    The field `order` is the position of the point in the line of its group. A smooth curve has a
    gap at points without an event rate; the field `segment` is the number of gaps before the point.
    """
    known = pl.col("event_rate").is_not_null() & pl.col("score_mean").is_not_null()
    has_method = BIN_METHOD in table.columns
    fields = {
        field: name
        for field, name in (CALIBRATION_POINTS | CONSISTENCY_POINTS).items()
        if name in table.columns
    }
    rows = table.select(
        pl.Series("curve", curve),
        (pl.col(BIN_METHOD) if has_method else pl.lit(None)).alias(BIN_METHOD),
        (~known).cum_sum().alias("segment"),
        *(pl.col(name).alias(field) for field, name in fields.items()),
    ).filter(pl.col("x").is_not_null() & pl.col("y").is_not_null())
    records = []
    for order, row in enumerate(rows.to_dicts()):
        part = POINT_PARTS.get(row.pop(BIN_METHOD), BIN)
        if part != SMOOTH:
            row.pop("segment")
        numbers = dict(zip(row, json_numbers(row.values()), strict=True))
        records.append({**numbers, "part": part, "order": order})
    return records


def level_ends(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a record for each end of a level of an isotonic regression: the points of its line."""
    return [
        {"curve": one["curve"], "part": LEVEL_END, "order": 2 * one["order"] + i} | point
        for one in points
        if one["part"] == LEVEL
        for i, point in enumerate({"x": one[end], "y": one["y"]} for end in ("left", "right"))
    ]


def _bars_of_bins(points: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a bar for the positives and one for the negatives of each bin, at its mean score."""
    return [
        _bar(one["curve"], side, (one["x"], one["x"]), one["n"] * share)
        for one in points
        if one["part"] != SMOOTH
        for side, share in ((POSITIVES, one["y"]), (NEGATIVES, 1 - one["y"]))
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
            for side, values in zip((POSITIVES, NEGATIVES), counts, strict=True)
            for *ends, count in zip(left, right, values, strict=True)
        ]
    return bars


def _bar(curve: int, side: str, ends: Sequence[float], count: float) -> dict[str, Any]:
    """Return the record of a bar of `count` rows whose scores are between `ends`."""
    numbers = dict(zip(("left", "right", "n"), json_numbers([*ends, count]), strict=True))
    part = THIN_BAR if numbers["left"] == numbers["right"] else WIDE_BAR
    return {"curve": curve, "part": part, "side": side, **numbers}


def _lanes(curves: Sequence[Mapping[str, Any]], panel: str | None) -> list[int]:
    """Return the position of each curve among the curves of its panel."""
    n_before: Counter[Any] = Counter()
    lanes = []
    for curve in curves:
        name = None if panel is None else curve[panel]
        lanes.append(n_before[name])
        n_before[name] += 1
    return lanes


def _place_bars(
    bars: Sequence[dict[str, Any]], lanes: Sequence[int], n_lanes: int
) -> list[dict[str, Any]]:
    """Return the bars that have rows, with the y coordinates `base` and `end`.

    Each curve has a lane above and a lane below the chart. The longest bar of each class fills it.
    """
    longest: dict[Any, float] = {}
    for bar in bars:
        key = bar["curve"], bar["side"]
        longest[key] = max(longest.get(key, 0), bar["n"])
    height = BAR_MARGIN / n_lanes
    records = []
    for bar in bars:
        if not bar["n"] > 0:
            continue
        length = bar["n"] / longest[bar["curve"], bar["side"]] * height * (1 - GAP)
        lane = lanes[bar["curve"]]
        if bar["side"] == POSITIVES:
            base = 1 + height * (n_lanes - 1 - lane + GAP / 2)
            end = base + length
        else:
            base = -height * (lane + GAP / 2)
            end = base - length
        base, end = json_numbers([base, end])
        records.append({**bar, "base": base, "end": end})
    return records


def _calibration_layers(plot: CurvePlot, interval: str, n_curves: int) -> alt.LayerChart:
    """Return the chart of all records, without titles.

    `interval` is the text for the confidence limits, empty without limits. `n_curves` is the
    largest number of curves in a panel.
    """
    has_bars = _has(plot, THIN_BAR, WIDE_BAR)
    layers = [
        *_consistency_layers(plot, n_curves),
        *_event_rate_limit_layers(plot, interval, n_curves),
        *chance_layers(plot.plane),
        *_line_layers(plot),
        *_draw_points(plot),
        *_bar_layers(plot),
    ]
    if plot.plane.zoomed:
        for layer in layers:
            layer.mark.clip = True
    side = plot.groups.side
    # The square from 0 to 1 has the same size with and without bars.
    height = round(side * (1 + 2 * BAR_MARGIN)) if has_bars else side
    return LayerChart(layer=layers, data=inline_data(plot.records), width=side, height=height)


def _has(plot: CurvePlot, *parts: str) -> bool:
    """Return whether one of the records belongs to one of the `parts`."""
    return any(record["part"] in parts for record in plot.records)


def _part(*parts: str) -> alt.Chart:
    """Return a layer with the records of some parts."""
    condition = " || ".join(f"datum.part === '{part}'" for part in parts)
    layer: alt.Chart = alt.Chart().transform_filter(condition)
    return layer


def _axes(plot: CurvePlot, x: str = "x", y: str = "y") -> dict[str, Any]:
    """Return the two position channels of the fields `x` and `y`."""
    across, up = plot.plane.x.channel(), plot.plane.y.channel()
    if _has(plot, THIN_BAR, WIDE_BAR):
        up["scale"] = alt.Scale(domain=[-BAR_MARGIN, 1 + BAR_MARGIN], nice=False)
    return {"x": alt.X(x, **across), "y": alt.Y(y, **up)}


def _consistency_layers(plot: CurvePlot, n_curves: int) -> list[alt.Chart]:
    """Draw the limits of event rates of calibrated scores as dotted lines.

    If each panel has one curve, the lines and the area between them are gray.
    """
    if not any(record.get("consistency_low") is not None for record in plot.records):
        return []
    limited = alt.Chart().transform_filter("isValid(datum.consistency_low)")
    detail = [alt.Detail("curve:N"), alt.Detail("segment:N")]
    color = alt.ColorValue(MUTED) if n_curves == 1 else plot.groups.line_color()
    lines = [
        with_key(limited.mark_line(strokeWidth=1), CONSISTENCY_TEXT, "tie").encode(
            **_axes(plot, y=end), order=alt.Order("order:Q"), detail=detail, color=color
        )
        for end in CONSISTENCY_POINTS
    ]
    if n_curves > 1:
        return lines
    area = limited.mark_area(opacity=BAND_OPACITY).encode(
        **_axes(plot, y="consistency_low"),
        y2=alt.Y2("consistency_high:Q"),
        detail=detail,
        color=color,
    )
    return [area, *lines]


def _event_rate_limit_layers(plot: CurvePlot, interval: str, n_curves: int) -> list[alt.Chart]:
    """Draw the confidence limits: bars for bins, and bands for other points."""
    layers: list[alt.Chart] = []
    if not interval:
        return layers
    several = n_curves > 1
    if _has(plot, SMOOTH, LEVEL):
        limited = _part(SMOOTH, LEVEL).transform_filter("isValid(datum.y_low)")
        opacity = min(LIGHT_OPACITY, PANEL_OPACITY / n_curves) if several else BAND_OPACITY
        band = limited.mark_area(opacity=opacity)
        layers.append(with_key(band, interval, "limits" if several else "band"))
        if several:  # The colors of overlapping areas mix, so lines show the limits of each band.
            layers.append(limited.mark_area(filled=False, strokeWidth=1, opacity=0.8))
    if _has(plot, BIN):
        limited = _part(BIN).transform_filter("isValid(datum.y_low)")
        bars = limited.mark_rule(opacity=BAR_OPACITY, strokeWidth=BAR_WIDTH)
        layers.append(with_key(bars, interval, "bar", BAR_WIDTH))
    return [
        layer.encode(
            **_axes(plot, y="y_low"),
            y2=alt.Y2("y_high:Q"),
            detail=[alt.Detail("curve:N"), alt.Detail("segment:N")],
            color=plot.groups.line_color(),
        )
        for layer in layers
    ]


def _line_layers(plot: CurvePlot) -> list[alt.Chart]:
    """Draw smooth curves, the steps of isotonic regressions, and thin lines between bins."""
    strokes: list[tuple[str, dict[str, Any]]] = [
        (BIN, {"strokeWidth": 1, "opacity": 0.6}),
        (LEVEL_END, {"strokeWidth": LINE_WIDTH}),
        (SMOOTH, {"strokeWidth": LINE_WIDTH}),
    ]
    return [
        _part(part)
        .mark_line(**stroke)
        .encode(
            **_axes(plot),
            order=alt.Order("order:Q"),
            detail=[alt.Detail("curve:N"), alt.Detail("segment:N")],
            color=plot.groups.line_color(),
        )
        for part, stroke in strokes
        if _has(plot, part) or (part == BIN and not plot.records)
    ]


def _draw_points(plot: CurvePlot) -> list[alt.Chart]:
    """Draw the points of bins, and invisible points with tooltips on other lines."""
    points: list[tuple[alt.Chart, tuple[str, ...]]] = []
    if _has(plot, BIN):
        style: dict[str, Any] = {"stroke": BACKGROUND, "strokeWidth": 1, "opacity": 1}
        bins = _part(BIN).mark_point(filled=True, size=POINT_AREA, **style)
        points.append((bins, tuple(CALIBRATION_POINTS)))
    for part in (LEVEL, SMOOTH):
        if _has(plot, part):
            marks = _part(part).mark_point(filled=True, size=80, opacity=0)
            fields = tuple(CALIBRATION_POINTS) if part == LEVEL else ("x", "y", "y_low", "y_high")
            points.append((marks, fields))
    return [
        layer.encode(
            **_axes(plot),
            color=plot.groups.line_color(),
            tooltip=[*plot.groups.tooltips(), *_point_tooltips(plot, fields)],
        )
        for layer, fields in points
    ]


def _point_tooltips(plot: CurvePlot, fields: Sequence[str]) -> list[alt.Tooltip]:
    """Return a tooltip line for each of `fields` and for the limits of consistency, if drawn."""
    names = {field: CALIBRATION_POINTS[field] for field in fields}
    if any("consistency_low" in record for record in plot.records):
        names |= CONSISTENCY_POINTS
    return [
        tooltip(field, name, COUNT_FORMAT if field == "n" else RATE_FORMAT)
        for field, name in names.items()
    ]


def _bar_layers(plot: CurvePlot) -> list[alt.Chart]:
    """Draw the bars of the scores of positives above, and of negatives below the curves."""
    rows = [
        *plot.groups.tooltips(),
        tooltip("side", "class"),
        tooltip("left", "score from", RATE_FORMAT),
        tooltip("right", "score to", RATE_FORMAT),
        tooltip("n", "n", COUNT_FORMAT),
    ]
    layers = []
    for part in (WIDE_BAR, THIN_BAR):
        if not _has(plot, part):
            continue
        if part == WIDE_BAR:
            bars = _part(part).mark_rect(stroke=BACKGROUND, strokeWidth=0.5)
            ends = {"x2": alt.X2("right:Q")}
        else:
            bars, ends = _part(part).mark_rule(strokeWidth=THIN_WIDTH), {}
        layers.append(
            bars.encode(
                **_axes(plot, "left", "base"),
                **ends,
                y2=alt.Y2("end:Q"),
                color=plot.groups.line_color(),
                tooltip=rows,
            )
        )
    return layers
