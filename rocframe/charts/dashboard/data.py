"""Compute the data of a dashboard: rows and lines of each curve, and bins of its scores."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from math import ceil, inf, isfinite, nextafter, ulp
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rocframe.charts.calibration_chart import BIN, level_ends, point_records
from rocframe.charts.chart import ChartOptions
from rocframe.charts.curve_chart import curves_of
from rocframe.charts.curve_data import LAYER
from rocframe.charts.groups import GROUP_INDEX, area_captions, areas_of, read_groups
from rocframe.charts.labels import json_numbers, shorten
from rocframe.charts.match_rows import match_rows
from rocframe.curves.convex_hull import hull_vertices
from rocframe.curves.table import check_ends, curve_layout
from rocframe.curves.thinning import (
    evenly_spaced_points,
    limit_corners,
    nice_step,
    rows_at_levels,
    score_bins,
    segment_distance,
)
from rocframe.decisions.costs import lowest_cost
from rocframe.errors import OptionValueError
from rocframe.inference import wilson
from rocframe.kinds import KINDS
from rocframe.schemas.curves import CALIBRATION
from rocframe.schemas.recognition import table_of
from rocframe.text import format_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.charts.groups import Groups
    from rocframe.curves.table import Curves
    from rocframe.inputs.roles import By
    from rocframe.options import NotGiven
    from rocframe.rates import Settings

MAX_CURVES = 12  # the palette has 12 colors
MAX_FLOAT = 1.7976931348623157e308  # replaces infinity, which JSON cannot represent
SLIDER_STEPS = 1000
MAX_LABEL_LENGTH = 32  # in characters
MAX_DASHBOARD_ROWS = 101_000  # rows of all curves together; they need less than 1 MB
MAX_EXACT_ROWS = 25_000  # the thresholds of longer tables are rounded
SMALL_COUNT = 200  # of the rows of longer tables, all rows with smaller counts are kept
LINE_POINTS = 2880  # approximate maximum number of points of all lines together
MAX_CORNERS = 80  # of each ROC line, and of each precision-recall line
# Maximum error of a line, as a share of an axis. It is larger for a line that would need more than
# MAX_CORNERS corners.
DASHBOARD_TOLERANCE = 1 / 1000
MAX_INTERPOLATED = 60  # interpolated points per curve
# Values of TPR and FPR. If several rows are between two neighboring values, lines omit some.
LEVELS = np.concatenate([np.geomspace(1e-5, 0.01, 500), np.linspace(0.01, 1, 1500)[1:]])
# The fields of event rates in the data of the dashboard.
CALIBRATION_FIELDS = {
    GROUP_INDEX: "curve",
    LAYER: "part",
    "score_mean": "x",
    "event_rate": "y",
    "lower": "y_low",
    "upper": "y_high",
}
TINY = 1e-300  # replaces 0 as a denominator
MIN_BEND = 1 / 200  # share of an axis; no points are interpolated between closer rows
MIN_DIGITS, MAX_THRESHOLD_DIGITS = (
    5,
    12,
)  # of thresholds; those that need more digits are not rounded
BIN_LEVEL = 0.95  # confidence level of the event rates of bins


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
    """Data of a dashboard: records of curves, of bins of scores and of event rates, and groups.

    A record of `rows` contains the rows of a curve as text, and a record of `lines` the points of
    its line. The curve with the lowest expected cost is first; `rank` is the position of a curve.
    `segments` maps each group column without colors to its initial value. `undefined` are the names
    of curves without positives or negatives, which have no record. `n_omitted` is the number of
    rows of the other curves that are not in `rows`. `unit_scores` is true if all scores are between
    0 and 1, `different_scales` if the scores of the curves have different scales, and
    `integer_counts` if all counts are integers. `calibrated` is true if `events` are from a table
    of calibration. `prevalence` is the prevalence of the rates in the table, None if each curve has
    its own prevalence. `threshold` is the initial threshold, and `alert_rate` the alert rate of the
    first shown curve at this threshold.
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
    unit_scores: bool
    different_scales: bool
    integer_counts: bool
    calibrated: bool
    prevalence: float | None
    threshold: float
    alert_rate: float


def dashboard_data(
    table: pl.DataFrame,
    *,
    by: By,
    color: str | NotGiven | None,
    settings: Settings,
    threshold: float | None = None,
    calibration: pl.DataFrame | None = None,
) -> DashboardData:
    """Return the data of a dashboard from a curve table and an optional table of `calibration`.

    `settings` are the initial costs and the initial prevalence. The default of `threshold` is the
    threshold of lowest expected cost.
    """
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
    captions = area_captions(groups.captioned_column, areas, roc)
    # The fields have other names than the group columns, because Vega expressions read them.
    fields = {name: f"group_{i}" for i, name in enumerate(groups.columns)}
    groups = replace(
        groups,
        columns={fields[name]: replace(one, ordered=False) for name, one in groups.columns.items()},
        color=None if groups.color is None else fields[groups.color],
        captions=captions,
    )
    best = lowest_cost(curves, settings)
    defined = np.flatnonzero((curves.pos > 0) & (curves.neg > 0))
    order = defined[np.lexsort((defined, best.cost[defined]))]  # equal costs: in table order
    heads = _curve_heads(curves, order, groups)
    shown, segments = heads, {}
    for name, column in groups.columns.items():
        found = {head[name] for head in shown}
        if name != groups.color and len({head[name] for head in heads}) > 1:
            segments[name] = next(value for value in column.values if value in found)
            shown = [head for head in shown if head[name] == segments[name]]
    bins = score_bins(curves).filter(pl.col("curve").is_in(defined.tolist()))
    slider = _threshold_slider(curves, bins)
    given = [] if threshold is None else [threshold]
    selectable = np.concatenate([slider.values(), bins["left"], bins["right"], given])
    shown_thresholds = curves.shown_thresholds(np.arange(curves.starts[-1]))
    thresholds = _short_thresholds(shown_thresholds, selectable)
    row = int(best.row[shown[0]["curve"]]) if shown else 0
    if threshold is None:
        threshold = min(float(thresholds[row]), slider.top) if shown else slider.low
    lines = {
        curve: _line_rows(curves, curve, LINE_POINTS // len(order)) for curve in order.tolist()
    }
    selectable = np.concatenate([selectable, *(thresholds[line] for line in lines.values())])
    kept = {curve: _table_rows(curves, curve, order, thresholds, selectable) for curve in lines}
    in_rows = thresholds if len(thresholds) > MAX_EXACT_ROWS else shown_thresholds
    ends = bins.group_by("curve").agg(low=pl.col("left").min(), high=pl.col("right").max())
    ranges = {end.pop("curve"): end for end in ends.to_dicts()}
    prevalence = curves.prevalence if settings.prevalence is None else settings.prevalence
    return DashboardData(
        rows=[
            head | ranges[curve] | _row_record(curves, kept[curve], in_rows)
            for curve, head in zip(order.tolist(), heads, strict=True)
        ],
        lines=[
            head | _line_record(curves, curve, lines[curve], thresholds)
            for curve, head in zip(order.tolist(), heads, strict=True)
        ],
        bins=_bin_records(bins, heads),
        events=_bin_events(bins, heads)
        if calibration is None
        else _calibration_records(calibration, curves.keys, names, heads),
        groups=groups,
        segments=segments,
        slider=slider,
        undefined=[
            label for curve, label in enumerate(groups.names(n_curves)) if curve not in defined
        ],
        n_omitted=int(np.diff(curves.starts)[defined].sum()) - sum(map(len, kept.values())),
        unit_scores=all(head["unit"] for head in heads),
        different_scales=_different_scales(heads, ranges),
        integer_counts=all(curves.columns[name].dtype.kind == "i" for name in ("tp", "fp")),
        calibrated=calibration is not None,
        prevalence=curves.prevalence,
        threshold=threshold,
        alert_rate=_rounded_alert_rate(curves, shown[0]["curve"], row, prevalence)
        if shown
        else 0.0,
    )


def _curve_heads(curves: Curves, order: NDArray[np.int64], groups: Groups) -> list[dict[str, Any]]:
    """Return the name, the group values and the totals of each curve."""
    labels, heads = groups.names(len(curves.firsts)), []
    for rank, curve in enumerate(order.tolist()):
        scores = curves.columns["threshold"][curves.starts[curve] + 1 : curves.starts[curve + 1]]
        heads.append(
            {
                GROUP_INDEX: curve,
                "curve": curve,
                "rank": rank,
                "label": labels[curve],
                "name": shorten(labels[curve], MAX_LABEL_LENGTH),
                "unit": bool(((scores >= 0) & (scores <= 1)).all()),
                "pos": curves.pos[curve].item(),
                "neg": curves.neg[curve].item(),
            }
        )
    groups.name(heads)
    return heads


def _different_scales(heads: Sequence[dict[str, Any]], ranges: dict[int, dict[str, float]]) -> bool:
    """Return whether one slider of scores is not suitable for all curves.

    This is the case if only some curves have scores between 0 and 1, or if the range of the scores
    of one curve is more than twice as long as that of another curve.
    """
    if all(head["unit"] for head in heads):
        return False
    lengths = [
        ranges[head["curve"]]["high"] / 2 - ranges[head["curve"]]["low"] / 2 for head in heads
    ]
    return any(head["unit"] for head in heads) or max(lengths) > 2 * min(lengths)


def _rounded_alert_rate(curves: Curves, curve: int, row: int, prevalence: float | None) -> float:
    """Return the alert rate of a row, rounded up to 6 decimals."""
    pos, neg = float(curves.pos[curve]), float(curves.neg[curve])
    share = pos / (pos + neg) if prevalence is None else prevalence
    tp, fp = (float(curves.columns[name][row]) for name in ("tp", "fp"))
    return ceil(1e6 * (share * tp / pos + (1 - share) * fp / neg)) / 1e6


def _short_thresholds(
    shown: NDArray[np.float64], selectable: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the thresholds `shown` of all rows, rounded down to few digits.

    At each of the `selectable` thresholds, and at each returned threshold, `score >= threshold` has
    the same result for rounded and for exact scores: between a score and its rounded value, there
    is no selectable threshold and no score of another row.
    """
    values, positions = np.unique(shown, return_inverse=True)
    below = np.append(-inf, values[:-1])
    selectable = np.append(-inf, np.sort(selectable))
    floor = selectable[np.searchsorted(selectable, values, side="right") - 1]
    result = values.copy()
    pending = np.isfinite(values) & (values != 0)
    with np.errstate(all="ignore"):  # very large and very small scores stay as they are
        magnitude = np.floor(np.log10(np.abs(values, where=pending, out=np.ones(len(values)))))
        for digits in range(MIN_DIGITS, MAX_THRESHOLD_DIGITS + 1):
            scale = 10.0 ** (digits - 1 - magnitude)
            rounded = np.floor(np.nextafter(values * scale, inf)) / scale
            found = pending & (rounded > below) & (rounded >= floor) & (rounded <= values)
            result[found] = rounded[found]
            pending &= ~found
    return result[positions]


def _table_rows(
    curves: Curves,
    curve: int,
    order: NDArray[np.int64],
    thresholds: NDArray[np.float64],
    selectable: NDArray[np.float64],
) -> NDArray[np.int64]:
    """Return the indices of the rows of a curve in the dashboard: all, if there are not too many.

    Otherwise, these are the rows at each of the `selectable` thresholds, the rows with small
    counts, and rows whose counts have equal relative differences. `order` are all curves of the
    dashboard, and `thresholds` the thresholds of all rows.
    """
    start, end = int(curves.starts[curve]), int(curves.starts[curve + 1])
    if np.diff(curves.starts)[order].sum() <= MAX_DASHBOARD_ROWS:
        return np.arange(start, end)
    found = end - start - np.searchsorted(thresholds[start:end][::-1], np.unique(selectable))
    n_levels = max(MAX_DASHBOARD_ROWS // len(order) - len(found), 0) // 4
    counts = [curves.columns[name][start:end] for name in ("tp", "fp")]
    levels = [_count_levels(float(count[-1]), n_levels) for count in counts]
    rows = rows_at_levels(end - start, lambda: list(zip(counts, levels, strict=True)))
    return start + np.union1d(rows, np.maximum(found - 1, 0))


def _count_levels(total: float, n: int) -> NDArray[np.float64]:
    """Return all small counts, and about `n` larger counts with equal ratios."""
    large = np.geomspace(SMALL_COUNT, max(total, SMALL_COUNT), n)
    return np.concatenate([np.arange(SMALL_COUNT), large])


def _row_record(
    curves: Curves, rows: NDArray[np.int64], thresholds: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the rows of a curve as text: thresholds `t`, and increases of `tp` and `fp`.

    The text of a row with one more true positive is "1", and that of a row with one more false
    positive is empty, because most rows are such rows. The text of other rows is, for example,
    "3/2".
    """
    numbers = np.clip(thresholds[rows[1:]], -MAX_FLOAT, None).tolist()
    texts = (repr(value).removesuffix(".0").removeprefix("0") or "0" for value in numbers)
    tp, fp = (np.diff(curves.columns[name][rows], prepend=0).tolist() for name in ("tp", "fp"))
    steps = (
        "" if (up, across) == (0, 1) else f"{up}/{across}" if across else f"{up}"
        for up, across in zip(tp, fp, strict=True)
    )
    return {
        "t": ",".join(["Infinity", *(text.replace("inf", "Infinity") for text in texts)]),
        "increases": ",".join(steps),
    }


def _line_record(
    curves: Curves, curve: int, selected: NDArray[np.int64], shown: NDArray[np.float64]
) -> dict[str, Any]:
    """Return the points of the line of a curve; `selected` are its rows."""
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
    thresholds = shown[rows].tolist()
    return {
        "threshold": [
            max(value, -MAX_FLOAT) if isfinite(value) or value < 0 else None for value in thresholds
        ],
        **{name: json_numbers(values.tolist()) for name, values in counts.items()},
    }


def _calibration_records(
    table: object, keys: pl.DataFrame, by: Sequence[str], curves: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return a record for each event rate in a table of `calibration`, with its curve and totals.

    `keys` has the group columns `by` of each curve. Event rates of other groups are left out.
    """
    layout = table_of(table.columns) if isinstance(table, pl.DataFrame) else None
    if not isinstance(table, pl.DataFrame) or layout is None or layout.type is not CALIBRATION:
        problem, hint = "expected a table of calibration", "Pass the result of rf.calibration(…)."
        raise OptionValueError.compose("calibration", table, problem, hint)
    row, curve = match_rows("calibration", "event rates", table, keys, by)
    rows = table[row].sort(pl.Series(curve), "bin", maintain_order=True)
    points = point_records(rows, np.sort(curve))
    totals = {head["curve"]: head for head in curves}
    return [
        totals[point[GROUP_INDEX]]
        | {"angle": point.get("score_min", point["score_mean"]), "order": order}
        | {CALIBRATION_FIELDS.get(name, name): value for name, value in point.items()}
        for order, point in enumerate([*points, *level_ends(points)])
        if point[GROUP_INDEX] in totals
    ]


def _bin_records(bins: pl.DataFrame, curves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a record for each bin: its counts, its edges as text, and its curve with totals."""
    lefts, rights = (format_values(bins.get_column(name)) for name in ("left", "right"))
    by_curve = {head["curve"]: head for head in curves}
    records = []
    for row, left, right in zip(bins.to_dicts(), lefts, rights, strict=True):
        below, above = row.pop("below"), row.pop("above")
        text = f"below {right}" if below else f"from {left}" if above else f"{left} to {right}"
        text = "all" if below and above else text
        counts = {"bin_pos": row.pop("pos"), "bin_neg": row.pop("neg")}
        texts = {"angle": row["left"], "scores": text}
        records.append(by_curve[row["curve"]] | row | counts | texts)
    return records


def _bin_events(bins: pl.DataFrame, curves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a record for the event rate of each bin with rows, with Wilson's limits."""
    by_curve = {head["curve"]: head for head in curves}
    rows = bins.with_columns(n=pl.col("pos") + pl.col("neg")).filter(pl.col("n") > 0)
    lower, upper = wilson(rows["pos"].to_numpy(), rows["n"].to_numpy(), BIN_LEVEL)
    points = rows.select(
        "curve",
        "n",
        pl.col("left").alias("angle"),
        x=pl.col("left") / 2 + pl.col("right") / 2,
        y=pl.col("pos") / pl.col("n"),
        y_low=pl.Series(lower),
        y_high=pl.Series(upper),
        part=pl.lit(BIN),
        order="bin",
    )
    return [by_curve[point["curve"]] | point for point in points.to_dicts()]


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


def _line_rows(curves: Curves, curve: int, most: int) -> NDArray[np.int64]:
    """Return the indices of about `most` rows of a curve; all rows if the curve has no more.

    The rows are the vertices of the convex hull, the corners of the ROC and precision-recall lines,
    and evenly spaced ROC points. A row of lowest expected cost is always a vertex.
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
    hull = hull_vertices(tp, fp, np.array([0, end - start]))
    result: NDArray[np.int64] = start + np.union1d(rows[selected], np.flatnonzero(hull))
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
