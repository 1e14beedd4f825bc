"""Columns in pieces, as polars keeps them → numpy arrays of the rows that are asked for.

Putting the pieces of a long column together takes longer than reading it: the copy is in fresh
memory. So what looks at all rows does it block by block, and what looks at some picks these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORT = 1 << 14  # rows: pieces that are shorter in the mean are put together by blocks


class Rows(Mapping[str, Any]):
    """Columns of equal length without nulls; looked up as in a dict, each is one array."""

    __slots__ = ("_series", "_whole")

    def __init__(self, columns: Mapping[str, pl.Series]) -> None:
        self._series = dict(columns)
        self._whole: dict[str, NDArray[Any]] = {}

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]]) -> Rows:
        """Hold columns that are arrays already."""
        return cls({name: pl.Series(name, values) for name, values in columns.items()})

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._whole:
            self._whole[name] = self._series[name].to_numpy()
        return self._whole[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._series)

    def __len__(self) -> int:
        return len(self._series)

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(next(iter(self._series.values())))

    def is_float(self, name: str) -> bool:
        """Say whether a column holds floats; all others hold whole numbers."""
        return self._series[name].dtype.is_float()

    def at(self, name: str, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return what stands in some rows of a column, in any order."""
        series = self._series[name]
        if name in self._whole or series.n_chunks() == 1:
            found: NDArray[Any] = self[name][rows]
            return found
        return series.gather(pl.Series(rows.ravel())).to_numpy().reshape(rows.shape)

    def between(self, name: str, start: int, end: int) -> NDArray[Any]:
        """Return the rows from `start` to before `end`, with no copy where one piece has them."""
        return self._series[name].slice(start, end - start).to_numpy()

    def blocks(self, most: int) -> list[tuple[int, int]]:
        """Cut the rows into runs of at most so many that cross no piece, unless it is short."""
        lengths = next(iter(self._series.values())).chunk_lengths()
        if self.height < SHORT * len(lengths):
            lengths = [self.height]
        edges = np.append(0, np.cumsum(lengths)).tolist()
        return [
            (start, min(start + most, end))
            for a, end in pairwise(edges)
            for start in range(a, end, most)
        ]
