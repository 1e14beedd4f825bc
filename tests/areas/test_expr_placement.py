from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

from tests.areas.expr_tables import WEIGHTS, holed, missing, used
from tests.oracles import Case, beats, sides, total
from tests.strategies import examples

SCORE = pl.col("score").roc


def places(table, weights):
    """Compare each row with every row of the other class in its group."""

    def place(name, label, score):
        group = table.filter(pl.col("group").eq_missing(name))
        pos, neg = sides(used(group, weights))
        others = neg if label else pos
        if label is None or missing(score) or not others:
            return None
        row = Case(label, score)
        won = sum(
            (c.mass * (beats(row, c) if label else beats(c, row)) for c in others), Fraction(0)
        )
        return float(won / total(others))

    found = [place(*row) for row in table.select("group", "label", "score").iter_rows()]
    return pl.DataFrame({"score": found}, schema={"score": pl.Float64})


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@examples(1 / 2)
@given(table=holed())
def test_a_row_is_placed_among_the_other_class_with_ties_counting_half(weights, engine, table):
    query = table.lazy().select(SCORE.placement("label", **weights).over("group"))
    tolerance = 1e-12 if "weight" in weights else 0  # of sums of weights
    assert_frame_equal(
        query.collect(engine=engine), places(table, weights), rel_tol=0, abs_tol=tolerance
    )


@given(table=holed())
def test_the_mean_over_either_class_is_the_area(table):
    means = table.group_by("group", maintain_order=True).agg(
        pos=SCORE.placement("label").filter("label").mean(),
        neg=SCORE.placement("label").filter(~pl.col("label")).mean(),
    )
    area = table.group_by("group", maintain_order=True).agg(pos=SCORE.auc("label"))
    expected = area.with_columns(neg="pos")
    # A mean of rounded quotients.
    assert_frame_equal(means, expected, rel_tol=0, abs_tol=1e-12)
