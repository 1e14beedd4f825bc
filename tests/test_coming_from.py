"""The pages of docs/coming-from: results of rocframe equal those of the other packages."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rocframe as rf

metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is in the test group")

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGES = [*sorted((DOCS / "coming-from").glob("*.md")), DOCS / "rocmetrics.md"]

VOTES = rf.datasets.vote()
MODELS = ["naive_bayes", "random_forest"]  # the second has 11 distinct scores
DIGITS = (
    rf.datasets.digits()
    .filter(model="naive_bayes")
    .with_columns(pl.col(r"^p\d$").cast(pl.Float64))
    .with_columns(pl.col(r"^p\d$") / pl.sum_horizontal(r"^p\d$"))
)
SCORES = {digit: f"p{digit}" for digit in range(10)}


def arrays(rows):
    return rows["label"].to_numpy(), rows["score"].to_numpy()


def equal(actual, expected, **tolerance):
    tolerance = tolerance or {"rtol": 0, "atol": 1e-14}
    np.testing.assert_allclose(actual.to_numpy(), expected, **tolerance)


@pytest.fixture(params=MODELS)
def rows(request):
    return VOTES.filter(model=request.param).with_columns(w=1 + pl.col("id") % 3)


@pytest.mark.parametrize("weight", [None, "w"])
def test_areas_and_losses(rows, weight):
    y, s = arrays(rows)
    w = None if weight is None else rows[weight].to_numpy()
    expected = {
        "auc": metrics.roc_auc_score(y, s, sample_weight=w),
        "average_precision": metrics.average_precision_score(y, s, sample_weight=w),
        "brier": metrics.brier_score_loss(y, s, sample_weight=w),
        "log_loss": metrics.log_loss(y, s, sample_weight=w),
    }
    summary = rf.summary(rows, "label", "score", weight=weight)
    assert summary.select(*expected).row(0, named=True) == pytest.approx(expected, abs=1e-12)


def test_roc_curve_without_points_on_straight_lines(rows):
    fpr, tpr, _ = metrics.roc_curve(*arrays(rows))
    curve = rf.curve(rows, "label", "score", max_error=1e-6)
    corners = set(zip(curve["fpr"], curve["tpr"], strict=True))
    # roc_curve also keeps a few points on straight lines, at the start of the curve.
    assert corners <= set(zip(fpr.tolist(), tpr.tolist(), strict=True))
    assert len(fpr) - len(corners) <= 2


def test_confusion_matrix_at_thresholds(rows):
    pytest.importorskip("sklearn", "1.8")
    *counts, thresholds = metrics.confusion_matrix_at_thresholds(*arrays(rows))
    curve = rf.curve(rows, "label", "score")[1:]
    assert curve["threshold"].to_list() == thresholds.tolist()
    for name, expected in zip(["tn", "fp", "fn", "tp"], counts, strict=True):
        assert curve[name].to_list() == expected.tolist(), name


def test_metric_at_thresholds():
    pytest.importorskip("sklearn", "1.9")
    rows = VOTES.filter(model="random_forest")
    expected, thresholds = metrics.metric_at_thresholds(*arrays(rows), metrics.f1_score)
    curve = rf.curve(rows, "label", "score", metrics=["f1"])[1:].sort("threshold")
    order = np.argsort(thresholds)
    equal(curve["threshold"], thresholds[order])
    equal(curve["f1"], expected[order])


def test_metrics_at_one_threshold(rows):
    y, s = arrays(rows)
    decided = s >= 0.5
    expected = {
        "precision": metrics.precision_score(y, decided),
        "recall": metrics.recall_score(y, decided),
        "f1": metrics.f1_score(y, decided),
        "f_beta": metrics.fbeta_score(y, decided, beta=2),
        "accuracy": metrics.accuracy_score(y, decided),
        "error_rate": metrics.zero_one_loss(y, decided),
        "balanced_accuracy": metrics.balanced_accuracy_score(y, decided),
        "jaccard": metrics.jaccard_score(y, decided),
        "mcc": metrics.matthews_corrcoef(y, decided),
        "kappa": metrics.cohen_kappa_score(y, decided),
        "lr_pos": metrics.class_likelihood_ratios(y, decided)[0],
        "lr_neg": metrics.class_likelihood_ratios(y, decided)[1],
    }
    row = rf.curve(rows, "label", "score", metrics=list(expected), beta=2).roc.at(threshold=0.5)
    assert row.select(*expected).row(0, named=True) == pytest.approx(expected, abs=1e-12)
    matrix = rf.confusion_matrix(rows.select("label", call=pl.col("score") >= 0.5), "label", "call")
    tn, fp, fn, tp = metrics.confusion_matrix(y, decided).ravel().tolist()
    assert matrix.select("tn", "fp", "fn", "tp").row(0) == (tn, fp, fn, tp)


def test_calibration(rows):
    calibration = pytest.importorskip("sklearn.calibration")
    # Without the scores of the random forest, which equal edges of bins.
    rows = rows.with_columns(score=pl.col("score") * 0.999)
    event_rate, score_mean = calibration.calibration_curve(*arrays(rows), n_bins=10)
    bins = rf.calibration(rows, "label", "score", method="uniform", bins=10)
    equal(bins["event_rate"], event_rate)
    equal(bins["score_mean"], score_mean)


def test_brier_skill(rows):
    pytest.importorskip("sklearn", "1.8")
    expected = metrics.d2_brier_score(*arrays(rows))
    quality = rf.calibration_summary(rows, "label", "score")
    assert quality["brier_skill"].item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("average", "options"),
    [
        ("hand_till", {"multi_class": "ovo"}),
        ("macro", {"multi_class": "ovr"}),
        ("weighted", {"multi_class": "ovr", "average": "weighted"}),
        ("micro", {"multi_class": "ovr", "average": "micro"}),
    ],
)
def test_areas_of_many_classes(average, options):
    y, p = DIGITS["label"].to_numpy(), DIGITS.select(SCORES.values()).to_numpy()
    areas = rf.multiclass_auc(DIGITS, "label", SCORES, average=average)
    expected = metrics.roc_auc_score(y, p, **options)
    assert areas["auc"].item() == pytest.approx(expected, abs=1e-12)


def test_areas_of_each_class():
    y, p = DIGITS["label"].to_numpy(), DIGITS.select(SCORES.values()).to_numpy()
    rest = rf.one_vs_rest(DIGITS, "label", SCORES, id="id")
    areas = rf.auc(rest, "label", "score", by="class", ci=None)
    equal(areas["auc"], metrics.roc_auc_score(y, p, multi_class="ovr", average=None), atol=1e-12)


def test_losses_of_many_classes():
    y, p = DIGITS["label"].to_numpy(), DIGITS.select(SCORES.values()).to_numpy()
    losses = rf.multiclass_metrics(DIGITS, "label", SCORES).row(0, named=True)
    assert losses["log_loss"] == pytest.approx(metrics.log_loss(y, p), abs=1e-12)
    assert losses["accuracy"] == metrics.accuracy_score(y, p.argmax(axis=1))
    pytest.importorskip("sklearn", "1.8")
    assert losses["brier"] == pytest.approx(metrics.brier_score_loss(y, p), abs=1e-12)


# The grades (wfns) and outcomes of pROC's data set aSAH, as counts.
ASAH = pl.DataFrame(
    {"wfns": [1, 2, 3, 4, 5], "Good": [37, 20, 3, 8, 4], "Poor": [2, 12, 1, 8, 18]}
).unpivot(["Good", "Poor"], index="wfns", variable_name="outcome", value_name="n")


@pytest.mark.parametrize(
    ("area", "expected"),  # the areas in pROC's tests
    [
        ({}, 0.823678861788618),
        ({"fpr": (0, 0.1)}, 0.0334417344173442),
        ({"fpr": (0.1, 0.2)}, 0.0598373983739837),
        ({"fpr": (0.5, 1)}, 0.488134475939354),
        ({"tpr": (0.9, 1)}, 0.0400999322493225),
        ({"tpr": (0.8, 0.9)}, 0.0609953703703703),
    ],
)
def test_areas_of_proc(area, expected):
    areas = rf.auc(ASAH, "outcome", "wfns", positive="Poor", count="n", **area)
    assert areas["partial_auc" if area else "auc"].item() == pytest.approx(expected, abs=1e-12)


# The predictions, labels and some of the expected values of ROCR's tests.
# fmt: off
ROCR = pl.DataFrame(
    {
        "label": [0, 1, 1, 0, 1, 1, 0, 1, 0, 0],
        "score": [
            0.02495517, 0.92535646, 0.86251887, 0.80946685, 0.70922858,
            0.69762824, 0.50604485, 0.25446810, 0.10837728, 0.07250349,
        ],
    }
)
# fmt: on


def test_measures_of_rocr():
    curve = rf.curve(ROCR, "label", "score", metrics=["accuracy", "precision", "npv"])
    assert curve["tp"].to_list() == [0, 1, 2, 2, 3, 4, 4, 5, 5, 5, 5]
    assert curve["fp"].to_list() == [0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5]
    assert curve["accuracy"].to_list() == [0.5, 0.6, 0.7, 0.6, 0.7, 0.8, 0.7, 0.8, 0.7, 0.6, 0.5]
    assert curve["precision"].null_count() == curve["npv"].null_count() == 1  # ROCR: NaN
    assert rf.hull(curve).select("fpr", "tpr").rows() == [
        (0, 0),
        (0, 0.4),
        (0.2, 0.8),
        (0.4, 1),
        (1, 1),
    ]
    assert rf.area(curve)["auc"].item() == 0.84


def test_aucpr_of_rocr_is_the_area_of_straight_lines_between_the_best_points():
    curve = rf.curve(ROCR, "label", "score", kind="precision_recall")
    best = curve.group_by("recall").agg(pl.col("precision").max().fill_null(1)).sort("recall")
    trapezoids = np.trapezoid(best["precision"], best["recall"])
    assert trapezoids == pytest.approx(0.8814286, abs=1e-7)
    assert rf.area(curve)["pr_auc"].item() < trapezoids


def calls(page):
    """Return the calls of rocframe in the inline code of a page: the text, name and arguments."""
    for code in re.findall(r"`([^`\n]*\brf\.[^`\n]*)`", page.read_text(encoding="utf-8")):
        try:
            tree = ast.parse(code.replace("…", "..."), mode="eval")
        except SyntaxError:  # a statement
            tree = ast.parse(code.replace("…", "..."))
        for node in ast.walk(tree):
            match node:
                case ast.Call(func=ast.Attribute(ast.Name("rf"), attr=name), keywords=keywords):
                    yield code, name, {keyword.arg for keyword in keywords}
                case ast.Attribute(ast.Name("rf"), attr=name):
                    yield code, name, set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_functions_and_arguments_in_inline_code_exist(page):
    for code, name, arguments in calls(page):
        assert name in rf.__all__, code
        if arguments:
            assert arguments <= set(inspect.signature(getattr(rf, name)).parameters), code


def test_metrics_in_inline_code_exist():
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    lists = re.findall(r"`[^`\n]*\bmetrics=\[([^\]…`]*)\]", text)
    names = {name for part in lists for name in re.findall(r'"(\w+)"', part)}
    names -= {"threshold", "tpr", "fpr"}  # columns of every curve table
    of_classes = {name for name in names if re.match("macro_|micro_|weighted_|top_", name)}
    names -= of_classes
    assert names
    assert of_classes
    rf.curve(ROCR, "label", "score", metrics=sorted(names))
    rf.multiclass_metrics(DIGITS, "label", SCORES, metrics=sorted(of_classes))
