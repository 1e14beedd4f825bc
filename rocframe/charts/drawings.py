"""Which table is drawn by what: a line for each table that has a chart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rocframe.charts.band_chart import band_chart
from rocframe.charts.comparison_chart import comparison_chart
from rocframe.charts.covariance_chart import covariance_chart
from rocframe.charts.curve_chart import curve_chart
from rocframe.charts.interval_chart import interval_chart
from rocframe.charts.mean_chart import mean_chart
from rocframe.charts.metric_chart import metric_chart
from rocframe.charts.plan_chart import plan_chart
from rocframe.charts.points_chart import points_chart
from rocframe.charts.pooling_chart import pooling_chart

if TYPE_CHECKING:
    from collections.abc import Callable

    import altair as alt
    import polars as pl

    from rocframe.charts.asked import Asked
    from rocframe.tables import Table

CHANNELS = ("color", "facet", "detail")


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How a table is drawn, and the options that the drawing reads."""

    draw: Callable[[pl.DataFrame, Table, Asked], alt.LayerChart | alt.FacetChart]
    reads: tuple[str, ...] = CHANNELS


DRAWINGS: dict[str, Drawing] = {
    "curve": Drawing(
        draw=curve_chart,
        reads=("by", "kind", *CHANNELS, "scale", "hull", "costs", "prevalence", "mark", "ties"),
    ),
    "average": Drawing(draw=mean_chart, reads=(*CHANNELS, "scale")),
    **dict.fromkeys(
        ("auc", "partial_auc", "auc_test", "multiclass_auc", "volume", "fold_auc", "area"),
        Drawing(draw=interval_chart, reads=("color", "facet")),
    ),
    "comparison": Drawing(draw=comparison_chart, reads=("color", "facet")),
    "band": Drawing(draw=band_chart),
    "operating_points": Drawing(draw=points_chart, reads=("by", "kind", *CHANNELS, "scale")),
    "plan": Drawing(draw=plan_chart, reads=()),
    "auc_covariance": Drawing(draw=covariance_chart, reads=()),
    "pooling_gap": Drawing(draw=pooling_chart, reads=("facet",)),
    "intervals": Drawing(draw=metric_chart, reads=("color", "facet")),
}
