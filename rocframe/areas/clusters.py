"""Rows of clusters → the variance of what is averaged over the rows of both classes.

Rows of one user or patient are no independent observations; clusters are. A cluster may have rows
of both classes.

References
----------
N. A. Obuchowski (1997), "Nonparametric analysis of clustered ROC curve data", Biometrics 53(2),
567-578. doi:10.2307/2533958
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.counting.codec import Tail

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.counting.walk import Walk

ROUNDING = 1e-28  # square of the rounding of placements, as shares of a class


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Clusters:
    """Clusters of all groups: the group of each, and which of them each row of a class is in.

    `rows` are the places of the rows of a class in the frame, `place` the cluster of each of them;
    positives come first.
    """

    groups: int
    group: NDArray[np.int64]
    rows: tuple[NDArray[np.int64], NDArray[np.int64]]
    place: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def of(cls, walk: Walk, cluster: NDArray[Any]) -> Clusters:
        """Find the clusters of each group; `cluster` numbers them for the rows of the frame."""
        rows = walk.rows
        assert rows.row is not None
        groups = len(rows.tails.length)
        group = np.repeat(np.arange(groups), np.diff(rows.starts))
        codes, row = rows.codes, rows.row
        if rows.tails.length.any():
            unscored = codes >> 1 == rows.codec.tail(Tail.UNSCORED)
            used = np.flatnonzero((codes < rows.codec.first_tail) | unscored)
            group, codes, row = group[used], codes[used], row[used]
        return cls.found(group, cluster[row], (codes & 1).astype(bool), row, groups)

    @classmethod
    def found(
        cls,
        group: NDArray[np.int64],
        cluster: NDArray[Any],
        negative: NDArray[np.bool_],
        row: NDArray[np.int64],
        groups: int,
    ) -> Clusters:
        """Put together what is known of each row: where it is in the frame, its group and class."""
        most = int(cluster.max(initial=0)) + 1
        codes, place = np.unique(group * most + cluster, return_inverse=True)
        return cls(
            groups=groups,
            group=codes // most,
            rows=(row[~negative], row[negative]),
            place=(place[~negative], place[negative]),
        )

    @property
    def sizes(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """How many clusters of each group hold positives, hold negatives, and there are."""
        pos, neg = (self._hold(side) for side in (0, 1))
        return pos, neg, np.bincount(self.group, minlength=self.groups)

    def variance(
        self,
        values: NDArray[Any],
        weight: NDArray[np.float64] | None = None,
        scales: tuple[Any, Any] = (1.0, 1.0),
    ) -> NDArray[np.float64]:
        """Return the variance of the mean of `values` over positives plus that over negatives.

        The two means are divided by the scales of each group. NaN where fewer than two clusters
        hold positives, or negatives.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            pos, neg = (
                self._sums(side, values, weight) / np.broadcast_to(scale, self.groups)[self.group]
                for side, scale in enumerate(scales)
            )
        n_pos, n_neg, n = self.sizes
        with np.errstate(divide="ignore", invalid="ignore"):
            variance: NDArray[np.float64] = (
                n_pos / (n_pos - 1) * self._added(pos * pos)
                + n_neg / (n_neg - 1) * self._added(neg * neg)
                + 2 * n / (n - 1) * self._added(pos * neg)
            )
        variance[(n_pos < 2) | (n_neg < 2)] = np.nan
        variance[variance < ROUNDING] = 0
        return variance

    def _hold(self, side: int) -> NDArray[np.int64]:
        some = np.bincount(self.place[side], minlength=len(self.group)) > 0
        return np.bincount(self.group[some], minlength=self.groups)

    def _sums(
        self, side: int, values: NDArray[Any], weight: NDArray[np.float64] | None
    ) -> NDArray[np.float64]:
        """Add up each cluster's share of the mean of one class, less what the mean makes of it."""
        rows, place = self.rows[side], self.place[side]
        mass = np.ones(len(rows)) if weight is None else weight[rows]
        # Whole numbers add up exactly in any order, so means come off the sums.
        sums = _binned(place, mass * values[rows], len(self.group))
        masses = _binned(place, mass, len(self.group))
        total, whole = self._added(sums), self._added(masses)
        with np.errstate(divide="ignore", invalid="ignore"):
            shares: NDArray[np.float64] = (sums - masses * (total / whole)[self.group]) / whole[
                self.group
            ]
        return shares

    def _added(self, values: NDArray[Any]) -> NDArray[np.float64]:
        return _binned(self.group, values, self.groups)


def _binned(bins: NDArray[np.int64], values: NDArray[Any], length: int) -> NDArray[np.float64]:
    """Add up values by the bin each is in."""
    return np.bincount(bins, values, length).astype(np.float64, copy=False)
