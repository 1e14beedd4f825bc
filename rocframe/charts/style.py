"""Colors, strokes and themes of all charts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import altair as alt

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class Paint:
    """What a chart is drawn on, and with; any colors that CSS has.

    Of `colors`, the first eight are told apart with any kind of color vision. Every one has a
    contrast of 3 to 1 with the paper.
    """

    paper: str
    ink: str
    quiet: str
    grid: str
    colors: tuple[str, ...]

    def config(self) -> dict[str, Any]:
        """Return what Vega-Lite takes where a chart itself says nothing."""
        text = {"labelColor": self.quiet, "titleColor": self.ink}
        sizes = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
        lines = dict.fromkeys(("domainColor", "tickColor"), self.quiet)
        return {
            "background": self.paper,
            "font": FONT,
            "axis": {**text, **sizes, **lines, "gridColor": self.grid},
            "header": {**text, **sizes},
            "legend": {**text, **sizes},
            "title": {"color": self.ink, "subtitleColor": self.quiet, "fontSize": 14},
            "view": {"stroke": self.grid},
            "mark": {"color": self.colors[0]},
            "text": {"color": self.ink},
            "rule": {"color": self.quiet},
            "range": {"category": list(self.colors)},
        }


LIGHT = Paint(
    paper="#ffffff",
    ink="#1b1f24",
    quiet="#59636e",
    grid="#e3e6ea",
    colors=(
        *("#07469b", "#c67e15", "#007e69", "#9d89b1", "#ac5213", "#3a8cff", "#67335a", "#073810"),
        *("#f11272", "#0019ff", "#a04ead", "#92352f"),
    ),
)

COLORS = LIGHT.colors

TOLD_APART = 8  # of them, by any eyes

# Of the viridis map as much as can be seen on white: equal steps look equal, also in gray.
RISING = ("#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c", "#22a884", "#44bf70")

PAPER, INK, QUIET, GRID = LIGHT.paper, LIGHT.ink, LIGHT.quiet, LIGHT.grid

CHANCE: dict[str, Any] = {"color": QUIET, "strokeDash": [4, 4], "strokeWidth": 1}

NOTE: dict[str, Any] = {"color": QUIET, "fontSize": 12}


def color_scale(domain: Sequence[str], *, ordered: bool = False) -> alt.Scale:
    """Give each value a color: ours, or those of a scheme if there are more values.

    Many values that have an order, such as days, have colors that rise with them.
    """
    if ordered and len(domain) > TOLD_APART:
        return alt.Scale(domain=list(domain), range=_rising(len(domain)))
    if len(domain) <= len(COLORS):
        return alt.Scale(domain=list(domain), range=list(COLORS[: len(domain)]))
    return alt.Scale(domain=list(domain), scheme="tableau20")


def _rising(many: int) -> list[str]:
    """Return so many colors, evenly from the darkest to the lightest."""
    stops = [[int(color[at : at + 2], 16) for at in (1, 3, 5)] for color in RISING]
    colors = []
    for i in range(many):
        step, share = divmod(i * (len(stops) - 1) / (many - 1), 1)
        low, high = stops[int(step)], stops[min(int(step) + 1, len(stops) - 1)]
        mixed = (a + share * (b - a) for a, b in zip(low, high, strict=True))
        colors.append("#" + "".join(f"{round(part):02x}" for part in mixed))
    return colors


def stroke(*, crowded: bool) -> dict[str, Any]:
    """Return the line of a curve: thin and translucent where many share a color."""
    if crowded:
        return {"strokeWidth": 1, "opacity": 0.5}
    return {"strokeWidth": 2}


FONT = "system-ui, sans-serif"

DARK = Paint(
    paper="#14171b",
    ink="#e6e9ec",
    quiet="#9aa4ae",
    grid="#333a42",
    colors=(
        *("#3272cc", "#ffcf25", "#0fba92", "#ba96fb", "#fa7410", "#a8d9f1", "#975e57", "#edffc0"),
        *("#cf1a9c", "#29dbaa", "#ffa447", "#de0000"),
    ),
)


def light() -> alt.theme.ThemeConfig:
    """Return the theme `rocframe`: white paper."""
    return cast("alt.theme.ThemeConfig", {"config": LIGHT.config()})


def dark() -> alt.theme.ThemeConfig:
    """Return the theme `rocframe_dark`: the same on dark paper."""
    return cast("alt.theme.ThemeConfig", {"config": DARK.config()})
