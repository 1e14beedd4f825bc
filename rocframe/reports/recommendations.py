"""State the threshold of lowest expected cost of each model of a report, and its effect."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.decisions.operating_point import operating_point
from rocframe.rates import CONFUSION, RATES, Settings
from rocframe.reports.report_tables import group_columns
from rocframe.reports.text_tables import omitted_text
from rocframe.schemas.columns import THRESHOLD
from rocframe.text import format_name, format_threshold, format_values, join_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocframe.reports.report import ReportOptions
    from rocframe.reports.report_tables import ReportTables


MAX_RECOMMENDATIONS = 40
OUTCOMES = {
    "tp": "true positive",
    "fp": "false positive",
    "fn": "false negative",
    "tn": "true negative",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendations:
    """The recommended threshold of each group in words.

    `introduction` states the costs. `groups` contains the name and the recommendation of each
    group. `points` are the rows of the drawn curves at the recommended thresholds. If curves are
    averaged, `points` is None, because the recommended points are on pooled curves, which are not
    drawn.
    """

    introduction: str
    groups: list[tuple[str, str]]
    remarks: list[str]
    points: pl.DataFrame | None


def recommendations(tables: ReportTables, options: ReportOptions) -> Recommendations | None:
    """Return the thresholds of lowest expected cost in words; None if no costs are given.

    If curves are averaged over a group column such as `fold`, the thresholds are those of the
    pooled rows.
    """
    costs, prevalence = options.costs, options.prevalence
    if costs is None:
        return None
    curves = tables.curves if tables.pooled is None else tables.pooled
    points = operating_point(curves, "expected_cost", costs=costs, prevalence=prevalence)
    keys = group_columns(points, "rule")
    top = points.head(MAX_RECOMMENDATIONS)
    names = [""] * top.height
    if keys:
        columns = [format_values(top.get_column(key)) for key in keys]
        names = [", ".join(parts) for parts in zip(*columns, strict=True)]
    effects = _effects(top, Settings(costs=costs, prevalence=prevalence))
    texts = [_recommendation(row) for row in effects.to_dicts()]
    at_prevalence = "" if prevalence is None else f", at a prevalence of {exact_text(prevalence)}"
    remarks = []
    if tables.pooled is not None:
        over = format_name(str(options.averaged))
        remarks.append(f"The rows are pooled over {over}: one threshold for all values of {over}.")
    remarks.append(
        "Threshold and numbers are computed from the same rows. The numbers are therefore "
        "optimistic: expect a higher cost on other data."
    )
    thresholds = top.get_column(THRESHOLD).drop_nulls()
    if any(float(f"{threshold:.6g}") != threshold for threshold in thresholds):
        remarks.append(
            "Thresholds are rounded to 6 significant digits; the function operating_point returns "
            "all digits."
        )
    if points.height > top.height:
        remarks.append(omitted_text(points.height - top.height, "group"))
    return Recommendations(
        introduction=(
            f"Costs: {costs_text(costs)}. These thresholds have the lowest expected cost per row"
            f"{at_prevalence}."
        ),
        groups=list(zip(names, texts, strict=True)),
        remarks=remarks,
        points=points if tables.pooled is None else None,
    )


def costs_text(costs: Mapping[str, float]) -> str:
    """Return the costs in words, such as "1 per false positive and 5 per false negative"."""
    return join_names(
        [f"{exact_text(costs[name])} per {OUTCOMES[name]}" for name in CONFUSION if name in costs]
    )


def _effects(points: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Return the metrics at the recommended threshold of each group.

    `never` and `always` are the expected costs of predicting no row or every row positive.
    """
    counts = points.select(THRESHOLD, pl.col(CONFUSION).fill_null(0))
    pos, neg = pl.col("tp") + pl.col("fn"), pl.col("fp") + pl.col("tn")
    none, cost = pl.lit(0), RATES["expected_cost"].expr(settings)
    return counts.with_columns(
        *(RATES[name].expr(settings) for name in ("alert_rate", "tpr", "precision")),
        cost,
        counts.with_columns(tp=none, fp=none, fn=pos, tn=neg).select(never=cost).to_series(),
        counts.with_columns(tp=pos, fp=neg, fn=none, tn=none).select(always=cost).to_series(),
    )


def _recommendation(effect: Mapping[str, Any]) -> str:
    """Return the recommended threshold of a group and its effect in sentences."""
    threshold = effect[THRESHOLD]
    n_pos, n_neg = effect["tp"] + effect["fn"], effect["fp"] + effect["tn"]
    if not n_pos or not n_neg or threshold is None:
        lacking = [name for name, n in (("positives", n_pos), ("negatives", n_neg)) if not n] or [
            "rows"
        ]
        return f"no recommendation, because there are no {join_names(lacking, 'or')}."
    cost, never, always = map(
        _format_amount, (effect["expected_cost"], effect["never"], effect["always"])
    )
    costs = f"expected cost {cost} per row (never alerting: {never}, always alerting: {always})."
    # A score can be infinite, but only the first row of a curve has no true positives.
    if threshold == inf and not effect["tp"]:
        return f"never predict positive; no threshold has a lower cost. Effect: {costs}"
    precision = "undefined" if effect["precision"] is None else _format_rate(effect["precision"])
    return (
        f"predict positive if score ≥ {format_threshold(threshold)}. Of 100 rows, "
        f"{_format_amount(100 * effect['alert_rate'])} are alerts; recall "
        f"{_format_rate(effect['tpr'])}, precision {precision}; {costs}"
    )


def _format_rate(value: float) -> str:
    return f"{value:.2f}"


def exact_text(value: float) -> str:
    """Return a number of the user as text with all its digits."""
    return f"{float(value):,}".removesuffix(".0").replace("-", "−")


def _format_amount(value: float) -> str:
    """Return a number as text, with 3 significant digits or, from 999.5 on, as an integer."""
    text = f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"
    return text.replace("-", "−")
