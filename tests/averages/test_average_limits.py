"""Column names, notes and confidence limits of averages."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import rocframe as rf


def log(seed: int = 1, size: int = 200) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "side": rng.choice(["buy", "sell"], size),
            "fold": rng.integers(0, 4, size),
            "label": rng.random(size) < 0.4,
            "score": rng.random(size),
            "w": rng.integers(1, 4, size) / 2,
        }
    )


def test_no_group_is_called_like_the_sides_of_a_jump():
    curves = rf.curve(log(), "label", "score", by=["side", "fold"])
    with pytest.raises(rf.ReservedColumnError, match=r"^by='side': the result has"):
        rf.average(curves, over="fold")


def test_binomial_limits_weigh_each_fold_by_its_rows():
    rows = [(0, 4), (1, 1000)]
    predictions = pl.DataFrame(
        {
            "fold": [fold for fold, pos in rows for _ in range(pos + 2)],
            "label": [i < pos for _, pos in rows for i in range(pos + 2)],
            "score": [i % 2 for _, pos in rows for i in range(pos + 2)],
        }
    )
    curves = rf.curve(predictions, "label", "score", by="fold")
    mean = rf.average(curves, over="fold", grid=[0.5], interval="binomial")
    p = mean["tpr"].item()
    expected = math.sqrt(p * (1 - p) * (1 / 4 + 1 / 1000) / 4)
    assert mean["tpr_se"].item() == pytest.approx(expected, rel=1e-12)


def test_weights_are_no_numbers_of_rows_for_binomial_limits():
    curves = rf.curve(log(), "label", "score", by="fold", weight="w")
    with pytest.raises(
        rf.OptionValueError, match=r"^interval='binomial': the curves have weights instead of"
    ):
        rf.average(curves, over="fold", interval="binomial")


def test_a_mean_without_limits_says_why():
    single = pl.DataFrame(
        {
            "fold": [0, 0, 0, 1, 1, 1, 1],
            "label": [1, 0, 0, 1, 1, 0, 0],
            "score": [3, 2, 1, 4, 1, 2, 3],
        }
    )
    found = rf.fold_auc(single, "label", "score").row(0, named=True)
    assert (found["se"], found["lower"], found["note"]) == (None, None, "one_positive")
    perfect = single.with_columns(score="label", fold=pl.Series([0, 0, 1, 0, 1, 1, 0]))
    flat = rf.fold_auc(perfect, "label", "score").row(0, named=True)
    assert flat["se"] is None
    assert flat["note"] in {"one_positive", "one_negative", "zero_variance"}


def test_a_chart_speaks_of_limits_where_there_are_some():
    curves = rf.curve(log(), "label", "score", by="fold")
    for interval, said in ((None, False), ("t", True)):
        chart = rf.average(curves, over="fold", interval=interval).roc.chart()
        assert ("with pointwise intervals" in chart.to_dict()["description"]) == said
