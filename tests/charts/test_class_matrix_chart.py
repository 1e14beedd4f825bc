"""Charts of confusion matrices of several classes: a heat map for each group."""

from __future__ import annotations

import re

import altair as alt
import polars as pl
import pytest

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
    for side, field, title in (("x", "predicted", "Predicted class"), ("y", "true", "True class")):
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


def luminance(color):
    """Return the relative luminance of a color, such as `rgb(0, 114, 178)`, or a name."""
    if color.startswith("rgb"):
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)]
    else:
        code = {"white": "#ffffff", "black": "#000000"}.get(color, color)
        parts = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return sum(weight * x for weight, x in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def colors_of(shown, mark):
    """Return the colors of the marks of this kind, in the order of the picture."""
    pattern = rf'<(?=[^>]*aria-roledescription="{mark}")[^>]*fill="([^"]+)"'
    return re.findall(pattern, shown)


@pytest.mark.parametrize("theme", ["rocframe", "rocframe_dark"])
def test_numbers_have_a_contrast_of_4_5_in_all_cells(theme):
    shares = rf.confusion_matrix(DIGITS.filter(model="decision_tree"), "label", scores=SCORES)
    shares = shares.with_columns(share_of_true=pl.int_range(100) / 99)
    with alt.theme.enable(theme):
        shown = svg(shares.roc.chart())
    cells, texts = (colors_of(shown, mark) for mark in ("rect mark", "text mark"))
    assert len(cells) == len(texts) == 100
    for cell, text in zip(cells, texts, strict=True):
        low, high = sorted(map(luminance, (cell, text)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (cell, text)
    # A share of 0 is similar to the background, and a share of 1 is not.
    background = luminance("#14171b" if theme == "rocframe_dark" else "#ffffff")
    assert abs(luminance(cells[0]) - background) < 0.1
    assert abs(luminance(cells[-1]) - background) > 0.5


def test_the_subtitle_explains_numbers_only_if_they_are_drawn():
    for n, text in ((3, "Numbers: rows. Colors: share"), (30, "Colors: share")):
        names = [f"c{i}" for i in range(n)]
        table = rf.confusion_matrix(pl.DataFrame({"y": names, "p": names}), "y", "p")
        chart = table.roc.chart()
        assert chart.title.subtitle.startswith(text)
        assert svg(chart).count('"text mark"') == (n * n if n == 3 else 0)
        (axis, *_) = encodings(chart, "x")
        assert axis["axis"]["labelAngle"] == (0 if n == 3 else -45)
