"""Subsets of rows drawn without replacement are equally likely under each strategy."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from scipy.stats import chisquare

from rocframe.kernel.scan import Seed
from rocframe.significance import SubsetSampler, sample_subsets

every_strategy = pytest.mark.parametrize("strategy", ["scores", "draws", "rows"])


@pytest.mark.parametrize(("rows", "drawn"), [(5, 2), (6, 3), (8, 1), (9, 4), (12, 2)])
def test_every_subset_of_rows_is_drawn_equally_often(rows, drawn):
    found = sample_subsets(np.random.default_rng(rows), 60_000, rows, drawn)
    assert (found.sum(axis=1) == drawn).all()
    times = np.unique(found @ (1 << np.arange(rows)), return_counts=True)[1]
    assert len(times) == comb(rows, drawn)
    assert chisquare(times).pvalue > 1e-3


@every_strategy
def test_sums_have_the_mean_and_variance_of_draws_without_replacement(strategy):
    rows, drawn = np.array([3, 1, 40, 5, 1]), 11
    margin = np.array([47, 43, 2, -43, -49])
    every = np.repeat(margin, rows)
    sampler = SubsetSampler(strategy=strategy, n_drawn=drawn, batch_size=1)
    sums = sampler.sums(np.random.default_rng(1), rows, margin, 20_000)
    n = len(every)
    variance = drawn * (n - drawn) / (n - 1) * every.var()
    assert sums.mean() == pytest.approx(drawn * every.mean(), abs=4 * (variance / 20_000) ** 0.5)
    assert sums.var() == pytest.approx(variance, rel=0.05)


@every_strategy
def test_only_possible_sums_are_drawn(strategy):
    sampler = SubsetSampler(strategy=strategy, n_drawn=2, batch_size=1)
    sums = sampler.sums(np.random.default_rng(1), np.array([1, 2, 1]), np.array([3, 0, -3]), 500)
    assert sorted(set(sums.tolist())) == [-3, 0, 3]


@pytest.mark.parametrize(
    ("shape", "strategy"),
    [
        ({"n_rows": 1_000, "n_scores": 1_000, "n_drawn": 300}, "rows"),
        ({"n_rows": 100_000, "n_scores": 11, "n_drawn": 30_000}, "scores"),
        ({"n_rows": 100_000, "n_scores": 100_000, "n_drawn": 50}, "draws"),
    ],
)
def test_the_fastest_strategy_is_chosen_and_a_batch_fills_a_block(shape, strategy):
    sampler = SubsetSampler.fastest(**shape)
    assert sampler.strategy == strategy
    assert 1 <= sampler.batch_size < 1_000_000


def test_a_stream_gives_the_same_sums_each_time():
    rows, margin = np.ones(100, np.int64), np.arange(-99, 100, 2)
    for strategy in ("scores", "draws", "rows"):
        sampler = SubsetSampler(strategy=strategy, n_drawn=30, batch_size=1)
        first, again = (
            sampler.sums(Seed.parse(3).stream((1,), 0), rows, margin, 50).tolist() for _ in range(2)
        )
        assert first == again
