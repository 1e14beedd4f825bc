"""Lazy frames: nothing runs before collect, few columns are read, and results equal eager ones."""

from __future__ import annotations

import gc
import pickle
import sys
import weakref
from functools import cache
from importlib import import_module
from math import nan
from pkgutil import walk_packages

import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.kernel import arrays as threads
from tests.all_cases import all_cases
from tests.verbs import OF_CURVES, OF_PREDICTIONS, Verb

ROWS = 32
PREDICTIONS = pl.DataFrame(
    {
        "label": [True, False, True, False, True, False, True, False] * 4,
        "score": [(i * 7 % 11) / 16 for i in range(ROWS)],
        "other": [(i * 5 % 13) / 16 for i in range(ROWS)],
        "g": list("aabbccdd") * 4,
        "h": [1] * 20 + [2] * 12,
        "w": [1.0, 2.0, 0.0, 3.0] * 8,
        "n": [1, 0, 2, 3] * 8,
        "fold": [i * 5 % 13 > 5 for i in range(ROWS)],
        "class": ["x" if i * 5 % 13 > 5 else "y" for i in range(ROWS)],
        "class_number": [1, 0, 2, 2] * 8,
        "unused": ["x" * 100] * ROWS,
    }
)


def curve(frame, by=None, **options):
    return rf.curve(frame, "label", "score", by=by, **options)


def auc(frame, by=None, **options):
    return rf.auc(frame, "label", "score", by=by, **options)


# These functions are called with weights.
WEIGHTED = {
    "curve": {"weight": "w", "count": "n"},
    **{
        name: {"weight": "w"}
        for name in (
            "auc",
            "operating point",
            "calibration summary",
            "calibration, isotonic",
            "band of fixed width",
            "compare partial areas",
            "at thresholds",
            "simplify precision-recall",
        )
    },
}
UNWEIGHTED_TOO = {"curve", "auc", "operating point"}


def call_of(verb, roles):
    function = verb if isinstance(verb, Verb) else verb.of_predictions
    return lambda frame, by: function(frame, by=by, **roles)


VERBS = {}
# The number of columns that each function reads: label, score, group, and its other columns.
WIDTHS = {}
BY_GROUP = {}
for name, verb in {**OF_PREDICTIONS, **OF_CURVES}.items():
    calls = {} if name in WEIGHTED and name not in UNWEIGHTED_TOO else {name: {}}
    if name in WEIGHTED:
        calls[f"{name}, weighted"] = WEIGHTED[name]
    for call_name, roles in calls.items():
        VERBS[call_name] = call_of(verb, roles)
        n_labels = int(getattr(verb, "labelled", True))
        WIDTHS[call_name] = 2 + n_labels + len(verb.other_columns) + len(roles)
        # p-values are adjusted over all groups, so none of them may be left out before. The plan
        # of these two functions is the same without adjustment. The numbers of cases that the tests
        # add to a table for a reader study depend on all its rows.
        adjusted = verb.adjusted or verb.function in {"auc_test", "drift_test"}
        if not adjusted and verb.function != "reader_study":
            BY_GROUP[call_name] = VERBS[call_name]

NAME = "confusion matrix of models"
VERBS[NAME] = BY_GROUP[NAME] = lambda frame, by: rf.confusion_matrix(
    frame, "label", {"a": pl.col("score") > 0.3, "b": pl.col("other") > 0.3}, by=by
)
WIDTHS[NAME] = 4
NAME = "confusion matrix of classes"
VERBS[NAME] = BY_GROUP[NAME] = lambda frame, by: rf.confusion_matrix(
    frame, "class_number", (pl.col("class_number") + 1) % 3, classes=range(3), by=by
)
WIDTHS[NAME] = 2
# One verb for each node of a plan (each use of `plan_table` or `through_node`) with and without
# adjusted p-values. What polars moves past a node depends on no other option.
NODES = [
    *("curve of models", "auc test, adjusted", "volume", "fold auc", "drift over folds"),
    *("fit of calibration of models over folds", "compare models"),
    *("compare models, one family of tests", "at thresholds, weighted", "transfer over folds"),
    *("simplify", "area", "average", "average, pooled, at rates"),
]
every_verb = pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
every_verb_by_group = pytest.mark.parametrize("verb", BY_GROUP.values(), ids=BY_GROUP)
every_node = pytest.mark.parametrize("verb", [VERBS[name] for name in NODES], ids=NODES)
BY = [None, ("g", "h")]  # other tests collect plans with one group column
without_and_with_groups = pytest.mark.parametrize("by", [None, ("g", "h")], ids=["one", "groups"])
both_engines = pytest.mark.parametrize("engine", ["in-memory", "streaming"])


@cache
def eager(verb, by):
    """Return the table of the DataFrame."""
    return verb(PREDICTIONS, by)


@pytest.fixture(scope="module")
def scan(tmp_path_factory) -> pl.LazyFrame:
    path = tmp_path_factory.mktemp("logs") / "predictions.parquet"
    PREDICTIONS.write_parquet(path)
    return pl.scan_parquet(path)


@pytest.fixture
def probe() -> tuple[pl.LazyFrame, list[int]]:
    """Return a plan that counts how often its rows are read."""
    read: list[int] = []

    def note(rows: pl.DataFrame) -> pl.DataFrame:
        read.append(rows.height)
        return rows

    return PREDICTIONS.lazy().map_batches(note, schema=PREDICTIONS.schema), read


@every_verb
def test_a_lazy_frame_is_read_once_on_collect_and_gives_the_eager_table(probe, verb):
    plan, read = probe
    with all_cases() as case:
        for by in BY:
            read.clear()
            expected, table = eager(verb, by), verb(plan, by)
            with case(by, "before collect"):
                assert isinstance(table, pl.LazyFrame)
                assert table.collect_schema() == expected.schema
                table.explain()
                assert read == []
            with case(by, "collect"):
                assert_frame_equal(table.collect(), expected)
                assert read == [ROWS]


# Both engines run the same optimized plan, whatever the keys are.
@pytest.mark.slow
@every_verb
def test_a_pickled_plan_gives_the_eager_table_with_the_streaming_engine(scan, verb):
    plan = pickle.loads(pickle.dumps(verb(scan, "g")))
    assert_frame_equal(plan.collect(engine="streaming"), eager(verb, "g"))


@pytest.mark.parametrize(
    ("options", "dtype"),
    [({}, pl.Int64), ({"count": "n"}, pl.Int64), ({"weight": "w"}, pl.Float64)],
    ids=["plain", "counted", "weighted"],
)
def test_the_plan_knows_whether_counts_are_whole(scan, options, dtype):
    for table in (curve(scan, **options), curve(scan, **options).roc.at(fpr=0.1)):
        schema = table.collect_schema()
        assert [schema[name] for name in ("tp", "fp", "fn", "tn")] == [dtype] * 4


@every_node
def test_a_plan_can_be_collected_several_times(scan, verb):
    table = verb(scan, "g")
    assert_frame_equal(table.collect(), table.collect())
    assert_frame_equal(table.head(2).collect(), table.collect().head(2))


@every_verb
def test_only_the_columns_that_are_needed_are_read(scan, verb, request):
    needed = WIDTHS[request.node.callspec.id]
    assert f"PROJECT {needed}/{PREDICTIONS.width} COLUMNS" in verb(scan, "g").explain()
    assert f"PROJECT {needed - 1}/{PREDICTIONS.width} COLUMNS" in verb(scan, None).explain()


def test_columns_that_expressions_need_are_read_too(scan):
    score = pl.col("score") - pl.col("other").mean().over("h")
    assert f"PROJECT 4/{PREDICTIONS.width} COLUMNS" in rf.auc(scan, "label", score).explain()
    scores = pl.col("score", "other") * 2
    assert f"PROJECT 3/{PREDICTIONS.width} COLUMNS" in rf.auc(scan, "label", scores).explain()


def test_group_columns_by_expression_are_part_of_the_plan(scan):
    selected = auc(scan, by=[cs.by_name("g"), pl.col("h")])
    assert selected.explain() == auc(scan, by=["g", "h"]).explain()
    key = pl.col("g").str.to_uppercase().alias("key")
    plan = auc(scan, by=key)
    assert f"PROJECT 3/{PREDICTIONS.width} COLUMNS" in plan.explain()
    expected = auc(PREDICTIONS, by=key).filter(key="B")
    filtered = plan.filter(key="B")
    text = filtered.explain()
    assert text.index("OPAQUE_PYTHON") < text.index('== "B"')
    assert_frame_equal(filtered.collect(), expected)
    rank = pl.col("score").rank("dense").alias("key")  # depends on the rows of other groups
    expected = auc(PREDICTIONS, by=rank).filter(key=2)
    assert_frame_equal(auc(scan, by=rank).filter(key=2).collect(), expected)


ON_GROUPS = {
    "equal": pl.col("g") == "b",
    "one of": pl.col("g").is_in(["a", "c"]),
    "not null": pl.col("g").is_not_null(),
    "starts with": pl.col("g").str.starts_with("d"),
}


@pytest.mark.parametrize("name", BY_GROUP)
def test_a_filter_on_groups_reaches_the_scan_from_before_and_from_after(scan, name):
    verb = BY_GROUP[name]
    expected, lazy = eager(verb, "g"), verb(scan, "g")
    # Whether a filter passes a node does not depend on the options of the verb.
    filters = ON_GROUPS if name in NODES else ["one of"]
    with all_cases() as case:
        for condition in filters:
            where = ON_GROUPS[condition]
            plans = {"after": lazy.filter(where)}
            if name in NODES:
                plans["before"] = verb(scan.filter(where), "g")
            for place, plan in plans.items():
                with case(condition, place):
                    assert "SELECTION" in plan.explain()
                    assert_frame_equal(plan.collect(), expected.filter(where))


@pytest.mark.slow
@every_verb_by_group
def test_a_filter_on_one_of_two_keys_reaches_the_scan(scan, verb):
    plan = verb(scan, ("g", "h")).filter(h=2)
    assert "SELECTION" in plan.explain()
    assert_frame_equal(plan.collect(), eager(verb, ("g", "h")).filter(h=2))


@pytest.mark.slow
@every_node
@without_and_with_groups
def test_a_filter_on_a_result_column_is_applied_after_the_function(scan, verb, by):
    table, lazy = eager(verb, by), verb(scan, by)
    result = [name for name in table.columns if name not in {"g", "h", "model"}]
    for name in result:
        where = pl.col(name).is_not_null()
        if table.schema[name].is_numeric():
            where &= pl.col(name) >= (table[name].median() or 0)
        plan = lazy.filter(where)
        assert "SELECTION" not in plan.explain()
        assert_frame_equal(plan.collect(), table.filter(where))


def test_a_filter_on_models_is_applied_after_the_function(scan):
    plan = VERBS["auc of models"](scan, "g").filter(pl.col("model") == "b", pl.col("g") == "a")
    assert 'SELECTION: col("g") == "a"' in plan.explain()
    expected = rf.auc(PREDICTIONS.filter(g="a"), "label", {"b": "other"}, by="g")
    assert_frame_equal(plan.collect(), expected)


def test_a_filter_on_groups_is_applied_after_scores_that_depend_on_other_rows(scan):
    rank, share = pl.col("score").rank(), pl.col("score") / pl.col("score").max().over("h")
    for score in (rank, share):
        plan = rf.curve(scan, "label", score, by="g").filter(g="b")
        expected = rf.curve(PREDICTIONS, "label", score, by="g").filter(g="b")
        assert_frame_equal(plan.collect(), expected)


# polars passes head and slice through any node that filters may pass, as if groups were rows.
CUTS = {
    "head": lambda table: table.head(2),
    "head of none": lambda table: table.head(0),
    "limit": lambda table: table.limit(3),
    "tail": lambda table: table.tail(2),
    "slice": lambda table: table.slice(1, 2),
    "slice from the end": lambda table: table.slice(-2, 1),
    "every other row": lambda table: table.gather_every(2),
    "reverse": lambda table: table.reverse().head(3),
    "sort and head": lambda table: table.sort(pl.all(), descending=True).head(2),
    "numbered": lambda table: table.with_row_index().filter(pl.col("index") % 2 == 0),
    "a constant false": lambda table: table.filter(pl.lit(False)),
    "a constant true": lambda table: table.filter(pl.lit(True)),
    "a constant null": lambda table: table.filter(pl.lit(None, dtype=pl.Boolean)),
    "a constant, then head": lambda table: table.filter(pl.lit(True)).head(1),
    "rows by number": lambda table: table.filter(pl.int_range(pl.len()) < 2),
    "how many rows": lambda table: table.filter(pl.len() > 2),
    "no two equal": lambda table: table.unique(maintain_order=True),
    "how long": lambda table: table.select(pl.len()),
    "one column": lambda table: table.select(pl.last()),
    "twice": lambda table: pl.concat([table, table]),
}


@pytest.mark.slow
@every_node
@without_and_with_groups
def test_a_slice_gives_the_same_rows_before_and_after_collect(scan, verb, by):
    whole, lazy = eager(verb, by), verb(scan, by)
    # The table without keys has one row for most functions, so one engine is enough.
    engines = ("in-memory", "streaming") if by else ("in-memory",)
    with all_cases() as case:
        for name, cut in CUTS.items():
            plan, expected = cut(lazy), cut(whole)
            with case(name, "the schema"):
                assert plan.collect_schema() == expected.schema
            for engine in engines:
                with case(name, engine):
                    assert_frame_equal(plan.collect(engine=engine), expected)


@every_node
@without_and_with_groups
def test_first_and_last_of_a_plan_are_those_of_the_table(scan, verb, by):
    whole, lazy = eager(verb, by), verb(scan, by)
    assert_frame_equal(lazy.first().collect(), whole.head(1))
    assert_frame_equal(lazy.last().collect(), whole.tail(1))


def other(table, columns):
    keys = pl.DataFrame(columns)
    return keys.lazy() if isinstance(table, pl.LazyFrame) else keys


# A group has many predictions: what depends on the number or place of rows must not pass.
G = pl.col("g")
CHOICES = {
    "first of its kind": lambda table: table.filter(G.is_first_distinct()),
    "last of its kind": lambda table: table.filter(G.is_last_distinct()),
    "alone": lambda table: table.filter(G.is_unique()),
    "not alone": lambda table: table.filter(G.is_duplicated()),
    "by rank": lambda table: table.filter(G.rank("ordinal") <= 2),
    "by dense rank": lambda table: table.filter(G.rank("dense") <= 2),
    "by size": lambda table: table.filter(pl.len().over("g") > 2),
    "the largest": lambda table: table.filter(G.max() == G),
    "the first": lambda table: table.filter(G.first() == G),
    "a change": lambda table: table.filter(G.shift() != G),
    "the count so far": lambda table: table.filter(G.cum_count() <= 3),
    "the number of keys": lambda table: table.filter(G.n_unique() == 4),
    "the number of rows": lambda table: table.filter((pl.len() > 6) & (G == "b")),
    "the place of the row": lambda table: table.filter((pl.int_range(pl.len()) < 6) & (G != "a")),
    "a Python function": lambda table: table.filter(
        G.map_batches(lambda keys: keys == keys.max(), return_dtype=pl.Boolean)
    ),
    "head, then filter": lambda table: table.head(5).filter(g="a"),
    "filter, then head": lambda table: table.filter(g="b").head(1),
    "sorted and cut": lambda table: table.sort("g", descending=True, maintain_order=True).head(2),
    "sorted and chosen": lambda table: table.sort(pl.all()).filter(G.is_first_distinct()),
    "renamed": lambda table: table.rename({"g": "key"}).filter(key="b"),
    "overwritten": lambda table: table.with_columns(g=pl.lit("q")).filter(g="q"),
    "counted beside": lambda table: table.with_columns(k=pl.len().over("g")).filter(g="b"),
    "grouped": lambda table: table.group_by("g", maintain_order=True).len().filter(g="b"),
    "two conditions": lambda table: table.filter((G != "a") & pl.last().is_not_null()),
    "either condition": lambda table: table.filter((G == "a") | pl.last().is_null()),
    "joined": lambda table: table.join(
        other(table, {"g": ["a", "d"], "z": [1, 2]}), on="g", maintain_order="left"
    ).filter(z=2),
    "semi-joined": lambda table: table.join(
        other(table, {"g": ["a", "d"]}), on="g", how="semi", maintain_order="left"
    ),
    "with itself": lambda table: table.join(
        table.head(1), on="g", how="anti", maintain_order="left"
    ),
}


@pytest.mark.slow
@every_node
def test_a_filter_on_groups_gives_the_same_rows_before_and_after_collect(scan, verb):
    whole, lazy = eager(verb, ("g", "h")), verb(scan, ("g", "h"))
    with all_cases() as case:
        for name, choose in CHOICES.items():
            with case(name):
                assert_frame_equal(choose(lazy).collect(), choose(whole))


@every_node
def test_any_one_column_may_be_selected(scan, verb):
    whole, lazy = eager(verb, "g"), verb(scan, "g")
    for name in (whole.columns[0], whole.columns[len(whole.columns) // 2], whole.columns[-1]):
        assert_frame_equal(lazy.select(name).collect(), whole.select(name))


@both_engines
def test_verbs_that_differ_in_options_only_are_not_merged_in_one_plan(scan, engine):
    levels = [auc(scan, "g", level=level).head(1) for level in (0.8, 0.9, 0.95)]
    assert pl.concat(levels).collect(engine=engine)["ci_level"].to_list() == [0.8, 0.9, 0.95]
    kinds = curve(scan, "g").join(curve(scan, "g", kind="pr"), on=["g", "threshold"])
    eager = curve(PREDICTIONS, "g").join(curve(PREDICTIONS, "g", kind="pr"), on=["g", "threshold"])
    assert_frame_equal(kinds.collect(engine=engine), eager, check_row_order=False)


def test_several_tables_are_collected_at_once(scan):
    verbs = [VERBS[name] for name in NODES]
    tables = pl.collect_all([verb(scan, "g") for verb in verbs])
    for verb, table in zip(verbs, tables, strict=True):
        assert_frame_equal(table, eager(verb, "g"))


@every_node
def test_a_sink_writes_the_collected_table(scan, verb, tmp_path):
    verb(scan, "g").sink_parquet(tmp_path / "table.parquet")
    assert_frame_equal(pl.read_parquet(tmp_path / "table.parquet"), eager(verb, "g"))


def test_options_are_checked_at_the_call(probe):
    plan, _ = probe
    for call in (
        lambda: auc(plan, ci="wald"),
        lambda: auc(plan, level=95),
        lambda: auc(plan, missing="skip"),
        lambda: auc(plan, fpr=(0, 2)),
        lambda: rf.compare(plan, "label", ["score", "other"], method="t"),
        lambda: rf.compare(plan, "label", ["score", "other"], margin=2),
        lambda: rf.compare(plan, "label", "score", unmatched="keep"),
        lambda: rf.contrast(plan, "label", ["score", "other"], coefficients={}),
        lambda: curve(plan, kind="rok"),
        lambda: curve(plan, metrics="f2"),
        lambda: curve(plan, thresholds=[nan]),
        lambda: curve(plan).roc.at(fpr=2),
        curve(plan).roc.at,
    ):
        with pytest.raises(rf.RocframeError):
            call()


def test_a_filter_prevents_errors_of_the_groups_that_it_leaves_out(scan):
    rows = scan.with_columns(score=pl.when(pl.col("g") != "a").then("score"))
    remaining = auc(rows, "g").filter(g="b").collect()
    assert_frame_equal(remaining, auc(PREDICTIONS, "g").filter(g="b"))
    with pytest.raises(rf.MissingValuesError, match="in 8 rows, the first one in group g='a'"):
        auc(rows, "g").collect()


@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_the_accessor_does_not_keep_its_frame_alive(lazy):
    frame = PREDICTIONS.clone().lazy() if lazy else PREDICTIONS.clone()
    gc.disable()
    try:
        before = sys.getrefcount(frame)
        for _ in range(3):
            frame.roc.auc("label", "score")
        assert sys.getrefcount(frame) == before
        gone = weakref.ref(frame)
        del frame
        assert gone() is None
    finally:
        gc.enable()


def test_a_plan_does_not_keep_its_result_in_memory(scan):
    plan = curve(scan, "g")
    gone = weakref.ref(plan.collect())
    gc.collect()
    assert gone() is None


@pytest.mark.slow
def test_tasks_of_arrays_run_no_queries(monkeypatch):
    # A query in such a task could wait for a thread of polars that waits for the task.
    in_task = False

    def run_one_by_one(function, tasks, *, arrays_only=False):
        nonlocal in_task
        before, in_task = in_task, in_task or arrays_only
        try:
            return [function(task) for task in tasks]
        finally:
            in_task = before

    def without_task(collect):
        def checked(*args, **options):
            assert not in_task, "a task with arrays_only=True runs a query"
            return collect(*args, **options)

        return checked

    for module in [import_module(each.name) for each in walk_packages(rf.__path__, "rocframe.")]:
        if getattr(module, "run_parallel", None) is threads.run_parallel:
            monkeypatch.setattr(module, "run_parallel", run_one_by_one)
    for name in {"collect", "_collect_eager"} & set(dir(pl.LazyFrame)):
        monkeypatch.setattr(pl.LazyFrame, name, without_task(getattr(pl.LazyFrame, name)))
    with pytest.raises(AssertionError, match="runs a query"):
        run_one_by_one(lambda rows: rows.with_columns(x=1), [PREDICTIONS], arrays_only=True)

    predictions = PREDICTIONS.with_columns(g=pl.col("g").replace("a", None))
    # Counts that are sums of weights are rounded by a query.
    weight = {"weight": pl.col("w") / 3}
    weighted = {
        f"{name}, fractional weights": call_of(verb, weight)
        for name, verb in OF_PREDICTIONS.items()
        if verb.accepts("weight")
    }
    with all_cases() as case:
        for name, verb in {**VERBS, **weighted}.items():
            with case(name):
                verb(predictions, "g")


def calibrated(rows):
    fit = rf.fit_calibration(rows.collect(), "label", "score", by="key")
    return rf.apply_calibration(rows, "score", fit)


def repaired(rows):
    found = rf.curve(rows.collect(), "label", "score", by="key").roc.concavities()
    return rf.repair_scores(rows, "score", found)


def drawn(rows):
    points = rf.curve(rows.collect(), "label", "score", by="key").roc.mix(fpr=0.3)
    return rf.draw_decisions(rows, "score", points, id="id", seed=1)


@both_engines
@pytest.mark.parametrize("function", [calibrated, repaired, drawn])
def test_a_key_of_nan_in_a_sorted_column_is_found_in_a_table(function, engine):
    numbers = PREDICTIONS.select(
        "label", "score", id=pl.int_range(ROWS), key=pl.int_range(ROWS) // 20 + 1.0
    )
    missing = numbers.with_columns(pl.col("key").replace(2.0, nan))
    missing = missing.sort("key", maintain_order=True)
    found = function(missing.lazy()).collect(engine=engine)
    expected = function(numbers.lazy()).collect()
    assert_frame_equal(found.drop("key"), expected.drop("key"))
    assert not expected.select(pl.last()).to_series().has_nulls()
