"""Confusion matrices of decisions are compared with scikit-learn, `auc` and `curve`."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn import metrics

import rocframe as rf

rng = np.random.default_rng(4)
CALLS = pl.DataFrame(
    {
        "g": ["a", "b"] * 60,
        "label": rng.random(120) < 0.4,
        "call": rng.random(120) < 0.5,
        "w": rng.integers(0, 4, 120),
    }
)
COUNTS = ["tp", "fp", "fn", "tn"]


def test_counts_and_areas_are_those_of_scikit_learn():
    points = rf.confusion_matrix(CALLS, "label", "call", by="g")
    for (name,), part in CALLS.group_by("g"):
        row = points.row(by_predicate=pl.col("g") == name, named=True)
        tn, fp, fn, tp = metrics.confusion_matrix(part["label"], part["call"]).ravel().tolist()
        assert [row[count] for count in COUNTS] == [tp, fp, fn, tn]
        assert row["auc"] == pytest.approx(metrics.roc_auc_score(part["label"], part["call"]))
        negated = metrics.confusion_matrix(part["label"], ~part["call"]).ravel()
        assert row["negated_fpr"] == negated[1] / (negated[0] + negated[1])
        assert row["negated_tpr"] == negated[3] / (negated[2] + negated[3])
        assert row["below_chance"] == (row["tpr"] < row["fpr"])
        assert (row["n_pos"], row["n_neg"], row["n_missing"]) == (tp + fn, fp + tn, 0)


def test_the_point_is_the_middle_row_of_the_curve_of_decisions():
    curves = rf.curve(CALLS, "label", "call", by="g")
    assert curves.height == 6
    points = rf.confusion_matrix(CALLS.lazy(), "label", "call", by="g").collect()
    middle = curves.filter(threshold=1).select("g", *COUNTS, "fpr", "tpr")
    assert_frame_equal(points.select(middle.columns), middle)
    areas = curves.roc.area().rename({"auc": "area"})
    assert_frame_equal(points.select("g", area="auc"), areas)


def test_weights_add_up_and_counts_repeat_rows():
    weighted = rf.confusion_matrix(CALLS, "label", "call", weight="w")
    counted = rf.confusion_matrix(CALLS, "label", "call", count="w")
    repeated = CALLS.select(pl.exclude("w").repeat_by("w")).explode("g", "label", "call")
    assert_frame_equal(counted, rf.confusion_matrix(repeated, "label", "call"))
    rates = ["fpr", "tpr", "auc"]
    assert_frame_equal(weighted.select(rates), counted.select(rates))
    assert weighted.schema["tp"] == pl.Float64
    assert weighted.select(pl.col(COUNTS).cast(pl.Int64)).row(0) == counted.select(COUNTS).row(0)


def test_a_classifier_below_chance_is_marked_and_undefined_rates_are_null():
    frame = pl.DataFrame(
        {
            "g": ["a", "a", "b", "b", "c", "c", "d"],
            "label": [1, 0, 1, 0, 1, 1, 0],
            "call": [0, 1, 1, 1, 1, 0, None],
        }
    )
    points = rf.confusion_matrix(frame, "label", "call", by="g", missing="drop")
    columns = ["fpr", "tpr", "auc", "below_chance", "negated_fpr", "negated_tpr", "note"]
    assert points.select(columns).rows() == [
        (1.0, 0.0, 0.0, True, 0.0, 1.0, "one_positive"),
        (1.0, 1.0, 0.5, False, 0.0, 0.0, "one_positive"),
        (None, 0.5, None, None, None, 0.5, "no_negatives"),
        (None, None, None, None, None, None, "no_rows"),
    ]
    assert points.get_column("n_missing").to_list() == [0, 0, 0, 1]


def test_rows_without_a_decision_are_errors_of_both_classifiers():
    frame = pl.DataFrame(
        {
            "label": [1, 1, 1, 0, 0, 0],
            "call": [1, 0, None, 1, 0, None],
            "w": [0.1 * i for i in range(6)],
        }
    )
    points = rf.confusion_matrix(frame, "label", "call", missing="worst")
    expected = {
        "fpr": 2 / 3,
        "tpr": 1 / 3,
        "auc": 2 / 9,
        "negated_fpr": 2 / 3,
        "negated_tpr": 1 / 3,
    }
    assert points.select(*expected).row(0, named=True) == expected
    assert points.select(*COUNTS, "n_missing").row(0) == (1, 2, 2, 1, 2)
    # The unscored rows have 2/3 of the weight of the positives, and 5/12 of that of the negatives.
    weighted = rf.confusion_matrix(frame, "label", "call", weight="w", missing="worst")
    rates = weighted.select("negated_fpr", "negated_tpr").row(0)
    assert rates == pytest.approx((9 / 12, 1 / 3))
    for weight, result in ((None, points), ("w", weighted)):
        area = rf.auc(frame, "label", "call", weight=weight, missing="worst", ci=None)
        assert result["auc"].to_list() == pytest.approx(area["auc"].to_list(), rel=1e-15)


def test_several_classifiers_side_by_side_have_the_key_model():
    other = CALLS.with_columns(opposite=~pl.col("call"))
    points = rf.confusion_matrix(other, "label", ["call", "opposite"])
    assert points.get_column("model").to_list() == ["call", "opposite"]
    call, opposite = points.rows(named=True)
    assert (call["negated_fpr"], call["negated_tpr"]) == pytest.approx(
        (opposite["fpr"], opposite["tpr"])
    )
    assert call["auc"] + opposite["auc"] == pytest.approx(1)


def test_expanded_counts_have_these_confusion_matrices(frame):
    given = {"model": ["A", "B", None], "tp": [5, 7, 0], "fp": [1, 3, 4], "fn": [5, 3, 10]}
    matrices = frame({**given, "tn": [9, 7, 6]})
    predictions = rf.expand_counts(matrices, by="model")
    assert isinstance(predictions, type(matrices))
    schema = {"model": pl.String, "label": pl.Boolean, "decision": pl.Boolean, "count": pl.Int64}
    assert predictions.lazy().collect_schema() == schema
    points = rf.confusion_matrix(predictions, "label", "decision", by="model", count="count")
    expected = matrices.lazy().sort("model").collect()
    assert_frame_equal(points.lazy().collect().select(expected.columns), expected)
    curves = rf.curve(predictions, "label", "decision", by="model", count="count")
    hull = curves.roc.hull(across="model").lazy().collect()
    assert hull.select("fp", "tp").rows() == [(0, 0), (1, 5), (3, 7), (10, 10)]


def test_points_are_drawn_in_a_chart():
    points = rf.confusion_matrix(CALLS, "label", "call", by="g")
    chart = points.roc.chart()
    assert chart.description.startswith("ROC chart, 2 points")
