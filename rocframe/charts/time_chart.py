"""Charts of areas over time: areas of groups with a date, and windows with their reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import polars as pl

from rocframe.charts.dot_plot import (
    HIGH,
    LOW,
    PANEL,
    add_limits,
    combined_column,
    documented_columns,
    interval_text,
    is_near,
    row_records,
)
from rocframe.charts.groups import JOINT, PANEL_SIDE, read_groups
from rocframe.charts.labels import (
    EMPTY_REASON,
    MAX_IN_SUBTITLE,
    domain_of,
    finite,
    inline_data,
    json_values,
    not_drawn,
    note_text,
    number_text,
    sentences,
    short_name,
    tooltip,
)
from rocframe.charts.layer_chart import LayerChart
from rocframe.charts.style import BAND_OPACITY, CHANCE_STROKE, MUTED, dashed_rule
from rocframe.errors import BrokenCurveError
from rocframe.frames import column
from rocframe.options import parse_names
from rocframe.schemas.columns import MODEL, WINDOW, WINDOW_END
from rocframe.text import format_count, format_values, join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import Groups
    from rocframe.schemas.table_type import DotStyle, Table

MIN_TIMES = 3  # minimum number of times of a time axis; fewer times are lines of a dot plot
MAX_TICKS, MAX_TICKS_IN_PANEL = 8, 3  # of an axis of windows
LABEL_WIDTH = 80  # of a date in pixels, with a margin
TIME, TIME_WIDTH, TIME_HEIGHT = "time", 560, 260
TIME_TEXT, END_TEXT, RING, HAS_LINE = "date", "end", "ring", "line"
REFERENCE = "reference_auc"
REFERENCE_LOW = "reference_lower"
REFERENCE_LIMITS = (REFERENCE_LOW, "reference_upper")


def date_column(table: pl.DataFrame, by: Sequence[str], options: ChartOptions) -> str | None:
    """Return the group column of dates or times for the x axis, or None for a dot plot."""
    times = [
        name
        for name in _without_ends(by)
        if table.schema[name].base_type() in {pl.Date, pl.Datetime}
        and name not in {options.color, options.facet}
        and table.get_column(name).drop_nulls().n_unique() >= MIN_TIMES
    ]
    return times[0] if len(times) == 1 else None


def time_chart(
    table: pl.DataFrame, by: Sequence[str], time: str, options: ChartOptions, style: DotStyle
) -> alt.LayerChart | alt.FacetChart:
    """Draw areas over time: for each group, a line through dots with intervals."""
    rows = TimeRows.from_table(table, by, time, style.marks[0], options)
    chance = style.chance
    if chance is not None and not is_near(chance, rows.records, style.marks[:1]):
        chance = None
    layers = rows.area_layers(style, [] if chance is None else [chance])
    if chance is not None:
        layers.append(dashed_rule(y=chance))
    return rows.layered(
        layers,
        title=style.title,
        subtitle=interval_text(rows.table),
        description="" if chance is None else f"The dashed line is at {chance:.4g}",
    )


def drift_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the area of each window, the area of the reference, and which windows differ from it.

    The reference is a dashed line, and its interval a band. Windows whose adjusted p-value is below
    1 - level have a ring.
    """
    style = layout.type.dots
    assert style is not None
    time = _window_column(table, layout.by)
    rows = TimeRows.from_table(table, layout.by, time, style.marks[0], options)
    levels = rows.table.get_column("ci_level").drop_nulls()
    alpha = round(1 - levels.item(0), 10) if len(levels) else 0.05
    has_line = _has_one_reference(rows.table, rows.others)
    for record, line in zip(rows.records, has_line, strict=True):
        p_value = record["p_adjusted"]
        record |= {RING: p_value is not None and p_value < alpha, HAS_LINE: line}
    bounds = finite(
        record[name] for record in rows.records for name in REFERENCE_LIMITS if record[HAS_LINE]
    )
    layers = rows.area_layers(style, bounds)
    ring: Any = alt.Chart().mark_point(filled=False, size=190, strokeWidth=2, opacity=1)
    ring = ring.transform_filter(f"datum.{RING}")
    layers.append(ring.encode(x=rows.time_channel(), y=f"{rows.mark}:Q", color=rows.color()))
    if bounds:
        layers = [*layers[:1], *_reference_layers(rows), *layers[1:]]
    names = rows.groups.names(len(rows.records))
    texts = [
        f"{name} {record[TIME_TEXT]}: {number_text(record['auc'])}, "
        f"difference {number_text(record['difference'])}"
        for name, record in zip(names, rows.records, strict=True)
        if record[RING]
    ]
    return rows.layered(
        layers,
        title=style.title,
        subtitle=sentences(
            interval_text(rows.table),
            "Dashed: reference" if bounds else "",
            f"Rings: adjusted p < {alpha:.4g}",
            end="",
        ),
        description=sentences(
            "The dashed line is the AUC of the reference, and the band is its interval"
            if bounds
            else "",
            f"{format_count(len(texts), 'window')} with an adjusted p-value below {alpha:.4g}",
            join_first(texts, separator="; "),
            end="",
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimeRows:
    """The rows of a table in the order of time, with a record for each row.

    `time` is the column on the x axis, `mark` is the column of the areas on the y axis, `others`
    are the other group columns, and `shown` are the columns in tooltips. Rows without a time are
    left out. `undrawn` are their names, and the names of groups without an area.
    """

    table: pl.DataFrame
    time: str
    mark: str
    others: tuple[str, ...]
    shown: tuple[str, ...]
    groups: Groups
    records: list[dict[str, Any]]
    undrawn: tuple[str, ...]

    @classmethod
    def from_table(
        cls, table: pl.DataFrame, by: Sequence[str], time: str, mark: str, options: ChartOptions
    ) -> TimeRows:
        """Return the rows of a table with the group columns `by`."""
        others = [name for name in _without_ends(by) if name != time]
        without = table.filter(column(time).is_null())
        names = (format_values(without.get_column(name)) for name in others)
        undrawn = zip(*names, [f"{short_name(time)} null"] * without.height, strict=True)
        table = table.filter(column(time).is_not_null()).sort(column(time), maintain_order=True)
        groups = read_groups(table.select(map(column, others)), others, table.columns, options)
        groups = _with_default_panels(groups, others, table.height, options)
        shown = documented_columns(table, by)
        records = row_records(table, groups, shown)
        times = table.get_column(time)
        texts = format_values(times)
        positions: Sequence[Any] = texts
        kind = _time_type(times.dtype)
        if kind == "T":
            # Vega interprets times without a time zone as times in the time zone of the reader. To
            # draw the same times as in the table, times are written and drawn as UTC.
            days = times.cast(pl.Datetime("ms")) if times.dtype == pl.Date else times
            utc = days.dt.replace_time_zone(None)
            positions = utc.dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_list()
        elif kind == "Q":
            positions = json_values(times)
        ends = (
            format_values(table.get_column(WINDOW_END))
            if time == WINDOW and WINDOW_END in by
            else texts
        )
        for record, position, text, end in zip(records, positions, texts, ends, strict=True):
            add_limits(record)
            record |= {TIME: position, TIME_TEXT: text}
            if ends is not texts:
                record[END_TEXT] = end
        return cls(
            table=table,
            time=time,
            mark=mark,
            others=tuple(others),
            shown=tuple(shown),
            groups=groups,
            records=records,
            undrawn=(*map(JOINT.join, undrawn), *_groups_without_area(groups, records, mark)),
        )

    def color(self) -> Any:
        """Return the color channel; groups without an area have no legend."""
        return self.groups.line_color(
            {
                record[str(self.groups.color)]
                for record in self.records
                if self.groups.color is not None and finite([record[self.mark]])
            }
        )

    def time_channel(self) -> alt.X:
        """Return the channel of the time axis: temporal, quantitative or ordinal."""
        times, title = self.table.get_column(self.time), short_name(self.time)
        kind = _time_type(times.dtype)
        if self.time == WINDOW and (kind == "T" or WINDOW_END in self.table.columns):
            title = "start of window"
        if kind == "T":
            axis = _time_axis(times, self.time, in_panels=self.groups.panel is not None)
            return alt.X(f"{TIME}:T", title=title, axis=axis, scale=alt.Scale(type="utc"))
        if kind == "Q":
            axis = alt.Axis(format="d", tickMinStep=1)
            return alt.X(f"{TIME}:Q", title=title, axis=axis, scale=alt.Scale(zero=False))
        return alt.X(f"{TIME}:O", title=title, sort=list(dict.fromkeys(format_values(times))))

    def area_layers(self, style: DotStyle, others: Sequence[Any]) -> list[Any]:
        """Return the layers of lines, intervals and dots; `others` are other values on the axis."""
        fields = (self.mark, LOW, HIGH)
        values = finite(record[name] for record in self.records for name in fields)
        x, color = self.time_channel(), self.color()
        y = alt.Y(
            f"{self.mark}:Q",
            title=style.axis,
            scale=alt.Scale(domain=domain_of([*values, *others]), zero=False, nice=True),
        )
        detail = [alt.Detail(f"{name}:N") for name in self.groups.table_columns]
        tooltips = [tooltip(TIME_TEXT, short_name(self.time))]
        if any(END_TEXT in record for record in self.records):
            tooltips.append(tooltip(END_TEXT, WINDOW_END))
        tooltips += [*self.groups.tooltips(), *map(tooltip, self.shown)]
        lines: Any = alt.Chart().mark_line(strokeWidth=1.5)
        points: Any = alt.Chart().mark_point(filled=True, size=36, opacity=1)
        bars: Any = alt.Chart().mark_rule(opacity=0.4)
        layers = [
            lines.encode(x=x, y=y, color=color, detail=detail),
            bars.encode(x=x, y=alt.Y(f"{LOW}:Q"), y2=alt.Y2(f"{HIGH}:Q"), color=color),
            points.encode(x=x, y=y, color=color, tooltip=tooltips),
        ]
        return [*layers, *self._reasons()]

    def _reasons(self) -> list[Any]:
        """Return a layer with the reason of each panel without an area.

        The list is empty if all panels have areas.
        """
        panel = self.groups.panel
        by_panel: dict[str, list[dict[str, Any]]] = {}
        for record in self.records:
            by_panel.setdefault(record[panel] if panel else "", []).append(record)
        empty = [
            records
            for records in by_panel.values()
            if not finite(record[self.mark] for record in records)
        ]
        for records in empty:
            notes = dict.fromkeys(note_text(record.get("note")) for record in records)
            records[0][EMPTY_REASON] = ", ".join(notes)
        text: Any = alt.Chart().transform_filter(f"isValid(datum.{EMPTY_REASON})")
        text = text.mark_text(fontStyle="italic", color=MUTED)
        middle = {"x": alt.XValue(self._width / 2), "y": alt.YValue(self._height / 2)}
        return [text.encode(**middle, text=alt.Text(f"{EMPTY_REASON}:N"))] if empty else []

    @property
    def _width(self) -> int:
        return TIME_WIDTH if self.groups.panel is None else PANEL_SIDE

    @property
    def _height(self) -> int:
        return TIME_HEIGHT if self.groups.panel is None else PANEL_SIDE

    def layered(
        self, layers: Sequence[Any], *, title: str, subtitle: str, description: str
    ) -> alt.LayerChart | alt.FacetChart:
        """Return a chart of the layers with its title, subtitle and description."""
        title = f"{title} over {short_name(self.time)}"
        chart = LayerChart(
            layer=list(layers),
            data=inline_data(self.records),
            width=self._width,
            height=self._height,
        )
        texts = format_values(self.table.get_column(self.time))
        return self.groups.with_titles(
            chart,
            title=title,
            subtitle=sentences(subtitle, not_drawn(self.undrawn, MAX_IN_SUBTITLE), end=""),
            description=sentences(
                f"{title}, {format_count(len(self.records), 'row')}",
                f"From {texts[0]} to {texts[-1]}" if texts else "",
                self.groups.captions_text(),
                description,
                not_drawn(self.undrawn),
            ),
        )


def _groups_without_area(groups: Groups, records: Sequence[dict[str, Any]], mark: str) -> list[str]:
    """Return the names of groups without an area, except in panels that show the reason.

    `mark` is the field of the areas. A panel without any area shows the reason.
    """
    names = groups.names(len(records))
    panels = [record[groups.panel] if groups.panel else "" for record in records]
    drawn = [bool(finite([record[mark]])) for record in records]
    with_area = set(compress(names, drawn))
    with_area_in_panel = set(compress(panels, drawn))
    return list(
        dict.fromkeys(
            name
            for name, panel in zip(names, panels, strict=True)
            if name not in with_area and panel in with_area_in_panel
        )
    )


def _without_ends(by: Sequence[str]) -> list[str]:
    """Return the group columns without the column of the ends of windows."""
    return [name for name in by if not (name == WINDOW_END and WINDOW in by)]


def _time_type(dtype: pl.DataType) -> Literal["T", "Q", "O"]:
    """Return the type of a time axis for a dtype: temporal, quantitative or ordinal."""
    if dtype.base_type() in {pl.Date, pl.Datetime}:
        return "T"
    return "Q" if dtype.is_integer() else "O"


def _with_default_panels(
    groups: Groups, by: Sequence[str], height: int, options: ChartOptions
) -> Groups:
    """Return groups whose lines of equal color are in different panels.

    By default, the values of one group column have colors. The values or combinations of values of
    the other group columns have panels, because lines of equal color could not be distinguished.
    The groups do not change if `facet` is given, or if `color` is None. Columns with one value, and
    columns that `detail` names, have no panels.
    """
    if groups.panel is not None or options.color is None:
        return groups
    details = parse_names(options.detail)
    fields = {
        key: groups.columns[key]
        for name, key in zip(by, groups.columns, strict=False)
        if name not in details
        and key not in {groups.color, groups.one_color}
        and len(groups.columns[key].values) > 1
    }
    if len(fields) < 2:
        return replace(groups, panel=next(iter(fields), None))
    joint = combined_column([*fields.values()], height, sort=True)
    return replace(groups, columns={**groups.columns, PANEL: joint}, panel=PANEL)


def _time_axis(times: pl.Series, name: str, *, in_panels: bool) -> Any:
    """Return the axis of dates or times.

    In panels, labels near the ends of the axis do not extend beyond the panel, because they would
    overlap labels of neighboring panels.

    An axis of windows has ticks at the starts of windows: at most MAX_TICKS, or MAX_TICKS_IN_PANEL
    in panels. The default ticks are at Sundays, but weeks start on Monday. Windows of less than a
    day have the default ticks.
    """
    flush: Any = LABEL_WIDTH / 2 if in_panels else False
    default = alt.Axis(labelFlush=flush) if in_panels else alt.Undefined
    if name != WINDOW:
        return default
    starts = times.unique().sort()
    if times.dtype != pl.Date:
        starts = starts.dt.replace_time_zone(None)
        if (starts.dt.truncate("1d") != starts).any():
            return default
    step = -(-len(starts) // (MAX_TICKS_IN_PANEL if in_panels else MAX_TICKS)) or 1
    values = [
        alt.DateTime(year=day.year, month=day.month, date=day.day, utc=True)
        for day in starts.gather_every(step)
    ]
    return alt.Axis(values=values, format="%b %d, %Y", labelFlush=flush, labelOverlap=True)


def _window_column(table: pl.DataFrame, by: Sequence[str]) -> str:
    """Return the group column of the windows of a table of `drift`.

    It has the dtype of the column `reference`. It is the last of the group columns, except for the
    column of the models, which `drift` adds at the end.
    """
    if WINDOW in by:
        return WINDOW
    names = [name for name in by if table.schema[name] == table.schema["reference"]]
    if not names:
        problem = "chart: the table has no column of windows"
        raise BrokenCurveError.compose(problem, "Pass an unchanged table of drift.")
    return names[-2] if len(names) > 1 and names[-1] == MODEL else names[-1]


def _has_one_reference(table: pl.DataFrame, others: Sequence[str]) -> list[bool]:
    """Return whether all windows of the group of each row have the same reference."""
    keys = [column(name).alias(f"key {i}") for i, name in enumerate(others)]
    rows = table.select(*keys, pl.col(REFERENCE_LOW), pl.col("reference"))
    group = list(map(pl.col, rows.columns[: len(keys)])) or [pl.lit(0)]
    single = pl.col("reference").drop_nulls().n_unique().over(group) <= 1
    return rows.select(single & pl.col(REFERENCE_LOW).is_not_null()).to_series().to_list()


def _reference_layers(rows: TimeRows) -> list[Any]:
    """Return the line of the area of the reference of each group, and the band of its interval."""
    keys = [*rows.groups.table_columns, REFERENCE, *REFERENCE_LIMITS]
    low, high = REFERENCE_LIMITS
    color = rows.color()
    band: Any = alt.Chart().mark_rect(opacity=BAND_OPACITY / 2)
    line: Any = alt.Chart().mark_rule(strokeDash=CHANCE_STROKE["strokeDash"])
    band, line = (
        layer.transform_filter(f"datum.{HAS_LINE}").transform_aggregate(groupby=keys)
        for layer in (band, line)
    )
    return [
        band.encode(y=alt.Y(f"{low}:Q"), y2=alt.Y2(f"{high}:Q"), color=color),
        line.encode(y=alt.Y(f"{REFERENCE}:Q"), color=color),
    ]
