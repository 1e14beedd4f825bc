import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

from tests.areas.expr_tables import WEIGHTS, actual, expected, holed
from tests.oracles import axes, curve, sides
from tests.strategies import examples

SCORE = pl.col("score").roc


def distance(cases):
    pos, neg = sides(cases)
    return max(y - x for x, y in axes(curve(cases))) if pos and neg else None


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@examples(1 / 2)
@given(table=holed())
def test_ks_is_the_maximum_of_tpr_minus_fpr(weights, table):
    found = actual(table, SCORE.ks("label", **weights))
    tolerance = 1e-12 if "weight" in weights else 0  # of sums of weights
    assert_frame_equal(found, expected(table, weights, distance), rel_tol=0, abs_tol=tolerance)


def test_ks_of_fawcetts_example_equals_the_maximum_of_its_curve():
    # Fawcett 2006, figure 3: (0.1, 0.5) at threshold 0.54.
    label = [1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0]
    table = pl.DataFrame({"label": label, "score": range(20, 0, -1)})
    found = table.select(SCORE.ks("label"))
    assert_frame_equal(found, pl.DataFrame({"score": [0.4]}), check_exact=True)


def test_ks_equals_scipys_if_positives_score_higher():
    stats = pytest.importorskip("scipy.stats")
    pos, neg = [0.9, 0.8, 0.4, 0.4, 0.3], [0.7, 0.4, 0.3, 0.2, 0.2, 0.1]
    table = pl.DataFrame({"label": [1] * 5 + [0] * 6, "score": pos + neg})
    expected = stats.ks_2samp(neg, pos, alternative="greater", method="exact").statistic
    found = table.select(SCORE.ks("label"))
    # Both are differences of rounded rates.
    assert_frame_equal(found, pl.DataFrame({"score": [expected]}), rel_tol=0, abs_tol=1e-15)
