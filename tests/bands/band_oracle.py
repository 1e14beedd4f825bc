"""Reference bands by definition: slow, in plain Python, in exact fractions.

Nothing here shares code with the package.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from tests import oracles

if TYPE_CHECKING:
    from collections.abc import Sequence

Point = tuple[Fraction, Fraction]


def points(labels: Sequence[bool], scores: Sequence[float]) -> list[Point]:
    """Return the distinct points of the ROC curve, from (0, 0) to (1, 1)."""
    cases = [oracles.Case(*row) for row in zip(labels, scores, strict=True)]
    return oracles.axes(oracles.curve(cases))


def heights(curve: Sequence[Point], x: Fraction) -> list[Fraction]:
    """Return the lowest and the highest TPR of a curve at `x`."""
    if x < 0 or x > 1:
        return [Fraction(x > 1)] * 2
    found = [y for at, y in curve if at == x]
    for (x0, y0), (x1, y1) in pairwise(curve):
        if x0 < x < x1:
            found.append(y0 + (x - x0) / (x1 - x0) * (y1 - y0))
    return [min(found), max(found)]


def moved(curve: Sequence[Point], x: Fraction, right: Fraction, up: Fraction) -> list[Fraction]:
    """Return the limits at `x` of the curve shifted left and up, and right and down."""
    lower = heights(curve, x - right)[0] - up
    upper = heights(curve, x + right)[1] + up
    return [max(lower, Fraction(0)), min(upper, Fraction(1))]


def inside(curve: Sequence[Point], other: Sequence[Point], right: float, up: float) -> bool:
    """Return whether another rising curve stays between the two shifted ones."""
    at, height = Fraction(right), Fraction(up)
    within = all(
        heights(curve, x - at)[0] - height <= y <= heights(curve, x + at)[1] + height
        for x, y in other
    )
    # Nor does it pass a corner of theirs.
    return within and all(
        heights(other, x - at)[0] <= y + height and heights(other, x + at)[1] >= y - height
        for x, y in curve
    )
