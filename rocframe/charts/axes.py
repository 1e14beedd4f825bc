"""The two axes of a chart: their rates, scales and ticks."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import ceil, floor, inf, isfinite, isnan, log
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.style import datum, escape_field, finite, short_name
from rocframe.curves.thinning import axis_positions, nice_step, scale_values
from rocframe.errors import OptionValueError
from rocframe.inference import STANDARD_NORMAL
from rocframe.kinds import CALIBRATION_KIND, KINDS, Kind, kind_of, scale_of
from rocframe.options import check_choice, to_floats
from rocframe.rates import CONFUSION, COUNT_METRICS, NAMES, TOTALS, CountRatio
from rocframe.schemas.table_type import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rocframe.charts.chart import ChartOptions
    from rocframe.curves.thinning import LinePoints
    from rocframe.kernel.arrays import BoolArray, FloatArray, IntArray
    from rocframe.kinds import Chance, Scale
    from rocframe.rates import Rate

TICKS = 5
MIN_ZOOM = 1 / 200  # minimum result of `visible_share`
EMPTY_HEIGHT = 2.0  # upper end of an axis of counts or lift without points

# Possible lower ends of axes that cannot show 0.
DEVIATE_STARTS = (0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)
LOG_STARTS = (0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)
# Rates below 0.5 with a tick on an axis of normal deviates. The axis also has ticks at 0.5 and at 1
# minus each of these rates.
DEVIATE_TICKS = (1e-5, 1e-4, 0.001, 0.01, 0.05, 0.2)
LOG_TICKS = (*reversed(LOG_STARTS), 0.1, 1.0)
# Ends and ticks of axes of logarithms and of logits; see `calibration_plane`.
SMALL_RATES = tuple(float(f"{digit}e-{power}") for power in range(9, 0, -1) for digit in (1, 2, 5))
LOG_ENDS = (*SMALL_RATES, 1.0)
LOGIT_ENDS = (*SMALL_RATES, *(round(1 - rate, 9) for rate in reversed(SMALL_RATES[:-1])))
# The rates with a tick on an axis of a scale.
TICK_RATES: dict[Scale, tuple[float, ...]] = {
    "log": LOG_TICKS,
    "normal_deviate": (*DEVIATE_TICKS, 0.5, *(1 - tick for tick in reversed(DEVIATE_TICKS))),
    "logit": LOGIT_ENDS,
}
POWERS = frozenset(
    {*SMALL_RATES[::3], 0.5, *(round(1 - rate, 9) for rate in SMALL_RATES[::3]), 1.0}
)
MAX_RATE_TICKS = 8  # if there are more ticks, only those in POWERS are shown
# Scales that draw a computed field: the suffix of its name, and its Vega expression.
COMPUTED: dict[str, tuple[str, str]] = {
    "normal_deviate": ("deviate", "quantileNormal({0})"),
    "logit": ("logit", "log({0} / (1 - {0}))"),
}
# The labels of their axes. Rates above 99.9 % have more digits, because three digits would round
# 99.99 % to 100 %.
LABEL_EXPRESSIONS: dict[str, str] = {
    "normal_deviate": "format(cumulativeNormal(datum.value), datum.value > 3.1 ? '.5~p' : '.3~p')",
    "logit": "format(1 / (1 + exp(-datum.value)), datum.value > 6.9 ? '.6~r' : '.3~r')",
}

# Metrics that depend on costs, on beta or on the threshold are excluded, because they cannot be
# computed from the counts of a point alone.
AXIS_METRICS = tuple(
    name
    for name, rate in (NAMES | COUNT_METRICS).items()
    if rate.name not in {"expected_cost", "f_beta", "net_benefit"}
)
# Titles that start with one of these words keep the upper-case letter inside a sentence.
PROPER_NAMES = ("F1", "Cohen", "Matthews", "Youden")

AXIS_TITLES = {
    THRESHOLD: "Threshold",
    "tp": "True positives",
    "fp": "False positives",
    "fn": "False negatives",
    "tn": "True negatives",
    "ppv": "Positive predictive value",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PlotAxis:
    """One axis: the rate it shows, its title, its range and its scale.

    `nice` extends the range to round numbers. `zoomed` is True if `x_domain` or `y_domain` sets the
    range. `clipped` is True if marks outside the range are cut off also without these options.
    `per_panel` is True if Vega-Lite chooses a separate range for each panel. `ticks` are the values
    with a tick; by default, Vega-Lite chooses them. `padding` is the length of the free
    space beyond both ends, in pixels.
    """

    name: str
    title: str
    low: float = 0.0
    high: float = 1.0
    scale: Scale = "linear"
    nice: bool = False
    zoomed: bool = False
    clipped: bool = False
    per_panel: bool = False
    ticks: tuple[float, ...] = ()
    padding: float = 0.0

    @property
    def field(self) -> str:
        """The drawn field: the rate, or the field computed from it."""
        return computed_field(self.name, self.scale)

    @property
    def excludes_zero(self) -> bool:
        """Whether a rate of 0 has no position on the axis."""
        return self.scale != "linear"

    @property
    def limited(self) -> bool:
        """Whether points may lie outside the range of the axis."""
        return self.excludes_zero or self.zoomed

    def zoom(self, argument: str, domain: object) -> PlotAxis:
        """Return the axis with the range `domain`; error messages name the option `argument`."""
        example = f"Use, for example, {argument}=(0.1, 0.2)."
        values = None if isinstance(domain, pl.LazyFrame) else to_floats(domain)
        if values is None or len(values) != 2 or not values[0] < values[1]:
            problem = "expected two increasing numbers"
            raise OptionValueError.compose(argument, domain, problem, example)
        low, high = values
        lowest, highest = (-inf, inf) if self.nice else (0.0, 1.0)
        outside = not (lowest <= low and high <= highest and isfinite(high - low))
        outside |= self.excludes_zero and low <= 0
        outside |= self.scale in COMPUTED and high >= 1
        if outside:
            ends = "finite numbers" if self.nice else "numbers from 0 to 1"
            if self.excludes_zero:
                highest_end = "below" if self.scale in COMPUTED else "not above"
                ends = f"numbers above 0 and {highest_end} 1"
            problem = f"expected {ends} on this axis ({inside_sentence(self.title)})"
            raise OptionValueError.compose(argument, domain, problem, example)
        return replace(self, low=low, high=high, nice=False, zoomed=True)

    def position(self, values: FloatArray) -> FloatArray:
        """Return the positions of values along the axis, as shares of its length."""
        low, high = scale_values(np.array([self.low, self.high]), self.scale)
        return axis_positions(values, low, high, self.scale)

    def coordinate(self, rate: float) -> float:
        """Return a rate in the units of the axis: its normal deviate or logit, or the rate."""
        if self.scale == "logit":
            return round(log(rate / (1 - rate)), 6)
        is_deviate = self.scale == "normal_deviate"
        return round(STANDARD_NORMAL.inv_cdf(rate), 6) if is_deviate else rate

    def channel(self) -> dict[str, Any]:
        """Return the arguments of an Altair position channel: title, scale and ticks."""
        domain = [self.coordinate(self.low), self.coordinate(self.high)]
        limits: dict[str, Any] = {"zero": False} if self.per_panel else {"domain": domain}
        scale = alt.Scale(**limits, nice=self.nice)
        if self.scale == "log":
            scale["type"] = "log"
        if self.padding:
            scale["padding"] = self.padding
        return {"type": "quantitative", "title": self.title, "scale": scale, "axis": self._axis()}

    def _axis(self) -> alt.Axis:
        """Return the ticks and their labels."""
        rates: Sequence[float] = self.ticks
        if not rates or self.zoomed:
            all_rates = TICK_RATES.get(self.scale, ())
            rates = [rate for rate in all_rates if self.low <= rate <= self.high]
        if self.scale == "linear":
            ends = [self.low, self.high]
            default = linear_axis(count_ticks(ends) if self.name in CONFUSION else TICKS)
            return alt.Axis(values=[*rates], labelFlush=False) if rates else default
        if self.scale == "log":
            ticks: Any = {"values": [*rates]} if len(rates) > 1 else {"tickCount": TICKS}
            return alt.Axis(format="~g", **ticks, labelFlush=False)
        rates = rate_ticks(rates) if self.scale == "logit" else rates
        rates = rates if len(rates) > 1 else [self.low, self.high]
        values = [self.coordinate(rate) for rate in rates]
        return alt.Axis(values=values, labelExpr=LABEL_EXPRESSIONS[self.scale], labelFlush=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """The axes of a kind of curve; `titles` replace those of its rates and counts."""

    kind: Kind
    x: PlotAxis
    y: PlotAxis
    diagonal: bool = True
    titles: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the chart, such as `ROC chart`, for use in a sentence."""
        if self.kind.free:
            return "Chart"
        title = self.kind.title
        return title if title.endswith("chart") else f"{title} chart"

    @property
    def axis_names(self) -> str:
        """The titles of both axes, for use in a sentence."""
        return f"{inside_sentence(self.y.title)} against {inside_sentence(self.x.title)}"

    def title(self, name: str, default: str) -> str:
        """Return the title of a rate or a count: its entry in `titles`, or else `default`."""
        rate = (COUNT_METRICS | NAMES).get(name)
        return self.titles.get(name if rate is None else rate.name, default)

    @property
    def chance(self) -> Chance | None:
        """The lines of chance; None if the chart has none."""
        return self.kind.chance if self.diagonal else None

    @property
    def excludes_zero(self) -> bool:
        """Whether a rate of 0 has no position on one of the axes."""
        return self.x.excludes_zero or self.y.excludes_zero

    @property
    def limited(self) -> bool:
        """Whether points may lie outside the range of an axis."""
        return self.x.limited or self.y.limited

    @property
    def zoomed(self) -> bool:
        """Whether `x_domain` or `y_domain` sets the range of an axis."""
        return self.x.zoomed or self.y.zoomed

    @property
    def clipped(self) -> bool:
        """Whether marks outside the axes are cut off."""
        return self.zoomed or self.x.clipped or self.y.clipped

    @property
    def zoom_text(self) -> str:
        """A sentence with the ranges of `x_domain` and `y_domain`; empty without these options."""
        ranges = [
            f"{inside_sentence(axis.title)} from {axis.low:.4g} to {axis.high:.4g}"
            for axis in (self.x, self.y)
            if axis.zoomed
        ]
        return f"Shown: {' and '.join(ranges)}" if ranges else ""

    def visible_share(self, plane: Plane) -> float:
        """Return the share of `plane`, the same axes without zoom, that is visible."""
        shares = (
            np.diff(full.position(np.array([part.low, part.high])))[0]
            for part, full in ((self.x, plane.x), (self.y, plane.y))
        )
        return float(np.clip(min(shares), MIN_ZOOM, 1))

    @property
    def bends(self) -> bool:
        """Whether curves are not straight between two neighboring points."""
        return self.kind.segments != "straight" or self.excludes_zero

    def contains(self, x: FloatArray, y: FloatArray) -> BoolArray:
        """Return a mask of the points that are finite and inside the ranges of both axes."""
        inside: BoolArray = np.isfinite(x) & np.isfinite(y)
        for axis, rates in ((self.x, x), (self.y, y)):
            if axis.limited:
                inside &= (axis.low <= rates) & (rates <= axis.high)
        return inside

    def position(self, points: LinePoints) -> tuple[FloatArray, FloatArray]:
        """Return the positions of points, as shares of the axes."""
        x, y = axis_rates(self.kind, points)
        return self.x.position(x), self.y.position(y)

    def channels(self) -> dict[str, Any]:
        """Return the two position channels, x and y."""
        return {
            name: channel(field=escape_field(axis.field), **axis.channel())
            for name, channel, axis in (("x", alt.X, self.x), ("y", alt.Y, self.y))
        }

    def field(self, name: str) -> str:
        """Return the drawn field of a rate: the rate, or the field computed from it."""
        return computed_field(name, self.x.scale)

    def deviates(self, *more: str) -> dict[str, str]:
        """Return Vega expressions of the computed fields of the axes and of the rates `more`."""
        if self.x.scale not in COMPUTED:
            return {}
        formula = COMPUTED[self.x.scale][1]
        names = (self.x.name, self.y.name, *more)
        return {self.field(name): formula.format(datum(name)) for name in names}


# The axes of calibration curves from 0 to 1.
CALIBRATION_PLANE = Plane(
    kind=CALIBRATION_KIND,
    x=PlotAxis(name=CALIBRATION_KIND.x, title="Score"),
    y=PlotAxis(name=CALIBRATION_KIND.y, title="Event rate"),
)


def calibration_plane(values: Iterable[Any], scale: Scale | None) -> Plane:
    """Return the axes of calibration curves: equal ranges with round ends around all `values`."""
    plane = CALIBRATION_PLANE
    name = scale_of(plane.kind, scale)
    known = [value for value in finite(values) if not isnan(value)]
    if name == "linear":
        ticks = _round_ticks(known)
    else:
        ends = LOG_ENDS if name == "log" else LOGIT_ENDS
        inside = [min(value, ends[-1]) for value in known if 0 < value < 1 or value == ends[-1]]
        start = max(bisect_right(ends, min(inside, default=0.01)) - 1, 0)
        stop = max(bisect_left(ends, max(inside, default=1.0)), start + 1)
        start, stop = min(start, len(ends) - 2), min(stop, len(ends) - 1)
        ticks = ends[start : stop + 1]
    shown = tuple(ticks if name == "linear" else rate_ticks(ticks))
    limits: Any = {"low": ticks[0], "high": ticks[-1], "scale": name, "ticks": shown}
    return replace(plane, x=replace(plane.x, **limits), y=replace(plane.y, **limits))


def _round_ticks(values: Sequence[float]) -> Sequence[float]:
    """Return the ticks of a linear axis of rates: round numbers, the first and last at its ends."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    low, high = (0.0, high or 1.0) if low == high else (low, high)
    step = nice_step((high - low) / TICKS)
    first = floor(Decimal(repr(low)) / step)
    last = max(ceil(Decimal(repr(high)) / step), first + 1)
    return [float(i * step) for i in range(first, last + 1)]


def rate_ticks(rates: Sequence[float]) -> Sequence[float]:
    """Return at most about MAX_RATE_TICKS of the rates, such as powers of ten."""
    powers = [rate for rate in rates if rate in POWERS]
    return powers if len(rates) > MAX_RATE_TICKS and len(powers) > 1 else rates


def computed_field(name: str, scale: Scale) -> str:
    """Return the field that axes of a scale draw for a rate, such as its normal deviate."""
    return f"{name}_{COMPUTED[scale][0]}" if scale in COMPUTED else name


def linear_axis(ticks: int = TICKS, **options: Any) -> alt.Axis:
    """Return a linear axis; `ticks` is the approximate number of ticks."""
    return alt.Axis(tickCount=ticks, labelFlush=False, **options)


def count_ticks(domain: Sequence[float]) -> int:
    """Return the number of ticks of an axis of counts: whole numbers, unless weights are small."""
    length = int(domain[1] - domain[0])
    return min(length, TICKS) if length else TICKS


def roc_plane(options: ChartOptions) -> Plane:
    """Return the axes of ROC curves, limited to the domains in the options."""
    kind = KINDS["roc"]
    x, y = (PlotAxis(name=name, title=axis_title(name)) for name in (kind.x, kind.y))
    return zoom_plane(Plane(kind=kind, x=x, y=y), options)


def zoom_plane(plane: Plane, options: ChartOptions) -> Plane:
    """Apply the options `x_domain`, `y_domain`, `diagonal`, `benefit` and `cost` to a plane."""
    titles = value_titles(options.benefit, options.cost)
    plane = replace(plane, diagonal=options.diagonal, titles=titles)
    for side, domain in (("x", options.x_domain), ("y", options.y_domain)):
        axis = getattr(plane, side)
        axis = replace(axis, title=plane.title(axis.name, axis.title))
        axis = axis if domain is None else axis.zoom(f"{side}_domain", domain)
        plane = replace(plane, **{side: axis})
    return plane


def chart_kind(columns: Sequence[str], options: ChartOptions, default: str | None = None) -> Kind:
    """Return the kind that the options `kind`, `x` and `y` or the columns determine."""
    axes = {"x": options.x, "y": options.y}
    given = {name: value for name, value in axes.items() if value is not None}
    if not given:
        return kind_of(columns, default if options.kind is None else options.kind)
    if options.kind is not None:
        hint = "Pass either kind=, or x= and y=."
        problem = f"not allowed together with {' and '.join(f'{name}=' for name in given)}"
        raise OptionValueError.compose("kind", options.kind, problem, hint)
    for name, value in axes.items():
        if value is None:
            problem = f"{next(iter(given))}= requires {name}="
            hint = 'Use, for example, x="alert_rate", y="precision".'
            raise OptionValueError.compose(name, value, problem, hint)
        if name == "y" and not isinstance(value, str):
            hint = 'Several metrics can be drawn together with x="threshold".'
            raise OptionValueError.compose(name, value, "expected the name of one metric", hint)
        check_choice(name, value, AXIS_METRICS)
    x, y = str(options.x), str(options.y)
    for kind in KINDS.values():
        # Precision and ppv are the same metric. A kind with an alias on the y axis is used only if
        # the user names this alias.
        is_same = kind.y in {y, _metric(y).name}
        if is_same and _metric(kind.x) is _metric(x) and _metric(kind.y) is _metric(y):
            return kind
    straight = all(
        isinstance(rate.formula, CountRatio) and rate.formula.denominator in {(), *TOTALS}
        for rate in (_metric(x), _metric(y))
    )
    titles = value_titles(options.benefit, options.cost)
    x_title, y_title = (titles.get(_metric(name).name, axis_title(name)) for name in (x, y))
    title = f"{y_title} against {inside_sentence(x_title)}"
    segments: Any = "straight" if straight else "hyperbolic"
    return Kind(name="", title=title, x=x, y=y, segments=segments, chance=None, free=True)


def inside_sentence(title: str) -> str:
    """Return a title as it is spelled inside a sentence: only the first letter can change."""
    is_name = title.startswith(PROPER_NAMES) or title[1:2].isupper()  # such as AUC
    return title if is_name else title[0].lower() + title[1:]


def _metric(name: str) -> Rate:
    """Return the record of a metric or a count."""
    return COUNT_METRICS.get(name) or NAMES[name]


def given_titles(plane: Plane, options: ChartOptions) -> Plane:
    """Return the plane with the axes renamed to the options `x` and `y`, which may be aliases."""
    for side, name in (("x", options.x), ("y", options.y)):
        if isinstance(name, str):
            axis = replace(getattr(plane, side), name=name, title=axis_title(name))
            plane = replace(plane, **{side: axis})
    return plane


def curve_plane(kind: Kind, points: LinePoints, scale: Scale | None = None) -> Plane:
    """Return the axes for the points of curves of a kind."""
    x, y = axis_rates(kind, points)
    return choose_plane(kind, x, y, scale=scale, top=y)


def choose_plane(
    kind: Kind, x: FloatArray, y: FloatArray, *, scale: Scale | None, top: FloatArray
) -> Plane:
    """Return the axes for points with the values `x` and `y`.

    An axis of counts or lift ends at the maximum of `top`, which contains `y` or its upper limits.
    An axis of skill starts at the minimum of `y`, which then contains the lower limits as well.
    """
    scale_name = scale_of(kind, scale)
    scaled_sides = kind.scaled.get(scale_name, "")
    # The lower end of an axis that cannot show 0 is near the smallest error rate of the points. On
    # an axis of normal deviates, the error rate of tpr is 1 - tpr.
    errors = [x, 1 - y if scale_name == "normal_deviate" and kind.y == "tpr" else y]
    ends = np.concatenate(
        [values for side, values in zip("xy", errors, strict=True) if side in scaled_sides] or [x]
    )
    starts = LOG_STARTS if scale_name == "log" else DEVIATE_STARTS
    least = ends.round(12).min(where=ends.round(12) > 0, initial=1.0)
    low = next((start for start in starts if start < least), starts[-1])
    high = 1.0 if scale_name == "log" else 1 - low
    axes = {"x": free_axis(kind.x, x), "y": free_axis(kind.y, np.append(y, top))}
    for side in scaled_sides:
        axes[side] = replace(axes[side], low=low, high=high, scale=scale_name)
    return Plane(kind=kind, x=axes["x"], y=axes["y"])


def free_axis(name: str, values: FloatArray) -> PlotAxis:
    """Return the axis of a metric or of thresholds with these values.

    The axis is from 0 to 1 for a rate, and the range of 0 and `values` for other metrics. For
    thresholds and for metrics of the user, it is the range of `values`.
    """
    axis = PlotAxis(name=name, title=axis_title(name))
    rate = COUNT_METRICS.get(name) or NAMES.get(name)
    values = values[np.isfinite(values)]
    if rate is None:
        low, high = (float(end(values)) if len(values) else 0.0 for end in (np.min, np.max))
        return replace(axis, low=low, high=high if high > low else low + EMPTY_HEIGHT, nice=True)
    lowest, highest = rate.bounds
    if (lowest, highest) == (0, 1):
        return axis
    low = float(np.min(values, initial=0))
    high = float(np.max(values, initial=0)) or EMPTY_HEIGHT
    return replace(axis, low=low, high=1.0 if highest == 1 else high, nice=True)


def common_axis(name: str, axes: Sequence[PlotAxis]) -> PlotAxis:
    """Return the axis of several metrics; `name` is its name and title. One axis is unchanged."""
    if len(axes) == 1:
        return axes[0]
    return PlotAxis(
        name=name,
        title=name.capitalize(),
        low=min(axis.low for axis in axes),
        high=max(axis.high for axis in axes),
        nice=any(axis.nice for axis in axes),
    )


def axis_title(name: str) -> str:
    """Return the title of an axis: the label of a metric, its alias, or another name."""
    if name in AXIS_TITLES:
        return AXIS_TITLES[name]
    if name not in NAMES:
        return short_name(name)
    rate = NAMES[name]
    return rate.label if name == rate.name else name.replace("_", " ").capitalize()


def prevalence_text(prevalence: float | None, metrics: Sequence[str]) -> str:
    """Return a text such as "prevalence 0.1"; empty if no metric is computed at the prevalence."""
    is_used = any(_metric(name).depends_on_prevalence for name in metrics)
    return "" if prevalence is None or not is_used else f"prevalence {prevalence:.4g}"


def axis_rates(kind: Kind, points: LinePoints) -> tuple[FloatArray, FloatArray]:
    """Return the x and the y value of each point; NaN if undefined.

    Precision and lift are undefined if tp + fp = 0. A point with tp + fp = 0 gets the value of the
    next point of its curve: the expected value for a random subset of the rows with the highest
    score. Metrics of negative predictions, such as npv, are undefined if fn + tn = 0. A point with
    fn + tn = 0 gets the value of the previous point.
    """
    x, y = (
        _fill_ends(axis_values(points, kind, name), points.curve)
        if name == "lift" or isinstance(_metric(name).formula, CountRatio)
        else axis_values(points, kind, name)
        for name in (kind.x, kind.y)
    )
    return x, y


def _fill_ends(values: FloatArray, curve: IntArray) -> FloatArray:
    """Replace NaN by the next value of the same curve; if there is none, by the previous value."""
    is_unknown = np.isnan(values)
    known, unknown = np.flatnonzero(~is_unknown), np.flatnonzero(is_unknown)
    values = values.copy()
    for step in (-1, 0) if len(known) else ():  # the next value replaces the previous one
        near = known[(np.searchsorted(known, unknown) + step).clip(0, len(known) - 1)]
        same = curve[near] == curve[unknown]
        values[unknown[same]] = values[near[same]]
    return values


def axis_values(points: LinePoints, kind: Kind, name: str) -> FloatArray:
    """Return a rate or a count at each point."""
    counts = dict(zip(CONFUSION, points.counts, strict=True))
    if name in counts:
        return counts[name]
    return kind.axis(name).at_prevalence(points.prevalence).evaluate(counts)


BENEFIT, COST = "benefit", "cost"
# For each rate and count of a curve of benefits and costs: the title, and the argument of `curve`
# whose values are summed.
VALUE_TITLES = {
    "tpr": ("Share of benefit", BENEFIT),
    "fnr": ("Share of missed benefit", BENEFIT),
    "fpr": ("Share of cost", COST),
    "tnr": ("Share of avoided cost", COST),
    "tp": ("Benefit", BENEFIT),
    "fn": ("Missed benefit", BENEFIT),
    "fp": ("Cost", COST),
    "tn": ("Avoided cost", COST),
}


def value_titles(benefit: object, cost: object) -> dict[str, str]:
    """Return titles with the unit of benefit or cost, by rate or count; empty without units."""
    units = {BENEFIT: benefit, COST: cost}
    for argument, unit in units.items():
        if unit is not None and not (isinstance(unit, str) and unit.strip()):
            problem = "expected the unit of the values as text"
            hint = f'Use, for example, {argument}="dollars".'
            raise OptionValueError.compose(argument, unit, problem, hint)
    return {
        name: f"{title} ({units[argument]})"
        for name, (title, argument) in VALUE_TITLES.items()
        if units[argument] is not None
    }
