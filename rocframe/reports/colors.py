"""Colors of the charts in a page: CSS variables, which differ between light and dark mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rocframe.charts.style import DARK, LIGHT, Palette

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


CSS_VARIABLES = {"background": "paper", "foreground": "ink", "muted": "quiet", "grid": "line"}


def _css_variable(name: str, color: str) -> str:
    # The color after the comma is used where the variable is not defined: in images that the reader
    # saves from the page.
    return f"var(--{name}, {color})"


PAGE_STYLE = Palette(
    **{part: _css_variable(name, getattr(LIGHT, part)) for part, name in CSS_VARIABLES.items()},
    colors=tuple(_css_variable(f"color-{i}", color) for i, color in enumerate(LIGHT.colors)),
)

# Colors in the specification of a chart, and the CSS variables that replace them.
REPLACEMENTS = {
    **{getattr(LIGHT, part): getattr(PAGE_STYLE, part) for part in CSS_VARIABLES},
    **dict(zip(LIGHT.colors, PAGE_STYLE.colors, strict=True)),
}

# Parts of a specification that contain names and values of the user. They are not changed, because
# a name can be equal to the text of a color.
DATA_KEYS = {"data", "datasets", "domain", "sort", "description"}
TITLE_TEXT_KEYS = {"text", "subtitle"}


def style_sheets() -> dict[str, str]:
    """Return CSS with the definitions of the color variables, by mode: "light" and "dark"."""
    return {"light": _definitions(LIGHT), "dark": _definitions(DARK)}


def dark_colors() -> dict[str, str]:
    """Return the colors of the dark mode, by the name of their variable."""
    return _variables(DARK)


def _definitions(style: Palette) -> str:
    return " ".join(f"--{name}: {color};" for name, color in _variables(style).items())


def _variables(style: Palette) -> dict[str, str]:
    colors = {name: getattr(style, part) for part, name in CSS_VARIABLES.items()}
    return colors | {f"color-{i}": color for i, color in enumerate(style.colors)}


def with_page_colors(spec: Mapping[str, Any], values: Sequence[str] = ()) -> dict[str, Any]:
    """Return the specification of a chart with CSS variables instead of colors.

    `values` are the colored values of all charts of the page. Each value gets the same color in
    every chart. The legend of a chart lists only the values of this chart.
    """
    shared = list(values) if len(values) <= len(LIGHT.colors) else []
    return {key: _recolored(key, part, shared) for key, part in spec.items()}


def _recolored(key: str, value: Any, shared: list[str]) -> Any:
    if key in DATA_KEYS or (key == "title" and not isinstance(value, dict)):
        return value
    if isinstance(value, str):
        return REPLACEMENTS.get(value, value)
    if isinstance(value, list):
        return [_recolored("", part, shared) for part in value]
    if not isinstance(value, dict):
        return value
    unchanged = TITLE_TEXT_KEYS if key == "title" else set()
    result = {
        name: part if name in unchanged else _recolored(name, part, shared)
        for name, part in value.items()
    }
    scale = result.get("scale")
    domain = scale.get("domain") if isinstance(scale, dict) else None
    if result.get("type") == "nominal" and domain and set(domain) <= set(shared):
        result["scale"] = {"domain": shared, "range": list(PAGE_STYLE.colors[: len(shared)])}
        if isinstance(result.get("legend"), dict):
            result["legend"] = {**result["legend"], "values": domain}
    return result
