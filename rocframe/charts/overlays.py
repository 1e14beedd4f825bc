"""Overlays of curves: convex hulls, ranges of ties, lines of equal cost, and layers of marks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from json import dumps
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np

from rocframe.areas.area import areas_of_ties
from rocframe.charts.axes import FREE, axis_rates
from rocframe.charts.curve_data import LAYER, add_bend_points
from rocframe.charts.curve_layers import NO_TOOLTIP, overlay, row_tooltips, text_layer
from rocframe.charts.groups import GROUP_INDEX
from rocframe.charts.labels import escape_field, json_numbers, tooltip
from rocframe.charts.marks import (
    LIMITS,
    MARK,
    MARK_NAME,
    MARK_SYMBOLS,
    limit_level,
    limits_field,
    mark_records,
    marked_names,
    named_marks,
    unmarked_text,
)
from rocframe.charts.style import (
    BACKGROUND,
    MAX_SIZE_STEPS,
    MAX_SIZED_GROUPS,
    REFERENCE_COLOR,
    SIZE_RATIO,
    TIE_KEY,
    with_key,
)
from rocframe.curves.thinning import BETWEEN
from rocframe.errors import OptionValueError
from rocframe.options import check_choice, check_flag, check_supported
from rocframe.rates import CONFUSION
from rocframe.schemas.table_type import THRESHOLD
from rocframe.text import format_interval, join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.curve_data import OverlayInput
    from rocframe.charts.curve_layers import CurvePlot
    from rocframe.charts.groups import GroupColumn
    from rocframe.curves.table import Curves

TIE_KINDS = ("roc", "gain", "lift_chart")  # kinds of curves whose ties can be drawn
TIE = "tie"  # the value of the field LAYER in the records of ties
BOX = "_box"  # the field of the number of an outline of a tie
LIMIT_WIDTH = 1.5
MARK_SIZE = 90  # square pixels
TIE_OPACITY = 0.1
MIN_TIE = 1 / 800  # share of an axis; the line of the curve hides a narrower rectangle
# The corners (tp, fp) of the rectangle of a tie: 0 stands for the count before the tie, 1 for the
# count after it. The curve is a diagonal of the rectangle. The sides are the curves if all tied
# positives, or all tied negatives, come first. The first corner is repeated to close the outline.
TIE_CORNERS = ((0, 0), (1, 0), (1, 1), (0, 1), (0, 0))


def overlay_records(inputs: OverlayInput, options: ChartOptions) -> list[dict[str, Any]]:
    """Return the records of all overlays that the options select."""
    check_flag("ties", options.ties)
    kind = inputs.plane.kind
    check_supported(
        "ties",
        options.ties or None,
        f"kind={kind.name!r}"
        if kind.name != FREE
        else f"a chart with x={kind.x!r} and y={kind.y!r}",
        supported=kind.name in TIE_KINDS,
        hint=f"Use kind={' or '.join(map(repr, TIE_KINDS))}, or leave the option out.",
    )
    ties = _tie_outlines(inputs) if options.ties else []
    return [*ties, *mark_records(inputs, options)]


def overlay_texts(
    curves: Curves,
    captioned: GroupColumn | None,
    options: ChartOptions,
    records: Sequence[Mapping[str, Any]],
) -> list[str]:
    """Describe the overlays in sentences, for readers who cannot see the chart."""
    texts = [_tie_text(curves, captioned)] if options.ties else []
    marked = marked_names(options, records)
    if marked:
        names = [name for name in marked if name is not None]
        texts.append(f"Points are marked: {', '.join(names)}" if names else "Points are marked")
        level = limit_level(options)
        if level and any(record[LAYER] == LIMITS for record in records):
            texts.append(f"Bars are {level} confidence limits")
    unmarked = unmarked_text(options, records)
    return [*texts, unmarked[:1].upper() + unmarked[1:]]


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


def _tie_outlines(inputs: OverlayInput) -> list[dict[str, Any]]:
    """Return the outlines of ties that are large enough to be visible."""
    curves, plane = inputs.curves, inputs.plane
    tp, fp = (curves.columns[name].astype(np.float64) for name in ("tp", "fp"))
    curve = inputs.curve
    row = np.flatnonzero(
        (curve[1:] == curve[:-1])
        & (tp[1:] > tp[:-1])
        & (fp[1:] > fp[:-1])
        & inputs.drawn[curve[1:]]
    )
    ends = [
        plane.position(
            replace(
                inputs.line_points, curve=curve[row], row=row, tp=tp[row + up], fp=fp[row + across]
            )
        )
        for up, across in TIE_CORNERS[:4]
    ]
    widths = [np.ptp([corner[axis] for corner in ends], axis=0) for axis in (0, 1)]
    row = row[np.minimum(*widths) >= MIN_TIE]
    corners = [(tp[row + up], fp[row + across]) for up, across in TIE_CORNERS]
    # In these points, each outline counts as a separate curve.
    outlines = replace(
        inputs.line_points,
        curve=np.repeat(np.arange(len(row)), len(TIE_CORNERS)),
        row=np.full(len(row) * len(TIE_CORNERS), BETWEEN),
        tp=np.stack([up for up, _ in corners], 1).ravel(),
        fp=np.stack([across for _, across in corners], 1).ravel(),
        pos=inputs.line_points.pos[curve[row]],
        neg=inputs.line_points.neg[curve[row]],
    )
    if plane.bends:
        outlines = add_bend_points(plane, outlines)
    x, y = axis_rates(plane.kind, outlines)
    if plane.x.excludes_zero:
        x = np.clip(x, plane.x.low, plane.x.high)
    if plane.y.excludes_zero:
        y = np.clip(y, plane.y.low, plane.y.high)
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


def overlay_layers(plot: CurvePlot, options: ChartOptions) -> list[alt.Chart]:
    """Return the layers of the overlays in the records, with areas below lines and points."""
    texts = _text_layers(plot, options)
    if not plot.overlays:
        return []
    names = [name for name in named_marks(options.mark) if name is not None]
    layers = {
        LIMITS: _limit_layer(plot, limit_level(options)),
        MARK: _point_overlay(MARK, size=MARK_SIZE, stroke=BACKGROUND, strokeWidth=1.5, filled=True),
    }
    if names:
        symbols = alt.Scale(domain=names, range=list(MARK_SYMBOLS[: len(names)]))
        legend = alt.Legend(
            title=None, labelLimit=0, symbolSize=MARK_SIZE, symbolFillColor=REFERENCE_COLOR
        )
        layers[MARK] = layers[MARK].encode(
            shape=alt.Shape(f"{MARK_NAME}:N", scale=symbols, legend=legend),
            tooltip=[tooltip(MARK_NAME), *row_tooltips(plot)],
        )
        if _has_nested_marks(plot):
            layers[MARK] = _nested(plot, layers[MARK], names)
    limits = [
        tooltip(limits_field(axis.name), f"{axis.name} limits")
        for axis in (plot.plane.x, plot.plane.y)
        if any(limits_field(axis.name) in record for record in plot.overlays)
    ]
    if limits:
        rows = [*([tooltip(MARK_NAME)] if names else []), *row_tooltips(plot), *limits]
        layers[MARK] = layers[MARK].encode(tooltip=rows)
    present = {record[LAYER] for record in plot.overlays}
    ties = _tie_layers(plot) if TIE in present else []
    return [*ties, *(layer for part, layer in layers.items() if part in present), *texts]


def _text_layers(plot: CurvePlot, options: ChartOptions) -> list[Any]:
    """Write the value of the option `text` beside the marked points."""
    if options.text is None:
        return []
    if options.mark is None:
        hint = 'Use, for example, mark=0.5, text="threshold".'
        raise OptionValueError.compose("text", options.text, "text= requires mark=", hint)
    names = [MARK_NAME] if isinstance(options.mark, Mapping) else []
    axes = plot.plane.x.name, plot.plane.y.name
    names += [THRESHOLD, *axes, *CONFUSION, *plot.groups.table_columns]
    check_choice("text", options.text, dict.fromkeys(names))
    return [text_layer(overlay(MARK), plot.plane, options.text)]


def _has_nested_marks(plot: CurvePlot) -> bool:
    """Return whether the marks need different sizes, because marks of a curve coincide.

    The result is False if more than MAX_SIZED_GROUPS curves have marks.
    """
    x, y = plot.plane.x.name, plot.plane.y.name
    places = [
        (record[GROUP_INDEX], *point)
        for record in plot.overlays
        if record[LAYER] == MARK
        for point in zip(record[x], record[y], strict=True)
    ]
    n_curves = len({curve for curve, *_ in places})
    return n_curves <= MAX_SIZED_GROUPS and len(set(places)) < len(places)


def _nested(plot: CurvePlot, marks: Any, names: Sequence[str]) -> Any:
    """Return the layer with sizes such that all marks of a curve at the same point are visible.

    `names` are the names of marks from bottom to top. A mark is larger than the marks above it.
    """
    return (
        marks.transform_calculate(_order=f"indexof({dumps(names)}, datum.{MARK_NAME})")
        .transform_window(
            _later="row_number()",
            groupby=[*map(escape_field, (*plot.groups.columns, *plot.fields[:2]))],
            sort=[alt.SortField("_order", order="descending")],
        )
        .transform_calculate(
            _size=f"{MARK_SIZE} * pow({SIZE_RATIO}, min({MAX_SIZE_STEPS}, datum._later - 1))"
        )
        .encode(size=alt.Size("_size:Q", scale=None, legend=None))
    )


def _limit_layer(plot: CurvePlot, level: str) -> Any:
    """Draw the limits of marked points as bars; `level` is the text of their confidence level."""
    bars = overlay(LIMITS).mark_line(strokeWidth=LIMIT_WIDTH, order=False)
    bars = with_key(bars, f"{level} confidence limits", "bar", LIMIT_WIDTH) if level else bars
    details = [*plot.groups.details(), alt.Detail(f"{MARK_NAME}:N"), alt.Detail("_bar:N")]
    return bars.encode(detail=details, tooltip=NO_TOOLTIP)


def _tie_layers(plot: CurvePlot) -> list[Any]:
    """Draw rectangles of ties, with a dotted outline to distinguish them from bands."""
    closed: Any = {"interpolate": "linear-closed", "order": False}
    area = overlay(TIE).mark_line(filled=True, fillOpacity=TIE_OPACITY, strokeWidth=0, **closed)
    outline = with_key(overlay(TIE).mark_line(strokeWidth=1, **closed), TIE_KEY, "tie")
    detail = [*plot.groups.details(), alt.Detail(f"{BOX}:N")]
    return [layer.encode(detail=detail, tooltip=NO_TOOLTIP) for layer in (area, outline)]


def _point_overlay(part: str, *, filled: bool = False, **style: Any) -> Any:
    return overlay(part).mark_point(opacity=1, filled=filled, **style)
