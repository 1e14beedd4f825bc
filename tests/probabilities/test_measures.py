"""Measures of calibration against definitions that loop over rows, scipy and exact fractions."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from rocframe.kernel import scan as scan_module
from rocframe.kernel.scan import Scan
from rocframe.probabilities import calibration_summary as measures
from rocframe.probabilities.bins import Binning, isotonic_bins, probability_bins
from rocframe.probabilities.losses import find_points
from rocframe.probabilities.regression import loess
from tests.probabilities.scans import scan_of

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference" / "loess.json").read_text(encoding="utf-8")
)
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 12).map(lambda i: Fraction(i, 12)), st.booleans()),
    min_size=1,
    max_size=40,
)
EDGES = [0, 0.05, 0.25, 0.5, 1]
METHODS = {
    "quantile": lambda scan, bins: probability_bins(scan, Binning.parse("quantile", bins)),
    "uniform": lambda scan, bins: probability_bins(scan, Binning.parse("uniform", bins)),
    "edges": lambda scan, _: probability_bins(scan, Binning.parse("quantile", EDGES)),
    "isotonic": lambda scan, _: isotonic_bins(scan),
}


def every_measure(scan: Scan, method: str = "quantile") -> dict[str, np.ndarray]:
    bins, points = METHODS[method](scan, 4), find_points(scan)
    z, z_p = measures.spiegelhalter(scan)
    return {
        "ece": measures.ece(scan, bins),
        "mce": measures.mce(scan, bins),
        "smooth_ece": measures.smooth_ece(points),
        **measures.curve_errors(points)._asdict(),
        "z": z,
        "z_p": z_p,
        **measures.hosmer_lemeshow(scan, bins)._asdict(),
    }


def simulated(seed: int, n: int = 300) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    score = rng.integers(0, 40, n) / 40
    return rng.integers(0, 3, n), score, rng.random(n) < score**1.5


@given(rows=ROWS)
@pytest.mark.parametrize("method", METHODS)
def test_the_errors_of_bins_are_exact(method, rows):
    group, score, positive = zip(*rows, strict=True)
    scan = scan_of(group, score, positive)
    bins = METHODS[method](scan, 4)
    expected_errors, largest_errors = [], []
    for number, name in enumerate(sorted(set(group))):
        members = [(p, y) for other, p, y in rows if other == name]
        inside = bins.group == number
        parts = [
            [(p, y) for p, y in members if low <= float(p) <= high]
            for low, high in zip(bins.score_min[inside], bins.score_max[inside], strict=True)
        ]
        errors = [
            abs(Fraction(sum(y for _, y in part), len(part)) - sum(p for p, _ in part) / len(part))
            for part in parts
        ]
        n = len(members)
        expected_errors.append(
            float(sum(len(part) * e for part, e in zip(parts, errors, strict=True)) / n)
        )
        largest_errors.append(float(max(errors)))
    assert measures.ece(scan, bins) == pytest.approx(expected_errors, abs=1e-14)
    assert measures.mce(scan, bins) == pytest.approx(largest_errors, abs=1e-14)


def test_a_worked_example_of_the_errors_of_bins():
    # Bins [0, 0.5) and [0.5, 1]: rates 1/4 and 1, mean scores 0.25 and 0.75.
    scan = scan_of([0] * 6, [0.1, 0.2, 0.3, 0.4, 0.5, 1.0], [0, 0, 0, 1, 1, 1])
    bins = probability_bins(scan, Binning.parse("uniform", 2))
    assert measures.ece(scan, bins) == pytest.approx([0.5 / 6])
    assert measures.mce(scan, bins) == pytest.approx([0.25])


@given(rows=ROWS)
def test_spiegelhalters_z_is_the_standardized_brier_score(rows):
    group, score, positive = (np.array(c, float) for c in zip(*rows, strict=True))
    z, p_value = measures.spiegelhalter(scan_of(group, score, positive))
    for number, name in enumerate(np.unique(group)):
        p, y = score[group == name], positive[group == name]
        brier, expected = np.mean((y - p) ** 2), np.mean(p * (1 - p))
        with np.errstate(divide="ignore", invalid="ignore"):
            standardized = (brier - expected) / (
                np.sqrt(np.sum((1 - 2 * p) ** 2 * p * (1 - p))) / len(p)
            )
        if set(p) <= {0.0, 0.5, 1.0}:
            assert np.isnan(z[number]) or np.isinf(z[number])
        else:
            assert z[number] == pytest.approx(standardized, abs=1e-10)
            assert p_value[number] == pytest.approx(2 * stats.norm.sf(abs(standardized)), abs=1e-10)


def test_a_positive_with_the_score_0_makes_z_and_the_hosmer_lemeshow_statistic_infinite():
    scan = scan_of([0, 0, 1, 1, 2], [0.0, 0.0, 0.0, 1.0, 0.5], [1, 0, 0, 1, 1])
    z, p_value = measures.spiegelhalter(scan)
    assert z == pytest.approx([np.inf, np.nan, np.nan], nan_ok=True)
    assert p_value == pytest.approx([0, np.nan, np.nan], nan_ok=True)
    test = measures.hosmer_lemeshow(scan, probability_bins(scan, Binning()))
    assert test.statistic.tolist() == [np.inf, 0, 1]
    assert test.df.tolist() == [1, 0, 1]
    assert test.p_value == pytest.approx([0, np.nan, 1], nan_ok=True)


@pytest.mark.parametrize("n_fitted", [0, 2])
def test_hosmer_lemeshow_sums_the_squared_pearson_residuals_of_deciles(n_fitted):
    rng = np.random.default_rng(7)
    score = rng.beta(2, 2, 500)
    positive = rng.random(500) < score**1.2
    scan = scan_of([0] * 500, score, positive)
    test = measures.hosmer_lemeshow(scan, probability_bins(scan, Binning()), n_fitted=n_fitted)
    statistic, mean_of_statistic, variance = 0.0, 0.0, 0.0
    for part in np.array_split(np.argsort(score), 10):
        n, mean = len(part), score[part].mean()
        divisor = n * mean * (1 - mean)
        statistic += (positive[part].sum() - n * mean) ** 2 / divisor
        # Moments of (O - E)², from the moments of the sum of the centered labels.
        p = score[part]
        second = (p * (1 - p)).sum()
        fourth = 3 * second**2 + (p * (1 - p) * (1 - 6 * p * (1 - p))).sum()
        mean_of_statistic += second / divisor
        variance += (fourth - second**2) / divisor**2
    assert test.statistic == pytest.approx([statistic])
    assert test.df.tolist() == [10 - n_fitted]
    df, scale = 10 - n_fitted, 1
    if not n_fitted:
        df, scale = 2 * mean_of_statistic**2 / variance, variance / (2 * mean_of_statistic)
    assert test.p_value == pytest.approx([stats.chi2.sf(statistic / scale, df)])


@pytest.mark.parametrize("weights", [None, [0.5, 4.0]])
@pytest.mark.parametrize(
    ("n", "shape"), [(30, (1, 1)), (30, (1, 9)), (100, (1, 9)), (100, (1, 49))]
)
def test_the_hosmer_lemeshow_test_of_few_calibrated_scores_keeps_its_level(n, shape, weights):
    rng = np.random.default_rng(10)
    group = np.repeat(np.arange(2000), n)
    score = rng.beta(*shape, len(group))
    weight = () if weights is None else (rng.choice(weights, len(group)),)
    scan = scan_of(group, score, rng.random(len(group)) < score, *weight)
    test = measures.hosmer_lemeshow(scan, probability_bins(scan, Binning()))
    assert 0.02 < np.mean(test.p_value < 0.05) < 0.065


@pytest.mark.parametrize("weights", [None, [0.5, 4.0]])
def test_calibrated_scores_are_rejected_with_the_probability_of_the_level(weights):
    rng = np.random.default_rng(8)
    group = np.repeat(np.arange(2000), 200)
    score = rng.uniform(0.1, 0.9, len(group))
    label = rng.random(len(group)) < score
    weight = None if weights is None else rng.choice(weights, len(group))
    scan = scan_of(group, score, label, weight)
    _, p_value = measures.spiegelhalter(scan)
    test = measures.hosmer_lemeshow(scan, probability_bins(scan, Binning()))
    for values in (p_value, test.p_value):
        assert np.mean(values < 0.05) == pytest.approx(0.05, abs=0.015)
        assert weights or np.mean(values < 0.5) == pytest.approx(0.5, abs=0.04)


def test_errors_of_the_curve_are_those_of_val_prob_with_a_curve_within_0_and_1():
    score, positive = (np.array(REFERENCE[name]) for name in ("score", "label"))
    errors = np.abs(score - np.clip(REFERENCE["lowess"], 0, 1))
    found = measures.curve_errors(find_points(scan_of([0] * len(score), score, positive)))
    assert found.ici == pytest.approx([errors.mean()], abs=1e-7)
    assert found.e50 == pytest.approx([np.median(errors)], abs=1e-7)
    e90 = np.quantile(errors, 0.9, method="averaged_inverted_cdf")
    assert found.e90 == pytest.approx([e90], abs=1e-7)
    assert found.e_max == pytest.approx([errors.max()], abs=1e-7)


@given(rows=ROWS, counts=st.lists(st.integers(1, 3), min_size=40, max_size=40))
def test_percentiles_of_errors_count_the_rows_of_each_score(rows, counts):
    group, score, positive = (np.array(c, float) for c in zip(*rows, strict=True))
    count = np.array(counts[: len(rows)])
    points = find_points(scan_of(group, score, positive, count=count))
    curve = loess(points)
    found = measures.curve_errors(points)
    for number, name in enumerate(np.unique(group)):
        p = np.repeat(score[group == name], count[group == name])
        errors = np.abs(p - curve.at(np.full(len(p), number), p))
        for value, share in ((found.e50, 0.5), (found.e90, 0.9)):
            expected = np.quantile(errors, share, method="averaged_inverted_cdf")
            assert value[number] == pytest.approx(expected, abs=1e-9)


def test_reduced_scores_change_the_errors_of_the_curve_by_less_than_0_0005():
    rng = np.random.default_rng(10)
    score = rng.beta(1, 3, 30_000)
    points = find_points(scan_of([0] * 30_000, score, rng.random(30_000) < score**1.3))
    curve = loess(points)
    errors = np.abs(score - curve.at(np.zeros(len(score), int), score))
    expected = [errors.mean(), np.median(errors), np.quantile(errors, 0.9), errors.max()]
    assert np.allclose(np.ravel(measures.curve_errors(points)), expected, atol=5e-4, rtol=0)


@pytest.mark.parametrize("factor", [0.25, 3.0])
def test_a_common_factor_of_all_weights_changes_no_measure(factor):
    group, score, positive = simulated(15)
    weight = np.random.default_rng(16).choice([0.5, 1.0, 2.5], len(group))
    a = every_measure(scan_of(group, score, positive, weight))
    b = every_measure(scan_of(group, score, positive, factor * weight))
    for name, values in a.items():
        assert values == pytest.approx(b[name], abs=1e-9), name


def test_measures_do_not_depend_on_other_groups_or_on_the_size_of_blocks(monkeypatch):
    group, score, positive = simulated(17)
    together = every_measure(scan_of(group, score, positive))
    monkeypatch.setattr(scan_module, "BLOCK_ROWS", 16)
    split = every_measure(scan_of(group, score, positive))
    for name, values in together.items():
        assert split[name] == pytest.approx(values, abs=1e-12), name
        for number in range(3):
            rows = group == number
            (alone,) = every_measure(scan_of(group[rows], score[rows], positive[rows]))[name]
            assert alone == pytest.approx(values[number], abs=1e-9), name


def test_a_group_without_weight_has_no_measures_and_changes_no_other_group():
    group, score, positive = simulated(18)
    alone = every_measure(scan_of(group[group > 0], score[group > 0], positive[group > 0]))
    found = every_measure(scan_of(group, score, positive, (group > 0).astype(float)))
    for name, values in found.items():
        assert values[1:] == pytest.approx(alone[name], abs=1e-9), name
        if name != "df":
            assert np.isnan(values[0]), name
    assert found["df"][0] == 0


def test_rows_without_weight_have_no_measures():
    found = every_measure(scan_of([0, 0], [0.2, 0.7], [0, 1], np.zeros(2)))
    assert found.pop("df").tolist() == [0]
    assert all(np.isnan(values).tolist() == [True] for values in found.values())


def test_the_median_error_of_an_even_number_of_rows_is_exact_for_the_last_of_many_groups():
    group = np.repeat(np.arange(50_000), 4)
    score = np.tile([0.1, 0.2, 0.4, 0.8], 50_000)
    points = find_points(scan_of(group, score, np.tile([0, 0, 1, 1], 50_000)))
    medians = measures.curve_errors(points).e50
    assert np.ptp(medians) < 1e-12
