"""`auc_test`: tables computed by hand, comparisons with scipy, and invariances."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.stats import brunnermunzel, mannwhitneyu, norm, permutation_test

import rocframe as rf
from tests.strategies import ANY_WEIGHTS, COUNTS, TIED, examples, repeated, shuffled, tables

ALTERNATIVES = ["two-sided", "greater", "less"]
METHODS = ["delong_t", "delong", "permutation", "mann_whitney"]
every_method = pytest.mark.parametrize("method", METHODS)
every_alternative = pytest.mark.parametrize("alternative", ALTERNATIVES)

SCHEMA = {
    **dict.fromkeys(["auc", "p_adjusted", "p_value", "null", "se", "statistic", "df"], pl.Float64),
    **dict.fromkeys(["n_pos", "n_neg", "n_missing"], pl.Int64),
    **dict.fromkeys(["test", "note"], pl.String),
}

# Of 2 times 2 pairs the positives win three and tie one.
PREDICTIONS = {"label": [1, 1, 0, 0], "score": [0.9, 0.7, 0.7, 0.1]}


def some_rows(seed: int, size: int, *, decimals: int = 9, better: float = 0.7) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.permutation(np.arange(size) % 3 == 0)
    score = np.round(rng.normal(np.where(label, better, 0.0)), decimals)
    return pl.DataFrame({"label": label, "score": score})


def sides(rows: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return tuple(rows.filter(pl.col("label") == one)["score"].to_numpy() for one in (True, False))


def area(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
    """Compare all pairs."""
    x, y = np.moveaxis(x, axis, -1)[..., :, None], np.moveaxis(y, axis, -1)[..., None, :]
    return ((x > y) * 0.5 + (x >= y) * 0.5).mean(axis=(-2, -1))


def enumerated(rows: pl.DataFrame, alternative: str) -> Fraction:
    """Enumerate all permutations of the labels, and count the pairs of each."""
    scores, labels = rows["score"].to_list(), rows["label"].to_list()

    def twice(chosen: tuple[int, ...]) -> int:
        others = [scores[i] for i in range(len(scores)) if i not in chosen]
        won = ((scores[i] > y) + (scores[i] >= y) for i in chosen for y in others)
        return sum(won) - len(chosen) * len(others)

    real = tuple(i for i, label in enumerate(labels) if label)
    seen = twice(real)
    found = [twice(chosen) for chosen in combinations(range(len(scores)), len(real))]
    far = {
        "two-sided": [abs(one) >= abs(seen) for one in found],
        "greater": [one >= seen for one in found],
        "less": [one <= seen for one in found],
    }
    return Fraction(sum(far[alternative]), len(found))


def p_value(rows: pl.DataFrame, method: str, **options: object) -> float:
    return rf.auc_test(rows, "label", "score", method=method, **options)["p_value"].item()


def test_a_table_of_tests_has_counts_area_test_and_note(frame):
    table = rf.auc_test(frame(PREDICTIONS), "label", "score", method="delong").lazy().collect()
    # Placements of the positives are 1 and 3/4, of the negatives 3/4 and 1: each class has the
    # variance 1/32, and half of it goes into the variance of the area.
    se = math.sqrt(2 * (1 / 32) / 2)
    p = 2 * norm.sf(0.375 / se)
    expected = (0.875, p, p, 0.5, se, 0.375 / se, None, 2, 2, 0, "delong", "few_rows:2")
    expected = pl.DataFrame([expected], schema=SCHEMA, orient="row")
    assert_frame_equal(table, expected, rel_tol=1e-14)


@every_alternative
def test_the_t_test_is_that_of_brunner_and_munzel(alternative):
    for seed, n in ((1, 12), (2, 40), (3, 90)):
        rows = some_rows(seed, n)
        x, y = sides(rows)
        options = {"method": "delong_t", "alternative": alternative}
        found = rf.auc_test(rows, "label", "score", **options).row(0, named=True)
        expected = brunnermunzel(x, y, alternative=alternative)  # negative if x is larger
        assert found["p_value"] == pytest.approx(expected.pvalue, rel=1e-9)
        assert found["statistic"] == pytest.approx(-expected.statistic, rel=1e-9)
        assert found["note"] == (f"few_rows:{min(len(x), len(y))}" if n == 12 else None)


def test_the_t_test_rejects_a_true_null_hypothesis_less_often_than_the_z_test():
    rng = np.random.default_rng(1)
    groups, n_pos, n_neg = 2_000, 10, 90
    label = np.tile(np.arange(n_pos + n_neg) < n_pos, groups)
    score = rng.normal(size=len(label)) + 2**0.5 * norm.ppf(0.7) * label
    group = np.repeat(np.arange(groups), n_pos + n_neg)
    rows = pl.DataFrame({"g": group, "label": label, "score": score})
    share = {
        method: (rf.auc_test(rows, "label", "score", by="g", null=0.7, **options)["p_value"] < 0.05)
        for method, options in {"t": {}, "z": {"method": "delong"}}.items()
    }
    assert 0.03 < share["t"].mean() < 0.075
    assert share["z"].mean() > share["t"].mean() + 0.01


def test_all_permutations_of_four_labels_by_hand(frame):
    table = rf.auc_test(frame(PREDICTIONS), "label", "score", method="permutation")
    # Margins 3, 0, 0, -3: two of them add up to 3, 3, 0, 0, -3, -3. The area's variance is 2/3 of
    # 3² over (2·4)², the mean of their squares.
    se = math.sqrt((4 * 9 / 6) / 64)
    expected = (0.875, 4 / 6, 4 / 6, 0.5, se, 0.375 / se, None, 2, 2, 0, "permutation_exact", None)
    expected = pl.DataFrame([expected], schema=SCHEMA, orient="row")
    assert_frame_equal(table.lazy().collect(), expected, rel_tol=1e-14)
    rows = pl.DataFrame(PREDICTIONS)
    assert p_value(rows, "permutation", alternative="greater") == pytest.approx(2 / 6, abs=1e-15)
    assert p_value(rows, "permutation", alternative="less") == 1


def test_an_undefined_group_has_a_note_and_does_not_change_others(frame):
    rows = {
        "g": ["a", "b", "b", "c", "c", "c", "d", "d", "e", "e", "e", "e"],
        "label": [None, 1, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0],
        "score": [0.5, 0.2, 0.3, 0.8, 0.1, 0.2, 0.5, 0.5, 0.9, 0.7, 0.7, 0.1],
    }
    alone = p_value(pl.DataFrame(PREDICTIONS), "delong")
    options = {"by": "g", "missing": "drop", "method": "delong"}
    table = rf.auc_test(frame(rows), "label", "score", **options).lazy().collect()
    assert table.drop("n_missing", "null", "se", "statistic", "df").rows() == [
        ("a", None, None, None, 0, 0, "delong", "no_rows"),
        ("b", None, None, None, 2, 0, "delong", "no_negatives"),
        ("c", 1.0, None, None, 1, 2, "delong", "one_positive"),
        ("d", 0.5, None, None, 1, 1, "delong", "one_positive"),
        ("e", 0.875, alone, alone, 2, 2, "delong", "few_rows:2"),
    ]
    assert table["n_missing"].to_list() == [1, 0, 0, 0, 0]
    options |= {"method": "permutation"}
    table = rf.auc_test(frame(rows), "label", "score", adjust=None, **options).lazy().collect()
    assert table.drop("n_missing", "null", "se", "statistic", "df", "p_adjusted").rows() == [
        ("a", None, None, 0, 0, "permutation", "no_rows"),
        ("b", None, None, 2, 0, "permutation", "no_negatives"),
        ("c", 1.0, pytest.approx(2 / 3), 1, 2, "permutation_exact", None),
        ("d", 0.5, 1.0, 1, 1, "permutation", "zero_variance"),
        ("e", 0.875, pytest.approx(4 / 6), 2, 2, "permutation_exact", None),
    ]


@every_alternative
def test_without_variance_p_is_1_if_the_area_equals_null_and_null_otherwise(alternative):
    perfect = pl.DataFrame({"label": [1, 1, 0, 0], "score": [4, 3, 2, 1]})
    constant = perfect.with_columns(score=pl.lit(1))

    def delong(rows, **options):
        options = {"method": "delong", "alternative": alternative} | options
        table = rf.auc_test(rows, "label", "score", **options)
        return table.select("auc", "se", "statistic", "p_value", "test", "note").row(0)

    assert delong(perfect) == (1.0, None, None, None, "delong", "zero_variance")
    assert delong(constant) == (0.5, None, 0.0, 1.0, "delong", "zero_variance")
    assert delong(constant, null=0.6) == (0.5, None, None, None, "delong", "zero_variance")
    ranked = delong(constant, method="mann_whitney")
    assert ranked == (0.5, None, 0.0, 1.0, "mann_whitney", "zero_variance")
    weighted = constant.with_columns(w=pl.Series([0.1, 0.7, 0.3, 1.9]))
    assert delong(weighted, weight="w") == (0.5, None, 0.0, 1.0, "delong", "zero_variance")
    assert delong(constant, method="delong_t") == (0.5, None, 0.0, 1.0, "delong_t", "zero_variance")


def test_the_default_is_mann_whitney_against_chance_and_delong_otherwise(frame):
    rows = PREDICTIONS | {"score": [4, 3, 2, 1], "w": [1.0] * 4, "user": [1, 2, 3, 4]}

    def default(**options):
        table = rf.auc_test(frame(rows), "label", "score", **options).lazy().collect()
        return table.select("p_value", "test", "note").row(0)

    # Under DeLong's method perfect separation has no p-value.
    x, y = [4, 3], [2, 1]
    options = {"method": "asymptotic", "use_continuity": False}
    assert default() == (pytest.approx(mannwhitneyu(x, y, **options).pvalue), "mann_whitney", None)
    assert default(missing="drop")[1] == "mann_whitney"
    for options in ({"null": 0.6}, {"weight": "w"}, {"cluster": "user"}, {"missing": "worst"}):
        assert default(**options) == (None, "delong_t", "zero_variance")


def test_the_default_rejects_random_scores_of_ten_rows_per_class_at_the_nominal_rate():
    rng = np.random.default_rng(1)
    groups, size = 4_000, 20
    rows = pl.DataFrame(
        {
            "g": np.repeat(np.arange(groups), size),
            "label": np.tile(np.arange(size) < size / 2, groups),
            "score": rng.normal(size=groups * size),
        }
    )
    share = {
        method: (rf.auc_test(rows, "label", "score", by="g", method=method)["p_value"] <= 0.05)
        for method in (None, "delong")
    }
    assert share[None].mean() == pytest.approx(0.05, abs=0.01)
    assert share["delong"].mean() > 0.065


# Against others


@every_alternative
@pytest.mark.parametrize("decimals", [9, 1, 0])
def test_mann_whitney_is_that_of_scipy(alternative, decimals):
    for seed, size in enumerate([5, 12, 60, 400]):
        rows = some_rows(seed, size, decimals=decimals)
        scipy = mannwhitneyu(
            *sides(rows), alternative=alternative, method="asymptotic", use_continuity=False
        )
        found = p_value(rows, "mann_whitney", alternative=alternative)
        assert found == pytest.approx(scipy.pvalue, rel=1e-9)


@every_alternative
def test_all_permutations_are_those_of_scipy(alternative):
    for seed, size in enumerate([4, 7, 10, 14]):
        rows = some_rows(seed, size)
        x, y = sides(rows)
        found = p_value(rows, "permutation", alternative=alternative)
        exact = mannwhitneyu(x, y, alternative=alternative, method="exact").pvalue
        assert found == pytest.approx(exact, rel=1e-12)
        scipy = permutation_test(
            (x, y), area, vectorized=True, n_resamples=10_000, alternative=alternative
        )
        assert found == pytest.approx(min(1, scipy.pvalue), rel=1e-12)


@every_alternative
@pytest.mark.parametrize("decimals", [1, 0])
def test_exact_p_values_of_tied_scores_equal_enumeration(alternative, decimals):
    for seed, size in enumerate([3, 6, 8, 9]):
        rows = some_rows(seed, size, decimals=decimals)
        expected = enumerated(rows, alternative)
        assert p_value(rows, "permutation", alternative=alternative) == pytest.approx(
            float(expected), rel=1e-14
        )
        flipped = rows.with_columns(~pl.col("label"), -pl.col("score"))
        assert p_value(flipped, "permutation", alternative=alternative) == pytest.approx(
            float(expected), rel=1e-14
        )


@every_alternative
@pytest.mark.parametrize(
    ("size", "decimals", "positives"),
    [(45, 9, 15), (300, 0, 100), (300, 9, 5), (300, 9, 290)],
    ids=["row by row", "step by step", "few positives", "few negatives"],
)
def test_random_permutations_approximate_the_exact_p_value(alternative, size, decimals, positives):
    rng = np.random.default_rng(size + positives)
    rows = some_rows(1, size, decimals=decimals, better=0.0)
    rows = rows.with_columns(label=pl.Series(rng.permutation(np.arange(size) < positives)))
    rows = rows.with_columns(score=pl.col("score") + 0.3 * pl.col("label"))
    scipy = mannwhitneyu(
        *sides(rows), alternative=alternative, method="asymptotic", use_continuity=False
    ).pvalue
    found = p_value(rows, "permutation", alternative=alternative, n_perm=10_000, seed=1)
    assert found == pytest.approx(scipy, abs=4 * math.sqrt(scipy * (1 - scipy) / 10_000) + 0.006)


def test_the_delong_statistic_is_the_difference_in_standard_errors():
    rows = some_rows(3, 90)
    x, y = sides(rows)
    won = (x[:, None] > y) * 0.5 + (x[:, None] >= y) * 0.5
    v10, v01 = won.mean(axis=1), won.mean(axis=0)
    se = math.sqrt(v10.var(ddof=1) / len(x) + v01.var(ddof=1) / len(y))
    for null in (0.5, 0.8):
        z = (v10.mean() - null) / se
        expected = {"two-sided": 2 * norm.sf(abs(z)), "greater": norm.sf(z), "less": norm.cdf(z)}
        for alternative, p in expected.items():
            found = p_value(rows, "delong", null=null, alternative=alternative)
            assert found == pytest.approx(p, rel=1e-10)


# Symmetries


@examples(1 / 2)
@given(tables(shape=TIED), st.sampled_from(METHODS), st.integers(0, 9))
def test_row_order_and_other_groups_do_not_change_the_result(table, method, seed):
    options = {"method": method, "n_perm": 50, "seed": 1, "adjust": None}
    tests = rf.auc_test(table, "label", "score", by="group", **options)
    again = rf.auc_test(shuffled(table, seed), "label", "score", by="group", **options)
    assert_frame_equal(tests, again, check_exact=True)
    for part in table.partition_by("group"):
        alone = rf.auc_test(part, "label", "score", by="group", **options)
        same = tests.filter(pl.col("group").eq_missing(part["group"][0]))
        assert_frame_equal(alone, same, check_exact=True)


@examples(1 / 2)
@given(tables(shape=TIED, mass={"count": COUNTS}), st.sampled_from(METHODS))
def test_a_count_equals_that_many_rows_with_the_same_seed(table, method):
    options = {"by": "group", "method": method, "n_perm": 30, "seed": 2}
    counted = rf.auc_test(table, "label", "score", count="count", **options)
    written = repeated(table, "count")
    expected = rf.auc_test(written, "label", "score", **options)
    # Groups without remaining rows are still in the result.
    left = counted.filter(pl.col("group").is_in(written["group"].unique(), nulls_equal=True))
    assert_frame_equal(left.drop("p_adjusted"), expected.drop("p_adjusted"), check_exact=True)


AREA_NAMES = ["group", "n_pos", "n_neg", "n_missing", "auc", "se", "note"]


def with_few_rows(areas: pl.DataFrame) -> pl.DataFrame:
    """Add the note about classes with fewer than 10 rows where the area has no note."""
    smaller = pl.min_horizontal("n_pos", "n_neg")
    few = pl.when(smaller < 10).then(pl.format("few_rows:{}", smaller))
    return areas.with_columns(pl.coalesce("note", few).alias("note"))


@examples(1 / 2)
@given(tables(shape=TIED, mass={"w": ANY_WEIGHTS}))
def test_delong_takes_weights_and_has_the_standard_error_of_auc(table):
    tests = rf.auc_test(table, "label", "score", by="group", weight="w")
    areas = rf.auc(table, "label", "score", by="group", weight="w")
    assert_frame_equal(tests.select(AREA_NAMES), with_few_rows(areas).select(AREA_NAMES))


@given(tables(shape=TIED, missing=True))
def test_an_unscored_row_loses_all_its_pairs_under_worst(table):
    tests = rf.auc_test(table, "label", "score", by="group", missing="worst")
    areas = rf.auc(table, "label", "score", by="group", missing="worst")
    assert_frame_equal(tests.select(AREA_NAMES), with_few_rows(areas).select(AREA_NAMES))


@given(tables(shape=TIED))
def test_one_sided_p_values_add_up_to_1_plus_the_share_of_ties(table):
    def exact(alternative):
        options = {"method": "permutation", "n_perm": 10**6, "alternative": alternative}
        return rf.auc_test(table.head(12), "label", "score", **options)["p_value"].item()

    if (two := exact("two-sided")) is not None:
        assert exact("greater") + exact("less") >= 1
        assert two >= min(exact("greater"), exact("less"))


def test_a_seed_gives_the_same_p_values_on_any_number_of_threads(monkeypatch):
    rows = some_rows(5, 400, better=0.1).with_columns(g=pl.int_range(pl.len()) % 3)
    options = {"by": "g", "method": "permutation", "n_perm": 5_000}
    first = rf.auc_test(rows, "label", "score", seed=1, **options)
    monkeypatch.setattr("rocframe.kernel.arrays.count_workers", lambda: 1)
    assert_frame_equal(rf.auc_test(rows, "label", "score", seed=1, **options), first)
    other = rf.auc_test(rows, "label", "score", seed=2, **options)
    assert other["p_value"].to_list() != first["p_value"].to_list()


def test_p_values_of_random_permutations_are_never_zero():
    rows = some_rows(5, 400, better=5)
    assert p_value(rows, "permutation", n_perm=99) == 1 / 100


@pytest.mark.slow
@every_method
def test_a_random_model_is_rejected_at_the_nominal_rate(method):
    rng = np.random.default_rng(11)
    groups, size = 600, 60
    rows = pl.DataFrame(
        {
            "g": np.repeat(np.arange(groups), size),
            "label": np.tile(np.arange(size) % 3 == 0, groups),
            "score": rng.integers(0, 30, groups * size),
        }
    )
    options = {"by": "g", "method": method, "n_perm": 199, "seed": 1}
    p = rf.auc_test(rows, "label", "score", **options)["p_value"]
    share = (p <= 0.1).mean()
    assert share == pytest.approx(0.1, abs=0.045)


# Adjusting


def test_p_values_are_adjusted_over_all_groups_and_models(frame):
    rows = some_rows(1, 300, better=0.3).with_columns(
        g=pl.int_range(pl.len()) % 4, other=-pl.col("score")
    )
    table = rf.auc_test(
        frame(rows.to_dict()), "label", ["score", "other"], by="g", adjust="holm"
    ).lazy()
    table = table.collect()
    p = sorted(table["p_value"])
    result = np.maximum.accumulate([min(1, one * (8 - i)) for i, one in enumerate(p)])
    np.testing.assert_allclose(sorted(table["p_adjusted"]), result, rtol=1e-14)
    none = rf.auc_test(rows, "label", "score", by="g", adjust=None)
    assert none["p_adjusted"].to_list() == none["p_value"].to_list()


def test_a_group_of_ten_billion_rows_has_a_p_value(frame):
    rows = {"label": [1, 0, 1, 0], "score": [4, 3, 2, 1], "n": [10**10] * 4}
    limit = rf.auc_test(frame(rows), "label", "score", count="n", method="mann_whitney")
    assert limit.lazy().collect()["p_value"].item() == 0
