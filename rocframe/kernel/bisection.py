"""Bisection in many ranges of rows at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def grouped_bisect(
    before: Callable[[NDArray[np.int64]], NDArray[np.bool_]],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Return the first row of each range of rows for which `before` is False, by bisection.

    A range contains the rows from `first` to `last`, including both. `before` must be True for the
    first rows of a range and False for all later rows. The result is `last + 1` if `before` is True
    for all rows.
    """
    low, high = np.broadcast_arrays(first, last + 1)
    longest, end = int((high - low).max(initial=0)), last.max(initial=0)
    for _ in range(longest.bit_length()):
        middle = (low + high) >> 1
        further = before(np.minimum(middle, end)) & (middle < high)
        low, high = np.where(further, middle + 1, low), np.where(further, high, middle)
    return low
