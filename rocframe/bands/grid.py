"""The option `grid` → the false positive rates at which a band is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import polars as pl

from rocframe.errors import OptionValueError
from rocframe.options import as_numbers

Grid: TypeAlias = int | Sequence[float] | pl.Series | Literal["curve"]

GIVE = 'Give a number of points from 2, false positive rates between 0 and 1, or "curve".'


def as_grid(grid: object) -> tuple[float, ...] | None:
    """Return the rates asked for, rising and each once; None for the points of each curve."""
    if isinstance(grid, str) and grid == "curve":
        return None
    points = getattr(grid, "item", lambda: grid)() if getattr(grid, "ndim", None) == 0 else grid
    if isinstance(points, int) and not isinstance(points, bool):
        if points < 2:
            raise OptionValueError.of("grid", grid, "that is no grid from 0 to 1", GIVE)
        return tuple(i / (points - 1) for i in range(points))
    if isinstance(points, bool | float):
        raise OptionValueError.of("grid", grid, "it is neither a number of points nor rates", GIVE)
    rates = as_numbers(points)
    if not rates:
        raise OptionValueError.of("grid", grid, "it names no false positive rates", GIVE)
    for rate in rates:
        if not 0 <= rate <= 1:
            raise OptionValueError.of("grid", rate, "a rate lies between 0 and 1", GIVE)
    return tuple(sorted(set(rates)))
