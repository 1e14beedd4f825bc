"""`one_vs_one`: binary predictions of each pair of classes."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf

ABC = ["a", "b", "c"]
KEYS = ["id", "class_a", "class_b"]
WIDE = pl.DataFrame(
    {
        "fold": [1, 2, 3],
        "truth": ["a", "c", None],
        "a": [0.5, 0.25, 0.0],
        "b": [0.25, 0.0, 0.125],
        "c": [0.125, 0.5, 0.0],
    }
)


def like(frame, table):
    return table.lazy() if frame is pl.LazyFrame else table


def long(rows, kind=pl.String):
    """Return predictions of pairs from tuples of fold, id, both classes, label and score."""
    schema = {
        "fold": pl.Int64,
        "id": pl.UInt32,
        "class_a": kind,
        "class_b": kind,
        "label": pl.Boolean,
        "score": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema, orient="row").sort(KEYS)


PLAIN = [
    (1, 0, "a", "b", True, 0.5),
    (1, 0, "b", "a", False, 0.25),
    (1, 0, "a", "c", True, 0.5),
    (1, 0, "c", "a", False, 0.125),
    (2, 1, "c", "a", True, 0.5),
    (2, 1, "a", "c", False, 0.25),
    (2, 1, "c", "b", True, 0.5),
    (2, 1, "b", "c", False, 0.0),
    (3, 2, "a", "b", None, 0.0),
    (3, 2, "a", "c", None, 0.0),
    (3, 2, "b", "a", None, 0.125),
    (3, 2, "b", "c", None, 0.125),
    (3, 2, "c", "a", None, 0.0),
    (3, 2, "c", "b", None, 0.0),
]
DIFFERENCES = [0.25, -0.25, 0.375, -0.375, 0.25, -0.25, 0.5, -0.5]
RATIOS = [2.0, 0.5, 4.0, 0.25, 2.0, 0.5, math.inf, 0.0]


def with_scores(scores):
    return long([(*row[:-1], one) for row, one in zip(PLAIN, [*scores, *[None] * 6], strict=True)])


EXPECTED = {None: long(PLAIN), "difference": with_scores(DIFFERENCES), "ratio": with_scores(RATIOS)}
MELTED = WIDE.with_row_index("id").unpivot(
    ABC, index=["fold", "id", "truth"], variable_name="of", value_name="given"
)
every_relative = pytest.mark.parametrize("relative", EXPECTED)


@every_relative
def test_each_pair_has_the_rows_of_its_two_classes(frame, relative):
    actual = rf.one_vs_one(like(frame, WIDE), "truth", ABC, relative=relative)
    assert_frame_equal(actual.sort(KEYS), like(frame, EXPECTED[relative]))


@every_relative
def test_a_table_may_have_one_row_per_instance_and_class(frame, relative):
    options = {"classes": "of", "id": "id", "relative": relative}
    actual = rf.one_vs_one(like(frame, MELTED), "truth", "given", **options)
    assert_frame_equal(actual.sort(KEYS), like(frame, EXPECTED[relative]))


def test_scores_may_be_in_one_column_of_lists(frame):
    packed = WIDE.select("fold", "truth", p=pl.concat_list(ABC))
    actual = rf.one_vs_one(like(frame, packed), "truth", "p", classes=ABC)
    assert_frame_equal(actual.sort(KEYS), like(frame, EXPECTED[None]))


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(ABC)])
def test_classes_have_the_type_of_the_labels(frame, kind):
    typed = WIDE.with_columns(pl.col("truth").cast(kind))
    actual = rf.one_vs_one(like(frame, typed), "truth", ABC)
    assert_frame_equal(actual.sort(KEYS), like(frame, long(PLAIN, kind)))


def test_a_ratio_of_0_to_0_is_null():
    rows = pl.DataFrame({"truth": ["a", "b"], "a": [0.0, math.nan], "b": [0.0, 1.0]})
    ratios = rf.one_vs_one(rows, "truth", ["a", "b"], relative="ratio")
    assert ratios["score"].to_list() == [None] * 4


def test_equal_infinite_scores_differ_by_0():
    rows = pl.DataFrame({"truth": ["a"], "a": [math.inf], "b": [math.inf]})
    assert rf.one_vs_one(rows, "truth", ["a", "b"], relative="difference")["score"].to_list() == [
        0.0,
        0.0,
    ]


@given(st.lists(st.tuples(st.sampled_from(ABC), *[st.floats(0, 1)] * 3), max_size=9))
def test_each_row_becomes_two_rows_per_other_class(rows):
    schema = {"truth": pl.String, **dict.fromkeys(ABC, pl.Float64)}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    result = rf.one_vs_one(table, "truth", ABC)
    assert result.height == 4 * table.height
    assert result["label"].sum() == 2 * table.height
    truth = table.with_row_index("id").select("id", "truth")
    own = pl.when("label").then("class_a").otherwise("class_b")
    assert result.join(truth, on="id").select((own == pl.col("truth")).all()).item()
    assert result.n_unique(["id", "class_a", "class_b"]) == result.height


def test_relative_scores_have_the_same_area_in_both_orders_of_a_pair():
    digits = rf.datasets.digits().filter(pl.col("model") == "naive_bayes")
    scores = {digit: f"p{digit}" for digit in range(5)}
    some = digits.filter(pl.col("label") < 5)
    pairs = rf.one_vs_one(some, "label", scores, id="id", keep=[], relative="difference")
    areas = rf.auc(pairs, "label", "score", by=["class_a", "class_b"], ci=None)
    swapped = areas.rename({"class_a": "class_b", "class_b": "class_a"}).sort("class_a", "class_b")
    assert areas.height == 20
    assert areas["auc"].to_list() == swapped["auc"].to_list()


def test_the_mean_area_over_pairs_equals_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    digits = rf.datasets.digits().filter(pl.col("model") == "decision_tree")
    scores = {digit: f"p{digit}" for digit in range(10)}
    # scikit-learn requires that the scores of a row add up to 1. The division changes ties.
    table = digits.select(scores.values()).cast(pl.Float64)
    table = (table / table.sum_horizontal()).with_columns(digits["label"], digits["id"])
    pairs = rf.one_vs_one(table, "label", scores, id="id")
    areas = rf.auc(pairs, "label", "score", by=["class_a", "class_b"], ci=None)
    known = metrics.roc_auc_score(
        table["label"], table.select(scores.values()).to_numpy(), multi_class="ovo"
    )
    assert areas["auc"].mean() == pytest.approx(known, abs=1e-12)


def test_the_schema_of_a_lazy_table_is_known_and_it_streams():
    for relative, expected in EXPECTED.items():
        lazy = rf.one_vs_one(WIDE.lazy(), "truth", ABC, relative=relative)
        assert lazy.collect_schema() == expected.schema
        assert_frame_equal(lazy.collect(engine="streaming").sort(KEYS), expected)


NAMES = ["^.*$", "*", "a.b", "", "(own)", "(other)", "class", "🙂", "id"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_class_may_have_any_name(frame, name):
    rows = WIDE.rename({"b": name})
    actual = rf.one_vs_one(like(frame, rows), "truth", ["a", name, "c"])
    pair = pl.col("class_a", "class_b").replace("b", name)
    expected = EXPECTED[None].with_columns(pair).sort(KEYS)
    assert_frame_equal(actual.sort(KEYS), like(frame, expected))


@pytest.mark.parametrize("name", ["^.*$", "*", "", "(own)", "(other)", "(of)"], ids=ascii)
def test_ids_may_have_any_name(frame, name):
    rows = like(frame, MELTED.rename({"id": name}))
    actual = rf.one_vs_one(rows, "truth", "given", classes="of", id=name, relative="ratio")
    expected = EXPECTED["ratio"].rename({"id": name})
    assert_frame_equal(actual.sort(name, *KEYS[1:]), like(frame, expected))
