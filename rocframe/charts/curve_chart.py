"""Pictures of curves → one Altair chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from rocframe.charts.beside import beside
from rocframe.charts.chance import CHANCE_SAID, chance
from rocframe.charts.frame import framed, held, side_of
from rocframe.charts.groups import by_group
from rocframe.charts.layers import lines, points, unfolded
from rocframe.charts.picture import pictured

if TYPE_CHECKING:
    import polars as pl

    from rocframe.charts.asked import Asked
    from rocframe.charts.picture import Picture
    from rocframe.tables import Table

MORE = ("box",)  # lists that only some charts have


def curve_chart(
    table: pl.DataFrame, _found: Table, asked: Asked
) -> alt.LayerChart | alt.FacetChart:
    """Draw the curves of a table."""
    return _charted(pictured(table, asked))


def _charted(picture: Picture) -> alt.LayerChart | alt.FacetChart:
    """Draw chance, lines and points on top of each other, in panels if there are any."""
    first = next(iter(picture.records), {})
    # The first layer is the one that .interactive() moves: it has to have both axes.
    layers = [lines(picture), chance(picture.plane), points(picture), *beside(picture)]
    chart = alt.LayerChart(
        layer=layers,
        data=held([*picture.records, *picture.parts]),
        width=side_of(picture.panel),
        height=side_of(picture.panel),
    )
    return framed(
        unfolded(chart, picture.plane, more=[name for name in MORE if name in first]),
        title=picture.plane.kind.title,
        # The area stands below the title where no legend has it.
        subtitle=picture.area if picture.told is None else "",
        description=described(picture),
        panel=picture.panel,
        groups=picture.groups,
        captions=picture.header,
    )


def described(picture: Picture) -> str:
    """Say what a chart shows, for those who cannot see it."""
    plane, told = picture.plane, picture.told
    count = "1 curve" if len(picture.records) == 1 else f"{len(picture.records)} curves"
    axes = f"{plane.y.title.lower()} against {plane.x.title.lower()}"
    text = f"{plane.called}, {count}: {axes}. {CHANCE_SAID[plane.kind.name]}"
    if told is None:
        return f"{text} {picture.area}.{picture.said}" if picture.area else text + picture.said
    return f"{text} {by_group(told, picture.captions)}{picture.said}"
