"""Panels of a dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from json import dumps
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.curve_layers import captioned, held
from rocframe.charts.dashboard.controls import (
    ANGLE,
    CHOSEN,
    COSTS,
    PREVALENCE,
    faint_unless_shown,
    shown_only,
)
from rocframe.charts.style import CHANCE, COLORS, GRID, INK, PAPER, QUIET, color_scale
from rocframe.rates import CONFUSION

if TYPE_CHECKING:
    from rocframe.charts.dashboard.controls import Start
    from rocframe.charts.dashboard.data import Linked, Slider


SIDE = 250

ROOM = 1000  # pixels for the legend

LETTER = 6.6  # pixels

SAID = "description"


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Two rates, by field."""

    name: str
    title: str
    below: str
    x: tuple[str, str]
    y: tuple[str, str]


PANELS = (
    Panel(
        name="roc",
        title="ROC",
        below="solid line: equal expected cost",
        x=("fpr", "False positive rate"),
        y=("tpr", "True positive rate"),
    ),
    Panel(
        name="precision_recall",
        title="Precision-recall",
        below="dashed line: share of positives",
        x=("tpr", "Recall"),
        y=("line_precision", "Precision"),
    ),
    Panel(
        name="gain",
        title="Gain",
        below="dashed line: chance",
        x=("alert_rate", "Alert rate"),
        y=("tpr", "True positive rate"),
    ),
)


def curve_panel(linked: Linked, panel: Panel) -> alt.LayerChart:
    """Draw two rates of all curves, with a point where each of them is."""
    x = alt.X(f"{panel.x[0]}:Q", title=panel.x[1], **unit())
    y = alt.Y(f"{panel.y[0]}:Q", title=panel.y[1], **unit())
    color = colored(linked)
    line = (
        alt.Chart(name=f"{panel.name}_lines")
        .mark_line(strokeWidth=2, clip=True)
        .encode(
            x=x,
            y=y,
            order="step:Q",
            detail="curve:N",
            color=color,
            opacity=faint_unless_shown(linked, 0.1),
        )
    )
    near = shown_only(
        alt.Chart(name=f"{panel.name}_points")
        .mark_point(filled=True, size=30, opacity=0)
        .transform_filter(REAL)
        .encode(x=x, y=y, angle=alt.Angle(f"{ANGLE}:Q", scale=None), **pointed()),
        linked,
    )
    here = shown_only(
        alt.Chart()
        .mark_point(filled=True, size=110, opacity=1, stroke=PAPER, strokeWidth=1.5)
        .transform_filter(HERE)
        .encode(x=x, y=y, color=color),
        linked,
    )
    # The first layer has the axes.
    layers = [line, _chance(panel.name), here, near]
    if panel.name == "roc":
        layers.insert(2, _iso(linked))
    return alt.LayerChart(
        layer=layers, width=SIDE, height=SIDE, title=titled(panel.title, panel.below)
    )


def titled(title: str, below: str) -> alt.Title:
    """Return the title of a panel."""
    return alt.Title(
        title, subtitle=below, anchor="start", fontSize=13, subtitleFontSize=11, subtitleColor=QUIET
    )


def unit() -> dict[str, Any]:
    """Return the scale and axis of a rate."""
    return {"scale": alt.Scale(domain=[0, 1]), "axis": alt.Axis(tickCount=5, gridColor=GRID)}


def pointed() -> dict[str, Any]:
    """Return what is said of the row that the pointer chooses; its numbers stand below.

    A cell around a point looks the field up in the point's mark, which is no row: hence the text
    is one that a mark has too, under the same name.
    """
    return {"description": f"{SAID}:N", "tooltip": f"{SAID}:N"}


def colored(linked: Linked) -> Any:
    """Return the color of a curve, and the legend that chooses some."""
    if linked.color is None:
        return alt.value(COLORS[0])
    group = linked.groups[linked.color]
    longest = max(len(linked.captions.get(value, value)) for value in group.values)
    legend = alt.Legend(
        title=f"{group.title} (click for one, shift-click for more)",
        titleLimit=0,
        labelExpr=captioned(linked.captions),
        labelLimit=0,
        orient="top",
        columns=max(1, min(len(group.values), int(ROOM / (LETTER * longest + 40)))),
        symbolType="stroke",
        symbolSize=200,
        symbolStrokeWidth=3,
    )
    return alt.Color(f"{linked.color}:N", scale=color_scale(group.values), legend=legend)


def _chance(name: str) -> alt.Chart:
    if name == "precision_recall":
        # The share of positives, as it is or as it is set.
        level: alt.Chart = (
            alt.Chart()
            .mark_rule(**CHANCE)
            .transform_aggregate(groupby=["pi"])
            .encode(y=alt.Y("pi:Q"))
        )
        return level
    ends = {"x": 0, "y": 0, "x2": 1, "y2": 1}
    line: alt.Chart = (
        alt.Chart(alt.InlineData(values=[{}]))
        .mark_rule(**CHANCE)
        .encode(**{channel: alt.datum(value) for channel, value in ends.items()})
    )
    return line


def _iso(linked: Linked) -> alt.Chart:
    """Draw the line through the point of one curve on which all points cost the same."""
    line: alt.Chart = (
        focused(alt.Chart().transform_filter(HERE), linked)
        .transform_calculate(
            left="0",
            right="1",
            at_left="datum.tpr - datum.slope * datum.fpr",
            at_right="datum.tpr + datum.slope * (1 - datum.fpr)",
        )
        .mark_rule(color=QUIET, strokeWidth=1.2, clip=True)
        .encode(x="left:Q", x2="right:Q", y="at_left:Q", y2="at_right:Q")
    )
    return line


def focused(chart: Any, linked: Linked) -> Any:
    """Leave only the first of the curves that the legend chooses."""
    return (
        shown_only(chart, linked)
        .transform_window(place="dense_rank()", sort=[alt.SortField("curve")], ignorePeers=False)
        .transform_filter("datum.place == 1")
    )


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


RATES = ("tpr", "fpr", "precision", "accuracy", "alert_rate")

GAINS = ("expected_cost", "net_benefit")

NUMBERS = ("threshold", *CONFUSION, *RATES, *GAINS)

WIDTH, HIGH = 72, 24  # pixels of a number, and of a row

NONE = "–"

# Of each count: what it is, what was called, and out of what it is a share.
CELLS = {
    "tp": ("Positive", "Called positive", "tpr", "pos"),
    "fn": ("Positive", "Called negative", "fnr", "pos"),
    "fp": ("Negative", "Called positive", "fpr", "neg"),
    "tn": ("Negative", "Called negative", "tnr", "neg"),
}


def texts(linked: Linked) -> dict[str, str]:
    """Return the text of each number of a row."""
    count = "," if linked.counted else ",.2~f"
    return {
        "threshold_text": "datum.hi == MAX_VALUE ? 'inf' : format(datum.hi, '.7~g')",
        SAID: "datum.label + ': threshold ' + datum.threshold_text",
        **{f"{name}_text": f"format(datum.{name}, '{count}')" for name in CONFUSION},
        **{f"{name}_text": _number(name, ".3f") for name in RATES},
        **{f"{name}_text": _number(name, ".4~g") for name in GAINS},
    }


def _number(name: str, spec: str) -> str:
    return f"isValid(datum.{name}) ? format(datum.{name}, '{spec}') : '{NONE}'"


def matrix_panel(linked: Linked) -> alt.LayerChart:
    """Draw the confusion matrix of one curve; cells are as dark as their share of the class."""
    cells: Any = (
        focused(alt.Chart().transform_filter(HERE), linked)
        .transform_fold(list(CONFUSION), as_=["cell", "count"])
        .transform_calculate(
            truth=_looked_up(0),
            called=_looked_up(1),
            whole=f"datum[{_looked_up(3)}]",
            share="datum.count / datum.whole",
            count_text=f"datum[datum.cell + {dumps('_text')}]",
            share_text=f"{_looked_up(2)} + ' ' + format(datum.share, '.3f')",
        )
    )
    x = alt.X(
        "called:N",
        title=None,
        sort=["Called positive", "Called negative"],
        axis=alt.Axis(labelAngle=0, domain=False, ticks=False),
    )
    y = alt.Y(
        "truth:N",
        title="Label",
        sort=["Positive", "Negative"],
        axis=alt.Axis(labelAngle=-90, labelAlign="center", domain=False, ticks=False),
    )
    shade = cells.mark_rect(stroke=PAPER, strokeWidth=3).encode(
        x=x,
        y=y,
        color=colored(linked),
        opacity=alt.Opacity(
            "share:Q", scale=alt.Scale(domain=[0, 1], range=[0.06, 0.55]), legend=None
        ),
        tooltip=[],
    )
    said = {"x": x, "y": y, "description": "cell_said:N"}
    cells = cells.transform_calculate(cell_said="datum.cell + ' ' + datum.count_text")
    count = cells.mark_text(fontSize=20, fontWeight="bold", dy=-6, color=INK).encode(
        text="count_text:N", **said
    )
    share = cells.mark_text(fontSize=12, dy=14, color=INK).encode(
        text="share_text:N", x=x, y=y, description="share_text:N"
    )
    layers = [shade, count.properties(name="matrix"), share]
    if len(linked.records) > 1:
        layers.append(whose(focused(alt.Chart().transform_filter(HERE), linked)))
    return alt.LayerChart(
        layer=layers,
        width=SIDE,
        height=HEIGHT,
        title=titled("Confusion matrix", "stronger: more of the class"),
    )


def _looked_up(place: int) -> str:
    return f"{dumps({cell: about[place] for cell, about in CELLS.items()})}[datum.cell]"


def numbers_panel(linked: Linked, start: Start) -> alt.LayerChart:
    """Write the numbers of each curve at the threshold."""
    fold: list[Any] = [f"{name}_text" for name in NUMBERS]
    rows = alt.Chart().transform_filter(HERE)
    names = [record["curve"] for record in linked.records]
    longest = max((len(record["name"]) for record in linked.records), default=0)
    left = 30 + LETTER * longest if linked.groups else 0
    wide = left + WIDTH * len(NUMBERS)
    y = alt.Y("curve:O", axis=None, scale=alt.Scale(domain=names, padding=0.5))
    written: Any = (
        rows.transform_fold(fold, as_=["field", "text"])
        .transform_calculate(
            number=f"replace(datum.field, {dumps('_text')}, '')",
            said="datum.label + ': ' + datum.number + ' ' + datum.text",
        )
        .mark_text(align="right", dx=WIDTH / 2 - 2, fontSize=12, color=INK)
        .encode(
            x=alt.X(
                "number:N",
                sort=list(NUMBERS),
                scale=alt.Scale(domain=list(NUMBERS), padding=0.5, range=[left, wide]),
                title=None,
                axis=alt.Axis(
                    orient="top",
                    labelAngle=0,
                    labelAlign="right",
                    labelOffset=WIDTH / 2 - 2,
                    labelLimit=WIDTH + 20,
                    labelFontSize=10,
                    labelExpr="replace(datum.label, '_', ' ')",
                    domainColor=GRID,
                    ticks=False,
                ),
            ),
            y=y,
            text="text:N",
            description="said:N",
            opacity=faint_unless_shown(linked, 0.25),
        )
        .properties(name="numbers")
    )
    layers = [written]
    if linked.groups:
        name = {
            "text": "name:N",
            "description": "label:N",
            "y": y,
            "opacity": faint_unless_shown(linked, 0.25),
        }
        layers += [
            rows.mark_point(filled=True, shape="square", size=70, opacity=1).encode(
                x=alt.value(6), y=y, color=colored(linked), tooltip=[]
            ),
            rows.mark_text(align="left", fontSize=12, limit=left, color=INK).encode(
                x=alt.value(18), tooltip="label:N", **name
            ),
        ]
    return alt.LayerChart(
        layer=layers,
        width=wide,
        view=alt.ViewBackground(stroke=None),
        height=HIGH * max(len(names), 1),
        title=alt.Title(alt.ExprRef(_settings(start)), anchor="start", fontSize=13),
    )


def _settings(start: Start) -> str:
    """Return the expression that says what the numbers are at."""
    costs = f"format({start.fn!r} * pow(2, {COSTS}), '.4~g')"
    given = f"'prevalence ' + format({PREVALENCE}, '.4~g')"
    parts = [
        f"'Numbers at score ≥ ' + format({CHOSEN}, '.6~g')",
        f"({PREVALENCE} > 0 ? {given} : 'prevalence as in the data')",
        f"'a false positive costs ' + {costs}",
        f"'a false negative {start.fn:.4g}'",
    ]
    return " + ' · ' + ".join(parts)


# Each from those before it. A row is the one at a threshold if this is above the next row's
# threshold and not above its own.
HERE = f"datum.hi >= {CHOSEN} && datum.lo < {CHOSEN}"

REAL = "datum.lo < datum.hi"  # neither between two rows nor beyond every number


def ends(slider: Slider) -> dict[str, str]:
    """Return the threshold of a row as a number, and what the pointer sets there."""
    return {
        "hi": "isValid(datum.threshold) ? datum.threshold : MAX_VALUE",
        ANGLE: f"isValid(datum.threshold) ? datum.threshold : {slider.top!r}",
    }


def rates(start: Start) -> dict[str, str]:
    """Return what depends on counts, prevalence and costs.

    `precision` is null where nothing is called positive; `line_precision` is that of the next
    point there, with which a precision-recall line starts.
    """
    return {
        "lo": "isValid(datum.lo) ? datum.lo : -MAX_VALUE",
        "fn": "datum.pos - datum.tp",
        "tn": "datum.neg - datum.fp",
        "tpr": "datum.tp / datum.pos",
        "fpr": "datum.fp / datum.neg",
        "pi": f"{PREVALENCE} > 0 ? {PREVALENCE} : datum.pos / (datum.pos + datum.neg)",
        "alert_rate": "datum.pi * datum.tpr + (1 - datum.pi) * datum.fpr",
        "precision": _share("datum.pi * datum.tpr", "datum.alert_rate"),
        "line_precision": "datum.alert_rate > 0 ? datum.precision : "
        + _share("datum.pi * datum.tp_next / datum.pos", _NEXT),
        "accuracy": "datum.pi * datum.tpr + (1 - datum.pi) * (1 - datum.fpr)",
        "fp_cost": f"{start.fn!r} * pow(2, {COSTS})",
        "expected_cost": f"datum.pi * (1 - datum.tpr) * {start.fn!r}"
        " + (1 - datum.pi) * datum.fpr * datum.fp_cost",
        # At the odds of the row's threshold; nothing called positive gains nothing.
        "net_benefit": "datum.hi == MAX_VALUE ? 0 : datum.hi >= 0 && datum.hi < 1 ?"
        " datum.pi * datum.tpr - (1 - datum.pi) * datum.fpr * datum.hi / (1 - datum.hi) : null",
        "slope": f"(1 - datum.pi) * datum.fp_cost / (datum.pi * {start.fn!r})",
    }


_NEXT = "(datum.pi * datum.tp_next / datum.pos + (1 - datum.pi) * datum.fp_next / datum.neg)"


def _share(part: str, whole: str) -> str:
    return f"({whole} > 0 ? {part} / {whole} : null)"
