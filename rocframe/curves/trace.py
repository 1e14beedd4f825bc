"""Walks → curve tables: a row per group and distinct score, and one above all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.counting.arrange import arrange
from rocframe.counting.threads import spread
from rocframe.counting.walk import Walk
from rocframe.vocabulary import THRESHOLD

if TYPE_CHECKING:
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
    lengths = np.ones(rows.keys.height, np.int64)
    offsets = []
    for block, _ in parts:
        offsets.append(lengths[block.groups])
        lengths[block.groups] += np.diff(block.starts)
    starts = np.append(0, np.cumsum(lengths))
    firsts = starts[:-1]
    table = {name: np.empty(int(lengths.sum()), kind) for name in ("tp", "fp", "fn", "tn")}
    threshold = np.empty(int(lengths.sum()), np.float64)

    def place(part: tuple[tuple[Block, NDArray[np.float64]], NDArray[np.int64]]) -> None:
        (block, scores), done = part
        groups = block.groups
        if len(groups) == 1:
            first = int(firsts[groups[0]] + done[0])
            where: Any = slice(first, first + len(scores))
            pos, neg, more = (values[groups[0]] for values in sides)
        else:
            shift = firsts[groups] + done - block.starts[:-1]
            where = np.arange(len(scores)) + np.repeat(shift, np.diff(block.starts))
            pos, neg, more = (block.of_steps(values) for values in sides)
        threshold[where] = scores
        table["tp"][where] = block.tp
        table["fp"][where] = block.fp + more
        table["fn"][where] = pos - block.tp
        table["tn"][where] = neg - (block.fp + more)

    totals, unscored = walk.totals, rows.tails.neg_mass
    sides = (totals.pos, totals.neg, unscored.astype(kind))
    spread(place, zip(parts, offsets, strict=True))
    threshold[firsts] = np.inf
    table["tp"][firsts] = 0
    table["fp"][firsts] = unscored
    table["fn"][firsts] = totals.pos
    table["tn"][firsts] = totals.neg - unscored
    return Trace(walk=walk, starts=starts, threshold=threshold, counts=table)


def repeat_keys(keys: pl.DataFrame, lengths: NDArray[np.int64]) -> pl.DataFrame:
    """Repeat each group's key as often as its table has rows."""
    if not keys.width:
        return pl.DataFrame(height=int(lengths.sum()))
    places = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
    return keys.select(pl.all().gather(pl.Series(places)))
