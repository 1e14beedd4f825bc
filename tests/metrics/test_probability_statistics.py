"""Intervals of losses and measures of calibration: estimates, influence values and errors."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.special import expit

import rocframe as rf
from rocframe import kinds as metric_options
from rocframe.kernel.scan import GroupRows, ReplicateCounts
from rocframe.metrics.statistics import PROBABILITY_STATISTICS
from tests.kernel.scans import scan_of

WITH_INFLUENCE = [name for name, record in PROBABILITY_STATISTICS.items() if record.influence]
TABLE = pl.DataFrame(
    {
        "label": [1, 0, 1, 1, 0, 0, 1, 0, 0, 1],
        "score": [0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.5, 0.4, 0.3, 0.3],
        "weight": [1.0, 2.0, 0.5, 1.0, 1.5, 2.0, 0.5, 1.0, 2.0, 0.5],
    }
)


def predictions(n: int = 150) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    x = rng.normal(-0.5, 1.2, n)
    return pl.DataFrame({"g": rng.choice(["a", "b"], n), "label": rng.random(n) < expit(x)}).hstack(
        [pl.Series("score", expit(x))]
    )


def test_estimates_are_those_of_calibration_summary():
    frame = predictions()
    names = list(PROBABILITY_STATISTICS)
    table = rf.intervals(frame, "label", "score", by="g", metrics=names, ci=None)
    summary = rf.calibration_summary(frame, "label", "score", by="g")
    for row in table.iter_rows(named=True):
        expected = summary.filter(g=row["g"])[row["metric"]].item()
        assert row["estimate"] == pytest.approx(expected, rel=1e-12), row["metric"]


@pytest.mark.parametrize("name", WITH_INFLUENCE)
def test_the_influence_of_a_row_is_the_derivative_with_respect_to_its_weight(name):
    statistic = PROBABILITY_STATISTICS[name]

    def value(weights: pl.Series) -> float:
        scan = scan_of(TABLE.with_columns(weight=weights), weight="weight")
        return float(statistic.replicate.function(scan)[0])

    population = GroupRows.from_scan(scan_of(TABLE, weight="weight"), 0)
    shares = statistic.influence(ReplicateCounts.observed(population).scan(corners=False))
    scores = sorted(set(TABLE["score"]), reverse=True)
    for i, (label, score) in enumerate(TABLE["label", "score"].iter_rows()):
        more, less = (TABLE["weight"].clone(), TABLE["weight"].clone())
        more[i] += 1e-5
        less[i] -= 1e-5
        slope = (value(more) - value(less)) / 2e-5
        assert shares[1 - label][scores.index(score)] == pytest.approx(slope, rel=1e-6, abs=1e-8)


def test_every_measure_has_an_interval():
    table = rf.intervals(
        predictions(), "label", "score", metrics=list(PROBABILITY_STATISTICS), n_boot=99, seed=1
    )
    assert table["metric"].to_list() == list(PROBABILITY_STATISTICS)
    assert (table["lower"] < table["upper"]).all()
    assert (table["se"] > 0).all()
    assert table["note"].null_count() == len(table)
    methods = dict(table.select("metric", "ci_method").iter_rows())
    assert {name for name, method in methods.items() if method == "bootstrap_bca"} == set(
        WITH_INFLUENCE
    )


def test_errors_of_the_local_regression_have_the_same_intervals_together_and_alone():
    metrics = ["e90", "brier", "ici", "e_max", "e50"]
    tables = [
        rf.intervals(predictions(), "label", "score", metrics=names, n_boot=19, seed=1)
        for names in (metrics, *metrics)
    ]
    assert_frame_equal(tables[0], pl.concat(tables[1:]), check_exact=True)


def test_standard_errors_are_those_of_means():
    frame = predictions(2000)
    table = rf.intervals(
        frame, "label", "score", metrics=["brier", "log_loss"], ci="bootstrap", n_boot=500, seed=1
    )
    outcome, p = frame["label"].to_numpy(), frame["score"].to_numpy()
    losses = [(outcome - p) ** 2, -np.log(np.where(outcome, p, 1 - p))]
    expected = [loss.std(ddof=1) / np.sqrt(len(p)) for loss in losses]
    assert table["se"].to_list() == pytest.approx(expected, rel=0.1)


def test_resamples_without_a_finite_slope_are_left_out_and_counted():
    frame = pl.DataFrame({"label": [0, 0, 1, 0, 1, 1], "score": [0.1, 0.2, 0.3, 0.5, 0.6, 0.9]})
    row = rf.intervals(
        frame, "label", "score", metrics="calibration_slope", ci="bootstrap", n_boot=99, seed=1
    ).row(0, named=True)
    assert row["note"].startswith("redrawn:")
    assert row["lower"] < row["estimate"]


def test_the_names_of_statistics_of_probabilities_are_complete():
    assert list(metric_options.PROBABILITY_STATISTIC_NAMES) == list(PROBABILITY_STATISTICS)
