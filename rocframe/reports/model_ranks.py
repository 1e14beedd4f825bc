"""Rank the models of a report by their AUC, and state which differences are significant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rocframe.frames import column, find_keys, number_keys, select_keys
from rocframe.reports.report_tables import group_columns
from rocframe.reports.text_tables import (
    MAX_TABLE_ROWS,
    TextColumn,
    TextTable,
    interval_columns,
    name_columns,
    number_column,
    omitted_text,
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
    from rocframe.reports.report import ReportOptions
    from rocframe.reports.report_tables import ReportTables


COMMON_ROWS = (
    "Models are ranked and compared by the AUC of the rows that all models{} scored. {} left out. "
    "The AUC with its interval uses all rows of a model."
)


# Titles of areas that rank the models and are not the areas of the report.
OTHER_AREAS = {"pooled_auc": "AUC of all rows", "common_auc": "AUC of the common rows"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRanking:
    """The ranking of the models of a report: sentences, a table of the models, and remarks.

    `is_pooled` is true if the models are ranked by the AUC of all rows, although curves are
    averaged.
    """

    sentences: list[str]
    table: TextTable
    is_pooled: bool
    remarks: list[str]


def model_ranking(tables: ReportTables, options: ReportOptions) -> ModelRanking | None:
    """Return which model is best, by how much, and whether the differences are significant.

    The result is None if the report has fewer than two models. Models are ranked by the AUC or, if
    curves are averaged, by the mean AUC. If the report averages curves and compares pooled rows of
    the models, they are ranked by the AUC of all rows. If the models did not score the same rows,
    they are ranked by the AUC of the rows that all of them scored.
    """
    areas = tables.areas if tables.mean_areas is None else tables.mean_areas
    first = "auc" if tables.mean_areas is None else "mean_auc"
    keys = group_columns(areas, first)
    if MODEL not in keys or areas.get_column(MODEL).n_unique() < 2:
        return None
    groups, group = number_keys(areas, [key for key in keys if key != MODEL])
    comparison = tables.comparison
    if comparison is not None and group_columns(comparison, "model_a") != groups.columns:
        comparison = None  # it compares the models of other groups
    ranked_by = first if tables.mean_areas is None or comparison is None else "pooled_auc"
    common = None if comparison is None else tables.common_comparison
    if common is not None:
        comparison = common
        areas, ranked_by = _with_common_areas(areas, ranked_by, common), "common_auc"
    ranks = _ranked_models(areas, pl.Series("group", group), ranked_by)
    ranks = _with_differences(ranks, comparison, groups)
    top = ranks.head(MAX_TABLE_ROWS)
    top_areas = areas[top.get_column("row")]
    alpha = 1 - options.level
    is_pooled = ranked_by == "pooled_auc"
    title, of = ("AUC", "") if tables.mean_areas is None else ("mean AUC", " of the mean AUC")
    below = pl.when(pl.col("rank") > 0).then("difference")
    main = [number_column(title, top_areas[first]), *interval_columns(top_areas, areas, of)]
    columns = [
        *name_columns(top_areas, [*groups.columns, MODEL]),
        *([number_column(OTHER_AREAS[ranked_by], top["area"])] if ranked_by != first else main),
        number_column("below the best", top.select(below).to_series()),
        TextColumn(
            title="significant",
            cells=[
                _significance(*row, alpha)
                for row in zip(top["area"], top["rank"], top["p"], strict=True)
            ],
            kind="word",
        ),
        *([] if comparison is None else interval_columns(top, comparison, " of the difference")),
        *(main if ranked_by != first else []),
    ]
    return ModelRanking(
        sentences=_ranking_sentences(
            ranks,
            alpha,
            ranked_by=_ranking(ranked_by, options.averaged),
            untested=None if comparison is not None else _untested_text(tables, options),
        ),
        table=TextTable(columns=columns, omitted=omitted_text(ranks.height - top.height, "row")),
        is_pooled=is_pooled,
        remarks=[] if comparison is None else _remarks(ranks, tables.n_not_common),
    )


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
        column(MODEL).alias("model"),
        pl.col(ranked_by).alias("area"),
    ).sort("group", "area", "row", descending=[False, True, False], nulls_last=True)
    return ranks.with_columns(
        pl.int_range(pl.len()).over("group").alias("rank"),  # the best model has the rank 0
        pl.col("model").first().over("group").alias("best"),
        (pl.col("area").first().over("group") - pl.col("area")).alias("difference"),
    )


def _with_differences(
    ranks: pl.DataFrame, comparison: pl.DataFrame | None, groups: pl.DataFrame
) -> pl.DataFrame:
    """Return `ranks` with the limits and p-values of the differences from the best model.

    The differences are those of the comparison, if there is one. `groups` has a row for each group
    number in `ranks`.
    """
    if comparison is None:
        names = ["lower", "upper", "p"]
        unknown = (pl.lit(None, pl.Float64).alias(name) for name in names)
        return ranks.with_columns(*unknown)
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
    return ranks.drop("difference").join(
        pl.concat([pairs, swapped]),
        on=["group", "best", "model"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )


def _significance(area: float | None, rank: int, p_value: float | None, alpha: float) -> str:
    if area is None:
        return "AUC undefined"
    if rank == 0:
        return "best"
    if p_value is None:
        return "not tested"
    text = format_p_value(p_value) or ""
    p_text = f"p {text}" if text.startswith("<") else f"p = {text}"
    return f"{'yes' if p_value < alpha else 'no'}, {p_text}"


def _ranking(ranked_by: str, over: str | None) -> str:
    """Return the name of the area that ranks the models."""
    if ranked_by == "common_auc":
        return "AUC of the common rows"
    if ranked_by == "auc":
        return "AUC"
    name = format_name(str(over))
    if ranked_by == "mean_auc":
        return f"mean AUC over {name}"
    return f"AUC of all rows (pooled over {name})"


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


def _ranking_sentences(
    ranks: pl.DataFrame, alpha: float, *, ranked_by: str, untested: str | None
) -> list[str]:
    """Return sentences about the best model and about the tests of the differences from it.

    `ranked_by` is the name of the area that ranks the models, and `alpha` the significance level.
    `untested` is a sentence for differences that are not tested, or None. If there are several
    groups, the first sentence states in how many groups each model is the best, and the last one
    refers to all groups together.
    """
    best = ranks.filter(pl.col("rank") == 0, pl.col("area").is_not_null())
    best = best.with_columns(pl.Series("name", format_values(best["model"]), pl.String))
    n_groups = ranks["group"].n_unique()
    sentences = []
    if best.height == 1 and n_groups == 1:
        area = format_number(best["area"][0])
        sentences.append(f"Highest {ranked_by}: {best['name'][0]}, {area}.")
    elif best.height:
        counts = best.group_by("model", maintain_order=True).agg(pl.len(), pl.col("name").first())
        counts = counts.sort("len", descending=True).head(5)
        texts = [f"{name} in {n:,}" for name, n in zip(counts["name"], counts["len"], strict=True)]
        groups = format_count(best.height, "group")
        sentences.append(f"Models with the highest {ranked_by} in {groups}: {join_names(texts)}.")
    if best.height < n_groups:
        where = "" if n_groups == 1 else f" in {format_count(n_groups - best.height, 'group')}"
        sentences.append(f"The AUC of all models is undefined{where}.")
    if untested is not None:
        return [*sentences, untested]
    others = ranks.filter(pl.col("rank") > 0, pl.col("p").is_not_null())
    n_significant = others.filter(pl.col("p") < alpha).height
    criterion = f"(adjusted p-value below {alpha:.4g})"
    best_model = "best model" if n_groups == 1 else "best model of a group"
    if others.height == 1:
        other = "other model" if n_groups == 1 else best_model
        negation = "" if n_significant else "not "
        sentences.append(f"The difference from the {other} is {negation}significant {criterion}.")
    elif others.height:
        number = f"{n_significant:,}" if n_significant else "None"
        verb = "is" if n_significant < 2 else "are"
        sentences.append(
            f"{number} of the {others.height:,} differences from the {best_model} {verb} "
            f"significant {criterion}."
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
