"""Curves → ordered ratings: how many positives and negatives stand between two cutoffs.

Where only one class has scores, cutoffs between them tell nothing about the curve: neighbours of
one class are one rating. That changes no maximum of the likelihood.

References
----------
C. E. Metz, B. A. Herman, J.-H. Shen (1998), "Maximum likelihood estimation of receiver operating
characteristic (ROC) curves from continuously-distributed data", Statistics in Medicine 17(9),
1033-1053. doi:10.1002/(SICI)1097-0258(19980515)17:9<1033::AID-SIM784>3.0.CO;2-Z
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.bands.curves import Curves

MOST = 1000  # ratings of a group: more tell hardly more, and take longer


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ratings:
    """Positives and negatives of each rating, from the highest down.

    The ratings `starts[i]` to `starts[i + 1]` belong to the group `groups[i]`.
    """

    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]

    @classmethod
    def of(cls, curves: Curves) -> Ratings:
        """Put the cases of each whole group into ratings; unscored ones into the outer two."""
        groups = np.flatnonzero(curves.whole)
        of_point = np.repeat(np.arange(len(curves.n_pos)), np.diff(curves.starts))
        points = np.flatnonzero(curves.whole[of_point])
        # One more after the last point of each group: what stands below all scores.
        lengths = np.diff(curves.starts)[groups] + 1
        starts = np.append(0, np.cumsum(lengths))
        inner = np.ones(starts[-1], bool)
        inner[starts[1:] - 1] = False
        sides = []
        for name, total in (("tp", curves.n_pos), ("fp", curves.n_neg)):
            running = np.repeat(total[groups], lengths)
            running[inner] = curves.counts[name][points]
            steps = np.diff(running, prepend=0)
            steps[starts[:-1]] = running[starts[:-1]]
            sides.append(steps)
        pos, neg = sides
        some = (pos > 0) | (neg > 0)
        group = np.repeat(np.arange(len(groups)), lengths)[some]
        merged = _joined(group, _runs(pos[some], neg[some], group), pos[some], neg[some])
        group, pos, neg = _joined(merged[0], _coarse(*merged), *merged[1:])
        return cls(
            groups=groups,
            starts=np.searchsorted(group, np.arange(len(groups) + 1)),
            pos=pos.astype(np.float64),
            neg=neg.astype(np.float64),
        )


def _runs(
    pos: NDArray[np.int64], neg: NDArray[np.int64], group: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Say where something else begins than the one class that stood before."""
    fresh = np.ones(len(pos), bool)
    mixed = (pos > 0) & (neg > 0)
    same = (pos[1:] > 0) == (pos[:-1] > 0)
    fresh[1:] = mixed[1:] | mixed[:-1] | ~same | (group[1:] != group[:-1])
    return fresh


def _coarse(
    group: NDArray[np.int64], pos: NDArray[np.int64], neg: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Say where ratings begin if a group has at most `MOST` of about the same size."""
    fresh = np.ones(len(group), bool)
    sizes = np.bincount(group)
    for crowded in np.flatnonzero(sizes > MOST):
        a, b = np.searchsorted(group, [crowded, crowded + 1])
        size = (pos[a:b] + neg[a:b]).astype(np.float64)
        # The place of a rating's middle among all cases of the group.
        middle = np.cumsum(size) - size / 2
        piece = np.floor(middle * (MOST / size.sum()))
        fresh[a + 1 : b] = piece[1:] != piece[:-1]
    return fresh


def _joined(
    group: NDArray[np.int64],
    fresh: NDArray[np.bool_],
    pos: NDArray[np.int64],
    neg: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    firsts = np.flatnonzero(fresh)
    if not len(firsts):
        return group, pos, neg
    return group[firsts], np.add.reduceat(pos, firsts), np.add.reduceat(neg, firsts)
