"""The ranks of the models in a report, and the differences from the best model."""

from __future__ import annotations

import polars as pl

import rocframe as rf
from rocframe.reports.model_ranks import summary_text
from rocframe.reports.report import ReportOptions
from rocframe.reports.report_tables import areas_and_curves, report_tables
from rocframe.text import format_interval, format_number


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


def ranking(rows, **options):
    options = ReportOptions(**{"label": "label", "score": "score", "by": "model", **options})
    return summary_text(report_tables(rows, options, *areas_and_curves(rows, options)), options)


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
        expected.append((segment, best["model"], format_number(best["auc"]), "–", "best", "–"))
        for row in others:
            models = {best["model"], row["model"]}
            (pair,) = (
                pair
                for pair in pairs
                if pair["segment"] == segment and {pair["model_a"], pair["model_b"]} == models
            )
            sign = 1 if pair["difference"] > 0 else -1
            limits = sorted([sign * pair["lower"], sign * pair["upper"]])
            verdict = "yes" if pair["p_adjusted"] < 0.05 else "no"
            expected.append(
                (
                    segment,
                    row["model"],
                    format_number(row["auc"]),
                    format_number(best["auc"] - row["auc"]),
                    f"{verdict}, p = {pair['p_adjusted']:.4f}",
                    format_interval(*limits),
                )
            )
    result = ranking(rows, by=["segment", "model"], id="id", ci=None)
    assert [column.title for column in result.table.columns] == [
        *("segment", "model", "AUC", "below the best", "significant"),
        "95 % interval of the difference",
    ]
    assert result.table.rows == expected
