"""Curves and values of an axis → the places on each curve that have these values.

Between two rows of a curve everything is linear in tp and fp. Where a curve jumps, all rows of the
jump have the value: the place is the first of them, or the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rocframe.rates import NAMES
from rocframe.vocabulary import CONFUSION, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves

End = Literal["first", "last"]

# Along these axes a curve that has all its rows goes on as it ends: no threshold calls unscored
# positives, and all others are called already. The other axes end where the curve does.
GOES_ON = ("fpr", "alert_rate")

# These have no value where nothing is called yet. A random part of the highest scores has that of
# all of them, so curves start there.
STARTLESS = ("precision", "lift")

ROUNDING = 1e-9  # of a weighted total


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Track:
    """One axis along all curves: counts that rise from row to row, and what they are shares of."""

    name: str
    curves: Curves
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]

    @classmethod
    def of(cls, curves: Curves, name: str) -> Track:
        """Read the totals at the last rows, where weighted shares are exactly 1."""
        last = curves.starts[1:] - 1
        walk = curves.walk
        pos, neg = (
            (walk[a][last] + walk[b][last]).astype(np.float64)
            for a, b in (("tp", "fn"), ("fp", "tn"))
        )
        return cls(name=name, curves=curves, pos=pos, neg=neg)

    @property
    def end(self) -> End:
        """Which row of a jump is the better one: fewest errors of the other class."""
        return "last" if self.name in GOES_ON else "first"

    def count(self, row: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the rising count at rows of the table."""
        walk = self.curves.walk
        match self.name:
            case "fpr":
                counts = walk["fp"][row]
            case "alert_rate":
                counts = walk["tp"][row] + walk["fp"][row]
            case "fnr":
                counts = -walk["fn"][row]
            case _:
                counts = walk["tp"][row]
        found: NDArray[np.float64] = counts.astype(np.float64)
        return found

    def total(self, curve: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return what the counts of a curve are shares of."""
        whole = {"fpr": self.neg, "alert_rate": self.pos + self.neg}.get(self.name, self.pos)
        return whole[curve]

    def rising(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return values of the axis on the scale on which its counts rise."""
        return -values if self.name == "fnr" else values

    def values(self, curve: int) -> NDArray[np.float64]:
        """Return the value at each row of one curve."""
        rows = np.arange(self.curves.starts[curve], self.curves.starts[curve + 1])
        return self.rising(self.count(rows) / self.total(np.array([curve])))

    def places(self, curve: NDArray[np.int64], **found: NDArray[Any]) -> Places:
        """Put what was found on each curve beside what the curves themselves are."""
        walk, starts = self.curves.walk, self.curves.starts
        second = np.minimum(starts[curve] + 1, starts[curve + 1] - 1)
        begun = walk["tp"][second].astype(np.float64), walk["fp"][second].astype(np.float64)
        return Places(pos=self.pos[curve], neg=self.neg[curve], begun=begun, **found)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """A place for each curve and value: counts there, the threshold, whether there is one.

    `begun` are the counts after the first step of each curve.
    """

    tp: NDArray[np.float64]
    fp: NDArray[np.float64]
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    begun: tuple[NDArray[np.float64], NDArray[np.float64]]
    threshold: NDArray[np.float64]
    there: NDArray[np.bool_]

    def rate(self, name: str) -> NDArray[np.float64]:
        """Return a rate or count at each place; NaN where it has none."""
        tp, fp = self.tp, self.fp
        if name in STARTLESS:
            nothing = tp + fp == 0
            tp, fp = (
                np.where(nothing, begun, counts)
                for begun, counts in zip(self.begun, (tp, fp), strict=True)
            )
        parts = dict(zip(CONFUSION, (tp, fp, self.pos - tp, self.neg - fp), strict=True))
        if name in parts:
            found = parts[name]
        else:
            flat = pl.DataFrame({part: values.ravel() for part, values in parts.items()})
            rates = flat.select(NAMES[name].expr()).to_series().cast(pl.Float64)
            found = rates.fill_null(np.nan).to_numpy().reshape(tp.shape)
        return np.where(self.there, found, np.nan)


def places_at(
    track: Track, curve: NDArray[np.int64], values: NDArray[np.float64], end: End
) -> Places:
    """Find the place on each curve (down) that has each value (across)."""
    curve = curve[:, None]
    value = track.rising(values)[None, :]
    walk, starts = track.curves.walk, track.curves.starts
    first, last = starts[curve], starts[curve + 1] - 1
    total = track.total(curve)

    def passed(row: NDArray[np.int64]) -> NDArray[np.bool_]:
        rate = track.count(row) / total
        found: NDArray[np.bool_] = rate <= value if end == "last" else rate < value
        return found

    with np.errstate(divide="ignore", invalid="ignore"):
        after = bisected(passed, first, last, len(values))
        below, above = np.clip(after - 1, first, last), np.clip(after, first, last)
        if end == "first":
            exact = (after <= last) & (track.count(above) / total == value)
            below = np.where(exact, above, below)
        else:
            exact = track.count(below) / total == value
        between = ~exact & (after > first) & (after <= last)
        low = track.count(below)
        mix = (value * total - low) / (track.count(above) - low)
    mix = np.where(between, np.clip(mix, 0, 1), 0.0)
    goes_on = track.name in GOES_ON
    complete = walk["tn"][last] <= ROUNDING * track.neg[curve]
    row = below if goes_on else np.where(between, above, below)
    tp, fp = (
        walk[name][below] + mix * (walk[name][above] - walk[name][below]) for name in ("tp", "fp")
    )
    there = exact | (after <= last) | (complete & goes_on)
    return track.places(curve, tp=tp, fp=fp, threshold=walk[THRESHOLD][row], there=there)


def places_above(track: Track, curve: NDArray[np.int64], thresholds: NDArray[np.float64]) -> Places:
    """Find what each curve (down) calls positive at or above each threshold (across)."""
    curve = curve[:, None]
    walk, starts = track.curves.walk, track.curves.starts
    first, last = starts[curve], starts[curve + 1] - 1

    def passed(row: NDArray[np.int64]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = walk[THRESHOLD][row] >= thresholds[None, :]
        return found

    row = bisected(passed, first, last, len(thresholds)) - 1
    tp, fp = (walk[name][row].astype(np.float64) for name in ("tp", "fp"))
    complete = walk["tn"][last] <= ROUNDING * track.neg[curve]
    there = complete | (walk[THRESHOLD][last] <= thresholds[None, :])
    given = np.broadcast_to(thresholds[None, :], row.shape)
    return track.places(curve, tp=tp, fp=fp, threshold=given, there=there)


def bisected(
    passed: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    across: int,
) -> NDArray[np.int64]:
    """Return the first row of each curve that is not passed, one beyond its last if all are."""
    low = np.repeat(first, across, axis=1)
    high = np.repeat(last + 1, across, axis=1)
    for _ in range(int((last + 1 - first).max(initial=0)).bit_length()):
        middle = (low + high) // 2
        on = passed(np.minimum(middle, last)) & (middle < high)
        low, high = np.where(on, middle + 1, low), np.where(on, high, middle)
    return low
