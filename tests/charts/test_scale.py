"""`chart(scale=)`: the same curves on axes that magnify low rates."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

import rocframe as rf
from tests.charts.specifications import domain, lines, parts, records, reference_lines, shared
from tests.curves.test_thinning import farthest

NORMAL = np.vectorize(NormalDist().inv_cdf)
PAIRS = [("roc", "normal_deviate")] + [
    (kind, "log") for kind in ("roc", "det", "gain", "lift", "lift_chart")
]
every_pair = pytest.mark.parametrize(("kind", "scale"), PAIRS)


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    label = rng.random(3000) < 0.2
    score = (rng.normal(size=3000) + 1.5 * label).round(1)
    rows = pl.DataFrame({"label": label, "score": score})
    return rf.curve(rows, "label", "score")


@every_pair
def test_the_specification_of_a_chart_with_a_scale_is_unchanged(table, kind, scale, assert_golden):
    assert_golden(rf.chart(table, kind=kind, scale=scale), f"{kind}_{scale}")


@every_pair
def test_lines_between_two_rows_are_curved_on_transformed_axes(table, kind, scale):
    chart = rf.chart(table, kind=kind, scale=scale)
    (record,) = parts(chart)
    domains = [np.array(domain(chart, axis), float) for axis in "xy"]
    # The definitions of the rates, at a thousand equal steps of the counts between two rows.
    at = np.arange(0, table.height - 1 + 1e-9, 1 / 1000)
    tp, fp = (np.interp(at, np.arange(table.height), table[name]) for name in ("tp", "fp"))
    pos, neg = tp[-1], fp[-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = {
            "roc": (fp / neg, tp / pos),
            "det": (fp / neg, 1 - tp / pos),
            "gain": ((tp + fp) / (pos + neg), tp / pos),
            "lift": ((tp + fp) / (pos + neg), tp / (tp + fp) * (pos + neg) / pos),
            "lift_chart": ((tp + fp) / (pos + neg), tp),
        }[kind]

    def positions(x, y):
        shares = []
        for axis, values, limits in zip("xy", (x, y), domains, strict=True):
            scaled, ends = np.asarray(values, float), limits
            with np.errstate(divide="ignore"):
                if shared(chart, axis)["scale"].get("type") == "log":
                    scaled, ends = np.log(scaled), np.log(ends)
                elif scale == "normal_deviate":
                    scaled = NORMAL(np.clip(scaled, 1e-12, 1 - 1e-12))
            shares.append((scaled - ends[0]) / (ends[1] - ends[0]))
        return shares

    x, y = positions(x, y)
    visible = np.isfinite(x) & np.isfinite(y) & (x >= 0) & (y >= 0) & (x <= 1) & (y <= 1 + 1e-9)
    assert visible.sum() > 1000
    drawn = positions(record["x"], record["y"])
    assert farthest(x[visible][::7], y[visible][::7], *drawn) < 1 / 500
    assert min(drawn[0]) > -1e-6


def test_logarithmic_axes_end_at_a_power_of_ten_below_the_least_rate(table):
    least = table.filter(pl.col("fpr") > 0)["fpr"].min()
    axis = shared(rf.chart(table, scale="log"), "x")
    low, high = axis["scale"]["domain"]
    assert low < least <= 10 * low
    assert high == 1
    assert axis["axis"]["values"] == [low * 10**i for i in range(len(axis["axis"]["values"]))]


def test_the_line_of_chance_is_curved_on_logarithmic_axes(table):
    def chance(kind):
        line = rf.chart(table, kind=kind, scale="log").layer[0]
        return [tuple(point.values()) for point in line.data.values]

    assert all(across == up for across, up in chance("roc"))
    assert all(across == up for across, up in chance("gain"))
    assert all(abs(across + up - 1) < 1e-6 for across, up in chance("det"))
    assert len(chance("det")) > len(chance("roc")) > 40


def test_normal_scores_are_straight_on_normal_deviates():
    quantiles = NORMAL((np.arange(20_000) + 0.5) / 20_000)
    rows = pl.DataFrame(
        {"label": [True] * 20_000 + [False] * 20_000, "score": [*(quantiles + 1.5), *quantiles]}
    )
    (record,) = records(rf.chart(rf.curve(rows, "label", "score"), scale="normal_deviate"))
    x, y = (np.array(record[name]) for name in "xy")
    inner = (x > 0.001) & (y < 0.999)
    assert np.abs(NORMAL(y[inner]) - NORMAL(x[inner]) - 1.5).max() < 0.05


def test_det_can_be_drawn_on_linear_axes(table):
    (record,) = records(rf.chart(table, kind="det", scale="linear"))
    assert (record["x"][0], record["y"][0]) == (0, 1)
    assert (record["x"][-1], record["y"][-1]) == (1, 0)


def test_means_lie_on_the_same_axes_as_their_curves():
    rng = np.random.default_rng(1)
    label = rng.random(900) < 0.4
    rows = pl.DataFrame(
        {"fold": np.arange(900) % 3, "label": label, "score": rng.normal(size=900) + label}
    )
    curves = rf.curve(rows, "label", "score", by="fold")
    mean = curves.roc.average(grid="union").roc.chart(scale="log")
    # Three curves; their mean and the line of chance are gray.
    both = curves.roc.chart(scale="log") + mean
    assert (lines(both), reference_lines(both)) == (3, 2)
    (record,) = records(mean)
    assert min(record["x"]) >= domain(mean, "x")[0]
    assert {-1, 0} == set(record["_bar"])
