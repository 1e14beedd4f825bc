"""Partial areas and their variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rocframe.areas.pairs import scatter_to_rows
from rocframe.errors import OptionValueError
from rocframe.options import as_numbers, check_choice

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.kernel.scan import Block, Walk, Walked


Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A range of one rate, from `a` to `b`."""

    rate: Literal["fpr", "tpr"]
    a: float
    b: float
    mcclish: bool

    @classmethod
    def of(cls, fpr: Range | None, tpr: Range | None, standardize: str | None) -> Part | None:
        """Read the three options of a partial area."""
        check_choice("standardize", standardize, ("mcclish", None))
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
        ends = as_numbers(given)
        if ends is None or len(ends) != 2:
            raise OptionValueError.of(
                rate, given, "it is not a pair of numbers", f"Give two ends, say {rate}=(0, 0.1)."
            )
        a, b = sorted(ends)
        if not (0 <= a < b <= 1):
            raise OptionValueError.of(
                rate,
                given,
                "it is not a range inside [0, 1] with two different ends",
                f"Give two ends, say {rate}=(0, 0.1).",
            )
        return cls(rate=rate, a=a, b=b, mcclish=standardize == "mcclish")

    @property
    def ends(self) -> tuple[float, float]:
        """The ends on the axis that is integrated over: for a TPR range that of the mirror."""
        return (self.a, self.b) if self.rate == "fpr" else (1 - self.b, 1 - self.a)

    @property
    def chance(self) -> float:
        """Area of the chance line over this range."""
        a, b = self.ends
        return (b - a) * (b + a) / 2

    def shown(self, area: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return areas as they are shown: raw, or on McClish's scale where chance is 1/2."""
        if not self.mcclish:
            return area
        return (1 + (area - self.chance) / (self.b - self.a - self.chance)) / 2

    @property
    def slope(self) -> float:
        """How much the shown area changes with the raw one."""
        return 0.5 / (self.b - self.a - self.chance) if self.mcclish else 1.0


class Steps(NamedTuple):
    """Steps of a block on the axes of a part: integrated over x, from (x0, y0) to (x1, y1)."""

    x0: NDArray[Any]
    x1: NDArray[Any]
    y0: NDArray[Any]
    y1: NDArray[Any]

    def height(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the height of each step's line at `x`; the upper end where it stands upright."""
        width = self.x1 - self.x0
        with np.errstate(divide="ignore", invalid="ignore"):
            along = np.where(width > 0, (x - self.x0) / width, 1.0)
        height: NDArray[np.float64] = self.y0 + np.clip(along, 0, 1) * (self.y1 - self.y0)
        return height


class Side(NamedTuple):
    """One class: its rows and mass in each group, the unscored among it, and their squares."""

    rows: NDArray[np.int64]
    mass: NDArray[Any]
    unscored: NDArray[Any]
    unscored_squares: NDArray[Any]


def partial_areas(walk: Walked, part: Part) -> tuple[NDArray[np.float64], ...]:
    """Return the area over the part, and with ties at their worst and at their best."""
    a, b = part.ends

    def one(block: Block) -> list[NDArray[np.float64]]:
        step = _steps(walk, block, part)
        left, right = np.clip(step.x0, a, b), np.clip(step.x1, a, b)
        heights = (step.height((left + right) / 2), step.y0, step.y1)
        return [np.add.reduceat((right - left) * high, block.starts[:-1]) for high in heights]

    areas = _added(walk, walk.each(one), 3)
    areas[:, (walk.totals.pos == 0) | (walk.totals.neg == 0)] = np.nan
    return tuple(areas)


class PartialPlacements(NamedTuple):
    """What each row adds to the area over a part, as a share of its class.

    `low` and `high` are the heights of each group's curve at the ends of the part, `lost` what an
    unscored row of the class across, or along, the axis adds.
    """

    walk: Walked
    part: Part
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    lost: NDArray[np.float64]

    @classmethod
    def of(cls, walk: Walked, part: Part) -> PartialPlacements:
        """Work out what the rows of all blocks need to know of their groups."""
        low, high = _heights_at_ends(walk, part)
        totals = walk.totals
        mass = by_axis(part, totals.pos, totals.neg)[1]
        unscored = by_axis(part, totals.unscored_pos, totals.unscored_neg)[1]
        # An unscored row of the class along the axis ties at its very start, where the curve is 0,
        # unless the range begins after it; one of the other class lies beyond its end.
        with np.errstate(divide="ignore", invalid="ignore"):
            start = np.where(unscored / (2 * mass) < part.ends[0], low, 0.0)
        return cls(walk, part, low, high, np.array([np.zeros(len(start)), start]))

    def at(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return what a row of the class across, or along, the axis adds at each step."""
        a, b = self.part.ends
        step = _steps(self.walk, block, self.part)
        place = (step.x0 + step.x1) / 2
        inside = step.height(place)
        inside = np.where(place < a, block.of_steps(self.low), inside)
        inside = np.where(place > b, block.of_steps(self.high), inside)
        return b - np.clip(place, a, b), inside


def partial_placements(walk: Walk, part: Part) -> NDArray[np.float64]:
    """Return what each row of the frame adds to the area over a part, as a share of its class.

    The walk has to follow its rows.
    """
    influence = PartialPlacements.of(walk, part)
    lost = by_axis(part, *influence.lost)
    return scatter_to_rows(walk, lambda block: by_axis(part, *influence.at(block)), lost)


def partial_variance(walk: Walk, part: Part) -> NDArray[np.float64]:
    """Return the variance of the raw area, from the clipped placements of both classes."""
    across, along = _sides(walk, part)
    influence = PartialPlacements.of(walk, part)
    lost = influence.lost

    def sums(block: Block) -> list[NDArray[np.float64]]:
        masses = by_axis(part, block.pos, block.neg)
        return [
            np.add.reduceat(mass * values, block.starts[:-1])
            for mass, values in zip(masses, influence.at(block), strict=True)
        ]

    unscored = np.array([across.unscored, along.unscored])
    with np.errstate(divide="ignore", invalid="ignore"):
        means = _added(walk, walk.each(sums), 2) + unscored * lost
        means /= np.array([across.mass, along.mass])

    # Squares about the mean, in a second pass: their difference would hide a variance of 0.
    def squares(block: Block) -> list[NDArray[np.float64]]:
        spreads = by_axis(part, block.pos, block.neg)
        if block.pos_squares is not None:
            spreads = by_axis(part, block.pos_squares, block.neg_squares)
        return [
            np.add.reduceat(spread * (values - block.of_steps(mean)) ** 2, block.starts[:-1])
            for spread, values, mean in zip(spreads, influence.at(block), means, strict=True)
        ]

    around = _added(walk, walk.each(squares, squares=True), 2)
    around += np.array([across.unscored_squares, along.unscored_squares]) * (lost - means) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = sum(
            side.rows / (side.rows - 1) * sums / np.square(side.mass, dtype=float)
            for side, sums in zip((across, along), around, strict=True)
        )
    # Below the rounding of the placements themselves (1e-14, squared) there is no spread.
    variance = np.where(variance < 1e-28, 0.0, variance)
    return np.where((across.rows < 2) | (along.rows < 2), np.nan, variance)


def by_axis(part: Part, pos: Any, neg: Any) -> tuple[Any, Any]:
    """Return what belongs to the class across the axis, and to the one along it."""
    return (pos, neg) if part.rate == "fpr" else (neg, pos)


def _heights_at_ends(walk: Walked, part: Part) -> NDArray[np.float64]:
    """Return the height of each group's curve at both ends of the range, the better at a jump."""
    heights = np.zeros((2, len(walk.totals.pos)))

    def one(block: Block) -> list[tuple[Any, Any]]:
        step = _steps(walk, block, part)
        owner = np.repeat(block.groups, np.diff(block.starts))
        found = []
        for end in part.ends:
            holds = np.flatnonzero((step.x0 <= end) & (end <= step.x1))
            found.append((owner[holds], step.height(np.full(len(owner), end))[holds]))
        return found

    for ends in walk.each(one):
        for height, (owner, values) in zip(heights, ends, strict=True):
            np.fmax.at(height, owner, values)  # NaN where a class is absent
    return heights


def _added(
    walk: Walked, parts: list[list[NDArray[np.float64]]], columns: int
) -> NDArray[np.float64]:
    """Add up what the blocks found for their groups."""
    total = np.zeros((columns, len(walk.totals.pos)))
    for piece, part in zip(walk.pieces, parts, strict=True):
        total[:, piece.groups] += np.array(part)
    return total


def _sides(walk: Walk, part: Part) -> tuple[Side, Side]:
    """Return the class that is counted across the axis, and the one along it."""
    totals, tails = walk.totals, walk.rows.tails
    pos = Side(totals.pos_rows, totals.pos, tails.pos_mass, tails.pos_squares)
    neg = Side(totals.neg_rows, totals.neg, tails.neg_mass, tails.neg_squares)
    return by_axis(part, pos, neg)


def _steps(walk: Walked, block: Block, part: Part) -> Steps:
    """Return the steps as rates: of the curve itself, or mirrored for a TPR range."""
    pos, neg = block.of_steps(walk.totals.pos), block.of_steps(walk.totals.neg)
    unscored = block.of_steps(walk.totals.unscored_neg)
    with np.errstate(divide="ignore", invalid="ignore"):
        x0, x1 = (block.fp0 + unscored) / neg, (block.fp + unscored) / neg
        y0, y1 = block.tp0 / pos, block.tp / pos
    if part.rate == "fpr":
        return Steps(x0, x1, y0, y1)
    return Steps(1 - y1, 1 - y0, 1 - x1, 1 - x0)
