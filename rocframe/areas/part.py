"""Which part of a curve a partial area is over, and the scale it is shown on.

References
----------
D. K. McClish (1989), "Analyzing a portion of the ROC curve", Medical Decision Making 9(3),
190-195. doi:10.1177/0272989X8900900307
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rocframe.errors import OptionValueError
from rocframe.options import as_numbers, check_choice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
