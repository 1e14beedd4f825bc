"""Interpolate and integrate between two rows of a curve, and find where a metric has a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.rates import CONFUSION, CountRatio
from rocframe.schemas.columns import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.rates import Rate


# Largest error of the metric at a root, as a fraction of its change between the two rows.
ROOT_TOLERANCE = 1e-11


def segment_fraction(
    distance: NDArray[np.float64], length: NDArray[np.float64], *, empty: float = 0.0
) -> NDArray[np.float64]:
    """Return distance / length, clipped to [0, 1]; `empty` if the length is 0.

    `distance` is the distance from the start of a segment, and `length` the length of the segment.
    """
    fraction = np.full(np.shape(distance), empty)
    np.divide(distance, length, out=fraction, where=length != 0)
    return np.clip(fraction, 0, 1, out=fraction)


def interpolated_values(
    start: NDArray[Any], end: NDArray[Any], fraction: float | NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return linearly interpolated values: `start` at the fraction 0, and `end` at 1."""
    start = np.asarray(start, np.float64)
    values: NDArray[np.float64] = start + fraction * (end - start)
    return values


def segment_root(
    metric: Rate,
    value: NDArray[np.float64],
    upper: Mapping[str, NDArray[Any]],
    lower: Mapping[str, NDArray[Any]],
) -> NDArray[np.float64]:
    """Return the fraction in [0, 1] at which a metric has a value between two rows of a curve.

    `upper` and `lower` are the thresholds and counts of two neighboring rows. Counts are
    interpolated linearly: the fraction is 0 at the row `upper` and 1 at the row `lower`.
    """
    if not len(value):
        return value
    ratio = metric.count_ratio
    if metric.at_given_prevalence and isinstance(metric.formula, CountRatio):
        ratio = metric.formula
        totals = upper["tp"] + upper["fn"], upper["fp"] + upper["tn"]
        upper, lower = (metric.reweight(row, *totals) for row in (upper, lower))
    step = {name: lower[name] - upper[name] for name in CONFUSION if name in upper}
    if ratio is not None:
        off, change = (
            sum(counts[name] for name in ratio.numerator)
            - value
            * (sum(counts[name] for name in ratio.denominator) if ratio.denominator else constant)
            for counts, constant in ((upper, 1), (step, 0))
        )
        return segment_fraction(off, -change)
    totals = upper["tp"] + upper["fn"], upper["fp"] + upper["tn"]
    row = upper[THRESHOLD], upper["tp"], upper["fp"], step["tp"], step["fp"], *totals
    arguments = (value, *row)

    def difference(fraction: Any, value: Any, *row: Any) -> NDArray[np.float64]:
        """Return the metric at a point of the segment minus the value."""
        threshold, tp, fp, more_tp, more_fp, pos, neg = row
        counts = confusion_counts(
            threshold, tp + fraction * more_tp, fp + fraction * more_fp, pos, neg
        )
        result: NDArray[np.float64] = metric.evaluate(counts) - value
        return result

    start, middle, end = (
        difference(np.full(len(value), fraction), *arguments) for fraction in (0, 0.5, 1)
    )
    # If the metric is a ratio of two linear functions of the fraction, its values at three points
    # determine the root. For other metrics, this root is wrong and `solved` is False.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        # `weight` is the denominator at the end divided by the denominator at the start.
        weight = (start - middle) / (middle - end)
        root = np.asarray(np.clip(start / (start - weight * end), 0, 1))
        solved = np.abs(difference(root, *arguments)) <= ROOT_TOLERANCE * np.abs(end - start)
    solved &= np.isfinite(start) & np.isfinite(end)
    if not solved.all():
        rest = [argument[~solved] for argument in arguments]
        root[~solved] = bracketed_root(difference, rest, falling=start[~solved] > 0)
    return root


def bracketed_root(
    difference: Callable[..., NDArray[np.float64]],
    arguments: Sequence[NDArray[np.float64]],
    *,
    falling: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return the fraction in [0, 1] at which a function is 0, by Chandrupatla's (1997) method.

    `falling` is True for functions that are positive at the fraction 0. Infinite values of a
    function are replaced by large finite values. Undefined values are treated as values with the
    sign that the function has at the fraction 1. The result is 0 if the function has the same sign
    at the fractions 0 and 1.
    """
    from scipy.optimize.elementwise import find_root

    sign, large = np.where(falling, -1.0, 1.0), 1e150

    def rising(fraction: NDArray[np.float64], sign: Any, *arguments: Any) -> NDArray[np.float64]:
        values = np.nan_to_num(sign * difference(fraction, *arguments), nan=large)
        result: NDArray[np.float64] = np.clip(values, -large, large)
        return result

    ends = np.zeros(len(sign)), np.ones(len(sign))
    result = find_root(rising, ends, args=(sign, *arguments), tolerances={"xatol": 2.0**-54})
    return np.where(result.success, result.x, 0.0)


def confusion_counts(
    threshold: NDArray[np.float64],
    tp: NDArray[np.float64],
    fp: NDArray[np.float64],
    pos: NDArray[np.float64],
    neg: NDArray[np.float64],
) -> dict[str, NDArray[np.float64]]:
    """Return threshold and counts by name; `fn` is pos - tp and `tn` is neg - fp, at least 0."""
    fn, tn = np.maximum(pos - tp, 0), np.maximum(neg - fp, 0)
    return {THRESHOLD: threshold, "tp": tp, "fp": fp, "fn": fn, "tn": tn}


def precision_recall_integral(
    tp: NDArray[np.float64],
    fp: NDArray[np.float64],
    tp0: NDArray[np.float64],
    fp0: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the integral of precision over the true positives between two points of a curve.

    `tp0` and `fp0` are the counts of the first point, `tp` and `fp` those of the second point.
    Between the points, tp and fp are interpolated linearly (Davis and Goadrich 2006).
    """
    gain, loss = tp - tp0, fp - fp0
    length, rises = gain + loss, gain > 0
    pos_share, neg_share = (
        np.divide(part, length, out=np.zeros_like(tp), where=rises) for part in (gain, loss)
    )
    # At the point with n more alerts than the first point, tp is tp0 + pos_share·n.
    distance = fp0 * pos_share - tp0 * neg_share
    area = pos_share * (gain - distance * log_growth(tp0 + fp0, length))
    return np.where(rises, area, 0.0)


def log_growth(start: NDArray[np.float64], growth: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return log((start + growth) / start), or 0 if `start` is 0, without overflow."""
    positive = start > 0
    with np.errstate(over="ignore"):
        relative = np.divide(growth, start, out=np.zeros_like(start), where=positive)
    result: NDArray[np.float64] = np.log1p(relative)
    large = np.isinf(relative)
    result[large] = np.log(growth[large]) - np.log(start[large])
    return result
