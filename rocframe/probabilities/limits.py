"""Confidence limits and consistency limits of the event rates of a calibration curve.

References
----------
J. Bröcker, L. A. Smith (2007), "Increasing the reliability of reliability diagrams", Weather and
Forecasting 22(3), 651-661. doi:10.1175/WAF993.1
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rocframe.inference.bootstrap import batched_replicates, column_limits
from rocframe.inference.confidence import clopper_pearson, wilson
from rocframe.kernel.bisection import grouped_bisect
from rocframe.kernel.groups import group_starts
from rocframe.kernel.interpolate import interpolate_segments
from rocframe.kernel.resample import GroupRows, ReplicateCounts, ReplicateStatistic, resample_groups
from rocframe.kernel.scan import BLOCK_ROWS
from rocframe.kernel.threads import run_parallel
from rocframe.probabilities.bins import isotonic_rates, score_steps
from rocframe.probabilities.poisson_binomial import positive_count_limits

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.inference.bootstrap import ColumnLimits
    from rocframe.kernel.resample import RandomDraws, ReplicateScan
    from rocframe.kernel.scan import Scan
    from rocframe.probabilities.bins import Bins

MAX_DRAWN_NUMBERS = 1 << 21  # largest number of random numbers that a thread keeps in memory


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class EventRates:
    """The event rates of all groups: of bins or at points, by group and rising score.

    `index` is the number of the bin or point within its group, from 0. `score` is the mean score of
    the bin, or the score of the point. `bins` are the bins, or None for points.
    `depends_on_labels` is True if the labels determine the bins or points.

    `of_replicates(sample, own)` returns the event rates of the replicates of a group (rows) for the
    bins or points `own` of the group (columns).
    """

    group: NDArray[np.int64]
    index: NDArray[np.int64]
    score: NDArray[np.float64]
    event_rate: NDArray[np.float64]
    bins: Bins | None
    depends_on_labels: bool
    of_replicates: Callable[[ReplicateScan, slice], NDArray[np.float64]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RateLimits:
    """Confidence limits of each event rate; NaN if undefined.

    `constant` is True if all resamples have the same event rate. `wilson` is True if bootstrap
    limits are replaced by Wilson's limits. `n_redrawn` is the number of resamples that were drawn
    again, or were omitted because their event rate is undefined.
    """

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    constant: NDArray[np.bool_]
    wilson: NDArray[np.bool_]
    n_redrawn: NDArray[np.int64]

    @classmethod
    def undefined(cls, size: int) -> RateLimits:
        """Return limits that are NaN."""
        return cls(
            lower=np.full(size, np.nan),
            upper=np.full(size, np.nan),
            constant=np.zeros(size, bool),
            wilson=np.zeros(size, bool),
            n_redrawn=np.zeros(size, np.int64),
        )

    @classmethod
    def from_parts(cls, parts: Sequence[ColumnLimits]) -> RateLimits:
        """Return the limits of consecutive parts of the bins; undefined replicates are omitted."""
        limits = cls.undefined(sum(len(part.lower) for part in parts))
        if not parts:
            return limits
        lower, upper, constant, n_undefined = map(np.concatenate, zip(*parts, strict=True))
        return replace(limits, lower=lower, upper=upper, constant=constant, n_redrawn=n_undefined)


def confidence_limits(
    scan: Scan, rates: EventRates, ci: str | None, level: float, draws: RandomDraws | None
) -> RateLimits:
    """Return the confidence limits of each event rate; only `ci="bootstrap"` needs `draws`."""
    if ci is None:
        return RateLimits.undefined(len(rates.group))
    if ci == "bootstrap":
        assert draws is not None
        return _bootstrap_rate_limits(scan, rates, level, draws)
    assert rates.bins is not None
    lower, upper = _proportion_limits(rates.bins, ci, level)
    return replace(RateLimits.undefined(len(lower)), lower=lower, upper=upper)


def _proportion_limits(
    bins: Bins, ci: str, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Wilson's limits, or those of Clopper and Pearson, of the event rate of each bin."""
    pos, total = (values.astype(np.float64) for values in (bins.pos, bins.total))
    return (wilson if ci == "wilson" else clopper_pearson)(pos, total, level)


def _bootstrap_rate_limits(
    scan: Scan, rates: EventRates, level: float, draws: RandomDraws
) -> RateLimits:
    """Return quantiles of each event rate over resamples; Wilson's limits of rates of 0 and 1."""
    bins, is_weighted = rates.bins, scan.totals.pos.dtype.kind == "f"
    if bins is None or rates.depends_on_labels or is_weighted or draws.cluster is not None:
        return _resampled_limits(scan, rates, draws, level)
    limits = _drawn_proportions(bins, draws, level)
    lower, upper = _proportion_limits(bins, "wilson", level)
    is_extreme = (bins.pos == 0) | (bins.neg == 0)
    return replace(
        limits,
        lower=np.where(is_extreme, lower, limits.lower),
        upper=np.where(is_extreme, upper, limits.upper),
        constant=limits.constant & ~is_extreme,
        wilson=is_extreme,
    )


def consistency_limits(
    scan: Scan, rates: EventRates, level: float, draws: RandomDraws
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return limits of each event rate under the hypothesis that the scores are calibrated.

    The scores are those of the data, and each row is positive with the probability of its score.
    """
    is_weighted = scan.totals.pos.dtype.kind == "f"
    if rates.bins is not None and not (rates.depends_on_labels or is_weighted):
        return _proportion_consistency(scan, rates.bins, level)
    starts = group_starts(rates.group, len(draws.keys))
    lower, upper = np.full((2, len(rates.group)), np.nan)
    for group in np.unique(rates.group).tolist():
        own = slice(starts[group], starts[group + 1])
        population, probability = _unlabeled_rows(scan, group)

        def draw(
            stream: np.random.Generator,
            size: int,
            own: slice = own,
            population: GroupRows = population,
            probability: NDArray[np.float64] = probability,
        ) -> tuple[NDArray[np.float64], int]:
            rows = population.pos.rows
            shape = (size, len(rows))
            if rows.max() == 1:
                n_pos = (stream.random(shape) < probability).astype(np.int64)
            else:
                n_pos = stream.binomial(rows, probability, shape)
            sample = ReplicateCounts(population=population, pos=n_pos, neg=rows - n_pos)
            return rates.of_replicates(sample.scan(corners=False), own), 0

        values, _ = batched_replicates(
            draw,
            n_boot=draws.n_draws,
            batch_size=max(1, BLOCK_ROWS // len(probability)),
            seed=draws.seed,
            # The bootstrap of the same group uses the key without this number.
            key=(*draws.keys[group], 1),
            arrays_only=True,
        )
        limits = column_limits(values, level)
        # If all replicates are equal, this value is both limits.
        lower[own] = np.where(limits.constant, values[0], limits.lower)
        upper[own] = np.where(limits.constant, values[0], limits.upper)
    return lower, upper


def _proportion_consistency(
    scan: Scan, bins: Bins, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the consistency limits of bins of rows without weights, without random draws."""
    steps, n_groups = score_steps(scan), len(scan.totals.pos)
    first, own = group_starts(steps.group, n_groups), group_starts(bins.group, n_groups)
    # The bins of each group from the highest score to the lowest, as the steps.
    falling = (own[:-1] + own[1:] - 1)[bins.group] - np.arange(len(bins.group))
    highest, group = bins.score_max[falling], bins.group[falling]
    starts = grouped_bisect(
        lambda step: steps.probability[step] > highest, first[group], first[group + 1] - 1
    )
    lower, upper = np.empty((2, len(falling)))
    lower[falling], upper[falling] = positive_count_limits(
        steps.probability, steps.n, np.append(starts, len(steps.n)), level
    )
    return lower / bins.n, upper / bins.n


def _unlabeled_rows(scan: Scan, group: int) -> tuple[GroupRows, NDArray[np.float64]]:
    """Return a population in which each class has all rows of the group, and their scores."""
    population = GroupRows.from_scan(scan, group).without_labels()
    return population, population.codec.decode(population.codes)[population.pos.step]


def _drawn_proportions(bins: Bins, draws: RandomDraws, level: float) -> RateLimits:
    """Return quantiles of the event rate of each bin over resamples of rows without weights.

    The limits of a bin depend only on its numbers of positives and negatives in each resample, so
    these numbers are drawn for each bin separately, from their multinomial distribution.
    """
    starts = group_starts(bins.group, len(draws.keys))
    most = max(1, MAX_DRAWN_NUMBERS // draws.n_draws)
    parts = [
        (group, batch, slice(first, min(first + most, starts[group + 1])))
        for group in range(len(draws.keys))
        for batch, first in enumerate(range(starts[group], starts[group + 1], most))
    ]

    def part_limits(part: tuple[int, int, slice]) -> ColumnLimits:
        group, batch, own = part
        stream = draws.seed.stream(draws.keys[group], batch)
        n = int(bins.total[starts[group] : starts[group + 1]].sum())
        pos, neg, shape = bins.pos[own], bins.neg[own], (draws.n_draws, own.stop - own.start)
        n_pos = stream.binomial(n, pos / n, shape)
        n_neg = stream.binomial(n - n_pos, neg / np.maximum(n - pos, 1))
        with np.errstate(invalid="ignore"):
            return column_limits(n_pos / (n_pos + n_neg), level)

    return RateLimits.from_parts(run_parallel(part_limits, parts, arrays_only=True))


def _resampled_limits(
    scan: Scan, rates: EventRates, draws: RandomDraws, level: float
) -> RateLimits:
    """Return quantiles of each event rate over resamples of the rows.

    The limits are NaN in groups with rows of one class only.
    """
    starts = group_starts(rates.group, len(draws.keys))
    width = int(np.diff(starts).max(initial=1))
    limits = RateLimits.undefined(len(rates.group))

    def replicate_rates(sample: ReplicateScan) -> NDArray[np.float64]:
        own = slice(*starts[[sample.population.group, sample.population.group + 1]])
        values = np.full((len(sample.totals.pos), width), np.nan)
        values[:, : own.stop - own.start] = rates.of_replicates(sample, own)
        return values

    statistic = ReplicateStatistic(
        function=replicate_rates, depends_on_prevalence=True, corners=False, width=width
    )
    for result in resample_groups(scan, [statistic], draws, arrays_only=True):
        own = slice(*starts[[result.population.group, result.population.group + 1]])
        part = column_limits(result.values[0][:, : own.stop - own.start], level)
        limits.lower[own], limits.upper[own], limits.constant[own], n_undefined = part
        limits.n_redrawn[own] = n_undefined + result.n_redrawn[0]
    return limits


def bin_rates(sample: ReplicateScan, score_min: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the event rate of each replicate (rows) in each bin (columns); NaN without rows.

    `score_min` are the lowest scores of the bins, in rising order.
    """
    size = len(sample.totals.pos)
    # The scores fall, and a bin has all scores from its lowest score to the next bin.
    scores = sample.codec.decode(sample.population.codes)
    ends = np.searchsorted(-scores, -score_min[::-1], "right")
    pos, neg = (
        np.diff(counts.reshape(size, -1)[:, ends - 1], prepend=0, axis=1)[:, ::-1]
        for counts in (sample.block.tp, sample.block.fp)
    )
    with np.errstate(invalid="ignore"):
        rates: NDArray[np.float64] = pos / (pos + neg)
    return rates


def isotonic_values(sample: ReplicateScan, score: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the isotonic regression of each replicate (rows) at given scores (columns).

    Values are interpolated linearly between neighboring scores of the replicate, and are constant
    below its lowest and above its highest score.
    """
    steps = score_steps(sample)
    rate = isotonic_rates(steps)
    size, length = len(sample.totals.pos), len(sample.population.codes)
    # The steps of a replicate are the scores of the data that the replicate contains.
    in_sample = (sample.block.pos > 0) | (sample.block.neg > 0)
    n_before = np.append(0, np.cumsum(in_sample))
    first = np.arange(size)[:, None] * length
    scores = sample.codec.decode(sample.population.codes)
    next_below = n_before[first + np.searchsorted(-scores, -score, "right")]
    first, last = n_before[first], n_before[first + length] - 1
    above, below = (step.clip(first, last) for step in (next_below - 1, next_below))
    x = (steps.probability[below], steps.probability[above])
    return interpolate_segments(x, (rate[below], rate[above]), score)
