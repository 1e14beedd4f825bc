"""Charts of reader studies: the means and the values of all readers, with a color per modality."""

from __future__ import annotations

import polars as pl

import rocframe as rf
from tests.charts.specifications import records, spec
from tests.comparisons.test_reader_study import readings, study


def test_the_lines_are_those_of_the_mean_and_of_each_reader():
    table = study(readings(modalities="ba", readers=2))
    chart = table.roc.chart()
    drawn, values = pl.DataFrame(records(chart)), table.filter(pl.col("modality_b").is_null())
    assert drawn["reader"].to_list() == ["mean", "mean", "0", "0", "1", "1"]
    assert drawn["modality"].to_list() == ["a", "b"] * 3
    for name in ("estimate", "lower", "upper"):
        assert drawn[name].to_list() == values[name].round_sig_figs(7).to_list()
    assert spec(chart)["encoding"]["color"]["field"] == "modality"


def test_the_subtitle_has_the_differences_of_the_means():
    table = study(readings(readers=4))
    pair = table.filter(pl.col("modality_b").is_not_null()).row(0, named=True)
    difference = f"{pair['estimate']:.3f}".replace("-", "−")
    expected = f"a − b: {difference}, p = {pair['p_value']:.3f}"
    chart = table.roc.chart()
    assert chart.title.subtitle == expected
    assert expected in chart.description
    one = study(readings(readers=1)).roc.chart()
    assert one.title.subtitle == "a − b: one reader"


def test_groups_have_lines_or_panels_without_a_subtitle():
    table = pl.concat([readings(i).with_columns(g=i) for i in range(2)])
    tests = rf.reader_study(table, "label", "score", id="case", by="g")
    chart = tests.roc.chart()
    assert len(records(chart)) == 16
    assert "subtitle" not in spec(chart)["title"]
    assert spec(tests.roc.chart(facet="g"))["facet"]["field"] == "g"
