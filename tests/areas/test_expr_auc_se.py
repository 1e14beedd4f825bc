import math

import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.areas.expr_tables import WEIGHTS, actual, expected, holed
from tests.oracles import delong_variance
from tests.strategies import examples

SCORE = pl.col("score").roc


def error(cases):
    variance = delong_variance(cases)
    return math.sqrt(variance) if variance else None


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@examples(1 / 2)
@given(table=holed())
def test_the_standard_error_is_delongs_and_null_if_it_is_0_or_undefined(weights, table):
    found = actual(table, SCORE.auc_se("label", **weights))
    # The root of a variance that is the small sum of squared differences of rounded placements.
    assert_frame_equal(found, expected(table, weights, error), rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@examples(1 / 2)
@given(table=holed())
def test_the_expression_equals_the_result_of_auc(weights, table):
    found = actual(table, SCORE.auc_se("label", **weights))
    given = {"count": None} | weights
    verb = rf.auc(table, "label", "score", by="group", ci="delong", missing="drop", **given)
    assert_frame_equal(found, verb.select("group", score="se"), rel_tol=1e-9, abs_tol=1e-12)


def test_hanley_and_mcneils_table_has_the_published_error():
    # 58 normal and 51 abnormal cases rated 1 to 5 (Hanley & McNeil 1982); .0307 is Stata's roctab.
    table = pl.DataFrame(
        {
            "abnormal": [0] * 5 + [1] * 5,
            "score": [1, 2, 3, 4, 5] * 2,
            "count": [33, 6, 6, 11, 2, 3, 2, 2, 11, 33],
        }
    )
    found = table.select(
        area=SCORE.auc("abnormal", count="count"), error=SCORE.auc_se("abnormal", count="count")
    )
    expected = pl.DataFrame({"area": [0.893171061528059], "error": [0.030724408379381]})
    assert_frame_equal(found, expected, rel_tol=0, abs_tol=1e-14)  # as many digits as are written


@pytest.mark.parametrize(
    "scores",
    [[1, 2, 3, 4], [4, 3, 2, 1], [1, 1, 1, 1]],
    ids=["apart", "apart, upside down", "all equal"],
)
def test_a_variance_of_0_is_null_despite_rounding(scores):
    weights = pl.Series([0.1, 0.2, 0.3, 0.7])
    table = pl.DataFrame({"label": [0, 0, 1, 1], "score": scores, "weight": weights})
    found = table.select(plain=SCORE.auc_se("label"), other=SCORE.auc_se("label", weight="weight"))
    nothing = pl.DataFrame(
        {"plain": [None], "other": [None]}, schema=dict.fromkeys(found.columns, pl.Float64)
    )
    assert_frame_equal(found, nothing)


def test_weights_of_any_magnitude_have_the_results_of_moderate_weights():
    magnitudes = [5e-324, 3e-320, 2e-310, 1e-300, 1e-160, 1.0, 1e140]
    rows = pl.DataFrame(
        {
            "label": [1, 0, 1, 0, 1, 0, 1],
            "score": [4, 4, 3, 2, 1, 1, 0],
            "weight": [1.0, 2.0, 3.0, 1.0, 2.0, 2.0, 1.0],
        }
    )
    by_class = pl.DataFrame({"pos": magnitudes}).join(
        pl.DataFrame({"neg": magnitudes}), how="cross"
    )
    table = by_class.join(rows, how="cross").with_columns(
        weight=pl.col("weight") * pl.when(pl.col("label") == 1).then("pos").otherwise("neg")
    )
    statistics = [
        SCORE.auc("label", weight="weight").alias("auc"),
        SCORE.auc("label", weight="weight", fpr=(0, 0.3)).alias("partial"),
        SCORE.auc_se("label", weight="weight").alias("se"),
        SCORE.ks("label", weight="weight").alias("ks"),
    ]
    found = table.group_by("pos", "neg", maintain_order=True).agg(*statistics)
    expected = by_class.join(rows.select(*statistics), how="cross")
    assert_frame_equal(found, expected, rel_tol=1e-14, abs_tol=0)
    # Precision depends on the ratio of the classes, so both have the same magnitude here.
    same = table.filter(pl.col("pos") == pl.col("neg")).group_by("pos", maintain_order=True)
    precision = SCORE.average_precision("label", weight="weight")
    values = same.agg(precision)["score"].to_list()
    assert values == pytest.approx([rows.select(precision).item()] * len(magnitudes), rel=1e-14)
