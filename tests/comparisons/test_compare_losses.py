"""Comparisons of the Brier score, the logarithmic loss and the average precision."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import log, sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats

import rocframe as rf
from tests.comparisons.tables import holm, near, row
from tests.comparisons.test_bootstrap_test import is_the_variance
from tests.strategies import examples

LOSSES = ["brier", "log_loss"]
every_loss = pytest.mark.parametrize("metric", LOSSES)


def row_losses(metric: str, label: np.ndarray, p: np.ndarray) -> np.ndarray:
    if metric == "brier":
        return (p - label) ** 2
    return -np.log(np.where(label, p, 1 - p).clip(2**-52, 1 - 2**-52))


def simulated(seed: int, rows: int = 50, groups: int = 1) -> pl.DataFrame:
    """Return three models with the same labels, on the same rows, with some equal scores."""
    rng = np.random.default_rng(seed)
    size = rows * groups
    label = rng.random(size) < 0.4
    latent = label + rng.normal(size=size)
    models = {m: np.round(1 / (1 + np.exp(0.5 - latent - rng.normal(size=size))), 2) for m in "abc"}
    return pl.DataFrame(
        {
            "id": np.arange(size),
            "g": np.repeat(np.arange(groups), rows),
            "label": label,
            **models,
            "weight": rng.integers(1, 5, size) / 2,
            "count": rng.integers(1, 4, size),
            "user": rng.integers(0, 12, size),
        }
    ).sample(fraction=1, shuffle=True, seed=seed)


def long(table: pl.DataFrame) -> pl.DataFrame:
    return table.unpivot(
        ["a", "b", "c"], index=["id", "g", "label"], variable_name="model", value_name="score"
    ).sample(fraction=1, shuffle=True, seed=3)


def compare(table: pl.DataFrame, metric: str, **options: object) -> pl.DataFrame:
    return rf.compare(table, "label", ["a", "b"], metric=metric, **{"count": None, **options})


def test_two_models_of_four_rows_by_hand(frame):
    # Losses of a: 1/16, 1/4, 1/4, 0; of b: 1/4, 1/4, 9/16, 1/16. Differences: -3/16, 0, -5/16 and
    # -1/16, with the mean -9/64 and the squared deviations 9, 81, 121 and 25 / 64².
    predictions = frame(
        {"label": [1, 1, 0, 0], "a": [0.75, 0.5, 0.5, 0.0], "b": [0.5, 0.5, 0.75, 0.25]}
    )
    found = rf.compare(predictions, "label", ["a", "b"], metric="brier")
    se = sqrt((9 + 81 + 121 + 25) / 64**2 / 3 / 4)
    statistic = -9 / 64 / se
    p_value = 2 * stats.t(3).sf(-statistic)
    expected = pl.DataFrame(
        {
            "model_a": ["a"],
            "model_b": ["b"],
            "difference": [-9 / 64],
            "lower": [-9 / 64 - stats.t(3).ppf(0.975) * se],
            "upper": [-9 / 64 + stats.t(3).ppf(0.975) * se],
            "p_value": [p_value],
            "p_adjusted": [p_value],
            "se": [se],
            "statistic": [statistic],
            "df": [3.0],
            "brier_a": [9 / 64],
            "brier_b": [18 / 64],
            "n_paired": [4],
            "n_pos": [2],
            "n_neg": [2],
            "ci_level": [0.95],
            "test": ["t_test"],
            "note": pl.Series([None], dtype=pl.String),
        }
    )
    assert_frame_equal(found, frame(expected), rel_tol=1e-14, abs_tol=0)


@every_loss
def test_paired_tests_are_those_of_scipy(metric, frame):
    table = simulated(1, groups=3)
    found = rf.compare(
        frame(table), "label", ["a", "b", "c"], by="g", metric=metric, count=None, level=0.9
    )
    found = found.lazy().collect()
    pairs = {}
    for line in found.iter_rows(named=True):
        rows = table.filter(g=line["g"])
        a, b = (
            row_losses(metric, rows["label"].to_numpy(), rows[line[name]].to_numpy())
            for name in ("model_a", "model_b")
        )
        test = stats.ttest_rel(a, b)
        limits = test.confidence_interval(0.9)
        assert line[f"{metric}_a"] == near(a.mean())
        assert line[f"{metric}_b"] == near(b.mean())
        assert line["difference"] == line[f"{metric}_a"] - line[f"{metric}_b"]
        assert line["statistic"] == near(test.statistic)
        assert line["p_value"] == near(test.pvalue, 1e-11)
        assert (line["lower"], line["upper"]) == (near(limits.low), near(limits.high))
        assert (line["df"], line["n_paired"], line["test"]) == (49, 50, "t_test")
        pairs.setdefault(line["g"], []).append(line)
    assert len(found) == 9
    for lines in pairs.values():
        adjusted = holm([line["p_value"] for line in lines])
        assert [line["p_adjusted"] for line in lines] == pytest.approx(adjusted)


@every_loss
def test_unpaired_tests_are_those_of_scipy(metric):
    table = simulated(2, rows=60)
    rows = pl.concat(
        [
            table.head(25).select("label", score="a", model=pl.lit("a")),
            table.tail(35).select("label", score="b", model=pl.lit("b")),
        ]
    )
    found = row(rf.compare(rows, "label", "score", metric=metric, method="t_test_unpaired"))
    a, b = (
        row_losses(metric, part["label"].to_numpy(), part["score"].to_numpy())
        for part in rows.partition_by("model", maintain_order=True)
    )
    test = stats.ttest_ind(a, b, equal_var=False)
    limits = test.confidence_interval(0.95)
    assert (found[f"{metric}_a"], found[f"{metric}_b"]) == (near(a.mean()), near(b.mean()))
    assert found["statistic"] == near(test.statistic)
    assert found["df"] == near(test.df)
    assert found["p_value"] == near(test.pvalue, 1e-11)
    assert (found["lower"], found["upper"]) == (near(limits.low), near(limits.high))
    assert found["n_paired"] is None
    assert found["test"] == "t_test_unpaired"


@examples(1 / 2)
@given(
    rows=st.lists(
        st.tuples(
            st.booleans(),
            st.integers(0, 8),
            st.integers(0, 8),
            st.integers(0, 3),
            st.integers(0, 3),
            st.integers(1, 2),
        ),
        min_size=1,
        max_size=12,
    ),
    options=st.sampled_from(
        [
            {},
            {"weight": "w"},
            {"count": "n"},
            {"weight": "w", "count": "n"},
            {"cluster": "user"},
            {"cluster": "user", "weight": "w"},
        ]
    ),
)
def test_standard_errors_are_those_of_the_formula(rows, options):
    names = ["label", "a", "b", "user", "w", "n"]
    table = pl.DataFrame(rows, schema=names, orient="row").with_columns(pl.col("a", "b") / 8)
    found = row(compare(table, "brier", **options))
    cases = []
    for label, a, b, user, w, n in rows:
        weight = Fraction(w) if "weight" in options else Fraction(1)
        difference = Fraction((8 * label - a) ** 2 - (8 * label - b) ** 2, 64)
        if weight:
            cases.append((weight, n if "count" in options else 1, user, difference))
    total = sum(weight * n for weight, n, _, _ in cases)
    if not total:
        assert (found["difference"], found["note"]) == (None, "no_rows")
        return
    mean = sum(weight * n * difference for weight, n, _, difference in cases) / total
    assert found["difference"] == near(float(mean))
    assert found["n_paired"] == sum(n for _, n, _, _ in cases)
    terms = [
        (weight * (difference - mean) / total, n, user) for weight, n, user, difference in cases
    ]
    if "cluster" in options:
        users = {user for _, _, user in terms}
        squares = [sum(n * term for term, n, own in terms if own == user) ** 2 for user in users]
        units = len(users)
    else:
        squares = [n * term**2 for term, n, _ in terms]
        units = sum(n for _, n, _ in terms)
    if units < 2:
        assert found["se"] is None
        return
    variance = float(Fraction(units, units - 1) * sum(squares))
    assert (found["se"] or 0) ** 2 == pytest.approx(variance, rel=1e-11, abs=1e-28)
    assert found["df"] == (units - 1 if variance else None)


def test_a_margin_tests_whether_a_loss_is_at_most_that_much_higher():
    table = simulated(6)
    plain = row(compare(table, "brier"))
    found = row(compare(table, "brier", baseline="a", margin=0.02))
    statistic = (plain["difference"] + 0.02) / plain["se"]
    assert found["statistic"] == near(statistic)
    assert found["p_value"] == near(stats.t(49).sf(statistic), 1e-11)
    rng = np.random.default_rng(3)
    truth = rng.random(2000)
    models = {"good": truth, "bad": (truth + rng.random(2000)) / 2}
    rows = pl.DataFrame({"label": rng.random(2000) < truth, **models})
    for options in ({}, {"method": "bootstrap", "seed": 1, "n_boot": 100}):
        p = [
            row(
                rf.compare(
                    rows, "label", [*models], metric="brier", baseline=old, margin=0.01, **options
                )
            )["p_value"]
            for old in ("bad", "good")
        ]
        assert p[0] < 1e-6
        assert p[1] > 0.9


def test_alternatives_are_about_the_sign_of_the_difference():
    sides = {
        side: row(compare(simulated(7), "log_loss", alternative=side))["p_value"]
        for side in ("two-sided", "greater", "less")
    }
    assert sides["greater"] + sides["less"] == near(1.0)
    assert sides["two-sided"] == near(2 * min(sides["greater"], sides["less"]))


# Bootstrap

ROWS = [(1, 0.9, 0.4), (1, 0.5, 0.9), (0, 0.5, 0.5), (0, 0.1, 0.4), (0, 0.3, 0.8)]


def average_precision(rows: list[tuple[int, float]]) -> float:
    positives = sum(label for label, _ in rows)
    total, before = 0.0, 0
    for threshold in sorted({score for _, score in rows}, reverse=True):
        alerts = [label for label, score in rows if score >= threshold]
        total += (sum(alerts) - before) * sum(alerts) / len(alerts)
        before = sum(alerts)
    return total / positives


def mean_loss(metric: str):
    def mean(rows: list[tuple[int, float]]) -> float:
        label, p = map(np.array, zip(*rows, strict=True))
        return row_losses(metric, label, p).mean()

    return mean


@pytest.mark.parametrize("metric", ["average_precision", *LOSSES])
def test_the_bootstrap_error_is_that_of_all_resamples_with_both_classes(metric):
    measure = average_precision if metric == "average_precision" else mean_loss(metric)
    table = pl.DataFrame(ROWS, schema=["label", "a", "b"], orient="row")
    found = row(compare(table, metric, method="bootstrap", seed=1, n_boot=20_000))
    assert found[f"{metric}_a"] == near(measure([line[:2] for line in ROWS]))
    assert found[f"{metric}_b"] == near(measure([line[::2] for line in ROWS]))
    resamples = [rows for rows in product(ROWS, repeat=5) if {line[0] for line in rows} == {0, 1}]
    differences = [
        measure([line[:2] for line in rows]) - measure([line[::2] for line in rows])
        for rows in resamples
    ]
    assert is_the_variance(found["se"], differences, 20_000)
    assert found["statistic"] == near(found["difference"] / found["se"])
    note = "few_rows:2" if metric == "average_precision" else "redrawn:"
    assert found["note"].startswith(note)
    if metric == "average_precision":
        # The reference is the t distribution with the number of positives minus 1.
        df = sum(line[0] for line in ROWS) - 1
        assert found["df"] == df
        assert found["p_value"] == near(2 * stats.t.sf(abs(found["statistic"]), df))
    else:
        assert found["df"] is None


def test_the_default_method_depends_on_the_metric():
    table = simulated(8)
    found = {
        metric: row(compare(table, metric, n_boot=10, seed=1))["test"]
        for metric in ("auc", "average_precision", *LOSSES)
    }
    assert [*found.values()] == ["delong_t", "bootstrap", "t_test", "t_test"]


@every_loss
def test_bootstrap_and_t_test_agree_for_many_rows(metric):
    table = simulated(9, rows=4000)
    for options in ({}, {"weight": "weight"}, {"cluster": "id"}, {"count": "count"}):
        t_test = row(compare(table, metric, **options))
        bootstrap = row(compare(table, metric, method="bootstrap", seed=1, n_boot=400, **options))
        assert bootstrap["difference"] == near(t_test["difference"])
        assert bootstrap["se"] == pytest.approx(t_test["se"], rel=0.15)


def test_average_precision_of_weighted_rows_is_that_of_summary():
    table = simulated(10)
    found = row(compare(table, "average_precision", weight="weight", seed=1, n_boot=10))
    expected = rf.summary(table, "label", ["a", "b"], weight="weight", count=None)
    values = [found["average_precision_a"], found["average_precision_b"]]
    assert values == pytest.approx(expected["average_precision"].to_list(), rel=1e-12)


# Undefined results


@pytest.mark.parametrize("method", ["t_test", "t_test_unpaired"])
def test_a_group_with_one_class_has_a_test_and_a_note(method):
    table = pl.DataFrame({"label": [1, 1, 1], "a": [0.5, 0.75, 1.0], "b": [0.5, 0.5, 0.5]})
    found = row(compare(table, "brier", method=method))
    assert found["note"] == "no_negatives"
    assert found["difference"] == near((1 / 4 + 1 / 16) / 3 - 1 / 4)
    assert found["p_value"] is not None


@pytest.mark.parametrize("method", ["t_test", "t_test_unpaired", "bootstrap"])
def test_groups_without_enough_rows_are_null_with_a_note(method):
    table = pl.DataFrame(
        {"g": [1, 2], "label": [1, None], "a": [0.5, 0.5], "b": [0.25, 0.5]},
        schema_overrides={"label": pl.Int64},
    )
    found = compare(table, "brier", by="g", method=method, missing="drop", seed=1)
    assert found["note"].to_list() == ["no_negatives", "no_rows"]
    assert found["difference"].to_list() == [1 / 4 - 9 / 16, None]
    undefined = found.select("se", "lower", "upper", "p_value", "statistic", "df")
    assert undefined.null_count().row(0) == (2,) * 6


@pytest.mark.parametrize("method", ["t_test", "bootstrap"])
@every_loss
def test_identical_models_have_p_1(metric, method):
    table = simulated(11).with_columns(b="a")
    found = row(compare(table, metric, method=method, seed=1, n_boot=20))
    assert (found["difference"], found["statistic"], found["p_value"]) == (0, 0, 1)
    assert [found[name] for name in ("se", "lower", "upper", "df")] == [None] * 4
    assert found["note"] == "zero_variance"


def test_a_constant_difference_has_no_p_value():
    # All rows are positives, so the loss of a is 0.81 and that of b is 0.49 in each row.
    table = pl.DataFrame({"label": [1] * 7, "a": [0.1] * 7, "b": [0.3] * 7})
    found = row(compare(table, "brier"))
    assert found["difference"] == near(0.81 - 0.49)
    assert (found["p_value"], found["se"], found["note"]) == (None, None, "no_negatives")


def test_log_loss_of_an_impossible_outcome_is_finite():
    table = pl.DataFrame({"label": [1, 1, 0], "a": [0.0, 0.0, 1.0], "b": [1.0, 1.0, 0.0]})
    found = row(compare(table, "log_loss"))
    assert found["log_loss_a"] == near(52 * log(2))
    assert found["difference"] == near(52 * log(2))


def test_equal_mean_losses_are_rejected_at_the_nominal_rate():
    rng = np.random.default_rng(4)
    size, groups = 40, 2000
    label = rng.random(size * groups) < 0.5
    table = pl.DataFrame(
        {
            "g": np.repeat(np.arange(groups), size),
            "label": label,
            **{m: (label + rng.random(size * groups)) / 2 for m in "ab"},
        }
    )
    found = rf.compare(table, "label", ["a", "b"], by="g", metric="brier")
    share = (found["p_value"] < 0.05).mean()
    assert abs(share - 0.05) < 4 * sqrt(0.05 * 0.95 / groups)


@every_loss
@pytest.mark.parametrize("method", ["t_test", "t_test_unpaired", "bootstrap"])
def test_scores_of_rows_without_a_label_need_not_be_probabilities(metric, method):
    table = pl.DataFrame({"label": [1, 0, 1], "a": [0.5, 0.5, 1], "b": [0.5, 1.5, -3.0]})
    dropped = table.with_columns(label=pl.when(pl.col("b").is_between(0, 1)).then("label"))
    found = row(compare(dropped, metric, method=method, missing="drop"))
    assert found["difference"] == 0
