"""The types of tables of costs and benefits: cost curves, best models and decision curves."""

from __future__ import annotations

from rocframe.table_types import (
    CHANNELS,
    DOMAINS,
    INTERVAL_CHART,
    ROW_TIES,
    DotStyle,
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
