"""The values of the column `note`: why a value is null, or how many rows were left out."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from rocframe.kernel.groups import groups_of_rows, run_starts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray


# If several notes apply to a row, the column contains the first of these notes in this order.
Note = Literal[
    "not_in_old",
    "not_in_new",
    "below_min_rows",
    "no_rows",
    "no_positives",
    "no_negatives",
    "one_class",
    "absent_class",
    "not_probabilities",
    "separated",
    "one_positive",
    "one_negative",
    "one_positive_cluster",
    "one_negative_cluster",
    "single_row",
    "identical_scores",
    "zero_variance",
    "one_curve",
    "no_solution",
    "no_limits",
    "negative_slope",
    "shared_rows",
    "few_rows",
    "reference",
    "redrawn",
    "merged",
    "unmatched",
    "left_out",
    "lacks_rows",
    "fewer",
]
SEPARATOR = "; "  # between two notes of the same row
# Tests reject a true null hypothesis too often if a class has fewer rows or clusters than this:
# tests of a difference of two areas, of k independent differences (k - 1 more), and of one area.
# See docs/coverage.md.
MIN_DIFFERENCE_UNITS = 4
MIN_AREA_UNITS = 10
MAX_NAMES_IN_NOTE = 10  # for further curves, a note contains only their number


def first_notes(applies: Mapping[Note, NDArray[np.bool_ | np.int64]]) -> NDArray[np.object_]:
    """Return the first note that applies to each group, or None.

    `applies` maps each note to an array with a Boolean or a count for each group. A note applies to
    a group if its Boolean is True or its count is above 0. The count is appended to the note, as in
    `redrawn:12`. The note `few_rows:3` does not replace later notes: both are joined.
    """
    result = np.full(len(next(iter(applies.values()))), None, object)
    for note in reversed(get_args(Note)):  # an earlier note replaces later notes
        values = applies.get(note, np.zeros(0, bool))
        groups = np.flatnonzero(values)
        notes: NDArray[np.object_] = np.full(len(groups), note, object)
        if values.dtype != bool:
            counts, positions = np.unique(values[groups], return_inverse=True)
            texts = np.array([counted_note(note, count) for count in counts], object)
            notes = texts[positions]
        if note == "few_rows":  # a warning about a result that exists, and no reason of null values
            for i in np.flatnonzero(result[groups] != np.array(None)):
                notes[i] = join_notes(notes[i], result[groups[i]])
        result[groups] = notes
    return result


def absent_classes(
    n_pos: NDArray[Any], n_neg: NDArray[Any]
) -> dict[Note, NDArray[np.bool_ | np.int64]]:
    """Return the notes about absent classes with their groups, as the input of `first_notes`."""
    return {
        "no_rows": (n_pos == 0) & (n_neg == 0),
        "no_positives": n_pos == 0,
        "no_negatives": n_neg == 0,
    }


def class_notes(
    n_pos: NDArray[Any],
    n_neg: NDArray[Any],
    *,
    clustered: bool = False,
    zero_variance: NDArray[np.bool_] | None = None,
    no_solution: NDArray[np.bool_] | None = None,
    few_rows: NDArray[np.int64] | None = None,
    redrawn: NDArray[np.int64] | None = None,
    unmatched: NDArray[np.int64] | None = None,
    **others: NDArray[np.bool_ | np.int64],
) -> NDArray[np.object_]:
    """Return the first note that applies to each group, or None.

    `n_pos` and `n_neg` are the class sizes of the groups. If they are sums of weights, the number
    of rows is unknown, and no group has the note `one_positive` or `one_negative`. If `clustered`
    is true, they are numbers of clusters, and these two notes are `one_positive_cluster` and
    `one_negative_cluster`.

    Each other argument has a Boolean or a count for each group, as in `first_notes`, or is None if
    the note applies to no group. `others` are further notes.
    """
    one_positive: Note = "one_positive_cluster" if clustered else "one_positive"
    one_negative: Note = "one_negative_cluster" if clustered else "one_negative"
    applies: dict[Note, NDArray[np.bool_ | np.int64] | None] = {
        **absent_classes(n_pos, n_neg),
        one_positive: n_pos == 1 if n_pos.dtype.kind != "f" else None,
        one_negative: n_neg == 1 if n_neg.dtype.kind != "f" else None,
        "zero_variance": zero_variance,
        "no_solution": no_solution,
        "few_rows": few_rows,
        "redrawn": redrawn,
        "unmatched": unmatched,
        **cast("Mapping[Note, NDArray[np.bool_ | np.int64]]", others),
    }
    return first_notes({note: values for note, values in applies.items() if values is not None})


def few_rows(
    n_pos: NDArray[np.int64], n_neg: NDArray[np.int64], minimum: Any = MIN_DIFFERENCE_UNITS
) -> NDArray[np.int64]:
    """Return the size of the smaller class if it is below the minimum, and 0 otherwise.

    The sizes are numbers of rows or clusters.
    """
    smaller = np.minimum(n_pos, n_neg)
    return np.where(smaller < minimum, smaller, 0)


def counted_note(note: Note, count: object) -> str:
    """Return a note with a count, such as `redrawn:12`."""
    return f"{note}:{count}"


def join_notes(*notes: str | None) -> str | None:
    """Return the notes that are not None as one text; None if there are none."""
    return SEPARATOR.join(filter(None, notes)) or None


def exclusion_notes(
    names: NDArray[np.object_], usable: NDArray[np.bool_], starts: NDArray[np.int64]
) -> list[str | None]:
    """Return, for each group, the note with the number and names of excluded curves, or None."""
    notes: list[str | None] = [None] * (len(starts) - 1)
    excluded = np.flatnonzero(~usable)
    group = groups_of_rows(starts, excluded)
    for first, end in pairwise([*run_starts(group).tolist(), len(group)]):
        notes[group[first]] = note_with_keys("left_out", names[excluded[first:end]].tolist())
    return notes


def note_with_keys(note: Note, keys: Sequence[str]) -> str:
    """Return a note with the number and the keys of curves, such as `left_out:1 (7)`."""
    rest = len(keys) - MAX_NAMES_IN_NOTE
    more = f" and {rest} more" if rest > 0 else ""
    names = ", ".join(keys[:MAX_NAMES_IN_NOTE])
    return counted_note(note, f"{len(keys)} ({names}{more})" if names else f"{len(keys)}")
