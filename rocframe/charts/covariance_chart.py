"""Charts of covariances: a matrix of correlations, with a panel for each group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.dot_plot import LINE, documented_columns, read_rows, row_records
from rocframe.charts.groups import JOINT
from rocframe.charts.interval_chart import model_texts
from rocframe.charts.labels import inline_data, number_text, sentences, tooltip
from rocframe.charts.layer_chart import LayerChart
from rocframe.charts.style import BACKGROUND, FOREGROUND
from rocframe.text import join_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rocframe.charts.chart import ChartOptions
    from rocframe.charts.groups import GroupColumn, Groups
    from rocframe.schemas.table_type import Table

CELL_SIDE, MIN_CELL_SIDE, MAX_MATRIX_SIDE = 52, 12, 560  # pixels
MIN_SIDE_WITH_TEXT = 26  # smaller cells have no room for numbers
MIN_DARK = 0.85  # cells with a larger absolute correlation are dark and have light text
UNDEFINED_COLOR, UNDEFINED_TEXT = "#e0e0e0", "null"
# Colors of the correlations -1 to 1, distinct also for readers with red-green color blindness.
SCALE_COLORS = ("#B35806", "#FDB863", "#F7F7F7", "#92C5DE", "#0072B2")
MAX_DESCRIBED_PAIRS = 6


def covariance_chart(
    table: pl.DataFrame, layout: Table, _options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the correlations of the areas of each group as a matrix."""
    models = model_texts(table)
    groups, _ = read_rows(table, layout.by, color=None, facet=None)
    shown = documented_columns(table, layout.by)
    columns = [name for name in shown if name not in {"model_a", "model_b"}]
    records = row_records(table, groups, columns)
    texts = models.texts
    for record, a, b in zip(records, texts[: table.height], texts[table.height :], strict=True):
        value = record["correlation"]
        record |= {"a": a, "b": b, "text": UNDEFINED_TEXT if value is None else f"{value:.2f}"}
    if layout.by and records:
        groups = replace(groups, panel=LINE)
    n_models = len(models.values)
    cell = max(MIN_CELL_SIDE, min(CELL_SIDE, MAX_MATRIX_SIDE // max(1, n_models)))
    side = cell * max(1, n_models)
    layers = [_cells(models, groups, columns), _undefined_cells()]
    if cell >= MIN_SIDE_WITH_TEXT:
        layers.append(_numbers())
    n_groups = f", {len(groups.columns[LINE].values)} groups" if groups.table_columns else ""
    return groups.with_titles(
        LayerChart(layer=layers, data=inline_data(records), width=side, height=side),
        title="Correlation of areas",
        subtitle="each pair of models, estimated from the same rows",
        description=sentences(
            f"Correlation of areas, {n_models} models{n_groups}",
            _pairs_text(groups, records, models),
        ),
    )


def _cells(models: GroupColumn, groups: Groups, columns: Sequence[str]) -> alt.Chart:
    scale = alt.Scale(domain=list(models.values), type="band")
    axes: dict[str, Any] = {"labelLimit": 0, "labelOverlap": False, "ticks": False, "domain": False}
    colors = alt.Scale(domain=[-1, -0.5, 0, 0.5, 1], range=list(SCALE_COLORS))
    legend = alt.Legend(title="correlation")
    rows = [tooltip("a", "model_a"), tooltip("b", "model_b"), *map(tooltip, columns)]
    layer: alt.Chart = (
        alt.Chart()
        .mark_rect(stroke=BACKGROUND)
        .encode(
            x=alt.X("b:N", title="model_b", scale=scale, axis=alt.Axis(labelAngle=-45, **axes)),
            y=alt.Y("a:N", title="model_a", scale=scale, axis=alt.Axis(**axes)),
            color=alt.Color("correlation:Q", scale=colors, legend=legend),
            tooltip=[*groups.tooltips(), *rows],
        )
    )
    return layer


def _undefined_cells() -> alt.Chart:
    cells = alt.Chart().mark_rect(stroke=BACKGROUND, color=UNDEFINED_COLOR)
    cells = cells.transform_filter("!isValid(datum.correlation)")
    layer: alt.Chart = cells.encode(x=alt.X("b:N"), y=alt.Y("a:N"))
    return layer


def _numbers() -> alt.Chart:
    dark = f"abs(datum.correlation) > {MIN_DARK}"
    color = alt.ColorValue(FOREGROUND, condition=[{"test": dark, "value": BACKGROUND}])
    numbers = alt.Chart().mark_text(fontSize=11)
    layer: alt.Chart = numbers.encode(
        x=alt.X("b:N"), y=alt.Y("a:N"), text=alt.Text("text:N"), color=color
    )
    return layer


def _pairs_text(groups: Groups, records: list[dict[str, Any]], models: GroupColumn) -> str:
    """Describe the correlations of the pairs of models in each group."""
    names = groups.names(len(records)) if groups.table_columns else [""] * len(records)
    codes = zip(models.codes[: len(records)], models.codes[len(records) :], strict=True)
    pairs = [
        f"{f'{name}{JOINT}' if name else ''}{record['a']} and {record['b']}: "
        f"{number_text(record['correlation'])}"
        for name, record, (a, b) in zip(names, records, codes, strict=True)
        if a < b
    ]
    return join_first(pairs, MAX_DESCRIBED_PAIRS, "; ")
