"""Drawn lines → the points between their corners that show what the rows there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def spaced(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    starts: NDArray[np.int64],
    most: NDArray[np.int64],
    *,
    corners: NDArray[np.bool_],
) -> NDArray[np.bool_]:
    """Mark about so many points of each line, evenly along it; all of a line that has no more.

    Lengths are those of the line through its corners: what goes to and fro within a pixel has
    none. The first and the last point of a line are corners.
    """
    lengths = np.diff(starts)
    line = np.repeat(np.arange(len(lengths)), lengths)
    first = starts[:-1][lengths > 0]

    def come(at: NDArray[np.int64]) -> NDArray[np.float64]:
        step = np.abs(np.diff(x[at], prepend=0)) + np.abs(np.diff(y[at], prepend=0))
        step[np.searchsorted(at, first)] = 0
        return np.cumsum(step)

    if not len(line):
        return np.zeros(0, bool)
    way, kept = come(np.arange(len(line))), np.flatnonzero(corners)
    way = np.interp(way, way[kept], come(kept))
    way -= way[starts[:-1][line]]
    whole = way[starts[1:][line] - 1]
    share = np.divide(way, whole, out=np.zeros_like(way), where=whole > 0)
    cell = np.floor(share * most[line])
    marked: NDArray[np.bool_] = (np.diff(cell, prepend=-1) != 0) | (lengths <= most)[line]
    return marked
