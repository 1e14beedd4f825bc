"""The function `iso_lines`: the line of equal expected cost that touches each curve."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rocframe.curves.table import COMPLETE_CURVES, check_ends, curve_layout, read_curves
from rocframe.decisions.costs import EQUAL_COST_KINDS, ErrorCosts, equal_cost_steps, lowest_cost
from rocframe.errors import OptionValueError
from rocframe.frames import as_input_frame, build_table, lazy_plan, through_node
from rocframe.inference.notes import class_notes
from rocframe.kinds import PREVALENCE, kind_of
from rocframe.options import public
from rocframe.rates import Settings
from rocframe.schemas.columns import CURVE_COLUMNS
from rocframe.schemas.decisions import COST_LINE_COLUMNS, OPTIMA_COLUMNS
from rocframe.schemas.table_type import floats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kinds import Kind, KindName
    from rocframe.schemas.table_type import Schema


@public
def iso_lines(
    curves: FrameT,
    /,
    *,
    costs: Mapping[str, float] | None = None,
    prevalence: float | None = None,
    kind: KindName | None = None,
    by: By = None,
) -> FrameT:
    """Return the line of equal expected cost through the cheapest row of each curve.

    All points of the line have the same expected cost per row. No row of the curve is above the
    line. Such a line is also called an iso-performance line or iso-cost line.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    costs : mapping of str to float, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, such as `{"fp": 1, "fn": 5}`. Costs that are not
        given are 0. By default, each error costs 1, so that the expected cost is the error rate and
        the lines are lines of equal accuracy.
    prevalence : float, default None
        Prevalence, between 0 and 1. Costs are computed at this prevalence. The default is the
        prevalence that was passed to `curve`, or the prevalence of each curve if none was passed.
    kind : {"roc", "gain", "lift_chart"}, default None
        Kind of curve, which determines the axes of the line. By default, the columns right of `tn`
        determine the kind.
    by : str or sequence of str, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group: `*by, slope, intercept, expected_cost`, then the values of the row of
        lowest cost: `threshold, tp, fp, fn, tn` and the two axes of the kind, then `n_optima,
        note`. If the table was computed with `prevalence=`, the result also has the column
        `prevalence` of the table, after `tn`.

        - `slope` (Float64) is 0 or greater, and infinite for a vertical line.
        - `intercept` (Float64) is y at x = 0; null for a vertical line.
        - `expected_cost` (Float64) is the cost per row at all points of the line.
        - `n_optima` (Int64) is the number of rows with the lowest cost. If several rows have the
          lowest cost, the row with the highest threshold is returned.

        `note` (String) is null, `no_rows`, `no_positives`, `no_negatives`, `one_positive` or
        `one_negative`. If a curve lacks a class, `n_optima` is 0, and all columns from `slope` to
        the two axes are null.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a curve lacks some of its rows, if an option is
        invalid, if a false positive costs less than a true negative, if a false negative costs less
        than a true positive, or if the kind of the curves is not one of the three values of `kind`.

    See Also
    --------
    hull : The ranges of slopes for which the points of a curve are optimal.
    operating_point : The row of lowest cost, under constraints.
    chart : Draws the lines, also over the curves.

    Notes
    -----
    c_fp is the cost of a false positive minus the cost of a true negative, c_fn is the cost of a
    false negative minus the cost of a true positive, and π is the prevalence. The slope is:

    - c_fp·(1 - π) / (π·c_fn) in a ROC chart;
    - c_fp / (π·(c_fp + c_fn)) in a gain chart;
    - n·c_fp / (c_fp + c_fn) in a lift chart of n rows. With equal costs, the line therefore rises
      by n / 2 true positives over the width of the chart.

    If the alert rates of the table were computed at another prevalence than π, the slope in a gain
    or lift chart is computed from the slope in the ROC chart instead.

    References
    ----------
    F. Provost, T. Fawcett (2001), "Robust classification for imprecise environments", Machine
    Learning 42(3), 203-231. doi:10.1023/A:1007601015854

    M. Vuk, T. Curk (2006), "ROC curve, lift chart and calibration plot", Metodološki zvezki 3(1),
    89-108, section 5.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> predictions = pl.DataFrame(
    ...     {"label": [1, 0, 1, 0, 0], "score": [0.9, 0.6, 0.4, 0.4, 0.1]}
    ... )
    >>> curves = rf.curve(predictions, "label", "score")
    >>> lines = rf.iso_lines(curves, costs={"fp": 1, "fn": 5})
    >>> lines.select("slope", "intercept", "expected_cost", "threshold", "fpr", "tpr")
    shape: (1, 6)
    ┌───────┬───────────┬───────────────┬───────────┬──────────┬─────┐
    │ slope ┆ intercept ┆ expected_cost ┆ threshold ┆ fpr      ┆ tpr │
    │ ---   ┆ ---       ┆ ---           ┆ ---       ┆ ---      ┆ --- │
    │ f64   ┆ f64       ┆ f64           ┆ f64       ┆ f64      ┆ f64 │
    ╞═══════╪═══════════╪═══════════════╪═══════════╪══════════╪═════╡
    │ 0.3   ┆ 0.8       ┆ 0.4           ┆ 0.4       ┆ 0.666667 ┆ 1.0 │
    └───────┴───────────┴───────────────┴───────────┴──────────┴─────┘

    A line of equal accuracy in a lift chart of five rows rises by 5 / 2 true positives:

    >>> curves.roc.iso_lines(kind="lift_chart").select("slope", "threshold", "alert_rate", "tp")
    shape: (1, 4)
    ┌───────┬───────────┬────────────┬─────┐
    │ slope ┆ threshold ┆ alert_rate ┆ tp  │
    │ ---   ┆ ---       ┆ ---        ┆ --- │
    │ f64   ┆ f64       ┆ f64        ┆ i64 │
    ╞═══════╪═══════════╪════════════╪═════╡
    │ 2.5   ┆ 0.9       ┆ 0.2        ┆ 1   │
    └───────┴───────────┴────────────┴─────┘
    """
    settings = Settings(costs=costs, prevalence=prevalence)
    if costs is not None:
        ErrorCosts.parse(costs)

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        curve_layout(schema, by, ())  # raises an error if the table is not a curve table
        axes = _straight_kind(list(schema), kind)
        table = curve_layout(schema, by, (*COST_LINE_COLUMNS, *axes.rates, *OPTIMA_COLUMNS))
        columns = (
            COST_LINE_COLUMNS
            | {name: table.row[name] for name in CURVE_COLUMNS}
            | (floats(PREVALENCE) if table.has_prevalence else {})
            | floats(*axes.rates)
            | OPTIMA_COLUMNS
        )
        return through_node(
            plan.select(table.count_columns),
            lambda frame: _equal_cost_table(read_curves(frame, table), axes, settings, columns),
            schema={**table.keys, **columns},
            by=table.by,
            anchor="n_optima",
        )

    return as_input_frame(curves, lazy_plan("curves", curves).pipe_with_schema(resolve))


def _straight_kind(columns: list[str], kind: KindName | None) -> Kind:
    """Return the kind of the curves; raise an error unless lines of equal cost are straight.

    If `kind` is None, the columns of the table determine the kind.
    """
    axes = kind_of(columns, kind)
    if axes.name not in EQUAL_COST_KINDS:
        raise OptionValueError.compose(
            "kind",
            kind,
            f"lines of equal cost are not available for {axes.title} curves",
            f"Use kind={' or '.join(map(repr, EQUAL_COST_KINDS))}.",
        )
    return axes


def _equal_cost_table(
    curves: Curves, kind: Kind, settings: Settings, columns: Schema
) -> pl.DataFrame:
    """Return the line of equal cost of each curve, and the row that it touches."""
    check_ends(curves, "its lowest expected cost is unknown", COMPLETE_CURVES)
    best = lowest_cost(curves, settings)
    names = [name for name in columns if name in (*CURVE_COLUMNS, PREVALENCE)]
    rows = curves.take(best.row, names).with_columns(
        kind.exprs(Settings(prevalence=curves.prevalence))
    )
    x, y = (rows.get_column(name).cast(pl.Float64).to_numpy() for name in (kind.x, kind.y))
    x_step, y_step = equal_cost_steps(best, curves, kind)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope = y_step / x_step
        intercept = np.where(np.isinf(slope), np.nan, y - slope * x)
    values = {
        "slope": slope,
        "intercept": intercept,
        "expected_cost": best.cost,
        **{name: rows.get_column(name) for name in rows.columns},
        "n_optima": best.n_optima,
        "note": class_notes(curves.pos, curves.neg).tolist(),
    }
    return build_table(curves.keys, values, columns)
