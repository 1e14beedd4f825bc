"""Charts of confusion matrices of several classes: a heat map for each group."""

from __future__ import annotations

import re

import polars as pl

import rocframe as rf
from rocframe.charts.style import REFERENCE_COLOR
from tests.charts.specifications import encodings, records, spec, svg

DIGITS = rf.datasets.digits().filter(pl.col("model") != "naive_bayes")
SCORES = {digit: f"p{digit}" for digit in range(10)}
CALLS = pl.DataFrame(
    {"truth": ["cat", "cat", "dog", "emu"], "call": ["cat", "dog", "dog", "cat"], "w": [0.5] * 4}
)


def test_the_specification_of_a_confusion_matrix_is_unchanged(assert_golden):
    table = rf.confusion_matrix(CALLS, "truth", "call", classes=["emu", "dog", "cat", "fox"])
    assert_golden(table.roc.chart(), "confusion_matrix_of_classes")


def test_each_group_has_a_panel_and_each_cell_has_its_count():
    table = rf.confusion_matrix(DIGITS, "label", scores=SCORES, by="model")
    chart = table.roc.chart()
    assert spec(chart)["facet"]["sort"] == ["decision_tree", "logistic_regression"]
    for name in ("true", "predicted"):
        assert [record[name] for record in records(chart)] == table[name].cast(str).to_list()
    assert [record["count"] for record in records(chart)] == table["count"].to_list()
    texts = re.findall(r'aria-roledescription="text mark"[^>]*>([\d,]+)<', svg(chart))
    assert sorted(texts) == sorted(f"{count:,}" for count in table["count"])
    assert encodings(chart, "color")[0]["field"] == "share_of_true"
    assert "decision_tree · 0: 0.949; " in chart.description


def test_true_classes_are_rows_in_the_order_of_the_table():
    table = rf.confusion_matrix(CALLS, "truth", "call", classes=["emu", "dog", "cat"])
    for side, field, title in (
        ("x", "predicted", "Predicted class"),
        ("y", "true", "True class"),
    ):
        channel, *_ = encodings(table.roc.chart(), side)
        assert (channel["field"], channel["title"]) == (field, title)
        assert channel["scale"]["domain"] == ["emu", "dog", "cat"]


def test_sums_of_weights_are_numbers_and_classes_without_rows_are_gray():
    table = rf.confusion_matrix(
        CALLS, "truth", "call", classes=["cat", "dog", "emu", "fox"], weight="w"
    )
    chart = table.roc.chart()
    assert chart.title.subtitle.startswith("Numbers: sums of weights")
    shown = svg(chart)
    assert shown.count(">0.5<") == 4
    assert shown.count(f'fill="{REFERENCE_COLOR}"') == 4
    large = table.with_columns(pl.col("count") * 1e6).roc.chart()
    assert svg(large).count(">500k<") == 4
