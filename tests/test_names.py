"""Any column name works in any role, including names that polars reads as patterns."""

from __future__ import annotations

from functools import partial
from itertools import cycle

import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.all_cases import all_cases
from tests.verbs import OF_CURVES, OF_PREDICTIONS, TableVerb

PATTERNS = ["^p.*$", "^.*$", "*", "^", "$"]
PUNCTUATION = [
    "a.b",
    "a[0]",
    "a:Q",
    "count()",
    "",
    " ",
    "\n",
    "<script>",
    '"',
    "'",
    "{x}",
    "\\",
    "🙂",
]
OURS = ["(label)", "((label))", "(score 0)", "(weight)", "(threshold)", "(tp)", "0", "1", "literal"]
NAMES = [*PATTERNS, *PUNCTUATION, *OURS, "index", "len", "cell", "mass", "row", "fresh", "group"]

# `pp` is there for patterns to match by mistake.
PREDICTIONS = pl.DataFrame(
    {
        "label": [True, False, True, False] * 2,
        "score": [0.9, 0.4, 0.4, 0.1, 0.2, 0.3, 0.3, 0.8],
        "g": ["a", "a", "b", "b"] * 2,
        "w": [1.0, 2.0, 3.0, 4.0] * 2,
        "pp": [True] * 8,
    }
)
ROLES = {"label": "label", "score": "score", "by": "g", "weight": "w"}


def with_key(curves: pl.DataFrame | pl.LazyFrame, key: str) -> pl.DataFrame | pl.LazyFrame:
    """Return the same curves for each of two folds, models or classes."""
    values = (1, 2) if key == "fold" else ("x", "y")
    return pl.concat([curves.select(pl.lit(value).alias(key), pl.all()) for value in values])


def call_with_key(verb: TableVerb, curves: pl.DataFrame | pl.LazyFrame):
    return verb(curves if verb.key is None else with_key(curves, verb.key))


# Every role is renamed in predictions. Curve tables keep only the names of group columns.
# Scores of classes are expressions or several columns: tests/classes.
VERBS = {
    **{
        name: partial(verb, other="pp")
        for name, verb in OF_PREDICTIONS.items()
        if verb.class_scores is None
    },
    "curve from calibration": lambda frame, **roles: rf.curve_from_calibration(
        rf.calibration(frame, **roles).with_columns(pl.col("n").cast(pl.Float64))
    ),
}
# These functions are called with each name in each role, the others with a third of the names.
NAMES_IN_EVERY_ROLE = {
    "curve with metrics",
    "curve at thresholds",
    "curve from calibration",
    "auc",
    "auc test, adjusted",
    "h measure",
    "summary",
    "calibration",
    "fit of calibration",
    "fit of calibration of models over folds",
    "calibration summary",
    "band of fixed width",
    "compare models",
    "combined decisions of models",
    "chain of models",
    "fold auc",
    "pooling gap",
}
VERBS_ON_CURVES = {
    name: partial(call_with_key, verb) for name, verb in OF_CURVES.items() if verb.source == "curve"
}


def like(frame, table: pl.DataFrame) -> pl.DataFrame | pl.LazyFrame:
    return table.lazy() if frame is pl.LazyFrame else table


def alternating(names: list[str]) -> list[tuple[str, type]]:
    """Pair names with the two kinds of frame in turn: names are read in the same way in both."""
    return list(zip(names, cycle([pl.DataFrame, pl.LazyFrame]), strict=False))


@pytest.mark.slow
@pytest.mark.parametrize("name", VERBS)
def test_columns_of_any_name_play_any_role(name):
    verb = VERBS[name]
    roles = ROLES
    if name in OF_PREDICTIONS and not OF_PREDICTIONS[name].accepts("weight"):
        roles = {role: column for role, column in ROLES.items() if role != "weight"}
    rows = PREDICTIONS.with_columns(fold=pl.int_range(pl.len()) // 4)
    expected = verb(rows, **roles)
    step = 1 if name in NAMES_IN_EVERY_ROLE else 3 * len(roles)
    with all_cases() as case:
        for place, (_, frame) in list(enumerate(alternating(NAMES)))[::step]:
            # Four names at a time, so that every name plays every role once.
            names = {role: NAMES[place - shift] for shift, role in enumerate(roles)}
            renamed = rows.rename({roles[role]: name for role, name in names.items()})
            with case(names):
                actual = verb(like(frame, renamed), **names)
                assert_frame_equal(actual, like(frame, expected.rename({"g": names["by"]})))


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS_ON_CURVES.values(), ids=VERBS_ON_CURVES)
def test_functions_on_curves_accept_group_columns_of_any_name(frame, verb):
    curves = rf.curve(PREDICTIONS, "label", "score", by="g")

    def with_keys(names):
        return curves.select(*(pl.col("g").alias(name) for name in names), pl.exclude("g"))

    with all_cases() as case:
        # Several names at a time: each one is a group column of a table.
        for names in (NAMES[start::4] for start in range(4)):
            plain = [f"g{i}" for i in range(len(names))]
            with case(names):
                actual = verb(like(frame, with_keys(names)))
                expected = verb(with_keys(plain)).rename(dict(zip(plain, names, strict=True)))
                assert_frame_equal(actual, like(frame, expected))


@pytest.mark.parametrize(
    "verb",
    [
        rf.hull,
        rf.relative_superiority,
        partial(rf.lc_index, cost_ratio=(0.1, 0.5, 2)),
        partial(rf.cost_curve, grid=5),
        partial(rf.mix, fpr=[0.2, 0.7]),
    ],
    ids=["hull", "relative_superiority", "lc_index", "cost_curve", "mix"],
)
def test_the_column_of_the_compared_curves_may_have_any_name(verb):
    curves = rf.curve(PREDICTIONS, "label", ["score", "w"])
    expected = verb(curves, across="model")
    columns = [name for name in expected.columns if name.startswith("model")]
    with all_cases() as case:
        for name, frame in alternating(NAMES):
            with case(name):
                actual = verb(like(frame, curves.rename({"model": name})), across=name)
                names = {column: column.replace("model", name) for column in columns}
                assert_frame_equal(actual, like(frame, expected.rename(names)))


def test_a_score_of_any_name_is_a_model_of_that_name():
    alone = rf.auc(PREDICTIONS, "label", "score", by="g")
    with all_cases() as case:
        for name, frame in alternating(NAMES):
            renamed = PREDICTIONS.rename({"score": name})
            expected = alone.clone().insert_column(1, pl.lit(name).alias("model"))
            for score in ([name], cs.by_name(name), cs.by_name(name) + 0, {name: name}):
                with case(name, score):
                    actual = rf.auc(like(frame, renamed), "label", score, by="g")
                    assert_frame_equal(actual, like(frame, expected))


@pytest.mark.parametrize("role", ["id", "between"])
def test_columns_that_pair_rows_may_have_any_name(role):
    rows = PREDICTIONS.with_columns(who=pl.col("g").replace("a", "c"), i=pl.int_range(8) // 4)
    rows = rows.with_columns(i=pl.int_range(pl.len()).over("who"), label=pl.int_range(8) % 2 == 0)
    roles = {"id": "i", "between": "who"}
    options = {"method": "delong_unpaired"} if role == "between" else {}
    expected = rf.compare(rows, "label", "score", **roles, **options)
    with all_cases() as case:
        for name, frame in alternating(NAMES):
            renamed = like(frame, rows.rename({roles[role]: name}))
            with case(name):
                actual = rf.compare(renamed, "label", "score", **{**roles, role: name}, **options)
                assert_frame_equal(actual, like(frame, expected))


def test_models_of_all_names_are_compared_side_by_side(frame):
    scores = PREDICTIONS.select("label", *(pl.col("score").alias(name) for name in NAMES))
    alone = rf.auc(PREDICTIONS, "label", "score")
    models = pl.DataFrame({"model": sorted(NAMES)})
    expected = models.join(alone, how="cross", maintain_order="left")
    for score in (NAMES, cs.exclude("label"), pl.exclude("label"), pl.exclude("label") + 0):
        actual = rf.auc(like(frame, scores), "label", score)
        assert_frame_equal(actual, like(frame, expected))


def test_a_pattern_in_an_expression_stays_a_pattern():
    actual = rf.auc(PREDICTIONS, "label", pl.col("^(score|w)$"), ci=None)
    assert actual["model"].to_list() == ["score", "w"]


def test_a_metric_may_have_any_name():
    plain = rf.curve(PREDICTIONS, "label", "score", by="g", metrics="f1")
    areas = rf.area(plain)
    numbers = [2 * tp or None for tp in plain["tp"]]
    with all_cases() as case:
        for name, frame in alternating(NAMES):
            with case(name):
                twice = pl.when(pl.col("tp") > 0).then(pl.col("tp") * 2).alias(name)
                curves = rf.curve(
                    like(frame, PREDICTIONS), "label", "score", by="g", metrics=["f1", twice]
                )
                expected = plain.with_columns(pl.Series(name, numbers, pl.Int64))
                assert_frame_equal(curves, like(frame, expected))
                points = rf.at(curves, fpr=[0.0, 0.5]).lazy().collect()
                assert points.columns[-1] == name
                assert points[name].to_list() == [2 * tp or None for tp in points["tp"]]
                assert_frame_equal(curves.roc.area(), like(frame, areas))


def test_a_metric_named_like_a_column_inside_the_node_leaves_areas_alone(frame):
    null = pl.lit(None, pl.Float64).alias("(rows)")
    curves = rf.curve(like(frame, PREDICTIONS), "label", "score", by="g", metrics=null)
    expected = rf.curve(PREDICTIONS, "label", "score", by="g").roc.area()
    assert_frame_equal(curves.roc.area(), like(frame, expected))


def test_a_missing_column_of_any_name_is_named(frame):
    with all_cases() as case:
        for name in NAMES:
            for score in (name, pl.col(name) if name not in PATTERNS else name):
                with case(name, score):
                    with pytest.raises(rf.MissingColumnError) as caught:
                        rf.auc(like(frame, PREDICTIONS), "label", score).lazy().collect()
                    assert str(caught.value).startswith(
                        f"score={name!r}: the frame has no column of this name.\n"
                        "The frame has: 'label', 'score', 'g', 'w', 'pp'."
                    )


@pytest.mark.parametrize("name", ["label", "score", "w", "value", "at", "auc"])
def test_groups_may_be_called_like_columns_of_other_tables(frame, name):
    renamed = PREDICTIONS.rename({"label": "y", "score": "s", "w": "v", "g": name})
    actual = rf.curve(like(frame, renamed), "y", "s", by=name, weight="v")
    expected = rf.curve(PREDICTIONS, "label", "score", by="g", weight="w").rename({"g": name})
    assert_frame_equal(actual, like(frame, expected))


def test_an_alias_is_an_additional_column(frame):
    curve = rf.curve(like(frame, PREDICTIONS), "label", "score", metrics=["tnr", "specificity"])
    columns = curve.lazy().collect()
    assert columns.columns[-2:] == ["tnr", "specificity"]
    assert_frame_equal(columns.select("tnr"), columns.select(tnr="specificity"))


# `add_metrics` keeps all columns of its table, and raises an error of its own.
RESERVING = {**OF_PREDICTIONS, **OF_CURVES}
RESERVING = {name: verb for name, verb in RESERVING.items() if verb.function != "add_metrics"}


@pytest.mark.slow
@pytest.mark.parametrize("name", RESERVING)
def test_a_group_column_with_the_name_of_a_column_of_the_result_raises_an_error(name):
    verb, of_curves = RESERVING[name], name in OF_CURVES
    table = PREDICTIONS.with_columns(
        other="score",
        fold=pl.int_range(8) // 4,
        class_number=pl.int_range(8) % 3,
        **{"class": pl.Series(list("xyyx") * 2)},
    )
    if of_curves:
        table = verb.table_of(table, by="g")

    def call(table, key):
        return verb(table) if of_curves else verb(table, by=key)

    for column, frame in alternating(call(table, "g").columns):
        if column in {*table.columns, "model"}:
            continue
        renamed = like(frame, table.rename({"g": column}))
        with pytest.raises(rf.ReservedColumnError) as caught:
            call(renamed, column).lazy().collect()
        assert str(caught.value).startswith(
            f"by={column!r}: the result already has a column of this name.\nColumns of the result: "
        )
