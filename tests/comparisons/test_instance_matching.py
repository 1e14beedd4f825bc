"""Matching of rows by instance: wide and long tables, missing and repeated rows."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.comparisons.auc_oracle import logs
from tests.comparisons.tables import VERBS, melted, pairs_of, shuffled, wide

PLAN = "\n\nResolved plan until failure"
every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


def text_of(caught) -> str:
    return str(caught.value).split(PLAN)[0]


ROWS = melted(wide(15, rows=6, groups=2).drop("c"), "ab")
A, I1 = pl.col("model") == "a", pl.col("id") == "i1"


# Long is wide


OPTIONS = {
    "plain": {},
    "groups": {"by": "g"},
    "a part": {"fpr": (0, 0.4), "by": "g"},
    "clusters": {"cluster": "user", "by": "g"},
}
DRAWS = {"n_boot": 40, "seed": 7}
EXCHANGES = {"n_perm": 40, "seed": 7}
OTHERS = {
    "bootstrap": (rf.compare, {"method": "bootstrap", **DRAWS}),
    "bootstrap of a rate": (rf.compare, {"method": "bootstrap", "tpr": 0.8, **DRAWS}),
    "permutation": (rf.compare, {"method": "permutation", **EXCHANGES}),
    "venkatraman": (rf.compare, {"method": "venkatraman", **EXCHANGES}),
    "brier": (rf.compare, {"metric": "brier"}),
    "bootstrap of a loss": (rf.compare, {"metric": "brier", "method": "bootstrap", **DRAWS}),
    "average precision": (rf.compare, {"metric": "average_precision", **DRAWS}),
    "gate": (rf.gate, {"baseline": "a", "margin": 0.1, "seed": 7}),
    "hull shares": (rf.hull_shares, DRAWS),
    "decision intervals": (rf.decision_intervals, {"grid": [0.2, 0.5], "ci": "bootstrap", **DRAWS}),
    "cost intervals": (rf.decision_intervals, {"kind": "cost", "grid": [0.2, 0.5], **DRAWS}),
}
CALLS = {f"{name}, {key}": (VERBS[name], more) for name in VERBS for key, more in OPTIONS.items()}
CALLS |= {name: (verb, {"by": "g", **more}) for name, (verb, more) in OTHERS.items()}
CALLS |= {
    f"{name} of clusters": (verb, {"by": "g", "cluster": "user", **more})
    for name, (verb, more) in OTHERS.items()
}


@pytest.mark.parametrize(("verb", "options"), CALLS.values(), ids=CALLS)
def test_a_long_table_and_any_order_of_rows_and_models_give_the_same_table(verb, options):
    table = wide()
    expected = verb(table, "label", ["a", "b", "c"], **options)
    found = verb(shuffled(table).lazy(), "label", ["c", "a", "b"], **options).collect()
    assert_frame_equal(found, expected, check_exact=True)
    for rows in (melted(table), shuffled(melted(shuffled(table, 1)), 2).lazy()):
        found = verb(rows, "label", "score", id="id", **options).lazy().collect()
        assert_frame_equal(found, expected, check_exact=True)


@every_verb
def test_weights_belong_to_the_instance_in_wide_and_long_tables(verb):
    table = wide(1)
    expected = verb(table, "label", ["a", "b"], weight="w", by="g")
    found = verb(shuffled(melted(table, "ab")), "label", "score", id="id", weight="w", by="g")
    assert_frame_equal(found, expected, rel_tol=1e-11, abs_tol=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["drop", pytest.param("worst", marks=pytest.mark.slow)])
@given(table=logs(models="abc", missing=True))
def test_missing_scores_are_handled_alike_in_wide_and_long_tables(missing, table):
    table = table.with_row_index("id")
    rows = shuffled(melted(table), 3)
    for verb in (rf.compare, rf.contrast, rf.auc_covariance):
        assert_frame_equal(
            verb(rows, "label", "score", id="id", missing=missing),
            verb(table, "label", ["a", "b", "c"], missing=missing),
            check_exact=True,
        )


def test_a_row_without_a_score_of_one_model_is_dropped_from_its_pairs_and_counted():
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


def test_a_row_without_any_score_is_dropped_and_not_counted_as_unmatched():
    table = wide(3, groups=1).with_columns(
        pl.when(pl.int_range(pl.len()) > 1).then(pl.col("a", "b"))
    )
    found = rf.compare(table, "label", ["a", "b"], missing="drop")
    assert found["note"].to_list() == [None]
    assert found["n_paired"].to_list() == [22]


def test_a_row_with_a_label_for_one_model_only_is_dropped():
    rows = melted(wide(4, groups=1), "ab").with_columns(
        label=pl.when((pl.col("model") == "a") | (pl.col("id") != "i7")).then("label")
    )
    found = rf.compare(rows, "label", "score", id="id", missing="drop").row(0, named=True)
    assert (found["n_paired"], found["note"]) == (23, "unmatched:1")


# Rows that do not match


def without(rows: pl.DataFrame, model: str, *ids: str) -> pl.DataFrame:
    return rows.filter(~((pl.col("model") == model) & pl.col("id").is_in(ids)))


def test_a_row_that_a_model_lacks_does_not_change_other_pairs_and_groups():
    table = wide(12, groups=3)
    whole = rf.compare(table, "label", ["a", "b", "c"], by="g", adjust=None)
    rows = without(shuffled(melted(table)), "c", "i30", "i31")
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
def test_tests_of_all_models_use_the_rows_that_all_of_them_have(verb):
    table = wide(13, groups=2)
    rows = without(without(shuffled(melted(table)), "c", "i30", "i31"), "a", "i40")
    found = verb(rows, "label", "score", id="id", by="g", unmatched="drop")
    expected = verb(
        table.filter(~pl.col("id").is_in(["i30", "i31", "i40"])), "label", ["a", "b", "c"], by="g"
    )
    assert_frame_equal(found.drop("note"), expected.drop("note"))
    # Of three rows, the two models that have each.
    assert found.filter(g=1)["note"].unique().to_list() == ["unmatched:6"]
    assert found.filter(g=0)["note"].unique().to_list() == [None]


def test_models_without_common_rows_are_null():
    table = wide(14, groups=1)
    rows = melted(table, "ab").filter(
        (pl.col("model") == "a") == (pl.col("id").str.slice(1).cast(int) < 12)
    )
    found = rf.compare(rows, "label", "score", id="id", unmatched="drop").row(0, named=True)
    assert (found["n_paired"], found["auc_a"], found["note"]) == (0, None, "no_rows")


@pytest.mark.slow
@given(
    table=logs(models="abc"), holes=st.sets(st.tuples(st.integers(0, 11), st.sampled_from("abc")))
)
def test_each_pair_uses_the_rows_that_both_models_have(table, holes):
    table = table.with_row_index("id")
    gone = pl.DataFrame(list(holes), {"id": pl.UInt32, "model": pl.String}, orient="row")
    rows = shuffled(melted(table).join(gone, on=["id", "model"], how="anti"))
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
        note, unmatched = alone["note"], f"unmatched:{left}" if left else None
        if note is None or note.startswith("few_rows"):
            note = "; ".join(filter(None, [note, unmatched])) or None
        assert line["note"] == note


def test_a_label_or_weight_may_be_missing_for_one_model():
    rows = ROWS.with_columns(w=pl.when(~(I1 & A)).then("w"))
    found = rf.compare(rows, "label", "score", id="id", weight="w", missing="drop")
    assert found["note"].to_list() == ["unmatched:1"]


def test_rows_of_weight_0_are_ignored_and_never_unmatched():
    rows = ROWS.with_columns(w=pl.when(I1).then(0).otherwise("w"))
    found = rf.compare(rows, "label", "score", id="id", weight="w")
    expected = rf.compare(ROWS.filter(~I1), "label", "score", id="id", weight="w")
    assert_frame_equal(found, expected, rel_tol=1e-12)


def test_a_model_without_any_row_in_a_group_is_no_error():
    rows = ROWS.filter(A | (pl.col("g") == 0))
    found = rf.compare(rows, "label", "score", id="id", by="g")
    assert found["g"].to_list() == [0]
    test = rf.contrast(rows, "label", "score", id="id", by="g")
    assert test.select("g", "n_models", "df", "note").rows()[1] == (1, 1, None, None)
    matrix = rf.auc_covariance(rows, "label", "score", id="id", by="g")
    assert matrix.filter(g=1).select("model_a", "model_b").rows() == [("a", "a")]


# Rows that cannot be paired

UNPAIRED_METHOD = 'method="delong_t_unpaired"'
UNPAIRED = {
    "no id": (ROWS, {"id": None}),
    "null ids": (ROWS.with_columns(id=pl.when(~I1).then("id")), {}),
    "a null in one of several ids": (
        ROWS.with_columns(day=pl.when(~(I1 & A)).then(1)),
        {"id": ["id", "day"]},
    ),
    "an id twice": (pl.concat([ROWS, ROWS.filter(A & I1)]), {}),
    "an id in two groups": (ROWS.with_columns(id=pl.col("id").replace("i7", "i1")), {"by": None}),
    "several ids twice": (
        pl.concat([ROWS, ROWS.filter(~A & I1)]).with_columns(day=3),
        {"id": ["day", "id"]},
    ),
    "a row too few": (ROWS.filter(~(A & I1)), {}),
    "rows too few": (ROWS.filter(A | (pl.col("g") == 0) | (pl.col("id") == "i9")), {}),
    "two labels": (ROWS.with_columns(label=pl.col("label") ^ (I1 & A)), {}),
    "two weights": (ROWS.with_columns(w=pl.col("w") + (A & (pl.col("g") == 1))), {"weight": "w"}),
    "a weight and none": (
        ROWS.with_columns(w=pl.when(I1 & A).then(0).otherwise("w")),
        {"weight": "w"},
    ),
    "two clusters": (
        ROWS.with_columns(user=pl.when(I1 & A).then(99).otherwise("user")),
        {"cluster": "user"},
    ),
}


@every_verb
@pytest.mark.parametrize(("rows", "options"), UNPAIRED.values(), ids=UNPAIRED)
def test_rows_that_cannot_be_paired_raise_the_same_error_in_all_functions(
    frame, verb, rows, options
):
    options = {"id": "id", "by": "g", **options}
    with pytest.raises(rf.PairingError) as expected:
        rf.compare(rows, "label", "score", **options)
    text = text_of(expected)
    if verb is not rf.compare:
        text = text.replace(UNPAIRED_METHOD, f"rf.compare(…, {UNPAIRED_METHOD})")
    for seed in range(2):
        mixed = frame(shuffled(rows, seed).to_dict())
        with pytest.raises(rf.PairingError) as caught:
            verb(mixed, "label", "score", **options).lazy().collect()
        assert text_of(caught) == text
