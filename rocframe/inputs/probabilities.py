"""The description of scores outside [0, 1] in errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


def outside_unit_problem(
    score: NDArray[Any], group: Callable[[int], str] | None = None
) -> str | None:
    """Return how many scores are outside [0, 1], and their range; None if all are in [0, 1].

    `group` is a function that returns the group of a score as text, from the position of the score.
    """
    outside = np.flatnonzero((score < 0) | (score > 1))
    if not len(outside):
        return None
    low, high = np.fmin.reduce(score), np.fmax.reduce(score)
    where = f", the first in {group(int(outside[0]))}" if group else ""
    return (
        f"{len(outside):,} of {len(score):,} scores are outside [0, 1]{where}; the scores range "
        f"from {low:g} to {high:g}"
    )
