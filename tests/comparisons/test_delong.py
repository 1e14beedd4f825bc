"""DeLong's tests: by hand, against exact fractions, and published numbers."""

from __future__ import annotations

from math import sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal
from scipy import stats

import rocframe as rf
from tests.comparisons.auc_oracle import Exact, logs
from tests.comparisons.tables import DELONG, MARKERS, MASSES, PARTS, long, near, row, simulated
from tests.strategies import examples

Z = stats.norm.ppf(0.975)


def test_two_models_of_five_rows_by_hand(frame):
    # Placements of the positives are 1, 1, 3/4 and 1/2, 1/2, 3/4; of the negatives 5/6, 1 and
    # 1/3·(1/2 + 0 + 0), 1. Differences: 1/2, 1/2, 0 and 2/3, 0.
    predictions = frame(
        {"label": [1, 1, 1, 0, 0], "a": [0.9, 0.8, 0.3, 0.3, 0.1], "b": [2, 2, 3, 3, 0]}
    )
    table = rf.compare(predictions, "label", ["a", "b"], method="delong")
    difference, se = 1 / 3, sqrt(1 / 12 / 3 + 2 / 9 / 2)
    expected = pl.DataFrame(
        {
            "model_a": ["a"],
            "model_b": ["b"],
            "difference": [difference],
            "lower": [difference - Z * se],
            "upper": [1.0],  # clipped
            "p_value": [2 * stats.norm.sf(difference / se)],
            "p_adjusted": [2 * stats.norm.sf(difference / se)],
            "se": [se],
            "statistic": [difference / se],
            "df": pl.Series([None], dtype=pl.Float64),
            "auc_a": [11 / 12],
            "auc_b": [7 / 12],
            "n_paired": [5],
            "n_pos": [3],
            "n_neg": [2],
            "ci_level": [0.95],
            "test": ["delong"],
            "note": ["few_rows:2"],
        }
    )
    assert_frame_equal(table, frame(expected), rel_tol=1e-14, abs_tol=0)
    # By default, the same statistic has a t distribution, with 2 and 1 df for the two variances.
    df = se**4 / ((1 / 12 / 3) ** 2 / 2 + (2 / 9 / 2) ** 2 / 1)
    p_value = 2 * stats.t.sf(difference / se, df)
    expected = expected.with_columns(
        lower=difference - stats.t.ppf(0.975, df) * se,
        p_value=p_value,
        p_adjusted=p_value,
        df=df,
        test=pl.lit("delong_t"),
    ).with_columns(pl.col("lower").clip(-1))
    table = rf.compare(predictions, "label", ["a", "b"])
    assert_frame_equal(table, frame(expected), rel_tol=1e-13, abs_tol=0)


@pytest.mark.parametrize("way", ["side by side", "one below the other"])
def test_delong_1988_the_differences_from_the_krebs_goldberg_score(way):
    rows = pl.DataFrame(DELONG["rows"], orient="row", schema=DELONG["columns"])
    if way == "side by side":
        table = rf.compare(rows, "popind", MARKERS, baseline="totscore", method="delong")
    else:
        melted = rows.with_row_index("patient").unpivot(
            MARKERS, index=["patient", "popind"], variable_name="marker", value_name="value"
        )
        mixed = melted.sample(fraction=1, shuffle=True, seed=1)
        options = {"between": "marker", "id": "patient", "method": "delong"}
        table = rf.compare(mixed, "popind", "value", baseline="totscore", **options)
    assert table["model_a"].to_list() == ["totscore", "totscore"]
    for marker in ("alb", "tp"):
        found, published = row(table, model_b=marker), DELONG["minus_totscore"][marker]
        assert found["n_paired"] == 43
        assert -found["difference"] == near(published["difference"], 1e-13)
        assert found["se"] == near(published["se"], 1e-13)
        assert (-found["upper"], -found["lower"]) == (
            near(published["lower"]),
            near(published["upper"]),
        )
        assert found["statistic"] ** 2 == near(published["chi_squared"])
        assert found["p_value"] == near(published["p_value"], 1e-12)


@given(table=logs(models="abc"))
def test_differences_are_those_over_all_pairs_of_rows(table):
    exact = Exact(table, "abc")
    found = rf.compare(table, "label", ["b", "c", "a"], method="delong")
    n_pos = table["label"].sum()
    n_smaller = min(n_pos, table.height - n_pos)
    assert found.select("n_pos", "n_neg").unique().row(0) == (n_pos, table.height - n_pos)
    assert found.select("model_a", "model_b").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    for line in found.iter_rows(named=True):
        a, b = line["model_a"], line["model_b"]
        difference, variance = exact.area[a] - exact.area[b], exact.variance(a, b)
        # Correctly rounded, one division each.
        assert (line["auc_a"], line["auc_b"]) == (float(exact.area[a]), float(exact.area[b]))
        assert line["difference"] == near(float(difference), 1e-15)
        if variance == 0:
            undefined = ["se", "lower", "upper"] + ["statistic"] * (difference != 0)
            assert {line[name] for name in undefined} == {None}
            assert line["p_value"] == (1.0 if difference == 0 else None)
            assert line["note"] == "zero_variance"
            continue
        se = exact.se(a, b)
        assert line["se"] == near(se)
        assert line["statistic"] == near(float(difference) / se)
        assert line["p_value"] == near(2 * stats.norm.sf(abs(float(difference)) / se), 1e-11)
        assert line["lower"] == near(max(float(difference) - Z * se, -1))
        assert line["upper"] == near(min(float(difference) + Z * se, 1))
        assert line["note"] == (f"few_rows:{n_smaller}" if n_smaller < 4 else None)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("options", MASSES.values(), ids=MASSES)
def test_standard_errors_and_degrees_of_freedom_are_those_of_the_formula(part, options):
    where, area_options = part
    name = "partial_auc" if area_options else "auc"

    @examples(1 / 2)
    @given(logs(*options.values(), missing="cluster" not in options))
    def check(table: pl.DataFrame) -> None:
        exact = Exact(table, "ab", where, options.get("cluster"))
        found = row(
            rf.compare(table, "label", ["a", "b"], missing="worst", **area_options, **options)
        )
        assert found[f"{name}_a"] == near(float(exact.area["a"]))
        assert found[f"{name}_b"] == near(float(exact.area["b"]))
        if found["note"] in {"one_positive", "one_negative"}:  # as many clusters
            assert found["se"] is None
            return
        # Squares of numbers that are rounded at 1e-16 of the area are sure to 1e-28 only.
        variance = (found["se"] or 0) ** 2
        assert variance == pytest.approx(float(exact.variance("a", "b")), rel=1e-11, abs=1e-27)
        if variance > 1e-20:
            df, t = exact.df("a", "b"), found["statistic"]
            assert found["df"] == near(df, 1e-7)
            assert found["p_value"] == near(2 * stats.t.sf(abs(t), df), 1e-7)

    check()


def placement_variances(rows: pl.DataFrame, score: str) -> list[tuple[float, int]]:
    """Return the variance of the mean placement value of each class, and the size of the class."""
    pos, neg = (rows.filter(label=side)[score].to_numpy() for side in (True, False))
    wins = (pos[:, None] > neg) + (pos[:, None] == neg) / 2
    means = wins.mean(axis=1), wins.mean(axis=0)
    return [(values.var(ddof=1) / len(values), len(values)) for values in means]


def test_unpaired_degrees_of_freedom_are_from_the_four_classes_of_both_models():
    table = pl.concat(
        [
            simulated(4, 40).select("label", score="a", model=pl.lit("a")),
            simulated(5, 90).select("label", score="b", model=pl.lit("b")),
        ]
    )
    found = row(rf.compare(table, "label", "score", method="delong_t_unpaired"))
    parts = [
        part for model in "ab" for part in placement_variances(table.filter(model=model), "score")
    ]
    variance = sum(v for v, _ in parts)
    df = variance**2 / sum(v**2 / (n - 1) for v, n in parts)
    difference = found["auc_a"] - found["auc_b"]
    assert found["se"] == near(sqrt(variance))
    assert found["df"] == near(df)
    assert found["p_value"] == near(2 * stats.t.sf(abs(difference) / sqrt(variance), df), 1e-11)
    # Of each class, the number of the model with fewer rows.
    n_pos = [n for _, n in parts[::2]]
    n_neg = [n for _, n in parts[1::2]]
    assert (found["n_pos"], found["n_neg"]) == (min(n_pos), min(n_neg))


def equal_models(n_pos: int, n_neg: int, models: int, groups: int) -> pl.DataFrame:
    """Return models with a true AUC of 0.7, whose scores have a correlation of 1/2 in a class."""
    rng = np.random.default_rng([n_pos, n_neg, models])
    label = np.tile(np.arange(n_pos + n_neg) < n_pos, groups)
    common, own = rng.normal(size=len(label)), rng.normal(size=(models, len(label)))
    mean = 2 * stats.norm.ppf(0.7)  # the standard deviation of a difference of two rows is 2
    scores = {f"m{i}": mean * label + common + own[i] for i in range(models)}
    group = np.repeat(np.arange(groups), n_pos + n_neg)
    return pl.DataFrame({"g": group, "label": label, **scores})


def rejections(tests: pl.DataFrame) -> float:
    """Return the percentage of p-values below 0.05."""
    return 100 * (tests["p_value"].fill_null(1) < 0.05).mean()


@pytest.mark.parametrize(("n_pos", "n_neg"), [(3, 27), (5, 95), (10, 90)])
def test_equal_models_are_rejected_at_the_nominal_rate_with_few_positives(n_pos, n_neg):
    table = equal_models(n_pos, n_neg, 4, 1500)
    options = {"by": "g", "adjust": None}
    pairs = rf.compare(table, "label", ["m0", "m1"], **options)
    assert 2.5 < rejections(pairs) < 6.5
    unpaired = rf.compare(table, "label", ["m0", "m1"], method="delong_t_unpaired", **options)
    assert rejections(unpaired) < 6.5
    together = rf.contrast(table, "label", ["m0", "m1", "m2", "m3"], **options)
    assert 1.5 < rejections(together) < 8
    # The normal and the chi-squared distributions reject too often.
    normal = rf.compare(table, "label", ["m0", "m1"], method="delong", **options)
    assert rejections(normal) > rejections(pairs) + 1
    chi_squared = rf.contrast(table, "label", ["m0", "m1", "m2", "m3"], method="delong", **options)
    assert rejections(chi_squared) > 9


@pytest.mark.parametrize("part", [{"fpr": (0, 0.3)}, {"tpr": (0.8, 1)}], ids=str)
def test_mcclish_scales_a_difference_and_its_error_alike(part):
    table = simulated(1)
    plain = row(rf.compare(table, "label", ["a", "b"], **part))
    scaled = row(rf.compare(table, "label", ["a", "b"], standardize="mcclish", **part))
    ((low, high),) = part.values()
    low, high = (low, high) if "fpr" in part else (1 - high, 1 - low)
    slope = 0.5 / (high - low - (high**2 - low**2) / 2)
    for name in ("difference", "se", "lower", "upper"):
        assert scaled[name] == near(slope * plain[name])
    assert scaled["p_value"] == near(plain["p_value"])
    alone = rf.auc(table, "label", ["a", "b"], standardize="mcclish", **part)
    assert (scaled["partial_auc_a"], scaled["partial_auc_b"]) == tuple(alone["partial_auc"])


@pytest.mark.parametrize(
    ("options", "largest"), [({}, 1.0), ({"fpr": (0, 0.5)}, 0.5), ({"tpr": (0.5, 1)}, 0.5)]
)
def test_limits_stay_within_the_range_of_differences(options, largest):
    table = pl.DataFrame({"label": [1, 1, 0, 0, 0], "a": [5, 4, 3, 2, 6], "b": [0, 2, 3, 2, 1]})
    found = row(rf.compare(table, "label", ["a", "b"], level=0.9999999, **options))
    assert (found["lower"], found["upper"]) == (-largest, largest)


def test_products_of_counts_beyond_64_bits_are_exact():
    table = pl.DataFrame(
        {
            "label": [1, 1, 1, 0, 0, 0],
            "a": [3, 2, 1, 2, 1, 0],
            "b": [3, 1, 2, 1, 1, 2],
            "count": [10**9, 7 * 10**8, 3, 10**9 + 7, 5, 4 * 10**8],
        }
    )
    exact = Exact(table, "ab")
    found = row(rf.compare(table, "label", ["a", "b"], count="count"))
    assert found["n_paired"] == table["count"].sum()
    assert found["auc_a"] == float(exact.area["a"])
    assert found["se"] == near(exact.se("a", "b"), 1e-14)


def test_the_areas_equal_those_of_auc_exactly():
    table = simulated(2, groups=3)
    found = rf.compare(table, "label", ["a", "b"], by="g")
    alone = rf.auc(table, "label", ["a", "b"], by="g")
    for model in "ab":
        areas = alone.filter(model=model)["auc"].to_list()
        assert found[f"auc_{model}"].to_list() == areas


# Rows of their own


def test_models_on_different_rows_are_compared_by_welchs_t():
    table = pl.concat(
        [
            simulated(4, 40).select("label", score="a", model=pl.lit("a")),
            simulated(5, 90).select("label", score="b", model=pl.lit("b")),
        ]
    )
    found = row(rf.compare(table, "label", "score", method="delong_unpaired", level=0.9))
    alone = rf.auc(table, "label", "score", by="model", ci="delong")
    own, other = alone["se"] ** 2
    df = (own + other) ** 2 / (own**2 / 39 + other**2 / 89)
    se = sqrt(own + other)
    difference = alone["auc"][0] - alone["auc"][1]
    assert found["n_paired"] is None
    assert found["df"] == near(df)
    assert found["se"] == near(se)
    assert found["statistic"] == near(difference / se)
    assert found["p_value"] == near(2 * stats.t.sf(abs(difference) / se, df), 1e-11)
    limits = stats.t.interval(0.9, df, difference, se)
    assert (found["lower"], found["upper"]) == (near(limits[0], 1e-11), near(limits[1], 1e-11))


def test_the_paired_test_has_a_smaller_standard_error_than_the_unpaired_one():
    table = simulated(6, 200)
    paired = row(rf.compare(table, "label", ["a", "b"]))
    apart = row(rf.compare(table, "label", ["a", "b"], method="delong_unpaired"))
    assert paired["difference"] == apart["difference"]
    assert paired["se"] < 0.9 * apart["se"]


def test_unpaired_rows_need_no_id_and_support_weights_and_counts():
    table = simulated(7, groups=2).with_columns(w=pl.col("id") % 3 + 0.5, n=pl.col("id") % 2 + 1)
    melted = long(table, "ab")
    for options in ({"weight": "w"}, {"count": "n"}, {"fpr": (0, 0.5)}):
        found = rf.compare(melted, "label", "score", by="g", method="delong_unpaired", **options)
        wide = rf.compare(table, "label", ["a", "b"], by="g", method="delong_unpaired", **options)
        assert_frame_equal(found, wide, rel_tol=1e-12, abs_tol=1e-13)
        alone = rf.auc(table, "label", ["a", "b"], by="g", ci="delong", **options)
        squares = alone.group_by("g", maintain_order=True).agg(se=(pl.col("se") ** 2).sum().sqrt())
        assert found["se"].to_list() == [near(value) for value in squares["se"]]


@pytest.mark.parametrize("metric", ["auc", "brier"])
def test_the_note_of_an_unpaired_test_is_the_first_note_of_one_of_the_models(metric):
    labels = {
        "no_positives": ([1, 1, 1], [0, 0]),
        "no_rows": ([1, 0], [None, None]),
        "no_negatives": ([1, 1], [1, 1, 0, 0]),
        "one_positive": ([1, 1, 0], [1, 0, 0]),
        "one_negative": ([1, 1, 0], [1, 1, 0, 0]),
    }
    table = pl.concat(
        pl.DataFrame({"label": pl.Series(values, dtype=pl.Int64)}).with_columns(
            g=pl.lit(note), model=pl.lit(model)
        )
        for note, models in labels.items()
        for model, values in zip("ab", models, strict=True)
    ).with_columns(score=pl.int_range(pl.len()) / pl.len())
    method = "delong_unpaired" if metric == "auc" else "t_test_unpaired"
    options = {"by": "g", "metric": metric, "method": method, "missing": "drop"}
    found = rf.compare(table, "label", "score", **options)
    assert found["note"].to_list() == found["g"].to_list() == sorted(labels)
    exchanged = table.with_columns(pl.col("model").replace({"a": "b", "b": "a"}))
    again = rf.compare(exchanged, "label", "score", **options)
    assert again["note"].to_list() == sorted(labels)


def test_nan_is_one_group_key_in_unpaired_comparisons():
    table = simulated(10, groups=2).with_columns(
        g=pl.when(pl.col("g") == 0).then(float("nan")).otherwise(1.0)
    )
    found = rf.compare(table, "label", ["a", "b"], by="g", method="delong_unpaired")
    assert found["g"].is_nan().to_list() == [False, True]
    assert found["p_value"].null_count() == 0


def test_id_accepts_any_iterable_of_columns():
    table = long(simulated(10))
    given = rf.compare(table, "label", "score", id=(name for name in ["id"]))
    assert_frame_equal(given, rf.compare(table, "label", "score", id="id"))
