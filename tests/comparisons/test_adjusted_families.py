"""Baselines, and p-values adjusted over families of tests."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.comparisons.tables import METHODS, bh, holm, long, near, simulated


def test_a_model_absent_from_a_group_is_not_compared_there():
    table = simulated(8, 30, groups=3)
    melted = long(table).filter((pl.col("model") != "b") | (pl.col("g") != 1))
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    for options in ({"id": "id"}, {"method": "delong_unpaired"}):
        found = rf.compare(melted, "label", "score", by="g", **options)
        assert found.select("g", "model_a", "model_b").rows() == [
            *((0, *pair) for pair in pairs),
            (1, "a", "c"),
            *((2, *pair) for pair in pairs),
        ]
        whole = rf.compare(long(table), "label", "score", by="g", **options)
        there = ["g", "model_a", "model_b"]
        expected = whole.join(found, on=there, how="semi", maintain_order="left")
        assert_frame_equal(found.drop("p_adjusted"), expected.drop("p_adjusted"), check_exact=True)


@pytest.mark.parametrize("method", METHODS)
def test_the_baseline_is_model_a_of_every_pair(method):
    table = simulated(12, groups=2)
    options = {"by": "g", "method": method, "seed": 3, "n_boot": 50, "n_perm": 50, "adjust": None}
    every = rf.compare(table, "label", ["a", "b", "c"], **options)
    found = rf.compare(table, "label", ["a", "b", "c"], baseline="b", **options)
    assert found.select("g", "model_a", "model_b").rows() == [
        (g, "b", other) for g in (0, 1) for other in "ac"
    ]
    same = every.filter(model_a="b", model_b="c")
    assert_frame_equal(found.filter(model_b="c"), same, check_exact=True)
    turned = every.filter(model_a="a", model_b="b")
    found = found.filter(model_b="a")
    for name, mirror in (("difference", "difference"), ("lower", "upper"), ("upper", "lower")):
        assert found[name].to_list() == [None if v is None else -v for v in turned[mirror]]
    assert found["p_value"].to_list() == turned["p_value"].to_list()
    assert found["auc_b"].to_list() == turned["auc_a"].to_list()


@pytest.mark.parametrize(("adjust", "formula"), [("holm", holm), ("bh", bh), (None, list)])
@pytest.mark.parametrize("family", ["group", "all"])
def test_p_values_are_adjusted_within_each_family(adjust, formula, family):
    table = simulated(13, groups=4).with_columns(
        a=pl.when(pl.col("g") == 2).then("b").otherwise("a"),
        label=pl.col("label") & (pl.col("g") != 3),
    )
    found = rf.compare(table, "label", ["a", "b", "c"], by="g", adjust=adjust, family=family)
    assert found.filter(g=2, model_a="a", model_b="b")["p_value"].item() == 1.0
    assert found.filter(g=3)["p_value"].to_list() == [None] * 3
    assert found.filter(g=3)["p_adjusted"].to_list() == [None] * 3
    families = [found.filter(pl.col("g") < 3)]
    if family == "group":
        families = families[0].partition_by("g")
    for one in families:
        assert one["p_adjusted"].to_list() == [near(p) for p in formula(one["p_value"].to_list())]
