"""Find the row of each curve with the highest or the lowest value of the quantity of a rule.

Values that are computed from integer counts are compared exactly, so that ties are detected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rocframe.curves.locate import round_values
from rocframe.curves.segment import confusion_counts
from rocframe.kernel.codec import round_thresholds
from rocframe.kernel.exact import MAX_INT64, scale_by_totals
from rocframe.kernel.groups import run_starts
from rocframe.options import exact_fraction, simplest_fraction
from rocframe.schemas.columns import CURVE_COLUMNS, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.rates import Rate


MAX_FLOAT_BITS = 1000  # integers with at most so many bits can be converted to Float64
COST_RATIO_ROUNDING = Fraction(
    1, 2**51
)  # maximum relative error of the ratio of two rounded numbers
MAX_RATIO_TERM = 2**24  # different ratios of integers up to this limit differ by more than that
NEAR_OPTIMUM = 1e-9  # values at a smaller relative distance from the best are compared exactly


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveRows:
    """Rows of curves, sorted by curve and falling threshold.

    `curve` is the index of the curve of each row. `pos` and `neg` are the sizes of the classes of
    this curve. `scores` is the float dtype of the scores.
    """

    curve: NDArray[np.int64]
    threshold: NDArray[np.float64]
    tp: NDArray[Any]
    fp: NDArray[Any]
    pos: NDArray[Any]
    neg: NDArray[Any]
    scores: np.dtype[Any]

    @classmethod
    def from_curves(cls, curves: Curves, selected: slice = slice(None)) -> CurveRows:
        """Return the rows of the selected curves, which are numbered from 0."""
        first, last = curves.firsts[selected], curves.lasts[selected]
        curve = np.repeat(np.arange(len(first)), last - first + 1)
        start, end = (first[0], last[-1] + 1) if len(first) else (0, 0)
        threshold, tp, fp, fn, tn = (
            curves.columns.between(name, start, end) for name in CURVE_COLUMNS
        )
        offset = (first - start)[curve]
        pos, neg = (tp + fn)[offset], (fp + tn)[offset]
        return cls(
            curve=curve,
            threshold=threshold,
            tp=tp,
            fp=fp,
            pos=pos,
            neg=neg,
            scores=curves.scores,
        )

    def take(self, index: NDArray[np.int64]) -> CurveRows:
        """Return the rows at these positions."""
        arrays = self.threshold, self.tp, self.fp, self.pos, self.neg
        threshold, tp, fp, pos, neg = (array[index] for array in arrays)
        return replace(
            self, curve=self.curve[index], threshold=threshold, tp=tp, fp=fp, pos=pos, neg=neg
        )

    def where(self, selected: NDArray[np.bool_]) -> tuple[CurveRows, NDArray[np.int64]]:
        """Return the selected rows and their positions."""
        if selected.all():
            return self, np.arange(len(selected))
        index = np.flatnonzero(selected)
        return self.take(index), index

    @property
    def weighted(self) -> bool:
        """Whether the counts are sums of weights."""
        return any(count.dtype.kind == "f" for count in (self.tp, self.fp, self.pos, self.neg))

    @property
    def counts(self) -> dict[str, NDArray[Any]]:
        """Threshold and confusion matrix of each row."""
        return confusion_counts(self.threshold, self.tp, self.fp, self.pos, self.neg)

    @property
    def unit_counts(self) -> tuple[NDArray[Any], ...]:
        """The arrays tp, fp, pos and neg. Sums of weights are scaled by powers of two.

        The power for tp and pos depends on pos, and the power for fp and neg on neg. Therefore
        products of scaled sums do not underflow. Integer counts are not changed.
        """
        tp, pos = scale_by_totals(self.pos, self.tp, self.pos)
        fp, neg = scale_by_totals(self.neg, self.fp, self.neg)
        return tp, fp, pos, neg

    def evaluate(self, metric: Rate) -> NDArray[np.float64]:
        """Return the value of a metric at each row, rounded; NaN if the metric is undefined.

        Also NaN for curves of one class if the metric needs both classes: its values do not depend
        on the decisions, so that no threshold is better than another.
        """
        values = self.round_values(metric.evaluate(self.counts), metric)
        if metric.needs_both_classes:
            values = np.where((self.pos > 0) & (self.neg > 0), values, np.nan)
        return values

    def round_values(self, values: NDArray[np.float64], metric: Rate) -> NDArray[np.float64]:
        """Return values of a metric without rounding errors.

        Ratios of integer counts have no rounding errors and are not rounded. Thresholds are rounded
        to the dtype of the scores.
        """
        if metric.name == THRESHOLD:
            return round_thresholds(values, self.scores)
        is_exact = metric.count_ratio is not None and not self.weighted
        return values if is_exact else round_values(values, metric.bounds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountPolynomial:
    """A polynomial in tp, fp, pos and neg, in which all terms have the same degree.

    `largest` is an upper bound of the sum of the absolute coefficients.
    """

    function: Callable[[Any, Any, Any, Any], Any]
    degree: int
    largest: int

    def is_defined(self, rows: CurveRows) -> NDArray[np.bool_]:
        """Return whether the polynomial is defined at each row.

        Degree 1 requires a row of any class. Higher degrees require rows of both classes.
        """
        sizes = rows.pos + rows.neg if self.degree == 1 else np.minimum(rows.pos, rows.neg)
        return np.asarray(sizes > 0, bool)

    def candidates(self, rows: CurveRows) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
        """Return the values of the polynomial at candidates for the best row, and their positions.

        The value of any other row is lower than that of the best row of the same curve. The
        positions are None if all rows are candidates. Values from integer counts are exact.
        """
        if not len(rows.curve):
            return np.zeros(0), None
        arrays = rows.tp, rows.fp, rows.pos, rows.neg
        size = max(rows.pos.max(), rows.neg.max())
        if not rows.weighted and self.largest * int(size) ** self.degree <= MAX_INT64:
            return self.function(*arrays), None
        total = (rows.pos + rows.neg).astype(np.float64)
        values = self.function(*(array / total for array in arrays))
        starts, lengths = curve_ranges(rows.curve)
        best, scale = (
            np.repeat(np.maximum.reduceat(part, starts), lengths) for part in (values, abs(values))
        )
        if rows.weighted:
            return round_values(values / np.where(scale > 0, scale, 1), (-1, 1)), None
        near = np.flatnonzero(values >= best - NEAR_OPTIMUM * scale)
        integers = (array[near].astype(object) for array in arrays)
        return np.asarray(self.function(*integers), object), near


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rule:
    """A rule that chooses a row of each curve.

    `value` is the metric that describes the row. The row has the highest value of `polynomial`. If
    `polynomial` is None, the row has the highest or, with `minimize`, lowest value of the metric. A
    rule with a `threshold` chooses the row at this threshold.
    """

    name: str
    value: Rate
    minimize: bool = False
    polynomial: CountPolynomial | None = None
    threshold: float | None = None


class Optimum(NamedTuple):
    """The best row of each curve, -1 if there is none, and the number of equally good rows."""

    row: NDArray[np.int64]
    n_optima: NDArray[np.int64]


def best_rows(
    rows: CurveRows, rule: Rule, n_curves: int, is_allowed: NDArray[np.bool_] | None = None
) -> Optimum:
    """Return the best row of each curve by a rule, among the allowed rows.

    Of several best rows, the row with the highest threshold is returned.
    """
    if is_allowed is not None and not is_allowed.all():
        allowed, index = rows.where(is_allowed)
        row, n_optima = best_rows(allowed, rule, n_curves)
        return Optimum(np.append(index, -1)[row], n_optima)
    if rule.polynomial is None:
        metric = rows.evaluate(rule.value)
        index = np.flatnonzero(~np.isnan(metric))
        values = -metric[index] if rule.minimize else metric[index]
    else:
        defined, index = rows.where(rule.polynomial.is_defined(rows))
        values, near = rule.polynomial.candidates(defined)
        index = index if near is None else index[near]
    curve = rows.curve[index]
    row = np.full(n_curves, -1)
    starts, lengths = curve_ranges(curve)
    if len(starts):
        is_best = np.asarray(
            values == np.repeat(np.maximum.reduceat(values, starts), lengths), bool
        )
        index, curve = index[is_best], curve[is_best]
        row[curve[::-1]] = index[::-1]  # in reverse order, so that the first row is assigned last
    return Optimum(row, np.bincount(curve, minlength=n_curves))


def curve_ranges(curve: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the position of the first row and the number of rows of each curve with rows."""
    starts = run_starts(curve)
    return starts, np.diff(starts, append=len(curve))


def difference_of_rates(tp: Any, fp: Any, pos: Any, neg: Any) -> Any:
    """Return TPR - FPR, multiplied by the sizes of both classes."""
    return tp * neg - fp * pos


def difference_of_errors(tp: Any, fp: Any, pos: Any, neg: Any) -> Any:
    """Return -|FNR - FPR|, multiplied by the sizes of both classes."""
    return -abs((pos - tp) * neg - fp * pos)


def distance_to_corner(tp: Any, fp: Any, pos: Any, neg: Any) -> Any:
    """Return -(FNR² + FPR²), multiplied by the squared sizes of both classes."""
    return -(((pos - tp) * neg) ** 2 + (fp * pos) ** 2)


YOUDEN = CountPolynomial(function=difference_of_rates, degree=2, largest=2)
EQUAL_ERROR = CountPolynomial(function=difference_of_errors, degree=2, largest=3)
CLOSEST_TOP_LEFT = CountPolynomial(function=distance_to_corner, degree=4, largest=5)


def linear_gain(tp_gain: Fraction, fp_loss: Fraction, prevalence: float | None) -> CountPolynomial:
    """Return the polynomial tp · tp_gain - fp · fp_loss.

    With `prevalence`, the counts of each class are weighted to this prevalence.
    """
    if prevalence is not None:
        share = exact_fraction(prevalence)
        tp_gain, fp_loss = share * tp_gain, (1 - share) * fp_loss
    tp_gain, fp_loss = _simple_ratio(tp_gain, fp_loss)
    scale = lcm(tp_gain.denominator, fp_loss.denominator)
    gain, loss = int(tp_gain * scale), int(fp_loss * scale)
    largest = abs(gain) + abs(loss)
    unit = 1 << max(largest.bit_length() - MAX_FLOAT_BITS, 0)

    def weighted_difference(tp: Any, fp: Any, pos: Any, neg: Any) -> Any:
        """Return the polynomial; divided by `unit` for floats, so that it does not overflow."""
        up, down = (gain / unit, loss / unit) if tp.dtype.kind == "f" else (gain, loss)
        if prevalence is None:
            return up * tp - down * fp
        return up * tp * neg - down * fp * pos

    degree = 1 if prevalence is None else 2
    return CountPolynomial(function=weighted_difference, degree=degree, largest=largest)


def _simple_ratio(a: Fraction, b: Fraction) -> tuple[Fraction, Fraction]:
    """Return two numbers with the ratio of `a` and `b`, without the rounding of their floats.

    If the ratio differs from a ratio of small integers by less than the rounding errors of two
    floats, the result is these integers. Therefore costs that are multiplied by a common factor
    have the same ties.
    """
    if not a or not b:
        return a, b
    ratio = abs(a / b)
    simple = simplest_fraction(ratio * (1 - COST_RATIO_ROUNDING), ratio * (1 + COST_RATIO_ROUNDING))
    if max(simple.numerator, simple.denominator) > MAX_RATIO_TERM:
        return a, b
    return (
        Fraction(simple.numerator if a > 0 else -simple.numerator),
        Fraction(simple.denominator if b > 0 else -simple.denominator),
    )
