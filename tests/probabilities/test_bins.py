"""Bins of probabilities against definitions that loop over rows, and isotonic regression."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from rocframe.kernel import scan as scan_module
from rocframe.probabilities.bins import Bins, isotonic_bins, probability_bins
from tests.probabilities.scans import by_group, scan_of_rows

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from([0, 0.1, 0.25, 0.3, 0.5, 0.7, 1]), st.booleans()),
    min_size=1,
    max_size=40,
)


def found(bins: Bins, group: int) -> list[tuple[int, int, int, float, float]]:
    rows = bins.group == group
    names = ("index", "pos", "neg", "score_min", "score_max")
    return list(zip(*(getattr(bins, name)[rows].tolist() for name in names), strict=True))


def expected(
    rows: list[tuple[float, bool]], bin_of: dict[float, int]
) -> list[tuple[int, int, int, float, float]]:
    result = []
    for index in sorted(set(bin_of.values())):
        inside = [(p, y) for p, y in rows if bin_of[p] == index]
        scores = [p for p, _ in inside]
        n_pos = sum(y for _, y in inside)
        result.append((index, n_pos, len(inside) - n_pos, min(scores), max(scores)))
    return result


@given(rows=ROWS, k=st.integers(1, 7))
def test_a_quantile_bin_ends_at_the_lowest_score_with_its_share_of_the_rows(rows, k):
    bins = probability_bins(scan_of_rows(rows), "quantile", k)
    for number, group in enumerate(by_group(rows)):
        scores = sorted(p for p, _ in group)
        ends = [
            next(
                s
                for s in scores
                if Fraction(sum(p <= s for p in scores), len(scores)) >= Fraction(i + 1, k)
            )
            for i in range(k)
        ]
        bin_of = {s: next(i for i, end in enumerate(ends) if s <= end) for s in scores}
        assert found(bins, number) == expected(group, bin_of)


@given(rows=ROWS, k=st.integers(1, 11))
def test_a_uniform_bin_contains_its_lower_edge(rows, k):
    bins = probability_bins(scan_of_rows(rows), "uniform", k)
    for number, group in enumerate(by_group(rows)):
        bin_of = {s: max(i for i in range(k) if s >= i / k) for s, _ in group}
        assert found(bins, number) == expected(group, bin_of)


@given(rows=ROWS)
def test_isotonic_bins_are_the_levels_of_isotonic_regression(rows):
    bins = isotonic_bins(scan_of_rows(rows))
    for number, group in enumerate(by_group(rows)):
        scores, labels = zip(*group, strict=True)
        fit = IsotonicRegression().fit(scores, np.array(labels, float)).predict(scores)
        levels = np.unique(np.round(fit, 12))
        bin_of = {s: int(np.argmin(abs(levels - y))) for s, y in zip(scores, fit, strict=True)}
        assert found(bins, number) == expected(group, bin_of)
        assert np.allclose(bins.event_rate[bins.group == number], levels, atol=1e-12, rtol=0)


METHODS = {
    "quantile": lambda scan, bins: probability_bins(scan, "quantile", bins),
    "uniform": lambda scan, bins: probability_bins(scan, "uniform", bins),
    "isotonic": lambda scan, _: isotonic_bins(scan),
}


@pytest.mark.parametrize("method", METHODS)
def test_bins_do_not_depend_on_the_size_of_blocks(method, monkeypatch):
    rng = np.random.default_rng(5)
    rows = [(int(g), p, y) for g, p, y in zip(
        rng.integers(0, 3, 900), rng.integers(0, 200, 900) / 200, rng.random(900) < 0.4, strict=True
    )]  # fmt: skip
    whole = METHODS[method](scan_of_rows(rows), 7)
    monkeypatch.setattr(scan_module, "BLOCK_ROWS", 16)
    split = METHODS[method](scan_of_rows(rows), 7)
    for group in range(3):
        assert found(whole, group) == found(split, group)


def test_the_mean_score_of_a_bin_is_between_its_lowest_and_highest_score():
    scan = scan_of_rows([(0, 0.1, True)] * 3 + [(0, 0.3, False)] * 3, np.full(6, 0.1))
    bins, bins2 = isotonic_bins(scan), probability_bins(scan, "uniform", 10)
    assert bins.event_rate.tolist() == [0.5]
    assert bins2.score_mean.tolist() == [0.1, 0.3]
