"""Roles of columns by name, expression or selector, and the positive class."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import inf
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.inputs.roles import Roles, bind_roles

PREDICTIONS = pl.DataFrame(
    {
        "day": ["mo", "tu"] * 4,
        "label": [True, False, True, False, True, True, False, False],
        "svm": [0.9, 0.4, 0.4, 0.1, 0.8, 0.3, 0.5, 0.2],
        "tree": [1, 1, 1, 0, 1, 0, 0, 0],
        "importance": [1.0, 2.0, 0.5, 1.0, 4.0, 1.0, 1.0, 0.5],
        "n": [1, 2, 3, 1, 1, 0, 1, 2],
    }
)


def like(frame, table: pl.DataFrame) -> pl.DataFrame | pl.LazyFrame:
    return table.lazy() if frame is pl.LazyFrame else table


@pytest.mark.parametrize(
    "roles",
    [
        {"label": pl.col("label"), "score": pl.col("svm")},
        {"label": pl.col("label").cast(pl.Int8), "score": pl.col("svm").alias("renamed")},
        {"label": pl.col("label").cast(pl.String) == "true", "score": pl.col("svm") + 0},
        {"label": ~~pl.col("label"), "score": "svm", "weight": pl.lit(1.0)},
        {"label": "label", "score": "svm", "weight": None, "count": None, "by": None},
        {"label": "label", "score": "svm", "by": []},
        {"label": "label", "score": "svm", "by": ()},
    ],
    ids=range(7),
)
def test_roles_are_columns_or_expressions(frame, roles):
    expected = rf.auc(PREDICTIONS, "label", "svm")
    actual = rf.auc(like(frame, PREDICTIONS), **roles)
    assert_frame_equal(actual, like(frame, expected), rel_tol=1e-12)


@pytest.mark.parametrize(
    "by", ["day", ["day"], ("day",), {"day": 1}.keys(), (name for name in ["day"])]
)
def test_one_group_column_or_a_list_of_one_is_the_same(by):
    assert_frame_equal(
        rf.auc(PREDICTIONS, "label", "svm", by=by), rf.auc(PREDICTIONS, "label", "svm", by="day")
    )


def test_group_columns_stand_first_in_the_order_given(frame):
    rows = like(frame, PREDICTIONS)
    forth = rf.curve(rows, "label", "svm", by=["day", "n"]).lazy().collect()
    back = rf.curve(rows, "label", "svm", by=["n", "day"]).lazy().collect()
    assert forth.columns[:3] == ["day", "n", "threshold"]
    assert back.columns[:3] == ["n", "day", "threshold"]
    assert_frame_equal(
        back,
        forth.select("n", "day", pl.all().exclude("n", "day")).sort(
            "n", "day", maintain_order=True
        ),
    )


SEVERAL = {
    "a list of names": ["svm", "tree"],
    "a list of expressions": [pl.col("tree"), pl.col("svm")],
    "a tuple": ("svm", pl.col("tree")),
    "a selector": cs.by_name("svm", "tree"),
    "a selector taken away from": cs.numeric() - cs.by_name("importance", "n"),
    "an expression of several outputs": pl.col("svm", "tree"),
    "a pattern": pl.col("^svm|tree$"),
    "all but some": pl.exclude("day", "label", "importance", "n"),
    "a function of several outputs": pl.col("svm", "tree") * 2,
    "a list of a name and a selector": ["tree", cs.by_name("svm")],
    "a mapping": {"svm": "svm", "tree": "tree"},
    "a mapping in another order": {"tree": pl.col("tree"), "svm": pl.col("svm") * 3},
    "a list in a list": [["svm"], "tree"],
}


@pytest.mark.parametrize("score", SEVERAL.values(), ids=SEVERAL)
def test_several_scores_are_compared_as_models(frame, score):
    expected = pl.concat(
        [
            rf.auc(PREDICTIONS, "label", name, by="day").insert_column(
                1, pl.lit(name).alias("model")
            )
            for name in ("svm", "tree")
        ]
    ).sort("day", "model")
    actual = rf.auc(like(frame, PREDICTIONS), "label", score, by="day")
    assert_frame_equal(actual, like(frame, expected))


@pytest.mark.parametrize(
    "score", [["svm"], {"svm": "svm"}, cs.by_name("svm"), cs.by_name("svm") + 0, pl.col("^svm$")]
)
def test_one_score_in_a_list_is_a_model_too(frame, score):
    alone = rf.curve(PREDICTIONS, "label", "svm")
    expected = alone.select(pl.lit("svm").alias("model"), pl.all())
    actual = rf.curve(like(frame, PREDICTIONS), "label", score)
    assert_frame_equal(actual, like(frame, expected))


def test_models_take_their_names_from_a_mapping(frame):
    score = {"z": "svm", "a": pl.col("svm") * 2, "m": -pl.col("svm")}
    actual = rf.auc(like(frame, PREDICTIONS), "label", score, ci=None).lazy().collect()
    # Pairs in order: .9 beats all four, .8 too, .4 beats .2 and .1 and ties with .4, .3 beats two.
    expected = pl.DataFrame({"model": ["a", "m", "z"], "auc": [12.5 / 16, 3.5 / 16, 12.5 / 16]})
    assert_frame_equal(actual.select("model", "auc"), expected)


def test_models_share_label_weight_and_count(frame):
    options = {"weight": "importance", "count": "n", "by": "day"}
    actual = rf.curve(like(frame, PREDICTIONS), "label", ["tree", "svm"], **options)
    expected = pl.concat(
        [
            rf.curve(PREDICTIONS, "label", name, **options).insert_column(
                1, pl.lit(name).alias("model")
            )
            for name in ("svm", "tree")
        ]
    ).sort("day", maintain_order=True)
    assert_frame_equal(actual, like(frame, expected))


def test_each_model_misses_its_own_rows(frame):
    rows = PREDICTIONS.with_columns(tree=pl.when(pl.col("svm") > 0.3).then("tree"))
    for missing, lost in (("drop", [0, 3]), ("worst", [0, 3])):
        actual = rf.auc(like(frame, rows), "label", ["svm", "tree"], missing=missing, ci=None)
        assert actual.lazy().collect()["n_missing"].to_list() == lost
    dropped = rf.auc(rows, "label", ["svm", "tree"], missing="drop").drop("model")
    apart = [rf.auc(rows, "label", name, missing="drop") for name in ("svm", "tree")]
    assert_frame_equal(dropped, pl.concat(apart))


def test_a_score_may_have_the_name_of_the_label_if_it_is_computed_from_other_columns():
    table = pl.DataFrame({"label": [0, 1], "p0": [0.9, 0.2], "p1": [0.1, 0.8]})
    expr = (1 - pl.col("p0")).alias("label")
    areas = rf.multiclass_auc(table, "label", {0: "p0", 1: expr})
    assert_frame_equal(areas, rf.multiclass_auc(table, "label", {0: "p0", 1: "p1"}))


def test_a_list_may_contain_columns_that_the_expression_of_the_label_uses():
    label = pl.col("svm") > 0.45
    areas = rf.auc(PREDICTIONS, label, ["svm", "tree"])
    named = PREDICTIONS.with_columns(label=label)
    assert_frame_equal(areas, rf.auc(named, "label", ["svm", "tree"]))


# Every way to say that the first and third row are positive.
NO, YES = "no", "yes"
DAY = datetime.fromisoformat("2024-02-29T13:00")
LABELS = {
    "Boolean": (pl.Boolean, [True, False], [None, True, 1, 1.0, np.bool_(True), np.int8(1)]),
    "Int8": (pl.Int8, [1, 0], [None, 1, True, 1.0, np.int64(1), np.float32(1), Decimal(1)]),
    "UInt64": (pl.UInt64, [1, 0], [None, 1, np.uint8(1)]),
    "Int128": (pl.Int128, [1, 0], [None, 1]),
    "Float32": (pl.Float32, [1, 0], [None, 1, 1.0]),
    "Float64": (pl.Float64, [1, 0], [None, 1, True, np.float64(1)]),
    "Decimal": (pl.Decimal(10, 2), [1, 0], [None, 1, 1.0, Decimal("1.00"), np.bool_(True), True]),
    "Decimal, 0 positive": (pl.Decimal(38, 0), [0, 1], [0, 0.0, Decimal(0), False]),
    "Float64, infinite": (pl.Float64, [inf, -inf], [inf]),
    "Int64 beyond 1": (pl.Int64, [2, 1], [2, 2.0, np.int16(2), Decimal(2)]),
    "Int64 beyond 2^53": (pl.Int64, [2**60, 2**60 + 1], [2**60, 2.0**60, np.float64(2.0**60)]),
    "Int64 below 0": (pl.Int64, [-1, 1], [-1]),
    "Int64, 0 positive": (pl.Int64, [0, 1], [0, False]),
    "Boolean, False positive": (pl.Boolean, [False, True], [False, 0, 0.0, np.bool_(False)]),
    "String": (pl.String, [YES, NO], [YES, np.str_(YES)]),
    "Enum": (pl.Enum([YES, NO]), [YES, NO], [YES]),
    "Categorical": (pl.Categorical, [YES, NO], [YES]),
    "named Categorical": (pl.Categorical(pl.Categories("predictions", "tests")), [YES, NO], [YES]),
    "Date": (pl.Date, [DAY.date(), date(1, 1, 1)], [DAY.date(), np.datetime64("2024-02-29")]),
    "Datetime": (pl.Datetime, [DAY, DAY + timedelta(microseconds=1)], [DAY, np.datetime64(DAY)]),
    "Datetime in ms": (pl.Datetime("ms"), [DAY, DAY + timedelta(milliseconds=1)], [DAY]),
    "Datetime in ns": (pl.Datetime("ns"), [0, 1], [datetime.fromisoformat("1970-01-01")]),
    "Datetime with time zone": (
        pl.Datetime("us", "Europe/Vienna"),
        [DAY, DAY + timedelta(hours=1)],
        [DAY.replace(tzinfo=UTC), DAY.replace(tzinfo=UTC).astimezone(ZoneInfo("Asia/Tokyo"))],
    ),
    "Time": (pl.Time, [time(1, 2, 3), time(0)], [time(1, 2, 3)]),
    "Duration": (pl.Duration("ns"), [1000, 1001], [timedelta(microseconds=1)]),
    "Binary": (pl.Binary, [b"\xff", b"\xfe"], [b"\xff"]),
}


@pytest.mark.parametrize(("dtype", "values", "positives"), LABELS.values(), ids=LABELS)
def test_labels_of_any_type_say_which_rows_are_positive(frame, dtype, values, positives):
    yes, no = values
    label = pl.Series([yes, no, yes, no]).cast(dtype)
    rows = pl.DataFrame({"label": label, "score": [0.9, 0.4, 0.4, 0.1]})
    expected = rf.curve(rows.with_columns(label=pl.Series([1, 0, 1, 0])), "label", "score")
    for positive in positives:
        actual = rf.curve(like(frame, rows), "label", "score", positive=positive)
        assert_frame_equal(actual, like(frame, expected))
    auc = pl.col("score").roc.auc("label", positive=positives[-1])
    assert like(frame, rows).lazy().select(auc).collect().item() == 0.875
    cells = rf.compress(like(frame, rows), "label", "score", positive=positives[-1])
    assert rf.auc(cells, "label", "score", count="count").lazy().collect()["auc"].item() == 0.875


@pytest.mark.parametrize(
    "label", [pl.Series([1, 1]), pl.Series([0, 0]), pl.Series([True, True])], ids=range(3)
)
@pytest.mark.parametrize("positive", [None, 0, 1])
def test_an_absent_positive_of_binary_labels_makes_an_undefined_group(frame, label, positive):
    rows = frame({"label": label, "score": [0.5, 0.4]})
    area = rf.auc(rows, "label", "score", positive=positive).lazy().collect()
    whole = set(label) == {1 if positive is None else positive}
    assert area.select("n_pos", "n_neg", "auc", "note").row(0) == (
        (2, 0, None, "no_negatives") if whole else (0, 2, None, "no_positives")
    )


def test_a_group_that_lacks_the_positive_value_is_undefined_alone(frame):
    rows = {"g": ["a", "a", "b"], "label": ["yes", "no", "no"], "score": [0.5, 0.4, 0.3]}
    areas = rf.auc(frame(rows), "label", "score", by="g", positive="yes", ci=None)
    assert areas.lazy().collect().select("g", "auc", "note").rows() == [
        ("a", 1.0, "one_positive"),
        ("b", None, "no_positives"),
    ]


def test_text_labels_without_any_row_are_an_undefined_group(frame):
    rows = frame({"label": [], "score": []}, schema={"label": pl.String, "score": pl.Float64})
    area = rf.auc(rows, "label", "score", positive="yes").lazy().collect()
    assert area.select("n_pos", "n_neg", "note").row(0) == (0, 0, "no_rows")


def test_names_and_types_are_checked_when_the_schema_resolves():
    lazy = PREDICTIONS.lazy().map_batches(lambda _: pytest.fail("a row was read"))
    for wrong, start in (
        ({"score": "smv"}, "score='smv': the frame has no column of this name."),
        ({"label": "day", "score": "day"}, "score='day': this is the same column as label='day'."),
        ({"weight": "day"}, "weight='day': the column has type String."),
        ({"by": ["n", "n"]}, "by='n': the name is given more than once."),
        ({"by": "n", "count": "importance"}, "count='importance': the column has type Float64."),
        (
            {"positive": "yes"},
            (
                "positive='yes': this value is never equal to a label of column 'label', which "
                "has type Boolean."
            ),
        ),
    ):
        table = rf.auc(lazy, **{"label": "label", "score": "svm", **wrong})
        with pytest.raises(rf.RocframeError) as caught:
            table.collect_schema()
        assert str(caught.value).startswith(f"{start}\n")


def test_a_column_named_count_is_read_if_it_is_declared(frame):
    rows = like(frame, PREDICTIONS.rename({"n": "count"}))
    without = rf.auc(rows, "label", "svm", count=None)
    assert_frame_equal(without, rf.auc(like(frame, PREDICTIONS), "label", "svm"))
    repeated = rf.auc(rows, "label", "svm", count="count")
    assert_frame_equal(repeated, rf.auc(like(frame, PREDICTIONS), "label", "svm", count="n"))
    assert repeated.lazy().collect()["n_pos"].to_list() == [5]


def test_private_names_differ_from_the_names_of_groups():
    roles = Roles(label="label", score=["svm", "tree"], by=["(label)", "((label))"])
    plan = PREDICTIONS.lazy().with_columns(pl.lit(1).alias("(label)"), pl.lit(2).alias("((label))"))
    bound = bind_roles(plan, plan.collect_schema(), roles, ("auc",))
    assert bound.private == {"label": "(((label)))", "score 0": "(score 0)", "score 1": "(score 1)"}
    assert plan.select(bound.inputs).collect_schema().names() == [
        *bound.by,
        *bound.private.values(),
    ]
    assert bound.models == ("svm", "tree")
    assert bound.result_keys == {"(label)": pl.Int32, "((label))": pl.Int32, "model": pl.String}


def test_selectors_do_not_select_group_columns_that_are_computed_in_the_call():
    table = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.6], "n": [1, 1, 2, 2]})
    key = (pl.col("n") * 0.5).alias("half")
    expected = rf.auc(table.with_columns(key), "label", {"score": "score"}, by="half")
    for label, score in (
        (cs.first(), ["score"]),
        ("label", pl.nth(1)),
        ("label", cs.float()),
        ("label", {"score": pl.nth(-2)}),
    ):
        for frame in (table, table.lazy()):
            found = rf.auc(frame, label, score, by=key)
            assert_frame_equal(found.lazy().collect(), expected)
    # The name of a key may be the value of an option that is not a column.
    assert rf.curve(table, "label", "score", by=pl.col("n").alias("roc"), kind="roc").height == 6
