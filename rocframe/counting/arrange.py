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
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rocframe.cases import Cases


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arranged:
    """Sorted cases of all groups, end to end.

    Group i has the rows `starts[i]` to `ends[i]`; from there to `starts[i + 1]` stand rows
    that have no threshold. `masses` says how much each row counts, unless it is 1. `row` says
    where each row stands in the frame, where that is asked for.
    """

    codec: Codec
    keys: pl.DataFrame
    codes: Codes
    masses: Masses | None
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    tails: Tails
    row: NDArray[np.int64] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Groups:
    """Rows of a frame, group by group: their keys, where each starts, and the order of rows."""

    keys: pl.DataFrame
    starts: NDArray[np.int64]
    order: NDArray[np.int64]

    @classmethod
    def of(cls, keys: pl.DataFrame, length: int) -> Groups:
        """Find the groups of `length` rows with these keys."""
        found, starts, columns = _grouped(keys, {"codes": np.arange(length)})
        return cls(keys=found, starts=starts, order=columns["codes"])


def arrange(cases: Cases, *, follow: bool = False) -> Arranged:
    """Bring the rows of each group together and sort them by falling score."""
    codec, codes = encode(cases)
    riders = {"count": cases.count, "weight": cases.weight}
    if follow:
        riders["row"] = np.arange(len(codes))
    keys, starts, columns = _grouped(
        cases.keys, {"codes": codes} | {k: v for k, v in riders.items() if v is not None}
    )
    return _sorted(cases, codec, keys, starts, columns)


def arrange_grouped(cases: Cases, groups: Groups) -> Arranged:
    """Sort cases whose rows stand group by group already, and follow them."""
    codec, codes = encode(cases)
    columns: dict[str, NDArray[Any] | None] = {
        "codes": codes,
        "count": cases.count,
        "weight": cases.weight,
        "row": np.arange(len(codes)),
    }
    return _sorted(cases, codec, groups.keys, groups.starts, columns)


def _sorted(
    cases: Cases,
    codec: Codec,
    keys: pl.DataFrame,
    starts: NDArray[np.int64],
    columns: Mapping[str, NDArray[Any] | None],
) -> Arranged:
    """Sort the rows of each group by falling score, and what rides along with them."""
    codes, count, weight, row = map(columns.get, ("codes", "count", "weight", "row"))
    assert codes is not None
    masses = None
    if count is None and weight is None and row is None:
        sort_groups(codes, starts)
    else:
        order = sort_order(codes, starts)
        codes = codes[order]
        row = None if row is None else row[order]
        if count is not None or weight is not None:
            masses = Masses.of(codes, count, weight, order, starts)
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
        row=row,
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
