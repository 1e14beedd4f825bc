"""`average` over classes: macro, weighted and micro averages equal those of scikit-learn."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

CLASSES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def scored() -> tuple[np.ndarray, np.ndarray]:
    """Return classes of unequal size with probabilities that sum to one."""
    rng = np.random.default_rng(8)
    truth = rng.choice(3, 400, p=[0.6, 0.3, 0.1])
    raw = rng.normal(size=(400, 3))
    raw[np.arange(400), truth] += 1
    odds = np.exp(raw)
    return truth, odds / odds.sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def table(scored) -> pl.DataFrame:
    truth, shares = scored
    return pl.DataFrame(
        {
            "class": np.tile(CLASSES, 400),
            "label": (truth[:, None] == np.arange(3)).ravel(),
            "score": shares.ravel(),
        }
    )


@pytest.fixture(scope="module")
def curves(table) -> pl.DataFrame:
    return rf.curve(table, "label", "score", by="class")


@pytest.mark.parametrize("method", ["macro", "weighted"])
def test_the_area_of_the_mean_equals_the_average_of_scikit_learn(curves, scored, method):
    metrics = pytest.importorskip("sklearn.metrics")
    mean = curves.roc.average(over="class", method=method, grid="union")
    expected = metrics.roc_auc_score(*scored, multi_class="ovr", average=method)
    assert mean.roc.area().item() == pytest.approx(expected, abs=1e-12)


def test_the_macro_curve_equals_that_of_scikit_learn(curves, scored):
    metrics = pytest.importorskip("sklearn.metrics")
    truth, shares = scored
    grid = (np.arange(100) + 0.5) / 100.01  # where no class has a jump
    rises = []
    for i in range(3):
        fpr, tpr, _ = metrics.roc_curve(truth == i, shares[:, i], drop_intermediate=False)
        assert not set(fpr) & set(grid)
        rises.append(np.interp(grid, fpr, tpr))
    mean = curves.roc.average(over="class", method="macro", grid=grid)
    assert mean["tpr"].to_numpy() == pytest.approx(np.mean(rises, axis=0), abs=1e-12)


def test_the_micro_curve_equals_that_of_scikit_learn(curves, scored):
    metrics = pytest.importorskip("sklearn.metrics")
    truth, shares = scored
    labels = truth[:, None] == np.arange(3)
    fpr, tpr, threshold = metrics.roc_curve(labels.ravel(), shares.ravel(), drop_intermediate=False)
    micro = curves.roc.average(over="class", method="micro")
    expected = pl.DataFrame({"threshold": threshold, "fpr": fpr, "tpr": tpr})
    assert_frame_equal(micro.select("threshold", "fpr", "tpr"), expected, abs_tol=1e-12)
    area = metrics.roc_auc_score(labels, shares, average="micro")
    assert micro["pooled_auc"][0] == pytest.approx(area, abs=1e-12)
    assert_frame_equal(micro, curves.roc.average(over="class", method="pooled"))


def test_a_prior_replaces_class_frequencies(curves, table):
    areas = dict(rf.area(curves).iter_rows())
    prior = {"a": 1, "b": 1, "c": 8}
    mean = curves.roc.average(over="class", method="weighted", prior=prior, grid="union")
    expected = sum(prior[name] * areas[name] for name in CLASSES) / 10
    assert mean.roc.area().item() == pytest.approx(expected, abs=1e-12)
    own = dict(table.group_by("class").agg(pl.col("label").sum()).iter_rows())
    weighted = curves.roc.average(over="class", method="weighted")
    assert_frame_equal(
        curves.roc.average(over="class", method="weighted", prior=own), weighted, abs_tol=1e-15
    )


def test_averages_over_classes_have_no_limits(curves):
    macro = curves.roc.average(over="class", method="macro", grid=5)
    for name in ("tpr_se", "tpr_lower", "tpr_upper", "ci_level"):
        assert macro[name].null_count() == 5
    assert macro["tpr_sd"].null_count() == 0
    vertical = curves.roc.average(over="class", ci=None, grid=5)
    assert_frame_equal(macro, vertical)


def test_a_class_without_rows_is_excluded_and_in_the_note(table):
    absent = table.with_columns(label=pl.col("label") & (pl.col("class") != "c"))
    curves = rf.curve(absent, "label", "score", by="class")
    macro = curves.roc.average(over="class", method="macro", grid=3)
    assert macro.select("n_curves", "note").rows() == [(2, "left_out:1 (c)")] * 3
    assert macro["tpr"].null_count() == 0


GRIDS = {"threshold": [0.8, 0.5, 0.2], "fpr": [0.0, 0.1, 0.5, 1.0], "tpr": [0.25, 0.5, 0.9, 1.0]}


def at_fixed(labels: np.ndarray, scores: np.ndarray, fixed: str, value: float) -> tuple:
    """Return FPR and TPR of a curve where FPR, TPR or the threshold has this value."""
    positive, negative = scores[labels], scores[~labels]
    if fixed == "threshold":
        return (negative >= value).mean(), (positive >= value).mean()
    cuts = [np.inf, *np.unique(scores)[::-1]]
    fpr = np.array([(negative >= cut).mean() for cut in cuts])
    tpr = np.array([(positive >= cut).mean() for cut in cuts])
    along, up = (fpr, tpr) if fixed == "fpr" else (tpr, fpr)
    # At a jump, the better row is used: the highest TPR at an FPR, the lowest FPR at a TPR.
    exact = np.flatnonzero(np.isclose(along, value, rtol=0, atol=1e-12))
    found = np.interp(value, along, up) if not len(exact) else up[exact[-(fixed == "fpr")]]
    return (value, found) if fixed == "fpr" else (found, value)


@pytest.mark.parametrize("fixed", GRIDS)
@pytest.mark.parametrize("method", ["macro", "weighted", "micro"])
def test_averages_over_classes_at_a_fixed_threshold_fpr_or_tpr(curves, scored, method, fixed):
    truth, shares = scored
    labels = truth[:, None] == np.arange(3)
    found = curves.roc.average(over="class", method=method, fixed=fixed, grid=GRIDS[fixed])
    if method == "micro":
        expected = [at_fixed(labels.ravel(), shares.ravel(), fixed, at) for at in GRIDS[fixed]]
    else:
        weights = labels.sum(axis=0) if method == "weighted" else np.ones(3)
        expected = [
            np.average(
                [at_fixed(labels[:, i], shares[:, i], fixed, at) for i in range(3)],
                axis=0,
                weights=weights,
            )
            for at in GRIDS[fixed]
        ]
    rates = found.select("fpr", "tpr").to_numpy()
    assert rates == pytest.approx(np.array(expected), abs=1e-12)
    assert found["n_curves"].to_list() == [3] * len(GRIDS[fixed])
    for name in ("ci_level", *({"fpr_se", "tpr_se"} & {*found.columns})):
        assert found[name].null_count() == found.height


def test_a_prior_is_the_weight_of_classes_at_any_fixed_metric(curves):
    alone = [
        curves.filter(pl.col("class") == name).roc.average(
            over="class", fixed="accuracy", metrics=["precision", "tpr"], grid=[0.5, 0.6]
        )
        for name in CLASSES
    ]
    prior = dict(zip(CLASSES, (1, 1, 8), strict=True))
    mean = curves.roc.average(
        over="class",
        method="weighted",
        prior=prior,
        fixed="accuracy",
        metrics=["precision", "tpr"],
        grid=[0.5, 0.6],
    )
    for i, at in enumerate((0.5, 0.6)):
        there = [
            (part.row(i, named=True), prior[name])
            for name, part in zip(CLASSES, alone, strict=True)
        ]
        there = [(row, weight) for row, weight in there if row["n_curves"]]
        assert mean["n_curves"][i] == len(there) > 0
        for name in ("precision", "tpr"):
            expected = sum(row[name] * weight for row, weight in there)
            expected /= sum(weight for _, weight in there)
            assert mean[name][i] == pytest.approx(expected, abs=1e-12), at


def test_a_pooled_curve_at_fixed_values_is_the_pooled_curve(curves):
    whole = curves.roc.average(over="class", method="micro")
    points = whole.roc.at(fpr=[0.05, 0.3], interpolate=True)
    read = curves.roc.average(
        over="class", method="micro", fixed="fpr", metrics=["tpr", "tp"], grid=[0.05, 0.3]
    )
    assert read["tpr"].to_list() == pytest.approx(points["tpr"].to_list(), abs=1e-12)
    assert read["tp"].to_list() == pytest.approx(points["tp"].to_list(), abs=1e-9)
    every = curves.roc.average(over="class", method="micro", fixed="threshold", grid="union")
    assert_frame_equal(
        every.select("threshold", "fpr", "tpr"), whole.select("threshold", "fpr", "tpr")
    )
