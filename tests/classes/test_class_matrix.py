"""Confusion matrices of several classes are compared with scikit-learn."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn import metrics

import rocframe as rf

random = np.random.default_rng(8)
NAMES = ["cat", "dog", "emu", "fox"]
TRUTH = random.choice(NAMES[:3], 200)
ROWS = pl.DataFrame(
    {
        "g": random.choice(["x", "y", "z"], 200),
        "truth": TRUTH,
        "call": np.where(random.random(200) < 0.6, TRUTH, random.choice(NAMES, 200)),
        "w": random.random(200).round(2),
        "n": random.integers(0, 4, 200),
    }
)


def matrix_of(table):
    """Return a table of one group as a matrix, with a row for each true class."""
    wide = table.pivot("predicted", index="true", values="count", maintain_order=True)
    return wide.drop("true").to_numpy()


@pytest.mark.parametrize("weight", [None, "w"])
def test_counts_and_shares_are_those_of_scikit_learn(frame, weight):
    table = frame(ROWS.to_dict(as_series=False))
    actual = rf.confusion_matrix(table, "truth", "call", by="g", weight=weight)
    assert isinstance(actual, type(table))
    actual = actual.lazy().collect()
    assert actual.columns == [
        *("g", "true", "predicted", "count", "share_of_true", "share_of_predicted"),
        *("n_missing", "note"),
    ]
    assert actual.schema["count"] == (pl.Int64 if weight is None else pl.Float64)
    keys = pl.DataFrame({"g": [*"xyz"]}).join(pl.DataFrame({"true": NAMES}), how="cross")
    keys = keys.join(pl.DataFrame({"predicted": NAMES}), how="cross")
    assert_frame_equal(actual.select("g", "true", "predicted"), keys)
    for name, cells in actual.group_by("g"):
        own = ROWS.filter(g=name[0])
        options = {
            "labels": NAMES,
            "sample_weight": None if weight is None else own[weight].to_numpy(),
        }
        arrays = own["truth"].to_numpy(), own["call"].to_numpy()
        expected = metrics.confusion_matrix(*arrays, **options)
        assert matrix_of(cells) == pytest.approx(expected, abs=1e-12)
        for column, axis in (("share_of_true", 1), ("share_of_predicted", 0)):
            total = np.broadcast_to(expected.sum(axis=axis, keepdims=True), (4, 4)).ravel()
            shares = [
                None if n == 0 else count / n
                for count, n in zip(expected.ravel(), total, strict=True)
            ]
            assert cells[column].to_list() == pytest.approx(shares)
    assert actual.filter(true="fox")["share_of_true"].null_count() == 12


def test_counts_repeat_rows():
    repeated = ROWS.select(pl.exclude("n").repeat_by("n")).explode(pl.all())
    options = {"classes": NAMES, "by": "g"}
    assert_frame_equal(
        rf.confusion_matrix(ROWS, "truth", "call", count="n", **options),
        rf.confusion_matrix(repeated, "truth", "call", **options),
    )


def test_the_class_with_the_highest_score_is_predicted():
    digits = rf.datasets.digits()
    scores = {digit: f"p{digit}" for digit in range(10)}
    actual = rf.confusion_matrix(digits, "label", scores=scores, by="model")
    predicted = pl.Series(digits.select(scores.values()).to_numpy().argmax(axis=1))
    called = digits.with_columns(call=predicted.cast(pl.Int8))
    assert_frame_equal(
        actual, rf.confusion_matrix(called, "label", "call", classes=range(10), by="model")
    )
    correct = actual.filter(pl.col("true") == pl.col("predicted"))
    recall = correct.group_by("model", maintain_order=True).agg(pl.col("share_of_true").mean())
    found = rf.multiclass_metrics(digits, "label", scores, by="model", metrics="macro_recall")
    assert recall["share_of_true"].to_list() == pytest.approx(found["macro_recall"].to_list())
    lists = digits.select("label", "model", p=pl.concat_list(scores.values()))
    packed = rf.confusion_matrix(lists, "label", scores="p", classes=range(10), by="model")
    assert_frame_equal(packed, actual)


def test_the_order_of_the_classes_is_the_given_one_or_that_of_an_enum():
    few = ROWS.select("truth", "call")
    given_order = rf.confusion_matrix(few, "truth", "call", classes=NAMES[::-1])
    assert given_order["true"].unique(maintain_order=True).to_list() == NAMES[::-1]
    enum = few.cast(pl.Enum(["zebra", *NAMES]))
    assert rf.confusion_matrix(enum, "truth", "call")["true"].to_list()[:5] == ["zebra"] * 5
    mixed = rf.confusion_matrix(enum.cast({"call": pl.String}), "truth", "call")
    assert mixed.schema["true"] == pl.String
    assert_frame_equal(mixed, rf.confusion_matrix(few.cast(pl.Categorical), "truth", "call"))
    numbers = few.select(pl.all().replace_strict(NAMES, range(4)))
    other = numbers.cast({"call": pl.Int8})
    assert_frame_equal(
        rf.confusion_matrix(other, "truth", "call", classes=range(4)).drop("true", "predicted"),
        rf.confusion_matrix(few, "truth", "call").drop("true", "predicted"),
    )


def test_rows_with_missing_values_are_counted_and_groups_without_rows_have_zeros():
    rows = pl.DataFrame({"g": [1, 1, 2], "t": ["a", "b", None], "p": ["b", None, "a"]})
    actual = rf.confusion_matrix(rows, "t", "p", by="g", missing="drop")
    assert actual["count"].to_list() == [0, 1, 0, 0, 0, 0, 0, 0]
    assert actual["n_missing"].to_list() == [1] * 4 + [1] * 4
    assert actual["note"].to_list() == [None] * 4 + ["no_rows"] * 4
    assert rf.confusion_matrix(rows.clear(), "t", "p").height == 0
    empty = rf.confusion_matrix(rows.clear(), "t", "p", classes=["a", "b"])
    assert empty["count"].to_list() == [0] * 4
    with pytest.raises(rf.MissingValuesError, match="'t' is null or NaN in 1 row"):
        rf.confusion_matrix(rows, "t", "p")


def test_a_filter_of_groups_does_not_change_the_classes():
    rows = pl.LazyFrame({"g": [1, 2], "t": ["a", "b"], "p": ["a", "c"]})
    table = rf.confusion_matrix(rows, "t", "p", by="g")
    assert table.filter(pl.col("g") == 1).collect().height == 9


ERRORS = {
    "labels that are not classes": (
        {"classes": ["cat", "dog"]},
        (
            "label='truth': these values are not in classes=: 'emu'.\nThe classes are: 'cat', "
            "'dog'.\nAdd them to classes=, or remove these rows with .filter()."
        ),
    ),
    "predictions that are not classes": (
        {"classes": NAMES[:3]},
        "score='call': these values are not in classes=: 'fox'.",
    ),
    "types": (
        {"score": "n", "classes": NAMES},
        (
            "score='n': the column has type Int64.\nThe label column 'truth' has type String: "
            "pass a column of predicted classes of this type, or positive= for decisions about "
            "two classes."
        ),
    ),
    "positive": (
        {"classes": NAMES, "positive": "cat"},
        "positive='cat': this option cannot be used with several classes.\n",
    ),
    "worst": (
        {"missing": "worst"},
        "missing='worst': a row without a score has no predicted class.\nUse missing=\"drop\".",
    ),
    "both": ({"scores": ["w"]}, "scores=['w']: score= is given too.\n"),
    "neither": ({"score": None}, "scores=None: expected either score= or scores=.\n"),
    "label twice": ({"score": "truth"}, "score='truth': this is the same column as label='truth'"),
}


@pytest.mark.parametrize(("options", "text"), ERRORS.values(), ids=ERRORS)
def test_invalid_calls_raise(frame, options, text):
    rows = ROWS.lazy() if frame is pl.LazyFrame else ROWS
    options = {"label": "truth", "score": "call", **options}
    with pytest.raises(rf.RocframeError) as caught:
        rf.confusion_matrix(rows, **options).lazy().collect()
    assert str(caught.value).startswith(text)


def test_text_with_a_positive_class_is_a_decision_about_two_classes():
    calls = ROWS.with_columns(call=pl.col("call") == "cat")
    table = rf.confusion_matrix(calls, "truth", "call", positive="cat")
    assert table.columns[:3] == ["fpr", "tpr", "auc"]


@pytest.mark.parametrize("column", ["w", "n"])
def test_classes_are_those_of_the_used_rows(frame, column):
    rows = pl.DataFrame(
        {
            "g": [1, 2, 2, 1, 2],
            "y": ["a", "q", "b", None, "r"],
            "p": ["a", "z", "b", "s", None],
            "w": [1.0, 0.0, 2.0, 1.0, 1.0],
            "n": [1, 0, 2, 1, 1],
        }
    )
    options = {"weight" if column == "w" else "count": column, "by": "g", "missing": "drop"}
    actual = rf.confusion_matrix(frame(rows.to_dict(as_series=True)), "y", "p", **options)
    actual = actual.lazy().collect()
    assert actual["true"].to_list() == ["a", "a", "b", "b"] * 2
    assert actual["count"].to_list() == [1, 0, 0, 0, 0, 0, 0, 2]
    assert actual["n_missing"].to_list() == [1] * 8
    listed = rf.confusion_matrix(rows, "y", "p", classes=["a", "b", "q", "r", "s", "z"], **options)
    used = pl.all_horizontal(pl.col("true", "predicted").is_in(["a", "b"]))
    assert_frame_equal(listed.filter(used), actual)
