"""Areas of clustered rows: Obuchowski's variance, from hand-computed values and brute force."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

LIMITS = ["lower", "upper", "ci_method"]


def variance(rows: list[tuple[bool, float, object]]) -> Fraction:
    """Compute Obuchowski's published formula in exact fractions."""
    pos = [(score, cluster) for label, score, cluster in rows if label]
    neg = [(score, cluster) for label, score, cluster in rows if not label]

    def won(a: float, b: float) -> Fraction:
        return Fraction(a > b) + Fraction(a == b, 2)

    theta = sum(won(x, y) for x, _ in pos for y, _ in neg) / Fraction(len(pos) * len(neg))
    a, b = defaultdict(Fraction), defaultdict(Fraction)
    for x, cluster in pos:
        a[cluster] += sum(won(x, y) for y, _ in neg) / Fraction(len(neg)) - theta
    for y, cluster in neg:
        b[cluster] += sum(won(x, y) for x, _ in pos) / Fraction(len(pos)) - theta
    m, n = len(pos), len(neg)
    every = {*a, *b}

    def share(size: int) -> Fraction:
        return Fraction(size, size - 1)

    return (
        share(len(a)) * sum(value**2 for value in a.values()) / m**2
        + share(len(b)) * sum(value**2 for value in b.values()) / n**2
        + 2 * share(len(every)) * sum(a[c] * b[c] for c in every) / (m * n)
    )


def log(seed: int, size: int = 40, users: int = 9) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "label": rng.random(size) < 0.4,
            "score": rng.integers(0, 12, size) / 8,
            "user": [f"u{i}" for i in rng.integers(0, users, size)],
            "w": rng.integers(1, 5, size) / 2,
            "id": rng.permutation(size),
        }
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_variance_equals_obuchowskis_formula(seed):
    predictions = log(seed)
    expected = variance(predictions.select("label", "score", "user").rows())
    found = rf.auc(predictions, "label", "score", cluster="user", ci="delong")
    assert found["se"].item() == pytest.approx(math.sqrt(expected), rel=1e-12)


@pytest.mark.parametrize(
    "options", [{}, {"weight": "w"}, {"fpr": (0.1, 0.5)}, {"tpr": (0.5, 1), "weight": "w"}], ids=str
)
def test_clusters_of_one_row_give_the_variance_of_independent_rows(options):
    predictions = log(1)
    # Newcombe's limits of a full area are for rows without clusters.
    limits = [] if {*options} & {"fpr", "tpr"} else LIMITS
    assert_frame_equal(
        rf.auc(predictions, "label", "score", cluster="id", **options).drop(limits),
        rf.auc(predictions, "label", "score", **options).drop(limits),
        abs_tol=1e-14,
        rel_tol=1e-12,
    )


def test_repeating_all_rows_within_their_clusters_changes_nothing():
    predictions = log(2)
    twice = pl.concat([predictions, predictions])
    columns = ["auc", "se", "lower", "upper"]
    assert_frame_equal(
        rf.auc(twice, "label", "score", cluster="user").select(columns),
        rf.auc(predictions, "label", "score", cluster="user").select(columns),
        abs_tol=1e-14,
        rel_tol=1e-12,
    )


@pytest.mark.parametrize("options", [{}, {"fpr": (0.1, 0.5)}], ids=str)
def test_row_order_does_not_change_results(options):
    predictions = log(3, size=300)
    expected = rf.auc(predictions, "label", "score", cluster="user", **options)
    for seed in range(2):
        mixed = predictions.sample(fraction=1, shuffle=True, seed=seed)
        found = rf.auc(mixed, "label", "score", cluster="user", **options)
        assert_frame_equal(found, expected, check_exact=True)


def test_groups_have_their_own_clusters_and_a_lazy_frame_gives_the_same():
    predictions = pl.concat([log(i).with_columns(g=pl.lit(i % 2)) for i in range(2)])
    apart = [
        rf.auc(part, "label", "score", by="g", cluster="user")
        for part in predictions.partition_by("g")
    ]
    assert_frame_equal(
        rf.auc(predictions, "label", "score", by="g", cluster="user"), pl.concat(apart)
    )
    lazy = rf.auc(predictions.lazy(), "label", "score", by="g", cluster="user").collect()
    assert_frame_equal(lazy, pl.concat(apart))


def test_unscored_rows_belong_to_their_clusters_too():
    predictions = log(4).with_columns(score=pl.when(pl.int_range(pl.len()) % 7 > 0).then("score"))
    found = rf.auc(predictions, "label", "score", cluster="id", missing="worst")
    alone = rf.auc(predictions, "label", "score", missing="worst")
    assert_frame_equal(found.drop(LIMITS), alone.drop(LIMITS), abs_tol=1e-14, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("label", "user", "note"),
    [
        ([1, 1, 0, 0, 0], ["a", "a", "b", "c", "c"], "one_positive_cluster"),
        ([1, 1, 1, 0, 0], ["a", "b", "c", "b", "b"], "one_negative_cluster"),
        ([1, 1, 1, 1, 1], ["a", "b", "c", "b", "b"], "no_negatives"),
    ],
)
def test_the_variance_is_null_with_fewer_than_two_clusters_of_a_class(label, user, note):
    scores = [0.9, 0.1, 0.5, 0.3, 0.2]
    predictions = pl.DataFrame({"label": label, "score": scores, "user": user})
    row = rf.auc(predictions, "label", "score", cluster="user").row(0, named=True)
    assert (row["se"], row["lower"], row["upper"], row["note"]) == (None, None, None, note)


def test_limits_of_an_auc_of_1_use_the_numbers_of_clusters():
    predictions = pl.DataFrame(
        {"label": [1, 1, 1, 0, 0, 0], "score": [6, 5, 4, 3, 2, 1], "user": list("aabcde")}
    )
    found = rf.auc(predictions, "label", "score", cluster="user")
    subset = pl.DataFrame({"label": [1, 1, 0, 0, 0], "score": [5, 4, 3, 2, 1]})
    columns = ["lower", "upper", "ci_method"]
    assert_frame_equal(
        found.select(columns), rf.auc(subset, "label", "score", ci="newcombe").select(columns)
    )


def test_a_null_cluster_is_a_missing_value():
    predictions = log(5).with_columns(user=pl.when(pl.col("id") > 1).then("user"))
    found = rf.auc(predictions, "label", "score", cluster="user", missing="drop")
    assert found["n_missing"].item() == 2
