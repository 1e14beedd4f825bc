import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tests.areas.expr_tables import WEIGHTS, actual, expected, holed
from tests.oracles import total
from tests.strategies import examples

SCORE = pl.col("score").roc
PROBABILITIES = st.sampled_from([0.0, -0.0, 0.25, 1.0, None, math.nan]) | st.floats(0, 1)


def mean(loss):
    def oracle(cases):
        if not cases:
            return None
        return sum(float(case.mass) * loss(case) for case in cases) / float(total(cases))

    return oracle


def squared(case):
    return (case.score - case.positive) ** 2


def surprise(case):
    score = min(max(case.score, 2**-52), 1 - 2**-52)
    return -math.log(score if case.positive else 1 - score)


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@examples(1 / 2)
@given(table=holed(scores=PROBABILITIES))
def test_scoring_rules_are_means_over_the_rows_that_count(weights, table):
    for expression, loss in ((SCORE.brier, squared), (SCORE.log_loss, surprise)):
        found = actual(table, expression("label", **weights))
        # Sums in another order.
        assert_frame_equal(
            found, expected(table, weights, mean(loss)), rel_tol=1e-12, abs_tol=1e-12
        )


@pytest.mark.parametrize("score", [1.0000001, -0.1, math.inf, -math.inf])
def test_scoring_rules_are_null_if_a_score_is_not_a_probability(score):
    table = pl.DataFrame({"label": [1, 0, 1], "score": [0.5, 0.5, score]})
    found = table.select(brier=SCORE.brier("label"), log_loss=SCORE.log_loss("label"))
    wanted = pl.DataFrame(
        {"brier": [None], "log_loss": [None]}, schema={"brier": pl.Float64, "log_loss": pl.Float64}
    )
    assert_frame_equal(found, wanted)


def test_ignored_rows_may_have_any_score():
    table = pl.DataFrame({"label": [1, 0, None], "score": [0.5, 0.5, 7.0], "count": [1, 1, 1]})
    found = table.select(brier=SCORE.brier("label"), counted=SCORE.brier("label", count="count"))
    assert_frame_equal(found, pl.DataFrame({"brier": [0.25], "counted": [0.25]}), check_exact=True)


def test_scoring_rules_are_defined_for_one_class():
    table = pl.DataFrame({"label": [True, True], "score": [1.0, 0.5]})
    found = table.select(brier=SCORE.brier("label"), log_loss=SCORE.log_loss("label"))
    wanted = pl.DataFrame({"brier": [0.125], "log_loss": [math.log(2) / 2]})
    # A certain score is clipped by 2⁻⁵².
    assert_frame_equal(found, wanted, rel_tol=0, abs_tol=1e-15)


def test_the_log_loss_of_a_certain_wrong_prediction_is_finite():
    table = pl.DataFrame({"label": [True, False], "score": [0, 1]})
    found = table.select(SCORE.log_loss("label"))
    wanted = pl.DataFrame({"score": [52 * math.log(2)]})
    assert_frame_equal(found, wanted, rel_tol=1e-15, abs_tol=0)  # the last place of a logarithm


def test_results_equal_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    np = pytest.importorskip("numpy")
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {
            "label": rng.random(300) < 0.4,
            "score": np.append(rng.random(298), [0.0, 1.0]),
            "weight": rng.random(300),
        }
    )
    label, score, weight = (column.to_numpy() for column in table)
    found = table.select(
        brier=SCORE.brier("label"),
        brier_weighted=SCORE.brier("label", weight="weight"),
        log_loss=SCORE.log_loss("label"),
        log_loss_weighted=SCORE.log_loss("label", weight="weight"),
    )
    wanted = pl.DataFrame(
        {
            "brier": [metrics.brier_score_loss(label, score)],
            "brier_weighted": [metrics.brier_score_loss(label, score, sample_weight=weight)],
            "log_loss": [metrics.log_loss(label, score)],
            "log_loss_weighted": [metrics.log_loss(label, score, sample_weight=weight)],
        }
    )
    assert_frame_equal(found, wanted, rel_tol=1e-12, abs_tol=0)  # sums in another order
