"""Bins of probabilities: quantile bins, bins with edges, and the levels of isotonic regression.

References: Dimitriadis, Gneiting and Jordan (2021), doi:10.1073/pnas.2016191118; Hong (2013),
doi:10.1016/j.csda.2012.10.006 (Poisson binomial distribution).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import ceil, sqrt
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, get_args

import numpy as np

from rocframe.curves.convex_hull import hull_vertices
from rocframe.inference import STANDARD_NORMAL
from rocframe.kernel.arrays import exact_product, run_parallel
from rocframe.kernel.groups import cumulative_sums, is_run_start, round_thresholds, run_starts
from rocframe.options import check_choice, parse_bins, unit_edges

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from rocframe.kernel.arrays import Array, FloatArray, IntArray
    from rocframe.kernel.scan import Block, Scannable

Record = TypeVar("Record", bound=Any)
BinMethod: TypeAlias = Literal["quantile", "uniform"]
# A product of a share and the number of bins that is below an integer by less than this is that
# integer. The difference is a rounding error of sums of weights.
BIN_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Binning:
    """A division of the scores into `n` bins: at `edges` of the score, or at its quantiles (None).

    `method` is its name in tables.
    """

    method: str = "quantile"
    n: int = 10
    edges: FloatArray | None = None

    @classmethod
    def parse(cls, method: str, bins: object) -> Binning:
        """Check the options `method` and `bins`; edges in `bins` replace the method."""
        check_choice("method", method, get_args(BinMethod))
        parsed = parse_bins(bins, example="[0, 0.01, 0.05, 0.2, 1]")
        edges = np.array(unit_edges(parsed))
        if isinstance(parsed, list):
            return cls(method="edges", n=len(edges) - 1, edges=edges)
        return cls(method=method, n=parsed, edges=edges if method == "uniform" else None)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoreSteps:
    """The distinct scores of all groups as probabilities, by group and falling score.

    `pos` and `neg` are the sums of the row weights at each score, `tp` and `fp` those at or above
    it. `n` is the number of rows (for replicates of weighted rows, their weight).
    """

    group: IntArray
    probability: FloatArray
    pos: Array
    neg: Array
    tp: Array
    fp: Array
    n: Array


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Bins:
    """The bins of all groups with rows, by group and rising score; `index` counts within a group.

    `pos`, `neg` and `score_sum` are sums over the row weights, and `n` is the number of rows (for
    replicates of weighted rows, their weight).
    """

    group: IntArray
    index: IntArray
    pos: Array
    neg: Array
    score_sum: FloatArray
    score_min: FloatArray
    score_max: FloatArray
    n: Array

    @property
    def total(self) -> Array:
        """The sum of the row weights in each bin."""
        total: Array = self.pos + self.neg
        return total

    @property
    def event_rate(self) -> FloatArray:
        """The share of positives in each bin."""
        rate: FloatArray = self.pos / self.total
        return rate

    @property
    def score_mean(self) -> FloatArray:
        """The weighted mean score of each bin."""
        # The mean of equal scores would otherwise differ from them by a rounding error.
        mean: FloatArray = self.score_sum / self.total
        return mean.clip(self.score_min, self.score_max)

    def group_sums(self, values: Array, n_groups: int) -> FloatArray:
        """Return the sum of `values` over the bins of each group; 0 for a group without bins."""
        return np.bincount(self.group, values, n_groups).astype(np.float64)


def score_steps(scan: Scannable) -> ScoreSteps:
    """Return the distinct scores that rows of the scan have."""
    return concatenate(ScoreSteps, scan.map(lambda block: block_steps(scan, block)))


def probability_bins(scan: Scannable, binning: Binning) -> Bins:
    """Return the bins of each group that have rows; rows with equal scores share a bin.

    With edges, bin i is [edges[i], edges[i + 1]), and the last bin includes 1; edges are rounded to
    the float dtype of the scores. Otherwise, bin i ends at the lowest score for which the share of
    rows up to this score is at least (i + 1) / n.
    """
    totals = scan.totals.pos + scan.totals.neg

    def block_bins(block: Block) -> Bins:
        steps = block_steps(scan, block)
        if binning.edges is None:
            total = totals[steps.group]
            numbers = quantile_numbers(total - steps.tp - steps.fp, total, binning.n)
            return _sum_bins(steps, numbers)
        edges = round_thresholds(binning.edges[1:-1], scan.codec.scores)
        return _sum_bins(steps, np.searchsorted(edges, steps.probability, "right"))

    return _merge(scan.map(block_bins))


def quantile_numbers(below: Array, total: Array, bins: int) -> IntArray:
    """Return the number of the quantile bin of scores, from the weight below them in the group."""
    if below.dtype.kind == "f":
        number = np.floor(bins * below / total + BIN_ROUNDING)
    else:
        number = exact_product(np.array([bins]), below) // total
    result: IntArray = number.astype(np.int64).clip(0, bins - 1)
    return result


def isotonic_bins(scan: Scannable) -> Bins:
    """Return the levels of the isotonic regression of the labels, merged from those of blocks."""

    def block_levels(block: Block) -> Bins:
        steps = block_steps(scan, block)
        return _sum_bins(steps, _isotonic_levels(steps.group, steps.pos, steps.neg))

    levels = concatenate(Bins, scan.map(block_levels))
    return _merge([replace(levels, index=_isotonic_levels(levels.group, levels.pos, levels.neg))])


def isotonic_rates(steps: ScoreSteps) -> FloatArray:
    """Return the value of the isotonic regression of the labels at each score of its group."""
    level = _isotonic_levels(steps.group, steps.pos, steps.neg)
    bins = _sum_bins(steps, level)
    rates: FloatArray = bins.event_rate[np.cumsum(is_run_start(steps.group, level)) - 1]
    return rates


def block_steps(scan: Scannable, block: Block) -> ScoreSteps:
    """Return the distinct scores of a block that have rows."""
    pos, neg = block.pos, block.neg
    group = np.repeat(block.groups, np.diff(block.starts))
    probability = scan.codec.decode(block.codes)
    n = pos + neg if block.row_counts is None else block.row_counts
    columns: list[Array] = [group, probability, pos, neg, block.tp, block.fp, n]
    # A resample may lack all rows of a score.
    has_rows = (pos > 0) | (neg > 0)
    if not has_rows.all():
        # numpy selects positions faster than it applies a mask several times.
        steps = np.flatnonzero(has_rows)
        columns = [column[steps] for column in columns]
    names = ScoreSteps.__dataclass_fields__
    return ScoreSteps(**dict(zip(names, columns, strict=True)))


def _isotonic_levels(group: IntArray, pos: Array, neg: Array) -> IntArray:
    """Return the number of the isotonic level of each score; level 0 has the lowest scores.

    The levels are the segments of the upper convex hull of the ROC curve (Fawcett and
    Niculescu-Mizil 2007, doi:10.1007/s10994-007-5011-0).
    """
    if not len(group):
        return group
    firsts = run_starts(group)
    ends = np.append(firsts[1:], len(group))
    # The curve of each group starts at (0, 0), above all scores.
    starts = np.append(firsts, len(group)) + np.arange(len(firsts) + 1)
    tp, fp = (cumulative_sums(np.insert(counts, firsts, 0), starts) for counts in (pos, neg))
    is_vertex = np.delete(hull_vertices(tp, fp, starts), starts[:-1])
    # A level ends at a vertex: count the vertices from each score to the lowest score.
    n_vertices = np.cumsum(is_vertex[::-1])[::-1]
    below = np.append(n_vertices, 0)[ends]
    level: IntArray = n_vertices - np.repeat(below, ends - firsts) - 1
    return level


def _sum_bins(steps: ScoreSteps, index: IntArray) -> Bins:
    """Return the bins of scores that are sorted by group and falling score."""
    firsts = run_starts(steps.group, index)
    lasts = np.append(firsts[1:], len(index))[: len(firsts)] - 1

    def total(values: Array) -> Array:
        return np.add.reduceat(values, firsts) if len(firsts) else values[:0]

    # Isotonic regression accepts any score. The sum of infinite or very large scores is not finite.
    with np.errstate(invalid="ignore", over="ignore"):
        score_sum = total(steps.probability * (steps.pos + steps.neg))
    return Bins(
        group=steps.group[firsts],
        index=index[firsts],
        pos=total(steps.pos),
        neg=total(steps.neg),
        score_sum=score_sum,
        score_min=steps.probability[lasts],
        score_max=steps.probability[firsts],
        n=total(steps.n),
    )


def concatenate(record: type[Record], parts: Sequence[Record]) -> Record:
    """Return a record with the columns of all parts, in the order of the parts."""
    columns = {
        field.name: [getattr(part, field.name) for part in parts] or [np.zeros(0, np.int64)]
        for field in fields(record)
    }
    result: Record = record(**{name: np.concatenate(arrays) for name, arrays in columns.items()})
    return result


def _merge(parts: list[Bins]) -> Bins:
    """Concatenate the bins of all blocks, and add up the parts of a bin that are in two blocks."""
    bins = concatenate(Bins, parts)
    if not len(bins.group):
        return bins
    order = np.lexsort((bins.index, bins.group))
    firsts = run_starts(bins.group[order], bins.index[order])
    reductions: dict[str, Callable[..., Any]] = {
        **dict.fromkeys(("group", "index", "score_min"), np.minimum.reduceat),
        **dict.fromkeys(("pos", "neg", "score_sum", "n"), np.add.reduceat),
        "score_max": np.maximum.reduceat,
    }
    with np.errstate(invalid="ignore", over="ignore"):  # infinite or very large scores
        return Bins(
            **{
                name: reduction(getattr(bins, name)[order], firsts)
                for name, reduction in reductions.items()
            }
        )


# From this variance on, quantiles are computed from four moments of the distribution. They differ
# from the exact quantiles by less than 0.01 before they are rounded.
LARGE_VARIANCE = 400.0
SMALL_PROBABILITY = 0.05  # logarithms of characteristic functions are series up to this probability
SERIES_TERMS = 16
CDF_ROUNDING = 1e-11  # larger than the rounding errors of a distribution function


def positive_count_limits(
    probability: FloatArray, rows: IntArray, starts: IntArray, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the narrowest limits of the number of positives in each part of the data.

    Part i has `rows[j]` rows with the probability `probability[j]`, j from `starts[i]` to
    `starts[i + 1] - 1`. The number (Poisson binomial, Hong 2013) is outside each limit with a
    probability of at most (1 - level) / 2.
    """
    tail = (1 - level) / 2
    complement = 1 - probability
    spread = rows * probability * complement
    mean, variance, third, fourth = (
        np.add.reduceat(values, starts[:-1]) if len(starts) > 1 else values[:0]
        for values in (
            rows * probability,
            spread,
            spread * (complement - probability),
            spread * (1 - 6 * probability * complement),
        )
    )
    lower, upper = _moment_limits(mean, variance, third, fourth, tail)
    small = np.flatnonzero(variance < LARGE_VARIANCE)

    def limits(part: int) -> tuple[int, int]:
        own = slice(starts[part], starts[part + 1])
        return _exact_limits(probability[own], rows[own], mean[part], variance[part], tail)

    if len(small):
        lower[small], upper[small] = np.array(
            run_parallel(limits, small.tolist(), arrays_only=True), float
        ).T
    return lower, upper


def _moment_limits(
    mean: FloatArray, variance: FloatArray, third: FloatArray, fourth: FloatArray, tail: float
) -> tuple[FloatArray, FloatArray]:
    """Return the limits by the expansion of Cornish and Fisher, from the first four cumulants."""
    # The sum of the number of positives and a uniform number between -1/2 and 1/2 has a density.
    # Its distribution function at k + 1/2 is that of the number of positives at k.
    variance, fourth = variance + 1 / 12, fourth - 1 / 120
    sd = np.sqrt(variance)
    skewness, kurtosis = third / sd**3, fourth / variance**2

    def quantile(p: float) -> FloatArray:
        z = STANDARD_NORMAL.inv_cdf(p)
        x = z + skewness * (z**2 - 1) / 6
        x += kurtosis * (z**3 - 3 * z) / 24 - skewness**2 * (2 * z**3 - 5 * z) / 36
        result: FloatArray = mean + sd * x - 0.5
        return result

    return np.floor(quantile(tail)) + 1, np.ceil(quantile(1 - tail))


def _exact_limits(
    probability: FloatArray, rows: IntArray, mean: float, variance: float, tail: float
) -> tuple[int, int]:
    """Return the limits of one part, by the inverse Fourier transform of the distribution.

    By Bernstein's inequality, numbers that are not computed have a probability below 1e-13.
    """
    distance = ceil(11 + sqrt(121 + 66 * variance))
    first = max(0, int(mean) - distance)
    size = int(mean) + distance + 1 - first
    frequency = np.arange(size // 2 + 1)
    turn = np.exp(2j * np.pi * frequency / size)
    log_transform = -2j * np.pi * frequency * first / size
    is_low, is_high = probability <= SMALL_PROBABILITY, probability >= 1 - SMALL_PROBABILITY
    # The factor of a row is 1 + p·(turn - 1), which is turn·(1 + (1 - p)·(1/turn - 1)).
    log_transform += _log_series(probability[is_low], rows[is_low], turn - 1)
    log_transform += _log_series(1 - probability[is_high], rows[is_high], np.conj(turn) - 1)
    middle = ~(is_low | is_high)
    factors = 1 + probability[middle, None] * (turn - 1)
    with np.errstate(divide="ignore"):
        log_transform += (rows[middle, None] * np.log(factors)).sum(axis=0)
    shift = int(rows[is_high].sum()) % size
    transform = np.exp(log_transform) * np.exp(2j * np.pi * (frequency * shift % size) / size)
    # `irfft` has the opposite sign of the exponent.
    cdf = np.cumsum(np.fft.irfft(np.conj(transform), size))
    lower = int(np.searchsorted(cdf, tail + CDF_ROUNDING, "right"))
    upper = int(np.searchsorted(cdf, 1 - tail - CDF_ROUNDING, "left"))
    return first + lower, first + upper


def _log_series(
    probability: FloatArray, rows: IntArray, z: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """Return the sum over rows of log(1 + p·z), for small p, from the sums of powers of p."""
    total = np.zeros(len(z), complex)
    power, powers = rows * probability, z.copy()
    for k in range(1, SERIES_TERMS + 1):
        total -= power.sum() * powers / k * (-1) ** k
        power, powers = power * probability, powers * z
    return total
