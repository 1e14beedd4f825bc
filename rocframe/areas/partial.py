"""Walks → the area over a part of the curve, and its variance.

The area over an FPR range is the integral of TPR; over a TPR range it is the integral of
1 - FPR, which is the same thing of the mirrored curve: the classes change places and the scores
their sign. Between two neighbouring points the curve is a straight line.

References
----------
D. K. McClish (1989), "Analyzing a portion of the ROC curve", Medical Decision Making 9(3),
190-195. doi:10.1177/0272989X8900900307
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rocframe.errors import OptionValueError, UnknownOptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.counting.walk import Block, Walk

Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A range of one rate, from `a` to `b`."""

    rate: Literal["fpr", "tpr"]
    a: float
    b: float
    mcclish: bool

    @classmethod
    def of(
        cls, fpr: Range | None, tpr: Range | None, standardize: str | None
    ) -> Part | None:
        """Read the three options of a partial area."""
        if standardize not in {None, "mcclish"}:
            raise UnknownOptionError.of("standardize", standardize, ("mcclish", None))
        if fpr is not None and tpr is not None:
            raise OptionValueError.of(
                "tpr", tpr, "fpr= is given too", "A partial area has one range: give one of them."
            )
        if fpr is None and tpr is None:
            if standardize is not None:
                raise OptionValueError.of(
                    "standardize", standardize, "a whole area needs none", "Give fpr= or tpr=."
                )
            return None
        rate: Literal["fpr", "tpr"] = "fpr" if fpr is not None else "tpr"
        given = fpr if fpr is not None else tpr
        try:
            a, b = sorted(float(end) for end in given)  # type: ignore[union-attr]
        except (TypeError, ValueError):
            raise OptionValueError.of(
                rate, given, "it is not a pair of numbers", f"Give two ends, say {rate}=(0, 0.1)."
            ) from None
        if not (0 <= a < b <= 1):
            raise OptionValueError.of(
                rate,
                given,
                "it is not a range inside [0, 1] with two different ends",
                f"Give two ends, say {rate}=(0, 0.1).",
            )
        return cls(rate=rate, a=a, b=b, mcclish=standardize == "mcclish")

    @property
    def chance(self) -> float:
        """Area of the chance line over this range."""
        a, b = (self.a, self.b) if self.rate == "fpr" else (1 - self.b, 1 - self.a)
        return (b - a) * (b + a) / 2

    @property
    def largest(self) -> float:
        """The largest that the area can be, as it is shown."""
        return 1.0 if self.mcclish else self.b - self.a

    def shown(self, area: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return areas as they are shown: raw, or on McClish's scale where chance is 1/2."""
        if not self.mcclish:
            return area
        return (1 + (area - self.chance) / (self.b - self.a - self.chance)) / 2

    @property
    def slope(self) -> float:
        """How much the shown area changes with the raw one."""
        return 0.5 / (self.b - self.a - self.chance) if self.mcclish else 1.0


class Mirrored(NamedTuple):
    """The steps of a block on the axes of the part: x is integrated over, y is integrated."""

    x0: NDArray[Any]
    x1: NDArray[Any]
    y0: NDArray[Any]
    y1: NDArray[Any]


def partial_areas(walk: Walk, part: Part) -> tuple[NDArray[np.float64], ...]:
    """Return the area over the part, and with ties at their worst and at their best."""
    areas = [np.zeros(len(walk.totals.pos)) for _ in range(3)]
    a, b = _ends(part)

    def one(block: Block) -> list[NDArray[np.float64]]:
        step = _axes(walk, block, part)
        left, right = np.clip(step.x0, a, b), np.clip(step.x1, a, b)
        width = right - left
        middle = _line(step, (left + right) / 2)
        return [
            np.add.reduceat(width * height, block.starts[:-1])
            for height in (middle, step.y0, step.y1)
        ]

    for piece, parts in zip(walk.pieces, walk.each(one), strict=True):
        for area, more in zip(areas, parts, strict=True):
            area[piece.groups] += more
    undefined = (walk.totals.pos == 0) | (walk.totals.neg == 0)
    for area in areas:
        area[undefined] = np.nan
    return tuple(areas)


def partial_variance(walk: Walk, part: Part) -> NDArray[np.float64]:
    """Return the variance of the raw area from the clipped placements of both classes."""
    a, b = _ends(part)
    groups = len(walk.totals.pos)
    heights = [np.zeros(groups), np.zeros(groups)]  # of the curve at both ends of the range

    def at_ends(block: Block) -> list[tuple[Any, Any]]:
        step = _axes(walk, block, part)
        owner = np.repeat(block.groups, np.diff(block.starts))
        found = []
        for end in (a, b):
            holds = np.flatnonzero((step.x0 <= end) & (end <= step.x1))
            found.append((owner[holds], _line(step, np.full(len(step.x0), end))[holds]))
        return found

    for ends in walk.each(at_ends):
        for height, (owner, values) in zip(heights, ends, strict=True):
            np.maximum.at(height, owner, values)

    moments = np.zeros((2, 3, groups))

    def one(block: Block) -> NDArray[np.float64]:
        step = _axes(walk, block, part)
        place = (step.x0 + step.x1) / 2
        inside = _line(step, place)
        inside = np.where(place < a, block.of_steps(heights[0]), inside)
        inside = np.where(place > b, block.of_steps(heights[1]), inside)
        swap = part.rate == "tpr"
        sides = (b - np.clip(place, a, b), inside)
        masses = (block.neg, block.pos) if swap else (block.pos, block.neg)
        squares = (block.pos_squares, block.neg_squares)
        if squares[0] is None:
            spreads = masses
        else:
            spreads = (squares[1], squares[0]) if swap else (squares[0], squares[1])  # type: ignore[assignment]
        return np.array(
            [
                [
                    np.add.reduceat(mass * value, block.starts[:-1]),
                    np.add.reduceat(spread * value, block.starts[:-1]),
                    np.add.reduceat(spread * value**2, block.starts[:-1]),
                ]
                for value, mass, spread in zip(sides, masses, spreads, strict=True)
            ]
        )

    for piece, more in zip(walk.pieces, walk.each(one), strict=True):
        moments[:, :, piece.groups] += more
    return _variance(walk, part, moments)


def _variance(walk: Walk, part: Part, moments: NDArray[np.float64]) -> NDArray[np.float64]:
    totals, tails = walk.totals, walk.rows.tails
    sides = [(totals.pos_rows, totals.pos), (totals.neg_rows, totals.neg)]
    extra = [tails.pos_squares, tails.neg_squares]
    if part.rate == "tpr":
        sides, extra = sides[::-1], extra[::-1]
    variance = np.zeros(len(totals.pos))
    masses = walk.rows.masses
    weighted = masses is not None and masses.weight is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        for (rows, mass), (first, mixed, second), unscored in zip(
            sides, moments, extra, strict=True
        ):
            mean = first / mass
            # Σ w²(φ − mean)², the unscored rows having φ = 0.
            weights = _squares(walk, rows is totals.pos_rows) if weighted else mass - unscored
            around = second - 2 * mean * mixed + mean**2 * (weights + unscored)
            variance += rows / (rows - 1) * np.maximum(around, 0) / np.square(mass, dtype=float)
    variance = np.where(variance < 1e-28, 0.0, variance)
    few = (totals.pos_rows < 2) | (totals.neg_rows < 2)
    return np.where(few, np.nan, variance)


def _squares(walk: Walk, positive: bool) -> NDArray[np.float64]:
    """Add up the squared weights of one class's scored rows."""
    total = np.zeros(len(walk.totals.pos))
    for piece, more in zip(
        walk.pieces,
        walk.each(
            lambda block: np.add.reduceat(
                block.pos_squares if positive else block.neg_squares,  # type: ignore[arg-type]
                block.starts[:-1],
            )
        ),
        strict=True,
    ):
        total[piece.groups] += more
    return total


def _ends(part: Part) -> tuple[float, float]:
    return (part.a, part.b) if part.rate == "fpr" else (1 - part.b, 1 - part.a)


def _axes(walk: Walk, block: Block, part: Part) -> Mirrored:
    """Return the steps as rates: of the curve itself, or mirrored for a TPR range."""
    pos, neg = block.of_steps(walk.totals.pos), block.of_steps(walk.totals.neg)
    unscored = block.of_steps(walk.rows.tails.neg_mass)
    with np.errstate(divide="ignore", invalid="ignore"):
        x0, x1 = (block.fp0 + unscored) / neg, (block.fp + unscored) / neg
        y0, y1 = block.tp0 / pos, block.tp / pos
    if part.rate == "fpr":
        return Mirrored(x0, x1, y0, y1)
    return Mirrored(1 - y1, 1 - y0, 1 - x1, 1 - x0)


def _line(step: Mirrored, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the height of each step's line at `x`; the upper end where it stands upright."""
    width = step.x1 - step.x0
    with np.errstate(divide="ignore", invalid="ignore"):
        along = np.where(width > 0, (x - step.x0) / width, 1.0)
    return step.y0 + np.clip(along, 0, 1) * (step.y1 - step.y0)
