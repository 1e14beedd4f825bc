"""Synthetic prediction tables: so many rows, groups and distinct scores."""

from __future__ import annotations

import numpy as np
import polars as pl


def predictions(
    rows: int, *, groups: int = 1, dtype: str = "f8", decimals: int | None = None
) -> pl.DataFrame:
    """Return random predictions, three in ten positive, that tell the classes apart a little."""
    rng = np.random.default_rng(rows + groups)
    label = rng.random(rows) < 0.3
    score = 1 / (1 + np.exp(-rng.normal(np.where(label, 0.5, -0.5))))
    if decimals is not None:
        score = np.round(score, decimals)
    columns = {
        "group": rng.integers(0, groups, rows),
        "label": label,
        "score": score.astype(dtype),
        "weight": rng.random(rows),
    }
    return pl.DataFrame(columns)
