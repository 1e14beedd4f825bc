"""Partial areas over ranges of both axes: exact areas, their variance, and their tests."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal

import rocframe as rf
from tests import oracles
from tests.areas.test_partial import AREAS, grouped, ranges
from tests.strategies import ANY_WEIGHTS, COUNTS, tables

BOTH = {"fpr": (0.05, 0.43), "tpr": (0.31, 0.87)}


def sample(n: int, seed: int = 4) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.random(n) < 0.4
    score, other = rng.normal(size=(2, n)) + 1.3 * label
    return pl.DataFrame({"label": label, "score": score, "other": (score + other) / 2})


def check_areas(table: pl.DataFrame, fpr, tpr, **more: object) -> None:
    result = grouped(table, fpr=fpr, tpr=tpr, ci=None, missing="worst", **more)
    for row, every in zip(
        result.iter_rows(named=True), oracles.by_group(table).values(), strict=True
    ):
        exact = oracles.rectangle_areas(every, fpr, tpr)
        expected = [None] * 3 if exact is None else [float(area) for area in exact]
        assert [row[name] for name in AREAS] == pytest.approx(expected, abs=1e-12)


@given(table=tables(missing=True, mass={"count": COUNTS}), fpr=ranges, tpr=ranges)
def test_the_area_over_both_ranges_equals_the_exact_area_in_the_rectangle(table, fpr, tpr):
    check_areas(table, fpr, tpr, count="count")


@given(table=tables(missing=True, mass={"weight": ANY_WEIGHTS}), fpr=ranges, tpr=ranges)
def test_the_weighted_area_over_both_ranges_equals_the_exact_area(table, fpr, tpr):
    check_areas(table, fpr, tpr, weight="weight")


@given(table=tables(mass={"count": COUNTS}), fpr=ranges, tpr=ranges)
def test_area_and_the_expression_return_the_area_of_auc(table, fpr, tpr):
    expected = grouped(table, fpr=fpr, tpr=tpr, ci=None, count="count")
    curves = rf.curve(table, "label", "score", by="group", count="count")
    actual = rf.area(curves, x=fpr, y=tpr)
    close = {"rel_tol": 0, "abs_tol": 1e-12}
    assert_frame_equal(actual, expected.select("group", "partial_auc"), **close)
    expression = pl.col("score").roc.auc("label", count="count", fpr=fpr, tpr=tpr)
    areas = table.group_by("group").agg(expression.alias("partial_auc")).sort("group")
    assert_frame_equal(areas, expected.select("group", "partial_auc"), **close)


def test_a_full_range_of_one_rate_is_the_partial_area_of_the_other():
    table = sample(300)
    for one, both in (
        ({"fpr": (0.1, 0.4)}, {"fpr": (0.1, 0.4), "sensitivity": (0, 1)}),
        ({"tpr": (0.7, 0.9)}, {"specificity": (0, 1), "tpr": (0.7, 0.9)}),
    ):
        expected, actual = (rf.auc(table, "label", "score", **options) for options in (one, both))
        names = ["partial_auc", "lower", "upper", "se"]
        assert_frame_equal(actual.select(names), expected.select(names), abs_tol=1e-12)


def test_the_area_is_the_trimmed_statistic_of_mann_and_whitney():
    """Yang et al. (2019): P(Y < X, X not above its q-quantile, Y not below its p-quantile)."""
    table = sample(400).with_columns(rank=pl.col("score").rank(descending=True).over("label"))
    pos, neg = table.filter("label").head(100), table.filter(~pl.col("label")).head(200)
    table = pl.concat([pos, neg])
    scores = [
        part["score"].sort(descending=True).to_numpy()
        for part in (table.filter("label"), table.filter(~pl.col("label")))
    ]
    x, y = scores[0][60:], scores[1][:80]  # below the top 60 %, and in the top 40 %
    expected = (y < x[:, None]).sum() / (100 * 200)
    area = rf.auc(table, "label", "score", fpr=(0, 0.4), tpr=(0.6, 1), ci=None)["partial_auc"]
    assert area.item() == pytest.approx(expected, abs=1e-14)
    assert expected > 0


def test_the_standard_error_is_that_of_the_derivatives_with_respect_to_the_rows():
    table = sample(30)
    se = rf.auc(table, "label", "score", **BOTH)["se"].item()
    step = Fraction(1, 10**9)
    cases = [oracles.Case(p, s, 1, Fraction(1)) for p, s in table.select("label", "score").rows()]

    def area(every) -> Fraction:
        return oracles.rectangle_areas(every, **BOTH).auc

    whole = area(cases)
    values: dict[bool, list[float]] = {True: [], False: []}
    for i, case in enumerate(cases):
        more = oracles.Case(case.positive, case.score, 1, 1 + step)
        changed = area([*cases[:i], more, *cases[i + 1 :]])
        values[case.positive].append(float((changed - whole) / step))
    variance = sum(
        len(part) / (len(part) - 1) * sum(value**2 for value in part) for part in values.values()
    )
    assert se == pytest.approx(sqrt(variance), rel=1e-6)


def test_standardized_areas_are_one_half_for_chance_and_one_for_perfect_scores():
    perfect = pl.DataFrame({"label": [0, 1], "score": [0, 1]})
    chance = pl.DataFrame({"label": [0, 1], "score": [0, 0]})
    for ends in (BOTH, {"fpr": (0, 0.5), "tpr": (0.2, 1)}):
        for table, expected in ((chance, 0.5), (perfect, 1)):
            options = {**ends, "standardize": "mcclish", "ci": None}
            area = rf.auc(table, "label", "score", **options)["partial_auc"].item()
            assert area == pytest.approx(expected, abs=1e-12)


def test_a_curve_outside_of_the_rectangle_has_the_area_zero_and_no_limits():
    table = pl.DataFrame({"label": [0, 1] * 20, "score": [*range(1, 21), *range(20)]})
    result = rf.auc(table, "label", "score", fpr=(0, 0.01), tpr=(0.99, 1))
    assert result.select("partial_auc", "lower", "note").row(0) == (0.0, None, "zero_variance")


def test_only_the_bootstrap_has_limits_of_an_area_over_both_ranges():
    table = sample(400)
    default = rf.auc(table, "label", "score", **BOTH)
    assert default.select("lower", "upper", "ci_method", "note").row(0) == (
        *[None] * 3,
        "no_limits",
    )
    for ci in ("bootstrap", "bootstrap_basic", "bootstrap_bca"):
        result = rf.auc(table, "label", "score", **BOTH, ci=ci, n_boot=500, seed=1)
        lower, area, upper = result.select("lower", "partial_auc", "upper").row(0)
        assert lower < area < upper
        assert result["se"].item() == pytest.approx(default["se"].item(), rel=0.15)


def test_compare_contrast_and_auc_covariance_use_both_ranges():
    table = sample(800)
    models = {"a": "score", "b": "other"}
    areas = rf.auc(table, "label", models, **BOTH)
    compared = rf.compare(table, "label", models, **BOTH)
    difference = areas["partial_auc"][0] - areas["partial_auc"][1]
    assert abs(compared["difference"].item()) == pytest.approx(abs(difference), abs=1e-12)
    bootstrap = rf.compare(table, "label", models, **BOTH, method="bootstrap", seed=1)
    assert compared["se"].item() == pytest.approx(bootstrap["se"].item(), rel=0.1)
    covariance = rf.auc_covariance(table, "label", models, **BOTH)
    of_pairs = {
        (row["model_a"], row["model_b"]): row["covariance"] for row in covariance.rows(named=True)
    }
    se = sqrt(of_pairs["a", "a"] + of_pairs["b", "b"] - 2 * of_pairs["a", "b"])
    assert compared["se"].item() == pytest.approx(se, rel=1e-9)
    assert areas["se"].to_list() == pytest.approx(
        [sqrt(of_pairs["a", "a"]), sqrt(of_pairs["b", "b"])], rel=1e-9
    )
    z_test = rf.compare(table, "label", models, **BOTH, method="delong")
    options = {"coefficients": {"a": 1, "b": -1}, "method": "delong", **BOTH}
    contrast = rf.contrast(table, "label", models, **options)
    assert contrast["p_value"].item() == pytest.approx(z_test["p_value"].item(), rel=1e-9)


@given(table=tables(mass={"count": COUNTS}), x=ranges, y=ranges)
def test_the_partial_area_of_precision_and_recall_equals_the_numerical_area(table, x, y):
    curves = rf.curve(table, "label", "score", by="group", count="count", kind="pr")
    areas = rf.area(curves, x=x, y=y)["partial_pr_auc"]
    for area, every in zip(areas, oracles.by_group(table).values(), strict=True):
        points = oracles.curve(every)
        pos = points[0].tp + points[0].fn
        if not pos:
            assert area is None
            continue
        expected = 0.0
        for q, p in pairwise(points):
            if p.tp == q.tp:
                continue
            mix = (np.arange(4000) + 0.5) / 4000
            tp = float(q.tp) + mix * float(p.tp - q.tp)
            fp = float(q.fp) + mix * float(p.fp - q.fp)
            inside = (tp >= x[0] * float(pos)) & (tp <= x[1] * float(pos))
            depth = np.clip(tp / (tp + fp), *y) - y[0]
            expected += float((depth * inside).mean() * float(p.tp - q.tp) / float(pos))
        assert area == pytest.approx(expected, abs=2e-3)


def test_the_partial_area_of_precision_and_recall_of_all_values_is_pr_auc():
    curves = rf.curve(
        sample(200).with_columns(pl.col("score").round(1)), "label", "score", kind="pr"
    )
    assert rf.area(curves, y=(0, 1)).item() == pytest.approx(rf.area(curves)["pr_auc"].item())


def test_partial_areas_of_a_small_precision_recall_curve_equal_hand_computed_values(frame):
    # Precision is 1 up to the recall 1/2, then falls as t / (2t - 1) to 2/3 at the recall 1.
    predictions = frame({"label": [1, 1, 0, 0], "score": [4, 2, 2, 1]})
    curves = rf.curve(predictions, "label", "score", kind="pr")
    right = (1 + np.log(3) / 2) / 4  # the integral of t / (2t - 1) from 1 to 2, divided by 2
    for ranges_, expected in (
        ({"x": (0, 0.5)}, 0.5),
        ({"x": (0, 0.5), "y": (0.5, 1)}, 0.25),
        ({"x": (0.5, 1)}, (1 + np.log(3) / 2) / 4),
        ({"y": (0, 0.6)}, 0.6),
        ({"x": (0.5, 1), "y": (0.6, 1)}, right - 0.3),
    ):
        area = rf.area(curves, **ranges_).lazy().collect()["partial_pr_auc"].item()
        assert area == pytest.approx(expected, abs=1e-12)
