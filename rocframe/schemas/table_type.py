"""What a type of table is: its columns, how it is recognized, and how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from rocframe.errors import BrokenCurveError
from rocframe.kinds import kind_of
from rocframe.rates import CONFUSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

# How the results of a function treat tied scores. The file metadata contain one of these texts.
HALF_TIES = "a tie counts one half"
ROW_TIES = "a tie is one row"
SHARED_TIES = "a tie counts 1/k if k orders of the tied rows are possible"

# Options of `chart` that several types of tables share.
CHANNELS = ("color", "facet", "detail")
DOMAINS = ("x_domain", "y_domain")
HIDDEN_PARTS = ("diagonal", "legend")
UNITS = ("benefit", "cost")

DOT_CHART = "rocframe.charts.dot_charts:dot_chart"
LINE_CHART = "rocframe.charts.line_chart:line_chart"

Schema: TypeAlias = dict[str, pl.DataType]

# The group columns of a table, and the kind of its curves.
Recognition: TypeAlias = tuple[tuple[str, ...], str | None]
Recognize: TypeAlias = "Callable[[Sequence[str]], Recognition | None]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A line in a dot plot from one column to another, with a width in pixels and a name."""

    start: str
    end: str
    width: float = 2
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DotStyle:
    """The dot plot of a table: its title, its axis, and the columns of its marks.

    The first column in `marks` has dots, the others hollow marks. `limits` are the columns of the
    confidence limits. `spans` are the lines of each row; by default, a line connects the limits. If
    they have names, a legend shows their widths or, with the title `span_title`, their colors;
    marks are then gray and filled. `box` are the columns of the ends of a dotted box. Dashed lines
    are at `references`, at `chance` (the expected value for random scores) if it is near the drawn
    numbers, and in each row at the value of `reference_column`. `domain` is that of the axis; by
    default, the range of the drawn numbers.

    `part` is the column that distinguishes the rows of a group. With `in_panels`, each value of
    `part` has a panel with its own axis; without `part`, each of `marks`. By default, a model
    column or another group column has colors, unless `colored` is False. If `ranked`, the lines are
    sorted by the first mark, which has the name `statistic` if its column has another name.

    `numbers` is the title of the numbers right of the dots; by default, that of the axis. If it is
    None, there are no numbers. `p_values` are the columns of the p-values and of the adjusted
    p-values; rows whose adjusted p-values are at least `alpha` are gray. `row_text` is the format
    of the description of a row. `subtitle` is the end of the subtitle.
    """

    title: str
    axis: str
    marks: tuple[str, ...] = ()
    limits: tuple[str, str] | None = ("lower", "upper")
    spans: tuple[Span, ...] = ()
    span_title: str | None = None
    box: tuple[str, str] | None = None
    chance: float | None = None
    references: tuple[float, ...] = ()
    reference_column: str | None = None
    domain: tuple[float, float] | None = None
    part: str | None = None
    in_panels: bool = False
    colored: bool = True
    ranked: bool = True
    statistic: str = ""
    numbers: str | None = ""
    p_values: tuple[str, ...] = ()
    alpha: float | None = None
    row_text: str = ""
    subtitle: str = ""

    @property
    def value(self) -> str:
        """The column of the first mark, or of the start of the first line."""
        return self.marks[0] if self.marks else self.spans[0].start


@dataclass(frozen=True, slots=True, kw_only=True)
class LineStyle:
    """A chart with a line for each group: the columns of its points, and its texts.

    `axes` are the titles of the columns `x` and `y`; without titles, they are the axes of ROC
    curves. `limits` are the columns of both limits of `y`, and `x_limits` those of `x`. `threshold`
    is a column for tooltips. Dashed lines show the points `constant`, and for each group the values
    of the column `reference`. `meaning` is the subtitle, which says what they mean.

    `nice` extends the y axis to round numbers. `benefits` are the columns of net benefits, which
    limit both axes. `compared` is the column whose differences to the baseline `y` contains; the
    name of the baseline follows `meaning` and the title of `y`. `band` are the columns with the
    scope and the method of bands. `area` is the column of the areas under the lines. `line` is the
    style of lines that are not the curves themselves. `tolerance` is the maximum error of a drawn
    line, as a share of an axis.
    """

    title: str
    x: str
    y: str
    axes: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    x_limits: tuple[str, ...] = ()
    threshold: str | None = None
    reference: str | None = None
    constant: tuple[tuple[float, float], ...] = ()
    meaning: str = ""
    nice: bool = True
    benefits: tuple[str, ...] = ()
    compared: str | None = None
    band: tuple[str, ...] = ()
    area: str | None = None
    line: str = "curve"
    tolerance: float = 1 / 500

    @property
    def limited(self) -> dict[str, str]:
        """The column of the coordinate that each column of limits belongs to."""
        return dict.fromkeys(self.limits, self.y) | dict.fromkeys(self.x_limits, self.x)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableType:
    """A type of table: its columns, how it is recognized, and how it is drawn.

    `functions` are the public functions that return tables of this type, by default the one of its
    name. `columns` is a function that returns the columns right of the group columns, with dtypes.
    `recognize` is a function of the column names of a table. If the table has this type,
    `recognize` returns the group columns and the kind of the curves (None for tables without
    curves). If the table has another type, `recognize` returns None. `ties` describes how tied
    scores are counted.

    `drawing` is the function that draws the table, as "module:name": by default that of dot plots
    or lines, or None for a type without a chart. `dots` is the style of the dot plot, and `lines`
    are those of charts of lines; the option `y` of `chart` chooses one of them. `chart_options` are
    the options of `chart` that the drawing uses. If the option `kind`, `x` or `y` is given, the
    type is drawn like the type `on_axes`. For a type without a chart, `chart_hint` says what to
    draw instead.
    """

    name: str
    functions: tuple[str, ...] = ()
    columns: Callable[..., Schema]
    recognize: Recognize
    ties: str | None = ROW_TIES
    drawing: str | None = None
    dots: DotStyle | None = None
    lines: tuple[LineStyle, ...] = ()
    chart_options: tuple[str, ...] = ("color", "facet")
    on_axes: TableType | None = None
    chart_hint: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "functions", self.functions or (self.name,))
        default = LINE_CHART if self.lines else DOT_CHART if self.dots else None
        object.__setattr__(self, "drawing", self.drawing or default)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """A recognized table: its type, its group columns, and the kind of its curves."""

    type: TableType
    by: tuple[str, ...]
    kind: str | None = None

    @property
    def name(self) -> str:
        """Name of the type of table."""
        return self.type.name

    @property
    def dots(self) -> DotStyle:
        """The style of the dot plot of a type that has one."""
        assert self.type.dots is not None
        return self.type.dots


def floats(*names: str) -> Schema:
    """Return Float64 columns."""
    return dict.fromkeys(names, pl.Float64())


def integers(*names: str) -> Schema:
    """Return Int64 columns."""
    return dict.fromkeys(names, pl.Int64())


def strings(*names: str) -> Schema:
    """Return String columns."""
    return dict.fromkeys(names, pl.String())


def has_columns(*names: str, adjacent: int = 1, kind: str | None = None) -> Recognize:
    """Return a function that recognizes tables with columns of these names in this order.

    Columns left of `names[0]` are group columns. Other columns may be between the columns `names`,
    but not between the first `adjacent`. The default `kind` has the axes right of `tn`.
    """

    def recognize(columns: Sequence[str]) -> Recognition | None:
        if names[0] not in columns:
            return None
        start = columns.index(names[0])
        right = columns[start:]
        rest = iter(right)
        in_order = all(name in rest for name in names)
        if not in_order or tuple(right[:adjacent]) != names[:adjacent]:
            return None
        return tuple(columns[:start]), kind or kind_name(right)

    return recognize


def ends_with(*names: str) -> Recognize:
    """Return a function that recognizes tables whose last columns have these names."""

    def recognize(columns: Sequence[str]) -> Recognition | None:
        by, last = tuple(columns[: -len(names)]), tuple(columns[-len(names) :])
        return (by, None) if last == names else None

    return recognize


def kind_name(columns: Sequence[str]) -> str | None:
    """Return the kind of curve whose axes are right of `tn`; None if there is no such kind."""
    if "tn" not in columns:
        return None
    try:
        return kind_of(columns).name
    except BrokenCurveError:
        return None


ROC_AREA_TITLE = "Area under the ROC curve"
THRESHOLD = "threshold"
MODEL = "model"
TOTAL = "total"  # whether a row is of several groups together, which `total=` adds
SIDE = "side"  # the left or the right side of a jump of an averaged curve or a Murphy curve
WINDOW_COLUMNS = WINDOW, WINDOW_END = ("window", "window_end")
CURVE_COLUMNS = (THRESHOLD, *CONFUSION)
POINT_NAMES = ("at", "at_value")
ROW_COUNTS = integers("n_pos", "n_neg", "n_missing")
INTERVAL = floats("lower", "upper", "se")
INTERVAL_INFO = floats("ci_level") | strings("ci_method", "note")

# Columns of thresholds. They have the float dtype of the scores.
SCORE_COLUMNS = (THRESHOLD, "threshold_a", "threshold_b", "threshold_above", "threshold_below")


def score_floats(dtypes: Iterable[pl.DataType]) -> pl.DataType:
    """Return the float dtype of scores: Float32 if no column has more digits, otherwise Float64."""
    is_narrow = {dtype in {pl.Float16, pl.Float32} for dtype in dtypes} == {True}
    return pl.Float32() if is_narrow else pl.Float64()


def with_scores(columns: Schema, scores: pl.DataType) -> Schema:
    """Return the columns of a table of predictions or curves with scores of this float dtype."""
    return columns | {name: scores for name in SCORE_COLUMNS if columns.get(name) == pl.Float64()}


def cast_scores(table: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return a table whose columns of scores are cast to the dtypes of `schema`."""
    dtypes = {name: schema[name] for name in SCORE_COLUMNS if name in schema}
    return table.with_columns(
        pl.col(name).cast(dtype) for name, dtype in dtypes.items() if table.schema[name] != dtype
    )
