"""Local regression of the labels on the score (Cleveland 1979).

References
----------
W. S. Cleveland (1979), "Robust locally weighted regression and smoothing scatterplots", Journal of
the American Statistical Association 74(368), 829-836. doi:10.1080/01621459.1979.10481038
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocframe.kernel.bisection import grouped_bisect
from rocframe.kernel.groups import group_starts
from rocframe.kernel.interpolate import interpolate_in_groups
from rocframe.kernel.sort import concatenated_ranges
from rocframe.kernel.threads import run_parallel, split_groups
from rocframe.probabilities.score_points import WEIGHT_SHARE_ROUNDING, is_cell_start

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.probabilities.score_points import Points

MAX_FITS = 256  # maximum number of scores of a group at which a local regression is computed
PAIRS = 1 << 17  # number of pairs of a fit and a point that a thread computes at a time
ROW_ROUNDING = 1e-7  # R adds this number before it rounds the number of rows down
NO_VARIANCE = 1e-12  # local regressions omit a polynomial term with a smaller mean square


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothCurve:
    """Estimated event rates of all groups, by group and rising score; linear between the points.

    `groups` are the numbers of the groups with scores. The points of group `groups[i]` are
    `starts[i]` to `starts[i + 1] - 1`. The first and the last point are the lowest and the highest
    score of the group.
    """

    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    score: NDArray[np.float64]
    event_rate: NDArray[np.float64]

    @property
    def group(self) -> NDArray[np.int64]:
        """The number of the group of each point."""
        return np.repeat(self.groups, np.diff(self.starts))

    def at(self, owner: NDArray[np.int64], score: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the event rates at scores of the groups `groups[owner]`, by interpolation.

        Below the lowest and above the highest score of a group, the rate is that of this score.
        """
        first, last = self.starts[owner], self.starts[owner + 1] - 1
        return interpolate_in_groups(self.score, self.event_rate, first, last, score)


def loess(points: Points, *, span: float = 2 / 3, degree: int = 1) -> SmoothCurve:
    """Return the local regression of the labels on the score in each group.

    The event rate at a score is the value of a line (`degree=1`) or a parabola (`degree=2`), fitted
    by least squares with the tricube weights (1 - (d/h)³)³, multiplied by the row weights. d is the
    distance to this score, and h is the smallest distance within which the rows have at least the
    share of the row weight of `_neighborhood_shares`. The rate is clipped to [0, 1]. A group with
    at most `MAX_FITS` points has a fit at each of them. A larger group has about as many fits: half
    of them are evenly spaced in score, the others in rank.
    """
    fits = _fit_positions(points)
    owner = points.owner[fits]
    neighborhoods = _Neighborhoods.find(points, fits, _neighborhood_shares(points, span))

    def fit(part: slice) -> NDArray[np.float64]:
        return _local_rate(*_local_moments(points, neighborhoods.of_fits(part), degree))

    pairs = np.append(0, np.cumsum(neighborhoods.ends - neighborhoods.starts))
    rates = run_parallel(fit, split_groups(pairs, PAIRS), arrays_only=True)
    return SmoothCurve(
        groups=points.groups,
        starts=group_starts(owner, len(points.groups)),
        score=points.score[fits],
        event_rate=np.concatenate([*rates, np.zeros(0)]).clip(0, 1),
    )


def _neighborhood_shares(points: Points, span: float) -> NDArray[np.float64]:
    """Return the share of the row weight that a neighborhood has at least, for each group.

    Of n rows, a neighborhood has floor(span * n) rows, but at least 2, as in R's `lowess` and
    `loess`. If weights are not whole numbers, the share is `span`.
    """
    total = points.group_sums(points.weight)
    is_whole = points.group_sums((points.weight % 1 != 0).astype(float)) == 0
    n_rows = np.maximum(np.floor(span * total + ROW_ROUNDING), 2)
    return np.where(is_whole, np.minimum(n_rows / total, 1), span)


def _fit_positions(points: Points) -> NDArray[np.int64]:
    """Return the positions of the points at which local regressions are computed."""
    low, high = points.score[points.starts[:-1]], points.score[points.starts[1:] - 1]
    width = np.maximum(high - low, np.finfo(float).tiny)
    score = (points.score - low[points.owner]) / width[points.owner]
    return np.flatnonzero(is_cell_start(score, points.share, points.starts, MAX_FITS))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Neighborhoods:
    """The points in the neighborhood of each local regression.

    A neighborhood is the narrowest interval around `score` that has a given share of the row weight
    of the group. It contains the scores within `distance`. They are among the points `starts` to
    `ends` - 1.
    """

    score: NDArray[np.float64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    distance: NDArray[np.float64]

    def of_fits(self, part: slice) -> _Neighborhoods:
        """Return the neighborhoods of some of the local regressions."""
        return _Neighborhoods(
            score=self.score[part],
            starts=self.starts[part],
            ends=self.ends[part],
            distance=self.distance[part],
        )

    @classmethod
    def find(
        cls, points: Points, fits: NDArray[np.int64], share: NDArray[np.float64]
    ) -> _Neighborhoods:
        """Return the neighborhoods of the points `fits`.

        `share` is the share of the row weight that a neighborhood has, for each group.
        """
        owner = points.owner
        # The share of the weight below each point.
        before = np.append(0.0, points.share[:-1])[: len(owner)]
        before[points.starts[:-1]] = 0
        target = before + share[owner] - WEIGHT_SHARE_ROUNDING
        # For each first point of an interval, the last point with which the interval has the share.
        group_firsts, group_lasts = points.starts[:-1][owner], points.starts[1:][owner] - 1
        last = grouped_bisect(lambda i: points.share[i] < target, group_firsts, group_lasts)
        is_complete = target <= 1
        last = np.minimum(last, group_lasts)
        score = points.score[fits]

        def right(first: NDArray[np.int64]) -> NDArray[np.float64]:
            return np.where(is_complete[first], points.score[last[first]] - score, np.inf)

        # Search for the lowest first point for which the last point is at least as far from the
        # score as the first point. The narrowest interval begins at this point or the one before.
        first_of_fit = group_firsts[fits]
        start = grouped_bisect(lambda i: right(i) < score - points.score[i], first_of_fit, fits - 1)
        previous = np.maximum(start - 1, first_of_fit)
        at, at_previous = (
            np.maximum(np.maximum(score - points.score[first], right(first)), 0)
            for first in (start, previous)
        )
        return cls(
            score=score,
            starts=np.where(at <= at_previous, start, previous),
            ends=np.maximum(last[start], fits) + 1,
            distance=np.minimum(at, at_previous),
        )


def _local_moments(
    points: Points, neighborhoods: _Neighborhoods, degree: int
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """Return moments of the rows near each fit, weighted by distance.

    The first list has the means of powers of z from z to z**(2 * degree). z is the distance of a
    row from the score of the fit, divided by the largest distance. The second list has the means of
    label * z**i for i from 0 to `degree`.
    """
    sizes = neighborhoods.ends - neighborhoods.starts
    firsts = np.cumsum(sizes) - sizes
    neighbor = concatenated_ranges(neighborhoods.starts, sizes)
    # If the distance is 0, the score itself is the only point of the neighborhood.
    scale = 1 / np.maximum(neighborhoods.distance, np.finfo(float).tiny)
    z = points.score[neighbor]
    z -= np.repeat(neighborhoods.score, sizes)
    z *= np.repeat(scale, sizes)
    np.clip(z, -1, 1, out=z)
    weight = np.abs(z)
    weight *= weight * weight
    np.subtract(1, weight, out=weight)
    weight *= weight * weight
    of_pos = weight * points.pos[neighbor]
    weight *= points.weight[neighbor]
    total = np.add.reduceat(weight, firsts)
    powers, products = [], [np.add.reduceat(of_pos, firsts) / total]
    for i in range(1, 2 * degree + 1):
        weight *= z
        powers.append(np.add.reduceat(weight, firsts) / total)
        if i <= degree:
            of_pos *= z
            products.append(np.add.reduceat(of_pos, firsts) / total)
    return powers, products


def _local_rate(
    powers: list[NDArray[np.float64]], products: list[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the value at z = 0 of the polynomials with these moments (see `_local_moments`).

    The value is the sum of the orthogonal polynomials 1, z - m₁ and z² - m₂ - β(z - m₁) at z = 0,
    each multiplied by the regression coefficient of the label on the polynomial. β is the
    regression coefficient of z² on z. A term is left out if it is almost 0 at all rows.
    """
    m1, m2 = powers[:2]
    mean = products[0]
    variance = m2 - m1**2
    covariance = products[1] - m1 * mean
    has_slope = variance > NO_VARIANCE
    safe = np.where(has_slope, variance, 1)
    rate = mean - np.where(has_slope, m1 * covariance / safe, 0)
    if len(powers) == 2:
        return rate
    m3, m4 = powers[2:]
    beta = np.where(has_slope, (m3 - m1 * m2) / safe, 0)
    quadratic_variance = m4 - m2**2 - beta * (m3 - m1 * m2)
    has_curvature = has_slope & (quadratic_variance > NO_VARIANCE)
    quadratic_covariance = products[2] - m2 * mean - beta * covariance
    coefficient = quadratic_covariance / np.where(has_curvature, quadratic_variance, 1)
    result: NDArray[np.float64] = rate + np.where(has_curvature, (beta * m1 - m2) * coefficient, 0)
    return result
