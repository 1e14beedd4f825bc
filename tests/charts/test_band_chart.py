"""Charts of bands: each curve with its band."""

from __future__ import annotations

import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import (
    TWO,
    line_marks,
    lines,
    marks,
    records,
    reference_lines,
    shared,
    spec,
    svg,
)

NONE = TWO.with_columns(label=pl.col("label") & (pl.col("model") == "linear_svm"))


def band(table: pl.DataFrame = TWO, **options: object) -> pl.DataFrame:
    return rf.band(table, "label", "score", by="model", **options)


def test_a_band_has_the_limits_of_the_table():
    table = band(grid=[0.1, 0.5])
    first, second = records(table.roc.chart())
    assert (first["model"], second["model"]) == ("decision_tree", "linear_svm")
    rows = table.filter(model="decision_tree")
    for name in ("fpr", "tpr", "lower", "upper"):
        assert first[name] == rows[name].round_sig_figs(7).to_list()


def test_limits_along_both_axes_are_crosses_without_a_line():
    assert marks(band(grid=5).roc.chart()) == ["area", "area", "line", "line", "point"]
    table = band(method="threshold", grid=[0.2, 0.8])
    both = table.roc.chart()
    assert marks(both) == ["rule", "rule", "line", "point"]
    for record, model in zip(records(both), ("decision_tree", "linear_svm"), strict=True):
        rows = table.filter(model=model).sort("fpr", "tpr")
        for name in ("fpr", "tpr", "fpr_lower", "fpr_upper", "lower", "upper"):
            assert record[name] == rows[name].round_sig_figs(7).to_list()
    # The only line is the line of chance. Each of the four points has a cross of two bars.
    assert svg(both).count('aria-roledescription="line mark"') == 1
    assert svg(both).count('aria-roledescription="rule mark"') == 8
    curves = rf.curve(TWO, "label", "score", by="model").roc.chart() + both
    assert svg(curves).count('aria-roledescription="line mark"') == 3


@pytest.mark.parametrize(
    ("method", "promise"),
    [
        ("kolmogorov_smirnov", "90 % simultaneous band (kolmogorov_smirnov)"),
        ("threshold", "90 % pointwise band (threshold)"),
    ],
)
def test_the_subtitle_and_the_description_name_level_and_method_of_a_band(method, promise):
    chart = band(method=method, level=0.9).roc.chart()
    assert chart.title.subtitle == promise
    assert f"{promise}." in chart.description


def test_a_band_lies_over_the_curves_on_their_axes():
    both = rf.curve(TWO, "label", "score", by="model").roc.chart() + band(grid=5).roc.chart()
    shown = svg(both)
    assert shown.count(">False positive rate<") == 1
    assert shown.count(">model<") == 1
    assert shown.count(">95 % simultaneous band<") == 1
    assert (lines(both), reference_lines(both)) == (2, 1)  # bands share the line of the curve


def test_colors_and_panels_are_chosen_as_for_curves():
    chart = band(grid=5).roc.chart(facet="model", color=None)
    assert spec(chart)["facet"]["field"] == "model"
    assert shared(chart, "color") == {}
    assert all('stroke="#07469b"' in line for line in line_marks(chart))
