"""Bootstrap comparisons against the enumeration of all resamples."""

from __future__ import annotations

import math
from itertools import product
from statistics import pvariance
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.kernel import arrays as threads

if TYPE_CHECKING:
    from collections.abc import Callable

Row = tuple[bool, float, float]

ROWS: list[Row] = [
    (True, 0.9, 0.4),
    (True, 0.5, 0.9),
    (True, 0.4, 0.6),
    (False, 0.5, 0.5),
    (False, 0.1, 0.4),
    (False, 0.3, 0.8),
]


def area(rows: list[tuple[bool, float]]) -> float:
    pos = [score for label, score in rows if label]
    neg = [score for label, score in rows if not label]
    return sum((x > y) + (x == y) / 2 for x in pos for y in neg) / (len(pos) * len(neg))


def points(rows: list[tuple[bool, float]]) -> list[tuple[float, float]]:
    """Return FPR and TPR at each threshold, from the highest down."""
    pos = [score for label, score in rows if label]
    neg = [score for label, score in rows if not label]
    tops = [math.inf, *sorted({score for _, score in rows}, reverse=True)]
    return [
        (sum(y >= t for y in neg) / len(neg), sum(x >= t for x in pos) / len(pos)) for t in tops
    ]


def tpr_at(value: float) -> Callable[[list[tuple[bool, float]]], float]:
    return lambda rows: [tpr for fpr, tpr in points(rows) if fpr <= value][-1]


def fpr_at(value: float) -> Callable[[list[tuple[bool, float]]], float]:
    return lambda rows: next(fpr for fpr, tpr in points(rows) if tpr >= value)


def differences(
    resamples: list[list[Row]], measure: Callable[[list[tuple[bool, float]]], float]
) -> list[float]:
    return [
        measure([(label, a) for label, a, _ in rows])
        - measure([(label, b) for label, _, b in rows])
        for rows in resamples
    ]


def stratified() -> list[list[Row]]:
    """Return all resamples of 3 + 3 rows."""
    pos, neg = ROWS[:3], ROWS[3:]
    return [[*p, *n] for p in product(pos, repeat=3) for n in product(neg, repeat=3)]


def frame(rows: list[Row] = ROWS) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=["label", "a", "b"], orient="row")


def is_the_variance(found: float, values: list[float], n_boot: int) -> bool:
    """Return the tolerance: four Monte Carlo standard errors of a variance over `n_boot` draws."""
    expected = pvariance(values)
    middle = sum(values) / len(values)
    fourth = sum((value - middle) ** 4 for value in values) / len(values)
    return abs(found**2 - expected) < 4 * math.sqrt((fourth - expected**2) / n_boot)


@pytest.mark.parametrize(
    ("options", "measure"),
    [
        ({}, area),
        ({"fpr": 0.3}, tpr_at(0.3)),
        ({"fpr": 0}, tpr_at(0)),
        ({"tpr": 0.5}, fpr_at(0.5)),
        ({"tpr": 0}, fpr_at(0)),
        ({"tpr": 1}, fpr_at(1)),
    ],
    ids=["area", "fpr 0.3", "fpr 0", "tpr 0.5", "tpr 0", "tpr 1"],
)
def test_the_standard_error_is_that_of_all_resamples(options, measure):
    found = rf.compare(
        frame(), "label", ["a", "b"], method="bootstrap", seed=1, n_boot=20_000, **options
    ).row(0, named=True)
    name = {"": "auc", "fpr": "tpr", "tpr": "fpr"}[next(iter(options), "")]
    assert found[f"{name}_a"] == pytest.approx(measure([row[:2] for row in ROWS]), abs=1e-15)
    values = differences(stratified(), measure)
    if pvariance(values):
        assert is_the_variance(found["se"], values, 20_000)
        assert found["statistic"] == pytest.approx(found["difference"] / found["se"])
    else:
        assert found["se"] is None
        assert found["p_value"] == 1


def test_clusters_are_drawn_as_a_whole_and_redrawn_if_a_class_is_lost():
    cluster = ["u", "v", "w", "u", "v", "v"]
    named = {
        name: [row for row, own in zip(ROWS, cluster, strict=True) if own == name] for name in "uvw"
    }
    every = [[row for name in some for row in named[name]] for some in product("uvw", repeat=3)]
    both = [rows for rows in every if {row[0] for row in rows} == {True, False}]
    predictions = frame().with_columns(user=pl.Series(cluster))
    options = {"method": "bootstrap", "cluster": "user", "seed": 1, "n_boot": 20_000}
    found = rf.compare(predictions, "label", ["a", "b"], **options).row(0, named=True)
    assert is_the_variance(found["se"], differences(both, area), 20_000)
    lost = int(found["note"].removeprefix("few_rows:2; redrawn:"))
    chance = 1 - len(both) / len(every)
    expected = 20_000 * chance / (1 - chance)
    assert abs(lost - expected) < 4 * math.sqrt(expected / (1 - chance))


def test_the_scale_of_weights_does_not_matter():
    options = {"method": "bootstrap", "seed": 3, "n_boot": 500}
    plain = rf.compare(frame(), "label", ["a", "b"], **options)
    weighted = rf.compare(frame().with_columns(w=4.0), "label", ["a", "b"], weight="w", **options)
    assert_frame_equal(weighted, plain, abs_tol=1e-12)


def log(seed: int, size: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "label": rng.random(size) < 0.5,
            "a": rng.integers(0, 9, size),
            "b": rng.random(size),
            "g": rng.integers(0, 3, size),
        }
    )


@pytest.mark.parametrize("options", [{}, {"fpr": (0, 0.4)}, {"fpr": 0.2}], ids=str)
def test_another_seed_draws_other_rows(options):
    options = options | {"method": "bootstrap", "by": "g", "n_boot": 200}
    first, second = (
        rf.compare(log(1), "label", ["a", "b"], seed=seed, **options)["se"] for seed in (4, 5)
    )
    assert not first.equals(second)


def test_the_number_of_threads_does_not_change_the_result(monkeypatch):
    predictions = log(2, size=400)
    options = {"method": "bootstrap", "n_boot": 1000, "seed": 4}
    expected = rf.compare(predictions, "label", ["a", "b"], **options)
    monkeypatch.setattr(threads, "count_workers", lambda: 1)
    assert_frame_equal(
        rf.compare(predictions, "label", ["a", "b"], **options), expected, check_exact=True
    )


def test_equal_groups_with_different_keys_have_different_draws():
    twice = pl.concat([log(3).with_columns(g=pl.lit(name)) for name in "xy"])
    found = rf.compare(twice, "label", ["a", "b"], by="g", method="bootstrap", seed=1, n_boot=100)
    assert found["difference"].n_unique() == 1
    assert found["se"].n_unique() == 2


def test_the_draws_of_a_pair_do_not_depend_on_other_models():
    predictions = log(7).with_columns(c=pl.col("b").rank())
    options = {"method": "bootstrap", "seed": 1, "n_boot": 100}
    alone = rf.compare(predictions, "label", ["a", "b"], **options)
    among = rf.compare(predictions, "label", ["a", "b", "c"], adjust=None, **options)
    assert_frame_equal(among[:1].drop("p_adjusted"), alone.drop("p_adjusted"), check_exact=True)


def test_resamples_without_the_point_are_counted():
    predictions = log(8).with_columns(
        a=pl.when(pl.col("label") | (pl.int_range(pl.len()) % 9 > 0)).then("a")
    )
    options = {"missing": "worst", "fpr": 0.15, "seed": 1, "n_boot": 200}
    found = rf.compare(predictions, "label", ["a", "b"], method="bootstrap", **options)
    lost = found["note"].item()
    assert lost.startswith("redrawn:")
    assert 0 < int(lost.removeprefix("redrawn:")) < 200


@pytest.mark.parametrize("place", [{"fpr": 0.1}, {"tpr": 0.9}], ids=str)
def test_a_rate_that_is_undefined_in_the_data_has_no_standard_error(place):
    # A quarter of the rows of a have no score, so that its curve is only known between these rates.
    rng = np.random.default_rng(0)
    predictions = pl.DataFrame(
        {"label": [1] * 20 + [0] * 20, "a": rng.random(40), "b": rng.random(40)}
    ).with_columns(a=pl.when(pl.int_range(pl.len()) % 4 != 0).then("a"))
    options = {"method": "bootstrap", "missing": "worst", "n_boot": 100, "seed": 1}
    found = rf.compare(predictions, "label", ["a", "b"], **place, **options).row(0, named=True)
    other = "tpr" if "fpr" in place else "fpr"
    undefined = ["difference", "lower", "upper", "p_value", "p_adjusted", "se", "statistic"]
    assert [found[name] for name in (f"{other}_a", *undefined)] == [None] * 8
    assert found[f"{other}_b"] is not None
    assert found["note"] == "no_solution"


def test_equal_models_have_no_difference():
    found = rf.compare(log(5), "label", {"a": "a", "b": "a"}, method="bootstrap", n_boot=50)
    row = found.row(0, named=True)
    assert (row["difference"], row["se"], row["statistic"], row["p_value"]) == (0, None, 0, 1)
    assert row["note"] == "zero_variance"


@pytest.mark.parametrize("place", [{"fpr": 0.5}, {"fpr": 0.2}, {"tpr": 0.5}], ids=str)
def test_the_compared_rates_are_those_of_the_weighted_curve(place):
    (fixed, value), other = *place.items(), {"fpr": "tpr", "tpr": "fpr"}[next(iter(place))]
    for seed in range(10):
        rng = np.random.default_rng(seed)
        predictions = log(seed, size=20).with_columns(w=rng.integers(1, 10, 20) / 10)
        options = {"method": "bootstrap", "weight": "w", "n_boot": 2, "seed": 1}
        found = rf.compare(predictions, "label", ["a", "b"], **place, **options)
        curves = rf.curve(predictions, "label", ["a", "b"], weight="w")
        expected = rf.at(curves, **{fixed: value})[other]
        assert found.select(f"{other}_a", f"{other}_b").row(0) == pytest.approx(tuple(expected))
