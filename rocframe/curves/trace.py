"""Walks → curve tables: a row per group and distinct score, and one above all."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.counting.arrange import arrange
from rocframe.counting.threads import spread
from rocframe.counting.walk import Walk
from rocframe.vocabulary import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.cases import Cases
    from rocframe.counting.walk import Block


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """The rows of a curve table, as arrays: group i has the rows `starts[i]` to `starts[i + 1]`."""

    walk: Walk
    starts: NDArray[np.int64]
    threshold: NDArray[np.float64]
    counts: dict[str, NDArray[Any]]


def traced(cases: Cases) -> pl.DataFrame:
    """Return the confusion matrix at every distinct score of each group.

    The groups' columns come first, under the names they have in `cases`.
    """
    trace = traced_rows(Walk.of(arrange(cases)))
    columns = {THRESHOLD: trace.threshold, **trace.counts}
    return repeat_keys(trace.walk.rows.keys, np.diff(trace.starts)).with_columns(
        pl.Series(name, values) for name, values in columns.items()
    )


def traced_rows(walk: Walk) -> Trace:
    """Return the same without the groups' columns."""
    rows = walk.rows
    kind = walk.totals.pos.dtype

    def steps(block: Block) -> tuple[Block, NDArray[np.float64]]:
        return block, rows.codec.decode(block.codes)

    parts = walk.each(steps)
    starts, wheres = places([(block.groups, block.starts) for block, _ in parts], walk)
    firsts = starts[:-1]
    table = {name: np.empty(int(starts[-1]), kind) for name in ("tp", "fp", "fn", "tn")}
    threshold = np.empty(int(starts[-1]), np.float64)

    def place(part: tuple[tuple[Block, NDArray[np.float64]], Callable[[], Any]]) -> None:
        (block, scores), find = part
        where = find()
        if len(block.groups) == 1:
            pos, neg, more = (values[block.groups[0]] for values in sides)
        else:
            pos, neg, more = (block.of_steps(values) for values in sides)
        threshold[where] = scores
        table["tp"][where] = block.tp
        table["fp"][where] = block.fp + more
        table["fn"][where] = pos - block.tp
        table["tn"][where] = neg - (block.fp + more)

    totals, unscored = walk.totals, rows.tails.neg_mass
    sides = (totals.pos, totals.neg, unscored.astype(kind))
    spread(place, zip(parts, wheres, strict=True))
    threshold[firsts] = np.inf
    table["tp"][firsts] = 0
    table["fp"][firsts] = unscored
    table["fn"][firsts] = totals.pos
    table["tn"][firsts] = totals.neg - unscored
    return Trace(walk=walk, starts=starts, threshold=threshold, counts=table)


def places(
    blocks: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], walk: Walk
) -> tuple[NDArray[np.int64], list[Callable[[], Any]]]:
    """Return where each group's rows start, and for each block what finds its rows.

    A block is given by its groups and where their steps start in it. A group has a row above all
    its steps.
    """
    lengths = np.ones(walk.rows.keys.height, np.int64)
    done = []
    for groups, steps in blocks:
        done.append(lengths[groups])
        lengths[groups] += np.diff(steps)
    starts = np.append(0, np.cumsum(lengths))

    def find(groups: NDArray[np.int64], steps: NDArray[np.int64], passed: NDArray[np.int64]) -> Any:
        first = starts[groups] + passed
        if len(groups) == 1:
            return slice(int(first[0]), int(first[0] + steps[-1]))
        return np.arange(steps[-1]) + np.repeat(first - steps[:-1], np.diff(steps))

    return starts, [
        partial(find, groups, steps, passed)
        for (groups, steps), passed in zip(blocks, done, strict=True)
    ]


def repeat_keys(keys: pl.DataFrame, lengths: NDArray[np.int64]) -> pl.DataFrame:
    """Repeat each group's key as often as its table has rows."""
    if not keys.width:
        return pl.DataFrame(height=int(lengths.sum()))
    places = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
    return keys.select(pl.all().gather(pl.Series(places)))
