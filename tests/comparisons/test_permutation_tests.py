"""Permutation and Venkatraman tests against the enumeration of all exchanges."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.comparisons import comparison_tests as permutation_test
from tests.comparisons.auc_oracle import logs
from tests.strategies import examples

METHODS = ["permutation", "venkatraman"]
every_method = pytest.mark.parametrize("method", METHODS)
some = examples(2 / 5)


def middle_ranks(scores: list[float | None], labels: list[bool]) -> list[Fraction]:
    """Return mid-ranks from the highest score down. Unscored rows are errors at every rank."""

    def badness(score: float | None, label: bool) -> tuple[int, float]:
        return (1 if label else -1, 0) if score is None else (0, -score)

    every = [badness(*pair) for pair in zip(scores, labels, strict=True)]
    return [
        1 + sum(other < own for other in every) + Fraction(sum(o == own for o in every) - 1, 2)
        for own in every
    ]


def area(ranks: list[Fraction], labels: list[bool]) -> Fraction:
    pos = [rank for rank, label in zip(ranks, labels, strict=True) if label]
    neg = [rank for rank, label in zip(ranks, labels, strict=True) if not label]
    won = sum(Fraction((x < y) + (x <= y), 2) for x in pos for y in neg)
    return won / (len(pos) * len(neg))


def errors(ranks: list[Fraction], labels: list[bool]) -> list[Fraction]:
    """Return the errors if the first k rows are predicted positive, for each k; linear in ties."""
    found = []
    for k in range(1, len(ranks) + 1):
        result = Fraction(0)
        for rank in set(ranks):
            before = sum(other < rank for other in ranks)
            tied = [label for other, label in zip(ranks, labels, strict=True) if other == rank]
            result += sum(tied) * Fraction(min(max(k - before, 0), len(tied)), len(tied))
        found.append(sum(labels) - result + k - result)
    return found


def statistic(a: list[Fraction], b: list[Fraction], labels: list[bool], method: str) -> Fraction:
    if method == "permutation":
        return area(a, labels) - area(b, labels)
    both = zip(errors(a, labels), errors(b, labels), strict=True)
    return sum((abs(x - y) for x, y in both), Fraction(0))


def every_exchange(
    table: pl.DataFrame, method: str, cluster: str | None = None
) -> tuple[Fraction, list[Fraction]]:
    """Return the observed statistic, and that of each exchange of ranks."""
    labels = table["label"].to_list()
    a, b = (middle_ranks(table[model].to_list(), labels) for model in "ab")
    units = list(range(len(labels))) if cluster is None else table[cluster].to_list()
    names = sorted(set(units))
    found = []
    for turned in product([False, True], repeat=len(names)):
        turn = dict(zip(names, turned, strict=True))
        swapped = [(y, x) if turn[unit] else (x, y) for x, y, unit in zip(a, b, units, strict=True)]
        one, other = (list(side) for side in zip(*swapped, strict=True))
        # Exchanged ranks may tie or leave gaps, so they are ranked again.
        one, other = (middle_ranks([-rank for rank in side], labels) for side in (one, other))
        found.append(statistic(one, other, labels, method))
    return statistic(a, b, labels, method), found


def simulated(seed: int, rows: int = 14, groups: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    size = rows * groups
    label = np.tile(np.arange(rows) % 2 == 0, groups)
    shared = label + rng.normal(size=size)
    scores = {m: np.round(shared + rng.normal(size=size), 1) for m in "abc"}
    return pl.DataFrame(
        {"id": np.arange(size), "g": np.repeat(np.arange(groups), rows), "label": label, **scores}
    ).with_columns(user=pl.col("id") % 5)


def compared(table: pl.DataFrame, method: str, **options: object) -> dict[str, object]:
    return rf.compare(table, "label", ["a", "b"], method=method, **options).row(0, named=True)


def test_three_rows_by_hand():
    # Ranks are 1 2 3 and 1 3 2, the positives first: areas of 1 and 1/2. The first row has the same
    # rank twice. Of the others both may be exchanged, which turns the difference around, or one,
    # which makes them a tie of ranks 2 2 or 3 3 under either model: areas of 3/4 and 3/4.
    table = pl.DataFrame({"label": [1, 1, 0], "a": [9, 8, 7], "b": [30, 10, 20]})
    found = compared(table, "permutation")
    assert (found["auc_a"], found["auc_b"], found["statistic"]) == (1, 0.5, 0.5)
    assert found["p_value"] == 4 / 8
    assert compared(table, "permutation", alternative="greater")["p_value"] == 2 / 8
    assert compared(table, "permutation", alternative="less")["p_value"] == 1
    # After 1 and after 3 rows the two make the same errors; after 2, none and two.
    curves = compared(table, "venkatraman")
    assert (curves["difference"], curves["statistic"], curves["p_value"]) == (0.5, 2, 4 / 8)


@pytest.mark.slow
@every_method
@some
@given(table=logs(max_size=6))
def test_p_is_the_share_of_exchanges_at_least_as_extreme_as_the_data(method, table):
    seen, every = every_exchange(table, method)
    found = compared(table, method, n_perm=64)
    assert found["statistic"] == pytest.approx(float(seen), abs=1e-12)
    assert found["p_value"] == sum(abs(one) >= abs(seen) for one in every) / len(every)
    assert [found[name] for name in ("se", "lower", "upper", "df")] == [None] * 4


@pytest.mark.parametrize("alternative", ["greater", "less"])
@some
@given(table=logs(max_size=6))
def test_one_sided_p_values_are_shares_of_one_side(alternative, table):
    seen, every = every_exchange(table, "permutation")
    sign = 1 if alternative == "greater" else -1
    found = compared(table, "permutation", alternative=alternative, n_perm=64)
    assert found["p_value"] == sum(sign * one >= sign * seen for one in every) / len(every)


@every_method
@some
@given(table=logs("user", max_size=7))
def test_the_rows_of_a_cluster_are_exchanged_together(method, table):
    seen, every = every_exchange(table, method, "user")
    found = compared(table, method, cluster="user", n_perm=64)
    assert found["p_value"] == sum(abs(one) >= abs(seen) for one in every) / len(every)


@pytest.mark.slow
@every_method
@some
@given(table=logs(max_size=6, missing=True))
def test_unscored_positives_rank_last_and_unscored_negatives_first(method, table):
    seen, every = every_exchange(table, method)
    found = compared(table, method, missing="worst", n_perm=64)
    assert found["statistic"] == pytest.approx(float(seen), abs=1e-12)
    assert found["p_value"] == sum(abs(one) >= abs(seen) for one in every) / len(every)


@every_method
def test_only_ranks_are_exchanged_so_scales_need_not_be_the_same(method):
    table = simulated(1)
    scaled = table.with_columns(pl.col("a").exp(), pl.col("b") * 1000 - 7)
    for options in ({"n_perm": 2**14}, {"n_perm": 99, "seed": 3}):
        assert compared(scaled, method, **options) == compared(table, method, **options)


@every_method
def test_random_exchanges_approximate_the_exact_p_value(method):
    table = simulated(2)
    whole = compared(table, method, n_perm=2**14)
    for seed in range(3):
        drawn = compared(table, method, n_perm=2000, seed=seed)
        assert drawn["statistic"] == whole["statistic"]
        p = whole["p_value"]
        assert abs(drawn["p_value"] - p) < 4 * sqrt(p * (1 - p) / 2000) + 1 / 2001
        assert drawn["p_value"] * 2001 == pytest.approx(round(drawn["p_value"] * 2001))
        assert drawn["p_value"] > 0


@every_method
@pytest.mark.parametrize("cluster", [None, "user"])
def test_all_exchanges_are_enumerated_if_there_are_at_most_n_perm(method, cluster):
    table = simulated(3, rows=8)
    units = 8 if cluster is None else 5
    whole = [
        compared(table, method, n_perm=n, seed=seed, cluster=cluster)
        for n in (2**units, 10_000)
        for seed in (1, None)
    ]
    assert all(one == whole[0] for one in whole)
    drawn = compared(table, method, n_perm=2**units - 1, seed=1, cluster=cluster)
    assert drawn["p_value"] * 2**units == round(drawn["p_value"] * 2**units)


@every_method
def test_the_block_size_does_not_change_exact_p_values(method, monkeypatch):
    table = simulated(4, rows=8)
    whole = compared(table, method)
    monkeypatch.setattr(permutation_test, "BLOCK_ROWS", 50)
    assert compared(table, method) == whole
    drawn = compared(table, method, n_perm=200, seed=1)
    p = whole["p_value"]
    assert abs(drawn["p_value"] - p) < 4 * sqrt(p * (1 - p) / 200) + 1 / 201


@every_method
def test_the_draws_of_a_pair_do_not_depend_on_other_groups_or_models(method):
    table = simulated(6, groups=3)
    options = {"method": method, "seed": 7, "n_perm": 60, "adjust": None}
    among = rf.compare(table, "label", ["a", "b", "c"], by="g", **options)
    for g in range(3):
        own = table.filter(g=g)
        assert_frame_equal(
            rf.compare(own, "label", ["a", "b", "c"], by="g", **options), among.filter(g=g)
        )
        for a, b in ("ab", "ac", "bc"):
            assert_frame_equal(
                rf.compare(own, "label", [a, b], by="g", **options),
                among.filter(g=g, model_a=a, model_b=b),
            )


@every_method
def test_seeds_and_groups_draw_differently(method):
    table = simulated(7, rows=20)
    found = {compared(table, method, seed=seed, n_perm=300)["p_value"] for seed in range(8)}
    assert len(found) > 4
    # These calls have no seed: with 30 of them, four or fewer values are practically impossible.
    assert len({compared(table, method, n_perm=300)["p_value"] for _ in range(30)}) > 4
    same = pl.concat(table.with_columns(g=pl.lit(g)) for g in range(8))
    groups = rf.compare(same, "label", ["a", "b"], by="g", method=method, seed=1, n_perm=300)
    assert groups["p_value"].n_unique() > 4
    assert groups["statistic"].n_unique() == 1


@every_method
def test_the_areas_are_those_of_other_methods(method):
    table = simulated(8, groups=2)
    columns = ["g", "model_a", "model_b", "n_paired", "auc_a", "auc_b", "difference"]
    found = rf.compare(table, "label", ["a", "b", "c"], by="g", method=method, n_perm=9)
    expected = rf.compare(table, "label", ["a", "b", "c"], by="g")
    assert_frame_equal(found.select(columns), expected.select(columns), check_exact=True)


def test_curves_that_cross_differ_though_their_areas_do_not():
    # Half of the positives are above all negatives and half below; or they stand among them.
    split = [*range(120, 90, -1), *range(30, 0, -1), *range(90, 30, -1)]
    among = [score for first in (3, 2, 4, 1) for score in range(first, 121, 4)]
    table = pl.DataFrame({"label": [1] * 60 + [0] * 60, "a": split, "b": among})
    areas, curves = (compared(table, method, seed=1) for method in METHODS)
    assert (areas["auc_a"], areas["auc_b"]) == (0.5, 0.5)
    assert areas["p_value"] == 1
    assert curves["p_value"] < 0.01


@every_method
def test_a_true_null_hypothesis_is_rejected_at_the_nominal_rate(method):
    groups = 300
    table = simulated(9, rows=40, groups=groups).with_columns(pl.col("b").exp())
    found = rf.compare(table, "label", ["a", "b"], by="g", method=method, seed=1, n_perm=99)
    for level in (0.1, 0.5):
        share = (found["p_value"] <= level).mean()
        assert abs(share - level) < 4 * sqrt(level * (1 - level) / groups) + 0.01


@pytest.mark.parametrize("method", ["permutation", "venkatraman"])
def test_the_column_test_marks_exact_p_values(method):
    rng = np.random.default_rng(1)
    rows = pl.DataFrame(
        {"label": [0, 1] * 4, "a": rng.random(8), "b": rng.random(8), "g": [0] * 2 + [1] * 6}
    )
    found = rf.compare(rows, "label", ["a", "b"], by="g", method=method, n_perm=63, seed=1)
    assert found["test"].to_list() == [f"{method}_exact", method]
