"""`calibration` against loops over rows, limits of scipy and bootstraps that loop."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import binomtest, poisson_binom
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression

import rocframe as rf
from rocframe.kernel import scan as scan_module
from rocframe.probabilities.bins import positive_count_limits

BIN_METHODS = ["quantile", "uniform", "isotonic"]
SMOOTH_METHODS = ["loess", "kernel"]
METHODS = [*BIN_METHODS, *SMOOTH_METHODS]
SCORES = [0.0, 0.1, 0.25, 0.3, 0.5, 0.7, 1.0]
ROWS = st.lists(st.tuples(st.sampled_from(SCORES), st.booleans()), min_size=1, max_size=40)


def frame_of(rows) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"score": pl.Float64, "label": pl.Boolean}, orient="row")


def sample(size: int, seed: int, decimals: int = 2) -> pl.DataFrame:
    """Return rows of two groups whose event rate is the square of the score."""
    rng = np.random.default_rng(seed)
    score = rng.random(size).round(decimals)
    return pl.DataFrame(
        {
            "group": rng.integers(0, 2, size),
            "score": score,
            "label": rng.random(size) < score**2,
            "weight": rng.integers(1, 4, size).astype(float),
        }
    )


@given(rows=ROWS, k=st.integers(1, 8))
@pytest.mark.parametrize("method", ["quantile", "uniform"])
def test_bins_contain_the_rows_of_the_definition(method, rows, k):
    scores = sorted(score for score, _ in rows)

    def number(score):
        if method == "uniform":
            return max(i for i in range(k) if score >= i / k)
        share = Fraction(sum(other < score for other in scores), len(scores))
        return int(k * share)

    expected = []
    for i in sorted({number(score) for score in scores}):
        inside = [(score, label) for score, label in rows if number(score) == i]
        n_pos = sum(label for _, label in inside)
        interval = binomtest(n_pos, len(inside)).proportion_ci(method="wilson")
        expected.append(
            {
                "bin": i,
                "score_mean": sum(score for score, _ in inside) / len(inside),
                "event_rate": n_pos / len(inside),
                "lower": interval.low,
                "upper": interval.high,
                "score_min": min(inside)[0],
                "score_max": max(inside)[0],
                "n": len(inside),
            }
        )
    table = rf.calibration(frame_of(rows), "label", "score", method=method, bins=k)
    expected = pl.DataFrame(expected)
    assert_frame_equal(table.select(expected.columns), expected, abs_tol=1e-12)


@pytest.mark.parametrize("method", BIN_METHODS)
def test_bins_of_groups_do_not_depend_on_the_size_of_blocks(method, monkeypatch):
    options = {"by": "group", "method": method} | ({} if method == "isotonic" else {"bins": 7})
    whole = rf.calibration(sample(900, 5), "label", "score", **options)
    monkeypatch.setattr(scan_module, "BLOCK_ROWS", 16)
    assert_frame_equal(rf.calibration(sample(900, 5), "label", "score", **options), whole)


def test_the_mean_score_of_a_bin_is_between_its_lowest_and_highest_score():
    frame = frame_of([(0.1, True)] * 3 + [(0.3, False)] * 3).with_columns(weight=0.1)
    table = rf.calibration(frame, "label", "score", method="uniform", weight="weight")
    assert table["score_mean"].to_list() == [0.1, 0.3]


@pytest.mark.parametrize(("method", "strategy"), [("quantile", "quantile"), ("uniform", "uniform")])
def test_rates_agree_with_scikit_learn(method, strategy):
    frame = sample(1000, 3, decimals=9)
    rate, mean = calibration_curve(frame["label"], frame["score"], n_bins=10, strategy=strategy)
    table = rf.calibration(frame, "label", "score", method=method)
    if method == "quantile":
        # scikit-learn interpolates the quantiles, so that a bin can have one row more or less.
        assert np.allclose(table["event_rate"], rate, atol=0.02)
        assert table["n"].to_list() == [100] * 10
    else:
        assert np.allclose(table["event_rate"], rate, atol=1e-12)
        assert np.allclose(table["score_mean"], mean, atol=1e-12)


@pytest.mark.parametrize("edges", [[0, 0.01, 0.05, 0.2, 1], [0, 0.1, 0.25, 0.3, 0.5, 0.7, 1]])
@given(rows=ROWS)
def test_bins_with_edges_contain_their_lower_edge(edges, rows):
    table = rf.calibration(
        frame_of(rows), "label", "score", bins=np.array(edges), empty_bins=True, ci=None
    )
    scores, labels = (np.array(values) for values in zip(*rows, strict=True))
    # In numpy as well, the last bin includes its upper edge.
    n, n_pos = (np.histogram(values, edges)[0] for values in (scores, scores[labels]))
    assert table["bin"].to_list() == list(range(len(edges) - 1))
    assert table["n"].to_list() == n.tolist()
    filled = table.filter(pl.col("n") > 0)
    assert filled["event_rate"].to_list() == pytest.approx((n_pos[n > 0] / n[n > 0]).tolist())
    assert set(filled["method"]) == {"edges"}
    for (low, high), own in zip(pairwise(edges), table.iter_rows(named=True), strict=True):
        inside = scores[(low <= scores) & ((scores < high) | (scores == 1) & (high == 1))]
        mean = Fraction(0) + sum(map(Fraction, inside)) / max(1, len(inside))
        assert (own["score_min"], own["score_max"]) == (
            (min(inside), max(inside)) if len(inside) else (None, None)
        )
        assert own["score_mean"] == (pytest.approx(float(mean)) if len(inside) else None)


@pytest.mark.parametrize("options", [{}, {"method": "uniform"}])
def test_equal_edges_are_uniform_bins_whatever_the_method_is(options):
    frame = sample(500, 3)
    edges = [i / 7 for i in range(8)]
    table = rf.calibration(frame, "label", "score", by="group", bins=edges, **options)
    uniform = rf.calibration(frame, "label", "score", by="group", bins=7, method="uniform")
    assert_frame_equal(table, uniform.with_columns(method=pl.lit("edges")))
    errors = rf.calibration_summary(frame, "label", "score", by="group", bins=edges)
    expected = rf.calibration_summary(frame, "label", "score", by="group", bins=7, method="uniform")
    assert_frame_equal(errors, expected)


def test_edges_are_rounded_to_the_dtype_of_the_scores():
    frame = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.01, 0.7, 0.69, 0.0]})
    narrow = frame.with_columns(pl.col("score").cast(pl.Float32))
    for bins in ([0, 0.01, 0.7, 1], [0, 0.7, 1]):
        wide, table = (
            rf.calibration(one, "label", "score", bins=bins, empty_bins=True)
            for one in (frame, narrow)
        )
        assert table["n"].to_list() == wide["n"].to_list()
        error = narrow.select(pl.col("score").roc.ece("label", bins=bins)).item()
        assert error == pytest.approx(
            rf.calibration_summary(narrow, "label", "score", bins=bins).item(0, "ece")
        )


def test_isotonic_levels_agree_with_scikit_learn():
    frame = sample(400, 5).with_columns(pl.col("group").replace_strict({0: "a", 1: "b"}))
    table = rf.calibration(
        frame, "label", "score", by="group", method="isotonic", weight="weight", ci=None
    )
    for (group,), part in frame.group_by("group"):
        fit = IsotonicRegression().fit(part["score"], part["label"], part["weight"])
        levels = table.filter(group=group)
        for name in ("score_min", "score_max"):
            assert np.allclose(fit.predict(levels[name]), levels["event_rate"], atol=1e-12)
        assert levels["n"].sum() == part.height
        assert levels["event_rate"].diff().drop_nulls().gt(0).all()


def test_scores_of_0_and_1_are_in_the_first_and_last_uniform_bin():
    frame = frame_of([(0.0, False), (0.05, False), (0.1, True), (0.95, True), (1.0, True)])
    table = rf.calibration(frame, "label", "score", method="uniform")
    assert table["bin"].to_list() == [0, 1, 9]
    assert table["n"].to_list() == [2, 1, 2]
    assert table["score_min"].to_list() == [0.0, 0.1, 0.95]
    assert table["score_max"].to_list() == [0.05, 0.1, 1.0]


@pytest.mark.parametrize("method", ["quantile", "uniform"])
def test_empty_bins_are_rows_without_values(method):
    frame = pl.DataFrame(
        {"g": ["a", "a", "a", "b"], "label": [1, 0, 0, None], "score": [0.2, 0.2, 0.8, 0.5]}
    )
    options = {"by": "g", "bins": 3, "missing": "drop", "method": method}
    table = rf.calibration(frame, "label", "score", empty_bins=True, **options)
    assert table["g"].to_list() == ["a"] * 3 + ["b"] * 3
    assert table["bin"].to_list() == [0, 1, 2] * 2
    assert table["n"].to_list() == [2, 0, 1, 0, 0, 0]
    assert table["event_rate"].to_list() == [0.5, None, 0.0, None, None, None]
    assert table["note"].to_list() == [
        *("one_positive", "no_rows", "one_positive"),
        *["no_rows"] * 3,
    ]
    empty = table.filter(n=0).select("score_mean", "lower", "upper", "score_min", "ci_method")
    assert empty.null_count().row(0) == (4,) * 5
    without = rf.calibration(frame, "label", "score", **options)
    assert_frame_equal(without, table.filter((pl.col("n") > 0) | (pl.col("bin") == 0)))


@pytest.mark.parametrize("method", METHODS)
def test_a_frame_without_rows_has_one_row_without_groups_and_none_with_groups(method):
    frame = sample(0, 1)
    table = rf.calibration(frame, "label", "score", method=method, consistency=True, seed=1)
    n = 0 if method in BIN_METHODS else None
    assert table.select("bin", "n", "note").rows() == [(0, n, "no_rows")]
    assert rf.calibration(frame, "label", "score", by="group", method=method).is_empty()


def test_a_group_with_one_class_has_rates_and_a_note():
    frame = pl.DataFrame({"g": [1, 1, 2, 2], "label": [1, 1, 0, 1], "score": [0.2, 0.9, 0.4, 0.6]})
    for ci in ("wilson", "bootstrap"):
        table = rf.calibration(frame, "label", "score", by="g", bins=1, ci=ci, seed=1)
        assert table["event_rate"].to_list() == [1.0, 0.5]
        assert table["note"].to_list() == ["no_negatives", "one_positive"]
        assert table["ci_method"].to_list() == ["wilson", ci]


@pytest.mark.parametrize("ci", ["wilson", "clopper_pearson"])
def test_limits_agree_with_scipy(ci):
    frame = sample(300, 8)
    table = rf.calibration(frame, "label", "score", ci=ci, level=0.9)
    method = "wilson" if ci == "wilson" else "exact"
    for rate, lower, upper, n in table.select("event_rate", "lower", "upper", "n").iter_rows():
        interval = binomtest(round(rate * n), n).proportion_ci(0.9, method=method)
        assert (lower, upper) == pytest.approx((interval.low, interval.high), abs=1e-12)
    assert table["ci_method"].unique().to_list() == [ci]
    assert table["ci_level"].unique().to_list() == [0.9]


def test_without_ci_there_are_no_limits():
    table = rf.calibration(sample(50, 8), "label", "score", ci=None)
    names = ["lower", "upper", "ci_level", "ci_method"]
    assert table.select(names).null_count().row(0) == (table.height,) * 4


@pytest.mark.parametrize("method", BIN_METHODS)
def test_n_counts_rows_and_the_rates_are_weighted(method):
    frame = sample(200, 10)
    table = rf.calibration(frame, "label", "score", method=method, weight="weight")
    assert table["n"].sum() == 200
    assert table["ci_method"].null_count() == table.height
    for low, high, rate, mean, n in table.select(
        "score_min", "score_max", "event_rate", "score_mean", "n"
    ).iter_rows():
        part = frame.filter(pl.col("score").is_between(low, high))
        assert n == part.height
        weight = part["weight"].sum()
        assert rate == pytest.approx(part.filter("label")["weight"].sum() / weight, abs=1e-12)
        assert mean == pytest.approx((part["score"] * part["weight"]).sum() / weight, abs=1e-12)


def test_counts_near_the_limit_of_int64_are_exact():
    big = 2**59
    frame = pl.DataFrame({"label": [0, 1, 1], "score": [0.1, 0.5, 0.9], "n": [big, big, big + 1]})
    table = rf.calibration(frame, "label", "score", count="n", bins=3)
    assert table["n"].to_list() == [2 * big, big + 1]
    assert table["bin"].to_list() == [0, 1]


@pytest.mark.parametrize("weight", [None, "weight"])
def test_bootstrap_limits_are_quantiles_over_resamples_with_fixed_bins(weight):
    frame = sample(150, 11)
    table = rf.calibration(
        frame, "label", "score", bins=4, weight=weight, ci="bootstrap", n_boot=8000, seed=2
    )
    rng = np.random.default_rng(12)
    label, score = frame["label"].to_numpy(), frame["score"].to_numpy()
    mass = np.ones(150) if weight is None else frame["weight"].to_numpy()
    times = rng.multinomial(150, np.full(150, 1 / 150), 8000) * mass
    for low, high, lower, upper in table.select(
        "score_min", "score_max", "lower", "upper"
    ).iter_rows():
        inside = (score >= low) & (score <= high)
        rates = (times * (inside & label)).sum(axis=1) / (times * inside).sum(axis=1)
        expected = np.quantile(rates, [0.025, 0.975])
        if expected[0] < expected[1]:
            assert (lower, upper) == pytest.approx(tuple(expected), abs=0.02)
        else:
            assert lower is None if weight else upper > 0


def test_isotonic_bootstrap_limits_are_quantiles_of_refitted_regressions():
    frame = sample(60, 13, decimals=1)
    table = rf.calibration(
        frame, "label", "score", method="isotonic", ci="bootstrap", n_boot=2000, seed=3
    )
    rng = np.random.default_rng(14)
    label, score = frame["label"].to_numpy().astype(float), frame["score"].to_numpy()
    values = []
    for _ in range(400):
        rows = rng.integers(0, 60, 60)
        fit = IsotonicRegression(out_of_bounds="clip").fit(score[rows], label[rows])
        values.append(fit.predict(table["score_mean"].to_numpy()))
    expected = np.quantile(values, [0.025, 0.975], axis=0)
    varies = table["lower"].is_not_null().to_numpy()
    assert np.allclose(table["lower"].to_numpy()[varies], expected[0][varies], atol=0.05)
    assert np.allclose(table["upper"].to_numpy()[varies], expected[1][varies], atol=0.05)
    assert np.allclose(expected[0][~varies], expected[1][~varies])
    assert table["note"].to_list() == [None if ok else "zero_variance" for ok in varies]


def test_the_draws_of_a_group_depend_on_its_key_only():
    frame = sample(200, 15)
    options = {"by": "group", "ci": "bootstrap", "n_boot": 100, "seed": 1, "bins": 3}
    both = rf.calibration(frame, "label", "score", **options)
    one = rf.calibration(frame.filter(group=1), "label", "score", **options)
    assert_frame_equal(both.filter(group=1), one)


def test_resamples_without_rows_in_a_bin_are_omitted_and_counted():
    frame = frame_of([(0.1, False), (0.1, True), *[(0.9, True), (0.9, False)] * 8])
    table = rf.calibration(
        frame, "label", "score", method="uniform", ci="bootstrap", n_boot=1000, seed=1
    )
    redrawn = int(table["note"][0].removeprefix("redrawn:"))
    assert redrawn == pytest.approx(1000 * (1 - 2 / 18) ** 18, abs=50)
    assert table["note"][1] is None


def test_a_bin_with_an_event_rate_of_0_or_1_has_wilson_limits():
    frame = frame_of([(0.1, False)] * 5 + [(0.9, True), (0.9, False), (0.95, True)])
    table = rf.calibration(frame, "label", "score", method="uniform", bins=2, ci="bootstrap")
    assert table["ci_method"].to_list() == ["wilson", "bootstrap"]
    interval = binomtest(0, 5).proportion_ci(method="wilson")
    assert table["upper"][0] == pytest.approx(interval.high, abs=1e-12)


def test_scores_of_dropped_rows_can_be_outside_0_and_1():
    dropped = pl.DataFrame({"label": pl.Series([None, None], dtype=pl.Int64), "score": [-1.5, 2.0]})
    assert rf.calibration(dropped, "label", "score", missing="drop")["n"].to_list() == [0]


def binned_labels(frame, table, weight, draws=20000):
    """Return the quantiles of each bin if rows are positive with the probability of their score."""
    rng = np.random.default_rng(31)
    score = frame["score"].to_numpy()
    label = rng.random((draws, len(score))) < score
    mass = np.ones(len(score)) if weight is None else frame[weight].to_numpy()
    for low, high in table.select("score_min", "score_max").iter_rows():
        inside = (score >= low) & (score <= high)
        rates = (label * mass)[:, inside].sum(axis=1) / mass[inside].sum()
        yield np.quantile(rates, [0.025, 0.975])


def test_consistency_limits_of_bins_are_those_of_the_poisson_binomial_distribution():
    frame = sample(300, 21)
    for method in ("quantile", "uniform"):
        table = rf.calibration(
            frame, "label", "score", by="group", method=method, consistency=True, level=0.9
        )
        for group, low, high, n, lower, upper in table.select(
            "group", "score_min", "score_max", "n", "consistency_lower", "consistency_upper"
        ).iter_rows():
            inside = frame.filter(pl.col("score").is_between(low, high), group=group)
            cdf = poisson_binom(inside["score"].to_numpy()).cdf(np.arange(n + 1))
            assert round(lower * n) == np.argmax(cdf > 0.05)
            assert round(upper * n) == np.argmax(cdf >= 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("beta", [(0.2, 5), (5, 0.2), (0.3, 0.3), (3, 3)])
def test_limits_of_many_rows_are_those_of_the_poisson_binomial_distribution(beta):
    rng = np.random.default_rng(33)
    differences = []
    for n in (1, 7, 300, 3000):
        p = np.append(rng.beta(*beta, n), [0.0, 1.0])
        rows = np.ones(n + 2, int)
        lower, upper = positive_count_limits(p, rows, np.array([0, n + 2]), 0.95)
        cdf = poisson_binom(p).cdf(np.arange(n + 3))
        differences += [lower[0] - np.argmax(cdf > 0.025), upper[0] - np.argmax(cdf >= 0.975)]
    assert np.abs(differences).max() <= 1
    assert np.count_nonzero(differences) <= 1


@pytest.mark.slow
def test_consistency_limits_of_weighted_bins_are_quantiles_over_labels():
    frame = sample(150, 22)
    table = rf.calibration(
        frame, "label", "score", bins=4, weight="weight", consistency=True, n_boot=20000, seed=5
    )
    limits = table.select("consistency_lower", "consistency_upper").rows()
    for limit, expected in zip(limits, binned_labels(frame, table, "weight"), strict=True):
        assert limit == pytest.approx(tuple(expected), abs=0.015)


@pytest.mark.slow
def test_consistency_limits_of_isotonic_levels_are_quantiles_over_labels():
    frame = sample(80, 23, decimals=1)
    table = rf.calibration(
        frame, "label", "score", method="isotonic", consistency=True, n_boot=8000, seed=6
    )
    rng = np.random.default_rng(24)
    score, at = frame["score"].to_numpy(), table["score_mean"].to_numpy()
    values = [
        IsotonicRegression().fit(score, (rng.random(80) < score).astype(float)).predict(at)
        for _ in range(1000)
    ]
    expected = np.quantile(values, [0.025, 0.975], axis=0)
    assert np.allclose(table["consistency_lower"], expected[0], atol=0.05)
    assert np.allclose(table["consistency_upper"], expected[1], atol=0.05)


def test_consistency_limits_exist_for_one_class_and_for_certain_scores():
    frame = frame_of([(0.0, False), (0.0, False), (0.5, False), (1.0, False)])
    for method in METHODS:
        options = {"method": method, "consistency": True, "n_boot": 50, "seed": 1}
        table = rf.calibration(frame, "label", "score", **options)
        limits = table.select("consistency_lower", "consistency_upper")
        assert sum(limits.null_count().row(0)) == 0, method
        assert limits.min_horizontal().min() >= 0
        if method == "uniform":
            assert limits.rows() == [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0)]


@pytest.mark.parametrize("method", SMOOTH_METHODS)
def test_points_of_a_smooth_curve_are_on_an_even_grid(method):
    frame = sample(400, 25, decimals=4)
    table = rf.calibration(frame, "label", "score", by="group", method=method, grid=11)
    assert table["bin"].to_list() == [*range(11), *range(11)]
    for (group,), part in frame.group_by("group"):
        points = table.filter(group=group)
        ends = part.select(pl.col("score").min(), pl.col("score").max().alias("high")).row(0)
        assert np.allclose(points["score_mean"], np.linspace(*ends, 11), atol=1e-12)
        assert np.abs(points["event_rate"] - points["score_mean"] ** 2).median() < 0.1
    assert table.select("n", "score_min", "score_max", "lower", "upper").null_count().row(0) == (
        (22,) * 5
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", SMOOTH_METHODS)
def test_bootstrap_limits_of_a_smooth_curve_are_quantiles_of_curves_of_resamples(method):
    frame = sample(120, 26)
    options = {"method": method, "grid": 9}
    if method == "kernel":
        options["bandwidth"] = 0.1
    table = rf.calibration(frame, "label", "score", ci="bootstrap", n_boot=2000, seed=7, **options)
    at = table["score_mean"].to_numpy()
    resamples = pl.concat(
        [
            frame.sample(fraction=1, with_replacement=True, seed=i).with_columns(i=i)
            for i in range(300)
        ]
    )
    curves = rf.calibration(resamples, "label", "score", by="i", **{**options, "grid": 101})
    values = [
        np.interp(at, curve["score_mean"], curve["event_rate"])
        for curve in curves.partition_by("i")
    ]
    expected = np.quantile(values, [0.025, 0.975], axis=0)
    assert np.allclose(table["lower"], expected[0], atol=0.06)
    assert np.allclose(table["upper"], expected[1], atol=0.06)
    assert table["ci_method"].unique().to_list() == ["bootstrap"]


def test_bootstrap_limits_of_a_kernel_estimate_do_not_depend_on_the_number_of_points():
    # The event rate has a peak at 0.27, which is narrower than the grid of 11 points.
    rng = np.random.default_rng(0)
    score = np.append((rng.random(500) * 0.5).round(3), [0.0, 0.9])
    label = rng.random(502) < np.where(np.abs(score - 0.27) < 0.02, 0.9, 0.1)
    frame = pl.DataFrame({"label": label, "score": score})
    options = {"method": "kernel", "bandwidth": 0.01, "ci": "bootstrap", "n_boot": 50, "seed": 1}
    few, many = (
        rf.calibration(frame, "label", "score", grid=grid, consistency=True, **options)
        for grid in (11, 101)
    )
    columns = ["score_mean", "event_rate", "lower", "upper", "consistency_lower", "note"]
    assert_frame_equal(few.select(columns), many.select(columns)[::10], abs_tol=1e-12)


def test_points_without_an_event_rate_have_no_limits():
    # No row is near the points from 0.3 to 0.8. The density at 0.85 is slightly too low; resamples
    # with several copies of the last row have a sufficient density there.
    low = np.round(np.linspace(0.1, 0.2, 2000), 6)
    frame = pl.DataFrame({"label": [0, 1] * 1000 + [1], "score": [*low, 0.9]})
    options = {"method": "kernel", "bandwidth": 0.05 / 5.45, "grid": 17, "n_boot": 50, "seed": 1}
    table = rf.calibration(
        frame, "label", "score", ci="bootstrap", consistency=True, **options
    ).filter(pl.col("score_mean").is_between(0.28, 0.86))
    assert table["score_mean"].max() == pytest.approx(0.85)
    limits = ["event_rate", "lower", "upper", "consistency_lower", "consistency_upper"]
    assert table.select(limits).null_count().row(0) == (table.height,) * 5
    assert table["note"].unique().to_list() == ["no_rows"]


def test_groups_without_a_usable_row_or_class_change_no_other_group():
    good = sample(300, 27).with_columns(pl.col("label").cast(pl.Int64))
    bad = pl.DataFrame(
        {
            "group": [7, 8, 8, 9, None],
            "score": [None, 0.5, 0.6, 0.1, 0.3],
            "label": [1, 1, 1, None, 0],
            "weight": [1.0, 1.0, 2.0, 3.0, 0.0],
        }
    )
    for method in METHODS:
        for weight in (None, "weight") if method == "quantile" else ("weight",):
            options = {"by": "group", "method": method, "missing": "drop", "weight": weight}
            options |= {"ci": "bootstrap", "n_boot": 20, "seed": 1, "consistency": True}
            expected = rf.calibration(good, "label", "score", **options)
            table = rf.calibration(pl.concat([bad, good]), "label", "score", **options)
            assert_frame_equal(table.filter(pl.col("group") < 2), expected)
            notes = dict(
                table.filter((pl.col("group") > 2).fill_null(True)).select("group", "note").rows()
            )
            assert notes == {
                None: "no_rows" if weight else "no_positives",
                7: "no_rows",
                8: "no_negatives",
                9: "no_rows",
            }


def test_the_level_is_given_if_there_are_limits_of_either_kind():
    frame = sample(50, 8)
    for options, expected in (
        ({"ci": None}, None),
        ({"ci": None, "consistency": True}, 0.9),
        ({"method": "isotonic"}, None),
        ({}, 0.9),
    ):
        table = rf.calibration(frame, "label", "score", level=0.9, **options)
        assert table["ci_level"].unique().to_list() == [expected]


@pytest.mark.parametrize("method", ["quantile", "kernel"])
def test_several_models_have_the_rows_of_each_model(method):
    frame = sample(200, 30).with_columns(other=pl.col("score") / 2)
    options = {"by": "group", "method": method, "consistency": True, "n_boot": 10, "seed": 1}
    table = rf.calibration(frame, "label", {"b": "score", "a": "other"}, **options)
    assert table.columns[:3] == ["group", "model", "bin"]
    assert table["model"].unique(maintain_order=True).to_list() == ["a", "b"]
    random = ["consistency_lower", "consistency_upper"]
    for model, score in (("b", "score"), ("a", "other")):
        alone = rf.calibration(frame, "label", score, **options).drop(random)
        assert_frame_equal(table.filter(model=model).drop("model", *random), alone)


@pytest.mark.parametrize("method", ["uniform", "isotonic"])
def test_complete_clusters_are_drawn(method):
    frame = sample(200, 35, decimals=1).with_row_index("user")
    copies = pl.concat([frame] * 5)
    options = {"method": method, "ci": "bootstrap", "n_boot": 4000, "seed": 3}
    once = rf.calibration(frame, "label", "score", **options)
    clustered = rf.calibration(copies, "label", "score", cluster="user", **options)
    rows = rf.calibration(copies, "label", "score", **options)
    inner = once["lower"].is_not_null() & clustered["lower"].is_not_null()
    inner &= once["event_rate"].is_between(0.05, 0.95)
    assert inner.sum() >= 4
    for name in ("lower", "upper"):
        assert np.allclose(once[name].filter(inner), clustered[name].filter(inner), atol=0.04)
    width, narrow = (
        (table["upper"] - table["lower"]).filter(inner).mean() for table in (clustered, rows)
    )
    assert width == pytest.approx(narrow * np.sqrt(5), rel=0.2)
    without = rf.calibration(copies, "label", "score", cluster="user", method=method)
    assert without["lower"].null_count() == without.height
