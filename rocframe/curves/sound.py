"""Rows of a curve table → where its curves start, if the rows certainly are whole curves in order.

All rows are looked at once, block by block, each beside the row before it. What is not certain, or
not in order, is for `table` to sort, to check again, and to name.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.counting.threads import spread
from rocframe.counting.walk import BLOCK
from rocframe.vocabulary import CONFUSION, THRESHOLD, WALK

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rocframe.curves.rows import Rows


def sound_starts(keys: pl.DataFrame, walk: Rows) -> NDArray[np.int64] | None:
    """Return the first row of each curve; None unless these are sorted whole curves of counts.

    A curve starts where thresholds do not fall, and nowhere else: keys change there and only there.
    """
    if any(walk.is_float(name) for name in CONFUSION):
        return None
    blocks = walk.blocks(BLOCK)
    if not blocks:
        return np.zeros(0, np.int64)
    found = spread(lambda block: _starts_within(keys, walk, *block), blocks)
    found.append(
        _starts_between(keys, walk, np.array([start for start, _ in blocks[1:]], np.int64))
    )
    parts = [part for part in found if part is not None]
    if len(parts) < len(found):
        return None
    starts = np.sort(np.concatenate([[0], *parts]))
    return starts if _is_whole(keys, walk, starts) else None


def _starts_within(
    keys: pl.DataFrame, walk: Rows, start: int, end: int
) -> NDArray[np.int64] | None:
    """Return the rows after `start` and before `end` at which curves start; None if unsound."""
    rows = _known([walk.between(name, start, end) for name in WALK])
    steps = _steps([part[:-1] for part in rows], [part[1:] for part in rows])
    if steps is None:
        return None
    above, here = (keys.slice(a, end - start - 1) for a in (start, start + 1))
    return steps + start + 1 if _change_at(above, here, steps) else None


def _starts_between(
    keys: pl.DataFrame, walk: Rows, seams: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Return those of the first rows of blocks at which curves start; None if unsound."""
    steps = _steps(*(_known([walk.at(name, rows) for name in WALK]) for rows in (seams - 1, seams)))
    if steps is None:
        return None
    above, here = (keys[rows] if keys.width else keys for rows in (seams - 1, seams))
    return seams[steps] if _change_at(above, here, steps) else None


def _known(rows: list[NDArray[Any]]) -> list[NDArray[Any]]:
    """Return thresholds, counts of those called, and how many there are of each class."""
    threshold, tp, fp, fn, tn = rows
    return [threshold, tp, fp, tp + fn, fp + tn]


def _steps(before: list[NDArray[Any]], after: list[NDArray[Any]]) -> NDArray[np.int64] | None:
    """Return where rows do not follow those before them; None if counts do not go with that."""
    (above, tp0, fp0, pos0, neg0), (threshold, tp, fp, pos, neg) = before, after
    starts = np.flatnonzero(~(threshold < above))
    for wrong in (tp < tp0, fp < fp0, pos != pos0, neg != neg0):
        wrong[starts] = False
        if wrong.any():
            return None
    return starts


def _change_at(above: pl.DataFrame, here: pl.DataFrame, steps: NDArray[np.int64]) -> bool:
    """Say whether keys differ from those above them in these rows and in no others."""
    if not above.width:
        return not len(steps)
    changes = [
        # The plain comparison is quicker by far, but knows no nulls.
        one.ne_missing(other) if one.null_count() + other.null_count() else one != other
        for one, other in zip(above.get_columns(), here.get_columns(), strict=True)
    ]
    changed = reduce(or_, changes)
    if changed.sum() != len(steps):
        return False
    return not len(steps) or bool(changed.to_numpy()[steps].all())


def _is_whole(keys: pl.DataFrame, walk: Rows, starts: NDArray[np.int64]) -> bool:
    """Say whether curves start above all scores, and their keys rise; no counts are negative."""
    lasts = np.append(starts[1:], walk.height) - 1
    top = np.isposinf(walk.at(THRESHOLD, starts)) & (walk.at("tp", starts) == 0)
    least = [walk.at("fp", starts), walk.at("fn", lasts), walk.at("tn", lasts)]
    if not top.all() or any((counts < 0).any() for counts in least):
        return False
    if not keys.width:
        return len(starts) == 1
    firsts = keys[starts]
    return firsts.equals(firsts.unique().sort(keys.columns))
