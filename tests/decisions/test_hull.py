"""Hulls are compared with the optima of all cost ratios, and with isotonic regression."""

from __future__ import annotations

import json
from fractions import Fraction
from math import inf

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn.isotonic import IsotonicRegression

import rocframe as rf

ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=1, max_size=14)
RANGES = ["slope_low", "slope_high"]


def points_of(rows: list[tuple[bool, int]]) -> dict[float, tuple[int, int]]:
    """Return fp and tp at each threshold."""
    return {
        threshold: tuple(
            sum(score >= threshold and label == kind for label, score in rows)
            for kind in (False, True)
        )
        for threshold in [inf, *sorted({score for _, score in rows}, reverse=True)]
    }


def is_vertex(point: tuple[int, int], points: set[tuple[int, int]]) -> bool:
    """Return whether no line between two other points passes through or above a point."""
    if point in {min(points), max(points)}:
        return True
    x, y = point
    for x0, y0 in points - {point}:
        for x1, y1 in points - {point}:
            if x0 <= x <= x1 and x0 < x1 and y0 + Fraction((y1 - y0) * (x - x0), x1 - x0) >= y:
                return False
            if x0 == x == x1 and y0 < y < y1:
                return False
    return True


@pytest.mark.hypothesis
@given(ROWS)
def test_vertices_are_the_points_above_all_lines_between_others(rows):
    frame = pl.DataFrame(rows, schema=["label", "score"], orient="row")
    points = points_of(rows)
    pos = sum(label for label, _ in rows)
    vertices = rf.curve(frame, "label", "score").roc.hull()
    if pos in {0, len(rows)}:
        assert vertices.get_column("slope_low").null_count() == vertices.height
        assert set(vertices.get_column("note")) & {"no_positives", "no_negatives"}
        return
    expected = [t for t, point in points.items() if is_vertex(point, set(points.values()))]
    assert vertices.get_column("threshold").to_list() == expected


@pytest.mark.hypothesis
@given(ROWS)
def test_a_vertex_has_the_lowest_cost_in_its_range_of_cost_ratios(rows):
    frame = pl.DataFrame(rows, schema=["label", "score"], orient="row")
    vertices = rf.curve(frame, "label", "score").roc.hull()
    pos = sum(label for label, _ in rows)
    for row in vertices.drop_nulls("slope_low").iter_rows(named=True):
        low, high = row["cost_ratio_low"], row["cost_ratio_high"]
        if low == inf:  # the first of two vertices on the left axis
            continue
        low, high = min(low, 1e3), min(high, 1e3)
        for ratio in (low, high, (low + high) / 2):
            costs = [ratio * fp + pos - tp for fp, tp in points_of(rows).values()]
            assert ratio * row["fp"] + row["fn"] == pytest.approx(min(costs), abs=1e-9)


def test_slopes_are_the_odds_of_isotonic_regression():
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 300)
    score = rng.normal(label, 1).round(1)
    vertices = rf.curve(pl.DataFrame({"label": label, "score": score}), "label", "score").roc.hull()
    levels = np.unique(IsotonicRegression().fit_transform(score, label))
    ratios = vertices.get_column("cost_ratio_low").to_numpy()[:-1]
    np.testing.assert_allclose(1 - 1 / (1 + ratios), levels[::-1], rtol=1e-12)


def test_prevalences_are_those_at_which_the_error_rate_is_lowest():
    frame = pl.DataFrame({"label": [1, 0, 1, 0, 1, 0], "score": [0.9, 0.8, 0.7, 0.4, 0.4, 0.1]})
    curves = rf.curve(frame, "label", "score")
    for row in curves.roc.hull().iter_rows(named=True):
        for prevalence in (row["prevalence_low"], row["prevalence_high"]):
            if 0 < prevalence < 1:
                best = curves.roc.operating_point("error_rate", prevalence=prevalence)
                error = prevalence * (1 - row["tpr"]) + (1 - prevalence) * row["fpr"]
                assert error == pytest.approx(best.item(0, "value"), abs=1e-12)


def test_the_table_has_the_rows_of_the_curve_and_the_prevalence_of_the_table_counts():
    frame = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})
    curves = rf.curve(frame, "label", "score", kind="gain", metrics="f1", prevalence=0.2)
    vertices = curves.roc.hull()
    added = [*RANGES, "cost_ratio_low", "cost_ratio_high", "prevalence_low", "prevalence_high"]
    assert vertices.columns == [*curves.columns, *added, "note"]
    remaining = curves.filter(pl.col("threshold").is_in(vertices.get_column("threshold").implode()))
    assert_frame_equal(vertices.select(curves.columns), remaining)
    ratio = vertices.get_column("cost_ratio_low") / vertices.get_column("slope_low")
    assert ratio.drop_nans().unique().to_list() == pytest.approx([0.25])


def test_a_common_hull_names_the_curve_of_each_vertex():
    first = pl.DataFrame({"label": [1, 1, 0, 0, 1, 0], "score": [6, 5, 4, 3, 2, 1]})
    second = pl.DataFrame({"label": [1, 0, 1, 1, 0, 0], "score": [6, 5, 4, 3, 2, 1]})
    worst = pl.DataFrame({"label": [0, 0, 0, 1, 1, 1], "score": [6, 5, 4, 3, 2, 1]})
    frame = pl.concat(
        table.with_columns(pl.lit(name).alias("model"), pl.lit(1).alias("day"))
        for name, table in (("a", first), ("b", second), ("c", worst))
    )
    curves = rf.curve(frame, "label", "score", by=["model", "day"])
    vertices = rf.hull(curves, across="model")
    assert vertices.columns[:2] == ["day", "threshold"]
    assert vertices.columns[-2:] == ["note", "model"]
    assert vertices.select("model", "threshold", "fp", "tp").rows() == [
        (None, inf, 0, 0),
        ("a", 5.0, 0, 2),
        ("b", 3.0, 1, 3),
        (None, 1.0, 3, 3),
    ]
    # Curves of other numbers of rows have the same rates, and the same hull.
    doubled = pl.concat([frame, frame.filter(model="b")])
    same = rf.hull(rf.curve(doubled, "label", "score", by=["model", "day"]), across="model")
    assert_frame_equal(
        same.select("model", "threshold", *RANGES), vertices.select("model", "threshold", *RANGES)
    )


def test_a_common_hull_of_weighted_rows_has_the_vertices_of_repeated_rows():
    rng = np.random.default_rng(5)
    n_tables, n = 5000, 14
    frame = pl.DataFrame(
        {
            "table": np.repeat(np.arange(n_tables), n),
            "model": rng.choice(["a", "b"], n_tables * n),
            "label": rng.random(n_tables * n) < 0.5,
            "score": rng.integers(0, 4, n_tables * n),
            "tenths": rng.choice([1, 2, 3], n_tables * n),
        }
    ).with_columns(weight=pl.col("tenths") / 10)
    roles = {"label": "label", "score": "score", "by": ["table", "model"]}
    repeated = rf.curve(frame, **roles, count="tenths").roc.hull(across="model")
    weighted = rf.curve(frame, **roles, weight="weight").roc.hull(across="model")
    vertices = ["table", "threshold", "fpr", "tpr"]
    assert_frame_equal(weighted.select(vertices), repeated.select(vertices))


def test_a_curve_without_a_class_does_not_take_part_in_a_common_hull():
    frame = pl.DataFrame(
        {
            "g": [1, 1, 1, 2, 2],
            "model": ["a", "a", "b", "a", "b"],
            "label": [1, 0, 1, 1, 1],
            "score": [0.9, 0.1, 0.5, 0.3, 0.2],
        }
    )
    vertices = rf.curve(frame, "label", "score", by=["g", "model"]).roc.hull(across="model")
    assert (
        vertices.select("g", "model", "threshold", "slope_high", "note").rows()
        == [
            (1, None, inf, inf, "one_positive"),
            (1, "a", 0.9, inf, "one_positive"),
            (1, None, 0.1, 0.0, "one_positive"),
            (2, None, inf, None, "no_negatives"),
            (2, None, 0.3, None, "no_negatives"),
            (2, None, 0.2, None, "no_negatives"),
        ][: vertices.height]
    )


def test_slopes_of_large_counts_are_correctly_rounded():
    total = 2**60
    counts = pl.DataFrame(
        {
            "threshold": [inf, 3.0, 2.0, 1.0],
            "tp": [0, total - 3, total - 1, total],
            "fp": [0, 1, 4, total],
        }
    ).with_columns(fn=total - pl.col("tp"), tn=total - pl.col("fp"))
    assert rf.hull(counts)["slope_low"].to_list() == [float(total - 3), 2 / 3, 1 / (total - 4), 0.0]


@pytest.mark.parametrize(
    "verb",
    [
        lambda curves: rf.hull(curves, across="model"),
        lambda curves: rf.cost_curve(curves, across="model", grid=7),
        lambda curves: rf.relative_superiority(curves, across="model"),
        lambda curves: rf.lc_index(curves, across="model", cost_ratio=(0.1, 0.5, 2)),
        lambda curves: rf.transfer(curves, over="model"),
        lambda curves: rf.repaired_auc(curves, over="model"),
    ],
    ids=["hull", "cost_curve", "relative_superiority", "lc_index", "transfer", "repaired_auc"],
)
def test_a_filter_on_the_compared_column_of_a_lazy_table_does_not_change_the_comparison(verb):
    rng = np.random.default_rng(2)
    table = pl.DataFrame(
        {
            "model": np.repeat(["a", "b", "c"], 30),
            "label": rng.integers(0, 2, 90),
            "score": rng.random(90),
        }
    )
    curves = rf.curve(table, "label", "score", by="model")
    expected = verb(curves)
    for model in "abc":
        selected = verb(curves.lazy()).filter(model=model).collect()
        assert_frame_equal(selected, expected.filter(model=model))


def test_the_area_of_a_common_hull_is_that_of_its_rates():
    rows = pl.DataFrame(
        {"model": list("aaabbbb"), "label": [1, 0, 0, 1, 0, 1, 0], "score": [1, 2, 0, 3, 2, 1, 0]}
    )
    common = rf.curve(rows, "label", "score", by="model").roc.hull(across="model")
    # From (0, 0) to (0, 1/2), (1/2, 1) and (1, 1).
    steps, heights = pl.col("fpr").diff(), pl.col("tpr") + pl.col("tpr").shift()
    assert common.select((steps * heights).sum() / 2).item() == 0.875


def test_other_columns_of_the_table_may_have_any_name():
    curves = rf.curve(
        pl.DataFrame({"label": [1, 0], "a": [2, 1], "b": [1, 2]}), "label", ["a", "b"]
    )
    for name in ("compared", "across", "(model)"):
        hull = curves.with_columns(pl.col("tp").alias(name)).roc.hull(across="model")
        assert hull.get_column(name).to_list() == hull.get_column("tp").to_list()


def test_curves_that_lack_different_classes_have_no_common_slopes():
    predictions = pl.DataFrame(
        {"model": ["a", "a", "a", "b"], "label": [1, 1, 1, 0], "score": [3, 2, 2, 1]}
    )
    curves = rf.curve(predictions, "label", "score", by="model")
    hull = curves.roc.hull(across="model")
    assert hull.select("^slope.*|cost.*|prevalence.*$").null_count().row(0) == (hull.height,) * 6
    assert set(hull["note"]) == {"no_negatives"}
    assert curves.roc.mix(fpr=0.2, across="model")["note"].to_list() == ["no_negatives"]


@pytest.mark.parametrize("options", [{}, {"weight": "w"}])
def test_trivial_classifiers_have_no_model_and_a_constant_score_is_not_on_a_common_hull(options):
    rng = np.random.default_rng(4)
    n = 40
    label = np.arange(n) % 3 == 0
    scores = {"a": rng.normal(size=n) + label, "b": rng.integers(0, 5, n) + 2 * label, "0": 0.5}
    table = pl.DataFrame({"label": label, "w": rng.integers(1, 4, n), **scores})
    curves = rf.curve(table, "label", [*scores], **options)
    found = curves.roc.hull(across="model")
    assert found["model"].is_null().to_list() == [True, *[False] * (found.height - 2), True]
    assert set(found["model"].drop_nulls()) <= {"a", "b"}
    for name, threshold, tp, fp in (
        found.drop_nulls("model").select("model", "threshold", "tp", "fp").rows()
    ):
        above = table.filter(pl.col(name) >= threshold)
        weight = above["w"] if options else pl.Series([1]).new_from_index(0, above.height)
        assert (tp, fp) == (
            weight.filter(above["label"]).sum(),
            weight.filter(~above["label"]).sum(),
        )
    constant = rf.curve(table, "label", ["0"], **options)
    alone = constant.roc.hull(across="model").select("fpr", "tpr", "model")
    assert alone.rows() == [(0, 0, None), (1, 1, None)]
    assert constant.roc.cost_curve(across="model")["model"].null_count() == 101


def test_the_chart_of_a_common_hull_has_no_mark_and_no_name_for_trivial_classifiers():
    label = [1, 0, 1, 0, 1, 0]
    table = pl.DataFrame({"label": label, "b": [0.9, 0.8, 0.7, 0.4, 0.4, 0.1], "a": 0.5})
    vertices = rf.curve(table, "label", ["a", "b"]).roc.hull(across="model")
    drawn = json.dumps(vertices.roc.chart().to_dict())
    assert '"null"' not in drawn
    assert vertices.roc.chart().to_dict()["encoding"]["color"]["scale"]["domain"] == ["b"]
    constant = rf.curve(table, "label", ["a"]).roc.hull(across="model")
    assert '"null"' not in json.dumps(constant.roc.chart().to_dict())
