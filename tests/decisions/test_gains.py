"""`gains` against the definition in exact fractions, pandas, and printed tables of H2O and R."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf

PREDICTIONS = pl.DataFrame(
    {"label": [1, 1, 0, 1, 0, 0, 0, 0], "score": [0.9, 0.8, 0.7, 0.4, 0.4, 0.3, 0.2, 0.1]}
)
ROWS = st.lists(
    st.tuples(st.booleans(), st.none() | st.integers(-3, 3), st.integers(1, 3)),
    min_size=1,
    max_size=25,
)
# Binary fractions, so that a product with the number of rows is exact.
EDGES = st.sets(st.integers(1, 15), max_size=6).map(
    lambda inner: [i / 16 for i in sorted({0, *inner, 16})]
)


def frame_of(rows) -> pl.DataFrame:
    schema = {"label": pl.Boolean, "score": pl.Float64, "w": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def expected_bins(rows, edges, *, interpolate: bool) -> list[dict[str, Fraction | None]]:
    """Return the columns of each bin: the rows are a line, on which a tie is mixed evenly."""
    top, bottom = float("inf"), float("-inf")  # unscored negatives and positives
    ranked = [(score if score is not None else bottom if y else top, y, w) for y, score, w in rows]
    ties = []
    for value in sorted({value for value, _, _ in ranked}, reverse=True):
        own = [(y, w) for other, y, w in ranked if other == value]
        ties.append((value, sum(w for _, w in own), sum(w for y, w in own if y)))
    total, n_pos = (sum(tie[i] for tie in ties) for i in (1, 2))

    def position(edge: float) -> Fraction:
        place, ends = Fraction(edge) * total, [0]
        for _, size, _ in ties:
            ends.append(ends[-1] + size)
        return place if interpolate else max(Fraction(end) for end in ends if end <= place)

    def above(place: Fraction) -> Fraction:
        positives, start = Fraction(0), 0
        for _, size, pos in ties:
            positives += pos * min(max((place - start) / Fraction(size), 0), 1)
            start += size
        return positives

    def ratio(a, b):
        return Fraction(a) / b if b else None

    bins = []
    for low, high in pairwise(map(position, edges)):
        start, parts = 0, []
        for value, size, _ in ties:
            inside = min(start + size, high) - max(start, low)
            if inside > 0 and value not in {top, bottom}:
                parts.append((Fraction(value), inside))
            start += size
        n, tp = high - low, above(high)
        rate, cumulative_rate = ratio(tp - above(low), n), ratio(tp, high)
        share = ratio(n_pos, total)
        bins.append(
            {
                "event_rate": rate,
                "lift": None if rate is None else ratio(rate, share),
                "capture_rate": ratio(tp - above(low), n_pos),
                "n": n,
                "n_pos": tp - above(low),
                "score_min": min((value for value, _ in parts), default=None),
                "score_max": max((value for value, _ in parts), default=None),
                "score_mean": ratio(sum(v * n for v, n in parts), sum(n for _, n in parts)),
                "cumulative_n": high,
                "cumulative_n_pos": tp,
                "cumulative_event_rate": cumulative_rate,
                "cumulative_lift": None
                if cumulative_rate is None
                else ratio(cumulative_rate, share),
                "cumulative_capture_rate": ratio(tp, n_pos),
                "ks": ratio(tp, n_pos) - ratio(high - tp, total - n_pos)
                if 0 < n_pos < total
                else None,
            }
        )
    return bins


@pytest.mark.parametrize("interpolate", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
@given(rows=ROWS, edges=EDGES)
def test_bins_are_those_of_the_definition(interpolate, weighted, rows, edges):
    rows = [(y, score, w if weighted else 1) for y, score, w in rows]
    roles = {"weight": "w"} if weighted else {}
    table = rf.gains(
        frame_of(rows),
        "label",
        "score",
        bins=edges,
        interpolate=interpolate,
        missing="worst",
        **roles,
    )
    expected = expected_bins(rows, edges, interpolate=interpolate)
    assert table["bin"].to_list() == list(range(len(edges) - 1))
    assert list(pairwise(edges)) == table.select("alert_rate_low", "alert_rate_high").rows()
    for own, row in zip(table.iter_rows(named=True), expected, strict=True):
        found = {name: own[name] for name in row}
        wanted = {name: None if value is None else float(value) for name, value in row.items()}
        assert found == pytest.approx(wanted, abs=1e-12)


@given(rows=ROWS, k=st.integers(1, 12))
def test_the_points_at_the_edges_are_those_of_at(rows, k):
    frame = frame_of([(y, 0 if score is None else score, w) for y, score, w in rows])
    curve = rf.curve(frame, "label", "score", weight="w", metrics=["youden", "precision", "lift"])
    edges = [i / k for i in range(1, k + 1)]
    for interpolate in (True, False):
        table = rf.gains(frame, "label", "score", weight="w", bins=k, interpolate=interpolate)
        points = rf.at(curve, alert_rate=edges, interpolate=interpolate)
        expected = points.select(
            cumulative_n=pl.col("tp") + pl.col("fp"),
            cumulative_n_pos=pl.col("tp").cast(pl.Float64),
            cumulative_event_rate="precision",
            cumulative_lift="lift",
            cumulative_capture_rate="tpr",
            ks="youden",
        )
        assert_frame_equal(table.select(expected.columns), expected, abs_tol=1e-12)


def test_deciles_without_ties_are_those_of_qcut():
    rng = np.random.default_rng(7)
    score = rng.permutation(500) / 500
    frame = pl.DataFrame({"label": rng.random(500) < score, "score": score})
    data = frame.to_pandas()
    grouped = data.groupby(pd.qcut(-data["score"], 10, labels=False))
    table = rf.gains(frame, "label", "score", interpolate=False)
    assert table["n"].to_list() == [50] * 10
    assert table["n_pos"].to_list() == grouped["label"].sum().to_list()
    assert table["event_rate"].to_list() == pytest.approx(grouped["label"].mean().to_list())
    for name in ("min", "max", "mean"):
        expected = getattr(grouped["score"], name)().to_list()
        assert table[f"score_{name}"].to_list() == pytest.approx(expected)
    divided = rf.gains(frame, "label", "score")
    assert_frame_equal(divided, table, check_dtypes=False)


def bins_of_counts(n: list[int], n_pos: list[int], **options) -> pl.DataFrame:
    """Return the gains table of groups of rows with equal scores, of these sizes."""
    groups = list(zip(n, n_pos, strict=True))
    rows = [
        {"label": label, "score": -i, "count": count}
        for i, (size, pos) in enumerate(groups)
        for label, count in ((True, pos), (False, size - pos))
        if count
    ]
    ends = np.cumsum(n).tolist()
    edges = [0, *(end / ends[-1] for end in ends)]
    return rf.gains(pl.DataFrame(rows), "label", "score", count="count", bins=edges, **options)


@pytest.mark.parametrize("interpolate", [True, False])
def test_the_columns_agree_with_a_table_that_h2o_printed(interpolate):
    # A stacked ensemble, on the 7,994 rows of the cross-validation, of which 4,247 are positive.
    # fmt: off
    fraction = [
        0.0100075, 0.0200150, 0.0300225, 0.0400300, 0.0500375, 0.1000751, 0.1499875, 0.2000250,
        0.2999750, 0.4000500, 0.5, 0.5999500, 0.7000250, 0.7999750, 0.8999249, 1,
    ]
    printed = {
        "event_rate": [
            0.975, 0.925, 0.9875, 0.9125, 0.95, 0.9025, 0.8571429, 0.8125,
            0.7209011, 0.64, 0.5531915, 0.4931164, 0.41125, 0.3391740, 0.2866083, 0.1075,
        ],
        "lift": [
            1.8352131, 1.7410996, 1.8587415, 1.7175712, 1.7881563, 1.6987485, 1.6133741, 1.5293442,
            1.3569304, 1.2046527, 1.0412557, 0.9281781, 0.7740835, 0.6384169, 0.5394741, 0.2023440,
        ],
        "cumulative_lift": [
            1.8352131, 1.7881563, 1.8116847, 1.7881563, 1.7881563, 1.7434524, 1.7001653, 1.6574334,
            1.5573075, 1.4690887, 1.3835649, 1.3076987, 1.2314135, 1.1573237, 1.0887024, 1,
        ],
        "cumulative_event_rate": [
            0.975, 0.95, 0.9625, 0.95, 0.95, 0.92625, 0.9032527, 0.8805503,
            0.8273561, 0.7804878, 0.7350513, 0.6947456, 0.6542173, 0.6148554, 0.5783987, 0.5312735,
        ],
        "capture_rate": [
            0.0183659, 0.0174241, 0.0186014, 0.0171886, 0.0178950, 0.0850012, 0.0805274, 0.0765246,
            0.1356251, 0.1205557, 0.1040735, 0.0927714, 0.0774664, 0.0638097, 0.0539204, 0.0202496,
        ],
        "cumulative_capture_rate": [
            0.0183659, 0.0357900, 0.0543913, 0.0715799, 0.0894749, 0.1744761, 0.2550035, 0.3315281,
            0.4671533, 0.5877090, 0.6917824, 0.7845538, 0.8620202, 0.9258300, 0.9797504, 1,
        ],
    }
    # fmt: on
    n = np.diff(np.round(np.array([0, *fraction]) * 7994)).astype(int)
    n_pos = np.round(n * np.array(printed["event_rate"])).astype(int)
    assert n_pos.sum() == 4247
    table = bins_of_counts(n.tolist(), n_pos.tolist(), interpolate=interpolate)
    for name, values in printed.items():
        assert table[name].to_list() == pytest.approx(values, abs=6e-8), name


def test_the_columns_agree_with_a_table_that_the_r_package_gains_printed():
    n = [102, 102, 102, 103, 102, 102, 103, 102, 102, 103]
    table = bins_of_counts(n, [102, 97, 60, 12, 2, 0, 0, 0, 0, 0])
    assert table["cumulative_n"].round(9).to_list() == [
        *(102, 204, 306, 409, 511, 613, 716, 818, 920, 1023)
    ]
    printed = table.select(
        pl.col("event_rate", "cumulative_event_rate").round(2),
        (pl.col("cumulative_capture_rate") * 100).round(1),
        (pl.col("lift", "cumulative_lift") * 100).round(),
    )
    assert printed.rows()[:6] == [
        (1.00, 1.00, 37.4, 375, 375),
        (0.95, 0.98, 72.9, 356, 366),
        (0.59, 0.85, 94.9, 220, 317),
        (0.12, 0.66, 99.3, 44, 248),
        (0.02, 0.53, 100.0, 7, 200),
        (0.00, 0.45, 100.0, 0, 167),
    ]
    assert printed["cumulative_lift"].to_list()[6:9] == [143, 125, 111]


def test_ties_are_divided_by_expectation_or_kept_whole():
    divided = rf.gains(PREDICTIONS, "label", "score", bins=2)
    assert divided["n_pos"].to_list() == [2.5, 0.5]
    whole = rf.gains(PREDICTIONS, "label", "score", bins=2, interpolate=False)
    assert whole["n"].to_list() == [3, 5]
    assert whole["n_pos"].to_list() == [2, 1]
    assert (divided.schema["n"], whole.schema["n"]) == (pl.Float64(), pl.Int64())
    constant = rf.gains(PREDICTIONS, "label", pl.lit(0.5), bins=4, interpolate=False)
    assert constant["n"].to_list() == [0, 0, 0, 8]
    assert constant["event_rate"].to_list() == [None, None, None, 0.375]
    assert constant["note"].to_list() == [*["no_rows"] * 3, None]
    spread = rf.gains(PREDICTIONS, "label", pl.lit(0.5), bins=4)
    assert spread["lift"].to_list() == pytest.approx([1.0] * 4)


def test_undefined_groups_have_nulls_and_notes_and_do_not_change_other_groups():
    frame = pl.DataFrame(
        {
            "g": ["a"] * 4 + ["none"] * 2 + ["all"] * 2 + ["empty"],
            "label": [1, 1, 0, 0, 0, 0, 1, 1, None],
            "score": [0.9, 0.3, 0.4, 0.1, 0.5, 0.6, 0.5, 0.6, 0.2],
        }
    )
    table = rf.gains(frame, "label", "score", by="g", bins=2, missing="drop")
    assert table.select(
        *("g", "event_rate", "lift", "capture_rate", "ks", "n", "score_mean", "note")
    ).rows() == [
        ("a", 0.5, 1.0, 0.5, 0.0, 2.0, pytest.approx(0.65), None),
        ("a", 0.5, 1.0, 0.5, 0.0, 2.0, pytest.approx(0.2), None),
        ("all", 1.0, 1.0, 0.5, None, 1.0, 0.6, "no_negatives"),
        ("all", 1.0, 1.0, 0.5, None, 1.0, 0.5, "no_negatives"),
        ("empty", None, None, None, None, 0.0, None, "no_rows"),
        ("empty", None, None, None, None, 0.0, None, "no_rows"),
        ("none", 0.0, None, None, None, 1.0, 0.6, "no_positives"),
        ("none", 0.0, None, None, None, 1.0, 0.5, "no_positives"),
    ]
    alone = rf.gains(frame.filter(g="a"), "label", "score", bins=2)
    assert_frame_equal(table.filter(g="a").drop("g"), alone)


def test_infinite_scores_have_a_range_and_no_finite_mean():
    inf = float("inf")
    frame = pl.DataFrame({"label": [1, 1, 0, 0], "score": [inf, 0.5, 0.25, -inf]})
    table = rf.gains(frame, "label", "score", bins=4)
    assert table["score_max"].to_list() == [inf, 0.5, 0.25, -inf]
    assert table["score_mean"].to_list() == [None, 0.5, 0.25, None]


def test_a_very_large_score_does_not_change_the_mean_of_other_bins():
    frame = pl.DataFrame({"label": [1, 0, 1, 0], "score": [1e300, 0.5, 0.25, 0.125]})
    table = rf.gains(frame, "label", "score", bins=2)
    assert table["score_mean"].to_list() == [5e299, 0.1875]


@pytest.mark.parametrize("interpolate", [True, False])
def test_sums_of_weights_at_an_edge_are_compared_without_their_rounding_errors(interpolate):
    frame = pl.DataFrame({"label": [1, 0] * 5, "score": range(10, 0, -1)})
    table = rf.gains(frame, "label", "score", weight=pl.lit(0.1), interpolate=interpolate)
    assert table["score_min"].to_list() == table["score_max"].to_list() == [*range(10, 0, -1)]
    assert table["event_rate"].to_list() == pytest.approx([1, 0] * 5)
    assert table["n"].to_list() == pytest.approx([0.1] * 10)


def test_no_event_rate_is_above_1_because_of_rounding():
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"score": rng.permutation(2000), "w": rng.random(2000)})
    frame = frame.with_columns(label=pl.col("score") % 20 != 1)
    table = rf.gains(frame, "label", "score", weight="w", bins=1000)
    assert 0 <= table["event_rate"].min() < table["event_rate"].max() == 1


def test_a_group_column_can_have_the_name_of_a_column_of_curves():
    frame = PREDICTIONS.with_columns(tp=pl.lit("a"), threshold=pl.lit(1))
    table = rf.gains(frame, "label", "score", by=["tp", "threshold"])
    expected = rf.gains(PREDICTIONS, "label", "score")
    assert_frame_equal(table.drop("tp", "threshold"), expected)
