"""The plane of a chart: axes, scales and ticks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.style import GRID
from rocframe.kinds import SCALED_AXES, scale_of
from rocframe.rates import CONFUSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.charts.curve_data import Path
    from rocframe.kinds import Kind, Scale


NORMAL = NormalDist()

FARTHEST = 6.0  # deviates beyond are not told apart

EMPTY = 2.0  # the height of axes that end at the highest point, if there is none

LIMITS = (0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)

POWERS = (0.01, 0.001, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)

COUNT_TITLES = {
    "tp": "True positives",
    "fp": "False positives",
    "fn": "False negatives",
    "tn": "True negatives",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One axis: what it shows, from where to where, and how the values are spread on it."""

    name: str
    title: str
    low: float = 0.0
    high: float = 1.0
    scale: Scale = "linear"
    nice: bool = False

    @property
    def deviate(self) -> bool:
        """Whether the axis shows normal deviates of rates."""
        return self.scale == "normal_deviate"

    @property
    def endless(self) -> bool:
        """Whether rates of 0 are infinitely far on it."""
        return self.scale != "linear"

    def place(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far along the axis values are, as shares of its length."""
        ends = np.array([self.low, self.high])
        if self.scale == "log":
            values, ends = np.log(np.maximum(values, self.low)), np.log(ends)
        elif self.deviate:
            values, ends = deviates(values), deviates(ends)
        low, high = ends
        share: NDArray[np.float64] = (values - low) / (high - low)
        return share


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """Two axes, and the kind of curve that is drawn between them."""

    kind: Kind
    x: Side
    y: Side

    @property
    def called(self) -> str:
        """What a chart of this kind is called in a sentence."""
        title = self.kind.title
        return title if title.endswith("chart") else f"{title} chart"

    @property
    def bends(self) -> bool:
        """Whether the line between two neighbouring points is no straight one here."""
        return self.kind.joined != "line" or self.endless

    @property
    def endless(self) -> bool:
        """Whether lines leave the picture where a rate is 0."""
        return self.x.endless or self.y.endless

    def shows(self, x: float, y: float) -> bool:
        """Whether a point is in the picture."""
        inside = (
            not side.endless or side.low <= rate <= side.high
            for side, rate in ((self.x, x), (self.y, y))
        )
        return isfinite(x) and isfinite(y) and all(inside)

    def place(self, path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where the points of a path are, as shares of the axes."""
        x, y = rates(self.kind, path)
        return self.x.place(x), self.y.place(y)


def plane_of(kind: Kind, path: Path, scale: Scale | None = None) -> Plane:
    """Choose the axes for some curves: all rates from 0 to 1, unless the kind wants others."""
    x, y = rates(kind, path)
    return spanned(kind, x, y, scale=scale, top=y)


def spanned(
    kind: Kind,
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    *,
    scale: Scale | None,
    top: NDArray[np.float64],
) -> Plane:
    """Choose the axes for points of this kind; those without a fixed end reach up to `top`."""
    chosen = scale_of(kind, scale)
    spread = SCALED_AXES[chosen][kind.name] if chosen in SCALED_AXES else ()
    # Where both errors are small the axes of rates have their ends: of tpr, far from 1.
    far = [x, 1 - y if chosen == "normal_deviate" and kind.y == "tpr" else y]
    ends = np.concatenate(
        [values for side, values in zip("xy", far, strict=True) if side in spread] or [x]
    )
    low = limit(ends.round(12), POWERS if chosen == "log" else LIMITS)
    sides = []
    for side, name in (("x", kind.x), ("y", kind.y)):
        plain = Side(name=name, title=title(kind, name))
        if side in spread:
            high = 1.0 if chosen == "log" else 1 - low
            plain = replace(plain, low=low, high=high, scale=chosen)
        elif name in {"lift", *CONFUSION}:
            plain = replace(plain, high=float(np.nanmax(top, initial=0)) or EMPTY, nice=True)
        sides.append(plain)
    return Plane(kind=kind, x=sides[0], y=sides[1])


def title(kind: Kind, name: str) -> str:
    """Return the title of an axis: the label of its rate, or the other name the kind has for it."""
    if name in CONFUSION:
        return COUNT_TITLES[name]
    rate = kind.axis(name)
    return rate.label if name == rate.name else name.replace("_", " ").capitalize()


def rates(kind: Kind, path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the two rates of a kind at each point of a path; NaN where there is none.

    While nothing is called positive, precision and lift have no value. A curve starts there with
    that of its next point, which is what a random part of the highest scores gives.
    """
    x, y = (measured(path, kind, name) for name in (kind.x, kind.y))
    # The next point that has a value, the point itself where it has one.
    known = np.where(np.isnan(y), len(y), np.arange(len(y)))
    known = np.minimum.accumulate(known[::-1])[::-1]
    unknown = np.flatnonzero(np.isnan(y) & (known < len(y)))
    unknown = unknown[path.curve[unknown] == path.curve[known[unknown]]]
    y[unknown] = y[known[unknown]]
    return x, y


def measured(path: Path, kind: Kind, name: str) -> NDArray[np.float64]:
    """Return a rate, or a count, at each point of a path."""
    counts = dict(zip(CONFUSION, path.counts, strict=True))
    if name in counts:
        return counts[name].copy()
    shown = pl.DataFrame(counts).select(kind.axis(name).expr())
    return shown.to_series().to_numpy(writable=True)


def deviates(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the normal deviates of rates, close enough to draw them."""
    deviate, rate = _normal()
    return np.interp(values, rate, deviate)


@cache
def _normal() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    deviate = np.linspace(-FARTHEST, FARTHEST, 6001)
    return deviate, np.array([NORMAL.cdf(float(one)) for one in deviate])


def limit(values: NDArray[np.float64], limits: Sequence[float] = LIMITS) -> float:
    """Return the round rate below all rates above 0, where axes end that have no 0."""
    least = float(np.min(values[values > 0], initial=1.0))
    return max([end for end in limits if end < least], default=limits[-1])


# Where normal-deviate axes have ticks, and again as far from 1.
TICKS = (1e-5, 1e-4, 0.001, 0.01, 0.05, 0.2)

DECADES = (*reversed(POWERS), 0.1, 1.0)

# Three digits would call 99.99 % all.
PERCENT = "format(cumulativeNormal(datum.value), datum.value > 3.1 ? '.5~p' : '.3~p')"


def positions(plane: Plane) -> tuple[alt.X, alt.Y]:
    """Return the two channels that place the points of a curve."""
    x, y = fields(plane)
    return alt.X(x, **_shown(plane.x)), alt.Y(y, **_shown(plane.y))


def fields(plane: Plane) -> tuple[str, str]:
    """Return the fields that hold the places: the rates themselves, or their deviates."""
    return ("u", "v") if plane.x.deviate else ("x", "y")


def on_axis(side: Side, rate: float) -> float:
    """Return the value that stands for a rate on an axis."""
    return round(NORMAL.inv_cdf(rate), 6) if side.deviate else rate


def _shown(side: Side) -> dict[str, Any]:
    return {"type": "quantitative", "title": side.title, "scale": _scale(side), "axis": _axis(side)}


def _scale(side: Side) -> alt.Scale:
    domain = [on_axis(side, side.low), on_axis(side, side.high)]
    if side.scale == "log":
        return alt.Scale(type="log", domain=domain, nice=False)
    return alt.Scale(domain=domain, nice=side.nice)


def _axis(side: Side) -> alt.Axis:
    grid: dict[str, Any] = {"grid": True, "gridColor": GRID}
    if side.scale == "linear":
        return alt.Axis(tickCount=5, **grid)
    if side.scale == "log":
        return alt.Axis(values=[one for one in DECADES if one >= side.low], format="~g", **grid)
    rates = [*TICKS, 0.5, *(1 - tick for tick in reversed(TICKS))]
    ticks = [on_axis(side, rate) for rate in rates if side.low <= rate <= side.high]
    return alt.Axis(values=ticks, labelExpr=PERCENT, **grid)
