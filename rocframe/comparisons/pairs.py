"""Areas and variances of pairs of models → statistics, limits and p-values.

References
----------
B. L. Welch (1947), "The generalization of 'Student's' problem when several different population
variances are involved", Biometrika 34(1-2), 28-35. doi:10.1093/biomet/34.1-2.28
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocframe.errors import OptionValueError
from rocframe.inference.intervals import notes, quantile
from rocframe.inference.p_values import Alternative, check_alternative, normal
from rocframe.options import as_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.inference.p_values import Alternative


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of each pair: the null value of the difference, which side, what limits."""

    null: float
    alternative: Alternative
    level: float
    margin: bool = False

    @classmethod
    def of(
        cls, margin: float | None, alternative: Alternative, level: float, *, falling: bool = False
    ) -> Question:
        """Check the options that say so.

        A margin asks whether b is not worse than a by that much: whether a − b is below it, or
        above its negative where small numbers are the good ones (`falling`).
        """
        check_alternative(alternative)
        if margin is None:
            return cls(null=0.0, alternative=alternative, level=level)
        size = as_number(margin)
        if size is None or not 0 <= size < 1:
            raise OptionValueError.of(
                "margin", margin, "it is no difference from 0 to 1", "Give one, say margin=0.02."
            )
        if alternative != "two-sided":
            raise OptionValueError.of(
                "alternative",
                alternative,
                "margin= asks for one side already: whether b is not worse than a",
                "Leave one of the two out.",
            )
        if falling:
            return cls(null=-size, alternative="greater", level=level, margin=True)
        return cls(null=size, alternative="less", level=level, margin=True)

    def statistic(
        self, difference: NDArray[np.float64], variance: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return how many standard errors a difference is from its null value.

        Without variance it is 0 where there is no difference and none is the null value, and
        undefined elsewhere.
        """
        off = difference - self.null
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = off / np.sqrt(variance)
        sure = variance == 0
        statistic[sure] = np.where((difference[sure] == 0) & (off[sure] == 0), 0.0, np.nan)
        return statistic

    def limits(
        self,
        difference: NDArray[np.float64],
        se: NDArray[np.float64],
        df: NDArray[np.float64] | None = None,
        *,
        largest: float = 1.0,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return Wald's limits of a difference, clipped to what differences can be."""
        from scipy.special import stdtrit

        z = quantile(self.level) if df is None else stdtrit(df, (1 + self.level) / 2)
        return (
            np.clip(difference - z * se, -largest, largest),
            np.clip(difference + z * se, -largest, largest),
        )

    def answer(
        self,
        difference: NDArray[np.float64],
        variance: NDArray[np.float64],
        df: NDArray[np.float64] | None = None,
        *,
        largest: float = 1.0,
    ) -> dict[str, NDArray[np.float64]]:
        """Return the columns of a test that has a variance; NaN is what is undefined."""
        se = np.sqrt(np.where(variance > 0, variance, np.nan))
        statistic = self.statistic(difference, variance)
        lower, upper = self.limits(difference, se, df, largest=largest)
        p_value = normal(statistic, self.alternative, df)
        if self.margin:  # models that order rows alike are within any margin
            p_value[(variance == 0) & (difference == 0) & np.isnan(statistic)] = 0.0
        return {
            "difference": difference,
            "se": se,
            "lower": lower,
            "upper": upper,
            "statistic": statistic,
            "df": np.full(len(se), np.nan) if df is None else np.where(variance > 0, df, np.nan),
            "p_value": p_value,
        }


def welch(
    variances: tuple[NDArray[np.float64], NDArray[np.float64]],
    rows: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> NDArray[np.float64]:
    """Return the degrees of freedom of a difference of two independent areas."""
    with np.errstate(divide="ignore", invalid="ignore"):
        own = [variance**2 / (size - 1) for variance, size in zip(variances, rows, strict=True)]
        df: NDArray[np.float64] = (variances[0] + variances[1]) ** 2 / (own[0] + own[1])
    return df


def pair_notes(
    units: tuple[NDArray[np.int64], NDArray[np.int64]],
    variance: NDArray[np.float64] | None,
    unmatched: NDArray[np.int64],
    redrawn: NDArray[np.int64] | None = None,
) -> NDArray[np.object_]:
    """Say of each group what keeps a pair from having all its numbers, or what was left out."""
    found = notes(*units, variance)
    for name, rows in (("redrawn", redrawn), ("unmatched", unmatched)):
        for i in np.flatnonzero(0 if rows is None else rows):
            found[i] = found[i] or f"{name}:{rows[i]}"  # type: ignore[index]
    return found
