"""Partial areas under the ROC curve (McClish 1989) and their variance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rocframe.areas.pairs import group_sums, scatter_to_rows
from rocframe.areas.steps import Steps
from rocframe.areas.variance import VarianceParts, class_variances, obuchowski_variance
from rocframe.errors import OptionValueError
from rocframe.inference.bootstrap import Statistic
from rocframe.kernel.resample import ReplicateStatistic
from rocframe.options import check_choice, to_floats
from rocframe.rates import as_fpr_or_tpr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rocframe.areas.variance import Clusters
    from rocframe.inference.bootstrap import Influences
    from rocframe.kernel.resample import ReplicateScan
    from rocframe.kernel.scan import Block, Scan, Scannable


Range = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RateRange:
    """The range of a partial area: FPR or TPR from `low` to `high`.

    `mcclish` is true if the area is standardized by McClish's method.
    """

    rate: Literal["fpr", "tpr"]
    low: float
    high: float
    mcclish: bool

    @classmethod
    def parse(cls, rates: Mapping[str, object], standardize: str | None) -> RateRange | None:
        """Check the options, and return the range; None if no rate is given.

        `rates` are the arguments `fpr`, `tpr`, `specificity` and `sensitivity`.
        """
        check_choice("standardize", standardize, ("mcclish", None))
        given = [name for name, ends in rates.items() if ends is not None]
        if len(given) > 1:
            raise OptionValueError.compose(
                given[1],
                rates[given[1]],
                f"{given[0]}= is given as well",
                f"A partial area has one range: pass either {given[0]}= or {given[1]}=.",
            )
        if not given:
            if standardize is not None:
                raise OptionValueError.compose(
                    "standardize",
                    standardize,
                    "only partial areas can be standardized",
                    "Pass fpr= or tpr=.",
                )
            return None
        (name,) = given
        example = (
            f"Use, for example, {name}={'(0, 0.1)' if name in {'fpr', 'tpr'} else '(0.9, 1)'}."
        )
        first, last = parse_ends(name, rates[name], example)
        if not (0 <= first <= 1 and 0 <= last <= 1 and first != last):
            problem = "expected two different numbers between 0 and 1"
            raise OptionValueError.compose(name, rates[name], problem, example)
        if first > last:
            raise _reversed_range(name, rates[name], first, last)
        rate, ends = as_fpr_or_tpr(name, (first, last))
        return cls(
            rate=rate,  # type: ignore[arg-type]
            low=min(ends),
            high=max(ends),
            mcclish=standardize == "mcclish",
        )

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of the range on the axis of integration: FPR for an FPR range, else 1 - TPR."""
        return (self.low, self.high) if self.rate == "fpr" else (1 - self.high, 1 - self.low)

    @property
    def chance(self) -> float:
        """Partial area of random scores over the range."""
        low, high = self.ends
        return (high - low) * (high + low) / 2

    def standardize(self, area: Any) -> Any:
        """Return McClish's standardized areas, which are 1/2 for chance and at most 1.

        If `mcclish` is false, return the areas unchanged. `area` is an array or an expression.
        """
        if not self.mcclish:
            return area
        return (1 + (area - self.chance) / (self.high - self.low - self.chance)) / 2

    @property
    def slope(self) -> float:
        """Derivative of the standardized area with respect to the area."""
        return 0.5 / (self.high - self.low - self.chance) if self.mcclish else 1.0

    def order_classes(self, pos: Any, neg: Any) -> tuple[Any, Any]:
        """Return the values of both classes in the order y class, x class.

        The x class determines the rate on the axis of integration: negatives for an FPR range, and
        positives for a TPR range.
        """
        return (pos, neg) if self.rate == "fpr" else (neg, pos)

    def areas(self, scan: Scannable) -> tuple[NDArray[np.float64], ...]:
        """Return three partial areas of each group: with ties counted as 1/2, as 0 and as 1.

        The curve at a tie is a straight line for 1/2, the step below this line for 0, and the step
        above this line for 1. The areas are not standardized.
        """
        low, high = self.ends

        def integrate(block: Block) -> list[NDArray[np.float64]]:
            segment = Segments.from_block(scan, block, self)
            left, right = np.clip(segment.x0, low, high), np.clip(segment.x1, low, high)
            heights = (segment.height((left + right) / 2), segment.y0, segment.y1)
            return [
                np.add.reduceat((right - left) * height, block.starts[:-1]) for height in heights
            ]

        areas = group_sums(scan, scan.map(integrate), 3)
        areas[:, (scan.totals.pos == 0) | (scan.totals.neg == 0)] = np.nan
        return tuple(areas)

    def variance(
        self,
        scan: Scan,
        clusters: Clusters | None = None,
        weight: NDArray[np.float64] | None = None,
    ) -> VarianceParts:
        """Return DeLong's variance of each area, or Obuchowski's if rows are in clusters."""
        if clusters is None:
            return partial_variance(scan, self)
        return obuchowski_variance(clusters, partial_placements(scan, self), weight)

    def statistic(self) -> Statistic:
        """Return the area before standardization as a `Statistic` for the bootstrap."""
        return Statistic(
            replicate=ReplicateStatistic(function=lambda sample: self.areas(sample)[0]),
            influence=lambda sample: partial_influence(sample, self),
            bounds=(0.0, self.high - self.low),
        )


def parse_ends(argument: str, value: object, example: str) -> tuple[float, float]:
    """Return the two ends of a range, which must be a pair of numbers."""
    ends = to_floats(value)
    if ends is None or len(ends) != 2:
        raise OptionValueError.compose(argument, value, "expected a pair of numbers", example)
    return ends[0], ends[1]


def _reversed_range(argument: str, value: object, first: float, last: float) -> OptionValueError:
    """Return the error for a range that starts with its larger number, as in pROC."""
    hint = f"Use {argument}=({last:g}, {first:g})."
    if argument == "fpr":
        low, high = as_fpr_or_tpr("specificity", (first, last))[1]
        hint += (
            f" For specificities from {last:g} to {first:g}, which pROC writes as "
            f"partial.auc=c({first:g}, {last:g}), use specificity=({last:g}, {first:g}) or "
            f"fpr=({low:g}, {high:g})."
        )
    problem = "the first number is larger than the second"
    return OptionValueError.compose(argument, value, problem, hint)


class Segments(NamedTuple):
    """Segments of ROC curves from (x0, y0) to (x1, y1), where x is the axis of integration."""

    x0: NDArray[Any]
    x1: NDArray[Any]
    y0: NDArray[Any]
    y1: NDArray[Any]

    @classmethod
    def from_block(cls, scan: Scannable, block: Block, rate_range: RateRange) -> Segments:
        """Return the segments of the curves in a block, one for each distinct score.

        The axes (x, y) are (FPR, TPR) for an FPR range, and (1 - TPR, 1 - FPR) for a TPR range.
        """
        x0, x1, y0, y1 = Steps.from_block(scan, block).rates("fp0", "fp", "tp0", "tp")
        if rate_range.rate == "fpr":
            return cls(x0, x1, y0, y1)
        return cls(1 - y1, 1 - y0, 1 - x1, 1 - x0)

    def height(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return y of each segment at `x`; for a vertical segment, y of the upper end."""
        width = self.x1 - self.x0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            fraction = np.where(width > 0, (x - self.x0) / width, 1.0)
        height: NDArray[np.float64] = self.y0 + np.clip(fraction, 0, 1) * (self.y1 - self.y0)
        return height


class ClippedPlacements(NamedTuple):
    """Placement values for a partial area: derivatives of the area with respect to row weights.

    A constant is added to the values of each class, which does not change variances. `low` and
    `high` are the y values of the curve of each group at the ends of the range. `unscored` has the
    values of unscored rows of each group, in the order of `RateRange.order_classes`.
    """

    scan: Scannable
    rate_range: RateRange
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    unscored: NDArray[np.float64]

    @classmethod
    def from_scan(cls, scan: Scannable, rate_range: RateRange) -> ClippedPlacements:
        """Return the `ClippedPlacements` of a range; the method `at` computes the values."""
        low, high = _heights_at_ends(scan, rate_range)
        totals = scan.totals
        _, weight = rate_range.order_classes(totals.pos, totals.neg)
        _, unscored = rate_range.order_classes(totals.unscored_pos, totals.unscored_neg)
        # Unscored rows of the x class cover the x values from 0 to the first point of the curve,
        # where y is 0. The value of these rows is 0, unless the range begins to the right of these
        # x values. Unscored rows of the y class have the value 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            start = np.where(unscored / weight <= rate_range.ends[0], low, 0.0)
        return cls(scan, rate_range, low, high, np.array([np.zeros(len(start)), start]))

    def at(self, block: Block) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the placement values at each distinct score: of the y class, and of the x class.

        For an FPR range, the x class is the class of negatives. For a TPR range, the x class is the
        class of positives.
        """
        start, stop = self.rate_range.ends
        segment = Segments.from_block(self.scan, block, self.rate_range)
        left, right = np.clip(segment.x0, start, stop), np.clip(segment.x1, start, stop)
        # The value of the rows with a score is the mean over the segment of this score. Parts of
        # the segment outside the range have the value at the nearest end of the range.
        before = np.minimum(segment.x1, start) - np.minimum(segment.x0, start)
        after = np.maximum(segment.x1, stop) - np.maximum(segment.x0, stop)
        width = segment.x1 - segment.x0
        with np.errstate(divide="ignore", invalid="ignore"):
            before, after = (np.where(width > 0, part / width, 0.0) for part in (before, after))
        inside = 1 - before - after
        middle = (left + right) / 2
        x = before * start + inside * middle + after * stop
        low, high = block.of_steps(self.low), block.of_steps(self.high)
        height = before * low + inside * segment.height(middle) + after * high
        return stop - x, height


def _heights_at_ends(scan: Scannable, rate_range: RateRange) -> NDArray[np.float64]:
    """Return the y value of each curve at both ends of the range; at a jump, the upper value."""
    heights = np.zeros((2, len(scan.totals.pos)))

    def at_ends(block: Block) -> list[tuple[Any, Any]]:
        segment = Segments.from_block(scan, block, rate_range)
        group = np.repeat(block.groups, np.diff(block.starts))
        heights_at_ends = []
        for end in rate_range.ends:
            contains = np.flatnonzero((segment.x0 <= end) & (end <= segment.x1))
            height = segment.height(np.full(len(group), end))
            heights_at_ends.append((group[contains], height[contains]))
        return heights_at_ends

    for ends in scan.map(at_ends):
        for height, (group, values) in zip(heights, ends, strict=True):
            np.fmax.at(height, group, values)  # the values are NaN if a class is absent
    return heights


def partial_placements(scan: Scan, rate_range: RateRange) -> NDArray[np.float64]:
    """Return the placement value of each row of the frame for a partial area.

    The scan must have the positions of rows in the frame.
    """
    placements = ClippedPlacements.from_scan(scan, rate_range)
    unscored = rate_range.order_classes(*placements.unscored)
    return scatter_to_rows(
        scan, lambda block: rate_range.order_classes(*placements.at(block)), unscored
    )


def partial_variance(scan: Scan, rate_range: RateRange) -> VarianceParts:
    """Return DeLong's variance of the partial area before standardization."""
    placements = ClippedPlacements.from_scan(scan, rate_range)
    totals, unscored_totals = scan.totals, scan.rows.unscored
    weight = np.array(rate_range.order_classes(totals.pos, totals.neg))
    unscored = np.array(
        rate_range.order_classes(unscored_totals.pos_weight, unscored_totals.neg_weight)
    )
    unscored_squares = np.array(
        rate_range.order_classes(unscored_totals.pos_squares, unscored_totals.neg_squares)
    )

    def sums(block: Block) -> list[NDArray[np.float64]]:
        return [
            np.add.reduceat(weight * values, block.starts[:-1])
            for weight, values in zip(
                rate_range.order_classes(block.pos, block.neg), placements.at(block), strict=True
            )
        ]

    with np.errstate(divide="ignore", invalid="ignore"):
        means = group_sums(scan, scan.map(sums), 2) + unscored * placements.unscored
        means /= weight

    # Squared deviations from the mean are summed in a second pass. If the variance were computed as
    # a difference of two sums, a variance of 0 would have rounding errors.
    def squares(block: Block) -> list[NDArray[np.float64]]:
        weights = rate_range.order_classes(block.pos, block.neg)
        if block.pos_squares is not None:
            weights = rate_range.order_classes(block.pos_squares, block.neg_squares)
        return [
            np.add.reduceat(weight * (values - block.of_steps(mean)) ** 2, block.starts[:-1])
            for weight, values, mean in zip(weights, placements.at(block), means, strict=True)
        ]

    centered = group_sums(scan, scan.map(squares, squares=True), 2)
    centered += unscored_squares * (placements.unscored - means) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        centered /= np.square(weight, dtype=float)
    rows = totals.pos_rows, totals.neg_rows
    return VarianceParts.of_classes(
        rows, *class_variances(rows, rate_range.order_classes(*centered))
    )


def partial_influence(sample: ReplicateScan, rate_range: RateRange) -> Influences:
    """Return the influence values of a partial area at each score: of positives, of negatives.

    An influence value is the centered placement value, divided by the total weight of the class.
    The last value of each array is for unscored rows.
    """
    block, totals = sample.block, sample.totals
    placements = ClippedPlacements.from_scan(sample, rate_range)
    steps = rate_range.order_classes(*placements.at(block))
    unscored = rate_range.order_classes(*placements.unscored[:, 0])
    weights = (
        np.append(block.pos, totals.unscored_pos[0]),
        np.append(block.neg, totals.unscored_neg[0]),
    )

    def centered(values: NDArray[np.float64], weight: NDArray[np.float64]) -> NDArray[np.float64]:
        total = weight.sum()
        shares: NDArray[np.float64] = (values - (weight * values).sum() / total) / total
        return shares

    pos, neg = (
        centered(np.append(values, last), weight)
        for values, last, weight in zip(steps, unscored, weights, strict=True)
    )
    return pos, neg
