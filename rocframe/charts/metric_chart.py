"""Tables of metrics → one Altair chart of dots: a line for each metric, or a panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocframe.charts.interval_chart import Drawn, charted
from rocframe.charts.numbers import finite, plain
from rocframe.charts.rows import own_columns, rows_of

if TYPE_CHECKING:
    import altair as alt
    import polars as pl

    from rocframe.charts.asked import Asked
    from rocframe.tables import Table


def metric_chart(
    table: pl.DataFrame, found: Table, asked: Asked
) -> alt.LayerChart | alt.FacetChart:
    """Draw a dot and an interval for each metric; metrics of several ranges have panels."""
    names = _metrics(table)
    spread = [table.get_column(name) for name in ("estimate", "lower", "upper")]
    apart = len(set(names)) > 1 and any(
        not 0 <= value <= 1 for part in spread for value in finite(plain(part))
    )
    rows = rows_of(
        table,
        found.by,
        color=asked.color,
        facet=asked.facet,
        parts={"metric": names},
        apart=apart,
    )
    one = names[0] if len(set(names)) == 1 else "Estimate"
    how = Drawn(title="Metrics", axis=one, marks=("estimate",))
    told = [name for name in own_columns(table, found.by) if name != "metric"]
    return charted(table, rows, how, told, free=apart)


def _metrics(table: pl.DataFrame) -> list[str]:
    """Return what each row of a table of metrics shows, and where."""
    parts = (table.get_column(name) for name in ("metric", "at", "value"))
    return [
        metric if at is None else f"{metric} at {at} {value:.4g}"
        for metric, at, value in zip(*(part.to_list() for part in parts), strict=True)
    ]
