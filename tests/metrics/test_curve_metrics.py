"""Statistics of whole curves equal the expressions; influence values equal derivatives."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_series_equal

import rocframe as rf
from rocframe.kernel.scan import GroupRows, ReplicateCounts
from rocframe.metrics.statistics import CURVE_STATISTICS
from tests import oracles
from tests.kernel.scans import scan_of
from tests.strategies import ANY_WEIGHTS, COUNTS, examples, tables

WITH_INFLUENCE = [name for name, each in CURVE_STATISTICS.items() if each.influence is not None]
every_metric = pytest.mark.parametrize("name", WITH_INFLUENCE)


def estimates(table: pl.DataFrame, **more: object) -> pl.DataFrame:
    """Return a column for each metric and a row for each group."""
    result = rf.intervals(
        table, "label", "score", metrics=list(CURVE_STATISTICS), by="group", ci=None, **more
    )
    columns = [result.filter(metric=name)["estimate"].alias(name) for name in CURVE_STATISTICS]
    return result.filter(metric="auc").select("group", *columns)


@pytest.mark.slow
@pytest.mark.parametrize(("role", "values"), [("count", COUNTS), ("weight", ANY_WEIGHTS)])
@given(data=st.data())
def test_curve_metrics_equal_the_expressions(role, values, data):
    table = data.draw(tables(mass={role: values}, min_size=1))
    result = estimates(table, **{role: role})
    score = pl.col("score").roc
    for name in ("auc", "gini", "ks", "average_precision", "pr_auc"):
        metric = getattr(score, name)("label", **{role: role}).alias(name)
        expected = table.group_by("group").agg(metric).sort("group")[name]
        assert_series_equal(result[name], expected, rel_tol=1e-12, abs_tol=1e-12)


def equal_error_rate(every: list[oracles.Case]) -> Fraction | None:
    """Return FPR where the polyline crosses the diagonal FPR = 1 - TPR."""
    pos, neg = oracles.sides(every)
    if not pos or not neg:
        return None
    for (x0, y0), (x1, y1) in pairwise(oracles.axes(oracles.curve(every))):
        if x0 + y0 <= 1 <= x1 + y1 and x1 + y1 > x0 + y0:
            return x0 + (1 - x0 - y0) / (x1 + y1 - x0 - y0) * (x1 - x0)
    return Fraction(1)


@examples(1 / 2)
@given(tables(missing=True, mass={"count": COUNTS}))
def test_the_equal_error_rate_lies_on_the_falling_diagonal(table):
    result = estimates(table, count="count", missing="worst")
    for name, every in oracles.by_group(table).items():
        found = result.filter(pl.col("group").eq_missing(pl.lit(name, pl.String)))["eer"].item()
        expected = equal_error_rate(every)
        if expected is None:
            assert found is None
        else:
            assert found == pytest.approx(float(expected), abs=1e-12)


@examples(1 / 2)
@given(tables(missing=True))
def test_unscored_rows_are_counted_at_every_threshold(table):
    result = estimates(table, missing="worst")
    for name, every in oracles.by_group(table).items():
        row = result.row(
            by_predicate=pl.col("group").eq_missing(pl.lit(name, pl.String)), named=True
        )
        pos, neg = oracles.sides(every)
        points = oracles.curve(every)
        if pos:
            assert row["average_precision"] == pytest.approx(
                float(oracles.average_precision(points)), abs=1e-12
            )
            assert row["pr_auc"] == pytest.approx(oracles.pr_auc(points), abs=1e-9)
        else:
            assert row["average_precision"] is None
        if pos and neg:
            highest = max(y - x for x, y in oracles.axes(points))
            assert row["ks"] == pytest.approx(max(float(highest), 0), abs=1e-12)
        else:
            assert row["ks"] is None


# What one row more would change


TABLE = pl.DataFrame(
    {
        "label": [1, 0, 1, 1, 0, 0, 1, 0, 0, 1, 0, 1],
        "score": [0.9, 0.8, 0.8, 0.7, 0.7, 0.6, 0.5, 0.4, 0.3, 0.3, None, None],
    }
)


@every_metric
@pytest.mark.parametrize("missing", ["drop", "worst"])
def test_the_influence_of_a_row_is_the_derivative_with_respect_to_its_weight(name, missing):
    statistic = CURVE_STATISTICS[name]
    table = TABLE.with_columns(weight=pl.Series([1.0, 2.0, 0.5] * 4))

    def value(weights: pl.Series) -> float:
        walk = scan_of(table.with_columns(weight=weights), weight="weight", missing=missing)
        return float(statistic.replicate.function(walk)[0])

    population = GroupRows.from_scan(scan_of(table, weight="weight", missing=missing), 0)
    shares = statistic.influence(ReplicateCounts.observed(population).scan(corners=False))
    scores = sorted(set(table["score"].drop_nulls()), reverse=True)
    for i, (label, score) in enumerate(table["label", "score"].iter_rows()):
        if score is None and missing == "drop":
            continue
        step = -1 if score is None else scores.index(score)
        more, less = (table["weight"].clone(), table["weight"].clone())
        more[i] += 1e-6
        less[i] -= 1e-6
        slope = (value(more) - value(less)) / 2e-6
        assert shares[1 - label][step] == pytest.approx(slope, abs=1e-8), (label, score)


@every_metric
def test_influence_values_sum_to_0(name):
    walk = scan_of(TABLE, missing="worst")
    population = GroupRows.from_scan(walk, 0)
    shares = CURVE_STATISTICS[name].influence(
        ReplicateCounts.observed(population).scan(corners=False)
    )
    total = 0.0
    for side, share in zip((population.pos, population.neg), shares, strict=True):
        steps = np.searchsorted(side.n_at_or_above, np.arange(len(side.rows)), "right")
        total += float((side.rows * share[steps]).sum())
    assert total == pytest.approx(0, abs=1e-12)
