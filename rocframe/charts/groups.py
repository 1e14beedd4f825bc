"""Groups of a table in a chart: their colors, panels, legends and captions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from json import dumps
from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.areas.area import auc_of, average_precision_of
from rocframe.charts.style import (
    COLORS,
    MAX_NAME_LENGTH,
    OTHER_COLOR,
    REFERENCE_COLOR,
    chart_text,
    color_scale,
    distinct_labels,
    escape_field,
    field_name,
    json_rows,
    json_values,
    sentences,
    short_name,
    theme_colors,
    theme_sets_colors,
    tooltip,
    value_texts,
)
from rocframe.errors import OptionValueError, RepeatedNameError
from rocframe.frames import find_keys, number_distinct_rows
from rocframe.options import NOT_GIVEN, check_distinct, check_group_column, parse_names
from rocframe.schemas.table_type import MODEL, TOTAL
from rocframe.text import join_first

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.layer_chart import AnyChart
    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind

MAX_AREAS_IN_PANEL = 8
MAX_IN_SUBTITLE, MAX_IN_DESCRIPTION = 3, 10  # names of groups or rows that are not drawn
LEGEND_CHANNELS = (
    *(alt.Color, alt.Opacity, alt.Shape),
    *(alt.StrokeDash, alt.StrokeOpacity, alt.StrokeWidth),
)
GROUP_INDEX = "_curve"  # the index of the group of a record; not written
JOINT = " · "  # separates the parts of a name
ALL_GROUPS = "all"  # the name of the rows of several groups together
ALL_ROWS = "all rows"  # the name of the only group of a table without group columns
CHART_SIDE, PANEL_SIDE, PANELS_PER_ROW = 380, 240, 3  # the sides in pixels
MAX_LEGEND, SHOWN_IN_LEGEND = 30, 11  # a legend of more than 30 ordered values shows 11 of them


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupColumn:
    """A group column as text: its title, its values in order, and the value of each row.

    `ordered` is true for times and for many numbers, `joint` for a combination of columns. `domain`
    are the values of the color scale, if it has more values than the column. `total` is the value
    of rows of several groups together, or None.
    """

    title: str
    values: tuple[str, ...]
    codes: tuple[int, ...]
    ordered: bool = False
    joint: bool = False
    domain: tuple[str, ...] = ()
    total: str | None = None

    @classmethod
    def from_keys(
        cls, keys: pl.Series, length: int = MAX_NAME_LENGTH, is_total: pl.Series | None = None
    ) -> GroupColumn:
        """Return a column with its values in the sort order of polars, as texts of this length.

        The rows `is_total` have the last value.
        """
        groups = keys if is_total is None else keys.filter(~is_total)
        distinct, _ = number_distinct_rows(groups.to_frame())
        values, total = distinct_labels(distinct.to_series(), length), None
        codes = find_keys(keys.to_frame(), distinct)
        if is_total is not None:
            total = free_name(ALL_GROUPS, values)
            codes = codes.zip_with(~is_total, pl.repeat(len(values), len(keys), eager=True))
            values.append(total)
        return cls(
            title=short_name(keys.name),
            values=tuple(values),
            codes=tuple(codes.to_list()),
            ordered=keys.dtype.is_temporal()
            or (keys.dtype.is_numeric() and len(distinct) > len(COLORS)),
            total=total,
        )

    @classmethod
    def in_given_order(cls, texts: Sequence[str], title: str) -> GroupColumn:
        """Return a column of texts with its values in the order of their first rows."""
        texts = [chart_text(text) for text in texts]
        codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
        return cls(title=title, values=tuple(codes), codes=tuple(codes[text] for text in texts))

    @property
    def has_colors(self) -> bool:
        """Whether each value can have a distinct color; ordered values have shades of one scale."""
        return self.ordered or len(self.values) <= len(COLORS)

    def with_colors_of(self, others: GroupColumn) -> GroupColumn:
        """Return the column with the colors of its values in `others`, if that has all of them."""
        known = others.has_colors and set(self.values) <= set(others.values)
        return replace(self, domain=others.values) if known else self

    @property
    def texts(self) -> list[str]:
        """The value of each row."""
        return [self.values[code] for code in self.codes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The group columns of a chart, and which of them have colors, panels and captions.

    `columns` maps fields of the records to group columns. `color` and `panel` are the fields whose
    values have colors and panels. If the field that should have colors has more values than there
    are distinct colors, it is `one_color` instead of `color`. If values are `highlighted`, the
    others are gray. `captions` are the texts that legends or panel headers show instead of values.
    `legend` is False if legends are hidden.
    """

    columns: Mapping[str, GroupColumn] = field(default_factory=dict)
    color: str | None = None
    one_color: str | None = None
    highlighted: tuple[str, ...] = ()
    panel: str | None = None
    captions: Mapping[str, str] = field(default_factory=dict)
    legend: bool = True

    def with_colors(self, name: str | None) -> Groups:
        """Return groups whose field `name` has colors, or is `one_color` for too many values."""
        if name is None or self.columns[name].has_colors:
            return replace(self, color=name)
        return self if name == self.panel else replace(self, one_color=name)

    def with_highlight(self, values: Sequence[str]) -> Groups:
        """Return groups in which only some values of the color column have colors."""
        color = self.color or self.one_color
        return replace(self, color=color, one_color=None, highlighted=tuple(values))

    def is_highlighted(self, record: Mapping[str, Any]) -> bool:
        """Whether a record belongs to a highlighted value."""
        return bool(self.highlighted) and record.get(str(self.color)) in self.highlighted

    @property
    def _captioned_field(self) -> str | None:
        """The field whose values have captions, which state the mean of their areas.

        If colors and panels show different columns, the area of each color is written into each
        panel, unless there are too many colors: then the panels of models have captions. A mean
        over the folds of a model is meaningful, but a mean over models or segments is not.
        """
        if self.color is None or self.panel in {None, self.color}:
            return self.color or self.panel or self.one_color
        many = len(self.columns[self.color].values) > MAX_AREAS_IN_PANEL
        return self.panel if many and self.columns[self.panel].title == MODEL else None

    @property
    def captioned_column(self) -> GroupColumn | None:
        """The column whose values have captions, or None."""
        name = self._captioned_field
        return None if name is None else self.columns[name]

    @property
    def _in_legend(self) -> bool:
        return self._captioned_field is not None and self._captioned_field == self.color

    @property
    def side(self) -> int:
        """The width and height of a square chart, or of each panel."""
        return CHART_SIDE if self.panel is None else PANEL_SIDE

    @property
    def table_columns(self) -> dict[str, GroupColumn]:
        """The group columns of the table, without combinations of several group columns."""
        return {name: column for name, column in self.columns.items() if not column.joint}

    def names(self, n_records: int) -> list[str]:
        """Return the name of each record: its group values, or "all rows" without group columns."""
        texts = [column.texts for column in self.table_columns.values()]
        names = [JOINT.join(parts) for parts in zip(*texts, strict=True)]
        return names if texts else [ALL_ROWS] * n_records

    def name(self, records: Sequence[dict[str, Any]]) -> None:
        """Add the values of the group columns to records with the field GROUP_INDEX."""
        for name, column in self.columns.items():
            texts = column.texts
            for record in records:
                record[name] = texts[record[GROUP_INDEX]]

    def max_curves(self, records: Sequence[Mapping[str, Any]], *fields: str | None) -> int:
        """Return the maximum number of records that have the same values in all `fields`."""
        names = [name for name in fields if name is not None]
        counts = Counter(tuple(record[name] for name in names) for record in records)
        return max(counts.values(), default=0)

    def captions_text(self) -> str:
        """Return a text with the captions of all values; empty if no column has captions."""
        column = self.captioned_column
        if column is None:
            return ""
        texts = [self.captions.get(value, value) for value in column.values]
        return f"By {column.title}: {join_first(texts)}"

    def tooltips(self) -> list[alt.Tooltip]:
        """Return a tooltip line for each group column."""
        return [tooltip(name, column.title) for name, column in self.table_columns.items()]

    def details(self) -> list[alt.Detail]:
        """Return the channels of the group columns without panels.

        With the column of the colors, its values have separate lines if a user replaces the colors.
        """
        names = [name for name in self.table_columns if name != self.panel]
        return [nominal(alt.Detail, name) for name in names]

    def channels(self, color: Any = None) -> dict[str, Any]:
        """Return the channels that separate the groups: the color channel, and details."""
        color = self.line_color() if color is None else color
        details = self.details()
        return {
            **({} if color is alt.Undefined else {"color": color}),
            **({"detail": details} if details else {}),
        }

    def color_channel(self, *, has_legend: bool = True, **legend: Any) -> Any:
        """Return the color channel of a layer; `legend` are options of its legend."""
        if self.color is None:
            return alt.Undefined
        column = self.columns[self.color]
        options = {
            "labelExpr": caption_expression(self.captions if self._in_legend else {}),
            "labelLimit": 0,
            "symbolOpacity": 1,
        }
        values = column.domain or column.values
        scale = color_scale(values, ordered=column.ordered)
        if column.total is not None:
            scale = total_scale(values, column.total, ordered=column.ordered)
        if self.highlighted:
            others = [value for value in column.values if value not in self.highlighted]
            palette = theme_colors() or COLORS
            colors = [palette[i % len(palette)] for i in range(len(self.highlighted))]
            scale = alt.Scale(
                domain=[*self.highlighted, *others], range=[*colors, *[OTHER_COLOR] * len(others)]
            )
            legend = {**legend, "values": list(self.highlighted)}
        shown = alt.Legend(**options | legend) if has_legend else None
        # Without a title, `configure_legend(title=None)` removes the name of the column.
        title = alt.Undefined if column.title == escape_field(self.color) else column.title
        return nominal(alt.Color, self.color, title=title, scale=scale, legend=shown)

    def line_color(self, drawn: Collection[str] | None = None) -> Any:
        """Return the color channel of lines, with a legend of the values `drawn`, or all."""
        legend: dict[str, Any] = {"symbolType": "stroke", "symbolSize": 200, "symbolStrokeWidth": 3}
        column = self.columns.get(self.color or "")
        if column is None:
            return self.color_channel(**legend)
        values = [value for value in column.values if drawn is None or value in drawn]
        if column.ordered and len(values) > MAX_LEGEND:
            last, steps = len(values) - 1, SHOWN_IN_LEGEND - 1
            shown = [values[round(i * last / steps)] for i in range(SHOWN_IN_LEGEND)]
            title = f"{column.title} ({len(shown)} of {len(values)})"
            legend |= {"title": title, "values": shown}
        elif len(values) < len(column.values):
            legend["values"] = values
        return self.color_channel(has_legend=bool(values), **legend)

    def with_titles(
        self,
        chart: alt.LayerChart,
        *,
        title: str,
        subtitle: str,
        description: Sequence[str],
        undrawn: Sequence[str] = (),
        offset: float | None = None,
    ) -> AnyChart:
        """Add titles, and the names of what is `undrawn`, to a chart; split it into panels."""
        short, long = (
            f"Not drawn: {join_first(undrawn, limit)}" if undrawn else ""
            for limit in (MAX_IN_SUBTITLE, MAX_IN_DESCRIPTION)
        )
        subtitle, texts = sentences(subtitle, short, end=""), [*description, long]
        name = self.one_color or (self.color if self.highlighted else None)
        if name is not None:
            column = self.columns[name]
            n_others = len(column.values) - len(self.highlighted)
            text = (
                f"{n_others} {'other ' if self.highlighted else ''}values of {column.title} have "
                "the same color; tooltips show the value"
            )
            subtitle = JOINT.join(filter(None, (subtitle, text)))
            texts.append(text)
        head = {
            "title": alt.Title(
                title,
                subtitle=subtitle or alt.Undefined,
                anchor="start",
                offset=offset if offset and self.panel is None else alt.Undefined,
            ),
            "description": sentences(*texts),
        }
        if not self.legend:
            _remove_legends(chart)
        if self.panel is None:
            # Attributes are set directly, because .properties() would copy all layers.
            for name, value in head.items():
                setattr(chart, name, value)
            return chart
        column = self.columns[self.panel]
        captions = {} if self._in_legend else self.captions
        header = alt.Header(
            title=column.title, labelLimit=0, labelExpr=caption_expression(captions)
        )
        facet = nominal(alt.Facet, self.panel, sort=list(column.values), header=header)
        columns = 2 if len(column.values) == 4 else PANELS_PER_ROW
        return chart.facet(facet, columns=columns).properties(**head)


def total_scale(values: Sequence[str], total: str, *, ordered: bool) -> alt.Scale:
    """Return a scale of colors in which the value `total` is gray.

    If the theme names a color scheme, whose colors are not known, the total has its next color.
    """
    groups = [value for value in values if value != total]
    scale = color_scale([*groups, total], ordered=ordered)
    palette = theme_colors() or (None if theme_sets_colors() else COLORS)
    if scale._get("range") is not alt.Undefined:  # shades of ordered values
        palette = color_scale(groups, ordered=ordered)._get("range")
    if palette:
        colors = [palette[i % len(palette)] for i in range(len(groups))]
        scale.range = [*colors, REFERENCE_COLOR]
    return scale


def _remove_legends(chart: alt.LayerChart) -> None:
    """Remove the legends of all layers."""
    parts: list[Any] = [chart, *chart.layer]
    for part in parts:
        encoding = part._get("encoding")
        for channel in [] if encoding is alt.Undefined else encoding._kwds.values():
            if isinstance(channel, LEGEND_CHANNELS):
                channel["legend"] = None


def caption_expression(captions: Mapping[str, str]) -> Any:
    """Return a Vega expression of the caption of a value in a legend or panel header.

    The data contain values, not captions, so that layers added by users have the same colors.
    """
    # The parentheses are needed because Vega-Lite replaces datum.label by a condition.
    return f"{dumps(captions)}[(datum.label)] || (datum.label)" if captions else alt.Undefined


def nominal(channel: type[Any], field: str, **options: Any) -> Any:
    """Return a channel of the texts in a field."""
    escaped = escape_field(field)
    title = {} if escaped == field else {"title": field}  # in texts for screen readers
    return channel(field=escaped, type="nominal", **title | options)


def span(side: str, start: str, end: str) -> dict[str, Any]:
    """Return the channels of marks between the numbers in two fields, along the axis `side`."""
    one, other = (alt.X, alt.X2) if side == "x" else (alt.Y, alt.Y2)
    first = one(field=escape_field(start), type="quantitative")
    return {side: first, f"{side}2": other(field=escape_field(end))}


def in_panels(records: Iterable[dict[str, Any]], panel: str | None) -> list[list[dict[str, Any]]]:
    """Return the records of each value of the field `panel`; one list if it is None."""
    result: dict[Any, list[dict[str, Any]]] = {}
    for record in records:
        result.setdefault(panel and record[panel], []).append(record)
    return [*result.values()]


def row_records(table: pl.DataFrame, groups: Groups, shown: Iterable[str]) -> list[dict[str, Any]]:
    """Return a record for each row of a table: its groups and the columns `shown`."""
    texts = {name: column.texts for name, column in groups.columns.items()}
    return json_rows(texts | {name: json_values(table.get_column(name)) for name in shown})


def field_names(by: Sequence[str], taken: Collection[str] = ()) -> dict[str, str]:
    """Return the field of each group column; `taken` are the other fields of the chart."""
    fields: dict[str, str] = {}
    for name in by:
        fields[name] = field_name(name, {*fields.values(), *taken})
    return fields


def read_groups(
    keys: pl.DataFrame,
    by: Sequence[str],
    columns: Sequence[str],
    options: ChartOptions,
    taken: Collection[str] = (),
) -> Groups:
    """Return the group columns `by` of the table `keys`, with the columns of colors and panels.

    The column `total` that `total=` adds is no group column of the chart.
    """
    totals = total_keys(keys, by)
    is_total = None if totals is None else keys.get_column(TOTAL)
    by = by if totals is None else [name for name in by if name != TOTAL]
    color, panel = choose_channels(by, columns, options)
    fields = field_names(by, taken) if keys.height else {}
    groups = Groups(
        columns={
            key: GroupColumn.from_keys(
                keys.get_column(name), is_total=is_total if name in (totals or ()) else None
            )
            for name, key in fields.items()
        },
        panel=None if panel is None else fields.get(panel),
        legend=options.legend,
    ).with_colors(None if color is None else fields.get(color))
    return groups if options.highlight is None else highlighted_groups(groups, options.highlight)


def total_keys(keys: pl.DataFrame, by: Sequence[str]) -> list[str] | None:
    """Return the group columns over which totals are computed; None without a column of totals.

    A Boolean column of the same name that is not from `total=` has no rows in which another group
    column is always null.
    """
    if TOTAL not in by or len(by) < 2 or keys.schema[TOTAL] != pl.Boolean:
        return None
    totals = keys.filter(pl.col(TOTAL))
    others = [name for name in by if name != TOTAL]
    summed = [name for name in others if totals.get_column(name).null_count() == totals.height]
    return summed or None


def highlighted_groups(groups: Groups, highlight: object) -> Groups:
    """Return groups with the values in the option `highlight` in color, and the others in gray."""
    name = groups.color or groups.one_color
    values = [highlight] if isinstance(highlight, str) else highlight
    if name is None or not isinstance(values, list | tuple) or not values:
        problem = "expected values of the column of the colors"
        hint = "Use, for example, highlight='random_forest', and color= with a group column."
        raise OptionValueError.compose("highlight", highlight, problem, hint)
    texts = value_texts(values)
    known = groups.columns[name].values
    for value, text in zip(values, texts, strict=True):
        if text not in known:
            column = groups.columns[name].title
            raise OptionValueError.compose(
                "highlight", value, f"{column!r} has no such value", f"Values: {join_first(known)}."
            )
    return groups.with_highlight(texts)


def choose_channels(
    by: Sequence[str], columns: Sequence[str], options: ChartOptions
) -> tuple[str | None, str | None]:
    """Check `color`, `facet` and `detail`; return the columns with colors and with panels."""
    color, facet = options.color, options.facet
    given: list[tuple[str, Any]] = [] if facet is None else [("facet", facet)]
    given += [] if color is None or color is NOT_GIVEN else [("color", color)]
    for argument, value in given:
        if not isinstance(value, str):
            problem, hint = "expected a column name", f"Use, for example, {argument}={MODEL!r}."
            raise OptionValueError.compose(argument, value, problem, hint)
    details = parse_names(options.detail)
    for argument, name in (*(("detail", name) for name in details), *given):
        check_group_column(argument, name, by, columns)
    check_distinct("detail", details)
    for argument, name in given:
        if name in details:
            problem = f"{argument}= already separates the curves by this column"
            raise RepeatedNameError(f"detail={name!r}: {problem}.\nRemove {name!r} from detail=.")
    if isinstance(color, str) or color is None:
        return color, facet
    remaining = [name for name in by if name not in (*details, facet)]
    return MODEL if MODEL in remaining else next(iter(remaining), None), facet


def metric_channels(options: ChartOptions, by: Sequence[str], n_metrics: int) -> ChartOptions:
    """Return the options with a panel for each metric or, without other groups, a color."""
    if options.color is not NOT_GIVEN or n_metrics < 2:
        return options
    metric = by[0]
    if options.facet == metric:
        return options
    if len(by) > 1 and options.facet is None and metric not in parse_names(options.detail):
        return replace(options, facet=metric)
    return replace(options, color=metric)


def free_name(name: str, names: Sequence[str]) -> str:
    """Return `name`, in as many pairs of parentheses as necessary to differ from all `names`."""
    while name in names:
        name = f"({name})"
    return name


def areas_of(curves: Curves, kind: Kind) -> list[float]:
    """Return the area under each curve, NaN if undefined."""
    areas = average_precision_of(curves) if kind.area == "average_precision" else auc_of(curves)
    return [float(area) for area in areas]


def with_areas(
    groups: Groups,
    areas: Sequence[float] | None,
    kind: Kind,
    limits: Mapping[str, str] | None = None,
) -> tuple[Groups, str]:
    """Return groups with areas and `limits` as captions, or the (mean) area for a subtitle."""
    captions: dict[str, str] = {}
    if groups.captioned_column is not None and areas is not None:
        by_value: dict[str, list[float]] = {value: [] for value in groups.captioned_column.values}
        for value, area in zip(groups.captioned_column.texts, areas, strict=True):
            by_value[value].append(area)
        right = {value: f" {text}" for value, text in (limits or {}).items()}
        captions = {
            value: f"{value} ({area_text(part, kind)}{right.get(value, '')})"
            for value, part in by_value.items()
        }
    columns = groups.columns.values()
    several_models = any(len(column.values) > 1 for column in columns if column.title == MODEL)
    text = "" if groups.captioned_column or several_models else area_text(areas, kind)
    return replace(groups, captions=captions), text


def area_text(areas: Sequence[float] | None, kind: Kind) -> str:
    """Return the area of one curve, or the mean of several areas, as text; empty without areas."""
    if not areas:
        return ""
    name = kind.area_label
    known = [area for area in areas if not isnan(area)]
    if not known:
        return f"{name} undefined"
    mean = "mean " if len(areas) > 1 else ""
    text = f"{mean}{name} {fmean(known):.3f}"
    used = f"{text}, {len(known)} of {len(areas)} curves"
    return used if len(known) < len(areas) else text
