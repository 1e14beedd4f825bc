"""`intervals(replicates=True)`: the values of resamples, of which the limits are quantiles."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.decisions.test_h_measure import numerical

SEEDED = {"n_boot": 60, "seed": 7}
POINTS = ["tpr", "precision", "threshold"]
CALLS = {
    "curves": {"metrics": ["auc", "ks", "h_measure", "average_precision"]},
    "probabilities": {"metrics": ["brier", "ece", "calibration_slope"]},
    "rate": {"metrics": ["auc", *POINTS], "fpr": [0.1, 0.4]},
    "alerts": {"metrics": POINTS, "alerts": [0, 3, 20]},
    "threshold": {"metrics": ["tpr", "f1"], "threshold": [0.2, 0.9]},
    "rule": {"metrics": POINTS, "rule": "f1"},
}
TINY = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.6, 0.6, 0.4]})


def predictions() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    label = rng.random(120) < 0.4
    score = np.round(1 / (1 + np.exp(-rng.normal(size=120) - label)), 1)
    table = pl.DataFrame({"g": rng.integers(0, 2, 120), "label": label, "score": score})
    few = pl.DataFrame({"g": [8, 8, 9], "label": [True, False, True], "score": [0.5, 0.25, 0.75]})
    row = pl.int_range(pl.len())
    return pl.concat([table, few]).with_columns(w=1.0 + row % 3, user=row // 4, n=1 + row % 2)


def quantiles(values: pl.Series) -> tuple[float, float]:
    """Return the limits at position p(n + 1) of the values that are defined; NaN if all equal."""
    defined = values.drop_nulls().to_numpy()
    if len(defined) < 2 or np.isclose(defined.min(), defined.max(), rtol=0, atol=1e-12):
        return math.nan, math.nan
    # Limits next to an infinite threshold are infinite.
    limits = np.quantile(np.minimum(defined, 1e300), [0.05, 0.95], method="weibull")
    lower, upper = np.where(limits > 1e200, np.inf, limits).tolist()
    return lower, upper


@pytest.mark.parametrize(
    "roles", [{}, {"weight": "w"}, {"cluster": "user"}, {"count": "n"}], ids=str
)
@pytest.mark.parametrize("call", CALLS)
def test_limits_of_the_bootstrap_are_quantiles_of_the_replicates(call, roles):
    options = {**CALLS[call], **roles, **SEEDED, "by": "g"}
    found = rf.intervals(predictions(), "label", "score", replicates=True, **options)
    limits = rf.intervals(predictions(), "label", "score", ci="bootstrap", level=0.9, **options)
    # Shares and areas of 0 and 1 have limits of other methods.
    limits = limits.filter(pl.col("ci_method").fill_null("bootstrap") == "bootstrap")
    limits = limits.filter(pl.col("note").ne_missing("no_solution"))  # no threshold in the data
    keys = ["g", "metric", "at", "at_value"]
    expected = {row[:4]: row[4:] for row in limits.select(*keys, "lower", "upper").rows()}
    by_key = found.partition_by(keys, as_dict=True)
    assert expected.keys() <= by_key.keys()
    for key, ends in expected.items():
        replicates = by_key[key]
        assert replicates["draw"].to_list() == list(range(1, 61))
        found_ends = [math.nan if end is None else end for end in ends]
        near = pytest.approx(quantiles(replicates["value"]), rel=1e-12, abs=1e-12, nan_ok=True)
        assert tuple(found_ends) == near
    spread = found.group_by(keys, maintain_order=True).agg(se=pl.col("value").std())
    both = limits.filter(pl.col("se").is_not_null()).join(
        spread, on=keys, nulls_equal=True, suffix="_of_replicates"
    )
    assert both.height > 3
    assert both["se"].to_list() == pytest.approx(both["se_of_replicates"].to_list())


def test_a_row_is_a_group_a_metric_a_point_and_a_resample(frame):
    table = predictions().with_columns(other=1 - pl.col("score"))
    options = {"metrics": ["auc", "tpr"], "fpr": [0.1, 0.4], "by": "g", "n_boot": 3, "seed": 1}
    scores = ["score", "other"]
    found = rf.intervals(frame(table), "label", scores, replicates=True, **options)
    points = rf.intervals(table, "label", scores, ci=None, **options)
    keys = ["g", "model", "metric", "at", "at_value"]
    draws = pl.DataFrame({"draw": [1, 2, 3]})
    expected = points.select(keys).join(draws, how="cross", maintain_order="left_right")
    assert_frame_equal(found.select(*keys, "draw"), frame(expected))
    collected = found.lazy().collect()
    assert collected.columns == ["g", "model", "metric", "draw", "value", "at", "at_value"]
    assert collected.schema["value"] == pl.Float64
    # A class with one row, or without rows, has no replicates.
    undefined = collected.filter(pl.col("g") >= 8)
    assert undefined.height == 2 * 2 * 3 * 3
    assert undefined["value"].null_count() == undefined.height
    assert collected.filter(pl.col("g") < 8)["value"].null_count() == 0


def test_totals_and_other_groups_have_the_replicates_of_calls_of_their_own():
    options = {"metrics": ["auc", "h_measure"], "replicates": True, **SEEDED}
    together = rf.intervals(predictions(), "label", "score", by="g", total=True, **options)
    first = rf.intervals(predictions().filter(g=1), "label", "score", by="g", **options)
    assert_frame_equal(together.filter(g=1).drop("total"), first)
    total = together.filter("total").drop("g", "total")
    keys = ["metric", "draw"]
    assert total.select(keys).rows() == first.select(keys).rows()
    limits = rf.intervals(
        predictions(), "label", "score", by="g", total=True, ci="bootstrap",
        **{**options, "replicates": False},
    ).filter("total", metric="auc")  # fmt: skip
    values = total.filter(metric="auc")["value"].to_numpy()
    expected = np.quantile(values, [0.025, 0.975], method="weibull")
    assert limits.select("lower", "upper").row(0) == pytest.approx(tuple(expected))


def test_replicates_of_the_h_measure_are_those_of_all_possible_resamples():
    rows = list(zip(TINY["label"], TINY["score"], strict=True))
    shares: dict[float, float] = {}
    resamples = [draw for draw in product(rows, repeat=4) if 0 < sum(y for y, _ in draw) < 4]
    values: dict[tuple, float] = {}
    for draw in resamples:
        key = tuple(sorted(draw))
        if key not in values:
            label, score = (np.array(column) for column in zip(*key, strict=True))
            values[key] = round(numerical(label, score, (2, 2)), 6)
        shares[values[key]] = shares.get(values[key], 0) + 1 / len(resamples)
    found = rf.intervals(
        TINY, "label", "score", metrics="h_measure", replicates=True, n_boot=5000, seed=2
    )["value"]
    counts = {round(value, 6) + 0.0: n / 5000 for value, n in found.round(6).value_counts().rows()}
    assert counts.keys() == {value + 0.0 for value in shares}
    for value, share in shares.items():
        assert counts[value + 0.0] == pytest.approx(share, abs=4 * (share / 5000) ** 0.5)


def test_estimates_and_default_limits_of_the_h_measure():
    table = predictions()
    for options in ({}, {"weight": "w"}, {"count": "n"}):
        measures = rf.h_measure(table, "label", "score", by="g", **options)
        found = rf.intervals(
            table, "label", "score", metrics="h_measure", by="g", **SEEDED, **options
        )
        assert_frame_equal(
            found.select("g", "estimate", "n_pos", "n_neg"),
            measures.select("g", pl.col("h_measure").alias("estimate"), "n_pos", "n_neg"),
        )
        assert found["ci_method"].to_list() == ["bootstrap_basic"] * 2 + [None] * 2
        assert (found["lower"] >= 0).all()


def test_limits_of_an_h_measure_below_0_are_not_cut_at_0():
    """Rows without a score are errors at each threshold, so that a trivial classifier is better."""
    table = predictions().with_columns(
        score=pl.when(pl.int_range(pl.len()) % 2 == 0).then("score")
    ).filter(pl.col("g") < 8)  # fmt: skip
    options = {"metrics": "h_measure", "ci": "bootstrap", "missing": "worst", **SEEDED}
    row = rf.intervals(table, "label", "score", **options).row(0, named=True)
    assert row["lower"] < row["estimate"] < row["upper"] < 0
