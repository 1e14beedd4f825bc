"""Kernel estimates of the event rate, and smooth ECE (Błasiok and Nakkiran 2023).

References
----------
J. Błasiok, P. Nakkiran (2023), "Smooth ECE: principled reliability diagrams via kernel smoothing",
arXiv:2309.12236. doi:10.48550/arXiv.2309.12236
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.fft import dct

from rocframe.kernel.groups import group_starts
from rocframe.kernel.interpolate import interpolate_segments
from rocframe.kernel.sort import concatenated_ranges
from rocframe.kernel.threads import run_parallel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.probabilities.score_points import Points

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

        errors = run_parallel(solve, _grid_parts(selected, nodes), arrays_only=True)
        error[selected] = np.concatenate(errors)
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


def automatic_bandwidth(points: Points) -> NDArray[np.float64]:
    """Return the smooth calibration error of each group, but at least `MIN_BANDWIDTH`."""
    return np.maximum(smooth_error(points), MIN_BANDWIDTH)


def kernel(
    points: Points,
    owner: NDArray[np.int64],
    score: NDArray[np.float64],
    bandwidth: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the Nadaraya-Watson estimates of the event rate at scores of `groups[owner]`.

    `owner` is in rising order. The event rate at a score t is Σ K(t, score)·label / Σ K(t, score),
    where each row has its row weight, and K is the kernel of `smooth_error`. Its standard deviation
    σ is the `bandwidth` of the group. The event rate is NaN where the density of the scores,
    smoothed with the same kernel, is at most `NO_DENSITY`.
    """
    starts = group_starts(owner, len(points.groups))
    total = points.group_sums(points.weight)
    n_nodes = np.full(len(bandwidth), MIN_NODES)
    # A rate, unlike an integral of rates, does not average out the errors of single nodes.
    needed = 4 * NODES_PER_BANDWIDTH / bandwidth
    while (is_coarse := (n_nodes < needed) & (n_nodes < MAX_NODES)).any():
        n_nodes[is_coarse] *= GRID_FACTOR
    rate = np.full(len(score), np.nan)

    def estimate(part: NDArray[np.int64]) -> None:
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


def _grid_parts(selected: NDArray[np.int64], n_nodes: int) -> list[NDArray[np.int64]]:
    """Divide groups into parts with at most about `GRID_NUMBERS` nodes each."""
    most = max(1, GRID_NUMBERS // n_nodes)
    return [selected[i : i + most] for i in range(0, len(selected), most)]


def _spectrum(
    points: Points, values: NDArray[np.float64], part: NDArray[np.int64], n_nodes: int
) -> NDArray[np.float64]:
    """Return Σ values·cos(πk·score) for groups (rows) and k (columns).

    `part` are the positions of the groups in `points.groups`, and k is 0 to `n_nodes`. Each value
    is divided between the two nearest of `n_nodes` + 1 evenly spaced scores from 0 to 1.
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
    grid: NDArray[np.float64] = np.add(*halves).reshape(len(part), n_nodes + 1)
    grid[:, 1:-1] /= 2
    spectrum: NDArray[np.float64] = dct(grid, type=1, axis=1)
    return spectrum


def _smooth_spectrum(
    spectrum: NDArray[np.float64], sigma: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the smoothed values at the nodes, for each row of `spectrum` and its bandwidth.

    The reflected kernel is 1 + 2 Σ exp(-(πkσ)²/2)·cos(πk·t)·cos(πk·score), summed over k ≥ 1.
    """
    # Terms with a larger k are below the rounding error of the others.
    largest = min(int(LARGEST_FREQUENCY / sigma.min()) + 1, spectrum.shape[1]) if len(sigma) else 0
    terms = np.zeros_like(spectrum)
    damping = np.exp(-0.5 * np.multiply.outer(sigma, np.pi * np.arange(largest)) ** 2)
    np.multiply(spectrum[:, :largest], damping, out=terms[:, :largest])
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
