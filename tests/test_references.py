"""Results equal those of scikit-learn and polarbearings, and stored results of scikit-learn."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rocframe as rf
from tests.strategies import ANY_WEIGHTS, PLAIN, TIED, both_classes, tables

if TYPE_CHECKING:
    import numpy as np

FROZEN = json.loads((Path(__file__).parent / "reference" / "vote_sklearn.json").read_text())
MODELS = sorted(FROZEN["pooled"])
AREAS = {"roc": ("auc", "roc_auc"), "pr": ("average_precision", "average_precision")}

# Both sides round: their sums of products of rates against our quotient of whole numbers.
CLOSE = 1e-12


@pytest.fixture(scope="module")
def metrics():
    return pytest.importorskip("sklearn.metrics", reason="scikit-learn is in the test group")


def arrays(table: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    return table["label"].to_numpy(), table["score"].to_numpy()


# Frozen


@pytest.mark.parametrize("kind", AREAS)
def test_areas_of_the_vote_log_are_scikit_learns(kind, frame):
    ours, theirs = AREAS[kind]
    log = frame(rf.datasets.vote())
    areas = rf.area(rf.curve(log, "label", "score", by="model", kind=kind))
    expected = frame({"model": MODELS, ours: [FROZEN["pooled"][model][theirs] for model in MODELS]})
    actual = areas.select("model", ours)
    assert_frame_equal(actual, expected, rel_tol=0, abs_tol=CLOSE)


def test_areas_of_each_fold_are_scikit_learns():
    folds = pl.DataFrame(FROZEN["folds"]).sort("model", "fold")
    result = rf.auc(rf.datasets.vote(), "label", "score", by=["model", "fold"])
    actual = result.select("model", pl.col("fold").cast(pl.Int64), "n_pos", "n_neg", roc_auc="auc")
    expected = folds.select(actual.columns)
    assert_frame_equal(actual, expected, rel_tol=0, abs_tol=CLOSE)
    curves = rf.curve(rf.datasets.vote(), "label", "score", by=["model", "fold"], kind="pr")
    precision = rf.area(curves)["average_precision"]
    assert precision.to_list() == pytest.approx(folds["average_precision"].to_list(), abs=CLOSE)


@pytest.mark.parametrize("model", MODELS)
def test_curves_of_the_vote_log_are_scikit_learns_point_for_point(model):
    frozen = FROZEN["pooled"][model]["roc_curve"]
    rows = rf.datasets.vote().filter(pl.col("model") == model)
    curve = rf.curve(rows, "label", "score")
    assert curve.height == frozen["n_points"]
    expected = pl.DataFrame(
        {
            "threshold": [math.inf if t == "inf" else t for t in frozen["threshold"]],
            **{name: frozen[name] for name in ("tp", "fp", "fpr", "tpr")},
        },
        strict=False,
    )
    # The same counts over the same totals: the same quotients.
    assert_frame_equal(curve[frozen["index"]].select(expected.columns), expected, check_exact=True)


# Live


@given(table=tables(shape=TIED, min_size=2) | tables(shape=PLAIN, min_size=2))
def test_roc_curve(metrics, table):
    assume(both_classes(table))
    fpr, tpr, thresholds = metrics.roc_curve(*arrays(table), drop_intermediate=False)
    curve = rf.curve(table, "label", "score").select("threshold", "fpr", "tpr")
    expected = pl.DataFrame({"threshold": thresholds, "fpr": fpr, "tpr": tpr})
    assert_frame_equal(curve, expected, check_exact=True)


@given(table=tables(shape=PLAIN, min_size=2, mass={"weight": ANY_WEIGHTS}))
def test_weighted_roc_curve(metrics, table):
    table = table.filter(pl.col("weight") > 0)
    assume(both_classes(table))
    fpr, tpr, thresholds = metrics.roc_curve(
        *arrays(table), sample_weight=table["weight"].to_numpy(), drop_intermediate=False
    )
    curve = rf.curve(table, "label", "score", weight="weight").select("threshold", "fpr", "tpr")
    expected = pl.DataFrame({"threshold": thresholds, "fpr": fpr, "tpr": tpr})
    assert_frame_equal(curve, expected, rel_tol=0, abs_tol=CLOSE)


@given(table=tables(shape=TIED, min_size=2) | tables(shape=PLAIN, min_size=2))
def test_precision_recall_curve(metrics, table):
    assume(table["label"].any())
    precision, recall, thresholds = metrics.precision_recall_curve(*arrays(table))
    curve = rf.curve(table, "label", "score", kind="pr")
    # theirs rises, ends with an artificial point (0, 1), and has no row above all scores
    expected = pl.DataFrame(
        {"threshold": thresholds, "recall": recall[:-1], "precision": precision[:-1]}
    ).reverse()
    assert_frame_equal(curve[1:].select(expected.columns), expected, check_exact=True)
    assert curve["precision"][0] is None


@given(table=tables(shape=TIED, min_size=2) | tables(shape=PLAIN, min_size=2))
def test_det_curve(metrics, table):
    assume(both_classes(table))
    fpr, fnr, thresholds = metrics.det_curve(*arrays(table))
    curve = rf.curve(table, "label", "score", kind="det").select("threshold", "fpr", "fnr")
    expected = pl.DataFrame({"threshold": thresholds, "fpr": fpr, "fnr": fnr}).reverse()
    # theirs leaves out rows that only repeat an end: where fpr is 0, all but the best
    shared = curve.join(expected.select("threshold"), on="threshold", how="semi")
    assert_frame_equal(shared, expected, check_exact=True)


@given(
    table=tables(shape=PLAIN, min_size=2, mass={"weight": ANY_WEIGHTS})
    | tables(shape=TIED, min_size=2, mass={"weight": ANY_WEIGHTS})
)
def test_roc_auc_score(metrics, table):
    table = table.filter(pl.col("weight") > 0)
    assume(both_classes(table))
    weight = table["weight"].to_numpy()
    assert rf.auc(table, "label", "score")["auc"][0] == pytest.approx(
        metrics.roc_auc_score(*arrays(table)), abs=CLOSE
    )
    assert rf.auc(table, "label", "score", weight="weight")["auc"][0] == pytest.approx(
        metrics.roc_auc_score(*arrays(table), sample_weight=weight), abs=CLOSE
    )


@given(
    table=tables(shape=PLAIN, min_size=2, mass={"weight": ANY_WEIGHTS}),
    most=st.sampled_from([0.05, 0.1, 1 / 3, 0.5, 0.99]) | st.floats(0.01, 0.99),
)
def test_roc_auc_score_up_to_a_false_positive_rate_is_mcclishs_area(metrics, table, most):
    table = table.filter(pl.col("weight") > 0)
    assume(both_classes(table))
    options = {"fpr": (0, most), "standardize": "mcclish", "ci": None}
    assert rf.auc(table, "label", "score", **options)["partial_auc"][0] == pytest.approx(
        metrics.roc_auc_score(*arrays(table), max_fpr=most), abs=CLOSE
    )
    weighted = rf.auc(table, "label", "score", weight="weight", **options)
    assert weighted["partial_auc"][0] == pytest.approx(
        metrics.roc_auc_score(
            *arrays(table), sample_weight=table["weight"].to_numpy(), max_fpr=most
        ),
        abs=CLOSE,
    )


@given(table=tables(shape=TIED, min_size=2, mass={"weight": ANY_WEIGHTS}))
def test_average_precision_score(metrics, table):
    table = table.filter(pl.col("weight") > 0)
    assume(table["label"].any())
    curve = rf.curve(table, "label", "score", weight="weight", kind="pr")
    assert rf.area(curve)["average_precision"][0] == pytest.approx(
        metrics.average_precision_score(*arrays(table), sample_weight=table["weight"].to_numpy()),
        abs=CLOSE,
    )


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("accuracy", "accuracy_score"),
        ("balanced_accuracy", "balanced_accuracy_score"),
        ("f1", "f1_score"),
        ("jaccard", "jaccard_score"),
        ("mcc", "matthews_corrcoef"),
        ("kappa", "cohen_kappa_score"),
    ],
)
def test_rates_of_hard_calls(metrics, ours, theirs):
    rows = rf.datasets.vote().filter(pl.col("model") == "random_forest")
    label, score = arrays(rows)
    curve = rf.curve(rows, "label", "score", metrics=ours)[1:]
    expected = [getattr(metrics, theirs)(label, score >= t) for t in curve["threshold"]]
    # Where all or nothing is called, theirs says 0 of some that have no value.
    pairs = [(a, b) for a, b in zip(curve[ours], expected, strict=True) if a is not None]
    assert len(pairs) >= curve.height - 1
    for a, b in pairs:
        assert a == pytest.approx(b, abs=CLOSE)


def test_mutual_information_and_chi_squared_of_hard_calls(metrics):
    contingency = pytest.importorskip("scipy.stats.contingency", reason="scipy is a dependency")
    rows = rf.datasets.vote().filter(pl.col("model") == "nearest_neighbours")
    label, score = arrays(rows)
    curve = rf.curve(rows, "label", "score", metrics=["mutual_information", "chi2"])[1:-1]
    for threshold, bits, chi2 in curve.select("threshold", "mutual_information", "chi2").rows():
        called = score >= threshold
        nats = metrics.mutual_info_score(label, called)
        assert bits == pytest.approx(nats / math.log(2), abs=CLOSE)
        table = contingency.crosstab(label, called).count
        found = contingency.chi2_contingency(table, correction=False).statistic
        assert chi2 == pytest.approx(found, rel=1e-10)


@pytest.fixture(scope="module")
def bears():
    return pytest.importorskip("polarbearings", reason="polarbearings is in the test group")


def test_areas_of_polarbearings(bears):
    log = rf.datasets.vote().with_columns(weight=1 + pl.col("id") % 7 / 10)
    truth = pl.col("label").cast(pl.Int8)
    theirs = (
        log.group_by("model", "fold")
        .agg(
            auc=bears.roc_auc(truth, "score"),
            weighted=bears.roc_auc(truth, "score", weight="weight"),
        )
        .sort("model", "fold")
    )
    by = ["model", "fold"]
    ours = rf.auc(log, "label", "score", by=by).select(*by, "auc")
    weighted = rf.auc(log, "label", "score", by=by, weight="weight")
    ours = ours.with_columns(weighted=weighted["auc"])
    assert_frame_equal(ours, theirs, rel_tol=0, abs_tol=CLOSE)


def test_the_confusion_matrices_of_polarbearings(bears):
    log = rf.datasets.vote().with_columns(pl.col("label").cast(pl.Int8))
    theirs = bears.confusion_curve(log, "label", "score", by="model", endpoints=False).collect()
    ours = rf.curve(log, "label", "score", by="model").select(
        "model", "threshold", "tp", "fp", "fn", "tn"
    )
    # theirs starts at the highest score
    ours = ours.filter(pl.col("threshold") < math.inf)
    theirs = theirs.select(
        "model",
        pl.col("threshold").cast(pl.Float64),
        *(pl.col(name).cast(pl.Int64) for name in ("tp", "fp", "fn", "tn")),
    ).sort("model", "threshold", descending=[False, True])
    assert_frame_equal(ours, theirs)
