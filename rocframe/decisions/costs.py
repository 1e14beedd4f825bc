"""Costs of errors, the row of lowest expected cost of each curve, and the line of equal cost.

Values that are computed from integer counts are compared exactly, so that ties are detected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rocframe.curves.locate import confusion_counts, round_values
from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.frames import column, number_distinct_rows
from rocframe.kernel.arrays import MAX_INT64, scale_by_totals
from rocframe.kernel.groups import round_thresholds, run_starts
from rocframe.options import exact_fraction, parse_fraction, parse_number, simplest_fraction
from rocframe.rates import CONFUSION, RATES
from rocframe.schemas.table_type import CURVE_COLUMNS, THRESHOLD
from rocframe.text import format_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.kinds import Kind
    from rocframe.rates import Rate, Settings


class ErrorCosts(NamedTuple):
    """Costs of a false positive and of a false negative, minus those of correct predictions."""

    fp: Fraction
    fn: Fraction

    @classmethod
    def parse(cls, costs: Mapping[str, float]) -> ErrorCosts:
        """Return the costs of errors; raise an error unless they exceed those of no errors."""
        exact = {name: exact_fraction(costs.get(name, 0)) for name in CONFUSION}
        fp, fn = exact["fp"] - exact["tn"], exact["fn"] - exact["tp"]
        if fp < 0 or fn < 0 or fp == fn == 0:
            problem = "errors must cost more than correct predictions"
            hint = (
                'Use, for example, {"fp": 1, "fn": 5}; the cost of outcomes that are not named is '
                "0."
            )
            raise OptionValueError.compose("costs", costs, problem, hint)
        return cls(fp, fn)


def cost_rule(settings: Settings) -> Rule:
    """Return the rule `"expected_cost"`: the lowest cost per row, with the costs in `settings`."""
    fp, fn = ErrorCosts.parse(settings.costs or {})
    return Rule(
        name="expected_cost",
        value=replace(RATES["expected_cost"], settings=settings),
        polynomial=linear_gain(fn, fp, settings.prevalence),
    )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LowestCost:
    """The row of lowest expected cost of each curve (-1 and NaN if it lacks a class).

    `rise / run` is the slope of equal cost in ROC coordinates, both at least 0.
    """

    row: NDArray[np.int64]
    n_optima: NDArray[np.int64]
    cost: NDArray[np.float64]
    rise: NDArray[np.float64]
    run: NDArray[np.float64]


ERROR_RATE_COSTS = {"fp": 1.0, "fn": 1.0}  # with these costs, the expected cost is the error rate


def lowest_cost(curves: Curves, settings: Settings) -> LowestCost:
    """Return the row of lowest cost of each curve; without costs, of the lowest error rate."""
    settings = replace(
        settings,
        costs=ERROR_RATE_COSTS if settings.costs is None else settings.costs,
        prevalence=curves.prevalence if settings.prevalence is None else settings.prevalence,
    )
    rule, errors = cost_rule(settings), ErrorCosts.parse(settings.costs or {})
    rows, pos, neg = CurveRows.from_curves(curves), curves.pos, curves.neg
    row, n_optima = best_rows(rows, rule, len(pos))
    exists = (pos > 0) & (neg > 0) & (row >= 0)
    cost, rise, run = np.full((3, len(pos)), np.nan)
    cost[exists] = rule.value.evaluate(rows.take(row[exists]).counts)
    prevalence = settings.prevalence
    share = pos[exists] / (pos + neg)[exists] if prevalence is None else prevalence
    rise[exists], run[exists] = (1 - share) * float(errors.fp), share * float(errors.fn)
    row, n_optima = np.where(exists, row, -1), np.where(exists, n_optima, 0)
    return LowestCost(row=row, n_optima=n_optima, cost=cost, rise=rise, run=run)


EQUAL_COST_KINDS = ("roc", "gain", "lift_chart")  # kinds whose lines of equal cost are straight


def equal_cost_steps(
    best: LowestCost, curves: Curves, kind: Kind
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the changes of x and of y, at least 0, along the line of equal cost of each curve."""
    pos, neg = curves.pos, curves.neg
    if curves.prevalence is None:
        share = np.divide(pos, pos + neg, out=np.zeros(len(pos)), where=pos + neg > 0)
    else:
        share = np.full(len(pos), curves.prevalence)
    steps = {
        "fpr": best.run,
        "tpr": best.rise,
        "alert_rate": share * best.rise + (1 - share) * best.run,
        "tp": pos * best.rise,
    }
    return steps[kind.x], steps[kind.y]


CLASS_KEY = "class"  # the key column of curves of one class against the rest
CLASS_KEY_HINT = 'Compute the curves with by=["class"] to use prior=.'
PRIOR_EXAMPLE = "Use, for example, prior={'a': 0.9, 'b': 0.1}."
COSTS_EXAMPLE = "Use, for example, costs={('a', 'b'): 5}, the cost of predicting b for class a."
SHARE_ROUNDING = 1e-6  # largest accepted difference between the sum of all shares and 1

ClassShares: TypeAlias = Mapping[Any, float]
PairCosts: TypeAlias = (
    "Mapping[Any, float] | Sequence[Sequence[float]] | NDArray[Any] | pl.DataFrame"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClassCosts:
    """Share of each class (`prior`), and costs of the outcomes of its one-vs-rest curve."""

    prior: Mapping[Any, float]
    costs: Mapping[Any, Mapping[str, float]] | None

    @classmethod
    def parse(cls, prior: object, costs: Any) -> ClassCosts | None:
        """Return the shares and costs of all classes; None without `prior` and costs of pairs."""
        by_pair = isinstance(costs, Mapping) and any(isinstance(key, tuple) for key in costs)
        if prior is None and not by_pair:
            return None
        if prior is None:
            problem = "costs of pairs of classes require the share of each class"
            raise OptionValueError.compose("costs", costs, problem, PRIOR_EXAMPLE)
        shares = parse_shares(prior)
        is_matrix = hasattr(costs, "__iter__") and not isinstance(costs, Mapping | str)
        if by_pair or is_matrix:
            pairs = parse_pairs(costs, list(shares), "prior")
            reduced = _costs_against_rest(shares, pairs)
            for name, errors in reduced.items():
                if not any(errors.values()):
                    problem = f"all errors that concern class {name!r} cost 0"
                    raise OptionValueError.compose("costs", costs, problem, COSTS_EXAMPLE)
        else:
            reduced = dict.fromkeys(shares, costs)
        return cls(prior=shares, costs=None if costs is None else reduced)

    def settings_of(self, name: Any) -> dict[str, Any]:
        """Return the options `prevalence` and `costs` of the one-vs-rest curve of a class."""
        return {"prevalence": self.prior[name], "costs": self.costs_of(name)}

    def costs_of(self, name: Any) -> Mapping[str, float] | None:
        """Return the costs of errors of the one-vs-rest curve of a class; None without costs."""
        return None if self.costs is None else self.costs[name]

    def row_settings(self) -> dict[str, Any]:
        """Return the prevalence and costs of the class of each row, as options of `Settings`."""
        prevalence = self._number_of_row(self.prior)
        if self.costs is None:
            return {"row_prevalence": prevalence}
        outcomes = dict.fromkeys(outcome for costs in self.costs.values() for outcome in costs)
        costs = {
            outcome: self._number_of_row(
                {name: float(costs.get(outcome, 0)) for name, costs in self.costs.items()}
            )
            for outcome in outcomes
        }
        return {"row_prevalence": prevalence, "row_costs": costs}

    def _number_of_row(self, number_of: Mapping[Any, float]) -> pl.Expr:
        """Return the number of the class of each row; null for null, an error without a share."""

        def find(values: pl.Series) -> pl.Series:
            distinct, position = number_distinct_rows(values.to_frame())
            names = distinct.to_series().to_list()
            # polars also passes nulls instead of rows whose value is not needed.
            self.check_classes(name for name in names if name is not None)
            numbers = pl.Series(values.name, [number_of.get(name) for name in names], pl.Float64)
            return numbers.gather(position)

        return column(CLASS_KEY).map_batches(find, return_dtype=pl.Float64, is_elementwise=True)

    def check_classes(self, names: Iterable[Any]) -> None:
        """Raise an error for a class without a share."""
        unknown = [name for name in names if name not in self.prior]
        if unknown:
            problem = f"the share of {format_classes(unknown)} is missing"
            hint = "Pass a share for every class of the table."
            raise OptionValueError.compose("prior", dict(self.prior), problem, hint)

    def split(self, frame: pl.DataFrame) -> Iterator[tuple[Any, pl.DataFrame]]:
        """Return each class in the column `class` and its rows; raise an error without a share."""
        parts = frame.partition_by(CLASS_KEY, maintain_order=True, as_dict=True)
        self.check_classes(name for (name,) in parts)
        return ((name, rows) for (name,), rows in parts.items())


def check_class_key(by: Iterable[str]) -> None:
    """Raise an error if the key columns of a curve table do not include `class`."""
    if CLASS_KEY not in by:
        noun = "group column"
        raise MissingColumnError.compose("prior", CLASS_KEY, by, noun=noun, hint=CLASS_KEY_HINT)


def format_classes(names: Sequence[Any]) -> str:
    """Return the classes as text: "class 'a'", or "each of the classes 'a', 'b'"."""
    noun = "class" if len(names) == 1 else "each of the classes"
    return f"{noun} {format_list(names)}"


def parse_shares(prior: object) -> dict[Any, float]:
    """Return the share of each class; raise an error unless the shares sum to 1."""
    if not isinstance(prior, Mapping) or len(prior) < 2:
        problem = "expected a mapping from two or more classes to their shares"
        raise OptionValueError.compose("prior", prior, problem, PRIOR_EXAMPLE)
    shares = {
        name: parse_fraction(f"prior[{name!r}]", share, example=0.1)
        for name, share in prior.items()
    }
    total = sum(shares.values())
    if abs(total - 1) > SHARE_ROUNDING:
        problem = f"the shares sum to {total:g} instead of 1"
        raise OptionValueError.compose("prior", prior, problem, "Divide each share by the sum.")
    return shares


def parse_pairs(
    costs: Any, classes: Sequence[Any], argument: str
) -> dict[tuple[Any, Any], Fraction]:
    """Return the cost of each pair (true class, predicted class), from a mapping or a matrix.

    A matrix has a row for each true class and a column for each predicted class, both in the order
    of `classes`, which is the order of the public argument `argument`.
    """
    cost_of_pair = costs
    if not isinstance(costs, Mapping):
        matrix = costs.to_numpy().tolist() if isinstance(costs, pl.DataFrame) else costs
        rows = [list(row) if hasattr(row, "__iter__") else [row] for row in matrix]
        size = len(classes)
        if len(rows) != size or any(len(row) != size for row in rows):
            lengths = sorted({len(row) for row in rows})
            shape = f"{len(rows)} × {' or '.join(map(str, lengths))}"
            problem = f"expected a matrix of {size} × {size} costs, but this has {shape}"
            hint = (
                "Pass a row for each true class and a column for each predicted class, in the "
                f"order of {argument}=."
            )
            raise OptionValueError.compose("costs", costs, problem, hint)
        cost_of_pair = {
            (true, predicted): rows[i][j]
            for i, true in enumerate(classes)
            for j, predicted in enumerate(classes)
        }
    pairs = {}
    for key, cost in cost_of_pair.items():
        entry = f"costs[{key!r}]"
        if not isinstance(key, tuple) or len(key) != 2:
            problem = "the key of a cost must be a pair of the true class and the predicted class"
            raise OptionValueError.compose(entry, cost, problem, COSTS_EXAMPLE)
        for name in key:
            if name not in classes:
                problem = f"class {name!r} is not in {argument}="
                hint = f"The classes are: {format_list(classes)}."
                raise OptionValueError.compose(entry, cost, problem, hint)
        pairs[key] = exact_fraction(
            parse_number(entry, cost, low=0, closed="left", hint=COSTS_EXAMPLE)
        )
        if key[0] == key[1] and pairs[key]:
            problem = "the cost of a correct prediction must be 0"
            raise OptionValueError.compose(entry, cost, problem, "Leave out this pair.")
    return pairs


def _costs_against_rest(
    prior: Mapping[Any, float], pairs: Mapping[tuple[Any, Any], Fraction]
) -> dict[Any, dict[str, float]]:
    """Return the mean cost of a false positive and a false negative of each one-vs-rest curve.

    The means are over the other classes, weighted by their shares. Other pairs cost 1.
    """
    shares = {name: exact_fraction(share) for name, share in prior.items()}
    total = sum(shares.values())
    sums = {name: {"fp": total - share, "fn": total - share} for name, share in shares.items()}
    for (true, predicted), cost in pairs.items():
        if true != predicted:
            sums[predicted]["fp"] += (cost - 1) * shares[true]
            sums[true]["fn"] += (cost - 1) * shares[predicted]
    return {
        name: {error: float(cost / (total - shares[name])) for error, cost in costs.items()}
        for name, costs in sums.items()
    }


MAX_FLOAT_BITS = 1000  # integers with at most so many bits can be converted to Float64
COST_RATIO_ROUNDING = Fraction(1, 2**51)  # relative error of the ratio of two rounded numbers
MAX_RATIO_TERM = 2**24  # different ratios of integers up to this limit differ by more than that
NEAR_OPTIMUM = 1e-9  # values at a smaller relative distance from the best are compared exactly


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveRows:
    """Rows of curves, sorted by curve and falling threshold, and the class sizes of their curve."""

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
        sizes = {"pos": (tp + fn)[offset], "neg": (fp + tn)[offset]}
        return cls(curve=curve, threshold=threshold, tp=tp, fp=fp, **sizes, scores=curves.scores)

    def take(self, index: NDArray[np.int64]) -> CurveRows:
        """Return the rows at these positions."""
        names = ("curve", "threshold", "tp", "fp", "pos", "neg")
        return replace(self, **{name: getattr(self, name)[index] for name in names})

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
        """The arrays tp, fp, pos and neg; sums of weights are scaled by powers of two.

        The powers depend on pos and on neg, so that products of scaled sums do not underflow.
        """
        tp, pos = scale_by_totals(self.pos, self.tp, self.pos)
        fp, neg = scale_by_totals(self.neg, self.fp, self.neg)
        return tp, fp, pos, neg

    def evaluate(self, metric: Rate) -> NDArray[np.float64]:
        """Return the value of a metric at each row, rounded; NaN if the metric is undefined.

        Also for curves of one class if it needs both: it then does not depend on the decisions.
        """
        values = self.round_values(metric.evaluate(self.counts), metric)
        if metric.needs_both_classes:
            values = np.where((self.pos > 0) & (self.neg > 0), values, np.nan)
        return values

    def round_values(self, values: NDArray[np.float64], metric: Rate) -> NDArray[np.float64]:
        """Round values of a metric, except exact ratios; thresholds get the dtype of scores."""
        if metric.name == THRESHOLD:
            return round_thresholds(values, self.scores)
        is_exact = metric.count_ratio is not None and not self.weighted
        return values if is_exact else round_values(values, metric.bounds)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CountPolynomial:
    """A homogeneous polynomial in tp, fp, pos and neg, as arrays or expressions.

    `largest` bounds Σ|coefficient|.
    """

    function: Callable[[Any, Any, Any, Any], Any]
    degree: int
    largest: int

    def is_defined(self, rows: CurveRows) -> NDArray[np.bool_]:
        """Return whether each row has the classes: any for degree 1, both for higher degrees."""
        sizes = rows.pos + rows.neg if self.degree == 1 else np.minimum(rows.pos, rows.neg)
        return np.asarray(sizes > 0, bool)

    def candidates(self, rows: CurveRows) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
        """Return the values of the polynomial at candidates for the best row, and their positions.

        The positions are None if all rows are candidates. Values from integer counts are exact.
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
    """A rule that chooses a row of each curve: at `threshold`, or with the highest `polynomial`.

    Without both, the row has the best value of the metric `value`, which describes the row.
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
    """Return the best allowed row of each curve; of several, that with the highest threshold."""
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


# TPR - FPR and -|FNR - FPR|, multiplied by the sizes of both classes, and -(FNR² + FPR²),
# multiplied by the squared sizes. Expressions of Int128 have no unary minus.
YOUDEN = CountPolynomial(function=lambda tp, fp, pos, neg: tp * neg - fp * pos, degree=2, largest=2)
EQUAL_ERROR = CountPolynomial(
    function=lambda tp, fp, pos, neg: 0 - abs((pos - tp) * neg - fp * pos), degree=2, largest=3
)
CLOSEST_TOP_LEFT = CountPolynomial(
    function=lambda tp, fp, pos, neg: 0 - (((pos - tp) * neg) ** 2 + (fp * pos) ** 2),
    degree=4,
    largest=5,
)


def linear_gain(tp_gain: Fraction, fp_loss: Fraction, prevalence: float | None) -> CountPolynomial:
    """Return the polynomial tp · tp_gain - fp · fp_loss, for counts weighted to `prevalence`."""
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
        is_exact = largest <= MAX_INT64 or (not isinstance(tp, pl.Expr) and tp.dtype.kind != "f")
        up, down = (gain, loss) if is_exact else (gain / unit, loss / unit)
        if prevalence is None:
            return up * tp - down * fp
        return up * tp * neg - down * fp * pos

    degree = 1 if prevalence is None else 2
    return CountPolynomial(function=weighted_difference, degree=degree, largest=largest)


def _simple_ratio(a: Fraction, b: Fraction) -> tuple[Fraction, Fraction]:
    """Return two numbers with the ratio of `a` and `b`, without the rounding of their floats.

    Of ratios within the rounding errors, the simplest is chosen, so that costs that are multiplied
    by a common factor have the same ties.
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
