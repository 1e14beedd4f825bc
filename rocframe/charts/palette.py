"""Colors and strokes that all charts share, those of the theme `rocframe`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.theme import LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

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
