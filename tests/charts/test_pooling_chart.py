"""Charts of pooling gaps: a line from each mean area to the pooled area."""

from __future__ import annotations

import polars as pl

import rocframe as rf
from tests.charts.specifications import TWO, records, spec, svg

NONE = TWO.with_columns(label=pl.col("label") & (pl.col("model") == "linear_svm"))


def test_lines_lead_from_the_mean_auc_to_the_pooled_auc():
    table = rf.pooling_gap(TWO, "label", "score", by="model")
    chart = table.roc.chart()
    drawn = pl.DataFrame(records(chart))
    for name in ("mean_auc", "within_auc", "pooled_auc"):
        assert drawn[name].to_list() == table[name].round_sig_figs(7).to_list()
    within, between, *_ = spec(chart)["layer"]
    ends = [
        (layer["encoding"]["x"]["field"], layer["encoding"]["x2"]["field"])
        for layer in (within, between)
    ]
    assert ends == [("mean_auc", "within_auc"), ("within_auc", "pooled_auc")]
    row = table.row(0, named=True)
    assert (
        f"mean AUC {row['mean_auc']:.3f}, pooled AUC {row['pooled_auc']:.3f}" in chart.description
    )


def test_an_undefined_gap_has_a_line_with_the_reason():
    shown = svg(rf.pooling_gap(NONE, "label", "score", by="model").roc.chart())
    assert shown.count(">no positives<") == 1
    assert ">decision_tree<" in shown


def test_a_key_can_have_panels():
    chart = rf.pooling_gap(TWO, "label", "score", by=["model", "age"]).roc.chart(facet="age")
    assert spec(chart)["facet"]["sort"] == ["18-34", "35-54", "55+"]
    assert chart.title.subtitle.endswith("folds. ● mean AUC, ◆ pooled AUC")
