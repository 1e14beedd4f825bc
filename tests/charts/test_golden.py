"""Specifications of charts, without their data, are those that are stored in `tests/golden`."""

from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf
from rocframe.kinds import KINDS

VOTE = rf.datasets.vote()
TREES = VOTE.filter(pl.col("model").str.contains("tree|svm"))
THREE = VOTE.filter(pl.col("model").str.contains("tree|svm|bayes"))
# One model without positives.
NONE = VOTE.with_columns(label=pl.col("label") & (pl.col("model") != "linear_svm"))
COLUMNS = ("label", "score")
BY_MODEL = rf.curve(VOTE, *COLUMNS, by="model")
BY_FOLD = rf.curve(VOTE, *COLUMNS, by=["model", "fold"])
CURVES = rf.curve(TREES, *COLUMNS, by="model")
METRICS = {"metrics": ["tpr", "lift"], "fpr": 0.1, "ci": None}

CHARTS = {
    **{f"{kind}_by_model": (BY_MODEL, {"kind": kind}) for kind in KINDS},
    "roc_by_model_and_fold": (BY_FOLD, {}),
    "pr_in_panels": (BY_FOLD, {"kind": "pr", "facet": "model", "color": None}),
    "roc_without_groups": (rf.curve(VOTE, *COLUMNS), {}),
    "precision_by_alert_rate": (CURVES, {"x": "alert_rate", "y": "precision"}),
    "points_by_model": (CURVES.roc.at(tpr=[0.8, 0.9]), {}),
    "auc_by_model": (rf.auc(NONE, *COLUMNS, by="model"), {}),
    "fold_auc_by_model_and_age": (rf.fold_auc(NONE, *COLUMNS, by=["model", "age"]), {}),
    "intervals_in_panels": (rf.intervals(TREES, *COLUMNS, by="model", **METRICS), {}),
    "band_by_model": (rf.band(TREES, *COLUMNS, by="model"), {}),
    "comparison_by_age": (rf.compare(THREE, *COLUMNS, id="id", by="age"), {}),
    "covariance_by_age": (rf.auc_covariance(THREE, *COLUMNS, id="id", by="age"), {}),
    "pooling_gap_by_model": (rf.pooling_gap(TREES, *COLUMNS, by="model"), {}),
    "power": (rf.power(auc=[0.6, 0.7], n_pos=[10, 20, 50], n_neg=100), {}),
}


@pytest.mark.parametrize("name", CHARTS)
def test_the_specification_of_a_chart_is_unchanged(name, assert_golden):
    table, options = CHARTS[name]
    assert_golden(table.roc.chart(**options), name)
