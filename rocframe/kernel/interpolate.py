"""Linear interpolation between neighboring points of each group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rocframe.kernel.bisection import grouped_bisect

if TYPE_CHECKING:
    from numpy.typing import NDArray


def interpolate_in_groups(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    first: NDArray[np.int64],
    last: NDArray[np.int64],
    at: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return y at the values `at` of x, each interpolated between the points of one group.

    The points of the group of a value are those from `first` to `last`, including both, with rising
    x. Below the lowest x of the group, the result is the y of the first point. Above the highest x,
    it is the y of the last point.
    """
    after = grouped_bisect(lambda i: x[i] <= at, first, last)
    low, high = np.clip(after - 1, first, last), np.clip(after, first, last)
    return interpolate_segments((x[low], x[high]), (y[low], y[high]), at)


def interpolate_segments(
    x: tuple[NDArray[np.float64], NDArray[np.float64]],
    y: tuple[NDArray[np.float64], NDArray[np.float64]],
    at: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return y at the values `at` of x, each on the segment between two points.

    `x` and `y` have the coordinates of the points with the lower x and of those with the higher x.
    Outside the segment, the result is the y of the nearest point. If both points have the same x,
    it is the y of the first point. Between an infinite and a finite x, it is the y of the point
    with the finite x. Between two infinite x, it is the mean of both y. At the finite x of one
    point, it is the y of this point, even if the y of the other point is NaN.
    """
    (x0, x1), (y0, y1) = x, y
    # Halves of finite numbers do not overflow.
    with np.errstate(divide="ignore", invalid="ignore"):
        share = ((at / 2 - x0 / 2) / (x1 / 2 - x0 / 2)).clip(0, 1)
    share = np.where(np.isinf(x0), np.where(np.isinf(x1), 0.5, 1.0), share)
    share = np.where((x0 == x1) | (at == x0), 0.0, share)
    with np.errstate(invalid="ignore"):
        values = np.clip(y0 + share * (y1 - y0), np.minimum(y0, y1), np.maximum(y0, y1))
    result: NDArray[np.float64] = np.where(share == 0, y0, np.where(share == 1, y1, values))
    return result
