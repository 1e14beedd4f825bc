"""Compute the positions of points on linear, logarithmic and normal-deviate axes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rocframe.rates import prevalence_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.kinds import Kind, Scale


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CurveCounts:
    """The counts of complete curves, by falling threshold.

    Curve i has the rows `starts[i]` to `starts[i + 1]`, `pos[i]` positives and `neg[i]` negatives.
    Simplified curves contain all rows that are `required`. `prevalence` is the prevalence at which
    rates are computed; None for the prevalence of each curve.
    """

    tp: NDArray[Any]
    fp: NDArray[Any]
    starts: NDArray[np.int64]
    pos: NDArray[Any]
    neg: NDArray[Any]
    required: NDArray[np.bool_] | None = None
    prevalence: float | None = None

    def on_axes(self, kind: Kind) -> CurveCounts:
        """Return the counts, rescaled to `prevalence` if an axis of the kind depends on it.

        The rescaled totals of a curve that lacks a class are 0.
        """
        if self.prevalence is None or not any(
            kind.axis(name).depends_on_prevalence for name in kind.rates
        ):
            return self
        pos_weight, neg_weight = prevalence_weights(self.pos, self.neg, self.prevalence)
        sizes = np.diff(self.starts)
        return replace(
            self,
            tp=self.tp * np.repeat(pos_weight, sizes),
            fp=self.fp * np.repeat(neg_weight, sizes),
            pos=self.pos * pos_weight,
            neg=self.neg * neg_weight,
            prevalence=None,
        )

    def slice(self, first: int, last: int) -> CurveCounts:
        """Return the curves `first` to `last - 1`."""
        a, b = self.starts[first], self.starts[last]
        return CurveCounts(
            tp=self.tp[a:b],
            fp=self.fp[a:b],
            starts=self.starts[first : last + 1] - a,
            pos=self.pos[first:last],
            neg=self.neg[first:last],
            required=None if self.required is None else self.required[a:b],
            prevalence=self.prevalence,
        )

    def select(self, curves: NDArray[np.bool_]) -> tuple[CurveCounts, NDArray[np.int64]]:
        """Return the curves at which `curves` is True, and the rows of these curves."""
        sizes = np.diff(self.starts)
        rows = np.flatnonzero(np.repeat(curves, sizes))
        selected = CurveCounts(
            tp=self.tp[rows],
            fp=self.fp[rows],
            starts=np.append(0, np.cumsum(sizes[curves])),
            pos=self.pos[curves],
            neg=self.neg[curves],
            required=None if self.required is None else self.required[rows],
            prevalence=self.prevalence,
        )
        return selected, rows


def scale_values(rates: NDArray[np.float64], scale: Scale) -> NDArray[np.float64]:
    """Return rates, their logarithms, or their normal deviates, depending on the scale."""
    if scale == "linear":
        return rates
    with np.errstate(divide="ignore"):
        if scale == "log":
            return np.log(rates)
        from scipy.special import ndtri

        deviates: NDArray[np.float64] = ndtri(rates)
        return deviates


def axis_positions(
    rates: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    scale: Scale,
) -> NDArray[np.float64]:
    """Return the positions of rates on axes, as fractions of the lengths of the axes.

    `low` and `high` are the ends of the axes, as returned by `scale_values`. On scales other than
    linear, rates beyond an end have the position of this end.
    """
    values = scale_values(rates, scale)
    if scale != "linear":
        values = np.clip(values, low, high)
    length = np.broadcast_to(high - low, values.shape)
    positions: NDArray[np.float64] = np.divide(
        values - low, length, out=np.zeros_like(values), where=length > 0
    )
    return positions


MIN_WEIGHT_SHARE = 1e-9  # differences of weights below this fraction of their total are ignored


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DisplayAxes:
    """The axes on which curves are displayed; each curve has its own totals and limits of axes.

    The counts of a point are `x_count`, the numerator of x, and `other_count`. `low` is the start
    of a logarithmic axis, which is the lowest rate above 0. For normal deviates, `low` is the
    smallest distance above 0 of a rate from 0 or 1. `top` is the upper end of the y axis.
    """

    kind: Kind
    scale: Scale
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    low: NDArray[np.float64]
    top: NDArray[np.float64]

    @property
    def monotone(self) -> bool:
        """Whether y rises or falls along every curve."""
        return self.kind.segments == "straight"

    @property
    def curved(self) -> bool:
        """Whether the line between two neighbouring rows may be visibly curved."""
        return self.scale == "normal_deviate" or self.kind.y == "precision"

    @property
    def x_total(self) -> NDArray[np.float64]:
        """The denominator of x."""
        match self.kind.x:
            case "fpr":
                return self.neg
            case "recall":
                return self.pos
            case _:
                return self.pos + self.neg

    def axis_counts(self, tp: NDArray[Any], fp: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the counts `x_count` and `other_count` of points."""
        match self.kind.x:
            case "fpr":
                return fp, tp
            case "recall":
                return tp, fp
            case _:
                return tp + fp, tp

    def x(self, x_count: NDArray[np.float64], line: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the positions of points on the x axis; `line` is the curve of each point."""
        return self._position(x_count / self.x_total[line], line, scaled=self.scale != "linear")

    def y(
        self,
        x_count: NDArray[np.float64],
        other_count: NDArray[np.float64],
        line: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        """Return the positions of points on the y axis; NaN if precision or lift is undefined."""
        if self.monotone:
            scaled = self.scale == "normal_deviate"
            return self._position(other_count / self.pos[line], line, scaled=scaled)
        total = x_count + other_count if self.kind.y == "precision" else x_count
        part = x_count if self.kind.y == "precision" else other_count
        share = np.divide(part, total, out=np.full(len(total), np.nan), where=total > 0)
        position: NDArray[np.float64] = share / self.top[line]
        return position

    def _position(
        self, share: NDArray[np.float64], line: NDArray[np.int64], *, scaled: bool
    ) -> NDArray[np.float64]:
        if not scaled:
            return share
        low = scale_values(self.low, self.scale)[line]
        # The upper end of normal deviates is not computed from 1 - low, which may be rounded to 1.
        high = np.zeros(1) if self.scale == "log" else -low
        return axis_positions(share, low, high, self.scale)

    def levels(
        self, curve: int, tp: NDArray[Any], fp: NDArray[Any], step: float
    ) -> list[tuple[NDArray[Any], NDArray[np.float64]]]:
        """Return pairs of a count and its levels; on the axes, levels are at most `step` apart.

        The pairs are those of one curve, for the function `rows_at_levels`. Below the smallest
        level of a weighted count, steps may be longer than `step`.
        """
        pos, neg = self.pos[curve], self.neg[curve]
        if not self.monotone:
            # The change of precision is at most half the relative change of tp / fp. The change of
            # lift is at most the sum of the relative changes of tp and tp + fp.
            ratio = 2 * step if self.kind.y == "precision" else step / 2
            return [
                (
                    counts,
                    total
                    * _geometric_shares(
                        1 / total if counts.dtype.kind == "i" else MIN_WEIGHT_SHARE, ratio
                    ),
                )
                for counts, total in ((tp, pos), (fp, neg))
                if total > 0
            ]
        x_count, other_count = self.axis_counts(tp, fp)
        even = np.arange(step, 1, step)
        x_levels = y_levels = even
        if self.scale == "log":
            x_levels = self.low[curve] ** (1 - np.append(0, even))
        if self.scale == "normal_deviate":
            from scipy.special import ndtr

            low = scale_values(self.low[curve], self.scale)
            x_levels = y_levels = ndtr(low * (1 - 2 * np.append(0, even)))
        return [(x_count, x_levels * self.x_total[curve]), (other_count, y_levels * pos)]


def _geometric_shares(low: float, ratio: float) -> NDArray[np.float64]:
    """Return shares from `low` to at least 1, with a constant relative increase of `ratio`."""
    shares: NDArray[np.float64] = np.exp(np.arange(np.log(min(low, 1.0)), ratio, np.log1p(ratio)))
    return shares


def display_axes(kind: Kind, scale: Scale, counts: CurveCounts) -> DisplayAxes:
    """Return the axes for the curves, with the start and end of each axis."""
    pos, neg = counts.pos.astype(np.float64), counts.neg.astype(np.float64)
    ones = np.ones(len(pos))
    axes = DisplayAxes(kind=kind, scale=scale, pos=pos, neg=neg, low=ones, top=ones)
    low, top = ones, ones
    x_count, other_count = axes.axis_counts(counts.tp, counts.fp)
    firsts, lengths = counts.starts[:-1], np.diff(counts.starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind.y == "lift" and len(firsts):
            lift = np.divide(other_count, x_count, out=np.zeros(len(x_count)), where=x_count > 0)
            top = np.maximum.reduceat(lift, firsts)
            top = np.where(top > 0, top, 1.0)
        if scale != "linear" and len(firsts):
            shares = [x_count / np.repeat(axes.x_total, lengths)]
            if scale == "normal_deviate":
                shares.append(other_count / np.repeat(pos, lengths))
                shares += [1 - share for share in shares]
            for share in shares:
                least = np.minimum.reduceat(np.where(share > 0, share, 1.0), firsts)
                low = np.minimum(low, least)
            low = np.minimum(low, 0.5) if scale == "normal_deviate" else low
    return DisplayAxes(kind=kind, scale=scale, pos=pos, neg=neg, low=low, top=top)
