"""Check that scores are probabilities: numbers in [0, 1]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.errors import ScoreError
from rocframe.inputs.cases import RowState
from rocframe.text import format_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.inputs.cases import Cases


CONVERT_SCORES = (
    "fit_calibration converts scores to probabilities. ROC functions such as curve and auc accept "
    "any real score."
)


def check_probabilities(
    cases: Cases, reason: str = "Calibration needs probabilities.", remedy: str = CONVERT_SCORES
) -> None:
    """Raise an error if a score is outside [0, 1]; `reason` and `remedy` are the hint."""
    used = None if cases.state is None else np.flatnonzero(cases.state == RowState.USED)

    def group(row: int) -> str:
        key = cases.keys.row(row if used is None else int(used[row]))
        return f"group {format_key(cases.by, key)}"

    score = cases.score if used is None else cases.score[used]
    check_range(score, cases.score_name, f"{reason} {remedy}", group if cases.by else None)


def check_range(
    score: NDArray[Any], name: str, hint: str, group: Callable[[int], str] | None = None
) -> None:
    """Raise an error if a score of the column `name` is outside [0, 1].

    `group` is a function that returns the group of a row as text.
    """
    problem = outside_unit_problem(score, group)
    if problem is not None:
        raise ScoreError.no_probability(f"score={name!r}", problem, hint)


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
    where = f", the first one in {group(int(outside[0]))}" if group else ""
    verb = "is" if len(outside) == 1 else "are"
    return (
        f"{len(outside):,} of {len(score):,} scores {verb} outside [0, 1]{where}; the scores range "
        f"from {low:g} to {high:g}"
    )
