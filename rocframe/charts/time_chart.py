"""Charts of areas over time: areas of groups with a date, and windows with their reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import polars as pl

from rocframe.charts.curve_layers import NO_TOOLTIP
from rocframe.charts.dot_plot import (
    INTERVAL_ENDS,
    REASON,
    combined_column,
    documented_columns,
    interval_text,
    is_near,
    reference_rule,
    row_records,
)
from rocframe.charts.groups import JOINT, PANEL_SIDE, read_groups
from rocframe.charts.labels import (
    MAX_IN_SUBTITLE,
    domain_of,
    escape_field,
    field_name,
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
from rocframe.charts.layer_chart import layered
from rocframe.charts.style import BAND_OPACITY, CHANCE_DASH
from rocframe.errors import BrokenCurveError
from rocframe.frames import column
from rocframe.options import NOT_GIVEN, parse_names
from rocframe.schemas.table_type import MODEL, WINDOW, WINDOW_END
from rocframe.text import format_count, format_values, join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import Groups
    from rocframe.schemas.table_type import DotStyle, Table

MIN_TIMES = 3  # minimum number of times of a time axis; fewer times are lines of a dot plot
MAX_TICKS, MAX_TICKS_IN_PANEL = 8, 3  # of an axis of windows
LABEL_WIDTH = 80  # of a date in pixels, with a margin
TIME_WIDTH, TIME_HEIGHT, PANEL_HEIGHT = 560, 260, 140
MAX_LINE_PANELS = 12  # small multiples; more lines have colors
# Fields of the records that are not columns of the table: the time as text, and whether the
# reference has a line.
TIME_TEXT, HAS_LINE = "_time", "_has_line"
# Units of windows: their minimum and maximum length in seconds.
DAY_SECONDS = 86_400
WINDOW_UNITS = (
    ("year", 365 * DAY_SECONDS, 366 * DAY_SECONDS),
    ("month", 28 * DAY_SECONDS, 31 * DAY_SECONDS),
    ("week", 7 * DAY_SECONDS, 7 * DAY_SECONDS),
    ("day", DAY_SECONDS, DAY_SECONDS),
    ("hour", 3600, 3600),
    ("minute", 60, 60),
)
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
    layers = rows.area_layers()
    if chance is not None:
        layers.append(reference_rule("y", rows.mark, [chance]))
    return rows.layered(
        layers,
        style=style,
        others=[] if chance is None else [chance],
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
        record[HAS_LINE] = line
    bounds = finite(
        record[name] for record in rows.records for name in REFERENCE_LIMITS if record[HAS_LINE]
    )
    layers = rows.area_layers()
    ring: Any = alt.Chart().mark_point(filled=False, size=190, strokeWidth=2, opacity=1)
    is_different = f"isValid(datum.p_adjusted) && datum.p_adjusted < {alpha}"
    layers.append(ring.transform_filter(is_different))
    if bounds:
        layers = [*layers[:1], *_reference_layers(rows), *layers[1:]]
    names = rows.groups.names(len(rows.records))
    texts = [
        f"{name} {record[TIME_TEXT]}: {number_text(record['auc'])}, "
        f"difference {number_text(record['difference'])}"
        for name, record in zip(names, rows.records, strict=True)
        if (p_value := record["p_adjusted"]) is not None and p_value < alpha
    ]
    return rows.layered(
        layers,
        style=style,
        others=bounds,
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
        shown = documented_columns(table, by)
        taken = [*shown, *(name for name in by if name not in others)]
        keys = table.select(map(column, others))
        groups = read_groups(keys, others, table.columns, options, taken)
        groups = _with_default_panels(groups, others, table.height, options, taken)
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
            record |= {field_name(time): position, TIME_TEXT: text}
            if ends is not texts:
                record[WINDOW_END] = end
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
            length = _window_length(self.table)
            title = "start of window" + (f" ({length})" if length else "")
        field = escape_field(field_name(self.time))
        if kind == "T":
            axis = _time_axis(times, self.time, in_panels=self.groups.panel is not None)
            scale = alt.Scale(type="utc")
            return alt.X(field=field, type="temporal", title=title, axis=axis, scale=scale)
        if kind == "Q":
            axis = alt.Axis(format="d", tickMinStep=1)
            scale = alt.Scale(zero=False)
            return alt.X(field=field, type="quantitative", title=title, axis=axis, scale=scale)
        sort = list(dict.fromkeys(format_values(times)))
        return alt.X(field=field, type="ordinal", title=title, sort=sort)

    def channels(self, style: DotStyle, others: Sequence[Any]) -> dict[str, Any]:
        """Return the shared channels; `others` are values on the axis beside areas and limits."""
        values = finite(record.get(name) for record in self.records for name in self._drawn)
        scale = alt.Scale(domain=domain_of([*values, *others]), zero=False, nice=True)
        tooltips = [tooltip(TIME_TEXT, short_name(self.time))]
        if any(WINDOW_END in record for record in self.records):
            tooltips.append(tooltip(WINDOW_END))
        return {
            "x": self.time_channel(),
            "y": alt.Y(
                field=escape_field(self.mark), type="quantitative", title=style.axis, scale=scale
            ),
            **self.groups.channels(self.color()),
            "tooltip": [*tooltips, *self.groups.tooltips(), *map(tooltip, self.shown)],
        }

    @property
    def _drawn(self) -> tuple[str, ...]:
        return (self.mark, *(name for name in INTERVAL_ENDS if name in self.shown))

    def area_layers(self) -> list[Any]:
        """Return the layers of lines, intervals and dots."""
        lines: Any = alt.Chart().mark_line(strokeWidth=1.5).encode(tooltip=NO_TOOLTIP)
        points: Any = alt.Chart().mark_point(filled=True, size=36, opacity=1)
        layers = [lines]
        if len(self._drawn) == 3:
            bars: Any = alt.Chart().mark_bar(width=1.5, opacity=0.5)
            low, high = INTERVAL_ENDS
            y = alt.Y(field=low, type="quantitative")
            layers.append(bars.encode(y=y, y2=alt.Y2(field=high)))
        return [*layers, points, *self._reasons()]

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
            records[0][REASON] = ", ".join(notes)
        text: Any = alt.Chart().transform_filter(f"isValid(datum.{REASON})")
        text = text.mark_text(fontStyle="italic")
        middle = {"x": alt.value(self._width / 2), "y": alt.value(self._height / 2)}
        return [text.encode(**middle, text=alt.Text(f"{REASON}:N"))] if empty else []

    @property
    def _width(self) -> int:
        return TIME_WIDTH if self.groups.panel is None else PANEL_SIDE

    @property
    def _height(self) -> int:
        return TIME_HEIGHT if self.groups.panel is None else PANEL_HEIGHT

    def layered(
        self,
        layers: Sequence[Any],
        *,
        style: DotStyle,
        others: Sequence[Any],
        title: str,
        subtitle: str,
        description: str,
    ) -> alt.LayerChart | alt.FacetChart:
        """Return a chart of the layers with its title, subtitle and description.

        `others` are values on the y axis beside areas and limits.
        """
        length = _window_length(self.table) if self.time == WINDOW else ""
        title += f" in windows of {length}" if length else f" over {short_name(self.time)}"
        chart = layered(
            layers,
            data=inline_data(self.records),
            encoding=self.channels(style, others),
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
    groups: Groups, by: Sequence[str], height: int, options: ChartOptions, taken: Sequence[str]
) -> Groups:
    """Return groups whose lines are in different panels, so that intervals do not overlap.

    By default, each line has a panel. If there are more than MAX_LINE_PANELS lines, or if `color`
    is given, the values of one group column have colors, and the values or combinations of values
    of the other group columns have panels. The groups do not change if `facet` or `highlight` is
    given, or if `color` is None. Columns with one value, and columns that `detail` names, have no
    panels. `taken` are the other fields of the chart.
    """
    if groups.panel is not None or options.color is None or groups.highlighted:
        return groups
    details = parse_names(options.detail)
    fields = {
        key: groups.columns[key]
        for name, key in zip(by, groups.columns, strict=False)
        if name not in details and len(groups.columns[key].values) > 1
    }
    n_lines = len(set(zip(*(column.codes for column in fields.values()), strict=True)))
    if options.color is NOT_GIVEN and n_lines <= MAX_LINE_PANELS:
        groups = replace(groups, color=None, one_color=None)
    else:
        fields = {
            key: column
            for key, column in fields.items()
            if key not in {groups.color, groups.one_color}
        }
    if len(fields) < 2:
        return replace(groups, panel=next(iter(fields), None))
    joint = combined_column([*fields.values()], height, sort=True)
    name = field_name(joint.title, {*groups.columns, *taken})
    return replace(groups, columns={**groups.columns, name: joint}, panel=name)


def _window_length(table: pl.DataFrame) -> str:
    """Return the length of the windows in words, such as "1 week"; empty if it is not constant."""
    if WINDOW_END not in table.columns or not table.schema[WINDOW].is_temporal():
        return ""
    seconds = table.select(pl.col(WINDOW_END) - pl.col(WINDOW)).to_series().dt.total_seconds()
    lengths: list[int] = seconds.drop_nulls().to_list()
    low, high = min(lengths, default=0), max(lengths, default=0)
    for unit, shortest, longest in WINDOW_UNITS:
        n = low // shortest
        if n and n * shortest <= low and high <= n * longest:
            return format_count(n, unit)
    return ""


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
    groups, (low, high) = rows.groups, REFERENCE_LIMITS
    panel = [] if groups.panel is None else [groups.panel]
    keys = dict.fromkeys([*groups.table_columns, *panel, REFERENCE, *REFERENCE_LIMITS])
    across = {"x": alt.value(0), "x2": alt.value("width"), "tooltip": NO_TOOLTIP}
    band: Any = alt.Chart().mark_rect(opacity=BAND_OPACITY / 2)
    line: Any = alt.Chart().mark_rule().encode(strokeDash=alt.value(CHANCE_DASH))
    band, line = (
        layer.transform_filter(f"datum.{HAS_LINE}")
        .transform_aggregate(groupby=[*map(escape_field, keys)])
        .encode(**across)
        for layer in (band, line)
    )
    return [
        band.encode(y=alt.Y(field=low, type="quantitative"), y2=alt.Y2(field=high)),
        line.encode(y=alt.Y(field=REFERENCE, type="quantitative")),
    ]
