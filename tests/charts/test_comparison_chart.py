"""Charts of comparisons: the difference of each pair, with its interval and p-value."""

from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import encodings, records, svg


@pytest.fixture(scope="module")
def vote() -> pl.DataFrame:
    return rf.datasets.vote().filter(pl.col("model").str.contains("tree|svm|bayes"))


def test_the_specification_of_a_comparison_chart_is_unchanged(vote, assert_golden):
    table = rf.compare(vote, "label", "score", id="id", by="age")
    assert_golden(table.roc.chart(), "comparison_by_age")


def test_each_pair_has_its_difference_interval_and_p_value(vote):
    table = rf.compare(vote, "label", "score", id="id")
    chart = table.roc.chart()
    drawn = pl.DataFrame(records(chart))
    assert drawn["row"].to_list() == [
        "decision_tree − linear_svm",
        "decision_tree − naive_bayes",
        "linear_svm − naive_bayes",
    ]
    for name, column in (("difference", "difference"), ("low", "lower"), ("high", "upper")):
        assert drawn[name].to_list() == table[column].round_sig_figs(7).to_list()
    assert drawn["text"].to_list() == [f"{p:.3f}" for p in table["p_adjusted"]]
    assert {"datum": 0.0} in encodings(chart, "x")
    assert all(f">{p:.3f}<" in svg(chart) for p in table["p_adjusted"])


def test_groups_share_the_line_of_a_pair_where_they_have_colors(vote):
    table = rf.compare(vote, "label", "score", id="id", by="age", baseline="linear_svm")
    named = table.roc.chart()
    assert len(encodings(named, "y")[0]["scale"]["domain"]) == 6
    colored = table.roc.chart(color="age")
    assert encodings(colored, "y")[0]["scale"]["domain"] == [
        "linear_svm − decision_tree",
        "linear_svm − naive_bayes",
    ]


def test_the_axis_title_is_the_compared_metric(vote):
    partial = rf.compare(vote, "label", "score", id="id", fpr=(0, 0.2)).roc.chart()
    assert encodings(partial, "x")[0]["title"] == "Difference of partial AUC"
    assert partial.title.text == "Differences of partial AUC"


@pytest.mark.parametrize(
    ("metric", "name"),
    [
        ("brier", "Brier score"),
        ("log_loss", "logarithmic loss"),
        ("average_precision", "average precision"),
    ],
)
def test_the_axis_title_is_the_name_of_another_metric(vote, metric, name):
    options = {"n_boot": 20, "seed": 1} if metric == "average_precision" else {}
    scores = vote.with_columns(pl.col("score").clip(0, 1))
    table = rf.compare(scores, "label", "score", id="id", metric=metric, **options)
    chart = table.roc.chart()
    assert encodings(chart, "x")[0]["title"] == f"Difference of {name}"
    assert chart.title.text == f"Differences of {name}"


def test_only_pairs_with_the_smallest_p_values_are_drawn():
    n = 60
    models = {
        f"m{i:02}": pl.int_range(n).hash(i) % 1000 / 1000 + pl.col("label") * i / 20
        for i in range(12)
    }
    rows = pl.select(label=pl.int_range(n) % 2).with_columns(**models)
    table = rf.compare(rows, "label", list(models))
    chart = table.roc.chart()
    smallest = table.with_row_index().sort("p_value").head(40).sort("index")
    drawn = pl.DataFrame(records(chart))
    pairs = smallest.select(pl.format("{} − {}", "model_a", "model_b")).to_series()
    assert drawn["row"].to_list() == pairs.to_list()
    rule = "Rows with the 40 smallest of 66 p-values"
    assert chart.title.subtitle == f"95 % intervals (not adjusted), test: delong_t. {rule}"
    assert rule in chart.description
