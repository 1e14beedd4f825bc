"""`curve(benefit=, cost=)`: shares of the total benefit and of the total cost."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.strategies import ANY_WEIGHTS, COUNTS, TIED, tables

PAYMENTS = {
    "legitimate": [1, 1, 0, 1, 0],
    "amount": [100, 50, 30, 400, 1000],
    "score": [0.9, 0.8, 0.8, 0.5, 0.2],
}
BENEFIT, COST = 0.02 * pl.col("amount") + 20, pl.col("amount") + 20


def test_elkans_payments_give_shares_of_benefit_and_cost(frame):
    curves = rf.curve(frame(PAYMENTS), "legitimate", "score", benefit=BENEFIT, cost=COST)
    expected = frame(
        {
            "threshold": [float("inf"), 0.9, 0.8, 0.5, 0.2],
            "tp": [0.0, 22.0, 43.0, 71.0, 71.0],
            "fp": [0.0, 0.0, 50.0, 50.0, 1070.0],
            "fn": [71.0, 49.0, 28.0, 0.0, 0.0],
            "tn": [1070.0, 1070.0, 1020.0, 1020.0, 0.0],
            "fpr": [0.0, 0.0, 50 / 1070, 50 / 1070, 1.0],
            "tpr": [0.0, 22 / 71, 43 / 71, 1.0, 1.0],
        }
    )
    assert_frame_equal(curves, expected, rel_tol=1e-14, abs_tol=0)


def algorithm_6(rows: list[tuple[bool, float, float, float, int]]) -> list[tuple[Fraction, ...]]:
    """Return the sums of benefits and costs at each distinct score, of rows with benefit or cost.

    Rows are label, score, benefit, cost and count.
    """
    used = [
        (label, score, count * Fraction(benefit if label else cost))
        for label, score, benefit, cost, count in rows
    ]
    scores = sorted({score for _, score, value in used if value}, reverse=True)
    return [
        tuple(
            sum((v for label, s, v in used if label is of and s >= score), Fraction(0))
            for of in (True, False)
        )
        for score in scores
    ]


@given(table=tables(shape=TIED, mass={"benefit": ANY_WEIGHTS, "cost": ANY_WEIGHTS, "n": COUNTS}))
def test_counts_are_sums_of_benefits_and_costs(table):
    table = table.with_columns(pl.col("n").cast(pl.Int64))
    roles = {"benefit": "benefit", "cost": "cost", "count": "n"}
    curves = rf.curve(table, "label", "score", by="group", **roles)
    lazy = rf.curve(table.lazy(), "label", "score", by="group", **roles)
    assert_frame_equal(lazy.collect(), curves, check_exact=True)
    for (group,), curve in curves.group_by("group", maintain_order=True):
        rows = table.filter(pl.col("group").eq_missing(pl.lit(group, pl.String)))
        expected = algorithm_6(rows.select("label", "score", "benefit", "cost", "n").rows())
        found = curve.select("tp", "fp").rows()[1:]
        assert len(found) == len(expected)
        for sums, exact in zip(found, expected, strict=True):
            assert sums == pytest.approx([float(value) for value in exact], rel=1e-12)


def test_the_result_is_that_of_weights_and_the_other_class_has_weight_1():
    table = pl.DataFrame(PAYMENTS)
    positive = pl.col("legitimate") == 1
    for roles, weight in [
        ({"benefit": BENEFIT, "cost": COST}, pl.when(positive).then(BENEFIT).otherwise(COST)),
        ({"benefit": BENEFIT}, pl.when(positive).then(BENEFIT).otherwise(1.0)),
        ({"cost": "amount"}, pl.when(positive).then(1.0).otherwise("amount")),
    ]:
        for more in ({}, {"thresholds": [0.5, 0.85]}, {"max_error": 0.1}, {"prevalence": 0.3}):
            found = rf.curve(table, "legitimate", "score", **roles, **more)
            expected = rf.curve(table, "legitimate", "score", weight=weight, **more)
            assert_frame_equal(found, expected, check_exact=True)
    models = rf.curve(table, "legitimate", {"a": "score", "b": "amount"}, cost="amount")
    expected = rf.curve(table, "legitimate", "amount", cost="amount")
    assert_frame_equal(models.filter(model="b").drop("model"), expected, check_exact=True)


def test_values_of_the_other_class_are_not_used():
    table = pl.DataFrame(PAYMENTS).with_columns(
        benefit=pl.Series([3, 2, None, 1, -5], dtype=pl.Float64),
        cost=pl.Series([None, -1, 4, float("inf"), 6], dtype=pl.Float64),
    )
    curves = rf.curve(table, "legitimate", "score", benefit="benefit", cost="cost")
    assert curves.select("tp", "fp").rows() == [(0, 0), (3, 0), (5, 4), (6, 4), (6, 10)]


def test_rows_with_missing_benefits_can_be_dropped():
    table = pl.DataFrame(PAYMENTS).with_columns(benefit=pl.Series([3.0, None, None, 1.0, None]))
    roles = {"benefit": "benefit", "cost": "amount"}
    curves = rf.curve(table, "legitimate", "score", **roles, missing="drop")
    expected = rf.curve(table[[0, 2, 3, 4]], "legitimate", "score", **roles)
    assert_frame_equal(curves, expected, check_exact=True)


def test_a_class_without_benefit_has_no_share():
    curves = rf.curve(pl.DataFrame(PAYMENTS), "legitimate", "score", benefit=pl.lit(0.0))
    assert curves["tpr"].null_count() == curves.height
    assert curves["fpr"].to_list() == [0.0, 0.5, 1.0]
