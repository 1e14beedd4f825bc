"""Counts of ordered triples, one row of each of three classes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.kernel.exact import sums

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


LARGEST = 2**62  # what may add up in Int64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """Rows with a score: the group and class of each, and how many rows it stands for."""

    group: NDArray[np.int64]
    code: NDArray[np.int32]
    count: NDArray[np.int64]
    groups: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Triples:
    """What the triples of kinds of rows count, class by class.

    Of kind i there are `mass[i]` rows of a class, in group `group[i]`; `value[i]` is what the
    triples of one of them count together, and `whole` what one triple counts that is right.
    `total` is what all triples of each group count.
    """

    group: Sequence[NDArray[np.int64]]
    mass: Sequence[NDArray[Any]]
    value: Sequence[NDArray[Any]]
    total: NDArray[Any]
    whole: int


TIE_SHARES = 6


def ordered_triples(rows: Members, score: NDArray[Any]) -> Triples:
    """Count the triples of each group; rows need not be in any order."""
    total = np.zeros(rows.groups, object)
    if not len(score):
        none = [np.zeros(0, np.int64)] * 3
        return Triples(group=none, mass=none, value=none, total=total, whole=TIE_SHARES)
    order = np.lexsort((score, rows.group))
    group, code, score = rows.group[order], rows.code[order], score[order]
    count = rows.count[order]
    fresh = (np.diff(group, prepend=-1) != 0) | np.append(True, score[1:] != score[:-1])
    steps = np.flatnonzero(fresh)
    group = group[steps]
    at = [np.add.reduceat(np.where(code == i, count, 0), steps) for i in range(3)]
    most = sorted(int(mass.sum()) for mass in at)[1:]
    if TIE_SHARES * most[0] * most[1] > LARGEST:
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
    return Triples(group=[group] * 3, mass=at, value=value, total=total, whole=TIE_SHARES)


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


SUM_TIE_SHARES = 60  # divisible by how many of six sums may be equal

ROUNDING = 1e-12  # of the largest score: what rounding may make of two sums that are equal

BLOCK = 1 << 18


class Kinds(NamedTuple):
    """Distinct rows of one class, a score of each class in a row, and how many there are."""

    score: NDArray[np.float64]
    mass: NDArray[np.int64]

    @classmethod
    def of(cls, score: NDArray[np.float64], count: NDArray[np.int64]) -> Kinds:
        """Make one row of those that are alike."""
        if not len(score):
            return cls(score, count)
        kinds, place = np.unique(score, axis=0, return_inverse=True)
        mass = np.zeros(len(kinds), np.int64)
        np.add.at(mass, place.ravel(), count)
        return cls(kinds, mass)


def pairs_of(classes: Sequence[Kinds]) -> int:
    """Say how many pairs of kinds have to be looked at."""
    small, middle, large = sorted(len(kinds.mass) for kinds in classes)
    return large * (middle + small)


def triples_of_sums(classes: Sequence[Kinds]) -> list[NDArray[Any]]:
    """Return what the triples of each kind count together, 60 for a right one; class by class."""
    if not all(len(kinds.mass) for kinds in classes):
        return [np.zeros(len(kinds.mass), np.int64) for kinds in classes]
    reach = max(float(abs(kinds.score).max()) for kinds in classes) * ROUNDING
    small, middle, large = sorted(range(3), key=lambda i: len(classes[i].mass))
    found: list[NDArray[Any]] = [np.zeros(0, np.int64)] * 3
    found[large], found[middle] = _both(classes, (large, middle, small), reach)
    _, found[small] = _both(classes, (large, small, middle), reach)
    return found


def _both(
    classes: Sequence[Kinds], order: tuple[int, int, int], reach: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return what the triples of the first two of the classes count, in this order of classes."""
    (x, x_mass), (y, y_mass), (z, z_mass) = (
        (classes[i].score[:, order], classes[i].mass) for i in order
    )
    if SUM_TIE_SHARES * int(z_mass.sum()) * int(max(x_mass.sum(), y_mass.sum())) > LARGEST:
        x_mass, y_mass = x_mass.astype(object), y_mass.astype(object)
    above = Above.of(z, z_mass)
    of_x, of_y = np.zeros(len(x), x_mass.dtype), np.zeros(len(y), y_mass.dtype)
    size = max(1, BLOCK // len(y))
    for first in range(0, len(x), size):
        part = slice(first, first + size)
        count = _count(x[part], y, above, reach)
        of_x[part] = count @ y_mass
        of_y += x_mass[part] @ count
    return of_x, of_y


class Above(NamedTuple):
    """How many z there are below two ranks: by z₃ - z₁, and by z₃ - z₂."""

    one: NDArray[np.float64]
    two: NDArray[np.float64]
    table: NDArray[np.int64]

    @classmethod
    def of(cls, z: NDArray[np.float64], mass: NDArray[np.int64]) -> Above:
        """Put each z in its cell, and add up."""
        one, two = z[:, 2] - z[:, 0], z[:, 2] - z[:, 1]
        table = np.zeros((len(z) + 1, len(z) + 1), np.int64)
        ranks = (np.argsort(np.argsort(values, kind="stable")) for values in (one, two))
        row, place = ranks
        table[row + 1, place + 1] = mass
        table = table.cumsum(axis=0).cumsum(axis=1)
        return cls(np.sort(one), np.sort(two), table)

    def below(self, row: NDArray[np.int64], place: NDArray[np.int64]) -> NDArray[np.int64]:
        """Look the numbers below pairs of ranks up."""
        return self.table.ravel().take(row * len(self.table) + place)


def _count(
    x: NDArray[np.float64], y: NDArray[np.float64], above: Above, reach: float
) -> NDArray[np.int64]:
    """Return what the triples of each x and y count together."""
    to_two = x[:, 1] - x[:, 0]
    to_three = x[:, 2] - x[:, 0]
    from_two = y[:, 0] - y[:, 1]
    onward = y[:, 2] - y[:, 1]
    ahead = -(to_two[:, None] + from_two)
    shape = ahead.shape
    rows = _cuts(
        above.one,
        Ranks.of(above.one, to_three[:, None], reach),
        Ranks.of_sums(above.one, to_two, onward, reach),
    )
    places = _cuts(
        above.two,
        Ranks.of(above.two, onward[None, :], reach),
        Ranks.of_sums(above.two, to_three, from_two, reach),
    )
    tied = (abs(ahead) <= reach).astype(np.int64)
    found = np.zeros(shape, np.int64)
    # From one cut to the next there are 2 ties, then 1, then none; most often no z is one.
    for i, j in product(_filled(rows), _filled(places)):
        cells = above.below(rows[i + 1], places[j + 1])
        cells -= above.below(rows[i], places[j + 1])
        cells -= above.below(rows[i + 1], places[j])
        cells += above.below(rows[i], places[j])
        cells *= SUM_TIE_SHARES // (5 - i - j + tied)
        found += cells
    found[ahead < -reach] = 0
    return found


def _filled(cuts: Sequence[NDArray[np.int64]]) -> list[int]:
    """Return after which cuts there is anything before the next."""
    return [i for i in range(len(cuts) - 1) if (cuts[i + 1] > cuts[i]).any()]


def _cuts(rising: NDArray[np.float64], one: Ranks, other: Ranks) -> list[NDArray[np.int64]]:
    """Return how many values lie below two ends, tie with both, tie with one, and there are."""
    first = np.maximum(one.below, other.below)
    both = np.maximum(first, np.minimum(one.upto, other.upto))
    either = np.maximum(one.upto, other.upto)
    return [first, both, either, np.full(first.shape, len(rising))]


class Ranks(NamedTuple):
    """How many values lie below numbers, and how many do not lie above them, within `reach`."""

    below: NDArray[np.int64]
    upto: NDArray[np.int64]

    @classmethod
    def of(cls, rising: NDArray[np.float64], numbers: NDArray[np.float64], reach: float) -> Ranks:
        """Look numbers up."""
        below = np.searchsorted(rising, numbers - reach, "left")
        return cls(below, np.searchsorted(rising, numbers + reach, "right"))

    @classmethod
    def of_sums(
        cls,
        rising: NDArray[np.float64],
        one: NDArray[np.float64],
        other: NDArray[np.float64],
        reach: float,
    ) -> Ranks:
        """Look the sum of each pair up."""
        # numpy finds numbers that rise several times as fast.
        order = np.argsort(other)
        back = np.argsort(order)
        found = cls.of(rising, one[:, None] + other[order], reach)
        return cls(*(rank[:, back] for rank in found))
