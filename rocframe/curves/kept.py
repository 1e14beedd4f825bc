"""Curves → the few rows that draw them, and a proof of how well.

The proof: a curve and the line through the rows that are kept both run from one kept row to the
next, and between two points that were looked at y moves by no more than a known step. Where the
distance is d at both of these points it is at most d and a step between them. There is no step
between neighbouring rows on linear and on log scales: there the distance is largest at a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.counting.threads import spread
from rocframe.curves.display import displayed
from rocframe.curves.thin import landmarks, split
from rocframe.curves.vertices import vertices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.display import Display
    from rocframe.curves.kinds import Kind
    from rocframe.curves.scales import Scale
    from rocframe.curves.walks import Walks

BATCH = 1 << 18  # rows of curves that are thinned together
STEP = 1 / 8  # of the error, that rows are left unseen for
BEND = 1 / 4  # of the error, that a bent line may do between two points
FINEST = 1e-5  # of an axis, closer than which bent lines have no points
BETWEEN = -1  # no row of the table
SHORT = 32  # rows of a curve whose bent lines are all kept


def kept_rows(
    walks: Walks, kind: Kind, scale: Scale, max_error: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows to keep, and how far off each curve is then; NaN where it has no axes."""
    curves = len(walks.starts) - 1
    sizes = np.diff(walks.starts)
    if scale == "normal_deviate" or kind.joined != "line":  # with points between its rows
        sizes = sizes + np.where(sizes < SHORT, 0, int(4 / max(BEND * max_error, FINEST)))
    batch = np.cumsum(sizes) // BATCH
    edges = np.append(np.flatnonzero(np.diff(batch, prepend=-1)), curves)
    parts = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    def find(part: tuple[int, int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        rows, error = _kept(walks.some(*part), kind, scale, max_error)
        return rows + walks.starts[part[0]], error

    found = spread(find, parts)
    rows = np.concatenate([np.zeros(0, np.int64), *(rows for rows, _ in found)])
    return rows, np.concatenate([np.zeros(0), *(error for _, error in found)])


def _kept(
    walks: Walks, kind: Kind, scale: Scale, max_error: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    display = displayed(kind, scale, walks)
    drawn = (display.pos > 0) & (display.whole > 0)
    must = vertices(walks.tp, walks.fp, walks.starts)
    if walks.wanted is not None:
        must |= walks.wanted
    must |= _brinks(display, walks)
    if display.bends:
        must |= np.repeat(np.diff(walks.starts) < SHORT, np.diff(walks.starts))
    seen = np.concatenate(
        [
            np.flatnonzero(must),
            *(
                walks.starts[i] + _seen(display, walks, i, STEP * max_error)
                for i in np.flatnonzero(drawn).tolist()
            ),
        ]
    )
    points = Points.of(display, walks, np.unique(seen))
    hidden = points.hidden(STEP * max_error)
    if len(hidden):
        points = Points.of(display, walks, np.union1d(points.row, hidden))
    if display.bends:
        points = points.bent(display, max(BEND * max_error, FINEST))
    kept, error = points.kept(display, must, max_error)
    error[~drawn] = np.nan
    return points.row[kept], error


def _brinks(display: Display, walks: Walks) -> NDArray[np.bool_]:
    """Mark the rows between which a line has no place, or one that it jumps to."""
    marked = np.zeros(len(walks.tp), bool)
    if not display.rises:  # the first point that has a precision or a lift
        marked[np.minimum(walks.starts[:-1] + 1, walks.starts[1:] - 1)] = True
    if display.scale == "linear":
        return marked
    along, other = display.followed(walks.tp, walks.fp)
    ends = [along > 0]
    if display.scale == "normal_deviate":
        lengths = np.diff(walks.starts)
        ends += [other > 0, other >= np.repeat(walks.pos, lengths)]
        ends += [along >= np.repeat(display.whole, lengths)]
    for end in ends:
        marked[1:] |= end[1:] != end[:-1]
        marked[:-1] |= end[1:] != end[:-1]
    return marked


def _seen(display: Display, walks: Walks, curve: int, step: float) -> NDArray[np.int64]:
    a, b = walks.starts[curve], walks.starts[curve + 1]
    tp, fp = walks.tp[a:b], walks.fp[a:b]
    return landmarks(int(b - a), lambda: display.levels(curve, tp, fp, step))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """Points of curves that are looked at, curve after curve: rows, and points between two rows.

    `along` and `other` are the two counts that the curves are followed by; `x` and `y` the place
    on the axes. From a point to the next one the curve moves by at most `dx` and `dy`, as far as
    that matters: nothing where the two are neighbouring rows that a straight line joins.
    """

    line: NDArray[np.int64]
    row: NDArray[np.int64]
    starts: NDArray[np.int64]
    along: NDArray[np.float64]
    other: NDArray[np.float64]
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    dx: NDArray[np.float64]
    dy: NDArray[np.float64]

    @classmethod
    def of(cls, display: Display, walks: Walks, rows: NDArray[np.int64]) -> Points:
        """Look at some rows; all ends of curves are among them."""
        starts = np.searchsorted(rows, walks.starts)
        line = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        tp, fp = walks.tp[rows].astype(np.float64), walks.fp[rows].astype(np.float64)
        along, other = display.followed(tp, fp)
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y = display.across(along, line), _known(display.up(along, other, line))
            dx, dy = np.zeros(len(rows)), np.zeros(len(rows))
            gap = np.flatnonzero(
                (np.diff(rows) > 1) & (np.diff(along) > 0) & (np.diff(other) > 0)
                & (line[1:] == line[:-1])
            )  # fmt: skip
            dx[gap] = x[gap + 1] - x[gap]
            corners = [display.up(along[gap + i], other[gap + 1 - i], line[gap]) for i in (0, 1)]
        dy[gap] = abs(corners[1] - corners[0])
        if display.rises:
            dy[gap] = abs(y[gap + 1] - y[gap])
        else:
            dx[gap] = 0
        return cls(
            line=line, row=rows, starts=starts, along=along, other=other, x=x, y=y, dx=dx, dy=dy
        )

    def hidden(self, step: float) -> NDArray[np.int64]:
        """Return the rows between points that lie farther apart than a step."""
        far = np.flatnonzero(np.maximum(self.dx, self.dy) > step * (1 + 1e-9))
        lengths = self.row[far + 1] - self.row[far] - 1
        ends = np.cumsum(lengths)
        rows: NDArray[np.int64] = np.arange(lengths.sum()) + np.repeat(
            self.row[far] + 1 - (ends - lengths), lengths
        )
        return rows

    def bent(self, display: Display, step: float) -> Points:
        """Add points between neighbouring rows that a bent line joins, as close as a step."""
        points = self
        left = np.flatnonzero((np.diff(self.row) == 1) & (self.line[1:] == self.line[:-1]))
        moved = np.diff(self.along)[left] > 0
        if display.rises:
            moved &= np.diff(self.other)[left] > 0
        left = left[moved]
        while True:
            dx = abs(points.x[left + 1] - points.x[left]) * display.rises
            dy = abs(points.y[left + 1] - points.y[left])
            points.dx[left], points.dy[left] = dx, dy
            left = left[np.maximum(dx, dy) > step]
            # Halves of what was too small for floats do not get smaller.
            middle: dict[str, NDArray[Any]] = {
                name: (counts[left] + counts[left + 1]) / 2
                for name, counts in (("along", points.along), ("other", points.other))
            }
            fresh = (middle["along"] > points.along[left]) | (middle["other"] > points.other[left])
            left, middle = left[fresh], {name: part[fresh] for name, part in middle.items()}
            if not len(left):
                return points
            line = points.line[left]
            with np.errstate(divide="ignore", invalid="ignore"):
                middle["x"] = display.across(middle["along"], line)
                middle["y"] = display.up(middle["along"], middle["other"], line)
            # The first point of all has no precision: what lies before the second has its own.
            flat = points.along[left] + points.other[left] <= 0
            middle["y"][flat] = points.y[left][flat]
            middle |= {"line": line, "row": np.full(len(left), BETWEEN)}
            middle |= dict.fromkeys(("dx", "dy"), np.zeros(len(left)))
            added = {
                name: np.insert(getattr(points, name), left + 1, part)
                for name, part in middle.items()
            }
            starts = np.searchsorted(added["line"], np.arange(len(points.starts)))
            points = Points(starts=starts, **added)
            left = left + np.arange(len(left))
            left = np.sort(np.append(left, left + 1))

    def kept(
        self, display: Display, wanted: NDArray[np.bool_], max_error: float
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Mark the rows that keep each curve within the error, and return how far off each is."""
        along, other, line = self.along, self.other, self.line
        # The steps on both sides of a point, of which none leads to another curve.
        sides = [np.maximum(step, np.append(0, step[:-1])) for step in (self.dx, self.dy)]

        def off(
            at: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]
        ) -> NDArray[np.float64]:
            wide, high = along[b] - along[a], other[b] - other[a]
            # Along one of the counts alone, both lines are the same.
            level = (wide <= 0) | (high <= 0)
            across, up = (
                np.divide(count[at] - count[a], whole, out=np.zeros(len(at)), where=~level)
                for count, whole in ((along, wide), (other, high))
            )
            heights = display.up(along[at], other[a] + across * high, line[at])
            far: NDArray[np.float64] = abs(self.y[at] - heights) + sides[1][at]
            if display.rises:
                places = display.across(along[a] + up * wide, line[at])
                far = np.maximum(far, abs(self.x[at] - places) + sides[0][at])
            far[level] = 0
            return far

        able = self.row != BETWEEN
        must = np.zeros(len(able), bool)
        must[able] = wanted[self.row[able]]
        with np.errstate(divide="ignore", invalid="ignore"):
            kept, error = split(self.starts, off, max_error, wanted=must, able=able)
        # Rows that nobody looked at, between two that are kept.
        unseen = np.flatnonzero(kept[1:] & kept[:-1] & (np.diff(self.row) > 1))
        np.maximum.at(error, line[unseen], np.maximum(self.dx, self.dy)[unseen])
        return kept, error


def _known(y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the first point of a curve that has no y yet that of its second."""
    unknown = np.flatnonzero(np.isnan(y[:-1]))
    y[unknown] = y[unknown + 1]
    return y
