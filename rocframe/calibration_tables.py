"""The types of tables about calibration."""

from __future__ import annotations

from rocframe.table_types import ROW_TIES, Schema, TableType, floats, has_columns, integers, strings


def calibration_columns(*, consistency: bool = False) -> Schema:
    """Return the columns of a table of `calibration`, with or without limits of consistency."""
    return (
        integers("bin")
        | floats("score_mean", "event_rate", "lower", "upper", "score_min", "score_max")
        | integers("n")
        | floats("ci_level")
        | strings("ci_method", "note")
        | (floats("consistency_lower", "consistency_upper") if consistency else {})
    )


CALIBRATION = TableType(
    name="calibration",
    functions=("calibration",),
    columns=calibration_columns,
    recognize=has_columns(*calibration_columns(), adjacent=8),
    ties=ROW_TIES,
    chart_hint=(
        "Draw the columns with Altair, for example "
        'alt.Chart(table).mark_line().encode(x="score_mean", y="event_rate").'
    ),
)
