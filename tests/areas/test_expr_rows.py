from decimal import Decimal

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.test_expressions import AGGREGATES, PER_ROW, expression_method

SCORE = pl.col("score")
METHODS = [*AGGREGATES, *PER_ROW]
every_method = pytest.mark.parametrize("method", METHODS)

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


@every_method
@pytest.mark.parametrize(
    "dtype", [pl.String, pl.Categorical, pl.Enum(["1", "0"]), pl.Date, pl.Binary, pl.List(pl.Int64)]
)
def test_labels_of_other_types_without_positive_are_an_error_of_the_schema(method, dtype):
    table = pl.LazyFrame(schema={"label": dtype, "score": pl.Float64})
    with pytest.raises(rf.RocframeError) as caught:
        table.select(expression_method(SCORE, method)("label")).collect_schema()
    problem = (
        "the positive class is unknown. The labels have type {}, and only Boolean and 0/1 labels "
        "have a default positive class.\nPass the label of the positive class as positive=."
    )
    if table.collect_schema()["label"].is_nested():
        problem = (
            "the column has type {}.\nLabels must be Boolean, numbers, text, dates, times or "
            "bytes. Compute such a column first."
        )
    expected = f"label='label': {problem.format(table.collect_schema()['label'])}"
    assert str(caught.value) == expected


@pytest.mark.parametrize("method", [name for name in METHODS if name not in {"fpr", "placement"}])
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
def test_rows_of_which_none_is_positive_give_null(method, labels, positive):
    table = pl.DataFrame({"label": labels, "score": SCORES})
    expression = expression_method(SCORE, method)("label", positive=positive)
    expected = pl.DataFrame({"score": [True]})
    assert_frame_equal(table.select(expression.is_null().all()), expected)
    # Positives that are not used are no positives.
    used = pl.DataFrame({"label": TRUTH, "score": SCORES, "n": [0, 1, 0, 1]})
    unused = expression_method(SCORE, method)("label", count="n").is_null().all()
    assert_frame_equal(used.select(unused), expected)
    unscored = pl.when("label").then(None).otherwise(SCORE).alias("score")
    missing = expression_method(SCORE, method)("label").is_null().all()
    assert_frame_equal(used.with_columns(unscored).select(missing), expected)


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


@every_method
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
def test_invalid_weights_and_counts_give_null(method, weights, values):
    table = pl.DataFrame({"label": TRUTH, "score": SCORES, weights: values})
    found = table.select(
        expression_method(SCORE, method)("label", **{weights: weights}).is_null().all()
    )
    assert_frame_equal(found, pl.DataFrame({"score": [True]}))


@every_method
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


@every_method
def test_a_column_of_dtype_null_is_a_column_of_nulls(method):
    table = pl.DataFrame({"label": TRUTH, "score": SCORES, "null": [None] * 4})
    expression = expression_method(SCORE, method)
    others = [
        expression_method(pl.col("null"), method)("label").is_null().all(),
        expression("null").is_null().all().alias("label"),
        # Rows are left out for want of a weight, but have a rate of none.
        expression("label", weight="null").is_null().all().alias("weight"),
        expression("label", count="null").is_null().all().alias("count"),
    ]
    expected = pl.DataFrame({"null": [True], "label": [True], "weight": [True], "count": [True]})
    assert_frame_equal(table.select(others), expected)


def test_a_positive_value_that_does_not_occur_leaves_negatives_that_have_an_fpr():
    # As in curve tables of groups without positives.
    found = of_labels(["a", "b", "a", "b"], positive="c").select("fpr", "placement")
    expected = pl.DataFrame(
        {"fpr": [0.25, 0.5, 0.75, 1.0], "placement": [None] * 4},
        schema_overrides={"placement": pl.Float64},
    )
    assert_frame_equal(found, expected)
