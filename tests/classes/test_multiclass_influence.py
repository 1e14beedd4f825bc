"""Derivatives of averages by the weight of a row, compared with difference quotients."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from rocframe.classes.class_table import MulticlassRows
from rocframe.classes.multiclass_auc import influences, row_acceleration
from tests.classes.test_multiclass_auc import ABC, AVERAGES, by_counting

# Weight, class, and the scores of a, b and c.
TABLE = [
    (2, "a", 0.75, 0.25, 0.0),
    (1, "a", 0.25, 0.25, 0.5),
    (3, "b", 0.25, 0.5, 0.25),
    (1, "b", 0.5, 0.25, 0.25),
    (1, "b", 0.0, 0.75, 0.25),
    (2, "c", 0.0, 0.5, 0.5),
    (1, "c", 0.5, 0.25, 0.25),
]
STEP = Fraction(1, 10**12)


def rows_of(table, classes=ABC, **more):
    return MulticlassRows(
        code=np.array([classes.index(row[1]) for row in table], np.int32),
        scores=[np.array([row[2 + i] for row in table]) for i in range(len(classes))],
        scored=[None] * len(classes),
        count=np.array([row[0] for row in table]),
        weight=more.get("weight"),
        cluster=more.get("cluster"),
    )


@pytest.mark.parametrize("used", [slice(None), slice(0, 5)], ids=["three classes", "two of three"])
def test_an_influence_is_the_derivative_by_the_weight_of_a_row(used):
    table = TABLE[used]
    found = influences(rows_of(table), AVERAGES)
    before = by_counting(table, ABC)
    for i, row in enumerate(table):
        more = [*table[:i], (row[0] + STEP, *row[1:]), *table[i + 1 :]]
        after = by_counting(more, ABC)
        for name in AVERAGES:
            slope = float((after[name] - before[name]) / STEP)
            assert found[name][i] == pytest.approx(slope, abs=1e-9), name


def test_unscored_rows_have_the_influence_of_rows_that_lose_every_pair():
    rows = rows_of(TABLE)
    some = np.array([True, True, False, True, False, True, True])
    unscored = MulticlassRows(
        code=rows.code, scores=rows.scores, scored=[None, some, None], count=rows.count, weight=None
    )
    worst = np.where(rows.code == 1, -1.0, 2.0)
    as_errors = MulticlassRows(
        code=rows.code,
        scores=[rows.scores[0], np.where(some, rows.scores[1], worst), rows.scores[2]],
        scored=[None] * 3,
        count=rows.count,
        weight=None,
    )
    found, expected = (influences(one, AVERAGES) for one in (unscored, as_errors))
    for name in AVERAGES:
        assert found[name] == pytest.approx(expected[name], abs=1e-14)


def test_the_acceleration_is_that_of_single_rows_or_of_clusters():
    rows = rows_of(TABLE)
    values = influences(rows, AVERAGES)["macro"]
    single = np.repeat(values, rows.count)
    expected = (single**3).sum() / (6 * (single**2).sum() ** 1.5)
    assert row_acceleration(rows, values) == pytest.approx(expected, rel=1e-12)
    ones = [(1, *row[1:]) for row in TABLE]
    cluster = np.array([0, 1, 0, 2, 1, 2, 2], np.uint32)
    together = rows_of(ones, cluster=cluster)
    values = influences(together, AVERAGES)["macro"]
    added = np.array([values[cluster == i].sum() for i in range(3)])
    expected = (added**3).sum() / (6 * (added**2).sum() ** 1.5)
    assert row_acceleration(together, values) == pytest.approx(expected, rel=1e-12)
    weighted = rows_of(ones, weight=np.array([row[0] for row in TABLE], float))
    values = influences(weighted, AVERAGES)["macro"] * weighted.weight
    expected = (values**3).sum() / (6 * (values**2).sum() ** 1.5)
    found = row_acceleration(weighted, influences(weighted, AVERAGES)["macro"])
    assert found == pytest.approx(expected, rel=1e-12)
