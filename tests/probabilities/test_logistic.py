"""Logistic recalibration against scikit-learn, closed forms and the equations of the estimates."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from rocframe.kernel import scan as scan_module
from rocframe.probabilities import regression as logistic
from rocframe.probabilities.losses import log_odds
from rocframe.probabilities.regression import (
    LogisticRows,
    fit_logistic,
    logistic_recalibration,
    unit_slope_intercept,
)
from tests.probabilities.scans import scan_of

SCORES = [0.0, 0.02, 0.1, 0.3, 0.5, 0.7, 0.75, 0.9, 1.0]
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(SCORES), st.booleans()), min_size=1, max_size=40
)


def simulated(n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    group, predictor = rng.integers(0, 4, n), rng.normal(-1, 1.5, n)
    return group, expit(predictor), rng.random(n) < expit(0.4 + 0.6 * predictor)


@pytest.mark.parametrize("weighted", [False, True])
def test_parameters_are_those_of_scikit_learn(weighted, monkeypatch):
    monkeypatch.setattr(scan_module, "BLOCK_ROWS", 50)  # groups are divided into several blocks
    monkeypatch.setattr(logistic, "PART_ROWS", 30)
    monkeypatch.setattr(logistic, "LARGE_GROUP", 145)  # some of the groups have more rows
    monkeypatch.setattr(logistic, "SAMPLED_ROWS", 3)
    group, score, positive = simulated()
    weight = np.random.default_rng(2).random(len(score)) if weighted else None
    fitted = logistic_recalibration(scan_of(group, score, positive, weight))
    for i in range(4):
        rows = group == i
        model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(
            log_odds(score[rows])[:, None],
            positive[rows],
            sample_weight=None if weight is None else weight[rows],
        )
        assert fitted.intercept[i] == pytest.approx(model.intercept_[0], abs=1e-9)
        assert fitted.slope[i] == pytest.approx(model.coef_[0, 0], abs=1e-9)


def test_calibration_in_the_large_makes_the_sum_of_probabilities_equal_to_the_number_of_events():
    group, score, positive = simulated()
    shifts = unit_slope_intercept(scan_of(group, score, positive))
    for i in range(4):
        predictor, n_pos = log_odds(score[group == i]), positive[group == i].sum()
        root = brentq(lambda a, x=predictor, n=n_pos: expit(a + x).sum() - n, -9, 9, xtol=1e-14)
        assert shifts[i] == pytest.approx(root, abs=1e-12)


def test_two_distinct_scores_give_the_closed_form():
    # With two scores, the model is saturated: it reproduces the event rates 1/4 and 2/3.
    score, positive = np.repeat([0.2, 0.5], [4, 3]), np.array([1, 0, 0, 0, 1, 1, 0], bool)
    fitted = logistic_recalibration(scan_of(np.zeros(7, int), score, positive))
    slope = (log(2) - log(1 / 3)) / (0 - log(1 / 4))
    assert fitted.intercept[0] == pytest.approx(log(2), rel=1e-14)
    assert fitted.slope[0] == pytest.approx(slope, rel=1e-14)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_with_scores_of_0_and_1_are_left_out(weighted):
    group, score, positive = simulated()
    weight = np.linspace(0.5, 2, len(score)) if weighted else None
    score = np.where(score < 0.1, 0.0, np.where(score > 0.6, 1.0, score))
    inside = (score > 0) & (score < 1)
    scans = [
        scan_of(group[rows], score[rows], positive[rows], None if weight is None else weight[rows])
        for rows in (np.ones(len(score), bool), inside)
    ]
    for name in ("intercept", "slope"):
        a, b = (getattr(logistic_recalibration(scan), name) for scan in scans)
        assert a == pytest.approx(b, rel=1e-10)
    a, b = (unit_slope_intercept(scan) for scan in scans)
    assert a == pytest.approx(b, rel=1e-10)


def test_logits_of_0_and_1_are_clipped_for_fits():
    largest = log(2**52 - 1)
    assert log_odds(np.array([0.0, 1.0])).tolist() == pytest.approx([-largest, largest], rel=1e-14)


@given(ROWS)
def test_estimates_solve_the_score_equations_and_are_nan_without_a_maximum(rows):
    group, score, positive = (np.array(column) for column in zip(*rows, strict=True))
    fitted = logistic_recalibration(scan_of(group, score, positive))
    shifts = unit_slope_intercept(scan_of(group, score, positive))
    for i, key in enumerate(np.unique(group)):
        # Rows with a score of 0 or 1 are left out.
        inside = (group == key) & (score > 0) & (score < 1)
        predictor, outcome = log_odds(score[inside]), positive[inside]
        pos, neg = predictor[outcome], predictor[~outcome]
        assert np.isnan(shifts[i]) == (len(pos) == 0 or len(neg) == 0)
        # The likelihood has a finite maximum if no threshold separates the classes.
        has_maximum = len(pos) and len(neg) and pos.min() < neg.max() and neg.min() < pos.max()
        assert np.isnan(fitted.slope[i]) == (not has_maximum)
        if has_maximum:
            residual = outcome - expit(fitted.intercept[i] + fitted.slope[i] * predictor)
            assert residual.sum() == pytest.approx(0, abs=1e-9)
            assert (residual * predictor).sum() == pytest.approx(0, abs=1e-8)


def test_a_step_that_decreases_the_likelihood_is_halved():
    # The offsets are far from the estimate, where the information is nearly 0. The complete Newton
    # step from there is about 1e15.
    outcome = np.array([0, 1, 1, 0, 1])
    rows = LogisticRows(
        groups=np.array([0]),
        starts=np.array([0, 5]),
        pos=outcome,
        neg=1 - outcome,
        columns=(np.ones(5),),
        offset=np.full(5, -36.0),
    )
    (fitted,) = fit_logistic([rows], 1, np.ones(1, bool))
    assert fitted[0] == pytest.approx(36 + log(1.5), rel=1e-12)


def test_weights_may_be_fractions_and_columns_may_have_any_unit():
    rng = np.random.default_rng(3)
    x, share = rng.normal(size=(2, 200)), rng.random(200)
    parts = [
        LogisticRows(
            groups=np.arange(2),
            starts=np.array([0, 80, 200]),
            pos=share,
            neg=1 - share,
            columns=(np.ones(200), 1e6 * x[0], 1e-6 * x[1]),
        )
    ]
    fitted = fit_logistic(parts, 3, np.ones(2, bool)) * [1, 1e6, 1e-6]
    for i, rows in enumerate([slice(80), slice(80, 200)]):
        p = expit(fitted[i, 0] + fitted[i, 1:] @ x[:, rows])
        np.testing.assert_allclose(x[:, rows] @ (share[rows] - p), 0, atol=1e-9)
        assert p.sum() == pytest.approx(share[rows].sum(), abs=1e-9)


def test_linearly_dependent_columns_give_nan_and_do_not_affect_other_groups():
    x = np.array([2.0, 2.0, 2.0, 1.0, 2.0, 3.0])
    rows = LogisticRows(
        groups=np.arange(2),
        starts=np.array([0, 3, 6]),
        pos=np.array([1, 0, 1, 1, 0, 1]),
        neg=np.array([0, 1, 0, 0, 1, 0]),
        columns=(np.ones(6), x),
    )
    fitted = fit_logistic([rows], 2, np.ones(2, bool))
    assert np.isnan(fitted[0]).all()
    np.testing.assert_allclose(fitted[1], [log(2), 0], atol=1e-12)
    assert np.isnan(fit_logistic([rows], 2, np.array([True, False]))).all()
