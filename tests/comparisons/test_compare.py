"""`compare`: columns, groups, and invariances."""

from __future__ import annotations

from math import sqrt

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.comparisons.tables import (
    CLASSES,
    METHODS,
    PERFECT,
    UNPAIRED,
    VERBS,
    long,
    row,
    simulated,
)
from tests.kernel.test_scan import cut

COLUMNS = [
    *("model_a", "model_b", "difference", "lower", "upper", "p_value", "p_adjusted", "se"),
    *("statistic", "df", "auc_a", "auc_b", "n_paired", "n_pos", "n_neg"),
    *("ci_level", "test", "note"),
]


@pytest.mark.parametrize("method", METHODS)
def test_columns_and_dtypes_match_the_documentation(frame, method):
    table = rf.compare(
        frame(simulated(3)), "label", ["a", "b"], method=method, seed=1, n_boot=9, n_perm=9
    )
    kinds = dict.fromkeys(COLUMNS, pl.Float64)
    kinds |= dict.fromkeys(["model_a", "model_b", "test", "note"], pl.String)
    kinds |= dict.fromkeys(["n_paired", "n_pos", "n_neg"], pl.Int64)
    assert dict(table.lazy().collect_schema()) == kinds
    found = table.lazy().collect()
    assert found.columns == COLUMNS
    assert found["test"].item() == method
    tests_only = method in {"permutation", "venkatraman"}
    assert found["ci_level"].item() == (None if tests_only else 0.95)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("note", "label"), CLASSES.items())
def test_a_group_with_too_few_rows_of_a_class_is_null_with_a_note(frame, method, note, label):
    scores = list(range(len(label)))
    columns = {
        "label": pl.Series(label, dtype=pl.Int64),
        "a": pl.Series(scores, dtype=pl.Int64),
        "b": pl.Series(scores[::-1], dtype=pl.Int64),
    }
    table = rf.compare(frame(columns), "label", ["a", "b"], method=method, seed=1)
    found = row(table.lazy().collect())
    assert found["note"] == note
    assert found["n_paired"] == (None if method in UNPAIRED else len(label))
    assert (found["n_pos"], found["n_neg"]) == (sum(label), len(label) - sum(label))
    both = "one" in note
    assert (found["auc_a"] is not None) == both
    assert (found["difference"] is not None) == both
    # Exchanges want no variance.
    tested = both and method in {"permutation", "venkatraman"}
    assert (found["p_value"] is not None) == tested
    assert found["se"] is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by", [None, "g"])
def test_an_empty_table_returns_null_comparisons_or_no_rows(frame, method, by):
    kinds = {"label": pl.Boolean, "g": pl.String, "a": pl.Float64, "b": pl.Float64}
    side_by_side = rf.compare(
        frame(schema=kinds), "label", ["a", "b"], by=by, method=method, baseline="a"
    )
    found = side_by_side.lazy().collect()
    assert found["note"].to_list() == ([] if by else ["no_rows"])
    kinds |= {"model": pl.Int32, "id": pl.Int64}
    below = rf.compare(frame(schema=kinds), "label", "a", by=by, id="id", method=method, baseline=7)
    found = below.lazy().collect()
    assert found.height == 0
    assert found.columns == [*([by] if by else []), *COLUMNS]
    assert found.schema["model_a"] == pl.Int32


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS)
@pytest.mark.parametrize("options", [{}, {"cluster": "user"}, {"weight": "w"}], ids=str)
@pytest.mark.parametrize("label", [0, 1])
def test_partial_areas_of_a_group_with_one_class_are_null(verb, options, label):
    table = simulated(14, rows=12, groups=2).with_columns(w=pl.lit(0.5), user=pl.col("id") // 2)
    table = table.with_columns(label=pl.when(g=1).then(bool(label)).otherwise("label"))
    found = verb(table, "label", ["a", "b"], by="g", fpr=(0, 0.3), **options)
    assert set(found.filter(g=1)["note"]) == {["no_positives", "no_negatives"][label]}
    undefined = {"covariance", "se", "p_value"} & set(found.columns)
    assert found.filter(g=1).select(undefined).null_count().row(0) == (
        (found.filter(g=1).height,) * len(undefined)
    )
    alone = verb(table.filter(g=0), "label", ["a", "b"], by="g", fpr=(0, 0.3), **options)
    assert_frame_equal(found.filter(g=0), alone)


def test_a_long_table_of_one_model_has_no_comparisons():
    assert rf.compare(long(simulated(14), "a"), "label", "score", id="id").height == 0


def test_the_baseline_may_be_a_string_of_numpy():
    expected = rf.compare(simulated(14), "label", ["a", "b"], baseline="a")
    assert_frame_equal(
        rf.compare(simulated(14), "label", ["a", "b"], baseline=np.str_("a")), expected
    )


# Groups


@pytest.mark.parametrize("method", METHODS[:4:2])
def test_a_hundred_undefined_groups_do_not_change_ten_thousand_others(method):
    good = simulated(15, rows=12, groups=9_900).with_columns(
        pl.Series("label", np.arange(12 * 9_900) % 3 == 0)
    )
    rows = PERFECT.with_columns(
        pl.col("label").cast(pl.Boolean), pl.col("a", "b").cast(float), c=1.0
    )
    ill = [
        *(rows for _ in range(20)),
        *(rows.with_columns(label=pl.lit(i % 2 == 0)) for i in range(40)),
        *(rows.with_columns(label=pl.lit(None, pl.Boolean)) for _ in range(20)),
        *(rows.head(1) for _ in range(20)),
    ]
    bad = pl.concat(part.with_columns(g=pl.lit(20_000 + i, pl.Int64)) for i, part in enumerate(ill))
    mixed = pl.concat([good.drop("id"), bad.select(good.drop("id").columns)]).sample(
        fraction=1, shuffle=True, seed=1
    )
    options = {"by": "g", "missing": "drop", "method": method}
    expected = rf.compare(good, "label", [*"abc"], **options)
    found = rf.compare(mixed, "label", [*"abc"], **options)
    assert found["g"].n_unique() == 10_000
    assert_frame_equal(found.filter(pl.col("g") < 20_000), expected, check_exact=True)
    notes = found.filter(pl.col("g") >= 20_000).group_by("note").len().sort("note")
    assert dict(notes.rows()) == {
        "no_negatives": 60 * 2,
        "no_positives": 60,
        "no_rows": 60,
        "zero_variance": 60,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fpr": (0, 0.3)},
        {"method": "delong_unpaired"},
        {"cluster": "user"},
        {"cluster": "user", "tpr": (0.5, 1)},
        {"method": "bootstrap", "seed": 2, "n_boot": 40},
        {"method": "bootstrap", "seed": 2, "n_boot": 40, "cluster": "user"},
        {"method": "bootstrap", "seed": 2, "n_boot": 40, "fpr": (0, 0.3)},
        {"method": "bootstrap", "seed": 2, "n_boot": 40, "tpr": 0.8},
        {"method": "permutation", "seed": 2, "n_perm": 40},
        {"method": "venkatraman", "seed": 2, "n_perm": 40},
        {"method": "permutation", "cluster": "user", "seed": 2, "n_perm": 40},
    ],
    ids=str,
)
def test_row_order_and_number_of_threads_do_not_change_the_result(options):
    table = simulated(16, rows=40, groups=4).with_columns(user=pl.col("id") * 7 % 13)
    expected = rf.compare(table, "label", [*"abc"], by="g", **options)
    melted = long(table)
    for seed in range(3):
        mixed = table.sample(fraction=1, shuffle=True, seed=seed)
        below = melted.sample(fraction=1, shuffle=True, seed=seed)
        with pytest.MonkeyPatch.context() as patch:
            cut(patch, threads_used=seed + 1)
            for found in (
                rf.compare(mixed, "label", [*"cab"], by="g", **options),
                rf.compare(below, "label", "score", id="id", by="g", **options),
            ):
                assert_frame_equal(found, expected, check_exact=True)


def test_row_order_changes_weighted_results_by_rounding_only():
    table = simulated(17, groups=3).with_columns(w=(pl.col("id") * 0.37) % 1 + 0.1)
    for options in ({}, {"fpr": (0, 0.3)}):
        expected = rf.compare(table, "label", [*"abc"], by="g", weight="w", **options)
        mixed = table.sample(fraction=1, shuffle=True, seed=1)
        found = rf.compare(mixed, "label", [*"abc"], by="g", weight="w", **options)
        assert_frame_equal(found, expected, rel_tol=1e-11, abs_tol=1e-13)


def test_a_true_null_hypothesis_is_rejected_at_the_nominal_rate():
    rng = np.random.default_rng(18)
    groups, rows = 1500, 120
    label = np.tile(np.arange(rows) % 2 == 0, groups)
    shared = label + rng.normal(size=groups * rows)
    table = pl.DataFrame(
        {
            "g": np.repeat(np.arange(groups), rows),
            "label": label,
            **{m: shared + rng.normal(size=groups * rows) for m in "ab"},
        }
    )
    found = rf.compare(table, "label", ["a", "b"], by="g")
    share = (found["p_value"] <= 0.05).mean()
    assert abs(share - 0.05) < 4 * sqrt(0.05 * 0.95 / groups)
    outside = (found["lower"] > 0) | (found["upper"] < 0)
    assert (outside == (found["p_value"] < 0.05)).all()
