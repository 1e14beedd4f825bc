"""Curves → the row of each that costs least, and the line of equal cost through it.

Where π is the share of positives, rows of equal expected cost lie in the plane of fpr and tpr on a
line of slope (1 - π)·(c_fp - c_tn) / (π·(c_fn - c_tp)): an iso-performance line. The row that
costs least is the one through which the line lies farthest to the upper left; it is a vertex of
the convex hull.

References
----------
F. Provost, T. Fawcett (2001), "Robust classification for imprecise environments", Machine Learning
42(3), 203-231. doi:10.1023/A:1007601015854
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.errors import OptionValueError
from rocframe.formulas import Settings
from rocframe.options import as_number
from rocframe.rates import RATES
from rocframe.vocabulary import CONFUSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves

ERRORS = {"fp": 1.0, "fn": 1.0}  # then the cost is the share of rows that are called wrongly
LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cheapest:
    """The row of each curve that costs least, what it costs, and the slope of equal cost.

    The slope is `rise` over `run`, which are not negative and may be 0. Where a class is absent
    `row` is -1, and the others are NaN.
    """

    row: NDArray[np.int64]
    cost: NDArray[np.float64]
    rise: NDArray[np.float64]
    run: NDArray[np.float64]


def cheapest(
    curves: Curves, costs: Mapping[str, float] | None, prevalence: float | None
) -> Cheapest:
    """Find the row of the lowest expected cost; of several, that of the highest threshold.

    Whole numbers are compared as whole numbers: costs and prevalence are what their decimals say.
    """
    costs = ERRORS if costs is None else costs
    settings = Settings(costs=costs, prevalence=prevalence)
    price = {name: _exact(costs.get(name, 0)) for name in CONFUSION}
    false_alarm, miss = price["fp"] - price["tn"], price["fn"] - price["tp"]
    if false_alarm < 0 or miss < 0 or false_alarm == miss == 0:
        raise OptionValueError.of(
            "costs",
            costs,
            "errors do not cost more than correct predictions",
            'Give, say, {"fp": 1, "fn": 5}; what is not named costs 0.',
        )
    pos, neg = curves.total("tp", "fn"), curves.total("fp", "tn")
    row = np.full(len(pos), -1)
    rise, run = np.full(len(pos), np.nan), np.full(len(pos), np.nan)
    for i in np.flatnonzero((pos > 0) & (neg > 0)):
        m, n = Fraction(pos[i].item()), Fraction(neg[i].item())
        share = m / (m + n) if prevalence is None else _exact(prevalence)
        up, across = (1 - share) * false_alarm, share * miss
        rise[i], run[i] = up, across
        start, end = curves.starts[i], curves.starts[i + 1]
        fp, tp = (curves.walk[name][start:end] for name in ("fp", "tp"))
        paid = _paid(fp, tp, up / n, across / m)
        row[i] = start + int(np.argmin(paid))
    known = row >= 0
    picked = pl.DataFrame({name: curves.walk[name][row[known]] for name in CONFUSION})
    cost = np.full(len(pos), np.nan)
    cost[known] = picked.select(RATES["expected_cost"].expr(settings)).to_series().to_numpy()
    return Cheapest(row=row, cost=cost, rise=rise, run=run)


def _exact(number: float) -> Fraction:
    return Fraction(str(as_number(number)))


def _paid(fp: NDArray[Any], tp: NDArray[Any], dear: Fraction, good: Fraction) -> NDArray[Any]:
    """Return what rows cost, but for a factor and a summand that all of them share."""
    if fp.dtype.kind == "f" or tp.dtype.kind == "f":
        floats: NDArray[np.float64] = float(dear) * fp - float(good) * tp
        return floats
    whole = lcm(dear.denominator, good.denominator)
    a, b = int(dear * whole), int(good * whole)
    a, b = a // gcd(a, b), b // gcd(a, b)
    if a * int(fp.max()) + b * int(tp.max()) > LARGEST:
        fp, tp = fp.astype(object), tp.astype(object)
    whole_numbers: NDArray[Any] = a * fp - b * tp
    return whole_numbers
