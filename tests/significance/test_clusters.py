"""Areas of clustered rows against chance."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import norm, t

import rocframe as rf


def log(seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "label": rng.random(60) < 0.5,
            "score": rng.integers(0, 12, 60),
            "user": rng.integers(0, 11, 60),
            "w": rng.integers(1, 4, 60),
            "id": range(60),
        }
    )


def satterthwaite_df(rows: pl.DataFrame, se: float, weight: str | None) -> float:
    """Return the degrees of freedom of Obuchowski's variance, from the pairs of rows."""
    label, score, user = (rows[name].to_numpy() for name in ("label", "score", "user"))
    w = rows[weight].to_numpy() if weight else np.ones(len(label))
    wins = (score[:, None] > score) + (score[:, None] == score) / 2
    parts, sizes = [], []
    for own, values in ((label, wins), (~label, wins.T)):
        placement = (values[own][:, ~own] * w[~own]).sum(axis=1) / w[~own].sum()
        deviation = w[own] * (placement - np.average(placement, weights=w[own])) / w[own].sum()
        sums = np.array([deviation[user[own] == one].sum() for one in set(user[own].tolist())])
        sizes.append(len(sums))
        parts.append(len(sums) / (len(sums) - 1) * (sums**2).sum())
    df = se**4 / sum(part**2 / (size - 1) for part, size in zip(parts, sizes, strict=True))
    return float(np.clip(df, min(sizes) - 1, len(set(user.tolist())) - 1))


@pytest.mark.parametrize("options", [{}, {"weight": "w"}], ids=["plain", "weighted"])
def test_the_standard_error_is_that_of_the_interval(options):
    found = rf.auc_test(log(1), "label", "score", cluster="user", **options)
    area = rf.auc(log(1), "label", "score", cluster="user", ci="delong", **options)
    assert_frame_equal(found.select("auc", "se"), area.select("auc", "se"))
    z = (area["auc"].item() - 0.5) / area["se"].item()
    df = satterthwaite_df(log(1), area["se"].item(), options.get("weight"))
    assert found["df"].item() == pytest.approx(df, rel=1e-12)
    assert found["p_value"].item() == pytest.approx(2 * t.sf(abs(z), df), rel=1e-12)
    normal = rf.auc_test(log(1), "label", "score", cluster="user", method="delong", **options)
    assert normal["p_value"].item() == pytest.approx(2 * norm.sf(abs(z)), rel=1e-12)


def test_clusters_of_one_row_equal_no_clusters():
    assert_frame_equal(
        rf.auc_test(log(2), "label", "score", cluster="id"),
        rf.auc_test(log(2), "label", "score", method="delong_t"),
        abs_tol=1e-14,
        rel_tol=1e-12,
    )


def test_a_class_with_one_cluster_is_null():
    table = log(3).with_columns(user=pl.when("label").then(0).otherwise("user"))
    found = rf.auc_test(table, "label", "score", cluster="user").row(0, named=True)
    assert (found["se"], found["p_value"], found["note"]) == (None, None, "one_positive_cluster")
