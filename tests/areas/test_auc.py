"""`auc`: hand-computed tables, comparison with all pairs, and relations between areas."""

from __future__ import annotations

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import stats

import rocframe as rf
from tests import oracles
from tests.strategies import ANY_WEIGHTS, COUNTS, EXACT_WEIGHTS, SHAPES, examples, tables

AREAS = ["auc", "auc_pessimistic", "auc_optimistic"]
SCHEMA = {
    "auc": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "se": pl.Float64,
    "auc_pessimistic": pl.Float64,
    "auc_optimistic": pl.Float64,
    "n_pos": pl.Int64,
    "n_neg": pl.Int64,
    "n_missing": pl.Int64,
    "ci_level": pl.Float64,
    "ci_method": pl.String,
    "note": pl.String,
}

NO_AREA = [None] * 6  # the area, its limits, its standard error and its envelope
NO_LIMITS = [0.95, None]  # level and method where there are none

# Of 2 times 2 pairs the positives win two and a half, and tie one.
PREDICTIONS = {"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.6]}


def grouped(table: pl.DataFrame, **more: object) -> pl.DataFrame:
    return rf.auc(table, "label", "score", by="group", **more)


def assert_same(left: pl.DataFrame, right: pl.DataFrame) -> None:
    assert_frame_equal(left, right, check_exact=True)


def test_an_auc_table_has_counts_areas_interval_and_note(frame):
    actual = rf.auc(frame(PREDICTIONS), "label", "score")
    # V10 = 1, 1/4; V01 = 3/4, 1/2: variance (9/32)/2 + (1/32)/2 = 5/32, on the logit scale.
    se = math.sqrt(5 / 32)
    # Satterthwaite: (9/64 + 1/64)² / ((9/64)² + (1/64)²) degrees of freedom.
    half = stats.t.ppf(0.975, 100 / 82) * se / (0.625 * 0.375)
    lower, upper = (1 / (1 + math.exp(-math.log(0.625 / 0.375) + way * half)) for way in (1, -1))
    row = [0.625, lower, upper, se, 0.5, 0.75, 2, 2, 0, 0.95, "logit_delong_newcombe", None]
    expected = frame(pl.DataFrame([row], schema=SCHEMA, orient="row"))
    assert_frame_equal(actual, expected, rel_tol=1e-14, abs_tol=0)  # of exp and log


def test_without_an_interval_its_columns_are_null(frame):
    actual = rf.auc(frame(PREDICTIONS), "label", "score", ci=None)
    row = [0.625, None, None, None, 0.5, 0.75, 2, 2, 0, None, None, None]
    expected = frame(pl.DataFrame([row], schema=SCHEMA, orient="row"))
    assert_frame_equal(actual, expected, check_exact=True)


NOTES = {
    "a no rows": ([None], [0.5], "no_rows"),
    "b no positives": ([0, 0], [0.5, 0.1], "no_positives"),
    "c no negatives": ([1, 1], [0.5, 0.1], "no_negatives"),
    "d one positive": ([1, 0, 0], [0.5, 0.1, 0.7], "one_positive"),
    "e one negative": ([1, 1, 0], [0.5, 0.1, 0.2], "one_negative"),
    "f constant": ([1, 1, 0, 0], [0.5] * 4, "zero_variance"),
    "g perfect": ([1, 1, 0, 0], [0.5, 0.6, 0.1, 0.2], "zero_variance"),
    "h fine": ([1, 1, 0, 0], [0.5, 0.1, 0.1, 0.2], None),
}


def noted() -> pl.DataFrame:
    rows = [
        (group, label, score)
        for group, (labels, scores, _) in NOTES.items()
        for label, score in zip(labels, scores, strict=True)
    ]
    return pl.DataFrame(rows, schema=["group", "label", "score"], orient="row")


def test_a_note_gives_the_reason_for_null_results():
    actual = grouped(noted(), missing="drop")
    expected = pl.DataFrame(
        {
            "group": list(NOTES),
            "n_pos": [0, 0, 2, 1, 2, 2, 2, 2],
            "n_neg": [0, 2, 0, 2, 1, 2, 2, 2],
            "n_missing": [1, 0, 0, 0, 0, 0, 0, 0],
            "auc": [None, None, None, 0.5, 0.5, 0.5, 1.0, 0.625],
            "note": [note for _, _, note in NOTES.values()],
        }
    )
    assert_frame_equal(actual.select(expected.columns), expected)
    assert actual["se"].is_null().to_list() == [True] * 7 + [False]
    # Where the variance is 0 there are limits at AUC 0 or 1 only, and they are Newcombe's.
    assert actual["ci_method"].to_list() == [None] * 6 + ["newcombe", "logit_delong_newcombe"]
    assert actual["lower"].is_null().to_list() == [True] * 6 + [False] * 2
    assert actual["ci_level"].to_list() == [0.95] * 8


def test_an_empty_table_has_one_row_without_by_and_none_with_it():
    empty = pl.DataFrame(schema={"group": pl.String, "label": pl.Boolean, "score": pl.Float64})
    row = [*NO_AREA, 0, 0, 0, *NO_LIMITS, "no_rows"]
    one = pl.DataFrame([row], schema=SCHEMA, orient="row")
    assert_same(rf.auc(empty, "label", "score"), one)
    none = pl.DataFrame(schema={"group": pl.String, **SCHEMA})
    assert_same(grouped(empty), none)
    models = rf.auc(empty, "label", {"b": "score", "a": "score"})
    assert_same(models, pl.concat([one, one]).select(pl.Series("model", ["a", "b"]), *one.columns))
    none = pl.DataFrame(schema={"group": pl.String, "model": pl.String, **SCHEMA})
    models = rf.auc(empty, "label", {"b": "score", "a": "score"}, by="group")
    assert_same(models, none)


def test_all_rows_missing_are_counted_and_leave_a_group():
    table = pl.DataFrame({"label": [1, 0, None], "score": [None, math.nan, 0.5]})
    actual = rf.auc(table, "label", "score", missing="drop")
    assert actual.row(0) == (*NO_AREA, 0, 0, 3, *NO_LIMITS, "no_rows")
    worst = rf.auc(table.head(2), "label", "score", missing="worst")
    assert worst.select("n_pos", "n_neg", "n_missing", *AREAS).row(0) == (1, 1, 2, 0.0, 0.0, 0.0)


def test_a_class_of_zero_weight_is_absent():
    table = pl.DataFrame({"label": [1, 1, 0], "score": [0.1, 0.3, 0.2], "w": [0.0, 0.0, 2.0]})
    actual = rf.auc(table, "label", "score", weight="w")
    assert actual.row(0) == (*NO_AREA, 0, 1, 0, *NO_LIMITS, "no_positives")
    actual = rf.auc(table.with_columns(w=pl.lit(0.0)), "label", "score", weight="w")
    assert actual.row(0) == (*NO_AREA, 0, 0, 0, *NO_LIMITS, "no_rows")


@given(table=tables())
def test_auc_and_its_tie_bounds_are_correctly_rounded_fractions_of_all_pairs(table):
    actual = grouped(table, ci=None)
    for row, every in zip(
        actual.iter_rows(named=True), oracles.by_group(table).values(), strict=True
    ):
        pos, neg = oracles.sides(every)
        assert (row["n_pos"], row["n_neg"], row["n_missing"]) == (len(pos), len(neg), 0)
        assert [row[name] for name in AREAS] == floats(oracles.areas(every))


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@examples(1 / 4)
@given(data=st.data())
def test_areas_are_exact_for_all_score_distributions(shape, data):
    table = data.draw(tables(shape=shape, missing=True, min_size=3))
    row = rf.auc(table, "label", "score", missing="worst", ci=None).row(0, named=True)
    assert [row[name] for name in AREAS] == floats(oracles.areas(oracles.cases(table)))


def floats(areas: oracles.Areas | None) -> list[float | None]:
    return [None] * 3 if areas is None else [float(area) for area in areas]


@given(table=tables(mass={"count": COUNTS, "weight": ANY_WEIGHTS}, missing=True))
def test_weighted_areas_equal_those_of_all_pairs_up_to_rounding(table):
    actual = grouped(table, weight="weight", count="count", missing="worst", ci=None)
    for row, every in zip(
        actual.iter_rows(named=True), oracles.by_group(table).values(), strict=True
    ):
        expected = floats(oracles.areas(every))
        # The design's 1e-12; sums of 24 weights round by far less.
        assert [row[name] for name in AREAS] == pytest.approx(expected, abs=1e-12)
        pos, neg = (sum(c.count for c in side) for side in oracles.sides(every))
        missing = sum(c.count for c in every if c.score is None)
        assert (row["n_pos"], row["n_neg"], row["n_missing"]) == (pos, neg, missing)


@given(table=tables(mass={"count": COUNTS}, missing=True))
def test_the_standard_error_is_delongs_from_exact_placement_values(table):
    actual = grouped(table, count="count", missing="worst", ci="delong")
    expected = [oracles.delong_variance(every) for every in oracles.by_group(table).values()]
    for se, variance in zip(actual["se"], expected, strict=True):
        # The variance is one exact quotient, rounded a few times; a variance of 0 is null.
        assert se == (pytest.approx(math.sqrt(variance), rel=1e-14) if variance else None)


@given(table=tables(mass={"count": COUNTS, "weight": ANY_WEIGHTS}, missing=True))
def test_the_weighted_standard_error_equals_the_formula_in_fractions(table):
    actual = grouped(table, count="count", weight="weight", missing="worst", ci="delong")
    expected = [oracles.delong_variance(every) for every in oracles.by_group(table).values()]
    for se, variance in zip(actual["se"], expected, strict=True):
        # Squares of placements cancel to an absolute 1e-15.
        assert se == (pytest.approx(math.sqrt(variance), rel=1e-9) if variance else None)


@given(table=tables(mass={"weight": EXACT_WEIGHTS}), power=st.sampled_from([-700, -300, 3, 400]))
def test_scaling_all_weights_by_a_power_of_two_changes_nothing(table, power):
    scaled = table.with_columns(pl.col("weight") * 2.0**power)
    assert_same(grouped(scaled, weight="weight"), grouped(table, weight="weight"))


@given(table=tables(missing=True, shape=SHAPES["tied"], min_size=4))
def test_missing_worst_ranks_unscored_positives_last_and_negatives_first(table):
    moved = table.with_columns(
        score=pl.when(pl.col("score").fill_nan(None).is_not_null())
        .then("score")
        .when("label")
        .then(-2.0)
        .otherwise(2.0)
    )
    left, right = grouped(table, missing="worst"), grouped(moved)
    assert_same(left.drop("n_missing"), right.drop("n_missing"))


@pytest.mark.parametrize("pos", [5e-324, 1e-160, 1e140])
@pytest.mark.parametrize("neg", [5e-324, 1e-300, 1e140])
def test_weights_of_any_magnitude_have_the_result_of_moderate_weights(pos, neg):
    rows = pl.DataFrame(
        {"label": [1, 0, 1, 0, 1], "score": [4, 4, 3, 2, 1], "w": [1.0, 2.0, 3.0, 1.0, 2.0]}
    )
    scaled = rows.with_columns(
        w=pl.col("w") * pl.when(pl.col("label") == 1).then(pos).otherwise(neg)
    )
    for options in ({}, {"fpr": (0, 0.4)}, {"ci": "bootstrap", "n_boot": 20, "seed": 1}):
        found = rf.auc(scaled, "label", "score", weight="w", **options)
        expected = rf.auc(rows, "label", "score", weight="w", **options)
        assert_frame_equal(found, expected, rel_tol=1e-13)
    assert found["auc"].null_count() == 0


def test_weights_of_other_groups_and_of_rows_without_a_label_do_not_change_an_area():
    rows = pl.DataFrame(
        {"label": [1, 0, 1, 0, 1], "score": [4, 4, 3, 2, 1], "w": [1.0, 2.0, 3.0, 1.0, 2.0]}
    )
    sizes = {"a": 1.0, "b": 1e-170, "c": 5e-324}
    groups = [rows.with_columns(pl.col("w") * size, g=pl.lit(g)) for g, size in sizes.items()]
    unlabeled = pl.DataFrame({"label": [None], "score": [2], "w": [1e140], "g": ["a"]})
    table = pl.concat([*groups, unlabeled], how="vertical_relaxed")
    for options in ({}, {"fpr": (0, 0.4)}, {"alert_rate": (0, 0.4), "ci": None}):
        found = rf.auc(table, "label", "score", by="g", weight="w", missing="drop", **options)
        expected = rf.auc(rows, "label", "score", weight="w", **options)
        for _, group in found.group_by("g"):
            assert_frame_equal(group.drop("g", "n_missing"), expected.drop("n_missing"))
