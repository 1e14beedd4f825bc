"""Murphy curves against costs of single rows in fractions, isotonic regression and losses."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import log

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, log_loss

import rocframe as rf
from tests.charts.specifications import records
from tests.strategies import examples

PREDICTIONS = pl.DataFrame({"label": [1, 0, 1, 0, 0], "score": [0.9, 0.6, 0.4, 0.4, 0.1]})
CURVES = rf.curve(PREDICTIONS, "label", "score")
VALUES = ["elementary_score", "miscalibration", "discrimination", "uncertainty"]
Rows = list[tuple[bool, int]]
GROUPS = st.lists(
    st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=12),
    min_size=1,
    max_size=3,
)


def curves_of(groups: list[Rows], **options: object) -> pl.DataFrame:
    rows = [(g, label, score) for g, group in enumerate(groups) for label, score in group]
    frame = pl.DataFrame(rows, schema=["g", "label", "score"], orient="row")
    # Eighths and their sums are exact in Float64.
    return rf.curve(frame, "label", pl.col("score") / 8, by="g", **options)


def mean_cost(rows: Rows, theta: Fraction, predicted: list[bool], pi: Fraction) -> Fraction:
    """Return the mean elementary score of decisions at the prevalence pi, with both classes."""
    n_pos = sum(label for label, _ in rows)
    cost = Fraction(0)
    for (label, _), positive in zip(rows, predicted, strict=True):
        if label and not positive:
            cost += 2 * (1 - theta) * pi / n_pos
        if positive and not label:
            cost += 2 * theta * (1 - pi) / (len(rows) - n_pos)
    return cost


def parts(rows: Rows, theta: Fraction, pi: Fraction) -> list[Fraction]:
    """Return the values of a row of the result, from the decisions for single rows."""
    score = mean_cost(rows, theta, [Fraction(s, 8) >= theta for _, s in rows], pi)
    lowest = min(mean_cost(rows, theta, [s >= t for _, s in rows], pi) for t in range(10))
    base_rate = mean_cost(rows, theta, [pi >= theta] * len(rows), pi)
    return [score, score - lowest, base_rate - lowest, base_rate]


@pytest.mark.hypothesis
@examples(1 / 2)
@given(GROUPS, st.sampled_from([None, 0.25, 0.3]))
def test_each_value_is_a_mean_cost_of_decisions(groups, prevalence):
    groups = [rows for rows in groups if len({label for label, _ in rows}) == 2]
    assume(groups)
    thresholds = [Fraction(i, 16) for i in range(17)]
    table = rf.murphy_curve(
        curves_of(groups), grid=[float(theta) for theta in thresholds], prevalence=prevalence
    )
    expected = [
        [float(value) for value in parts(rows, theta, pi)]
        for rows in groups
        for pi in [Fraction(prevalence or Fraction(sum(y for y, _ in rows), len(rows)))]
        for theta in thresholds
    ]
    assert table["discrimination"].min() >= 0
    for row, values in zip(table.select(VALUES).rows(), expected, strict=True):
        assert list(row) == pytest.approx(values, abs=1e-15)
    if prevalence is not None:
        at_prevalence = rf.murphy_curve(
            curves_of(groups, prevalence=prevalence), grid=[float(theta) for theta in thresholds]
        )
        assert_frame_equal(at_prevalence, table)


def integrals(table: pl.DataFrame) -> list[float]:
    """Return the integral of each column of a curve over its vertices, by the trapezoidal rule."""
    width = pl.col("probability_threshold").diff()
    return list(table.select((pl.col(VALUES).rolling_mean(2) * width).sum()).row(0))


@pytest.mark.slow
@pytest.mark.hypothesis
@given(GROUPS)
def test_the_integrals_are_the_brier_score_and_its_parts(groups):
    tables = rf.murphy_curve(curves_of(groups), grid="vertices").partition_by("g")
    for rows, table in zip(groups, tables, strict=True):
        label, score = (np.array(values) for values in zip(*rows, strict=True))
        n, pi = len(rows), Fraction(int(label.sum()), len(rows))
        brier = sum((Fraction(s, 8) - int(y)) ** 2 for y, s in rows) / n
        isotonic = IsotonicRegression().fit_transform(score, label.astype(float))
        recalibrated = np.mean((isotonic - label) ** 2)
        uncertainty = float(pi * (1 - pi))
        assert integrals(table) == pytest.approx(
            [float(brier), float(brier) - recalibrated, uncertainty - recalibrated, uncertainty],
            abs=1e-14,
        )
        assert table["miscalibration"].min() >= 0
        summary = rf.calibration_summary(
            pl.DataFrame({"label": label, "score": score / 8}), "label", "score"
        )
        names = ["brier", *VALUES[1:]]
        assert list(summary.select(names).row(0)) == pytest.approx(integrals(table), abs=1e-14)
        assert table["discrimination"].min() >= 0


@pytest.mark.slow
@pytest.mark.hypothesis
@given(GROUPS)
@example([[(False, 0), (False, 7)] + 7 * [(True, 1)]])  # a level that equals the score 7/8
def test_between_vertices_all_columns_are_straight_lines(groups):
    curves = curves_of(groups)
    for (g,), table in (
        rf.murphy_curve(curves, grid="vertices").partition_by("g", as_dict=True).items()
    ):
        rows = table.select("probability_threshold", "side", *VALUES).rows()
        assert rows[0][:2] == (0, "left")
        assert rows[-1][:2] == (1, "left")
        pairs = [(a, b) for a, b in pairwise(rows) if a[0] < b[0]]
        middles = [(a[0] + b[0]) / 2 for a, b in pairs]
        means = [[(x + y) / 2 for x, y in zip(a[2:], b[2:], strict=True)] for a, b in pairs]
        found = rf.murphy_curve(curves.filter(g=g), grid=middles).select(VALUES).rows()
        assert all(
            list(row) == pytest.approx(mean, abs=1e-15)
            for row, mean in zip(found, means, strict=True)
        )
        # The left value of a jump is the value at the threshold.
        left = table.filter(side="left").drop("side")
        at_left = rf.murphy_curve(curves.filter(g=g), grid=left["probability_threshold"].to_list())
        assert_frame_equal(left, at_left, check_exact=True)


def test_losses_of_models_are_integrals_of_their_curves():
    votes = rf.datasets.vote().filter(pl.col("model").is_in(["naive_bayes", "decision_tree"]))
    # Scores of 0 and 1 have an infinite logarithmic loss.
    votes = votes.with_columns(pl.col("score").clip(0.01, 0.99))
    table = rf.curve(votes, "label", "score", by="model").roc.murphy_curve(grid="vertices")
    for (model,), part in table.partition_by("model", as_dict=True).items():
        rows = votes.filter(model=model)
        label, score = rows["label"].to_numpy(), rows["score"].to_numpy()
        assert integrals(part)[0] == pytest.approx(brier_score_loss(label, score), rel=1e-13)
        points = part.select("probability_threshold", "elementary_score").rows()
        total = 0.0
        for (low, a), (high, b) in pairwise(points):
            if low == high or (a == 0 and b == 0):
                continue
            # The integral of (c + d·t) / (2·t·(1 - t)) from low to high.
            d = (b - a) / (high - low)
            c = a - d * low
            logs = log(high / low) * c if low else 0.0
            total += (logs - (c + d) * (log((1 - high) / (1 - low)) if high < 1 else 0.0)) / 2
        assert total == pytest.approx(log_loss(label, score), rel=1e-12)


def test_the_curve_is_the_net_benefit_on_another_scale():
    votes = rf.datasets.vote().filter(pl.col("model") != "linear_svm")
    for options in ({}, {"prevalence": 0.1}):
        curves = rf.curve(votes, "label", "score", by="model", **options)
        benefit = curves.roc.decision_curve()
        costs = curves.roc.murphy_curve().filter(pl.col("probability_threshold") < 1)
        theta, share = pl.col("probability_threshold"), benefit["treat_all"][0]
        assert share == pytest.approx(options.get("prevalence", 393 / 944))
        scaled = benefit.select(elementary_score=2 * (1 - theta) * (share - pl.col("net_benefit")))
        assert_frame_equal(costs.select("elementary_score"), scaled, abs_tol=1e-15)


def test_the_recalibrated_curve_is_the_cost_curve_on_another_scale():
    votes = rf.datasets.vote().filter(pl.col("model") == "random_forest")
    curves = rf.curve(votes, "label", "score")
    theta, share = np.arange(1, 100) / 100, 393 / 944
    costs = rf.murphy_curve(curves, grid=list(theta))
    scale = share * (1 - theta) + (1 - share) * theta
    # The probability cost rises with the cost of false negatives, so its order is reversed.
    normalized = rf.cost_curve(curves, grid=list(share * (1 - theta) / scale))
    expected = 2 * scale * normalized["expected_cost"].to_numpy()[::-1]
    recalibrated = costs["uncertainty"] - costs["discrimination"]
    assert recalibrated.to_numpy() == pytest.approx(expected, rel=1e-13)
    assert costs["uncertainty"].to_numpy() == pytest.approx(
        2 * scale * normalized["trivial_cost"].to_numpy()[::-1], rel=1e-13
    )


def test_vertices_have_a_row_for_each_side_of_a_jump(frame):
    rows = frame({"label": [1, 0, 1, 0], "score": [1.0, 0.5, 0.5, 0.0]})
    table = rf.curve(rows, "label", "score").roc.murphy_curve(grid="vertices")
    expected = pl.DataFrame(
        {
            "probability_threshold": [0.0, 0.0, 0.5, 0.5, 1.0],
            "elementary_score": [0.0, 0.0, 0.25, 0.25, 0.0],
            "miscalibration": [0.0] * 5,
            "discrimination": [0.0, 0.0, 0.25, 0.25, 0.0],
            "uncertainty": [0.0, 0.0, 0.5, 0.5, 0.0],
            "side": ["left", "right", "left", "right", "left"],
            "note": pl.Series([None] * 5, dtype=pl.String),
        }
    )
    assert_frame_equal(table.lazy().collect(), expected, check_exact=True)
    assert table.lazy().collect_schema() == expected.schema


def test_the_default_grid_has_101_thresholds_and_no_column_side():
    table = CURVES.roc.murphy_curve()
    assert table.columns == ["probability_threshold", *VALUES, "note"]
    assert table["probability_threshold"].to_list() == [i / 100 for i in range(101)]


def test_a_group_without_rows_or_without_a_class_has_a_note():
    frame = pl.DataFrame(
        {"g": ["a", "b", "c"], "label": [1, 0, None], "score": [0.9, 0.25, 0.5]},
        schema_overrides={"label": pl.Int8},
    )
    curves = rf.curve(frame, "label", "score", by="g", missing="drop")
    table = rf.murphy_curve(curves, grid=[0.25])
    assert table.select(VALUES).rows() == [(0, 0, 0, 0), (0.5, 0.5, 0, 0), (None,) * 4]
    assert table["note"].to_list() == ["no_negatives", "no_positives", "no_rows"]
    table = rf.murphy_curve(curves, grid="vertices", prevalence=0.5).unique("g", keep="last")
    undefined = table.sort("g").select(VALUES).rows()
    assert undefined == [(None, None, None, 0), (None, None, None, 0), (None,) * 4]


def test_unscored_rows_are_errors_at_all_thresholds():
    frame = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.8, 0.2, None, None]})
    curves = rf.curve(frame, "label", "score", missing="worst")
    table = rf.murphy_curve(curves, grid=[0.5])
    assert table.select(VALUES).row(0) == (0.5, 0, 0, 0.5)
    table = rf.murphy_curve(curves, grid=[0.1])
    assert table.select(VALUES).row(0) == pytest.approx((0.55, 0.05, -0.4, 0.1))


@pytest.mark.parametrize("grid", [101, "vertices"])
@pytest.mark.parametrize("y", [None, *VALUES[:3]])
def test_the_chart_draws_a_column_and_the_uncertainty(grid, y):
    frame = pl.concat([PREDICTIONS.with_columns(model=pl.lit(name)) for name in "ab"])
    table = rf.curve(frame, "label", "score", by="model").roc.murphy_curve(grid=grid)
    chart = table.roc.chart(y=y)
    lines = records(chart)
    assert [record["model"] for record in lines] == ["a", "b"]
    drawn = y or "elementary_score"
    columns = ["probability_threshold", drawn]
    columns += [] if drawn == "miscalibration" else ["uncertainty"]
    assert ("uncertainty" in lines[0]) == ("uncertainty" in columns)
    points = table.filter(model="a").select(columns).rows()
    rounded = {tuple(round(value, 6) for value in point) for point in points}
    shown = list(zip(*(lines[0][name] for name in columns), strict=True))
    assert {tuple(round(value, 6) for value in point) for point in shown} <= rounded
    # The line is as exact as the table: it contains both sides of all large jumps.
    assert max(lines[0]["y"]) == pytest.approx(table[drawn].max(), rel=1e-5)
    assert "Murphy diagram" in chart.title.text
