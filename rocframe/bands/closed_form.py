"""Bands in closed form: binomial, Kolmogorov-Smirnov and Working-Hotelling."""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from rocframe.bands.binormal import Binormal, Ratings, fitted
from rocframe.bands.grid import Limits, within
from rocframe.inference.confidence import wilson

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.bands.grid import Asked, Curves


def binomial(curves: Curves, asked: Asked, level: float) -> Limits:
    """Return Wilson's limits of the height of the curve at each false positive rate.

    They are those of a fixed threshold: that the threshold of a false positive rate is itself
    estimated does not widen them.
    """
    tpr = curves.heights(asked.group, asked.fpr)
    n_pos = curves.n_pos[asked.group]
    lower, upper = wilson(tpr * n_pos, n_pos, level)
    return Limits(tpr=tpr, lower=lower, upper=upper)


def threshold(curves: Curves, asked: Asked, level: float) -> Limits:
    """Return Wilson's limits of both rates at each threshold."""
    nothing = np.where(asked.row < 0, np.nan, 0.0)
    tpr, fpr = (nothing + rate[asked.row] for rate in (curves.tpr, curves.fpr))
    n_pos, n_neg = curves.n_pos[asked.group], curves.n_neg[asked.group]
    lower, upper = wilson(tpr * n_pos, n_pos, level)
    fpr_lower, fpr_upper = wilson(fpr * n_neg, n_neg, level)
    return Limits(tpr=tpr, lower=lower, upper=upper, fpr_lower=fpr_lower, fpr_upper=fpr_upper)


TOUCH = 1e-9  # where a border just touches a jump rounding must not decide on which side it is


def kolmogorov_smirnov(curves: Curves, asked: Asked, level: float) -> Limits:
    """Return the limits of the region that all these rectangles cover together."""
    left_right = largest_distance(curves.n_neg, level)[asked.group]
    up_down = largest_distance(curves.n_pos, level)[asked.group]
    return displaced(curves, asked, left_right, up_down)


def displaced(
    curves: Curves,
    asked: Asked,
    left_right: NDArray[np.float64],
    up_down: NDArray[np.float64],
) -> Limits:
    """Return the limits that the curve draws when it is moved up and left, and down and right."""
    group, fpr = asked.group, asked.fpr
    lower = curves.heights(group, fpr - left_right - TOUCH, jump="worse") - up_down
    upper = curves.heights(group, fpr + left_right + TOUCH) + up_down
    return Limits(tpr=curves.heights(group, fpr), lower=within(lower), upper=within(upper))


def largest_distance(n: NDArray[np.int64], level: float) -> NDArray[np.float64]:
    """Return the quantile, at √level, of the largest distance of n scores to their distribution.

    It is that of a continuous distribution; with ties the distance is smaller.
    """
    from scipy.stats import kstwo

    sizes, place = np.unique(n, return_inverse=True)
    some = sizes > 0
    distance = np.full(len(sizes), np.nan)
    distance[some] = kstwo.isf(1 - np.sqrt(level), sizes[some])
    found: NDArray[np.float64] = distance[place]
    return found


def working_hotelling(curves: Curves, asked: Asked, level: float) -> Limits:
    """Return the fitted curve and its limits."""
    from scipy.special import ndtr, ndtri

    ratings = Ratings.of(curves)
    places = np.full(len(curves.n_pos), -1)
    places[ratings.groups] = np.arange(len(ratings.groups))
    fit = fitted(ratings)
    # A last group of NaN, for groups without one of the classes.
    a, b, var_a, var_b, cov = (np.append(part, np.nan)[places[asked.group]] for part in fit)
    x = ndtri(asked.fpr)
    radius = sqrt(-2 * log(1 - level))  # of the ellipse that holds both parameters
    lower, upper = line_limits(Binormal(a, b, var_a, var_b, cov), x, radius)
    with np.errstate(invalid="ignore"):
        tpr = ndtr(a + b * x)
    notes = np.full(len(curves.n_pos), None)
    notes[ratings.groups[np.isnan(fit.a)]] = "no_solution"
    return Limits(tpr=tpr, lower=ndtr(lower), upper=ndtr(upper), notes=notes)


def line_limits(
    fit: Binormal, x: NDArray[np.float64], radius: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the lowest and the highest line at `x` whose parameters lie in the ellipse.

    No curve falls. Where the lower limit does, to the right of its top, it stays at the top, and
    the upper limit stays at its bottom to the left of that: what all points of a rising curve
    keep to, they keep to then too.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        # σ²(x) = var_b (x - centre)² + least
        centre = -fit.cov_ab / fit.var_b
        least = np.maximum(fit.var_a - fit.cov_ab**2 / fit.var_b, 0)
        bend = fit.b / radius
        away = bend * np.sqrt(least / (fit.var_b * (fit.var_b - bend**2)))
        turns = fit.var_b > bend**2
        low_x = np.where(turns, np.minimum(x, centre + away), x)
        high_x = np.where(turns, np.maximum(x, centre - away), x)

        def line(at: NDArray[np.float64], sign: float) -> NDArray[np.float64]:
            half = radius * np.sqrt(fit.var_b * (at - centre) ** 2 + least)
            value: NDArray[np.float64] = fit.a + fit.b * at + sign * half
            # At the ends of the axis what grows faster wins: the line, as the limits do not turn.
            return np.where(np.isinf(at) & ~np.isnan(fit.a), at, value)

        return line(low_x, -1.0), line(high_x, 1.0)
