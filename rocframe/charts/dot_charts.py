"""Charts with a line for each row: areas, tests, differences, metrics and ranges of costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.axes import axis_title
from rocframe.charts.dot_plot import (
    better,
    documented_columns,
    draw_dots,
    mark_name,
    title_with_counts,
    with_panels,
)
from rocframe.charts.groups import JOINT, GroupColumn, Groups, free_name, read_groups, row_records
from rocframe.charts.layer_chart import layered
from rocframe.charts.style import (
    BACKGROUND,
    GRAY,
    MAX_DISTINCT_COLORS,
    MAX_NAME_LENGTH,
    REFERENCE_COLOR,
    chart_text,
    distinct_number_texts,
    finite,
    inline_data,
    json_values,
    level_text,
    note_text,
    number_text,
    tooltip,
)
from rocframe.charts.time_chart import date_column, time_chart
from rocframe.frames import number_distinct_rows, select_keys
from rocframe.inference import simultaneous_limits
from rocframe.options import NOT_GIVEN
from rocframe.schemas.table_type import POINT_NAMES, Span
from rocframe.text import format_p_value, join_first, join_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.schemas.table_type import DotStyle, Table

MODEL_PAIR = ("model_a", "model_b")
MAX_DRAWN_PAIRS = 40  # the names of more lines would overlap
PAIR_NAME_LENGTH = 28  # of each of the two names
OTHER_ROWS = "other rows"  # all rows that are not in a group
MAX_METRICS = 4  # in titles
MAX_SCALE_RATIO = 5  # of the largest differences of metrics with a common axis
# Columns of simultaneous limits, and of the names and values of statistics in panels.
SIMULTANEOUS, STATISTIC = ("_lower", "_upper"), ("_statistic", "_value")
SIMULTANEOUS_WIDTH, UNADJUSTED_WIDTH = 1, 4
SHARED_OPACITY = 0.35
# Titles of the values of rules that are not metrics.
RULE_TITLES = {
    "closest_top_left": "Distance to (0, 1)",
    "equal_error": "Mean of FPR and FNR",
    "profit": "Profit per row",
}
CELL_SIDE, MIN_CELL_SIDE, MAX_MATRIX_SIDE = 52, 12, 560  # pixels
MIN_SIDE_WITH_TEXT = 26  # smaller cells have no room for numbers
# Texts below a matrix are turned if they are longer, or wider than a cell.
MAX_LEVEL, LEVEL_CHARACTER = 4, 7
MIN_ABBREVIATED = 100_000  # cells have no room for larger numbers with all their digits
# Black text has a contrast of at least 4.58 on lighter colors, and white text on darker colors.
MAX_DARK_LUMINANCE = 0.179
UNDEFINED_TEXT = "null"
# Text in gray cells, which are nearly as dark as the background.
TEXT_ON_BACKGROUND = alt.ColorValue(
    alt.ExprRef("luminance(background) < 0.4 ? '#f7f7f7' : 'black'")
)
# Colors of the correlations -1 to 1, distinct also for readers with red-green color blindness.
SCALE_COLORS = ("#B35806", "#FDB863", "#F7F7F7", "#92C5DE", "#0072B2")
CORRELATIONS = (-1, -0.5, 0, 0.5, 1)
# Colors of the shares 0 to 1, on light and on dark backgrounds; 0 is similar to the background.
SHARES = (0, 0.5, 1)
SHARE_COLORS = SCALE_COLORS[2:], ("#22272E", "#0072B2", "#B9E0F5")
IS_DARK_THEME = "luminance(background) < 0.4"
MAX_DESCRIBED_PAIRS = 6
MEAN_NAME = "mean"  # of the readers of a study, above the line of each reader


def dot_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the columns of a table as dots, or over time if there is one number for each date."""
    style = layout.dots
    time = date_column(table, layout.by, options)
    if time is not None and len(style.marks) == 1 and not (style.part or style.p_values):
        return time_chart(table, layout.by, time, options, style)
    if style.in_panels:
        table, style = _statistics(table, style)
    return draw_dots(table, layout.by, options, style)


def _statistics(table: pl.DataFrame, style: DotStyle) -> tuple[pl.DataFrame, DotStyle]:
    """Return a table with a row for each mark of each row, and its style."""
    names = [free_name(name, table.columns) for name in STATISTIC]
    arrows = {"higher": " (better →)", "lower": " (← better)", "": ""}
    parts = [
        table.with_columns(
            pl.lit(f"{mark_name(name)}{arrows[better(name)]}").alias(names[0]),
            pl.col(name).cast(pl.Float64).alias(names[1]),
        )
        for name in style.marks
    ]
    order = np.arange(len(parts) * table.height).reshape(len(parts), -1).T.ravel()
    first = style.marks[0]
    style = replace(style, part=names[0], marks=(names[1],), statistic=first, axis="")
    return pl.concat(parts)[order], style


def class_metric_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw each metric of several classes in a panel with its own axis."""
    names = documented_columns(table, layout.by)
    metrics = tuple(names[: names.index("n")])
    table, style = _statistics(table, replace(layout.dots, marks=metrics))
    return draw_dots(table, layout.by, options, style)


def comparison_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the difference of each pair of models, its intervals and its p-values."""
    names = documented_columns(table, layout.by)
    statistic = next((name for name in names[2:] if name.endswith("_a")), "area")
    metrics = [statistic.removesuffix("_a")]
    if "metric" in names and table.height:
        metrics = table.get_column("metric").unique(maintain_order=True).to_list()
    pair = free_name(str(layout.dots.part), table.columns)
    table, style = _with_simultaneous_limits(table, layout.by, layout.dots)
    table, rule = _smallest_p_values(table)
    table = table.with_columns(pl.Series(pair, _pair_names(table), pl.String))
    marks = [mark_name(name) for name in metrics]
    title = join_names(marks) if len(marks) <= MAX_METRICS else join_first(marks, MAX_METRICS)
    style = replace(style, title=f"{style.title} of {title}", part=pair, subtitle=rule)
    if len(metrics) == 1:
        style = replace(style, axis=f"{style.axis} of {title}")
        return draw_dots(table, layout.by, options, style)
    return _chart_of_metrics(table, layout.by, options, style, metrics)


def _with_simultaneous_limits(
    table: pl.DataFrame, by: Sequence[str], style: DotStyle
) -> tuple[pl.DataFrame, DotStyle]:
    """Return a table of tests with simultaneous limits, if they are defined, and its style."""
    levels = table.get_column("ci_level").drop_nulls().unique().to_list()
    if len(levels) != 1:
        return table, style
    style = replace(style, alpha=round(1 - levels[0], 10))
    groups = number_distinct_rows(select_keys(table, by))[1].to_numpy()
    limits = simultaneous_limits(table, groups, levels[0])
    if limits is None or not np.isfinite(limits).any():
        return table, style
    low, high = (free_name(name, table.columns) for name in SIMULTANEOUS)
    table = table.with_columns(
        pl.Series(name, part, nan_to_null=True)
        for name, part in zip((low, high), limits, strict=True)
    )
    text = f"{level_text(table.get_column('ci_level'))} intervals"
    joint = f"simultaneous {text} (Bonferroni)"
    simultaneous = Span(start=low, end=high, width=SIMULTANEOUS_WIDTH, name=joint)
    unadjusted = Span(start="lower", end="upper", width=UNADJUSTED_WIDTH, name=text)
    return table, replace(style, spans=(simultaneous, unadjusted))


def _of_groups_of_rows(table: pl.DataFrame) -> bool:
    """Return whether a table of tests compares different rows."""
    return bool(table.get_column("n_paired").is_null().all())


def _pair_names(table: pl.DataFrame) -> list[str]:
    """Return the name of each pair, such as "a − b", or "f − other rows"."""
    model_a, model_b = (table.get_column(name) for name in MODEL_PAIR)
    # In a table with a baseline, all rows have the same `model_a`.
    others = _of_groups_of_rows(table) and bool(model_b.is_null().all()) and model_a.n_unique() > 1
    models = paired_columns(table, MODEL_PAIR, PAIR_NAME_LENGTH)
    pairs = zip(*(column.texts for column in models), strict=True)
    return [f"{a} − {OTHER_ROWS if others else b}" for a, b in pairs]


def _chart_of_metrics(
    table: pl.DataFrame,
    by: Sequence[str],
    options: ChartOptions,
    style: DotStyle,
    metrics: Sequence[str],
) -> alt.LayerChart | alt.FacetChart:
    """Draw the differences of several metrics; `style.part` is the column of the pairs.

    If the scales of the metrics differ, each has a panel. Otherwise, there is a line for each
    metric and pair or, for groups of rows, a line for each metric and a color for each pair.
    """
    pair = str(style.part)
    order = pl.col("metric").replace_strict(metrics, range(len(metrics)))
    names = {name: mark_name(name) for name in metrics}
    table = table.sort(order, maintain_order=True)
    table = table.with_columns(pl.col("metric").replace_strict(names))
    in_panels, n_pairs = _scales_differ(table), table.get_column(pair).n_unique()
    in_colors = _of_groups_of_rows(table) and 1 < n_pairs <= MAX_DISTINCT_COLORS
    if not in_panels and not in_colors:
        table = table.with_columns(pl.format("{}: {}", "metric", pair).alias(pair))
        return draw_dots(table, by, options, replace(style, ranked=False))
    by = (*by, pair)
    style = replace(style, part="metric", in_panels=in_panels, ranked=False)
    if not in_panels:
        style = replace(style, alpha=None)  # gray dots would hide the groups
        color = pair if options.color is NOT_GIVEN else options.color
        options = replace(options, color=color)
    return draw_dots(table.select(*by, pl.exclude(by)), by, options, style)


def _scales_differ(table: pl.DataFrame) -> bool:
    """Return whether the differences of some metrics are too small for the axis of others."""
    largest = table.group_by("metric").agg(
        pl.max_horizontal(pl.col("difference", "lower", "upper").abs().max())
    )
    sizes = finite(json_values(largest.to_series(1)))
    return max(sizes, default=0) > MAX_SCALE_RATIO * min((x for x in sizes if x > 0), default=inf)


def reader_study_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the mean of each modality and the value of each reader; the subtitle has the tests."""
    of_pair = pl.col("modality_b").is_not_null()
    pairs = table.filter(of_pair & pl.col("reader").is_null())
    metric = mark_name(next(iter(table.get_column("metric")), "auc"))
    modality = free_name("modality", table.columns)
    values = table.filter(~of_pair).rename({"modality_a": modality})
    readers = values.get_column("reader")
    names = [
        MEAN_NAME if reader is None else text
        for reader, text in zip(readers, GroupColumn.from_keys(readers).texts, strict=True)
    ]
    values = values.with_columns(pl.Series("reader", names, pl.String))
    color = modality if options.color is NOT_GIVEN else options.color
    style = replace(
        layout.dots,
        title=f"{metric[:1].upper()}{metric[1:]} of each reader and modality",
        axis=metric,
        part="reader",
        subtitle=_pair_texts(pairs) if not layout.by else "",
    )
    return draw_dots(values, (*layout.by, modality), replace(options, color=color), style)


def _pair_texts(pairs: pl.DataFrame) -> str:
    """Return the differences of pairs of modalities and their p-values as a text."""
    columns = paired_columns(pairs, ("modality_a", "modality_b"), PAIR_NAME_LENGTH)
    numbers = (pairs.get_column(name) for name in ("estimate", "p_value", "note"))
    texts = []
    for a, b, difference, p_value, note in zip(*(c.texts for c in columns), *numbers, strict=True):
        p_text = format_p_value(p_value, 3)
        sign = "" if p_text is None or p_text.startswith("<") else "= "
        value = number_text(difference).replace("-", "−")
        text = note_text(note) if p_text is None else f"{value}, p {sign}{p_text}"
        texts.append(f"{a} − {b}: {text}")
    return join_first(texts, MAX_DESCRIBED_PAIRS, "; ")


def _smallest_p_values(table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return the rows with the smallest p-values, and a text if other rows are omitted."""
    if table.height <= MAX_DRAWN_PAIRS:
        return table, ""
    size = pl.col("difference").abs()
    order = pl.arg_sort_by(
        "p_value", size, descending=[False, True], nulls_last=True, maintain_order=True
    )
    rows = table.select(order.head(MAX_DRAWN_PAIRS).sort()).to_series()
    return table[rows], f"Rows with the {MAX_DRAWN_PAIRS} smallest of {table.height:,} p-values"


def paired_columns(
    table: pl.DataFrame, names: Sequence[str], length: int = MAX_NAME_LENGTH
) -> list[GroupColumn]:
    """Return two columns, such as `model_a` and `model_b`, both with the values of both."""
    keys = (table.get_column(name).alias(names[0]) for name in names)
    both = GroupColumn.from_keys(pl.concat(keys), length)
    return [
        replace(both, codes=codes)
        for codes in (both.codes[: table.height], both.codes[table.height :])
    ]


def metric_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot and an interval for each metric, in panels if a value is outside [0, 1]."""
    style = replace(layout.dots, statistic=next(iter(table.get_column("metric")), ""))
    names = _point_names(table)
    if len(set(names)) > 1:
        drawn = (json_values(table.get_column(name)) for name in ("estimate", "lower", "upper"))
        outside = any(not 0 <= value <= 1 for values in drawn for value in finite(values))
        style = replace(style, in_panels=outside, ranked=outside)
    elif names:
        title = chart_text(names[0])
        style = replace(style, part=None, title=title, axis=title)
    table = table.with_columns(pl.Series("metric", names, pl.String))
    return draw_dots(table, layout.by, options, style)


def _point_names(table: pl.DataFrame) -> list[str]:
    """Return the metric of each row with its operating point, such as "tpr at fpr 0.1"."""
    metrics, at, values = (table.get_column(name) for name in ("metric", *POINT_NAMES))
    points = zip(at, values, distinct_number_texts(values), strict=True)
    suffixes = [
        "" if axis is None else " by a rule" if value is None else f" at {axis} {text}"
        for axis, value, text in points
    ]
    return [f"{metric}{suffix}" for metric, suffix in zip(metrics, suffixes, strict=True)]


def transfer_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw `value_chosen` and `value_realised` of each row, with a panel for each rule."""
    style = layout.dots
    rules = table.get_column("rule").unique()
    if len(rules) < 2:
        style = replace(style, part=None, in_panels=False)
    for rule in rules if len(rules) == 1 else []:
        style = replace(style, axis=RULE_TITLES.get(rule) or axis_title(rule))
    return draw_dots(table, layout.by, options, style)


def gains_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the lift of each bin, and of all bins from the highest scores to this bin."""
    low, high = (
        distinct_number_texts(table.get_column(name))
        for name in ("alert_rate_low", "alert_rate_high")
    )
    texts = [f"{start} to {end}" for start, end in zip(low, high, strict=True)]
    table = table.with_columns(pl.Series("bin", texts, pl.String))
    return draw_dots(table, layout.by, options, layout.dots)


def superiority_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw a bar for each range of costs in which a model has the lowest cost."""
    opacity = alt.Opacity(
        "n_best:Q",
        title="lowest cost",
        scale=alt.Scale(type="threshold", domain=[2], range=[1, SHARED_OPACITY]),
        legend=alt.Legend(
            labelExpr="datum.index ? 'several models' : 'one model'",
            symbolFillColor=REFERENCE_COLOR,
            symbolStrokeColor="transparent",
        ),
    )
    has_shared = table.select((pl.col("n_best") > 1).any()).item()
    channels = {"opacity": opacity} if has_shared else {}
    return draw_dots(table, layout.by, options, layout.dots, **channels)


def covariance_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the correlations of the areas of each group as a matrix."""
    matrix = Matrix.read(table, layout.by, MODEL_PAIR[::-1], options)
    order = {name: i for i, name in enumerate(matrix.values)}
    pairs = [
        f"{group}{a} and {b}: {number_text(record['correlation'])}"
        for group, record in zip(matrix.group_texts, matrix.records, strict=True)
        for a, b in [(record["model_a"], record["model_b"])]
        if order[a] < order[b]
    ]
    colors = alt.Scale(domain=list(CORRELATIONS), range=list(SCALE_COLORS))
    return matrix.groups.with_titles(
        matrix.draw(
            alt.Color("correlation:Q", scale=colors),
            alt.Text("correlation:Q", format=".2f"),
            dark=dark_values("datum.correlation", CORRELATIONS, SCALE_COLORS),
        ),
        title=title_with_counts("Correlation of areas", table),
        subtitle="Each pair of models, estimated from the same rows",
        description=[
            f"Correlation of areas, {len(matrix.values)} models{matrix.n_groups_text}",
            join_first(pairs, MAX_DESCRIBED_PAIRS, "; "),
        ],
    )


def class_matrix_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the confusion matrix of each group; colors show the shares of the true classes."""
    matrix = Matrix.read(table, layout.by, ("predicted", "true"), options)
    counts = table.get_column("count")
    is_long = (counts.max() or 0) >= MIN_ABBREVIATED  # type: ignore[operator]
    number = ".3~s" if is_long else ",d" if counts.dtype.is_integer() else ".3~g"
    colors = alt.Color(
        "share_of_true:Q",
        title=["share of", "true class"],
        scale=alt.Scale(
            domain=list(SHARES),
            range=[
                alt.ExprRef(f"{IS_DARK_THEME} ? '{dark}' : '{light}'")
                for light, dark in zip(*SHARE_COLORS, strict=True)
            ],
        ),
        legend=alt.Legend(format=".0%", values=list(SHARES)),
    )
    light, dark = (dark_values("datum.share_of_true", SHARES, colors) for colors in SHARE_COLORS)
    numbers = "rows" if counts.dtype.is_integer() else "sums of weights"
    text = f"Numbers: {numbers}. " if matrix.has_numbers else ""
    correct = [
        f"{group}{record['true']}: {number_text(record['share_of_true'])}"
        for group, record in zip(matrix.group_texts, matrix.records, strict=True)
        if record["true"] == record["predicted"]
    ]
    return matrix.groups.with_titles(
        matrix.draw(
            colors,
            alt.Text("count:Q", format=number),
            dark=f"{IS_DARK_THEME} ? {dark} : {light}",
            undefined=alt.Text("count:Q", format=number),
            x="Predicted class",
            y="True class",
        ),
        title="Confusion matrix",
        subtitle=f"{text}Colors: share of the rows of the true class",
        description=[
            f"Confusion matrix of {len(matrix.values)} classes{matrix.n_groups_text}",
            f"Recall of each class: {join_first(correct, MAX_DESCRIBED_PAIRS, '; ')}"
            if correct
            else "",
        ],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The cells of a matrix for each group: pairs of the values of two columns, on x and y.

    `values` are those of both columns, in the order of the table. `shown` are the columns of
    tooltips, and `axes` the two columns.
    """

    axes: tuple[str, str]
    values: list[str]
    groups: Groups
    records: list[dict[str, Any]]
    shown: list[str]

    @classmethod
    def read(
        cls, table: pl.DataFrame, by: Sequence[str], axes: tuple[str, str], options: ChartOptions
    ) -> Matrix:
        """Return the cells of a table with one row per cell and a panel for each group."""
        columns = paired_columns(table, axes)
        shown = documented_columns(table, by)
        groups = read_groups(table, by, table.columns, replace(options, color=None), shown)
        groups = with_panels(groups, groups.columns, table.height, shown)
        records = row_records(table, groups, shown)
        for record, *texts in zip(records, *(column.texts for column in columns), strict=True):
            record |= dict(zip(axes, texts, strict=True))
        codes = dict.fromkeys(columns[1].codes + columns[0].codes)
        values = [columns[0].values[code] for code in codes]
        return cls(axes=axes, values=values, groups=groups, records=records, shown=shown)

    @property
    def n_groups_text(self) -> str:
        """The number of groups, if there are panels."""
        panel = self.groups.panel
        return f", {len(self.groups.columns[panel].values)} groups" if panel else ""

    @property
    def group_texts(self) -> list[str]:
        """The group of each cell, if there are group columns, as the start of a description."""
        names = self.groups.names(len(self.records))
        return [f"{name}{JOINT}" if self.groups.table_columns else "" for name in names]

    @property
    def cell(self) -> int:
        """The side of a cell in pixels."""
        return max(MIN_CELL_SIDE, min(CELL_SIDE, MAX_MATRIX_SIDE // max(1, len(self.values))))

    @property
    def has_numbers(self) -> bool:
        """Whether cells have room for numbers."""
        return self.cell >= MIN_SIDE_WITH_TEXT

    def draw(
        self,
        color: alt.Color,
        text: alt.Text,
        *,
        dark: str,
        undefined: Any = None,
        x: Any = alt.Undefined,
        y: Any = alt.Undefined,
    ) -> alt.LayerChart:
        """Draw a cell for each record, and its number in a color that contrasts with the cell.

        `dark` is the condition for light numbers. Cells without a color are gray and have the text
        `undefined`, by default "null". `x` and `y` are the titles of the axes.
        """
        side = self.cell * max(1, len(self.values))
        scale = alt.Scale(domain=self.values, type="band")
        axis: Any = {"labelLimit": 0, "labelOverlap": False, "ticks": False, "domain": False}
        valid = f"isValid(datum.{str(color.shorthand).removesuffix(':Q')})"
        cells: Any = alt.Chart().mark_rect(stroke=BACKGROUND)
        gray: Any = alt.Chart().transform_filter(f"!{valid}")
        layers = [cells, gray.mark_rect(stroke=BACKGROUND, opacity=0.3).encode(color=GRAY)]
        if self.has_numbers:
            numbers: Any = alt.Chart().mark_text(fontSize=11)
            light = alt.ColorValue("black", condition=[{"test": dark, "value": "white"}])
            layers += [
                numbers.transform_filter(valid).encode(text=text, color=light),
                numbers.transform_filter(f"!{valid}").encode(
                    text=undefined or alt.TextValue(UNDEFINED_TEXT), color=TEXT_ON_BACKGROUND
                ),
            ]
        names, shown = self.axes, map(tooltip, self.shown)
        longest = min(MAX_LEVEL, self.cell // LEVEL_CHARACTER)
        angle = -45 if max(map(len, self.values), default=0) > longest else 0
        return layered(
            layers,
            data=inline_data(self.records),
            encoding={
                "color": color,
                "x": alt.X(
                    f"{names[0]}:N", title=x, scale=scale, axis=alt.Axis(labelAngle=angle, **axis)
                ),
                "y": alt.Y(f"{names[1]}:N", title=y, scale=scale, axis=alt.Axis(**axis)),
                "tooltip": [*self.groups.tooltips(), *shown],
            },
            width=side,
            height=side,
        )


def dark_values(value: str, domain: Sequence[float], colors: Sequence[str]) -> str:
    """Return a Vega expression: whether the color of `value` is dark, so that text is white.

    `colors` are those of the numbers in `domain`; colors between them are interpolated as in Vega.
    """
    points = np.linspace(domain[0], domain[-1], 2001)
    stops = np.array([[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in colors]) / 255
    rgb = np.stack([np.interp(points, domain, channel) for channel in stops.T])
    # The relative luminance of the Web Content Accessibility Guidelines 2.2
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    is_dark = np.array([0.2126, 0.7152, 0.0722]) @ linear < MAX_DARK_LUMINANCE
    ends = np.flatnonzero(np.diff(np.r_[False, is_dark, False])).reshape(-1, 2)
    ranges = [
        f"({value} >= {points[first]:.4g} && {value} <= {points[last - 1]:.4g})"
        for first, last in ends.tolist()
    ]
    return f"({' || '.join(ranges)})"
