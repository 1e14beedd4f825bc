"""Areas of many groups at once equal those of each group alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from rocframe.classes import multiclass_auc as measured

CLASSES = [f"c{i}" for i in range(11)]  # more than numpy adds up one after the other


def table(missing):
    rng = np.random.default_rng(5)
    rows = 600
    scores = rng.integers(0, 5, (rows, len(CLASSES))) / 4
    if missing:
        scores[rng.random(scores.shape) < 0.05] = np.nan
    return pl.DataFrame(scores, schema=CLASSES).with_columns(
        truth=pl.Series(rng.choice(CLASSES, rows)),
        g=pl.Series(rng.integers(0, 60, rows)),
        n=pl.Series(rng.integers(0, 4, rows)),
    )


@pytest.mark.parametrize("missing", ["raise", "drop", "worst"])
def test_averages_of_many_groups_equal_those_of_each_group_alone(missing, monkeypatch):
    rows = table(missing != "raise")
    options = {"by": "g", "count": "n", "missing": missing}
    together = rf.multiclass_auc(rows, "truth", CLASSES, **options)
    assert together["auc"].null_count() < together.height
    alone = [
        rf.multiclass_auc(rows.filter(pl.col("g") == g), "truth", CLASSES, **options)
        for g in range(0, 60, 7)
    ]
    some = together.filter(pl.col("g") % 7 == 0)
    assert_frame_equal(pl.concat(alone), some, check_exact=True)
    monkeypatch.setattr(measured, "MIN_ROWS_PER_GROUP", 0)
    one_by_one = rf.multiclass_auc(rows, "truth", CLASSES, **options)
    assert_frame_equal(one_by_one, together, check_exact=True)


@pytest.mark.parametrize("average", ["hand_till", "macro", "weighted", "micro"])
def test_one_average_alone_equals_the_same_average_among_all(average):
    rows = table(missing=False)
    every = rf.multiclass_auc(rows, "truth", CLASSES, by="g", count="n")
    alone = rf.multiclass_auc(rows, "truth", CLASSES, by="g", count="n", average=average)
    assert_frame_equal(alone, every.filter(pl.col("average") == average), check_exact=True)
