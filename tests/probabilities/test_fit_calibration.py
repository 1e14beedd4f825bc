"""Fits of calibration functions against scikit-learn and scipy, and their application."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from polars.testing import assert_frame_equal, assert_series_equal
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import rocframe as rf
from rocframe.kernel import scan as scan_module
from tests.strategies import tables

METHODS = ["isotonic", "platt", "logistic", "beta", "temperature"]
any_method = pytest.mark.parametrize("method", METHODS)
KNOTS, PARAMETERS = ["score", "probability"], ["intercept", "slope", "slope_complement"]
NAMES = [*KNOTS, *PARAMETERS]


def sample(n: int, seed: int, n_groups: int = 3) -> pl.DataFrame:
    """Draw predictions whose probabilities are distorted, with ties and weights."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.beta(0.8, 1.1, n), 2).clip(0.01, 0.99)
    z = np.log(p / (1 - p))
    group = rng.integers(0, n_groups, n)
    label = rng.random(n) < expit((0.5 + 0.4 * group) * z - 0.3 * group)
    return pl.DataFrame(
        {
            "group": [f"g{g}" for g in group],
            "fold": rng.integers(0, 4, n),
            "label": label,
            "p": p,
            "score": 3 * z + 10,
            "weight": rng.uniform(0.1, 3, n),
        }
    )


FIT, TEST = sample(600, 1), sample(300, 2)


def parameters(fit: pl.DataFrame) -> np.ndarray:
    return fit.select("intercept", "slope", "slope_complement").to_numpy()


def negative_log_likelihood(linear: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    return float(np.sum(w * (np.logaddexp(0, linear) - y * linear)))


@pytest.mark.parametrize("weight", [None, "weight"])
def test_isotonic_scores_are_those_of_scikit_learn(weight):
    fit = rf.fit_calibration(FIT, "label", "score", by="group", weight=weight)
    # The scores of the test data are between, below and above the fitted scores.
    test = TEST.with_columns(pl.col("score") * 1.37 - 4)
    found = rf.apply_calibration(test, "score", fit)
    for (name,), rows in FIT.group_by("group"):
        oracle = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(
            rows["score"], rows["label"], None if weight is None else rows[weight]
        )
        part = found.filter(group=name)
        assert np.allclose(part["calibrated_score"], oracle.predict(part["score"]), atol=1e-12)


def test_the_knots_are_the_ends_of_the_levels_of_isotonic_regression():
    table = pl.DataFrame({"label": [0, 0, 1, 0, 1, 1], "score": [0.1, 0.2, 0.2, 0.3, 0.5, 0.6]})
    fit = rf.fit_calibration(table, "label", "score")
    assert fit.select("score", "probability").rows() == [
        (0.1, 0.0),
        (0.2, 1 / 3),
        (0.3, 1 / 3),
        (0.5, 1.0),
        (0.6, 1.0),
    ]
    info = ["method", "n_folds", "n_pos", "n_neg", "n_missing"]
    assert fit.columns == [*KNOTS, *info, *PARAMETERS, "note"]
    assert fit.select("n_pos", "n_neg", "n_missing", "n_folds", "note").unique().rows() == [
        (3, 3, 0, None, None)
    ]


@pytest.mark.parametrize("weight", [None, "weight"])
def test_platt_scaling_is_that_of_scikit_learn(weight):
    fit = rf.fit_calibration(FIT, "label", "score", by="group", method="platt", weight=weight)
    found = rf.apply_calibration(TEST, "score", fit)
    for (name,), rows in FIT.group_by("group"):
        weights = None if weight is None else rows[weight].to_numpy()
        oracle = _SigmoidCalibration().fit(
            rows["score"].to_numpy(), rows["label"].to_numpy().astype(int), weights
        )
        part = found.filter(group=name)
        expected = oracle.predict(part["score"].to_numpy())
        # scikit-learn stops when the gradient is below a tolerance.
        assert np.allclose(part["calibrated_score"], expected, atol=2e-4)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_the_parameters_of_platt_scaling_maximize_the_likelihood_of_its_targets(weight):
    fit = rf.fit_calibration(FIT, "label", "score", by="group", method="platt", weight=weight)
    for (name,), rows in FIT.group_by("group"):
        y, x = rows["label"].to_numpy(), rows["score"].to_numpy()
        w = np.ones(len(y)) if weight is None else rows[weight].to_numpy()
        n_pos, n_neg = w[y].sum(), w[~y].sum()
        target = np.where(y, (n_pos + 1) / (n_pos + 2), 1 / (n_neg + 2))
        intercept, slope, other = parameters(fit.filter(group=name))[0]
        residual = w * (target - expit(intercept + slope * x))
        assert abs(residual.sum()) < 1e-8
        assert abs((residual * x).sum()) < 1e-7
        assert math.isnan(other)


@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize(("method", "score"), [("logistic", "p"), ("platt", "score")])
def test_logistic_regression_without_smoothing_is_that_of_scikit_learn(method, score, weight):
    fit = rf.fit_calibration(
        FIT, "label", score, by="group", method=method, weight=weight, smooth_targets=False
    )
    found = rf.apply_calibration(TEST, score, fit)
    for (name,), rows in FIT.group_by("group"):
        part = found.filter(group=name)
        x, new = ((logit(r[score]) if score == "p" else r[score]).to_numpy() for r in (rows, part))
        oracle = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky").fit(
            x[:, None], rows["label"], None if weight is None else rows[weight]
        )
        one = fit.filter(group=name)
        assert one["intercept"].item() == pytest.approx(oracle.intercept_[0], rel=1e-7)
        assert one["slope"].item() == pytest.approx(oracle.coef_[0, 0], rel=1e-7)
        expected = oracle.predict_proba(new[:, None])[:, 1]
        assert np.allclose(part["calibrated_score"], expected, atol=1e-9)


def test_logistic_recalibration_has_the_intercept_and_slope_of_the_summary():
    fit = rf.fit_calibration(FIT, "label", "p", by="group", method="logistic")
    summary = rf.calibration_summary(FIT, "label", "p", by="group")
    assert_series_equal(fit["slope"], summary["calibration_slope"], check_names=False)
    assert_series_equal(fit["intercept"], summary["calibration_intercept"], check_names=False)
    # On the rows of the fit, the calibrated scores have the intercept 0 and the slope 1.
    calibrated = rf.apply_calibration(FIT, "p", fit)
    after = rf.calibration_summary(calibrated, "label", "calibrated_score", by="group")
    assert np.allclose(after["calibration_intercept"], 0, atol=1e-9)
    assert np.allclose(after["calibration_slope"], 1, atol=1e-9)


def test_isotonic_regression_removes_the_miscalibration_of_the_rows_of_the_fit():
    before = rf.calibration_summary(FIT, "label", "p", by="group")
    calibrated = rf.apply_calibration(FIT, "p", rf.fit_calibration(FIT, "label", "p", by="group"))
    after = rf.calibration_summary(calibrated, "label", "calibrated_score", by="group")
    assert (before["miscalibration"] > 0.001).all()
    assert np.allclose(after["miscalibration"], 0, atol=1e-12)
    assert np.allclose(after["discrimination"], before["discrimination"], atol=1e-12)
    assert np.allclose(after["brier"], before["brier"] - before["miscalibration"], atol=1e-12)


def skewed() -> pl.DataFrame:
    """Return rows for which the maximum without bounds has one negative slope in each group."""
    rng = np.random.default_rng(3)
    log_p, log_q = FIT["p"].log().to_numpy(), (1 - FIT["p"]).log().to_numpy()
    is_first = (FIT["group"] == "g1").to_numpy()
    log_odds = np.where(is_first, 1 + 2 * log_p + log_q, -1 - log_p - 2 * log_q)
    return FIT.with_columns(pl.Series("label", rng.random(FIT.height) < expit(log_odds)))


@pytest.mark.parametrize(
    ("table", "weight", "at_bound"),
    [(FIT, None, 0), (skewed(), "weight", 3)],
    ids=["rows", "weights, with bounds"],
)
def test_beta_calibration_maximizes_the_likelihood_with_slopes_of_at_least_0(
    table, weight, at_bound
):
    fit = rf.fit_calibration(table, "label", "p", by="group", method="beta", weight=weight)
    for (name,), rows in table.group_by("group"):
        y, p = rows["label"].to_numpy(), rows["p"].to_numpy().clip(2**-52, 1 - 2**-52)
        w = np.ones(len(y)) if weight is None else rows[weight].to_numpy()
        design = np.column_stack([np.ones(len(p)), np.log(p), -np.log1p(-p)])

        def loss(theta, design=design, y=y, w=w):
            return negative_log_likelihood(design @ theta, y, w)

        def slope(theta, design=design, y=y, w=w):
            return design.T @ (w * (expit(design @ theta) - y))

        bounds = [(None, None), (0, None), (0, None)]
        options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 2000}
        oracle = minimize(loss, [0, 1, 1], jac=slope, bounds=bounds, options=options)
        found = parameters(fit.filter(group=name))[0]
        assert loss(found) <= oracle.fun + 1e-9 * abs(oracle.fun)
        assert np.allclose(found, oracle.x, atol=2e-3)
        assert (found[1:] >= 0).all()
    assert (parameters(fit)[:, 1:] == 0).any(axis=1).sum() == at_bound


def test_beta_calibration_has_a_fit_if_a_function_separates_the_classes_but_no_threshold_does():
    # The first group is separated by a function of a positive and a negative slope. The second
    # group has two different scores after clipping, so its parameters are not unique.
    table = pl.DataFrame(
        {
            "group": ["a"] * 8 + ["b"] * 4,
            "label": [0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0],
            "p": [0.05, 0.1, 0.4, 0.5, 0.6, 0.7, 0.92, 0.95, 0.0, 1e-20, 0.5, 0.5],
        }
    )
    fit = rf.fit_calibration(table, "label", "p", by="group", method="beta")
    y, p = (table[name].to_numpy()[:8] for name in ("label", "p"))
    design = np.column_stack([np.ones(8), np.log(p), -np.log1p(-p)])

    def loss(theta):
        return negative_log_likelihood(design @ theta, y, np.ones(8))

    oracle = minimize(loss, [0, 1, 1], bounds=[(None, None), (0, None), (0, None)])
    found = parameters(fit)[0]
    assert loss(found) <= oracle.fun + 1e-12
    assert found == pytest.approx(oracle.x, abs=1e-4)
    assert found[2] == 0
    assert fit["note"].to_list() == [None, "no_solution"]


@pytest.mark.parametrize("weight", [None, "weight"])
def test_temperature_scaling_maximizes_the_likelihood(weight):
    fit = rf.fit_calibration(FIT, "label", "p", by="group", method="temperature", weight=weight)
    for (name,), rows in FIT.group_by("group"):
        y, x = rows["label"].to_numpy(), logit(rows["p"].to_numpy())
        w = np.ones(len(y)) if weight is None else rows[weight].to_numpy()
        oracle = minimize_scalar(
            lambda t, x=x, y=y, w=w: negative_log_likelihood(x / t, y, w),
            bounds=(0.01, 100),
            method="bounded",
            options={"xatol": 1e-9},
        )
        one = fit.filter(group=name)
        assert 1 / one["slope"].item() == pytest.approx(oracle.x, rel=1e-5)
        assert one["intercept"].item() == 0


@any_method
def test_each_fold_is_calibrated_by_the_fit_of_the_other_folds(method):
    # One group has a single fold, and one fold is null.
    table = FIT.with_columns(
        fold=pl.when(pl.col("group") == "g2").then(1).when(pl.col("fold") > 0).then("fold")
    )
    fit = rf.fit_calibration(table, "label", "p", by="group", over="fold", method=method)
    found = rf.apply_calibration(table, "p", fit)
    parts = []
    for (name, fold), rows in table.group_by("group", "fold", maintain_order=True):
        others = table.filter(
            pl.col("group") == name, pl.col("fold").ne_missing(pl.lit(fold, pl.Int64))
        )
        if others.is_empty():
            part = rows.with_columns(calibrated_score=pl.lit(None, pl.Float64))
            assert fit.filter(group=name)["note"].to_list() == ["no_rows"]
        else:
            one = rf.fit_calibration(others, "label", "p", by="group", method=method)
            part = rf.apply_calibration(rows, "p", one)
            same = fit.filter(
                pl.col("group") == name, pl.col("fold").eq_missing(pl.lit(fold, pl.Int64))
            )
            columns = [*NAMES, "method", "n_pos", "n_neg", "n_missing", "note"]
            assert_frame_equal(same.select(columns), one.select(columns))
        parts.append(part)
    columns = table.columns
    assert_frame_equal(
        found.sort(columns), pl.concat(parts).sort(columns), rel_tol=1e-12, check_exact=False
    )
    n_folds = fit.group_by("group").agg(pl.col("n_folds").unique()).sort("group")
    assert n_folds["n_folds"].to_list() == [[3], [3], [0]]


@pytest.mark.slow
@given(table=tables(), other=tables())
def test_the_auc_of_isotonic_scores_is_within_the_tie_envelope(table, other):
    other = other.with_columns(pl.col("score").cast(pl.Float64))
    fit = rf.fit_calibration(table, "label", "score", by="group")
    for data in (table, other):
        found = rf.apply_calibration(data, "score", fit)
        rows = found.filter(pl.col("calibrated_score").is_not_null())
        before = rf.auc(rows, "label", "score", by="group", ci=None)
        after = rf.auc(rows, "label", "calibrated_score", by="group", ci=None)
        assert before["group"].to_list() == after["group"].to_list()
        low, high = after["auc_pessimistic"], after["auc_optimistic"]
        assert ((low <= before["auc"]) & (before["auc"] <= high)).drop_nulls().all()
        for (_,), part in rows.sort("score").group_by("group"):
            assert part["calibrated_score"].is_sorted()


@any_method
def test_fits_do_not_change_the_order_of_scores(method):
    fit = rf.fit_calibration(FIT, "label", "p", by="group", method=method)
    found = rf.apply_calibration(TEST, "p", fit)
    before = rf.auc(found, "label", "p", by="group", ci=None)
    after = rf.auc(found, "label", "calibrated_score", by="group", ci=None)
    if method == "isotonic":
        assert (before["auc"] <= after["auc_optimistic"]).all()
        assert (before["auc"] >= after["auc_pessimistic"]).all()
    else:
        assert_frame_equal(before, after)


@any_method
def test_weights_of_any_unit_give_the_same_fit(method):
    options = {"by": "group", "method": method, "weight": "weight"}
    if method != "isotonic":
        options["smooth_targets"] = False
    fit = rf.fit_calibration(FIT, "label", "p", **options)
    scaled = FIT.with_columns(pl.col("weight") * 1e-100)
    again = rf.fit_calibration(scaled, "label", "p", **options)
    assert_frame_equal(fit, again, rel_tol=1e-9)


@any_method
def test_results_do_not_depend_on_the_size_of_blocks(method, monkeypatch):
    whole = rf.fit_calibration(FIT, "label", "p", by="group", method=method, over="fold")
    monkeypatch.setattr(scan_module, "BLOCK_ROWS", 16)
    split = rf.fit_calibration(FIT, "label", "p", by="group", method=method, over="fold")
    assert_frame_equal(whole, split, rel_tol=1e-9)


@any_method
def test_a_group_without_a_fit_has_a_note_and_null_probabilities(method):
    table = pl.DataFrame(
        {
            "group": ["none"] + ["pos"] * 2 + ["neg"] * 2 + ["same"] * 3 + ["both"] * 6,
            "label": [None, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1],
            "score": [0.5, 0.1, 0.2, 0.1, 0.2, 0.5, 0.5, 0.5, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        }
    )
    options = {"by": "group", "method": method, "missing": "drop"}
    fit = rf.fit_calibration(table, "label", "score", **options)
    notes = dict(fit.select("group", "note").unique().rows())
    # Isotonic regression of equal scores has one level.
    same = None if method == "isotonic" else "zero_variance"
    assert notes == {
        "none": "no_rows", "pos": "no_negatives", "neg": "no_positives", "same": same, "both": None
    }  # fmt: skip
    undefined = fit.filter(pl.col("note").is_not_null())
    assert undefined.select(NAMES).null_count().row(0) == (undefined.height,) * 5
    assert undefined["method"].unique().to_list() == [method]
    assert fit.filter(group="none").select("n_pos", "n_neg", "n_missing").row(0) == (0, 0, 1)
    found = rf.apply_calibration(table.drop("label"), "score", fit)
    is_null = found.group_by("group").agg(pl.col("calibrated_score").is_null().all())
    assert dict(is_null.rows()) == {name: note is not None for name, note in notes.items()}
    alone = rf.fit_calibration(table.filter(group="both"), "label", "score", **options)
    assert_frame_equal(fit.filter(group="both"), alone)


@pytest.mark.parametrize("method", METHODS[1:])
def test_a_slope_that_is_not_positive_gives_null(method):
    table = pl.DataFrame(
        {"label": [1, 1, 0, 1, 0, 0, 1, 0], "score": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.65, 0.8]}
    )
    fit = rf.fit_calibration(table, "label", "score", method=method)
    assert fit.select(*NAMES, "note").row(0) == (*[None] * 5, "negative_slope")
    found = rf.apply_calibration(table, "score", fit)
    assert found["calibrated_score"].null_count() == table.height


@pytest.mark.parametrize("method", METHODS[1:])
def test_separated_classes_have_a_fit_only_with_smooth_targets(method):
    table = pl.DataFrame({"label": [0, 0, 0, 1, 1, 1], "score": [0.1, 0.25, 0.45, 0.55, 0.7, 0.95]})
    fit = rf.fit_calibration(table, "label", "score", method=method, smooth_targets=False)
    assert fit.select(*NAMES, "note").row(0) == (*[None] * 5, "no_solution")
    smooth = rf.fit_calibration(table, "label", "score", method=method, smooth_targets=True)
    assert smooth["slope"].item() > 0
    assert smooth["note"].item() is None
    default = rf.fit_calibration(table, "label", "score", method=method)
    assert_frame_equal(default, smooth if method == "platt" else fit)


@pytest.mark.parametrize("method", METHODS[1:])
def test_positives_below_all_negatives_have_no_fit(method):
    table = pl.DataFrame({"label": [1, 1, 1, 1, 0, 0], "score": [0.2, 0.2, 0.2, 0.45, 0.6, 0.8]})
    fit = rf.fit_calibration(table, "label", "score", method=method, smooth_targets=False)
    assert fit.select(*NAMES, "note").row(0) == (*[None] * 5, "no_solution")
    smooth = rf.fit_calibration(table, "label", "score", method=method, smooth_targets=True)
    assert smooth.select(*NAMES, "note").row(0) == (*[None] * 5, "negative_slope")


def test_temperature_scaling_has_a_fit_if_a_threshold_other_than_one_half_separates_the_classes():
    table = pl.DataFrame({"label": [0, 0, 1, 1], "score": [0.55, 0.6, 0.7, 0.9]})
    fit = rf.fit_calibration(table, "label", "score", method="temperature")
    assert fit["slope"].item() > 0
    assert fit["note"].item() is None


@pytest.mark.parametrize("method", ["logistic", "beta", "temperature"])
def test_probabilities_of_0_and_1_are_clipped(method):
    rows = {"label": [0, 1, 0, 1, 0, 1, 1, 0], "score": [0.0, 0.0, 0.2, 0.6, 0.7, 0.8, 1.0, 1.0]}
    table = pl.DataFrame(rows)
    fit = rf.fit_calibration(table, "label", "score", method=method)
    clipped = table.with_columns(pl.col("score").clip(2.0**-52, 1 - 2.0**-52))
    again = rf.fit_calibration(clipped, "label", "score", method=method)
    assert_frame_equal(fit, again)
    found = rf.apply_calibration(table, "score", fit)["calibrated_score"]
    assert_series_equal(found, rf.apply_calibration(clipped, "score", fit)["calibrated_score"])
    assert found.is_between(0, 1).all()


def test_isotonic_regression_takes_scores_of_any_size():
    big = 1.7976931348623157e308
    table = pl.DataFrame(
        {"label": [0, 0, 1, 0, 1, 1], "score": [-math.inf, -big, 0.0, 1.0, big, math.inf]}
    )
    fit = rf.fit_calibration(table, "label", "score")
    assert fit["score"].to_list() == [-math.inf, -big, 0.0, 1.0, big, math.inf]
    assert fit["probability"].to_list() == [0, 0, 0.5, 0.5, 1, 1]
    new = pl.DataFrame({"score": [-math.inf, -big / 2, 0.5, big / 2, math.inf, None, math.nan]})
    found = rf.apply_calibration(new, "score", fit)["calibrated_score"].to_list()
    assert found == [0, 0.25, 0.5, 0.75, 1, None, None]


def test_between_an_infinite_and_a_finite_knot_the_probability_is_that_of_the_finite_knot():
    table = pl.DataFrame(
        {"label": [0, 0, 1, 1, 1], "score": [-math.inf, 2.0, 2.0, math.inf, math.inf]}
    )
    fit = rf.fit_calibration(table, "label", "score")
    new = pl.DataFrame({"score": [-math.inf, -5.0, 2.0, 5.0, math.inf]})
    found = rf.apply_calibration(new, "score", fit)["calibrated_score"].to_list()
    assert found == [0, 0.5, 0.5, 0.5, 1]
    ends = rf.fit_calibration(table.filter(pl.col("score") != 2), "label", "score")
    found = rf.apply_calibration(new, "score", ends)["calibrated_score"].to_list()
    assert found == [0, 0.5, 0.5, 0.5, 1]


def test_platt_scaling_of_scores_of_any_unit():
    fit = rf.fit_calibration(FIT, "label", "score", method="platt")
    for factor, shift in [(1e-200, 0), (1e150, 0), (1.0, 1e7), (2.0**-20, 3.0)]:
        moved = (pl.col("score") * factor + shift).alias("score")
        again = rf.fit_calibration(FIT.with_columns(moved), "label", "score", method="platt")
        found = rf.apply_calibration(TEST.with_columns(moved), "score", again)
        expected = rf.apply_calibration(TEST, "score", fit)
        assert_series_equal(found["calibrated_score"], expected["calibrated_score"], abs_tol=1e-6)


@pytest.mark.parametrize("method", ["isotonic", "beta"])
def test_a_stored_fit_gives_the_same_scores(method, tmp_path):
    fit = rf.fit_calibration(FIT, "label", "p", by="group", method=method)
    rf.write(fit, tmp_path / "fit.parquet")
    stored = rf.read(tmp_path / "fit.parquet")
    assert_frame_equal(stored, fit)
    assert_frame_equal(
        rf.apply_calibration(TEST, "p", stored), rf.apply_calibration(TEST, "p", fit)
    )


@pytest.mark.parametrize("method", ["isotonic", "beta"])
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_a_fit_is_applied_in_a_lazy_plan(method, engine):
    fit = rf.fit_calibration(FIT.lazy(), "label", "p", by="group", method=method).collect()
    expected = rf.apply_calibration(TEST, "p", fit)
    plan = TEST.lazy().roc.apply_calibration("p", fit)
    assert plan.collect_schema() == expected.schema
    assert_frame_equal(plan.collect(engine=engine), expected)
    remaining = (pl.col("group") == "g1") & (pl.col("p") > 0.5)
    assert_frame_equal(plan.filter(remaining).collect(engine=engine), expected.filter(remaining))
    assert_frame_equal(plan.head(7).collect(engine=engine), expected.head(7))
    assert_frame_equal(plan.select("calibrated_score").collect(), expected.select(pl.last()))


def test_several_scores_side_by_side_get_one_column_each():
    scores = {"a": "p", "b": pl.col("p") ** 2}
    fit = rf.fit_calibration(FIT, "label", scores, by="group", over="fold")
    assert fit.columns[:3] == ["group", "fold", "model"]
    found = rf.apply_calibration(FIT, scores, fit)
    assert found.columns == [*FIT.columns, "calibrated_a", "calibrated_b"]
    one = rf.fit_calibration(FIT, "label", "p", by="group", over="fold")
    expected = rf.apply_calibration(FIT, "p", one)["calibrated_score"]
    assert_series_equal(found["calibrated_a"], expected, check_names=False)
    # Isotonic regression depends on the order of scores only, at the fitted scores.
    inside = rf.fit_calibration(FIT, "label", scores, by="group")
    both = rf.apply_calibration(FIT, scores, inside)
    assert_series_equal(both["calibrated_a"], both["calibrated_b"], check_names=False)


def test_a_fit_of_several_models_is_applied_to_rows_with_a_column_model():
    fit = rf.fit_calibration(FIT, "label", {"a": "p", "b": "score"}, method="platt")
    wide = rf.apply_calibration(TEST, {"b": "score"}, fit)
    long = TEST.with_columns(model=pl.lit("b"))
    found = rf.apply_calibration(long, "score", fit)
    assert_series_equal(found["calibrated_score"], wide["calibrated_b"], check_names=False)


def test_a_group_that_was_not_fitted_has_null_scores():
    fit = rf.fit_calibration(FIT.filter(group="g0"), "label", "p", by="group")
    found = rf.apply_calibration(TEST, "p", fit)
    is_null = found["calibrated_score"].is_null()
    assert_series_equal(is_null, found["group"] != "g0", check_names=False)


def test_fits_of_different_methods_can_be_concatenated():
    parts = [
        rf.fit_calibration(FIT.filter(group=name), "label", "p", by="group", method=method)
        for name, method in (("g0", "platt"), ("g1", "isotonic"), ("g2", "beta"))
    ]
    found = rf.apply_calibration(TEST, "p", pl.concat(parts))
    for part in parts:
        rows = TEST.filter(group=part["group"][0])
        expected = rf.apply_calibration(rows, "p", part)
        assert_frame_equal(found.filter(group=part["group"][0]), expected)


def test_tables_without_rows():
    empty = FIT.clear()
    assert rf.fit_calibration(empty, "label", "p")["note"].to_list() == ["no_rows"]
    for options in ({"by": "group"}, {"over": "fold"}, {"by": "group", "over": "fold"}):
        fit = rf.fit_calibration(empty, "label", "p", **options)
        assert fit.height == 0
        found = rf.apply_calibration(TEST, "p", fit)
        assert found["calibrated_score"].null_count() == TEST.height
    fit = rf.fit_calibration(FIT, "label", "p", by="group")
    assert rf.apply_calibration(empty, "p", fit).height == 0


def test_the_integer_and_float32_scores_of_a_fit():
    table = FIT.with_columns(
        score=(pl.col("p") * 100).round().cast(pl.Int64), small=pl.col("p").cast(pl.Float32)
    )
    for name in ("score", "small"):
        fit = rf.fit_calibration(table, "label", name, by="group")
        found = rf.apply_calibration(table, name, fit)
        expected = rf.apply_calibration(FIT, "p", rf.fit_calibration(FIT, "label", "p", by="group"))
        assert_series_equal(found["calibrated_score"], expected["calibrated_score"])


@pytest.mark.parametrize("method", ["platt", "logistic", "beta", "temperature"])
def test_scores_that_get_the_same_probability_are_counted_in_the_note(method):
    n = 400
    score = np.concatenate([np.linspace(0.3, 0.7, n // 2), 1 - np.logspace(-3, -15, n // 2)])
    label = np.arange(n) % 7 > 1
    label[: n // 2] ^= True
    options = {"by": "g", "method": method}
    if method == "platt":
        score = np.where(score > 0.7, 100.0 * np.arange(n), 10 * score)
        label = np.arange(n) % 7 < 7 * np.arange(n) / (n // 2)
        options["smooth_targets"] = False
    table = pl.DataFrame({"g": "a", "label": label, "score": score})
    wide = table.with_columns(g=pl.lit("b"), score=0.2 + 0.6 * pl.col("score").rank() / n)
    both = pl.concat([table, wide])
    fit = rf.fit_calibration(both, "label", "score", **options)
    calibrated = both.roc.apply_calibration("score", fit)
    expected = []
    for group in ("a", "b"):
        values = calibrated.filter(g=group)
        merged = values["score"].n_unique() - values["calibrated_score"].n_unique()
        expected.append(f"merged:{merged}" if merged else None)
    assert fit["note"].to_list() == expected
    assert expected[1] is None
    if method == "platt":
        assert expected[0] is not None
    repeated = pl.concat([both, both])
    again = rf.fit_calibration(repeated, "label", "score", **options)
    assert again["note"].to_list() == expected
