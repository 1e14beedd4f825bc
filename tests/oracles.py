"""Definitions of the statistics: slow, in plain Python, in exact fractions.

Nothing here sorts, sweeps or shares code with the package. A case is a row that counts; a case
whose score is None is unscored, and stands, as `missing="worst"` has it, for a positive that no
threshold reaches or a negative that every threshold does.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

INF = math.inf
SIDES = (True, False)


class Case(NamedTuple):
    """One row: how many it stands for, and how much each of them weighs."""

    positive: bool
    score: float | None
    count: int = 1
    weight: Fraction = Fraction(1)

    @property
    def mass(self) -> Fraction:
        return self.count * self.weight


class Point(NamedTuple):
    """A row of a curve table."""

    threshold: float
    tp: Fraction
    fp: Fraction
    fn: Fraction
    tn: Fraction


def cases(table: pl.DataFrame) -> list[Case]:
    """Read the rows of one group: a null or NaN score is unscored, a mass of 0 is no row."""
    read = []
    for row in table.iter_rows(named=True):
        score = row["score"]
        if score is not None:
            score = float(score)
            score = None if math.isnan(score) else score
        case = Case(bool(row["label"]), score, row.get("count", 1), Fraction(row.get("weight", 1)))
        if case.mass:
            read.append(case)
    return read


def total(some: Iterable[Case]) -> Fraction:
    return sum((case.mass for case in some), Fraction(0))


def sides(every: Sequence[Case]) -> tuple[list[Case], list[Case]]:
    return [c for c in every if c.positive], [c for c in every if not c.positive]


# Curves


def point(every: Sequence[Case], threshold: float, *, above_all: bool = False) -> Point:
    """Count the cells of `score >= threshold`; with `above_all` no scored row is positive."""
    pos, neg = sides(every)

    def called(case: Case) -> bool:
        if case.score is None:
            return not case.positive
        return not above_all and case.score >= threshold

    tp, fp = total(filter(called, pos)), total(filter(called, neg))
    return Point(threshold, tp, fp, total(pos) - tp, total(neg) - fp)


def curve(every: Sequence[Case]) -> list[Point]:
    """Return a row above all scores, then one for each distinct score, from the highest down."""
    scores = {case.score for case in every if case.score is not None}
    return [
        point(every, INF, above_all=True),
        *(point(every, score) for score in sorted(scores, reverse=True)),
    ]


def curve_table(groups: dict[Any, list[Case]], *, whole: bool = True) -> pl.DataFrame:
    """Return the curve table of groups in the given order; with integers or floats."""
    kind = pl.Int64 if whole else pl.Float64
    number: Callable[[Fraction], float] = int if whole else float
    rows = [
        {"group": name, "threshold": p.threshold + 0.0}
        | {part: number(getattr(p, part)) for part in ("tp", "fp", "fn", "tn")}
        for name, every in groups.items()
        for p in curve(every)
    ]
    counts = dict.fromkeys(("tp", "fp", "fn", "tn"), kind)
    return pl.DataFrame(rows, schema={"group": pl.String, "threshold": pl.Float64, **counts})


def threshold_dtype(table: pl.DataFrame) -> pl.DataType:
    """Return the dtype of the thresholds of a curve: that of the scores, if it is a float."""
    narrow = table.schema["score"] in {pl.Float16, pl.Float32}
    return pl.Float32() if narrow else pl.Float64()


def rounded(threshold: float, table: pl.DataFrame) -> float:
    """Return a given threshold in the dtype in which it is compared with the scores."""
    return pl.Series([threshold]).cast(threshold_dtype(table)).cast(pl.Float64).item()


def by_group(table: pl.DataFrame) -> dict[Any, list[Case]]:
    """Return the cases of each distinct `group`, nulls first."""
    names = sorted(set(table["group"]), key=lambda name: (name is not None, name))
    return {name: cases(table.filter(pl.col("group").eq_missing(name))) for name in names}


# Areas: over all pairs


class Areas(NamedTuple):
    auc: Fraction
    pessimistic: Fraction
    optimistic: Fraction


def beats(x: Case, y: Case) -> Fraction:
    """Return 1 if the positive has the higher score, 1/2 for a tie, and 0 otherwise."""
    if x.score is None or y.score is None:
        return Fraction(0)
    return Fraction((x.score > y.score) + (x.score >= y.score), 2)


def areas(every: Sequence[Case]) -> Areas | None:
    """Compare each positive with each negative; None where a class is absent."""
    pos, neg = sides(every)
    if not pos or not neg:
        return None
    whole = total(pos) * total(neg)
    wins = ties = Fraction(0)
    for x in pos:
        for y in neg:
            won = beats(x, y)
            wins += x.mass * y.mass * (won == 1)
            ties += x.mass * y.mass * (won == Fraction(1, 2))
    return Areas((wins + ties / 2) / whole, wins / whole, (wins + ties) / whole)


def spread(values: Sequence[Fraction], rows: Sequence[Case]) -> Fraction:
    """Return the variance of a weighted mean: n/(n-1) · Σ c·w²·(v - mean)² / (Σ c·w)²."""
    n, whole = sum(case.count for case in rows), total(rows)
    mean = sum((c.mass * v for c, v in zip(rows, values, strict=True)), Fraction(0)) / whole
    squares = sum(
        (c.count * c.weight**2 * (v - mean) ** 2 for c, v in zip(rows, values, strict=True)),
        Fraction(0),
    )
    return Fraction(n, n - 1) * squares / whole**2


def placements(every: Sequence[Case]) -> list[Fraction]:
    """Return each case's share of correctly ordered cases of the other class; ties one half."""
    pos, neg = sides(every)
    return [
        sum((y.mass * beats(case, y) for y in neg), Fraction(0)) / total(neg)
        if case.positive
        else sum((x.mass * beats(x, case) for x in pos), Fraction(0)) / total(pos)
        for case in every
    ]


def variance_of(values: Sequence[Fraction], every: Sequence[Case]) -> Fraction | None:
    """Return the variance of the mean over positives plus that over negatives; None below two."""
    pos, neg = sides(every)
    if min(sum(c.count for c in pos), sum(c.count for c in neg)) < 2:
        return None
    own = [[v for v, c in zip(values, every, strict=True) if c.positive is side] for side in SIDES]
    return spread(own[0], pos) + spread(own[1], neg)


def delong_variance(every: Sequence[Case]) -> Fraction | None:
    """Return the variance from the placements; None with fewer than two rows of a class."""
    pos, neg = sides(every)
    return variance_of(placements(every), every) if pos and neg else None


# Partial areas: the polyline, cut exactly


def axes(points: Sequence[Point]) -> list[tuple[Fraction, Fraction]]:
    """Return the ROC points as (fpr, tpr)."""
    return [(p.fp / (p.fp + p.tn), p.tp / (p.tp + p.fn)) for p in points]


def mirrored(line: Sequence[tuple[Fraction, Fraction]]) -> list[tuple[Fraction, Fraction]]:
    """Return the same curve with (1 - tpr, 1 - fpr) as axes."""
    return [(1 - y, 1 - x) for x, y in reversed(line)]


def under(
    line: Sequence[tuple[Fraction, Fraction]], a: Fraction, b: Fraction, how: str = "line"
) -> Fraction:
    """Integrate a rising polyline, or its lower or upper steps, from a to b."""
    area = Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(line):
        left, right = max(a, x0), min(b, x1)
        if right <= left:
            continue
        middle = y0 + (y1 - y0) * ((left + right) / 2 - x0) / (x1 - x0)
        area += (right - left) * {"line": middle, "lower": y0, "upper": y1}[how]
    return area


def under_in_rectangle(
    line: Sequence[tuple[Fraction, Fraction]],
    x: tuple[Fraction, Fraction],
    y: tuple[Fraction, Fraction],
    how: str = "line",
) -> Fraction:
    """Return the area of a rectangle that is below a rising polyline, or its steps."""
    area = Fraction(0)
    for (x0, y0), (x1, y1) in pairwise(line):
        left, right = max(x[0], x0), min(x[1], x1)
        if right <= left:
            continue
        slope = (y1 - y0) / (x1 - x0)
        # Cut at both heights, so that each piece is below, within or above the rectangle.
        cuts = {left, right}
        if slope and how == "line":
            cuts |= {x0 + (limit - y0) / slope for limit in y}
        edges = sorted(cut for cut in cuts if left <= cut <= right)
        for start, end in pairwise(edges):
            middle = y0 + slope * ((start + end) / 2 - x0)
            height = {"line": middle, "lower": y0, "upper": y1}[how]
            area += (end - start) * (min(max(height, y[0]), y[1]) - y[0])
    return area


def rectangle_areas(
    every: Sequence[Case], fpr: tuple[float, float], tpr: tuple[float, float]
) -> Areas | None:
    """Return the area of the rectangle of both ranges below the curve, and its tie bounds."""
    pos, neg = sides(every)
    if not pos or not neg:
        return None
    x, y = (tuple(map(Fraction, ends)) for ends in (fpr, tpr))
    line = axes(curve(every))
    return Areas(*(under_in_rectangle(line, x, y, how) for how in ("line", "lower", "upper")))


def partial_areas(every: Sequence[Case], rate: str, a: float, b: float) -> Areas | None:
    """Return the integral of TPR over FPR, or of 1 - FPR over TPR, and its tie bounds."""
    pos, neg = sides(every)
    if not pos or not neg:
        return None
    line = axes(curve(every))
    low, high = Fraction(a), Fraction(b)
    if rate == "tpr":
        line, low, high = mirrored(line), 1 - high, 1 - low
    return Areas(*(under(line, low, high, how) for how in ("line", "lower", "upper")))


def height(line: Sequence[tuple[Fraction, Fraction]], x: Fraction) -> Fraction:
    """Return the polyline at x, the upper end where it is vertical; 0 left of its start."""
    if x < line[0][0]:
        return Fraction(0)
    best = max(y for at, y in line if at <= x)
    for (x0, y0), (x1, y1) in pairwise(line):
        if x0 < x < x1:
            best = max(best, y0 + (y1 - y0) * (x - x0) / (x1 - x0))
    return best


def partial_placements(every: Sequence[Case], rate: str, a: float, b: float) -> list[Fraction]:
    """Return the mean of b - clip(u, a, b), or of R(clip(u, a, b)), over the rates u of each case.

    A case has the rates of its step: from the share of negatives above it to the share of
    negatives not below it. The first mean is that of a positive, the second that of a negative. A
    TPR range is the FPR range of the mirrored problem: the classes change places and scores their
    sign.
    """
    if rate == "tpr":
        turned = [
            Case(not c.positive, None if c.score is None else -c.score, c.count, c.weight)
            for c in every
        ]
        # Unscored rows stay the worst of their new class: last positives, first negatives.
        return partial_placements(turned, "fpr", float(1 - Fraction(b)), float(1 - Fraction(a)))
    neg = sides(every)[1]
    low, high = Fraction(a), Fraction(b)
    line = axes(curve(every))

    def standing(case: Case) -> tuple[int, float]:
        """Rank unscored negatives above all rows, and unscored positives below."""
        if case.score is None:
            return (-1 if case.positive else 1, 0.0)
        return (0, case.score)

    def place(case: Case) -> Fraction:
        own, of_all = standing(case), total(neg)
        start = sum((y.mass for y in neg if standing(y) > own), Fraction(0)) / of_all
        stop = sum((y.mass for y in neg if standing(y) >= own), Fraction(0)) / of_all
        if start == stop:
            inside = min(max(start, low), high)
            return high - inside if case.positive else height(line, inside)
        left, right = min(max(start, low), high), min(max(stop, low), high)
        before = max(min(stop, low) - start, Fraction(0))
        after = max(stop - max(start, high), Fraction(0))
        if case.positive:
            area = before * (high - low) + (right - left) * (high - (left + right) / 2)
        else:
            area = before * height(line, low) + after * height(line, high)
            area += under(line, left, right, "line")
        return area / (stop - start)

    return [place(case) for case in every]


def partial_variance(every: Sequence[Case], rate: str, a: float, b: float) -> Fraction | None:
    """Return the variance from the clipped placements; None with fewer than two rows of a class."""
    pos, neg = sides(every)
    return variance_of(partial_placements(every, rate, a, b), every) if pos and neg else None


# Precision-recall


def average_precision(points: Sequence[Point]) -> Fraction:
    """Return the step sum: each increase of recall times the precision at the end of the step."""
    pos = points[0].tp + points[0].fn
    steps = pairwise(points)
    return sum(
        ((p.tp - q.tp) / pos * p.tp / (p.tp + p.fp) for q, p in steps if p.tp > q.tp), Fraction(0)
    )


NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)


def pr_auc(points: Sequence[Point]) -> float:
    """Integrate precision over recall numerically, (tp, fp) linear between neighboring rows."""
    area, pos = 0.0, float(points[0].tp + points[0].fn)
    for q, p in pairwise(points):
        # Towards the left end the integrand is steep: geometric pieces tame it.
        edges = [0.0, *(2.0**-i for i in range(30, -1, -1))]
        for left, right in pairwise(edges):
            mix = left + (right - left) * (NODES + 1) / 2
            tp = float(q.tp) + mix * float(p.tp - q.tp)
            fp = float(q.fp) + mix * float(p.fp - q.fp)
            area += (right - left) / 2 * float(WEIGHTS @ (tp / (tp + fp))) * float(p.tp - q.tp)
    return area / pos


# Operating points


def rate(p: Point, axis: str) -> Fraction | None:
    part, whole = {
        "fpr": (p.fp, p.fp + p.tn),
        "tpr": (p.tp, p.tp + p.fn),
        "alert_rate": (p.tp + p.fp, p.tp + p.fp + p.fn + p.tn),
        "alerts": (p.tp + p.fp, 1),
    }[axis]
    # What is compared with the value is the rate as the table shows it: a Float64.
    return Fraction(float(part) / float(whole)) if whole else None


def at(points: Sequence[Point], axis: str, value: float) -> Point | None:
    """Return the row that `at` is defined to return, or None."""
    if axis == "threshold":
        return [p for p in points if p.threshold >= value][-1]
    rates = [rate(p, axis) for p in points]
    if rates[0] is None:
        return None
    if axis == "tpr":
        return next((p for p, r in zip(points, rates, strict=True) if r >= value), None)
    remaining = [p for p, r in zip(points, rates, strict=True) if r <= value]
    return remaining[-1] if remaining else None


class Between(NamedTuple):
    """A point between two rows, and which rows these are."""

    point: Point
    above: float
    below: float
    mix: Fraction


def between(points: Sequence[Point], axis: str, value: float) -> Between | None:
    """Interpolate the counts of the rows on both sides of a value; None without such rows."""
    row = at(points, axis, value)
    if row is None:
        return None
    place = points.index(row)
    if axis == "tpr":
        first, second = points[max(place - 1, 0)], row
    else:
        first, second = row, points[min(place + 1, len(points) - 1)]
    low, high = rate(first, axis), rate(second, axis)
    mix = (Fraction(value) - low) / (high - low) if high > low else Fraction(0)
    mix = min(max(mix, Fraction(0)), Fraction(1))
    counts = (p + mix * (q - p) for p, q in zip(first[1:], second[1:], strict=True))
    return Between(Point(math.nan, *counts), first.threshold, second.threshold, mix)


# Rates: each from the counts, as its definition says it


def ratio(part: Any, whole: Any) -> Any:
    return None if not whole or part is None else part / whole


def odds(part: Any, whole: Any) -> Any:
    """Return a ratio that is infinite if the denominator is 0."""
    if part is None or whole is None:
        return None
    return INF if part and not whole else ratio(part, whole)


def both(part: Any, other: Any, put_together: Callable[[Any, Any], Any]) -> Any:
    return None if part is None or other is None else put_together(part, other)


def bits(tp: Fraction, fp: Fraction, fn: Fraction, tn: Fraction) -> float | None:
    """Return the mutual information: the entropies of the margins minus the joint entropy."""
    n = tp + fp + fn + tn

    def entropy(*counts: Fraction) -> float:
        shares = [float(c / n) for c in counts]
        return -sum(share * math.log2(share) for share in shares if share)

    if not n:
        return None
    return entropy(tp + fn, fp + tn) + entropy(tp + fp, fn + tn) - entropy(tp, fp, fn, tn)


def chi_squared(tp: Fraction, fp: Fraction, fn: Fraction, tn: Fraction) -> Fraction | None:
    """Add up (observed - expected)² / expected, uncorrected."""
    n, rows, columns = tp + fp + fn + tn, (tp + fp, fn + tn), (tp + fn, fp + tn)
    if not all((*rows, *columns)):
        return None
    cells = ((tp, 0, 0), (fp, 0, 1), (fn, 1, 0), (tn, 1, 1))
    return sum(
        ((c - rows[i] * columns[j] / n) ** 2 / (rows[i] * columns[j] / n) for c, i, j in cells),
        Fraction(0),
    )


def kappa(tp: Fraction, fp: Fraction, fn: Fraction, tn: Fraction) -> Fraction | None:
    """Return Cohen's kappa: the agreement beyond that expected by chance."""
    n = tp + fp + fn + tn
    if not n:
        return None
    agreed = (tp + tn) / n
    chance = ((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)) / n**2
    return ratio(agreed - chance, 1 - chance)


def mcc(tp: Fraction, fp: Fraction, fn: Fraction, tn: Fraction) -> float | None:
    """Return the correlation of label and prediction."""
    margins = (tp + fp) * (tp + fn) * (fn + tn) * (fp + tn)
    return ratio(float(tp * tn - fp * fn), math.sqrt(margins))


def f_beta(tp: Fraction, fp: Fraction, fn: Fraction, beta: float) -> Fraction | None:
    square = Fraction(beta) ** 2
    return ratio((1 + square) * tp, (1 + square) * tp + square * fn + fp)


def net_benefit(p: Point) -> Fraction | None:
    n = p.tp + p.fp + p.fn + p.tn
    if not n or not (0 <= p.threshold < 1 or p.threshold == INF):
        return None
    if p.threshold == INF:
        return Fraction(0)
    at_risk = Fraction(p.threshold)
    return p.tp / n - p.fp / n * at_risk / (1 - at_risk)


def at_prevalence(p: Point, prevalence: float | None) -> Point | None:
    """Return the counts with classes of n·π and n·(1 - π); None if a class is absent."""
    if prevalence is None:
        return p
    pos, neg = p.tp + p.fn, p.fp + p.tn
    if not pos or not neg:
        return None
    more, less = Fraction(prevalence) * (pos + neg), Fraction(1 - prevalence) * (pos + neg)
    return Point(
        p.threshold, more * p.tp / pos, less * p.fp / neg, more * p.fn / pos, less * p.tn / neg
    )


def within_class(p: Point) -> dict[str, Any]:
    """Return the rates that do not depend on the prevalence."""
    tp, fp, fn, tn = p[1:]
    tpr, fpr = ratio(tp, tp + fn), ratio(fp, fp + tn)
    fnr, tnr = ratio(fn, tp + fn), ratio(tn, fp + tn)
    return {
        "tpr": tpr,
        "fpr": fpr,
        "tnr": tnr,
        "fnr": fnr,
        "balanced_accuracy": both(tpr, tnr, lambda a, b: (a + b) / 2),
        "youden": both(tpr, fpr, lambda a, b: a - b),
        "lr_pos": odds(tpr, fpr),
        "lr_neg": odds(fnr, tnr),
        "odds_ratio": odds(tp * tn, fp * fn),
    }


def across_classes(p: Point, beta: float, costs: dict[str, float]) -> dict[str, Any]:
    """Return the rates that depend on the prevalence."""
    tp, fp, fn, tn = p[1:]
    n = tp + fp + fn + tn
    precision, npv = ratio(tp, tp + fp), ratio(tn, fn + tn)
    paid = sum(Fraction(costs.get(name, 0)) * getattr(p, name) for name in p._fields[1:])
    return {
        "precision": precision,
        "npv": npv,
        "fdr": ratio(fp, tp + fp),
        "false_omission_rate": ratio(fn, fn + tn),
        "accuracy": ratio(tp + tn, n),
        "error_rate": ratio(fp + fn, n),
        "f1": f_beta(tp, fp, fn, 1),
        "f_beta": f_beta(tp, fp, fn, beta),
        "jaccard": ratio(tp, tp + fp + fn),
        "mcc": mcc(tp, fp, fn, tn),
        "kappa": kappa(tp, fp, fn, tn),
        "markedness": both(precision, npv, lambda a, b: a + b - 1),
        "alert_rate": ratio(tp + fp, n),
        "rnp": ratio(fn + tn, n),
        "lift": ratio(precision, ratio(tp + fn, n)),
        "prevalence": ratio(tp + fn, n),
        "mutual_information": bits(tp, fp, fn, tn),
        "chi2": chi_squared(tp, fp, fn, tn),
        "skill": both(Fraction(1), ratio(fp + fn, min(tp + fn, fp + tn)), lambda a, b: a - b),
        "expected_cost": ratio(paid, n),
        "net_benefit": net_benefit(p),
    }


def rates(
    p: Point,
    *,
    beta: float = 1.0,
    costs: dict[str, float] | None = None,
    prevalence: float | None = None,
) -> dict[str, float | None]:
    """Return all rates of a confusion matrix as floats; None where undefined."""
    moved = at_prevalence(p, prevalence)
    found = within_class(p)
    found |= across_classes(moved or Point(p.threshold, *[Fraction(0)] * 4), beta, costs or {})
    found["alerts"] = p.tp + p.fp
    return {name: None if value is None else as_float(value) for name, value in found.items()}


def as_float(value: Fraction | float) -> float:
    """Return the nearest float; infinity for a ratio that is larger than all finite floats."""
    try:
        return float(value)
    except OverflowError:
        return INF


# Averages of metrics at fixed values of another metric


Counts = tuple[Fraction, Fraction, Fraction, Fraction]  # tp, fp, positives, negatives
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
    "lift": lambda c: (c[0] * (c[2] + c[3]), (c[0] + c[1]) * c[2]),
    "skill": lambda c: (min(c[2], c[3]) - c[1] - c[2] + c[0], min(c[2], c[3])),
}
LOWER_IS_BETTER = {"fpr", "fnr", "alert_rate"}

# Of several points with the same value of these, the one with the highest threshold is used.
FROM_ABOVE = ("tpr", "fnr", "npv", "tp")


def folds(table: pl.DataFrame) -> list[list[Case]]:
    """Return the cases of all folds with both classes."""
    parts = [cases(part) for part in table.partition_by("fold", maintain_order=True)]
    return [every for every in parts if all(sides(every))]


def fold_counts(table: pl.DataFrame) -> list[list[Counts]]:
    """Return the curves of all folds with both classes."""
    return [
        [(p.tp, p.fp, p.tp + p.fn, p.fp + p.tn) for p in curve(every)] for every in folds(table)
    ]


def metric(name: str, counts: Counts) -> Fraction | None:
    numerator, denominator = METRICS[name](counts)
    return numerator / denominator if denominator else None


def value_at(name: str, rows: list[Counts], counts: Counts) -> Fraction | None:
    """Return the metric at a point; the precision without alerts is that of the next row."""
    nothing = name in {"precision", "lift"} and counts[0] + counts[1] == 0
    return metric(name, rows[1] if nothing else counts)


def counts_at(rows: list[Counts], fixed: str, value: Fraction) -> list[Counts]:
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


def best_at(rows: list[Counts], fixed: str, value: Fraction, averaged: str) -> Fraction:
    """Return the best value of `averaged` where `fixed` has this value; a jump has several."""
    better = min if averaged in LOWER_IS_BETTER else max
    return better(value_at(averaged, rows, point) for point in counts_at(rows, fixed, value))


def counts_between(rows: list[Counts], fixed: str, value: Fraction) -> Counts | None:
    every = counts_at(rows, fixed, value)
    if not every:
        return None
    return every[0] if fixed in FROM_ABOVE else every[-1]


def nearest_counts(
    rows: list[Counts], fixed: str, value: Fraction, better: str | None
) -> Counts | None:
    """Return the nearest of the two neighboring rows; the better one if the distance is equal."""
    point = counts_between(rows, fixed, value)
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


# Newcombe


def newcombe_variance(area: float, n_pos: int, n_neg: int) -> float:
    """Return Newcombe's V(θ)."""
    n = (n_pos + n_neg) / 2 - 1
    spread_of_pairs = 1 + n * (1 - area) / (2 - area) + n * area / (1 + area)
    return area * (1 - area) * spread_of_pairs / (n_pos * n_neg)
