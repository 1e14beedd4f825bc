"""Rows of three ordered classes → how many triples, one row of each, their score puts in order.

A triple counts 6 where x < y < z, 3 where two of them tie and the third is beyond them on its own
side, 1 where all three tie, and 0 elsewhere: six times 1, 1/2, 1/6 and 0. All are counted in whole
numbers, from one sort of all rows.

References
----------
C. T. Nakas, C. T. Yiannoutsos (2004), "Ordered multiple-class ROC analysis with continuous
measurements", Statistics in Medicine 23(22), 3437-3449. doi:10.1002/sim.1917
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.exact import sums
from rocframe.classes.triples import LARGEST, Triples

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.classes.triples import Members

WHOLE = 6


def ordered_triples(rows: Members, score: NDArray[Any]) -> Triples:
    """Count the triples of each group; rows need not be in any order."""
    total = np.zeros(rows.groups, object)
    if not len(score):
        none = [np.zeros(0, np.int64)] * 3
        return Triples(group=none, mass=none, value=none, total=total, whole=WHOLE)
    order = np.lexsort((score, rows.group))
    group, code, score = rows.group[order], rows.code[order], score[order]
    count = rows.count[order]
    fresh = (np.diff(group, prepend=-1) != 0) | np.append(True, score[1:] != score[:-1])
    steps = np.flatnonzero(fresh)
    group = group[steps]
    at = [np.add.reduceat(np.where(code == i, count, 0), steps) for i in range(3)]
    most = sorted(int(mass.sum()) for mass in at)[1:]
    if WHOLE * most[0] * most[1] > LARGEST:
        at = [mass.astype(object) for mass in at]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    ends = np.append(starts[1:], len(group))
    low, middle, high = at
    below, above = _before(low, starts, ends), _after(high, starts, ends)
    # Of each row of the middle class: what its triples count with those below, and those above.
    under, over = middle * (6 * below + 3 * low), middle * (6 * above + 3 * high)
    value = [
        _after(over, starts, ends) + middle * (3 * above + high),
        6 * below * above + 3 * (low * above + below * high) + low * high,
        _before(under, starts, ends) + middle * (3 * below + low),
    ]
    total[group[starts]] = sums(middle, value[1], starts)
    return Triples(group=[group] * 3, mass=at, value=value, total=total, whole=WHOLE)


def _before(mass: NDArray[Any], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[Any]:
    """Add up what comes before each step of its group."""
    running: NDArray[Any] = np.cumsum(mass) - mass
    found: NDArray[Any] = running - np.repeat(running[starts], ends - starts)
    return found


def _after(mass: NDArray[Any], starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[Any]:
    """Add up what comes after each step of its group."""
    running: NDArray[Any] = np.cumsum(mass)
    found: NDArray[Any] = np.repeat(running[ends - 1], ends - starts) - running
    return found
