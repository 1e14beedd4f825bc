"""Averages of curves along an axis, by definition: slow, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

Counts = tuple[Fraction, Fraction, Fraction, Fraction]  # tp, fp, positives, negatives


def curve(labels: Sequence[bool], scores: Sequence[float]) -> list[Counts]:
    """Return the counts of positive predictions at each threshold, from none to all."""
    pos = Fraction(sum(labels))
    neg = len(labels) - pos
    rows = [(Fraction(0), Fraction(0), pos, neg)]
    for threshold in sorted(set(scores), reverse=True):
        called = [label for label, score in zip(labels, scores, strict=True) if score >= threshold]
        rows.append((Fraction(sum(called)), Fraction(len(called) - sum(called)), pos, neg))
    return rows


def folds(table: pl.DataFrame) -> list[list[Counts]]:
    """Return the curves of all folds with both classes."""
    every = [
        curve(part["label"].to_list(), part["score"].to_list())
        for part in table.partition_by("fold", maintain_order=True)
    ]
    return [rows for rows in every if rows[0][2] and rows[0][3]]


def rate(name: str, counts: Counts) -> Fraction | None:
    tp, fp, pos, neg = counts
    precision = tp / (tp + fp) if tp + fp else None
    return {
        "fpr": fp / neg,
        "tpr": tp / pos,
        "recall": tp / pos,
        "fnr": 1 - tp / pos,
        "alert_rate": (tp + fp) / (pos + neg),
        "skill": 1 - (fp + pos - tp) / min(pos, neg),
        "tp": tp,
        "precision": precision,
        "ppv": precision,
        "lift": None if precision is None else precision * (pos + neg) / pos,
    }[name]


BETTER = {"fpr": min, "fnr": min, "alert_rate": min}


def values_at(rows: list[Counts], fixed: str, value: Fraction, averaged: str) -> list[Fraction]:
    """Return all values of `averaged` where `fixed` has this value; there are several at a jump."""
    # Precision is undefined without alerts: the precision of the next row is used instead.
    start = rate(averaged, rows[0] if rate(averaged, rows[0]) is not None else rows[1])
    found = [start] if rate(fixed, rows[0]) == value else []
    for first, second in pairwise(rows):
        a, b = rate(fixed, first), rate(fixed, second)
        if b == value:
            found.append(rate(averaged, second))
        if min(a, b) < value < max(a, b):
            mix = (value - a) / (b - a)
            found.append(
                rate(averaged, tuple(p + mix * (q - p) for p, q in zip(first, second, strict=True)))
            )
    return found


def best(rows: list[Counts], fixed: str, value: Fraction, averaged: str) -> Fraction:
    return BETTER.get(averaged, max)(values_at(rows, fixed, value, averaged))


def mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def variance(values: Sequence[Fraction]) -> Fraction:
    middle = mean(values)
    return sum(((value - middle) ** 2 for value in values), Fraction(0)) / (len(values) - 1)


def area(rows: list[Counts], fixed: str, averaged: str) -> Fraction:
    """Return the area under the straight lines between the points of a curve."""
    every = [(rate(fixed, row), rate(averaged, row)) for row in rows]
    return sum(((b - a) * (low + high) / 2 for (a, low), (b, high) in pairwise(every)), Fraction(0))
