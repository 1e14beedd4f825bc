"""H measures are compared with integrals of the lowest loss of all thresholds."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import inf

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.integrate import quad
from scipy.stats import beta

import rocframe as rf
from tests.test_published import FAWCETT_3

PREDICTIONS = pl.DataFrame({"label": [1, 0, 1, 0, 1, 0], "score": [0.9, 0.8, 0.7, 0.4, 0.4, 0.1]})
ROWS = st.lists(st.tuples(st.booleans(), st.integers(0, 6)), min_size=2, max_size=14)
PRIORS = [(2, 2), (0.7, 3), "symmetric", "severity_ratio", "prevalence"]


def parameters(prior: tuple[float, float] | str, share: float) -> tuple[float, float]:
    named = {
        "symmetric": (2, 2),
        "severity_ratio": (2, 1 + (1 - share) / share),
        "prevalence": (1 + share, 2 - share),
    }
    return named[prior] if isinstance(prior, str) else prior


def numerical(label: np.ndarray, score: np.ndarray, prior: tuple[float, float] | str) -> float:
    """Integrate the lowest loss of all thresholds numerically."""
    share = label.mean()
    density = beta(*parameters(prior, share))
    alerts = score >= np.append(np.unique(score), inf)[:, None]
    fp, fn = (alerts & (label == 0)).mean(axis=1), (~alerts & (label == 1)).mean(axis=1)
    # The lowest loss has a kink where two thresholds have the same loss.
    kinks = {share}
    for i in range(len(fp)):
        for j in range(i):
            change = fp[i] - fp[j] + fn[j] - fn[i]
            kinks |= {(fn[j] - fn[i]) / change} if change else set()
    edges = np.array(sorted({0, 1, *(kink for kink in kinks if 0 < kink < 1)}))

    def mean(loss):
        return sum(quad(lambda c: loss(c) * density.pdf(c), *part)[0] for part in pairwise(edges))

    lowest = mean(lambda c: np.min(c * fp + (1 - c) * fn))
    return 1 - lowest / mean(lambda c: min(c * (1 - share), (1 - c) * share))


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS, ids=str)
def test_the_measure_is_the_integral_of_the_lowest_loss(prior):
    rng = np.random.default_rng(5)
    label = (rng.random(40) < 0.3).astype(int)
    score = rng.normal(label, 1).round(1)
    frame = pl.DataFrame({"label": label, "score": score})
    measure = rf.h_measure(frame, "label", "score", prior=prior)
    assert measure.item(0, 0) == pytest.approx(numerical(label, score, prior), abs=1e-7)
    expected = parameters(prior, label.mean())
    assert measure.select("prior_a", "prior_b").row(0) == pytest.approx(expected, rel=1e-15)


def test_with_a_uniform_prior_the_losses_of_fawcetts_figure_3_are_exact():
    measure = rf.h_measure(FAWCETT_3, "label", "score", prior=(1, 1))
    vertices = [(0, 0), (0, 2), (1, 5), (5, 8), (9, 10), (10, 10)]  # of the hull, in tenths
    loss = Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(vertices):
        c = Fraction(y1 - y0, y1 - y0 + x1 - x0)  # the relative cost with equal losses
        loss += (x1 - x0) * c**2 / 2 + (y1 - y0) * (1 - c) ** 2 / 2
    loss /= 20
    assert measure.item(0, "expected_loss") == pytest.approx(float(loss), rel=1e-14)
    assert measure.item(0, "trivial_loss") == pytest.approx(1 / 8, rel=1e-14)
    assert measure.item(0, "h_measure") == pytest.approx(float(1 - 8 * loss), rel=1e-14)


def test_the_data_of_the_package_rocr_have_the_published_values():
    # The values .5415 and .5450 are those of Hand's first prior and of the R package hmeasure. They
    # depend only on the vertices of the hull.
    vertices = [(0, 0), (0, 3), (7, 45), (15, 77), (16, 79), (68, 88), (107, 93)]
    rows = [
        (label, -i, count)
        for i, (before, after) in enumerate(pairwise(vertices))
        for label, count in enumerate(b - a for a, b in zip(before, after, strict=True))
    ]
    frame = pl.DataFrame(rows, schema=["label", "score", "count"], orient="row")
    for prior, expected in (("symmetric", 0.5415), ("severity_ratio", 0.5450)):
        measure = rf.h_measure(frame, "label", "score", prior=prior, count="count")
        assert round(measure.item(0, "h_measure"), 4) == expected


@pytest.mark.hypothesis
@given(ROWS, st.sampled_from(PRIORS))
def test_the_measure_is_between_0_and_1_and_null_without_a_class(rows, prior):
    frame = pl.DataFrame(rows, schema=["label", "score"], orient="row")
    row = rf.h_measure(frame, "label", "score", prior=prior).row(0, named=True)
    pos = sum(label for label, _ in rows)
    if pos in {0, len(rows)}:
        assert row["h_measure"] is row["expected_loss"] is row["trivial_loss"] is None
        assert row["note"] in {"no_positives", "no_negatives"}
        return
    assert 0 <= row["h_measure"] <= 1
    assert row["h_measure"] == pytest.approx(1 - row["expected_loss"] / row["trivial_loss"])
    increasing = rf.h_measure(frame, "label", pl.col("score").exp(), prior=prior)
    assert increasing.item(0, "h_measure") == row["h_measure"]


def test_a_perfect_model_has_1_and_models_without_information_have_0():
    frame = pl.DataFrame({"label": [1, 1, 0, 0], "perfect": [4, 3, 2, 1], "equal": [1, 1, 1, 1]})
    scores = {"perfect": "perfect", "equal": "equal", "reversed": -pl.col("perfect")}
    for prior in PRIORS:
        measure = rf.h_measure(frame, "label", scores, prior=prior)
        assert measure.select("model", "h_measure").rows() == [
            ("equal", 0.0),
            ("perfect", 1.0),
            ("reversed", 0.0),
        ]


def test_the_columns_are_those_documented_per_group():
    frame = pl.concat(
        [PREDICTIONS.with_columns(g=pl.lit("a")), PREDICTIONS[:1].with_columns(g=pl.lit("b"))]
    )
    measure = frame.roc.h_measure("label", "score", by="g", prior="severity_ratio")
    alone = PREDICTIONS.roc.h_measure("label", "score")
    expected = pl.DataFrame(
        {
            "g": ["a", "b"],
            "h_measure": [alone.item(0, 0), None],
            "expected_loss": [alone.item(0, 1), None],
            "trivial_loss": [alone.item(0, 2), None],
            "prior_a": [2.0, 2.0],
            "prior_b": [2.0, None],
            "n_pos": [3, 1],
            "n_neg": [3, 0],
            "n_missing": [0, 0],
            "note": [None, "no_negatives"],
        }
    )
    assert_frame_equal(measure, expected)


def test_unscored_rows_are_errors_at_every_threshold():
    missing = PREDICTIONS.with_columns(score=pl.Series([0.9, None, 0.7, 0.4, None, 0.1]))
    measure = rf.h_measure(missing, "label", "score", missing="worst")
    # The vertices of the remaining rows have (1/3, 0), (1/3, 2/3) and (1, 2/3).
    c = np.linspace(0, 1, 200001)
    density = 6 * c * (1 - c) / 200000
    losses = [
        c * x / 2 + (1 - c) * (1 - y) / 2 for x, y in ((1 / 3, 0), (1 / 3, 2 / 3), (1, 2 / 3))
    ]
    loss = float((np.min(losses, axis=0) * density).sum())
    trivial = float((np.minimum(c, 1 - c) / 2 * density).sum())
    assert measure.item(0, "h_measure") == pytest.approx(1 - loss / trivial, abs=1e-6)
    assert measure.item(0, "n_missing") == 2
