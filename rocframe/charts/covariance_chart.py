"""Charts of covariances: a matrix of correlations, with a panel for each group."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.dot_charts import model_texts
from rocframe.charts.dot_plot import (
    documented_columns,
    read_rows,
    row_records,
    title_with_counts,
)
from rocframe.charts.groups import JOINT
from rocframe.charts.labels import inline_data, number_text, sentences, tooltip
from rocframe.charts.layer_chart import layered
from rocframe.charts.style import BACKGROUND, REFERENCE_COLOR
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
UNDEFINED_TEXT = "null"
# Colors of the correlations -1 to 1, distinct also for readers with red-green color blindness.
SCALE_COLORS = ("#B35806", "#FDB863", "#F7F7F7", "#92C5DE", "#0072B2")
MAX_DESCRIBED_PAIRS = 6


def covariance_chart(
    table: pl.DataFrame, layout: Table, options: ChartOptions
) -> alt.LayerChart | alt.FacetChart:
    """Draw the correlations of the areas of each group as a matrix."""
    models = model_texts(table)
    columns = documented_columns(table, layout.by)
    rows = read_rows(table, layout.by, replace(options, color=None), taken=columns)
    groups = rows.groups
    records = row_records(table, groups, columns)
    texts = models.texts
    for record, *names in zip(records, texts[: table.height], texts[table.height :], strict=True):
        record |= dict(zip(("model_a", "model_b"), names, strict=True))
    if layout.by and records:
        groups = replace(groups, panel=rows.line)
    n_models = len(models.values)
    cell = max(MIN_CELL_SIDE, min(CELL_SIDE, MAX_MATRIX_SIDE // max(1, n_models)))
    side = cell * max(1, n_models)
    layers = [_cells(), _undefined_cells()]
    if cell >= MIN_SIDE_WITH_TEXT:
        layers += _numbers()
    n_groups = f", {len(rows.lines.values)} groups" if groups.table_columns else ""
    return groups.with_titles(
        layered(
            layers,
            data=inline_data(records),
            encoding=_cell_channels(models, groups, columns),
            width=side,
            height=side,
        ),
        title=title_with_counts("Correlation of areas", table),
        subtitle="Each pair of models, estimated from the same rows",
        description=sentences(
            f"Correlation of areas, {n_models} models{n_groups}",
            _pairs_text(groups, records, models),
        ),
    )


def _cell_channels(models: GroupColumn, groups: Groups, columns: Sequence[str]) -> dict[str, Any]:
    scale = alt.Scale(domain=list(models.values), type="band")
    axes: dict[str, Any] = {"labelLimit": 0, "labelOverlap": False, "ticks": False, "domain": False}
    colors = alt.Scale(domain=[-1, -0.5, 0, 0.5, 1], range=list(SCALE_COLORS))
    return {
        "color": alt.Color("correlation:Q", scale=colors),
        "x": alt.X("model_b:N", scale=scale, axis=alt.Axis(labelAngle=-45, **axes)),
        "y": alt.Y("model_a:N", scale=scale, axis=alt.Axis(**axes)),
        "tooltip": [*groups.tooltips(), *map(tooltip, columns)],
    }


def _cells() -> alt.Chart:
    cells: alt.Chart = alt.Chart().mark_rect(stroke=BACKGROUND)
    return cells


def _undefined_cells() -> alt.Chart:
    cells: Any = alt.Chart().transform_filter("!isValid(datum.correlation)")
    cells = cells.mark_rect(stroke=BACKGROUND, opacity=0.3)
    return cells.encode(color=alt.value(REFERENCE_COLOR))  # type: ignore[no-any-return]


def _numbers() -> list[alt.Chart]:
    """Write the correlations in black or white, according to the colors of the cells."""
    numbers: Any = alt.Chart().mark_text(fontSize=11)
    dark = {"test": f"abs(datum.correlation) > {MIN_DARK}", "value": "#f7f7f7"}
    undefined: Any = numbers.transform_filter("!isValid(datum.correlation)")
    numbers = numbers.transform_filter("isValid(datum.correlation)")
    return [
        numbers.encode(
            text=alt.Text("correlation:Q", format=".2f"),
            color=alt.ColorValue("black", condition=[dark]),
        ),
        undefined.encode(text=alt.value(UNDEFINED_TEXT), color=alt.value("black")),
    ]


def _pairs_text(groups: Groups, records: list[dict[str, Any]], models: GroupColumn) -> str:
    """Describe the correlations of the pairs of models in each group."""
    names = groups.names(len(records)) if groups.table_columns else [""] * len(records)
    codes = zip(models.codes[: len(records)], models.codes[len(records) :], strict=True)
    pairs = [
        f"{f'{name}{JOINT}' if name else ''}{record['model_a']} and {record['model_b']}: "
        f"{number_text(record['correlation'])}"
        for name, record, (a, b) in zip(names, records, codes, strict=True)
        if a < b
    ]
    return join_first(pairs, MAX_DESCRIBED_PAIRS, "; ")
