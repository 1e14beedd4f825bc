"""Dot plots of tables: each row is a line with a dot and an interval."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.axes import linear_axis
from rocframe.charts.groups import (
    ALL_ROWS,
    JOINT,
    GroupColumn,
    Groups,
    caption_expression,
    choose_channels,
    field_name,
)
from rocframe.charts.labels import (
    distinct_texts,
    domain_of,
    finite,
    inline_data,
    json_rows,
    json_values,
    level_text,
    one_row,
    tooltip,
)
from rocframe.charts.layer_chart import LayerChart
from rocframe.charts.style import (
    CHANCE_STROKE,
    GRID,
    MAX_DISTINCT_COLORS,
    MUTED,
    SYMBOLS,
    TIE_KEY,
    dashed_rule,
    with_key,
)
from rocframe.options import NOT_GIVEN, NotGiven
from rocframe.schemas.columns import MODEL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

# In pixels. A line has one slot, or a slot for each color.
LINE_HEIGHT, SLOT_HEIGHT, MIN_SLOT_HEIGHT, LINE_GAP = 22, 12, 4, 10
MAX_HEIGHT = 1000  # of a panel, unless slots would then be lower than MIN_SLOT_HEIGHT
HOLLOW_SIZE = 1.8  # ratio of the areas of hollow marks and dots
FONT_SIZE = 10
AXIS_PADDING = 10  # between marks and the frame, so that marks do not overlap labels
TITLE_OFFSET = 12  # between the subtitle and the panel, for the title of the line names
TIE_HEIGHT = 0.6  # of the box of ties, as a share of a slot
TEXT_WIDTH = 70  # of the p-values to the right of the dots

# Fields of the records: the limits, the reason for a missing dot, the text to the right, and the
# names of lines and of panels that combine several groups.
LOW, HIGH, REASON, RIGHT_TEXT, LINE, PANEL = "low", "high", "reason", "text", "row", "panel"


@dataclass(frozen=True, slots=True, kw_only=True)
class DotPlot:
    """Data of a dot plot: a record for each row of a table, and the fields that are drawn.

    Each value of the group column `row` has a line. With `dodged`, a line has a slot for each
    color. `axis` is the title of the x axis. The numbers in the fields `marks` are drawn as dots;
    dots of the first field are filled. A dotted box connects the numbers in the two fields `inner`:
    the areas of the worst and the best order of ties. Dashed lines are drawn at the numbers
    `references`, and at the numbers in the field `reference`. `right_title` is the title of the
    texts to the right of the dots. `shown` are the columns in tooltips. With `free_axes`, the
    panels have independent x axes.
    """

    groups: Groups
    dodged: bool
    records: list[dict[str, Any]]
    axis: str
    marks: tuple[str, ...]
    inner: tuple[str, str] | None = None
    references: tuple[float, ...] = ()
    reference: str | None = None
    right_title: str | None = None
    shown: tuple[str, ...] = ()
    free_axes: bool = False

    @property
    def n_lines(self) -> int:
        """The number of lines, at least 1."""
        return max(1, len(self.groups.columns[LINE].values))

    @property
    def slots(self) -> int:
        """The number of slots in each line."""
        return len(self.groups.columns[str(self.groups.color)].values) if self.dodged else 1

    @property
    def slot_height(self) -> float:
        """The height of a slot in pixels."""
        height = SLOT_HEIGHT if self.dodged else LINE_HEIGHT
        return max(MIN_SLOT_HEIGHT, min(height, MAX_HEIGHT / max(1, self.n_lines * self.slots)))

    @property
    def gap(self) -> float:
        """The distance between two lines in pixels; 0 if a line has one slot."""
        return min(LINE_GAP, self.slot_height) if self.dodged else 0

    @property
    def height(self) -> float:
        """The height of a panel in pixels."""
        return round(self.n_lines * (self.slot_height * self.slots + self.gap), 1)

    @property
    def dot_size(self) -> float:
        """The area of a dot in square pixels."""
        return round(min(60.0, 0.4 * self.slot_height**2), 1)

    @property
    def font_size(self) -> float:
        """The font size of texts in lines."""
        return max(MIN_SLOT_HEIGHT, min(FONT_SIZE, self.slot_height))

    def tooltips(self) -> list[alt.Tooltip]:
        """Return tooltip lines of the group columns and of the columns `shown`."""
        return [*self.groups.tooltips(), *map(tooltip, self.shown)]

    def x_channel(self, name: str) -> alt.X:
        """Return the x channel of a field; all fields have the same domain."""
        fields = (*self.marks, LOW, HIGH, *(self.inner or ()), self.reference)
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
        return alt.X(f"{name}:Q", title=self.axis, scale=scale, axis=linear_axis())

    def line_channels(self) -> dict[str, Any]:
        """Return the y channels: the line of each mark and, if lines have slots, its slot."""
        lines = self.groups.columns[LINE]
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
            gridColor=GRID,
            ticks=False,
            labelPadding=6,
            domain=False,
            tickBand="extent" if self.dodged else "center",
            titleAngle=0,
            titleAlign="right",
            titleX=-4,
            titleY=-10,
        )
        y = alt.Y(f"{LINE}:N", title=lines.title or None, scale=scale, axis=axis)
        if not self.dodged:
            return {"y": y}
        color = str(self.groups.color)
        domain = list(self.groups.columns[color].values)
        return {"y": y, "yOffset": alt.YOffset(f"{color}:N", scale=alt.Scale(domain=domain))}

    def color_channel(self) -> Any:
        """Return the color channel.

        Without slots, there is no legend, because the names of lines contain the colored values.
        """
        beside = TEXT_WIDTH + 20 if self.right_title and self.groups.panel is None else None
        return self.groups.color_channel(
            has_legend=self.dodged, symbolType="circle", offset=beside or alt.Undefined
        )

    def layered(
        self, layers: Sequence[alt.Chart], *, title: str, subtitle: str, description: str
    ) -> alt.LayerChart | alt.FacetChart:
        """Return a chart of the layers, the reasons for missing dots and the texts on the right."""
        chart = LayerChart(
            layer=[*layers, _reasons(self), *_right_texts(self)],
            data=inline_data(self.records),
            width=self.groups.side,
            height=self.height,
        )
        result = self.groups.with_titles(
            chart, title=title, subtitle=subtitle, description=description, offset=TITLE_OFFSET
        )
        return result.resolve_scale(x="independent") if self.free_axes else result


def dot_layers(plot: DotPlot) -> list[alt.Chart]:
    """Return the layers of intervals, reference lines and marks."""
    bars, marks = _bars(plot), [_mark_layer(plot, name) for name in reversed(plot.marks)]
    # .interactive() applies to the first layer, which therefore needs both axes.
    return [*bars, *_references(plot), *marks] if bars else [*marks, *_references(plot)]


def _bars(plot: DotPlot) -> list[alt.Chart]:
    """Draw the interval and the dotted box of each row."""
    color, y = plot.color_channel(), plot.line_channels()
    bars = []
    if plot.inner is not None:
        start, end = plot.inner
        box = alt.Chart().transform_filter(f"datum.{start} < datum.{end}")
        # The height is in pixels, because other heights are relative to the line, not to the slot.
        height = round(TIE_HEIGHT * plot.slot_height, 1)
        box = box.mark_bar(filled=False, strokeWidth=1, height=height)
        box = box.encode(x=plot.x_channel(start), x2=alt.X2(f"{end}:Q"), color=color, **y)
        bars.append(with_key(box, TIE_KEY, "tie"))
    if any(finite(record.get(LOW) for record in plot.records)):
        thin = alt.Chart().mark_rule(strokeWidth=min(2, plot.slot_height / 4))
        bars.append(thin.encode(x=plot.x_channel(LOW), x2=alt.X2(f"{HIGH}:Q"), color=color, **y))
    return bars


def _mark_layer(plot: DotPlot, name: str) -> alt.Chart:
    """Draw the marks of one field; the marks of the first field are filled."""
    first = name == plot.marks[0]
    size = plot.dot_size if first else HOLLOW_SIZE * plot.dot_size
    mark = alt.Chart().mark_point(filled=first, size=size, opacity=1, strokeWidth=1.5)
    shape: Any = alt.Undefined
    if len(plot.marks) > 1:
        scale = alt.Scale(domain=list(plot.marks), range=list(SYMBOLS[: len(plot.marks)]))
        shape = alt.Shape("mark:N", scale=scale, legend=mark_legend(plot.marks))
        mark = mark.transform_calculate(mark=f"'{name}'")
    layer: alt.Chart = mark.encode(
        x=plot.x_channel(name),
        color=plot.color_channel(),
        shape=shape,
        tooltip=plot.tooltips(),
        **plot.line_channels(),
    )
    return layer


# Parts of column names that are not words, and their spelling in texts.
SPELLINGS = {
    **{name: name.upper() for name in ("auc", "ece", "fpr", "h", "ici", "ks", "pr", "tpr")},
    "brier": "Brier score",
    "log": "logarithmic",
}


def mark_name(name: str) -> str:
    """Return the name of a column in words, such as "mean AUC" for "mean_auc"."""
    return " ".join(SPELLINGS.get(word, word) for word in name.split("_"))


def mark_legend(names: Iterable[str]) -> alt.Legend:
    """Return the legend of the marks of the columns `names`, which are written in words."""
    labels = caption_expression({name: mark_name(name) for name in names})
    return alt.Legend(title=None, labelLimit=0, labelExpr=labels)


def _references(plot: DotPlot) -> list[alt.Chart]:
    """Draw a dashed line at each reference value, such as chance."""
    lines = [dashed_rule(x=value) for value in plot.references]
    if plot.reference is not None:
        each = alt.Chart().mark_rule(**CHANCE_STROKE)
        each = each.transform_aggregate(groupby=[plot.reference])
        lines.append(each.encode(x=plot.x_channel(plot.reference)))
    return lines


def _reasons(plot: DotPlot) -> alt.Chart:
    """Write the reason for each missing dot in its line."""
    layer: alt.Chart = (
        alt.Chart()
        .mark_text(align="left", fontStyle="italic", fontSize=plot.font_size, color=MUTED)
        .transform_filter(f"isValid(datum.{REASON})")
        .encode(
            x=alt.XValue(6),
            text=alt.Text(f"{REASON}:N"),
            tooltip=plot.tooltips(),
            **plot.line_channels(),
        )
    )
    return layer


def _right_texts(plot: DotPlot) -> list[alt.Chart]:
    """Write the texts to the right of the dots, and their title."""
    if plot.right_title is None:
        return []
    right = alt.XValue("width")
    style: dict[str, Any] = {"align": "left", "dx": 12}
    texts: Any = alt.Chart().mark_text(**style, fontSize=plot.font_size)
    title: Any = one_row().mark_text(**style, fontSize=FONT_SIZE, fontWeight="bold")
    return [
        texts.encode(x=right, text=alt.Text(f"{RIGHT_TEXT}:N"), **plot.line_channels()),
        title.encode(x=right, y=alt.YValue(-8), text=alt.TextValue(plot.right_title)),
    ]


def read_rows(
    table: pl.DataFrame,
    by: Sequence[str],
    *,
    color: str | NotGiven | None,
    facet: str | None,
    parts: Mapping[str, Sequence[str]] | None = None,
    in_panels: bool = False,
) -> tuple[Groups, bool]:
    """Return the groups of a dot plot of a table, and whether its lines have slots for colors.

    `parts` maps a title to a text for each row of the table, such as the name of a metric. Rows
    with different texts have separate lines or, with `in_panels`, separate panels. Lines are in the
    order of the table or, if the table is sorted by its group columns, in the order of these
    columns.
    """
    color_argument = None if color is NOT_GIVEN else color
    color_column, panel = choose_channels(
        by, table.columns, color=color_argument, facet=facet, detail=()
    )
    parts = (parts or {}) if table.height else {}
    keys = {name: field_name(i) for i, name in enumerate(by) if table.height}
    extra = [field_name(len(by) + i) for i in range(len(parts))]
    columns = {key: GroupColumn.from_keys(table.get_column(name)) for name, key in keys.items()}
    for key, (title, texts) in zip(extra, parts.items(), strict=True):
        columns[key] = GroupColumn.in_given_order(texts, title)

    panels = [keys[panel]] if panel in keys else []
    panels += extra if in_panels else []
    left = [name for name in columns if name not in panels]
    if color is NOT_GIVEN:
        shown = _default_color([name for name in left if name not in extra], columns, keys)
        shown = shown if len(left) > 1 else None
    else:
        shown = keys.get(color_column) if color_column else None
        if shown is not None and not columns[shown].has_colors:
            shown = None
    lines = [name for name in left if name != shown]
    order = [column.codes for column in columns.values()]
    sort = all(a <= b for a, b in pairwise(zip(*order, strict=True)))
    joint = {}
    if len(panels) > 1:
        joint[PANEL] = combined_column([columns[name] for name in panels], table.height, sort=True)
    joint[LINE] = combined_column(
        [columns[name] for name in lines or left], table.height, sort=sort
    )
    groups = Groups(
        columns={**columns, **joint},
        color=shown,
        panel=PANEL if len(panels) > 1 else next(iter(panels), None),
    )
    return groups, shown is not None and shown in left and bool(lines)


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
        title=JOINT.join(column.title for column in columns),
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


def add_limits(record: dict[str, Any]) -> None:
    """Add the drawn limits of a row to its record; both are None if one limit is infinite."""
    low, high = record.get("lower"), record.get("upper")
    record[LOW], record[HIGH] = (low, high) if len(finite([low, high])) == 2 else (None, None)


def add_reason(record: dict[str, Any], reason: str | None, groups: Groups, *, dodged: bool) -> None:
    """Add the reason for a missing dot to the record of its row; None if there is a dot.

    All reasons have the same color. If a line has slots for several groups (`dodged`), the text
    starts with the name of the group.
    """
    record[REASON] = f"{record[str(groups.color)]}: {reason}" if reason and dodged else reason


def is_near(value: float, records: Sequence[Mapping[str, Any]], fields: Sequence[str]) -> bool:
    """Return whether the distance from a value to the drawn numbers is at most their range.

    `fields` are the fields of the numbers that are drawn in addition to the limits.
    """
    known = finite(record[name] for record in records for name in (*fields, LOW, HIGH))
    if not known:
        return True
    low, high = min(known), max(known)
    return 2 * low - high <= value <= 2 * high - low


TEST_TEXTS = {
    "delong_t_unpaired": "unpaired DeLong (t)",
    "delong_unpaired": "unpaired DeLong",
}


def interval_text(table: pl.DataFrame) -> str:
    """Return a text such as "95 % intervals (logit_delong)", with the test if there is one."""

    def values(name: str) -> list[Any]:
        if name not in table.columns:
            return []
        return table.get_column(name).drop_nulls().unique(maintain_order=True).to_list()

    levels, methods, tests = (values(name) for name in ("ci_level", "ci_method", "test"))
    intervals = f"{level_text(table.get_column('ci_level'))} intervals" if levels else ""
    if tests:
        texts = ", ".join(TEST_TEXTS.get(test, test) for test in tests)
        return f"{f'{intervals} (not adjusted), ' if intervals else ''}test: {texts}"
    return f"{intervals} ({', '.join(methods)})" if intervals and methods else ""
