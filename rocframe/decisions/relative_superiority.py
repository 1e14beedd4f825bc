"""The functions `relative_superiority` and `lc_index`: which model has the lowest cost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.curves.table import plan_curves
from rocframe.decisions.cost_curve import EnvelopeLines, expand_ranges, normalized_cost
from rocframe.decisions.hull import common_hulls, optimal_ranges
from rocframe.errors import OptionValueError
from rocframe.frames import build_table
from rocframe.inference import class_notes
from rocframe.kernel.groups import group_starts, groups_of_rows
from rocframe.options import parse_fraction, public, to_floats
from rocframe.schemas.curves import LC_INDEX_COLUMNS, SUPERIORITY_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By


@public
def relative_superiority(
    curves: FrameT, /, *, across: str, prevalence: float | None = None, by: By = None
) -> FrameT:
    """Return the ranges of costs in which each of several models has the lowest expected cost.

    Each model uses the threshold that is best for the costs. The chart of the table is the relative
    superiority graph of Adams and Hand.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    across : str
        Group column whose curves are compared, such as `"model"`.
    prevalence : float, default None
        Prevalence, between 0 and 1, for the conversion to and from probability costs; by default
        that passed to `curve`, or else that of all compared curves together.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per curve and range, sorted by group and rising probability cost: `*by,
        probability_cost_low, probability_cost_high, relative_cost_low, relative_cost_high,
        cost_ratio_low, cost_ratio_high, largest_difference, n_best, note`.

        - The six limits (Float64) are one range on three scales: the probability cost of
          `cost_curve`; the relative cost c_fp / (c_fp + c_fn), as in `h_measure`; and the cost
          ratio c_fp / c_fn, as in `hull`. The latter two fall while the first rises. Only they
          depend on `prevalence`.
        - `largest_difference` (Float64) is the largest advantage of the curve in the range: the
          lowest `expected_cost` of all other curves minus its own; null if there is no other curve.
        - `n_best` (Int64) is the number of curves that have the lowest cost in the range; each has
          a row. For example, all curves contain (0, 0).

        A curve that never has the lowest cost has no row. A curve that lacks a class has one row,
        in which `n_best` is 0 and all limits are null. `note` (String) is null or `no_rows`,
        `no_positives`, `no_negatives`, `one_positive` or `one_negative`.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a curve lacks rows, or if an option is invalid.

    See Also
    --------
    lc_index : The probability that each model has the lowest cost if costs are uncertain.
    cost_curve : The lowest expected cost for each ratio of costs.

    References
    ----------
    N. M. Adams, D. J. Hand (1999), Pattern Recognition 32, 1139. doi:10.1016/S0031-3203(98)00154-X

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = {"a": [0.9, 0.8, 0.7, 0.4, 0.4, 0.1], "b": [0.9, 0.7, 0.8, 0.4, 0.2, 0.3]}
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0, 1, 0], **scores})
    >>> curves = rf.curve(predictions, "label", ["a", "b"])
    >>> ranges = rf.relative_superiority(curves, across="model")
    >>> ranges.select("model", "^probability_cost.*$", "largest_difference", "n_best")
    shape: (2, 5)
    ┌───────┬──────────────────────┬───────────────────────┬────────────────────┬────────┐
    │ model ┆ probability_cost_low ┆ probability_cost_high ┆ largest_difference ┆ n_best │
    │ ---   ┆ ---                  ┆ ---                   ┆ ---                ┆ ---    │
    │ str   ┆ f64                  ┆ f64                   ┆ f64                ┆ i64    │
    ╞═══════╪══════════════════════╪═══════════════════════╪════════════════════╪════════╡
    │ a     ┆ 0.666667             ┆ 1.0                   ┆ 0.083333           ┆ 1      │
    │ b     ┆ 0.0                  ┆ 0.666667              ┆ 0.166667           ┆ 1      │
    └───────┴──────────────────────┴───────────────────────┴────────────────────┴────────┘
    """
    parsed = None if prevalence is None else parse_fraction("prevalence", prevalence, example=0.1)
    return plan_curves(
        curves,
        by,
        SUPERIORITY_COLUMNS,
        lambda curves, _: superiority_table(curves, across, parsed),
        anchor="n_best",
        compared=("across", across),
    )


@public
def lc_index(
    curves: FrameT,
    /,
    *,
    across: str,
    cost_ratio: Sequence[float],
    prevalence: float | None = None,
    by: By = None,
) -> FrameT:
    """Return the LC index: the probability that each model has the lowest cost.

    The lowest, the most likely and the highest cost ratio r = c_fp / c_fn define a triangular
    distribution of the relative cost r / (1 + r). The LC index (loss comparison index) of a model
    is the probability that it has the lowest expected cost. It does not depend on how much costs
    differ.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    across : str
        Group column whose curves are compared, such as `"model"`.
    cost_ratio : sequence of float
        The lowest, the most likely and the highest ratio of the cost of a false positive to that of
        a false negative, from 0 to infinity.
    prevalence : float, default None
        Prevalence, between 0 and 1, for the conversion to and from probability costs; by default
        that passed to `curve`, or else that of all compared curves together.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per curve, sorted by group: `*by, lc_index, best_share, tied_share, cost_ratio_low,
        cost_ratio_mode, cost_ratio_high, prevalence, note`. All numbers are Float64. `best_share`
        and `tied_share` are the probabilities that the curve alone, or with other curves, has the
        lowest cost. `lc_index` is `best_share` plus an equal part of each shared range, so that the
        indices of compared curves add up to 1.

        Values are null for a curve that lacks a class, which is not compared. `note` (String) is
        null or `no_rows`, `no_positives`, `no_negatives`, `one_positive` or `one_negative`.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a curve lacks rows, or if an option is invalid.

    See Also
    --------
    relative_superiority : The ranges of costs in which each model has the lowest cost.
    h_measure : The mean cost of each model over a distribution of costs.

    References
    ----------
    N. M. Adams, D. J. Hand (1999), Pattern Recognition 32, 1139. doi:10.1016/S0031-3203(98)00154-X

    Examples
    --------
    A false positive costs 0.1 to 1 times as much as a false negative, most likely 0.25 times:

    >>> import polars as pl, rocframe as rf
    >>> scores = {"a": [0.9, 0.8, 0.7, 0.4, 0.4, 0.1], "b": [0.9, 0.7, 0.8, 0.4, 0.2, 0.3]}
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0, 1, 0], **scores})
    >>> curves = rf.curve(predictions, "label", ["a", "b"])
    >>> index = rf.lc_index(curves, across="model", cost_ratio=(0.1, 0.25, 1))
    >>> index.select("model", pl.col("lc_index").round(3)).rows()
    [('a', 0.774), ('b', 0.226)]
    """
    ratios = _parse_cost_ratio(cost_ratio)
    parsed = None if prevalence is None else parse_fraction("prevalence", prevalence, example=0.1)
    return plan_curves(
        curves,
        by,
        LC_INDEX_COLUMNS,
        lambda curves, _: lc_index_table(curves, across, ratios, parsed),
        anchor="cost_ratio_low",
        compared=("across", across),
    )


def _parse_cost_ratio(cost_ratio: object) -> list[float]:
    """Return the lowest, the most likely and the highest cost ratio."""
    values = to_floats(cost_ratio)
    hint = "Use, for example, cost_ratio=(0.1, 0.25, 1)."
    if values is None or len(values) != 3 or not all(value >= 0 for value in values):
        problem = "expected the lowest, the most likely and the highest ratio, all at least 0"
        raise OptionValueError.compose("cost_ratio", cost_ratio, problem, hint)
    if not values[0] <= values[1] <= values[2] or values[0] == values[2]:
        problem = "the three ratios must not decrease, and the first and the last must differ"
        raise OptionValueError.compose("cost_ratio", cost_ratio, problem, hint)
    low, _, high = relative_cost(np.array(values))
    if low == high:
        problem = (
            "the first and the last ratio are so close to 0 or to infinity that both give the "
            "same relative cost"
        )
        raise OptionValueError.compose("cost_ratio", cost_ratio, problem, hint)
    return [value + 0.0 for value in values]


class CostRanges(NamedTuple):
    """The ranges in which curves have the lowest cost, sorted by curve and rising probability cost.

    `group` and `prevalence` have a value for each curve; the prevalence is NaN if it lacks a class.
    """

    curve: NDArray[np.int64]
    n_best: NDArray[np.int64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    ratio_low: NDArray[np.float64]
    ratio_high: NDArray[np.float64]
    group: NDArray[np.int64]
    prevalence: NDArray[np.float64]


def cost_ranges(curves: Curves, across: str, prevalence: float | None) -> CostRanges:
    """Return the ranges of costs in which each curve has the lowest cost of its group."""
    if prevalence is not None:
        curves = replace(curves, prevalence=prevalence)
    hulls = common_hulls(curves, across)
    limits = optimal_ranges(curves, hulls)
    pos, neg = curves.pos, curves.neg
    n_points = len(hulls.row)
    # Duplicates are removed, because two rows of a curve can contain the same vertex.
    pairs = np.unique(np.stack([hulls.shared_curve, hulls.shared_vertex]), axis=1)
    n_best = np.bincount(pairs[1], minlength=n_points)
    defined = limits["prevalence_low"] < limits["prevalence_high"]
    curve, vertex = pairs[:, defined[pairs[1]]].astype(np.int64)
    # Neighboring ranges of a curve are joined if the same number of curves share them.
    n_shared = n_best[vertex]
    is_new = np.ones(len(curve), bool)
    before, after = limits["prevalence_high"][vertex], limits["prevalence_low"][vertex]
    is_new[1:] = (np.diff(curve) != 0) | (np.diff(n_shared) != 0) | (after[1:] != before[:-1])
    first = np.flatnonzero(is_new)
    last = np.append(first, len(curve))[1:] - 1
    with np.errstate(invalid="ignore"):
        share = (hulls.n_pos / (hulls.n_pos + hulls.n_neg))[hulls.curve_group]
    share = share if curves.prevalence is None else np.full(len(pos), curves.prevalence)
    return CostRanges(
        curve=curve[first],
        n_best=n_shared[first],
        low=limits["prevalence_low"][vertex[first]],
        high=limits["prevalence_high"][vertex[last]],
        # The cost ratio falls while the probability cost rises.
        ratio_low=limits["cost_ratio_low"][vertex[last]],
        ratio_high=limits["cost_ratio_high"][vertex[first]],
        group=hulls.curve_group,
        prevalence=np.where((pos > 0) & (neg > 0), share, np.nan),
    )


def superiority_table(curves: Curves, across: str, prevalence: float | None) -> pl.DataFrame:
    """Return a row for each range, and one row for each curve that lacks a class."""
    ranges = cost_ranges(curves, across, prevalence)
    pos, neg = curves.pos, curves.neg
    undefined = np.flatnonzero((pos == 0) | (neg == 0))
    curve = np.concatenate([ranges.curve, undefined])
    order = np.argsort(curve, kind="stable")
    columns = {
        "probability_cost_low": ranges.low,
        "probability_cost_high": ranges.high,
        "relative_cost_low": relative_cost(ranges.ratio_low),
        "relative_cost_high": relative_cost(ranges.ratio_high),
        "cost_ratio_low": ranges.ratio_low,
        "cost_ratio_high": ranges.ratio_high,
        "largest_difference": largest_differences(curves, ranges),
    }
    missing = np.full(len(undefined), np.nan)
    result = {name: np.append(values, missing)[order] for name, values in columns.items()}
    result["n_best"] = np.append(ranges.n_best, np.zeros(len(undefined), np.int64))[order]
    note = class_notes(pos, neg)[curve[order]].tolist()
    return build_table(
        curves.keys, {**result, "note": note}, SUPERIORITY_COLUMNS, rows=curve[order]
    )


def relative_cost(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return c_fp / (c_fp + c_fn) for ratios c_fp / c_fn, which can be infinite."""
    with np.errstate(divide="ignore", over="ignore"):
        cost: NDArray[np.float64] = 1 / (1 + 1 / ratio)
    return cost


def largest_differences(curves: Curves, ranges: CostRanges) -> NDArray[np.float64]:
    """Return the largest difference of the second lowest and the lowest cost in each range.

    NaN without another curve. The maximum of this piecewise linear function of the probability cost
    is at an end of the range, or at a crossing of two lines of the best curve or of the envelope of
    the others.
    """
    result = np.where(ranges.n_best > 1, 0.0, np.nan)
    single = np.flatnonzero(ranges.n_best == 1)
    best_curves, best_index = np.unique(ranges.curve[single], return_inverse=True)
    pos, neg = curves.pos, curves.neg
    tp, fp = curves.columns["tp"], curves.columns["fp"]
    all_lines = EnvelopeLines.find(tp, fp, curves.starts, pos, neg)
    curve = groups_of_rows(curves.starts, all_lines.row)
    with np.errstate(divide="ignore", invalid="ignore"):
        fpr, tpr = fp[all_lines.row] / neg[curve], tp[all_lines.row] / pos[curve]
    # For each best curve, find the points of all other curves of its group.
    group = ranges.group
    usable = np.flatnonzero(((pos > 0) & (neg > 0))[curve])
    order = usable[np.lexsort((tpr[usable], fpr[usable], group[curve[usable]]))]
    of_points = group[curve[order]]
    starts, ends = np.searchsorted(of_points, [group[best_curves], group[best_curves] + 1])
    segment, point = expand_ranges(starts, ends)
    point = order[point]
    is_other = curve[point] != best_curves[segment]
    segment, point = segment[is_other], point[is_other]
    compared, segment = np.unique(segment, return_inverse=True)
    if not len(compared):
        return result
    edges = group_starts(segment, len(compared))
    ones = np.ones(len(compared))
    other = EnvelopeLines.find(tpr[point], fpr[point], edges, ones, ones)

    single, best_index = (values[np.isin(best_index, compared)] for values in (single, best_index))
    low, high, best_curve = ranges.low[single], ranges.high[single], best_curves[best_index]
    index = np.searchsorted(compared, best_index)
    parts = [(np.arange(len(single)), low), (np.arange(len(single)), high)]
    parts += [
        lines.crossings_between(of, low, high)
        for lines, of in ((all_lines, best_curve), (other, index))
    ]
    row, value = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    at_best = all_lines.lines_at(best_curve[row], value)
    at_other = point[other.row[other.lines_at(index[row], value)]]
    cost, second = (
        normalized_cost(fpr[line], 1 - tpr[line], value) for line in (at_best, at_other)
    )
    result[single] = 0.0
    np.maximum.at(result, single[row], second - cost)
    return result


def lc_index_table(
    curves: Curves, across: str, ratios: Sequence[float], prevalence: float | None
) -> pl.DataFrame:
    """Return a row for each curve, with the probability that it has the lowest cost."""
    ranges = cost_ranges(curves, across, prevalence)
    low, mode, high = relative_cost(np.array(ratios))
    above, below = (
        triangular_probability(relative_cost(ratio), low, mode, high)
        for ratio in (ranges.ratio_high, ranges.ratio_low)
    )
    weight, pos, neg = above - below, curves.pos, curves.neg
    undefined = np.where((pos == 0) | (neg == 0), np.nan, 0.0)
    is_single = ranges.n_best == 1
    shares = {
        "lc_index": weight / ranges.n_best,
        "best_share": weight * is_single,
        "tied_share": weight * ~is_single,
    }
    columns: dict[str, Any] = {
        name: undefined + np.clip(np.bincount(ranges.curve, values, len(pos)), 0, 1)
        for name, values in shares.items()
    }
    columns |= zip(("cost_ratio_low", "cost_ratio_mode", "cost_ratio_high"), ratios, strict=True)
    columns |= {"prevalence": ranges.prevalence, "note": class_notes(pos, neg).tolist()}
    return build_table(curves.keys, columns, LC_INDEX_COLUMNS)


def triangular_probability(
    value: NDArray[np.float64], low: float, mode: float, high: float
) -> NDArray[np.float64]:
    """Return the distribution function of a triangular distribution at each value."""
    below, above = np.clip(value, low, mode), np.clip(value, mode, high)
    # Quotients of small differences do not underflow, in contrast to their products.
    rising = (below - low) / (high - low) * ((below - low) / (mode - low)) if mode > low else 0.0
    falling = (
        (high - above) / (high - low) * ((high - above) / (high - mode)) if mode < high else 0.0
    )
    probability: NDArray[np.float64] = np.where(value < mode, rising, 1 - falling)
    return probability
