"""Tables of comparisons → one Altair chart: the difference of each pair, and its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rocframe.charts.groups import Group
from rocframe.charts.interval_chart import Drawn, charted
from rocframe.charts.rows import own_columns, rows_of

if TYPE_CHECKING:
    import altair as alt

    from rocframe.charts.asked import Asked
    from rocframe.tables import Table

SHORT = {"auc": "AUC", "partial_auc": "partial AUC", "tpr": "TPR", "fpr": "FPR"}


def comparison_chart(
    table: pl.DataFrame, found: Table, asked: Asked
) -> alt.LayerChart | alt.FacetChart:
    """Draw the difference of each pair of models, its interval and its p-value."""
    right = own_columns(table, found.by)
    area = next((name for name in right[2:] if name.endswith("_a")), "area").removesuffix("_a")
    first, second = _models(table)
    pairs = [f"{a} − {b}" for a, b in zip(first, second, strict=True)]
    rows = rows_of(
        table,
        found.by,
        color=None if asked.color is ... else asked.color,
        facet=asked.facet,
        parts={"models": pairs},
    )
    how = Drawn(
        title=f"Differences of {SHORT.get(area, area)}",
        axis=f"Difference of {SHORT.get(area, area)}",
        marks=("difference",),
        references=(0.0,),
        tests=True,
    )
    return charted(table, rows, how, right[2:])


def _models(table: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Return the names of both models of each row, spelled alike."""
    both = pl.concat([table.get_column(name).alias("model") for name in ("model_a", "model_b")])
    texts = Group.of(both).texts
    return texts[: table.height], texts[table.height :]
