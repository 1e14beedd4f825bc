"""Variances of areas: Obuchowski (1997), Hanley and McNeil (1982), and influence functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.areas.pairs import count_pairs
from rocframe.areas.partial import PartialPlacements, by_axis, partial_areas
from rocframe.inference.bootstrap import Statistic
from rocframe.kernel.codec import Tail
from rocframe.kernel.exact import product, quotient, sums
from rocframe.kernel.resample import Asked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.areas.pairs import Pairs
    from rocframe.areas.partial import Part
    from rocframe.inference.bootstrap import Influences
    from rocframe.kernel.resample import Sample
    from rocframe.kernel.scan import Block, Walk


ZERO_VARIANCE = 1e-28  # square of the rounding of placements, as shares of a class


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
        variance[variance < ZERO_VARIANCE] = 0
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


def hanley_mcneil_variance(walk: Walk, pairs: Pairs) -> NDArray[np.float64]:
    """Return the variance with Q1 and Q2 as they are in the data."""
    scored_neg = pairs.neg - walk.totals.unscored_neg
    outranked, outranking = (np.zeros(len(pairs.pos), object) for _ in range(2))

    def one(block: Block) -> tuple[NDArray[Any], NDArray[Any]]:
        neg = block.of_steps(scored_neg)
        return (
            _triples(block.neg, block.tp0, block.tp, block.starts[:-1]),
            _triples(block.pos, neg - block.fp, neg - block.fp0, block.starts[:-1]),
        )

    for piece, (below, above) in zip(walk.pieces, walk.each(one), strict=True):
        outranked[piece.groups] = outranked[piece.groups] + below
        outranking[piece.groups] = outranking[piece.groups] + above
    pos, neg, six = pairs.pos, pairs.neg, np.array([6])
    q1 = quotient(outranked, product(six, neg, pos, pos))
    q2 = quotient(outranking, product(six, pos, neg, neg))
    return _variance(pairs, q1, q2)


def hanley_mcneil_exponential_variance(pairs: Pairs) -> NDArray[np.float64]:
    """Return the variance with the Q1 and Q2 that exponential scores of that area have."""
    area = pairs.areas[0]
    return _variance(pairs, area / (2 - area), 2 * area**2 / (1 + area))


def _triples(
    times: NDArray[Any], fewer: NDArray[Any], more: NDArray[Any], starts: NDArray[np.int64]
) -> NDArray[Any]:
    """Add up six times A² + A·E + E²/3, where `fewer` is A and `more` is A + E."""
    squares = [sums(times, value, starts, power=2) for value in (fewer, more, fewer + more)]
    total: NDArray[Any] = np.sum([square.astype(object) for square in squares], axis=0)
    return total


def _variance(
    pairs: Pairs, q1: NDArray[np.float64], q2: NDArray[np.float64]
) -> NDArray[np.float64]:
    area, pos, neg = pairs.areas[0], pairs.pos.astype(float), pairs.neg.astype(float)
    square = area**2
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = area * (1 - area) + (pos - 1) * (q1 - square) + (neg - 1) * (q2 - square)
        variance: NDArray[np.float64] = spread / (pos * neg)
    return variance


def auc_influence(sample: Sample) -> Influences:
    """Return the centred placements of both classes, over the mass of the class."""
    block, totals = sample.block, sample.totals
    auc, pos, neg = count_pairs(sample).areas[0][0], totals.pos[0], totals.neg[0]
    v10 = (neg - totals.unscored_neg[0] - (block.fp0 + block.fp) / 2) / neg
    v01 = (block.tp0 + block.tp) / (2 * pos)
    return (np.append(v10, 0) - auc) / pos, (np.append(v01, 0) - auc) / neg


def partial_influence(sample: Sample, part: Part) -> Influences:
    """Return the same of the area over a part, from its clipped placements."""
    block, totals = sample.block, sample.totals
    influence = PartialPlacements.of(sample, part)
    placed = by_axis(part, *influence.at(block))
    lost = by_axis(part, *influence.lost[:, 0])
    masses = (
        np.append(block.pos, totals.unscored_pos[0]),
        np.append(block.neg, totals.unscored_neg[0]),
    )

    def centred(values: NDArray[np.float64], mass: NDArray[np.float64]) -> NDArray[np.float64]:
        total = mass.sum()
        shares: NDArray[np.float64] = (values - (mass * values).sum() / total) / total
        return shares

    pos, neg = (
        centred(np.append(values, last), mass)
        for values, last, mass in zip(placed, lost, masses, strict=True)
    )
    return pos, neg


AUC_STATISTIC = Statistic(
    asked=Asked(function=lambda sample: count_pairs(sample).areas[0]), influence=auc_influence
)


def partial_auc_statistic(part: Part) -> Statistic:
    """Return the raw area over a part of the curve as a statistic."""
    return Statistic(
        asked=Asked(function=lambda sample: partial_areas(sample, part)[0]),
        influence=lambda sample: partial_influence(sample, part),
        bounds=(0.0, part.b - part.a),
    )
