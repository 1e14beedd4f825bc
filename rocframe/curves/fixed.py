"""Cases → confusion matrices at given thresholds, without sorting the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.cases import State
from rocframe.counting.threads import slices, spread
from rocframe.curves.trace import repeat_keys
from rocframe.vocabulary import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.cases import Cases

CHUNK = 1 << 16


def counted_at(cases: Cases, edges: Sequence[float]) -> pl.DataFrame:
    """Return the confusion matrix of each group at each of some rising thresholds.

    The groups' columns come first, under the names they have in `cases`.
    """
    rising = np.asarray(edges, np.float64)
    cells = len(rising) + 1
    cell = np.empty(len(cases.score), np.uint32)

    def find(part: slice) -> None:
        # Of the rising thresholds, so many does a score reach.
        negative = cases.negative[part]
        reached = np.searchsorted(rising, cases.score[part].astype(np.float64), "right")
        cell[part] = reached + cells * negative
        if cases.state is not None:
            state = cases.state[part]
            # An unscored positive reaches none; unscored negatives are added below.
            cell[part][state == State.UNSCORED] = 0
            aside = (state > State.UNSCORED) | ((state == State.UNSCORED) & negative)
            cell[part][aside] = 2 * cells

    spread(find, slices(len(cell), CHUNK))
    mass = (
        cases.count
        if cases.weight is None
        else cases.weight * (1 if cases.count is None else cases.count)
    )
    keys, sums = _summed(cases.keys, cell, mass, 2 * cells + 1)
    unscored = np.zeros(len(sums), sums.dtype)
    if cases.state is not None:
        lost = (cases.state == State.UNSCORED) & cases.negative
        where = np.where(lost, 0, 1).astype(np.uint32)
        unscored = _summed(cases.keys, where, mass, 2)[1][:, 0]
    # From the top down: scores that reach the highest threshold first.
    walked = []
    for side in (sums[:, :cells], sums[:, cells : 2 * cells]):
        running = np.cumsum(side[:, ::-1], axis=1)
        above = np.zeros_like(running)
        above[:, 1:] = running[:, :-1]
        walked.append((above, running[:, -1:] - above))
    (tp, fn), (fp, tn) = walked
    more = unscored[:, None]
    columns = {"tp": tp, "fp": fp + more, "fn": fn, "tn": tn}
    threshold = np.append(np.inf, rising[::-1])
    lengths = np.full(len(sums), cells)
    return repeat_keys(keys, lengths).with_columns(
        pl.Series(name, np.ascontiguousarray(values).ravel())
        for name, values in {THRESHOLD: np.tile(threshold, (len(sums), 1)), **columns}.items()
    )


def _summed(
    keys: pl.DataFrame, cell: np.ndarray, mass: np.ndarray | None, cells: int
) -> tuple[pl.DataFrame, np.ndarray]:
    """Add up the mass of each group and cell; groups sorted, a row each."""
    kind = np.int64 if mass is None else mass.dtype
    if not keys.width:
        if kind == np.int64 and mass is not None:  # bincount would add whole numbers as floats
            sums = np.zeros(cells, np.int64)
            np.add.at(sums, cell, mass)
        else:
            sums = np.bincount(cell, mass, cells).astype(kind)
        return pl.DataFrame(height=1), sums[None, :]
    frame = keys.with_columns(cell=pl.Series(cell))
    amount = pl.len().cast(pl.Int64) if mass is None else pl.col("mass").sum()
    if mass is not None:
        frame = frame.with_columns(mass=pl.Series(mass))
    counted = frame.group_by(*keys.columns, "cell").agg(amount.alias("mass"))
    groups = counted.select(keys.columns).unique().sort(keys.columns)
    placed = counted.join(
        groups.with_row_index("group"), on=keys.columns, nulls_equal=True, how="left"
    )
    sums = np.zeros((groups.height, cells), kind)
    sums[placed["group"].to_numpy(), placed["cell"].to_numpy()] = placed["mass"].to_numpy()
    return groups, sums
