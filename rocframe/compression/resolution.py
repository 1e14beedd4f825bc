"""Options for the rounding of scores, checked and parsed into one record."""

from __future__ import annotations

from dataclasses import dataclass

from rocframe.errors import OptionValueError
from rocframe.inputs.score_cells import MAX_RESOLUTION, power_of_two_below
from rocframe.options import check_flag, parse_number

RESOLUTIONS = (2.0**-1000, MAX_RESOLUTION)
RELATIVE_RESOLUTIONS = (2.0**-52, 1.0)


@dataclass(frozen=True, slots=True)
class Rounding:
    """How scores are rounded down: to multiples of `resolution`, which is a power of two or 0.

    Scores are not rounded if the resolution is 0. If `relative` is true, the resolution is relative
    to the largest power of two that is not above the absolute score.
    """

    resolution: float = 0.0
    relative: bool = False

    @classmethod
    def parse(cls, resolution: float | None, relative: bool) -> Rounding:
        """Return the rounding for the options of `compress`, after a check."""
        check_flag("relative", relative)
        if resolution is None:
            if relative:
                problem = "resolution= is not given"
                hint = "Use, for example, resolution=0.01, relative=True."
                raise OptionValueError.compose("relative", relative, problem, hint)
            return cls()
        low, high = RELATIVE_RESOLUTIONS if relative else RESOLUTIONS
        hint = "Use, for example, resolution=0.001, or leave out resolution= to round no score."
        parse_number("resolution", resolution, low=0, hint=hint)
        number = parse_number("resolution", resolution, low=low, high=high, example=0.001)
        return cls(power_of_two_below(number), relative)
