import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.areas.expr_tables import WEIGHTS, actual, expected, holed
from tests.oracles import partial_areas
from tests.strategies import examples

SCORE = pl.col("score").roc
RANGES = [("fpr", 0, 0.1), ("fpr", 0.25, 0.75), ("fpr", 0, 1), ("tpr", 0.9, 1), ("tpr", 0.3, 0.5)]
few = examples(1 / 4)  # of each range
every_range = pytest.mark.parametrize(("rate", "a", "b"), RANGES)


@pytest.mark.slow
@every_range
@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@few
@given(table=holed())
def test_the_partial_area_is_the_integral_over_the_range(weights, rate, a, b, table):
    found = actual(table, SCORE.auc("label", **{rate: (a, b)}, **weights))

    def area(cases):
        parts = partial_areas(cases, rate, a, b)
        return None if parts is None else parts.auc

    # Rates are rounded before they are cut.
    assert_frame_equal(found, expected(table, weights, area), rel_tol=0, abs_tol=1e-12)


@every_range
@pytest.mark.parametrize("standardize", [None, "mcclish"])
@few
@given(table=holed())
def test_the_expression_equals_the_result_of_auc(rate, a, b, standardize, table):
    if (a, b) == (0, 1):
        return  # McClish's scale of the whole area is the area
    options = {rate: (a, b), "standardize": standardize}
    found = actual(table, SCORE.auc("label", **options))
    verb = rf.auc(
        table, "label", "score", by="group", ci=None, missing="drop", count=None, **options
    )
    expected = verb.select("group", score="partial_auc")
    assert_frame_equal(found, expected, rel_tol=0, abs_tol=1e-12)
