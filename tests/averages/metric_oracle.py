"""Metrics at fixed values of another metric, by definition: slow, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.averages.axis_oracle import Counts

# Counts are tp, fp, positives, negatives.
Linear = tuple[Fraction, Fraction]

# A metric is one sum over another; both are linear in the counts.
METRICS: dict[str, Callable[[Counts], Linear]] = {
    "tpr": lambda c: (c[0], c[2]),
    "fpr": lambda c: (c[1], c[3]),
    "specificity": lambda c: (c[3] - c[1], c[3]),
    "fnr": lambda c: (c[2] - c[0], c[2]),
    "alert_rate": lambda c: (c[0] + c[1], c[2] + c[3]),
    "rnp": lambda c: (c[2] + c[3] - c[0] - c[1], c[2] + c[3]),
    "precision": lambda c: (c[0], c[0] + c[1]),
    "npv": lambda c: (c[3] - c[1], c[2] + c[3] - c[0] - c[1]),
    "accuracy": lambda c: (c[0] + c[3] - c[1], c[2] + c[3]),
    "f1": lambda c: (2 * c[0], c[0] + c[1] + c[2]),
    "jaccard": lambda c: (c[0], c[1] + c[2]),
    "youden": lambda c: (c[0] * c[3] - c[1] * c[2], c[2] * c[3]),
    "kappa": lambda c: (
        2 * (c[0] * c[3] - c[1] * c[2]),
        (c[0] + c[1]) * c[3] + c[2] * (c[2] + c[3] - c[0] - c[1]),
    ),
    "tp": lambda c: (c[0], Fraction(1)),
}

# Of several points with the same value of these, the one with the highest threshold is used.
FROM_ABOVE = ("tpr", "fnr", "npv", "tp")


def metric(name: str, counts: Counts) -> Fraction | None:
    numerator, denominator = METRICS[name](counts)
    return numerator / denominator if denominator else None


def value_at(name: str, rows: list[Counts], counts: Counts) -> Fraction | None:
    """Return the metric at a point; the precision without alerts is that of the next row."""
    nothing = name == "precision" and counts[0] + counts[1] == 0
    return metric(name, rows[1] if nothing else counts)


def points(rows: list[Counts], fixed: str, value: Fraction) -> list[Counts]:
    """Return all points of a curve with this value, by falling threshold."""
    found = [rows[0]] if metric(fixed, rows[0]) == value else []
    for first, second in pairwise(rows):
        a, b = metric(fixed, first), metric(fixed, second)
        if a is not None and b is not None and min(a, b) < value < max(a, b):
            (n, d), (more_n, more_d) = METRICS[fixed](first), METRICS[fixed](second)
            off, end = n - value * d, more_n - value * more_d
            mix = off / (off - end)
            found.append(tuple(p + mix * (q - p) for p, q in zip(first, second, strict=True)))
        if b == value:
            found.append(second)
    return found


def between(rows: list[Counts], fixed: str, value: Fraction) -> Counts | None:
    every = points(rows, fixed, value)
    if not every:
        return None
    return every[0] if fixed in FROM_ABOVE else every[-1]


def nearest(rows: list[Counts], fixed: str, value: Fraction, better: str | None) -> Counts | None:
    """Return the nearest of the two neighboring rows; the better one if the distance is equal."""
    point = between(rows, fixed, value)
    if point is None or point in rows:
        return point
    order = [one[0] + one[1] for one in rows]
    after = next(i for i, called in enumerate(order) if called > point[0] + point[1])
    two = rows[after - 1], rows[after]
    away = [abs(metric(fixed, one) - value) for one in two]
    if away[0] != away[1]:
        row = two[away[1] < away[0]]
    elif better is None:
        row = two[0]
    else:
        good = (lambda m: m >= value) if better == "higher" else (lambda m: m <= value)
        row = next(one for one in two if good(metric(fixed, one)))
    # Of several rows with the same value, use the last one in the direction of the search.
    level, at = metric(fixed, row), rows.index(row)
    step = -1 if fixed in FROM_ABOVE else 1
    while 0 <= at + step < len(rows) and metric(fixed, rows[at + step]) == level:
        at += step
    return rows[at]
