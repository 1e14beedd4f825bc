"""The verb `dashboard`: curve tables → one chart that a threshold moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.charts.curve_layers import held
from rocframe.charts.dashboard.controls import Start, controls
from rocframe.charts.dashboard.data import linked
from rocframe.charts.dashboard.panels import (
    PANELS,
    curve_panel,
    ends,
    event_panel,
    matrix_panel,
    numbers_panel,
    rates,
    spread_panel,
    texts,
)
from rocframe.errors import LazyFrameError, OptionValueError
from rocframe.options import NOT_GIVEN, NotGiven, check_choice, parse_fraction, parse_number
from rocframe.rates import COSTS_HINT

if TYPE_CHECKING:
    from rocframe.charts.dashboard.data import Linked
    from rocframe.inputs.roles import By


ERRORS = ("fp", "fn")


def dashboard(
    curves: pl.DataFrame,
    /,
    *,
    by: By = None,
    color: str | NotGiven | None = NOT_GIVEN,
    threshold: float | None = None,
    prevalence: float | None = None,
    costs: Mapping[str, float] | None = None,
) -> alt.VConcatChart:
    """Draw curves, scores and confusion matrices of each group, all at one threshold to be moved.

    ROC, precision-recall and gain, how the scores of both classes are spread, the event rate by
    score, the confusion matrix, and a row of numbers for each curve. A slider moves the threshold,
    and so does the pointer on a curve or on a bin of scores. Each curve shows its own row there,
    the one with the smallest threshold that is at least the chosen one, as `at` finds it. Right of
    the highest score nothing is called positive.

    Two more sliders set how common positives are, and what a false positive costs. Precision,
    accuracy, alert rate, expected cost, net benefit, event rate and the line of equal expected cost
    follow; counts stay those of the data. A click in the legend shows some curves alone; spread,
    matrix and line of equal cost are those of the first curve that is shown.

    Parameters
    ----------
    curves : DataFrame or LazyFrame
        A curve table as returned by `curve`: group columns, `threshold`, `tp, fp, fn, tn`, and any
        columns right of them. Every group must be complete. Rows may be in any order.
    by : str or sequence of str, default None
        Group columns. By default, all columns left of `threshold`.
    color : str or None, optional
        Group column with a color for each of its values, and with the legend that chooses among
        them; None for one color. Unless it is given: `model` if that is a group column, else the
        first one.
    threshold : float, default None
        Where it starts: at 0.5 unless it is given, or in the middle of the scores where these are
        not all between 0 and 1.
    prevalence : float, default None
        Where the share of positives starts; None for that of the data, of each curve its own.
    costs : mapping of str to float, default None
        What both errors cost, say {"fp": 1, "fn": 5}; None for 1 each. The slider changes the first
        and leaves the other.

    Returns
    -------
    altair.VConcatChart
        A plain Altair chart, about 1,050 pixels wide. The browser works everything out from the
        rows of the curves: all of them, or, of long curves, about 240 and more of each, which the
        title says. What is shown is exact; between two such rows it is that of the upper one. Bins
        of scores count all rows. Net benefit is at the threshold of the row, and without a value
        where that is not in [0, 1). Curves without positives or negatives are only named.

    Raises
    ------
    LazyFrameError
        If `curves` is a LazyFrame.
    MissingColumnError
        If a column that an argument names is not there.
    OptionValueError
        If a number is outside its range, or the table has more than 12 curves.
    RocframeError
        If the table is no curve table, a group is not whole, as after a filter on rows, or the
        curves were made at given thresholds and end above the lowest score.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> curves = rf.curve(predictions, "label", "score")
    >>> board = curves.roc.dashboard(threshold=0.4, costs={"fp": 1, "fn": 5})
    >>> type(board).__name__
    'VConcatChart'
    >>> board.title.text
    'Evaluation by threshold'
    """
    if isinstance(curves, pl.LazyFrame):  # type: ignore[unreachable]
        raise LazyFrameError.of("dashboard")
    if prevalence is not None:
        prevalence = parse_fraction("prevalence", prevalence, example=0.1)
    start = None if threshold is None else parse_number("threshold", threshold, example=0.5)
    fp, fn = _costs(costs)
    # numpy and Altair load with the first chart, not with the package.
    shown = linked(curves, by=by, color=color)
    return linked_chart(
        shown,
        Start(
            threshold=shown.slider.start if start is None else start,
            prevalence=prevalence,
            fp=fp,
            fn=fn,
        ),
    )


def _costs(costs: object) -> tuple[float, float]:
    """Return what a false positive and a false negative cost."""
    if costs is None:
        return 1.0, 1.0
    if not isinstance(costs, Mapping):
        raise OptionValueError.of("costs", costs, "expected a dict of costs", COSTS_HINT)
    for name in costs:
        check_choice("costs", name, ERRORS)
    for name in ERRORS:  # elsewhere what is not named costs 0
        parse_number(f"costs[{name!r}]", costs.get(name, 0), low=0, hint=COSTS_HINT)
    return float(costs["fp"]), float(costs["fn"])


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
