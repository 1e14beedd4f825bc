"""Charts of curves: on the axes of a kind, of two metrics, or of metrics and the threshold."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import isclose, isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import numpy as np
import polars as pl

from rocframe.areas.area import areas_of_ties
from rocframe.charts.axes import (
    AXIS_METRICS,
    Plane,
    axis_rates,
    axis_title,
    axis_values,
    chart_kind,
    common_axis,
    curve_plane,
    free_axis,
    given_titles,
    inside_sentence,
    prevalence_text,
    zoom_plane,
)
from rocframe.charts.curve_layers import (
    LAYER,
    LEVEL_STEP,
    NO_TOOLTIP,
    CurvePlot,
    add_bend_points,
    chance_layers,
    chance_records,
    chance_text,
    curve_stroke,
    drawn_points,
    layered_rows,
    line_layer,
    match_rows,
    overlay,
    point_fields,
    points_of_counts,
    records_of,
    row_layer,
    simplified_lines,
    thinned_lines,
)
from rocframe.charts.groups import (
    GROUP_INDEX,
    JOINT,
    MAX_AREAS_IN_PANEL,
    area_text,
    areas_of,
    free_name,
    in_panels,
    metric_channels,
    read_groups,
    with_areas,
)
from rocframe.charts.layer_chart import CURVE_LINE
from rocframe.charts.style import (
    GRAY,
    RATE_FORMAT,
    TIE_KEY,
    json_number,
    json_numbers,
    json_rows,
    level_text,
    tooltip,
    with_key,
)
from rocframe.curves.table import check_ends, curve_layout, read_curves
from rocframe.curves.thinning import BETWEEN
from rocframe.errors import OptionValueError, RepeatedNameError
from rocframe.frames import column
from rocframe.kinds import KINDS, PREVALENCE, Kind
from rocframe.options import check_choice, check_supported, is_text
from rocframe.rates import CONFUSION, COUNT_METRICS, NAMES
from rocframe.schemas import table_of
from rocframe.schemas.curves import GIVEN_THRESHOLDS, METRIC_INTERVALS
from rocframe.schemas.statistics import AUC, FOLD_AUC
from rocframe.schemas.table_type import CURVE_COLUMNS, THRESHOLD
from rocframe.text import format_count, format_interval, join_first, join_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.curve_layers import Lines
    from rocframe.charts.groups import GroupColumn, Groups
    from rocframe.charts.layer_chart import AnyChart
    from rocframe.curves.table import Curves
    from rocframe.curves.thinning import LinePoints
    from rocframe.kernel.arrays import FloatArray
    from rocframe.schemas.table_type import Table

ENDS_HINT = (
    "Compute the curve without thresholds=, and keep all its rows. To draw a part of the axes, use "
    ".roc.chart(x_domain=(0, 0.2)) or y_domain=."
)
OUTSIDE = "all curves lie outside the axes"


def curve_chart(table: pl.DataFrame, _layout: Table, options: ChartOptions) -> AnyChart:
    """Draw the curves of a table with lines of chance, areas and tooltips."""
    by = curve_layout(table.schema, options.by, ()).by
    thresholds = threshold_axes(options)
    kind = chart_kind(table.columns, options) if thresholds is None else thresholds[0]
    curves = curves_of(table, by)
    check_ends(curves, "its chart would be incomplete", ENDS_HINT, gaps=True)
    if thresholds is not None:
        return threshold_chart(curves, table.columns, options, *thresholds)
    axes = (options.x or kind.x, str(options.y or kind.y))
    taken = (*axes, *CONFUSION, PREVALENCE, kind.area)
    groups = read_groups(curves.keys, by, table.columns, options, taken)
    areas = areas_of(curves, kind)
    # The area between given thresholds is unknown, and not shown.
    shown = None if curves.has_gaps.any() else areas
    if groups.one_color is not None:
        groups = groups.with_highlight(_best_values(groups.columns[groups.one_color], areas))
    limits, level = area_limits(options.areas, curves.keys, groups.captioned_column, areas, kind)
    groups, area = with_areas(groups, shown, kind, limits)

    points = drawn_points(curves, kind, areas)
    full = given_titles(curve_plane(kind, points, options.scale), options)
    plane = zoom_plane(full, options)
    if plane.zoomed:
        points = drawn_points(curves, kind, areas, step=LEVEL_STEP * plane.visible_share(full))
    _check_ties(options, kind)

    records = records_of(simplified_lines(plane, points), curves, plane)
    ties = _tie_records(plane, curves, points) if options.ties else []
    groups.name(records)
    groups.name(ties)
    notes = _notes(records, groups.panel, areas, plane)
    cells = [] if shown is None else _panel_areas(records, groups, shown, plane)
    chance = chance_records(plane, records, groups.panel, curves.prevalence)
    area_tooltips = []
    if shown is not None:
        area_tooltips = [tooltip(kind.area, number=RATE_FORMAT)]
        for record in records:
            record[kind.area] = json_number(areas[record[GROUP_INDEX]])
    plot = CurvePlot(
        plane=plane,
        records=records,
        groups=groups,
        overlays=[*ties, *notes, *cells, *(chance if groups.panel else [])],
        fields=(*point_fields(plane), *([BOX] if ties else [])),
    )

    center = groups.side / 2, groups.side * 0.85
    layers = [
        *chance_layers(plane, chance, groups.panel),
        line_layer(plot, **curve_stroke(plot), style=CURVE_LINE),
        row_layer(plot),
        *(_tie_layers(plot) if ties else []),
        # Below the center of an empty panel, where no diagonal crosses the reason.
        *([_panel_text(EMPTY_REASON, *center, fontSize=12).encode(color=GRAY)] if notes else []),
        *([_area_layer(groups.side, kind)] if cells else []),
    ]
    area = " ".join(filter(None, (area, limits.get(""))))
    level = f"brackets: {level} confidence limits" if level else ""
    prevalence = prevalence_text(curves.prevalence, (kind.x, kind.y))
    key = plane.chance.key if plane.chance and options.legend else ""
    return groups.with_titles(
        layered_rows(plot, layers, area_tooltips),
        title=kind.title,
        subtitle=JOINT.join(filter(None, (area, level, prevalence, key))),
        description=[
            f"{plane.name}, {format_count(len(records), 'curve')}: {plane.axis_names}",
            chance_text(plane, of_curves=True),
            plane.zoom_text,
            prevalence.capitalize(),
            groups.captions_text() or area,
            level.capitalize(),
            _tie_text(curves, groups.captioned_column) if options.ties else "",
            f"Nothing is drawn: {OUTSIDE}" if notes and groups.panel is None else "",
        ],
    )


def curves_of(table: pl.DataFrame, by: Sequence[str]) -> Curves:
    """Read the group columns, thresholds, counts and prevalence of a curve table."""
    layout = curve_layout(table.schema, by, ())
    names = [PREVALENCE] * layout.has_prevalence
    names += [*GIVEN_THRESHOLDS] * layout.has_given_thresholds
    narrow = table.select(column(name) for name in (*by, *CURVE_COLUMNS, *names))
    columns = curve_layout(narrow.schema, by, ())
    return read_curves(narrow.select(columns.all_columns), columns)


MAX_HIGHLIGHTED = 5  # of many values, if the user highlights none


def _best_values(column: GroupColumn, areas: Sequence[float]) -> list[str]:
    """Return the values of a column with the largest mean areas, in this order."""
    known: dict[str, list[float]] = {}
    for value, area in zip(column.texts, areas, strict=True):
        if not isnan(area):
            known.setdefault(value, []).append(area)
    return sorted(known, key=lambda value: -fmean(known[value]))[:MAX_HIGHLIGHTED]


AREA_LINE = 13  # height of a line of text in pixels
PANEL_AREA, EMPTY_REASON = "panel area", "empty"
TEXT, TEXT_LINE = "_text", "_line"  # the fields of a text in a panel, and of the number of its line


def _panel_areas(
    records: Sequence[dict[str, Any]], groups: Groups, areas: Sequence[float], plane: Plane
) -> list[dict[str, Any]]:
    """Return records of the areas to write into panels, if no legend or header shows them."""
    panel, color = groups.panel, groups.color
    if groups.captioned_column is not None or panel is None or color is None:
        return []
    by_cell: dict[tuple[str, str], list[float]] = {}
    for record in records:
        cell = by_cell.setdefault((record[panel], record[color]), [])
        cell.append(areas[record[GROUP_INDEX]])
    n_lines = Counter(name for name, _ in by_cell)
    if max(n_lines.values(), default=0) > MAX_AREAS_IN_PANEL:
        return []
    cells = []
    for (name, value), known in by_cell.items():
        line = {TEXT: area_text(known, plane.kind), TEXT_LINE: n_lines[name]}
        n_lines[name] -= 1
        cells.append(_text_record(PANEL_AREA, plane) | {panel: name, color: value} | line)
    return cells


def _area_layer(side: int, kind: Kind) -> alt.Chart:
    """Write the areas of a panel into one of its corners, in the colors of the curves."""
    corner = kind.corner
    is_left = corner.endswith("left")
    align: Literal["left", "right"] = "left" if is_left else "right"
    start = 16 if corner.startswith("upper") else side - 6
    step = AREA_LINE if corner.startswith("upper") else -AREA_LINE
    y = alt.expr(f"{start} + {step} * (datum.{TEXT_LINE} - 1)")
    style: Any = {"align": align, "baseline": "bottom", "fontSize": 11}
    layer: alt.Chart = _panel_text(PANEL_AREA, 4 if is_left else side - 4, y, **style)
    return layer


def _notes(
    records: Sequence[dict[str, Any]], panel: str | None, areas: Sequence[float], plane: Plane
) -> list[dict[str, Any]]:
    """Return the reasons for empty panels; without panels, legends state undefined areas."""
    notes = []
    for panel_records in in_panels(records, panel):
        if any(record[plane.x.name] for record in panel_records):
            continue
        known = [areas[record[GROUP_INDEX]] for record in panel_records]
        text = area_text(known, plane.kind) if all(map(isnan, known)) else OUTSIDE
        if panel is not None or text == OUTSIDE:
            notes.append(panel_records[0] | _text_record(EMPTY_REASON, plane) | {TEXT: text})
    return notes


def _text_record(part: str, plane: Plane) -> dict[str, Any]:
    """Return the record of one text in a panel, which is not a point of a curve."""
    return {LAYER: part, **{name: [None] for name in point_fields(plane)}}


def _panel_text(part: str, x: float, y: Any, **style: Any) -> Any:
    """Write the texts of one part of the records at a place in pixels."""
    text = overlay(part).mark_text(**style)
    return text.encode(x=alt.XValue(x), y=alt.YValue(y), text=f"{TEXT}:N", tooltip=NO_TOOLTIP)


AREA_TOLERANCE = 1e-9  # maximum relative difference of areas that count as equal
COLUMNS_OF_AREAS: dict[Any, str] = {AUC: "auc", FOLD_AUC: "mean_auc", METRIC_INTERVALS: "estimate"}
AREA_HINT = "Pass the result of auc, fold_auc or intervals for the same predictions as the curves."


def area_limits(
    table: object,
    keys: pl.DataFrame,
    entries: GroupColumn | None,
    areas: Sequence[float],
    kind: Kind,
) -> tuple[Mapping[str, str], str]:
    """Return the confidence limits in `table` for each legend entry, and their level, as text.

    The entries are the values of `entries`, or "" without it. Areas in the table that differ from
    `areas`, those of the curves in `keys`, raise an error.
    """
    if table is None:
        return {}, ""
    rows, names, area_column = _area_rows(table, kind)
    row, curve = match_rows(
        "areas", "areas", rows, keys, [name for name in keys.columns if name in names]
    )
    if not len(row):
        raise OptionValueError.compose("areas", rows, "the table has no rows", AREA_HINT)
    entry = pl.Series("entry", [""] * len(areas) if entries is None else entries.texts, pl.String)
    mean = pl.col("mean").fill_nan(None).mean().over("entry")  # of all curves of an entry
    drawn = pl.DataFrame([entry, pl.Series("mean", areas, pl.Float64)]).with_columns(mean)
    matched = rows.select(column(area_column).alias("area"), "lower", "upper")[row]
    matched = matched.hstack(drawn[curve]).with_columns(
        pl.Series("row", row), pl.Series("curve", curve)
    )
    if matched.unique(["row", "curve"]).get_column("curve").is_duplicated().any():
        problem = "the table has more than one row for the same curve"
        raise OptionValueError.compose("areas", rows, problem, AREA_HINT)
    known = matched.drop_nulls("mean").unique(["entry", "row"], maintain_order=True)
    known = known.with_columns(several=pl.col("entry").is_duplicated())
    texts: dict[str, str] = {}
    for one in json_rows(known.to_dict(as_series=False)):
        name, area = one["entry"], one["area"]
        if (
            one["several"]
            or area is None
            or not isclose(area, one["mean"], rel_tol=AREA_TOLERANCE, abs_tol=AREA_TOLERANCE)
        ):
            legend = f"the legend entry {name!r}" if name else "the chart"
            shown = "several rows" if one["several"] else f"the area {area}"
            problem = f"{legend} has the area {one['mean']:.6g}, but the table has {shown} for it"
            hint = f"{AREA_HINT} Use fold_auc for the mean of the areas of several curves."
            raise OptionValueError.compose("areas", rows, problem, hint)
        text = format_interval(one["lower"], one["upper"], 3, brackets=True)
        texts |= {} if text is None else {name: text}
    return texts, level_text(rows.get_column("ci_level")) if texts else ""


def _area_rows(table: object, kind: Kind) -> tuple[pl.DataFrame, tuple[str, ...], str]:
    """Return the areas of curves of a kind, their group columns, and the name of their column."""
    layout = table_of(table.columns) if isinstance(table, pl.DataFrame) else None
    if not isinstance(table, pl.DataFrame) or layout is None or layout.type not in COLUMNS_OF_AREAS:
        problem = "expected a table of areas with confidence limits"
        raise OptionValueError.compose("areas", table, problem, AREA_HINT)
    if layout.type is METRIC_INTERVALS:
        table = table.filter(metric=kind.area)
        if table.is_empty():
            problem = f"the table has no rows with the metric {kind.area!r}"
            hint = f"Use rf.intervals(…, metrics={kind.area!r})."
            raise OptionValueError.compose("areas", table, problem, hint)
    elif kind.area != "auc":
        problem = "the chart has precision-recall curves, but the table has areas of ROC curves"
        hint = 'Use rf.intervals(…, metrics="average_precision").'
        raise OptionValueError.compose("areas", table, problem, hint)
    return table, layout.by, COLUMNS_OF_AREAS[layout.type]


TIE = "tie"  # the value of the field LAYER in the records of ties
BOX = "_box"  # the field of the number of an outline of a tie
TIE_OPACITY = 0.1
MIN_TIE = 1 / 800  # share of an axis; the line of the curve hides a narrower rectangle
# The corners (tp, fp) of the rectangle of a tie: 0 stands for the count before the tie, 1 for the
# count after it. The curve is a diagonal of the rectangle. The sides are the curves if all tied
# positives, or all tied negatives, come first. The first corner is repeated to close the outline.
TIE_CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))


def _check_ties(options: ChartOptions, kind: Kind) -> None:
    """Raise an error if ties cannot be drawn for this kind of curve."""
    axes = f"a chart with x={kind.x!r} and y={kind.y!r}" if kind.free else f"kind={kind.name!r}"
    names = (repr(name) for name, one in KINDS.items() if one.has_ties)
    hint = f"Use kind={' or '.join(names)}, or leave the option out."
    check_supported("ties", options.ties or None, axes, supported=kind.has_ties, hint=hint)


def _tie_text(curves: Curves, captioned: GroupColumn | None) -> str:
    """Return a sentence with the range of each ROC area over all orders of tied rows."""
    _, low, high = areas_of_ties(curves)
    names = [""] * len(low) if captioned is None else captioned.texts
    ranges: dict[str, list[tuple[float, float]]] = {}
    for name, *ends in zip(names, low.tolist(), high.tolist(), strict=True):
        if not isnan(ends[0]):
            ranges.setdefault(name, []).append((ends[0], ends[1]))
    if not ranges:
        return ""
    items = [
        f"{name} {format_interval(fmean(a for a, _ in ends), fmean(b for _, b in ends), 3)}".strip()
        for name, ends in ranges.items()
    ]
    one_curve_each = captioned is None or len(set(captioned.codes)) == len(captioned.codes)
    areas = "areas" if one_curve_each else "mean areas"
    return f"ROC {areas} over all orders of tied rows: {join_first(items)}"


def _tie_records(plane: Plane, curves: Curves, points: LinePoints) -> list[dict[str, Any]]:
    """Return the outlines of ties that are large enough to be visible."""
    tp, fp = (curves.columns[name].astype(np.float64) for name in ("tp", "fp"))
    curve = np.repeat(np.arange(len(curves.firsts)), np.diff(curves.starts))
    is_drawn = np.diff(points.starts) > 0
    same = (curve[1:] == curve[:-1]) & is_drawn[curve[1:]]
    row = np.flatnonzero(same & (tp[1:] > tp[:-1]) & (fp[1:] > fp[:-1]))

    def corners(rows: Any) -> LinePoints:
        """Return the corners of each tie. Each outline counts as a separate curve."""
        n_corners = len(TIE_CORNERS)
        return replace(
            points,
            curve=np.repeat(np.arange(len(rows)), n_corners),
            row=np.full(len(rows) * n_corners, BETWEEN),
            tp=np.stack([tp[rows + up] for up, _ in TIE_CORNERS], 1).ravel(),
            fp=np.stack([fp[rows + across] for _, across in TIE_CORNERS], 1).ravel(),
            pos=points.pos[curve[rows]],
            neg=points.neg[curve[rows]],
        )

    widths = [
        np.ptp(at.reshape(-1, len(TIE_CORNERS)), axis=1) for at in plane.position(corners(row))
    ]
    row = row[np.minimum(*widths) >= MIN_TIE]
    outlines = corners(row)
    if plane.bends:
        outlines = add_bend_points(plane, outlines)
    x, y = (
        np.clip(values, axis.low, axis.high) if axis.excludes_zero else values
        for axis, values in zip((plane.x, plane.y), axis_rates(plane.kind, outlines), strict=True)
    )
    curve_of_point = curve[row][outlines.curve]
    return [
        {
            GROUP_INDEX: i,
            LAYER: TIE,
            BOX: outlines.curve[curve_of_point == i].tolist(),
            plane.x.name: json_numbers(x[curve_of_point == i].tolist()),
            plane.y.name: json_numbers(y[curve_of_point == i].tolist()),
        }
        for i in np.unique(curve_of_point).tolist()
    ]


def _tie_layers(plot: CurvePlot) -> list[Any]:
    """Draw rectangles of ties, with a dotted outline to distinguish them from bands."""
    closed: Any = {"interpolate": "linear-closed", "order": False}
    area = overlay(TIE).mark_line(filled=True, fillOpacity=TIE_OPACITY, strokeWidth=0, **closed)
    outline = with_key(overlay(TIE).mark_line(strokeWidth=1, **closed), TIE_KEY, "tie")
    detail = [*plot.groups.details(), alt.Detail(f"{BOX}:N")]
    return [layer.encode(detail=detail, tooltip=NO_TOOLTIP) for layer in (area, outline)]


MIN_SHARE = 0.5  # if a panel has a smaller share of the range of thresholds, axes are separate
METRIC_COLUMN, VALUE = "metric", "value"
# Options of curve charts that need two metrics as axes.
UNSUPPORTED = {"kind": None, "scale": None, "areas": None, "ties": False}


def threshold_axes(options: ChartOptions) -> tuple[Kind, list[str]] | None:
    """Return the kind and the metrics of a chart with an axis of thresholds, or None."""
    rate = (NAMES | COUNT_METRICS).get(str(options.x))
    is_y = is_text(options.y, THRESHOLD) and rate is not None and bool(rate.monotone)
    if not is_text(options.x, THRESHOLD) and not is_y:
        return None
    for name, default in UNSUPPORTED.items():
        axis = f"{'y' if is_y else 'x'}={THRESHOLD!r}"
        check_supported(name, getattr(options, name), axis, default=default)
    metrics = [str(options.x)] if is_y else _metric_names(options.y)
    x, y = (metrics[0], THRESHOLD) if is_y else (THRESHOLD, metrics[0])
    return Kind(name="", title="", x=x, y=y, chance=None, free=True), metrics


def threshold_chart(
    curves: Curves,
    columns: Sequence[str],
    options: ChartOptions,
    kind: Kind,
    metrics: Sequence[str],
) -> AnyChart:
    """Draw metrics of the rule `score >= threshold` as step functions of the threshold."""
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
        layered_rows(plot, [line_layer(plot, **curve_stroke(plot)), row_layer(plot)]),
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
    """Return the rows once for each of several metrics, with their names as a group column."""
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
    points: LinePoints, threshold: FloatArray
) -> tuple[LinePoints, FloatArray]:
    """Start lines at the highest finite threshold instead of `inf`; this point is not a row."""
    is_start = np.isposinf(threshold[:-1]) & np.isfinite(threshold[1:])
    is_start = np.append(is_start & (points.curve[:-1] == points.curve[1:]), False)
    points = replace(points, row=np.where(is_start, BETWEEN, points.row))
    return points, np.where(is_start, np.append(threshold[1:], np.nan), threshold)


def _narrowest_range(groups: Groups, points: LinePoints, threshold: FloatArray) -> float | None:
    """Return the smallest range of thresholds of all panels, if they need separate axes."""
    if groups.panel is None:
        return None
    # Each curve has a code for each metric. The codes for the first metric come first.
    panel = np.array(groups.columns[groups.panel].codes)[points.curve]
    finite = np.isfinite(threshold)
    ranges = [np.ptp(threshold[finite & (panel == code)]) for code in np.unique(panel[finite])]
    narrowest = float(min((width for width in ranges if width > 0), default=np.inf))
    total = np.ptp(threshold[finite]) if finite.any() else 0.0
    return narrowest if narrowest < MIN_SHARE * total else None


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


def threshold_plane(kind: Kind, threshold: FloatArray, values: Mapping[str, FloatArray]) -> Plane:
    """Return the axes: the range of thresholds at which a metric is defined, and of all metrics."""
    defined = np.isfinite(threshold) & np.any([np.isfinite(y) for y in values.values()], axis=0)
    ends = threshold[defined] if defined.any() else np.array([0.0, 1.0])
    x = free_axis(THRESHOLD, ends)
    y = common_axis(VALUE, [free_axis(name, y) for name, y in values.items()])
    x, y = (y, x) if kind.y == THRESHOLD else (x, y)
    return Plane(kind=kind, x=x, y=y, diagonal=False)


def _step_lines(
    plane: Plane, points: LinePoints, threshold: FloatArray, values: FloatArray
) -> Lines:
    """Return the step lines of one metric: constant from each threshold down to the next one."""
    is_y = plane.kind.y == THRESHOLD
    is_cut = plane.x.zoomed and not is_y
    defined = np.isfinite(values)
    points, threshold, values = points.select(defined), threshold[defined], values[defined]
    last = np.diff(points.curve, append=-1) != 0
    end = np.where(last, threshold, np.append(threshold[1:], 0))
    if is_cut:
        inside = (threshold >= plane.x.low) & (end <= plane.x.high)
        points = points.select(inside)
        threshold, end, values, last = (part[inside] for part in (threshold, end, values, last))
    # Each row has a point at its threshold and, if there is a next row, at the next threshold.
    index = np.repeat(np.arange(len(values)), np.where(last, 1, 2))
    is_row = np.diff(index, prepend=-1) > 0
    x, y = np.where(is_row, threshold[index], end[index]), values[index]
    if is_cut:
        is_row &= (x >= plane.x.low) & (x <= plane.x.high)
        x = np.clip(x, plane.x.low, plane.x.high)
    corners = points.select(index)
    corners = replace(corners, row=np.where(is_row, corners.row, BETWEEN))
    return thinned_lines(plane, corners, *((y, x) if is_y else (x, y)))
