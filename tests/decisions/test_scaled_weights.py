"""Weights that are multiplied by the same number: decisions from curves do not change."""

from __future__ import annotations

import numpy as np
import polars as pl
import polars.selectors as cs
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

# Results in which no column has the unit of the weights, except for those that are left out.
VERBS = {
    "hull": rf.hull,
    "common hull": lambda curves: rf.hull(curves, across="model"),
    "cost_curve": lambda curves: rf.cost_curve(curves, grid="vertices"),
    "common cost_curve": lambda curves: rf.cost_curve(curves, across="model", grid=7),
    "relative_superiority": lambda curves: rf.relative_superiority(curves, across="model"),
    "mix": lambda curves: rf.mix(curves, fpr=[0, 0.25, 0.3, 1]),
    "common mix": lambda curves: rf.mix(curves, across="model", tpr=[0, 0.25, 0.3, 1]),
    "concavities": rf.concavities,
    "repaired_auc": lambda curves: rf.repaired_auc(curves, over="model", which="all"),
    "transfer": lambda curves: rf.transfer(curves, ["youden", "closest_top_left"], over="model"),
    "ties": rf.ties,
}
UNITS = cs.by_name(
    "tp", "fp", "fn", "tn", "n_pos", "n_neg", "tied_pos", "tied_neg", require_all=False
)


def predictions() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "model": np.repeat(["a", "b"], 20),
            "label": rng.integers(0, 2, 40),
            "score": rng.integers(0, 12, 40) / 12,
            "weight": rng.integers(1, 9, 40) / 10,
        }
    )


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
def test_the_unit_of_the_weights_has_no_effect(verb):
    def result(factor: float) -> pl.DataFrame:
        scaled = predictions().with_columns(pl.col("weight") * factor)
        return verb(rf.curve(scaled, "label", "score", by="model", weight="weight")).drop(UNITS)

    expected = result(1)
    assert expected.height > 1
    for factor in (1e-200, 1e-3, 1e140):
        assert_frame_equal(result(factor), expected, rel_tol=1e-9, abs_tol=1e-12)
