"""Rank the models of a report by their AUC, and state which differences are significant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rocframe.frames import column, find_keys, number_keys, select_keys
from rocframe.reports.report_tables import group_columns
from rocframe.reports.text_tables import (
    DECIMALS,
    MAX_TABLE_ROWS,
    TextColumn,
    TextTable,
    estimate_columns,
    interval_columns,
    mean_area_columns,
    name_columns,
    number_column,
    omitted_text,
    size_columns,
)
from rocframe.schemas.columns import MODEL
from rocframe.text import (
    format_count,
    format_name,
    format_number,
    format_p_value,
    format_values,
    join_names,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocframe.reports.report import ReportOptions
    from rocframe.reports.report_tables import ReportTables


COMMON_ROWS = (
    "Models are ranked and compared by the AUC of the rows that all models{} scored. {} left out. "
    "The AUC with its interval uses all rows of a model."
)


# Titles of areas that rank the models and are not the areas of the report.
OTHER_AREAS = {"pooled_auc": "pooled AUC", "common_auc": "AUC of the common rows"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRanking:
    """The areas of a report, in which the models of each group are ranked.

    `ranks` has a row for each row of `areas`, in the order of the table, and `name` is the name of
    the area that ranks the models. If the report has fewer than two models, nothing is ranked:
    `sentences` and `remarks` are empty. `is_tested` is true if the table contains the tested
    differences from the best models.
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

    Models are ranked by the AUC or, if curves are averaged, by the mean AUC. If the report averages
    curves and compares pooled rows of the models, they are ranked by the pooled AUC. If the models
    did not score the same rows, they are ranked by the AUC of the rows that all of them scored.
    `colors` are those of the names of the models. `file` is the name of a file with all areas.
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
    name = _ranking(ranked_by, options.averaged)
    over = options.averaged
    title, of = ("AUC", "") if tables.mean_areas is None else ("mean AUC", " of the mean AUC")
    main = estimate_columns(title, first, top_areas, areas, of, decimals=DECIMALS)
    explanations = (
        size_columns(top_areas, areas)
        if tables.mean_areas is None
        else mean_area_columns(top_areas, tables.areas, str(over))
    )
    columns = [
        *name_columns(top_areas, keys if not is_ranked else [*groups.columns, MODEL], colors),
        *(
            [number_column(OTHER_AREAS[ranked_by], top["area"], decimals=DECIMALS)]
            if ranked_by != first
            else main
        ),
        *(_verdict_columns(top, comparison) if is_ranked else []),
        *(main if ranked_by != first else []),
        *(
            [number_column("pooled AUC", top_areas["pooled_auc"], decimals=DECIMALS)]
            if tables.mean_areas is not None and ranked_by != "pooled_auc"
            else []
        ),
        *explanations,
    ]
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
    of = " of the difference"
    intervals = (
        [] if comparison is None else interval_columns(top, comparison, of, decimals=DECIMALS)
    )
    verdicts = [
        verdict(*row)
        for row in zip(top["area"], top["rank"], top["significant"], top["p"], strict=True)
    ]
    return [
        number_column("below the best", below, decimals=DECIMALS),
        *intervals,
        TextColumn(title="verdict", cells=verdicts, kind="word"),
    ]


def _with_common_areas(
    areas: pl.DataFrame, ranked_by: str, comparison: pl.DataFrame
) -> pl.DataFrame:
    """Return `areas` with the column `common_auc`: the areas of a comparison of models.

    For models that are alone in their group, it is the column `ranked_by`.
    """
    keys = group_columns(comparison, "model_a")
    pairs = [
        comparison.select(*map(column, keys), pl.col(f"model_{x}").alias(MODEL), f"auc_{x}")
        for x in ("a", "b")
    ]
    pairs = [pair.rename({pair.columns[-1]: "common_auc"}) for pair in pairs]
    of_models = pl.concat(pairs).unique([*keys, MODEL], maintain_order=True)
    row = find_keys(select_keys(areas, [*keys, MODEL]), select_keys(of_models, [*keys, MODEL]))
    is_alone = pl.Series(row).is_null()
    common = of_models.get_column("common_auc").gather(row)
    return areas.with_columns(
        pl.when(is_alone).then(pl.col(ranked_by)).otherwise(common).alias("common_auc")
    )


def _ranked_models(areas: pl.DataFrame, group: pl.Series, ranked_by: str) -> pl.DataFrame:
    """Return the models of each group, sorted by the column `ranked_by` of `areas`.

    `group` is the number of the group of each row of `areas`. The columns are the row in `areas`,
    the number of the group, the model, its area and rank, the best model of the group, and the
    difference of the areas of the best model and this model.
    """
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

    The differences are those of the comparison, if there is one. A difference is `significant` if
    its p-value is below `alpha`. `groups` has a row for each group number in `ranks`.
    """
    significant = (pl.col("p") < alpha).alias("significant")
    if comparison is None:
        names = ["lower", "upper", "p"]
        unknown = (pl.lit(None, pl.Float64).alias(name) for name in names)
        return ranks.with_columns(*unknown).with_columns(significant)
    limits = ("difference", "lower", "upper")
    pairs = comparison.select(
        find_keys(select_keys(comparison, groups.columns), groups).alias("group"),
        pl.col("model_a").alias("best"),
        pl.col("model_b").alias("model"),
        *limits,
        pl.col("p_adjusted").alias("p"),
    )
    swapped = pairs.select(
        "group",
        pl.col("model").alias("best"),
        pl.col("best").alias("model"),
        -pl.col("difference"),
        (-pl.col("upper")).alias("lower"),
        (-pl.col("lower")).alias("upper"),
        "p",
    )
    return (
        ranks.drop("difference")
        .join(
            pl.concat([pairs, swapped]),
            on=["group", "best", "model"],
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        .with_columns(significant)
    )


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


def _ranking(ranked_by: str, over: str | None) -> str:
    """Return the name of the area that ranks the models."""
    if ranked_by == "common_auc":
        return "AUC of the common rows"
    if ranked_by == "auc":
        return "AUC"
    return "pooled AUC" if ranked_by == "pooled_auc" else f"mean AUC over {format_name(str(over))}"


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
    """Return sentences about the best model and about the tests of the differences from it.

    `best_value` is the value that ranks the models, such as "highest AUC", `undefined` states that
    it is undefined, and `criterion` is the condition of a significant difference. `untested` is a
    sentence for differences that are not tested, or None. If there are several groups, the first
    sentence states in how many groups each model is the best, and the last one refers to all groups
    together.
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
