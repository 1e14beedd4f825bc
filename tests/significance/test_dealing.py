"""Rows drawn without replacement: any set is as likely as any other, whichever way it is drawn."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.stats import chisquare

from rocframe.kernel.resample import Seed
from rocframe.significance.permutation import Dealing, chosen

every_way = pytest.mark.parametrize("way", ["step", "draw", "row"])


@pytest.mark.parametrize(("rows", "drawn"), [(5, 2), (6, 3), (8, 1), (9, 4), (12, 2)])
def test_every_set_of_rows_is_chosen_equally_often(rows, drawn):
    found = chosen(np.random.default_rng(rows), 60_000, rows, drawn)
    assert (found.sum(axis=1) == drawn).all()
    times = np.unique(found @ (1 << np.arange(rows)), return_counts=True)[1]
    assert len(times) == comb(rows, drawn)
    assert chisquare(times).pvalue > 1e-3


@every_way
def test_sums_have_the_mean_and_variance_of_draws_without_replacement(way):
    rows, drawn = np.array([3, 1, 40, 5, 1]), 11
    margin = np.array([47, 43, 2, -43, -49])
    every = np.repeat(margin, rows)
    dealing = Dealing(way=way, drawn=drawn, times=1)
    sums = dealing.sums(np.random.default_rng(1), rows, margin, 20_000)
    n = len(every)
    variance = drawn * (n - drawn) / (n - 1) * every.var()
    assert sums.mean() == pytest.approx(drawn * every.mean(), abs=4 * (variance / 20_000) ** 0.5)
    assert sums.var() == pytest.approx(variance, rel=0.05)


@every_way
def test_a_sum_is_one_that_so_many_rows_can_have(way):
    dealing = Dealing(way=way, drawn=2, times=1)
    sums = dealing.sums(np.random.default_rng(1), np.array([1, 2, 1]), np.array([3, 0, -3]), 500)
    assert sorted(set(sums.tolist())) == [-3, 0, 3]


@pytest.mark.parametrize(
    ("shape", "way"),
    [
        ({"rows": 1_000, "steps": 1_000, "drawn": 300}, "row"),
        ({"rows": 100_000, "steps": 11, "drawn": 30_000}, "step"),
        ({"rows": 100_000, "steps": 100_000, "drawn": 50}, "draw"),
    ],
)
def test_the_quickest_way_is_chosen_and_a_batch_fills_a_block(shape, way):
    dealing = Dealing.of(**shape)
    assert dealing.way == way
    assert 1 <= dealing.times < 1_000_000


def test_a_stream_gives_the_same_sums_each_time():
    rows, margin = np.ones(100, np.int64), np.arange(-99, 100, 2)
    for way in ("step", "draw", "row"):
        dealing = Dealing(way=way, drawn=30, times=1)
        first, again = (
            dealing.sums(Seed.parse(3).stream((1,), 0), rows, margin, 50).tolist() for _ in range(2)
        )
        assert first == again
