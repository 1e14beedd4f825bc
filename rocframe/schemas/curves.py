"""Columns and charts of tables of curves, their points and bands, and of smooth curves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.rates import CONFUSION
from rocframe.schemas.columns import (
    CURVE_COLUMNS,
    INTERVAL_INFO,
    POINT_NAMES,
    ROW_COUNTS,
    THRESHOLD,
)
from rocframe.schemas.table_type import (
    CHANNELS,
    DOMAINS,
    HIDDEN_PARTS,
    ROW_TIES,
    UNITS,
    Schema,
    TableType,
    floats,
    has_columns,
    strings,
)

if TYPE_CHECKING:
    import polars as pl

# The last columns of the results of `simplify`, and of `curve` with `max_error`.
SIMPLIFICATION = floats("error", "area_change")

# The last columns of the result of `curve` with `thresholds`.
GIVEN_THRESHOLDS = floats("error", "area_error")

# The last columns of the results of `at` with `interpolate=True`.
MIX = floats("threshold_above", "threshold_below", "mix")


def curve_columns(count: pl.DataType) -> Schema:
    """Return the columns of every curve table; `count` is the dtype of the counts."""
    return floats(THRESHOLD) | dict.fromkeys(CONFUSION, count)


CURVE = TableType(
    name="curve",
    functions=("curve", "class_metrics"),
    columns=curve_columns,
    recognize=has_columns(*CURVE_COLUMNS),
    ties=ROW_TIES,
    drawing="rocframe.charts.curve_chart:curve_chart",
    chart_options=(
        *("by", "kind", "x", "y", *CHANNELS),
        *("scale", *DOMAINS, "areas", "ties", *UNITS),
        *HIDDEN_PARTS,
    ),
)

OPERATING_POINTS = TableType(
    name="operating_points",
    functions=("at",),
    columns=lambda count: strings("at") | floats("at_value") | curve_columns(count),
    # If `at` and `at_value` are not next to `threshold`, they are group columns of a curve table.
    recognize=has_columns(*POINT_NAMES, *CURVE_COLUMNS, adjacent=3),
    ties=ROW_TIES,
    drawing="rocframe.charts.operating_point_chart:points_chart",
    chart_options=(
        *("by", "kind", "x", "y", *CHANNELS, "scale", *DOMAINS, "text", *UNITS, *HIDDEN_PARTS),
    ),
)

METRIC_INTERVALS = TableType(
    name="intervals",
    functions=("intervals",),
    columns=lambda: (
        strings("metric")
        | floats("estimate", "lower", "upper")
        | strings("at")
        | floats("at_value", THRESHOLD, "se")
        | ROW_COUNTS
        | INTERVAL_INFO
    ),
    recognize=has_columns("metric", "estimate", *POINT_NAMES, THRESHOLD),
    ties=ROW_TIES,
    drawing="rocframe.charts.interval_chart:metric_chart",
    on_axes=OPERATING_POINTS,
)


BAND_COLUMNS = floats(
    *("fpr", "tpr", "fpr_lower", "fpr_upper", "lower", "upper", "ci_level")
) | strings("scope", "band", "note")

BAND = TableType(
    name="band",
    functions=("band",),
    columns=lambda: BAND_COLUMNS,
    recognize=has_columns(*BAND_COLUMNS),
    ties=ROW_TIES,
    drawing="rocframe.charts.band_chart:band_chart",
    chart_options=(*CHANNELS, *DOMAINS, *HIDDEN_PARTS),
)

SMOOTH_COLUMNS = floats("fpr", "tpr", "auc", "a", "b") | strings("note")

SMOOTH_CURVES = TableType(
    name="smooth",
    functions=("smooth", "theoretical_curve"),
    columns=lambda: SMOOTH_COLUMNS,
    recognize=has_columns(*SMOOTH_COLUMNS, adjacent=5),
    ties=ROW_TIES,
    drawing="rocframe.charts.smooth_chart:smooth_chart",
    chart_options=(*CHANNELS, *DOMAINS),
)
