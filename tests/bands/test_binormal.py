"""Binormal fits and bands: a published fit, another optimiser, and properties of all fits."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri
from scipy.stats import chi2

import rocframe as rf
from rocframe.bands import smooth as ratings_module
from rocframe.bands.smooth import Binormal, Ratings, fit_binormal, line_limits
from tests.bands.binormal_samples import held, samples
from tests.strategies import examples

# Positives and negatives of each rating, from the highest down.
HANLEY = ([33, 11, 2, 2, 3], [2, 11, 6, 6, 33])


def ratings(*tables):
    starts = np.cumsum([0, *(len(pos) for pos, _ in tables)])
    pos, neg = (np.concatenate([table[i] for table in tables]).astype(float) for i in (0, 1))
    return Ratings(groups=np.arange(len(tables)), starts=starts, pos=pos, neg=neg)


def rows(pos, neg, **more):
    counted = [(True, -i, n) for i, n in enumerate(pos)] + [
        (False, -i, n) for i, n in enumerate(neg)
    ]
    return pl.DataFrame(counted, schema=["label", "score", "n"], orient="row").with_columns(**more)


def test_the_fit_of_hanley_and_mcneils_ratings_is_the_published_one():
    # 109 tomographic images; Stata's rocfit prints these.
    fit = fit_binormal(ratings(HANLEY))
    assert fit.a.item() == pytest.approx(1.656782, abs=1e-6)
    assert fit.b.item() == pytest.approx(0.713002, abs=1e-6)
    assert math.sqrt(fit.var_a.item()) == pytest.approx(0.310456, abs=1e-6)
    assert math.sqrt(fit.var_b.item()) == pytest.approx(0.215882, abs=1e-6)
    area = ndtr(fit.a / np.sqrt(1 + fit.b**2)).item()
    assert area == pytest.approx(0.911331, abs=1e-6)


def test_as_many_cutoffs_as_parameters_are_fitted_exactly():
    fit = fit_binormal(ratings(([4, 3, 3], [1, 4, 5])))
    x, y = ndtri([0.1, 0.5]), ndtri([0.4, 0.7])
    b = (y[1] - y[0]) / (x[1] - x[0])
    assert (fit.a.item(), fit.b.item()) == pytest.approx((y[0] - b * x[0], b), abs=1e-7)


def likelihood(parameters, pos, neg):
    a, b = parameters[0], math.exp(parameters[1])
    x = np.append(
        np.append(-np.inf, np.cumsum(np.append(parameters[2], np.exp(parameters[3:])))), np.inf
    )
    shares = np.diff(ndtr(x)), np.diff(ndtr(a + b * x))
    return -sum(
        count * math.log(max(share, 1e-300))
        for counts, of_side in zip((neg, pos), shares, strict=True)
        for count, share in zip(counts, of_side, strict=True)
        if count
    )


@examples(2 / 5)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=3, max_size=6))
def test_another_optimiser_finds_no_better_fit(counts):
    pos, neg = ([row[i] for row in counts] for i in (0, 1))
    fit = fit_binormal(ratings((pos, neg)))
    shares = np.cumsum(neg)[:-1] / sum(neg)
    start = ndtri(shares)
    begin = [0.0, 0.0, start[0], *np.log(np.diff(start))]
    found = minimize(likelihood, begin, args=(pos, neg), method="BFGS", options={"gtol": 1e-7})
    assert fit.a.item() == pytest.approx(found.x[0], abs=1e-3)
    assert math.log(fit.b.item()) == pytest.approx(found.x[1], abs=1e-3)


def test_ratings_are_runs_of_one_class():
    label = [True, True, False, False, True, False, True, True, False]
    score = [9, 8, 7, 6, 5, 5, 4, 3, 2]
    frame = pl.DataFrame({"label": label, "score": score})
    result = rf.band(frame, "label", "score", method="working_hotelling", grid=9)
    runs = rows([2, 0, 1, 2, 0], [0, 2, 1, 0, 1])
    grouped = rf.band(runs, "label", "score", count="n", method="working_hotelling", grid=9)
    assert result.equals(grouped)
    assert result["note"].null_count() == 9


def test_very_many_ratings_are_merged(monkeypatch):
    frame, _ = samples(400, 1, a=1.0, b=0.7)
    options = {"method": "working_hotelling", "grid": 11}
    fine = rf.band(frame, "label", "score", **options)
    monkeypatch.setattr(ratings_module, "MAX_RATINGS", 60)
    coarse = rf.band(frame, "label", "score", **options)
    assert not coarse.equals(fine)
    for name in ("tpr", "lower", "upper"):
        assert coarse[name].to_list() == pytest.approx(fine[name].to_list(), abs=0.01)


@examples(3 / 4)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=3, max_size=8))
def test_negating_scores_and_labels_reflects_the_line(counts):
    counts = [row for row in counts if any(row)]
    pos, neg = ([row[i] for row in counts] for i in (0, 1))
    if not (sum(pos) and sum(neg)):
        return
    fit, turned = (fit_binormal(ratings(table)) for table in ((pos, neg), (neg[::-1], pos[::-1])))
    # y = a + b x becomes x = (y - a) / b, and both axes change sign.
    assert np.isnan(fit.a) == np.isnan(turned.a)
    assert turned.a.item() == pytest.approx(
        fit.a.item() / fit.b.item(), rel=1e-4, abs=1e-4, nan_ok=True
    )
    assert turned.b.item() == pytest.approx(1 / fit.b.item(), rel=1e-4, nan_ok=True)


NO_SOLUTION = {
    "constant": ([5], [5]),
    "one cutoff": ([4, 2], [2, 4]),
    "separated": ([5, 0], [0, 5]),
    "separated but for a tie": ([5, 5, 0], [0, 5, 5]),
    "negatives around positives": ([0, 5, 0], [5, 0, 5]),
    "both classes at either end": ([5, 0, 5], [0, 5, 0]),
}


@pytest.mark.parametrize("counts", NO_SOLUTION.values(), ids=NO_SOLUTION)
def test_there_is_no_solution_if_the_likelihood_has_no_maximum(counts):
    table = rows(*counts).filter(pl.col("n") > 0)
    result = rf.band(table, "label", "score", count="n", method="working_hotelling", grid=3)
    assert result["note"].to_list() == ["no_solution"] * 3
    assert result.select("tpr", "lower", "upper").null_count().row(0) == (3, 3, 3)


def test_the_band_equals_working_and_hotellings_formula():
    level = 0.9
    fit = fit_binormal(ratings(HANLEY))
    a, b, var_a, var_b, cov = (part.item() for part in fit)
    fpr = [0.02, 0.1, 0.3, 0.7]
    result = rf.band(
        rows(*HANLEY),
        "label",
        "score",
        count="n",
        method="working_hotelling",
        level=level,
        grid=fpr,
    )
    radius = math.sqrt(chi2.ppf(level, 2))
    for row, x in zip(result.iter_rows(named=True), ndtri(fpr), strict=True):
        half = radius * math.sqrt(var_a + 2 * x * cov + x * x * var_b)
        assert row["tpr"] == pytest.approx(ndtr(a + b * x), abs=1e-12)
        assert row["lower"] == pytest.approx(ndtr(a + b * x - half), abs=1e-9)
        assert row["upper"] == pytest.approx(ndtr(a + b * x + half), abs=1e-9)


def test_limits_never_decrease():
    # b is no larger than its error: some lines of the ellipse fall.
    fit = Binormal(*(np.full(2001, value) for value in (1.0, 0.3, 0.05, 0.09, 0.02)))
    x = np.append(np.append(-np.inf, np.linspace(-8, 8, 1999)), np.inf)
    lower, upper = line_limits(fit, x, 2.4)
    assert (np.diff(lower[1:]) >= -1e-12).all()
    assert (np.diff(upper[:-1]) >= -1e-12).all()
    plain = 2.4 * np.sqrt(0.05 + 0.04 * x[1:-1] + 0.09 * x[1:-1] ** 2)
    line = 1 + 0.3 * x[1:-1]
    assert lower[1:-1] == pytest.approx(np.maximum.accumulate(line - plain), abs=1e-4)
    assert upper[1:-1] == pytest.approx(np.minimum.accumulate((line + plain)[::-1])[::-1], abs=1e-4)
    # The ends of the axis: no curve leaves the corners, but these limits do.
    assert np.isfinite([lower[-1], upper[0]]).all()


def test_the_whole_true_curve_is_inside_with_the_confidence_level():
    frame, true = samples(100, 400, a=1.2, b=0.8)
    result = rf.band(frame, "label", "score", by="sample", method="working_hotelling", level=0.8)
    # Four standard errors, and what an approximation for many rows lacks with 100.
    assert held(result, true).mean() == pytest.approx(0.8, abs=0.08 + 0.03)
