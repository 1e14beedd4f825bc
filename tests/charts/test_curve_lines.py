"""Lines of charts equal the curves, whose counts are linear between two rows, on all axes."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import domain, parts
from tests.curves.test_thinning import farthest, filled

KINDS = [
    *("roc", "precision_recall", "det", "gain", "lift", "lift_chart", "predictive_value", "skill")
]
NEAR = 1 / 500  # share of an axis

probit = np.vectorize(NormalDist().inv_cdf)


def logs(name):
    """Return different kinds of predictions: few rows, ties, rare positives, a perfect model."""
    rng = np.random.default_rng(5)
    n = {"few": 12, "ties": 500, "perfect": 500, "worst first": 500, "smooth": 3000}.get(
        name, 20_000
    )
    label = rng.random(n) < (0.01 if name == "rare" else 0.3)
    score = rng.normal(size=n) + 2 * label
    if name == "ties":
        score = score.round()
    if name == "perfect":
        score = np.where(label, 1, 0) + rng.random(n) / 2
    if name == "worst first":  # the highest score is a negative, and the lowest a positive
        score[np.argmax(score)], label[np.argmax(score)], label[np.argmin(score)] = 9, False, True
    return pl.DataFrame({"label": label, "score": score})


def shown(kind, tp, fp, totals, top):
    """Return the position of a confusion matrix as shares of the axes, by definition."""
    pos, neg = totals
    n = pos + neg
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = tp / (tp + fp)
        return {
            "roc": (fp / neg, tp / pos),
            "precision_recall": (tp / pos, precision),
            "predictive_value": ((tp + fp) / n, precision),
            "det": (fp / neg, 1 - tp / pos),
            "gain": ((tp + fp) / n, tp / pos),
            "lift": ((tp + fp) / n, precision / (pos / n) / top),
            "lift_chart": ((tp + fp) / n, tp / top),
            "skill": ((tp + fp) / n, (1 - (fp + pos - tp) / min(pos, neg)) / top),
        }[kind]


@pytest.mark.render
@pytest.mark.parametrize("log", ["few", "ties", "rare", "perfect", "smooth", "worst first"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_distance_between_line_and_curve_is_invisible(kind, log):
    table = rf.curve(logs(log), "label", "score")
    chart = rf.chart(table, kind=kind)
    (record,) = parts(chart)
    x, y = np.array(record["x"], float), np.array(record["y"], float)
    rows = {name: table[name].to_numpy().astype(float) for name in ("tp", "fp")}
    steps = {"rare": 1, "smooth": 5, "perfect": 10}.get(log, 40)  # between two rows
    at = np.arange(0, table.height - 1 + 1e-9, 1 / steps)
    # A curve can be steep near the first row, so this part has more points.
    at = np.unique(np.concatenate([at, np.geomspace(1e-6, 1, 200)]))
    tp, fp = (np.interp(at, np.arange(table.height), rows[name]) for name in ("tp", "fp"))
    pos, neg = rows["tp"][-1], rows["fp"][-1]
    skill_range = 1 - min(y, default=0)
    top = {"lift": max(y, default=1), "lift_chart": pos, "skill": skill_range}.get(kind, 1)
    expected_x, expected_y = shown(kind, tp, fp, (pos, neg), top)
    y = y / top
    if kind == "det":
        low, high = domain(chart, "x")
        limit = NormalDist().cdf(low)
        visible = (np.minimum(expected_x, expected_y) > limit) & (
            np.maximum(expected_x, expected_y) < 1 - limit
        )
        expected_x, expected_y = expected_x[visible], expected_y[visible]
        expected_x, expected_y, x, y = (
            (probit(part) - low) / (high - low) if len(part) else part
            for part in (expected_x, expected_y, x, y)
        )
    known = np.isfinite(expected_y)
    expected_x, expected_y = expected_x[known], expected_y[known]
    if not len(expected_x):
        assert not len(x)
        return
    assert farthest(expected_x, expected_y, x, y) < NEAR
    if kind != "det" and log in {"few", "ties", "perfect"}:
        # All parts of the line are near the curve.
        assert farthest(*filled(x, y), expected_x, expected_y) < NEAR
    assert len(x) <= 500


def test_a_staircase_is_drawn_with_at_most_500_points():
    # 450 steps up and 450 to the right: a line of 500 points cannot be within 1/500 of all corners.
    label = np.repeat(np.tile([True, False], 450), 5)
    table = rf.curve(
        pl.DataFrame({"label": label, "score": -np.arange(len(label))}), "label", "score"
    )
    (record,) = parts(rf.chart(table))
    x, y = np.array(record["x"]), np.array(record["y"])
    assert 300 < len(x) <= 500
    assert farthest(table["fpr"].to_numpy(), table["tpr"].to_numpy(), x, y) < 1 / 380


@pytest.mark.parametrize("kind", KINDS)
def test_points_with_counts_are_rows_of_the_table(kind):
    table = rf.curve(logs("smooth"), "label", "score", kind=kind)
    (record,) = parts(rf.chart(table))
    by_counts = {(row["tp"], row["fp"]): row for row in table.iter_rows(named=True)}
    some = 0
    for tp, fp, threshold in zip(record["tp"], record["fp"], record["threshold"], strict=True):
        if tp is None:
            assert fp is None
            assert threshold is None
            continue
        row = by_counts[tp, fp]
        some += 1
        assert threshold == ("inf" if np.isinf(row["threshold"]) else row["threshold"])
    assert some > 50


def test_end_points_are_exact():
    table = rf.curve(logs("rare"), "label", "score")
    (roc,) = parts(rf.chart(table))
    assert (roc["x"][0], roc["y"][0], roc["x"][-1], roc["y"][-1]) == (0, 0, 1, 1)
    (pr,) = parts(rf.chart(table, kind="precision_recall"))
    assert (pr["x"][0], pr["x"][-1]) == (0, 1)
    last = table.row(-1, named=True)
    assert pr["y"][-1] == pytest.approx(last["tp"] / (last["tp"] + last["fp"]), rel=1e-6)


def test_precision_is_constant_up_to_the_first_point():
    table = rf.curve(
        pl.DataFrame({"label": [1, 1, 0, 1, 0], "score": [3, 3, 3, 2, 1]}), "label", "score"
    )
    (record,) = parts(rf.chart(table, kind="pr"))
    assert record["x"][:2] == pytest.approx([0, 2 / 3])
    assert record["y"][:2] == pytest.approx([2 / 3, 2 / 3])


def test_the_precision_within_a_tie_is_a_hyperbola():
    # 10 tied positives and 10 tied negatives below one negative: precision is t / (2 t + 1).
    labels = [0] + [1, 0] * 10
    table = rf.curve(pl.DataFrame({"label": labels, "score": [2] + [1] * 20}), "label", "score")
    (record,) = parts(rf.chart(table, kind="pr"))
    recall, precision = np.array(record["x"]), np.array(record["y"])
    assert len(recall) > 8
    t = 10 * recall
    assert precision == pytest.approx(t / (2 * t + 1), abs=1e-6)


@pytest.mark.parametrize(
    ("domain", "points"),
    [
        ((0, 0.5), [(0, 0), (0, 0.5), (0.5, 0.5), (0.5, 1)]),
        ((0.25, 0.75), [(0.25, 0.5), (0.5, 0.5), (0.5, 1), (0.75, 1)]),
        ((0.5, 1), [(0.5, 0.5), (0.5, 1), (1, 1)]),
        ((0.6, 0.7), [(0.6, 1), (0.7, 1)]),
    ],
)
def test_a_line_inside_a_domain_has_all_its_points_and_ends_at_the_border(domain, points):
    rows = pl.DataFrame({"label": [1, 0, 1, 0], "score": [4, 3, 2, 1]})
    (record,) = parts(rf.curve(rows, "label", "score").roc.chart(x_domain=domain))
    assert list(zip(record["x"], record["y"], strict=True)) == points
