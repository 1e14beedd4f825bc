"""Compute the data of a dashboard: selected rows of each curve, and bins of its scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from math import inf, nextafter, ulp
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.charts.calibration_chart import level_ends, point_records
from rocframe.charts.chart import ChartOptions
from rocframe.charts.curve_chart import curves_of
from rocframe.charts.curve_data import LAYER
from rocframe.charts.groups import CURVE, area_captions, areas_of, read_groups
from rocframe.charts.labels import json_numbers, shorten
from rocframe.charts.match_rows import match_rows
from rocframe.curves.bins import nice_step, score_bins
from rocframe.curves.locate import CurveAxis
from rocframe.curves.table import check_ends, curve_layout
from rocframe.curves.thinning import (
    evenly_spaced_points,
    limit_corners,
    rows_at_levels,
    segment_distance,
)
from rocframe.errors import OptionValueError
from rocframe.kinds import KINDS
from rocframe.rates import RATES
from rocframe.schemas.calibration import CALIBRATION
from rocframe.schemas.recognition import table_of
from rocframe.text import format_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.charts.groups import Groups
    from rocframe.curves.table import Curves
    from rocframe.inputs.roles import By
    from rocframe.options import NotGiven

MAX_CURVES = 12  # the palette has 12 colors
MAX_FLOAT = 1.7976931348623157e308  # replaces infinity, which JSON cannot represent
SLIDER_STEPS = 1000
MAX_LABEL_LENGTH = 32  # in characters
ROWS = 2880  # approximate maximum number of rows of all curves together
MAX_CORNERS = 80  # of each ROC line, and of each precision-recall line
# Maximum error of a line, as a share of an axis. It is larger for a line that would need more than
# MAX_CORNERS corners.
DASHBOARD_TOLERANCE = 1 / 1000
MAX_INTERPOLATED = 60  # interpolated points per curve
# Values of TPR and FPR. If several rows are between two neighboring values, some are omitted.
LEVELS = np.concatenate([np.geomspace(1e-5, 0.01, 500), np.linspace(0.01, 1, 1500)[1:]])
# The fields of event rates in the data of the dashboard.
CALIBRATION_FIELDS = {
    CURVE: "curve",
    LAYER: "part",
    "score_mean": "x",
    "event_rate": "y",
    "lower": "y_low",
    "upper": "y_high",
}
TINY = 1e-300  # replaces 0 as a denominator
MIN_BEND = 1 / 200  # share of an axis; no points are interpolated between closer rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """The lowest and highest value and the step of the slider that sets the threshold.

    `top` is the value that represents the threshold `inf`. It is larger than every score, unless a
    score is the largest Float64.
    """

    low: float
    high: float
    step: float
    top: float

    def values(self) -> NDArray[np.float64]:
        """Return the values of the slider."""
        low, step = Decimal(repr(self.low)), Decimal(repr(self.step))
        n_steps = int((Decimal(repr(self.high)) - low) / step)
        return np.array([float(low + i * step) for i in range(n_steps + 1)])


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardData:
    """Data of a dashboard: records of curves, of bins of scores and of calibration, and groups.

    `undefined` are the names of curves without positives or negatives, which have no record.
    `n_omitted` is the number of rows of the other curves that are not in `records`. `unit_scores`
    is true if all scores are between 0 and 1, and `integer_counts` if all counts are integers.
    `prevalence` is the prevalence of the rates in the table, None if each curve has its own
    prevalence. `threshold` is the default threshold.
    """

    records: list[dict[str, Any]]
    bins: list[dict[str, Any]]
    calibration: list[dict[str, Any]]
    groups: Groups
    slider: Slider
    undefined: list[str]
    n_omitted: int
    unit_scores: bool
    integer_counts: bool
    prevalence: float | None
    threshold: float


def dashboard_data(
    table: pl.DataFrame,
    *,
    by: By,
    color: str | NotGiven | None,
    calibration: pl.DataFrame | None = None,
) -> DashboardData:
    """Return the data of a dashboard from a curve table and an optional table of `calibration`."""
    names = curve_layout(table.schema, by, ()).by
    curves = curves_of(table, names)
    groups = read_groups(curves.keys, names, table.columns, ChartOptions(color=color))
    n_curves = len(curves.firsts)
    if n_curves > MAX_CURVES:
        raise OptionValueError.compose(
            "by",
            list(names),
            f"a dashboard shows at most {MAX_CURVES} curves, but the table has {n_curves}",
            "Select groups with .filter() first, or draw all of them with .roc.chart().",
        )
    check_ends(
        curves,
        "these scores cannot be drawn",
        "Compute the curves without thresholds=, and keep all their rows: a dashboard shows the "
        "distribution of all scores. To draw a part of the axes, use "
        ".roc.chart(x_domain=(0, 0.2)).",
    )
    roc = KINDS["roc"]
    areas = areas_of(curves, roc)
    # Each value gets a distinct color. If columns were ordered, values would get similar shades.
    columns = {name: replace(column, ordered=False) for name, column in groups.columns.items()}
    captions = area_captions(groups.captioned_column, areas, roc)
    groups = replace(groups, columns=columns, captions=captions)
    labels = groups.names(n_curves)
    defined = np.flatnonzero((curves.pos > 0) & (curves.neg > 0))
    selected = [_dashboard_rows(curves, int(curve), ROWS // len(defined)) for curve in defined]
    records = [
        {CURVE: curve, "curve": curve, "label": labels[curve]}
        | {"name": shorten(labels[curve], MAX_LABEL_LENGTH)}
        | _point_record(curves, curve, rows)
        for curve, rows in zip(defined.tolist(), selected, strict=True)
    ]
    groups.name(records)
    bins = score_bins(curves).filter(pl.col("curve").is_in(defined.tolist()))
    slider = _threshold_slider(curves, bins)
    return DashboardData(
        records=records,
        bins=_bin_records(bins, records),
        calibration=_calibration_records(calibration, curves.keys, names, records),
        groups=groups,
        slider=slider,
        undefined=[label for curve, label in enumerate(labels) if curve not in defined],
        n_omitted=int(np.diff(curves.starts)[defined].sum()) - sum(map(len, selected)),
        unit_scores=all(record["unit"] for record in records),
        integer_counts=all(curves.columns[name].dtype.kind == "i" for name in ("tp", "fp")),
        prevalence=curves.prevalence,
        threshold=_default_threshold(curves, defined, slider),
    )


def _default_threshold(curves: Curves, defined: NDArray[np.int64], slider: Slider) -> float:
    """Return the value of the slider at which tpr - fpr differs most between the curves.

    For one curve, it is the value with the largest tpr - fpr. If there are several such values, the
    one with the largest mean of tpr - fpr is returned. If this is not unique, the one nearest to
    0.5 is returned.
    """
    values = slider.values()
    differences = np.zeros((1, len(values)))
    if len(defined):
        axis, lacks_rows = CurveAxis.from_curves(curves, None), np.zeros(len(curves.firsts), bool)
        points = axis.points_at_thresholds(defined, values[None, :], lacks_rows)
        differences = points.evaluate(RATES["youden"])
    mean = differences.mean(axis=0)
    spread = np.ptp(differences, axis=0) if len(defined) > 1 else mean
    # Values that differ only by rounding errors are treated as equal.
    keys = (np.abs(values - 0.5), -mean.round(12), -spread.round(12))
    return float(values[np.lexsort(keys)[0]])


def _point_record(curves: Curves, curve: int, selected: NDArray[np.int64]) -> dict[str, Any]:
    """Return the totals and the drawn points of a curve as a record; `selected` are its rows."""
    rows, positions = _dashboard_points(curves, curve, selected)
    is_row = positions % 1 == 0
    indices = np.arange(len(selected))
    counts = {
        name: np.where(
            is_row,
            curves.columns[name][rows],
            np.interp(positions, indices, curves.columns[name][selected]),
        )
        for name in ("tp", "fp")
    }
    # An interpolated point has the threshold of the row after the point.
    thresholds = curves.shown_thresholds(rows).tolist()
    scores = curves.columns["threshold"][curves.starts[curve] + 1 : curves.starts[curve + 1]]
    return {
        "unit": bool(((scores >= 0) & (scores <= 1)).all()),
        "pos": curves.pos[curve].item(),
        "neg": curves.neg[curve].item(),
        "threshold": [None if value == inf else max(value, -MAX_FLOAT) for value in thresholds],
        **{name: json_numbers(values.tolist()) for name, values in counts.items()},
    }


def _totals_of_curves(curves: list[dict[str, Any]]) -> dict[int, dict[str, Any]]:
    """Return the record of each curve without its points, by the number of the curve."""
    return {
        record["curve"]: {
            name: value for name, value in record.items() if name not in {"threshold", "tp", "fp"}
        }
        for record in curves
    }


def _calibration_records(
    table: object, keys: pl.DataFrame, by: Sequence[str], curves: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return a record for each event rate in a table of `calibration`, with its curve and totals.

    `keys` has the group columns `by` of each curve. Event rates of other groups are left out.
    """
    if table is None:
        return []
    layout = table_of(table.columns) if isinstance(table, pl.DataFrame) else None
    if not isinstance(table, pl.DataFrame) or layout is None or layout.type is not CALIBRATION:
        problem, hint = "expected a table of calibration", "Pass the result of rf.calibration(…)."
        raise OptionValueError.compose("calibration", table, problem, hint)
    row, curve = match_rows("calibration", "event rates", table, keys, by)
    rows = table[row].sort(pl.Series(curve), "bin", maintain_order=True)
    points = point_records(rows, np.sort(curve))
    totals = _totals_of_curves(curves)
    return [
        totals[point[CURVE]]
        | {"angle": point.get("score_min", point["score_mean"]), "order": order}
        | {CALIBRATION_FIELDS.get(name, name): value for name, value in point.items()}
        for order, point in enumerate([*points, *level_ends(points)])
        if point[CURVE] in totals
    ]


def _bin_records(bins: pl.DataFrame, curves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a record for each bin: its counts, its edges as text, and its curve with totals."""
    lefts, rights = (format_values(bins.get_column(name)) for name in ("left", "right"))
    by_curve = _totals_of_curves(curves)
    records = []
    for row, left, right in zip(bins.to_dicts(), lefts, rights, strict=True):
        below, above = row.pop("below"), row.pop("above")
        text = f"below {right}" if below else f"from {left}" if above else f"{left} to {right}"
        text = "all" if below and above else text
        counts = {"bin_pos": row.pop("pos"), "bin_neg": row.pop("neg")}
        texts = {"angle": row["left"], "scores": text}
        records.append(by_curve[row["curve"]] | row | counts | texts)
    return records


def _threshold_slider(curves: Curves, bins: pl.DataFrame) -> Slider:
    """Return the slider, whose ends are round numbers between which most scores lie."""
    low, high = (
        bins.select(pl.col("left").min(), pl.col("right").max()).row(0) if len(bins) else (0.0, 1.0)
    )
    threshold = curves.columns["threshold"]
    highest = float(threshold[np.isfinite(threshold)].max(initial=-inf))
    step = float(nice_step(max(high / SLIDER_STEPS - low / SLIDER_STEPS, ulp(high))))
    # The slider ends one step above the highest score, where no row is predicted positive.
    if high == highest:
        high = min(float(Decimal(repr(high)) + Decimal(repr(step))), MAX_FLOAT)
    top = min(max(high, nextafter(highest, inf)), MAX_FLOAT)
    return Slider(low=low, high=high, step=step, top=top)


def _dashboard_rows(curves: Curves, curve: int, most: int) -> NDArray[np.int64]:
    """Return the indices of about `most` rows of a curve; all rows if the curve has no more.

    The rows are the corners of the ROC and precision-recall lines, and evenly spaced ROC points.
    """
    start, end = curves.starts[curve], curves.starts[curve + 1]
    if end - start <= most:
        return np.arange(start, end)
    tp, fp = (curves.columns[name][start:end] for name in ("tp", "fp"))
    pos, neg = float(curves.pos[curve]), float(curves.neg[curve])
    rows = rows_at_levels(len(tp), lambda: [(tp, pos * LEVELS), (fp, neg * LEVELS)])
    up, across = tp[rows] / pos, fp[rows] / neg
    ends = np.array([0, len(rows)])
    precision = tp[rows] / np.maximum(tp[rows] + fp[rows], TINY)
    first, second = (
        limit_corners(x, y, ends, DASHBOARD_TOLERANCE, most=MAX_CORNERS, factor=1.5)[0]
        for x, y in ((across, up), (up, precision))
    )
    selected = first | second
    spare = np.array([max(most - int(selected.sum()), 0)])
    selected |= evenly_spaced_points(across, up, ends, spare, corners=selected)
    result: NDArray[np.int64] = start + rows[selected]
    return result


def _dashboard_points(
    curves: Curves, curve: int, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return, for each drawn point of a curve, the row at or after it and its position in `rows`.

    Some points are interpolated between two of the given `rows`; their positions are fractional.
    The precision-recall line needs these points, because precision is not linear between two rows.
    """
    pos, neg = float(curves.pos[curve]), float(curves.neg[curve])
    tp, fp = (curves.columns[name][rows].astype(np.float64) for name in ("tp", "fp"))
    up, across = np.diff(tp) / pos, np.diff(fp) / neg
    bend = np.minimum(up, across)
    # A tie without negatives is a vertical ROC step, on which precision may not be linear either.
    recall, precision = tp / pos, tp / np.maximum(tp + fp, TINY)
    middle = (tp[1:] + tp[:-1]) / 2
    middles = middle / pos, middle / np.maximum(middle + fp[:-1], TINY)
    ends = (recall[:-1], precision[:-1]), (recall[1:], precision[1:])
    is_curved = (across == 0) & (segment_distance(middles, *ends) > MIN_BEND)
    bend[is_curved] = up[is_curved]
    # On a ROC segment that starts at (0, 0), precision is constant, so no points are added.
    bend[(bend < MIN_BEND) | (tp[:-1] + fp[:-1] == 0)] = 0
    added = np.floor(bend / max(bend.sum(), MIN_BEND) * MAX_INTERPOLATED).astype(np.int64)
    first = np.repeat(np.arange(len(added)), added)
    number = np.arange(len(first)) - np.repeat(np.cumsum(added) - added, added) + 1
    # Between two rows, precision changes fastest near the first row, which gets more points.
    share = (number / (added[first] + 1)) ** 2
    positions = np.sort(np.concatenate([np.arange(len(rows)), first + share]))
    return rows[np.ceil(positions).astype(np.int64)], positions
