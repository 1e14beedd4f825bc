"""Curves from calibration tables against curves of predictions, exact fractions and integrals."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy import integrate, stats

import rocframe as rf
from tests import oracles
from tests.strategies import examples

BINS = {
    "bin": [0, 1, 2],
    "event_rate": [0.25, 0.5, 0.75],
    "score_mean": [0.2, 0.5, 0.9],
    "score_min": [0.1, 0.4, 0.8],
    "n": [8, 4, 4],
}
ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.booleans(), st.integers(0, 10)), min_size=1, max_size=40
)


def predictions_of(rows: list[tuple[str, bool, int]]) -> pl.DataFrame:
    frame = pl.DataFrame(rows, schema=["group", "label", "score"], orient="row")
    return frame.with_columns(pl.col("score") / 10)


def binned(frame: pl.DataFrame, bin_of: pl.Expr, **columns: pl.Expr) -> pl.DataFrame:
    """Return a calibration table whose bins are the values of an expression over the scores."""
    rows = frame.group_by("group", bin=bin_of).agg(
        event_rate=pl.col("label").mean(),
        score_min=pl.col("score").min(),
        n=pl.len().cast(pl.Int64),
        **columns,
    )
    return rows.select("group", "bin", pl.exclude("group", "bin"))


def test_counts_are_sums_over_the_bins_at_or_above_each_threshold(frame):
    table = rf.curve_from_calibration(frame(BINS))
    expected = pl.DataFrame(
        {
            "threshold": [np.inf, 0.8, 0.4, 0.1],
            "tp": [0, 3, 5, 7],
            "fp": [0, 1, 3, 9],
            "fn": [7, 4, 2, 0],
            "tn": [9, 8, 6, 0],
            "fpr": [0.0, 1 / 9, 3 / 9, 1.0],
            "tpr": [0.0, 3 / 7, 5 / 7, 1.0],
        }
    )
    assert_frame_equal(table.lazy().collect(), expected, check_exact=True)
    assert table.lazy().collect_schema() == expected.schema


def test_kind_and_metrics_determine_the_columns_right_of_the_counts():
    bins = pl.DataFrame(BINS)
    errors = (pl.col("fp") + pl.col("fn")).alias("errors")
    table = rf.curve_from_calibration(bins, kind="lift", metrics=["accuracy", errors])
    assert table.columns[5:] == ["alert_rate", "lift", "accuracy", "errors"]
    assert table["accuracy"].to_list() == [9 / 16, 11 / 16, 11 / 16, 7 / 16]
    assert table["lift"].to_list() == [None, (3 / 4) / (7 / 16), (5 / 8) / (7 / 16), 1]
    costs = rf.curve_from_calibration(bins, metrics="expected_cost", costs={"fp": 1, "fn": 5})
    assert costs["expected_cost"].to_list() == [35 / 16, 21 / 16, 13 / 16, 9 / 16]


@pytest.mark.hypothesis
@examples(1 / 2)
@given(ROWS)
def test_bins_of_single_scores_give_the_curve_of_the_predictions(rows):
    frame = predictions_of(rows)
    tables = [binned(frame, (pl.col("score") * 10).round().cast(pl.Int64))]
    # Each distinct score has its own quantile bin if there are as many bins as rows.
    tables.append(rf.calibration(frame, "label", "score", by="group", bins=len(rows), ci=None))
    expected = rf.curve(frame, "label", "score", by="group")
    for table in tables:
        curves = rf.curve_from_calibration(table.sample(fraction=1, shuffle=True, seed=1))
        assert_frame_equal(curves, expected, check_exact=True)
        for group, every in oracles.by_group(frame).items():
            area = curves.filter(group=group).roc.area().get_column("auc").item()
            exact = oracles.areas(every)
            assert area == (None if exact is None else pytest.approx(float(exact.auc), rel=1e-15))


@pytest.mark.hypothesis
@examples(1 / 2)
@given(ROWS, st.sets(st.integers(1, 10)))
def test_the_scores_of_a_bin_are_ties(rows, edges):
    frame = predictions_of(rows)
    tenths = (pl.col("score") * 10).round().cast(pl.Int64)
    bin_of = sum((tenths >= edge for edge in edges), pl.lit(0))
    curves = rf.curve_from_calibration(binned(frame, bin_of))
    tied = frame.with_columns(pl.col("score").min().over("group", bin_of.alias("bin")))
    assert_frame_equal(curves, rf.curve(tied, "label", "score", by="group"), check_exact=True)
    # Each row is a row of the full curve.
    keys = ["group", "threshold", "tp", "fp", "fn", "tn"]
    full = rf.curve(frame, "label", "score", by="group")
    assert curves.join(full, on=keys, how="anti").is_empty()
    for group, every in oracles.by_group(tied).items():
        exact = oracles.areas(every)
        area = curves.filter(group=group).roc.area().get_column("auc").item()
        assert area == (None if exact is None else pytest.approx(float(exact.auc), rel=1e-15))


@pytest.mark.hypothesis
@given(ROWS, st.sampled_from(["quantile", "uniform"]), st.integers(1, 6))
def test_the_area_of_a_calibration_table_is_a_double_sum_over_its_bins(rows, method, bins):
    frame = predictions_of(rows)
    table = rf.calibration(
        frame, "label", "score", by="group", method=method, bins=bins, empty_bins=True
    )
    areas = dict(rf.curve_from_calibration(table).roc.area().iter_rows())
    for (group,), part in table.partition_by("group", as_dict=True).items():
        # Formula 6.8 of Vuk and Curk (2006), in which half of the ties of a bin count.
        full = part.filter(pl.col("n") > 0).sort("score_min").select("event_rate", "n").rows()
        pos = [Fraction(round(rate * n)) for rate, n in full]
        neg = [n - p for (_, n), p in zip(full, pos, strict=True)]
        pairs = sum(pos) * sum(neg)
        wins = sum(neg[i] * (sum(pos[i + 1 :]) + pos[i] / 2) for i in range(len(full)))
        exact = float(wins / pairs) if pairs else None
        assert areas[group] == (None if exact is None else pytest.approx(exact, rel=1e-15))


@pytest.mark.hypothesis
@given(ROWS)
def test_isotonic_bins_give_the_convex_hull_of_the_curve(rows):
    frame = predictions_of(rows)
    levels = rf.calibration(frame, "label", "score", by="group", method="isotonic")
    curves = rf.curve_from_calibration(levels)
    hulls = rf.curve(frame, "label", "score", by="group").roc.hull()
    assert_frame_equal(curves, hulls.select(curves.columns), check_exact=True)


def test_densities_are_integrated_above_and_below_each_threshold():
    # A calibrated model with uniform scores: TP / (P + N) is the integral of o from T to 1.
    size = 1001
    grid = pl.DataFrame({"bin": range(size)}).with_columns(
        score_mean=pl.col("bin") / (size - 1), event_rate=pl.col("bin") / (size - 1), q=pl.lit(1)
    )
    curves = rf.curve_from_calibration(grid, density="q")
    threshold = curves["threshold"].to_numpy()[1:]
    for name, exact in {
        "tp": (1 - threshold**2) / 2,
        "fp": (1 - threshold) ** 2 / 2,
        "fn": threshold**2 / 2,
        "tn": threshold - threshold**2 / 2,
    }.items():
        assert curves[name].to_numpy()[1:] == pytest.approx(exact, abs=1e-6)
    assert curves["threshold"].to_list()[:2] == [np.inf, 1]
    assert curves.roc.area().item() == pytest.approx(5 / 6, abs=1e-6)


def test_the_area_of_a_density_is_the_double_integral_of_the_paper():
    # Formula 6.8 with another event rate and density, integrated by scipy.
    def rate(score):
        return score**2

    density = stats.beta(2, 3).pdf
    share = integrate.quad(lambda o: rate(o) * density(o), 0, 1)[0]

    def true_positives(t):
        return integrate.quad(lambda o: rate(o) * density(o), t, 1)[0]

    wins = integrate.quad(lambda t: true_positives(t) * (1 - rate(t)) * density(t), 0, 1)[0]
    score = np.linspace(0, 1, 2001)
    grid = pl.DataFrame(
        {"bin": range(2001), "score_mean": score, "event_rate": rate(score), "q": density(score)}
    )
    curves = rf.curve_from_calibration(grid, density="q", kind="lift_chart")
    areas = curves.roc.area()
    auc = areas.get_column("auc").item()
    assert auc == pytest.approx(wins / (share * (1 - share)), rel=1e-5)
    # Formula 5.3: the area under the lift chart, with P and N as shares of all rows.
    lift_area = share**2 / 2 + share * (1 - share) * auc
    assert areas.get_column("lift_area").item() == pytest.approx(lift_area, rel=1e-5)


def test_weights_give_approximate_counts_and_sums_of_weights_exact_ones():
    frame = pl.DataFrame(
        {
            "label": [1, 0, 1, 0, 1, 0],
            "score": [0.9, 0.7, 0.6, 0.3, 0.2, 0.1],
            "w": [1.0, 2.5, 1.5, 0.5, 4.0, 0.5],
        }
    )
    table = rf.calibration(frame, "label", "score", weight="w", method="uniform", bins=2)
    approximate = rf.curve_from_calibration(table.with_columns(pl.col("n").cast(pl.Float64)))
    assert approximate["tp"].to_list() == pytest.approx([0, 1.5, 3.9])
    exact = rf.curve_from_calibration(table.with_columns(n=pl.Series([5.0, 5.0])))
    tied = frame.with_columns(score=pl.when(pl.col("score") < 0.5).then(0.1).otherwise(0.6))
    assert_frame_equal(exact, rf.curve(tied, "label", "score", weight="w"))


def test_empty_bins_have_no_row_and_groups_without_rows_have_one():
    table = pl.DataFrame(
        {
            "g": ["a", "a", "a", None, "b"],
            "bin": [0, 1, 2, 0, 0],
            "event_rate": [0.5, None, 1.0, 0.0, None],
            "score_min": [0.1, None, 0.9, 0.3, None],
            "n": [2, 0, 1, 4, 0],
        }
    )
    curves = rf.curve_from_calibration(table)
    rows = curves.select("g", "threshold", "tp", "fp", "fn", "tn", "tpr").rows()
    assert rows == [
        (None, np.inf, 0, 0, 0, 4, None),
        (None, 0.3, 0, 4, 0, 0, None),
        ("a", np.inf, 0, 0, 2, 1, 0),
        ("a", 0.9, 1, 0, 1, 1, 0.5),
        ("a", 0.1, 2, 1, 0, 0, 1),
        ("b", np.inf, 0, 0, 0, 0, None),
    ]
    assert curves.roc.area().get_column("auc").to_list() == [None, 0.75, None]
    assert rf.curve_from_calibration(table.clear()).is_empty()
    without_keys = rf.curve_from_calibration(table.clear(), by=[])
    assert without_keys.select("threshold", "tp", "tn").rows() == [(np.inf, 0, 0)]


@pytest.mark.parametrize("method", ["loess", "kernel"])
def test_grid_points_with_a_density_have_a_curve(method):
    votes = rf.datasets.vote().filter(pl.col("model") == "logistic_regression")
    grid = rf.calibration(votes, "label", "score", method=method, ci=None)
    # A density of the scores at the grid points, with triangular kernels.
    scores = votes["score"].to_numpy()
    distance = np.abs(grid["score_mean"].to_numpy()[:, None] - scores) / 0.05
    density = grid.with_columns(q=pl.Series(np.clip(1 - distance, 0, None).mean(axis=1) / 0.05))
    curves = rf.curve_from_calibration(density, density="q")
    auc = rf.auc(votes, "label", "score", ci=None).get_column("auc").item()
    assert curves.roc.area().item() == pytest.approx(auc, abs=0.02)


def test_the_column_of_the_density_can_be_left_of_the_bins(frame):
    ordered = rf.curve_from_calibration(frame({"q": BINS["n"]} | BINS), density="q", by=[])
    expected = rf.curve_from_calibration(frame(BINS), density="n")
    assert_frame_equal(ordered.lazy().collect(), expected.lazy().collect())
