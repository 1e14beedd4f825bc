from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.areas.expr_tables import WEIGHTS, holed, missing, used
from tests.oracles import sides, total
from tests.strategies import examples

SCORE = pl.col("score").roc


def rates(table, weights, *, positive):
    """Compute the rate at the score of each row, one row at a time."""
    groups = {
        name: sides(used(table.filter(pl.col("group").eq_missing(name)), weights))[not positive]
        for name in table["group"].unique()
    }

    def rate(name, score):
        cases = groups[name]
        if missing(score) or not cases:
            return None
        called = total(case for case in cases if case.score >= score)
        return float(Fraction(called, total(cases)))

    found = [rate(name, score) for name, score in zip(table["group"], table["score"], strict=True)]
    return pl.DataFrame({"score": found}, schema={"score": pl.Float64})


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@examples(1 / 2)
@given(table=holed())
def test_each_row_has_the_rates_of_predicting_its_score_and_above(weights, engine, table):
    tolerance = 1e-12 if "weight" in weights else 0  # of sums of weights
    for expression, positive in ((SCORE.tpr, True), (SCORE.fpr, False)):
        query = table.lazy().select(expression("label", **weights).over("group"))
        expected = rates(table, weights, positive=positive)
        assert_frame_equal(query.collect(engine=engine), expected, rel_tol=0, abs_tol=tolerance)


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
