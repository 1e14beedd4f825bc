"""The dashed lines that a chart is read against: what chance would draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from rocframe.charts.axes import on_axis
from rocframe.charts.palette import CHANCE as STROKE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.plane import Plane, Side

ONE = "The dashed line is what chance gives."
COUNTED = ("precision_recall", "lift_chart")  # whose line of chance depends on the counts
EACH = "Each dashed line is what chance gives at one prevalence."
CHANCE_SAID = {
    "roc": ONE,
    "precision_recall": EACH,
    "det": ONE,
    "gain": ONE,
    "lift": ONE,
    "lift_chart": EACH,
}


NEAR = 1 / 200  # of an axis: lines that are closer look like one that is thick
STEPS = 48  # of a line that the axes bend


def chance(plane: Plane) -> alt.Chart:
    """Return the line, or lines, of predictions that know nothing."""
    across, up = plane.x, plane.y
    if plane.kind.name == "precision_recall":
        return _at_each_prevalence()
    if plane.kind.name == "lift_chart":
        return _to_each_total(across)
    if plane.kind.name == "lift":
        return _straight(plane, (across.low, 1), (across.high, 1))
    falls = plane.kind.name == "det"
    if "log" in (across.scale, up.scale):
        return _bent(across, falls=falls)
    ends = (up.high, up.low) if falls else (up.low, up.high)
    return _straight(plane, (across.low, ends[0]), (across.high, ends[1]))


def merged(levels: Sequence[float | None], high: float) -> list[float | None]:
    """Give levels that no eye tells apart one level, in the middle of them."""
    known = sorted({level for level in levels if level is not None})
    middle: dict[float, float] = {}
    while known:
        near = [level for level in known if level - known[0] <= NEAR * high]
        middle |= dict.fromkeys(near, (near[0] + near[-1]) / 2)
        known = known[len(near) :]
    return [None if level is None else middle[level] for level in levels]


def _straight(plane: Plane, start: tuple[float, float], end: tuple[float, float]) -> alt.Chart:
    (x, y), (x2, y2) = (
        (on_axis(plane.x, across), on_axis(plane.y, up)) for across, up in (start, end)
    )
    ends = {"x": x, "y": y, "x2": x2, "y2": y2}
    # Data of its own: those of the curves would draw it once for each of their points.
    line: alt.Chart = (
        alt.Chart(alt.InlineData(values=[{}]))
        .mark_rule(**STROKE)
        .encode(**{channel: alt.datum(value) for channel, value in ends.items()})
    )
    return line


def _bent(side: Side, *, falls: bool) -> alt.Chart:
    """Return the line on which rates are equal, or add up to 1, as logarithmic axes bend it."""
    low = _spread(side)
    rates = sorted({*low, *(1 - rate for rate in low if rate < 1)}) if falls else low
    points = [{"across": rate, "up": round(1 - rate, 7) if falls else rate} for rate in rates]
    line: alt.Chart = (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(**STROKE)
        .encode(x=alt.X("across:Q"), y=alt.Y("up:Q"))
    )
    return line


def _spread(side: Side) -> list[float]:
    """Return rates that stand evenly along a logarithmic axis."""
    shares = (step / STEPS for step in range(STEPS + 1))
    return [float(f"{side.low * (side.high / side.low) ** share:.7g}") for share in shares]


def _at_each_prevalence() -> alt.Chart:
    said = (
        "format(datum.least, '.4~g') + "
        "(datum.most > datum.least ? ' to ' + format(datum.most, '.4~g') : '')"
    )
    line: alt.Chart = (
        _for_each_level(
            alt.AggregatedFieldDef(op="min", field="prevalence", **{"as": "least"}),
            alt.AggregatedFieldDef(op="max", field="prevalence", **{"as": "most"}),
        )
        .transform_calculate(said=said)
        .mark_rule(**STROKE)
        .encode(y=alt.Y("level:Q"), tooltip=alt.Tooltip("said:N", title="prevalence"))
    )
    return line


def _to_each_total(side: Side) -> alt.Chart:
    line: alt.Chart
    if side.scale == "log":
        points = f"[{','.join(map(str, _spread(side)))}]"
        line = (
            _for_each_level()
            .transform_calculate(across=points)
            .transform_flatten(["across"])
            .transform_calculate(up="datum.across * datum.level")
            .mark_line(**STROKE)
            .encode(x=alt.X("across:Q"), y=alt.Y("up:Q"), detail="level:N")
        )
        return line
    line = (
        _for_each_level()
        .mark_rule(**STROKE)
        .encode(x=alt.datum(1), y=alt.Y("level:Q"), x2=alt.datum(0), y2=alt.datum(0))
    )
    return line


def _for_each_level(*aggregates: alt.AggregatedFieldDef) -> alt.Chart:
    """Return a row for each level of the curves that are drawn, in each panel its own."""
    return (
        alt.Chart()
        .transform_filter("isValid(datum.level)")
        .transform_aggregate(list(aggregates), groupby=["level"])
    )
