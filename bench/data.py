"""Synthetic prediction tables."""

from __future__ import annotations

import numpy as np
import polars as pl


def predictions(
    rows: int, *, groups: int = 1, dtype: str = "f8", decimals: int | None = None
) -> pl.DataFrame:
    """Return random predictions with 30 % positives; the distributions of the classes overlap."""
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


def fold_curves(rows: int) -> pl.DataFrame:
    """Return a curve table of about `rows` rows, with 100 folds per model.

    All curves are equal. For at least ten million rows, a curve has about 100,000 points.
    """
    folds = 100
    models = max(1, rows // 10**7)
    size = rows // (models * folds)
    rng = np.random.default_rng(rows)
    label = rng.permutation(np.arange(size - 1) < size // 3)
    tp, fp = (np.append(0, np.cumsum(in_class)) for in_class in (label, ~label))
    threshold = np.append(np.inf, np.sort(rng.random(size - 1))[::-1])
    curve = {"threshold": threshold, "tp": tp, "fp": fp, "fn": tp[-1] - tp, "tn": fp[-1] - fp}
    number = np.repeat(np.arange(models * folds), size)
    keys = pl.DataFrame(
        {
            "model": [f"model {i // folds:03}" for i in range(models * folds)],
            "fold": [i % folds for i in range(models * folds)],
        }
    )
    return keys[number].with_columns(
        pl.Series(name, np.tile(values, models * folds)) for name, values in curve.items()
    )
