"""Means of metrics at fixed values of another metric."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.averages.curve_groups import (
    Gathered,
    Members,
    coarse,
    common_tasks,
    members_of,
    ranges,
    single_tasks,
    tasks,
)
from rocframe.averages.locate import Measure, Path, Track, places_above, places_near
from rocframe.averages.means import MONOTONE, OF_CLASSES, Cell, as_grid, limits
from rocframe.averages.pooled import pooled
from rocframe.curves.table import curve_layout, read_curves
from rocframe.errors import OptionValueError, RepeatedNameError
from rocframe.frames import private_names
from rocframe.kernel.resample import stream_keys
from rocframe.rates import Settings, check_read
from rocframe.schemas import AVERAGE_INFO, THRESHOLD, metric_average_columns, spread_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.averages.curve_groups import Task
    from rocframe.averages.locate import Places
    from rocframe.averages.means import Grid, Plan
    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Held:
    """Which metric is held fixed (None: the threshold), at which values, and what is averaged."""

    name: str
    fixed: Measure | None
    measures: tuple[Measure, ...]
    grid: int | str | list[float]
    nearest: bool

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """Dtypes of the table, right of its keys."""
        return metric_average_columns(self.name, [measure.name for measure in self.measures])

    @property
    def common(self) -> NDArray[np.float64] | None:
        """The values that are the same in all groups; None where each has its own."""
        if isinstance(self.grid, list):
            return np.array(self.grid)
        if not isinstance(self.grid, int) or self.fixed is None:
            return None
        low, high = self.fixed.bounds
        if not np.isfinite(high - low):
            return None
        return low + (high - low) * (np.arange(self.grid) / (self.grid - 1))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Asked:
    """What is asked for, as far as that goes without the kind of curve; None is its axes."""

    name: str | None
    fixed: Measure | None
    measures: tuple[Measure, ...] | None
    grid: Grid
    nearest: bool
    settings: Settings

    @classmethod
    def of(
        cls,
        method: str,
        *,
        fixed: str | pl.Expr | None,
        metrics: str | pl.Expr | Sequence[str | pl.Expr] | None,
        grid: Grid,
        nearest: bool,
        prevalence: float | None,
        beta: float,
        costs: Mapping[str, float] | None,
    ) -> Asked | None:
        """Check the options, each alone and with the method; None where none is given."""
        settings = Settings(beta=beta, costs=costs, prevalence=prevalence)
        said: object = nearest
        if not isinstance(said, bool):
            wrong, todo = "it is neither True nor False", "Say nearest=True, or leave it out."
            raise OptionValueError.of("nearest", said, wrong, todo)
        if fixed is None and metrics is None and not nearest:
            _check_settings((), settings)
            return None
        named = fixed if isinstance(fixed, str) else None
        if fixed is None:
            _check_whole(method, metrics=metrics, nearest=nearest or None)
        elif method == "horizontal" or (method == THRESHOLD and named != THRESHOLD):
            wrong = f"method={method!r} says itself what is held fixed"
            raise OptionValueError.of("fixed", fixed, wrong, 'Say method="vertical" with it.')
        at_threshold = THRESHOLD in {method, named}
        held = None
        if fixed is not None and not at_threshold:
            held = Measure.of("fixed", fixed, settings, more=(THRESHOLD,))
        return cls(
            name=THRESHOLD if at_threshold else None if held is None else held.name,
            fixed=held,
            measures=None if metrics is None else _measures(metrics, settings),
            grid=grid,
            nearest=nearest,
            settings=settings,
        )

    def on(self, kind: Kind, plan: Plan) -> tuple[Plan, Held | None]:
        """Return the plan of an averaged curve, or what stands in a table of metrics."""
        settings, measures = self.settings, self.measures
        name = self.name or (kind.y if plan.method == "horizontal" else kind.x)
        plain = measures is None and not self.nearest and settings.prevalence is None
        if plain and plan.method != "pooled":
            along = {kind.x: "vertical", THRESHOLD: THRESHOLD}
            along |= {kind.y: "horizontal"} if kind.y in MONOTONE else {}
            if name in along:
                method: Any = along[name]
                _check_settings((), settings)
                return replace(plan, method=method, grid=as_grid(self.grid, method)), None
        fixed = self.fixed
        if fixed is None and name != THRESHOLD:
            fixed = Measure.of("fixed", name, settings)
        if measures is None:
            axes = [Measure.of("metrics", axis, settings) for axis in (kind.x, kind.y)]
            measures = tuple(one for one in axes if fixed is None or one.known != fixed.known)
        read = [one for one in (fixed, *measures) if one is not None]
        _check_settings(read, settings)
        _check_names(name, measures)
        for argument, one in [("fixed", fixed), *(("metrics", one) for one in measures)]:
            if one is not None and one.reads_threshold and (argument == "fixed" or fixed):
                raise OptionValueError.of(
                    argument,
                    one.name,
                    "it reads the threshold, and between two rows there is none",
                    'Say fixed="threshold", with it among the metrics.',
                )
        for one in measures:
            if plan.interval == "binomial" and one.whole is None:
                wrong = f"{one.name} is no share of a number of rows that is fixed"
                todo = 'Say interval="corrected", say.'
                raise OptionValueError.of("interval", plan.interval, wrong, todo)
        grid = _as_values(self.grid, fixed)
        return plan, Held(
            name=name, fixed=fixed, measures=measures, grid=grid, nearest=self.nearest
        )


def _measures(
    metrics: str | pl.Expr | Sequence[str | pl.Expr], settings: Settings
) -> tuple[Measure, ...]:
    """Read the metrics that are averaged: one, or several."""
    given: list[object] = (
        [metrics]
        if isinstance(metrics, str | pl.Expr) or not hasattr(metrics, "__iter__")
        else [*metrics]
    )
    if not given:
        todo = 'Give one or several, say "precision".'
        raise OptionValueError.of("metrics", metrics, "it names no metric", todo)
    return tuple(Measure.of("metrics", one, settings) for one in given)


def _as_values(grid: Grid, fixed: Measure | None) -> int | str | list[float]:
    """Read `grid`: of thresholds falling, of metrics rising and as far as these go."""
    values = as_grid(grid, THRESHOLD)
    if fixed is None or not isinstance(values, list):
        return values
    low, high = fixed.bounds
    for one in values:
        if not low <= one <= high:
            wrong = f"{one:g} is no value of {fixed.name}"
            todo = f"It lies between {low:g} and {high:g}."
            raise OptionValueError.of("grid", grid, wrong, todo)
    return values[::-1]


def _check_whole(method: str, **given: object) -> None:
    """Check that nothing is asked of a pooled curve, which is there as a whole."""
    for option, value in given.items():
        if value is not None and OF_CLASSES.get(method, (method,))[0] == "pooled":
            wrong = f"method={method!r} makes a whole curve, with its tp, fp, fn, tn"
            todo = "Say fixed= with it, or work metrics out of these."
            raise OptionValueError.of(option, value, wrong, todo)


def _check_settings(read: Sequence[Measure], settings: Settings) -> None:
    """Check that what is said beside the metrics is said to one of them."""
    check_read([one.known for one in read], beta=settings.beta, costs=settings.costs)
    if settings.prevalence is not None and not any(one.mixed for one in read):
        wrong = "no metric depends on it"
        todo = 'Say metrics=["precision"] with it, say, or leave it out.'
        raise OptionValueError.of("prevalence", settings.prevalence, wrong, todo)


def _check_names(name: str, measures: Sequence[Measure]) -> None:
    """Check that no two columns of the table have one name."""
    asked = [name, *(one.name for one in measures)]
    taken = [name, *AVERAGE_INFO]
    for one in measures:
        for made in spread_columns(one.name):
            if made in taken:
                raise RepeatedNameError.of("metrics", made, asked)
            taken.append(made)


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
    known = curve_layout(table.schema, by, ())
    whole = read_curves(table.select(known.walk), known)
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
        columns |= dict(zip(spread_columns(measure.name), drawn, strict=True))
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
