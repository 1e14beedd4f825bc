"""Column names, notes and confidence limits of averages."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf


def log(seed: int = 1, size: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "side": rng.choice(["buy", "sell"], size),
            "fold": rng.integers(0, 4, size),
            "label": rng.random(size) < 0.4,
            "score": rng.random(size),
            "w": rng.integers(1, 4, size) / 2,
        }
    )


def test_binomial_limits_weight_each_fold_by_its_rows():
    rows = [(0, 4), (1, 1000)]
    predictions = pl.DataFrame(
        {
            "fold": [fold for fold, pos in rows for _ in range(pos + 2)],
            "label": [i < pos for _, pos in rows for i in range(pos + 2)],
            "score": [i % 2 for _, pos in rows for i in range(pos + 2)],
        }
    )
    curves = rf.curve(predictions, "label", "score", by="fold")
    mean = rf.average(curves, over="fold", grid=[0.5], ci="binomial")
    p = mean["tpr"].item()
    expected = math.sqrt(p * (1 - p) * (1 / 4 + 1 / 1000) / 4)
    assert mean["tpr_se"].item() == pytest.approx(expected, rel=1e-12)


POOLED = {
    "tpr": ({"method": "vertical", "grid": [0.3]}, ["tp"], ["tp", "fn"]),
    "fpr": ({"method": "horizontal", "grid": [0.6]}, ["fp"], ["fp", "tn"]),
    "fnr": ({"kind": "det", "method": "threshold", "grid": [0.4]}, ["fn"], ["tp", "fn"]),
    "alert_rate": (
        {"kind": "gain", "method": "threshold", "grid": [0.4], "weights": "rows"},
        ["tp", "fp"],
        ["tp", "fp", "fn", "tn"],
    ),
    "accuracy": (
        {"fixed": "threshold", "metrics": "accuracy", "grid": [0.4]},
        ["tp", "tn"],
        ["tp", "fp", "fn", "tn"],
    ),
}


@pytest.mark.parametrize("rate", POOLED)
def test_binomial_limits_are_wilson_limits_of_the_pooled_counts(rate):
    options, part, whole = POOLED[rate]
    curves = rf.curve(log(), "label", "score", by="fold")
    mean = rf.average(curves, over="fold", ci="binomial", level=0.9, **options)
    counts = {"metrics": ["tp", "fp", "fn", "tn"], "weights": "equal", "ci": None}
    fixed = {"vertical": "fpr", "horizontal": "tpr"}.get(options.get("method"), "threshold")
    at = rf.average(curves, over="fold", fixed=fixed, grid=options["grid"], **counts)
    hits, rows = (sum(at[name].item() for name in names) * 4 for names in (part, whole))
    z = NormalDist().inv_cdf(0.95)
    lower, upper = mean[f"{rate}_lower"].item(), mean[f"{rate}_upper"].item()
    assert lower < hits / rows < upper
    assert lower < mean[rate].item() < upper
    # The distance of Wilson's limits from the rate is z standard errors, computed at the limits.
    for limit in (lower, upper):
        distance = abs(hits / rows - limit)
        assert distance == pytest.approx(z * math.sqrt(limit * (1 - limit) / rows), rel=1e-9)


def test_binomial_limits_of_rates_of_0_and_1_differ():
    flat = pl.DataFrame({"fold": i % 2, "label": i < 20, "score": i < 20} for i in range(40))
    curves = rf.curve(flat, "label", "score", by="fold")
    mean = rf.average(curves, grid=[0, 1], method="threshold", ci="binomial")
    z2 = NormalDist().inv_cdf(0.975) ** 2
    low, high = z2 / (20 + z2), 20 / (20 + z2)
    assert mean.select("fpr_lower", "fpr_upper", "tpr_lower", "tpr_upper").rows() == [
        pytest.approx((0, low, high, 1)),
        pytest.approx((high, 1, high, 1)),
    ]
    assert mean.select("fpr_se", "tpr_se", "note").rows() == [(None, None, None)] * 2


def test_binomial_limits_include_the_mean_of_folds_of_different_sizes():
    rows = [(0, 2, 0), (1, 400, 400)]  # fold, positives, positives with a high score
    predictions = pl.DataFrame(
        {"fold": fold, "label": i < pos, "score": float(i < high)}
        for fold, pos, high in rows
        for i in range(pos + 2)
    )
    curves = rf.curve(predictions, "label", "score", by="fold")
    mean = rf.average(curves, method="threshold", grid=[1], ci="binomial")
    z2 = NormalDist().inv_cdf(0.975) ** 2
    assert mean.select("tpr", "tpr_lower").row(0) == (0.5, 0.5)
    limit, pooled = mean["tpr_upper"].item(), 400 / 402
    assert (limit - pooled) ** 2 == pytest.approx(z2 * limit * (1 - limit) / 402)


@pytest.mark.parametrize("interval", ["corrected", "t", "normal", "bootstrap"])
def test_folds_with_equal_values_have_no_limits_and_a_note(interval):
    first = log().filter(fold=0)
    same = pl.concat(first.with_columns(fold=pl.lit(fold)) for fold in range(3))
    options = {"ci": interval, "grid": 7}
    options |= {"n_boot": 30, "seed": 1} if interval == "bootstrap" else {}
    curves = rf.curve(same, "label", "score", by="fold", count=None)
    for method, axes in (("vertical", ["tpr"]), ("threshold", ["fpr", "tpr"])):
        mean = rf.average(curves, method=method, **options)
        limits = [f"{axis}_{part}" for axis in axes for part in ("se", "lower", "upper")]
        assert mean.select(limits).null_count().row(0) == (7,) * len(limits)
        assert mean["note"].to_list() == ["zero_variance"] * 7
        assert mean[f"{axes[0]}_sd"].to_list() == [0.0] * 7
    assert rf.average(curves, ci=None, grid=2)["note"].to_list() == [None] * 2
    single = rf.average(curves.filter(fold=0), **options)
    assert single["note"].to_list() == ["one_curve"] * 7


def test_rates_that_differ_by_rounding_have_no_limits():
    # Each curve is the diagonal, interpolated between two rows with different counts.
    sizes = [3, 7, 9, 11, 13]
    tied = pl.DataFrame(
        {"fold": n, "label": i < n, "score": 0.0} for n in sizes for i in range(2 * n)
    )
    curves = rf.curve(tied, "label", "score", by="fold")
    mean = rf.average(curves, grid=[i / 10 for i in range(11)])
    assert mean["tpr"].to_list() == pytest.approx([i / 10 for i in range(11)])
    assert mean["tpr_lower"].to_list() == [None] * 11
    assert mean["note"].to_list() == ["zero_variance"] * 11


def test_bootstrap_limits_are_the_replicates_at_the_positions_p_times_n_plus_1():
    # The curves have the FPR 0, 1, 2 and 3 quarters at threshold 1. With 3 resamples, the
    # positions of the quantiles 1/4 and 3/4 are 1 and 3: the limits are extremes of the means.
    values = pl.DataFrame(
        {"fold": fold, "label": i < 1, "score": float(1 <= i <= fold)}
        for fold in range(4)
        for i in range(5)
    )
    curves = rf.curve(values, "label", "score", by="fold")
    options = {"method": "threshold", "grid": [1], "ci": "bootstrap", "n_boot": 3}
    for seed in range(10):
        mean = rf.average(curves, level=0.5, seed=seed, **options)
        limits = mean.select("fpr_lower", "fpr_upper").row(0)
        assert all(limit is None or (16 * limit).is_integer() for limit in limits)
        if limits[0] is not None:
            low, high = limits
            # The standard deviation of three values with these extremes gives the third one.
            third = [
                np.std([low, middle / 16, high], ddof=1)
                for middle in range(int(16 * low), int(16 * high) + 1)
            ]
            assert np.isclose(third, mean["fpr_se"].item()).any()


@pytest.mark.parametrize("weights", ["equal", "rows"])
def test_bootstrap_limits_at_a_point_resample_the_curves_with_a_value_at_this_point(weights):
    unscored = pl.when((pl.col("fold") == 3) & pl.col("label") & (pl.col("score") < 0.5))
    predictions = log().with_columns(score=unscored.then(None).otherwise("score"))
    curves = rf.curve(predictions, "label", "score", by="fold", missing="worst")
    options = {"method": "horizontal", "ci": "bootstrap", "n_boot": 50, "seed": 1}
    options["weights"] = weights
    alone = rf.average(curves, grid=[0.9], **options)
    assert alone["n_curves"].to_list() == [3]
    for grid in ([0.1, 0.9], [0.9, 1.0]):
        among_others = rf.average(curves, grid=grid, **options).filter(pl.col("tpr") == 0.9)
        assert_frame_equal(among_others, alone, rel_tol=1e-12)
    complete = rf.average(curves.filter(pl.col("fold") != 3), grid=[0.9], **options)
    assert_frame_equal(alone.drop("note"), complete.drop("note"), rel_tol=1e-12)


def test_a_mean_without_limits_has_a_note():
    single = pl.DataFrame(
        {
            "fold": [0, 0, 0, 1, 1, 1, 1],
            "label": [1, 0, 0, 1, 1, 0, 0],
            "score": [3, 2, 1, 4, 1, 2, 3],
        }
    )
    found = rf.fold_auc(single, "label", "score").row(0, named=True)
    assert (found["se"], found["lower"], found["note"]) == (None, None, "one_positive")
    perfect = single.with_columns(score="label", fold=pl.Series([0, 0, 1, 0, 1, 1, 0]))
    flat = rf.fold_auc(perfect, "label", "score").row(0, named=True)
    assert flat["se"] is None
    assert flat["note"] in {"one_positive", "one_negative", "zero_variance"}


def test_a_chart_mentions_limits_only_if_there_are_limits():
    curves = rf.curve(log(), "label", "score", by="fold")
    for interval, output in ((None, False), ("t", True)):
        chart = rf.average(curves, over="fold", ci=interval).roc.chart()
        assert (
            "with 95 % pointwise intervals" in chart.to_dict(validate=False)["description"]
        ) == output


@pytest.mark.parametrize("level", [Decimal("0.75"), Fraction(3, 4), np.float32(0.75)], ids=repr)
def test_the_level_may_be_any_type_of_number(level):
    curves = rf.curve(log(), "label", "score", by="fold")
    draws = {"n_boot": 20, "seed": 1}
    for options in ({"ci": "t"}, {"ci": "bootstrap", **draws}):
        found = rf.average(curves, level=level, **options)
        assert_frame_equal(found, rf.average(curves, level=0.75, **options))
    found = rf.fold_auc(log(), "label", "score", level=level)
    assert_frame_equal(found, rf.fold_auc(log(), "label", "score", level=0.75))


GREATEST = 1.7976931348623157e308


@pytest.mark.parametrize("size", [1e200, GREATEST / 4, 2.0**-1070])
def test_thresholds_of_any_size_have_a_mean_and_a_standard_deviation(size):
    unit_scores = pl.DataFrame(
        {
            "fold": [0, 0, 1, 1, 2, 2],
            "label": [1, 0] * 3,
            "score": [2.0, -2.0, 0.0, -3.0, -1.0, -4.0],
        }
    )
    rows = unit_scores.with_columns(pl.col("score") * size)
    options = {"grid": [0, 1], "fixed": "fpr", "metrics": "tpr"}
    unit, mean = (
        rf.average(rf.curve(table, "label", "score", by="fold"), **options)
        for table in (unit_scores, rows)
    )
    for name in ("threshold_mean", "threshold_sd"):
        expected = [value * size for value in unit[name].to_list()]
        assert mean[name].to_list() == pytest.approx(expected, rel=1e-12, abs=2e-323), name
    assert rf.fold_auc(rows, "label", "score")["mean_auc"].item() == 1


def test_a_standard_deviation_beyond_the_range_of_floats_is_null():
    rows = pl.DataFrame(
        {
            "fold": [0, 0, 1, 1],
            "label": [1, 0, 1, 0],
            "score": [GREATEST, 0.0, -GREATEST / 2, -GREATEST],
        }
    )
    curves = rf.curve(rows, "label", "score", by="fold")
    mean = rf.average(curves, grid=[0], ci="t")
    assert mean["threshold_mean"].item() == pytest.approx(GREATEST / 4)
    assert mean["threshold_sd"].to_list() == [None]
    nearest = rf.average(curves, fixed="threshold", grid=[0.9 * GREATEST], nearest=True)
    assert nearest["tpr"].item() == 1


@pytest.mark.parametrize("size", [1e-200, 1e300])
def test_weights_of_curves_are_relative(size):
    curves = rf.curve(log(), "label", "score", by="fold")
    for interval in ("corrected", "binomial"):
        expected = rf.average(curves, weights={0: 1, 1: 2, 2: 3, 3: 4}, ci=interval)
        weights = {fold: (fold + 1) * size for fold in range(4)}
        assert_frame_equal(rf.average(curves, weights=weights, ci=interval), expected)


def test_metrics_of_any_size_have_limits():
    curves = rf.curve(log(), "label", "score", by="fold")
    for size in (1e200, 1e306, 1e-300):
        options = {"fixed": "threshold", "grid": [0.5], "ci": "t"}
        hits = pl.col("tp").cast(pl.Float64)
        expected = rf.average(curves, metrics=hits.alias("x"), **options)
        mean = rf.average(curves, metrics=(hits * size).alias("x"), **options)
        for name in ("x", "x_sd", "x_se", "x_lower", "x_upper"):
            assert mean[name].item() / size == pytest.approx(expected[name].item(), rel=1e-9)
