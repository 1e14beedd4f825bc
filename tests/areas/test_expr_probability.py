import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn import metrics

import rocframe as rf
from tests.areas.expr_tables import WEIGHTS, actual, expected, holed
from tests.oracles import total
from tests.strategies import examples

SCORE = pl.col("score").roc
PROBABILITIES = st.sampled_from([0.0, -0.0, 0.25, 1.0, None, math.nan]) | st.floats(0, 1)


def mean(loss):
    def oracle(cases):
        if not any(case.positive for case in cases):
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
    expected = pl.DataFrame(
        {"brier": [None], "log_loss": [None]}, schema={"brier": pl.Float64, "log_loss": pl.Float64}
    )
    assert_frame_equal(found, expected)


def test_ignored_rows_may_have_any_score():
    table = pl.DataFrame({"label": [1, 0, None], "score": [0.5, 0.5, 7.0], "count": [1, 1, 1]})
    found = table.select(brier=SCORE.brier("label"), counted=SCORE.brier("label", count="count"))
    assert_frame_equal(found, pl.DataFrame({"brier": [0.25], "counted": [0.25]}), check_exact=True)


def test_scoring_rules_are_defined_for_positives_only():
    table = pl.DataFrame({"label": [True, True], "score": [1.0, 0.5]})
    found = table.select(brier=SCORE.brier("label"), log_loss=SCORE.log_loss("label"))
    expected = pl.DataFrame({"brier": [0.125], "log_loss": [math.log(2) / 2]})
    # A certain score is clipped by 2⁻⁵².
    assert_frame_equal(found, expected, rel_tol=0, abs_tol=1e-15)


def test_the_log_loss_of_a_certain_wrong_prediction_is_finite():
    table = pl.DataFrame({"label": [True, False], "score": [0, 1]})
    found = table.select(SCORE.log_loss("label"))
    expected = pl.DataFrame({"score": [52 * math.log(2)]})
    assert_frame_equal(found, expected, rel_tol=1e-15, abs_tol=0)  # the last place of a logarithm


def test_results_equal_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {
            "label": rng.random(300) < 0.4,
            "score": np.append(rng.random(298), [0.0, 1.0]),
            "weight": rng.random(300),
        }
    )
    label, score, weight = (column.to_numpy() for column in table)
    for method, function in (
        (SCORE.brier, metrics.brier_score_loss),
        (SCORE.log_loss, metrics.log_loss),
    ):
        found = table.select(a=method("label"), b=method("label", weight="weight")).row(0)
        wanted = function(label, score), function(label, score, sample_weight=weight)
        assert found == pytest.approx(wanted, rel=1e-12, abs=0)  # sums in another order


@pytest.mark.slow
@pytest.mark.parametrize("mass", WEIGHTS, ids=str)
@pytest.mark.parametrize(
    ("method", "bins"),
    [("quantile", 10), ("quantile", 3), ("uniform", 7), ("quantile", [0, 0.2, 3 / 7, 1])],
)
@examples(1 / 4)
@given(
    rows=st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.booleans(),
            st.sampled_from([0.0, 1 / 7, 0.2, 0.3, 3 / 7, 0.5, 0.9, 1.0]) | st.floats(1e-6, 1),
            st.floats(0.1, 3),
            st.integers(0, 3),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_measures_of_calibration_are_those_of_calibration_summary(mass, method, bins, rows):
    table = pl.DataFrame(rows, schema=["g", "label", "score", "weight", "count"], orient="row")
    found = (
        table.group_by("g")
        .agg(
            brier_skill=SCORE.brier_skill("label", **mass),
            cllr=SCORE.cllr("label", **mass),
            ece=SCORE.ece("label", method=method, bins=bins, **mass),
            spiegelhalter_z=SCORE.spiegelhalter_z("label", **mass),
        )
        .sort("g")
    )
    options = {"method": method, "bins": bins, "count": None} | mass
    summary = rf.calibration_summary(table, "label", "score", by="g", **options)
    # Expressions are null without positives.
    measures = pl.when(pl.col("n_pos") > 0).then(pl.col(found.columns[1:]))
    expected = summary.select("g", measures.name.keep())
    assert_frame_equal(found, expected, rel_tol=1e-9, abs_tol=1e-12)


def test_observed_to_expected_is_a_ratio_of_sums():
    table = pl.DataFrame(
        {"label": [1, 0, 1, 0], "score": [0.5, 0.25, 0.5, 0.75], "w": [1.0, 2.0, 3.0, 4.0]}
    )
    found = table.select(
        plain=SCORE.observed_to_expected("label"),
        weighted=SCORE.observed_to_expected("label", weight="w"),
    )
    assert found.row(0) == (1, 4 / 5.5)
    zeros = pl.DataFrame({"g": [0, 0, 1], "label": [1, 0, 0], "score": [0.0, 0.0, 0.0]})
    ratios = zeros.group_by("g").agg(SCORE.observed_to_expected("label")).sort("g")
    assert ratios["score"].to_list() == [math.inf, None]


def test_measures_of_calibration_are_null_if_undefined():
    methods = [
        *(SCORE.brier_skill, SCORE.cllr, SCORE.ece),
        *(SCORE.spiegelhalter_z, SCORE.observed_to_expected),
    ]
    names = ["brier_skill", "cllr", "ece", "spiegelhalter_z", "observed_to_expected"]
    for label, score, values in [
        ([1, 0], [0.5, 1.5], [None] * 5),
        ([], [], [None] * 5),
        ([1, 1], [0.75, 0.75], [None, None, 0.25, pytest.approx(-((2 / 3) ** 0.5)), 4 / 3]),
    ]:
        table = pl.DataFrame(
            {"label": label, "score": score}, schema={"label": pl.Int64, "score": pl.Float64}
        )
        found = table.select(
            method("label").alias(name) for name, method in zip(names, methods, strict=True)
        )
        assert list(found.row(0)) == values


@pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e-160, 1e100])
def test_spiegelhalter_z_does_not_depend_on_the_unit_of_the_weights(unit):
    table = pl.DataFrame(
        {
            "label": [1, 0, 1, 0, None],
            "score": [0.9, 0.4, 0.3, 0.2, 0.5],
            "w": [0.5, 2.0, 1.0, 3.0, 1e30],
            "n": [1, 2, 3, 1, 1],
        }
    )
    for mass in ({"weight": "w"}, {"weight": "w", "count": "n"}):
        z = SCORE.spiegelhalter_z("label", **mass)
        found = table.with_columns(pl.col("w") * unit).select(z)
        assert_frame_equal(found, table.select(z), rel_tol=1e-12, abs_tol=0)
