"""Tables of covariances → one Altair chart: a matrix of correlations, a panel per group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.charts.curve_layers import framed, held
from rocframe.charts.dot_plot import JOINT, ROW, own_columns, rows_of
from rocframe.charts.groups import Group
from rocframe.charts.labels import keys_told, plain, said, told
from rocframe.charts.style import INK, PAPER

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rocframe.charts.chart import Asked
    from rocframe.charts.dot_plot import Rows
    from rocframe.schemas import Table


CELL, LEAST, WIDEST = 52, 12, 560  # pixels

READABLE = 26  # the least cell that has room for its number

DARK = 0.85  # the ground of correlations beyond is dark

UNKNOWN, MISSING = "#e0e0e0", "null"

# From -1 over 0 to 1: told apart by those who see no red or no green.
GROUND = ("#B35806", "#FDB863", "#F7F7F7", "#92C5DE", "#0072B2")

MOST = 6  # pairs that a description lists


def covariance_chart(
    table: pl.DataFrame, found: Table, _asked: Asked
) -> alt.LayerChart | alt.FacetChart:
    """Draw the correlations of the areas of each group as a matrix."""
    both = pl.concat([table.get_column(name).alias("model") for name in ("model_a", "model_b")])
    models = Group.of(both)
    rows = rows_of(table, found.by, color=None, facet=None)
    columns = own_columns(table, found.by)[2:]
    records = _records(table, rows, models, columns)
    panel = ROW if found.by and records else None
    cell = max(LEAST, min(CELL, WIDEST // max(1, len(models.values))))
    side = cell * max(1, len(models.values))
    layers = [_cells(models, rows, columns), _unknown()]
    if cell >= READABLE:
        layers.append(_numbers())
    chart = alt.LayerChart(layer=layers, data=held(records), width=side, height=side)
    return framed(
        chart,
        title="Correlation of areas",
        subtitle="of two models, estimated from the same rows",
        description=_described(rows, records, models),
        panel=panel,
        groups={ROW: rows.line},
        captions={},
    )


def _records(
    table: pl.DataFrame, rows: Rows, models: Group, columns: Sequence[str]
) -> list[dict[str, Any]]:
    values = {name: plain(table.get_column(name)) for name in columns}
    texts = models.texts
    values |= {"a": texts[: table.height], "b": texts[table.height :]}
    values["text"] = [
        MISSING if value is None else f"{value:.2f}" for value in values["correlation"]
    ]
    return [
        {**names, **dict(zip(values, row, strict=True))}
        for names, row in zip(rows.records(), zip(*values.values(), strict=True), strict=True)
    ]


def _cells(models: Group, rows: Rows, columns: Sequence[str]) -> alt.Chart:
    scale = alt.Scale(domain=list(models.values), type="band")
    axes: dict[str, Any] = {"labelLimit": 0, "labelOverlap": False, "ticks": False, "domain": False}
    fields = {"a": "model_a", "b": "model_b"} | {name: name for name in columns}
    shown = [told(name, title) for name, title in fields.items()]
    scheme = alt.Scale(domain=[-1, -0.5, 0, 0.5, 1], range=list(GROUND))
    layer: alt.Chart = (
        alt.Chart()
        .mark_rect(stroke=PAPER)
        .encode(
            x=alt.X("b:N", title="model_b", scale=scale, axis=alt.Axis(labelAngle=-45, **axes)),
            y=alt.Y("a:N", title="model_a", scale=scale, axis=alt.Axis(**axes)),
            color=alt.Color("correlation:Q", scale=scheme, legend=alt.Legend(title="correlation")),
            tooltip=[*keys_told(rows.groups), *shown],
        )
    )
    return layer


def _unknown() -> alt.Chart:
    """Return the ground of cells that have no number."""
    ground = alt.Chart().mark_rect(stroke=PAPER, color=UNKNOWN)
    layer: alt.Chart = ground.transform_filter("!isValid(datum.correlation)").encode(
        x="b:N", y="a:N"
    )
    return layer


def _numbers() -> alt.Chart:
    dark = alt.when(f"abs(datum.correlation) > {DARK}")
    layer: alt.Chart = (
        alt.Chart()
        .mark_text(fontSize=11)
        .encode(
            x="b:N",
            y="a:N",
            text="text:N",
            color=dark.then(alt.value(PAPER)).otherwise(alt.value(INK)),
        )
    )
    return layer


def _described(rows: Rows, records: list[dict[str, Any]], models: Group) -> str:
    """Say what a chart shows, for those who cannot see it."""
    groups = f", {len(rows.line.values)} groups" if rows.groups else ""
    text = f"Correlation of areas, {len(models.values)} models{groups}."
    named = rows.named if rows.groups else [""] * len(records)
    pairs = [
        f"{f'{name}{JOINT}' if name else ''}{record['a']} and {record['b']}: "
        f"{said(record['correlation'])}"
        for name, record, a, b in zip(
            named, records, models.places, models.places[len(records) :], strict=False
        )
        if a < b
    ]
    more = f" And {len(pairs) - MOST} more." if len(pairs) > MOST else ""
    return f"{text} {'; '.join(pairs[:MOST])}.{more}" if pairs else text
