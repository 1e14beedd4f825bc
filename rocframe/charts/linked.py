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
    from collections.abc import Mapping

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
    # All at once: Altair copies a chart for each transform that is added to it.
    chart: Any = alt.VConcatChart(
        vconcat=[grid, numbers_panel(linked, start)],
        data=held(linked.records),
        transform=_worked_out(linked, start),
        spacing=22,
    )
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


def _worked_out(linked: Linked, start: Start) -> list[Any]:
    """Give every point a row, and every row its rates and texts."""
    number = [{"op": "row_number", "as": "step"}]
    ahead = [
        {"op": "lead", "field": field, "as": name}
        for field, name in (("hi", "lo"), ("tp", "tp_next"), ("fp", "fp_next"))
    ]
    return [
        {"flatten": POINTS},
        {"window": number, "groupby": ["curve"]},
        *_calculated(ends(linked.slider)),
        {"window": ahead, "groupby": ["curve"], "sort": [{"field": "step"}]},
        *_calculated(rates(start) | texts(linked)),
    ]


def _calculated(fields: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"calculate": value, "as": name} for name, value in fields.items()]


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
