"""Controls of a dashboard: sliders, the pointer and the legend."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log2
from typing import TYPE_CHECKING, Any

import altair as alt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.dashboard.data import DashboardData

# Names of parameters. Vega-Lite selects the point nearest to the pointer by an invisible cell
# around it. The datum of the cell is the mark of the point, not its row, so the angle of the mark
# stores the threshold of the row. The angle does not change the look of circles.
THRESHOLD_PARAMETER, ANGLE = "rf_threshold", "angle"
CHOSEN = "rf_threshold_angle"  # the signal that Vega-Lite creates from both names
NEAREST, STEP = "rf_near", "step"
SET_PREVALENCE, COSTS, SHOWN = "rf_prevalence", "rf_costs", "rf_shown"
MAX_LOG2_RATIO = 6  # end of the slider of the cost ratio
POINT: dict[str, Any] = {"type": "point", "clear": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialValues:
    """The initial values. With `prevalence=None`, each curve has its own prevalence."""

    threshold: float
    prevalence: float | None
    fp: float
    fn: float

    @property
    def log2_cost_ratio(self) -> float:
        """The binary logarithm of the ratio of both costs."""
        return log2(self.fp / self.fn)


def controls(
    data: DashboardData,
    initial: InitialValues,
    *,
    near: Sequence[str],
    over: Sequence[str],
    legend: Sequence[str],
) -> list[Any]:
    """Return the parameters of a dashboard.

    The threshold is set by the point nearest to the pointer in the views `near`, and by the mark
    below the pointer in the views `over`. The legends of the views `legend` select curves.
    """
    slider, log2_ratio = data.slider, initial.log2_cost_ratio
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
            bind=_slider("Threshold ", slider.low, slider.high, slider.step),
            value=[{ANGLE: initial.threshold}],
            views=list(near[:1]),
        ),
        alt.VariableParameter(
            name=SET_PREVALENCE,
            value=initial.prevalence or 0,
            bind=_slider("Prevalence (0: as in the data) ", 0, 0.999, 0.001),
        ),
        alt.VariableParameter(
            name=COSTS,
            value=log2_ratio,
            bind=_slider(
                "log2(cost of a false positive / cost of a false negative) ",
                min(-MAX_LOG2_RATIO, floor(log2_ratio)),
                max(MAX_LOG2_RATIO, ceil(log2_ratio)),
                0.25,
            ),
        ),
    ]
    if data.groups.color is not None:
        select = {"type": "point", "fields": [data.groups.color]}
        parameters.append(
            alt.TopLevelSelectionParameter(
                name=SHOWN, select=select, bind="legend", views=list(legend)
            )
        )
    return parameters


def _slider(name: str, low: float, high: float, step: float) -> alt.BindRange:
    return alt.BindRange(input="range", min=low, max=high, step=step, name=name)


def filter_selected(chart: Any, data: DashboardData) -> Any:
    """Keep the curves that the legend selects."""
    return chart if data.groups.color is None else chart.transform_filter({"param": SHOWN})


def opacity_if_selected(data: DashboardData, faint: float) -> Any:
    """Return an opacity that is low for curves that the legend does not select."""
    if data.groups.color is None:
        return alt.OpacityValue(1)
    return alt.OpacityValue(faint, condition={"param": SHOWN, "value": 1})
