"""Groups of curves that are averaged together, and the grid of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.averages.locate import ROUNDING
from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.frames import build_table, column, planned
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.threads import run_parallel
from rocframe.options import as_number, parse_names
from rocframe.schemas import THRESHOLD
from rocframe.text import words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.averages.locate import Track
    from rocframe.averages.means import Plan
    from rocframe.curves.table import Curves


NAMED = 10  # curves that a note names


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Members:
    """The curves of all groups, group after group.

    Group i has the curves `curve[starts[i]]` to `curve[starts[i + 1] - 1]`, numbers in the table
    of curves. `usable` says which have both classes, `weight` how much each counts.
    """

    keys: pl.DataFrame
    curves: Curves
    curve: NDArray[np.int64]
    starts: NDArray[np.int64]
    usable: NDArray[np.bool_]
    weight: NDArray[np.float64]
    notes: list[str | None]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """How many curves each group has, left out ones among them."""
        return np.diff(self.starts)


def members_of(
    curves: Curves,
    over: Sequence[str],
    weights: str | Mapping[Any, float],
    argument: str = "weights",
) -> Members:
    """Put the curves of each group together, in the order of their keys.

    `argument` is the one that says how much each counts.
    """
    keys, (curve, starts) = grouped(curves.keys, over)
    pos, neg = (_last_total(curves, *names) for names in (("tp", "fn"), ("fp", "tn")))
    usable = (pos > 0) & (neg > 0)
    told = spelled(curves.keys, over)
    weight = _weights(curves.keys, over, weights, argument, rows=pos + neg, positives=pos)
    usable, weight, told = usable[curve], weight[curve], told[curve]
    return Members(
        keys=keys,
        curves=curves,
        curve=curve,
        starts=starts,
        usable=usable,
        weight=weight,
        notes=left_out(told, usable, starts),
    )


def grouped(
    keys: pl.DataFrame, over: Sequence[str]
) -> tuple[pl.DataFrame, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the keys without `over`, sorted, and which rows of `keys` each of them has."""
    rest = [name for name in keys.columns if name not in over]
    if not rest:
        size = keys.height
        groups = 1 if size else 0
        return pl.DataFrame(height=groups), (
            np.arange(size),
            np.array([0, size] if groups else [0], np.int64),
        )
    hidden = keys.select(column(name).alias(str(i)) for i, name in enumerate(rest))
    found = (
        hidden.with_columns(pl.int_range(keys.height).alias("row"))
        .group_by(hidden.columns)
        .agg(pl.col("row").sort())
        .sort(hidden.columns)
    )
    starts = np.append(0, np.cumsum(found["row"].list.len().to_numpy(), dtype=np.int64))
    rows = found["row"].explode(empty_as_null=False).to_numpy().astype(np.int64)
    named = found.select(hidden.columns).rename(dict(zip(hidden.columns, rest, strict=True)))
    return named, (rows, starts.astype(np.int64))


def left_out(
    told: NDArray[np.object_], usable: NDArray[np.bool_], starts: NDArray[np.int64]
) -> list[str | None]:
    """Say of each group how many curves lack a class, and name them."""
    notes: list[str | None] = [None] * (len(starts) - 1)
    lost = np.flatnonzero(~usable)
    group = np.searchsorted(starts, lost, "right") - 1
    for i in np.unique(group):
        names = list(told[lost[group == i]])
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        notes[i] = f"left_out:{len(names)} ({', '.join(names[:NAMED])}{more})"
    return notes


def spelled(keys: pl.DataFrame, over: Sequence[str]) -> NDArray[np.object_]:
    """Spell out the key of each curve."""
    columns = [words(keys.get_column(name)) for name in over]
    told = np.empty(keys.height, object)
    told[:] = [" ".join(key) for key in zip(*columns, strict=True)]
    return told


def _weights(
    keys: pl.DataFrame,
    over: Sequence[str],
    weights: str | Mapping[Any, float],
    argument: str,
    **known: NDArray[np.float64],
) -> NDArray[np.float64]:
    if isinstance(weights, str):
        return known.get(weights, np.ones(keys.height))
    columns = [keys.get_column(name).to_list() for name in over]
    asked = columns[0] if len(over) == 1 else list(zip(*columns, strict=True))
    found = np.ones(keys.height)
    for i, key in enumerate(asked):
        if key not in weights:
            raise OptionValueError.of(
                argument,
                weights,
                f"it has no weight for {key!r}",
                f"Give one for every value of {' and '.join(map(repr, over))}.",
            )
        found[i] = as_number(weights[key])
    return found


def _last_total(curves: Curves, first: str, second: str) -> NDArray[np.float64]:
    """Return the size of a class, as the last row has it: weighted rates end at exactly 1."""
    first_counts, second_counts = (
        curves.columns.at(name, curves.lasts) for name in (first, second)
    )
    total: NDArray[np.float64] = (first_counts + second_counts).astype(np.float64)
    return total


CELLS = 1 << 18  # values of all curves that are worked on at a time

ROWS = 1 << 20  # of the curves whose own values are looked for at a time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Task:
    """Some groups (down) and the values (across) that they are averaged at.

    One row of values is that of all groups. NaN fills the rows of groups that have fewer.
    """

    groups: NDArray[np.int64]
    values: NDArray[np.float64]


def tasks(members: Members, track: Track, plan: Plan) -> Iterator[Task]:
    """Cut the work into pieces whose values fit into memory many times."""
    common = None
    if isinstance(plan.grid, list):
        common = np.array(plan.grid)
    elif isinstance(plan.grid, int) and plan.method != "threshold":
        common = np.arange(plan.grid) / (plan.grid - 1)
    if common is not None:
        yield from common_tasks(members, common)
        return
    groups = np.arange(len(members.notes))
    lengths = np.diff(members.curves.starts)[members.curve]
    rows = np.append(0, np.cumsum(lengths))[members.starts]
    for some in _runs(rows, ROWS):
        values, starts = _own(members, track, plan, groups[some])
        yield from _alike(members, groups[some], values, starts)


def common_tasks(members: Members, values: NDArray[np.float64]) -> Iterator[Task]:
    """Cut the work into pieces where all groups have the same values: of neighbouring groups."""
    groups = np.arange(len(members.notes))
    for some in _runs(members.starts, CELLS // len(values)):
        yield from _cut(members, groups[some], values[None, :])


def single_tasks(members: Members, own: Callable[[int], NDArray[np.float64]]) -> Iterator[Task]:
    """Cut the work into pieces of one group each, with values of its own."""
    for group in range(len(members.notes)):
        yield from _cut(members, np.array([group]), own(group)[None, :])


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return so many whole numbers from each start on."""
    before = np.cumsum(lengths) - lengths
    found: NDArray[np.int64] = np.repeat(starts - before, lengths) + np.arange(lengths.sum())
    return found


def _runs(edges: NDArray[np.int64], most: int) -> Iterator[slice]:
    """Cut groups into runs that have at most so much together, or one group each."""
    first = 0
    while first < len(edges) - 1:
        last = int(np.searchsorted(edges, edges[first] + most, "right")) - 1
        yield slice(first, max(last, first + 1))
        first = max(last, first + 1)


def _cut(
    members: Members, groups: NDArray[np.int64], values: NDArray[np.float64]
) -> Iterator[Task]:
    """Cut the values of a group that is too large for all of them."""
    step = values.shape[1]
    if len(groups) == 1:
        step = max(1, CELLS // int(members.sizes[groups[0]]))
    for start in range(0, values.shape[1], step):
        yield Task(groups=groups, values=values[:, start : start + step])


def _alike(
    members: Members,
    groups: NDArray[np.int64],
    values: NDArray[np.float64],
    starts: NDArray[np.int64],
) -> Iterator[Task]:
    """Put groups together that have about as many values, so that few rows are filled up."""
    lengths = np.diff(starts)
    order = np.argsort(lengths, kind="stable")
    cells = np.cumsum(members.sizes[groups[order]])
    first = 0
    while first < len(order):
        before = cells[first] - members.sizes[groups[order[first]]]
        longest = np.maximum(lengths[order[first:]], 1)
        fits = ((cells[first:] - before) * longest <= CELLS) & (longest <= 2 * longest[0])
        last = first + max(1, int(np.argmin(fits)) if not fits.all() else len(fits))
        some = order[first:last]
        table = np.full((len(some), int(lengths[some].max())), np.nan)
        table[np.arange(table.shape[1]) < lengths[some][:, None]] = values[
            ranges(starts[some], lengths[some])
        ]
        yield from _cut(members, groups[some], table)
        first = last


def _own(
    members: Members, track: Track, plan: Plan, groups: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the values that some curve of each group has, along the axis or as thresholds."""
    curves = members.curves
    place = ranges(members.starts[groups], members.sizes[groups])
    group = np.repeat(np.arange(len(groups)), members.sizes[groups])[members.usable[place]]
    curve = members.curve[place[members.usable[place]]]
    lengths = curves.starts[curve + 1] - curves.starts[curve]
    rows = ranges(curves.starts[curve], lengths)
    if plan.method == THRESHOLD:
        # All along, a sign turns falling into rising.
        values, ends = -curves.columns.at(THRESHOLD, rows), [-np.inf]
    else:
        values = track.rising(track.count(rows) / track.total(np.repeat(curve, lengths))) + 0.0
        ends = [0.0, 1.0]
    values = np.concatenate([values, np.tile(ends, len(groups))])
    group = np.concatenate(
        [np.repeat(group, lengths), np.repeat(np.arange(len(groups)), len(ends))]
    )
    order = np.lexsort((values, group))
    values, group = values[order], group[order]
    fresh = np.ones(len(values), bool)
    fresh[1:] = (values[1:] != values[:-1]) | (group[1:] != group[:-1])
    values, group = values[fresh], group[fresh]
    starts = np.searchsorted(group, np.arange(len(groups) + 1))
    if plan.method == THRESHOLD:
        values = -values
        if isinstance(plan.grid, int):
            return _thinned(values, starts, plan.grid)
    return values, starts


def _thinned(
    values: NDArray[np.float64], starts: NDArray[np.int64], most: int
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Keep so many values of each group, evenly among all that it has."""
    lengths = np.diff(starts)
    kept = np.minimum(lengths, most)
    step = np.where(lengths > most, (lengths - 1) / (most - 1), 1.0)
    place = ranges(np.zeros(len(kept), np.int64), kept)
    row = np.repeat(starts[:-1], kept) + np.rint(place * np.repeat(step, kept)).astype(np.int64)
    return values[row], np.append(0, np.cumsum(kept))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Gathered:
    """What is known of each group (down) at each value (across), piece after piece."""

    members: Members
    schema: Mapping[str, pl.DataType]
    groups: list[NDArray[np.uint32]] = field(default_factory=list)
    parts: list[dict[str, NDArray[Any]]] = field(default_factory=list)

    def add(
        self, task: Task, columns: Mapping[str, NDArray[Any]], known: NDArray[np.bool_]
    ) -> None:
        """Add the columns of a piece, where it has a value, and the notes of its groups."""
        notes = np.array([self.members.notes[group] for group in task.groups], object)
        told = {**columns, "note": np.repeat(notes[:, None], known.shape[1], axis=1)}
        self.groups.append(np.repeat(task.groups.astype(np.uint32), known.sum(axis=1)))
        self.parts.append({name: told[name][known] for name in self.schema})

    def table(self) -> pl.DataFrame:
        """Return the keys of the groups, then the columns."""
        place = np.concatenate([np.zeros(0, np.uint32), *self.groups])
        columns = {name: self._values(name) for name in self.schema}
        made = build_table(self.members.keys, columns, self.schema, rows=place)
        # Groups with about as many values were worked on together.
        return made if (place[1:] >= place[:-1]).all() else made[np.argsort(place, kind="stable")]

    def _values(self, name: str) -> Any:
        """Put the values of a column together, texts as a list."""
        if not self.parts:
            return []
        whole = np.concatenate([part[name] for part in self.parts])
        return whole.tolist() if whole.dtype == object else whole


def short(curves: Curves) -> NDArray[np.bool_]:
    """Say which curves end before their lowest score."""
    last = curves.columns.at("tn", curves.lasts)
    found: NDArray[np.bool_] = last > ROUNDING * curves.total("fp", "tn")
    return found


def coarse(curves: Curves) -> NDArray[np.bool_]:
    """Say which curves show that they have not just their scores as thresholds.

    These end before their lowest score, or call no more rows at a threshold than at the one above.
    """
    walk, found = curves.columns, short(curves)
    if walk.is_float("tp") or walk.is_float("fp"):  # a small weight may vanish in a sum
        return found

    def idle(start: int, end: int) -> NDArray[np.int64]:
        """Return the rows that call no more than those above them, if these are of their curve."""
        above = max(start - 1, 0)
        called = walk.between("tp", above, end) + walk.between("fp", above, end)
        return np.flatnonzero(called[1:] == called[:-1]) + above + 1

    rows = run_parallel(lambda block: idle(*block), walk.blocks(BLOCK_ROWS))
    row = np.concatenate([np.zeros(0, np.int64), *rows])
    curve = np.searchsorted(curves.starts, row, "right") - 1
    found[curve[row > curves.starts[curve]]] = True
    return found


def as_over(over: object) -> tuple[str, ...]:
    """Read the keys that go."""
    several = [over] if isinstance(over, str) or not hasattr(over, "__iter__") else [*over]
    if not several or not all(isinstance(name, str) for name in several):
        raise OptionValueError.of(
            "over", over, "it names no key of the curves", 'Give one or several, say over="fold".'
        )
    return parse_names(several)  # type: ignore[arg-type]


def having(predictions: pl.DataFrame | pl.LazyFrame, over: Sequence[str]) -> pl.LazyFrame:
    """Return the plan of predictions, and check that they have these keys."""

    def check(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        for name in over:
            if name not in schema:
                raise MissingColumnError.of("over", name, list(schema))
        return plan

    return planned("predictions", predictions).pipe_with_schema(check)
