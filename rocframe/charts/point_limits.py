"""Points of curves with the confidence limits of their rates, from tables of `intervals`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.charts.axes import axis_values
from rocframe.charts.match_rows import CURVE_INDEX, match_rows
from rocframe.curves.at import point_axis, rows_at
from rocframe.curves.thinning import BETWEEN
from rocframe.errors import OptionValueError
from rocframe.rates import NAMES
from rocframe.schemas.columns import POINT_NAMES, THRESHOLD
from rocframe.schemas.curves import METRIC_INTERVALS
from rocframe.schemas.recognition import table_of

if TYPE_CHECKING:
    from typing import TypeGuard

    from numpy.typing import NDArray

    from rocframe.charts.axes import Plane
    from rocframe.curves.table import Curves
    from rocframe.curves.thinning import LinePoints
    from rocframe.kinds import Kind

RATE_TOLERANCE = 1e-9  # maximum difference of rates that count as equal
CURVE_ROW = "row"
LIMIT_COLUMNS = ("estimate", "lower", "upper")


def has_limits(points: object) -> TypeGuard[pl.DataFrame]:
    """Return whether points are a table of `intervals`."""
    return isinstance(points, pl.DataFrame) and table_of(points.columns).type is METRIC_INTERVALS


def points_with_limits(
    plane: Plane, curves: Curves, line_points: LinePoints, points: pl.DataFrame
) -> pl.DataFrame:
    """Return the points of a table of `intervals`, one row per curve and point.

    The columns are the curve, its row, `at, value, threshold, tp, fp`, and `x` and `y` with the
    columns `x_estimate, x_lower, x_upper` and `y_estimate, y_lower, y_upper`. Limits are null on an
    axis whose metric is not in the table, and on an axis of thresholds. Raise an error if the table
    has no metric of the axes and no axis shows the threshold, or if an estimate differs from the
    metric of the curve.
    """
    sides = {}
    located = points.filter(pl.col("at").is_not_null() & pl.col("estimate").is_not_null())
    row, curve = match_rows("mark", "points", located, curves.keys, curves.keys.columns)
    on = [CURVE_INDEX, *POINT_NAMES, THRESHOLD]
    matched = located.select("metric", *POINT_NAMES, THRESHOLD, *LIMIT_COLUMNS)[row]
    matched = matched.with_columns(pl.Series(CURVE_INDEX, curve, pl.Int64))
    for side, axis in (("x", plane.x), ("y", plane.y)):
        names = [name for name, rate in NAMES.items() if rate is NAMES.get(axis.name)]
        on_axis = matched.filter(pl.col("metric").is_in(names))
        if axis.name == THRESHOLD:
            on_axis = matched.with_columns(estimate=THRESHOLD, lower=None, upper=None)
        sides[side] = on_axis.unique(on, keep="first", maintain_order=True).select(
            *on, *(pl.col(name).alias(f"{side}_{name}") for name in LIMIT_COLUMNS)
        )
    if all(part.is_empty() for part in sides.values()):
        axes = f"{plane.x.name!r} and {plane.y.name!r}"
        raise OptionValueError.compose(
            "mark",
            points,
            f"the table has no points with the metrics of the axes, {axes}",
            f"Use rf.intervals(…, metrics=[{plane.x.name!r}, {plane.y.name!r}]) with a point such "
            "as threshold=0.5.",
        )
    joined = sides["x"].join(
        sides["y"], on=on, how="full", coalesce=True, nulls_equal=True, maintain_order="left_right"
    )
    curve = joined.get_column(CURVE_INDEX).to_numpy()
    values, index = np.unique(joined.get_column(THRESHOLD).to_numpy(), return_inverse=True)
    rows, _ = rows_at(point_axis(curves, THRESHOLD), values.tolist())
    result = joined.with_columns(pl.Series(CURVE_ROW, rows[curve, index], pl.Int64))
    return _with_curve_values(plane, curves, line_points, result, points)


def marked_values(
    name: str, kind: Kind, points: LinePoints, threshold: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the values of an axis at marked points: their metric, or their threshold."""
    return threshold if name == THRESHOLD else axis_values(points, kind, name)


def _with_curve_values(
    plane: Plane, curves: Curves, line_points: LinePoints, points: pl.DataFrame, table: pl.DataFrame
) -> pl.DataFrame:
    """Return the points with the counts and with the metrics `x` and `y` of their curves.

    Raise an error about `table`, the table of the points, if a metric differs from its estimate.
    """
    row, curve = (points.get_column(name).to_numpy() for name in (CURVE_ROW, CURVE_INDEX))
    tp, fp = (curves.columns[name][row].astype(np.float64) for name in ("tp", "fp"))
    at_rows = replace(line_points, curve=curve, row=np.full(len(row), BETWEEN), tp=tp, fp=fp)
    columns: dict[str, Any] = {"tp": tp, "fp": fp}
    threshold = points.get_column(THRESHOLD).to_numpy()
    for side, axis in (("x", plane.x), ("y", plane.y)):
        columns[side] = value = marked_values(axis.name, plane.kind, at_rows, threshold)
        if axis.name == THRESHOLD:  # the difference of infinite thresholds is NaN
            continue
        estimate = points.get_column(f"{side}_estimate").to_numpy()
        differs = np.flatnonzero(np.abs(estimate - value) > RATE_TOLERANCE)
        if len(differs):
            i = int(differs[0])
            problem = (
                f"the table has the {axis.name} {estimate[i]:.6g} at the threshold "
                f"{points.get_column(THRESHOLD)[i]:g}, but the curve has {value[i]:.6g}"
            )
            hint = "Pass points that were computed from these curves."
            raise OptionValueError.compose("mark", table, problem, hint)
    return points.with_columns(pl.Series(name, array) for name, array in columns.items())
