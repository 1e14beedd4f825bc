"""Confidence limits of areas, for the legends of curve charts."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import isclose, isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any

import polars as pl

from rocframe.charts.labels import level_text
from rocframe.charts.match_rows import match_rows
from rocframe.errors import OptionValueError
from rocframe.schemas.curves import METRIC_INTERVALS
from rocframe.schemas.recognition import table_of
from rocframe.schemas.statistics import AUC, FOLD_AUC
from rocframe.text import format_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.groups import GroupColumn
    from rocframe.kinds import Kind

AREA_TOLERANCE = 1e-9  # maximum relative difference of areas that count as equal
HINT = "Pass the result of auc, fold_auc or intervals for the same predictions as the curves."


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaLimits:
    """Confidence limits of areas, and their confidence level, as text for the legend of a chart.

    `texts` maps each legend entry to its limits. If the chart has no legend of areas, the only key
    is an empty string.
    """

    texts: Mapping[str, str] = field(default_factory=dict)
    level: str = ""

    @property
    def caption(self) -> str:
        """A text for the subtitle with the confidence level; empty if there are no limits."""
        return f"brackets: {self.level} confidence limits" if self.level else ""


def read_area_limits(
    table: object,
    keys: pl.DataFrame,
    entries: GroupColumn | None,
    areas: Sequence[float],
    kind: Kind,
) -> AreaLimits:
    """Return the confidence limits in `table` for the areas in a legend.

    `keys` has one row per curve with its group columns, and `areas` has the area of each curve. The
    values of the group column `entries` are the legend entries; None if there is no legend.

    Raise an error if the areas in the table differ from the areas in the legend.
    """
    if table is None:
        return AreaLimits()
    rows, names, area_name = _area_rows(table, kind)
    by = [name for name in keys.columns if name in names]
    row, curve = match_rows("areas", "areas", rows, keys, by)
    if not len(row):
        raise OptionValueError.compose("areas", rows, "the table has no rows", HINT)
    rows_of_curves: dict[int, int] = {}
    for i, j in zip(row.tolist(), curve.tolist(), strict=True):
        if rows_of_curves.setdefault(j, i) != i:
            problem = "the table has more than one row for the same curve"
            raise OptionValueError.compose("areas", rows, problem, HINT)
    curves_of_entries: dict[str, list[int]] = {}
    for i, name in enumerate([""] * len(areas) if entries is None else entries.texts):
        curves_of_entries.setdefault(name, []).append(i)
    texts = {}
    values = [rows.get_column(name).to_list() for name in (area_name, "lower", "upper")]
    for name, curves in curves_of_entries.items():
        table_rows = {rows_of_curves[i] for i in curves if i in rows_of_curves}
        known = [areas[i] for i in curves if not isnan(areas[i])]
        if not table_rows or not known:
            continue
        row_of_entry = table_rows.pop()
        area, lower, upper = (numbers[row_of_entry] for numbers in values)
        mean = fmean(known)
        if (
            table_rows
            or area is None
            or not isclose(area, mean, rel_tol=AREA_TOLERANCE, abs_tol=AREA_TOLERANCE)
        ):
            entry = f"the legend entry {name!r}" if name else "the chart"
            shown = "several rows" if table_rows else f"the area {area}"
            problem = f"{entry} has the area {mean:.6g}, but the table has {shown} for it"
            hint = "Use fold_auc for the mean of the areas of several curves."
            raise OptionValueError.compose("areas", rows, problem, f"{HINT} {hint}")
        text = format_interval(lower, upper, 3, brackets=True)
        if text is not None:
            texts[name] = text
    return AreaLimits(texts=texts, level=level_text(rows.get_column("ci_level")) if texts else "")


def _area_rows(table: object, kind: Kind) -> tuple[pl.DataFrame, tuple[str, ...], str]:
    """Return the rows of a table with areas of curves of the given kind.

    Also return the group columns of the table, and the name of the column of the areas.
    """
    is_precision_recall = kind.name == "precision_recall"
    layout = table_of(table.columns) if isinstance(table, pl.DataFrame) else None
    names: dict[Any, str] = {AUC: "auc", FOLD_AUC: "mean_auc", METRIC_INTERVALS: "estimate"}
    if not isinstance(table, pl.DataFrame) or layout is None or layout.type not in names:
        problem = "expected a table of areas with confidence limits"
        value = table.columns if isinstance(table, pl.DataFrame) else table
        raise OptionValueError.compose("areas", value, problem, HINT)
    if layout.type is METRIC_INTERVALS:
        metric = "average_precision" if is_precision_recall else "auc"
        table = table.filter(pl.col("metric") == metric)
    elif is_precision_recall:
        problem = "the chart has precision-recall curves, but the table has areas of ROC curves"
        hint = 'Use rf.intervals(…, metrics="average_precision").'
        raise OptionValueError.compose("areas", table, problem, hint)
    return table, layout.by, names[layout.type]
