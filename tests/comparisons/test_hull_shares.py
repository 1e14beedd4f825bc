"""`hull_shares`: compared with all resamples of small tables, and with hulls in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocframe as rf

SHARES = ["model", "share_on_hull", "n_vertices"]


def roc_points(scores: list[float], labels: list[int]) -> set[tuple[Fraction, Fraction]]:
    """Return the points of a ROC curve."""
    pos, neg = labels.count(1), labels.count(0)
    return {
        tuple(
            Fraction(sum(s >= t and y == kind for s, y in zip(scores, labels, strict=True)), total)
            for kind, total in ((0, neg), (1, pos))
        )
        for t in [*scores, float("inf")]
    }


def is_vertex(point: tuple[Fraction, Fraction], points: set[tuple[Fraction, Fraction]]) -> bool:
    """Return whether a point other than (0, 0) and (1, 1) is above all lines between others."""
    x, y = point
    if point in {(0, 0), (1, 1)}:
        return False
    for x0, y0 in points - {point}:
        for x1, y1 in points - {point}:
            if x0 <= x <= x1 and x0 < x1 and y0 + (y1 - y0) * (x - x0) / (x1 - x0) >= y:
                return False
            if x0 == x == x1 and y0 < y < y1:
                return False
    return True


def counted_vertices(curves: dict[str, tuple[list[float], list[int]]]) -> dict[str, int]:
    """Return the number of vertices of each model on the common hull."""
    points = {name: roc_points(*rows) for name, rows in curves.items()}
    every = set().union(*points.values())
    return {name: sum(is_vertex(point, every) for point in own) for name, own in points.items()}


LABEL = [1, 1, 0, 0]
SCORES = {"a": [4, 2, 3, 1], "b": [3, 3, 4, 1], "c": [1, 3, 3, 2]}
TABLE = pl.DataFrame({"label": LABEL, **SCORES}).with_row_index("id")
LONG = TABLE.unpivot(index=["id", "label"], variable_name="model", value_name="score")


def exact_shares(paired: bool, models: tuple[str, ...]) -> dict[str, float]:
    """Return the shares over all resamples of two positives and two negatives."""
    draws = list(product([(0, 0), (0, 1), (1, 1)], [(2, 2), (2, 3), (3, 3)]))
    curves = {
        (model, draw): tuple(
            [values[i] for i in (*draw[0], *draw[1])] for values in (scores, LABEL)
        )
        for model, scores in SCORES.items()
        for draw in draws
    }
    hits, total = dict.fromkeys(models, 0), 0
    for chosen in zip(draws, strict=True) if paired else product(draws, repeat=len(models)):
        # Two different rows are drawn in two orders.
        times = 2 ** sum(i != j for draw in chosen for i, j in draw)
        each = chosen * len(models) if paired else chosen
        counts = counted_vertices(
            {model: curves[model, draw] for model, draw in zip(models, each, strict=True)}
        )
        total += times
        for model in models:
            hits[model] += times * (counts[model] > 0)
    return {model: hits[model] / total for model in models}


def assert_near(found: pl.DataFrame, expected: dict[str, float], n_boot: int) -> None:
    """Check the shares within four standard deviations of the simulation."""
    for model, share in zip(found["model"], found["share_on_hull"], strict=True):
        p = expected[model]
        assert abs(share - p) <= 4 * sqrt(p * (1 - p) / n_boot), model


def test_shares_are_the_probabilities_over_all_resamples():
    models, n_boot = ("a", "b", "c"), 5_000
    paired, independent = (exact_shares(value, models) for value in (True, False))
    assert paired == {"a": 0.9375, "b": 0.625, "c": 0.1875}
    assert independent["a"] < 0.8
    found = rf.hull_shares(TABLE, "label", models, n_boot=n_boot, seed=1)
    assert_near(found, paired, n_boot)
    for table, score in ((LONG, "score"), (TABLE, models)):
        apart = rf.hull_shares(table, "label", score, paired=False, n_boot=n_boot, seed=1)
        assert_near(apart, independent, n_boot)


@pytest.mark.hypothesis
@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)),
        min_size=2,
        max_size=9,
    )
)
def test_vertices_of_a_resample_are_those_of_its_rows(rows):
    """A count per row is a resample that has the row as many times."""
    frame = pl.DataFrame(rows, schema=["label", "a", "b", "count"], orient="row")
    repeated = [row for row in rows for _ in range(row[3])]
    label = [int(row[0]) for row in repeated]
    found = rf.hull_shares(frame, "label", ["a", "b"], count="count", n_boot=2, seed=0)
    if len(set(label)) < 2:
        assert found["n_vertices"].to_list() == [None, None]
        return
    expected = counted_vertices(
        {name: ([row[1 + i] for row in repeated], label) for i, name in enumerate("ab")}
    )
    assert dict(found.select("model", "n_vertices").iter_rows()) == expected
    # Other numbers of rows have the same rates.
    twice = pl.concat(
        [
            frame.select("label", "count", score=name, model=pl.lit(name))
            for name in ("a", "b", "b", "b")
        ]
    )
    apart = rf.hull_shares(twice, "label", "score", paired=False, count="count", n_boot=2, seed=0)
    assert dict(apart.select("model", "n_vertices").iter_rows()) == expected


def predictions(rows: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    label = rng.integers(0, 2, rows)
    good = rng.normal(3 * label, 1).round(1)
    return pl.DataFrame(
        {
            "id": np.arange(rows),
            "g": rng.choice(["x", "y"], rows),
            "label": label,
            "good": good,
            "same": good / 2,
            "bad": -good,
            "random": rng.normal(size=rows),
        }
    )


def test_a_dominated_model_has_the_share_0_and_equal_models_have_equal_shares():
    models = ["good", "same", "bad"]
    for options in (
        {},
        {"by": "g"},
        {"weight": pl.col("id") + 0.5},
        {"cluster": pl.col("id") // 3},
    ):
        found = rf.hull_shares(predictions(), "label", models, n_boot=200, seed=1, **options)
        share = {name: found.filter(model=name)["share_on_hull"].to_list() for name in models}
        assert share["good"] == share["same"]
        assert min(share["good"]) == 1
        assert max(share["bad"]) == 0


def test_few_positives_and_many_negatives_in_clusters_are_drawn_separately():
    table = predictions(3000).filter((pl.col("label") == 0) | (pl.col("id") % 10 == 0))
    found = rf.hull_shares(table, "label", ["good", "same", "bad"], paired=False, n_boot=20,
                           seed=1, cluster=pl.col("id") // 3)  # fmt: skip
    share = dict(found.select("model", "share_on_hull").iter_rows())
    assert share["bad"] == 0
    assert min(share["good"], share["same"]) > 0.5


def test_the_vertices_are_those_of_the_common_hull():
    wide = predictions()
    models = ["good", "random", "bad"]
    vertices = rf.curve(wide, "label", models).roc.hull(across="model")
    own = vertices.filter(pl.col("tp") + pl.col("fp") > 0, pl.col("fn") + pl.col("tn") > 0)
    expected = dict(own.group_by("model").len().iter_rows())
    found = rf.hull_shares(wide, "label", models, n_boot=2)
    assert dict(
        found.filter(pl.col("n_vertices") > 0).select("model", "n_vertices").iter_rows()
    ) == (expected)


def test_unscored_rows_are_errors_at_every_threshold():
    wide = predictions().with_columns(
        worse=pl.when(pl.col("id") < 6).then(None).otherwise(pl.col("good"))
    )
    found = rf.hull_shares(wide, "label", ["good", "worse"], missing="worst", n_boot=50, seed=1)
    assert found["share_on_hull"].to_list()[0] == 1
    assert found["share_on_hull"].to_list()[1] < 0.1
    dropped = rf.hull_shares(wide, "label", ["good", "worse"], missing="drop", n_boot=50, seed=1)
    assert dropped["share_on_hull"].to_list() == [1, 1]
    assert dropped["note"].to_list() == ["unmatched:6"] * 2


def test_undefined_shares_are_null_with_a_note():
    table = pl.DataFrame(
        {
            "g": [1, 1, 2, 2, 2, 3],
            "label": [1, 1, 1, 0, 0, 0],
            "a": [1, 2, 3, 1, 2, 1],
            "b": [1, 2, 1, 3, 2, 1],
        }
    )
    expected = [
        (None, None, "no_negatives"),
        (None, 1, "one_positive"),
        (None, None, "no_positives"),
    ]
    for paired in (True, False):
        found = rf.hull_shares(table, "label", ["a", "b"], by="g", paired=paired, n_boot=10)
        rows = found.filter(model="a").select("share_on_hull", "n_vertices", "note").rows()
        assert rows == expected
