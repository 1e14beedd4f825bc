"""p-values → p-values adjusted for how many tests a family has.

References
----------
S. Holm (1979), "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6(2), 65-70.
Y. Benjamini, Y. Hochberg (1995), "Controlling the false discovery rate: a practical and powerful
approach to multiple testing", Journal of the Royal Statistical Society B 57(1), 289-300.
doi:10.1111/j.2517-6161.1995.tb02031.x
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rocframe.options import check_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

Adjust = Literal["holm", "bh"]


def check_adjust(adjust: str | None) -> None:
    """Check the option `adjust`."""
    check_choice("adjust", adjust, (*get_args(Adjust), None))


def adjusted(
    p_values: NDArray[np.float64], families: NDArray[Any], adjust: Adjust | None
) -> NDArray[np.float64]:
    """Adjust p-values over the family of each; NaN is no test, and stays.

    `families` says by a number which family a test belongs to.
    """
    result = np.full(len(p_values), np.nan)
    tests = np.flatnonzero(~np.isnan(p_values))
    if adjust is None or not len(tests):
        result[tests] = p_values[tests]
        return result
    tests = tests[np.lexsort((p_values[tests], families[tests]))]
    family, p = families[tests], p_values[tests]
    fresh = np.append(True, family[1:] != family[:-1])
    starts = np.flatnonzero(fresh)
    sizes = np.diff(np.append(starts, len(tests)))
    size = np.repeat(sizes, sizes)
    rank = np.arange(len(tests)) - np.repeat(starts, sizes)
    if adjust == "holm":
        steps = _running_maximum(p * (size - rank), starts)
    else:
        backwards = len(tests) - (starts + sizes)[::-1]
        steps = -_running_maximum(-(p * size / (rank + 1))[::-1], backwards)[::-1]
    result[tests] = np.minimum(steps, 1.0)
    return result


def _running_maximum(values: NDArray[np.float64], starts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the largest value so far within each family."""
    result = values.copy()
    ends = np.append(starts[1:], len(values))
    step, longest = 1, int((ends - starts).max())
    place = np.arange(len(values)) - np.repeat(starts, ends - starts)
    while step < longest:  # doubling: each pass looks twice as far back
        near = place >= step
        before = np.flatnonzero(near) - step
        result[near] = np.maximum(result[near], result[before])
        step *= 2
    return result
