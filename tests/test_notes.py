"""The column `note` says why a value is null, for all functions and for groups without a result."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rocframe as rf
from tests.all_cases import all_cases
from tests.verbs import OF_CURVES, OF_PREDICTIONS, SEED, Verb

N = 24
ROW = np.arange(N)
RNG = np.random.default_rng(1)
LABEL = ROW % 2 == 0
SCORE, OTHER = 0.1 + 0.8 * RNG.random((2, N)).round(2)
SEPARATED = np.where(LABEL, 0.8, 0.2) + ROW / 1000

# Labels and scores of groups in which a statistic may be undefined. The first one is ordinary.
GROUPS = {
    "ordinary": (LABEL, SCORE),
    "no rows": ([None] * 4, [None] * 4),
    "no positives": (ROW < 0, SCORE),
    "no negatives": (ROW >= 0, SCORE),
    "one positive": (ROW == 3, SCORE),
    "one negative": (ROW != 3, SCORE),
    "one row of each class": ([True, False], [0.7, 0.3]),
    "one row": ([True], [0.4]),
    "equal scores": (LABEL, np.full(N, 0.5)),
    "scores 0": (LABEL, np.zeros(N)),
    "scores 0 and 1": (LABEL, (ROW % 3 == 0).astype(float)),
    "scores equal to the labels": (LABEL, LABEL.astype(float)),
    "some scores 0 and 1": (LABEL, np.where(ROW < 6, ROW % 2, SCORE)),
    "separated": (LABEL, SEPARATED),
    "separated, area 0": (LABEL, 1 - SEPARATED),
    "no probabilities": (LABEL, 10 * SCORE - 3),
}
# The folds of ordinary rows: all in one fold, or a first fold with a single positive.
FOLDS = {"one fold": np.zeros(N), "one positive in the first fold": np.minimum(ROW // 2, 1)}


def table() -> pl.DataFrame:
    parts = [
        pl.DataFrame(
            {
                "g": group,
                "label": pl.Series(label, dtype=pl.Boolean),
                "score": pl.Series(score, dtype=pl.Float64),
                "other": pl.Series(
                    OTHER[: len(label)] if group != "no rows" else score, dtype=pl.Float64
                ),
                "fold": pl.Series(FOLDS.get(group, ROW[: len(label)] // 2 % 3), dtype=pl.Int64),
                "row": pl.Series(ROW[: len(label)]),
            }
        )
        for group, (label, score) in {**GROUPS, **dict.fromkeys(FOLDS, (LABEL, SCORE))}.items()
    ]
    row = pl.col("row")
    return pl.concat(parts).with_columns(
        pl.lit(1.0).alias("w"),
        row.alias("k"),
        (row % 3).alias("class_number"),
        pl.when(row // 2 % 2 == 0).then(pl.lit("x")).otherwise(pl.lit("y")).alias("class"),
    )


TABLE = table()
RECORDS = {
    **OF_PREDICTIONS,
    **OF_CURVES,
    "intervals of calibration": Verb(
        "intervals", {"metrics": ["calibration_slope", "brier", "log_loss"], **SEED}
    ),
    "intervals of areas": Verb(
        "intervals", {"metrics": ["ks", "eer", "average_precision"], **SEED}
    ),
    "intervals at a chosen threshold": Verb(
        "intervals", {"metrics": ["f1", "tpr"], "rule": "f1", **SEED}
    ),
    "auc test, delong": Verb("auc_test", {"method": "delong"}),
    "mean auc of cases": Verb("fold_auc", {"id": "row"}, over=True),
    "mean auc, ledell": Verb("fold_auc", {"ci": "ledell"}, over=True),
}

# Columns that can be null without a note, with the reason.
OTHER_NULLS = {
    "average": {"threshold_sd"},  # the threshold of some curves is infinite
    "pooling gap": {"worst_auc", "worst_gap"},  # there is no gap
    "intervals of proportions": {"se"},  # the proportion is 0 or 1; the limits are not null
    # the ratio of values that are 0, and the standard error of equal decisions
    "compare metrics at a threshold": {"ratio", "ratio_lower", "ratio_upper", "se"},
    "compare each fold with the rest": {"ratio", "ratio_lower", "ratio_upper", "se"},
    "fit of calibration, beta": {"score", "probability"},  # the fitted function has parameters
}
# The notes of these tables do not mention single windows.
WITHOUT_ONE_FOLD = {"drift_test"}


def result(record: object, rows: pl.DataFrame) -> pl.DataFrame:
    of_curves = hasattr(record, "of_predictions")
    return (record.of_predictions if of_curves else record)(rows, by="g", missing="drop")


@pytest.mark.slow
def test_the_note_of_a_row_with_null_values_is_not_null():
    """A value that is null for the ordinary rows too is null for all rows by the method."""
    checked = set()
    with all_cases() as case:
        for name, record in RECORDS.items():
            with case(name):
                rows = TABLE
                if record.function in WITHOUT_ONE_FOLD:
                    rows = rows.filter(pl.col("g") != "one fold")
                if "between" in record.options:  # groups with one fold have no pairs of folds
                    rows = rows.filter(pl.col("fold").n_unique().over("g") > 1)
                try:
                    found = result(record, rows)
                except rf.ScoreError:  # the function needs probabilities
                    rows = rows.filter(pl.col("g") != "no probabilities")
                    found = result(record, rows)
                if "note" not in found.columns:
                    continue
                assert set(found["g"]) == set(rows["g"])
                numbers = found.select(pl.selectors.float()).columns
                ordinary = found.filter(pl.col("note").is_null(), g="ordinary")
                answers = [column for column in numbers if not ordinary[column].null_count()]
                answers = [c for c in answers if c not in OTHER_NULLS.get(name, ())]
                has_null = pl.any_horizontal(pl.col(c).is_null() for c in answers)
                unexplained = found.filter(pl.col("note").is_null() & has_null)
                assert unexplained.select("g", *answers).rows() == []
                checked.add(record.function)
    assert len(checked) > 30


@pytest.mark.parametrize(
    ("function", "notes"),
    [
        ("summary", {"no probabilities": "not_probabilities"}),
        (
            "calibration_summary",
            {
                "equal scores": "zero_variance",
                "scores 0": "left_out:24",
                "scores equal to the labels": "left_out:24",
                "some scores 0 and 1": "left_out:6",
                "separated": "separated",
                "separated, area 0": "separated",
            },
        ),
    ],
)
def test_notes_name_the_reason_for_null_statistics_of_probabilities(function, notes):
    rows = TABLE.filter(pl.col("g").is_in(["ordinary", *notes]))
    found = getattr(rf, function)(rows, "label", "score", by="g")
    assert dict(found.select("g", "note").iter_rows()) == {"ordinary": None, **notes}
    counted = rows.group_by("g", "label", "score").agg(count=pl.len())
    same = getattr(rf, function)(counted, "label", "score", by="g", count="count")
    assert same["note"].to_list() == found["note"].to_list()


def test_the_note_of_a_window_names_the_reason_if_only_its_reference_lacks_rows():
    rows = TABLE.filter(g="one positive in the first fold")
    found = rf.drift(rows, "label", "score", over="fold")
    assert found.select("fold", "p_value", "note").rows() == [
        (0, None, "one_positive"),
        (1, None, "reference:one_positive"),
    ]
    later = pl.concat(
        [rows.with_columns(model=pl.lit("a")), rows.filter(fold=1).with_columns(model=pl.lit("b"))]
    )
    absent = rf.drift(later, "label", "score", over="fold", by="model", reference=0)
    assert absent.filter(model="b").select("difference", "note").rows() == [
        (None, "reference:no_rows")
    ]
    previous = rf.drift(later, "label", "score", over="fold", by="model", reference="previous")
    assert previous.filter(model="b")["note"].to_list() == [None]


def test_classes_without_rows_are_named_unless_the_average_uses_them():
    rows = pl.DataFrame(
        {"truth": ["a", "b", "a", "b"], "a": [3, 1, 2, 2], "b": [1, 2, 0, 3], "c": [0, 0, 1, 1]}
    )
    found = rf.multiclass_auc(rows, "truth", ["a", "b", "c"])
    assert dict(found.select("average", "note").iter_rows()) == {
        **dict.fromkeys(["hand_till", "macro", "weighted"], "left_out:1 (c)"),
        "micro": None,
    }


def test_limits_of_a_single_curve_are_null_with_a_note():
    rows = TABLE.filter(g="ordinary").with_columns(fold=pl.lit(0))
    curves = rf.curve(rows, "label", "score", by="fold")
    assert set(rf.average(curves, grid=3)["note"]) == {"one_curve"}
    assert set(rf.average(curves, grid=3, ci=None)["note"]) == {None}
    mean = rf.fold_auc(rows, "label", "score")
    assert mean.select("sd", "note").row(0) == (None, "one_curve")
