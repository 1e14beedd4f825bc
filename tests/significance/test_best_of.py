"""`auc_test(best_of=)` is compared with the enumeration of rankings and with simulations."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.integrate import quad
from scipy.stats import norm

import rocframe as rf

GREATER = {"alternative": "greater"}
COLUMNS = ["test", "best_of", "auc_by_chance", "p_best", "note"]


def random_areas(scores: list[float], n_pos: int) -> list[Fraction]:
    """Return the area of each assignment of the labels to the scores."""
    areas = []
    for chosen in combinations(range(len(scores)), n_pos):
        others = [scores[i] for i in range(len(scores)) if i not in chosen]
        pairs = [(scores[i] > y) + (scores[i] >= y) for i in chosen for y in others]
        areas.append(Fraction(sum(pairs), 2 * len(pairs)))
    return areas


@pytest.mark.parametrize(
    ("label", "score"),
    [
        ([1, 0, 1, 0, 0], [5, 4, 3, 2, 1]),
        ([1, 0, 1, 1, 0], [5, 4, 3, 2, 1]),
        ([1, 0, 1, 0, 0], [5, 4, 4, 2, 2]),
        ([1, 0, 0, 0], [4, 3, 2, 1]),
    ],
    ids=["no ties", "more positives", "ties", "one positive"],
)
@pytest.mark.parametrize("best_of", [1, 2, 3])
def test_the_best_of_few_models_equals_the_enumeration_of_all_their_rankings(label, score, best_of):
    areas = random_areas(score, sum(label))
    largest = [max(drawn) for drawn in product(areas, repeat=best_of)]
    rows = pl.DataFrame({"label": label, "score": score})
    test = rf.auc_test(
        rows, "label", "score", method="permutation", best_of=best_of, **GREATER
    ).row(0, named=True)
    seen = sum(float(area) > test["auc"] - 1e-9 for area in largest)
    assert test["test"] == "permutation_exact"
    assert test["p_best"] == pytest.approx(seen / len(largest), rel=1e-12)
    assert test["auc_by_chance"] == pytest.approx(float(sum(largest) / len(largest)), rel=1e-12)
    assert test["best_of"] == best_of


def some_groups(groups: int, n_pos: int, n_neg: int, seed: int = 1) -> pl.DataFrame:
    size = n_pos + n_neg
    return pl.DataFrame(
        {
            "g": np.repeat(np.arange(groups), size),
            "label": np.tile(np.arange(size) < n_pos, groups),
            "score": np.random.default_rng(seed).normal(size=groups * size),
        }
    )


@pytest.mark.parametrize("method", ["mann_whitney", "permutation"])
def test_many_permutations_have_the_expected_maximum_of_normal_variables(method):
    rows = some_groups(1, 40, 60)
    # The expected maximum of 2 standard normal variables is 1/√π, of 3 variables 3/(2√π).
    maximum = {1: 0, 2: 1 / math.sqrt(math.pi), 3: 1.5 / math.sqrt(math.pi)}
    for best_of in (40, 10**6):
        area = quad(lambda z, n=best_of: n * z * norm.cdf(z) ** (n - 1) * norm.pdf(z), -12, 12)
        maximum[best_of] = area[0]
    for best_of, expected in maximum.items():
        test = rf.auc_test(
            rows, "label", "score", method=method, best_of=best_of, n_perm=99, seed=1, **GREATER
        ).row(0, named=True)
        assert test["auc_by_chance"] == pytest.approx(0.5 + test["se"] * expected, abs=1e-7)
        p_best = 1 - (1 - Fraction(test["p_value"])) ** min(best_of, 1_000)
        assert test["p_best"] >= float(p_best) - 1e-12
        assert best_of > 1_000 or test["p_best"] == pytest.approx(float(p_best), rel=1e-12)


def test_the_expected_best_area_of_few_rows_is_at_most_1():
    rows = pl.DataFrame({"label": [1, 1, 0, 0], "score": [4, 2, 3, 1]})
    for best_of in (40, 10**9):
        test = rf.auc_test(rows, "label", "score", best_of=best_of, **GREATER)
        assert 0.99 < test["auc_by_chance"].item() <= 1


def test_the_best_of_forty_random_models_is_rejected_at_the_nominal_rate():
    trials, models = 300, 40
    rows = some_groups(trials * models, 12, 11)
    tests = rf.auc_test(rows, "label", "score", by="g", best_of=models, **GREATER)
    best = (
        tests.group_by(trial=pl.col("g") // models)
        .agg(pl.all().sort_by("auc").last())
        .select("auc", "p_best", "auc_by_chance")
    )
    assert (best["p_best"] <= 0.1).mean() == pytest.approx(0.1, abs=0.06)
    assert best["auc"].mean() == pytest.approx(best["auc_by_chance"][0], abs=0.015)


def test_undefined_groups_are_null_and_constant_scores_are_not_better_than_chance(frame):
    rows = {
        "g": ["a", "b", "b", "c", "c", "c", "c"],
        "label": [1, 1, 1, 1, 0, 0, 1],
        "score": [0.5, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5],
    }
    for method in ("mann_whitney", "permutation"):
        tests = rf.auc_test(
            frame(rows), "label", "score", by="g", method=method, best_of=5, **GREATER
        )
        tests = tests.lazy().collect()
        assert tests.columns[-5:] == COLUMNS
        assert tests.select("g", "p_best", "auc_by_chance", "best_of", "note").rows() == [
            ("a", None, None, 5, "no_negatives"),
            ("b", None, None, 5, "no_negatives"),
            ("c", 1.0, 0.5, 5, "zero_variance"),
        ]


def test_the_other_columns_do_not_depend_on_best_of():
    rows = some_groups(30, 4, 5)
    for method in ("mann_whitney", "permutation"):
        options = {"by": "g", "method": method, "seed": 1, **GREATER}
        plain = rf.auc_test(rows, "label", "score", **options)
        best = rf.auc_test(rows.lazy(), "label", "score", best_of=7, **options)
        new = ["p_best", "auc_by_chance", "best_of"]
        assert [best.collect_schema()[name] for name in new] == [pl.Float64, pl.Float64, pl.Int64]
        assert_frame_equal(best.drop(new).collect(), plain)
