"""The row of lowest expected cost is that of an exact search over all rows."""

from __future__ import annotations

from fractions import Fraction
from math import isnan

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocframe as rf
from rocframe.curves.table import curve_layout, read_curves
from rocframe.decisions.costs import lowest_cost
from rocframe.rates import Settings

rows = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=25)
prices = st.none() | st.fixed_dictionaries(
    {"fp": st.integers(0, 9), "fn": st.sampled_from([0.1, 0.3, 1, 7])},
    optional={"tp": st.sampled_from([-2, -0.5, 0]), "tn": st.sampled_from([-3, 0])},
)
shares = st.none() | st.sampled_from([0.01, 0.1, 0.25, 0.5, 0.9])


def curves_of(table):
    columns = curve_layout(table.schema, None, ())
    return read_curves(table.select(columns.all_columns), columns)


def found(table, costs=None, prevalence=None):
    return lowest_cost(curves_of(table), Settings(costs=costs, prevalence=prevalence))


def expected(row, costs, prevalence):
    """Return the expected cost: the share of each cell times its cost."""
    pos, neg = row["tp"] + row["fn"], row["fp"] + row["tn"]
    share = Fraction(pos, pos + neg) if prevalence is None else Fraction(str(prevalence))
    price = {name: Fraction(str(cost)) for name, cost in costs.items()}
    return sum(
        price.get(name, 0) * part * Fraction(row[name], whole)
        for names, part, whole in ((("tp", "fn"), share, pos), (("fp", "tn"), 1 - share, neg))
        for name in names
    )


@given(rows=rows, costs=prices, prevalence=shares)
def test_no_row_costs_less_and_none_of_a_higher_threshold_costs_as_little(rows, costs, prevalence):
    label, score = zip(*rows, strict=True)
    table = rf.curve(pl.DataFrame({"label": label, "score": score}), "label", "score")
    best = found(table, costs, prevalence)
    if len(set(label)) < 2:
        assert best.row[0] == -1
        assert isnan(best.cost[0])
        return
    costs = costs or {"fp": 1, "fn": 1}
    paid = [expected(row, costs, prevalence) for row in table.iter_rows(named=True)]
    assert best.row[0] == paid.index(min(paid))
    assert best.cost[0] == pytest.approx(float(min(paid)), rel=1e-12, abs=1e-15)


@given(rows=rows, costs=prices, prevalence=shares)
def test_points_on_a_line_of_equal_cost_have_the_same_cost(rows, costs, prevalence):
    label, score = zip(*[*rows, (True, 0), (False, 0)], strict=True)
    table = rf.curve(pl.DataFrame({"label": label, "score": score}), "label", "score")
    best = found(table, costs, prevalence)
    share = Fraction(sum(label), len(label)) if prevalence is None else Fraction(str(prevalence))
    price = {name: Fraction(str(cost)) for name, cost in (costs or {"fp": 1, "fn": 1}).items()}
    dear = (1 - share) * (price.get("fp", 0) - price.get("tn", 0))
    good = share * (price.get("fn", 0) - price.get("tp", 0))
    assert dear * Fraction(best.run[0]) - good * Fraction(best.rise[0]) == pytest.approx(0)


def test_costs_that_are_equal_as_decimals_are_equal():
    # 0.1 three times is 0.3 in decimals, and more than that in floats.
    table = pl.DataFrame(
        {
            "threshold": [float("inf"), 2.0, 1.0],
            "tp": [0, 3, 4],
            "fp": [0, 0, 3],
            "fn": [4, 1, 0],
            "tn": [4, 4, 1],
        }
    )
    best = found(table, {"fp": 0.1, "fn": 0.3})
    assert best.row.tolist() == [1]
    assert best.cost.tolist() == pytest.approx([0.3 / 8])


def test_costs_with_a_rounded_common_factor_have_the_same_ties():
    # From the first optimum to the second, 103 positives and 101 negatives are added.
    table = pl.DataFrame(
        {
            "threshold": [float("inf"), 3.0, 2.0, 1.0],
            "tp": [0, 200, 303, 500],
            "fp": [0, 0, 101, 500],
            "fn": [500, 300, 197, 0],
            "tn": [500, 500, 399, 0],
        }
    )
    for factor in (1, 0.1, 0.7, 1.1):
        best = found(table, {"fp": 103 * factor, "fn": 101 * factor})
        assert (best.row.tolist(), best.n_optima.tolist()) == ([1], [2])


def test_counts_whose_products_no_int64_holds_are_compared_exactly():
    big = 3 * 10**9
    table = pl.DataFrame(
        {
            "threshold": [float("inf"), 3.0, 2.0, 1.0],
            "tp": [0, big - 1, big, big],
            "fp": [0, 0, 1, big],
            "fn": [big, 1, 0, 0],
            "tn": [big, big, big - 1, 0],
        }
    )
    assert found(table, {"fp": 1.0000000001, "fn": 1}).row.tolist() == [1]
    assert found(table, {"fp": 0.9999999999, "fn": 1}).row.tolist() == [2]
    assert found(table, {"fp": 1.0000000001, "fn": 1}, 0.5).row.tolist() == [1]


def test_weights_are_compared_as_floats():
    predictions = pl.DataFrame(
        {"label": [1, 0, 1, 0], "score": [4, 3, 2, 1], "w": [0.5, 0.25, 2.5, 1.0]}
    )
    table = rf.curve(predictions, "label", "score", weight="w")
    assert found(table).row.tolist() == [3]
    assert found(table).cost.tolist() == pytest.approx([0.25 / 4.25])


def test_an_undefined_group_does_not_remove_rows_of_other_groups():
    predictions = pl.DataFrame(
        {"g": ["a", "a", "b", "c", "c"], "label": [1, 0, 1, 1, 0], "score": [2, 1, 3, 1, 2]}
    )
    best = found(rf.curve(predictions, "label", "score", by="g"))
    assert best.row.tolist() == [1, -1, 5]
    np.testing.assert_array_equal(best.cost, [0, np.nan, 0.5])
    np.testing.assert_array_equal(best.rise, [0.5, np.nan, 0.5])
