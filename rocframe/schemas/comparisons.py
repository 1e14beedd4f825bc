"""Columns and charts of tables that compare or combine models, or compare time windows."""

from __future__ import annotations

import polars as pl

from rocframe.rates import CONFUSION
from rocframe.schemas.columns import MODEL, ROC_AREA_TITLE, ROW_COUNTS, THRESHOLD
from rocframe.schemas.table_type import (
    CHANNELS,
    DOMAINS,
    DOT_CHART,
    HALF_TIES,
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


def decision_interval_columns(kind: str, model: pl.DataType) -> Schema:
    """Return the columns of `decision_intervals`.

    `model` is the dtype of the column `model`. If it is Null, the result has no such column.
    """
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

DECISION_INTERVALS, COST_INTERVALS = (
    TableType(
        name=f"{kind}_intervals",
        functions=("decision_intervals",),
        columns=lambda model, kind=kind: decision_interval_columns(kind, model),
        recognize=has_columns(*decision_interval_columns(kind, pl.Null()), adjacent=5),
        ties=ROW_TIES,
        drawing="rocframe.charts.decision_chart:decision_intervals_chart",
        chart_options=(*CHANNELS, *DOMAINS, "y"),
    )
    for kind in DECISION_AXES
)


def gate_columns(model: pl.DataType, metric: str) -> Schema:
    """Return the columns of a release gate.

    `model` is the dtype of the column of models, and `metric` is the name of the tested metric.
    """
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
    functions=("gate",),
    columns=gate_columns,
    recognize=has_columns(
        *("passed", "deterioration", "limit", "margin", "verdict", "model_old", "model_new"),
        adjacent=4,
    ),
    ties=HALF_TIES,
    chart_hint="Draw the differences with .roc.compare(label, score, …).roc.chart().",
)


def comparison_columns(model: pl.DataType, area: str) -> Schema:
    """Return the columns of a comparison of two models.

    `model` is the dtype of the column of models, and `area` is the name of the compared statistic.
    """
    return (
        dict.fromkeys(("model_a", "model_b"), model)
        | floats("difference", "lower", "upper", "p_value", "p_adjusted", "se", "statistic", "df")
        | floats(f"{area}_a", f"{area}_b")
        | integers("n_paired", "n_pos", "n_neg")
        | floats("ci_level")
        | strings("test", "note")
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
    ties=ROW_TIES,
    drawing="rocframe.charts.combination_chart:combination_chart",
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
    functions=("chain",),
    columns=chain_columns,
    recognize=has_columns(
        *("fpr", "tpr", "fpr_independent", "tpr_independent", "fpr_alone"),
        *("operator", "stage", MODEL),
        adjacent=4,
    ),
    ties=ROW_TIES,
    drawing="rocframe.charts.combination_chart:chain_chart",
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


DRIFT_TEST = TableType(
    name="drift_test",
    functions=("drift_test",),
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
    drawing=DOT_CHART,
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
    functions=("drift",),
    columns=drift_columns,
    recognize=has_columns("auc", "lower", "reference", "reference_auc", "difference"),
    ties=HALF_TIES,
    drawing="rocframe.charts.time_chart:drift_chart",
    dots=DotStyle(title=ROC_AREA_TITLE, axis="AUC", marks=("auc",)),
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

AUC_COVARIANCE = TableType(
    name="auc_covariance",
    functions=("auc_covariance",),
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


HULL_SHARES = TableType(
    name="hull_shares",
    functions=("hull_shares",),
    columns=hull_share_columns,
    # The column `model` is recognized as a group column.
    recognize=has_columns("share_on_hull", "n_vertices", "n_boot"),
    ties=ROW_TIES,
    drawing=DOT_CHART,
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
        floats("p_value", "p_adjusted", "statistic", "df", "df_denominator")
        | integers("n_models", "n_paired", "n_pos", "n_neg")
        | strings("test", "note")
    ),
    recognize=has_columns("p_value", "p_adjusted", "statistic", "df", "n_models"),
    ties=HALF_TIES,
    chart_hint="Draw the pairwise differences with .roc.compare(label, score, …).roc.chart().",
)
