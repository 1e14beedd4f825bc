"""Dot plots of tables: each row is a line with a dot, an interval and its numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import floor, inf, log10
from statistics import fmean
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.charts.axes import linear_axis
from rocframe.charts.curve_layers import NO_TOOLTIP
from rocframe.charts.groups import (
    ALL_ROWS,
    JOINT,
    GroupColumn,
    Groups,
    choose_channels,
    field_names,
    highlighted_groups,
    nominal,
)
from rocframe.charts.labels import (
    datum,
    distinct_texts,
    domain_of,
    escape_field,
    field_name,
    finite,
    inline_data,
    json_rows,
    json_values,
    level_text,
    one_row,
    sentences,
    tooltip,
)
from rocframe.charts.layer_chart import layered
from rocframe.charts.style import (
    CHANCE_DASH,
    MAX_DISTINCT_COLORS,
    REFERENCE_COLOR,
    SYMBOLS,
    TIE_KEY,
    with_key,
)
from rocframe.inference import method_text
from rocframe.options import NOT_GIVEN
from rocframe.schemas.table_type import MODEL
from rocframe.text import format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rocframe.charts.chart import ChartOptions

# In pixels. A line has one slot, or a slot for each color.
LINE_HEIGHT, SLOT_HEIGHT, LINE_GAP = 22, 12, 10
MAX_HEIGHT = 700  # of a panel: one screen
MIN_TEXT_HEIGHT = 8  # lower slots have no numbers
MIN_DOT, MAX_DOT = 4, 60  # areas
HOLLOW_SIZE = 1.8  # ratio of the areas of hollow marks and dots
FONT_SIZE = 10
CHARACTER_WIDTH = 5.6  # of texts in lines
AXIS_PADDING = 10  # between marks and the frame, so that marks do not overlap labels
TITLE_OFFSET = 12  # between the subtitle and the panel, for the title of the line names
TIE_HEIGHT = 0.6  # of the box of ties, as a share of a slot
INTERVAL_WIDTH, UNADJUSTED_WIDTH, SIMULTANEOUS_WIDTH = 2, 4, 1

# Fields of the records that are not columns of the table: the line of a table without groups, the
# reason for a missing dot, and the texts of the numbers.
ALL, REASON, MARK_FIELD, ESTIMATE_TEXT = "_rows", "_reason", "_mark", "_estimate"
INTERVAL_ENDS = ("lower", "upper")


@dataclass(frozen=True, slots=True, kw_only=True)
class DotRows:
    """The line, color and panel of each row of a table.

    Each value of the group column with the field `line` has a line. With `dodged`, a line has a
    slot for each color.
    """

    groups: Groups
    line: str
    dodged: bool

    @property
    def lines(self) -> GroupColumn:
        """The column whose values have lines."""
        return self.groups.columns[self.line]


@dataclass(frozen=True, slots=True, kw_only=True)
class RightText:
    """A column of texts to the right of the dots: its field and its title."""

    field: str
    title: str

    def width(self, records: Sequence[Mapping[str, Any]]) -> int:
        """Return the width of the column in pixels, with the space left of it."""
        texts = [self.title, *(record.get(self.field) or "" for record in records)]
        return round(CHARACTER_WIDTH * max(map(len, texts))) + 12


@dataclass(frozen=True, slots=True, kw_only=True)
class DotPlot:
    """Data of a dot plot: a record for each row of a table, and the fields that are drawn.

    `axis` is the title of the x axis. The numbers in the fields `marks` are drawn as dots; dots of
    the first field are filled. A line connects the numbers in the two fields `limits`, and a thin
    line those in `simultaneous`. A dotted box connects the numbers in the two fields `inner`: the
    areas of the worst and the best order of ties. Dashed lines are drawn at the numbers
    `references`, and at the numbers in the field `reference`. `right` are the columns of texts to
    the right of the dots. `gray` is a Vega expression of the rows that are gray. `keys` are the
    meanings of thin and of thick lines. `shown` are the columns in tooltips. With `free_axes`, the
    panels have independent x axes. `signs` are the symbols of the marks as text.
    """

    rows: DotRows
    records: list[dict[str, Any]]
    axis: str
    marks: tuple[str, ...]
    limits: tuple[str, str] | None = INTERVAL_ENDS
    simultaneous: tuple[str, str] | None = None
    keys: tuple[str, str] | None = None
    inner: tuple[str, str] | None = None
    references: tuple[float, ...] = ()
    reference: str | None = None
    right: tuple[RightText, ...] = ()
    gray: str | None = None
    shown: tuple[str, ...] = ()
    free_axes: bool = False
    signs: str = "●◇□△"

    @property
    def groups(self) -> Groups:
        """The group columns, and which of them have colors and panels."""
        return self.rows.groups

    @property
    def n_lines(self) -> int:
        """The number of lines, at least 1."""
        return max(1, len(self.rows.lines.values))

    @property
    def slots(self) -> int:
        """The number of slots in each line."""
        return len(self.groups.columns[str(self.groups.color)].values) if self.rows.dodged else 1

    @property
    def slot_height(self) -> float:
        """The height of a slot in pixels."""
        height = SLOT_HEIGHT if self.rows.dodged else LINE_HEIGHT
        return min(height, MAX_HEIGHT / (self.n_lines * (self.slots + self.rows.dodged)))

    @property
    def gap(self) -> float:
        """The distance between two lines in pixels; 0 if a line has one slot."""
        return min(LINE_GAP, self.slot_height) if self.rows.dodged else 0

    @property
    def height(self) -> float:
        """The height of a panel in pixels."""
        return round(self.n_lines * (self.slot_height * self.slots + self.gap), 1)

    @property
    def dot_size(self) -> float:
        """The area of a dot in square pixels."""
        return round(max(MIN_DOT, min(MAX_DOT, 0.4 * self.slot_height**2)), 1)

    @property
    def font_size(self) -> float:
        """The font size of texts in lines."""
        return max(MIN_TEXT_HEIGHT, min(FONT_SIZE, self.slot_height))

    @property
    def shown_right(self) -> tuple[RightText, ...]:
        """The columns of texts to the right of the dots, if slots are high enough for them."""
        return self.right if self.slot_height >= MIN_TEXT_HEIGHT else ()

    @property
    def _mark_key(self) -> str:
        """The symbols of the marks with their names. In panels, legends would be repeated."""
        signs = zip(self.signs, self.marks, strict=False)
        return ", ".join(f"{sign} {mark_name(name)}" for sign, name in signs)

    def tooltips(self) -> list[alt.Tooltip]:
        """Return tooltip lines of the group columns and of the columns `shown`."""
        return [*self.groups.tooltips(), *map(tooltip, self.shown)]

    def x_channel(self) -> alt.X:
        """Return the x channel of the first mark; all marks have the same domain."""
        pairs = (self.limits, self.simultaneous, self.inner)
        fields = (*self.marks, *(name for pair in pairs for name in pair or ()), self.reference)
        known = finite(record.get(name) for record in self.records for name in fields if name)
        empty = [-1.0, 1.0] if 0 in self.references else [0.0, 1.0]
        domain: Any = domain_of([*known, *self.references]) if known else empty
        # Areas are at most 1, but Vega-Lite would extend a nice domain to numbers above 1.
        scale = alt.Scale(
            domain=alt.Undefined if self.free_axes else domain,
            nice=False,
            zero=False,
            padding=AXIS_PADDING,
        )
        field = escape_field(self.marks[0])
        return alt.X(
            field=field, type="quantitative", title=self.axis, scale=scale, axis=linear_axis()
        )

    def line_channels(self) -> dict[str, Any]:
        """Return the y channels: the line of each mark and, if lines have slots, its slot."""
        lines = self.rows.lines
        step = self.slot_height * self.slots + self.gap
        scale = alt.Scale(
            domain=list(lines.values),
            type="band",
            paddingInner=round(self.gap / step, 4),
            paddingOuter=round(self.gap / step / 2, 4),
        )
        axis = alt.Axis(
            labelLimit=0,
            labelOverlap=True,
            labelFontSize=max(8, min(FONT_SIZE, self.height / self.n_lines)),
            grid=True,
            ticks=False,
            labelPadding=6,
            domain=False,
            tickBand="extent" if self.rows.dodged else "center",
            titleAngle=0,
            titleAlign="right",
            titleX=-4,
            titleY=-10,
        )
        y = nominal(alt.Y, self.rows.line, title=lines.title or None, scale=scale, axis=axis)
        if not self.rows.dodged:
            return {"y": y}
        color = str(self.groups.color)
        domain = list(self.groups.columns[color].values)
        return {"y": y, "yOffset": nominal(alt.YOffset, color, scale=alt.Scale(domain=domain))}

    def color_channel(self) -> dict[str, Any]:
        """Return the color channel, if there are colors or gray rows.

        Without slots, there is no legend, because the names of lines contain the colored values.
        """
        gray = {"test": self.gray, "value": REFERENCE_COLOR}
        if self.groups.color is None:
            # A condition without another color would not be inherited by the layers. The datum has
            # the first color of the theme.
            one = alt.ColorDatum(self.axis, type="nominal", legend=None, condition=gray)
            return {"color": one} if self.gray else {}
        width = sum(text.width(self.records) for text in self.shown_right)
        beside = width + 10 if width and self.groups.panel is None else alt.Undefined
        color = self.groups.color_channel(
            has_legend=self.rows.dodged, symbolType="circle", offset=beside
        )
        if self.gray:
            color["condition"] = gray
        return {"color": color}

    def layered(
        self,
        layers: Sequence[alt.Chart],
        *,
        title: str,
        subtitle: str,
        description: str,
        **channels: Any,
    ) -> alt.LayerChart | alt.FacetChart:
        """Return a chart of the layers, the reasons for missing dots and the texts on the right.

        `channels` replace shared channels.
        """
        shared = {
            "x": self.x_channel(),
            **self.line_channels(),
            **self.color_channel(),
            "tooltip": self.tooltips(),
        }
        chart = layered(
            [*layers, *_reasons(self), *_right_texts(self)],
            data=inline_data(self.records),
            encoding=shared | channels,
            width=self.groups.side,
            height=self.height,
        )
        if len(self.marks) > 1:  # each mark has a legend with its own symbol
            chart = chart.resolve_scale(shape="independent").resolve_legend(shape="independent")
        if len(self.marks) > 1 and self.groups.panel is not None:
            subtitle = sentences(subtitle, self._mark_key, end="")
        result = self.groups.with_titles(
            chart, title=title, subtitle=subtitle, description=description, offset=TITLE_OFFSET
        )
        return result.resolve_scale(x="independent") if self.free_axes else result


def dot_layers(plot: DotPlot) -> list[alt.Chart]:
    """Return the layers of intervals, reference lines and marks."""
    return [*_bars(plot), *_references(plot), *(mark_layer(plot, name) for name in plot.marks)]


def span(start: str, end: str) -> dict[str, Any]:
    """Return the x channels of marks from the number in one field to the number in another."""
    return {
        "x": alt.X(field=escape_field(start), type="quantitative"),
        "x2": alt.X2(field=escape_field(end)),
    }


def _bars(plot: DotPlot) -> list[alt.Chart]:
    """Draw the intervals and the dotted box of each row."""
    bars = []
    if plot.inner is not None:
        start, end = plot.inner
        box = alt.Chart().transform_filter(f"{datum(start)} < {datum(end)}")
        # The height is in pixels, because other heights are relative to the line, not to the slot.
        height = round(TIE_HEIGHT * plot.slot_height, 1)
        box = box.mark_bar(filled=False, strokeWidth=1, height=height).encode(**span(start, end))
        bars.append(with_key(box, TIE_KEY, "tie"))
    widths = (SIMULTANEOUS_WIDTH, UNADJUSTED_WIDTH if plot.simultaneous else INTERVAL_WIDTH)
    for pair, width in zip((plot.simultaneous, plot.limits), widths, strict=True):
        if pair is None:
            continue
        is_drawn = [len(finite(record.get(name) for name in pair)) for record in plot.records]
        if 2 not in is_drawn:
            continue
        bar = alt.Chart()
        if 1 in is_drawn:  # one limit is infinite
            bar = bar.transform_filter(" && ".join(f"isNumber({datum(name)})" for name in pair))
        thickness = round(min(width, plot.slot_height / 4), 2)
        # Bars have the color of the theme without a color channel; rules do not.
        is_colored = plot.simultaneous or plot.groups.color
        bar = bar.mark_rule(strokeWidth=thickness) if is_colored else bar.mark_bar(height=thickness)
        bars.append(_with_width_key(bar.encode(**span(*pair)), plot, width))
    return bars


def _with_width_key(bar: alt.Chart, plot: DotPlot, width: int) -> alt.Chart:
    """Add a legend of the widths of intervals, if there are two widths."""
    if plot.keys is None or plot.simultaneous is None:
        return bar
    widths = [SIMULTANEOUS_WIDTH, UNADJUSTED_WIDTH]
    legend = alt.Legend(
        title=None,
        orient="bottom",
        labelLimit=0,
        symbolType="stroke",
        symbolSize=200,
        symbolStrokeColor=REFERENCE_COLOR,
    )
    scale = alt.Scale(type="ordinal", domain=list(plot.keys), range=widths)
    key = plot.keys[widths.index(width)]
    result: alt.Chart = bar.transform_calculate(_interval=f"'{key}'").encode(
        strokeWidth=alt.StrokeWidth("_interval:O", scale=scale, legend=legend)
    )
    return result


def mark_layer(plot: DotPlot, name: str, **style: Any) -> alt.Chart:
    """Draw the marks of one field; the marks of the first field are filled."""
    i = plot.marks.index(name)
    size = plot.dot_size if i == 0 else HOLLOW_SIZE * plot.dot_size
    style = {"filled": i == 0, "size": round(size, 1), "opacity": 1, "strokeWidth": 1.5} | style
    mark: Any = alt.Chart().mark_point(**style)
    if i:
        mark = mark.encode(
            x=alt.X(field=escape_field(name), type="quantitative"), strokeDash=alt.value([1, 0])
        )
    if len(plot.marks) > 1:
        legend: Any = alt.Legend(
            title=None,
            orient="bottom",
            labelLimit=0,
            symbolFillColor=REFERENCE_COLOR if style["filled"] else "transparent",
            symbolStrokeColor=REFERENCE_COLOR,
        )
        legend = legend if plot.groups.panel is None else None
        scale = alt.Scale(domain=[mark_name(name)], range=[SYMBOLS[i]])
        mark = mark.transform_calculate(_mark=f"'{mark_name(name)}'")
        mark = mark.encode(shape=alt.Shape(f"{MARK_FIELD}:N", scale=scale, legend=legend))
    return mark  # type: ignore[no-any-return]


# Parts of column names that are not words, and their spelling in texts.
SPELLINGS = {
    **{name: name.upper() for name in ("auc", "ece", "fpr", "h", "ici", "ks", "pr", "tpr")},
    "brier": "Brier score",
    "log": "logarithmic",
}


def mark_name(name: str) -> str:
    """Return the name of a column in words, such as "mean AUC" for "mean_auc"."""
    return " ".join(SPELLINGS.get(word, word) for word in name.split("_"))


def reference_rule(side: str, field: str, values: Iterable[float], **channels: Any) -> alt.Chart:
    """Draw a dashed line across the chart at each of `values` on the axis `side`, "x" or "y".

    The data of the layer are the values of the field of this axis.
    """
    across = {"x": {"y": alt.value(0), "y2": alt.value("height")}}
    across["y"] = {"x": alt.value(0), "x2": alt.value("width")}
    rows = [{field: value} for value in values]
    return _dashed(alt.Chart(alt.InlineData(values=rows))).encode(**across[side], **channels)  # type: ignore[no-any-return]


def _dashed(layer: alt.Chart) -> Any:
    return layer.mark_rule(strokeWidth=1).encode(
        color=alt.value(REFERENCE_COLOR), strokeDash=alt.value(CHANCE_DASH), tooltip=NO_TOOLTIP
    )


def _references(plot: DotPlot) -> list[alt.Chart]:
    """Draw a dashed line at each reference value, such as chance."""
    offset = {"yOffset": alt.value(0)} if plot.rows.dodged else {}
    lines = []
    if plot.references:
        lines.append(reference_rule("x", plot.marks[0], plot.references, **offset))
    if plot.reference is not None:
        panel = [] if plot.groups.panel is None else [plot.groups.panel]
        keys = [escape_field(name) for name in (*panel, plot.reference)]
        each = _dashed(alt.Chart()).transform_aggregate(groupby=keys)
        x = alt.X(field=escape_field(plot.reference), type="quantitative")
        lines.append(each.encode(x=x, y=alt.value(0), y2=alt.value("height"), **offset))
    return lines


def _reasons(plot: DotPlot) -> list[alt.Chart]:
    """Write the reason for each missing dot in its line."""
    if all(record.get(REASON) is None for record in plot.records):
        return []
    layer: Any = alt.Chart().mark_text(align="left", fontStyle="italic", fontSize=plot.font_size)
    layer = layer.transform_filter(f"isValid(datum.{REASON})")
    color = alt.value(REFERENCE_COLOR)
    return [layer.encode(x=alt.value(6), color=color, text=alt.Text(f"{REASON}:N"))]


def _right_texts(plot: DotPlot) -> list[alt.Chart]:
    """Write the columns of texts to the right of the dots, and their titles."""
    layers: list[alt.Chart] = []
    left = 12
    offset = {"yOffset": alt.value(0)} if plot.rows.dodged else {}
    for column in plot.shown_right:
        style: dict[str, Any] = {"align": "left", "dx": left, "fontSize": FONT_SIZE}
        texts: Any = alt.Chart().mark_text(**style | {"fontSize": plot.font_size})
        layers.append(texts.encode(x=alt.value("width"), text=alt.Text(f"{column.field}:N")))
        if plot.groups.panel is None:
            title: Any = one_row().mark_text(**style, fontWeight="bold")
            layers.append(
                title.encode(
                    x=alt.value("width"),
                    y=alt.value(-8),
                    color=alt.value(REFERENCE_COLOR),
                    text=alt.value(column.title),
                    tooltip=NO_TOOLTIP,
                    **offset,
                )
            )
        left += column.width(plot.records)
    return layers


def add_numbers(
    records: Sequence[dict[str, Any]], value: str, limits: Sequence[str], panel: str | None
) -> None:
    """Add the text of the estimate and its limits to each record.

    Numbers of one panel have the same number of decimals.
    """
    largest: dict[Any, float] = {}
    for record in records:
        for number in finite(record.get(name) for name in (value, *limits)):
            key = record[panel] if panel else None
            largest[key] = max(abs(number), largest.get(key, 0.0))
    for record in records:
        numbers = [finite([record.get(name)]) for name in (value, *limits)]
        decimals = _decimals(largest.get(record[panel] if panel else None, 0.0))
        texts = [f"{part[0]:z,.{decimals}f}".replace("-", "−") for part in numbers if part]
        is_complete = len(texts) == len(numbers) > 1
        text = f"{texts[0]} ({texts[1]} to {texts[2]})" if is_complete else "".join(texts[:1])
        record[ESTIMATE_TEXT] = text if numbers[0] else ""


def _decimals(largest: float) -> int:
    """Return the number of decimals of numbers of at most this size: three digits or more."""
    if largest >= 10 or largest == 0:
        return 1 if largest else 3
    return 3 if largest >= 0.1 else 2 - floor(log10(largest))


def read_rows(
    table: pl.DataFrame,
    by: Sequence[str],
    options: ChartOptions,
    *,
    taken: Sequence[str] = (),
    parts: Mapping[str, Sequence[str]] | None = None,
    in_panels: bool = False,
    ranking: Sequence[float | None] | None = None,
) -> DotRows:
    """Return the line, color and panel of each row of a table.

    `parts` maps a title to a text for each row of the table, such as the name of a metric. Rows
    with different texts have separate lines or, with `in_panels`, separate panels. If a line has
    no colors, the option `highlight` has values of the column `model` or, without this column, of
    the column whose values have lines. `taken` are the other fields of the chart.

    Lines are in the order of the table. If the table is sorted by its group columns, lines are
    sorted by these columns. Lines with one dot whose names are not numbers, times or members of an
    Enum are then sorted by `ranking`, with the largest number first. If a line is a combination of
    several columns, only the last column is sorted by `ranking`.
    """
    color, highlight = options.color, options.highlight
    color_argument = None if color is NOT_GIVEN else color
    color_column, panel = choose_channels(
        by, table.columns, color=color_argument, facet=options.facet, detail=()
    )
    parts = (parts or {}) if table.height else {}
    keys = field_names(by, [*taken, *parts]) if table.height else {}
    columns = {key: GroupColumn.from_keys(table.get_column(name)) for name, key in keys.items()}
    columns |= {
        key: GroupColumn.in_given_order(texts, "" if key.startswith("_") else key)
        for key, texts in parts.items()
    }

    panels = [keys[panel]] if panel in keys else []
    panels += parts if in_panels else []
    left = [name for name in columns if name not in panels]
    if color is NOT_GIVEN:
        shown = _default_color([name for name in left if name not in parts], columns, keys)
        shown = shown if len(left) > 1 else None
    else:
        shown = keys.get(color_column) if color_column else None
        if shown is not None and not columns[shown].has_colors:
            shown = None
    lines = [name for name in left if name != shown] or left
    dodged = shown is not None and shown in left and lines != [shown]
    order = [column.codes for column in columns.values()]
    sort = all(a <= b for a, b in pairwise(zip(*order, strict=True)))
    used = {*columns, *taken}

    line, column = _combined([columns[name] for name in lines], lines, table.height, used, sort)
    dtypes = {key: table.schema[name] for name, key in keys.items()}
    dtype = dtypes.get(lines[-1]) if lines else None
    is_ordered = dtype is not None and (
        dtype.is_numeric() or dtype.is_temporal() or isinstance(dtype, pl.Enum)
    )
    if sort and ranking is not None and not dodged and not is_ordered:
        column = _ranked(column, [columns[name].codes for name in lines[:-1]], ranking)
    columns[line] = column
    facets = None
    if panels:
        facets, column = _combined(
            [columns[name] for name in panels], panels, table.height, used, True
        )
        columns[facets] = column
    groups = Groups(columns=columns, color=shown, panel=facets)
    if highlight is not None:
        without = None if shown else keys.get(MODEL, line)
        groups = highlighted_groups(replace(groups, one_color=without), highlight)
    return DotRows(groups=groups, line=line, dodged=dodged)


def _default_color(
    left: Sequence[str], columns: Mapping[str, GroupColumn], keys: Mapping[str, str]
) -> str | None:
    """Return the field with colors by default: the model column, or else the first of `left`.

    The result is None if the column has only one value, or more values than distinct colors.
    """
    chosen = keys[MODEL] if keys.get(MODEL) in left else next(iter(left), None)
    if chosen is None or not 1 < len(columns[chosen].values) <= MAX_DISTINCT_COLORS:
        return None
    return chosen


def _combined(
    columns: Sequence[GroupColumn],
    names: Sequence[str],
    height: int,
    taken: Iterable[str],
    sort: bool,
) -> tuple[str, GroupColumn]:
    """Return the field and the column of the combinations of `columns`, whose fields are `names`.

    A single column keeps its field. With `sort`, the values are in the order of the columns,
    otherwise in the order of the rows.
    """
    if len(columns) != 1:
        column = combined_column(columns, height, sort=sort)
        return field_name(column.title, {*taken}) if column.title else ALL, column
    column = columns[0]
    if sort:
        return names[0], column
    return names[0], _reordered(column, list(dict.fromkeys(column.codes)))


def _reordered(column: GroupColumn, order: Sequence[int]) -> GroupColumn:
    """Return a column with its values in another order; the colors of the values do not change."""
    position = {code: i for i, code in enumerate(order)}
    return replace(
        column,
        values=tuple(column.values[code] for code in order),
        codes=tuple(position[code] for code in column.codes),
        domain=column.domain or column.values,
    )


def _ranked(
    column: GroupColumn, within: Sequence[Sequence[int]], ranking: Sequence[float | None]
) -> GroupColumn:
    """Return a column whose values are sorted by the means of `ranking`, largest first.

    `within` are the codes of columns that have precedence. Values without a number are last.
    """
    numbers: dict[int, list[float]] = {}
    first: dict[int, tuple[int, ...]] = {}
    for i, code in enumerate(column.codes):
        numbers.setdefault(code, []).extend(finite([ranking[i]]))
        first[code] = tuple(codes[i] for codes in within)
    means = {code: -fmean(known) if known else inf for code, known in numbers.items()}
    return _reordered(column, sorted(means, key=lambda code: (first[code], means[code], code)))


def combined_column(columns: Sequence[GroupColumn], height: int, *, sort: bool) -> GroupColumn:
    """Return one column whose values are the combinations of values that occur in `columns`.

    With `sort`, the values are in the order of the columns, otherwise in the order of the rows.
    """
    if not columns:
        values = (ALL_ROWS,) if height else ()
        return GroupColumn(title="", values=values, codes=(0,) * height, joint=True)
    rows = list(zip(*(column.codes for column in columns), strict=True))
    combinations = sorted(set(rows)) if sort else list(dict.fromkeys(rows))
    texts = [
        JOINT.join(column.values[code] for column, code in zip(columns, codes, strict=True))
        for codes in combinations
    ]
    code = {codes: i for i, codes in enumerate(combinations)}
    return GroupColumn(
        title=JOINT.join(column.title for column in columns if column.title),
        values=tuple(distinct_texts(texts)),
        codes=tuple(code[codes] for codes in rows),
        joint=True,
    )


def row_records(table: pl.DataFrame, groups: Groups, shown: Sequence[str]) -> list[dict[str, Any]]:
    """Return a record for each row of a table: its groups and the columns `shown`."""
    texts = {name: column.texts for name, column in groups.columns.items()}
    return json_rows(texts | {name: json_values(table.get_column(name)) for name in shown})


def documented_columns(table: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """Return the columns right of the group columns, up to the column `note` if there is one."""
    names = table.columns[len(by) :]
    return names[: names.index("note") + 1] if "note" in names else names


def add_reason(record: dict[str, Any], reason: str | None, rows: DotRows) -> None:
    """Add the reason for a missing dot to the record of its row; nothing if there is a dot.

    If a line has slots for several groups, the text starts with the name of the group.
    """
    if reason:
        record[REASON] = f"{record[str(rows.groups.color)]}: {reason}" if rows.dodged else reason


def is_near(value: float, records: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> bool:
    """Return whether the distance from a value to the drawn numbers is at most their range.

    `fields` are the fields of the numbers that are drawn in addition to the limits.
    """
    known = finite(record.get(name) for record in records for name in (*fields, *INTERVAL_ENDS))
    if not known:
        return True
    low, high = min(known), max(known)
    return 2 * low - high <= value <= 2 * high - low


def title_with_counts(title: str, table: pl.DataFrame) -> str:
    """Return a title with the numbers of positives and negatives, if all rows have the same."""
    texts = []
    for name, noun in (("n_pos", "positive"), ("n_neg", "negative")):
        counts = table.get_column(name).unique().to_list() if name in table.columns else []
        if len(counts) != 1 or counts[0] is None:
            return title
        texts.append(format_count(counts[0], noun))
    separator = " " if title.endswith("?") else ", "
    return separator.join([title, ", ".join(texts)])


def interval_text(table: pl.DataFrame) -> str:
    """Return a text such as "95 % intervals (DeLong, logit scale)", or the test if there is one."""

    def texts(name: str) -> str:
        if name not in table.columns:
            return ""
        names = table.get_column(name).drop_nulls().unique(maintain_order=True).to_list()
        return "; ".join(map(method_text, names))

    levels = level_text(table.get_column("ci_level")) if "ci_level" in table.columns else ""
    methods, tests = texts("ci_method"), texts("test")
    intervals = f"{levels} intervals" if levels else ""
    if tests:
        return f"{f'{intervals} (not adjusted), ' if intervals else ''}test: {tests}"
    return f"{intervals} ({methods})" if intervals and methods else ""
