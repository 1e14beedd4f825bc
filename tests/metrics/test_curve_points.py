"""Points of curves equal those of `at` for all axes, weights and handling of missing values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.rates import RATES
from tests.strategies import ANY_WEIGHTS, COUNTS, examples, tables

AXES = ["threshold", "fpr", "tpr", "alert_rate", "alerts"]
METRICS = [name for name in RATES if name != "net_benefit"]
SETTINGS = {"beta": 2.0, "costs": {"fp": 1, "fn": 5}}
values = st.lists(
    st.sampled_from([0.0, 0.25, 1 / 3, 0.5, 0.75, 1.0]) | st.floats(0, 1), min_size=1, max_size=3
)


def compared(table: pl.DataFrame, axis: str, asked: list[float], **roles: object) -> tuple:
    """Return the estimates of `intervals`, and the same from the points of the curve table."""
    if axis == "alerts":
        asked = [value * table.height for value in asked]
    result = rf.intervals(
        table,
        "label",
        "score",
        metrics=METRICS,
        by="group",
        ci=None,
        **{axis: asked},
        **SETTINGS,
        **roles,
    )
    curves = rf.curve(table, "label", "score", by="group", metrics=METRICS[2:], **SETTINGS, **roles)
    points = rf.at(curves, **{axis: asked}).drop("tp", "fp", "fn", "tn")
    expected = points.unpivot(
        METRICS,
        index=["group", "at", "at_value", "threshold"],
        variable_name="metric",
        value_name="estimate",
    )
    keys = ["group", "metric", "at_value"]
    columns = [*keys, "at", "threshold", "estimate"]
    return result.select(columns).sort(keys), expected.select(columns).sort(keys)


@pytest.mark.slow
@pytest.mark.parametrize("axis", AXES)
@examples(1 / 3)
@given(tables(mass={"count": COUNTS}, missing=True), values)
def test_points_and_metrics_equal_those_of_at(axis, table, asked):
    result, expected = compared(table, axis, asked, count="count", missing="worst")
    assert_frame_equal(result, expected, check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("axis", AXES)
@examples(1 / 3)
@given(tables(mass={"weight": ANY_WEIGHTS}, missing=True), values)
def test_weighted_points_and_metrics_equal_those_of_at(axis, table, asked):
    result, expected = compared(table, axis, asked, weight="weight", missing="drop")
    assert_frame_equal(result, expected, rel_tol=1e-9, abs_tol=1e-9)


def test_a_large_group_split_into_blocks_has_the_same_points(monkeypatch):
    from rocframe.kernel import scan as walk

    table = pl.DataFrame(
        {"label": [i % 3 == 0 for i in range(60)], "score": [i * 7 % 31 for i in range(60)]}
    )
    table = table.with_columns(group=pl.lit("a"))
    monkeypatch.setattr(walk, "BLOCK_ROWS", 4)
    for axis in AXES:
        asked = [5.0, 30.0, 40.0] if axis == "threshold" else [0.0, 0.2, 0.55, 1.0]
        result, expected = compared(table, axis, asked)
        assert_frame_equal(result, expected, check_exact=True)


@pytest.mark.parametrize(
    ("axis", "prevalence"), list(zip(AXES, [0.05, 0.9, 0.05, 0.9, 0.9], strict=True))
)
def test_points_at_a_given_prevalence_equal_those_of_at(axis, prevalence):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 200)
    label = np.where(group == 3, 1, rng.integers(0, 2, 200))
    table = pl.DataFrame(
        {"group": group, "label": label, "score": np.round(rng.normal(size=200) + label, 1)}
    )
    tables = compared(table, axis, [0.0, 0.05, 0.2, 1.0], prevalence=prevalence)
    # The column `prevalence` of a curve table is not computed from the counts.
    result, expected = (table.filter(pl.col("metric") != "prevalence") for table in tables)
    assert_frame_equal(result, expected, check_exact=True)


def test_resamples_at_a_given_prevalence_are_drawn_from_each_class():
    table = pl.DataFrame({"label": [1] * 4 + [0] * 4, "score": [8, 7, 5, 3, 6, 4, 2, 1]})
    result = rf.intervals(
        table, "label", "score", metrics="tpr", alert_rate=0.2, prevalence=0.2, seed=1
    )
    # At 20 % positives, the threshold 7 has an alert rate of 0.1 and the threshold 5 of 0.35.
    assert result.select("estimate", "threshold", "note").row(0) == (0.5, 7.0, None)


def test_infinite_thresholds_are_points_too():
    table = pl.DataFrame(
        {"group": ["a"] * 3, "label": [1, 0, 1], "score": [float("inf"), 1.0, -float("inf")]}
    )
    result, expected = compared(table, "threshold", [float("inf"), 1.5, -float("inf")])
    assert_frame_equal(result, expected, check_exact=True)


def test_net_benefit_uses_the_given_threshold():
    table = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.6]})
    result = rf.intervals(
        table, "label", "score", metrics="net_benefit", threshold=[0.5, 0.9], ci=None
    )
    # One true and one false positive of four at .5, where the odds are 1.
    assert result["estimate"].to_list() == [0.0, 0.25]
    assert result["threshold"].to_list() == [0.6, 0.9]
    given_thresholds = rf.curve(
        table, "label", "score", metrics="net_benefit", thresholds=[0.5, 0.9]
    )
    assert result["estimate"].to_list() == given_thresholds["net_benefit"].to_list()[:0:-1]


def test_the_scale_of_weights_does_not_change_the_points_of_sums_of_weights():
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"label": rng.integers(0, 2, 60), "score": rng.normal(size=60)})
    table = table.with_columns(weight=pl.Series(rng.uniform(1, 3, 60)), other=1 - pl.col("score"))
    options = {"metrics": ["tpr", "threshold"], "n_boot": 40, "seed": 1, "weight": "weight"}
    limits = ["estimate", "lower", "upper", "threshold"]
    compared = {"metric": ["tpr"], "n_boot": 40, "seed": 1, "weight": "weight"}
    values = ["estimate_a", "estimate_b", "se", "threshold_a", "threshold_b"]
    models = ["score", "other"]
    expected = rf.intervals(table, "label", "score", alerts=[10, 50], **options).select(limits)
    tests = rf.compare(table, "label", models, alerts=10, **compared).select(values)
    assert expected.null_count().sum_horizontal().item() == 0
    for factor in (1e-20, 1000.0, 1e30):
        scaled = table.with_columns(pl.col("weight") * factor)
        alerts = [10 * factor * (1 + 1e-12), 50 * factor * (1 + 1e-12)]
        found = rf.intervals(scaled, "label", "score", alerts=alerts, **options).select(limits)
        assert_frame_equal(found, expected, rel_tol=1e-9)
        found = rf.compare(scaled, "label", models, alerts=alerts[0], **compared).select(values)
        assert_frame_equal(found, tests, rel_tol=1e-9)
