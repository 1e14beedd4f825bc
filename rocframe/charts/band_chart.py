"""Tables of bands → one Altair chart: each curve in the band of its limits."""

from __future__ import annotations

from itertools import pairwise
from math import nan
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from rocframe.charts.average_chart import (
    ENDS,
    POINTS,
    MeanPicture,
    layered,
    limits,
    lines,
    listed,
    thinned,
)
from rocframe.charts.axes import Plane, Side, positions, title
from rocframe.charts.curve_layers import CHANCE_SAID, RATE, chance, framed
from rocframe.charts.dot_plot import JOINT, ONLY
from rocframe.charts.groups import Group, assigned
from rocframe.charts.labels import field, keys_told, not_drawn
from rocframe.frames import column
from rocframe.kinds import KINDS
from rocframe.schemas import THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rocframe.charts.chart import Asked
    from rocframe.schemas import Table


WIDTH = 1.5

FEW, MOST = 3, 10  # groups that a subtitle and a description list

READ = {
    "x": "fpr",
    "y": "tpr",
    "x_low": "fpr_lower",
    "x_high": "fpr_upper",
    "y_low": "lower",
    "y_high": "upper",
}


def band_chart(table: pl.DataFrame, found: Table, asked: Asked) -> alt.LayerChart | alt.FacetChart:
    """Draw the bands of a table."""
    picture = _pictured(table, found.by, asked)
    layers = [lines(picture, WIDTH), chance(picture.plane), *limits(picture), _points(picture)]
    return framed(
        layered(picture, layers),
        title="ROC band",
        subtitle="; ".join(filter(None, (_scope(table), not_drawn(_missing(picture), FEW)))),
        description=_described(picture, table),
        panel=picture.panel,
        groups=picture.groups,
        captions={},
    )


def _pictured(table: pl.DataFrame, by: Sequence[str], asked: Asked) -> MeanPicture:
    """Read a table of bands, and choose what of it is drawn, and where."""
    channels = assigned(
        by, table.columns, color=asked.color, facet=asked.facet, detail=asked.detail
    )
    keys, starts, points = _read(table, by)
    kind = KINDS["roc"]
    x, y = (Side(name=name, title=title(kind, name)) for name in (kind.x, kind.y))
    plane = Plane(kind=kind, x=x, y=y)
    both = table.get_column("fpr_lower").null_count() < table.height
    kept = thinned(plane, points, starts, both=both)
    records: list[dict[str, Any]] = [
        {"curve": i} | {name: listed(points[name][start:end][kept[start:end]]) for name in POINTS}
        for i, (start, end) in enumerate(pairwise(starts))
    ]
    fields = {name: field(place) for place, name in enumerate(by) if records}
    groups = {field: Group.of(keys.get_column(name)) for name, field in fields.items()}
    for name, group in groups.items():
        for record, text in zip(records, group.texts, strict=True):
            record[name] = text
    return MeanPicture(
        plane=plane,
        averaged=("x", "y") if both else ("y",),
        records=records,
        groups=groups,
        color=None if channels.color is None else fields.get(channels.color),
        panel=None if channels.facet is None else fields.get(channels.facet),
        captions={},
        area="",
    )


def _read(
    table: pl.DataFrame, by: Sequence[str]
) -> tuple[pl.DataFrame, NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """Return the keys of each curve, where its points start, and all points from left to right."""
    keys = list(map(column, by))
    ordered = table.sort(*keys, "fpr", "tpr")
    number = pl.struct(keys).rle_id() if by else pl.lit(0, pl.UInt32)
    # Without groups there is one, unless the table is empty.
    heads = ordered.select(keys).unique(maintain_order=True) if by else pl.DataFrame(height=1)
    here = ordered.select(
        number.cast(pl.Int64).alias("group"),
        *(pl.col(source).fill_null(nan).alias(name) for name, source in READ.items()),
    ).filter(pl.col("x").is_not_nan() & pl.col("y").is_not_nan())
    points = {name: here.get_column(name).to_numpy(writable=True) for name in ENDS}
    for side in ("x", "y"):  # without limits the band is as thin as the line
        for end in (f"{side}_low", f"{side}_high"):
            points[end] = np.where(np.isnan(points[end]), points[side], points[end])
    points[THRESHOLD] = np.full(here.height, nan)
    starts = np.searchsorted(here.get_column("group").to_numpy(), np.arange(heads.height + 1))
    return heads, starts, points


def _points(picture: MeanPicture) -> alt.Chart:
    """Lay points that cannot be seen on the lines: their tooltips are rows of the table."""
    x, y = positions(picture.plane)
    ends = (
        READ if len(picture.averaged) == 2 else {k: READ[k] for k in ("x", "y", "y_low", "y_high")}
    )
    shown = [
        *keys_told(picture.groups),
        *(alt.Tooltip(f"{name}:Q", title=told, format=RATE) for name, told in ends.items()),
    ]
    layer: alt.Chart = (
        alt.Chart().mark_point(filled=True, size=80, opacity=0).encode(x=x, y=y, tooltip=shown)
    )
    return layer


def _scope(table: pl.DataFrame) -> str:
    """Say what the bands of a table promise."""
    promises = table.select("ci_level", "scope", "band").unique(maintain_order=True)
    levels, scopes, methods = (part.to_list() for part in promises)
    return ", ".join(
        f"{level:.4g} {scope} band: {method}"
        for level, scope, method in zip(levels, scopes, methods, strict=True)
    )


def _described(picture: MeanPicture, table: pl.DataFrame) -> str:
    """Say what a chart shows, for those who cannot see it."""
    count, plane = len(picture.records), picture.plane
    bands = "1 band" if count == 1 else f"{count} bands"
    axes = f"{plane.y.title.lower()} against {plane.x.title.lower()}"
    text = f"ROC band chart, {bands}: {axes}. {CHANCE_SAID[plane.kind.name]}"
    scope = _scope(table)
    text += f" {scope[0].upper()}{scope[1:]}." if scope else ""
    missing = not_drawn(_missing(picture), MOST)
    return f"{text} {missing[0].upper()}{missing[1:]}." if missing else text


def _missing(picture: MeanPicture) -> list[str]:
    """Return what the groups are called that have no curve."""
    parts = [group.texts for group in picture.groups.values()]
    named = [JOINT.join(part) for part in zip(*parts, strict=True)] or [ONLY]
    return [name for name, one in zip(named, picture.records, strict=False) if not one["x"]]
