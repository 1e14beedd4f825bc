"""Statistics of `intervals` over all scores, such as KS, EER and measures of calibration."""

from __future__ import annotations

from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.areas.area import step_sum
from rocframe.areas.pairs import AUC_STATISTIC, Steps, auc_influence, count_pairs, group_sums
from rocframe.curves.locate import log_growth, precision_recall_integral
from rocframe.inference import Estimate, perfect_area_limits, wilson
from rocframe.kernel.groups import groups_of_rows
from rocframe.kernel.resample import ReplicateCounts, ReplicateStatistic
from rocframe.probabilities.bins import probability_bins
from rocframe.probabilities.calibration_summary import (
    CurveErrors,
    curve_errors,
    ece,
    mce,
    smooth_ece,
)
from rocframe.probabilities.losses import (
    brier_skill,
    corp_decomposition,
    find_points,
    isotonic_losses,
    log_losses,
    log_odds,
    positives_to_expected,
    probability_losses,
    uncertainty,
)
from rocframe.probabilities.regression import logistic_recalibration, unit_slope_intercept
from rocframe.resampling import Statistic

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.inference import Limits
    from rocframe.kernel.resample import ReplicateScan
    from rocframe.kernel.scan import Block, Scannable
    from rocframe.probabilities.bins import Bins
    from rocframe.probabilities.losses import CorpParts
    from rocframe.resampling import Influences


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
        tpr, fpr = Steps.from_block(scan, block).rates("tp", "fp")
        maximum: NDArray[np.float64] = np.maximum.reduceat(tpr - fpr, block.starts[:-1])
        return maximum

    for piece, maximum in zip(scan.ranges, scan.map(block_maximum), strict=True):
        largest[piece.groups] = np.maximum(largest[piece.groups], maximum)
    return _nan_without_class(scan, largest)


def _ks_supremum(sample: ReplicateScan) -> NDArray[np.float64]:
    """Return the three suprema of each resample that `supremum_limits` requires for KS.

    D is TPR - FPR of the threshold for the data, and D* that for the resample.
    """

    def differences(sample: ReplicateScan) -> NDArray[np.float64]:
        tpr, fpr = Steps.from_block(sample, sample.block).rates("tp", "fp")
        return (tpr - fpr).reshape(len(sample.totals.pos), -1)

    observed = differences(ReplicateCounts.observed(sample.population).scan(corners=False))
    resampled = differences(sample)
    # KS is at least 0 by definition, so each supremum includes a difference of 0.
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
        crossing = Steps.from_block(scan, block).equal_errors()
        return block.groups[groups_of_rows(block.starts, crossing.step)], crossing.rate

    for groups, fpr in scan.map(crossings):
        rate[groups] = fpr
    return _nan_without_class(scan, rate)


def average_precision(scan: Scannable) -> NDArray[np.float64]:
    """Return the average precision of each group; NaN if there are no positives."""
    return _sum_per_positive(scan, lambda steps: step_sum(steps.tp, steps.fp, steps.tp0))


def pr_auc(scan: Scannable) -> NDArray[np.float64]:
    """Return the area under the interpolated precision-recall curve; NaN without positives."""

    def integrals(steps: Steps) -> NDArray[np.float64]:
        steps = steps.as_floats()
        return precision_recall_integral(steps.tp, steps.fp, steps.tp0, steps.fp0)

    return _sum_per_positive(scan, integrals)


def _nan_without_class(scan: Scannable, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values clipped to [0, 1], and NaN for groups that lack a class."""
    absent = (scan.totals.pos == 0) | (scan.totals.neg == 0)
    return np.where(absent, np.nan, np.clip(values, 0, 1))


def _sum_per_positive(
    scan: Scannable, values: Callable[[Steps], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """Return the sum of `values` of the steps of each group, divided by the number of positives."""

    def add(block: Block) -> list[NDArray[np.float64]]:
        return [np.add.reduceat(values(Steps.from_block(scan, block)), block.starts[:-1])]

    (area,) = group_sums(scan, scan.map(add), 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: NDArray[np.float64] = np.clip(area / scan.totals.pos, 0, 1)
    return shares


def ks_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of TPR - FPR at the threshold with the largest difference."""
    steps = Steps.from_sample(sample)
    tpr, fpr = steps.rates("tp", "fp")
    height = tpr - fpr
    best = int(np.argmax(height))
    is_alert = np.arange(len(height) + 1) <= best
    if height[best] <= 0:
        return np.zeros(len(is_alert)), np.zeros(len(is_alert))
    pos, neg = is_alert.astype(float), is_alert.astype(float)
    neg[-1] = 1  # an unscored negative is a false positive at every threshold
    return (pos - tpr[best]) / steps.pos, (fpr[best] - neg) / steps.neg


def eer_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of FPR at the point where FPR = 1 - TPR."""
    steps = Steps.from_sample(sample)
    crossing = steps.equal_errors()
    pos, neg = np.zeros((2, len(steps.tp) + 1))
    if not len(crossing.step):
        return pos, neg
    is_before = np.arange(len(pos)) < crossing.step
    pos[is_before] = neg[is_before] = neg[-1] = 1
    pos[crossing.step] = neg[crossing.step] = crossing.fraction
    # A change of a rate moves the segment of the curve that crosses the line FPR = 1 - TPR. The
    # crossing point moves along this line, by `share` of the change.
    width, height = crossing.fpr - crossing.fpr0, crossing.tpr - crossing.tpr0
    share, fpr = width / (width + height), crossing.rate
    return -share * (pos - (1 - fpr)) / steps.pos, (1 - share) * (neg - fpr) / steps.neg


def average_precision_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values: on the precision at the row's own and all lower scores."""
    steps = Steps.from_sample(sample)
    n_alerts = steps.tp + steps.fp
    new_share = (steps.tp - steps.tp0) / np.maximum(n_alerts, np.finfo(float).tiny)
    precision = np.divide(steps.tp, n_alerts, out=np.zeros_like(n_alerts), where=n_alerts > 0)
    area = step_sum(steps.tp, steps.fp, steps.tp0).sum() / steps.pos
    rise, fall = (
        _reverse_cumulative_sum(new_share * (1 - precision)),
        _reverse_cumulative_sum(new_share * precision),
    )
    pos = np.append(precision + rise, 0)
    return (pos - area) / steps.pos, -np.append(fall, fall[:1]) / steps.pos


def pr_auc_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the area under the interpolated precision-recall curve.

    A row changes the area of the step at its own score, and the start of all steps at lower scores.
    """
    steps = Steps.from_sample(sample)
    tp0, before = steps.tp0, steps.tp0 + steps.fp0
    new_pos = steps.tp - tp0
    length = new_pos + steps.fp - steps.fp0
    started = before > 0

    def share(part: NDArray[np.float64], total: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.divide(part, total, out=np.zeros_like(part), where=total > 0)

    # Within a step, tp is tp0 + new_pos·u and the number of alerts is d = before + length·u, where
    # u rises from 0 to 1. The influence values contain the integrals of 1/d, 1/d² and u/d² over u.
    # These integrals could overflow. Multiplied by powers of `length` or `before`, they are
    # logarithms and proportions, which do not overflow:
    # - 1/d: `growth` is multiplied by length, and `mean_start_share` by before.
    # - 1/d²: `step_share` is multiplied by length·before, and `start_share` by before².
    # - u/d²: `scaled_u_integral` is multiplied by length².
    growth = log_growth(before, length)
    pos_share, start_precision = share(new_pos, length), share(tp0, before)
    step_share, start_share = share(length, before + length), share(before, before + length)
    mean_start_share = np.where(length > 0, share(growth * before, length), 1.0 * started)
    scaled_u_integral = np.where(started, growth - step_share, 0.0)
    by_start_fp = -pos_share * (start_precision * step_share + pos_share * scaled_u_integral)
    by_start_tp = pos_share * growth + by_start_fp
    within = pos_share * (
        start_precision * (mean_start_share - start_share)
        + pos_share * (1 - 2 * mean_start_share + start_share)
    )
    by_pos = start_precision * mean_start_share + 2 * pos_share * (1 - mean_start_share) - within
    area = precision_recall_integral(steps.tp, steps.fp, tp0, steps.fp0).sum() / steps.pos
    rise, fall = _reverse_cumulative_sum(by_start_tp), _reverse_cumulative_sum(by_start_fp)
    pos = np.append(by_pos + np.append(rise[1:], 0), 0)
    negs = np.append(-within + np.append(fall[1:], 0), fall[:1])
    return (pos - area) / steps.pos, negs / steps.pos


CURVE_STATISTICS = {
    "auc": AUC_STATISTIC,
    "gini": Statistic(
        replicate=ReplicateStatistic(function=gini), influence=_gini_influence, bounds=(-1.0, 1.0)
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

    If the AUC is 1, TPR is 1 and FPR is 0. If the AUC is 0, both rates are 0 or both are 1; the
    size of the smaller class is then used for both, because it gives wider limits.
    """
    smaller = np.minimum(n_pos, n_neg)
    pos, neg = (np.where(share == 1, n, smaller).astype(float) for n in (n_pos, n_neg))
    tpr = Estimate.of_proportion(share * pos, pos, level)
    ks = tpr.minus(Estimate.of_proportion(np.zeros_like(neg), neg, level))
    return np.maximum(ks.lower, 0), np.minimum(ks.upper, 1)


def _perfect_eer(
    share: NDArray[np.float64], n_pos: NDArray[Any], n_neg: NDArray[Any], level: float
) -> Limits:
    """Return Wilson's limits of an EER of 0 or 1, as a proportion of the smaller class."""
    smaller = np.minimum(n_pos, n_neg)
    return wilson(share * smaller, smaller, level)


def _perfect_precision(
    share: NDArray[np.float64], n_pos: NDArray[Any], _: NDArray[Any], level: float
) -> Limits:
    """Return Wilson's limits of an area as a proportion of positives (Boyd, Eng, Page, 2013)."""
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


def _reverse_cumulative_sum(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each position, the sum of the value and all later values."""
    sums: NDArray[np.float64] = np.cumsum(values[::-1])[::-1]
    return sums


BINS = 10  # number of quantile bins of the calibration errors


def _quantile_bins(scan: Scannable) -> Bins:
    """Return the bins of the calibration errors."""
    return probability_bins(scan, "quantile", BINS)


def _corp_parts(scan: Scannable) -> CorpParts:
    """Return the parts of the Brier score of each group by isotonic regression."""
    return corp_decomposition(scan, probability_losses(scan).brier, isotonic_losses(scan).brier)


class _DistinctScores(NamedTuple):
    """The distinct scores of a sample, the weights of both classes at each, and their sums."""

    sample: ReplicateScan
    probability: NDArray[np.float64]
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    n_pos: float
    n_neg: float

    @classmethod
    def from_sample(cls, sample: ReplicateScan) -> _DistinctScores:
        """Return the scores of the rows in a sample."""
        block = sample.block
        return cls(
            sample=sample,
            probability=sample.codec.decode(block.codes),
            pos=block.pos.astype(float),
            neg=block.neg.astype(float),
            n_pos=float(sample.totals.pos[0]),
            n_neg=float(sample.totals.neg[0]),
        )

    @property
    def n(self) -> float:
        """The sum of all weights."""
        return self.n_pos + self.n_neg

    def brier_influence(self) -> Influences:
        """Return the influence values of the Brier score."""
        return self.mean_influence((1 - self.probability) ** 2, self.probability**2)

    def mean_influence(
        self, of_pos: NDArray[np.float64], of_neg: NDArray[np.float64]
    ) -> Influences:
        """Return the influence values of the mean of values that depend on score and class."""
        mean = (self.pos @ of_pos + self.neg @ of_neg) / self.n
        return _with_unscored((of_pos - mean) / self.n, (of_neg - mean) / self.n)

    def uncertainty_influence(self) -> Influences:
        """Return the influence values of the uncertainty."""
        rate, ones = self.n_pos / self.n, np.ones(len(self.pos))
        slope = (1 - 2 * rate) / self.n
        return _with_unscored(slope * (1 - rate) * ones, -slope * rate * ones)

    def logistic_influence(
        self, columns: NDArray[np.float64], predictor: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the influence values of the parameters of a logistic regression, one row each.

        `columns` has the regressors in its rows, and `predictor` is the linear predictor of each
        score.
        """
        low, high = np.exp(np.minimum(predictor, 0)), np.exp(-np.maximum(predictor, 0))
        p, q = low / (1 + low * high), high / (1 + low * high)
        # Rows with a score of 0 or 1 are left out of the regression.
        columns = columns * ((self.probability > 0) & (self.probability < 1))
        information = (columns * ((self.pos + self.neg) * p * q)) @ columns.T
        changes = np.linalg.solve(information, columns)
        return changes * q, -changes * p


def _with_unscored(pos: NDArray[np.float64], neg: NDArray[np.float64]) -> Influences:
    """Return influence values with a last value of 0, which is that of rows without a score."""
    return np.append(pos, 0), np.append(neg, 0)


def _brier_skill_influence(scores: _DistinctScores) -> Influences:
    """Return the influence values of the Brier skill, 1 - Brier score / uncertainty."""
    reference = float(uncertainty(scores.sample)[0])
    share = float(probability_losses(scores.sample).brier[0]) / reference
    of_brier, of_reference = scores.brier_influence(), scores.uncertainty_influence()
    pos, neg = (
        (share * uncertain - brier) / reference
        for brier, uncertain in zip(of_brier, of_reference, strict=True)
    )
    return pos, neg


def _observed_to_expected_influence(scores: _DistinctScores) -> Influences:
    """Return the influence values of the number of positives divided by the sum of the scores."""
    expected = float((scores.pos + scores.neg) @ scores.probability)
    of_score = scores.n_pos / expected * scores.probability
    return _with_unscored((1 - of_score) / expected, -of_score / expected)


def _cllr_influence(scores: _DistinctScores) -> Influences:
    """Return the influence values of Cllr."""
    of_pos, of_neg = log_losses(scores.probability)
    unit = 2 * np.log(2)
    return _with_unscored(
        (of_pos - scores.pos @ of_pos / scores.n_pos) / (scores.n_pos * unit),
        (of_neg - scores.neg @ of_neg / scores.n_neg) / (scores.n_neg * unit),
    )


def _recalibration_influence(parameter: int, scores: _DistinctScores) -> Influences:
    """Return the influence values of the intercept (0) or of the slope (1)."""
    odds = log_odds(scores.probability)
    fit = logistic_recalibration(scores.sample)
    intercept, slope = float(fit.intercept[0]), float(fit.slope[0])
    columns = np.stack([np.ones(len(odds)), odds])
    pos, neg = scores.logistic_influence(columns, intercept + slope * odds)
    return _with_unscored(pos[parameter], neg[parameter])


def _unit_slope_influence(scores: _DistinctScores) -> Influences:
    """Return the influence values of the calibration in the large."""
    odds = log_odds(scores.probability)
    predictor = odds + float(unit_slope_intercept(scores.sample)[0])
    pos, neg = scores.logistic_influence(np.ones((1, len(odds))), predictor)
    return _with_unscored(pos[0], neg[0])


def _statistic(
    function: Callable[[Any], NDArray[np.float64]],
    influence: Callable[[_DistinctScores], Influences] | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    *,
    depends_on_prevalence: bool = True,
) -> Statistic:
    """Return a statistic of probabilities; it uses all distinct scores of each resample."""
    return Statistic(
        replicate=ReplicateStatistic(
            function=function, depends_on_prevalence=depends_on_prevalence, corners=False
        ),
        influence=None
        if influence is None
        else lambda sample: influence(_DistinctScores.from_sample(sample)),
        bounds=bounds,
        of_probabilities=True,
    )


# The errors of a local regression are columns of one replicate, because the regression is slow.
CURVE_ERRORS = ReplicateStatistic(
    function=lambda scan: np.stack(curve_errors(find_points(scan)), axis=1),
    depends_on_prevalence=True,
    corners=False,
    width=len(CurveErrors._fields),
)


PROBABILITY_STATISTICS = {
    "brier": _statistic(
        lambda scan: probability_losses(scan).brier, _DistinctScores.brier_influence
    ),
    "brier_skill": _statistic(
        lambda scan: brier_skill(scan, probability_losses(scan).brier),
        _brier_skill_influence,
        (-inf, 1.0),
    ),
    "log_loss": _statistic(
        lambda scan: probability_losses(scan).log_loss,
        lambda scores: scores.mean_influence(*log_losses(scores.probability)),
        (0.0, inf),
    ),
    "miscalibration": _statistic(lambda scan: _corp_parts(scan).miscalibration),
    "discrimination": _statistic(lambda scan: _corp_parts(scan).discrimination, bounds=(0.0, 0.25)),
    "uncertainty": _statistic(uncertainty, _DistinctScores.uncertainty_influence, (0.0, 0.25)),
    "ece": _statistic(lambda scan: ece(scan, _quantile_bins(scan))),
    "mce": _statistic(lambda scan: mce(scan, _quantile_bins(scan))),
    "calibration_intercept": _statistic(
        lambda scan: logistic_recalibration(scan).intercept,
        partial(_recalibration_influence, 0),
        (-inf, inf),
    ),
    "calibration_slope": _statistic(
        lambda scan: logistic_recalibration(scan).slope,
        partial(_recalibration_influence, 1),
        (-inf, inf),
    ),
    **{
        name: Statistic(
            replicate=CURVE_ERRORS, column=column, influence=None, of_probabilities=True
        )
        for column, name in enumerate(CurveErrors._fields)
    },
    "cllr": _statistic(
        lambda scan: probability_losses(scan).cllr,
        _cllr_influence,
        (0.0, inf),
        depends_on_prevalence=False,
    ),
    "cllr_min": _statistic(lambda scan: isotonic_losses(scan).cllr, depends_on_prevalence=False),
    "calibration_in_the_large": _statistic(
        unit_slope_intercept, _unit_slope_influence, (-inf, inf)
    ),
    "observed_to_expected": _statistic(
        positives_to_expected, _observed_to_expected_influence, (0.0, inf)
    ),
    "smooth_ece": _statistic(lambda scan: smooth_ece(find_points(scan))),
}
