"""What the ratings of one class say of the cutoffs between them, where that class is normal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Side:
    """Derivatives of the log-likelihood Σ count · log(Φ(upper) - Φ(lower)) by the cutoffs.

    `slope` is the first; `along` minus the second; `across` minus the mixed one of a cutoff and
    the next, which is 0 between groups.
    """

    slope: NDArray[np.float64]
    along: NDArray[np.float64]
    across: NDArray[np.float64]

    @staticmethod
    def likelihood(
        count: NDArray[np.float64], upper: NDArray[np.float64], firsts: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return the log-likelihood of each rating."""
        share = _between(_lower(upper, firsts), upper)
        possible = np.maximum(share, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            made: NDArray[np.float64] = np.where(count > 0, count * np.log(possible), 0.0)
        return np.where(np.isnan(made), -np.inf, made)

    @classmethod
    def of(
        cls, count: NDArray[np.float64], upper: NDArray[np.float64], firsts: NDArray[np.int64]
    ) -> Side:
        """Work them out for ratings that all have a share above 0 where they have a count."""
        lower = _lower(upper, firsts)
        share = _between(lower, upper)
        high, low = (np.exp(-0.5 * end * end) / np.sqrt(2 * np.pi) for end in (upper, lower))
        some = (count > 0) & (share > 0)
        share = np.where(some, share, 1.0)
        high, low = np.where(some, high / share, 0.0), np.where(some, low / share, 0.0)
        # Of a normal variable between two cutoffs the mean lies between them, rounding or not:
        # so the matrix of second derivatives stays what it is, positive definite.
        mean = np.clip(low - high, lower, upper)
        with np.errstate(invalid="ignore"):
            from_upper = np.where(high > 0, high * (upper - mean), 0.0)
            from_lower = np.where(low > 0, low * (mean - lower), 0.0)
        joint = count * high * low
        before = np.append((count * from_lower + joint)[1:], 0.0)
        return cls(
            slope=count * high - np.append((count * low)[1:], 0.0),
            along=count * from_upper + joint + before,
            across=-np.append(joint[1:], 0.0),
        )

    def times(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Multiply the matrix of minus the second derivatives by a value of each cutoff."""
        product = self.along * values
        product[:-1] += self.across[:-1] * values[1:]
        product[1:] += self.across[:-1] * values[:-1]
        return product


def _lower(upper: NDArray[np.float64], firsts: NDArray[np.int64]) -> NDArray[np.float64]:
    lower = np.empty_like(upper)
    lower[1:] = upper[:-1]
    lower[firsts] = -np.inf
    return lower


def _between(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of a standard normal variable between two cutoffs."""
    from scipy.special import ndtr

    # Differences of small numbers, not of numbers close to 1.
    turn = lower > 0
    share: NDArray[np.float64] = ndtr(np.where(turn, -lower, upper)) - ndtr(
        np.where(turn, -upper, lower)
    )
    return share
