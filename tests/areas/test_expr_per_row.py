"""Expressions with a value for each row: rates at its score, and its placement."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.areas.expr_tables import WEIGHTS, holed, missing, used
from tests.oracles import Case, beats, sides, total
from tests.strategies import examples

SCORE = pl.col("score").roc


def definition(name, label, score, pos, neg):
    """Return a rate, the share of a class with this score or more, or the placement of a row.

    The placement is the share of correctly ordered pairs with the rows of the other class.
    """
    cases = {"tpr": pos, "fpr": neg}.get(name, neg if label else pos)
    if missing(score) or not cases or (name == "placement" and label is None):
        return None
    if name != "placement":
        return float(Fraction(total(case for case in cases if case.score >= score), total(cases)))
    row = Case(label, score)
    won = (c.mass * (beats(row, c) if label else beats(c, row)) for c in cases)
    return float(sum(won, Fraction(0)) / total(cases))


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("name", ["tpr", "fpr", "placement"])
@examples(1 / 4)
@given(table=holed(), engine=st.sampled_from(["in-memory", "streaming"]))
def test_each_row_has_the_value_of_the_definition(name, weights, table, engine):
    groups = {
        group: sides(used(table.filter(pl.col("group").eq_missing(group)), weights))
        for group in table["group"].unique()
    }
    expected = [
        definition(name, label, score, *groups[group])
        for group, label, score in table.select("group", "label", "score").iter_rows()
    ]
    expected = pl.Series("score", expected, pl.Float64).to_frame()
    query = table.lazy().select(getattr(SCORE, name)("label", **weights).over("group"))
    tolerance = 1e-12 if "weight" in weights else 0  # of sums of weights
    assert_frame_equal(query.collect(engine=engine), expected, rel_tol=0, abs_tol=tolerance)


@given(table=holed())
def test_the_mean_placement_of_either_class_is_the_area(table):
    means = table.group_by("group", maintain_order=True).agg(
        pos=SCORE.placement("label").filter("label").mean(),
        neg=SCORE.placement("label").filter(~pl.col("label")).mean(),
    )
    area = table.group_by("group", maintain_order=True).agg(pos=SCORE.auc("label"))
    # A mean of rounded quotients.
    assert_frame_equal(means, area.with_columns(neg="pos"), rel_tol=0, abs_tol=1e-12)


@given(table=holed())
def test_rates_are_those_of_the_curve_table(table):
    rows = table.filter(~pl.col("score").is_nan(), pl.col("label").is_not_null())
    found = rows.select(
        "group",
        # The curve's threshold is 0.0 where a score is -0.0.
        threshold=pl.col("score") + 0.0,
        fpr=SCORE.fpr("label").over("group"),
        tpr=SCORE.tpr("label").over("group"),
    )
    curves = rf.curve(rows, "label", "score", by="group", count=None)
    keys = ["group", "threshold"]
    # An infinite score has its row after the one above all scores.
    curves = curves.unique(keys, keep="last", maintain_order=True)
    expected = found.select(keys).join(
        curves.select(*keys, "fpr", "tpr"),
        on=keys,
        nulls_equal=True,
        how="left",
        maintain_order="left",
    )
    assert_frame_equal(found, expected, check_exact=True)


def test_rows_without_label_or_weight_have_rates_but_do_not_count():
    table = pl.DataFrame(
        {
            "label": [True, None, True, False, True],
            "score": [0.9, 0.7, 0.5, 0.5, None],
            "weight": [1.0, 1.0, 3.0, None, 1.0],
        }
    )
    found = table.select(
        plain=SCORE.tpr("label"),
        weighted=SCORE.tpr("label", weight="weight"),
        negatives=SCORE.fpr("label"),
    )
    expected = pl.DataFrame(
        {
            "plain": [0.5, 0.5, 1.0, 1.0, None],
            "weighted": [0.25, 0.25, 1.0, 1.0, None],
            "negatives": [0.0, 0.0, 1.0, 1.0, None],
        }
    )
    assert_frame_equal(found, expected, check_exact=True)


@pytest.mark.parametrize("rows", [49, 98, 103, 107])
def test_the_lowest_score_has_rates_of_exactly_one(rows):
    # Of these numbers the reciprocal is rounded, so that n·(1/n) is less than 1.
    table = pl.DataFrame({"label": [True, False] * rows, "score": range(2 * rows)})
    found = table.select(tpr=SCORE.tpr("label").first(), fpr=SCORE.fpr("label").first())
    assert_frame_equal(found, pl.DataFrame({"tpr": [1.0], "fpr": [1.0]}), check_exact=True)
