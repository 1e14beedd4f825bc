"""Layers → a chart with its data, its title and, if there are any, its panels."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.layers import captioned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rocframe.charts.groups import Group

SIDE, PANEL, ABREAST = 380, 240, 3  # pixels, and panels in a row


def held(records: Sequence[Mapping[str, Any]]) -> alt.InlineData:
    """Return records as data that neither Altair's limit on rows nor a data transformer touches.

    Altair looks at every value of data but not into text; nor does it lay text out in lines.
    """
    values = dumps(records, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return alt.InlineData(values=values, format=alt.JsonDataFormat(type="json"))


def side_of(panel: str | None) -> int:
    """Return how wide the plane of a chart is, or of each of its panels."""
    return SIDE if panel is None else PANEL


def framed(
    chart: alt.LayerChart,
    *,
    title: str,
    subtitle: str,
    description: str,
    panel: str | None,
    groups: Mapping[str, Group],
    captions: Mapping[str, str],
) -> alt.LayerChart | alt.FacetChart:
    """Give a chart its title and what is said of it, and a panel for each value of a group.

    The data of the chart stand above its layers, so that .facet() finds them. `captions` are
    those of the panels.
    """
    below: Any = subtitle or alt.Undefined
    head = {"title": alt.Title(title, subtitle=below, anchor="start"), "description": description}
    if panel is None:
        # In place: .properties copies all layers.
        for name, value in head.items():
            setattr(chart, name, value)
        return chart
    panels = groups[panel]
    header = alt.Header(title=panels.title, labelLimit=0, labelExpr=captioned(captions))
    facet = alt.Facet(f"{panel}:N", sort=list(panels.values), header=header)
    return chart.facet(facet, columns=ABREAST).properties(**head)
