"""Test statistics → p-values of one side, or of both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from rocframe.options import check_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

Alternative = Literal["two-sided", "greater", "less"]


def check_alternative(alternative: str) -> None:
    """Check the option `alternative`."""
    check_choice("alternative", alternative, get_args(Alternative))


def normal(
    statistic: NDArray[np.float64],
    alternative: Alternative,
    df: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return how likely a standard normal number is to lie as far out, or a t with `df` degrees."""
    from scipy.special import ndtr, stdtr

    def below(value: NDArray[np.float64]) -> NDArray[np.float64]:
        share: NDArray[np.float64] = ndtr(value) if df is None else stdtr(df, value)
        # A t without degrees of freedom is that of a difference that is surely 0.
        return np.where(value == 0, 0.5, share)

    if alternative == "two-sided":
        return 2 * below(-np.abs(statistic))
    return below(-statistic if alternative == "greater" else statistic)


def as_extreme(
    drawn: NDArray[Any], observed: NDArray[Any] | int, alternative: Alternative
) -> NDArray[np.bool_]:
    """Say of each drawn value, which is 0 on average, whether it lies as far out."""
    if alternative == "two-sided":
        far: NDArray[np.bool_] = np.abs(drawn) >= np.abs(observed)
    else:
        far = drawn >= observed if alternative == "greater" else drawn <= observed
    return far
