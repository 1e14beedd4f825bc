"""Replicates compared with an enumeration of all resamples, and the order of random draws."""

from __future__ import annotations

import weakref
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from rocframe.areas.pairs import count_pairs
from rocframe.kernel import arrays as threads
from rocframe.kernel import scan as resample
from rocframe.kernel.scan import GroupRows, ReplicateCounts, ReplicateStatistic, resample_groups
from tests import oracles
from tests.kernel.scans import cases_of, draws_of, scan_of
from tests.strategies import COUNTS, EXACT_WEIGHTS, column, examples, repeated, shuffled, tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rocframe.kernel.scan import ReplicateScan
    from tests.oracles import Case

AUC = ReplicateStatistic(function=lambda sample: count_pairs(sample).areas[0])
SIZES = ReplicateStatistic(
    function=lambda sample: np.stack([sample.totals.pos_rows, sample.totals.neg_rows], 1)
)

TIED = pl.DataFrame({"label": [1, 0, 1, 0, 1], "score": [0.9, 0.4, 0.4, 0.6, 0.4]})
WEIGHTED = TIED.with_columns(weight=pl.Series([1.0, 2.0, 0.5, 1.0, 3.0]))
UNSCORED = pl.DataFrame({"label": [1, 0, 1, 0, 1], "score": [0.9, 0.4, None, None, 0.4]})
CLUSTERS = TIED.with_columns(user=pl.Series(["a", "b", "b", "c", "c"]))


def areas(
    table: pl.DataFrame, n_boot: int, asked: ReplicateStatistic = AUC, **roles: Any
) -> np.ndarray:
    """Return the areas of the replicates of the only group."""
    scan = scan_of(table, **roles)
    cluster = cases_of(table, **roles).cluster
    (result,) = resample_groups(scan, [asked], draws_of(scan, n_boot, cluster=cluster))
    return result.values[0]


def one_each(rows: Sequence[Case]) -> Iterable[tuple[Case, ...]]:
    return product(rows, repeat=len(rows))


def stratified(rows: Sequence[Case]) -> Iterable[list[Case]]:
    """Return all resamples with unchanged class sizes."""
    for pos, neg in product(*map(one_each, oracles.sides(rows))):
        yield [*pos, *neg]


def distribution(resamples: Iterable[Sequence[Case]]) -> dict[float, Fraction]:
    """Return the probability of each area over resamples with both classes."""
    found = Counter(oracles.areas(rows) for rows in resamples)
    del found[None]
    total = sum(found.values())
    return {float(area.auc): Fraction(times, total) for area, times in merged(found).items()}


def merged(found: Counter) -> Counter:
    by_area: Counter = Counter()
    for area, times in found.items():
        by_area[oracles.Areas(area.auc, Fraction(0), Fraction(0))] += times
    return by_area


def assert_drawn_from(drawn: np.ndarray, chances: dict[float, Fraction]) -> None:
    """Check that all values are possible and that frequencies agree with probabilities."""
    values, times = np.unique(np.round(drawn, 12), return_counts=True)
    expected = {round(value, 12): float(chance) * len(drawn) for value, chance in chances.items()}
    assert set(values.tolist()) <= set(expected)
    order = sorted(expected)
    counted = dict(zip(values.tolist(), times.tolist(), strict=True))
    observed = [counted.get(value, 0) for value in order]
    assert chisquare(observed, [expected[value] for value in order]).pvalue > 1e-3


@pytest.fixture(params=["by row", "by kind", "by kind and row", "in pieces"])
def way(request, monkeypatch):
    """Select each way of drawing also for small data."""
    if request.param.startswith("by kind"):
        monkeypatch.setattr(resample, "MULTINOMIAL_RATIO", 0)
    if request.param == "by kind and row":  # kinds of one row are drawn as single rows
        monkeypatch.setattr(resample, "MIN_FEW_KINDS", 1)
        monkeypatch.setattr(resample, "FEW_ROWS", 1)
    if request.param == "in pieces":
        monkeypatch.setattr(resample, "BLOCK_ROWS", 2)


@pytest.mark.slow
@pytest.mark.usefixtures("way")
def test_replicates_that_keep_the_classes_come_from_all_resamples_of_both():
    assert_drawn_from(areas(TIED, 4000), distribution(stratified(oracles.cases(TIED))))


@pytest.mark.slow
@pytest.mark.usefixtures("way")
def test_replicates_that_mix_the_classes_come_from_all_resamples_that_have_both():
    mixed = ReplicateStatistic(function=AUC.function, depends_on_prevalence=True)
    expected = distribution(map(list, one_each(oracles.cases(TIED))))
    assert_drawn_from(areas(TIED, 4000, mixed), expected)


def test_replicates_without_one_of_the_classes_are_drawn_again_and_counted():
    scan = scan_of(TIED)
    asked = [ReplicateStatistic(function=SIZES.function, depends_on_prevalence=True), SIZES]
    (result,) = resample_groups(scan, asked, draws_of(scan, 20_000))
    mixed, remaining = result.values
    assert (mixed > 0).all()
    assert (mixed.sum(axis=1) == 5).all()
    assert (remaining == [3, 2]).all()
    # Of all resamples (3/5)⁵ + (2/5)⁵ have one class; those drawn again are geometric.
    wrong = 0.6**5 + 0.4**5
    mean, sd = 20_000 * wrong / (1 - wrong), (20_000 * wrong) ** 0.5 / (1 - wrong)
    assert abs(result.n_redrawn[0] - mean) < 4 * sd
    assert result.n_redrawn[1] == 0


def test_rows_are_drawn_with_equal_probability_and_keep_their_weights():
    expected = distribution(stratified(oracles.cases(WEIGHTED)))
    assert_drawn_from(areas(WEIGHTED, 4000, weight="weight"), expected)


def test_unscored_rows_are_drawn_like_others():
    expected = distribution(stratified(oracles.cases(UNSCORED)))
    assert_drawn_from(areas(UNSCORED, 4000, missing="worst"), expected)


def test_clusters_are_drawn_whole():
    rows = dict(zip("abc", [[], [], []], strict=True))
    for user, case in zip(CLUSTERS["user"], oracles.cases(CLUSTERS), strict=True):
        rows[user].append(case)
    resamples = (
        [case for user in users for case in rows[user]] for users in product("abc", repeat=3)
    )
    drawn = areas(CLUSTERS, 4000, cluster="user")
    assert_drawn_from(drawn, distribution(resamples))


def test_a_replicate_of_clusters_with_one_class_is_drawn_again():
    table = TIED.with_columns(user=pl.Series([1, 2, 1, 3, 4]))
    scan = scan_of(table, cluster="user")
    draws = draws_of(scan, 8000, cluster=cases_of(table, cluster="user").cluster)
    (result,) = resample_groups(scan, [SIZES], draws)
    assert (result.values[0] > 0).all()
    # Two of four clusters have positives, the others negatives: 2 of 2⁴ draws have one class.
    assert abs(result.n_redrawn[0] - 8000 / 7) < 4 * (8000 / 7 * 8 / 7) ** 0.5


@given(tables(missing=True), st.sampled_from(["plain", "count", "weight"]), st.data())
def test_the_data_are_a_replicate_of_themselves(table, mass, data):
    roles = {"by": "group", "missing": "worst"}
    if mass != "plain":
        values = column(COUNTS if mass == "count" else EXACT_WEIGHTS, table.height)
        kind = pl.Int64 if mass == "count" else pl.Float64
        table = table.with_columns(pl.Series(mass, data.draw(values), kind))
        roles[mass] = mass
    scan = scan_of(table, **roles)
    whole = count_pairs(scan)
    for group in range(len(scan.totals.pos)):
        if scan.totals.pos_rows[group] and scan.totals.neg_rows[group]:
            for corners in (False, True):
                sample = ReplicateCounts.observed(GroupRows.from_scan(scan, group)).scan(
                    corners=corners
                )
                one = count_pairs(sample)
                assert [a[0] for a in one.areas] == [a[group] for a in whole.areas]
                assert sample.totals.unscored_neg[0] == scan.totals.unscored_neg[group]
                assert sample.totals.unscored_pos[0] == scan.totals.unscored_pos[group]


def drawn_by_group(table: pl.DataFrame, **roles: Any) -> dict[Any, list[float]]:
    scan = scan_of(table, by="group", **roles)
    keys = scan.rows.keys.to_series().to_list()
    result = resample_groups(scan, [AUC], draws_of(scan, 50))
    return {keys[one.population.group]: one.values[0].tolist() for one in result}


@examples(1 / 2)
@given(tables(), st.integers(0, 99))
def test_the_draws_of_a_group_depend_on_neither_row_order_nor_other_groups(table, seed):
    every = drawn_by_group(table)
    assert drawn_by_group(shuffled(table, seed)) == every
    for name in every:
        alone = table.filter(pl.col("group").eq_missing(pl.lit(name, pl.String)))
        assert drawn_by_group(alone) == {name: every[name]}


@examples(1 / 2)
@given(tables(mass={"count": COUNTS}))
def test_a_compressed_table_draws_what_its_expansion_does(table):
    assert drawn_by_group(table, count="count") == drawn_by_group(repeated(table, "count"))


def test_weighted_rows_draw_the_same_in_any_order():
    table = pl.concat([WEIGHTED, TIED.with_columns(weight=pl.lit(0.1))])
    result = [areas(shuffled(table, seed), 40, weight="weight") for seed in range(3)]
    assert (result[0] == result[1]).all()
    assert (result[0] == result[2]).all()


def test_groups_with_equal_rows_have_different_draws():
    twice = pl.concat([TIED.with_columns(group=pl.lit(name)) for name in "ab"])
    drawn = drawn_by_group(twice)
    assert drawn["a"] != drawn["b"]


@pytest.mark.parametrize("number", [1, 2, 3])
def test_any_number_of_threads_draws_the_same(number, monkeypatch):
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"label": rng.random(500) < 0.4, "score": rng.normal(size=500)})
    expected = areas(table, 300)
    monkeypatch.setattr(threads, "count_workers", lambda: number)
    threads._pool.cache_clear()
    assert (areas(table, 300) == expected).all()
    threads._pool.cache_clear()


def test_limited_memory_does_not_change_the_replicates(monkeypatch):
    table = pl.concat([TIED.with_columns(group=pl.lit(str(i))) for i in range(7)])
    expected = drawn_by_group(table)
    monkeypatch.setattr(resample, "MAX_STORED_NUMBERS", 100)
    assert drawn_by_group(table) == expected
    assert len(expected) == 7


def test_memory_is_limited_by_the_width_of_statistics_and_the_number_of_threads(monkeypatch):
    groups = [TIED.with_columns(group=pl.lit(str(i))) for i in range(70)]
    scan = scan_of(pl.concat(groups), by="group")
    monkeypatch.setattr(resample, "count_workers", lambda: 3)
    monkeypatch.setattr(resample, "MAX_STORED_NUMBERS", 6000)

    def held(width: int) -> int:
        alive: list[weakref.ref[object]] = []
        most = 0

        def wide(sample: ReplicateScan) -> np.ndarray:
            values = np.zeros((len(sample.totals.pos), width))
            alive.append(weakref.ref(values))
            return values

        for _ in resample_groups(
            scan, [ReplicateStatistic(function=wide, width=width)], draws_of(scan, 100)
        ):
            most = max(most, sum(one() is not None for one in alive))
        return most

    assert held(1) == 60
    assert held(10) == 6
    assert held(1000) == 3


def test_groups_of_one_class_have_no_replicates():
    table = pl.DataFrame({"group": ["a", "b"], "label": [1, 0], "score": [0.1, 0.2]})
    assert drawn_by_group(table) == {}


def test_a_group_without_any_score_has_replicates_without_steps():
    table = pl.DataFrame(
        {"label": [1, 0], "score": [None, None]}, schema_overrides={"score": float}
    )
    assert areas(table, 5, missing="worst").tolist() == [0.0] * 5


def test_counts_far_beyond_the_rows_are_drawn():
    table = TIED.with_columns(count=pl.Series([10**15] * 5))
    drawn = areas(table, 400, count="count")
    assert np.allclose(drawn, 0.5, atol=1e-6)
    assert drawn.std() > 0


def test_corners_of_a_curve_are_ends_of_runs_of_one_class():
    table = pl.DataFrame({"label": [1, 1, 0, 0, 1, 0, 1], "score": [9, 8, 7, 6, 5, 5, 4]})
    group = GroupRows.from_scan(scan_of(table), 0)
    assert group.corner_steps.codes.tolist() == group.codes[[1, 3, 4, 5]].tolist()
