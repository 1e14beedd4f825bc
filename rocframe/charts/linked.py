"""Panels, numbers and controls → one Altair chart whose parts move together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.frame import held
from rocframe.charts.linked_controls import Start, controls
from rocframe.charts.linked_curves import PANELS, curve_panel
from rocframe.charts.linked_measures import ends, rates
from rocframe.charts.linked_numbers import matrix_panel, numbers_panel, texts
from rocframe.charts.linked_scores import event_panel, spread_panel

if TYPE_CHECKING:
    from rocframe.charts.linked_data import Linked

ABREAST = 3
POINTS = ["threshold", "tp", "fp"]


def linked_chart(linked: Linked, start: Start) -> alt.VConcatChart:
    """Put everything together."""
    panels = [
        *(curve_panel(linked, panel) for panel in PANELS),
        spread_panel(linked),
        event_panel(linked),
        matrix_panel(linked),
    ]
    grid = alt.ConcatChart(concat=panels, columns=ABREAST, spacing=26)
    chart: Any = alt.VConcatChart(
        vconcat=[grid, numbers_panel(linked, start)], data=held(linked.records), spacing=22
    )
    chart = _worked_out(chart, linked, start)
    names = [view.name for view in _views(chart)]
    made: alt.VConcatChart = chart.properties(
        title=alt.Title(
            "Evaluation by threshold",
            subtitle=_subtitle(linked),
            anchor="start",
            fontSize=16,
            offset=12,
        ),
        description=_described(linked),
        params=controls(
            linked,
            start,
            near=[name for name in names if "points_" in name and not name.startswith("events")],
            over=[name for name in names if name.startswith(("spread_bins", "events_points"))],
            legend=[name for name in names if name.startswith("roc_lines")],
        ),
    )
    return made


def _worked_out(chart: Any, linked: Linked, start: Start) -> Any:
    """Give every point a row, and every row its rates and texts."""
    chart = chart.transform_flatten(POINTS).transform_window(step="row_number()", groupby=["curve"])
    for name, value in ends(linked.slider).items():
        chart = chart.transform_calculate(**{name: value})
    chart = chart.transform_window(
        lo="lead(hi)",
        tp_next="lead(tp)",
        fp_next="lead(fp)",
        groupby=["curve"],
        sort=[alt.SortField("step")],
    )
    for name, value in (rates(start) | texts(linked)).items():
        chart = chart.transform_calculate(**{name: value})
    return chart


def _views(chart: Any) -> list[Any]:
    """Return the parts of panels that have names. Altair numbers them when it joins panels."""
    panels = [*chart.vconcat[0].concat, chart.vconcat[1]]
    layers = [layer for panel in panels for layer in panel.layer]
    return [layer for layer in layers if isinstance(layer.name, str)]


def _subtitle(linked: Linked) -> Any:
    """Name what is not there."""
    lines = []
    if linked.undefined:
        lines.append(f"One class is missing, so not drawn: {'; '.join(linked.undefined)}")
    if linked.left_out:
        lines.append(f"{linked.left_out:,} thresholds between those shown are left out")
    return lines or alt.Undefined


def _described(linked: Linked) -> str:
    """Say what the chart shows, for those who cannot see it."""
    count = "1 curve" if len(linked.records) == 1 else f"{len(linked.records)} curves"
    named = ": " + ", ".join(record["label"] for record in linked.records) if linked.groups else ""
    return (
        f"Dashboard of {count}{named}. ROC, precision-recall and gain, the spread of scores, the "
        "event rate by score, the confusion matrix and numbers, all at one threshold that a "
        "slider or the pointer moves. Other sliders set the prevalence and the cost of errors."
    )
