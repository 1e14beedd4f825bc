"""Columns that several types of tables have."""

from __future__ import annotations

from rocframe.rates import CONFUSION
from rocframe.schemas.table_type import floats, integers, strings

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
