"""The functions `hull` and `iso_lines`: convex hulls, and lines of equal cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from rocframe.curves.convex_hull import HULL_ROUNDING, RATE_ROUNDING, common_vertices, hull_vertices
from rocframe.curves.locate import round_values
from rocframe.curves.table import (
    COMPLETE_CURVES,
    NOTE,
    check_ends,
    check_new_columns,
    curve_layout,
    plan_curves,
    read_curves,
)
from rocframe.decisions.costs import EQUAL_COST_KINDS, ErrorCosts, equal_cost_steps, lowest_cost
from rocframe.errors import OptionValueError
from rocframe.frames import (
    as_input_frame,
    build_column,
    build_table,
    lazy_plan,
    number_keys,
    take_rows,
    through_node,
)
from rocframe.inference import class_notes
from rocframe.kernel.arrays import exact_product, exact_quotient, scale_by_totals
from rocframe.kernel.groups import groups_of_rows, is_run_start
from rocframe.kinds import PREVALENCE, kind_of
from rocframe.options import check_group_column, public
from rocframe.rates import Settings
from rocframe.schemas.curves import COST_LINE_COLUMNS, HULL_COLUMNS, OPTIMA_COLUMNS
from rocframe.schemas.table_type import CURVE_COLUMNS, floats

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rocframe.curves.table import Curves
    from rocframe.frames import FrameT
    from rocframe.inputs.roles import By
    from rocframe.kinds import Kind
    from rocframe.options import KindName
    from rocframe.schemas.table_type import Schema


@public
def hull(curves: FrameT, /, *, across: str | None = None, by: By = None) -> FrameT:
    """Return the convex hull of each ROC curve, or of several curves together.

    At any costs and prevalence, the best vertex of the hull is at least as good as any point below
    the hull. A point between two vertices is the expected result of a random choice between their
    thresholds (see `mix`).

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    across : str, default None
        Group column, such as `"model"`, whose curves have one common hull. By default, each curve
        has its own hull.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per vertex, in the order of rising false positive rates: `*by`, the columns of the
        curve table, then `slope_low, slope_high, cost_ratio_low, cost_ratio_high, prevalence_low,
        prevalence_high, note`. Rows on a line between two vertices are no vertices.

        These six columns (Float64) are the range in which a vertex is optimal: of the slope of the
        lines of equal cost; of the cost of a false positive divided by that of a false negative, at
        the prevalence passed to `curve`, or else that of the data; and of the prevalence, with
        equal costs. They are null if the curve lacks a class. `note` (String) is null or `no_rows`,
        `no_positives`, `no_negatives`, `one_positive` or `one_negative`.

        With `across="model"`, the last column is the `model` with the vertex, the first in sort
        order of several, and null for the first and the last vertex, which are trivial classifiers.
        A model that is not in this column is not needed for any costs. Such a table is not a curve
        table, because its thresholds and counts belong to several curves.

    Raises
    ------
    RocframeError
        If the table is not a curve table, if a curve lacks rows, or if an option is invalid.

    See Also
    --------
    area : The area under the hull, from the table of the hull.
    operating_point : The best row for given costs.

    References
    ----------
    - F. Provost, T. Fawcett (2001), Machine Learning 42(3), 203-231. doi:10.1023/A:1007601015854
    - T. Fawcett, A. Niculescu-Mizil (2007), Machine Learning 68, 97. doi:10.1007/s10994-007-5011-0

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.9, 0.8, 0.7, 0.4, 0.4, 0.1]
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0, 1, 0], "score": scores})
    >>> vertices = rf.curve(predictions, "label", "score").roc.hull()
    >>> vertices.select("threshold", "fpr", "tpr", "slope_low", "slope_high")
    shape: (4, 5)
    ┌───────────┬──────────┬──────────┬───────────┬────────────┐
    │ threshold ┆ fpr      ┆ tpr      ┆ slope_low ┆ slope_high │
    │ ---       ┆ ---      ┆ ---      ┆ ---       ┆ ---        │
    │ f64       ┆ f64      ┆ f64      ┆ f64       ┆ f64        │
    ╞═══════════╪══════════╪══════════╪═══════════╪════════════╡
    │ inf       ┆ 0.0      ┆ 0.0      ┆ inf       ┆ inf        │
    │ 0.9       ┆ 0.0      ┆ 0.333333 ┆ 1.0       ┆ inf        │
    │ 0.4       ┆ 0.666667 ┆ 1.0      ┆ 0.0       ┆ 1.0        │
    │ 0.1       ┆ 1.0      ┆ 1.0      ┆ 0.0       ┆ 0.0        │
    └───────────┴──────────┴──────────┴───────────┴────────────┘
    """

    def resolve(plan: pl.LazyFrame, schema: pl.Schema) -> pl.LazyFrame:
        table = curve_layout(schema, by, tuple(HULL_COLUMNS))
        check_new_columns(table.row, HULL_COLUMNS, "hull")
        if across is not None:
            check_group_column("across", across, table.by, schema)
        keys = tuple(name for name in table.by if name != across)

        def find(frame: pl.DataFrame) -> pl.DataFrame:
            return hull_table(read_curves(frame, table), across)

        return through_node(
            plan.select(table.all_columns),
            find,
            schema={
                **{name: table.keys[name] for name in keys},
                **table.row,
                **HULL_COLUMNS,
                **({} if across is None else {across: table.keys[across]}),
            },
            by=keys,
            anchor="threshold",
            compared=across,
        )

    return as_input_frame(curves, lazy_plan("curves", curves).pipe_with_schema(resolve))


class CommonHulls(NamedTuple):
    """Vertices of the common hull of each group, sorted by group and rising false positive rate.

    `row`, `curve` and `group` have an item for each vertex, `curve_group` for each curve, and
    others for each group. Each pair of `shared_vertex` and `shared_curve` is a vertex and a curve
    that contains it.
    """

    keys: pl.DataFrame
    curve_group: NDArray[np.int64]
    row: NDArray[np.int64]
    curve: NDArray[np.int64]
    group: NDArray[np.int64]
    n_pos: NDArray[Any]
    n_neg: NDArray[Any]
    n_curves: NDArray[np.int64]
    note: NDArray[np.object_]
    shared_vertex: NDArray[np.int64]
    shared_curve: NDArray[np.int64]


def hull_table(curves: Curves, across: str | None) -> pl.DataFrame:
    """Return the vertices of the common hulls of curves that differ only in `across`."""
    hulls = common_hulls(curves, across)
    columns = {**optimal_ranges(curves, hulls), NOTE: hulls.note[hulls.group].tolist()}
    last = []
    if across is not None:
        curve = pl.Series(hulls.curve).set(pl.Series(is_trivial(curves, hulls)), None)
        last = [take_rows(curves.keys, curve).get_column(across)]
    return take_rows(hulls.keys, hulls.group).with_columns(
        *curves.take(hulls.row),
        *(
            build_column(name, columns[name], dtype, len(hulls.row))
            for name, dtype in HULL_COLUMNS.items()
        ),
        *last,
    )


def is_trivial(curves: Curves, hulls: CommonHulls) -> NDArray[np.bool_]:
    """Return whether each vertex predicts all scored rows as negative, or all as positive."""
    first, end = curves.starts[hulls.curve], curves.starts[hulls.curve + 1]
    trivial: NDArray[np.bool_] = (hulls.row == first) | (hulls.row == end - 1)
    return trivial


def common_hulls(curves: Curves, across: str | None) -> CommonHulls:
    """Return the vertices of the common hulls of curves that differ only in `across`."""
    check_ends(curves, "its convex hull is unknown", COMPLETE_CURVES)
    keys, group = curves.keys, np.arange(len(curves.firsts))
    if across is not None:
        keys, group = number_keys(curves.keys, curves.keys_without(across))
    pos, neg = curves.pos, curves.neg
    n_groups = keys.height
    # A curve that lacks a class is used only if all curves of its group lack a class.
    has_both = (pos > 0) & (neg > 0)
    takes_part = has_both | (np.bincount(group, has_both, n_groups) == 0)[group]
    sizes = [np.bincount(group, total * takes_part, n_groups) for total in (pos, neg)]
    largest = np.zeros((2, n_groups), pos.dtype)
    for largest_size, total in zip(largest, (pos, neg), strict=True):
        np.maximum.at(largest_size, group, total * takes_part)
    # The positives of one curve and the negatives of another curve cannot form a ROC point.
    lacks_complete_curve = (np.bincount(group, has_both, n_groups) == 0) & (sizes[0] > 0)
    sizes[1][lacks_complete_curve] = largest[1][lacks_complete_curve] = 0

    tp, fp = curves.columns["tp"], curves.columns["fp"]
    row = np.flatnonzero(hull_vertices(tp, fp, curves.starts))
    curve = groups_of_rows(curves.starts, row)
    row, curve = row[takes_part[curve]], curve[takes_part[curve]]
    tp, fp = tp[row], fp[row]
    shared_vertex: NDArray[np.int64] = np.arange(len(row))
    shared_curve: NDArray[np.int64] = curve
    if across is not None:
        is_weighted = tp.dtype.kind == "f"
        if is_weighted or not _have_equal_totals(
            group[takes_part], pos[takes_part], neg[takes_part]
        ):
            tp, fp = _rates(tp, pos[curve]), _rates(fp, neg[curve])
        rounding = RATE_ROUNDING if is_weighted else HULL_ROUNDING
        is_vertex = common_vertices(tp, fp, group[curve], rounding)
        row, curve, tp, fp = row[is_vertex], curve[is_vertex], tp[is_vertex], fp[is_vertex]
        order = np.lexsort((curve, tp, fp, group[curve]))
        row, shared_curve = row[order], curve[order]
        is_new = is_run_start(*(values[order] for values in (group[curve], tp, fp)))
        shared_vertex = np.cumsum(is_new) - 1
        row, curve = row[is_new], shared_curve[is_new]
    return CommonHulls(
        keys=keys,
        curve_group=group,
        row=row,
        curve=curve,
        group=group[curve],
        n_pos=sizes[0],
        n_neg=sizes[1],
        n_curves=np.bincount(group, takes_part, n_groups).astype(np.int64),
        note=class_notes(*largest),
        shared_vertex=shared_vertex,
        shared_curve=shared_curve,
    )


def _rates(count: NDArray[Any], total: NDArray[Any]) -> NDArray[np.float64]:
    """Return count / total; 0 if the total is 0. Rates of weighted rows are rounded."""
    with np.errstate(divide="ignore", invalid="ignore"):
        rate: NDArray[np.float64] = np.nan_to_num(count / total)
    return round_values(rate, (0, 1)) if count.dtype.kind == "f" else rate


def _have_equal_totals(group: NDArray[np.int64], pos: NDArray[Any], neg: NDArray[Any]) -> bool:
    """Return whether all curves of each group have equal numbers of rows of each class."""
    _, first, index = np.unique(group, return_index=True, return_inverse=True)
    return all(bool((total == total[first][index]).all()) for total in (pos, neg))


def optimal_ranges(curves: Curves, hulls: CommonHulls) -> dict[str, NDArray[np.float64]]:
    """Return the ranges of slopes, cost ratios and prevalences for which vertices are optimal."""
    row, curve, group = hulls.row, hulls.curve, hulls.group
    sizes = hulls.n_pos, hulls.n_neg
    slope = _edge_slopes(curves, row, curve, group)
    with np.errstate(divide="ignore", invalid="ignore"):
        prevalence = sizes[0] / (sizes[0] + sizes[1])
        if curves.prevalence is not None:
            prevalence = np.full(len(prevalence), curves.prevalence)
        odds = (prevalence / (1 - prevalence))[group]
        is_first = is_run_start(group)
        high = np.where(is_first, np.inf, slope)
        low = np.where(np.append(is_first, True)[1:], 0.0, np.append(slope, 0.0)[1:])
        columns = {
            "slope_low": low,
            "slope_high": high,
            "cost_ratio_low": low * odds,
            "cost_ratio_high": high * odds,
            "prevalence_low": 1 / (1 + high),
            "prevalence_high": 1 / (1 + low),
        }
    undefined = (sizes[0] == 0) | (sizes[1] == 0)
    return {name: np.where(undefined[group], np.nan, values) for name, values in columns.items()}


def _edge_slopes(
    curves: Curves, row: NDArray[np.int64], curve: NDArray[np.int64], group: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the slope from the previous vertex of the group to each vertex, or infinity."""
    if not len(row):
        return np.zeros(0)
    tp, fp = (curves.columns[name][row] for name in ("tp", "fp"))
    pos, neg = curves.pos[curve], curves.neg[curve]
    is_edge = np.diff(group) == 0
    if any((np.diff(total)[is_edge] != 0).any() for total in (pos, neg)):
        tp, fp = _rates(tp, pos), _rates(fp, neg)
        pos, neg = np.ones((2, len(row)))
    height, pos = scale_by_totals(pos, np.diff(tp, prepend=tp[:1]), pos)
    width, neg = scale_by_totals(neg, np.diff(fp, prepend=fp[:1]), neg)
    rise, run = exact_product(height, neg), exact_product(width, pos)
    return np.where(np.asarray(run > 0, bool), exact_quotient(rise, run), np.inf)


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

    All points of the line have the same expected cost per row, and no row of the curve is above it.
    Such a line is also called an iso-performance line or iso-cost line.

    Parameters
    ----------
    curves : DataFrame, LazyFrame or Arrow table
        A curve table as returned by `curve`, with all rows of each curve.
    costs : mapping of str to float, default None
        Costs of one `tp`, `fp`, `fn` and `tn`, such as `{"fp": 1, "fn": 5}`; by default, each error
        costs 1.
    prevalence : float, default None
        Prevalence, between 0 and 1; by default that passed to `curve`, or else that of each curve.
    kind : {"roc", "gain", "lift_chart"}, default None
        Kind of curve, for the axes of the line; by default, that of the table.
    by : str, Expr, selector or sequence, default None
        Group columns; by default, all columns left of `threshold`.

    Returns
    -------
    DataFrame or LazyFrame
        One row per group: `*by, slope, intercept, expected_cost`, then the values of the row of
        lowest cost, `threshold, tp, fp, fn, tn`, (`prevalence` of the table,) the two axes of the
        kind, and `n_optima, note`. `slope` (Float64) is at least 0, and infinite for a vertical
        line. `intercept` (Float64) is y at x = 0; null for a vertical line. `n_optima` (Int64) is
        the number of rows with the lowest cost; the one with the highest threshold is returned.

        `note` (String) is null, `no_rows`, `no_positives`, `no_negatives`, `one_positive` or
        `one_negative`. If a curve lacks a class, `n_optima` is 0, and all columns left of it are
        null.

    Raises
    ------
    RocframeError
        If the table is not a curve table or of another kind, if a curve lacks rows, if an option is
        invalid, or if an error costs less than a correct prediction.

    See Also
    --------
    operating_point : The row of lowest cost, under constraints.
    chart : Draws the lines, also over the curves.

    References
    ----------
    - F. Provost, T. Fawcett (2001), Machine Learning 42(3), 203-231. doi:10.1023/A:1007601015854
    - M. Vuk, T. Curk (2006), Metodološki zvezki 3(1), 89-108, section 5.

    Examples
    --------
    >>> import polars as pl, rocframe as rf
    >>> scores = [0.9, 0.6, 0.4, 0.4, 0.1]
    >>> predictions = pl.DataFrame({"label": [1, 0, 1, 0, 0], "score": scores})
    >>> lines = rf.curve(predictions, "label", "score").roc.iso_lines(costs={"fp": 1, "fn": 5})
    >>> lines.select("slope", "intercept", "expected_cost", "threshold").row(0, named=True)
    {'slope': 0.3, 'intercept': 0.8, 'expected_cost': 0.4, 'threshold': 0.4}
    """
    settings = Settings(costs=costs, prevalence=prevalence)
    if costs is not None:
        ErrorCosts.parse(costs)

    def columns(schema: pl.Schema) -> Schema:
        table = curve_layout(schema, by, ())  # raises an error if the table is not a curve table
        return (
            COST_LINE_COLUMNS
            | {name: table.row[name] for name in CURVE_COLUMNS}
            | (floats(PREVALENCE) if table.has_prevalence else {})
            | floats(*_straight_kind(list(schema), kind).rates)
            | OPTIMA_COLUMNS
        )

    def build(curves: Curves, columns: Schema) -> pl.DataFrame:
        axes = _straight_kind(list(curves.layout.row), kind)
        return _equal_cost_table(curves, axes, settings, columns)

    return plan_curves(curves, by, columns, build, anchor="n_optima")


def _straight_kind(columns: list[str], kind: KindName | None) -> Kind:
    """Return the kind of the curves; raise an error unless lines of equal cost are straight."""
    axes = kind_of(columns, kind)
    if axes.name not in EQUAL_COST_KINDS:
        problem = f"lines of equal cost are not available for {axes.title} curves"
        hint = f"Use kind={' or '.join(map(repr, EQUAL_COST_KINDS))}."
        raise OptionValueError.compose("kind", kind, problem, hint)
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
