"""Match the rows of a table with the curves of a chart by their group columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.errors import OptionValueError
from rocframe.frames import check_keys, column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# No group column has these names, because group columns are renamed to k0, k1, ...
ROW_INDEX, CURVE_INDEX = "(row)", "(curve)"


def match_rows(
    argument: str, noun: str, table: pl.DataFrame, keys: pl.DataFrame, by: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the row indices and the curve indices of all pairs of a row and a curve that match.

    A row of `table` matches a curve, which is a row of `keys`, if both have the same values in the
    columns `by`. Pairs are in the order of `table`. Raise an error if there is no pair; `argument`
    and `noun` are the names of the table and of its rows in errors.
    """
    check_keys(argument, table.schema, keys.schema, by, noun="curves")
    if by:
        numbered = [
            part.select(
                *(column(name).alias(f"k{i}") for i, name in enumerate(by)),
                pl.int_range(pl.len()).alias(number),
            )
            for part, number in ((table, ROW_INDEX), (keys, CURVE_INDEX))
        ]
        names = [f"k{i}" for i in range(len(by))]
        pairs = numbered[0].join(
            numbered[1], on=names, how="inner", nulls_equal=True, maintain_order="left_right"
        )
        row, curve = (pairs.get_column(name).to_numpy() for name in (ROW_INDEX, CURVE_INDEX))
    else:
        row = np.repeat(np.arange(table.height), keys.height)
        curve = np.tile(np.arange(keys.height), table.height)
    if table.height and not len(row):
        raise OptionValueError.compose(
            argument,
            table,
            f"no group of these {noun} has a curve in the chart",
            f"Pass {noun} that were computed from these curves.",
        )
    return row, curve
