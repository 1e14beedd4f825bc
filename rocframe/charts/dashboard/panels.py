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
    MODE,
    MODES,
    RATE_FIELD,
    RATE_SIGNAL,
    SCORE_MODE,
    SET_PREVALENCE,
    SIGNAL,
    filter_segments,
    filter_selected,
    opacity_if_selected,
)
from rocframe.charts.labels import RATE_FORMAT, inline_data, one_row, tooltip
from rocframe.charts.layer_chart import LayerChart
from rocframe.charts.style import BACKGROUND, CHANCE_STROKE, FOREGROUND, GRID, MUTED
from rocframe.rates import CONFUSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocframe.charts.dashboard.data import DashboardData

# In pixels.
PANEL_WIDTH, LOW_PANEL_HEIGHT = 210, 170
LEGEND_WIDTH, LETTER_WIDTH = 800, 6.6
NUMBER_WIDTH, NAME_WIDTH, ROW_HEIGHT = 54, 150, 24
PANEL_RATES = ("tpr", "fpr", "precision", "accuracy", "alert_rate")
NUMBERS = ("threshold", *CONFUSION, *PANEL_RATES, "expected_cost")
UNDEFINED, NO_ALERTS = "–", "no row"
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
# Excludes interpolated points and repeated thresholds.
IS_ROW = "datum.next_threshold < datum.row_threshold"
SHORT_DIGITS, LONG_DIGITS = 4, 7  # of thresholds in narrow columns, and in tooltips
ROUNDING = 1e-9  # rates that differ by less are equal


def table_transform(data: DashboardData) -> list[Any]:
    """Return the transform of the records of rows to one row per curve: that of the sliders.

    The rows of a curve are an array. A bisection finds the last row that is not beyond the slider:
    with `score >= threshold`, or with a rate that is not above the slider. The row after the last
    one with a lower recall is the first with this recall.
    """
    heads = [name for name in (data.rows[0] if data.rows else ()) if name not in ARRAYS]
    longest = max((record["t"].count(",") for record in data.rows), default=0)
    at = "datum.rows[{}]"
    steps, previous = {"above_all": f"{MODE} == 'tpr' ? -1 : 0"}, "above_all"
    for power in reversed(range((longest + 1).bit_length())):
        index = f"(datum.{previous} + {1 << power})"
        row = at.format(index)
        test = (
            f"{MODE} == '{SCORE_MODE}' ? {row}.t >= {SIGNAL}"
            f" : datum.a * {row}.tp + datum.b * {row}.fp <= datum.most"
        )
        name = f"below_{power}"
        steps[name] = f"{index} < length(datum.rows) && ({test}) ? {index} : datum.{previous}"
        previous = name
    last = f"min(datum.{previous} + ({MODE} == 'tpr' ? 1 : 0), length(datum.rows) - 1)"
    return [
        *_calculate({name: f"split(datum.{name}, ',')" for name in ARRAYS}),
        {"flatten": list(ARRAYS)},
        *_calculate(
            {
                "t": "toNumber(datum.t)",
                "parts": "split(datum.increases, '/')",
                "tp": "toNumber(datum.parts[0]) || 0",
                "fp": "datum.increases === '' ? 1 : toNumber(datum.parts[1]) || 0",
            }
        ),
        {
            "window": [{"op": "sum", "field": name, "as": name} for name in ("tp", "fp")],
            "groupby": ["curve"],
        },
        {"aggregate": [{"op": "values", "as": "rows"}], "groupby": heads},
        *_calculate(
            {
                "pi": PREVALENCE_OF_CURVE,
                "a": f"({MODE} == 'alert_rate' ? datum.pi : {MODE} == 'tpr' ? 1 : 0) / datum.pos",
                "b": f"({MODE} == 'alert_rate' ? 1 - datum.pi : {MODE} == 'fpr' ? 1 : 0)"
                " / datum.neg",
                "most": f"{RATE_SIGNAL} + ({MODE} == 'tpr' ? -1 : 1) * {ROUNDING!r}",
                **steps,
                "row": at.format(last),
                "row_threshold": "min(datum.row.t, MAX_VALUE)",
                "cut": f"{MODE} == '{SCORE_MODE}' ? {SIGNAL}"
                f" : min(datum.row_threshold, {data.slider.top!r})",
                "tp": "datum.row.tp",
                "fp": "datum.row.fp",
                **RATES_OF_ROW,
                **NET_BENEFIT,
            }
            | _number_texts(data)
        ),
    ]


def line_transform(data: DashboardData) -> list[Any]:
    """Return the transform of the records of lines to one row per point."""
    names = {"row_threshold": "next_threshold", "tp": "tp_next", "fp": "fp_next"}
    lead = [{"op": "lead", "field": field, "as": name} for field, name in names.items()]
    next_alerts = (
        "(datum.pi * datum.tp_next / datum.pos + (1 - datum.pi) * datum.fp_next / datum.neg)"
    )
    text = "' · {} ' + format(datum.{}, '{}')"
    rates = {"tpr": "true positive rate", "fpr": "false positive rate", "alert_rate": "alert rate"}
    return [
        {"flatten": ["threshold", "tp", "fp"]},
        {"window": [{"op": "row_number", "as": "step"}], "groupby": ["curve"]},
        *_calculate(
            {
                "row_threshold": "isValid(datum.threshold) ? datum.threshold : MAX_VALUE",
                ANGLE: f"isValid(datum.threshold) ? datum.threshold : {data.slider.top!r}",
            }
        ),
        {"window": lead, "groupby": ["curve"], "sort": [{"field": "step"}]},
        *_calculate(
            {
                "next_threshold": "isValid(datum.next_threshold)"
                " ? datum.next_threshold : -MAX_VALUE",
                "pi": PREVALENCE_OF_CURVE,
                **RATES_OF_ROW,
                # The precision of the next point, if no row is predicted positive.
                "line_precision": "datum.alert_rate > 0 ? datum.precision : "
                + _ratio_expression("datum.pi * datum.tp_next / datum.pos", next_alerts),
                "slope": "(1 - datum.pi) * datum.fp_cost / (datum.pi * datum.fn_cost)",
                RATE_FIELD: f"{MODE} == 'fpr' ? datum.fpr : {MODE} == 'tpr' ? datum.tpr"
                " : datum.alert_rate",
                "tooltip": f"datum.label + ': ' + ({_threshold_text(LONG_DIGITS)})"
                + "".join(f" + {text.format(rates[name], name, RATE_FORMAT)}" for name in rates),
            }
        ),
    ]


def _calculate(fields: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"calculate": value, "as": name} for name, value in fields.items()]


ARRAYS = ("t", "increases")  # the fields of a record of rows with a value for each row


def _ratio_expression(numerator: str, denominator: str) -> str:
    return f"({denominator} > 0 ? {numerator} / {denominator} : null)"


# Vega expressions of the rates and costs of a row, in order of computation. Precision is null if no
# row is predicted positive.
RATES_OF_ROW = {
    "fn": "datum.pos - datum.tp",
    "tn": "datum.neg - datum.fp",
    "tpr": "datum.tp / datum.pos",
    "fpr": "datum.fp / datum.neg",
    "alert_rate": "datum.pi * datum.tpr + (1 - datum.pi) * datum.fpr",
    "precision": _ratio_expression("datum.pi * datum.tpr", "datum.alert_rate"),
    "accuracy": "datum.pi * datum.tpr + (1 - datum.pi) * (1 - datum.fpr)",
    "fp_cost": f"toNumber(split({COSTS}, ' : ')[0])",
    "fn_cost": f"toNumber(split({COSTS}, ' : ')[1])",
    "expected_cost": "datum.pi * (1 - datum.tpr) * datum.fn_cost"
    " + (1 - datum.pi) * datum.fpr * datum.fp_cost",
}
# False positives are weighted by the odds of the threshold of the slider, not of the row, so that
# the weight is the same for all curves. Scores that are not probabilities have no odds.
NET_BENEFIT = {
    "net_benefit": "!datum.unit ? null : datum.row_threshold == MAX_VALUE ? 0"
    " : datum.cut >= 0 && datum.cut < 1"
    " ? datum.pi * datum.tpr - (1 - datum.pi) * datum.fpr * datum.cut / (1 - datum.cut) : null",
}


def _threshold_text(digits: int) -> str:
    """Return a Vega expression of the threshold of a row with this number of digits."""
    number = f"'score ≥ ' + format(datum.row_threshold, '.{digits}~g')"
    return f"datum.tp + datum.fp == 0 ? 'no row is predicted positive' : {number}"


def _number_texts(data: DashboardData) -> dict[str, str]:
    """Return Vega expressions that format the numbers of a row as text.

    All numbers have a limited width: small numbers have an exponent.
    """
    number = "isValid(datum.{0}) ? format(datum.{0}, {1}) : '" + UNDEFINED + "'"
    size = "(abs(datum.{0}) >= {1} || datum.{0} == 0 ? '{2}' : '.1e')"
    costs = size.format("{0}", 0.0005, ".4f") + " "
    threshold = size.format("row_threshold", 0.001, f".{SHORT_DIGITS}~g")
    return {
        "threshold_text": f"datum.tp + datum.fp == 0 ? '{NO_ALERTS}'"
        " : datum.row_threshold == MAX_VALUE ? 'inf'"
        f" : format(datum.row_threshold, {threshold})",
        **{f"{name}_text": f"format(datum.{name}, '{_count_format(data)}')" for name in CONFUSION},
        **{f"{name}_text": number.format(name, "'.3f'") for name in PANEL_RATES},
        **{
            f"{name}_text": number.format(name, costs.format(name).strip())
            for name in ("expected_cost", "net_benefit")
        },
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
    points = inline_data(data.lines)
    line = (
        filter_segments(alt.Chart(points, name=f"{panel.name}_lines"), data)
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
    # of the data row. `tooltip` is the name of such a property and of a field.
    text = alt.Tooltip("tooltip:N")
    row_points = filter_selected(
        alt.Chart(points, name=f"{panel.name}_points")
        .mark_point(filled=True, size=30, opacity=0)
        .transform_filter(IS_ROW)
        .encode(
            x=x,
            y=y,
            angle=alt.Angle(f"{ANGLE}:Q", scale=None),
            strokeWidth=alt.StrokeWidth(f"{RATE_FIELD}:Q", scale=None),
            tooltip=text,
        ),
        data,
    )
    current_points = filter_selected(
        alt.Chart()
        .mark_point(filled=True, size=110, opacity=1, stroke=BACKGROUND, strokeWidth=1.5)
        .transform_calculate(line_precision="datum.precision")
        .encode(x=x, y=y, color=color),
        data,
    )
    # The curves are the first layer, because Vega-Lite uses the axes of the first layer.
    cost_layers = _lowest_cost_layers(data, points, x, y) if panel.name == "roc" else []
    for layer in (line, row_points, *cost_layers):
        steps = [] if layer.transform is alt.Undefined else layer.transform
        layer.transform = [*line_transform(data), *steps]
    return LayerChart(
        layer=[line, _chance(data, panel.name), *cost_layers, current_points, row_points],
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
        title=f"{column.title} (click: select one, double-click: all)",
        titleLimit=0,
        orient="top",
        columns=max(1, min(len(column.values), columns)),
        symbolType="stroke",
        symbolSize=200,
        symbolStrokeWidth=3,
        symbolOpacity=alt.Undefined,
    )


def _chance(data: DashboardData, name: str) -> Any:
    if name == "precision_recall":
        level = filter_segments(alt.Chart(), data).mark_rule(**CHANCE_STROKE)
        level = level.transform_aggregate(groupby=["pi"])
        return level.encode(y=alt.Y("pi:Q"))
    return _diagonal()


def _diagonal() -> Any:
    ends = {"x": alt.XDatum(0), "y": alt.YDatum(0), "x2": alt.X2Datum(1), "y2": alt.Y2Datum(1)}
    return one_row().mark_rule(**CHANCE_STROKE).encode(**ends)


def _lowest_cost_layers(
    data: DashboardData, points: alt.InlineData, x: alt.X, y: alt.Y
) -> list[Any]:
    """Draw a line, a ring and a text for the row with the lowest expected cost of shown curves.

    If several rows have this cost, the ring is on the first curve with such a row, at the row with
    the highest threshold. The line contains all ROC points with this expected cost.
    """
    sort = [alt.SortField(field) for field in ("expected_cost", "rank", "step")]
    name = "datum.name, " if data.groups.columns else ""
    lowest: Any = (
        filter_selected(alt.Chart(points).transform_filter(IS_ROW), data)
        .transform_window(position="row_number()", sort=sort)
        .transform_filter("datum.position == 1")
        .transform_calculate(
            left="0",
            right="1",
            at_left="datum.tpr - datum.slope * datum.fpr",
            at_right="datum.tpr + datum.slope * (1 - datum.fpr)",
            lowest_text=f"['Lowest cost:', {name}{_threshold_text(SHORT_DIGITS)}]",
        )
    )
    line = lowest.mark_rule(color=MUTED, strokeWidth=1.2, clip=True).encode(
        x=alt.X("left:Q"), x2=alt.X2("right:Q"), y=alt.Y("at_left:Q"), y2=alt.Y2("at_right:Q")
    )
    ring = lowest.mark_point(size=200, filled=False, color=FOREGROUND, strokeWidth=1.5, opacity=1)
    text = lowest.mark_text(fontSize=11, color=MUTED, align="right", baseline="top")
    corner = {"x": alt.XValue(PANEL_WIDTH - 6), "y": alt.YValue(PANEL_WIDTH - 56)}
    return [
        line,
        ring.encode(x=x, y=y, tooltip=[]),
        text.encode(**corner, text=alt.Text("lowest_text:N"), tooltip=[]),
    ]


def _first_curve(chart: Any, data: DashboardData) -> Any:
    """Return the chart with only the first of the selected curves."""
    sort = [alt.SortField("rank")]
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
    values = inline_data(data.bins)
    bins = _first_curve(alt.Chart(values), data).transform_calculate(
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
    threshold = _threshold(data)
    cover = threshold.mark_rect(color=BACKGROUND, opacity=0.6)
    cover = cover.encode(x=alt.X("low:Q"), x2=alt.X2("clamped:Q"), tooltip=[])
    rule = threshold.mark_rule(color=FOREGROUND, strokeWidth=1.5).encode(x=alt.X("clamped:Q"))
    # The bars below the cover get no pointer events, so invisible bars above it show the tooltips.
    hover_bins = _first_curve(alt.Chart(values), data).mark_rect(opacity=0)
    hover_bins = hover_bins.encode(x=x, x2=alt.X2("right:Q"), tooltip=rows).properties(
        name="scores_bins"
    )
    layers = [*bars, cover, rule, hover_bins]
    if len(data.rows) > 1:
        layers.append(_curve_name(_first_curve(alt.Chart(), data)))
    return LayerChart(
        layer=layers,
        width=PANEL_WIDTH,
        height=LOW_PANEL_HEIGHT,
        title=_title("Scores of each class", "faded: predicted negative", offset=10),
    )


# The fields of event rates and their limits at the prevalence of the slider, and those in the data.
CONVERTED = {"rate": "y", "rate_low": "y_low", "rate_high": "y_high"}


def event_panel(data: DashboardData) -> alt.LayerChart:
    """Draw event rates with their limits, at the prevalence of the slider.

    The event rates are those of the table of `calibration`, or of the bins of the scores. If some
    scores are outside [0, 1], only those of the first curve are shown.
    """
    unit = data.calibrated or data.unit_scores
    select = filter_selected if unit else _first_curve
    points = select(alt.Chart(inline_data(data.events)), data).transform_calculate(
        pi=PREVALENCE_OF_CURVE,
        # Vega would convert a rate again if the result had the same name.
        **{name: _converted_rate(f"datum.{source}") for name, source in CONVERTED.items()},
    )
    axis = alt.Axis(tickCount=5, grid=False)
    scale = alt.Scale(domain=[0, 1]) if unit else alt.Scale(nice=False, zero=False)
    x = alt.X("x:Q", title="Score", scale=scale, axis=axis)
    y, low = (
        alt.Y(f"{name}:Q", title="Event rate", **_rate_axis()) for name in ("rate", "rate_low")
    )
    bins = points.transform_filter(f"datum.part === '{BIN}'").properties(name="events_limits")
    limits = bins.transform_filter("isValid(datum.y_low)").mark_rule(opacity=0.5, strokeWidth=1.5)
    line = points.transform_filter(f"datum.part !== '{LEVEL}'").mark_line(strokeWidth=1.5)
    is_bin = {"test": f"datum.part === '{BIN}'", "value": 1}
    marks = points.transform_filter(f"datum.part !== '{LEVEL_END}'").mark_point(
        filled=True, size=30
    )
    layers = [
        limits.encode(x=x, y=low, y2=alt.Y2("rate_high:Q"), color=_color(data)),
        line.encode(
            x=x, y=y, order=alt.Order("order:Q"), detail=alt.Detail("curve:N"), color=_color(data)
        ),
        _threshold(data).mark_rule(color=FOREGROUND, strokeWidth=1.5).encode(x=alt.X("clamped:Q")),
        marks.encode(
            x=x,
            y=y,
            color=_color(data),
            opacity=alt.OpacityValue(0, condition=is_bin),
            tooltip=_event_tooltips(data),
        ).properties(name="events_points"),
    ]
    if unit:
        layers.insert(1, _diagonal())
    elif len(data.rows) > 1:
        layers.append(_curve_name(_first_curve(alt.Chart(), data)))
    title = "Calibration" if data.calibrated else "Event rate by score"
    return LayerChart(
        layer=layers,
        width=PANEL_WIDTH,
        height=LOW_PANEL_HEIGHT,
        title=_title(title, "share of positives, with 95 % limits", offset=8),
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


def _event_tooltips(data: DashboardData) -> list[alt.Tooltip]:
    fields = {
        "x": "Mean score" if data.calibrated else "Score",
        "rate": "Event rate",
        "rate_low": "Lower limit",
        "rate_high": "Upper limit",
    }
    return [
        tooltip("label", "Curve"),
        *(tooltip(name, title, RATE_FORMAT) for name, title in fields.items()),
        tooltip("n", "Rows", _count_format(data)),
    ]


def _threshold(data: DashboardData) -> Any:
    """Return a layer of one row with the threshold of the first curve, limited to its bins."""
    clamped = "clamp(datum.cut, datum.low, datum.high)"
    return _first_curve(alt.Chart(), data).transform_calculate(clamped=clamped)


def _bin_tooltips(data: DashboardData) -> list[alt.Tooltip]:
    count = _count_format(data)
    return [
        tooltip("label", "Curve"),
        tooltip("scores", "Scores"),
        tooltip("bin_pos", "Positives", count),
        tooltip("bin_neg", "Negatives", count),
    ]


def matrix_panel(data: DashboardData) -> alt.LayerChart:
    """Draw the confusion matrix of the first curve; darker cells are larger shares of a class."""
    first = _first_curve(alt.Chart(), data)
    cells: Any = first.transform_fold(list(CONFUSION), as_=["cell", "count"]).transform_calculate(
        true_class=_cell_property(0),
        prediction=_cell_property(1),
        class_total=f"datum[{_cell_property(3)}]",
        share="datum.count / datum.class_total",
        count_text="datum[datum.cell + '_text']",
        share_text=f"{_cell_property(2)} + ' ' + format(datum.share, '.3f')",
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
        x=x, y=y, text=alt.Text("count_text:N"), tooltip=[]
    )
    share = cells.mark_text(fontSize=12, dy=14, color=FOREGROUND).encode(
        x=x, y=y, text=alt.Text("share_text:N"), tooltip=[]
    )
    layers = [shade, count.properties(name="matrix"), share]
    if len(data.rows) > 1:
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


def numbers_panel(data: DashboardData) -> alt.LayerChart:
    """Draw a row of numbers for each curve, at the threshold."""
    sort = [alt.SortField("rank")]
    rows = filter_segments(alt.Chart(), data).transform_window(position="row_number()", sort=sort)
    numbers = list(NUMBERS)
    if any(record["unit"] for record in data.rows):
        numbers.append("net_benefit")
    n_rows = _max_shown(data)
    longest = max((len(record["name"]) for record in data.rows), default=0)
    left = min(46 + LETTER_WIDTH * longest, NAME_WIDTH) if data.groups.columns else 0
    largest = max((max(record["pos"], record["neg"]) for record in data.rows), default=0)
    digits = len(f"{largest:,.0f}") + (0 if data.integer_counts else 3)
    column = max(NUMBER_WIDTH, 8 + LETTER_WIDTH * digits)
    width = left + column * len(numbers)
    axis = alt.Axis(
        orient="top",
        labelAngle=0,
        labelAlign="right",
        labelOffset=column / 2 - 2,
        labelLimit=column + 20,
        labelFontSize=10,
        labelExpr="split(datum.label, '_')",  # a line for each word
        labelPadding=15,
        domainColor=GRID,
        ticks=False,
    )
    x_scale = alt.Scale(domain=numbers, padding=0.5, range=[left, width])
    x = alt.X("number:N", sort=numbers, scale=x_scale, title=None, axis=axis)
    positions = list(range(1, n_rows + 1))
    y = alt.Y("position:O", axis=None, scale=alt.Scale(domain=positions, padding=0.5))
    opacity = opacity_if_selected(data, 0.25)
    fields: list[Any] = [f"{name}_text" for name in numbers]
    values: Any = (
        rows.transform_fold(fields, as_=["field", "text"])
        .transform_calculate(number="replace(datum.field, '_text', '')")
        .mark_text(align="right", dx=column / 2 - 2, fontSize=11, color=FOREGROUND)
        .encode(
            x=x,
            y=y,
            text=alt.Text("text:N"),
            opacity=opacity,
        )
        .properties(name="numbers")
    )
    layers = [values]
    if data.groups.columns:
        symbol = rows.mark_point(filled=True, shape="square", size=70, opacity=1)
        name = rows.mark_text(align="left", fontSize=12, limit=max(left - 24, 0), color=FOREGROUND)
        layers += [
            symbol.encode(x=alt.XValue(6), y=y, color=_color(data), tooltip=[]),
            name.encode(
                x=alt.XValue(18),
                y=y,
                text=alt.Text("name:N"),
                opacity=opacity,
                tooltip=alt.Tooltip("label:N"),
            ).properties(name="names"),
        ]
    return LayerChart(
        layer=layers,
        width=width,
        view=alt.ViewBackground(stroke=None),
        height=ROW_HEIGHT * max(n_rows, 1),
        title=alt.Title(
            alt.ExprRef(_settings()),
            subtitle="threshold: lowest score that is predicted positive",
            anchor="start",
            fontSize=13,
            subtitleColor=MUTED,
        ),
    )


def _max_shown(data: DashboardData) -> int:
    """Return the maximum number of curves in one selection of segments."""
    return data.groups.max_curves(data.rows, *data.segments)


def _settings() -> str:
    """Return a Vega expression of a text with the position of the slider, prevalence and costs."""
    texts = dumps({name: text for name, (_, text) in MODES.items()}, ensure_ascii=False)
    value = f"({MODE} == '{SCORE_MODE}' ? format({SIGNAL}, '.{LONG_DIGITS}~g')"
    value += f" : format({RATE_SIGNAL}, '{RATE_FORMAT}'))"
    prevalence = f"'prevalence ' + format({SET_PREVALENCE}, '.4~g')"
    parts = [
        f"'Numbers at ' + {texts}[{MODE}] + {value}",
        f"({SET_PREVALENCE} > 0 ? {prevalence} : 'prevalence as in the data')",
        f"'costs ' + {COSTS} + ' (false positive : false negative)'",
    ]
    return f"join([{', '.join(parts)}], ' · ')"
