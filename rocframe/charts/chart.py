"""The verb `chart`: tables → Altair charts."""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING

import polars as pl

from rocframe.errors import BrokenCurveError, LazyFrameError, OptionValueError
from rocframe.options import NOT_GIVEN, NotGiven
from rocframe.schemas import CONTRAST, CURVE, CURVE_COLUMNS, table_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import altair as alt

    from rocframe.charts.overlays import Mark
    from rocframe.inputs.roles import By
    from rocframe.kinds import KindName, Scale
    from rocframe.schemas import Table, TableType


NO_PICTURE = "chart: a table of contrasts is one test per group, and has no picture"

COMPARE = "Show it as it is, or draw .roc.compare(label, score, …): each pair, with its interval."

MAKE = (
    "Make one with .roc.curve(label, score, by=…), and draw that; or draw a table of average, "
    "band, at, area, auc, auc_test, multiclass_auc, volume, fold_auc, pooling_gap, intervals, "
    "compare, auc_covariance, power, sample_size or detectable_difference as it was made."
)


def chart(
    table: pl.DataFrame,
    /,
    *,
    by: By = None,
    kind: KindName | None = None,
    color: str | NotGiven | None = NOT_GIVEN,
    facet: str | None = None,
    detail: str | Sequence[str] = (),
    scale: Scale | None = None,
    hull: bool = False,
    costs: Mapping[str, float] | None = None,
    prevalence: float | None = None,
    mark: Mark = None,
    ties: bool = False,
) -> alt.LayerChart | alt.FacetChart:
    """Draw a table: curves, right for their kind, or what any other table shows.

    Of a curve table every group has a line of its own, unless its area is undefined: then it is
    only named. Lines have as few points as keep them within 1/500 of an axis of the whole curve;
    their end points are exact. A dashed line shows chance: the diagonal, or, for precision-recall,
    each prevalence; prevalences that differ by less than 1/200 share one.

    Of a table of averaged curves, as `average` makes it, each is a bold line in the band between
    its limits, or with bars both ways where both axes were averaged; the limits are pointwise. It
    can be laid over the curves that were averaged: `chart(detail="fold") + mean.roc.chart()`.
    Metrics that were averaged at fixed values of another are a line each; where there are several,
    a group column `metric` tells them apart, which has the color, or, beside other groups, panels.

    Bands too, each about its curve, and operating points, which have a shape for each value, can
    be laid over curves.

    Other tables have a line for each row, in their order, with a dot and its interval:

    - `auc`, `multiclass_auc`, `volume`, `area`: the areas; a faint bar is the tie envelope, where
      there is one, and a dashed line is what chance gives.
    - `auc_test`: the areas, each null hypothesis as a dashed line, and the adjusted p-values.
    - `fold_auc`: the mean of the areas with its interval, and the two other areas as hollow marks.
    - `pooling_gap`: the way from the mean of the areas to that of all rows, in its two parts.
    - `intervals`: the metrics; those that do not all lie in [0, 1] have a panel each.
    - `compare`: the differences, a dashed line at 0, and the adjusted p-values.

    `auc_covariance` becomes a matrix of correlations, with a panel for each group. Plans become
    lines: the power, or with a power that was asked for the difference, against the number of
    positives. What is undefined keeps its line and says why, or is named below the title. A table
    of `contrast` has no picture.

    Parameters
    ----------
    table : DataFrame or LazyFrame
        A table as one of our verbs makes it. A curve table is its group columns, `threshold`, `tp,
        fp, fn, tn` and whatever stands right of them. Groups are whole; rows may be in any order.
    by : str or sequence of str, default None
        Group columns. By default, all columns left of `threshold`.
    kind : str, default None
        Kind of curve. By default, the kind whose axes are the columns right of `tn`.
    color : str or None, optional
        Group column with a color for each of its values; None for one color. Unless it is given:
        `model` if that is a group column, else the first one that `facet` and `detail` leave. In
        tables with a line per row colors share lines; unless it is given only where something else
        names the lines, there are at most eight colors, and the table compares no models.
    facet : str, default None
        Group column with a panel for each of its values.
    detail : str or sequence of str, default ()
        Group columns that are told apart by nothing but a line of their own. Those that have no
        other part are drawn so anyway.
    scale : str, default None
        How rates are spread along the axes: `"linear"`; `"log"`, which spreads low false positive
        or alert rates (both errors of det); or `"normal_deviate"`, on which normal scores make
        straight lines, for roc and det. Unless it is given: normal deviates for det, else linear.
        0, and with normal deviates 1, are then infinitely far: lines leave the picture there, and
        points at 0 are not in it.
    hull : bool, default False
        Draw the upper convex hull of each curve as a thin dashed line, for roc, gain and
        lift_chart: no threshold between its corners is the best one at any costs.
    costs : mapping of str to float, default None
        What a `tp`, `fp`, `fn`, `tn` costs; 0 where not named. With it, or with `prevalence`, a
        thin line of equal expected cost touches each roc curve at the row that costs least (of
        several, that of the highest threshold), which has a ring. Unless it is given, each error
        costs 1.
    prevalence : float, default None
        The share of positives, between 0 and 1, where the costs arise. Unless it is given, with
        `costs`: that of each curve.
    mark : float, DataFrame or mapping, default None
        Operating points to mark: thresholds, whose rows are those that `at` finds; a table from
        `at`, whose group columns say which curves its points are on; or up to six such by name, as
        a mapping, each with a shape of its own.
    ties : bool, default False
        Fill the area between the best and the worst order of tied rows, for roc, gain and
        lift_chart, as far as it shows beside the line. The description has both areas.

    Returns
    -------
    altair.LayerChart or altair.FacetChart
        A plain Altair chart, a FacetChart with `facet`. Its tooltips show rows of the table. The
        legend (the title, where there is no color) has the area under each curve, or the mean of
        the areas of one color: average precision (AP) for precision-recall, AUC for other kinds.
        Layers added to it share its axes, and its colors where they use the same values; charts
        side by side share colors and legend unless `.resolve_scale(color="independent")` follows.
        HTML
        that Altair itself saves does not escape group values that hold markup: see that none
        come from strangers, or let `rocframe evaluate` write the page.

    Raises
    ------
    LazyFrameError
        If `table` is a LazyFrame.
    MissingColumnError
        If a column that an argument names is not there.
    OptionValueError
        If charts of this kind or table do not have an option, or marked points are of other cases.
    RocframeError
        If the table is none of ours, or a group of a curve table is not whole, as after a filter
        on rows; or if an option is given that charts of this table do not have.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame({"label": [1, 0, 1], "score": [0.9, 0.4, 0.4]})
    >>> curves = rf.curve(predictions, "label", "score")
    >>> type(curves.roc.chart()).__name__
    'LayerChart'
    >>> rf.chart(curves).title.subtitle
    'AUC 0.750'

    Where missing a positive costs five times as much as a false alarm:

    >>> rf.chart(curves, hull=True, costs={"fp": 1, "fn": 5}, mark=0.5, ties=True).description
    'ROC chart, 1 curve: true positive rate against false positive rate. The dashed line is what \
chance gives. AUC 0.750. Depending on the order of ties, ROC areas are 0.500 to 1.000. Thin dashed \
lines are convex hulls. A thin line of equal expected cost touches each curve. Points are marked.'
    """
    if isinstance(table, pl.LazyFrame):  # type: ignore[unreachable]
        raise LazyFrameError.of("chart")
    found = table_of(table.columns)
    asked = Asked(
        by=by,
        kind=kind,
        color=color,
        facet=facet,
        detail=detail,
        scale=scale,
        hull=hull,
        costs=costs,
        prevalence=prevalence,
        mark=mark,
        ties=ties,
    )
    table_type = found.type
    if table_type is CONTRAST:
        raise BrokenCurveError.of(NO_PICTURE, COMPARE)
    if table_type.drawing is None:
        # A curve table whose columns are in another order is still drawn as one.
        table_type = CURVE
    if table_type is CURVE:
        _check_curve(table.columns)
    asked.check(table_type.chart_options, table_type.name)
    return _drawing(table_type)(table, found, asked)


def _drawing(
    table: TableType,
) -> Callable[[pl.DataFrame, Table, Asked], alt.LayerChart | alt.FacetChart]:
    """Return the function that draws tables of this type; its module is loaded on first use."""
    module, name = str(table.drawing).split(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


def _check_curve(columns: Sequence[str]) -> None:
    lacking = [name for name in CURVE_COLUMNS if name not in columns]
    if not lacking:
        return
    raise BrokenCurveError.of(
        "chart: this table has no curve, for it has no column " + ", ".join(map(repr, lacking)),
        MAKE,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked of a chart; an option that has its default was not asked for."""

    by: By = None
    kind: KindName | None = None
    color: str | NotGiven | None = NOT_GIVEN
    facet: str | None = None
    detail: str | Sequence[str] = ()
    scale: Scale | None = None
    hull: bool = False
    costs: Mapping[str, float] | None = None
    prevalence: float | None = None
    mark: Mark = None
    ties: bool = False

    def check(self, read: Collection[str], table: str) -> None:
        """Raise on an option that a drawing would not look at."""
        for option in fields(self):
            value = getattr(self, option.name)
            unasked = value is option.default or (
                isinstance(value, type(option.default)) and value == option.default
            )
            if unasked or option.name in read:
                continue
            wrong = f"charts of a table of this kind ({table}) have no such option"
            there = [one.name for one in fields(self) if one.name in read]
            have = f"They have: {', '.join(there)}." if there else "They have none."
            raise OptionValueError.of(option.name, value, wrong, f"{have} Leave it out.")
