"""Columns and charts of tables about calibration."""

from __future__ import annotations

from rocframe.schemas.columns import ROW_COUNTS, SIDE
from rocframe.schemas.table_type import (
    CHANNELS,
    DOMAINS,
    DOT_CHART,
    HIDDEN_PARTS,
    ROW_TIES,
    DotStyle,
    Schema,
    TableType,
    floats,
    has_columns,
    integers,
    strings,
)


def calibration_columns(*, consistency: bool = False) -> Schema:
    """Return the columns of a table of `calibration`, with or without limits of consistency."""
    return (
        integers("bin")
        | floats("score_mean", "event_rate", "lower", "upper", "score_min", "score_max")
        | integers("n")
        | floats("ci_level")
        | strings("ci_method", "note", "method")
        | (floats("consistency_lower", "consistency_upper") if consistency else {})
    )


CALIBRATION = TableType(
    name="calibration",
    functions=("calibration",),
    columns=calibration_columns,
    recognize=has_columns(*calibration_columns(), adjacent=8),
    ties=ROW_TIES,
    drawing="rocframe.charts.calibration_chart:calibration_chart",
    chart_options=(*CHANNELS, "scale", *DOMAINS, *HIDDEN_PARTS, "scores"),
)

FIT_COLUMNS = (
    floats("score", "probability")
    | strings("method")
    | integers("n_folds")
    | ROW_COUNTS
    | floats("intercept", "slope", "slope_complement")
    | strings("note")
)

FIT = TableType(
    name="fit_calibration",
    functions=("fit_calibration",),
    columns=lambda: FIT_COLUMNS,
    recognize=has_columns(*FIT_COLUMNS, adjacent=6),
    ties=ROW_TIES,
    chart_hint=(
        "Apply the fit with apply_calibration, and draw the calibration curve of the new scores: "
        '.roc.calibration(label, "calibrated_score").roc.chart().'
    ),
)

CALIBRATION_SUMMARY_COLUMNS = (
    floats("brier", "brier_skill", "log_loss", "miscalibration", "discrimination")
    | floats("uncertainty", "ece", "mce", "calibration_intercept", "calibration_slope")
    | floats("spiegelhalter_z", "spiegelhalter_p", "hosmer_lemeshow")
    | integers("hosmer_lemeshow_df")
    | floats("hosmer_lemeshow_p", "ici", "e50", "e90", "e_max", "cllr", "cllr_min")
    | ROW_COUNTS
    | strings("note")
    | floats("calibration_in_the_large", "observed_to_expected", "smooth_ece")
    | floats("reliability", "resolution")
    | floats("within_bin_variance", "within_bin_covariance")
)

CALIBRATION_SUMMARY = TableType(
    name="calibration_summary",
    functions=("calibration_summary",),
    columns=lambda: CALIBRATION_SUMMARY_COLUMNS,
    recognize=has_columns(*CALIBRATION_SUMMARY_COLUMNS, adjacent=6),
    ties=ROW_TIES,
    drawing=DOT_CHART,
    dots=DotStyle(
        title="Calibration",
        axis="Value",
        marks=("brier", "miscalibration", "ece", "ici"),
        in_panels=True,
    ),
)


def murphy_columns(*, sides: bool = False) -> Schema:
    """Return the columns of a table of `murphy_curve`.

    With `sides`, the table has the column `side`, for the two sides of a jump.
    """
    return (
        floats("probability_threshold", "elementary_score")
        | floats("miscalibration", "discrimination", "uncertainty")
        | (strings(SIDE) if sides else {})
        | strings("note")
    )


MURPHY_CURVES = TableType(
    name="murphy_curve",
    functions=("murphy_curve",),
    columns=murphy_columns,
    recognize=has_columns(*murphy_columns(), adjacent=5),
    ties=ROW_TIES,
    drawing="rocframe.charts.decision_chart:murphy_chart",
    chart_options=(*CHANNELS, *DOMAINS, "y"),
)
