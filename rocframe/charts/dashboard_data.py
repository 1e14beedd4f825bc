"""Compute the data of a dashboard: rows and lines of each curve, and bins of its scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil, inf, nan, nextafter, ulp
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.charts.axes import axis_values, curve_plane
from rocframe.charts.calibration_chart import BIN, level_ends, point_records
from rocframe.charts.curve_chart import curves_of
from rocframe.charts.curve_layers import LAYER, add_bend_points, drawn_points, match_rows
from rocframe.charts.groups import GROUP_INDEX, areas_of, read_groups, with_areas
from rocframe.charts.style import digits_of, json_numbers, shorten
from rocframe.curves.convex_hull import hull_vertices
from rocframe.curves.table import check_ends, curve_layout
from rocframe.curves.thinning import (
    BETWEEN,
    evenly_spaced_points,
    limit_corners,
    nice_step,
    rows_at_levels,
    score_bins,
)
from rocframe.decisions.costs import lowest_cost
from rocframe.errors import OptionValueError
from rocframe.inference import wilson
from rocframe.kinds import KINDS
from rocframe.schemas import table_of
from rocframe.schemas.curves import CALIBRATION
from rocframe.text import format_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import Groups
    from rocframe.curves.table import Curves
    from rocframe.curves.thinning import LinePoints
    from rocframe.kernel.arrays import FloatArray, IntArray
    from rocframe.rates import Settings

MAX_CURVES = 12  # the palette has 12 colors
MAX_FLOAT = 1.7976931348623157e308  # replaces infinity, which JSON cannot represent
SLIDER_STEPS = 1000
MAX_LABEL_LENGTH = 32  # in characters
MAX_DASHBOARD_ROWS = 101_000  # rows of all curves together; they need less than 1 MB
MAX_EXACT_ROWS = 25_000  # the thresholds of longer tables are rounded
SMALL_COUNT = 200  # of the rows of longer tables, all rows with smaller counts are kept
EVEN_POINTS = 1920  # approximate number of evenly spaced points of all lines together
MAX_CORNERS = 80  # of each ROC line, and of each precision-recall line
# Maximum error of a line, as a share of an axis. It is larger for a line that would need more than
# MAX_CORNERS corners.
DASHBOARD_TOLERANCE = 1 / 1000
# The number of digits of rounded thresholds. Thresholds that need more digits are not rounded.
THRESHOLD_DIGITS = range(5, 13)
BIN_LEVEL = 0.95  # confidence level of the event rates of bins


@dataclass(frozen=True, slots=True, kw_only=True)
class Slider:
    """The range and the step of the slider of the threshold; `top` is the threshold `inf`."""

    low: float
    high: float
    step: float
    top: float

    def values(self) -> FloatArray:
        """Return the values of the slider."""
        low, step = Decimal(repr(self.low)), Decimal(repr(self.step))
        n_steps = int((Decimal(repr(self.high)) - low) / step)
        return np.array([float(low + i * step) for i in range(n_steps + 1)])


@dataclass(frozen=True, slots=True, kw_only=True)
class DashboardData:
    """Data of a dashboard: records of curves, of bins of scores and of event rates, and groups.

    A record of `rows` has the rows of a curve as text, and a record of `lines` the points of its
    line; `rank` is its position by expected cost. `segments` maps each group column without colors
    to its initial value. `undefined` are the names of curves without both classes, which have no
    record. `n_omitted` counts the rows of the others that are not in `rows`. `calibrated` is true
    if `events` are from a table of calibration. The last three are initial values of sliders.
    """

    rows: list[dict[str, Any]]
    lines: list[dict[str, Any]]
    bins: list[dict[str, Any]]
    events: list[dict[str, Any]]
    groups: Groups
    segments: dict[str, str]
    slider: Slider
    undefined: list[str]
    n_omitted: int
    calibrated: bool
    prevalence: float | None
    threshold: float
    alert_rate: float

    @property
    def unit_scores(self) -> bool:
        """Whether all scores are between 0 and 1."""
        return all(head["unit"] for head in self.rows)

    @property
    def different_scales(self) -> bool:
        """Whether one slider does not suit all curves, because their scores have other ranges."""
        if self.unit_scores:
            return False
        lengths = [head["high"] / 2 - head["low"] / 2 for head in self.rows]
        return any(head["unit"] for head in self.rows) or max(lengths) > 2 * min(lengths)

    @property
    def integer_counts(self) -> bool:
        """Whether all counts are integers."""
        return all(isinstance(head[name], int) for head in self.rows for name in ("pos", "neg"))


def dashboard_data(
    table: pl.DataFrame,
    options: ChartOptions,
    settings: Settings,
    threshold: float | None,
    calibration: pl.DataFrame | None,
) -> DashboardData:
    """Return the data of a dashboard from a curve table and an optional table of `calibration`."""
    names = curve_layout(table.schema, options.by, ()).by
    curves = curves_of(table, names)
    groups = read_groups(curves.keys, names, table.columns, options)
    n_curves = len(curves.firsts)
    if n_curves > MAX_CURVES:
        problem = f"a dashboard shows at most {MAX_CURVES} curves, but the table has {n_curves}"
        hint = "Select groups with .filter() first, or draw all of them with .roc.chart()."
        raise OptionValueError.compose("by", list(names), problem, hint)
    check_ends(
        curves,
        "these scores cannot be drawn",
        "Compute the curves without thresholds=, and keep all their rows: a dashboard shows the "
        "distribution of all scores. To draw a part of the axes, use "
        ".roc.chart(x_domain=(0, 0.2)).",
    )
    areas = areas_of(curves, KINDS["roc"])
    groups = _numbered_columns(with_areas(groups, areas, KINDS["roc"])[0])
    settings = replace(settings, prevalence=settings.prevalence or curves.prevalence)
    best = lowest_cost(curves, settings)
    defined = np.flatnonzero((curves.pos > 0) & (curves.neg > 0))
    order = defined[np.lexsort((defined, best.cost[defined]))]  # equal costs: in table order
    bins = score_bins(curves).filter(pl.col("curve").is_in(defined.tolist()))
    labels = groups.names(n_curves)
    heads = {
        curve: _curve_head(curves, curve, bins)
        | {"rank": rank, "label": labels[curve], "name": shorten(labels[curve], MAX_LABEL_LENGTH)}
        for rank, curve in enumerate(order.tolist())
    }
    groups.name([*heads.values()])
    shown, segments = [*heads.values()], {}
    for name, column in groups.columns.items():
        found = {head[name] for head in shown}
        if name != groups.color and len({head[name] for head in heads.values()}) > 1:
            segments[name] = next(value for value in column.values if value in found)
            shown = [head for head in shown if head[name] == segments[name]]
    slider, points = _threshold_slider(curves, bins), _line_points(curves, areas)
    given = [] if threshold is None else [threshold]
    selectable = np.concatenate([slider.values(), bins["left"], bins["right"], given])
    exact = curves.shown_thresholds(np.arange(curves.starts[-1]))
    short = _short_thresholds(exact, selectable)
    selectable = np.append(selectable, short[points.row[points.row != BETWEEN]])
    kept = {curve: _table_rows(curves, curve, order, short, selectable) for curve in heads}
    in_rows = short if len(short) > MAX_EXACT_ROWS else exact
    row = int(best.row[shown[0]["curve"]]) if shown else 0
    if threshold is None:
        threshold = min(float(short[row]), slider.top) if shown else slider.low
    at_prevalence = replace(points, prevalence=settings.prevalence)
    alert_rates = axis_values(at_prevalence.select(points.row == row), KINDS["gain"], "alert_rate")
    records = _bin_records(bins)
    events = [record for record in records if record["n"]]
    if calibration is not None:
        events = _calibration_records(calibration, curves.keys, names)
    return DashboardData(
        rows=[heads[curve] | _row_record(curves, kept[curve], in_rows) for curve in heads],
        lines=[heads[curve] | _line_record(points, curve, short) for curve in heads],
        bins=[heads[one["curve"]] | one for one in records],
        events=[heads[one["curve"]] | one for one in events if one["curve"] in heads],
        groups=groups,
        segments=segments,
        slider=slider,
        undefined=[labels[curve] for curve in range(n_curves) if curve not in heads],
        n_omitted=int(np.diff(curves.starts)[defined].sum()) - sum(map(len, kept.values())),
        calibrated=calibration is not None,
        prevalence=settings.prevalence,
        threshold=threshold,
        alert_rate=ceil(1e6 * float(alert_rates[0])) / 1e6 if shown else 0.0,
    )


def _numbered_columns(groups: Groups) -> Groups:
    """Return groups with numbered fields, for Vega expressions, and distinct colors."""
    fields = {name: f"group_{i}" for i, name in enumerate(groups.columns)}
    columns = {fields[name]: replace(one, ordered=False) for name, one in groups.columns.items()}
    return replace(groups, columns=columns, color=fields.get(groups.color or ""))


def _curve_head(curves: Curves, curve: int, bins: pl.DataFrame) -> dict[str, Any]:
    """Return the totals of a curve, the range of its bins, and whether its scores are in [0, 1]."""
    scores = curves.columns["threshold"][curves.starts[curve] + 1 : curves.starts[curve + 1]]
    own = bins.filter(pl.col("curve") == curve)
    return {
        GROUP_INDEX: curve,
        "curve": curve,
        "unit": bool(((scores >= 0) & (scores <= 1)).all()),
        "pos": curves.pos[curve].item(),
        "neg": curves.neg[curve].item(),
        "low": own["left"].min(),
        "high": own["right"].max(),
    }


def _short_thresholds(shown: FloatArray, selectable: FloatArray) -> FloatArray:
    """Return the thresholds `shown` of all rows, rounded down to few digits.

    At each `selectable` and each returned threshold, `score >= threshold` has the same result for
    rounded and for exact scores.
    """
    values, positions = np.unique(shown, return_inverse=True)
    below = np.append(-inf, values[:-1])
    selectable = np.append(-inf, np.sort(selectable))
    floor = selectable[np.searchsorted(selectable, values, side="right") - 1]
    result = values.copy()
    pending = np.isfinite(values) & (values != 0)
    with np.errstate(all="ignore"):  # very large and very small scores stay as they are
        magnitude = np.floor(np.log10(np.abs(values, where=pending, out=np.ones(len(values)))))
        for digits in THRESHOLD_DIGITS:
            scale = 10.0 ** (digits - 1 - magnitude)
            rounded = np.floor(np.nextafter(values * scale, inf)) / scale
            found = pending & (rounded > below) & (rounded >= floor) & (rounded <= values)
            result[found] = rounded[found]
            pending &= ~found
    return result[positions]


def _table_rows(
    curves: Curves, curve: int, order: IntArray, thresholds: FloatArray, selectable: FloatArray
) -> IntArray:
    """Return the rows of a curve in the dashboard: all, or a selection if there are too many."""
    start, end = int(curves.starts[curve]), int(curves.starts[curve + 1])
    if np.diff(curves.starts)[order].sum() <= MAX_DASHBOARD_ROWS:
        return np.arange(start, end)
    found = end - start - np.searchsorted(thresholds[start:end][::-1], np.unique(selectable))
    n_levels = max(MAX_DASHBOARD_ROWS // len(order) - len(found), 0) // 4
    counts = [curves.columns[name][start:end] for name in ("tp", "fp")]
    levels = [_count_levels(float(count[-1]), n_levels) for count in counts]
    rows = rows_at_levels(end - start, lambda: list(zip(counts, levels, strict=True)))
    return start + np.union1d(rows, np.maximum(found - 1, 0))


def _count_levels(total: float, n: int) -> FloatArray:
    """Return all small counts, and about `n` larger counts with equal ratios."""
    large = np.geomspace(SMALL_COUNT, max(total, SMALL_COUNT), n)
    return np.concatenate([np.arange(SMALL_COUNT), large])


def _row_record(curves: Curves, rows: IntArray, thresholds: FloatArray) -> dict[str, Any]:
    """Return the rows of a curve as text: thresholds `t`, and increases of `tp` and `fp`, as "3/2".

    Most rows have one more false positive, which is empty, or one more true positive, "1".
    """
    numbers = np.clip(thresholds[rows[1:]], -MAX_FLOAT, None).tolist()
    texts = (repr(value).removesuffix(".0").removeprefix("0") or "0" for value in numbers)
    tp, fp = (np.diff(curves.columns[name][rows], prepend=0).tolist() for name in ("tp", "fp"))
    steps = (
        "" if (up, across) == (0, 1) else f"{up}/{across}" if across else f"{up}"
        for up, across in zip(tp, fp, strict=True)
    )
    return {"t": ",".join(["inf", *texts]).replace("inf", "Infinity"), "increases": ",".join(steps)}


def _line_points(curves: Curves, areas: Sequence[float]) -> LinePoints:
    """Return the points of the lines of all curves with a defined area.

    These are the vertices of the convex hull, the corners of the ROC and precision-recall lines,
    evenly spaced ROC points, and points between the rows of bent precision-recall lines.
    """
    points = drawn_points(curves, KINDS["roc"], areas, step=DASHBOARD_TOLERANCE)
    up, across = points.tp / points.pos[points.curve], points.fp / points.neg[points.curve]
    precision = points.tp / np.maximum(points.tp + points.fp, np.finfo(float).tiny)
    first, second = (
        limit_corners(x, y, points.starts, DASHBOARD_TOLERANCE, most=MAX_CORNERS, factor=1.5)[0]
        for x, y in ((across, up), (up, precision))
    )
    most = np.full(len(areas), EVEN_POINTS // max(len(areas), 1))
    spaced = evenly_spaced_points(across, up, points.starts, most, corners=first | second)
    hull = hull_vertices(curves.columns["tp"], curves.columns["fp"], curves.starts)
    is_drawn = np.isfinite(areas).repeat(np.diff(curves.starts))
    rows = np.union1d(points.row[first | second | spaced], np.flatnonzero(hull & is_drawn))
    tp, fp = (curves.columns[name][rows].astype(np.float64) for name in ("tp", "fp"))
    curve = np.searchsorted(curves.starts, rows, side="right") - 1
    points = replace(points, curve=curve, row=rows, tp=tp, fp=fp)
    return add_bend_points(curve_plane(KINDS["precision_recall"], points), points)


def _line_record(points: LinePoints, curve: int, shown: FloatArray) -> dict[str, Any]:
    """Return the points of the line of a curve; of equal thresholds, only the last is kept."""
    points = points.select(points.curve == curve)
    thresholds = np.clip(shown[points.row], -MAX_FLOAT, MAX_FLOAT)
    thresholds[points.row == BETWEEN] = nan
    thresholds[:-1][thresholds[:-1] == thresholds[1:]] = nan
    values = {"threshold": thresholds, "tp": points.tp, "fp": points.fp}
    return {
        name: json_numbers(one.tolist(), digits=digits_of(name)) for name, one in values.items()
    }


def _calibration_records(table: object, keys: pl.DataFrame, by: Sequence[str]) -> list[Any]:
    """Return a record for each event rate in a table of `calibration` of the curves in `keys`."""
    if not isinstance(table, pl.DataFrame) or table_of(table.columns).type is not CALIBRATION:
        problem, hint = "expected a table of calibration", "Pass the result of rf.calibration(…)."
        raise OptionValueError.compose("calibration", table, problem, hint)
    row, curve = match_rows("calibration", "event rates", table, keys, by)
    rows = table[row].sort(pl.Series(curve), "bin", maintain_order=True)
    points = point_records(rows, np.sort(curve))
    for order, one in enumerate(records := [*points, *level_ends(points)]):
        angle = one.get("score_min", one["score_mean"])
        one |= {"curve": one[GROUP_INDEX], "angle": angle, "bin": order}
    return records


def _bin_records(bins: pl.DataFrame) -> list[dict[str, Any]]:
    """Return a record for each bin: edges, counts, event rate, and its threshold as `angle`."""
    left, right = (
        pl.Series(format_values(bins[end]), dtype=pl.String) for end in ("left", "right")
    )
    text = pl.coalesce(
        pl.when("below", "above").then(pl.lit("all")),
        pl.when("below").then("below " + right),
        pl.when("above").then("from " + left),
        left + " to " + right,
    )
    n = bins["pos"] + bins["neg"]
    lower, upper = wilson(bins["pos"].to_numpy(), n.to_numpy(), BIN_LEVEL)
    rows = bins.select(
        *("curve", "bin", "left", "right"),
        pl.lit(BIN).alias(LAYER),
        angle="left",
        scores=text,
        bin_pos="pos",
        bin_neg="neg",
        n=n,
        score_mean=pl.col("left") / 2 + pl.col("right") / 2,
        event_rate=pl.col("pos") / n,
        lower=pl.Series(lower),
        upper=pl.Series(upper),
    )
    return rows.fill_nan(None).to_dicts()


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
