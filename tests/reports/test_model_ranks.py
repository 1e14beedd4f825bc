"""The ranks of the models in a report, and the differences from the best model."""

from __future__ import annotations

import re

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.reports.evaluation import ReportOptions
from rocframe.reports.grouped_curves import areas_and_curves
from rocframe.reports.recommendations import model_ranking
from rocframe.reports.tables import report_tables
from rocframe.text import format_interval, format_number, format_values


def instances(n, models, seed=0):
    """Return `n` predictions of each model, whose noise differs."""
    rows = pl.select(id=pl.int_range(n)).with_columns(label=pl.col("id").hash(seed) % 2 == 0)
    return pl.concat(
        rows.with_columns(
            model=pl.lit(model),
            score=(pl.col("id").hash(seed + i) % 1000) / 1000 + 0.2 * pl.col("label"),
        )
        for i, model in enumerate(models, start=1)
    )


def evaluate(rows, **options):
    """Return the tables of a report, and the ranking of its models."""
    options = ReportOptions(**{"label": "label", "score": "score", "by": "model", **options})
    tables = report_tables(rows, options, *areas_and_curves(rows, options))
    return tables, model_ranking(tables, options)


def test_differences_are_those_of_the_group_if_another_group_has_only_one_model():
    segments = {"one": "a", "three": "abc", "two": "ab"}
    rows = pl.concat(
        instances(80, models, seed).with_columns(segment=pl.lit(segment))
        for seed, (segment, models) in enumerate(segments.items())
    )
    areas = rf.auc(rows, "label", "score", by=["segment", "model"], ci=None)
    pairs = rf.compare(rows, "label", "score", by="segment", id="id").to_dicts()
    expected = []
    for segment in segments:
        best, *others = areas.filter(segment=segment).sort("auc", descending=True).to_dicts()
        sizes = [f"{best['n_pos']}", f"{best['n_neg']}"]
        area = format_number(best["auc"], 3)
        expected.append((segment, best["model"], area, "–", "–", "best", *sizes))
        for row in others:
            models = {best["model"], row["model"]}
            (pair,) = (
                pair
                for pair in pairs
                if pair["segment"] == segment and {pair["model_a"], pair["model_b"]} == models
            )
            sign = 1 if pair["difference"] > 0 else -1
            limits = sorted([sign * pair["lower"], sign * pair["upper"]])
            verdict = "worse" if pair["p_adjusted"] < 0.05 else "not significant"
            expected.append(
                (
                    segment,
                    row["model"],
                    format_number(row["auc"], 3),
                    format_number(best["auc"] - row["auc"], 3),
                    format_interval(*limits, 3),
                    f"{verdict}, p = {pair['p_adjusted']:.3f}",
                    *sizes,
                )
            )
    _, result = evaluate(rows, by=["segment", "model"], id="id", ci=None)
    assert [column.title for column in result.table.columns] == [
        *("segment", "model", "AUC", "below the best", "95 % interval of the difference"),
        *("verdict", "positives", "negatives"),
    ]
    assert result.table.rows == expected


@pytest.mark.parametrize("layout", ["side by side", "below each other"])
def test_models_are_compared_within_each_class_because_classes_have_the_same_instances(layout):
    rows = pl.concat(
        instances(80, "ab", seed).with_columns(pl.lit(name).alias("class"))
        for seed, name in enumerate("xyz")
    )
    options = {"id": "id", "by": ["model", "class"]}
    if layout == "side by side":
        wide = rows.pivot("model", index=["id", "class", "label"], values="score")
        options = {"score": {"a": "a", "b": "b"}, "by": "class"}
    tables, result = evaluate(wide if layout == "side by side" else rows, over="class", **options)
    expected = rf.compare(rows, "label", "score", id="id", by="class")
    assert_frame_equal(tables.comparison, expected)
    means = rf.fold_auc(rows, "label", "score", over="class", by="model", ci=None)
    best, other = means.sort("mean_auc", descending=True).to_dicts()
    below = format_number(best["mean_auc"] - other["mean_auc"], 3)
    areas = [format_number(row["mean_auc"], 3) for row in (best, other)]
    assert [row[:4] for row in result.table.rows] == [
        (best["model"], areas[0], "–", "best"),
        (other["model"], areas[1], below, "not tested"),
    ]
    untested = (
        "The differences between these areas are not tested. The section “Comparison of models” "
        "contains tests of each class."
    )
    best_model = f"Highest mean AUC over class: {best['model']}, {areas[0]}."
    assert result.sentences == [best_model, untested]
    assert result.remarks == []


@pytest.mark.parametrize("nest", [pl.struct, pl.concat_list])
def test_the_names_of_models_may_have_a_nested_type(nest):
    rows = instances(80, "ab").with_columns(segment=pl.col("id") % 2)
    nested = rows.with_columns(model=nest("model"))
    texts = dict(zip(rows["model"], format_values(nested["model"]), strict=True))
    for keys in ("model", ["segment", "model"]):
        _, expected = evaluate(rows, by=keys, id="id")
        _, result = evaluate(nested, by=keys, id="id")
        sentence, *others = expected.sentences
        named = re.sub(r"\b[ab]\b(?=, | in )", lambda match: texts[match[0]], sentence)
        assert result.sentences == [named, *others]


@pytest.mark.parametrize("layout", ["side by side", "below each other"])
def test_models_are_ranked_and_tested_on_the_rows_that_all_models_of_the_group_scored(layout):
    """Without its easy rows, a model with the lower area of all rows has the higher one."""
    rows = pl.concat(
        instances(120, models, seed).with_columns(segment=pl.lit(segment))
        for seed, (segment, models) in enumerate({"x": "abc", "y": "abc", "z": "a"}.items())
    )
    is_easy = pl.col("label") == (pl.col("score") > 0.6)
    fewer = rows.filter(
        (pl.col("segment") != "x")
        | ((pl.col("model") != "a") | is_easy | (pl.col("id") % 3 > 0))
        & ((pl.col("model") != "b") | (pl.col("id") > 7))
    )
    n_models = pl.col("model").n_unique()
    common = fewer.filter(
        n_models.over("segment", "id") == n_models.over("segment"), pl.col("segment") != "z"
    )
    assert fewer.filter(pl.col("segment") != "z").height - common.height > 10
    areas = rf.auc(common, "label", "score", by=["segment", "model"], ci=None)
    all_areas = rf.auc(fewer, "label", "score", by=["segment", "model"], ci=None)
    pairs = rf.compare(common, "label", "score", by="segment", id="id").to_dicts()
    options = {"by": ["segment", "model"], "id": "id", "unmatched": "drop", "ci": None}
    if layout == "side by side":
        fewer = fewer.pivot("model", index=["segment", "id", "label"], values="score")
        fewer = fewer.filter(pl.col("segment") != "z")
        options |= {"score": dict(zip("abc", "abc", strict=True)), "by": "segment"}
        options |= {"missing": "drop", "id": None}
    tables, result = evaluate(fewer, **options)
    found = {row[:2]: row[2:] for row in result.table.rows}
    for segment in "xy":
        best, *others = areas.filter(segment=segment).sort("auc", descending=True).to_dicts()
        assert found[segment, best["model"]][1:4] == ("–", "–", "best")
        for row in others:
            models = {best["model"], row["model"]}
            (p_value,) = (
                pair["p_adjusted"]
                for pair in pairs
                if pair["segment"] == segment and {pair["model_a"], pair["model_b"]} == models
            )
            common_area, below, _, verdict, all_area, *_ = found[segment, row["model"]]
            assert common_area == format_number(row["auc"], 3)
            assert below == format_number(best["auc"] - row["auc"], 3)
            assert verdict.endswith(f"{p_value:.3f}") or p_value < 1e-3
            (area,) = all_areas.filter(segment=segment, model=row["model"])["auc"]
            assert all_area == format_number(area, 3)
    titles = [column.title for column in result.table.columns]
    assert titles[2:4] == ["AUC of the common rows", "below the best"]
    assert result.sentences[0].startswith("Models with the highest AUC of the common rows in ")
    assert result.remarks[1].startswith(
        "Models are ranked and compared by the AUC of the rows that all models of a group scored. "
        f"{tables.n_not_common} rows are left out."
    )


def test_the_reason_is_stated_if_differences_are_not_tested():
    rows = instances(80, "ab")
    _, result = evaluate(rows)
    untested = "The differences are not tested, because the rows are not paired."
    assert result.sentences[1:] == [untested]
    wide = rows.pivot("model", index=["id", "label"], values="score")
    wide = wide.with_columns(difference=pl.lit("x"))  # a group column with the name of a result
    tables, result = evaluate(wide, score={"a": "a", "b": "b"}, by="difference")
    assert result.sentences[1:] == [
        "The differences are not tested. The section “What was left out” states the reason."
    ]
    assert tables.remarks[0].startswith("Comparison not computed: by='difference': ")
