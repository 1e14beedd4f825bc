"""Alternatives, non-inferiority, levels, and differences without variance."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rocframe as rf
from tests.comparisons.tables import METHODS, PERFECT, UNPAIRED, near, row, simulated

with_variance = pytest.mark.parametrize("method", METHODS[:5])


@with_variance
def test_one_sided_p_values_are_tails_of_the_normal_distribution(method):
    table = simulated(9)
    sides = {
        side: row(rf.compare(table, "label", ["a", "b"], method=method, alternative=side, seed=1))
        for side in ("two-sided", "greater", "less")
    }
    statistic, df = sides["greater"]["statistic"], sides["greater"]["df"]
    law = stats.norm if df is None else stats.t(df)
    assert sides["greater"]["p_value"] == near(law.sf(statistic), 1e-11)
    assert sides["less"]["p_value"] == near(law.cdf(statistic), 1e-11)
    assert sides["two-sided"]["p_value"] == near(2 * law.sf(abs(statistic)), 1e-11)
    for side in sides.values():
        both = sides["two-sided"]
        assert [side[name] for name in ("difference", "lower", "upper", "statistic")] == [
            both[name] for name in ("difference", "lower", "upper", "statistic")
        ]


@pytest.mark.parametrize("margin", [0, 0.02, np.float32(0.25)])
def test_a_margin_tests_non_inferiority_to_the_baseline(margin):
    table = simulated(10)
    plain = row(rf.compare(table, "label", ["a", "b"]))
    found = row(rf.compare(table, "label", ["a", "b"], baseline="a", margin=margin))
    statistic = (plain["difference"] - float(margin)) / plain["se"]
    assert found["statistic"] == near(statistic)
    assert found["p_value"] == near(stats.t.cdf(statistic, plain["df"]), 1e-11)
    assert [found[name] for name in ("difference", "se", "lower", "upper")] == [
        plain[name] for name in ("difference", "se", "lower", "upper")
    ]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fpr": (0, 0.5)},
        {"fpr": 0.2, "method": "bootstrap", "seed": 1},
        {"tpr": 0.9, "method": "bootstrap", "seed": 1},
    ],
    ids=["area", "part", "tpr", "fpr"],
)
def test_a_good_model_is_non_inferior_and_a_bad_one_is_not(options):
    rng = np.random.default_rng(3)
    label = np.arange(600) % 2 == 0
    scores = {"good": rng.normal(size=600) + 2 * label, "bad": rng.normal(size=600) + 0.3 * label}
    table = pl.DataFrame({"label": label, **scores})
    p = [
        row(rf.compare(table, "label", [*scores], baseline=old, margin=0.02, **options))["p_value"]
        for old in ("bad", "good")
    ]
    assert p[0] < 1e-6
    assert p[1] > 0.99


@pytest.mark.parametrize("level", [0.5, 0.8, 0.99])
def test_the_level_changes_the_limits_only(level):
    table = simulated(11)
    plain, found = (
        row(rf.compare(table, "label", ["a", "b"], **options)) for options in ({}, {"level": level})
    )
    half = stats.t.ppf((1 + level) / 2, plain["df"]) * plain["se"]
    assert found["lower"] == near(plain["difference"] - half)
    assert found["upper"] == near(plain["difference"] + half)
    assert found["ci_level"] == level
    limits = {"lower", "upper", "ci_level"}
    assert {k: v for k, v in found.items() if k not in limits} == {
        k: v for k, v in plain.items() if k not in limits
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("b", [[4, 3, 3, 2, 2, 1], [40, 30, 30, 20, 20, -5]], ids=["same", "alike"])
def test_models_with_the_same_order_of_rows_have_p_1(method, b):
    table = pl.DataFrame({"label": [1, 0, 1, 1, 0, 0], "a": [4, 3, 3, 2, 2, 1], "b": b})
    found = row(rf.compare(table, "label", ["a", "b"], method=method, seed=1))
    assert (found["auc_a"], found["auc_b"]) == (7 / 9, 7 / 9)
    assert (found["difference"], found["statistic"], found["p_value"]) == (0, 0, 1)
    if method in {"delong_t", "delong", "bootstrap"}:
        assert [found[name] for name in ("se", "lower", "upper")] == [None] * 3
        assert found["note"] == "zero_variance"
    elif method in UNPAIRED:
        assert found["se"] > 0
        assert found["note"] == "few_rows:3"


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_a_zero_difference_without_variance_has_a_one_sided_p_of_one_half(alternative):
    table = pl.DataFrame({"label": [1, 0, 1, 0], "a": [4, 3, 3, 1]})
    scores = {"a": "a", "b": "a"}
    found = row(rf.compare(table, "label", scores, alternative=alternative))
    assert (found["statistic"], found["p_value"]) == (0, 0.5)


@with_variance
def test_a_nonzero_difference_without_variance_is_null(method):
    found = row(rf.compare(PERFECT, "label", ["a", "b"], method=method))
    assert found["difference"] == 1.0
    undefined = ("se", "lower", "upper", "statistic", "df", "p_value", "p_adjusted")
    assert [found[name] for name in undefined] == [None] * 7
    assert found["note"] == "zero_variance"


@pytest.mark.parametrize(
    ("a", "b", "margin", "p_value"),
    [("a", "b", 0.1, None), ("b", "a", 0.1, None), ("a", "a", 0.1, 0.0), ("a", "a", 0.0, 0.5)],
)
def test_without_variance_only_models_with_the_same_order_of_rows_are_non_inferior(
    a, b, margin, p_value
):
    scores = {"one": a, "two": b}
    found = row(rf.compare(PERFECT, "label", scores, baseline="one", margin=margin))
    assert (found["p_value"], found["note"]) == (p_value, "zero_variance")
