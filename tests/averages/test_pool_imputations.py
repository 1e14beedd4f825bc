"""`pool_imputations`: Rubin's rules, compared with fractions and with printed results of mice."""

from __future__ import annotations

from fractions import Fraction
from math import exp, inf, log, sqrt

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import rocframe as rf
from tests.charts.specifications import records

VALUES = [Fraction(80, 100), Fraction(82, 100), Fraction(78, 100)]
ERRORS = [Fraction(30, 1000), Fraction(29, 1000), Fraction(31, 1000)]


def areas(**columns):
    table = {"imputation": [1, 2, 3], "auc": map(float, VALUES), "se": map(float, ERRORS)}
    return pl.DataFrame({name: [*values] for name, values in (table | columns).items()})


def test_the_identity_scale_equals_the_calculation_in_fractions():
    m, complete = 3, 19
    mean = sum(VALUES) / m
    within = sum(error**2 for error in ERRORS) / m
    between = sum((value - mean) ** 2 for value in VALUES) / (m - 1)
    missing = (1 + Fraction(1, m)) * between
    total = within + missing
    share, increase = missing / total, missing / within
    old = (m - 1) / share**2
    observed = Fraction(complete + 1, complete + 3) * complete * (1 - share)
    df = old * observed / (old + observed)
    half = stats.t.ppf(0.975, float(df)) * sqrt(total)
    expected = pl.DataFrame(
        {
            "metric": ["auc"],
            "estimate": float(mean),
            "lower": float(mean) - half,
            "upper": float(mean) + half,
            "at": pl.Series([None], dtype=pl.String),
            "at_value": pl.Series([None], dtype=pl.Float64),
            "se": sqrt(total),
            "within_variance": float(within),
            "between_variance": float(between),
            "relative_increase": float(increase),
            "fraction_missing": float((increase + 2 / (df + 3)) / (increase + 1)),
            "df": float(df),
            "n_imputations": [m],
            "ci_level": 0.95,
            "scale": "identity",
            "note": pl.Series([None], dtype=pl.String),
        }
    )
    for table in (areas(), areas(n_pos=[20, 21, 22], n_neg=[50, 49, 48])):
        options = {"df_complete": complete} if "n_pos" not in table else {}
        found = rf.pool_imputations(table, scale="identity", **options)
        assert_frame_equal(found, expected, check_exact=False, rel_tol=1e-12)


def test_the_logit_scale_pools_log_odds_with_variances_by_the_delta_method():
    found = rf.pool_imputations(areas())
    odds = [log(value / (1 - value)) for value in VALUES]
    errors = [e / (v * (1 - v)) for v, e in zip(VALUES, ERRORS, strict=True)]
    table = pl.DataFrame({"imputation": [1, 2, 3], "estimate": odds, "se": map(float, errors)})
    identity = rf.pool_imputations(table)
    assert identity.select("metric", "scale").rows() == [("estimate", "identity")]
    estimate, lower, upper, se = identity.select("estimate", "lower", "upper", "se").row(0)
    back = [1 / (1 + exp(-value)) for value in (estimate, lower, upper)]
    expected = [*back, se * back[0] * (1 - back[0])]
    row = found.select("estimate", "lower", "upper", "se").row(0)
    assert row == pytest.approx(expected, rel=1e-12)
    same = ["within_variance", "between_variance", "df", "fraction_missing", "relative_increase"]
    assert_frame_equal(found.select(same), identity.select(same))


# Printed by `pool` of the package mice for R: m, ubar, b, dfcom, df, riv, fmi.
MICE = [
    (5, 0.71206627, 0.83964136, 59, 7.805051, 1.4149942, 0.6625659),
    (5, 0.10052200, 0.30175131, 59, 4.277824, 3.6022121, 0.8424252),
    (5, 0.08902854, 0.01146902, 59, 40.480414, 0.1545889, 0.1737299),
    (5, 7.76794670, 0.719350800, 8, 5.805314, 0.11112601, 0.3044313),
    (5, 0.02473847, 0.001134293, 8, 6.178032, 0.05502168, 0.2586992),
    (50, 386.0658, 152.5150, 149, 89.08804, 0.4029502, 0.3026968),
    (50, 0.04740713, 0.01286813, 149, 103.69822, 0.2768675, 0.2315134),
]


@pytest.mark.parametrize("printed", MICE)
def test_the_diagnostics_are_those_that_mice_prints(printed):
    m, within, between, complete, *expected = printed
    values = np.linspace(-1, 1, m)
    values *= np.sqrt(between / values.var(ddof=1))
    table = pl.DataFrame({"imputation": range(m), "estimate": values, "se": np.sqrt(within)})
    found = rf.pool_imputations(table, df_complete=complete)
    row = found.select("df", "relative_increase", "fraction_missing").row(0)
    assert row == pytest.approx(expected, rel=2e-6)


def imputed_rows(n=60, m=4):
    rng = np.random.default_rng(1)
    rows = pl.DataFrame(
        {"label": np.arange(n) % 3 == 0, "score": rng.random(n), "other": rng.random(n)}
    )
    parts = [
        rows.with_columns(
            pl.Series("score", np.where(np.arange(n) % 4 == 0, rng.random(n), rows["score"])),
            imputation=pl.lit(i),
        )
        for i in range(m)
    ]
    return pl.concat(parts)


def test_equal_data_sets_have_the_variance_of_one_of_them():
    rows = imputed_rows(m=1)
    same = pl.concat(rows.with_columns(imputation=pl.lit(i)) for i in range(5))
    area = rf.auc(rows, "label", "score")
    found = rf.pool_imputations(rf.auc(same, "label", "score", by="imputation"))
    assert found["estimate"][0] == pytest.approx(area["auc"][0], rel=1e-12)
    assert found["se"][0] == pytest.approx(area["se"][0], rel=1e-12)
    assert found["relative_increase"][0] == pytest.approx(0, abs=1e-20)
    # For a complete data set, the degrees of freedom are (df + 1) / (df + 3) · df.
    assert found["df"][0] == pytest.approx(20 / 22 * 19, rel=1e-9)
    # `fold_auc` treats the data sets as five times as many rows.
    folds = rf.fold_auc(same, "label", "score", over="imputation")
    assert folds["se"][0] == pytest.approx(area["se"][0] / sqrt(5), rel=1e-12)


def test_tables_of_intervals_keep_their_metrics_and_points():
    rows = imputed_rows().with_columns(g=pl.lit("a"))
    table = rf.intervals(
        *(rows, "label", "score"),
        metrics=["tpr", "auc", "lift", pl.col("tp").alias("hits")],
        threshold=[0.5, 0.2],
        by=["imputation", "g"],
        n_boot=20,
        seed=1,
    )
    found = rf.pool_imputations(table)
    assert found.select("g", "metric", "at", "at_value", "scale").rows() == [
        ("a", "tpr", "threshold", 0.5, "logit"),
        ("a", "tpr", "threshold", 0.2, "logit"),
        ("a", "auc", None, None, "logit"),
        ("a", "lift", "threshold", 0.5, "identity"),
        ("a", "lift", "threshold", 0.2, "identity"),
        ("a", "hits", "threshold", 0.5, "identity"),
        ("a", "hits", "threshold", 0.2, "identity"),
    ]
    for part in table.partition_by("metric", "at_value"):
        alone = rf.pool_imputations(part.sample(fraction=1, shuffle=True, seed=1))
        assert_frame_equal(
            alone, found.join(alone, on=["metric", "at_value"], nulls_equal=True, how="semi")
        )


def test_models_of_areas_and_of_comparisons_are_groups():
    rows, scores = imputed_rows(), ["score", "other"]
    found = rf.pool_imputations(rf.auc(rows, "label", scores, by="imputation"))
    assert found["model"].to_list() == ["other", "score"]
    differences = rf.compare(rows, "label", scores, by="imputation")
    pooled = rf.pool_imputations(differences)
    assert pooled.select("model_a", "model_b", "metric", "scale").rows() == [
        ("other", "score", "difference", "identity")
    ]
    assert pooled["estimate"][0] == pytest.approx(differences["difference"].mean())
    means = rf.fold_auc(
        rows.with_columns(fold=pl.int_range(pl.len()) % 2), "label", "score", by="imputation"
    )
    assert rf.pool_imputations(means)["metric"].to_list() == ["mean_auc"]


def test_groups_without_a_pooled_variance_have_a_note():
    table = pl.DataFrame(
        {
            "g": ["equal"] * 2 + ["one"] + ["perfect"] * 2 + ["unknown"] * 2,
            "imputation": [1, 2, 1, 1, 2, 1, 2],
            "auc": [0.8, 0.8, 0.7, 0.9, 1.0, 0.7, None],
            "se": [0.0, 0.0, 0.1, 0.1, None, 0.1, None],
        }
    )
    found = rf.pool_imputations(table)
    assert found.select("g", "estimate", "lower", "se", "n_imputations", "note").rows() == [
        ("equal", pytest.approx(0.8), None, None, 2, "zero_variance"),
        ("one", pytest.approx(0.7), None, None, 1, "one_imputation"),
        ("perfect", None, None, None, 2, "undefined:1 (2)"),
        ("unknown", None, None, None, 2, "undefined:1 (2)"),
    ]
    identity = rf.pool_imputations(table, scale="identity").filter(g="perfect")
    assert identity.select("estimate", "lower").row(0) == (pytest.approx(0.95), None)
    assert rf.pool_imputations(table.clear()).is_empty()


def test_several_columns_can_identify_a_data_set():
    table = areas().with_columns(round=pl.col("imputation") % 2, draw=pl.col("imputation"))
    table = table.select("round", "draw", "auc", "se")
    found = rf.pool_imputations(table, over=["round", "draw"])
    assert_frame_equal(found, rf.pool_imputations(areas()))
    with pytest.raises(rf.OptionValueError, match="round=1"):
        rf.pool_imputations(table.with_columns(draw=1), over=["round", "draw"])


def test_infinite_degrees_of_freedom_give_limits_of_the_normal_distribution():
    table = pl.DataFrame({"imputation": [1, 2], "estimate": [0.4, 0.4], "se": [0.1, 0.1]})
    for options in ({}, {"df_complete": inf}):
        found = rf.pool_imputations(table, **options)
        assert found["upper"][0] == pytest.approx(0.4 + 0.1 * stats.norm.ppf(0.975), rel=1e-9)
        assert found["df"].to_list() == [None]


def test_the_chart_has_a_dot_with_its_interval_for_each_metric():
    metrics = ["tpr", "lift"]
    options = {"threshold": 0.5, "by": "imputation", "n_boot": 20, "seed": 1}
    pooled = rf.pool_imputations(
        rf.intervals(imputed_rows(), "label", "score", metrics=metrics, **options)
    )
    shown = [row for row in records(pooled.roc.chart()) if "estimate" in row]
    assert [row["metric"] for row in shown] == ["tpr at threshold 0.5", "lift at threshold 0.5"]
    assert [row["lower"] for row in shown] == pytest.approx(pooled["lower"].to_list())
    unnamed = rf.pool_imputations(areas().rename({"auc": "estimate"}))
    assert unnamed.roc.chart().to_dict()["title"]["text"] == "estimate"
