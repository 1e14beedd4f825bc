"""Walks → simplified curve tables, of which no row is made that is then left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.counting.arrange import arrange
from rocframe.counting.threads import spread
from rocframe.counting.walk import Walk
from rocframe.curves.area_change import area_change
from rocframe.curves.kept import kept_rows
from rocframe.curves.trace import places, repeat_keys
from rocframe.curves.walks import Walks
from rocframe.vocabulary import SIMPLIFIED, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.cases import Cases
    from rocframe.counting.walk import Block
    from rocframe.curves.kinds import Kind
    from rocframe.curves.scales import Scale


def traced_few(cases: Cases, kind: Kind, scale: Scale, max_error: float) -> pl.DataFrame:
    """Return the rows of each group's curve that keep it within the error, and what that costs.

    The groups' columns come first, under the names they have in `cases`.
    """
    walk = Walk.of(arrange(cases))
    walks, codes = _walked(walk)
    rows, error = kept_rows(walks, kind, scale, max_error)
    group = np.searchsorted(walks.starts, rows, "right") - 1
    pos, neg = walks.pos[group], walks.neg[group]
    tp, fp = walks.tp[rows], walks.fp[rows]
    threshold = walk.rows.codec.decode(codes[rows])
    threshold[rows == walks.starts[group]] = np.inf
    told = (error, area_change(walks, rows, kind))
    columns = {THRESHOLD: threshold, "tp": tp, "fp": fp, "fn": pos - tp, "tn": neg - fp}
    lengths = np.bincount(group, minlength=len(error))
    return repeat_keys(walk.rows.keys, lengths).with_columns(
        *(pl.Series(name, values) for name, values in columns.items()),
        *(
            pl.Series(name, values[group], nan_to_null=True)
            for name, values in zip(SIMPLIFIED, told, strict=True)
        ),
    )


def _walked(walk: Walk) -> tuple[Walks, NDArray[Any]]:
    """Return the counts of all rows of all curves, and the codes of their scores."""
    totals, unscored = walk.totals, walk.rows.tails.neg_mass
    kind = totals.pos.dtype

    def steps(block: Block) -> tuple[NDArray[Any], ...]:
        return block.groups, block.starts, block.tp, block.fp, block.codes

    parts = walk.each(steps)
    starts, wheres = places([(part[0], part[1]) for part in parts], walk)
    tp, fp = (np.zeros(int(starts[-1]), kind) for _ in range(2))
    codes = np.zeros(int(starts[-1]), walk.rows.codes.dtype)

    def place(part: tuple[tuple[NDArray[Any], ...], Callable[[], Any]]) -> None:
        (_, _, called, false, scores), find = part
        where = find()
        tp[where], fp[where], codes[where] = called, false, scores

    spread(place, zip(parts, wheres, strict=True))
    if unscored.any():
        fp += np.repeat(unscored.astype(kind), np.diff(starts))
    return Walks(tp=tp, fp=fp, starts=starts, pos=totals.pos, neg=totals.neg), codes
