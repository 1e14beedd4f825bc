"""`band`: whole tables by hand, the options' errors, and properties of all bands."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.strategies import (
    ANY_WEIGHTS,
    COUNTS,
    PLAIN,
    TIED,
    examples,
    ranked,
    repeated,
    shuffled,
    tables,
)

SCHEMA = {
    "fpr": pl.Float64,
    "tpr": pl.Float64,
    "fpr_lower": pl.Float64,
    "fpr_upper": pl.Float64,
    "lower": pl.Float64,
    "upper": pl.Float64,
    "ci_level": pl.Float64,
    "scope": pl.String,
    "band": pl.String,
    "note": pl.String,
}
SCOPES = {
    "kolmogorov_smirnov": "simultaneous",
    "fixed_width": "simultaneous",
    "envelope": "simultaneous",
    "working_hotelling": "simultaneous",
    "bootstrap": "pointwise",
    "binomial": "pointwise",
    "threshold": "pointwise",
}
DRAWN = ["fixed_width", "envelope", "bootstrap"]
every_method = pytest.mark.parametrize("method", SCOPES)
drawn_methods = pytest.mark.parametrize("method", DRAWN)
few = examples(1 / 2)

PREDICTIONS = {"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.6]}


def band(frame, method="kolmogorov_smirnov", **options):
    options = {"n_boot": 40, "seed": 7} | options
    return rf.band(frame, "label", "score", method=method, **options)


def normal(n: int, groups: int = 1, seed: int = 0) -> pl.DataFrame:
    """Return groups of n positives and n negatives from two normal distributions."""
    rng = np.random.default_rng(seed)
    label = np.tile(np.repeat([True, False], n), groups)
    return pl.DataFrame(
        {
            "g": np.repeat(np.arange(groups), 2 * n),
            "label": label,
            "score": rng.normal(size=len(label)) + 1.5 * label,
        }
    )


def assert_same(left, right) -> None:
    assert_frame_equal(left, right, check_exact=True)


def test_a_band_table_has_a_row_per_point_of_the_grid(frame):
    actual = rf.band(frame(PREDICTIONS), "label", "score", method="binomial", grid=[1, 0, 0.25])
    # Wilson's limits of 1/2 and 1, of two positives; the curve has (0, 1/2), (1/2, 1/2), (1, 1).
    z = 1.959963984540054
    rows = []
    for fpr, tpr in ((0.0, 0.5), (0.25, 0.5), (1.0, 1.0)):
        middle, whole = tpr + z * z / 4, 1 + z * z / 2
        half = z * math.sqrt(tpr * (1 - tpr) / 2 + z * z / 16)
        limits = [(middle - half) / whole, min((middle + half) / whole, 1.0)]
        rows.append([fpr, tpr, None, None, *limits, 0.95, "pointwise", "binomial", None])
    expected = frame(pl.DataFrame(rows, schema=SCHEMA, orient="row"))
    assert_frame_equal(actual, expected, rel_tol=1e-14, abs_tol=0)


@every_method
def test_each_band_names_its_scope_and_method(method):
    result = band(normal(20), method)
    assert dict(result.schema) == SCHEMA
    assert set(result["scope"]) == {SCOPES[method]}
    assert set(result["band"]) == {method}
    assert result["note"].null_count() == result.height
    both = result.select(pl.col("fpr_lower", "fpr_upper").is_null().all()).row(0)
    assert both == (method != "threshold",) * 2


def test_the_grid_is_a_number_of_points_rates_or_the_curve():
    def rates(grid):
        return band(PREDICTIONS_FRAME, "binomial", grid=grid)["fpr"].to_list()

    assert rates(5) == [0, 0.25, 0.5, 0.75, 1]
    assert rates(101) == [i / 100 for i in range(101)]
    assert rates([0.3, 0.1, 0.3]) == [0.1, 0.3]
    assert rates(pl.Series([0.5])) == rates(np.array([0.5])) == [0.5]
    assert rates(np.int64(2)) == [0, 1]
    assert rates("curve") == [0, 0.5, 1]


PREDICTIONS_FRAME = pl.DataFrame(PREDICTIONS)


def test_tpr_is_linear_between_points_and_the_upper_end_of_a_step():
    result = band(PREDICTIONS_FRAME, "binomial", grid=[0, 0.2, 0.5, 0.6, 1])
    assert result["tpr"].to_list() == [0.5, 0.5, 0.5, 0.6, 1.0]


def test_each_rate_gives_the_lowest_threshold_that_does_not_exceed_it():
    result = band(PREDICTIONS_FRAME, "threshold", grid=[0, 0.2, 0.5, 0.7])
    assert result.select("fpr", "tpr").rows() == [(0, 0.5), (0.5, 0.5)]
    result = band(PREDICTIONS_FRAME, "threshold", grid="curve")
    assert result.select("fpr", "tpr").rows() == [(0, 0), (0, 0.5), (0.5, 0.5), (1, 1)]


BROKEN = {
    "a no rows": ([None], [0.5], "no_rows"),
    "b no positives": ([0, 0], [0.5, 0.1], "no_positives"),
    "c no negatives": ([1, 1], [0.5, 0.1], "no_negatives"),
    "d one positive": ([1, 0, 0], [0.5, 0.1, 0.7], "one_positive"),
    "e one negative": ([1, 1, 0], [0.5, 0.1, 0.2], "one_negative"),
    "f constant": ([1, 1, 0, 0], [0.5] * 4, "zero_variance"),
    "g perfect": ([1, 1, 0, 0], [0.5, 0.6, 0.1, 0.2], "zero_variance"),
    "h reversed": ([0, 0, 1, 1], [0.5, 0.6, 0.1, 0.2], "zero_variance"),
}


def broken() -> pl.DataFrame:
    rows = [
        (group, label, score)
        for group, (labels, scores, _) in BROKEN.items()
        for label, score in zip(labels, scores, strict=True)
    ]
    good = normal(20).select(pl.lit("i good").alias("g"), pl.col("label").cast(pl.Int64), "score")
    table = pl.DataFrame(rows, schema=["g", "label", "score"], orient="row")
    return pl.concat([table, good])


@every_method
def test_a_note_gives_the_reason_for_missing_limits(method):
    result = band(broken(), method, by="g", missing="drop", grid=3)
    absent = [note for _, _, note in BROKEN.values()][:3]
    few_rows = [note for _, _, note in BROKEN.values()][3:]
    if method == "working_hotelling":
        few_rows = ["no_solution"] * 5
    elif method not in DRAWN:
        few_rows = [None] * 5
    notes = result.group_by("g", maintain_order=True).agg(pl.col("note").unique())
    assert notes["note"].explode().to_list() == [*absent, *few_rows, None]
    nothing = result.filter(pl.col("note").is_not_null())
    assert (
        nothing.select("lower", "upper", "fpr_lower").null_count().row(0) == (nothing.height,) * 3
    )
    assert result.filter(pl.col("note").is_null())["lower"].null_count() == 0


@every_method
def test_degenerate_groups_do_not_change_other_groups(method):
    together = band(broken(), method, by="g", missing="drop", grid="curve")
    alone = band(broken().filter(g="i good"), method, by="g", grid="curve")
    assert_same(together.filter(g="i good"), alone)


@every_method
def test_a_group_without_a_class_keeps_its_points_or_one_row(method):
    groups = ["a no rows", "b no positives", "c no negatives"]
    rows = broken().filter(pl.col("g").is_in(groups))
    grid = band(rows, method, by="g", missing="drop", grid=3)
    own = band(rows, method, by="g", missing="drop", grid="curve")
    if method == "threshold":
        assert_same(grid, own)
    else:
        assert grid["fpr"].to_list() == [0, 0.5, 1] * 3
    assert own["g"].to_list() == groups
    for result in (grid, own):
        assert result["tpr"].null_count() == result.height


@every_method
def test_without_rows_there_is_one_group_or_none(method):
    empty = pl.DataFrame(schema={"g": pl.String, "label": pl.Boolean, "score": pl.Float64})
    row = [None, None, None, None, None, None, 0.95, SCOPES[method], method, "no_rows"]
    one = pl.DataFrame([row], schema=SCHEMA, orient="row")
    assert_same(band(empty, method, grid="curve"), one)
    none = pl.DataFrame(schema={"g": pl.String, **SCHEMA})
    assert_same(band(empty, method, by="g"), none)
    assert_same(band(empty, method, by="g", grid="curve"), none)


@pytest.mark.slow
@every_method
@few
@given(table=tables(mass={"count": COUNTS}, missing=True, max_size=16), seed=st.integers(0, 99))
def test_row_order_laziness_and_counts_do_not_change_the_band(method, table, seed):
    options = {"by": "group", "missing": "worst", "grid": [0, 0.3, 1], "n_boot": 9}
    whole = band(table, method, count="count", **options)
    lazy = band(shuffled(table, seed).lazy(), method, count="count", **options)
    assert_same(lazy.collect(), whole)
    rows = band(repeated(table, "count"), method, **options)
    assert_same(whole.join(rows, on="group", how="semi", nulls_equal=True), rows)


@pytest.mark.slow
@every_method
@few
@given(table=tables(shape=TIED, max_size=20), level=st.sampled_from([0.5, 0.9, 0.99]))
def test_limits_increase_and_are_in_order_between_0_and_1(method, table, level):
    result = band(table, method, by="group", level=level, grid=11)
    result = result.drop_nulls(["lower", "upper"])
    low, tpr, high = (result[name] for name in ("lower", "tpr", "upper"))
    assert ((low >= 0) & (low <= high) & (high <= 1)).all()
    if method != "bootstrap":  # its limits may exclude the estimate
        assert ((low <= tpr) & (tpr <= high)).all()
    steps = result.select(pl.col("lower", "tpr", "upper").diff().over("group")).drop_nulls()
    assert (steps.to_numpy() >= 0).all()


@every_method
def test_a_higher_level_makes_a_wider_band(method):
    narrow, wide = (band(normal(30), method, level=level) for level in (0.5, 0.95))
    assert (wide["lower"] <= narrow["lower"]).all()
    assert (wide["upper"] >= narrow["upper"]).all()
    assert (wide["upper"] - wide["lower"]).sum() > (narrow["upper"] - narrow["lower"]).sum()


@pytest.mark.slow
@every_method
@few
@given(table=tables(shape=PLAIN, min_size=8))
def test_an_increasing_map_of_the_scores_does_not_change_the_band(method, table):
    mapped = table.with_columns(ranked(table["score"]))
    assert_same(band(mapped, method, grid=5), band(table, method, grid=5))


@drawn_methods
def test_a_seed_gives_the_same_band_for_any_row_order_and_other_groups(method):
    rows = normal(15, groups=3)
    options = {"by": "g", "grid": 7}
    whole = band(rows, method, **options)
    assert_same(band(shuffled(rows, 1), method, **options), whole)
    alone = band(rows.filter(g=1), method, **options)
    assert_same(alone, whole.filter(g=1))
    assert not band(rows, method, seed=8, **options).equals(whole)
    # Two bands of few rows are equal by chance in about 1 of 60 trials.
    first, *others = (band(rows, method, seed=None, **options) for _ in range(6))
    assert not all(other.equals(first) for other in others)


@drawn_methods
def test_groups_with_equal_rows_have_different_draws(method):
    rows = normal(60)
    twice = pl.concat([rows, rows.with_columns(g=pl.lit(1, pl.Int64))])
    result = band(twice, method, by="g").partition_by("g", include_key=False)
    assert not result[0].equals(result[1])


@drawn_methods
def test_score_columns_draw_like_models_in_a_key_column(method):
    rows = normal(12).with_columns(other=pl.col("score") * -1)
    beside = rf.band(rows, "label", ["score", "other"], method=method, n_boot=30, seed=3)
    below = rows.unpivot(["score", "other"], index="label", variable_name="model")
    expected = rf.band(below, "label", "value", by="model", method=method, n_boot=30, seed=3)
    assert_same(beside, expected)


@drawn_methods
def test_the_number_of_threads_does_not_change_the_band(method, monkeypatch):
    rows = normal(200, groups=2)
    several = band(rows, method, by="g", n_boot=500)
    monkeypatch.setattr("rocframe.kernel.arrays.count_workers", lambda: 1)
    assert_same(band(rows, method, by="g", n_boot=500), several)


@drawn_methods
@few
@given(table=tables(shape=TIED, mass={"weight": ANY_WEIGHTS}, min_size=6), factor=st.floats(0.1, 9))
def test_scaling_all_weights_does_not_change_the_limits(method, table, factor):
    scaled = table.with_columns(pl.col("weight") * factor)
    left, right = (band(rows, method, weight="weight", grid=5) for rows in (table, scaled))
    assert_frame_equal(left, right, rel_tol=1e-9, abs_tol=1e-9)


@drawn_methods
def test_equal_weights_give_the_band_without_weights(method):
    rows = normal(10).with_columns(w=pl.lit(2.0))
    weighted = band(rows, method, weight="w", grid=5)
    assert_frame_equal(weighted, band(rows, method, grid=5), rel_tol=1e-9, abs_tol=1e-9)


@every_method
def test_unscored_rows_are_the_worst(method):
    rows = normal(12).with_columns(
        score=pl.when(pl.int_range(pl.len()) % 8 == 0).then(None).otherwise("score")
    )
    result = band(rows, method, missing="worst", grid=11)
    steps = result.select(pl.col("lower", "tpr", "upper").diff()).drop_nulls()
    assert (steps.to_numpy() >= 0).all()
    if method != "working_hotelling":  # which fits a curve from corner to corner
        # 2 of 12 positives have no score, nor have 1 or 2 of 12 negatives.
        assert result["tpr"].max() == 10 / 12
        assert result["tpr"][0] in {0.0, None} or method == "threshold"
