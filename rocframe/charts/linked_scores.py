"""A dashboard's panels of scores: how both classes are spread, and the event rate of each bin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.frame import held
from rocframe.charts.linked_controls import CHOSEN, PREVALENCE, shown_only
from rocframe.charts.linked_curves import SIDE, colored, focused, titled, unit
from rocframe.charts.palette import CHANCE, GRID, INK, PAPER, QUIET

if TYPE_CHECKING:
    from rocframe.charts.linked_data import Linked

HEIGHT = 170
POSITIVES = {"color": INK, "opacity": 0.85}
NEGATIVES = {"color": QUIET, "opacity": 0.6}

# Of one curve there is one threshold to draw, at the end of the axis if it lies beyond.
CLAMPED = f"clamp({CHOSEN}, datum.first, datum.last)"


def spread_panel(linked: Linked) -> alt.LayerChart:
    """Draw the share of each class in each bin, positives upwards and negatives downwards."""
    bins = focused(alt.Chart(), linked).transform_calculate(
        up="datum.bin_pos / datum.pos", down="-datum.bin_neg / datum.neg"
    )
    x = alt.X("left:Q", title="Score", scale=alt.Scale(nice=False, zero=False), axis=_plain())
    share = alt.Axis(tickCount=5, gridColor=GRID, labelExpr="format(abs(datum.value), '.2~f')")
    y: dict[str, Any] = {"title": "Negatives | positives, share", "axis": share}
    said = _said(linked)
    bars = [
        bins.mark_rect(**color, stroke=PAPER, strokeWidth=0.5).encode(
            x=x, x2="right:Q", y=alt.Y(f"{field}:Q", **y), y2=alt.datum(0), tooltip=said
        )
        for field, color in (("up", POSITIVES), ("down", NEGATIVES))
    ]
    bars = [
        bar.properties(name=f"spread_{side}")
        for bar, side in zip(bars, ("positives", "negatives"), strict=True)
    ]
    one = _threshold_of(focused(alt.Chart(), linked))
    veil = one.mark_rect(color=PAPER, opacity=0.6).encode(x="first:Q", x2="clamped:Q", tooltip=[])
    rule = one.mark_rule(color=INK, strokeWidth=1.5).encode(x="clamped:Q")
    title = titled("Scores of each class", "faded: called negative")
    # The veil lets no pointer through to the bars: they lie on top, unseen.
    hit = focused(alt.Chart(), linked).mark_rect(opacity=0)
    hit = hit.encode(x=x, x2="right:Q", tooltip=said).properties(name="spread_bins")
    layers = [*bars, veil, rule, hit]
    if len(linked.records) > 1:
        layers.append(whose(focused(alt.Chart(), linked).transform_filter("datum.bin == 0")))
    return alt.LayerChart(
        data=held(linked.bins),
        layer=layers,
        width=SIDE,
        height=HEIGHT,
        title=title,
    )


def event_panel(linked: Linked) -> alt.LayerChart:
    """Draw the share of positives in each bin, at the prevalence chosen."""
    up, down = "datum.pi * datum.bin_pos / datum.pos", "(1 - datum.pi) * datum.bin_neg / datum.neg"
    bins = shown_only(alt.Chart(), linked).transform_calculate(
        pi=f"{PREVALENCE} > 0 ? {PREVALENCE} : datum.pos / (datum.pos + datum.neg)",
        middle="(datum.left + datum.right) / 2",
        event_rate=f"{up} + {down} > 0 ? {up} / ({up} + {down}) : null",
    )
    scale = alt.Scale(domain=[0, 1]) if linked.shares else alt.Scale(nice=False, zero=False)
    across: dict[str, Any] = {"title": "Score", "scale": scale, "axis": _plain()}
    x = alt.X("middle:Q", **across)
    y = alt.Y("event_rate:Q", title="Event rate", **unit())
    line = bins.mark_line(strokeWidth=1.5).encode(
        x=x, y=y, order="bin:Q", detail="curve:N", color=colored(linked)
    )
    points = bins.mark_point(filled=True, size=30, opacity=1).encode(
        x=x, y=y, color=colored(linked), tooltip=_said(linked)
    )
    points = points.properties(name="events_points")
    every = shown_only(alt.Chart(), linked)
    rule = _threshold_of(every).mark_rule(color=INK, strokeWidth=1.5).encode(x="clamped:Q")
    # The axis reaches as far as the bins do, and not only to the middle of the last one.
    reach = bins.mark_rule(opacity=0).encode(x=alt.X("left:Q", **across), x2="right:Q", y=y)
    layers = [reach, line, rule, points]
    if linked.shares:
        ends = {"x": 0, "y": 0, "x2": 1, "y2": 1}
        level = alt.Chart(alt.InlineData(values=[{}])).mark_rule(**CHANCE)
        layers.insert(1, level.encode(**{name: alt.datum(end) for name, end in ends.items()}))
    title = titled("Event rate by score", "share of positives in each bin")
    return alt.LayerChart(
        data=held(linked.bins), layer=layers, width=SIDE, height=HEIGHT, title=title
    )


def whose(rows: Any) -> Any:
    """Say in the lower right corner which curve a panel shows, where it shows but one of some."""
    text = rows.mark_text(fontSize=11, color=QUIET, align="right", limit=SIDE / 2 - 24)
    return text.encode(x=alt.value(SIDE), y=alt.value(HEIGHT + 29), text="label:N", tooltip=[])


def _threshold_of(bins: Any) -> Any:
    """Return the threshold, within the bins that are shown."""
    ends = bins.transform_aggregate(first="min(left)", last="max(right)")
    return ends.transform_filter("isValid(datum.first)").transform_calculate(clamped=CLAMPED)


def _plain() -> alt.Axis:
    return alt.Axis(tickCount=5, grid=False)


def _said(linked: Linked) -> list[alt.Tooltip]:
    count = "," if linked.counted else ",.2~f"
    return [
        alt.Tooltip("label:N", title="curve"),
        alt.Tooltip("scores:N", title="scores"),
        alt.Tooltip("bin_pos:Q", title="positives", format=count),
        alt.Tooltip("bin_neg:Q", title="negatives", format=count),
    ]
