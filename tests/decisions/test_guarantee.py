"""`guarantee=` accepts the thresholds whose constraints hold on new data with a confidence."""

from __future__ import annotations

from math import inf, log

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import beta, binom

import rocframe as rf

ALPHA = 0.1
TOTALS = {
    "tpr": (["tp"], ["tp", "fn"]),
    "fpr": (["fp"], ["fp", "tn"]),
    "tnr": (["tn"], ["fp", "tn"]),
    "fnr": (["fn"], ["tp", "fn"]),
    "alert_rate": (["tp", "fp"], ["tp", "fp", "fn", "tn"]),
    "precision": (["tp"], ["tp", "fp"]),
    "npv": (["tn"], ["fn", "tn"]),
    "accuracy": (["tp", "tn"], ["tp", "fp", "fn", "tn"]),
}
LIMITS = [
    {"tpr": (0.6, None)},
    {"fpr": (None, 0.4)},
    {"tnr": (0.5, None)},
    {"fnr": (0, 0.5)},
    {"alert_rate": (0.2, 0.8)},
    {"precision": (0.5, None)},
    {"precision": (None, 0.9)},
    {"npv": (0.4, 1)},
    {"accuracy": (0.4, None)},
    {"precision": (0.5, None), "tpr": (0.2, None)},
]


def predictions(n_groups: int, sizes: tuple[int, int], *, ties: bool, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    group = np.repeat(np.arange(n_groups), rng.integers(*sizes, n_groups))
    label = rng.random(len(group)) < 0.6
    score = rng.normal(size=len(group)) + 1.5 * label
    return pl.DataFrame({"g": group, "label": label, "score": score.round(0 if ties else 9)})


def p_value(row: dict[str, int], metric: str, low: float | None, high: float | None) -> float:
    """Return the probability of so good counts if the metric is exactly at its limit."""
    part, whole = (sum(row[name] for name in names) for names in TOTALS[metric])
    if low is not None:
        return float(binom.sf(part - 1, whole, low))
    assert high is not None
    return float(binom.cdf(part, whole, high))


def accepted(rows: list[dict[str, int]], metric: str, low, high, alpha: float) -> list[int]:
    """Return the indexes of the accepted rows of one curve for one limit."""
    test = [p_value(row, metric, low, high) for row in rows]
    n = sum(rows[0][name] for name in ("tp", "fp", "fn", "tn"))
    if metric == "accuracy":
        segment = [min(10 * (row["tp"] + row["fp"]) // n, 9) for row in rows]
        order, weights = rows, [0.1] * 10
    elif metric in {"precision", "npv"}:
        fewest = log(0.95 * alpha) / log(low if low is not None else 1 - high)
        start = min(max(n / 8, fewest), 3 * fewest)
        trials = [sum(row[name] for name in TOTALS[metric][1]) for row in rows]
        segment = [sum(t >= start * 3**i for i in range(4)) - 1 for t in trials]
        order, weights = rows, [0.95, *[0.05 / 3] * 3]
        if low is None:
            segment = [3 - k if k >= 0 else -1 for k in segment]
        if (metric == "npv") == (low is not None):
            order = rows[::-1]
    else:
        return [row["i"] for row, p in zip(rows, test, strict=True) if p <= alpha]
    found, level = [], 0.0
    for k, weight in enumerate(weights):
        level += weight * alpha
        for i in (row["i"] for row in order if segment[row["i"]] == k):
            if test[i] > level:
                level = 0.0
                break
            found.append(i)
    return found


def best_recall(rows: list[dict[str, int]], limits) -> int | None:
    """Return the accepted row with the highest recall, and of these the highest threshold."""
    tests = [
        (metric, *pair)
        for metric, (low, high) in limits.items()
        for pair in ((low, None), (None, high))
        if pair not in {(None, None), (0, None), (None, 1)}
    ]
    sets = [set(accepted(rows, *test, ALPHA / len(tests))) for test in tests]
    allowed = set.intersection(*sets)
    return max(allowed, key=lambda i: (rows[i]["tp"], -i), default=None)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("limits", LIMITS)
def test_the_threshold_is_that_of_exact_tests_in_sequence(limits, ties):
    curves = rf.curve(predictions(15, (10, 120), ties=ties, seed=3), "label", "score", by="g")
    found = rf.operating_point(curves, "recall", subject_to=limits, guarantee=1 - ALPHA)
    for group, part in enumerate(curves.partition_by("g", maintain_order=True)):
        rows = list(part.with_row_index("i").iter_rows(named=True))
        index = best_recall(rows, limits)
        expected = None if index is None else rows[index]["threshold"]
        assert found["threshold"][group] == expected
        assert found["note"][group] == (None if expected is not None else "no_solution")
    assert found["threshold"].null_count() < 15


def test_the_limit_of_a_rate_is_the_tolerance_limit_of_an_order_statistic():
    """The TPR at the r-th highest positive has a Beta(r, m - r + 1) distribution (Wilks 1941)."""
    m = 80
    table = pl.DataFrame({"label": [1] * m + [0] * 5, "score": [*range(m), *[-1] * 5]})
    curve = rf.curve(table, "label", "score")
    found = rf.operating_point(curve, "precision", subject_to={"tpr": (0.8, None)}, guarantee=0.9)
    expected = min(r for r in range(1, m + 1) if beta.cdf(0.8, r, m - r + 1) <= 0.1)
    assert found["tp"].item() == expected
    # The unguarded threshold is the 64th of the 80 positives.
    assert rf.operating_point(curve, "tnr", subject_to={"tpr": (0.8, None)})["tp"].item() == 64


def test_an_error_probability_of_almost_one_half_still_requires_the_constraint_on_the_data():
    curves = rf.curve(predictions(60, (5, 30), ties=True, seed=5), "label", "score", by="g")
    limits = {"precision": (0.55, None), "threshold": (0, None)}
    found = rf.operating_point(curves, "recall", subject_to=limits, guarantee=0.05)
    chosen = found.filter(pl.col("threshold").is_not_null())
    assert (chosen["tp"] / (chosen["tp"] + chosen["fp"])).min() >= 0.55
    assert chosen["threshold"].min() >= 0


@pytest.mark.parametrize("metric", ["precision", "npv", "tpr", "fpr", "accuracy"])
def test_the_true_metric_violates_its_limit_in_at_most_five_percent_of_samples(metric):
    rng = np.random.default_rng(8)
    samples, n = 1500, 100
    score = rng.integers(0, 40, (samples, n)) / 40
    label = rng.random((samples, n)) < score
    frame = {"s": np.repeat(np.arange(samples), n), "label": label.ravel(), "score": score.ravel()}
    curves = rf.curve(pl.DataFrame(frame), "label", "score", by="s")
    # The score is the probability of a positive, so the true counts are sums over its 40 values.
    values = np.arange(40) / 40
    above = values[:, None] <= values
    shares = {"tp": values, "fp": 1 - values}
    truth = {name: (above * share).sum(axis=1) for name, share in shares.items()}
    truth |= {"fn": values.sum() - truth["tp"], "tn": (1 - values).sum() - truth["fp"]}
    part, whole = (sum(truth[name] for name in names) for names in TOTALS[metric])
    whole = np.where(whole > 0, whole, 1)  # no score is below the lowest
    limit = (None, 0.25) if metric == "fpr" else (0.7, None)
    rule = "recall" if metric in {"precision", "fpr", "accuracy"} else "tnr"
    errors = []
    for guarantee in (None, 0.95):
        options = {"subject_to": {metric: limit}, "guarantee": guarantee}
        threshold = rf.operating_point(curves, rule, **options)["threshold"].fill_null(inf)
        chosen = threshold.filter(threshold < inf).to_numpy()
        true = (part / whole)[np.rint(chosen * 40).astype(int)]
        violated = true > 0.25 if metric == "fpr" else true < 0.7
        errors.append(violated.sum() / samples)
    assert errors[0] > 0.1
    assert errors[1] < 0.05


def test_transfer_guarantees_the_constraint_on_the_other_folds():
    table = predictions(3, (200, 201), ties=False, seed=2).rename({"g": "fold"})
    curves = rf.curve(table, "label", "score", by="fold")
    options = {"subject_to": {"precision": (0.7, None)}, "guarantee": 0.9}
    applied = rf.transfer(curves, "recall", **options)
    for fold in range(3):
        others = rf.curve(table.filter(pl.col("fold") != fold), "label", "score")
        chosen = rf.operating_point(others, "recall", **options)
        assert applied["threshold"][fold] == chosen["threshold"].item()
    lazy = rf.transfer(curves.lazy(), "recall", **options).collect()
    assert_frame_equal(lazy, applied)
