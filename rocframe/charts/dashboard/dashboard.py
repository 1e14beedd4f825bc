"""The function `dashboard`: a chart of curves at one movable threshold."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING, Any

import altair as alt
import polars as pl

from rocframe.charts.axes import value_titles
from rocframe.charts.dashboard.controls import InitialValues, controls
from rocframe.charts.dashboard.data import dashboard_data
from rocframe.charts.dashboard.panels import (
    RATE_PANELS,
    event_panel,
    matrix_panel,
    numbers_panel,
    rate_panel,
    score_panel,
    table_transform,
)
from rocframe.charts.labels import inline_data
from rocframe.charts.layer_chart import VConcatChart
from rocframe.errors import LazyFrameError, OptionValueError
from rocframe.options import (
    NOT_GIVEN,
    NotGiven,
    check_choice,
    check_frame,
    parse_fraction,
    parse_number,
    public,
)
from rocframe.rates import COSTS_HINT, Settings
from rocframe.text import format_count

if TYPE_CHECKING:
    from rocframe.charts.dashboard.data import DashboardData
    from rocframe.inputs.roles import By

ERRORS = ("fp", "fn")
DASHBOARD_COLUMNS = 3


@public
def dashboard(
    curves: pl.DataFrame,
    /,
    *,
    by: By = None,
    color: str | NotGiven | None = NOT_GIVEN,
    threshold: float | None = None,
    prevalence: float | None = None,
    costs: Mapping[str, float] | None = None,
    calibration: pl.DataFrame | None = None,
    benefit: str | None = None,
    cost: str | None = None,
) -> alt.VConcatChart:
    """Draw linked panels of curves, scores and a confusion matrix at one movable threshold.

    The panels show ROC, precision-recall and gain curves, the distribution of the scores of both
    classes, the event rate by score, the confusion matrix, and a row of numbers for each curve. A
    slider sets the score, the alert rate, the false positive rate or the recall; the pointer on a
    curve sets it too, and the pointer on a bin of scores sets the score. With the score, the counts
    are those of `at`: of `score >= threshold`. The other quantities determine one threshold for
    each curve: the lowest at which the rate is not above the slider, or the highest at which recall
    is not below it. A list selects the quantity. It starts with the alert rate if the scores of the
    curves have different scales.

    Another slider sets the prevalence, and a list sets the ratio of the costs of both errors.
    Metrics that combine both classes depend on the prevalence, and expected costs also depend on
    the ratio of the costs; counts do not change. In the ROC panel, a ring and a label mark the
    point with the lowest expected cost among the points of all shown curves. A line shows all
    points with this expected cost. To select a curve, click its entry of the legend, or choose a
    value in the list of the values of the `color` column. Each other group column has a list that
    selects one of its values. The curve with the lowest initial cost is first. The panels of the
    scores and of the confusion matrix show the first selected curve. If some scores are outside
    [0, 1], the panel of event rates also shows only the first selected curve, because scores of
    different scales have no common axis.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    by : str or sequence of str, default None
        Group columns; by default, all columns left of `threshold`.
    color : str or None, optional
        Group column that determines the colors: each of its values has a color. A legend of these
        values selects a curve. None: all curves have the same color. The default is `model`. If
        this is not a group column, the default is the first group column.
    threshold : float, default None
        Initial threshold. The default is the threshold with the lowest expected cost.
    prevalence : float, default None
        Initial prevalence. By default, the value of `prevalence=` with which the table was
        computed. If the table was computed without this option, each curve has its own prevalence.
    costs : mapping of str to float, default None
        Initial costs of both errors, such as {"fp": 1, "fn": 5}. By default, each error costs 1.
        The list of costs in the dashboard also has other ratios.
    calibration : DataFrame, default None
        Table of `calibration` for the same groups. The panel of event rates then shows this table,
        instead of about 20 bins of the score with Wilson's limits. Groups without rows in this
        table have no event rates in the panel.
    benefit : str, default None
        Unit of the benefits, such as "dollars", for curves of `curve(benefit=)`. The titles of the
        axes then mention benefits instead of positives, as in `chart`.
    cost : str, default None
        Unit of the costs, for curves of `curve(cost=)`.

    Returns
    -------
    altair.VConcatChart
        An Altair chart, about 850 pixels wide. The browser computes all numbers from rows of the
        curves. Up to about 100,000 rows, the chart contains all of them, in less than 1 MB. Of
        longer tables, it contains the rows at all values of the slider of the score and at all
        points of the lines, the rows with small counts, and a selection of the others; the subtitle
        states how many are omitted. Counts at values of this slider are exact in all cases. Net
        benefit is computed with the odds p / (1 - p), where p is the threshold. Net benefit is
        undefined for thresholds outside [0, 1), and not shown for curves with scores outside
        [0, 1]. Curves without positives or without negatives are not drawn; the subtitle lists
        them.

    Raises
    ------
    LazyFrameError
        If `curves` is a LazyFrame.
    MissingColumnError
        If a column that an argument names is missing.
    OptionValueError
        If a number is outside its range, or the table has more than 12 curves.
    RocframeError
        If the table is not a curve table, or if a curve lacks its first or its last rows. Other
        missing rows raise no error, and the numbers are then wrong.

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
    check_frame("curves", curves)
    if isinstance(curves, pl.LazyFrame):  # type: ignore[unreachable]
        raise LazyFrameError.compose("dashboard")
    if prevalence is not None:
        prevalence = parse_fraction("prevalence", prevalence, example=0.1)
    value = None if threshold is None else parse_number("threshold", threshold, example=0.5)
    fp, fn = _parse_costs(costs)
    titles = value_titles(benefit, cost)
    data = dashboard_data(
        curves,
        by=by,
        color=color,
        settings=Settings(costs={"fp": fp, "fn": fn}, prevalence=prevalence),
        threshold=value,
        calibration=calibration,
    )
    prevalence = data.prevalence if prevalence is None else prevalence
    initial = InitialValues(threshold=data.threshold, prevalence=prevalence, fp=fp, fn=fn)
    return _assemble(data, initial, titles)


def _parse_costs(costs: object) -> tuple[float, float]:
    """Return the costs of a false positive and of a false negative."""
    if costs is None:
        return 1.0, 1.0
    if not isinstance(costs, Mapping):
        raise OptionValueError.compose("costs", costs, "expected a dict of costs", COSTS_HINT)
    for name in costs:
        check_choice("costs", name, ERRORS)
    for name in ERRORS:  # costs of 0 are not allowed, because the ratio of both costs is used
        parse_number(f"costs[{name!r}]", costs.get(name, 0), low=0, hint=COSTS_HINT)
    fp, fn = float(costs["fp"]), float(costs["fn"])
    if not 0 < fp / fn < inf:
        problem = "the ratio of the two costs is too large or too small for a floating-point number"
        raise OptionValueError.compose("costs", costs, problem, COSTS_HINT)
    return fp, fn


def _assemble(
    data: DashboardData, initial: InitialValues, titles: Mapping[str, str]
) -> alt.VConcatChart:
    """Return the dashboard with its panels and controls; `titles` are titles of rates."""
    panels: list[Any] = [
        *(rate_panel(data, panel, titles) for panel in RATE_PANELS),
        score_panel(data),
        event_panel(data),
        matrix_panel(data),
    ]
    numbers = numbers_panel(data)
    for panel in [*panels, numbers]:
        _convert_layers(panel)
    names = [
        *(_number_layers(panel, i) for i, panel in enumerate(panels)),
        _number_layers(numbers, 1),
    ]
    views = [name for panel in names for name in panel]
    # The attributes are set directly, because the constructors and .properties copy all panels.
    grid = alt.ConcatChart(columns=DASHBOARD_COLUMNS, spacing=18)
    grid.concat = panels
    chart = VConcatChart(
        data=inline_data(data.rows),
        transform=table_transform(data),
        spacing=22,
        title=alt.Title(
            "Evaluation by threshold",
            subtitle=_subtitle(data),
            anchor="start",
            fontSize=16,
            offset=12,
        ),
        description=_description(data),
        usermeta={"rocframe": "dashboard"},  # pages fit it to their width and colors
    )
    chart.vconcat = [grid, numbers]
    chart.params = controls(
        data,
        initial,
        near=[name for name in views if "points_" in name and not name.startswith("events")],
        over=[name for name in views if name.startswith(("scores_bins", "events_points"))],
    )
    return chart


def _convert_layers(panel: alt.LayerChart) -> None:
    """Replace the marks and channels of a panel with dicts of the options that are set.

    Altair copies all panels several times in `to_dict` and when charts are joined. A dict is faster
    to copy than a mark or channel, which has an attribute for each option that is not set.
    """
    for layer in panel.layer:
        # The chart has one description. Names of marks would be thousands of nodes.
        layer.mark = {**layer.mark.to_dict(validate=False), "aria": False}
        for name, channel in layer.encoding.to_dict(validate=False).items():
            layer.encoding[name] = channel


def _number_layers(panel: alt.LayerChart, position: int) -> list[str]:
    """Add the position of a panel to the names of its layers, and return the new names.

    The constructor of `alt.ConcatChart` does the same, but also copies all panels.
    """
    named = [layer for layer in panel.layer if isinstance(layer.name, str)]
    for layer in named:
        layer.name = f"{layer.name}_{position}"
    return [layer.name for layer in named]


def _subtitle(data: DashboardData) -> Any:
    """Return the lines of the subtitle: which curves and how many thresholds are omitted."""
    lines = []
    if data.undefined:
        lines.append(f"Not drawn because one class is missing: {'; '.join(data.undefined)}")
    if data.n_omitted:
        lines.append(f"{data.n_omitted:,} thresholds between those of the slider are omitted")
    return lines or alt.Undefined


def _description(data: DashboardData) -> str:
    """Return the text alternative for screen readers."""
    labels = [head["label"] for head in sorted(data.rows, key=lambda head: head["curve"])]
    names = f": {', '.join(labels)}" if labels and data.groups.columns else ""
    return (
        f"Dashboard of {format_count(len(labels), 'curve')}{names}. ROC, precision-recall and gain "
        "curves, the distribution of scores, the event rate by score, the confusion matrix and "
        "numbers, all at one threshold that a slider or the pointer moves. Other controls set the "
        "prevalence, the costs of errors and the shown curves."
    )
