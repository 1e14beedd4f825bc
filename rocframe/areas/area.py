"""The function `area`: areas under the curves of a curve table.

The areas of precision-recall curves are those of Davis and Goadrich (2006). The areas of lift
charts are those of Vuk and Curk (2006).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rocframe.areas.pairs import Pairs
from rocframe.areas.steps import Steps
from rocframe.areas.top import TopRange
from rocframe.curves.segment import precision_recall_integral
from rocframe.curves.table import check_ends, curve_layout, read_curves
from rocframe.errors import BrokenCurveError
from rocframe.frames import as_input_frame, column, lazy_plan, through_node
from rocframe.kernel.exact import exact_quotient, exact_sums
from rocframe.kinds import kind_of
from rocframe.options import check_group_columns, check_supported, group_dtypes, public
from rocframe.rates import prevalence_weights
from rocframe.schemas.areas import PARTIAL_AUC_NAMES
from rocframe.schemas.averages import curve_average_of, metric_average_of
from rocframe.schemas.columns import SIDE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from rocframe.areas.partial import Range
    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kinds import KindName
    from rocframe.schemas.averages import CurveAverage

    Areas: TypeAlias = list[NDArray[np.float64]]


ANCHOR_COLUMN = "(rows)"  # internal column without nulls, which is removed from the result


@public
def area(
    curves: FrameT,
    /,
    *,
    by: By = None,
    kind: KindName | None = None,
    alert_rate: Range | None = None,
) -> FrameT:
    """Compute the area under each curve of a curve table.

    Precision-recall curves have two areas. `average_precision` is the precision times the increase
    in recall, summed over all rows. `pr_auc` is the integral of the interpolated curve: between two
    points, the curve is a hyperbola. For all other kinds, the result is `auc`, the area under the
    ROC curve, computed from the counts of the table. For lift charts, the result also has the areas
    under the lift chart: `lift_area` with straight lines between the points, and `lift_area_step`
    with steps.

    For a table of averaged curves, the result is the area under each averaged curve.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    by : str or sequence of str, default None
        Group columns; by default, all columns left of `threshold`.
    kind : str, default None
        Kind of curve, such as `"roc"`; see `curve`. By default, the two rates right of `tn`
        determine the kind.
    alert_rate : (float, float), default None
        Range of the alert rate, the share of rows that are predicted positive. The range must start
        at 0: `(0, 0.01)` is the 1 % of the rows with the highest scores. For all kinds, the result
        is the partial area that the function `auc` returns for the same range.

    Returns
    -------
    DataFrame or LazyFrame
        `*by, auc`, or `*by, average_precision, pr_auc` for precision-recall, or `*by, auc,
        lift_area, lift_area_step` for lift charts; one row per group. Areas are Float64.

        - `auc`, `average_precision` and `pr_auc` are in [0, 1].
        - `auc` is null if there are no positives or no negatives.
        - `average_precision` and `pr_auc` are null if there are no positives.
        - `lift_area` and `lift_area_step` are between 0 and the number of positives. Both areas
          are null if the group has no rows.
        - `lift_area_step` is a mean over all rows of the group. The value of a row is the number of
          positives with a higher score than the row.
        - `lift_area` is a mean over all rows of the group, too. The value of a row is the number of
          positives with a higher score than the row, plus 1/2 for each positive with the same
          score. If the row is positive, it is itself one of the positives with the same score.

        With `alert_rate`, the result is `*by, partial_auc`. The partial area is null if there are
        no positives or no negatives.

        If the table was computed with `prevalence=`, all areas except `auc` are the areas at that
        prevalence. These areas are null if there are no positives or no negatives.

        For averaged curves as returned by `average`, the result has the group columns and one area.
        The area is `auc_of_mean` for ROC and DET. For all other kinds, the area is `area_of_mean`,
        the integral of y over x. Rows are connected by straight lines, also if there are only few
        given thresholds. The area is null if the rows
        do not cover the range of x from 0 to 1, or if `n_curves` differs between rows. `by`, `kind`
        and `alert_rate` are not available for averaged curves.

    Raises
    ------
    RocframeError
        If the table is not a curve table, or if a curve lacks its first or its last rows.
    OptionValueError
        If `by`, `kind` or `alert_rate` is given with averaged curves, or if `alert_rate` is not a
        range from 0 to a share of at most 1.

    Notes
    -----
    If the curve was computed with `thresholds=`, an error is raised if there are several scores
    between two thresholds. Use `tie_bounds` for the range that contains the area.

    With *m* positives and the prevalence π, `lift_area` is m · (π/2 + (1 − π) · auc). If positives
    are unscored (`missing="worst"`), `lift_area` is smaller than this value. The area under the
    gain curve is `lift_area` / m.

    If a curve ends at a TPR below 1, as with unscored positives (`missing="worst"`),
    `average_precision` and `pr_auc` are areas up to the highest recall of the curve.

    References
    ----------
    T. Saito, M. Rehmsmeier (2015), "The precision-recall plot is more informative than the ROC
    plot when evaluating binary classifiers on imbalanced datasets", PLoS ONE 10(3), e0118432.
    doi:10.1371/journal.pone.0118432

    J. Davis, M. Goadrich (2006), "The relationship between precision-recall and ROC curves",
    ICML, 233-240. doi:10.1145/1143844.1143874

    M. Vuk, T. Curk (2006), "ROC curve, lift chart and calibration plot", Metodološki zvezki 3(1),
    89-108.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> rf.area(rf.curve(predictions, "label", "score"))
    shape: (1, 1)
    ┌──────┐
    │ auc  │
    │ ---  │
    │ f64  │
    ╞══════╡
    │ 0.75 │
    └──────┘
    >>> predictions.roc.curve("label", "score", kind="pr").roc.area()
    shape: (1, 2)
    ┌───────────────────┬──────────┐
    │ average_precision ┆ pr_auc   │
    │ ---               ┆ ---      │
    │ f64               ┆ f64      │
    ╞═══════════════════╪══════════╡
    │ 0.833333          ┆ 0.887327 │
    └───────────────────┴──────────┘
    >>> predictions.roc.curve("label", "score", kind="lift_chart").roc.area()
    shape: (1, 3)
    ┌──────┬───────────┬────────────────┐
    │ auc  ┆ lift_area ┆ lift_area_step │
    │ ---  ┆ ---       ┆ ---            │
    │ f64  ┆ f64       ┆ f64            │
    ╞══════╪═══════════╪════════════════╡
    │ 0.75 ┆ 1.166667  ┆ 0.666667       │
    └──────┴───────────┴────────────────┘
    """
    top = None if alert_rate is None else TopRange.parse(alert_rate)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        mean = curve_average_of(list(schema))
        if mean is not None:
            _check_unused(by=by, kind=kind, alert_rate=alert_rate)
            return area_of_mean(plan, schema, mean)
        metric_mean = metric_average_of(list(schema))
        if metric_mean is not None:
            raise BrokenCurveError.compose(
                f"curves: no area is defined for averages at fixed values of {metric_mean.fixed}",
                'To compute an area, use, for example, average(fixed="fpr") without metrics=.',
            )
        curve_layout(schema, by, ())  # raises for a table without thresholds and counts
        default = ("auc",), lambda curves: [auc_of(curves)]
        names, areas_of = MEASURES.get(kind_of(list(schema), kind).name, default)
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


def average_precision_of(curves: Curves) -> NDArray[np.float64]:
    """Return the average precision of each curve; NaN if there are no positives."""
    steps = steps_at_prevalence(curves)
    return area_per_positive(curves, step_sum(steps.tp, steps.fp, steps.tp0))


def precision_recall_areas(curves: Curves) -> Areas:
    """Return the average precision of each curve, and the area under the interpolated curve.

    Both are NaN if there are no positives.
    """
    steps = steps_at_prevalence(curves)
    sums = (
        step_sum(steps.tp, steps.fp, steps.tp0),
        precision_recall_integral(steps.tp, steps.fp, steps.tp0, steps.fp0),
    )
    return [area_per_positive(curves, values) for values in sums]


def steps_at_prevalence(curves: Curves) -> Steps:
    """Return the steps of each curve, with counts as floats.

    If the table was computed with `prevalence=`, the false positives are multiplied by a weight
    that changes the prevalence to this value.
    """
    steps = Steps.from_curves(curves).as_floats()
    if curves.prevalence is None:
        return steps
    pos_weight, neg_weight = prevalence_weights(steps.pos, steps.neg, curves.prevalence)
    # Precision depends only on the ratio of the two weights, so positives need no weight.
    weight = np.divide(neg_weight, pos_weight, out=np.zeros(len(pos_weight)), where=pos_weight > 0)
    weights = steps.of_steps(weight)
    return steps._replace(fp=steps.fp * weights, fp0=steps.fp0 * weights)


def area_per_positive(curves: Curves, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of `values` over the rows of each curve, divided by the number of positives.

    At a given prevalence, precision is undefined without negatives, so the result is NaN.
    """
    if not len(curves.firsts):
        return np.zeros(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        area: NDArray[np.float64] = np.add.reduceat(values, curves.firsts) / curves.pos
    if curves.prevalence is not None:
        area[curves.neg == 0] = np.nan
    return area


def step_sum(tp: NDArray[Any], fp: NDArray[Any], tp0: NDArray[Any]) -> NDArray[np.float64]:
    """Return, for each row of a curve, its precision times the increase in true positives.

    `tp` and `fp` are the counts of the row, and `tp0` is the number of true positives in the
    previous row.
    """
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

    Each point is the upper left corner of a rectangle that extends to the next point. The rectangle
    of the last point extends to the alert rate 1; its width is the share of unscored positives. The
    triangles are between the rectangles and the straight lines that connect the points.
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
ROC_AREAS = ("roc", "det")


def area_of_mean(plan: pl.LazyFrame, schema: pl.Schema, mean: CurveAverage) -> pl.LazyFrame:
    """Return the query plan that computes the area under each averaged curve.

    Straight lines connect the rows of a curve. The area is null if the rows do not cover the axis
    from 0 to 1, if a row has no mean, or if rows are means of different numbers of curves.
    """
    name = "auc_of_mean" if mean.kind.name in ROC_AREAS else "area_of_mean"
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
