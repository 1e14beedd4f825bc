"""Convex hull vertices, and the line of equal expected cost."""

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


SAMPLED_EVERY = 64  # rows between those that are tried first; and as many curves have on average
MAX_EXACT_PRODUCT = 2**61  # products of whole numbers below it, and their differences, fit Int64


def hull_vertices(
    tp: NDArray[Any], fp: NDArray[Any], starts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Mark the vertices of the upper hull of each curve in the plane of `fp` and `tp`.

    Curve i has the rows `starts[i]` to `starts[i + 1]`, at least one; its ends are marked. What
    lies on a side of the hull is no vertex. Whole numbers are compared exactly.
    """
    if len(tp) <= SAMPLED_EVERY * len(starts):
        return _hull_vertices(tp, fp, starts)
    near = _hull_candidates(tp, fp, starts)
    kept = np.zeros(len(tp), bool)
    kept[near] = _hull_vertices(tp[near], fp[near], np.searchsorted(near, starts))
    return kept


def _hull_vertices(
    tp: NDArray[Any], fp: NDArray[Any], starts: NDArray[np.int64]
) -> NDArray[np.bool_]:
    kept = np.zeros(len(tp), bool)
    if not len(tp):
        return kept
    if tp.dtype.kind == "i" and int(tp.max()) * int(fp.max()) > MAX_EXACT_PRODUCT:
        tp, fp = tp.astype(object), fp.astype(object)
    left, right = starts[:-1], starts[1:] - 1
    kept[left] = kept[right] = True
    piece = np.repeat(np.arange(len(left)), np.diff(starts))
    rows = np.arange(len(tp))
    # Of each piece the row farthest above the straight line between its ends is a vertex; the
    # rows on or below that line are none.
    while len(rows):
        a, b = left[piece], right[piece]
        above = (tp[rows] - tp[a]) * (fp[b] - fp[a]) - (fp[rows] - fp[a]) * (tp[b] - tp[a])
        higher = np.asarray(above > 0, bool)
        if not higher.any():
            break
        rows, piece, above = rows[higher], piece[higher], above[higher]
        fresh = np.diff(piece, prepend=-1) != 0
        run = np.cumsum(fresh) - 1
        firsts = np.flatnonzero(fresh)
        farthest = np.flatnonzero(above == np.maximum.reduceat(above, firsts)[run])
        middle = rows[farthest[np.unique(run[farthest], return_index=True)[1]]]
        kept[middle] = True
        # Rows before the vertex stay in the first half of their piece, rows after it in the other.
        halves = np.stack([left[piece[firsts]], middle, right[piece[firsts]]])
        left, right = halves[:2].T.ravel(), halves[1:].T.ravel()
        piece = 2 * run + (rows > middle[run])
        inside = rows != middle[run]
        rows, piece = rows[inside], piece[inside]
    return kept


def _hull_candidates(
    tp: NDArray[Any], fp: NDArray[Any], starts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the rows above the hulls of some rows, and the vertices of these: few beside ours."""
    some = np.union1d(np.arange(0, len(tp), SAMPLED_EVERY), np.append(starts[:-1], starts[1:] - 1))
    found = some[_hull_vertices(tp[some], fp[some], np.searchsorted(some, starts))]
    tp1, fp1 = tp[found], fp[found]
    piece = np.diff(found, append=len(tp))
    if tp.dtype.kind == "i" and int(tp1.max()) * int(fp1.max()) > MAX_EXACT_PRODUCT:
        tp, fp, tp1, fp1 = (part.astype(object) for part in (tp, fp, tp1, fp1))
    # From the last row of one curve to the first of the next there are no others.
    high, wide = (np.append(np.diff(part), part[:1]) for part in (tp1, fp1))
    above = (tp - np.repeat(tp1, piece)) * np.repeat(wide, piece)
    above -= (fp - np.repeat(fp1, piece)) * np.repeat(high, piece)
    marked = np.asarray(above > 0, bool)
    marked[found] = True
    return np.flatnonzero(marked)


ERROR_COSTS = {"fp": 1.0, "fn": 1.0}  # then the cost is the share of rows that are called wrongly


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LowestCost:
    """The row of each curve that costs least, what it costs, and the slope of equal cost.

    The slope is `rise` over `run`, which are not negative and may be 0. Where a class is absent
    `row` is -1, and the others are NaN.
    """

    row: NDArray[np.int64]
    cost: NDArray[np.float64]
    rise: NDArray[np.float64]
    run: NDArray[np.float64]


def lowest_cost(
    curves: Curves, costs: Mapping[str, float] | None, prevalence: float | None
) -> LowestCost:
    """Find the row of the lowest expected cost; of several, that of the highest threshold.

    Whole numbers are compared as whole numbers: costs and prevalence are what their decimals say.
    """
    costs = ERROR_COSTS if costs is None else costs
    settings = Settings(costs=costs, prevalence=prevalence)
    price = {name: _exact_fraction(costs.get(name, 0)) for name in CONFUSION}
    false_alarm, miss = price["fp"] - price["tn"], price["fn"] - price["tp"]
    if false_alarm < 0 or miss < 0 or false_alarm == miss == 0:
        raise OptionValueError.compose(
            "costs",
            costs,
            "errors do not cost more than correct predictions",
            'Use, for example, {"fp": 1, "fn": 5}; the cost of outcomes that are not named is 0.',
        )
    pos, neg = curves.total("tp", "fn"), curves.total("fp", "tn")
    row = np.full(len(pos), -1)
    rise, run = np.full(len(pos), np.nan), np.full(len(pos), np.nan)
    for i in np.flatnonzero((pos > 0) & (neg > 0)):
        m, n = Fraction(pos[i].item()), Fraction(neg[i].item())
        share = m / (m + n) if prevalence is None else _exact_fraction(prevalence)
        up, across = (1 - share) * false_alarm, share * miss
        rise[i], run[i] = up, across
        start, end = curves.starts[i], curves.starts[i + 1]
        fp, tp = (curves.columns[name][start:end] for name in ("fp", "tp"))
        paid = _relative_costs(fp, tp, up / n, across / m)
        row[i] = start + int(np.argmin(paid))
    known = row >= 0
    picked = pl.DataFrame({name: curves.columns[name][row[known]] for name in CONFUSION})
    cost = np.full(len(pos), np.nan)
    cost[known] = picked.select(RATES["expected_cost"].expr(settings)).to_series().to_numpy()
    return LowestCost(row=row, cost=cost, rise=rise, run=run)


def _exact_fraction(number: float) -> Fraction:
    return Fraction(str(to_float(number)))


def _relative_costs(
    fp: NDArray[Any], tp: NDArray[Any], dear: Fraction, good: Fraction
) -> NDArray[Any]:
    """Return what rows cost, but for a factor and a summand that all of them share."""
    if fp.dtype.kind == "f" or tp.dtype.kind == "f":
        floats: NDArray[np.float64] = float(dear) * fp - float(good) * tp
        return floats
    whole = lcm(dear.denominator, good.denominator)
    a, b = int(dear * whole), int(good * whole)
    a, b = a // gcd(a, b), b // gcd(a, b)
    if a * int(fp.max()) + b * int(tp.max()) > MAX_INT64:
        fp, tp = fp.astype(object), tp.astype(object)
    whole_numbers: NDArray[Any] = a * fp - b * tp
    return whole_numbers
