"""Probabilities at another prevalence: exact fractions, missing values, errors, a simulation."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

import rocframe as rf

SHARES = st.floats(0.001, 0.999)


def convert(scores: list[float], prevalence: float, sample_prevalence: float) -> list[float]:
    score = pl.col("p").roc.at_prevalence(
        prevalence=prevalence, sample_prevalence=sample_prevalence
    )
    return pl.DataFrame({"p": scores}).select(score)["p"].to_list()


@given(p=st.floats(1e-300, 1), new=SHARES, old=SHARES)
def test_probabilities_are_those_of_bayes_rule(p, new, old):
    exact, share, other = Fraction(p), Fraction(new), Fraction(old)
    positive = exact * share / other
    negative = (1 - exact) * (1 - share) / (1 - other)
    (found,) = convert([p], new, old)
    assert found == pytest.approx(float(positive / (positive + negative)), rel=2e-15, abs=0)


def test_a_balanced_sample_by_hand():
    # At 10 %, odds are divided by 9: 9 to 1 become 1 to 1, and 1 to 1 become 1 to 9.
    assert convert([0.0, 0.5, 0.9, 1.0], 0.1, 0.5) == pytest.approx([0, 0.1, 0.5, 1], rel=1e-15)
    assert convert([0.25], 1 / 3, 0.5) == pytest.approx([1 / 7], rel=1e-15)


@pytest.mark.parametrize("prevalence", [1e-300, 1e-9, 0.3, 1 - 2**-53])
@pytest.mark.parametrize("sample_prevalence", [1e-9, 0.3, 1 - 2**-53])
def test_probabilities_of_0_and_1_do_not_change(prevalence, sample_prevalence):
    assert convert([0.0, -0.0, 1.0], prevalence, sample_prevalence) == [0, 0, 1]


def test_scores_that_are_no_probabilities_are_null():
    scores = [None, float("nan"), -1e-9, 1 + 1e-9, float("inf"), -float("inf"), 0.5]
    assert convert(scores, 0.5, 0.5) == [None] * 6 + [0.5]


@given(scores=st.lists(st.floats(0, 1), min_size=2, max_size=20), new=SHARES, old=SHARES)
def test_the_order_of_the_rows_does_not_change(scores, new, old):
    assert all(a <= b for a, b in pairwise(convert(sorted(scores), new, old)))


def test_the_roc_curve_does_not_change():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"label": rng.random(200) < 0.5, "score": rng.random(200)})
    other = table.with_columns(pl.col("score").roc.at_prevalence("label", prevalence=0.01))
    counts = [rf.curve(rows, "label", "score").drop("threshold") for rows in (table, other)]
    assert_frame_equal(*counts)


def test_a_conversion_is_undone_by_the_inverse_conversion():
    scores = np.linspace(0, 1, 101).tolist()
    assert convert(convert(scores, 0.02, 0.4), 0.4, 0.02) == pytest.approx(scores, rel=1e-14)


def test_labels_weights_and_counts_give_the_prevalence_of_each_group(frame):
    table = pl.DataFrame(
        {
            "g": ["a", "a", "a", "a", "b", "b", "c"],
            "label": [1, 0, 0, 0, 1, 0, 1],
            "p": [0.5, 0.25, 0.75, 0.0, 0.5, 0.5, 0.5],
            "w": [3.0, 1.0, 1.0, 1.0, 1.0, 3.0, 1.0],
            "n": [9, 1, 1, 1, 1, 1, 1],
        }
    )

    def found(**options: object) -> pl.Series:
        score = pl.col("p").roc.at_prevalence("label", prevalence=0.5, **options)
        return frame(table).with_columns(score.over("g")).lazy().collect()["p"]

    # Odds are multiplied by 3, by 1, and are undefined in a group without negatives.
    expected = pl.Series("p", [3 / 4, 1 / 2, 9 / 10, 0, 1 / 2, 1 / 2, None])
    assert_series_equal(found(), expected, rel_tol=1e-15)
    weighted = pl.Series("p", [1 / 2, 1 / 4, 3 / 4, 0, 3 / 4, 3 / 4, None])
    assert_series_equal(found(weight="w"), weighted, rel_tol=1e-15)
    counted = pl.Series("p", [1 / 4, 1 / 10, 1 / 2, 0, 1 / 2, 1 / 2, None])
    assert_series_equal(found(count="n"), counted, rel_tol=1e-15)


def test_prevalences_can_be_columns():
    table = pl.DataFrame(
        {
            "p": [0.5] * 8,
            "new": [0.25, 0.5, 0.0, 1.0, -0.1, None, float("nan"), 0.5],
            "old": [0.5, 0.25, 0.5, 0.5, 0.5, 0.5, 0.5, 1.0],
        }
    )
    score = pl.col("p").roc.at_prevalence(prevalence="new", sample_prevalence=pl.col("old"))
    expected = pl.DataFrame({"p": [0.25, 0.75, None, None, None, None, None, None]})
    assert_frame_equal(table.select(score), expected, rel_tol=1e-15)


def test_several_scores_and_integers_are_converted():
    table = pl.DataFrame({"p": [0.5, 1.0], "q": pl.Series([0, 1], dtype=pl.Int8)})
    found = table.select(pl.all().roc.at_prevalence(prevalence=0.1, sample_prevalence=0.5))
    expected = pl.DataFrame({"p": [0.1, 1.0], "q": [0.0, 1.0]})
    assert_frame_equal(found, expected, rel_tol=1e-15)


def test_converted_probabilities_are_calibrated_in_a_resampled_population():
    rng = np.random.default_rng(7)
    size, share, rare = 400_000, 0.4, 0.05
    # The scores of positives have the density 2s, those of negatives 2 - 2s. At the prevalence
    # 0.4, the probability of the positive class is 0.4·2s / (0.4·2s + 0.6·(2 - 2s)).
    label = rng.random(size) < rare
    latent = np.where(label, np.sqrt(rng.random(size)), 1 - np.sqrt(rng.random(size)))
    calibrated = share * latent / (share * latent + (1 - share) * (1 - latent))
    population = pl.DataFrame({"label": label, "p": calibrated}).with_columns(
        converted=pl.col("p").roc.at_prevalence(prevalence=rare, sample_prevalence=share)
    )
    for name, is_calibrated in (("p", False), ("converted", True)):
        bins = population.group_by(pl.col(name).rank("ordinal") * 8 // (size + 1)).agg(
            rate=pl.col("label").mean(), mean=pl.col(name).mean(), n=pl.len()
        )
        z = (pl.col("rate") - pl.col("mean")) / (
            pl.col("mean") * (1 - pl.col("mean")) / pl.col("n")
        ).sqrt()
        assert (bins.select(z.abs().max()).item() < 4) == is_calibrated


@pytest.mark.parametrize("method", ["uniform", "isotonic"])
def test_event_rates_are_converted_to_those_of_rows_with_class_weights(method):
    rng = np.random.default_rng(2)
    score = rng.integers(0, 30, 300) / 29
    table = pl.DataFrame({"label": rng.random(300) < score, "score": score})
    share = table["label"].mean()
    weight = pl.when("label").then(0.1 / share).otherwise(0.9 / (1 - share))
    weighted = rf.calibration(table, "label", "score", method=method, weight=weight, ci=None)
    rate = pl.col("event_rate").roc.at_prevalence(prevalence=0.1, sample_prevalence=share)
    converted = rf.calibration(table, "label", "score", method=method, ci=None).with_columns(rate)
    columns = ["bin", "event_rate", "score_min", "score_max", "n"]
    assert_frame_equal(weighted.select(columns), converted.select(columns), rel_tol=1e-12)


def test_class_weights_move_the_recalibration_line_by_the_ratio_of_the_odds():
    rng = np.random.default_rng(4)
    score = rng.uniform(0.05, 0.95, 600)
    table = pl.DataFrame({"label": rng.random(600) < score, "score": score})
    share = table["label"].mean()
    rows = table.with_columns(
        converted=pl.col("score").roc.at_prevalence("label", prevalence=0.1),
        weight=pl.when("label").then(0.1 / share).otherwise(0.9 / (1 - share)),
    )
    found = rf.calibration_summary(rows, "label", ["score", "converted"], weight="weight")
    converted, original = found.iter_rows(named=True)
    plain = rf.calibration_summary(table, "label", "score").row(0, named=True)
    ratio = math.log(0.1 / 0.9) - math.log(share / (1 - share))
    slope = converted["calibration_slope"]
    assert slope == pytest.approx(original["calibration_slope"], rel=1e-8)
    shift = original["calibration_intercept"] - converted["calibration_intercept"]
    assert shift == pytest.approx(slope * ratio, rel=1e-8)
    assert slope == pytest.approx(plain["calibration_slope"], abs=0.2)
    assert abs(converted["calibration_intercept"]) < 0.2
    assert converted["brier"] < original["brier"]
