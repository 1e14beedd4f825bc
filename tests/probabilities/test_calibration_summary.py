"""The table of `calibration_summary` against scikit-learn, scipy and the definitions."""

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats
from scipy.optimize import minimize
from scipy.special import expit
from scipy.special import logit as log_odds
from sklearn import metrics
from sklearn.isotonic import IsotonicRegression

import rocframe as rf

PARTS = ("reliability", "resolution", "uncertainty", "within_bin_variance", "within_bin_covariance")


def hosmer_lemeshow_p(statistic, bins):
    """Return the p-value of a scaled chi-squared distribution; `bins` are the scores."""
    mean = variance = 0
    for p in bins:
        divisor, q = len(p) * p.mean() * (1 - p.mean()), p * (1 - p)
        mean += q.sum() / divisor
        variance += (2 * q.sum() ** 2 + (q * (1 - 6 * q)).sum()) / divisor**2
    return stats.chi2.sf(statistic * 2 * mean / variance, 2 * mean**2 / variance)


def predictions(n: int = 500) -> pl.DataFrame:
    rng = np.random.default_rng(11)
    predictor = rng.normal(-0.5, 1.5, n)
    return pl.DataFrame(
        {
            "model": rng.choice(["a", "b"], n),
            "label": rng.random(n) < expit(0.3 + 0.7 * predictor),
            "score": expit(predictor),
        }
    )


def test_statistics_are_those_of_scikit_learn_scipy_and_the_definitions():
    frame = predictions()
    table = rf.calibration_summary(frame, "label", "score", by="model")
    for row in table.iter_rows(named=True):
        part = frame.filter(pl.col("model") == row["model"]).sort("score")
        y, p = part["label"].to_numpy(), part["score"].to_numpy()
        n, rate = len(y), y.mean()
        fitted = IsotonicRegression().fit_transform(p, y.astype(float))
        isotonic = np.mean((fitted - y) ** 2)
        # The bin of a row is the number of tenths of the rows that have a lower score.
        index = np.arange(n) * 10 // n
        bins = [(y[index == i], p[index == i]) for i in range(10)]
        gaps = np.array([abs(ys.mean() - ps.mean()) for ys, ps in bins])
        sizes = np.array([len(ys) for ys, _ in bins])
        chi2 = sum(
            (ys.sum() - ps.sum()) ** 2 / (len(ys) * ps.mean() * (1 - ps.mean())) for ys, ps in bins
        )
        model = minimize(
            lambda ab, y=y, p=p: np.logaddexp(
                0, np.where(y, -1, 1) * (ab[0] + ab[1] * log_odds(p))
            ).sum(),
            [0, 1],
            method="BFGS",
            options={"gtol": 1e-8},
        )
        z = ((y - p) * (1 - 2 * p)).sum() / np.sqrt(((1 - 2 * p) ** 2 * p * (1 - p)).sum())
        expected = {
            "brier": metrics.brier_score_loss(y, p),
            "brier_skill": 1 - metrics.brier_score_loss(y, p) / (rate * (1 - rate)),
            "log_loss": metrics.log_loss(y, p),
            "miscalibration": metrics.brier_score_loss(y, p) - isotonic,
            "discrimination": rate * (1 - rate) - isotonic,
            "uncertainty": rate * (1 - rate),
            "ece": (gaps * sizes).sum() / n,
            "mce": gaps.max(),
            "spiegelhalter_z": z,
            "spiegelhalter_p": 2 * stats.norm.sf(abs(z)),
            "hosmer_lemeshow": chi2,
            "hosmer_lemeshow_df": 10,
            "hosmer_lemeshow_p": hosmer_lemeshow_p(chi2, [ps for _, ps in bins]),
            "cllr": (np.mean(-np.log2(p[y])) + np.mean(-np.log2(1 - p[~y]))) / 2,
            "n_pos": y.sum(),
            "n_neg": (~y).sum(),
            "n_missing": 0,
            "reliability": (gaps**2 * sizes).sum() / n,
        }
        assert {name: row[name] for name in expected} == pytest.approx(expected, rel=1e-10)
        found = [row["calibration_intercept"], row["calibration_slope"]]
        assert found == pytest.approx(model.x.tolist(), abs=1e-5)
        parts = [row[name] for name in PARTS]
        assert parts[0] - parts[1] + parts[2] + parts[3] - parts[4] == pytest.approx(row["brier"])
        assert expit(log_odds(p) + row["calibration_in_the_large"]).mean() == pytest.approx(rate)
        assert 0 <= row["cllr_min"] <= row["cllr"]
        assert row["e50"] <= row["e90"] <= row["e_max"]
        assert 0 < row["ici"] < row["e_max"]
        assert 0 < row["smooth_ece"] < row["mce"]


def test_bins_are_those_of_calibration():
    frame = predictions()
    for options in (
        *({"method": method, "bins": 7} for method in ("quantile", "uniform")),
        {"bins": [0, 0.01, 0.05, 0.2, 1]},
    ):
        table = rf.calibration_summary(frame, "label", "score", **options)
        bins = rf.calibration(frame, "label", "score", **options)
        gaps = bins.select(
            gap=(pl.col("event_rate") - pl.col("score_mean")).abs(), share=pl.col("n") / len(frame)
        )
        assert table.item(0, "ece") == pytest.approx((gaps["gap"] * gaps["share"]).sum())
        assert table.item(0, "mce") == pytest.approx(gaps["gap"].max())
        assert table.item(0, "hosmer_lemeshow_df") == bins.height


def test_degrees_of_freedom_are_reduced_by_fitted_parameters():
    frame = predictions()
    table = rf.calibration_summary(frame, "label", "score", n_fitted=2)
    assert table.item(0, "hosmer_lemeshow_df") == 8
    expected = stats.chi2.sf(table.item(0, "hosmer_lemeshow"), 8)
    assert table.item(0, "hosmer_lemeshow_p") == pytest.approx(expected)
    without = rf.calibration_summary(frame, "label", "score", bins=2, n_fitted=2)
    assert without.select("hosmer_lemeshow_df", "hosmer_lemeshow_p").row(0) == (0, None)


def test_undefined_statistics_are_null_and_do_not_affect_other_groups():
    frame = pl.DataFrame(
        {
            "g": ["empty", *["positives"] * 2, *["equal"] * 3, *["separate"] * 4, *["usual"] * 4],
            "label": [None, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1],
            "score": [0.5, 0.2, 0.4, 0.3, 0.3, 0.3, 0.1, 0.2, 0.6, 0.7, 0.1, 0.2, 0.4, 0.7],
        }
    )
    table = rf.calibration_summary(frame, "label", "score", by="g", missing="drop")
    nulls = {
        row["g"]: [k for k, v in row.items() if v is None] for row in table.iter_rows(named=True)
    }
    without_class = [
        *("brier_skill", "calibration_intercept", "calibration_slope", "cllr", "cllr_min"),
        "calibration_in_the_large",
    ]
    statistics = [name for name in table.columns[1:] if name not in {"n_pos", "n_neg", "n_missing"}]
    assert nulls == {
        "empty": [name for name in statistics if name != "note"],
        "positives": without_class,
        "equal": ["calibration_intercept", "calibration_slope"],
        "separate": ["calibration_intercept", "calibration_slope"],
        "usual": ["note"],
    }
    assert dict(table.select("g", "note").iter_rows()) == {
        "empty": "no_rows",
        "positives": "no_negatives",
        "equal": "one_positive",
        "separate": "separated",
        "usual": None,
    }
    alone = rf.calibration_summary(frame.filter(pl.col("g") == "usual"), "label", "score", by="g")
    assert_frame_equal(table.filter(pl.col("g") == "usual"), alone)


def test_statistics_do_not_depend_on_the_unit_of_weights():
    frame = predictions(200).with_columns(w=pl.int_range(200) % 7 / 3)
    one, other = (
        rf.calibration_summary(frame, "label", "score", by="model", weight=pl.col("w") * unit)
        for unit in (1, 1e-30)
    )
    assert_frame_equal(one, other, rel_tol=1e-9)
    y, p, w = (frame[name].to_numpy() for name in ("label", "score", "w"))
    weighted = rf.calibration_summary(frame, "label", "score", weight="w")
    expected = metrics.brier_score_loss(y, p, sample_weight=w)
    assert weighted.item(0, "brier") == pytest.approx(expected)


def test_losses_are_those_of_summary_and_minimum_cllr_ignores_increasing_functions():
    frame = predictions().with_columns(cubed=pl.col("score") ** 3)
    table = rf.calibration_summary(frame, "label", ["score", "cubed"])
    both = rf.summary(frame, "label", ["score", "cubed"])
    assert_frame_equal(table.select("brier", "log_loss"), both.select("brier", "log_loss"))
    assert table["cllr_min"][0] == table["cllr_min"][1]
    assert table["discrimination"][0] == table["discrimination"][1]


def test_the_page_on_calibration_states_the_mean_ece_of_calibrated_scores():
    page = (Path(__file__).parents[2] / "docs/calibration.md").read_text(encoding="utf-8")
    stated = re.search(
        r"mean `ece` is ([\d.]+) with 100 rows, ([\d.]+) with 1,000 and ([\d.]+) with 10,000",
        " ".join(page.split()),
    )
    rng = np.random.default_rng(1)
    for n, samples, text in zip((100, 1_000, 10_000), (200, 40, 10), stated.groups(), strict=True):
        sample = np.repeat(np.arange(samples), n)
        score = rng.beta(1, 3, n * samples)
        label = rng.random(n * samples) < score
        frame = pl.DataFrame({"sample": sample, "score": score, "label": label})
        table = rf.calibration_summary(frame, "label", "score", by="sample")
        assert f"{table['ece'].mean():.2f}" == text
