from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.areas.expr_tables import WEIGHTS, actual, expected, holed
from tests.oracles import areas
from tests.strategies import examples

SCORE = pl.col("score").roc
ROUNDING = 1e-12  # of sums of weights; everything else is exact


def area(cases):
    found = areas(cases)
    return None if found is None else found.auc


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@examples(1 / 2)
@given(table=holed())
def test_auc_is_the_share_of_ordered_pairs_with_ties_as_one_half(weights, engine, table):
    found = actual(table, SCORE.auc("label", **weights), engine=engine)
    wanted = expected(table, weights, area)
    tolerance = ROUNDING if "weight" in weights else 0
    assert_frame_equal(found, wanted, rel_tol=0, abs_tol=tolerance)


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@examples(1 / 2)
@given(table=holed())
def test_the_expression_equals_the_result_of_auc(weights, table):
    found = actual(table, SCORE.auc("label", **weights))
    given = {"count": None} | weights
    verb = rf.auc(table, "label", "score", by="group", ci=None, missing="drop", **given)
    expected = verb.select("group", score="auc")
    tolerance = ROUNDING if "weight" in weights else 0
    assert_frame_equal(found, expected, rel_tol=0, abs_tol=tolerance)


@given(table=holed())
def test_gini_is_twice_the_area_above_chance(table):
    found = actual(table, SCORE.gini("label"))
    wanted = expected(table, {}, area).with_columns(score=2 * pl.col("score") - 1)
    assert_frame_equal(found, wanted, check_exact=True)


@given(
    pairs=st.lists(st.tuples(st.booleans(), st.integers(2**62, 2**62 + 3)), min_size=1, max_size=9)
)
@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt64, pl.Int128])
def test_integers_that_are_equal_as_float64_are_distinguished(dtype, pairs):
    table = pl.DataFrame(pairs, schema={"label": pl.Boolean, "score": dtype}, orient="row")
    pos = [score for label, score in pairs if label]
    neg = [score for label, score in pairs if not label]
    twice = sum((x > y) + (x >= y) for x in pos for y in neg)
    expected = float(Fraction(twice, 2 * len(pos) * len(neg))) if pos and neg else None
    found = table.select(SCORE.auc("label"))
    assert_frame_equal(found, pl.DataFrame({"score": [expected]}, schema={"score": pl.Float64}))


@pytest.mark.parametrize(
    "dtype",
    [pl.Boolean, pl.UInt8, pl.Int8, pl.UInt64, pl.Float16, pl.Float32, pl.Decimal(10, 2)],
    ids=str,
)
def test_scores_of_any_dtype_are_ranked_without_conversion(dtype):
    scores = pl.Series([0, 1, 0, 1, None]).cast(dtype)
    table = pl.DataFrame({"label": [0, 0, 1, 1, 1], "score": scores})
    found = table.select(
        plain=SCORE.auc("label"),
        counted=SCORE.auc("label", count=pl.lit(2, pl.UInt8)),
        weighted=SCORE.auc("label", weight=pl.lit(2)),
        rate=SCORE.tpr("label").max(),
    )
    expected = pl.DataFrame({"plain": [0.5], "counted": [0.5], "weighted": [0.5], "rate": [1.0]})
    assert_frame_equal(found, expected, check_exact=True)


def test_products_of_counts_beyond_int64_are_exact():
    table = pl.DataFrame(
        {
            "label": [True, False, True, False],
            "score": [0.9, 0.8, 0.7, 0.6],
            "count": [2**60, 2**59, 2**59, 2**60],
        }
    )
    pairs = (2**60 + 2**59) ** 2
    wins = pairs - 2**59 * 2**59
    found = table.select(SCORE.auc("label", count="count"))
    # Two roundings of whole numbers, then one of their quotient.
    assert_frame_equal(found, pl.DataFrame({"score": [wins / pairs]}), rel_tol=4e-16, abs_tol=0)


def test_the_area_needs_two_classes():
    table = pl.DataFrame({"label": [True, True], "score": [0.1, 0.2]})
    empty = pl.DataFrame({"score": [None]}, schema={"score": pl.Float64})
    for expression in (SCORE.auc("label"), SCORE.auc("label", weight=pl.lit(0.5))):
        assert_frame_equal(table.select(expression), empty)
        assert_frame_equal(table.select(expression.over("label")), pl.concat([empty, empty]))
        assert_frame_equal(table.clear().select(expression), empty)


# Each with its source; the values are those printed there, as fractions.
PUBLISHED = {
    "Fawcett 2006, figure 3": (
        [1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0],
        list(range(20, 0, -1)),
        Fraction(68, 100),
    ),
    "Fawcett 2006, figure 4": (
        [1, 1, 1, 1, 1, 1, 0, 0, 0, 0],
        [0.99999, 0.99999, 0.99993, 0.99986, 0.99964, 0.99955, 0.68139, 0.50961, 0.4888, 0.44951],
        Fraction(1),
    ),
    "Dyakonov 2017, seven rows": (
        [0, 0, 0, 1, 1, 1, 0],
        [0.5, 0.1, 0.2, 0.6, 0.2, 0.3, 0.0],
        Fraction(19, 24),
    ),
    "Muschelli 2019, binary score": (
        [0] * 35 + [1] * 17 + [0] + [1] * 31,
        [0] * 52 + [1] * 32,
        Fraction(233, 288),
    ),
}


@pytest.mark.parametrize(("label", "score", "area"), PUBLISHED.values(), ids=PUBLISHED)
def test_published_areas_are_reproduced(label, score, area):
    table = pl.DataFrame({"label": label, "score": score}, strict=False)
    found = table.select(SCORE.auc("label"))
    assert_frame_equal(found, pl.DataFrame({"score": [float(area)]}), check_exact=True)


@pytest.mark.parametrize("ties", [3, 50, 100_000])
def test_results_equal_those_of_scikit_learn(ties):
    metrics = pytest.importorskip("sklearn.metrics")
    np = pytest.importorskip("numpy")
    rng = np.random.default_rng(ties)
    table = pl.DataFrame(
        {
            "label": rng.random(1000) < 0.3,
            "score": rng.integers(0, ties, 1000) / ties,
            "weight": rng.random(1000),
        }
    )
    label, score, weight = table
    found = table.select(
        plain=SCORE.auc("label"),
        weighted=SCORE.auc("label", weight="weight"),
        # McClish's scale is what scikit-learn has for max_fpr.
        part=SCORE.auc("label", fpr=(0, 0.2), standardize="mcclish"),
    )
    expected = pl.DataFrame(
        {
            "plain": [metrics.roc_auc_score(label, score)],
            "weighted": [metrics.roc_auc_score(label, score, sample_weight=weight)],
            "part": [metrics.roc_auc_score(label, score, max_fpr=0.2)],
        }
    )
    assert_frame_equal(found, expected, rel_tol=0, abs_tol=ROUNDING)
