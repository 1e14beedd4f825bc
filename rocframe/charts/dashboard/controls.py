"""Controls of a dashboard: sliders, lists, the pointer and the legend."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose
from typing import TYPE_CHECKING, Any

import altair as alt

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.dashboard.data import DashboardData

# Names of Vega parameters and of the fields that they select. To find the point nearest to the
# pointer, Vega-Lite draws an invisible Voronoi cell around each point. A cell contains the
# properties of the mark of the point, but not its data row. The threshold is therefore also the
# angle of the mark, which does not change the look of a circle.
THRESHOLD_PARAMETER, ANGLE = "rf_threshold", "angle"
SIGNAL = "rf_threshold_angle"  # Vega-Lite creates this name from the two names above
NEAREST, STEP = "rf_near", "step"
SET_PREVALENCE, COSTS, LEGEND_SELECTION, LIST_SELECTION = (
    "rf_prevalence",
    "rf_costs",
    "rf_shown",
    "rf_selected",
)
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
    def cost_ratio(self) -> float:
        """The cost of a false positive divided by the cost of a false negative."""
        return self.fp / self.fn


def controls(
    data: DashboardData,
    initial: InitialValues,
    *,
    near: Sequence[str],
    over: Sequence[str],
    legend: Sequence[str],
) -> list[Any]:
    """Return the parameters of a dashboard: threshold, prevalence, costs and selected curves.

    In the views `near`, the point nearest to the pointer sets the threshold; in the views `over`,
    the mark below the pointer sets the threshold. The legends of the views `legend` select curves.
    A drop-down list also selects curves, because legends do not react to the keyboard.
    """
    slider = data.slider
    marks = [f"{view}_voronoi" for view in near] + [f"{view}_marks" for view in over]
    events = [{"source": "scope", "type": "pointerover", "markname": mark} for mark in marks]
    parameters: list[Any] = [
        alt.TopLevelSelectionParameter(
            name=f"{NEAREST}_{i}",
            select={**POINT, "fields": [STEP], "on": "pointerover", "nearest": True},
            views=[view],
        )
        for i, view in enumerate(near)
    ]
    parameters += [
        alt.TopLevelSelectionParameter(
            name=THRESHOLD_PARAMETER,
            select={**POINT, "fields": [ANGLE], "on": {"merge": events}},
            bind=_range_input("Threshold ", slider.low, slider.high, slider.step),
            value=[{ANGLE: initial.threshold}],
            views=list(near[:1]),
        ),
        alt.VariableParameter(
            name=SET_PREVALENCE,
            value=initial.prevalence or 0,
            bind=_range_input("Prevalence (0: as in the data) ", 0, 0.999, 0.001),
        ),
        alt.VariableParameter(
            name=COSTS,
            value=initial.cost_ratio,
            bind=_drop_down("Cost of a false positive : false negative ", _cost_ratios(initial)),
        ),
    ]
    if data.groups.color is not None:
        column = data.groups.columns[data.groups.color]
        options: dict[str | None, str] = {None: "as in the legend"}
        options |= {value: value for value in column.values}
        parameters.append(
            alt.VariableParameter(
                name=LIST_SELECTION, value=None, bind=_drop_down(f"Show {column.title} ", options)
            )
        )
        select = {"type": "point", "fields": [data.groups.color]}
        parameters.append(
            alt.TopLevelSelectionParameter(
                name=LEGEND_SELECTION, select=select, bind="legend", views=list(legend)
            )
        )
    return parameters


def _range_input(name: str, low: float, high: float, step: float) -> alt.BindRange:
    return alt.BindRange(input="range", min=low, max=high, step=step, name=name)


def _drop_down(name: str, options: Mapping[Any, str]) -> alt.BindRadioSelect:
    """Return a drop-down list of values with their labels."""
    return alt.BindRadioSelect(
        input="select", options=list(options), labels=list(options.values()), name=name
    )


def _cost_ratios(initial: InitialValues) -> dict[float, str]:
    """Map the cost ratios of the drop-down list, including the initial one, to their texts."""
    ratios = {1 / ratio for ratio in COST_RATIOS} | set(COST_RATIOS)
    ratios = {ratio for ratio in ratios if not isclose(ratio, initial.cost_ratio)}
    return {
        ratio: f"{ratio:.4g} : 1" if ratio >= 1 else f"1 : {1 / ratio:.4g}"
        for ratio in sorted(ratios | {initial.cost_ratio})
    }


def filter_selected(chart: Any, data: DashboardData) -> Any:
    """Return the chart with only the selected curves.

    Curves are selected in the drop-down list or, if this list is at "as in the legend", in the
    legend.
    """
    return chart if data.groups.color is None else chart.transform_filter(_is_selected(data))


def _is_selected(data: DashboardData) -> dict[str, Any]:
    in_legend = {"and": [f"!isValid({LIST_SELECTION})", {"param": LEGEND_SELECTION}]}
    return {"or": [in_legend, f"datum.{data.groups.color} === {LIST_SELECTION}"]}


def opacity_if_selected(data: DashboardData, faint: float) -> Any:
    """Return the opacity 1 for selected curves and `faint` for other curves."""
    if data.groups.color is None:
        return alt.OpacityValue(1)
    return alt.OpacityValue(faint, condition={"test": _is_selected(data), "value": 1})
