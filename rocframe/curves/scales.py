"""How the axes of a kind may be displayed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from rocframe.errors import OptionValueError
from rocframe.options import check_choice

if TYPE_CHECKING:
    from rocframe.curves.kinds import Kind

Scale = Literal["linear", "log", "normal_deviate"]

RATES = {"fpr", "tpr", "fnr", "alert_rate"}  # which rise or fall, and run from 0 to 1


def scale_of(kind: Kind, scale: str | None) -> Scale:
    """Return the scale asked for, or the one that the kind has in charts."""
    check_choice("scale", scale, (*get_args(Scale), None))
    if scale is None:
        return "normal_deviate" if kind.name == "det" else "linear"
    if scale == "normal_deviate" and not {kind.x, kind.y} <= RATES:
        raise OptionValueError.of(
            "scale",
            scale,
            f"{kind.x!r} and {kind.y!r} are not two rates from 0 to 1 that only rise or fall",
            "Normal deviates are for kind='det', 'roc' or 'gain'; leave scale= out.",
        )
    return scale  # type: ignore[return-value]
