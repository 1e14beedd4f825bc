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
# Of the viridis map as much as can be seen on white: equal steps look equal, also in gray.
RISING = ("#440154", "#482475", "#414487", "#355f8d", "#2a788e", "#21918c", "#22a884", "#44bf70")
GRID = "#e6e6e6"
CHANCE: dict[str, Any] = {"color": "#8a8a8a", "strokeDash": [4, 4], "strokeWidth": 1}
NOTE: dict[str, Any] = {"color": "#6b6b6b", "fontSize": 12}


def color_scale(domain: Sequence[str], *, ordered: bool = False) -> alt.Scale:
    """Give each value a color: ours, or those of a scheme if there are more values.

    Many values that have an order, such as days, have colors that rise with them.
    """
    if len(domain) <= len(COLORS):
        return alt.Scale(domain=list(domain), range=list(COLORS[: len(domain)]))
    if ordered:
        return alt.Scale(domain=list(domain), range=_rising(len(domain)))
    scheme: Literal["tableau10", "tableau20"] = "tableau10" if len(domain) <= 10 else "tableau20"
    return alt.Scale(domain=list(domain), scheme=scheme)


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
