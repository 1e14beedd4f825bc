"""Controls of a dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log2
from typing import TYPE_CHECKING, Any

import altair as alt

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.dashboard.data import Linked


# Of parameters. What is nearest to the pointer is a cell around a point, and its datum is no row
# but the mark: so the threshold of a row is an angle, which a mark can hold and a circle not show.
THRESHOLD, ANGLE = "rf_threshold", "angle"

CHOSEN = "rf_threshold_angle"  # the signal that Vega-Lite makes of the two

NEAR, STEP = "rf_near", "step"

PREVALENCE = "rf_prevalence"

COSTS = "rf_costs"

SHOWN = "rf_shown"

FARTHEST = 6  # powers of two

POINT: dict[str, Any] = {"type": "point", "clear": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a dashboard shows at first. Prevalence None is that of the data."""

    threshold: float
    prevalence: float | None
    fp: float
    fn: float

    @property
    def power(self) -> float:
        """The power of two that a false positive costs, in false negatives."""
        return log2(self.fp / self.fn)


def controls(
    linked: Linked, start: Start, *, near: Sequence[str], over: Sequence[str], legend: Sequence[str]
) -> list[Any]:
    """Return the parameters of a dashboard.

    In the views of `near` the nearest point gives the threshold, in those of `over` the mark below
    the pointer. `legend` are the views whose legend chooses curves.
    """
    slider = linked.slider
    marks = [f"{view}_voronoi" for view in near] + [f"{view}_marks" for view in over]
    made: list[Any] = [
        alt.TopLevelSelectionParameter(
            name=f"{NEAR}_{place}",
            select={**POINT, "fields": [STEP], "on": "pointerover", "nearest": True},
            views=[view],
        )
        for place, view in enumerate(near)
    ]
    made += [
        alt.TopLevelSelectionParameter(
            name=THRESHOLD,
            select={
                **POINT,
                "fields": [ANGLE],
                "on": {
                    "merge": [
                        {"source": "scope", "type": "pointerover", "markname": mark}
                        for mark in marks
                    ]
                },
            },
            bind=alt.BindRange(
                input="range", min=slider.low, max=slider.high, step=slider.step, name="Threshold "
            ),
            value=[{ANGLE: start.threshold}],
            views=list(near[:1]),
        ),
        alt.VariableParameter(
            name=PREVALENCE,
            value=start.prevalence or 0,
            bind=alt.BindRange(
                input="range", min=0, max=0.999, step=0.001, name="Prevalence (0: as in the data) "
            ),
        ),
        alt.VariableParameter(
            name=COSTS,
            value=start.power,
            bind=alt.BindRange(
                input="range",
                min=min(-FARTHEST, floor(start.power)),
                max=max(FARTHEST, ceil(start.power)),
                step=0.25,
                name="Cost of a false positive to that of a false negative (powers of 2) ",
            ),
        ),
    ]
    if linked.color is not None:
        select = {"type": "point", "fields": [linked.color]}
        made.append(
            alt.TopLevelSelectionParameter(
                name=SHOWN, select=select, bind="legend", views=list(legend)
            )
        )
    return made


def shown_only(chart: Any, linked: Linked) -> Any:
    """Leave out the curves that the legend does not choose."""
    return chart if linked.color is None else chart.transform_filter({"param": SHOWN})


def faint_unless_shown(linked: Linked, faint: float, plain: float = 1) -> Any:
    """Return an opacity that tells what the legend chooses from what it does not."""
    if linked.color is None:
        return alt.value(plain)
    return {"condition": {"param": SHOWN, "value": plain}, "value": faint}
