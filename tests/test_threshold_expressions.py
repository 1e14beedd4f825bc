"""Expressions at a threshold: confusion counts and metrics, checked against `at`."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.strategies import examples, tables

METRICS = [
    *("accuracy", "balanced_accuracy", "precision", "recall", "specificity"),
    *("f1", "f_beta", "jaccard", "mcc", "kappa"),
]
COUNTS = ["tp", "fp", "fn", "tn"]


def at_threshold(method, threshold, **options):
    return getattr(pl.col("score").roc, method)("label", threshold=threshold, **options)


@pytest.mark.parametrize("options", [{}, {"count": "count"}, {"weight": "weight"}], ids=str)
def test_counts_and_metrics_are_those_of_at(options):
    @examples(1 / 2)
    @given(tables(mass=options and {next(iter(options)): [0, 1, 3]}, min_size=1))
    def check(table: pl.DataFrame) -> None:
        curves = rf.curve(
            table, "label", "score", by="group", metrics=METRICS, missing="drop", **options
        )
        thresholds = (-1, 0.5, 1, float("inf"))
        columns = [
            at_threshold(name, threshold, **options).alias(f"{name} {threshold}")
            for threshold in thresholds
            for name in ("confusion", *METRICS)
        ]
        found = table.group_by("group").agg(columns).sort("group")
        points = rf.at(curves, threshold=thresholds).filter(pl.col("tp") + pl.col("fn") > 0)
        for threshold in thresholds:
            metrics = [pl.col(f"{name} {threshold}").alias(name) for name in METRICS]
            at = found.select("group", f"confusion {threshold}", *metrics)
            assert_frame_equal(
                at.unnest(f"confusion {threshold}").drop_nulls("tp"),
                points.filter(at_value=threshold).select("group", *COUNTS, *METRICS),
                rel_tol=1e-12,
                abs_tol=1e-12,
                check_dtypes=False,
            )

    check()


def test_the_threshold_may_be_a_column_and_is_compared_in_the_dtype_of_the_scores():
    table = pl.DataFrame(
        {
            "model": ["a", "a", "b", "b"],
            "label": [1, 0, 1, 0],
            "score": pl.Series([0.7, 0.2, 0.7, 0.2], dtype=pl.Float32),
            "limit": [0.7, 0.7, 0.1, 0.1],
        }
    )
    for threshold in (0.7, pl.lit(0.7), pl.lit(0.7, pl.Float64)):
        assert table.select(at_threshold("recall", threshold)).item() == 1
    found = table.group_by("model", maintain_order=True).agg(
        at_threshold("confusion", pl.col("limit"))
    )
    assert found.unnest("score").rows() == [("a", 1, 0, 0, 1), ("b", 1, 1, 0, 0)]
    by_row = table.select(at_threshold("precision", pl.col("limit")).over("model"))
    assert by_row.to_series().to_list() == [1, 1, 0.5, 0.5]


def test_a_missing_threshold_and_a_group_without_positives_are_null():
    table = pl.DataFrame({"label": [1, 0], "score": [0.7, 0.2], "limit": [0.5, None]})
    for threshold in (pl.col("limit"), pl.lit(None), pl.lit(float("nan"))):
        assert table.select(at_threshold("accuracy", threshold)).item() is None
        assert table.select(at_threshold("confusion", threshold)).item() is None
    negatives = table.with_columns(label=0)
    assert negatives.select(at_threshold("specificity", 0.5)).item() is None


def test_f_beta_has_an_option():
    table = pl.DataFrame({"label": [1, 1, 0, 0], "score": [0.9, 0.1, 0.8, 0.2]})
    found = table.select(at_threshold("f_beta", 0.7, beta=2)).item()
    assert found == pytest.approx(5 * 0.5 * 0.5 / (4 * 0.5 + 0.5))
