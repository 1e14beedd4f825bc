"""Kinds and scales → where the points of curves are displayed, as shares of the axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.curves.kinds import Kind
    from rocframe.curves.scales import Scale
    from rocframe.curves.walks import Walks

SMALLEST = 1e-9  # of a total, below which weights are not told apart


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Display:
    """How curves are displayed: each has its own totals, and its own ends of the axes.

    `along` and `other` are the two counts that a curve is followed by: the one that x is a share
    of, and one more. `low` is where axes start that have no 0: the least rate above 0, and for
    normal deviates also the least that a rate is below 1. `top` is where the y axis ends if that
    is not 1.
    """

    kind: Kind
    scale: Scale
    pos: NDArray[np.float64]
    neg: NDArray[np.float64]
    low: NDArray[np.float64]
    top: NDArray[np.float64]

    @property
    def rises(self) -> bool:
        """Whether y only rises, or only falls, from left to right."""
        return self.kind.joined == "line"

    @property
    def bends(self) -> bool:
        """Whether two lines between the same two heights may be farther apart in between."""
        return self.scale == "normal_deviate" or self.kind.y == "precision"

    @property
    def whole(self) -> NDArray[np.float64]:
        """What x is a share of."""
        match self.kind.x:
            case "fpr":
                return self.neg
            case "recall":
                return self.pos
            case _:
                return self.pos + self.neg

    def followed(self, tp: NDArray[Any], fp: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the two counts that curves are followed by."""
        match self.kind.x:
            case "fpr":
                return fp, tp
            case "recall":
                return tp, fp
            case _:
                return tp + fp, tp

    def across(self, along: NDArray[np.float64], line: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return x of points of some curves."""
        return self._placed(along / self.whole[line], line, deviate=self.scale != "linear")

    def up(
        self, along: NDArray[np.float64], other: NDArray[np.float64], line: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Return y of points of some curves; NaN while nothing is called positive."""
        if self.rises:
            deviate = self.scale == "normal_deviate"
            return self._placed(other / self.pos[line], line, deviate=deviate)
        whole = along + other if self.kind.y == "precision" else along
        part = along if self.kind.y == "precision" else other
        share = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
        placed: NDArray[np.float64] = share / self.top[line]
        return placed

    def _placed(
        self, share: NDArray[np.float64], line: NDArray[np.int64], *, deviate: bool
    ) -> NDArray[np.float64]:
        if not deviate:
            return share
        low = self.low[line]
        if self.scale == "log":
            length = -np.log(low)
            place = np.log(np.maximum(share, low)) + length
        else:
            from scipy.special import ndtri

            length = -2 * ndtri(low)
            place = ndtri(np.clip(share, low, 1 - low)) + length / 2
        placed: NDArray[np.float64] = np.divide(
            place, length, out=np.zeros_like(place), where=length > 0
        )
        return placed

    def levels(
        self, curve: int, tp: NDArray[Any], fp: NDArray[Any], step: float
    ) -> list[tuple[NDArray[Any], NDArray[np.float64]]]:
        """Return counts of one curve, and values of them that are at most a step apart on the axes.

        For `landmarks`. Steps may be somewhat longer next to the smallest of weights.
        """
        pos, neg = self.pos[curve], self.neg[curve]
        if not self.rises:
            # Precision changes by half as much as the ratio of tp to fp, lift as its parts.
            ratio = 2 * step if self.kind.y == "precision" else step / 2
            return [
                (
                    counts,
                    total * geometric(1 / total if counts.dtype.kind == "i" else SMALLEST, ratio),
                )
                for counts, total in ((tp, pos), (fp, neg))
                if total > 0
            ]
        along, other = self.followed(tp, fp)
        even = np.arange(step, 1, step)
        across = up = even
        if self.scale == "log":
            across = self.low[curve] ** (1 - np.append(0, even))
        if self.scale == "normal_deviate":
            from scipy.special import ndtr, ndtri

            across = up = ndtr(ndtri(self.low[curve]) * (1 - 2 * np.append(0, even)))
        return [(along, across * self.whole[curve]), (other, up * pos)]


def geometric(low: float, ratio: float) -> NDArray[np.float64]:
    """Return rising shares from a low one to 1, each so much larger than the one before."""
    shares: NDArray[np.float64] = np.exp(np.arange(np.log(min(low, 1.0)), ratio, np.log1p(ratio)))
    return shares


def displayed(
    kind: Kind,
    scale: Scale,
    walks: Walks,
) -> Display:
    """Find where the axes of some curves start and end."""
    pos, neg = walks.pos.astype(np.float64), walks.neg.astype(np.float64)
    ones = np.ones(len(pos))
    plain = Display(kind=kind, scale=scale, pos=pos, neg=neg, low=ones, top=ones)
    low, top = ones, ones
    along, other = plain.followed(walks.tp, walks.fp)
    firsts, lengths = walks.starts[:-1], np.diff(walks.starts)
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind.y == "lift" and len(firsts):
            lift = np.divide(other, along, out=np.zeros(len(along)), where=along > 0)
            top = np.maximum.reduceat(lift, firsts)
            top = np.where(top > 0, top, 1.0)
        if scale != "linear" and len(firsts):
            shares = [along / np.repeat(plain.whole, lengths)]
            if scale == "normal_deviate":
                shares.append(other / np.repeat(pos, lengths))
                shares += [1 - share for share in shares]
            for share in shares:
                least = np.minimum.reduceat(np.where(share > 0, share, 1.0), firsts)
                low = np.minimum(low, least)
            low = np.minimum(low, 0.5) if scale == "normal_deviate" else low
    return Display(kind=kind, scale=scale, pos=pos, neg=neg, low=low, top=top)
