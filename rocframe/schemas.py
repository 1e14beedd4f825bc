"""All types of tables that functions return, with their columns and charts.

A table has its group columns first, then the columns of its type. `TABLES` is the list of all
types. A new type of table needs one record in `TABLES`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rocframe.average_tables import (
    curve_average_columns,
    metric_average_columns,
    recognize_curve_average,
    recognize_metric_average,
)
from rocframe.calibration_tables import (
    CALIBRATION,
    CALIBRATION_SUMMARY,
    FIT,
    MULTICLASS_LOSSES,
    MURPHY_CURVES,
)
from rocframe.decision_tables import (
    CONCAVITIES,
    COST_CURVES,
    COST_INTERVALS,
    DECISION_CURVES,
    DECISION_INTERVALS,
    GATE,
    LC_INDEX,
    RELATIVE_SUPERIORITY,
    REPAIRED_AUC,
)
from rocframe.rates import CONFUSION
from rocframe.table_types import (
    CHANNELS,
    DOMAINS,
    HALF_TIES,
    HIDDEN_PARTS,
    INTERVAL_CHART,
    ROW_TIES,
    SHARED_TIES,
    UNITS,
    DotStyle,
    Schema,
    Table,
    TableType,
    ends_with,
    floats,
    has_columns,
    integers,
    kind_name,
    strings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


ROC_AREA_TITLE = "Area under the ROC curve"
PARTIAL_AREA_TITLE = "Partial area under the ROC curve"
MEAN_AREA_TITLE = "Area under the averaged curve"


def table_of(columns: Sequence[str]) -> Table:
    """Return the record of a table with these columns: its type, group columns and kind."""
    recognized = ((table, table.recognize(columns)) for table in (*TABLES, OTHER))
    return next(
        Table(type=table, by=found[0], kind=found[1])
        for table, found in recognized
        if found is not None
    )


THRESHOLD = "threshold"
MODEL = "model"
WINDOW_COLUMNS = WINDOW, WINDOW_END = ("window", "window_end")
CURVE_COLUMNS = (THRESHOLD, *CONFUSION)
POINT_NAMES = ("at", "value")
AUC_NAMES = ("auc", "auc_pessimistic", "auc_optimistic")
PARTIAL_AUC_NAMES = ("partial_auc", "partial_auc_pessimistic", "partial_auc_optimistic")


ROW_COUNTS = integers("n_pos", "n_neg", "n_missing")
INTERVAL = floats("lower", "upper", "se")
INTERVAL_INFO = floats("ci_level") | strings("ci_method", "note")

# The last columns of the results of `simplify`, and of `curve` with `max_error`.
SIMPLIFICATION = floats("error", "area_change")

# The last columns of the results of `at` with `interpolate=True`.
MIX = floats("threshold_above", "threshold_below", "mix")

# The last columns of the results of `average` with `method="pooled"`.
POOLED_CURVE = floats("pooled_auc", "mean_auc") | integers("n_curves") | strings("note")


def curve_columns(count: pl.DataType) -> Schema:
    """Return the columns of every curve table; `count` is the dtype of the counts."""
    return floats(THRESHOLD) | dict.fromkeys(CONFUSION, count)


def auc_columns(names: Iterable[str] = AUC_NAMES) -> Schema:
    """Return the columns of a table of areas or partial areas."""
    area, *envelope = names
    return floats(area) | INTERVAL | floats(*envelope) | ROW_COUNTS | INTERVAL_INFO


def comparison_columns(model: pl.DataType, area: str) -> Schema:
    """Return the columns of a comparison of two models.

    `model` is the dtype of the column of models, and `area` is the name of the compared statistic.
    """
    return (
        dict.fromkeys(("model_a", "model_b"), model)
        | floats("difference", "lower", "upper", "p_value", "p_adjusted", "se", "statistic", "df")
        | floats(f"{area}_a", f"{area}_b")
        | integers("n_paired")
        | floats("ci_level")
        | strings("test", "note")
    )


def covariance_columns(model: pl.DataType, area: str) -> Schema:
    """Return the columns of a table with one row per cell of a covariance matrix."""
    return (
        dict.fromkeys(("model_a", "model_b"), model)
        | floats("covariance", "correlation", f"{area}_a", f"{area}_b")
        | integers("n_pos", "n_neg")
        | strings("note")
    )


CURVE = TableType(
    name="curve",
    functions=("curve", "class_metrics"),
    columns=curve_columns,
    recognize=has_columns(*CURVE_COLUMNS),
    ties=ROW_TIES,
    drawing="rocframe.charts.curve_chart:curve_chart",
    chart_options=(
        *("by", "kind", "x", "y", *CHANNELS),
        *("scale", *DOMAINS, "hull", "costs", "prevalence", "mark", "areas", "ties", *UNITS),
        *HIDDEN_PARTS,
    ),
)

OPERATING_POINTS = TableType(
    name="operating_points",
    functions=("at",),
    columns=lambda count: strings("at") | floats("value") | curve_columns(count),
    # If `at` and `value` are not next to `threshold`, they are group columns of a curve table.
    recognize=has_columns(*POINT_NAMES, *CURVE_COLUMNS, adjacent=3),
    ties=ROW_TIES,
    drawing="rocframe.charts.operating_point_chart:points_chart",
    chart_options=("by", "kind", "x", "y", *CHANNELS, "scale", *DOMAINS, *UNITS, *HIDDEN_PARTS),
)

# Columns of `operating_point`, on the left and on the right of the columns of a curve.
RULE = strings("rule") | floats("value")
N_OPTIMA = integers("n_optima") | strings("note")

BEST_POINTS = TableType(
    name="operating_point",
    functions=("operating_point",),
    columns=lambda count: RULE | curve_columns(count) | N_OPTIMA,
    recognize=has_columns(*RULE, *CURVE_COLUMNS, *N_OPTIMA),
    ties=ROW_TIES,
    drawing=OPERATING_POINTS.drawing,
    chart_options=OPERATING_POINTS.chart_options,
)

HULL_COLUMNS = floats(
    *("slope_low", "slope_high", "cost_ratio_low", "cost_ratio_high"),
    *("prevalence_low", "prevalence_high"),
) | strings("note")

CONVEX_HULL = TableType(
    name="hull",
    functions=("hull",),
    columns=lambda count: curve_columns(count) | HULL_COLUMNS,
    recognize=has_columns(*CURVE_COLUMNS, *HULL_COLUMNS),
    ties=ROW_TIES,
    drawing=OPERATING_POINTS.drawing,
    chart_options=OPERATING_POINTS.chart_options,
)

COST_LINE_COLUMNS = floats("slope", "intercept", "expected_cost")

EQUAL_COST_LINES = TableType(
    name="iso_lines",
    functions=("iso_lines",),
    columns=lambda count, kind: (
        COST_LINE_COLUMNS | curve_columns(count) | floats(*kind.rates) | N_OPTIMA
    ),
    recognize=has_columns(*COST_LINE_COLUMNS, *CURVE_COLUMNS, *N_OPTIMA, adjacent=4),
    ties=ROW_TIES,
    chart_hint="Draw the curves with the lines: curves.roc.chart(costs=…).",
)


TIE_NAMES = ("auc_change", "tied_pos", "tied_neg")


def tie_columns(count: pl.DataType) -> Schema:
    """Return the columns of `ties`; `count` is the dtype of the counts."""
    change, *counts = TIE_NAMES
    return floats(THRESHOLD, change) | dict.fromkeys(counts, count)


TIES = TableType(
    name="ties",
    functions=("ties",),
    columns=tie_columns,
    recognize=has_columns(THRESHOLD, *TIE_NAMES, adjacent=4),
    ties=ROW_TIES,
    chart_hint="Draw the curves with the range of other orders: curves.roc.chart(ties=True).",
)


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


def mixture_columns(across: tuple[str, pl.DataType] | None = None) -> Schema:
    """Return the columns of `mix`; `across` is the name and the dtype of the model column."""
    models = {}
    if across is not None:
        models = dict.fromkeys((f"{across[0]}_above", f"{across[0]}_below"), across[1])
    return (
        strings("at")
        | floats("value", "fpr", "tpr", "mix", "threshold_above", "threshold_below")
        | models
        | floats(*CONFUSION)
        | strings("note")
    )


MIXTURE = TableType(
    name="mix",
    functions=("mix",),
    columns=mixture_columns,
    recognize=has_columns(*mixture_columns(), adjacent=5, kind="roc"),
    ties=ROW_TIES,
    drawing=OPERATING_POINTS.drawing,
    chart_options=OPERATING_POINTS.chart_options,
)

TRANSFER = TableType(
    name="transfer",
    functions=("transfer",),
    columns=lambda count: (
        strings("rule")
        | floats("value_realised", "value_chosen", "optimism")
        | curve_columns(count)
        | strings("note")
    ),
    recognize=has_columns("rule", "value_realised", "value_chosen", "optimism", *CURVE_COLUMNS),
    ties=ROW_TIES,
    drawing="rocframe.charts.transfer_chart:transfer_chart",
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
    functions=("confusion_matrix",),
    columns=confusion_matrix_columns,
    recognize=has_columns(*confusion_matrix_columns(pl.Int64()), adjacent=4, kind="roc"),
    ties=ROW_TIES,
    drawing=OPERATING_POINTS.drawing,
    chart_options=OPERATING_POINTS.chart_options,
)

COMBINED_RATES = floats(
    *("fpr", "tpr", "fpr_independent", "tpr_independent"),
    *("fpr_min", "fpr_max", "tpr_min", "tpr_max"),
)


def combination_columns(model: pl.DataType, count: pl.DataType) -> Schema:
    """Return the columns of `combine`, for the dtypes of the models and of the counts."""
    return (
        dict.fromkeys(("model_a", "model_b"), model)
        | strings("operator")
        | COMBINED_RATES
        | dict.fromkeys(CONFUSION, count)
        | floats("fpr_a", "tpr_a", "fpr_b", "tpr_b", "threshold_a", "threshold_b")
        | integers("n_pos", "n_neg")
        | strings("note")
    )


COMBINATIONS = TableType(
    name="combine",
    functions=("combine", "combine_points"),
    columns=combination_columns,
    recognize=has_columns("model_a", "model_b", "operator", *COMBINED_RATES, adjacent=3),
    ties=ROW_TIES,
    drawing="rocframe.charts.combination_chart:combination_chart",
    chart_options=(*CHANNELS, *DOMAINS, *HIDDEN_PARTS),
)


def chain_columns(model: pl.DataType, count: pl.DataType) -> Schema:
    """Return the columns of `chain`, for the dtypes of the models and of the counts."""
    return (
        strings("operator")
        | integers("stage")
        | {MODEL: model}
        | floats("fpr", "tpr", "fpr_independent", "tpr_independent")
        | dict.fromkeys(CONFUSION, count)
        | floats("fpr_alone", "tpr_alone", THRESHOLD)
        | integers("n_pos", "n_neg")
        | strings("note")
    )


CHAINS = TableType(
    name="chain",
    functions=("chain",),
    columns=chain_columns,
    recognize=has_columns("operator", "stage", MODEL, "fpr", "tpr", "fpr_alone", adjacent=5),
    ties=ROW_TIES,
    drawing="rocframe.charts.combination_chart:chain_chart",
    chart_options=(*CHANNELS, *DOMAINS, *HIDDEN_PARTS),
)

METRIC_INTERVALS = TableType(
    name="intervals",
    functions=("intervals",),
    columns=lambda: (
        strings("metric", "at")
        | floats("value", "estimate")
        | INTERVAL
        | floats(THRESHOLD)
        | ROW_COUNTS
        | INTERVAL_INFO
    ),
    recognize=has_columns("metric", *POINT_NAMES, "estimate", THRESHOLD),
    ties=ROW_TIES,
    drawing="rocframe.charts.interval_chart:metric_chart",
)

AUC = TableType(
    name="auc",
    functions=("auc",),
    columns=auc_columns,
    recognize=has_columns(*AUC_NAMES),
    ties=HALF_TIES,
    drawing=INTERVAL_CHART,
    dots=DotStyle(
        title=ROC_AREA_TITLE,
        axis="AUC",
        marks=("auc",),
        inner=("auc_pessimistic", "auc_optimistic"),
        chance=0.5,
    ),
)

PARTIAL_AUC = TableType(
    name="partial_auc",
    functions=("auc",),
    columns=lambda: auc_columns(PARTIAL_AUC_NAMES),
    recognize=has_columns(*PARTIAL_AUC_NAMES),
    ties=HALF_TIES,
    drawing=INTERVAL_CHART,
    dots=DotStyle(
        title=PARTIAL_AREA_TITLE,
        axis="Partial AUC",
        marks=("partial_auc",),
        inner=("partial_auc_pessimistic", "partial_auc_optimistic"),
    ),
)


def h_measure_columns() -> Schema:
    """Return the columns of a table of H measures."""
    return (
        floats("h_measure", "expected_loss", "trivial_loss", "prior_a", "prior_b")
        | ROW_COUNTS
        | strings("note")
    )


H_MEASURE = TableType(
    name="h_measure",
    functions=("h_measure",),
    columns=h_measure_columns,
    recognize=has_columns("h_measure", "expected_loss", "trivial_loss", "prior_a", "prior_b"),
    ties=ROW_TIES,
    drawing=INTERVAL_CHART,
    dots=DotStyle(title="H measure", axis="H measure", marks=("h_measure",), chance=0.0),
)


def summary_columns() -> Schema:
    """Return the columns of a table of `summary`."""
    return (
        floats("auc", "gini", "ks", "eer", "average_precision", "pr_auc", "h_measure")
        | floats("brier", "log_loss", "prevalence")
        | ROW_COUNTS
        | strings("note")
    )


SUMMARY = TableType(
    name="summary",
    functions=("summary",),
    columns=summary_columns,
    recognize=has_columns("auc", "gini", "ks", "eer", "average_precision", "h_measure", "brier"),
    ties=HALF_TIES,
    drawing=INTERVAL_CHART,
    dots=DotStyle(
        title="Summary", axis="Value", marks=("auc", "average_precision", "ks", "h_measure")
    ),
)

AUC_TEST = TableType(
    name="auc_test",
    functions=("auc_test",),
    columns=lambda best_of: (
        floats("auc", "p_value", "p_adjusted")
        | ({} if best_of is None else floats("p_best", "auc_by_chance") | integers("best_of"))
        | floats("null", "se", "statistic")
        | ROW_COUNTS
        | strings("test", "note")
    ),
    recognize=has_columns("auc", "p_value", "p_adjusted", "null", "statistic"),
    ties=HALF_TIES,
    drawing=INTERVAL_CHART,
    dots=DotStyle(title="AUC tests", axis="AUC", marks=("auc",), reference="null", tests=True),
)


def drift_columns(over: pl.DataType) -> Schema:
    """Return the columns of `drift`; `over` is the dtype of the column of windows."""
    return (
        floats("auc", "lower", "upper", "difference", "difference_lower", "difference_upper")
        | floats("p_value", "p_adjusted")
        | {"reference": over}
        | floats("reference_auc", "reference_lower", "reference_upper", "se", "statistic", "df")
        | ROW_COUNTS
        | floats("ci_level")
        | strings("ci_method", "test", "note")
    )


def drift_test_columns() -> Schema:
    """Return the columns of `drift_test`."""
    return (
        floats("homogeneity_p", "homogeneity_p_adjusted", "trend_p", "trend_p_adjusted")
        | floats("slope", "lower", "upper", "se", "between_sd", "cochran_q")
        | integers("df")
        | floats("mean_auc")
        | integers("n_windows")
        | ROW_COUNTS
        | floats("ci_level")
        | strings("note")
    )


DRIFT_TEST = TableType(
    name="drift_test",
    functions=("drift_test",),
    columns=drift_test_columns,
    recognize=has_columns("homogeneity_p", "trend_p", "slope", "cochran_q"),
    ties=HALF_TIES,
    drawing=INTERVAL_CHART,
    dots=DotStyle(
        title="Trend of the AUC",
        axis="Change of AUC per day, or per unit of time",
        marks=("slope",),
        references=(0.0,),
    ),
)

DRIFT = TableType(
    name="drift",
    functions=("drift",),
    columns=drift_columns,
    recognize=has_columns("auc", "difference", "p_adjusted", "reference", "reference_auc"),
    ties=HALF_TIES,
    drawing="rocframe.charts.time_chart:drift_chart",
    dots=DotStyle(title=ROC_AREA_TITLE, axis="AUC", marks=("auc",)),
)

MULTICLASS_AUC = TableType(
    name="multiclass_auc",
    functions=("multiclass_auc",),
    columns=lambda: (
        strings("average")
        | floats("auc")
        | INTERVAL
        | integers("n_classes", "n_classes_used", "n", "n_missing")
        | INTERVAL_INFO
    ),
    recognize=has_columns("average", "auc", "n_classes", "n_classes_used"),
    ties=HALF_TIES,
    drawing=INTERVAL_CHART,
    dots=DotStyle(title="Multiclass AUC", axis="AUC", marks=("auc",), chance=0.5, part="average"),
)

VOLUME = TableType(
    name="volume",
    functions=("volume",),
    columns=lambda: (
        floats("volume")
        | INTERVAL
        | strings("rule")
        | integers("n_first", "n_second", "n_third", "n_missing")
        | INTERVAL_INFO
    ),
    recognize=has_columns("volume", "rule", "n_first", "n_second", "n_third"),
    ties=SHARED_TIES,
    drawing=INTERVAL_CHART,
    dots=DotStyle(
        title="Volume under the ROC surface",
        axis="Volume",
        marks=("volume",),
        chance=1 / 6,  # the expected volume for random scores
    ),
)

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
    drawing=INTERVAL_CHART,
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
    functions=("power", "sample_size", "detectable_difference"),
    columns=plan_columns,
    recognize=has_columns(*plan_columns()),
    ties=None,
    drawing="rocframe.charts.plan_chart:plan_chart",
    chart_options=(),
)

COMPARISON = TableType(
    name="comparison",
    functions=("compare",),
    columns=comparison_columns,
    recognize=has_columns("model_a", "model_b", "difference", "p_value", "p_adjusted"),
    ties=HALF_TIES,
    drawing="rocframe.charts.interval_chart:comparison_chart",
)

AUC_COVARIANCE = TableType(
    name="auc_covariance",
    functions=("auc_covariance",),
    columns=covariance_columns,
    recognize=has_columns("model_a", "model_b", "covariance", "correlation"),
    ties=HALF_TIES,
    drawing="rocframe.charts.covariance_chart:covariance_chart",
    chart_options=(),
)


def hull_share_columns(model: pl.DataType) -> Schema:
    """Return the columns of `hull_shares`; `model` is the dtype of the column of models."""
    return (
        {MODEL: model}
        | floats("share_on_hull")
        | integers("n_vertices", "n_pos", "n_neg", "n_boot")
        | strings("note")
    )


HULL_SHARES = TableType(
    name="hull_shares",
    functions=("hull_shares",),
    columns=hull_share_columns,
    # The column `model` is recognized as a group column.
    recognize=has_columns("share_on_hull", "n_vertices", "n_boot"),
    ties=ROW_TIES,
    drawing=INTERVAL_CHART,
    dots=DotStyle(
        title="Share of resamples on the common hull",
        axis="Share of resamples",
        marks=("share_on_hull",),
    ),
)

CONTRAST = TableType(
    name="contrast",
    functions=("contrast",),
    columns=lambda: (
        floats("p_value", "p_adjusted", "statistic", "df")
        | integers("n_models", "n_paired")
        | strings("test", "note")
    ),
    recognize=has_columns("p_value", "p_adjusted", "statistic", "df", "n_models"),
    ties=HALF_TIES,
    chart_hint="Draw the pairwise differences with .roc.compare(label, score, …).roc.chart().",
)


def band_columns() -> Schema:
    """Return the columns of a band: the points of a curve and their limits."""
    return floats(
        *("fpr", "tpr", "fpr_lower", "fpr_upper", "lower", "upper", "ci_level")
    ) | strings("scope", "band", "note")


BAND = TableType(
    name="band",
    functions=("band",),
    columns=band_columns,
    recognize=has_columns(*band_columns()),
    ties=ROW_TIES,
    drawing="rocframe.charts.band_chart:band_chart",
    chart_options=(*CHANNELS, *DOMAINS, *HIDDEN_PARTS),
)


SMOOTH_COLUMNS = floats("fpr", "tpr", "auc", "a", "b") | strings("note")

SMOOTH_CURVES = TableType(
    name="smooth",
    functions=("smooth", "theoretical_curve"),
    columns=lambda: SMOOTH_COLUMNS,
    recognize=has_columns(*SMOOTH_COLUMNS, adjacent=5),
    ties=ROW_TIES,
    drawing="rocframe.charts.smooth_chart:smooth_chart",
    chart_options=(*CHANNELS, *DOMAINS),
)


def _area_table(*names: str, ties: str, dots: DotStyle) -> TableType:
    return TableType(
        name="area",
        functions=("area",),
        columns=lambda: floats(*names),
        recognize=ends_with(*names),  # tables of other types can have a column `auc`, too
        ties=ties,
        drawing=INTERVAL_CHART,
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
OTHER = TableType(
    name="table",
    functions=(),
    columns=dict,
    recognize=lambda columns: ((), kind_name(columns)),
    ties=None,
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

# The type of a table is the first type in this list that recognizes the columns of the table. The
# results of `at` and `operating_point` also have the columns of a curve, so their types must come
# before `CURVE`.
TABLES = (
    *(CURVE_AVERAGE, METRIC_AVERAGE, OPERATING_POINTS, BEST_POINTS),
    *(CONCAVITIES, REPAIRED_AUC, TRANSFER, METRIC_INTERVALS),
    *(CONFUSION_MATRICES, MIXTURE, COMBINATIONS, CHAINS),
    *(CONVEX_HULL, EQUAL_COST_LINES, TIES, TIE_BOUNDS, COST_CURVES, RELATIVE_SUPERIORITY, LC_INDEX),
    *(DECISION_CURVES, DECISION_INTERVALS, COST_INTERVALS, CURVE),
    *(DRIFT, DRIFT_TEST),
    *(AUC, PARTIAL_AUC, SUMMARY, H_MEASURE, AUC_TEST, MULTICLASS_AUC, VOLUME, FOLD_AUC),
    *(POOLING_GAP, PLAN, CALIBRATION, CALIBRATION_SUMMARY, FIT),
    *(MURPHY_CURVES, MULTICLASS_LOSSES),
    *(COMPARISON, GATE, AUC_COVARIANCE, HULL_SHARES, CONTRAST, BAND, SMOOTH_CURVES),
    *(AREA, PARTIAL_AREA, AVERAGE_AUC, AVERAGE_AREA, PRECISION_RECALL_AREA, LIFT_AREA),
)
