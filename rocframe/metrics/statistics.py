"""What `intervals` estimates: metrics at points of curves, and statistics over all scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import inf, log
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import polars as pl

from rocframe.areas.area import step_sum
from rocframe.areas.pairs import AUC_STATISTIC, Steps, auc_influence, count_pairs, group_sums
from rocframe.curves.locate import log_growth, precision_recall_integral
from rocframe.decisions.constraints import allowed_rows
from rocframe.decisions.costs import CurveRows, best_rows
from rocframe.decisions.h_measure import expected_losses
from rocframe.decisions.operating_point import RuleOptions
from rocframe.errors import OptionValueError
from rocframe.inference import Estimate, perfect_area_limits, wilson
from rocframe.kernel.arrays import grouped_bisect
from rocframe.kernel.groups import groups_of_rows, round_thresholds
from rocframe.kernel.scan import ReplicateCounts, ReplicateScan, ReplicateStatistic
from rocframe.probabilities.bins import Binning, probability_bins
from rocframe.probabilities.calibration_summary import (
    CurveErrors,
    curve_errors,
    ece,
    mce,
    smooth_ece,
)
from rocframe.probabilities.losses import (
    EPSILON,
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
from rocframe.rates import CONFUSION, CountRatio
from rocframe.resampling import Statistic
from rocframe.schemas.table_type import CURVE_COLUMNS, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.decisions.constraints import Constraint
    from rocframe.decisions.costs import Rule
    from rocframe.inference import Limits
    from rocframe.kernel.scan import Block, Scannable
    from rocframe.probabilities.bins import Bins
    from rocframe.probabilities.losses import CorpParts
    from rocframe.rates import Rate
    from rocframe.resampling import Influences, RowLosses


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
    """Return the three suprema of each resample that `supremum_limits` requires for KS."""

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
    """Return the influence values: on the step at the own score, and the start of later steps."""
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
        has_t_reference=True,
        has_reliable_influence=False,
        supremum=ReplicateStatistic(function=_ks_supremum, corners=False, width=3),
    ),
    "eer": Statistic(
        replicate=ReplicateStatistic(function=eer),
        influence=eer_influence,
        better="lower",
        # The derivative at a step of the curve depends on one class only, and the variance on both.
        has_influence_variance=False,
    ),
    "average_precision": Statistic(
        replicate=ReplicateStatistic(
            function=average_precision, depends_on_prevalence=True, corners=False
        ),
        influence=average_precision_influence,
        has_t_reference=True,
        has_reliable_influence=False,
    ),
    "pr_auc": Statistic(
        replicate=ReplicateStatistic(function=pr_auc, depends_on_prevalence=True),
        influence=pr_auc_influence,
        has_t_reference=True,
        has_reliable_influence=False,
    ),
    "h_measure": Statistic(
        replicate=ReplicateStatistic(
            function=lambda scan: expected_losses(scan, (2.0, 2.0))["h_measure"],
            depends_on_prevalence=True,
        ),
        influence=None,
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


def _quantile_bins(scan: Scannable) -> Bins:
    """Return the ten quantile bins of the calibration errors."""
    return probability_bins(scan, Binning())


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
        """Return the influence values of the parameters of a logistic regression, one row each."""
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
    better: Literal["higher", "lower", "neither"] = "lower",
    *,
    depends_on_prevalence: bool = True,
    row_losses: RowLosses | None = None,
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
        better=better,
        row_losses=row_losses,
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
        lambda scan: probability_losses(scan).brier,
        _DistinctScores.brier_influence,
        row_losses=lambda probability: ((1 - probability) ** 2, probability**2),
    ),
    "brier_skill": _statistic(
        lambda scan: brier_skill(scan, probability_losses(scan).brier),
        _brier_skill_influence,
        (-inf, 1.0),
        "higher",
    ),
    "log_loss": _statistic(
        lambda scan: probability_losses(scan).log_loss,
        lambda scores: scores.mean_influence(*log_losses(scores.probability)),
        (0.0, -log(EPSILON)),
        row_losses=log_losses,
    ),
    "miscalibration": _statistic(lambda scan: _corp_parts(scan).miscalibration),
    "discrimination": _statistic(
        lambda scan: _corp_parts(scan).discrimination, bounds=(0.0, 0.25), better="higher"
    ),
    "uncertainty": _statistic(
        uncertainty, _DistinctScores.uncertainty_influence, (0.0, 0.25), "neither"
    ),
    "ece": _statistic(lambda scan: ece(scan, _quantile_bins(scan))),
    "mce": _statistic(lambda scan: mce(scan, _quantile_bins(scan))),
    "calibration_intercept": _statistic(
        lambda scan: logistic_recalibration(scan).intercept,
        partial(_recalibration_influence, 0),
        (-inf, inf),
        "neither",
    ),
    "calibration_slope": _statistic(
        lambda scan: logistic_recalibration(scan).slope,
        partial(_recalibration_influence, 1),
        (-inf, inf),
        "neither",
    ),
    **{
        name: Statistic(
            replicate=CURVE_ERRORS,
            column=column,
            influence=None,
            better="lower",
            of_probabilities=True,
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
        unit_slope_intercept, _unit_slope_influence, (-inf, inf), "neither"
    ),
    "observed_to_expected": _statistic(
        positives_to_expected, _observed_to_expected_influence, (0.0, inf), "neither"
    ),
    "smooth_ece": _statistic(lambda scan: smooth_ece(find_points(scan))),
}


class CurvePoints(NamedTuple):
    """Points of curves, with a row per group and a column per value; `missing` if there is none."""

    threshold: NDArray[np.float64]
    tp: NDArray[Any]
    fp: NDArray[Any]
    fn: NDArray[Any]
    tn: NDArray[Any]
    missing: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointSearch:
    """Search for rows at given thresholds or rates; `unit` is the divisor of scaled weights.

    `given` are the thresholds of the groups if the scores are decisions: 1 for rows at or above.
    """

    rate: Rate | None
    values: Sequence[float]
    unit: NDArray[np.float64] | None = None
    given: NDArray[np.float64] | None = None

    @property
    def depends_on_prevalence(self) -> bool:
        """Whether the thresholds of the points depend on the share of positives."""
        return self.rate is not None and self.rate.varies_with_prevalence

    @property
    def window_classes(self) -> tuple[bool, bool] | None:
        """Whether the rate counts positives, and negatives; None if it is no number or share."""
        ratio = None if self.rate is None else self.rate.count_ratio
        if ratio is None:
            return None
        names = {*(ratio.denominator or ratio.numerator)}
        return not names.isdisjoint({"tp", "fn"}), not names.isdisjoint({"fp", "tn"})

    @property
    def is_first(self) -> bool:
        """Whether the point is the first row that meets the condition, instead of the last row."""
        return self.rate is not None and self.rate.occurrence == "first"

    def single(self, index: int) -> PointSearch:
        """Return a search for only one of the values."""
        return replace(self, values=self.values[index : index + 1])

    def points(self, scan: Scannable, *, scores: bool = True) -> CurvePoints:
        """Return the points of each group.

        In a resample, several scores can have the same counts. If `scores` is true, the threshold
        is the highest of them; otherwise it may be any of them, which is faster.
        """
        shape = (len(self.values), len(scan.totals.pos))
        tp, fp = (np.zeros(shape, scan.totals.pos.dtype) for _ in range(2))
        code, exists = np.zeros(shape, scan.codec.codes), np.zeros(shape, bool)
        parts = scan.map(lambda block: self._block_points(scan, block, scores=scores))
        for piece, block_points in zip(scan.ranges, parts, strict=True):
            for i, part in enumerate(block_points):
                # For a given TPR, the point is the first row with at least this TPR. For other
                # rates, the point is the last row whose rate is at most the value.
                better = part.exists
                if self.is_first:
                    better = better & ~exists[i][piece.groups]
                groups = piece.groups[better]
                for values, new in ((tp, part.tp), (fp, part.fp), (code, part.code)):
                    values[i][groups] = new[better]
                exists[i][groups] = True
        return self._curve_points(scan, tp, fp, code, exists)

    def _block_points(self, scan: Scannable, block: Block, *, scores: bool) -> list[_BlockPoints]:
        """Return, for each of `self.values`, the point of each group of a block."""
        starts, ends = block.starts[:-1], block.starts[1:]
        result = []
        for index in range(len(self.values)):
            # `split` is the first score for which `_is_before` is False.
            before = self._is_before(scan, block, index)
            if self.rate is None and isinstance(scan, ReplicateScan):  # all have the same scores
                split = starts + np.count_nonzero(before(np.arange(starts[0], ends[0])))
            else:
                split = grouped_bisect(before, starts, ends - 1)
            exists = split < ends if self.is_first else split > starts
            step = np.clip(split if self.is_first else split - 1, starts, ends - 1)
            score = step
            if scores and self.rate is not None and not self.is_first:
                # Scores that do not occur in a resample have the counts of the previous score. Use
                # the first score with the same counts.
                n_alerts = block.tp[step] + block.fp[step]
                score = grouped_bisect(
                    partial(_has_fewer_alerts, block, n_alerts), starts, step - 1
                )
            result.append(
                _BlockPoints(
                    exists=exists, tp=block.tp[step], fp=block.fp[step], code=block.codes[score]
                )
            )
        return result

    def _is_before(
        self, scan: Scannable, block: Block, index: int
    ) -> Callable[[NDArray[np.int64]], NDArray[np.bool_]]:
        """Return the argument `before` of `grouped_bisect`.

        It is True for scores at or above the threshold, for a TPR below the value, or for another
        rate of at most the value.
        """
        totals, rate = scan.totals, self.rate
        if rate is None:
            limit = round_thresholds(self.values[index], scan.codec.scores)
            return lambda step: scan.codec.decode(block.codes[step]) >= limit
        pos, neg, unscored_neg = (
            total[block.groups] for total in (totals.pos, totals.neg, totals.unscored_neg)
        )
        value = self._limits(scan, index)[block.groups]

        def before(step: NDArray[np.int64]) -> NDArray[np.bool_]:
            rates = _point_rates(rate, block.tp[step], block.fp[step] + unscored_neg, pos, neg)
            below: NDArray[np.bool_] = rates < value if self.is_first else rates <= value
            return below

        return before

    def _limits(self, scan: Scannable, index: int) -> NDArray[np.float64]:
        """Return a value of the rate for each group; a number of rows in its unit of weights."""
        limits = np.full(len(scan.totals.pos), self.values[index], np.float64)
        is_number = self.rate is not None and self.rate.is_number
        if self.unit is None or not is_number:
            return limits
        return limits / units_of(scan, self.unit)  # units are powers of 2

    def _curve_points(
        self,
        scan: Scannable,
        tp: NDArray[Any],
        fp: NDArray[Any],
        code: NDArray[Any],
        exists: NDArray[np.bool_],
    ) -> CurvePoints:
        """Return the points, including points at the threshold `inf`, above all scores."""
        totals = scan.totals
        is_alert = exists & ((tp > 0) | (fp > 0))
        threshold = np.where(is_alert, scan.codec.decode(np.where(is_alert, code, 0)), np.inf)
        unscored = totals.unscored_neg.astype(tp.dtype)
        missing = np.zeros(tp.shape, bool)
        if self.rate is not None:
            # The blocks do not include the row of the curve at the threshold `inf`.
            above = _point_rates(
                self.rate, np.zeros_like(unscored), unscored, totals.pos, totals.neg
            )
            for i in range(len(self.values)):
                value = self._limits(scan, i)
                if self.is_first:
                    start = above >= value
                    tp[i][start], fp[i][start], threshold[i][start] = 0, 0, np.inf
                    missing[i] = ~(exists[i] | start) | np.isnan(above)
                else:
                    missing[i] = ~(above <= value)
        fp = fp + unscored
        if self.given is not None:
            threshold = np.broadcast_to(units_of(scan, self.given), tp.shape)
            missing = np.isnan(threshold)
        tp, fp, fn, tn = tp.T, fp.T, (totals.pos - tp).T, (totals.neg - fp).T
        if self.unit is not None:
            unit = np.reshape(units_of(scan, self.unit), (-1, 1))
            tp, fp, fn, tn = (count * unit for count in (tp, fp, fn, tn))
        return CurvePoints(threshold=threshold.T, tp=tp, fp=fp, fn=fn, tn=tn, missing=missing.T)


def units_of(scan: Scannable, values: NDArray[np.float64]) -> NDArray[np.float64] | np.float64:
    """Return the value of each group of a scan; replicates have the value of their group."""
    return values[scan.population.group] if isinstance(scan, ReplicateScan) else values


def _point_rates(rate: Rate, tp: Any, fp: Any, pos: Any, neg: Any) -> NDArray[np.float64]:
    """Return a rate of points with these counts."""
    # Curve tables use the same formula, so rates in curve tables are equal without rounding.
    counts = {"tp": tp, "fp": fp, "fn": pos - tp, "tn": neg - fp}
    assert isinstance(rate.formula, CountRatio)
    return rate.formula.evaluate(rate.reweight(counts, pos, neg))


def _has_fewer_alerts(
    block: Block, n_alerts: NDArray[Any], step: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Return whether fewer than `n_alerts` rows are at or above each of the scores `step`."""
    fewer: NDArray[np.bool_] = block.tp[step] + block.fp[step] < n_alerts
    return fewer


class _BlockPoints(NamedTuple):
    """The point of each group in a block; `exists` is False for groups without a point."""

    exists: NDArray[np.bool_]
    tp: NDArray[Any]
    fp: NDArray[Any]
    code: NDArray[Any]


def stack_points(points: CurvePoints) -> NDArray[np.float64]:
    """Return thresholds and counts with the axes group, value and column; NaN without a point."""
    columns = [points.threshold, *(getattr(points, name) for name in CONFUSION)]
    return np.stack([np.where(points.missing, np.nan, column) for column in columns], axis=2)


def rates_at(
    points: NDArray[np.float64], metrics: Sequence[Rate], search: PointSearch | RuleSearch
) -> dict[str, NDArray[np.float64]]:
    """Return each metric at points, with one row per group and one column per value."""
    shape = points.shape[:2]
    columns = {name: points[:, :, i].ravel() for i, name in enumerate(CURVE_COLUMNS)}
    # The given threshold is used, not the lowest score at or above it.
    if isinstance(search, PointSearch) and search.rate is None and search.given is None:
        columns[THRESHOLD] = np.tile(np.asarray(search.values, float), shape[0])
    no_point = np.isnan(columns["tp"])
    others = [metric for metric in metrics if metric.count_ratio is None]
    values = {
        metric.column: metric.count_ratio.evaluate(columns)
        for metric in metrics
        if metric.count_ratio is not None
    }
    if others:
        frame = pl.DataFrame(columns).fill_nan(None)
        frame = frame.select(metric.expr().alias(str(i)) for i, metric in enumerate(others))
        values |= {metric.column: frame[str(i)].to_numpy() for i, metric in enumerate(others)}
    return {
        metric.column: np.where(no_point, np.nan, values[metric.column]).reshape(shape)
        for metric in metrics
    }


RELATIVE_STEP = 1e-4  # relative change of a count in numerical derivatives


def influence_at(
    metric: Rate, search: PointSearch, index: int, sample: ReplicateScan
) -> Influences:
    """Return the influence values at a threshold: centered derivatives with respect to counts."""
    point = stack_points(search.points(sample))[:, index]
    (slopes,) = count_slopes(metric, point, search.single(index))
    tp, fp, fn, tn = slopes - _mean_slopes(
        slopes, point[0, 1:], by_class=not metric.varies_with_prevalence
    )
    limit = round_thresholds(search.values[index], sample.codec.scores)
    is_alert = sample.codec.decode(sample.block.codes) >= limit
    return np.append(np.where(is_alert, tp, fn), fn), np.append(np.where(is_alert, fp, tn), fp)


def count_slopes(
    metric: Rate, points: NDArray[np.float64], search: PointSearch | RuleSearch
) -> NDArray[np.float64]:
    """Return the derivatives of a metric with respect to the four counts of each point (rows)."""
    trials = np.repeat(points[:, None, :], 8, axis=1)
    for i in range(4):
        trials[:, 2 * i, i + 1] *= 1 + RELATIVE_STEP
        trials[:, 2 * i + 1, i + 1] *= 1 - RELATIVE_STEP
    (values,) = rates_at(trials.reshape(-1, 1, 5), [metric], search).values()
    values, cells = values.reshape(-1, 4, 2), points[:, 1:]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        change = values[:, :, 0] - values[:, :, 1]
        slopes = np.divide(
            change, 2 * RELATIVE_STEP * cells, out=np.zeros_like(cells), where=cells > 0
        )
    slopes[~np.isfinite(slopes)] = 0
    return slopes


def _mean_slopes(
    slopes: NDArray[np.float64], cells: NDArray[np.float64], *, by_class: bool
) -> NDArray[np.float64]:
    """Return, for each of the four counts, the mean slope that is subtracted from its slope.

    The mean is over all rows or, with `by_class`, over the rows of a class, because resamples have
    fixed numbers of these rows.
    """
    if not by_class:
        return np.full(4, (slopes * cells).sum() / cells.sum())
    positive = np.array([True, False, True, False])
    of_pos, of_neg = (
        (slopes * cells)[own].sum() / cells[own].sum() for own in (positive, ~positive)
    )
    means: NDArray[np.float64] = np.where(positive, of_pos, of_neg)
    return means


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RuleSearch:
    """Search for the row of each curve that a rule chooses among the rows that meet constraints."""

    rule: Rule
    constraints: Sequence[Constraint]
    unit: NDArray[np.float64] | None = None

    @property
    def values(self) -> list[None]:
        """The values of the argument: None, because a rule has one point and no value."""
        return [None]

    @property
    def depends_on_prevalence(self) -> bool:
        """Whether the chosen row depends on the share of positives."""
        metrics = [self.rule.value, *(metric for metric, *_ in self.constraints)]
        return any(metric.varies_with_prevalence for metric in metrics)

    def points(self, scan: Scannable, *, scores: bool = True) -> CurvePoints:  # noqa: ARG002
        """Return the best row of each group, with the highest threshold if several are best."""
        rows, n_groups = self._curve_rows(scan), len(scan.totals.pos)
        best = best_rows(rows, self.rule, n_groups, allowed_rows(rows, self.constraints)).row
        exists = best >= 0
        counts = rows.take(np.where(exists, best, 0)).counts
        columns = {name: values[:, None] for name, values in counts.items()}
        return CurvePoints(**columns, missing=~exists[:, None])

    def _curve_rows(self, scan: Scannable) -> CurveRows:
        """Return the rows of all curves, including the rows at the threshold `inf`."""
        totals = scan.totals
        n_groups, unscored = len(totals.pos), totals.unscored_neg
        # A score without rows in a resample is not a threshold of the curve of this resample.
        is_sample = isinstance(scan, ReplicateScan)

        def steps(block: Block) -> tuple[NDArray[Any], ...]:
            curve = np.repeat(block.groups, np.diff(block.starts))
            arrays = curve, scan.codec.decode(block.codes), block.tp, block.fp
            if not is_sample:
                return arrays
            has_rows = (block.tp > block.tp0) | (block.fp > block.fp0)
            return tuple(array[has_rows] for array in arrays)

        above = (
            np.arange(n_groups),
            np.full(n_groups, np.inf),
            np.zeros(n_groups, totals.pos.dtype),
            np.zeros(n_groups, totals.neg.dtype),
        )
        parts = zip(above, *scan.map(steps), strict=True)
        curve, threshold, tp, fp = (np.concatenate(columns) for columns in parts)
        order = np.argsort(curve, kind="stable")
        curve = curve[order]
        tp, fp, pos, neg = (
            tp[order],
            fp[order] + unscored[curve],
            totals.pos[curve],
            totals.neg[curve],
        )
        if self.unit is not None:
            unit = np.broadcast_to(units_of(scan, self.unit), n_groups)[curve]
            tp, fp, pos, neg = (count * unit for count in (tp, fp, pos, neg))
        return CurveRows(
            curve=curve,
            threshold=threshold[order],
            tp=tp,
            fp=fp,
            pos=pos,
            neg=neg,
            scores=scan.codec.scores,
        )


def parse_rule(
    rule: object, *, costs: Mapping[str, float] | None, beta: float, **options: Any
) -> RuleOptions | None:
    """Check the option `rule` and its options; the metrics may also use `costs` and `beta`."""
    if rule is None:
        for name in ("benefits", "subject_to", "minimize"):
            if options[name] is not None:
                hint = f'Pass a rule as well, such as rule="youden", or leave out {name}=.'
                raise OptionValueError.compose(name, options[name], "no rule is given", hint)
        return None
    names = {str(rule), *(options["subject_to"] or ())}
    parsed = RuleOptions.parse(
        rule,
        costs=costs if names & {"expected_cost", "bayes"} else None,
        beta=beta if "f_beta" in names else 1.0,
        **options,
    )
    if len(parsed.rules) > 1:
        raise OptionValueError.compose("rule", rule, "expected one rule", 'Use rule="youden".')
    (chosen,), _ = parsed.at_prevalence(None)
    if chosen.threshold is not None:
        problem = "the costs determine the threshold, so it does not vary between samples"
        hint = f"Use {THRESHOLD}={chosen.threshold:.6g}."
        raise OptionValueError.compose("rule", rule, problem, hint)
    return parsed
