"""Two rows of a curve, and a value that a metric passes → how far from the one to the other it is.

Counts are linear between two rows. Most metrics are one linear function of them over another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rocframe.vocabulary import CONFUSION, THRESHOLD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rocframe.averages.measures import Measure
    from rocframe.averages.places import Track

HALVINGS = 54  # of a segment: what is left is less than a float can tell
CLOSE = 1e-11  # of the way that a metric has between two rows


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Between:
    """Some pairs of rows, each with a value that the metric passes between them."""

    measure: Measure
    value: NDArray[np.float64]
    threshold: NDArray[np.float64]
    start: dict[str, NDArray[np.float64]]
    step: dict[str, NDArray[np.float64]]
    totals: tuple[NDArray[np.float64], NDArray[np.float64]]

    @classmethod
    def of(
        cls,
        track: Track,
        measure: Measure,
        above: NDArray[np.int64],
        below: NDArray[np.int64],
        value: NDArray[np.float64],
    ) -> Between:
        """Read the counts of the rows."""
        walk = track.curves.walk
        curve = np.searchsorted(track.curves.starts, above, "right") - 1
        start = {name: walk[name][above].astype(np.float64) for name in CONFUSION}
        return cls(
            measure=measure,
            value=value,
            threshold=walk[THRESHOLD][above],
            start=start,
            step={name: walk[name][below] - start[name] for name in CONFUSION},
            totals=(track.pos[curve], track.neg[curve]),
        )

    @property
    def mix(self) -> NDArray[np.float64]:
        """How far it is, from 0 at the row above to 1 at the row below."""
        if not len(self.value):
            return self.value
        if self.measure.share is not None:
            return self._of_share(*self.measure.share.part, whole=self.measure.share.whole)
        mix, rest = self._of_fraction()
        mix[rest] = self._where(rest).halved()
        return mix

    def at(self, mix: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the metric so far between the rows."""
        tp, fp = (self.start[name] + mix * self.step[name] for name in ("tp", "fp"))
        return self.measure.at(self.threshold, tp, fp, *self.totals)

    def _of_share(self, *part: str, whole: tuple[str, ...]) -> NDArray[np.float64]:
        """Solve for a share, whose two counts are known."""

        def off(counts: dict[str, NDArray[np.float64]]) -> NDArray[np.float64]:
            shares, out_of = (
                np.sum([counts[name] for name in names], axis=0) for names in (part, whole)
            )
            difference: NDArray[np.float64] = shares - self.value * out_of
            return difference

        start, step = off(self.start), off(self.step)
        mix = np.divide(start, -step, out=np.zeros(len(start)), where=step != 0)
        return np.clip(mix, 0, 1)

    def _of_fraction(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Solve as for a fraction that is linear above and below; say where that is no solution.

        Of such a fraction the ends and the middle tell all.
        """
        first, middle, last = (self.at(np.full(len(self.value), at)) for at in (0, 0.5, 1))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            weight = (first - middle) / (middle - last)  # of the last denominator per first
            off = first - self.value
            mix = np.clip(off / (off - weight * (last - self.value)), 0, 1)
            found = np.abs(self.at(mix) - self.value) <= CLOSE * np.abs(last - first)
        found &= np.isfinite(first) & np.isfinite(last)
        return np.where(found, mix, 0.0), ~found

    def _where(self, some: NDArray[np.bool_]) -> Between:
        pos, neg = self.totals
        return Between(
            measure=self.measure,
            value=self.value[some],
            threshold=self.threshold[some],
            start={name: counts[some] for name, counts in self.start.items()},
            step={name: counts[some] for name, counts in self.step.items()},
            totals=(pos[some], neg[some]),
        )

    def halved(self) -> NDArray[np.float64]:
        """Halve what is between the rows, until the value is between no two floats."""
        low, high = np.zeros(len(self.value)), np.ones(len(self.value))
        rising = self.at(high) > self.value
        for _ in range(HALVINGS if len(self.value) else 0):
            middle = (low + high) / 2
            found = self.at(middle)
            before = np.where(rising, found < self.value, found > self.value)
            low, high = np.where(before, middle, low), np.where(before, high, middle)
        return high
