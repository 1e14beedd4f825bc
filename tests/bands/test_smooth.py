"""Smooth curves: the published fit, distributions with known curves, and charts over curves."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import beta, expon, invgauss, ncf, norm, pareto, poisson, uniform, wald

import rocframe as rf
from tests.bands.binormal_samples import samples
from tests.charts.specifications import records

# Positives and negatives of each rating (Hanley and McNeil 1982), from the highest down.
HANLEY = pl.DataFrame(
    {
        "label": [True] * 5 + [False] * 5,
        "score": [5, 4, 3, 2, 1] * 2,
        "n": [33, 11, 2, 2, 3, 2, 11, 6, 6, 33],
    }
)


def test_the_curve_of_hanley_and_mcneils_ratings_is_the_published_fit(frame):
    table = rf.smooth(frame(HANLEY), "label", "score", count="n", grid=[0, 0.1, 0.5, 1])
    assert isinstance(table, frame)
    table = table.lazy().collect()
    # Stata's rocfit prints these.
    a, b, auc = 1.656782, 0.713002, 0.911331
    fpr = np.array([0, 0.1, 0.5, 1])
    tpr = norm.cdf(a + b * norm.ppf(fpr))
    lowest = (a - norm.isf(2**-53)) / b  # below this threshold, both rates are rounded to 1
    expected = pl.DataFrame(
        {
            "threshold": [math.inf, norm.isf(0.1), 0, lowest],
            "tp": 51 * tpr,
            "fp": 58 * fpr,
            "fn": 51 * (1 - tpr),
            "tn": 58 * (1 - fpr),
            "fpr": fpr,
            "tpr": tpr,
            "auc": auc,
            "a": a,
            "b": b,
            "note": pl.Series([None] * 4, dtype=pl.String),
        }
    )
    assert_frame_equal(table, expected, abs_tol=1e-4, rel_tol=1e-6)
    assert_frame_equal(
        table.select("fpr", "tpr", "auc"), expected.select("fpr", "tpr", "auc"), abs_tol=1e-6
    )


def test_the_curve_is_that_of_the_working_hotelling_band():
    frame, _ = samples(30, 4, a=1.2, b=0.8)
    table = rf.smooth(frame, "label", "score", by="sample", grid=21)
    band = rf.band(frame, "label", "score", by="sample", method="working_hotelling", grid=21)
    assert_frame_equal(table.select("sample", "fpr", "tpr"), band.select("sample", "fpr", "tpr"))


def test_all_evenly_spaced_grids_have_the_same_values():
    frame, _ = samples(30, 1, a=1.2, b=0.8)
    curve = rf.curve(frame, "label", "score", by="sample")
    grids = [
        rf.band(frame, "label", "score")["fpr"],
        rf.smooth(frame, "label", "score", grid=101)["fpr"],
        rf.theoretical_curve(norm(1, 1), norm(0, 1), grid=101)["fpr"],
        rf.average(curve, over="sample", ci=None)["fpr"],
        rf.cost_curve(rf.curve(frame, "label", "score"))["probability_cost"],
    ]
    for grid in grids:
        assert grid.to_list() == [i / 100 for i in range(101)]


def test_the_parameters_of_a_large_sample_are_near_the_true_ones():
    frame, _ = samples(20_000, 1, a=1.0, b=0.6)
    table = rf.smooth(frame, "label", "score", grid=2)
    assert table["a"][0] == pytest.approx(1.0, abs=0.03)
    assert table["b"][0] == pytest.approx(0.6, abs=0.03)
    assert table["auc"][0] == pytest.approx(norm.cdf(1 / math.sqrt(1.36)), abs=0.01)


def test_groups_without_a_fit_are_null_and_say_why():
    rows = {
        "no_negatives": ([1, 1], [0.2, 0.1]),
        "no_positives": ([0, 0], [0.2, 0.1]),
        "no_solution": ([1, 1, 0, 0], [4, 3, 2, 1]),
        "one_positive": ([1, 0, 0], [2, 3, 1]),
    }
    frame = pl.concat(
        pl.DataFrame({"g": name, "label": label, "score": score}, schema_overrides={"score": float})
        for name, (label, score) in rows.items()
    )
    table = rf.smooth(frame, "label", "score", by="g", grid=[0.5])
    found = table.select("g", "tp", "fp", "fn", "tn", "fpr", "tpr")
    assert found.rows() == [
        ("no_negatives", 0, 0, 2, 0, None, 0),
        ("no_negatives", 2, 0, 0, 0, None, 1),
        ("no_positives", 0, 0, 0, 2, 0, None),
        ("no_positives", 0, 2, 0, 0, 1, None),
        ("no_solution", 0, 0, 0, 0, None, None),
        ("one_positive", 0, 0, 0, 0, None, None),
    ]
    assert (table["note"] == table["g"]).all()
    assert table.select(pl.col("auc", "a", "b").null_count()).row(0) == (6,) * 3
    # Functions of curves state the missing class.
    for points in (rf.operating_point(table), rf.hull(table).unique("g", keep="first")):
        notes = dict(points.sort("g").select("g", "note").iter_rows())
        assert notes["no_negatives"] == "no_negatives"
        assert notes["no_positives"] == "no_positives"
    assert rf.area(table)["auc"].null_count() == 4
    empty = rf.smooth(frame.clear(), "label", "score", grid=[0.5])
    assert empty["note"].to_list() == ["no_rows"]


GRID = np.linspace(0, 1, 41)


def assert_complete_curve(table):
    """Check that a table is one curve with strictly falling thresholds, which functions accept."""
    threshold = table["threshold"].to_numpy()
    assert threshold[0] == math.inf
    assert np.isfinite(threshold[1:]).all()
    assert (np.diff(threshold) < 0).all()
    assert table.row(0)[1] == table.row(0)[2] == 0
    assert table.select("fn", "tn", "fpr", "tpr").row(-1) == (0, 0, 1, 1)
    trapezoids = np.trapezoid(table["tpr"], table["fpr"])
    assert rf.area(table)["auc"].item() == pytest.approx(trapezoids, abs=1e-12)


@pytest.mark.parametrize(
    ("positives", "negatives", "tpr", "auc"),
    [
        # The density 2s and the density 2 - 2s: TPR = 1 - t² and FPR = (1 - t)² at threshold t.
        (beta(2, 1), beta(1, 2), 1 - (1 - np.sqrt(GRID)) ** 2, 5 / 6),
        (norm(1.5, 2), norm(), norm.cdf((1.5 + norm.ppf(GRID)) / 2), norm.cdf(1.5 / math.sqrt(5))),
        (expon(scale=3), expon(), GRID ** (1 / 3), 3 / 4),
        (uniform(0, 1), uniform(0, 1), GRID, 1 / 2),
        (uniform(2, 1), uniform(0, 1), np.ones(41), 1),
        # For these distributions, scipy cannot compute quantiles of very small probabilities.
        (pareto(0.01), pareto(0.02), GRID ** (1 / 2), 2 / 3),
        (wald(), wald(), GRID, 1 / 2),
        (invgauss(0.145), invgauss(0.145), GRID, 1 / 2),
        (ncf(27, 27, 0.4), ncf(27, 27, 0.4), GRID, 1 / 2),
    ],
    ids=[
        *("triangular", "binormal", "exponential", "equal", "separate"),
        *("pareto", "wald", "inverse_gaussian", "noncentral_f"),
    ],
)
def test_the_curve_of_two_distributions_is_the_known_one(positives, negatives, tpr, auc):
    table = rf.theoretical_curve(positives, negatives, grid=41)
    assert table.row(0)[:7] == (math.inf, 0, 0, 0.5, 0.5, 0, 0)
    assert table.height == (42 if tpr[0] > 0 else 41)
    points = table.tail(41)
    assert points["fpr"].to_numpy() == pytest.approx(GRID)
    assert points["tpr"].to_numpy() == pytest.approx(tpr, abs=1e-12)
    assert points["auc"].to_numpy() == pytest.approx(auc, abs=1e-9)
    assert table.schema == rf.smooth(HANLEY, "label", "score", count="n").schema
    assert points.select(pl.col("a", "b", "note").null_count()).row(0) == (41, 41, 41)
    inner = points.filter(pl.col("threshold").is_finite())[:-1]
    above = [distribution.sf(inner["threshold"]) for distribution in (negatives, positives)]
    assert inner["fpr"].to_numpy() == pytest.approx(above[0], abs=1e-9)
    assert inner["tpr"].to_numpy() == pytest.approx(above[1], abs=1e-9)
    assert_complete_curve(table)


@pytest.mark.parametrize(
    ("mean", "sd"), [(3, 0.01), (4, 0.1), (-4, 0.1), (2, 1e-8), (0, 1e-6), (1, 1), (1, 100)]
)
@pytest.mark.parametrize("exchanged", [False, True])
def test_the_area_of_two_normal_distributions_is_exact_also_if_one_is_narrow(mean, sd, exchanged):
    distributions = [norm(mean, sd), norm()]
    if exchanged:  # the negatives of one curve are the positives of the other, times -1
        distributions = [norm(), norm(-mean, sd)]
    table = rf.theoretical_curve(*distributions, grid=2)
    expected = norm.cdf(mean / math.hypot(1, sd))
    assert table["auc"].to_numpy() == pytest.approx(expected, abs=1e-13)


NEAR_ONE = [1 - 2**-53, 1 - 2**-52]


@pytest.mark.parametrize(
    ("positives", "negatives", "grid"),
    [
        (norm(1), norm(), [1e-320, 1e-300, 0.5, *NEAR_ONE]),
        (norm(2, 1e-9), norm(2, 1e-9), [0.5 + i * 1e-12 for i in range(9)]),  # quantiles round to 2
        (norm(1e9), norm(), 11),
        (norm(), norm(1e9), 11),
        (norm(-1), norm(-2, 1e-8), 11),
        (pareto(0.01), pareto(0.01), [1e-4, 0.01, 0.5, 0.51]),  # the first quantile is infinite
        (beta(0.5, 2), beta(2, 0.5), 1001),
        (uniform(0, 2), uniform(1, 1), 5),
        (uniform(0, 1), uniform(2, 1), 5),
    ],
)
def test_thresholds_are_finite_and_fall_for_all_distributions(positives, negatives, grid):
    assert_complete_curve(rf.theoretical_curve(positives, negatives, grid=grid))


def test_the_fitted_curve_is_that_of_normal_distributions():
    frame, _ = samples(30, 1, a=1.2, b=0.7)
    grid = [0, *np.linspace(0.01, 0.99, 50), *NEAR_ONE, 1]
    table = rf.smooth(frame.cast({"score": pl.Float32}), "label", "score", grid=grid)
    assert_complete_curve(table)
    a, b = table.select("a", "b").row(0)
    expected = rf.theoretical_curve(norm(a / b, 1 / b), norm(), grid=grid)
    same = ["threshold", "fpr", "tpr", "auc"]
    assert_frame_equal(table[:-1].select(same), expected[:-1].select(same), abs_tol=1e-9)
    n_pos, n_neg = frame["label"].sum(), (~frame["label"].cast(pl.Boolean)).sum()
    shares = table.select(pl.col("tp", "fn") / n_pos / 2, pl.col("fp", "tn") / n_neg / 2)
    assert_frame_equal(shares, expected.select(shares.columns), abs_tol=1e-12)


MEAN = 1.5  # of the positives, in two normal distributions with the standard deviation 1


def test_the_best_points_of_two_normal_distributions_are_the_known_ones():
    # At the threshold t, the likelihood ratio is exp(MEAN · t - MEAN² / 2).
    optimum = MEAN / 2 + math.log(9 / 2) / MEAN
    grid = [*np.linspace(0, 1, 1001), norm.sf(MEAN / 2), norm.sf(optimum)]
    curve = rf.theoretical_curve(norm(MEAN), norm(), grid=grid, prevalence=0.1)
    youden = rf.operating_point(curve, "youden").row(0, named=True)
    assert youden["threshold"] == pytest.approx(MEAN / 2)
    assert youden["value"] == pytest.approx(2 * norm.cdf(MEAN / 2) - 1)
    cost = rf.operating_point(curve, "expected_cost", costs={"fp": 1, "fn": 2}).row(0, named=True)
    assert cost["threshold"] == pytest.approx(optimum)
    expected = 0.9 * norm.sf(optimum) + 2 * 0.1 * norm.cdf(optimum - MEAN)
    assert cost["value"] == pytest.approx(expected)
    # Different standard deviations: the densities are equal at the root of a quadratic equation.
    root = max(np.roots([1 - 1 / 4, 2 * MEAN / 4, -(MEAN**2) / 4 - 2 * math.log(2)]))
    curve = rf.theoretical_curve(norm(MEAN, 2), norm(), grid=[*grid, norm.sf(root)])
    assert rf.operating_point(curve, "youden")["threshold"].item() == pytest.approx(root)


def test_the_lowest_costs_of_two_normal_distributions_are_the_known_ones():
    curve = rf.theoretical_curve(norm(MEAN), norm(), grid=10_001)
    costs = rf.cost_curve(curve, grid=[0.2, 0.5, 0.9])
    for share, cost in costs.select("probability_cost", "expected_cost").iter_rows():
        best = MEAN / 2 + math.log((1 - share) / share) / MEAN
        expected = (1 - share) * norm.sf(best) + share * norm.cdf(best - MEAN)
        assert cost == pytest.approx(expected, abs=1e-6)


def test_the_slopes_of_the_hull_contain_the_likelihood_ratios():
    curve = rf.theoretical_curve(norm(MEAN), norm(), grid=101)
    hull = rf.hull(curve)
    assert hull.height == 101  # all points of a concave curve are vertices
    ratio = np.exp(MEAN * hull["threshold"][1:-1].to_numpy() - MEAN**2 / 2)
    assert (hull["slope_low"][1:-1].to_numpy() < ratio).all()
    assert (ratio < hull["slope_high"][1:-1].to_numpy()).all()
    # With different standard deviations, the curve is below the diagonal at the end.
    assert rf.hull(rf.theoretical_curve(norm(MEAN, 3), norm(), grid=101)).height < 101


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.5, 0.6), (0.5, 2.0)])
def test_the_area_of_a_dense_grid_is_that_of_the_binormal_curve(a, b):
    # The grid is dense at the ends, where the curve is steep.
    curve = rf.theoretical_curve(
        norm(a / b, 1 / b), norm(), grid=norm.sf(np.linspace(-8, 8, 20_001))
    )
    expected = norm.cdf(a / math.hypot(1, b))
    assert curve["auc"][0] == pytest.approx(expected, abs=1e-12)
    assert rf.area(curve)["auc"].item() == pytest.approx(expected, abs=1e-7)
    assert rf.at(curve, fpr=norm.sf(1))["tpr"].item() == pytest.approx(norm.cdf(a - b), abs=1e-3)


def test_net_benefits_and_precisions_of_calibrated_scores_are_the_known_ones():
    # With the densities 2s and 2 - 2s and equal classes, the probability of a positive is s.
    edges = np.linspace(0.1, 0.9, 9)
    curve = rf.theoretical_curve(beta(2, 1), beta(1, 2), grid=(1 - edges) ** 2)
    table = rf.decision_curve(curve, thresholds=edges - 1e-9)
    expected = ((1 - edges**2) - (1 - edges) ** 2 * edges / (1 - edges)) / 2
    assert table["net_benefit"].to_numpy() == pytest.approx(expected, abs=1e-6)
    best = rf.operating_point(curve, "precision", subject_to={"threshold": (0.45, 0.55)})
    assert best["value"].item() == pytest.approx((1 - 0.25) / (1 - 0.25 + 0.25))


class CountedNormal:
    """A normal distribution that counts the computed quantiles."""

    n_quantiles = 0

    def sf(self, x):
        return norm.sf(x)

    def isf(self, q):
        self.n_quantiles += np.size(q)
        return norm.isf(q)


def test_the_area_of_two_normal_distributions_needs_few_quantiles():
    negatives = CountedNormal()
    table = rf.theoretical_curve(norm(1), negatives, grid=2)
    assert table["auc"].to_numpy() == pytest.approx(norm.cdf(1 / math.sqrt(2)), abs=1e-13)
    assert negatives.n_quantiles < 500


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"negatives": poisson(3)}, "the distribution is not continuous."),
        (
            {"positives": norm(0, -1)},
            "sf(isf(q)) differs from q, so this is not a valid continuous distribution.",
        ),
    ],
)
def test_an_object_that_is_not_a_continuous_distribution_raises_an_error(options, message):
    with pytest.raises(rf.OptionValueError) as caught:
        rf.theoretical_curve(**{"positives": norm(1), "negatives": norm(), **options})
    problem, hint = str(caught.value).split("\n")
    assert problem.endswith(message)
    assert problem.startswith(f"{next(iter(options))}=")
    assert hint == "Use a continuous distribution with parameters, such as scipy.stats.norm(1, 1)."


def test_the_chart_can_be_drawn_over_curves_and_shows_the_areas_of_the_table():
    frame, _ = samples(30, 2, a=1.0, b=1.0)
    table = rf.smooth(frame, "label", "score", by="sample")
    chart = table.roc.chart()
    for auc in table["auc"].unique():
        assert f"AUC {auc:.3f}" in chart.description
    assert table.roc.chart(kind="pr").title.text == "Precision-recall"
    curves = rf.curve(frame, "label", "score", by="sample")
    layered = (curves.roc.chart() + chart).to_dict()
    title = layered["title"]["text"] if "title" in layered else layered["layer"][0]["title"]["text"]
    assert title == "ROC"
    assert "AUC 0.833" in rf.theoretical_curve(beta(2, 1), beta(1, 2)).roc.chart().description


def test_large_counts_of_one_group_do_not_change_the_fit_of_another():
    small = pl.DataFrame(
        {"group": "b", "label": [1, 0, 1, 0, 1, 0], "score": [6, 5, 4, 3, 2, 1], "count": [1] * 6}
    )
    large = small.with_columns(pl.lit("a").alias("group"), pl.lit(2**58, pl.Int64).alias("count"))
    options = {"by": "group", "count": "count", "grid": 5}
    both = rf.smooth(pl.concat([large, small]), "label", "score", **options)
    alone = rf.smooth(small, "label", "score", **options)
    assert alone["tpr"].null_count() == 0
    assert_frame_equal(both.filter(group="b"), alone)


def test_the_default_grid_is_dense_at_both_ends_and_contains_the_even_one():
    curve = rf.theoretical_curve(norm(1), norm())
    even = rf.theoretical_curve(norm(1), norm(), grid=101)
    assert even["fpr"].is_in(curve["fpr"].to_list()).all()
    # The straight line between two rows is near the curve, also at its ends.
    for fpr in (1e-6, 1e-4, 0.005, 0.995, 0.9999):
        found = rf.at(curve, fpr=fpr, interpolate=True)["tpr"].item()
        assert found == pytest.approx(norm.cdf(1 + norm.ppf(fpr)), abs=2e-4, rel=2e-2)
    assert rf.area(curve)["auc"].item() == pytest.approx(norm.cdf(1 / math.sqrt(2)), abs=1e-4)
    # The integral of the precision over the recall.
    recall = np.linspace(0, 1, 200_001)[1:-1]
    precision = recall / (recall + norm.sf(norm.isf(recall) + 1))
    areas = rf.area(curve, kind="precision_recall").row(0, named=True)
    assert areas["pr_auc"] == pytest.approx(precision.mean(), abs=1e-4)
    assert areas["average_precision"] == pytest.approx(precision.mean(), abs=2e-3)


@pytest.mark.parametrize("prevalence", [0.5, 0.3, 0.25])
def test_interpolated_points_have_rates_at_any_prevalence(prevalence):
    # fp / (fp + tn) and the column fpr differ by a rounding error.
    curve = rf.theoretical_curve(norm(1), norm(), grid=101, prevalence=prevalence)
    point = rf.at(curve, fpr=[0.155], interpolate=True).row(0, named=True)
    tpr = norm.cdf(1 + norm.ppf([0.15, 0.16])).mean()
    assert (point["fpr"], point["tpr"]) == pytest.approx((0.155, tpr))


def test_charts_of_smooth_curves_have_no_visible_corners_and_the_scales_of_roc_curves():
    frame, _ = samples(100, 1, a=1.0, b=1.0)
    table = rf.smooth(frame, "label", "score")
    (record,) = records(table.roc.chart())
    x, y = (np.array(record[name]) for name in ("fpr", "tpr"))
    drawn = np.interp(table["fpr"] + table["tpr"], x + y, y)
    assert drawn == pytest.approx(table["tpr"].to_numpy(), abs=1e-3)
    turns = np.abs(np.diff(np.arctan2(np.diff(y), np.diff(x))))
    assert np.degrees(turns.max()) < 10
    for scale in ("log", "normal_deviate"):
        both = rf.curve(frame, "label", "score").roc.chart(scale=scale)
        assert (both + table.roc.chart(scale=scale)).to_dict()
