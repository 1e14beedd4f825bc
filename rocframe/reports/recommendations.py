"""State the recommended thresholds of a report, their effect, and which model is the best."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.frames import column, find_keys, number_keys, select_keys
from rocframe.rates import CONFUSION, RATES, Settings
from rocframe.reports.tables import MAX_TABLE_ROWS, mean_area_columns, size_columns
from rocframe.reports.text_columns import (
    DECIMALS,
    NO_VALUE,
    TextColumn,
    TextTable,
    column_decimals,
    count_column,
    estimate_columns,
    group_columns,
    interval_columns,
    name_columns,
    note_columns,
    note_in_words,
    number_column,
    omitted_text,
)
from rocframe.schemas.table_type import MODEL, THRESHOLD
from rocframe.text import (
    format_count,
    format_name,
    format_number,
    format_p_value,
    format_percent,
    format_threshold,
    format_values,
    join_names,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.reports.evaluation import ReportOptions
    from rocframe.reports.tables import ReportTables

UNKNOWN = pl.lit(None, pl.Float64)
OUTCOMES = {
    "tp": "true positive",
    "fp": "false positive",
    "fn": "false negative",
    "tn": "true negative",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recommendations:
    """The recommended threshold of each group in words.

    `sentences` name the best models. `points` are the recommended rows of the drawn curves, or None
    if they are not on the curves.
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
    """Return the recommended thresholds in words, of pooled rows; None if there are none."""
    decisions = tables.decisions
    if decisions is None:
        return None
    points, values, costs = decisions.points, decisions.values, options.costs
    keys = sorted(group_columns(points, "rule"), key=lambda key: key == MODEL)  # models at the end
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
    is_defined = ranks["area"].is_not_null()
    shown = points.with_columns(
        pl.when(is_defined).then(pl.col(THRESHOLD, *CONFUSION)),
        pl.when(~is_defined).then("note").alias("note"),
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
    sentences = []
    if is_ranked:
        is_tested = ranks.filter(pl.col("rank") > 0)["significant"].count()
        sentences = ranking_sentences(
            ranks,
            best_value,
            "No threshold is recommended",
            tested,
            decimals=decimals,
            untested=None if is_tested else _reason_untested(options),
        )
    columns = _threshold_columns(
        shown,
        ranks,
        effects,
        options,
        decimals=decimals,
        is_ranked=is_ranked,
        has_one_cost=has_one_cost,
    )
    return Recommendations(
        introduction=introduction,
        sentences=sentences,
        table=TextTable(
            caption=f"Thresholds with the {best_value}",
            columns=[*name_columns(points, keys, colors), *columns],
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
    verdicts = map(verdict, *ranks.select("area", "rank", "significant"))
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
            TextColumn(title="verdict", cells=[*verdicts], kind="word"),
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
    """Return metrics at each recommended threshold; `never` and `always` are costs without it."""
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


COMMON_ROWS = (
    "Models are ranked and compared by the AUC of the rows that all models{} scored. {} left out. "
    "The AUC with its interval uses all rows of a model."
)


# Titles of the areas that can rank the models; the others are means.
AREA_TITLES = {"auc": "AUC", "pooled_auc": "pooled AUC", "common_auc": "AUC of the common rows"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRanking:
    """The areas of a report, in which the models of each group are ranked.

    `ranks` has a row for each row of `areas`, in the order of the table, and `name` is the name of
    the area that ranks the models. With fewer than two models, nothing is ranked.
    """

    areas: pl.DataFrame
    ranks: pl.DataFrame
    name: str
    sentences: list[str]
    table: TextTable
    remarks: list[str]
    is_tested: bool


def model_ranking(
    tables: ReportTables,
    options: ReportOptions,
    *,
    colors: Mapping[str, int] | None = None,
    file: str | None = None,
) -> ModelRanking:
    """Return the areas, and which model is best, by how much, and whether that is significant.

    Models are ranked by the AUC or the mean AUC; by the pooled AUC if averages go with a comparison
    of pooled rows; or by that of the rows that all models scored, if these differ.
    """
    areas = tables.areas if tables.mean_areas is None else tables.mean_areas
    first = "auc" if tables.mean_areas is None else "mean_auc"
    keys = group_columns(areas, first)
    is_ranked = MODEL in keys and areas.get_column(MODEL).n_unique() > 1
    groups, group = number_keys(areas, [key for key in keys if not is_ranked or key != MODEL])
    comparison = tables.comparison if is_ranked else None
    if comparison is not None and group_columns(comparison, "model_a") != groups.columns:
        comparison = None  # it compares the models of other groups
    ranked_by = first if tables.mean_areas is None or comparison is None else "pooled_auc"
    common = None if comparison is None else tables.common_comparison
    if common is not None:
        comparison = common
        areas, ranked_by = _with_common_areas(areas, ranked_by, common), "common_auc"
    ranks = _ranked_models(areas, pl.Series("group", group), ranked_by)
    ranks = _with_differences(ranks, comparison, groups, 1 - options.level)
    top = ranks.head(MAX_TABLE_ROWS)
    areas = areas[ranks.get_column("row")]
    top_areas = areas.head(MAX_TABLE_ROWS)
    over = options.averaged
    name = AREA_TITLES.get(ranked_by, f"mean AUC over {format_name(str(over))}")
    title, of = ("AUC", "") if tables.mean_areas is None else ("mean AUC", " of the mean AUC")
    main = estimate_columns(title, first, top_areas, areas, of, decimals=DECIMALS)
    explanations = (
        size_columns(top_areas, areas)
        if tables.mean_areas is None
        else mean_area_columns(top_areas, tables.areas, str(over))
    )
    columns = name_columns(top_areas, [*groups.columns, MODEL] if is_ranked else keys, colors)
    verdicts = _verdict_columns(top, comparison) if is_ranked else []
    if ranked_by == first:
        columns += [*main, *verdicts]
    else:
        area = number_column(name, top["area"], decimals=DECIMALS)
        columns += [area, *verdicts, *main]
    if tables.mean_areas is not None and ranked_by != "pooled_auc":
        columns.append(number_column("pooled AUC", top_areas["pooled_auc"], decimals=DECIMALS))
    columns += explanations
    return ModelRanking(
        areas=areas,
        ranks=ranks,
        name=name,
        sentences=[]
        if not is_ranked
        else ranking_sentences(
            ranks,
            f"highest {name}",
            "The AUC of all models is undefined",
            f"adjusted p-value below {1 - options.level:.4g}",
            untested=None if comparison is not None else _untested_text(tables, options),
        ),
        table=TextTable(
            caption="Area under the ROC curve"
            if over is None
            else f"Areas under the ROC curves, pooled and as means over {format_name(over)}",
            columns=columns,
            omitted=omitted_text(ranks.height - top.height, "row", file),
        ),
        remarks=[] if comparison is None else _remarks(ranks, tables.n_not_common),
        is_tested=comparison is not None,
    )


def _verdict_columns(top: pl.DataFrame, comparison: pl.DataFrame | None) -> list[TextColumn]:
    """Return how far each model is below the best one, with the interval and the verdict."""
    below = top.select(pl.when(pl.col("rank") > 0).then("difference")).to_series()
    columns = [number_column("below the best", below, decimals=DECIMALS)]
    if comparison is not None:
        columns += interval_columns(top, comparison, " of the difference", decimals=DECIMALS)
    verdicts = map(verdict, *top.select("area", "rank", "significant", "p"))
    return [*columns, TextColumn(title="verdict", cells=[*verdicts], kind="word")]


def _with_common_areas(
    areas: pl.DataFrame, ranked_by: str, comparison: pl.DataFrame
) -> pl.DataFrame:
    """Return `areas` with `common_auc`, which is `ranked_by` for models without a comparison."""
    keys = group_columns(comparison, "model_a")
    pairs = [
        comparison.select(
            *map(column, keys),
            pl.col(f"model_{x}").alias(MODEL),
            pl.col(f"auc_{x}").alias("common_auc"),
        )
        for x in "ab"
    ]
    of_models = pl.concat(pairs).unique([*keys, MODEL], maintain_order=True)
    row = find_keys(select_keys(areas, [*keys, MODEL]), select_keys(of_models, [*keys, MODEL]))
    is_alone = pl.Series(row).is_null()
    common = of_models.get_column("common_auc").gather(row)
    return areas.with_columns(common_auc=pl.when(is_alone).then(ranked_by).otherwise(common))


def _ranked_models(areas: pl.DataFrame, group: pl.Series, ranked_by: str) -> pl.DataFrame:
    """Return the models of each group, sorted by the column `ranked_by` of `areas`."""
    ranks = areas.select(
        pl.int_range(pl.len()).alias("row"),
        group,
        (column(MODEL) if MODEL in areas.columns else pl.lit(None)).alias("model"),
        pl.col(ranked_by).alias("area"),
    ).sort("group", "area", "row", descending=[False, True, False], nulls_last=True)
    return ranks.with_columns(
        pl.int_range(pl.len()).over("group").alias("rank"),  # the best model has the rank 0
        pl.col("model").first().over("group").alias("best"),
        (pl.col("area").first().over("group") - pl.col("area")).alias("difference"),
    )


def _with_differences(
    ranks: pl.DataFrame, comparison: pl.DataFrame | None, groups: pl.DataFrame, alpha: float
) -> pl.DataFrame:
    """Return `ranks` with the limits and p-values of the differences from the best model.

    They are those of the comparison, if there is one; `significant` if the p-value is below
    `alpha`.
    """
    significant = (pl.col("p") < alpha).alias("significant")
    if comparison is None:
        return ranks.with_columns(lower=UNKNOWN, upper=UNKNOWN, p=UNKNOWN).with_columns(significant)
    limits = ("difference", "lower", "upper")
    pairs = comparison.select(
        find_keys(select_keys(comparison, groups.columns), groups).alias("group"),
        pl.col("model_a").alias("best"),
        pl.col("model_b").alias("model"),
        *limits,
        pl.col("p_adjusted").alias("p"),
    )
    negative = {"lower": -pl.col("upper"), "upper": -pl.col("lower")}
    swapped = pairs.with_columns(-pl.col("difference"), best="model", model="best", **negative)
    both, on = pl.concat([pairs, swapped]), ["group", "best", "model"]
    ranks = ranks.drop("difference")
    ranks = ranks.join(both, on=on, how="left", nulls_equal=True, maintain_order="left")
    return ranks.with_columns(significant)


def verdict(
    value: float | None, rank: int, significant: bool | None, p_value: float | None = None
) -> str:
    """Return how a model compares with the best model of its group, in words."""
    if value is None:
        return "undefined"
    if rank == 0:
        return "best"
    if significant is None:
        return "not tested"
    words = "worse" if significant else "not significant"
    text = format_p_value(p_value, DECIMALS)
    if text is None:
        return words
    return f"{words}, p {text}" if text.startswith("<") else f"{words}, p = {text}"


def _untested_text(tables: ReportTables, options: ReportOptions) -> str:
    """Return a sentence that states why the differences from the best model are not tested."""
    if tables.comparison is not None:
        over = format_name(str(options.averaged))
        rows = f"each {over}" if options.averages_classes else f"rows pooled over {over}"
        other = f"The section “Comparison of models” contains tests of {rows}."
        return f"The differences between these areas are not tested. {other}"
    if len(options.scores) > 1:
        reason = "The section “What was left out” states the reason."
        return f"The differences are not tested. {reason}"
    return "The differences are not tested, because the rows are not paired."


def ranking_sentences(
    ranks: pl.DataFrame,
    best_value: str,
    undefined: str,
    criterion: str,
    *,
    decimals: int = DECIMALS,
    untested: str | None,
) -> list[str]:
    """Return sentences about the best models of all groups and the tests of the differences.

    `best_value` ranks the models, such as "highest AUC"; `undefined` states that it is undefined,
    `criterion` when a difference is significant, and `untested` that differences are not tested.
    """
    best = ranks.filter(pl.col("rank") == 0, pl.col("area").is_not_null())
    best = best.with_columns(pl.Series("name", format_values(best["model"]), pl.String))
    n_groups = ranks["group"].n_unique()
    sentences = []
    if best.height == 1 and n_groups == 1:
        area = format_number(best["area"][0], decimals)
        sentences.append(f"{best_value[0].upper()}{best_value[1:]}: {best['name'][0]}, {area}.")
    elif best.height:
        counts = best.group_by("model", maintain_order=True).agg(pl.len(), pl.col("name").first())
        counts = counts.sort("len", descending=True).head(5)
        texts = [f"{name} in {n:,}" for name, n in zip(counts["name"], counts["len"], strict=True)]
        groups = format_count(best.height, "group")
        sentences.append(f"Models with the {best_value} in {groups}: {join_names(texts)}.")
    if best.height < n_groups:
        where = "" if n_groups == 1 else f" in {format_count(n_groups - best.height, 'group')}"
        sentences.append(f"{undefined}{where}.")
    if untested is not None:
        return [*sentences, untested]
    others = ranks.filter(pl.col("rank") > 0, pl.col("significant").is_not_null())
    n_significant = others["significant"].sum()
    best_model = "best model" if n_groups == 1 else "best model of a group"
    if others.height == 1:
        other = "other model" if n_groups == 1 else best_model
        negation = "" if n_significant else "not "
        sentences.append(f"The difference from the {other} is {negation}significant ({criterion}).")
    elif others.height:
        number = f"{n_significant:,}" if n_significant else "None"
        verb = "is" if n_significant < 2 else "are"
        sentences.append(
            f"{number} of the {others.height:,} differences from the {best_model} {verb} "
            f"significant ({criterion})."
        )
    return sentences


def _remarks(ranks: pl.DataFrame, n_left_out: int) -> list[str]:
    """Return remarks about the adjustment of the p-values and about rows that are left out."""
    one_group = ranks["group"].n_unique() == 1
    pairs = f"all pairs of models{'' if one_group else ' of the same group'}"
    tests = (
        f"The p-values are adjusted for the comparison of {pairs} (Holm's method). The intervals "
        "are not adjusted."
    )
    if (ranks["rank"] > 1).any():
        tests += " The section “Comparison of models” contains the differences of all pairs."
    if not n_left_out:
        return [tests]
    n_rows = f"{format_count(n_left_out, 'row')} {'is' if n_left_out == 1 else 'are'}"
    return [tests, COMMON_ROWS.format("" if one_group else " of a group", n_rows)]
