"""How the axes of a kind may be displayed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from rocframe.errors import OptionValueError
from rocframe.options import check_choice

if TYPE_CHECKING:
    from rocframe.curves.kinds import Kind

Scale: TypeAlias = Literal["linear", "log", "normal_deviate"]

# Which axes of a kind each scale spreads; the kinds without an entry do not have it.
SPREAD: dict[Scale, dict[str, tuple[str, ...]]] = {
    "log": {
        "roc": ("x",),
        "det": ("x", "y"),
        "gain": ("x",),
        "lift": ("x",),
        "lift_chart": ("x",),
    },
    "normal_deviate": {"roc": ("x", "y"), "det": ("x", "y")},
}


def scale_of(kind: Kind, scale: Scale | None) -> Scale:
    """Return the scale asked for, if the kind has it, or the kind's own."""
    if scale is None:
        return "normal_deviate" if kind.name == "det" else "linear"
    check_choice("scale", scale, [None, *get_args(Scale)])
    having = SPREAD.get(scale)
    if having is not None and kind.name not in having:
        raise OptionValueError.of(
            "scale",
            scale,
            f"{kind.title} charts have no such axes",
            f"Those of kind={', '.join(map(repr, having))} have. Leave it out.",
        )
    return scale
