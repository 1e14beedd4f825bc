"""Columns and charts of tables of averages over curves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from rocframe.kinds import KINDS, Kind
from rocframe.schemas.columns import INTERVAL_INFO, ROW_COUNTS, SIDE
from rocframe.schemas.table_type import (
    CHANNELS,
    DOMAINS,
    DOT_CHART,
    HALF_TIES,
    HIDDEN_PARTS,
    ROW_TIES,
    UNITS,
    DotStyle,
    Recognition,
    Schema,
    Span,
    TableType,
    floats,
    has_columns,
    integers,
    strings,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

MEAN_SUFFIXES = ("sd", "se", "lower", "upper")

AVERAGE_INFO = (
    floats("ci_level")
    | integers("n_curves")
    | floats("threshold_mean", "threshold_sd")
    | strings("note")
)


def mean_columns(name: str) -> tuple[str, ...]:
    """Return the columns of an averaged metric: mean, `sd`, `se` and confidence limits."""
    return name, *(f"{name}_{suffix}" for suffix in MEAN_SUFFIXES)


def curve_average_columns(kind: Kind, averaged: Sequence[str], *, sides: bool) -> Schema:
    """Return the columns of averaged curves.

    `averaged` are the names of the averaged axes. If `sides` is true, the table has the column
    `side`.
    """
    return (
        (strings(SIDE) if sides else {})
        | floats(kind.x, kind.y)
        | floats(*(name for axis in averaged for name in mean_columns(axis)[1:]))
        | AVERAGE_INFO
    )


def metric_average_columns(fixed: str, averaged: Sequence[str]) -> Schema:
    """Return the columns of metrics averaged at values of the metric `fixed`."""
    names = [column for name in averaged for column in mean_columns(name)]
    return floats(fixed, *names) | AVERAGE_INFO


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveAverage:
    """The group columns, the kind and the averaged axes of a table of averaged curves.

    `sides` is true if the table has the column `side`.
    """

    by: tuple[str, ...]
    kind: Kind
    averaged: tuple[str, ...]
    sides: bool

    @property
    def fixed(self) -> Literal["x", "y"] | None:
        """The axis with fixed values, or None if both axes are averages at fixed thresholds."""
        if len(self.averaged) == 2:
            return None
        return "x" if self.averaged == (self.kind.y,) else "y"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricAverage:
    """The group columns, the fixed metric and the averaged metrics of a table of averages."""

    by: tuple[str, ...]
    fixed: str
    averaged: tuple[str, ...]


def curve_average_of(columns: Sequence[str]) -> CurveAverage | None:
    """Return the `CurveAverage` of a table with these columns; None for other types of table."""
    names = list(columns)
    if not AVERAGE_INFO.keys() <= set(names):
        return None
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
    """Return the `MetricAverage` of a table with these columns; None for other types of table."""
    names, info = list(columns), list(AVERAGE_INFO)
    if curve_average_of(names) is not None:
        return None
    width = len(MEAN_SUFFIXES) + 1
    for end in range(len(names) - len(info), width, -1):
        if names[end : end + len(info)] != info:
            continue
        start = end
        while start > width and tuple(names[start - width : start]) == mean_columns(
            names[start - width]
        ):
            start -= width
        if start < end:
            averaged = tuple(names[start:end:width])
            by, fixed = tuple(names[: start - 1]), names[start - 1]
            return MetricAverage(by=by, fixed=fixed, averaged=averaged)
    return None


def recognize_curve_average(columns: Sequence[str]) -> Recognition | None:
    """Return the group columns and the kind of a table of averaged curves; None for others."""
    average = curve_average_of(columns)
    return None if average is None else (average.by, average.kind.name)


def recognize_metric_average(columns: Sequence[str]) -> Recognition | None:
    """Return the group columns of a table of averaged metrics; None for others."""
    average = metric_average_of(columns)
    return None if average is None else (average.by, None)


# The last columns of the results of `average` with `method="pooled"`.
POOLED_CURVE = floats("pooled_auc", "mean_auc") | integers("n_curves") | strings("note")

FOLD_AUC = TableType(
    name="fold_auc",
    functions=("fold_auc",),
    columns=lambda: (
        floats("mean_auc", "lower", "upper", "sd", "se", "auc_of_mean", "pooled_auc")
        | integers("n_curves")
        | ROW_COUNTS
        | INTERVAL_INFO
    ),
    recognize=has_columns("mean_auc", "sd", "auc_of_mean", "pooled_auc"),
    ties=HALF_TIES,
    drawing=DOT_CHART,
    dots=DotStyle(
        title="AUC over folds",
        axis="AUC",
        marks=("mean_auc", "pooled_auc", "auc_of_mean"),
        chance=0.5,
    ),
)

POOLING_GAP = TableType(
    name="pooling_gap",
    functions=("pooling_gap",),
    columns=lambda: (
        floats("gap", "pooled_auc", "mean_auc", "gap_between", "gap_within")
        | floats("between_share", "between_auc", "within_auc")
        | strings("worst_positives", "worst_negatives")
        | floats("worst_auc", "worst_gap")
        | integers("n_curves")
        | ROW_COUNTS
        | strings("note")
    ),
    recognize=has_columns(
        "gap", "pooled_auc", "mean_auc", "gap_between", "gap_within", "within_auc"
    ),
    ties=HALF_TIES,
    drawing=DOT_CHART,
    dots=DotStyle(
        title="Pooling gap",
        axis="AUC",
        marks=("mean_auc", "pooled_auc"),
        # The two parts of the gap can overlap, so one of them is wide.
        spans=(
            Span(start="mean_auc", end="within_auc", width=8, name="within folds"),
            Span(start="within_auc", end="pooled_auc", width=2.5, name="between folds"),
        ),
        span_title="gap",
        colored=False,
        numbers=None,
        row_text="mean AUC {mean_auc}, pooled AUC {pooled_auc}, gap {gap} "
        "({gap_between} between folds, {gap_within} within folds)",
        subtitle="AUC of all rows minus mean AUC of the folds",
    ),
    chart_options=("facet",),
)

CURVE_AVERAGE = TableType(
    name="average",
    functions=("average",),
    columns=curve_average_columns,
    recognize=recognize_curve_average,
    ties=ROW_TIES,
    drawing="rocframe.charts.average_chart:mean_chart",
    chart_options=(*CHANNELS, "scale", *DOMAINS, *UNITS, *HIDDEN_PARTS),
)

METRIC_AVERAGE = replace(
    CURVE_AVERAGE, columns=metric_average_columns, recognize=recognize_metric_average
)
