"""Charts of gains tables: lift and cumulative lift of bins, beside the lift of all rows."""

from __future__ import annotations

import polars as pl

import rocframe as rf
from tests.charts.specifications import records

VOTES = rf.datasets.vote().filter(pl.col("model").is_in(["naive_bayes", "random_forest"]))


def test_each_bin_has_the_name_of_its_alert_rates_and_the_lifts_of_its_row():
    table = rf.gains(VOTES, "label", "score", by="model", bins=[0, 0.01, 1 / 3, 1])
    rows = records(table.roc.chart())
    assert [row["bin"] for row in rows] == ["0 to 0.01", "0.01 to 0.3333333", "0.3333333 to 1"] * 2
    for name in ("lift", "cumulative_lift"):
        assert [row[name] for row in rows] == table[name].round_sig_figs(7).to_list()
    assert [row["model"] for row in rows] == table["model"].to_list()


def test_alert_rates_that_are_nearly_equal_have_different_names():
    table = rf.gains(VOTES, "label", "score", by="model", bins=[0, 0.5, 0.5 + 1e-12, 1])
    assert len({row["bin"] for row in records(table.roc.chart())}) == 3
