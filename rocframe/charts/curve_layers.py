"""Layers of curve charts: lines, invisible points with tooltips, and lines of chance."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.axes import CALIBRATION_PLANE, FREE
from rocframe.charts.labels import (
    COUNT_FORMAT,
    MAX_IN_SUBTITLE,
    RATE_FORMAT,
    inline_data,
    not_drawn,
    sentences,
    tooltip,
)
from rocframe.charts.layer_chart import LayerChart
from rocframe.charts.style import CHANCE_STROKE, PERFECT_STROKE, dashed_rule
from rocframe.rates import CONFUSION
from rocframe.schemas.columns import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.axes import Plane, PlotAxis
    from rocframe.charts.groups import Groups

MANY_CURVES = 20  # a panel with more curves has thin lines
NEAR_LEVELS = 1 / 100  # share of an axis; closer lines of chance are merged
LOG_STEPS = 48  # segments of a line of chance on logarithmic axes
WITHOUT_CHANCE = "means"  # name of the kind of charts without lines of chance, such as means
PERFECT_CALIBRATION = "The dashed line shows perfect calibration"
ONE_LINE = "The dashed line shows chance"
ONE_PER_PREVALENCE = "Each dashed line shows chance at one prevalence"
THRESHOLD_TEXT = "isValid(datum.threshold) ? toString(datum.threshold) : 'inf'"
# Kinds of curves whose line of chance is at the prevalence.
PREVALENCE_KINDS = ("precision_recall", "predictive_value")
# Kinds of curves with a horizontal reference line: its height, and its meaning.
REFERENCES = {
    "lift": (1, ONE_LINE),
    "skill": (0, "The dashed line shows the best constant prediction"),
}
PERFECT = "Dotted lines show perfect scores"
ROW_FIELDS = {
    "fn": "datum.pos - datum.tp",
    "tn": "datum.neg - datum.fp",
    "at": THRESHOLD_TEXT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePlot:
    """Data of a curve chart: its axes, a record for each curve or point, and the groups.

    `overlays` are records of hulls, ties, cost lines, marked points and notes. `averaged` are the
    axes that have confidence limits: "x", "y" or both. `fields` are the fields of a record with a
    value for each point, if the record contains points.
    """

    plane: Plane
    records: list[dict[str, Any]]
    groups: Groups
    overlays: list[dict[str, Any]] = field(default_factory=list)
    averaged: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    def layered(self, layers: Sequence[alt.Chart], transform: alt.Chart) -> alt.LayerChart:
        """Return a chart of the layers; `transform` applies to the data of all layers."""
        if self.plane.clipped:
            for layer in layers:
                layer.mark.clip = True
        # Altair copies a chart each time a transform is added to it. The transforms were therefore
        # added to the chart `transform`, which has no layers to copy.
        return LayerChart(
            layer=list(layers),
            data=inline_data([*self.records, *self.overlays]),
            transform=transform.transform,
            width=self.groups.side,
            height=self.groups.side,
        )

    def undrawn(self, n_columns: int | None = None) -> list[str]:
        """Return the names of the groups without a drawn point.

        The first `n_columns` group columns determine the groups; by default, all group columns.
        """
        columns = dict(list(self.groups.columns.items())[:n_columns])
        names = replace(self.groups, columns=columns).names(len(self.records))
        is_drawn = [record["x"] not in (None, []) for record in self.records]
        drawn = {name for name, known in zip(names, is_drawn, strict=True) if known}
        return [name for name in dict.fromkeys(names) if name not in drawn]

    def with_titles(
        self,
        chart: alt.LayerChart,
        *,
        title: str,
        subtitle: str,
        description: Sequence[str],
        undrawn: Sequence[str] | None = None,
    ) -> alt.LayerChart | alt.FacetChart:
        """Add titles to a chart of this data, and split it into panels.

        The subtitle and the description also contain `undrawn`, the names of groups or points that
        are not drawn; by default, the names of the groups without points. The description also
        contains the ranges of `x_domain` and `y_domain`.
        """
        names = self.undrawn() if undrawn is None else undrawn
        return self.groups.with_titles(
            chart,
            title=title,
            subtitle=sentences(subtitle, not_drawn(names, MAX_IN_SUBTITLE), end=""),
            description=sentences(*description, self.plane.zoom_text, not_drawn(names)),
        )

    def axis_tooltips(self, *, counts: bool = True) -> list[alt.Tooltip]:
        """Return a tooltip line for each axis; without `counts`, only for axes that show rates."""
        axes = (("x", self.plane.x), ("y", self.plane.y))
        return [
            tooltip(name, self.plane.title(axis.name, axis.name), RATE_FORMAT)
            for name, axis in axes
            if counts or axis.name not in (THRESHOLD, *CONFUSION)
        ]


def one_point_per_row(plane: Plane, fields: Sequence[str], *deviates: str) -> alt.Chart:
    """Return a chart with the transforms that split each record into one row per point.

    `fields` are the fields with a list of values per record. `deviates` are those of the fields
    that are replaced by their normal deviates on axes of this scale.
    """
    steps = alt.Chart().transform_flatten(list(fields))
    steps = steps.transform_window(step="row_number()", groupby=["curve"])
    positions = plane.deviates(*deviates)
    return steps.transform_calculate(**positions) if positions else steps


def overlay(part: str | None) -> alt.Chart:
    """Return a layer with the records of the overlay `part`; with None, those of the curves."""
    condition = "!isValid(datum.part)" if part is None else f"datum.part === '{part}'"
    layer: alt.Chart = alt.Chart().transform_filter(condition)
    return layer


def curve_filter(plot: CurvePlot) -> alt.Chart:
    """Return a layer with the records of the curves, without overlays."""
    return overlay(None) if plot.overlays else alt.Chart()


def line_layer(plot: CurvePlot, **stroke: Any) -> alt.Chart:
    """Draw lines through the points in the order of the records.

    Without an order channel, Vega-Lite would sort the points of a line by x.
    """
    x, y = plot.plane.channels()
    layer: alt.Chart = (
        curve_filter(plot)
        .mark_line(**stroke)
        .encode(
            x=x,
            y=y,
            order=alt.Order("step:Q"),
            detail=alt.Detail("curve:N"),
            color=plot.groups.line_color(),
        )
    )
    return layer


def curve_stroke(plot: CurvePlot) -> dict[str, Any]:
    """Return the stroke of lines: thin if they have the same color or a panel has many curves."""
    groups, records = plot.groups, plot.records
    shared = groups.max_curves(records, groups.color, groups.panel) > 1
    if shared or groups.max_curves(records, groups.panel) > MANY_CURVES:
        return {"strokeWidth": 1, "opacity": 0.5}
    return {"strokeWidth": 2}


def hover_layer(plot: CurvePlot, tooltips: list[alt.Tooltip]) -> alt.Chart:
    """Draw invisible points on the lines, with tooltips of rows of the table."""
    x, y = plot.plane.channels()
    layer: alt.Chart = (
        curve_filter(plot)
        .mark_point(filled=True, size=80, opacity=0)
        .encode(x=x, y=y, tooltip=tooltips)
    )
    return layer


def row_layer(plot: CurvePlot) -> alt.Chart:
    """Draw invisible points at the rows of a curve table on the lines, with tooltips of all counts.

    Interpolated points have no counts, and no tooltip.
    """
    rows = hover_layer(plot, row_tooltips(plot)).transform_filter("isValid(datum.tp)")
    layer: alt.Chart = rows.transform_calculate(**ROW_FIELDS)
    return layer


def row_tooltips(plot: CurvePlot) -> list[alt.Tooltip]:
    """Return the tooltip lines of a row of a curve table: groups, threshold, rates and counts."""
    return [
        *plot.groups.tooltips(),
        tooltip("at", "threshold"),
        *plot.axis_tooltips(counts=False),
        *(tooltip(name, plot.plane.title(name, name), COUNT_FORMAT) for name in CONFUSION),
    ]


def chance_text(plane: Plane, *, of_curves: bool = False) -> str:
    """Return a sentence about the lines of chance; empty if the chart has none.

    `of_curves` is True for charts of curve tables, which contain the prevalence.
    """
    if plane.kind.name in {WITHOUT_CHANCE, FREE} or not plane.diagonal:
        return ""
    if plane.kind.name in {*PREVALENCE_KINDS, "lift_chart"}:
        perfect = f". {PERFECT}" if plane.kind.name == "lift_chart" else ""
        return f"{ONE_PER_PREVALENCE}{perfect}" if of_curves else ""
    if plane.kind.name in REFERENCES:
        return REFERENCES[plane.kind.name][1]
    return PERFECT_CALIBRATION if plane.kind is CALIBRATION_PLANE.kind else ONE_LINE


def chance_key(plane: Plane) -> str:
    """Return the meaning of the dashed and dotted lines of a lift chart; empty for other charts."""
    is_drawn = plane.kind.name == "lift_chart" and plane.diagonal
    return "dashed: chance, dotted: perfect scores" if is_drawn else ""


def chance_layers(plane: Plane, *, of_curves: bool = False) -> list[alt.Chart]:
    """Draw lines of chance: the expected curves of random scores.

    In charts of precision and in lift charts, the line of chance depends on the numbers of
    positives and negatives. Only curve tables (`of_curves`) contain these numbers, so charts of
    other tables have no line of chance in these cases.
    """
    if not chance_text(plane, of_curves=of_curves):
        return []
    x, y = plane.x, plane.y
    if plane.kind.name in PREVALENCE_KINDS:
        return [_prevalence_levels()]
    if plane.kind.name == "lift_chart":
        return [_lines_to_totals(x), _perfect_lines(x)]
    if plane.kind.name in REFERENCES:
        height = REFERENCES[plane.kind.name][0]
        return [_straight(plane, (x.low, height), (x.high, height))]
    falls = plane.kind.name == "det"
    if "log" in (x.scale, y.scale):
        return [_curved(x, falls=falls)]
    # The part of the line y = x, or y = 1 - x, inside the axes.
    low, high = (1 - y.high, 1 - y.low) if falls else (y.low, y.high)
    start, end = max(x.low, low), min(x.high, high)
    ends = [(value, 1 - value if falls else value) for value in (start, end)]
    return [_straight(plane, *ends)] if start < end else []


def merge_levels(levels: Sequence[float | None], high: float) -> list[float | None]:
    """Replace nearly equal levels by the middle of their range.

    Levels are nearly equal if they differ by at most NEAR_LEVELS times `high`, the end of the axis.
    """
    known = sorted({level for level in levels if level is not None})
    middle: dict[float, float] = {}
    while known:
        near = [level for level in known if level - known[0] <= NEAR_LEVELS * high]
        middle |= dict.fromkeys(near, (near[0] + near[-1]) / 2)
        known = known[len(near) :]
    return [None if level is None else middle[level] for level in levels]


def _straight(plane: Plane, start: tuple[float, float], end: tuple[float, float]) -> alt.Chart:
    (x, y), (x2, y2) = ((plane.x.coordinate(x), plane.y.coordinate(y)) for x, y in (start, end))
    return dashed_rule(x=x, y=y, x2=x2, y2=y2)


def _curved(axis: PlotAxis, *, falls: bool) -> alt.Chart:
    """Draw the line y = x, or y = 1 - x, on logarithmic axes."""
    low = _log_spaced(axis)
    rates = sorted({*low, *(1 - rate for rate in low if rate < 1)}) if falls else low
    points = [{"across": rate, "up": round(1 - rate, 7) if falls else rate} for rate in rates]
    line: alt.Chart = (
        alt.Chart(alt.InlineData(values=points))
        .mark_line(**CHANCE_STROKE)
        .encode(x=alt.X("across:Q"), y=alt.Y("up:Q"))
    )
    return line


def _log_spaced(axis: PlotAxis) -> list[float]:
    """Return evenly spaced rates on a logarithmic axis."""
    shares = (step / LOG_STEPS for step in range(LOG_STEPS + 1))
    return [float(f"{axis.low * (axis.high / axis.low) ** share:.7g}") for share in shares]


def _prevalence_levels() -> alt.Chart:
    text = (
        "format(datum.least, '.4~g') + "
        "(datum.most > datum.least ? ' to ' + format(datum.most, '.4~g') : '')"
    )
    line: alt.Chart = (
        _one_row_per_level(
            alt.AggregatedFieldDef(op="min", field="prevalence", **{"as": "least"}),
            alt.AggregatedFieldDef(op="max", field="prevalence", **{"as": "most"}),
        )
        .transform_calculate(range=text)
        .mark_rule(**CHANCE_STROKE)
        .encode(y=alt.Y("level:Q"), tooltip=tooltip("range", "prevalence"))
    )
    return line


def _lines_to_totals(axis: PlotAxis) -> alt.Chart:
    line: alt.Chart
    if axis.scale == "log":
        points = f"[{','.join(map(str, _log_spaced(axis)))}]"
        line = (
            _one_row_per_level()
            .transform_calculate(across=points)
            .transform_flatten(["across"])
            .transform_calculate(up="datum.across * datum.level")
            .mark_line(**CHANCE_STROKE)
            .encode(x=alt.X("across:Q"), y=alt.Y("up:Q"), detail=alt.Detail("level:N"))
        )
        return line
    line = (
        _one_row_per_level()
        .mark_rule(**CHANCE_STROKE)
        .encode(x=alt.XDatum(1), y=alt.Y("level:Q"), x2=alt.X2Datum(0), y2=alt.Y2Datum(0))
    )
    return line


def _perfect_lines(axis: PlotAxis) -> alt.Chart:
    """Draw the lines of perfect scores in a lift chart.

    There is a line for each combination of a number of positives and a prevalence.
    """
    rows = _one_row_per_level(by=("level", "prevalence"))
    line: alt.Chart
    if axis.scale == "log":
        corner = f"clamp(datum.prevalence, {axis.low}, {axis.high})"
        points = f"[{','.join(map(str, _log_spaced(axis)))},{corner}]"
        line = (
            rows.transform_calculate(across=points)
            .transform_flatten(["across"])
            .transform_calculate(up="datum.level * min(1, datum.across / datum.prevalence)")
            .mark_line(**PERFECT_STROKE)
            .encode(
                x=alt.X("across:Q"),
                y=alt.Y("up:Q"),
                detail=[alt.Detail("level:N"), alt.Detail("prevalence:N")],
            )
        )
        return line
    ends = {
        "left": "[0, datum.prevalence]",
        "right": "[datum.prevalence, 1]",
        "bottom": "[0, datum.level]",
    }
    line = (
        rows.transform_calculate(**ends)
        .transform_flatten([*ends])
        .mark_rule(**PERFECT_STROKE)
        .encode(x=alt.X("left:Q"), x2=alt.X2("right:Q"), y=alt.Y("bottom:Q"), y2=alt.Y2("level:Q"))
    )
    return line


def _one_row_per_level(
    *aggregates: alt.AggregatedFieldDef, by: Sequence[str] = ("level",)
) -> alt.Chart:
    """Return a layer with one row per value of the fields `by`, by default per level of chance."""
    return (
        alt.Chart()
        .transform_filter("isValid(datum.level)")
        .transform_aggregate(list(aggregates), groupby=list(by))
    )
