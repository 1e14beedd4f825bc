"""The function `area`: areas under the curves of a curve table."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rocframe.areas.pairs import (
    Pairs,
    Steps,
    VarianceParts,
    class_variances,
    group_sums,
    obuchowski_variance,
    pair_dtype,
    scatter_to_rows,
)
from rocframe.curves.locate import precision_recall_integral
from rocframe.curves.table import check_ends, curve_layout, read_curves
from rocframe.errors import BrokenCurveError, OptionValueError
from rocframe.frames import as_input_frame, column, lazy_plan, through_node
from rocframe.kernel.arrays import exact_quotient, exact_sums
from rocframe.kernel.groups import groups_of_rows
from rocframe.kernel.scan import ReplicateStatistic
from rocframe.kinds import kind_of
from rocframe.options import (
    check_choice,
    check_group_columns,
    check_supported,
    group_dtypes,
    public,
    to_floats,
)
from rocframe.rates import as_fpr_or_tpr, prevalence_weights
from rocframe.resampling import Statistic
from rocframe.schemas.statistics import PARTIAL_AUC_NAMES, curve_average_of, metric_average_of
from rocframe.schemas.table_type import SIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rocframe.areas.pairs import Clusters
    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kernel.scan import Block, ReplicateScan, Scan, Scannable
    from rocframe.options import KindName
    from rocframe.resampling import Influences
    from rocframe.schemas.statistics import CurveAverage

    Areas: TypeAlias = list[NDArray[np.float64]]

ANCHOR_COLUMN = "(rows)"  # internal column without nulls, which is removed from the result


@public
def area(
    curves: FrameT,
    /,
    *,
    by: By = None,
    kind: KindName | None = None,
    x: Range | None = None,
    y: Range | None = None,
    alert_rate: Range | None = None,
) -> FrameT:
    """Compute the area under each curve of a curve table.

    For precision-recall curves, `average_precision` is the precision times the increase in recall,
    summed over all rows, and `pr_auc` is the integral of the interpolated curve. For all other
    kinds, `auc` is the area under the ROC curve. Lift charts also have the area under the lift
    chart with straight lines between the points (`lift_area`) and with steps (`lift_area_step`).

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.
    kind : str, default None
        Kind of curve, such as `"roc"`; see `curve`. By default, the two rates right of `tn`
        determine the kind.
    x, y : (float, float), default None
        Ranges of both axes of ROC or precision-recall curves, such as `y=(0.8, 1)`: the partial
        area is the part of this rectangle that is below the curve; by default, an axis has no
        limits.
    alert_rate : (float, float), default None
        Range of the share of rows that are predicted positive, from 0, such as `(0, 0.01)`: the
        partial area that `auc` returns for this range.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group: `*by, auc`, or `*by, average_precision, pr_auc` for precision-recall, or
        `*by, auc, lift_area, lift_area_step` for lift charts. With `alert_rate`, `x` or `y`, the
        column is `partial_auc`, or `partial_pr_auc` for precision-recall, which interpolates as
        `pr_auc` does. All are Float64. For averaged curves, the column is `auc_of_mean` for ROC and
        DET, and `area_of_mean` for all other kinds, the integral of y over x.

        Lift areas are between 0 and the number of positives. `auc` and `partial_auc` are null if
        there are no positives or no negatives, precision-recall areas if there are no positives,
        and lift areas if there are no rows. With `curve(prevalence=)`, all areas except `auc` are
        those at that prevalence, and null if a class is absent. The area of an averaged curve is
        null if it does not cover x from 0 to 1, or if `n_curves` differs between rows.

    Raises
    ------
    RocframeError
        If the table is not a curve table, or if a curve lacks its first or its last rows.
    OptionValueError
        If `by`, `kind` or a range is given with averaged curves, or if a range is invalid.

    See Also
    --------
    tie_bounds : The range of the area if several scores are between two given thresholds.

    Notes
    -----
    With *m* positives and the prevalence π, `lift_area` is m · (π/2 + (1 − π) · auc), and
    `lift_area` / m is the area under the gain curve. With unscored positives (`missing="worst"`),
    `lift_area` is smaller, and precision-recall areas end at the highest recall.

    References
    ----------
    - T. Saito, M. Rehmsmeier (2015), PLoS ONE 10(3), e0118432. doi:10.1371/journal.pone.0118432
    - J. Davis, M. Goadrich (2006), ICML, 233-240. doi:10.1145/1143844.1143874
    - M. Vuk, T. Curk (2006), Metodološki zvezki 3(1), 89-108.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> rf.area(rf.curve(predictions, "label", "score")).item()
    0.75
    >>> predictions.roc.curve("label", "score", kind="pr").roc.area()
    shape: (1, 2)
    ┌───────────────────┬──────────┐
    │ average_precision ┆ pr_auc   │
    │ ---               ┆ ---      │
    │ f64               ┆ f64      │
    ╞═══════════════════╪══════════╡
    │ 0.833333          ┆ 0.887327 │
    └───────────────────┴──────────┘
    """
    top = None if alert_rate is None else TopRange.parse(alert_rate)
    rectangle = None
    if x is not None or y is not None:
        check_supported("alert_rate", alert_rate, "x= or y=")
        rectangle = [_parse_axis_range(*axis) for axis in (("x", x), ("y", y))]

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        mean = curve_average_of(list(schema))
        if mean is not None:
            _check_unused(by=by, kind=kind, x=x, y=y, alert_rate=alert_rate)
            return area_of_mean(plan, schema, mean)
        metric_mean = metric_average_of(list(schema))
        if metric_mean is not None:
            raise BrokenCurveError.compose(
                f"curves: no area is defined for averages at fixed values of {metric_mean.fixed}",
                'To compute an area, use, for example, average(fixed="fpr") without metrics=.',
            )
        curve_layout(schema, by, ())  # raises for a table without thresholds and counts
        default = ("auc",), lambda curves: [auc_of(curves)]
        kind_name = kind_of(list(schema), kind).name
        names, areas_of = MEASURES.get(kind_name, default)
        if rectangle is not None:
            name, partial_area_of = _partial_measure(kind_name)
            names, areas_of = (name,), lambda curves: [partial_area_of(curves, *rectangle)]
        if top is not None:
            names, areas_of = PARTIAL_AUC_NAMES[:1], lambda curves: [top_area_of(curves, top=top)]
        table = curve_layout(schema, by, names)
        anchor = table.private(ANCHOR_COLUMN)

        def compute(frame: pl.DataFrame) -> pl.DataFrame:
            complete = read_curves(frame, table)
            check_ends(
                complete,
                "the area under the curve is unknown",
                "Compute the curve without thresholds=, and keep all its rows. For a partial area "
                "use .roc.auc(…, fpr=(0, 0.1)).",
            )
            return complete.keys.with_columns(
                *(
                    pl.Series(name, values, nan_to_null=True)
                    for name, values in zip(names, areas_of(complete), strict=True)
                ),
                pl.Series(anchor, [True] * len(complete.firsts), pl.Boolean),
            )

        areas = through_node(
            plan.select(table.count_columns),
            compute,
            schema={**table.keys, **dict.fromkeys(names, pl.Float64()), anchor: pl.Boolean()},
            by=table.by,
            anchor=anchor,
        )
        return areas.drop(anchor)

    return as_input_frame(curves, lazy_plan("curves", curves).pipe_with_schema(resolve))


def _check_unused(**options: object) -> None:
    """Raise an error if an option is given, because tables of averaged curves do not support it."""
    for option, value in options.items():
        hint = f"Leave out {option}=. There is one area per averaged curve."
        check_supported(option, value, "the table of averaged curves", hint=hint)


def auc_of(curves: Curves) -> NDArray[np.float64]:
    """Return the area under each ROC curve, with ties counted as 1/2; NaN if a class is absent."""
    return areas_of_ties(curves)[0]


def areas_of_ties(
    curves: Curves,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return three areas under each ROC curve: with ties counted as 1/2, as 0 and as 1."""
    if not len(curves.firsts):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    steps = Steps.from_curves(curves).scaled()
    wins, wins_or_ties = (
        exact_sums(steps.fp - steps.fp0, above, curves.firsts) for above in (steps.tp0, steps.tp)
    )
    return Pairs(wins=wins, wins_or_ties=wins_or_ties, pos=steps.pos, neg=steps.neg).areas


def top_area_of(curves: Curves, *, top: TopRange) -> NDArray[np.float64]:
    """Return the partial area of each curve over the range `top`; NaN if a class is absent."""
    if not len(curves.firsts):
        return np.zeros(0)
    steps = Steps.from_curves(curves).scaled()
    return top.quotients(top.pairs(steps, curves.prevalence), steps.pos, steps.neg)[0]


def _partial_auc_of(curves: Curves, x: Range, y: Range) -> NDArray[np.float64]:
    """Return the area below each ROC curve in a rectangle; NaN if a class is absent."""
    if not len(curves.firsts):
        return np.zeros(0)
    rectangle = RateRange(rate="fpr", low=x[0], high=x[1], mcclish=False, bottom=y[0], top=y[1])
    depth, *_ = rectangle.integrals(Steps.from_curves(curves).as_floats())
    area: NDArray[np.float64] = np.add.reduceat(depth, curves.firsts)
    area[(curves.pos == 0) | (curves.neg == 0)] = np.nan
    return area


def _partial_pr_auc_of(curves: Curves, x: Range, y: Range) -> NDArray[np.float64]:
    """Return the area below each interpolated precision-recall curve in a rectangle.

    Between two points, precision only rises or only falls, so a step has one part within the range
    of precision, and one part above it.
    """
    steps = steps_at_prevalence(curves)
    pos = steps.of_steps(steps.pos)
    rise, slope = steps.tp - steps.tp0, steps.fp - steps.fp0
    slope = np.divide(slope, rise, out=np.zeros(len(rise)), where=rise > 0)
    left, right = (np.clip(tp, x[0] * pos, x[1] * pos) for tp in (steps.tp0, steps.tp))

    def fp_at(tp: NDArray[np.float64]) -> Any:
        return np.where(tp == steps.tp, steps.fp, steps.fp0 + (tp - steps.tp0) * slope)

    def precision_at(tp: NDArray[np.float64]) -> Any:
        # At the point (0, 0), precision is that of the first part of the curve.
        fp, start = fp_at(tp), 1 / (1 + slope)
        return np.divide(tp, tp + fp, out=start, where=tp + fp > 0)

    first, last = precision_at(left), precision_at(right)
    falls = first > last

    def crossing(precision: float) -> Any:
        """Return tp where precision has this value, or the end of the step that is nearer to it."""
        # tp = precision · (tp + fp), and fp is linear in tp.
        divisor = 1 - precision * (1 + slope)
        offset = precision * (steps.fp0 - steps.tp0 * slope)
        tp = np.divide(offset, divisor, out=left.copy(), where=divisor != 0)
        beyond = np.where((first < precision) ^ falls, right, left)
        is_inside = (first < precision) != (last < precision)
        return np.where(is_inside, np.clip(tp, left, right), beyond)

    low, high = crossing(y[0]), crossing(y[1])
    begin, end = np.minimum(low, high), np.maximum(low, high)
    within = precision_recall_integral(end, fp_at(end), begin, fp_at(begin))
    within -= y[0] * (end - begin)
    above = (y[1] - y[0]) * np.where(falls, high - left, right - high)
    return area_per_positive(curves, np.where(right > left, within + above, 0.0))


def _parse_axis_range(axis: str, value: object) -> Range:
    """Return the range of an axis, (0, 1) for None."""
    if value is None:
        return 0.0, 1.0
    example = f"Use, for example, {axis}=(0, 0.2)."
    low, high = parse_ends(axis, value, example)
    if not 0 <= low < high <= 1:
        problem = "expected two rising numbers between 0 and 1"
        raise OptionValueError.compose(axis, value, problem, example)
    return low, high


def _partial_measure(kind: str) -> tuple[str, Callable[[Curves, Range, Range], Any]]:
    """Return the column of the area in a rectangle and its function, for a kind of curve."""
    measures = {
        "roc": (PARTIAL_AUC_NAMES[0], _partial_auc_of),
        "precision_recall": ("partial_pr_auc", _partial_pr_auc_of),
    }
    if kind not in measures:
        problem = "x= and y= are ranges of ROC and of precision-recall curves"
        hint = 'Use kind="roc" or kind="precision_recall", or leave out x= and y=.'
        raise OptionValueError.compose("kind", kind, problem, hint)
    return measures[kind]


def average_precision_of(curves: Curves) -> NDArray[np.float64]:
    """Return the average precision of each curve; NaN if there are no positives."""
    steps = steps_at_prevalence(curves)
    return area_per_positive(curves, step_sum(steps.tp, steps.fp, steps.tp0))


def precision_recall_areas(curves: Curves) -> Areas:
    """Return the average precision and the interpolated area; NaN without positives."""
    steps = steps_at_prevalence(curves)
    sums = (
        step_sum(steps.tp, steps.fp, steps.tp0),
        precision_recall_integral(steps.tp, steps.fp, steps.tp0, steps.fp0),
    )
    return [area_per_positive(curves, values) for values in sums]


def steps_at_prevalence(curves: Curves) -> Steps:
    """Return the steps of each curve as floats, with weighted negatives for `prevalence=`."""
    steps = Steps.from_curves(curves).as_floats()
    if curves.prevalence is None:
        return steps
    pos_weight, neg_weight = prevalence_weights(steps.pos, steps.neg, curves.prevalence)
    # Precision depends only on the ratio of the two weights, so positives need no weight.
    weight = np.divide(neg_weight, pos_weight, out=np.zeros(len(pos_weight)), where=pos_weight > 0)
    weights = steps.of_steps(weight)
    return steps._replace(fp=steps.fp * weights, fp0=steps.fp0 * weights)


def area_per_positive(curves: Curves, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sums over the rows of each curve, per positive; NaN where precision is undefined."""
    if not len(curves.firsts):
        return np.zeros(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        area: NDArray[np.float64] = np.add.reduceat(values, curves.firsts) / curves.pos
    if curves.prevalence is not None:
        area[curves.neg == 0] = np.nan
    return area


def step_sum(tp: NDArray[Any], fp: NDArray[Any], tp0: NDArray[Any]) -> NDArray[np.float64]:
    """Return, for each row of a curve, its precision times the increase in true positives."""
    # The operations are in place, because allocating an array takes longer than the arithmetic.
    area: NDArray[np.float64] = np.add(tp, fp, dtype=np.float64)
    np.divide(tp, area, out=area, where=area > 0)
    area *= tp - tp0
    return area


def lift_chart_areas(curves: Curves) -> Areas:
    """Return the AUC of each curve, and the areas under its lift chart: with lines, with steps."""
    step, triangles = _lift_area_parts(curves)
    return [auc_of(curves), step + triangles, step]


def _lift_area_parts(curves: Curves) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the areas of the rectangles and of the triangles under each lift chart, in positives.

    A rectangle is right of each point, up to the next or, with unscored positives, to the alert
    rate 1. The triangles are between the rectangles and the lines through the points.
    """
    if not len(curves.firsts):
        return np.zeros(0), np.zeros(0)
    steps = Steps.from_curves(curves)
    rise, width = steps.tp - steps.tp0, steps.fp - steps.fp0
    fn, tn = (curves.columns.at(name, curves.lasts) for name in ("fn", "tn"))
    before, rest, total = rise + width, fn + tn, steps.pos + steps.neg
    if curves.prevalence is not None or total.dtype.kind == "f":
        # The x axis is the alert rate here. For integer counts without `prevalence`, the x axis is
        # the number of alerts, because sums of integers are exact.
        pos_weight, neg_weight = np.ones((2, len(total)))
        if curves.prevalence is not None:
            pos_weight, neg_weight = prevalence_weights(steps.pos, steps.neg, curves.prevalence)
        share = np.divide(1.0, total, out=np.zeros(len(total)), where=total > 0)
        pos_share, neg_share = pos_weight * share, neg_weight * share
        rest = fn * pos_share + tn * neg_share
        before = rise * steps.of_steps(pos_share) + width * steps.of_steps(neg_share)
        total = np.where(pos_share + neg_share > 0, 1.0, 0.0)
    after = np.append(before[1:], before[:1])
    after[curves.lasts] = rest
    step = exact_quotient(exact_sums(after, steps.tp, curves.firsts), total)
    triangles = exact_quotient(exact_sums(before, rise, curves.firsts), 2 * total)
    return step, triangles


# The columns of the result for some kinds of curve, and the function that computes these columns.
# For all other kinds, the column is `auc`.
MEASURES: dict[str, tuple[tuple[str, ...], Callable[[Curves], Areas]]] = {
    "precision_recall": (("average_precision", "pr_auc"), precision_recall_areas),
    "lift_chart": (("auc", "lift_area", "lift_area_step"), lift_chart_areas),
}


def area_of_mean(plan: pl.LazyFrame, schema: pl.Schema, mean: CurveAverage) -> pl.LazyFrame:
    """Return the query plan of the area under each averaged curve; null if it is not complete."""
    name = "auc_of_mean" if mean.kind.roc_area else "area_of_mean"
    check_group_columns(mean.by, schema, (name,))
    group_dtypes(mean.by, schema)
    x, y = pl.col(mean.kind.x), pl.col(mean.kind.y)
    tpr = 1 - y if mean.kind.y == "fnr" else y
    axis, height = (y, 1 - x) if mean.fixed == "y" else (x, tpr)
    trapezoids = axis.diff() * ((height + height.shift()) / 2)
    complete = (
        (axis.first() == 0)
        & (axis.last() == 1)
        & axis.is_not_null().all()
        & height.is_not_null().all()
        & (pl.col("n_curves").n_unique() == 1)
    )
    # The sum of a list does not depend on how an engine divides the rows.
    total = trapezoids.implode().list.sum()
    area = pl.when(complete).then(total).otherwise(None).alias(name)
    order = [pl.col("threshold_mean")] if mean.fixed is None else [axis]
    order += [pl.col(SIDE)] if mean.sides else []
    keys = [column(key) for key in mean.by]
    rows = plan.sort(
        *keys, *order, descending=[*[False] * len(keys), mean.fixed is None, *[False] * mean.sides]
    )
    if not keys:
        return rows.select(area)
    return rows.group_by(keys, maintain_order=True).agg(area)


Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRange:
    """The range of a partial area: FPR or TPR from `low` to `high`, `mcclish` to standardize.

    With a range of both rates, `low` and `high` are FPR, and the area is the part of the rectangle
    with TPR from `bottom` to `top` that is below the curve (Yang et al. 2019).
    """

    rate: Literal["fpr", "tpr"]
    low: float
    high: float
    mcclish: bool
    bottom: float = 0.0
    top: float = 1.0

    @classmethod
    def parse(cls, rates: Mapping[str, object], standardize: str | None) -> RateRange | None:
        """Check the options, and return the range; None if no rate is given."""
        check_choice("standardize", standardize, ("mcclish", None))
        ranges: dict[str, tuple[str, tuple[float, float]]] = {}
        for name, value in rates.items():
            if value is None:
                continue
            rate, ends = _parse_rate_range(name, value)
            if rate in ranges:
                other = ranges[rate][0]
                problem = f"{other}= is given as well"
                hint = f"These are ranges of the same rate: pass either {other}= or {name}=."
                raise OptionValueError.compose(name, value, problem, hint)
            ranges[rate] = name, ends
        if not ranges:
            if standardize is not None:
                raise OptionValueError.compose(
                    "standardize",
                    standardize,
                    "only partial areas can be standardized",
                    "Pass fpr= or tpr=.",
                )
            return None
        for rate in ("tpr", "fpr"):
            if len(ranges) == 2 and ranges[rate][1] == (0, 1):
                del ranges[rate]  # no limit
        rate = "fpr" if "fpr" in ranges else "tpr"
        low, high = ranges[rate][1]
        bottom, top = ranges["tpr"][1] if len(ranges) == 2 else (0.0, 1.0)
        result = cls(
            rate=rate,  # type: ignore[arg-type]
            low=low,
            high=high,
            mcclish=standardize == "mcclish",
            bottom=bottom,
            top=top,
        )
        if result.mcclish and result.chance >= result.maximum:
            problem = "random scores reach the whole area of these ranges"
            hint = "Leave out standardize=, or use ranges above the diagonal."
            raise OptionValueError.compose("standardize", standardize, problem, hint)
        return result

    @property
    def has_both_rates(self) -> bool:
        """Whether the range limits FPR and TPR."""
        return (self.bottom, self.top) != (0, 1)

    @property
    def has_formula_limits(self) -> bool:
        """Whether limits are computed by formulas.

        In simulations, these do not cover the area in a rectangle if the curve hardly enters it.
        """
        return not self.has_both_rates

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the range on the axis of integration: FPR for an FPR range, else 1 - TPR."""
        return (self.low, self.high) if self.rate == "fpr" else (1 - self.high, 1 - self.low)

    @property
    def chance(self) -> float:
        """Partial area of random scores over the range."""
        low, high = self.ends
        left, right = np.clip((low, high), self.bottom, self.top)
        inside = (right - left) * ((right + left) / 2 - self.bottom)
        return float(inside + (high - max(low, right)) * (self.top - self.bottom))

    @property
    def maximum(self) -> float:
        """Partial area of perfect scores over the range."""
        return (self.high - self.low) * (self.top - self.bottom)

    def standardize(self, area: Any) -> Any:
        """Return McClish's standardized areas if `mcclish` is true: 1/2 for chance, at most 1."""
        if not self.mcclish:
            return area
        return (1 + (area - self.chance) / (self.maximum - self.chance)) / 2

    @property
    def slope(self) -> float:
        """Derivative of the standardized area with respect to the area."""
        return 0.5 / (self.maximum - self.chance) if self.mcclish else 1.0

    def order_classes(self, pos: Any, neg: Any) -> tuple[Any, Any]:
        """Return the values of both classes: y class, then x class (negatives for an FPR range)."""
        return (pos, neg) if self.rate == "fpr" else (neg, pos)

    def areas(self, scan: Scannable) -> tuple[NDArray[np.float64], ...]:
        """Return partial areas, not standardized: with ties counted as 1/2, as 0 and as 1."""

        def integrate(block: Block) -> list[NDArray[np.float64]]:
            steps = Steps.from_block(scan, block)
            return [np.add.reduceat(part, block.starts[:-1]) for part in self.integrals(steps)]

        areas = group_sums(scan, scan.map(integrate), 3)
        areas[:, (scan.totals.pos == 0) | (scan.totals.neg == 0)] = np.nan
        return tuple(areas)

    def integrals(self, steps: Steps) -> list[NDArray[np.float64]]:
        """Return the partial area of each step, with ties counted as 1/2, as 0 and as 1."""
        segment = Segments.from_steps(steps, self)
        left, right = (np.clip(x, *self.ends) for x in (segment.x0, segment.x1))
        lower, upper = (self.depth(y) for y in (segment.y0, segment.y1))
        if self.has_both_rates:
            middle = self._mean_depth(segment.height(left), segment.height(right))
        else:
            middle = segment.height((left + right) / 2)
        return [(right - left) * depth for depth in (middle, lower, upper)]

    def depth(self, y: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the part of the height y that is between `bottom` and `top`."""
        return np.clip(y, self.bottom, self.top) - self.bottom if self.has_both_rates else y

    def _mean_depth(
        self, start: NDArray[np.float64], end: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the mean depth of lines that rise from `start` to `end`."""
        rise = end - start
        with np.errstate(divide="ignore", invalid="ignore"):
            # The shares of the line that are below `bottom`, and below `top`.
            below, inside = (
                np.where(rise > 0, np.clip((limit - start) / rise, 0, 1), start < limit)
                for limit in (self.bottom, self.top)
            )
        mean: NDArray[np.float64] = (inside - below) * (self.depth(start) + self.depth(end)) / 2
        return mean + (1 - inside) * (self.top - self.bottom)

    def variance(
        self,
        scan: Scan,
        clusters: Clusters | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> VarianceParts:
        """Return DeLong's variance of each area, or Obuchowski's if rows are in clusters."""
        if clusters is None:
            return partial_variance(scan, self)
        return obuchowski_variance(clusters, partial_placements(scan, self), weight)

    def statistic(self) -> Statistic:
        """Return the area before standardization as a `Statistic` for the bootstrap."""
        return Statistic(
            replicate=ReplicateStatistic(function=lambda sample: self.areas(sample)[0]),
            influence=lambda sample: partial_influence(sample, self),
            bounds=(0.0, self.maximum),
            is_roc_area=True,
        )


def _parse_rate_range(name: str, value: object) -> tuple[str, tuple[float, float]]:
    """Return the rate `"fpr"` or `"tpr"` and its range, also for a specificity or sensitivity."""
    example = f"Use, for example, {name}={'(0, 0.1)' if name in {'fpr', 'tpr'} else '(0.9, 1)'}."
    first, last = parse_ends(name, value, example)
    if not (0 <= first <= 1 and 0 <= last <= 1 and first != last):
        problem = "expected two different numbers between 0 and 1"
        raise OptionValueError.compose(name, value, problem, example)
    if first > last:
        raise _reversed_range(name, value, first, last)
    rate, ends = as_fpr_or_tpr(name, (first, last))
    return rate, (min(ends), max(ends))


def parse_ends(argument: str, value: object, example: str) -> tuple[float, float]:
    """Return the two ends of a range, which must be a pair of numbers."""
    ends = to_floats(value)
    if ends is None or len(ends) != 2:
        raise OptionValueError.compose(argument, value, "expected a pair of numbers", example)
    return ends[0], ends[1]


def _reversed_range(argument: str, value: object, first: float, last: float) -> OptionValueError:
    """Return the error for a range that starts with its larger number, as in pROC."""
    hint = f"Use {argument}=({last:g}, {first:g})."
    if argument == "fpr":
        low, high = as_fpr_or_tpr("specificity", (first, last))[1]
        hint += (
            f" For specificities from {last:g} to {first:g}, which pROC writes as "
            f"partial.auc=c({first:g}, {last:g}), use specificity=({last:g}, {first:g}) or "
            f"fpr=({low:g}, {high:g})."
        )
    problem = "the first number is larger than the second"
    return OptionValueError.compose(argument, value, problem, hint)


class Segments(NamedTuple):
    """Segments of ROC curves from (x0, y0) to (x1, y1), where x is the axis of integration."""

    x0: NDArray[Any]
    x1: NDArray[Any]
    y0: NDArray[Any]
    y1: NDArray[Any]

    @classmethod
    def from_block(cls, scan: Scannable, block: Block, rate_range: RateRange) -> Segments:
        """Return the segments of a block."""
        return cls.from_steps(Steps.from_block(scan, block), rate_range)

    @classmethod
    def from_steps(cls, steps: Steps, rate_range: RateRange) -> Segments:
        """Return a segment per score, with (FPR, TPR), or (1 - TPR, 1 - FPR) for a TPR range."""
        x0, x1, y0, y1 = steps.rates("fp0", "fp", "tp0", "tp")
        if rate_range.rate == "fpr":
            return cls(x0, x1, y0, y1)
        return cls(1 - y1, 1 - y0, 1 - x1, 1 - x0)

    def height(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return y of each segment at `x`; for a vertical segment, y of the upper end."""
        width = self.x1 - self.x0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            fraction = np.where(width > 0, (x - self.x0) / width, 1.0)
        height: NDArray[np.float64] = self.y0 + np.clip(fraction, 0, 1) * (self.y1 - self.y0)
        return height


class ClippedPlacements(NamedTuple):
    """Placement values for a partial area: derivatives of the area with respect to row weights.

    A constant is added to the values of each class, which does not change variances. `start` and
    `stop` are the x values between which the curve is in the range of both rates. `low` and `high`
    are the depths at the ends of the range, `unscored` the values of unscored rows: y class, x
    class.
    """

    scan: Scannable
    rate_range: RateRange
    start: NDArray[np.float64]
    stop: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    unscored: NDArray[np.float64]

    @classmethod
    def from_scan(cls, scan: Scannable, rate_range: RateRange) -> ClippedPlacements:
        """Return the `ClippedPlacements` of a range; the method `at` computes the values."""
        low, high = map(rate_range.depth, _heights_at_ends(scan, rate_range))
        limits = zip((rate_range.bottom, rate_range.top), rate_range.ends, strict=True)
        start, stop = (
            np.clip(_x_at_height(scan, rate_range, limit, end), *rate_range.ends)
            for limit, end in limits
        )
        totals = scan.totals
        _, weight = rate_range.order_classes(totals.pos, totals.neg)
        _, unscored = rate_range.order_classes(totals.unscored_pos, totals.unscored_neg)
        # Unscored rows of the x class cover the x values from 0 to the first point of the curve,
        # where y is 0. The value of these rows is 0, unless the range begins to the right of these
        # x values. Unscored rows of the y class have the value 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            of_unscored = np.where(unscored / weight <= rate_range.ends[0], low, 0.0)
        values = np.array([np.zeros(len(of_unscored)), of_unscored])
        return cls(scan, rate_range, start, stop, low, high, values)

    def at(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the placement values at each distinct score: of the y class, of the x class."""
        start, stop = block.of_steps(self.start), block.of_steps(self.stop)
        segment = Segments.from_block(self.scan, block, self.rate_range)
        left, right = np.clip(segment.x0, start, stop), np.clip(segment.x1, start, stop)
        # The value of the rows with a score is the mean over the segment of this score. Parts of
        # the segment outside the range have the value at the nearest end of the range.
        before = np.minimum(segment.x1, start) - np.minimum(segment.x0, start)
        after = np.maximum(segment.x1, stop) - np.maximum(segment.x0, stop)
        width = segment.x1 - segment.x0
        with np.errstate(divide="ignore", invalid="ignore"):
            before, after = (np.where(width > 0, part / width, 0.0) for part in (before, after))
        inside = 1 - before - after
        middle = (left + right) / 2
        x = before * start + inside * middle + after * stop
        low, high = block.of_steps(self.low), block.of_steps(self.high)
        depth = self.rate_range.depth(segment.height(middle))
        return stop - x, before * low + inside * depth + after * high


def _x_at_height(
    scan: Scannable, rate_range: RateRange, height: float, default: float
) -> NDArray[np.float64]:
    """Return the first x at which each curve reaches a height; `default` for the heights 0 and 1.

    It is infinite for a curve that does not reach the height.
    """
    if height in {0, 1}:
        return np.full(len(scan.totals.pos), default)
    x = np.full(len(scan.totals.pos), inf)

    def crossings(block: Block) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        segment = Segments.from_block(scan, block, rate_range)
        crosses = np.flatnonzero((segment.y0 < height) & (height <= segment.y1))
        x0, x1, y0, y1 = (values[crosses] for values in segment)
        group = np.repeat(block.groups, np.diff(block.starts))[crosses]
        return group, x0 + (height - y0) / (y1 - y0) * (x1 - x0)

    for group, values in scan.map(crossings):
        x[group] = values
    return x


def _heights_at_ends(scan: Scannable, rate_range: RateRange) -> NDArray[np.float64]:
    """Return the y value of each curve at both ends of the range; at a jump, the upper value."""
    heights = np.zeros((2, len(scan.totals.pos)))

    def at_ends(block: Block) -> list[tuple[Any, Any]]:
        segment = Segments.from_block(scan, block, rate_range)
        group = np.repeat(block.groups, np.diff(block.starts))
        heights_at_ends = []
        for end in rate_range.ends:
            contains = np.flatnonzero((segment.x0 <= end) & (end <= segment.x1))
            height = segment.height(np.full(len(group), end))
            heights_at_ends.append((group[contains], height[contains]))
        return heights_at_ends

    for ends in scan.map(at_ends):
        for height, (group, values) in zip(heights, ends, strict=True):
            np.fmax.at(height, group, values)  # the values are NaN if a class is absent
    return heights


def partial_placements(scan: Scan, rate_range: RateRange) -> NDArray[np.float64]:
    """Return the placement value of each row of the frame for a partial area."""
    placements = ClippedPlacements.from_scan(scan, rate_range)
    unscored = rate_range.order_classes(*placements.unscored)
    return scatter_to_rows(
        scan, lambda block: rate_range.order_classes(*placements.at(block)), unscored
    )


def partial_variance(scan: Scan, rate_range: RateRange) -> VarianceParts:
    """Return DeLong's variance of the partial area before standardization."""
    placements = ClippedPlacements.from_scan(scan, rate_range)
    totals, unscored_totals = scan.totals, scan.rows.unscored
    weight = np.array(rate_range.order_classes(totals.pos, totals.neg))
    unscored = np.array(
        rate_range.order_classes(unscored_totals.pos_weight, unscored_totals.neg_weight)
    )
    unscored_squares = np.array(
        rate_range.order_classes(unscored_totals.pos_squares, unscored_totals.neg_squares)
    )

    def sums(block: Block) -> list[NDArray[np.float64]]:
        return [
            np.add.reduceat(weight * values, block.starts[:-1])
            for weight, values in zip(
                rate_range.order_classes(block.pos, block.neg), placements.at(block), strict=True
            )
        ]

    with np.errstate(divide="ignore", invalid="ignore"):
        means = group_sums(scan, scan.map(sums), 2) + unscored * placements.unscored
        means /= weight

    # Squared deviations from the mean are summed in a second pass. If the variance were computed as
    # a difference of two sums, a variance of 0 would have rounding errors.
    def squares(block: Block) -> list[NDArray[np.float64]]:
        weights = rate_range.order_classes(block.pos, block.neg)
        if block.pos_squares is not None:
            weights = rate_range.order_classes(block.pos_squares, block.neg_squares)
        return [
            np.add.reduceat(weight * (values - block.of_steps(mean)) ** 2, block.starts[:-1])
            for weight, values, mean in zip(weights, placements.at(block), means, strict=True)
        ]

    centered = group_sums(scan, scan.map(squares, squares=True), 2)
    centered += unscored_squares * (placements.unscored - means) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        centered /= np.square(weight, dtype=float)
    rows = totals.pos_rows, totals.neg_rows
    return VarianceParts.of_classes(
        rows, *class_variances(rows, rate_range.order_classes(*centered))
    )


def partial_influence(sample: ReplicateScan, rate_range: RateRange) -> Influences:
    """Return the influence values of a partial area as `auc_influence` does for the AUC."""
    block, totals = sample.block, sample.totals
    placements = ClippedPlacements.from_scan(sample, rate_range)
    steps = rate_range.order_classes(*placements.at(block))
    unscored = rate_range.order_classes(*placements.unscored[:, 0])
    weights = (
        np.append(block.pos, totals.unscored_pos[0]),
        np.append(block.neg, totals.unscored_neg[0]),
    )

    def centered(values: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        total = weight.sum()
        shares: NDArray[np.float64] = (values - (weight * values).sum() / total) / total
        return shares

    pos, neg = (
        centered(np.append(values, last), weight)
        for values, last, weight in zip(steps, unscored, weights, strict=True)
    )
    return pos, neg


@dataclass(frozen=True, slots=True, kw_only=True)
class TopRange:
    """The top of the list: the rows with the highest scores, up to the alert rate `share`."""

    share: float
    mcclish: bool = False
    slope: ClassVar[float] = 1.0  # the areas are already standardized
    has_formula_limits: ClassVar[bool] = False  # the variance is unknown

    @classmethod
    def parse(cls, alert_rate: Range, *, mcclish: bool = False) -> TopRange:
        """Check the option `alert_rate`, and return its range, which must start at 0."""
        example = "Use, for example, alert_rate=(0, 0.01)."
        low, high = parse_ends("alert_rate", alert_rate, example)
        if not (low == 0 and 0 < high <= 1):
            problem = "expected a range (0, p) with 0 < p <= 1"
            raise OptionValueError.compose("alert_rate", alert_rate, problem, example)
        return cls(share=high, mcclish=mcclish)

    def areas(self, scan: Scannable) -> tuple[NDArray[np.float64], ...]:
        """Return areas with ties counted as 1/2, 0 and 1; standardized if `mcclish` is true."""
        totals = scan.totals
        parts = scan.map(lambda block: self.pairs(Steps.from_block(scan, block)))
        wins, wins_or_ties = group_sums(scan, [part[:2] for part in parts], 2, pair_dtype(scan, 1))
        cut = group_sums(scan, [part.cut for part in parts], 3)
        return self.quotients(TopPairs(wins, wins_or_ties, cut), totals.pos, totals.neg)

    @staticmethod
    def standardize(area: Any) -> Any:
        """Return the areas unchanged, because they are already standardized."""
        return area

    @staticmethod
    def variance(scan: Scan, *_: object) -> VarianceParts:
        """Return NaN for each group, because the variance is unknown."""
        return VarianceParts(*np.full((3, len(scan.totals.pos)), np.nan))

    def pairs(self, steps: Steps, prevalence: float | None = None) -> TopPairs:
        """Return the pairs with the positive at the top, at a prevalence or at that of a group."""
        starts, pos, neg = steps.starts, steps.pos, steps.neg
        pos_weight: NDArray[Any] = np.ones(len(pos), np.int64)
        neg_weight = pos_weight
        if prevalence is not None:
            pos_weight, neg_weight = prevalence_weights(pos, neg, prevalence)
        alerts0, alerts = (
            tp * steps.of_steps(pos_weight) + fp * steps.of_steps(neg_weight)
            for tp, fp in ((steps.tp0, steps.fp0), (steps.tp, steps.fp))
        )
        limit = steps.of_steps(self.share * (pos * pos_weight + neg * neg_weight))
        all_neg = steps.of_steps(neg)
        rise = np.where(alerts <= limit, steps.tp - steps.tp0, 0)
        wins, wins_or_ties = (
            exact_sums(rise, all_neg - fp, starts[:-1]) for fp in (steps.fp, steps.fp0)
        )
        # `cut` are the scores whose rows are only partly at the top, at most one in each group.
        cut = np.flatnonzero((alerts0 < limit) & (limit < alerts))
        group = groups_of_rows(starts, cut)
        inside = limit[cut] - alerts0[cut]
        share = inside / (alerts[cut] - alerts0[cut])
        rise, width = (steps.tp - steps.tp0)[cut], (steps.fp - steps.fp0)[cut]
        below, below0 = (all_neg - steps.fp)[cut], (all_neg - steps.fp0)[cut]
        pos_unit, neg_unit = pos_weight[group], neg_weight[group]
        # Number of positives with this score that are at the top: `last` if all negatives with this
        # score are ranked first, and `first` if all positives are ranked first.
        last = np.clip((inside - width * neg_unit) / pos_unit, 0, rise)
        first = np.clip(inside / pos_unit, 0, rise)
        cut_pairs = np.zeros((3, len(pos)))
        np.add.at(cut_pairs[0], group, share * rise * (below0 - share * width / 2))
        np.add.at(cut_pairs[1], group, last * below)
        np.add.at(cut_pairs[2], group, first * below0)
        return TopPairs(wins, wins_or_ties, cut_pairs)

    def quotients(
        self, pairs: TopPairs, pos: NDArray[Any], neg: NDArray[Any]
    ) -> tuple[NDArray[np.float64], ...]:
        """Return three areas: `pairs`, divided by the number of all pairs, and standardized."""
        whole = Pairs(wins=pairs.wins, wins_or_ties=pairs.wins_or_ties, pos=pos, neg=neg)
        with np.errstate(divide="ignore", invalid="ignore"):
            areas = np.clip(whole.shares + pairs.cut / (pos.astype(float) * neg), 0, 1)
            if self.mcclish:
                chance = self.share * (1 - self.share / 2)
                largest = np.minimum(self.share * (pos + neg) / pos, 1.0)
                areas = (1 + (areas - chance) / (largest - chance)) / 2
        return tuple(areas)

    def statistic(self) -> Statistic:
        """Return the area as a `Statistic`; it depends on the prevalence."""
        return Statistic(
            replicate=ReplicateStatistic(
                function=lambda sample: self.areas(sample)[0], depends_on_prevalence=True
            ),
            influence=None,
            bounds=(-inf, inf) if self.mcclish else (0.0, 1.0),
        )


class TopPairs(NamedTuple):
    """Numbers of pairs of each group in which the positive is at the top and has the higher score.

    `wins` and `wins_or_ties` are for positives whose tied rows are all at the top. The rows of
    `cut` are for the one score whose rows are only partly there, with ties counted as 1/2, 0 and 1.
    """

    wins: NDArray[Any]
    wins_or_ties: NDArray[Any]
    cut: NDArray[np.float64]
