"""Curves of all groups → the means of metrics at fixed values of another, and their spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.averages.averaged import values_of, with_infinite
from rocframe.averages.coarse import coarse
from rocframe.averages.grids import common_tasks, single_tasks
from rocframe.averages.means import Cell, limits
from rocframe.averages.members import Members, members_of
from rocframe.averages.places import Track, places_above
from rocframe.averages.pooled import pooled
from rocframe.averages.reached import Path, places_near
from rocframe.counting.draws import stream_keys
from rocframe.curves.held import spread_of
from rocframe.curves.table import layout, opened
from rocframe.vocabulary import THRESHOLD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.averages.grids import Task
    from rocframe.averages.held import Held
    from rocframe.averages.measures import Measure
    from rocframe.averages.places import Places
    from rocframe.averages.plan import Plan
    from rocframe.curves.kinds import Kind
    from rocframe.curves.table import Curves


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What all pieces of the work share; `path` is None where thresholds are fixed."""

    held: Held
    plan: Plan
    members: Members
    track: Track
    path: Path | None
    streams: list[tuple[int, ...]]
    coarse: NDArray[np.bool_] | None

    def own(self, group: int) -> NDArray[np.float64]:
        """Return the values that some curve of a group has, or so many of them."""
        members, grid = self.members, self.held.grid
        some = slice(members.starts[group], members.starts[group + 1])
        used = members.curve[some][members.usable[some]]
        if self.path is not None:
            found = self.path.values(used)
        else:
            starts, threshold = members.curves.starts, members.curves.walk[THRESHOLD]
            every = [threshold[starts[curve] : starts[curve + 1]] for curve in used]
            found = np.unique(np.concatenate([np.zeros(0), *every]))[::-1]
        if not len(found):
            return np.array([np.nan])  # a row for the note
        if not isinstance(grid, int) or len(found) <= grid:
            return found
        return found[np.rint(np.linspace(0, len(found) - 1, grid)).astype(np.int64)]

    def places(self, curve: NDArray[np.int64], values: NDArray[np.float64]) -> Places:
        """Find the place on each curve that has each value."""
        if self.path is not None:
            return self.path.places(curve, values, nearest=self.held.nearest)
        if self.held.nearest:
            return places_near(self.track, curve, values)
        return places_above(self.track, curve, values, self.coarse)


def held_means(curves: Curves, held: Held, plan: Plan) -> pl.DataFrame:
    """Return the means of each group, value after value."""
    return _means(members_of(curves, plan.over, plan.weights, plan.weighted_by), held, plan)


def held_pooled(curves: Curves, kind: Kind, held: Held, plan: Plan) -> pl.DataFrame:
    """Return the metrics of the one curve of all rows of each group."""
    table = pooled(curves, kind, plan.over, ranked=plan.ranked)
    by = table.columns[: table.columns.index(THRESHOLD)]
    known = layout(table.schema, by, ())
    whole = opened(table.select(known.walk), known)
    first = table[whole.firsts]
    groups = len(whole.firsts)
    members = Members(
        keys=whole.keys,
        curves=whole,
        curve=np.arange(groups),
        starts=np.arange(groups + 1),
        usable=(whole.total("tp", "fn") > 0) & (whole.total("fp", "tn") > 0),
        weight=np.ones(groups),
        notes=first.get_column("note").to_list(),
    )
    return _means(members, held, plan, first.get_column("n_curves").to_numpy())


def _means(
    members: Members, held: Held, plan: Plan, together: NDArray[np.int64] | None = None
) -> pl.DataFrame:
    """Work piece after piece; `together` says how many curves are one in each group."""
    fixed, curves = held.fixed, members.curves
    path = None if fixed is None else Path.of(curves, fixed)
    work = Work(
        held=held,
        plan=plan,
        members=members,
        track=Track.of(curves, THRESHOLD) if path is None else path.track,
        path=path,
        streams=stream_keys(members.keys),
        coarse=coarse(curves) if path is None else None,
    )
    schema = held.schema
    parts: dict[str | int, list[NDArray[Any]]] = {name: [] for name in schema}
    parts |= {i: [] for i in range(len(held.measures))}
    groups = [np.zeros(0, np.uint32)]
    common = held.common
    tasks = single_tasks(members, work.own) if common is None else common_tasks(members, common)
    for task in tasks:
        found = _found(work, task)
        here = task.groups.astype(np.uint32)
        across = task.values.shape[1]
        if together is not None:
            found["n_curves"] *= together[here][:, None]
            found |= {i: found[i] * together[here][:, None] for i in range(len(held.measures))}
        groups.append(np.repeat(here, across))
        found["note"] = np.repeat(np.array([members.notes[one] for one in here], object), across)
        for name, several in parts.items():
            several.append(found[name].ravel())
    places = pl.Series(np.concatenate(groups))
    keys = members.keys
    table = pl.DataFrame(
        [
            pl.Series(name, values_of(parts[name]), dtype, nan_to_null=True)
            for name, dtype in schema.items()
        ]
    )
    counts = [pl.Series(str(i), values_of(parts[i]), pl.Int64) for i in range(len(held.measures))]
    told = table.select("note", "n_curves").hstack(counts).select(_note(held.measures))
    named = table.with_columns(told)
    return keys[places].hstack(named) if keys.width else named


def _found(work: Work, task: Task) -> dict[str | int, NDArray[Any]]:
    """Return the columns of some groups (down) at some values (across).

    Under the place of each metric stands how many curves have it.
    """
    members, plan, held = work.members, work.plan, work.held
    groups = slice(task.groups[0], task.groups[-1] + 1)
    rows = slice(members.starts[groups.start], members.starts[groups.stop])
    curve, usable = members.curve[rows], members.usable[rows]
    places = work.places(curve, task.values[0])
    there = places.there & usable[:, None]

    def cell(values: NDArray[np.float64]) -> Cell:
        return Cell(
            values=np.where(there, values, np.nan),
            weight=members.weight[rows],
            starts=members.starts[groups] - rows.start,
        )

    thresholds = cell(places.threshold)
    shape = (len(task.groups), task.values.shape[1])
    columns: dict[str | int, NDArray[Any]] = {
        held.name: np.broadcast_to(task.values, shape),
        "ci_level": np.full(shape, np.nan if plan.interval is None else plan.level),
        "n_curves": thresholds.count,
    }
    told = with_infinite(thresholds)
    columns |= dict(zip(("threshold_mean", "threshold_sd"), told, strict=True))
    for i, measure in enumerate(held.measures):
        some = cell(measure.of_places(places))
        mean, sd = with_infinite(some)
        known = np.isfinite(mean)
        spread = limits(
            # Without an infinite value there are none to draw.
            cell(np.where(np.isfinite(some.values), some.values, np.nan)),
            mean,
            sd,
            plan,
            curves=members.sizes[groups],
            rows=measure.out_of(work.track)[curve],
            streams=work.streams[groups],
            bounds=measure.bounds,
        )
        drawn = (mean, sd, *(np.where(known, one, np.nan) for one in spread))
        columns |= dict(zip(spread_of(measure.name), drawn, strict=True))
        columns[i] = some.count
    return columns


def _note(measures: tuple[Measure, ...]) -> pl.Expr:
    """Add to the note which metrics are means of fewer curves than have the fixed value."""
    fewer = [
        pl.when(pl.col(str(i)) < pl.col("n_curves")).then(
            pl.format("{} ({})", pl.lit(one.name), pl.col(str(i)))
        )
        for i, one in enumerate(measures)
    ]
    told = pl.concat_str(fewer, separator=", ", ignore_nulls=True)
    lacking = pl.when(told != "").then(pl.format("fewer:{}", told))
    both = pl.concat_str(pl.col("note"), lacking, separator="; ", ignore_nulls=True)
    return pl.when(both != "").then(both).alias("note")
