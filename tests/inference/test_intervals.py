"""Limits of an AUC: within [0, 1], around the estimate, wider at higher levels, by formula."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import special, stats

import rocframe as rf
from tests import oracles
from tests.strategies import ANY_WEIGHTS, COUNTS, examples, tables

METHODS = ["logit_delong", "delong", "newcombe", "hanley_mcneil", "hanley_mcneil_exponential"]
BOOTSTRAPS = ["bootstrap", "bootstrap_basic", "bootstrap_bca"]
every_method = pytest.mark.parametrize("ci", METHODS)

LIMITS = ["lower", "upper"]
levels = st.floats(0.01, 0.999)

# V10 = 1, 1/4 and V01 = 3/4, 1/2: AUC 5/8, variance 5/32.
PREDICTIONS = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.6]})


def measured(table: pl.DataFrame, **more: object) -> pl.DataFrame:
    return rf.auc(table, "label", "score", by="group", **more)


@pytest.mark.slow
@every_method
@examples(1 / 2)
@given(table=tables(mass={"count": COUNTS}, min_size=4), level=levels)
def test_limits_lie_in_the_unit_interval_around_the_estimate(ci, table, level):
    result = measured(table, count="count", ci=ci, level=level).drop_nulls("lower")
    assert (result["lower"] >= 0).all()
    assert (result["upper"] <= 1).all()
    # The logit there and back again rounds.
    assert (result["lower"] <= result["auc"] + 1e-15).all()
    assert (result["auc"] <= result["upper"] + 1e-15).all()


@pytest.mark.slow
@every_method
@examples(1 / 2)
@given(table=tables(mass={"count": COUNTS}, min_size=4), both=st.tuples(levels, levels))
def test_a_higher_level_has_limits_at_least_as_wide(ci, table, both):
    narrow, wide = (
        measured(table, count="count", ci=ci, level=level).drop_nulls("lower")
        for level in sorted(both)
    )
    assert_frame_equal(narrow.select("group", "auc", "se"), wide.select("group", "auc", "se"))
    # Bisection stops at the last bit of either.
    assert (wide["lower"] <= narrow["lower"] + 1e-15).all()
    assert (narrow["upper"] <= wide["upper"] + 1e-15).all()


@given(table=tables(mass={"count": COUNTS}, min_size=4), level=levels)
def test_newcombes_limits_lie_z_of_their_own_standard_errors_away(table, level):
    z = NormalDist().inv_cdf((1 + level) / 2)
    result = measured(table, count="count", ci="newcombe", level=level).drop_nulls("lower")
    for row in result.iter_rows(named=True):
        sizes = row["n_pos"], row["n_neg"]
        for name in LIMITS:
            limit = row[name]
            if limit == row["auc"]:  # at the end of the range there is nowhere to go
                assert limit in {0.0, 1.0}
                continue
            distance = (row["auc"] - limit) ** 2
            # To the last bit of the limit, times the slope of the equation.
            expected = z**2 * oracles.newcombe_variance(limit, *sizes)
            assert distance == pytest.approx(expected, abs=1e-12)


@given(table=tables(mass={"count": COUNTS}, min_size=4))
def test_newcombes_standard_error_is_his_variance_at_the_estimate(table):
    result = measured(table, count="count", ci="newcombe")
    for row in result.drop_nulls("auc").iter_rows(named=True):
        variance = oracles.newcombe_variance(row["auc"], row["n_pos"], row["n_neg"])
        spread = variance > 0 and row["note"] != "zero_variance"
        expected = pytest.approx(math.sqrt(variance), rel=1e-12) if spread else None
        assert row["se"] == expected


@given(table=tables(missing=True, mass={"count": COUNTS}, min_size=4), level=levels)
def test_walds_limits_are_z_standard_errors_away_and_clipped(table, level):
    z = NormalDist().inv_cdf((1 + level) / 2)
    result = measured(table, count="count", ci="delong", level=level, missing="worst")
    result = result.filter(pl.col("ci_method") == "delong")
    expected = result.select(
        lower=(pl.col("auc") - z * pl.col("se")).clip(0, 1),
        upper=(pl.col("auc") + z * pl.col("se")).clip(0, 1),
    )
    assert_frame_equal(result.select(LIMITS), expected, rel_tol=0, abs_tol=1e-15)


@given(table=tables(missing=True, mass={"weight": ANY_WEIGHTS}, min_size=4), level=levels)
def test_logit_limits_are_walds_of_the_log_odds(table, level):
    z = NormalDist().inv_cdf((1 + level) / 2)
    table = pl.concat([table] * 50)
    result = measured(table, weight="weight", level=level, missing="worst")
    for row in result.filter(pl.col("ci_method") == "logit_delong").iter_rows(named=True):
        auc, half = row["auc"], z * row["se"] / row["auc"] / (1 - row["auc"])
        for name, way in (("lower", -1), ("upper", 1)):
            odds = math.log(auc / (1 - auc)) + way * half
            expected = 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0
            assert row[name] == pytest.approx(expected, abs=1e-12)


def test_a_small_example_has_the_hand_computed_limits_of_three_methods():
    se = math.sqrt(5 / 32)
    found = {ci: rf.auc(PREDICTIONS, "label", "score", ci=ci).row(0, named=True) for ci in METHODS}
    assert found["delong"]["se"] == found["logit_delong"]["se"] == pytest.approx(se, rel=1e-15)
    assert (found["delong"]["lower"], found["delong"]["upper"]) == (0.0, 1.0)
    # Satterthwaite: (9/64 + 1/64)² / ((9/64)² + (1/64)²) degrees of freedom.
    t = stats.t.ppf(0.975, 100 / 82)
    assert found["logit_delong"]["ci_method"] == "logit_delong_newcombe"
    assert found["logit_delong"]["lower"] == pytest.approx(
        1 / (1 + 0.375 / 0.625 * math.exp(t * se / (0.625 * 0.375))), rel=1e-13
    )
    # N = (2 + 2)/2 - 1 = 1.
    variance = 0.625 * 0.375 * (1 + 0.375 / 1.375 + 0.625 / 1.625) / 4
    assert found["newcombe"]["se"] == pytest.approx(math.sqrt(variance), rel=1e-14)


def classes(n_pos, n_neg, seed=0):
    rng = np.random.default_rng(seed)
    label = np.arange(n_pos + n_neg) < n_pos
    return pl.DataFrame({"label": label, "score": rng.normal(size=len(label)) + 2 * label})


@pytest.mark.parametrize(("n_pos", "n_neg"), [(5, 45), (49, 300), (300, 49), (30, 30)])
def test_the_limits_of_small_classes_are_those_of_t_or_newcombe_farther_from_the_area(n_pos, n_neg):
    table = classes(n_pos, n_neg)
    row = rf.auc(table, "label", "score").row(0, named=True)
    newcombe = rf.auc(table, "label", "score", ci="newcombe").row(0, named=True)
    pos, neg = (table.filter(label=label)["score"].to_numpy() for label in (True, False))
    wins = pos[:, None] > neg
    parts = [wins.mean(axis=1).var(ddof=1) / n_pos, wins.mean(axis=0).var(ddof=1) / n_neg]
    df = sum(parts) ** 2 / (parts[0] ** 2 / (n_pos - 1) + parts[1] ** 2 / (n_neg - 1))
    auc = wins.mean()
    half = stats.t.ppf(0.975, df) * sum(parts) ** 0.5 / (auc * (1 - auc))
    lower, upper = special.expit(special.logit(auc) + np.array([-half, half]))
    assert row["ci_method"] == "logit_delong_newcombe"
    assert row["lower"] == pytest.approx(min(lower, newcombe["lower"]))
    assert row["upper"] == pytest.approx(max(upper, newcombe["upper"]))
    assert newcombe["lower"] < lower


def test_classes_of_50_rows_have_the_limits_of_the_normal_distribution():
    row = rf.auc(classes(50, 50), "label", "score").row(0, named=True)
    half = 1.959963984540054 * row["se"] / (row["auc"] * (1 - row["auc"]))
    limits = special.expit(special.logit(row["auc"]) + np.array([-half, half]))
    assert (row["lower"], row["upper"]) == pytest.approx(tuple(limits))
    assert row["ci_method"] == "logit_delong"


def test_small_classes_of_partial_areas_and_of_clusters_use_the_t_distribution():
    table = classes(20, 40).with_row_index()
    clustered = table.with_columns(pl.col("index") // 2)
    partial = rf.auc(table, "label", "score", fpr=(0, 0.5))
    clusters = rf.auc(clustered, "label", "score", cluster="index")
    singles = rf.auc(table, "label", "score", cluster="index")
    for result in (partial, clusters, singles):
        assert result["ci_method"].item() == "logit_delong_t"
    row = clusters.row(0, named=True)
    logits = special.logit([row["auc"], row["upper"]])
    t = (logits[1] - logits[0]) * row["auc"] * (1 - row["auc"]) / row["se"]
    assert stats.t.ppf(0.975, 29) < t < stats.t.ppf(0.975, 9)


@pytest.mark.parametrize("ci", [*METHODS, *BOOTSTRAPS])
@pytest.mark.parametrize(("labels", "auc"), [([0, 0, 1, 1, 1], 1.0), ([1, 1, 1, 0, 0], 0.0)])
def test_an_auc_of_0_or_1_has_newcombes_limits_and_method(ci, labels, auc):
    table = pl.DataFrame({"label": labels, "score": [1, 2, 3, 4, 5]})
    row = rf.auc(table, "label", "score", ci=ci).row(0, named=True)
    assert (row["auc"], row["se"], row["note"]) == (auc, None, "zero_variance")
    assert row["ci_method"] == "newcombe"
    z = 1.959963984540054
    end = "upper" if auc else "lower"
    other = "lower" if auc else "upper"
    assert row[end] == auc
    assert (auc - row[other]) ** 2 == pytest.approx(
        z**2 * oracles.newcombe_variance(row[other], 3, 2), abs=1e-14
    )


@pytest.mark.parametrize("ci", [*METHODS, *BOOTSTRAPS])
def test_constant_scores_have_no_limits(ci):
    table = pl.DataFrame({"label": [0, 0, 1, 1], "score": [3, 3, 3, 3]})
    row = rf.auc(table, "label", "score", ci=ci).row(0)
    assert row == (0.5, None, None, None, 0.0, 1.0, 2, 2, 0, 0.95, None, "zero_variance")


@pytest.mark.parametrize("ci", ["logit_delong", "delong", *BOOTSTRAPS])
def test_weighted_constant_scores_have_no_limits(ci):
    table = pl.DataFrame(
        {"label": [0, 0, 1, 1, 1], "score": [3] * 5, "w": [0.1, 0.7, 0.3, 1.1, 2.3]}
    )
    row = rf.auc(table, "label", "score", ci=ci, weight="w")
    assert row["auc"].item() == pytest.approx(0.5, abs=1e-15)
    columns = ["se", "lower", "upper", "ci_level", "ci_method", "note"]
    assert row.select(columns).row(0) == (None, None, None, 0.95, None, "zero_variance")


@every_method
def test_limits_approach_the_estimate_as_the_number_of_rows_grows(ci):
    widths = []
    for times in (1, 10**2, 10**4, 10**8):
        table = PREDICTIONS.with_columns(n=pl.lit(times))
        row = rf.auc(table, "label", "score", ci=ci, count="n").row(0, named=True)
        widths.append(row["upper"] - row["lower"])
        assert row["lower"] <= row["auc"] <= row["upper"]
    assert widths == sorted(widths, reverse=True)
    # Proportional to one over the root of the number of rows.
    assert widths[2] / widths[3] == pytest.approx(100, rel=0.01)
