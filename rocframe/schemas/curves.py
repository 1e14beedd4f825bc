"""Columns and charts of tables of curves, of decisions such as hulls, and of calibration."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rocframe.rates import CONFUSION
from rocframe.schemas.table_type import (
    CHANNELS,
    CURVE_COLUMNS,
    DOMAINS,
    HALF_TIES,
    HIDDEN_PARTS,
    INTERVAL_INFO,
    POINT_NAMES,
    ROW_COUNTS,
    SIDE,
    THRESHOLD,
    UNITS,
    DotStyle,
    LineStyle,
    Schema,
    Span,
    TableType,
    floats,
    has_columns,
    integers,
    strings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

# The last columns of the results of `simplify`, and of `curve` with `max_error`.
SIMPLIFICATION = floats("error", "area_change")

# The last columns of the result of `curve` with `thresholds`.
GIVEN_THRESHOLDS = floats("error", "area_error")

# The last columns of the results of `at` with `interpolate=True`.
MIX = floats("threshold_above", "threshold_below", "mix")


def curve_columns(count: pl.DataType) -> Schema:
    """Return the columns of every curve table; `count` is the dtype of the counts."""
    return floats(THRESHOLD) | dict.fromkeys(CONFUSION, count)


CURVE = TableType(
    name="curve",
    functions=("curve", "add_metrics"),
    columns=curve_columns,
    recognize=has_columns(*CURVE_COLUMNS),
    drawing="rocframe.charts.curve_chart:curve_chart",
    chart_options=(
        *("by", "kind", "x", "y", *CHANNELS),
        *("scale", *DOMAINS, "areas", "ties", *UNITS),
        *HIDDEN_PARTS,
    ),
)

OPERATING_POINTS = TableType(
    name="operating_points",
    functions=("at",),
    columns=lambda count: strings("at") | floats("at_value") | curve_columns(count),
    # If `at` and `at_value` are not next to `threshold`, they are group columns of a curve table.
    recognize=has_columns(*POINT_NAMES, *CURVE_COLUMNS, adjacent=3),
    drawing="rocframe.charts.point_chart:points_chart",
    chart_options=(
        *("by", "kind", "x", "y", *CHANNELS, "scale", *DOMAINS, "text", *UNITS, *HIDDEN_PARTS),
    ),
)

METRIC_INTERVALS = TableType(
    name="intervals",
    columns=lambda: (
        strings("metric")
        | floats("estimate", "lower", "upper")
        | strings("at")
        | floats("at_value", THRESHOLD, "se")
        | ROW_COUNTS
        | INTERVAL_INFO
    ),
    recognize=has_columns("metric", "estimate", *POINT_NAMES, THRESHOLD),
    drawing="rocframe.charts.dot_charts:metric_chart",
    dots=DotStyle(title="Metrics", axis="Estimate", marks=("estimate",), part="metric"),
    on_axes=OPERATING_POINTS,
)

METRIC_REPLICATES = TableType(
    name="metric_replicates",
    functions=("intervals",),
    columns=lambda: (
        strings("metric") | integers("draw") | floats("value") | strings("at") | floats("at_value")
    ),
    recognize=has_columns("metric", "draw", "value", *POINT_NAMES, adjacent=5),
    chart_hint='Draw a histogram of the replicates of a metric: table["value"].plot.hist().',
)


BAND_COLUMNS = floats(
    *("fpr", "tpr", "fpr_lower", "fpr_upper", "lower", "upper", "ci_level")
) | strings("scope", "band", "note")

BAND = TableType(
    name="band",
    columns=lambda: BAND_COLUMNS,
    recognize=has_columns(*BAND_COLUMNS),
    lines=(
        LineStyle(
            title="ROC band",
            x="fpr",
            y="tpr",
            limits=("lower", "upper"),
            x_limits=("fpr_lower", "fpr_upper"),
            band=("scope", "band"),
            line="estimate",
        ),
    ),
    chart_options=(*CHANNELS, *DOMAINS, *HIDDEN_PARTS),
)

SMOOTH_COLUMNS = (
    curve_columns(pl.Float64()) | floats("fpr", "tpr", "auc", "a", "b") | strings("note")
)

SMOOTH_CURVES = TableType(
    name="smooth",
    functions=("smooth", "theoretical_curve"),
    columns=lambda: SMOOTH_COLUMNS,
    recognize=has_columns(*SMOOTH_COLUMNS, adjacent=5),
    # The tolerance of broken lines would show corners in a smooth line.
    lines=(LineStyle(title="Smooth ROC", x="fpr", y="tpr", area="auc", tolerance=1 / 5000),),
    chart_options=(*CHANNELS, "scale", *DOMAINS),
    on_axes=CURVE,
)


COST_RATES = floats(
    *("probability_cost", "expected_cost", "threshold", "fpr", "fnr", "trivial_cost", "min_dcf")
)

COST_CURVE = COST_RATES | strings("note")
COST_CURVE_ACROSS = COST_RATES | floats("second_cost", "cost_difference") | strings("note")

COST_LINE = LineStyle(
    title="Cost curve",
    x="probability_cost",
    y="expected_cost",
    axes=("Probability cost", "Normalized expected cost"),
    threshold=THRESHOLD,
    constant=((0, 0), (0.5, 0.5), (1, 0)),
    meaning="Dashed: trivial classifiers",
    nice=False,
)

COST_CURVES = TableType(
    name="cost_curve",
    columns=lambda: COST_CURVE,
    recognize=has_columns(*COST_CURVE, adjacent=3),
    drawing="rocframe.charts.line_chart:cost_curve_chart",
    lines=(COST_LINE,),
    chart_options=(*CHANNELS, *DOMAINS, "lines"),
)

SUPERIORITY_COLUMNS = (
    floats("probability_cost_low", "probability_cost_high")
    | floats("relative_cost_low", "relative_cost_high", "cost_ratio_low", "cost_ratio_high")
    | floats("largest_difference")
    | integers("n_best")
    | strings("note")
)

RELATIVE_SUPERIORITY = TableType(
    name="relative_superiority",
    columns=lambda: SUPERIORITY_COLUMNS,
    recognize=has_columns(*SUPERIORITY_COLUMNS, adjacent=6),
    drawing="rocframe.charts.dot_charts:superiority_chart",
    dots=DotStyle(
        title="Which model has the lowest expected cost?",
        axis="Relative cost of a false positive",
        spans=(Span(start="relative_cost_low", end="relative_cost_high", width=16),),
        domain=(0.0, 1.0),
        ranked=False,
        numbers=None,
        row_text="{relative_cost_low} to {relative_cost_high}",
        subtitle="Bars: the costs for which a model has the lowest cost",
    ),
)

LC_INDEX_COLUMNS = (
    floats("lc_index", "best_share", "tied_share")
    | floats("cost_ratio_low", "cost_ratio_mode", "cost_ratio_high", "prevalence")
    | strings("note")
)

LC_INDEX = TableType(
    name="lc_index",
    columns=lambda: LC_INDEX_COLUMNS,
    recognize=has_columns(*LC_INDEX_COLUMNS, adjacent=3),
    dots=DotStyle(title="LC index", axis="LC index", marks=("lc_index",)),
)

DECISION_CURVE = floats(
    *("probability_threshold", "net_benefit", "treat_all", "treat_none"),
    *("standardized_net_benefit", "interventions_avoided"),
) | strings("note")

DECISION_LINE = LineStyle(
    title="Decision curve",
    x="probability_threshold",
    y="net_benefit",
    axes=("Probability threshold", "Net benefit"),
    reference="treat_all",
    constant=((0, 0), (1, 0)),
    meaning="Dashed: treat all, treat none",
    benefits=("net_benefit", "treat_all"),
)

DECISION_CURVES = TableType(
    name="decision_curve",
    columns=lambda: DECISION_CURVE,
    recognize=has_columns(*DECISION_CURVE, adjacent=3),
    lines=(DECISION_LINE,),
    chart_options=(*CHANNELS, *DOMAINS),
)

CONCAVITY = floats(
    *("area", "threshold_above", "threshold_below", "score_max"),
    *("fpr_above", "tpr_above", "fpr_below", "tpr_below"),
)


def concavity_columns(count: pl.DataType) -> Schema:
    """Return the columns of `concavities`; `count` is the dtype of the counts."""
    return CONCAVITY | dict.fromkeys(("n_pos", "n_neg"), count) | floats("auc")


CONCAVITIES = TableType(
    name="concavities",
    columns=concavity_columns,
    recognize=has_columns(*CONCAVITY, adjacent=4, kind="roc"),
    chart_hint="Draw the curves with their convex hulls: curves.roc.chart() + "
    "curves.roc.hull().roc.chart().",
)

REPAIR_GAINS = floats("gain_realised", "gain_chosen", "optimism", "auc_repaired", "auc")

REPAIRED_AUC = TableType(
    name="repaired_auc",
    columns=lambda: REPAIR_GAINS | integers("n_concavities") | strings("note"),
    recognize=has_columns(*REPAIR_GAINS, "n_concavities"),
    ties=HALF_TIES,
    dots=DotStyle(
        title="AUC after and before the repair", axis="AUC", marks=("auc_repaired", "auc")
    ),
)

# Columns of `operating_point`, on the left and on the right of the columns of a curve.
RULE_COLUMNS = strings("rule") | floats("value")
OPTIMA_COLUMNS = integers("n_optima") | strings("note")

BEST_POINTS = TableType(
    name="operating_point",
    columns=lambda count: RULE_COLUMNS | curve_columns(count) | OPTIMA_COLUMNS,
    recognize=has_columns(*RULE_COLUMNS, *CURVE_COLUMNS, *OPTIMA_COLUMNS),
    drawing=OPERATING_POINTS.drawing,
    chart_options=OPERATING_POINTS.chart_options,
)

HULL_RANGES = floats(
    *("slope_low", "slope_high", "cost_ratio_low", "cost_ratio_high"),
    *("prevalence_low", "prevalence_high"),
)
HULL_COLUMNS = HULL_RANGES | strings("note")

CONVEX_HULL = TableType(
    name="hull",
    columns=lambda count: curve_columns(count) | HULL_COLUMNS,
    recognize=has_columns(*CURVE_COLUMNS, *HULL_COLUMNS),
    drawing=OPERATING_POINTS.drawing,
    chart_options=OPERATING_POINTS.chart_options,
)

COST_LINE_COLUMNS = floats("slope", "intercept", "expected_cost")

EQUAL_COST_LINES = TableType(
    name="iso_lines",
    columns=lambda count, kind: (
        COST_LINE_COLUMNS | curve_columns(count) | floats(*kind.rates) | OPTIMA_COLUMNS
    ),
    recognize=has_columns(*COST_LINE_COLUMNS, *CURVE_COLUMNS, *OPTIMA_COLUMNS, adjacent=4),
    drawing=OPERATING_POINTS.drawing,
    chart_options=(*CHANNELS, "scale", *DOMAINS, *HIDDEN_PARTS),
)

TIE_NAMES = ("auc_change", "tied_pos", "tied_neg")


def tie_columns(count: pl.DataType) -> Schema:
    """Return the columns of `ties`; `count` is the dtype of the counts."""
    change, *counts = TIE_NAMES
    return floats(THRESHOLD, change) | dict.fromkeys(counts, count)


TIES = TableType(
    name="ties",
    columns=tie_columns,
    recognize=has_columns(THRESHOLD, *TIE_NAMES, adjacent=4),
    chart_hint="Draw the curves with the range of other orders: curves.roc.chart(ties=True).",
)


def mixture_columns(
    across: tuple[str, pl.DataType] | None = None, prevalence: Schema | None = None
) -> Schema:
    """Return the columns of `mix`; `across` is the name and the dtype of the model column.

    `prevalence` has the column `prevalence` of the curves, if they have one.
    """
    models = {}
    if across is not None:
        models = dict.fromkeys((f"{across[0]}_above", f"{across[0]}_below"), across[1])
    return (
        floats("fpr", "tpr")
        | strings("at")
        | floats("at_value", *CONFUSION)
        | (prevalence or {})
        | models
        | floats(*MIX)
        | strings("note")
    )


MIXTURE = TableType(
    name="mix",
    columns=mixture_columns,
    recognize=has_columns(*mixture_columns(), adjacent=8, kind="roc"),
    drawing=OPERATING_POINTS.drawing,
    chart_options=OPERATING_POINTS.chart_options,
)


def transfer_columns(
    count: pl.DataType, constrained: Iterable[str] = (), prevalence: Schema | None = None
) -> Schema:
    """Return the columns of `transfer`; `constrained` are the names of metrics in constraints.

    `prevalence` has the column `prevalence` of the curves, if they have one.
    """
    columns = (
        strings("rule")
        | floats("value_realised", "value_chosen", "optimism")
        | curve_columns(count)
        | (prevalence or {})
    )
    constraints = floats(*(name for name in constrained if name not in columns))
    met = {"is_met": pl.Boolean()} if constrained else {}
    return columns | constraints | met | strings("note")


TRANSFER = TableType(
    name="transfer",
    columns=transfer_columns,
    recognize=has_columns("rule", "value_realised", "value_chosen", "optimism", *CURVE_COLUMNS),
    drawing="rocframe.charts.dot_charts:transfer_chart",
    dots=DotStyle(
        title="Transferred thresholds",
        axis="Value",
        marks=("value_realised", "value_chosen"),
        spans=(Span(start="value_realised", end="value_chosen"),),
        part="rule",
        in_panels=True,
        ranked=False,
        numbers="value realised",
        row_text="{value_realised}, where it was chosen {value_chosen}",
        subtitle="Realised: on other data than those that determined the threshold",
    ),
)


def confusion_matrix_columns(count: pl.DataType) -> Schema:
    """Return the columns of `confusion_matrix`; `count` is the dtype of the counts."""
    return (
        floats("fpr", "tpr", "auc")
        | {"below_chance": pl.Boolean()}
        | dict.fromkeys(CONFUSION, count)
        | floats("negated_fpr", "negated_tpr")
        | ROW_COUNTS
        | strings("note")
    )


CONFUSION_MATRICES = TableType(
    name="confusion_matrix",
    columns=confusion_matrix_columns,
    recognize=has_columns(*confusion_matrix_columns(pl.Int64()), adjacent=4, kind="roc"),
    drawing=OPERATING_POINTS.drawing,
    chart_options=OPERATING_POINTS.chart_options,
)


def class_matrix_columns(label: pl.DataType, count: pl.DataType) -> Schema:
    """Return the columns of `confusion_matrix` of several classes, for the dtype of the classes."""
    return (
        dict.fromkeys(("true", "predicted"), label)
        | {"count": count}
        | floats("share_of_true", "share_of_predicted")
        | integers("n_missing")
        | strings("note")
    )


CLASS_MATRICES = TableType(
    name="class_matrix",
    functions=("confusion_matrix",),
    columns=class_matrix_columns,
    recognize=has_columns(*class_matrix_columns(pl.String(), pl.Int64()), adjacent=5),
    ties=None,
    drawing="rocframe.charts.dot_charts:class_matrix_chart",
    chart_options=(),
)


def gains_columns(count: pl.DataType) -> Schema:
    """Return the columns of `gains`; `count` is the dtype of the counts."""
    rates, counts = ("event_rate", "lift", "capture_rate"), ("n", "n_pos")
    return (
        integers("bin")
        | floats(*rates, "alert_rate_low", "alert_rate_high")
        | dict.fromkeys(counts, count)
        | floats("score_min", "score_max", "score_mean")
        | dict.fromkeys((f"cumulative_{name}" for name in counts), count)
        | floats(*(f"cumulative_{name}" for name in rates), "ks")
        | strings("note")
    )


GAINS = TableType(
    name="gains",
    columns=gains_columns,
    recognize=has_columns(*gains_columns(pl.Float64()), adjacent=3),
    drawing="rocframe.charts.dot_charts:gains_chart",
    dots=DotStyle(
        title="Gains",
        axis="Lift",
        marks=("lift", "cumulative_lift"),
        chance=1.0,
        part="bin",
        ranked=False,
        subtitle="Bins: alert rates. Dashed: lift of all rows",
    ),
)

H_MEASURE = TableType(
    name="h_measure",
    columns=lambda: (
        floats("h_measure", "expected_loss", "trivial_loss", "prior_a", "prior_b")
        | ROW_COUNTS
        | strings("note")
    ),
    recognize=has_columns("h_measure", "expected_loss", "trivial_loss", "prior_a", "prior_b"),
    dots=DotStyle(title="H measure", axis="H measure", marks=("h_measure",), chance=0.0),
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
    columns=calibration_columns,
    recognize=has_columns(*calibration_columns(), adjacent=8),
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
    columns=lambda: FIT_COLUMNS,
    recognize=has_columns(*FIT_COLUMNS, adjacent=6),
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
    columns=lambda: CALIBRATION_SUMMARY_COLUMNS,
    recognize=has_columns(*CALIBRATION_SUMMARY_COLUMNS, adjacent=6),
    dots=DotStyle(
        title="Calibration",
        axis="Value",
        marks=("brier", "miscalibration", "ece", "ici"),
        in_panels=True,
    ),
)


def murphy_columns(*, sides: bool = False) -> Schema:
    """Return the columns of `murphy_curve`, with the column `side` of a jump if `sides` is true."""
    return (
        floats("probability_threshold", "elementary_score")
        | floats("miscalibration", "discrimination", "uncertainty")
        | (strings(SIDE) if sides else {})
        | strings("note")
    )


MURPHY_LINE = LineStyle(
    title="Murphy diagram",
    x="probability_threshold",
    y="elementary_score",
    axes=("Probability threshold", "Mean elementary score"),
    reference="uncertainty",
    meaning="Dashed: all rows have the prevalence as score",
)

MURPHY_CURVES = TableType(
    name="murphy_curve",
    columns=murphy_columns,
    recognize=has_columns(*murphy_columns(), adjacent=5),
    lines=(
        MURPHY_LINE,
        replace(
            MURPHY_LINE,
            title="Murphy diagram: miscalibration",
            y="miscalibration",
            axes=("Probability threshold", "Miscalibration"),
            reference=None,
            meaning="Calibrated scores have the value 0",
        ),
        replace(
            MURPHY_LINE,
            title="Murphy diagram: discrimination",
            y="discrimination",
            axes=("Probability threshold", "Discrimination"),
            meaning="Dashed: uncertainty, the value of perfect scores",
        ),
    ),
    chart_options=(*CHANNELS, *DOMAINS, "y"),
)
