"""Charts of covariances: a matrix of correlations for each group."""

from __future__ import annotations

import re

import polars as pl

import rocframe as rf
from rocframe.charts.style import REFERENCE_COLOR
from tests.charts.specifications import encodings, marks, records, svg

VOTE = rf.datasets.vote().filter(pl.col("model").str.contains("tree|svm|bayes"))


def test_each_cell_has_the_correlation_of_its_models():
    table = rf.auc_covariance(VOTE, "label", "score", id="id")
    chart = table.roc.chart()
    drawn = pl.DataFrame(records(chart))
    for name in ("model_a", "model_b"):
        assert drawn[name].to_list() == table[name].to_list()
    shown = svg(chart)
    texts = re.findall(r'aria-roledescription="text mark"[^>]*>([\d.]+)<', shown)
    assert sorted(texts) == sorted(f"{value:.2f}" for value in table["correlation"])
    value = table.filter(model_a="decision_tree", model_b="linear_svm")["correlation"][0]
    assert f"decision_tree and linear_svm: {value:.3f}" in chart.description
    assert "linear_svm and decision_tree" not in chart.description


def test_an_undefined_correlation_has_a_cell_of_its_own():
    table = rf.auc_covariance(VOTE, "label", {"a": "score", "b": pl.lit(0.5)})
    chart = table.roc.chart()
    shown = svg(chart)
    assert (shown.count(">1.00<"), shown.count(">null<")) == (1, 3)
    assert shown.count(f'fill="{REFERENCE_COLOR}"') == 3


def test_many_models_have_small_cells_and_all_their_names():
    models = [f"m{i:02}" for i in range(40)]
    pairs = pl.DataFrame({"model_a": models}).join(pl.DataFrame({"model_b": models}), how="cross")
    table = pairs.with_columns(
        n_pos=1, n_neg=1, auc_a=0.5, auc_b=0.5, covariance=0.1, correlation=0.5, note=None
    ).select("covariance", "correlation", pl.exclude("covariance", "correlation"))
    chart = table.roc.chart()
    assert marks(chart) == ["rect", "rect"]
    assert len(encodings(chart, "x")[0]["scale"]["domain"]) == 40
    image = svg(chart)
    assert all(image.count(f">{model}<") == 2 for model in models)
