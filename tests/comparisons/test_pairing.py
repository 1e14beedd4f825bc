"""Columns that pair rows: names, dtypes and errors."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.comparisons.tables import VERBS, melted, pairs_of, shuffled, wide

PLAN = "\n\nResolved plan until failure"
every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)


def text_of(caught) -> str:
    return str(caught.value).split(PLAN)[0]


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
    found = rf.compare(shuffled(melted(table)), "label", "score", id="id")
    expected = rf.compare(table, "label", ["a", "b", "c"])
    assert_frame_equal(found, expected, check_exact=True)


def test_several_columns_or_an_expression_may_name_the_instance(frame):
    table = wide(6, groups=1).with_columns(
        day=pl.int_range(pl.len()) // 6, hour=pl.int_range(pl.len()) % 6
    )
    rows = frame(shuffled(melted(table)).to_dict())
    expected = rf.compare(table, "label", ["a", "b", "c"])
    one = pl.col("day") * 6 + pl.col("hour")
    for id_ in (["day", "hour"], ("hour", pl.col("day")), one, [one], "id", ["id"]):
        found = rf.compare(rows, "label", "score", id=id_).lazy().collect()
        assert_frame_equal(found, expected, check_exact=True)


def test_an_id_may_occur_in_several_groups():
    table = wide(7).with_columns(id=pl.int_range(pl.len()) % 24)
    found = rf.compare(shuffled(melted(table)), "label", "score", id="id", by="g")
    assert_frame_equal(found, rf.compare(table, "label", ["a", "b", "c"], by="g"), check_exact=True)


def test_null_keys_are_a_group_of_their_own():
    table = wide(8).with_columns(
        g=pl.when(pl.col("g") == 1).then(pl.lit("x")), h=pl.lit(None, pl.Int8)
    )
    rows = shuffled(melted(table))
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
    rows = shuffled(melted(table)).join(known, on="model").drop("model")
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


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_a_group_column_may_be_named_model_if_models_are_side_by_side(frame, verb):
    table = wide(10)
    found = verb(frame(table.rename({"g": "model"}).to_dict()), "label", ["a", "b"], by="model")
    expected = verb(table, "label", ["a", "b"], by="g").rename({"g": "model"})
    assert_frame_equal(found, frame(expected.to_dict()))


def test_a_group_column_may_be_named_model_if_between_has_another_name():
    table = wide(10).rename({"g": "model"})
    rows = shuffled(melted(table.rename({"model": "g"})).rename({"model": "who", "g": "model"}))
    found = rf.compare(rows, "label", "score", between="who", id="id", by="model")
    expected = rf.compare(table.rename({"model": "g"}), "label", ["a", "b", "c"], by="g")
    assert_frame_equal(found.rename({"model": "g"}), expected, check_exact=True)


def test_columns_with_the_names_of_internal_columns_do_not_matter():
    table = wide(11, groups=1)
    rows = shuffled(melted(table))
    extra = rows.with_columns(pl.lit("x").alias("(between)"), pl.lit(1).alias("(id 0)"))
    found = rf.compare(extra, "label", "score", id="id", by="(id 0)")
    assert_frame_equal(
        found.drop("(id 0)"), rf.compare(table, "label", ["a", "b", "c"]), check_exact=True
    )


ROWS = melted(wide(15, rows=6, groups=2).drop("c"), "ab")


WRONG = [
    {"score": ["w", "score"], "between": "user"},
    {"score": ["w", "score"], "id": "id"},
    {"between": "modle", "id": "id"},
    {"by": ["g", "model"], "id": "id"},
    {"between": pl.col("model"), "id": "id"},
    {"between": None, "id": "id"},
    {"id": ["id", "dya"]},
    {"id": 3},
    {"id": pl.col("id", "g")},
    {"id": "id", "count": "user"},
    {"id": "id", "unmatched": "ignore"},
]


@every_verb
@pytest.mark.parametrize("options", WRONG, ids=",".join)
def test_options_that_cannot_pair_rows_raise_the_same_error_in_all_functions(frame, verb, options):
    roles = {"label": "label", "score": "score", **options}
    with pytest.raises(rf.RocframeError) as expected:
        rf.compare(ROWS, **roles)
    with pytest.raises(expected.type) as caught:
        verb(frame(ROWS.to_dict()), **roles).lazy().collect()
    assert text_of(caught) == text_of(expected)


def logged(tmp_path) -> tuple[pl.DataFrame, pl.LazyFrame]:
    rows = melted(wide(16, groups=3)).with_columns(unused=pl.lit("x" * 50))
    rows.write_parquet(tmp_path / "log.parquet")
    return rows, pl.scan_parquet(tmp_path / "log.parquet")


@every_verb
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_scan_returns_the_eager_table_and_reads_only_the_columns_it_needs(tmp_path, verb, engine):
    rows, scan = logged(tmp_path)
    for options, needed in (({}, 4), ({"by": "g"}, 5), ({"by": "g", "cluster": "user"}, 6)):
        plan = verb(scan, "label", "score", id="id", **options)
        expected = verb(rows, "label", "score", id="id", **options)
        assert plan.collect_schema() == expected.schema
        assert f"PROJECT {needed}/{rows.width} COLUMNS" in plan.explain()
        assert_frame_equal(plan.collect(engine=engine), expected, check_exact=True)


def test_a_filter_on_groups_reaches_the_scan_unless_groups_share_a_family(tmp_path):
    _, scan = logged(tmp_path)
    where = pl.col("g") == 1
    for family, passes in (("group", True), ("all", False)):
        plan = rf.compare(scan, "label", "score", id="id", by="g", family=family)
        after = plan.filter(where)
        assert ("SELECTION" in after.explain()) == passes
        assert_frame_equal(after.collect(), plan.collect().filter(where), check_exact=True)
        before = rf.compare(scan.filter(where), "label", "score", id="id", by="g", family=family)
        assert (before.collect()["p_adjusted"] == after.collect()["p_adjusted"]).all() == passes


def test_a_filter_on_groups_avoids_the_errors_of_other_groups(tmp_path):
    _, scan = logged(tmp_path)
    broken = scan.filter((pl.col("g") != 0) | (pl.col("model") != "a") | (pl.col("id") != "i3"))
    plan = rf.compare(broken, "label", "score", id="id", by="g")
    remaining = plan.filter(pl.col("g") > 0).collect()
    expected = rf.compare(scan, "label", "score", id="id", by="g").filter(pl.col("g") > 0)
    assert_frame_equal(remaining, expected.collect(), check_exact=True)
    with pytest.raises(rf.PairingError, match=r"^id='id': model 'a' lacks 1 row that other"):
        plan.collect()
