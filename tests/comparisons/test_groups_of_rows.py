"""`compare(between="sex")`: unpaired comparisons of groups of rows, and lists of metrics."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import t as student

import rocframe as rf
from tests.comparisons.tables import bh, holm, near, row

METRICS = ["tpr", "fpr", "precision", "alert_rate", "accuracy", "f1"]
LIST_COLUMNS = [
    *("model_a", "model_b", "metric", "difference", "lower", "upper", "p_value", "p_adjusted"),
    *("ratio", "ratio_lower", "ratio_upper", "se", "statistic", "df", "estimate_a", "estimate_b"),
    *("threshold_a", "threshold_b", "n_paired", "n_pos", "n_neg", "ci_level", "test", "note"),
]


def people(seed: int = 1, rows: int = 60, groups: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    size = rows * groups
    label = rng.random(size) < 0.4
    return pl.DataFrame(
        {
            "g": np.repeat(np.arange(groups), rows),
            "sex": rng.choice(["f", "m", "x"], size),
            "label": label,
            "score": np.round(1 / (1 + np.exp(0.5 - label - rng.normal(size=size))), 2),
            "other": np.round(1 / (1 + np.exp(0.5 - label - rng.normal(size=size))), 2),
            "w": rng.integers(1, 5, size) / 2,
        }
    )


def compare(table: pl.DataFrame, metric: object = "tpr", **options: Any) -> pl.DataFrame:
    options = {"between": "sex", "threshold": 0.5, **options}
    return rf.compare(table, "label", "score", metric=metric, **options)


def test_each_metric_has_a_row_in_the_given_order(frame):
    table = people(groups=2)
    found = compare(frame(table.to_dict(as_series=False)), METRICS, by="g").lazy().collect()
    assert found.columns == ["g", *LIST_COLUMNS]
    pairs = [("f", "m"), ("f", "x"), ("m", "x")]
    expected = [(g, *pair, metric) for g in (0, 1) for pair in pairs for metric in METRICS]
    assert found.select("g", "model_a", "model_b", "metric").rows() == expected
    assert found["n_paired"].null_count() == found.height
    tests = dict(found.select("metric", "test").unique().rows())
    assert tests == dict.fromkeys(METRICS, "miettinen_nurminen") | {"f1": "delta_unpaired"}


def test_values_are_those_of_each_group_alone():
    table = people()
    found = compare(table, METRICS)
    values = rf.intervals(
        table, "label", "score", by="sex", metrics=METRICS, threshold=0.5, seed=1, n_boot=5
    )
    keys = values.select("sex", "metric").rows()
    expected = dict(zip(keys, values["estimate"], strict=True))
    for line in found.iter_rows(named=True):
        a, b = (expected[line[f"model_{side}"], line["metric"]] for side in "ab")
        assert (line["estimate_a"], line["estimate_b"]) == near((a, b))
        assert (line["difference"], line["ratio"]) == near((a - b, a / b))


def test_differences_and_ratios_are_measures_of_fairness():
    table = people()
    alert = pl.col("score") >= 0.5
    rates = table.group_by("sex").agg(
        demographic_parity=alert.mean(),
        equal_opportunity=alert.filter(pl.col("label")).mean(),
        predictive_equality=alert.filter(~pl.col("label")).mean(),
        predictive_parity=pl.col("label").filter(alert).mean(),
    )
    metrics = dict(zip(["alert_rate", "tpr", "fpr", "precision"], rates.columns[1:], strict=True))
    for line in compare(table, list(metrics), baseline="m").iter_rows(named=True):
        a, b = (
            rates.filter(sex=line[model])[metrics[line["metric"]]].item()
            for model in ("model_a", "model_b")
        )
        assert line["model_a"] == "m"
        assert (line["difference"], line["ratio"]) == near((a - b, a / b))


OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("tpr", {"threshold": 0.5}),
    ("f1", {"threshold": 0.5}),
    ("recall", {"alert_rate": 0.3, "n_boot": 20, "seed": 1}),
    ("ks", {"n_boot": 20, "seed": 1}),
    ("auc", {}),
    ("brier", {}),
    ("calibration_slope", {}),
    ("average_precision", {"n_boot": 20, "seed": 1}),
]


@pytest.mark.parametrize(("metric", "options"), OTHERS, ids=[metric for metric, _ in OTHERS])
def test_the_rest_are_all_other_rows(metric, options):
    table = people(groups=2)
    options = {"threshold": None, "by": "g", **options}
    found = compare(table, metric, pairs="rest", **options)
    assert found["model_b"].null_count() == found.height == 6
    random = ["p_adjusted", "lower", "upper", "p_value", "se", "statistic", "df"]
    for sex in "fmx":
        recoded = table.with_columns(
            sex=pl.when(pl.col("sex") == sex).then(pl.lit("a")).otherwise(pl.lit("b"))
        )
        expected = compare(recoded, metric, **options)
        dropped = random if "n_boot" in options else ["p_adjusted"]
        names = ["model_a", "model_b", *dropped]
        assert_frame_equal(found.filter(model_a=sex).drop(names), expected.drop(names))


def test_the_rest_have_one_threshold():
    table = people(groups=2)
    by_group = pl.DataFrame({"g": [0, 1], "threshold": [0.4, 0.6]})
    found = compare(table, "tpr", pairs="rest", by="g", threshold=by_group)
    for g, threshold in ((0, 0.4), (1, 0.6)):
        expected = compare(table.filter(g=g), "tpr", pairs="rest", by="g", threshold=threshold)
        assert_frame_equal(found.filter(g=g), expected)


@pytest.mark.parametrize(
    ("family", "adjust", "adjusted"), [("group", "holm", holm), ("all", "bh", bh)]
)
def test_a_family_has_all_pairs_and_metrics_of_a_group_or_of_the_table(family, adjust, adjusted):
    found = compare(people(groups=2), METRICS, by="g", adjust=adjust, family=family)
    parts = [found] if family == "all" else found.partition_by("g")
    for part in parts:
        assert part["p_adjusted"].to_list() == near(adjusted(part["p_value"].to_list()))


@pytest.mark.parametrize("metric", ["f1", "ks", "brier", "auc"])
def test_limits_of_a_ratio_are_walds_on_the_logarithmic_scale(metric):
    options = {} if metric == "f1" else {"threshold": None, "seed": 1}
    for line in compare(people(), [metric], **options).iter_rows(named=True):
        a, b = line["estimate_a"], line["estimate_b"]
        own = [
            row(compare(people(), [metric], **options), model_a=x, model_b=y)["se"] ** 2
            for x, y in (("f", "m"), ("f", "x"), ("m", "x"))
        ]
        variance = {  # of each group, from the variances of the three differences
            "f": (own[0] + own[1] - own[2]) / 2,
            "m": (own[0] + own[2] - own[1]) / 2,
            "x": (own[1] + own[2] - own[0]) / 2,
        }
        se = sqrt(variance[line["model_a"]] / a**2 + variance[line["model_b"]] / b**2)
        half = student.ppf(0.975, line["df"]) * se
        limits = exp(log(a / b) - half), exp(log(a / b) + half)
        assert (line["ratio_lower"], line["ratio_upper"]) == pytest.approx(limits, rel=1e-6)


def test_groups_without_a_class_have_a_note_and_change_no_others():
    table = people(groups=3)
    table = table.with_columns(
        label=pl.when(pl.col("g") == 1, pl.col("sex") == "m").then(False).otherwise("label")
    ).filter((pl.col("g") != 2) | (pl.col("sex") != "x"))
    for options in ({}, {"method": "delta_unpaired"}):
        found = compare(table, ["tpr", "f1"], by="g", **options)
        alone = compare(table.filter(g=0), ["tpr", "f1"], by="g", **options)
        assert_frame_equal(found.filter(g=0), alone)
        of_m = found.filter(
            (pl.col("g") == 1) & (pl.col("model_a") + pl.col("model_b")).str.contains("m")
        )
        assert of_m["note"].to_list() == ["no_positives"] * 4
        assert of_m.filter(metric="tpr")["p_value"].null_count() == 2
        assert found.filter(g=2).select("model_a", "model_b").unique().rows() == [("f", "m")]


def test_resamples_without_alerts_are_drawn_again_and_counted_in_the_note():
    table = pl.DataFrame({"sex": "f", "label": [1, 1, 1, 1, 0, 0, 0, 0], "score": [1, 0, 0, 0] * 2})
    table = pl.concat([table, table.with_columns(sex=pl.lit("m"), score=pl.lit(1, pl.Int64))])
    found = compare(table, "precision", method="bootstrap_unpaired", seed=1, n_boot=2000)
    note, number = found["note"].item().split(":")
    # A resample of 8 rows without one of the 2 alerts has the probability (6 / 8)^8 = 0.1.
    expected = 2000 * 0.75**8 / (1 - 0.75**8)
    assert (note, int(number)) == ("redrawn", pytest.approx(expected, abs=5 * sqrt(expected)))


def test_a_column_is_compared_unpaired_and_with_id_paired():
    table = people().with_row_index("id").rename({"score": "b", "other": "a"})
    long = table.unpivot(["a", "b"], index=["id", "label"], variable_name="kind")
    long = long.sample(fraction=1, shuffle=True, seed=1)
    options = {"metric": "tpr", "threshold": 0.5}
    unpaired = rf.compare(long, "label", "value", between="kind", **options)
    paired = rf.compare(long, "label", "value", between="kind", id="id", **options)
    assert (paired["test"].item(), unpaired["test"].item()) == ("mcnemar", "miettinen_nurminen")
    assert paired["difference"].item() == unpaired["difference"].item()
    assert_frame_equal(paired, rf.compare(table, "label", ["a", "b"], **options))


def test_weights_are_compared_by_the_bootstrap():
    found = compare(people(), ["tpr", "f1"], weight="w", seed=1, n_boot=20)
    assert set(found["test"]) == {"bootstrap_unpaired"}
    weighted = (
        people()
        .filter(pl.col("label"))
        .group_by("sex")
        .agg(tpr=((pl.col("score") >= 0.5) * pl.col("w")).sum() / pl.col("w").sum())
    )
    values = dict(weighted.rows())
    of_tpr = found.filter(metric="tpr")
    assert of_tpr["estimate_a"].to_list() == near([values[sex] for sex in of_tpr["model_a"]])


def test_rows_without_any_row_have_no_comparisons(frame):
    kinds = {"label": pl.Boolean, "sex": pl.String, "score": pl.Float64}
    found = compare(frame(schema=kinds), METRICS).lazy().collect()
    assert (found.height, found.columns) == (0, LIST_COLUMNS)
