"""Marked points of curves, with confidence limits if they are from a table of `intervals`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import isnan, nan
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from rocframe.charts.axes import axis_values
from rocframe.charts.curve_data import LAYER, point_fields
from rocframe.charts.labels import chart_text, json_rows, level_text, note_text
from rocframe.charts.match_rows import CURVE_INDEX, match_rows
from rocframe.curves.at import operating_points, point_axis, rows_at
from rocframe.curves.table import TOTAL_ROUNDING, shown_numbers
from rocframe.curves.thinning import BETWEEN
from rocframe.errors import MissingColumnError, OptionValueError
from rocframe.options import to_floats
from rocframe.rates import CONFUSION, NAMES
from rocframe.schemas.curves import METRIC_INTERVALS
from rocframe.schemas.recognition import table_of
from rocframe.schemas.table_type import POINT_NAMES, THRESHOLD
from rocframe.text import format_interval

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeGuard

    from numpy.typing import NDArray

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.curve_data import OverlayInput
    from rocframe.curves.table import Curves
    from rocframe.curves.thinning import LinePoints
    from rocframe.kinds import Kind

    MarkedPoints: TypeAlias = "float | Sequence[float] | pl.Series | pl.DataFrame"
    Mark: TypeAlias = "MarkedPoints | Mapping[str, MarkedPoints] | None"

RATE_TOLERANCE = 1e-9  # maximum difference of rates that count as equal
CURVE_ROW = "row"
LIMIT_COLUMNS = ("estimate", "lower", "upper")
# The values of the field `part` in the records of points and of bars between their limits.
MARK, LIMITS = "mark", "limits"
MARK_NAME = "mark"  # the field of the name of a point
MARK_FIELDS = (MARK_NAME,)  # fields of records of overlays
MARK_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "triangle-down")


def named_marks(mark: Mark) -> dict[str | None, MarkedPoints]:
    """Return the points of `mark` by name; the key is None if `mark` is not a mapping."""
    if not isinstance(mark, Mapping):
        return {} if mark is None else {None: mark}
    names: list[object] = list(mark)
    for name in names:
        if not isinstance(name, str) or not name:
            raise OptionValueError.compose(
                "mark",
                name,
                "this key of the mapping is not a string, or is empty",
                'Use, for example, mark={"high": 0.9}.',
            )
    n_symbols = len(MARK_SYMBOLS)
    if not 0 < len(mark) <= n_symbols:
        problem = f"expected 1 to {n_symbols} names, got {len(mark)}"
        hint = "Draw more points in a second chart." if mark else "Pass points, or leave out mark=."
        raise OptionValueError.compose("mark", list(mark), problem, hint)
    return {chart_text(str(name)): points for name, points in mark.items()}


def mark_records(inputs: OverlayInput, options: ChartOptions) -> list[dict[str, Any]]:
    """Return the records of all points in `mark`, and of the bars between their limits."""
    return [
        record | ({} if name is None else {MARK_NAME: name})
        for name, points in named_marks(options.mark).items()
        for record in (
            _limited_marks(inputs, points) if _has_limits(points) else _marks(inputs, points)
        )
    ]


def _marks(inputs: OverlayInput, points: MarkedPoints) -> list[dict[str, Any]]:
    """Return a record for each curve with its marked points that lie inside the axes."""
    table = _marked_rows(inputs.curves, points).sort(CURVE_INDEX, maintain_order=True)
    curve = table.get_column(CURVE_INDEX).to_numpy()
    tp, fp = (table.get_column(name).cast(pl.Float64).to_numpy() for name in ("tp", "fp"))
    between = np.full(len(curve), BETWEEN)
    marked = replace(inputs.line_points, curve=curve, row=between, tp=tp, fp=fp)
    plane = inputs.plane
    threshold = table.get_column(THRESHOLD).fill_null(nan).to_numpy()
    values: dict[str, list[Any]] = {
        name: shown_numbers(table.get_column(name)).to_list() for name in (THRESHOLD, "tp", "fp")
    }
    values[THRESHOLD] = [
        "between two rows" if value is None else value for value in values[THRESHOLD]
    ]
    names = plane.x.name, plane.y.name
    for name in names:
        values[name] = _marked_values(name, plane.kind, marked, threshold).tolist()
    rows: dict[int, list[int]] = {}
    places = (values[name] for name in names)
    for row, (i, x, y) in enumerate(zip(curve.tolist(), *places, strict=True)):
        if inputs.drawn[i] and plane.contains(x, y):
            rows.setdefault(i, []).append(row)
    return [
        inputs.point_record(MARK, i, {name: [values[name][row] for row in part] for name in values})
        for i, part in rows.items()
    ]


def _limited_marks(inputs: OverlayInput, points: Any) -> list[dict[str, Any]]:
    """Return records of the points in a table of `intervals`, and of bars between their limits.

    Points outside the axes are left out.
    """
    plane, records = inputs.plane, []
    fields, axes = point_fields(plane), (("x", plane.x), ("y", plane.y))
    table = _points_with_limits(inputs, points)
    for i, point in enumerate(json_rows(table.to_dict(as_series=False))):
        curve = point[CURVE_INDEX]
        if not (inputs.drawn[curve] and plane.contains(point["x"], point["y"])):
            continue
        texts = {}
        for side, axis in axes:
            lower, upper = (point[f"{side}_{end}"] for end in ("lower", "upper"))
            text = format_interval(lower, upper, 3, brackets=True)
            if text is None:
                continue
            texts[limits_field(axis.name)] = text
            ends: dict[str, Any] = {name: [None, None] for name in fields}
            ends |= {one.name: [point[name]] * 2 for name, one in axes}
            ends[axis.name] = np.clip([lower, upper], axis.low, axis.high).tolist()
            records.append(inputs.point_record(LIMITS, curve, ends) | {"_bar": f"{side}{i}"})
        values = {name: [point[name]] for name in fields if name in point}
        values |= {axis.name: [point[name]] for name, axis in axes}
        records.append(inputs.point_record(MARK, curve, values) | texts)
    return records


def _marked_rows(curves: Curves, points: MarkedPoints) -> pl.DataFrame:
    """Return a table with the curve index, threshold and counts of each marked point, unsorted."""
    if not isinstance(points, pl.DataFrame):
        values = None if isinstance(points, pl.LazyFrame) else to_floats(points)
        if values is None or any(map(isnan, values)):
            problem = "expected thresholds or a DataFrame of points"
            hint = "Pass thresholds or a table from at(), or a mapping from names to such values."
            raise OptionValueError.compose("mark", points, problem, hint)
        rows = operating_points(curves, "threshold", values)
        curve = np.repeat(np.arange(len(curves.firsts)), len(values))
        return rows.select(pl.Series(CURVE_INDEX, curve, pl.Int64), THRESHOLD, *CONFUSION)
    for name in (*curves.keys.columns, THRESHOLD, *CONFUSION):
        if name not in points.columns:
            raise MissingColumnError.of_table("mark", name, points.columns)
    points = points.drop_nulls(CONFUSION)
    row, curve = match_rows("mark", "points", points, curves.keys, curves.keys.columns)
    matched = points.select(THRESHOLD, *CONFUSION)[row].with_columns(
        pl.Series(CURVE_INDEX, curve, pl.Int64)
    )
    _check_totals(curves, matched, points.columns)
    return matched.select(CURVE_INDEX, THRESHOLD, *CONFUSION)


def _check_totals(curves: Curves, points: pl.DataFrame, columns: Sequence[str]) -> None:
    """Raise an error if a point has other numbers of positives or negatives than its curve."""
    curve = points.get_column(CURVE_INDEX).to_numpy()
    for one, other, size in (("tp", "fn", curves.pos), ("fp", "tn", curves.neg)):
        total = size[curve]
        point_total = (points.get_column(one) + points.get_column(other)).to_numpy()
        differs = np.flatnonzero(np.abs(point_total - total) > TOTAL_ROUNDING * total)
        if len(differs):
            i = int(differs[0])
            problem = (
                f"a point has {one} + {other} = {point_total[i]:g}, but its curve has {total[i]:g}"
            )
            raise OptionValueError.compose(
                "mark", columns, problem, "Pass points that were computed from these curves."
            )


def limits_field(name: str) -> str:
    """Return the field of the text of the confidence limits of a rate."""
    return f"_{name}_limits"


def marked_names(options: ChartOptions, records: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """Return the names in `mark` with at least one point in the chart."""
    drawn = {record.get(MARK_NAME) for record in records if record[LAYER] == MARK}
    return [name for name in named_marks(options.mark) if name in drawn]


def unmarked_text(options: ChartOptions, records: Sequence[Mapping[str, Any]]) -> str:
    """Return a text with the names in `mark` that have no point in the chart, and the reasons.

    The text is empty if each name has a point.
    """
    marked = marked_names(options, records)
    texts = []
    for name, points in named_marks(options.mark).items():
        if name in marked:
            continue
        reason = "not on the drawn lines"
        counts = [one for one in CONFUSION if isinstance(points, pl.DataFrame) and one in points]
        if isinstance(points, pl.DataFrame) and counts and points.drop_nulls(counts).is_empty():
            notes = points.get_column("note").unique() if "note" in points.columns else [None]
            reason = " and ".join(sorted({note_text(note) for note in notes}))
        texts.append(f"no points are marked{f' for {name}' if name else ''} ({reason})")
    return ", ".join(texts)


def limit_level(options: ChartOptions) -> str:
    """Return the confidence level of marked points with limits as text; empty without limits."""
    levels = [
        points.get_column("ci_level")
        for points in named_marks(options.mark).values()
        if _has_limits(points)
    ]
    return level_text(pl.concat(levels)) if levels else ""


def _has_limits(points: object) -> TypeGuard[pl.DataFrame]:
    """Return whether points are a table of `intervals`."""
    return isinstance(points, pl.DataFrame) and table_of(points.columns).type is METRIC_INTERVALS


def _points_with_limits(inputs: OverlayInput, points: pl.DataFrame) -> pl.DataFrame:
    """Return the points of a table of `intervals`, one row per curve and point.

    The columns are the curve, its row, `at, at_value, threshold, tp, fp`, and `x` and `y` with the
    columns `x_estimate, x_lower, x_upper` and `y_estimate, y_lower, y_upper`. Limits are null on an
    axis whose metric is not in the table, and on an axis of thresholds. Raise an error if the table
    has no metric of the axes and no axis shows the threshold, or if an estimate differs from the
    metric of the curve.
    """
    plane, curves, sides = inputs.plane, inputs.curves, {}
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
    return _with_curve_values(inputs, result, points)


def _marked_values(
    name: str, kind: Kind, points: LinePoints, threshold: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the values of an axis at marked points: their metric, or their threshold."""
    return threshold if name == THRESHOLD else axis_values(points, kind, name)


def _with_curve_values(
    inputs: OverlayInput, points: pl.DataFrame, table: pl.DataFrame
) -> pl.DataFrame:
    """Return the points with the counts and with the metrics `x` and `y` of their curves.

    Raise an error about `table`, the table of the points, if a metric differs from its estimate.
    """
    plane = inputs.plane
    row, curve = (points.get_column(name).to_numpy() for name in (CURVE_ROW, CURVE_INDEX))
    tp, fp = (inputs.curves.columns[name][row].astype(np.float64) for name in ("tp", "fp"))
    between = np.full(len(row), BETWEEN)
    at_rows = replace(inputs.line_points, curve=curve, row=between, tp=tp, fp=fp)
    columns: dict[str, Any] = {"tp": tp, "fp": fp}
    threshold = points.get_column(THRESHOLD).to_numpy()
    for side, axis in (("x", plane.x), ("y", plane.y)):
        columns[side] = value = _marked_values(axis.name, plane.kind, at_rows, threshold)
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
