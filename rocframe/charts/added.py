"""Options of `chart` → the parts that are drawn beside the curves, and the words for them."""

from __future__ import annotations

from math import isnan
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rocframe.areas.under import areas_of_ties
from rocframe.charts.equal_cost import equal_costs
from rocframe.charts.marks import marks, named
from rocframe.charts.parts import hulls
from rocframe.charts.tied import ties
from rocframe.errors import BrokenCurveError, OptionValueError

if TYPE_CHECKING:
    from rocframe.charts.asked import Asked
    from rocframe.charts.groups import Group
    from rocframe.charts.parts import Scene
    from rocframe.curves.kinds import Kind
    from rocframe.curves.table import Curves

# The kinds that can be drawn with an option.
HAVING = {
    "hull": ("roc", "gain", "lift_chart"),
    "costs": ("roc",),
    "prevalence": ("roc",),
    "ties": ("roc", "gain", "lift_chart"),
}
MOST = 10  # values that a description lists


def parts_of(scene: Scene, asked: Asked) -> list[dict[str, Any]]:
    """Return records of all that was asked for beside the curves."""
    kind = scene.plane.kind
    for option in HAVING:
        value = getattr(asked, option)
        if option in {"hull", "ties"}:
            _check_switch(option, value)
        if value is not None and value is not False:
            _check_kind(option, value, kind)
    parts = []
    if asked.ties:
        parts += ties(scene)
    if asked.hull:
        parts += hulls(scene)
    if asked.costs is not None or asked.prevalence is not None:
        parts += equal_costs(scene, asked.costs, asked.prevalence)
    return [*parts, *marks(scene, asked.mark)]


def _check_switch(option: str, value: object) -> None:
    if not isinstance(value, bool):
        raise OptionValueError.of(option, value, "it is neither True nor False", "Give one.")


def _check_kind(option: str, value: object, kind: Kind) -> None:
    having = HAVING[option]
    if kind.name in having:
        return
    wrong = f"{kind.title} charts cannot show it"
    todo = f"Those of kind={', '.join(map(repr, having))} can. Leave it out."
    raise OptionValueError.of(option, value, wrong, todo)


def described(curves: Curves, told: Group | None, asked: Asked) -> str:
    """Say what stands beside the curves, for those who cannot see it."""
    said = ""
    if asked.ties:
        said += _between(curves, told)
    if asked.hull:
        said += " Thin dashed lines are convex hulls."
    if asked.costs is not None or asked.prevalence is not None:
        said += " A thin line of equal expected cost touches each curve."
    if asked.mark is not None:
        names = [name for name in named(asked.mark) if name is not None]
        said += f" Points are marked: {', '.join(names)}." if names else " Points are marked."
    return said


def _between(curves: Curves, told: Group | None) -> str:
    """Say between which two areas the order of tied rows could move each."""
    try:
        _, low, high = areas_of_ties(curves)
    except BrokenCurveError:  # made with thresholds=, and so without its end
        return ""
    values = [""] * len(low) if told is None else told.texts
    here: dict[str, list[tuple[float, float]]] = {}
    for value, *ends in zip(values, low.tolist(), high.tolist(), strict=True):
        if not isnan(ends[0]):
            here.setdefault(value, []).append((ends[0], ends[1]))
    listed = [
        f"{value} {fmean(a for a, _ in ends):.3f} to {fmean(b for _, b in ends):.3f}".strip()
        for value, ends in here.items()
    ]
    more = f" and {len(listed) - MOST} more" if len(listed) > MOST else ""
    what = "areas" if told is None or len(set(told.places)) == len(told.places) else "mean areas"
    if not listed:
        return ""
    return f" Depending on the order of ties, ROC {what} are {', '.join(listed[:MOST])}{more}."
