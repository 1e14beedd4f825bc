"""A dashboard's numbers: the confusion matrix of one curve, and a row of numbers for each."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any

import altair as alt

from rocframe.charts.linked_controls import CHOSEN, COSTS, PREVALENCE, faint_unless_shown
from rocframe.charts.linked_curves import LETTER, SAID, SIDE, colored, focused, titled
from rocframe.charts.linked_measures import HERE
from rocframe.charts.linked_scores import HEIGHT, whose
from rocframe.charts.palette import GRID, INK, PAPER
from rocframe.vocabulary import CONFUSION

if TYPE_CHECKING:
    from rocframe.charts.linked_controls import Start
    from rocframe.charts.linked_data import Linked

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
