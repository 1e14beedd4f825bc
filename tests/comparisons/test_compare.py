"""Differences of areas: by hand, in exact fractions, as published, and whatever may be asked."""

from __future__ import annotations

import json
from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from polars.testing import assert_frame_equal
from scipy import stats

import rocframe as rf
from tests.comparisons.exact import Exact, logs
from tests.counting.test_walk import cut
from tests.strategies import few

DELONG = json.loads(
    (Path(__file__).parents[1] / "reference" / "delong1988.json").read_text(encoding="utf-8")
)
MARKERS = ["alb", "totscore", "tp"]
COLUMNS = [
    *("model_a", "model_b", "n_paired", "auc_a", "auc_b", "difference", "se", "lower", "upper"),
    *("statistic", "df", "p_value", "p_adjusted", "test", "note"),
]
METHODS = ["delong", "delong_unpaired", "permutation", "venkatraman"]
Z = stats.norm.ppf(0.975)


def row(table: pl.DataFrame, **where: object) -> dict[str, object]:
    """The one row of a table, or of what a filter leaves of it."""
    return (table.filter(**where) if where else table).row(0, named=True)


def near(value: float | None, rel: float = 1e-12) -> object:
    return None if value is None else pytest.approx(value, rel=rel, abs=1e-14)


def simulated(seed: int, rows: int = 60, groups: int = 1) -> pl.DataFrame:
    """Three models of one truth, on the same rows."""
    rng = np.random.default_rng(seed)
    label = rng.random(rows * groups) < 0.4
    shared = label + rng.normal(size=rows * groups)
    return pl.DataFrame(
        {
            "id": np.arange(rows * groups),
            "g": np.repeat(np.arange(groups), rows),
            "label": label,
            **{m: np.round(shared + rng.normal(size=rows * groups), 1) for m in "abc"},
        }
    )


def long(table: pl.DataFrame, models: str = "abc", seed: int = 0) -> pl.DataFrame:
    """The same predictions, models one below the other, rows in any order."""
    rest = [name for name in table.columns if name not in models]
    melted = table.unpivot(list(models), index=rest, variable_name="model", value_name="score")
    return melted.sample(fraction=1, shuffle=True, seed=seed)


def test_two_models_of_five_rows_by_hand(frame):
    # Placements of the positives are 1, 1, 3/4 and 1/2, 1/2, 3/4; of the negatives 5/6, 1 and
    # 1/3·(1/2 + 0 + 0), 1. Differences: 1/2, 1/2, 0 and 2/3, 0.
    predictions = frame(
        {"label": [1, 1, 1, 0, 0], "a": [0.9, 0.8, 0.3, 0.3, 0.1], "b": [2, 2, 3, 3, 0]}
    )
    table = rf.compare(predictions, "label", ["a", "b"])
    difference, se = 1 / 3, sqrt(1 / 12 / 3 + 2 / 9 / 2)
    expected = pl.DataFrame(
        {
            "model_a": ["a"],
            "model_b": ["b"],
            "n_paired": [5],
            "auc_a": [11 / 12],
            "auc_b": [7 / 12],
            "difference": [difference],
            "se": [se],
            "lower": [difference - Z * se],
            "upper": [1.0],  # clipped
            "statistic": [difference / se],
            "df": pl.Series([None], dtype=pl.Float64),
            "p_value": [2 * stats.norm.sf(difference / se)],
            "p_adjusted": [2 * stats.norm.sf(difference / se)],
            "test": ["delong"],
            "note": pl.Series([None], dtype=pl.String),
        }
    )
    assert_frame_equal(table, frame(expected), rel_tol=1e-14, abs_tol=0)


@pytest.mark.parametrize("way", ["side by side", "one below the other"])
def test_delong_1988_the_differences_from_the_krebs_goldberg_score(way):
    rows = pl.DataFrame(DELONG["rows"], orient="row", schema=DELONG["columns"])
    if way == "side by side":
        table = rf.compare(rows, "popind", MARKERS, baseline="totscore")
    else:
        melted = rows.with_row_index("patient").unpivot(
            MARKERS, index=["patient", "popind"], variable_name="marker", value_name="value"
        )
        mixed = melted.sample(fraction=1, shuffle=True, seed=1)
        table = rf.compare(
            mixed, "popind", "value", between="marker", id="patient", baseline="totscore"
        )
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


@settings(max_examples=40)
@given(table=logs(models="abc"))
def test_differences_are_those_over_all_pairs_of_rows(table):
    exact = Exact(table, "abc")
    found = rf.compare(table, "label", ["b", "c", "a"])
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
        assert line["note"] is None


PARTS = {
    "whole": (None, {}),
    "fpr": (("fpr", 0.25, 0.75), {"fpr": (0.25, 0.75)}),
    "tpr": (("tpr", 0.5, 1), {"tpr": (0.5, 1)}),
}
MASSES = {
    "plain": {},
    "counted": {"count": "count"},
    "weighted": {"weight": "weight"},
    "both": {"weight": "weight", "count": "count"},
    "clustered": {"cluster": "user"},
    "clustered and weighted": {"cluster": "user", "weight": "weight"},
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("options", MASSES.values(), ids=MASSES)
def test_standard_errors_are_those_of_the_formula(part, options):
    where, area_options = part
    name = "partial_auc" if area_options else "auc"

    @settings(max_examples=10)
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

    check()


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
def test_limits_stay_within_what_differences_can_be(options, largest):
    table = pl.DataFrame({"label": [1, 1, 0, 0, 0], "a": [5, 4, 3, 2, 6], "b": [0, 2, 3, 2, 1]})
    found = row(rf.compare(table, "label", ["a", "b"], level=0.9999999, **options))
    assert (found["lower"], found["upper"]) == (-largest, largest)


@few
@given(table=logs("count"))
def test_a_count_is_as_many_rows(table):
    rows = table.select(pl.exclude("count").repeat_by("count")).explode(pl.all())
    for options in ({}, {"fpr": (0, 0.5)}):
        assert_frame_equal(
            rf.compare(table, "label", ["a", "b"], count="count", **options),
            rf.compare(rows, "label", ["a", "b"], **options),
            rel_tol=1e-12,
            abs_tol=1e-13,
        )


def test_counts_beyond_what_64_bits_multiply_stay_exact():
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


def test_the_areas_are_those_of_auc_to_the_bit():
    table = simulated(2, groups=3)
    found = rf.compare(table, "label", ["a", "b"], by="g")
    alone = rf.auc(table, "label", ["a", "b"], by="g")
    for model in "ab":
        areas = alone.filter(model=model)["auc"].to_list()
        assert found[f"auc_{model}"].to_list() == areas


@pytest.mark.parametrize("method", METHODS)
def test_columns_their_types_and_their_order_are_those_promised(frame, method):
    table = rf.compare(frame(simulated(3)), "label", ["a", "b"], method=method, seed=1, n_boot=9)
    kinds = dict.fromkeys(COLUMNS, pl.Float64)
    kinds |= dict.fromkeys(["model_a", "model_b", "test", "note"], pl.String)
    kinds["n_paired"] = pl.Int64
    assert dict(table.lazy().collect_schema()) == kinds
    assert list(kinds) == COLUMNS
    assert table.lazy().collect()["test"].item() == method


# Rows of their own


def test_models_that_scored_other_rows_are_compared_by_welchs_t():
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


def test_pairing_says_more_than_taking_the_rows_for_different_ones():
    table = simulated(6, 200)
    paired = row(rf.compare(table, "label", ["a", "b"]))
    apart = row(rf.compare(table, "label", ["a", "b"], method="delong_unpaired"))
    assert paired["difference"] == apart["difference"]
    assert paired["se"] < 0.9 * apart["se"]


def test_rows_of_their_own_need_no_id_and_may_be_weighted_and_counted():
    table = simulated(7, groups=2).with_columns(w=pl.col("id") % 3 + 0.5, n=pl.col("id") % 2 + 1)
    melted = long(table, "ab")
    for options in ({"weight": "w"}, {"count": "n"}, {"fpr": (0, 0.5)}):
        found = rf.compare(melted, "label", "score", by="g", method="delong_unpaired", **options)
        wide = rf.compare(table, "label", ["a", "b"], by="g", method="delong_unpaired", **options)
        assert_frame_equal(found, wide, rel_tol=1e-12, abs_tol=1e-13)
        alone = rf.auc(table, "label", ["a", "b"], by="g", ci="delong", **options)
        squares = alone.group_by("g", maintain_order=True).agg(se=(pl.col("se") ** 2).sum().sqrt())
        assert found["se"].to_list() == [near(value) for value in squares["se"]]


def test_a_model_absent_from_a_group_is_not_compared_there():
    table = simulated(8, 30, groups=3)
    melted = long(table).filter((pl.col("model") != "b") | (pl.col("g") != 1))
    pairs = [("a", "b"), ("a", "c"), ("b", "c")]
    for options in ({"id": "id"}, {"method": "delong_unpaired"}):
        found = rf.compare(melted, "label", "score", by="g", **options)
        assert found.select("g", "model_a", "model_b").rows() == [
            *((0, *pair) for pair in pairs),
            (1, "a", "c"),
            *((2, *pair) for pair in pairs),
        ]
        whole = rf.compare(long(table), "label", "score", by="g", **options)
        there = ["g", "model_a", "model_b"]
        expected = whole.join(found, on=there, how="semi", maintain_order="left")
        assert_frame_equal(found.drop("p_adjusted"), expected.drop("p_adjusted"), check_exact=True)


# What is asked


@pytest.mark.parametrize("method", ["delong", "delong_unpaired"])
def test_one_sided_p_values_are_the_tails(method):
    table = simulated(9)
    sides = {
        side: row(rf.compare(table, "label", ["a", "b"], method=method, alternative=side))
        for side in ("two-sided", "greater", "less")
    }
    statistic, df = sides["greater"]["statistic"], sides["greater"]["df"]
    law = stats.norm if df is None else stats.t(df)
    assert sides["greater"]["p_value"] == near(law.sf(statistic), 1e-11)
    assert sides["less"]["p_value"] == near(law.cdf(statistic), 1e-11)
    assert sides["two-sided"]["p_value"] == near(2 * law.sf(abs(statistic)), 1e-11)
    for side in sides.values():
        both = sides["two-sided"]
        assert [side[name] for name in ("difference", "lower", "upper", "statistic")] == [
            both[name] for name in ("difference", "lower", "upper", "statistic")
        ]


@pytest.mark.parametrize("margin", [0, 0.02, np.float32(0.25)])
def test_a_margin_moves_the_null_value_and_asks_one_side(margin):
    table = simulated(10)
    plain = row(rf.compare(table, "label", ["a", "b"]))
    found = row(rf.compare(table, "label", ["a", "b"], margin=margin))
    statistic = (plain["difference"] + float(margin)) / plain["se"]
    assert found["statistic"] == near(statistic)
    assert found["p_value"] == near(stats.norm.sf(statistic), 1e-11)
    assert [found[name] for name in ("difference", "se", "lower", "upper")] == [
        plain[name] for name in ("difference", "se", "lower", "upper")
    ]
    again = row(rf.compare(table, "label", ["a", "b"], margin=margin, alternative="greater"))
    assert again == found


@pytest.mark.parametrize("level", [0.5, 0.8, 0.99])
def test_the_level_widens_the_limits_and_nothing_else(level):
    table = simulated(11)
    plain, found = (
        row(rf.compare(table, "label", ["a", "b"], **options)) for options in ({}, {"level": level})
    )
    half = stats.norm.ppf((1 + level) / 2) * plain["se"]
    assert found["lower"] == near(plain["difference"] - half)
    assert found["upper"] == near(plain["difference"] + half)
    assert {k: v for k, v in found.items() if k not in {"lower", "upper"}} == {
        k: v for k, v in plain.items() if k not in {"lower", "upper"}
    }


@pytest.mark.parametrize("method", METHODS)
def test_a_baseline_is_a_in_every_pair(method):
    table = simulated(12, groups=2)
    options = {"by": "g", "method": method, "seed": 3, "n_boot": 50, "adjust": None}
    every = rf.compare(table, "label", ["a", "b", "c"], **options)
    found = rf.compare(table, "label", ["a", "b", "c"], baseline="b", **options)
    assert found.select("g", "model_a", "model_b").rows() == [
        (g, "b", other) for g in (0, 1) for other in "ac"
    ]
    same = every.filter(model_a="b", model_b="c")
    assert_frame_equal(found.filter(model_b="c"), same, check_exact=True)
    turned = every.filter(model_a="a", model_b="b")
    found = found.filter(model_b="a")
    for name, mirror in (("difference", "difference"), ("lower", "upper"), ("upper", "lower")):
        assert found[name].to_list() == [None if v is None else -v for v in turned[mirror]]
    assert found["p_value"].to_list() == turned["p_value"].to_list()
    assert found["auc_b"].to_list() == turned["auc_a"].to_list()


def holm(p: list[float]) -> list[float]:
    order = sorted(range(len(p)), key=p.__getitem__)
    steps = {i: min(1.0, (len(p) - rank) * p[i]) for rank, i in enumerate(order)}
    return [max(steps[j] for j in order[: order.index(i) + 1]) for i in range(len(p))]


def bh(p: list[float]) -> list[float]:
    order = sorted(range(len(p)), key=p.__getitem__)
    steps = {i: min(1.0, len(p) / (rank + 1) * p[i]) for rank, i in enumerate(order)}
    return [min(steps[j] for j in order[order.index(i) :]) for i in range(len(p))]


@pytest.mark.parametrize(("adjust", "formula"), [("holm", holm), ("bh", bh), (None, list)])
@pytest.mark.parametrize("family", ["group", "all"])
def test_p_values_are_adjusted_within_each_family(adjust, formula, family):
    table = simulated(13, groups=4).with_columns(
        a=pl.when(pl.col("g") == 2).then("b").otherwise("a"),
        label=pl.col("label") & (pl.col("g") != 3),
    )
    found = rf.compare(table, "label", ["a", "b", "c"], by="g", adjust=adjust, family=family)
    assert found.filter(g=2, model_a="a", model_b="b")["p_value"].item() == 1.0
    assert found.filter(g=3)["p_value"].to_list() == [None] * 3
    assert found.filter(g=3)["p_adjusted"].to_list() == [None] * 3
    families = [found.filter(pl.col("g") < 3)]
    if family == "group":
        families = families[0].partition_by("g")
    for one in families:
        assert one["p_adjusted"].to_list() == [near(p) for p in formula(one["p_value"].to_list())]


# What has no test


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("b", [[4, 3, 3, 2, 2, 1], [40, 30, 30, 20, 20, -5]], ids=["same", "alike"])
def test_models_that_order_rows_alike_differ_by_nothing_and_p_is_1(method, b):
    table = pl.DataFrame({"label": [1, 0, 1, 1, 0, 0], "a": [4, 3, 3, 2, 2, 1], "b": b})
    found = row(rf.compare(table, "label", ["a", "b"], method=method, seed=1))
    assert (found["auc_a"], found["auc_b"]) == (7 / 9, 7 / 9)
    assert (found["difference"], found["statistic"], found["p_value"]) == (0, 0, 1)
    if method == "delong":
        assert [found[name] for name in ("se", "lower", "upper")] == [None] * 3
        assert found["note"] == "zero_variance"
    elif method == "delong_unpaired":
        assert found["se"] > 0
        assert found["note"] is None


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_a_difference_that_is_surely_0_is_in_the_middle_of_one_sided_tests(alternative):
    table = pl.DataFrame({"label": [1, 0, 1, 0], "a": [4, 3, 3, 1]})
    scores = {"a": "a", "b": "a"}
    found = row(rf.compare(table, "label", scores, alternative=alternative))
    assert (found["statistic"], found["p_value"]) == (0, 0.5)


PERFECT = pl.DataFrame({"label": [1, 1, 0, 0], "a": [4, 3, 2, 1], "b": [1, 2, 3, 4]})


@pytest.mark.parametrize("method", ["delong", "delong_unpaired"])
def test_a_difference_without_variance_has_no_test(method):
    found = row(rf.compare(PERFECT, "label", ["a", "b"], method=method))
    assert found["difference"] == 1.0
    undefined = ("se", "lower", "upper", "statistic", "df", "p_value", "p_adjusted")
    assert [found[name] for name in undefined] == [None] * 7
    assert found["note"] == "zero_variance"


@pytest.mark.parametrize(
    ("a", "b", "margin", "p_value"),
    [
        ("a", "b", 0.1, 0.0),
        ("b", "a", 0.1, 1.0),
        ("a", "a", 0.1, 0.0),
        ("a", "a", 0.0, 0.5),
    ],
)
def test_without_variance_a_difference_is_beyond_the_margin_or_not(a, b, margin, p_value):
    scores = {"one": a, "two": b}
    found = row(rf.compare(PERFECT, "label", scores, margin=margin))
    assert (found["p_value"], found["note"]) == (p_value, "zero_variance")


CLASSES = {
    "no_rows": [],
    "no_positives": [0, 0, 0],
    "no_negatives": [1, 1],
    "one_positive": [1, 0, 0],
    "one_negative": [1, 1, 0],
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("note", "label"), CLASSES.items())
def test_a_group_short_of_a_class_says_so(frame, method, note, label):
    scores = list(range(len(label)))
    columns = {
        "label": pl.Series(label, dtype=pl.Int64),
        "a": pl.Series(scores, dtype=pl.Int64),
        "b": pl.Series(scores[::-1], dtype=pl.Int64),
    }
    table = rf.compare(frame(columns), "label", ["a", "b"], method=method, seed=1)
    found = row(table.lazy().collect())
    assert found["note"] == note
    if method != "delong_unpaired":
        assert found["n_paired"] == len(label)
    both = "one" in note
    assert (found["auc_a"] is not None) == both
    assert (found["difference"] is not None) == both
    # Exchanges want no variance.
    tested = both and method in {"permutation", "venkatraman"}
    assert (found["p_value"] is not None) == tested
    assert found["se"] is None


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("by", [None, "g"])
def test_an_empty_table_is_no_comparison_or_one_of_nothing(frame, method, by):
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


def test_a_single_model_has_nothing_to_be_compared_with():
    assert rf.compare(simulated(14), "label", ["a"]).height == 0
    assert rf.compare(long(simulated(14), "a"), "label", "score", id="id").height == 0


# Groups


@pytest.mark.parametrize("method", ["delong", "delong_unpaired"])
def test_a_hundred_bad_groups_cost_ten_thousand_good_ones_nothing(method):
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


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"fpr": (0, 0.3)},
        {"method": "delong_unpaired"},
        {"cluster": "user"},
        {"cluster": "user", "tpr": (0.5, 1)},
        {"method": "permutation", "seed": 2, "n_boot": 40},
        {"method": "venkatraman", "seed": 2, "n_boot": 40},
        {"method": "permutation", "cluster": "user", "seed": 2, "n_boot": 40},
    ],
    ids=str,
)
def test_no_order_of_rows_or_number_of_threads_changes_a_bit(options):
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


def test_weighted_results_change_with_the_order_of_rows_by_rounding_only():
    table = simulated(17, groups=3).with_columns(w=(pl.col("id") * 0.37) % 1 + 0.1)
    for options in ({}, {"fpr": (0, 0.3)}):
        expected = rf.compare(table, "label", [*"abc"], by="g", weight="w", **options)
        mixed = table.sample(fraction=1, shuffle=True, seed=1)
        found = rf.compare(mixed, "label", [*"abc"], by="g", weight="w", **options)
        assert_frame_equal(found, expected, rel_tol=1e-11, abs_tol=1e-13)


def test_the_test_rejects_a_true_null_as_often_as_it_says():
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
