"""Whole curves → the rows, or the points between two rows, at given values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.rates import NAMES
from rocframe.vocabulary import CONFUSION, MIX, THRESHOLD, WALK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.curves.at import Axis
    from rocframe.curves.table import Curves


def nearest(curves: Curves, axis: Axis, values: Sequence[float]) -> pl.DataFrame:
    """Return the row of each group at each value; nulls where there is none."""
    amount = _amounts(curves, axis)
    found = [row_at(curves, axis, amount, value) for value in values]
    rows = np.column_stack(found).ravel() if values else np.zeros(0, np.int64)
    asked = _asked(curves, axis, values)
    picked = curves.table.select(curves.layout.private(name) for name in curves.layout.row)
    places = pl.Series(np.maximum(rows, 0).astype(np.uint32)).set(pl.Series(rows < 0), None)
    return asked.with_columns(
        picked.get_column(curves.layout.private(name)).gather(places).alias(name)
        for name in curves.layout.row
    )


def interpolated(curves: Curves, axis: Axis, values: Sequence[float]) -> pl.DataFrame:
    """Return the point of each group at each value, between its neighbouring rows."""
    amount = _amounts(curves, axis)
    last = curves.starts[1:] - 1
    made: list[dict[str, NDArray[Any]]] = []
    for value in values:
        row = row_at(curves, axis, amount, value)
        # From the row above the point to the row below it.
        above = np.maximum(row - 1, curves.firsts) if axis == "tpr" else np.maximum(row, 0)
        below = np.minimum(np.maximum(row, 0) if axis == "tpr" else row + 1, last)
        rise = amount[below] - amount[above]
        with np.errstate(divide="ignore", invalid="ignore"):
            mix = np.where(rise > 0, (value - amount[above]) / rise, 0.0)
        mix = np.clip(mix, 0, 1)
        point = {
            name: curves.walk[name][above]
            + mix * (curves.walk[name][below] - curves.walk[name][above])
            for name in CONFUSION
        }
        point |= {
            "threshold_above": curves.walk[THRESHOLD][above],
            "threshold_below": curves.walk[THRESHOLD][below],
            "mix": mix,
        }
        made.append({name: np.where(row < 0, np.nan, part) for name, part in point.items()})
    names = (*CONFUSION, *MIX)
    columns = {
        name: np.column_stack([point[name] for point in made]).ravel() if made else np.zeros(0)
        for name in names
    }
    table = _asked(curves, axis, values).with_columns(
        pl.lit(None, curves.layout.row[THRESHOLD]).alias(THRESHOLD),
        *(pl.Series(name, columns[name], nan_to_null=True) for name in CONFUSION),
    )
    rest = [name for name in curves.layout.row if name not in table.columns]
    return table.with_columns(_again(curves, name, table) for name in rest).with_columns(
        pl.Series(name, columns[name], nan_to_null=True) for name in MIX
    )


def _asked(curves: Curves, axis: Axis, values: Sequence[float]) -> pl.DataFrame:
    """Return the key of each group beside each value asked for."""
    groups, asked = len(curves.firsts), len(values)
    keys = curves.keys
    places = pl.Series(np.repeat(np.arange(groups, dtype=np.uint32), asked))
    repeated = (
        keys.select(pl.all().gather(places)) if keys.width else pl.DataFrame(height=len(places))
    )
    return repeated.with_columns(
        pl.Series("at", [axis] * len(places), pl.String),
        pl.Series("value", np.tile(np.asarray(values, np.float64), groups), pl.Float64),
    )


def _amounts(curves: Curves, axis: Axis) -> NDArray[np.float64]:
    """Return what the values are compared with; NaN where it is undefined."""
    threshold, tp, fp, fn, tn = (curves.walk[name] for name in WALK)
    if axis == "threshold":
        return threshold
    part, whole = {
        "fpr": (fp, fp + tn),
        "tpr": (tp, tp + fn),
        "alert_rate": (tp + fp, tp + fp + fn + tn),
    }[axis]
    with np.errstate(divide="ignore", invalid="ignore"):
        rate: NDArray[np.float64] = part / whole
    return rate


def row_at(
    curves: Curves, axis: Axis, amount: NDArray[np.float64], value: float
) -> NDArray[np.int64]:
    """Return the row of each group at this value, -1 where there is none.

    Thresholds fall and rates rise along a group, so the rows on one side of a value are the
    first ones.
    """
    if axis == "threshold":
        before = amount >= value
    elif axis == "tpr":
        before = amount < value
    else:
        before = amount <= value
    counts = np.zeros(len(curves.firsts), np.int64)
    if len(counts):
        counts = np.add.reduceat(before.astype(np.int64), curves.firsts)
    undefined = np.isnan(amount[curves.firsts])
    if axis == "tpr":  # the first row that reaches it
        none = counts == np.diff(curves.starts)
        return np.where(undefined | none, -1, curves.firsts + counts)
    return np.where(undefined | (counts == 0), -1, curves.firsts + counts - 1)


def _again(curves: Curves, name: str, points: pl.DataFrame) -> pl.Series:
    """Return a column at the new points: worked out again where its name says how.

    A column that its own rows do not confirm (another prevalence, another beta, a metric of the
    caller's) is null: its formula is not in the table.
    """
    dtype = curves.layout.row[name]
    nothing = pl.Series(name, [None], dtype).new_from_index(0, points.height)
    rate = NAMES.get(name)
    if rate is None or rate.name in {"expected_cost", "net_benefit"}:
        return nothing
    private = curves.layout.private
    rows = curves.table.select(pl.col(private(part)).alias(part) for part in CONFUSION)
    given = curves.table.get_column(private(name)).cast(pl.Float64)
    if not rows.select(rate.expr().alias(name)).to_series().equals(given.alias(name)):
        return nothing
    return points.select(rate.expr().alias(name)).to_series().cast(dtype)
