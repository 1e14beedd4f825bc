from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import rocframe as rf
from tests import oracles
from tests.areas.expr_tables import ANY, WEIGHTS, actual, expected, holed
from tests.oracles import curve, sides
from tests.strategies import examples

SCORE = pl.col("score").roc


def of_positives(oracle):
    return lambda cases: oracle(curve(cases)) if sides(cases)[0] else None


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@examples(1 / 2)
@given(table=holed())
def test_average_precision_is_the_sum_over_the_steps_of_recall(weights, table):
    found = actual(table, SCORE.average_precision("label", **weights))
    wanted = expected(table, weights, of_positives(oracles.average_precision))
    # A sum of rounded quotients.
    assert_frame_equal(found, wanted, rel_tol=0, abs_tol=1e-12)


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@examples(1 / 2)
@given(table=holed(scores=ANY))
def test_pr_auc_is_the_integral_of_precision_over_recall(weights, table):
    found = actual(table, SCORE.pr_auc("label", **weights))
    wanted = expected(table, weights, of_positives(oracles.pr_auc))
    # The oracle integrates numerically.
    assert_frame_equal(found, wanted, rel_tol=0, abs_tol=1e-9)


@given(table=holed())
def test_both_are_those_of_the_curve_table(table):
    found = actual(table, SCORE.average_precision("label")).rename({"score": "average_precision"})
    found = found.with_columns(pr_auc=actual(table, SCORE.pr_auc("label"))["score"])
    curves = rf.curve(
        table, "label", "score", by="group", kind="precision_recall", missing="drop", count=None
    )
    # The same sums in another order.
    assert_frame_equal(found, rf.area(curves), rel_tol=0, abs_tol=1e-12)


@pytest.mark.parametrize(
    ("positives", "negatives", "pr_auc", "average_precision"),
    [
        (5, 5, 0.3068528194400547, 893 / 2520),
        (10, 90, 0.05175535907956341, 19642966051223 / 346206189128800),
    ],
)
def test_the_worst_order_has_the_smallest_areas(positives, negatives, pr_auc, average_precision):
    # Boyd, Santos Costa, Davis & Page (2012): 1 + (1 - p)/p·ln(1 - p), and the sum of i/(i + N)/P.
    rows = positives + negatives
    table = pl.DataFrame({"label": [1] * positives + [0] * negatives, "score": range(rows)})
    found = table.select(
        pr_auc=SCORE.pr_auc("label"), average_precision=SCORE.average_precision("label")
    )
    expected = pl.DataFrame({"pr_auc": [pr_auc], "average_precision": [average_precision]})
    # The integral of each step is a small difference of numbers near 1.
    assert_frame_equal(found, expected, rel_tol=0, abs_tol=1e-14)


@pytest.mark.parametrize(
    ("label", "score", "average_precision"),
    [
        # Fawcett 2006, figure 3; Dyakonov 2017, with a tie; both recomputed as fractions.
        (
            [1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0],
            list(range(20, 0, -1)),
            Fraction(6796689, 9237800),
        ),
        ([0, 0, 0, 1, 1, 1, 0], [0.5, 0.1, 0.2, 0.6, 0.2, 0.3, 0.0], Fraction(34, 45)),
    ],
    ids=["Fawcett", "Dyakonov"],
)
def test_published_tables_have_the_average_precision_of_their_fractions(
    label, score, average_precision
):
    found = pl.DataFrame({"label": label, "score": score}).select(SCORE.average_precision("label"))
    expected = pl.DataFrame({"score": [float(average_precision)]})
    assert_frame_equal(found, expected, rel_tol=0, abs_tol=1e-15)  # the last place of a sum


def test_scikit_learn_has_the_same_average_precision():
    metrics = pytest.importorskip("sklearn.metrics")
    np = pytest.importorskip("numpy")
    rng = np.random.default_rng(1)
    table = pl.DataFrame(
        {
            "label": rng.random(500) < 0.2,
            "score": rng.integers(0, 30, 500) / 30,
            "weight": rng.random(500),
        }
    )
    label, score, weight = table
    found = table.select(
        plain=SCORE.average_precision("label"),
        weighted=SCORE.average_precision("label", weight="weight"),
    )
    expected = pl.DataFrame(
        {
            "plain": [metrics.average_precision_score(label, score)],
            "weighted": [metrics.average_precision_score(label, score, sample_weight=weight)],
        }
    )
    assert_frame_equal(found, expected, rel_tol=0, abs_tol=1e-12)  # sums in another order
