"""Controls of a dashboard: sliders, lists, the pointer and the legend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.dashboard.data import DashboardData

# Names of Vega parameters and of the fields that they select. To find the point nearest to the
# pointer, Vega-Lite draws an invisible Voronoi cell around each point. A cell contains the
# properties of the mark of the point, but not its data row. The threshold is therefore also the
# angle of the mark, and the rate its stroke width, which do not change the look of a hidden mark.
THRESHOLD_PARAMETER, ANGLE = "rf_threshold", "angle"
RATE_PARAMETER, RATE_FIELD = "rf_rate", "strokeWidth"
# Vega-Lite creates these names from the names above.
SIGNAL, RATE_SIGNAL = "rf_threshold_angle", "rf_rate_strokeWidth"
MODE, SET_PREVALENCE, COSTS = "rf_mode", "rf_prevalence", "rf_costs"
LEGEND, SELECTED, SEGMENT = "rf_legend", "rf_selected", "rf_segment"
NEAREST, STEP = "rf_near", "step"
# The quantities of the sliders: the text in the list, and the text before the value of the slider.
SCORE_MODE = "score"
MODES = {
    SCORE_MODE: ("score", "score ≥ "),
    "alert_rate": ("alert rate", "an alert rate of at most "),
    "fpr": ("false positive rate", "a false positive rate of at most "),
    "tpr": ("recall", "a recall of at least "),
}
COST_RATIOS = (1, 2, 3, 4, 5, 10, 20, 50, 100)  # the list also has their reciprocals
POINT: dict[str, Any] = {"type": "point", "clear": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialValues:
    """The initial values of the controls; `fp` and `fn` are the costs of both errors.

    With `prevalence=None`, each curve has its own prevalence.
    """

    threshold: float
    prevalence: float | None
    fp: float
    fn: float

    @property
    def costs(self) -> str:
        """The costs as an entry of the list of costs."""
        return _cost_pair(self.fp, self.fn)


def controls(
    data: DashboardData, initial: InitialValues, *, near: Sequence[str], over: Sequence[str]
) -> list[Any]:
    """Return the parameters of a dashboard.

    In the views `near`, the point nearest to the pointer sets the sliders; in the views `over`, the
    mark below the pointer sets the threshold.
    """
    slider = data.slider
    cells = [f"{view}_voronoi" for view in near]
    parameters: list[Any] = [
        alt.TopLevelSelectionParameter(
            name=f"{NEAREST}_{i}",
            select={**POINT, "fields": [STEP], "on": "pointerover", "nearest": True},
            views=[view],
        )
        for i, view in enumerate(near)
    ]
    parameters += [
        alt.VariableParameter(
            name=MODE,
            value="alert_rate" if data.different_scales else SCORE_MODE,
            bind=_drop_down("Slider ", {name: text for name, (text, _) in MODES.items()}),
        ),
        _slider_parameter(
            (THRESHOLD_PARAMETER, ANGLE, initial.threshold),
            _range_input("Threshold ", slider.low, slider.high, slider.step),
            [*cells, *(f"{view}_marks" for view in over)],
            near,
        ),
        _slider_parameter(
            (RATE_PARAMETER, RATE_FIELD, data.alert_rate),
            _range_input("Rate ", 0, 1, 0.001),
            cells,
            near,
        ),
        alt.VariableParameter(
            name=SET_PREVALENCE,
            value=initial.prevalence or 0,
            bind=_range_input("Prevalence (0: as in the data) ", 0, 0.999, 0.001),
        ),
        alt.VariableParameter(
            name=COSTS,
            value=initial.costs,
            bind=_drop_down("Cost of a false positive : false negative ", _cost_texts(initial)),
        ),
    ]
    for name, value in data.segments.items():
        column = data.groups.columns[name]
        options = {text: text for text in column.values}
        parameters.append(
            alt.VariableParameter(
                name=f"{SEGMENT}_{name}", value=value, bind=_drop_down(f"{column.title} ", options)
            )
        )
    return parameters + _curve_selection(data, near)


def _slider_parameter(
    value: tuple[str, str, float], bind: alt.BindRange, marks: Sequence[str], near: Sequence[str]
) -> alt.TopLevelSelectionParameter:
    """Return a parameter with a name, a field and a value; the pointer on `marks` also sets it."""
    name, field, initial = value
    events = [{"source": "scope", "type": "pointerover", "markname": mark} for mark in marks]
    select: dict[str, Any] = {**POINT, "fields": [field], "on": {"merge": events}}
    return alt.TopLevelSelectionParameter(
        name=name, select=select, bind=bind, value=[{field: initial}], views=list(near[:1])
    )


def _curve_selection(data: DashboardData, near: Sequence[str]) -> list[Any]:
    """Return the parameter that selects one color, with a list; entries of the legend set it too.

    A parameter that is bound to the legend has its own state. `LEGEND` is such a parameter, but no
    event changes it: Vega-Lite only creates the names of the parts of the legend for it.
    """
    color = data.groups.color
    if color is None:
        return []
    column = data.groups.columns[color]
    options: dict[str | None, str] = {None: "all"} | {value: value for value in column.values}
    clicks = [
        {"source": "view", "type": "click", "markname": f"{color}_legend_{part}"}
        for part in ("symbols", "labels", "entries")
    ]
    views = list(near[:1])
    return [
        alt.TopLevelSelectionParameter(
            name=LEGEND,
            select={"type": "point", "fields": [color]},
            bind={"legend": "keydown"},
            views=[view.replace("points", "lines") for view in views],
        ),
        alt.TopLevelSelectionParameter(
            name=SELECTED,
            select={
                "type": "point",
                "fields": ["value"],
                "on": {"merge": clicks},
                "clear": "dblclick",
            },
            bind={"value": _drop_down(f"Show {column.title} ", options)},
            views=views,
        ),
    ]


def _range_input(name: str, low: float, high: float, step: float) -> alt.BindRange:
    return alt.BindRange(input="range", min=low, max=high, step=step, name=name)


def _drop_down(name: str, options: Mapping[Any, str]) -> alt.BindRadioSelect:
    """Return a drop-down list of values with their labels."""
    return alt.BindRadioSelect(
        input="select", options=list(options), labels=list(options.values()), name=name
    )


def _cost_pair(fp: float, fn: float) -> str:
    return " : ".join(repr(float(cost)).removesuffix(".0") for cost in (fp, fn))


def _cost_texts(initial: InitialValues) -> dict[str, str]:
    """Return the entries of the list of costs by rising ratio, including the initial costs."""
    pairs: dict[float, tuple[float, float]] = {1 / ratio: (1.0, ratio) for ratio in COST_RATIOS}
    pairs |= {ratio: (ratio, 1.0) for ratio in COST_RATIOS}
    pairs[initial.fp / initial.fn] = initial.fp, initial.fn
    texts = [_cost_pair(*pairs[ratio]) for ratio in sorted(pairs)]
    return dict(zip(texts, texts, strict=True))


def filter_segments(chart: Any, data: DashboardData) -> Any:
    """Return the chart with only the curves of the selected segments."""
    for name in data.segments:
        chart = chart.transform_filter(f"datum.{name} === {SEGMENT}_{name}")
    return chart


def filter_selected(chart: Any, data: DashboardData) -> Any:
    """Return the chart with only the selected curves."""
    chart = filter_segments(chart, data)
    return chart if data.groups.color is None else chart.transform_filter(_is_selected(data))


def _is_selected(data: DashboardData) -> str:
    value = f"{SELECTED}_value"
    return f"!isValid({value}) || datum.{data.groups.color} === {value}"


def opacity_if_selected(data: DashboardData, faint: float) -> Any:
    """Return the opacity 1 for selected curves and `faint` for other curves."""
    if data.groups.color is None:
        return alt.OpacityValue(1)
    return alt.OpacityValue(faint, condition={"test": _is_selected(data), "value": 1})
