"""Lists of metrics in `compare`, and calls whose results would be wrong without an error."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rocframe as rf

RNG = np.random.default_rng(1)
LABEL = RNG.integers(0, 2, 60)
ROWS = pl.DataFrame(
    {
        "label": LABEL,
        "a": np.clip(LABEL * 0.2 + RNG.random(60) * 0.8, 0, 1),
        "b": np.clip(LABEL * 0.1 + RNG.random(60) * 0.9, 0, 1),
        "sex": np.arange(60) % 2,
        "pair": np.arange(60) // 2,
    }
)
PAIR = ["a", "b"]


@pytest.mark.parametrize("metric", ["auc", "brier", "ks"])
def test_a_threshold_in_a_list_does_not_change_metrics_of_all_scores(metric):
    mixed = rf.compare(ROWS, "label", PAIR, metric=[metric, "tpr"], threshold=0.5, seed=1)
    alone = rf.compare(ROWS, "label", PAIR, metric=[metric], seed=1)
    shared = ["estimate_a", "estimate_b", "p_value", "test"]
    assert mixed.select(shared).row(0) == alone.select(shared).row(0)
    groups = rf.compare(ROWS, "label", "a", between="sex", metric=[metric, "tpr"], threshold=0.5)
    area = rf.compare(ROWS, "label", "a", between="sex", metric=[metric])
    assert groups["estimate_a"][0] == area["estimate_a"][0]


def test_a_range_in_a_list_is_that_of_the_area():
    mixed = rf.compare(ROWS, "label", PAIR, metric=["ks", "auc"], fpr=(0, 0.3), seed=1)
    alone = rf.compare(ROWS, "label", PAIR, fpr=(0, 0.3))
    assert mixed["metric"].to_list() == ["ks", "partial_auc"]
    assert mixed["estimate_a"][1] == alone["partial_auc_a"].item()


def test_the_ratio_of_standardized_areas_is_within_its_limits_on_the_same_scale():
    options = {"metric": ["auc"], "fpr": (0, 0.3), "standardize": "mcclish"}
    row = rf.compare(ROWS, "label", PAIR, **options).row(0, named=True)
    assert row["ratio"] == pytest.approx(np.sqrt(row["ratio_lower"] * row["ratio_upper"]))
    half = np.log(row["ratio_upper"] / row["ratio"])
    # A linear approximation of the logarithm relates both standard errors.
    assert half == pytest.approx((row["upper"] - row["lower"]) / 2 / row["estimate_b"], rel=0.5)


@pytest.mark.parametrize("method", ["delta", "bootstrap"])
def test_an_infinite_metric_has_no_test(method):
    scores = {"a": [0.9] * 15 + [0.1] * 45, "b": ROWS["a"]}
    rows = pl.DataFrame({"label": [1] * 20 + [0] * 40, **scores})
    options = {"metric": "lr_pos", "threshold": 0.5, "method": method, "seed": 1}
    row = rf.compare(rows, "label", PAIR, **options).row(0, named=True)
    assert row["lr_pos_a"] == np.inf
    assert row["p_value"] is row["lower"] is row["se"] is None
    assert row["note"] is not None


def test_a_rate_without_false_positives_has_no_delta_test():
    row = rf.compare(ROWS, "label", PAIR, metric="tpr", fpr=0.001, method="delta")
    assert row.select("se", "p_value").row(0) == (None, None)


def test_one_value_has_no_rest():
    one = ROWS.with_columns(sex=1)
    assert rf.compare(one, "label", "a", between="sex", pairs="rest").is_empty()


def test_a_table_without_rows_has_a_note_at_a_number_of_alerts():
    table = rf.compare(ROWS.clear(), "label", PAIR, metric="tpr", alerts=5)
    assert table["note"].to_list() == ["no_rows"]


def test_differences_of_several_metrics_are_pooled_over_imputations():
    rows = pl.concat([ROWS.with_columns(imputation=i, a=pl.col("a") + i / 100) for i in range(3)])
    pairs = rf.compare(rows, "label", PAIR, by="imputation", metric=["auc", "ks"], seed=1)
    pooled = rf.pool_imputations(pairs)
    means = pairs.group_by("metric", maintain_order=True).agg(pl.col("difference").mean())
    assert pooled["metric"].to_list() == ["auc", "ks"]
    assert pooled["estimate"].to_list() == pytest.approx(means["difference"].to_list())


def tied_scores() -> pl.DataFrame:
    """Return 40 rows; the five highest scores of `tied` are equal, then all differ."""
    ranks = np.arange(40)
    labels = (ranks % 3 == 0).astype(int)
    return pl.DataFrame(
        {
            "label": labels,
            "tied": -np.maximum(ranks, 4),
            "fine": np.random.default_rng(2).random(40),
        }
    )


@pytest.mark.parametrize(("alerts", "missing"), [(3, 3), (5, 0), (7, 0)])
def test_a_note_states_how_many_alerts_are_missing_because_of_ties(alerts, missing):
    options = {"metric": ["recall"], "seed": 1, "n_boot": 200}
    for point in ({"alerts": alerts}, {"alert_rate": alerts / 40}):
        row = rf.compare(tied_scores(), "label", ["fine", "tied"], **options, **point)
        assert row["note"].item() == (f"fewer_alerts:{missing}" if missing else None)
        # Without any alert, there is no test.
        assert (row["p_value"].item() is None) == (missing == alerts)


@pytest.mark.parametrize(("alerts", "missing"), [(3, 3), (45, 5)])
@pytest.mark.parametrize("method", ["bootstrap", "delta"])
def test_the_note_on_missing_alerts_is_that_of_every_metric(alerts, missing, method):
    metrics = ["precision", "recall", "fpr", "lift", "f1", "mcc"]
    options = {"metric": metrics, "alerts": alerts, "method": method, "seed": 1, "n_boot": 50}
    table = rf.compare(tied_scores(), "label", ["fine", "tied"], **options)
    assert table["note"].to_list() == [f"fewer_alerts:{missing}"] * len(metrics)
    # Without alerts, precision, lift and MCC are 0 / 0; MCC also if all rows are alerts.
    undefined = table.filter(pl.col("estimate_b").is_null())["metric"].to_list()
    assert undefined == (["precision", "lift", "mcc"] if alerts == 3 else ["mcc"])
    assert table["difference"].is_null().to_list() == table["estimate_b"].is_null().to_list()


def test_notes_on_the_size_of_a_class_remain_if_alerts_are_missing():
    ranks = np.arange(40)
    scores = pl.DataFrame({"fine": -ranks, "tied": -(ranks // 4)})
    labels = (ranks % 5 == 0) & (ranks < np.array([[0], [5], [10], [15]]))
    rows = pl.concat(scores.with_columns(label=row, k=k) for k, row in enumerate(labels))
    options = {"by": "k", "metric": "recall", "alerts": 6, "method": "delta"}
    table = rf.compare(rows, "label", ["fine", "tied"], **options)
    few = [f"fewer_alerts:2; few_rows:{n}" for n in (2, 3)]
    assert table["note"].to_list() == ["no_positives", "one_positive", *few]


@pytest.mark.parametrize("alerts", [3, 45])
def test_a_gate_passes_equal_scores_also_with_fewer_alerts(alerts):
    rows = tied_scores().with_columns(same="tied")
    options = {"baseline": "tied", "margin": 0.05, "metric": "recall", "alerts": alerts, "seed": 1}
    decision = rf.gate(rows, "label", ["tied", "same"], **options)
    assert decision.select("passed", "note").row(0) == (True, "identical_scores")


def test_a_gate_is_undecided_if_ties_leave_a_model_without_alerts():
    options = {"baseline": "tied", "margin": 0.05, "metric": "recall", "alerts": 3, "seed": 1}
    decision = rf.gate(tied_scores(), "label", ["tied", "fine"], **options)
    assert decision.select("passed", "verdict", "note").row(0) == (
        False,
        "undecided",
        "fewer_alerts:3",
    )


def test_differences_of_lists_of_metrics_are_pooled_on_the_identity_scale():
    rows = pl.concat([ROWS.with_columns(imputation=i, b=pl.col("b") + i / 100) for i in range(3)])
    flip = {"by": "imputation", "baseline": "b"}  # the difference is that of b minus a
    of_list = rf.pool_imputations(rf.compare(rows, "label", ["b", "a"], metric=["auc"], **flip))
    alone = rf.pool_imputations(rf.compare(rows, "label", ["b", "a"], **flip))
    columns = ["estimate", "lower", "upper", "scale"]
    assert of_list.select(columns).rows() == alone.select(columns).rows()
    assert of_list["estimate"].item() < 0
