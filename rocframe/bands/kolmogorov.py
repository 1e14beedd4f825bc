"""Curves → simultaneous bands from the largest distances of both score distributions.

With confidence √level each, the whole distribution of the negatives' scores is within d₀ of that
of the sample, and the positives' within d₁. Classes are independent, so with confidence `level`
every point of the true curve lies in a rectangle of half-widths d₀ and d₁ around a point of the
sample's curve, whatever the two distributions are.

References
----------
G. Campbell (1994), "Advances in statistical methodology for the evaluation of diagnostic and
laboratory tests", Statistics in Medicine 13(5-7), 499-508. doi:10.1002/sim.4780130513
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocframe.bands.limits import Limits, within

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.bands.asked import Asked
    from rocframe.bands.curves import Curves

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
