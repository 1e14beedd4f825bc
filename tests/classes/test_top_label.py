"""`top_label`: predicted classes of tables of every layout, and their calibration."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf

ANIMALS = ["cat", "dog", "emu"]
WIDE = pl.DataFrame(
    {
        "fold": [1, 1, 2, 2, 2, 2],
        "truth": ["cat", "dog", "emu", None, "cat", "dog"],
        "cat": [0.7, 0.2, 0.2, 0.1, 0.1, 0.4],
        "dog": [0.2, 0.7, 0.5, 0.3, None, 0.4],
        "emu": [0.1, 0.1, 0.3, 0.6, math.nan, 0.2],
    }
)
TOP = pl.DataFrame(
    {
        "fold": [1, 1, 2, 2, 2, 2],
        "id": pl.Series(range(6), dtype=pl.UInt32),
        "predicted": ["cat", "dog", "dog", "emu", None, "cat"],
        "label": [True, True, False, None, None, False],
        "score": [0.7, 0.7, 0.5, 0.6, None, 0.4],
    }
)
MELTED = WIDE.with_row_index("id").unpivot(
    ["emu", "dog", "cat"], index=["fold", "id", "truth"], variable_name="of", value_name="given"
)


def like(frame, table):
    return table.lazy() if frame is pl.LazyFrame else table


def test_each_row_has_the_class_with_the_highest_score(frame):
    actual = rf.top_label(like(frame, WIDE), "truth", ANIMALS)
    assert_frame_equal(actual, like(frame, TOP))


@pytest.mark.parametrize(
    "scores",
    [
        {"cat": "cat", "dog": pl.col("dog"), "emu": pl.col("emu") * 1},
        cs.by_name(*ANIMALS),
        [cs.starts_with("c"), "dog", pl.col("emu")],
    ],
    ids=["mapping", "selector", "list with a selector"],
)
def test_scores_may_be_given_in_several_ways(frame, scores):
    assert_frame_equal(rf.top_label(like(frame, WIDE), "truth", scores), like(frame, TOP))


@pytest.mark.parametrize("width", [None, 3], ids=["lists", "arrays"])
def test_scores_may_be_in_one_column_of_lists(frame, width):
    packed = WIDE.select("fold", "truth", p=pl.concat_list(ANIMALS))
    if width:
        packed = packed.with_columns(pl.col("p").list.to_array(width))
    actual = rf.top_label(like(frame, packed), "truth", "p", classes=ANIMALS)
    assert_frame_equal(actual, like(frame, TOP))


def test_a_table_may_have_one_row_per_instance_and_class(frame):
    for kind in (pl.String, pl.Categorical, pl.Enum(ANIMALS)):
        melted = MELTED.with_columns(pl.col("of").cast(kind))
        actual = rf.top_label(like(frame, melted), "truth", "given", classes="of", id="id")
        expected = TOP.with_columns(pl.col("predicted").cast(kind))
        assert_frame_equal(actual.lazy().collect().sort("id"), expected)


def test_a_long_table_keeps_the_columns_of_the_row_of_the_predicted_class():
    melted = MELTED.with_columns(cost=pl.col("of").str.head(1))
    table = rf.top_label(melted, "truth", "given", classes="of", id="id", keep="cost")
    assert table.columns == ["cost", "id", "predicted", "label", "score"]
    known = table.drop_nulls("predicted")
    assert known["cost"].to_list() == known["predicted"].str.head(1).to_list()


def test_the_first_of_several_classes_with_the_highest_score_is_predicted():
    tied = pl.DataFrame({"truth": ["a", "b"], "a": [0.5, 0.5], "b": [0.5, 0.5]})
    for order in ("ab", "ba"):
        table = rf.top_label(tied, "truth", list(order))
        assert table["predicted"].to_list() == [order[0]] * 2
    melted = tied.with_row_index("id").unpivot(
        ["b", "a"], index=["id", "truth"], variable_name="of", value_name="p"
    )
    table = rf.top_label(melted, "truth", "p", classes="of", id="id")
    assert table["predicted"].to_list() == ["a", "a"]


@pytest.mark.parametrize("kind", [pl.Int8, pl.Float64, pl.UInt64, pl.Boolean, pl.Decimal(4, 1)])
def test_classes_have_the_type_of_the_labels(frame, kind):
    digits = pl.DataFrame({"truth": [0, 1], "p0": [1.0, 0.0], "p1": [0.0, 1.0]})
    typed = digits.with_columns(pl.col("truth").cast(kind))
    classes = {False: "p0", True: "p1"} if kind == pl.Boolean else {0: "p0", 1: "p1"}
    table = rf.top_label(like(frame, typed), "truth", classes).lazy().collect()
    assert table.schema["predicted"] == kind
    assert table["label"].to_list() == [True, True]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["emu", "dog", "cat"])])
def test_text_classes_have_the_type_of_the_labels(frame, kind):
    typed = WIDE.with_columns(pl.col("truth").cast(kind))
    actual = rf.top_label(like(frame, typed), "truth", ANIMALS)
    assert_frame_equal(actual, like(frame, TOP.with_columns(pl.col("predicted").cast(kind))))


@pytest.mark.parametrize("kind", [pl.Float32, pl.Int16, pl.UInt8, pl.Boolean, pl.Decimal(6, 2)])
def test_scores_keep_their_type(kind):
    rows = pl.DataFrame({"truth": ["a", "b"], "a": [0, 1], "b": [1, 1]})
    rows = rows.with_columns(pl.col("a", "b").cast(kind))
    table = rf.top_label(rows, "truth", ["a", "b"])
    assert table.schema["score"] == kind
    assert table["predicted"].to_list() == ["b", "a"]


@given(
    st.integers(1, 6).flatmap(
        lambda k: st.lists(
            st.tuples(st.integers(0, k - 1), *[st.sampled_from([0.0, 0.25, 0.5, 1.0])] * k),
            min_size=1,
            max_size=12,
        )
    )
)
def test_the_predicted_class_is_the_argmax_of_numpy(rows):
    names = [f"p{i}" for i in range(len(rows[0]) - 1)]
    table = pl.DataFrame(rows, schema=["truth", *names], orient="row")
    matrix = table.select(names).to_numpy()
    top = rf.top_label(table, "truth", dict(enumerate(names)))
    assert top["predicted"].to_list() == matrix.argmax(axis=1).tolist()
    assert top["score"].to_list() == matrix.max(axis=1).tolist()
    assert top["label"].to_list() == (matrix.argmax(axis=1) == table["truth"].to_numpy()).tolist()


def test_a_label_of_each_class_raises():
    with pytest.raises(rf.OptionValueError) as caught:
        rf.top_label(WIDE, {"cat": "fold"}, ["cat"])
    assert str(caught.value).startswith(
        "label={'cat': 'fold'}: expected one label column, because each row must have one true "
        "class.\nPass one column. multiclass_auc and one_vs_rest accept several classes per row: "
    )


def test_several_rows_of_one_instance_and_class_raise():
    with pytest.raises(rf.PairingError, match=r"^id=.*: 6 rows have the same id and class"):
        rf.top_label(pl.concat([MELTED, MELTED.head(3)]), "truth", "given", classes="of", id="id")


def test_an_empty_table_gives_an_empty_table(frame):
    table = rf.top_label(like(frame, WIDE.clear()), "truth", ANIMALS)
    assert_frame_equal(table, like(frame, TOP.clear()))


def test_the_schema_of_a_lazy_table_is_known_and_it_streams():
    for table, scores, options in (
        (WIDE, ANIMALS, {}),
        (WIDE.select("fold", "truth", p=pl.concat_list(ANIMALS)), "p", {"classes": ANIMALS}),
        (MELTED, "given", {"classes": "of", "id": "id"}),
    ):
        lazy = rf.top_label(table.lazy(), "truth", scores, **options)
        eager = rf.top_label(table, "truth", scores, **options)
        assert lazy.collect_schema() == eager.schema
        assert_frame_equal(lazy.collect(engine="streaming").sort("id"), eager.sort("id"))


@pytest.mark.parametrize("name", ["^.*$", "*", "", "predicted", "(score 0)", "(complete)", "🙂"])
def test_a_class_may_have_any_name(name):
    rows = WIDE.rename({"cat": name}).with_columns(pl.col("truth").replace("cat", name))
    expected = TOP.with_columns(pl.col("predicted").replace("cat", name))
    assert_frame_equal(rf.top_label(rows, "truth", [name, "dog", "emu"]), expected)


def probabilities(n, k, seed):
    """Return a table of random probabilities of `k` classes, labels and their matrix."""
    random = np.random.default_rng(seed)
    matrix = random.dirichlet(np.ones(k), n)
    truth = random.integers(0, k, n)
    table = pl.DataFrame(matrix, schema=[str(i) for i in range(k)])
    return table.with_columns(truth=pl.Series(truth).cast(pl.String)), truth, matrix


def test_confidence_calibration_equals_that_of_scikit_learn():
    calibration = pytest.importorskip("sklearn.calibration")
    table, truth, matrix = probabilities(500, 4, seed=1)
    top = rf.top_label(table, "truth", list("0123"))
    bins = rf.calibration(top, "label", "score", method="uniform", bins=8)
    rate, mean = calibration.calibration_curve(
        matrix.argmax(axis=1) == truth, matrix.max(axis=1), n_bins=8
    )
    assert bins["event_rate"].to_list() == pytest.approx(rate.tolist(), abs=1e-12)
    assert bins["score_mean"].to_list() == pytest.approx(mean.tolist(), abs=1e-12)


def test_top_label_calibration_equals_that_of_scikit_learn_for_each_predicted_class():
    calibration = pytest.importorskip("sklearn.calibration")
    table, truth, matrix = probabilities(500, 4, seed=2)
    top = rf.top_label(table, "truth", list("0123"))
    bins = rf.calibration(top, "label", "score", by="predicted", method="uniform", bins=5)
    predicted = matrix.argmax(axis=1)
    for i in range(4):
        rows = predicted == i
        rate, mean = calibration.calibration_curve(
            truth[rows] == i, matrix[rows].max(axis=1), n_bins=5
        )
        own = bins.filter(predicted=str(i))
        assert own["event_rate"].to_list() == pytest.approx(rate.tolist(), abs=1e-12)
        assert own["score_mean"].to_list() == pytest.approx(mean.tolist(), abs=1e-12)


@pytest.mark.parametrize("method", ["uniform", "quantile"])
def test_class_wise_calibration_equals_that_of_scikit_learn_for_each_class(method):
    calibration = pytest.importorskip("sklearn.calibration")
    table, truth, matrix = probabilities(500, 4, seed=3)
    rest = rf.one_vs_rest(table, "truth", list("0123"))
    bins = rf.calibration(rest, "label", "score", by="class", method=method, bins=5)
    for i in range(4):
        rate, mean = calibration.calibration_curve(
            truth == i, matrix[:, i], n_bins=5, strategy=method
        )
        own = bins.filter(pl.col("class") == str(i))
        assert own["event_rate"].to_list() == pytest.approx(rate.tolist(), abs=1e-12)
        assert own["score_mean"].to_list() == pytest.approx(mean.tolist(), abs=1e-12)


def test_the_top_label_error_is_the_mean_of_the_errors_of_the_predicted_classes():
    table, truth, matrix = probabilities(400, 3, seed=4)
    top = rf.top_label(table, "truth", list("012"))
    summary = rf.calibration_summary(
        top, "label", "score", by="predicted", method="uniform", bins=4
    )
    predicted, highest = matrix.argmax(axis=1), matrix.max(axis=1)
    number = np.minimum((highest * 4).astype(int), 3)
    for i, ece in enumerate(summary["ece"]):
        errors = [
            abs(((truth[rows] == i) - highest[rows]).sum())
            for rows in ((predicted == i) & (number == b) for b in range(4))
        ]
        assert ece == pytest.approx(sum(errors) / (predicted == i).sum(), abs=1e-12)


def test_scores_that_are_no_probabilities_raise_in_calibration():
    logits = WIDE.drop_nulls().with_columns(pl.col(ANIMALS) * 10)
    top = rf.top_label(logits, "truth", ANIMALS)
    with pytest.raises(rf.ScoreError, match=r"4 of 4 scores are outside \[0, 1\]"):
        rf.calibration(top, "label", "score")
