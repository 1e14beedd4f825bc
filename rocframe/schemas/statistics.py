"""Columns and charts of tables of areas, averages, comparisons, and statistics of many classes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import polars as pl

from rocframe.kinds import KINDS, Kind
from rocframe.rates import CONFUSION
from rocframe.schemas.curves import COST_LINE, DECISION_LINE
from rocframe.schemas.table_type import (
    CHANNELS,
    DOMAINS,
    HALF_TIES,
    HIDDEN_PARTS,
    INTERVAL,
    INTERVAL_INFO,
    MODEL,
    POINT_NAMES,
    ROC_AREA_TITLE,
    ROW_COUNTS,
    ROW_TIES,
    SHARED_TIES,
    SIDE,
    THRESHOLD,
    UNITS,
    DotStyle,
    Recognition,
    Schema,
    Span,
    TableType,
    ends_with,
    floats,
    has_columns,
    integers,
    strings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PARTIAL_AREA_TITLE = "Partial area under the ROC curve"
MEAN_AREA_TITLE = "Area under the averaged curve"
AUC_NAMES = ("auc", "auc_pessimistic", "auc_optimistic")
PARTIAL_AUC_NAMES = ("partial_auc", "partial_auc_pessimistic", "partial_auc_optimistic")


def auc_columns(names: Iterable[str] = AUC_NAMES) -> Schema:
    """Return the columns of a table of areas or partial areas."""
    area, *envelope = names
    return floats(area) | INTERVAL | floats(*envelope) | ROW_COUNTS | INTERVAL_INFO


TIE_BOUND_NAMES = ("metric", "estimate", "pessimistic", "optimistic")
TIE_BOUNDS_COLUMNS = strings("metric") | floats(*TIE_BOUND_NAMES[1:])

TIE_BOUNDS = TableType(
    name="tie_bounds",
    columns=lambda: TIE_BOUNDS_COLUMNS,
    recognize=has_columns(*TIE_BOUND_NAMES, adjacent=4),
    chart_hint="Draw the curves with the range of other orders: curves.roc.chart(ties=True).",
)

AUC = TableType(
    name="auc",
    columns=auc_columns,
    recognize=has_columns(*AUC_NAMES),
    ties=HALF_TIES,
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
    dots=DotStyle(
        title=PARTIAL_AREA_TITLE,
        axis="Partial AUC",
        marks=("partial_auc",),
        box=("partial_auc_pessimistic", "partial_auc_optimistic"),
    ),
)


SUMMARY = TableType(
    name="summary",
    columns=lambda: (
        floats("auc", "gini", "ks", "eer", "average_precision", "pr_auc", "h_measure")
        | floats("brier", "log_loss", "prevalence")
        | ROW_COUNTS
        | strings("note")
    ),
    recognize=has_columns("auc", "gini", "ks", "eer", "average_precision", "h_measure", "brier"),
    ties=HALF_TIES,
    dots=DotStyle(
        title="Summary",
        axis="Value",
        marks=("auc", "average_precision", "ks", "h_measure"),
        in_panels=True,
    ),
)

AUC_TEST = TableType(
    name="auc_test",
    columns=lambda best_of: (
        floats("auc", "p_adjusted", "p_value", "null", "se", "statistic", "df")
        | ROW_COUNTS
        | strings("test")
        | ({} if best_of is None else integers("best_of") | floats("auc_by_chance", "p_best"))
        | strings("note")
    ),
    recognize=has_columns("auc", "p_adjusted", "p_value", "null", "statistic"),
    ties=HALF_TIES,
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


def _area_table(*names: str, ties: str = ROW_TIES, dots: DotStyle) -> TableType:
    return TableType(
        name="area",
        columns=lambda: floats(*names),
        recognize=ends_with(*names),  # tables of other types can have a column `auc`, too
        ties=ties,
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
    "area_of_mean", dots=DotStyle(title=MEAN_AREA_TITLE, axis="Area", marks=("area_of_mean",))
)

PRECISION_RECALL_AREA = _area_table(
    "average_precision",
    "pr_auc",
    dots=DotStyle(
        title="Area under the precision-recall curve",
        axis="Area",
        marks=("average_precision", "pr_auc"),
    ),
)

PARTIAL_PR_AREA = _area_table(
    "partial_pr_auc",
    dots=DotStyle(
        title="Partial area under the precision-recall curve",
        axis="Area",
        marks=("partial_pr_auc",),
    ),
)

LIFT_AREA = _area_table(
    "auc",
    "lift_area",
    "lift_area_step",
    dots=DotStyle(
        title="Area under the lift chart",
        axis="Area (positives)",
        marks=("lift_area", "lift_area_step"),
    ),
)


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
    """Return the columns of curves whose axes `averaged` are averaged, with `side` if `sides`."""
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
    """The group columns, kind and averaged axes of averaged curves, and if `side` is a column."""

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
    columns=lambda: (
        floats("mean_auc", "lower", "upper", "sd", "se", "auc_of_mean", "pooled_auc")
        | integers("n_curves")
        | ROW_COUNTS
        | INTERVAL_INFO
    ),
    recognize=has_columns("mean_auc", "sd", "auc_of_mean", "pooled_auc"),
    ties=HALF_TIES,
    dots=DotStyle(
        title="AUC over folds",
        axis="AUC",
        marks=("mean_auc", "pooled_auc", "auc_of_mean"),
        chance=0.5,
    ),
)

POOLED = TableType(
    name="pool_imputations",
    columns=lambda: (
        strings("metric")
        | floats("estimate", "lower", "upper")
        | strings("at")
        | floats("at_value", "se", "within_variance", "between_variance", "relative_increase")
        | floats("fraction_missing", "df")
        | integers("n_imputations")
        | floats("ci_level")
        | strings("scale", "note")
    ),
    recognize=has_columns("metric", "estimate", *POINT_NAMES, "within_variance"),
    drawing="rocframe.charts.dot_charts:metric_chart",
    dots=DotStyle(
        title="Estimates over imputed data sets",
        axis="Estimate",
        marks=("estimate",),
        part="metric",
    ),
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
    recognize=has_columns(
        "gap", "pooled_auc", "mean_auc", "gap_between", "gap_within", "within_auc"
    ),
    ties=HALF_TIES,
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
    columns=curve_average_columns,
    recognize=recognize_curve_average,
    drawing="rocframe.charts.line_chart:mean_chart",
    chart_options=(*CHANNELS, "scale", *DOMAINS, *UNITS, *HIDDEN_PARTS),
)

METRIC_AVERAGE = replace(
    CURVE_AVERAGE, columns=metric_average_columns, recognize=recognize_metric_average
)


def decision_interval_columns(kind: str, model: pl.DataType) -> Schema:
    """Return the columns of `decision_intervals`, without `model` if its dtype is Null."""
    x, y, reference = DECISION_AXES[kind]
    return (
        ({} if model == pl.Null else {"model": model})
        | floats(x, y, "lower", "upper", "se", "difference_se", reference)
        | integers("n_pos", "n_neg")
        | floats("ci_level")
        | strings("ci_method")
        | floats("difference", "difference_lower", "difference_upper")
        | strings("note")
    )


# For each kind of curve: the columns of its two axes, and the column with the y value of treating
# all cases as positive ("decision") or of the better trivial decision ("cost").
DECISION_AXES = {
    "decision": ("probability_threshold", "net_benefit", "treat_all"),
    "cost": ("probability_cost", "expected_cost", "trivial_cost"),
}

DIFFERENCE_LIMITS = ("difference_lower", "difference_upper")
NO_DIFFERENCE = ((0, 0), (1, 0))
DECISION_INTERVAL_LINES = {
    "decision": (
        replace(DECISION_LINE, limits=("lower", "upper")),
        replace(
            DECISION_LINE,
            title="Difference of net benefits",
            y="difference",
            axes=("Probability threshold", "Difference to"),
            limits=DIFFERENCE_LIMITS,
            reference=None,
            constant=NO_DIFFERENCE,
            meaning="Dashed: no difference; above 0: better than",
            compared="net_benefit",
        ),
    ),
    "cost": (
        replace(COST_LINE, threshold=None, limits=("lower", "upper")),
        replace(
            COST_LINE,
            title="Difference of expected costs",
            y="difference",
            axes=("Probability cost", "Difference to"),
            limits=DIFFERENCE_LIMITS,
            threshold=None,
            constant=NO_DIFFERENCE,
            meaning="Dashed: no difference; below 0: better than",
            nice=True,
            compared="expected_cost",
        ),
    ),
}

DECISION_INTERVALS, COST_INTERVALS = (
    TableType(
        name=f"{kind}_intervals",
        functions=("decision_intervals",),
        columns=lambda model, kind=kind: decision_interval_columns(kind, model),
        recognize=has_columns(*decision_interval_columns(kind, pl.Null()), adjacent=5),
        lines=DECISION_INTERVAL_LINES[kind],
        chart_options=(*CHANNELS, *DOMAINS, "y"),
    )
    for kind in DECISION_AXES
)


def gate_columns(model: pl.DataType, metric: str) -> Schema:
    """Return the columns of a release gate of a metric; `model` is the dtype of models."""
    return (
        {"passed": pl.Boolean()}
        | floats("deterioration", "limit", "margin", "p_adjusted", "p_value", "se")
        | floats(f"{metric}_old", f"{metric}_new")
        | integers("n_paired", "n_pos", "n_neg")
        | floats("ci_level")
        | strings("test", "verdict")
        | dict.fromkeys(("model_old", "model_new"), model)
        | strings("note")
    )


GATE = TableType(
    name="gate",
    columns=gate_columns,
    recognize=has_columns(
        *("passed", "deterioration", "limit", "margin", "verdict", "model_old", "model_new"),
        adjacent=4,
    ),
    ties=HALF_TIES,
    chart_hint="Draw the differences with .roc.compare(label, score, …).roc.chart().",
)


def comparison_columns(model: pl.DataType, metric: str | None) -> Schema:
    """Return the columns of a comparison of a metric, or of several metrics (None).

    `model` is the dtype of the models.
    """
    is_list = metric is None
    return (
        dict.fromkeys(("model_a", "model_b"), model)
        | (strings("metric") if is_list else {})
        | floats("difference", "lower", "upper", "p_value", "p_adjusted")
        | (floats("ratio", "ratio_lower", "ratio_upper") if is_list else {})
        | floats("se", "statistic", "df")
        | floats(*(f"{metric or 'estimate'}_{side}" for side in "ab"))
        | (floats("threshold_a", "threshold_b") if is_list else {})
        | integers("n_paired", "n_pos", "n_neg")
        | floats("ci_level")
        | strings("test", "note")
    )


def replicate_columns(model: pl.DataType, metric: str | None) -> Schema:
    """Return the columns of the replicates of a comparison; see `comparison_columns`."""
    return (
        dict.fromkeys(("model_a", "model_b"), model)
        | (strings("metric") if metric is None else {})
        | integers("draw")
        | floats("difference", "estimate_a", "estimate_b")
    )


def reader_study_columns(reading: pl.DataType) -> Schema:
    """Return the columns of `reader_study`; `reading` has the dtypes of modality and reader."""
    modality = reader = reading
    if isinstance(reading, pl.Struct):
        modality, reader = (field.dtype for field in reading.fields)  # type: ignore[assignment]
    return (
        dict.fromkeys(("modality_a", "modality_b"), modality)
        | floats("estimate", "lower", "upper", "p_value", "p_adjusted", "se", "statistic", "df")
        | floats("f_p_value", "f_statistic", "f_df", "f_df_denominator")
        | floats("var_reader", "var_reader_modality", "var_error", "cov1", "cov2", "cov3")
        | integers("n_readers", "n_cases", "n_pos", "n_neg")
        | floats("ci_level")
        | strings("metric", "fixed", "covariance_method")
        | {"reader": reader}
        | strings("note")
    )


def covariance_columns(model: pl.DataType, area: str) -> Schema:
    """Return the columns of a table with one row per cell of a covariance matrix."""
    return (
        floats("covariance", "correlation", f"{area}_a", f"{area}_b")
        | integers("n_pos", "n_neg")
        | dict.fromkeys(("model_a", "model_b"), model)
        | strings("note")
    )


COMBINED_RATES = floats(
    *("fpr", "tpr", "fpr_independent", "tpr_independent"),
    *("fpr_min", "fpr_max", "tpr_min", "tpr_max"),
)


def combination_columns(model: pl.DataType, count: pl.DataType) -> Schema:
    """Return the columns of `combine`, for the dtypes of the models and of the counts."""
    return (
        COMBINED_RATES
        | dict.fromkeys(CONFUSION, count)
        | floats("fpr_a", "tpr_a", "fpr_b", "tpr_b", "threshold_a", "threshold_b")
        | integers("n_pos", "n_neg")
        | dict.fromkeys(("model_a", "model_b"), model)
        | strings("operator", "note")
    )


COMBINATIONS = TableType(
    name="combine",
    functions=("combine", "combine_points"),
    columns=combination_columns,
    recognize=has_columns(*COMBINED_RATES, "model_a", "model_b", "operator", adjacent=4),
    drawing="rocframe.charts.point_chart:combination_chart",
    chart_options=(*CHANNELS, *DOMAINS, *HIDDEN_PARTS),
)


def chain_columns(model: pl.DataType, count: pl.DataType) -> Schema:
    """Return the columns of `chain`, for the dtypes of the models and of the counts."""
    return (
        floats("fpr", "tpr", "fpr_independent", "tpr_independent")
        | dict.fromkeys(CONFUSION, count)
        | floats("fpr_alone", "tpr_alone", THRESHOLD)
        | integers("n_pos", "n_neg")
        | strings("operator")
        | integers("stage")
        | {MODEL: model}
        | strings("note")
    )


CHAINS = TableType(
    name="chain",
    columns=chain_columns,
    recognize=has_columns(
        *("fpr", "tpr", "fpr_independent", "tpr_independent", "fpr_alone"),
        *("operator", "stage", MODEL),
        adjacent=4,
    ),
    drawing="rocframe.charts.point_chart:chain_chart",
    chart_options=(*CHANNELS, *DOMAINS, *HIDDEN_PARTS),
)


def drift_columns(over: pl.DataType) -> Schema:
    """Return the columns of `drift`; `over` is the dtype of the column of windows."""
    return (
        floats("auc", "lower", "upper", "p_adjusted", "p_value")
        | {"reference": over}
        | floats("reference_auc", "reference_lower", "reference_upper", "se", "statistic", "df")
        | ROW_COUNTS
        | floats("ci_level")
        | strings("ci_method", "test")
        | floats("difference", "difference_lower", "difference_upper")
        | strings("note")
    )


def score_drift_columns(over: pl.DataType) -> Schema:
    """Return the columns of `score_drift`; `over` is the dtype of the column of windows."""
    return (
        floats("psi", "psi_p_adjusted", "psi_critical", "psi_p", "ks_p")
        | floats("jensen_shannon", "wasserstein")
        | {"reference": over}
        | integers("n", "n_reference", "n_missing", "n_bins")
        | floats("reference_missing_share", "level", "ks", "ks_p_adjusted", "missing_share")
        | strings("note")
    )


DRIFT_TEST = TableType(
    name="drift_test",
    columns=lambda: (
        floats("homogeneity_p_adjusted", "trend_p_adjusted", "homogeneity_p", "trend_p")
        | floats("se", "between_sd", "cochran_q", "df", "df_denominator", "mean_auc")
        | integers("n_windows")
        | ROW_COUNTS
        | floats("ci_level", "slope", "lower", "upper")
        | strings("note")
    ),
    recognize=has_columns("homogeneity_p_adjusted", "trend_p_adjusted", "cochran_q", "slope"),
    ties=HALF_TIES,
    dots=DotStyle(
        title="Does the AUC change over time?",
        axis="Change of AUC per day, or per unit of a numeric time",
        marks=("slope",),
        references=(0.0,),
        p_values=("trend_p", "trend_p_adjusted"),
    ),
)

DRIFT = TableType(
    name="drift",
    columns=drift_columns,
    recognize=has_columns("auc", "lower", "reference", "reference_auc", "difference"),
    ties=HALF_TIES,
    drawing="rocframe.charts.time_chart:drift_chart",
    dots=DotStyle(title=ROC_AREA_TITLE, axis="AUC", marks=("auc",)),
)

SCORE_DRIFT = TableType(
    name="score_drift",
    columns=score_drift_columns,
    recognize=has_columns("psi", "psi_p_adjusted", "reference", "ks", "missing_share"),
    drawing="rocframe.charts.time_chart:score_drift_chart",
    dots=DotStyle(title="Population stability index", axis="PSI", marks=("psi",), limits=None),
)

COMPARISON = TableType(
    name="comparison",
    functions=("compare",),
    columns=comparison_columns,
    recognize=has_columns("model_a", "model_b", "difference", "p_value", "p_adjusted"),
    ties=HALF_TIES,
    drawing="rocframe.charts.dot_charts:comparison_chart",
    dots=DotStyle(
        title="Differences",
        axis="Difference",
        marks=("difference",),
        references=(0.0,),
        part="model_a − model_b",
        colored=False,
        p_values=("p_value", "p_adjusted"),
    ),
)

COMPARISON_REPLICATES = TableType(
    name="comparison_replicates",
    functions=("compare",),
    columns=replicate_columns,
    recognize=has_columns("model_a", "model_b", "draw", "difference", "estimate_a", "estimate_b"),
    ties=HALF_TIES,
    chart_hint='Draw a histogram of the replicates of a pair: table["difference"].plot.hist().',
)

AUC_COVARIANCE = TableType(
    name="auc_covariance",
    columns=covariance_columns,
    recognize=has_columns("covariance", "correlation", "model_a", "model_b"),
    ties=HALF_TIES,
    drawing="rocframe.charts.dot_charts:covariance_chart",
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


READER_STUDY = TableType(
    name="reader_study",
    columns=reader_study_columns,
    recognize=has_columns("modality_a", "modality_b", "estimate", "f_p_value", "var_reader"),
    ties=HALF_TIES,
    drawing="rocframe.charts.dot_charts:reader_study_chart",
    dots=DotStyle(title="Reader study", axis="Mean", marks=("estimate",), ranked=False),
)

HULL_SHARES = TableType(
    name="hull_shares",
    columns=hull_share_columns,
    # The column `model` is recognized as a group column.
    recognize=has_columns("share_on_hull", "n_vertices", "n_boot"),
    dots=DotStyle(
        title="Share of resamples on the common hull",
        axis="Share of resamples",
        marks=("share_on_hull",),
    ),
)

CONTRAST = TableType(
    name="contrast",
    columns=lambda: (
        floats("p_value", "p_adjusted", "statistic", "df", "df_denominator")
        | integers("n_models", "n_paired", "n_pos", "n_neg")
        | strings("test", "note")
    ),
    recognize=has_columns("p_value", "p_adjusted", "statistic", "df", "n_models"),
    ties=HALF_TIES,
    chart_hint="Draw the pairwise differences with .roc.compare(label, score, …).roc.chart().",
)


MULTICLASS_DEFAULTS = ("brier", "log_loss", "accuracy", "balanced_accuracy", "macro_f1", "mcc")
MULTICLASS_INFO = integers(
    *("n", "n_classes", "n_classes_used", "n_classes_predicted", "n_missing")
) | strings("note")
# The names of the columns of metrics, which are left of these columns.
MULTICLASS_METRIC = re.compile(
    r"brier|log_loss|((balanced|top_\d+)_)?accuracy|kappa|mcc|expected_cost"
    r"|(macro|micro|weighted)_(precision|recall|specificity|npv|f1|f_beta|jaccard)"
)


def recognize_multiclass_metrics(columns: Sequence[str]) -> Recognition | None:
    """Return the group columns of a table of `multiclass_metrics`; None for others."""
    names, width = list(columns), len(MULTICLASS_INFO)
    if not names or "n" not in names[1:]:
        return None
    end = len(names) - names[::-1].index("n") - 1
    if tuple(names[end : end + width]) != tuple(MULTICLASS_INFO):
        return None
    start = end
    while start and MULTICLASS_METRIC.fullmatch(names[start - 1]):
        start -= 1
    return (tuple(names[:start]), None) if start < end else None


MULTICLASS_METRICS = TableType(
    name="multiclass_metrics",
    columns=lambda metrics=MULTICLASS_DEFAULTS: floats(*metrics) | MULTICLASS_INFO,
    recognize=recognize_multiclass_metrics,
    ties=None,
    drawing="rocframe.charts.dot_charts:class_metric_chart",
    dots=DotStyle(title="Metrics of several classes", axis="Value", in_panels=True),
)

MULTICLASS_AUC = TableType(
    name="multiclass_auc",
    columns=lambda: (
        floats("auc")
        | INTERVAL
        | integers("n", "n_missing")
        | floats("ci_level")
        | strings("ci_method")
        | integers("n_classes", "n_classes_used")
        | strings("average", "note")
    ),
    recognize=has_columns("auc", "n_classes", "n_classes_used", "average"),
    ties=HALF_TIES,
    dots=DotStyle(
        title="Multiclass AUC", axis="AUC", marks=("auc",), chance=0.5, part="average", ranked=False
    ),
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
    recognize=has_columns("volume", "rule", "n_first", "n_second", "n_third"),
    ties=SHARED_TIES,
    dots=DotStyle(
        title="Volume under the ROC surface",
        axis="Volume",
        marks=("volume",),
        chance=1 / 6,  # the expected volume for random scores
    ),
)
