"""Panels of a dashboard, and the Vega expressions of their fields."""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.calibration_chart import BIN, LEVEL, LEVEL_END
from rocframe.charts.dashboard.controls import (
    ANGLE,
    COSTS,
    SET_PREVALENCE,
    SIGNAL,
    filter_selected,
    opacity_if_selected,
)
from rocframe.charts.labels import RATE_FORMAT, inline_data, one_row, tooltip
from rocframe.charts.layer_chart import LayerChart
from rocframe.charts.style import BACKGROUND, CHANCE_STROKE, FOREGROUND, GRID, MUTED
from rocframe.rates import CONFUSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocframe.charts.dashboard.controls import InitialValues
    from rocframe.charts.dashboard.data import DashboardData, Slider

# In pixels.
PANEL_WIDTH, LOW_PANEL_HEIGHT = 210, 170
LEGEND_WIDTH, LETTER_WIDTH = 800, 6.6
NUMBER_WIDTH, NAME_WIDTH, ROW_HEIGHT = 53, 150, 24
PANEL_RATES = ("tpr", "fpr", "precision", "accuracy", "alert_rate")
NUMBERS = ("threshold", *CONFUSION, *PANEL_RATES, "expected_cost")
UNDEFINED = "–"
# For each count: the label, the prediction, the rate of the count, and the total of its class.
MATRIX_CELLS = {
    "tp": ("Positive", "Predicted positive", "tpr", "pos"),
    "fn": ("Positive", "Predicted negative", "fnr", "pos"),
    "fp": ("Negative", "Predicted positive", "fpr", "neg"),
    "tn": ("Negative", "Predicted negative", "tnr", "neg"),
}
POSITIVE_BARS = {"color": FOREGROUND, "opacity": 0.85}
NEGATIVE_BARS = {"color": MUTED, "opacity": 0.6}

# The prevalence of the slider or, if the slider is at 0, of the curve.
PREVALENCE_OF_CURVE = (
    f"{SET_PREVALENCE} > 0 ? {SET_PREVALENCE} : datum.pos / (datum.pos + datum.neg)"
)
# The row that is shown has row_threshold >= t > next_threshold, where t is the threshold of the
# slider.
AT_THRESHOLD = f"datum.row_threshold >= {SIGNAL} && datum.next_threshold < {SIGNAL}"
# Excludes interpolated points and repeated thresholds.
IS_ROW = "datum.next_threshold < datum.row_threshold"
SHORT_DIGITS, LONG_DIGITS = 4, 7  # of thresholds in narrow columns, and in tooltips
# The threshold of the slider, limited to the range of the score axis.
CLAMPED = f"clamp({SIGNAL}, datum.first, datum.last)"


def row_thresholds(slider: Slider) -> dict[str, str]:
    """Return Vega expressions of the threshold of a row, as a number and as a slider value."""
    return {
        "row_threshold": "isValid(datum.threshold) ? datum.threshold : MAX_VALUE",
        ANGLE: f"isValid(datum.threshold) ? datum.threshold : {slider.top!r}",
    }


def row_rates(initial: InitialValues) -> dict[str, str]:
    """Return Vega expressions of the rates and costs of a point, in order of computation.

    `precision` is null if no row is predicted positive. `line_precision`, the field that is drawn,
    is the precision of the next point in this case.
    """
    next_alerts = (
        "(datum.pi * datum.tp_next / datum.pos + (1 - datum.pi) * datum.fp_next / datum.neg)"
    )
    return {
        "next_threshold": "isValid(datum.next_threshold) ? datum.next_threshold : -MAX_VALUE",
        "fn": "datum.pos - datum.tp",
        "tn": "datum.neg - datum.fp",
        "tpr": "datum.tp / datum.pos",
        "fpr": "datum.fp / datum.neg",
        "pi": PREVALENCE_OF_CURVE,
        "alert_rate": "datum.pi * datum.tpr + (1 - datum.pi) * datum.fpr",
        "precision": _ratio_expression("datum.pi * datum.tpr", "datum.alert_rate"),
        "line_precision": "datum.alert_rate > 0 ? datum.precision : "
        + _ratio_expression("datum.pi * datum.tp_next / datum.pos", next_alerts),
        "accuracy": "datum.pi * datum.tpr + (1 - datum.pi) * (1 - datum.fpr)",
        "fp_cost": f"{initial.fn!r} * {COSTS}",
        "expected_cost": f"datum.pi * (1 - datum.tpr) * {initial.fn!r}"
        " + (1 - datum.pi) * datum.fpr * datum.fp_cost",
        "slope": f"(1 - datum.pi) * datum.fp_cost / (datum.pi * {initial.fn!r})",
    }


def _ratio_expression(numerator: str, denominator: str) -> str:
    return f"({denominator} > 0 ? {numerator} / {denominator} : null)"


def _threshold_text(digits: int) -> str:
    """Return a Vega expression of the threshold of a row with this number of digits."""
    number = f"format(datum.row_threshold, '.{digits}~g')"
    return f"datum.row_threshold == MAX_VALUE ? 'inf' : {number}"


def number_texts(data: DashboardData) -> dict[str, str]:
    """Return Vega expressions that format the numbers of a row as text."""
    number = "isValid(datum.{0}) ? format(datum.{0}, '{1}') : '" + UNDEFINED + "'"
    return {
        "threshold_text": _threshold_text(LONG_DIGITS),
        "description": "datum.label + ': threshold ' + datum.threshold_text",
        **{f"{name}_text": f"format(datum.{name}, '{_count_format(data)}')" for name in CONFUSION},
        **{f"{name}_text": number.format(name, ".3f") for name in PANEL_RATES},
        "expected_cost_text": number.format("expected_cost", ".4~g"),
    }


# False positives are weighted by the odds of the threshold of the slider, not of the row, so that
# the weight is the same for all curves. Scores that are not probabilities have no odds.
NET_BENEFIT = {
    "net_benefit": "!datum.unit ? null : datum.row_threshold == MAX_VALUE ? 0"
    f" : {SIGNAL} >= 0 && {SIGNAL} < 1"
    f" ? datum.pi * datum.tpr - (1 - datum.pi) * datum.fpr * {SIGNAL} / (1 - {SIGNAL}) : null",
    "net_benefit_text": "isValid(datum.net_benefit) ? format(datum.net_benefit, '.4~g') : '"
    + UNDEFINED
    + "'",
}


def _count_format(data: DashboardData) -> str:
    return "," if data.integer_counts else ",.2~f"


@dataclass(frozen=True, slots=True, kw_only=True)
class RatePanel:
    """A panel of two rates; `x` and `y` are the field and the title of each axis."""

    name: str
    title: str
    subtitle: str
    x: tuple[str, str]
    y: tuple[str, str]


RATE_PANELS = (
    RatePanel(
        name="roc",
        title="ROC",
        subtitle="ring: lowest cost of all shown curves",
        x=("fpr", "False positive rate"),
        y=("tpr", "True positive rate"),
    ),
    RatePanel(
        name="precision_recall",
        title="Precision-recall",
        subtitle="dashed line: share of positives",
        x=("tpr", "Recall"),
        y=("line_precision", "Precision"),
    ),
    RatePanel(
        name="gain",
        title="Gain",
        subtitle="dashed line: chance",
        x=("alert_rate", "Alert rate"),
        y=("tpr", "True positive rate"),
    ),
)


def rate_panel(data: DashboardData, panel: RatePanel, titles: Mapping[str, str]) -> alt.LayerChart:
    """Draw two rates of all curves, with a point on each curve at the threshold.

    `titles` are titles of rates that differ from those of the panel.
    """
    x_title, y_title = (titles.get(name, title) for name, title in (panel.x, panel.y))
    x = alt.X(f"{panel.x[0]}:Q", title=x_title, **_rate_axis())
    y = alt.Y(f"{panel.y[0]}:Q", title=y_title, **_rate_axis())
    color = _color(data)
    line = (
        alt.Chart(name=f"{panel.name}_lines")
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=y,
            order=alt.Order("step:Q"),
            detail=alt.Detail("curve:N"),
            color=color,
            opacity=opacity_if_selected(data, 0.1),
        )
    )
    # The tooltip of a Voronoi cell contains a property of the mark of the point instead of a field
    # of the data row. `description` is the name of such a property and of a field, so that tooltips
    # of cells and of points have the same text.
    texts: dict[str, Any] = {
        "description": alt.Description("description:N"),
        "tooltip": alt.Tooltip("description:N"),
    }
    row_points = filter_selected(
        alt.Chart(name=f"{panel.name}_points")
        .mark_point(filled=True, size=30, opacity=0)
        .transform_filter(IS_ROW)
        .encode(x=x, y=y, angle=alt.Angle(f"{ANGLE}:Q", scale=None), **texts),
        data,
    )
    current_points = filter_selected(
        alt.Chart()
        .mark_point(filled=True, size=110, opacity=1, stroke=BACKGROUND, strokeWidth=1.5)
        .transform_filter(AT_THRESHOLD)
        .encode(x=x, y=y, color=color),
        data,
    )
    # The curves are the first layer, because Vega-Lite uses the axes of the first layer.
    cost_layers = _lowest_cost_layers(data, x, y) if panel.name == "roc" else []
    return LayerChart(
        layer=[line, _chance(panel.name), *cost_layers, current_points, row_points],
        width=PANEL_WIDTH,
        height=PANEL_WIDTH,
        title=_title(panel.title, panel.subtitle),
    )


def _title(title: str, subtitle: str, offset: float = 4) -> alt.Title:
    sizes: dict[str, Any] = {"fontSize": 13, "subtitleFontSize": 11, "offset": offset}
    return alt.Title(
        title, subtitle=subtitle, anchor="start", frame="group", subtitleColor=MUTED, **sizes
    )


def _rate_axis() -> dict[str, Any]:
    return {
        "scale": alt.Scale(domain=[0, 1]),
        "axis": alt.Axis(tickCount=5, gridColor=GRID, labelFlush=False),
    }


def _color(data: DashboardData) -> Any:
    """Return the color channel of the curves; the legend selects curves."""
    groups = data.groups
    if groups.color is None:
        return groups.color_channel()
    column = groups.columns[groups.color]
    longest = max(len(groups.captions.get(value, value)) for value in column.values)
    columns = int(LEGEND_WIDTH / (LETTER_WIDTH * longest + 40))
    return groups.color_channel(
        title=f"{column.title} (click: select one, shift-click: select several)",
        titleLimit=0,
        orient="top",
        columns=max(1, min(len(column.values), columns)),
        symbolType="stroke",
        symbolSize=200,
        symbolStrokeWidth=3,
        symbolOpacity=alt.Undefined,
    )


def _chance(name: str) -> Any:
    if name == "precision_recall":
        level = alt.Chart().mark_rule(**CHANCE_STROKE).transform_aggregate(groupby=["pi"])
        return level.encode(y=alt.Y("pi:Q"))
    return _diagonal()


def _diagonal() -> Any:
    ends = {"x": alt.XDatum(0), "y": alt.YDatum(0), "x2": alt.X2Datum(1), "y2": alt.Y2Datum(1)}
    return one_row().mark_rule(**CHANCE_STROKE).encode(**ends)


def _lowest_cost_layers(data: DashboardData, x: alt.X, y: alt.Y) -> list[Any]:
    """Draw a line, a ring and a text for the row with the lowest expected cost of shown curves.

    If several rows have this cost, the ring is on the first curve with such a row, at the row with
    the highest threshold. The line contains all ROC points with this expected cost.
    """
    sort = [alt.SortField(field) for field in ("expected_cost", "curve", "step")]
    name = "datum.name, " if data.groups.columns else ""
    lowest: Any = (
        filter_selected(alt.Chart().transform_filter(IS_ROW), data)
        .transform_window(position="row_number()", sort=sort)
        .transform_filter("datum.position == 1")
        .transform_calculate(
            left="0",
            right="1",
            at_left="datum.tpr - datum.slope * datum.fpr",
            at_right="datum.tpr + datum.slope * (1 - datum.fpr)",
            lowest_text=f"['Lowest cost:', {name}'score ≥ ' + ({_threshold_text(SHORT_DIGITS)})]",
            lowest_label="'lowest cost of ' + datum.label + ' at ' + datum.threshold_text",
        )
    )
    line = lowest.mark_rule(color=MUTED, strokeWidth=1.2, clip=True).encode(
        x=alt.X("left:Q"), x2=alt.X2("right:Q"), y=alt.Y("at_left:Q"), y2=alt.Y2("at_right:Q")
    )
    ring = lowest.mark_point(size=200, filled=False, color=FOREGROUND, strokeWidth=1.5, opacity=1)
    text = lowest.mark_text(fontSize=11, color=MUTED, align="right", baseline="top")
    corner = {"x": alt.XValue(PANEL_WIDTH - 6), "y": alt.YValue(PANEL_WIDTH - 56)}
    label = alt.Description("lowest_label:N")
    return [
        line,
        ring.encode(x=x, y=y, description=label, tooltip=[]),
        text.encode(**corner, text=alt.Text("lowest_text:N"), tooltip=[]),
    ]


def _first_curve(chart: Any, data: DashboardData) -> Any:
    """Return the chart with only the first of the selected curves."""
    sort = [alt.SortField("curve")]
    return (
        filter_selected(chart, data)
        .transform_window(position="dense_rank()", sort=sort, ignorePeers=False)
        .transform_filter("datum.position == 1")
    )


def _curve_name(rows: Any) -> Any:
    """Draw the name of a curve in the lower right corner of a panel."""
    limit = PANEL_WIDTH / 2 - 24
    text = rows.mark_text(fontSize=11, color=MUTED, align="right", limit=limit)
    x, y = alt.XValue(PANEL_WIDTH), alt.YValue(LOW_PANEL_HEIGHT + 29)
    return text.encode(x=x, y=y, text=alt.Text("label:N"), tooltip=[])


def score_panel(data: DashboardData) -> alt.LayerChart:
    """Draw the distribution of the scores: positives above the axis, negatives below it."""
    bins = _first_curve(alt.Chart(), data).transform_calculate(
        up="datum.bin_pos / datum.pos", down="-datum.bin_neg / datum.neg"
    )
    axis = alt.Axis(tickCount=5, grid=False)
    x = alt.X("left:Q", title="Score", scale=alt.Scale(nice=False, zero=False), axis=axis)
    share = alt.Axis(tickCount=5, gridColor=GRID, labelExpr="format(abs(datum.value), '.2~f')")
    y: dict[str, Any] = {"title": "Share: negatives | positives", "axis": share}
    rows = _bin_tooltips(data)
    bars = [
        bins.mark_rect(**color, stroke=BACKGROUND, strokeWidth=0.5)
        .encode(
            x=x, x2=alt.X2("right:Q"), y=alt.Y(f"{field}:Q", **y), y2=alt.Y2Datum(0), tooltip=rows
        )
        .properties(name=f"scores_{side}")
        for field, side, color in (
            ("up", "positives", POSITIVE_BARS),
            ("down", "negatives", NEGATIVE_BARS),
        )
    ]
    threshold = _threshold(_first_curve(alt.Chart(), data))
    cover = threshold.mark_rect(color=BACKGROUND, opacity=0.6)
    cover = cover.encode(x=alt.X("first:Q"), x2=alt.X2("clamped:Q"), tooltip=[])
    rule = threshold.mark_rule(color=FOREGROUND, strokeWidth=1.5).encode(x=alt.X("clamped:Q"))
    # The bars below the cover get no pointer events, so invisible bars above it show the tooltips.
    hover_bins = _first_curve(alt.Chart(), data).mark_rect(opacity=0)
    hover_bins = hover_bins.encode(x=x, x2=alt.X2("right:Q"), tooltip=rows).properties(
        name="scores_bins"
    )
    layers = [*bars, cover, rule, hover_bins]
    if len(data.records) > 1:
        first_bin = _first_curve(alt.Chart(), data).transform_filter("datum.bin == 0")
        layers.append(_curve_name(first_bin))
    return LayerChart(
        data=inline_data(data.bins),
        layer=layers,
        width=PANEL_WIDTH,
        height=LOW_PANEL_HEIGHT,
        title=_title("Scores of each class", "faded: predicted negative", offset=10),
    )


def event_panel(data: DashboardData) -> alt.LayerChart:
    """Draw the share of positives in each bin, at the prevalence of the slider."""
    bins = _event_curves(alt.Chart(), data).transform_calculate(
        pi=PREVALENCE_OF_CURVE,
        middle="(datum.left + datum.right) / 2",
        event_rate=_rate_at_prevalence("datum.bin_pos", "datum.bin_neg"),
    )
    scale = alt.Scale(domain=[0, 1]) if data.unit_scores else alt.Scale(nice=False, zero=False)
    axis = alt.Axis(tickCount=5, grid=False)
    across: dict[str, Any] = {"title": "Score", "scale": scale, "axis": axis}
    x, y = alt.X("middle:Q", **across), alt.Y("event_rate:Q", title="Event rate", **_rate_axis())
    line = bins.mark_line(strokeWidth=1.5).encode(
        x=x, y=y, order=alt.Order("bin:Q"), detail=alt.Detail("curve:N"), color=_color(data)
    )
    points = bins.mark_point(filled=True, size=30, opacity=1).encode(
        x=x, y=y, color=_color(data), tooltip=_bin_tooltips(data)
    )
    rule = _threshold(_event_curves(alt.Chart(), data)).mark_rule(color=FOREGROUND, strokeWidth=1.5)
    # Points are in the middle of a bin. Invisible marks extend the axis to the ends of outer bins.
    extent = bins.mark_rule(opacity=0).encode(
        x=alt.X("left:Q", **across), x2=alt.X2("right:Q"), y=y
    )
    layers = [
        extent,
        *([_diagonal()] if data.unit_scores else []),
        line,
        rule.encode(x=alt.X("clamped:Q")),
        points.properties(name="events_points"),
    ]
    if _has_one_event_curve(data):
        layers.append(_curve_name(bins.transform_filter("datum.bin == 0")))
    return LayerChart(
        data=inline_data(data.bins),
        layer=layers,
        width=PANEL_WIDTH,
        height=LOW_PANEL_HEIGHT,
        title=_title("Event rate by score", "share of positives in each bin"),
    )


# The fields of event rates and their limits at the prevalence of the slider, and those in the data.
CONVERTED = {"rate": "y", "rate_low": "y_low", "rate_high": "y_high"}


def calibration_panel(data: DashboardData) -> alt.LayerChart:
    """Draw the event rates of the table of `calibration`, at the prevalence of the slider."""
    points = filter_selected(alt.Chart(), data).transform_calculate(
        pi=PREVALENCE_OF_CURVE,
        # Vega would convert a rate again if the result had the same name.
        **{name: _converted_rate(f"datum.{source}") for name, source in CONVERTED.items()},
    )
    axis = alt.Axis(tickCount=5, grid=False)
    across: dict[str, Any] = {"title": "Score", "scale": alt.Scale(domain=[0, 1]), "axis": axis}
    x = alt.X("x:Q", **across)
    y, low = (
        alt.Y(f"{name}:Q", title="Event rate", **_rate_axis()) for name in ("rate", "rate_low")
    )
    bins = points.transform_filter(f"datum.part === '{BIN}'")
    limits = bins.transform_filter("isValid(datum.y_low)").mark_rule(opacity=0.5, strokeWidth=1.5)
    line = points.transform_filter(f"datum.part !== '{LEVEL}'").mark_line(strokeWidth=1.5)
    is_bin = {"test": f"datum.part === '{BIN}'", "value": 1}
    marks = points.transform_filter(f"datum.part !== '{LEVEL_END}'").mark_point(
        filled=True, size=30
    )
    rule = one_row().transform_calculate(clamped=f"clamp({SIGNAL}, 0, 1)")
    layers = [
        _diagonal(),
        limits.encode(x=x, y=low, y2=alt.Y2("rate_high:Q"), color=_color(data)),
        line.encode(
            x=x, y=y, order=alt.Order("order:Q"), detail=alt.Detail("curve:N"), color=_color(data)
        ),
        rule.mark_rule(color=FOREGROUND, strokeWidth=1.5).encode(x=alt.X("clamped:Q")),
        marks.encode(
            x=x,
            y=y,
            color=_color(data),
            opacity=alt.OpacityValue(0, condition=is_bin),
            tooltip=_calibration_tooltips(),
        ).properties(name="events_points"),
    ]
    return LayerChart(
        data=inline_data(data.calibration),
        layer=layers,
        width=PANEL_WIDTH,
        height=LOW_PANEL_HEIGHT,
        title=_title("Calibration", "share of positives by score", offset=8),
    )


def _rate_at_prevalence(pos: str, neg: str) -> str:
    """Return a Vega expression of the event rate at the prevalence of the slider.

    `pos` and `neg` are expressions of the numbers, or of the shares, of positives and negatives.
    """
    up, down = f"datum.pi * {pos} / datum.pos", f"(1 - datum.pi) * {neg} / datum.neg"
    return f"{up} + {down} > 0 ? {up} / ({up} + {down}) : null"


def _converted_rate(rate: str) -> str:
    """Return a Vega expression of a rate at the prevalence of the slider; null if it is null."""
    return f"isValid({rate}) ? ({_rate_at_prevalence(rate, f'(1 - {rate})')}) : null"


def _calibration_tooltips() -> list[alt.Tooltip]:
    fields = {"rate": "event_rate", "rate_low": "lower", "rate_high": "upper"}
    return [
        tooltip("label", "curve"),
        tooltip("x", "score_mean", RATE_FORMAT),
        *(tooltip(name, title, RATE_FORMAT) for name, title in fields.items()),
        tooltip("n", "n", ","),
    ]


def _has_one_event_curve(data: DashboardData) -> bool:
    """Return whether event rates are shown for one curve only, because of different score scales.

    This is the case if there are several curves and some scores are outside [0, 1].
    """
    return not data.unit_scores and len(data.records) > 1


def _event_curves(chart: Any, data: DashboardData) -> Any:
    return _first_curve(chart, data) if _has_one_event_curve(data) else filter_selected(chart, data)


def _threshold(bins: Any) -> Any:
    """Return a layer of one row with the slider threshold, limited to the range of the bins."""
    ends = bins.transform_aggregate(first="min(left)", last="max(right)")
    return ends.transform_filter("isValid(datum.first)").transform_calculate(clamped=CLAMPED)


def _bin_tooltips(data: DashboardData) -> list[alt.Tooltip]:
    count = _count_format(data)
    return [
        tooltip("label", "curve"),
        tooltip("scores"),
        tooltip("bin_pos", "positives", count),
        tooltip("bin_neg", "negatives", count),
    ]


def matrix_panel(data: DashboardData) -> alt.LayerChart:
    """Draw the confusion matrix of the first curve; darker cells are larger shares of a class."""
    first = _first_curve(alt.Chart().transform_filter(AT_THRESHOLD), data)
    cells: Any = first.transform_fold(list(CONFUSION), as_=["cell", "count"]).transform_calculate(
        true_class=_cell_property(0),
        prediction=_cell_property(1),
        class_total=f"datum[{_cell_property(3)}]",
        share="datum.count / datum.class_total",
        count_text="datum[datum.cell + '_text']",
        share_text=f"{_cell_property(2)} + ' ' + format(datum.share, '.3f')",
        cell_text="datum.cell + ' ' + datum.count_text",
    )
    plain: dict[str, Any] = {"domain": False, "ticks": False}
    x = alt.X(
        "prediction:N",
        title=None,
        sort=["Predicted positive", "Predicted negative"],
        axis=alt.Axis(labelAngle=0, labelFontSize=10, **plain),
    )
    y = alt.Y(
        "true_class:N",
        title="Label",
        sort=["Positive", "Negative"],
        axis=alt.Axis(labelAngle=-90, labelAlign="center", **plain),
    )
    opacity = alt.Scale(domain=[0, 1], range=[0.06, 0.55])
    shade = cells.mark_rect(stroke=BACKGROUND, strokeWidth=3).encode(
        x=x,
        y=y,
        color=_color(data),
        opacity=alt.Opacity("share:Q", scale=opacity, legend=None),
        tooltip=[],
    )
    count = cells.mark_text(fontSize=20, fontWeight="bold", dy=-6, color=FOREGROUND).encode(
        x=x, y=y, text=alt.Text("count_text:N"), description=alt.Description("cell_text:N")
    )
    share = cells.mark_text(fontSize=12, dy=14, color=FOREGROUND).encode(
        x=x, y=y, text=alt.Text("share_text:N"), description=alt.Description("share_text:N")
    )
    layers = [shade, count.properties(name="matrix"), share]
    if len(data.records) > 1:
        layers.append(_curve_name(first))
    return LayerChart(
        layer=layers,
        width=PANEL_WIDTH,
        height=LOW_PANEL_HEIGHT,
        title=_title("Confusion matrix", "color strength: share of the class", offset=8),
    )


def _cell_property(position: int) -> str:
    """Return a Vega expression of the item at `position` in `MATRIX_CELLS`, for `datum.cell`."""
    return f"{dumps({cell: values[position] for cell, values in MATRIX_CELLS.items()})}[datum.cell]"


def numbers_panel(data: DashboardData, initial: InitialValues) -> alt.LayerChart:
    """Draw a row of numbers for each curve, at the threshold."""
    rows = alt.Chart().transform_filter(AT_THRESHOLD)
    rows = rows.transform_calculate(threshold_text=_threshold_text(SHORT_DIGITS))
    numbers = list(NUMBERS)
    if any(record["unit"] for record in data.records):
        numbers.append("net_benefit")
        rows = rows.transform_calculate(**NET_BENEFIT)
    names = [record["curve"] for record in data.records]
    longest = max((len(record["name"]) for record in data.records), default=0)
    left = min(30 + LETTER_WIDTH * longest, NAME_WIDTH) if data.groups.columns else 0
    width = left + NUMBER_WIDTH * len(numbers)
    axis = alt.Axis(
        orient="top",
        labelAngle=0,
        labelAlign="right",
        labelOffset=NUMBER_WIDTH / 2 - 2,
        labelLimit=NUMBER_WIDTH + 20,
        labelFontSize=10,
        labelExpr="split(datum.label, '_')",  # a line for each word
        labelPadding=15,
        domainColor=GRID,
        ticks=False,
    )
    x_scale = alt.Scale(domain=numbers, padding=0.5, range=[left, width])
    x = alt.X("number:N", sort=numbers, scale=x_scale, title=None, axis=axis)
    y = alt.Y("curve:O", axis=None, scale=alt.Scale(domain=names, padding=0.5))
    opacity = opacity_if_selected(data, 0.25)
    fields: list[Any] = [f"{name}_text" for name in numbers]
    values: Any = (
        rows.transform_fold(fields, as_=["field", "text"])
        .transform_calculate(
            number="replace(datum.field, '_text', '')",
            sentence="datum.label + ': ' + datum.number + ' ' + datum.text",
        )
        .mark_text(align="right", dx=NUMBER_WIDTH / 2 - 2, fontSize=11, color=FOREGROUND)
        .encode(
            x=x,
            y=y,
            text=alt.Text("text:N"),
            description=alt.Description("sentence:N"),
            opacity=opacity,
        )
        .properties(name="numbers")
    )
    layers = [values]
    if data.groups.columns:
        symbol = rows.mark_point(filled=True, shape="square", size=70, opacity=1)
        name = rows.mark_text(align="left", fontSize=12, limit=max(left - 28, 0), color=FOREGROUND)
        layers += [
            symbol.encode(x=alt.XValue(6), y=y, color=_color(data), tooltip=[]),
            name.encode(
                x=alt.XValue(18),
                y=y,
                text=alt.Text("name:N"),
                description=alt.Description("label:N"),
                opacity=opacity,
                tooltip=alt.Tooltip("label:N"),
            ),
        ]
    return LayerChart(
        layer=layers,
        width=width,
        view=alt.ViewBackground(stroke=None),
        height=ROW_HEIGHT * max(len(names), 1),
        title=alt.Title(
            alt.ExprRef(_settings(initial)),
            subtitle="threshold: lowest score of the curve that is not below the slider",
            anchor="start",
            fontSize=13,
            subtitleColor=MUTED,
        ),
    )


def _settings(initial: InitialValues) -> str:
    """Return a Vega expression of a text with the threshold, the prevalence and the costs."""
    prevalence = f"'prevalence ' + format({SET_PREVALENCE}, '.4~g')"
    parts = [
        f"'Numbers at score ≥ ' + format({SIGNAL}, '.4~g')",
        f"({SET_PREVALENCE} > 0 ? {prevalence} : 'prevalence as in the data')",
        f"'cost of a false positive ' + format({initial.fn!r} * {COSTS}, '.4~g')",
        f"'of a false negative {initial.fn:.4g}'",
    ]
    return " + ' · ' + ".join(parts)
