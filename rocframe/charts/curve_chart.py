"""Charts of curves."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import altair as alt

from rocframe.charts.area_limits import read_area_limits
from rocframe.charts.axes import (
    chart_kind,
    curve_plane,
    given_titles,
    prevalence_text,
    zoom_plane,
)
from rocframe.charts.curve_data import (
    LAYER,
    LEVEL_STEP,
    OverlayInput,
    drawn_points,
    point_fields,
    records_of,
    simplified_lines,
)
from rocframe.charts.curve_layers import (
    NO_TOOLTIP,
    CurvePlot,
    chance_key,
    chance_layers,
    chance_records,
    chance_text,
    curve_stroke,
    line_layer,
    overlay,
    row_counts,
    row_layer,
    row_tooltips,
)
from rocframe.charts.groups import (
    GROUP_INDEX,
    JOINT,
    MAX_AREAS_IN_PANEL,
    area_captions,
    area_name,
    area_text,
    areas_of,
    read_groups,
    total_area,
)
from rocframe.charts.labels import EMPTY_REASON, RATE_FORMAT, json_number, sentences, tooltip
from rocframe.charts.layer_chart import CURVE_LINE
from rocframe.charts.marks import MARK_FIELDS, unmarked_text
from rocframe.charts.overlays import (
    BOX,
    overlay_layers,
    overlay_records,
    overlay_texts,
)
from rocframe.charts.style import REFERENCE_COLOR
from rocframe.charts.threshold_chart import has_threshold_axis, threshold_chart
from rocframe.curves.table import check_ends, curve_layout, read_curves
from rocframe.frames import column
from rocframe.kinds import PREVALENCE
from rocframe.rates import CONFUSION
from rocframe.schemas.curves import GIVEN_THRESHOLDS
from rocframe.schemas.table_type import CURVE_COLUMNS
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.charts.axes import Plane
    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import GroupColumn, Groups
    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind
    from rocframe.schemas.table_type import Table

NOTE = "_note"  # the field of the text in an empty panel
OUTSIDE = "all curves lie outside the axes"


def curve_chart(
    table: pl.DataFrame, _layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the curves of a table with lines of chance, tooltips and overlays."""
    by = curve_layout(table.schema, options.by, ()).by
    if has_threshold_axis(options):
        curves = curves_of(table, by)
        _check_last_rows(curves)
        return threshold_chart(curves, by, table.columns, options)
    kind = chart_kind(table.columns, options)
    curves = curves_of(table, by)
    axes = (options.x or kind.x, str(options.y or kind.y))
    taken = (*axes, *CONFUSION, PREVALENCE, area_name(kind), *MARK_FIELDS)
    groups = read_groups(curves.keys, by, table.columns, options, taken)
    _check_last_rows(curves)
    areas = areas_of(curves, kind)
    # The area between given thresholds is unknown, and not shown.
    shown = None if curves.has_gaps.any() else areas
    if groups.one_color is not None:
        groups = groups.with_highlight(_best_values(groups.columns[groups.one_color], areas))
    limits = read_area_limits(options.areas, curves.keys, groups.captioned_column, areas, kind)
    groups = replace(
        groups, captions=area_captions(groups.captioned_column, shown, kind, limits.texts)
    )
    points = drawn_points(curves, kind, areas)
    full = given_titles(curve_plane(kind, points, options.scale), options)
    plane = zoom_plane(full, options)
    if plane.zoomed:
        points = drawn_points(curves, kind, areas, step=LEVEL_STEP * plane.visible_share(full))
    records = records_of(simplified_lines(plane, points), curves, plane)
    overlays = overlay_records(
        OverlayInput(plane=plane, curves=curves, line_points=points), options
    )
    groups.name(records)
    groups.name(overlays)
    notes = _notes(records, groups.panel, areas, plane)
    cells = [] if shown is None else _panel_areas(records, groups, shown, plane)
    chance = chance_records(plane, records, groups.panel)
    overlays += [*notes, *cells, *(chance if groups.panel else [])]
    tooltips = []
    for record in records:
        record.pop(PREVALENCE)
        if shown is not None:
            record[area_name(kind)] = json_number(areas[record[GROUP_INDEX]])
            tooltips = [tooltip(area_name(kind), number=RATE_FORMAT)]
    fields = point_fields(plane)
    if any(BOX in record for record in overlays):
        fields = (*fields, BOX)
    plot = CurvePlot(plane=plane, records=records, groups=groups, overlays=overlays, fields=fields)
    layers = [
        *chance_layers(plane, chance, groups.panel),
        line_layer(plot, **curve_stroke(plot), style=CURVE_LINE),
        row_layer(plot),
        *overlay_layers(plot, options),
        *([_note_layer(groups.side)] if notes else []),
        *([_area_layer(groups.side, kind)] if cells else []),
    ]
    # The subtitle shows the area if no legend, panel header or tooltip shows it.
    area = "" if groups.captioned_column else total_area(shown, kind, groups)
    area = " ".join(filter(None, (area, limits.texts.get(""))))
    prevalence = prevalence_text(curves.prevalence, (kind.x, kind.y))
    unmarked = unmarked_text(options, overlays)
    key = chance_key(plane) if options.legend else ""
    return groups.with_titles(
        plot.layered(layers, [*row_tooltips(plot), *tooltips], calculated=row_counts(plot)),
        title=kind.title,
        subtitle=JOINT.join(filter(None, (area, limits.caption, prevalence, key, unmarked))),
        description=sentences(
            f"{plane.name}, {format_count(len(records), 'curve')}: {plane.axis_names}",
            chance_text(plane, of_curves=True),
            plane.zoom_text,
            prevalence.capitalize(),
            groups.captions_text() or area,
            limits.caption.capitalize(),
            *overlay_texts(curves, groups.captioned_column, options, overlays),
            f"Nothing is drawn: {OUTSIDE}" if notes and groups.panel is None else "",
        ),
    )


MAX_HIGHLIGHTED = 5  # of many values, if the user highlights none
AREA_LINE = 13  # height of a line of text in pixels
# Corners of panels that curves do not reach, by kind; else the lower right one.
AREA_CORNERS = {"precision_recall": "lower left", "det": "upper right", "lift": "upper right"}
PANEL_AREA = "panel area"


def _best_values(column: GroupColumn, areas: Sequence[float]) -> list[str]:
    """Return the values of a column with the largest mean areas, in this order."""
    known: dict[str, list[float]] = {}
    for value, area in zip(column.texts, areas, strict=True):
        if not isnan(area):
            known.setdefault(value, []).append(area)
    return sorted(known, key=lambda value: -fmean(known[value]))[:MAX_HIGHLIGHTED]


def _panel_areas(
    records: Sequence[dict[str, Any]], groups: Groups, areas: Sequence[float], plane: Plane
) -> list[dict[str, Any]]:
    """Return records of the areas to write into panels, if no legend or header shows them."""
    panel, color = groups.panel, groups.color
    if groups.captioned_column is not None or panel is None or color is None:
        return []
    by_cell: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        by_cell.setdefault((record[panel], record[color]), []).append(record)
    n_lines = Counter(name for name, _ in by_cell)
    if max(n_lines.values(), default=0) > MAX_AREAS_IN_PANEL:
        return []
    cells = []
    for (name, value), part in by_cell.items():
        text = area_text([areas[record[GROUP_INDEX]] for record in part], plane.kind)
        nothing: dict[str, Any] = {field: [None] for field in point_fields(plane)}
        line = {LAYER: PANEL_AREA, "_text": text, "_line": n_lines[name]}
        n_lines[name] -= 1
        cells.append({panel: name, color: value} | nothing | line)
    return cells


def _area_layer(side: int, kind: Kind) -> alt.Chart:
    """Write the areas of a panel into one of its corners, in the colors of the curves."""
    corner = AREA_CORNERS.get(kind.name, "lower right")
    is_left = corner.endswith("left")
    align: Literal["left", "right"] = "left" if is_left else "right"
    start = 16 if corner.startswith("upper") else side - 6
    step = AREA_LINE if corner.startswith("upper") else -AREA_LINE
    y = alt.value(alt.expr(f"{start} + {step} * (datum._line - 1)"))
    text = overlay(PANEL_AREA).mark_text(align=align, baseline="bottom", fontSize=11)
    x = alt.value(4 if is_left else side - 4)
    layer: alt.Chart = text.encode(x=x, y=y, text="_text:N", tooltip=NO_TOOLTIP)
    return layer


def _check_last_rows(curves: Curves) -> None:
    """Raise an error if a curve ends before its lowest score."""
    check_ends(
        curves,
        "its chart would be incomplete",
        "Compute the curve without thresholds=, and keep all its rows. To draw a part of the "
        "axes, use .roc.chart(x_domain=(0, 0.2)) or y_domain=.",
        gaps=True,
    )


def curves_of(table: pl.DataFrame, by: Sequence[str]) -> Curves:
    """Read the group columns, thresholds, counts and prevalence of a curve table."""
    layout = curve_layout(table.schema, by, ())
    names = [PREVALENCE] * layout.has_prevalence
    names += [*GIVEN_THRESHOLDS] * layout.has_given_thresholds
    narrow = table.select(column(name) for name in (*by, *CURVE_COLUMNS, *names))
    columns = curve_layout(narrow.schema, by, ())
    return read_curves(narrow.select(columns.all_columns), columns)


def _notes(
    records: Sequence[dict[str, Any]],
    panel: str | None,
    areas: Sequence[float],
    plane: Plane,
) -> list[dict[str, Any]]:
    """Return a record with the reason for each panel in which no curve is drawn.

    In a chart without panels, undefined areas have no such record, because the subtitle or legend
    states that they are undefined.
    """
    by_panel: dict[Any, list[dict[str, Any]]] = {}
    for record in records:
        by_panel.setdefault(panel and record[panel], []).append(record)
    notes = []
    for panel_records in by_panel.values():
        if any(record[plane.x.name] for record in panel_records):
            continue
        known = [areas[record[GROUP_INDEX]] for record in panel_records]
        text = area_text(known, plane.kind) if all(map(isnan, known)) else OUTSIDE
        if panel is not None or text == OUTSIDE:
            nothing: dict[str, Any] = {name: [None] for name in point_fields(plane)}
            notes.append(panel_records[0] | nothing | {LAYER: EMPTY_REASON, NOTE: text})
    return notes


def _note_layer(side: int) -> alt.Chart:
    """Write the reason for an empty panel below its center, where no diagonal crosses it."""
    x, y = alt.XValue(side / 2), alt.YValue(side * 0.85)
    text = overlay(EMPTY_REASON).mark_text(fontSize=12)
    layer: alt.Chart = text.encode(
        x=x, y=y, text=f"{NOTE}:N", color=alt.value(REFERENCE_COLOR), tooltip=NO_TOOLTIP
    )
    return layer
