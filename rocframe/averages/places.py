"""Curves and values of an axis → the places on each curve that have these values.

Between two rows of a curve everything is linear in tp and fp. Where a curve jumps, all rows of the
jump have the value: the place is the first of them, or the last.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rocframe.vocabulary import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves

End = Literal["first", "last"]

# Along these axes a curve that has all its rows goes on as it ends: no threshold calls unscored
# positives, and all others are called already. The other axes end where the curve does.
GOES_ON = ("fpr", "alert_rate")

LONG = 1 << 12  # rows of a curve
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
        last, walk = curves.lasts, curves.walk
        pos, neg = (
            (walk.at(a, last) + walk.at(b, last)).astype(np.float64)
            for a, b in (("tp", "fn"), ("fp", "tn"))
        )
        return cls(name=name, curves=curves, pos=pos, neg=neg)

    @property
    def end(self) -> End:
        """Which row of a jump is the better one: fewest errors of the other class."""
        return "last" if self.name in GOES_ON else "first"

    @property
    def long(self) -> bool:
        """Whether curves have so many rows, in whole counts, that each is better searched alone."""
        walk, starts = self.curves.walk, self.curves.starts
        return not (walk.is_float("tp") or walk.is_float("fp")) and walk.height > LONG * len(starts)

    def count(self, row: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the rising count at rows of the table."""
        found: NDArray[np.float64] = self._read(lambda name: self.curves.walk.at(name, row)).astype(
            np.float64
        )
        return found

    def counts(self, start: int, end: int) -> NDArray[Any]:
        """Return the rising count at a run of rows of the table."""
        return self._read(lambda name: self.curves.walk.between(name, start, end))

    def _read(self, read: Callable[[str], NDArray[Any]]) -> NDArray[Any]:
        counts: NDArray[Any]
        match self.name:
            case "fpr":
                counts = read("fp")
            case "alert_rate":
                counts = read("tp") + read("fp")
            case "fnr":
                counts = -read("fn")
            case _:
                counts = read("tp")
        return counts

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
        begun = walk.at("tp", second).astype(np.float64), walk.at("fp", second).astype(np.float64)
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


def places_at(
    track: Track, curve: NDArray[np.int64], values: NDArray[np.float64], end: End
) -> Places:
    """Find the place on each curve (down) that has each value (across), of all or of its own."""
    curve = curve[:, None]
    value = np.atleast_2d(track.rising(values))
    walk, starts = track.curves.walk, track.curves.starts
    first, last = starts[curve], starts[curve + 1] - 1
    total = track.total(curve)

    def passed(count: NDArray[np.float64]) -> NDArray[np.bool_]:
        rate = count / total
        found: NDArray[np.bool_] = rate <= value if end == "last" else rate < value
        return found

    with np.errstate(divide="ignore", invalid="ignore"):
        if track.long:
            after = _searched(track, curve, _most(passed, value * total))
        else:
            after = bisected(lambda row: passed(track.count(row)), first, last, value.shape[1])
        below, above = np.clip(after - 1, first, last), np.clip(after, first, last)
        low, high = track.count(below), track.count(above)
        if end == "first":
            exact = (after <= last) & (high / total == value)
            below, low = np.where(exact, above, below), np.where(exact, high, low)
        else:
            exact = low / total == value
        between = ~exact & (after > first) & (after <= last)
        mix = (value * total - low) / (high - low)
    mix = np.where(between, np.clip(mix, 0, 1), 0.0)
    goes_on = track.name in GOES_ON
    complete = walk.at("tn", last) <= ROUNDING * track.neg[curve]
    row = below if goes_on else np.where(between, above, below)
    tp, fp = (
        low + mix * (walk.at(name, above) - low)
        for name in ("tp", "fp")
        for low in [walk.at(name, below)]
    )
    there = exact | (after <= last) | (complete & goes_on)
    return track.places(curve, tp=tp, fp=fp, threshold=walk.at(THRESHOLD, row), there=there)


def places_above(
    track: Track,
    curve: NDArray[np.int64],
    thresholds: NDArray[np.float64],
    coarse: NDArray[np.bool_] | None = None,
) -> Places:
    """Find what each curve (down) calls positive at or above each threshold (across).

    Coarse curves lack rows: what they call is known at their own thresholds only.
    """
    curve, thresholds = curve[:, None], np.atleast_2d(thresholds)
    walk, starts = track.curves.walk, track.curves.starts
    first, last = starts[curve], starts[curve + 1] - 1

    def passed(row: NDArray[np.int64]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = walk.at(THRESHOLD, row) >= thresholds
        return found

    row = bisected(passed, first, last, thresholds.shape[1]) - 1
    tp, fp = (walk.at(name, row).astype(np.float64) for name in ("tp", "fp"))
    complete = walk.at("tn", last) <= ROUNDING * track.neg[curve]
    there = complete | (walk.at(THRESHOLD, last) <= thresholds)
    if coarse is not None:
        there &= ~coarse[curve] | (walk.at(THRESHOLD, row) == thresholds)
    given = np.broadcast_to(thresholds, row.shape)
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


def _most(
    passed: Callable[[NDArray[np.float64]], NDArray[np.bool_]], count: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return the largest whole count that is passed, which is at most one off this one."""
    near = np.floor(np.nan_to_num(count))
    most = np.where(passed(near + 1), near + 1, np.where(passed(near), near, near - 1))
    return most.astype(np.int64)


def _searched(track: Track, curve: NDArray[np.int64], most: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first row of each curve with a higher count, one beyond its last if none has."""
    after = np.empty(most.shape, np.int64)
    starts = track.curves.starts
    for i, (start, end) in enumerate(
        zip(starts[curve[:, 0]], starts[curve[:, 0] + 1], strict=True)
    ):
        after[i] = start + np.searchsorted(track.counts(start, end), most[i], "right")
    return after
