"""Layers of charts of curves: their lines, lines of chance, and points with tooltips."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.axes import CALIBRATION_PLANE, FREE
from rocframe.charts.curve_data import LAYER, NEGATIVES, POSITIVES, row_field
from rocframe.charts.groups import GROUP_INDEX
from rocframe.charts.labels import (
    COUNT_FORMAT,
    MAX_IN_SUBTITLE,
    RATE_FORMAT,
    escape_field,
    inline_data,
    json_numbers,
    not_drawn,
    sentences,
    tooltip,
)
from rocframe.charts.layer_chart import layered
from rocframe.charts.style import CHANCE_DASH, PERFECT_DASH, REFERENCE_COLOR
from rocframe.kinds import PREVALENCE
from rocframe.rates import CONFUSION
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.axes import Plane, PlotAxis
    from rocframe.charts.groups import Groups
    from rocframe.charts.layer_chart import LayerChart

MANY_CURVES = 20  # a panel with more curves has thin lines
NEAR_LEVELS = 1 / 100  # share of an axis; closer lines of chance are merged
LOG_STEPS = 48  # segments of a line of chance on logarithmic axes
WITHOUT_CHANCE = "means"  # name of the kind of charts without lines of chance, such as means
# The values of the field LAYER in the records of lines of chance and of perfect scores.
CHANCE, PERFECT_SCORES = "chance", "perfect scores"
NO_TOOLTIP = alt.TooltipValue(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePlot:
    """Data of a curve chart: its axes, a record for each curve or point, and the groups.

    `overlays` are records of other layers, such as hulls and marked points. `fields` are the fields
    of a record with a value for each point, if the record contains points.
    """

    plane: Plane
    records: list[dict[str, Any]]
    groups: Groups
    overlays: list[dict[str, Any]] = field(default_factory=list)
    fields: tuple[str, ...] = ()

    def layered(
        self,
        layers: Sequence[alt.Chart],
        tooltips: Sequence[alt.Tooltip],
        *,
        deviates: Sequence[str] = (),
        calculated: Mapping[str, str] | None = None,
        height: float | None = None,
        **channels: Any,
    ) -> LayerChart:
        """Return a chart of layers that share axes, colors and tooltips.

        `deviates` are rates in addition to the axes whose normal deviates are drawn. `calculated`
        are Vega expressions of fields. `channels` replace shared channels.
        """
        if self.plane.clipped:
            for layer in layers:
                layer.mark.clip = True
        # Later lines are above earlier lines.
        data = [*sorted(self.records, key=self.groups.is_highlighted), *self.overlays]
        for record in data:
            for name in self.fields:
                record.setdefault(name, [])
        steps = alt.Chart()
        if self.fields:
            steps = steps.transform_flatten([*map(escape_field, self.fields)])
        expressions = {**(calculated or {})} | self.plane.deviates(*deviates)
        if expressions:
            steps = steps.transform_calculate(**expressions)
        shared = {**self.plane.channels(), **self.groups.channels(), "tooltip": [*tooltips]}
        return layered(
            layers,
            data=inline_data(data),
            encoding=shared | channels,
            transform=steps.transform,
            width=self.groups.side,
            height=height or self.groups.side,
        )

    def undrawn(self, n_columns: int | None = None) -> list[str]:
        """Return the names of the groups without a drawn point.

        The first `n_columns` group columns determine the groups; by default, all group columns.
        """
        columns = dict(list(self.groups.columns.items())[:n_columns])
        names = replace(self.groups, columns=columns).names(len(self.records))
        is_drawn = [record[self.plane.x.name] not in (None, []) for record in self.records]
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
        return [
            tooltip(axis.name, self.plane.title(axis.name, axis.name), RATE_FORMAT)
            for axis in (self.plane.x, self.plane.y)
            if counts or axis.name not in (THRESHOLD, *CONFUSION)
        ]


def overlay(part: str | None) -> alt.Chart:
    """Return a layer with the records of the overlay `part`; with None, those of the curves."""
    condition = f"!isValid(datum.{LAYER})" if part is None else f"datum.{LAYER} === '{part}'"
    layer: alt.Chart = alt.Chart().transform_filter(condition)
    return layer


def curve_filter(plot: CurvePlot) -> alt.Chart:
    """Return a layer with the records of the curves, without overlays."""
    return overlay(None) if plot.overlays else alt.Chart()


def line_layer(plot: CurvePlot, **stroke: Any) -> alt.Chart:
    """Draw lines through the points in the order of the records.

    Otherwise, Vega-Lite would sort the points of a line by x.
    """
    layer: alt.Chart = curve_filter(plot).mark_line(order=False, **stroke)
    return layer.encode(tooltip=NO_TOOLTIP)


def curve_stroke(plot: CurvePlot) -> dict[str, Any]:
    """Return the stroke of lines: thin if they have the same color or a panel has many curves."""
    groups, records = plot.groups, plot.records
    if groups.highlighted:
        return {"strokeWidth": 1.5}
    shared = groups.max_curves(records, groups.color, groups.panel) > 1
    if shared or groups.max_curves(records, groups.panel) > MANY_CURVES:
        return {"strokeWidth": 1, "opacity": 0.5}
    return {"strokeWidth": 2}


def hover_layer(plot: CurvePlot) -> alt.Chart:
    """Draw invisible points on the lines, with the tooltips of the chart."""
    layer: alt.Chart = curve_filter(plot).mark_point(filled=True, size=80, opacity=0)
    # The channels are constant, so that legends show the symbols of the lines.
    return layer.encode(color=alt.ColorValue("transparent"), strokeDash=alt.StrokeDashValue([1, 0]))


def row_layer(plot: CurvePlot) -> alt.Chart:
    """Draw invisible points at the rows of a curve table on the lines.

    Interpolated points have no counts, and no tooltip.
    """
    layer: alt.Chart = hover_layer(plot).transform_filter(f"isValid(datum.{row_field(plot.plane)})")
    return layer


def row_tooltips(plot: CurvePlot) -> list[alt.Tooltip]:
    """Return the tooltip lines of a row of a curve table: groups, threshold, rates and counts."""
    return [
        *plot.groups.tooltips(),
        tooltip(THRESHOLD),
        *plot.axis_tooltips(counts=False),
        *(tooltip(name, plot.plane.title(name, name), COUNT_FORMAT) for name in CONFUSION),
    ]


def row_counts(plot: CurvePlot) -> dict[str, str]:
    """Return the Vega expressions of the counts that the records do not contain."""
    counts = {"fn": f"datum.{POSITIVES} - datum.tp", "tn": f"datum.{NEGATIVES} - datum.fp"}
    return {name: text for name, text in counts.items() if name not in plot.fields}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """The lines of chance of a kind of curves: their description, and where they are.

    The line is y = x, or y = 1 - x if it `falls`, or horizontal at a `height`. With `of_curves`,
    the lines depend on the numbers of positives and negatives of each curve. `key` explains the
    lines in the subtitle.
    """

    text: str = "The dashed line shows chance"
    height: float | None = None
    falls: bool = False
    of_curves: bool = False
    key: str = ""


OF_PREVALENCES = Chance(text="Each dashed line shows chance at one prevalence", of_curves=True)
# The lines of chance of kinds of curves; None if there are none, and y = x for all other kinds.
CHANCES: dict[str, Chance | None] = {
    "precision_recall": OF_PREVALENCES,
    "predictive_value": OF_PREVALENCES,
    "lift_chart": Chance(
        text=f"{OF_PREVALENCES.text}. Dotted lines show perfect scores",
        of_curves=True,
        key="dashed: chance, dotted: perfect scores",
    ),
    "lift": Chance(height=1),
    "skill": Chance(text="The dashed line shows the best constant prediction", height=0),
    "det": Chance(falls=True),
    CALIBRATION_PLANE.kind.name: Chance(text="The dashed line shows perfect calibration"),
    FREE: None,
    WITHOUT_CHANCE: None,
}


def _chance_of(plane: Plane) -> Chance | None:
    """Return the lines of chance of a chart; None if it has none."""
    return CHANCES.get(plane.kind.name, Chance()) if plane.diagonal else None


def chance_text(plane: Plane, *, of_curves: bool = False) -> str:
    """Return a sentence about the lines of chance; empty if the chart has none.

    `of_curves` is True for charts of curve tables, which contain the prevalence.
    """
    chance = _chance_of(plane)
    return "" if chance is None or (chance.of_curves and not of_curves) else chance.text


def chance_key(plane: Plane) -> str:
    """Return the meaning of the dashed and dotted lines of a lift chart; empty for other charts."""
    chance = _chance_of(plane)
    return "" if chance is None else chance.key


def reference_line(points: Mapping[str, Sequence[Any]], dash: Sequence[int]) -> alt.Chart:
    """Draw a line of constant points, which are columns of values by field.

    The layer has its own data, so that filters of the chart do not remove it.
    """
    rows = [dict(zip(points, row, strict=True)) for row in zip(*points.values(), strict=True)]
    layer: alt.Chart = _reference(alt.Chart(alt.InlineData(values=rows)), dash)
    return layer


def _reference(layer: Any, dash: Sequence[int]) -> Any:
    return layer.mark_line(order=False, strokeWidth=1).encode(
        color=alt.ColorValue(REFERENCE_COLOR),
        strokeDash=alt.StrokeDashValue([*dash]),
        tooltip=NO_TOOLTIP,
    )


def chance_records(
    plane: Plane, records: Sequence[Mapping[str, Any]], panel: str | None, prevalence: float | None
) -> list[dict[str, Any]]:
    """Return the records of the lines of chance that depend on the curves, and of perfect scores.

    `records` are those of the curves, and the values of `panel` have separate panels. `prevalence`
    is that of all curves; None for the prevalence of each curve.
    """
    chance = _chance_of(plane)
    if chance is None or not chance.of_curves:
        return []
    is_lift = plane.kind.name == "lift_chart"
    x, y = plane.x.name, plane.y.name
    drawn = [record for record in records if record[x]]
    totals: list[Any] = [record[POSITIVES] for record in drawn]
    sizes = (record[POSITIVES] + record[NEGATIVES] for record in drawn)
    shares: list[Any] = json_numbers(
        total / size if prevalence is None else prevalence
        for total, size in zip(totals, sizes, strict=True)
    )
    totals = totals if is_lift else shares
    groups = [panel and record[panel] for record in drawn]
    known: dict[Any, list[Any]] = {}
    rows = (groups, merge_levels(totals, plane.y.high), totals, merge_levels(shares, 1))
    for group, level, total, share in zip(*rows, strict=True):
        known.setdefault((group, level), []).append((total, share))
    across = _log_spaced(plane.x) if plane.x.scale == "log" else [plane.x.low, plane.x.high]
    lines: list[dict[str, Any]] = []
    for (name, level), values in known.items():
        group = {} if panel is None else {panel: name}
        if not is_lift:
            ends = [f"{end:.4g}" for end in (min(values)[0], max(values)[0])]
            text = " to ".join(dict.fromkeys(ends))
            lines.append(
                {x: across, y: [level] * len(across), PREVALENCE: text, LAYER: CHANCE} | group
            )
            continue
        lines.append({x: across, y: [level * at for at in across], LAYER: CHANCE} | group)
        for share in dict.fromkeys(share for _, share in values):
            corner = min(max(share, plane.x.low), plane.x.high)
            at = sorted({*across, corner})
            up = [level * min(1, one / share) for one in at]
            lines.append({x: at, y: up, LAYER: PERFECT_SCORES} | group)
    return [line | {GROUP_INDEX: None, "_line": i} for i, line in enumerate(lines)]


def chance_layers(
    plane: Plane, overlays: Sequence[Mapping[str, Any]] = (), panel: str | None = None
) -> list[alt.Chart]:
    """Draw lines of chance: the expected curves of random scores.

    In charts of precision and in lift charts, the line of chance depends on the numbers of
    positives and negatives. Only curve tables contain these numbers; `overlays` then contains the
    result of `chance_records`. Without a field `panel`, the layers have their own data.
    """
    layers = []
    for part, dash in ((CHANCE, CHANCE_DASH), (PERFECT_SCORES, PERFECT_DASH)):
        lines = [record for record in overlays if record.get(LAYER) == part]
        if lines:
            layer = overlay(part) if panel else _own_points(plane, lines)
            line = _reference(layer, dash).encode(detail=alt.Detail("_line:N"))
            if PREVALENCE in lines[0]:
                line = line.encode(tooltip=[tooltip(PREVALENCE)])
            layers.append(line)
    chance = _chance_of(plane)
    if chance is None or chance.of_curves:
        return layers
    x, y = plane.x, plane.y
    height, falls = chance.height, chance.falls
    is_curved = height is None and "log" in (x.scale, y.scale)
    rates = _log_spaced(x) if is_curved else [x.low, x.high]
    if falls and is_curved:
        rates = sorted({*rates, *(1 - rate for rate in rates if rate < 1)})
    up = [height if height is not None else round(1 - rate, 7) if falls else rate for rate in rates]
    points = {
        axis.field: [axis.coordinate(value) for value in values]
        for axis, values in ((x, rates), (y, up))
    }
    return [reference_line(points, CHANCE_DASH)]


def _own_points(plane: Plane, lines: Sequence[Mapping[str, Any]]) -> alt.Chart:
    """Return a layer with a row for each point of the records of lines."""
    x, y = plane.x.name, plane.y.name
    rows = [
        {name: line[name] for name in (PREVALENCE, "_line") if name in line} | {x: across, y: up}
        for line in lines
        for across, up in zip(line[x], line[y], strict=True)
    ]
    return alt.Chart(alt.InlineData(values=rows))


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


def _log_spaced(axis: PlotAxis) -> list[float]:
    """Return evenly spaced rates on a logarithmic axis."""
    shares = (step / LOG_STEPS for step in range(LOG_STEPS + 1))
    return [float(f"{axis.low * (axis.high / axis.low) ** share:.7g}") for share in shares]
