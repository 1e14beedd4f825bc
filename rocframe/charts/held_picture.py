"""Tables of metrics averaged at fixed values of another → long tables, a line for each metric."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.charts.names import legible
from rocframe.charts.plane import COUNTED, EMPTY, Plane, Side
from rocframe.curves.kinds import Kind
from rocframe.curves.mean import Mean
from rocframe.frames import column
from rocframe.rates import NAMES
from rocframe.vocabulary import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rocframe.curves.held import HeldMean

HELD = "held"
METRIC, MEAN = "metric", "mean"


def lengthened(table: pl.DataFrame, held: HeldMean) -> tuple[pl.DataFrame, Mean]:
    """Put the metrics of a table below each other, and say what it shows then.

    Several metrics are told apart by a group column of their own. Infinite values have no place.
    """
    several = len(held.averaged) > 1
    up = _free(MEAN, held.by) if several else held.averaged[0]
    by = (*([_free(METRIC, held.by)] if several else []), *held.by)
    parts = [
        table.select(
            *([pl.lit(name).alias(by[0])] if several else []),
            *map(column, held.by),
            column(held.fixed).alias(held.fixed),
            column(name).alias(up),
            *(column(f"{name}_{end}").alias(f"{up}_{end}") for end in ("lower", "upper")),
            "threshold_mean",
        )
        for name in held.averaged
    ]
    long = pl.concat(parts).with_columns(
        pl.when(column(name).is_finite()).then(column(name)).alias(name)
        for name in (held.fixed, up)
    )
    kind = Kind(name=HELD, title="Means", x=held.fixed, y=up)
    return long, Mean(by=by, kind=kind, averaged=(up,), sides=False)


def plane_of_held(
    kind: Kind, metrics: tuple[str, ...], points: Mapping[str, NDArray[np.float64]]
) -> Plane:
    """Choose the axes: rates from 0 to 1, all others as far as they go."""
    x = _side(kind.x, (kind.x,), points["x"])
    ends = np.concatenate([points["y"], points["y_low"], points["y_high"]])
    return Plane(kind=kind, x=x, y=_side(kind.y, metrics, ends))


def _side(name: str, metrics: tuple[str, ...], values: NDArray[np.float64]) -> Side:
    side = Side(name=legible(name).replace("\\", "\\\\"), title=_title(name))
    if all(one in NAMES and NAMES[one].bounds == (0, 1) for one in metrics):
        return side
    low, high = (float(end(values)) if len(values) else 0.0 for end in (np.min, np.max))
    return replace(side, low=low, high=high if high > low else low + EMPTY, nice=True)


def _title(name: str) -> str:
    if name in {THRESHOLD, MEAN}:
        return name.capitalize()
    if name in COUNTED:
        return COUNTED[name]
    if name in NAMES and NAMES[name].name == name:
        return NAMES[name].label
    return legible(name).replace("_", " ").capitalize() if name in NAMES else legible(name)


def _free(name: str, taken: tuple[str, ...]) -> str:
    while name in taken:
        name = f"({name})"
    return name
