"""Samples from two normal distributions, whose true ROC curve is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri

Curve: TypeAlias = Callable[[np.ndarray], np.ndarray]


def samples(
    n: int, groups: int, *, a: float, b: float, seed: int = 1
) -> tuple[pl.DataFrame, Curve]:
    """Groups of n positives and n negatives with the true curve Φ(a + b Φ⁻¹(fpr))."""
    rng = np.random.default_rng(seed)
    neg = rng.normal(size=(groups, n))
    pos = (a + rng.normal(size=(groups, n))) / b
    frame = pl.DataFrame(
        {
            "sample": np.repeat(np.arange(groups), 2 * n),
            "label": np.tile(np.repeat([True, False], n), groups),
            "score": np.hstack([pos, neg]).ravel(),
        }
    )
    return frame, lambda fpr: ndtr(a + b * ndtri(fpr))


def held(band: pl.DataFrame, true: Curve) -> pl.Series:
    """Return, for each group with limits, whether they contain the true curve at all points."""
    inside = pl.col("curve").is_between(pl.col("lower") - 1e-12, pl.col("upper") + 1e-12)
    return (
        band.with_columns(curve=pl.Series(true(band["fpr"].to_numpy())))
        .drop_nulls("lower")
        .group_by("sample", maintain_order=True)
        .agg(inside.all().alias("held"))["held"]
    )
