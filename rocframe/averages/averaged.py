"""Curves of all groups → the table of their averages, along an axis or at thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.averages.coarse import coarse
from rocframe.averages.gathered import Gathered
from rocframe.averages.grids import ranges, tasks
from rocframe.averages.means import Cell, limits
from rocframe.averages.measures import Measure
from rocframe.averages.members import members_of
from rocframe.averages.places import Track, places_above, places_at
from rocframe.counting.draws import stream_keys
from rocframe.curves.held import spread_of
from rocframe.curves.mean import mean_schema
from rocframe.formulas import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    import polars as pl
    from numpy.typing import NDArray

    from rocframe.averages.grids import Task
    from rocframe.averages.members import Members
    from rocframe.averages.places import End, Places
    from rocframe.averages.plan import Plan
    from rocframe.curves.kinds import Kind
    from rocframe.curves.table import Curves


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What all pieces of the work share: the curves, the fixed axis, and the averaged ones."""

    members: Members
    track: Track
    axes: tuple[Measure, ...]
    plan: Plan
    streams: list[tuple[int, ...]]
    coarse: NDArray[np.bool_] | None


def averaged(curves: Curves, kind: Kind, plan: Plan) -> pl.DataFrame:
    """Return the averaged curve of each group, point after point."""
    axes = plan.averaged(kind)
    members = members_of(curves, plan.over, plan.weights, plan.weighted_by)
    work = Work(
        members=members,
        track=Track.of(curves, kind.x if axes == (kind.y,) else kind.y),
        axes=tuple(Measure.of("kind", axis, Settings()) for axis in axes),
        plan=plan,
        streams=stream_keys(members.keys),
        coarse=coarse(curves) if plan.method == "threshold" else None,
    )
    made = Gathered(members=members, schema=mean_schema(kind, axes, sides=plan.sides))
    for task in tasks(members, work.track, plan):
        columns = _averaged(work, task)
        shape = columns["n_curves"].shape
        known = np.repeat(~np.isnan(task.values), shape[1] // task.values.shape[1], axis=1)
        made.add(task, columns, np.broadcast_to(known, shape))
    return made.table()


def _averaged(work: Work, task: Task) -> dict[str, NDArray[Any]]:
    """Return the columns of some groups (down) at some values (across)."""
    members, track, plan = work.members, work.track, work.plan
    groups, sizes = task.groups, members.sizes[task.groups]
    rows = ranges(members.starts[groups], sizes)
    curve, starts = members.curve[rows], np.cumsum(sizes) - sizes
    several = _found(work, task.values, curve, sizes)
    values = np.repeat(task.values, len(several), axis=1)
    shape = (len(groups), values.shape[1])

    def cell(take: Callable[[Places], NDArray[np.float64]]) -> Cell:
        together = np.stack([take(places) for places in several], axis=2).reshape(len(curve), -1)
        together[~members.usable[rows]] = np.nan
        return Cell(values=together, weight=members.weight[rows], starts=starts)

    columns: dict[str, NDArray[Any]] = {}
    for axis in work.axes:
        some = cell(axis.of_places)
        mean = some.mean
        sd = some.sd(mean)
        spread = limits(
            some,
            mean,
            sd,
            plan,
            curves=sizes,
            rows=axis.out_of(track)[curve],
            streams=[work.streams[group] for group in groups],
            bounds=axis.bounds,
        )
        columns |= dict(zip(spread_of(axis.name), (mean, sd, *spread), strict=True))
        columns["n_curves"] = some.count
    if plan.sides:
        columns["side"] = np.tile(np.array(["left", "right"], object), (shape[0], shape[1] // 2))
    columns["ci_level"] = np.full(shape, np.nan if plan.interval is None else plan.level)
    fixed = np.broadcast_to(values, shape)
    if plan.method == "threshold":
        return columns | {"threshold_mean": fixed, "threshold_sd": np.zeros(shape)}
    told = cell(_threshold).with_infinite()
    thresholds = dict(zip(("threshold_mean", "threshold_sd"), told, strict=True))
    return columns | {track.name: fixed} | thresholds


def _found(
    work: Work, values: NDArray[np.float64], curve: NDArray[np.int64], sizes: NDArray[np.int64]
) -> list[Places]:
    """Return the places of the values, on each side of a jump if asked for."""
    track = work.track
    if len(values) > 1:
        values = np.repeat(values, sizes, axis=0)
    if work.plan.method == "threshold":
        return [places_above(track, curve, values, work.coarse)]
    if not work.plan.sides:
        return [places_at(track, curve, values, track.end)]
    ends: tuple[End, End] = ("last", "first") if track.name == "fnr" else ("first", "last")
    return [places_at(track, curve, values, end) for end in ends]


def _threshold(places: Places) -> NDArray[np.float64]:
    """Return the threshold of each place that there is."""
    return np.where(places.there, places.threshold, np.nan)
