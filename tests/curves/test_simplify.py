"""Simplified curves are near the full ones: checked against both lines, at every place."""

from __future__ import annotations

from math import log
from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rocframe as rf

KINDS = ["roc", "precision_recall", "det", "gain", "lift", "lift_chart"]
SCALES = [
    *((kind, scale) for kind in KINDS for scale in ("linear", "log")),
    *((kind, "normal_deviate") for kind in ("roc", "det", "gain")),
]
ROUNDING = 1e-12

probit = np.vectorize(NormalDist().inv_cdf, otypes=[float])
logarithm = np.vectorize(log, otypes=[float])


def log_of(name, n=4000):
    """Predictions of different character."""
    rng = np.random.default_rng(5)
    n = {"few": 60, "long": 60_000}.get(name, n)
    label = rng.random(n) < (0.01 if name == "rare" else 0.3)
    score = rng.normal(size=n) + (0 if name == "random" else 4 if name == "good" else 1.5) * label
    if name == "ties":
        score = score.round()
    if name == "worst first":
        score[np.argmax(score)], label[np.argmax(score)], label[np.argmin(score)] = 9, False, True
    weight = np.exp(rng.normal(0, 2, n)) if name == "weighted" else np.ones(n)
    return pl.DataFrame({"label": label, "score": score, "w": weight})


def curve_of(name, **options):
    weight = "w" if name == "weighted" else None
    return rf.curve(log_of(name), "label", "score", weight=weight, **options)


def spans(at, along, other):
    """From where to where a line runs in one count where the other has a value."""
    first, last = np.searchsorted(along, at, "left"), np.searchsorted(along, at, "right") - 1
    between = np.interp(at, along, other)
    here = first <= last
    last = np.minimum(last, len(along) - 1)
    first = np.minimum(first, len(along) - 1)
    return np.where(here, other[first], between), np.where(here, other[last], between)


def counts(table):
    return table["tp"].to_numpy().astype(float), table["fp"].to_numpy().astype(float)


def farthest(full, simple, kind, scale):
    """How far two curves are apart: in y at every x, and in x at every y that only rises."""
    (tp, fp), (few_tp, few_fp) = counts(full), counts(simple)
    last = full.row(-1, named=True)
    pos, neg = last["tp"] + last["fn"], last["fp"] + last["tn"]
    n = pos + neg
    follow = {
        "fpr": lambda tp, fp: (fp, tp),
        "recall": lambda tp, fp: (tp, fp),
        "alert_rate": lambda tp, fp: (tp + fp, tp),
    }
    x_name = {"roc": "fpr", "det": "fpr", "precision_recall": "recall"}.get(kind, "alert_rate")
    whole = {"fpr": neg, "recall": pos, "alert_rate": n}[x_name]
    along, other = follow[x_name](tp, fp)
    few_along, few_other = follow[x_name](few_tp, few_fp)
    top = 1.0
    if kind == "lift":
        top = max(t / a for t, a in zip(other, along, strict=True) if a > 0)
    shares = [along / whole] + ([other / pos] if scale == "normal_deviate" else [])
    least = [share[share > 0].min(initial=1) for share in shares]
    if scale == "normal_deviate":
        least += [(1 - share)[1 - share > 0].min(initial=1) for share in shares]
    low = min(least)

    def placed(share, *, stretched):
        if not stretched or scale == "linear":
            return share
        if scale == "log":
            return 1 - logarithm(np.maximum(share, low)) / log(low) if low < 1 else 0 * share
        low_end = probit(min(low, 0.5))
        if low_end == 0:
            return 0 * share
        return (probit(np.clip(share, low, 1 - low)) - low_end) / (-2 * low_end)

    def y(along, other):
        if kind == "precision_recall":
            return along / (along + other)
        if kind == "lift":
            return other / along / top
        return placed(other / pos, stretched=scale == "normal_deviate")

    at = np.unique(along)
    at = np.unique(np.concatenate([at[:-1] + share * np.diff(at) for share in (0, 0.02, 0.3, 0.8)]))
    at = at[at > 0] if kind in {"precision_recall", "lift"} else at
    gaps = [
        abs(y(at, one) - y(at, two))
        for one, two in zip(spans(at, along, other), spans(at, few_along, few_other), strict=True)
    ]
    if kind not in {"precision_recall", "lift"}:
        at = np.unique(other)
        at = np.unique(
            np.concatenate([at[:-1] + share * np.diff(at) for share in (0, 0.02, 0.3, 0.8)])
        )
        gaps += [
            abs(placed(one / whole, stretched=True) - placed(two / whole, stretched=True))
            for one, two in zip(
                spans(at, other, along), spans(at, few_other, few_along), strict=True
            )
        ]
    return max(gap.max(initial=0) for gap in gaps)


@pytest.mark.parametrize(
    "name", ["few", "ties", "rare", "random", "good", "worst first", "weighted", "long"]
)
@pytest.mark.parametrize(("kind", "scale"), SCALES)
@pytest.mark.parametrize("max_error", [0.1, 1 / 500])
def test_both_curves_are_as_near_as_it_says_at_every_place(name, kind, scale, max_error):
    full = curve_of(name, kind=kind)
    simple = rf.simplify(full, max_error=max_error, scale=scale)
    error = simple["error"].unique().item()
    assert 0 <= error <= max_error
    assert farthest(full, simple, kind, scale) <= error + ROUNDING


@given(
    st.lists(st.tuples(st.booleans(), st.integers(0, 12)), min_size=2, max_size=60).filter(
        lambda rows: len({label for label, _ in rows}) == 2
    ),
    st.sampled_from(SCALES),
    st.sampled_from([0.3, 0.05]),
)
def test_any_curve_is_as_near_as_it_says(rows, shown, max_error):
    kind, scale = shown
    full = rf.curve(
        pl.DataFrame(rows, schema=["label", "score"], orient="row"), "label", "score", kind=kind
    )
    simple = rf.simplify(full, max_error=max_error, scale=scale)
    error = simple["error"].unique().item()
    assert 0 <= error <= max_error
    assert farthest(full, simple, kind, scale) <= error + ROUNDING
