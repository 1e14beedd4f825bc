"""The area at the top of the list: the local AUC of Clémençon and Vayatis."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.strategies import ANY_WEIGHTS, COUNTS, tables

AREAS = ["partial_auc", "partial_auc_pessimistic", "partial_auc_optimistic"]
CLOSE = {"rel_tol": 0.0, "abs_tol": 1e-12}
PREDICTIONS = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})

shares = st.sampled_from([0.01, 0.25, 1 / 3, 0.5, 0.9, 1.0]) | st.floats(1e-6, 1)


def grouped(table: pl.DataFrame, **more: object) -> pl.DataFrame:
    return rf.auc(table, "label", "score", by="group", **more)


def order_areas(labels: tuple[int, ...], n_top: Fraction) -> Fraction:
    """Count the pairs of a positive at the top and a negative below it, as a share of all pairs."""
    pos, wins = sum(labels), Fraction(0)
    for i, label in enumerate(labels):
        at_top = min(max(n_top - i, Fraction(0)), Fraction(1))
        wins += at_top * label * labels[i:].count(0)
    return wins / (pos * (len(labels) - pos))


def test_areas_at_the_top_of_a_small_list_equal_hand_computed_values():
    expected = {
        0.25: [0.5, 0.5, 0.5],  # the positive at 0.9 wins against both negatives
        0.5: [0.5 + 0.5 * 0.5 * 0.875, 0.5, 1.0],  # half of the tie at 0.4 is at the top
        0.75: [0.875, 0.75, 1.0],
        1: [0.875, 0.75, 1.0],
    }
    for share, areas in expected.items():
        result = rf.auc(PREDICTIONS, "label", "score", alert_rate=(0, share), ci=None)
        assert result.select(AREAS).row(0) == tuple(areas)


@given(labels=st.lists(st.sampled_from([0, 1]), min_size=2, max_size=7), n_top=st.integers(1, 7))
def test_the_envelope_is_the_range_over_all_orders_of_the_ties(labels, n_top):
    if len(set(labels)) < 2 or n_top > len(labels):
        return
    scores = [len(labels) - i // 3 for i in range(len(labels))]
    result = rf.auc(
        pl.DataFrame({"label": labels, "score": scores}),
        "label",
        "score",
        alert_rate=(0, n_top / len(labels)),
        ci=None,
    )
    ties = [tuple(labels[i : i + 3]) for i in range(0, len(labels), 3)]
    orders: list[tuple[int, ...]] = [()]
    for tie in ties:
        orders = [order + part for order in orders for part in set(permutations(tie))]
    areas = [float(order_areas(order, Fraction(n_top))) for order in orders]
    area, low, high = result.select(AREAS).row(0)
    assert (low, high) == pytest.approx((min(areas), max(areas)), abs=1e-12)
    assert low - 1e-12 <= area <= high + 1e-12


@given(table=tables(missing=True, mass={"count": COUNTS}), share=shares)
def test_area_of_the_curve_table_is_identical(table, share):
    options = {"count": "count", "missing": "worst", "by": "group"}
    areas = rf.auc(table, "label", "score", alert_rate=(0, share), ci=None, **options)
    curves = rf.curve(table, "label", "score", **options)
    expected = areas.select("group", "partial_auc")
    assert_frame_equal(curves.roc.area(alert_rate=(0, share)), expected, check_exact=True)


@given(table=tables(missing=True, mass={"weight": ANY_WEIGHTS}))
def test_the_area_of_the_complete_list_is_the_auc(table):
    options = {"weight": "weight", "missing": "worst", "ci": None}
    whole = grouped(table, **options).rename(lambda name: name.replace("auc", "partial_auc"))
    for standardize in (None, "mcclish"):
        top = grouped(table, alert_rate=(0, 1), standardize=standardize, **options)
        assert_frame_equal(top.select("group", *AREAS), whole.select("group", *AREAS), **CLOSE)


def test_perfect_and_random_scores_have_the_standardized_areas_one_and_one_half():
    labels = [1] * 20 + [0] * 80
    perfect = pl.DataFrame({"label": labels, "score": range(100, 0, -1)})
    for share, area in ((0.05, 0.25), (0.2, 1.0), (0.5, 1.0)):
        options = {"alert_rate": (0, share), "ci": None}
        assert rf.auc(perfect, "label", "score", **options)["partial_auc"][0] == pytest.approx(area)
        one = rf.auc(perfect, "label", "score", standardize="mcclish", **options)
        assert one["partial_auc"][0] == pytest.approx(1)
        tied = perfect.with_columns(score=pl.lit(0))
        assert rf.auc(tied, "label", "score", **options)["partial_auc"][0] == pytest.approx(
            share - share**2 / 2
        )
        half = rf.auc(tied, "label", "score", standardize="mcclish", **options)
        assert half["partial_auc"][0] == pytest.approx(0.5)


def test_a_given_prevalence_equals_weights_with_this_prevalence():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"label": [1] * 20 + [0] * 80, "score": rng.normal(size=100).round(1)})
    weight = pl.when(pl.col("label") == 1).then(0.1 / 20).otherwise(0.9 / 80)
    expected = rf.auc(table, "label", "score", weight=weight, alert_rate=(0, 0.3), ci=None)
    curves = rf.curve(table, "label", "score", prevalence=0.1)
    actual = curves.roc.area(alert_rate=(0, 0.3))
    assert_frame_equal(actual, expected.select("partial_auc"), **CLOSE)


def test_the_bootstrap_estimates_the_standard_error_of_the_population():
    rng = np.random.default_rng(0)
    samples = pl.DataFrame({"label": rng.random(60_000) < 0.3, "sample": np.arange(60_000) // 300})
    samples = samples.with_columns(score=pl.col("label") + pl.Series(rng.normal(size=60_000)))
    top = {"alert_rate": (0, 0.1)}
    areas = rf.auc(samples, "label", "score", by="sample", ci=None, **top)["partial_auc"]
    subset = samples.filter(pl.col("sample") < 10)
    options = {"by": "sample", "ci": "bootstrap", "n_boot": 200, "seed": 1}
    resampled = rf.auc(subset, "label", "score", **options, **top)
    # The standard error is the standard deviation over samples, which 200 samples estimate to 5 %.
    assert resampled["se"].mean() == pytest.approx(areas.std(), rel=0.15)
    assert (resampled["ci_method"] == "bootstrap").all()


def test_without_a_bootstrap_the_limits_are_null():
    result = rf.auc(PREDICTIONS, "label", "score", alert_rate=(0, 0.5))
    empty = [None, None, None, None]
    assert list(result.select("lower", "upper", "se", "ci_method").row(0)) == empty


def test_a_large_group_has_the_same_area_as_its_curve():
    rng = np.random.default_rng(2)
    label = rng.random(300_000) < 0.1
    table = pl.DataFrame({"label": label, "score": rng.normal(size=300_000) + label})
    result = rf.auc(table, "label", "score", alert_rate=(0, 0.7), ci=None).select("partial_auc")
    curves = rf.curve(table, "label", "score")
    assert_frame_equal(curves.roc.area(alert_rate=(0, 0.7)), result, check_exact=True)
