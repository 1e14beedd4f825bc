"""Kolmogorov-Smirnov bands: their quantiles, limits computed by hand, and their coverage."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from scipy.stats import ksone, kstwo

import rocframe as rf
from rocframe.bands.band import kolmogorov_quantile
from tests.bands import band_oracle
from tests.bands.binormal_samples import held, samples
from tests.strategies import examples, ranked, tables

# Critical values of the two-sided one-sample statistic, as they stand in the usual tables.
PUBLISHED = {5: (0.563, 0.669), 10: (0.409, 0.489), 20: (0.294, 0.352), 30: (0.242, 0.290)}


def test_the_quantiles_equal_published_tables():
    n = np.array(list(PUBLISHED))
    for place, level in ((0, 0.95), (1, 0.99)):
        # The level of the band is the square of that of each distance.
        found = kolmogorov_quantile(n, level**2)
        assert found == pytest.approx([row[place] for row in PUBLISHED.values()], abs=6e-4)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_the_quantiles_are_exact(level):
    n = np.array([1, 2, 3, 7, 50, 1000])
    found = kolmogorov_quantile(n, level)
    assert kstwo.cdf(found, n) == pytest.approx([math.sqrt(level)] * len(n), abs=1e-9)
    # One row: the distance is the larger of u and 1 - u.
    assert found[0] == pytest.approx((1 + math.sqrt(level)) / 2, abs=1e-12)
    # Two sides are at most twice as likely as one.
    assert (2 * ksone.sf(found, n) >= (1 - math.sqrt(level)) * (1 - 1e-6)).all()


def test_many_rows_have_the_limiting_distribution():
    n = np.array([10**6, 10**12, 2**60])
    scaled = kolmogorov_quantile(n, 0.95**2) * np.sqrt(n)
    assert scaled == pytest.approx([1.3581] * 3, abs=2e-4)


def test_the_quantile_of_a_class_without_rows_is_nan():
    assert np.isnan(kolmogorov_quantile(np.array([0, 3, 0]), 0.9)).tolist() == [True, False, True]


def test_the_limits_of_a_small_table_by_hand():
    # 16 positives above 16 negatives, but for the last negative, which is above all positives.
    label = [False] + [True] * 16 + [False] * 15
    frame = pl.DataFrame({"label": label, "score": list(range(32, 0, -1))})
    d = float(kstwo.ppf(math.sqrt(0.5), 16))
    assert 1 / 8 < d < 1 / 4
    result = rf.band(frame, "label", "score", level=0.5, grid=[0, 1 / 16, d, 0.5, 1])
    assert result["tpr"].to_list() == [0, 1, 1, 1, 1]
    lower = [0, 0, 0, 1 - d, 1 - d]
    assert result["lower"].to_list() == pytest.approx(lower, abs=1e-8)
    assert result["upper"].to_list() == pytest.approx([1] * 5, abs=1e-8)
    # Left of 1/16 the moved curve would begin at -d.
    early = rf.band(frame, "label", "score", level=0.01, grid=[0])
    near = float(kstwo.ppf(math.sqrt(0.01), 16))
    assert near > 1 / 16
    assert early["upper"].item() == 1


@given(table=tables(min_size=3, max_size=14))
def test_the_limits_are_those_of_the_shifted_curve(table):
    table = table.filter(pl.col("label").n_unique() == 2)
    grid = [Fraction(i, 7) for i in range(8)]
    result = rf.band(table, "label", "score", level=0.6, grid=[float(x) for x in grid])
    if not table.height:
        assert result["lower"].null_count() == 8
        return
    labels = table["label"].to_list()
    curve = band_oracle.points(labels, ranked(table["score"]).to_list())
    n_pos = sum(labels)
    right, up = (
        Fraction(float(kstwo.ppf(math.sqrt(0.6), n))) for n in (len(labels) - n_pos, n_pos)
    )
    expected = [[float(limit) for limit in band_oracle.moved(curve, x, right, up)] for x in grid]
    # Borders are drawn a hair outwards.
    assert result.select("lower", "upper").rows() == [
        pytest.approx(row, abs=1e-7) for row in expected
    ]
    assert result["tpr"].to_list() == pytest.approx(
        [float(band_oracle.heights(curve, x)[1]) for x in grid], abs=1e-15
    )


@examples(1 / 2)
@given(table=tables(min_size=6, max_size=20))
def test_negating_scores_and_labels_reflects_the_band(table):
    # (fpr, tpr) becomes (1 - tpr, 1 - fpr): both borders are mirrored at the falling diagonal.
    turned = table.select(pl.Series("label", ~table["label"]), score=-ranked(table["score"]))
    grid = [i / 8 for i in range(9)]
    here = rf.band(table, "label", "score", level=0.3, grid=grid).drop_nulls("lower")
    for x, lower in here.select("fpr", "lower").rows():
        if 0 < lower < 1:
            around = [1 - lower - 1e-6, min(1 - lower + 1e-6, 1)]
            there = rf.band(turned, "label", "score", level=0.3, grid=around)["lower"]
            assert there[0] - 1e-4 <= 1 - x <= there[1] + 1e-4


@pytest.mark.parametrize("n", [5, 40])
def test_the_whole_true_curve_is_inside_with_the_confidence_level(n):
    frame, true = samples(n, 400, a=1.2, b=0.8)
    result = rf.band(frame, "label", "score", by="sample", level=0.8)
    # At least, but for a fluctuation of four standard errors; these bands are wide.
    assert held(result, true).mean() > 0.8 - 4 * math.sqrt(0.8 * 0.2 / 400)
    narrow = rf.band(frame, "label", "score", by="sample", level=0.01)
    assert held(narrow, true).mean() < 0.8
