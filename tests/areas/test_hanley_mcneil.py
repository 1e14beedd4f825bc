"""Hanley and McNeil's variance: from all triples, and for counts beyond Int64."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_series_equal

import rocframe as rf
from tests import oracles
from tests.strategies import COUNTS, repeated, tables

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.oracles import Case


def both_outrank(firsts: Sequence[Case], others: Sequence[Case], sign: int) -> Fraction:
    """Return the probability that two of `firsts` (with replacement) both outrank one of `others`.

    A tie with both counts one third, and a tie with one of them counts one half.
    """
    won = Fraction(0)
    for one, two, other in product(firsts, firsts, others):
        if None in {one.score, two.score, other.score}:
            continue
        # Compared, not subtracted: two infinite scores are a tie.
        a, b = (
            sign * ((case.score > other.score) - (case.score < other.score)) for case in (one, two)
        )
        ties = (a == 0) + (b == 0)
        won += Fraction(a >= 0 and b >= 0) / (1, 2, 3)[ties]
    return won / (len(firsts) ** 2 * len(others))


def variance(every: Sequence[Case]) -> Fraction | None:
    pos, neg = oracles.sides(every)
    if not pos or not neg:
        return None
    area, m, n = oracles.areas(every).auc, len(pos), len(neg)
    q1, q2 = both_outrank(pos, neg, 1), both_outrank(neg, pos, -1)
    spread = area * (1 - area) + (m - 1) * (q1 - area**2) + (n - 1) * (q2 - area**2)
    return spread / (m * n)


@given(tables(mass={"count": COUNTS}, missing=True, max_size=14))
def test_the_variance_is_that_of_all_triples_and_null_without_a_class_or_variation(table):
    areas = rf.auc(
        table, "label", "score", by="group", ci="hanley_mcneil", count="count", missing="worst"
    )
    groups = oracles.by_group(repeated(table, "count"))
    rows = [groups.get(group, []) for group in areas["group"]]
    # The documented `se` is null if the variance is 0. For all methods, this is also the case if
    # DeLong's variance is 0, for example if all scores are equal.
    variances = [None if oracles.delong_variance(cases) == 0 else variance(cases) for cases in rows]
    expected = pl.Series("se", [float(value) if value else None for value in variances], pl.Float64)
    assert_series_equal(areas["se"] ** 2, expected, rel_tol=1e-10, abs_tol=1e-15)


def test_products_of_counts_beyond_int64_do_not_wrap_in_the_variance():
    table = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.6]})
    # Q1 and Q2 are independent of the number of repetitions of the rows.
    times = 10**15
    row = rf.auc(
        table.with_columns(n=pl.lit(times)), "label", "score", count="n", ci="hanley_mcneil"
    ).row(0, named=True)
    pos, neg = oracles.sides(oracles.cases(table))
    area = Fraction(5, 8)
    spread = both_outrank(pos, neg, 1) + both_outrank(neg, pos, -1) - 2 * area**2
    assert row["se"] ** 2 == pytest.approx(float(spread / (2 * times)), rel=1e-12)


def test_the_exponential_variance_depends_on_the_area_and_class_sizes_only():
    table = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.6]})
    row = rf.auc(table, "label", "score", ci="hanley_mcneil_exponential").row(0, named=True)
    area = 0.625
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)
    expected = (area * (1 - area) + (q1 - area**2) + (q2 - area**2)) / 4
    assert row["se"] ** 2 == pytest.approx(expected, rel=1e-14)
    assert row["lower"] == pytest.approx(area - 1.959963984540054 * row["se"], rel=1e-12)
    assert row["upper"] == 1
