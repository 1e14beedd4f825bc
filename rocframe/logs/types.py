"""The type of a column in many files → one type that holds them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.errors import LogError

if TYPE_CHECKING:
    from collections.abc import Sequence

FLOATS = (pl.Float16(), pl.Float32(), pl.Float64())
INTEGERS = tuple(
    dtype() for dtype in (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
)


def common_type(name: str, option: str, found: Sequence[tuple[str, pl.DataType]]) -> pl.DataType:
    """Return the type that holds all that the files have in one column, without any loss."""
    (first, common), *others = found
    for file, dtype in others:
        wider = wider_type(common, dtype, small=option == "--label")
        if wider is None:
            raise LogError.of(
                file,
                f"column {name!r} has type {dtype}, and in {first} it has type {common}",
                "A column has one type in all files of a log: cast it where they are written.",
            )
        if wider != common:
            first, common = file, wider
    return common


def wider_type(a: pl.DataType, b: pl.DataType, *, small: bool) -> pl.DataType | None:
    """Return the type that holds both; `small` says that whole numbers are below 2**53."""
    pair = {a, b} - {pl.Null()}
    if len(pair) < 2:
        return min(pair, default=a, key=str)
    if pair <= set(FLOATS):
        return max(pair, key=FLOATS.index)
    if pair <= set(INTEGERS):
        return pl.Int64()
    # pandas turns whole numbers into floats where one of them is missing. Those of 64 bits may
    # have more digits than a float.
    if pair <= {*FLOATS, *INTEGERS} and (small or pl.Int64() not in pair):
        return pl.Float64()
    if pair <= {pl.String(), pl.Categorical()}:
        return pl.String()
    return None
