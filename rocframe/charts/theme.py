"""Altair's themes `rocframe` and `rocframe_dark`: paper, ink and colors that can be told apart.

Altair finds them by the package's entry points: nothing is registered, let alone enabled, on
import. `alt.theme.enable("rocframe")` switches one on, and as a context manager off again.

References
----------
G. M. Machado, M. M. Oliveira, L. A. F. Fernandes (2009), "A physiologically-based model for
simulation of color vision deficiency". doi:10.1109/TVCG.2009.113

WCAG 2.2, success criterion 1.4.11, non-text contrast: at least 3 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    import altair as alt

FONT = "system-ui, sans-serif"


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
