"""The types of tables about decisions, such as cost curves, decision curves and release gates."""

from __future__ import annotations

import polars as pl

from rocframe.table_types import (
    CHANNELS,
    DOMAINS,
    HALF_TIES,
    INTERVAL_CHART,
    ROW_TIES,
    DotStyle,
    Schema,
    TableType,
    floats,
    has_columns,
    integers,
    strings,
)

COST_RATES = floats(
    *("probability_cost", "expected_cost", "threshold", "fpr", "fnr", "trivial_cost", "min_dcf")
)
COST_CURVE = COST_RATES | strings("note")
COST_CURVE_ACROSS = COST_RATES | floats("second_cost", "cost_difference") | strings("note")

COST_CURVES = TableType(
    name="cost_curve",
    functions=("cost_curve",),
    columns=lambda: COST_CURVE,
    recognize=has_columns(*COST_CURVE, adjacent=3),
    ties=ROW_TIES,
    drawing="rocframe.charts.decision_chart:cost_curve_chart",
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
    functions=("relative_superiority",),
    columns=lambda: SUPERIORITY_COLUMNS,
    recognize=has_columns(*SUPERIORITY_COLUMNS, adjacent=6),
    ties=ROW_TIES,
    drawing="rocframe.charts.decision_chart:superiority_chart",
    chart_options=("color", "facet"),
)

LC_INDEX_COLUMNS = (
    floats("lc_index", "best_share", "tied_share")
    | floats("cost_ratio_low", "cost_ratio_mode", "cost_ratio_high", "prevalence")
    | strings("note")
)

LC_INDEX = TableType(
    name="lc_index",
    functions=("lc_index",),
    columns=lambda: LC_INDEX_COLUMNS,
    recognize=has_columns(*LC_INDEX_COLUMNS, adjacent=3),
    ties=ROW_TIES,
    drawing=INTERVAL_CHART,
    dots=DotStyle(title="LC index", axis="LC index", marks=("lc_index",)),
)

DECISION_CURVE = floats(
    *("probability_threshold", "net_benefit", "treat_all", "treat_none"),
    *("standardized_net_benefit", "interventions_avoided"),
) | strings("note")

DECISION_CURVES = TableType(
    name="decision_curve",
    functions=("decision_curve",),
    columns=lambda: DECISION_CURVE,
    recognize=has_columns(*DECISION_CURVE, adjacent=3),
    ties=ROW_TIES,
    drawing="rocframe.charts.decision_chart:decision_curve_chart",
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
    functions=("concavities",),
    columns=concavity_columns,
    recognize=has_columns(*CONCAVITY, adjacent=4, kind="roc"),
    ties=ROW_TIES,
    chart_hint="Draw the curves with their convex hulls: curves.roc.chart(hull=True).",
)

GAINS = floats("gain_realised", "gain_chosen", "optimism", "auc_repaired", "auc")

REPAIRED_AUC = TableType(
    name="repaired_auc",
    functions=("repaired_auc",),
    columns=lambda: GAINS | integers("n_concavities") | strings("note"),
    recognize=has_columns(*GAINS, "n_concavities"),
    ties=HALF_TIES,
    drawing=INTERVAL_CHART,
    dots=DotStyle(
        title="AUC after and before the repair", axis="AUC", marks=("auc_repaired", "auc")
    ),
)


def decision_interval_columns(kind: str, model: pl.DataType) -> Schema:
    """Return the columns of `decision_intervals`.

    `model` is the dtype of the column `model`. If it is Null, the result has no such column.
    """
    x, y, reference = INTERVAL_NAMES[kind]
    return (
        ({} if model == pl.Null else {"model": model})
        | floats(x, y, "lower", "upper", "difference", "difference_lower", "difference_upper")
        | floats("se", "difference_se", reference)
        | integers("n_pos", "n_neg")
        | floats("ci_level")
        | strings("ci_method", "note")
    )


# For each kind of curve: the columns of its two axes, and the column with the y value of treating
# all cases as positive ("decision") or of the better trivial decision ("cost").
INTERVAL_NAMES = {
    "decision": ("probability_threshold", "net_benefit", "treat_all"),
    "cost": ("probability_cost", "expected_cost", "trivial_cost"),
}

DECISION_INTERVALS, COST_INTERVALS = (
    TableType(
        name=f"{kind}_intervals",
        functions=("decision_intervals",),
        columns=lambda model, kind=kind: decision_interval_columns(kind, model),
        recognize=has_columns(*decision_interval_columns(kind, pl.Null()), adjacent=7),
        ties=ROW_TIES,
        drawing="rocframe.charts.decision_chart:decision_intervals_chart",
        chart_options=(*CHANNELS, *DOMAINS, "y"),
    )
    for kind in INTERVAL_NAMES
)


def gate_columns(model: pl.DataType, metric: str) -> Schema:
    """Return the columns of a release gate.

    `model` is the dtype of the column of models, and `metric` is the name of the tested metric.
    """
    return (
        dict.fromkeys(("model_old", "model_new"), model)
        | {"passed": pl.Boolean()}
        | strings("verdict")
        | floats("deterioration", "limit", "margin", "p_adjusted", "p_value", "se")
        | floats(f"{metric}_old", f"{metric}_new")
        | integers("n_paired")
        | floats("ci_level")
        | strings("test", "note")
    )


GATE = TableType(
    name="gate",
    functions=("gate",),
    columns=gate_columns,
    recognize=has_columns(
        "model_old", "model_new", "passed", "verdict", "deterioration", adjacent=5
    ),
    ties=HALF_TIES,
    chart_hint="Draw the differences with .roc.compare(label, score, …).roc.chart().",
)
