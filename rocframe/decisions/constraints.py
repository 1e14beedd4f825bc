"""Constraints of a threshold: on the data, or with a given confidence on new data.

A guarantee tests the hypothesis that the true metric violates the constraint, at each threshold,
with the exact binomial test of Clopper and Pearson. Thresholds are tested in sequences whose order
and start do not depend on the labels, so that the probability that a threshold that violates the
constraint is accepted is at most one minus the confidence ("learn then test", Angelopoulos et al.
2021).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isfinite, isnan, log
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from rocframe.errors import OptionValueError, UnknownOptionError
from rocframe.kernel.groups import cumulative_sums, run_starts
from rocframe.options import is_text, percent_hint, to_float
from rocframe.rates import COUNT_METRICS, NAMES, RATES, Rate
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rocframe.decisions.costs import CurveRows

# Names that constraints accept, besides metrics.
CONSTRAINED = {
    THRESHOLD: Rate(
        name=THRESHOLD,
        one_class=True,
        label="Threshold",
        formula=lambda *_: pl.col(THRESHOLD),
        better="neither",
        bounds=(-inf, inf),
        depends_on_prevalence=False,
    )
}


class Constraint(NamedTuple):
    """The allowed range of a metric, both ends included."""

    metric: Rate
    low: float
    high: float

    def is_met(self, rows: CurveRows, values: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Return whether values of the metric are in the range; False for undefined values."""
        low, high = rows.round_values(np.array([self.low, self.high]), self.metric)
        return np.asarray((values >= low) & (values <= high))

    def shares(self) -> Iterator[tuple[bool, float]]:
        """Return the limits that not all proportions meet, as lower limits of a share of rows.

        The share is that of the rows in the numerator (True) or of all others (False).
        """
        if self.low > self.metric.bounds[0]:
            yield True, self.low
        if self.high < self.metric.bounds[1]:
            yield False, 1 - self.high


def parse_constraints(subject_to: object) -> dict[str, tuple[float, float]]:
    """Return the lowest and highest allowed value of each metric in `subject_to`."""
    hint = 'Use, for example, subject_to={"precision": (0.9, 1)}.'
    if not isinstance(subject_to, Mapping):
        problem = "expected a dict of ranges"
        raise OptionValueError.compose("subject_to", subject_to, problem, hint)
    ranges = {}
    for name, limits in subject_to.items():
        metrics = (*CONSTRAINED, *NAMES, *COUNT_METRICS)
        if not is_text(name, *metrics):
            raise UnknownOptionError.of_key("subject_to", name, metrics)
        argument = f"subject_to[{name!r}]"
        pair = list(limits) if isinstance(limits, Sequence) and not isinstance(limits, str) else []
        numbers = [
            to_float(default if limit is None else limit)
            for limit, default in zip(pair, (-inf, inf), strict=False)
        ]
        low, high = numbers if len(pair) == 2 else (None, None)
        if low is None or high is None or isnan(low) or isnan(high):
            problem = "expected a pair of numbers: the lowest and the highest allowed value"
            raise OptionValueError.compose(argument, limits, problem, hint)
        if low > high:
            problem = "the lowest allowed value is above the highest allowed value"
            raise OptionValueError.compose(argument, limits, problem, hint)
        _check_within_bounds(argument, limits, (low, high), name)
        ranges[name] = low, high
    return ranges


def _check_within_bounds(
    argument: str, limits: object, numbers: tuple[float, float], name: str
) -> None:
    """Raise an error if a finite limit is outside the range of the metric `name`."""
    low, high = {**NAMES, **COUNT_METRICS, **CONSTRAINED}[name].bounds
    for number in numbers:
        if isfinite(number) and not low <= number <= high:
            allowed = f"at least {low:g}" if high == inf else f"from {low:g} to {high:g}"
            problem = f"{number:g} is outside the range of this metric: {allowed}"
            hint = f"Use limits within this range.{percent_hint(number, high)}"
            raise OptionValueError.compose(argument, limits, problem, hint)


def check_guarantee(guarantee: float, constraints: Sequence[Constraint]) -> None:
    """Raise an error unless the constraints are limits of proportions that data can guarantee."""
    limited = [constraint for constraint in constraints if constraint.metric.name != THRESHOLD]
    for metric, low, high in limited:
        argument = f"subject_to[{metric.column!r}]"
        limits = tuple(limit if isfinite(limit) else None for limit in (low, high))
        if metric.proportion is None:
            problem = "a guarantee requires a proportion of rows, without a given prevalence"
            hint = f"Use {', '.join(GUARANTEED)}{OTHER_LIMITS.get(metric.name, '')}."
            raise OptionValueError.compose(argument, limits, problem, hint)
        if low == 1 or high == 0:
            problem = "a guarantee is impossible for the smallest or the largest possible value"
            hint = "Use a limit between 0 and 1, such as 0.99 or 0.01."
            raise OptionValueError.compose(argument, limits, problem, hint)
    if not any(share for constraint in limited for share in constraint.shares()):
        problem = "there is no limit of a proportion to guarantee"
        hint = 'Pass, for example, subject_to={"precision": (0.9, None)}, or leave out guarantee=.'
        raise OptionValueError.compose("guarantee", guarantee, problem, hint)


# Metrics that a guarantee supports, and what to use instead of others.
GUARANTEED = tuple(
    name for name, rate in RATES.items() if rate.proportion is not None and name != "prevalence"
)
OTHER_LIMITS = {
    "f1": "; an F1 of at least x is a jaccard of at least x / (2 - x)",
    "balanced_accuracy": "; for both classes, use tpr and tnr",
    "youden": "; for both classes, use tpr and fpr",
    "alerts": "; for a number of alerts, leave out guarantee=",
}


def allowed_rows(
    rows: CurveRows, constraints: Sequence[Constraint], guarantee: float | None = None
) -> NDArray[np.bool_]:
    """Return whether each row meets all constraints: on the data or, with a confidence, on others.

    Several limits share the error probability equally (Bonferroni), so that every rule may choose
    among the rows.
    """
    is_allowed = np.ones(len(rows.curve), bool)
    for constraint in constraints:
        is_allowed &= constraint.is_met(rows, rows.evaluate(constraint.metric))
    if guarantee is not None:
        limits = [
            (constraint.metric, *share)
            for constraint in constraints
            if constraint.metric.name != THRESHOLD
            for share in constraint.shares()
        ]
        for metric, is_numerator, share in limits:
            alpha = (1 - guarantee) / len(limits)
            is_allowed &= _guaranteed_rows(rows, metric, is_numerator, share, alpha)
    return is_allowed


def _guaranteed_rows(
    rows: CurveRows, metric: Rate, is_numerator: bool, share: float, alpha: float
) -> NDArray[np.bool_]:
    """Return the rows at which the share of a proportion is at least `share` on other data.

    - A proportion of a fixed set of rows that only rises or only falls with the threshold, such as
      the TPR, violates its limit on one side of a threshold. The test at this threshold decides
      about all of that side, so no correction for several thresholds is needed.
    - Predictive values are tested from the end where they meet the limit if high scores are more
      often positive, until the first test that does not reject.
    - Other proportions, such as the accuracy, are tested in ten sequences, which start at each
      tenth of the alerts.
    """
    from scipy.special import betainc

    ratio = metric.proportion
    assert ratio is not None
    counts = rows.counts
    trials = sum(counts[name] for name in ratio.denominator)
    parts = [name for name in ratio.denominator if (name in ratio.numerator) == is_numerator]
    successes = sum(counts[name] for name in parts)
    # The probability of at least so many successes if their share is at the limit.
    p_value = np.where(
        successes > 0, betainc(np.maximum(successes, 1), trials - successes + 1, share), 1.0
    )
    if metric.monotone:
        return np.asarray(p_value <= alpha)
    alerts, total = rows.tp + rows.fp, rows.pos + rows.neg
    if ratio.denominator not in PREDICTIVE_VALUES:
        tenth = np.minimum(alerts * 10 // np.maximum(total, 1), 9)
        return _rejected_in_sequences(p_value, rows.curve, tenth, [alpha / 10] * 10)
    levels = [alpha * weight for weight in WEIGHTS]
    fewest = log(levels[0]) / log(share)  # with fewer rows, no test rejects
    start = np.clip(total * LARGEST_START, fewest, START * fewest)
    bounds = [start * RESTART**power for power in range(1, len(WEIGHTS))]
    segment = np.where(trials >= start, sum(trials >= bound for bound in bounds), -1)
    if set(parts) <= WRONG_PREDICTIONS:  # more frequent with many predictions than with few
        segment = np.where(segment >= 0, len(WEIGHTS) - 1 - segment, -1)
    order = slice(None, None, 1 if set(parts) <= OF_POSITIVES else -1)
    return _rejected_in_sequences(p_value[order], rows.curve[order], segment[order], levels)[order]


PREDICTIVE_VALUES = (("tp", "fp"), ("fn", "tn"))  # their denominators
OF_POSITIVES, WRONG_PREDICTIONS = {"tp", "fn"}, {"fp", "fn"}
# Where the sequence of a predictive value starts: with three times the fewest rows with which a
# test can reject, or an eighth of all rows if that is less. In simulations, sequences that start
# with fewer rows stop too early, and those that start with more miss the thresholds of small data.
START, LARGEST_START = 3, 1 / 8
# If the sequence stops, it starts again with three times as many rows, up to three times. A model
# with errors among its highest scores stops it early. In simulations of other models, the smaller
# error probability of the first start costs 1 % of the recall.
RESTART, WEIGHTS = 3, (0.95, *[0.05 / 3] * 3)


def _rejected_in_sequences(
    p_value: NDArray[np.float64],
    curve: NDArray[np.int64],
    segment: NDArray[np.int64],
    levels: Sequence[float],
) -> NDArray[np.bool_]:
    """Return the rows before the first failure of each segment of a curve; none in segment -1.

    A segment is tested at its own level, plus those of the segments right before it without a
    failure (the fallback procedure of Wiens 2003).
    """
    rejected = np.zeros(len(curve), bool)
    passed_on = np.zeros(int(curve.max(initial=-1)) + 1)
    for number, own_level in enumerate(levels):
        level = passed_on + own_level
        inside = np.flatnonzero(segment == number)
        of_curve = curve[inside]
        has_failed = (p_value[inside] > level[of_curve]).astype(np.int64)
        failures = cumulative_sums(has_failed, np.append(run_starts(of_curve), len(inside)))
        rejected[inside] = failures == 0
        passed_on = level
        passed_on[of_curve[failures > 0]] = 0
    return rejected
