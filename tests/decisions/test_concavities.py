"""Concavities and their repair: compared with exact fractions, and with repairs by hand."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf, nan

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf

ROWS = st.lists(st.tuples(st.booleans(), st.integers(-4, 6)), min_size=1, max_size=16)
POINT = tuple[Fraction, Fraction]


def roc_points(rows: list[tuple[bool, float]]) -> dict[float, POINT]:
    """Return the point of each threshold, from the highest to the lowest."""
    totals = [sum(label == kind for label, _ in rows) for kind in (False, True)]
    return {
        t: tuple(
            Fraction(sum(label == kind and score >= t for label, score in rows), total)
            for kind, total in zip((False, True), totals, strict=True)
        )
        for t in [inf, *sorted({score for _, score in rows}, reverse=True)]
    }


def area_under(points: list[POINT]) -> Fraction:
    return sum(((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(points)), Fraction(0))


def hull_thresholds(points: dict[float, POINT]) -> list[float]:
    """Return the thresholds of the upper hull, by Andrew's monotone chain."""
    chain: list[float] = []
    for t, (x, y) in points.items():
        while len(chain) > 1:
            (x0, y0), (x1, y1) = (points[s] for s in chain[-2:])
            if (x1 - x0) * (y - y0) < (y1 - y0) * (x - x0):
                break
            chain.pop()
        chain.append(t)
    return chain


@pytest.mark.hypothesis
@given(ROWS)
def test_concavities_and_their_repair_are_exact(rows):
    frame = pl.DataFrame(rows, schema=["label", "score"], orient="row")
    found = rf.curve(frame, "label", "score").roc.concavities()
    if len({label for label, _ in rows}) < 2:
        assert found.height == 0
        return
    points = roc_points(rows)
    vertices = hull_thresholds(points)
    expected = []
    for upper, lower in pairwise(vertices):
        part = [point for t, point in points.items() if lower <= t <= upper]
        area = area_under([part[0], part[-1]]) - area_under(part)
        if area > 0:
            inside = [(label, score) for label, score in rows if lower <= score < upper]
            highest = max(score for _, score in inside)
            n_pos = sum(label for label, _ in inside)
            expected.append((float(area), upper, lower, highest, n_pos, len(inside) - n_pos))
    names = ["area", "threshold_above", "threshold_below", "score_max", "n_pos", "n_neg"]
    assert found.select(names).rows() == expected
    assert found["auc"].to_list() == [float(area_under([*points.values()]))] * len(expected)

    for which in ("largest", "all"):
        repaired = frame.roc.repair_scores("score", found, which=which)
        new_rows = list(repaired.select("label", "repaired_score").iter_rows())
        # Only the order within the concavities changes, by a reflection of this part.
        new_points = roc_points(new_rows)
        reversed_ones = (
            expected if which == "all" else sorted(expected, key=lambda row: -row[0])[:1]
        )
        inside_points = [[*points.values()]]
        for _, upper, lower, highest, *_ in reversed_ones:
            old = [points[t] for t in points if lower <= t <= upper]
            new = [point for t, point in new_points.items() if lower <= t <= highest]
            a, b = old[0], old[-1]
            assert [a, *new] == [(a[0] + b[0] - x, a[1] + b[1] - y) for x, y in reversed(old)]
        gain = area_under([*new_points.values()]) - area_under(inside_points[0])
        lost = [
            area_under([points[upper], points[lower]])
            - area_under([point for t, point in points.items() if lower <= t <= upper])
            for _, upper, lower, *_ in reversed_ones
        ]
        assert gain == 2 * sum(lost)


def predictions(seed: int = 0, rows: int = 160) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    score = rng.normal(size=rows) + label
    return pl.DataFrame(
        {
            "model": [["a", "b", None][i] for i in rng.integers(0, 3, rows)],
            "fold": rng.integers(0, 4, rows),
            "label": label,
            "score": np.where(np.abs(score) < 0.5, -score, score).round(1),
        }
    )


TABLE = predictions()
CURVES = rf.curve(TABLE, "label", "score", by=["model", "fold"])


def repaired_by_hand(score: float, row: dict[str, float]) -> float:
    if row["threshold_below"] <= score < row["threshold_above"]:
        return row["threshold_below"] + row["score_max"] - score
    return score


def test_groups_are_repaired_by_their_own_concavities(frame):
    found = rf.curve(TABLE, "label", "score", by="model").roc.concavities()
    assert found["model"].n_unique() == 3
    expected = []
    largest = found.filter(pl.col("area") == pl.col("area").max().over("model"))
    for row in TABLE.iter_rows(named=True):
        (own,) = largest.filter(pl.col("model").eq_missing(row["model"])).iter_rows(named=True)
        expected.append(repaired_by_hand(row["score"], own))
    repaired = rf.repair_scores(frame(TABLE), "score", found).lazy().collect()
    assert repaired.columns == [*TABLE.columns, "repaired_score"]
    assert_frame_equal(repaired.drop("repaired_score"), TABLE)
    np.testing.assert_allclose(repaired["repaired_score"], expected, atol=1e-12)
    auc = rf.auc(repaired, "label", "repaired_score", by="model", ci=None)["auc"]
    gain = largest.sort("model").select(pl.col("auc") + 2 * pl.col("area"))
    np.testing.assert_allclose(auc, gain.to_series(), rtol=1e-12)
    # Groups without a concavity, and scores of other columns, do not change.
    only_a = rf.repair_scores(TABLE, pl.col("score") * 1, found.filter(model="a"))
    others = only_a.filter(pl.col("model").ne_missing("a"))
    assert others["repaired_score"].equals(others["score"])


def test_the_scores_of_other_data_stay_in_the_interval_in_reversed_order():
    rows = pl.DataFrame({"label": [1, 0, 0, 1, 1, 0], "score": [0.9, 0.8, 0.7, 0.4, 0.3, 0.1]})
    found = rf.curve(rows, "label", "score").roc.concavities()
    assert found.select("threshold_above", "threshold_below", "score_max").rows() == [
        (0.9, 0.3, 0.8)
    ]
    new = pl.DataFrame({"s": [inf, 0.9, 0.85, 0.8, 0.75, 0.3, 0.29, -inf, nan, None]})
    repaired = new.roc.repair_scores("s", found)["repaired_score"].to_list()
    assert repaired[:3] == [inf, 0.9, 0.3]
    assert repaired[3:6] == pytest.approx([0.3, 0.35, 0.8])
    assert repaired[6:8] == [0.29, -inf]
    assert np.isnan(repaired[8])
    assert repaired[9] is None
    # Above all scores of a concavity at the start of the curve, there is no limit.
    first = rf.curve(rows.tail(-1), "label", "score").roc.concavities()
    assert first["threshold_above"].to_list() == [inf]
    assert pl.DataFrame({"s": [inf, 5.0]}).roc.repair_scores("s", first)[
        "repaired_score"
    ].to_list() == [0.3, 0.3]


def test_infinite_scores_above_a_concavity_are_not_reversed():
    rows = pl.DataFrame({"label": [1, 0, 0, 1, 1, 0], "score": [inf, 5, 4, 3, 2, 1]})
    found = rf.curve(rows, "label", "score").roc.concavities()
    assert found.select("threshold_above", "tpr_above", "score_max").rows() == [(inf, 1 / 3, 5.0)]
    repaired = rows.roc.repair_scores("score", found)["repaired_score"].to_list()
    assert repaired == [inf, 2.0, 3.0, 4.0, 5.0, 1.0]
    folds = pl.concat(rows.with_columns(fold=pl.lit(fold)) for fold in (1, 2))
    gains = rf.repaired_auc(rf.curve(folds, "label", "score", by="fold"))
    assert gains["auc_repaired"].to_list() == [1.0, 1.0]
    chosen = rf.repaired_auc(rf.curve(rows, "label", "score"), chosen=found)
    assert chosen["gain_realised"].to_list() == pytest.approx([2 * found["area"][0]])
    assert_frame_equal(chosen.select(gain="gain_chosen"), chosen.select(gain="gain_realised"))


def test_min_rows_leaves_out_small_concavities():
    curves = rf.curve(TABLE, "label", "score", by="model")
    found = curves.roc.concavities()
    size = pl.col("n_pos") + pl.col("n_neg")
    assert_frame_equal(curves.roc.concavities(min_rows=5), found.filter(size >= 5))
    assert 0 < found.filter(size >= 5).height < found.height


def repaired_over_folds(table: pl.DataFrame, **options) -> list[tuple[float, ...]]:
    """Return the numbers of concavities, the AUCs and the gains of each fold."""
    rows = []
    auc = {"ci": None, "missing": "worst"}
    for fold in sorted(set(table["fold"])):
        own = table.filter(pl.col("fold") == fold)
        others = table.filter(pl.col("fold") != fold)
        found = rf.curve(others, "label", "score", missing="worst").roc.concavities()
        n_repaired = found.height if options else min(found.height, 1)
        repaired = [part.roc.repair_scores("score", found, **options) for part in (own, others)]
        areas = [
            rf.auc(part, "label", score, **auc).item(0, "auc")
            for part in repaired
            for score in ("score", "repaired_score")
        ]
        rows.append((n_repaired, areas[0], areas[1], areas[1] - areas[0], areas[3] - areas[2]))
    return rows


def test_each_fold_is_repaired_in_the_concavities_of_the_other_folds():
    columns = ["n_concavities", "auc", "auc_repaired", "gain_realised", "gain_chosen"]
    unscored = TABLE.with_columns(pl.when(pl.int_range(pl.len()) % 9 > 0).then("score"))
    for table in (TABLE, unscored):
        curves = rf.curve(table, "label", "score", by=["model", "fold"], missing="worst")
        for options in ({}, {"which": "all"}):
            found = rf.repaired_auc(curves, **options)
            for model in ("a", "b"):
                expected = repaired_over_folds(table.filter(model=model), **options)
                values = found.filter(model=model).select(columns).to_numpy()
                np.testing.assert_allclose(values, expected, atol=1e-12)
    optimism = found["gain_chosen"] - found["gain_realised"]
    np.testing.assert_allclose(found["optimism"], optimism, atol=1e-15)
    assert (found["gain_chosen"] > 0).all()
    plan = rf.repaired_auc(CURVES.lazy()).filter(fold=2, model="a").collect()
    assert_frame_equal(plan, rf.repaired_auc(CURVES).filter(fold=2, model="a"))


def test_chosen_concavities_of_other_data_are_repaired():
    validation = rf.curve(predictions(1), "label", "score", by="model").roc.concavities()
    for which in ("largest", "all"):
        found = CURVES.roc.repaired_auc(chosen=validation, which=which)
        repaired = TABLE.roc.repair_scores("score", validation, which=which)
        for name, score in (("auc", "score"), ("auc_repaired", "repaired_score")):
            expected = rf.auc(repaired, "label", score, by=["model", "fold"], ci=None)
            np.testing.assert_allclose(found[name], expected["auc"], rtol=1e-12)
    counts = validation.group_by("model").len("n_concavities")
    joined = found.select("model").join(counts, on="model", nulls_equal=True, maintain_order="left")
    assert found["n_concavities"].to_list() == joined["n_concavities"].to_list()
    own = rf.curve(TABLE, "label", "score")
    same = own.roc.repaired_auc(chosen=own.roc.concavities())
    assert same.item(0, "gain_realised") == pytest.approx(same.item(0, "gain_chosen"), rel=1e-12)
    none = own.roc.repaired_auc(chosen=own.roc.concavities().clear())
    assert none.select("gain_realised", "gain_chosen", "n_concavities").rows() == [(0.0, 0.0, 0)]


def test_the_gain_on_the_chosen_data_is_twice_the_area_in_both_cases():
    # The repaired scores of the four scores from 1e-17 to 1e-20 are equal.
    score = [0.9, 0.8, 0.7, 1e-17, 1e-18, 1e-19, 1e-20, 1e-21]
    rows = pl.DataFrame({"label": [1, 0, 0, 0, 1, 1, 1, 0], "score": score})
    folds = pl.concat(rows.with_columns(fold=pl.lit(fold)) for fold in (1, 2))
    curves = rf.curve(folds, "label", "score", by="fold")
    found = curves.roc.concavities()
    assert found["area"].to_list() == [0.28125] * 2
    for gains in (curves.roc.repaired_auc(), curves.roc.repaired_auc(chosen=found)):
        columns = gains.select("gain_chosen", "gain_realised", "optimism")
        assert columns.rows() == [(0.5625, 0.46875, 0.09375)] * 2


def test_the_gain_is_positive_where_scores_are_reversed_and_negative_for_chance():
    rng = np.random.default_rng(3)
    rows = 4000
    label = rng.integers(0, 2, rows)
    score = rng.normal(label, 1)
    frame = pl.DataFrame(
        {
            "fold": np.arange(rows) % 4,
            "label": label,
            "good": score,
            "reversed": np.where(np.abs(score - 0.5) < 1, 1 - score, score),
        }
    )
    found = rf.curve(frame, "label", ["good", "reversed"], by="fold").roc.repaired_auc()
    assert (found.filter(model="reversed")["gain_realised"] > 0.01).all()
    good = found.filter(model="good")
    assert (good["gain_chosen"] > 0).all()
    assert good["gain_realised"].mean() < 0


def test_curves_without_a_class_are_null_with_a_note():
    table = pl.DataFrame({"fold": [1, 1, 2, 3], "label": [1, 0, 1, 1], "score": [1, 2, 3, 4]})
    found = rf.curve(table, "label", "score", by="fold").roc.repaired_auc()
    names = ["gain_realised", "gain_chosen", "auc", "n_concavities", "note"]
    assert found.select(names).rows() == [
        (0.0, None, 0.0, 0, "one_positive"),
        (None, 0.5, None, 1, "no_negatives"),
        (None, 0.5, None, 1, "no_negatives"),
    ]
    empty = rf.curve(table.clear(), "label", "score", by="fold")
    assert rf.repaired_auc(empty).height == rf.concavities(empty).height == 0
