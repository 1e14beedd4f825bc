"""Colors of charts in a page, on white paper and on dark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocframe.charts.style import DARK, LIGHT, Paint

if TYPE_CHECKING:
    from collections.abc import Mapping


NAMES = {"paper": "paper", "ink": "ink", "quiet": "quiet", "grid": "line"}


def _variable(name: str, color: str) -> str:
    # The color behind the comma is for pictures that are taken out of the page.
    return f"var(--{name}, {color})"


PAGE = Paint(
    **{ours: _variable(name, getattr(LIGHT, ours)) for ours, name in NAMES.items()},
    colors=tuple(_variable(f"color-{i}", color) for i, color in enumerate(LIGHT.colors)),
)

# What charts say themselves, and would keep.
OURS = {
    **{getattr(LIGHT, ours): getattr(PAGE, ours) for ours in NAMES},
    **dict(zip(LIGHT.colors, PAGE.colors, strict=True)),
}

# Where strings are no colors, but values of groups, whatever these are called.
DATA = {"data", "datasets", "domain", "sort", "description"}

WORDS = {"text", "subtitle"}  # of a title


def variables(paint: Paint) -> str:
    """Return the colors of a paint as lines of a style sheet."""
    named = {name: getattr(paint, ours) for ours, name in NAMES.items()}
    named |= {f"color-{i}": color for i, color in enumerate(paint.colors)}
    return " ".join(f"--{name}: {color};" for name, color in named.items())


def sheets() -> dict[str, str]:
    """Return the variables for either paper."""
    return {"light": variables(LIGHT), "dark": variables(DARK)}


def painted(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Put the names of colors in the place of ours; data stay as they are."""
    return {key: _part(key, part) for key, part in spec.items()}


def _part(key: str, part: Any) -> Any:
    if key == "title":
        titled = part.items() if isinstance(part, dict) else ()
        return {name: one if name in WORDS else _painted(one) for name, one in titled} or part
    return part if key in DATA else _painted(part)


def _painted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _part(key, part) for key, part in value.items()}
    if isinstance(value, list):
        return [_painted(part) for part in value]
    return OURS.get(value, value) if isinstance(value, str) else value


MOST = len(LIGHT.colors)


def alike(spec: Mapping[str, Any], values: list[str]) -> dict[str, Any]:
    """Give each value the color that it has in all charts of the page.

    `values` are those of all charts; the legend goes on listing those of this one.
    """
    if len(values) > MOST:
        return dict(spec)
    return {
        key: part if key in {*DATA, "title"} else _alike(part, values) for key, part in spec.items()
    }


def _alike(value: Any, values: list[str]) -> Any:
    if isinstance(value, list):
        return [_alike(part, values) for part in value]
    if not isinstance(value, dict):
        return value
    changed = {
        key: part if key in {*DATA, "title"} else _alike(part, values)
        for key, part in value.items()
    }
    scale = changed.get("scale")
    domain = scale.get("domain") if isinstance(scale, dict) else None
    if changed.get("type") == "nominal" and domain and set(domain) <= set(values):
        changed["scale"] = {"domain": values, "range": list(PAGE.colors[: len(values)])}
        if isinstance(changed.get("legend"), dict):
            changed["legend"] = {**changed["legend"], "values": domain}
    return changed
