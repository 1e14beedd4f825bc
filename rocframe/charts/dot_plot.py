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
from rocframe.charts.curve_layers import NO_TOOLTIP, gray_dashes
from rocframe.charts.groups import (
    ALL_ROWS,
    JOINT,
    GroupColumn,
    Groups,
    highlighted_groups,
    in_panels,
    nominal,
    read_groups,
    row_records,
    span,
)
from rocframe.charts.layer_chart import layered
from rocframe.charts.style import (
    GRAY,
    MAX_DISTINCT_COLORS,
    REFERENCE_COLOR,
    SYMBOLS,
    TIE_KEY,
    datum,
    distinct_texts,
    domain_of,
    escape_field,
    field_name,
    finite,
    inline_data,
    json_values,
    level_text,
    note_text,
    number_text,
    sentences,
    tooltip,
    with_key,
)
from rocframe.inference import method_text
from rocframe.options import NOT_GIVEN
from rocframe.rates import NAMES
from rocframe.schemas.table_type import MODEL, Span
from rocframe.text import format_count, format_p_value, join_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.layer_chart import AnyChart
    from rocframe.schemas.table_type import DotStyle

# In pixels. A line has one slot, or a slot for each color.
LINE_HEIGHT, SLOT_HEIGHT, LINE_GAP = 22, 12, 10
MAX_HEIGHT = 700  # of a panel: one screen
MIN_TEXT_HEIGHT = 8  # lower slots have no numbers
MIN_DOT, MAX_DOT = 4, 60  # areas
HOLLOW_SIZE = 1.8  # ratio of the areas of hollow marks and dots
FONT_SIZE = 10
CHARACTER_WIDTH = 5.6  # of texts in lines
AXIS_PADDING = 10  # between marks and the frame, so that marks do not overlap labels
LABEL_SEPARATION = 6  # of the labels of ticks in panels
TITLE_OFFSET = 12  # between the subtitle and the panel, for the title of the line names
BAR_HEIGHT = 0.6  # of boxes of ties, and the maximum of lines, as a share of a slot
MIN_BAR_WIDTH = 10  # wider lines are bars
MAX_TITLE_LENGTH = 28  # of the title of the numbers

GRAY_LEGEND: dict[str, Any] = {
    "title": None,
    "orient": "bottom",
    "labelLimit": 0,
    "symbolStrokeColor": REFERENCE_COLOR,
}
# Fields of the records that are not columns of the table: the line of a table without groups, the
# reason for a missing dot, the text of the numbers, and the meanings of marks and of lines.
ALL, REASON, ESTIMATE_TEXT = "_rows", "_reason", "_estimate"
MARK_FIELD, SPAN_FIELD = "_mark", "_interval"
# In panels with their own axes, the axis is at least as long as this share of the largest number.
MIN_PANEL_SHARE = 0.1
AXIS_ENDS = ("_axis_start", "_axis_end")
# Statistics that are better if they are lower. The other direction is that of `NAMES`, or higher.
LOWER_IS_BETTER = {
    *("brier", "log_loss", "eer", "ece", "mce", "ici", "e50", "e90", "e_max", "miscalibration"),
    *("cllr", "cllr_min", "expected_loss", "uncertainty"),
}


def draw_dots(
    table: pl.DataFrame, by: Sequence[str], options: ChartOptions, style: DotStyle, **channels: Any
) -> AnyChart:
    """Draw a line with dots, intervals and numbers for each row of a table."""
    style = _drawn_parts(table, by, style)
    plot = read_rows(table, by, options, style)
    texts = []
    for name, record in zip(plot.groups.names(table.height), plot.records, strict=True):
        for p_value in style.p_values:
            record[f"_{p_value}"] = format_p_value(record[p_value], 3) or ""
        value, text = record[style.value], _row_text(record, style)
        if not finite([value]):
            text = note_text(value or record.get("note"))
            # A line with slots for several groups can have several reasons.
            color = f"{record[str(plot.groups.color)]}: " if plot.dodged else ""
            record[REASON] = f"{color}{text}"
        texts.append(f"{name}: {text}")
    _add_numbers(plot)

    dashed = [f"at {value:.4g}" for value in style.references]
    dashed += ["at the null hypothesis"] if style.reference_column else []
    gray = "" if style.alpha is None else f"Gray: adjusted p ≥ {style.alpha:.4g}"
    several, reason_style = len(style.marks) > 1, {"align": "left", "fontSize": plot.font_size}
    chart = layered(
        [
            *_axis_layers(plot),
            *_span_layers(plot),
            *_dashed_lines(plot),
            *(_mark_layer(plot, i) for i in range(len(style.marks))),
            *reason_layers(plot.records, reason_style, x=alt.XValue(6), color=GRAY),
            *_right_texts(plot),
        ],
        data=inline_data(plot.records),
        encoding={
            "x": _x_channel(plot),
            **_line_channels(plot),
            **_color_channel(plot),
            "tooltip": [*plot.groups.tooltips(), *map(tooltip, plot.shown)],
            **channels,
        },
        width=plot.groups.side,
        height=plot.height,
    )
    if several:  # each mark has a legend with its own symbol
        chart = chart.resolve_scale(shape="independent").resolve_legend(shape="independent")
    symbols = "●◆■▲" if style.span_title else "●◇□△"
    keys = (f"{sign} {mark_name(name)}" for sign, name in zip(symbols, style.marks, strict=False))
    result = plot.groups.with_titles(
        chart,
        title=style.title,
        subtitle=sentences(
            interval_text(table),
            gray,
            style.subtitle,
            # In panels, legends would be repeated.
            ", ".join(keys) if several and plot.groups.panel is not None else "",
            end="",
        ),
        description=[
            _joined(style.title, format_count(table.height, "row")),
            style.subtitle,
            f"The dashed line is {' and '.join(dashed)}" if dashed else "",
            join_first(texts, separator="; "),
        ],
        offset=TITLE_OFFSET,
    )
    return result.resolve_scale(x="independent") if style.in_panels else result


@dataclass(frozen=True, slots=True, kw_only=True)
class DotPlot:
    """Data of a dot plot: its style, and the line, the color and the panel of each row of a table.

    With `dodged`, a line has a slot for each color. `shown` are the columns in tooltips.
    """

    style: DotStyle
    groups: Groups
    line: str
    dodged: bool
    shown: Sequence[str]
    records: list[dict[str, Any]]

    @property
    def lines(self) -> GroupColumn:
        """The column whose values have lines."""
        return self.groups.columns[self.line]

    @property
    def n_lines(self) -> int:
        """The number of lines, at least 1."""
        return max(1, len(self.lines.values))

    @property
    def slots(self) -> int:
        """The number of slots in each line."""
        return len(self.groups.columns[str(self.groups.color)].values) if self.dodged else 1

    @property
    def slot_height(self) -> float:
        """The height of a slot in pixels."""
        height = SLOT_HEIGHT if self.dodged else LINE_HEIGHT
        return min(height, MAX_HEIGHT / (self.n_lines * (self.slots + self.dodged)))

    @property
    def gap(self) -> float:
        """The distance between two lines in pixels; 0 if a line has one slot."""
        return min(LINE_GAP, self.slot_height) if self.dodged else 0

    @property
    def height(self) -> float:
        """The height of a panel in pixels."""
        return round(self.n_lines * (self.slot_height * self.slots + self.gap), 1)

    @property
    def font_size(self) -> float:
        """The font size of texts in lines."""
        return max(MIN_TEXT_HEIGHT, min(FONT_SIZE, self.slot_height))

    @property
    def whole_line(self) -> dict[str, Any]:
        """The channel of layers that are not inside a slot."""
        return {"yOffset": alt.YOffsetValue(0)} if self.dodged else {}

    @property
    def right(self) -> dict[str, str]:
        """The fields and titles of texts right of the dots; unadjusted p-values if they differ."""
        if self.slot_height < MIN_TEXT_HEIGHT:
            return {}
        names = self.style.p_values
        texts = {f"_{name}": title for name, title in zip(names, ("p", "adjusted p"), strict=False)}
        if all(len({record[name] for name in names}) < 2 for record in self.records):
            texts = dict([*texts.items()][-1:])
        numbers = self.style.numbers
        return texts if numbers is None else {ESTIMATE_TEXT: numbers, **texts}

    def text_width(self, text: str) -> int:
        """Return the width of a column of texts in pixels, with the space left of it."""
        texts = [self.right[text], *(record[text] for record in self.records)]
        return round(CHARACTER_WIDTH * max(map(len, texts))) + 12


def _drawn_parts(table: pl.DataFrame, by: Sequence[str], style: DotStyle) -> DotStyle:
    """Return a style with its title, and with the lines that can be drawn for a table."""
    shown = documented_columns(table, by)
    limits = style.limits if style.limits and {*style.limits} <= {*shown} else None
    spans = style.spans or ((Span(start=limits[0], end=limits[1]),) if limits else ())
    box = style.box
    if box and json_values(table.get_column(box[0])) == json_values(table.get_column(box[1])):
        box = None
    style = replace(style, limits=limits, spans=spans, box=box)
    references = style.references
    if style.chance is not None:
        drawn = [value for name in _drawn(style) for value in json_values(table.get_column(name))]
        # The interval of a single row would otherwise be as wide as the chart.
        if table.height == 1 or is_near(style.chance, drawn):
            references += (style.chance,)
    numbers = style.numbers
    if numbers == "":
        numbers = style.axis or "Value"
        numbers = numbers if len(numbers) <= MAX_TITLE_LENGTH else mark_name(style.value)
        levels = level_text(table.get_column("ci_level")) if "ci_level" in shown else ""
        if limits and levels and finite(json_values(table.get_column(limits[0]))):
            numbers += f" ({levels} interval)"
    title = title_with_counts(style.title, table)
    return replace(style, title=title, references=references, numbers=numbers)


def _drawn(style: DotStyle) -> list[str]:
    """Return the columns of the drawn numbers."""
    ends = [name for span in style.spans for name in (span.start, span.end)]
    return [*style.marks, *ends, *(style.box or ())]


def _x_channel(plot: DotPlot) -> alt.X:
    """Return the x channel of the first mark; all marks have the same domain."""
    style = plot.style
    names = [*_drawn(style), *([style.reference_column] if style.reference_column else [])]
    known = finite(record[name] for record in plot.records for name in names)
    empty = [-1.0, 1.0] if 0 in style.references else [0.0, 1.0]
    domain: Any = domain_of([*known, *style.references]) if known else empty
    # Areas are at most 1, but Vega-Lite would extend a nice domain to numbers above 1.
    padded: dict[str, Any] = {"nice": False, "zero": False, "padding": AXIS_PADDING}
    return alt.X(
        field=escape_field(style.value),
        type="quantitative",
        title=style.axis,
        scale=alt.Scale(domain=[*style.domain])
        if style.domain
        else alt.Scale(domain=alt.Undefined if style.in_panels else domain, **padded),
        axis=linear_axis(labelSeparation=LABEL_SEPARATION) if style.in_panels else linear_axis(),
    )


def _line_channels(plot: DotPlot) -> dict[str, Any]:
    """Return the y channels: the line of each mark and, if lines have slots, its slot."""
    step = plot.slot_height * plot.slots + plot.gap
    scale = alt.Scale(
        domain=list(plot.lines.values),
        type="band",
        paddingInner=round(plot.gap / step, 4),
        paddingOuter=round(plot.gap / step / 2, 4),
    )
    axis = alt.Axis(
        labelLimit=0,
        labelOverlap=True,
        labelFontSize=max(8, min(FONT_SIZE, plot.height / plot.n_lines)),
        grid=True,
        ticks=False,
        labelPadding=6,
        domain=False,
        tickBand="extent" if plot.dodged else "center",
        titleAngle=0,
        titleAlign="right",
        titleX=-4,
        titleY=-10,
    )
    y = nominal(alt.Y, plot.line, title=plot.lines.title or None, scale=scale, axis=axis)
    if not plot.dodged:
        return {"y": y}
    color = str(plot.groups.color)
    domain = list(plot.groups.columns[color].values)
    return {"y": y, "yOffset": nominal(alt.YOffset, color, scale=alt.Scale(domain=domain))}


def _color_channel(plot: DotPlot) -> dict[str, Any]:
    """Return the color channel, if there are colors or gray rows; only slots have a legend."""
    style, groups = plot.style, plot.groups
    if style.span_title:
        legend = alt.Legend(
            title=style.span_title, symbolType="stroke", symbolStrokeWidth=4, labelLimit=0
        )
        scale = alt.Scale(domain=[span.name for span in style.spans])
        return {"color": alt.Color(f"{SPAN_FIELD}:N", scale=scale, legend=legend)}
    gray = {"test": f"!({significant(style.alpha)})", "value": REFERENCE_COLOR}
    if groups.color is None:
        # A condition without another color would not be inherited by the layers. The datum has
        # the first color of the theme.
        one = alt.ColorDatum(style.axis, type="nominal", legend=None, condition=gray)
        return {} if style.alpha is None else {"color": one}
    width = sum(map(plot.text_width, plot.right))
    beside = width + 10 if width and groups.panel is None else alt.Undefined
    color = groups.color_channel(has_legend=plot.dodged, symbolType="circle", offset=beside)
    if style.alpha is not None:
        color["condition"] = gray
    return {"color": color}


def _axis_layers(plot: DotPlot) -> list[alt.Chart]:
    """Extend the axes of panels, so that small differences are not drawn as large ones.

    Vega-Lite has no option for the domain of each panel, so an invisible line extends the domain.
    """
    if not plot.style.in_panels:
        return []
    is_short = False
    for records in in_panels(plot.records, plot.groups.panel):
        known = finite(record[name] for record in records for name in _drawn(plot.style))
        low, high = min(known, default=0.0), max(known, default=0.0)
        margin = (MIN_PANEL_SHARE * max(abs(low), abs(high)) - (high - low)) / 2
        if margin > 0:
            is_short = True
            records[0] |= dict(zip(AXIS_ENDS, (low - margin, high + margin), strict=True))
    if not is_short:
        return []
    line: Any = alt.Chart().transform_filter(f"isValid({datum(AXIS_ENDS[0])})")
    line = line.mark_rule(opacity=0).encode(**span("x", *AXIS_ENDS), tooltip=NO_TOOLTIP)
    return [line]


def significant(alpha: float | None, p_value: str = "p_adjusted") -> str:
    """Return the Vega expression of rows whose adjusted p-value is below `alpha`."""
    return f"isValid(datum.{p_value}) && datum.{p_value} < {alpha}"


def _span_layers(plot: DotPlot) -> list[alt.Chart]:
    """Draw the dotted box and the lines of each row."""
    style, layers = plot.style, []
    # The height is in pixels, because other heights are relative to the line, not to the slot.
    height = BAR_HEIGHT * plot.slot_height
    if style.box is not None:
        start, end = style.box
        box = alt.Chart().transform_filter(f"{datum(start)} < {datum(end)}")
        box = box.mark_bar(filled=False, strokeWidth=1, height=round(height, 1))
        layers.append(with_key(box.encode(**span("x", start, end)), TIE_KEY, "tie"))
    widths = {one.name: one.width for one in style.spans}
    scale = alt.Scale(type="ordinal", domain=[*widths], range=[*widths.values()])
    legend = alt.Legend(**GRAY_LEGEND, symbolType="stroke", symbolSize=200)
    width = alt.StrokeWidth(f"{SPAN_FIELD}:O", scale=scale, legend=legend)
    for one in style.spans:
        ends = (one.start, one.end)
        n_known = {len(finite(record[name] for name in ends)) for record in plot.records}
        if style.marks and 2 not in n_known:  # without marks, the lines draw the axes
            continue
        line: Any = alt.Chart()
        if 1 in n_known:  # one limit is infinite
            line = line.transform_filter(" && ".join(f"isNumber({datum(name)})" for name in ends))
        thickness = round(min(one.width, height), 2)
        # Bars have the color of the theme without a color channel, and filled symbols in legends.
        is_rule = one.name or (plot.groups.color and one.width < MIN_BAR_WIDTH)
        line = line.mark_rule(strokeWidth=thickness) if is_rule else line.mark_bar(height=thickness)
        if one.name:
            line = line.transform_calculate(**{SPAN_FIELD: f"'{one.name}'"})
        if one.name and not style.span_title:
            line = line.encode(strokeWidth=width)
        layers.append(line.encode(**span("x", *ends)))
    return layers


def _mark_layer(plot: DotPlot, i: int) -> alt.Chart:
    """Draw the marks of one field; the marks of the first field are filled."""
    style, name, panel = plot.style, plot.style.marks[i], plot.groups.panel
    filled = i == 0 or style.span_title is not None
    size = max(MIN_DOT, min(MAX_DOT, 0.4 * plot.slot_height**2)) * (1 if filled else HOLLOW_SIZE)
    mark: Any = alt.Chart().mark_point(
        filled=filled, size=round(size, 1), opacity=1, strokeWidth=1.5
    )
    if i:
        mark = mark.encode(x=alt.X(field=escape_field(name), type="quantitative"))
    if style.span_title:
        mark = mark.encode(color=GRAY)
    if i or style.span_title:
        mark = mark.encode(strokeDash=alt.StrokeDashValue([1, 0]))
    if len(style.marks) > 1:
        fill = REFERENCE_COLOR if filled else "transparent"
        legend = alt.Legend(**GRAY_LEGEND, symbolFillColor=fill) if panel is None else None
        scale = alt.Scale(domain=[mark_name(name)], range=[SYMBOLS[i]])
        mark = mark.transform_calculate(**{MARK_FIELD: f"'{mark_name(name)}'"})
        mark = mark.encode(shape=alt.Shape(f"{MARK_FIELD}:N", scale=scale, legend=legend))
    return mark  # type: ignore[no-any-return]


# Parts of column names that are not words, and their spelling in texts.
SPELLINGS = {
    **{
        name: name.upper()
        for name in ("auc", "ece", "f1", "fpr", "h", "ici", "ks", "mcc", "npv", "pr", "tpr")
    },
    "brier": "Brier score",
    "log": "logarithmic",
}


def mark_name(name: str) -> str:
    """Return the name of a column in words, such as "mean AUC" for "mean_auc"."""
    return " ".join(SPELLINGS.get(word, word) for word in name.split("_"))


# The channels of marks at a value of an axis that extend along the whole other axis.
ACROSS = {
    "x": {"y": alt.YValue(0), "y2": alt.Y2Value("height")},
    "y": {"x": alt.XValue(0), "x2": alt.X2Value("width")},
}


def reference_rule(side: str, field: str, values: Iterable[float], **channels: Any) -> alt.Chart:
    """Draw a dashed line across the chart at each of `values` on the axis `side`, "x" or "y"."""
    rows = [{field: value} for value in values]
    layer: Any = alt.Chart(alt.InlineData(values=rows)).mark_rule(strokeWidth=1)
    return layer.encode(**gray_dashes(), **ACROSS[side], **channels)  # type: ignore[no-any-return]


def _dashed_lines(plot: DotPlot) -> list[alt.Chart]:
    """Draw a dashed line at each reference value, such as chance."""
    style, lines = plot.style, []
    if style.references:
        lines.append(reference_rule("x", style.value, style.references, **plot.whole_line))
    if style.reference_column is not None:
        panel = [] if plot.groups.panel is None else [plot.groups.panel]
        keys = [escape_field(name) for name in (*panel, style.reference_column)]
        each = alt.Chart().mark_rule(strokeWidth=1).transform_aggregate(groupby=keys)
        place = {"x": alt.X(field=keys[-1], type="quantitative")} | ACROSS["x"]
        lines.append(each.encode(**gray_dashes(), **place, **plot.whole_line))
    return lines


def reason_layers(
    records: Sequence[Mapping[str, Any]], style: Mapping[str, Any], **channels: Any
) -> list[alt.Chart]:
    """Write the reasons in the records; the result is empty if there is none."""
    if all(record.get(REASON) is None for record in records):
        return []
    layer: Any = alt.Chart().transform_filter(f"isValid(datum.{REASON})")
    layer = layer.mark_text(fontStyle="italic", **style)
    return [layer.encode(text=alt.Text(f"{REASON}:N"), **channels)]


def _right_texts(plot: DotPlot) -> list[alt.Chart]:
    """Write the columns of texts to the right of the dots, and their titles."""
    layers: list[alt.Chart] = []
    left = 12
    for text, heading in plot.right.items():
        style: dict[str, Any] = {"align": "left", "dx": left}
        texts: Any = alt.Chart().mark_text(**style, fontSize=plot.font_size)
        layers.append(texts.encode(x=alt.XValue("width"), text=alt.Text(f"{text}:N")))
        if plot.groups.panel is None:
            bold = style | {"fontSize": FONT_SIZE, "fontWeight": "bold"}
            title: Any = alt.Chart(alt.InlineData(values=[{}])).mark_text(**bold)
            place = {"x": alt.XValue("width"), "y": alt.YValue(-8), **plot.whole_line}
            title = title.encode(**place, text=alt.TextValue(heading))
            layers.append(title.encode(color=GRAY, tooltip=NO_TOOLTIP))
        left += plot.text_width(text)
    return layers


def _add_numbers(plot: DotPlot) -> None:
    """Add the text of the first mark and its limits to each record, with equal decimals."""
    style = plot.style
    if style.numbers is None:
        return
    names = (style.value, *(style.limits or ()))
    for records in in_panels(plot.records, plot.groups.panel if style.in_panels else None):
        known = finite(record[name] for record in records for name in names)
        decimals = _decimals(max(map(abs, known), default=0.0))
        for record in records:
            numbers = finite(record[name] for name in names)
            texts = [f"{number:z,.{decimals}f}".replace("-", "−") for number in numbers]
            if len(texts) == 3:
                record[ESTIMATE_TEXT] = f"{texts[0]} ({texts[1]} to {texts[2]})"
            else:
                record[ESTIMATE_TEXT] = texts[0] if finite([record[style.value]]) else ""


def _decimals(largest: float) -> int:
    """Return the number of decimals of numbers of at most this size: three digits or more."""
    if largest >= 10 or largest == 0:
        return 1 if largest else 3
    return 3 if largest >= 0.1 else 2 - floor(log10(largest))


def _row_text(record: Mapping[str, Any], style: DotStyle) -> str:
    """Describe the numbers of a row."""
    numbers = {name: number_text(value) for name, value in record.items()}
    if style.row_text:
        return style.row_text.format_map(numbers)
    text = numbers[style.value]
    if style.limits and len(finite(record[name] for name in style.limits)) == 2:
        low, high = style.limits
        text += f" ({numbers[low]} to {numbers[high]})"
    for mark in style.marks[1:]:
        text += f", {mark_name(mark)} {numbers[mark]}"
    for name, title in zip(style.p_values, ("p", "adjusted p"), strict=False):
        p_value = record[f"_{name}"]
        if p_value:
            text += f", {title} {p_value}" if p_value[0] == "<" else f", {title} = {p_value}"
    return text


def read_rows(
    table: pl.DataFrame, by: Sequence[str], options: ChartOptions, style: DotStyle
) -> DotPlot:
    """Return the line, color and panel of each row of a table.

    Rows with different texts in `style.part` have separate lines or, with `style.in_panels`,
    panels. Lines are in the order of the table, or, if it is sorted by its group columns, in that
    of these columns. Lines with one dot whose names are not numbers, times or members of an Enum
    are then sorted by the first mark, the best first; of combinations, only the last column is.
    """
    color = None if options.color is NOT_GIVEN and not style.colored else options.color
    part = [style.part] if style.part and table.height else []
    shown = [name for name in documented_columns(table, by) if name not in part]
    own = replace(options, color=color, highlight=None)
    groups = read_groups(table, by, table.columns, own, [*shown, *part])
    keys, columns = dict(zip(by, groups.columns, strict=False)), {**groups.columns}
    for name in part:
        texts, title = table.get_column(name).to_list(), "" if name.startswith("_") else name
        columns[name] = GroupColumn.in_given_order(texts, title)

    panels = [] if groups.panel is None else [groups.panel]
    panels += part if style.in_panels else []
    left = [name for name in columns if name not in panels]
    colored = groups.color
    if color is NOT_GIVEN and colored is not None:
        n_colors = len(columns[colored].values)
        colored = colored if len(left) > 1 and 1 < n_colors <= MAX_DISTINCT_COLORS else None
    lines = [name for name in left if name != colored] or left
    dodged = colored is not None and colored in left and lines != [colored]
    order = [column.codes for column in columns.values()]
    sort = all(a <= b for a, b in pairwise(zip(*order, strict=True)))
    taken = {*columns, *shown}

    line, column = combined({name: columns[name] for name in lines}, table.height, taken, sort=sort)
    dtypes = [table.schema[name] for name, key in keys.items() if key in lines[-1:]]
    is_ordered = any(
        dtype.is_numeric() or dtype.is_temporal() or isinstance(dtype, pl.Enum) for dtype in dtypes
    )
    if sort and style.ranked and not dodged and not is_ordered:
        column = _ranked(column, [columns[name] for name in lines], table, style)
    columns[line] = column
    groups = Groups(columns=columns, color=colored)
    groups = with_panels(groups, {name: columns[name] for name in panels}, table.height, taken)
    if options.highlight is not None:
        without = None if colored else keys.get(MODEL, line)
        groups = highlighted_groups(replace(groups, one_color=without), options.highlight)
    records = row_records(table, groups, dict.fromkeys([*shown, *_drawn(style)]))
    return DotPlot(
        style=style, groups=groups, line=line, dodged=dodged, shown=shown, records=records
    )


def combined(
    columns: Mapping[str, GroupColumn], height: int, taken: Collection[str], *, sort: bool = True
) -> tuple[str, GroupColumn]:
    """Return the field and the column of the combinations of values that occur in `columns`."""
    if len(columns) == 1:
        ((name, column),) = columns.items()
        return name, column if sort else _reordered(column, [*dict.fromkeys(column.codes)])
    codes_of = [column.codes for column in columns.values()]
    rows: list[tuple[int, ...]] = [*zip(*codes_of, strict=True)] or [()] * height
    distinct = sorted(set(rows)) if sort else [*dict.fromkeys(rows)]
    texts = [
        JOINT.join(
            column.values[code] for column, code in zip(columns.values(), codes, strict=True)
        )
        for codes in distinct
    ]
    position = {codes: i for i, codes in enumerate(distinct)}
    title = JOINT.join(column.title for column in columns.values() if column.title)
    column = GroupColumn(
        title=title,
        values=tuple(distinct_texts(texts)) if columns else (ALL_ROWS,)[:height],
        codes=tuple(position[codes] for codes in rows),
        joint=True,
    )
    return field_name(title, taken) if title else ALL, column


def with_panels(
    groups: Groups, columns: Mapping[str, GroupColumn], height: int, taken: Collection[str]
) -> Groups:
    """Return groups with a panel for each combination of values in `columns`, if there are any."""
    if not columns:
        return groups
    panel, column = combined(columns, height, {*groups.columns, *taken})
    return replace(groups, columns={**groups.columns, panel: column}, panel=panel)


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
    column: GroupColumn, parts_of: Sequence[GroupColumn], table: pl.DataFrame, style: DotStyle
) -> GroupColumn:
    """Return a column sorted by the means of the first mark, in the first panel, best first.

    The column has the combinations of values of the columns `parts_of`; only the last of them is
    sorted, with its total last.
    """
    orders: list[Sequence[int]] = [part.codes for part in parts_of[:-1]]
    orders += [[text == part.total for text in part.texts] for part in parts_of[-1:]]
    values = json_values(table.get_column(style.value))
    parts = table.get_column(style.part) if style.part and style.in_panels else [None] * len(values)
    numbers: dict[int, list[float]] = {}
    first: dict[int, tuple[int, ...]] = {}
    for i, (code, value) in enumerate(zip(column.codes, values, strict=True)):
        numbers.setdefault(code, []).extend(finite([value]) if parts[i] == parts[0] else [])
        first[code] = tuple(order[i] for order in orders)
    sign = 1 if better(style.statistic or style.value) == "lower" else -1
    means = {code: sign * fmean(known) if known else inf for code, known in numbers.items()}
    return _reordered(column, sorted(means, key=lambda code: (first[code], means[code], code)))


def better(name: str) -> str:
    """Return whether "higher" or "lower" values of a statistic are better; empty if neither is."""
    if name in LOWER_IS_BETTER:
        return "lower"
    direction = NAMES[name].better if name in NAMES else "higher"
    return "" if direction == "neither" else direction


def documented_columns(table: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """Return the columns right of the group columns, up to the column `note` if there is one."""
    names = table.columns[len(by) :]
    return names[: names.index("note") + 1] if "note" in names else names


def is_near(value: float, drawn: Iterable[Any]) -> bool:
    """Return whether the distance from a value to the drawn numbers is at most their range."""
    known = finite(drawn)
    low, high = min(known, default=value), max(known, default=value)
    return 2 * low - high <= value <= 2 * high - low


def title_with_counts(title: str, table: pl.DataFrame) -> str:
    """Return a title with the numbers of positives and negatives, if all rows have the same."""
    texts = []
    for name, noun in (("n_pos", "positive"), ("n_neg", "negative")):
        counts = table.get_column(name).unique().to_list() if name in table.columns else []
        if len(counts) != 1 or counts[0] is None:
            return title
        texts.append(format_count(counts[0], noun))
    return _joined(title, ", ".join(texts))


def _joined(title: str, text: str) -> str:
    """Return a title, which can be a question, and a text that follows it."""
    return f"{title} {text}" if title.endswith("?") else f"{title}, {text}"


def interval_text(table: pl.DataFrame) -> str:
    """Return a text such as "95 % intervals (DeLong, logit scale)", or the test if there is one."""
    known = {
        name: table.get_column(name).drop_nulls().unique(maintain_order=True)
        for name in ("ci_level", "ci_method", "test")
        if name in table.columns
    }
    levels = level_text(known["ci_level"]) if "ci_level" in known else ""
    methods, tests = (
        "; ".join(map(method_text, known.get(name, ()))) for name in ("ci_method", "test")
    )
    if tests:
        return f"{levels} intervals (not adjusted), test: {tests}" if levels else f"test: {tests}"
    return f"{levels} intervals ({methods})" if levels and methods else ""
