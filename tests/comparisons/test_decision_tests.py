"""Tests of decisions at given thresholds: McNemar, Tango, Kosinski, Miettinen and Nurminen."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import comb, inf, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binomtest, norm

import rocframe as rf
from tests.comparisons.tables import near, row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Counts = tuple[int, int, int, int]  # alerts of both models, only of a, only of b, of none
NONE = (0, 0, 0, 0)


def paired(pos: Counts, neg: Counts = NONE) -> pl.DataFrame:
    decisions = list(product([1], [1, 0], [1, 0])) + list(product([0], [1, 0], [1, 0]))
    rows = [(*each, count) for each, count in zip(decisions, (*pos, *neg), strict=True)]
    return pl.DataFrame(rows, schema=["label", "a", "b", "count"], orient="row")


def compare(pos: Counts, neg: Counts = NONE, metric: str = "tpr", **options: Any) -> dict[str, Any]:
    options = {"threshold": 0.5, "count": "count", "metric": metric, **options}
    return row(rf.compare(paired(pos, neg), "label", ["a", "b"], **options))


def two_samples(a: tuple[int, int], b: tuple[int, int]) -> pl.DataFrame:
    """Return positives: in each sample, the number of alerts of a number of rows."""
    counts = [a[0], a[1] - a[0], b[0], b[1] - b[0]]
    return pl.DataFrame(
        {"sample": ["a", "a", "b", "b"], "label": True, "score": [1, 0, 1, 0], "count": counts}
    )


def compare_samples(
    a: tuple[int, int], b: tuple[int, int], metric: str | list[str] = "tpr", **options: Any
) -> dict[str, Any]:
    options = {"threshold": 1, "count": "count", "between": "sample", "metric": metric, **options}
    return row(rf.compare(two_samples(a, b), "label", "score", **options))


# McNemar's tests


def tail(b: int, n: int) -> Fraction:
    """Return P(X <= b) for n rows that are of each kind with probability 1/2."""
    return sum((Fraction(comb(n, k), 2**n) for k in range(b + 1)), Fraction(0))


@pytest.mark.parametrize(("b", "c"), list(product(range(4), repeat=2)))
def test_p_values_are_those_of_all_sequences_of_discordant_rows(b, c):
    n = b + c
    mass = Fraction(comb(n, b), 2**n)
    for alternative, extreme in (("greater", c), ("less", b), ("two-sided", min(b, c))):
        sides = 2 if alternative == "two-sided" else 1
        exact, mid = tail(extreme, n), tail(extreme, n) - mass / 2
        for method, expected in (("mcnemar_exact", exact), ("mcnemar", mid)):
            found = compare((3, b, c, 2), (1, 1, 1, 1), alternative=alternative, method=method)
            assert found["p_value"] == near(float(min(1, sides * expected)))
            assert found["difference"] == near((b - c) / (n + 5))
    exact = compare((3, b, c, 2), method="mcnemar_exact")["p_value"]
    assert exact == near(binomtest(b, n).pvalue if n else 1.0)


# Fagerland, Lydersen and Laake (2013, 2017): airway hyper-responsiveness before and after stem cell
# transplantation (Bentur et al. 2009), complete response before and after consolidation therapy
# (Cavo et al. 2012). The numbers were printed by the authors' package contingencytables.
@pytest.mark.parametrize(
    ("counts", "mid_p", "exact", "limits"),
    [
        ((1, 1, 7, 12), 0.0391, 0.0703, (-0.517, -0.026)),
        ((59, 6, 16, 80), 0.034690, 0.052479, (-0.1240, -0.0054)),
    ],
)
def test_published_examples_of_paired_proportions(counts, mid_p, exact, limits):
    found = compare(counts)
    assert found["p_value"] == pytest.approx(mid_p, abs=5e-5)
    assert compare(counts, method="mcnemar_exact")["p_value"] == pytest.approx(exact, abs=5e-5)
    assert (found["lower"], found["upper"]) == pytest.approx(limits, abs=5e-4)
    assert (found["test"], found["note"]) == ("mcnemar", "no_negatives")


def tango_score(counts: Counts, delta: float) -> float:
    """Return the score statistic, with the likelihood maximized numerically."""
    _, b, c, _ = counts
    n = sum(counts)

    def log_likelihood(only_b: float) -> float:
        cells = ((b, only_b + delta), (c, only_b), (n - b - c, 1 - 2 * only_b - delta))
        return sum(k * np.log(max(p, 1e-300)) for k, p in cells if k)

    ends = max(0.0, -delta), (1 - delta) / 2
    only_b = minimize_scalar(
        lambda p: -log_likelihood(p), bounds=ends, method="bounded", options={"xatol": 1e-13}
    ).x
    return (b - c - n * delta) / sqrt(n * (2 * only_b + delta * (1 - delta)))


@pytest.mark.parametrize("counts", [(1, 1, 7, 12), (30, 9, 4, 7), (2, 6, 0, 5), (0, 3, 5, 0)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_limits_of_a_paired_difference_solve_the_score_equation(counts, level):
    found, z = compare(counts, level=level), norm.ppf((1 + level) / 2)
    for name, bound in (("lower", z), ("upper", -z)):
        limit = brentq(lambda x, bound=bound: tango_score(counts, x) - bound, -0.999, 0.999)
        assert found[name] == pytest.approx(limit, abs=1e-5)
    mirrored = compare((counts[0], counts[2], counts[1], counts[3]), level=level)
    assert (mirrored["lower"], mirrored["upper"]) == near((-found["upper"], -found["lower"]))


@pytest.mark.parametrize(
    ("metric", "sign", "lower_is_better"), [("tpr", 1, False), ("fpr", -1, True)]
)
def test_a_margin_has_the_p_value_of_the_score_test(metric, sign, lower_is_better):
    counts = (30, 5, 9, 6)
    classes = (NONE, counts) if lower_is_better else (counts, NONE)
    margin = 0.2
    found = compare(*classes, metric=metric, baseline="a", margin=margin)
    score = tango_score(counts, sign * margin)
    assert found["statistic"] == pytest.approx(score, abs=1e-6)
    assert found["p_value"] == pytest.approx(norm.sf(-sign * score), abs=1e-6)
    inside = found["upper"] < margin if sign > 0 else found["lower"] > -margin
    assert inside == (found["p_value"] < 0.025)


def test_the_statistic_is_that_of_mcnemars_chi_squared_test():
    for b, c in ((7, 1), (3, 3), (0, 4)):
        assert compare((4, b, c, 4))["statistic"] == near((b - c) / sqrt(b + c))


def test_equal_decisions_have_a_p_value_and_limits():
    expected = {"difference": 0.0, "p_value": 1.0, "statistic": 0.0, "se": None, "note": None}
    for counts in ((5, 0, 0, 0), (0, 0, 0, 5), (2, 0, 0, 3)):
        found = compare(counts, (1, 1, 1, 1))
        assert {name: found[name] for name in expected} == expected
        # Tango's limits without discordant rows are ± z² / (n + z²).
        z = norm.ppf(0.975)
        assert found["upper"] == near(-found["lower"]) == near(z**2 / (5 + z**2))


@pytest.mark.parametrize(
    ("metric", "pos", "neg", "sign"),
    [
        ("tpr", (3, 5, 1, 2), NONE, 1),
        ("fnr", (3, 5, 1, 2), NONE, -1),
        ("fpr", NONE, (3, 5, 1, 2), 1),
        ("specificity", NONE, (3, 5, 1, 2), -1),
        ("alert_rate", (1, 2, 1, 1), (2, 3, 0, 1), 1),
        ("accuracy", (1, 2, 1, 1), (2, 0, 3, 1), 1),
    ],
)
def test_proportions_with_the_same_numbers_have_the_same_test(metric, pos, neg, sign):
    expected, found = compare((3, 5, 1, 2)), compare(pos, neg, metric)
    assert found["difference"] == near(sign * expected["difference"])
    assert (found["p_value"], found["se"]) == near((expected["p_value"], expected["se"]))
    limits = sorted(sign * expected[name] for name in ("lower", "upper"))
    assert [found["lower"], found["upper"]] == near(limits)


# Kosinski's test. The data set Paired1 and the numbers are those printed in the description of the
# R package DTComPair 1.2, whose statistics are squares.
PAIRED1 = (319, 78, 22, 32), (31, 53, 22, 155)


@pytest.mark.parametrize(
    ("metric", "values", "statistic", "p_value"),
    [
        ("precision", (0.82536383, 0.86548223), 5.46588745, 0.01939120),
        ("npv", (0.7662338, 0.6540881), 16.53540, 4.775012e-05),
    ],
)
def test_predictive_values_of_paired1(metric, values, statistic, p_value):
    found = compare(*PAIRED1, metric)
    assert (found[f"{metric}_a"], found[f"{metric}_b"]) == pytest.approx(values, rel=1e-6)
    assert found["statistic"] ** 2 == pytest.approx(statistic, rel=1e-6)
    assert found["p_value"] == pytest.approx(p_value, rel=1e-6)
    assert found["test"] == "kosinski"


def test_complements_of_predictive_values_have_the_same_test():
    for metric in ("precision", "npv"):
        one = compare(*PAIRED1, metric)
        complement = (1 - pl.col(metric)).alias("complement")
        other = compare(*PAIRED1, complement)
        assert other["test"] == "delta"
        assert other["difference"] == near(-one["difference"])
        # The delta method has the same variance, except for the factor n / (n - 1).
        assert other["se"] == pytest.approx(one["se"] * sqrt(712 / 711), rel=1e-6)


@pytest.mark.parametrize("counts", [((2, 0, 0, 1), (1, 0, 0, 2)), ((2, 0, 0, 0), NONE)])
def test_equal_decisions_have_equal_predictive_values(counts):
    found = compare(*counts, "precision")
    assert (found["difference"], found["p_value"], found["statistic"]) == (0, 1, 0)


def test_a_predictive_value_without_alerts_is_null_with_a_note():
    found = compare((0, 2, 0, 1), (0, 1, 0, 3), "precision")
    nulls = ("precision_b", "difference", "lower", "upper", "p_value", "se", "statistic")
    assert [found[name] for name in nulls] == [None] * len(nulls)
    assert found["precision_a"] == near(2 / 3)
    assert found["note"] == "no_solution"


# Miettinen and Nurminen's limits


# Newcombe (1998), Statistics in Medicine 17(8), 873-890, table II, and (the last two) Fagerland,
# Lydersen and Laake (2017), printed by the package contingencytables.
@pytest.mark.parametrize(
    ("a", "b", "limits"),
    [
        ((56, 70), (48, 80), (0.0528, 0.3382)),
        ((9, 10), (3, 10), (0.1700, 0.8406)),
        ((6, 7), (2, 7), (0.0342, 0.8534)),
        ((5, 56), (0, 29), (-0.0326, 0.1933)),
        ((0, 10), (0, 20), (-0.1658, 0.2844)),
        ((0, 10), (0, 10), (-0.2879, 0.2879)),
        ((10, 10), (0, 20), (0.7156, 1.0)),
        ((10, 10), (0, 10), (0.6636, 1.0)),
        ((0, 16), (15, 72), (-0.3164, -0.0056)),
    ],
)
def test_published_limits_of_the_difference_of_two_samples(a, b, limits):
    found = compare_samples(a, b)
    assert (found["lower"], found["upper"]) == pytest.approx(limits, abs=5e-5)
    mirrored = compare_samples(b, a)
    assert (mirrored["lower"], mirrored["upper"]) == near((-found["upper"], -found["lower"]))
    assert found["test"] == "miettinen_nurminen"


def test_published_limits_of_the_ratio_of_two_samples():
    found = compare_samples((7, 34), (1, 34), ["tpr"])  # Perondi et al. (2004)
    limits = found["ratio"], found["ratio_lower"], found["ratio_upper"]
    assert limits == pytest.approx((7, 1.2086, 43.0330), abs=5e-5)


def restricted_score(
    a: tuple[int, int], b: tuple[int, int], p_a: Callable[[float], float], ends: tuple[float, float]
) -> tuple[float, float, float]:
    """Return both proportions with the largest likelihood on a line, and the factor n/(n - 1)."""

    def log_likelihood(p_b: float) -> float:
        return sum(
            k * np.log(max(p, 1e-300)) + (n - k) * np.log(max(1 - p, 1e-300))
            for (k, n), p in ((a, p_a(p_b)), (b, p_b))
        )

    p_b = minimize_scalar(
        lambda p: -log_likelihood(p), bounds=ends, method="bounded", options={"xatol": 1e-13}
    ).x
    n = a[1] + b[1]
    return p_a(p_b), p_b, n / (n - 1)


def difference_score(a: tuple[int, int], b: tuple[int, int], delta: float) -> float:
    ends = max(0, -delta), min(1, 1 - delta)
    p_a, p_b, factor = restricted_score(a, b, lambda p: p + delta, ends)
    variance = factor * (p_a * (1 - p_a) / a[1] + p_b * (1 - p_b) / b[1])
    return (a[0] / a[1] - b[0] / b[1] - delta) / sqrt(variance)


def ratio_score(a: tuple[int, int], b: tuple[int, int], ratio: float) -> float:
    p_a, p_b, factor = restricted_score(a, b, lambda p: ratio * p, (0, min(1, 1 / ratio)))
    variance = factor * (p_a * (1 - p_a) / a[1] + ratio**2 * p_b * (1 - p_b) / b[1])
    return (a[0] / a[1] - ratio * b[0] / b[1]) / sqrt(variance)


@pytest.mark.parametrize(
    ("a", "b"), [((9, 12), (4, 15)), ((2, 40), (7, 30)), ((29, 30), (3, 5)), ((5, 11), (5, 11))]
)
def test_limits_of_two_samples_solve_the_score_equations(a, b):
    found, z = compare_samples(a, b, ["tpr"]), norm.ppf(0.975)
    assert found["statistic"] == pytest.approx(difference_score(a, b, 0), abs=1e-6)
    assert found["p_value"] == pytest.approx(2 * norm.sf(abs(found["statistic"])), rel=1e-9)
    for side, bound in (("lower", z), ("upper", -z)):
        limit = brentq(lambda x, bound=bound: difference_score(a, b, x) - bound, -0.99, 0.99)
        assert found[side] == pytest.approx(limit, abs=1e-5)
        limit = brentq(lambda x, bound=bound: ratio_score(a, b, x) - bound, 0.01, 100)
        assert found[f"ratio_{side}"] == pytest.approx(limit, rel=1e-5)


@pytest.mark.parametrize(
    ("a", "b", "ratios"),
    [
        ((0, 10), (4, 10), (0, 0, None)),
        ((4, 10), (0, 10), (inf, None, inf)),
        ((0, 10), (0, 10), (None, None, None)),
    ],
)
def test_ratios_of_samples_without_alerts(a, b, ratios):
    found = compare_samples(a, b, ["tpr"])
    given = [found[name] for name in ("ratio", "ratio_lower", "ratio_upper")]
    for value, expected in zip(given, ratios, strict=True):
        assert expected is None or value == expected
    if ratios[0] == 0:
        assert ratio_score(a, b, given[2]) == pytest.approx(-norm.ppf(0.975), abs=1e-4)


def test_a_margin_of_two_samples_has_the_p_value_of_the_score_test():
    a, b = (40, 50), (36, 52)
    found = compare_samples(a, b, baseline="a", margin=0.3)
    score = difference_score(a, b, 0.3)
    assert found["statistic"] == pytest.approx(score, abs=1e-6)
    assert found["p_value"] == pytest.approx(norm.cdf(score), rel=1e-5)


# Thresholds


SCORES = {
    "label": [1, 1, 1, 0, 0, 0, 1, 0],
    "a": [0.1, 0.3, 0.7, 0.1, 0.3, 0.2, 0.3, 0.9],
    "b": [0.7, 0.3, 0.1, 0.3, 0.3, 0.1, 0.9, 0.1],
}


@pytest.mark.parametrize("metric", ["tpr", "precision", "f1"])
@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32, pl.Decimal(3, 1), pl.Int8])
def test_scores_at_the_threshold_are_alerts_for_every_type_of_score(metric, dtype):
    table = pl.DataFrame(SCORES)
    threshold: dict[str, float] = {"a": 0.3, "b": 0.7}
    if dtype == pl.Int8:
        table = table.with_columns((pl.col("a", "b") * 10).round())
        threshold = {"a": 3, "b": 7}
    table = table.with_columns(pl.col("a", "b").cast(dtype))
    decisions = pl.DataFrame(SCORES).with_columns(a=pl.col("a") >= 0.3, b=pl.col("b") >= 0.7)
    expected = rf.compare(decisions, "label", ["a", "b"], metric=metric, threshold=1)
    found = rf.compare(table, "label", ["a", "b"], metric=metric, threshold=threshold)
    assert_frame_equal(found, expected)


@pytest.mark.parametrize("lazy", [False, True])
def test_thresholds_of_a_table_are_those_of_models_and_groups(lazy):
    table = pl.concat([pl.DataFrame(SCORES).with_columns(g=pl.lit(g)) for g in ("x", "y")])
    thresholds = pl.DataFrame(
        {"g": ["y", "x", "x", "y"], "model": [*"aabb"], "threshold": [0.7, 0.3, 0.2, 0.1]}
    )
    found = rf.compare(
        table.lazy() if lazy else table,
        "label",
        ["a", "b"],
        by="g",
        metric=["tpr", "f1"],
        threshold=thresholds,
    )
    assert isinstance(found, pl.LazyFrame) == lazy
    parts = [
        rf.compare(
            table.filter(g=g), "label", ["a", "b"], by="g", metric=["tpr", "f1"], threshold=own
        )
        for g, own in (("x", {"a": 0.3, "b": 0.2}), ("y", {"a": 0.7, "b": 0.1}))
    ]
    assert_frame_equal(found.lazy().collect(), pl.concat(parts))
    assert parts[0]["threshold_a"].to_list() == [0.3, 0.3]


def test_a_table_without_key_columns_has_one_threshold():
    table = pl.concat([pl.DataFrame(SCORES).with_columns(g=pl.lit(g)) for g in ("x", "y")])
    options = {"by": "g", "metric": "tpr"}
    point = pl.DataFrame({"threshold": [0.3]})
    found = rf.compare(table, "label", ["a", "b"], threshold=point, **options)
    assert_frame_equal(found, rf.compare(table, "label", ["a", "b"], threshold=0.3, **options))
    none = rf.compare(table, "label", ["a", "b"], threshold=point.head(0), **options)
    assert none["note"].to_list() == ["no_solution"] * 2


METRICS = ["tpr", "precision", "f1"]
RESULTS = ["difference", "lower", "upper", "p_value", "ratio", "se", "statistic"]


@pytest.mark.parametrize(
    "thresholds",
    [
        pl.DataFrame({"g": [*"xxyy"], "model": [*"abab"], "threshold": [0.3, 0.3, None, 0.3]}),
        pl.DataFrame({"g": [*"xxy"], "model": [*"abb"], "threshold": [0.3, 0.3, 0.3]}),
    ],
    ids=["null", "no row"],
)
@pytest.mark.parametrize(
    "options", [{}, {"method": "delta"}, {"method": "bootstrap", "seed": 1, "n_boot": 20}], ids=str
)
def test_a_group_without_a_threshold_is_null_and_changes_no_other_group(thresholds, options):
    table = pl.concat([pl.DataFrame(SCORES).with_columns(g=pl.lit(g)) for g in ("x", "y")])
    options = {"by": "g", "metric": METRICS, **options}
    found = rf.compare(table, "label", ["a", "b"], threshold=thresholds, **options)
    expected = rf.compare(table.filter(g="x"), "label", ["a", "b"], threshold=0.3, **options)
    assert_frame_equal(found.filter(g="x"), expected)
    of_y = found.filter(g="y")
    assert of_y.select([*RESULTS, "estimate_a"]).null_count().row(0) == (3,) * (len(RESULTS) + 1)
    assert of_y["note"].to_list() == ["no_solution"] * 3
    assert of_y["estimate_b"].null_count() == 0
    assert of_y.select("threshold_a", "threshold_b").rows() == [(None, 0.3)] * 3


def unpaired_groups() -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(SCORES)
        .select("label", "a", sex=pl.lit(sex))
        .sort("label", descending=sex == "m")
        for sex in ("f", "m", "x")
    )


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "delta_unpaired"}, {"method": "bootstrap_unpaired", "seed": 1, "n_boot": 20}],
    ids=str,
)
def test_rows_without_a_threshold_are_compared_with_no_other_rows(options):
    thresholds = pl.DataFrame({"sex": ["f", "m", "x"], "threshold": [0.3, None, 0.7]})
    options = {"between": "sex", "metric": METRICS, **options}
    found = rf.compare(unpaired_groups(), "label", "a", threshold=thresholds, **options)
    has_m = (pl.col("model_a") == "m") | (pl.col("model_b") == "m")
    assert found.filter(has_m).select(RESULTS).null_count().row(0) == (6,) * len(RESULTS)
    assert found.filter(has_m)["note"].to_list() == ["no_solution"] * 6
    others = found.filter(~has_m)
    assert others.drop("df").select(RESULTS).null_count().row(0) == (0,) * len(RESULTS)


@pytest.mark.parametrize("threshold", [inf, -inf, 0.0])
def test_infinite_thresholds_are_thresholds(threshold):
    table = pl.DataFrame(SCORES).with_columns(a=pl.lit(-inf), b=pl.lit(inf))
    found = rf.compare(table, "label", ["a", "b"], metric="tpr", threshold=threshold)
    assert found.select("tpr_a", "tpr_b").row(0) == (float(threshold == -inf), 1)


def test_missing_scores_count_as_errors_at_every_threshold():
    table = pl.DataFrame({"label": [1, 1, 1, 0, 0, 0], "a": [1, 1, None, 0, None, 1], "b": 0.5})
    filled = table.with_columns(pl.col("a").fill_null(1 - pl.col("label")).cast(pl.Float64))
    for metric in (*METRICS, "accuracy", "fpr"):
        options = {"metric": metric, "threshold": 0.7}
        for method in ({}, {"method": "delta"}, {"method": "bootstrap", "seed": 1, "n_boot": 50}):
            found = rf.compare(table, "label", ["a", "b"], missing="worst", **options, **method)
            expected = rf.compare(filled, "label", ["a", "b"], **options, **method)
            assert_frame_equal(found, expected)


@pytest.mark.parametrize("metric", METRICS)
def test_a_group_without_positives_has_a_note(metric):
    table = pl.DataFrame({"label": [0, 0, 0], "a": [1, 0, 1], "b": [0, 1, 1]})
    found = row(rf.compare(table, "label", ["a", "b"], metric=metric, threshold=0.5))
    assert found["note"] == "no_positives"
    assert (found[f"{metric}_a"] is None) == (metric == "tpr")


def test_numbers_of_both_classes_are_those_of_the_decisions():
    found = compare((1, 2, 3, 4), (5, 6, 7, 8), "accuracy")
    assert (found["n_paired"], found["n_pos"], found["n_neg"]) == (36, 10, 26)
    values: Sequence[float] = (1 + 2 + 7 + 8) / 36, (1 + 3 + 6 + 8) / 36
    assert (found["accuracy_a"], found["accuracy_b"]) == near(values)


def test_replicates_at_given_thresholds_have_a_row_for_each_group_and_draw():
    table = pl.concat([pl.DataFrame(SCORES).with_columns(g=pl.lit(g)) for g in ("x", "y")])
    found = rf.compare(
        table,
        "label",
        ["a", "b"],
        by="g",
        metric="f1",
        threshold={"a": 0.3, "b": 0.3},
        method="bootstrap",
        n_boot=7,
        seed=1,
        replicates=True,
    )
    assert found["g"].value_counts(sort=True)["count"].to_list() == [7, 7]
