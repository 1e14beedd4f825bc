"""Columns and charts of tables of areas under curves, of their tests and plans, and summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.schemas.columns import (
    INTERVAL,
    INTERVAL_INFO,
    ROC_AREA_TITLE,
    ROW_COUNTS,
)
from rocframe.schemas.table_type import (
    DOT_CHART,
    HALF_TIES,
    ROW_TIES,
    DotStyle,
    Schema,
    TableType,
    ends_with,
    floats,
    has_columns,
    integers,
    strings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

PARTIAL_AREA_TITLE = "Partial area under the ROC curve"
MEAN_AREA_TITLE = "Area under the averaged curve"
AUC_NAMES = ("auc", "auc_pessimistic", "auc_optimistic")
PARTIAL_AUC_NAMES = ("partial_auc", "partial_auc_pessimistic", "partial_auc_optimistic")


def auc_columns(names: Iterable[str] = AUC_NAMES) -> Schema:
    """Return the columns of a table of areas or partial areas."""
    area, *envelope = names
    return floats(area) | INTERVAL | floats(*envelope) | ROW_COUNTS | INTERVAL_INFO


TIE_BOUND_NAMES = ("metric", "value", "pessimistic", "optimistic")
TIE_BOUNDS_COLUMNS = strings("metric") | floats(*TIE_BOUND_NAMES[1:])

TIE_BOUNDS = TableType(
    name="tie_bounds",
    functions=("tie_bounds",),
    columns=lambda: TIE_BOUNDS_COLUMNS,
    recognize=has_columns(*TIE_BOUND_NAMES, adjacent=4),
    ties=ROW_TIES,
    chart_hint="Draw the curves with the range of other orders: curves.roc.chart(ties=True).",
)

AUC = TableType(
    name="auc",
    functions=("auc",),
    columns=auc_columns,
    recognize=has_columns(*AUC_NAMES),
    ties=HALF_TIES,
    drawing=DOT_CHART,
    dots=DotStyle(
        title=ROC_AREA_TITLE,
        axis="AUC",
        marks=("auc",),
        box=("auc_pessimistic", "auc_optimistic"),
        chance=0.5,
    ),
)

PARTIAL_AUC = TableType(
    name="partial_auc",
    functions=("auc",),
    columns=lambda: auc_columns(PARTIAL_AUC_NAMES),
    recognize=has_columns(*PARTIAL_AUC_NAMES),
    ties=HALF_TIES,
    drawing=DOT_CHART,
    dots=DotStyle(
        title=PARTIAL_AREA_TITLE,
        axis="Partial AUC",
        marks=("partial_auc",),
        box=("partial_auc_pessimistic", "partial_auc_optimistic"),
    ),
)


SUMMARY = TableType(
    name="summary",
    functions=("summary",),
    columns=lambda: (
        floats("auc", "gini", "ks", "eer", "average_precision", "pr_auc", "h_measure")
        | floats("brier", "log_loss", "prevalence")
        | ROW_COUNTS
        | strings("note")
    ),
    recognize=has_columns("auc", "gini", "ks", "eer", "average_precision", "h_measure", "brier"),
    ties=HALF_TIES,
    drawing=DOT_CHART,
    dots=DotStyle(
        title="Summary",
        axis="Value",
        marks=("auc", "average_precision", "ks", "h_measure"),
        in_panels=True,
    ),
)

AUC_TEST = TableType(
    name="auc_test",
    functions=("auc_test",),
    columns=lambda best_of: (
        floats("auc", "p_adjusted", "p_value", "null", "se", "statistic", "df")
        | ROW_COUNTS
        | strings("test")
        | ({} if best_of is None else integers("best_of") | floats("auc_by_chance", "p_best"))
        | strings("note")
    ),
    recognize=has_columns("auc", "p_adjusted", "p_value", "null", "statistic"),
    ties=HALF_TIES,
    drawing=DOT_CHART,
    dots=DotStyle(
        title="Does the AUC differ from the null hypothesis?",
        axis="AUC",
        marks=("auc",),
        reference_column="null",
        p_values=("p_value", "p_adjusted"),
    ),
)


PLAN_COLUMNS = (
    floats("difference")
    | integers("n_pos", "n_neg")
    | floats("power", "auc", "null", "auc_b", "correlation", "se", "se_null", "ratio", "target")
    | floats("alpha")
    | strings("alternative", "variance", "se_at", "note")
)

PLAN = TableType(
    name="plan",
    functions=("power", "sample_size", "detectable_difference"),
    columns=lambda: PLAN_COLUMNS,
    recognize=has_columns(*PLAN_COLUMNS),
    ties=None,
    drawing="rocframe.charts.time_chart:plan_chart",
    chart_options=(),
)


def _area_table(*names: str, ties: str, dots: DotStyle) -> TableType:
    return TableType(
        name="area",
        functions=("area",),
        columns=lambda: floats(*names),
        recognize=ends_with(*names),  # tables of other types can have a column `auc`, too
        ties=ties,
        drawing=DOT_CHART,
        dots=dots,
    )


AREA = _area_table(
    "auc",
    ties=HALF_TIES,
    dots=DotStyle(title=ROC_AREA_TITLE, axis="AUC", marks=("auc",), chance=0.5),
)

PARTIAL_AREA = _area_table(
    "partial_auc",
    ties=HALF_TIES,
    dots=DotStyle(title=PARTIAL_AREA_TITLE, axis="Partial AUC", marks=("partial_auc",)),
)

AVERAGE_AUC = _area_table(
    "auc_of_mean",
    ties=HALF_TIES,
    dots=DotStyle(title=MEAN_AREA_TITLE, axis="AUC", marks=("auc_of_mean",), chance=0.5),
)

AVERAGE_AREA = _area_table(
    "area_of_mean",
    ties=ROW_TIES,
    dots=DotStyle(title=MEAN_AREA_TITLE, axis="Area", marks=("area_of_mean",)),
)

PRECISION_RECALL_AREA = _area_table(
    "average_precision",
    "pr_auc",
    ties=ROW_TIES,
    dots=DotStyle(
        title="Area under the precision-recall curve",
        axis="Area",
        marks=("average_precision", "pr_auc"),
    ),
)

LIFT_AREA = _area_table(
    "auc",
    "lift_area",
    "lift_area_step",
    ties=ROW_TIES,
    dots=DotStyle(
        title="Area under the lift chart",
        axis="Area (positives)",
        marks=("lift_area", "lift_area_step"),
    ),
)
