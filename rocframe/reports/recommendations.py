"""State the recommended thresholds of a report, their effect, and which model is the best."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.rates import CONFUSION, RATES, Settings
from rocframe.reports.model_ranks import ranking_sentences, verdict
from rocframe.reports.report_tables import group_columns
from rocframe.reports.text_tables import (
    DECIMALS,
    NO_VALUE,
    TextColumn,
    TextTable,
    column_decimals,
    count_column,
    estimate_columns,
    interval_columns,
    name_columns,
    note_columns,
    note_in_words,
    number_column,
    omitted_text,
)
from rocframe.schemas.columns import MODEL, THRESHOLD
from rocframe.text import (
    format_name,
    format_number,
    format_percent,
    format_threshold,
    format_values,
    join_names,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.reports.report import ReportOptions
    from rocframe.reports.report_tables import ReportTables


OUTCOMES = {
    "tp": "true positive",
    "fp": "false positive",
    "fn": "false negative",
    "tn": "true negative",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendations:
    """The recommended threshold of each group in words.

    `introduction` states the rule, and `sentences` name the best models. `points` are the rows of
    the drawn curves at the recommended thresholds, or None if the points are not on the curves.
    """

    introduction: str
    sentences: list[str]
    table: TextTable
    key_number: tuple[str, str, str]
    remarks: list[str]
    points: pl.DataFrame | None


def recommendations(
    tables: ReportTables, options: ReportOptions, colors: Mapping[str, int] | None = None
) -> Recommendations | None:
    """Return the recommended thresholds in words; None if the report recommends none.

    If curves are averaged over a group column such as `fold`, the thresholds are those of the
    pooled rows. `colors` are those of the names of the models.
    """
    decisions = tables.decisions
    if decisions is None:
        return None
    points, values, costs = decisions.points, decisions.values, options.costs
    keys = group_columns(points, "rule")
    is_ranked = MODEL in keys and points.get_column(MODEL).n_unique() > 1
    worse = pl.col("difference_upper") < 0 if costs is None else pl.col("difference_lower") > 0
    rank = pl.int_range(pl.len()).over("group") if is_ranked else pl.lit(0)
    models = points.get_column(MODEL) if is_ranked else pl.Series([None] * points.height)
    ranks = values.rename({"value": "area"}).with_columns(
        rank.alias("rank"),
        models.alias("model"),
        worse.alias("significant"),
        (pl.col("area") - pl.col("area").first().over("group")).abs().alias("difference"),
    )
    # Without a recommendation, the other numbers are not shown either.
    is_undefined = ranks["area"].is_null()
    shown = points.with_columns(
        *(pl.when(~is_undefined).then(name).alias(name) for name in (THRESHOLD, *CONFUSION)),
        pl.when(is_undefined).then("note").alias("note"),
    )
    effects = _effects(shown, Settings(costs=costs, prevalence=options.prevalence))
    trivial = [effects[name].drop_nulls().unique().to_list() for name in ("never", "always")]
    has_one_cost = all(len(one) == 1 for one in trivial)
    name = "recall" if costs is None else "expected cost per row"
    best_value = f"{'highest' if costs is None else 'lowest'} {name}"
    tested = f"joint {format_percent(options.level)} interval does not contain 0"
    decimals = DECIMALS if costs is None else column_decimals(values["value"])
    introduction = _introduction(options)
    if has_one_cost:
        never, always = (format_number(one[0], decimals) for one in trivial)
        introduction += f" Without alerts, the cost is {never}; if all rows are alerts, {always}."
    remarks = []
    if options.averaged is not None:
        over = format_name(options.averaged)
        remarks.append(f"The rows are pooled over {over}: one threshold for all values of {over}.")
    if tables.common_comparison is not None:
        remarks.append("The rows are those that all models of a group scored.")
    remarks.append(
        "Threshold and numbers are computed from the same rows. The numbers are therefore "
        "optimistic: expect worse numbers on other data. The intervals hold for the threshold as "
        "it is, at the prevalence of the table, and those of differences hold together for all "
        "models of a group."
    )
    thresholds = points.get_column(THRESHOLD).drop_nulls()
    if any(float(f"{threshold:.6g}") != threshold for threshold in thresholds):
        remarks.append(
            "Thresholds are rounded to 6 significant digits; the function operating_point returns "
            "all digits."
        )
    return Recommendations(
        introduction=introduction,
        sentences=[]
        if not is_ranked
        else ranking_sentences(
            ranks,
            best_value,
            "No threshold is recommended",
            tested,
            decimals=decimals,
            untested=None
            if ranks.filter(pl.col("rank") > 0)["significant"].count()
            else _reason_untested(options),
        ),
        table=TextTable(
            caption=f"Thresholds with the {best_value}",
            columns=[
                *name_columns(
                    points,
                    [*(key for key in keys if key != MODEL), *([MODEL] if MODEL in keys else [])],
                    colors,
                ),
                *_threshold_columns(
                    shown,
                    ranks,
                    effects,
                    options,
                    decimals=decimals,
                    is_ranked=is_ranked,
                    has_one_cost=has_one_cost,
                ),
            ],
            omitted=omitted_text(decisions.n_omitted, "threshold"),
        ),
        key_number=_key_number(points, ranks, f"{best_value[0].upper()}{best_value[1:]}", decimals),
        remarks=remarks,
        points=points if decisions.on_curves else None,
    )


def _threshold_columns(
    points: pl.DataFrame,
    ranks: pl.DataFrame,
    effects: pl.DataFrame,
    options: ReportOptions,
    *,
    decimals: int,
    is_ranked: bool,
    has_one_cost: bool,
) -> list[TextColumn]:
    """Return the columns of the table right of the names."""
    costs = options.costs
    has_limits = ranks["lower"].count() > 0
    level = pl.lit(options.level if has_limits else None, pl.Float64).alias("ci_level")
    single = ranks.with_columns(level)
    joint = ranks.select(
        level, *(pl.col(f"difference_{one}").alias(one) for one in ("lower", "upper"))
    )
    difference = ranks.select(pl.when(pl.col("rank") > 0).then("difference"))
    verdicts = zip(ranks["area"], ranks["rank"], ranks["significant"], strict=True)
    columns = [
        TextColumn(title="threshold", cells=[_point_text(row) for row in points.to_dicts()]),
        *estimate_columns(
            "recall" if costs is None else "cost", "area", single, single, decimals=decimals
        ),
    ]
    if is_ranked:
        columns += [
            number_column("from the best", difference.to_series(), decimals=decimals),
            *(
                interval_columns(joint, joint, " of the difference", decimals=decimals)
                if joint["lower"].count()
                else []
            ),
            TextColumn(title="verdict", cells=[verdict(*row) for row in verdicts], kind="word"),
        ]
    columns += [
        count_column("alerts", effects["alerts"]),
        *([] if costs is None else [number_column("recall", effects["tpr"], decimals=DECIMALS)]),
        number_column("precision", effects["precision"], decimals=DECIMALS),
        count_column("positives", effects["n_pos"]),
    ]
    if costs is not None and not has_one_cost:
        columns += [
            number_column("cost without alerts", effects["never"], decimals=decimals),
            number_column("cost if all are alerts", effects["always"], decimals=decimals),
        ]
    return [*columns, *note_columns(points, points, note_in_words)]


def _key_number(
    points: pl.DataFrame, ranks: pl.DataFrame, title: str, decimals: int
) -> tuple[str, str, str]:
    """Return the best value of all groups, with its title and an explanation."""
    best = ranks.with_row_index().sort(
        "area", descending=title.startswith("Highest"), nulls_last=True
    )
    if not best["area"].count():
        return title, NO_VALUE, ""
    point = points[best["index"][:1]]
    names = [format_values(point.get_column(key))[0] for key in group_columns(point, "rule")]
    at = _point_text(point.row(0, named=True))
    at = at if at == "no alerts" else f"score ≥ {at}"
    return title, format_number(best["area"][0], decimals) or NO_VALUE, ", ".join([*names, at])


def _point_text(point: Mapping[str, Any]) -> str:
    # A score can be infinite, but only the first row of a curve has no true positives.
    if point[THRESHOLD] == inf and not point["tp"]:
        return "no alerts"
    return format_threshold(point[THRESHOLD]) or NO_VALUE


def _introduction(options: ReportOptions) -> str:
    """Return the costs, the rule and the constraints in words."""
    limits = [_limits_text(*item) for item in (options.subject_to or {}).items()]
    constraints = f" subject to {join_names(limits)} in each group" if limits else ""
    if options.costs is None:
        return f"These thresholds have the highest recall{constraints}."
    at = (
        ""
        if options.prevalence is None
        else f", at a prevalence of {exact_text(options.prevalence)}"
    )
    return (
        f"Costs: {costs_text(options.costs)}. These thresholds have the lowest expected cost per "
        f"row{constraints}{at}."
    )


def _limits_text(name: str, limits: Sequence[float | None]) -> str:
    """Return a constraint, such as "alerts ≤ 100"."""
    low, high = limits
    lower = "" if low is None or (low == 0 and high is not None) else f"{exact_text(low)} ≤ "
    if high is None:
        return f"{name} ≥ {exact_text(low or 0)}"
    return f"{lower}{name} ≤ {exact_text(high)}"


def _reason_untested(options: ReportOptions) -> str:
    reason = "because the rows are not paired"
    if options.averages_classes:
        reason = "because all classes have the same instances"
    elif options.weight is not None:
        reason = "because the rows have weights"
    return f"The differences are not tested, {reason}."


def costs_text(costs: Mapping[str, float]) -> str:
    """Return the costs in words, such as "1 per false positive and 5 per false negative"."""
    return join_names(
        [f"{exact_text(costs[name])} per {OUTCOMES[name]}" for name in CONFUSION if name in costs]
    )


def _effects(points: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Return the metrics at the recommended threshold of each group.

    `never` and `always` are the expected costs of predicting no row or every row positive. Numbers
    are null if no threshold is recommended.
    """
    counts = points.select(THRESHOLD, pl.col(CONFUSION))
    pos, neg = pl.col("tp") + pl.col("fn"), pl.col("fp") + pl.col("tn")
    none = pl.lit(0)
    effects = counts.with_columns(
        *(RATES[name].expr(settings) for name in ("tpr", "precision")),
        alerts=pl.col("tp") + pl.col("fp"),
        n_pos=pos,
    )
    if settings.costs is None:
        return effects.with_columns(never=None, always=None)
    cost = RATES["expected_cost"].expr(settings)
    return effects.with_columns(
        counts.with_columns(tp=none, fp=none, fn=pos, tn=neg).select(never=cost).to_series(),
        counts.with_columns(tp=pos, fp=neg, fn=none, tn=none).select(always=cost).to_series(),
    )


def exact_text(value: float) -> str:
    """Return a number of the user as text with all its digits."""
    return f"{float(value):,}".removesuffix(".0").replace("-", "−")
