"""Numbers of a table → what a chart's data and text have for them."""

from __future__ import annotations

from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

LEAST_P = 0.001


def plain(values: pl.Series) -> list[Any]:
    """Return values as JSON has them: rounded, and what is no finite number as text or null."""
    if not values.dtype.is_numeric():
        return [None if value is None else str(value) for value in values.to_list()]
    if values.dtype.is_integer():
        return values.to_list()
    return [_rounded(value) for value in values.cast(pl.Float64).to_list()]


def _rounded(value: float | None) -> float | str | None:
    if value is None or isnan(value):
        return None
    return float(f"{value:.7g}") if isfinite(value) else str(value)


def finite(values: Iterable[Any]) -> list[float]:
    """Return what can be placed on an axis."""
    return [value for value in values if isinstance(value, int | float)]


def said(value: Any) -> str:
    """Say a number in as many digits as one reads."""
    if not isinstance(value, int | float):
        return "undefined" if value is None else str(value)
    text = f"{value:.3f}" if abs(value) < 10 else f"{value:,.4g}"
    return "0.000" if text == "-0.000" else text


def said_p(value: float | None) -> str:
    """Say a p-value."""
    if value is None:
        return ""
    return f"< {LEAST_P}" if value < LEAST_P else f"{value:.3f}"


def why(note: str | None) -> str:
    """Say a note in words; it says why something is undefined."""
    return note.partition("; ")[0].replace("_", " ") if note else "undefined"


def domain_of(values: Iterable[Any], empty: Sequence[float] = (0.0, 1.0)) -> list[float]:
    """Return from where to where values lie, with some room about a single one."""
    known = finite(values)
    if not known:
        return list(empty)
    low, high = min(known), max(known)
    if low == high == 0:
        return list(empty)
    room = 0.05 * (abs(low) or 1) if low == high else 0
    return [float(f"{low - room:.4g}"), float(f"{high + room:.4g}")]
