"""The function `chart` and its options."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING

import polars as pl

from rocframe.charts.style import add_dashes, parse_colors, set_colors
from rocframe.errors import BrokenCurveError, ColumnTypeError, LazyFrameError
from rocframe.options import NOT_GIVEN, NotGiven, check_flag, check_frame, check_supported, public
from rocframe.schemas import TABLES, table_of
from rocframe.schemas.curves import CURVE
from rocframe.schemas.table_type import CURVE_COLUMNS
from rocframe.text import format_list, join_names

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import altair as alt

    from rocframe.inputs.roles import By
    from rocframe.kinds import Scale
    from rocframe.options import KindName


@public
def chart(
    table: pl.DataFrame,
    /,
    *,
    by: By = None,
    kind: KindName | None = None,
    x: str | None = None,
    y: str | Sequence[str] | None = None,
    color: str | NotGiven | None = NOT_GIVEN,
    colors: Sequence[str] | Mapping[str, str] | None = None,
    dash: bool = False,
    highlight: str | Sequence[str] | None = None,
    facet: str | None = None,
    detail: str | Sequence[str] = (),
    scale: Scale | None = None,
    x_domain: Sequence[float] | None = None,
    y_domain: Sequence[float] | None = None,
    text: str | None = None,
    areas: pl.DataFrame | None = None,
    ties: bool = False,
    lines: bool = False,
    scores: pl.DataFrame | None = None,
    benefit: str | None = None,
    cost: str | None = None,
    diagonal: bool = True,
    legend: bool = True,
) -> alt.LayerChart | alt.FacetChart:
    """Draw a table as an Altair chart: curves, averages, bands, points, areas, tests or plans.

    Curve tables become one line per group, which differs from the full curve by less than 1/500 of
    an axis. If the area of a group is undefined, the group has no line, and the chart states this.
    Dashed lines show chance; in precision-recall charts, there is one for each prevalence, and
    prevalences that differ by at most 1/100 can share it. In lift charts, dotted lines show perfect
    scores. If the table was computed with `prevalence=`, the rates are those at this prevalence.

    Tables of `average` become a bold line per group with a band between the pointwise limits, or
    with bars in both directions if both axes were averaged. They can be layered over the single
    curves: `curves.roc.chart(detail="fold") + mean.roc.chart()`. Several metrics have colors or
    panels, as for `y`.

    Tables of `band` become a line with a band per group, or crosses if both axes have limits.
    Tables of `smooth` become a line per group.

    Tables of `at`, `operating_point`, `mix` and `confusion_matrix` become points. Each condition of
    `at` or `mix`, such as a value of `fpr=`, and each rule of `operating_point` has its own shape,
    up to eight. With `kind`, or with `x` and `y`, tables of `intervals` become points with bars
    between the limits of the metrics on the axes. Tables of `hull` become points and the lines
    between them, and tables of `iso_lines` lines of equal cost, with rings at the rows of lowest
    cost. These charts can be added to the chart of the curves on the same axes:
    `curves.roc.chart() + curves.roc.at(threshold=0.5).roc.chart()`. Marks of up to eight groups
    have different sizes where they coincide.

    Tables of `cost_curve`, `decision_curve`, `murphy_curve` and `decision_intervals` become a line
    per group. The subtitle states what the dashed lines mean, for example "treat all". It also
    names the groups and points that cannot be drawn.

    Tables of `calibration` become event rates against scores on two equal axes, with a dashed line
    of perfect calibration:

    - Quantile and uniform bins are points at the mean score, with lines between their limits.
    - Isotonic regressions are steps, and smooth curves are lines, with bands between their limits.
    - Dotted lines are the limits of `consistency=True`.
    - Bars above and below the chart show the scores of the positives and of the negatives: those
      of the option `scores`, or else the number of rows of each bin at its mean score. The longest
      bars of both classes have the same length. There are no bars with `y_domain`, or if a panel
      has more than eight curves.

    Tables of `combine` become a panel per pair of models. For each operator, a rectangle shows all
    possible points. Two symbols show the expected point of independent decisions and the measured
    point. Tables of `chain` become a line through the stages of each chain.

    Tables of `drift` become lines over time, with a dashed line for the reference. Tables of
    `relative_superiority` become bars: the ranges of error costs for which a model has the lowest
    expected cost.

    Most other tables become dot plots. From top to bottom, they show a dot for the result of each
    row. If a result is undefined, the reason is shown instead. If a group column has three or more
    dates or times, values such as AUC are drawn as lines over time instead. The dot plots show:

    - `auc`, `multiclass_auc`, `volume`, `area`: the areas. A dotted box shows the range from
      `auc_pessimistic` to `auc_optimistic`, if the table has these columns. A dashed line shows
      chance, if chance is near the areas and their limits.
    - `multiclass_metrics`: a panel for each metric.
    - `auc_test`: the areas, a dashed line at each null hypothesis, and the adjusted p-values.
    - `fold_auc`: the mean of the areas with its interval; hollow marks show
      `pooled_auc` and `auc_of_mean`.
    - `pooling_gap`: the mean and the pooled area, and the two parts of the gap between them.
    - `transfer`: a line from `value_chosen`, on the data that determined the threshold, to
      `value_realised`, on other data. If there are several rules, each rule has a panel.
    - `intervals`, `pool_imputations`: the metrics. If some are outside [0, 1], each metric has a
      panel.
    - `compare`: the differences, a dashed line at 0, and the adjusted p-values. If there are more
      than 40 rows, the 40 rows with the smallest p-values are drawn.

    Tables of `auc_covariance` become a matrix of correlations, with a panel per group. Tables of
    `confusion_matrix` of several classes become a heat map, with a panel per group. Tables of
    `power`, `sample_size` and `detectable_difference` become lines. If a target power was given,
    the x axis shows the number of positives. The y axis then shows the difference, or, if all
    differences are equal, the power. Without a target power, the y axis shows the power, and the x
    axis shows the first of these that varies: the number of positives, the number of negatives, the
    difference. If none of them varies, it shows the number of positives.

    Tables of `concavities`, `contrast`, `fit_calibration`, `gate`, `tie_bounds` and `ties` have no
    chart. For these tables, `chart` raises an error that names another table to draw.

    Parameters
    ----------
    table : DataFrame, LazyFrame or Arrow table
        A table that a rocframe function returned, with all rows of each curve, in any order.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.
    kind : str, default None
        Kind of curve, such as `"roc"`; see `curve`. By default, the two rates right of `tn`
        determine the kind.
    x : str, default None
        Metric or count on the x axis, such as `x="alert_rate", y="precision"`, with `y` and without
        `kind`. All metrics of `curve` are possible, except those that depend on costs, on `beta` or
        on the threshold. Between two rows, lines show the metrics of linearly interpolated counts.
        The axes of a value of `kind` give the same chart as this `kind`; other pairs have linear
        scales, no line of chance, and no `ties`. A line has no points where a metric is undefined.

        With `x="threshold"`, metrics are steps: the value at a threshold t is the metric of the
        predictions `score >= t`. Without `x_domain`, panels have separate x axes if the thresholds
        of a panel cover less than half of the range of all thresholds.

        With `y="threshold"`, the metric must only rise or only fall as the threshold is lowered.
        With `x="rnp"` (the rate of negative predictions), the line is the quantile function of the
        score.
    y : str or sequence of str, default None
        Metric or count on the y axis. With `x="threshold"`, several metrics are possible, each with
        a color or, if there are group columns and neither `color` nor `facet` is given, a panel.
        `color="metric"` or `facet="metric"` chooses one of the two. For `decision_intervals`,
        `y="difference"` draws the differences to the baseline. For `murphy_curve`, `y` is
        `"elementary_score"` (the default), `"miscalibration"` or `"discrimination"`.
    color : str or None, optional
        Group column with a color for each of its values; None for one color. The default is
        `model`, or else the first group column that `facet` and `detail` do not name. A column with
        more than 12 values that are not numbers or times has no colors, except for `highlight`.

        By default, a dot plot has colors only if the column of the colors has at most eight values
        and there is another group column. Comparisons of models have no colors by default.
    colors : sequence of str or mapping of str to str, default None
        CSS colors, in the order of the legend or by value, such as `{"old": "gray"}`. By default,
        the colors are those of `configure_range` or of the active Altair theme, or else of the
        theme `rocframe`.
    dash : bool, default False
        Distinguish the values of `color` by dashes as well, for print without color.
    highlight : str or sequence of str, default None
        Values of `color` in color; all others are gray. In charts of more than 12 curves, the
        default are the five values with the largest area.
    facet : str, default None
        Group column with a panel for each of its values.
    detail : str or sequence of str, default ()
        Group columns whose values have separate lines, without a color or a panel. Group columns
        that are used neither for `color` nor for `facet` also have separate lines.
    scale : str, default None
        Scale of the rates. The default is `"normal_deviate"` for det, and `"linear"` for all other
        kinds. Lines end at the border of the chart, and points are not drawn, where a scale cannot
        show a rate.

        - `"linear"`: the same distance for equal differences of rates.
        - `"log"`: magnifies low false positive rates or low alert rates, for det both error rates,
          and for `calibration` low scores and event rates. It cannot show 0.
        - `"logit"`: for `calibration`; magnifies rates near 0 and near 1, which it cannot show.
        - `"normal_deviate"`: for roc and det; curves of normally distributed scores are straight
          lines. It cannot show 0 and 1.
    x_domain : sequence of float, default None
        Lowest and highest value of the x axis, such as `(0, 0.2)`, to zoom in; by default, all
        values. Only for curves, averages, bands, operating points, calibration, cost curves,
        decision curves and Murphy curves, and for tables of `smooth`, `decision_intervals`,
        `combine` and `chain`. In a sum, the domains of the first chart apply to all charts. The
        areas in the chart are those of the complete curves.
    y_domain : sequence of float, default None
        Lowest and highest value of the y axis.
    text : str, default None
        Column whose values are printed beside points, such as `"threshold"`. Only for tables of
        points. Numbers have three digits.
    areas : DataFrame, default None
        Table of areas, equal to those in the chart, whose confidence limits the legend or, without
        colors, the subtitle shows: a table of `auc`, of `intervals` with the metric `auc` or
        `average_precision`, or, for mean areas of several curves, of `fold_auc`.
    ties : bool, default False
        Draw a dotted outline of the region between the curves for the best and for the worst order
        of tied rows, where it is visible. Only for roc, gain and lift_chart. The text description
        of the chart states the areas under both curves.
    lines : bool, default False
        Draw a thin line for the expected cost of each threshold of a cost curve, which is the lower
        envelope of these lines; see `cost_curve`.
    scores : DataFrame, default None
        For tables of `calibration`: the curve table of the same predictions, whose scores the bars
        then show: a bar for each distinct score, or 20 bins if a curve has more than 100.
    benefit : str, default None
        Unit of the benefits, such as "dollars", for curves of `curve(benefit=)`: titles are "Share
        of benefit (dollars)" instead of "True positive rate". Only for charts of curves, averages
        and operating points.
    cost : str, default None
        Unit of the costs, for curves of `curve(cost=)`: "Share of cost (dollars)" instead of "False
        positive rate".
    diagonal : bool, default True
        Draw the lines of chance, of perfect scores and of perfect calibration. Only for charts of
        curves, averages, bands, operating points and calibration, and for tables of `combine` and
        `chain`.
    legend : bool, default True
        Draw the legends. Only for the same charts as `diagonal`. Without the legends, the areas are
        still in the text description of the chart.

    Returns
    -------
    altair.LayerChart or altair.FacetChart
        A plain Altair chart; a FacetChart with `facet`. Its fields are the columns of the table,
        and its layers share their encodings, so that `.encode`, `.configure_*` and other methods of
        Altair change the whole chart. Tooltips show rows of the table. The legend or, without
        colors, the subtitle shows the area under each curve, or the mean area of the curves of one
        color: average precision (AP) for precision-recall, and AUC for other kinds.

        The sum `a + b` of two charts has the same colors for equal values, and one line of chance;
        different axes raise an OptionValueError. `alt.layer(a, b)` draws the line of chance of each
        chart. Concatenated charts share colors and legend, unless you call
        `.resolve_scale(color="independent")`.

        Altair does not escape markup in group values when it saves HTML. For untrusted values, use
        `save_chart` instead.

    Raises
    ------
    LazyFrameError
        If `table` is a LazyFrame.
    MissingColumnError
        If a column that an argument names is missing.
    OptionValueError
        If an option is not available for this kind of curve or table.
    RocframeError
        If there is no chart for the table, or if a curve lacks its first or its last rows. To draw
        a part of a curve, use `x_domain` or `y_domain`. Other missing rows raise no error, and the
        curve is then wrong.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> curves = rf.curve(predictions, "label", "score")
    >>> type(curves.roc.chart()).__name__
    'LayerChart'
    >>> rf.chart(curves).title.subtitle
    'AUC 0.750'

    >>> rf.chart(curves, ties=True).description
    'ROC chart, 1 curve: true positive rate against false positive rate. The dashed line shows \
chance. AUC 0.750. ROC areas over all orders of tied rows: 0.500 to 1.000.'
    """
    given = locals()
    options = ChartOptions(**{option.name: given[option.name] for option in fields(ChartOptions)})
    check_frame("table", table)
    if isinstance(table, pl.LazyFrame):  # type: ignore[unreachable]
        raise LazyFrameError.compose("chart")
    layout = table_of(table.columns)
    table_type = layout.type
    if table_type.chart_hint is not None:
        problem = f"chart: tables of {table_type.name} have no chart"
        raise BrokenCurveError.compose(problem, table_type.chart_hint)
    if table_type.drawing is None:
        # The columns of a curve table may have any order.
        table_type = CURVE
    if table_type is CURVE:
        _check_curve(table.columns)
    if table_type.on_axes is not None and not (kind is None and x is None and y is None):
        table_type = table_type.on_axes
    for name in CURVE_COLUMNS:
        dtype = table.schema.get(name, pl.Int64())
        if name not in layout.by and not (dtype.is_numeric() or dtype == pl.Null):
            hint = "This column must be numeric."
            raise ColumnTypeError.of_table("table", name, dtype, hint)
    supported = table_type.chart_options
    supported += ("colors", "dash", "highlight") if "color" in supported else ()
    options.check(supported, table_type.name)
    module, name = str(table_type.drawing).split(":")
    draw = getattr(import_module(module), name)
    drawn: alt.LayerChart | alt.FacetChart = draw(table, layout, options)
    if colors is not None:
        set_colors(drawn, parse_colors(colors))
    if dash:
        add_dashes(drawn)
    return drawn


def _check_curve(columns: Sequence[str]) -> None:
    missing = [name for name in CURVE_COLUMNS if name not in columns]
    if not missing:
        return
    drawn = [table for table in TABLES if table.drawing is not None and table is not CURVE]
    functions = dict.fromkeys(name for table in drawn for name in table.functions)
    raise BrokenCurveError.compose(
        f"chart: expected a curve table, but the table has no column {format_list(missing)}",
        "Compute a curve table with .roc.curve(label, score, by=…), or pass an unchanged table of "
        f"{join_names(list(functions), 'or')}.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartOptions:
    """The options of a chart. An option with its default value is treated as not given."""

    by: By = None
    kind: KindName | None = None
    x: str | None = None
    y: str | Sequence[str] | None = None
    color: str | NotGiven | None = NOT_GIVEN
    colors: Sequence[str] | Mapping[str, str] | None = None
    dash: bool = False
    highlight: str | Sequence[str] | None = None
    facet: str | None = None
    detail: str | Sequence[str] = ()
    scale: Scale | None = None
    x_domain: Sequence[float] | None = None
    y_domain: Sequence[float] | None = None
    text: str | None = None
    areas: pl.DataFrame | None = None
    ties: bool = False
    lines: bool = False
    scores: pl.DataFrame | None = None
    benefit: str | None = None
    cost: str | None = None
    diagonal: bool = True
    legend: bool = True

    def check(self, options: Collection[str], table: str) -> None:
        """Raise an error for a given option that is not in `options`, those of the type `table`."""
        names = [option.name for option in fields(self) if option.name in options]
        for option in fields(self):
            if isinstance(option.default, bool):
                check_flag(option.name, getattr(self, option.name))
            available = f"Available: {', '.join(names)}." if names else "This chart has no options."
            check_supported(
                option.name,
                getattr(self, option.name),
                f"a chart of a table of the type {table!r}",
                supported=option.name in options,
                default=option.default,
                hint=f"{available} Leave out {option.name}=.",
            )
