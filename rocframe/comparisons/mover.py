"""Test of the difference of two areas, with limits that combine Newcombe's limits of each area.

The limits of the difference are those of MOVER, the "method of variance estimates recovery" of Zou
and Donner (2008), with quantiles of the t distribution instead of the normal distribution. Near an
area of 1, the limits of an area are asymmetric, and so are the limits of the difference. The test
rejects a true null hypothesis less often than DeLong's test if there are few rows or the areas are
near 1.

References
----------
G. Y. Zou, A. Donner (2008), "Construction of confidence limits about effect measures: a general
approach", Statistics in Medicine 27(10), 1693-1702. doi:10.1002/sim.3095
R. G. Newcombe (2006), "Confidence intervals for an effect size measure based on the Mann-Whitney
statistic. Part 2", Statistics in Medicine 25(4), 559-573. doi:10.1002/sim.2324
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.comparisons.delong import paired_areas
from rocframe.comparisons.hypothesis import difference_columns
from rocframe.comparisons.unpaired import welch_variance
from rocframe.inference.confidence import Estimate, newcombe
from rocframe.inference.p_values import normal_p_value
from rocframe.kernel.threads import run_parallel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.comparisons.hypothesis import Hypothesis, PairedComparison
    from rocframe.comparisons.unpaired import UnpairedEstimates


# The combined limits are not always a monotone function of z. The smallest z at which a limit is
# equal to the null hypothesis is found in steps, and then by bisection.
STEPS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0, 12.0, 38.0)
STEP_HALVINGS = 36


def newcombe_paired(comparison: PairedComparison) -> list[dict[str, Any]]:
    """Return the columns of the test of each pair of models that scored the same rows."""
    batch, hypothesis = comparison.batch, comparison.hypothesis
    areas = paired_areas(batch, None)
    own = {model: areas.variance(batch.models.index(model)).total for model in batch.models}
    sizes, pairs = (areas.n_pos, areas.n_neg), comparison.pairs

    def compare_pair(pair: tuple[int, int]) -> tuple[NDArray[np.float64], ...]:
        a, b = (batch.models.index(model) for model in pair)
        variance, (of_a, of_b) = areas.variance(a, b), (own[model] for model in pair)
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = (of_a + of_b - variance.total) / (2 * np.sqrt(of_a * of_b))
        return areas.area[a], areas.area[b], variance.total, areas.df(variance), correlation

    # The limits of all pairs are computed together, because each step of the search for them is
    # slow for few groups.
    a, b, variance, df, correlation = map(
        np.concatenate, zip(*run_parallel(compare_pair, pairs), strict=True)
    )
    repeated = np.tile(sizes[0], len(pairs)), np.tile(sizes[1], len(pairs))
    difference = AreaDifference(
        a=a,
        b=b,
        sizes_a=repeated,
        sizes_b=repeated,
        correlation=np.clip(np.nan_to_num(correlation), -1, 1),
    )
    columns = difference.columns(hypothesis, variance, df)
    return [
        comparison.record(
            pair,
            {name: values[rows] for name, values in columns.items()},
            rows=sizes,
            units=areas.units,
            variance=variance[rows],
        )
        for i, pair in enumerate(pairs)
        for rows in [slice(i * len(sizes[0]), (i + 1) * len(sizes[0]))]
    ]


def newcombe_unpaired(
    a: UnpairedEstimates, b: UnpairedEstimates, hypothesis: Hypothesis
) -> dict[str, NDArray[np.float64]]:
    """Return the columns of the test for the estimates of two independent samples."""
    difference = AreaDifference(
        a=a.value,
        b=b.value,
        sizes_a=(a.n_pos, a.n_neg),
        sizes_b=(b.n_pos, b.n_neg),
        correlation=np.zeros(len(a.groups)),
    )
    return difference.columns(hypothesis, *welch_variance(a, b))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AreaDifference:
    """Two areas of each group, their class sizes, and the correlation of their estimates.

    The correlation is 0 if the rows are different, or if the estimate of a variance is 0.
    """

    a: NDArray[np.float64]
    b: NDArray[np.float64]
    sizes_a: tuple[NDArray[np.int64], NDArray[np.int64]]
    sizes_b: tuple[NDArray[np.int64], NDArray[np.int64]]
    correlation: NDArray[np.float64]

    def columns(
        self, hypothesis: Hypothesis, variance: NDArray[np.float64], df: NDArray[np.float64]
    ) -> dict[str, NDArray[np.float64]]:
        """Return the areas, their difference with limits, and the test of the null hypothesis.

        `variance` is DeLong's variance of the difference, and `df` are its degrees of freedom.
        Limits and p-values are NaN if the variance is NaN. If it is 0, `df` is that of the smallest
        class.
        """
        from scipy.special import stdtrit

        columns = difference_columns(hypothesis, (self.a, self.b), variance, df)
        undefined = np.isnan(variance)
        smallest = np.minimum.reduce([*self.sizes_a, *self.sizes_b])
        df = np.where(variance > 0, df, np.maximum(smallest - 1, 1))
        lower, upper = self.limits(stdtrit(df, (1 + hypothesis.level) / 2))
        statistic = self._statistic(hypothesis.null)
        statistic[undefined] = np.nan
        return columns | {
            "lower": np.where(undefined, np.nan, lower),
            "upper": np.where(undefined, np.nan, upper),
            "statistic": statistic,
            "p_value": normal_p_value(statistic, hypothesis.alternative, df),
        }

    def limits(self, z: float | NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Return the limits of the difference a - b, for a quantile `z` of the reference."""
        a = Estimate(self.a, *newcombe(self.a, *self.sizes_a, z))
        b = Estimate(self.b, *newcombe(self.b, *self.sizes_b, z))
        difference = a.minus(b, self.correlation)
        return difference.lower, difference.upper

    def _statistic(self, null: float) -> NDArray[np.float64]:
        """Return the smallest z for which a limit is `null`, negative if the difference is below.

        If no limit is `null`, the largest of `STEPS` is returned.
        """
        is_above = self.a - self.b > null

        def reaches(z: NDArray[np.float64]) -> NDArray[np.bool_]:
            lower, upper = self.limits(z)
            result: NDArray[np.bool_] = np.where(is_above, lower <= null, upper >= null)
            return result

        low, high = np.zeros(len(self.a)), np.full(len(self.a), STEPS[-1])
        is_reached = np.zeros(len(self.a), bool)
        for step in STEPS:
            here = ~is_reached & reaches(np.full(len(self.a), step))
            high[here] = step
            is_reached |= here
            low[~is_reached] = step
        for _ in range(STEP_HALVINGS):
            middle = (low + high) / 2
            is_beyond = reaches(middle)
            high = np.where(is_beyond, middle, high)
            low = np.where(is_beyond, low, middle)
        return np.where(is_above, high, -high)
