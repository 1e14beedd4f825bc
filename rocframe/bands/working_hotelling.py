"""Curves → simultaneous bands around binormal fits.

On normal-deviate axes the fit is a straight line, and Working and Hotelling's band of a line holds
at all points at once.

References
----------
G. Ma, W. J. Hall (1993), "Confidence bands for receiver operating characteristic curves", Medical
Decision Making 13(3), 191-197. doi:10.1177/0272989X9301300304
"""

from __future__ import annotations

from math import log, sqrt
from typing import TYPE_CHECKING

import numpy as np

from rocframe.bands.binormal import Binormal, fitted
from rocframe.bands.limits import Limits
from rocframe.bands.ratings import Ratings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.bands.asked import Asked
    from rocframe.bands.curves import Curves


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
