"""Charts of lines through dots: areas over time, drift, drift of scores, and plans."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import altair as alt
import polars as pl

from rocframe.charts.axes import count_ticks, inside_sentence, linear_axis
from rocframe.charts.curve_layers import NO_TOOLTIP
from rocframe.charts.dot_plot import (
    ACROSS,
    REASON,
    documented_columns,
    interval_text,
    is_near,
    reason_layers,
    reference_rule,
    significant,
    with_panels,
)
from rocframe.charts.groups import (
    CHART_SIDE,
    JOINT,
    PANEL_SIDE,
    GroupColumn,
    Groups,
    in_panels,
    read_groups,
    row_records,
    span,
    total_keys,
)
from rocframe.charts.layer_chart import layered
from rocframe.charts.style import (
    BAND_OPACITY,
    CHANCE_DASH,
    distinct_number_texts,
    domain_of,
    escape_field,
    field_name,
    finite,
    inline_data,
    json_rows,
    json_values,
    note_text,
    number_text,
    sentences,
    short_name,
    tooltip,
)
from rocframe.errors import BrokenCurveError
from rocframe.frames import column
from rocframe.options import NOT_GIVEN, parse_names
from rocframe.schemas.statistics import PLAN
from rocframe.schemas.table_type import MODEL, WINDOW, WINDOW_END
from rocframe.text import format_count, format_values, join_first

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.layer_chart import AnyChart
    from rocframe.schemas.table_type import DotStyle, Table

MIN_TIMES = 3  # minimum number of times of a time axis; fewer times are lines of a dot plot
MAX_TICKS, MAX_TICKS_IN_PANEL = 8, 3  # of an axis of windows
LABEL_WIDTH = 80  # of a date in pixels, with a margin
TIME_SIZE, PANEL_SIZE = (560, 260), (PANEL_SIDE, 140)
MAX_LINE_PANELS = 12  # small multiples; more lines have colors
# Fields of the records that are not columns of the table: the time as text, whether the reference
# has a line, and the line of plans without line columns.
TIME_TEXT, HAS_LINE, LINE = "_time", "_has_line", "_plan"
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
CRITICAL, PSI_P = "psi_critical", "psi_p_adjusted"
LOG_RANGE = 100  # minimum ratio of the largest and the smallest x for a logarithmic axis
# Columns of a plan. Rows with different values in these columns are on different lines.
LINE_COLUMNS = (
    *("auc", "null", "auc_b", "correlation", "alpha", "alternative", "variance", "se_at"),
    *("target", "ratio", "n_neg"),
)
TITLES = {
    "n_pos": "Positives",
    "n_neg": "Negatives",
    "difference": "Difference of AUC",
    "power": "Power",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinePlot:
    """Data of a chart of lines through dots: a record for each row, and the drawn fields."""

    title: str
    groups: Groups
    records: list[dict[str, Any]]
    x: alt.X
    y: str
    y_title: str
    y_axis: Any = alt.Undefined
    limits: tuple[str, str] | None = None
    tooltips: list[alt.Tooltip]
    undrawn: Sequence[str]
    texts: Sequence[str]
    size: tuple[int, int]

    @property
    def values(self) -> list[float]:
        """The numbers on the y axis."""
        names = (self.y, *(self.limits or ()))
        return finite(record[name] for record in self.records for name in names)

    def layers(self, *, width: float = 1.5, size: float = 36) -> list[Any]:
        """Return layers of lines, intervals, dots, and, in panels without any dot, the reason."""
        lines: Any = alt.Chart().mark_line(strokeWidth=width).encode(tooltip=NO_TOOLTIP)
        points: Any = alt.Chart().mark_point(filled=True, size=size, opacity=1)
        layers = [lines]
        if self.limits is not None:
            bars: Any = alt.Chart().mark_bar(width=1.5, opacity=0.5)
            layers.append(bars.encode(**span("y", *self.limits)))
        x, y = (alt.value(side / 2) for side in self.size)
        return [*layers, points, *reason_layers(self.records, {}, x=x, y=y)]

    def draw(
        self,
        layers: Sequence[Any],
        *,
        domain: Sequence[float],
        subtitle: str,
        description: Sequence[str] = (),
    ) -> AnyChart:
        """Return a chart of the layers; `domain` is the domain of the y axis."""
        color = self.groups.color
        drawn = {record[color] for record in self.records if color and finite([record[self.y]])}
        scale = alt.Scale(domain=domain, zero=False, nice=True)
        axis = {"title": self.y_title, "axis": self.y_axis, "scale": scale}
        chart = layered(
            layers,
            data=inline_data(self.records),
            encoding={
                "x": self.x,
                "y": alt.Y(field=escape_field(self.y), type="quantitative", **axis),
                **self.groups.channels(self.groups.line_color(drawn)),
                "tooltip": self.tooltips,
            },
            width=self.size[0],
            height=self.size[1],
        )
        return self.groups.with_titles(
            chart,
            title=self.title,
            subtitle=subtitle,
            description=[*self.texts, *description],
            undrawn=self.undrawn,
        )


def date_column(table: pl.DataFrame, by: Sequence[str], options: ChartOptions) -> str | None:
    """Return the group column of dates or times for the x axis, or None for a dot plot."""
    totals = total_keys(table, by) or ()
    times = [
        name
        for name in _without_ends(by)
        if name not in totals
        and _time_type(table.schema[name]) == "T"
        and name not in {options.color, options.facet}
        and table.get_column(name).drop_nulls().n_unique() >= MIN_TIMES
    ]
    return times[0] if len(times) == 1 else None


def time_chart(
    table: pl.DataFrame, by: Sequence[str], time: str, options: ChartOptions, style: DotStyle
) -> AnyChart:
    """Draw areas over time: for each group, a line through dots with intervals."""
    table, plot = _over_time(table, by, time, options, style)
    chance = [] if style.chance is None else [style.chance]
    chance = [value for value in chance if is_near(value, plot.values)]
    layers = plot.layers()
    if chance:
        layers.append(reference_rule("y", plot.y, chance))
    return plot.draw(
        layers,
        domain=domain_of([*plot.values, *chance]),
        subtitle=interval_text(table),
        description=[f"The dashed line is at {value:.4g}" for value in chance],
    )


def drift_chart(table: pl.DataFrame, layout: Table, options: ChartOptions) -> AnyChart:
    """Draw each window, the reference (dashed, with a band), and rings where p is below alpha."""
    time = _window_column(table, layout.by)
    table, plot = _over_time(table, layout.by, time, options, layout.dots)
    alpha = _alpha(table, "ci_level")
    names = plot.groups.names(len(plot.records))
    references: dict[str, set[Any]] = {}
    for name, record in zip(names, plot.records, strict=True):
        references.setdefault(name, set()).update({record["reference"]} - {None})
    for name, record in zip(names, plot.records, strict=True):
        record[HAS_LINE] = len(references[name]) < 2 and record[REFERENCE_LOW] is not None
    bounds = finite(
        record[name] for record in plot.records for name in REFERENCE_LIMITS if record[HAS_LINE]
    )
    dashed, rings = "Dashed: reference" if bounds else "", _rings_text(alpha)
    band = "The dashed line is the AUC of the reference, and the band is its interval"
    lines, *dots = plot.layers()
    texts = [
        f"{name} {record[TIME_TEXT]}: {number_text(record['auc'])}, "
        f"difference {number_text(record['difference'])}"
        for name, record in zip(names, plot.records, strict=True)
        if (p_value := record["p_adjusted"]) is not None and p_value < alpha
    ]
    return plot.draw(
        [lines, *(_reference_layers(plot.groups) if bounds else []), *dots, _rings(alpha)],
        domain=domain_of([*plot.values, *bounds]),
        subtitle=sentences(interval_text(table), dashed, rings, end=""),
        description=[
            band if bounds else "",
            f"{format_count(len(texts), 'window')} with an adjusted p-value below {alpha:.4g}",
            join_first(texts, separator="; "),
        ],
    )


def score_drift_chart(table: pl.DataFrame, layout: Table, options: ChartOptions) -> AnyChart:
    """Draw the PSI of windows, its critical value (dashed), and rings where p is below alpha."""
    time = _window_column(table, layout.by)
    table, plot = _over_time(table, layout.by, time, options, layout.dots)
    alpha = _alpha(table, "level")
    critical: Any = alt.Chart().mark_line(strokeWidth=1, strokeDash=CHANCE_DASH)
    critical = critical.encode(y=alt.Y(field=CRITICAL, type="quantitative"), tooltip=NO_TOOLTIP)
    names = plot.groups.names(len(plot.records))
    texts = [
        f"{name} {record[TIME_TEXT]}: {number_text(record['psi'])}"
        for name, record in zip(names, plot.records, strict=True)
        if (p_value := record[PSI_P]) is not None and p_value < alpha
    ]
    bounds = finite(record[CRITICAL] for record in plot.records)
    return plot.draw(
        [critical, *plot.layers(), _rings(alpha, PSI_P)],
        domain=domain_of([0.0, *plot.values, *bounds]),
        subtitle=sentences(
            f"Dashed: exceeded by {100 * alpha:.4g} % without drift", _rings_text(alpha), end=""
        ),
        description=[
            "The dashed line is the critical value of each window",
            f"{format_count(len(texts), 'window')} with an adjusted p-value below {alpha:.4g}",
            join_first(texts, separator="; "),
        ],
    )


def _alpha(table: pl.DataFrame, level: str) -> float:
    """Return 1 minus the level in a column of a table."""
    levels = table.get_column(level).drop_nulls()
    return round(1 - levels.item(0), 10) if len(levels) else 0.05


def _rings(alpha: float, p_value: str = "p_adjusted") -> Any:
    """Return a layer with a ring around each dot whose adjusted p-value is below alpha."""
    ring: Any = alt.Chart().mark_point(filled=False, size=190, strokeWidth=2, opacity=1)
    return ring.transform_filter(significant(alpha, p_value))


def _rings_text(alpha: float) -> str:
    return f"Rings: adjusted p < {alpha:.4g}"


def _over_time(
    table: pl.DataFrame, by: Sequence[str], time: str, options: ChartOptions, style: DotStyle
) -> tuple[pl.DataFrame, LinePlot]:
    """Return the rows with a time, in the order of the column `time`, and their chart."""
    others = [name for name in _without_ends(by) if name != time]
    without = table.filter(column(time).is_null())
    names = (format_values(without.get_column(name)) for name in others)
    undrawn = zip(*names, [f"{short_name(time)} null"] * without.height, strict=True)
    table = table.filter(column(time).is_not_null()).sort(column(time), maintain_order=True)
    times, shown = table.get_column(time), documented_columns(table, by)
    taken = [*shown, *(name for name in by if name not in others)]
    keys = table.select(map(column, others))
    groups = read_groups(keys, others, table.columns, options, taken)
    groups = _with_default_panels(groups, others, table.height, options, taken)
    ends = [WINDOW_END] if time == WINDOW and WINDOW_END in by else []
    records = row_records(table, groups, [*ends, *shown])
    texts = format_values(times)
    for record, position, text in zip(records, _time_positions(times), texts, strict=True):
        record |= {field_name(time): position, TIME_TEXT: text}
    length = _window_length(table) if time == WINDOW else ""
    title = f"in windows of {length}" if length else f"over {short_name(time)}"
    title = f"{style.title} {title}"
    return table, LinePlot(
        title=title,
        groups=groups,
        records=records,
        x=_time_channel(table, times, length, in_panels=groups.panel is not None),
        y=style.marks[0],
        y_title=style.axis,
        limits=style.limits if style.limits and {*style.limits} <= {*shown} else None,
        tooltips=[
            tooltip(TIME_TEXT, short_name(time)),
            *map(tooltip, ends),
            *groups.tooltips(),
            *map(tooltip, shown),
        ],
        undrawn=[*map(JOINT.join, undrawn), *_without_area(groups, records, style.marks[0])],
        texts=[
            f"{title}, {format_count(len(texts), 'row')}",
            f"From {texts[0]} to {texts[-1]}" if texts else "",
            groups.captions_text(),
        ],
        size=TIME_SIZE if groups.panel is None else PANEL_SIZE,
    )


def _time_positions(times: pl.Series) -> list[Any]:
    """Return the positions of times on the x axis.

    They are written and drawn as UTC; Vega would read them in the time zone of the reader.
    """
    kind = _time_type(times.dtype)
    if kind != "T":
        return json_values(times) if kind == "Q" else format_values(times)
    days = times.cast(pl.Datetime("ms")) if times.dtype == pl.Date else times
    return days.dt.replace_time_zone(None).dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_list()


def _time_channel(table: pl.DataFrame, times: pl.Series, length: str, *, in_panels: bool) -> alt.X:
    """Return the channel of the time axis: temporal, quantitative or ordinal."""
    title, kind = short_name(times.name), _time_type(times.dtype)
    if times.name == WINDOW and (kind == "T" or WINDOW_END in table.columns):
        title = f"start of window ({length})" if length else "start of window"
    options: dict[str, Any] = {"type": "ordinal", "sort": list(dict.fromkeys(format_values(times)))}
    if kind == "T":
        axis = _time_axis(times, in_panels=in_panels)
        options = {"type": "temporal", "axis": axis, "scale": alt.Scale(type="utc")}
    elif kind == "Q":
        axis = alt.Axis(format="d", tickMinStep=1)
        options = {"type": "quantitative", "axis": axis, "scale": alt.Scale(zero=False)}
    return alt.X(field=escape_field(field_name(times.name)), title=title, **options)


def _without_area(groups: Groups, records: Sequence[dict[str, Any]], mark: str) -> list[str]:
    """Return the names of groups without an area `mark`; empty panels get the reason instead."""
    panel, empty = groups.panel or "", set()
    for part in in_panels(records, groups.panel):
        if not finite(record[mark] for record in part):
            notes = dict.fromkeys(note_text(record.get("note")) for record in part)
            part[0][REASON] = ", ".join(notes)
            empty.add(part[0].get(panel))
    named = [*zip(groups.names(len(records)), records, strict=True)]
    drawn = {name for name, record in named if finite([record[mark]])}
    others = [name for name, record in named if record.get(panel) not in empty]
    return [name for name in dict.fromkeys(others) if name not in drawn]


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

    Each line has a panel. If there are more than MAX_LINE_PANELS, or if `color` is given, one group
    column has colors and the others have panels, except those with one value and those of `detail`.
    The groups do not change if `facet`, `highlight` or `color=None` is given.
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
    return with_panels(groups, fields, height, taken)


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


def _time_axis(times: pl.Series, *, in_panels: bool) -> Any:
    """Return the axis of dates or times; in panels, labels do not extend beyond the panel.

    An axis of windows of at least a day has ticks at the starts of windows, because the default
    ticks are at Sundays, but weeks start on Monday.
    """
    flush: Any = LABEL_WIDTH / 2 if in_panels else False
    default = alt.Axis(labelFlush=flush) if in_panels else alt.Undefined
    if times.name != WINDOW:
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
    """Return the group column of the windows of a table of `drift`, left of the models."""
    if WINDOW in by:
        return WINDOW
    names = [name for name in by if table.schema[name] == table.schema["reference"]]
    if not names:
        problem = "chart: the table has no column of windows"
        raise BrokenCurveError.compose(problem, "Pass an unchanged table of drift.")
    return names[-2] if len(names) > 1 and names[-1] == MODEL else names[-1]


def _reference_layers(groups: Groups) -> list[Any]:
    """Return the line of the area of the reference of each group, and the band of its interval."""
    panel = [] if groups.panel is None else [groups.panel]
    keys = dict.fromkeys([*groups.table_columns, *panel, REFERENCE, *REFERENCE_LIMITS])
    band: Any = alt.Chart().mark_rect(opacity=BAND_OPACITY / 2)
    line: Any = alt.Chart().mark_rule().encode(strokeDash=alt.StrokeDashValue(CHANCE_DASH))
    band, line = (
        layer.transform_filter(f"datum.{HAS_LINE}")
        .transform_aggregate(groupby=[*map(escape_field, keys)])
        .encode(**ACROSS["y"], tooltip=NO_TOOLTIP)
        for layer in (band, line)
    )
    return [
        band.encode(**span("y", *REFERENCE_LIMITS)),
        line.encode(y=alt.Y(field=REFERENCE, type="quantitative")),
    ]


def plan_chart(table: pl.DataFrame, _layout: Table, _options: ChartOptions) -> AnyChart:
    """Draw plans as lines through dots, with a dashed line at each target power."""
    names = [*PLAN.columns()]
    values = {name: json_values(table.get_column(name)) for name in names}
    labels = json_rows({name: _plan_texts(table.get_column(name)) for name in names})
    x, y, varied_columns, line_columns = _roles(values)
    lines = [JOINT.join(label[name] for name in line_columns) for label in labels]
    title = JOINT.join(line_columns)
    line = field_name(title, [] if len(line_columns) == 1 else names) if title else LINE
    groups = Groups(columns={line: GroupColumn.in_given_order(lines, title)})
    if len(groups.columns[line].values) > 1:
        groups = groups.with_colors(line)
    records = json_rows(values | {line: lines})
    missing, texts = [], []
    for record, label in zip(records, labels, strict=True):
        if record[x] is None or record[y] is None:
            varied = varied_columns or ("auc", "n_pos")
            missing.append(JOINT.join(f"{name} {label[name]}" for name in varied))
            continue
        text = f"{title} {record[line]}: " if line_columns else ""
        texts.append(f"{text}{x} {label[x]}, {y} {number_text(record[y])}")
    axes = f"{inside_sentence(TITLES[y])} against {inside_sentence(TITLES[x])}"
    plot = LinePlot(
        title=TITLES[y],
        groups=groups,
        records=records,
        x=_plan_axis(records, x),
        y=y,
        y_title=TITLES[y],
        y_axis=linear_axis(),
        tooltips=[tooltip(name) for name in names],
        undrawn=missing,
        texts=[
            f"{TITLES[y]} chart, {format_count(len(texts), 'plan')}: {axes}",
            join_first(texts, separator="; "),
        ],
        size=(CHART_SIDE, CHART_SIDE),
    )
    targets = sorted({*values["target"]} - {None})
    known = f"isValid(datum.{x}) && isValid(datum.{y})"
    layers = [layer.transform_filter(known) for layer in plot.layers(width=2, size=60)]
    if y == "power":
        layers.append(reference_rule("y", y, targets))
    text = " and ".join(f"{target:.4g}" for target in targets)
    return plot.draw(
        layers,
        domain=[0, 1] if y == "power" else domain_of([*plot.values, 0]),
        subtitle=f"Target power {text}" if text else "",
    )


def _roles(values: Mapping[str, Sequence[Any]]) -> tuple[str, str, list[str], list[str]]:
    """Return the columns of x and y, the columns that vary, and those that distinguish lines."""
    varied = {name for name, column in values.items() if len(set(column) - {None}) > 1}
    has_target = any(target is not None for target in values["target"])
    y = "difference" if has_target and "difference" in varied else "power"
    choices = ("n_pos",) if has_target else ("n_pos", "n_neg", "difference")
    x = next((name for name in choices if name in varied), "n_pos")
    varied_columns = [name for name in LINE_COLUMNS if name in varied and name not in (x, y)]
    line_columns = [name for name in varied_columns if not _is_determined(name, x, y, values)]
    return x, y, varied_columns, line_columns


def _is_determined(name: str, x: str, y: str, values: Mapping[str, Sequence[Any]]) -> bool:
    """Return whether the axes or other columns of the plan show a column that varies."""
    if name == "auc":
        return "difference" in (x, y)
    if name == "target":
        return y == "power"
    if name not in {"ratio", "n_neg"}:
        return False
    # If one of `ratio` and `n_neg` is constant, it and `n_pos` determine the other.
    other = "n_neg" if name == "ratio" else "ratio"
    n_own, n_other = (len(set(values[side]) - {None}) for side in (name, other))
    return n_other == 1 or (n_own, name) > (n_other, other)


def _plan_texts(values: pl.Series) -> list[str]:
    """Return the values of a column of a plan as text."""
    return distinct_number_texts(values) if values.dtype.is_numeric() else format_values(values)


def _plan_axis(records: Sequence[Mapping[str, Any]], x: str) -> alt.X:
    """Return the channel of the x axis, which is logarithmic if its range is wide."""
    across = finite(record[x] for record in records)
    wide = bool(across) and min(across) > 0 and max(across) >= LOG_RANGE * min(across)
    domain = domain_of([*across, *([] if wide else [0])], (0, 100))
    axis = linear_axis() if x == "difference" else linear_axis(count_ticks(domain))
    scale = alt.Scale(domain=domain, type="log" if wide else "linear", nice=True)
    return alt.X(f"{x}:Q", title=TITLES[x], scale=scale, axis=axis)
