"""The points of curves at which `intervals` evaluates metrics, given or chosen by a rule."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rocframe.decisions.costs import CurveRows, best_rows
from rocframe.decisions.operating_point import RuleOptions, allowed_rows
from rocframe.errors import OptionValueError
from rocframe.kernel.arrays import grouped_bisect
from rocframe.kernel.codec import round_thresholds
from rocframe.kernel.resample import ReplicateScan
from rocframe.rates import CONFUSION, CountRatio
from rocframe.schemas.table_type import CURVE_COLUMNS, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.decisions.costs import Rule
    from rocframe.decisions.operating_point import Constraint
    from rocframe.kernel.scan import Block, Scannable
    from rocframe.rates import Rate
    from rocframe.resampling import Influences


class CurvePoints(NamedTuple):
    """Points of curves: arrays with a row for each group and a column for each given value.

    `missing` is True if the curve of the group has no point for the value.
    """

    threshold: NDArray[np.float64]
    tp: NDArray[Any]
    fp: NDArray[Any]
    fn: NDArray[Any]
    tn: NDArray[Any]
    missing: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointSearch:
    """Search for the rows of curves at given thresholds, or at given values of `rate`.

    `unit` is the number by which the weights of each group of the data were divided, if they were.
    """

    rate: Rate | None
    values: Sequence[float]
    unit: NDArray[np.float64] | None = None

    @property
    def depends_on_prevalence(self) -> bool:
        """Whether the thresholds of the points depend on the share of positives."""
        return self.rate is not None and self.rate.varies_with_prevalence

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
        of a point is the highest of them; otherwise it may be any of them, which is faster.
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
        """Return the argument `before` of `grouped_bisect` for a value.

        It is True for scores at or above the threshold, for a TPR below the value, or for another
        rate of at most the value.
        """
        value, totals, rate = self.values[index], scan.totals, self.rate
        if rate is None:
            limit = round_thresholds(value, scan.codec.scores)
            return lambda step: scan.codec.decode(block.codes[step]) >= limit
        pos, neg, unscored_neg = (
            total[block.groups] for total in (totals.pos, totals.neg, totals.unscored_neg)
        )

        def before(step: NDArray[np.int64]) -> NDArray[np.bool_]:
            rates = _point_rates(rate, block.tp[step], block.fp[step] + unscored_neg, pos, neg)
            below: NDArray[np.bool_] = rates < value if self.is_first else rates <= value
            return below

        return before

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
            for i, value in enumerate(self.values):
                if self.is_first:
                    start = above >= value
                    tp[i][start], fp[i][start], threshold[i][start] = 0, 0, np.inf
                    missing[i] = ~(exists[i] | start) | np.isnan(above)
                else:
                    missing[i] = ~(above <= value)
        fp = fp + unscored
        tp, fp, fn, tn = tp.T, fp.T, (totals.pos - tp).T, (totals.neg - fp).T
        if self.unit is not None:
            unit = np.reshape(units_of(scan, self.unit), (-1, 1))
            tp, fp, fn, tn = (count * unit for count in (tp, fp, fn, tn))
        return CurvePoints(threshold=threshold.T, tp=tp, fp=fp, fn=fn, tn=tn, missing=missing.T)


def units_of(scan: Scannable, unit: NDArray[np.float64]) -> NDArray[np.float64] | np.float64:
    """Return the unit of each group of a scan; replicates have the unit of their group."""
    return unit[scan.population.group] if isinstance(scan, ReplicateScan) else unit


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
    if isinstance(search, PointSearch) and search.rate is None:
        columns[THRESHOLD] = np.tile(np.asarray(search.values, float), shape[0])
    frame = pl.DataFrame(columns).fill_nan(None)
    values = frame.with_columns(metric.expr().alias(str(i)) for i, metric in enumerate(metrics))
    no_point = frame.get_column("tp").is_null().to_numpy()
    return {
        metric.column: np.where(no_point, np.nan, values[str(i)].to_numpy()).reshape(shape)
        for i, metric in enumerate(metrics)
    }


RELATIVE_STEP = 1e-4  # relative change of a count in numerical derivatives


def influence_at(
    metric: Rate, search: PointSearch, index: int, sample: ReplicateScan
) -> Influences:
    """Return the influence values of a metric at a given threshold.

    The influence of a row is the derivative of the metric with respect to the count that includes
    the row, minus the mean of these derivatives.
    """
    counts = stack_points(search.points(sample))[0, index]
    trials = np.repeat(counts[None, :], 8, axis=0)
    for i in range(4):
        trials[2 * i, i + 1] *= 1 + RELATIVE_STEP
        trials[2 * i + 1, i + 1] *= 1 - RELATIVE_STEP
    (values,) = rates_at(trials[:, None, :], [metric], search.single(index)).values()
    values = values.reshape(4, 2)
    cells = counts[1:]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        slopes = np.divide(
            values[:, 0] - values[:, 1], 2 * RELATIVE_STEP * cells, out=np.zeros(4), where=cells > 0
        )
    slopes[~np.isfinite(slopes)] = 0
    tp, fp, fn, tn = slopes - _mean_slopes(
        slopes, cells, by_class=not metric.varies_with_prevalence
    )
    limit = round_thresholds(search.values[index], sample.codec.scores)
    is_alert = sample.codec.decode(sample.block.codes) >= limit
    return np.append(np.where(is_alert, tp, fn), fn), np.append(np.where(is_alert, fp, tn), fp)


def _mean_slopes(
    slopes: NDArray[np.float64], cells: NDArray[np.float64], *, by_class: bool
) -> NDArray[np.float64]:
    """Return, for each of the four counts, the mean slope that is subtracted from its slope.

    `slopes` are the derivatives with respect to the counts `cells`. The mean is over all rows or,
    with `by_class`, over the rows of a class, because resamples have fixed numbers of these rows.
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
    """Search for the row of each curve that a rule chooses among the rows that meet constraints.

    `unit` is as in `PointSearch`.
    """

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
        return any(metric.varies_with_prevalence or metric.name == "alerts" for metric in metrics)

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
    """Check the option `rule` of `intervals` and its options; return None if no rule is given.

    `costs` and `beta` may be given for the metrics only.
    """
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
