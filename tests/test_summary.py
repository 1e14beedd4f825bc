"""The statistics of `summary` equal those of other functions and of scikit-learn."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn import metrics

import rocframe as rf

VOTE = rf.datasets.vote()
NAMES = [
    *("auc", "gini", "ks", "eer", "average_precision", "pr_auc", "h_measure"),
    *("brier", "log_loss", "prevalence"),
]
ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=14)


def test_the_statistics_are_those_of_the_other_functions():
    table = rf.summary(VOTE, "label", "score", by="model")
    names = ["auc", "gini", "ks", "eer", "average_precision", "pr_auc"]
    separate = rf.intervals(VOTE, "label", "score", by="model", metrics=names, ci=None)
    for name in names:
        expected = separate.filter(metric=name).get_column("estimate").to_list()
        assert table.get_column(name).to_list() == pytest.approx(expected, abs=1e-15)
    measure = rf.h_measure(VOTE, "label", "score", by="model")
    assert_frame_equal(
        table.select("model", "h_measure", "n_pos", "n_neg", "n_missing"),
        measure.select("model", "h_measure", "n_pos", "n_neg", "n_missing"),
    )
    notes = table.filter(pl.col("note").is_not_null()).select("model", "note").rows()
    assert notes == [("linear_svm", "not_probabilities")]


@pytest.mark.hypothesis
@given(ROWS, st.booleans())
def test_losses_are_those_of_expressions_and_of_scikit_learn(rows, weighted):
    frame = pl.DataFrame(rows, schema=["label", "score"], orient="row").with_columns(
        score=pl.col("score") / 8, w=pl.int_range(pl.len()) % 3 + 1.5
    )
    weight = "w" if weighted else None
    row = rf.summary(frame, "label", "score", weight=weight).row(0, named=True)
    weights = frame.get_column("w").to_numpy() if weighted else None
    label, score = frame.get_column("label").to_numpy(), frame.get_column("score").to_numpy()
    expression = pl.col("score").roc
    for name, function in (
        ("brier", metrics.brier_score_loss),
        ("log_loss", lambda *args, **kw: metrics.log_loss(*args, **kw, labels=[False, True])),
    ):
        loss = getattr(expression, name)("label", weight=weight)
        # Expressions are null without positives.
        found = frame.select(loss).item()
        assert found == (pytest.approx(row[name], abs=1e-14) if label.any() else None)
        expected = function(label, score, sample_weight=weights)
        assert row[name] == pytest.approx(expected, rel=1e-12, abs=1e-14)
    share = frame.select((pl.col("label") * pl.col("w")).sum() / pl.col("w").sum()).item()
    expected = share if weighted else label.mean()
    assert row["prevalence"] == pytest.approx(expected, abs=1e-15)


def test_statistics_are_null_where_they_are_undefined():
    frame = pl.DataFrame(
        {
            "g": ["both", "both", "no_negatives", "no_positives", "no_rows", "outside", "outside"],
            "label": [1, 0, 1, 0, None, 1, 0],
            "score": [0.75, 0.25, 0.5, 0.5, 0.5, 1.5, 0.5],
        }
    )
    table = rf.summary(frame, "label", "score", by="g", missing="drop")
    assert table.columns == ["g", *NAMES, "n_pos", "n_neg", "n_missing", "note"]
    null = {
        name: [column for column in NAMES if values[column] is None]
        for name, values in table.rows_by_key("g", named=True, unique=True).items()
    }
    of_both = ["auc", "gini", "ks", "eer", "h_measure"]
    assert null == {
        "both": [],
        "no_negatives": of_both,
        "no_positives": NAMES[:7],
        "no_rows": NAMES,
        "outside": ["brier", "log_loss"],
    }
    assert table.item(0, "brier") == 0.0625
    notes = dict(table.select("g", "note").iter_rows())
    assert notes["no_negatives"] == "no_negatives"
    assert notes["no_rows"] == "no_rows"
    assert notes["outside"] == "not_probabilities"


def test_losses_are_null_with_unscored_rows():
    frame = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.2, None, 0.4]})
    worst = rf.summary(frame, "label", "score", missing="worst").row(0, named=True)
    assert worst["brier"] is worst["log_loss"] is None
    assert (worst["auc"], worst["prevalence"], worst["n_missing"]) == (0.5, 0.5, 1)
    dropped = rf.summary(frame, "label", "score", missing="drop").row(0, named=True)
    assert dropped["brier"] == pytest.approx((0.01 + 0.04 + 0.16) / 3)


def test_a_count_is_a_number_of_rows():
    frame = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.2, 0.3, 0.4], "n": [1, 3, 2, 0]})
    repeated = frame.select(pl.all().repeat_by("n").list.explode(empty_as_null=False))
    assert_frame_equal(
        rf.summary(frame, "label", "score", count="n"), rf.summary(repeated, "label", "score")
    )
