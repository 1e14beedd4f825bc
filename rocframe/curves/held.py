"""Tables of metrics averaged at fixed values of another: their columns, and how one is recognised.

The metric that is held fixed has one column. Each that was averaged has its mean and its spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from rocframe.curves.mean import ABOUT, SPREAD, mean_of
from rocframe.errors import BrokenCurveError
from rocframe.vocabulary import as_instance

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldMean:
    """What such a table shows: which metric was held fixed, and which were averaged."""

    by: tuple[str, ...]
    fixed: str
    averaged: tuple[str, ...]


def held_schema(fixed: str, averaged: Sequence[str]) -> dict[str, pl.DataType]:
    """Dtypes of such a table, right of its keys."""
    named = {fixed: pl.Float64}
    for name in averaged:
        named |= dict.fromkeys(spread_of(name), pl.Float64)
    return {name: as_instance(dtype) for name, dtype in (named | ABOUT).items()}


def spread_of(name: str) -> tuple[str, ...]:
    """Return the columns of an averaged metric: its mean, and the spread about it."""
    return name, *(f"{name}_{part}" for part in SPREAD)


def held_of(columns: Sequence[str]) -> HeldMean | None:
    """Recognise such a table; None where it is none, or an averaged curve of a kind."""
    names, about = list(columns), list(ABOUT)
    if mean_of(names) is not None:
        return None
    width = len(SPREAD) + 1
    for end in range(len(names) - len(about), width, -1):
        if names[end : end + len(about)] != about:
            continue
        start = end
        while start > width and tuple(names[start - width : start]) == spread_of(
            names[start - width]
        ):
            start -= width
        if start < end:
            averaged = tuple(names[start:end:width])
            return HeldMean(by=tuple(names[: start - 1]), fixed=names[start - 1], averaged=averaged)
    return None


def check_axes(columns: Sequence[str]) -> None:
    """Check that a table is none of metrics, which lie on no two axes."""
    held = held_of(columns)
    if held is not None:
        raise BrokenCurveError.of(
            f"curves: these are means at a fixed {held.fixed}, which have no area under them",
            "Make the averaged curve without metrics=, along the axes of its kind.",
        )
