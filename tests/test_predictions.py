"""Roles of columns by name, expression or selector, and the positive class."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from math import inf, nan
from zoneinfo import ZoneInfo

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.inputs.roles import Roles, bind_roles

PLAN = "\n\nResolved plan until failure"

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


def text_of(caught) -> str:
    return str(caught.value).split(PLAN)[0]


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


WRONG_SCORES = {
    "nothing in a list": ([], "score=[]: expected at least one column.\n"),
    "nothing in a mapping": ({}, "score={}: expected at least one column.\n"),
    "None": (None, "score=None: expected a column name or an expression.\n"),
    "a number": (0.5, "score=0.5: expected a column name or an expression.\n"),
}


@pytest.mark.parametrize(("score", "text"), WRONG_SCORES.values(), ids=WRONG_SCORES)
def test_scores_that_name_no_column_raise(frame, score, text):
    with pytest.raises(rf.OptionValueError) as caught:
        rf.auc(like(frame, PREDICTIONS), "label", score).lazy().collect()
    assert text_of(caught) == text + (
        "Pass a column name, an expression, or several: a list, a selector, {name: column}."
    )


@pytest.mark.parametrize("argument", ["label", "score"])
@pytest.mark.parametrize(
    ("values", "kind", "hint"),
    [
        (pl.Series("s", [1.0]), "a Series", "Pass the name of the column: {0}='s'."),
        (
            pl.Series([1.0]),
            "a Series",
            "Pass the name of a column of the table, such as {0}='{0}'.",
        ),
        (
            np.array([1.0]),
            "a numpy array",
            "Pass the name of a column of the table, such as {0}='{0}'.",
        ),
    ],
    ids=["a named Series", "a Series", "an array"],
)
def test_values_instead_of_a_column_name_raise(frame, argument, values, kind, hint):
    columns = {"label": "label", "score": "svm", argument: values}
    with pytest.raises(rf.OptionValueError) as caught:
        rf.auc(like(frame, PREDICTIONS), **columns).lazy().collect()
    assert text_of(caught) == (
        f"{argument}: expected a column name or an expression, but this is {kind}.\n"
        + hint.format(argument)
    )


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"by": "label"}, "by='label': this is the same column as label='label'"),
        ({"by": ["fold", "svm"]}, "by='svm': this is the same column as score='svm'"),
        ({"score": "label"}, "score='label': this is the same column as label='label'"),
        ({"score": ["svm", "label"]}, "score='label': this is the same column as label='label'"),
        ({"weight": "label"}, "weight='label': this is the same column as label='label'"),
        ({"count": "label"}, "count='label': this is the same column as label='label'"),
        ({"cluster": "label"}, "cluster='label': this is the same column as label='label'"),
        (
            {"label": pl.col("label"), "score": ["svm", "label"]},
            "score='label': this is the same column as label='label'",
        ),
        ({"score": pl.col("label")}, "score='label': this is the same column as label='label'"),
        (
            {"by": "svm", "score": pl.col("svm").alias("a")},
            "by='svm': this is the same column as score='svm'",
        ),
    ],
)
def test_a_column_with_two_roles_raises(frame, columns, problem):
    table = like(frame, PREDICTIONS.with_columns(fold=pl.lit(1)))
    with pytest.raises(rf.OptionValueError) as caught:
        rf.auc(table, **{"label": "label", "score": "svm", **columns}).lazy().collect()
    argument, role = problem.split("=")[0], problem.split()[-1].split("=")[0]
    assert text_of(caught) == f"{problem}.\nPass another column as {argument}= or as {role}=."


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"by": "label"}, "by='label': this is the same column as label='label'"),
        ({"scores": {0: "p0", 1: "label"}}, "scores='label': this is the same column as label="),
        ({"by": "p1"}, "by='p1': this is the same column as scores='p1'.\nPass another column as"),
    ],
)
def test_a_column_with_two_roles_raises_for_many_classes(columns, problem):
    table = pl.DataFrame({"label": [0, 1], "p0": [0.9, 0.2], "p1": [0.1, 0.8]})
    with pytest.raises(rf.OptionValueError) as caught:
        rf.multiclass_auc(table, **{"label": "label", "scores": {0: "p0", 1: "p1"}, **columns})
    assert str(caught.value).startswith(problem)


def test_a_score_may_have_the_name_of_the_label_if_it_is_computed_from_other_columns():
    table = pl.DataFrame({"label": [0, 1], "p0": [0.9, 0.2], "p1": [0.1, 0.8]})
    expr = (1 - pl.col("p0")).alias("label")
    areas = rf.multiclass_auc(table, "label", {0: "p0", 1: expr})
    assert_frame_equal(areas, rf.multiclass_auc(table, "label", {0: "p0", 1: "p1"}))


MANY_CLASSES = pl.DataFrame(
    {"label": [0, 1], "0": [0.9, 0.2], "1": [0.1, 0.8], "n": [1, 1], "text": ["a", "b"]}
)


@pytest.mark.parametrize(
    ("verb", "options", "used"),
    [
        (rf.multiclass_auc, {}, "label"),
        (rf.multiclass_auc, {"label": pl.col("n") > 0}, "n"),
        (rf.multiclass_auc, {"label": "text", "by": "n"}, "n"),
        (rf.multiclass_auc, {"label": "text", "weight": pl.col("n") * 2}, "n"),
        (rf.multiclass_auc, {"label": "text", "count": "n"}, "n"),
        (rf.multiclass_auc, {"label": "text", "cluster": "n"}, "n"),
        (rf.multiclass_metrics, {"label": "text", "by": ["n"]}, "n"),
        (rf.volume, {"label": "text", "count": "n"}, "n"),
        (rf.one_vs_rest, {"label": "text", "id": "n"}, "n"),
        (rf.one_vs_rest, {"label": {"0": "n", "1": "n"}}, "n"),
        (rf.one_vs_one, {"label": "text", "id": cs.by_name("n")}, "n"),
        (rf.top_label, {}, "label"),
    ],
)
def test_a_selector_of_class_scores_that_takes_another_column_along_raises(
    frame, verb, options, used
):
    table = like(frame, MANY_CLASSES.drop([] if used == "label" else ["label"]))
    for scores in (cs.numeric(), [cs.numeric()]):
        with pytest.raises(rf.OptionValueError) as caught:
            verb(table, **{"label": "label", "scores": scores, **options}).lazy().collect()
        assert text_of(caught) == (
            f"scores=cs.numeric(): the selector selects {used!r}, which another argument uses.\n"
            f"Exclude this column, for example with … - cs.by_name({used!r}), or pass a "
            "list of column names."
        )


def test_a_list_may_contain_columns_that_the_expression_of_the_label_uses():
    label = pl.col("svm") > 0.45
    areas = rf.auc(PREDICTIONS, label, ["svm", "tree"])
    named = PREDICTIONS.with_columns(label=label)
    assert_frame_equal(areas, rf.auc(named, "label", ["svm", "tree"]))


WRONG_ROLES = {
    "a label that is nothing": (
        {"label": None},
        (
            "label=None: expected a column name or an expression.\n"
            "Use, for example, label='a' or label=pl.col('a')."
        ),
    ),
    "labels in a list": (
        {"label": ["label"]},
        (
            "label=['label']: expected a column name or an expression.\n"
            "Use, for example, label='a' or label=pl.col('a')."
        ),
    ),
    "a weight that is a number": (
        {"weight": 2},
        (
            "weight=2: expected a column name or an expression.\n"
            "Use, for example, weight='a' or weight=pl.col('a')."
        ),
    ),
    "a count that is a number": (
        {"count": 2},
        (
            "count=2: expected a column name or an expression.\n"
            "Use, for example, count='a' or count=pl.col('a')."
        ),
    ),
    "a score of several in a mapping": (
        {"score": {"both": cs.by_name("svm", "tree")}},
        (
            "score=cs.by_name('svm', 'tree', require_all=true): the expression returns 2 columns.\n"
            "Pass an expression that returns one column."
        ),
    ),
    "a model whose name is no text": (
        {"score": {1: "svm"}},
        'score=1: the names of models must be strings.\nUse, for example, {"name": "column"}.',
    ),
    "a selector that selects nothing": (
        {"score": cs.date()},
        (
            "score=cs.date(): the selector matches no column.\n"
            "The frame has: 'day', 'label', 'svm', 'tree', 'importance', 'n'."
        ),
    ),
    "a selector that takes the label along": (
        {"score": cs.numeric() | cs.boolean()},
        (
            "score=[cs.numeric() | cs.boolean()]: the selector selects 'label', which another "
            "argument uses.\n"
            "Exclude this column, for example with … - cs.by_name('label'), or pass a "
            "list of column names."
        ),
    ),
    "a selector that takes the weight along": (
        {"score": cs.numeric(), "weight": "importance"},
        (
            "score=cs.numeric(): the selector selects 'importance', which another argument uses.\n"
            "Exclude this column, for example with … - cs.by_name('importance'), or pass a "
            "list of column names."
        ),
    ),
    "a selector that takes the label of an expression along": (
        {"label": pl.col("n") > 1, "score": cs.numeric()},
        (
            "score=cs.numeric(): the selector selects 'n', which another argument uses.\n"
            "Exclude this column, for example with … - cs.by_name('n'), or pass a "
            "list of column names."
        ),
    ),
    "a selector that takes the label of a selector along": (
        {"label": cs.boolean(), "score": cs.numeric() | cs.boolean()},
        (
            "score=[cs.numeric() | cs.boolean()]: the selector selects 'label', which another "
            "argument uses.\n"
            "Exclude this column, for example with … - cs.by_name('label'), or pass a "
            "list of column names."
        ),
    ),
    "a selector that takes the cluster along": (
        {"score": cs.numeric(), "cluster": "n"},
        (
            "score=cs.numeric(): the selector selects 'n', which another argument uses.\n"
            "Exclude this column, for example with … - cs.by_name('n'), or pass a "
            "list of column names."
        ),
    ),
    "all columns": (
        {"score": pl.all(), "by": "day"},
        (
            "score=cs.all(): the selector selects 'day', which another argument uses.\n"
            "Exclude this column, for example with … - cs.by_name('day'), or pass a "
            "list of column names."
        ),
    ),
    "a score that is no number": (
        {"score": ["svm", "day"]},
        (
            "score='day': the column has type String.\n"
            "Scores must be numbers. Cast the column first, for example with "
            "pl.col('day').cast(pl.Float64). For predicted classes, use a comparison, such as "
            "pl.col('day') == 'yes'."
        ),
    ),
    "a group key that is a selector and selects the label": (
        {"by": cs.all() - cs.float()},
        (
            "by='label': this is the same column as label='label'.\n"
            "Pass another column as by= or as label=."
        ),
    ),
    "a group key that is a selector and selects no column": (
        {"by": cs.duration()},
        (
            "by=cs.duration(time_unit=*): the selector matches no column.\n"
            "The frame has: 'day', 'label', 'svm', 'tree', 'importance', 'n'."
        ),
    ),
    "two group keys of the same name": (
        {"by": ["day", pl.col("day").str.to_uppercase()]},
        "by='day': the name is given more than once.\nGiven: 'day', 'day'.\nUse each name once.",
    ),
    "a group key that is one value": (
        {"by": pl.col("n").max()},
        (
            'by=col("n").max(): the expression does not return one value for each row.\n'
            "Use a function of the values of a row. For a value of each group, use .over()."
        ),
    ),
    "a group key with fewer rows": (
        {"by": ["day", pl.col("n").unique()]},
        (
            'by=col("n").unique(): the expression does not return one value for each row.\n'
            "Use a function of the values of a row. For a value of each group, use .over()."
        ),
    ),
    "two group keys that are one value each": (
        {"by": pl.col("day", "n").max()},
        (
            "by=cs.by_name('day', 'n', require_all=true).max(): the expression does not return one "
            "value for each row.\n"
            "Use a function of the values of a row. For a value of each group, use .over()."
        ),
    ),
    "a group key that replaces a column of another argument": (
        {"by": pl.col("svm").round(1)},
        (
            "by=col(\"svm\").round(): another argument uses the column 'svm', which has the same "
            "name.\n"
            "Give the group column another name, with .alias()."
        ),
    ),
    "a group key with the name of a result column": (
        {"by": pl.col("day").alias("auc")},
        (
            "by='auc': the result already has a column of this name.\n"
            "Columns of the result: 'auc', 'lower', 'upper', 'se', 'auc_pessimistic', "
            "'auc_optimistic', 'n_pos', 'n_neg', 'n_missing', 'ci_level', 'ci_method', 'note'.\n"
            "Rename the group column first, for example with .rename({'auc': 'auc_group'})."
        ),
    ),
    "a group key over a missing column": (
        {"by": pl.col("dya").str.to_uppercase()},
        (
            "by='dya': the frame has no column of this name.\n"
            "The frame has: 'day', 'label', 'svm', 'tree', 'importance', 'n'.\n"
            "Did you mean by='day'?"
        ),
    ),
    "group keys as a mapping": (
        {"by": {"key": "day"}},
        (
            "by={'key': 'day'}: expected names of group columns, expressions or selectors.\n"
            'Use, for example, by=["model", pl.col("day").dt.month()].'
        ),
    ),
    "a group key that is a number": (
        {"by": 3},
        (
            "by=3: expected names of group columns, expressions or selectors.\n"
            'Use, for example, by=["model", pl.col("day").dt.month()].'
        ),
    ),
    "an expression over a missing column": (
        {"score": pl.col("smv") * 2},
        (
            "score='smv': the frame has no column of this name.\n"
            "The frame has: 'day', 'label', 'svm', 'tree', 'importance', 'n'.\n"
            "Did you mean score='svm'?"
        ),
    ),
    "an expression over several, one missing": (
        {"score": pl.col("svm", "tre")},
        (
            "score='tre': the frame has no column of this name.\n"
            "The frame has: 'day', 'label', 'svm', 'tree', 'importance', 'n'.\n"
            "Did you mean score='tree'?"
        ),
    ),
    "a count that is the word for a column that is not there": (
        {"count": "count"},
        (
            "count='count': the frame has no column of this name.\n"
            "The frame has: 'day', 'label', 'svm', 'tree', 'importance', 'n'."
        ),
    ),
}


@pytest.mark.parametrize(("roles", "text"), WRONG_ROLES.values(), ids=WRONG_ROLES)
def test_a_role_that_is_no_column_raises(frame, roles, text):
    with pytest.raises(rf.RocframeError) as caught:
        rf.auc(
            like(frame, PREDICTIONS), **{"label": "label", "score": "svm", **roles}
        ).lazy().collect()
    assert text_of(caught) == text


def test_a_frame_without_columns_says_so(frame):
    with pytest.raises(rf.MissingColumnError) as caught:
        rf.auc(frame(), "label", "score").lazy().collect()
    assert (
        text_of(caught)
        == "label='label': the frame has no column of this name.\nThe frame has no columns."
    )


def test_thirty_of_very_many_columns_are_listed(frame):
    with pytest.raises(rf.MissingColumnError) as caught:
        rf.auc(frame({f"x{i}": [1] for i in range(500)}), "label", "x1").lazy().collect()
    assert text_of(caught).endswith(", 'x28', 'x29' and 470 more.")


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
    "named Categorical": (
        pl.Categorical(pl.Categories("predictions", "tests")),
        [YES, NO],
        [YES],
    ),
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


NEVER_EQUAL = "is never equal to a label of column 'label', which has type"
OWN_TYPE = "Pass a value of the same type as the labels."
POSITIVES = {
    "text for Boolean": (
        [True, False],
        "True",
        f"positive='True': this value {NEVER_EQUAL} Boolean.\n{OWN_TYPE}",
    ),
    "2 for Boolean": (
        [True, False],
        2,
        f"positive=2: this value {NEVER_EQUAL} Boolean.\n{OWN_TYPE}",
    ),
    "text for numbers": (
        [1, 0],
        "1",
        f"positive='1': this value {NEVER_EQUAL} Int64.\n{OWN_TYPE}",
    ),
    "NaN for numbers": (
        [1.0, 0.0],
        nan,
        "positive=nan: NaN is a missing value.\nPass a label of column 'label' instead.",
    ),
    "a number for text": (
        ["1", "0"],
        1,
        f"positive=1: this value {NEVER_EQUAL} String.\n{OWN_TYPE}",
    ),
    "several values": (
        ["1", "0"],
        ["1", "2"],
        (
            f"positive=['1', '2']: this value {NEVER_EQUAL} String.\n"
            "Pass one value. For several values, use label=pl.col('label').is_in([…])."
        ),
    ),
    "an expression": (
        [1, 0],
        pl.lit(1),
        f"positive=dyn int: 1: this value {NEVER_EQUAL} Int64.\n{OWN_TYPE}",
    ),
    "a number that never occurs": (
        [3, 1],
        2,
        (
            "positive=2: no label of column 'label' has this value.\n"
            "Found: 1, 3.\nUse one of these values as positive. "
            "If the data has no positives, cast the labels to an Enum of both classes."
        ),
    ),
    "a fraction among whole numbers": (
        [1, 0],
        0.5,
        (
            "positive=0.5: no label of column 'label' has this value.\n"
            "Found: 0, 1.\nUse one of these values as positive. "
            "If the data has no positives, cast the labels to an Enum of both classes."
        ),
    ),
    "text for dates": (
        [DAY.date(), date(1, 1, 1)],
        "2024-02-29",
        f"positive='2024-02-29': this value {NEVER_EQUAL} Date.\n{OWN_TYPE}",
    ),
    "a date with a time for dates": (
        [DAY.date(), date(1, 1, 1)],
        datetime.fromisoformat("2024-02-29"),
        (
            "positive=datetime.datetime(2024, 2, 29, 0, 0): this value "
            f"{NEVER_EQUAL} Date.\n{OWN_TYPE}"
        ),
    ),
    "a time zone for times without one": (
        [DAY, DAY + timedelta(hours=1)],
        datetime(2024, 2, 29, 13, tzinfo=UTC),
        (
            "positive=datetime.datetime(2024, 2, 29, 13, 0, tzinfo=datetime.timezone.utc): "
            f"this value {NEVER_EQUAL} Datetime(time_unit='us', time_zone=None).\n"
            "Pass a datetime without a time zone, rounded to the time unit of the labels."
        ),
    ),
    "a fraction of the time unit": (
        pl.Series([DAY, DAY + timedelta(hours=1)], dtype=pl.Datetime("ms", "UTC")),
        DAY.replace(microsecond=1, tzinfo=UTC),
        (
            "positive=datetime.datetime(2024, 2, 29, 13, 0, 0, 1, tzinfo=datetime.timezone.utc): "
            f"this value {NEVER_EQUAL} Datetime(time_unit='ms', time_zone='UTC').\n"
            "Pass a datetime with a time zone, rounded to the time unit of the labels."
        ),
    ),
    "a date that never occurs": (
        [DAY.date(), date(1, 1, 1)],
        date(2, 2, 2),
        (
            "positive=datetime.date(2, 2, 2): no label of column 'label' has this value.\n"
            "Found: datetime.date(1, 1, 1), datetime.date(2024, 2, 29).\n"
            "Use one of these values as positive. "
            "If the data has no positives, cast the labels to an Enum of both classes."
        ),
    ),
    "a number that the type does not hold": (
        [1, 0],
        2**70,
        (
            "positive=1180591620717411303424: no label of column 'label' has this value.\n"
            "Found: 0, 1.\nUse one of these values as positive. "
            "If the data has no positives, cast the labels to an Enum of both classes."
        ),
    ),
    "a number that no type holds": (
        [1, 0],
        10**50,
        (
            f"positive=1{'0' * 50}: no label of column 'label' has this value.\n"
            "Found: 0, 1.\nUse one of these values as positive. "
            "If the data has no positives, cast the labels to an Enum of both classes."
        ),
    ),
    "a negative number among unsigned ones": (
        pl.Series([1, 0], dtype=pl.UInt8),
        -1,
        (
            "positive=-1: no label of column 'label' has this value.\n"
            "Found: 0, 1.\nUse one of these values as positive. "
            "If the data has no positives, cast the labels to an Enum of both classes."
        ),
    ),
}


@pytest.mark.parametrize(("labels", "positive", "text"), POSITIVES.values(), ids=POSITIVES)
def test_a_positive_value_that_no_label_can_be_raises(frame, labels, positive, text):
    rows = frame({"label": labels, "score": [0.5, 0.4]})
    with pytest.raises(rf.LabelError) as caught:
        rf.auc(rows, "label", "score", positive=positive).lazy().collect()
    assert text_of(caught) == text


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


def test_text_labels_without_any_row_still_need_a_positive_value(frame):
    rows = frame({"label": [], "score": []}, schema={"label": pl.String, "score": pl.Float64})
    with pytest.raises(rf.LabelError) as caught:
        rf.auc(rows, "label", "score").lazy().collect()
    assert text_of(caught) == (
        "label='label': the positive class is unknown. The labels have type String, and only "
        "Boolean and 0/1 labels have a default positive class.\nThe column contains no labels.\n"
        "Use, for example, positive='yes'."
    )
    area = rf.auc(rows, "label", "score", positive="yes").lazy().collect()
    assert area.select("n_pos", "n_neg", "note").row(0) == (0, 0, "no_rows")


def test_names_and_types_are_checked_when_the_schema_resolves():
    lazy = PREDICTIONS.lazy().map_batches(lambda _: pytest.fail("a row was read"))
    # The tests of bad inputs compare the whole messages.
    for wrong, start in (
        ({"score": "smv"}, "score='smv': the frame has no column of this name."),
        ({"label": "day", "score": "day"}, "score='day': this is the same column as label='day'."),
        ({"weight": "day"}, "weight='day': the column has type String."),
        ({"by": ["n", "n"]}, "by='n': the name is given more than once."),
        ({"by": "n", "count": "importance"}, "count='importance': the column has type Float64."),
        ({"positive": "yes"}, f"positive='yes': this value {NEVER_EQUAL} Boolean."),
    ):
        table = rf.auc(lazy, **{"label": "label", "score": "svm", **wrong})
        with pytest.raises(rf.RocframeError) as caught:
            table.collect_schema()
        assert str(caught.value).startswith(f"{start}\n")


def test_a_column_named_count_must_be_declared(frame):
    rows = like(frame, PREDICTIONS.rename({"n": "count"}))
    with pytest.raises(rf.AmbiguousCountError) as caught:
        rf.auc(rows, "label", "svm").lazy().collect()
    assert text_of(caught) == (
        "count: the frame has a column named 'count', which may hold the number of rows that "
        "each row represents.\n"
        'If the column holds these numbers, pass count="count". If not, pass count=None.'
    )
    without = rf.auc(rows, "label", "svm", count=None)
    assert_frame_equal(without, rf.auc(like(frame, PREDICTIONS), "label", "svm"))
    repeated = rf.auc(rows, "label", "svm", count="count")
    assert_frame_equal(repeated, rf.auc(like(frame, PREDICTIONS), "label", "svm", count="n"))
    assert repeated.lazy().collect()["n_pos"].to_list() == [5]


def test_private_names_differ_from_the_names_of_groups():
    roles = Roles(label="label", score=["svm", "tree"], by=["(label)", "((label))"])
    plan = PREDICTIONS.lazy().with_columns(pl.lit(1).alias("(label)"), pl.lit(2).alias("((label))"))
    bound = bind_roles(plan, plan.collect_schema(), roles, ("auc",))
    assert bound.private == {
        "label": "(((label)))",
        "score 0": "(score 0)",
        "score 1": "(score 1)",
    }
    assert plan.select(bound.inputs).collect_schema().names() == [
        *bound.by,
        *bound.private.values(),
    ]
    assert bound.models == ("svm", "tree")
    assert bound.result_keys == {"(label)": pl.Int32, "((label))": pl.Int32, "model": pl.String}
