"""Groups of curves → pieces of work: some groups, and the values that each is averaged at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocframe.vocabulary import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rocframe.averages.members import Members
    from rocframe.averages.places import Track
    from rocframe.averages.plan import Plan

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
        values, ends = -curves.walk.at(THRESHOLD, rows), [-np.inf]
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
