"""The function `at`: operating points of curve tables at given thresholds or rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from rocframe.curves.locate import CurveAxis, interpolated_values
from rocframe.curves.table import (
    TOTAL_ROUNDING,
    check_counts,
    check_gaps,
    check_new_columns,
    curve_layout,
    read_curves,
)
from rocframe.errors import BrokenCurveError, OptionValueError
from rocframe.frames import as_input_frame, build_column, lazy_plan, take_rows, through_node
from rocframe.kinds import PREVALENCE, parse_metric
from rocframe.options import check_flag, parse_numbers, public
from rocframe.rates import CONFUSION, NAMES, Settings
from rocframe.schemas.curves import MIX, curve_columns
from rocframe.schemas.table_type import POINT_NAMES, THRESHOLD, with_scores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kernel.arrays import BoolArray, FloatArray, IntArray


PointValues: TypeAlias = "float | Sequence[float] | pl.Series | None"


@public
def at(
    curves: FrameT,
    /,
    *,
    threshold: PointValues = None,
    fpr: PointValues = None,
    tpr: PointValues = None,
    alert_rate: PointValues = None,
    alerts: PointValues = None,
    tnr: PointValues = None,
    fnr: PointValues = None,
    fall_out: PointValues = None,
    recall: PointValues = None,
    sensitivity: PointValues = None,
    hit_rate: PointValues = None,
    rpp: PointValues = None,
    yrate: PointValues = None,
    specificity: PointValues = None,
    miss_rate: PointValues = None,
    rnp: PointValues = None,
    interpolate: bool = False,
    by: By = None,
) -> FrameT:
    """Return the operating points of each group at given thresholds or rates.

    Pass either thresholds or values of one rate, as a number or as a list of numbers. A point is a
    row of the curve, or with `interpolate=True` a point between two rows.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    threshold : float or sequence of float, default None
        The row with this threshold or else the next higher one: the counts of `score >= threshold`.
    fpr : float or sequence of float, default None
        The row with the lowest threshold whose false positive rate is at most this value.
    tpr : float or sequence of float, default None
        The row with the highest threshold whose true positive rate is at least this value.
    alert_rate : float or sequence of float, default None
        The row with the lowest threshold at which the share of rows that are predicted positive, at
        the prevalence of the table, is at most this value.
    alerts : float or sequence of float, default None
        The row with the lowest threshold at which at most this number of rows, or sum of weights,
        is predicted positive.
    tnr : float or sequence of float, default None
        The row with the lowest threshold whose true negative rate is at least this value.
    fnr : float or sequence of float, default None
        The row with the highest threshold whose false negative rate is at most this value.
    fall_out, recall, sensitivity, hit_rate : float or sequence of float, default None
        Other names: `fall_out` of `fpr`, the others of `tpr`.
    rpp, yrate, specificity, miss_rate : float or sequence of float, default None
        Other names: `rpp` and `yrate` of `alert_rate`, `specificity` of `tnr`, `miss_rate` of
        `fnr`.
    rnp : float or sequence of float, default None
        The row with the lowest threshold whose value of 1 - `alert_rate` is at least this value.
    interpolate : bool, default False
        Return the point that has exactly the given rate, with counts interpolated linearly between
        the two rows around it.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group and value: `*by, at` (String, the name of the argument), `at_value`
        (Float64), then the columns of the curve table, null if no row of the curve meets the
        condition.

        With `interpolate=True`, the threshold is null, counts are Float64, and metrics are computed
        from them or null if this is impossible. The last columns are then `threshold_above,
        threshold_below, mix` (Float64): the point has, on average, the rates of `threshold_below`
        for a random proportion `mix` of the predictions, and of `threshold_above` for the others.

    Raises
    ------
    RocframeError
        If not exactly one of the thresholds and rates is given, if a value is out of range, if the
        table is not a curve table, or if a curve lacks the rows that determine a point.

    See Also
    --------
    operating_point : The best row under constraints on any metric, such as precision.

    Notes
    -----
    A curve with unscored positives (`missing="worst"`) ends at a TPR below 1; the columns of the
    curve table are null for higher values of `tpr`.

    References
    ----------
    T. Fawcett (2006), Pattern Recognition Letters 27(8), 861-874, section 10.
    doi:10.1016/j.patrec.2005.10.010

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0], "score": [0.9, 0.4, 0.4, 0.1]})
    >>> curves = rf.curve(predictions, "label", "score")
    >>> rf.at(curves, threshold=0.5).drop("at", "at_value").row(0)
    (0.9, 1, 0, 1, 2, 0.0, 0.5)
    >>> point = curves.roc.at(fpr=0.25, interpolate=True)
    >>> point.select("fpr", "tpr", "threshold_above", "threshold_below", "mix").row(0)
    (0.25, 0.75, 0.9, 0.4, 0.5)
    """
    arguments = {"threshold": threshold, "fpr": fpr, "tpr": tpr, "alert_rate": alert_rate}
    arguments |= {"alerts": alerts, "tnr": tnr, "fnr": fnr}
    aliases = {"fall_out": fall_out, "recall": recall, "sensitivity": sensitivity}
    aliases |= {"hit_rate": hit_rate, "rpp": rpp, "yrate": yrate}
    aliases |= {"specificity": specificity, "miss_rate": miss_rate, "rnp": rnp}
    axis, values = parse_point(arguments, aliases)
    check_flag("interpolate", interpolate)
    if interpolate and axis == "threshold":
        raise OptionValueError.compose(
            "interpolate",
            interpolate,
            "counts are constant between two thresholds, so they cannot be interpolated",
            "Use interpolate=True with a rate, such as fpr= or tpr=.",
        )

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        added = (*POINT_NAMES, *(MIX if interpolate else ()))
        table = curve_layout(schema, by, added)
        check_new_columns(table.row, added, "at")
        row = dict(table.row)
        if interpolate:
            row |= with_scores(curve_columns(pl.Float64()) | MIX, table.scores)

        def find_points(frame: pl.DataFrame) -> pl.DataFrame:
            return operating_points(
                read_curves(frame, table), axis, values, between_rows=interpolate
            )

        return through_node(
            plan.select(table.all_columns),
            find_points,
            schema={**table.keys, "at": pl.String(), "at_value": pl.Float64(), **row},
            by=table.by,
            anchor="at_value",
        )

    return as_input_frame(curves, lazy_plan("curves", curves).pipe_with_schema(resolve))


EXAMPLE = "fpr=[0.01, 0.05]"


def parse_point(
    arguments: Mapping[str, PointValues],
    aliases: Mapping[str, PointValues] | None = None,
    function: str = "at",
    example: str = EXAMPLE,
) -> tuple[str, list[float]]:
    """Return the name and the values of the only argument that is not None.

    The error of the function `function` lists the names in `arguments`, but not the `aliases`, and
    has an `example`.
    """
    values = {**arguments, **(aliases or {})}
    given = {name: value for name, value in values.items() if value is not None}
    hint = f"Use exactly one of {', '.join(arguments)}, such as {example}."
    if not given:
        missing = "threshold or rate" if THRESHOLD in arguments else "rate"
        raise OptionValueError(f"{function}: no {missing} is given.\n{hint}")
    first, *others = given
    if others:
        problem = f"{' and '.join(f'{name}=' for name in others)} is given as well"
        raise OptionValueError.compose(first, given[first], problem, hint)
    ((name, value),) = given.items()
    bounds = None if name == THRESHOLD else NAMES[name].bounds
    example = "0.5" if bounds is None or bounds[1] <= 1 else "500"
    return name, parse_numbers(name, value, bounds=bounds, example=example)


def point_axis(curves: Curves, name: str) -> CurveAxis:
    """Return the `CurveAxis` for searches by `name`: `"threshold"` or the name of a rate."""
    metric = None
    if name != THRESHOLD:
        metric = parse_metric("at", name, Settings()).at_prevalence(curves.prevalence)
    return CurveAxis.from_curves(curves, metric, rounded=False)


def rows_at(axis: CurveAxis, values: Sequence[float] | FloatArray) -> tuple[IntArray, BoolArray]:
    """Return the row of each curve at each value of a rate or threshold, and whether it exists.

    Both results have one row per group and one column per value. `values` are the same values for
    all groups, or an array with one row per group.
    """
    curves, metric = axis.curves, axis.metric
    name = THRESHOLD if metric is None else metric.column
    group = np.arange(len(curves.firsts))
    value = np.asarray(values, np.float64)
    if metric is None:
        value = curves.round_thresholds(value)
    if value.ndim == 1:
        value = np.broadcast_to(value, (len(group), len(value)))
    first, last = curves.firsts[:, None], curves.lasts[:, None]
    ends = axis.values(curves.lasts, group)[:, None]
    beyond = value > ends if metric is not None and metric.rising else value < ends
    beyond &= curves.ends_early[:, None]
    if beyond.any():
        i, j = (int(index[0]) for index in np.nonzero(beyond))
        problem = (
            f"{curves.name_group(i)} lacks the points of its lowest scores: its last point "
            f"is at {name}={ends[i, 0]:.6g}, so its row at {name}={value[i, j]:.6g} is unknown"
        )
        hint = "Compute the curve without thresholds=, and do not filter its rows."
        raise BrokenCurveError.compose(f"curves: {problem}", hint)
    if metric is not None and value.size:
        first_value = value[int(np.argmax(curves.has_gaps)), 0]
        check_gaps(curves, f"its row at {name}={first_value:.6g} is unknown")
    row = axis.search(group, value, axis.occurrence)
    exists = (row >= first) & (row <= last)
    exists &= ~np.isnan(axis.values(first, group[:, None]))
    row = np.clip(row, first, last)
    if metric is None and curves.has_gaps.any():
        is_between = exists & (curves.columns.at(THRESHOLD, row) != value)
        unknown = value[is_between & curves.has_gaps[:, None]][:1]
        consequence = f"its row at {name}={', '.join(f'{each:.6g}' for each in unknown)} is unknown"
        check_gaps(curves, consequence, affected=is_between.any(axis=1))
    return row, exists


def operating_points(
    curves: Curves, name: str, values: Sequence[float], *, between_rows: bool = False
) -> pl.DataFrame:
    """Return a table with a row per group and value; null if the operating point does not exist."""
    if name == "alerts":
        check_counts("alerts", values, curves, "alert_rate=0.1")
    axis = point_axis(curves, name)
    rows, exist = rows_at(axis, values)
    row, exists = rows.ravel(), exist.ravel()
    group = np.repeat(np.arange(len(curves.firsts)), len(values))
    keys = take_rows(curves.keys, group).with_columns(
        pl.Series("at", [name] * len(group), pl.String),
        pl.Series("at_value", np.tile(np.asarray(values, np.float64), len(curves.firsts))),
    )
    if between_rows:
        return _interpolated_points(axis, keys, group, row, exists)
    return keys.with_columns(*curves.take(np.where(exists, row, -1)))


def _interpolated_points(
    axis: CurveAxis, keys: pl.DataFrame, group: IntArray, row: IntArray, exists: BoolArray
) -> pl.DataFrame:
    """Return operating points between two rows of a curve, which have exactly the given rates.

    `keys` has the group and `at_value` of each point. `row` and `exists` are the results of
    `rows_at`: the lower row of the two for the first occurrence (`tpr` and `fnr`), otherwise the
    upper row.
    """
    assert axis.metric is not None
    curves = axis.curves
    above, below = row, np.minimum(row + 1, curves.lasts[group])
    if axis.occurrence == "first":
        above, below = np.maximum(row - 1, curves.firsts[group]), row
    mix = axis.fraction_between(group, keys.get_column("at_value").to_numpy(), above, below)
    columns = {
        name: interpolated_values(
            curves.columns.at(name, above), curves.columns.at(name, below), mix
        )
        for name in CONFUSION
    }
    for name, rows in (("threshold_above", above), ("threshold_below", below)):
        columns[name] = np.asarray(curves.columns.at(THRESHOLD, rows), np.float64)
    columns["mix"] = mix
    floats = with_scores(MIX, curves.layout.scores)
    interpolated = {
        name: build_column(name, np.where(exists, values, np.nan), dtype, len(exists))
        for name, values in columns.items()
        for dtype in (floats.get(name, pl.Float64()),)
    }
    points = keys.with_columns(
        pl.lit(None, curves.layout.scores).alias(THRESHOLD),
        *(interpolated[name] for name in CONFUSION),
    )
    rest = [name for name in curves.layout.row if name not in points.columns]
    result = points.with_columns(_recomputed_column(curves, name, points) for name in rest)
    if curves.layout.has_prevalence:
        prevalence = pl.when(pl.Series(exists)).then(pl.lit(curves.prevalence))
        result = result.with_columns(
            prevalence.cast(curves.layout.row[PREVALENCE]).alias(PREVALENCE)
        )
    return result.with_columns(interpolated[name] for name in MIX)


def _recomputed_column(curves: Curves, name: str, points: pl.DataFrame) -> pl.Series:
    """Return a column of the curve table at interpolated points; null if its formula is unknown.

    The formula is known if the column has the name of a metric, and if the formula of this metric
    with its default options gives the values of the column in all rows of the table, apart from
    rounding errors.
    """
    dtype = curves.layout.row[name]
    unknown = pl.Series(name, [None], dtype).new_from_index(0, points.height)
    rate = NAMES.get(name)
    if rate is None or rate.name in {"expected_cost", "net_benefit"}:
        return unknown
    rows = pl.DataFrame({part: curves.columns[part] for part in CONFUSION})
    observed = curves.table.get_column(curves.layout.private(name)).cast(pl.Float64)
    formula = rate.expr(Settings(prevalence=curves.prevalence)).alias(name)
    values = rows.select(formula).to_series()
    # The rates of weighted and of smooth curves differ from those of the counts by rounding errors.
    first, second = (part.fill_null(np.nan).to_numpy() for part in (values, observed))
    tolerance = TOTAL_ROUNDING
    if not np.allclose(first, second, rtol=tolerance, atol=tolerance, equal_nan=True):
        return unknown
    return points.select(formula).to_series().cast(dtype)
