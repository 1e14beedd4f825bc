"""The tables that functions return: their columns, how they are recognized, and their charts.

A table has its group columns first, then the columns of its type. A new type of table needs one
record in `TABLES`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.schemas.curves import (
    BAND,
    BEST_POINTS,
    CALIBRATION,
    CALIBRATION_SUMMARY,
    CLASS_MATRICES,
    CONCAVITIES,
    CONFUSION_MATRICES,
    CONVEX_HULL,
    COST_CURVES,
    CURVE,
    DECISION_CURVES,
    EQUAL_COST_LINES,
    FIT,
    GAINS,
    H_MEASURE,
    LC_INDEX,
    METRIC_INTERVALS,
    METRIC_REPLICATES,
    MIXTURE,
    MURPHY_CURVES,
    OPERATING_POINTS,
    RELATIVE_SUPERIORITY,
    REPAIRED_AUC,
    SMOOTH_CURVES,
    TIES,
    TRANSFER,
)
from rocframe.schemas.statistics import (
    AREA,
    AUC,
    AUC_COVARIANCE,
    AUC_TEST,
    AVERAGE_AREA,
    AVERAGE_AUC,
    CHAINS,
    COMBINATIONS,
    COMPARISON,
    COMPARISON_REPLICATES,
    CONTRAST,
    COST_INTERVALS,
    CURVE_AVERAGE,
    DECISION_INTERVALS,
    DRIFT,
    DRIFT_TEST,
    FOLD_AUC,
    GATE,
    HULL_SHARES,
    LIFT_AREA,
    METRIC_AVERAGE,
    MULTICLASS_AUC,
    MULTICLASS_METRICS,
    PARTIAL_AREA,
    PARTIAL_AUC,
    PARTIAL_PR_AREA,
    PLAN,
    POOLED,
    POOLING_GAP,
    PRECISION_RECALL_AREA,
    READER_STUDY,
    SCORE_DRIFT,
    SUMMARY,
    TIE_BOUNDS,
    VOLUME,
)
from rocframe.schemas.table_type import Table, TableType, kind_name

if TYPE_CHECKING:
    from collections.abc import Sequence


def table_of(columns: Sequence[str]) -> Table:
    """Return the record of a table with these columns: its type, group columns and kind."""
    recognized = ((table, table.recognize(columns)) for table in (*TABLES, OTHER))
    return next(
        Table(type=table, by=layout[0], kind=layout[1])
        for table, layout in recognized
        if layout is not None
    )


OTHER = TableType(
    name="table",
    functions=(),
    columns=dict,
    recognize=lambda columns: ((), kind_name(columns)),
    ties=None,
)

# The type of a table is the first type in this list that recognizes the columns of the table. The
# results of `at` and `operating_point` also have the columns of a curve, so their types must come
# before `CURVE`.
TABLES = (
    *(CURVE_AVERAGE, METRIC_AVERAGE, OPERATING_POINTS, BEST_POINTS),
    *(CONCAVITIES, REPAIRED_AUC, TRANSFER, METRIC_INTERVALS),
    *(CONFUSION_MATRICES, CLASS_MATRICES, MIXTURE, COMBINATIONS, CHAINS),
    *(CONVEX_HULL, EQUAL_COST_LINES, TIES, TIE_BOUNDS, COST_CURVES, RELATIVE_SUPERIORITY, LC_INDEX),
    *(DECISION_CURVES, DECISION_INTERVALS, COST_INTERVALS, SMOOTH_CURVES, CURVE),
    *(DRIFT, DRIFT_TEST, SCORE_DRIFT),
    *(AUC, PARTIAL_AUC, SUMMARY, H_MEASURE, AUC_TEST, MULTICLASS_AUC, VOLUME, FOLD_AUC),
    *(POOLED, POOLING_GAP, PLAN, CALIBRATION, CALIBRATION_SUMMARY, FIT, GAINS),
    *(MURPHY_CURVES, MULTICLASS_METRICS),
    *(COMPARISON, GATE, AUC_COVARIANCE, HULL_SHARES, CONTRAST, BAND),
    *(READER_STUDY, METRIC_REPLICATES, COMPARISON_REPLICATES),
    *(AREA, PARTIAL_AREA, AVERAGE_AUC, AVERAGE_AREA),
    *(PRECISION_RECALL_AREA, PARTIAL_PR_AREA, LIFT_AREA),
)
