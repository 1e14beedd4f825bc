"""The types of tables that functions return: columns, dtypes, recognition and chart.

A table has its group columns first, then the columns of its type. `TABLES` lists the types.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import polars as pl

from rocframe.errors import BrokenCurveError
from rocframe.kinds import KINDS, kind_of
from rocframe.rates import CONFUSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rocframe.kinds import Kind

Schema: TypeAlias = dict[str, pl.DataType]
HALF_TIES = "a tie counts one half"
ROW_TIES = "a tie is one row"
SHARED_TIES = "a tie counts 1/k, of k ways that it leaves open"
CHANNELS = ("color", "facet", "detail")
DOMAINS = ("x_domain", "y_domain")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableType:
    """A type of table: its columns, how it is recognised, and how it is drawn.

    `columns` is a function that returns the columns right of the group columns, with dtypes. A
    table is recognised by the columns of `signature`, in this order. With `exact`, no other column
    may follow them. `ties` describes how tied scores are counted. `drawing` is the function that
    draws the table, as "module:name", or None if there is no chart. `chart_options` are the options
    of `chart` that the drawing uses.
    """

    name: str
    columns: Callable[..., Schema]
    signature: tuple[str, ...]
    exact: bool = False
    ties: str | None
    drawing: str | None = None
    chart_options: tuple[str, ...] = ("color", "facet")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """A recognised table: its type, its group columns, and the kind of its curves."""

    type: TableType
    by: tuple[str, ...]
    kind: str | None = None

    @property
    def name(self) -> str:
        """Name of the type of table."""
        return self.type.name


def table_of(columns: Sequence[str]) -> Table:
    """Return the type of a table, recognised by its columns; `OTHER` if no type matches."""
    average = curve_average_of(columns)
    if average is not None:
        return Table(type=CURVE_AVERAGE, by=average.by, kind=average.kind.name)
    metrics = metric_average_of(columns)
    if metrics is not None:
        return Table(type=METRIC_AVERAGE, by=metrics.by)
    for table in TABLES:
        start = _start_of(table, columns)
        if start is not None:
            return Table(type=table, by=tuple(columns[:start]), kind=_kind_name(columns[start:]))
    return Table(type=OTHER, by=(), kind=_kind_name(columns))


def _start_of(table: TableType, columns: Sequence[str]) -> int | None:
    """Return the number of group columns if the columns are those of this type of table."""
    first = table.signature[0]
    if first not in columns:
        return None
    start = columns.index(first)
    right = iter(columns[start:])
    if not all(column in right for column in table.signature):  # in this order
        return None
    if table.exact and tuple(columns[start:]) != table.signature:
        return None
    if table is OPERATING_POINTS and columns[start + len(POINT_NAMES)] != THRESHOLD:
        return None  # a curve with the group columns `at` and `value`
    return start


def _kind_name(columns: Sequence[str]) -> str | None:
    """Return the kind of curve whose axes are right of `tn`; None for other tables."""
    if "tn" not in columns:
        return None
    try:
        return kind_of(columns).name
    except BrokenCurveError:
        return None  # a curve without the columns of its axes


THRESHOLD = "threshold"
MODEL = "model"
CURVE_COLUMNS = (THRESHOLD, *CONFUSION)
POINT_NAMES = ("at", "value")
AUC_NAMES = ("auc", "auc_pessimistic", "auc_optimistic")
PARTIAL_AUC_NAMES = ("partial_auc", "partial_auc_pessimistic", "partial_auc_optimistic")


def floats(*names: str) -> Schema:
    """Return Float64 columns."""
    return dict.fromkeys(names, pl.Float64())


def integers(*names: str) -> Schema:
    """Return Int64 columns."""
    return dict.fromkeys(names, pl.Int64())


def strings(*names: str) -> Schema:
    """Return String columns."""
    return dict.fromkeys(names, pl.String())


ROW_COUNTS = integers("n_pos", "n_neg", "n_missing")
INTERVAL = floats("lower", "upper", "se")
INTERVAL_INFO = floats("ci_level") | strings("ci_method", "note")

# Columns of `simplify` and of `curve` with `max_error`, right of all others.
SIMPLIFICATION = floats("error", "area_change")

# Columns of `at` with `interpolate=True`, right of all others.
MIX = floats("threshold_above", "threshold_below", "mix")

# Columns of a curve over all rows of several curves, right of its rates.
POOLED_CURVE = floats("pooled_auc", "mean_auc") | integers("n_curves") | strings("note")


def curve_columns(count: pl.DataType) -> Schema:
    """Return the columns of every curve table; `count` is the dtype of the counts."""
    return floats(THRESHOLD) | dict.fromkeys(CONFUSION, count)


def auc_columns(names: Iterable[str] = AUC_NAMES) -> Schema:
    """Return the columns of a table of areas or partial areas."""
    area, *envelope = names
    return floats(area) | INTERVAL | floats(*envelope) | ROW_COUNTS | INTERVAL_INFO


def partial_auc_columns() -> Schema:
    """Return the columns of a table of partial areas."""
    return auc_columns(PARTIAL_AUC_NAMES)


def comparison_columns(model: pl.DataType, area: str) -> Schema:
    """Return the columns of a comparison: `model` is the dtype of models, `area` the statistic."""
    return (
        dict.fromkeys(("model_a", "model_b"), model)
        | floats("difference", "lower", "upper", "p_value", "p_adjusted", "se", "statistic", "df")
        | floats(f"{area}_a", f"{area}_b")
        | integers("n_paired")
        | floats("ci_level")
        | strings("test", "note")
    )


def covariance_columns(model: pl.DataType, area: str) -> Schema:
    """Return the columns of a covariance matrix in long format, with one row per cell."""
    return (
        dict.fromkeys(("model_a", "model_b"), model)
        | floats("covariance", "correlation", f"{area}_a", f"{area}_b")
        | integers("n_pos", "n_neg")
        | strings("note")
    )


CURVE = TableType(
    name="curve",
    columns=curve_columns,
    signature=CURVE_COLUMNS,
    ties=ROW_TIES,
    drawing="rocframe.charts.curve_chart:curve_chart",
    chart_options=(
        *("by", "kind", *CHANNELS),
        *("scale", *DOMAINS, "hull", "costs", "prevalence", "mark", "ties"),
    ),
)

OPERATING_POINTS = TableType(
    name="operating_points",
    columns=lambda count: strings("at") | floats("value") | curve_columns(count),
    signature=(*POINT_NAMES, *CURVE_COLUMNS),
    ties=ROW_TIES,
    drawing="rocframe.charts.operating_point_chart:points_chart",
    chart_options=("by", "kind", *CHANNELS, "scale", *DOMAINS),
)

METRIC_INTERVALS = TableType(
    name="intervals",
    columns=lambda: (
        strings("metric", "at")
        | floats("value", "estimate")
        | INTERVAL
        | floats(THRESHOLD)
        | ROW_COUNTS
        | INTERVAL_INFO
    ),
    signature=("metric", *POINT_NAMES, "estimate", THRESHOLD),
    ties=ROW_TIES,
    drawing="rocframe.charts.interval_chart:metric_chart",
)

AUC = TableType(
    name="auc",
    columns=auc_columns,
    signature=AUC_NAMES,
    ties=HALF_TIES,
    drawing="rocframe.charts.interval_chart:interval_chart",
)

PARTIAL_AUC = TableType(
    name="partial_auc",
    columns=partial_auc_columns,
    signature=PARTIAL_AUC_NAMES,
    ties=HALF_TIES,
    drawing="rocframe.charts.interval_chart:interval_chart",
)

AUC_TEST = TableType(
    name="auc_test",
    columns=lambda: (
        floats("auc", "p_value", "p_adjusted", "null", "se", "statistic")
        | ROW_COUNTS
        | strings("test", "note")
    ),
    signature=("auc", "p_value", "p_adjusted", "null", "statistic"),
    ties=HALF_TIES,
    drawing="rocframe.charts.interval_chart:interval_chart",
)

MULTICLASS_AUC = TableType(
    name="multiclass_auc",
    columns=lambda: (
        strings("average")
        | floats("auc")
        | INTERVAL
        | integers("n_classes", "n_classes_used", "n", "n_missing")
        | INTERVAL_INFO
    ),
    signature=("average", "auc", "n_classes", "n_classes_used"),
    ties=HALF_TIES,
    drawing="rocframe.charts.interval_chart:interval_chart",
)

VOLUME = TableType(
    name="volume",
    columns=lambda: (
        floats("volume")
        | INTERVAL
        | strings("rule")
        | integers("n_first", "n_second", "n_third", "n_missing")
        | INTERVAL_INFO
    ),
    signature=("volume", "rule", "n_first", "n_second", "n_third"),
    ties=SHARED_TIES,
    drawing="rocframe.charts.interval_chart:interval_chart",
)

FOLD_AUC = TableType(
    name="fold_auc",
    columns=lambda: (
        floats("mean_auc", "lower", "upper", "sd", "se", "auc_of_mean", "pooled_auc")
        | integers("n_curves")
        | ROW_COUNTS
        | INTERVAL_INFO
    ),
    signature=("mean_auc", "sd", "auc_of_mean", "pooled_auc"),
    ties=HALF_TIES,
    drawing="rocframe.charts.interval_chart:interval_chart",
)

POOLING_GAP = TableType(
    name="pooling_gap",
    columns=lambda: (
        floats("gap", "pooled_auc", "mean_auc", "gap_between", "gap_within")
        | floats("between_share", "between_auc", "within_auc")
        | strings("worst_positives", "worst_negatives")
        | floats("worst_auc", "worst_gap")
        | integers("n_curves")
        | ROW_COUNTS
        | strings("note")
    ),
    signature=("gap", "pooled_auc", "mean_auc", "gap_between", "gap_within", "within_auc"),
    ties=HALF_TIES,
    drawing="rocframe.charts.pooling_gap_chart:pooling_chart",
    chart_options=("facet",),
)


def plan_columns() -> Schema:
    """Return the columns of a table of plans."""
    return (
        floats("difference")
        | integers("n_pos", "n_neg")
        | floats("power", "auc", "null", "auc_b", "correlation", "se", "se_null", "ratio", "target")
        | floats("alpha")
        | strings("alternative", "variance", "se_at", "note")
    )


PLAN = TableType(
    name="plan",
    columns=plan_columns,
    signature=tuple(plan_columns()),
    ties=None,
    drawing="rocframe.charts.plan_chart:plan_chart",
    chart_options=(),
)

COMPARISON = TableType(
    name="comparison",
    columns=comparison_columns,
    signature=("model_a", "model_b", "difference", "p_value", "p_adjusted"),
    ties=HALF_TIES,
    drawing="rocframe.charts.interval_chart:comparison_chart",
)

AUC_COVARIANCE = TableType(
    name="auc_covariance",
    columns=covariance_columns,
    signature=("model_a", "model_b", "covariance", "correlation"),
    ties=HALF_TIES,
    drawing="rocframe.charts.covariance_chart:covariance_chart",
    chart_options=(),
)

CONTRAST = TableType(
    name="contrast",
    columns=lambda: (
        floats("p_value", "p_adjusted", "statistic", "df")
        | integers("n_models", "n_paired")
        | strings("test", "note")
    ),
    signature=("p_value", "p_adjusted", "statistic", "df", "n_models"),
    ties=HALF_TIES,
)


def band_columns() -> Schema:
    """Return the columns of a band: the points of a curve and their limits."""
    return floats(
        *("fpr", "tpr", "fpr_lower", "fpr_upper", "lower", "upper", "ci_level")
    ) | strings("scope", "band", "note")


BAND = TableType(
    name="band",
    columns=band_columns,
    signature=tuple(band_columns()),
    ties=ROW_TIES,
    drawing="rocframe.charts.band_chart:band_chart",
    chart_options=(*CHANNELS, *DOMAINS),
)


def _area(*names: str, ties: str) -> TableType:
    return TableType(
        name="area",
        columns=lambda: floats(*names),
        signature=names,
        exact=True,  # a column `auc` can be in any table
        ties=ties,
        drawing="rocframe.charts.interval_chart:interval_chart",
    )


AREA = _area("auc", ties=HALF_TIES)
AVERAGE_AUC = _area("auc_of_mean", ties=HALF_TIES)
AVERAGE_AREA = _area("area_of_mean", ties=ROW_TIES)
PRECISION_RECALL_AREA = _area("average_precision", "pr_auc", ties=ROW_TIES)
OTHER = TableType(name="table", columns=dict, signature=(), ties=None)

# In the order of recognition: tables of operating points also have the columns of a curve.
TABLES = (
    *(OPERATING_POINTS, METRIC_INTERVALS, CURVE),
    *(AUC, PARTIAL_AUC, AUC_TEST, MULTICLASS_AUC, VOLUME, FOLD_AUC, POOLING_GAP, PLAN),
    *(COMPARISON, AUC_COVARIANCE, CONTRAST, BAND),
    *(AREA, AVERAGE_AUC, AVERAGE_AREA, PRECISION_RECALL_AREA),
)


SIDE = "side"
AVERAGE_SPREAD = ("sd", "se", "lower", "upper")

AVERAGE_INFO = (
    floats("ci_level")
    | integers("n_curves")
    | floats("threshold_mean", "threshold_sd")
    | strings("note")
)


def spread_columns(name: str) -> tuple[str, ...]:
    """Return the columns of an averaged metric: its mean, then its spread and limits."""
    return name, *(f"{name}_{part}" for part in AVERAGE_SPREAD)


def curve_average_columns(kind: Kind, averaged: Sequence[str], *, sides: bool) -> Schema:
    """Return the columns of averaged curves; `averaged` names the axes that are means."""
    return (
        (strings(SIDE) if sides else {})
        | floats(kind.x, kind.y)
        | floats(*(name for axis in averaged for name in spread_columns(axis)[1:]))
        | AVERAGE_INFO
    )


def metric_average_columns(fixed: str, averaged: Sequence[str]) -> Schema:
    """Return the columns of metrics averaged at values of the metric `fixed`."""
    names = [column for name in averaged for column in spread_columns(name)]
    return floats(fixed, *names) | AVERAGE_INFO


CURVE_AVERAGE = TableType(
    name="average",
    columns=curve_average_columns,
    signature=(),
    ties=ROW_TIES,
    drawing="rocframe.charts.average_chart:mean_chart",
    chart_options=(*CHANNELS, "scale", *DOMAINS),
)

METRIC_AVERAGE = TableType(
    name="average",
    columns=metric_average_columns,
    signature=(),
    ties=ROW_TIES,
    drawing=CURVE_AVERAGE.drawing,
    chart_options=CURVE_AVERAGE.chart_options,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveAverage:
    """Averaged curves, read from their columns: the kind, and the axes that were averaged."""

    by: tuple[str, ...]
    kind: Kind
    averaged: tuple[str, ...]
    sides: bool

    @property
    def fixed(self) -> Literal["x", "y"] | None:
        """The axis at whose values the other was averaged; None if both were at thresholds."""
        if len(self.averaged) == 2:
            return None
        return "x" if self.averaged == (self.kind.y,) else "y"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricAverage:
    """Averaged metrics, read from their columns: the fixed metric, and the averaged ones."""

    by: tuple[str, ...]
    fixed: str
    averaged: tuple[str, ...]


def curve_average_of(columns: Sequence[str]) -> CurveAverage | None:
    """Return the averaged curves that these columns describe; None for other tables."""
    names = list(columns)
    for kind in KINDS.values():
        for averaged in ((kind.y,), (kind.x,), (kind.x, kind.y)):
            for sides in (False, True):
                expected = list(curve_average_columns(kind, averaged, sides=sides))
                start = names.index(expected[0]) if expected[0] in names else len(names)
                if names[start : start + len(expected)] != expected:
                    continue
                by = tuple(names[:start])
                if sides or by[-1:] != (SIDE,):
                    return CurveAverage(by=by, kind=kind, averaged=averaged, sides=sides)
    return None


def metric_average_of(columns: Sequence[str]) -> MetricAverage | None:
    """Return the averaged metrics that these columns describe; None for other tables."""
    names, info = list(columns), list(AVERAGE_INFO)
    if curve_average_of(names) is not None:
        return None
    width = len(AVERAGE_SPREAD) + 1
    for end in range(len(names) - len(info), width, -1):
        if names[end : end + len(info)] != info:
            continue
        start = end
        while start > width and tuple(names[start - width : start]) == spread_columns(
            names[start - width]
        ):
            start -= width
        if start < end:
            averaged = tuple(names[start:end:width])
            by, fixed = tuple(names[: start - 1]), names[start - 1]
            return MetricAverage(by=by, fixed=fixed, averaged=averaged)
    return None


def check_area_exists(columns: Sequence[str]) -> None:
    """Raise an error for a table of averaged metrics, for which no area is defined."""
    average = metric_average_of(columns)
    if average is not None:
        raise BrokenCurveError.compose(
            f"curves: no area is defined for averages at fixed values of {average.fixed}",
            "Average the curves along an axis instead, without metrics=.",
        )
