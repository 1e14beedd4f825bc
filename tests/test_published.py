"""Worked examples of the literature: one test each, named after the paper."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

INF = math.inf
DELONG = json.loads((Path(__file__).parent / "reference" / "delong1988.json").read_text())

# Fawcett, "An introduction to ROC analysis" (Pattern Recognition Letters 27, 2006), figure 3: 20
# instances, ten of each class, in the order of their scores.
# fmt: off
FAWCETT_3 = pl.DataFrame(
    {
        "label": [1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0],
        "score": [
            0.9, 0.8, 0.7, 0.6, 0.55, 0.54, 0.53, 0.52, 0.51, 0.505,
            0.4, 0.39, 0.38, 0.37, 0.36, 0.35, 0.34, 0.33, 0.3, 0.1,
        ],
    }
)
# fmt: on

# The same paper, figure 4: naive Bayes on ten instances; a perfect ranking.
# fmt: off
FAWCETT_4 = pl.DataFrame(
    {
        "label": [1, 1, 1, 1, 1, 1, 0, 0, 0, 0],
        "score": [
            0.99999, 0.99999, 0.99993, 0.99986, 0.99964, 0.99955,
            0.68139, 0.50961, 0.48880, 0.44951,
        ],
    }
)
# fmt: on


def counted(rows: list[tuple[int, float, int]]) -> pl.DataFrame:
    """Return a table of label, score and count."""
    return pl.DataFrame(rows, schema={"label": int, "score": float, "n": int}, orient="row")


def test_fawcett_2006_figure_3_the_whole_curve(frame):
    actual = rf.curve(frame(FAWCETT_3), "label", "score")
    # fmt: off
    tp = [0, 1, 2, 2, 3, 4, 5, 5, 5, 6, 6, 7, 7, 8, 8, 8, 8, 9, 9, 10, 10]
    fp = [0, 0, 0, 1, 1, 1, 1, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 8, 9, 9, 10]
    # fmt: on
    expected = frame(
        {
            "threshold": [INF, *FAWCETT_3["score"]],
            "tp": tp,
            "fp": fp,
            "fn": [10 - count for count in tp],
            "tn": [10 - count for count in fp],
            "fpr": [count / 10 for count in fp],
            "tpr": [count / 10 for count in tp],
        }
    )
    assert_frame_equal(actual, expected, check_exact=True)


def test_fawcett_2006_figure_3_the_area_and_the_best_accuracy():
    row = rf.auc(FAWCETT_3, "label", "score").row(0, named=True)
    assert row["auc"] == row["auc_pessimistic"] == row["auc_optimistic"] == 17 / 25
    assert row["se"] == pytest.approx(math.sqrt(121 / 7500), rel=1e-15)  # DeLong's variance, exact
    curve = rf.curve(FAWCETT_3, "label", "score", metrics=["accuracy", "youden"])
    best = curve.filter(pl.col("accuracy") == pl.col("accuracy").max())
    assert best.select("threshold", "fpr", "tpr", "accuracy").rows() == [(0.54, 0.1, 0.5, 0.7)]
    assert curve["youden"].max() == 0.4
    areas = rf.area(rf.curve(FAWCETT_3, "label", "score", kind="pr"))
    expected = float(Fraction(6796689, 9237800))
    assert areas["average_precision"][0] == pytest.approx(expected, rel=1e-14)
    assert expected == pytest.approx(0.735747580592783, abs=1e-14)


def test_fawcett_2006_figure_4_a_perfect_ranking_with_a_poor_threshold():
    columns = ["n_pos", "n_neg", "n_missing", "auc", "auc_pessimistic", "auc_optimistic"]
    row = rf.auc(FAWCETT_4, "label", "score").select(columns).row(0)
    assert row == (6, 4, 0, 1.0, 1.0, 1.0)
    curve = rf.curve(FAWCETT_4, "label", "score", metrics="accuracy")
    found = rf.at(curve, threshold=[0.5, 0.6, 0.99955])
    assert found["accuracy"].to_list() == [8 / 10, 9 / 10, 1.0]
    assert found.select("tp", "fp").rows() == [(6, 2), (6, 1), (6, 0)]
    fixed = rf.curve(FAWCETT_4, "label", "score", metrics="accuracy", thresholds=[0.5, 0.6])
    assert fixed["accuracy"].to_list() == [4 / 10, 9 / 10, 8 / 10]


def test_fawcett_2006_section_10_the_classifier_between_two_for_a_budget():
    # CoIL 2000: 4000 clients, 240 of whom respond. A selects (.1, .2), B (.25, .6), the budget 800.
    scored = [(1, 3, 48), (0, 3, 376), (1, 2, 96), (0, 2, 564), (1, 1, 96), (0, 1, 2820)]
    curve = rf.curve(counted(scored), "label", "score", count="n", metrics="alert_rate")
    assert curve.select("fpr", "tpr").rows()[1:3] == [(0.1, 0.2), (0.25, 0.6)]
    point = rf.at(curve, alert_rate=800 / 4000, interpolate=True).row(0, named=True)
    # The paper prints k = .53, read off the rounded point (.18, .42): 774 clients, not 800.
    assert point["mix"] == pytest.approx(94 / 165, rel=1e-14)
    assert point["tp"] + point["fp"] == pytest.approx(800, rel=1e-15)
    assert point["fpr"] == pytest.approx(51 / 275, rel=1e-14)
    assert point["tpr"] == pytest.approx(353 / 825, rel=1e-14)
    assert (point["threshold_above"], point["threshold_below"]) == (3.0, 2.0)


def test_dyakonov_2017_seven_rows_with_a_tie():
    table = pl.DataFrame(
        {"label": [0, 0, 0, 1, 1, 1, 0], "score": [0.5, 0.1, 0.2, 0.6, 0.2, 0.3, 0.0]}
    )
    row = rf.auc(table, "label", "score").row(0, named=True)
    areas = [row[f"auc{end}"] for end in ("_pessimistic", "", "_optimistic")]
    assert areas == [9 / 12, 9.5 / 12, 10 / 12]
    assert row["se"] == pytest.approx(math.sqrt(1 / 27), rel=1e-15)
    precision = rf.area(rf.curve(table, "label", "score", kind="pr"))["average_precision"][0]
    assert precision == pytest.approx(34 / 45, rel=1e-15)


def test_davis_goadrich_2006_table_2_precision_between_two_points():
    # From A, 5 true and 5 false positives, to B, 10 and 30, of 20 positives and 2000 negatives.
    scored = [(1, 3, 5), (0, 3, 5), (1, 2, 5), (0, 2, 25), (1, 1, 10), (0, 1, 1970)]
    curve = rf.curve(counted(scored), "label", "score", count="n", kind="pr")
    points = rf.at(curve, tpr=[0.25, 0.3, 0.35, 0.4, 0.45, 0.5], interpolate=True)
    assert points["tp"].to_list() == pytest.approx([5, 6, 7, 8, 9, 10], rel=1e-14)
    assert points["fp"].to_list() == pytest.approx([5, 10, 15, 20, 25, 30], rel=1e-13)
    printed = [0.5, 0.375, 0.318, 0.286, 0.265, 0.25]
    assert points["precision"].round(3).to_list() == printed
    # Half way a straight line would say .375.
    assert rf.at(curve, tpr=0.375, interpolate=True)["precision"][0] == pytest.approx(0.3)


def test_hanley_mcneil_1982_109_tomographies_in_five_ratings():
    normal, abnormal = (33, 6, 6, 11, 2), (3, 2, 2, 11, 33)
    rated = [
        (label, rating, n)
        for label, counts in ((0, normal), (1, abnormal))
        for rating, n in enumerate(counts, start=1)
    ]
    row = rf.auc(counted(rated), "label", "score", count="n", ci="delong").row(0, named=True)
    assert (row["n_pos"], row["n_neg"]) == (51, 58)
    assert row["auc"] == pytest.approx(0.89317106152805947, rel=1e-15)  # printed: .893
    assert row["se"] == pytest.approx(0.030724408379381115, rel=1e-13)  # Stata prints .0307
    assert row["lower"] == pytest.approx(0.83295232765817184, rel=1e-13)  # Stata: .83295
    assert row["upper"] == pytest.approx(0.9533897953979471, rel=1e-13)  # Stata: .95339
    errors = {"hanley_mcneil": 0.03199040819430935, "hanley_mcneil_exponential": 0.0324865796073421}
    for ci, se in errors.items():  # printed: .032
        row = rf.auc(counted(rated), "label", "score", count="n", ci=ci).row(0, named=True)
        assert row["se"] == pytest.approx(se, rel=1e-13)


@pytest.mark.parametrize("way", ["models", "groups"])
def test_delong_1988_three_markers_of_43_patients(way):
    # `totscore` is 10 less the Krebs-Goldberg score, of which a low one is good.
    rows = pl.DataFrame(DELONG["rows"], orient="row", schema=DELONG["columns"])
    markers = ["alb", "totscore", "tp"]
    if way == "models":
        result = rf.auc(rows, "popind", markers, ci="delong")
    else:
        long = rows.unpivot(markers, index="popind", variable_name="model")
        result = rf.auc(long, "popind", "value", by="model", ci="delong")
    expected = pl.DataFrame({"model": markers, "auc": DELONG["auc"], "se": DELONG["se"]})
    # Printed in full by R; two correct roundings differ in the last digit.
    assert_frame_equal(result.select("model", "auc", "se"), expected, rel_tol=1e-13, abs_tol=0)
    assert result["auc"].round(4).to_list() == [0.7366, 0.7258, 0.6478]
    assert result["se"].round(4).to_list() == [0.0927, 0.1028, 0.1000]


def test_muschelli_2019_a_binary_predictor():
    table = counted([(1, 1, 31), (1, 0, 17), (0, 1, 1), (0, 0, 35)])
    row = rf.auc(table, "label", "score", count="n").row(0, named=True)
    assert row["auc"] == float(Fraction(233, 288))  # the trapezoid: (sensitivity + specificity)/2
    assert row["auc_pessimistic"] == float(Fraction(1085, 1728))  # no credit for ties
    assert row["se"] == pytest.approx(math.sqrt(5495 / 3898368), rel=1e-14)
    areas = rf.area(rf.curve(table, "label", "score", count="n", kind="pr"))
    assert areas["average_precision"][0] == pytest.approx(8903 / 10752, rel=1e-14)


# Vuk & Curk, "ROC curve, lift chart and calibration plot" (Metodološki zvezki 3, 2006), table 2.
VUK_CURK_2 = pl.DataFrame({"label": [1, 1, 0, 1, 0], "score": [0.9, 0.6, 0.4, 0.4, 0.2]})


def test_vuk_curk_2006_table_2_two_areas_of_one_tie():
    row = rf.auc(VUK_CURK_2, "label", "score").row(0, named=True)
    # Their first area joins points by lower steps, their second by straight lines.
    assert row["auc_pessimistic"] == 5 / 6
    assert row["auc"] == 11 / 12
    assert row["auc_optimistic"] == 1.0


VUK_CURK_3 = pl.DataFrame({"label": [1, 1, 0, 0, 1, 0], "score": [0.9, 0.6, 0.5, 0.4, 0.4, 0.2]})
EXAMPLES = {
    "fawcett 3": FAWCETT_3,
    "fawcett 4": FAWCETT_4,
    "vuk & curk 2": VUK_CURK_2,
    "vuk & curk 3": VUK_CURK_3,
}


@pytest.mark.parametrize("table", EXAMPLES.values(), ids=EXAMPLES)
def test_vuk_curk_2006_the_area_under_the_gain_chart(table):
    curve = rf.curve(table, "label", "score", kind="gain", metrics="prevalence")
    width = curve["alert_rate"].diff()[1:]
    area = (width * (curve["tpr"] + curve["tpr"].shift())[1:] / 2).sum()
    share, auc = curve["prevalence"][0], rf.area(curve)["auc"][0]
    assert area == pytest.approx(share / 2 + (1 - share) * auc, abs=1e-15)


def test_vuk_curk_2006_the_lift_chart_counts_true_positives():
    curve = rf.curve(VUK_CURK_3, "label", "score", kind="lift_chart")
    assert curve.columns[-1] == "alert_rate"
    assert curve.select("alert_rate", "tp").rows() == [
        (0.0, 0),
        (1 / 6, 1),
        (2 / 6, 2),
        (3 / 6, 2),
        (5 / 6, 3),
        (1.0, 3),
    ]
    areas = pl.DataFrame({"auc": [5 / 6], "lift_area": [2.0], "lift_area_step": [5 / 3]})
    assert_frame_equal(rf.area(curve), areas, rel_tol=0, abs_tol=1e-15)


def worst(positives: int, negatives: int) -> pl.DataFrame:
    """Return scores with all negatives above all positives, without ties."""
    n = positives + negatives
    return pl.DataFrame(
        {"label": [0] * negatives + [1] * positives, "score": list(range(n, 0, -1))}
    )


@pytest.mark.parametrize(
    ("positives", "negatives", "exact"),
    [
        (5, 5, Fraction(893, 2520)),
        (10, 90, Fraction(19642966051223, 346206189128800)),
        (100, 100, sum(Fraction(i, i + 100) for i in range(1, 101)) / 100),
    ],
)
def test_boyd_2012_the_smallest_average_precision(positives, negatives, exact):
    curve = rf.curve(worst(positives, negatives), "label", "score", kind="pr")
    found = rf.area(curve)["average_precision"][0]
    assert found == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(
    ("share", "least"),
    [(0.5, 0.3068528194400547), (0.1, 0.05175535907956341), (0.01, 0.005016750503356371)],
)
def test_boyd_2012_the_smallest_area_under_a_precision_recall_curve(share, least):
    # 1 + (1 - π)·ln(1 - π)/π, whatever the number of rows: positives one by one, or all at once.
    negatives = round(1000 * (1 - share))
    for table in (
        counted([(0, 2, negatives), (1, 1, 1000 - negatives)]),
        worst(1000 - negatives, negatives).with_columns(n=pl.lit(1)),
    ):
        curve = rf.curve(table, "label", "score", count="n", kind="pr")
        # For rare positives, 1 - (1 - π)·(-ln(1 - π))/π loses two or three digits.
        assert rf.area(curve)["pr_auc"][0] == pytest.approx(least, rel=1e-11)


def test_saito_rehmsmeier_2015_interpolation_beats_the_straight_line():
    # A tie block of 10 + 10 after one positive: linear interpolation would give more.
    table = counted([(1, 2, 1), (1, 1, 10), (0, 1, 10)])
    areas = rf.area(rf.curve(table, "label", "score", count="n", kind="pr")).row(0, named=True)
    # Precision 1 up to recall 1/11, then (1 + t)/(1 + 2t) over t from 0 to 10.
    integral = 1 + (10 / 2 + math.log(21) / 4)
    assert areas["pr_auc"] == pytest.approx(integral / 11, rel=1e-14)
    assert areas["average_precision"] == pytest.approx((1 + 10 * 11 / 21) / 11, rel=1e-14)


# The table of a class in "ROC Curve and Performance Metrics": 150 irises, 50 of each species.
# fmt: off
VERSICOLOR = {
    "threshold": [
        1, 0.95455, 0.91304, -0.2, -0.33333, -0.6, -0.86957, -0.91111, -0.95122, -0.95238,
        -0.95349, -1,
    ],
    "fpr": [0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.12, 0.16, 0.31, 0.38, 0.44, 1],
    "tpr": [0.7, 0.8, 0.9, 0.9, 0.9, 0.9, 0.92, 0.96, 0.96, 0.98, 0.98, 1],
}
# fmt: on


def versicolor() -> pl.DataFrame:
    """Return counted predictions with the curve of the table."""
    rows = []
    for name, total, rates in ((1, 50, VERSICOLOR["tpr"]), (0, 100, VERSICOLOR["fpr"])):
        steps = [b - a for a, b in zip([0, *rates], rates, strict=False)]
        rows += [
            (name, at, round(total * step))
            for at, step in zip(VERSICOLOR["threshold"], steps, strict=True)
        ]
    return counted(rows)


def test_mathworks_rocmetrics_the_curve_of_versicolor():
    table = versicolor().with_columns(species=pl.lit("versicolor"))
    curve = rf.curve(table, "label", "score", by="species", count="n")
    expected = pl.DataFrame(
        {
            "threshold": [INF, *map(float, VERSICOLOR["threshold"])],
            "fpr": [0.0, *VERSICOLOR["fpr"]],
            "tpr": [0.0, *VERSICOLOR["tpr"]],
        }
    )
    assert_frame_equal(curve.select("threshold", "fpr", "tpr"), expected, rel_tol=1e-15)
    assert round(rf.auc(table, "label", "score", count="n")["auc"].item(), 4) == 0.9636
    # The operating point of the model is at 0: the row with the smallest threshold above it.
    for fixed, value, point in (
        ("threshold", 0, (0.03, 0.9)),
        ("fpr", 0.02, (0.02, 0.8)),
        ("tpr", 0.9, (0.03, 0.9)),
    ):
        found = rf.average(curve, over="species", method="macro", fixed=fixed, grid=[value])
        assert found.select("fpr", "tpr").row(0) == pytest.approx(point, rel=1e-15)


def test_mathworks_rocmetrics_prior_and_cost_of_versicolor():
    # No printed table has metrics with Prior and Cost. The formulas of the page are evaluated for
    # the printed curve: counts are multiplied by a scale vector, so that their ratio is that of the
    # priors, and the two costs are the products of the cost matrix with the priors of the class on
    # one side and of the other classes on the other side.
    classes = ["setosa", "versicolor", "virginica"]
    prior = [Fraction(1, 2), Fraction(1, 5), Fraction(3, 10)]
    cost = [[0, 2, 1], [4, 0, 1], [1, 3, 0]]
    own, others = (0, prior[1], 0), (prior[0], 0, prior[2])
    pairs = [(i, j) for i in range(3) for j in range(3)]
    cost_fn = sum(own[i] * cost[i][j] * others[j] for i, j in pairs)
    cost_fp = sum(others[i] * cost[i][j] * own[j] for i, j in pairs)
    scale = (prior[1] * 150 / 50, (1 - prior[1]) * 150 / 100)
    table = versicolor().with_columns(pl.lit("versicolor").alias("class"))
    curve = rf.curve(table, "label", "score", by="class", count="n")
    options = {"prior": dict(zip(classes, map(float, prior), strict=True)), "costs": cost}
    found = rf.add_metrics(curve, ["ppv", "npv", "accuracy", "expected_cost"], **options)
    costs = []
    for row in found.iter_rows(named=True):
        tp, fn = scale[0] * row["tp"], scale[0] * row["fn"]
        fp, tn = scale[1] * row["fp"], scale[1] * row["tn"]
        assert row["ppv"] == (pytest.approx(float(tp / (tp + fp))) if tp + fp else None)
        assert row["npv"] == (pytest.approx(float(tn / (tn + fn))) if tn + fn else None)
        assert row["accuracy"] == pytest.approx(float((tp + tn) / 150))
        # The costs of rocframe are means: the priors on each side are divided by their sum.
        costs.append((fn * cost_fn + fp * cost_fp) / 150 / (prior[1] * (1 - prior[1])))
        assert row["expected_cost"] == pytest.approx(float(costs[-1]))
    best = rf.operating_point(curve, "expected_cost", **options)
    assert best["threshold"].item() == curve["threshold"][costs.index(min(costs))]
    # With the defaults of Prior and Cost, the expected cost is the error rate.
    equal = rf.add_metrics(
        curve,
        ["expected_cost", "error_rate"],
        prior=dict.fromkeys(classes, 1 / 3),
        costs=[[0, 1, 1], [1, 0, 1], [1, 1, 0]],
    )
    wrong = (curve["fp"] + curve["fn"]) / 150
    for name in ("expected_cost", "error_rate"):
        assert equal[name].to_list() == pytest.approx(wrong.to_list())
