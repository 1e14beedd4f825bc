"""Colors and strokes that all charts share.

References
----------
M. Okabe, K. Ito (2008), "Color universal design: how to make figures and presentations that are
friendly to colorblind people".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import altair as alt

if TYPE_CHECKING:
    from collections.abc import Sequence

# Okabe and Ito's eight in an order that starts with the strongest; their yellow is too faint for
# a line on white, so a wine red takes its place.
COLORS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#882255",
    "#333333",
)
GRID = "#e6e6e6"
CHANCE: dict[str, Any] = {"color": "#8a8a8a", "strokeDash": [4, 4], "strokeWidth": 1}


def color_scale(domain: Sequence[str]) -> alt.Scale:
    """Give each value a color: ours, or one of Vega's schemes if there are more values."""
    if len(domain) <= len(COLORS):
        return alt.Scale(domain=list(domain), range=list(COLORS[: len(domain)]))
    scheme: Literal["tableau10", "tableau20"] = "tableau10" if len(domain) <= 10 else "tableau20"
    return alt.Scale(domain=list(domain), scheme=scheme)


def stroke(*, crowded: bool) -> dict[str, Any]:
    """Return the line of a curve: thin and translucent where many share a color."""
    if crowded:
        return {"strokeWidth": 1, "opacity": 0.5}
    return {"strokeWidth": 2}
