"""Curves of all groups → the table of their averages, along an axis or at thresholds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.averages.coarse import coarse
from rocframe.averages.means import Cell, limits
from rocframe.averages.members import members_of
from rocframe.averages.places import Track, places_above, places_at
from rocframe.counting.draws import stream_keys
from rocframe.curves.mean import SPREAD, mean_schema
from rocframe.rates import NAMES
from rocframe.vocabulary import CONFUSION, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rocframe.averages.members import Members
    from rocframe.averages.places import End, Places
    from rocframe.averages.plan import Plan
    from rocframe.curves.kinds import Kind
    from rocframe.curves.table import Curves

CELLS = 1 << 18  # values of all curves that are worked on at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What all pieces of the work share: the curves, the fixed axis, and the averaged ones."""

    members: Members
    track: Track
    axes: tuple[str, ...]
    plan: Plan
    streams: list[tuple[int, ...]]
    coarse: NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """The groups `first` to `last`, which are averaged at the same values."""

    first: int
    last: int
    values: NDArray[np.float64]


def averaged(curves: Curves, kind: Kind, plan: Plan) -> pl.DataFrame:
    """Return the averaged curve of each group, point after point."""
    axes = plan.averaged(kind)
    members = members_of(curves, plan.over, plan.weights)
    work = Work(
        members=members,
        track=Track.of(curves, kind.x if axes == (kind.y,) else kind.y),
        axes=axes,
        plan=plan,
        streams=stream_keys(members.keys),
        coarse=coarse(curves) if plan.method == "threshold" else None,
    )
    schema = mean_schema(kind, axes, sides=plan.sides)
    parts: dict[str, list[NDArray[Any]]] = {name: [] for name in schema}
    groups = [np.zeros(0, np.uint32)]
    for task in _tasks(work):
        found = _averaged(work, task)
        across = found["n_curves"].shape[1]
        here = np.arange(task.first, task.last, dtype=np.uint32)
        groups.append(np.repeat(here, across))
        notes = np.array([members.notes[group] for group in here], object)
        found["note"] = np.repeat(notes, across)
        for name, several in parts.items():
            several.append(found[name].ravel())
    places = pl.Series(np.concatenate(groups))
    keys = members.keys
    table = keys[places] if keys.width else pl.DataFrame(height=len(places))
    return table.with_columns(
        pl.Series(name, _values(parts[name]), dtype, nan_to_null=True)
        for name, dtype in schema.items()
    )


def _values(parts: list[NDArray[Any]]) -> Any:
    if not parts:
        return []
    whole = np.concatenate(parts)
    return whole.tolist() if whole.dtype == object else whole


def _tasks(work: Work) -> Iterator[Task]:
    """Cut the work into pieces whose values fit into memory many times."""
    members, plan = work.members, work.plan
    common = None
    if isinstance(plan.grid, list):
        common = np.array(plan.grid)
    elif isinstance(plan.grid, int) and plan.method != "threshold":
        common = np.arange(plan.grid) / (plan.grid - 1)
    first, groups = 0, len(members.notes)
    while first < groups:
        last = first + 1
        if common is not None:
            most = members.starts[first] + CELLS // len(common)
            last = max(last, int(np.searchsorted(members.starts, most, "right")) - 1)
        values = _own(work, first) if common is None else common
        step = max(1, CELLS // int(members.starts[last] - members.starts[first]))
        if last > first + 1:  # these fit at once
            step = len(values)
        for start in range(0, len(values), step):
            yield Task(first=first, last=last, values=values[start : start + step])
        first = last


def _own(work: Work, group: int) -> NDArray[np.float64]:
    """Return the values that some curve of a group has: of the axis, or as thresholds."""
    members, grid = work.members, work.plan.grid
    some = slice(members.starts[group], members.starts[group + 1])
    used = members.curve[some][members.usable[some]]
    if work.plan.method != "threshold":
        every = [np.unique(work.track.values(curve)) for curve in used]
        return np.unique(np.concatenate([[0.0, 1.0], *every]))
    starts, walk = members.curves.starts, members.curves.walk
    every = [walk.between(THRESHOLD, starts[curve], starts[curve + 1]) for curve in used]
    falling: NDArray[np.float64] = np.unique(np.concatenate([[np.inf], *every]))[::-1]
    if not isinstance(grid, int) or len(falling) <= grid:
        return falling
    return falling[np.rint(np.linspace(0, len(falling) - 1, grid)).astype(np.int64)]


def _averaged(work: Work, task: Task) -> dict[str, NDArray[Any]]:
    """Return the columns of some groups (down) at some values (across)."""
    members, track, plan = work.members, work.track, work.plan
    groups = slice(task.first, task.last)
    rows = slice(members.starts[task.first], members.starts[task.last])
    curve, starts = members.curve[rows], members.starts[groups] - rows.start
    several, values = _found(work, task, curve)
    shape = (task.last - task.first, len(values))

    def cell(take: str) -> Cell:
        sides = [_taken(places, take) for places in several]
        together = np.stack(sides, axis=2).reshape(len(curve), -1)
        together[~members.usable[rows]] = np.nan
        return Cell(values=together, weight=members.weight[rows], starts=starts)

    columns: dict[str, NDArray[Any]] = {}
    for axis in work.axes:
        some = cell(axis)
        mean = some.mean
        sd = some.sd(mean)
        whole = Track(name=axis, curves=track.curves, pos=track.pos, neg=track.neg)
        spread = limits(
            some,
            mean,
            sd,
            plan,
            curves=members.sizes[groups],
            rows=whole.total(curve),
            streams=work.streams[groups],
            bounds=(0.0, np.inf) if axis in CONFUSION else NAMES[axis].bounds,
        )
        columns |= dict(zip((f"{axis}_{part}" for part in SPREAD), (sd, *spread), strict=True))
        columns |= {axis: mean, "n_curves": some.count}
    if plan.sides:
        columns["side"] = np.tile(np.array(["left", "right"], object), (shape[0], shape[1] // 2))
    columns["ci_level"] = np.full(shape, np.nan if plan.interval is None else plan.level)
    fixed = np.broadcast_to(values, shape)
    if plan.method == "threshold":
        return columns | {"threshold_mean": fixed, "threshold_sd": np.zeros(shape)}
    thresholds = dict(zip(("threshold_mean", "threshold_sd"), _thresholds(cell("")), strict=True))
    return columns | {track.name: fixed} | thresholds


def _found(
    work: Work, task: Task, curve: NDArray[np.int64]
) -> tuple[list[Places], NDArray[np.float64]]:
    """Return the places of the values, on each side of a jump if asked for, and the values."""
    track, values = work.track, task.values
    if work.plan.method == "threshold":
        return [places_above(track, curve, values, work.coarse)], values
    if not work.plan.sides:
        return [places_at(track, curve, values, track.end)], values
    ends: tuple[End, End] = ("last", "first") if track.name == "fnr" else ("first", "last")
    return [places_at(track, curve, values, end) for end in ends], np.repeat(values, 2)


def _taken(places: Places, name: str) -> NDArray[np.float64]:
    """Return a rate of the places, or their thresholds."""
    return places.rate(name) if name else np.where(places.there, places.threshold, np.nan)


def _thresholds(cell: Cell) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and spread of thresholds, some of which may be infinite."""
    ends = np.isinf(cell.values)
    finite = Cell(values=np.where(ends, 0.0, cell.values), weight=cell.weight, starts=cell.starts)
    mean = finite.mean
    sd = finite.sd(mean)
    high, low = (cell.add((cell.values == end).astype(np.float64)) > 0 for end in (np.inf, -np.inf))
    mean = np.where(high, np.inf, np.where(low, -np.inf, mean))
    return np.where(high & low, np.nan, mean), np.where(high | low, np.nan, sd)
