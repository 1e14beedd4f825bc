"""`compare(replicates=True)`: the values of resamples, whose spread is the standard error."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

SEEDED = {"n_boot": 80, "seed": 4}
MODELS = ["a", "b", "c"]
CALLS = {
    "auc": {"metric": "auc"},
    "partial area": {"metric": "auc", "fpr": (0, 0.5), "standardize": "mcclish"},
    "loss": {"metric": "brier"},
    "list": {"metric": ["auc", "tpr", "h_measure"], "alerts": 20},
    "rule": {"metric": ["precision"], "rule": "youden"},
    "cluster": {"metric": "average_precision", "cluster": "user"},
    "weight": {"metric": ["auc", "tpr"], "fpr": 0.2, "weight": "w"},
}


def predictions() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    label = rng.random(150) < 0.4
    scores = {
        name: np.round(1 / (1 + np.exp(-rng.normal(size=150) - label * i)), 2)
        for i, name in enumerate(MODELS)
    }
    table = pl.DataFrame({"g": rng.integers(0, 2, 150), "label": label, **scores})
    one = pl.DataFrame({"g": [9, 9], "label": [True, False], "a": 0.5, "b": 0.2, "c": 0.5})
    row = pl.int_range(pl.len())
    return pl.concat([table, one]).with_columns(w=1.0 + row % 3, user=row // 3, sex=row % 2)


def keys_of(table: pl.DataFrame) -> list[str]:
    return [name for name in ("g", "model_a", "model_b", "metric") if name in table.columns]


@pytest.mark.parametrize("call", CALLS)
def test_the_standard_deviation_of_the_differences_is_the_standard_error(call):
    options = {**CALLS[call], **SEEDED, "by": "g"}
    found = rf.compare(predictions().lazy(), "label", MODELS, replicates=True, **options).collect()
    tests = rf.compare(predictions(), "label", MODELS, method="bootstrap", **options)
    keys = keys_of(found)
    spread = found.group_by(keys, maintain_order=True).agg(se=pl.col("difference").std())
    assert_frame_equal(spread, tests.select(*keys, "se"))
    draws = found.group_by(keys, maintain_order=True).agg("draw")["draw"].to_list()
    assert draws == [list(range(1, 81))] * tests.height
    assert found.columns == [*keys, "draw", "difference", "estimate_a", "estimate_b"]
    defined = found.drop_nulls()
    difference = defined["estimate_a"] - defined["estimate_b"]
    assert difference.to_list() == pytest.approx(defined["difference"].to_list(), abs=1e-12)
    assert found.filter(g=9)["difference"].null_count() == found.filter(g=9).height > 0


def test_both_models_have_the_same_resamples():
    table = predictions().with_columns(same="a", reverse=1 - pl.col("a"))
    found = rf.compare(table, "label", ["a", "same", "reverse"], replicates=True, **SEEDED)
    pairs = found.partition_by("model_a", "model_b", as_dict=True)
    assert (pairs["a", "same"]["difference"] == 0).all()
    opposite = pairs["a", "reverse"]
    total = opposite["estimate_a"] + opposite["estimate_b"]
    assert total.to_list() == pytest.approx([1.0] * 80)
    alone = rf.compare(table, "label", ["a", "reverse"], replicates=True, **SEEDED)
    assert_frame_equal(alone, opposite)


@pytest.mark.parametrize("points", [{}, {"threshold": 0.5}, {"alert_rate": 0.2}], ids=str)
def test_different_rows_have_independent_resamples(points):
    metric = ["tpr", "precision"] if points else ["auc", "brier"]
    options = {"metric": metric, "between": "sex", "by": "g", **points, **SEEDED}
    found = rf.compare(predictions(), "label", "b", replicates=True, **options)
    tests = rf.compare(predictions(), "label", "b", method="bootstrap_unpaired", **options)
    keys = keys_of(found)
    sides = pl.col("estimate_a", "estimate_b").var().name.suffix("_var")
    spread = found.group_by(keys, maintain_order=True).agg(sides).with_columns(
        se=(pl.col("estimate_a_var") + pl.col("estimate_b_var")).sqrt()
    )  # fmt: skip
    assert_frame_equal(spread.select(*keys, "se"), tests.select(*keys, "se"))
    assert found.schema["model_a"] == pl.Int64
    correlation = found.filter(g=0, metric=metric[0]).select(pl.corr("estimate_a", "estimate_b"))
    assert abs(correlation.item()) < 0.4
