"""Statistics of complete curves (Gini, KS, EER, precision-recall) and their influence values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.areas.area import step_sum
from rocframe.areas.pairs import AUC_STATISTIC, auc_influence, count_pairs, group_sums
from rocframe.inference.bootstrap import Statistic
from rocframe.inference.confidence import perfect_area_limits, proportion_difference, wilson
from rocframe.kernel.groups import groups_of_rows
from rocframe.kernel.resample import ReplicateCounts, ReplicateStatistic
from rocframe.kinds import log_growth, precision_recall_integral

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.inference.bootstrap import Influences
    from rocframe.inference.confidence import Limits
    from rocframe.kernel.resample import ReplicateScan
    from rocframe.kernel.scan import Block, Scannable


def gini(scan: Scannable) -> NDArray[np.float64]:
    """Return the Gini coefficient of each group, 2·AUC - 1; NaN if a class is absent."""
    return 2 * count_pairs(scan).areas[0] - 1


def _gini_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the Gini coefficient: twice those of the AUC."""
    pos, neg = auc_influence(sample)
    return 2 * pos, 2 * neg


def ks(scan: Scannable) -> NDArray[np.float64]:
    """Return the largest TPR - FPR of each group, at least 0; NaN if a class is absent."""
    largest = np.zeros(len(scan.totals.pos))

    def block_maximum(block: Block) -> NDArray[np.float64]:
        x, y = _step_rates(scan, block, block.tp, block.fp)
        maximum: NDArray[np.float64] = np.maximum.reduceat(y - x, block.starts[:-1])
        return maximum

    for piece, maximum in zip(scan.ranges, scan.map(block_maximum), strict=True):
        largest[piece.groups] = np.maximum(largest[piece.groups], maximum)
    return _nan_without_class(scan, largest)


def _ks_supremum(sample: ReplicateScan) -> NDArray[np.float64]:
    """Return three suprema for each resample, from which `supremum_limits` computes limits of KS.

    The columns are sup D*, sup (D* - D) and sup (2·D - D*). D is the function TPR - FPR of the
    threshold for the data, and D* is this function for the resample.
    """

    def differences(sample: ReplicateScan) -> NDArray[np.float64]:
        x, y = _step_rates(sample, sample.block, sample.block.tp, sample.block.fp)
        return (y - x).reshape(len(sample.totals.pos), -1)

    observed = differences(ReplicateCounts.observed(sample.population).scan(corners=False))
    resampled = differences(sample)
    # `initial` is the difference at the threshold inf, which is 0 in every resample.
    return np.stack(
        [
            values.max(axis=1, initial=0)
            for values in (resampled, resampled - observed, 2 * observed - resampled)
        ],
        axis=1,
    )


def eer(scan: Scannable) -> NDArray[np.float64]:
    """Return the FPR of each group at which FPR = 1 - TPR; NaN if a class is absent."""
    rate = np.ones(len(scan.totals.pos))

    def crossings(block: Block) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        x0, y0 = _step_rates(scan, block, block.tp0, block.fp0)
        x1, y1 = _step_rates(scan, block, block.tp, block.fp)
        crosses = np.flatnonzero((x0 + y0 < 1) & (x1 + y1 >= 1))
        x0, y0, x1, y1 = (side[crosses] for side in (x0, y0, x1, y1))
        fraction = (1 - x0 - y0) / (x1 + y1 - x0 - y0)
        owner = groups_of_rows(block.starts, crosses)
        return block.groups[owner], x0 + fraction * (x1 - x0)

    for groups, fpr in scan.map(crossings):
        rate[groups] = fpr
    return _nan_without_class(scan, rate)


def average_precision(scan: Scannable) -> NDArray[np.float64]:
    """Return the average precision of each group; NaN if there are no positives."""
    return _sum_per_positive(scan, lambda tp, fp, tp0, _: step_sum(tp, fp, tp0))


def pr_auc(scan: Scannable) -> NDArray[np.float64]:
    """Return the area under the precision-recall curve of each group, with interpolation.

    The area is NaN if there are no positives.
    """

    def steps(*counts: NDArray[Any]) -> NDArray[np.float64]:
        return precision_recall_integral(*(count.astype(float) for count in counts))

    return _sum_per_positive(scan, steps)


def _step_rates(
    scan: Scannable, block: Block, tp: NDArray[np.float64], fp: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return FPR and TPR at each distinct score of a block, from the counts `tp` and `fp`."""
    totals = scan.totals
    with np.errstate(divide="ignore", invalid="ignore"):
        x = (fp + block.of_steps(totals.unscored_neg)) / block.of_steps(totals.neg)
        y = tp / block.of_steps(totals.pos)
    return x, y


def _nan_without_class(scan: Scannable, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values clipped to [0, 1], and NaN for groups that lack a class."""
    absent = (scan.totals.pos == 0) | (scan.totals.neg == 0)
    return np.where(absent, np.nan, np.clip(values, 0, 1))


def _sum_per_positive(
    scan: Scannable, steps: Callable[..., NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the sum of `steps` over the scores of each group, divided by the number of positives.

    `steps` is a function of tp and fp at each score, and of tp and fp at the next higher score.
    """
    totals = scan.totals

    def add(block: Block) -> list[NDArray[np.float64]]:
        unscored = block.of_steps(totals.unscored_neg) if totals.unscored_neg.any() else 0
        areas = steps(block.tp, block.fp + unscored, block.tp0, block.fp0 + unscored)
        return [np.add.reduceat(areas, block.starts[:-1])]

    (area,) = group_sums(scan, scan.map(add), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: NDArray[np.float64] = np.clip(area / totals.pos, 0, 1)
    return shares


def ks_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of TPR - FPR at the threshold with the largest difference."""
    steps = _ScoreCounts.from_sample(sample)
    height = steps.tp / steps.pos - steps.fp / steps.neg
    best = int(np.argmax(height))
    is_alert = np.arange(len(height) + 1) <= best
    tpr, fpr = steps.tp[best] / steps.pos, steps.fp[best] / steps.neg
    if height[best] <= 0:
        return np.zeros(len(is_alert)), np.zeros(len(is_alert))
    pos, neg = is_alert.astype(float), is_alert.astype(float)
    neg[-1] = 1  # an unscored negative is a false positive at every threshold
    return (pos - tpr) / steps.pos, (fpr - neg) / steps.neg


def eer_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of FPR at the point where FPR = 1 - TPR."""
    steps = _ScoreCounts.from_sample(sample)
    x0, x1 = steps.fp0 / steps.neg, steps.fp / steps.neg
    y0, y1 = steps.tp0 / steps.pos, steps.tp / steps.pos
    crosses = np.flatnonzero((x0 + y0 < 1) & (x1 + y1 >= 1))
    pos, neg = np.zeros(len(x0) + 1), np.zeros(len(x0) + 1)
    if not len(crosses):
        return pos, neg
    at = crosses[0]
    width, height = x1[at] - x0[at], y1[at] - y0[at]
    fraction = (1 - x0[at] - y0[at]) / (width + height)
    pos[:at] = neg[:at] = neg[-1] = 1
    pos[at] = neg[at] = fraction
    # A change of a rate moves the segment of the curve that crosses the line FPR = 1 - TPR. The
    # crossing point moves along this line, by `share` of the change.
    share = width / (width + height)
    tpr, fpr = y0[at] + fraction * height, x0[at] + fraction * width
    return -share * (pos - tpr) / steps.pos, (1 - share) * (neg - fpr) / steps.neg


def average_precision_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the average precision.

    A row changes the precision at its own score and at all lower scores.
    """
    steps = _ScoreCounts.from_sample(sample)
    n_alerts = steps.tp + steps.fp
    more = (steps.tp - steps.tp0) / np.maximum(n_alerts, np.finfo(float).tiny)
    precision = np.divide(steps.tp, n_alerts, out=np.zeros_like(n_alerts), where=n_alerts > 0)
    area = step_sum(steps.tp, steps.fp, steps.tp0).sum() / steps.pos
    rise, fall = (
        _reverse_cumulative_sum(more * (1 - precision)),
        _reverse_cumulative_sum(more * precision),
    )
    pos = np.append(precision + rise, 0)
    return (pos - area) / steps.pos, -np.append(fall, fall[:1]) / steps.pos


def pr_auc_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the area under the interpolated precision-recall curve.

    A step is the part of the curve from one distinct score to the next lower score. A row changes
    the area of the step at its own score, and the start of all steps at lower scores.
    """
    steps = _ScoreCounts.from_sample(sample)
    tp0, before = steps.tp0, steps.tp0 + steps.fp0
    more = steps.tp - tp0
    length = more + steps.fp - steps.fp0
    started = before > 0

    def share(part: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.divide(part, total, out=np.zeros_like(part), where=total > 0)

    # Within a step, tp is tp0 + more·u and the number of alerts is d = before + length·u, where u
    # rises from 0 to 1. The influence values contain the integrals of 1/d, 1/d² and u/d² over u.
    # These integrals could overflow. Multiplied by powers of `length` or `before`, they are
    # logarithms and proportions, which do not overflow.
    growth = log_growth(before, length)
    pos_share, start_precision = share(more, length), share(tp0, before)
    new, old = share(length, before + length), share(before, before + length)
    over = np.where(length > 0, share(growth * before, length), 1.0 * started)
    bend = np.where(started, growth - new, 0.0)
    by_start_fp = -pos_share * (start_precision * new + pos_share * bend)
    by_start_tp = pos_share * growth + by_start_fp
    within = pos_share * (start_precision * (over - old) + pos_share * (1 - 2 * over + old))
    by_pos = start_precision * over + 2 * pos_share * (1 - over) - within
    area = precision_recall_integral(steps.tp, steps.fp, tp0, steps.fp0).sum() / steps.pos
    rise, fall = _reverse_cumulative_sum(by_start_tp), _reverse_cumulative_sum(by_start_fp)
    pos = np.append(by_pos + np.append(rise[1:], 0), 0)
    negs = np.append(-within + np.append(fall[1:], 0), fall[:1])
    return (pos - area) / steps.pos, negs / steps.pos


CURVE_STATISTICS = {
    "auc": AUC_STATISTIC,
    "gini": Statistic(
        replicate=ReplicateStatistic(function=gini),
        influence=_gini_influence,
        bounds=(-1.0, 1.0),
    ),
    "ks": Statistic(
        replicate=ReplicateStatistic(function=ks),
        influence=ks_influence,
        supremum=ReplicateStatistic(function=_ks_supremum, corners=False, width=3),
    ),
    "eer": Statistic(replicate=ReplicateStatistic(function=eer), influence=eer_influence),
    "average_precision": Statistic(
        replicate=ReplicateStatistic(
            function=average_precision, depends_on_prevalence=True, corners=False
        ),
        influence=average_precision_influence,
    ),
    "pr_auc": Statistic(
        replicate=ReplicateStatistic(function=pr_auc, depends_on_prevalence=True),
        influence=pr_auc_influence,
    ),
}


def _perfect_ks(
    share: NDArray[np.float64], n_pos: NDArray[Any], n_neg: NDArray[Any], level: float
) -> Limits:
    """Return Newcombe's (1998) limits of KS, the difference TPR - FPR, for an AUC of 0 or 1.

    If the AUC is 1, TPR is 1 and FPR is 0. If the AUC is 0, KS is 0 and both rates are 0 or both
    are 1. The size of the smaller class is then used for both rates, because it gives wider limits.
    """
    smaller = np.minimum(n_pos, n_neg)
    pos, neg = (np.where(share == 1, n, smaller).astype(float) for n in (n_pos, n_neg))
    lower, upper = proportion_difference((share * pos, pos), (np.zeros_like(neg), neg), level)
    return np.maximum(lower, 0), np.minimum(upper, 1)


def _perfect_eer(
    share: NDArray[np.float64], n_pos: NDArray[Any], n_neg: NDArray[Any], level: float
) -> Limits:
    """Return Wilson's limits of an equal error rate of 0 or 1.

    The rate is treated as a proportion of the rows of the smaller class.
    """
    smaller = np.minimum(n_pos, n_neg)
    return wilson(share * smaller, smaller, level)


def _perfect_precision(
    share: NDArray[np.float64], n_pos: NDArray[Any], _: NDArray[Any], level: float
) -> Limits:
    """Return Wilson's limits of an area under a precision-recall curve, if it is 0 or 1.

    The area is treated as a proportion of the positives (Boyd, Eng and Page, 2013).
    """
    return wilson(share * n_pos, n_pos, level)


# Method and limits of each statistic for an AUC of 0 or 1. The functions are called only if the
# statistic also has its lowest or highest possible value. Their argument `share` is then 0 or 1.
PERFECT_LIMITS = {
    "auc": ("newcombe", perfect_area_limits),
    "gini": ("newcombe", perfect_area_limits),
    "ks": ("newcombe", _perfect_ks),
    "eer": ("wilson", _perfect_eer),
    "average_precision": ("wilson", _perfect_precision),
    "pr_auc": ("wilson", _perfect_precision),
}


class _ScoreCounts(NamedTuple):
    """Counts of the data at each distinct score, as floats; `fp0` and `fp` include unscored rows.

    `tp` and `fp` are the numbers of positives and negatives at or above the score, and `tp0` and
    `fp0` are the numbers above the score. `pos` and `neg` are the totals of the classes.
    """

    tp0: NDArray[np.float64]
    fp0: NDArray[np.float64]
    tp: NDArray[np.float64]
    fp: NDArray[np.float64]
    pos: float
    neg: float

    @classmethod
    def from_sample(cls, sample: ReplicateScan) -> _ScoreCounts:
        """Return the counts of the rows in a sample."""
        block, totals = sample.block, sample.totals
        more = float(totals.unscored_neg[0])
        return cls(
            tp0=block.tp0.astype(float),
            fp0=block.fp0 + more,
            tp=block.tp.astype(float),
            fp=block.fp + more,
            pos=float(totals.pos[0]),
            neg=float(totals.neg[0]),
        )


def _reverse_cumulative_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each position, the sum of the value and all later values."""
    sums: NDArray[np.float64] = np.cumsum(values[::-1])[::-1]
    return sums
