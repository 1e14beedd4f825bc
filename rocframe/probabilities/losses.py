"""Brier score, logarithmic loss and Cllr of each group, and the parts of the Brier score.

References
----------
N. Brümmer, J. du Preez (2006), "Application-independent evaluation of speaker detection", Computer
Speech and Language 20(2-3), 230-275. doi:10.1016/j.csl.2005.08.001
T. Dimitriadis, T. Gneiting, A. I. Jordan (2021), "Stable reliability diagrams for probabilistic
classifiers", Proceedings of the National Academy of Sciences 118(8). doi:10.1073/pnas.2016191118
A. H. Murphy (1973), "A new vector partition of the probability score", Journal of Applied
Meteorology 12(4), 595-600. doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2
D. B. Stephenson, C. A. S. Coelho, I. T. Jolliffe (2008), "Two extra components in the Brier score
decomposition", Weather and Forecasting 23(4), 752-757. doi:10.1175/2007WAF2006116.1
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.areas.pairs import group_sums
from rocframe.kernel.groups import is_run_start, run_starts
from rocframe.probabilities.bins import block_steps, concatenate, isotonic_bins

if TYPE_CHECKING:
    from rocframe.kernel.arrays import Array, BoolArray, FloatArray, IntArray
    from rocframe.kernel.scan import Block, Scannable
    from rocframe.probabilities.bins import Bins, ScoreSteps

# Probabilities are clipped to [EPSILON, 1 - EPSILON] before their logarithm is computed.
EPSILON = 2.0**-52  # machine epsilon of Float64


def log_odds(probability: FloatArray) -> FloatArray:
    """Return log(p / (1 - p)); p is clipped to [2⁻⁵², 1 - 2⁻⁵²], so the result is at most 36.05."""
    of_positive, of_negative = log_losses(probability)
    return of_negative - of_positive


def log_losses(probability: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return -log(p) and -log(1 - p), the losses of a positive and of a negative, at most 36.05."""
    clipped = np.clip(probability, EPSILON, 1 - EPSILON)
    return -np.log(clipped), -np.log1p(-clipped)


class MeanLosses(NamedTuple):
    """Mean losses of each group; NaN if undefined.

    `brier` is the mean of (probability - outcome)². `log_loss` is the mean of -ln(probability of
    the outcome), and `cllr` the mean of the two means of -log2 of it over positives and negatives.
    """

    brier: FloatArray
    log_loss: FloatArray
    cllr: FloatArray


def probability_losses(scan: Scannable) -> MeanLosses:
    """Return the losses of the scores of each group.

    Probabilities of 0 and 1 are clipped to [2⁻⁵², 1 - 2⁻⁵²] in logarithms. All losses are NaN for a
    group with a score that is missing or outside [0, 1]. `cllr` is also NaN if a class is absent.
    """

    def losses(block: Block) -> list[FloatArray]:
        p = scan.codec.decode(block.codes)
        is_probability = (p >= 0) & (p <= 1)
        if not is_probability.all():
            p = np.where(is_probability, p, 0.5)
        of_positive, of_negative = log_losses(p)
        parts = (
            block.pos * (1 - p) ** 2 + block.neg * p**2,
            block.pos * of_positive,
            block.neg * of_negative,
            np.where(is_probability, 0.0, 1.0),
        )
        return [np.add.reduceat(part, block.starts[:-1]) for part in parts]

    totals = scan.totals
    squares, logs_of_pos, logs_of_neg, n_outside = group_sums(scan, scan.map(losses), 4)
    is_defined = (n_outside == 0) & (totals.unscored_pos + totals.unscored_neg == 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        total = np.where(is_defined, totals.pos + totals.neg, np.nan)
        both = np.where(is_defined, logs_of_pos / totals.pos + logs_of_neg / totals.neg, np.nan)
        return MeanLosses(
            brier=squares / total,
            log_loss=(logs_of_pos + logs_of_neg) / total,
            cllr=both / (2 * np.log(2)),
        )


def positives_to_expected(scan: Scannable) -> FloatArray:
    """Return the number of positives divided by the sum of the scores; NaN if this sum is 0."""

    def expected(block: Block) -> list[FloatArray]:
        sums = (block.pos + block.neg) * scan.codec.decode(block.codes)
        return [np.add.reduceat(sums, block.starts[:-1])]

    (expected_positives,) = group_sums(scan, scan.map(expected), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: FloatArray = scan.totals.pos / expected_positives
    return np.where(expected_positives > 0, ratio, np.nan)


def isotonic_losses(scan: Scannable) -> MeanLosses:
    """Return the losses of each group after isotonic recalibration of its scores.

    This replaces each score by the event rate of its isotonic level, which has the lowest Brier
    score and log loss of all increasing functions of the scores. For `cllr`, which is then the
    minimum Cllr, the event rates are converted to a prevalence of 1/2. All rows must have a score.
    """
    from scipy.special import rel_entr

    bins = isotonic_bins(scan)
    totals, n_groups = scan.totals, len(scan.totals.pos)
    n = totals.pos + totals.neg
    pos, neg = bins.pos.astype(float), bins.neg.astype(float)

    def log_loss(pos: FloatArray, neg: FloatArray) -> FloatArray:
        # A row has the loss -log(probability of the outcome), and the probability of a positive is
        # pos / (pos + neg).
        return bins.group_sums(-rel_entr(pos, pos + neg) - rel_entr(neg, pos + neg), n_groups)

    with np.errstate(divide="ignore", invalid="ignore"):
        pos_share, neg_share = pos / totals.pos[bins.group], neg / totals.neg[bins.group]
        cllr = log_loss(pos_share, neg_share) / (2 * np.log(2))
        return MeanLosses(
            brier=bins.group_sums(pos * neg / (pos + neg), n_groups) / n,
            log_loss=log_loss(pos, neg) / n,
            cllr=np.where(n > 0, cllr, np.nan),
        )


def uncertainty(scan: Scannable) -> FloatArray:
    """Return the Brier score π·(1 - π) of each group if all scores are its prevalence π."""
    pos, neg = (np.asarray(total, np.float64) for total in (scan.totals.pos, scan.totals.neg))
    with np.errstate(divide="ignore", invalid="ignore"):
        variance: FloatArray = pos / (pos + neg) * (neg / (pos + neg))
    return variance


def brier_skill(scan: Scannable, brier: FloatArray) -> FloatArray:
    """Return 1 - Brier score / uncertainty for each group; NaN if a class is absent."""
    reference = uncertainty(scan)
    with np.errstate(divide="ignore", invalid="ignore"):
        skill: FloatArray = 1 - brier / np.where(reference > 0, reference, np.nan)
    return skill


class CorpParts(NamedTuple):
    """The parts of the Brier score: Brier score = miscalibration - discrimination + uncertainty."""

    miscalibration: FloatArray
    discrimination: FloatArray
    uncertainty: FloatArray


def corp_decomposition(scan: Scannable, brier: FloatArray, isotonic_brier: FloatArray) -> CorpParts:
    """Return the parts of the Brier score of each group by isotonic regression (CORP), at least 0.

    Miscalibration is the decrease of the Brier score by recalibration, and discrimination is the
    uncertainty minus the Brier score after recalibration.
    """
    reference = uncertainty(scan)
    return CorpParts(
        miscalibration=np.maximum(brier - isotonic_brier, 0),
        discrimination=np.maximum(reference - isotonic_brier, 0),
        uncertainty=np.where(np.isnan(brier), np.nan, reference),
    )


class BinnedParts(NamedTuple):
    """The parts of the Brier score for bins of scores.

    Brier score = reliability - resolution + uncertainty + within_bin_variance -
    within_bin_covariance. The last two parts are 0 if the scores of each bin are equal.
    """

    reliability: FloatArray
    resolution: FloatArray
    uncertainty: FloatArray
    within_bin_variance: FloatArray
    within_bin_covariance: FloatArray


def binned_decomposition(scan: Scannable, bins: Bins) -> BinnedParts:
    """Return the parts of the Brier score of each group for its bins; all rows must have a score.

    The first three parts are those of Murphy (1973), with the mean score of each bin. The other two
    are those of Stephenson et al. (2008).
    """

    def squares(block: Block) -> list[FloatArray]:
        p = scan.codec.decode(block.codes)
        parts: tuple[Any, ...] = ((block.pos + block.neg) * p**2, block.pos * p)
        return [np.add.reduceat(part, block.starts[:-1]) for part in parts]

    totals = scan.totals
    score_squares, scores_of_pos = group_sums(scan, scan.map(squares), 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        n = totals.pos + totals.neg
        prevalence = totals.pos / n

        def mean(values: FloatArray) -> FloatArray:
            sums: FloatArray = bins.group_sums(values, len(n)) / n
            return sums

        score, rate = bins.score_mean, bins.event_rate
        return BinnedParts(
            reliability=mean(bins.total * (score - rate) ** 2),
            resolution=mean(bins.total * (rate - prevalence[bins.group]) ** 2),
            uncertainty=uncertainty(scan),
            within_bin_variance=np.maximum(score_squares / n - mean(bins.total * score**2), 0),
            within_bin_covariance=2 * (scores_of_pos / n - mean(bins.pos * score)),
        )


# If a group has more distinct scores, neighboring scores are merged to one point. The merged scores
# differ by at most 1/1024, and have about 1/1024 of the weight of the group or less.
MAX_SCORES = 2048
WEIGHT_SHARE_ROUNDING = 1e-9  # smaller differences of shares of the row weight are rounding errors


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Points:
    """The scores of all groups, by group and rising score; groups without scores are absent.

    The points of group `groups[i]` are `starts[i]` to `starts[i + 1] - 1`. `score` is the weighted
    mean score of a point. `weight` and `pos` are the sums of the weights of all rows and of
    positives. `share` is the share of the weight of the group at this score or below.
    """

    groups: IntArray
    starts: IntArray
    score: FloatArray
    weight: FloatArray
    pos: FloatArray
    share: FloatArray
    n_groups: int

    @property
    def owner(self) -> IntArray:
        """The position in `groups` of the group of each point."""
        return np.repeat(np.arange(len(self.groups)), np.diff(self.starts))

    def group_sums(self, values: FloatArray) -> FloatArray:
        """Return the sum of `values` over the points of each group."""
        sums: FloatArray = np.add.reduceat(values, self.starts[:-1])
        return sums if len(self.groups) else values[:0]

    def even_grid(self, size: int) -> tuple[IntArray, FloatArray]:
        """Return evenly spaced scores of each group, and their positions in `groups`.

        A group with one distinct score has one point, all others have `size` points.
        """
        low, high = self.score[self.starts[:-1]], self.score[self.starts[1:] - 1]
        sizes = np.where(low < high, size, 1)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        low, high = low[owner], high[owner]
        step = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        share = step / max(size - 1, 1)
        return owner, (low * (1 - share) + high * share).clip(low, high)

    def of_all_groups(self, values: FloatArray) -> FloatArray:
        """Return one value for every group: NaN for groups without scores, and else `values`."""
        result = np.full(self.n_groups, np.nan)
        result[self.groups] = values
        return result


def find_points(scan: Scannable) -> Points:
    """Return the distinct scores of each group; more than 2048 are merged to about 2050 points."""
    weight = scan.totals.pos + scan.totals.neg

    def block_points(block: Block) -> _Sums:
        return _reduce(_Sums.from_steps(block_steps(scan, block)), weight)

    sums = _reduce(concatenate(_Sums, scan.map(block_points)), weight)
    starts = np.append(run_starts(sums.group), len(sums.group))
    groups = sums.group[starts[:-1]]
    # The order of the scores of each group changes from falling to rising.
    order = np.repeat(starts[:-1] + starts[1:] - 1, np.diff(starts)) - np.arange(len(sums.group))
    total = np.repeat(weight[groups].astype(float), np.diff(starts))
    return Points(
        groups=groups,
        starts=starts,
        score=(sums.score_sum / sums.weight)[order].clip(0, 1),
        weight=sums.weight[order].astype(float),
        pos=sums.pos[order].astype(float),
        share=(1 - sums.above[order] / total).clip(0, 1),
        n_groups=len(weight),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sums:
    """Sums over the rows of points, by group and falling score; `above` is the weight above."""

    group: IntArray
    weight: Array
    pos: Array
    score_sum: FloatArray
    above: Array

    @classmethod
    def from_steps(cls, steps: ScoreSteps) -> _Sums:
        weight = steps.pos + steps.neg
        return cls(
            group=steps.group,
            weight=weight,
            pos=steps.pos,
            score_sum=steps.probability * weight,
            above=steps.tp + steps.fp - weight,
        )


def _reduce(sums: _Sums, weight: Array) -> _Sums:
    """Merge neighboring points of groups with too many points; `weight` is that of each group."""
    starts = np.append(run_starts(sums.group), len(sums.group))
    is_large = np.diff(starts) > MAX_SCORES
    if not is_large.any():
        return sums
    rank = -sums.above / weight[sums.group]  # as the score, this number falls with the position
    is_first = is_cell_start(sums.score_sum / sums.weight, rank, starts, MAX_SCORES)
    # The highest score of a group remains a separate point.
    is_first[(starts[:-1] + 1)[is_large]] = True
    firsts = np.flatnonzero(is_first)
    return _Sums(
        group=sums.group[firsts],
        weight=np.add.reduceat(sums.weight, firsts),
        pos=np.add.reduceat(sums.pos, firsts),
        score_sum=np.add.reduceat(sums.score_sum, firsts),
        above=sums.above[firsts],
    )


def is_cell_start(score: FloatArray, rank: FloatArray, starts: IntArray, most: int) -> BoolArray:
    """Return a mask of about `most` points of each group: the first points of cells, and the last.

    Half of the cells divide the scores evenly, the other half the ranks. Both numbers have a range
    of at most 1, and both rise or both fall. Groups with at most `most` points have all points.
    """
    # Both numbers change in the same direction, so their sum changes where one of them changes.
    cells, sizes = most // 2, np.diff(starts)
    is_start = is_run_start((score * cells).astype(np.int64) + (rank * cells).astype(np.int64))
    is_start |= np.repeat(sizes <= most, sizes)
    is_start[starts[:-1]] = is_start[starts[1:] - 1] = True
    return is_start
