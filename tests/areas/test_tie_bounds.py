"""Tests of `tie_bounds` against all scores that are consistent with the ties."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

METRICS = ["auc", "ks", "eer", "average_precision", "pr_auc"]


def every_order(label: list[int], score: list[int]) -> pl.DataFrame:
    """Return a group for each way to add 0, 1 or 2 tenths to the scores: all orders of ties."""
    added = list(product(range(3), repeat=len(label)))
    return pl.DataFrame(
        {
            "order": np.repeat(np.arange(len(added)), len(label)),
            "label": label * len(added),
            "score": np.tile(score, len(added)) + np.ravel(added) / 10,
        }
    )


@pytest.mark.parametrize("seed", range(0, 12, 2))
def test_the_values_of_all_orders_are_between_the_bounds_and_attain_them(seed):
    rng = np.random.default_rng(seed)
    score = sorted(rng.integers(0, 1 + seed % 3, 6).tolist())
    label = rng.permutation([1] * (1 + seed % 5) + [0] * (5 - seed % 5)).tolist()
    tied = pl.DataFrame({"label": label, "score": score})
    bounds = rf.tie_bounds(rf.curve(tied, "label", "score"))
    assert bounds["metric"].to_list() == METRICS
    orders = rf.summary(every_order(label, score), "label", "score", by="order")
    exact = rf.summary(tied, "label", "score")
    for metric, value, *ends in bounds.iter_rows():
        assert value == pytest.approx(exact[metric].item(), abs=1e-14)
        low, high = sorted(ends)
        assert low - 1e-14 <= orders[metric].min(), metric
        assert orders[metric].max() <= high + 1e-14, metric
        # Three scores per tie attain the extremes, except the lowest average precision of more
        # than two positives, and the EER between two points.
        if metric == "average_precision":
            n_pos = tied.group_by("score").agg(pl.col("label").sum())["label"].max()
            assert orders[metric].max() == pytest.approx(high, abs=1e-14)
            assert n_pos > 2 or orders[metric].min() == pytest.approx(low, abs=1e-14)
        elif metric != "eer":
            assert (orders[metric].min(), orders[metric].max()) == pytest.approx((low, high))


def test_the_lowest_average_precision_of_a_large_tie_is_that_of_distinct_scores():
    n_pos, n_neg = 1000, 50
    tied = pl.DataFrame({"label": [1] * n_pos + [0] * n_neg, "score": 0})
    (bounds,) = rf.tie_bounds(rf.curve(tied, "label", "score"), metrics="average_precision").rows()
    ranks = np.arange(1, n_pos + 1)
    lowest = np.mean(ranks / (ranks + n_neg))
    assert lowest - 0.001 / n_pos <= bounds[2] <= lowest + 1e-14
    assert bounds[1:] == pytest.approx((n_pos / (n_pos + n_neg), lowest, 1.0), abs=1e-6)


@pytest.mark.parametrize("roles", [{}, {"weight": "w"}, {"missing": "worst"}])
def test_rounded_scores_have_bounds_that_contain_the_exact_values(roles):
    rng = np.random.default_rng(3)
    n = 3000
    label = rng.random(n) < 0.2
    frame = pl.DataFrame(
        {
            "g": np.repeat(["a", "b", "c"], n // 3),
            "label": label,
            "score": rng.normal(size=n) + label,
            "w": rng.integers(1, 4, n) / 2,
        }
    )
    if "missing" in roles:
        frame = frame.with_columns(pl.when(pl.int_range(n) % 7 > 0).then("score"))
    exact = rf.tie_bounds(rf.curve(frame, "label", "score", by="g", **roles))
    for resolution in (0.5, 0.01):
        weight = {"weight": "w"} if "weight" in roles else {}
        cells = rf.compress(frame, "label", "score", by="g", resolution=resolution, **weight)
        roles = {**roles, **dict.fromkeys(weight, "weight"), "count": "count"}
        curves = rf.curve(cells, "label", "score", by="g", **roles)
        bounds = rf.tie_bounds(curves).join(exact, on=["g", "metric"])
        low, high = pl.min_horizontal(pl.nth(3, 4)), pl.max_horizontal(pl.nth(3, 4))
        assert bounds.select(
            pl.col("estimate_right").is_between(low - 1e-12, high + 1e-12).all()
        ).item()
        width = bounds.group_by("metric").agg((high - low).max().alias("width"))["width"]
        assert (width < (0.03 if resolution == 0.01 else 0.6)).all()


def test_precision_is_computed_at_the_prevalence_of_the_table():
    frame = pl.DataFrame({"label": [1, 0, 1, 0], "score": [3, 3, 1, 1]})
    curves = rf.curve(frame, "label", "score", prevalence=0.2, kind="pr")
    bounds = rf.tie_bounds(curves, metrics=["average_precision", "pr_auc"])
    assert tuple(bounds["estimate"]) == rf.area(curves).row(0)
    # The negatives first: tp = 1 and 2 of 2, fp = 1 and 2 of 2, with weights 0.2 and 0.8.
    lowest = (0.1 / (0.1 + 0.4) + 0.2 / (0.2 + 0.8)) / 2
    highest = (1 + 0.2 / (0.2 + 0.4)) / 2
    assert bounds.row(0)[2:] == pytest.approx((lowest, highest))


def test_a_group_without_a_class_has_null_bounds():
    frame = pl.DataFrame({"g": [1, 1, 2, 2], "label": [1, 0, 1, 1], "score": [1, 1, 1, 2]})
    bounds = rf.tie_bounds(rf.curve(frame, "label", "score", by="g"))
    one = bounds.filter(g=2).rows_by_key("metric", unique=True)
    assert {one[name][1:] for name in ("auc", "ks", "eer")} == {(None, None, None)}
    assert {one[name][1:] for name in ("average_precision", "pr_auc")} == {(1.0, 1.0, 1.0)}
    alone = rf.tie_bounds(rf.curve(frame.filter(g=1), "label", "score", by="g"))
    assert_frame_equal(bounds.filter(g=1), alone)
