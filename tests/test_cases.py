"""Rows that are used: missing values, weights, counts, and errors of values."""

from __future__ import annotations

from math import inf, nan

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

# Two groups; a is missing one score of each class, b a label and a score.
COLUMNS = {
    "g": ["a"] * 6 + ["b"] * 4,
    "label": [True, False, True, True, False, False, True, False, None, True],
    "score": [0.9, 0.4, None, 0.4, nan, 0.1, 0.7, 0.2, 0.3, None],
    "w": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0],
    "n": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
}


def curve(frame, columns=COLUMNS, **options) -> pl.DataFrame:
    return rf.curve(frame(columns), "label", "score", **options).lazy().collect()


def confusion(table: pl.DataFrame) -> list[tuple]:
    return table.select("threshold", "tp", "fp", "fn", "tn").rows()


def labeled() -> dict:
    """Remove the row without a label, which `missing="worst"` refuses."""
    return pl.DataFrame(COLUMNS).filter(pl.col("label").is_not_null()).to_dict(as_series=False)


def test_dropped_rows_are_left_out_as_if_they_were_not_there(frame):
    whole = pl.DataFrame(COLUMNS).filter(
        pl.col("label").is_not_null(), pl.col("score").is_not_null(), pl.col("score").is_not_nan()
    )
    for options in ({}, {"by": "g"}, {"weight": "w"}, {"count": "n", "by": "g"}):
        actual = curve(frame, missing="drop", **options)
        assert_frame_equal(actual, rf.curve(whole, "label", "score", **options))
        thresholds = {"thresholds": [0.5, 0.3]}
        fixed = curve(frame, missing="drop", **options, **thresholds)
        assert_frame_equal(fixed, rf.curve(whole, "label", "score", **options, **thresholds))


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [(4, 4, 4)]),
        ({"by": "g"}, [(2, 2, 2), (1, 1, 2)]),
        ({"by": "g", "weight": "w"}, [(2, 2, 2), (1, 1, 2)]),
        ({"by": "g", "count": "n"}, [(5, 8, 8), (7, 8, 19)]),
    ],
    ids=["all", "groups", "weighted", "counted"],
)
def test_dropped_rows_are_counted_in_n_missing(frame, options, expected):
    if not options:
        expected = [(3, 3, 4)]
    area = rf.auc(frame(COLUMNS), "label", "score", missing="drop", **options).lazy().collect()
    assert area.select("n_pos", "n_neg", "n_missing").rows() == expected


def test_unscored_rows_are_errors_at_every_threshold_of_the_worst_case(frame):
    actual = confusion(curve(frame, labeled(), missing="worst", by="g"))
    # a: one unscored negative is a false positive from the top, one unscored positive never found.
    assert actual == [
        (inf, 0, 1, 3, 2),
        (0.9, 1, 1, 2, 2),
        (0.4, 2, 2, 1, 1),
        (0.1, 2, 3, 1, 0),
        (inf, 0, 0, 2, 1),
        (0.7, 1, 0, 1, 1),
        (0.2, 1, 1, 1, 0),
    ]


def test_given_thresholds_show_the_worst_case_too(frame):
    actual = confusion(curve(frame, labeled(), missing="worst", by="g", thresholds=[0.4]))
    assert actual == [(inf, 0, 1, 3, 2), (0.4, 2, 2, 1, 1), (inf, 0, 0, 2, 1), (0.4, 1, 0, 1, 1)]


def test_unscored_rows_of_the_worst_case_have_weights_and_counts(frame):
    weighted = confusion(curve(frame, labeled(), missing="worst", weight="w", thresholds=[]))
    counted = confusion(curve(frame, labeled(), missing="worst", count="n", thresholds=[]))
    # Positives weigh 1 + 3 + 4 + 7 + 10, negatives 2 + 5 + 6 + 8, of which 5 are unscored.
    assert weighted == [(inf, 0.0, 5.0, 25.0, 16.0)]
    assert counted == [(inf, 0, 5, 25, 16)]
    full = confusion(curve(frame, labeled(), missing="worst", weight="w"))
    assert full[0] == weighted[0]
    assert full[-1] == (0.1, 12.0, 21.0, 13.0, 0.0)


def test_pairs_with_an_unscored_row_are_lost_and_never_tie(frame):
    area = rf.auc(frame(labeled()), "label", "score", missing="worst", by="g", ci=None)
    expected = pl.DataFrame(
        {
            "g": ["a", "b"],
            "n_pos": [3, 2],
            "n_neg": [3, 1],
            "n_missing": [2, 1],
            # a: of nine pairs .9 beats two, .4 beats one and ties with one. b: one of two.
            "auc": [3.5 / 9, 1 / 2],
            "auc_pessimistic": [3 / 9, 1 / 2],
            "auc_optimistic": [4 / 9, 1 / 2],
        }
    )
    assert_frame_equal(area.lazy().collect().select(expected.columns), expected)


@pytest.mark.parametrize("missing", ["raise", "drop", "worst"])
def test_without_missing_values_all_policies_are_one(frame, missing):
    rows = {"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]}
    expected = rf.auc(frame(rows), "label", "score")
    assert_frame_equal(rf.auc(frame(rows), "label", "score", missing=missing), expected)


def test_a_row_with_a_missing_count_is_left_out_and_counted_once(frame):
    rows = {"label": [1, 0, 1, 0, 0], "score": [0.9, 0.4, 0.4, 0.1, 0.99], "n": [2, 1, 1, 3, None]}
    area = rf.auc(frame(rows), "label", "score", count="n", missing="drop").lazy().collect()
    assert area.select("n_pos", "n_neg", "n_missing").row(0) == (3, 4, 1)
    curves = curve(frame, rows, count="n", missing="drop")
    assert curves["threshold"].to_list() == [inf, 0.9, 0.4, 0.1]
    assert curves["tn"].to_list() == [4, 4, 3, 0]


def test_rows_of_weight_or_count_0_are_ignored_even_if_values_are_missing(frame):
    rows = {
        "label": [True, False, True, None],
        "score": [0.9, 0.4, None, 0.5],
        "w": [1.0, 1.0, 0.0, 0.0],
        "n": [1, 1, 0, 0],
    }
    for option in ({"weight": "w"}, {"count": "n"}):
        area = rf.auc(frame(rows), "label", "score", missing="drop", **option).lazy().collect()
        assert area.select("n_pos", "n_neg", "n_missing", "auc").row(0) == (1, 1, 0, 1.0)
        assert curve(frame, rows, missing="drop", **option)["threshold"].to_list() == [
            inf,
            0.9,
            0.4,
        ]


def test_a_group_without_usable_rows_has_only_the_row_at_infinity(frame):
    rows = {
        "g": ["dropped", "weightless", "whole", "whole"],
        "label": [True, True, True, False],
        "score": [None, 0.5, 0.9, 0.1],
        "w": [1.0, 0.0, 1.0, 1.0],
    }
    actual = curve(frame, rows, by="g", weight="w", missing="drop").drop("fpr", "tpr")
    schema = {"g": pl.String, **dict.fromkeys(("threshold", "tp", "fp", "fn", "tn"), pl.Float64)}
    expected = [
        ("dropped", inf, 0, 0, 0, 0),
        ("weightless", inf, 0, 0, 0, 0),
        ("whole", inf, 0, 0, 1, 1),
        ("whole", 0.9, 1, 0, 0, 1),
        ("whole", 0.1, 1, 1, 0, 0),
    ]
    assert_frame_equal(actual, pl.DataFrame(expected, schema, orient="row", strict=False))
    areas = rf.auc(frame(rows), "label", "score", by="g", weight="w", missing="drop")
    assert areas.lazy().collect().select("g", "n_missing", "note").rows() == [
        ("dropped", 1, "no_rows"),
        ("weightless", 0, "no_rows"),
        ("whole", 0, "one_positive"),
    ]


@pytest.mark.parametrize(
    "weights",
    [
        pl.Series([2, 1, 1, 3], dtype=pl.UInt8),
        pl.Series([2, 1, 1, 3], dtype=pl.Int64),
        pl.Series([2, 1, 1, 3], dtype=pl.Float32),
        pl.Series([2, 1, 1, 3]).cast(pl.Decimal(10, 2)),
    ],
    ids=lambda weights: str(weights.dtype),
)
def test_weights_of_any_numeric_type_make_float64_counts(frame, weights):
    rows = {"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1], "w": weights}
    expected = [
        (inf, 0.0, 0.0, 3.0, 4.0),
        (0.9, 2.0, 0.0, 1.0, 4.0),
        (0.4, 3.0, 1.0, 0.0, 3.0),
        (0.1, 3.0, 4.0, 0.0, 0.0),
    ]
    actual = curve(frame, rows, weight="w")
    assert confusion(actual) == expected
    assert set(actual.schema.values()) == {pl.Float64}


def test_boolean_weights_choose_rows(frame):
    rows = {
        "label": [1, 0, 1, 0, 1],
        "score": [0.9, 0.4, 0.4, 0.1, 0.2],
        "w": [True, True, True, True, False],
    }
    chosen = pl.DataFrame(rows).filter("w").to_dict(as_series=False)
    assert_frame_equal(curve(frame, rows, weight="w"), curve(frame, chosen, weight="w"))


@pytest.mark.parametrize(
    "dtype", [pl.UInt8, pl.Int16, pl.UInt32, pl.Int64, pl.UInt64, pl.Int128], ids=str
)
def test_counts_of_any_whole_type_make_int64_counts(frame, dtype):
    counts = pl.Series([200, 100, 100, 55]).cast(dtype)  # more than a UInt8 holds
    rows = {"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1], "n": counts}
    actual = curve(frame, rows, count="n")
    assert confusion(actual) == [
        (inf, 0, 0, 300, 155),
        (0.9, 200, 0, 100, 155),
        (0.4, 300, 100, 0, 55),
        (0.1, 300, 155, 0, 0),
    ]
    assert actual["tp"].dtype == pl.Int64


def test_counts_and_weights_multiply(frame):
    rows = {
        "label": [1, 0, 1, 0],
        "score": [0.9, 0.4, 0.4, 0.1],
        "w": [0.5, 1, 2, 1],
        "n": [2, 1, 3, 4],
    }
    actual = curve(frame, rows, weight="w", count="n")
    assert confusion(actual)[-1] == (0.1, 7.0, 5.0, 0.0, 0.0)
    repeated = pl.DataFrame(rows).select(pl.all().repeat_by("n")).explode(pl.all())
    assert_frame_equal(actual, rf.curve(repeated, "label", "score", weight="w"))
    areas = [
        rf.auc(table, "label", "score", weight="w", **option)
        for table, option in ((pl.DataFrame(rows), {"count": "n"}), (repeated, {}))
    ]
    assert_frame_equal(*areas, rel_tol=1e-12)
