"""Curves of all groups → the means of metrics at fixed values of another, and their spread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.averages.coarse import coarse
from rocframe.averages.gathered import Gathered
from rocframe.averages.grids import common_tasks, ranges, single_tasks, tasks
from rocframe.averages.means import Cell, limits
from rocframe.averages.members import Members, members_of
from rocframe.averages.places import Track, places_above
from rocframe.averages.pooled import pooled
from rocframe.averages.reached import Path, places_near
from rocframe.counting.draws import stream_keys
from rocframe.curves.held import spread_of
from rocframe.curves.table import layout, opened
from rocframe.frames import private_names
from rocframe.vocabulary import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rocframe.averages.grids import Task
    from rocframe.averages.held import Held
    from rocframe.averages.places import Places
    from rocframe.averages.plan import Plan
    from rocframe.curves.kinds import Kind
    from rocframe.curves.table import Curves


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """What all pieces of the work share; `path` is None where thresholds are fixed.

    `counts` names for each metric a column that says how many curves have it.
    """

    held: Held
    plan: Plan
    members: Members
    track: Track
    path: Path | None
    streams: list[tuple[int, ...]]
    coarse: NDArray[np.bool_] | None
    counts: dict[str, str]

    def own(self, group: int) -> NDArray[np.float64]:
        """Return the values that some curve of a group has, or so many of them."""
        assert self.path is not None
        members, grid = self.members, self.held.grid
        some = slice(members.starts[group], members.starts[group + 1])
        found = self.path.values(members.curve[some][members.usable[some]])
        if not len(found):
            return np.array([np.nan])  # a row for the note
        if not isinstance(grid, int) or len(found) <= grid:
            return found
        return found[np.rint(np.linspace(0, len(found) - 1, grid)).astype(np.int64)]

    @property
    def tasks(self) -> Iterator[Task]:
        """Cut the work into pieces."""
        if self.held.common is not None:
            return common_tasks(self.members, self.held.common)
        if self.path is not None:
            return single_tasks(self.members, self.own)
        at_thresholds = replace(self.plan, method="threshold", grid=self.held.grid)
        return tasks(self.members, self.track, at_thresholds)

    def places(self, task: Task, curve: NDArray[np.int64], sizes: NDArray[np.int64]) -> Places:
        """Find the place on each curve that has each value."""
        if self.path is not None:
            return self.path.places(curve, task.values[0], nearest=self.held.nearest)
        values = task.values if len(task.values) == 1 else np.repeat(task.values, sizes, axis=0)
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
    names = [measure.name for measure in held.measures]
    own = private_names(map(str, range(len(names))), (*members.keys.columns, *held.schema))
    counts = dict(zip(names, own.values(), strict=True))
    work = Work(
        held=held,
        plan=plan,
        members=members,
        track=Track.of(curves, THRESHOLD) if path is None else path.track,
        path=path,
        streams=stream_keys(members.keys),
        coarse=coarse(curves) if path is None else None,
        counts=counts,
    )
    schema = held.schema | dict.fromkeys(counts.values(), pl.Int64())
    made = Gathered(members=members, schema=schema)
    for task in work.tasks:
        columns = _found(work, task)
        shape = columns["n_curves"].shape
        if together is not None:
            several = together[task.groups][:, None]
            columns |= {name: columns[name] * several for name in ("n_curves", *counts.values())}
        # A group without values has a row for its note.
        padded = np.isnan(task.values) & (path is None)
        made.add(task, columns, np.broadcast_to(~padded, shape))
    return made.table().with_columns(_note(counts)).drop(*counts.values())


def _found(work: Work, task: Task) -> dict[str, NDArray[Any]]:
    """Return the columns of some groups (down) at some values (across).

    Under the place of each metric stands how many curves have it.
    """
    members, plan, held = work.members, work.plan, work.held
    groups, sizes = task.groups, members.sizes[task.groups]
    rows = ranges(members.starts[groups], sizes)
    curve, usable = members.curve[rows], members.usable[rows]
    places = work.places(task, curve, sizes)
    there = places.there & usable[:, None]

    def cell(values: NDArray[np.float64]) -> Cell:
        return Cell(
            values=np.where(there, values, np.nan),
            weight=members.weight[rows],
            starts=np.cumsum(sizes) - sizes,
        )

    thresholds = cell(places.threshold)
    shape = (len(task.groups), task.values.shape[1])
    columns: dict[str, NDArray[Any]] = {
        held.name: np.broadcast_to(task.values, shape),
        "ci_level": np.full(shape, np.nan if plan.interval is None else plan.level),
        "n_curves": thresholds.count,
    }
    told = thresholds.with_infinite()
    columns |= dict(zip(("threshold_mean", "threshold_sd"), told, strict=True))
    for measure in held.measures:
        some = cell(measure.of_places(places))
        mean, sd = some.with_infinite()
        known = np.isfinite(mean)
        spread = limits(
            # Without an infinite value there are none to draw.
            cell(np.where(np.isfinite(some.values), some.values, np.nan)),
            mean,
            sd,
            plan,
            curves=sizes,
            rows=measure.out_of(work.track)[curve],
            streams=[work.streams[group] for group in groups],
            bounds=measure.bounds,
        )
        drawn = (mean, sd, *(np.where(known, one, np.nan) for one in spread))
        columns |= dict(zip(spread_of(measure.name), drawn, strict=True))
        columns[work.counts[measure.name]] = some.count
    return columns


def _note(counts: dict[str, str]) -> pl.Expr:
    """Add to the note which metrics are means of fewer curves than have the fixed value."""
    fewer = [
        pl.when(pl.col(count) < pl.col("n_curves")).then(
            pl.format("{} ({})", pl.lit(name), pl.col(count))
        )
        for name, count in counts.items()
    ]
    told = pl.concat_str(fewer, separator=", ", ignore_nulls=True)
    lacking = pl.when(told != "").then(pl.format("fewer:{}", told))
    both = pl.concat_str(pl.col("note"), lacking, separator="; ", ignore_nulls=True)
    return pl.when(both != "").then(both).alias("note")
