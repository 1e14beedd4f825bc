"""Cases → how pairs of rows of one fold, and of two, make up the area of all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rocframe.areas.pairs import count_pairs
from rocframe.averages.fold_areas import Folds, normalized, nothing_of, without
from rocframe.counting.arrange import Groups, arrange
from rocframe.counting.codec import Tail
from rocframe.counting.threads import spread
from rocframe.counting.walk import BLOCK, Walk
from rocframe.vocabulary import pooling_gap_schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.cases import Cases
    from rocframe.counting.arrange import Arranged


class Table(NamedTuple):
    """Of each fold's positives (down) and each fold's negatives (across): all pairs, and won."""

    won: NDArray[np.float64]
    pairs: NDArray[np.float64]


def gaps(cases: Cases, over: int) -> pl.DataFrame:
    """Return one row per group: its key, then what pooling does to its area."""
    schema = pooling_gap_schema()
    cases = normalized(cases)
    folds = Folds.of(cases, over)
    if not folds.notes():
        return nothing_of(folds.keys, schema)
    rows = arrange(without(cases, over), follow=True)
    every = Groups.of(cases.keys, len(cases.negative))
    fold_of = np.empty(len(every.order), np.int64)
    fold_of[every.order] = np.repeat(np.arange(len(every.starts) - 1), np.diff(every.starts))
    # Numbers of folds within their group.
    place = np.empty(len(folds.fold), np.int64)
    place[folds.fold] = np.arange(len(folds.fold)) - np.repeat(
        folds.starts[:-1], np.diff(folds.starts)
    )
    assert rows.row is not None
    member = place[fold_of[rows.row]]
    groups = range(len(folds.starts) - 1)
    tables = spread(
        lambda group: _table(rows, member, group, int(np.diff(folds.starts)[group])), groups
    )
    pooled = count_pairs(Walk.of(rows)).areas[0]
    mean = folds.cell.mean[:, 0]
    split = [
        _split(table, folds.told[folds.starts[group] : folds.starts[group + 1]])
        for group, table in enumerate(tables)
    ]
    totals = folds.walk.totals
    columns: dict[str, Any] = {
        "n_pos": folds.total(totals.pos_rows),
        "n_neg": folds.total(totals.neg_rows),
        "n_missing": folds.total(folds.walk.rows.tails.n_missing),
        "n_curves": folds.cell.count[:, 0],
        "pooled_auc": pooled,
        "mean_auc": mean,
        "gap": pooled - mean,
        **{name: [one[name] for one in split] for name in split[0]},
        "note": folds.notes(),
    }
    within = np.array(columns["within_auc"], np.float64)
    columns["gap_between"] = pooled - within
    columns["gap_within"] = within - mean
    return folds.keys.with_columns(
        pl.Series(name, columns[name], dtype).fill_nan(None)
        if dtype.is_float()
        else pl.Series(name, columns[name], dtype)
        for name, dtype in schema.items()
    )


def _table(rows: Arranged, member: NDArray[np.int64], group: int, size: int) -> Table:
    """Count the pairs of each two folds of a group, and those won, a tie counting half."""
    start, end = rows.starts[group], rows.ends[group]
    whole = slice(start, rows.starts[group + 1])
    mass = np.ones(whole.stop - start) if rows.masses is None else rows.masses.mass[whole]
    negative = (rows.codes[whole] & 1).astype(bool)
    kind = rows.codes[whole] >> 1
    counted = np.arange(len(kind)) < end - start
    counted |= kind == rows.codec.tail(Tail.UNSCORED)

    def by_fold(rows_: NDArray[np.bool_]) -> NDArray[np.float64]:
        sums = np.bincount(member[whole][rows_], mass[rows_], minlength=size)
        return sums.astype(np.float64)

    scored = int(end - start)
    step = np.cumsum(np.diff(kind[:scored], prepend=kind[:1]) != 0)
    below = by_fold(negative & (np.arange(len(kind)) < scored))
    won = np.zeros((size, size))
    first, last = 0, int(step[-1]) + 1 if scored else 0
    most = max(1, 2 * BLOCK // size)
    while first < last:
        edge = min(first + most, last)
        a, b = np.searchsorted(step, [first, edge])
        here = slice(start + a, start + b)
        cell = (step[a:b] - first) * size + member[here]
        pos, neg = (
            np.bincount(
                cell, np.where(side, mass[a:b], 0), minlength=(edge - first) * size
            ).reshape(-1, size)
            for side in (~negative[a:b], negative[a:b])
        )
        passed = np.cumsum(neg, axis=0)
        _add_up(won, pos, below - passed + neg / 2)
        below = below - passed[-1]
        first = edge
    return Table(won, np.outer(by_fold(~negative & counted), by_fold(negative & counted)))


def _add_up(won: NDArray[np.float64], pos: NDArray[Any], lower: NDArray[np.float64]) -> None:
    """Add what the positives of each fold have won, at each step, against those of each fold.

    Without ties a step has positives of one fold, and all others would be multiplied by 0.
    """
    if 4 * np.count_nonzero(pos) > pos.size:
        won += pos.T @ lower
        return
    fold, step = np.nonzero(pos.T)
    most = max(1, 2 * BLOCK // len(won))
    for start in range(0, len(fold), most):
        down, along = fold[start : start + most], step[start : start + most]
        starts = np.flatnonzero(np.diff(down, prepend=-1))
        pairs = pos[along, down][:, None] * lower[along]
        won[down[starts]] += np.add.reduceat(pairs, starts, axis=0)


def _split(table: Table, told: NDArray[np.object_]) -> dict[str, Any]:
    """Say what pairs within folds and between them do to the area."""
    total = table.pairs.sum()
    found: dict[str, Any] = dict.fromkeys(
        ("between_share", "between_auc", "within_auc", "worst_auc", "worst_gap"), np.nan
    )
    found |= dict.fromkeys(("worst_positives", "worst_negatives"))
    won, pairs = (_between(part) for part in table)
    between, within = pairs.sum(), np.trace(table.pairs)
    if total > 0:
        found["between_share"] = between / total
    if between > 0:
        found["between_auc"] = won.sum() / between
    if within > 0:
        found["within_auc"] = np.trace(table.won) / within
    if between > 0 and within > 0:
        moved = (won - found["within_auc"] * pairs) / total
        i, j = np.unravel_index(np.argmax(np.abs(moved)), moved.shape)
        if moved[i, j]:
            found |= {"worst_positives": told[i], "worst_negatives": told[j]}
            found["worst_auc"] = table.won[i, j] / table.pairs[i, j]
            found["worst_gap"] = moved[i, j]
    return found


def _between(part: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what two folds share, and nothing of one fold's own."""
    found = part.copy()
    np.fill_diagonal(found, 0.0)
    return found
