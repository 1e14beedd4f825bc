"""Ties are compared with counts of tied pairs in fractions, and with the tie envelope of `auc`."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf

ROWS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([-1.0, 0.5, 2.0, float("inf")])), max_size=14
)


@pytest.mark.hypothesis
@given(ROWS)
def test_ties_are_the_scores_of_both_classes_and_their_sum_is_half_of_the_envelope(rows):
    frame = pl.DataFrame(rows, schema={"label": pl.Boolean, "score": pl.Float64}, orient="row")
    found = rf.curve(frame, "label", "score").roc.ties()
    pos = [score for label, score in rows if label]
    neg = [score for label, score in rows if not label]
    shared = sorted(set(pos) & set(neg), reverse=True)
    assert found["threshold"].to_list() == shared
    assert found["tied_pos"].to_list() == [pos.count(score) for score in shared]
    assert found["tied_neg"].to_list() == [neg.count(score) for score in shared]
    changes = [
        Fraction(pos.count(score) * neg.count(score), 2 * len(pos) * len(neg)) for score in shared
    ]
    assert found["auc_change"].to_list() == pytest.approx([float(c) for c in changes], rel=1e-15)
    if pos and neg:
        area = rf.auc(frame, "label", "score", ci=None)
        low, high = area.select("auc_pessimistic", "auc_optimistic").row(0)
        assert 2 * sum(changes) == pytest.approx(high - low, abs=1e-15)


def test_rows_without_ties_and_groups_without_ties_are_left_out():
    frame = pl.DataFrame(
        {
            "group": ["a", "a", "a", "b", "b", "c"],
            "label": [1, 0, 1, 1, 0, 1],
            "score": [0.5, 0.5, 0.5, 0.2, 0.1, 0.3],
            "w": [1.0, 0.5, 2.0, 1.0, 1.0, 1.0],
        }
    )
    found = rf.curve(frame, "label", "score", by="group").roc.ties()
    expected = {"group": ["a"], "threshold": [0.5], "auc_change": [0.5]}
    assert_frame_equal(
        found, pl.DataFrame(expected | {"tied_pos": [2], "tied_neg": [1]}), check_exact=True
    )
    weighted = rf.curve(frame, "label", "score", by="group", weight="w").roc.ties()
    assert_frame_equal(
        weighted, pl.DataFrame(expected | {"tied_pos": [3.0], "tied_neg": [0.5]}), check_exact=True
    )


def test_unscored_rows_count_in_the_totals_but_are_not_tied():
    frame = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.5, 0.5, None, None]})
    found = rf.curve(frame, "label", "score", missing="worst").roc.ties()
    assert found.row(0) == (0.5, 1 / 8, 1, 1)
    area = rf.auc(frame, "label", "score", missing="worst", ci=None)
    assert area["auc_optimistic"][0] - area["auc_pessimistic"][0] == 1 / 4


def test_counts_whose_product_exceeds_int64_have_a_finite_share():
    big = 4_000_000_000
    frame = pl.DataFrame({"label": [1, 0], "score": [1, 1], "n": [big, big]})
    found = rf.curve(frame, "label", "score", count="n").roc.ties()
    assert found.row(0) == (1.0, 0.5, big, big)
