"""`auc_covariance`: exact fractions, published numbers, and properties of the matrix."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.comparisons.auc_oracle import Exact, logs
from tests.comparisons.tables import (
    CLASSES,
    DELONG,
    MARKERS,
    MASSES,
    PARTS,
    PERFECT,
    near,
    simulated,
)
from tests.strategies import examples

COLUMNS = [
    *("covariance", "correlation", "auc_a", "auc_b", "n_pos", "n_neg", "model_a", "model_b"),
    "note",
]


def matrix(table: pl.DataFrame, value: str = "covariance") -> np.ndarray:
    """Return the values of one group, with a row for each model a."""
    size = table["model_a"].n_unique()
    return table[value].to_numpy().reshape(size, size)


def test_two_models_of_five_rows_by_hand(frame):
    # The placements of `a` are 1, 1, 3/4 and 5/6, 1, those of `b` 1/2, 1/2, 3/4 and 1/6, 1:
    # variances 1/48, 1/48 and 1/72, 25/72 in the classes, covariances -1/48 and 5/72.
    predictions = frame(
        {"label": [1, 1, 1, 0, 0], "a": [0.9, 0.8, 0.3, 0.3, 0.1], "b": [2, 2, 3, 3, 0]}
    )
    both = 1 / 48 / 3
    a, b, together = both + 1 / 72 / 2, both + 25 / 72 / 2, -both + 5 / 72 / 2
    areas = {"a": 11 / 12, "b": 7 / 12}
    correlation = together / (a * b) ** 0.5
    expected = pl.DataFrame(
        {
            "covariance": [a, together, together, b],
            "correlation": [1, correlation, correlation, 1],
            "auc_a": [areas[m] for m in "aabb"],
            "auc_b": [areas[m] for m in "abab"],
            "n_pos": [3] * 4,
            "n_neg": [2] * 4,
            "model_a": list("aabb"),
            "model_b": list("abab"),
            "note": pl.Series([None] * 4, dtype=pl.String),
        },
        strict=False,
    )
    found = rf.auc_covariance(predictions, "label", ["b", "a"])
    assert_frame_equal(found, frame(expected), rel_tol=1e-13, abs_tol=0)
    assert list(found.lazy().collect_schema()) == COLUMNS


@pytest.mark.parametrize("way", ["side by side", "one below the other"])
def test_delong_1988_the_matrix_of_three_markers(way):
    rows = pl.DataFrame(DELONG["rows"], orient="row", schema=DELONG["columns"])
    if way == "side by side":
        found = rf.auc_covariance(rows, "popind", MARKERS)
    else:
        melted = rows.with_row_index("patient").unpivot(
            MARKERS, index=["patient", "popind"], variable_name="marker", value_name="value"
        )
        found = rf.auc_covariance(melted, "popind", "value", between="marker", id="patient")
    np.testing.assert_allclose(matrix(found), DELONG["covariance"], rtol=1e-13)
    np.testing.assert_allclose(matrix(found, "auc_a")[:, 0], DELONG["auc"], rtol=1e-15)
    assert found["n_pos"].unique().to_list() == [31]
    assert found["n_neg"].unique().to_list() == [12]


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("options", MASSES.values(), ids=MASSES)
def test_covariances_are_those_of_the_formula(part, options):
    where, area_options = part
    name = "partial_auc" if area_options else "auc"

    @examples(1 / 4)
    @given(logs(*options.values(), models="abc", max_size=9))
    def check(table: pl.DataFrame) -> None:
        exact = Exact(table, "abc", where, options.get("cluster"))
        found = rf.auc_covariance(table, "label", ["a", "b", "c"], **area_options, **options)
        for line in found.iter_rows(named=True):
            a, b = line["model_a"], line["model_b"]
            assert line[f"{name}_a"] == near(float(exact.area[a]))
            assert line[f"{name}_b"] == near(float(exact.area[b]))
            if line["note"] in {"one_positive", "one_negative"}:  # as many clusters
                assert line["covariance"] is None
                continue
            expected = float(exact.covariance(a, b))
            # The variances that it comes from are larger, and rounded.
            assert line["covariance"] == pytest.approx(expected, rel=1e-12, abs=1e-15)
            assert (line["note"] == "zero_variance") == any(
                exact.covariance(m, m) == 0 for m in "abc"
            )

    check()


def test_the_diagonal_is_the_square_of_the_standard_error():
    table = simulated(1, groups=3).with_columns(user=pl.col("id") % 9, w=pl.col("id") % 3 + 1)
    for options in (
        {},
        {"fpr": (0, 0.2)},
        {"tpr": (0.8, 1), "standardize": "mcclish"},
        {"cluster": "user"},
        {"weight": "w"},
    ):
        found = rf.auc_covariance(table, "label", [*"abc"], by="g", **options)
        alone = rf.auc(table, "label", [*"abc"], by="g", ci="delong", **options)
        diagonal = found.filter(pl.col("model_a") == pl.col("model_b"))
        assert diagonal["covariance"].sqrt().to_list() == [near(se) for se in alone["se"]]
        assert diagonal["correlation"].to_list() == [near(1.0)] * 9


def test_the_variance_of_a_difference_follows_from_it():
    table = simulated(2, groups=2)
    for options in ({}, {"fpr": (0, 0.3), "standardize": "mcclish"}):
        found = rf.auc_covariance(table, "label", [*"abc"], by="g", **options)
        pairs = rf.compare(table, "label", [*"abc"], by="g", **options)
        for line in pairs.iter_rows(named=True):
            own = matrix(found.filter(g=line["g"]))
            i, j = ("abc".index(line[name]) for name in ("model_a", "model_b"))
            assert own[i, i] + own[j, j] - 2 * own[i, j] == near(line["se"] ** 2, 1e-10)


def test_matrices_are_symmetric_and_positive():
    found = rf.auc_covariance(simulated(3, rows=30, groups=20), "label", [*"abc"], by="g")
    for group in found.partition_by("g"):
        own, related = matrix(group), matrix(group, "correlation")
        assert (own == own.T).all()
        assert np.linalg.eigvalsh(own).min() > -1e-15
        assert (np.abs(related) <= 1).all()
        assert (related == related.T).all()


def test_the_covariance_with_a_reversed_model_is_minus_the_variance():
    table = simulated(4).select("label", "a", b=-pl.col("a"))
    found = rf.auc_covariance(table, "label", ["a", "b"])
    own = matrix(found)
    assert own[0, 1] == near(-own[0, 0])
    assert found["correlation"].to_list() == [near(1.0), near(-1.0), near(-1.0), near(1.0)]


@pytest.mark.parametrize(("note", "label"), CLASSES.items())
def test_a_group_with_too_few_rows_of_a_class_is_null_with_a_note(frame, note, label):
    numbers = pl.Series(range(len(label)), dtype=pl.Int64)
    columns = {"label": pl.Series(label, dtype=pl.Int64), "a": numbers, "b": -numbers}
    found = rf.auc_covariance(frame(columns), "label", ["a", "b"]).lazy().collect()
    assert found["note"].to_list() == [note] * 4
    assert found["n_pos"].to_list() == [sum(label)] * 4
    assert found["n_neg"].to_list() == [len(label) - sum(label)] * 4
    assert found["covariance"].to_list() == [None] * 4
    assert found["correlation"].to_list() == [None] * 4
    assert (found["auc_a"].null_count() == 0) == ("one" in note)


def test_without_variance_there_is_a_covariance_and_no_correlation():
    table = PERFECT.with_columns(c=pl.Series([4, 1, 3, 2]))
    found = rf.auc_covariance(table, "label", ["a", "b", "c"])
    own = matrix(found)
    assert (own[:2] == 0).all()
    assert own[2, 2] > 0
    assert found["correlation"].to_list() == [None] * 8 + [near(1.0)]
    assert found["note"].to_list() == ["zero_variance"] * 9


def test_a_single_model_has_a_variance():
    table = simulated(8)
    found = rf.auc_covariance(table, "label", ["a"])
    assert found.select("model_a", "model_b").rows() == [("a", "a")]
    assert found["covariance"].item() == rf.auc(table, "label", "a")["se"].item() ** 2


@pytest.mark.parametrize("by", [None, "g"])
def test_an_empty_table_returns_null_covariances_or_no_rows(frame, by):
    kinds = {"label": pl.Boolean, "g": pl.String, "a": pl.Float64, "b": pl.Float64}
    found = rf.auc_covariance(frame(schema=kinds), "label", ["a", "b"], by=by).lazy().collect()
    assert found["note"].to_list() == ([] if by else ["no_rows"] * 4)
    kinds |= {"model": pl.Date, "id": pl.Int64}
    found = rf.auc_covariance(frame(schema=kinds), "label", "a", by=by, id="id").lazy().collect()
    assert (found.height, found.schema["model_b"]) == (0, pl.Date)
    assert found.columns == [*([by] if by else []), *COLUMNS]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"count": "n"},
        {"count": "many"},
        {"weight": "w"},
        {"cluster": "user"},
        {"cluster": "user", "weight": "w"},
        {"fpr": (0, 0.3)},
    ],
    ids=str,
)
def test_many_models_have_the_covariances_that_few_of_them_have(options):
    rng = np.random.default_rng(9)
    table = simulated(9, rows=40, groups=2).with_columns(
        user=pl.col("id") % 9, n=pl.col("id") % 4, many=pl.col("id") * 10**9, w=pl.col("id") % 5 / 7
    )
    names = [f"m{i:02}" for i in range(20)]
    shared = table["a"].to_numpy()
    table = table.with_columns(
        pl.Series(name, np.round(shared + rng.normal(size=len(shared)), 1)) for name in names
    )
    found = rf.auc_covariance(table, "label", names, by="g", **options)
    subset = names[::7]
    expected = rf.auc_covariance(table, "label", subset, by="g", **options)
    remaining = found.filter(pl.col("model_a").is_in(subset) & pl.col("model_b").is_in(subset))
    # Integers are added up exactly in both ways.
    exact = options.keys() <= {"count"}
    assert_frame_equal(remaining, expected, check_exact=exact, rel_tol=1e-10, abs_tol=1e-16)


def test_the_covariances_of_many_models_are_those_of_their_placement_values():
    rng = np.random.default_rng(10)
    label = rng.random(60) < 0.4
    scores = np.round(label + rng.normal(size=(30, 60)), 1)
    table = pl.DataFrame({"label": label, **{f"m{i:02}": own for i, own in enumerate(scores)}})
    pos, neg = scores[:, label, None], scores[:, None, ~label]
    won = np.where(pos == neg, 0.5, pos > neg)
    expected = np.cov(won.mean(axis=2)) / label.sum() + np.cov(won.mean(axis=1)) / (~label).sum()
    found = rf.auc_covariance(table, "label", pl.col("^m.*$"))
    np.testing.assert_allclose(matrix(found), expected, rtol=0, atol=1e-15)
