"""Columns that several types of tables have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.rates import CONFUSION
from rocframe.schemas.table_type import floats, integers, strings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rocframe.schemas.table_type import Schema

ROC_AREA_TITLE = "Area under the ROC curve"
THRESHOLD = "threshold"
MODEL = "model"
SIDE = "side"  # the left or the right side of a jump of an averaged curve or a Murphy curve
WINDOW_COLUMNS = WINDOW, WINDOW_END = ("window", "window_end")
CURVE_COLUMNS = (THRESHOLD, *CONFUSION)
POINT_NAMES = ("at", "at_value")
ROW_COUNTS = integers("n_pos", "n_neg", "n_missing")
INTERVAL = floats("lower", "upper", "se")
INTERVAL_INFO = floats("ci_level") | strings("ci_method", "note")

# Columns of thresholds. They have the float dtype of the scores.
SCORE_COLUMNS = (THRESHOLD, "threshold_a", "threshold_b", "threshold_above", "threshold_below")


def score_floats(dtypes: Iterable[pl.DataType]) -> pl.DataType:
    """Return the float dtype of scores: Float32 if no column has more digits, otherwise Float64."""
    is_narrow = {dtype in {pl.Float16, pl.Float32} for dtype in dtypes} == {True}
    return pl.Float32() if is_narrow else pl.Float64()


def with_scores(columns: Schema, scores: pl.DataType) -> Schema:
    """Return the columns of a table of predictions or curves with scores of this float dtype."""
    return columns | {name: scores for name in SCORE_COLUMNS if columns.get(name) == pl.Float64()}


def cast_scores(table: pl.DataFrame, schema: Mapping[str, pl.DataType]) -> pl.DataFrame:
    """Return a table whose columns of scores are cast to the dtypes of `schema`."""
    dtypes = {name: schema[name] for name in SCORE_COLUMNS if name in schema}
    return table.with_columns(
        pl.col(name).cast(dtype) for name, dtype in dtypes.items() if table.schema[name] != dtype
    )
