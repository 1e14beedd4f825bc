"""The chart of averaged curves."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, isfinite, isnan, nan
from typing import TYPE_CHECKING, Any, cast

import altair as alt
import numpy as np
import polars as pl

from rocframe.areas.area import ROC_AREAS, area_of_mean
from rocframe.charts.axes import COUNT_TITLES, EMPTY, Plane, Side, positions, spanned
from rocframe.charts.curve_layers import (
    CHANCE_SAID,
    COUNT_DEPENDENT,
    RATE,
    THRESHOLD_TOOLTIP,
    chance,
    colored,
    framed,
    held,
    side_of,
)
from rocframe.charts.groups import Group, assigned, by_group, mean_area, telling
from rocframe.charts.labels import field, keys_told, legible
from rocframe.curves.thinning import corner_points
from rocframe.frames import collected, column
from rocframe.kinds import Kind, scale_of
from rocframe.options import NOT_GIVEN, parse_names
from rocframe.rates import NAMES
from rocframe.schemas import THRESHOLD, CurveAverage, curve_average_of, metric_average_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rocframe.charts.chart import Asked
    from rocframe.schemas import MetricAverage, Table


BAND, BAR, BOLD = 0.2, 0.6, 3.5

COVER = 0.5  # the opacities of all bands of a panel together: they lie over the lines

HELD = "held"

CHANCELESS = (*COUNT_DEPENDENT, HELD)  # whose line of chance depends on the counts


def mean_chart(table: pl.DataFrame, _found: Table, asked: Asked) -> alt.LayerChart | alt.FacetChart:
    """Draw the averaged curves of a table."""
    return _charted(mean_pictured(table, asked))


def _charted(picture: MeanPicture) -> alt.LayerChart | alt.FacetChart:
    """Draw lines, limits and points on top of each other, in panels if there are any."""
    layers = [lines(picture, BOLD), *limits(picture), _points(picture)]
    if picture.plane.kind.name not in CHANCELESS:
        layers.insert(1, chance(picture.plane))
    return framed(
        layered(picture, layers),
        title=picture.plane.kind.title,
        subtitle=picture.area,
        description=_described(picture),
        panel=picture.panel,
        groups=picture.groups,
        captions=picture.header,
    )


def layered(picture: MeanPicture, layers: Sequence[alt.Chart]) -> alt.LayerChart:
    """Lay layers over each other, and give every point of the records a row of its own."""
    side = side_of(picture.panel)
    steps = alt.Chart().transform_flatten(list(POINTS))
    steps = steps.transform_window(step="row_number()", groupby=["curve"])
    if picture.plane.x.deviate:
        places = {name: f"quantileNormal(datum.{name})" for name in ENDS}
        steps = steps.transform_calculate(u=places.pop("x"), v=places.pop("y"), **places)
    return alt.LayerChart(
        layer=list(layers),
        data=held(picture.records),
        transform=steps.transform,
        width=side,
        height=side,
    )


def lines(picture: MeanPicture, width: float) -> alt.Chart:
    """Draw a line for each record."""
    x, y = positions(picture.plane)
    layer: alt.Chart = (
        alt.Chart()
        .mark_line(strokeWidth=width)
        .encode(x=x, y=y, order="step:Q", detail="curve:N", color=colored(picture))
    )
    return layer


def limits(picture: MeanPicture) -> list[alt.Chart]:
    """Return a band along one axis, or bars along two."""
    x, y = positions(picture.plane)
    if len(picture.averaged) == 2:
        bars = alt.Chart().transform_filter("datum.bar == 1").mark_rule(opacity=BAR, strokeWidth=2)
        color = colored(picture)
        return [
            bars.encode(x=x, y="y_low:Q", y2="y_high:Q", color=color),
            bars.encode(x="x_low:Q", x2="x_high:Q", y=y, color=color),
        ]
    band = alt.Chart().mark_area(
        opacity=min(BAND, COVER / picture.most),
        orient="vertical" if picture.averaged == ("y",) else "horizontal",
    )
    ends = (
        {"x": x, "y": "y_low:Q", "y2": "y_high:Q"}
        if picture.averaged == ("y",)
        else {"x": "x_low:Q", "x2": "x_high:Q", "y": y}
    )
    # Areas are drawn along their fixed axis as it is: an order would cut them into pieces.
    return [band.encode(**ends, detail="curve:N", color=colored(picture))]


def _points(picture: MeanPicture) -> alt.Chart:
    """Lay points that cannot be seen on the lines: their tooltips are rows of the table."""
    plane = picture.plane
    x, y = positions(plane)
    shown = [
        *keys_told(picture.groups),
        alt.Tooltip("at:N", title="threshold_mean"),
        *(
            alt.Tooltip(f"{name}:Q", title=side.name, format=RATE)
            for name, side in (("x", plane.x), ("y", plane.y))
        ),
    ]
    layer: alt.Chart = (
        alt.Chart()
        .mark_point(filled=True, size=80, opacity=0)
        .transform_calculate(at=THRESHOLD_TOOLTIP)
        .encode(x=x, y=y, tooltip=shown)
    )
    if plane.endless:  # there are points between the rows
        layer = layer.transform_filter("datum.bar >= 0")
    return layer


def _described(picture: MeanPicture) -> str:
    plane, count = picture.plane, len(picture.records)
    curves = "1 averaged curve" if count == 1 else f"{count} averaged curves"
    axes = f"{plane.y.title.lower()} against {plane.x.title.lower()}"
    limited = any(
        record[f"{side}_low"] != record[side]
        for record in picture.records
        for side in picture.averaged
    )
    limits = " with pointwise limits" if limited else ""
    text = f"{plane.called}, {curves}{limits}: {axes}."
    text += "" if plane.kind.name in CHANCELESS else f" {CHANCE_SAID[plane.kind.name]}"
    told = picture.told
    if told is not None:
        return f"{text} {by_group(told, picture.captions)}"
    return f"{text} {picture.area}." if picture.area else text


TOLERANCE = 1 / 500  # of an axis

FINE = 400  # steps along an axis, where lines bend

BARS = 20  # of a curve that has limits both ways

ENDS = ("x", "y", "x_low", "x_high", "y_low", "y_high")

POINTS = (*ENDS, THRESHOLD, "bar")


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanPicture:
    """Averaged curves on a plane: a record each, and their groups as text, by field.

    `averaged` are the axes, "x" or "y" or both, along which there are limits.
    """

    plane: Plane
    averaged: tuple[str, ...]
    records: list[dict[str, Any]]
    groups: dict[str, Group]
    color: str | None
    panel: str | None
    captions: Mapping[str, str]
    area: str

    @property
    def most(self) -> int:
        """The most curves that one panel has, at least 1."""
        seen = Counter(self.panel and record[self.panel] for record in self.records)
        return max(seen.values(), default=1)

    @property
    def told(self) -> Group | None:
        """The group whose values have captions."""
        name = telling(self.color, self.panel, self.groups)
        return None if name is None else self.groups[name]

    @property
    def legend(self) -> Mapping[str, str]:
        """The captions of the colors, if they have them."""
        return self.captions if telling(self.color, self.panel, self.groups) == self.color else {}

    @property
    def header(self) -> Mapping[str, str]:
        """The captions of the panels, if they have them."""
        return {} if self.legend else self.captions


def mean_pictured(table: pl.DataFrame, asked: Asked) -> MeanPicture:
    """Read a table of averaged curves, and choose what of it is drawn, and where."""
    color, facet = asked.color, asked.facet
    metrics: tuple[str, ...] = ()
    mean = curve_average_of(table.columns)
    if mean is None:
        held = cast("MetricAverage", metric_average_of(table.columns))
        metrics = held.averaged
        table, mean = lengthened(table, held)
        scale_of(mean.kind, asked.scale)
        if color is NOT_GIVEN and len(metrics) > 1 and facet != mean.by[0]:
            # Groups keep their colors where panels can tell the metrics apart.
            if len(mean.by) > 1 and facet is None and mean.by[0] not in parse_names(asked.detail):
                facet = mean.by[0]
            else:
                color = mean.by[0]
    channels = assigned(mean.by, table.columns, color=color, facet=facet, detail=asked.detail)
    keys, starts, points = _read(table, mean)
    averaged = tuple(side for side in ("x", "y") if getattr(mean.kind, side) in mean.averaged)
    x, y, top = (points[name] for name in ("x", "y", "y_high"))
    plane = (
        plane_of_held(mean.kind, metrics, points)
        if metrics
        else spanned(mean.kind, x, y, scale=asked.scale, top=top)
    )
    if plane.endless:
        points, starts = _bent(plane, points, starts)
    kept = thinned(plane, points, starts, both=len(averaged) == 2)
    records: list[dict[str, Any]] = [
        {"curve": i} | {name: listed(points[name][start:end][kept[start:end]]) for name in POINTS}
        for i, (start, end) in enumerate(pairwise(starts))
    ]
    fields = {name: field(place) for place, name in enumerate(mean.by) if records}
    groups = {field: Group.of(keys.get_column(name)) for name, field in fields.items()}
    for name, group in groups.items():
        for record, text in zip(records, group.texts, strict=True):
            record[name] = text
    areas = _areas(table, mean)
    shown = None if channels.color is None else fields.get(channels.color)
    panel = None if channels.facet is None else fields.get(channels.facet)
    named = telling(shown, panel, groups)
    told = None if named is None else groups[named]
    return MeanPicture(
        plane=plane,
        averaged=averaged,
        records=records,
        groups=groups,
        color=shown,
        panel=panel,
        captions={} if told is None else told.captions(areas, mean.kind),
        area=mean_area(areas, mean.kind, groups) if told is None else "",
    )


def _read(
    table: pl.DataFrame, mean: CurveAverage
) -> tuple[pl.DataFrame, NDArray[np.int64], dict[str, NDArray[np.float64]]]:
    """Return the keys, where the rows of each start, and its points as far as they have a mean."""
    x, y = mean.kind.x, mean.kind.y
    names = {"x": x, "y": y}
    for side, axis in (("x", x), ("y", y)):
        limits = axis in mean.averaged
        names |= {f"{side}_low": f"{axis}_lower" if limits else axis}
        names |= {f"{side}_high": f"{axis}_upper" if limits else axis}
    order = "threshold_mean" if mean.fixed is None else names[mean.fixed]
    ordered = table.sort(
        *map(column, mean.by),
        order,
        *(["side"] if mean.sides else []),
        descending=[*[False] * len(mean.by), mean.fixed is None, *[False] * mean.sides],
    )
    by = list(map(column, mean.by))
    number = pl.struct(by).rle_id() if by else pl.lit(0, pl.UInt32)
    keys = ordered.select(by).unique(maintain_order=True) if by else pl.DataFrame(height=1)
    # A point without a mean is not drawn, nor is a group that has no other.
    here = ordered.select(
        number.cast(pl.Int64).alias("group"),
        *(
            pl.col(source).cast(pl.Float64).fill_null(nan).alias(name)
            for name, source in (*names.items(), (THRESHOLD, "threshold_mean"))
        ),
    ).filter(pl.col("x").is_not_nan() & pl.col("y").is_not_nan())
    points = {name: here.get_column(name).to_numpy(writable=True) for name in (*ENDS, THRESHOLD)}
    for side in ("x", "y"):  # without limits the band is as thin as the line
        for end in (f"{side}_low", f"{side}_high"):
            points[end] = np.where(np.isnan(points[end]), points[side], points[end])
    starts = np.searchsorted(here.get_column("group").to_numpy(), np.arange(keys.height + 1))
    return keys, starts, points


def _bent(
    plane: Plane, points: Mapping[str, NDArray[np.float64]], starts: NDArray[np.int64]
) -> tuple[dict[str, NDArray[np.float64]], NDArray[np.int64]]:
    """Add points between those of the table, straight in the rates, and leave out what is far."""
    rows = np.arange(len(points["x"]))
    curve = np.searchsorted(starts, rows, "right") - 1
    placed = plane.x.place(points["x"]), plane.y.place(points["y"])
    far = np.maximum(*(np.abs(np.diff(values, append=values[-1:])) for values in placed))
    far[np.append(curve[1:] != curve[:-1], [True] * (len(rows) > 0))] = 0
    many = np.maximum(np.ceil(far * FINE), 1).astype(np.int64)
    first = np.cumsum(many) - many
    at = np.repeat(rows, many) + (np.arange(many.sum()) - np.repeat(first, many)) / np.repeat(
        many, many
    )
    dense = {name: np.interp(at, rows, values) for name, values in points.items() if len(rows)}
    if not dense:
        return dict(points), starts
    dense["between"] = (at % 1 > 0).astype(np.float64)
    dense[THRESHOLD] = np.where(at % 1 > 0, nan, points[THRESHOLD][at.astype(np.int64)])
    seen = np.ones(len(at), bool)
    for side, axis in (("x", plane.x), ("y", plane.y)):
        if not axis.endless:
            continue
        seen &= (dense[side] >= axis.low) & (dense[side] <= axis.high)
        for end in (f"{side}_low", f"{side}_high"):
            dense[end] = np.clip(dense[end], axis.low, axis.high)
    counted = np.append(0, np.cumsum(seen))
    return (
        {name: values[seen] for name, values in dense.items()},
        counted[np.append(first, len(at))[starts]],
    )


def thinned(
    plane: Plane,
    points: dict[str, NDArray[np.float64]],
    starts: NDArray[np.int64],
    *,
    both: bool,
) -> NDArray[np.bool_]:
    """Mark the points that the line and the ends of its limits need; say which have bars."""
    kept = np.zeros(len(points["x"]), bool)
    for across, up in (("x", "y"), ("x_low", "y_low"), ("x_high", "y_high")):
        placed = plane.x.place(points[across]), plane.y.place(points[up])
        kept |= corner_points(*placed, starts, TOLERANCE)
    bars = 0 - points.pop("between", np.zeros(len(kept)))
    for start, end in pairwise(starts):
        rows = start + np.flatnonzero(bars[start:end] == 0)
        if both and len(rows):
            bars[rows[np.linspace(0, len(rows) - 1, min(BARS, len(rows))).astype(np.int64)]] = 1
    points["bar"] = bars
    return kept | (bars > 0)


def listed(values: NDArray[np.float64]) -> list[float | str | None]:
    """Return numbers as JSON has them: null for what is not known, and for no threshold at all."""
    return [
        None if isnan(value) or value == inf else "-inf" if value == -inf else float(f"{value:.7g}")
        for value in values.tolist()
    ]


def _areas(table: pl.DataFrame, mean: CurveAverage) -> list[float] | None:
    """Return the area under each mean of ROC curves, NaN where it is undefined."""
    if mean.kind.name not in ROC_AREAS:
        return None
    areas = collected(area_of_mean(table.lazy(), table.schema, mean)).to_series(-1)
    known = [nan if area is None else float(area) for area in areas.to_list()]
    return known if any(map(isfinite, known)) else None


METRIC, MEAN = "metric", "mean"


def lengthened(table: pl.DataFrame, held: MetricAverage) -> tuple[pl.DataFrame, CurveAverage]:
    """Put the metrics of a table below each other, and say what it shows then.

    Several metrics are told apart by a group column of their own. Infinite values have no place.
    """
    several = len(held.averaged) > 1
    up = _free(MEAN, held.by) if several else held.averaged[0]
    by = (*([_free(METRIC, held.by)] if several else []), *held.by)
    parts = [
        table.select(
            *([pl.lit(name).alias(by[0])] if several else []),
            *map(column, held.by),
            column(held.fixed).alias(held.fixed),
            column(name).alias(up),
            *(column(f"{name}_{end}").alias(f"{up}_{end}") for end in ("lower", "upper")),
            "threshold_mean",
        )
        for name in held.averaged
    ]
    long = pl.concat(parts).with_columns(
        pl.when(column(name).is_finite()).then(column(name)).alias(name)
        for name in (held.fixed, up)
    )
    kind = Kind(name=HELD, title="Means", x=held.fixed, y=up)
    return long, CurveAverage(by=by, kind=kind, averaged=(up,), sides=False)


def plane_of_held(
    kind: Kind, metrics: tuple[str, ...], points: Mapping[str, NDArray[np.float64]]
) -> Plane:
    """Choose the axes: rates from 0 to 1, all others as far as they go."""
    x = _side(kind.x, (kind.x,), points["x"])
    ends = np.concatenate([points["y"], points["y_low"], points["y_high"]])
    return Plane(kind=kind, x=x, y=_side(kind.y, metrics, ends))


def _side(name: str, metrics: tuple[str, ...], values: NDArray[np.float64]) -> Side:
    side = Side(name=legible(name).replace("\\", "\\\\"), title=_title(name))
    if all(one in NAMES and NAMES[one].bounds == (0, 1) for one in metrics):
        return side
    low, high = (float(end(values)) if len(values) else 0.0 for end in (np.min, np.max))
    return replace(side, low=low, high=high if high > low else low + EMPTY, nice=True)


def _title(name: str) -> str:
    if name in {THRESHOLD, MEAN}:
        return name.capitalize()
    if name in COUNT_TITLES:
        return COUNT_TITLES[name]
    if name in NAMES and NAMES[name].name == name:
        return NAMES[name].label
    return legible(name).replace("_", " ").capitalize() if name in NAMES else legible(name)


def _free(name: str, taken: tuple[str, ...]) -> str:
    while name in taken:
        name = f"({name})"
    return name
