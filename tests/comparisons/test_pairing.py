"""Which rows of several models belong together: by column or by id, whatever their order."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.comparisons.exact import logs
from tests.strategies import few

PLAN = "\n\nResolved plan until failure"
VERBS = {
    "compare": rf.compare,
    "contrast": rf.contrast,
    "auc_covariance": rf.auc_covariance,
}
every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


def wide(seed: int = 0, rows: int = 24, groups: int = 2) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    size = rows * groups
    return pl.DataFrame(
        {
            "id": [f"i{i}" for i in range(size)],
            "g": np.repeat(np.arange(groups), rows),
            "label": np.arange(size) % 3 == 0,
            **{m: rng.integers(0, 9, size) / 4 for m in "abc"},
            "w": rng.integers(1, 5, size) / 2,
            "user": rng.integers(0, 9, size),
        }
    )


def long(table: pl.DataFrame, models: str = "abc") -> pl.DataFrame:
    """Models one below the other, rows in the same order."""
    rest = [name for name in table.columns if name not in models]
    return table.unpivot(list(models), index=rest, variable_name="model", value_name="score")


def shuffled(table: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    return table.sample(fraction=1, shuffle=True, seed=seed)


def text_of(caught) -> str:
    return str(caught.value).split(PLAN)[0]


def pairs_of(table: pl.DataFrame) -> dict[tuple[str, str], dict[str, object]]:
    """The rows of one group, by the two models."""
    return {(line["model_a"], line["model_b"]): line for line in table.iter_rows(named=True)}


# Long is wide


OPTIONS = {
    "plain": {},
    "groups": {"by": "g"},
    "a part": {"fpr": (0, 0.4), "by": "g"},
    "clusters": {"cluster": "user", "by": "g"},
}


@every_verb
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_models_below_each_other_are_models_side_by_side(frame, verb, options):
    table = wide()
    expected = verb(table, "label", ["a", "b", "c"], **options)
    for rows in (long(table), shuffled(long(table)), shuffled(long(shuffled(table, 1)), 2)):
        found = verb(frame(rows), "label", "score", id="id", **options).lazy().collect()
        assert_frame_equal(found, expected, check_exact=True)


@every_verb
def test_weights_go_with_the_instance_in_either_shape(verb):
    table = wide(1)
    expected = verb(table, "label", ["a", "b"], weight="w", by="g")
    found = verb(shuffled(long(table, "ab")), "label", "score", id="id", weight="w", by="g")
    assert_frame_equal(found, expected, rel_tol=1e-11, abs_tol=1e-13)


@pytest.mark.parametrize("missing", ["drop", "worst"])
@few
@given(table=logs(models="abc", missing=True))
def test_unscored_rows_meet_the_same_fate_in_either_shape(missing, table):
    table = table.with_row_index("id")
    rows = shuffled(long(table), 3)
    for verb in (rf.compare, rf.contrast, rf.auc_covariance):
        assert_frame_equal(
            verb(rows, "label", "score", id="id", missing=missing),
            verb(table, "label", ["a", "b", "c"], missing=missing),
            check_exact=True,
        )


def test_a_row_that_one_model_did_not_score_is_left_out_of_its_pairs_and_counted():
    table = wide(2, groups=1).with_columns(
        c=pl.when(pl.int_range(pl.len()) >= 3).then("c"),
        b=pl.when(pl.int_range(pl.len()) != 20).then("b"),
    )
    found = pairs_of(rf.compare(table, "label", ["a", "b", "c"], missing="drop"))
    notes = {pair: line["note"] for pair, line in found.items()}
    assert notes == {
        ("a", "b"): "unmatched:1",
        ("a", "c"): "unmatched:3",
        ("b", "c"): "unmatched:4",
    }
    for a, b in notes:
        both = table.drop_nulls([a, b])
        alone = rf.compare(both, "label", [a, b]).row(0, named=True)
        hidden = {"note", "p_adjusted"}
        assert {k: v for k, v in found[a, b].items() if k not in hidden} == {
            k: v for k, v in alone.items() if k not in hidden
        }


def test_a_row_that_no_model_scored_is_left_out_and_is_not_unmatched():
    table = wide(3, groups=1).with_columns(
        pl.when(pl.int_range(pl.len()) > 1).then(pl.col("a", "b"))
    )
    found = rf.compare(table, "label", ["a", "b"], missing="drop")
    assert found["note"].to_list() == [None]
    assert found["n_paired"].to_list() == [22]


def test_a_row_whose_label_only_one_model_knows_is_left_out_of_both():
    rows = long(wide(4, groups=1), "ab").with_columns(
        label=pl.when((pl.col("model") == "a") | (pl.col("id") != "i7")).then("label")
    )
    found = rf.compare(rows, "label", "score", id="id", missing="drop").row(0, named=True)
    assert (found["n_paired"], found["note"]) == (23, "unmatched:1")


# Which columns


@pytest.mark.parametrize(
    "ids",
    [
        range(24),
        [f"{i}" for i in range(24)],
        [float(i) for i in range(24)],
        [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(24)],
        [bytes([i]) for i in range(24)],
        [{"a": i % 5, "b": i // 5} for i in range(24)],
        [[i] for i in range(24)],
        pl.Series([f"{i}" for i in range(24)], dtype=pl.Categorical),
        pl.Series([f"{i}" for i in range(24)], dtype=pl.Enum([f"{i}" for i in range(30)])),
    ],
    ids=lambda ids: type(ids[0]).__name__ + getattr(ids, "name", ""),
)
def test_an_id_may_be_of_any_type(ids):
    table = wide(5, groups=1).with_columns(pl.Series("id", ids))
    found = rf.compare(shuffled(long(table)), "label", "score", id="id")
    expected = rf.compare(table, "label", ["a", "b", "c"])
    assert_frame_equal(found, expected, check_exact=True)


def test_several_columns_or_an_expression_may_name_the_instance(frame):
    table = wide(6, groups=1).with_columns(
        day=pl.int_range(pl.len()) // 6, hour=pl.int_range(pl.len()) % 6
    )
    rows = frame(shuffled(long(table)).to_dict())
    expected = rf.compare(table, "label", ["a", "b", "c"])
    one = pl.col("day") * 6 + pl.col("hour")
    for id_ in (["day", "hour"], ("hour", pl.col("day")), one, [one], "id", ["id"]):
        found = rf.compare(rows, "label", "score", id=id_).lazy().collect()
        assert_frame_equal(found, expected, check_exact=True)


def test_an_id_is_there_once_in_each_group():
    table = wide(7).with_columns(id=pl.int_range(pl.len()) % 24)
    found = rf.compare(shuffled(long(table)), "label", "score", id="id", by="g")
    assert_frame_equal(found, rf.compare(table, "label", ["a", "b", "c"], by="g"), check_exact=True)


def test_null_keys_are_a_group_of_their_own():
    table = wide(8).with_columns(
        g=pl.when(pl.col("g") == 1).then(pl.lit("x")), h=pl.lit(None, pl.Int8)
    )
    rows = shuffled(long(table))
    for by in ("g", ["h", "g"]):
        found = rf.compare(rows, "label", "score", id="id", by=by)
        assert_frame_equal(found, rf.compare(table, "label", ["a", "b", "c"], by=by))
        assert found["g"].to_list() == [None] * 3 + ["x"] * 3


MODELS = {
    "String": pl.Series(["z", "é", "a"]),
    "Int8": pl.Series([-1, 10, 2], dtype=pl.Int8),
    "Float64": pl.Series([1.5, -2.0, 0.0]),
    "Boolean": pl.Series([True, None, False]),
    "Date": pl.Series([dt.date(2024, 2, 1), dt.date(2023, 1, 1), None]),
    "Enum": pl.Series(["new", "old", "base"], dtype=pl.Enum(["old", "new", "base"])),
    "Categorical": pl.Series(["new", "old", "base"], dtype=pl.Categorical),
    "null": pl.Series([None, "x", ""]),
    "Struct": pl.Series([{"v": 2}, {"v": 1}, {"v": 3}]),
}


@pytest.mark.parametrize("names", MODELS.values(), ids=MODELS)
def test_models_may_be_of_any_type_and_sort_as_polars_sorts_them(frame, names):
    table = wide(9)
    known = pl.DataFrame({"model": ["a", "b", "c"], "which": names})
    rows = shuffled(long(table)).join(known, on="model").drop("model")
    found = rf.compare(frame(rows.to_dict()), "label", "score", between="which", id="id", by="g")
    assert found.lazy().collect_schema()["model_a"] == names.dtype
    found = found.lazy().collect()
    ordered = names.sort()
    firsts = pl.concat([ordered[0:1], ordered[0:1], ordered[1:2]] * 2)
    seconds = pl.concat([ordered[1:2], ordered[2:3], ordered[2:3]] * 2)
    assert found["model_a"].to_list() == firsts.to_list()
    assert found["model_b"].to_list() == seconds.to_list()
    # The same comparisons, by the name that each model had.
    original = {repr(which): model for model, which in known.rows()}
    expected = pairs_of(rf.compare(table.filter(g=0), "label", ["a", "b", "c"]))
    for line in found.filter(g=0).iter_rows(named=True):
        a, b = original[repr(line["model_a"])], original[repr(line["model_b"])]
        one = expected[min(a, b), max(a, b)]
        assert line["se"] == one["se"]
        assert line["difference"] == (one["difference"] if a < b else -one["difference"])


def test_groups_may_be_called_model_if_models_are_not():
    table = wide(10).rename({"g": "model"})
    rows = shuffled(long(table.rename({"model": "g"})).rename({"model": "who", "g": "model"}))
    found = rf.compare(rows, "label", "score", between="who", id="id", by="model")
    expected = rf.compare(table.rename({"model": "g"}), "label", ["a", "b", "c"], by="g")
    assert_frame_equal(found.rename({"model": "g"}), expected, check_exact=True)


def test_other_columns_and_rows_that_id_groups_make_do_not_matter():
    table = wide(11, groups=1)
    rows = shuffled(long(table))
    extra = rows.with_columns(pl.lit("x").alias("(between)"), pl.lit(1).alias("(id 0)"))
    found = rf.compare(extra, "label", "score", id="id", by="(id 0)")
    assert_frame_equal(
        found.drop("(id 0)"), rf.compare(table, "label", ["a", "b", "c"]), check_exact=True
    )


# Rows that do not match


def without(rows: pl.DataFrame, model: str, *ids: str) -> pl.DataFrame:
    return rows.filter(~((pl.col("model") == model) & pl.col("id").is_in(ids)))


def test_a_model_without_a_row_leaves_the_other_pairs_and_groups_as_they_are():
    table = wide(12, groups=3)
    whole = rf.compare(table, "label", ["a", "b", "c"], by="g", adjust=None)
    rows = without(shuffled(long(table)), "c", "i30", "i31")
    found = rf.compare(rows, "label", "score", id="id", by="g", unmatched="drop", adjust=None)
    spoiled = (pl.col("g") == 1) & (pl.col("model_b") == "c")
    assert_frame_equal(found.filter(~spoiled), whole.filter(~spoiled), check_exact=True)
    assert found.filter(spoiled)["note"].to_list() == ["unmatched:2"] * 2
    assert found.filter(spoiled)["n_paired"].to_list() == [22] * 2
    both = table.filter(~pl.col("id").is_in(["i30", "i31"]), pl.col("g") == 1)
    expected = rf.compare(both, "label", ["a", "b", "c"], by="g", adjust=None)
    assert_frame_equal(
        found.filter(spoiled).drop("note"),
        expected.filter(model_b="c").drop("note"),
        check_exact=True,
    )


@pytest.mark.parametrize("verb", [rf.contrast, rf.auc_covariance])
def test_all_models_at_once_keep_the_rows_that_all_of_them_have(verb):
    table = wide(13, groups=2)
    rows = without(without(shuffled(long(table)), "c", "i30", "i31"), "a", "i40")
    found = verb(rows, "label", "score", id="id", by="g", unmatched="drop")
    expected = verb(
        table.filter(~pl.col("id").is_in(["i30", "i31", "i40"])), "label", ["a", "b", "c"], by="g"
    )
    assert_frame_equal(found.drop("note"), expected.drop("note"))
    # Of three rows, the two models that have each.
    assert found.filter(g=1)["note"].unique().to_list() == ["unmatched:6"]
    assert found.filter(g=0)["note"].unique().to_list() == [None]


def test_models_without_a_row_in_common_have_nothing_to_compare():
    table = wide(14, groups=1)
    rows = long(table, "ab").filter(
        (pl.col("model") == "a") == (pl.col("id").str.slice(1).cast(int) < 12)
    )
    found = rf.compare(rows, "label", "score", id="id", unmatched="drop").row(0, named=True)
    assert (found["n_paired"], found["auc_a"], found["note"]) == (0, None, "no_rows")


@few
@given(
    table=logs(models="abc"), holes=st.sets(st.tuples(st.integers(0, 11), st.sampled_from("abc")))
)
def test_any_holes_are_rows_that_both_of_two_models_have(table, holes):
    table = table.with_row_index("id")
    gone = pl.DataFrame(list(holes), {"id": pl.UInt32, "model": pl.String}, orient="row")
    rows = shuffled(long(table).join(gone, on=["id", "model"], how="anti"))
    found = pairs_of(rf.compare(rows, "label", "score", id="id", unmatched="drop"))
    ids = {m: set(rows.filter(model=m)["id"]) for m in "abc"}
    there = [m for m in "abc" if ids[m]]
    assert list(found) == [(a, b) for a in there for b in there if a < b]
    for (a, b), line in found.items():
        both = table.filter(pl.col("id").is_in(list(ids[a] & ids[b])))
        alone = rf.compare(both, "label", [a, b]).row(0, named=True)
        for name in ("n_paired", "auc_a", "difference", "se", "lower", "statistic", "p_value"):
            assert line[name] == alone[name]
        left = len(ids[a] ^ ids[b])
        assert line["note"] == (alone["note"] or (f"unmatched:{left}" if left else None))


# Rows that cannot be paired

ONCE = "An id is there once for each model and group: add what tells them apart, to id= or to by=."
MATCHED = (
    'Say unmatched="drop" to leave such rows out and count them, or find out why they are missing.'
)
ROWS = long(wide(15, rows=6, groups=2).drop("c"), "ab")
A, I1 = pl.col("model") == "a", pl.col("id") == "i1"


def differs(what: str, rows: str) -> str:
    return (
        f"id='id': the {what} that model 'b' has differs from that of model 'a' in {rows} of the "
        f"same id.\nOne id is one instance, with one {what}: pair by what tells instances apart."
    )


UNPAIRED = {
    "no id": (
        ROWS,
        {"id": None},
        (
            "id=None: which rows of the models belong together is not said, and this method pairs "
            'them.\nName the column that says it, say id="id"; give the models side by side as '
            'score=["a", "b"]; or, if they scored different rows, compare them by '
            'method="delong_unpaired".'
        ),
    ),
    "null ids": (
        ROWS.with_columns(id=pl.when(~I1).then("id")),
        {},
        (
            "id='id': it is null in 2 rows, which pair with none.\n"
            "Leave such rows out with .filter() first."
        ),
    ),
    "a null in one of several ids": (
        ROWS.with_columns(day=pl.when(~(I1 & A)).then(1)),
        {"id": ["id", "day"]},
        (
            "id='day': it is null in 1 row, which pair with none.\n"
            "Leave such rows out with .filter() first."
        ),
    ),
    "an id twice": (
        pl.concat([ROWS, ROWS.filter(A & I1)]),
        {},
        f"id='id': model 'a' has 2 rows that share a group and an id, such as 'i1'.\n{ONCE}",
    ),
    "an id in two groups": (
        ROWS.with_columns(id=pl.col("id").replace("i7", "i1")),
        {"by": None},
        f"id='id': model 'a' has 2 rows that share a group and an id, such as 'i1'.\n{ONCE}",
    ),
    "several ids twice": (
        pl.concat([ROWS, ROWS.filter(~A & I1)]).with_columns(day=3),
        {"id": ["day", "id"]},
        (
            "id=['day', 'id']: model 'b' has 2 rows that share a group and an id, such as 3, "
            f"'i1'.\n{ONCE}"
        ),
    ),
    "a row too few": (
        ROWS.filter(~(A & I1)),
        {},
        "id='id': model 'a' lacks 1 row that other models have in the same groups.\n" + MATCHED,
    ),
    "rows too few": (
        ROWS.filter(A | (pl.col("g") == 0) | (pl.col("id") == "i9")),
        {},
        "id='id': model 'b' lacks 5 rows that other models have in the same groups.\n" + MATCHED,
    ),
    "two labels": (
        ROWS.with_columns(label=pl.col("label") ^ (I1 & A)),
        {},
        differs("label", "1 row"),
    ),
    "two weights": (
        ROWS.with_columns(w=pl.col("w") + (A & (pl.col("g") == 1))),
        {"weight": "w"},
        differs("weight", "6 rows"),
    ),
    "a weight and none": (
        ROWS.with_columns(w=pl.when(I1 & A).then(0).otherwise("w")),
        {"weight": "w"},
        differs("weight", "1 row"),
    ),
    "two clusters": (
        ROWS.with_columns(user=pl.when(I1 & A).then(99).otherwise("user")),
        {"cluster": "user"},
        differs("cluster", "1 row"),
    ),
}


@every_verb
@pytest.mark.parametrize(("rows", "options", "text"), UNPAIRED.values(), ids=UNPAIRED)
def test_rows_that_do_not_pair_up_raise(frame, verb, rows, options, text):
    for seed in range(2):
        mixed = frame(shuffled(rows, seed).to_dict())
        with pytest.raises(rf.PairingError) as caught:
            verb(mixed, "label", "score", **{"id": "id", "by": "g", **options}).lazy().collect()
        assert text_of(caught) == text


def test_a_label_may_be_missing_where_another_model_has_it_as_a_weight_may():
    rows = ROWS.with_columns(w=pl.when(~(I1 & A)).then("w"))
    found = rf.compare(rows, "label", "score", id="id", weight="w", missing="drop")
    assert found["note"].to_list() == ["unmatched:1"]


def test_rows_of_weight_0_are_no_rows_and_unmatched_by_none():
    rows = ROWS.with_columns(w=pl.when(I1).then(0).otherwise("w"))
    found = rf.compare(rows, "label", "score", id="id", weight="w")
    expected = rf.compare(ROWS.filter(~I1), "label", "score", id="id", weight="w")
    assert_frame_equal(found, expected, rel_tol=1e-12)


def test_a_model_that_a_group_lacks_altogether_is_no_row_too_few():
    rows = ROWS.filter(A | (pl.col("g") == 0))
    found = rf.compare(rows, "label", "score", id="id", by="g")
    assert found["g"].to_list() == [0]
    test = rf.contrast(rows, "label", "score", id="id", by="g")
    assert test.select("g", "n_models", "df", "note").rows()[1] == (1, 1, None, "no_rows")
    matrix = rf.auc_covariance(rows, "label", "score", id="id", by="g")
    assert matrix.filter(g=1).select("model_a", "model_b").rows() == [("a", "a")]


WRONG = {
    "between with scores side by side": (
        {"score": ["w", "score"], "between": "user"},
        (
            "between='user': scores are given side by side, which makes the models themselves.\n"
            "Leave between= out."
        ),
    ),
    "id with scores side by side": (
        {"score": ["w", "score"], "id": "id"},
        "id='id': scores are given side by side, so rows are paired already.\nLeave id= out.",
    ),
    "no such column of models": (
        {"between": "modle", "id": "id"},
        (
            "between='modle': the frame has no such column.\n"
            "It has: 'id', 'g', 'label', 'w', 'user', 'model', 'score'.\n"
            "Did you mean between='model'?"
        ),
    ),
    "models that are a group": (
        {"by": ["g", "model"], "id": "id"},
        (
            "between='model': the name stands there more than once.\n"
            "Given: 'g', 'model', 'model'.\nName each once, or use .alias() to tell them apart."
        ),
    ),
    "models by an expression": (
        {"between": pl.col("model"), "id": "id"},
        (
            'between=col("model"): the column of models is given by name.\n'
            'Say between="model"; other columns come from .with_columns().'
        ),
    ),
    "models by no name": (
        {"between": None, "id": "id"},
        (
            "between=None: the column of models is given by name.\n"
            'Say between="model"; other columns come from .with_columns().'
        ),
    ),
    "no such id": (
        {"id": ["id", "dya"]},
        (
            "id='dya': the frame has no such column.\n"
            "It has: 'id', 'g', 'label', 'w', 'user', 'model', 'score'."
        ),
    ),
    "an id that is a number": (
        {"id": 3},
        "id=3: it is neither a column name nor an expression.\nGive one of these.",
    ),
    "an id of several columns in one": (
        {"id": pl.col("id", "g")},
        "id=cs.by_name('id', 'g', require_all=true): it makes 2 columns.\nGive one that makes one.",
    ),
    "rows that stand for many": (
        {"id": "id", "count": "user"},
        (
            "count='user': id= needs to know each row, and these are many in one.\n"
            "Compare scores side by side, or say count=None with a row for each prediction."
        ),
    ),
    "no such fate of unmatched rows": (
        {"id": "id", "unmatched": "ignore"},
        "unmatched='ignore': there is no such choice.\nChoose one of: 'raise', 'drop'.",
    ),
}


@every_verb
@pytest.mark.parametrize(("options", "text"), WRONG.values(), ids=WRONG)
def test_what_cannot_say_which_rows_belong_together_raises(frame, verb, options, text):
    roles = {"score": "score", **options}
    with pytest.raises(rf.RocframeError) as caught:
        verb(frame(ROWS.to_dict()), "label", roles.pop("score"), **roles).lazy().collect()
    assert text_of(caught) == text


@pytest.mark.parametrize("role", ["id", "between"])
def test_objects_of_python_name_neither_instances_nor_models(role):
    rows = ROWS.with_columns(pl.Series("o", [object() for _ in range(len(ROWS))], pl.Object))
    with pytest.raises(rf.ColumnTypeError) as caught:
        rf.compare(rows, "label", "score", **{"id": "id", role: "o"})
    assert str(caught.value) == (
        f"{role}='o': the column has type Object.\nRows are sorted by it: cast it first."
    )
