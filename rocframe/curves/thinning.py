"""Thinning of long lines with an error bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.kinds import Kind, Scale

    Places: TypeAlias = tuple[NDArray[np.float64], NDArray[np.float64]]
    Off: TypeAlias = Callable[
        [NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]
    ]


MIN_SEARCHED_ROWS = 2000  # rows that are not worth a search


def rows_at_levels(
    rows: int, levels: Callable[[], Sequence[tuple[NDArray[Any], NDArray[np.float64]]]]
) -> NDArray[np.int64]:
    """Return rows such that no counts between two of them pass a level.

    `levels` returns rising counts, one per row, and some of their values, rising; several times.
    A row that is left out lies between the same two levels as its neighbours.
    """
    if rows <= MIN_SEARCHED_ROWS:
        return np.arange(rows)
    asked = levels()
    if rows <= 2 * sum(len(values) for _, values in asked):
        return np.arange(rows)
    found = [_first_rows_at(counts, values) for counts, values in asked]
    kept = np.concatenate([*found, *(part - 1 for part in found), [0, rows - 1]])
    return np.unique(np.clip(kept, 0, rows - 1))


def _first_rows_at(counts: NDArray[Any], levels: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return where rising counts first reach some levels."""
    if counts.dtype.kind == "i":  # whole numbers are compared with whole numbers, uncopied
        levels = np.unique(np.ceil(levels).astype(counts.dtype))
    return np.searchsorted(counts, levels)


def column_extremes(
    x: NDArray[np.float64], y: NDArray[np.float64], starts: NDArray[np.int64], width: float
) -> NDArray[np.bool_]:
    """Mark the first, last, lowest and highest point that each line has in each narrow column.

    For lines that never go left. What goes up and down within a column looks no different.
    """
    fresh: NDArray[np.bool_] = np.diff(np.floor(x / width), prepend=-1).astype(bool)
    fresh[starts[:-1][starts[1:] > starts[:-1]]] = True
    first = np.flatnonzero(fresh)
    if not len(first):
        return fresh
    run = np.cumsum(fresh) - 1
    marked: NDArray[np.bool_] = np.logical_or(fresh, np.append(fresh[1:], True))
    for extreme in (np.minimum, np.maximum):
        there = np.flatnonzero(y == extreme.reduceat(y, first)[run])
        marked[there[np.diff(run[there], prepend=-1) != 0]] = True
    return marked


def corner_points(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    tolerance: float | NDArray[np.float64],
    *,
    wanted: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Mark the points that keep each straight line within the tolerance of what it was.

    Line i has the points `starts[i]` to `starts[i + 1]`. Points that are `wanted` are kept in any
    case.
    """

    def off(*points: NDArray[np.int64]) -> NDArray[np.float64]:
        return segment_distance(*((x[at], y[at]) for at in points))

    return douglas_peucker(starts, off, tolerance, wanted=wanted)[0]


def douglas_peucker(
    starts: NDArray[np.int64],
    off: Off,
    tolerance: float | NDArray[np.float64],
    *,
    wanted: NDArray[np.bool_] | None = None,
    able: NDArray[np.bool_] | None = None,
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Mark the points that lines need, and say how far off each line is without the others.

    `off` says how far points are from the pieces between two others. Only points that are `able`
    are kept; a piece without any of them inside is as it was. Douglas and Peucker's method, all
    pieces of all lines at a time: of each piece the farthest point is kept and splits it.
    """
    kept = np.zeros(starts[-1], bool) if wanted is None else wanted.copy()
    lines = len(starts) - 1
    limit = np.broadcast_to(np.asarray(tolerance, np.float64), lines)
    worst_of = np.zeros(lines)
    some = starts[1:] > starts[:-1]
    first, last = starts[:-1][some], starts[1:][some] - 1
    kept[first] = kept[last] = True
    ends = np.flatnonzero(kept)
    line = np.repeat(np.arange(lines), np.diff(starts))[ends]
    inside = line[1:] == line[:-1]  # no piece goes from one line to the next
    left, right, line = ends[:-1][inside], ends[1:][inside], line[1:][inside]
    passed = None if able is None else np.append(0, np.cumsum(able))
    while True:
        long = right - left > 1
        if passed is not None:
            long &= passed[right] > passed[left + 1]
        left, right, line = left[long], right[long], line[long]
        if not len(left):
            return kept, worst_of
        inner = right - left - 1
        firsts = np.cumsum(inner) - inner
        piece = np.repeat(np.arange(len(left)), inner)
        points = np.arange(len(piece)) + (left + 1 - firsts)[piece]
        far = off(points, left[piece], right[piece])
        worst = np.maximum.reduceat(far, firsts)
        cut = worst > limit[line]
        np.maximum.at(worst_of, line[~cut], worst[~cut])
        if able is not None:
            far = np.where(able[points], far, -1.0)
            worst = np.maximum.reduceat(far, firsts)
        farthest = np.flatnonzero(far == worst[piece])
        farthest = farthest[np.unique(piece[farthest], return_index=True)[1]]
        middle = points[farthest[cut]]
        kept[middle] = True
        left, right = np.append(left[cut], middle), np.append(middle, right[cut])
        line = np.append(line[cut], line[cut])


def segment_distance(point: Places, start: Places, end: Places) -> NDArray[np.float64]:
    """Return how far points are from the straight pieces between two others."""
    across, up = end[0] - start[0], end[1] - start[1]
    dx, dy = point[0] - start[0], point[1] - start[1]
    length = across**2 + up**2
    along = np.divide(dx * across + dy * up, length, out=np.zeros_like(length), where=length > 0)
    along = np.clip(along, 0, 1)
    far: NDArray[np.float64] = np.hypot(dx - along * across, dy - along * up)
    return far


MIN_WEIGHT_SHARE = 1e-9  # of a total, below which weights are not told apart


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DisplayAxes:
    """How curves are displayed: each has its own totals, and its own ends of the axes.

    `along` and `other` are the two counts that a curve is followed by: the one that x is a share
    of, and one more. `low` is where axes start that have no 0: the least rate above 0, and for
    normal deviates also the least that a rate is below 1. `top` is where the y axis ends if that
    is not 1.
    """

    kind: Kind
    scale: Scale
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    low: NDArray[np.float64]
    top: NDArray[np.float64]

    @property
    def rises(self) -> bool:
        """Whether y only rises, or only falls, from left to right."""
        return self.kind.joined == "line"

    @property
    def bends(self) -> bool:
        """Whether two lines between the same two heights may be farther apart in between."""
        return self.scale == "normal_deviate" or self.kind.y == "precision"

    @property
    def whole(self) -> NDArray[np.float64]:
        """What x is a share of."""
        match self.kind.x:
            case "fpr":
                return self.neg
            case "recall":
                return self.pos
            case _:
                return self.pos + self.neg

    def followed(self, tp: NDArray[Any], fp: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the two counts that curves are followed by."""
        match self.kind.x:
            case "fpr":
                return fp, tp
            case "recall":
                return tp, fp
            case _:
                return tp + fp, tp

    def across(self, along: NDArray[np.float64], line: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return x of points of some curves."""
        return self._placed(along / self.whole[line], line, deviate=self.scale != "linear")

    def up(
        self, along: NDArray[np.float64], other: NDArray[np.float64], line: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return y of points of some curves; NaN while nothing is called positive."""
        if self.rises:
            deviate = self.scale == "normal_deviate"
            return self._placed(other / self.pos[line], line, deviate=deviate)
        whole = along + other if self.kind.y == "precision" else along
        part = along if self.kind.y == "precision" else other
        share = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
        placed: NDArray[np.float64] = share / self.top[line]
        return placed

    def _placed(
        self, share: NDArray[np.float64], line: NDArray[np.int64], *, deviate: bool
    ) -> NDArray[np.float64]:
        if not deviate:
            return share
        low = self.low[line]
        if self.scale == "log":
            length = -np.log(low)
            place = np.log(np.maximum(share, low)) + length
        else:
            from scipy.special import ndtri

            length = -2 * ndtri(low)
            place = ndtri(np.clip(share, low, 1 - low)) + length / 2
        placed: NDArray[np.float64] = np.divide(
            place, length, out=np.zeros_like(place), where=length > 0
        )
        return placed

    def levels(
        self, curve: int, tp: NDArray[Any], fp: NDArray[Any], step: float
    ) -> list[tuple[NDArray[Any], NDArray[np.float64]]]:
        """Return counts of one curve, and values of them that are at most a step apart on the axes.

        For `landmarks`. Steps may be somewhat longer next to the smallest of weights.
        """
        pos, neg = self.pos[curve], self.neg[curve]
        if not self.rises:
            # Precision changes by half as much as the ratio of tp to fp, lift as its parts.
            ratio = 2 * step if self.kind.y == "precision" else step / 2
            return [
                (
                    counts,
                    total
                    * geometric_shares(
                        1 / total if counts.dtype.kind == "i" else MIN_WEIGHT_SHARE, ratio
                    ),
                )
                for counts, total in ((tp, pos), (fp, neg))
                if total > 0
            ]
        along, other = self.followed(tp, fp)
        even = np.arange(step, 1, step)
        across = up = even
        if self.scale == "log":
            across = self.low[curve] ** (1 - np.append(0, even))
        if self.scale == "normal_deviate":
            from scipy.special import ndtr, ndtri

            across = up = ndtr(ndtri(self.low[curve]) * (1 - 2 * np.append(0, even)))
        return [(along, across * self.whole[curve]), (other, up * pos)]


def geometric_shares(low: float, ratio: float) -> NDArray[np.float64]:
    """Return rising shares from a low one to 1, each so much larger than the one before."""
    shares: NDArray[np.float64] = np.exp(np.arange(np.log(min(low, 1.0)), ratio, np.log1p(ratio)))
    return shares


def display_axes(
    kind: Kind,
    scale: Scale,
    walks: CurveCounts,
) -> DisplayAxes:
    """Find where the axes of some curves start and end."""
    pos, neg = walks.pos.astype(np.float64), walks.neg.astype(np.float64)
    ones = np.ones(len(pos))
    plain = DisplayAxes(kind=kind, scale=scale, pos=pos, neg=neg, low=ones, top=ones)
    low, top = ones, ones
    along, other = plain.followed(walks.tp, walks.fp)
    firsts, lengths = walks.starts[:-1], np.diff(walks.starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind.y == "lift" and len(firsts):
            lift = np.divide(other, along, out=np.zeros(len(along)), where=along > 0)
            top = np.maximum.reduceat(lift, firsts)
            top = np.where(top > 0, top, 1.0)
        if scale != "linear" and len(firsts):
            shares = [along / np.repeat(plain.whole, lengths)]
            if scale == "normal_deviate":
                shares.append(other / np.repeat(pos, lengths))
                shares += [1 - share for share in shares]
            for share in shares:
                least = np.minimum.reduceat(np.where(share > 0, share, 1.0), firsts)
                low = np.minimum(low, least)
            low = np.minimum(low, 0.5) if scale == "normal_deviate" else low
    return DisplayAxes(kind=kind, scale=scale, pos=pos, neg=neg, low=low, top=top)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveCounts:
    """The counts of whole curves, from the highest threshold down.

    Curve i has the rows `starts[i]` to `starts[i + 1]`. `wanted` rows are kept in any case.
    """

    tp: NDArray[Any]
    fp: NDArray[Any]
    starts: NDArray[np.int64]
    pos: NDArray[Any]
    neg: NDArray[Any]
    wanted: NDArray[np.bool_] | None = None

    def some(self, first: int, last: int) -> CurveCounts:
        """Return some of the curves."""
        a, b = self.starts[first], self.starts[last]
        return CurveCounts(
            tp=self.tp[a:b],
            fp=self.fp[a:b],
            starts=self.starts[first : last + 1] - a,
            pos=self.pos[first:last],
            neg=self.neg[first:last],
            wanted=None if self.wanted is None else self.wanted[a:b],
        )
