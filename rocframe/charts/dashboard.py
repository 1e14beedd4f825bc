"""The function `dashboard`: linked charts of curves at one movable threshold.

The browser finds the row of each curve at the threshold, and computes its rates and costs.
"""

from __future__ import annotations

from json import dumps
from math import inf
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.charts.axes import axis_title, value_titles
from rocframe.charts.calibration_chart import BIN, LEVEL, LEVEL_END
from rocframe.charts.chart import ChartOptions
from rocframe.charts.curve_layers import LAYER, reference_line
from rocframe.charts.dashboard_data import dashboard_data
from rocframe.charts.layer_chart import LayerChart, VConcatChart, layered
from rocframe.charts.style import (
    BACKGROUND,
    CHANCE_DASH,
    CHANCE_STROKE,
    RATE_FORMAT,
    REFERENCE_COLOR,
    inline_data,
    tooltip,
)
from rocframe.errors import LazyFrameError, OptionValueError
from rocframe.kinds import KINDS
from rocframe.options import NOT_GIVEN, NotGiven, check_choice, check_frame, parse_number, public
from rocframe.rates import CONFUSION, COSTS_HINT, Settings
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rocframe.charts.dashboard_data import DashboardData
    from rocframe.inputs.roles import By

ERRORS = ("fp", "fn")


@public
def dashboard(
    curves: pl.DataFrame,
    /,
    *,
    by: By = None,
    color: str | NotGiven | None = NOT_GIVEN,
    threshold: float | None = None,
    prevalence: float | None = None,
    costs: Mapping[str, float] | None = None,
    calibration: pl.DataFrame | None = None,
    benefit: str | None = None,
    cost: str | None = None,
) -> alt.VConcatChart:
    """Draw linked panels of curves, scores and a confusion matrix at one movable threshold.

    The panels show ROC, precision-recall and gain curves, the distribution of the scores of both
    classes, the event rate by score, the confusion matrix, and a row of numbers for each curve. A
    slider sets the score, the alert rate, the false positive rate or the recall, which a list
    selects; the pointer on a curve sets it too, and the pointer on a bin of scores sets the score.
    With the score, the counts are those of `score >= threshold`. The other quantities determine one
    threshold for each curve: the lowest at which the rate is not above the slider, or the highest
    at which recall is not below it.

    Other controls set the prevalence and the ratio of the costs of both errors, on which metrics of
    both classes and expected costs depend, but counts do not. In the ROC panel, a ring and a line
    mark the lowest expected cost among all shown curves. To select a curve, click its entry of the
    legend, or choose values of the group columns in lists. The curve with the lowest initial cost
    is first. The panels of the scores and of the confusion matrix show the first selected curve, as
    does the panel of event rates if some scores are outside [0, 1].

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.
    color : str or None, optional
        Group column with a color for each of its values, and a legend that selects a curve; None
        for one color. The default is `model`, or else the first group column.
    threshold : float, default None
        Initial threshold. The default is the threshold with the lowest expected cost.
    prevalence : float, default None
        Initial prevalence. By default, the value of `prevalence=` with which the table was
        computed, or else that of each curve.
    costs : mapping of str to float, default None
        Initial costs of both errors, such as {"fp": 1, "fn": 5}. By default, each error costs 1.
    calibration : DataFrame, default None
        Table of `calibration` for the same groups. The panel of event rates then shows this table,
        instead of about 20 bins of the score with Wilson's limits.
    benefit : str, default None
        Unit of the benefits, such as "dollars", for curves of `curve(benefit=)`. The titles of the
        axes then mention benefits instead of positives, as in `chart`.
    cost : str, default None
        Unit of the costs, for curves of `curve(cost=)`.

    Returns
    -------
    altair.VConcatChart
        An Altair chart, about 850 pixels wide. The browser computes all numbers from rows of the
        curves. Up to about 100,000 rows, the chart contains all of them, in less than 1 MB, and
        else a selection; the subtitle states how many are omitted. Counts at values of the slider
        of the score are exact in all cases. Net benefit has the odds p / (1 - p) of the threshold
        p, and is not shown for curves with scores outside [0, 1]. Curves without positives or
        without negatives are not drawn; the subtitle lists them.

    Raises
    ------
    LazyFrameError
        If `curves` is a LazyFrame.
    MissingColumnError
        If a column that an argument names is missing.
    OptionValueError
        If a number is outside its range, or the table has more than 12 curves.
    RocframeError
        If the table is not a curve table, or if a curve lacks its first or its last rows. Other
        missing rows raise no error, and the numbers are then wrong.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> curves = rf.curve(predictions, "label", "score")
    >>> board = curves.roc.dashboard(threshold=0.4, costs={"fp": 1, "fn": 5})
    >>> type(board).__name__
    'VConcatChart'
    >>> board.title.text
    'Evaluation by threshold'
    """
    check_frame("curves", curves)
    if isinstance(curves, pl.LazyFrame):  # type: ignore[unreachable]
        raise LazyFrameError.compose("dashboard")
    errors = dict.fromkeys(ERRORS, 1.0) if costs is None else costs
    settings = Settings(costs=errors, prevalence=prevalence)
    fp, fn = _check_costs(errors)
    if threshold is not None:
        threshold = parse_number("threshold", threshold, example=0.5)
    options = ChartOptions(by=by, color=color)
    data = dashboard_data(curves, options, settings, threshold, calibration)
    titles = value_titles(benefit, cost)
    title = {"subtitle": _subtitle(data), "anchor": "start", "fontSize": 16, "offset": 12}
    chart = VConcatChart(
        data=inline_data(data.rows),
        transform=_row_transform(data),
        spacing=22,
        title=alt.Title("Evaluation by threshold", **title),
        description=_description(data),
        usermeta={"rocframe": "dashboard"},  # pages fit it to their width and colors
    )
    # The attributes are set directly, because the constructors and .properties copy all panels.
    panels = alt.ConcatChart(columns=3, spacing=18)
    panels.concat = [
        *(_rate_panel(data, name, titles) for name in RATE_PANELS),
        *(_score_panel(data), _event_panel(data), _matrix_panel(data)),
    ]
    chart.vconcat = [panels, _numbers_panel(data)]
    chart.params = _controls(data, fp, fn)
    return chart


def _check_costs(costs: Mapping[str, float]) -> list[float]:
    """Return the costs of a false positive and of a false negative, after checks."""
    for name in costs:
        check_choice("costs", name, ERRORS)
    for name in ERRORS:  # costs of 0 are not allowed, because the ratio of both costs is used
        parse_number(f"costs[{name!r}]", costs.get(name, 0), low=0, hint=COSTS_HINT)
    fp, fn = (float(costs[name]) for name in ERRORS)
    if not 0 < fp / fn < inf:
        problem = "the ratio of the two costs is too large or too small for a floating-point number"
        raise OptionValueError.compose("costs", costs, problem, COSTS_HINT)
    return [fp, fn]


def _subtitle(data: DashboardData) -> Any:
    """Return the lines of the subtitle: which curves and how many thresholds are omitted."""
    lines = []
    if data.undefined:
        lines.append(f"Not drawn because one class is missing: {'; '.join(data.undefined)}")
    if data.n_omitted:
        lines.append(f"{data.n_omitted:,} thresholds between those of the slider are omitted")
    return lines or alt.Undefined


def _description(data: DashboardData) -> str:
    """Return the text alternative for screen readers."""
    labels = [head["label"] for head in sorted(data.rows, key=lambda head: head["curve"])]
    names = f": {', '.join(labels)}" if labels and data.groups.columns else ""
    return (
        f"Dashboard of {format_count(len(labels), 'curve')}{names}. ROC, precision-recall and gain "
        "curves, the distribution of scores, the event rate by score, the confusion matrix and "
        "numbers, all at one threshold that a slider or the pointer moves. Other controls set the "
        "prevalence, the costs of errors and the shown curves."
    )


# Names of Vega parameters and of the fields that they select. To find the point nearest to the
# pointer, Vega-Lite draws an invisible Voronoi cell around each point. A cell contains the
# properties of the mark of the point, but not its data row. The threshold is therefore also the
# angle of the mark, and the rate its stroke width, which do not change the look of a hidden mark.
THRESHOLD_PARAMETER, ANGLE = "rf_threshold", "angle"
RATE_PARAMETER, RATE_FIELD = "rf_rate", "strokeWidth"
# Vega-Lite creates these names from the names above.
SIGNAL, RATE_SIGNAL = f"{THRESHOLD_PARAMETER}_{ANGLE}", f"{RATE_PARAMETER}_{RATE_FIELD}"
MODE, SET_PREVALENCE, COSTS = "rf_mode", "rf_prevalence", "rf_costs"
LEGEND, SELECTED, SEGMENT = "rf_legend", "rf_selected", "rf_segment"
# The quantities of the sliders: the text in the list, and the text before the value of the slider.
SCORE_MODE = "score"
MODES = {
    SCORE_MODE: ("score", "score ≥ "),
    "alert_rate": ("alert rate", "an alert rate of at most "),
    "fpr": ("false positive rate", "a false positive rate of at most "),
    "tpr": ("recall", "a recall of at least "),
}
COST_RATIOS = (1, 2, 3, 4, 5, 10, 20, 50, 100)  # the list also has their reciprocals
# The pointer sets the sliders to the nearest point of the layers NEAR, and the threshold to the
# mark below it of the layers OVER. Altair adds the position of the panel to the names of layers.
NEAR = ("roc_points_0", "precision_recall_points_1", "gain_points_2")
OVER = ("scores_bins_3", "events_points_4")


def _controls(data: DashboardData, fp: float, fn: float) -> list[Any]:
    """Return the parameters of the dashboard; `fp` and `fn` are the initial costs of errors."""
    slider, columns, color = data.slider, data.groups.columns, data.groups.color
    cells = [f"{layer}_voronoi" for layer in NEAR]
    marks = [*cells, *(f"{layer}_marks" for layer in OVER)]
    threshold = _range_input("Threshold ", slider.low, slider.high, slider.step)
    rate = _range_input("Rate ", 0, 1, 0.001)
    prevalence = _range_input("Prevalence (0: as in the data) ", 0, 0.999, 0.001)
    mode = _drop_down("Slider ", MODES, [text for text, _ in MODES.values()])
    costs = _drop_down("Cost of a false positive : false negative ", _cost_texts(fp, fn))
    lists = {name: _drop_down(f"{one.title} ", one.values) for name, one in columns.items()}
    nearest = {"on": "pointerover", "nearest": True}
    parameters = [
        *(_selection(f"rf_near_{i}", STEP, layer, **nearest) for i, layer in enumerate(NEAR)),
        _variable(MODE, "alert_rate" if data.different_scales else SCORE_MODE, mode),
        _slider(THRESHOLD_PARAMETER, ANGLE, data.threshold, threshold, marks),
        _slider(RATE_PARAMETER, RATE_FIELD, data.alert_rate, rate, cells),
        _variable(SET_PREVALENCE, data.prevalence or 0, prevalence),
        _variable(COSTS, _cost_pair(fp, fn), costs),
        *(
            _variable(f"{SEGMENT}_{name}", value, lists[name])
            for name, value in data.segments.items()
        ),
    ]
    if color is not None:
        # A parameter that is bound to the legend has its own state. `LEGEND` is such a parameter,
        # but no event changes it: Vega-Lite only names the parts of the legend for it.
        parts = [f"{color}_legend_{part}" for part in ("symbols", "labels", "entries")]
        values, title = columns[color].values, f"Show {columns[color].title} "
        options = {"value": _drop_down(title, [None, *values], ["all", *values])}
        click = {"on": _events("view", "click", parts), "clear": "dblclick"}
        parameters += [
            _selection(LEGEND, color, "roc_lines_0", {"legend": "keydown"}),
            _selection(SELECTED, "value", NEAR[0], options, **click),
        ]
    return parameters


def _variable(name: str, value: Any, bind: Mapping[str, Any]) -> Any:
    return alt.VariableParameter(name=name, value=value, bind=bind)


def _slider(name: str, field: str, value: float, bind: Any, marks: Sequence[str]) -> Any:
    """Return the parameter of a slider; the pointer on `marks` also sets it."""
    parameter = _selection(name, field, NEAR[0], bind, on=_events("scope", "pointerover", marks))
    parameter.value = [{field: value}]
    return parameter


def _selection(name: str, field: str, layer: str, bind: Any = alt.Undefined, **select: Any) -> Any:
    """Return a parameter that selects the value of a field in a layer."""
    select = {"type": "point", "fields": [field], "clear": False, **select}
    return alt.TopLevelSelectionParameter(name=name, select=select, views=[layer], bind=bind)


def _events(source: str, event: str, marks: Sequence[str]) -> dict[str, Any]:
    """Return the events of a type on marks with these names."""
    return {"merge": [{"source": source, "type": event, "markname": mark} for mark in marks]}


def _range_input(label: str, low: float, high: float, step: float) -> dict[str, Any]:
    return {"input": "range", "name": label, "min": low, "max": high, "step": step}


def _drop_down(label: str, values: Iterable[Any], labels: Iterable[str] = ()) -> dict[str, Any]:
    """Return a drop-down list; by default, the labels are the values."""
    options = [*values]
    return {"input": "select", "name": label, "options": options, "labels": [*labels] or options}


def _cost_pair(fp: float, fn: float) -> str:
    return " : ".join(repr(float(cost)).removesuffix(".0") for cost in (fp, fn))


def _cost_texts(fp: float, fn: float) -> list[str]:
    """Return the entries of the list of costs by rising ratio, including the given costs."""
    pairs = [*((1, n) for n in COST_RATIOS), *((n, 1) for n in COST_RATIOS), (fp, fn)]
    by_ratio = {fp / fn: _cost_pair(fp, fn) for fp, fn in pairs}
    return [by_ratio[ratio] for ratio in sorted(by_ratio)]


# Vega expressions and transforms of the data.
STEP, LINE_PRECISION = "step", "line_precision"  # fields of the points of a line
ARRAYS = ("t", "increases")  # the fields of a record of rows with a value for each row
ROUNDING = 1e-9  # rates that differ by less are equal
SHORT_DIGITS, LONG_DIGITS = 4, 7  # of thresholds in narrow columns, and in tooltips
PANEL_RATES = ("tpr", "fpr", "precision", "accuracy", "alert_rate")
NUMBERS = ("threshold", *CONFUSION, *PANEL_RATES, "expected_cost")


def _ratio_expression(numerator: str, denominator: str) -> str:
    return f"({denominator} > 0 ? {numerator} / ({denominator}) : null)"


# Rates and costs of a row, in order of computation. The prevalence `pi` is that of the slider or,
# if the slider is at 0, of the curve. Precision is null if no row is predicted positive.
PI_OF_CURVE = f"{SET_PREVALENCE} > 0 ? {SET_PREVALENCE} : datum.pos / (datum.pos + datum.neg)"
RATES_OF_ROW = {
    "pi": PI_OF_CURVE,
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
NET_BENEFIT = (
    "!datum.unit ? null : datum.threshold == MAX_VALUE ? 0 : datum.cut >= 0 && datum.cut < 1"
    " ? datum.pi * datum.tpr - (1 - datum.pi) * datum.fpr * datum.cut / (1 - datum.cut) : null"
)


def _row_transform(data: DashboardData) -> list[Any]:
    """Return the transform of records to one row per curve, found by a bisection."""
    heads = [name for name in (data.rows[0] if data.rows else ()) if name not in ARRAYS]
    longest = max((record["t"].count(",") for record in data.rows), default=0)
    steps, found = {"above_all": f"{MODE} == 'tpr' ? -1 : 0"}, "datum.above_all"
    for power in reversed(range((longest + 1).bit_length())):
        index = f"({found} + {1 << power})"
        row = f"datum.rows[{index}]"
        rate = f"datum.a * {row}.tp + datum.b * {row}.fp <= datum.most"
        test = f"{MODE} == '{SCORE_MODE}' ? {row}.t >= {SIGNAL} : {rate}"
        steps[f"below_{power}"] = f"{index} < length(datum.rows) && ({test}) ? {index} : {found}"
        found = f"datum.below_{power}"
    last = f"min({found} + ({MODE} == 'tpr' ? 1 : 0), length(datum.rows) - 1)"
    rows = {
        "t": "toNumber(datum.t)",
        "tp": "toNumber(split(datum.increases, '/')[0]) || 0",
        "fp": "datum.increases === '' ? 1 : toNumber(split(datum.increases, '/')[1]) || 0",
    }
    selected = {
        "pi": PI_OF_CURVE,
        # The slider limits the rate `a * tp + b * fp`.
        "a": f"({{alert_rate: datum.pi, tpr: 1}}[{MODE}] || 0) / datum.pos",
        "b": f"({{alert_rate: 1 - datum.pi, fpr: 1}}[{MODE}] || 0) / datum.neg",
        "most": f"{RATE_SIGNAL} + ({MODE} == 'tpr' ? -1 : 1) * {ROUNDING!r}",
        **steps,
        "row": f"datum.rows[{last}]",
        "threshold": "min(datum.row.t, MAX_VALUE)",
        "cut": f"{MODE} == '{SCORE_MODE}' ? {SIGNAL} : min(datum.threshold, {data.slider.top!r})",
        "tp": "datum.row.tp",
        "fp": "datum.row.fp",
        **RATES_OF_ROW,
        "net_benefit": NET_BENEFIT,
    }
    sums = [{"op": "sum", "field": name, "as": name} for name in ("tp", "fp")]
    return [
        *_calculate({name: f"split(datum.{name}, ',')" for name in ARRAYS}),
        {"flatten": [*ARRAYS]},
        *_calculate(rows),
        {"window": sums, "groupby": ["curve"]},
        {"aggregate": [{"op": "values", "as": "rows"}], "groupby": heads},
        *_calculate(selected | _number_texts(data)),
    ]


def _number_texts(data: DashboardData) -> dict[str, str]:
    """Return Vega expressions of the numbers of a row as texts of limited width."""
    size = "(abs(datum.{0}) >= {1} || datum.{0} == 0 ? '{2}' : '.1e')"
    formats = {
        "threshold": size.format("threshold", 0.001, f".{SHORT_DIGITS}~g"),
        **dict.fromkeys(CONFUSION, f"'{_count_format(data)}'"),
        **dict.fromkeys(PANEL_RATES, "'.3f'"),
        **{name: size.format(name, 0.0005, ".4f") for name in ("expected_cost", "net_benefit")},
    }
    texts = {
        name: f"isValid(datum.{name}) ? format(datum.{name}, {text}) : '–'"
        for name, text in formats.items()
    }
    special = "datum.tp + datum.fp == 0 ? 'no row' : datum.threshold == MAX_VALUE ? 'inf' : "
    texts["threshold"] = f"{special}{texts['threshold']}"
    return {f"{name}_text": text for name, text in texts.items()}


def _line_transform(data: DashboardData) -> list[Any]:
    """Return the transform of the records of lines to one row per point."""
    next_tp = "datum.pi * datum.tp_next / datum.pos"
    next_alerts = f"{next_tp} + (1 - datum.pi) * datum.fp_next / datum.neg"
    next_precision = _ratio_expression(next_tp, next_alerts)
    texts = [
        f" + ' · {axis_title(name).lower()} ' + format(datum.{name}, '{RATE_FORMAT}')"
        for name in ("tpr", "fpr", "alert_rate")
    ]
    fields = {
        ANGLE: f"min(datum.threshold, {data.slider.top!r})",
        **RATES_OF_ROW,
        # The precision of the next point, if no row is predicted positive.
        LINE_PRECISION: f"datum.alert_rate > 0 ? datum.precision : {next_precision}",
        "slope": "(1 - datum.pi) * datum.fp_cost / (datum.pi * datum.fn_cost)",
        RATE_FIELD: f"datum[{MODE} == '{SCORE_MODE}' ? 'alert_rate' : {MODE}]",
        "tooltip": f"datum.label + ': ' + ({_threshold_text(LONG_DIGITS)}){''.join(texts)}",
    }
    lead = [{"op": "lead", "field": name, "as": f"{name}_next"} for name in ("tp", "fp")]
    return [
        {"flatten": ["threshold", "tp", "fp"]},
        {"window": [{"op": "row_number", "as": STEP}, *lead], "groupby": ["curve"]},
        *_calculate(fields),
    ]


IS_ROW = "isValid(datum.threshold)"  # excludes points between two rows


def _calculate(fields: Mapping[str, str]) -> list[Any]:
    return [{"calculate": value, "as": name} for name, value in fields.items()]


def _threshold_text(digits: int) -> str:
    """Return a Vega expression of the threshold of a row with this number of digits."""
    number = f"'score ≥ ' + format(datum.threshold, '.{digits}~g')"
    return f"datum.tp + datum.fp == 0 ? 'no row is predicted positive' : {number}"


def _count_format(data: DashboardData) -> str:
    return "," if data.integer_counts else ",.2~f"


def _converted_rate(rate: str) -> str:
    """Return a Vega expression of a rate at the prevalence of the slider; null if it is null."""
    up = f"datum.pi * datum.{rate} / datum.pos"
    down = f"(1 - datum.pi) * (1 - datum.{rate}) / datum.neg"
    return f"isValid(datum.{rate}) ? {_ratio_expression(up, f'{up} + {down}')} : null"


def _settings() -> str:
    """Return a Vega expression of a text with the position of the slider, prevalence and costs."""
    texts = dumps({name: text for name, (_, text) in MODES.items()}, ensure_ascii=False)
    score, rate = f"format({SIGNAL}, '.{LONG_DIGITS}~g')", f"format({RATE_SIGNAL}, '{RATE_FORMAT}')"
    prevalence = f"'prevalence ' + format({SET_PREVALENCE}, '.4~g')"
    parts = [
        f"'Numbers at ' + {texts}[{MODE}] + ({MODE} == '{SCORE_MODE}' ? {score} : {rate})",
        f"({SET_PREVALENCE} > 0 ? {prevalence} : 'prevalence as in the data')",
        f"'costs ' + {COSTS} + ' (false positive : false negative)'",
    ]
    return f"join([{', '.join(parts)}], ' · ')"


def _of_segments(data: DashboardData) -> list[Any]:
    """Return the filters of the curves of the selected segments."""
    return [f"datum.{name} === {SEGMENT}_{name}" for name in data.segments]


def _of_selected(data: DashboardData) -> list[Any]:
    """Return the filters of the selected curves."""
    return _of_segments(data) + ([] if data.groups.color is None else [_is_selected(data)])


def _of_first(data: DashboardData) -> list[Any]:
    """Return the transform to the first of the selected curves."""
    rank = [{"op": "dense_rank", "as": "position"}]
    first = {"window": rank, "sort": [{"field": "rank"}], "ignorePeers": False}
    return [*_of_selected(data), first, "datum.position == 1"]


def _is_selected(data: DashboardData) -> str:
    value = f"{SELECTED}_value"
    return f"!isValid({value}) || datum.{data.groups.color} === {value}"


# Panels. Sizes are in pixels.
PANEL_WIDTH, LOW_PANEL_HEIGHT = 210, 170
LEGEND_WIDTH, LETTER_WIDTH = 800, 6.6
NUMBER_WIDTH, NAME_WIDTH, ROW_HEIGHT = 54, 150, 24
UNIT_SCALE, FREE_SCALE = {"domain": [0, 1]}, {"nice": False, "zero": False}
UNIT_AXIS: dict[str, Any] = {"scale": UNIT_SCALE, "tickCount": 5, "labelFlush": False}
FULL_WIDTH = {"x": 0, "x2": {"value": "width"}}
# The marks of the threshold and of the lowest cost are gray, which is visible in all themes.
GRAY_STROKE: dict[str, Any] = {"color": REFERENCE_COLOR, "strokeWidth": 2}
# The kinds of curves of the panels of two rates, with the subtitles of the panels.
RATE_PANELS = {
    "roc": "ring: lowest cost of all shown curves",
    "precision_recall": "dashed line: share of positives",
    "gain": "dashed line: chance",
}
AXIS_FIELDS = {"recall": "tpr", "precision": LINE_PRECISION}  # other fields have their own names
# For each count: the label, the prediction, the rate of the count, and the total of its class.
LABELS, PREDICTIONS = ["Positive", "Negative"], ["Predicted positive", "Predicted negative"]
MATRIX_CELLS = {
    "tp": (LABELS[0], PREDICTIONS[0], "tpr", "pos"),
    "fn": (LABELS[0], PREDICTIONS[1], "fnr", "pos"),
    "fp": (LABELS[1], PREDICTIONS[0], "fpr", "neg"),
    "tn": (LABELS[1], PREDICTIONS[1], "tnr", "neg"),
}


def _panel(
    layers: Sequence[alt.Chart],
    title: Any,
    subtitle: str,
    channels: Mapping[str, Any],
    size: tuple[float, float] = (PANEL_WIDTH, LOW_PANEL_HEIGHT),
) -> LayerChart:
    """Return a panel of layers that share `channels`."""
    for layer in layers:
        # The chart has one description. Names of marks would be thousands of nodes.
        layer.mark["aria"] = False
    chart = layered(layers, data=alt.Undefined, encoding=channels, width=size[0], height=size[1])
    text = {"text": title, "subtitle": subtitle, "anchor": "start", "frame": "group"}
    chart.title = {**text, "fontSize": 13, "subtitleFontSize": 11, "offset": 8}
    return chart


def _layer(
    mark: str,
    transform: Sequence[Any],
    channels: Mapping[str, Any],
    name: Any = alt.Undefined,
    *,
    data: Any = alt.Undefined,
    **style: Any,
) -> alt.Chart:
    """Return a layer with its own transform; a text in `transform` is a filter.

    A text in `channels` is a field, with `:Q` for numbers, and a number is a value. All parts are
    dicts, because Altair copies all layers, and its objects have an attribute for each option.
    """
    steps = [{"filter": one} if isinstance(one, str) else one for one in transform]
    encoding = alt.FacetedEncoding(**{key: _channel(value) for key, value in channels.items()})
    definition: Any = {"type": mark, **style}
    return alt.Chart(data, encoding, definition, name=name, transform=steps or alt.Undefined)


def _channel(value: Any) -> Any:
    if isinstance(value, str):
        field, _, is_number = value.partition(":")
        return {"field": field, **({"type": "quantitative"} if is_number else {})}
    return {"value": value} if isinstance(value, int | float) else value


def _axis(field: str, title: str | None, sort: Any = None, **options: Any) -> dict[str, Any]:
    """Return the definition of x or y: of names in the order `sort`, or of numbers."""
    scale = options.pop("scale", {})
    kind = {"type": "quantitative"} if sort is None else {"type": "nominal", "sort": sort}
    return {"field": field, "title": title, "scale": scale, "axis": options, **kind}


def _color(data: DashboardData) -> dict[str, Any]:
    """Return the color channel of the curves; the legend selects curves."""
    groups = data.groups
    if groups.color is None:
        return {}
    column = groups.columns[groups.color]
    longest = max(len(groups.captions.get(value, value)) for value in column.values)
    columns = max(1, min(len(column.values), int(LEGEND_WIDTH / (LETTER_WIDTH * longest + 40))))
    title = f"{column.title} (click: select one, double-click: all)"
    color = groups.line_color().to_dict(validate=False)
    color["legend"] |= {"title": title, "titleLimit": 0, "orient": "top", "columns": columns}
    return {"color": color}


def _faint_unless_selected(data: DashboardData, opacity: float) -> dict[str, Any]:
    """Return the opacity 1 for selected curves and a low opacity for other curves."""
    if data.groups.color is None:
        return {"value": 1}
    return {"value": opacity, "condition": {"test": _is_selected(data), "value": 1}}


def _tooltip_lines(titles: Mapping[str, str], formats: Mapping[str, str]) -> list[Any]:
    """Return a line of a tooltip for each field; `formats` are those of fields of numbers."""
    lines = [tooltip(field, title, formats.get(field)) for field, title in titles.items()]
    return [line.to_dict(validate=False) for line in lines]


def _rate_panel(data: DashboardData, name: str, titles: Mapping[str, str]) -> LayerChart:
    """Draw two rates of all curves, with a point on each curve at the threshold."""
    kind = KINDS[name]
    x, y = (AXIS_FIELDS.get(rate, rate) for rate in (kind.x, kind.y))
    x_axis = _axis(x, titles.get(x, axis_title(kind.x)), **UNIT_AXIS)
    y_axis = _axis(y, titles.get(y, axis_title(kind.y)), **UNIT_AXIS)
    size = (PANEL_WIDTH, PANEL_WIDTH)
    points, steps = {"data": inline_data(data.lines)}, _line_transform(data)
    segments, selected = [*steps, *_of_segments(data)], [*steps, IS_ROW, *_of_selected(data)]
    curves = {"order": f"{STEP}:Q", "detail": "curve", "opacity": _faint_unless_selected(data, 0.1)}
    stroke: dict[str, Any] = {"strokeWidth": 2, "clip": True}
    # The tooltip of a Voronoi cell contains a property of the mark of the point instead of a field
    # of the data row. `tooltip` is the name of such a property and of a field.
    near = {field: _channel(f"{field}:Q") | {"scale": None} for field in (ANGLE, RATE_FIELD)}
    near["tooltip"] = _channel("tooltip")
    hidden: dict[str, Any] = {"filled": True, "size": 30, "opacity": 0}
    current = [*_calculate({LINE_PRECISION: "datum.precision"}), *_of_selected(data)]
    point: dict[str, Any] = {"filled": True, "size": 110, "opacity": 1, "stroke": BACKGROUND}
    if y == LINE_PRECISION:
        level = [*_of_segments(data), {"aggregate": [], "groupby": ["pi"]}]
        chance = _layer("rule", level, {**FULL_WIDTH, "y": "pi:Q"}, **CHANCE_STROKE)
    else:
        chance = reference_line({x: [0, 1], y: [0, 1]}, CHANCE_DASH)
    layers = [
        # The curves are the first layer, because Vega-Lite uses the axes of the first layer.
        _layer("line", segments, curves | _color(data), f"{name}_lines", **points, **stroke),
        chance,
        *(_lowest_cost_layers(data, points, selected) if name == "roc" else []),
        _layer("point", current, _color(data), strokeWidth=1.5, **point),
        _layer("point", selected, near, f"{name}_points", **points, **hidden),
    ]
    return _panel(layers, kind.title, RATE_PANELS[name], {"x": x_axis, "y": y_axis}, size)


def _lowest_cost_layers(
    data: DashboardData, points: Mapping[str, Any], selected: Sequence[Any]
) -> list[alt.Chart]:
    """Draw a line of equal cost, a ring and a text for the row of lowest cost of shown curves."""
    sort = [{"field": field} for field in ("expected_cost", "rank", STEP)]
    name = "datum.name, " if data.groups.columns else ""
    fields = {
        "at_left": "datum.tpr - datum.slope * datum.fpr",
        "at_right": "datum.tpr + datum.slope * (1 - datum.fpr)",
        "lowest_text": f"['Lowest cost:', {name}{_threshold_text(SHORT_DIGITS)}]",
    }
    position = [{"op": "row_number", "as": "position"}]
    first = [{"window": position, "sort": sort}, "datum.position == 1", *_calculate(fields)]
    lowest = [*selected, *first]
    line = {**FULL_WIDTH, "y": "at_left:Q", "y2": "at_right"}
    text = {"x": PANEL_WIDTH - 6, "y": PANEL_WIDTH - 56, "text": "lowest_text"}
    ring: dict[str, Any] = {"size": 200, "filled": False, "opacity": 1}
    return [
        _layer("rule", lowest, line, **points, clip=True, **GRAY_STROKE),
        _layer("point", lowest, {}, **points, **ring, **GRAY_STROKE),
        _layer("text", lowest, text, **points, fontSize=11, align="right", baseline="top"),
    ]


def _threshold_steps(data: DashboardData) -> list[Any]:
    """Return the transform to the threshold of the first curve, limited to its bins."""
    return [*_of_first(data), *_calculate({"clamped": "clamp(datum.cut, datum.low, datum.high)"})]


def _threshold_rule(data: DashboardData) -> alt.Chart:
    channels = {"x": "clamped:Q", "y": 0, "y2": {"value": "height"}}
    return _layer("rule", _threshold_steps(data), channels, **GRAY_STROKE)


def _curve_name(data: DashboardData) -> list[alt.Chart]:
    """Write the name of the first curve below the right end of a panel, unless it is the only."""
    channels = {"x": PANEL_WIDTH, "y": LOW_PANEL_HEIGHT + 29, "text": "label"}
    style: dict[str, Any] = {"fontSize": 11, "align": "right", "limit": PANEL_WIDTH / 2 - 24}
    return [_layer("text", _of_first(data), channels, **style)] if len(data.rows) > 1 else []


def _score_panel(data: DashboardData) -> LayerChart:
    """Draw the distribution of the scores: positives above the axis, negatives below it."""
    bins, first, count = inline_data(data.bins), _of_first(data), _count_format(data)
    shares = {"up": "datum.bin_pos / datum.pos", "down": "-datum.bin_neg / datum.neg"}
    titles = {"label": "Curve", "scores": "Scores", "bin_pos": "Positives", "bin_neg": "Negatives"}
    ends = {"x2": "right", "tooltip": _tooltip_lines(titles, {"bin_pos": count, "bin_neg": count})}
    labels = "format(abs(datum.value), '.2~f')"
    bars = {
        "y": _axis("share", "Share: negatives | positives", tickCount=5, labelExpr=labels),
        "y2": {"datum": 0},
        "opacity": {"value": 0.4, "condition": {"test": "datum.side === 'up'", "value": 0.85}},
    }
    sides = [*first, *_calculate(shares), {"fold": [*shares], "as": ["side", "share"]}]
    cover = {"x": "low:Q", "x2": "clamped"}
    layers = [
        _layer("rect", sides, ends | bars | _color(data), data=bins, stroke=BACKGROUND),
        _layer("rect", _threshold_steps(data), cover, color=BACKGROUND, opacity=0.6),
        _threshold_rule(data),
        # The bars below the cover get no pointer events; invisible bars show the tooltips.
        _layer("rect", first, ends, "scores_bins", data=bins, opacity=0),
        *_curve_name(data),
    ]
    x = _axis("left", "Score", scale=FREE_SCALE, tickCount=5, grid=False)
    return _panel(layers, "Scores of each class", "faded: predicted negative", {"x": x})


def _event_panel(data: DashboardData) -> LayerChart:
    """Draw event rates of `calibration` or of bins with limits, at the prevalence of the slider."""
    is_unit = data.calibrated or data.unit_scores
    events, part, color = inline_data(data.events), f"datum.{LAYER}", _color(data)
    # The event rate and its limits at the prevalence of the slider, and those in the data.
    rates = {"rate": "event_rate", "rate_low": "lower", "rate_high": "upper"}
    converted = {name: _converted_rate(source) for name, source in rates.items()}
    select = _of_selected if is_unit else _of_first
    points = [*select(data), *_calculate({"pi": PI_OF_CURVE, **converted})]

    def layer(mark: str, shown: str, channels: dict[str, Any], *name: str, **style: Any) -> Any:
        return _layer(mark, [*points, shown], channels | color, *name, data=events, **style)

    is_bin = f"{part} === '{BIN}'"
    limits = {"y": "rate_low:Q", "y2": "rate_high"}
    titles = {"label": "Curve", "score_mean": "Mean score" if data.calibrated else "Score"}
    titles |= {"rate": "Event rate", "rate_low": "Lower limit", "rate_high": "Upper limit"}
    formats = dict.fromkeys(("score_mean", *rates), RATE_FORMAT) | {"n": _count_format(data)}
    marks = {
        "opacity": {"value": 0, "condition": {"test": is_bin, "value": 1}},
        "tooltip": _tooltip_lines(titles | {"n": "Rows"}, formats),
    }
    order = {"order": "bin:Q", "detail": "curve"}
    diagonal = reference_line({"score_mean": [0, 1], "rate": [0, 1]}, CHANCE_DASH)
    has_limits = f"{is_bin} && isValid(datum.lower)"
    layers = [
        layer("rule", has_limits, limits, "events_limits", opacity=0.5, strokeWidth=1.5),
        *([diagonal] if is_unit else _curve_name(data)),
        layer("line", f"{part} !== '{LEVEL}'", order, strokeWidth=1.5),
        _threshold_rule(data),
        layer("point", f"{part} !== '{LEVEL_END}'", marks, "events_points", filled=True, size=30),
    ]
    scale = UNIT_SCALE if is_unit else FREE_SCALE
    x = _axis("score_mean", "Score", scale=scale, tickCount=5, grid=False)
    y = _axis("rate", "Event rate", **UNIT_AXIS)
    title = "Calibration" if data.calibrated else "Event rate by score"
    return _panel(layers, title, "share of positives, with 95 % limits", {"x": x, "y": y})


def _matrix_panel(data: DashboardData) -> LayerChart:
    """Draw the confusion matrix of the first curve; darker cells are larger shares of a class."""
    fields = {
        "parts": f"{dumps(MATRIX_CELLS)}[datum.cell]",
        "true_class": "datum.parts[0]",
        "prediction": "datum.parts[1]",
        "share": "datum.count / datum[datum.parts[3]]",
        "count_text": "datum[datum.cell + '_text']",
        "share_text": "datum.parts[2] + ' ' + format(datum.share, '.3f')",
    }
    fold = {"fold": [*CONFUSION], "as": ["cell", "count"]}
    cells = [*_of_first(data), fold, *_calculate(fields)]
    strength = {"domain": [0, 1], "range": [0.06, 0.55]}
    opacity = {"field": "share", "type": "quantitative", "scale": strength, "legend": None}
    shade: dict[str, Any] = {"stroke": BACKGROUND, "strokeWidth": 3}
    count: dict[str, Any] = {"fontSize": 20, "fontWeight": "bold", "dy": -6}
    layers = [
        _layer("rect", cells, {"opacity": opacity} | _color(data), **shade),
        _layer("text", cells, {"text": "count_text"}, "matrix", **count),
        _layer("text", cells, {"text": "share_text"}, fontSize=12, dy=14),
        *_curve_name(data),
    ]
    plain: dict[str, Any] = {"domain": False, "ticks": False}
    x = _axis("prediction", None, sort=PREDICTIONS, labelAngle=0, labelFontSize=10, **plain)
    y = _axis("true_class", "Label", sort=LABELS, labelAngle=-90, labelAlign="center", **plain)
    subtitle = "color strength: share of the class"
    return _panel(layers, "Confusion matrix", subtitle, {"x": x, "y": y})


def _numbers_panel(data: DashboardData) -> LayerChart:
    """Draw a row of numbers for each curve, at the threshold."""
    position = [{"op": "row_number", "as": "position"}]
    rows = [*_of_segments(data), {"window": position, "sort": [{"field": "rank"}]}]
    names = [*NUMBERS, *(["net_benefit"] if any(head["unit"] for head in data.rows) else [])]
    n_rows = data.groups.max_curves(data.rows, *data.segments)  # in one selection of segments
    longest = max((len(record["name"]) for record in data.rows), default=0)
    left = min(46 + LETTER_WIDTH * longest, NAME_WIDTH) if data.groups.columns else 0
    largest = max((max(record["pos"], record["neg"]) for record in data.rows), default=0)
    digits = len(f"{largest:,.0f}") + (0 if data.integer_counts else 3)
    column = max(NUMBER_WIDTH, 8 + LETTER_WIDTH * digits)
    width, right = left + column * len(names), column / 2 - 2
    fold = {"fold": [f"{name}_text" for name in names], "as": ["field", "text"]}
    numbers = [*rows, fold, *_calculate({"number": "replace(datum.field, '_text', '')"})]
    label: dict[str, Any] = {"labelAngle": 0, "labelFontSize": 10, "labelPadding": 15}
    place = {"labelAlign": "right", "labelOffset": right, "labelLimit": column + 20}
    words = "split(datum.label, '_')"  # a line for each word
    scale = {"domain": names, "padding": 0.5, "range": [left, width]}
    axis = {"orient": "top", "ticks": False, "labelExpr": words, **label, **place}
    x = _axis("number", None, sort=names, scale=scale, **axis)
    opacity = _faint_unless_selected(data, 0.25)
    channels = {"x": x, "text": "text", "opacity": opacity}
    name = {"x": 18, "text": "name", "opacity": opacity, "tooltip": "label"}
    limit = max(left - 24, 0)
    square: dict[str, Any] = {"filled": True, "shape": "square", "size": 70, "opacity": 1}
    layers = [_layer("text", numbers, channels, "numbers", align="right", dx=right, fontSize=11)]
    if data.groups.columns:
        layers += [
            _layer("point", rows, {"x": 6} | _color(data), **square),
            _layer("text", rows, name, "names", align="left", fontSize=12, limit=limit),
        ]
    scale = {"domain": [*range(1, n_rows + 1)], "padding": 0.5}
    y = {"field": "position", "type": "ordinal", "axis": None, "scale": scale}
    subtitle = "threshold: lowest score that is predicted positive"
    size = (width, ROW_HEIGHT * max(n_rows, 1))
    panel = _panel(layers, {"expr": _settings()}, subtitle, {"y": y}, size)
    panel.view = {"stroke": None}
    return panel
