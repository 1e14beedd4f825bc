"""Tests of `compress`: merged rows, rounded scores, and the bounds of the exact AUC."""

from __future__ import annotations

import os
from fractions import Fraction
from math import floor, frexp, inf, nan

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.strategies import examples

LIMIT = "POLARS_MAX_HOT_TABLE_SIZE"
RESOLUTIONS = [1e-3, 0.1, 0.25, 1.0, 3.0, 1e6]
SCORES = st.one_of(
    st.sampled_from([0.0, -0.0, 0.25, -0.25, 1.0, -1.0, -2.0, inf, -inf, 5e-324, -5e-324, 1e300]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-3, 3),
)


def sample(n: int = 400, seed: int = 0) -> pl.DataFrame:
    """Return predictions of three groups with ties, null scores and null labels."""
    rng = np.random.default_rng(seed)
    label = rng.random(n) < 0.4
    score = np.round(rng.normal(size=n) + label, 2)
    frame = pl.DataFrame({"g": rng.choice(["a", "b", ""], n), "label": label, "score": score})
    return frame.with_columns(
        pl.when(pl.col("g") != "").then("g"),
        pl.when(pl.int_range(n) % 29 > 0).then("score"),
        pl.when(pl.int_range(n) % 37 > 0).then("label"),
    )


def lowest_edge(score: float, resolution: float, *, relative: bool) -> Fraction:
    """Return the lower edge of the cell of a score in exact arithmetic."""
    step = Fraction(2) ** (frexp(resolution)[1] - 1)
    if relative and score:
        step *= Fraction(2) ** (frexp(abs(score))[1] - 1)
    return step * floor(Fraction(score) / step)


@given(scores=st.lists(SCORES, min_size=1, max_size=20), resolution=st.sampled_from(RESOLUTIONS))
def test_scores_are_rounded_down_to_multiples_of_the_resolution(scores, resolution):
    frame = pl.DataFrame({"label": [True] * len(scores), "score": scores})
    cells = rf.compress(frame, "label", "score", resolution=resolution)
    finite = [score for score in scores if abs(score) < inf]
    edges = {lowest_edge(score, resolution, relative=False) for score in finite}
    found = cells.filter(pl.col("score").is_finite())
    assert {Fraction(edge) for edge in found["score"]} == edges
    step = 2.0 ** (frexp(resolution)[1] - 1)
    assert set(found["score_width"]) <= {0.0, step}
    # A cell of width 0 is a single number of Float64.
    assert all(abs(edge) >= 2**53 * step for edge in found.filter(score_width=0.0)["score"])
    assert cells["count"].sum() == len(scores)


@pytest.mark.slow
@examples(0.4)
@given(
    scores=st.lists(SCORES, min_size=1, max_size=20), resolution=st.sampled_from([3e-16, 0.01, 0.5])
)
def test_relative_cells_contain_their_scores_and_do_not_overlap(scores, resolution):
    frame = pl.DataFrame({"label": [True] * len(scores), "score": scores})
    options = {"resolution": resolution, "relative": True}
    cells = rf.compress(frame, "label", "score", **options).sort("score")
    ordinary = [score for score in scores if 1e-290 < abs(score) < 1e290]
    edges = {lowest_edge(score, resolution, relative=True) for score in ordinary}
    between = cells.filter(pl.col("score").abs().is_between(1e-290, 1e290))
    assert {Fraction(edge) for edge in between["score"]} == edges
    ends = [Fraction(edge) + Fraction(width) for edge, width in between[:, 1:3].iter_rows()]
    edges = [Fraction(edge) for edge in between["score"]]
    assert all(end <= edge for end, edge in zip(ends, edges[1:], strict=False))
    for score in map(Fraction, ordinary):
        cell = max(i for i, edge in enumerate(edges) if edge <= score)
        assert score == edges[cell] or score < ends[cell]
        assert ends[cell] - edges[cell] <= resolution * abs(score)
    again = rf.compress(cells, "label", "score", count="count", **options)
    assert_frame_equal(again.sort("score"), cells)
    assert_frame_equal(rf.compress(cells, "label", "score", count="count").sort("score"), cells)


@pytest.mark.parametrize("missing", ["drop", "worst"])
def test_functions_return_the_same_results_for_compressed_predictions(missing):
    frame = sample().filter(pl.col("label").is_not_null())
    cells = rf.compress(frame, "label", "score", by="g")
    assert cells.height < frame.height
    assert cells.columns == ["g", "label", "score", "score_width", "count"]
    for function in (rf.curve, rf.auc):
        roles = {"by": "g", "missing": missing}
        exact = function(frame, "label", "score", **roles)
        assert_frame_equal(function(cells, "label", "score", count="count", **roles), exact)
    assert_frame_equal(
        rf.summary(cells, "label", "score", count="count", missing="drop"),
        rf.summary(frame, "label", "score", missing="drop"),
        abs_tol=1e-14,
    )


@pytest.mark.slow
@given(seed=st.integers(0, 10**6), share=st.floats(0, 1), resolution=st.sampled_from([None, 0.1]))
def test_compressed_parts_combine_to_the_compressed_table(seed, share, resolution):
    frame = sample(60, seed)
    parts = frame.head(int(share * 60)), frame.tail(60 - int(share * 60))
    options = {"by": "g", "resolution": resolution}
    tables = [rf.compress(part, "label", "score", **options) for part in parts]
    combined = rf.compress(pl.concat(tables), "label", "score", by="g", count="count")
    assert_frame_equal(combined, rf.compress(frame, "label", "score", **options))


def test_parts_with_different_resolutions_are_rounded_to_the_widest_cells_of_each_group():
    frame = sample()
    fine = rf.compress(frame.head(200), "label", "score", by="g", resolution=0.01)
    coarse = frame.tail(200).filter(pl.col("g") == "a")
    coarse = rf.compress(coarse, "label", "score", by="g", resolution=0.5)
    combined = rf.compress(pl.concat([fine, coarse]), "label", "score", by="g", count="count")
    rows = pl.concat([frame.head(200), frame.tail(200).filter(pl.col("g") == "a")])
    for group, resolution in (("a", 0.5), ("b", 0.01)):
        expected = rf.compress(
            rows.filter(g=group), "label", "score", by="g", resolution=resolution
        )
        assert_frame_equal(combined.filter(g=group), expected)


@pytest.mark.slow
@examples(0.4)
@given(seed=st.integers(0, 10**6), resolution=st.sampled_from([0.01, 0.3, 2]))
def test_points_of_rounded_scores_are_points_of_the_exact_curve(seed, resolution):
    frame = sample(80, seed).drop_nulls()
    for relative in (False, True):
        cells = rf.compress(
            frame, "label", "score", resolution=min(resolution, 0.9), relative=relative
        )
        points = rf.curve(cells, "label", "score", count="count")
        # The row of `at` is the result of predicting `score >= threshold`.
        curve = rf.curve(frame, "label", "score")
        exact = rf.at(curve, threshold=points["threshold"].to_list())
        counts = ["tp", "fp", "fn", "tn"]
        assert_frame_equal(points.select(counts), exact.select(counts), check_row_order=False)
        area, bounds = (
            rf.auc(frame, "label", "score"),
            rf.auc(cells, "label", "score", count="count"),
        )
        exact_auc = area["auc"].item()
        if exact_auc is not None:
            assert bounds["auc_pessimistic"].item() <= area["auc_pessimistic"].item()
            assert area["auc_optimistic"].item() <= bounds["auc_optimistic"].item()
            assert bounds["auc_pessimistic"].item() <= exact_auc <= bounds["auc_optimistic"].item()


def test_max_envelope_finds_the_coarsest_resolution_of_each_group():
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({"g": np.repeat([0, 1, 2], 500), "label": rng.random(1500) < 0.5})
    scale = np.repeat([1e-6, 1, 1e4], 500)
    frame = frame.with_columns(score=scale * (rng.normal(size=1500) + frame["label"].to_numpy()))
    cells = rf.compress(frame, "label", "score", by="g", max_envelope=0.01)

    def envelopes(resolution):
        table = [
            rf.compress(part, "label", "score", by="g", resolution=step)
            for part, step in zip(frame.partition_by("g"), resolution, strict=True)
        ]
        areas = rf.auc(pl.concat(table), "label", "score", by="g", count="count")
        return areas["auc_optimistic"] - areas["auc_pessimistic"]

    widths = cells.group_by("g").agg(pl.col("score_width").max()).sort("g")["score_width"]
    assert (envelopes(widths) <= 0.01).all()
    assert (envelopes(2 * widths) > 0.01).all()
    lazy = rf.compress(frame.lazy(), "label", "score", by="g", max_envelope=0.01)
    assert lazy.collect_schema() == cells.schema
    assert_frame_equal(lazy.collect(), cells)
    # The ties in the data exceed the envelope, so the scores are not rounded.
    tied = pl.DataFrame({"label": [0, 1, 0, 1], "score": [0.1, 0.1, 0.3, 0.4]})
    exact = rf.compress(tied, "label", "score")
    assert_frame_equal(rf.compress(tied, "label", "score", max_envelope=0.01), exact)


def test_a_single_huge_score_does_not_prevent_max_envelope_from_rounding_the_others():
    frame = sample().drop("g").with_columns(pl.col("score") / 8)
    outlier = pl.DataFrame({"label": [True], "score": [1e30]})
    table = rf.compress(pl.concat([frame, outlier]), "label", "score", max_envelope=0.01)
    alone = rf.compress(frame, "label", "score", max_envelope=0.01)
    exact = rf.compress(frame, "label", "score")
    assert alone.height <= table.height < exact.height
    area = rf.auc(table, "label", "score", count="count", missing="drop").row(0, named=True)
    assert 0 < area["auc_optimistic"] - area["auc_pessimistic"] <= 0.01


def test_max_envelope_converts_integers_and_decimals_to_float64(frame):
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [5, 5, 7, 7]})
    exact = rf.compress(rows.cast({"score": pl.Float64}), "label", "score", max_envelope=0.001)
    assert exact["score"].to_list() == [7.0, 7.0, 5.0, 5.0]
    for dtype in (pl.Int8, pl.UInt64, pl.Decimal(10, 2), pl.Float32):
        table = frame(rows.cast({"score": dtype}))
        found = rf.compress(table, "label", "score", max_envelope=0.001).lazy().collect()
        assert_frame_equal(found, exact)
    # Scores that are rounded need not be exact, also if another group has exact scores.
    rounded = pl.DataFrame(
        {"label": [1, 0] * 500, "score": 2**60 + 1 + pl.int_range(1000, eager=True) * 2**45}
    )
    groups = pl.concat([rounded.with_columns(g=1), rows.with_columns(g=2)])
    found = rf.compress(frame(groups), "label", "score", by="g", max_envelope=0.01)
    alone = rf.compress(rounded, "label", "score", max_envelope=0.01)
    assert_frame_equal(found.lazy().collect().filter(g=1).drop("g"), alone)


def test_max_envelope_accepts_the_largest_numbers_of_float64():
    frame = pl.DataFrame({"label": [1, 0, 1, 0], "score": [1.7e308, -1.7e308, 0.5, 0.3]})
    table = rf.compress(frame, "label", "score", max_envelope=0.3)
    assert table["count"].sum() == 4
    assert table["score"].is_finite().all()
    area = rf.auc(table, "label", "score", count="count").row(0, named=True)
    assert area["auc_pessimistic"] <= 1 <= area["auc_optimistic"] <= area["auc_pessimistic"] + 0.3


def test_exact_scores_of_zero_are_combined_with_cells_that_begin_at_zero():
    exact = pl.DataFrame({"label": [True, False], "score": [0.0, 5e-324]})
    rounded = pl.DataFrame({"label": [True, False], "score": [0.1, 0.2]})
    parts = [rf.compress(exact, "label", "score")]
    parts.append(rf.compress(rounded, "label", "score", resolution=0.25))
    expected = rf.compress(pl.concat([exact, rounded]), "label", "score", resolution=0.25)
    assert_frame_equal(rf.compress(pl.concat(parts), "label", "score", count="count"), expected)


def test_several_scores_are_merged_if_all_are_equal_and_can_still_be_compared():
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"label": rng.random(300) < 0.5})
    frame = frame.with_columns(
        a=np.round(rng.normal(size=300) + frame["label"].to_numpy(), 1),
        b=np.round(rng.normal(size=300), 1),
    )
    cells = rf.compress(frame, "label", ["a", "b"])
    assert cells.columns == ["label", "a", "b", "score_width", "count"]
    assert cells.height < 300
    exact = rf.compare(frame, "label", ["a", "b"])
    assert_frame_equal(rf.compare(cells, "label", ["a", "b"], count="count"), exact)
    rounded = rf.compress(frame, "label", ["a", "b"], resolution=0.5)
    assert rounded["score_width"].to_list() == [0.5] * rounded.height


def test_values_that_are_equal_in_floating_point_are_one_cell_and_nan_is_missing():
    frame = pl.DataFrame(
        {"label": [0.0, 1.0, nan, 1.0, 0.0, None], "score": [0.0, nan, 1.0, -0.0, -0.0, None]}
    )
    cells = rf.compress(frame, "label", "score")
    assert cells.rows() == [
        (None, 1.0, 0.0, 1),
        (True, 0.0, 0.0, 1),
        (False, 0.0, 0.0, 2),
        (True, None, None, 1),
        (None, None, None, 1),
    ]
    assert str(cells["score"][1]) == "0.0"


def test_integers_and_decimals_keep_their_dtype_unless_they_are_rounded():
    for dtype, remaining in (
        (pl.UInt8, pl.Int64),
        (pl.UInt64, pl.UInt64),
        (pl.Decimal(9, 3), pl.Decimal(9, 3)),
        (pl.Float16, pl.Float32),
        (pl.Float32, pl.Float32),
        (pl.Boolean, pl.Float64),
    ):
        frame = pl.DataFrame({"label": [True, False], "score": pl.Series([1, 0]).cast(dtype)})
        assert rf.compress(frame, "label", "score").schema["score"] == remaining
        rounded = rf.compress(frame, "label", "score", resolution=4)
        assert rounded.rows() == [(True, 0.0, 4.0, 1), (False, 0.0, 4.0, 1)]


def test_compressed_tables_with_different_float_dtypes_cannot_be_concatenated():
    """Float32 0.7 is below Float64 0.7, so that equal scores would not be tied."""
    log = pl.DataFrame({"label": [True, False], "score": [0.7, 0.7]})
    narrow = rf.compress(log.cast({"score": pl.Float32}), "label", "score")
    again = rf.compress(narrow, "label", "score", count="count")
    assert_frame_equal(again, narrow)
    with pytest.raises(pl.exceptions.SchemaError):
        pl.concat([narrow, rf.compress(log, "label", "score")])
    both = pl.concat([narrow, rf.compress(log.cast({"score": pl.Float32}), "label", "score")])
    assert rf.auc(both, "label", "score", count="count")["auc"].item() == 0.5


def test_only_rows_with_equal_weights_are_merged():
    frame = pl.DataFrame({"label": [1, 1, 1, 0], "score": [0.5] * 4, "w": [1.0, 2.0, 2.0, 1.0]})
    cells = rf.compress(frame, "label", "score", weight="w", resolution=0.1)
    assert cells.columns == ["label", "score", "score_width", "weight", "count"]
    assert cells["weight"].to_list() == [2.0, 1.0, 1.0]
    assert cells["count"].to_list() == [2, 1, 1]


def test_a_lazy_frame_is_compressed_by_polars_alone():
    lazy = rf.compress(sample().lazy(), "label", "score", by="g", resolution=0.1)
    assert "PYTHON" not in lazy.explain()
    eager = rf.compress(sample(), "label", "score", by="g", resolution=0.1)
    for engine in ("streaming", "in-memory"):
        assert_frame_equal(lazy.collect(engine=engine), eager)
    assert_frame_equal(lazy.filter(g="a").collect(), eager.filter(g="a"))
    assert_frame_equal(lazy.head(3).collect(), eager.head(3))
    text = sample().with_columns(pl.col("label").replace_strict({True: "yes", False: "no"}))
    by_text = rf.compress(text.lazy(), "label", "score", by="g", positive="yes", resolution=0.1)
    assert_frame_equal(by_text.filter(g="a").head(3).collect(), eager.filter(g="a").head(3))


def test_the_largest_sum_of_counts_is_exact():
    data = {"label": [1, 1], "score": [1.0, 1.0], "n": [2**62, 2**62 - 1]}
    for dtype in (pl.Int64, pl.UInt64):
        frame = pl.DataFrame(data, schema_overrides={"n": dtype})
        for table in (frame, frame.to_arrow()):
            counts = rf.compress(table, "label", "score", count="n")["count"]
            assert counts.to_list() == [2**63 - 1]


@pytest.mark.parametrize("function", [rf.auc, rf.compress])
def test_a_selector_of_scores_may_exclude_the_widths(function):
    cells = rf.compress(sample(), "label", "score", resolution=0.1)
    options = {"count": "count", "missing": "drop"} if function is rf.auc else {"count": "count"}
    others = cs.float() - cs.by_name("score_width")
    expected = function(cells, "label", ["score"], **options)
    assert_frame_equal(function(cells, "label", others, **options), expected)


@pytest.mark.parametrize(("before", "after"), [(None, "4194304"), ("1000", "1000")])
def test_the_hash_table_of_polars_is_enlarged_unless_the_user_has_set_its_size(
    monkeypatch, before, after
):
    monkeypatch.setenv(LIMIT, before or "")
    if before is None:
        monkeypatch.delenv(LIMIT)
    frame = pl.DataFrame({"label": [1], "score": [1]})
    rf.compress(frame, "label", "score")
    assert os.environ.get(LIMIT) == before
    rf.compress(frame.lazy(), "label", "score")
    assert os.environ[LIMIT] == after


@pytest.mark.parametrize(
    ("scores", "widths"),
    [
        ([3e306, -4.8e291], [0.0, 2.0**966]),  # scores of 2^970 and more are not rounded
        ([-0.999 * 2.0**970], [2.0**967]),
        ([2.0**970, 0.999 * 2.0**970], [0.0, 2.0**967]),
    ],
)
def test_a_relative_resolution_of_very_large_scores_is_read(scores, widths):
    table = pl.DataFrame({"label": [True] * len(scores), "score": scores})
    cells = rf.compress(table, "label", "score", resolution=0.25, relative=True)
    assert cells["score_width"].to_list() == widths
    for score, (edge, width) in zip(
        sorted(scores), cells.select("score", "score_width").sort("score").rows(), strict=True
    ):
        assert edge <= score <= edge + width
    assert_frame_equal(rf.compress(cells, "label", "score", count="count"), cells)
    assert rf.auc(cells, "label", "score", count="count")["n_pos"].item() == len(scores)
