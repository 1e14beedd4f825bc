"""Areas of counts beyond Float64 and Int64 are correctly rounded fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.kernel.arrays import MAX_INT64, exact_product, exact_quotient, exact_sums
from tests import oracles

AREAS = ["auc", "auc_pessimistic", "auc_optimistic"]

huge = st.integers(0, 10**9) | st.sampled_from([1, 2**31, 2**32, 3 * 10**9, 2**53 + 1, 10**17])


@st.composite
def compressed(draw, max_size=10):
    """Draw a table of counts whose products exceed Int64."""
    rows = draw(
        st.lists(
            st.tuples(st.sampled_from("ab"), st.booleans(), st.integers(0, 4), huge),
            max_size=max_size,
        )
    )
    schema = {"group": pl.String, "label": pl.Boolean, "score": pl.Int64, "count": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


@given(table=compressed())
def test_areas_of_huge_counts_are_exact_fractions(table):
    actual = rf.auc(table, "label", "score", by="group", count="count", ci=None)
    areas = rf.area(rf.curve(table, "label", "score", by="group", count="count"))
    for row, of_table, every in zip(
        actual.iter_rows(named=True), areas["auc"], oracles.by_group(table).values(), strict=True
    ):
        exact = oracles.areas(every)
        expected = [None] * 3 if exact is None else [float(area) for area in exact]
        assert [row[name] for name in AREAS] == expected
        assert of_table == expected[0]


@given(table=compressed())
def test_standard_errors_of_huge_counts_are_those_of_fractions(table):
    actual = rf.auc(table, "label", "score", by="group", count="count")
    for se, every in zip(actual["se"], oracles.by_group(table).values(), strict=True):
        variance = oracles.delong_variance(every)
        # One quotient of exact whole numbers, and a square root.
        assert se == (pytest.approx(math.sqrt(variance), rel=1e-15) if variance else None)


@pytest.mark.parametrize("size", [2**31, 2**32 - 1, 2_500_000_000, 2**40, 2**53 + 1, 2**60])
def test_products_around_the_ends_of_the_integers_do_not_wrap(size):
    # 2·m·n passes 2^63 between the first and the third, m·n between the third and the fourth.
    table = pl.DataFrame(
        {"label": [1, 0, 1], "score": [2, 1, 0], "count": [size, size, 1]},
        schema_overrides={"count": pl.Int64},
    )
    actual = rf.auc(table, "label", "score", count="count")
    expected = size / (size + 1)
    assert [actual[name][0] for name in AREAS] == [expected] * 3
    assert rf.area(rf.curve(table, "label", "score", count="count"))["auc"][0] == expected
    # Of size + 1 positives one loses, and the negatives are all alike.
    variance = Fraction(1, size + 1) / (size + 1) - Fraction(1, size + 1) ** 2 / (size + 1)
    variance = variance * (size + 1) / size
    assert actual["se"][0] == pytest.approx(math.sqrt(variance), rel=1e-15)


def test_large_counts_of_many_groups_are_added_separately():
    # The sums over a block of groups pass 2^63 where no single group's does.
    groups = 1000
    table = pl.DataFrame(
        {
            "group": np.repeat(np.arange(groups), 3),
            "label": [1, 0, 1] * groups,
            "score": [2, 1, 0] * groups,
            "count": [10**8, 10**8, 1] * groups,
        }
    )
    result = rf.auc(table, "label", "score", by="group", count="count")
    alone = rf.auc(table.head(3), "label", "score", by="group", count="count")
    same = pl.concat([alone.drop("group")] * groups)
    assert_frame_equal(result.drop("group"), same, check_exact=True)
    curves = rf.curve(table, "label", "score", by="group", count="count")
    assert rf.area(curves)["auc"].to_list() == [10**8 / (10**8 + 1)] * groups


def test_the_number_of_pairs_may_exceed_32_bits():
    # 70,000 times 70,000 pairs; every positive ties with its own negative.
    n = 70_000
    rows = np.arange(2 * n)
    table = pl.DataFrame({"label": rows % 2 == 0, "score": (rows // 2).astype(np.float64)})
    result = rf.auc(table, "label", "score", ci=None)
    assert result.select("n_pos", "n_neg", "n_missing").row(0) == (n, n, 0)
    areas = result.select("auc", "auc_pessimistic", "auc_optimistic").row(0)
    assert areas == (0.5, (n - 1) / (2 * n), (n + 1) / (2 * n))
    curve = rf.curve(table, "label", "score")
    assert curve.row(-1) == (0.0, n, n, 0, 0, 1.0, 1.0)
    assert rf.area(curve)["auc"][0] == 0.5


@pytest.mark.slow
def test_more_than_2_to_the_24_float32_rows_are_counted_exactly():
    # 2^24 + 8 rows: a running sum in Float32 stops at 2^24.
    n = 2**24 + 8
    positive = np.zeros(n, bool)
    positive[:3] = True
    score = np.full(n, 0.25, np.float32)
    score[0] = 0.5
    table = pl.DataFrame({"label": positive, "score": score})
    result = rf.auc(table, "label", "score", ci=None)
    assert result.select("n_pos", "n_neg", "n_missing").row(0) == (3, n - 3, 0)
    assert result["auc"][0] == float(Fraction(1, 3) + Fraction(2, 3) / 2)
    assert rf.curve(table, "label", "score").select("tp", "fp").rows() == [
        (0, 0),
        (1, 0),
        (3, n - 3),
    ]
    fixed = rf.curve(table, "label", "score", thresholds=[0.3, 0.1])
    assert fixed.select("tp", "fp").rows() == [(0, 0), (1, 0), (3, n - 3)]


wholes = st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 2**50)), min_size=1, max_size=8)


@pytest.mark.parametrize("power", [1, 2])
@given(rows=wholes, data=st.data())
def test_sums_of_products_are_exact(power, rows, data):
    weight, value = (np.array(side, np.int64) for side in zip(*rows, strict=True))
    starts = np.array(sorted({0, *data.draw(st.lists(st.integers(0, len(rows) - 1)))}))
    found = exact_sums(weight, value, starts, power=power)
    ends = [*starts[1:], len(rows)]
    expected = [sum(w * v**power for w, v in rows[a:b]) for a, b in zip(starts, ends, strict=True)]
    assert [int(one) for one in found] == expected


@given(
    pairs=st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)), min_size=1, max_size=5)
)
def test_products_are_exact_whatever_their_size(pairs):
    one, two = (np.array(side, np.int64) for side in zip(*pairs, strict=True))
    assert [int(p) for p in exact_product(one, two)] == [a * b for a, b in pairs]
    assert exact_product(one, two).dtype == (
        np.int64 if int(one.max()) * int(two.max()) <= MAX_INT64 else object
    )


@given(part=st.integers(0, 2**80), whole=st.integers(0, 2**80))
def test_quotients_of_whole_numbers_are_rounded_once(part, whole):
    (found,) = exact_quotient(np.array([part], object), np.array([whole], object))
    assert math.isnan(found) if whole == 0 else found == float(Fraction(part, whole))
