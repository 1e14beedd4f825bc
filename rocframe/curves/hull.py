"""Find the convex hull of curves, and the rows with the lowest expected cost."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.errors import OptionValueError
from rocframe.kernel.exact import MAX_INT64
from rocframe.options import to_float
from rocframe.rates import CONFUSION, RATES, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves


# Every n-th row is sampled, unless the mean number of rows of a curve is at most n.
SAMPLED_EVERY = 64
MAX_EXACT_PRODUCT = 2**61  # sums and differences of two products up to this limit fit into Int64


def hull_vertices(
    tp: NDArray[Any], fp: NDArray[Any], starts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Mark the vertices of the upper hull of each curve in the plane of `fp` and `tp`.

    The rows of curve i are `starts[i]:starts[i + 1]`. Each curve has at least one row. The first
    and the last row of a curve are marked. Other points on an edge of the hull are not marked.
    Integer counts are compared exactly.
    """
    if len(tp) <= SAMPLED_EVERY * len(starts):
        return _hull_vertices(tp, fp, starts)
    candidates = _hull_candidates(tp, fp, starts)
    is_vertex = np.zeros(len(tp), bool)
    is_vertex[candidates] = _hull_vertices(
        tp[candidates], fp[candidates], np.searchsorted(candidates, starts)
    )
    return is_vertex


def _hull_vertices(
    tp: NDArray[Any], fp: NDArray[Any], starts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    is_vertex = np.zeros(len(tp), bool)
    if not len(tp):
        return is_vertex
    if tp.dtype.kind == "i" and int(tp.max()) * int(fp.max()) > MAX_EXACT_PRODUCT:
        tp, fp = tp.astype(object), fp.astype(object)
    left, right = starts[:-1], starts[1:] - 1
    is_vertex[left] = is_vertex[right] = True
    segment = np.repeat(np.arange(len(left)), np.diff(starts))
    rows = np.arange(len(tp))
    # The row farthest above the straight line between the ends of a segment is a vertex. Rows on or
    # below the line are not vertices. Each pass removes at least one row, so the loop ends.
    while len(rows):
        a, b = left[segment], right[segment]
        above = (tp[rows] - tp[a]) * (fp[b] - fp[a]) - (fp[rows] - fp[a]) * (tp[b] - tp[a])
        is_above = np.asarray(above > 0, bool)
        if not is_above.any():
            break
        rows, segment, above = rows[is_above], segment[is_above], above[is_above]
        is_first = np.diff(segment, prepend=-1) != 0
        index = np.cumsum(is_first) - 1
        firsts = np.flatnonzero(is_first)
        farthest = np.flatnonzero(above == np.maximum.reduceat(above, firsts)[index])
        middle = rows[farthest[np.unique(index[farthest], return_index=True)[1]]]
        is_vertex[middle] = True
        halves = np.stack([left[segment[firsts]], middle, right[segment[firsts]]])
        left, right = halves[:2].T.ravel(), halves[1:].T.ravel()
        segment = 2 * index + (rows > middle[index])
        not_vertex = rows != middle[index]
        rows, segment = rows[not_vertex], segment[not_vertex]
    return is_vertex


def _hull_candidates(
    tp: NDArray[Any], fp: NDArray[Any], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return a subset of the rows that contains all vertices of the hulls.

    The subset consists of the vertices of the hulls of sampled rows, and of the rows above them.
    """
    ends = np.append(starts[:-1], starts[1:] - 1)
    sampled = np.union1d(np.arange(0, len(tp), SAMPLED_EVERY), ends)
    vertices = sampled[_hull_vertices(tp[sampled], fp[sampled], np.searchsorted(sampled, starts))]
    tp1, fp1 = tp[vertices], fp[vertices]
    lengths = np.diff(vertices, append=len(tp))
    if tp.dtype.kind == "i" and int(tp1.max()) * int(fp1.max()) > MAX_EXACT_PRODUCT:
        tp, fp, tp1, fp1 = (part.astype(object) for part in (tp, fp, tp1, fp1))
    # Differences between the last row of a curve and the next curve have no effect.
    height, width = (np.append(np.diff(part), part[:1]) for part in (tp1, fp1))
    above = (tp - np.repeat(tp1, lengths)) * np.repeat(width, lengths)
    above -= (fp - np.repeat(fp1, lengths)) * np.repeat(height, lengths)
    is_candidate = np.asarray(above > 0, bool)
    is_candidate[vertices] = True
    return np.flatnonzero(is_candidate)


ERROR_COSTS = {"fp": 1.0, "fn": 1.0}  # default costs, with which the cost is the error rate


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LowestCost:
    """The row of lowest expected cost of each curve, its cost, and the slope of equal cost.

    The slope is `rise` divided by `run`. `rise` and `run` are at least 0, and not both are 0. For
    curves that lack a class, `row` is -1 and the other values are NaN.
    """

    row: NDArray[np.int64]
    cost: NDArray[np.float64]
    rise: NDArray[np.float64]
    run: NDArray[np.float64]


def lowest_cost(
    curves: Curves, costs: Mapping[str, float] | None, prevalence: float | None
) -> LowestCost:
    """Return the row of lowest expected cost of each curve; of several, the highest threshold.

    Expected costs of integer counts are compared exactly. Costs and prevalence are interpreted as
    decimal numbers, so that 0.1 is exactly 1/10.
    """
    costs = ERROR_COSTS if costs is None else costs
    settings = Settings(costs=costs, prevalence=prevalence)
    exact = {name: _exact_fraction(costs.get(name, 0)) for name in CONFUSION}
    # The additional cost of an error in comparison with a correct prediction of the same row.
    fp_cost, fn_cost = exact["fp"] - exact["tn"], exact["fn"] - exact["tp"]
    if fp_cost < 0 or fn_cost < 0 or fp_cost == fn_cost == 0:
        raise OptionValueError.compose(
            "costs",
            costs,
            "errors must cost more than correct predictions",
            'Use, for example, {"fp": 1, "fn": 5}; the cost of outcomes that are not named is 0.',
        )
    pos, neg = curves.total("tp", "fn"), curves.total("fp", "tn")
    row = np.full(len(pos), -1)
    rise, run = np.full(len(pos), np.nan), np.full(len(pos), np.nan)
    for i in np.flatnonzero((pos > 0) & (neg > 0)):
        n_pos, n_neg = Fraction(pos[i].item()), Fraction(neg[i].item())
        pos_share = n_pos / (n_pos + n_neg) if prevalence is None else _exact_fraction(prevalence)
        fpr_cost, tpr_gain = (1 - pos_share) * fp_cost, pos_share * fn_cost
        rise[i], run[i] = fpr_cost, tpr_gain
        start, end = curves.starts[i], curves.starts[i + 1]
        fp, tp = (curves.columns[name][start:end] for name in ("fp", "tp"))
        row_costs = _relative_costs(fp, tp, fpr_cost / n_neg, tpr_gain / n_pos)
        row[i] = start + int(np.argmin(row_costs))
    defined = row >= 0
    counts = pl.DataFrame({name: curves.columns[name][row[defined]] for name in CONFUSION})
    cost = np.full(len(pos), np.nan)
    cost[defined] = counts.select(RATES["expected_cost"].expr(settings)).to_series().to_numpy()
    return LowestCost(row=row, cost=cost, rise=rise, run=run)


def _exact_fraction(number: float) -> Fraction:
    return Fraction(str(to_float(number)))


def _relative_costs(
    fp: NDArray[Any], tp: NDArray[Any], fp_cost: Fraction, tp_gain: Fraction
) -> NDArray[Any]:
    """Return a linear function of the expected cost of each row; the minimum is in the same row."""
    if fp.dtype.kind == "f" or tp.dtype.kind == "f":
        floats: NDArray[np.float64] = float(fp_cost) * fp - float(tp_gain) * tp
        return floats
    denominator = lcm(fp_cost.denominator, tp_gain.denominator)
    a, b = int(fp_cost * denominator), int(tp_gain * denominator)
    a, b = a // gcd(a, b), b // gcd(a, b)
    if a * int(fp.max()) + b * int(tp.max()) > MAX_INT64:
        fp, tp = fp.astype(object), tp.astype(object)
    integers: NDArray[Any] = a * fp - b * tp
    return integers
