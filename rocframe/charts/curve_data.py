"""Data of a curve chart: the simplified points of each curve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rocframe.charts.axes import axis_rates, axis_values
from rocframe.charts.labels import json_numbers
from rocframe.curves.display import CurveCounts, DisplayAxes
from rocframe.curves.thinning import (
    bisect_segments,
    column_extremes,
    corner_points,
    evenly_spaced_points,
    limit_corners,
    rows_at_levels,
    segment_distance,
)
from rocframe.kernel.threads import run_parallel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.charts.axes import Plane
    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind, Scale


LEVEL_STEP = 1 / 4000  # share of an axis; rows between two such levels are skipped
MIN_RATE = 1e-6  # the smallest rate on axes without 0

# The scales for which rows are chosen. Precision and lift need the same rows on all scales.
SIMPLIFIED_SCALES: dict[str, tuple[Scale, ...]] = {
    "det": ("normal_deviate",),
    "precision_recall": ("linear",),
    "lift": ("linear",),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Path:
    """Points of all lines, line by line: rows of the table, and points between two rows.

    `row` is the row of the table, or -1 between rows. `pos` and `neg` are totals of each curve.
    `prevalence` is that of the rates; None for the prevalence of each curve.
    """

    curve: NDArray[np.int64]
    row: NDArray[np.int64]
    tp: NDArray[np.float64]
    fp: NDArray[np.float64]
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    prevalence: float | None = None

    @property
    def starts(self) -> NDArray[np.int64]:
        """The start of each curve, and the end of the last one."""
        starts: NDArray[np.int64] = np.searchsorted(self.curve, np.arange(len(self.pos) + 1))
        return starts

    @property
    def counts(self) -> tuple[NDArray[np.float64], ...]:
        """The four counts of each point: tp, fp, fn, tn."""
        return self.tp, self.fp, self.pos[self.curve] - self.tp, self.neg[self.curve] - self.fp

    def with_points(self, points: Mapping[str, Any]) -> Path:
        """Return other points of the same curves."""
        return replace(self, **points)

    def select(self, chosen: NDArray[np.bool_]) -> Path:
        """Return some of the points."""
        return replace(
            self,
            curve=self.curve[chosen],
            row=self.row[chosen],
            tp=self.tp[chosen],
            fp=self.fp[chosen],
        )


def path_of(
    curves: Curves, kind: Kind, areas: Sequence[float], *, step: float = LEVEL_STEP
) -> Path:
    """Return the rows that all scales of a kind need; curves without an area have none.

    Rows between two levels of a count that are a `step` apart are skipped.
    """
    last_points = _points_at(curves, [np.array([end - 1]) for end in curves.starts[1:]])
    x, y = axis_rates(kind, last_points)
    drawn = np.isfinite(x) & np.isfinite(y) & np.isfinite(areas)
    counts = CurveCounts(
        tp=curves.columns["tp"],
        fp=curves.columns["fp"],
        starts=curves.starts,
        pos=last_points.pos,
        neg=last_points.neg,
        prevalence=curves.prevalence,
    ).on_axes(kind)
    low = np.full(len(drawn), MIN_RATE)
    shown = [
        DisplayAxes(
            kind=kind,
            scale=scale,
            pos=counts.pos,
            neg=counts.neg,
            low=low,
            top=np.ones(len(low)),
        )
        for scale in SIMPLIFIED_SCALES.get(kind.name, ("linear", "log"))
    ]

    def rows(curve: int) -> NDArray[np.int64]:
        start, end = curves.starts[curve : curve + 2]
        if not drawn[curve]:
            return np.zeros(0, np.int64)
        here = counts.tp[start:end], counts.fp[start:end]
        found = rows_at_levels(
            int(end - start),
            lambda: [one for axes in shown for one in axes.levels(curve, *here, step)],
        )
        return np.asarray(start + found, np.int64)

    return _points_at(curves, run_parallel(rows, range(len(drawn))))


def _points_at(curves: Curves, rows: list[NDArray[np.int64]]) -> Path:
    """Return some rows of each curve."""
    row = np.concatenate([np.zeros(0, np.int64), *rows])
    return Path(
        curve=np.repeat(np.arange(len(rows)), [len(part) for part in rows]),
        row=row,
        tp=curves.columns["tp"][row].astype(np.float64),
        fp=curves.columns["fp"][row].astype(np.float64),
        pos=curves.total("tp", "fn").astype(np.float64),
        neg=curves.total("fp", "tn").astype(np.float64),
        prevalence=curves.prevalence,
    )


POINTS = ("threshold", "x", "y", "tp", "fp")


def records_of(lines: Lines, curves: Curves, kind: Kind) -> list[dict[str, Any]]:
    """Return a record for each curve: its totals and its points, as JSON values.

    Points between two rows of the table have no threshold and no counts. Curves that are not drawn
    have no prevalence.
    """
    path = lines.path
    real = (path.row != BETWEEN).tolist()
    points: dict[str, list[Any]] = {
        name: [
            value if known else None
            for value, known in zip(
                json_numbers(curves.columns[name][path.row].tolist(), None), real, strict=True
            )
        ]
        for name in ("threshold", "tp", "fp")
    }
    points |= {"x": json_numbers(lines.x.tolist()), "y": json_numbers(lines.y.tolist())}
    pos, neg = (
        json_numbers(curves.total(*names).tolist()) for names in (("tp", "fn"), ("fp", "tn"))
    )
    prevalence = json_numbers(axis_values(path, kind, "prevalence").tolist())
    return [
        {
            "curve": curve,
            "pos": pos[curve],
            "neg": neg[curve],
            "prevalence": prevalence[start] if end > start else None,
            **{name: points[name][start:end] for name in POINTS},
        }
        for curve, (start, end) in enumerate(pairwise(path.starts))
    ]


BETWEEN = -1  # no row of the table
# Axes whose values rise or fall along every curve.
MONOTONE_AXES = ("fpr", "tpr", "fnr", "recall", "alert_rate", "tp")


def clip_to_axes(plane: Plane, path: Path) -> Path:
    """Clip each curve to the axes of a plane.

    A line is cut where it crosses an end of an axis. Counts are linear between two rows.
    """
    limited = []
    for side in (plane.x, plane.y):
        if side.limited and side.name in MONOTONE_AXES:
            rate = axis_values(path, plane.kind, side.name)
            falls = side.name == "fnr"
            limited.append((-rate, -side.high, -side.low) if falls else (rate, side.low, side.high))
    parts = []
    for curve, (start, end) in enumerate(pairwise(path.starts)):
        if start == end:
            continue
        enter = max(
            (_crossing(rate[start:end], low, "left") for rate, low, _ in limited), default=0
        )
        leave = min(
            (_crossing(rate[start:end], high, "right") for rate, _, high in limited),
            default=end - start - 1,
        )
        if enter >= leave:
            continue
        at = np.arange(end - start)
        indices = np.unique(np.concatenate([[enter], at[(at > enter) & (at < leave)], [leave]]))
        rows = np.where(indices % 1 == 0, path.row[start + indices.astype(np.int64)], BETWEEN)
        tp, fp = (np.interp(indices, at, counts[start:end]) for counts in (path.tp, path.fp))
        parts.append((np.full(len(indices), curve), rows, tp, fp))
    nothing = (path.curve[:0], path.row[:0], path.tp[:0], path.fp[:0])
    curves, row, tp, fp = (np.concatenate(part) for part in zip(nothing, *parts, strict=True))
    return replace(path, curve=curves, row=row, tp=tp, fp=fp)


def _crossing(rate: NDArray[np.float64], level: float, side: Literal["left", "right"]) -> float:
    """Return the fractional index at which a rising rate first reaches, or leaves, a level."""
    after = int(np.searchsorted(rate, level, side))
    if after == 0:
        return 0.0
    if after == len(rate):
        return float(after if side == "left" else after - 1)
    before, behind = rate[after - 1], rate[after]
    return float(after - 1 + (level - before) / (behind - before))


# As shares of an axis. Together with LEVEL_STEP, 1/4000, they add up to less than 1/500.
BEND_TOLERANCE = 1 / 5000
COLUMN_WIDTH = 1 / 3000
CORNER_TOLERANCE = 1 / 1000
TOLERANCE_FACTOR = 9 / 8  # if a line has too many corners
MAX_POINTS = 4800  # of all lines together, if each has MIN_EXTRA_POINTS
MIN_EXTRA_POINTS, MAX_LINE_POINTS = 20, 480  # of one line: in addition to its corners, and in total


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lines:
    """The points of a simplified path, and their rates."""

    path: Path
    x: NDArray[np.float64]
    y: NDArray[np.float64]


def simplified_lines(plane: Plane, path: Path) -> Lines:
    """Choose points whose connecting lines stay within 1/500 of an axis of a path."""
    if plane.limited:
        path = clip_to_axes(plane, path)
    if plane.bends:
        path = add_bend_points(plane, path)
    x, y = axis_rates(plane.kind, path)
    selected = column_extremes(plane.x.position(x), plane.y.position(y), path.starts, COLUMN_WIDTH)
    path, x, y = path.select(selected), x[selected], y[selected]
    across, up = plane.x.position(x), plane.y.position(y)
    needed, tolerance = limit_corners(
        across, up, path.starts, CORNER_TOLERANCE, most=MAX_LINE_POINTS, factor=TOLERANCE_FACTOR
    )
    # Where a rate is undefined, the line starts at the rate of the next point, not at a row.
    rows = (path.row != BETWEEN) & np.isfinite(axis_values(path, plane.kind, plane.kind.y))
    count = _count(needed, path)
    spare = np.minimum(MAX_LINE_POINTS - count, (MAX_POINTS - count.sum()) // max(len(count), 1))
    selected = needed | rows & evenly_spaced_points(
        across, up, path.starts, np.maximum(spare, MIN_EXTRA_POINTS), corners=needed
    )
    # A line through an additional point may be farther from other points.
    selected = corner_points(across, up, path.starts, tolerance, required=selected)
    selected = np.where(
        (_count(selected, path) > MAX_LINE_POINTS + MIN_EXTRA_POINTS)[path.curve], needed, selected
    )
    path = replace(path, row=np.where(rows, path.row, BETWEEN))
    return Lines(path=path.select(selected), x=x[selected], y=y[selected])


def _count(marked: NDArray[np.bool_], path: Path) -> NDArray[np.int64]:
    """Count the marked points of each curve."""
    return np.bincount(path.curve[marked], minlength=len(path.pos))


def add_bend_points(plane: Plane, path: Path) -> Path:
    """Add points between rows until straight lines follow the curve.

    Counts are linear between two rows; rates and positions on the axes may not be.
    """

    def needs_point(points: dict[str, NDArray[Any]], left: NDArray[np.int64]) -> NDArray[np.bool_]:
        return _is_bent(plane, path.with_points(points), left)

    def midpoints(
        points: dict[str, NDArray[Any]], left: NDArray[np.int64]
    ) -> dict[str, NDArray[Any]]:
        middle = _between(path.with_points(points), left, 0.5)
        return {name: getattr(middle, name) for name in points}

    left = np.flatnonzero(path.curve[1:] == path.curve[:-1])
    columns = {name: getattr(path, name) for name in ("curve", "row", "tp", "fp")}
    return path.with_points(bisect_segments(columns, left, needs_point, midpoints))


def _is_bent(plane: Plane, path: Path, left: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which lines to the next point are not straight."""
    x, y = plane.position(path)
    bend = (np.abs(x[left + 1] - x[left]) > BEND_TOLERANCE) & (
        np.abs(y[left + 1] - y[left]) > BEND_TOLERANCE
    )
    long = left[bend]
    off = np.zeros(len(long))
    ends = (x[long], y[long]), (x[long + 1], y[long + 1])
    for share in (0.25, 0.5, 0.75):
        off = np.maximum(off, segment_distance(plane.position(_between(path, long, share)), *ends))
    bend[bend] = off > BEND_TOLERANCE
    return bend


def _between(path: Path, left: NDArray[np.int64], share: float) -> Path:
    """Return the points between two points, at a share of their distance."""
    tp, fp = (
        counts[left] + share * (counts[left + 1] - counts[left]) for counts in (path.tp, path.fp)
    )
    row = np.full(len(left), BETWEEN)
    return replace(path, curve=path.curve[left], row=row, tp=tp, fp=fp)
