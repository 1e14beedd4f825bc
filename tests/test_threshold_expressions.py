"""Expressions at a threshold, checked against `at`, and the best threshold of a rule."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.rates import RATES
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


COSTS = {"fp": 1, "fn": 5}
RULES = [
    *(("youden", {}), ("closest_top_left", {}), ("equal_error", {}), ("f_beta", {"beta": 2})),
    *(("expected_cost", {"costs": COSTS}), ("expected_cost", {"costs": {"fp": 0.1, "fn": 0.3}})),
    *(("expected_cost", {"costs": COSTS, "prevalence": 0.1}), ("precision", {"prevalence": 0.1})),
    *(("profit", {"benefits": {"tp": 20, "fp": -1}}), ("f1", {"minimize": True})),
    *(("profit", {"benefits": {"tp": 3e25, "fp": -1e25}}), ("youden", {"prevalence": 0.3})),
    *((name, {}) for name, rate in RATES.items() if rate.better != "neither"),
    *((name, {"minimize": True}) for name in ("alerts", "alert_rate")),
]
RULES = [
    (name, options)
    for name, options in RULES
    if name != "net_benefit" and (name != "expected_cost" or options)
]


def best(rule, **options):
    return pl.col("score").roc.best_threshold("label", rule=rule, **options)


@pytest.mark.slow
@pytest.mark.hypothesis
@pytest.mark.parametrize("mass", [None, "count", "weight"])
def test_the_best_threshold_is_that_of_operating_point(mass):
    @examples(1 / 2)
    @given(
        table=tables(mass=mass and {mass: [0, 1, 3] if mass == "count" else [0.0, 0.1, 0.3, 2.0]}),
        rules=st.lists(st.sampled_from(RULES), min_size=1, max_size=4),
    )
    def check(table: pl.DataFrame, rules: list) -> None:
        roles = {} if mass is None else {mass: mass}
        curves = rf.curve(table, "label", "score", by="group", missing="drop", **roles)
        has_positives = curves.filter(pl.col("tp") > 0).select("group").unique()
        for rule, options in rules:
            found = table.group_by("group").agg(best(rule, **options, **roles)).sort("group")
            expected = rf.operating_point(curves, rule, **options).select("group", "threshold")
            keys = {"on": "group", "nulls_equal": True}
            assert_frame_equal(
                found.join(has_positives, how="semi", **keys).rename({"score": "threshold"}),
                expected.join(has_positives, how="semi", **keys).sort("group"),
                check_dtypes=False,
            )
            # Groups without positives may have other labels than the positive one.
            others = found.join(has_positives, how="anti", **keys)
            assert others["score"].null_count() == others.height

    check()


def test_large_counts_are_compared_exactly():
    """The differences of Youden's index between the rows are below the rounding of floats."""
    n = 3 * 10**17
    table = pl.DataFrame(
        {
            "label": [1, 0, 1, 0, 1, 0],
            "score": [0.9, 0.8, 0.7, 0.4, 0.3, 0.2],
            "count": [n, n - 1, n - 1, n + 1, 2, 0],
        }
    )
    for label in ("label", 1 - pl.col("label")):
        curves = rf.curve(table, label, "score", count="count")
        for rule in ("youden", "equal_error", "expected_cost"):
            options = {"costs": COSTS} if rule == "expected_cost" else {}
            expected = rf.operating_point(curves, rule, **options)["threshold"].item()
            found = pl.col("score").roc.best_threshold(label, rule=rule, count="count", **options)
            assert table.select(found).item() == expected


def test_a_best_threshold_is_a_threshold_of_other_expressions():
    votes = rf.datasets.vote()
    curves = rf.curve(votes, "label", "score", by="model", metrics=["recall"])
    expected = rf.operating_point(curves, "youden")
    threshold = best("youden")
    recall = pl.col("score").roc.recall("label", threshold=threshold)
    found = votes.group_by("model").agg(threshold.alias("threshold"), recall.alias("recall"))
    assert_frame_equal(found.sort("model"), expected.select("model", "threshold", "recall"))
    by_row = votes.select("model", (pl.col("score") >= threshold.over("model")).alias("alert"))
    alerts = by_row.group_by("model").agg(pl.col("alert").sum()).sort("model")["alert"]
    assert alerts.to_list() == (expected["tp"] + expected["fp"]).to_list()


@pytest.mark.parametrize("low", [0, 2**53 - 4, 2**53, 2**60])
def test_a_best_threshold_that_a_float_cannot_tell_from_other_scores_is_null(low):
    table = pl.DataFrame({"label": [1, 0, 0], "score": [low + 3, low + 2, low + 1]})
    found = table.select(best("youden")).item()
    assert found == (float(low + 3) if low < 2**53 else None)
    # Large floats are exact.
    floats = pl.DataFrame({"label": [1, 0], "score": [2.0**60, 2.0**59]})
    assert floats.select(best("youden")).item() == 2.0**60


def test_the_shares_of_weights_in_the_last_row_are_those_of_the_classes():
    columns = {"label": [0, 0, 1], "score": [0.0, 0.25, 0.0], "weight": [0.1, 0.3, 0.3]}
    # The coefficient is undefined if all rows are predicted positive.
    found = pl.DataFrame(columns).select(best("mcc", weight="weight")).item()
    assert found == 0.25
