"""Tables for tests of comparisons, and helpers that compare their numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rocframe as rf

DELONG = json.loads(
    (Path(__file__).parents[1] / "reference" / "delong1988.json").read_text(encoding="utf-8")
)
MARKERS = ["alb", "totscore", "tp"]
VERBS = {"compare": rf.compare, "contrast": rf.contrast, "auc_covariance": rf.auc_covariance}
UNPAIRED = ["delong_t_unpaired", "delong_unpaired"]
METHODS = ["delong_t", "delong", *UNPAIRED, "bootstrap", "permutation", "venkatraman"]

# How a formula is asked for, and what of a table it then reads.
PARTS = {
    "whole": (None, {}),
    "fpr": (("fpr", 0.25, 0.75), {"fpr": (0.25, 0.75)}),
    "tpr": (("tpr", 0.5, 1), {"tpr": (0.5, 1)}),
}
MASSES = {
    "plain": {},
    "counted": {"count": "count"},
    "weighted": {"weight": "weight"},
    "both": {"weight": "weight", "count": "count"},
    "clustered": {"cluster": "user"},
    "clustered and weighted": {"cluster": "user", "weight": "weight"},
}

# Perfect, and all wrong.
PERFECT = pl.DataFrame({"label": [1, 1, 0, 0], "a": [4, 3, 2, 1], "b": [1, 2, 3, 4]})

CLASSES = {
    "no_rows": [],
    "no_positives": [0, 0, 0],
    "no_negatives": [1, 1],
    "one_positive": [1, 0, 0],
    "one_negative": [1, 1, 0],
}


def row(table: pl.DataFrame, **where: object) -> dict[str, object]:
    """Return the only row of a table, after a filter if there is one."""
    return (table.filter(**where) if where else table).row(0, named=True)


def near(value: float | None, rel: float = 1e-12) -> object:
    return None if value is None else pytest.approx(value, rel=rel, abs=1e-14)


def simulated(seed: int, rows: int = 60, groups: int = 1) -> pl.DataFrame:
    """Return three models with the same labels, on the same rows."""
    rng = np.random.default_rng(seed)
    label = rng.random(rows * groups) < 0.4
    shared = label + rng.normal(size=rows * groups)
    return pl.DataFrame(
        {
            "id": np.arange(rows * groups),
            "g": np.repeat(np.arange(groups), rows),
            "label": label,
            **{m: np.round(shared + rng.normal(size=rows * groups), 1) for m in "abc"},
        }
    )


def long(table: pl.DataFrame, models: str = "abc", seed: int = 0) -> pl.DataFrame:
    """Return the same predictions as a long table, with rows in any order."""
    return shuffled(melted(table, models), seed)


def wide(seed: int = 0, rows: int = 24, groups: int = 2) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    size = rows * groups
    return pl.DataFrame(
        {
            "id": [f"i{i}" for i in range(size)],
            "g": np.repeat(np.arange(groups), rows),
            "label": np.arange(size) % 3 == 0,
            **{m: rng.integers(0, 9, size) / 8 for m in "abc"},
            "w": rng.integers(1, 5, size) / 2,
            "user": rng.integers(0, 9, size),
        }
    )


def melted(table: pl.DataFrame, models: str = "abc") -> pl.DataFrame:
    """Return a long table with the rows of each model in the same order."""
    rest = [name for name in table.columns if name not in models]
    return table.unpivot(list(models), index=rest, variable_name="model", value_name="score")


def shuffled(table: pl.DataFrame, seed: int = 0) -> pl.DataFrame:
    return table.sample(fraction=1, shuffle=True, seed=seed)


def pairs_of(table: pl.DataFrame) -> dict[tuple[str, str], dict[str, object]]:
    """Return the rows of one group for the two models."""
    return {(line["model_a"], line["model_b"]): line for line in table.iter_rows(named=True)}


def holm(p: list[float]) -> list[float]:
    order = sorted(range(len(p)), key=p.__getitem__)
    steps = {i: min(1.0, (len(p) - rank) * p[i]) for rank, i in enumerate(order)}
    return [max(steps[j] for j in order[: order.index(i) + 1]) for i in range(len(p))]


def bh(p: list[float]) -> list[float]:
    order = sorted(range(len(p)), key=p.__getitem__)
    steps = {i: min(1.0, len(p) / (rank + 1) * p[i]) for rank, i in enumerate(order)}
    return [min(steps[j] for j in order[order.index(i) :]) for i in range(len(p))]
