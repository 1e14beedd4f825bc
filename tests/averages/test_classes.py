"""`average` over classes: macro, weighted and micro, as others have them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rocframe as rf

CLASSES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def scored() -> tuple[np.ndarray, np.ndarray]:
    """Classes of unequal size, and probabilities of each that add up to one."""
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
def test_the_area_of_the_mean_is_scikit_learns_average(curves, scored, method):
    metrics = pytest.importorskip("sklearn.metrics")
    mean = curves.roc.average(over="class", method=method, grid="union")
    expected = metrics.roc_auc_score(*scored, multi_class="ovr", average=method)
    assert mean.roc.area().item() == pytest.approx(expected, abs=1e-12)


def test_the_macro_curve_is_scikit_learns(curves, scored):
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


def test_the_micro_curve_is_scikit_learns(curves, scored):
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


def test_a_prior_takes_the_place_of_class_frequencies(curves, table):
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


def test_classes_are_no_sample_and_so_there_are_no_limits(curves):
    macro = curves.roc.average(over="class", method="macro", grid=5)
    for name in ("tpr_se", "tpr_lower", "tpr_upper", "ci_level"):
        assert macro[name].null_count() == 5
    assert macro["tpr_sd"].null_count() == 0
    vertical = curves.roc.average(over="class", interval=None, grid=5)
    assert_frame_equal(macro, vertical)


def test_a_class_that_is_absent_is_left_out_and_named(table):
    absent = table.with_columns(label=pl.col("label") & (pl.col("class") != "c"))
    curves = rf.curve(absent, "label", "score", by="class")
    macro = curves.roc.average(over="class", method="macro", grid=3)
    assert macro.select("n_curves", "note").rows() == [(2, "left_out:1 (c)")] * 3
    assert macro["tpr"].null_count() == 0


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            {"method": "macro", "interval": "t"},
            "interval='t': method='macro' with interval='t' does not read it.\nLeave it out.",
        ),
        (
            {"method": "macro", "weights": "rows"},
            "weights='rows': method='macro' with interval='corrected' does not read it.\n",
        ),
        (
            {"method": "macro", "prior": {"a": 1}},
            "prior={'a': 1}: method='macro' with interval='corrected' does not read it.\n",
        ),
        (
            {"method": "weighted", "prior": [0.5]},
            "prior=[0.5]: it is no mapping from classes to numbers.\nGive, say, prior={",
        ),
        (
            {"method": "weighted", "prior": {"a": 0}},
            "prior['a']=0: a weight is a finite number above 0.\n",
        ),
        (
            {"method": "weighted", "prior": {"a": 1}},
            "weights={'a': 1}: it has no weight for 'b'.\nGive one for every value of 'class'.",
        ),
    ],
)
def test_what_does_not_go_with_classes_says_so(curves, options, text):
    with pytest.raises(rf.OptionValueError) as caught:
        curves.roc.average(over="class", **options)
    assert str(caught.value).startswith(text)
