"""Charts of cost curves and decision curves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.charts.average_chart import (
    REFERENCE_FIELD,
    chart_with_limits,
    interval_caption,
    limit_columns,
    limit_layers,
    plot_with_limits,
)
from rocframe.charts.axes import EMPTY_HEIGHT, Plane, PlotAxis, zoom_plane
from rocframe.charts.curve_data import LAYER
from rocframe.charts.curve_layers import (
    NO_TOOLTIP,
    WITHOUT_CHANCE,
    curve_filter,
    curve_stroke,
    hover_layer,
    line_layer,
    overlay,
    reference_line,
)
from rocframe.charts.groups import GROUP_INDEX, GroupColumn, free_name, nominal
from rocframe.charts.labels import (
    RATE_FORMAT,
    distinct_labels,
    json_numbers,
    sentences,
    short_name,
    tooltip,
)
from rocframe.charts.style import CHANCE_DASH, REFERENCE_COLOR
from rocframe.errors import OptionValueError
from rocframe.frames import column, number_keys
from rocframe.kinds import Kind
from rocframe.options import NOT_GIVEN, check_choice
from rocframe.schemas.table_type import MODEL, THRESHOLD
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.curve_layers import CurvePlot
    from rocframe.charts.groups import Groups
    from rocframe.schemas.table_type import Table

MAX_TRIVIAL_COST = 0.5
SECTION_WIDTH = 3
END_MARGIN, MAX_SHARE = 1.1, 0.8  # of the axis of thresholds of decision curves
MARGIN = 0.1  # the axis of net benefit extends below 0 by this share of its upper end
LINES = "lines"  # the field `part` of the records of single thresholds
TRIVIAL = "The dashed lines show the trivial classifiers"


def cost_curve_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw cost curves, and the cost of the trivial classifiers."""
    x, y = "probability_cost", "expected_cost"
    ordered, by = table.sort(*map(column, layout.by), x), layout.by
    section = across = None
    if "second_cost" in table.columns:
        across = table.columns[table.columns.index("note") + 1]
        if table.get_column(across).is_null().all():
            across = None
    if across is not None:
        ordered, section = _best_curve_sections(ordered, by, across)
        by = (*by, across, section)
        options = replace(options, color=across) if options.color is NOT_GIVEN else options
    plane = _plane(
        PlotAxis(name=x, title="Probability cost"),
        PlotAxis(
            name=y,
            title="Normalized expected cost",
            high=_highest(table, y, least=MAX_TRIVIAL_COST),
        ),
        options,
    )
    fields = {"x": x, "y": y, THRESHOLD: THRESHOLD}
    plot = plot_with_limits(ordered, by, fields, options, plane=plane)
    if options.lines:
        plot = replace(plot, overlays=_threshold_lines(ordered, by, layout.by, plot))
    if section is not None:
        columns = plot.groups.columns.items()
        plot = replace(
            plot,
            groups=replace(
                plot.groups, columns={key: one for key, one in columns if one.title != section}
            ),
        )
    curves = format_count(number_keys(table, layout.by)[0].height, "curve")
    best = f", with a color for each best {short_name(across)}" if across is not None else ""
    return _draw_curves(
        plot,
        [_trivial_layer(y)],
        tooltips=[tooltip(THRESHOLD), *plot.axis_tooltips()],
        title="Cost curve",
        subtitle=("Thin: single thresholds. " if options.lines else "")
        + "Dashed: trivial classifiers",
        description=[
            f"Cost chart, {curves}{best}: {plane.axis_names}",
            "Thin lines show the cost of single thresholds" if options.lines else "",
            TRIVIAL,
        ],
        stroke={"strokeWidth": SECTION_WIDTH} if section else None,
        undrawn=plot.undrawn(len(layout.by)),
    )


def _trivial_layer(y: str) -> alt.Chart:
    return reference_line({"probability_cost": [0, 0.5, 1], y: [0, 0.5, 0]}, CHANCE_DASH)


def _threshold_lines(
    ordered: pl.DataFrame, by: Sequence[str], groups: Sequence[str], plot: CurvePlot
) -> list[dict[str, Any]]:
    """Return a record for the line of each threshold, from (0, fpr) to (1, fnr).

    `by` are the group columns of the drawn lines, which can be sections of a cost curve. `groups`
    are the group columns of whole cost curves. The field GROUP_INDEX of a record is the index of
    its drawn line in `plot`.
    """
    curve, group = (
        pl.Series(name, number_keys(ordered, names)[1])
        for name, names in (("curve", by), ("group", groups))
    )
    rates = ordered.select(curve, "fpr", "fnr", group).drop_nulls()
    # Two sections of an envelope have one point in common, so duplicates are removed.
    rates = rates.unique(["group", "fpr", "fnr"], keep="last", maintain_order=True)
    records = []
    numbers, *ends = (rates.get_column(name).to_list() for name in ("curve", "fpr", "fnr"))
    for line, (number, fpr, fnr) in enumerate(zip(numbers, *ends, strict=True)):
        points = {plot.plane.x.name: [0, 1], plot.plane.y.name: json_numbers([fpr, fnr])}
        records.append({GROUP_INDEX: number, LAYER: LINES, "_line": line} | points)
    plot.groups.name(records)
    return records


def _best_curve_sections(
    ordered: pl.DataFrame, by: Sequence[str], across: str
) -> tuple[pl.DataFrame, str]:
    """Divide each envelope of several curves into sections in which the same curve is the best.

    Return the table and the name of its new column, which contains the number of the section. The
    first point of each section is repeated as the last point of the previous section, so that the
    line has no gaps.
    """
    name = free_name("section", ordered.columns)
    keys = list(map(column, by))
    # Where no curve is better than the trivial classifiers, only their lines are drawn.
    filled = column(across)
    for strategy in ("backward", "forward"):
        filled = filled.fill_null(strategy=strategy, limit=1)
    ordered = ordered.with_columns(filled.over(keys) if keys else filled)
    ordered = ordered.filter(column(across).is_not_null())
    numbered = ordered.with_columns(pl.struct(*keys, column(across)).rle_id().alias(name))
    is_start = pl.struct(*keys, column(name)).rle_id().diff() > 0
    if keys:
        is_start &= pl.struct(keys).rle_id().diff() == 0
    joints = numbered.with_columns(
        column(across).shift().alias(across), column(name).shift().alias(name)
    ).filter(numbered.select(is_start.fill_null(value=False)).to_series())
    return pl.concat([numbered, joints]).sort(*keys, column(name), "probability_cost"), name


def decision_curve_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw decision curves, and the net benefit of treating all and of treating none."""
    x, y = "probability_threshold", "net_benefit"
    axis, omitted = _threshold_axis(table, y, "treat_all")
    plane = _plane(axis, _net_benefit_axis(table, y, "treat_all"), options)
    ordered = table.sort(x)
    fields = {"x": x, "y": y, REFERENCE_FIELD: "treat_all"}
    plot = plot_with_limits(ordered, layout.by, fields, options, plane=plane)
    curves = format_count(len(plot.records), "curve")
    return _draw_curves(
        plot,
        [_zero_line(plot.plane), _reference_layer(plot, "treat_all")],
        tooltips=[*plot.axis_tooltips(), tooltip("treat_all", number=RATE_FORMAT)],
        title="Decision curve",
        subtitle=sentences(
            "Dashed: treat all, treat none", "" if plane.x.zoomed else omitted, end=""
        ),
        description=[
            f"Decision chart, {curves}: {plane.axis_names}",
            "The dashed lines show the net benefit of treating all and of treating none",
            "" if plane.x.zoomed else omitted,
        ],
    )


def _reference_layer(plot: CurvePlot, column: str) -> alt.Chart:
    """Draw a dashed line for each curve, through the points of its reference."""
    layer: alt.Chart = curve_filter(plot).mark_line(order=False, strokeWidth=1)
    return layer.encode(
        y=alt.Y(field=column, type="quantitative"),
        detail=[nominal(alt.Detail, name) for name in plot.groups.table_columns],
        color=alt.value(REFERENCE_COLOR),
        strokeDash=alt.value(CHANCE_DASH),
        tooltip=NO_TOOLTIP,
    )


def _zero_line(plane: Plane) -> alt.Chart:
    x, y = plane.x, plane.y
    return reference_line({x.name: [x.low, x.high], y.name: [0, 0]}, CHANCE_DASH)


@dataclass(frozen=True, slots=True)
class MurphyPart:
    """A drawn column of `murphy_curve`: its title, its dashed line, and what the dashed line shows.

    `dashed` is the column of the dashed line, or None for a chart without it.
    """

    title: str
    dashed: str | None
    meaning: str


MURPHY_PARTS = {
    "elementary_score": MurphyPart(
        "Mean elementary score", "uncertainty", "Dashed: all rows have the prevalence as score"
    ),
    "miscalibration": MurphyPart("Miscalibration", None, "Calibrated scores have the value 0"),
    "discrimination": MurphyPart(
        "Discrimination", "uncertainty", "Dashed: uncertainty, the value of perfect scores"
    ),
}


def murphy_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw Murphy curves, or one of their parts, and the uncertainty as a dashed line."""
    check_choice("y", options.y, (None, *MURPHY_PARTS))
    x, y = "probability_threshold", str(options.y or "elementary_score")
    part = MURPHY_PARTS[y]
    dashed = {REFERENCE_FIELD: part.dashed} if part.dashed else {}
    plane = _plane(
        PlotAxis(name=x, title="Probability threshold"),
        PlotAxis(
            name=y,
            title=part.title,
            low=-_highest(table.select(-pl.col(y)), y, least=0.0),
            high=_highest(table, y, *dashed.values(), least=0.0) or EMPTY_HEIGHT,
            nice=True,
        ),
        options,
    )
    sides = [name for name in table.columns[len(layout.by) :] if name == "side"]
    plot = plot_with_limits(
        table.sort(x, *sides),
        layout.by,
        {"x": x, "y": y, **dashed},
        options,
        plane=plane,
    )
    name = "Murphy diagram" + ("" if options.y is None else f": {part.title.lower()}")
    return _draw_curves(
        plot,
        [_reference_layer(plot, part.dashed)] if part.dashed else [],
        tooltips=[
            *plot.axis_tooltips(),
            *(tooltip(name, number=RATE_FORMAT) for name in dashed.values()),
        ],
        title=name,
        subtitle=part.meaning,
        description=[
            f"{name}, {format_count(len(plot.records), 'curve')}: {plane.axis_names}",
            part.meaning,
        ],
    )


def decision_intervals_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw decision curves or cost curves with bands, or their differences to the baseline."""
    x, y = table.columns[len(layout.by) : len(layout.by) + 2]
    check_choice("y", options.y, (None, y, "difference"))
    shown = _shown_differences(table, y) if options.y == "difference" else _shown_curves(table, y)
    is_cost = y == "expected_cost"
    value, low, high = shown.columns
    axis, omitted = PlotAxis(name=x, title="Probability cost"), ""
    if not is_cost:
        axis, omitted = _threshold_axis(shown.rows, y, "treat_all")
    plane = _plane(axis, shown.axis, options)
    omitted = "" if plane.x.zoomed else omitted
    fields = {"x": x, "y": value, "y_low": low, "y_high": high}
    if value == "net_benefit":
        fields[REFERENCE_FIELD] = "treat_all"
    plot = plot_with_limits(
        shown.rows.sort(x), layout.by, fields, options, plane=plane, averaged=("y",)
    )
    if options.y == "difference":
        plot = replace(plot, groups=_colors_of_all_rows(plot.groups, table, layout.by))
    reference = [_trivial_layer(y) if value == "expected_cost" else _zero_line(plot.plane)]
    if REFERENCE_FIELD in fields:
        reference.append(_reference_layer(plot, "treat_all"))
    caption = interval_caption(table)
    limits = limit_layers(plot, caption, limit_columns(fields)) if caption else []
    tooltips = [
        *plot.groups.tooltips(),
        *plot.axis_tooltips(),
        *(tooltip(name, number=RATE_FORMAT) for name in (low, high)),
    ]
    layers = [
        *limits,
        line_layer(plot, **curve_stroke(plot)),
        *reference,
        hover_layer(plot),
    ]
    return plot.with_titles(
        chart_with_limits(plot, layers, tooltips),
        title=shown.title,
        subtitle=sentences(f"Dashed: {shown.dashed}", omitted, end=""),
        description=[
            f"{shown.title}, {format_count(len(plot.records), 'curve')}: {plane.axis_names}",
            caption,
            f"The dashed lines show: {shown.dashed}",
            omitted,
        ],
    )


@dataclass(frozen=True, slots=True)
class ShownIntervals:
    """The content of a chart of `decision_intervals`: the drawn rows, the title and the y axis.

    `columns` are the columns of the values, of their lower limits and of their upper limits.
    `dashed` is the meaning of the dashed lines.
    """

    rows: pl.DataFrame
    title: str
    axis: PlotAxis
    columns: tuple[str, str, str]
    dashed: str


def _shown_curves(table: pl.DataFrame, y: str) -> ShownIntervals:
    """Return the content of a chart of decision curves or cost curves; `y` is the drawn column."""
    columns = (y, "lower", "upper")
    if y == "expected_cost":
        high = _highest(table, y, "upper", least=MAX_TRIVIAL_COST)
        axis = PlotAxis(name=y, title="Normalized expected cost", high=high)
        return ShownIntervals(table, "Cost curve", axis, columns, "trivial classifiers")
    axis = _net_benefit_axis(table, y, "upper", "treat_all")
    return ShownIntervals(table, "Decision curve", axis, columns, "treat all, treat none")


def _shown_differences(table: pl.DataFrame, y: str) -> ShownIntervals:
    """Return the content of a chart of differences to the baseline; `y` is the compared column."""
    rows = table.filter(pl.col("difference").is_not_null())
    if not rows.height:
        problem = "the table has no differences"
        hint = "Compute the table with baseline=."
        raise OptionValueError.compose("y", "difference", problem, hint)
    is_baseline = pl.col("difference").is_null() & pl.col(y).is_not_null()
    baselines = table.filter(is_baseline).get_column(MODEL)
    name = "the baseline"
    if baselines.n_unique() == 1:
        name = distinct_labels(baselines[:1])[0]
    ends = ["difference", "difference_lower", "difference_upper"]
    low = -_highest(rows.select(-pl.col(ends)), *ends, least=0.0)
    high = _highest(rows, *ends, least=0.0)
    if y == "net_benefit":  # differences can be arbitrarily large at thresholds close to 1
        largest = _highest(rows, y, "treat_all", least=0.0) / 2
        low, high = max(low, -largest), min(high, largest)
    high = high if high > low else low + EMPTY_HEIGHT
    is_cost = y == "expected_cost"
    axis = PlotAxis(
        name="difference",
        title=f"Difference to {name}",
        low=low,
        high=high,
        nice=True,
        clipped=not is_cost,
    )
    title = "Difference of expected costs" if is_cost else "Difference of net benefits"
    sign = f"no difference; {'below' if is_cost else 'above'} 0: better than {name}"
    return ShownIntervals(rows, title, axis, (ends[0], ends[1], ends[2]), sign)


def _colors_of_all_rows(groups: Groups, table: pl.DataFrame, by: Sequence[str]) -> Groups:
    """Return groups with the same colors as in a chart of all rows, including the baseline."""
    color = groups.color
    if color is None:
        return groups
    name = by[list(groups.columns).index(color)]
    values = GroupColumn.from_keys(table.get_column(name))
    colored = groups.columns[color].with_colors_of(values)
    return replace(groups, columns={**groups.columns, color: colored})


def _highest(table: pl.DataFrame, *names: str, least: float) -> float:
    """Return the largest value of several columns, or `least` if it is larger."""
    values = table.select(pl.max_horizontal(pl.col(names).max(), pl.lit(least)))
    return float(values.item())


def _threshold_axis(table: pl.DataFrame, *benefits: str) -> tuple[PlotAxis, str]:
    """Return the axis of thresholds, and a text if it ends before the highest threshold.

    It ends a little above the last threshold at which one of the columns `benefits` is positive.
    """
    name = "probability_threshold"
    axis = PlotAxis(name=name, title="Probability threshold")
    used = table.filter(pl.max_horizontal(pl.col(benefits)) > 0).get_column(name)
    end = 0.0 if used.is_empty() else float(used.max())  # type: ignore[arg-type]
    high = ceil(END_MARGIN * end * 20) / 20
    if not 0 < high < MAX_SHARE * _highest(table, name, least=0.0):
        return axis, ""
    return replace(axis, high=high), f"No net benefit is positive above {end:.3g}"


def _net_benefit_axis(table: pl.DataFrame, *names: str) -> PlotAxis:
    """Return the axis of the net benefits in the columns `names`.

    Net benefit has no minimum, so the axis shows only a small range below 0.
    """
    high = _highest(table, *names, least=0.0) or EMPTY_HEIGHT
    return PlotAxis(
        name="net_benefit",
        title="Net benefit",
        low=-MARGIN * high,
        high=high,
        nice=True,
        clipped=True,
    )


def _plane(x: PlotAxis, y: PlotAxis, options: ChartOptions) -> Plane:
    """Return the axes with the domains of the options; the range of a clipped axis is not round."""
    kind = Kind(name=WITHOUT_CHANCE, title=y.title, x=x.name, y=y.name)
    plane = zoom_plane(Plane(kind=kind, x=x, y=y), options)
    return replace(plane, y=replace(plane.y, nice=plane.y.nice and not y.clipped))


def _thin_lines(plot: CurvePlot) -> alt.Chart:
    """Draw the lines of single thresholds, clipped to the axes."""
    layer: alt.Chart = overlay(LINES).mark_line(
        order=False, clip=True, strokeWidth=0.7, opacity=0.4
    )
    details = [*plot.groups.details(), alt.Detail("_line:N")]
    return layer.encode(detail=details, tooltip=NO_TOOLTIP)


def _draw_curves(
    plot: CurvePlot,
    references: Sequence[alt.Chart],
    *,
    tooltips: list[alt.Tooltip],
    title: str,
    subtitle: str,
    description: Sequence[str],
    stroke: dict[str, Any] | None = None,
    undrawn: Sequence[str] | None = None,
) -> alt.LayerChart | alt.FacetChart:
    """Return the chart of a plot: curves, threshold lines, reference lines, tooltips and titles."""
    stroke = curve_stroke(plot) if stroke is None else stroke
    layers = [
        *([_thin_lines(plot)] if plot.overlays else []),
        line_layer(plot, **stroke),
        *references,
        hover_layer(plot),
    ]
    return plot.with_titles(
        chart_with_limits(plot, layers, [*plot.groups.tooltips(), *tooltips]),
        title=title,
        subtitle=subtitle,
        description=description,
        undrawn=undrawn,
    )
