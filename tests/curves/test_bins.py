"""Numbers of positives and negatives with scores in each bin."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.curves.table import curve_layout, read_curves
from rocframe.curves.thinning import bin_edges, nice_step, score_bins

INF = float("inf")


def bins_of(predictions, **options):
    """Return the bins of the curves of predictions."""
    table = rf.curve(predictions, "label", "score", **options)
    columns = curve_layout(table.schema, None, ())
    return score_bins(read_curves(table.select(columns.all_columns), columns))


def edges_of(scores):
    """Return the edges for scores of which half belong to each class."""
    threshold = np.array([INF, *sorted(set(scores), reverse=True)])
    counts = np.arange(len(threshold), dtype=np.float64)
    return bin_edges(threshold, counts, counts).tolist()


def test_scores_between_0_and_1_have_twenty_bins_between_0_and_1():
    predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [1.0, 0.95, 0.5, 0.49]})
    bins = bins_of(predictions)
    assert bins["left"].to_list() == [place / 20 for place in range(20)]
    assert bins["right"].to_list() == [place / 20 for place in range(1, 21)]
    filled = bins.filter(pl.col("pos") + pl.col("neg") > 0)
    expected = pl.DataFrame(
        {
            "curve": [0, 0, 0],
            "bin": [9, 10, 19],
            "left": [0.45, 0.5, 0.95],
            "right": [0.5, 0.55, 1.0],
            "below": [False] * 3,
            "above": [False] * 3,
            "pos": [0, 1, 1],
            "neg": [1, 0, 1],
        }
    )
    assert_frame_equal(filled, expected)


def test_infinite_scores_are_in_the_outer_bins_which_say_so():
    predictions = pl.DataFrame(
        {"label": [1, 1, 0, 1, 0, 0], "score": [INF, 0.9, 0.9, 0.2, 0.2, -INF]}
    )
    bins = bins_of(predictions)
    outer = bins[[0, 4, -2, -1]].select("bin", "below", "above", "pos", "neg")
    expected = pl.DataFrame(
        {
            "bin": [0, 4, 18, 19],
            "below": [True, False, False, False],
            "above": [False, False, False, True],
            "pos": [0, 1, 1, 1],
            "neg": [1, 1, 1, 0],
        }
    )
    assert_frame_equal(outer, expected)


@pytest.mark.parametrize("score", [INF, -INF])
def test_without_a_finite_score_there_is_one_bin(score):
    bins = bins_of(pl.DataFrame({"label": [1, 0], "score": [score, score]}))
    assert bins.rows() == [(0, 0, 0.0, 1.0, score < 0, score > 0, 1, 1)]


@pytest.mark.parametrize(
    ("scores", "ends", "width"),
    [
        ([0.0, 1.0, 3.5], (0.0, 3.6), 0.2),
        ([-3.2, 0.1, 4.1], (-3.5, 4.5), 0.5),
        ([0.5, 1.0000001], (0.5, 1.05), 0.05),
        ([5.0], (5.0, 5.5), 0.5),
        ([-120.0, 80.0], (-120.0, 80.0), 10.0),
        ([1e308, -1e308], (-1e308, 1e308), 1e307),
    ],
)
def test_scores_outside_0_and_1_have_bins_with_round_edges(scores, ends, width):
    result = edges_of(scores)
    assert (result[0], result[-1]) == ends
    assert np.allclose(np.diff(result), width, rtol=1e-9)


def test_edges_are_short_decimals():
    assert edges_of([-0.3, 1.6]) == [float(f"{place / 10:.1f}") for place in range(-3, 17)]


def test_extreme_scores_do_not_put_all_others_into_one_bin():
    near = np.linspace(-2, 2, 401).tolist()
    result = edges_of([*near, 1e6, -1e9])
    assert -9 <= result[0] <= -8
    assert 8 <= result[-1] <= 9
    labels = [1, 0] * 201 + [1]
    bins = bins_of(pl.DataFrame({"label": labels, "score": [*near, 1e6, -1e9]}))
    assert bins.select("below", "above").filter("below").height == 1
    assert bins["pos"].sum() + bins["neg"].sum() == 403
    assert bins[0, "neg"] + bins[0, "pos"] == 1


def test_a_small_class_far_away_keeps_its_own_bins():
    labels = [1] * 5 + [0] * 1000
    scores = [3.0, 3.1, 3.2, 3.3, 3.4, *np.linspace(-9, -7, 1000)]
    bins = bins_of(pl.DataFrame({"label": labels, "score": scores}))
    assert not bins["above"].any()
    assert bins.filter(pl.col("left") >= 2)["pos"].sum() == 5


def test_scores_that_only_differ_in_their_last_digits_still_have_bins():
    result = edges_of([1e9, 1e9 + 1e-6])
    assert result == sorted(set(result))
    assert result[0] <= 1e9
    assert result[-1] >= 1e9 + 1e-6


@pytest.mark.parametrize(
    ("width", "rounded"), [(0.001, 0.001), (0.0011, 0.002), (0.3, 0.5), (2.2, 2.5), (7, 10)]
)
def test_a_nice_width_is_1_2_2_and_a_half_or_5_times_a_power_of_ten(width, rounded):
    assert float(nice_step(width)) == rounded


def test_each_curve_has_bins_of_its_own():
    predictions = pl.DataFrame(
        {"m": ["a", "a", "b", "b"], "label": [1, 0, 1, 0], "score": [0.3, 0.2, 30.0, -30.0]}
    )
    bins = bins_of(predictions, by="m")
    ends = bins.group_by("curve", maintain_order=True).agg(
        pl.col("left").min(), pl.col("right").max(), pl.col("pos", "neg").sum()
    )
    assert ends.rows() == [(0, 0.0, 1.0, 1, 1), (1, -30.0, 30.0, 1, 1)]


def test_no_curves_have_no_bins():
    empty = pl.DataFrame({"m": [], "label": [], "score": []}, schema_overrides={"label": bool})
    bins = bins_of(empty.cast({"score": pl.Float64, "m": pl.String}), by="m")
    assert bins.height == 0
    assert bins.columns == ["curve", "bin", "left", "right", "below", "above", "pos", "neg"]


def test_unscored_rows_are_in_no_bin():
    predictions = pl.DataFrame({"label": [1, 1, 0, 0], "score": [0.9, None, None, 0.1]})
    bins = bins_of(predictions, missing="worst")
    assert bins.select(pl.col("pos", "neg").sum()).row(0) == (1, 1)


scored = st.lists(
    st.tuples(
        st.booleans(),
        st.one_of(st.floats(allow_nan=False), st.sampled_from([0.0, 0.25, 0.5, 1.0, -1.0, 3.0])),
    ),
    min_size=1,
    max_size=30,
)


@given(rows=scored)
def test_bins_equal_a_count_row_by_row(rows):
    bins = bins_of(pl.DataFrame(rows, schema={"label": bool, "score": float}, orient="row"))
    for left, right, below, above, pos, neg, first, last in bins.select(
        "left",
        "right",
        "below",
        "above",
        "pos",
        "neg",
        first=pl.col("bin") == 0,
        last=pl.col("bin") == pl.len() - 1,
    ).iter_rows():
        inside = [label for label, one in rows if (first or one >= left) and (last or one < right)]
        assert (pos, neg) == (inside.count(True), inside.count(False))
        assert below == (first and any(one < left for _, one in rows))
        assert above == (last and any(one > right for _, one in rows))
    assert bins["left"].is_sorted()
    assert bins["left"].is_finite().all()
    assert (bins["left"] < bins["right"]).all()
