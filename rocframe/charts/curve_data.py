"""Data of curve charts: a small number of points for each curve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.charts.axes import FREE, axis_rates, axis_values
from rocframe.charts.groups import GROUP_INDEX
from rocframe.charts.labels import digits_of, json_numbers
from rocframe.curves.thinning import (
    BETWEEN,
    CurveCounts,
    DisplayAxes,
    LinePoints,
    column_extremes,
    corner_points,
    evenly_spaced_points,
    insert_points,
    limit_corners,
    rows_at_levels,
    segment_distance,
)
from rocframe.kernel.threads import run_parallel
from rocframe.rates import COUNT_METRICS, NAMES
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from numpy.typing import NDArray

    from rocframe.charts.axes import Plane
    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind, Scale

    # Counts, and the values at which rows are selected; see `rows_at_levels`.
    Levels: TypeAlias = list[tuple[NDArray[Any], NDArray[np.float64]]]

LEVEL_STEP = 1 / 4000  # length of a step in `drawn_points`, as a share of an axis
MIN_RATE = 1e-6  # the smallest rate on axes that cannot show 0

# The scales for which the rows of each kind are selected; the default is linear and log. For
# precision and lift, the rows that are selected for linear axes are sufficient for all scales.
SIMPLIFIED_SCALES: dict[str, tuple[Scale, ...]] = {
    "det": ("normal_deviate",),
    "precision_recall": ("linear",),
    "lift": ("linear",),
    "predictive_value": ("linear",),
    "skill": ("linear",),
}


def drawn_points(
    curves: Curves, kind: Kind, areas: Sequence[float], *, step: float = LEVEL_STEP
) -> LinePoints:
    """Return a selection of rows of each curve that is sufficient to draw its line on all scales.

    Each axis is divided into steps of length `step`, as a share of the axis. If several rows of a
    curve are in the same step of both axes, rows between the first and the last are left out. For
    curves with an undefined area, no rows are selected.
    """
    drawn = np.isfinite(areas)
    if kind.name == FREE:
        points = points_of_counts(curves, drawn, step=step)
        x, y = axis_rates(kind, points)
        return points.select(np.isfinite(x) & np.isfinite(y))
    last_points = _points_at(curves, [np.array([end - 1]) for end in curves.starts[1:]])
    x, y = axis_rates(kind, last_points)
    drawn &= np.isfinite(x) & np.isfinite(y)
    counts = CurveCounts(
        tp=curves.columns["tp"],
        fp=curves.columns["fp"],
        starts=curves.starts,
        pos=last_points.pos,
        neg=last_points.neg,
        prevalence=curves.prevalence,
    ).on_axes(kind)
    ends = {"low": np.full(len(drawn), MIN_RATE), "top": np.ones(len(drawn))}
    axes_of_scales = [
        DisplayAxes(kind=kind, scale=scale, pos=counts.pos, neg=counts.neg, **ends)
        for scale in SIMPLIFIED_SCALES.get(kind.name, ("linear", "log"))
    ]

    def levels(curve: int, rows: slice) -> Levels:
        tp, fp = counts.tp[rows], counts.fp[rows]
        return [part for axes in axes_of_scales for part in axes.levels(curve, tp, fp, step)]

    return _points_at_levels(curves, drawn, levels)


def points_of_counts(
    curves: Curves, drawn: NDArray[np.bool_], *, step: float = LEVEL_STEP
) -> LinePoints:
    """Return rows of the drawn curves such that counts change little from one row to the next.

    Each of tp, fp, fn and tn changes by at most the share `step`, or the two rows are neighbors.
    """

    def levels(_curve: int, rows: slice) -> Levels:
        pairs = []
        for name in ("tp", "fp"):
            counts = curves.columns[name][rows]
            total = float(counts[-1])
            shares = np.exp(-np.arange(0, np.log(max(total, 2)), np.log1p(step)))
            both_ends = np.unique(np.concatenate([total * shares, total * (1 - shares)]))
            pairs.append((counts, both_ends))
        return pairs

    return _points_at_levels(curves, drawn, levels)


def _points_at_levels(
    curves: Curves, drawn: NDArray[np.bool_], levels: Callable[[int, slice], Levels]
) -> LinePoints:
    """Return the rows of the drawn curves at levels; see `rows_at_levels`.

    `levels` returns the counts and levels of a curve, which has the rows of the given slice.
    """

    def rows(curve: int) -> NDArray[np.int64]:
        start, end = curves.starts[curve : curve + 2]
        if not drawn[curve]:
            return np.zeros(0, np.int64)
        selected = rows_at_levels(int(end - start), lambda: levels(curve, slice(start, end)))
        return np.asarray(start + selected, np.int64)

    return _points_at(curves, run_parallel(rows, range(len(drawn))))


def _points_at(curves: Curves, rows: list[NDArray[np.int64]]) -> LinePoints:
    """Return the points at the given rows; `rows` contains the row indices of each curve."""
    row = np.concatenate([np.zeros(0, np.int64), *rows])
    return LinePoints(
        curve=np.repeat(np.arange(len(rows)), [len(part) for part in rows]),
        row=row,
        tp=curves.columns["tp"][row].astype(np.float64),
        fp=curves.columns["fp"][row].astype(np.float64),
        pos=curves.pos.astype(np.float64),
        neg=curves.neg.astype(np.float64),
        prevalence=curves.prevalence,
    )


# The fields of a record with the numbers of rows of each class, and with the layer that draws it.
POSITIVES, NEGATIVES, LAYER = "_positives", "_negatives", "_layer"


def point_fields(plane: Plane) -> tuple[str, ...]:
    """Return the fields with a value for each point: the axes, the threshold and the counts."""
    return tuple(dict.fromkeys((plane.x.name, plane.y.name, THRESHOLD, "tp", "fp")))


def row_field(plane: Plane) -> str:
    """Return the field that is null for interpolated points, which are not rows of the table."""
    axes = plane.x.name, plane.y.name
    return next(name for name in (THRESHOLD, "tp", "fp") if name not in axes)


def records_of(lines: Lines, curves: Curves, plane: Plane) -> list[dict[str, Any]]:
    """Return a record for each curve: its totals and its points, as JSON values.

    Interpolated points have null as threshold and counts, unless these are on an axis.
    """
    points = lines.points
    at_rows: dict[str, NDArray[Any]] = {
        THRESHOLD: curves.shown_thresholds(points.row),
        "tp": curves.columns["tp"][points.row],
        "fp": curves.columns["fp"][points.row],
    }
    columns = {
        name: [
            None if row == BETWEEN else value
            for value, row in zip(
                json_numbers(values.tolist(), digits=digits_of(name)),
                points.row.tolist(),
                strict=True,
            )
        ]
        for name, values in at_rows.items()
    }
    for name, values in ((plane.x.name, lines.x), (plane.y.name, lines.y)):
        columns[name] = json_numbers(values.tolist(), digits=digits_of(name))
    pos, neg = (json_numbers(size.tolist()) for size in (curves.pos, curves.neg))
    return [
        {GROUP_INDEX: curve, POSITIVES: pos[curve], NEGATIVES: neg[curve]}
        | {name: columns[name][start:end] for name in point_fields(plane)}
        for curve, (start, end) in enumerate(pairwise(points.starts))
    ]


def clip_to_axes(plane: Plane, points: LinePoints) -> LinePoints:
    """Return the part of each curve that is inside the axes of a plane.

    The counts at the new end points of a curve are interpolated linearly between two rows.
    """
    # The shares of each segment between two points at which it enters and leaves the axes.
    enter = np.where(np.diff(points.curve) == 0, 0.0, np.inf)
    leave = np.ones(len(enter))
    for axis in (plane.x, plane.y):
        rises = (NAMES | COUNT_METRICS)[axis.name].rising if axis.limited else None
        if rises is None:
            continue
        sign = 1 if rises else -1
        rate = sign * axis_values(points, plane.kind, axis.name)
        low, high = sorted((sign * axis.low, sign * axis.high))
        change = np.diff(rate)
        with np.errstate(divide="ignore", invalid="ignore"):  # NaN if a rate stays at the border
            enter = np.fmax(enter, (low - rate[:-1]) / change)
            leave = np.fmin(leave, (high - rate[:-1]) / change)
    visible = np.flatnonzero(enter < leave)
    indices = np.unique(np.concatenate([visible + enter[visible], visible + leave[visible]]))
    nearest = indices.astype(np.int64)
    share = np.asarray(indices - nearest, np.float64)
    start = points.select(nearest)
    end = points.select(np.minimum(nearest + 1, len(points.row) - 1))
    return replace(start.between(end, share), row=np.where(share == 0, start.row, BETWEEN))


# Maximum errors of lines, as shares of an axis. The sum of LEVEL_STEP and the next three numbers is
# less than the documented maximum of 1/500.
BEND_TOLERANCE = 1 / 5000
COLUMN_WIDTH = 1 / 3000
CORNER_TOLERANCE = 1 / 1000
# If a line has more than MAX_LINE_POINTS corners, its tolerance is multiplied by this factor until
# it has fewer.
TOLERANCE_FACTOR = 9 / 8
MAX_POINTS = 4800  # of all lines, unless MIN_EXTRA_POINTS for each line result in more points
MIN_EXTRA_POINTS = 20  # of a line, in addition to its corners
MAX_LINE_POINTS = 480


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Lines:
    """The points of simplified lines, and their x and y values."""

    points: LinePoints
    x: NDArray[np.float64]
    y: NDArray[np.float64]


def simplified_lines(plane: Plane, points: LinePoints) -> Lines:
    """Select points such that straight lines between them are within 1/500 of an axis."""
    if plane.limited:
        points = clip_to_axes(plane, points)
    if plane.bends:
        points = add_bend_points(plane, points)
    x, y = axis_rates(plane.kind, points)
    # A point with an undefined rate is drawn at the position of the next point. It is marked as an
    # interpolated point, so that its tooltip does not show the row.
    points = replace(points, row=np.where(_are_defined(plane.kind, points), points.row, BETWEEN))
    return thinned_lines(plane, points, x, y)


def thinned_lines(
    plane: Plane, points: LinePoints, x: NDArray[np.float64], y: NDArray[np.float64]
) -> Lines:
    """Select points such that straight lines between them are within 1/500 of an axis.

    `x` and `y` are the coordinates of the points. In each line, `x` must not change its direction.
    The exact line is straight between two given points.
    """
    selected = column_extremes(
        plane.x.position(x), plane.y.position(y), points.starts, COLUMN_WIDTH
    )
    points, x, y = points.select(selected), x[selected], y[selected]
    across, up = plane.x.position(x), plane.y.position(y)
    needed, tolerance = limit_corners(
        across, up, points.starts, CORNER_TOLERANCE, most=MAX_LINE_POINTS, factor=TOLERANCE_FACTOR
    )
    rows = points.row != BETWEEN
    count = _count(needed, points)
    spare = np.minimum(MAX_LINE_POINTS - count, (MAX_POINTS - count.sum()) // max(len(count), 1))
    selected = needed | rows & evenly_spaced_points(
        across, up, points.starts, np.maximum(spare, MIN_EXTRA_POINTS), corners=needed
    )
    # A line through an additional point can exceed the tolerance at other points, so the corners
    # are determined again.
    selected = corner_points(across, up, points.starts, tolerance, required=selected)
    selected = np.where(
        (_count(selected, points) > MAX_LINE_POINTS + MIN_EXTRA_POINTS)[points.curve],
        needed,
        selected,
    )
    return Lines(points=points.select(selected), x=x[selected], y=y[selected])


def _are_defined(kind: Kind, points: LinePoints) -> NDArray[np.bool_]:
    """Return a mask of the points at which both rates are defined and finite."""
    x, y = (axis_values(points, kind, name) for name in (kind.x, kind.y))
    return np.asarray(np.isfinite(x) & np.isfinite(y))


def _count(marked: NDArray[np.bool_], points: LinePoints) -> NDArray[np.int64]:
    """Return the number of points of each curve at which the mask `marked` is true."""
    return np.bincount(points.curve[marked], minlength=len(points.pos))


def add_bend_points(plane: Plane, points: LinePoints) -> LinePoints:
    """Add points between rows until straight lines between all points are close to the curves.

    This is necessary because rates and their positions on the axes can be nonlinear functions of
    the counts, which are interpolated linearly.
    """
    left = np.flatnonzero(points.curve[1:] == points.curve[:-1])
    return insert_points(points, left, lambda start, end: _is_bent(plane, start, end))


def _is_bent(plane: Plane, start: LinePoints, end: LinePoints) -> NDArray[np.bool_]:
    """Return a mask of the segments, from `start[i]` to `end[i]`, that are not nearly straight."""
    (x, y), (next_x, next_y) = plane.position(start), plane.position(end)
    bent = (np.abs(next_x - x) > BEND_TOLERANCE) & (np.abs(next_y - y) > BEND_TOLERANCE)
    start, end = start.select(bent), end.select(bent)
    ends = (x[bent], y[bent]), (next_x[bent], next_y[bent])
    distances = [
        segment_distance(plane.position(start.between(end, fraction)), *ends)
        for fraction in (0.25, 0.5, 0.75)
    ]
    bent[bent] = np.maximum.reduce(distances) > BEND_TOLERANCE
    return bent
