"""Smooth estimates of the event rate as a function of the score: local regression and kernels.

Groups with many distinct scores are reduced to a few thousand points, each the mean of the scores
in a narrow interval, so that the time does not depend on the number of rows.

References
----------
W. S. Cleveland (1979), "Robust locally weighted regression and smoothing scatterplots", Journal of
the American Statistical Association 74(368), 829-836. doi:10.1080/01621459.1979.10481038

J. Błasiok, P. Nakkiran (2023), "Smooth ECE: principled reliability diagrams via kernel smoothing",
arXiv:2309.12236. doi:10.48550/arXiv.2309.12236
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.fft import dct

from rocframe.calibration.bins import block_steps
from rocframe.kernel.bisection import grouped_bisect
from rocframe.kernel.interpolate import interpolate_in_groups, interpolate_segments
from rocframe.kernel.sort import concatenated_ranges
from rocframe.kernel.threads import run_parallel, split_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.calibration.bins import ScoreSteps
    from rocframe.kernel.scan import Block, Scannable

# If a group has more distinct scores, neighboring scores are merged to one point. The merged scores
# differ by at most 1/1024, and have about 1/1024 of the weight of the group or less.
MAX_SCORES = 2048
MAX_FITS = 256  # maximum number of scores of a group at which a local regression is computed
PAIRS = 1 << 17  # number of pairs of a fit and a point that a thread computes at a time
SPAN_ROUNDING = 1e-9  # differences of shares of the row weight below this are rounding errors
NO_VARIANCE = 1e-12  # local regressions omit a polynomial term with a smaller mean square
# The nodes of the grid on which a kernel is applied: at least `NODES_PER_BANDWIDTH` of them per
# bandwidth, and at least and at most the given numbers.
NODES_PER_BANDWIDTH = 20
MIN_NODES, MAX_NODES, GRID_FACTOR = 1 << 7, 1 << 15, 4
GRID_NUMBERS = 1 << 18  # number of nodes of all groups that a thread computes at a time
LARGEST_WAVE = 3.0  # exp(-(πkσ)²/2) is 5e-20 for kσ = 3
MAX_ITERATIONS = 100
MIN_BANDWIDTH = 1e-3  # smallest automatic bandwidth of a curve
BANDWIDTH_ERROR = 1e-7  # the search for the smooth calibration error ends at this difference
NO_DENSITY = 1e-8  # a kernel estimate is undefined where the density of the scores is lower


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """The scores of all groups, by group and rising score; groups without scores are absent.

    `groups` are the numbers of the groups with scores, and `n_groups` is the number of all groups.
    The points of group `groups[i]` are `starts[i]` to `starts[i + 1] - 1`. `score` is the weighted
    mean score of a point. `weight` and `pos` are the sums of the row weights of all rows and of
    positives. `share` is the share of the row weight of the group that has this score or a lower
    one.
    """

    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    score: NDArray[np.float64]
    weight: NDArray[np.float64]
    pos: NDArray[np.float64]
    share: NDArray[np.float64]
    n_groups: int

    @property
    def owner(self) -> NDArray[np.int64]:
        """The position in `groups` of the group of each point."""
        return np.repeat(np.arange(len(self.groups)), np.diff(self.starts))

    def group_sums(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of `values` over the points of each group."""
        sums: NDArray[np.float64] = np.add.reduceat(values, self.starts[:-1])
        return sums if len(self.groups) else values[:0]

    def of_all_groups(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return one value for every group: NaN for groups without scores, and else `values`."""
        result = np.full(self.n_groups, np.nan)
        result[self.groups] = values
        return result


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothCurve:
    """Estimated event rates of all groups, by group and rising score; linear between the points.

    `groups` are the numbers of the groups with scores. The points of group `groups[i]` are
    `starts[i]` to `starts[i + 1] - 1`. The first and the last point are the lowest and the highest
    score of the group. `event_rate` is NaN where a kernel estimate is undefined. `bandwidth` is the
    bandwidth of the kernel of each group in `groups`, or None for local regression.
    """

    groups: NDArray[np.int64]
    starts: NDArray[np.int64]
    score: NDArray[np.float64]
    event_rate: NDArray[np.float64]
    bandwidth: NDArray[np.float64] | None = None

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

    def on_grid(self, size: int) -> SmoothCurve:
        """Return the curve at `size` evenly spaced scores of each group.

        The first and the last of them are the lowest and the highest score of the group. A group
        with one distinct score has one point.
        """
        owner, score = _even_grid(self.starts, self.score, size)
        return SmoothCurve(
            groups=self.groups,
            starts=_starts(owner, len(self.groups)),
            score=score,
            event_rate=self.at(owner, score),
            bandwidth=self.bandwidth,
        )


def find_points(scan: Scannable) -> Points:
    """Return the distinct scores of each group; more than 2048 are merged to about 2050 points."""
    weight = scan.totals.pos + scan.totals.neg
    weight = weight - scan.totals.unscored_pos - scan.totals.unscored_neg

    def block_points(block: Block) -> _Sums:
        return _reduce(_Sums.from_steps(block_steps(scan, block)), weight)

    parts = scan.map(block_points)
    columns = {
        name: np.concatenate([getattr(part, name) for part in parts] or [np.zeros(0)])
        for name in _Sums.__dataclass_fields__
    }
    columns["group"] = columns["group"].astype(np.int64)
    sums = _reduce(_Sums(**columns), weight)
    starts = np.append(np.flatnonzero(np.diff(sums.group, prepend=-1)), len(sums.group))
    groups = sums.group[starts[:-1]]
    # The order of the scores of each group changes from falling to rising.
    order = np.repeat(starts[:-1] + starts[1:] - 1, np.diff(starts)) - np.arange(len(sums.group))
    total = np.repeat(weight[groups].astype(float), np.diff(starts))
    return Points(
        groups=groups,
        starts=starts,
        score=(sums.score_sum / sums.weight)[order].clip(0, 1),
        weight=sums.weight[order].astype(float),
        pos=sums.pos[order].astype(float),
        share=(1 - sums.above[order] / total).clip(0, 1),
        n_groups=len(weight),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sums:
    """Sums over the rows of points, by group and falling score.

    `above` is the sum of the row weights at higher scores of the group.
    """

    group: NDArray[np.int64]
    weight: NDArray[Any]
    pos: NDArray[Any]
    score_sum: NDArray[np.float64]
    above: NDArray[Any]

    @classmethod
    def from_steps(cls, steps: ScoreSteps) -> _Sums:
        weight = steps.pos + steps.neg
        return cls(
            group=steps.group,
            weight=weight,
            pos=steps.pos,
            score_sum=steps.probability * weight,
            above=steps.tp + steps.fp - weight,
        )


def _reduce(sums: _Sums, weight: NDArray[Any]) -> _Sums:
    """Merge neighboring points of each group with more than `MAX_SCORES` points.

    `weight` is the sum of the row weights of each group.
    """
    starts = np.append(np.flatnonzero(np.diff(sums.group, prepend=-1)), len(sums.group))
    is_large = np.diff(starts) > MAX_SCORES
    if not is_large.any():
        return sums
    # Cells divide the scores and the ranks of a group evenly. Both numbers fall with the position,
    # so their sum changes where one of them changes.
    cells = MAX_SCORES // 2
    score = sums.score_sum / sums.weight
    rank = sums.above / weight[sums.group]
    cell = (score * cells).astype(np.int64) - (rank * cells).astype(np.int64)
    is_first = np.diff(cell, prepend=0) != 0
    is_first |= np.repeat(~is_large, np.diff(starts))
    # The highest and the lowest score of a group remain separate points.
    is_first[starts[:-1]] = is_first[starts[1:] - 1] = True
    is_first[(starts[:-1] + 1)[is_large]] = True
    firsts = np.flatnonzero(is_first)
    return _Sums(
        group=sums.group[firsts],
        weight=np.add.reduceat(sums.weight, firsts),
        pos=np.add.reduceat(sums.pos, firsts),
        score_sum=np.add.reduceat(sums.score_sum, firsts),
        above=sums.above[firsts],
    )


def loess(points: Points, *, span: float = 2 / 3, degree: int = 1) -> SmoothCurve:
    """Return the local regression of the labels on the score in each group.

    The event rate at a score is the value of a line (`degree=1`) or a parabola (`degree=2`), fitted
    by least squares with the tricube weights (1 - (d/h)³)³, multiplied by the row weights. d is the
    distance to this score, and h is the smallest distance within which the rows have at least the
    share `span` of the row weight. The rate is clipped to [0, 1]. A group with at most `MAX_FITS`
    points has a fit at each of them. A larger group has fits at about as many points, which divide
    its scores and its ranks evenly.
    """
    fits = _fit_positions(points)
    owner = points.owner[fits]
    windows = _Windows.find(points, fits, span)

    def fit(part: slice) -> NDArray[np.float64]:
        return _local_rate(*_local_moments(points, windows.of_fits(part), degree))

    pairs = np.append(0, np.cumsum(windows.ends - windows.starts))
    rates = run_parallel(fit, split_groups(pairs, PAIRS))
    return SmoothCurve(
        groups=points.groups,
        starts=_starts(owner, len(points.groups)),
        score=points.score[fits],
        event_rate=np.concatenate([*rates, np.zeros(0)]).clip(0, 1),
    )


def _fit_positions(points: Points) -> NDArray[np.int64]:
    """Return the positions of the points at which local regressions are computed."""
    sizes = np.diff(points.starts)
    low, high = points.score[points.starts[:-1]], points.score[points.starts[1:] - 1]
    cells = MAX_FITS // 2
    owner = points.owner
    width = np.maximum(high - low, np.finfo(float).tiny)
    by_score = ((points.score - low[owner]) / width[owner] * cells).astype(np.int64)
    cell = by_score + (points.share * cells).astype(np.int64)
    is_fit = np.diff(cell, prepend=-1) != 0
    is_fit |= np.repeat(sizes <= MAX_FITS, sizes)
    is_fit[points.starts[:-1]] = True
    is_fit[points.starts[1:] - 1] = True
    return np.flatnonzero(is_fit)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Windows:
    """The points in the neighborhood of each local regression.

    A neighborhood is the narrowest interval around `score` that has a given share of the row weight
    of the group. It contains the scores within `distance`. They are among the points `starts` to
    `ends` - 1.
    """

    score: NDArray[np.float64]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    distance: NDArray[np.float64]

    def of_fits(self, part: slice) -> _Windows:
        """Return the neighborhoods of some of the local regressions."""
        return _Windows(
            score=self.score[part],
            starts=self.starts[part],
            ends=self.ends[part],
            distance=self.distance[part],
        )

    @classmethod
    def find(cls, points: Points, fits: NDArray[np.int64], span: float) -> _Windows:
        """Return the neighborhoods of the points `fits` with the share `span` of the row weight."""
        owner = points.owner
        # The share of the weight below each point.
        before = np.append(0.0, points.share[:-1])[: len(owner)]
        before[points.starts[:-1]] = 0
        target = before + min(span, 1.0) - SPAN_ROUNDING
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
        found = grouped_bisect(lambda i: right(i) < score - points.score[i], first_of_fit, fits - 1)
        previous = np.maximum(found - 1, first_of_fit)
        at, at_previous = (
            np.maximum(np.maximum(score - points.score[first], right(first)), 0)
            for first in (found, previous)
        )
        return cls(
            score=score,
            starts=np.where(at <= at_previous, found, previous),
            ends=np.maximum(last[found], fits) + 1,
            distance=np.minimum(at, at_previous),
        )


def _local_moments(
    points: Points, windows: _Windows, degree: int
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """Return moments of the rows near each fit, weighted by distance.

    The first list has the means of powers of z from z to z**(2 * degree). z is the distance of a
    row from the score of the fit, divided by the largest distance. The second list has the means of
    label * z**i for i from 0 to `degree`.
    """
    sizes = windows.ends - windows.starts
    firsts = np.cumsum(sizes) - sizes
    neighbor = concatenated_ranges(windows.starts, sizes)
    # If the distance is 0, the score itself is the only point of the neighborhood.
    scale = 1 / np.maximum(windows.distance, np.finfo(float).tiny)
    z = points.score[neighbor]
    z -= np.repeat(windows.score, sizes)
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

    The polynomials 1, z - m₁ and z² - m₂ - β(z - m₁) are orthogonal. A term is left out if it is
    almost 0 at all rows.
    """
    m1, m2 = powers[:2]
    mean = products[0]
    variance = m2 - m1**2
    along = products[1] - m1 * mean
    has_slope = variance > NO_VARIANCE
    safe = np.where(has_slope, variance, 1)
    rate = mean - np.where(has_slope, m1 * along / safe, 0)
    if len(powers) == 2:
        return rate
    m3, m4 = powers[2:]
    tilt = np.where(has_slope, (m3 - m1 * m2) / safe, 0)
    bend = m4 - m2**2 - tilt * (m3 - m1 * m2)
    has_bend = has_slope & (bend > NO_VARIANCE)
    along = products[2] - m2 * mean - tilt * along
    result: NDArray[np.float64] = rate + np.where(
        has_bend, (tilt * m1 - m2) * along / np.where(has_bend, bend, 1), 0
    )
    return result


def smooth_error(points: Points) -> NDArray[np.float64]:
    """Return the smooth calibration error of each group in `points.groups`.

    r(t) is the weighted mean of (label - score)·K(t, score) over the rows of the group. K is the
    density of a normal distribution with mean `score` and standard deviation σ, reflected at 0 and
    1. E(σ) is the integral of |r(t)| over t from 0 to 1. It falls as σ rises. The smooth
    calibration error is the value of σ for which σ = E(σ). Its absolute error is below 0.0001.
    """
    residual = points.pos - points.weight * points.score
    total = points.group_sums(points.weight)
    # E(σ) is at least the absolute mean residual, and at most the mean absolute residual.
    lower = np.abs(points.group_sums(residual) / total).clip(0, 1)
    upper = np.maximum(points.group_sums(np.abs(residual)) / total, lower).clip(0, 1)
    error: NDArray[np.float64] = (lower + upper) / 2
    nodes = MIN_NODES
    selected = np.flatnonzero(upper - lower > BANDWIDTH_ERROR)
    while len(selected):

        def solve(part: NDArray[np.int64], nodes: int = nodes) -> NDArray[np.float64]:
            spectrum = _spectrum(points, residual, part, nodes) / total[part, None]
            return _solve_error(spectrum, lower[part], upper[part], error[part])

        error[selected] = np.concatenate(run_parallel(solve, _grid_parts(selected, nodes)))
        nodes *= GRID_FACTOR
        if nodes > MAX_NODES:
            break
        selected = selected[error[selected] * nodes < NODES_PER_BANDWIDTH * GRID_FACTOR]
    return error


def _solve_error(
    spectrum: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
    start: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the value of σ for which σ = E(σ), for groups with these residuals.

    `spectrum` has one row per group (see `_spectrum`). The value is between `lower` and `upper`.
    """
    result = start.copy()
    rows = np.arange(len(start))
    low, high = lower.copy(), upper.copy()
    sigma = start
    previous_sigma = previous_error = np.full(len(start), np.nan)
    for i in range(MAX_ITERATIONS):
        error = _mean_absolute(_smooth(spectrum[rows], sigma))
        # E falls, so the solution is between σ and E(σ).
        low[rows] = np.maximum(low[rows], np.minimum(sigma, error))
        high[rows] = np.minimum(high[rows], np.maximum(sigma, error))
        result[rows] = (low[rows] + high[rows]) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (error - previous_error) / (sigma - previous_sigma)
        slope = np.where(np.isfinite(slope), np.minimum(slope, 0), 0)
        following = (error - slope * sigma) / (1 - slope)
        # The secant method is fast, and bisection is certain to converge.
        following = result[rows] if i % 4 == 3 else following.clip(low[rows], high[rows])
        is_open = high[rows] - low[rows] > BANDWIDTH_ERROR
        rows = rows[is_open]
        previous_sigma, previous_error = sigma[is_open], error[is_open]
        sigma = following[is_open]
        if not len(rows):
            break
    return result


def kernel(points: Points, *, size: int = 101, bandwidth: float | None = None) -> SmoothCurve:
    """Return the Nadaraya-Watson estimate of the event rate at `size` scores of each group.

    The scores are evenly spaced from the lowest to the highest score of the group.

    The event rate at a score t is Σ K(t, score)·label / Σ K(t, score), where each row has its row
    weight, and K is the kernel of `smooth_error`. The bandwidth is its standard deviation σ: by
    default the smooth calibration error, but at least `MIN_BANDWIDTH`. The event rate is NaN where
    the density of the scores, smoothed with the same kernel, is at most `NO_DENSITY`.
    """
    if bandwidth is None:
        sigma = np.maximum(smooth_error(points), MIN_BANDWIDTH)
    else:
        sigma = np.full(len(points.groups), float(bandwidth))
    owner, score = _even_grid(points.starts, points.score, size)
    starts = _starts(owner, len(points.groups))
    total = points.group_sums(points.weight)
    level = np.full(len(sigma), MIN_NODES)
    # A rate, unlike an integral of rates, does not average out the errors of single nodes.
    needed = 4 * NODES_PER_BANDWIDTH / sigma
    while (is_coarse := (level < needed) & (level < MAX_NODES)).any():
        level[is_coarse] *= GRID_FACTOR
    rate = np.full(len(score), np.nan)

    def estimate(part: NDArray[np.int64]) -> None:
        density, of_pos = (
            _smooth(
                _spectrum(points, values, part, level[part[0]]) / total[part, None], sigma[part]
            )
            for values in (points.weight, points.pos)
        )
        has_rows = density > NO_DENSITY
        rates = np.where(has_rows, of_pos / np.where(has_rows, density, 1), np.nan)
        sizes = starts[part + 1] - starts[part]
        inside = concatenated_ranges(starts[part], sizes)
        row = np.repeat(np.arange(len(part)), sizes)
        rate[inside] = _interpolate_nodes(rates, row, score[inside])

    for nodes in np.unique(level).tolist():
        run_parallel(estimate, _grid_parts(np.flatnonzero(level == nodes), nodes))
    return SmoothCurve(
        groups=points.groups,
        starts=starts,
        score=score,
        event_rate=rate.clip(0, 1),
        bandwidth=sigma,
    )


def _grid_parts(selected: NDArray[np.int64], nodes: int) -> list[NDArray[np.int64]]:
    """Divide groups into parts with at most about `GRID_NUMBERS` nodes each."""
    most = max(1, GRID_NUMBERS // nodes)
    return [selected[i : i + most] for i in range(0, len(selected), most)]


def _spectrum(
    points: Points, values: NDArray[np.float64], part: NDArray[np.int64], nodes: int
) -> NDArray[np.float64]:
    """Return Σ values·cos(πk·score) for each group of `part` (rows) and k = 0 to `nodes` (columns).

    Each value is divided between the two nearest of `nodes` + 1 evenly spaced scores from 0 to 1.
    """
    sizes = points.starts[part + 1] - points.starts[part]
    inside = concatenated_ranges(points.starts[part], sizes)
    place = points.score[inside] * nodes
    left = np.minimum(place.astype(np.int64), nodes - 1)
    share = place - left
    left += np.repeat(np.arange(len(part)) * (nodes + 1), sizes)
    mass = values[inside]
    length = len(part) * (nodes + 1)
    halves = (
        np.bincount(left, mass * (1 - share), length),
        np.bincount(left + 1, mass * share, length),
    )
    grid: NDArray[np.float64] = np.add(*halves).reshape(len(part), nodes + 1)
    grid[:, 1:-1] /= 2
    spectrum: NDArray[np.float64] = dct(grid, type=1, axis=1)
    return spectrum


def _smooth(spectrum: NDArray[np.float64], sigma: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smoothed values at the nodes, for each row of `spectrum` and its bandwidth.

    The reflected kernel is 1 + 2 Σ exp(-(πkσ)²/2)·cos(πk·t)·cos(πk·score), summed over k ≥ 1.
    """
    # Terms with a larger k are below the rounding error of the others.
    largest = min(int(LARGEST_WAVE / sigma.min()) + 1, spectrum.shape[1]) if len(sigma) else 0
    terms = np.zeros_like(spectrum)
    waves = np.exp(-0.5 * np.multiply.outer(sigma, np.pi * np.arange(largest)) ** 2)
    np.multiply(spectrum[:, :largest], waves, out=terms[:, :largest])
    smoothed: NDArray[np.float64] = dct(terms, type=1, axis=1)
    return smoothed


def _mean_absolute(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the integral of absolute values from 0 to 1 by the trapezoidal rule."""
    sizes = np.abs(values)
    total = sizes.sum(axis=1) - (sizes[:, 0] + sizes[:, -1]) / 2
    mean: NDArray[np.float64] = total / (values.shape[1] - 1)
    return mean


def _interpolate_nodes(
    values: NDArray[np.float64], row: NDArray[np.int64], at: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return values at scores, by interpolation between the evenly spaced nodes of each row."""
    n_nodes = values.shape[1] - 1
    node_position = at * n_nodes
    left = np.minimum(node_position.astype(np.int64), n_nodes - 1)
    x = (left.astype(np.float64), left + 1.0)
    return interpolate_segments(x, (values[row, left], values[row, left + 1]), node_position)


def _even_grid(
    starts: NDArray[np.int64], score: NDArray[np.float64], size: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return `size` evenly spaced scores from the lowest to the highest score of each group.

    The first result is the position of the group of each score. A group with one distinct score
    has one point.
    """
    low, high = score[starts[:-1]], score[starts[1:] - 1]
    sizes = np.where(low < high, size, 1)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    share = step / max(size - 1, 1)
    return owner, (low[owner] * (1 - share) + high[owner] * share).clip(low[owner], high[owner])


def _starts(owner: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
    """Return the position of the first value of each group, and the number of values.

    `owner` is the group of each value, in rising order, and every group has a value.
    """
    return np.searchsorted(owner, np.arange(groups + 1))
