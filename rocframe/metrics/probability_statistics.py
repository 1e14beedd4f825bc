"""Statistics of probabilities for bootstrap intervals: losses and measures of calibration."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.inference.bootstrap import Statistic
from rocframe.kernel.resample import ReplicateStatistic
from rocframe.probabilities.bins import probability_bins
from rocframe.probabilities.logistic import logistic_recalibration, unit_slope_intercept
from rocframe.probabilities.losses import (
    brier_skill,
    corp_decomposition,
    isotonic_losses,
    log_losses,
    log_odds,
    positives_to_expected,
    probability_losses,
    uncertainty,
)
from rocframe.probabilities.measures import CurveErrors, curve_errors, ece, mce, smooth_ece
from rocframe.probabilities.score_points import find_points

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.inference.bootstrap import Influences
    from rocframe.kernel.resample import ReplicateScan
    from rocframe.kernel.scan import Scannable
    from rocframe.probabilities.bins import Bins
    from rocframe.probabilities.losses import CorpParts


BINS = 10  # number of quantile bins of the calibration errors


def _quantile_bins(scan: Scannable) -> Bins:
    """Return the bins of the calibration errors."""
    return probability_bins(scan, "quantile", BINS)


def _corp_parts(scan: Scannable) -> CorpParts:
    """Return the parts of the Brier score of each group by isotonic regression."""
    return corp_decomposition(scan, probability_losses(scan).brier, isotonic_losses(scan).brier)


class _DistinctScores(NamedTuple):
    """The distinct scores of a group, and the weights of positives and negatives at each score.

    `n_pos` and `n_neg` are the sums of the weights.
    """

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

    @property
    def log_losses(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The logarithmic loss of each score for a positive, and for a negative."""
        return log_losses(self.probability)

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
        """Return the influence values of the parameters of a logistic regression.

        The result has one row for each parameter. `columns` has the regressors in its rows.
        `predictor` is the linear predictor of each score.
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


def _brier_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the Brier score."""
    return _DistinctScores.from_sample(sample).brier_influence()


def _uncertainty_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the uncertainty."""
    return _DistinctScores.from_sample(sample).uncertainty_influence()


def _brier_skill_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the Brier skill, 1 - Brier score / uncertainty."""
    scores = _DistinctScores.from_sample(sample)
    reference = float(uncertainty(sample)[0])
    share = float(probability_losses(sample).brier[0]) / reference
    of_brier, of_reference = scores.brier_influence(), scores.uncertainty_influence()
    pos, neg = (
        (share * uncertain - brier) / reference
        for brier, uncertain in zip(of_brier, of_reference, strict=True)
    )
    return pos, neg


def _log_loss_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the logarithmic loss."""
    scores = _DistinctScores.from_sample(sample)
    return scores.mean_influence(*scores.log_losses)


def _observed_to_expected_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the number of positives divided by the sum of the scores."""
    scores = _DistinctScores.from_sample(sample)
    expected = float((scores.pos + scores.neg) @ scores.probability)
    of_score = scores.n_pos / expected * scores.probability
    return _with_unscored((1 - of_score) / expected, -of_score / expected)


def _cllr_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of Cllr."""
    scores = _DistinctScores.from_sample(sample)
    of_pos, of_neg = scores.log_losses
    unit = 2 * np.log(2)
    return _with_unscored(
        (of_pos - scores.pos @ of_pos / scores.n_pos) / (scores.n_pos * unit),
        (of_neg - scores.neg @ of_neg / scores.n_neg) / (scores.n_neg * unit),
    )


def _recalibration_influence(parameter: int) -> Callable[[ReplicateScan], Influences]:
    """Return the function for the influence values of the intercept (0) or of the slope (1)."""

    def influence(sample: ReplicateScan) -> Influences:
        scores = _DistinctScores.from_sample(sample)
        odds = log_odds(scores.probability)
        fit = logistic_recalibration(sample)
        intercept, slope = float(fit.intercept[0]), float(fit.slope[0])
        columns = np.stack([np.ones(len(odds)), odds])
        pos, neg = scores.logistic_influence(columns, intercept + slope * odds)
        return _with_unscored(pos[parameter], neg[parameter])

    return influence


def _unit_slope_influence(sample: ReplicateScan) -> Influences:
    """Return the influence values of the calibration in the large."""
    scores = _DistinctScores.from_sample(sample)
    odds = log_odds(scores.probability)
    predictor = odds + float(unit_slope_intercept(sample)[0])
    pos, neg = scores.logistic_influence(np.ones((1, len(odds))), predictor)
    return _with_unscored(pos[0], neg[0])


def _statistic(
    function: Callable[[Any], NDArray[np.float64]],
    influence: Callable[[ReplicateScan], Influences] | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    *,
    depends_on_prevalence: bool = True,
) -> Statistic:
    """Return a statistic of probabilities; it uses all distinct scores of each resample."""
    replicate = ReplicateStatistic(
        function=function, depends_on_prevalence=depends_on_prevalence, corners=False
    )
    return Statistic(replicate=replicate, influence=influence, bounds=bounds, of_probabilities=True)


# The errors of a local regression are columns of one replicate, because the regression is slow.
CURVE_ERRORS = ReplicateStatistic(
    function=lambda scan: np.stack(curve_errors(find_points(scan)), axis=1),
    depends_on_prevalence=True,
    corners=False,
    width=len(CurveErrors._fields),
)


PROBABILITY_STATISTICS = {
    "brier": _statistic(lambda scan: probability_losses(scan).brier, _brier_influence),
    "brier_skill": _statistic(
        lambda scan: brier_skill(scan, probability_losses(scan).brier),
        _brier_skill_influence,
        (-inf, 1.0),
    ),
    "log_loss": _statistic(
        lambda scan: probability_losses(scan).log_loss, _log_loss_influence, (0.0, inf)
    ),
    "miscalibration": _statistic(lambda scan: _corp_parts(scan).miscalibration),
    "discrimination": _statistic(lambda scan: _corp_parts(scan).discrimination, bounds=(0.0, 0.25)),
    "uncertainty": _statistic(uncertainty, _uncertainty_influence, (0.0, 0.25)),
    "ece": _statistic(lambda scan: ece(scan, _quantile_bins(scan))),
    "mce": _statistic(lambda scan: mce(scan, _quantile_bins(scan))),
    "calibration_intercept": _statistic(
        lambda scan: logistic_recalibration(scan).intercept,
        _recalibration_influence(0),
        (-inf, inf),
    ),
    "calibration_slope": _statistic(
        lambda scan: logistic_recalibration(scan).slope, _recalibration_influence(1), (-inf, inf)
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
