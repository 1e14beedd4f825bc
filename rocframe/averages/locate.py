"""Places on curves where a metric has given values."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.options import check_choice
from rocframe.rates import CONFUSION, NAMES, check_rowwise
from rocframe.schemas import CURVE_COLUMNS, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.rates import Settings, Share


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
        last, walk = curves.lasts, curves.columns
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
        walk, starts = self.curves.columns, self.curves.starts
        return not (walk.is_float("tp") or walk.is_float("fp")) and walk.height > LONG * len(starts)

    def count(self, row: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the rising count at rows of the table."""
        found: NDArray[np.float64] = self._read(
            lambda name: self.curves.columns.at(name, row)
        ).astype(np.float64)
        return found

    def counts(self, start: int, end: int) -> NDArray[Any]:
        """Return the rising count at a run of rows of the table."""
        return self._read(lambda name: self.curves.columns.between(name, start, end))

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
        walk, starts = self.curves.columns, self.curves.starts
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
    walk, starts = track.curves.columns, track.curves.starts
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
    walk, starts = track.curves.columns, track.curves.starts
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
        walk, sizes = curves.columns, np.diff(curves.starts)
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
        walk = self.track.curves.columns
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
        complete = curves.columns["tn"][last] <= ROUNDING * self.track.neg[curve]
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
    walk, starts = track.curves.columns, track.curves.starts
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


HALVINGS = 54  # of a segment: what is left is less than a float can tell

CLOSE = 1e-11  # of the way that a metric has between two rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Between:
    """Some pairs of rows, each with a value that the metric passes between them."""

    measure: Measure
    value: NDArray[np.float64]
    threshold: NDArray[np.float64]
    start: dict[str, NDArray[np.float64]]
    step: dict[str, NDArray[np.float64]]
    totals: tuple[NDArray[np.float64], NDArray[np.float64]]

    @classmethod
    def of(
        cls,
        track: Track,
        measure: Measure,
        above: NDArray[np.int64],
        below: NDArray[np.int64],
        value: NDArray[np.float64],
    ) -> Between:
        """Read the counts of the rows."""
        walk = track.curves.columns
        curve = np.searchsorted(track.curves.starts, above, "right") - 1
        start = {name: walk[name][above].astype(np.float64) for name in CONFUSION}
        return cls(
            measure=measure,
            value=value,
            threshold=walk[THRESHOLD][above],
            start=start,
            step={name: walk[name][below] - start[name] for name in CONFUSION},
            totals=(track.pos[curve], track.neg[curve]),
        )

    @property
    def mix(self) -> NDArray[np.float64]:
        """How far it is, from 0 at the row above to 1 at the row below."""
        if not len(self.value):
            return self.value
        if self.measure.share is not None:
            return self._of_share(*self.measure.share.part, whole=self.measure.share.whole)
        mix, rest = self._of_fraction()
        mix[rest] = self._where(rest).halved()
        return mix

    def at(self, mix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the metric so far between the rows."""
        tp, fp = (self.start[name] + mix * self.step[name] for name in ("tp", "fp"))
        return self.measure.at(self.threshold, tp, fp, *self.totals)

    def _of_share(self, *part: str, whole: tuple[str, ...]) -> NDArray[np.float64]:
        """Solve for a share, whose two counts are known."""

        def off(counts: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
            shares, out_of = (
                np.sum([counts[name] for name in names], axis=0) for names in (part, whole)
            )
            difference: NDArray[np.float64] = shares - self.value * out_of
            return difference

        start, step = off(self.start), off(self.step)
        mix = np.divide(start, -step, out=np.zeros(len(start)), where=step != 0)
        return np.clip(mix, 0, 1)

    def _of_fraction(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Solve as for a fraction that is linear above and below; say where that is no solution.

        Of such a fraction the ends and the middle tell all.
        """
        first, middle, last = (self.at(np.full(len(self.value), at)) for at in (0, 0.5, 1))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            weight = (first - middle) / (middle - last)  # of the last denominator per first
            off = first - self.value
            mix = np.clip(off / (off - weight * (last - self.value)), 0, 1)
            found = np.abs(self.at(mix) - self.value) <= CLOSE * np.abs(last - first)
        found &= np.isfinite(first) & np.isfinite(last)
        return np.where(found, mix, 0.0), ~found

    def _where(self, some: NDArray[np.bool_]) -> Between:
        pos, neg = self.totals
        return Between(
            measure=self.measure,
            value=self.value[some],
            threshold=self.threshold[some],
            start={name: counts[some] for name, counts in self.start.items()},
            step={name: counts[some] for name, counts in self.step.items()},
            totals=(pos[some], neg[some]),
        )

    def halved(self) -> NDArray[np.float64]:
        """Halve what is between the rows, until the value is between no two floats."""
        low, high = np.zeros(len(self.value)), np.ones(len(self.value))
        rising = self.at(high) > self.value
        for _ in range(HALVINGS if len(self.value) else 0):
            middle = (low + high) / 2
            found = self.at(middle)
            before = np.where(rising, found < self.value, found > self.value)
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        return high


# These say how well those are told that are not called. Of several places with one of their
# values, the best is the one that calls the fewest; of all others, the one that calls the most.
UNCALLED = ("tpr", "fnr", "npv", "false_omission_rate", "lr_neg", "tp", "fn")

# These have no value where nothing is called yet. A random part of the highest scores has that of
# all of them, so curves start there.
STARTLESS = ("precision", "fdr", "lift")

# Totals that are the same at every place of a curve: shares of them are shares of fixed rows.
TOTALS = (("tp", "fn"), ("fp", "tn"), CONFUSION)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measure:
    """A metric under the name it was asked for: an expression over the counts at a place.

    `known` is its first name where it is one of ours, `share` says of which counts it is a share
    where it is one.
    """

    name: str
    expr: pl.Expr
    known: str = ""
    bounds: tuple[float, float] = (-inf, inf)
    better: Literal["higher", "lower", "neither"] = "neither"
    mixed: bool = False
    share: Share | None = None

    @classmethod
    def of(
        cls, argument: str, given: object, settings: Settings, *, more: tuple[str, ...] = ()
    ) -> Measure:
        """Read a name of ours, one of the four counts, or a named expression over them."""
        if isinstance(given, pl.Expr):
            return cls._own(argument, given)
        check_choice(argument, given, (*NAMES, *CONFUSION, *more))
        name = str(given)
        if name in CONFUSION:
            return cls(name=name, expr=pl.col(name), known=name, bounds=(0, inf))
        rate = NAMES[name]
        scaled = rate.mixes and settings.prevalence is not None
        return cls(
            name=name,
            expr=rate.expr(settings),
            known=rate.name,
            bounds=rate.bounds,
            better=rate.better,
            mixed=rate.mixes,
            share=None if scaled else rate.share,
        )

    @classmethod
    def _own(cls, argument: str, expr: pl.Expr) -> Measure:
        name = expr.meta.output_name(raise_if_undetermined=False)
        if name is None:
            wrong, todo = "it makes several columns", "Give one named expression for each."
            raise OptionValueError.of(argument, expr, wrong, todo)
        for root in expr.meta.root_names():
            if root not in CURVE_COLUMNS:
                raise MissingColumnError.of(argument, root, CURVE_COLUMNS)
        check_rowwise(argument, name, expr)
        return cls(name=name, expr=expr)

    @property
    def reads_threshold(self) -> bool:
        """Whether the threshold itself is in the formula."""
        return THRESHOLD in self.expr.meta.root_names()

    @property
    def whole(self) -> tuple[str, ...] | None:
        """The counts it is a share of, where all places of a curve have as many of them."""
        return self.share.whole if self.share and self.share.whole in TOTALS else None

    def at(
        self,
        threshold: NDArray[np.float64],
        tp: NDArray[np.float64],
        fp: NDArray[np.float64],
        pos: NDArray[np.float64],
        neg: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return it at each place; NaN where it is undefined."""
        # Weights add up to a total to rounding only.
        parts = (threshold, tp, fp, np.maximum(pos - tp, 0), np.maximum(neg - fp, 0))
        flat = np.broadcast_arrays(*parts)
        columns = {name: values.ravel() for name, values in zip(CURVE_COLUMNS, flat, strict=True)}
        made = pl.DataFrame(columns).with_columns(self.expr.cast(pl.Float64).alias("made"))
        found: NDArray[np.float64] = made.get_column("made").fill_null(np.nan).to_numpy()
        return found.reshape(flat[0].shape)

    def out_of(self, track: Track) -> NDArray[np.float64]:
        """Return how many rows of each curve it is a share of, where it is of fixed ones."""
        whole = self.whole or ()
        return track.pos * ("tp" in whole) + track.neg * ("tn" in whole)

    def of_places(self, places: Places) -> NDArray[np.float64]:
        """Return it at each place that there is; NaN where it has no value."""
        tp, fp = places.tp, places.fp
        if self.known in STARTLESS:
            nothing = tp + fp == 0
            tp, fp = (
                np.where(nothing, begun, counts)
                for begun, counts in zip(places.begun, (tp, fp), strict=True)
            )
        found = self.at(places.threshold, tp, fp, places.pos, places.neg)
        return np.where(places.there, found, np.nan)
