"""`curve`: whole tables by hand, and by definition for tables of every shape."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

import rocframe as rf
from tests import oracles
from tests.strategies import (
    ANY_WEIGHTS,
    COUNTS,
    EXACT_WEIGHTS,
    SHAPES,
    SMALLEST,
    examples,
    shuffled,
    tables,
)

INF = math.inf
WALK = ["threshold", "tp", "fp", "fn", "tn"]

# A tie across the classes at 0.4.
PREDICTIONS = {"label": [True, False, True, False], "score": [0.9, 0.4, 0.4, 0.1]}


def counts(rows: list[tuple[float, int, int, int, int]]) -> pl.DataFrame:
    return pl.DataFrame(
        rows,
        schema={"threshold": pl.Float64, **dict.fromkeys(["tp", "fp", "fn", "tn"], pl.Int64)},
        orient="row",
    )


def test_tied_scores_share_a_row(frame):
    actual = rf.curve(frame(PREDICTIONS), "label", "score")
    expected = frame(
        {
            "threshold": [INF, 0.9, 0.4, 0.1],
            "tp": [0, 1, 2, 2],
            "fp": [0, 0, 1, 2],
            "fn": [2, 1, 0, 0],
            "tn": [2, 2, 1, 0],
            "fpr": [0.0, 0.0, 0.5, 1.0],
            "tpr": [0.0, 0.5, 1.0, 1.0],
        }
    )
    assert_frame_equal(actual, expected, check_exact=True)


def test_the_namespace_is_the_function(frame):
    predictions = frame(PREDICTIONS)
    assert_frame_equal(
        predictions.roc.curve("label", "score", kind="pr"),
        rf.curve(predictions, "label", "score", kind="precision_recall"),
        check_exact=True,
    )


@pytest.mark.parametrize(
    ("kind", "axes"),
    [
        ("roc", {"fpr": [0.0, 0.0, 0.5, 1.0], "tpr": [0.0, 0.5, 1.0, 1.0]}),
        ("precision_recall", {"recall": [0.0, 0.5, 1.0, 1.0], "precision": [None, 1, 2 / 3, 0.5]}),
        ("det", {"fpr": [0.0, 0.0, 0.5, 1.0], "fnr": [1.0, 0.5, 0.0, 0.0]}),
        ("gain", {"alert_rate": [0.0, 0.25, 0.75, 1.0], "tpr": [0.0, 0.5, 1.0, 1.0]}),
        ("lift", {"alert_rate": [0.0, 0.25, 0.75, 1.0], "lift": [None, 2.0, 4 / 3, 1.0]}),
        ("predictive_value", {"alert_rate": [0.0, 0.25, 0.75, 1.0], "ppv": [None, 1, 2 / 3, 0.5]}),
        ("skill", {"alert_rate": [0.0, 0.25, 0.75, 1.0], "skill": [0.0, 0.5, 0.5, 0.0]}),
        ("lift_chart", {"alert_rate": [0.0, 0.25, 0.75, 1.0]}),
    ],
)
def test_each_kind_adds_its_two_axes(kind, axes):
    actual = rf.curve(pl.DataFrame(PREDICTIONS), "label", "score", kind=kind)
    expected = counts([(INF, 0, 0, 2, 2), (0.9, 1, 0, 1, 2), (0.4, 2, 1, 0, 1), (0.1, 2, 2, 0, 0)])
    axes = [pl.Series(name, values, pl.Float64, strict=False) for name, values in axes.items()]
    assert_frame_equal(actual, expected.with_columns(axes), check_exact=True)


def test_metrics_stand_right_of_the_axes_in_the_order_asked_for(frame):
    actual = rf.curve(
        frame(PREDICTIONS),
        "label",
        "score",
        metrics=["ppv", (pl.col("tp") - pl.col("fp")).alias("gain"), "accuracy"],
    )
    expected = frame(
        {
            "threshold": [INF, 0.9, 0.4, 0.1],
            "tp": [0, 1, 2, 2],
            "fp": [0, 0, 1, 2],
            "fn": [2, 1, 0, 0],
            "tn": [2, 2, 1, 0],
            "fpr": [0.0, 0.0, 0.5, 1.0],
            "tpr": [0.0, 0.5, 1.0, 1.0],
            "ppv": [None, 1.0, 2 / 3, 0.5],
            "gain": [0, 1, 1, 0],
            "accuracy": [0.5, 0.75, 0.75, 0.5],
        }
    )
    assert_frame_equal(actual, expected, check_exact=True)


def test_groups_of_one_class_have_the_rate_of_this_class(frame):
    actual = rf.curve(
        frame({"g": [2, 2, 1, 1], "label": [1, 1, 0, 0], "score": [0.2, 0.1, 0.2, 0.1]}),
        "label",
        "score",
        by="g",
    )
    expected = frame(
        {
            "g": [1, 1, 1, 2, 2, 2],
            "threshold": [INF, 0.2, 0.1] * 2,
            "tp": [0, 0, 0, 0, 1, 2],
            "fp": [0, 1, 2, 0, 0, 0],
            "fn": [0, 0, 0, 2, 1, 0],
            "tn": [2, 1, 0, 0, 0, 0],
            "fpr": [0.0, 0.5, 1.0, None, None, None],
            "tpr": [None, None, None, 0.0, 0.5, 1.0],
        }
    )
    assert_frame_equal(actual, expected, check_exact=True)


def test_groups_sort_nulls_first_and_those_without_usable_rows_stay():
    predictions = pl.DataFrame(
        {
            "g": ["b", "a", None, "c", "c"],
            "label": [True, True, False, None, True],
            "score": [0.5, None, 0.25, 0.1, math.nan],
        }
    )
    actual = rf.curve(predictions, "label", "score", by="g", missing="drop").drop("fpr", "tpr")
    expected = pl.DataFrame({"g": [None, None, "a", "b", "b", "c"]}).hstack(
        counts(
            [
                (INF, 0, 0, 0, 1),
                (0.25, 0, 1, 0, 0),
                (INF, 0, 0, 0, 0),
                (INF, 0, 0, 1, 0),
                (0.5, 1, 0, 0, 0),
                (INF, 0, 0, 0, 0),
            ]
        )
    )
    assert_frame_equal(actual, expected)


def test_an_infinite_score_has_a_row_of_its_own_after_the_first():
    predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [INF, INF, 0.0, -INF]})
    expected = counts([(INF, 0, 0, 2, 2), (INF, 1, 1, 1, 1), (0.0, 2, 1, 0, 1), (-INF, 2, 2, 0, 0)])
    assert_frame_equal(rf.curve(predictions, "label", "score").select(WALK), expected)


def test_both_zeros_are_one_score_and_the_threshold_is_the_positive_one():
    for dtype in (pl.Float32, pl.Float64):
        for others in ([], [-1.0]):
            scores = pl.Series("score", [0.0, -0.0, *others], dtype)
            labels = pl.Series("label", [1, 0, *[0 for _ in others]])
            actual = rf.curve(pl.DataFrame([labels, scores]), "label", "score")
            assert actual["tp"].to_list()[:2] == [0, 1]
            assert actual["fp"].to_list()[:2] == [0, 1]
            assert math.copysign(1, actual[1, "threshold"]) == 1


def test_neighboring_doubles_are_two_scores():
    for one, next_to_it in [(0.3, 0.1 + 0.2), (1.0, math.nextafter(1.0, 2.0)), (0.0, SMALLEST)]:
        predictions = pl.DataFrame({"label": [0, 1], "score": [one, next_to_it]})
        expected = counts([(INF, 0, 0, 1, 1), (next_to_it, 1, 0, 0, 1), (one, 1, 1, 0, 0)])
        actual = rf.curve(predictions, "label", "score").select(WALK)
        assert_frame_equal(actual, expected, check_exact=True)


def test_float32_scores_tie_and_are_thresholds_in_float32():
    scores = pl.Series("score", [0.1 + 0.2, 0.3], pl.Float32)
    actual = rf.curve(pl.DataFrame([pl.Series("label", [1, 0]), scores]), "label", "score")
    assert_series_equal(actual["threshold"], pl.Series("threshold", [INF, scores[0]], pl.Float32))


@pytest.mark.parametrize(
    ("dtype", "scores"),
    [
        (pl.Boolean, [True, False, True]),
        (pl.Int8, [127, -128, 127]),
        (pl.UInt8, [255, 0, 255]),
        (pl.Int16, [2**15 - 1, -(2**15), 2**15 - 1]),
        (pl.UInt16, [2**16 - 1, 0, 2**16 - 1]),
        (pl.Int32, [2**31 - 1, -(2**31), 2**31 - 1]),
        (pl.UInt32, [2**32 - 1, 0, 2**32 - 1]),
        (pl.Int64, [2**53, -(2**53), 2**53]),
        (pl.Int64, [2**62, -(2**63), 2**62]),
        (pl.UInt64, [2**63, 0, 2**63]),
        (pl.Int128, [2**100, -(2**100), 2**100]),
        (pl.Decimal(10, 2), [Decimal("0.25"), Decimal("-3.5"), Decimal("0.25")]),
        (pl.Float16, [0.25, -0.5, 0.25]),
        (pl.Float32, [2.0**127, -(2.0**-149), 2.0**127]),
        (pl.Float64, [1.7976931348623157e308, -1.7976931348623157e308, 1.7976931348623157e308]),
    ],
    ids=str,
)
def test_every_type_of_number_is_a_score(dtype, scores):
    table = pl.DataFrame([pl.Series("label", [1, 0, 0]), pl.Series("score", scores, dtype)])
    high, low = float(scores[0]), float(scores[1])
    expected = counts([(INF, 0, 0, 1, 2), (high, 1, 1, 0, 1), (low, 1, 2, 0, 0)])
    expected = expected.cast({"threshold": oracles.threshold_dtype(table)})
    actual = rf.curve(table, "label", "score").select(WALK)
    assert_frame_equal(actual, expected, check_exact=True)


def test_chunked_columns_count_like_whole_ones():
    parts = [pl.DataFrame(PREDICTIONS), pl.DataFrame({"label": [True], "score": [0.4]})]
    chunked = pl.concat(parts * 3, rechunk=False)
    assert chunked.n_chunks() > 1
    assert_frame_equal(
        rf.curve(chunked, "label", "score"),
        rf.curve(chunked.rechunk(), "label", "score"),
        check_exact=True,
    )


def test_several_scores_are_curves_of_models_after_the_groups():
    predictions = pl.DataFrame(
        {
            "g": ["y", "x", "x", "y"],
            "label": [1, 0, 1, 0],
            "beta": [0.2, 0.2, 0.1, None],
            "alpha": [3, 1, 2, 4],
        }
    )
    actual = rf.curve(predictions, "label", ["beta", "alpha"], by="g", missing="drop")
    apart = [
        rf.curve(predictions, "label", name, by="g", missing="drop").select(
            "g", pl.lit(name).alias("model"), pl.exclude("g")
        )
        for name in ("alpha", "beta")
    ]
    assert_frame_equal(actual, pl.concat(apart).sort("g", "model", maintain_order=True))
    assert actual.columns[:3] == ["g", "model", "threshold"]
    named = rf.curve(
        predictions, "label", {"first": "alpha", "second": "beta"}, by="g", missing="drop"
    )
    models = {"alpha": "first", "beta": "second"}
    assert_frame_equal(named, actual.with_columns(pl.col("model").replace(models)))


KEYS = {
    "Int8": pl.Series([2, 1, None], dtype=pl.Int8),
    "UInt64": pl.Series([2**64 - 1, 1, None], dtype=pl.UInt64),
    "Float64 with NaN": pl.Series([math.nan, -INF, None], dtype=pl.Float64),
    "Boolean": pl.Series([True, False, None]),
    "String": pl.Series(["b", "a", None]),
    "Binary": pl.Series([b"b", b"a", None]),
    "Categorical": pl.Series(["b", "a", None], dtype=pl.Categorical),
    "Enum": pl.Series(["b", "a", None], dtype=pl.Enum(["b", "a"])),
    "Date": pl.Series([dt.date(2024, 2, 29), dt.date(1900, 1, 1), None]),
    "Datetime": pl.Series(
        [dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2023, 1, 1, tzinfo=dt.UTC), None],
        dtype=pl.Datetime("us", "Europe/Vienna"),
    ),
    "Duration": pl.Series([dt.timedelta(days=1), dt.timedelta(days=-1), None]),
    "Time": pl.Series([dt.time(12), dt.time(1), None]),
    "Decimal": pl.Series([Decimal("1.5"), Decimal("-1.5"), None], dtype=pl.Decimal(4, 1)),
    "Struct": pl.Series([{"x": 2, "y": "b"}, {"x": 1, "y": None}, None]),
    "List": pl.Series([[2, 1], [1], None], dtype=pl.List(pl.Int64)),
    "Array": pl.Series([[2, 1], [1, 3], None], dtype=pl.Array(pl.Int64, 2)),
    "Null": pl.Series([None, None, None], dtype=pl.Null),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("thresholds", [None, [0.5]], ids=["full", "fixed"])
def test_groups_may_be_of_any_type(key, thresholds):
    table = pl.DataFrame(
        {
            "key": pl.concat([key, key]),
            "label": [1, 0, 1, 0, 1, 0],
            "score": [0.9, 0.8, 0.7, 0.3, 0.2, 0.1],
        }
    )
    curve = rf.curve(table, "label", "score", by="key", thresholds=thresholds)
    assert curve.schema["key"] == key.dtype
    distinct = table.select("key").unique().sort("key")
    groups = [
        rf.curve(
            table.filter(pl.col("key").eq_missing(distinct["key"][i : i + 1])),
            "label",
            "score",
            thresholds=thresholds,
        )
        for i in range(distinct.height)
    ]
    assert_frame_equal(curve.drop("key"), pl.concat(groups), check_exact=True)
    lengths = [group.height for group in groups]
    places = [i for i, length in enumerate(lengths) for _ in range(length)]
    assert_frame_equal(curve.select("key"), distinct[places])
    # The curve table opens again, whatever its keys are.
    assert rf.area(curve).height == len(groups) if thresholds is None else True
    assert rf.at(curve, threshold=0.5).height == len(groups)


@given(table=tables())
def test_a_curve_equals_the_counts_at_each_score(table):
    actual = rf.curve(table, "label", "score", by="group").drop("fpr", "tpr")
    expected = oracles.curve_table(oracles.by_group(table))
    expected = expected.cast({"threshold": oracles.threshold_dtype(table)})
    assert_frame_equal(actual, expected, check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@examples(1 / 4)
@given(data=st.data())
def test_scores_of_every_shape_are_counted_alike(shape, data):
    table = data.draw(tables(shape=shape, missing=True, min_size=3))
    actual = rf.curve(table, "label", "score", by="group", missing="worst").drop("fpr", "tpr")
    expected = oracles.curve_table(oracles.by_group(table))
    expected = expected.cast({"threshold": oracles.threshold_dtype(table)})
    assert_frame_equal(actual, expected, check_exact=True)


@given(table=tables(missing=True, mass={"count": COUNTS}))
def test_missing_worst_adds_the_unscored_to_every_row(table):
    actual = rf.curve(table, "label", "score", by="group", count="count", missing="worst")
    expected = oracles.curve_table(oracles.by_group(table))
    expected = expected.cast({"threshold": oracles.threshold_dtype(table)})
    assert_frame_equal(actual.drop("fpr", "tpr"), expected, check_exact=True)


@given(table=tables(missing=True, mass={"count": COUNTS}))
def test_missing_drop_counts_the_scored_only(table):
    actual = rf.curve(table, "label", "score", by="group", count="count", missing="drop")
    groups = oracles.by_group(table)
    scored = {name: [c for c in every if c.score is not None] for name, every in groups.items()}
    expected = oracles.curve_table(scored).cast({"threshold": oracles.threshold_dtype(table)})
    assert_frame_equal(actual.drop("fpr", "tpr"), expected, check_exact=True)


@given(table=tables(missing=True, mass={"weight": EXACT_WEIGHTS, "count": COUNTS}))
def test_weights_are_added_up(table):
    # Quarters add up exactly in Float64.
    actual = rf.curve(
        table, "label", "score", by="group", weight="weight", count="count", missing="worst"
    )
    expected = oracles.curve_table(oracles.by_group(table), whole=False)
    expected = expected.cast({"threshold": oracles.threshold_dtype(table)})
    assert_frame_equal(actual.drop("fpr", "tpr"), expected, check_exact=True)


@given(table=tables(mass={"weight": ANY_WEIGHTS}))
def test_weights_of_any_size_are_added_up_to_rounding(table):
    actual = rf.curve(table, "label", "score", by="group", weight="weight")
    expected = oracles.curve_table(oracles.by_group(table), whole=False)
    expected = expected.cast({"threshold": oracles.threshold_dtype(table)})
    # 24 additions of numbers up to 10 round by less than 1e-13.
    assert_frame_equal(actual.drop("fpr", "tpr"), expected, rel_tol=0, abs_tol=1e-13)
    last = actual.group_by("group").last()
    assert set(last["tpr"].drop_nulls()) | set(last["fpr"].drop_nulls()) <= {1.0}


@given(
    table=tables(missing=True, mass={"weight": EXACT_WEIGHTS}),
    thresholds=st.lists(st.sampled_from([-INF, -1.0, -0.0, 0.0, 0.3, 0.5, 1.0, INF]), max_size=6),
    seed=st.integers(0, 9),
)
def test_given_thresholds_are_counted_by_definition(table, thresholds, seed):
    actual = rf.curve(
        shuffled(table, seed),
        "label",
        "score",
        by="group",
        weight="weight",
        missing="worst",
        thresholds=thresholds,
    )
    rows = []
    for name, every in oracles.by_group(table).items():
        rows.append((name, *oracles.point(every, INF, above_all=True)))
        given = {oracles.rounded(t, table) + 0.0 for t in thresholds}
        if not any(case.score == INF for case in every):
            given -= {INF}
        rows += [(name, *oracles.point(every, t)) for t in sorted(given, reverse=True)]
    schema = {"group": pl.String, **dict.fromkeys(WALK, pl.Float64)}
    rows = [(name, *map(float, numbers)) for name, *numbers in rows]
    expected = pl.DataFrame(rows, schema=schema, orient="row")
    expected = expected.cast({"threshold": oracles.threshold_dtype(table)})
    assert_frame_equal(actual.select("group", *WALK), expected, check_exact=True)


def test_the_given_threshold_inf_counts_the_scores_of_inf(frame):
    table = frame({"g": ["a", "a", "b", "b"], "label": [1, 0, 1, 0], "score": [INF, 1, 1, 0]})
    given = rf.curve(table, "label", "score", by="g", thresholds=[INF])
    points = rf.at(rf.curve(table, "label", "score", by="g"), threshold=INF)
    assert given.lazy().collect().select("g", *WALK).rows() == [
        ("a", INF, 0, 0, 1, 1),
        ("a", INF, 1, 0, 0, 1),
        ("b", INF, 0, 0, 1, 1),
    ]
    for curves in (given, rf.curve(table, "label", "score", by="g", thresholds=[INF, 0.5])):
        found = rf.at(curves, threshold=INF).lazy().collect().select("g", *WALK)
        assert_frame_equal(found, points.lazy().collect().select("g", *WALK))


def test_given_thresholds_count_without_groups_and_with_counts():
    table = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.5, 0.1], "n": [2**40, 3, 2**60]})
    actual = rf.curve(table, "label", "score", count="n", thresholds=[0.5, 2.0, 0.0, 0.5])
    expected = counts(
        [
            (INF, 0, 0, 2**60 + 2**40, 3),
            (2.0, 0, 0, 2**60 + 2**40, 3),
            (0.5, 2**40, 3, 2**60, 0),
            (0.0, 2**60 + 2**40, 3, 0, 0),
        ]
    )
    assert_frame_equal(actual.select(WALK), expected)


def test_given_thresholds_are_counted_in_a_table_with_the_only_key_nan():
    table = pl.DataFrame({"g": [math.nan], "label": [1], "score": [0.9]})
    actual = rf.curve(table, "label", "score", by="g", thresholds=[0.5])
    expected = counts([(INF, 0, 0, 1, 0), (0.5, 1, 0, 0, 0)]).insert_column(
        0, pl.Series("g", [math.nan] * 2)
    )
    assert_frame_equal(actual.select("g", *WALK), expected)


def test_a_float32_score_is_compared_with_a_threshold_in_float32():
    table = pl.DataFrame([pl.Series("label", [1]), pl.Series("score", [0.1], pl.Float32)])
    above = math.nextafter(table["score"].cast(pl.Float64)[0], 1)
    curve = rf.curve(table, "label", "score", thresholds=[0.1, above, 0.11])
    assert curve["tp"].to_list() == [0, 0, 1]


def test_a_group_of_rows_with_count_0_keeps_its_first_row():
    table = pl.DataFrame({"g": ["a"], "label": [1], "score": [0.5], "mass": [0]})
    for role, kind in (("count", pl.Int64), ("weight", pl.Float64)):
        curve = rf.curve(table, "label", "score", by="g", **{role: "mass"})
        expected = pl.DataFrame(
            [("a", INF, 0, 0, 0, 0, None, None)],
            schema={
                "g": pl.String,
                "threshold": pl.Float64,
                **dict.fromkeys(["tp", "fp", "fn", "tn"], kind),
                "fpr": pl.Float64,
                "tpr": pl.Float64,
            },
            orient="row",
        )
        assert_frame_equal(curve, expected)


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["drop", "worst"])
@given(table=tables(missing=True, mass={"weight": ANY_WEIGHTS}))
def test_weighted_counts_at_given_thresholds_are_those_of_the_full_curve(table, missing):
    options = {"by": "group", "weight": "weight", "missing": missing}
    infinite = pl.col("score").cast(pl.Float64).is_infinite().fill_null(False)
    table = table.filter(~infinite)
    full = rf.curve(table, "label", "score", **options)
    edges = [edge for edge in full["threshold"].unique() if math.isfinite(edge)]
    fixed = rf.curve(table, "label", "score", thresholds=edges, **options)
    assert fixed.select((pl.col("fp", "tn", "tp", "fn") >= 0).all()).row(0) == (True,) * 4
    ends = fixed.group_by("group").agg(pl.col("fpr").last())
    if edges:
        lowest = fixed.filter(pl.col("threshold") == min(edges))
        assert lowest["fpr"].drop_nulls().to_list() == [1.0] * lowest["fpr"].drop_nulls().len()
    joined = full.join(fixed, on=["group", "threshold"], nulls_equal=True)
    for name in ("tp", "fp", "fn", "tn"):
        # Sums of the same floats in another order.
        assert_frame_equal(
            joined.select(name), joined.select(pl.col(f"{name}_right").alias(name)), abs_tol=1e-9
        )
    assert ends.height == full["group"].n_unique()


def test_an_undefined_expression_is_null_not_nan():
    own = (pl.col("tp") / (pl.col("tp") + pl.col("fp"))).alias("own")
    table = rf.curve(
        pl.DataFrame({"label": [1, 0], "score": [2, 1]}), "label", "score", metrics=own
    )
    assert table["own"].to_list() == [None, 1.0, 0.5]


@pytest.mark.parametrize(
    ("expr", "problem"),
    [
        (pl.col("tp").filter(pl.col("tp") > 1), "the expression cannot be computed for each row"),
        (pl.col("tp").get(2), "the expression cannot be computed for each row separately: "),
    ],
)
def test_an_expression_with_another_number_of_rows_raises_an_error(expr, problem):
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [4, 3, 2, 1]})
    with pytest.raises(rf.OptionValueError) as caught:
        rf.curve(rows, "label", "score", metrics=expr.alias("new"))
    assert str(caught.value).startswith(f"metrics='new': {problem}")


@pytest.mark.parametrize("weight", [None, "weight"])
def test_an_expression_may_return_any_type(frame, weight):
    rows = frame({"label": [1, 0, 1], "score": [3, 2, 1], "weight": [1.0, 1.0, 1.0]})
    metrics = [
        pl.when(pl.col("tpr") > 0.6).then(pl.lit("high")).otherwise(pl.lit("low")).alias("zone"),
        pl.struct("tp", "fp").alias("both"),
        pl.col("tp").cast(pl.UInt8).alias("small"),
        pl.col("tp").cast(pl.Int64).bitwise_count_ones().alias("ones"),
        pl.lit(None).alias("nothing"),
    ]
    table = rf.curve(rows, "label", "score", weight=weight, metrics=metrics).lazy().collect()
    count = int if weight is None else float
    assert table["zone"].to_list() == ["low", "low", "low", "high"]
    assert table["both"].to_list() == [
        {"tp": count(tp), "fp": count(fp)} for tp, fp in ((0, 0), (1, 0), (1, 1), (2, 1))
    ]
    assert table["small"].to_list() == [0, 1, 1, 2]
    assert table["ones"].to_list() == [0, 1, 1, 1]
    assert table["nothing"].to_list() == [None] * 4


def test_an_expression_of_integers_is_computed_from_integer_counts():
    rows = pl.DataFrame({"label": [1, 0, 1], "score": [3, 2, 1]})
    ones = pl.col("tp").bitwise_count_ones().alias("ones")
    assert rf.curve(rows, "label", "score", metrics=ones)["ones"].to_list() == [0, 1, 1, 1]


def test_an_expression_may_contain_the_two_rates_and_the_group_columns():
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [4, 3, 2, 1], "g": list("aabb")})
    youden = (pl.col("tpr") - pl.col("fpr")).alias("youden_index")
    cost = (pl.col("fp") * pl.when(g="a").then(2).otherwise(3)).alias("cost")
    table = rf.curve(rows, "label", "score", by="g", metrics=[youden, cost])
    assert table["youden_index"].to_list() == [0.0, 1.0, 0.0] * 2
    assert table["cost"].to_list() == [0, 0, 2, 0, 0, 3]


def test_a_metric_may_use_the_model_column_of_a_list_of_scores():
    rows = pl.DataFrame({"label": [1, 0], "a": [2, 1]})
    own = pl.col("model").alias("own")
    assert rf.curve(rows, "label", ["a"], metrics=own)["own"].to_list() == ["a"] * 3
