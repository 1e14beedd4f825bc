"""Comparisons by influence values and by the bootstrap, of metrics beyond areas."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, matthews_corrcoef, precision_score, roc_curve

import rocframe as rf
from rocframe.comparisons import comparison_tests
from tests.comparisons.tables import near, row

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def models(seed: int, rows: int = 40, groups: int = 1) -> pl.DataFrame:
    """Return probabilities by two models, without ties."""
    rng = np.random.default_rng(seed)
    size = rows * groups
    label = rng.random(size) < 0.4
    shared = label + rng.normal(size=size)
    scores = {m: 1 / (1 + np.exp(0.5 - shared - rng.normal(size=size))) for m in "ab"}
    return pl.DataFrame(
        {
            "id": np.arange(size),
            "g": np.repeat(np.arange(groups), rows),
            "label": label,
            **scores,
            "w": rng.integers(1, 5, size) / 2,
            "count": rng.integers(1, 4, size),
            "user": rng.integers(0, 12, size),
        }
    )


def compare(table: pl.DataFrame, metric: str, **options: Any) -> dict[str, Any]:
    options = {"method": "delta", "count": None, **options}
    return row(rf.compare(table, "label", ["a", "b"], metric=metric, **options))


def thresholded(metric: Callable[..., float]) -> Callable[[Floats, Floats, Floats], float]:
    return lambda y, score, w: metric(y, score >= 0.5, sample_weight=w)


def ks(y: Floats, score: Floats, w: Floats) -> float:
    fpr, tpr, _ = roc_curve(y, score, sample_weight=w)
    return float(np.max(tpr - fpr))


def slope(y: Floats, score: Floats, w: Floats) -> float:
    fit = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky")
    return float(fit.fit(np.log(score / (1 - score))[:, None], y, sample_weight=w).coef_[0, 0])


# The function, the change of a weight for its derivative, and whether both classes are random.
FUNCTIONS: dict[str, tuple[Any, float, bool, dict[str, float]]] = {
    "f1": (thresholded(f1_score), 1e-6, True, {"threshold": 0.5}),
    "mcc": (thresholded(matthews_corrcoef), 1e-6, True, {"threshold": 0.5}),
    "precision": (thresholded(precision_score), 1e-6, True, {"threshold": 0.5}),
    "ks": (ks, 1e-6, False, {}),
    "calibration_slope": (slope, 1e-3, True, {}),
}


@pytest.mark.parametrize("metric", FUNCTIONS)
def test_the_variance_is_the_sum_of_squared_derivatives(metric):
    function, step, is_together, options = FUNCTIONS[metric]
    table = models(1)
    y, a, b = (table[name].to_numpy().astype(float) for name in ("label", "a", "b"))

    def difference(weight: Floats) -> float:
        return float(function(y, a, weight) - function(y, b, weight))

    slopes = np.array(
        [
            (difference(1 + step * unit) - difference(1 - step * unit)) / (2 * step)
            for unit in np.eye(len(y))
        ]
    )
    classes = [np.ones(len(y), bool)] if is_together else [y == 1, y == 0]
    variance = sum(
        own.sum() / (own.sum() - 1) * ((slopes[own] - slopes[own].mean()) ** 2).sum()
        for own in classes
    )
    found = compare(table, metric, **options)
    assert found["difference"] == near(difference(np.ones(len(y))), 1e-6)
    assert found["se"] == pytest.approx(sqrt(variance), rel=1e-4)
    assert found["statistic"] == near(found["difference"] / found["se"])
    assert found["p_value"] == near(2 * student.sf(abs(found["statistic"]), found["df"]))
    half = student.ppf(0.975, found["df"]) * found["se"]
    limits = found["difference"] - half, found["difference"] + half
    assert (found["lower"], found["upper"]) == near(limits)


def test_the_test_of_the_gini_coefficient_is_delongs_test():
    for options in ({}, {"weight": "w"}, {"cluster": "user"}, {"count": "count"}):
        gini = compare(models(3), "gini", **options)
        area = compare(models(3), "auc", method="delong_t", **options)
        names = ("p_value", "statistic", "df")
        assert [gini[name] for name in names] == near([area[name] for name in names], 1e-9)
        assert gini["se"] == near(2 * area["se"], 1e-9)


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "f1 at a threshold": ("f1", {"threshold": 0.5}),
    "alerts at a threshold": ("alerts", {"threshold": 0.5}),
    "recall at an alert rate": ("recall", {"alert_rate": 0.3}),
    "recall at alerts": ("recall", {"alerts": 9}),
    "precision at a tpr": ("precision", {"tpr": 0.5}),
    "ks": ("ks", {}),
    "average precision": ("average_precision", {}),
    "calibration slope": ("calibration_slope", {}),
}
every_case = pytest.mark.parametrize(("metric", "options"), CASES.values(), ids=CASES)
ESTIMATES = ["difference", "lower", "upper", "p_value", "se"]


@every_case
def test_single_rows_as_clusters_weights_of_1_and_counts_of_1_change_nothing(metric, options):
    table = models(4).with_columns(one=1.0, single=1)
    expected = compare(table, metric, **options)
    for role in ({"cluster": "id"}, {"weight": "one"}, {"count": "single"}):
        found = compare(table, metric, **options, **role)
        assert [found[name] for name in ESTIMATES] == near(
            [expected[name] for name in ESTIMATES], 1e-9
        )


@every_case
def test_counted_rows_are_repeated_rows(metric, options):
    table = models(5)
    repeated = table.select(pl.all().repeat_by("count")).explode(pl.all())
    scale = {"alerts": 18} if "alerts" in options else {}
    expected = compare(repeated, metric, **options | scale)
    found = compare(table, metric, count="count", **options | scale)
    assert [found[name] for name in ESTIMATES] == near([expected[name] for name in ESTIMATES], 1e-9)
    assert found["n_paired"] == repeated.height


@every_case
def test_rows_that_are_repeated_in_their_cluster_have_the_variance_of_single_rows(metric, options):
    table = models(6)
    twice = pl.concat([table, table])
    single = compare(table, metric, cluster="id", **options)
    scale = {"alerts": 18} if "alerts" in options else {}
    found = compare(twice, metric, cluster="id", **options | scale)
    factor = 2 if metric == "alerts" else 1
    # The window of the event rate at an estimated threshold depends on the number of rows.
    tolerance = 0.15 if {"alerts", "alert_rate", "tpr"} & options.keys() else 1e-9
    assert found["difference"] == near(factor * single["difference"])
    assert found["se"] == pytest.approx(factor * single["se"], rel=tolerance)


@every_case
def test_the_unit_of_weights_changes_nothing(metric, options):
    if "alerts" in options or metric == "alerts":
        return  # sums of weights
    table = models(7)
    expected = compare(table, metric, weight="w", **options)
    scaled = compare(table.with_columns(pl.col("w") * 1e-3), metric, weight="w", **options)
    assert [scaled[name] for name in ESTIMATES] == near(
        [expected[name] for name in ESTIMATES], 1e-6
    )


@pytest.mark.slow
@every_case
def test_the_bootstrap_has_a_similar_standard_error(metric, options):
    table = models(8, rows=1500)
    scale = {"alerts": 300} if "alerts" in options else {}
    delta = compare(table, metric, **options | scale)
    resampled = compare(table, metric, method="bootstrap", seed=1, n_boot=1000, **options | scale)
    assert resampled["difference"] == near(delta["difference"])
    assert resampled["se"] == pytest.approx(delta["se"], rel=0.12)


@every_case
def test_unpaired_tests_have_the_variances_of_both_models(metric, options):
    table = models(9)
    # No row is the same, so the covariance of the two models is 0.
    other = models(10).with_columns(pl.col("id") + 100)
    joined = pl.concat([table.select("label", score="a"), other.select("label", score="b")])
    joined = joined.with_columns(model=pl.Series(["a"] * 40 + ["b"] * 40))
    found = row(
        rf.compare(joined, "label", "score", metric=[metric], method="delta_unpaired", **options)
    )
    squares = []
    for part, model in ((table, "a"), (other, "b")):
        # The difference between a model and two constant scores has the variance of the model.
        perfect = part.select("label", model=model, perfect=pl.col("label").cast(float))
        squares.append(
            rf.compare(
                perfect, "label", ["model", "perfect"], metric=[metric], method="delta", **options
            )
        )
    assert found["n_paired"] is None
    if metric in {"ks", "f1"}:  # those of a perfect model have a variance of 0
        variances = [each["se"].item() ** 2 for each in squares]
        assert found["se"] ** 2 == near(sum(variances), 1e-9)


@pytest.mark.parametrize("method", ["delta", "bootstrap", "delta_unpaired", "bootstrap_unpaired"])
@pytest.mark.parametrize(("label", "note"), [(0, "no_positives"), (1, "no_negatives")])
def test_a_group_with_one_class_is_null_and_changes_no_other_group(method, label, note):
    table = models(10, groups=2)
    table = table.with_columns(label=pl.when(g=1).then(bool(label)).otherwise("label"))
    options = {"by": "g", "method": method, "seed": 1, "n_boot": 20, "count": None}
    for metric, point in (("ks", {}), ("recall", {"fpr": 0.2}), ("f1", {"threshold": 0.5})):
        found = rf.compare(table, "label", ["a", "b"], metric=metric, **point, **options)
        alone = rf.compare(
            table.filter(g=0), "label", ["a", "b"], metric=metric, **point, **options
        )
        assert_frame_equal(found.filter(g=0), alone)
        of_group = row(found, g=1)
        assert of_group["note"] == note
        assert metric == "f1" or of_group["difference"] is None


def test_the_equal_error_rate_is_tested_by_the_bootstrap_only():
    options = {"metric": "eer", "seed": 1, "n_boot": 5}
    table = models(12).drop("count")
    assert rf.compare(table, "label", ["a", "b"], **options)["test"].item() == "bootstrap"
    with pytest.raises(rf.OptionValueError, match="does not compare the metric 'eer'"):
        rf.compare(table, "label", ["a", "b"], method="delta", **options)


def test_tied_scores_are_one_threshold():
    table = models(11, rows=300).with_columns(pl.col("a", "b").round(1))
    found = compare(table, "recall", alert_rate=0.3, method="bootstrap", seed=1, n_boot=50)
    for model in "ab":
        curve = rf.curve(table, "label", model, count=None)
        assert found[f"recall_{model}"] == rf.at(curve, alert_rate=0.3)["tpr"].item()
    same = table.with_columns(b="a")
    equal = compare(same, "recall", alert_rate=0.3, method="delta")
    assert (equal["difference"], equal["se"], equal["p_value"]) == (0, None, 1)


def test_defaults_are_bootstrap_tests_where_the_point_is_estimated():
    tests = {
        name: row(
            rf.compare(
                models(12), "label", ["a", "b"], metric=metric, count=None, n_boot=5, **point
            )
        )["test"]
        for name, (metric, point) in CASES.items()
    }
    assert tests == {
        "f1 at a threshold": "delta",
        "alerts at a threshold": "delta",
        "recall at an alert rate": "bootstrap",
        "recall at alerts": "bootstrap",
        "precision at a tpr": "bootstrap",
        "ks": "bootstrap",
        "average precision": "bootstrap",
        "calibration slope": "delta",
    }


@pytest.mark.parametrize(("metric", "df"), [("ks", 11), ("average_precision", 11), ("eer", None)])
@pytest.mark.parametrize("method", ["bootstrap", "bootstrap_unpaired"])
def test_bootstrap_tests_of_ks_are_t_tests(metric, df, method):
    table = models(13).sort("label", descending=True)
    table = pl.concat([table.filter("label").head(12), table.filter(~pl.col("label"))])
    found = compare(table, metric, method=method, seed=1, n_boot=200)
    if df is None:
        assert found["df"] is None
    elif method == "bootstrap":
        assert found["df"] == df
    else:  # Welch's degrees of freedom
        assert df <= found["df"] <= 2 * df


# Rows far from the thresholds of all resamples are merged.
POINTS: list[dict[str, Any]] = [
    {"metric": "recall", "alerts": 60},
    {"metric": "precision", "alert_rate": 0.02},
    {"metric": "recall", "fpr": 0.01},
    {"metric": "fpr", "tpr": 0.98},
    {"metric": "recall", "alert_rate": 0},
    {"metric": "recall", "alert_rate": 1},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", POINTS, ids=str)
def test_merged_rows_have_the_same_estimates_and_the_same_distribution(options, monkeypatch):
    table = models(14, rows=4000, groups=2).with_columns(
        a=pl.when(pl.col("id") % 1009 == 0).then(None).otherwise("a"), b=pl.col("b").round(2)
    )
    options = {"by": "g", "missing": "worst", "method": "bootstrap", "count": "count", **options}
    rows = []
    resampled_pair = comparison_tests._resampled_pair

    def counted(comparison, pair):
        rows.append(len(comparison.batch.rows))
        return resampled_pair(comparison, pair)

    def results() -> pl.DataFrame:
        return rf.compare(table, "label", ["a", "b"], seed=1, n_boot=1000, **options)

    monkeypatch.setattr(comparison_tests, "_resampled_pair", counted)
    found = results()
    monkeypatch.setattr(comparison_tests, "_merge_distant_rows", lambda comparison: comparison)
    expected = results()
    assert rows[0] < 0.7 * rows[1]
    random = ["lower", "upper", "p_value", "p_adjusted", "se", "statistic"]
    assert_frame_equal(found.drop(random), expected.drop(random))
    # Two standard deviations of 1,000 resamples differ by 3.2 % (standard error).
    if expected["se"].null_count():
        assert found["se"].null_count() == 2
    else:
        assert found["se"].to_list() == pytest.approx(expected["se"].to_list(), rel=0.1)
