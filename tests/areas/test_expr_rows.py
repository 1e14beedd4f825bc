from decimal import Decimal

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.test_expressions import AGGREGATES, PER_ROW, expression_method

SCORE = pl.col("score")
WITHOUT_LABELS = ("psi", "ks_2samp")  # they compare the scores of two samples
METHODS = [name for name in (*AGGREGATES, *PER_ROW) if name not in WITHOUT_LABELS]

TRUTH = [True, False, True, False]
SCORES = [0.9, 0.6, 0.4, 0.1]


def of_labels(labels, **options):
    """Return all statistics for Boolean labels, then for the given labels."""
    table = pl.DataFrame({"score": SCORES, "label": labels})
    return table.select(
        expression_method(SCORE, method)("label", **options).alias(method) for method in METHODS
    )


PLAIN = of_labels(TRUTH)


@pytest.mark.parametrize(
    "dtype",
    [pl.Int8, pl.UInt64, pl.Int128, pl.Float16, pl.Float64, pl.Decimal(10, 2), pl.Boolean],
    ids=str,
)
def test_numbers_0_and_1_are_labels(dtype):
    labels = pl.Series([1, 0, 1, 0]).cast(dtype)
    assert_frame_equal(of_labels(labels), PLAIN, check_exact=True)
    assert_frame_equal(of_labels(labels, positive=1), PLAIN, check_exact=True)


@pytest.mark.parametrize(
    "dtype", [pl.String, pl.Categorical, pl.Enum(["no", "yes", "maybe"])], ids=str
)
def test_strings_are_labels_if_positive_is_given(dtype):
    labels = pl.Series(["yes", "no", "yes", "maybe"], dtype=dtype)
    assert_frame_equal(of_labels(labels, positive="yes"), PLAIN, check_exact=True)


def test_the_positive_class_may_be_the_other_one():
    assert_frame_equal(of_labels([not x for x in TRUTH], positive=False), PLAIN, check_exact=True)
    assert_frame_equal(of_labels([3, 2, 3, 7], positive=3), PLAIN, check_exact=True)


@pytest.mark.parametrize(
    "labels",
    [
        [2, 0, 1, 0],
        [1, -1, 1, -1],
        [1.0, 0.5, 1.0, 0.0],
        pl.Series([Decimal("1.0"), Decimal("0.1"), None, None]),
        [None, None, None, None],
    ],
    ids=str,
)
def test_labels_without_a_known_positive_class_give_null(labels):
    nothing = PLAIN.select(pl.lit(None, pl.Float64).alias(method) for method in METHODS)
    expected = pl.concat([nothing] * len(SCORES))
    assert_frame_equal(of_labels(labels), expected)


@pytest.mark.parametrize(
    "dtype", [pl.String, pl.Categorical, pl.Enum(["1", "0"]), pl.Date, pl.Binary, pl.List(pl.Int64)]
)
def test_labels_of_other_types_without_positive_are_an_error_of_the_schema(dtype):
    table = pl.LazyFrame(schema={"label": dtype, "score": pl.Float64})
    dtype = table.collect_schema()["label"]
    problem = (
        f"the positive class is unknown. The labels have type {dtype}, and only Boolean and 0/1 "
        "labels have a default positive class.\nPass the label of the positive class as positive=."
    )
    if dtype.is_nested():
        problem = (
            f"the column has type {dtype}.\nLabels must be Boolean, numbers, text, dates, times or "
            "bytes. Compute such a column first."
        )
    for method in METHODS:
        with pytest.raises(rf.RocframeError) as caught:
            table.select(expression_method(SCORE, method)("label")).collect_schema()
        assert str(caught.value) == f"label='label': {problem}", method


def null_for_all(table, methods=METHODS, score=SCORE, label="label", **options):
    """Return the names of the statistics that are null in all rows."""
    found = table.select(
        expression_method(score, method)(label, **options).is_null().all().alias(method)
        for method in methods
    )
    return [name for name, null in found.row(0, named=True).items() if null]


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        (["yes", "no", "yes", "no"], "Yes"),
        (pl.Series(["yes", "no", "yes", "no"], dtype=pl.Categorical), "Yes"),
        (pl.Series(["no"] * 4, dtype=pl.Enum(["yes", "no"])), "yes"),
        ([1, 0, 1, 0], 2),
        ([1, 0, 1, 0], 0.5),
        (pl.Series([1, 0, 1, 0]).cast(pl.Decimal(10, 2)), Decimal("0.5")),
        ([True, True, True, True], False),
        ([0, 0, 0, 0], None),
        ([False, False, False, None], None),
    ],
    ids=str,
)
def test_rows_of_which_none_is_positive_give_null(labels, positive):
    methods = [name for name in METHODS if name not in {"fpr", "placement"}]
    table = pl.DataFrame({"label": labels, "score": SCORES})
    assert null_for_all(table, methods, positive=positive) == methods


def test_positives_that_are_not_used_are_no_positives():
    methods = [name for name in METHODS if name not in {"fpr", "placement"}]
    used = pl.DataFrame({"label": TRUTH, "score": SCORES, "n": [0, 1, 0, 1]})
    assert null_for_all(used, methods, count="n") == methods
    unscored = pl.when("label").then(None).otherwise(SCORE).alias("score")
    assert null_for_all(used.with_columns(unscored), methods) == methods


def test_an_invalid_group_does_not_affect_the_others():
    table = pl.DataFrame(
        {
            "group": [1, 1, 2, 2, 3, 3],
            "label": [1, 0, 1, 2, 1, 0],
            "score": [0.5, 0.1] * 3,
            "weight": [1.0, 1.0, 1.0, 1.0, 1.0, -1.0],
        }
    )
    found = table.group_by("group", maintain_order=True).agg(
        plain=SCORE.roc.auc("label"), weighted=SCORE.roc.auc("label", weight="weight")
    )
    expected = pl.DataFrame(
        {"group": [1, 2, 3], "plain": [1.0, None, 1.0], "weighted": [1.0, None, None]}
    )
    assert_frame_equal(found, expected)


@pytest.mark.parametrize(
    ("weights", "values"),
    [
        ("weight", [1.0, -1e-9, 1.0, 1.0]),
        ("weight", [1.0, float("inf"), 1.0, 1.0]),
        ("weight", [1e150, 1e150, 1.0, 1.0]),
        ("count", [1, -1, 1, 1]),
        ("count", [2**62, 2**62, 1, 1]),
        ("count", pl.Series([2**63, 1, 1, 1], dtype=pl.UInt64)),
    ],
)
def test_invalid_weights_and_counts_give_null(weights, values):
    table = pl.DataFrame({"label": TRUTH, "score": SCORES, weights: values})
    assert null_for_all(table, **{weights: weights}) == METHODS


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_weight_or_count_0_are_ignored(method):
    expression = expression_method(SCORE, method)
    table = pl.DataFrame({"label": TRUTH, "score": SCORES})
    more = table.with_columns(pl.lit(1.0).alias("weight"), pl.lit(1).alias("count"))
    absent = more.with_columns(pl.col("label").not_(), pl.lit(0).alias("count"))
    other = more.with_columns(pl.col("label").not_(), pl.lit(0.0).alias("weight"))
    both = pl.concat([more, absent, other])
    found = both.select(expression("label", weight="weight", count="count")).head(4)
    plain = table.select(expression("label")).head(found.height)
    # Weights of 1 make sums of floats of sums of whole numbers.
    assert_frame_equal(found, plain, rel_tol=1e-15, abs_tol=0)


def test_a_column_of_dtype_null_is_a_column_of_nulls():
    table = pl.DataFrame({"label": TRUTH, "score": SCORES, "null": [None] * 4})
    # Rows are left out for want of a weight, but have a rate of none.
    for options in (
        *({"score": pl.col("null")}, {"label": "null"}),
        *({"weight": "null"}, {"count": "null"}),
    ):
        assert null_for_all(table, **options) == METHODS


def test_a_positive_value_that_does_not_occur_leaves_negatives_that_have_an_fpr():
    # As in curve tables of groups without positives.
    found = of_labels(["a", "b", "a", "b"], positive="c").select("fpr", "placement")
    expected = pl.DataFrame(
        {"fpr": [0.25, 0.5, 0.75, 1.0], "placement": [None] * 4},
        schema_overrides={"placement": pl.Float64},
    )
    assert_frame_equal(found, expected)
