"""Curves and a metric → the places at which the metric has given values.

A metric may rise and fall along a curve: it reaches some values several times, and others never.
Between two rows counts are linear, so the place of a value between theirs is found there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from rocframe.averages.between import Between
from rocframe.averages.measures import UNCALLED
from rocframe.averages.places import GOES_ON, ROUNDING, Track, bisected
from rocframe.vocabulary import CONFUSION, THRESHOLD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.averages.measures import Measure
    from rocframe.averages.places import Places
    from rocframe.curves.table import Curves

DIGITS = 12  # of a formula that two orders of its steps agree in


class Runs(NamedTuple):
    """Rows next to each other of one curve that all have a value: from `first` to `last`."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    starts: NDArray[np.int64]  # of the runs of each curve


class Segments(NamedTuple):
    """The rows above and below each place, and how far from the one to the other it is."""

    above: NDArray[np.int64]
    below: NDArray[np.int64]
    mix: NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Path:
    """One metric all along all curves; `high` and `low` are what it still reaches from each row on.

    `exact` says whether equal values are equal floats: counts are, and shares, which are one
    division of them, but no weights and no longer formulas.
    """

    track: Track
    measure: Measure
    at: NDArray[np.float64]
    runs: Runs
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    exact: bool

    @classmethod
    def of(cls, curves: Curves, measure: Measure) -> Path:
        """Work the metric out at each row."""
        track = Track.of(curves, measure.known)
        walk, sizes = curves.walk, np.diff(curves.starts)
        tp, fp = (walk[name].astype(np.float64) for name in ("tp", "fp"))
        totals = (np.repeat(track.pos, sizes), np.repeat(track.neg, sizes))
        exact = (measure.share is not None or measure.known in CONFUSION) and not any(
            walk[name].dtype.kind == "f" for name in CONFUSION
        )
        at = measure.at(walk[THRESHOLD], tp, fp, *totals)
        at = at if exact else _settled(at, measure.bounds)
        runs, number = _runs(at, curves.starts)
        ahead = pl.DataFrame({"run": number, "at": at}).select(
            *(
                getattr(pl.col("at"), part)(reverse=measure.known not in UNCALLED)
                .over("run")
                .alias(part)
                for part in ("cum_max", "cum_min")
            )
        )
        high, low = (column.to_numpy() for column in ahead)
        return cls(track=track, measure=measure, at=at, runs=runs, high=high, low=low, exact=exact)

    @property
    def lowest(self) -> bool:
        """Whether of several places the one with the lowest threshold counts, or the highest."""
        return self.measure.known not in UNCALLED

    def values(self, curve: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return every value that some row of some of these curves has, rising."""
        starts = self.track.curves.starts
        every = [self.at[starts[i] : starts[i + 1]] for i in curve]
        found = np.unique(np.concatenate([np.zeros(0), *every]))
        known: NDArray[np.float64] = found[~np.isnan(found)]
        return known

    def places(
        self, curve: NDArray[np.int64], values: NDArray[np.float64], *, nearest: bool
    ) -> Places:
        """Find the place on each curve (down) that has each value (across)."""
        sought = values if self.exact else _settled(values, self.measure.bounds)
        value = self._within(curve, sought)
        row, there = self._reached(curve, value)
        # Left of its first row a curve finds no positives, whatever it jumps to there.
        first = self.track.curves.starts[curve][:, None]
        row = np.where(there & (value > sought), first, row)
        segments = self._segments(row, value, there)
        above, below, mix = segments
        between = above != below
        # The row that is as good as the value, or better: of the two, its threshold is told.
        rising = self.at[below] > self.at[above]
        good = {"higher": ~rising, "lower": rising}.get(self.measure.better, np.ones_like(rising))
        told = np.where(between & ~good, below, above)
        if nearest:
            told = self._nearest(segments, value, told)
            above = below = told
            mix = np.zeros_like(mix)
        walk = self.track.curves.walk
        tp, fp = (
            walk[name][above] + mix * (walk[name][below] - walk[name][above])
            for name in ("tp", "fp")
        )
        return self.track.places(
            curve[:, None], tp=tp, fp=fp, threshold=walk[THRESHOLD][told], there=there
        )

    def _within(self, curve: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the values to look for: no curve begins or ends within some axes."""
        value: NDArray[np.float64] = np.broadcast_to(values, (len(curve), len(values)))
        if self.measure.known not in GOES_ON:
            return value
        curves = self.track.curves
        first, last = curves.starts[curve], curves.starts[curve + 1] - 1
        complete = curves.walk["tn"][last] <= ROUNDING * self.track.neg[curve]
        end = np.where(complete, self.at[last], np.inf)
        return np.clip(value, self.at[first][:, None], end[:, None])

    def _reached(
        self, curve: NDArray[np.int64], value: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return the outermost row at or beyond each value, seen from where the search begins."""
        sizes = self.runs.starts[curve + 1] - self.runs.starts[curve]
        own = np.repeat(np.arange(len(curve)), sizes)
        run = np.repeat(self.runs.starts[curve] - np.cumsum(sizes) + sizes, sizes)
        run += np.arange(len(run))
        first, last = self.runs.first[run][:, None], self.runs.last[run][:, None]
        sought = value[own]
        begun = self.at[last if self.lowest else first]

        def ahead(row: NDArray[np.int64]) -> NDArray[np.bool_]:
            found: NDArray[np.bool_] = np.where(
                sought >= begun, self.high[row] >= sought, self.low[row] <= sought
            )
            return found if self.lowest else ~found

        row = bisected(ahead, first, last, value.shape[1]) - self.lowest
        within = (row >= first) & (row <= last) & ~np.isnan(sought)
        # Of the runs of a curve that reach the value, the first from where the search begins.
        none = -1 if self.lowest else len(self.at)
        outer = np.full(value.shape, none, np.int64)
        (np.maximum if self.lowest else np.minimum).at(outer, own, np.where(within, row, none))
        there = outer != none
        return np.where(there, outer, 0), there

    def _segments(
        self, row: NDArray[np.int64], value: NDArray[np.float64], there: NDArray[np.bool_]
    ) -> Segments:
        """Return between which rows each place is."""
        between = there & (self.at[row] != value)
        above = np.where(between & ~self.lowest, row - 1, row)
        below = np.where(between & self.lowest, row + 1, row)
        mix = np.zeros(value.shape)
        cells = above[between], below[between], value[between]
        mix[between] = Between.of(self.track, self.measure, *cells).mix
        return Segments(above, below, mix)

    def _nearest(
        self, segments: Segments, value: NDArray[np.float64], good: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the nearer row of each segment, or the good one: of a jump, its outer row."""
        above, below, _ = segments
        with np.errstate(invalid="ignore"):  # infinite values have rows of their own
            up, down = np.abs(self.at[above] - value), np.abs(self.at[below] - value)
        nearer = np.where(up < down, above, below)
        row = np.where(_alike(up, down), good, nearer)
        same = np.append(self.at[1:] == self.at[:-1], False)
        same[self.runs.last] = False  # the next run is another curve's, or beyond a gap
        ends = np.flatnonzero(~same)
        outer = np.searchsorted(ends, row)
        return ends[outer] if self.lowest else np.append(0, ends + 1)[outer]


def places_near(track: Track, curve: NDArray[np.int64], thresholds: NDArray[np.float64]) -> Places:
    """Find the row on each curve (down) whose threshold is nearest to each threshold (across)."""
    curve, thresholds = curve[:, None], np.atleast_2d(thresholds)
    walk, starts = track.curves.walk, track.curves.starts
    first, last = starts[curve], starts[curve + 1] - 1
    threshold = walk[THRESHOLD]

    def above(row: NDArray[np.int64]) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = threshold[row] >= thresholds
        return found

    row = bisected(above, first, last, thresholds.shape[1]) - 1
    following = np.minimum(row + 1, last)
    with np.errstate(invalid="ignore"):  # infinite thresholds are as far as can be
        up, down = (np.abs(threshold[one] - thresholds) for one in (row, following))
    row = np.where((down < up) & ~_alike(up, down), following, row)
    tp, fp = (walk[name][row].astype(np.float64) for name in ("tp", "fp"))
    there = np.ones(row.shape, bool)
    return track.places(curve, tp=tp, fp=fp, threshold=threshold[row], there=there)


def _alike(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Say where two distances are the same but for rounding."""
    alike: NDArray[np.bool_] = np.isclose(one, other, rtol=ROUNDING, atol=0, equal_nan=True)
    return alike


def _settled(values: NDArray[np.float64], bounds: tuple[float, float]) -> NDArray[np.float64]:
    """Return values without the last digits, in which equal values of a formula may differ."""
    rounded = pl.Series(values).to_frame("at").select(pl.col("at").round_sig_figs(DIGITS))
    if np.isfinite(bounds).all():  # differences of shares may be next to nothing
        rounded = rounded.select(pl.col("at").round(DIGITS))
    settled: NDArray[np.float64] = rounded.to_series().to_numpy() + 0.0
    return np.where(np.isfinite(values), settled, values)


def _runs(at: NDArray[np.float64], starts: NDArray[np.int64]) -> tuple[Runs, NDArray[np.int64]]:
    """Return the runs of rows that have a value, and the number of each row's run."""
    there = ~np.isnan(at)
    begins, ends = np.zeros(len(at), bool), np.zeros(len(at), bool)
    begins[starts[:-1]] = ends[starts[1:] - 1] = True
    begins[1:] |= ~there[:-1]
    ends[:-1] |= ~there[1:]
    first, last = np.flatnonzero(begins & there), np.flatnonzero(ends & there)
    number: NDArray[np.int64] = np.cumsum((begins | ~there).astype(np.int64))
    return Runs(first, last, np.searchsorted(first, starts)), number
