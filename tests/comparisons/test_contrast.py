"""`contrast`: exact fractions, published numbers, and coefficients."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal
from scipy import stats

import rocframe as rf
from tests.comparisons.auc_oracle import Exact, logs
from tests.comparisons.tables import (
    CLASSES,
    DELONG,
    MARKERS,
    MASSES,
    PARTS,
    PERFECT,
    bh,
    holm,
    long,
    near,
    row,
    simulated,
)
from tests.strategies import examples

COLUMNS = [
    *("p_value", "p_adjusted", "statistic", "df", "df_denominator"),
    *("n_models", "n_paired", "n_pos", "n_neg", "test", "note"),
]


def test_three_models_of_four_rows_by_hand(frame):
    predictions = frame(
        {"label": [1, 1, 0, 0], "a": [0.9, 0.3, 0.3, 0.1], "b": [2, 3, 3, 0], "c": [4, 1, 3, 2]}
    )
    areas = np.array([7 / 8, 5 / 8, 1 / 2])
    # Placements of the two positives, and of the two negatives, under each model.
    pos = np.array([[1, 3 / 4], [1 / 2, 3 / 4], [1, 0]])
    neg = np.array([[3 / 4, 1], [1 / 4, 1], [1 / 2, 1 / 2]])
    matrix = (np.cov(pos) + np.cov(neg)) / 2
    contrast = np.array([[1, -1, 0], [0, 1, -1]])
    value = contrast @ areas
    statistic = value @ np.linalg.solve(contrast @ matrix @ contrast.T, value)
    expected = pl.DataFrame(
        {
            "p_value": [stats.chi2.sf(statistic, 2)],
            "p_adjusted": [stats.chi2.sf(statistic, 2)],
            "statistic": [statistic],
            "df": [2.0],
            "df_denominator": pl.Series([None], dtype=pl.Float64),
            "n_models": [3],
            "n_paired": [4],
            "n_pos": [2],
            "n_neg": [2],
            "test": ["delong"],
            "note": ["few_rows:2"],
        }
    )
    found = rf.contrast(predictions, "label", ["a", "b", "c"], method="delong")
    assert statistic == near(13.0)
    assert_frame_equal(found, frame(expected), rel_tol=1e-12, abs_tol=0)
    assert list(found.lazy().collect_schema()) == COLUMNS


WAYS = {
    "all alike": None,
    "two from the third": [{"alb": 1, "totscore": -1}, {"tp": 1, "totscore": -1}],
    "other sums of the same": [
        {"alb": 3, "totscore": -1.5, "tp": -1.5},
        {"totscore": 0.1, "tp": -0.1},
    ],
    "one said twice": [{"alb": 1, "totscore": -1}, {"tp": 1, "totscore": -1}, {"alb": 1, "tp": -1}],
}


@pytest.mark.parametrize("coefficients", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("shape", ["side by side", "one below the other"])
def test_delong_1988_three_markers_do_not_differ_significantly(shape, coefficients):
    rows = pl.DataFrame(DELONG["rows"], orient="row", schema=DELONG["columns"])
    if shape == "side by side":
        table = rf.contrast(rows, "popind", MARKERS, coefficients=coefficients, method="delong")
    else:
        melted = rows.with_row_index("patient").unpivot(
            MARKERS, index=["patient", "popind"], variable_name="marker", value_name="value"
        )
        table = rf.contrast(
            melted,
            "popind",
            "value",
            between="marker",
            id="patient",
            coefficients=coefficients,
            method="delong",
        )
    found, published = row(table), DELONG["contrast"]
    assert (found["n_models"], found["n_paired"], found["df"]) == (3, 43, published["df"])
    assert found["statistic"] == near(published["statistic"], 1e-11)
    assert found["p_value"] == near(published["p_value"], 1e-11)
    # As SAS prints them.
    assert (round(found["statistic"], 3), round(found["p_value"], 4)) == (2.534, 0.2817)


@pytest.mark.parametrize("marker", ["alb", "tp"])
def test_delong_1988_a_single_difference_is_its_square(marker):
    rows = pl.DataFrame(DELONG["rows"], orient="row", schema=DELONG["columns"])
    for factor in (1, -2.5, np.float32(1e-3), 10**6):
        coefficients = {marker: factor, "totscore": -factor}
        options = {"coefficients": coefficients, "method": "delong"}
        found = row(rf.contrast(rows, "popind", MARKERS, **options))
        published = DELONG["minus_totscore"][marker]
        assert found["df"] == 1
        assert found["statistic"] == near(published["chi_squared"], 1e-10)
        assert found["p_value"] == near(published["p_value"], 1e-11)


def test_a_class_in_one_cluster_has_a_note_and_no_warning():
    scores = {"a": [0, 1, 1, 0, 1, 1], "b": [0] * 6, "c": [0, 0, 0, 0, 1, 0]}
    table = pl.DataFrame({"label": [1, 1, 0, 0, 0, 1], **scores, "user": ["u"] * 6})
    found = row(rf.contrast(table, "label", ["a", "b", "c"], cluster="user", tpr=(0.5, 1)))
    assert found["statistic"] is None
    assert found["note"] == "one_positive"


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("options", MASSES.values(), ids=MASSES)
def test_statistics_are_those_of_the_formula(part, options):
    where, area_options = part

    @examples(1 / 4)
    @given(logs(*options.values(), models="abc", min_size=6, max_size=10))
    def check(table: pl.DataFrame) -> None:
        exact = Exact(table, "abc", where, options.get("cluster"))
        options_of_test = {"method": "delong", **area_options, **options}
        found = row(rf.contrast(table, "label", ["a", "b", "c"], **options_of_test))
        if found["note"] in {"one_positive", "one_negative"}:  # as many clusters
            assert found["statistic"] is None
            return
        expected = exact.chi_squared([[1, -1, 0], [0, 1, -1]])
        if expected is None:
            assert found["df"] is None or found["df"] < 2
            return
        # Near a singular matrix, the rounding of its elements weighs.
        own = np.array([[float(exact.covariance(a, b)) for a in "abc"] for b in "abc"])
        pairs = np.array([[1, -1, 0], [0, 1, -1]])
        condition = np.linalg.cond(pairs @ own @ pairs.T)
        if condition < 1e6:
            assert found["df"] == 2
            assert found["statistic"] == pytest.approx(float(expected), rel=1e-13 * condition)
            assert found["p_value"] == pytest.approx(
                stats.chi2.sf(float(expected), 2), rel=1e-6, abs=1e-300
            )

    check()


def test_the_f_test_is_that_of_krishnamoorthy_and_yu():
    table = simulated(3, rows=30)
    found = row(rf.contrast(table, "label", ["a", "b", "c"]))
    contrast = np.array([[1, -1, 0], [1, 0, -1]])
    matrices = []
    pos, neg = (table.filter(label=side).select("a", "b", "c").to_numpy() for side in (True, False))
    wins = (pos[:, None] > neg) + (pos[:, None] == neg) / 2
    sizes = len(pos), len(neg)
    for axis, n in ((1, sizes[0]), (0, sizes[1])):
        matrices.append(np.cov((wins.mean(axis=axis) @ contrast.T).T) / n)
    values = contrast @ wins.mean(axis=(0, 1))
    inverse = np.linalg.inv(matrices[0] + matrices[1])
    t_squared, q, terms = values @ inverse @ values, 2, 0.0
    for matrix, n in zip(matrices, sizes, strict=True):
        share = matrix @ inverse
        terms += (np.trace(share @ share) + np.trace(share) ** 2) / (n - 1)
    nu = (q + q**2) / terms
    f = (nu - q + 1) / (nu * q) * t_squared
    assert found["statistic"] == near(f, 1e-11)
    assert (found["df"], found["df_denominator"]) == (q, near(nu - q + 1, 1e-11))
    assert found["p_value"] == near(stats.f.sf(f, q, nu - q + 1), 1e-11)
    assert (found["n_pos"], found["n_neg"], found["test"]) == (*sizes, "delong_f")


def test_the_note_states_that_a_class_is_too_small_for_the_number_of_models():
    label = [True] * 5 + [False] * 20
    scores = np.random.default_rng(1).normal(size=(4, 25)) + label
    table = pl.DataFrame({"label": label, **dict(zip("abcd", scores, strict=True))})
    notes = [rf.contrast(table, "label", [*models])["note"].item() for models in ("abc", "abcd")]
    assert notes == [None, "few_rows:5"]
    assert rf.contrast(table[1:], "label", [*"abc"])["note"].item() == "few_rows:4"
    assert rf.compare(table[1:], "label", [*"ab"])["note"].item() is None
    assert rf.compare(table[2:], "label", [*"ab"])["note"].item() == "few_rows:3"


def test_the_statistic_of_two_models_is_the_square_of_that_of_compare():
    table = simulated(1, groups=4)
    for options in ({}, {"fpr": (0, 0.3)}, {"tpr": (0.5, 1), "standardize": "mcclish"}):
        pairs = rf.compare(table, "label", ["a", "b"], by="g", adjust=None, **options)
        found = rf.contrast(table, "label", ["a", "b"], by="g", adjust=None, **options)
        assert found["statistic"].to_list() == [near(z**2, 1e-10) for z in pairs["statistic"]]
        assert found["p_value"].to_list() == [near(p, 1e-9) for p in pairs["p_value"]]
        assert found["df"].to_list() == [1.0] * 4


def test_one_contrast_of_several_models_has_one_degree_of_freedom():
    table = simulated(2)
    matrix = rf.auc_covariance(table, "label", [*"abc"])
    weights = np.array([1, -0.5, -0.5])
    areas = matrix["auc_b"].to_numpy()[:3]
    variance = weights @ matrix["covariance"].to_numpy().reshape(3, 3) @ weights
    found = row(rf.contrast(table, "label", [*"abc"], coefficients={"a": 1, "b": -0.5, "c": -0.5}))
    assert found["df"] == 1
    assert found["statistic"] == near((weights @ areas) ** 2 / variance, 1e-10)


def test_coefficients_add_up_to_0_within_rounding_errors():
    third = {"a": 1, "b": -1 / 3, "c": -2 / 3}
    assert rf.contrast(simulated(3), "label", [*"abc"], coefficients=third)["df"].item() == 1


def test_the_scale_of_coefficients_changes_nothing():
    expected = rf.contrast(simulated(3), "label", [*"abc"], coefficients={"a": 1, "b": -1})
    for scale in (1e-5, 1e-200, 1e100):
        given = {"a": scale, "b": -scale}
        found = rf.contrast(simulated(3), "label", [*"abc"], coefficients=given)
        assert_frame_equal(found, expected, rel_tol=1e-12)


def test_almost_equal_models_have_the_statistic_of_compare():
    rng = np.random.default_rng(1)
    rank = np.arange(40_000)
    label = rng.random(40_000) < 0.5
    other = rank.copy()
    for place in rng.integers(0, 39_999, 12):
        other[[place, place + 1]] = other[[place + 1, place]]
    table = pl.DataFrame({"label": label, "a": rank, "b": other})
    pair = row(rf.compare(table, "label", ["a", "b"]))
    found = row(rf.contrast(table, "label", ["a", "b"]))
    assert abs(pair["difference"]) > 0
    assert found["statistic"] == near(pair["statistic"] ** 2, 1e-9)


def test_models_with_the_same_order_of_rows_have_no_degrees_of_freedom():
    table = simulated(4).with_columns(b=pl.col("a") * 2, c=pl.col("a").exp())
    found = row(rf.contrast(table, "label", ["a", "b", "c"]))
    columns = ["statistic", "df", "p_value", "note"]
    assert [found[name] for name in columns] == [0, 0, 1, "zero_variance"]
    assert row(rf.compare(table, "label", ["a", "b"]))["note"] == "zero_variance"
    found = row(rf.contrast(table.with_columns(c=simulated(4)["c"]), "label", ["a", "b", "c"]))
    pair = row(rf.compare(simulated(4), "label", ["a", "c"]))
    assert found["df"] == 1
    assert found["statistic"] == near(pair["statistic"] ** 2, 1e-10)


def test_areas_of_1_have_the_note_of_compare():
    separated = np.arange(6) >= 3
    scores = {"a": [0, 1, 2, 3, 4, 5], "b": [2, 1, 0, 3, 4, 9], "c": [0, 0, 0, 7, 8, 7]}
    table = pl.DataFrame({"label": separated, **scores})
    found = row(rf.contrast(table, "label", [*"abc"]))
    columns = ["statistic", "df", "p_value", "note"]
    assert [found[name] for name in columns] == [0, 0, 1, "zero_variance"]
    assert set(rf.compare(table, "label", [*"abc"])["note"]) == {"zero_variance"}


@pytest.mark.parametrize(
    ("n", "options", "note"), [(60, {"cluster": "c"}, "few_rows:5"), (6, {}, "few_rows:3")]
)
def test_too_few_rows_or_clusters_for_the_number_of_models_have_a_null_p_value(n, options, note):
    rng = np.random.default_rng(0)
    models = [f"m{i}" for i in range(7)]
    table = pl.DataFrame(
        {"label": np.arange(n) % 2, "c": np.arange(n) // 2 % 5}
        | {model: rng.random(n) for model in models}
    )
    found = row(rf.contrast(table, "label", models, **options))
    columns = ["statistic", "df", "p_value", "note"]
    assert [found[name] for name in columns] == [None, None, None, note]
    # With two of the models, a test exists.
    assert row(rf.contrast(table, "label", models[:2], **options))["df"] == 1


def test_a_nonzero_contrast_without_variance_is_null():
    table = PERFECT.with_columns(c=pl.Series([4, 1, 3, 2]))
    found = row(rf.contrast(table, "label", ["a", "b", "c"]))
    assert [found[name] for name in ("statistic", "df", "p_value", "p_adjusted")] == [None] * 4
    assert found["note"] == "zero_variance"
    # What has variance is tested still.
    assert row(rf.contrast(table, "label", ["a", "c"]))["df"] == 1


def test_a_contrast_whose_variance_is_a_rounding_error_has_variance_0():
    label = [1] * 10 + [0] * 9
    scores = np.random.default_rng(2).integers(0, 9, 19)
    table = pl.DataFrame({"label": label, "a": scores, "r": -scores, "one": label, "k": 0})
    # The AUCs of a and r add up to 1, so this contrast is -0.2 in all samples.
    coefficients = {"a": 0.3, "r": 0.3, "one": -0.4, "k": -0.2}
    found = row(rf.contrast(table, "label", [*coefficients], coefficients=coefficients))
    assert [found[name] for name in ("statistic", "df", "p_value", "p_adjusted")] == [None] * 4
    assert found["note"] == "zero_variance"


def test_two_changes_of_different_rows_have_an_interaction_without_degrees_of_freedom():
    rng = np.random.default_rng(3)
    for n_pos, n_neg in ((8, 8), (22, 29), (29, 18)):
        neither = rng.permutation(n_pos + n_neg)
        middle = (n_pos + n_neg) // 2
        low, high = (np.flatnonzero((neither < middle) == is_low) for is_low in (True, False))
        changed_low, changed_high, both = neither.copy(), neither.copy(), neither.copy()
        changed_low[low] = both[low] = rng.permutation(neither[low])
        changed_high[high] = both[high] = rng.permutation(neither[high])
        table = pl.DataFrame(
            {
                "label": [1] * n_pos + [0] * n_neg,
                "a": changed_low,
                "b": changed_high,
                "c": both,
                "d": neither,
            }
        )
        interaction = {"a": 1, "b": 1, "c": -1, "d": -1}
        found = row(rf.contrast(table, "label", [*interaction], coefficients=interaction))
        columns = ["statistic", "df", "p_value", "note"]
        assert [found[name] for name in columns] == [0, 0, 1, "zero_variance"]


@pytest.mark.parametrize(("note", "label"), CLASSES.items())
def test_a_group_with_too_few_rows_of_a_class_is_null_with_a_note(frame, note, label):
    numbers = pl.Series(range(len(label)), dtype=pl.Int64)
    columns = {"label": pl.Series(label, dtype=pl.Int64), "a": numbers, "b": -numbers}
    found = row(rf.contrast(frame(columns), "label", ["a", "b"]).lazy().collect())
    assert (found["n_models"], found["n_paired"], found["note"]) == (2, len(label), note)
    assert [found[name] for name in ("statistic", "df", "p_value", "p_adjusted")] == [None] * 4


def test_a_group_without_rows_of_a_model_of_the_contrast_is_null():
    table = simulated(5, groups=3)
    rows = long(table).filter((pl.col("g") != 1) | (pl.col("model") != "c"))
    options = {"by": "g", "id": "id", "adjust": None}
    whole = rf.contrast(rows, "label", "score", **options)
    assert whole.select("n_models", "df", "note").rows() == [
        (3, 2, None),
        (2, 1, None),
        (3, 2, None),
    ]
    for coefficients, note in (({"a": 1, "c": -1}, "no_rows"), ({"a": 1, "b": -1}, None)):
        found = rf.contrast(rows, "label", "score", coefficients=coefficients, **options)
        assert found["note"].to_list() == [None, note, None]
        assert (found["p_value"][1] is None) == (note is not None)


@pytest.mark.parametrize(("adjust", "formula"), [("holm", holm), ("bh", bh), (None, list)])
def test_p_values_are_adjusted_over_all_groups(adjust, formula):
    table = simulated(6, groups=6).with_columns(label=pl.col("label") & (pl.col("g") != 2))
    found = rf.contrast(table, "label", [*"abc"], by="g", adjust=adjust)
    assert found["p_adjusted"][2] is None
    defined = found.filter(pl.col("g") != 2)
    assert defined["p_adjusted"].to_list() == [
        near(p) for p in formula(defined["p_value"].to_list())
    ]


@pytest.mark.parametrize("by", [None, "g"])
@pytest.mark.parametrize("coefficients", [None, {"a": 1, "b": -1}])
def test_an_empty_table_returns_null_tests_or_no_rows(frame, by, coefficients):
    options = {"by": by, "coefficients": coefficients}
    kinds = {"label": pl.Boolean, "g": pl.String, "a": pl.Float64, "b": pl.Float64}
    found = rf.contrast(frame(schema=kinds), "label", ["a", "b"], **options).lazy().collect()
    assert found.select("n_models", "n_paired", "note").rows() == (
        [] if by else [(2, 0, "no_rows")]
    )
    kinds |= {"model": pl.String, "id": pl.Int64}
    found = rf.contrast(frame(schema=kinds), "label", "a", id="id", **options).lazy().collect()
    assert found.select("n_models", "n_paired", "note").rows() == (
        [] if by else [(0, 0, "no_rows")]
    )
    assert found.columns == [*([by] if by else []), *COLUMNS]


def test_a_single_model_has_no_contrast():
    found = row(rf.contrast(long(simulated(10), "a"), "label", "score", id="id"))
    assert (found["n_models"], found["p_value"], found["note"]) == (1, None, None)


def test_a_true_null_hypothesis_is_rejected_at_the_nominal_rate():
    table = simulated(11, rows=100, groups=500)
    found = rf.contrast(table, "label", [*"abc"], by="g", adjust=None)
    share = (found["p_value"] <= 0.05).mean()
    assert 0.02 < share < 0.09
    assert found["df"].unique().to_list() == [2.0]
