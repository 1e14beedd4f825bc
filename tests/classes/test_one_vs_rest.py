"""`one_vs_rest`: binary predictions of each class, from tables of every layout."""

from __future__ import annotations

import math
from fractions import Fraction

import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

import rocframe as rf

ANIMALS = ["cat", "dog", "emu"]
WIDE = pl.DataFrame(
    {
        "fold": [1, 1, 2, 2],
        "truth": ["cat", "dog", "emu", None],
        "cat": [0.7, 0.2, 0.2, 0.1],
        "dog": [0.2, 0.7, 0.5, None],
        "emu": [0.1, 0.1, 0.3, math.nan],
    }
)
LONG = pl.DataFrame(
    {
        "fold": [1, 1, 2, 2] * 3,
        "id": pl.Series([0, 1, 2, 3] * 3, dtype=pl.UInt32),
        "class": ["cat"] * 4 + ["dog"] * 4 + ["emu"] * 4,
        "label": [
            *(True, False, False, None),
            *(False, True, False, None),
            *(False, False, True, None),
        ],
        "score": [0.7, 0.2, 0.2, 0.1, 0.2, 0.7, 0.5, None, 0.1, 0.1, 0.3, math.nan],
    }
)
# A row per instance and class, as one_vs_rest reads it.
MELTED = LONG.join(
    pl.DataFrame({"id": [0, 1, 2, 3], "truth": WIDE["truth"]}, schema_overrides={"id": pl.UInt32}),
    on="id",
    maintain_order="left",
).select("fold", "id", "truth", "class", given="score")


def like(frame, table):
    return table.lazy() if frame is pl.LazyFrame else table


def test_each_class_is_compared_with_all_others(frame):
    actual = rf.one_vs_rest(like(frame, WIDE), "truth", ANIMALS)
    assert_frame_equal(actual, like(frame, LONG))


@pytest.mark.parametrize(
    "scores",
    [
        {"cat": "cat", "dog": pl.col("dog"), "emu": pl.col("emu") * 1},
        cs.by_name(*ANIMALS),
        [cs.starts_with("c"), "dog", pl.col("emu")],
        tuple(ANIMALS),
    ],
    ids=["mapping", "selector", "list with a selector", "tuple"],
)
def test_scores_may_be_given_in_several_ways(frame, scores):
    actual = rf.one_vs_rest(like(frame, WIDE), "truth", scores)
    assert_frame_equal(actual, like(frame, LONG))


@pytest.mark.parametrize("width", [None, 3], ids=["lists", "arrays"])
def test_scores_may_be_in_one_column_of_lists(frame, width):
    packed = WIDE.select("fold", "truth", p=pl.concat_list(ANIMALS))
    if width:
        packed = packed.with_columns(pl.col("p").list.to_array(width))
    actual = rf.one_vs_rest(like(frame, packed), "truth", "p", classes=ANIMALS)
    assert_frame_equal(actual, like(frame, LONG))


def test_a_table_may_have_one_row_per_instance_and_class(frame):
    for kind in (pl.String, pl.Categorical, pl.Enum(ANIMALS)):
        melted = MELTED.with_columns(pl.col("class").cast(kind))
        actual = rf.one_vs_rest(like(frame, melted), "truth", "given", classes="class", id="id")
        expected = LONG.with_columns(pl.col("class").cast(kind))
        assert_frame_equal(actual, like(frame, expected))


def test_a_row_may_be_of_several_classes(frame):
    tagged = pl.DataFrame(
        {"is_a": [True, None], "is_b": [1, 0], "a": [0.9, 0.2], "b": [0.8, 0.1]},
        schema_overrides={"is_b": pl.Int8},
    )
    scores = {"A": "a", "B": "b"}
    actual = rf.one_vs_rest(like(frame, tagged), {"B": "is_b", "A": "is_a"}, scores)
    expected = pl.DataFrame(
        {
            "id": pl.Series([0, 1, 0, 1], dtype=pl.UInt32),
            "class": ["A", "A", "B", "B"],
            "label": [True, None, True, False],
            "score": [0.9, 0.2, 0.8, 0.1],
        }
    )
    assert_frame_equal(actual, like(frame, expected))
    one = rf.one_vs_rest(tagged, {"B": "is_b"}, {"B": "b"}, keep=[])
    assert_frame_equal(one, expected.filter(pl.col("class") == "B"))


@pytest.mark.parametrize("kind", [pl.Int8, pl.Float64, pl.UInt64, pl.Decimal(4, 1)])
def test_classes_have_the_type_of_the_labels(frame, kind):
    digits = pl.DataFrame({"truth": [0, 1], "p0": [1.0, 0.0], "p1": [0.0, 1.0]})
    typed = digits.with_columns(pl.col("truth").cast(kind))
    long = rf.one_vs_rest(like(frame, typed), "truth", {0: "p0", 1: "p1"}).lazy().collect()
    assert long.schema["class"] == kind
    assert long["label"].to_list() == [True, False, False, True]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["emu", "dog", "cat"])])
def test_text_classes_have_the_type_of_the_labels(frame, kind):
    typed = WIDE.with_columns(pl.col("truth").cast(kind))
    actual = rf.one_vs_rest(like(frame, typed), "truth", ANIMALS)
    assert_frame_equal(actual, like(frame, LONG.with_columns(pl.col("class").cast(kind))))


def test_nan_labels_are_missing_labels():
    typed = WIDE.select(truth=pl.Series([0.0, 1.0, math.nan, None]), a="cat", b="emu")
    long = rf.one_vs_rest(typed, "truth", {0: "a", 1: "b"})
    assert long["label"].to_list() == [True, False, None, None, False, True, None, None]


def test_kept_columns_are_given_by_name_or_selector(frame):
    rows = like(frame, WIDE.with_columns(w=2.0, key=pl.lit("k")))
    columns = ["class", "label", "score"]

    def made(**options):
        return rf.one_vs_rest(rows, "truth", ANIMALS, **options).lazy().collect_schema().names()

    assert made() == ["fold", "w", "key", "id", *columns]
    assert made(keep=[]) == ["id", *columns]
    assert made(keep="w") == ["w", "id", *columns]
    assert made(keep=cs.float() - cs.by_name(ANIMALS)) == ["w", "id", *columns]
    assert made(keep=["w", "truth"]) == ["w", "truth", "id", *columns]
    assert made(id="key") == ["fold", "w", "key", *columns]
    assert made(id=["key", "fold"], keep=["fold", "w"]) == ["w", "key", "fold", *columns]


def test_columns_used_in_score_expressions_are_not_kept():
    rows = pl.DataFrame({"truth": ["a"], "tree_1": ["a"], "tree_2": ["b"], "day": [1]})
    trees = pl.concat_list("tree_1", "tree_2")
    votes = {name: trees.list.count_matches(name) / 2 for name in ("a", "b")}
    long = rf.one_vs_rest(rows, "truth", votes)
    assert long.columns == ["day", "id", "class", "label", "score"]
    assert long["score"].to_list() == [0.5, 0.5]


def test_a_margin_is_the_difference_from_the_best_other_class(frame):
    rows = WIDE.with_columns(pl.Series("dog", [0.25, 0.75, 0.5, None]), emu=pl.lit(0.5))
    expected = [0.7 - 0.5, 0.2 - 0.75, 0.2 - 0.5, None]
    expected += [0.25 - 0.7, 0.75 - 0.5, 0.0, None]
    expected += [0.5 - 0.7, 0.5 - 0.75, 0.0, None]
    actual = rf.one_vs_rest(like(frame, rows), "truth", ANIMALS, margin=True)
    assert actual.lazy().collect()["score"].to_list() == expected


def test_a_margin_of_infinite_scores_is_not_nan():
    rows = pl.DataFrame({"truth": ["a"], "a": [math.inf], "b": [math.inf], "c": [-math.inf]})
    long = rf.one_vs_rest(rows, "truth", ["a", "b", "c"], margin=True)
    assert long["score"].to_list() == [0.0, 0.0, -math.inf]


def test_a_margin_of_unsigned_scores_may_be_negative():
    rows = pl.DataFrame({"truth": ["a"], "a": [3], "b": [5]}, schema_overrides={"a": pl.UInt8})
    assert rf.one_vs_rest(rows, "truth", ["a", "b"], margin=True)["score"].to_list() == [-2, 2]


score_rows = st.lists(
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0]), min_size=4, max_size=4),
    min_size=1,
    max_size=6,
)


@given(score_rows, st.integers(1, 3), st.sampled_from([pl.Float64, pl.Float32, pl.Int16]))
def test_a_margin_of_rank_k_is_at_least_0_for_the_best_k(rows, rank, kind):
    classes = list("abcd")
    table = pl.DataFrame(rows, schema=dict.fromkeys(classes, pl.Float64), orient="row")
    table = table.select(pl.all().cast(kind), truth=pl.lit("a"))
    long = rf.one_vs_rest(table, "truth", classes, margin=rank)
    for row, found in zip(
        table.select(classes).rows(), long["score"].reshape((4, -1)).to_numpy().T, strict=True
    ):
        for i, margin in enumerate(found):
            others = sorted((row[j] for j in range(4) if j != i), reverse=True)
            assert margin == float(Fraction(row[i]) - Fraction(others[rank - 1]))
            assert (margin >= 0) == (sum(other > row[i] for other in others) < rank)
    melted = table.with_row_index("id").unpivot(
        classes, index=["id", "truth"], variable_name="of", value_name="given"
    )
    again = rf.one_vs_rest(melted, "truth", "given", classes="of", id="id", margin=rank)
    assert_frame_equal(
        again.sort("id", "class"),
        long.select(again.columns).sort("id", "class"),
        check_dtypes=False,
    )


def test_a_margin_needs_enough_other_scores():
    melted = MELTED.filter((pl.col("class") != "emu") & pl.col("truth").ne_missing("emu"))
    long = rf.one_vs_rest(melted, "truth", "given", classes="class", id="id", margin=2)
    assert long["score"].null_count() == long.height


@given(st.lists(st.tuples(st.sampled_from("abc"), *[st.floats(0, 1)] * 3), min_size=1, max_size=9))
def test_every_instance_is_positive_once_and_order_of_classes_is_order_of_rows(rows):
    table = pl.DataFrame(rows, schema=["truth", "a", "b", "c"], orient="row")
    long = rf.one_vs_rest(table, "truth", ["a", "b", "c"])
    assert long["label"].sum() == table.height
    assert long.height == 3 * table.height
    other = rf.one_vs_rest(table, "truth", ["c", "a", "b"])
    assert other["class"].unique(maintain_order=True).to_list() == ["c", "a", "b"]
    assert_frame_equal(other.sort("class", maintain_order=True), long)


def test_two_classes_give_the_binary_problem_and_its_mirror_image():
    votes = rf.datasets.vote().filter(pl.col("model") == "naive_bayes")
    both = votes.with_columns(other=1 - pl.col("score"))
    long = rf.one_vs_rest(both, "label", {True: "score", False: "other"}, id="id", keep="fold")
    found = rf.auc(long, "label", "score", by=["class", "fold"])
    binary = rf.auc(votes, "label", "score", by="fold")
    same = found.filter(pl.col("class")).drop("class")
    assert_frame_equal(same, binary)
    mirrored = found.filter(~pl.col("class"))
    assert mirrored["n_pos"].to_list() == binary["n_neg"].to_list()


def test_classes_without_labels_become_groups_without_positives():
    long = rf.one_vs_rest(
        WIDE.drop_nulls(), "truth", {**dict.fromkeys(ANIMALS, "cat"), "fox": "dog"}
    )
    areas = rf.auc(long, "label", "score", by="class")
    assert areas["class"].to_list() == ["cat", "dog", "emu", "fox"]
    assert areas["note"].to_list()[-1] == "no_positives"


def test_weights_and_counts_are_kept():
    digits = rf.datasets.digits().filter(pl.col("model") == "decision_tree")
    scores = {digit: f"p{digit}" for digit in range(10)}
    grouped = digits.group_by("label", *scores.values(), maintain_order=True).agg(count=pl.len())
    long = rf.one_vs_rest(digits, "label", scores, id="id")
    short = rf.one_vs_rest(grouped, "label", scores)
    assert short.height < long.height
    assert_frame_equal(
        rf.auc(long, "label", "score", by="class"),
        rf.auc(short, "label", "score", by="class", count="count"),
    )


def test_areas_of_classes_equal_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    digits = rf.datasets.digits()
    scores = {digit: f"p{digit}" for digit in range(10)}
    long = rf.one_vs_rest(digits, "label", scores, id=["model", "id"])
    areas = rf.auc(long, "label", "score", by=["model", "class"], ci=None)
    for (model,), rows in digits.group_by("model"):
        own = areas.filter(pl.col("model") == model)["auc"].to_list()
        every = [
            metrics.roc_auc_score(rows["label"] == digit, rows[column])
            for digit, column in scores.items()
        ]
        assert own == pytest.approx(every, abs=1e-12)


def test_a_filter_on_classes_reads_those_classes_only(frame):
    chosen = rf.one_vs_rest(like(frame, WIDE), "truth", ANIMALS).filter(pl.col("class") == "dog")
    assert_frame_equal(chosen, like(frame, LONG.filter(pl.col("class") == "dog")))


def test_the_schema_of_a_lazy_table_is_known_and_it_streams():
    for table, scores, options in (
        (WIDE, ANIMALS, {"margin": True}),
        (WIDE.select("fold", "truth", p=pl.concat_list(ANIMALS)), "p", {"classes": ANIMALS}),
        (MELTED, "given", {"classes": "class", "id": "id", "margin": True}),
    ):
        lazy = rf.one_vs_rest(table.lazy(), "truth", scores, **options)
        eager = rf.one_vs_rest(table, "truth", scores, **options)
        assert lazy.collect_schema() == eager.schema
        keys = ["class", "id"]
        assert_frame_equal(lazy.collect(engine="streaming").sort(keys), eager.sort(keys))


NAMES = ["^.*$", "*", "a.b", "", "class", "(score 0)", "(truth 0)", "(row)", "(lists)", "🙂", "id"]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_a_class_may_have_any_name(frame, name):
    rows = (
        WIDE.drop_nulls().rename({"cat": name}).with_columns(pl.col("truth").replace("cat", name))
    )
    actual = rf.one_vs_rest(like(frame, rows), "truth", [name, "dog", "emu"])
    expected = rf.one_vs_rest(WIDE.drop_nulls(), "truth", ANIMALS)
    expected = expected.with_columns(pl.col("class").replace("cat", name))
    assert_frame_equal(actual, like(frame, expected))


VERBS = [
    rf.one_vs_rest,
    rf.one_vs_one,
    rf.top_label,
    rf.multiclass_auc,
    rf.multiclass_metrics,
    rf.volume,
]


@pytest.mark.parametrize("verb", VERBS)
def test_a_label_may_have_any_name(frame, verb):
    rows = WIDE.drop_nulls()
    expected = verb(rows, "truth", ANIMALS)
    for name in ["^cat$", *NAMES]:
        actual = verb(like(frame, rows.rename({"truth": name})), name, ANIMALS)
        assert_frame_equal(actual, like(frame, expected))


@pytest.mark.parametrize("name", [name for name in NAMES if name not in {"class", "id"}], ids=ascii)
def test_kept_columns_may_have_any_name(frame, name):
    for options in ({}, {"id": name}):
        actual = rf.one_vs_rest(
            like(frame, WIDE.rename({"fold": name})), "truth", ANIMALS, margin=1, **options
        )
        expected = rf.one_vs_rest(WIDE, "truth", ANIMALS, margin=1)
        expected = expected.drop("id") if options else expected
        assert_frame_equal(actual, like(frame, expected.rename({"fold": name})))


def test_an_empty_table_gives_an_empty_table(frame):
    long = rf.one_vs_rest(like(frame, WIDE.clear()), "truth", ANIMALS, margin=True)
    assert_frame_equal(long, like(frame, LONG.clear()))


def test_several_rows_of_one_instance_and_class_raise():
    twice = pl.DataFrame(
        {
            "id": [1, 1, 1, 2, 2],
            "truth": ["a", "a", "a", "b", "b"],
            "cl": ["a", "b", "a", "a", "b"],
            "score": [0.9, 0.1, 0.8, 0.2, 0.7],
        }
    )
    with pytest.raises(rf.PairingError, match=r"^id=.*: 2 rows have the same id and class"):
        rf.one_vs_rest(twice, "truth", "score", classes="cl", id="id")


@pytest.mark.parametrize("verb", [rf.one_vs_rest, rf.one_vs_one, rf.top_label])
def test_different_labels_of_one_instance_raise(frame, verb):
    rows = {"model": ["m"] * 4, "id": [1, 1, 2, 2], "cl": ["a", "b"] * 2, "score": [0.9, 0.1] * 2}
    expected = (
        "id=['model', 'id']: rows with the same id have different labels, in 1 instance.\n"
        "An instance must have one label. In id=, pass all columns that identify an instance, "
        'such as id=["model", "id"]. Or correct the labels.'
    )
    for label in ("b", None):
        table = frame({**rows, "truth": ["a", label, "b", "b"]})
        with pytest.raises(rf.PairingError) as caught:
            verb(table, "truth", "score", classes="cl", id=["model", "id"]).lazy().collect()
        assert str(caught.value).startswith(expected)


WHOLE = pl.DataFrame({"truth": ["a", "b"], "a": [2**53 + 1, 0], "b": [1, 2**60 + 1]})


def test_integer_scores_stay_integers(frame):
    rest = rf.one_vs_rest(like(frame, WHOLE), "truth", ["a", "b"]).lazy().collect()
    assert rest["score"].to_list() == [2**53 + 1, 0, 1, 2**60 + 1]
    assert rest["score"].dtype == pl.Int64


def test_scores_of_several_types_become_one_type():
    some = WHOLE.with_columns(a=pl.Series([3, 4], dtype=pl.Int32), b=pl.Series([0.5, None]))
    rest = rf.one_vs_rest(some, "truth", ["a", "b"])
    assert_series_equal(rest["score"], pl.Series("score", [3.0, 4.0, 0.5, None]))
    whole = WHOLE.with_columns(pl.col("a").cast(pl.UInt64))
    assert rf.one_vs_rest(whole, "truth", ["a", "b"])["score"].to_list()[0] == 2**53 + 1


def test_a_table_per_instance_and_class_may_be_filtered_by_class(frame):
    rows = rf.one_vs_rest(WIDE.drop_nulls(), "truth", ANIMALS)
    truth = pl.col("class").filter("label").first().over("id")
    melted = rows.with_columns(truth=truth).drop("label").rename({"class": "of"})
    again = rf.one_vs_rest(like(frame, melted), "truth", "score", classes="of", id=["fold", "id"])
    expected = rows.filter(pl.col("class") == "cat")
    found = again.filter(pl.col("class") == "cat")
    assert_frame_equal(found, like(frame, expected))
