"""Kinds → the plane that their curves are drawn on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.vocabulary import CONFUSION

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.charts.path import Path
    from rocframe.curves.kinds import Kind

NORMAL = NormalDist()
FARTHEST = 6.0  # deviates beyond are not told apart
EMPTY = 2.0  # the height of axes that end at the highest point, if there is none
LIMITS = (0.01, 0.005, 0.002, 0.001, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5, 1e-5)

COUNTED = {
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
    deviate: bool = False
    nice: bool = False

    def place(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far along the axis values are, as shares of its length."""
        if not self.deviate:
            return (values - self.low) / (self.high - self.low)
        low, high = deviates(np.array([self.low, self.high]))
        share: NDArray[np.float64] = (deviates(values) - low) / (high - low)
        return share


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """Two axes, and the kind of curve that is drawn between them."""

    kind: Kind
    x: Side
    y: Side

    @property
    def bends(self) -> bool:
        """Whether the line between two neighbouring points is no straight one here."""
        return self.kind.joined != "line" or self.x.deviate

    def place(self, path: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where the points of a path are, as shares of the axes."""
        x, y = rates(self.kind, path)
        return self.x.place(x), self.y.place(y)


def plane_of(kind: Kind, path: Path) -> Plane:
    """Choose the axes for some curves: all rates from 0 to 1, unless the kind wants others."""
    sides = [Side(name=name, title=title(kind, name)) for name in (kind.x, kind.y)]
    x, y = sides
    if kind.name == "det":
        end = limit(np.concatenate(rates(kind, path)))
        x, y = (
            Side(name=side.name, title=side.title, low=end, high=1 - end, deviate=True)
            for side in sides
        )
    elif kind.y in {"lift", *CONFUSION}:
        top = np.nanmax(rates(kind, path)[1], initial=0)
        y = Side(name=y.name, title=y.title, high=float(top) or EMPTY, nice=True)
    return Plane(kind=kind, x=x, y=y)


def title(kind: Kind, name: str) -> str:
    """Return the title of an axis: the label of its rate, or the other name the kind has for it."""
    if name in CONFUSION:
        return COUNTED[name]
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


def limit(values: NDArray[np.float64]) -> float:
    """Return the round rate below all rates above 0, where normal-deviate axes end."""
    least = float(np.min(values[values > 0], initial=1.0))
    return max([end for end in LIMITS if end < least], default=LIMITS[-1])
