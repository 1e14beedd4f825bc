"""Averages of calibration curves against means of interpolated values."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import t as student

import rocframe as rf

INFO = ["ci_level", "n_curves", "threshold_mean", "threshold_sd", "note"]
COLUMNS = [
    *("score_mean", "event_rate", "event_rate_sd", "event_rate_se"),
    *("event_rate_lower", "event_rate_upper"),
    *INFO,
]


def folds(size: int = 600, **options) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    score = rng.random(size)
    frame = pl.DataFrame(
        {
            "model": rng.choice(["a", "b"], size),
            "fold": rng.integers(0, 5, size),
            "score": score,
            "label": rng.random(size) < score,
        }
    )
    return rf.calibration(
        frame, "label", "score", by=["model", "fold"], **{"bins": 6, "ci": None, **options}
    )


def values_at(curves: pl.DataFrame, at: np.ndarray) -> np.ndarray:
    return np.array(
        [
            np.interp(at, part["score_mean"], part["event_rate"], left=np.nan, right=np.nan)
            for part in curves.partition_by("fold")
        ]
    )


def test_the_mean_is_that_of_the_interpolated_event_rates_with_corrected_limits():
    curves = folds()
    table = curves.roc.average(grid=21, level=0.9)
    assert table.columns == ["model", *COLUMNS]
    at = np.arange(21) / 20
    for (model,), part in curves.group_by("model"):
        values = values_at(part, at)
        inside = ~np.isnan(values).any(axis=0)
        assert inside.sum() > 10
        mean, sd = values.mean(axis=0), values.std(axis=0, ddof=1)
        margin = student.ppf(0.95, 4) * sd * np.sqrt(1 / 5 + 1 / 4)
        found = table.filter(model=model)
        assert np.allclose(found["score_mean"], at)
        assert found["n_curves"].to_list() == (~np.isnan(values)).sum(axis=0).tolist()
        found = found.filter(pl.Series(inside))
        assert np.allclose(found["event_rate"], mean[inside], atol=1e-12)
        assert np.allclose(found["event_rate_sd"], sd[inside], atol=1e-12)
        lower, upper = ((mean + sign * margin)[inside].clip(0, 1) for sign in (-1, 1))
        assert np.allclose(found["event_rate_lower"], lower, atol=1e-12)
        assert np.allclose(found["event_rate_upper"], upper, atol=1e-12)


@pytest.mark.parametrize("method", ["uniform", "isotonic", "loess", "kernel"])
def test_all_methods_can_be_averaged_lazily_and_eagerly(method):
    options = {} if method == "uniform" else {"bins": 10}
    curves = folds(method=method, **options)
    table = curves.roc.average(grid=[0.3, 0.5])
    assert table["n_curves"].to_list() == [5] * 4
    lazy = curves.lazy().roc.average(grid=[0.3, 0.5])
    assert lazy.collect_schema() == table.schema
    assert_frame_equal(lazy.collect(), table)
    mean = values_at(curves.filter(model="a"), np.array([0.3, 0.5])).mean(axis=0)
    assert np.allclose(table["event_rate"][:2], mean, atol=1e-12)


def test_the_union_has_every_observed_score():
    curves = folds().filter(model="a")
    table = curves.roc.average(grid="union", ci=None)
    assert table["score_mean"].to_list() == sorted(set(curves["score_mean"]))
    assert table["event_rate"].null_count() == 0
    assert table["ci_level"].null_count() == table.height


def test_weights_are_numbers_of_rows_or_given_for_each_fold():
    curves = folds().filter(model="a")
    at = np.array([0.5])
    rows = curves.group_by("fold", maintain_order=True).agg(pl.col("n").sum())
    values = values_at(curves, at)[:, 0]
    for weights, numbers in (
        ("rows", rows["n"].to_list()),
        ({i: i + 1 for i in range(5)}, [1, 2, 3, 4, 5]),
    ):
        table = curves.roc.average(grid=[0.5], weights=weights)
        assert table["event_rate"][0] == pytest.approx(np.average(values, weights=numbers))


def test_bootstrap_limits_depend_on_the_seed_only():
    curves = folds()
    options = {"grid": [0.5], "ci": "bootstrap", "n_boot": 100, "seed": 1}
    table = curves.roc.average(**options)
    assert_frame_equal(table, curves.roc.average(**options))
    assert_frame_equal(table.filter(model="b"), curves.filter(model="b").roc.average(**options))


def test_without_over_each_curve_has_its_values():
    curves = folds()
    table = curves.roc.average(over=None, grid=[0.5])
    assert table.columns == ["model", "fold", *COLUMNS]
    assert table["n_curves"].to_list() == [1] * 10


def test_folds_without_rows_are_left_out_and_named():
    predictions = pl.DataFrame(
        {"fold": [1, 1, 2, 3, 3], "label": [0, 1, None, 1, 0], "score": [0.2, 0.8, 0.5, 0.7, 0.1]}
    )
    curves = rf.calibration(predictions, "label", "score", by="fold", missing="drop", bins=2)
    table = curves.roc.average(grid=[0.0, 0.5])
    assert table["n_curves"].to_list() == [0, 2]
    assert table["note"].to_list() == ["left_out:1 (2)"] * 2
    assert curves.filter(fold=2).roc.average(grid="union")["n_curves"].to_list() == [0]
    assert curves.clear().roc.average().is_empty()
