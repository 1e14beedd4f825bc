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
    """The counts of complete curves, in the order of falling thresholds.

    Curve i has the rows `starts[i]` to `starts[i + 1] - 1`, `pos[i]` positives and `neg[i]`
    negatives. The rows in the mask `required` must not be removed from a simplified curve.
    `prevalence` is the prevalence at which rates are computed; None for the prevalence of each
    curve.
    """

    tp: NDArray[Any]
    fp: NDArray[Any]
    starts: NDArray[np.int64]
    pos: NDArray[Any]
    neg: NDArray[Any]
    required: NDArray[np.bool_] | None = None
    prevalence: float | None = None

    def on_axes(self, kind: Kind) -> CurveCounts:
        """Return the counts for the axes of a kind.

        If an axis depends on the prevalence and `prevalence` is set, the counts are multiplied by
        weights that change the prevalence to this value. If a curve lacks a class, its weights are
        0.
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
        """Return the curves that the mask `curves` selects, and the positions of their rows."""
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
    """Return the rates, their logarithms, logits or normal deviates, depending on the scale."""
    if scale == "linear":
        return rates
    with np.errstate(divide="ignore"):
        if scale == "log":
            return np.log(rates)
        if scale == "logit":
            return np.log(rates) - np.log1p(-rates)
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

    `low` and `high` are the ends of the axes on the scale, as `scale_values` returns them. On
    scales other than linear, rates beyond an end of the axis have the position of this end.
    """
    values = scale_values(rates, scale)
    if scale != "linear":
        values = np.clip(values, low, high)
    length = np.broadcast_to(high - low, values.shape)
    positions: NDArray[np.float64] = np.divide(
        values - low, length, out=np.zeros_like(values), where=length > 0
    )
    return positions


MIN_WEIGHT_SHARE = 1e-9  # lowest level of a weighted count, as a share of the total weight


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DisplayAxes:
    """The axes on which curves are displayed; `pos`, `neg`, `low` and `top` have a value per curve.

    Two counts determine a point: `x_count` is the numerator of the rate on the x axis, and
    `other_count` is the second count that is needed for y. `low` is the start of a logarithmic
    axis: the lowest rate above 0. For normal deviates, `low` is the smallest distance of a rate
    from 0 or 1, among the rates that are neither 0 nor 1. `top` is the upper end of the y axis.
    """

    kind: Kind
    scale: Scale
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    low: NDArray[np.float64]
    top: NDArray[np.float64]

    @property
    def monotone(self) -> bool:
        """Whether y always rises or always falls as the threshold is lowered."""
        return self.kind.segments == "straight" and self.kind.y != "skill"

    @property
    def curved(self) -> bool:
        """Whether the line between two neighboring points can be curved on these axes."""
        return self.scale == "normal_deviate" or self.kind.y == "precision"

    @property
    def x_total(self) -> NDArray[np.float64]:
        """The denominator of the rate on the x axis, for each curve."""
        match self.kind.x:
            case "fpr":
                return self.neg
            case "recall":
                return self.pos
            case _:
                return self.pos + self.neg

    def axis_counts(self, tp: NDArray[Any], fp: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return `x_count` and `other_count` of points with these numbers of tp and fp."""
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
        """Return the positions of points on the y axis; NaN if precision or lift is undefined.

        An axis of skill extends from the worse constant prediction to perfect predictions.
        """
        if self.monotone:
            scaled = self.scale == "normal_deviate"
            return self._position(other_count / self.pos[line], line, scaled=scaled)
        if self.kind.y == "skill":
            pos, neg = self.pos[line], self.neg[line]
            errors: NDArray[np.float64] = x_count - 2 * other_count + pos
            return 1 - errors / np.maximum(pos, neg)
        total = x_count + other_count if self.kind.y == "precision" else x_count
        part = x_count if self.kind.y == "precision" else other_count
        share = np.divide(part, total, out=np.full(len(total), np.nan), where=total > 0)
        position: NDArray[np.float64] = share / self.top[line]
        return position

    def _position(
        self, share: NDArray[np.float64], line: NDArray[np.int64], *, scaled: bool
    ) -> NDArray[np.float64]:
        """Return the positions of rates on an axis, which is linear if `scaled` is false."""
        if not scaled:
            return share
        low = scale_values(self.low, self.scale)[line]
        # The upper end of normal deviates is not computed from 1 - low, which may be rounded to 1.
        high = np.zeros(1) if self.scale == "log" else -low
        return axis_positions(share, low, high, self.scale)

    def levels(
        self, curve: int, tp: NDArray[Any], fp: NDArray[Any], step: float
    ) -> list[tuple[NDArray[Any], NDArray[np.float64]]]:
        """Return two counts of one curve, each with its levels, for the function `rows_at_levels`.

        Levels are rising values of a count. While both counts stay between neighboring levels, the
        curve moves by at most `step` on both axes. For precision and lift, this applies to the y
        axis only. It does not apply below the lowest level of a weighted count.
        """
        pos, neg = self.pos[curve], self.neg[curve]
        if self.kind.y == "skill":  # each error has the same effect on the skill
            even = np.arange(step, 1, step)
            return [(tp, even * max(pos, neg)), (fp, even * max(pos, neg))]
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
    """Return shares from `low` to about 1; each is 1 + ratio times the previous share."""
    shares: NDArray[np.float64] = np.exp(np.arange(np.log(min(low, 1.0)), ratio, np.log1p(ratio)))
    return shares


def display_axes(kind: Kind, scale: Scale, counts: CurveCounts) -> DisplayAxes:
    """Return the axes on which curves of this kind are displayed, with their ends."""
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
