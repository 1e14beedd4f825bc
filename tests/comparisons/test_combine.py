"""Combinations of decisions are compared with the enumeration of all small tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

COUNTS = ["tp", "fp", "fn", "tn"]
LIMITS = ["fpr_min", "fpr_max", "tpr_min", "tpr_max"]
MODELS = ["a", "b"]
rng = np.random.default_rng(9)
LOG = pl.DataFrame(
    {
        "g": ["x", "y"] * 40,
        "id": range(80),
        "label": rng.random(80) < 0.4,
        "a": rng.integers(0, 9, 80) / 8,
        "b": rng.integers(0, 9, 80) / 8,
        "c": rng.integers(0, 9, 80) / 8,
        "n": rng.integers(0, 4, 80),
        "w": rng.random(80),
    }
)
LONG = LOG.unpivot(["a", "b", "c"], index=["g", "id", "label"], variable_name="model").rename(
    {"value": "score"}
)


def all_tables(n_rows: int, columns: list[str], **fixed: list[int]) -> pl.DataFrame:
    """Return all tables with zeros and ones in these columns; `t` numbers the tables."""
    bits = np.array(list(product([0, 1], repeat=n_rows * len(columns))))
    values = bits.reshape(len(bits), n_rows, len(columns)).reshape(-1, len(columns))
    table = pl.DataFrame({"t": np.repeat(np.arange(len(bits)), n_rows)})
    table = table.with_columns(pl.Series(n, v) for n, v in zip(columns, values.T, strict=True))
    return table.with_columns(pl.Series(n, v * len(bits)) for n, v in fixed.items())


def share(rows: list[bool]) -> Fraction | None:
    return Fraction(sum(rows), len(rows)) if rows else None


def expected_rates(decisions: list[tuple[int, int]]) -> dict[str, list[Fraction | None]]:
    """Return the rates of one class, for AND and OR."""
    if not decisions:
        return {key: [None, None] for key in ["", "_independent", "_min", "_max", "_a", "_b"]}
    a, b = (share([bool(row[i]) for row in decisions]) for i in (0, 1))
    return {
        "": [
            share([bool(i and j) for i, j in decisions]),
            share([bool(i or j) for i, j in decisions]),
        ],
        "_independent": [a * b, 1 - (1 - a) * (1 - b)],
        "_min": [max(Fraction(0), a + b - 1), max(a, b)],
        "_max": [min(a, b), min(Fraction(1), a + b)],
        "_a": [a, a],
        "_b": [b, b],
    }


def test_all_tables_of_three_rows_have_the_rates_of_the_definitions():
    tables = all_tables(3, ["label", *MODELS])
    result = rf.combine(tables, "label", MODELS, by="t")
    assert result.select("model_a", "model_b", "operator").unique(maintain_order=True).rows() == [
        ("a", "b", "and"),
        ("a", "b", "or"),
    ]
    names = [f"{rate}{part}" for rate in ("tpr", "fpr") for part in expected_rates([])]
    rates, counts = result.select(names).rows(), result.select(COUNTS).rows()
    for (t,), table in tables.group_by("t"):
        rows = [[(a, b) for label, a, b in table.drop("t").rows() if label == k] for k in (1, 0)]
        expected = [expected_rates(decisions) for decisions in rows]
        for i in (0, 1):
            values = [part[i] for rate in expected for part in rate.values()]
            assert rates[2 * t + i] == pytest.approx(
                [None if value is None else float(value) for value in values], abs=1e-15
            )
            hits = [sum((a and b, a or b)[i] for a, b in decisions) for decisions in rows]
            assert counts[2 * t + i] == (
                *hits,
                *(len(r) - h for r, h in zip(rows, hits, strict=True)),
            )


def test_measured_rates_are_inside_their_ranges_and_attain_both_ends():
    tables = all_tables(4, MODELS, label=[1, 1, 1, 1])
    result = rf.combine(tables, "label", MODELS, by="t")
    assert result.select(pl.col("tpr").is_between("tpr_min", "tpr_max").all()).item()
    ends = result.group_by("operator", "tpr_a", "tpr_b").agg(
        pl.col("tpr").min().alias("low"), pl.col("tpr").max().alias("high"), pl.col(LIMITS).first()
    )
    assert ends.height == 2 * 5 * 5
    assert ends.select((pl.col("low") == pl.col("tpr_min")).all()).item()
    assert ends.select((pl.col("high") == pl.col("tpr_max")).all()).item()


@pytest.mark.parametrize("mass", ["weight", "count"])
def test_weighted_rates_are_inside_their_ranges(mass):
    tables = all_tables(4, MODELS, label=[1, 1, 1, 0]).with_columns(
        count=pl.Series(rng.integers(0, 10**9, 4 * 256)), weight=pl.Series(rng.random(4 * 256))
    )
    options = {"count": None, mass: mass}
    result = rf.combine(tables, "label", MODELS, by="t", **options)
    for rate in ("fpr", "tpr"):
        inside = pl.col(rate).is_between(f"{rate}_min", f"{rate}_max")
        assert result.select(inside.all()).item()
        assert result.select(pl.col(f"{rate}_min", f"{rate}_max").is_between(0, 1).all()).row(
            0
        ) == (True, True)


def test_independent_decisions_have_the_independent_rates():
    cells = [(i, j, k) for k in (1, 0) for i in (0, 1) for j in (0, 1)]
    counts = [(3 if i else 1) * (1 if j else 7) if k else (1 if i else 3) * 2 for i, j, k in cells]
    table = pl.DataFrame(cells, schema=["a", "b", "label"], orient="row")
    result = rf.combine(table.with_columns(n=pl.Series(counts)), "label", MODELS, count="n")
    for rate in ("fpr", "tpr"):
        assert_frame_equal(
            result.select(rate),
            result.select(pl.col(f"{rate}_independent").alias(rate)),
            check_exact=True,
        )
    assert result.get_column("tpr").to_list() == [0.75 / 8, 0.75 + 1 / 8 - 0.75 / 8]


def test_a_long_table_is_paired_by_id_in_any_row_order():
    side_by_side = rf.combine(LOG, "label", ["a", "b", "c"], threshold=0.5, by="g")
    assert side_by_side.height == 2 * 3 * 2
    long = LONG.sample(fraction=1, shuffle=True, seed=1)
    assert_frame_equal(
        rf.combine(long, "label", "score", threshold=0.5, id="id", by="g"), side_by_side
    )


def test_each_group_has_the_thresholds_of_its_operating_points(frame):
    points = LONG.roc.curve("label", "score", by=["g", "model"]).roc.operating_point()
    result = rf.combine(frame(LONG), "label", "score", threshold=points, id="id", by="g")
    result = result.lazy().collect()
    for side in MODELS:
        found = result.join(
            points, left_on=["g", f"model_{side}"], right_on=["g", "model"], suffix="_point"
        )
        for name in ("threshold", "fpr", "tpr"):
            one = f"{name}_{side}"
            other = "threshold" if name == "threshold" else f"{name}_point"
            assert found.get_column(one).to_list() == found.get_column(other).to_list()
    per_model = LOG.roc.curve("label", MODELS).roc.at(threshold=[0.25])
    one = rf.combine(LOG, "label", MODELS, threshold=per_model)
    assert one.select("threshold_a", "threshold_b").row(0) == (0.25, 0.25)


def test_thresholds_can_be_a_mapping_or_decisions():
    mapped = rf.combine(LOG, "label", MODELS, threshold={"a": 0.25, "b": 0.75, "c": 1})
    calls = {"a": pl.col("a") >= 0.25, "b": pl.col("b") >= 0.75}
    decided = rf.combine(LOG, "label", calls)
    assert mapped.select("threshold_a", "threshold_b").row(0) == (0.25, 0.75)
    assert decided.select("threshold_a", "threshold_b").row(0) == (None, None)
    assert_frame_equal(*(t.drop("threshold_a", "threshold_b") for t in (mapped, decided)))


def test_missing_scores_are_wrong_decisions_or_left_out():
    table = pl.DataFrame({"label": [1, 1, 0, 0], "a": [None, 1, None, 0], "b": [1, 1, 1, 0]})
    worst = rf.combine(table, "label", MODELS, missing="worst")
    assert worst.select("operator", *COUNTS).rows() == [("and", 1, 1, 1, 1), ("or", 2, 1, 0, 1)]
    dropped = rf.combine(table, "label", MODELS, missing="drop")
    assert dropped.select(*COUNTS, "note").row(0) == (1, 0, 0, 1, "one_positive")


def test_undefined_rates_are_null():
    table = pl.DataFrame({"g": [1, 1, 2, 2], "label": [1, 1, 0, 1], "a": [1, 0, 1, 1], "b": 1})
    result = rf.combine(table, "label", MODELS, by="g")
    assert result.filter(g=1).select("fpr", "fpr_min", "tpr", "note").rows() == [
        (None, None, 0.5, "no_negatives"),
        (None, None, 1.0, "no_negatives"),
    ]
    lacking = pl.DataFrame(
        {"g": [1, 1, 2], "model": ["a", "b", "a"], "threshold": [1.0, 1.0, None]}
    )
    some = rf.combine(table, "label", MODELS, by="g", threshold=lacking)
    assert_frame_equal(
        some.filter(g=1).drop("threshold_a", "threshold_b"),
        result.filter(g=1).drop("threshold_a", "threshold_b"),
    )
    (second,) = some.filter(g=2, operator="and").rows(named=True)
    assert [second[name] for name in (*COUNTS, *LIMITS, "fpr_a", "tpr")] == [None] * 10
    assert (second["n_pos"], second["n_neg"], second["note"]) == (1, 1, "one_positive")
    empty = rf.combine(table.clear(), "label", MODELS)
    assert empty.select("note", "tp", "tpr").rows() == [("no_rows", 0, None)] * 2
    assert rf.combine(table.clear(), "label", MODELS, by="g").height == 0


def test_rows_that_only_one_model_scored_are_counted_in_the_note():
    partial = LONG.filter(~((pl.col("model") == "b") & (pl.col("id") < 3)))
    result = rf.combine(partial, "label", "score", threshold=0.5, id="id", unmatched="drop").filter(
        operator="or"
    )
    assert result.get_column("note").to_list() == ["unmatched:3", None, "unmatched:3"]
    assert (result["n_pos"] + result["n_neg"]).to_list() == [77, 80, 77]


def test_points_have_the_ranges_of_their_predictions(frame):
    points = LONG.roc.confusion_matrix("label", pl.col("score") >= 0.5, by=["g", "model"])
    measured = rf.combine(LOG, "label", ["a", "b", "c"], threshold=0.5, by="g")
    result = rf.combine_points(frame(points))
    assert isinstance(result, pl.LazyFrame) == isinstance(frame(points), pl.LazyFrame)
    result = result.lazy().collect()
    same = ["g", "model_a", "model_b", "operator", *LIMITS, "fpr_independent", "tpr_independent"]
    assert_frame_equal(result.select(same), measured.select(same))
    assert result.columns == measured.columns
    unknown = ["fpr", "tpr", *COUNTS, "n_pos", "n_neg", "note"]
    assert result.select(pl.col(unknown).is_null().all()).row(0) == (True,) * len(unknown)
    best = LONG.roc.curve("label", "score", by=["g", "model"]).roc.operating_point()
    combined = rf.combine_points(best)
    assert combined.get_column("threshold_a").null_count() == 0
    assert combined.height == measured.height


def test_published_points_have_the_rates_of_the_figure():
    points = pl.DataFrame({"model": ["c2", "c1"], "fpr": [0.4, 0.2], "tpr": [0.7, 0.6]})
    result = rf.combine_points(points)
    names = ["model_a", "operator", "fpr_independent", "tpr_independent", *LIMITS]
    expected = [
        ("c1", "and", 0.08, 0.42, 0.0, 0.2, 0.3, 0.6),
        ("c1", "or", 0.52, 0.88, 0.4, 0.6, 0.7, 1.0),
    ]
    for row, values in zip(result.select(names).rows(), expected, strict=True):
        assert row == pytest.approx(values)


def test_points_with_undefined_rates_have_a_note():
    points = pl.DataFrame({"model": ["a", "b"], "fpr": [0.5, 0.5], "tpr": [None, 1.0]})
    result = rf.combine_points(points)
    assert result.select("fpr_max", "tpr_max", "note").row(0) == (0.5, None, "no_positives")
    nothing = rf.combine_points(points.with_columns(fpr=pl.lit(None, pl.Float64)))
    assert nothing.get_column("note").to_list() == ["no_solution"] * 2
    assert rf.combine_points(points.head(1)).height == 0


def test_small_integer_types_of_counts_do_not_overflow():
    counts = {"tp": [200, 100], "fp": [1, 1], "fn": [100, 100], "tn": [9, 9]}
    points = pl.DataFrame({"model": ["a", "b"], **counts})
    small = points.cast(dict.fromkeys(counts, pl.UInt8))
    assert_frame_equal(rf.combine_points(small), rf.combine_points(points))
    assert rf.combine_points(small).select("tpr_a", "tpr_b").row(0) == (200 / 300, 0.5)
