"""Logistic regression, local regression and kernel smoothing of labels on scores.

References: Cox (1958), doi:10.1093/biomet/45.3-4.562, and Miller, Hui and Tierney (1991),
doi:10.1002/sim.4780100805 (recalibration); Cleveland (1979), doi:10.1080/01621459.1979.10481038;
Błasiok and Nakkiran (2023), doi:10.48550/arXiv.2309.12236 (smooth calibration error).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.fft import dct

from rocframe.kernel.arrays import (
    grouped_bisect,
    interpolate_in_groups,
    interpolate_segments,
    run_parallel,
    split_groups,
    split_rows,
)
from rocframe.kernel.groups import concatenated_ranges, group_starts, groups_of_rows
from rocframe.probabilities.losses import WEIGHT_SHARE_ROUNDING, is_cell_start, log_odds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.kernel.scan import Block, Scannable
    from rocframe.probabilities.losses import Points

MAX_STEPS = 50  # without a finite maximum, the parameters still change after this many Newton steps
MAX_STEP_HALVINGS = 60  # a step of at most 2^60 is reduced to a step of at most 1
# The last Newton step changes no linear predictor by more than this. Errors are squared by a step.
LAST_STEP = 1e-7
# The initial parameters of a group with at least `LARGE_GROUP` rows are fitted to every
# `SAMPLED_ROWS`-th row. The initial parameters of all other groups are 0.
LARGE_GROUP = 1 << 15
SAMPLED_ROWS = 32
PART_ROWS = 1 << 15  # the arrays of a part of this size fit into the cache of a processor
LIKELIHOOD_ROUNDING = 1e-12  # larger than the relative rounding error of a sum of logarithms
# Regressors are linearly dependent if the smallest eigenvalue of their information matrix, scaled
# to a diagonal of 1, is below this.
DEPENDENT = 1e-13


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogisticRows:
    """The rows of some groups for a logistic regression; each row stands for equal observations.

    Group `groups[i]` has the rows `starts[i]` to `starts[i + 1] - 1`, at least one. `pos` and `neg`
    are weights, and `columns` regressors. `offset` is a term without a parameter.
    """

    groups: IntArray
    starts: IntArray
    pos: Array
    neg: Array
    columns: tuple[FloatArray, ...]
    offset: FloatArray | None = None

    def of_groups(self, selected: BoolArray) -> LogisticRows:
        """Return the rows of the selected groups; `selected` has one value for each of `groups`."""
        lengths = np.diff(self.starts)
        starts = np.append(0, np.cumsum(lengths[selected]))
        return self._take(np.repeat(selected, lengths), self.groups[selected], starts)

    def thin(self, every: int) -> LogisticRows:
        """Return every `every`-th row; groups without any of these rows are omitted."""
        rows = np.arange(0, len(self.pos), every)
        starts = np.searchsorted(rows, self.starts)
        has_rows = np.diff(starts) > 0
        starts = np.append(starts[:-1][has_rows], len(rows))
        return self._take(rows, self.groups[has_rows], starts)

    def split(self, most: int) -> list[LogisticRows]:
        """Return the rows in parts of at most `most` rows, which may divide a group."""
        parts = []
        for rows in split_rows(len(self.pos), most):
            first = groups_of_rows(self.starts, rows.start)
            last = np.searchsorted(self.starts, rows.stop)
            starts = self.starts[first : last + 1].clip(rows.start, rows.stop) - rows.start
            parts.append(self._take(rows, self.groups[first:last], starts))
        return parts

    def _take(self, rows: Any, groups: IntArray, starts: IntArray) -> LogisticRows:
        """Return the given rows, which are those of `groups` with these `starts`."""
        return LogisticRows(
            groups=groups,
            starts=starts,
            pos=self.pos[rows],
            neg=self.neg[rows],
            columns=tuple(column[rows] for column in self.columns),
            offset=None if self.offset is None else self.offset[rows],
        )


class _Likelihood(NamedTuple):
    """The log likelihood of each group, its gradient, and its negative second derivatives."""

    value: FloatArray
    gradient: FloatArray
    information: FloatArray


def fit_logistic(parts: Sequence[LogisticRows], n_columns: int, selected: BoolArray) -> FloatArray:
    """Return the maximum likelihood estimates of logistic regressions, with one row for each group.

    The model is logit(P) = offset + Σ parameter · regressor. A group may have rows in several
    `parts`; `selected` is a mask of the groups to fit. Parameters are NaN without a unique finite
    maximum: linearly dependent regressors, or a linear function that separates the classes.
    """
    n_rows = np.zeros(len(selected), np.int64)
    for part in parts:
        n_rows[part.groups] += np.diff(part.starts)
    active = selected & (n_rows > 0)
    parameters = np.zeros((len(selected), n_columns))
    is_large = active & (n_rows >= LARGE_GROUP)
    if is_large.any():
        # A fit to some of the rows saves steps with all rows.
        sample = [part.thin(SAMPLED_ROWS) for part in _select_groups(parts, is_large)]
        parameters = np.nan_to_num(fit_logistic(sample, n_columns, is_large))
    parts = [piece for part in parts for piece in part.split(PART_ROWS)]
    parts = _select_groups(parts, active)
    result = np.full(parameters.shape, np.nan)
    # The product of a parameter and the largest regressor is its largest term of a linear
    # predictor, whatever the unit of the regressor.
    largest = np.zeros(parameters.shape)
    # A row on the wrong side lowers the log likelihood by at least log(2) times its weight. If the
    # log likelihood is higher, a linear function of the regressors separates the classes.
    smallest_weight = np.full(len(selected), np.inf)
    extremes = run_parallel(_part_extremes, parts, arrays_only=True)
    for part, (values, weights) in zip(parts, extremes, strict=True):
        largest[part.groups] = np.maximum(largest[part.groups], values)
        smallest_weight[part.groups] = np.minimum(smallest_weight[part.groups], weights)

    likelihood = _likelihood(parts, parameters, n_columns)
    for _ in range(MAX_STEPS):
        active &= likelihood.value <= -np.log(2) * smallest_weight
        steps = np.zeros(parameters.shape)
        steps[active] = _newton_steps(likelihood.gradient[active], likelihood.information[active])
        active &= ~np.isnan(steps).any(axis=1)
        moved = (abs(steps) * largest).sum(axis=1)
        is_last = active & (moved <= LAST_STEP * ((abs(parameters) * largest).sum(axis=1) + 1))
        result[is_last] = (parameters + steps)[is_last]
        active &= ~is_last
        if not active.any():
            break
        parts = _select_groups(parts, active)
        parameters, likelihood = _halve_steps(parts, parameters, steps, likelihood, active)
    return result


def log_likelihood(parts: Sequence[LogisticRows], parameters: FloatArray) -> FloatArray:
    """Return the log likelihood of each group with these parameters; 0 without rows."""
    return _likelihood(parts, parameters, parameters.shape[1]).value


def _part_extremes(part: LogisticRows) -> tuple[FloatArray, FloatArray]:
    """Return the largest absolute regressors of each group, and its smallest weight above 0."""
    starts = part.starts[:-1]
    largest = [np.maximum.reduceat(abs(column), starts) for column in part.columns]
    smallest = np.zeros(len(starts))
    if part.offset is None:
        smallest = np.minimum(
            *(
                np.minimum.reduceat(np.where(weight > 0, weight, np.inf), starts)
                for weight in (part.pos, part.neg)
            )
        )
    return np.stack(largest, axis=1), smallest


def _select_groups(parts: Sequence[LogisticRows], active: BoolArray) -> list[LogisticRows]:
    """Return the parts with active groups, without the other rows if they are many."""
    selected = [active[part.groups] for part in parts]
    return [
        # Otherwise, a copy of the rows would take more time than it saves.
        part.of_groups(mask) if 2 * np.count_nonzero(mask) < len(mask) else part
        for part, mask in zip(parts, selected, strict=True)
        if mask.any()
    ]


def _halve_steps(
    parts: Sequence[LogisticRows],
    parameters: FloatArray,
    steps: FloatArray,
    before: _Likelihood,
    active: BoolArray,
) -> tuple[FloatArray, _Likelihood]:
    """Return parameters and likelihood after a Newton step, halved until it does not decrease."""
    after = _likelihood(parts, parameters + steps, steps.shape[1])
    for _ in range(MAX_STEP_HALVINGS):
        decreases = active & ~(
            after.value >= before.value - LIKELIHOOD_ROUNDING * abs(before.value)
        )
        if not decreases.any():
            break
        steps = np.where(decreases[:, None], steps / 2, steps)
        again = _likelihood(_select_groups(parts, decreases), parameters + steps, steps.shape[1])
        for values, new_values in zip(after, again, strict=True):
            values[decreases] = new_values[decreases]
    return parameters + steps, after


def _likelihood(
    parts: Sequence[LogisticRows], parameters: FloatArray, n_columns: int
) -> _Likelihood:
    """Return the log likelihood of the groups in `parts`; 0 for all other groups."""
    n_groups = len(parameters)
    total = _Likelihood(
        np.zeros(n_groups),
        np.zeros((n_groups, n_columns)),
        np.zeros((n_groups, n_columns, n_columns)),
    )
    results = run_parallel(
        lambda part: _part_likelihood(part, parameters[part.groups]), parts, arrays_only=True
    )
    for part, result in zip(parts, results, strict=True):
        for values, part_values in zip(total, result, strict=True):
            values[part.groups] += part_values
    return total


def _part_likelihood(part: LogisticRows, parameters: FloatArray) -> _Likelihood:
    """Return the log likelihood of each group of a part; `parameters` has a row for each group."""
    lengths, starts, n_columns = np.diff(part.starts), part.starts[:-1], len(part.columns)
    predictor: Any = 0.0 if part.offset is None else part.offset
    for column, values in zip(part.columns, parameters.T, strict=True):
        predictor = predictor + column * (
            values[0] if len(values) == 1 else np.repeat(values, lengths)
        )
    # No exponential overflows, and no probability is computed as 1 minus the other, which would be
    # 0 after rounding.
    low, high = np.minimum(predictor, 0), np.maximum(predictor, 0)
    p, q = np.exp(low), np.exp(-high)
    decay = p * q
    larger = 1 / (1 + decay)
    p *= larger
    q *= larger
    total = part.pos + part.neg
    residual = part.pos * q - part.neg * p
    information_weight = total * p * q
    value = part.pos * low - part.neg * high - total * np.log1p(decay)
    gradient = np.empty((len(lengths), n_columns))
    information = np.empty((len(lengths), n_columns, n_columns))
    for i, column in enumerate(part.columns):
        gradient[:, i] = np.add.reduceat(residual * column, starts)
        weighted = information_weight * column
        for j, other in enumerate(part.columns[: i + 1]):
            information[:, i, j] = information[:, j, i] = np.add.reduceat(weighted * other, starts)
    return _Likelihood(np.add.reduceat(value, starts), gradient, information)


def _newton_steps(gradient: FloatArray, information: FloatArray) -> FloatArray:
    """Return the Newton step of each group; NaN if the information matrix is singular."""
    scale = np.sqrt(np.diagonal(information, axis1=1, axis2=2))
    regular = np.flatnonzero(np.isfinite(scale).all(axis=1) & (scale > 0).all(axis=1))
    scaled = information[regular] / scale[regular, :, None] / scale[regular, None, :]
    is_independent = np.linalg.eigvalsh(scaled).min(axis=1, initial=1) > DEPENDENT
    regular, scaled = regular[is_independent], scaled[is_independent]
    scale = scale[regular]
    steps = np.full(gradient.shape, np.nan)
    solutions = np.linalg.solve(scaled, (gradient[regular] / scale)[:, :, None])
    steps[regular] = solutions[:, :, 0] / scale
    return steps


class Recalibration(NamedTuple):
    """Intercept and slope of each group, and whether scores are constant or classes separated."""

    intercept: FloatArray
    slope: FloatArray
    constant: BoolArray
    separated: BoolArray


def logistic_recalibration(scan: Scannable) -> Recalibration:
    """Return a and b of logit(P) = a + b·logit(score), without scores of 0 or 1."""
    parts = _finite_logits(scan, slope=True)
    lowest, highest = _class_ranges(parts, len(scan.totals.pos))
    overlap = (highest[0] > lowest[1]) & (highest[1] > lowest[0])
    intercept, slope = fit_logistic(parts, 2, overlap).T
    has_classes = np.isfinite(highest).all(axis=0)
    constant = has_classes & (lowest.min(axis=0) == highest.max(axis=0))
    return Recalibration(intercept, slope, constant, has_classes & ~overlap & ~constant)


def unit_slope_intercept(scan: Scannable) -> FloatArray:
    """Return a of logit(P) = a + logit(score), without scores of 0 or 1."""
    parts = _finite_logits(scan, slope=False)
    _, highest = _class_ranges(parts, len(scan.totals.pos))
    has_classes = np.isfinite(highest[0]) & np.isfinite(highest[1])
    return fit_logistic(parts, 1, has_classes)[:, 0]


def _finite_logits(scan: Scannable, *, slope: bool) -> list[LogisticRows]:
    """Return the rows of a recalibration, with the logit as regressor (`slope`) or as offset."""

    def block_rows(block: Block) -> LogisticRows:
        score = scan.codec.decode(block.codes)
        is_finite = (score > 0) & (score < 1)
        one, logit = ones(score), log_odds(score)
        return LogisticRows(
            groups=block.groups,
            starts=block.starts,
            pos=np.where(is_finite, block.pos, 0),
            neg=np.where(is_finite, block.neg, 0),
            columns=(one, logit) if slope else (one,),
            offset=None if slope else logit,
        )

    return scan.map(block_rows)


def _class_ranges(parts: Sequence[LogisticRows], n_groups: int) -> tuple[FloatArray, FloatArray]:
    """Return the lowest and highest last regressor of each class; infinite without rows."""
    lowest, highest = np.full((2, n_groups), np.inf), np.full((2, n_groups), -np.inf)
    for part in parts:
        groups, starts, values = part.groups, part.starts[:-1], part.columns[-1]
        for side, weight in enumerate((part.pos, part.neg)):
            low = np.minimum.reduceat(np.where(weight > 0, values, np.inf), starts)
            high = np.maximum.reduceat(np.where(weight > 0, values, -np.inf), starts)
            lowest[side, groups] = np.minimum(lowest[side, groups], low)
            highest[side, groups] = np.maximum(highest[side, groups], high)
    return lowest, highest


def ones(scores: FloatArray) -> FloatArray:
    """Return the regressor of the intercept, without a copy for each score."""
    return np.broadcast_to(1.0, scores.shape)


MAX_FITS = 256  # maximum number of scores of a group at which a local regression is computed
PAIRS = 1 << 17  # number of pairs of a fit and a point that a thread computes at a time
ROW_ROUNDING = 1e-7  # R adds this number before it rounds the number of rows down
NO_VARIANCE = 1e-12  # local regressions omit a polynomial term with a smaller mean square


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothCurve:
    """Event rates of groups, from the lowest to the highest score; linear between points."""

    groups: IntArray
    starts: IntArray
    score: FloatArray
    event_rate: FloatArray

    @property
    def group(self) -> IntArray:
        """The number of the group of each point."""
        return np.repeat(self.groups, np.diff(self.starts))

    def at(self, owner: IntArray, score: FloatArray) -> FloatArray:
        """Return event rates at scores of `groups[owner]`; constant beyond their range."""
        first, last = self.starts[owner], self.starts[owner + 1] - 1
        return interpolate_in_groups(self.score, self.event_rate, first, last, score)


def loess(points: Points, *, span: float = 2 / 3, degree: int = 1) -> SmoothCurve:
    """Return the local regression of the labels on the score in each group.

    A line (`degree=1`) or a parabola (`degree=2`) is fitted by least squares with the tricube
    weights (1 - (d/h)³)³ times the row weights. d is the distance to the score, and within h are
    the rows of `_neighborhood_shares`. With more than `MAX_FITS` points, half of the fits are
    evenly spaced in score, the others in rank.
    """
    fits = _fit_positions(points)
    owner = points.owner[fits]
    neighborhoods = _Neighborhoods.find(points, fits, _neighborhood_shares(points, span))

    def fit(part: slice) -> FloatArray:
        return _local_rate(*_local_moments(points, neighborhoods.of_fits(part), degree))

    pairs = np.append(0, np.cumsum(neighborhoods.ends - neighborhoods.starts))
    rates = run_parallel(fit, split_groups(pairs, PAIRS), arrays_only=True)
    return SmoothCurve(
        groups=points.groups,
        starts=group_starts(owner, len(points.groups)),
        score=points.score[fits],
        event_rate=np.concatenate([*rates, np.zeros(0)]).clip(0, 1),
    )


def _neighborhood_shares(points: Points, span: float) -> FloatArray:
    """Return the share of the row weight that a neighborhood has at least, for each group.

    Of n rows, it has floor(span * n), but at least 2, as in R's `lowess` and `loess`. If weights
    are not whole numbers, the share is `span`.
    """
    total = points.group_sums(points.weight)
    is_whole = points.group_sums((points.weight % 1 != 0).astype(float)) == 0
    n_rows = np.maximum(np.floor(span * total + ROW_ROUNDING), 2)
    return np.where(is_whole, np.minimum(n_rows / total, 1), span)


def _fit_positions(points: Points) -> IntArray:
    """Return the positions of the points at which local regressions are computed."""
    low, high = points.score[points.starts[:-1]], points.score[points.starts[1:] - 1]
    width = np.maximum(high - low, np.finfo(float).tiny)
    score = (points.score - low[points.owner]) / width[points.owner]
    return np.flatnonzero(is_cell_start(score, points.share, points.starts, MAX_FITS))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Neighborhoods:
    """The points `starts` to `ends` - 1 of each local regression, with a share of the weight."""

    score: FloatArray
    starts: IntArray
    ends: IntArray
    distance: FloatArray

    def of_fits(self, part: slice) -> _Neighborhoods:
        """Return the neighborhoods of some of the local regressions."""
        return _Neighborhoods(
            score=self.score[part],
            starts=self.starts[part],
            ends=self.ends[part],
            distance=self.distance[part],
        )

    @classmethod
    def find(cls, points: Points, fits: IntArray, share: FloatArray) -> _Neighborhoods:
        """Return the neighborhoods of points; `share` is their share of the row weight."""
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

        def right(first: IntArray) -> FloatArray:
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
) -> tuple[list[FloatArray], list[FloatArray]]:
    """Return the means of z to z**(2 * degree) and of label * z**i; z is a relative distance."""
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


def _local_rate(powers: list[FloatArray], products: list[FloatArray]) -> FloatArray:
    """Return the value at z = 0 of the polynomials with these moments (see `_local_moments`).

    It is the sum of the orthogonal polynomials 1, z - m₁ and z² - m₂ - β(z - m₁) at z = 0, each
    times the regression coefficient of the label on it. β is that of z² on z. A term is left out if
    it is almost 0 at all rows.
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
    result: FloatArray = rate + np.where(has_curvature, (beta * m1 - m2) * coefficient, 0)
    return result


# A kernel is applied on a grid of `MIN_NODES` to `MAX_NODES` nodes. Their number is multiplied by
# `GRID_FACTOR` until a bandwidth has `NODES_PER_BANDWIDTH` nodes, or 4 times as many for curves.
NODES_PER_BANDWIDTH = 20
MIN_NODES, MAX_NODES, GRID_FACTOR = 1 << 7, 1 << 15, 4
GRID_NUMBERS = 1 << 18  # number of nodes of all groups that a thread computes at a time
LARGEST_FREQUENCY = 3.0  # terms with a larger kσ are omitted: exp(-(πkσ)²/2) is 5e-20 for kσ = 3
MAX_ITERATIONS = 100
MIN_BANDWIDTH = 1e-3  # smallest automatic bandwidth of a curve
BANDWIDTH_ERROR = 1e-7  # the search for the smooth calibration error ends at this difference
NO_DENSITY = 1e-8  # a kernel estimate is undefined where the density of the scores is lower


def smooth_error(points: Points) -> FloatArray:
    """Return the smooth calibration error of each group in `points.groups`, the σ with σ = E(σ).

    E(σ), which falls, is the integral of |r(t)| over t from 0 to 1, and r(t) the weighted mean of
    (label - score)·K(t, score). K is the density of a normal distribution with mean `score` and
    standard deviation σ, reflected at 0 and 1. The absolute error is below 0.0001.
    """
    residual = points.pos - points.weight * points.score
    total = points.group_sums(points.weight)
    # E(σ) is at least the absolute mean residual, and at most the mean absolute residual.
    lower = np.abs(points.group_sums(residual) / total).clip(0, 1)
    upper = np.maximum(points.group_sums(np.abs(residual)) / total, lower).clip(0, 1)
    error: FloatArray = (lower + upper) / 2
    nodes = MIN_NODES
    selected = np.flatnonzero(upper - lower > BANDWIDTH_ERROR)
    while len(selected):

        def solve(part: IntArray, nodes: int = nodes) -> FloatArray:
            spectrum = _spectrum(points, residual, part, nodes) / total[part, None]
            return _solve_error(spectrum, lower[part], upper[part], error[part])

        errors = run_parallel(solve, _grid_parts(selected, nodes), arrays_only=True)
        error[selected] = np.concatenate(errors)
        nodes *= GRID_FACTOR
        if nodes > MAX_NODES:
            break
        selected = selected[error[selected] * nodes < NODES_PER_BANDWIDTH * GRID_FACTOR]
    return error


def _solve_error(
    spectrum: FloatArray, lower: FloatArray, upper: FloatArray, start: FloatArray
) -> FloatArray:
    """Return the σ between `lower` and `upper` for which σ = E(σ), for the spectra of groups."""
    result = start.copy()
    rows = np.arange(len(start))
    low, high = lower.copy(), upper.copy()
    sigma = start
    previous_sigma = previous_error = np.full(len(start), np.nan)
    for i in range(MAX_ITERATIONS):
        error = _mean_absolute(_smooth_spectrum(spectrum[rows], sigma))
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


def automatic_bandwidth(points: Points) -> FloatArray:
    """Return the smooth calibration error of each group, but at least `MIN_BANDWIDTH`."""
    return np.maximum(smooth_error(points), MIN_BANDWIDTH)


def kernel(points: Points, owner: IntArray, score: FloatArray, bandwidth: FloatArray) -> FloatArray:
    """Return the Nadaraya-Watson estimates of the event rate at scores of `groups[owner]`.

    `owner` is in rising order. The event rate at t is Σ K(t, score)·label / Σ K(t, score),
    weighted, with the kernel K of `smooth_error` and σ the `bandwidth` of the group. It is NaN
    where the density of the scores, smoothed with this kernel, is at most `NO_DENSITY`.
    """
    starts = group_starts(owner, len(points.groups))
    total = points.group_sums(points.weight)
    n_nodes = np.full(len(bandwidth), MIN_NODES)
    # A rate, unlike an integral of rates, does not average out the errors of single nodes.
    needed = 4 * NODES_PER_BANDWIDTH / bandwidth
    while (is_coarse := (n_nodes < needed) & (n_nodes < MAX_NODES)).any():
        n_nodes[is_coarse] *= GRID_FACTOR
    rate = np.full(len(score), np.nan)

    def estimate(part: IntArray) -> None:
        density, of_pos = (
            _smooth_spectrum(
                _spectrum(points, values, part, n_nodes[part[0]]) / total[part, None],
                bandwidth[part],
            )
            for values in (points.weight, points.pos)
        )
        has_rows = density > NO_DENSITY
        rates = np.where(has_rows, of_pos / np.where(has_rows, density, 1), np.nan)
        sizes = starts[part + 1] - starts[part]
        inside = concatenated_ranges(starts[part], sizes)
        row = np.repeat(np.arange(len(part)), sizes)
        rate[inside] = _interpolate_nodes(rates, row, score[inside])

    for size_of_grid in np.unique(n_nodes).tolist():
        selected = np.flatnonzero(n_nodes == size_of_grid)
        run_parallel(estimate, _grid_parts(selected, size_of_grid), arrays_only=True)
    return rate.clip(0, 1)


def _grid_parts(selected: IntArray, n_nodes: int) -> list[IntArray]:
    """Divide groups into parts with at most about `GRID_NUMBERS` nodes each."""
    most = max(1, GRID_NUMBERS // n_nodes)
    return [selected[i : i + most] for i in range(0, len(selected), most)]


def _spectrum(points: Points, values: FloatArray, part: IntArray, n_nodes: int) -> FloatArray:
    """Return Σ values·cos(πk·score) for groups (rows) and k from 0 to `n_nodes` (columns).

    Each value is divided between the two nearest of `n_nodes` + 1 evenly spaced scores.
    """
    sizes = points.starts[part + 1] - points.starts[part]
    inside = concatenated_ranges(points.starts[part], sizes)
    node_position = points.score[inside] * n_nodes
    left = np.minimum(node_position.astype(np.int64), n_nodes - 1)
    share = node_position - left
    left += np.repeat(np.arange(len(part)) * (n_nodes + 1), sizes)
    mass = values[inside]
    length = len(part) * (n_nodes + 1)
    halves = (
        np.bincount(left, mass * (1 - share), length),
        np.bincount(left + 1, mass * share, length),
    )
    grid: FloatArray = np.add(*halves).reshape(len(part), n_nodes + 1)
    grid[:, 1:-1] /= 2
    spectrum: FloatArray = dct(grid, type=1, axis=1)
    return spectrum


def _smooth_spectrum(spectrum: FloatArray, sigma: FloatArray) -> FloatArray:
    """Return the smoothed values at the nodes, for each row of `spectrum` and its bandwidth.

    The reflected kernel is 1 + 2 Σ exp(-(πkσ)²/2)·cos(πk·t)·cos(πk·score), summed over k ≥ 1.
    """
    # Terms with a larger k are below the rounding error of the others.
    largest = min(int(LARGEST_FREQUENCY / sigma.min()) + 1, spectrum.shape[1]) if len(sigma) else 0
    terms = np.zeros_like(spectrum)
    damping = np.exp(-0.5 * np.multiply.outer(sigma, np.pi * np.arange(largest)) ** 2)
    np.multiply(spectrum[:, :largest], damping, out=terms[:, :largest])
    smoothed: FloatArray = dct(terms, type=1, axis=1)
    return smoothed


def _mean_absolute(values: FloatArray) -> FloatArray:
    """Return the integral of absolute values from 0 to 1 by the trapezoidal rule."""
    sizes = np.abs(values)
    total = sizes.sum(axis=1) - (sizes[:, 0] + sizes[:, -1]) / 2
    mean: FloatArray = total / (values.shape[1] - 1)
    return mean


def _interpolate_nodes(values: FloatArray, row: IntArray, at: FloatArray) -> FloatArray:
    """Return values at scores, by interpolation between the evenly spaced nodes of each row."""
    n_nodes = values.shape[1] - 1
    node_position = at * n_nodes
    left = np.minimum(node_position.astype(np.int64), n_nodes - 1)
    x = (left.astype(np.float64), left + 1.0)
    return interpolate_segments(x, (values[row, left], values[row, left + 1]), node_position)
