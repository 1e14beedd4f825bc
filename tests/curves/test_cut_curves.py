"""Curves whose last rows were removed: what each function that takes a curve table does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

LABEL = [1, 0, 1, 0, 1, 0]
PREDICTIONS = pl.DataFrame(
    {
        "fold": [1] * 6 + [2] * 6,
        "label": LABEL * 2,
        "score": [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.95, 0.85, 0.1, 0.65, 0.5, 0.4],
    }
)
CURVES = rf.curve(PREDICTIONS, "label", "score", by="fold")
CUT = pl.col("fpr") < 0.5
TABLES = {"all curves": CURVES.filter(CUT), "one curve": CURVES.filter(CUT | (pl.col("fold") == 2))}


def test_rows_of_incomplete_curves_are_candidates_of_operating_points():
    best = rf.operating_point(TABLES["all curves"], "error_rate")
    assert best.select("fold", "threshold", "value", "n_optima").rows() == [
        (1, 0.9, 1 / 3, 2),
        (2, 0.95, 1 / 3, 1),
    ]


# Each case has the options of `average`, the fixed values, and for each table the number of curves
# and the note of each value.
BOTH, ONE, TWO = "lacks_rows:2 (1, 2)", "lacks_rows:1 (1)", "lacks_rows:1 (2)"
MEANS = {
    "vertical": ({"grid": [0.25, 0.75]}, ([2, 0], [None, BOTH]), ([2, 1], [None, ONE])),
    "vertical, both sides": (
        {"grid": "union"},
        ([2] * 4 + [0] * 2, [None] * 4 + [BOTH] * 2),
        ([2] * 4 + [1] * 4, [None] * 4 + [ONE] * 4),
    ),
    "nearest": (
        {"grid": [0.25, 0.75], "nearest": True},
        ([2, 0], [None, BOTH]),
        ([2, 1], [None, ONE]),
    ),
    "horizontal": (
        {"method": "horizontal", "grid": [0.25, 0.5, 1]},
        ([2, 1, 0], [None, TWO, BOTH]),
        ([2, 2, 1], [None, None, ONE]),
    ),
    "threshold": (
        {"method": "threshold", "grid": [0.95, 0.3]},
        ([1, 0], [ONE, BOTH]),
        ([1, 1], [ONE, ONE]),
    ),
    "nearest threshold": (
        {"fixed": "threshold", "metrics": "tpr", "nearest": True, "grid": [0.9, 0.3]},
        ([2, 0], [None, BOTH]),
        ([2, 1], [None, ONE]),
    ),
    "metric at a fixed rate": (
        {"fixed": "tpr", "metrics": "precision", "grid": [0.25, 0.9]},
        ([2, 0], [None, BOTH]),
        ([2, 1], [None, ONE]),
    ),
    # The point with the lowest threshold is used, which can be a missing row.
    "metric that rises and falls": (
        {"fixed": "accuracy", "metrics": "tpr", "grid": [0.5]},
        ([0], [BOTH]),
        ([1], [ONE]),
    ),
}


@pytest.mark.parametrize(("options", "of_all", "of_one"), MEANS.values(), ids=MEANS)
def test_means_that_need_the_missing_rows_are_null_and_the_note_names_the_curves(
    frame, options, of_all, of_one
):
    for curves, (n_curves, notes) in zip(TABLES.values(), (of_all, of_one), strict=True):
        means = rf.average(frame(curves), over="fold", ci=None, **options).lazy().collect()
        assert means["n_curves"].to_list() == n_curves
        assert means["note"].to_list() == notes
        mean = next(name for name in means.columns if f"{name}_lower" in means.columns)
        assert means[mean].is_null().to_list() == [n == 0 for n in n_curves]


def test_means_of_the_remaining_rows_are_those_of_complete_curves():
    for curves in TABLES.values():
        cut, complete = (rf.average(table, grid=[0, 0.1, 0.25]) for table in (curves, CURVES))
        assert_frame_equal(cut, complete)


def test_pooled_areas_are_null_only_in_groups_with_a_cut_curve():
    models = pl.concat([PREDICTIONS.with_columns(model=pl.lit(name)) for name in "ab"])
    scores = PREDICTIONS["score"].unique().sort().to_list()
    given = {"a": scores[-4:], "b": scores}
    curves = pl.concat(
        rf.curve(
            models.filter(model=name), "label", "score", by=["model", "fold"], thresholds=values
        )
        for name, values in given.items()
    )
    pooled = rf.average(curves, method="pooled").group_by("model", maintain_order=True).last()
    assert pooled.select("model", "n_curves", "note").rows() == [("a", 2, BOTH), ("b", 2, None)]
    areas = pooled.select("pooled_auc", "mean_auc")
    assert areas.select(pl.all().is_null()).rows() == [(True, True), (False, False)]
    at_values = rf.average(curves, method="pooled", fixed="fpr", grid=[0.1, 1])
    assert at_values.select("model", "n_curves", "note").rows() == [
        ("a", 2, None),
        ("a", 0, BOTH),
        ("b", 2, None),
        ("b", 2, None),
    ]


def test_the_area_between_given_thresholds_is_bounded():
    rng = np.random.default_rng(3)
    label = rng.uniform(size=400) < 0.4
    score = 1 - np.exp(-3 - 2 * label - rng.normal(size=400))
    table = pl.DataFrame({"label": label, "score": score.clip(0, 1)})
    exact = rf.area(rf.curve(table, "label", "score")).item()
    for grid in (np.arange(11) / 10, [0, 0.9, 0.95, 0.99], [0.0]):
        curves = rf.curve(table, "label", "score", thresholds=grid)
        bounds = rf.tie_bounds(curves, metrics="auc")
        assert bounds["estimate"].to_list() == [None]
        assert bounds["pessimistic"].item() < exact < bounds["optimistic"].item()
        # The line between the points is in the middle of the bounds.
        middle = (bounds["pessimistic"] + bounds["optimistic"]).item() / 2
        assert abs(middle - exact) <= curves["area_error"][0] + 1e-12
        full = rf.curve(table, "label", "score")
        for row in curves.rows(named=True):
            point = rf.at(full, threshold=row["threshold"])
            assert (row["tp"], row["fp"]) == point.select("tp", "fp").row(0)
        # A curve lies in the rectangle between two neighboring points.
        steps = curves.select(pl.max_horizontal(pl.col("fpr", "tpr").diff()).max())
        assert curves["error"][0] == pytest.approx(steps.item(), rel=1e-12)
        chart = curves.roc.chart()
        assert "AUC" not in str(chart.to_dict()["title"])


def test_given_thresholds_with_a_row_for_each_score_give_a_full_curve():
    scores = [*PREDICTIONS["score"].unique(), -1, 0.123456]
    curves = rf.curve(PREDICTIONS, "label", "score", by="fold", thresholds=scores)
    assert set(curves["error"]) | set(curves["area_error"]) == {0.0}
    assert_frame_equal(rf.area(curves), rf.area(CURVES))
    assert_frame_equal(
        rf.at(curves, tpr=[0.3, 0.9]).select("fold", "tp", "fp"),
        rf.at(CURVES, tpr=[0.3, 0.9]).select("fold", "tp", "fp"),
    )


def test_missing_rows_with_positives_only_equal_unscored_positives():
    table = pl.DataFrame({"label": [1, 0, 1, 1], "score": [0.9, 0.8, 0.7, 0.1]})
    cut = rf.curve(table, "label", "score").filter(pl.col("threshold") > 0.5)
    unscored = table.with_columns(score=pl.col("score").replace(0.1, None))
    assert_frame_equal(cut, rf.curve(unscored, "label", "score", missing="worst"))
    assert cut["tpr"].max() == 2 / 3
    assert rf.area(cut).equals(rf.area(rf.curve(table, "label", "score")))
    full_area, cut_area = (
        rf.area(rf.curve(table, "label", "score", kind="pr").filter(pl.col("threshold") > least))
        for least in (0, 0.5)
    )
    assert cut_area["average_precision"].item() == pytest.approx((1 + 2 / 3) / 3)
    assert full_area["average_precision"].item() == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)
