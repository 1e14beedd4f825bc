"""polars prints the first and the last four columns of a table: the answer is among them."""

from __future__ import annotations

import polars as pl

import rocframe as rf
from rocframe.schemas import TABLES, table_of
from tests.all_cases import all_cases
from tests.test_lazy import PREDICTIONS
from tests.verbs import OF_CURVES, OF_PREDICTIONS

LIMITS = ("lower", "upper")
DIFFERENCE = ("difference", "difference_lower", "difference_upper")
PAIR = ("model_a", "model_b")
# The columns of each type of table that contain the answer and its confidence limits. Options
# determine which of them a table has.
ANSWERS = {
    "average": ("fpr", "tpr", "tpr_lower", "tpr_upper", "accuracy", "f1", "f1_lower", "f1_upper"),
    "operating_points": ("at", "at_value", "threshold"),
    "operating_point": ("rule", "value", "threshold"),
    "concavities": ("area",),
    "repaired_auc": ("gain_realised", "auc_repaired", "auc"),
    "transfer": ("rule", "value_realised"),
    "intervals": ("metric", "estimate", *LIMITS),
    "metric_replicates": ("metric", "draw", "value"),
    "confusion_matrix": ("fpr", "tpr"),
    "mix": ("fpr", "tpr", "threshold_above", "threshold_below", "mix"),
    "combine": ("fpr", "tpr", *PAIR, "operator"),
    "chain": ("fpr", "tpr", "operator", "stage", "model"),
    "hull": ("threshold",),
    "iso_lines": ("slope", "intercept"),
    "ties": ("threshold", "auc_change"),
    "tie_bounds": ("metric", "estimate", "pessimistic", "optimistic"),
    "cost_curve": ("probability_cost", "expected_cost"),
    "relative_superiority": ("probability_cost_low", "probability_cost_high"),
    "lc_index": ("lc_index",),
    "decision_curve": ("probability_threshold", "net_benefit"),
    "decision_intervals": ("probability_threshold", "net_benefit", *LIMITS, *DIFFERENCE),
    "cost_intervals": ("probability_cost", "expected_cost", *LIMITS, *DIFFERENCE),
    "curve": ("threshold",),
    "drift": ("auc", *LIMITS, *DIFFERENCE, "p_adjusted"),
    "score_drift": ("psi", "psi_p_adjusted", "ks", "ks_p_adjusted", "missing_share"),
    "drift_test": ("homogeneity_p_adjusted", "trend_p_adjusted", "slope", *LIMITS),
    "auc": ("auc", *LIMITS),
    "partial_auc": ("partial_auc", *LIMITS),
    "summary": ("auc", "gini"),
    "h_measure": ("h_measure",),
    "auc_test": ("auc", "p_adjusted", "p_best"),
    "multiclass_auc": ("auc", *LIMITS, "average", "n_classes_used"),
    "volume": ("volume", *LIMITS),
    "fold_auc": ("mean_auc", *LIMITS),
    "pool_imputations": ("metric", "estimate", *LIMITS),
    "pooling_gap": ("gap", "pooled_auc"),
    "plan": ("difference", "n_pos", "n_neg", "power"),
    "calibration": ("score_mean", "event_rate", *LIMITS),
    "gains": ("event_rate", "cumulative_lift", "cumulative_capture_rate", "ks"),
    "calibration_summary": ("brier", "brier_skill"),
    "fit_calibration": ("score", "probability", "intercept", "slope"),
    "murphy_curve": ("probability_threshold", "elementary_score"),
    "multiclass_metrics": ("brier", "log_loss"),
    "class_matrix": ("true", "predicted"),
    "comparison": (*PAIR, "difference", *LIMITS, "p_adjusted"),
    "comparison_replicates": (*PAIR, "metric", "draw", "difference"),
    "gate": ("passed", "deterioration", "limit", "verdict", "model_old", "model_new"),
    "auc_covariance": ("covariance", "correlation", *PAIR),
    "hull_shares": ("share_on_hull",),
    "reader_study": ("modality_a", "modality_b", "reader", "estimate", *LIMITS),
    "contrast": ("p_value", "p_adjusted"),
    "band": ("fpr", "tpr", *LIMITS),
    "smooth": ("fpr", "tpr", "auc"),
    "area": ("auc", "partial_auc", "auc_of_mean", "average_precision", "pr_auc", "partial_pr_auc"),
}

# Columns of an answer that are hidden by one and by two group columns, for each reason.
HIDDEN = {
    "the estimate and its limits are the first columns, and two keys leave room for two of them": {
        **dict.fromkeys(
            ["auc", "partial_auc", "fold_auc", "volume", "multiclass_auc"], ((), ("upper",))
        ),
        "gate": ((), ("limit",)),
    },
    "the metric, the pair of models or the point of the curve is the first part of the answer": {
        **dict.fromkeys(["intervals", "pool_imputations"], (("upper",), LIMITS)),
        "reader_study": (LIMITS, ("estimate", *LIMITS)),
        "comparison": (("difference", *LIMITS, "p_adjusted"),) * 2,
        "comparison_replicates": ((), ("metric",)),
        "band": (LIMITS, LIMITS),
        "average": tuple(
            tuple(f"{metric}_{side}" for metric in ("tpr", "f1") for side in LIMITS) for _ in "12"
        ),
        "calibration": (LIMITS, ("event_rate", *LIMITS)),
    },
    "the condition or the rule is first, and the rates at the threshold are displayed": {
        "operating_points": ((), ("threshold",)),
        "operating_point": ((), ("threshold",)),
    },
    "the limits of the difference are displayed instead": {
        "drift": (("p_adjusted",), ("upper", "p_adjusted")),
        **dict.fromkeys(["decision_intervals", "cost_intervals"], (("upper",), LIMITS)),
    },
    "a smooth curve begins with the columns of every curve table": {
        "smooth": (("fpr", "tpr"), ("fpr", "tpr"))
    },
    "a plan has no group columns": {"plan": (("power",), ("n_neg", "power"))},
}


def tables():
    """Return a table of each type, or several that differ by options, by the name of the call."""
    decisions = {"a": pl.col("score") > 0.3}
    found = {name: verb(PREDICTIONS) for name, verb in OF_PREDICTIONS.items()}
    found |= {name: verb.of_predictions(PREDICTIONS) for name, verb in OF_CURVES.items()}
    return found | {
        "plan": rf.sample_size(auc=0.7),
        "confusion matrix": rf.confusion_matrix(PREDICTIONS, "label", decisions),
        "confusion matrix of classes": rf.confusion_matrix(
            PREDICTIONS, "label", pl.col("score") > 0.3, classes=[False, True]
        ),
        "partial area": rf.area(rf.curve(PREDICTIONS, "label", "score"), alert_rate=(0, 0.5)),
        "test of the best model": rf.auc_test(
            PREDICTIONS, "label", "score", alternative="greater", best_of=3
        ),
        "decision intervals": rf.decision_intervals(
            PREDICTIONS, "label", "score", grid=[0.2], n_boot=5, seed=1
        ),
    }


def displayed(table, n_keys):
    """Return the columns that polars prints if the table has `n_keys` group columns."""
    keys = [pl.lit(i).alias(f"key {i}") for i in range(n_keys)]
    with pl.Config(restore_defaults=True, tbl_width_chars=10_000):
        header = str(table.select(*keys, *table.columns)).splitlines()[2]
    return [name.strip() for name in header.strip("│").split("┆")]


def test_the_answer_of_each_table_is_displayed_with_one_and_with_two_group_columns():
    assert ANSWERS.keys() == {table.name for table in TABLES}
    exceptions = {name: hidden for reason in HIDDEN.values() for name, hidden in reason.items()}
    known = {(name, n, c) for name, e in exceptions.items() for n in (1, 2) for c in e[n - 1]}
    columns, hidden = set(), set()
    with all_cases() as case:
        for name, table in tables().items():
            layout = table_of(table.columns)
            own = table.drop(layout.by)
            answer = [column for column in ANSWERS[layout.name] if column in own.columns]
            columns |= {(layout.name, column) for column in answer}
            for n_keys in (1, 2):
                shown = displayed(own, n_keys)
                found = {(layout.name, n_keys, c) for c in answer if c not in shown}
                hidden |= found
                with case(name, *shown):
                    assert found <= known
    assert hidden == known
    assert columns == {(name, column) for name, answer in ANSWERS.items() for column in answer}
