"""Rows in the order of the frame → groups side by side, each sorted by falling score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.counting.codec import Codec, Codes, encode
from rocframe.counting.masses import Masses
from rocframe.counting.sort import sort_groups, sort_order
from rocframe.counting.tails import Tails

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.cases import Cases


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arranged:
    """Sorted cases of all groups, end to end.

    Group i has the rows `starts[i]` to `ends[i]`; from there to `starts[i + 1]` stand rows
    that have no threshold. `masses` says how much each row counts, unless it is 1.
    """

    codec: Codec
    keys: pl.DataFrame
    codes: Codes
    masses: Masses | None
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    tails: Tails


def arrange(cases: Cases) -> Arranged:
    """Bring the rows of each group together and sort them by falling score."""
    codec, codes = encode(cases)
    riders = {"count": cases.count, "weight": cases.weight}
    keys, starts, columns = _grouped(
        cases.keys, {"codes": codes} | {k: v for k, v in riders.items() if v is not None}
    )
    codes = columns.pop("codes")
    masses = None
    if columns:
        order = sort_order(codes, starts)
        codes = codes[order]
        masses = Masses.of(codes, columns.get("count"), columns.get("weight"), order, starts)
    else:
        sort_groups(codes, starts)
    tails = Tails.none(len(starts) - 1)
    if cases.state is not None:
        tails = Tails.find(codec, codes, masses, starts)
    return Arranged(
        codec=codec,
        keys=keys,
        codes=codes,
        masses=masses,
        starts=starts,
        ends=starts[1:] - tails.length,
        tails=tails,
    )


def _grouped(
    keys: pl.DataFrame, columns: dict[str, NDArray[Any]]
) -> tuple[pl.DataFrame, NDArray[np.int64], dict[str, NDArray[Any]]]:
    """Return the sorted distinct keys, where each group starts, and the rows in that order."""
    if not keys.width:
        length = len(columns["codes"])
        return pl.DataFrame(height=1), np.array([0, length]), columns
    grouped = (
        keys.with_columns(pl.Series(name, values) for name, values in columns.items())
        .group_by(keys.columns)
        .agg(*columns)
        .sort(keys.columns)
    )
    starts = np.zeros(grouped.height + 1, np.int64)
    np.cumsum(grouped["codes"].list.len().to_numpy(), out=starts[1:])
    flat = {
        name: grouped[name].explode(empty_as_null=False).to_numpy(writable=True) for name in columns
    }
    return grouped.select(keys.columns), starts, flat
