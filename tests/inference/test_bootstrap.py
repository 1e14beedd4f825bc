"""Bootstrap limits: hand-computed values, all possible resamples, and scipy."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist, stdev

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import bootstrap

import rocframe as rf
from rocframe.areas.area import RateRange
from rocframe.areas.pairs import AUC_STATISTIC
from rocframe.kernel import arrays as threads
from rocframe.kernel.scan import GroupRows
from rocframe.resampling import (
    BOOTSTRAPS,
    BootstrapInterval,
    bootstrap_interval,
    bootstrap_limits,
    nearly_equal,
    replicate_quantile,
    sample_acceleration,
)
from tests import oracles
from tests.kernel.scans import cases_of, scan_of
from tests.strategies import repeated

METHODS = ["bootstrap", "bootstrap_basic", "bootstrap_bca"]
PERCENTILE, BASIC, BCA = (BOOTSTRAPS[name] for name in METHODS)
every_bootstrap = pytest.mark.parametrize("ci", METHODS)

TIED = pl.DataFrame({"label": [1, 0, 1, 0, 1], "score": [0.9, 0.4, 0.4, 0.6, 0.4]})


def normal_table(rows: int, seed: int = 3) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.random(rows) < 0.4
    return pl.DataFrame({"label": label, "score": np.round(rng.normal(size=rows) + label, 1)})


def measured(table: pl.DataFrame, ci: str = "bootstrap", **more: object) -> pl.DataFrame:
    return rf.auc(table, "label", "score", ci=ci, **{"seed": 1, "n_boot": 200, **more})


# Quantiles


def test_a_quantile_is_number_p_times_n_plus_one():
    rising = np.arange(1.0, 20.0)
    assert [replicate_quantile(rising, p) for p in (0.05, 0.5, 0.95)] == [1, 10, 19]
    assert replicate_quantile(rising, 0.125) == 2.5
    assert [replicate_quantile(rising, p) for p in (0.0, 0.01, 0.99, 1.0)] == [1, 1, 19, 19]


@given(st.lists(st.floats(-5, 5), min_size=2, max_size=30), st.floats(0, 1, exclude_max=True))
def test_quantiles_equal_numpys_weibull_method(values, p):
    rising = np.sort(values)
    expected = np.quantile(rising, p, method="weibull")
    assert replicate_quantile(rising, p) == pytest.approx(expected, rel=1e-7, abs=1e-7)


def test_an_infinite_replicate_gives_an_infinite_limit_not_nan():
    rising = np.array([1.0, 2.0, 3.0, math.inf, math.inf])
    assert replicate_quantile(rising, 0.5) == 3
    assert replicate_quantile(rising, 0.55) == math.inf
    assert replicate_quantile(rising, 0.75) == math.inf


# Limits


RISING = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.6, 0.7, 0.9])


def test_percentile_and_basic_limits_by_hand():
    assert bootstrap_limits(PERCENTILE, 0.8, 0.5, RISING) == pytest.approx((0.1, 0.9))
    assert bootstrap_limits(BASIC, 0.8, 0.5, RISING) == pytest.approx((0.1, 0.9))
    assert bootstrap_limits(PERCENTILE, 0.6, 0.4, RISING) == pytest.approx((0.2, 0.7))
    assert bootstrap_limits(BASIC, 0.6, 0.4, RISING) == pytest.approx((0.1, 0.6))


def test_the_bias_correction_counts_ties_as_one_half():
    normal = NormalDist()
    # Four replicates lie below .5 and two on it: (4 + 2/2)/9.
    z0, a = normal.inv_cdf(5 / 9), 0.1
    expected = []
    for z in (normal.inv_cdf(0.2), normal.inv_cdf(0.8)):
        place = normal.cdf(z0 + (z0 + z) / (1 - a * (z0 + z))) * 10 - 1
        low = int(place)
        expected.append(RISING[low] + (place - low) * (RISING[low + 1] - RISING[low]))
    assert bootstrap_limits(BCA, 0.6, 0.5, RISING, a) == pytest.approx(expected, rel=1e-12)


def test_without_bias_and_acceleration_bca_limits_equal_percentile_limits():
    rising = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    assert bootstrap_limits(BCA, 0.5, 3.0, rising) == pytest.approx(
        bootstrap_limits(PERCENTILE, 0.5, 3.0, rising)
    )


def test_bca_limits_are_undefined_if_all_replicates_are_on_one_side_of_the_estimate():
    assert all(map(math.isnan, bootstrap_limits(BCA, 0.9, 2.0, RISING)))
    assert bootstrap_limits(PERCENTILE, 0.8, 2.0, RISING) == pytest.approx((0.1, 0.9))


def test_rounding_errors_do_not_break_ties():
    low, high = bootstrap_limits(BCA, 0.6, 0.5, RISING)
    assert bootstrap_limits(BCA, 0.6, 0.5 + 1e-16, RISING - 1e-16) == pytest.approx((low, high))


def spread(
    values: np.ndarray, bounds: tuple[float, float] = (-math.inf, math.inf)
) -> BootstrapInterval:
    return bootstrap_interval(
        values, values[0], "bootstrap", 0.9, bounds=bounds, acceleration=lambda: 0.0
    )


def test_equality_of_replicates_is_relative_to_their_magnitude():
    for unit in (1e-160, 1e-13, 1.0, 1e200):
        found = spread(RISING * unit)
        assert not found.constant
        assert found.se == pytest.approx(stdev(RISING) * unit)
        assert spread(unit * (1 + 1e-15 * RISING)).constant
    assert spread(np.zeros(5)).constant
    # Differences of shares are near 0 by rounding where the shares agree.
    assert spread(1e-16 * RISING, (-1, 1)).constant
    assert nearly_equal(1e-16, -1e-16)
    assert not nearly_equal(1e-16, -1e-16, scale=1e-16)


def test_extreme_quantiles_are_the_first_and_last_replicates():
    # Here 1 - a·(z0 + z) is below 0: the limit goes as far as it can.
    assert bootstrap_limits(BCA, 0.6, 0.5, RISING, 5.0)[1] == 0.9


# Skewness


def jackknifed(table: pl.DataFrame) -> float:
    """Return ΣL³ / (6·(ΣL²)^(3/2)), each L from leaving a row out, over the size of its class."""
    rows = oracles.cases(table)
    shares = []
    for side in oracles.sides(rows):
        without = [
            oracles.areas([case for j, case in enumerate(rows) if j != i]).auc
            for i, row in enumerate(rows)
            if row.positive == side[0].positive
        ]
        mean = sum(without, Fraction(0)) / len(side)
        shares += [float((len(side) - 1) * (mean - one) / len(side)) for one in without]
    largest = max(map(abs, shares))
    shares = [share / largest for share in shares]
    return sum(s**3 for s in shares) / (6 * sum(s**2 for s in shares) ** 1.5)


def test_the_acceleration_of_an_area_equals_that_of_the_jackknife():
    table = normal_table(14)
    found = sample_acceleration(GroupRows.from_scan(scan_of(table), 0), AUC_STATISTIC.influence)
    assert found == pytest.approx(jackknifed(table), rel=1e-12)


def test_the_acceleration_includes_counts_and_unscored_rows():
    table = normal_table(14).with_columns(count=pl.Series([1, 2, 3, 1, 1, 2, 1] * 2))
    table = table.with_columns(score=pl.when(pl.col("score") > 1).then(None).otherwise("score"))
    long = repeated(table, "count")
    found = [
        sample_acceleration(
            GroupRows.from_scan(scan_of(one, missing="worst", **roles), 0), AUC_STATISTIC.influence
        )
        for one, roles in ((table, {"count": "count"}), (long, {}))
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12)
    assert found[1] == pytest.approx(jackknifed(long), rel=1e-12)


def test_the_influence_of_a_row_is_proportional_to_its_weight():
    table = normal_table(12).with_columns(weight=pl.Series([1.0, 2.0, 0.5] * 4))
    found = sample_acceleration(
        GroupRows.from_scan(scan_of(table, weight="weight"), 0), AUC_STATISTIC.influence
    )
    rows = oracles.cases(table)
    pos, neg = oracles.sides(rows)
    area = oracles.areas(rows).auc
    shares = []
    for one, other, sign in ((pos, neg, 1), (neg, pos, -1)):
        for x in one:
            pairs = [(x, y) if sign > 0 else (y, x) for y in other]
            won = sum(y.mass * oracles.beats(*pair) for y, pair in zip(other, pairs, strict=True))
            shares.append(float(x.mass * (won / oracles.total(other) - area) / oracles.total(one)))
    expected = sum(s**3 for s in shares) / (6 * sum(s**2 for s in shares) ** 1.5)
    assert found == pytest.approx(expected, rel=1e-10)


def test_the_influence_of_a_cluster_is_the_sum_over_its_rows():
    table = normal_table(12)
    # Alone in its cluster a row is a row.
    alone = table.with_columns(user=pl.int_range(pl.len()))
    cases = cases_of(alone, cluster="user")
    found = sample_acceleration(
        GroupRows.from_scan(scan_of(alone, cluster="user"), 0, cases.cluster),
        AUC_STATISTIC.influence,
    )
    assert found == pytest.approx(jackknifed(table), rel=1e-12)
    # Each row twice, in one cluster: the same influences, twice as large.
    twice = pl.concat([alone, alone])
    cases = cases_of(twice, cluster="user")
    pairs = GroupRows.from_scan(scan_of(twice, cluster="user"), 0, cases.cluster)
    assert sample_acceleration(pairs, AUC_STATISTIC.influence) == pytest.approx(found, rel=1e-12)


@pytest.mark.parametrize("rate", ["fpr", "tpr"])
def test_a_partial_area_over_the_full_range_has_the_acceleration_of_the_auc(rate):
    part = RateRange(rate=rate, low=0.0, high=1.0, mcclish=False)
    population = GroupRows.from_scan(scan_of(normal_table(30)), 0)
    whole = sample_acceleration(population, AUC_STATISTIC.influence)
    assert sample_acceleration(population, part.statistic().influence) == pytest.approx(
        whole, rel=1e-9
    )


# Tables


def all_areas(table: pl.DataFrame) -> list[float]:
    """Return the areas of all possible resamples with the same class sizes."""
    from itertools import product

    pos, neg = oracles.sides(oracles.cases(table))
    return sorted(
        float(oracles.areas([*x, *y]).auc)
        for x in product(pos, repeat=len(pos))
        for y in product(neg, repeat=len(neg))
    )


def test_limits_and_standard_error_approach_those_of_all_possible_resamples():
    every = all_areas(TIED)
    row = measured(TIED, n_boot=15_000, level=0.8).row(0, named=True)
    assert row["se"] == pytest.approx(stdev(every), rel=0.02)
    # Areas are twelfths: quantiles are exact unless a jump of the distribution is near.
    assert (row["lower"], row["upper"]) == (every[10], every[97])


@every_bootstrap
def test_limits_are_close_to_those_of_scipy(ci):
    table = normal_table(60)
    pos, neg = (table.filter(pl.col("label") == side)["score"].to_numpy() for side in (True, False))

    def area(x, y, axis=-1):
        x, y = np.expand_dims(np.moveaxis(x, axis, -1), -1), np.moveaxis(y, axis, -1)[..., None, :]
        return ((x > y) + (x == y) / 2).mean(axis=(-1, -2))

    method = {"bootstrap": "percentile", "bootstrap_basic": "basic", "bootstrap_bca": "BCa"}[ci]
    other = bootstrap(
        (pos, neg), area, method=method, n_resamples=4000, batch=500, rng=np.random.default_rng(2)
    )
    row = measured(table, ci, n_boot=6_000).row(0, named=True)
    assert row["se"] == pytest.approx(other.standard_error, rel=0.05)
    width = row["upper"] - row["lower"]
    assert row["lower"] == pytest.approx(other.confidence_interval.low, abs=width / 20)
    assert row["upper"] == pytest.approx(other.confidence_interval.high, abs=width / 20)


@every_bootstrap
@pytest.mark.parametrize("part", [{"fpr": (0, 0.3)}, {"tpr": (0.5, 1)}], ids=["fpr", "tpr"])
def test_partial_areas_have_errors_near_the_formula_and_limits_on_the_scale_shown(ci, part):
    table = normal_table(400)
    result, shown = (
        measured(table, ci, n_boot=1000, **part, standardize=how).row(0, named=True)
        for how in (None, "mcclish")
    )
    formula = rf.auc(table, "label", "score", ci="delong", **part).row(0, named=True)
    assert result["se"] == pytest.approx(formula["se"], rel=0.1)
    assert result["lower"] < result["partial_auc"] < result["upper"]
    scale = shown["se"] / result["se"]
    for limit in ("lower", "upper"):
        away = (result[limit] - result["partial_auc"]) * scale
        assert shown[limit] - shown["partial_auc"] == pytest.approx(away, rel=1e-9)


def test_whole_tables_say_method_and_level(frame):
    table = frame({"label": [1, 0, 1, 0, 1], "score": [0.9, 0.4, 0.4, 0.6, 0.4]})
    result = rf.auc(table, "label", "score", ci="bootstrap", seed=1, level=0.5).lazy().collect()
    assert result.select("n_pos", "n_neg", "auc", "ci_level", "ci_method", "note").row(0) == (
        *(3, 2, 0.5, 0.5),
        *("bootstrap", None),
    )
    assert 0 < result["lower"][0] < 0.5 < result["upper"][0] < 1


@every_bootstrap
def test_a_class_of_one_row_has_no_interval(ci):
    table = pl.DataFrame({"label": [1, 0, 0, 0], "score": [0.5, 0.4, 0.6, 0.5]})
    row = measured(table, ci).row(0, named=True)
    assert [row[name] for name in ("se", "lower", "upper", "ci_method")] == [None] * 4
    assert row["note"] == "one_positive"


def test_resamples_of_clusters_that_lack_a_class_are_noted():
    table = TIED.with_columns(user=pl.Series([1, 2, 1, 3, 4]))
    row = measured(table, cluster="user", n_boot=800).row(0, named=True)
    assert row["note"].startswith("redrawn:")
    assert abs(int(row["note"].removeprefix("redrawn:")) - 800 / 7) < 60


def test_clusters_of_similar_rows_have_wider_limits():
    table = normal_table(60)
    twice = pl.concat([table.with_columns(user=pl.int_range(pl.len()))] * 4)
    narrow, wide = measured(twice), measured(twice, cluster="user")
    assert wide["se"][0] == pytest.approx(2 * narrow["se"][0], rel=0.25)
    formula = rf.auc(twice, "label", "score", ci="delong", cluster="user")
    assert wide["se"][0] == pytest.approx(formula["se"][0], rel=0.2)


# Seeds


def test_different_seeds_and_no_seed_give_different_results():
    result = [measured(normal_table(50), seed=seed)["se"][0] for seed in (1, 2, None, None)]
    assert len(set(result)) == 4


@pytest.mark.parametrize("number", [1, 2, 3])
def test_any_number_of_threads_gives_the_same_table(number, monkeypatch):
    table = normal_table(3000).with_columns(g=pl.int_range(3000) % 3)
    expected = measured(table, "bootstrap_bca", by="g")
    monkeypatch.setattr(threads, "count_workers", lambda: number)
    threads._pool.cache_clear()
    assert_frame_equal(measured(table, "bootstrap_bca", by="g"), expected, check_exact=True)
    threads._pool.cache_clear()
