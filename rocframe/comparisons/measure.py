"""What is compared: whole areas, areas over a part, or one rate where the other is fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rocframe.areas.part import Part, Range
from rocframe.errors import OptionValueError
from rocframe.options import as_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Place: TypeAlias = float | Range


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What is compared, and the scale it is shown on.

    `part` is the range of a partial area; `at` the fixed rate and its value.
    """

    part: Part | None = None
    at: tuple[Literal["fpr", "tpr"], float] | None = None

    @classmethod
    def of(cls, fpr: Place | None, tpr: Place | None, standardize: str | None) -> Measure:
        """Read the three options: a number fixes a rate, a pair is the range of a partial area."""
        for name, place, other in (("fpr", fpr, tpr), ("tpr", tpr, fpr)):
            value = as_number(place)
            if value is None or other is not None or standardize is not None:
                continue
            if not 0 <= value <= 1:
                raise OptionValueError.of(
                    name,
                    value,
                    "it is no rate between 0 and 1",
                    f"Give a rate, say {name}=0.1, or the range of a partial area, "
                    f"say {name}=(0, 0.1).",
                )
            return cls(at=(name, value))  # type: ignore[arg-type]
        return cls(part=Part.of(fpr, tpr, standardize))  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        """What the columns of the two models begin with."""
        if self.at is not None:
            return "tpr" if self.at[0] == "fpr" else "fpr"
        return "auc" if self.part is None else "partial_auc"

    @property
    def slope(self) -> float:
        """How much the shown value changes with the raw one."""
        return 1.0 if self.part is None else self.part.slope

    @property
    def largest(self) -> float:
        """The largest difference of two shown values."""
        return 1.0 if self.part is None else self.part.slope * (self.part.b - self.part.a)

    def shown(self, value: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return raw areas on the scale they are shown on."""
        return value if self.part is None else self.part.shown(value)
